"""`howsure compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from howsure.cli.evals.common import Cluster, estimands
from howsure.cli.finish import finish
from howsure.cli.options import Inputs, Level, Output, Reading, Seed, verb
from howsure.cli.output import progress_bar
from howsure.estimates import chance

if TYPE_CHECKING:
    from howsure.estimates import Estimate
    from howsure.evals.comparison import Difference

__all__ = ["app"]

app = typer.Typer()


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
    caption += estimands(result.pairs, together)
    output.console.table("Differences", (*columns, "items", "clusters", "within-item share", "test"), rows, caption)
    finish(result, output, "compare", "Which model is better?", "evals.sections.comparison_section")


def _difference_row(d: Difference) -> tuple[Any, ...]:
    tested = chance(d.p), chance(d.p_adjusted), chance(d.p_a_greater)
    return d.a, d.b, d.task, d.difference, *tested, d.n_items, d.n_clusters, _share(d.within_item_share), d.test


def _share(share: Estimate) -> str | None:
    """A share in per cent, with its interval."""
    if share.value is None:
        return None
    ends = "" if share.low is None or share.high is None else f" [{share.low:.0%}, {share.high:.0%}]"
    return f"{share.value:.0%}{ends}"
