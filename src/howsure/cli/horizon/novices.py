"""`howsure horizon attempts`, `curves`, `learners`, `transfer`, `benchmarks`, `failures` and `size`: horizons in attempts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import polars as pl
import typer

from howsure.cli.options import (
    Inputs,
    LastAttempt,
    Level,
    Output,
    Reading,
    Scheduler,
    Seed,
    SuccessRates,
    Threshold,
    numbers,
    verb,
)
from howsure.cli.output import Console, finish, progress_bar
from howsure.estimates import chance
from howsure.results.base import readable

if TYPE_CHECKING:
    from howsure.estimates import Estimate
    from howsure.horizon.attempt_horizon.horizons import AttemptHorizons, Horizon
    from howsure.horizon.learning_curves.curves import LearningCurves

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog="Example: howsure horizon attempts simulated/runs.jsonl --replicates 100 -o attempts")
@verb
def attempts(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    definition: Annotated[
        str, typer.Option(help="matching, regression or irt; several with commas; all.")
    ] = "matching",
    success_rates: SuccessRates = "0.5,0.8",
    replicates: Annotated[
        int, typer.Option(min=1, help="Replicates: bootstrap samples of families, tasks and learners.")
    ] = 1000,
    threshold: Threshold = None,
    last: LastAttempt = None,
    early_leavers: Annotated[
        str, typer.Option(help="Answers that early leavers did not give: predict (by the learning model) or ignore.")
    ] = "predict",
    level: Level = 0.95,
    seed: Seed = 0,
    scheduler: Scheduler = None,
) -> None:
    """How many attempts a novice would need to do as well as each model (NAME, Novelty Achievement MeasurE).

    RUNS contain novices (kind human, numbered attempts) and models at the same tasks. Writes horizons.csv, horizons.json, domains.csv,
    pairs.csv, tasks.csv, novices.csv, practice.csv (models with worked examples or feedback), the charts and attempts_report.html.
    """
    from howsure.horizon.attempt_horizon.definitions import DEFINITIONS
    from howsure.horizon.attempt_horizon.horizons import attempt_horizons

    runs = reading.attempts(inputs, output.console)
    with progress_bar("resampling", output.console) as progress:
        found = attempt_horizons(
            runs,
            definitions=DEFINITIONS if definition == "all" else definition.split(","),
            success_rates=numbers("--success-rates", success_rates),
            n_replicates=replicates,
            threshold=threshold,
            last=last,
            early_leavers=early_leavers,
            level=level,
            seed=seed,
            scheduler=scheduler,
            progress=progress,
        )
    output.console.notes(note for note in found.provenance.notes if note not in runs.notes)
    _print_horizons(found, output.console)
    finish(found, output, "attempts", "Horizons in attempts")


def _print_horizons(found: AttemptHorizons, console: Console) -> None:
    people = found.counts.novices
    title = f"Attempts that novices need: {len(people.learners):,} learners, {len(found.tasks):,} tasks"
    columns = ("model", "definition", "success rate", f"horizon [{found.level:.0%}]", "success", "tasks", "× first")
    console.table(title, columns, map(_row, found.rows), _CAPTION)
    if found.domains:
        first = found.rows[0]
        rows = [r for r in found.domains if (r.definition, r.success_rate) == (first.definition, first.success_rate)]
        cells = [(r.group, r.model, r.horizon, r.success, r.n_tasks) for r in rows]
        console.table(
            f"By group of tasks: {first.definition}, {first.success_rate:.0%}",
            ("tasks", "model", "horizon", "success", "n"),
            cells,
        )
    if found.practised:
        shown = [(model, kind, n, row.success, row.horizon) for model, kind, n, row in found.practised]
        title = "Learning of models: worked examples, or earlier attempts with feedback"
        console.table(title, ("model", "practice", "seen before", "success", "horizon"), shown)
    if found.pairs:
        pairs = [
            (p.a, p.b, p.definition, f"{p.success_rate:.0%}", p.ratio if p.ratio.value else "–", chance(p.p_a_greater))
            for p in found.pairs
        ]
        console.table("Pairs", ("A", "B", "definition", "success rate", "A / B", "P(A > B)"), pairs)


_CAPTION = "A model with horizon n succeeds as often as novices on their n-th attempt; × first: its success rate divided by that of novices on their first attempt."


def _row(row: Horizon) -> tuple[object, ...]:
    ratio = None if row.ratio_to_first is None else f"{row.ratio_to_first:.2f}"
    shown = row.horizon.state if row.horizon.value is None else row.horizon
    return row.model, row.definition, f"{row.success_rate:.0%}", shown, row.success, row.n_tasks, ratio


# `howsure horizon curves`.


_SHOWN = 15


@app.command(epilog="Example: howsure horizon curves simulated/runs.jsonl --replicates 100 -o curves")
@verb
def curves(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    curve: Annotated[
        str,
        typer.Option(help="Form of the curves: auto, exponential, power, power3, logit-log, logistic4 or isotonic."),
    ] = "auto",
    success_rates: SuccessRates = "0.5,0.8",
    last: LastAttempt = None,
    min_answers: Annotated[
        int, typer.Option(min=1, help="Smallest number of answers for an attempt to be included.")
    ] = 1,
    min_attempts: Annotated[int, typer.Option(min=2, help="Exclude tasks with fewer included attempts.")] = 2,
    min_first: Annotated[int, typer.Option(min=1, help="Exclude tasks with fewer first answers.")] = 1,
    replicates: Annotated[int, typer.Option(min=20, help="Replicates: bootstrap samples of learners.")] = 500,
    level: Level = 0.95,
    seed: Seed = 0,
    scheduler: Scheduler = None,
) -> None:
    """How novices learn each task: curves with intervals, the attempts to reach success rates, and who leaves early.

    RUNS contain people (kind human) with numbered attempts. Writes curves.csv, curve_points.csv, families.csv, base_rates.csv,
    refinement.csv (tasks to keep or drop), attrition.csv, presence.csv, curves.json, the charts and curves_report.html.
    """
    from howsure.horizon.learning_curves.curves import fit_curves

    runs = reading.attempts(inputs, output.console)
    with progress_bar("resampling", output.console) as progress:
        found = fit_curves(
            runs,
            curve=curve,
            success_rates=numbers("--success-rates", success_rates),
            last=last,
            min_answers=min_answers,
            min_attempts=min_attempts,
            min_first=min_first,
            n_replicates=replicates,
            level=level,
            seed=seed,
            scheduler=scheduler,
            progress=progress,
        )
    output.console.notes(note for note in found.provenance.notes if note not in runs.notes)
    _print_curves(found, output.console)
    finish(found, output, "curves", "Learning curves")


def _print_curves(found: LearningCurves, console: Console) -> None:
    targets = list(found.rows[0].reach)
    columns = ("task", "curve", f"first [{found.level:.0%}]", *(f"to {target:.0%}" for target in targets), "learners")
    rows = [
        (r.task, r.family, r.first, *(_reached(r.reach[target]) for target in targets), r.n_learners)
        for r in found.rows[:_SHOWN]
    ]
    more = f" The first {_SHOWN} of {len(found.rows):,} tasks; all in curves.csv." if len(found.rows) > _SHOWN else ""
    console.table(
        "Attempts to reach a success rate",
        columns,
        rows,
        f"<1: before the first attempt. >: after the last one observed.{more}",
    )
    if found.wins:
        console.say("Smallest AIC: " + ", ".join(f"{name} {share:.0%}" for name, share in found.wins.items()) + ".")
    console.say(f"Correlation of a learner's answers to a task: {found.correlation}.")
    left = found.attrition.overall
    told = f"First attempt, early leavers − stayers: {left.difference} ({left.n_leavers:,} left early)."
    console.say(told if left.n_leavers else "No learner left early.")
    dropped = found.refinement.filter(verdict="drop")
    reasons = ", ".join(f"{reason} {n}" for reason, n in dropped["reason"].value_counts(sort=True).iter_rows())
    n_kept = found.refinement.filter(verdict="keep").height
    console.say(f"Keep {n_kept:,} of {len(found.refinement):,} tasks{f'; drop: {reasons}' if reasons else ''}.")


def _reached(found: Estimate) -> object:
    """An attempt, or that the level is there from the first, or never reached."""
    if found.state == found.high_state == "below_range":
        return "from the first"
    if found.state != "unbounded":
        return found
    mark = {"below_range": "<", "above_range": ">"}
    if found.low is None or found.low_state == "above_range":
        return "never"
    return f"never [{mark.get(found.low_state, '')}{found.low:.1f}, {mark.get(found.high_state, '')}{found.high:.1f}]"


# `howsure horizon learners`.


@app.command(epilog="Example: howsure horizon learners simulated/runs.jsonl --folds 2 --last 4")
@verb
def learners(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    folds: Annotated[int, typer.Option(min=2, help="Number of folds.")] = 5,
    predictors: Annotated[
        str | None, typer.Option(help="Models to compare, with commas; by default all.", show_default=False)
    ] = None,
    last: LastAttempt = None,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """How well models of learning predict held-out learners: a constant, AFM (additive factors model), PFA (performance factors analysis), BKT (Bayesian knowledge tracing) and Howsure's model, on identical folds.

    RUNS contain people (kind human) with numbered attempts. Each answer of a held-out learner is predicted from that learner's earlier answers. Writes
    learners.csv, learners.json, the chart and learners_report.html.
    """
    from howsure.horizon.learning_curves.held_out_learners import PREDICTORS, crossvalidate_learners

    runs = reading.attempts(inputs, output.console)
    with progress_bar("fitting", output.console) as progress:
        found = crossvalidate_learners(
            runs,
            folds=folds,
            predictors=tuple(PREDICTORS) if predictors is None else predictors.split(","),
            last=last,
            level=level,
            seed=seed,
            progress=progress,
        )
    rows = [
        (
            row["predictor"],
            f"{row['log_loss']:.4f} [{row['log_loss_low']:.4f}, {row['log_loss_high']:.4f}]",
            "" if row["difference_low"] is None else _signed(row),
            f"{row['calibration_slope']:.2f}",
        )
        for row in found.scores.sort("log_loss").rows(named=True)
    ]
    output.console.table(
        f"Held-out learners: {found.n_answers:,} answers of {found.n_learners:,} learners to {found.n_tasks:,} tasks",
        ("model", f"log-loss per answer [{level:.0%}]", "minus PFA + learner", "calibration"),
        rows,
        f"{folds} folds of learners. Calibration: slope of the answers over the predicted log-odds; below 1: too extreme.",
    )
    if found.best_curve:
        output.console.say(f"Best of the learning model's curves: {found.best_curve}.")
    finish(found, output, "learners", "Held-out learners")


def _signed(row: dict[str, float]) -> str:
    value, low, high = (row[f"difference{end}"] for end in ("", "_low", "_high"))
    return f"{value:+.4f} [{low:+.4f}, {high:+.4f}]"


# `howsure horizon transfer`.


@app.command(epilog="Example: howsure horizon transfer examples/horizon/name_attempts.csv -o transfer")
@verb
def transfer(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    skill: Annotated[str, typer.Option(help="Column with a task's skill, or several joined by + or ;.")] = "domain",
    order: Annotated[str, typer.Option(help="Column that says when a learner made the attempt.")] = "position",
    level: Level = 0.95,
) -> None:
    """Transfer of practice between tasks: one model of learners, tasks and skills.

    RUNS contain people (kind human) at tasks of several skills, in an order that does not depend on their performance. Writes transfer.csv, own_practice.csv, transfer.json, the
    chart and transfer_report.html.
    """
    from howsure.horizon.learning_curves.transfer import measure_transfer

    found = measure_transfer(reading.attempts(inputs, output.console), skill=skill, order=order, level=level)
    shown = readable(found.effects.drop("reason"))
    columns = ("practised", "tasks", "learners with it", f"effect [{level:.0%}]", f"share carried [{level:.0%}]")
    caption = "Effect: log-odds of success per doubling of the attempts at other tasks of that skill. Share carried: this effect divided by the effect of a doubling of attempts at the task itself."
    output.console.table("Transfer of practice", columns, shown.iter_rows(), caption)
    finish(found, output, "transfer", "Transfer of practice")


# `howsure horizon benchmarks`.


@app.command(epilog="Example: howsure horizon benchmarks name examples/horizon/name_scores.csv -o benchmarks")
@verb
def benchmarks(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="ATTEMPTS", help="The folder that `howsure horizon attempts -o` wrote.", show_default=False
        ),
    ],
    scores: Annotated[
        list[str], typer.Argument(help="Scores of the same models on other benchmarks.", show_default=False)
    ],
    reading: Reading,
    output: Output,
    level: Level = 0.95,
) -> None:
    """Where NAME and other benchmarks order models differently, and in which domains.

    Writes benchmarks.csv (rank correlations, by domain), reversed_pairs.csv, benchmarks.json, the chart and benchmarks_report.html.
    """
    from howsure.horizon.attempt_horizon.benchmark_order import ALL, compare_benchmarks
    from howsure.horizon.attempt_horizon.horizons import AttemptHorizons

    found = compare_benchmarks(AttemptHorizons.load(folder), reading.scores(scores, output.console), level=level)
    output.console.notes(found.provenance.notes)
    whole = readable(found.agreement.filter(tasks=ALL).drop("tasks"))
    title = f"Order of models by NAME and by {len(whole)} other benchmark{'' if len(whole) == 1 else 's'}"
    output.console.table(
        title,
        ("benchmark", "models", f"Kendall's τ [{level:.0%}]"),
        whole.iter_rows(),
        "1: the same order. By domain of NAME: benchmarks.csv.",
    )
    rows = [
        (
            p["benchmark"],
            p["a"],
            p["b"],
            chance(p["p_a_greater"]),
            f"{p['score_a']:.3f}",
            f"{p['score_b']:.3f}",
            p["domains_a_ahead"],
            p["domains_b_ahead"],
        )
        for p in found.pairs.head(20).rows(named=True)
    ]
    columns = ("benchmark", "A", "B", "P(A > B) by NAME", "score A", "score B", "A ahead in", "B ahead in")
    output.console.table(
        f"Pairs in different order: {len(found.pairs)}",
        columns,
        rows,
        "NAME has A ahead, the benchmark B. A P(A > B) near 50 % is no disagreement.",
    )
    finish(found, output, "benchmarks", "NAME and other benchmarks")


# `howsure horizon failures`.


@app.command(epilog="Example: howsure horizon failures examples/horizon/name_attempts.csv -o failures")
@verb
def failures(inputs: Inputs, reading: Reading, output: Output, level: Level = 0.95) -> None:
    """How often each mode of failure occurs among the wrong answers of models and of novices.

    RUNS are tables of attempts that `howsure horizon run` and `howsure horizon collect` wrote. Writes failures.csv, wrong_answers.csv (the most frequent ones, where answers were
    kept), failures.json, the chart and failures_report.html.
    """
    from howsure.horizon.failure_modes import ALL, MODES, NOVICES, compare_failures

    found = compare_failures(reading.attempts(inputs, output.console), level=level)
    shown = readable(found.modes.filter(pl.col("domain") == ALL).drop("domain"))
    caption = "Share of the wrong answers; difference: model minus novices. Modes: " + "; ".join(
        f"{mode}: {what}" for mode, what in MODES.items()
    )
    columns = ("who", "mode", "wrong answers", f"share [{level:.0%}]", f"difference [{level:.0%}]")
    rows = [(who, *cells, "" if who == NOVICES else gap) for who, *cells, gap in shown.iter_rows()]
    output.console.table("What went wrong", columns, rows, caption)
    finish(found, output, "failures", "Modes of failure")


# `howsure horizon size`.


@app.command(epilog="Example: howsure horizon size --horizon 6 --learners 50,100 --tasks 100")
@verb
def size(
    output: Output,
    horizon: Annotated[float, typer.Option(min=1, help="The horizon that you expect, in attempts.")] = 3.0,
    width: Annotated[
        float, typer.Option(min=0.01, help="Half-width of the interval, relative to the horizon: 0.2 is ± 20 %.")
    ] = 0.2,
    learners: Annotated[str, typer.Option(help="Number of learners: all to try, with commas.")] = "10,20,30,50,100",
    tasks: Annotated[str, typer.Option(help="Number of tasks: all to try, with commas.")] = "20,50,100,200",
    tasks_per_learner: Annotated[
        int | None,
        typer.Option(min=1, help="Number of tasks that each novice gets. [default: all]", show_default=False),
    ] = None,
    mastery: Annotated[
        int | None,
        typer.Option(min=1, help="Novices leave a task after this number of successes in a row.", show_default=False),
    ] = None,
    attempts: Annotated[int, typer.Option(min=2, help="Attempts at each task, per novice.")] = 10,
    runs: Annotated[int, typer.Option(min=1, help="Runs per model and task.")] = 20,
    suite: Annotated[str, typer.Option("--difficulty", help="Difficulty of the tasks: mixed, easy or hard.")] = "mixed",
    sameness: Annotated[
        float, typer.Option(min=0.01, max=1, help="Similarity of the learners; 1: all the same.")
    ] = 0.85,
    simulations: Annotated[int, typer.Option(min=20, help="Simulated data sets: studies per size.")] = 200,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """How many learners and tasks a study needs, by simulation.

    Each learner tries each task, unless each gets only some of the tasks (--tasks-per-learner, as `howsure horizon page --learners` does). Writes size.csv, size.json, the chart and size_report.html.
    """
    from howsure.horizon.attempt_horizon.study_size import size_study

    with progress_bar("simulating", output.console) as progress:
        found = size_study(
            horizon=horizon,
            wanted=width,
            learners=[int(n) for n in numbers("--learners", learners)],
            tasks=[int(n) for n in numbers("--tasks", tasks)],
            tasks_per_learner=tasks_per_learner,
            mastery=mastery,
            n_attempts=attempts,
            n_runs=runs,
            suite=suite,
            sameness=sameness,
            n_simulations=simulations,
            level=level,
            seed=seed,
            progress=progress,
        )
    rows = [
        (
            d.n_tasks,
            d.n_learners,
            d.n_dealt,
            f"{d.n_answers:,}",
            None if d.half_width is None else f"± {d.half_width:.0%}",
        )
        for d in found.designs
    ]
    best = found.cheapest
    told = (
        f"The fewest answers for ± {width:.0%}: {best.n_learners} learners, each at {best.n_dealt} of {best.n_tasks} tasks."
        if best
        else f"None of these designs reaches ± {width:.0%}."
    )
    columns = ("tasks", "learners", "tasks per learner", "learners × tasks", "interval")
    output.console.table(f"Precision of a horizon of {horizon:g} attempts", columns, rows, told)
    finish(found, output, "size", "Size of a novice study")
