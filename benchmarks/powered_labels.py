"""Coverage of mean labels from few labels and a judge, beside ppi-python on the same simulated data: intended 0.95.

ppi-python is installed in an environment of its own: ``python -m benchmarks.powered_labels PATH/TO/ITS/python``. Without it, only our own rows are given.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np

from howsure.stats.label_sampling import draw_labels, inclusion_probabilities, judged_mean, strata_of
from howsure.study.interval_coverage import draw_judged

__all__ = ["measure"]

_PEER = r"""
import json, sys, numpy as np
from ppi_py import classical_mean_ci, ppi_mean_ci
found = []
for row in json.load(sys.stdin):
    y, f, more = (np.array(row[name], dtype=float) for name in ("y", "f", "more"))
    w = None if row["w"] is None else np.array(row["w"], dtype=float)
    low, high = ppi_mean_ci(y, f, more, alpha=0.05, w=w) if w is not None else ppi_mean_ci(y, f, more, alpha=0.05)
    found.append([float(np.ravel(low)[0]), float(np.ravel(high)[0])])
print(json.dumps(found))
"""


def measure(peer: str | None = None, n_simulations: int = 400) -> dict[str, float]:
    """The share of intervals that contain the true mean, and their mean width, by design and package."""
    shares: dict[str, float] = {}
    designs = [(n_labels, is_binary) for n_labels in (10, 20, 50) for is_binary in (False, True)]
    for n_labels, is_binary in designs:
        for how in ("uniform", "stratified", "active"):
            if how != "uniform" and n_labels == 10:
                continue
            hits: dict[str, list[bool]] = {}
            widths: dict[str, list[float]] = {}
            sent: list[dict[str, Any]] = []
            truth = 0.0
            for seed in range(n_simulations):
                rng = np.random.default_rng(seed)
                label, judged, _, truth = draw_judged(rng, 300, is_binary=is_binary)
                f = judged[:, 0]
                strata = strata_of(f) if how == "stratified" else None
                share = np.full(300, n_labels / 300)
                if how == "active":
                    share = inclusion_probabilities(0.4 + 0.6 * (f > np.median(f)), n_labels)
                is_drawn, used = draw_labels(share, strata=strata, n_labels=n_labels, seed=seed)
                options: dict[str, Any] = {"strata": strata} if how == "stratified" else {"probabilities": used}
                one = judged_mean(np.where(is_drawn, label, np.nan), judged, **options).estimate
                hits.setdefault("howsure", []).append(one.covers(truth))
                if one.width is not None:
                    widths.setdefault("howsure", []).append(one.width)
                weights = None if how == "uniform" else (1 / used[is_drawn] / (1 / used[is_drawn]).mean()).tolist()
                sent.append({"y": label[is_drawn].tolist(), "f": f[is_drawn].tolist(), "more": f[~is_drawn].tolist(), "w": weights})  # fmt: skip
            if peer is not None:
                done = subprocess.run(
                    [peer, "-c", _PEER], input=json.dumps(sent), capture_output=True, text=True, check=True
                )
                for low, high in json.loads(done.stdout.splitlines()[-1]):
                    hits.setdefault("ppi-python", []).append(low <= truth <= high)
                    widths.setdefault("ppi-python", []).append(high - low)
            design = f"{n_labels} of 300, {'0/1' if is_binary else 'ratings'}, {how}"
            for name, found in hits.items():
                shares[f"{design}: {name}"] = float(np.mean(found))
                shares[f"{design}: {name}, width"] = float(np.mean(widths[name]))
    return shares


if __name__ == "__main__":
    for figure, value in measure(sys.argv[1] if len(sys.argv) > 1 else None).items():
        print(f"  {figure:<60} {value:>8.3f}")
