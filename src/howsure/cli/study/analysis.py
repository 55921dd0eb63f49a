"""`howsure study analyze`, `reliability`, `plan`, `stop` and `coverage`: what ratings show, and how many are needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from howsure.cli.options import ItemCluster, Level, Output, RaterEffects, Seed, numbers, verb
from howsure.cli.output import Console, finish, progress_bar
from howsure.errors import OptionError
from howsure.estimates import Estimate

if TYPE_CHECKING:
    from howsure.cli.output import Console
    from howsure.study.analysis import Analysis
    from howsure.study.answer_types import AnswerAnalysis
    from howsure.study.planning.plans import DesignRow, StudyPlan
    from howsure.study.verdict import Criterion

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)


def _file(text: str) -> Any:
    return typer.Option(help=text, show_default=False)


@app.command(
    epilog="Example: howsure study analyze examples/study/ratings.csv --study examples/study/study.yaml -o analysis"
)
@verb
def analyze(
    ratings: Annotated[
        Path,
        typer.Argument(
            help="Ratings (numbers or categories), votes, rankings or spans: any table, or a rating tool's file.",
            show_default=False,
        ),
    ],
    output: Output,
    raters: Annotated[
        Path | None,
        typer.Option(
            "--rater-table",
            help="Table with information about raters. [default: raters.csv in the folder of the ratings]",
            show_default=False,
        ),
    ] = None,
    study: Annotated[
        Path | None, _file("Study file, or key.json: scales, domains, model scores, minutes, pass mark.")
    ] = None,
    model_scores: Annotated[Path | None, _file("Columns item, score (0–1) and, if known, domain.")] = None,
    criteria: Annotated[
        Path | None, _file("Criteria: a YAML list of name, statistic, threshold, direction. [default: the protocol's]")
    ] = None,
    domain_order: Annotated[
        str, typer.Option(help="Domains, from the highest expected fidelity to the lowest.")
    ] = "TECH > ANAL > PHIL = SELF > NARR",
    rater_effects: RaterEffects = None,
    answers: Annotated[
        str | None,
        _file("protocol, ratings, categories, comparisons, rankings or spans. [default: as the columns show]"),
    ] = None,
    dimension: Annotated[str | None, _file("Only this dimension (not for the protocol).")] = None,
    scale: Annotated[
        str | None,
        _file("Scale of the values: nominal, ordinal or interval; not for the protocol. [default: nominal for text]"),
    ] = None,
    all_raters: Annotated[
        bool, typer.Option("--all-raters", help="Exclude nobody (not for the protocol, which shows both).")
    ] = False,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Quality, fidelity, agreement, the model compared with people, and a verdict on each criterion.

    A criterion passes when its whole interval does, fails when none of it does, and is inconclusive otherwise. Raters who broke a
    rule are excluded, and every statistic is also given for all raters; without raters there is no verdict. Writes analysis.json,
    statistics.csv, pairs.csv, raters.csv, exclusions.csv, charts and analyze_report.html.

    Answers to other questions are analysed by their type: systems compared (Holm-corrected), agreement, raters, true labels. Raters who broke a rule (completion, minutes,
    attention, quiz, straight-lining) are excluded and counted. Writes answers.json, agreement.csv, systems.csv, differences.csv, raters.csv, labels.csv, confusion.csv,
    exclusions.csv (those with rows), charts and analyze_report.html.
    """
    from howsure.study.analysis import Analysis
    from howsure.study.analysis import analyze as analyze_ratings
    from howsure.study.inputs import raters_beside
    from howsure.study.verdict import CRITERIA

    _refuse_to_overwrite(output.out, raters or raters_beside(ratings))
    found = analyze_ratings(
        ratings,
        answers=answers,  # type: ignore[arg-type]  # checked there
        dimension=dimension,
        scale=scale,  # type: ignore[arg-type]  # checked there
        raters=raters,
        study=study,
        model_scores=model_scores,
        criteria=criteria or CRITERIA,
        domain_order=domain_order,
        rater_effects=rater_effects,  # type: ignore[arg-type]  # checked there
        all_raters=all_raters,
        level=level,
        seed=seed,
    )
    output.console.notes(found.provenance.notes)
    if isinstance(found, Analysis):
        _print_analysis(found, output.console)
    else:
        _tell_answers(found, output.console)
    finish(found, output, "analyze", "Study")


