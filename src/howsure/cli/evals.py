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
    from howsure.evals.comparison import Difference
    from howsure.evals.summaries import SummaryRow

__all__ = ["app"]

app = typer.Typer()

By = Annotated[
    str | None,
    typer.Option(
        help="One row per value of: all, domain, family or task. [default: domain if there is one]", show_default=False
    ),
]
Cluster = Annotated[
    str, typer.Option(help="Attempts with the same value are not independent: task, family, domain, or none.")
]


@app.command(epilog="Example: howsure summary examples/evals/attempts.csv --cluster family")
@verb
def summary(
    inputs: Inputs, reading: Reading, output: Output, by: By = None, cluster: Cluster = "task", level: Level = 0.95
) -> None:
    """Mean score of each model, with intervals over clusters of attempts.

    Every item counts once, with the mean of its attempts; over several evals, every eval that all models tried counts once.

    Repeats of one task, or tasks of one family, are correlated: intervals that ignore it are too narrow. The design effect is the
    variance of the mean divided by its variance if all attempts were independent. Writes summary.csv, summary.json, the chart and
    a report.
    """
    from howsure.evals.summaries import summary as summarize

    attempts = reading.attempts(inputs, output.console)
    result = summarize(attempts, by=by, cluster=cluster, level=level)
    output.console.notes(result.provenance.notes[len(attempts.notes) :])
    rows = [
        (r.subject, r.task, r.mean, f"{r.n:,}", f"{r.n_items:,}", r.n_clusters, _decimals(r.design_effect, 1))
        for r in result.rows
    ]
    columns = ("subject", "task", f"mean [{level:.0%}]", "attempts", "items", "clusters", "design effect")
    output.console.table("Mean score", columns, rows, _estimands(result.rows, cluster))
    finish(result, output, "summary", "How well did each model do?", "evals.sections.summary_section")


