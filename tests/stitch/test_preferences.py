"""Votes: ranks, tiers, fragility, covariates, and the joint scale."""

import numpy as np
import polars as pl
import pytest

from howsure.errors import InputError, OptionError
from howsure.stats.paired_comparisons import bradley_terry
from howsure.stitch import fit, simulate, simulate_votes, votes
from howsure.stitch.preferences import join_votes
from howsure.tables import Votes

TRUE = {"a": 1.5, "b": 1.4, "c": 0.0, "d": -0.1, "e": -1.4, "f": -1.4}


@pytest.fixture(scope="module")
def found():
    return votes(simulate_votes(TRUE, 3000, seed=1), covariates=["length"])


def frame_of(rows):
    return Votes(pl.DataFrame(rows, schema=["voter", "item", "a", "b", "outcome"], orient="row"))


def test_strengths_are_those_of_the_statistics(found):
    table = simulate_votes(TRUE, 3000, seed=1).frame
    x = (table["length_a"] - table["length_b"]).to_numpy()
    fit_ = bradley_terry(
        table["a"].to_list(), table["b"].to_list(), table["outcome"].to_list(),
        clusters=table["voter"].to_list(), position=True, covariates={"length": x / x.std()},
    )  # fmt: skip
    for row in found.models.rows(named=True):
        estimate = fit_.strength(row["model"])
        assert (row["strength"], row["strength_low"]) == pytest.approx((estimate.value, estimate.low))


def test_the_truth_is_found(found):
    for row in found.models.rows(named=True):
        # voters differ, which draws the average strength a little towards 0
        assert abs(row["strength"] - TRUE[row["model"]]) < 0.4
    assert set(found.models["model"].head(2)) == {"a", "b"}
    effects = dict(found.effects.select("effect", "value").iter_rows())
    assert effects["position"] == pytest.approx(0.2, abs=0.15)
    assert effects["length"] == pytest.approx(0.3, abs=0.15)


def test_tiers_separate_what_differs_and_nothing_else(found):
    tiers = dict(found.models.select("model", "tier").iter_rows())
    assert tiers["a"] == tiers["b"] == 1
    assert tiers["c"] == tiers["d"] == 2
    assert tiers["e"] == tiers["f"] == 3


def test_false_tiers_are_as_rare_as_stated():
    """Equal models, and few voters with tastes of their own who vote unequally often: a t distribution with 9 degrees of freedom gives 12 %."""
    n_tiers = [
        votes(uneven_votes(seed, n_voters=10, evenness=2.0), covariates=["length"]).models["tier"].max()
        for seed in range(60)
    ]
    assert np.mean(np.array(n_tiers) > 1) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 60) + 1e-9


def test_voters_who_differ_widen_the_intervals_and_lengths_are_taken_out():
    """Tables of few voters with tastes of their own; model b writes longer and is no better."""
    covered, longer = [], []
    for seed in range(20):
        table = uneven_votes(seed)
        found = {row["model"]: row for row in votes(table, covariates=["length"]).models.rows(named=True)}
        covered += [found[name]["strength_low"] <= true <= found[name]["strength_high"] for name, true in EQUAL.items()]
        parts = (table[name].to_list() for name in ("a", "b", "outcome"))
        longer.append(bradley_terry(*parts).strength("b").value - found["b"]["strength"])
    assert np.mean(covered) > 0.87  # of 95 % intervals: three Monte Carlo standard errors are 0.08
    assert np.mean(longer) > 0.2


EQUAL = dict.fromkeys("abcd", 0.0)


def uneven_votes(seed, n=300, n_voters=15, evenness=1e6):
    """Votes drawn by hand: equal models, voters' own tastes, and a liking for length."""
    rng = np.random.default_rng(seed)
    own = rng.normal(0, 0.6, (n_voters, 4))
    voter = rng.choice(n_voters, n, p=rng.dirichlet(np.full(n_voters, evenness)))
    a = rng.integers(4, size=n)
    b = (a + rng.integers(1, 4, n)) % 4
    length = [rng.standard_normal(n) + (one == 1) for one in (a, b)]
    eta = own[voter, a] - own[voter, b] + 0.6 * (length[0] - length[1])
    shares = np.stack([np.exp(eta / 2), np.full(n, 0.6), np.exp(-eta / 2)], axis=1)
    cut = (shares / shares.sum(axis=1, keepdims=True)).cumsum(axis=1)
    outcome = np.array(["a", "tie", "b"])[(rng.random(n)[:, None] > cut).sum(axis=1)]
    names = np.array(list("abcd"))
    columns = {"voter": voter.astype(str), "item": np.arange(n).astype(str), "a": names[a], "b": names[b]}
    return pl.DataFrame(columns | {"outcome": outcome, "length_a": length[0], "length_b": length[1]})


