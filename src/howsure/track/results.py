"""From games to results: how many correct answers each player gives, with intervals, how games end, and tokens."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howsure.arguments import checked
from howsure.estimates import Estimate
from howsure.results import Provenance, Result, columns_of
from howsure.stats.means import clustered_mean
from howsure.track.differences import Contrast, Gain, PlayerDifference, differences, gains
from howsure.track.game.rules import IS_CENSORED, IS_ERROR, chance_kinds, error_counts
from howsure.track.game.sequence import Setting
from howsure.track.game.statistics import statistic
from howsure.track.running.logs import read_samples
from howsure.track.samples import DIRECT, GROUP, Samples
from howsure.track.survival import (
    REPLICATES,
    Baseline,
    Board,
    GameEnds,
    Hazard,
    Survival,
    average_turns,
    baselines,
    boards,
    median_turns,
    needs_assumption,
    stddev_turns,
    survival_of,
    violation_rate,
)

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = ["Accuracy", "TrackResult", "TrackRow", "Usage", "accuracy_of", "answer_changes", "measure", "report_games"]


# Accuracy by turn: where the answer changes and where it stays, and after errors where a game goes on.


@dataclass(frozen=True)
class Accuracy:
    """Shares of correct answers among the turns that were answered, clustered by sequence.

    ``changed`` is the accuracy in turns whose answer is not that of the turn before, ``unchanged`` in the others, and ``share_changed`` how many turns are of the first
    kind: who repeats the last answer is right in the others. Where games go on after an error, ``overall`` is the accuracy of all turns, ``after_right`` and
    ``after_wrong`` that of turns after a correct and after a wrong answer: the second is the rate of recovery.
    """

    share_changed: float | None
    changed: Estimate
    unchanged: Estimate
    overall: Estimate
    after_right: Estimate
    after_wrong: Estimate


def accuracy_of(games: pl.DataFrame, *, level: float = 0.95) -> Accuracy:
    """The accuracy of one player's games on one board.

    Parameters
    ----------
    games : polars DataFrame
        Rows of a table of samples.
    level : float
        Coverage of the intervals, between 0 and 1.
    """
    marks = games["marks"].to_list()
    is_error = games.select(IS_ERROR).to_series().to_list()
    rights, changes, seeds = [], [], []
    columns = ("variant", "setting", "length", "seed", "max_length")
    for row, told, failed in zip(games.select(columns).iter_rows(), marks, is_error, strict=True):
        right = np.array([mark == "1" for mark in told] if told else [True] * row[4] + [False] * failed, bool)
        rights.append(right)
        changes.append(answer_changes(*row[:4], len(right)))
        seeds.append(row[3])
    every, changed = np.concatenate(rights), np.concatenate(changes)
    goes_on = any(marks)
    before = np.concatenate([np.r_[np.nan, right[:-1]] if len(right) else right.astype(float) for right in rights])
    clusters = np.repeat(seeds, [len(right) for right in rights])

    def share(chosen: NDArray[np.bool_], *, is_asked: bool = True) -> Estimate:
        if not is_asked:
            return Estimate.without("undefined", "games ended at the first error", level=level)
        if not chosen.any():
            return Estimate.without("undefined", "there was no such turn", level=level)
        sums = (
            pl.DataFrame({"seed": clusters[chosen], "right": every[chosen]})
            .group_by("seed", maintain_order=True)
            .agg(pl.col("right").sum().cast(pl.Float64), pl.len().alias("n"))
        )
        return clustered_mean(sums["right"], sums["n"], level=level, bounds=(0.0, 1.0)).estimate

    return Accuracy(
        share_changed=float(changed.mean()) if len(changed) else None,
        changed=share(changed),
        unchanged=share(~changed),
        overall=share(np.ones(len(every), bool), is_asked=goes_on),
        after_right=share(before == 1, is_asked=goes_on),
        after_wrong=share(before == 0, is_asked=goes_on),
    )


@lru_cache(maxsize=100_000)
def answer_changes(variant: str, setting: str, length: int, seed: int, n_turns: int) -> NDArray[np.bool_]:
    """In which of the first turns of a sequence the right answer is not that of the turn before; in the first it is new."""
    state, answers = statistic(variant)(), []
    for step in Setting.of(setting, length).steps(variant, seed)[:n_turns]:
        state.take(step)
        answers.append(state.answer())
    return np.array([i == 0 or now != answers[i - 1] for i, now in enumerate(answers)], bool)


_LONG_REPLY = 25  # tokens per turn; an answer in its brackets takes 5 to 10


@dataclass(frozen=True)
class Usage:
    """Tokens of all samples of a row, the broken-off ones too; None where nobody counted."""

    input_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    n_turns: int

    @property
    def total_tokens(self) -> int | None:
        """Read and written."""
        known = self.input_tokens, self.output_tokens
        return None if None in known else sum(known)  # type: ignore[arg-type]

    @property
    def written_each_turn(self) -> float | None:
        """Tokens written in a turn, hidden reasoning too."""
        return None if self.output_tokens is None else self.output_tokens / self.n_turns


@dataclass(frozen=True)
class TrackRow:
    """One model with one solver on one variant.

    ``average``, ``stddev``, ``median``, ``largest``, ``smallest`` are of the number of correct answers, and ``violation_rate`` is the share of games that a
    malformed reply ends. Of ``n`` games ``n_censored`` were interrupted, and ``n_no_answer`` ended without an answer, which counts as an error. Where that leaves something open,
    ``bounds`` are the least and the most that the average can be (`howsure.track.survival.average_turns`). ``failures`` counts the reasons.
    ``reasoning`` is the number of reasoning tokens per turn.
    ``accuracy`` is the share of correct answers by turn: where the answer changes, and after errors where games go on (`howsure.track.results`).
    ``errors`` counts the ways in which games ended, and ``chance_errors`` has the shares of the kinds of errors among wrong guesses in the same turns.
    """

    model: str
    solver: str
    variant: str
    setting: str
    length: int
    kind: str
    n: int
    n_censored: int
    n_no_answer: int
    failures: Mapping[str, int]
    average: Estimate
    bounds: tuple[float, float] | None
    stddev: Estimate
    median: Estimate
    largest: int | None
    smallest: int | None
    violation_rate: Estimate
    survival: Survival | None
    errors: Mapping[str, int]
    chance_errors: Mapping[str, float]
    usage: Usage
    reasoning: Estimate
    accuracy: Accuracy

    @property
    def rests_on_assumption(self) -> bool:
        """Whether the average is not identified, or more than a small part of it is beyond the turns that were observed."""
        return needs_assumption(self.average)

    @property
    def headline(self) -> Estimate:
        """The average; where that needs an assumption, the restricted mean, which does not."""
        return self.survival.restricted_mean if self.survival and self.rests_on_assumption else self.average

    def metrics(self) -> dict[str, Any]:
        """The eval's metrics under their published names, each with its interval and state."""
        return {
            **columns_of(avg_max_length=self.average),
            "avg_at_least": self.bounds[0] if self.bounds else self.average.value,
            "avg_at_most": self.bounds[1] if self.bounds else self.average.value,
            **columns_of(stddev_max_length=self.stddev, median_max_length=self.median),
            "max_max_length": self.largest,
            "min_max_length": self.smallest,
            **columns_of(violation_rate=self.violation_rate),
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class TrackResult(Result):
    """Correct answers before the first error, with intervals.

    Parameters
    ----------
    rows : tuple[TrackRow, ...]
        One entry per player, solver and variant.
    gains : tuple[Gain, ...]
        What showing the state adds.
    differences : tuple[PlayerDifference, ...]
        Every pair of players.
    baselines : tuple[Baseline, ...]
        Baselines to compare with.
    samples : Samples
        The games.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name = "track"

    rows: tuple[TrackRow, ...]
    gains: tuple[Gain, ...]
    differences: tuple[PlayerDifference, ...]
    baselines: tuple[Baseline, ...]
    samples: Samples
    provenance: Provenance

    @property
    def level(self) -> float:
        """The coverage of the intervals."""
        return float(self.provenance.settings["level"])

    @property
    def boards(self) -> list[Board]:
        """What was played."""
        return boards(self.samples)

    def on(self, board: Board) -> list[TrackRow]:
        """The rows of one board."""
        return [row for row in self.rows if Board(row.variant, row.setting, row.length) == board]

    def reasoning_rows(self) -> dict[Board, list[TrackRow]]:
        """The rows of boards on which a model reasoned; boards that differ only in whether earlier reasoning is kept are put together."""
        found: dict[Board, list[TrackRow]] = {}
        for row in self.rows:
            if row.kind == "model" and row.reasoning.value is not None:
                setting = replace(Setting.of(row.setting, row.length), keeps_reasoning=False)
                found.setdefault(Board(row.variant, setting.label, row.length), []).append(row)
        return {board: rows for board, rows in found.items() if any(row.reasoning.value for row in rows)}

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``track`` (one row per player, solver and board), ``samples`` (one row per game), ``errors``, ``baselines`` and, where there are any, ``gains``, ``differences``, ``survival`` and ``hazard``."""
        optional = {
            "gains": [_key(gain) | _contrast_columns(gain.contrast) for gain in self.gains],
            "differences": [
                {"a": one.a, "b": one.b, **_board_columns(one), **_contrast_columns(one.contrast), "p_holm": one.p_holm}
                for one in self.differences
            ],
            "hazard": [
                _key(row) | _hazard_columns(hazard)
                for row in self.rows
                if row.survival
                for hazard in row.survival.hazards
            ],
        }
        curves = [_with_key(row, row.survival.to_frame()) for row in self.rows if row.survival]
        return {
            "track": _frame(map(_row_columns, self.rows)),
            "samples": self.samples.frame,
            "errors": _frame(_error_columns(row, kind) for row in self.rows for kind in row.errors),
            "baselines": _frame(
                {**asdict(one.board), "baseline": one.name} | columns_of(average=one.average) for one in self.baselines
            ),
            **{name: _frame(rows) for name, rows in optional.items() if rows},
            **({"survival": pl.concat(curves)} if curves else {}),
        }

    def as_dict(self) -> dict[str, Any]:
        """The tables, without the single games, and the provenance as plain JSON values."""
        return {name: value for name, value in super().as_dict().items() if name != "samples"}

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.track.sections import track_sections

        return track_sections(self)

    def charts(self) -> dict[str, Chart]:
        """Averages, survival curves and kinds of errors of every board, and answers against reasoning where models reasoned, by the name of their file."""
        from howsure.track.charts import draw_averages, draw_errors, draw_reasoning, draw_survival

        drawers = {"averages": draw_averages, "survival": draw_survival, "errors": draw_errors}
        by_reasoning = {
            f"reasoning-{label}": draw_reasoning(self, board)
            for label, board in _labelled(list(self.reasoning_rows())).items()
        }
        return {
            f"{name}-{label}": draw(self, board)
            for label, board in _labelled(self.boards).items()
            if any(row.survival for row in self.on(board))
            for name, draw in drawers.items()
        } | by_reasoning


@checked
def report_games(games: Source | Samples, *, level: float = 0.95, seed: int = 0) -> TrackResult:
    """Correct answers of each player before the first error, from games in files or folders.

    Parameters
    ----------
    games : Samples, polars or pandas DataFrame, path or list of paths
        Games; or Inspect logs, samples.csv files and folders that contain them.
    level : float
        Coverage of the intervals, between 0 and 1.
    seed : int
        Seed of resampled intervals.
    """
    if isinstance(games, str | os.PathLike):
        games = [games]
    is_files = isinstance(games, list | tuple) and all(isinstance(one, str | os.PathLike) for one in games)
    return measure(read_samples(games) if is_files else Samples.of(games), level=level, seed=seed)  # type: ignore[arg-type]


@checked
def measure(samples: Samples, *, level: float = 0.95, seed: int = 0) -> TrackResult:
    """Every player, solver and board measured.

    Games with the same sequence form a cluster. interrupted games are censored; games that ended without an answer count as
    errors (`howsure.track.game.rules`). The intervals of the average and the violation rate are score intervals of pseudo-values
    (`howsure.track.survival`); those of the standard deviation and the median come from a cluster bootstrap over sequences
    (`howsure.track.survival`). The largest and the smallest describe these games and have no interval.

    Parameters
    ----------
    samples : Samples
        The games.
    level : float
        Coverage of the intervals, between 0 and 1.
    seed : int
        Seed of resampled intervals.
    """
    parts = samples.frame.group_by(GROUP, maintain_order=True)
    rows = tuple(_row(part, level, seed) for _, part in parts)
    settings = {"level": level, "n_replicates": REPLICATES}
    notes = [note for row in rows for note in _notes(row)]
    provenance = Provenance.of(samples, seed=seed, notes=notes, **settings)
    return TrackResult(
        rows=rows,
        gains=gains(samples, level=level),
        differences=differences(samples, level=level),
        baselines=baselines(samples, level=level),
        samples=samples,
        provenance=provenance,
    )


def _row(part: pl.DataFrame, level: float, seed: int) -> TrackRow:
    first, ends = part.row(0, named=True), GameEnds.of(part)
    average, bounds = average_turns(part, level=level)
    ended = part.filter(~IS_CENSORED)
    spread = stddev_turns(ends, level=level, seed=seed)
    if average.state == "above_range":
        spread = Estimate.without("undefined", average.reason, level=level)
    return TrackRow(
        **{name: first[name] for name in (*GROUP, "kind")},
        n=len(part),
        n_censored=len(part) - len(ended),
        n_no_answer=int((part["ended_by"] == "no_answer").sum()),
        failures=dict(part["failure"].drop_nulls().value_counts(sort=True).iter_rows()),
        average=average,
        bounds=bounds,
        stddev=spread,
        median=median_turns(ends, level=level, seed=seed),
        largest=int(part["max_length"].max()) if ends.n else None,  # type: ignore[arg-type]
        smallest=int(ended["max_length"].min()) if len(ended) else None,  # type: ignore[arg-type]
        violation_rate=violation_rate(ends, level=level) if ends.n else Estimate.without("too_few", average.reason),
        survival=survival_of(ends, level=level) if ends.n else None,
        errors=error_counts(part),
        chance_errors=chance_kinds(part),
        usage=_usage(part),
        reasoning=_reasoning(part, level),
        accuracy=accuracy_of(part, level=level),
    )


def _asked() -> pl.Expr:
    """Turns that were asked."""
    to_first_error = pl.min_horizontal(pl.col("max_length") + 1, "length")
    return pl.max_horizontal(pl.col("marks").str.len_chars().cast(pl.Int64), to_first_error)


def _reasoning(part: pl.DataFrame, level: float) -> Estimate:
    """Reasoning tokens per turn, over the games whose tokens were counted, clustered by sequence."""
    if not _total(part, "output_tokens"):
        return Estimate.without("undefined", "the tokens of these games were not counted", level=level)
    counted = part.filter(pl.col("reasoning_tokens").is_not_null())
    sums = counted.group_by("seed", maintain_order=True).agg(
        pl.col("reasoning_tokens").sum(), _asked().sum().alias("n")
    )
    found = clustered_mean(sums["reasoning_tokens"], sums["n"], level=level, bounds=None).estimate
    return found if found.low is None else replace(found, low=max(found.low, 0.0))


def _usage(part: pl.DataFrame) -> Usage:
    asked = part.select(_asked().sum()).item()
    read, written, reasoned = (_total(part, name) for name in ("input_tokens", "output_tokens", "reasoning_tokens"))
    return Usage(read, written, reasoned, asked)


def _total(part: pl.DataFrame, name: str) -> int | None:
    return int(part[name].sum()) if name in part.columns and part[name].count() else None


def _notes(row: TrackRow) -> list[str]:
    name, notes = f"{row.model} ({row.solver}, {row.variant})", []
    why = ", ".join(f"{count} {reason}" for reason, count in row.failures.items())
    if row.n_censored:
        notes.append(f"{name}: {row.n_censored} of {row.n} games were interrupted and are censored ({why}).")
    if row.n_no_answer:
        most = f" If they are censored instead, the average is at most {row.bounds[1]:.4g}." if row.bounds else ""
        notes.append(
            f"{name}: {row.n_no_answer} of {row.n} games ended without an answer ({why}), which counts as an error in that turn.{most}"
        )
    if row.average.state != "ok":
        notes.append(f"{name}: {row.average.reason}.")
    elif row.rests_on_assumption:
        notes.append(
            f"{name}: {row.average.reason}. If the hazard changes in another way there, the interval is too narrow: read restricted_mean."
        )
    written = row.usage.written_each_turn
    if row.solver == DIRECT and row.usage.reasoning_tokens:
        notes.append(
            f"{name}: reasons before it answers ({row.reasoning.value or 0:.3g} tokens per turn), so it can work out the state in writing. Read its results as explicit tracking."
        )
    elif row.solver == DIRECT and written is not None and written > _LONG_REPLY:
        notes.append(
            f"{name}: writes {written:.0f} tokens per turn, more than an answer takes; it may keep the state in writing. Forbid it with --brief."
        )
    return notes


def _frame(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), infer_schema_length=None)


