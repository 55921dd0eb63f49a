"""Every kind of claim: its default is what the instrument's own verb reports, its options change what they say, and its data are named where they lack."""

import datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import howsure
from howsure.claims import Claim, certificate, check, verify
from howsure.claims.claim_files import ClaimFile
from howsure.claims.inputs import ClaimData
from howsure.errors import InputError, OptionError
from howsure.horizon import time_horizons
from howsure.horizon.time_horizon.doubling import fit_horizon_trend
from howsure.horizon.time_horizon.published import read_releases
from howsure.track.samples import Samples, load_samples

ROOT = Path(__file__).parents[2]
SCORES = ROOT / "examples/stitch/scores.csv"
RUNS = ROOT / "examples/claims/runs.csv"
ATTEMPTS = ROOT / "examples/evals/attempts.csv"
JANUARY = ROOT / "../shared/data/metr/runs_2025-01-28.jsonl"
LESS = [{"choice": "curve", "remove": "weibull", "reason": "a quick test"}, {"choice": "minutes_noise", "remove": "1", "reason": "a quick test"}]  # fmt: skip


def ends(estimate):
    return estimate.value, estimate.low, estimate.high


def by_options(verdict, **options):
    return next(one.estimate for one in verdict.specifications if all(one.options[k] == v for k, v in options.items()))


def test_each_claim_takes_its_own_table_of_several():
    claims = [{"kind": "level", "model": "amber-2", "at_least": 0.5}, {"kind": "scale", "model": "ember-10.2", "than": "flint-1.0"}]  # fmt: skip
    found = check(claims, [SCORES, ATTEMPTS], n_replicates=20, most=1)
    alone = check(claims[:1], ATTEMPTS, n_replicates=20, most=1)
    assert found.verdicts[0].default == alone.verdicts[0].default
    with pytest.raises(InputError, match=r"more capable than flint-1.0. It needs scores .* and no input has them"):
        check(claims, [ATTEMPTS], n_replicates=20)
    with pytest.raises(InputError, match=r"holds ratings|needs|score"):
        check(claims[1:], ROOT / "examples/study/ratings.csv", n_replicates=20)


def test_a_certificate_of_several_tables_names_the_one_that_changed():
    file = ClaimFile(
        (Claim(kind="level", model="amber-2", at_least=0.5), Claim(kind="scale", model="ember-10.2", than="flint-1.0"))
    )
    data = ClaimData.of([SCORES, ATTEMPTS], file)
    made = certificate(check(file, data, n_replicates=20, most=1), data)
    assert set(made["data"]["tables"]) == {"attempts", "scores"}
    assert verify(made, [ATTEMPTS, SCORES]).is_equal
    changed = data.scores.frame.with_columns(
        pl.when((pl.col("model") == "flint-1.0") & (pl.col("benchmark") == "bench-01")).then(0.9).otherwise("score").alias("score")
    )  # fmt: skip
    told = {what: detail for what, _, detail in verify(made, [howsure.Scores(changed), data.attempts]).rows}
    assert told["data"] == "scores: rows of flint-1.0 at bench-01 differ"


@pytest.fixture(scope="module")
def scales():
    claims = [{"kind": "scale", "model": "flint-1.0", "than": "ember-10.2"}, {"kind": "scale", "model": "ember-10.2", "than": "ember-10.0", "at_least": 0.1}]  # fmt: skip
    return check(claims, SCORES, n_replicates=60)


def test_a_scale_has_the_difference_that_stitch_fit_reports(scales):
    scale = howsure.stitch.fit(howsure.read(SCORES), n_replicates=60, level=0.95)
    row = scale.pairs(["ember-10.2", "flint-1.0"]).row(0, named=True)
    told = -row["difference"], -row["difference_high"], -row["difference_low"]
    assert ends(scales.verdicts[0].default) == pytest.approx(told)
    assert scales.verdicts[0].verdict == "does not hold"
    row = scale.pairs(["ember-10.2", "ember-10.0"]).row(0, named=True)
    assert scales.verdicts[1].default.value == pytest.approx(row["difference"])


