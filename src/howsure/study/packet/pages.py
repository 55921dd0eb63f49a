"""A study as one rater's page: consent, screening, gold standard or material, quiz, items, guesses, questions about the rater, comments, debriefing.

Nothing in it tells the responses apart but their texts: screens carry opaque ids, questions name slots, and what belongs
to which slot is in the key alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from howsure import people
from howsure.people import (
    ChoiceQuestion,
    Consent,
    Item,
    LabelsQuestion,
    Option,
    Page,
    Passage,
    RankingQuestion,
    ReadingScreen,
    ScaleQuestion,
    SliderQuestion,
    SpansQuestion,
    TextQuestion,
    Turn,
    opaque_id,
)
from howsure.people.markup import rendered
from howsure.people.questions import Question
from howsure.people.screens import Element, Screen
from howsure.people.words import Words
from howsure.study.item_studies import ItemQuestion, ItemStudy, TurnText
from howsure.study.packet.design import ATTENTION, ShownItem
from howsure.study.protocol import AskedAtEnd, Attention, Dimension, Quiz, Study
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
    "item_questions",
    "make_page",
    "option_value",
    "questions",
]

INSTRUMENT = "study"
ANSWER, COMMENTS, GUESS = "answer", "comments", "guess"
GUESSES = ("first", "second", "neither")


def make_page(
    study: Study | ItemStudy, shown: Sequence[ShownItem], *, salt: str, commitment: str, rater: str = ""
) -> Page:
    """The page of one rater, or of everyone when `rater` is empty."""
    words = study.worded

    def name(part: str) -> str:
        return opaque_id(salt, rater, part)

    def titled(part: str) -> dict[str, Any]:
        return {"id": name(part), "title": words[f"{part}_title"]}

    is_pairs = isinstance(study, Study)
    items = []
    for number, one in enumerate(shown, 1):
        named = {"id": item_id(salt, rater, one), "title": words.fill("item_title", number=number, total=len(shown))}
        items.append(_item(study, one, named) if isinstance(study, Study) else _item_screen(study, one, named))
    screens: list[Screen] = []
    if study.consent:
        screens.append(Consent(**titled("consent"), text=study.consent, agree=words["consent_agree"]))
    if study.screening:
        screens.append(_screening(study, titled("screening")))
    if isinstance(study, Study):
        screens.append(_gold(study, name("gold")))
    elif study.material:
        material = (_passage(study, words["text_label"], study.material),)
        screens.append(
            ReadingScreen(**titled("material"), text=words["material_text"], passages=material, at_hand=True)
        )
    if study.quiz:
        told = words["quiz_text" if is_pairs else "quiz_text_general"]
        screens.append(_quiz(study.quiz, titled("quiz"), told, opaque_id(salt, "quiz")))
    screens.append(ReadingScreen(**titled("task"), text=_task(study, len(items))))
    screens += items
    if isinstance(study, Study):
        screens += _guesses(study, shown, salt, rater)
    if study.demographics:
        asked = tuple(_about_rater(one) for one in study.demographics)
        screens.append(Item(**titled("demographics"), questions=asked))
    if isinstance(study, Study) or study.comments:
        comments = TextQuestion(name=COMMENTS, text=words["comments"], lines=5)
        screens.append(Item(**titled("comments"), questions=(comments,)))
    if study.debriefing:
        # it tells what was tested: whoever has read it answers nothing any more
        told = f"{words['debriefing_intro']}\n\n{study.debriefing}"
        screens.append(ReadingScreen(**titled("debriefing"), text=told, is_one_way=True))
    return Page(
        instrument=INSTRUMENT,
        title=study.title,
        screens=tuple(screens),
        rater=rater,
        language=study.language,
        thanks=study.thanks,
        commitment=commitment,
        words=study.words,
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
    return tuple(_question(study, dimension, *field) for dimension in study.dimensions for field in dimension.fields)


def item_question(study: Study | ItemStudy, item: str, name: str) -> Question | None:
    """The question called `name` of a pair or an attention item, or None when it has none."""
    asked: Sequence[Question] = ()
    if item.startswith(ATTENTION):
        asked = (_choice(ANSWER, _attention_item(study, item)),)
    elif isinstance(study, Study):
        asked = (*questions(study), *((_guess(study),) if study.ask_guess else ()))
    return next((question for question in asked if question.name == name), None)


def option_value(place: int) -> str:
    """What a page records for an option: a letter by its place, which says nothing (a, b, …, z, a1, b1, …)."""
    turn, letter = divmod(place, 26)
    return chr(ord("a") + letter) + (str(turn) if turn else "")


def _screening(study: Study | ItemStudy, named: dict[str, Any]) -> Item:
    asked = {f"s{number}": one for number, one in enumerate(study.screening, 1)}
    return Item(
        **named,
        questions=tuple(
            ChoiceQuestion(name=name, text=one.question, options=_options(one.options)) for name, one in asked.items()
        ),
        admits={
            name: tuple(option_value(one.options.index(answer)) for answer in one.admits) for name, one in asked.items()
        },
    )


def _about_rater(asked: AskedAtEnd) -> Question:
    if asked.options:
        return ChoiceQuestion(name=asked.name, text=asked.question, required=False, options=_options(asked.options))
    return TextQuestion(name=asked.name, text=asked.question, max_chars=500)


def _gold(study: Study, name: str) -> ReadingScreen:
    words = study.worded
    listed = "\n".join(f"• {line}" for line in study.characteristics)
    passages = [Passage(label=words["reference_label"], text=study.gold)]
    passages += [Passage(label=words["characteristics_label"], text=listed)] if listed else []
    return ReadingScreen(
        id=name,
        title=words["reference_title"],
        text=words["reference_text"],
        passages=tuple(passages),
        at_hand=True,
    )


def _quiz(quiz: Quiz, named: dict[str, Any], text: str, salt: str) -> people.QuizScreen:
    asked = {f"q{number}": question for number, question in enumerate(quiz.questions, 1)}
    rights = {key: [option_value(question.options.index(question.right))] for key, question in asked.items()}
    return people.QuizScreen.hiding(
        rights,
        questions=[_choice(key, question) for key, question in asked.items()],
        salt=salt,
        **named,
        text=text,
        pass_mark=quiz.pass_mark,
        tries=quiz.tries,
    )


def _task(study: Study | ItemStudy, n_items: int) -> str:
    low, high = study.usual_minutes
    words = study.worded
    told = f"{words.fill('task_items', count=n_items)} {words.fill('task_minutes', low=f'{low:g}', high=f'{high:g}')}"
    return f"{study.instructions}\n\n{told}" if study.instructions else told


def _item(study: Study, shown: ShownItem, named: dict[str, Any]) -> Item:
    if shown.target is None:
        return _attention_screen(study, shown, named)
    return Item(**named, questions=questions(study), **_pair(study, shown))


def _attention_screen(study: Study | ItemStudy, shown: ShownItem, named: dict[str, Any]) -> Item:
    item = _attention_item(study, shown.item)
    return Item(**named, text=item.text, questions=(_choice(ANSWER, item),))


def _pair(study: Study, shown: ShownItem) -> dict[str, Any]:
    """Prompt and responses, each in its slot."""
    pair = study.pair(shown.pair)
    texts = (pair.target, pair.comparison) if shown.target == 1 else (pair.comparison, pair.target)
    labels = [study.worded.fill("response", number=number) for number in (1, 2)]
    passages = tuple(Passage(label=label, text=text) for label, text in zip(labels, texts, strict=True))
    return {"prompt": pair.prompt, "passages": passages}


def _guesses(study: Study, shown: Sequence[ShownItem], salt: str, rater: str) -> list[Item]:
    """After all ratings, for the question tells what the study compares; from here there is no way back to them."""
    asked, words = guessed(study, shown), study.worded
    return [
        Item(
            id=guess_id(salt, rater, one),
            title=words.fill("guess_title", number=number, total=len(asked)),
            text=words["guess_intro"] if number == 1 else "",
            questions=(_guess(study),),
            is_one_way=number == 1,
            **_pair(study, one),
        )
        for number, one in enumerate(asked, 1)
    ]


def _guess(study: Study) -> ChoiceQuestion:
    words = study.worded
    labels = (words.fill("response", number=1), words.fill("response", number=2), words["guess_neither"])
    options = tuple(Option(value=value, label=label) for value, label in zip(GUESSES, labels, strict=True))
    return ChoiceQuestion(name=GUESS, text=words["guess"], options=options)


def _attention_item(study: Study | ItemStudy, item: str) -> Attention:
    return next(one for one in study.attention if ATTENTION + one.id == item)


def _question(study: Study, dimension: Dimension, field: str, slot: int | None) -> Question:
    text = dimension.asked(slot, study.worded.fill("response", number=slot))
    if dimension.kind != "choice":
        return ScaleQuestion(name=field, text=text, low=int(dimension.low), labels=dimension.labels)
    return ChoiceQuestion(name=field, text=text, options=_options(dimension.labels))


# any study


def item_questions(study: ItemStudy, systems: Sequence[str]) -> list[tuple[ItemQuestion, int | None, Question]]:
    """What is asked about an item with these systems by slot: the study's question, the slot it asks about, and what the page shows."""
    words = study.worded
    labels = [words.fill("response", number=n) for n in range(1, len(systems) + 1)] if len(systems) > 1 else []
    made: list[tuple[ItemQuestion, int | None, Question]] = []
    for asked in study.questions:
        slots: Sequence[int | None] = range(1, len(systems) + 1) if asked.of == "response" and labels else (None,)
        for slot in slots:
            label = labels[slot - 1] if slot else words["response_only"]
            text = asked.question.replace("{response}", label)
            if slot and text == asked.question:
                text = f"{label}: {text}"
            name = asked.name if slot is None else f"{asked.name}_{slot}"
            made += [(asked, slot, one) for one in _asked(asked, name, text, labels, words)]
    return made


