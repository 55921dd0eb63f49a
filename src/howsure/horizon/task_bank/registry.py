"""The domains of tasks.

The five of NAME have a module each with ``FAMILIES``, the kinds of tasks in it (see `base.TaskFamily`), or an entry of ``writing_tasks.yaml``. Everyday
domains stand in `everyday` and `everyday_reading`, by name in ``FAMILIES_OF``. A domain from outside the package is a Python file that defines ``FAMILIES`` (`add_domain`), or an
entry point of an installed package in the group ``howsure.task_domains`` whose value is such a tuple.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from howsure.errors import InputError, OptionError

if TYPE_CHECKING:
    from howsure.horizon.task_bank.base import TaskFamily

__all__ = ["DOMAINS", "EVERYDAY", "add_domain", "all_domains", "families", "family_of"]

_WRITING = ("creative_writing", "communication_tasks")
DOMAINS = ("logic_puzzle", "code_completion", "pattern_recognition", *_WRITING)
"""The five of NAME; those that a program checks first."""

_EVERYDAY = {
    "everyday": ("household", "cooking", "scheduling", "travel", "shopping", "simple_algorithms", "visual_patterns"),
    "everyday_reading": ("data_entry", "email_triage", "reading_forms", "social_situations", "tutoring"),
}
EVERYDAY = tuple(name for names in _EVERYDAY.values() for name in names)
"""Twelve domains of daily life; a program checks all of them."""

_GROUP = "howsure.task_domains"
_added: dict[str, tuple[TaskFamily, ...]] = {}


def all_domains() -> tuple[str, ...]:
    """Every domain that has generators: the five, the everyday ones, and those from outside."""
    return (*DOMAINS, *EVERYDAY, *_added, *_entry_points())


def add_domain(path: str | os.PathLike[str]) -> str:
    """Add the domain in a Python file, which defines ``FAMILIES``, and return its name: that of the file.

    The file is run. Add only files that you trust.

    Parameters
    ----------
    path : str or path
        The file, for instance ``gardening.py``.
    """
    file = Path(path)
    if not file.is_file() or file.suffix != ".py":
        raise InputError(f"{file}: is not a Python file. Give one that defines FAMILIES, a tuple of TaskFamily.")
    name = file.stem
    if name in (*DOMAINS, *EVERYDAY):
        raise InputError(f"{file}: there is a domain called {name} already. Give the file another name.")
    spec = importlib.util.spec_from_file_location(f"howsure_domain_{name}", file)
    if spec is None or spec.loader is None:
        raise InputError(f"{file}: Python cannot load it.")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"{file}: {type(error).__name__}: {error}") from error
    _added[name] = _checked(str(file), getattr(module, "FAMILIES", None))
    return name


def families(domain: str) -> tuple[TaskFamily, ...]:
    """The kinds of tasks in a domain."""
    if domain in _WRITING:
        from howsure.horizon.task_bank.writing import writing_families

        return writing_families(domain)
    if domain in DOMAINS:
        return cast("tuple[TaskFamily, ...]", importlib.import_module(f"howsure.horizon.task_bank.{domain}").FAMILIES)
    for module, names in _EVERYDAY.items():
        if domain in names:
            found = importlib.import_module(f"howsure.horizon.task_bank.{module}").FAMILIES_OF
            return cast("tuple[TaskFamily, ...]", found[domain])
    if domain in _added:
        return _added[domain]
    if domain in _entry_points():
        return _checked(f"entry point {domain}", _entry_points()[domain].load())
    raise OptionError.unknown("domain with generators", domain, all_domains())


@cache
def _entry_points() -> Mapping[str, metadata.EntryPoint]:
    return {point.name: point for point in metadata.entry_points(group=_GROUP)}


def _checked(where: str, found: Any) -> tuple[TaskFamily, ...]:
    from howsure.horizon.task_bank.base import TaskFamily

    if not isinstance(found, tuple) or not found or not all(isinstance(one, TaskFamily) for one in found):
        raise InputError(f"{where}: FAMILIES is not a tuple of TaskFamily. Write FAMILIES = (TaskFamily(...),).")
    return found


def family_of(domain: str, name: str) -> TaskFamily:
    """One of them."""
    by_name = {family.name: family for family in families(domain)}
    if name not in by_name:
        raise OptionError.unknown(f"generator in {domain}", name, by_name)
    return by_name[name]
