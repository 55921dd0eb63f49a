"""`howsure track`: one module per verb."""

from howsure.cli.lazy import Panels, lazy_app

__all__ = ["VERBS", "app"]

VERBS: Panels = {
    "Before": {
        "estimate": ("howsure.cli.track.estimate", "Tokens and cost of a run, before it is started."),
    },
    "Playing": {
        "run": ("howsure.cli.track.run", "Run models or scripted baselines."),
        "length": (
            "howsure.cli.track.length",
            "The length at which half of a model's last answers are correct, with few calls.",
        ),
        "human": ("howsure.cli.track.human", "Play it yourself in the terminal."),
        "page": ("howsure.cli.track.page", "The same game as a page for a browser."),
        "collect": ("howsure.cli.track.collect", "Read the files that players sent back."),
    },
    "After": {
        "report": (
            "howsure.cli.track.report",
            "Metrics with intervals, survival curves, differences, kinds of errors, tokens.",
        ),
    },
}

app = lazy_app(VERBS, "For how many turns can a model or a person track a running statistic?")
