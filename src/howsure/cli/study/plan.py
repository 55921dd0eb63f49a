"""`howsure study plan`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from howsure.cli.finish import finish
from howsure.cli.options import Level, Output, Seed, verb
from howsure.cli.output import Console, progress_bar

if TYPE_CHECKING:
    from howsure.study.planning.plans import DesignRow, StudyPlan

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(
    epilog="Example: howsure study plan --pairs 20 --raters 6 --icc 0.4 --design 40x5 --simulations 200 -o plan"
)
@verb
def plan(
    output: Output,
    pairs: Annotated[int, typer.Option(min=3, help="Number of pairs.")] = 5,
    raters: Annotated[int, typer.Option(min=2, help="Number of raters: ratings per pair, if each rates all.")] = 7,
    per_rater: Annotated[
        int | None, typer.Option(min=2, help="Pairs that one rater rates. [default: all]", show_default=False)
    ] = None,
    design: Annotated[
        list[str] | None,
        typer.Option(
            help="Design: another one to compare, pairs x raters, as in 25x6, or 50x8/12 with 12 per rater; may be repeated.",
            show_default=False,
        ),
    ] = None,
    correlation: Annotated[float, typer.Option(help="Assumed correlation: of the model's scores with people's.")] = 0.9,
    icc: Annotated[float, typer.Option(help="Reliability of one rater, ICC(2,1), if all is as assumed.")] = 0.5,
    severity_share: Annotated[
        float, typer.Option(help="Share of a rating's error that is rater bias (severity).")
    ] = 0.2,
    fidelity: Annotated[float, typer.Option(help="Mean fidelity, 0–1, if all is as assumed.")] = 0.85,
    spread: Annotated[float, typer.Option(help="Standard deviation of fidelity over pairs.")] = 0.1,
    criteria: Annotated[
        Path | None,
        typer.Option(help="Criteria (YAML), as for `analyze`. [default: the bundled protocol's]", show_default=False),
    ] = None,
    power: Annotated[
        float, typer.Option(help="Power: the required probability that all criteria pass, if all is as assumed.")
    ] = 0.8,
    minutes_before: Annotated[float, typer.Option(help="Minutes before the first pair.")] = 2.0,
    minutes_a_pair: Annotated[float, typer.Option(help="Minutes per pair.")] = 1.5,
    sitting: Annotated[float, typer.Option(help="Longest sitting, in minutes.")] = 12.0,
    simulations: Annotated[
        int,
        typer.Option("-n", "--simulations", min=100, max=100_000, help="Simulated data sets: studies per statistic."),
    ] = 2000,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """What a design can show, before anyone rates, and what it cannot.

    Draws thousands of such studies if all is as assumed, when the model's scores are unrelated to fidelity, and if there is no effect at all, and
    judges each by the criteria. Writes plan.csv, plan_criteria.csv, plan.json, the charts and plan_report.html.
    """
    from howsure.study.planning.design import parse_design
    from howsure.study.planning.plans import DESIGNS, Pace
    from howsure.study.planning.plans import plan as make
    from howsure.study.planning.simulated_studies import Assumptions
    from howsure.study.verdict import CRITERIA, read_criteria

    assumptions = Assumptions(icc, severity_share, fidelity, spread, correlation)
    with progress_bar("simulating", output.console) as progress:
        made = make(
            pairs,
            raters,
            per_rater=per_rater,
            assumptions=assumptions,
            criteria=read_criteria(criteria) if criteria else CRITERIA,
            pace=Pace(minutes_before, minutes_a_pair, sitting),
            designs=[*DESIGNS, *map(parse_design, design or [])],
            power=power,
            n_simulations=simulations,
            level=level,
            seed=seed,
            progress=progress,
        )
    _tell(made, output.console)
    finish(made, output, "plan", "Plan of a study")


def _tell(made: StudyPlan, console: Console) -> None:
    from howsure.study.planning.sentences import share

    console.table("Designs, pairs × raters", _COLUMNS, [_row(row, made) for row in made.rows], _CAPTION)
    power = [
        (f"{one.true_r:g}", *map(share, (one.noiseless, one.noisy, one.joint.met, one.joint.passed)))
        for one in made.power
    ]
    columns = ("true r", "r significant, no noise", f"with {made.asked.design.raters} raters", "all met", "all pass")
    needed = ", ".join(f"{n} for {target:g}" for target, n in made.raters_for.items())
    title = f"{made.asked.design}: power by true correlation"
    console.table(title, columns, power, f"Raters for the reliability of their mean: {needed}.")
    for sentence in made.sentences:
        console.say(f"- {sentence}")


_COLUMNS = (
    "design",
    "minutes",
    "critical r",
    "ceiling",
    "width ICC(2,1)",
    "width ICC(2,k)",
    "width alpha",
    "as assumed: met",
    "as assumed: pass",
    "unrelated: met",
    "no effect: met",
)
_CAPTION = (
    "Widths are those of the intervals, in the median. Met: all criteria by estimates alone; pass: by whole intervals; as assumed: the assumptions hold; "
    "unrelated: the model's scores are unrelated to fidelity; no effect: pairs do not differ and nobody prefers the target."
)


def _row(row: DesignRow, made: StudyPlan) -> tuple[Any, ...]:
    from howsure.study.planning.sentences import share

    marks = [("asked", made.asked.design), ("best", made.recommended)]
    named = " ".join([str(row.design), *(f"({mark})" for mark, design in marks if design == row.design)])
    widths = (
        "open" if width is None else f"{width:.2f}" for width in (row.width_single, row.width_mean, row.width_alpha)
    )
    chances = row.as_assumed.joint.met, row.as_assumed.joint.passed, row.unrelated.joint.met, row.no_effect.joint.met
    return (
        named,
        f"{row.minutes:.0f}",
        f"{row.critical_r:.3f}",
        f"{row.ceiling:.2f}",
        *widths,
        *map(share, chances),
    )
