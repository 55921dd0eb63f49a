"""Results from files: each checked against the page it answers, none counted twice, refusals with their reasons."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from howsure.errors import InputError
from howsure.people.build import BuiltPage
from howsure.people.records import FinishedAnswers, GameRecord, ItemRecord, QuizRecord, read_result
from howsure.people.screens import GameScreen, Item, QuizScreen
from howsure.safe_io import read_bytes

__all__ = [
    "CollectedAnswers",
    "Received",
    "Refusal",
    "answer_rows",
    "impossible_times",
    "quality_signs",
    "read_results",
    "step_rows",
]

LARGEST_RESULT = 1_000_000
_LARGEST_FILE = 256 * 2**20
_Screen = TypeVar("_Screen", Item, QuizScreen, GameScreen)
_Record = TypeVar("_Record", ItemRecord, QuizRecord, GameRecord)
_FASTEST = 900  # words a minute; skimming readers reach half of it
_FEWEST = 3  # items that make a row of equal answers remarkable
_CLOCK_SLACK = 60.0  # seconds by which two clocks of one device may differ


@dataclass(frozen=True)
class Received:
    """An accepted answer set, the page that it answers, and its source.

    Parameters
    ----------
    result : FinishedAnswers
        The answers.
    page : BuiltPage
        The page.
    source : str
        File (and line) of the answers.
    """

    result: FinishedAnswers
    page: BuiltPage
    source: str

    @property
    def rater(self) -> str:
        """Who answered, without spaces around the name."""
        return self.result.rater.strip()

    @property
    def seconds(self) -> float:
        """How long the page was in view, all screens together."""
        return sum(record.ms for record in self.result.screens.values()) / 1000


@dataclass(frozen=True)
class Refusal:
    """A file, or a line of one, that was refused.

    Parameters
    ----------
    source : str
        File (and line).
    reason : str
        Why it was refused.
    """

    source: str
    reason: str

    @classmethod
    def of(cls, source: str, error: InputError) -> Refusal:
        """The refusal of what raised this error, whose text may begin with the source."""
        return cls(source, str(error).removeprefix(source).lstrip(":, ").rstrip("."))

    def __str__(self) -> str:
        return f"{self.source}: {self.reason}."


@dataclass(frozen=True)
class CollectedAnswers:
    """The answer sets that were accepted and those that were refused.

    Parameters
    ----------
    results : tuple[Received, ...]
        Accepted answer sets.
    refused : tuple[Refusal, ...]
        Refused files, with reasons.
    """

    results: tuple[Received, ...]
    refused: tuple[Refusal, ...]


def read_results(
    paths: Iterable[str | os.PathLike[str]], pages: Iterable[BuiltPage], *, per_packet: Mapping[str, str] | None = None
) -> CollectedAnswers:
    """Answer sets from ``.json`` files as mailed, ``.jsonl`` files as exported by the collector, and folders of them.

    An answer set is accepted if it is complete, answers one of `pages`, and is the only one of its rater. Identical copies count once; different answer sets from one rater are refused until one of them is removed. A file that cannot be read, or is too large, is refused, and the others are read.

    Parameters
    ----------
    paths : Iterable[str or path]
        Files and folders.
    pages : Iterable[BuiltPage]
        The pages that were answered.
    per_packet : Mapping[str, str], optional
        Digest of a page → its packet, where raters of several packets may have the same names.
    """
    by_digest = {page.digest: page for page in pages}
    received: list[Received] = []
    refused: list[Refusal] = []
    for source, data in _documents(paths):
        try:
            if isinstance(data, InputError):
                raise data
            result = read_result(data, by_digest)
            received.append(Received(result, by_digest[result.page], source))
        except InputError as error:
            refused.append(Refusal.of(source, error))
    packets = per_packet or {}
    groups: dict[str, list[Received]] = defaultdict(list)
    for one in received:
        groups[packets.get(one.page.digest, "")].append(one)
    pairs = [_once(group) for group in groups.values()]
    counted, doubled = [one for own, _ in pairs for one in own], [one for _, out in pairs for one in out]
    return CollectedAnswers(tuple(counted), (*refused, *doubled))


def answer_rows(results: Iterable[Received]) -> list[dict[str, Any]]:
    """One row per answered question of an item: rater, screen (opaque id), question, value, seconds on the screen, revisions of the answer, and the item's position in the order in which this person saw the items.

    Parameters
    ----------
    results : Iterable[Received]
        Accepted answer sets.
    """
    rows = []
    for received in results:
        items = _answered(received.page, received.result, Item, ItemRecord)
        for position, (screen, record) in enumerate(items, 1):
            for name in (question.name for question in screen.questions if question.name in record.answers):
                row = {"rater": received.rater, "screen": screen.id, "question": name, "value": record.answers[name]}
                times = {"seconds": record.ms / 1000, "revisions": record.revisions.get(name, 0), "position": position}
                rows.append(row | times)
    return rows


def step_rows(results: Iterable[Received]) -> list[dict[str, Any]]:
    """One row per step of a game: rater, screen (opaque id), step from 1, answer, seconds, and whether the page marked it as correct (None where it was not marked). The instrument decides what is correct.

    Parameters
    ----------
    results : Iterable[Received]
        Accepted answer sets.
    """
    rows = []
    for received in results:
        for screen, record in _answered(received.page, received.result, GameScreen, GameRecord):
            for number, step in enumerate(record.steps):
                row = {"rater": received.rater, "screen": screen.id, "step": number + 1, "answer": step.answer}
                right = screen.is_right(number, step.answer)
                rows.append(row | {"seconds": step.ms / 1000, "taken_for_right": right})
    return rows


def quality_signs(page: BuiltPage, result: FinishedAnswers) -> list[str]:
    """Warnings about one answer set, for the researcher: reading too fast, the same answer to every item, a failed quiz.

    These are warnings, not exclusions: exclusion follows rules that are fixed in advance.

    Parameters
    ----------
    page : BuiltPage
        The page.
    result : FinishedAnswers
        The answers to it.
    """
    return [*_haste(page, result), *_sameness(page, result), *_failures(page, result), *impossible_times(result)]


def impossible_times(result: FinishedAnswers) -> list[str]:
    """What cannot be true of a result's times: no dates, an end before the start or in the future, more time on screens than went by.

    A clock that was set while someone answered does this too, so it is a flag and no refusal.
    """
    try:
        started, finished = (datetime.fromisoformat(told) for told in (result.started, result.finished))
    except ValueError:
        return [f"impossible date: started {result.started}, finished {result.finished}"]
    elapsed, shown = (finished - started).total_seconds(), sum(one.ms for one in result.screens.values()) / 1000
    if elapsed < 0:
        return [f"finished before it was started ({result.started} to {result.finished})"]
    signs = []
    if shown > elapsed + _CLOCK_SLACK:
        signs.append(f"{shown / 60:.1f} minutes on screens, but only {elapsed / 60:.1f} from start to end")
    if finished > datetime.now(UTC) + timedelta(days=1):
        signs.append(f"finished in the future ({result.finished})")
    return signs


def _documents(paths: Iterable[str | os.PathLike[str]]) -> Iterator[tuple[str, bytes | InputError]]:
    for path in map(Path, paths):
        for file in _files(path):
            try:
                data = _read(file)
            except InputError as error:
                yield str(file), error
                continue
            if file.suffix.lower() != ".jsonl":
                yield str(file), data
                continue
            yield from ((f"{file} line {n}", line) for n, line in enumerate(data.splitlines(), 1) if line.strip())


def _read(file: Path) -> bytes:
    if not file.is_file():
        raise InputError("it is not a file")
    if file.stat().st_size > _LARGEST_FILE:
        raise InputError(f"it is larger than {_LARGEST_FILE // 2**20} MB and not read")
    return read_bytes(file)


def _files(path: Path) -> Sequence[Path]:
    if path.is_dir():
        return sorted(file for file in path.iterdir() if file.suffix.lower() in (".json", ".jsonl"))
    if not path.is_file():
        raise InputError(f"{path}: no such file. Name the result files, or the folder they are in.")
    return [path]


def _once(received: Sequence[Received]) -> tuple[list[Received], list[Refusal]]:
    by_rater: Mapping[str, list[Received]] = defaultdict(list)
    for one in received:
        by_rater[one.rater].append(one)
    counted, refused = [], []
    for first, *others in by_rater.values():
        if all(other.result.digest == first.result.digest for other in others):
            counted.append(first)
            refused += [Refusal(other.source, f"the same answers as {first.source}; counted once") for other in others]
        else:
            told = (
                f"{first.rater!r} gave {len(others) + 1} answer sets that differ; keep one file and remove the others"
            )
            refused += [Refusal(one.source, told) for one in (first, *others)]
    return counted, refused


def _haste(page: BuiltPage, result: FinishedAnswers) -> Iterator[str]:
    items = list(_answered(page, result, Item, ItemRecord))
    shown = (f"{item.prompt} {' '.join(one.words for one in (*item.context, *item.passages))}" for item, _ in items)
    words = sum(len(text.split()) for text in shown)
    minutes = sum(record.ms for _, record in items) / 60_000
    if words > _FASTEST * minutes:
        yield f"{words:,} words of items in {minutes * 60:.0f} s"


def _sameness(page: BuiltPage, result: FinishedAnswers) -> Iterator[str]:
    values = defaultdict(list)
    for item, record in _answered(page, result, Item, ItemRecord):
        for question in item.questions:
            if question.kind in ("scale", "choice") and question.name in record.answers:
                values[question.name].append(record.answers[question.name])
    many = [given for given in values.values() if len(given) >= _FEWEST]
    if many and all(len(set(given)) == 1 for given in many):
        yield f"the same answers to all {max(map(len, many))} items"


def _failures(page: BuiltPage, result: FinishedAnswers) -> Iterator[str]:
    for quiz, record in _answered(page, result, QuizScreen, QuizRecord):
        right = sum(quiz.is_right(name, answer) for name, answer in record.tries[-1].items())
        if right < quiz.pass_mark:
            yield f"quiz not passed ({right} of {len(quiz.questions)}, {quiz.pass_mark} needed)"


def _answered(
    page: BuiltPage, result: FinishedAnswers, screen_kind: type[_Screen], record_kind: type[_Record]
) -> Iterator[tuple[_Screen, _Record]]:
    """The screens of a kind with what was recorded on them, in the order in which they were shown."""
    for screen in page.page.screens:
        record = result.screens.get(screen.id)  # a screening may have ended the page before
        if isinstance(screen, screen_kind) and isinstance(record, record_kind):
            yield screen, record
