"""`howsure study`: one module per verb."""

from howsure.cli.app import Panels, lazy_app

__all__ = ["VERBS", "app"]

VERBS: Panels = {
    "Before": {
        "init": ("howsure.cli.study.fielding", "Write a commented study to start from."),
        "plan": ("howsure.cli.study.analysis", "Power analysis: what a design can show, before anyone rates."),
        "select": ("howsure.cli.study.fielding", "Select pairs over domains and score levels."),
        "check": ("howsure.cli.study.fielding", "Check a study before anyone rates."),
        "simulate": ("howsure.cli.study.fielding", "Simulate raters with known true values."),
    },
    "Rating": {
        "build": ("howsure.cli.study.fielding", "One blind page per rater, and the sealed key."),
        "collect": ("howsure.cli.study.fielding", "Raters' files and the key → a table of ratings."),
        "judge": ("howsure.cli.study.judges", "A model rates the same blinded pairs."),
        "stop": ("howsure.cli.study.analysis", "May a live study stop? Valid at every look."),
        "labels": ("howsure.cli.study.judges", "How many items people should label, and which."),
    },
    "After": {
        "analyze": ("howsure.cli.study.analysis", "Quality, fidelity, reliability, criteria and the verdict."),
        "validate": ("howsure.cli.study.judges", "Compare a judge with people, on equal terms."),
        "bench": ("howsure.cli.study.judges", "Compare many judges, and recommend one."),
        "estimate": ("howsure.cli.study.judges", "Mean label of all items, from few labels and judges."),
        "attack": ("howsure.cli.study.judges", "Attacked answers, and how far they move judges."),
        "drift": ("howsure.cli.study.judges", "Has a judge changed? An alarm valid at every look."),
        "coverage": ("howsure.cli.study.analysis", "How often these intervals contain the true value."),
        "reliability": ("howsure.cli.study.analysis", "Every coefficient of agreement of a table of ratings."),
    },
}

app = lazy_app(VERBS, "Do people agree, and does an automatic judge agree with them?")