def _tell_answers(found: AnswerAnalysis, console: Console) -> None:
    from howsure.study.sections import answer_tables

    for block in answer_tables(found, is_short=True):
        console.table(block.caption, block.columns, block.rows)
    for sentence in dict.fromkeys((*found.reasons.values(), *found.sentences)):
        console.say(sentence)


def _refuse_to_overwrite(out: Path | None, raters: Path | None) -> None:
    if out and raters and (out / "raters.csv").resolve() == raters.resolve():
        raise OptionError(f"-o {out}: would overwrite {raters}, which is read. Choose another folder.")


def _print_analysis(found: Analysis, console: Console) -> None:
    from howsure.study.verdict import blinding_words, lite_words, order_words, time_words

    statistics, everyone, level = found.findings.statistics, found.everyone.statistics, found.findings.settings.level
    has_two = found.has_exclusions
    columns = ("statistic", f"value [{level:.0%}]", *((f"all {len(found.everyone.raters)} raters",) if has_two else ()))
    nobody = not found.findings.raters  # the same reason in every row makes the table wide
    rows = [
        (name, "no rater" if nobody else one, *((everyone[name],) if has_two else ()))
        for name, one in statistics.items()
        if _is_main(name, found)
    ]
    title = f"{len(found.findings.pairs)} pairs, {len(found.findings.raters)} of {len(found.quality.raters)} raters"
    console.table(title, columns, rows, lite_words())
    verdicts = [
        (
            one.criterion.name,
            one.criterion,
            "no rater" if nobody else one.estimate.against(one.criterion.threshold),
            one.verdict,
            one.reason,
        )
        for one in found.judgements
    ]
    console.table("Verdict", ("criterion", "requires", f"estimate [{level:.0%}]", "verdict", "because"), verdicts)
    excluded = [(one.rater, one.rule, one.reason) for one in found.quality.exclusions]
    if excluded:
        console.table("Excluded by rule", ("rater", "rule", "because"), excluded)
    for words in (
        order_words(found.findings),
        blinding_words(statistics["blinding_index"]),
        time_words(statistics["minutes"], found.quality.rules.target_minutes),
    ):
        console.say(words)
    console.say(f"\n{found.sentence}")


def _is_main(name: str, found: Analysis) -> bool:
    """The statistics that a terminal shows: all but the coefficients of agreement, of which the advised ones stay."""
    dimension, dot, coefficient = name.partition(".")
    if not dot or dimension == "domain":
        return True
    known = found.findings.reliability.get(dimension)
    return known is not None and coefficient in (known.report, "cronbach_alpha", "krippendorff_interval")


# `howsure study reliability`.


@app.command(epilog="Example: howsure study reliability examples/study/ratings.csv --dimension voice")
@verb
def reliability(
    table: Annotated[
        Path,
        typer.Argument(
            help="One row per item and one column per rater (gaps allowed), or long form.", show_default=False
        ),
    ],
    output: Output,
    dimension: Annotated[str | None, typer.Option(help="Only this dimension (long form).", show_default=False)] = None,
    rater_effects: Annotated[
        str,
        typer.Option(help="Rater effects: sampled (from possible raters), fixed (exactly these) or unidentified."),
    ] = "sampled",
    scale: Annotated[
        str | None,
        typer.Option(
            help="Scale of the values: nominal, ordinal or interval. [default: nominal for text, interval for numbers]",
            show_default=False,
        ),
    ] = None,
    cluster: ItemCluster = None,
    level: Level = 0.95,
) -> None:
    """All coefficients of agreement for a table of ratings, with intervals, and which one to report.

    Values may be numbers or text. Which coefficient to report depends on the scale and on the design of the study. Pairs that were shown again are excluded. Writes reliability.csv and reliability.json.
    """
    from howsure.study.agreement import reliability as compute

    found = compute(
        table,
        dimension=dimension,
        rater_effects=rater_effects,
        scale=scale,  # type: ignore[arg-type]  # checked there
        cluster=cluster,
        level=level,
    )
    output.console.notes(found.provenance.notes)
    rows = [
        (name, estimate, "report this" if name == found.report else "") for name, estimate in found.coefficients.items()
    ]
    gaps = f", {found.n_missing} gaps" if found.n_missing else ""
    title = f"Agreement of {found.n_raters} raters on {found.n_items} items{gaps}"
    output.console.table(title, ("coefficient", f"value [{level:.0%}]", ""), rows, found.sentence)
    output.console.json(found.as_dict())
    if output.out:
        output.console.wrote(found.save(output.out))


