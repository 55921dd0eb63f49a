"""Short Python: fill the blank, find the bug. An answer is right if the program then does what it should on a dozen calls.

What was typed is run by `evaluator`, never by Python. Prompts ask for a form in which there are few possible answers (two values and an operator; one word of
one line), so that all right ones can be listed for a page; the check itself accepts any expression, or any line, that makes the program right.
"""

from __future__ import annotations

import ast
import io
import itertools
import keyword
import random
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from howsure.horizon.task_bank.base import Checker, Instance, TaskFamily
from howsure.horizon.task_bank.evaluator import ReferenceProgram, first_difference, passes
from howsure.horizon.task_bank.grammar import BUILTINS, Halted
from howsure.horizon.task_bank.recipes import FUNCTION_NAMES, draw_program
from howsure.people.questions import bare, plain_form, readings

__all__ = ["FAMILIES", "FilledBlank", "MendedLine"]

_BLANK = "____"
_LONGEST_ANSWER = 200
_N_VALUES = 6
_ARITHMETIC = ("+", "-", "*", "//", "%")
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


def fill_the_blank(rng: random.Random, difficulty: float) -> Instance:
    """A program in which one expression is missing."""
    sample = draw_program(rng, difficulty)
    node = _drawn_blank(rng, sample.source, difficulty)
    operators = _COMPARISONS if isinstance(node, ast.Compare) else _ARITHMETIC
    check = FilledBlank(sample, _cut(sample.source, node), _drawn_values(rng, sample.source, node), operators)
    prompt = f"""This Python function should return {sample.returns}. A piece of it is missing at {_BLANK}.

{check.source}

For example, {sample.shown(0)} should return {sample.results[0]!r}.

What belongs in the blank? Write one value, or two values with one operator between them.
Values: {"  ".join(check.values)}
Operators: {"  ".join(check.operators)}

Answer with the missing piece alone. If you write anything else, end with a line that says Answer: and then the piece."""
    return Instance(prompt, ast.unparse(node), None, check)


def find_the_bug(rng: random.Random, difficulty: float) -> Instance:
    """A program in which one word is wrong."""
    sample = draw_program(rng, difficulty)
    bug, (number, value) = _drawn_bug(rng, sample)
    shown = "\n".join(f"{place:2}  {line}" for place, line in enumerate(bug.source.splitlines(), 1))
    hint = f"For example, {sample.shown(number)} should return {sample.results[number]!r}"
    hint += f", but it returns {value!r}." if difficulty < 0.5 and not isinstance(value, Halted) else "."
    right = sample.source.splitlines()[bug.line - 1].strip()
    prompt = f"""This Python function should return {sample.returns}. One word in it is wrong: a name, an operator, or a number that is off by one.

{shown}

{hint}

Answer with the number of the wrong line, a colon, and the line as it should be, with that one word changed; for instance  2: n = 0
If you write anything else, end with a line that says Answer: and then that."""
    return Instance(prompt, f"{bug.line}: {right}", None, MendedLine(sample, bug.source))


FAMILIES = (
    TaskFamily("fill_the_blank", "A short Python function with a piece missing.", "automated", fill_the_blank),
    TaskFamily("find_the_bug", "A short Python function with one wrong word.", "automated", find_the_bug),
)


@dataclass(frozen=True)
class FilledBlank(Checker):
    """Right where the program works once the blank is filled."""

    sample: ReferenceProgram
    source: str
    values: tuple[str, ...]
    operators: tuple[str, ...]

    def __call__(self, text: str) -> float:
        """1 or 0."""
        return float(any(map(self._is_right, readings(text))))

    def rights(self) -> tuple[str, ...]:
        """Every right answer of the form that is asked for."""
        return tuple(piece for piece in self._asked_for() if passes(self._filled(piece), self.sample))

    def _asked_for(self) -> Iterator[str]:
        """Every answer of the form that is asked for."""
        yield from self.values
        yield from map(" ".join, itertools.product(self.values, self.operators, self.values))

    def _is_right(self, reading: str) -> bool:
        return any(passes(source, self.sample) for source in self._fillings(_code_alone(reading)))

    def _fillings(self, piece: str) -> Iterator[str]:
        if not _is_one_piece(piece, self.source):
            return
        # what a page calls right: it knows answers by their letters alone, without spaces and case
        yield from (self._filled(one) for one in self._asked_for() if plain_form(one) == plain_form(piece))
        blank_line = next(line for line in self.source.splitlines() if _BLANK in line)
        for spelt in dict.fromkeys((piece, _respelt(piece, self.source))):
            yield self._filled(spelt)
            yield self.source.replace(blank_line, _indent(blank_line) + spelt)  # some write the whole line

    def _filled(self, piece: str) -> str:
        return self.source.replace(_BLANK, piece)


