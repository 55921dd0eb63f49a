"""`howsure stitch`: one capability scale, and everything that is asked of it."""

from howsure.cli.app import Panels, lazy_app

__all__ = ["VERBS", "app"]

_SCALE, _ANALYSES, _INDEX = (f"howsure.cli.stitch.{name}" for name in ("scale", "analyses", "index"))

VERBS: Panels = {
    "The scale": {
        "explore": (_SCALE, "What a table of scores contains, before anything is fitted."),
        "fit": (_SCALE, "Models and benchmarks linked on one scale, with intervals."),
        "score": (_SCALE, "Place new models on a finished scale."),
        "next": (_SCALE, "Which benchmarks to run next."),
        "predict": (_ANALYSES, "Expected scores of a model, on benchmarks with and without a score."),
        "update": (_INDEX, "Changes of the estimates with a newer table, and their reasons."),
        "all": (_INDEX, "Every analysis of a table into one report with one summary."),
    },
    "The frontier": {
        "forecast": (_ANALYSES, "Forecast of the frontier, with its uncertainty."),
        "lag": (_ANALYSES, "By how many months one group of models is behind another."),
        "progress": (_ANALYSES, "How much of the progress comes from compute, and how much from better algorithms."),
        "growth": (_INDEX, "Growth of the frontier under different rules."),
        "map": (_ANALYSES, "Time horizons by capability."),
    },
    "Benchmarks and votes": {
        "domains": (_INDEX, "Capabilities by domain: maths, coding, or baskets of your own."),
        "gaps": (_INDEX, "Where benchmarks are missing, and which to add."),
        "votes": (_INDEX, "Models ranked by votes, with ties, tiers and fragility."),
    },
    "Evidence": {
        "robustness": (_ANALYSES, "What the frontier's slope and the ranking are sensitive to."),
        "validate": (_ANALYSES, "How well `predict` predicts scores that it has not seen."),
        "check": (_ANALYSES, "Random models whose order you can check, and scores that do not fit."),
        "traits": (_SCALE, "Is there a second dimension, and does it improve predictions?"),
        "simulate": (_SCALE, "Simulated scores, with the true values behind them."),
        "coverage": (_SCALE, "How often the intervals contain the true value, by simulation."),
    },
}

app = lazy_app(VERBS, "How capable is each model, how hard is each benchmark, and where is the frontier going?")
