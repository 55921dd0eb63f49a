"""`howsure study validate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from howsure.cli.finish import finish
from howsure.cli.options import Epsilon, ItemCluster, Level, Output, RaterEffects, verb

if TYPE_CHECKING:
    from howsure.study.judging.ratings import Orders
    from howsure.study.judging.validation import Validation

__all__ = ["app", "orders_beside"]

app = typer.Typer(rich_markup_mode=None)


@app.command(
    epilog="Example: howsure study validate examples/study/judge/ratings.csv examples/study/judge/judge.csv --lengths examples/study/judge/lengths.csv -o validation"
)
@verb
def validate(
    ratings: Annotated[
        Path, typer.Argument(help="People's ratings (rater, item, dimension, value).", show_default=False)
    ],
    judge: Annotated[list[Path], typer.Argument(help="Judges' ratings, in the same form.", show_default=False)],
    output: Output,
    study: Annotated[Path | None, typer.Option(help="Study file, for scales and lengths.", show_default=False)] = None,
    orders: Annotated[
        list[Path] | None,
        typer.Option(
            help="Judges' ratings in each order. [default: judge_orders.csv beside each JUDGE]", show_default=False
        ),
    ] = None,
    lengths: Annotated[
        Path | None, typer.Option(help="Table with item and length, where there is no study file.", show_default=False)
    ] = None,
    kind: Annotated[
        str, typer.Option(help="Agreement: pearson, spearman, kendall, or match where ratings are categories.")
    ] = "pearson",
    rater_effects: RaterEffects = None,
    cluster: ItemCluster = None,
    epsilon: Epsilon = 0.2,
    level: Level = 0.95,
) -> None:
    """Compare a judge with people: agreement on equal terms, may it replace a rater, corrected means, bias and calibration.

    Writes validation.json, validation.csv, calibration.csv, charts, and validate_report.html, which opens offline.
    """
    from howsure.study.agreement import read_ratings
    from howsure.study.judging.validation import Lengths
    from howsure.study.judging.validation import validate as compare
    from howsure.study.protocol import Study
    from howsure.tables import Ratings

    found = compare(
        read_ratings(ratings, categories=True),
        Ratings.union([read_ratings(path, categories=True) for path in judge]),
        study=Study.read(study) if study else None,
        orders=orders_beside(orders, judge),
        lengths=Lengths(lengths) if lengths else None,
        kind=kind,  # type: ignore[arg-type]  # checked there
        rater_effects=rater_effects,  # type: ignore[arg-type]  # checked there
        cluster=cluster,
        epsilon=epsilon,
        level=level,
    )
    _tell(found, output)
    finish(found, output, "validate", "A judge compared with people")


def orders_beside(named: list[Path] | None, judges: list[Path]) -> Orders | None:
    """The named tables of orders, or those that lie beside the judges' files."""
    from howsure.study.judging.ratings import Orders

    beside = [path for path in dict.fromkeys(judge.parent / "judge_orders.csv" for judge in judges) if path.exists()]
    return Orders(named or beside) if named or beside else None


def _tell(found: Validation, output: Output) -> None:
    from howsure.study.judging.comparison import OF_CATEGORIES

    console = output.console
    console.notes(found.provenance.notes)
    for judge in found.judges:
        rows = found.of(judge)
        title = f"{judge} compared with {len(found.raters)} raters, on equal terms"
        terms = {name: words for name, words in _TERMS.items() if name in OF_CATEGORIES or not found.is_categorical}
        told = [(row.dimension, *(row.statistics[name] for name in terms), row.n_items) for row in rows]
        console.table(title, ("dimension", *terms.values(), "items"), told, _TERMS_CAPTION)
        if not found.is_categorical:
            told = [(row.dimension, *(row.statistics[name] for name in _SWAYS), row.n_items) for row in rows]
            console.table(f"Bias of {judge}", ("dimension", *_SWAYS.values(), "items"), told, _SWAYS_CAPTION)
        for row in rows:
            console.say(row.sentence)


_TERMS = {
    "judge_with_others": "judge with others",
    "people_with_others": "people with others",
    "judge_minus_people": "difference",
    "correlation": "r with the mean",
    "noise_ceiling": "ceiling",
}
_TERMS_CAPTION = "Each rater in turn is excluded; rater and judge are compared with the other raters."
_SWAYS = {
    "judge_too_high": "judge − people",
    "position_shift": "slot 1 − slot 2",
    "length_excess": "length excess",
    "calibration_error": "calibration error",
}
_SWAYS_CAPTION = (
    "In units of the rating, the length excess for each doubling; the calibration error as a share of the scale."
)
