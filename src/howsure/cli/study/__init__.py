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
        "stop": ("howsure.cli.study.stop", "May a live study stop? Valid at every look."),
        "labels": ("howsure.cli.study.labels", "How many items people should label, and which."),
    },
    "After": {
        "analyze": ("howsure.cli.study.analyze", "Quality, fidelity, reliability, criteria and the verdict."),
        "validate": ("howsure.cli.study.validate", "Compare a judge with people, on equal terms."),
        "bench": ("howsure.cli.study.bench", "Compare many judges, and recommend one."),
        "estimate": ("howsure.cli.study.estimate", "Mean label of all items, from few labels and judges."),
        "attack": ("howsure.cli.study.attack", "Attacked answers, and how far they move judges."),
        "drift": ("howsure.cli.study.drift", "Has a judge changed? An alarm valid at every look."),
        "coverage": ("howsure.cli.study.coverage", "How often these intervals contain the true value."),
        "reliability": ("howsure.cli.study.reliability", "Every coefficient of agreement of a table of ratings."),
    },
}

app = lazy_app(VERBS, "Do people agree, and does an automatic judge agree with them?")
