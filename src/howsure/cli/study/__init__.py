"""`howsure study`: one module per verb."""

from howsure.cli.lazy import Panels, lazy_app

__all__ = ["VERBS", "app"]

VERBS: Panels = {
    "Before": {
        "init": ("howsure.cli.study.init", "Write a commented study to start from."),
        "plan": ("howsure.cli.study.plan", "Power analysis: what a design can show, before anyone rates."),
        "select": ("howsure.cli.study.select", "Select pairs over domains and score levels."),
        "check": ("howsure.cli.study.check", "Check a study before anyone rates."),
        "simulate": ("howsure.cli.study.simulate", "Simulate raters with known true values."),
    },
    "Rating": {
        "build": ("howsure.cli.study.build", "One blind page per rater, and the sealed key."),
        "collect": ("howsure.cli.study.collect", "Raters' files and the key → a table of ratings."),
        "judge": ("howsure.cli.study.judge", "A model rates the same blinded pairs."),
    },
    "After": {
        "analyze": ("howsure.cli.study.analyze", "Quality, fidelity, reliability, criteria and the verdict."),
        "validate": ("howsure.cli.study.validate", "Compare a judge with people, on equal terms."),
        "reliability": ("howsure.cli.study.reliability", "Every coefficient of agreement of a table of ratings."),
    },
}

app = lazy_app(VERBS, "Do people agree, and does an automatic judge agree with them?")