def _key(row: TrackRow | Gain) -> dict[str, Any]:
    return {"model": row.model, **_board_columns(row)}


def _board_columns(row: TrackRow | Gain | PlayerDifference) -> dict[str, Any]:
    return {name: getattr(row, name) for name in ("solver", "variant", "setting", "length")}


def _row_columns(row: TrackRow) -> dict[str, Any]:
    mean = row.survival.restricted_mean if row.survival else Estimate.without("too_few", row.average.reason)
    return {
        **_key(row),
        "kind": row.kind,
        **row.metrics(),
        **columns_of(restricted_mean=mean),
        "restricted_to": row.survival.reach if row.survival else None,
        **{name: getattr(row, name) for name in ("n", "n_censored", "n_no_answer")},
        **{name: getattr(row.usage, name) for name in ("input_tokens", "output_tokens", "reasoning_tokens")},
        "total_tokens": row.usage.total_tokens,
        **columns_of(reasoning_per_turn=row.reasoning),
        "share_changed": row.accuracy.share_changed,
        **columns_of(accuracy_changed=row.accuracy.changed, accuracy_unchanged=row.accuracy.unchanged),
        **columns_of(accuracy=row.accuracy.overall),
        **columns_of(accuracy_after_right=row.accuracy.after_right, accuracy_after_wrong=row.accuracy.after_wrong),
    }