def test_dropping_the_named_votes_changes_the_first_place():
    table = simulate_votes({"a": 0.3, "b": 0.2, "c": -0.5}, 600, seed=3)
    found = votes(table)
    fragility = found.fragility
    assert fragility.leader == found.models["model"][0]
    assert 0 < fragility.n_dropped < 60
    # one by one: fewer of the most influential votes do not suffice, so many do
    rows = table.frame
    strengths = bradley_terry(rows["a"].to_list(), rows["b"].to_list(), rows["outcome"].to_list(), position=True)
    order = np.argsort(strengths.influence(fragility.leader, fragility.rival))
    for n, is_first in ((fragility.n_dropped - 1, False), (fragility.n_dropped, True)):
        weights = np.ones(len(rows))
        weights[order[:n]] = 0
        refit = dict(zip(strengths.names, strengths.replicates(weights)[0], strict=True))
        assert (refit[fragility.rival] > refit[fragility.leader]) == is_first
    assert f"Dropping {fragility.n_dropped}" in fragility.sentence
    # and in a table without them
    fewer = votes(rows.filter(~pl.Series(np.isin(np.arange(len(rows)), order[: fragility.n_dropped]))))
    assert fewer.models["model"][0] == fragility.rival


def test_a_clear_winner_is_not_fragile():
    found = votes(simulate_votes({"a": 3.0, "b": -1.0, "c": -2.0}, 500, seed=4))
    assert found.fragility.n_dropped is None
    assert "No 20% of the 500 votes" in found.fragility.sentence


def test_a_model_that_always_won_has_a_state_and_a_rank():
    rows = [("v", "i", "top", "x", "a")] * 3 + [
        ("v", "i", "x", "y", "a"),
        ("w", "i", "y", "x", "a"),
        ("w", "i", "x", "y", "b"),
    ]
    found = votes(frame_of(rows))
    first = found.models.row(0, named=True)
    assert (first["model"], first["strength"], first["strength_state"]) == ("top", None, "above_range")
    assert any("top has no strength" in note for note in found.provenance.notes)
    assert "not defined" in found.fragility.sentence


def test_both_bad_is_a_tie_or_dropped():
    rows = [
        ("v1", "i", "x", "y", "a"),
        ("v2", "i", "x", "y", "b"),
        ("v1", "i", "y", "x", "b"),
        ("v2", "j", "x", "y", "both_bad"),
    ]
    tied, dropped = votes(frame_of(rows)), votes(frame_of(rows), both_bad="drop")
    assert "tie" in tied.effects["effect"].to_list()
    assert "tie" not in dropped.effects["effect"].to_list()
    assert (tied.fragility.n_votes, dropped.fragility.n_votes) == (4, 3)


def test_wrong_options_are_explained():
    table = simulate_votes(TRUE, 50)
    with pytest.raises(OptionError, match="No covariate called 'lenght'"):
        votes(table, covariates=["lenght"])
    with pytest.raises(OptionError, match="cluster"):
        votes(table, cluster="country")
    with pytest.raises(InputError, match="No vote compares two models"):
        votes(frame_of([("v", "i", "x", "x", "tie")]))


# votes on the capability scale


@pytest.fixture(scope="module")
def world():
    return simulate(n_models=40, n_benchmarks=12, density=0.35, seed=1)


@pytest.fixture(scope="module")
def scale(world):
    return fit(world.scores, n_replicates=60)


def test_votes_improve_capabilities_and_place_models_without_scores(world, scale):
    true = dict(world.models.select("model", "capability").iter_rows())
    rng = np.random.default_rng(0)
    names = list(scale.problem.models)[:26]
    strengths = {name: 0.7 * true[name] + 0.1 * rng.normal() for name in names}
    middle = np.mean(list(strengths.values()))
    strengths = {name: value - middle for name, value in strengths.items()} | {"newcomer": 0.0}
    found = votes(simulate_votes(strengths, 4000, seed=2, voter_sd=0.0), scale, covariates=["length"])
    joint = found.joint.models
    both = joint.filter(source="both")
    truth = np.array([true[name] for name in both["model"]])
    alone, together = (abs(np.corrcoef(both[name], truth)[0, 1]) for name in ("capability", "joint"))
    assert together > alone
    assert found.joint.relation["correlation"].value > 0.9
    width = (both["joint_high"] - both["joint_low"]).mean()
    assert width < (both["capability_high"] - both["capability_low"]).mean()
    new = joint.filter(source="votes").row(0, named=True)
    # average votes are worth an average capability
    assert new["joint_low"] < both["joint"].mean() < new["joint_high"]
    assert len(joint) == len(scale.models) + 1


def test_unrelated_votes_leave_capabilities_alone(scale):
    rng = np.random.default_rng(3)
    names = list(scale.problem.models)[:26]
    strengths = dict(zip(names, rng.normal(0, 1, 26), strict=True))
    found = votes(simulate_votes(strengths, 2000, seed=5), scale)
    both = found.joint.models.filter(source="both")
    moved = (both["joint"] - both["capability"]).abs()
    assert moved.mean() < 0.5 * (both["capability_high"] - both["capability_low"]).mean() / 2
    assert found.joint.relation["slope"].covers(0)


def test_votes_and_scale_must_share_models(scale):
    fitted = bradley_terry(["x", "y", "x"], ["y", "x", "y"], ["a", "a", "tie"])
    with pytest.raises(InputError, match="0 models are both on the scale and in the votes; 5 are needed"):
        join_votes(scale, fitted)
