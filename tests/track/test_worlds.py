"""States of other kinds: whoever reads the texts alone, as a model does, arrives at the same answers."""

import re

import numpy as np
import pytest

from howsure.errors import OptionError
from howsure.track.game.prompts import instructions, turn_message
from howsure.track.game.sequence import OTHER, Setting
from howsure.track.game.simulated_players import expected_random
from howsure.track.game.statistics import VARIANTS, statistic, usual_name
from howsure.track.running.playing import run_players


def read_lookback(opening, turns):
    seen = []
    for *numbers, question in turns:
        seen += [int(number) for line in numbers for number in line.split(", ")]
        yield seen[-1 - int(re.search(r"is (\d+) place", question)[1])]


def read_permutation(opening, turns):
    row = list(range(1, int(re.match(r"(\d+) cards", opening)[1]) + 1))
    for lines in turns:
        for line in lines:
            row = [row[int(place) - 1] for place in line.removeprefix("New order: ").split()]
        yield row[0]


def read_boxes(opening, turns):
    place = {thing: int(box) for thing, box in re.findall(r"the (\w+) in box (\d+)", opening.partition("\n")[0])}
    for *moves, question in turns:
        for move in moves:
            a, b = map(int, (re.findall(r"[Bb]ox (\d+)", move) * 2)[:2])
            if one := re.match(r"The (\w+) goes", move):
                place[one[1]] = a
            else:
                place = {thing: {a: b, b: a}.get(box, box) for thing, box in place.items()}
        yield place[re.search(r"is the (\w+)\?", question)[1]]


def read_sums(opening, turns):
    values, total = dict(re.findall(r"(\w+) = (\d+)", opening.partition("\n")[0])), 0
    for words in turns:
        total += sum(int(values[word]) for word in words)
        yield total


def read_automaton(opening, turns):
    table = {
        line[0]: dict(re.findall(r"(\d+)→(\d+)", line)) for line in opening.splitlines() if re.match("[abc]: ", line)
    }
    state = "1"
    for symbols in turns:
        for symbol in symbols:
            state = table[symbol][state]
        yield int(state)


def read_repl(opening, turns):
    names = {name: int(value) for name, value in re.findall(r"\b(\w) = (\d+)", opening.partition("\n")[0])}
    for *statements, printed in turns:
        for line in statements:
            exec(line.removeprefix(">>> "), {}, names)
        yield names[re.search(r"print\((\w)\)", printed)[1]]


def read_ledger(opening, turns):
    coins = dict.fromkeys(
        re.search(r"each: ([\w, ]+)\.", opening)[1].split(", "), int(re.search(r"have (\d+)", opening)[1])
    )
    for *gifts, question in turns:
        for gift in gifts:
            giver, taker, given = re.match(r"(\w+) gives (\w+) (\d+) coin", gift).groups()
            coins[giver] -= int(given)
            coins[taker] += int(given)
        assert min(coins.values()) >= 0
        yield coins[re.search(r"does (\w+) have", question)[1]]


READERS = {name.removeprefix("read_"): read for name, read in globals().items() if name.startswith("read_")}
SIZED = [name for name in VARIANTS if statistic(name).sizes[1]]


def test_every_world_has_a_reader():
    assert {*READERS} == {*SIZED, "lookback"}


@pytest.mark.parametrize("updates", [1, 3])
@pytest.mark.parametrize(
    "variant", [*READERS, *(f"{name}-{statistic(name).sizes[i]}" for name in SIZED for i in (0, 1))]
)
def test_the_texts_say_all_that_is_needed(variant, updates):
    setting, kind = Setting(length=40, updates=updates, interference=0.5), statistic(variant)
    state, steps, truth = kind(), setting.steps(variant, 3), []
    for step in steps:
        state.take(step)
        truth.append(state.answer())
    shown = [turn_message(kind, *pair).splitlines() for pair in zip(steps, setting.lines(variant, 3), strict=True)]
    assert any(line.startswith(OTHER) for lines in shown for line in lines)
    mine = [[line for line in lines if not line.startswith(OTHER)] for lines in shown]
    opening = instructions(variant, setting)
    assert list(READERS[kind.name](opening, mine)) == truth
    # the example is read in the same way, and has as many updates in a message
    example = re.findall(r"^Message: (.*?)\nYou: \[\w+: (\d+)\]", opening, re.MULTILINE | re.DOTALL)
    messages = [text.splitlines() for text, _ in example]
    assert [str(answer) for answer in READERS[kind.name](opening, messages)] == [answer for _, answer in example]
    n_lines = len(turn_message(kind, steps[0]).splitlines())
    assert {len(lines) for lines in messages} == {n_lines}


@pytest.mark.parametrize("variant", READERS)
def test_the_probability_of_a_guess_is_what_guesses_show(variant):
    kind, n = statistic(variant), 4000
    updates = kind.updates(5, 4, 0, 10)
    state, rng = kind(), np.random.default_rng(2)
    for one in updates:
        state.update(one)
    said = [kind.guess(updates, rng) for _ in range(n)]
    assert np.mean([one == state.answer() for one in said]) == pytest.approx(state.chance(), abs=4 * np.sqrt(0.25 / n))
    assert min(state.probability(one) for one in said) > 0
    assert sum(state.probability(one) for one in range(2000)) == pytest.approx(1)


@pytest.mark.parametrize("variant", READERS)
def test_the_state_is_enough_to_go_on(variant):
    """Two histories with the same state shown have the same answers to what follows."""
    kind = statistic(variant)
    by_state = {}
    for seed in range(60):
        state = kind()
        for one in kind.updates(seed, 3, 0, 3):
            state.update(one)
        rendered, after = state.render(), []
        for one in kind.updates(999, 4, 0, 3)[1:]:
            state.update(f"{one.split()[0]} 1" if variant == "lookback" else one)
            after.append(state.answer())
        by_state.setdefault(rendered, set()).add(tuple(after))
    assert all(len(answers) == 1 for answers in by_state.values())


@pytest.mark.parametrize("variant", READERS)
def test_memory_limits_what_baselines_reach(variant):
    games = run_players(["oracle", "window-5", "window-20"], [variant], n_samples=30, setting=Setting(length=100)).frame
    oracle, five, twenty = (
        games.filter(model=name)["max_length"].mean() for name in ("oracle", "window-5", "window-20")
    )
    assert oracle == 100
    assert 5 <= five < twenty < 100
    exact = expected_random(variant, range(30), Setting(length=100)).average
    assert exact < 5
    with pytest.raises(OptionError, match="statistics of numbers"):
        run_players(["largest"], [variant], n_samples=1)


def test_the_inverse_rule_of_a_permutation_is_told_apart():
    state = statistic("permutation-3")()
    state.update("231")
    assert (state.answer(), *state.by_another_rule()) == (2, 3)


@pytest.mark.parametrize("name", ["boxes-1", "boxes-21", "boxes-x", "median-3", "permutation-10"])
def test_a_size_that_cannot_be_is_refused(name):
    with pytest.raises(OptionError, match=name):
        statistic(name)


def test_a_usual_size_has_no_name_of_its_own():
    assert [usual_name(name) for name in ("boxes", "boxes-7", "boxes-8", "median")] == [
        "boxes",
        "boxes",
        "boxes-8",
        "median",
    ]


def test_no_symbol_of_the_automaton_forgets_the_start():
    assert all(sorted(after) == list(range(1, 9)) for after in statistic("automaton").table().values())
