"""A small study, and raters who answer its pages without a browser."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from howsure.people import digest
from howsure.study.packet.pages import ANSWER, GUESS, option_value
from howsure.study.protocol import Study

EXAMPLE = Path(__file__).parents[2] / "examples/study/study.yaml"
NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)


def instant(time):
    """A time as pages write it."""
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def small_study(n_pairs=4, **given):
    """Pairs whose responses differ, and nothing that is not needed."""
    pairs = [
        {"id": f"p{n}", "prompt": f"Question {n}?", "target": f"Warm answer {n}.", "comparison": f"Cold answer {n}."}
        for n in range(1, n_pairs + 1)
    ]
    told = {"title": "Voices", "consent": "You rate texts.", "gold": "Warm words, slowly said.", "seed": 7}
    return Study.model_validate(told | {"pairs": pairs} | given)


def perfect(study, placed):
    """Always the target, fully."""
    if placed.target is None:
        item = next(one for one in study.attention if placed.item.endswith(one.id))
        return {ANSWER: option_value(item.options.index(item.right))}
    values = {}
    for dimension in study.dimensions:
        for name, slot in dimension.fields:
            if dimension.kind == "comparison":
                values[name] = int(-dimension.high if placed.target == 1 else dimension.high)
            elif dimension.kind == "choice":
                values[name] = option_value(dimension.codes.index(dimension.high))
            else:
                values[name] = int(dimension.high if slot in (None, placed.target) else dimension.low)
    return values | ({GUESS: "first" if placed.target == 1 else "second"} if study.ask_guess else {})


def first_slot(study, placed):
    """Always the first: slot, step, option."""
    if placed.target is None:
        return {ANSWER: "a"}
    values = {}
    for dimension in study.dimensions:
        for name, _ in dimension.fields:
            values[name] = "a" if dimension.kind == "choice" else int(dimension.low)
    return values | ({GUESS: "first"} if study.ask_guess else {})


def rate(packet, number=0, how=perfect, *, rater=None, comment=None, quiz="b", ms=60_000):
    """What the page of a rater records."""
    built = packet.pages[number]
    placed = packet.key.placed(built.page.rater)
    screens = {}
    for screen in built.page.screens:
        record = {"kind": screen.kind, "ms": ms, "visits": 1}
        if screen.kind == "consent":
            record["agreed"] = True
        if screen.kind == "quiz":
            answers = {question.name: quiz for question in screen.questions}
            record |= {"answers": answers, "tries": [answers]}
        if screen.kind == "item":
            given = how(packet.study, placed[screen.id]) if screen.id in placed else {}
            given = {question.name: given[question.name] for question in screen.questions if question.name in given}
            if screen.id not in placed and comment:
                given = {"comments": comment}
            record |= {"answers": given, "revisions": {}}
        screens[screen.id] = record
    body = {
        "format": "howsure-result/1",
        "page": built.digest,
        "rater": rater or built.page.rater,
        "started": instant(NOW),
        "finished": instant(NOW + timedelta(milliseconds=ms * len(screens))),
        "reloads": 0,
        "screens": screens,
    }
    return body | {"digest": digest(body)}


def rate_all(packet, folder, how=perfect, **given):
    """Files of all raters."""
    folder.mkdir(exist_ok=True)
    for number, built in enumerate(packet.pages):
        path = folder / f"answers-{built.page.rater}.json"
        path.write_text(json.dumps(rate(packet, number, how, **given)), encoding="utf-8")
    return folder
