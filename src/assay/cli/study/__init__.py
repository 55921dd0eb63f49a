"""`assay study`: one module a verb."""

from assay.cli.lazy import Panels, lazy_app

__all__ = ["VERBS", "app"]

VERBS: Panels = {
    "Before": {
        "plan": ("assay.cli.study.plan", "What a design can show, before anyone rates."),
        "select": ("assay.cli.study.select", "Choose pairs over domains and score levels."),
        "check": ("assay.cli.study.check", "Pre-flight: what would give the study away or wear raters out."),
        "simulate": ("assay.cli.study.simulate", "Draw raters with a known truth."),
    },
    "Rating": {
        "build": ("assay.cli.study.build", "One blind page a rater, and the sealed key."),
        "collect": ("assay.cli.study.collect", "Raters' files and the key → a table of ratings."),
        "judge": ("assay.cli.study.judge", "A model rates the same blinded pairs."),
    },
    "After": {
        "analyze": ("assay.cli.study.analyze", "Quality, fidelity, reliability, criteria and the verdict."),
        "validate": ("assay.cli.study.validate", "A judge against people, on equal terms."),
        "reliability": ("assay.cli.study.reliability", "Every coefficient of agreement of a table of ratings."),
    },
}

app = lazy_app(VERBS, "Blind, calibrated human ratings that say what they can show.")
