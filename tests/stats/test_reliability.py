import numpy as np
import pytest
import scipy.stats

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.stats.reliability import (
    choose_icc,
    cronbach_alpha,
    intraclass,
    noise_ceiling,
    raters_needed,
    reliability_table,
    spearman_brown,
)

# Shrout and Fleiss (1979), table 2: six targets, four judges
SHROUT_FLEISS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float
)
NAMES = [f"icc_{model}_{size}" for model in "123" for size in "1k"]


def draw(rng, n, k, *, item=1.0, rater=0.3, error=1.0, missing=0.0):
    """Ratings of n items by k raters with these variances."""
    table = rng.normal(0, item**0.5, (n, 1)) + rng.normal(0, rater**0.5, k) + rng.normal(0, error**0.5, (n, k))
    table[rng.random((n, k)) < missing] = np.nan
    return table


def coverage(truths, n_simulations, **design):
    """How often each named interval holds its truth."""
    rng = np.random.default_rng(1)
    found = [intraclass(draw(rng, **design)) for _ in range(n_simulations)]
    assert {one[name].state for one in found for name in truths} == {"ok"}
    return {name: np.mean([one[name].covers(truth) for one in found]) for name, truth in truths.items()}


def test_shrout_and_fleiss():
    """Their table 4 gives .17, .29, .71, .44, .62, .91."""
    found = intraclass(SHROUT_FLEISS)
    assert list(found) == NAMES
    values = [
        round(found[name].value, 2) for name in ("icc_1_1", "icc_2_1", "icc_3_1", "icc_1_k", "icc_2_k", "icc_3_k")
    ]
    assert values == [0.17, 0.29, 0.71, 0.44, 0.62, 0.91]


def test_shrout_and_fleiss_with_intervals(reference):
    found = intraclass(SHROUT_FLEISS)
    assert reference["shrout_fleiss_1979"]["ratings_6_targets_by_4_judges"] == SHROUT_FLEISS.tolist()
    for form, (value, low, high) in reference["shrout_fleiss_1979"]["icc"].items():
        one = found["icc_" + form.replace(",", "_")]
        assert one.value == pytest.approx(value, abs=5e-5)
        assert (one.low, one.high) == pytest.approx((low, high), abs=6e-4)


def test_hanna(hanna, reference):
    for criterion, value in reference["hanna_icc_1k_by_criterion"].items():
        assert intraclass(hanna[criterion])["icc_1_k"].value == pytest.approx(value, abs=5e-7)


@pytest.mark.parametrize("coefficient", ["icc_2_1", "icc_2_k", "cronbach_alpha", "krippendorff_ordinal"])
def test_summeval(summeval, reference, coefficient):
    for dimension, value in reference["summeval"][coefficient].items():
        assert reliability_table(summeval[dimension].people)[coefficient].value == pytest.approx(value, abs=5e-4)


def test_alpha_by_its_definition():
    """Feldt's interval from SciPy's quantiles, and k/(k − 1) · (1 − Σ var / var of sums)."""
    table = draw(np.random.default_rng(0), 12, 5)
    found = cronbach_alpha(table)
    alpha = 5 / 4 * (1 - table.var(axis=0, ddof=1).sum() / table.sum(axis=1).var(ddof=1))
    quantiles = scipy.stats.f.ppf([0.975, 0.025], 11, 44)
    assert found.value == pytest.approx(alpha)
    assert (found.low, found.high) == pytest.approx(tuple(1 - (1 - alpha) * quantiles))
    assert found == intraclass(table)["icc_3_k"]


def test_constants_and_units_change_nothing():
    table = draw(np.random.default_rng(0), 8, 4)
    for moved in (table + 1e6, table * 1e-6, table[::-1], table[:, ::-1]):
        for name, one in intraclass(moved).items():
            expected = intraclass(table)[name]
            assert (one.value, one.low, one.high) == pytest.approx(
                (expected.value, expected.low, expected.high), rel=1e-6
            )
    severe = intraclass(table + np.arange(4))
    assert severe["icc_3_1"].value == pytest.approx(intraclass(table)["icc_3_1"].value)
    assert severe["icc_2_1"].value < intraclass(table)["icc_2_1"].value


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_planted_truth_is_found(missing):
    table = draw(np.random.default_rng(2), 3000, 6, item=2.0, rater=0.0, error=1.0, missing=missing)
    found = intraclass(table)
    for name in ("icc_1_1", "icc_2_1", "icc_3_1"):
        assert found[name].value == pytest.approx(2 / 3, abs=0.02)
        assert found[name].covers(2 / 3)


def test_gaps_are_between_what_they_hide():
    """One missing cell of a large table moves nothing by much, and k becomes slightly less."""
    table = draw(np.random.default_rng(3), 40, 5)
    holed = table.copy()
    holed[7, 2] = np.nan
    full, found = intraclass(table), intraclass(holed)
    for name in NAMES:
        for end in ("value", "low", "high"):
            assert getattr(found[name], end) == pytest.approx(getattr(full[name], end), abs=0.02)
            assert getattr(found[name], end) != getattr(full[name], end)


