"""The cumulative logit model: exact likelihoods by integration, simulated truth, and designs without a fit."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from howsure.stats.ordinal import fit_ordinal, simulate_ordinal


def fitted(seed, **options):
    drawn = simulate_ordinal(seed=seed, **options)
    pairs = [f"{r}/{g}" for r, g in zip(drawn["rater"], drawn["group"], strict=True)]
    random = {"rater": drawn["rater"], "answer": drawn["answer"], "item": drawn["item"], "pairs": pairs}
    return fit_ordinal(drawn["value"], random, group=drawn["group"], each="rater"), drawn


def test_without_random_effects_it_is_the_proportional_odds_model():
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 150)
    value = np.searchsorted([-1.0, 0.5, 1.5], group * 0.8 + rng.logistic(size=300))
    fit = fit_ordinal(value, {"block": rng.integers(0, 3, 300)}, group=group)

    def loss(x):
        cuts = np.concatenate([[-np.inf], np.cumsum([x[0], *np.exp(x[1:3])]), [np.inf]])
        eta = x[3] * group
        return -np.log(expit(cuts[value + 1] - eta) - expit(cuts[value] - eta)).sum()

    best = minimize(
        loss, [-1.0, 0.0, 0.0, 0.5], method="Nelder-Mead", options={"maxiter": 4000, "xatol": 1e-6, "fatol": 1e-9}
    )
    assert fit.sds["block"] < 0.3, "three random blocks do not differ"
    assert -fit.contrasts[0].difference.value == pytest.approx(best.x[3], abs=0.03)


def test_the_standard_deviation_is_that_of_the_exact_likelihood():
    """One random effect, integrated over by quadrature, with 40 levels of 12 ratings."""
    rng = np.random.default_rng(1)
    level = np.repeat(np.arange(40), 12)
    value = np.searchsorted([-1.0, 0.0, 1.5], rng.normal(0, 1.2, 40)[level] + rng.logistic(size=480))
    fit = fit_ordinal(value, {"item": level})
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)

    def loss(x):
        cuts = np.concatenate([[-np.inf], np.cumsum([x[0], *np.exp(x[1:3])]), [np.inf]])
        eta = np.exp(x[3]) * nodes
        p = expit(cuts[value + 1][:, None] - eta) - expit(cuts[value][:, None] - eta)
        sums = np.zeros((40, len(nodes)))
        np.add.at(sums, level, np.log(p))
        return -np.log((np.exp(sums) * weights).sum(axis=1)).sum()

    best = minimize(loss, [-1.0, 0.0, 0.0, 0.0], method="Nelder-Mead", options={"maxiter": 4000})
    assert fit.sds["item"] == pytest.approx(np.exp(best.x[3]), rel=0.06)


def test_systems_and_severity_are_recovered():
    hits, severity = [], []
    for seed in range(40):
        fit, drawn = fitted(seed, n_items=12, n_raters=5)
        hits.append((-fit.contrasts[0].difference).covers(1.0))
        true = drawn["rater_effects"] - drawn["rater_effects"].mean()
        severity += [one.covers(true[int(name)]) for name, one in fit.effects]
    assert np.mean(hits) >= 0.84  # 0.95 − 3 Monte Carlo standard errors
    assert 0.90 <= np.mean(severity) <= 0.99


def test_order_alone_counts():
    drawn = simulate_ordinal(n_items=10, n_raters=4, seed=3)
    random = {"rater": drawn["rater"], "item": drawn["item"]}
    one = fit_ordinal(drawn["value"], random, group=drawn["group"])
    other = fit_ordinal(np.exp(drawn["value"]), random, group=drawn["group"])
    assert one.contrasts[0].difference.value == pytest.approx(other.contrasts[0].difference.value, abs=1e-9)


def test_what_cannot_be_fitted_is_said():
    assert fit_ordinal([1, 1, 1], {"rater": [0, 1, 0]}) == "all ratings are equal"
    assert "measurements" in fit_ordinal(np.arange(50.0), {"rater": [0, 1] * 25})
    assert fit_ordinal([1, 2, 3], {"rater": [0, 1, 2]}) == "neither raters nor items repeat"


def test_ratings_that_a_random_effect_explains_entirely_have_no_fit():
    raters, items = np.repeat(np.arange(6), 8), np.tile(np.arange(8), 6)
    told = fit_ordinal((raters % 2).astype(float), {"rater": raters, "item": items}, each="rater")
    assert isinstance(told, str)
    assert "no finite estimate" in told
