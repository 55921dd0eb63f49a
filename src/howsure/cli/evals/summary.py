"""`howsure summary`."""

from __future__ import annotations

from typing import Annotated

import typer

from howsure.cli.evals.common import Choosing, Cluster, ItemsAre, Weights, decimals, estimands
from howsure.cli.finish import finish
from howsure.cli.options import Inputs, Level, Output, Reading, verb

__all__ = ["app"]

app = typer.Typer()

By = Annotated[
    str | None,
    typer.Option(
        help="Groups: one row per value of all, domain, family or task. [default: domain if there is one]",
        show_default=False,
    ),
]


@app.command(epilog="Example: howsure summary examples/evals/attempts.csv --cluster family")
@verb
def summary(
    inputs: Inputs,
    reading: Reading,
    choosing: Choosing,
    output: Output,
    by: By = None,
    cluster: Cluster = "task",
    items: ItemsAre = "sampled",
    weights: Weights = "evals",
    level: Level = 0.95,
    mixed_model: Annotated[
        bool,
        typer.Option(
            "--mixed-model", help="Add a mixed model of all scores: variance shares, and means pooled over evals."
        ),
    ] = False,
) -> None:
    """Mean score of each model, with intervals over clusters of attempts.

    Every item counts once, with the mean of its attempts; over several evals, every eval that all models tried counts once.

    Repeats of one task, or tasks of one family, are correlated: intervals that ignore it are too narrow. The design effect is the
    variance of the mean divided by its variance if all attempts were independent. Writes summary.csv, summary.json, the chart and
    a report.
    """
    from howsure.evals.summaries import summary as summarize

    attempts = choosing.apply(reading.attempts(inputs, output.console), output.console)
    result = summarize(attempts, by=by, cluster=cluster, items=items, weights=weights, level=level)
    output.console.notes(result.provenance.notes[len(attempts.notes) :])
    rows = [
        (r.subject, r.task, r.mean, f"{r.n:,}", f"{r.n_items:,}", r.n_clusters, decimals(r.design_effect, 1))
        for r in result.rows
    ]
    columns = ("subject", "task", f"mean [{level:.0%}]", "attempts", "items", "clusters", "design effect")
    output.console.table("Mean score", columns, rows, estimands(result.rows, cluster, items))
    if mixed_model:
        from howsure.evals.summaries import pooled_means

        pooled = pooled_means(attempts, cluster=cluster, weights=weights, level=level)
        output.console.notes(note for note in pooled.provenance.notes if note not in result.provenance.notes)
        shares = [(name, share, f"{pooled.variances[name]:.4f}") for name, share in pooled.shares.items()]
        sources = ("source", f"share [{level:.0%}]", "variance")
        output.console.table("Variance of one attempt within an eval", sources, shares)
        means = [(r.subject, r.task, r.mean, r.design, f"{r.own_weight:.2f}", r.remark) for r in pooled.rows]
        shown = ("subject", "task", f"model [{level:.0%}]", f"design-based [{level:.0%}]", "own weight", "remark")
        caption = "Own weight: share of the eval's own mean; the rest comes from other evals. The design-based interval is the check."
        output.console.table("Means from one model of all scores", shown, means, caption)
        if output.out:
            output.console.wrote(pooled.save(output.out))
    finish(result, output, "summary", "How well did each model do?")
