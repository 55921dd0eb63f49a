"""Which tasks to keep: one planted fault per reason."""

import numpy as np
import polars as pl

from howsure.horizon import fit_curves


def rows(task, chance, learners, attempts, rng):
    return [
        (f"person {k}", task, n + 1, "human", float(rng.random() < chance(n, talent)))
        for k, talent in enumerate(learners)
        for n in range(attempts)
    ]


def test_each_fault_is_found_and_a_good_task_is_kept():
    rng = np.random.default_rng(3)
    learners = np.linspace(-0.3, 0.3, 300)
    chances = {
        "easy": lambda n, talent: 0.99,
        "hard": lambda n, talent: 0.01,
        "flat": lambda n, talent: 0.5 + talent,
        "reversed": lambda n, talent: 0.35 + 0.06 * n - talent,
        "good": lambda n, talent: 0.35 + 0.06 * n + talent,
        "fine": lambda n, talent: 0.3 + 0.07 * n + talent,
    }
    found = [row for task, chance in chances.items() for row in rows(task, chance, learners, 6, rng)]
    found += [(f"visitor {k}", "rare", n + 1, "human", float(n > 1)) for k in range(3) for n in range(6)]
    frame = pl.DataFrame(found, schema=["subject", "task", "attempt", "kind", "score"], orient="row")
    result = fit_curves(frame, curve="logit-log", n_replicates=60)
    told = dict(result.refinement.select("task", "reason").iter_rows())
    assert told == {
        "easy": "too easy",
        "hard": "too hard",
        "flat": "not learned",
        "reversed": "ambiguous",
        "good": "",
        "fine": "",
        "rare": "too few",
    }
    verdicts = dict(result.refinement.select("task", "verdict").iter_rows())
    assert (verdicts["good"], verdicts["hard"], verdicts["rare"]) == ("keep", "drop", "unsure")
    assert any(section.title == "Which tasks to keep?" for section in result.sections())