def test_the_options_of_a_scale_are_those_of_stitch_fit_in_the_unit_of_the_default(scales):
    verdict, scores = scales.verdicts[0], howsure.read(SCORES)
    default = howsure.stitch.fit(scores, n_replicates=0)
    paper = howsure.stitch.fit(scores, preset="paper", since="", duplicates="mean", reference=default, ridge=0.1)
    by_model = dict(zip(paper.problem.models, paper.estimate.capability, strict=True))
    found = by_options(verdict, priors="ridge 0.1", dimensions="1", floors="used", min_benchmarks="4")
    assert found.value == pytest.approx(by_model["flint-1.0"] - by_model["ember-10.2"])
    assert not any(
        one.options["priors"] != "learned" and one.options["dimensions"] == "2" for one in verdict.specifications
    )
    floors = next(one for one in verdict.effects if one.choice == "floors")
    assert floors.alone.low is not None  # the same scores are redrawn
    assert all("decides" in one.sentence or "benchmark" in one.sentence for one in verdict.tipping)


def test_what_a_scale_cannot_say_is_refused():
    with pytest.raises(OptionError, match="names the other model"):
        Claim(kind="scale", model="bench-01")
    with pytest.raises(OptionError, match="names a benchmark, no model, and the year"):
        Claim(kind="scale", benchmark="bench-01", at_least=2027)
    with pytest.raises(OptionError, match="nobody"):
        check(Claim(kind="scale", model="nobody", than="flint-1.0"), SCORES)
    with pytest.raises(OptionError, match="bench-99"):
        check(Claim(kind="scale", benchmark="bench-99", at_most=2027), SCORES)


def test_saturation_is_dated_as_stitch_forecast_dates_it():
    claims = [{"kind": "scale", "benchmark": name, "reach": 0.9, "at_most": 2027} for name in ("bench-01", "bench-02")]
    claims.append({"kind": "scale", "benchmark": "bench-02", "at_most": 2027})
    assert str(Claim(**claims[0])) == "A model reaches a score of 0.9 on bench-01 by the start of 2027."
    found = check({"claims": claims}, SCORES, n_replicates=40, most=4)
    scale = howsure.stitch.fit(howsure.read(SCORES), n_replicates=40, level=0.95)
    told = {one.benchmark: one.year for one in howsure.stitch.forecast(scale, reach=0.9, n_simulations=19).saturation}
    for verdict in found.verdicts[:2]:
        year = told[verdict.claim.benchmark]
        for mine, theirs in zip(ends(verdict.default), ends(year), strict=True):
            assert mine == (pytest.approx(1970 + theirs) if theirs is not None else None) or year.reason == "observed"
        assert verdict.default.state == year.state
    assert found.verdicts[2].verdict == "holds in all"  # a model has reached it
    assert "reached 0.5 on bench-02" in found.verdicts[2].tipping[0].sentence
    assert found.sections()
    assert found.charts()


COUNTS = ROOT / "examples/horizon/time_counts.csv"
RELEASES = ROOT / "examples/horizon/releases.csv"


def test_a_trend_is_what_horizon_trend_reports():
    found = check(Claim(kind="trend", at_most=365), [COUNTS, RELEASES], n_replicates=100)
    reported = time_horizons(COUNTS, n_replicates=100, has_sensitivity=False)
    trend = fit_horizon_trend(reported, read_releases(RELEASES))
    assert ends(found.verdicts[0].default) == pytest.approx(ends(trend.doubling), rel=1e-6)
    told = time_horizons(COUNTS, n_replicates=100, has_sensitivity=False, minutes_noise=1.0)
    noisy = by_options(
        found.verdicts[0], curve="logistic", regularisation="1e-05", weights="invsqrt", minutes_noise="1"
    )
    assert noisy.value == pytest.approx(fit_horizon_trend(told, read_releases(RELEASES)).doubling.value, rel=1e-6)
    shares = [one.share_of_replicates for one in found.verdicts[0].specifications]
    assert min(shares) > 0.9  # far below a year
    with pytest.raises(InputError, match=r"0 models have runs and a release date; a trend needs 3"):
        check(Claim(kind="trend", at_most=365), COUNTS)


