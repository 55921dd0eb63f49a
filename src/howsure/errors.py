"""What can go wrong in a way that a user can fix.

::

    HowsureError              shown in one line by the command line, exit code 2
    ├─ InputError           a file or table is not what it should be
    ├─ OptionError          an argument does not fit
    ├─ StateError           an estimate without a number was used as a number
    └─ MissingExtraError    an optional package is needed

Everything else is our own mistake and keeps its traceback.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = [
    "HowsureError",
    "InputError",
    "MissingExtraError",
    "OptionError",
    "StateError",
    "closest",
    "cut_short",
    "interruption_notes",
    "keep_finished",
    "naming_options",
    "need",
    "still_wanted",
]


class HowsureError(Exception):
    """A problem that the user can fix; its text says what, where and how.

    Texts are written with the options of the command line, such as ``--divide-by 100``. Outside of it they name the arguments, ``divide_by=100``.
    """

    def __str__(self) -> str:
        text = super().__str__()
        return text if _in_command else _with_arguments(text)


class InputError(HowsureError):
    """A file or table that is not what it should be."""


class OptionError(HowsureError):
    """An argument that does not fit."""

    @classmethod
    def unknown(cls, what: str, name: str, choices: Iterable[str]) -> OptionError:
        """No `what` called `name`: the choices, closest first when one is near."""
        listed = list(choices)
        near = closest(str(name), listed)
        hint = f" Did you mean {near!r}?" if near else ""
        shown = ", ".join(listed[:12]) + (f", … ({len(listed)} in all)" if len(listed) > 12 else "")
        return cls(f"No {what} called {name!r}.{hint} Choose from: {shown}.")


class StateError(HowsureError, ValueError):
    """An estimate whose state is not ``ok`` was used as a number."""


class MissingExtraError(HowsureError):
    """An optional package is not installed."""


def closest(name: str, choices: Sequence[str], *, cutoff: float = 0.6) -> str | None:
    """The choice that looks most like `name`, or None when none is near: at least `cutoff` alike, from 0 to 1."""
    by_folded = {choice.casefold(): choice for choice in choices}
    near = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=cutoff)
    return by_folded[near[0]] if near else None


def need(package: str, extra: str, purpose: str) -> None:
    """Raise the install line unless `package` can be imported."""
    import importlib.util

    try:
        is_there = importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):  # found, but cannot be loaded
        is_there = False
    if not is_there:
        raise MissingExtraError(f"{purpose} needs the package {package!r}: pip install 'howsure[{extra}]'")


# Options of the command line in the texts of errors, and their names in Python.


_in_command: list[bool] = []  # not empty while a command runs
_READING = {"map", "set", "percent", "higher-is-better", "lower-is-better"}
_ARGUMENTS = {
    "keep-reasoning": "keeps_reasoning",
    "percent": "divide_by=100",
    "higher-is-better": 'better="higher"',
    "lower-is-better": 'better="lower"',
    "strict": "strict=True",
    "judged": "with_judged=True",
    "map": "rename",
    "set": "fill",
    "source": "source_name",
    "replicates": "n_replicates",
    "simulations": "n_simulations",
}
_COMMAND = re.compile(r"(`[^`]*`)")
_OPTION = re.compile(
    r"(?<![\w-])--([a-z][a-z-]+)(?: (\w+)=(\w+(?:\.\w+)*)| (\d[\d.]*\d|\d)(?!\w)| (joint|logistic|families|family|bounds|censored|sampled|scores|harness)\b)?"
)


@contextmanager
def naming_options() -> Iterator[None]:
    """Within the block errors name the options of the command line, not the arguments of functions."""
    _in_command.append(True)
    try:
        yield
    finally:
        _in_command.pop()


def _with_arguments(text: str) -> str:
    """A text with arguments in place of options; commands, which stand between backticks, stay."""
    if "--" not in text:
        return text
    parts = _COMMAND.split(text)
    named = [option for part in parts[::2] for option in _OPTION.findall(part)]
    parts[::2] = [_OPTION.sub(_argument, part) for part in parts[::2]]
    is_reading = any(option[0] in _READING for option in named)
    return "".join(parts) + (" (Arguments of howsure.read.)" if is_reading else "")


def _argument(found: re.Match[str]) -> str:
    option, column, value, number, word = found.groups()
    name = _ARGUMENTS.get(option, option.replace("-", "_"))
    if column:
        return f'{name}={{"{column}": "{value}"}}'
    return f"{name}={number}" if number else f'{name}="{word}"' if word else name


# Ctrl-C or SIGTERM during replicates: a command uses the finished ones, and its result says so.
#
# In Python an interruption raises `howsure.compute.Stopped`, which carries the finished replicates. The command line asks
# instead to keep them::
#
#     with keep_finished():
#         result = analyse(…)       # after Ctrl-C: a result from fewer replicates, with a note in its provenance


_FEWEST = 100  # replicates that still give an interval
_notes: ContextVar[list[str] | None] = ContextVar("interruptions", default=None)


@contextmanager
def keep_finished() -> Iterator[None]:
    """Within the block an interruption ends replicates early instead of losing them."""
    token = _notes.set([])
    try:
        yield
    finally:
        _notes.reset(token)


def cut_short(n_done: int, n_wanted: int, what: str = "replicates") -> bool:
    """Whether to go on with the replicates that are finished: someone asked to keep them, and they are enough.

    Enough are 100, or half of those that were wanted. The first interruption is heeded so, the second stops everything.
    """
    notes = _notes.get()
    if notes is None or notes or n_done < min(_FEWEST, n_wanted / 2):
        return False
    notes.append(f"Interrupted: {n_done:,} of {n_wanted:,} {what} were computed, and the intervals use only these.")
    return True


def still_wanted(n: int) -> int:
    """How many of `n` replicates to compute: few after an interruption, so that a command of several steps ends soon."""
    return min(n, _FEWEST) if _notes.get() else n


def interruption_notes() -> tuple[str, ...]:
    """What was cut short within the innermost `keep_finished`."""
    return tuple(_notes.get() or ())
