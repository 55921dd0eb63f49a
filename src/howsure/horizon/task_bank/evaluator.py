"""A small part of Python, run by an interpreter of our own that cannot reach the machine and always stops soon.

Answers to code tasks are programs by strangers, so none of their text is ever compiled or run by Python itself. `Program` parses it, and refuses what is
not on the short list of `grammar`. Running it walks the tree over plain values: numbers, booleans, None, texts, lists, tuples and ranges. There
are no attributes, imports, classes, closures, keywords, dictionaries or changes in place, so no value leads to anything but its parts. Every step is
counted, every new value is weighed, and what could be huge is weighed before it is made.

Whatever is accepted means what it means in Python.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from howsure.horizon.task_bank.grammar import BINARY, BUILTINS, COMPARE, CONSUMERS, UNARY, Halted, functions_in, refuse

__all__ = ["Budget", "Halted", "Outcome", "Program", "ReferenceProgram", "first_difference", "passes"]

_SEQUENCES = (str, list, tuple, range)
_LIGHT = (bool, float, type(None), slice)
_DEEPEST_VALUE = 8
_FAULTS = (TypeError, ValueError, ArithmeticError, LookupError, RecursionError, MemoryError)


@dataclass(frozen=True)
class Budget:
    """What one call may use: steps in all, elements or letters of a value, bits of a number, blocks and brackets within one another."""

    steps: int = 10_000
    size: int = 2_000
    bits: int = 256
    depth: int = 120


@dataclass(frozen=True)
class Outcome:
    """What a call gave, and how many steps it took."""

    value: Any
    steps: int


class Program:
    """Functions in the offered part of Python; any other text raises `Halted`.

    >>> Program("def double(n):\\n    return n * 2").call("double", 21).value
    42
    """

    def __init__(self, source: str) -> None:
        self._functions = functions_in(source)

    def call(self, name: str, *arguments: Any, budget: Budget | None = None) -> Outcome:
        """Call a function; `Halted` where it fails or needs more than the budget."""
        run = _Run(self._functions, budget or Budget())
        try:
            value = run.call(name, arguments)
        except _FAULTS as error:
            raise Halted(f"{type(error).__name__}: {error}"[:200]) from None
        return Outcome(value, run.steps)


_Names = dict[str, Any]
_BREAK, _CONTINUE = object(), object()


@dataclass(frozen=True)
class _Return:
    value: Any


@dataclass
class _Run:
    """One call and all that it calls, with what has been used so far."""

    functions: Mapping[str, ast.FunctionDef]
    budget: Budget
    steps: int = field(default=0, init=False)
    depth: int = field(default=0, init=False)

    def call(self, name: str, arguments: Sequence[Any]) -> Any:
        function = self.functions.get(name)
        if function is None or len(function.args.args) != len(arguments):
            raise Halted(f"TypeError: no function {name!r} with {len(arguments)} parameters")
        names = dict(zip((one.arg for one in function.args.args), arguments, strict=True))
        end = self.block(function.body, names)
        if end is _BREAK or end is _CONTINUE:
            raise Halted("SyntaxError: break or continue outside a loop")
        return end.value if isinstance(end, _Return) else None

    def block(self, statements: Sequence[ast.stmt], names: _Names) -> object:
        """None where the block ran through, or what ended it."""
        self.enter()
        end = None
        for statement in statements:
            end = _STATEMENTS[type(statement)](self, statement, names)
            if end is not None:
                break
        self.depth -= 1  # not when something was raised: then all is over
        return end

    def do_return(self, node: ast.Return, names: _Names) -> _Return:
        return _Return(None if node.value is None else self.value(node.value, names))

    def do_assign(self, node: ast.Assign, names: _Names) -> None:
        value = self.value(node.value, names)
        for target in node.targets:
            self.bind(target, value, names)

    def do_augmented(self, node: ast.AugAssign, names: _Names) -> None:
        held = self.named(node.target.id, names)  # type: ignore[union-attr]
        if isinstance(held, list):
            refuse("changing a list in place")
        self.bind(node.target, self.binary(node.op, held, self.value(node.value, names)), names)

    def do_if(self, node: ast.If, names: _Names) -> object:
        return self.block(node.body if self.value(node.test, names) else node.orelse, names)

    def do_for(self, node: ast.For, names: _Names) -> object:
        for value in self.elements(node.iter, names):
            self.bind(node.target, value, names)
            end = self.block(node.body, names)
            if end is _BREAK or isinstance(end, _Return):
                return None if end is _BREAK else end
        return None

    def do_while(self, node: ast.While, names: _Names) -> object:
        while self.value(node.test, names):
            end = self.block(node.body, names)
            if end is _BREAK or isinstance(end, _Return):
                return None if end is _BREAK else end
        return None

    def do_expression(self, node: ast.Expr, names: _Names) -> None:
        self.value(node.value, names)

    def bind(self, target: ast.expr, value: Any, names: _Names) -> None:
        if isinstance(target, ast.Name):
            names[target.id] = value
            return
        parts: list[ast.Name] = target.elts  # type: ignore[attr-defined]
        if not isinstance(value, _SEQUENCES) or len(value) != len(parts):
            raise Halted(f"ValueError: not {len(parts)} values to unpack")
        names.update(zip((part.id for part in parts), value, strict=True))

    def value(self, node: ast.expr, names: _Names) -> Any:
        self.enter()
        value = _EXPRESSIONS[type(node)](self, node, names)
        self.depth -= 1
        return value

    def of_name(self, node: ast.Name, names: _Names) -> Any:
        return self.named(node.id, names)

    def named(self, name: str, names: _Names) -> Any:
        if name not in names:
            raise Halted(f"NameError: {name!r} has no value")
        return names[name]

    def of_constant(self, node: ast.Constant, names: _Names) -> Any:
        return self.kept(node.value)

    def of_binary(self, node: ast.BinOp, names: _Names) -> Any:
        return self.binary(node.op, self.value(node.left, names), self.value(node.right, names))

    def binary(self, op: ast.operator, left: Any, right: Any) -> Any:
        _GUARDS.get(type(op), _Run.no_guard)(self, left, right)
        return self.kept(BINARY[type(op)](left, right))

    def no_guard(self, left: Any, right: Any) -> None:
        """The result is hardly larger than what it is made of."""

    def guard_product(self, left: Any, right: Any) -> None:
        for many, times in ((left, right), (right, left)):
            if isinstance(many, _SEQUENCES) and isinstance(times, int):
                self.within(self.weight(many) * times)

    def guard_power(self, base: Any, exponent: Any) -> None:
        if isinstance(base, int) and isinstance(exponent, int):
            self.within_bits(base.bit_length() * max(exponent, 0))

    def guard_shift(self, number: Any, places: Any) -> None:
        if isinstance(places, int):
            self.within_bits(places)

    def guard_remainder(self, left: Any, right: Any) -> None:
        if isinstance(left, str):
            refuse("filling in a text")

    def of_unary(self, node: ast.UnaryOp, names: _Names) -> Any:
        return self.kept(UNARY[type(node.op)](self.value(node.operand, names)))

    def of_boolean(self, node: ast.BoolOp, names: _Names) -> Any:
        value, goes_on = None, isinstance(node.op, ast.And)
        for part in node.values:
            value = self.value(part, names)
            if bool(value) != goes_on:
                break
        return value

    def of_comparison(self, node: ast.Compare, names: _Names) -> bool:
        left = self.value(node.left, names)
        for op, part in zip(node.ops, node.comparators, strict=True):
            right = self.value(part, names)
            self.spend(self.weight(left) + self.weight(right))
            if not COMPARE[type(op)](left, right):
                return False
            left = right
        return True

    def of_choice(self, node: ast.IfExp, names: _Names) -> Any:
        return self.value(node.body if self.value(node.test, names) else node.orelse, names)

    def of_call(self, node: ast.Call, names: _Names) -> Any:
        name: str = node.func.id  # type: ignore[attr-defined]
        if name in CONSUMERS and len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
            return self.kept(BUILTINS[name][0](self.drawn(node.args[0], names)))
        arguments = [self.value(one, names) for one in node.args]
        if name in self.functions:
            return self.call(name, arguments)
        function, most = BUILTINS[name]
        if not 1 <= len(arguments) <= most:
            raise Halted(f"TypeError: {name} takes 1 to {most} arguments")
        self.spend(sum(map(self.weight, arguments)))
        return self.kept(function(*arguments))

    def of_list(self, node: ast.List, names: _Names) -> Any:
        return self.kept([self.value(one, names) for one in node.elts])

    def of_tuple(self, node: ast.Tuple, names: _Names) -> Any:
        return self.kept(tuple([self.value(one, names) for one in node.elts]))

    def of_subscript(self, node: ast.Subscript, names: _Names) -> Any:
        return self.kept(self.elements(node.value, names)[self.value(node.slice, names)])

    def of_slice(self, node: ast.Slice, names: _Names) -> slice:
        ends = (node.lower, node.upper, node.step)
        return slice(*[None if end is None else self.value(end, names) for end in ends])

    def of_comprehension(self, node: ast.ListComp, names: _Names) -> Any:
        return self.kept(list(self.drawn(node, names)))

    def of_generator(self, node: ast.GeneratorExp, names: _Names) -> Any:
        refuse("a generator here")

    def drawn(self, node: ast.ListComp | ast.GeneratorExp, names: _Names) -> Iterator[Any]:
        return self.looped(node.elt, node.generators, dict(names))

    def looped(self, element: ast.expr, loops: Sequence[ast.comprehension], names: _Names) -> Iterator[Any]:
        if not loops:
            yield self.value(element, names)
            return
        for value in self.elements(loops[0].iter, names):
            self.spend(1)
            self.bind(loops[0].target, value, names)
            if all(self.value(test, names) for test in loops[0].ifs):
                yield from self.looped(element, loops[1:], names)

    def elements(self, node: ast.expr, names: _Names) -> Sequence[Any]:
        value: Sequence[Any] = self.value(node, names)
        if not isinstance(value, _SEQUENCES):
            raise Halted("TypeError: only texts, lists, tuples and ranges have elements")
        return value

    def spend(self, n_steps: int) -> None:
        self.steps += n_steps
        if self.steps > self.budget.steps:
            raise Halted(f"more than {self.budget.steps:,} steps")

    def enter(self) -> None:
        self.depth += 1
        if self.depth > self.budget.depth:
            raise Halted(f"more than {self.budget.depth} blocks and brackets within one another")
        self.spend(1)

    def kept(self, value: Any) -> Any:
        """The same value, paid for by its weight."""
        self.spend(self.weight(value))
        return value

    def weight(self, value: Any, nesting: int = 0) -> int:
        """Elements and letters in a value, each as often as it can be reached; too large or foreign values halt."""
        kind = type(value)
        if kind is int:
            return self.within_bits(value.bit_length())
        if kind is str or kind is range:
            return self.within(len(value))
        if kind is list or kind is tuple:
            if nesting > _DEEPEST_VALUE:
                refuse("so many lists in one another")
            return self.within(self.within(len(value)) + sum([self.weight(one, nesting + 1) for one in value]))
        if kind not in _LIGHT:
            refuse(f"a value of type {kind.__name__}")
        return 0

    def within(self, size: int) -> int:
        if size > self.budget.size:
            raise Halted(f"a value of more than {self.budget.size:,} elements or letters")
        return size

    def within_bits(self, bits: int) -> int:
        if bits > self.budget.bits:
            raise Halted(f"a number of more than {self.budget.bits} bits")
        return 0


_STATEMENTS: Mapping[type[ast.stmt], Callable[[_Run, Any, _Names], object]] = {
    ast.Return: _Run.do_return,
    ast.Assign: _Run.do_assign,
    ast.AugAssign: _Run.do_augmented,
    ast.If: _Run.do_if,
    ast.For: _Run.do_for,
    ast.While: _Run.do_while,
    ast.Expr: _Run.do_expression,
    ast.Break: lambda *_: _BREAK,
    ast.Continue: lambda *_: _CONTINUE,
    ast.Pass: lambda *_: None,
}
_EXPRESSIONS: Mapping[type[ast.expr], Callable[[_Run, Any, _Names], Any]] = {
    ast.Name: _Run.of_name,
    ast.Constant: _Run.of_constant,
    ast.BinOp: _Run.of_binary,
    ast.UnaryOp: _Run.of_unary,
    ast.BoolOp: _Run.of_boolean,
    ast.Compare: _Run.of_comparison,
    ast.IfExp: _Run.of_choice,
    ast.Call: _Run.of_call,
    ast.List: _Run.of_list,
    ast.Tuple: _Run.of_tuple,
    ast.Subscript: _Run.of_subscript,
    ast.Slice: _Run.of_slice,
    ast.ListComp: _Run.of_comprehension,
    ast.GeneratorExp: _Run.of_generator,
}
_GUARDS: Mapping[type[ast.operator], Callable[[_Run, Any, Any], None]] = {
    ast.Mult: _Run.guard_product,
    ast.Pow: _Run.guard_power,
    ast.LShift: _Run.guard_shift,
    ast.Mod: _Run.guard_remainder,
}


# A short Python function: what it returns in words, how it is written, and calls that tell it from others.


@dataclass(frozen=True)
class ReferenceProgram:
    """A right program: the function's ``name``, what it ``returns``, its ``source``, and ``calls`` to compare it by."""

    name: str
    returns: str
    source: str
    calls: tuple[tuple[Any, ...], ...]

    @cached_property
    def outcomes(self) -> tuple[Outcome, ...]:
        """What it gives to each call, and how many steps that takes."""
        program = Program(self.source)
        return tuple(program.call(self.name, *call) for call in self.calls)

    @property
    def results(self) -> tuple[Any, ...]:
        """What it gives to each call."""
        return tuple(outcome.value for outcome in self.outcomes)

    @cached_property
    def budget(self) -> Budget:
        """What another program may use that does the same: three times as many steps, and some to spare."""
        return Budget(steps=3 * max(outcome.steps for outcome in self.outcomes) + 300)

    def shown(self, number: int) -> str:
        """One of the calls, as one writes it."""
        return f"{self.name}({', '.join(map(repr, self.calls[number]))})"


def passes(source: str, sample: ReferenceProgram) -> bool:
    """Whether another program does the same as a sample on all its calls."""
    return first_difference(source, sample) is None


def first_difference(source: str, sample: ReferenceProgram) -> tuple[int, Any] | None:
    """The number of the first call on which a program differs, and what it gives there (`Halted` if nothing); None where it never does."""
    try:
        program = Program(source)
    except Halted as halted:
        return 0, halted
    for number, (call, result) in enumerate(zip(sample.calls, sample.results, strict=True)):
        try:
            value = program.call(sample.name, *call, budget=sample.budget).value
        except Halted as halted:
            return number, halted
        if value != result or type(value) is not type(result):
            return number, value
    return None
