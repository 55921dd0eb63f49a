"""`howsure claims`: one module per verb."""

from howsure.cli.app import Panels, lazy_app

__all__ = ["VERBS", "app"]

VERBS: Panels = {
    "Claims": {
        "check": ("howsure.cli.claims.checking", "Does a claim hold under every defensible analysis?"),
        "plan": ("howsure.cli.claims.checking", "Fix claims, choices and settings before the data, with a hash."),
        "verify": ("howsure.cli.claims.checking", "Recompute a certificate from the data, and name what differs."),
        "coverage": ("howsure.cli.claims.checking", "Error rates of the verdicts on simulated data."),
    },
}

app = lazy_app(VERBS, "Which conclusions hold under every defensible analysis?")
