"""`howsure track`: one module per verb."""

from howsure.cli.app import Panels, lazy_app

__all__ = ["VERBS", "app"]

VERBS: Panels = {
    "Before": {
        "estimate": ("howsure.cli.track.games", "Tokens and cost of a run, before it is started."),
    },
    "Playing": {
        "run": ("howsure.cli.track.games", "Run models or scripted baselines."),
        "length": (
            "howsure.cli.track.games",
            "The length at which half of a model's last answers are correct, with few calls.",
        ),
        "human": ("howsure.cli.track.games", "Play it yourself in the terminal."),
        "page": ("howsure.cli.track.games", "The same game as a page for a browser."),
        "collect": ("howsure.cli.track.games", "Read the files that players sent back."),
    },
    "After": {
        "report": (
            "howsure.cli.track.report",
            "Metrics with intervals, survival curves, differences, kinds of errors, tokens.",
        ),
    },
}

app = lazy_app(VERBS, "For how many turns can a model or a person track a running statistic?")
