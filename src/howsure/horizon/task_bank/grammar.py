"""Which part of Python the evaluator runs: a short list, and everything else is refused before anything is run."""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

__all__ = ["BINARY", "BUILTINS", "COMPARE", "CONSUMERS", "UNARY", "Halted", "functions_in", "refuse"]

_LONGEST_SOURCE = 2_000
_DEEPEST_SOURCE = 40
_NO_FILE = "<answer>"  # in whose absence Python looks for the line to quote with a syntax error

BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
UNARY: dict[type[ast.AST], Callable[[Any], Any]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
COMPARE: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda one, many: one in many,
    ast.NotIn: lambda one, many: one not in many,
}
# how many arguments each may have keeps odd forms out: sums of lists, texts in other bases
BUILTINS: dict[str, tuple[Callable[..., Any], int]] = {
    "abs": (abs, 1),
    "all": (all, 1),
    "any": (any, 1),
    "bool": (bool, 1),
    "int": (int, 1),
    "len": (len, 1),
    "list": (list, 1),
    "max": (max, 9),
    "min": (min, 9),
    "range": (range, 3),
    "sorted": (sorted, 1),
    "str": (str, 1),
    "sum": (sum, 1),
    "tuple": (tuple, 1),
}
CONSUMERS = frozenset({"all", "any", "list", "max", "min", "sorted", "sum", "tuple"})
"""Those that take a generator."""

_OFFERED = frozenset(
    {
        *(ast.Module, ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.Assign, ast.AugAssign, ast.Expr),
        *(ast.If, ast.For, ast.While, ast.Break, ast.Continue, ast.Pass),
        *(ast.Name, ast.Load, ast.Store, ast.Constant, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.And, ast.Or),
        *(ast.Compare, ast.IfExp, ast.Call, ast.List, ast.Tuple, ast.Subscript, ast.Slice),
        *(ast.ListComp, ast.GeneratorExp, ast.comprehension),
        *BINARY,
        *UNARY,
        *COMPARE,
    }
)


class Halted(Exception):  # noqa: N818 - the usual end of a wrong answer, not a fault of ours
    """Why a program was refused, or stopped before its end."""


def functions_in(source: str) -> dict[str, ast.FunctionDef]:
    """The functions that a text defines; `Halted` where it holds anything that is not offered."""
    tree = _parsed(source)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if len(functions) != len(tree.body):
        refuse("anything but functions with different names")
    _look_through(tree, frozenset(functions))
    return functions


def refuse(what: str) -> NoReturn:
    """Say that something is not offered."""
    raise Halted(f"{what} is not offered")


def _parsed(source: str) -> ast.Module:
    if len(source) > _LONGEST_SOURCE:
        raise Halted(f"more than {_LONGEST_SOURCE:,} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd escapes and the like, which concern nobody here
            return ast.parse(source, filename=_NO_FILE)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Halted(f"not Python: {type(error).__name__}") from None


def _look_through(tree: ast.Module, functions: frozenset[str]) -> None:
    waiting: list[tuple[ast.AST, int]] = [(tree, 0)]  # a list, because the tree may be too deep for recursion
    while waiting:
        node, depth = waiting.pop()
        if type(node) not in _OFFERED:
            refuse(type(node).__name__)
        if depth > _DEEPEST_SOURCE:
            refuse("so much nesting")
        if isinstance(node, ast.FunctionDef) and depth != 1:
            refuse("a function in a function")
        _RULES.get(type(node), _no_rule)(node, functions)
        waiting += [(child, depth + 1) for child in ast.iter_child_nodes(node)]


def _no_rule(node: ast.AST, functions: frozenset[str]) -> None:
    """Being on the list is enough."""


def _name(node: ast.Name, functions: frozenset[str]) -> None:
    if isinstance(node.ctx, ast.Store):
        _new_name(node.id, functions)


def _new_name(name: str, functions: frozenset[str]) -> None:
    if name.startswith("_"):
        refuse("a name that begins with an underscore")
    if name in BUILTINS or name in functions:
        refuse(f"another meaning for {name!r}")


def _function(node: ast.FunctionDef, functions: frozenset[str]) -> None:
    given = node.args
    extras = (given.posonlyargs, given.kwonlyargs, given.defaults, given.kw_defaults, given.vararg, given.kwarg)
    annotations = (node.returns, *(one.annotation for one in given.args))
    are_twice = len({one.arg for one in given.args}) < len(given.args)
    if are_twice or any((*extras, *annotations, node.decorator_list, getattr(node, "type_params", None))):
        refuse("a function with more than plain parameters")
    _new_name(node.name, frozenset())
    for parameter in given.args:
        _new_name(parameter.arg, functions)


def _call(node: ast.Call, functions: frozenset[str]) -> None:
    if not isinstance(node.func, ast.Name) or node.func.id not in functions | BUILTINS.keys():
        refuse("a call of anything but a function by its name")


def _constant(node: ast.Constant, functions: frozenset[str]) -> None:
    if not isinstance(node.value, int | float | str | None):
        refuse(f"a constant of type {type(node.value).__name__}")


def _loop(node: ast.For | ast.While, functions: frozenset[str]) -> None:
    if node.orelse:
        refuse("else after a loop")
    if isinstance(node, ast.For):
        _assigned(node.target)


def _comprehension(node: ast.comprehension, functions: frozenset[str]) -> None:
    if node.is_async:
        refuse("async")
    _assigned(node.target)


def _assignment(node: ast.Assign, functions: frozenset[str]) -> None:
    for target in node.targets:
        _assigned(target)


def _augmented(node: ast.AugAssign, functions: frozenset[str]) -> None:
    _assigned(node.target)


def _assigned(target: ast.expr) -> None:
    names = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    if not all(isinstance(name, ast.Name) for name in names):
        refuse("changing anything but a name")


_RULES: Mapping[type[ast.AST], Callable[[Any, frozenset[str]], None]] = {
    ast.Name: _name,
    ast.FunctionDef: _function,
    ast.Call: _call,
    ast.Constant: _constant,
    ast.For: _loop,
    ast.While: _loop,
    ast.comprehension: _comprehension,
    ast.Assign: _assignment,
    ast.AugAssign: _augmented,
}