# `howsure study plan`.


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
    """Before anyone rates: what a design can show, and what it cannot.

    Simulates thousands of such studies in three scenarios (all is as assumed; the model's scores are unrelated to fidelity; there is no effect at all), and
    judges each by the criteria. Writes plan.csv, plan_criteria.csv, plan.json, the charts and plan_report.html.
    """
    from howsure.study.planning.design import parse_design
    from howsure.study.planning.plans import DESIGNS, Pace
    from howsure.study.planning.plans import plan as make
    from howsure.study.planning.simulated_studies import Assumptions
    from howsure.study.verdict import CRITERIA

    assumptions = Assumptions(icc, severity_share, fidelity, spread, correlation)
    with progress_bar("simulating", output.console) as progress:
        made = make(
            pairs,
            raters,
            per_rater=per_rater,
            assumptions=assumptions,
            criteria=criteria or CRITERIA,
            pace=Pace(minutes_before, minutes_a_pair, sitting),
            designs=[*DESIGNS, *map(parse_design, design or [])],
            power=power,
            n_simulations=simulations,
            level=level,
            seed=seed,
            progress=progress,
        )
    _print_plan(made, output.console)
    finish(made, output, "plan", "Plan of a study")


def _print_plan(made: StudyPlan, console: Console) -> None:
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


# `howsure study coverage`.


@app.command(epilog='Example: howsure study coverage --containing "mean label" --simulations 20')
@verb
def coverage(
    output: Output,
    containing: Annotated[
        str | None, typer.Option(help="Only rows that contain this text.", show_default=False)
    ] = None,
    simulations: Annotated[int, typer.Option("-n", "--simulations", min=1, help="Simulated data sets: per row.")] = 400,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """How often the intervals of rating studies contain the true value: labels and judges, systems, raters, categories, votes, live looks.

    A row marked "avoid" is a common mistake; one marked "fails" breaks an assumption of the model. Writes study_coverage.csv and study_coverage.json.
    """
    from howsure.study.interval_coverage import coverage as measure

    with progress_bar("simulating", output.console) as progress:
        found = measure(containing=containing, n_simulations=simulations, level=level, seed=seed, progress=progress)
    rows = [
        (row.method, row.design, f"{row.coverage:.3f} ± {row.monte_carlo_se:.3f}", f"{row.mean_width or 0:.3f}")
        for row in found.rows
    ]
    caption = f"{simulations:,} simulations per row, seed {seed}; ± is the Monte Carlo standard error."
    output.console.table(
        f"Coverage of {level:.0%} intervals", ("interval", "design", "coverage", "mean width"), rows, caption
    )
    finish(found, output, "coverage", "Coverage of the intervals of rating studies")


# `howsure study stop`.


@app.command(
    epilog='Example: howsure study stop examples/study/bench/people.csv --require "reliability:quality >= 0.6" --max-raters 20 --looks 5,20'
)
@verb
def stop(
    ratings: Annotated[
        Path, typer.Argument(help="All ratings so far, raters in the order in which they finished.", show_default=False)
    ],
    output: Output,
    max_raters: Annotated[int, typer.Option(min=2, help="Largest planned number of raters.", show_default=False)],
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
    """May a running study stop? You may look after every rater: the error rates are valid over all looks together.

    Statistics: mean:DIMENSION[:SYSTEM], difference:DIMENSION:A:B, share:DIMENSION:CATEGORY[:SYSTEM], and reliability:DIMENSION at planned looks. Exit code 0: decided, 1: continue.
    Writes criteria.csv, items.csv (which items need a rating next) and study_stop.json.
    """
    from howsure.study.stopping import stop as look
    from howsure.study.verdict import read_criteria

    wanted: list[Criterion | str] = [*(read_criteria(criteria) if criteria else ()), *(require or [])]
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
