"""Bradley–Terry and Plackett–Luce: published tables, another package, hand calculations, simulated truth, and designs without a maximum."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from howsure.errors import InputError, OptionError
from howsure.stats.paired_comparisons import bradley_terry, plackett_luce, simulate_comparisons, simulate_rankings
from howsure.stats.replicates import hierarchical_weights, replicate_interval

NAN, INF = float("nan"), float("inf")
TRUE = np.array([0.8, 0.4, 0.1, -0.2, -0.4, -0.7])
# American League 1987, wins of the row over the column (Agresti, Categorical Data Analysis, table 10.10)
TEAMS = ("Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore")
WINS = [
    [0, 7, 9, 7, 7, 9, 11],
    [6, 0, 7, 5, 11, 9, 9],
    [4, 6, 0, 7, 7, 8, 12],
    [6, 8, 6, 0, 6, 7, 10],
    [6, 2, 6, 7, 0, 7, 12],
    [4, 4, 5, 6, 6, 0, 6],
    [2, 4, 1, 3, 1, 7, 0],
]


def baseball(**options):
    rows = [(TEAMS[i], TEAMS[j], WINS[i][j]) for i in range(7) for j in range(7) if i != j]
    a, b, n = zip(*rows, strict=True)
    return bradley_terry(a, b, ["a"] * len(a), weights=n, **options)


def se(estimate):
    return estimate.width / 2 / 1.959964


def test_the_published_fit_of_the_american_league():
    # as printed by BradleyTerry2 (Turner and Firth 2012) for these games, Baltimore as the reference
    printed = {
        "Boston": (1.1077, 0.3339),
        "Cleveland": (0.6839, 0.3319),
        "Detroit": (1.4364, 0.3396),
        "Milwaukee": (1.5814, 0.3433),
        "New York": (1.2476, 0.3359),
        "Toronto": (1.2945, 0.3367),
    }
    fit = baseball()
    for team, (value, error) in printed.items():
        found = fit.difference(team, "Baltimore")
        assert (found.value, se(found)) == pytest.approx((value, error), abs=5e-5)
    assert sum(fit.values) == pytest.approx(0, abs=1e-9)


def test_one_comparison_per_row_or_counted_rows_are_the_same():
    a, b, n = zip(*((TEAMS[i], TEAMS[j], WINS[i][j]) for i in range(7) for j in range(7) if i != j), strict=True)
    fit = bradley_terry(np.repeat(a, n), np.repeat(b, n), ["a"] * sum(n))
    assert fit.values == pytest.approx(baseball().values, abs=1e-9)
    assert fit.covariance == pytest.approx(baseball().covariance, abs=1e-9)


def test_two_items_with_ties_by_hand():
    # the odds are wins over losses, and ν = ties / √(wins · losses)
    fit = bradley_terry(["x"] * 20, ["y"] * 20, ["a"] * 9 + ["b"] * 4 + ["tie"] * 7)
    assert fit.difference("x", "y").value == pytest.approx(math.log(9 / 4), abs=1e-8)
    assert fit.effects["tie"].value == pytest.approx(math.log(7 / 6), abs=1e-8)
    assert fit.probability("x", "y").value == pytest.approx(9 / 13, abs=1e-8)


def test_position_of_two_items_by_hand():
    # x first: 8 of 10, y first: 6 of 10. The log odds add and cancel
    a, b = ["x"] * 10 + ["y"] * 10, ["y"] * 10 + ["x"] * 10
    fit = bradley_terry(a, b, ["a"] * 8 + ["b"] * 2 + ["a"] * 6 + ["b"] * 4, position=True)
    first, second = math.log(8 / 2), math.log(6 / 4)
    assert fit.effects["position"].value == pytest.approx((first + second) / 2, abs=1e-8)
    assert fit.difference("x", "y").value == pytest.approx((first - second) / 2, abs=1e-8)


def test_rankings_agree_with_choix():
    # choix 0.4.1, ilsr_rankings(4, …, tol=1e-14)
    orders = [(0, 1, 2, 3), (1, 0, 3, 2), (3, 2), (2, 0, 1), (1, 3, 0), (0, 2, 1, 3)]
    ranks = np.full((6, 4), NAN)
    for row, order in zip(ranks, orders, strict=True):
        row[list(order)] = np.arange(len(order)) + 1
    choix = [0.5740920648849964, 0.3843671541351299, -0.38361205513519125, -0.5748471638849352]
    assert plackett_luce(ranks).values == pytest.approx(choix, abs=1e-8)


def test_first_choices_agree_with_choix():
    # choix 0.4.1, ilsr_top1: one item is chosen, the others are presented and not ranked
    chosen = [(0, (1, 2, 3)), (1, (0, 2, 3)), (2, (0, 3)), (3, (1, 2)), (1, (0, 3))]
    ranks = np.full((5, 4), NAN)
    for row, (first, others) in zip(ranks, chosen, strict=True):
        row[first], row[list(others)] = 1, INF
    choix = [-0.14721565144041943, 0.6623712646042936, -0.14721565144042165, -0.3679399617234526]
    assert plackett_luce(ranks).values == pytest.approx(choix, abs=1e-8)


def test_rankings_of_two_are_comparisons():
    s = simulate_comparisons(TRUE[:4], 300, np.random.default_rng(0), tie=-0.5)
    ranks = np.full((300, 4), NAN)
    rows = np.arange(300)
    ranks[rows, s.a] = [2 if one == "b" else 1 for one in s.outcome]
    ranks[rows, s.b] = [2 if one == "a" else 1 for one in s.outcome]
    pairs, ranked = bradley_terry(s.a, s.b, s.outcome), plackett_luce(ranks, names=["0", "1", "2", "3"])
    assert ranked.values == pytest.approx(pairs.values, abs=1e-8)
    assert ranked.effects["tie"].value == pytest.approx(pairs.effects["tie"].value, abs=1e-8)
    assert ranked.covariance == pytest.approx(pairs.covariance, abs=1e-8)


def test_grouped_ties_maximise_their_likelihood():
    ranks = np.array([[1, 2, NAN, NAN], [4, 1, 2, 3], [2, 1, 1, 1], [1, 2, 3, NAN], [2, 1, 1, NAN], [1, NAN, 3, 2]])

    def minus_log_likelihood(parameters):
        theta, delta = np.append(0, parameters[:3]), {1: 0.0, 2: parameters[3], 3: parameters[4]}
        from itertools import combinations

        total = 0.0
        for row in ranks:
            left = [i for i in range(4) if not np.isnan(row[i])]
            while len(left) > 1:
                group = [i for i in left if row[i] == min(row[left])]
                sets = [s for m in (1, 2, 3) for s in combinations(left, m)]
                total -= theta[group].mean() + delta[len(group)]
                total += np.log(sum(np.exp(theta[list(s)].mean() + delta[len(s)]) for s in sets))
                left = [i for i in left if i not in group]
        return total

    best = minimize(minus_log_likelihood, np.zeros(5), method="BFGS", options={"gtol": 1e-8})
    fit = plackett_luce(ranks)
    assert fit.log_likelihood == pytest.approx(-best.fun, abs=1e-7)
    assert fit.values[1:] - fit.values[0] == pytest.approx(best.x[:3], abs=1e-4)
    assert [fit.effects[name].value for name in ("tie", "tie of 3")] == pytest.approx(best.x[3:], abs=1e-4)


def test_broken_ties_are_all_orders_with_equal_weight():
    tied = plackett_luce([[1, 1, 3], [2, 1, 3], [3, 2, 1], [1, 3, 2]], ties="broken")
    orders = plackett_luce([[1, 2, 3], [2, 1, 3], [2, 1, 3], [3, 2, 1], [1, 3, 2]], weights=[0.5, 0.5, 1, 1, 1])
    assert tied.values == pytest.approx(orders.values, abs=1e-9)
    assert not tied.effects


def test_intervals_cover_position_covariates_and_ties():
    hits = []
    for seed in range(120):
        s = simulate_comparisons(TRUE, 300, np.random.default_rng(seed), tie=-0.3, position=0.4, covariate=0.5)
        fit = bradley_terry(s.a, s.b, s.outcome, position=True, covariates={"length": s.covariate})
        true = {"position": 0.4, "length": 0.5, "tie": -0.3}
        of_items = [fit.difference("0", "3").covers(1.0), fit.strength("1").covers(0.4)]
        hits.append(of_items + [fit.effects[name].covers(value) for name, value in true.items()])
    assert np.mean(hits) == pytest.approx(0.95, abs=0.025)


def test_intervals_over_few_voters_cover_and_independent_ones_do_not():
    hits = []
    for seed in range(100):
        # voters differ, and no item is better on average
        s = simulate_comparisons(np.zeros(5), 500, np.random.default_rng(seed), tie=-0.3, n_voters=8, voter_sd=0.8)
        fits = [bradley_terry(s.a, s.b, s.outcome, clusters=of) for of in (s.voter, None)]
        hits.append([fit.difference("0", "3").covers(0) for fit in fits])
    clustered, independent = np.mean(hits, axis=0)
    assert clustered >= 0.89
    assert independent < 0.8


def test_intervals_for_other_items_cover_and_those_over_voters_alone_do_not():
    """30 voters, 8 items, both with strengths of their own. 120 data sets: a standard error of 0.02."""
    crossed, alone = [], []
    for seed in range(120):
        drawn = simulate_comparisons([0.5, -0.5], 500, np.random.default_rng(seed), n_voters=30, voter_sd=0.3, n_items=8, item_sd=0.6)  # fmt: skip
        a, b = (["xy"[one] for one in side] for side in (drawn.a, drawn.b))
        for hits, kinds in ((crossed, {"crossed": drawn.item}), (alone, {})):
            found = bradley_terry(a, b, drawn.outcome, clusters=drawn.voter, **kinds).difference("x", "y")
            # logit of the mean of P(x) over items and voters: 1 / sqrt(1 + 0.346 * 2 * (0.3² + 0.6²)) of 1
            hits.append(found.low <= 0.873 <= found.high)
    assert np.mean(alone) < 0.85
    assert np.mean(crossed) >= 0.9


def test_two_kinds_of_clusters_are_no_narrower_than_either():
    drawn = simulate_comparisons([0.4, 0, -0.4], 200, np.random.default_rng(1), tie=-0.5, n_voters=10, n_items=6, item_sd=0.5)  # fmt: skip
    a, b = ([str(one) for one in side] for side in (drawn.a, drawn.b))
    both = bradley_terry(a, b, drawn.outcome, clusters=drawn.voter, crossed=drawn.item)
    for kind in (drawn.voter, drawn.item):
        one = bradley_terry(a, b, drawn.outcome, clusters=kind)
        assert (np.diag(both.covariance) >= np.diag(one.covariance) - 1e-12).all()
    assert 5 <= both.df <= 14
    assert both.n_clusters == 6


def test_the_sandwich_agrees_with_the_jackknife_over_many_clusters(monkeypatch):
    s = simulate_comparisons(TRUE, 3000, np.random.default_rng(1), tie=-0.3, n_voters=190, voter_sd=0.5)
    left_out = bradley_terry(s.a, s.b, s.outcome, clusters=s.voter).strength("2")
    monkeypatch.setattr("howsure.stats.choice_models.JACKKNIFED", 0)
    assert bradley_terry(s.a, s.b, s.outcome, clusters=s.voter).strength("2").width == pytest.approx(
        left_out.width, rel=0.05
    )


def test_refits_over_voters_agree_with_the_covariance():
    rng = np.random.default_rng(2)
    s = simulate_comparisons(TRUE, 1500, rng, n_voters=80, voter_sd=0.6)
    fit = bradley_terry(s.a, s.b, s.outcome, clusters=s.voter)
    drawn = fit.replicates(hierarchical_weights([s.voter], 150, rng))
    assert drawn.std(axis=0) == pytest.approx(np.sqrt(np.diag(fit.covariance)), rel=0.3)
    assert fit.draws(4000, rng).std(axis=0) == pytest.approx(np.sqrt(np.diag(fit.covariance)), rel=0.1)


def test_the_influence_of_a_comparison_is_what_a_refit_without_it_shows():
    s = simulate_comparisons(TRUE, 400, np.random.default_rng(4), tie=-0.3, position=0.3)
    fit = bradley_terry(s.a, s.b, s.outcome, position=True)
    moved = fit.influence("0", "3")
    some = [int(np.argmax(moved)), int(np.argmin(moved)), 7]
    weights = np.ones((3, 400))
    weights[np.arange(3), some] = 0
    refits = fit.replicates(weights)
    change = refits[:, 0] - refits[:, 3] - (fit.values[0] - fit.values[3])
    assert moved[some] == pytest.approx(change, rel=0.1, abs=1e-4)


def test_intervals_of_rankings_cover():
    hits = []
    for seed in range(50):
        rng = np.random.default_rng(seed)
        full = plackett_luce(simulate_rankings(TRUE, 60, rng, n_presented=4, tie=-1.0))
        best = plackett_luce(simulate_rankings(TRUE, 60, rng, n_presented=5, n_ranked=2))
        hits += [fit.difference("1", "4").covers(1.0) for fit in (full, best)]
        hits += [fit.strength("6").covers(-0.7) for fit in (full, best)]
    assert np.mean(hits) == pytest.approx(0.95, abs=0.035)


def test_bars_that_do_not_overlap_differ_significantly():
    fit = baseball()
    low, high = fit.comparison_intervals()
    for i, a in enumerate(fit.names):
        for j, b in enumerate(fit.names[:i]):
            found = fit.difference(a, b)
            if abs(found.value) - found.width / 2 > 0.02 or abs(found.value) - found.width / 2 < -0.02:
                is_apart = low[i] > high[j] or low[j] > high[i]
                assert is_apart == (not found.covers(0))


def test_an_item_that_always_lost_has_a_state_and_the_others_their_published_numbers():
    # the toy rankings of the PlackettLuce package's introduction: B 0.8392 (1.3596) and C 0.4196 (1.5973) against A, D only lost
    ranks = [[1, 2, NAN, NAN], [2, NAN, 1, NAN], [1, NAN, NAN, 2], [2, 1, NAN, NAN], [NAN, 1, 2, NAN]]
    fit = plackett_luce(ranks, names="ABCD")
    printed = {"B": (0.8392, 1.3596), "C": (0.4196, 1.5973)}
    for name, numbers in printed.items():
        found = fit.difference(name, "A")
        assert (found.value, se(found)) == pytest.approx(numbers, abs=5e-5)
    assert fit.states == ("ok", "ok", "ok", "below_range")
    assert fit.strength("D").state == "below_range"
    assert fit.difference("A", "D").state == "above_range"
    assert fit.difference("D", "A").state == "below_range"


def test_a_winner_of_all_and_a_part_that_nothing_links():
    a = ["x", "y", "x", "top", "p", "q"]
    b = ["y", "x", "y", "x", "q", "p"]
    fit = bradley_terry(a, b, ["a"] * 6)
    states = dict(zip(fit.names, fit.states, strict=True))
    assert states == {"p": "undefined", "q": "undefined", "top": "above_range", "x": "ok", "y": "ok"}
    assert fit.difference("top", "p").state == "undefined"
    low, _ = fit.comparison_intervals()
    assert np.isnan(low).tolist() == [True, True, True, False, False]
    drawn = fit.draws(3, np.random.default_rng(0))
    assert np.isposinf(drawn[:, 2]).all()
    assert np.isnan(drawn[:, :2]).all()


def test_a_replicate_in_which_an_item_only_wins_counts_beyond_the_range():
    fit = bradley_terry(["x", "x", "y", "x"], ["y", "y", "x", "y"], ["a", "a", "a", "tie"])
    drawn = fit.replicates([[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 0]])
    assert np.isfinite(drawn[0]).all()
    # with two items and one direction there is no linked pair, so nothing is known
    assert np.isnan(drawn[1:]).all()
    three = bradley_terry(["x", "y", "x", "z", "x"], ["y", "x", "z", "x", "z"], ["a"] * 5)
    drawn = three.replicates([[1, 1, 1, 0, 1]])
    assert drawn[0, 2] == -INF
    assert replicate_interval(drawn[:, 2], 0.9).share_below == 1


def test_what_the_strengths_explain_as_well_is_undefined():
    # x is always shown first against y: its advantage may be its position
    fit = bradley_terry(["x"] * 10, ["y"] * 10, ["a"] * 7 + ["b"] * 3, position=True)
    assert fit.effects["position"].state == "undefined"
    assert fit.difference("x", "y").value == pytest.approx(math.log(7 / 3), abs=1e-8)


def test_a_covariate_that_explains_all_is_unbounded():
    rng = np.random.default_rng(3)
    s = simulate_comparisons(np.zeros(3), 60, rng)
    longer = np.where(np.array(s.outcome) == "a", 1.0, -1.0)
    fit = bradley_terry(s.a, s.b, s.outcome, covariates={"length": longer})
    assert fit.effects["length"].state == "unbounded"
    assert set(fit.states) == {"unbounded"}


def test_one_cluster_has_no_interval():
    found = bradley_terry(["x", "x", "x"], ["y", "y", "y"], ["a", "a", "b"], clusters=["v"] * 3).difference("x", "y")
    assert (found.low, found.low_state) == (None, "too_few")


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: bradley_terry([], [], []), InputError, "Lengths differ or are 0"),
        (lambda: bradley_terry(["x"], ["x"], ["a"]), InputError, "compared with itself"),
        (lambda: bradley_terry(["x"], ["y"], ["left"]), InputError, "is not one of a, b, tie"),
        (lambda: bradley_terry(["x"], ["y"], ["a"], weights=[-1]), InputError, "numbers from 0 on"),
        (lambda: bradley_terry(["x"], ["y"], ["a"], covariates={"l": [1, 2]}), InputError, "one per comparison"),
        (lambda: plackett_luce([1, 2]), InputError, "n_rankings, n_items"),
        (lambda: plackett_luce([[1, 2]], ties="no"), OptionError, "grouped"),
        (lambda: plackett_luce([[1, NAN]]), InputError, "No ranking has two items"),
        (lambda: plackett_luce([[1] * 12 + [2] * 12, [2] * 24]), InputError, "ties='broken'"),
        (lambda: baseball().strength("Seattle"), OptionError, "Seattle"),
        (lambda: baseball().difference("Boston", "Boston"), OptionError, "itself"),
    ],
)
def test_bad_input_is_refused_in_one_line(call, error, says):
    with pytest.raises(error, match=says):
        call()
