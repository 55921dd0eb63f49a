"""A study as one rater's page: consent, gold standard, quiz, items, guesses, comments.

Nothing in it tells the responses apart but their texts: screens carry opaque ids, questions name slots, and what belongs
to which slot is in the key alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from howsure import people
from howsure.people import (
    ChoiceQuestion,
    Consent,
    Item,
    Option,
    Page,
    Passage,
    ReadingScreen,
    ScaleQuestion,
    TextQuestion,
    opaque_id,
)
from howsure.people.protocol import Question, Screen
from howsure.study.packet.design import ATTENTION, ShownItem
from howsure.study.protocol import SLOTS, Attention, Dimension, Quiz, Study
from howsure.study.protocol import QuizQuestion as Asked

__all__ = [
    "ANSWER",
    "COMMENTS",
    "GUESS",
    "GUESSES",
    "INSTRUMENT",
    "guess_id",
    "guessed",
    "item_id",
    "item_question",
    "make_page",
    "option_value",
    "questions",
]

INSTRUMENT = "study"
ANSWER, COMMENTS, GUESS = "answer", "comments", "guess"
GUESSES = {"first": SLOTS[0], "second": SLOTS[1], "neither": "I cannot tell"}
_GUESS_TEXT = "One of the two was written to match the gold standard. Which one do you think it was?"
_GUESS_INTRO = "Your ratings are complete and can no longer be changed. Here are the pairs again, with one last question about each."


def make_page(study: Study, shown: Sequence[ShownItem], *, salt: str, commitment: str, rater: str = "") -> Page:
    """The page of one rater, or of everyone when `rater` is empty."""

    def name(part: str) -> str:
        return opaque_id(salt, rater, part)

    items = [
        _item(study, one, item_id(salt, rater, one), f"Item {number} of {len(shown)}")
        for number, one in enumerate(shown, 1)
    ]
    screens: tuple[Screen, ...] = (
        Consent(id=name("consent"), title="Before you begin", text=study.consent),
        _gold(study, name("gold")),
        *((_quiz(study.quiz, name("quiz"), opaque_id(salt, "quiz")),) if study.quiz else ()),
        ReadingScreen(id=name("task"), title="Your task", text=_task(study, len(items))),
        *items,
        *_guesses(study, shown, salt, rater),
        Item(id=name("comments"), title="Comments", questions=(_COMMENTS,)),
    )
    return Page(
        instrument=INSTRUMENT,
        title=study.title,
        screens=screens,
        rater=rater,
        language=study.language,
        thanks=study.thanks,
        commitment=commitment,
    )


def item_id(salt: str, rater: str, shown: ShownItem) -> str:
    """The opaque id of an item on one rater's page."""
    return opaque_id(salt, rater, "item", shown.item)


def guess_id(salt: str, rater: str, shown: ShownItem) -> str:
    """The opaque id of the screen that asks for a guess about an item, on one rater's page."""
    return opaque_id(salt, rater, "guess", shown.item)


def guessed(study: Study, shown: Sequence[ShownItem]) -> list[ShownItem]:
    """The pairs that a guess is asked about: each once, in the order shown; none where the study asks for no guesses."""
    return [one for one in shown if study.ask_guess and one.target is not None and one.item == one.pair]


def questions(study: Study) -> tuple[Question, ...]:
    """What is asked about a pair while it is rated, in the order of the dimensions."""
    return tuple(_question(dimension, *field) for dimension in study.dimensions for field in dimension.fields)


def item_question(study: Study, item: str, name: str) -> Question | None:
    """The question called `name` of an item, or None when it has none."""
    if item.startswith(ATTENTION):
        asked: Sequence[Question] = (_choice(ANSWER, _attention_item(study, item)),)
    else:
        asked = (*questions(study), *((_GUESS,) if study.ask_guess else ()))
    return next((question for question in asked if question.name == name), None)


def option_value(place: int) -> str:
    """What a page records for an option: a letter by its place, which says nothing."""
    return chr(ord("a") + place)


_COMMENTS = TextQuestion(name=COMMENTS, text="Is there anything that you want to tell us?", lines=5)
_GUESS = ChoiceQuestion(
    name=GUESS,
    text=_GUESS_TEXT,
    options=tuple(Option(value=value, label=label) for value, label in GUESSES.items()),
)


def _gold(study: Study, name: str) -> ReadingScreen:
    listed = "\n".join(f"• {line}" for line in study.characteristics)
    passages = [Passage(label="Gold standard", text=study.gold)]
    passages += [Passage(label="What characterises it", text=listed)] if listed else []
    text = "Read this text until you know how it sounds. You can look at it again while you rate."
    return ReadingScreen(id=name, title="The gold standard", text=text, passages=tuple(passages), at_hand=True)


def _quiz(quiz: Quiz, name: str, salt: str) -> people.QuizScreen:
    asked = {f"q{number}": question for number, question in enumerate(quiz.questions, 1)}
    rights = {key: [option_value(question.options.index(question.right))] for key, question in asked.items()}
    return people.QuizScreen.hiding(
        rights,
        questions=[_choice(key, question) for key, question in asked.items()],
        salt=salt,
        id=name,
        title="A short quiz",
        text="These questions help you to check whether you know how it sounds. You can look at the gold standard.",
        pass_mark=quiz.pass_mark,
        tries=quiz.tries,
    )


def _task(study: Study, n_items: int) -> str:
    low, high = study.usual_minutes
    return (
        f"{study.instructions}\n\nThere are {n_items} items. You can go back and change answers until you finish. "
        f"Most people need {low:g} to {high:g} minutes."
    )


def _item(study: Study, shown: ShownItem, name: str, title: str) -> Item:
    if shown.target is None:
        item = _attention_item(study, shown.item)
        return Item(id=name, title=title, text=item.text, questions=(_choice(ANSWER, item),))
    return Item(id=name, title=title, questions=questions(study), **_pair(study, shown))


def _pair(study: Study, shown: ShownItem) -> dict[str, Any]:
    """Prompt and responses, each in its slot."""
    pair = study.pair(shown.pair)
    texts = (pair.target, pair.comparison) if shown.target == 1 else (pair.comparison, pair.target)
    passages = tuple(Passage(label=label, text=text) for label, text in zip(SLOTS, texts, strict=True))
    return {"prompt": pair.prompt, "passages": passages}


def _guesses(study: Study, shown: Sequence[ShownItem], salt: str, rater: str) -> list[Item]:
    """After all ratings, for the question tells what the study compares; from here there is no way back to them."""
    asked = guessed(study, shown)
    return [
        Item(
            id=guess_id(salt, rater, one),
            title=f"Last question {number} of {len(asked)}",
            text=_GUESS_INTRO if number == 1 else "",
            questions=(_GUESS,),
            is_one_way=number == 1,
            **_pair(study, one),
        )
        for number, one in enumerate(asked, 1)
    ]


def _attention_item(study: Study, item: str) -> Attention:
    return next(one for one in study.attention if ATTENTION + one.id == item)


def _question(dimension: Dimension, field: str, slot: int | None) -> Question:
    text = dimension.asked(slot)
    if dimension.kind != "choice":
        return ScaleQuestion(name=field, text=text, low=int(dimension.low), labels=dimension.labels)
    return ChoiceQuestion(name=field, text=text, options=_options(dimension.labels))


def _choice(name: str, asked: Asked) -> ChoiceQuestion:
    return ChoiceQuestion(name=name, text=asked.question, options=_options(asked.options))


def _options(labels: Sequence[str]) -> tuple[Option, ...]:
    return tuple(Option(value=option_value(place), label=label) for place, label in enumerate(labels))