def test_empty_rows_and_columns_are_nobody():
    table = draw(np.random.default_rng(4), 8, 4)
    wider = np.full((10, 6), np.nan)
    wider[1:9, 1:5] = table
    expected = reliability_table(table)
    for name, one in reliability_table(wider).items():
        assert (one.value, one.low, one.high) == pytest.approx(
            (expected[name].value, expected[name].low, expected[name].high)
        )


def test_f_based_intervals_hold_at_5_items():
    """Between 92 and 97 %: 700 simulations leave an error of 0.8 %."""
    truths = {"icc_2_1": 1 / 2.3, "icc_3_1": 1 / 2, "icc_2_k": 1 / (1 + 1.3 / 7), "icc_3_k": 1 / (1 + 1 / 7)}
    found = coverage(truths, 700, n=5, k=7)
    found |= coverage({"icc_1_1": 1 / 2.3, "icc_1_k": 1 / (1 + 1.3 / 7)}, 700, n=5, k=7, rater=0.0, error=1.3)
    assert all(0.925 < share < 0.97 for share in found.values()), found


@pytest.mark.evidence
@pytest.mark.parametrize("item", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("rater", [0.05, 1.0])
def test_f_based_intervals_hold_in_many_designs(item, rater):
    for n, k in ((5, 7), (3, 10), (5, 3), (12, 4)):
        truths = {"icc_2_1": item / (item + rater + 1), "icc_3_k": item / (item + 1 / k)}
        found = coverage(truths, 1500, n=n, k=k, item=item, rater=rater)
        assert 0.92 < found["icc_2_1"] < 0.975
        assert 0.935 < found["icc_3_k"] < 0.965


def test_intervals_hold_with_gaps():
    found = coverage({"icc_2_1": 1 / 2.3, "icc_3_1": 1 / 2}, 120, n=12, k=5, missing=0.25)
    assert min(found.values()) > 0.9


@pytest.mark.parametrize("rating", [0.0, 0.1, 3.0])
def test_ratings_that_never_vary_are_undefined(rating):
    for table in (np.full((5, 3), rating), np.where(np.eye(5, 3, 2), np.nan, rating)):
        found = reliability_table(table)
        assert {one.state for one in found.values()} == {"undefined"}
        assert all(one.value is None and one.reason for one in found.values())


def test_items_without_differences_are_undefined():
    # every rater gives each item the same: nothing but severity differs
    found = intraclass(np.tile([1.0, 2.0, 3.0], (4, 1)))
    assert {one.state for one in found.values()} == {"undefined"}
    assert "nothing to agree on" in found["icc_3_k"].reason


def test_perfect_raters_leave_the_interval_open():
    scores = np.array([[1.0], [2.0], [4.0]])
    found = intraclass(np.tile(scores, 4))
    assert all(
        (one.value, one.state, one.low, one.high_state) == (1.0, "ok", None, "undefined") for one in found.values()
    )
    # with severities, only consistency is perfect
    severe = intraclass(scores + np.array([0.0, 1.0, 3.0]))
    assert (severe["icc_3_1"].value, severe["icc_3_1"].low) == (1.0, None)
    assert severe["icc_2_1"].low < severe["icc_2_1"].value < severe["icc_2_1"].high < 1
    assert "but in severity" in severe["icc_3_k"].reason


def test_perfect_raters_with_gaps():
    table = np.tile([[1.0], [2.0], [4.0], [5.0]], 4)
    table[0, 1] = table[3, 2] = np.nan
    assert all((one.value, one.low) == (1.0, None) for one in intraclass(table).values())


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (5, 0), (1, 1), (1, 5), (5, 1)])
def test_too_little_is_a_state(shape):
    found = reliability_table(np.random.default_rng(0).integers(1, 5, shape).astype(float))
    assert {one.state for one in found.values()} == {"too_few"}


def test_raters_who_share_nothing_cannot_be_told_from_noise():
    table = np.full((4, 8), np.nan)
    for item in range(4):
        table[item, 2 * item : 2 * item + 2] = item, item + 1
    found = intraclass(table)
    assert found["icc_2_1"].state == "too_few"
    assert "share items" in found["icc_2_1"].reason
    assert found["icc_1_1"].state == "ok"


def test_alpha_tells_what_it_leaves_out():
    table = SHROUT_FLEISS.copy()
    table[0, 0] = np.nan
    found = cronbach_alpha(table)
    assert found.reason == "5 of 6 items are rated by all"
    assert found.value == cronbach_alpha(SHROUT_FLEISS[1:]).value
    np.fill_diagonal(table, np.nan)
    table[4:, 0] = np.nan
    assert (cronbach_alpha(table).state, intraclass(table)["icc_3_k"].state) == ("too_few", "ok")


