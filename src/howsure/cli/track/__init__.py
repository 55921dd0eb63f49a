"""`howsure track`: one module a verb."""

from howsure.cli.lazy import Panels, lazy_app

__all__ = ["VERBS", "app"]

VERBS: Panels = {
    "Before": {
        "estimate": ("howsure.cli.track.estimate", "What a run would use and cost; nothing is asked."),
    },
    "Playing": {
        "run": ("howsure.cli.track.run", "Let models, or players that need none, play."),
        "human": ("howsure.cli.track.human", "Play it yourself in the terminal."),
        "page": ("howsure.cli.track.page", "The same game as a page for a browser."),
        "collect": ("howsure.cli.track.collect", "Files that players sent back → samples and attempts."),
    },
    "After": {
        "report": ("howsure.cli.track.report", "Metrics with intervals, survival, gains, kinds of errors, tokens."),
    },
}

app = lazy_app(VERBS, "For how many turns can a solver keep a statistic in its head?")
