"""One model of all scores beside the design-based means."""

import numpy as np
import polars as pl
import pytest

import howsure
from howsure.errors import InputError
from howsure.evals.comparison import compare
from howsure.evals.simulator import simulate
from howsure.evals.summaries import pooled_means, summary
from howsure.tables import Attempts


def test_the_model_agrees_with_the_design_on_balanced_data():
    attempts = simulate(seed=1).attempts
    found = pooled_means(attempts, cluster="family")
    design = {(row.subject, row.task): row.mean for row in summary(attempts, cluster="family").rows}
    for row in found.rows:
        assert row.design == design[row.subject, row.task]
        assert row.mean.value == pytest.approx(row.design.value, abs=1e-9)  # two evals are not pooled
        assert row.mean.width == pytest.approx(row.design.width, rel=0.35)
    assert set(found.shares) == {"family", "item", "subject × item", "repeat"}
    assert sum(share.value for share in found.shares.values()) == pytest.approx(1)


def test_small_evals_are_drawn_towards_the_others_and_it_is_said():
    rng, rows = np.random.default_rng(0), []
    for domain in "pqrstu":
        for i in range(8):
            for subject, rate in (("a", 0.7), ("b", 0.5), ("c", 0.3)):
                rows += [
                    (subject, "model", f"{domain}{i}", k + 1, float(rng.random() < rate), domain) for k in range(2)
                ]
    names = ["subject", "kind", "task", "attempt", "score", "domain"]
    found = pooled_means(Attempts(pl.DataFrame(rows, schema=names, orient="row")))
    evals = [row for row in found.rows if row.task != "all"]
    assert all(row.own_weight < 1 for row in evals)
    error = [
        [abs(getattr(row, of).value - {"a": 0.7, "b": 0.5, "c": 0.3}[row.subject]) for row in evals]
        for of in ("mean", "design")
    ]
    assert np.mean(error[0]) < np.mean(error[1])
    assert any("comes from the other evals" in row.remark for row in evals)


def test_too_few_shared_items_are_refused():
    rows = [(s, "model", f"{s}{i}", 1, 1.0) for s in "ab" for i in range(4)]
    with pytest.raises(InputError, match="0 items were tried by all 2 subjects"):
        pooled_means(Attempts(pl.DataFrame(rows, schema=["subject", "kind", "task", "attempt", "score"], orient="row")))


def test_differences_over_fixed_items_are_narrower_and_need_repeats():
    attempts = simulate(abilities={"a": 0.5, "b": 0.0}, n_attempts=5, seed=1).attempts
    sampled, fixed = (compare(attempts, items=items, cluster="task").pairs[0] for items in ("sampled", "fixed"))
    assert fixed.difference.value == pytest.approx(sampled.difference.value, abs=1e-12)
    assert fixed.difference.width < sampled.difference.width
    assert fixed.estimand.endswith("over exactly these items")
    assert (fixed.p < 0.05) == (not fixed.difference.covers(0))
    weighted = compare(attempts, weights="items").pairs[0]
    assert weighted.estimand == "mean of item means of 2 evals"


@pytest.mark.parametrize("centre", [30.0, 300.0])
def test_scores_of_any_size_keep_their_size_in_model_and_plan(centre):
    """Declared as free, scores from 20 to 40 are not percentages, and a mean of 300 is not cut at 1."""
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        [
            {"subject": model, "task": f"t{i}", "score": value + gain + rng.normal(), "scale": "free"}
            for i, value in enumerate(rng.normal(centre, 3, 20))
            for model, gain in (("a", 0.0), ("b", 3.0))
            for _ in range(2)
        ]
    )
    for row in pooled_means(frame).rows:
        assert row.mean.value == pytest.approx(row.design.value, rel=1e-9)
        assert row.mean.value == pytest.approx(centre, abs=6)
    assert howsure.power(frame, effect=1.0).rows[0].items_needed > 2
