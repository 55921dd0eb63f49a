"""Messages, explanations and arguments for somebody in particular, judged by a rubric."""

from __future__ import annotations

import random

from howsure.horizon.task_bank.base import Instance, TaskFamily
from howsure.horizon.task_bank.writing import Points, writing_task

__all__ = ["FAMILIES"]

_NEWS = (
    "{a customer of many years|a shop that resells your goods|a school that has ordered}: the delivery of {chairs|lamps|notebooks|instruments} will be {one week|two weeks|three weeks} late",
    "{your team|the members of a choir|a board of volunteers}: the meeting moves from Tuesday to {Thursday at 9|Friday at 8|Monday at 17:30}",
    "{your customers|the members of a gym|the parents of a music school}: the price goes up by {4 %|8 %|12 %} in {March|May|September}",
    "{a sports club|a school class|a group of pensioners}: the trip to {the coast|the mountains|the museum} is cancelled, and {half|two thirds|all} of the money is returned",
    "{your manager|an external auditor|the readers of your report}: the {report|budget|survey} that you sent had a wrong table on page {4|7|12}",
    "{the other tenants|a neighbour you hardly know|your flatmates}: the shared {kitchen|laundry room|cellar} must stay closed until {Monday|Thursday|the 20th}",
    "{a colleague who applied|a good candidate from outside|a volunteer you rely on}: somebody else was chosen for the {post|project|committee}",
    "{the staff of a clinic|the parents of a class|the customers of a small shop}: a list of {addresses|telephone numbers|birthdays} was sent to the wrong person",
    "{a friend from school days|your landlord|the owner of a café}: there is no room for the {party|exhibition|concert} on the {9th|14th|27th} after all",
    "{an impatient customer|your aunt|the owner of a delivery firm}: the repair of the {van|oven|computer} costs {190|340|680} and takes {three|five|eight} days",
)
_TOPIC = "{why the sky is darker higher up|how a vaccine teaches the body|what inflation is|why bread rises|how a lock on a canal works|what a hash of a file is|why averages can mislead|how a refrigerator makes cold|what compound interest does|why the moon has phases|how noise-cancelling headphones work|what a margin of error means|how antibiotics stop working|why ships float}"
_AUDIENCE = "{a child of nine|a grandfather who taught history|a busy shop owner|a class of sixteen-year-olds|a friend who hates numbers|a farmer|a new nurse|somebody who speaks little English}"
_CLAIM = (
    "{the owner of a small firm|a head of department|a works council} to {move the weekly meeting to a walk|try a four-day week for three months|pay interns|publish all salaries|buy second-hand computers|ban messages after six}",
    "{a town council|a residents' association|the editor of a local paper} to {keep the old library open|allow bicycles in the park|plant trees instead of extra parking|replace fireworks by lanterns|close the square to cars on Sundays|put benches along the river}",
    "{a school board|parents at an evening meeting|a head teacher} to {let pupils choose one subject freely|start lessons an hour later|abolish homework for a term|grow vegetables in the school yard|teach repairing things|share one telephone-free day a week}",
    "{a sports club|a choir|a committee of volunteers} to {stop printing the newsletter|open its doors to beginners of any age|share its rooms with another group|elect its board by lot|charge by income|hold one meeting a month outdoors}",
)

_MANNER: Points = (
    (
        "Its tone is {warm but brief|formal|calm although the matter is annoying|cheerful without jokes|apologetic without grovelling}.",
        "It sounds as if it were said aloud, not written.",
    ),
    (
        "It says in its first sentence what it is about.",
        "It begins with something that the reader cares about.",
    ),
    (
        "It uses none of the words “unfortunately”, “however” and “important”.",
        "No sentence has more than {twelve|fourteen|sixteen} words.",
        "It has no word that a {twelve|fourteen}-year-old would have to look up.",
    ),
    (
        "It answers the question that the reader is most likely to ask back.",
        "It names one thing that is not known yet.",
        "It admits one mistake or weakness openly.",
    ),
    (
        "It has a list of exactly {two|three|four} points.",
        "It falls into {two|three} paragraphs.",
        "It has a heading of at most {four|five|six} words.",
    ),
)
_MESSAGE: Points = (
    *_MANNER,
    (
        "It asks for one thing, by {Wednesday noon|the end of the week|tomorrow at ten|the 3rd of the month}.",
        "It offers a choice between two ways to go on.",
    ),
    ("It gives a reason without blaming anybody.", "It thanks the reader for something particular."),
)
_EXPLANATION: Points = (
    *_MANNER,
    (
        "It uses a comparison from {the kitchen|sports|traffic|gardening|music|a playground}, and says where the comparison ends.",
        "It has one example with numbers that are worked out.",
    ),
    ("It corrects a common mistake about the matter.", "It ends with something that the reader can try out."),
)
_ARGUMENT: Points = (
    *_MANNER,
    (
        "It states the best argument of the other side fairly, and answers it.",
        "It says what would change the writer's mind.",
    ),
    (
        "It says what the proposal costs.",
        "It proposes a first step that is small and can be undone.",
        "It does not appeal to fear.",
    ),
)


def message(rng: random.Random, difficulty: float) -> Instance:
    """A message with news for somebody."""
    opening = f"Write a message to {rng.choice(_NEWS)}."
    qualities = (
        "All that the task says is in it, and nothing contradicts it.",
        "The reader knows what happens next and what to do.",
        "The relation to the reader is better after it, or at least no worse.",
    )
    return writing_task(rng, difficulty, opening, points=_MESSAGE, qualities=qualities, n_words=90)


def explanation(rng: random.Random, difficulty: float) -> Instance:
    """Something explained to somebody."""
    opening = f"Explain {_TOPIC} to {_AUDIENCE}."
    qualities = (
        "What it says is correct.",
        "This reader can follow it, and learns why, not only that.",
        "It leaves out what this reader does not need.",
    )
    return writing_task(rng, difficulty, opening, points=_EXPLANATION, qualities=qualities, n_words=120)


def argument(rng: random.Random, difficulty: float) -> Instance:
    """A case made to those who decide."""
    opening = f"Persuade {rng.choice(_CLAIM)}."
    qualities = (
        "Its reasons are sound, and are reasons for these people.",
        "It is clear what is asked of them.",
        "It is honest: no invented figures, no exaggeration.",
    )
    return writing_task(rng, difficulty, opening, points=_ARGUMENT, qualities=qualities, n_words=120)


FAMILIES = (
    TaskFamily("message", "News for somebody in particular.", "llm_judge", message),
    TaskFamily("explanation", "Something explained to somebody in particular.", "llm_judge", explanation),
    TaskFamily("argument", "A case made to those who decide.", "llm_judge", argument),
)
