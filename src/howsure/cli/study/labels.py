"""`howsure study labels`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from howsure.cli.finish import finish
from howsure.cli.options import Level, Output, Seed, verb

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(
    epilog="Example: howsure study labels examples/study/bench/judges.csv --pilot examples/study/bench/people.csv --n-labels 25 -o labels"
)
@verb
def labels(
    judge: Annotated[list[Path], typer.Argument(help="Judges' ratings of all items.", show_default=False)],
    output: Output,
    n_labels: Annotated[
        int | None, typer.Option(min=4, help="How many items people will label.", show_default=False)
    ] = None,
    half_width: Annotated[
        float | None,
        typer.Option(
            help="Half the width of the interval: to be reached, instead of --n-labels. Needs --pilot.",
            show_default=False,
        ),
    ] = None,
    pilot: Annotated[
        Path | None, typer.Option(help="Labels of some items, drawn at random.", show_default=False)
    ] = None,
    sampling: Annotated[
        str | None,
        typer.Option(
            help="uniform, stratified or active. [default: the one with the smallest error]", show_default=False
        ),
    ] = None,
    strata: Annotated[int, typer.Option(min=1, help="Number of strata of the judges' ratings.")] = 4,
    dimension: Annotated[str | None, typer.Option(help="Only this dimension.", show_default=False)] = None,
    cost_label: Annotated[float, typer.Option(help="Cost of one label of a person.")] = 1.0,
    cost_judge: Annotated[float, typer.Option(help="Cost of one rating of the judge.")] = 0.0,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """How many items people should label, and which: drawn with known probabilities of at least 0.05.

    Writes labels.csv (item, stratum, probability, is_drawn, judged), samplings.csv and label_plan.json. `howsure study estimate` takes labels.csv.
    """
    from howsure.study.agreement import read_ratings
    from howsure.study.judging.labelling import labels as plan_labels
    from howsure.tables import Ratings

    found = plan_labels(
        Ratings.union([read_ratings(path) for path in judge]),
        n_labels=n_labels,
        half_width=half_width,
        pilot=pilot,
        sampling=sampling,  # type: ignore[arg-type]  # checked there
        n_strata=strata,
        dimension=dimension,
        cost_label=cost_label,
        cost_judge=cost_judge,
        seed=seed,
        level=level,
    )
    output.console.notes(found.provenance.notes)
    rows = [
        (row["sampling"], row["n_labels"], f"± {row['half_width']:.3g}", f"{row['relative_variance']:.2f}", "used" if row["is_used"] == "yes" else "")
        for row in found.samplings.iter_rows(named=True)
    ]  # fmt: skip
    columns = ("sampling", "labels", f"expected half width [{level:.0%}]", "variance / uniform", "")
    output.console.table("Ways to draw the items", columns, rows)
    for sentence in found.sentences:
        output.console.say(sentence)
    finish(found, output, "labels", "Which items to label")
