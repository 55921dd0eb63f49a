"""`howsure horizon time`, `budget`, `baselines`, `trend`, `forecast`, `crossvalidate`, `compare` and `coverage`: horizons in minutes."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from howsure.cli.options import (
    Inputs,
    Level,
    Limits,
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
from howsure.errors import InputError, OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from howsure.horizon.time_horizon.horizons import ModelFit, TimeHorizons
    from howsure.tables import Attempts

__all__ = ["Covariates", "Horizons", "Releases", "Since", "TaskTable", "app", "day", "read_dates", "with_task_table"]

TaskTable = Annotated[
    Path | None,
    typer.Option(help="Table with task and minutes (and family, domain), joined to the runs.", show_default=False),
]

Covariates = Annotated[
    list[str] | None,
    typer.Option(
        "--covariate",
        help="Covariate: a column that describes tasks by a number, such as messiness (joint method); may be repeated.",
        show_default=False,
    ),
]

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog="Example: howsure horizon time examples/horizon/time_counts.csv --success-rates 0.5,0.8 -o time")
@verb
def time(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    success_rates: SuccessRates = "0.5,0.8",
    method: Annotated[
        str,
        typer.Option(
            help="Method: logistic (one curve per model, as METR) or joint (effects of tasks and families, errors of human times)."
        ),
    ] = "logistic",
    minutes_noise: Annotated[
        float | None,
        typer.Option(min=0, help="Error of the human times: standard deviation in doublings.", show_default=False),
    ] = None,
    estimate_noise: Annotated[
        float | None,
        typer.Option(min=0, help="The same for times that human_source calls an estimate.", show_default=False),
    ] = None,
    human_times: Annotated[
        str, typer.Option(help="Lengths of tasks: stated (column minutes) or people (their timed attempts).")
    ] = "stated",
    ceiling: Annotated[
        bool, typer.Option("--ceiling", help="Allow a success rate below 1 at the shortest tasks (joint method).")
    ] = False,
    covariate: Covariates = None,
    limits: Limits = "scored",
    flags: Annotated[str, typer.Option(help="Runs that were flagged: scored, drop or failure.")] = "scored",
    minutes_policy: Annotated[
        str, typer.Option(help="If the rows of a task have different minutes: median, first or geometric-mean.")
    ] = "median",
    task_table: TaskTable = None,
    weights: Annotated[
        str,
        typer.Option(
            help="Weights: of the runs, invsqrt (a family counts with the square root of its size), equal (every run), task (every task)."
        ),
    ] = "invsqrt",
    regularisation: Annotated[float, typer.Option(min=0, help="Penalty on the squared slope.")] = 1e-5,
    replicates: Annotated[
        int, typer.Option(min=0, help="Replicates: bootstrap samples, or draws of the joint method.")
    ] = 1000,
    resample: Annotated[
        str,
        typer.Option(
            help="What is resampled: families (intervals from a test over families) or hierarchy (percentiles over families, tasks and runs, as METR)."
        ),
    ] = "families",
    kinds: Annotated[
        str, typer.Option(help="Whose runs: model, human, or both with a comma, as in human,model.")
    ] = "model",
    threshold: Threshold = None,
    censored: Annotated[
        Path | None,
        typer.Option(
            help="Tasks, one per line, whose minutes are a lower bound. [default: the longest tenth]",
            show_default=False,
        ),
    ] = None,
    level: Level = 0.95,
    seed: Seed = 0,
    scheduler: Scheduler = None,
) -> None:
    """The length of tasks (minutes that an expert needs) at which each model succeeds half of the time.

    RUNS need the column minutes; counts of successes (n_successes, n_runs) for each model and task can be used instead. Writes time_horizons.csv, time_horizons.json,
    task_counts.csv, sensitivity.csv, replicates.parquet, the charts and time_report.html.
    """
    from howsure.horizon.time_horizon.horizons import time_horizons

    runs = reading.attempts(inputs, output.console)
    if task_table:
        runs = with_task_table(runs, task_table, output.console, covariate or ())
    with progress_bar("refitting", output.console) as progress:
        found = time_horizons(
            runs,
            success_rates=numbers("--success-rates", success_rates),
            method=method,
            minutes_noise=minutes_noise,
            estimate_noise=estimate_noise,
            human_times=human_times,
            has_ceiling=ceiling,
            covariates=covariate or (),
            limits=limits,
            flags=flags,
            minutes_policy=minutes_policy,
            weights=weights,
            regularisation=regularisation,
            n_replicates=replicates,
            resample=resample,
            level=level,
            seed=seed,
            kinds=[name.strip() for name in kinds.split(",")],
            threshold=threshold,
            censored=_lines(censored),
            scheduler=scheduler,
            progress=progress,
        )
    output.console.notes(note for note in found.provenance.notes if note not in runs.notes)
    _tell(found, output.console)
    finish(found, output, "time", "Time horizons")


def with_task_table(runs: Attempts, path: Path, console: Console, covariates: Sequence[str] = ()) -> Attempts:
    """The runs with minutes, family and domain from a table of tasks."""
    from howsure.horizon.run_counts import join_tasks
    from howsure.tables.frames import parts_of

    parts = [part.parsed() for part in parts_of(path)]
    joined = join_tasks(runs, parts[0].collect(parts[0].rows), str(path), covariates=covariates)
    console.notes(note for note in joined.notes if note not in runs.notes)
    return joined


def _tell(found: TimeHorizons, console: Console) -> None:
    from howsure.horizon.time_horizon.durations import told

    rows = [(fit.model, *map(told, fit.horizons.values()), *_counts(fit)) for fit in found.ranked]
    columns = (
        "model",
        *(f"{100 * rate:g} % [{found.level:.0%}]" for rate in found.success_rates),
        "runs",
        "tasks",
        "success",
    )
    console.table("Time horizons", columns, rows, "Expert time.")
    if found.beside is not None:
        from howsure.horizon.time_horizon.sections import JOINT, joint_rows

        console.table("Horizons by the joint model", *joint_rows(found.beside, found.level), JOINT)
    if "covariates" in found.tables:
        from howsure.horizon.time_horizon.sections import COVARIATES, covariate_rows

        console.table("What makes tasks harder or easier", *covariate_rows(found), COVARIATES)
    if found.data.cut is not None:
        from howsure.horizon.time_horizon.sections import BOUNDS, bounds_rows

        told_columns, told_rows = bounds_rows(found)
        console.table("Shortest and longest horizon that cut runs allow", told_columns, told_rows, BOUNDS)
    _tell_influence(found, console)


def _tell_influence(found: TimeHorizons, console: Console) -> None:
    """What the regularisation and the minutes do to the horizons at the first success rate."""
    from howsure.horizon.time_horizon.durations import times

    rate = found.success_rates[0]
    shown = [row for row in found.sensitivity.rows if row.success_rate == rate and row.ratio is not None]
    settings = list(dict.fromkeys((row.factor, row.setting) for row in shown))
    rows = []
    for factor, setting in settings:
        ratios = sorted(row.ratio or 1.0 for row in shown if (row.factor, row.setting) == (factor, setting))
        rows.append((factor, setting, *(times(ratios[place]) for place in (0, len(ratios) // 2, -1))))
    caption = f"Noise: error of the human times, in doublings. Censored: minutes of {len(found.sensitivity.censored)} tasks as a lower bound."
    columns = ("factor", "setting", "least", "middle model", "most")
    console.table(
        f"The {100 * rate:g} % horizon under other settings, as a multiple of the reported one", columns, rows, caption
    )


def _lines(path: Path | None) -> list[str]:
    if path is None:
        return []
    from howsure.safe_io import read_bytes

    return [line.strip() for line in read_bytes(path).decode(errors="replace").splitlines() if line.strip()]


def _counts(fit: ModelFit) -> tuple[object, ...]:
    return fit.n_runs, fit.n_tasks, f"{fit.success:.0%}"


# `howsure horizon budget`.


@app.command(epilog="Example: howsure horizon budget examples/horizon/budget_runs.csv --unit tokens -o budget")
@verb
def budget(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    unit: Annotated[str, typer.Option(help="Unit of the budget: tokens, cost (dollars) or seconds.")] = "tokens",
    budgets: Annotated[
        str | None,
        typer.Option(help="Budgets per run, with commas. [default: eight round numbers]", show_default=False),
    ] = None,
    success_rates: SuccessRates = "0.5",
    minutes_noise: Annotated[
        float | None,
        typer.Option(min=0, help="Error of the human times: standard deviation in doublings.", show_default=False),
    ] = None,
    task_table: TaskTable = None,
    threshold: Threshold = None,
    level: Level = 0.95,
) -> None:
    """The time horizon of each model as a function of the budget of a run.

    RUNS need minutes (Inspect logs: the metadata field human_minutes or minutes), what each run spent, and limit where a limit cut it. A run that ended by itself
    with a wrong answer fails at every larger budget; a run that was cut is censored. Writes horizon_by_budget.csv, the chart and budget_report.html.
    """
    from howsure.horizon.time_horizon.budgets import budget_horizons
    from howsure.horizon.time_horizon.durations import told
    from howsure.horizon.time_horizon.sections import amount, row_estimate

    runs = reading.attempts(inputs, output.console)
    if task_table:
        runs = with_task_table(runs, task_table, output.console)
    found = budget_horizons(
        runs,
        unit=unit,
        budgets=numbers("--budgets", budgets) if budgets else (),
        success_rates=numbers("--success-rates", success_rates),
        minutes_noise=minutes_noise,
        threshold=threshold,
        level=level,
    )
    output.console.notes(note for note in found.provenance.notes if note not in runs.notes)
    rows = [
        (
            *(row["model"], amount(row["budget"], unit), f"{100 * row['success_rate']:g} %"),
            *(told(row_estimate(row, level)), f"{row['success']:.0%}", f"{row['share_unknown']:.0%}"),
        )
        for row in found.rows.sort("model", "success_rate", "budget").rows(named=True)
    ]
    caption = (
        f"{found.n_cut:,} of {found.n_runs:,} runs were cut at a limit. Unknown: runs that a smaller limit cut, in cells where none spent more; the "
        "estimate counts them as failures, the interval reaches to where all succeed."
    )
    columns = ("model", f"budget ({unit})", "success rate", f"horizon [{level:.0%}]", "success", "unknown")
    output.console.table("Time horizons by budget", columns, rows, caption)
    if found.beside is not None:
        from howsure.horizon.time_horizon.sections import JOINT, joint_rows

        output.console.table("Horizons by the joint model", *joint_rows(found.beside, level, unit), JOINT)
    finish(found, output, "budget", "Time horizons by budget")


# `howsure horizon baselines`.


@app.command(epilog="Example: howsure horizon baselines examples/horizon/baseline_runs.csv --people 20")
@verb
def baselines(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    people: Annotated[int, typer.Option(min=1, help="Number of additional times that can be measured.")] = 20,
    minutes_noise: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Error of the human times: standard deviation in doublings, where no two people did the same task.",
            show_default=False,
        ),
    ] = None,
    success_rates: SuccessRates = "0.5,0.8",
    task_table: TaskTable = None,
    threshold: Threshold = None,
    level: Level = 0.95,
) -> None:
    """How long people took, how much they differ, and at which tasks to measure more times.

    Rows of kind human with seconds are baselines: a score of 1 is a success after that time, a lower score means that the person gave up at that time. Writes baseline_plan.csv,
    baseline_steps.csv, human_times.csv and baselines_report.html.
    """
    from howsure.horizon.time_horizon.durations import duration, told
    from howsure.horizon.time_horizon.people_times import plan_baselines
    from howsure.horizon.time_horizon.sections import row_estimate

    runs = reading.attempts(inputs, output.console)
    if task_table:
        runs = with_task_table(runs, task_table, output.console)
    found = plan_baselines(
        runs,
        n_people=people,
        minutes_noise=minutes_noise,
        success_rates=numbers("--success-rates", success_rates),
        level=level,
        threshold=threshold,
    )
    output.console.notes(note for note in found.provenance.notes if note not in runs.notes)
    if len(found.times):
        rows = [
            (
                row["task"],
                row["n_people"],
                row["n_gave_up"],
                told(row_estimate(row, level)),
                "" if row["noise"] is None else f"{row['noise']:.2f}",
            )
            for row in found.times.head(30).rows(named=True)
        ]
        columns = ("task", "people", "gave up", f"human time [{level:.0%}]", "error (doublings)")
        shown = f"{len(rows)} of {len(found.times)} tasks. " if len(rows) < len(found.times) else ""
        caption = f"{shown}One person's time differs from the task's by {found.spread} doublings (standard deviation)."
        output.console.table("Human times", columns, rows, caption)
    steps = [
        (row["n_more"], f"{row['sd_noise']:.3f}", f"{row['sd_all']:.3f}", f"{row['factor']:.3f}")
        for row in found.steps.rows(named=True)
    ]
    caption = "Standard deviation of log2 horizons, mean over models and success rates."
    output.console.table(
        "More human times", ("more", "from human times", "all errors", "interval, relative to now"), steps, caption
    )
    where = [
        (row["task"], duration(row["minutes"]), row["n_people"], row["n_more"], f"{row['share']:.0%}")
        for row in found.tasks.head(20).rows(named=True)
    ]
    caption = "Share of the variance from human times that these people remove."
    output.console.table("Where to measure", ("task", "minutes", "times so far", "more", "share"), where, caption)
    finish(found, output, "baselines", "Human times and what to measure next")


# `howsure horizon trend`.


Horizons = Annotated[
    Path,
    typer.Argument(
        metavar="HORIZONS",
        help="The folder that `howsure horizon time -o` wrote, a table (model, minutes, released), or METR's published YAML.",
        show_default=False,
    ),
]
Releases = Annotated[
    Path | None,
    typer.Option(help="Table with the columns model and released, where HORIZONS has no dates.", show_default=False),
]
Since = Annotated[str | None, typer.Option(help="Exclude older models, as in 2023-01-01.", show_default=False)]


@app.command(epilog="Example: howsure horizon trend time --releases examples/horizon/releases.csv")
@verb
def trend(
    horizons: Horizons,
    output: Output,
    releases: Releases = None,
    success_rate: Annotated[float, typer.Option(help="The success rate of the horizons, between 0 and 1.")] = 0.5,
    since: Since = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="Groups: domain for also the trend of each domain and their differences.", show_default=False
        ),
    ] = None,
    level: Level = 0.95,
) -> None:
    """How fast horizons double: a line through the models that had the longest horizon on the day of their release.

    Writes trend.csv, trend_line.csv, trend.json, the chart and trend_report.html; with --by domain also trend_domains.csv and trend_differences.csv.
    """
    from howsure.horizon.time_horizon.doubling import fit_horizon_trend
    from howsure.horizon.time_horizon.durations import duration

    found = fit_horizon_trend(
        horizons, read_dates(releases), success_rate=success_rate, since=day(since), by=by, level=level
    )
    output.console.notes(found.provenance.notes)
    rows = [
        (row["model"], row["released"], duration(row["minutes"]))
        for row in found.models.filter("is_used").rows(named=True)
    ]
    output.console.table("The frontier at release", ("model", "released", f"{100 * success_rate:g} % horizon"), rows)
    after = f" from {since} on" if since else ""
    output.console.say(
        f"The {100 * success_rate:g} % horizon of the frontier{after} doubles in {found.doubling_text} ({level:.0%} interval; {found.line.n} models, R² {found.line.r2 or 0:.3f})."
    )
    if found.domains is not None:
        from howsure.horizon.time_horizon.sections import domain_tables

        for title, columns, told, caption in domain_tables(found):
            output.console.table(title, columns, told, caption)
    finish(found, output, "trend", "How fast time horizons double")


def read_dates(path: Path | None) -> dict[str, datetime.date] | None:
    """Release dates by model from a file; none without one."""
    from howsure.horizon.time_horizon.published import read_releases

    return read_releases(path) if path else None


def day(text: str | None) -> datetime.date | None:
    """The date of `--since`."""
    try:
        return datetime.date.fromisoformat(text) if text else None
    except ValueError:
        raise OptionError(f"--since {text}: not a date. Write it as 2023-01-31.") from None


# `howsure horizon forecast`.


@app.command(epilog="Example: howsure horizon forecast examples/horizon/horizons.csv --reach 1month,1year")
@verb
def forecast(
    horizons: Horizons,
    output: Output,
    reach: Annotated[
        str,
        typer.Option(help="Lengths of working time with commas: 90 (minutes), 4h, 1day, 1week, 1month (167 h), 1year."),
    ] = "1month",
    releases: Releases = None,
    success_rate: Annotated[float, typer.Option(help="The success rate of the horizons, between 0 and 1.")] = 0.5,
    since: Since = None,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """When the horizon of the frontier reaches a length, averaged over shapes of growth by how well they predicted the past.

    Shapes: linear in the logarithm, with a break, accelerating, saturating. Writes horizon_forecast.csv, forecast_shapes.csv, forecast_backtest.csv, forecast_path.csv,
    the chart and forecast_report.html.
    """
    from howsure.horizon.time_horizon.durations import duration, told
    from howsure.horizon.time_horizon.forecasting import forecast_horizons, parse_length
    from howsure.horizon.time_horizon.sections import row_estimate, when

    found = forecast_horizons(
        horizons,
        read_dates(releases),
        targets=[parse_length(part) for part in reach.split(",")],
        success_rate=success_rate,
        since=day(since),
        level=level,
        seed=seed,
    )
    output.console.notes(found.provenance.notes)
    rows = [(duration(row["minutes"]), when(row)) for row in found.reached.rows(named=True)]
    title = f"When the {100 * success_rate:g} % horizon of the frontier reaches a length"
    output.console.table(title, ("length", f"date [{level:.0%}]"), rows)
    shapes = [
        (row["shape"], f"{row['weight']:.2f}", f"{row['log_density']:.2f}", f"{row['error']:.2f}", when(row))
        for row in found.shapes.rows(named=True)
    ]
    columns = (
        "shape",
        "weight",
        "log density",
        "error (doublings)",
        f"{duration(found.reached['minutes'][0])} reached",
    )
    caption = "Log density and root mean squared error of the next record, predicted from the models before it."
    output.console.table("Shapes of growth, weighted by their back-test", columns, shapes, caption)
    past = [
        (
            *(row["date"], row["n_before"], told(row_estimate(row, level, "predicted"))),
            *(duration(row["minutes"]), "yes" if row["is_covered"] else "no"),
        )
        for row in found.backtest.rows(named=True)
    ]
    output.console.table(
        "The back-test", ("record", "models before", f"predicted [{level:.0%}]", "came", "covered"), past
    )
    finish(found, output, "forecast", "When will time horizons reach a length?")


# `howsure horizon crossvalidate`.


@app.command(epilog="Example: howsure horizon crossvalidate examples/horizon/time_counts.csv --folds 3")
@verb
def crossvalidate(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    folds: Annotated[int, typer.Option(min=2, help="Number of folds.")] = 5,
    threshold: Threshold = None,
    limits: Limits = "scored",
    covariate: Covariates = None,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """How well logistic, Weibull and spline curves and the joint model predict held-out runs.

    Two kinds of folds: held-out cells (a model at a task that other models tried) and held-out families of tasks. A model with task effects is better on
    cells; held-out families test whether success can be predicted from length alone, as a horizon assumes.
    """
    from howsure.horizon.time_horizon.held_out import crossvalidate as run
    from howsure.tables import Attempts

    runs = reading.read(inputs, output.console)
    if not isinstance(runs, Attempts):
        raise InputError(f"{', '.join(inputs)}: contains {type(runs).__name__.lower()}; time horizons need attempts.")
    with progress_bar("fitting", output.console) as progress:
        found = run(
            runs, folds=folds, threshold=threshold, limits=limits, covariates=covariate or (), level=level, seed=seed,
            progress=progress,
        )  # fmt: skip
    title = f"Held-out log-loss per run ({found.n_runs:,} runs, {folds} folds)"
    rows = [
        (
            *(row["held_out"], row["predictor"], _with_ends(row, "log_loss")),
            *(f"{row[name]:.3f}" for name in ("expected", "observed", "calibration_slope")),
        )
        for row in found.scores.rows(named=True)
    ]
    columns = ("held out", "predictor", f"log-loss [{level:.0%}]", "expected", "observed", "calibration slope")
    output.console.table(
        title, columns, rows, "Expected and observed: mean success. Calibration slope: 1 is calibrated."
    )
    rows = [(row["held_out"], row["a"], _with_ends(row, "difference")) for row in found.differences.rows(named=True)]
    title = "Difference in log-loss per run from the logistic curve (negative: better)"
    output.console.table(title, ("held out", "predictor", f"difference [{level:.0%}]"), rows)
    of_joint = found.differences.filter(held_out="families", a="joint").rows(named=True)
    if of_joint:
        (row,) = of_joint
        is_better = row["difference_high"] is not None and row["difference_high"] < 0
        output.console.say(
            f"Runs at new families, which a horizon is meant to predict: the joint model is {'better' if is_better else 'not clearly better'} than the logistic curve here "
            f"({_with_ends(row, 'difference')}). The default model of horizon time is always logistic; the joint model becomes the default only if it predicts new families better."
        )
    finish(found, output, "crossvalidate", "Held-out runs")


def _with_ends(row: Mapping[str, Any], name: str) -> str:
    value, low, high = (row[name + end] for end in ("", "_low", "_high"))
    return f"{value:.4f}" if low is None or high is None else f"{value:.4f} [{low:.4f}, {high:.4f}]"


# `howsure horizon compare`.


@app.command(epilog="Example: howsure horizon compare time amber-2 amber-1")
@verb
def compare(
    folder: Annotated[
        Path,
        typer.Argument(metavar="TIME", help="The folder that `howsure horizon time -o` wrote.", show_default=False),
    ],
    a: Annotated[str, typer.Argument(metavar="A", help="A model.", show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help="Another model.", show_default=False)],
    output: Output,
) -> None:
    """The ratio of A's time horizon to B's, and the probability that A's is longer.

    Both are fitted to the same tasks in every replicate. Writes compare.csv, horizon_compare.json, the charts and compare_report.html.
    """
    from howsure.estimates import chance
    from howsure.horizon.time_horizon.comparison import compare_horizons
    from howsure.horizon.time_horizon.durations import times, told
    from howsure.horizon.time_horizon.horizons import TimeHorizons

    horizons = TimeHorizons.load(folder)
    found = compare_horizons(horizons, a, b)
    output.console.notes(note for note in found.provenance.notes if note not in horizons.provenance.notes)
    rows = [
        (
            f"{100 * row.success_rate:g} %",
            *(told(row.a), told(row.b), told(row.ratio, times)),
            *(chance(row.p_a_greater), row.n_undefined),
        )
        for row in found.rows
    ]
    columns = ("success rate", a, b, f"ratio [{horizons.level:.0%}]", f"P({a} longer)", "replicates without ratio")
    output.console.table(f"{a} compared with {b}", columns, rows, f"{found.n_shared_tasks:,} tasks that both tried.")
    finish(found, output, "compare", f"Time horizons: {a} compared with {b}")


# `howsure horizon coverage`.


@app.command(epilog="Example: howsure horizon coverage --of compare --simulations 2")
@verb
def coverage(
    output: Output,
    of: Annotated[
        str,
        typer.Option(
            help="What is simulated: time, compare (ratios), limits (cut runs), trend (doubling times), domains (trends) or attempts."
        ),
    ] = "time",
    containing: Annotated[
        str | None, typer.Option(help="Only rows that contain this text: designs.", show_default=False)
    ] = None,
    simulations: Annotated[int, typer.Option(min=2, help="Simulated data sets: per design.")] = 200,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Measure by simulation how often the intervals of horizons contain the true value.

    Time horizons: 15 to 100 families, one run per task, tasks whose difficulty varies much, human times that are exact or have an error of one doubling
    of known size; and few or unequal families, also with weak models. The true value is the length at which the average over all tasks of that true length equals the success rate.
    Limits: a limit cuts 30 % of the runs; failures last longer, successes last longer, or neither; cut runs are counted in each of the ways of --limits. The true value is the horizon without a limit.
    Attempts: models as good as novices on attempts 1.5, 3 and 6; all learners try all tasks, each learner tries some tasks, or learners leave a task when they have mastered it. Writes horizon_coverage.csv.
    """
    from howsure.horizon.interval_coverage import coverage as measure

    with progress_bar("simulating", output.console) as progress:
        found = measure(of, containing=containing, n_simulations=simulations, level=level, seed=seed, progress=progress)
    output.console.notes(found.provenance.notes)
    forms = {"median_error": "+.2f", "median_width": ".2f", "share_open": ".0%", "share_without": ".0%"}
    rows = [
        (
            *(row["quantity"], row["design"]),
            "" if row["monte_carlo_se"] is None else f"{row['coverage']:.3f} ± {row['monte_carlo_se']:.3f}",
            *("" if row[name] is None else f"{row[name]:{form}}" for name, form in forms.items()),
        )
        for row in found.rows.rows(named=True)
    ]
    caption = (
        f"{simulations:,} simulated data sets per design, seed {seed}; ± is the Monte Carlo standard error. Bias: median of estimate divided by true value, in "
        "doublings. Width: of the intervals with two ends, median in doublings. Open: intervals with an open end. None: estimates without an interval."
    )
    columns = ("quantity", "design", "coverage", "bias", "width", "open", "none")
    output.console.table(f"Coverage of {level:.0%} intervals", columns, rows, caption)
    finish(found, output, "coverage", "How often do intervals of horizons contain the true value?")
