"""Token estimates: near what was published, and adding up."""

import pytest

from howsure.errors import OptionError
from howsure.track.game.sequence import Setting
from howsure.track.running.costs import Prices, count_tokens, estimate_tokens

# tokens of 250 games as the eval's authors report them for chat models; an answer took them about six tokens
PUBLISHED = [
    ("mode", "direct", 670_000, 10_000),
    ("mode", "direct", 3_050_000, 30_000),
    ("mode", "explicit", 2_710_000, 30_000),
    ("mode", "explicit", 8_580_000, 50_000),
    ("median", "direct", 430_000, 10_000),
    ("median", "direct", 690_000, 10_000),
    ("median", "explicit", 880_000, 10_000),
    ("median", "explicit", 1_430_000, 20_000),
]


@pytest.mark.parametrize(("variant", "solver", "read", "written"), PUBLISHED)
def test_published_use_is_met_within_a_third_or_so(variant, solver, read, written):
    found = estimate_tokens(variant, solver, turns=written / 250 / 6, n_samples=250)
    assert found.input_tokens == pytest.approx(read, rel=0.35)
    assert found.output_tokens == pytest.approx(written, rel=0.35)


def test_two_turns_by_hand():
    found = estimate_tokens("median", turns=2, n_samples=1, setting=Setting(length=2))
    once = estimate_tokens("median", turns=1, n_samples=1, setting=Setting(length=1))
    opening = once.input_tokens
    answer = once.output_tokens
    # the second turn reads the first again, with its answer, and one more number
    number = 1 + 4
    assert found.input_tokens == opening + (opening + answer + 4 + number)
    assert found.repeated_tokens == opening


def test_games_that_all_end_at_once_are_one_turn_each():
    found = estimate_tokens("mode", turns=0, n_samples=10)
    assert found.repeated_tokens == 0
    assert found.output_tokens == 10 * count_tokens("[mode: 5]")


def test_use_grows_with_turns_state_distractors_and_reasoning():
    base = estimate_tokens("mode", turns=50, n_samples=250)
    assert estimate_tokens("mode", turns=100, n_samples=250).input_tokens > 3 * base.input_tokens
    assert estimate_tokens("mode", "explicit", turns=50, n_samples=250).input_tokens > base.input_tokens
    noisy = estimate_tokens("mode", turns=50, n_samples=250, setting=Setting(distractors=1))
    assert noisy.input_tokens > base.input_tokens
    reasoned = estimate_tokens("mode", turns=50, n_samples=250, extra_output=100)
    assert reasoned.output_tokens == pytest.approx(base.output_tokens + 100 * 250 * 51, rel=0.01)


def test_the_price_adds_up():
    found = estimate_tokens("mode", turns=50, n_samples=250)
    read, again, written = found.input_tokens, found.repeated_tokens, found.output_tokens
    assert found.cost(Prices(2, 8)) == pytest.approx((2 * read + 8 * written) / 1e6)
    assert found.cost(Prices(2, 8, 0.5)) == pytest.approx((2 * (read - again) + 0.5 * again + 8 * written) / 1e6)


@pytest.mark.parametrize("wrong", [{"turns": 301}, {"turns": -1}, {"turns": 5, "solver": "clever"}])
def test_what_cannot_be_is_refused(wrong):
    with pytest.raises(OptionError):
        estimate_tokens("mode", n_samples=1, **wrong)