@app.command(epilog="Example: howsure compare examples/evals/attempts.csv --a amber-2 --b amber-1 --cluster family")
@verb
def compare(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    a: Annotated[str | None, typer.Option(help="Compare this subject …", show_default=False)] = None,
    b: Annotated[str | None, typer.Option(help="… with this one. Without both: all pairs.", show_default=False)] = None,
    by: Annotated[str, typer.Option(help="One comparison per value of: all, domain, family or task.")] = "all",
    cluster: Cluster = "task",
    correction: Annotated[str, typer.Option(help="For many p-values: holm or bh (Benjamini–Hochberg).")] = "holm",
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Differences between models, paired by item, with tests corrected for their number.

    P(A > B) is the probability that the true difference is above 0. The within-item share is the share of the squared standard
    error that more repeats (epochs) would remove; the rest needs more items. Writes compare.csv, compare.json, the chart and a
    report.
    """
    from howsure.evals.comparison import compare as compare_subjects

    attempts = reading.attempts(inputs, output.console)
    with progress_bar("comparing", output.console) as progress:
        result = compare_subjects(
            attempts, a, b, by=by, cluster=cluster, correction=correction, level=level, seed=seed, progress=progress
        )
    rows = [_difference_row(pair) for pair in result.pairs]
    columns = ("A", "B", "task", f"A − B [{level:.0%}]", "p", f"p ({correction})", "P(A > B)")
    output.console.notes(result.provenance.notes[len(attempts.notes) :])
    together = "task" if cluster == "none" else cluster  # a pair is an item, with all its attempts
    is_unpaired = {pair.test.endswith("unpaired") for pair in result.pairs}
    over = {False: "the items that both tried", True: "each model's own items (unpaired)"}
    caption = f"Differences over {', or '.join(over[one] for one in sorted(is_unpaired))}. "
    caption += _estimands(result.pairs, together)
    output.console.table("Differences", (*columns, "items", "clusters", "within-item share", "test"), rows, caption)
    finish(result, output, "compare", "Which model is better?", "evals.sections.comparison_section")


@app.command(epilog="Example: howsure power --effect 0.05 --items 200")
@verb
def power(
    reading: Reading,
    output: Output,
    inputs: Annotated[
        list[str] | None, typer.Argument(help="A pilot with repeats, for the variances.", show_default=False)
    ] = None,
    effect: Annotated[float, typer.Option(help="The smallest true difference that matters.")] = 0.05,
    items: Annotated[
        int | None, typer.Option(min=2, help="Items at hand: what can they show?", show_default=False)
    ] = None,
    target: Annotated[
        float, typer.Option("--power", help="Probability with which the difference shall be detected.")
    ] = 0.8,
    level: Level = 0.95,
    accuracy: Annotated[float, typer.Option(help="Without a pilot: accuracy of the weaker model.")] = 0.7,
    correlation: Annotated[
        float, typer.Option(help="Without a pilot: correlation over items of the models' success probabilities.")
    ] = 0.5,
    share_between: Annotated[
        float, typer.Option(help="Without a pilot: share of a score's variance between items, not between repeats.")
    ] = 0.5,
    a: Annotated[str | None, typer.Option(help="With a pilot: this subject …", show_default=False)] = None,
    b: Annotated[str | None, typer.Option(help="… and this one.", show_default=False)] = None,
    cluster: Cluster = "task",
) -> None:
    """How many items and repeats are needed to detect a difference between two models.

    Plans a paired comparison on the same items, from assumptions or from a pilot run with repeats. Writes power.csv, power.json,
    the chart and a report.
    """
    from howsure.evals.planning import power as plan_power

    result = plan_power(
        reading.attempts(inputs, output.console) if inputs else None,
        effect=effect,
        n_items=items,
        power=target,
        level=level,
        accuracy=accuracy,
        correlation=correlation,
        share_between=share_between,
        a=a,
        b=b,
        cluster=cluster,
    )
    rows = [
        (r.epochs, f"{r.items_needed:,}", f"{r.attempts_needed:,}", _decimals(r.detectable, 3), _decimals(r.power, 2))
        for r in result.rows
    ]
    columns = ("attempts per item", "items needed", "attempts in total", "detectable", "power")
    title = f"To detect a true difference of {effect:g} with {target:.0%} power at the {level:.0%} level"
    caption = f"Last two columns: with {items:,} items." if items else "--items N adds what N items can show."
    caption = " ".join([caption, "Assumptions:", *result.assumptions])
    output.console.table(title, columns if items else columns[:3], [r if items else r[:3] for r in rows], caption)
    finish(result, output, "power", "How many items does an eval need?", "evals.sections.power_section")


def _difference_row(d: Difference) -> tuple[Any, ...]:
    tested = chance(d.p), chance(d.p_adjusted), chance(d.p_a_greater)
    return d.a, d.b, d.task, d.difference, *tested, d.n_items, d.n_clusters, _share(d.within_item_share), d.test


def _decimals(number: float | None, digits: int) -> str | None:
    return None if number is None else f"{number:.{digits}f}"


def _share(share: Estimate) -> str | None:
    """A share in per cent, with its interval."""
    if share.value is None:
        return None
    ends = "" if share.low is None or share.high is None else f" [{share.low:.0%}, {share.high:.0%}]"
    return f"{share.value:.0%}{ends}"


def _estimands(rows: Sequence[SummaryRow | Difference], cluster: str) -> str:
    """What the numbers of a table are means of, and which units the intervals take as independent."""
    rows_of: dict[str, list[str]] = {}
    for row in rows:
        rows_of.setdefault(row.estimand, []).append(row.task)
    several = [f"{'all' if 'all' in tasks else 'other rows'}: {what}" for what, tasks in rows_of.items()]
    what = next(iter(rows_of)) if len(rows_of) == 1 else "; ".join(several)
    independent = "attempts" if cluster == "none" else f"clusters ({cluster})"
    return f"Shown: {what}; intervals over independent {independent}."
