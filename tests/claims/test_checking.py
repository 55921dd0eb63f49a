"""Claims under every specification: known answers, the January runs, and simulated data in which one choice matters."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import howsure
from howsure.claims import Claim, check, read_claims
from howsure.claims.claim_files import KINDS, ClaimFile
from howsure.claims.multiverse import Fits, assess
from howsure.claims.sections import estimate_text, summary_lines
from howsure.claims.simulator import CAUSES, claim_errors, simulate_runs
from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.horizon import compare_horizons, time_horizons
from howsure.horizon.time_horizon.specifications import draw_horizons, fit_horizons, horizon_cells, time_choices
from howsure.results.choices import AnalysisChoice, AnalysisOption, Choices, OptionExclusion

ROOT = Path(__file__).parents[2]
JANUARY = ROOT / "../shared/data/metr/runs_2025-01-28.jsonl"
RUNS = ROOT / "examples/claims/runs.csv"
ATTEMPTS = ROOT / "examples/evals/attempts.csv"
LESS = [{"choice": "curve", "remove": "weibull", "reason": "a quick test"}, {"choice": "minutes_noise", "remove": "1", "reason": "a quick test"}]  # fmt: skip


@pytest.fixture(scope="module")
def january():
    if not JANUARY.exists():
        pytest.skip("METR's runs are not there")
    return howsure.read(JANUARY)


@pytest.fixture(scope="module")
def found(january):
    claims = [{"kind": "horizon", "model": "o1", "at_least": 30}, {"kind": "horizon", "model": "o1", "than": "GPT-4o"}]
    return check({"claims": claims, "choices": LESS}, january, n_replicates=200)


def test_january_limits_and_human_times_move_the_horizon_most(found):
    verdict = found.verdicts[0]
    assert [one.choice for one in verdict.moved_most[:2]] == ["limits", "human_times"]
    alone = {(one.choice, one.option): one.alone.value for one in verdict.effects}
    assert verdict.default.value == pytest.approx(43.3, abs=0.1)
    assert verdict.default.value * alone["limits", "drop"] == pytest.approx(93.9, abs=0.1)
    assert 1.5 < alone["human_times", "measured"] < 1.7
    assert any(
        "human times" in one.what and one.value == pytest.approx(43.3158 / 30, rel=1e-4) for one in verdict.tipping
    )


def test_january_the_summary_tells_what_moves_the_horizon_in_minutes(found):
    lines = summary_lines(found.verdicts[0], 0.95)
    (moves,) = [line for line in lines if line.startswith("Choices with the largest effect on the estimate: limits, ")]
    assert "1.6 h with drop" in moves or "1.8 h with censored" in moves
    assert "instead of 43 min with scored" in moves
    assert "human_times, 68 min with measured" in moves
    front = found.sections()[1]
    assert front.caveat.startswith("The estimate depends most on limits, ")
    assert "e-" not in " ".join(lines)
    assert front.unknown[0].startswith("The default analysis leaves it open")
    drawn = found.charts()["specification_curve_1"]
    assert "of the intervals extend beyond the chart" in str(drawn.to_dict())


def test_january_the_second_claim_is_open_where_its_interval_includes_one(found):
    verdict = found.verdicts[1]
    statuses = {one.status for one in verdict.specifications}
    for one in verdict.specifications:
        supports = one.estimate.low is not None and one.estimate.low > 1
        assert (one.status == "supported") == supports
    assert "contradicted" not in statuses
    assert verdict.low > 1  # o1 is ahead in every specification's estimate


def test_the_default_is_what_horizon_time_and_compare_report(january, found):
    """The same numbers at both places: the interval of the test over families, and the ratio over the same replicates."""
    reported = time_horizons(january, n_replicates=200, has_sensitivity=False)
    one, ratio = (verdict.default for verdict in found.verdicts)
    told = reported.minutes("o1")
    assert (one.value, one.low, one.high) == pytest.approx((told.value, told.low, told.high), rel=1e-9)
    told = compare_horizons(reported, "o1", "GPT-4o").rows[0].ratio
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((told.value, told.low, told.high), rel=1e-6)
    cells = horizon_cells(january, ["o1"])
    points = fit_horizons(cells, [{**time_choices(cells).default, "weights": "task"}], 0.5)
    other = time_horizons(january, n_replicates=0, weights="task", has_sensitivity=False).minutes("o1").value
    assert 2 ** points[0, 0] == pytest.approx(other, rel=1e-9)


def test_a_specification_that_is_the_same_has_the_same_replicates():
    runs = simulate_runs(None, n_families=8, n_tasks=2, n_runs=4)
    cells = horizon_cells(runs, ["model"])
    default = time_choices(cells).default
    drawn = draw_horizons(cells, [default, dict(default)], 0.5, n_replicates=70)
    assert np.array_equal(drawn[:, 0], drawn[:, 1], equal_nan=True)


def test_the_weibull_curve_is_found_again():
    rng = np.random.default_rng(1)
    minutes = np.exp2(rng.uniform(0, 10, 600))
    p = np.exp(-np.log(2) * (minutes / 40) ** 0.9)
    rows = {
        "subject": ["m"] * 600,
        "task": [f"t{i}" for i in range(600)],
        "minutes": minutes,
        "score": (rng.random(600) < p) * 1.0,
    }
    cells = horizon_cells(howsure.Attempts(pl.DataFrame(rows)), ["m"])
    specification = {"curve": "weibull", "weights": "task"}
    assert 2 ** fit_horizons(cells, [specification], 0.5)[0, 0] == pytest.approx(40, rel=0.25)
    p80 = 40 * (np.log(1 / 0.8) / np.log(2)) ** (1 / 0.9)
    assert 2 ** fit_horizons(cells, [specification], 0.8)[0, 0] == pytest.approx(p80, rel=0.35)


def test_means_and_differences_are_those_of_summary_and_compare():
    found = check(ROOT / "examples/claims/evals.yaml", ATTEMPTS, n_replicates=100)
    level, difference, rank = found.verdicts
    summary = howsure.summary(ATTEMPTS, by="all")
    mean = next(row.mean for row in summary.rows if row.subject == "amber-2")
    assert (level.default.value, level.default.low) == pytest.approx((mean.value, mean.low))
    pair = howsure.compare(ATTEMPTS, "amber-2", "amber-1").pairs[0].difference
    assert (difference.default.value, difference.default.low) == pytest.approx((pair.value, pair.low))
    place = next(one for one in howsure.leaderboard(ATTEMPTS, n_replicates=500).places if one.subject == "amber-2")
    assert rank.default == place.rank


def test_tipping_points_tip():
    """Turning as many successes into failures as it says moves the mean below the threshold; one fewer does not."""
    attempts = howsure.read(ATTEMPTS)
    verdict = check(Claim(kind="level", model="amber-2", at_least=0.5), attempts, n_replicates=20).verdicts[0]
    n = int(next(one.value for one in verdict.tipping if "successes" in one.what))
    frame = attempts.frame.with_row_index("row")
    good = frame.filter((pl.col("subject") == "amber-2") & (pl.col("score") == 1))["row"].to_list()

    def mean(k):
        changed = frame.with_columns(pl.when(pl.col("row").is_in(good[:k])).then(0.0).otherwise("score").alias("score"))
        rows = howsure.summary(howsure.Attempts(changed.drop("row")), by="all").rows
        return next(row.mean.value for row in rows if row.subject == "amber-2")

    assert mean(n) < 0.5 <= mean(n - 1)  # evals of the same size, so all successes weigh the same


@pytest.mark.parametrize(
    ("claim", "right", "told"),
    [  # 10 items, other: 5 right. An estimate at the threshold supports 'at least' and 'at most', and no advantage.
        ({"kind": "level", "at_least": 0.5}, 8, "fails if 4 of the 8 successes"),
        ({"kind": "level", "at_least": 0.8}, 8, "fails if 1 of the 8 successes"),
        ({"kind": "level", "at_least": 0.8}, 6, "would hold if 2 of the 4 failures"),
        ({"kind": "level", "at_most": 0.8}, 6, "fails if 3 of the 4 failures"),
        ({"kind": "level", "at_most": 0.5}, 8, "would hold if 3 of the 8 successes"),
        ({"kind": "difference", "than": "other"}, 8, "fails if 3 of the 8 successes"),
        ({"kind": "difference", "than": "other"}, 5, "would hold if 1 of the 5 failures"),
        ({"kind": "difference", "than": "other"}, 3, "would hold if 3 of the 7 failures"),
        ({"kind": "difference", "than": "other", "at_least": 0.1}, 8, "fails if 3 of the 8 successes"),
    ],
)
def test_tipping_points_count_an_estimate_at_the_threshold_as_the_claim_does(claim, right, told):
    rows = [(name, f"t{i}", float(i < n)) for name, n in (("own", right), ("other", 5)) for i in range(10)]
    attempts = pl.DataFrame(rows, schema=["subject", "task", "score"], orient="row")
    verdict = check(Claim(model="own", **claim), attempts, n_replicates=20).verdicts[0]
    assert told in verdict.tipping[0].sentence


def test_a_tier_is_the_result_of_tests_and_has_no_replicates():
    verdict = check(Claim(kind="rank", model="amber-2", tier=True), ATTEMPTS, n_replicates=50).verdicts[0]
    assert verdict.verdict == "holds in all"
    assert verdict.share_of_replicates is None  # the share of replicates in which it is first says nothing of a tier


def test_ranks_of_replicates_follow_the_direction_of_the_scores():
    rng = np.random.default_rng(5)
    rows = [
        {"subject": name, "task": f"t{i}", "perplexity": 10.0 + level + rng.normal()}
        for name, level in (("low", 0.0), ("middle", 4.0), ("high", 8.0))
        for i in range(30)
    ]
    attempts = howsure.Attempts.of(pl.DataFrame(rows))
    verdict = check(Claim(kind="rank", model="low", at_most=1), attempts, n_replicates=50).verdicts[0]
    assert (verdict.default.value, verdict.share_of_replicates) == (1.0, 1.0)


def test_the_verdict_follows_the_rule():
    choices = Choices((AnalysisChoice("a", "?", tuple(AnalysisOption(str(i), "") for i in range(5))),))
    claim = Claim(kind="level", model="m", at_least=0.5)

    def verdict(lows, highs):
        estimates = [Estimate((low + high) / 2, low, high) for low, high in zip(lows, highs, strict=True)]
        values = np.array([one.value for one in estimates])
        fits = Fits(values, np.tile(values, (20, 1)), estimates, ["task"] * 5, is_ratio=False)
        return assess(claim, choices, choices.specifications(10), fits, level=0.95)

    assert verdict([0.6] * 5, [0.7] * 5).verdict == "holds in all"
    most = verdict([0.6, 0.6, 0.6, 0.6, 0.4], [0.7] * 5)
    assert (most.verdict, most.turns_on, most.share_supported) == ("holds in most", "a", 0.8)
    assert verdict([0.6, 0.6, 0.6, 0.4, 0.4], [0.7] * 5).verdict == "cannot tell"
    assert (
        verdict([0.1] + [0.6] * 4, [0.2] + [0.7] * 4).verdict == "cannot tell"
    )  # as a claim that one of five supports
    assert verdict([0.1] * 4 + [0.6], [0.2] * 4 + [0.7]).verdict == "does not hold"
    assert verdict([0.4] + [0.6] * 4, [0.7] * 5).verdict == "cannot tell"


def test_a_claim_turns_on_the_choice_that_moves_the_interval_not_on_the_one_that_tips_a_few():
    """Most specifications leave the claim open: `b` moves every interval far, `a` moves one a little, across the threshold."""
    two = tuple(AnalysisOption(name, "") for name in ("x", "y"))
    choices = Choices((AnalysisChoice("a", "?", two), AnalysisChoice("b", "?", two)))
    claim = Claim(kind="level", model="m", at_least=0.5)

    def turns_on(*intervals):  # a, b = xx, xy, yx, yy
        estimates = [Estimate((low + high) / 2, low, high) for low, high in intervals]
        values = np.array([one.value for one in estimates])
        fits = Fits(values, np.tile(values, (20, 1)), estimates, ["task"] * 4, is_ratio=False)
        return assess(claim, choices, choices.specifications(10), fits, level=0.95).turns_on

    assert turns_on((0.2, 0.6), (0.49, 0.69), (0.2, 0.6), (0.51, 0.71)) == "b"
    wide, narrow = (0.45, 0.69), (0.51, 0.63)  # the same estimate
    assert turns_on(wide, narrow, wide, narrow) == "b"
    assert turns_on(wide, wide, narrow, narrow) == "a"


def test_other_units_get_no_paired_interval():
    verdict = check(Claim(kind="level", model="amber-2", at_least=0.5), ATTEMPTS, n_replicates=50).verdicts[0]
    by_choice = {one.choice: one.effect for one in verdict.effects}
    assert by_choice["cluster"].low is None
    assert "not paired" in by_choice["cluster"].reason
    assert by_choice["weights"].low is not None


def test_options_can_be_added_and_removed_with_a_reason():
    file = read_claims(ROOT / "examples/claims/claims.yaml")
    found = check(file, RUNS, n_replicates=20)
    options = found.verdicts[0].choices.named("regularisation")
    assert options.values == ("1e-05", "0.1", "0.01")
    assert found.verdicts[0].changes == ("regularisation: added 0.01 (between the two that are in use)",)
    choices = found.verdicts[0].choices
    assert choices.changed("limits", remove="scored", reason="why").default["limits"] == "drop"
    for wrong, told in (({"add": "3", "reason": ""}, "gives a reason"), ({"add": "0.1", "reason": "x"}, "already"), ({"add": "-1", "reason": "x"}, "No option of")):  # fmt: skip
        with pytest.raises(OptionError, match=told):
            choices.changed("regularisation", **wrong)


def test_a_sample_of_specifications_has_the_default_and_every_single_change():
    options = tuple(AnalysisOption(str(i), "") for i in range(4))
    choices = Choices(
        tuple(AnalysisChoice(name, "?", options) for name in "abcd"), (OptionExclusion(("a", "1"), ("b", "1"), "no"),)
    )
    some = choices.specifications(40)
    assert len(some) == 40
    assert some[0] == choices.default
    singles = [one for one in some if sum(value != "0" for value in one.values()) == 1]
    assert len(singles) == 12
    assert not any(one["a"] == one["b"] == "1" for one in choices.specifications(1000))
    assert len(choices.specifications(1000)) == 256 - 16


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("claims:\n- {kind: horizon, model: o1}\n", "line 2: A claim of a horizon has a threshold"),
        ("claims:\n- {kind: level, model: o1, at_least: much}\n", "line 2: at_least is 'much'; write a number"),
        ("claims:\n- {kind: trend, model: o1, at_most: 7}\n", "line 2: A claim of a trend is about the frontier"),
        ("claims:\n- {kind: trend, at_most: 7, unit: weeks}\n", "No unit of a trend called 'weeks'"),
        ("claims:\n- {kind: level, at_most: 7}\n", "names the model it is about"),
        ("claims:\n- {kind: levle, model: o1, at_least: 1}\n", "Did you mean 'level'"),
        ("claims:\n- {model: o1, at_least: 1}\n", "at least a kind"),
        ("claims: []\n", "no list 'claims'"),
        ("claims:\n- {kind: difference, model: a, than: a}\n", "compared with itself"),
        (
            "claims:\n- {kind: level, model: a, at_least: 0.5}\nchoices:\n- {choice: limits}\n",
            "a change of a choice reads",
        ),
        ("claims:\n- {kind: level, model: a, at_least: 0.5}\nchoices: 3\n", "line 3: choices is a list"),
        ("claims:\n- {kind: level, model: a, at_least: .nan}\n", "line 2: at_least is nan"),
        ("claims:\n- {kind: horizon, model: a, at_least: .inf}\n", "line 2: at_least is inf"),
        ("claims:\n- {kind: level, model: null, at_least: 0.5}\n", "line 2: A claim names the model"),
        ("claims:\n- {kind: rank, model: a, at_most: 1.5}\n", "a whole number from 1 on, not 1.5"),
        ("claims:\n- {kind: rank, model: a, at_most: 0}\n", "a whole number from 1 on, not 0"),
        ("claims:\n- {kind: rank, model: a, at_most: 3, tier: true}\n", "at_most or tier: true, not both"),
        ("claims:\n- {kind: corrected rate, model: a, at_least: 60}\n", "Divide percentages by 100"),
        ("claims:\n- {kind: agreement, at_least: 75}\n", "No coefficient of agreement is above 1"),
        (
            "claims:\n- {kind: level, model: a, at_least: 0.5}\n" + "- {kind: level, model: a, at_least: 0.50}\n",
            "line 3: the claim 'The mean score of a is at least 0.5.' is there twice",
        ),
        (
            "claims:\n- {kind: rank, model: a, name: x}\n- {kind: rank, model: b, name: x}\n",
            "line 3: the claim 'x' is there twice",
        ),
    ],
)
def test_faults_are_named_with_their_line(tmp_path, content, told):
    file = tmp_path / "claims.yaml"
    file.write_text(content)
    with pytest.raises(InputError) as error:
        read_claims(file)
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_every_kind_says_its_sentence_and_what_it_cannot_be_is_refused():
    claims = [
        Claim(kind="level", model="a", at_most=0.2, on="E"),
        Claim(kind="difference", model="a", than="b"),
        Claim(kind="rank", model="a", tier=True),
        Claim(kind="horizon", model="a", than="b", at_least=2),
        Claim(kind="trend", at_most=7, unit="months"),
        Claim(kind="scale", model="a", than="b"),
        Claim(kind="agreement", on="voice", at_least=0.75),
        Claim(kind="corrected rate", model="a", at_least=0.5),
        Claim(kind="turns", model="a", than="b", at_least=3),
    ]
    assert {claim.kind for claim in claims} == set(KINDS)
    assert str(claims[0]) == "The mean score of a on E is at most 0.2."
    assert str(claims[3]) == "The 50 % time horizon of a is at least 2 times that of b."
    assert str(claims[4]) == "The 50 % time horizon of the frontier doubles in at most 7 months."
    assert claims[4].threshold == pytest.approx(213.06, abs=0.01)
    assert str(claims[6]) == "The agreement of the raters on voice is at least 0.75."
    assert str(Claim(kind="agreement", model="j", on="voice")) == "j may replace a rater on voice."
    assert str(claims[8]) == "a gives at least 3 more correct answers on average before its first error than b."
    for wrong, told in (({"kind": "turns", "model": "a"}, "has a threshold"), ({"kind": "agreement"}, "has a threshold"), ({"kind": "scale", "model": "a", "than": "b", "on": "E"}, "on has no meaning"), ({"kind": "horizon", "model": "a", "at_least": 0}, "above 0"), ({"kind": "agreement", "model": "j", "at_least": 0.5}, "is a test"), ({"kind": "corrected rate", "model": "a", "than": "b", "at_least": 0.1}, "about one model")):  # fmt: skip
        with pytest.raises(OptionError, match=told):
            Claim(**wrong)
    file = ClaimFile(tuple(claims))
    assert read_claims(file.as_dict()) == file


def test_a_choice_that_matters_is_named_first_in_simulated_data():
    rows = claim_errors(6, n_replicates=40).rows
    named = {row.cause: row.share.value for row in rows if row.what == "the cause is named first"}
    assert set(named) == set(CAUSES)
    assert min(named.values()) >= 0.8


def test_unknown_models_and_missing_minutes_are_told():
    with pytest.raises(OptionError, match="No model called 'amber-3'"):
        check(Claim(kind="level", model="amber-3", at_least=0.5), ATTEMPTS)
    for wrong in ({"kind": "level", "at_least": 80}, {"kind": "difference", "than": "amber-1", "at_least": 2}):
        with pytest.raises(OptionError, match=r"The scores are between 0 and 1. Divide percentages"):
            check(Claim(model="amber-2", **wrong), ATTEMPTS)
    with pytest.raises(OptionError, match=r"among the first 9. There are 3 models."):
        check(Claim(kind="rank", model="amber-2", at_most=9), ATTEMPTS)
    with pytest.raises(InputError, match="no column minutes"):
        check(Claim(kind="horizon", model="amber-2", at_least=5), ATTEMPTS)


def test_the_front_page_has_verdict_estimate_chart_caveat_and_next_step_of_each_claim():
    found = check(ROOT / "examples/claims/evals.yaml", ATTEMPTS, n_replicates=50)
    table, *fronts = found.sections()
    assert not table.found
    assert not table.unknown
    for verdict, front in zip(found.verdicts, fronts, strict=True):
        (told,) = [*front.found, *front.unknown]
        assert bool(front.unknown) == (verdict.verdict == "cannot tell")
        assert verdict.sentence.removeprefix("Cannot tell: t") in told
        assert estimate_text(verdict, verdict.default) in told
        assert front.shown_first is not None
        assert front.caveat.endswith(".")
        assert front.next_step.endswith(".")
    assert [front.verdict for front in fronts] == ["Holds in all", "Holds in all", "Cannot tell"]
    assert found.opening() == []
    many = [Claim(kind="level", model="amber-2", at_least=n / 10) for n in range(1, 8)]
    found = check(many, ATTEMPTS, n_replicates=20, most=1)
    assert len(found.opening()) == 1
    assert sum(bool(one.found or one.unknown) for one in found.sections()) == 6


@pytest.mark.parametrize("is_everything_cut", [False, True])
@pytest.mark.parametrize("claim", [{"kind": "level", "at_least": 0.1}, {"kind": "difference", "than": "b"}, {"kind": "rank"}, {"kind": "rank", "tier": True}])  # fmt: skip
def test_first_attempts_that_are_left_out_leave_the_others(claim, is_everything_cut):
    """A limit cuts first attempts, whose numbers are then missing; or all of a model, which leaves the claim open."""
    rows = [
        {"subject": name, "task": f"t{i}", "attempt": a, "score": float((i + a) % 3 > 0 and not (a == 1 and i % 4 == 0)),
         "limit": "tokens" if (a == 1 and i % 4 == 0) or (is_everything_cut and name == "a") else None}
        for name in "abc" for i in range(12) for a in (1, 2)
    ]  # fmt: skip
    attempts = howsure.Attempts.of(pl.DataFrame(rows, infer_schema_length=None))
    verdict = check(Claim(model="a", **claim), attempts, n_replicates=20).verdicts[0]
    cut = [one for one in verdict.specifications if one.options["limits"] == "drop"]
    assert cut
    for one in cut:
        assert (one.estimate.value is None) == is_everything_cut
        assert not is_everything_cut or one.status == "open"
    if claim["kind"] == "level" and not is_everything_cut:
        kept = attempts.frame.filter(pl.col("limit").is_null() & (pl.col("subject") == "a"))
        mean = kept.group_by("task").agg(pl.col("score").mean())["score"].mean()
        assert cut[0].estimate.value == pytest.approx(mean)
