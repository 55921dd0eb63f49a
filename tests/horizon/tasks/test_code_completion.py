"""Code tasks: programs that mean the same to Python and to us, answers that are right by what they do."""

import dataclasses
import random
from contextlib import suppress

import pytest

from howsure.horizon.task_bank.code_completion import FilledBlank, MendedLine, _swaps, fill_the_blank, find_the_bug
from howsure.horizon.task_bank.evaluator import Halted, Program, ReferenceProgram, first_difference, passes
from howsure.horizon.task_bank.recipes import LEVELS

RECIPES = [recipe for level in LEVELS for recipe in level]
SUM = ReferenceProgram(
    "f",
    "the sum of the squares in xs",
    "def f(xs):\n    total = 0\n    for x in xs:\n        total = total + x * x\n    return total",
    (([1, 2, 3],), ([],), ([-4, 5],), ([7],)),
)


def python(source, name, call):
    """What Python itself gives; the source is one of ours."""
    space = {}
    exec(source, space)
    return space[name](*call)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.__name__)
def test_programs_mean_the_same_to_python(recipe):
    for seed in range(6):
        sample = recipe(random.Random(seed))
        assert sample.results == tuple(python(sample.source, sample.name, call) for call in sample.calls)
        assert passes(sample.source, sample)
        assert len(set(map(repr, sample.results))) >= 3


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.__name__)
def test_calls_tell_changed_programs_apart_as_well_as_many_more_do(recipe):
    for seed in range(2):
        sample = recipe(random.Random(seed))
        others = [recipe(random.Random(1_000 + other)) for other in range(6)]
        alike = [other for other in others if recipe is not RECIPES[-1] or other.returns == sample.returns]
        fits = [call for other in alike for call in other.calls]
        wider = dataclasses.replace(sample, calls=(*sample.calls, *fits))
        for swap in _swaps(sample.source):
            assert passes(swap.source, sample) == passes(swap.source, wider), swap.text


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.__name__)
def test_changed_programs_mean_the_same_to_python(recipe):
    sample = recipe(random.Random(1))
    for swap in list(_swaps(sample.source))[::3]:
        program = Program(swap.source)
        for call in sample.calls[:4]:
            with suppress(Halted):  # Python itself might never come back from those
                value = program.call(sample.name, *call, budget=sample.budget).value
                assert repr(value) == repr(python(swap.source, sample.name, call))


