"""interrupted games are censored, never dropped; what that leaves open is shown as bounds."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from howsure.track.differences import contrast, differences
from howsure.track.game.players import player
from howsure.track.game.rules import guess_kinds, play
from howsure.track.game.sequence import Setting
from howsure.track.game.simulated_players import Memory, simulate
from howsure.track.results import measure
from howsure.track.running.playing import run_players
from howsure.track.samples import GameSample, Samples
from howsure.track.survival import GameEnds, average_turns, median_turns, survival_of


def game(seed, turns, failure=None, *, length=300, model="m", **more):
    kind = None if failure or turns == length else "other"
    return GameSample(model, "median", seed, turns, length, kind, failure=failure, **more)


def only(samples, **options):
    (row,) = measure(Samples.from_games(samples), **options).rows
    return row


def test_a_game_that_broke_off_counts_as_long_as_it_lasted():
    """By hand: turns 1 and 2 are answered rightly by all; in turn 3 one of three errs; the one that broke off there is not at risk."""
    frame = Samples.from_games([game(0, 2), game(1, 2, "api"), game(2, 4), game(3, 4)]).frame
    at_risk, errors = GameEnds.of(frame).table()
    assert at_risk[:6].tolist() == [4, 4, 3, 2, 2, 0]
    assert errors[:6].tolist() == [0, 0, 1, 0, 2, 0]
    row = only([game(0, 2), game(1, 2, "api"), game(2, 4), game(3, 4)])
    assert row.average.value == pytest.approx(1 + 1 + 2 / 3 + 2 / 3)
    assert (row.n, row.n_censored, row.errors["broken_off"]) == (4, 1, 1)


def test_tokens_of_broken_off_games_are_counted_and_the_reason_is_noted():
    tokens = {"input_tokens": 100, "output_tokens": 10}
    samples = [game(0, 3, **tokens), game(1, 5, **tokens), game(2, 2, "api", input_tokens=50, output_tokens=5)]
    row = only(samples)
    assert (row.usage.input_tokens, row.usage.total_tokens, row.usage.n_turns) == (250, 275, 4 + 6 + 3)
    assert (
        "1 of 3 games were interrupted and are censored (1 api)"
        in measure(Samples.from_games(samples)).provenance.notes[0]
    )


def test_a_perfect_player_under_a_token_limit_counts_its_games():
    results = measure(Samples.from_games([game(seed, 20 + seed % 3, "token_limit") for seed in range(30)]))
    (row,) = results.rows
    assert (row.n, row.n_censored) == (30, 30)
    assert (row.survival.reach, row.survival.restricted_mean.value) == (22, 22)
    assert row.survival.restricted_mean.low > 15
    assert (row.average.state, row.average.high) == ("above_range", 300)
    assert row.bounds == pytest.approx((21, 300))
    assert (row.median.state, row.stddev.state) == ("above_range", "undefined")
    assert any(
        "30 of 30 games reached a limit: the average is between 21 and 300" in n for n in results.provenance.notes
    )
    assert results.charts()


def test_a_limit_leaves_the_average_open_and_the_restricted_mean_known():
    rng = np.random.default_rng(0)
    turns = rng.geometric(0.02, 200) - 1
    row = only([game(seed, min(int(t), 60), "context" if t >= 60 else None) for seed, t in enumerate(turns)])
    assert row.survival.reach == 60
    assert row.survival.restricted_mean.value == pytest.approx(np.minimum(turns, 60).mean())
    at_most = np.where(turns >= 60, 300, turns).mean()
    assert row.bounds == pytest.approx((np.minimum(turns, 60).mean(), at_most))
    assert row.average.low < row.bounds[0] < turns.mean() < row.bounds[1] < row.average.high


def test_no_answer_is_an_error_with_censoring_as_the_upper_bound():
    played = [game(seed, 10 + seed) for seed in range(20)]
    refused = [game(20 + seed, 4, ("refusal", "null", "cut", "notes")[seed]) for seed in range(4)]
    row, without = only([*played, *refused]), only([*played, *(game(20 + seed, 4) for seed in range(4))])
    assert (row.average, row.median, row.n_no_answer, row.n_censored) == (without.average, without.median, 4, 0)
    assert row.bounds == pytest.approx((row.average.value, only(played).average.value))
    assert row.violation_rate.value == 0
    told = measure(Samples.from_games([*played, *refused])).provenance.notes[0]
    assert "4 of 24 games ended without an answer" in told
    assert "at most 19.5" in told


def test_where_most_games_broke_off_the_average_is_bounded():
    row = only([game(seed, 30 + seed, "api") for seed in range(10)] + [game(10, 5)])
    assert row.average.state == "above_range"
    assert row.average.high == pytest.approx(300, rel=0.05)
    assert "more than half of the games were interrupted" in row.average.reason


def test_the_upper_bound_does_not_trust_the_last_few_games():
    """Where most games broke off, the error of the last game left does not end the curve."""
    games = [game(seed, 20 + seed, "api") for seed in range(12)] + [game(20, 5), game(21, 60)]
    row = only(games)
    assert row.average.state == "above_range"
    assert row.survival.reach == 27 + 1  # five games answered turn 28
    assert row.average.high > row.bounds[1] > 250


def test_games_without_an_error_up_to_the_end_are_not_above_the_bounds():
    played = [game(seed, 5 * seed) for seed in range(20)] + [game(20 + s, 8 * s + 1, "api") for s in range(10)]
    row = only(played)
    assert row.average.state == "ok"
    assert row.bounds[0] <= row.average.value <= row.bounds[1]


def simulated(break_off, n_simulations, *, n_samples=120, sameness=1e6):
    """Estimates with their true values: a hazard of 2 % in 300 turns, constant unless sequences differ."""
    for seed in range(n_simulations):
        world = simulate(
            {("m", "direct"): HAZARD}, n_samples=n_samples, break_off=break_off, sameness=sameness, seed=seed
        )
        truth, frame = world.truth["m", "direct"], world.samples.frame
        ends = GameEnds.of(frame)
        yield {
            "average": (average_turns(frame)[0], truth.average),
            "median": (median_turns(ends, level=0.95, seed=seed), truth.median),
            "restricted mean": (
                (known := survival_of(ends)).restricted_mean,
                truth.survival[1 : known.reach + 1].sum(),
            ),
        }


HAZARD = Memory(0.0202)


@pytest.mark.parametrize("break_off", [0.01, 0.02])
def test_truth_is_recovered_although_games_break_off(break_off):
    """Dropping broken-off games gives 32 and 24 turns here, where the true average is 49."""
    found = list(simulated(break_off, 24))
    for name in found[0]:
        assert np.mean([one[name][0].value / one[name][1] for one in found]) == pytest.approx(1, abs=0.05), name
        assert np.mean([one[name][0].covers(one[name][1]) for one in found]) >= 0.87, name


def test_a_hazard_that_falls_because_sequences_differ_is_continued():
    """Games as they are expected, without noise, of which the server ended all that lasted 60 turns; a Weibull hazard gives 20 % less than the truth."""
    survival = 1 / (1 + 0.03 * np.arange(301))
    turns = [int((survival > (one + 0.5) / 400).sum()) - 1 for one in range(400)]
    average = only([game(seed, min(t, 60), "api" if t >= 60 else None) for seed, t in enumerate(turns)]).average
    assert "extrapolated beyond turn 60" in average.reason
    assert average.value == pytest.approx(survival[1:].sum(), rel=0.04)
    assert average.covers(survival[1:].sum())


def test_an_extrapolated_average_is_between_the_restricted_mean_and_its_upper_bound():
    rng, n_extrapolated = np.random.default_rng(7), 0
    for _ in range(12):
        turns = rng.integers(0, 30, 8)
        is_cut = rng.random(8) < 0.4
        row = only(
            [
                game(s, int(t), "api" if cut else None, length=30)
                for s, (t, cut) in enumerate(zip(turns, is_cut, strict=True))
            ]
        )
        if row.average.state == "ok" and row.bounds:
            n_extrapolated += 1
            assert row.survival.restricted_mean.value <= row.average.value <= row.bounds[1] + 1e-9
            assert row.average.low <= row.average.value <= row.average.high
    assert n_extrapolated >= 3


def test_a_spread_at_the_largest_that_there_is_has_an_interval():
    spread = only([game(seed, int(seed < 29), length=1) for seed in range(60)], level=0.5).stddev
    assert spread.low <= spread.value <= spread.high <= 0.5


def test_games_on_one_sequence_widen_the_interval_of_an_extrapolated_average():
    world = simulate({("m", "direct"): HAZARD}, n_samples=60, break_off=0.02, sameness=1e6)
    once = world.samples.frame
    twice = pl.concat([once, once])
    a, b = average_turns(once)[0], average_turns(twice)[0]
    assert b.width == pytest.approx(a.width, rel=0.05), "the second games say nothing new"


@pytest.mark.evidence
@pytest.mark.parametrize("sameness", [1e6, 4.0, 1.0])
@pytest.mark.parametrize("break_off", [0.01, 0.02])
def test_intervals_cover_the_truth_although_games_break_off(break_off, sameness):
    found = list(simulated(break_off, 100, n_samples=60, sameness=sameness))
    for name in found[0]:
        # 100 data sets: three Monte Carlo standard errors are 6.5 points
        assert 0.885 <= np.mean([one[name][0].covers(one[name][1]) for one in found]) <= 1, name


def test_twenty_games_that_ended_alike_have_a_narrow_interval():
    row = only([game(seed, 1) for seed in range(20)])
    assert row.average.value == 1
    assert 0.4 < row.average.low < 0.7
    assert 1.5 < row.average.high < 2.2
    assert only([game(seed, 0) for seed in range(20)]).average.high < 0.3
    complete = only([game(seed, 300) for seed in range(20)]).average
    assert (complete.value, complete.high) == (300, 300)
    assert 250 < complete.low < 290
    late = only([game(seed, 250) for seed in range(20)]).average
    assert late.low < 250 < late.high <= 300


def test_an_interval_of_equal_games_knows_that_repeats_are_not_new_sequences():
    once = [game(seed, 3) for seed in range(20)]
    again = [game(seed, 3, attempt=attempt) for seed in range(20) for attempt in (1, 2, 3)]
    assert only(again).average == only(once).average


class TestDifferences:
    def test_models_are_compared_on_the_same_sequences(self):
        rng = np.random.default_rng(1)
        shared = rng.integers(0, 80, 50)
        a, b = shared + rng.integers(0, 6, 50) + 3, shared + rng.integers(0, 6, 50)
        samples = [game(s, int(t), model=m) for m, turns in (("a", a), ("b", b)) for s, t in enumerate(turns)]
        (found,) = measure(Samples.from_games(samples)).differences
        assert (found.a, found.b, found.contrast.n_seeds) == ("a", "b", 50)
        assert found.contrast.difference.value == pytest.approx((a - b).mean())
        assert found.contrast.difference.width < 2.5, "paired: what sequences share is not noise"
        assert found.contrast.p == found.p_holm < 0.001

    def test_players_who_were_shown_different_things_are_not_compared(self):
        samples = [game(0, 3, model="a"), game(1, 4, model="a")]
        samples += [game(s, 9, model="b", solver="explicit") for s in (0, 1)]
        samples += [game(s, 9, model="c", length=50) for s in (0, 1)]
        assert measure(Samples.from_games(samples)).differences == ()

    def test_games_that_broke_off_limit_the_turns_that_are_compared(self):
        a = [game(s, 40, "api", model="a") for s in range(10)]
        b = [game(s, 10 + s, model="b") for s in range(10)]
        (found,) = measure(Samples.from_games([*a, *b])).differences
        assert found.contrast.limit == 40
        assert found.contrast.difference.value == pytest.approx(40 - 14.5)

    def test_without_shared_sequences_they_are_independent(self):
        a, b = [game(s, 10 + s) for s in range(9)], [game(100 + s, s) for s in range(9)]
        found = contrast(Samples.from_games(a).frame, Samples.from_games(b).frame)
        assert (found.n_seeds, found.n_unshared, found.difference.value) == (0, 18, 10)
        assert found.difference.width == pytest.approx(2 * 2.12 * np.sqrt(2 * 7.5 / 9), rel=0.01)

    def test_equal_games_do_not_prove_equality(self):
        samples = [game(s, 1, model=m) for m in "ab" for s in range(20)]
        (found,) = measure(Samples.from_games(samples)).differences
        assert found.contrast.difference.value == 0
        assert -2 < found.contrast.difference.low < -0.2
        assert 0.2 < found.contrast.difference.high < 2

    @pytest.mark.evidence
    def test_the_interval_covers_the_true_difference_under_censoring(self):
        memories = {("a", "direct"): Memory(0.02), ("b", "direct"): Memory(0.03)}
        hits = []
        for seed in range(250):
            world = simulate(memories, n_samples=80, break_off=0.01, seed=seed)
            (found,) = differences(world.samples)
            limit = slice(1, found.contrast.limit + 1)
            true = [world.truth[m, "direct"].survival[limit].sum() for m in "ab"]
            hits.append(found.contrast.difference.covers(true[0] - true[1]))
        assert 0.92 <= np.mean(hits) <= 0.98


class TestKindsOfErrors:
    @pytest.mark.parametrize("variant", ["median", "mode", "lookback", "inversions", "spread", "boxes", "sums"])
    def test_the_chance_level_is_what_guesses_show(self, variant):
        numbers, seen = Setting(length=6, high=10).steps(variant, 3), {}
        for seed in range(1000):
            guesser = player("random", variant, seed=seed)
            oracle = player("oracle", variant)

            guesses = [guesser.reply(number) for number in numbers]
            replies = iter([*(oracle.reply(number) for number in numbers[:-1]), guesses[-1]])
            kind = play(SimpleNamespace(reply=lambda _, said=replies: next(said)), variant, numbers).error_kind
            seen[kind] = seen.get(kind, 0) + 1
        wrong = sum(count for kind, count in seen.items() if kind)
        for kind, share in guess_kinds(variant, numbers).items():
            assert seen.get(kind, 0) / wrong == pytest.approx(share, abs=0.06), kind

    def test_a_random_guesser_is_at_chance_level(self):
        (row,) = measure(run_players(["random"], ["mode"], n_samples=250)).rows
        wrong = sum(row.errors[kind] for kind in row.chance_errors)
        assert row.errors["tie"] / wrong > 0.5, "which looks like a cause, and is none"
        for kind, share in row.chance_errors.items():
            assert row.errors[kind] / wrong == pytest.approx(share, abs=0.07)
        assert sum(row.chance_errors.values()) == pytest.approx(1)

    def test_without_wrong_answers_there_is_no_chance_level(self):
        assert only([game(0, 300), game(1, 3, "refusal")]).chance_errors == {}


def test_an_average_that_rests_on_an_assumed_hazard_says_so():
    """Two of three games break off: the curve ends early, and much of the average lies beyond it."""
    rng = np.random.default_rng(2)
    turns = np.minimum(rng.geometric(0.05, 40), 300)
    broken = rng.geometric(0.03, 40)
    rows = [
        GameSample(
            "m",
            "median",
            i,
            int(min(a, b)),
            300,
            *((None,) if b < a else ("other",)),
            failure="api" if b < a else None,
        )
        for i, (a, b) in enumerate(zip(turns, broken, strict=True))
    ]
    found = measure(Samples.from_games(rows))
    (row,) = found.rows
    assert row.average.state == "ok"
    assert "extrapolated beyond turn" in row.average.reason
    assert any("read restricted_mean" in note for note in found.provenance.notes)
    whole = measure(
        Samples.from_games([GameSample("m", "median", i, int(n), 300, "other") for i, n in enumerate(turns)])
    )
    assert whole.rows[0].average.reason == ""
