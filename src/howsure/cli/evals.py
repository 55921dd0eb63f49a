"""`howsure summary`, `howsure compare`, `howsure power`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from howsure.cli.finish import finish
from howsure.cli.options import Inputs, Level, Output, Reading, Seed, verb
from howsure.cli.output import progress_bar
from howsure.estimates import chance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from howsure.estimates import Estimate
    from howsure.evals.compare import Difference
    from howsure.evals.summary import SummaryRow

__all__ = ["app"]

app = typer.Typer()

By = Annotated[
    str | None,
    typer.Option(
        help="A row for each: all, domain, family or task. [default: domain if there is one]", show_default=False
    ),
]
Cluster = Annotated[str, typer.Option(help="What attempts share that makes them alike: task, family, domain, or none.")]


@app.command()
@verb
def summary(
    inputs: Inputs, reading: Reading, output: Output, by: By = None, cluster: Cluster = "task", level: Level = 0.95
) -> None:
    """Mean score of each model, with intervals that know which attempts belong together.

    Every item counts once, with the mean of its attempts; over several evals, every eval that all models tried counts once.

    Repeats of one task, or tasks of one family, resemble each other: counting them as independent makes intervals too
    narrow. The design effect says by how much the variance grows. Writes summary.csv, summary.json the chart and a report.
    """
    from howsure.evals.summary import summarise

    attempts = reading.attempts(inputs, output.console)
    result = summarise(attempts, by=by, cluster=cluster, level=level)
    output.console.notes(result.provenance.notes[len(attempts.notes) :])
    rows = [
        (r.subject, r.task, r.mean, f"{r.n:,}", f"{r.n_items:,}", r.n_clusters, _figure(r.design_effect, 1))
        for r in result.rows
    ]
    columns = ("subject", "task", f"mean [{level:.0%}]", "attempts", "items", "clusters", "design effect")
    output.console.table("Mean score", columns, rows, _estimands(result.rows, cluster))
    finish(result, output, "summary", "How well did each do?", "evals.summary_section")


@app.command()
@verb
def compare(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    a: Annotated[str | None, typer.Option(help="Compare this subject …", show_default=False)] = None,
    b: Annotated[str | None, typer.Option(help="… with this one. Without both: all pairs.", show_default=False)] = None,
    by: Annotated[str, typer.Option(help="A comparison for each: all, domain, family or task.")] = "all",
    cluster: Cluster = "task",
    correction: Annotated[str, typer.Option(help="For many p-values: holm or bh (Benjamini–Hochberg).")] = "holm",
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Differences between models, paired by sample, with tests corrected for how many there are.

    P(A better) is the probability that A is truly better. "From repeats" is the share of the uncertainty that more
    repeats (epochs) would remove; the rest needs more tasks. Writes compare.csv, compare.json the chart and a report.
    """
    from howsure.evals.compare import compare as compare_subjects

    attempts = reading.attempts(inputs, output.console)
    with progress_bar("comparing", output.console) as progress:
        result = compare_subjects(
            attempts, a, b, by=by, cluster=cluster, correction=correction, level=level, seed=seed, progress=progress
        )
    rows = [_difference_row(pair) for pair in result.pairs]
    columns = ("A", "B", "task", f"A − B [{level:.0%}]", "p", f"p ({correction})", "P(A better)")
    output.console.notes(result.provenance.notes[len(attempts.notes) :])
    together = "task" if cluster == "none" else cluster  # a pair is an item, with all its attempts
    caption = f"Differences over the items that both tried. {_estimands(result.pairs, together)}"
    output.console.table("Differences", (*columns, "tasks", "clusters", "from repeats", "test"), rows, caption)
    finish(result, output, "compare", "Who is better?", "evals.comparison_section")