def _asked(asked: ItemQuestion, name: str, text: str, labels: Sequence[str], words: Words) -> Iterator[Question]:
    """A question of a study as a page asks it; best and worst are two."""
    base: dict[str, Any] = {"name": name, "text": text, "required": asked.is_required}
    by_slot = tuple(Option(value=option_value(place), label=label) for place, label in enumerate(labels))
    if asked.type == "rating":
        yield ScaleQuestion(**base, low=asked.low, labels=asked.steps)
    elif asked.type == "slider":
        left, right = asked.labels
        yield SliderQuestion(**base, low=asked.low, high=asked.top_value, left=left, right=right)
    elif asked.type == "pairwise":
        # the two responses first: the keys 1 and 2 then stand for Response 1 and Response 2
        listed = [("a", labels[0]), ("b", labels[1])]
        listed += [("tie", words["tie"])] * asked.ties + [("both_bad", words["both_bad"])] * asked.both_bad
        yield ChoiceQuestion(**base, options=tuple(Option(value=value, label=label) for value, label in listed))
    elif asked.type == "best_worst":
        for end in ("best", "worst"):
            other = f"{name}_best" if end == "worst" else None
            told = base | {"name": f"{name}_{end}", "text": words.fill(end, question=text)}
            yield ChoiceQuestion(**told, options=by_slot, differs_from=other)
    elif asked.type == "ranking":
        yield RankingQuestion(**base, options=by_slot, top=asked.top)
    elif asked.type == "category":
        yield ChoiceQuestion(**base, options=_options(asked.labels))
    elif asked.type == "labels":
        yield LabelsQuestion(**base, options=_options(asked.labels), at_least=asked.at_least, at_most=asked.at_most)
    elif asked.type == "span":
        yield SpansQuestion(**base, options=_options(asked.labels), length=1)
    elif asked.type == "yes_no":
        listed = [("yes", words["answer_yes"]), ("no", words["answer_no"])]
        yield ChoiceQuestion(**base, options=tuple(Option(value=value, label=label) for value, label in listed))
    else:
        yield TextQuestion(**base, lines=3)


