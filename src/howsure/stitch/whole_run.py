"""Every analysis of a table of scores at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from howsure.arguments import checked
from howsure.errors import HowsureError
from howsure.estimates import stated
from howsure.stitch.baskets import domains
from howsure.stitch.benchmark_gaps import gaps
from howsure.stitch.exploration import explore
from howsure.stitch.forecasting.frontier_forecast import forecast
from howsure.stitch.forecasting.lags import lag
from howsure.stitch.forecasting.scaling import progress as separate
from howsure.stitch.growth_rates import growth
from howsure.stitch.scale import Scale, fit
from howsure.stitch.sensitivity.analysis import robustness
from howsure.stitch.sensitivity.inspection import check
from howsure.stitch.summaries import estimate_of
from howsure.tables import Scores

if TYPE_CHECKING:
    from howsure.results import Result
    from howsure.tables.frames import Source

__all__ = ["WholeRun", "run_all"]


class WholeRun(dict[str, "Result"]):
    """The results of all analyses by name, in the order in which they ran.

    Attributes
    ----------
    skipped : dict
        Analyses that the table does not allow, with the reason.
    seconds : dict
        How long each took.
    """

    def __init__(self) -> None:
        super().__init__()
        self.skipped: dict[str, str] = {}
        self.seconds: dict[str, float] = {}

    def summary(self) -> list[str]:
        """One sentence per analysis."""
        return [_SENTENCES[name](result) for name, result in self.items() if name in _SENTENCES]


@checked
def run_all(
    scores: Source | Scores,
    *,
    n_replicates: int = 400,
    level: float = 0.9,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> WholeRun:
    """Explore, fit, forecast, lags, progress, growth, domains, gaps, robustness and check, one after the other.

    An analysis that the table does not allow, for example progress without known compute, is skipped with its reason.

    Parameters
    ----------
    scores : Scores, frame or path
        One row per model and benchmark.
    n_replicates : int
        Refits of the scale; `robustness` and `growth` make a quarter of it.
    level : float
        Coverage of the intervals, between 0 and 1.
    seed : int
        The same seed gives the same numbers.
    options : mapping, optional
        Further options of `howsure.stitch.fit`, such as preset or anchor.
    progress : callable, optional
        Is called with the name of the analysis, its number and their total before it starts.
    """
    table, told = Scores.of(scores), dict(options or {})
    run = WholeRun()
    few = max(n_replicates // 4, 20)
    common: dict[str, Any] = {"level": level, "seed": seed}
    scale: list[Scale] = []

    def fitted() -> Scale:
        scale.append(fit(table, n_replicates=n_replicates, **common, **told))
        return scale[0]

    steps: dict[str, Callable[[], Result]] = {
        "explore": lambda: explore(table),
        "fit": fitted,
        "forecast": lambda: forecast(scale[0], **common),
        "lag": lambda: lag(scale[0], level=level),
        "progress": lambda: separate(scale[0], level=level),
        "growth": lambda: growth(table, n_replicates=few, **common),
        "domains": lambda: domains(scale[0], seed=seed),
        "gaps": lambda: gaps(scale[0], n_models=min(10, len(scale[0].models))),
        "robustness": lambda: robustness(table, n_replicates=few, **common, **told),
        "check": lambda: check(scale[0], seed=seed),
    }
    for number, (name, step) in enumerate(steps.items(), 1):
        if progress:
            progress(name, number, len(steps))
        started = time.perf_counter()
        try:
            run[name] = step()
        except HowsureError as error:
            if name in ("explore", "fit"):  # nothing can follow
                raise
            run.skipped[name] = str(error)
        run.seconds[name] = time.perf_counter() - started
    return run


def _of_scale(scale: Any) -> str:
    best = scale.models.row(0, named=True)
    sure = "" if best["p_best"] is None else f" ({stated('P(best)', best['p_best'])})"
    return f"{best['model']} has the highest capability, {estimate_of(best, scale.level)}{sure}."


def _of_forecast(found: Any) -> str:
    rows = found.path.drop_nulls("frontier")
    told = (
        f" The best model is expected at {found.at(rows['date'][11])} on {rows['date'][11]}." if len(rows) > 11 else ""
    )
    return f"The frontier's line rises by {found.trend.slope()} per year.{told}"


def _of_lags(found: Any) -> str:
    leader = found.groups["group"][0]
    rows = found.lags.filter(behind=leader).drop_nulls("months").head(1).rows(named=True)
    return (
        f"{rows[0]['group']} is {found.estimate(rows[0])} months behind {leader}."
        if rows
        else f"{leader} has the best model."
    )


_SENTENCES: dict[str, Callable[[Any], str]] = {
    "explore": lambda found: f"{found.overview.n_scores:,} scores of {found.overview.n_models:,} models on {found.overview.n_benchmarks:,} benchmarks.",
    "fit": _of_scale,
    "forecast": _of_forecast,
    "lag": _of_lags,
    "progress": lambda found: f"At the same compute, capability rises by {found.rate('per_year')} per year; ten times the compute add {found.rate('per_oom')}.",
    "growth": lambda found: found.sentences[0],
    "domains": lambda found: found.sentence,
    "gaps": lambda found: f"A new benchmark would say most about the best models at difficulty {found.new_benchmarks['difficulty'][0]:.2f}.",
    "robustness": lambda found: found.summary[0],
    "check": lambda found: (found.surprises.words(1) or ["No score is unusual."])[0],
}  # fmt: skip
