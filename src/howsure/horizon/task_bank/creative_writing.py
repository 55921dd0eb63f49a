"""Stories, poems and descriptions, judged by a rubric."""

from __future__ import annotations

import random

from howsure.horizon.task_bank.base import Instance, TaskFamily
from howsure.horizon.task_bank.writing import Points, writing_task

__all__ = ["FAMILIES"]

_WHO = "a {retired|nervous|stubborn|newly hired|homesick|boastful} {lighthouse keeper|bus driver|piano tuner|beekeeper|night nurse|map maker|pastry cook|chess teacher|ferry captain|seamstress|locksmith|choir leader}"
_WHERE = "{in a train that does not stop|on the roof of a closed hotel|in a town that is being flooded|at a wedding without guests|in a library after hours|on a frozen canal|in a kitchen during a power cut|at the last stop of a bus line|in a museum of lost things|on an island with one telephone}"
_WHAT = "{finds a letter meant for somebody else|has to give back something borrowed long ago|waits for a person who is late by years|is mistaken for a famous stranger|must choose which of two promises to keep|hears a tune that nobody else remembers|discovers that a small lie has come true|is asked to guard a box and not to open it|meets the person they used to be|has one hour to say goodbye}"
_SUBJECT = "{the first frost|an empty swimming pool|a borrowed coat|the noise of a fridge at night|a dog that outlived its owner|the last day of a job|an old map with a mistake|bread rising|a tram depot|a scar and its story|learning a language late|a broken umbrella|the smell of rain on dust|a chess game left unfinished}"
_PLACE = "{a fish market|a waiting room|a laundrette|a harbour|a school corridor in the holidays|a greenhouse|an attic|a railway bridge|a hospital canteen|a second-hand bookshop|a building site|a village bakery} {at four in the morning|on the hottest day of the year|just before it closes for good|during a strike|after a storm|on a public holiday|in thick fog|when the lights fail}"

_STYLE: Points = (
    (
        "It is written in the present tense.",
        "It is written in the future tense.",
        "It goes backwards in time.",
    ),
    (
        "It speaks to the reader as “you”.",
        "It is told by a group that says “we”.",
        "It is told by an object, and the reader finds out which.",
    ),
    (
        "It ends with a question.",
        "It ends with the words with which it begins.",
        "Its last sentence has {three|four|five} words.",
    ),
    (
        "The words {copper|salt|paper|glass|smoke|velvet}, {ladder|needle|kettle|anchor|mirror|candle} and {seven|Thursday|north|halfway|borrowed|crooked} occur in it.",
        "A {key|coin|glove|photograph|bell|pear} occurs at its beginning and again at its end, with another meaning.",
    ),
    (
        "The words “and” and “but” do not occur in it.",
        "No sentence has more than {nine|ten|eleven|twelve} words.",
        "It has no adjective of colour.",
        "No word in it ends in “ly”.",
    ),
    (
        "It never names the feeling that it is about; the reader can tell that it is {grief|relief|envy|shame|hope|homesickness}.",
        "Its tone is {dry and comic|tender without sweetness|menacing under a polite surface|solemn about something trivial}.",
    ),
    (
        "Something is {smelt|heard|touched|tasted} that matters.",
        "The weather changes {once|twice} and nobody remarks on it.",
    ),
)
_STORY: Points = (
    *_STYLE,
    (
        "Somebody tells a lie that the reader notices and the other characters do not.",
        "There is a dialogue in which nobody answers what was asked.",
        "Something is decided, and the decision costs something.",
    ),
)


def story(rng: random.Random, difficulty: float) -> Instance:
    """A very short story."""
    opening = f"Write a very short story about {_WHO} who, {_WHERE}, {_WHAT}."
    qualities = (
        "It is a whole: something changes between its beginning and its end.",
        "Its details are particular to this story; there are no stock phrases.",
        "Its language is fluent and free of mistakes.",
    )
    return writing_task(rng, difficulty, opening, points=_STORY, qualities=qualities, n_words=140)


def poem(rng: random.Random, difficulty: float) -> Instance:
    """A poem in a given form."""
    form = "{in rhyming couplets|in stanzas of four lines in which the second and fourth rhyme|in free verse with a line that comes back|in stanzas of three lines|in which each line begins with the next letter of the word {}|in the form of a list|in the form of a letter}"
    word = rng.choice(("RIVER", "STONE", "WINTER", "BRIDGE", "GARDEN", "LETTER", "SHADOW", "MARKET"))
    opening = f"Write a poem about {_SUBJECT}, {form.replace(' {}', ' ' + word)}."
    qualities = (
        "It keeps to the form that was asked for.",
        "It has at least one image that surprises and fits.",
        "Its sound and line breaks serve what it says.",
    )
    return writing_task(rng, difficulty, opening, points=_STYLE, qualities=qualities, n_words=70)


def description(rng: random.Random, difficulty: float) -> Instance:
    """A description of a place, seen by somebody."""
    opening = f"Describe {_PLACE}, as seen by {_WHO}."
    qualities = (
        "The place can be pictured, and could not be any other.",
        "What is noticed tells something about who is looking.",
        "Its language is fluent and free of mistakes.",
    )
    return writing_task(rng, difficulty, opening, points=_STYLE, qualities=qualities, n_words=100)


FAMILIES = (
    TaskFamily("story", "A very short story under constraints.", "llm_judge", story),
    TaskFamily("poem", "A poem in a given form.", "llm_judge", poem),
    TaskFamily("description", "A place, seen through somebody's eyes.", "llm_judge", description),
)