def test_a_trend_since_a_date_is_an_option_where_the_frontier_has_enough_dates():
    rows = pl.read_csv(COUNTS)
    later = rows.filter(pl.col("subject") == "basalt-2").with_columns(
        pl.lit("basalt-3").alias("subject"), (pl.col("n_successes") + 1).clip(0, pl.col("n_runs")).alias("n_successes")
    )
    days = {**read_releases(RELEASES), "basalt-3": datetime.date(2025, 11, 1)}
    runs = howsure.Attempts.of(pl.concat([rows, later]))
    claim, data = Claim(kind="trend", at_most=365), ClaimData(attempts=runs, releases=days)
    verdict = check(claim, data, n_replicates=40).verdicts[0]
    assert verdict.choices.named("since").values == ("all", "2024-01-01")
    reported = time_horizons(runs, n_replicates=40, has_sensitivity=False)
    trend = fit_horizon_trend(reported, days, since=datetime.date(2024, 1, 1))
    found = by_options(verdict, **{**verdict.choices.default, "since": "2024-01-01"})
    assert ends(found) == pytest.approx(ends(trend.doubling), rel=1e-6)


RATINGS = ROOT / "examples/study/judge/ratings.csv"
JUDGE = ROOT / "examples/study/judge/judge.csv"


def test_agreement_is_what_study_reliability_reports():
    claims = [{"kind": "agreement", "on": "voice", "at_least": 0.75}, {"kind": "agreement", "on": "voice", "at_least": 0.5, "coefficient": "krippendorff_interval"}]  # fmt: skip
    found = check(claims, RATINGS, n_replicates=40)
    reported = howsure.study.reliability(RATINGS, dimension="voice")
    assert found.verdicts[0].default == reported.coefficients[reported.report]
    assert found.verdicts[1].default == reported.coefficients["krippendorff_interval"]
    fixed = howsure.study.reliability(RATINGS, dimension="voice", rater_effects="fixed")
    assert by_options(found.verdicts[0], coefficient="icc_3_k", raters="all") == fixed.coefficients[fixed.report]
    frame = howsure.read(RATINGS).frame.filter(pl.col("rater") != "rater-1")
    without = howsure.study.reliability(howsure.Ratings(frame), dimension="voice").coefficients["icc_2_k"]
    assert by_options(found.verdicts[0], coefficient="icc_2_k", raters="without rater-1") == without
    assert all(one.effect.low is not None for one in found.verdicts[0].effects)
    with pytest.raises(OptionError, match="3 dimensions. Choose one"):
        check(Claim(kind="agreement", at_least=0.75), RATINGS)
    with pytest.raises(OptionError, match="No coefficient called 'alhpa'"):
        check(Claim(kind="agreement", on="voice", at_least=0.75, coefficient="alhpa"), RATINGS)


def test_agreement_with_gaps_and_clusters_has_the_reported_numbers():
    frame = howsure.read(RATINGS).frame.filter(pl.col("dimension") == "voice")
    clustered = frame.with_columns(
        pl.col("item").str.slice(-2).cast(pl.Int64).floordiv(4).cast(pl.String).alias("cluster")
    )
    verdict = check(Claim(kind="agreement", at_least=0.5), howsure.Ratings(clustered), n_replicates=20).verdicts[0]
    assert verdict.default == howsure.study.reliability(howsure.Ratings(clustered)).coefficients["icc_2_k"]
    alone = howsure.study.reliability(howsure.Ratings(frame)).coefficients["icc_2_k"]
    assert by_options(verdict, coefficient="icc_2_k", raters="all", cluster="none") == alone
    assert "not paired" in next(one.effect.reason for one in verdict.effects if one.choice == "cluster")
    gaps = howsure.Ratings(frame.with_row_index("#").filter(pl.col("#") % 17 != 3).drop("#"))
    verdict = check(Claim(kind="agreement", at_least=0.5), gaps, n_replicates=20, most=2).verdicts[0]
    assert verdict.default == howsure.study.reliability(gaps).coefficients["icc_2_k"]
    assert verdict.share_of_replicates is None
    assert any("gaps" in note for note in verdict.notes)


