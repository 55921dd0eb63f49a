"""`howsure study bench`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from howsure.cli.finish import finish
from howsure.cli.options import Epsilon, ItemCluster, Level, Output, Seed, verb

if TYPE_CHECKING:
    from howsure.study.judging.bench import JudgeBench

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


def _file(text: str) -> Any:
    return typer.Option(help=text, show_default=False)


@app.command(
    epilog="Example: howsure study bench examples/study/bench/people.csv examples/study/bench/judges.csv examples/study/bench/attacked.csv --texts examples/study/bench/texts.csv --costs examples/study/bench/costs.csv -o bench"
)
@verb
def bench(
    people: Annotated[Path, typer.Argument(help="People's ratings: numbers or text.", show_default=False)],
    judges: Annotated[
        list[Path],
        typer.Argument(
            help="Judges' ratings of the same items (and of attacked ones), or Inspect logs.", show_default=False
        ),
    ],
    output: Output,
    orders: Annotated[
        list[Path] | None,
        _file("Judges' ratings in each order. [default: judge_orders.csv beside each file of judges]"),
    ] = None,
    texts: Annotated[
        Path | None, _file("Table with item and text, length or family: for length, style, own family.")
    ] = None,
    costs: Annotated[Path | None, _file("Table with judge, cost (of one rating) and family.")] = None,
    kind: Annotated[
        str | None, _file("Agreement: pearson, spearman, kendall or match. [default: pearson; match for text]")
    ] = None,
    cluster: ItemCluster = None,
    epsilon: Epsilon = 0.2,
    half_width: Annotated[
        float,
        typer.Option(help="Half the width of the interval: the precision for the costs, as a share of the scale."),
    ] = 0.1,
    cost_label: Annotated[float, typer.Option(help="Cost of one label of a person.")] = 1.0,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Compare many judges with the same people and with each other, and recommend one.

    Writes bench.csv, judge_differences.csv, effects.csv, thresholds.csv, weights.csv, attacks.csv (those with rows), bench.json, charts and bench_report.html.
    """
    from howsure.cli.study.validate import orders_beside
    from howsure.study.agreement import read_ratings
    from howsure.study.judging.bench import AnswerTexts, JudgeCosts
    from howsure.study.judging.bench import bench as compare
    from howsure.tables import Ratings

    found = compare(
        read_ratings(people, categories=True),
        Ratings.union([read_ratings(path, categories=True) for path in judges]),
        orders=orders_beside(orders, judges),
        texts=AnswerTexts(texts) if texts else None,
        costs=JudgeCosts(costs) if costs else None,
        kind=kind,  # type: ignore[arg-type]  # checked there
        cluster=cluster,
        epsilon=epsilon,
        half_width=half_width,
        cost_label=cost_label,
        seed=seed,
        level=level,
    )
    output.console.notes(found.provenance.notes)
    _tell(found, output)
    finish(found, output, "bench", "Judges compared with people")


def _tell(found: JudgeBench, output: Output) -> None:
    from howsure.study.judging.sections import bench_effects, bench_table

    for block in (bench_table(found, is_short=True), bench_effects(found)):
        if block is not None:
            output.console.table(block.caption, block.columns, block.rows)
    for sentence in (*found.recommendation, *found.caveats):
        output.console.say(sentence)