def _item_screen(study: ItemStudy, shown: ShownItem, named: dict[str, Any]) -> Item:
    if shown.item.startswith(ATTENTION):
        return _attention_screen(study, shown, named)
    words, item = study.worded, study.item(shown.pair.partition("/")[0])
    if item.text is not None:
        passages = [_passage(study, words["text_label"], item.text)]
    else:
        n_shown = len(shown.systems)
        labels = [
            words.fill("response", number=n) if n_shown > 1 else words["response_only"] for n in range(1, n_shown + 1)
        ]
        slots = zip(labels, shown.systems, strict=True)
        passages = [_passage(study, label, item.responses[system]) for label, system in slots]
    above = []
    if item.context is not None:
        label = words["text_label" if isinstance(item.context, str) else "conversation_label"]
        above.append(_passage(study, label, item.context))
    asked = [
        one.model_copy(update={"length": len(passages[0].text)}) if isinstance(one, SpansQuestion) else one
        for _, _, one in item_questions(study, shown.systems)
    ]
    return Item(
        **named,
        prompt=item.prompt or "",
        context=tuple(above),
        passages=tuple(passages),
        questions=tuple(asked),
    )


def _passage(study: ItemStudy, label: str, shown: str | tuple[TurnText, ...]) -> Passage:
    """A text under its label, as the study has texts shown."""

    def formatted(text: str) -> tuple[str | Element, ...]:
        return rendered(text, study.pictures) if study.markup == "markdown" else ()

    if isinstance(shown, str):
        return Passage(label=label, text=shown, rich=formatted(shown))
    words = study.worded
    turns = tuple(
        Turn(
            who=words[one.role] if one.role in ("user", "assistant", "system") else one.role,
            text=one.text,
            rich=formatted(one.text),
        )
        for one in shown
    )
    return Passage(label=label, turns=turns)


def _choice(name: str, asked: Asked) -> ChoiceQuestion:
    return ChoiceQuestion(name=name, text=asked.question, options=_options(asked.options))


def _options(labels: Sequence[str]) -> tuple[Option, ...]:
    return tuple(Option(value=option_value(place), label=label) for place, label in enumerate(labels))
