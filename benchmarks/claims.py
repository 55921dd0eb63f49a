"""A horizon claim under 500 specifications × 1000 refits, in CPU seconds (goal: below 60).

``python -m benchmarks claims`` measures simulated runs of about the size of METR's first file; ``python -m benchmarks claims RUNS`` a file that has o1 and GPT-4o.
"""

from __future__ import annotations

import time

import howsure
from howsure.claims import check
from howsure.claims.simulator import simulate_runs

SPECIFICATIONS, REPLICATES = 500, 1000
MORE = [
    {"choice": choice, "add": value, "reason": "for the benchmark"}
    for choice, values in (("regularisation", ("0.0001", "0.001", "0.01", "0.05")), ("minutes_noise", ("0.25", "0.5")))
    for value in values
]


def measure(runs_file: str = "") -> dict[str, float]:
    """CPU seconds of a claim about one model, and of one that compares two."""
    runs = (
        howsure.Attempts.of(howsure.read(runs_file)) if runs_file else simulate_runs("limits", n_families=24, n_tasks=4)
    )
    models = ("o1", "GPT-4o") if runs_file else ("model",)
    claims = {"one model": {"kind": "horizon", "model": models[0], "at_least": 30}}
    if len(models) > 1:
        claims["two models"] = {"kind": "horizon", "model": models[0], "than": models[1]}
    found: dict[str, float] = {}
    for what, claim in claims.items():
        file = {"claims": [claim], "choices": MORE}
        check(file, runs, n_replicates=20, most=8)  # compiles
        started = time.process_time()
        n = check(file, runs, n_replicates=REPLICATES, most=SPECIFICATIONS).verdicts[0].n_specifications
        seconds = time.process_time() - started
        found |= {f"{what}, specifications": float(n), f"{what}, CPU seconds": seconds}
    return found
