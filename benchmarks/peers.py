"""The same data in Howsure, evalstats and evalsig: agreement, CPU, and what each cannot do.

The peers are installed in an environment of their own: ``python -m benchmarks.peers PATH/TO/ITS/python``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import numpy as np
import polars as pl

__all__ = ["cases", "measure"]

_PEERS = r"""
import json, sys, time, warnings
warnings.simplefilter("ignore")
cases, found = json.load(sys.stdin), {"evalsig": {}, "evalstats": {}}
import evalsig, evalstats, pandas as pd
from evalsig import ItemResult, RunFrame
def run(name, rows):
    return RunFrame(name, name, "task", "score", [ItemResult(r["task"], r["score"], r["family"], r["epoch"]) for r in rows])
for label, case in cases.items():
    a, b = ([r for r in case["rows"] if r["model"] == m] for m in ("base", "candidate"))
    started = time.process_time()
    try:
        clustered = "family" if case["clustered"] else None
        c = evalsig.compare(run("base", a), run("candidate", b), cluster=clustered)
        g = evalsig.gate(run("base", a), run("candidate", b), min_delta=0.02, cluster=clustered)
        found["evalsig"][label] = {"difference": c.delta, "low": c.ci[0], "high": c.ci[1], "p": c.p_value, "verdict": g.verdict.name, "method": c.method}
    except Exception as error:
        found["evalsig"][label] = {"error": f"{type(error).__name__}: {error}"[:160]}
    found["evalsig"][label]["cpu"] = time.process_time() - started
    started = time.process_time()
    try:
        frame = pd.DataFrame(case["rows"]).rename(columns={"task": "item", "epoch": "run"}).drop(columns="family")
        r = evalstats.compare(evalstats.load_from(frame), factors="model", baseline="base")
        tables = r.to_frame()
        tables = tables if isinstance(tables, dict) else {"table": tables}
        found["evalstats"][label] = {"table": {name: json.loads(one.to_json(orient="records")) for name, one in tables.items() if "pair" in name.lower() or len(tables) == 1} or list(tables)}
    except BaseException as error:
        found["evalstats"][label] = {"error": f"{type(error).__name__}: {error}"[:160]}
    found["evalstats"][label]["cpu"] = time.process_time() - started
print("\n@@" + json.dumps(found))
"""


def cases() -> dict[str, dict[str, Any]]:
    """Base and candidate on the same items: typical, repeated, clustered, and 30 items of which none changed."""
    rng = np.random.default_rng(0)
    found = {}
    for label, n, repeats, size, drop in (
        ("100 items", 100, 1, 1, 0.1),
        ("100 × 5", 100, 5, 1, 0.1),
        ("20 families of 5", 100, 1, 5, 0.1),
    ):
        hard = np.repeat(rng.normal(0, 1.5, n // size), size) + rng.normal(0, 0.5, n)
        rows = []
        for model, shift in (("base", 0.8), ("candidate", 0.8 - 10 * drop)):
            rates = 1 / (1 + np.exp(hard - shift))
            for i in range(n):
                rows += [
                    {
                        "model": model,
                        "task": f"t{i}",
                        "family": f"f{i // size}",
                        "epoch": k,
                        "score": float(rng.random() < rates[i]),
                    }
                    for k in range(repeats)
                ]
        found[label] = {"rows": rows, "clustered": size > 1}
    same = [
        {"model": m, "task": f"t{i}", "family": f"f{i}", "epoch": 0, "score": float(i % 2)}
        for m in ("base", "candidate")
        for i in range(30)
    ]
    found["30 items, no flip"] = {"rows": same, "clustered": False}
    return found


def measure(python: str) -> dict[str, dict[str, Any]]:
    """What each package says about each case."""
    import howsure

    own: dict[str, Any] = {}
    howsure.compare(
        pl.DataFrame({"subject": ["a", "b"] * 2, "task": ["x", "x", "y", "y"], "score": [0.0, 1, 1, 1]})
    )  # compiled once
    data = cases()
    for label, case in data.items():
        started = time.process_time()
        frame = pl.DataFrame(case["rows"]).rename({"model": "subject"}).drop("epoch")
        cluster = "family" if case["clustered"] else "task"
        (pair,) = howsure.compare(frame, "candidate", "base", cluster=cluster).pairs
        sides = [frame.filter(pl.col("subject") == one) for one in ("base", "candidate")]
        verdict = howsure.gate(sides[0], sides[1], cluster=cluster)
        estimate = pair.difference
        own[label] = {"difference": estimate.value, "low": estimate.low, "high": estimate.high, "p": pair.p}
        own[label] |= {"verdict": verdict.verdict, "method": pair.test, "cpu": time.process_time() - started}
    asked = subprocess.run([python, "-c", _PEERS], input=json.dumps(data), capture_output=True, text=True, check=True)
    return {"howsure": own, **json.loads(asked.stdout.rpartition("@@")[2])}


def main(python: str) -> None:
    found = measure(python)
    for label in cases():
        print(f"\n{label}")
        for package, by_case in found.items():
            one = by_case[label]
            if "table" in one:
                print(f"  {package:10} {one['cpu']:6.2f} s CPU  {json.dumps(one['table'])[:700]}")
            elif "error" in one:
                print(f"  {package:10} {one['cpu']:6.2f} s CPU  {one['error']}")
            else:
                ends = f"{one['difference']:+.4f} [{one['low']:+.4f}, {one['high']:+.4f}]"
                print(
                    f"  {package:10} {one['cpu']:6.2f} s CPU  {ends}  p = {one['p']:.4f}  {one['verdict']}  ({one['method']})"
                )


if __name__ == "__main__":
    main(*sys.argv[1:])