@dataclass(frozen=True)
class MendedLine(Checker):
    """Right where the program works once a line of it is changed."""

    sample: ReferenceProgram
    source: str

    def __call__(self, text: str) -> float:
        """1 or 0."""
        return float(any(map(self._is_right, readings(text))))

    def rights(self) -> tuple[str, ...]:
        """Every right change of one word."""
        return tuple(swap.answer for swap in _swaps(self.source) if passes(swap.source, self.sample))

    def _is_right(self, reading: str) -> bool:
        return any(passes(source, self.sample) for source in self._mended(reading))

    def _mended(self, reading: str) -> Iterator[str]:
        said = _LINE.fullmatch(reading)
        lines = self.source.splitlines()
        if not said or not 1 <= int(said["number"]) <= len(lines):
            return
        number, piece = int(said["number"]), _code_alone(said["line"])
        if not _is_one_piece(piece, self.source):
            return
        # what a page calls right: it knows answers by their letters alone, without spaces and case
        told = plain_form(f"{number}: {piece}")
        yield from (swap.source for swap in _swaps(self.source) if plain_form(swap.answer) == told)
        for spelt in dict.fromkeys((piece, _respelt(piece, self.source))):
            changed = _indent(lines[number - 1]) + spelt
            yield "\n".join((*lines[: number - 1], changed, *lines[number:]))


_LINE = re.compile(
    r"(?:(?:change|correct|fix|replace) +|(?:the +)?(?:bug|error|fault|mistake|problem) +is +(?:in|on|at) +)?"
    r"(?:the +)?(?:(?:wrong|faulty|incorrect) +)?(?:line *(?:(?:is|:) +(?:line +)?)?|l)?(?:number +|no\. *|# *)?(?P<number>[0-9]{1,2})"
    r"(?:[.,:;]?\s+(?:it +)?(?:should|must|has to) +(?:be|read|say)| +becomes| +to| +with| +is)?(?!\w)"
    r"\s*(?:[:.)|]|-+>?|[–—→])?\s*(?P<line>.+)",
    re.IGNORECASE | re.DOTALL,
)
"""A line with its number before it: ``3: line``, ``L3 - line``, ``Line 3 should be: line``, ``Change line 3 to line``, ``The bug is on line 3. It should be: line``."""


def _code_alone(text: str) -> str:
    """Without quotes around it, a comment or a semicolon at its end."""
    code = bare(text)
    if "#" in code:
        code = bare(code[: code.index("#")])  # no program here has a text that could hold one
    return bare(code.rstrip("; "))


def _respelt(piece: str, source: str) -> str:
    """With the words of the program, and of Python, as they are written there: Total as total, false as False."""
    words = {*re.findall(r"[A-Za-z_]\w*", source), *keyword.kwlist, *BUILTINS}
    known = {word.lower(): word for word in sorted(words)}
    return re.sub(
        r"[A-Za-z_]\w*", lambda word: word[0] if word[0] in words else known.get(word[0].lower(), word[0]), piece
    )


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _is_one_piece(text: str, source: str) -> bool:
    """Short, on one line, and neither a second statement nor a way to comment out what follows; nor two answers, as in "x + 1 or x - 1"."""
    is_short = len(text) <= _LONGEST_ANSWER and len(text.splitlines()) == 1
    joined = {"or", "and"} & set(re.findall(r"\w+", text.lower()))
    return is_short and not set(text) & set(";#\\") and joined <= set(re.findall(r"\w+", source))