def _error_columns(row: TrackRow, kind: str) -> dict[str, Any]:
    count = row.errors[kind]
    share = {"share": count / row.n, "share_among_guesses": row.chance_errors.get(kind)}
    return {**_key(row), "ended": kind, "games": count, **share}


def _contrast_columns(one: Contrast) -> dict[str, Any]:
    tests = {"p": one.p, "p_log_rank": one.p_log_rank, "n_seeds": one.n_seeds, "n_unshared": one.n_unshared}
    return {"limit": one.limit, **columns_of(difference=one.difference), **tests}


def _hazard_columns(one: Hazard) -> dict[str, Any]:
    counts = {"errors": one.n_errors, "turns": one.n_turns}
    return {"first": one.first, "last": one.last, **columns_of(hazard=one.hazard), **counts}


def _with_key(row: TrackRow, frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(*(pl.lit(value).alias(name) for name, value in _key(row).items()), pl.all())


def _labelled(listed: list[Board]) -> dict[str, Board]:
    """Boards by their variant, numbered where it was played under several conditions."""
    counts = Counter(board.variant for board in listed)
    seen: Counter[str] = Counter()
    labelled = {}
    for board in listed:
        seen[board.variant] += 1
        labelled[board.variant if counts[board.variant] == 1 else f"{board.variant}-{seen[board.variant]}"] = board
    return labelled
