"""Puzzles read from their prompts alone, as a solver would, and solved by brute force: one solution, and it is the answer."""

import random
import re
from itertools import permutations, product

import pytest

from howsure.horizon.task_bank.logic_puzzle import SCENES, draw_grid, seating, solutions, sudoku
from howsure.horizon.task_bank.pattern_recognition import LEVELS, continuations, letters, numbers, rows


def grids(side, height, width, given):
    """All fillings, row by row from permutations: another way than ours."""
    rows_left = [[p for p in permutations(range(1, side + 1)) if fits(p, row)] for row in given]

    def extend(done):
        if len(done) == side:
            yield done
            return
        for row in rows_left[len(done)]:
            grown = [*done, row]
            if all(len({r[c] for r in grown}) == len(grown) for c in range(side)) and boxes_fit(grown, height, width):
                yield from extend(grown)

    return list(extend([]))


def fits(row, given):
    return all(want is None or want == have for have, want in zip(row, given, strict=True))


def boxes_fit(done, height, width):
    top = (len(done) - 1) // height * height
    band = done[top:]
    return all(
        len({n for row in band for n in row[left : left + width]}) == len(band) * width
        for left in range(0, len(done[0]), width)
    )


@pytest.mark.parametrize("difficulty", [0.0, 0.2, 0.45, 0.5, 0.75, 1.0])
def test_a_sudoku_has_one_solution_and_the_labels_ask_for_it(difficulty):
    for seed in range(3):
        instance = sudoku(random.Random(seed), difficulty)
        lines = [line for line in instance.prompt.split("\n\n")[1].splitlines() if "--" not in line]
        cells = [line.replace("|", "").split() for line in lines]
        given = [[int(cell) if cell.isdigit() else None for cell in row] for row in cells]
        (solved,) = grids(len(cells), 2, len(cells) // 2, given)
        asked = {cells[r][c]: solved[r][c] for r, c in product(range(len(cells)), repeat=2) if cells[r][c].isalpha()}
        assert "".join(str(asked[label]) for label in sorted(asked)) == instance.answer


def test_all_288_small_sudokus_are_found():
    assert len(list(solutions([0] * 16, 4))) == 288


def test_cells_are_emptied_while_one_solution_is_left():
    grid = draw_grid(random.Random(1), 4, 16)
    assert len(list(solutions(grid.given, 4))) == 1
    for cell, number in enumerate(grid.given):
        if number:
            assert len(list(solutions([*grid.given[:cell], 0, *grid.given[cell + 1 :]], 4))) > 1


def holds(clue, at, scene):
    """What a clue says of places, read from its words."""
    n = len(at)
    pattern = re.escape(scene.place).replace(r"\{k\}", r"(\d)")
    if said := re.fullmatch(rf"(\w+) is in {pattern}\.", clue):
        return at[said[1]] == int(said[2])
    if said := re.fullmatch(rf"(\w+) is neither in the {scene.start} nor in the {scene.end}\.", clue):
        return at[said[1]] not in (1, n)
    if said := re.fullmatch(rf"(\w+) is directly {scene.before} (\w+)\.", clue):
        return at[said[1]] == at[said[2]] - 1
    if said := re.fullmatch(rf"(\w+) is directly {scene.after} (\w+)\.", clue):
        return at[said[1]] == at[said[2]] + 1
    if said := re.fullmatch(rf"(\w+) is somewhere {scene.after} (\w+)\.", clue):
        return at[said[1]] > at[said[2]]
    if said := re.fullmatch(r"(\w+) is somewhere between (\w+) and (\w+)\.", clue):
        return min(at[said[2]], at[said[3]]) < at[said[1]] < max(at[said[2]], at[said[3]])
    if said := re.fullmatch(r"(\w+) and (\w+) are (not )?next to each other\.", clue):
        return (abs(at[said[1]] - at[said[2]]) == 1) != bool(said[3])
    said = re.fullmatch(r"(One person is|(\d) people are) between (\w+) and (\w+)\.", clue)
    return abs(at[said[3]] - at[said[4]]) - 1 == int(said[2] or 1)


@pytest.mark.parametrize("difficulty", [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
def test_clues_leave_one_order_and_none_can_be_spared(difficulty):
    for seed in range(2):
        instance = seating(random.Random(seed), difficulty)
        story, listed, _ = instance.prompt.split("\n\n")
        scene = next(scene for scene in SCENES if f"from the {scene.start} to the {scene.end}" in instance.prompt)
        names, clues = re.findall(r"\w+", story.partition(": ")[2]), re.findall(r"^- (.+)$", listed, re.M)
        orders = [dict(zip(order, range(1, 10), strict=False)) for order in permutations(names)]
        truth = [[holds(clue, at, scene) for clue in clues] for at in orders]
        fitting = ["".join(name[0] for name in at) for at, held in zip(orders, truth, strict=True) if all(held)]
        assert fitting == [instance.answer]
        for spared in range(len(clues)):
            left = sum(all(h for place, h in enumerate(held) if place != spared) for held in truth)
            assert left > 1 or len(clues) == 1


def test_names_in_full_are_read_too():
    instance = seating(random.Random(3), 0.5)
    order = [answer for answer in instance.accepted() if ", " in answer]
    assert instance.check(f"Answer: {order[0].title()}") == 1.0
    assert instance.check(" - ".join(order[0].split(", "))) == 1.0
    assert instance.check("-".join(instance.answer)) == 1.0
    assert instance.check(instance.answer[::-1]) == 0.0


def test_sudoku_cells_may_be_named_in_the_answer():
    instance = sudoku(random.Random(3), 0.8)
    named = ", ".join(f"{name}: {digit}" for name, digit in zip("ABCDE", instance.answer, strict=True))
    assert instance.check(f"Answer: {named}") == 1.0
    assert instance.check(f"Answer: {named} and 7") == 0.0


STATED = [kind for level in LEVELS for kind in level]


@pytest.mark.parametrize("kind", STATED, ids=range(len(STATED)))
def test_every_kind_of_sequence_knows_how_its_own_go_on(kind):
    for seed in range(40):
        drawn = kind.draw(random.Random(seed), 12)
        assert drawn[11] in kind.goes_on(drawn[:11])
        assert drawn[11] + 1 not in kind.goes_on(drawn[:11])


@pytest.mark.parametrize(
    ("shown", "following"),
    [
        ([2, 4, 6, 8, 10, 12, 14, 16], {18}),
        ([1, 4, 9, 16, 25, 36, 49, 64], {81}),
        ([3, 5, 9, 17, 33, 65, 129, 257], {513}),
        ([1, 10, 2, 20, 3, 30], {4}),
        ([2, 5, 10, 13, 26, 29, 58, 61], {122}),
        ([1, 1, 2, 3, 5, 8, 13, 21], {34}),
        ([1, 8, 27, 64, 125, 216, 343, 512], {729}),
        ([4, 1, 3, 12, 5, 0, 7, 7], set()),
    ],
)
def test_sequences_that_everybody_knows(shown, following):
    assert continuations(shown, STATED) == following


@pytest.mark.parametrize("level", range(5))
def test_all_stated_rules_that_fit_agree_on_the_answer(level):
    for seed in range(15):
        instance = numbers(random.Random(seed), level / 5 + 0.1)
        shown = [int(word) for word in instance.prompt.split("\n\n")[1].replace(", …", "").split(", ")]
        stated = [kind for kind in STATED if kind.words in instance.prompt]
        assert len(stated) == [1, 3, 5, 7, 9][level]
        assert continuations(shown, stated) == {int(instance.answer)}


@pytest.mark.parametrize("difficulty", [0.0, 0.3, 0.6, 0.95])
def test_letters_follow_the_stated_rule_and_no_other_growth_fits(difficulty):
    for seed in range(10):
        instance = letters(random.Random(seed), difficulty)
        *shown, _ = instance.prompt.split("\n\n")[1].split()
        for place, wanted in enumerate(instance.answer):
            row = [ord(group[place]) - 65 for group in shown]
            growths = range(26) if "itself" in instance.prompt else [0]
            found = set()
            for start, step, growth in product([row[0]], range(26), growths):
                made = [(start + n * step + growth * n * (n - 1) // 2) % 26 for n in range(len(row) + 1)]
                if made[:-1] == row:
                    found.add(chr(65 + made[-1]))
            assert found == {wanted}


@pytest.mark.parametrize(
    ("difficulty", "rules"),
    [
        (0.1, [(0, 1, q, r) for q in (-1, 1) for r in range(-9, 10)]),
        (0.4, [(0, p, q, 0) for p in range(1, 6) for q in range(1, 6)]),
        (0.7, [(0, p, q, r) for p in range(-4, 5) for q in range(-4, 5) for r in range(-20, 21)]),
        (0.9, [(1, p, q, r) for p in range(-4, 5) for q in range(-4, 5) for r in range(-20, 21)]),
    ],
)
def test_rows_have_one_completion_among_the_stated_rules(difficulty, rules):
    for seed in range(6):
        instance = rows(random.Random(seed), difficulty)
        table = [re.findall(r"-?\d+|\?", line) for line in instance.prompt.split("\n\n")[1].splitlines()]
        *full, last = [[cell if cell == "?" else int(cell) for cell in row] for row in table]
        fitting = [k for k in rules if all(k[0] * a * b + k[1] * a + k[2] * b + k[3] == c for a, b, c in full)]
        found = set()
        for both, p, q, r in fitting:
            for guess in range(-250, 251):
                a, b, c = (guess if cell == "?" else cell for cell in last)
                if both * a * b + p * a + q * b + r == c:
                    found.add(guess)
        assert found == {int(instance.answer)}


def test_digits_belong_to_their_cells_and_words_are_no_digits():
    instance = sudoku(random.Random(3), 0.8)
    digits = instance.answer
    named = [f"{cell}: {digit}" for cell, digit in zip("ABCDE", digits, strict=True)]
    assert instance.check(", ".join(reversed(named))) == 1.0
    assert instance.check(" and ".join(named)) == instance.check("-".join(digits)) == 1.0
    swapped = [f"{cell}={digit}" for cell, digit in zip("BACDE", digits, strict=True)]
    assert instance.check(", ".join(swapped)) == float(digits[0] == digits[1])
    for text in ("not {}", "{}?", "{} apples", "1 {}", "cell {}"):
        assert instance.check(text.format(digits)) == 0.0, text


def test_names_in_a_row_may_be_joined_by_words_or_by_nothing():
    instance = seating(random.Random(3), 0.3)
    names = next(right for right in instance.check.rights() if ", " in right).split(", ")
    for text in (" and ".join(names), ", then ".join(names), "".join(names), "-".join(names), " > ".join(names)):
        assert instance.check(text) == 1.0, text
    for text in ("not " + " ".join(names), " ".join(reversed(names)), " or ".join(names)):
        assert instance.check(text) == 0.0, text
