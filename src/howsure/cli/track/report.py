"""`howsure track report`, and what the verbs print of results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from howsure.cli.options import Level, Output, Seed, verb
from howsure.cli.output import write_all
from howsure.estimates import chance

if TYPE_CHECKING:
    from howsure.estimates import Estimate
    from howsure.track.differences import Contrast, Gain, PlayerDifference
    from howsure.track.results import TrackResult, TrackRow

__all__ = ["app", "print_result"]

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog="Example: howsure track report runs -o report")
@verb
def report(
    inputs: Annotated[
        list[Path],
        typer.Argument(help="Inspect logs, samples.csv files, or folders that contain them.", show_default=False),
    ],
    output: Output,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """The six metrics with intervals, survival curves, the gain from showing the state, kinds of errors, and tokens.

    Writes track.csv, samples.csv, survival.csv, hazard.csv, differences.csv, attempts.csv, track.json, the charts, and report.html.
    """
    from howsure.track.results import report_games

    results = report_games(inputs, level=level, seed=seed)
    print_result(results, output)
    if output.out:
        attempts = results.samples.attempts().write(output.out / "attempts.csv")
        page = output.out / "report.html"
        output.console.wrote(write_all(results, output, page, "Track the Stat", [attempts]))


# What the verbs print of results.


_MOST_PAIRS = 15
_PAIRED = "Difference of the mean number of correct answers, paired by sequence."
_KINDS = {"stale": "stale", "tie": "wrong tie rule", "rank": "one rank off", "other": "other"}


def print_result(results: TrackResult, output: Output) -> None:
    """Print the tables, and JSON for programs."""
    from howsure.track.survival import GUESSING

    console = output.console
    console.notes(results.provenance.notes)
    rows: list[tuple[Any, ...]] = [
        (
            *_who(r),
            _restricted(r),
            r.average,
            _bounds(r),
            r.stddev,
            r.median,
            r.largest,
            r.smallest,
            r.violation_rate,
            r.n,
            r.n_censored,
        )
        for r in results.rows
    ]
    level = f"[{results.level:.0%}]"
    figures: tuple[str, ...] = (f"restricted mean {level}", f"average {level}", "average, bounds", "SD", "median")
    figures += ("max", "min", "violations", "games", "interrupted")
    if not any(row.bounds or row.n_censored for row in results.rows):
        figures = tuple(name for name in figures if name not in (figures[0], "average, bounds", "interrupted"))
        rows = [(*row[:3], row[4], *row[6:-1]) for row in rows]
    exact = [one for one in results.baselines if one.name == GUESSING]
    told = "; ".join(f"{one.name} on {one.board.variant} {one.average}" for one in exact)
    console.table(
        "Correct answers before the first error", ("player", "solver", "variant", *figures), rows, f"Baseline: {told}."
    )
    if any(row.accuracy.share_changed is not None for row in results.rows):
        _print_accuracy(results, output)
    if results.gains:
        gained = [(g.model, g.solver, _board(g), *_contrast(g.contrast)) for g in results.gains]
        titles = ("model", "solver", "variant", "explicit − implicit", "up to turn", "p", "sequences")
        console.table("Gain from showing the state", titles, gained, _PAIRED)
    if results.differences:
        listed = results.differences[:_MOST_PAIRS]
        pairs = [(d.a, d.b, d.solver, _board(d), *_contrast(d.contrast), chance(d.p_holm)) for d in listed]
        headers = ("a", "b", "solver", "variant", "a − b", "up to turn", "p", "sequences", "p (Holm)")
        more = len(results.differences) - len(listed)
        rest = f" {more} more pairs are in differences.csv." if more else ""
        console.table("Differences between players", headers, pairs, _PAIRED + rest)
    for board, several in results.reasoning_rows().items():
        from howsure.track.charts import reasoning_history

        thinking = [(r.model, r.solver, reasoning_history(r), r.reasoning, r.average, r.n) for r in several]
        heads = ("model", "solver", "earlier reasoning", "tokens of reasoning per turn", "average", "games")
        console.table(f"Correct answers against reasoning: {board.title}", heads, thinking)
    kinds = [(*_who(row), *(_kind_share(row, kind) for kind in _KINDS)) for row in results.rows if row.chance_errors]
    if kinds:
        caption = (
            "Shares of the games that ended by a wrong answer. In brackets: the same shares for random guesses in the same turns. "
            "A share near that of guessing says nothing about the cause."
        )
        console.table("Kinds of wrong answers", ("player", "solver", "variant", *_KINDS.values()), kinds, caption)
    console.json(results.as_dict())


def _print_accuracy(results: TrackResult, output: Output) -> None:
    rows = [(*_who(r), r.accuracy) for r in results.rows]
    changed = [
        (*who, f"{a.share_changed:.0%}", a.changed, a.unchanged) for *who, a in rows if a.share_changed is not None
    ]
    heads = ("player", "solver", "variant")
    caption = (
        "Of turns that were answered. Who only repeats the last answer is correct where the answer stays the same."
    )
    output.console.table(
        "Accuracy by turn",
        (*heads, "turns with a new answer", "accuracy there", "in the other turns"),
        changed,
        caption,
    )
    on = [(*who, a.overall, a.after_right, a.after_wrong) for *who, a in rows if a.overall.value is not None]
    if on:
        columns = (*heads, "accuracy", "after a correct answer", "after a wrong answer")
        output.console.table(
            "Games that went on after errors", columns, on, "After a wrong answer: the rate of recovery."
        )


def _restricted(row: TrackRow) -> str | None:
    return f"{row.survival.restricted_mean} to turn {row.survival.reach}" if row.survival else None


def _who(row: TrackRow) -> tuple[str, str, str]:
    return row.model, row.solver, _board(row)


def _bounds(row: TrackRow) -> str | None:
    return f"{row.bounds[0]:.4g} to {row.bounds[1]:.4g}" if row.bounds else None


def _contrast(found: Contrast) -> tuple[Estimate, int, str | None, int]:
    return found.difference, found.limit, chance(found.p), found.n_seeds


def _kind_share(row: TrackRow, kind: str) -> str:
    wrong = sum(row.errors[one] for one in _KINDS)
    return f"{row.errors[kind] / wrong:.0%} ({row.chance_errors[kind]:.0%})"


def _board(row: TrackRow | Gain | PlayerDifference) -> str:
    from howsure.track.survival import Board

    return Board(row.variant, row.setting, row.length).title
