"""`howsure horizon`: one module a verb."""

from howsure.cli.app import Panels, lazy_app

__all__ = ["VERBS", "app"]

VERBS: Panels = {
    "Runs": {
        "tasks": ("howsure.cli.horizon.runs", "Write a suite of tasks, each a generator of fresh instances."),
        "run": ("howsure.cli.horizon.runs", "Run a model on the tasks, through Inspect."),
        "page": ("howsure.cli.horizon.runs", "Write the page on which novices attempt the tasks."),
        "collect": ("howsure.cli.horizon.runs", "Read novices' answers into a table of attempts."),
        "review": ("howsure.cli.horizon.runs", "Read people's scores of texts into the table of attempts."),
        "simulate": ("howsure.cli.horizon.runs", "Simulate novices and models with known true values."),
    },
    "Attempts (NAME)": {
        "curves": ("howsure.cli.horizon.novices", "Learning curves: novices' success by attempt, per task."),
        "learners": ("howsure.cli.horizon.novices", "Held-out learners: log-loss of models of learning."),
        "attempts": ("howsure.cli.horizon.novices", "How many attempts a novice would need to match each model."),
        "transfer": ("howsure.cli.horizon.novices", "Which practice carries over to which tasks."),
        "benchmarks": ("howsure.cli.horizon.novices", "Where NAME orders models otherwise than benchmarks do."),
        "failures": ("howsure.cli.horizon.novices", "What went wrong: modes of failure of models and of novices."),
        "size": ("howsure.cli.horizon.novices", "Sample size: learners and tasks for a given width of the interval."),
    },
    "Time": {
        "time": ("howsure.cli.horizon.minutes", "The expert minutes at which each model succeeds half the time."),
        "budget": ("howsure.cli.horizon.minutes", "Time horizons as a function of tokens, dollars or time per run."),
        "baselines": ("howsure.cli.horizon.minutes", "Human times, and whose time at which task to measure next."),
        "trend": ("howsure.cli.horizon.minutes", "How fast horizons double over release dates."),
        "forecast": ("howsure.cli.horizon.minutes", "When horizons reach a length, with a back-test."),
        "crossvalidate": (
            "howsure.cli.horizon.minutes",
            "Held-out log-loss of the logistic and the joint model.",
        ),
        "compare": ("howsure.cli.horizon.minutes", "Two models' time horizons over the same replicates."),
    },
    "Evidence": {
        "coverage": ("howsure.cli.horizon.minutes", "How often intervals of horizons contain the true value."),
    },
}

app = lazy_app(VERBS, "How many attempts would a novice need, and how many minutes an expert?")
