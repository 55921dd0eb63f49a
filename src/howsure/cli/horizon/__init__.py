"""`howsure horizon`: one module a verb."""

from howsure.cli.lazy import Panels, lazy_app

__all__ = ["VERBS", "app"]

VERBS: Panels = {
    "Runs": {
        "tasks": ("howsure.cli.horizon.tasks", "Write a suite of tasks, each a generator of fresh instances."),
        "run": ("howsure.cli.horizon.run", "Run a model on the tasks, through Inspect."),
        "page": ("howsure.cli.horizon.page", "Write the page on which novices attempt the tasks."),
        "collect": ("howsure.cli.horizon.collect", "Read novices' answers into a table of attempts."),
        "review": ("howsure.cli.horizon.review", "Read people's scores of texts into the table of attempts."),
        "simulate": ("howsure.cli.horizon.simulate", "Simulate novices and models with known true values."),
    },
    "Attempts (NAME)": {
        "curves": ("howsure.cli.horizon.curves", "Learning curves: novices' success by attempt, per task."),
        "learners": ("howsure.cli.horizon.learners", "Held-out learners: log-loss of models of learning."),
        "attempts": ("howsure.cli.horizon.attempts", "How many attempts a novice would need to match each model."),
        "transfer": ("howsure.cli.horizon.transfer", "Which practice carries over to which tasks."),
        "benchmarks": ("howsure.cli.horizon.benchmarks", "Where NAME orders models otherwise than benchmarks do."),
        "failures": ("howsure.cli.horizon.failures", "What went wrong: modes of failure of models and of novices."),
        "size": ("howsure.cli.horizon.size", "Sample size: learners and tasks for a given width of the interval."),
    },
    "Time": {
        "time": ("howsure.cli.horizon.time", "The expert minutes at which each model succeeds half the time."),
        "budget": ("howsure.cli.horizon.budget", "Time horizons as a function of tokens, dollars or time per run."),
        "baselines": ("howsure.cli.horizon.baselines", "Human times, and whose time at which task to measure next."),
        "trend": ("howsure.cli.horizon.trend", "How fast horizons double over release dates."),
        "forecast": ("howsure.cli.horizon.forecast", "When horizons reach a length, with a back-test."),
        "crossvalidate": (
            "howsure.cli.horizon.crossvalidate",
            "Held-out log-loss of the logistic and the joint model.",
        ),
        "compare": ("howsure.cli.horizon.compare", "Two models' time horizons over the same replicates."),
    },
    "Evidence": {
        "coverage": ("howsure.cli.horizon.coverage", "How often intervals of horizons contain the true value."),
    },
}

app = lazy_app(VERBS, "How many attempts would a novice need, and how many minutes an expert?")