def test_spearman_brown():
    """Shrout and Fleiss' single and mean forms are linked by it."""
    found = intraclass(SHROUT_FLEISS)
    for model in "123":
        assert spearman_brown(found[f"icc_{model}_1"].value, 4) == pytest.approx(found[f"icc_{model}_k"].value)
    assert spearman_brown(0.5, 3) == 0.75
    with pytest.raises(OptionError, match="0 times"):
        spearman_brown(0.5, 0)
    with pytest.raises(OptionError, match="cannot be carried"):
        spearman_brown(-0.5, 4)


def test_raters_needed():
    found = raters_needed(Estimate(0.5, 0.2, 0.8), 0.75)
    assert (found.value, found.low, found.high) == (3, 1, 12)
    assert spearman_brown(0.3, raters_needed(Estimate(0.3), 0.8).value) >= 0.8
    assert spearman_brown(0.3, raters_needed(Estimate(0.3), 0.8).value - 1) < 0.8
    wide = raters_needed(Estimate(0.5, -0.1, 0.8), 0.75)
    assert (wide.high, wide.high_state) == (None, "unbounded")
    assert raters_needed(Estimate(-0.1, -0.4, 0.3), 0.75).state == "unbounded"
    assert raters_needed(Estimate.without("too_few", "…"), 0.75).state == "too_few"
    with pytest.raises(OptionError, match="target 80"):
        raters_needed(Estimate(0.5), 80)


def test_noise_ceiling_bounds_a_perfect_judge():
    rng = np.random.default_rng(5)
    item = rng.normal(size=(4000, 1))
    table = item + rng.normal(size=(4000, 3))
    ceiling = noise_ceiling(intraclass(table)["icc_3_k"])
    assert ceiling.value == pytest.approx(np.corrcoef(item[:, 0], table.mean(axis=1))[0, 1], abs=0.02)
    assert noise_ceiling(Estimate(0.64, -0.2, 0.81)) == Estimate(0.8, 0.0, 0.9)
    assert noise_ceiling(Estimate(-0.1, -0.5, 0.2)).state == "undefined"
    assert noise_ceiling(Estimate.without("too_few", "…")).state == "too_few"


@pytest.mark.parametrize(
    ("raters", "is_mean_used", "name", "word"),
    [
        ("unidentified", True, "icc_1_k", "unidentified"),
        ("sampled", False, "icc_2_1", "single"),
        ("fixed", True, "icc_3_k", "only ones"),
    ],
)
def test_the_form_follows_the_design(raters, is_mean_used, name, word):
    choice = choose_icc(raters, is_mean_used=is_mean_used)
    assert choice.name == name
    assert word in choice.sentence
    assert choice.name in NAMES


def test_table_has_all_names_and_their_level():
    found = reliability_table(SHROUT_FLEISS, level=0.9)
    assert sorted(found) == sorted(
        [
            *NAMES, "cronbach_alpha", "krippendorff_nominal", "krippendorff_ordinal", "krippendorff_interval",
            "krippendorff_ratio", "gwet_ac1", "gwet_ac2_linear", "gwet_ac2_quadratic",
        ]
    )  # fmt: skip
    wider = reliability_table(SHROUT_FLEISS, level=0.99)
    for name, one in found.items():
        assert one.level == 0.9
        assert wider[name].low < one.low <= one.value <= one.high <= wider[name].high


@pytest.mark.parametrize(
    ("matrix", "text"),
    [
        ([1, 2, 3], "1 dimensions"),
        ([[1, np.inf], [2, 3]], "infinity at row 0, column 1"),
        ([["good", "bad"]], "not a table of numbers"),
        ([[1, 2], [3]], "not a table of numbers"),
    ],
)
def test_wrong_tables_are_named(matrix, text):
    with pytest.raises(InputError, match=text):
        reliability_table(matrix)


def test_none_is_a_gap():
    assert intraclass([[1, 2, None], [3, 3, 4], [5, 4, 5]])["icc_1_1"].state == "ok"


def test_wrong_options_are_named():
    with pytest.raises(OptionError, match="rater effects called 'random'"):
        choose_icc("random")
    with pytest.raises(OptionError, match="level 95"):
        intraclass(SHROUT_FLEISS, level=95)


def test_items_of_few_clusters_leave_agreement_less_sure():
    """Ten copies of each of six items: as items they make agreement look certain, as clusters they count as six."""
    rng = np.random.default_rng(4)
    six = rng.normal(size=(6, 1)) + 0.7 * rng.normal(size=(6, 4))
    table, clusters = np.repeat(six, 10, axis=0), np.repeat(np.arange(6), 10)
    alone, together = reliability_table(table), reliability_table(table, clusters=clusters)
    assert together["icc_2_1"].value == pytest.approx(alone["icc_2_1"].value)
    assert together["icc_2_1"].width > 1.5 * alone["icc_2_1"].width
    assert together["krippendorff_interval"].width > 1.5 * alone["krippendorff_interval"].width
    assert all(one.high is None or one.high <= 1 for one in together.values())
