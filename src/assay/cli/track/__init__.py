"""`assay track`: one module a verb."""

from assay.cli.lazy import Panels, lazy_app

__all__ = ["VERBS", "app"]

VERBS: Panels = {
    "Before": {
        "estimate": ("assay.cli.track.estimate", "What a run would use and cost; nothing is asked."),
    },
    "Playing": {
        "run": ("assay.cli.track.run", "Let models, or players that need none, play."),
        "human": ("assay.cli.track.human", "Play it yourself in the terminal."),
        "page": ("assay.cli.track.page", "The same game as a page for a browser."),
        "collect": ("assay.cli.track.collect", "Files that players sent back → samples and attempts."),
    },
    "After": {
        "report": ("assay.cli.track.report", "Metrics with intervals, survival, gains, kinds of errors, tokens."),
    },
}

app = lazy_app(VERBS, "For how many turns can a solver keep a statistic in its head?")