@pytest.mark.parametrize("difficulty", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_the_shown_bug_is_a_bug_and_the_example_shows_it(difficulty):
    for seed in range(6):
        instance = find_the_bug(random.Random(seed), difficulty)
        assert isinstance(instance.check, MendedLine)
        assert not passes(instance.check.source, instance.check.sample)
        line, _, text = instance.answer.partition(": ")
        shown = instance.check.source.splitlines()[int(line) - 1].strip()
        assert f"{int(line):2}  " in instance.prompt
        assert shown != text
        assert instance.check(f"{line}: {shown}") == 0.0
        assert ("but it returns" in instance.prompt) == (difficulty < 0.5)


BLANK = FilledBlank(SUM, SUM.source.replace("x * x", "____"), ("total", "x", "xs"), ("+", "-", "*", "//", "%"))


@pytest.mark.parametrize(
    "text",
    [
        *("x * x", "x*x", "X * X", "(x * x)", "x ** 2", "abs(x) * abs(x)", "`x * x`", "Answer: x * x.", "x*(x)"),
        *("total = total + x * x", "Answer: total = total + x*x", "sum([x * x])", "x * x if x else 0"),
        "The square is needed.\n\nAnswer: x * x",
        *("x * x # yes", "x * x  # the square; of x", "x * x;", "`x * x;`", "x * x # done;", "x*x ;", "X*X;"),
        *(
            "The blank should be `x * x`.",
            "The blank should be: x * x",
            "The missing piece is x * x.",
            "So the answer is **x * x**.",
        ),
        *(
            "```python\nx * x\n```",
            "```\nx * x  # square\n```",
            "Answer: `x * x`;",
            "total = total + x * x  # sum",
            r"\boxed{x * x}",
        ),
        *("It should be x * x.", "It must be: `x * x`", "The missing piece: `x * x`", "**Missing piece:** `x * x`"),
        *("`x * x` belongs in the blank.", "x*x goes into the blank", "<answer>x * x</answer>", "It should be:\nx * x"),
        *("I square x.\n<answer>\n```python\nx * x\n```\n</answer>", "Add squares.\nIt should be `x * x`."),
    ],
)
def test_a_blank_may_be_filled_by_anything_that_works(text):
    assert BLANK(text) == 1.0


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "x + x", "total", "y * y", "x * x; total = 0", "# x * x", "x *", "x * x\nreturn 5", "x * x)"),
        *("__import__('os').system('true')", "x.real * x", "[].append(1)", "while True: pass", "x * x \\", "x" * 9_999),
        *("9 ** 9 ** 9", "f(xs)", "x\r* x", "x *\fx; pass", "lambda: x * x", "x * x,", "print(x * x)", "[x * x]"),
        *("It should be x + x.", "It should not be x * x.", "The missing piece: `x + x`", "<answer>x + x</answer>"),
        *("`x + x` belongs in the blank.", "`x * x` does not belong in the blank.", "x * x <answer>x</answer>"),
        *("x * x or x + x", "x + x and x * x", "It should be x * x or x + x.", "It should be x * x, not x + x."),
        *("`x + x` or `x * x` belongs in the blank.", "<answer>x * x or x</answer>"),
        *("<answer>x * x</answer>\n<answer>x + x</answer>", "<answer>x + x</answer> <answer>x * x</answer>"),
        *("It should be x + x.\nIt should be x * x.", "The missing piece: `x + x`\n`x * x` belongs in the blank."),
    ],
)
def test_a_blank_is_wrong_otherwise(text):
    assert BLANK(text) == 0.0


def test_all_right_fillings_of_the_asked_form_are_listed():
    assert BLANK.rights() == ("x * x",)
    loose = FilledBlank(SUM, SUM.source.replace("total + x * x", "____"), ("total", "x"), ("+",))
    assert loose.rights() == ()


BUG = MendedLine(SUM, SUM.source.replace("x * x", "x + x"))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "4: total = total + x * x",
            "4:total=total+x*x",
            "line 4: total = total + x * x",
            "4. total = total + x ** 2",
        ),
        *("4) total = x * x + total", "Answer: 4: Total = Total + X * X", "**Answer:** `4: total = total + x * x`"),
        *("4 total = total + x * x", "4: `total = total + x * x`", "4:     total += x * x"),
        *(
            "4: total = total + x * x # done",
            "4: total = total + x * x;",
            "4 - total = total + x * x",
            "4 – total = total + x * x",
        ),
        *(
            "Line 4 should be: total = total + x * x",
            "Line 4 should be `total = total + x * x`.",
            "line 4 must be total += x * x",
        ),
        *(
            "Change line 4 to total = total + x * x",
            "Line 4: `total = total + x * x;`",
            "4 -> total = total + x * x",
            "4 | total = total + x*x",
        ),
        *(
            "Line 4 should read:\n```python\n    total = total + x * x\n```",
            "Line #4: total = total + x * x",
            "4: total=total+x*x # (was x + x)",
        ),
        "The answer is 4: total = total + x * x.",
        *("L4: total = total + x * x", "l4 - total += x * x", "The wrong line is 4: total = total + x * x"),
        *("Wrong line: 4: total = total + x * x", "The wrong line is line 4: `total = total + x * x`"),
        *("The bug is on line 4. It should be: total = total + x * x", "The bug is in line 4: total = total + x * x"),
        "The error is on line 4.\nIt should be:\n```python\ntotal = total + x * x\n```",
        "<answer>4: total = total + x * x</answer>",
    ],
)
def test_a_line_may_be_mended_in_any_way_that_works(text):
    assert BUG(text) == 1.0