def test_a_judge_may_replace_a_rater_where_study_validate_says_so():
    claims = [{"kind": "agreement", "model": "toy-judge", "on": name} for name in ("voice", "vibe:comparison")]
    found = check(claims, [RATINGS, JUDGE], n_replicates=20)
    told = {row.dimension: row for row in howsure.study.validate(RATINGS, JUDGE).rows}
    for verdict in found.verdicts:
        row = told[verdict.claim.on]
        assert verdict.default.value == row.statistics["winning_rate"].value
        assert (verdict.specifications[0].status == "supported") == row.may_replace
    least = found.verdicts[1].tipping[0].value
    passes = [
        next(row.may_replace for row in howsure.study.validate(RATINGS, JUDGE, epsilon=epsilon).rows if row.dimension == "vibe:comparison")
        for epsilon in (least - 0.01, least)
    ]  # fmt: skip
    assert passes == [False, True]
    with pytest.raises(OptionError, match="No rater called"):
        check(Claim(kind="agreement", model="other-judge", on="voice"), [RATINGS, JUDGE])


GAMES = ROOT / "examples/track/samples.csv"


def test_turns_are_what_track_report_shows():
    claims = [{"kind": "turns", "model": "amber-2", "at_least": 20}, {"kind": "turns", "model": "amber-2", "than": "amber-1"}]  # fmt: skip
    found = check(claims, GAMES, n_replicates=200)
    reported = howsure.track.report(GAMES)
    average = {row.model: row.headline for row in reported.rows}
    assert found.verdicts[0].default == average["amber-2"]
    (pair,) = reported.differences
    assert (pair.a, pair.b) == ("amber-1", "amber-2")
    told = pair.contrast.difference
    assert ends(found.verdicts[1].default) == pytest.approx((-told.value, -told.high, -told.low))
    games = load_samples(GAMES).frame
    whole = Samples(games.filter(pl.col("failure").is_null()))
    left_out = by_options(found.verdicts[0], interrupted="left out", violations="error")
    assert left_out == next(row.headline for row in howsure.track.report(whole).rows if row.model == "amber-2")
    assert all(one.effect.low is not None for one in found.verdicts[0].effects)
    for verdict in found.verdicts:  # replicates centre where the estimate lies
        assert abs(verdict.specifications[0].share_of_replicates - 1) < 0.2


def test_boards_are_named_where_there_are_several():
    games = load_samples(GAMES).frame
    two = Samples(pl.concat([games, games.with_columns(pl.lit("explicit").alias("solver"))]))
    with pytest.raises(
        OptionError, match=r"2 boards. Name one with on: median, 50 numbers; median, 50 numbers \(explicit\)"
    ):
        check(Claim(kind="turns", model="amber-2", at_least=20), two)
    claim = Claim(kind="turns", model="amber-2", at_least=20, on="median, 50 numbers (explicit)")
    plain = Claim(kind="turns", model="amber-2", at_least=20)
    assert check(claim, two, n_replicates=20).verdicts[0].default == check(plain, GAMES, n_replicates=20).verdicts[0].default  # fmt: skip
    complete = Samples(games.filter(pl.col("failure").is_null() & (pl.col("violation") == 0)))
    verdict = check(plain, complete, n_replicates=20).verdicts[0]  # nothing can be chosen
    assert verdict.n_specifications == 1
    assert check(plain, complete, n_replicates=20).sections()


VERDICTS, LABELS = ROOT / "examples/judged/verdicts.csv", ROOT / "examples/judged/labels.csv"


def test_a_corrected_rate_is_what_bridge_judged_reports():
    found = check({"claims": [{"kind": "corrected rate", "model": "able", "at_least": 0.5}]}, [VERDICTS, LABELS], n_replicates=400)  # fmt: skip
    verdict = found.verdicts[0]
    reported = howsure.bridges.correct_verdicts(howsure.read(VERDICTS), howsure.read(LABELS))
    row = next(one for one in reported.rows if one.model == "able")
    assert verdict.default == row.powered
    other = by_options(verdict, correction="Rogan–Gladen", cluster="task")
    assert other == row.corrected
    assert all(one.effect.low is not None for one in verdict.effects if one.choice == "correction")
    assert all("not paired" in one.effect.reason for one in verdict.effects if one.choice == "cluster")
    with pytest.raises(InputError, match=r"needs ratings .* and no input has them"):
        check(Claim(kind="corrected rate", model="able", at_least=0.5), [VERDICTS])


