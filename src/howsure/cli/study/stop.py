"""`howsure study stop`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from howsure.cli.finish import finish
from howsure.cli.options import Level, Output, numbers, verb
from howsure.errors import OptionError
from howsure.estimates import Estimate

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(
    epilog='Example: howsure study stop examples/study/bench/people.csv --require "reliability:quality >= 0.6" --max-raters 20 --looks 5,20'
)
@verb
def stop(
    ratings: Annotated[
        Path, typer.Argument(help="All ratings so far, raters in the order in which they finished.", show_default=False)
    ],
    output: Output,
    max_raters: Annotated[int, typer.Option(min=2, help="Raters that are planned at most.", show_default=False)],
    require: Annotated[
        list[str] | None,
        typer.Option(help='A criterion, as in "difference:quality:A:B >= 0"; may be repeated.', show_default=False),
    ] = None,
    criteria: Annotated[
        Path | None,
        typer.Option(help="Criteria: or a YAML list of name, statistic, threshold, direction.", show_default=False),
    ] = None,
    rating_range: Annotated[
        str | None, typer.Option("--range", help="Lowest and highest possible rating, as in 1,5.", show_default=False)
    ] = None,
    looks: Annotated[
        str | None, typer.Option(help="Numbers of raters at which reliability is looked at.", show_default=False)
    ] = None,
    per_item: Annotated[
        int | None, typer.Option(min=1, help="Ratings that each item should get.", show_default=False)
    ] = None,
    level: Level = 0.95,
) -> None:
    """May a live study stop? Look after every rater: errors stay at their level over all looks.

    Statistics: mean:DIMENSION[:SYSTEM], difference:DIMENSION:A:B, share:DIMENSION:CATEGORY[:SYSTEM], and reliability:DIMENSION at planned looks. Exit code 0: decided, 1: continue.
    Writes criteria.csv, items.csv (which items need a rating next) and study_stop.json.
    """
    from howsure.study.stopping import stop as look
    from howsure.study.verdict import read_criteria, require_criterion

    wanted = [*(read_criteria(criteria) if criteria else ()), *map(require_criterion, require or [])]
    if not wanted:
        raise OptionError("Give a criterion with --require, or a file of them with --criteria.")
    ends = numbers("--range", rating_range) if rating_range else None
    if ends is not None and (len(ends) != 2 or not ends[0] < ends[1]):
        raise OptionError(
            f"--range {rating_range}: write the lowest and the highest possible rating, as in --range 1,5."
        )
    found = look(
        ratings,
        wanted,
        n_planned=max_raters,
        scale=(ends[0], ends[1]) if ends else None,
        looks=[int(one) for one in numbers("--looks", looks)] if looks else None,
        n_per_item=per_item,
        level=level,
    )
    rows = [
        (row["requires"], Estimate(row["value"], row["value_low"], row["value_high"], state=row["value_state"]), row["decision"], row["looks"], row["n_raters"])
        for row in found.rows.iter_rows(named=True)
    ]  # fmt: skip
    output.console.table(f"Criteria, at most {max_raters} raters", ("requires", f"value [{level:.0%}, all looks]", "decision", "looks", "raters"), rows)  # fmt: skip
    output.console.say(found.sentence)
    finish(found, output, "stop", "May the study stop?")
    if not found.is_decided:
        raise SystemExit(1)