@pytest.mark.parametrize(
    "text",
    [
        *("", "4", "4:", "total = total + x * x", "3: total = total + x * x", "4: total = total + x + x", "99: pass"),
        *(
            "0: total = total + x * x",
            "4: import os",
            "4: while True: x = 1",
            "4: total = 14",
            "5: return 14",
            "4: pass",
        ),
        *(
            "4: total = total + x * x; pass",
            "4: # total = total + x * x",
            "4 - total = total - x * x",
            "Line 3 should be: total = total + x * x",
            "Line 4 should not be: total = total + x * x",
            "4 or 3: total = total + x * x",
            "Change line 5 to total = total + x * x",
            "４４４４: x",
            "²: x",
            "4: return",
            "-4: x",
        ),
        *("L3: total = total + x * x", "L4: total = total + x + x", "The wrong line is 3: total = total + x * x"),
        *(
            "The wrong line is not 4: total = total + x * x",
            "The bug is on line 3. It should be: total = total + x * x",
        ),
        *(
            "The bug is on line 4. It should be: total = total + x",
            "The bug is on line 3. Line 4 should be total += x * x",
        ),
        *("The bug is not on line 4. It should be: total = total + x * x", "<answer>3: total = total + x * x</answer>"),
        *("L3 or L4: total = total + x * x", "4: total = total + x * x or total + x + x"),
        "<answer>4: total = total + x * x</answer><answer>3: total = total + x * x</answer>",
    ],
)
def test_a_line_is_wrong_otherwise(text):
    assert BUG(text) == 0.0


def test_all_right_changes_of_one_word_are_listed():
    assert BUG.rights() == ("4: total = total + x * x",)
    assert "one word changed" in find_the_bug(random.Random(0), 0.5).prompt


def test_a_program_that_fails_differs_at_its_first_call():
    number, why = first_difference("def f(xs):\n    return missing", SUM)
    assert (number, type(why)) == (0, Halted)
    assert first_difference("not python", SUM)[0] == 0
    assert first_difference("def f(xs):\n    return float(1)", SUM)[0] == 0
    assert first_difference("def f(xs):\n    return sum([x * x for x in xs])", SUM) is None
    assert first_difference("def f(xs):\n    return 14", SUM) == (1, 14)


def test_true_is_not_one():
    yes = ReferenceProgram("f", "whether n is above 2", "def f(n):\n    return n > 2", ((1,), (3,)))
    assert not passes("def f(n):\n    return 1 if n > 2 else 0", yes)


@pytest.mark.parametrize("difficulty", [0.1, 0.9])
def test_few_of_the_possible_fillings_are_right(difficulty):
    shares = []
    for seed in range(6):
        check = fill_the_blank(random.Random(seed), difficulty).check
        shares.append(len(check.rights()) / (len(check.values) + len(check.values) ** 2 * len(check.operators)))
    assert max(shares) < 0.35
    assert sum(shares) / len(shares) < 0.1


PRIME = ReferenceProgram(
    "f",
    "whether n is prime",
    "def f(n):\n    is_prime = n > 1\n    for d in range(2, n):\n        if n % d == 0:\n            is_prime = False\n    return is_prime",
    ((1,), (2,), (3,), (4,), (9,), (11,)),
)


def test_true_and_false_may_be_written_in_any_case():
    bug = MendedLine(PRIME, PRIME.source.replace("is_prime = False", "d = False"))
    for text in (
        "5: is_prime = false",
        "5: IS_PRIME = FALSE",
        "5:is_prime=False",
        "5: is_prime = not True",
        "5: is_prime = not true",
    ):
        assert bug(text) == 1.0, text
    assert bug("5: is_prime = true") == 0.0
    assert (
        MendedLine(PRIME, PRIME.source.replace("return is_prime", "return n"))("6: returnis_prime") == 1.0
    )  # as a page has it