def _drawn_blank(rng: random.Random, source: str, difficulty: float) -> ast.expr:
    """A pair of values the more often the harder, else one value."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.expr)]
    pairs = [node for node in nodes if _is_pair(node)]
    is_pair = pairs and rng.random() < 0.3 + 0.7 * difficulty
    return rng.choice(
        pairs if is_pair else [node for node in nodes if _is_value(node) and not isinstance(node, ast.Constant)]
    )


def _drawn_values(rng: random.Random, source: str, node: ast.expr) -> tuple[str, ...]:
    """The values that the blank needs, and others that the program uses."""
    needed = {ast.unparse(part) for part in _operands(node)}
    others = sorted({ast.unparse(one) for one in ast.walk(ast.parse(source)) if _is_value(one)} - needed)
    return tuple(sorted(needed | set(rng.sample(others, min(len(others), _N_VALUES - len(needed))))))


def _operands(node: ast.expr) -> tuple[ast.expr, ...]:
    match node:
        case ast.BinOp():
            return node.left, node.right
        case ast.Compare():
            return node.left, node.comparators[0]
    return (node,)


def _is_pair(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp | ast.Compare) and all(map(_is_value, _operands(node)))


def _is_value(node: ast.AST) -> bool:
    match node:
        case ast.Name(ctx=ast.Load()):
            return node.id not in BUILTINS and node.id not in FUNCTION_NAMES
        case ast.Constant():
            return type(node.value) is int
        case ast.Subscript(value=ast.Name(), slice=ast.Name() | ast.Constant()):
            return True
        case ast.Call(func=ast.Name("len"), args=[ast.Name()]):
            return True
    return False


def _cut(source: str, node: ast.expr) -> str:
    lines = source.splitlines()
    line = lines[node.lineno - 1]
    lines[node.lineno - 1] = line[: node.col_offset] + _BLANK + line[node.end_col_offset :]
    return "\n".join(lines)


@dataclass(frozen=True)
class _Swap:
    """A program in which one word is another: the line (counted from 1), and how it reads now."""

    source: str
    line: int
    text: str

    @property
    def answer(self) -> str:
        """As the prompt asks for it."""
        return f"{self.line}: {self.text}"


def _drawn_bug(rng: random.Random, sample: ReferenceProgram) -> tuple[_Swap, tuple[int, Any]]:
    """A changed word that shows, rather in what the program returns than in its failing; and where it shows."""
    swaps = list(_swaps(sample.source))
    rng.shuffle(swaps)
    failing = None
    for swap in swaps:
        difference = first_difference(swap.source, sample)
        if difference and not isinstance(difference[1], Halted):
            return swap, difference
        failing = failing or (difference and (swap, difference))
    assert failing, "every program has a word that matters"
    return failing


def _swaps(source: str) -> Iterator[_Swap]:
    """Every program in which one name, operator or number is another of its kind."""
    lines = source.splitlines()
    words = [token for token in tokenize.generate_tokens(io.StringIO(source).readline) if token.string.strip()]
    names = sorted({word.string for word in words if _is_variable(word)})
    for word in words:
        row, start = word.start
        if lines[row - 1].startswith("def "):
            continue
        for other in _others(word, names):
            text = lines[row - 1][:start] + other + lines[row - 1][word.end[1] :]
            yield _Swap("\n".join((*lines[: row - 1], text, *lines[row:])), row, text.strip())


def _is_variable(word: tokenize.TokenInfo) -> bool:
    is_taken = keyword.iskeyword(word.string) or word.string in BUILTINS or word.string in FUNCTION_NAMES
    return word.type == tokenize.NAME and not is_taken


def _others(word: tokenize.TokenInfo, names: list[str]) -> list[str]:
    if word.type == tokenize.NUMBER:
        return [str(number) for number in (int(word.string) - 1, int(word.string) + 1) if number >= 0]
    kinds = (names if _is_variable(word) else (), _ARITHMETIC, _COMPARISONS)
    return [other for kind in kinds if word.string in kind for other in kind if other != word.string]
