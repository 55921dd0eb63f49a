"""An eval as tests: pytest examples/ci/test_assistant.py. One wrong answer does not fail it; evidence of less than 60 % does."""

import random

import pytest

QUESTIONS = [(a, b) for a in range(2, 12) for b in range(2, 8)]


def ask(a, b, repeat):
    """Stands for a model: it fails at hard products."""
    noise = random.Random(f"{a} {b} {repeat}").random()
    return a * b if noise > a * b / 150 else a + b


@pytest.mark.eval(name="products", at_least=0.6, repeats=3)
@pytest.mark.parametrize(("a", "b"), QUESTIONS)
def test_products(a, b, howsure_repeat):
    """One item."""
    assert ask(a, b, howsure_repeat) == a * b
