"""The explorer's page of 200,000 samples in Chromium: its size, how long it takes to open, and how long a filter takes.

Seconds depend on the machine and on what else it does; the ratio is to a page with one line of text in the same browser.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from howsure.evals import explore
from howsure.evals.simulator import simulate

_TIMES = 5
_PLAIN = "<!doctype html><html data-ready=yes><title>plain</title><p>One line.</p></html>"


def samples() -> pl.DataFrame:
    """The attempts of 20 models at 2,000 items, five times each, with what they took."""
    rng = np.random.default_rng(0)
    abilities = {f"model-{i}": i / 10 for i in range(20)}
    frame = simulate(abilities=abilities, n_families=50, n_tasks=20, n_attempts=5, seed=0).attempts.frame
    return frame.with_columns(
        seconds=pl.lit(pl.Series(rng.gamma(2, 10, len(frame)).round(3))),
        tokens=pl.lit(pl.Series(rng.integers(100, 20_000, len(frame)))),
        cost=pl.lit(pl.Series(rng.gamma(2, 0.01, len(frame)).round(6))),
    )


def measure() -> dict[str, float]:
    """Size and seconds, the median of five."""
    from playwright.sync_api import sync_playwright

    names = ("chromium-headless-shell", "chromium")
    program = os.environ.get("HOWSURE_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as running:
        path, plain = Path(folder) / "explorer.html", Path(folder) / "plain.html"
        attempts = samples()
        explore(attempts).save(path)
        plain.write_text(_PLAIN)
        browser = running.chromium.launch(executable_path=program, args=["--no-sandbox"])
        _seconds_to_open(browser, plain)  # starts the browser's processes
        bare = statistics.median(_seconds_to_open(browser, plain) for _ in range(_TIMES))
        opened = statistics.median(_seconds_to_open(browser, path) for _ in range(_TIMES))
        page = _opened(browser, path)
        again = "() => { const start = performance.now(); explorer.refresh(); return performance.now() - start; }"
        filtered = statistics.median(page.evaluate(again) for _ in range(_TIMES))
        browser.close()
        return {
            "samples": len(attempts),
            "page (MB)": path.stat().st_size / 1e6,
            "open (s)": opened,
            "open, times a page with one line": opened / bare,
            "all numbers and charts again (s)": filtered / 1000,
        }


def _opened(browser: Any, path: Path) -> Any:
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.goto(path.as_uri())
    page.wait_for_function("document.documentElement.dataset.ready === 'yes'")
    return page


def _seconds_to_open(browser: Any, path: Path) -> float:
    start = time.perf_counter()
    page = _opened(browser, path)
    seconds = time.perf_counter() - start
    page.context.close()
    return seconds
