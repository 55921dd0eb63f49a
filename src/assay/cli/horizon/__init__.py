"""`assay horizon`: one module a verb."""

from assay.cli.lazy import Panels, lazy_app

__all__ = ["VERBS", "app"]

VERBS: Panels = {
    "Runs": {
        "tasks": ("assay.cli.horizon.tasks", "Write a suite of tasks, each a generator of fresh instances."),
        "run": ("assay.cli.horizon.run", "Run a model on the tasks, through Inspect."),
        "page": ("assay.cli.horizon.page", "The page on which novices attempt the tasks."),
        "collect": ("assay.cli.horizon.collect", "Novices' files → a table of attempts."),
        "simulate": ("assay.cli.horizon.simulate", "Draw novices and models with a known truth."),
    },
    "Attempts (NAME)": {
        "curves": ("assay.cli.horizon.curves", "How novices learn each task."),
        "attempts": ("assay.cli.horizon.attempts", "How many attempts a novice would need to match each model."),
        "size": ("assay.cli.horizon.size", "How many learners and tasks an interval needs."),
    },
    "Time": {
        "time": ("assay.cli.horizon.time", "The expert minutes at which each model succeeds half the time."),
        "trend": ("assay.cli.horizon.trend", "How fast horizons double over release dates."),
        "compare": ("assay.cli.horizon.compare", "Two models' time horizons over the same replicates."),
    },
}

app = lazy_app(VERBS, "How many attempts would a novice need, and how many minutes an expert?")