def test_replicates_of_corrected_rates_have_the_spread_of_the_interval():
    from howsure.bridges.specifications import corrected_under
    from howsure.evals.specifications import ClusterDraws

    attempts, labels = howsure.read(VERDICTS), howsure.read(LABELS)
    for method in ("PPI++", "Rogan–Gladen"):
        options = {"correction": method, "cluster": "none"}
        estimate, drawn = corrected_under(attempts, labels, options, "able", ClusterDraws(1000, 0), 0.95)
        low, high = np.quantile(drawn, [0.025, 0.975])
        assert np.median(drawn) == pytest.approx(estimate.value, abs=0.03)
        assert 0.5 < (high - low) / (estimate.high - estimate.low) < 1.4


def test_the_interval_of_an_effect_contains_it(scales):
    """Replicates are of the same estimator as the estimate: otherwise an effect lies outside its own interval."""
    counts = check(
        {"claims": [{"kind": "trend", "at_most": 365}], "choices": LESS}, [COUNTS, RELEASES], n_replicates=100
    )
    turns = check(Claim(kind="turns", model="amber-2", than="amber-1"), GAMES, n_replicates=200)
    found = [*scales.verdicts, *counts.verdicts, *turns.verdicts]
    if JANUARY.exists():
        days = {"GPT-4 0314": (2023, 3, 14), "Claude 3 Opus": (2024, 3, 4), "GPT-4o": (2024, 5, 13), "o1-preview": (2024, 9, 12), "o1": (2024, 12, 5), "davinci-002": (2020, 5, 28)}  # fmt: skip
        data = ClaimData(
            attempts=howsure.read(JANUARY), releases={name: datetime.date(*day) for name, day in days.items()}
        )
        found += check(
            {"claims": [{"kind": "trend", "at_most": 213}], "choices": LESS}, data, n_replicates=100
        ).verdicts
    effects = [one.alone for verdict in found for one in verdict.effects if one.alone.low is not None and one.alone.high is not None]  # fmt: skip
    assert len(effects) > 8
    outside = [one for one in effects if not one.low - 1e-9 <= one.value <= one.high + 1e-9]
    assert len(outside) <= 0.1 * len(effects), outside


def test_a_scale_whose_replicates_were_cut_short_still_gives_a_verdict(monkeypatch):
    from howsure.claims.kinds import scales as kind

    whole, cut = kind._difference, iter([False, True])

    def shortened(*given):
        estimate, drawn = whole(*given)
        return estimate, drawn[:25] if next(cut, False) else drawn

    monkeypatch.setattr(kind, "_difference", shortened)
    claim = {"kind": "scale", "model": "ember-10.2", "than": "flint-1.0"}
    verdict = check([claim], SCORES, n_replicates=30, most=3).verdicts[0]
    assert verdict.verdict in ("holds in all", "holds in most", "cannot tell")
    assert verdict.n_specifications == 3


def test_an_interrupted_check_of_a_scale_goes_on_where_it_was(tmp_path, monkeypatch):
    import howsure.stitch.specifications as under

    claim = {"kind": "scale", "model": "ember-10.2", "than": "cobalt-4.0"}
    options = {"n_replicates": 20, "most": 4, "seed": 3}
    fitted, whole = [], howsure.claims.check([claim], "examples/stitch/scores.csv", **options)
    real = under.fit
    monkeypatch.setattr(under, "fit", lambda *given, **named: fitted.append(1) or real(*given, **named))

    def leave_after_two(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        howsure.claims.check([claim], "examples/stitch/scores.csv", progress=leave_after_two, keep=tmp_path, **options)
    assert len(fitted) == 2
    next(tmp_path.iterdir()).write_bytes(b"PK cut off")
    again = howsure.claims.check([claim], "examples/stitch/scores.csv", keep=tmp_path, **options)
    assert len(fitted) == 2 + 3  # one of the two was damaged
    assert again.tables["specifications"].equals(whole.tables["specifications"])
    howsure.claims.check([claim], "examples/stitch/scores.csv", keep=tmp_path, **options | {"seed": 4})
    assert len(fitted) == 2 + 3 + 4  # another seed is another fit