@app.command()
@verb
def power(
    reading: Reading,
    output: Output,
    inputs: Annotated[
        list[str] | None, typer.Argument(help="A pilot to take the variances from.", show_default=False)
    ] = None,
    effect: Annotated[float, typer.Option(help="The smallest true difference that matters.")] = 0.05,
    items: Annotated[
        int | None, typer.Option(min=2, help="Items at hand: what can they show?", show_default=False)
    ] = None,
    wanted: Annotated[float, typer.Option("--power", help="The chance with which it shall be seen.")] = 0.8,
    level: Level = 0.95,
    accuracy: Annotated[float, typer.Option(help="Without a pilot: accuracy of the weaker model.")] = 0.7,
    correlation: Annotated[float, typer.Option(help="Without a pilot: of the models' chances over items.")] = 0.5,
    share_between: Annotated[
        float, typer.Option(help="Without a pilot: how much of the variance lies between items rather than repeats.")
    ] = 0.5,
    a: Annotated[str | None, typer.Option(help="With a pilot: this subject …", show_default=False)] = None,
    b: Annotated[str | None, typer.Option(help="… and this one.", show_default=False)] = None,
    cluster: Cluster = "task",
) -> None:
    """How many items and repeats a difference between two models needs to be seen.

    Plans a paired comparison on the same items, from assumptions or from a pilot run with repeats. Writes power.csv, power.json, the
    chart and a report.
    """
    from howsure.evals.power import pilot, plan
    from howsure.results import Provenance

    comparison = provenance = None
    if inputs:
        attempts = reading.attempts(inputs, output.console)
        comparison = pilot(attempts, a, b, cluster=cluster)
        provenance = Provenance.of(attempts, a=a, b=b, cluster=cluster)
    made = plan(
        effect,
        comparison=comparison,
        accuracy=accuracy,
        correlation=correlation,
        share_between=share_between,
        n_items=items,
        power=wanted,
        level=level,
        provenance=provenance,
    )
    rows = [
        (r.epochs, f"{r.items_needed:,}", f"{r.attempts_needed:,}", _figure(r.detectable, 3), _figure(r.power, 2))
        for r in made.rows
    ]
    columns = ("repeats", "items needed", "tries in all", "detectable", "power")
    title = f"To see a true difference of {effect:g} with {wanted:.0%} power at the {level:.0%} level"
    caption = f"Last two columns: with {items:,} items." if items else "Pass --items to see what you have can show."
    caption = " ".join([caption, "Assumptions:", *made.assumptions])
    output.console.table(title, columns if items else columns[:3], [r if items else r[:3] for r in rows], caption)
    finish(made, output, "power", "What would an eval need?", "evals.plan_section")


def _difference_row(d: Difference) -> tuple[Any, ...]:
    tested = chance(d.p), chance(d.p_adjusted), chance(d.p_better)
    return d.a, d.b, d.task, d.difference, *tested, d.n_tasks, d.n_clusters, _share(d.from_repeats), d.test


def _figure(number: float | None, digits: int) -> str | None:
    return None if number is None else f"{number:.{digits}f}"


def _share(share: Estimate | None) -> str | None:
    """A share in per cent, with its interval."""
    if share is None or share.value is None:
        return None
    ends = "" if share.low is None or share.high is None else f" [{share.low:.0%}, {share.high:.0%}]"
    return f"{share.value:.0%}{ends}"


def _estimands(rows: Sequence[SummaryRow | Difference], cluster: str) -> str:
    """What the numbers of a table are means of, and what their intervals take as independent."""
    rows_of: dict[str, list[str]] = {}
    for row in rows:
        rows_of.setdefault(row.estimand, []).append(row.task)
    told = [f"{'all' if 'all' in tasks else 'other rows'}: {what}" for what, tasks in rows_of.items()]
    what = next(iter(rows_of)) if len(rows_of) == 1 else "; ".join(told)
    independent = "attempts" if cluster == "none" else f"clusters ({cluster})"
    return f"Shown: {what}; intervals over independent {independent}."
