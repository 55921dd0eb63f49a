"""Running statistics: equal to the textbook at every turn, with an explicit state that is enough to go on."""

import ast
import statistics
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.errors import OptionError
from howsure.track.game.statistics import VARIANTS, shown, statistic

NUMBERS = st.lists(st.integers(0, 12), min_size=1, max_size=25)


def slow_median(seen):
    return statistics.median(seen)


def slow_mode(seen):
    counts = Counter(seen)
    return max(number for number in counts if counts[number] == max(counts.values()))


def slow_inversions(seen):
    return sum(a > b for a, b in combinations(seen, 2))


def slow_spread(seen):
    return statistics.median(abs(a - b) for a, b in combinations(seen, 2)) if len(seen) > 1 else 0


SLOW = {
    "median": slow_median,
    "mode": slow_mode,
    "inversions": slow_inversions,
    "spread": slow_spread,
}


def after(variant, numbers):
    state = statistic(variant)()
    for number in numbers:
        state.update(number)
    return state


def test_every_statistic_of_numbers_has_a_textbook_version_here():
    assert set(SLOW) == {name for name in VARIANTS if not statistic(name).intro()} - {"lookback"}


@pytest.mark.parametrize("variant", SLOW)
@given(numbers=NUMBERS)
def test_the_answer_is_the_textbooks_at_every_turn(variant, numbers):
    state = statistic(variant)()
    for turn, number in enumerate(numbers, 1):
        state.update(number)
        assert state.answer() == SLOW[variant](numbers[:turn])


@pytest.mark.parametrize("variant", SLOW)
def test_large_numbers_and_long_sequences(variant):
    numbers = np.random.default_rng(1).integers(0, 5000, 60).tolist()
    assert after(variant, numbers).answer() == SLOW[variant](numbers)


def test_sequences_and_rolling_answers_are_the_references(reference):
    for seed, told in reference("sequences")["seeds"].items():
        drawn = np.random.default_rng(int(seed)).integers(0, 100, size=300).tolist()
        assert drawn == told["all300"]
        for variant in ("median", "mode"):
            state, answers = statistic(variant)(), []
            for number in drawn[:20]:
                state.update(number)
                answers.append(state.answer())
            assert answers == told[f"rolling_{variant}_first20"]


@given(numbers=NUMBERS)
def test_the_state_of_the_median_is_the_sorted_list(numbers):
    assert ast.literal_eval(after("median", numbers).render()) == sorted(numbers)


@given(numbers=NUMBERS)
def test_the_state_of_the_mode_is_number_to_count_in_plain_integers(numbers):
    rendered = after("mode", numbers).render()
    assert ast.literal_eval(rendered) == Counter(numbers)
    assert "np." not in rendered


def test_mistakes_by_hand():
    median = after("median", [10, 20, 30, 40])
    assert set(median.by_another_rule()) == {20, 30}
    assert set(median.one_off()) == {15, 20, 30, 35}
    assert set(after("median", [10, 20, 30]).one_off()) == {10, 15, 25, 30}
    mode = after("mode", [5, 5, 7, 7, 2])
    assert (mode.answer(), set(mode.by_another_rule()), set(mode.one_off())) == (7, {5}, {2})


@pytest.mark.parametrize("variant", SLOW)
def test_the_chance_of_a_guess_is_what_guesses_show(variant):
    numbers, n = [4, 9, 4, 1, 9, 6], 4000
    state, rng = after(variant, numbers), np.random.default_rng(2)
    hits = sum(state.guess(numbers, rng) == state.answer() for _ in range(n))
    assert hits / n == pytest.approx(state.chance(), abs=4 * np.sqrt(0.25 / n))


def test_an_unknown_variant_is_told_with_the_near_one():
    with pytest.raises(OptionError, match=r"No variant called 'medain'. Did you mean 'median'\?"):
        statistic("medain")


@pytest.mark.parametrize(("answer", "text"), [(28.0, "28"), (40.5, "40.5"), (0, "0"), (1234567, "1234567")])
def test_answers_are_written_as_people_write_them(answer, text):
    assert shown(answer) == text
