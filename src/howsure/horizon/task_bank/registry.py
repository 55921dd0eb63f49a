"""The domains of tasks, one file each.

A domain is a module here with ``FAMILIES``, the kinds of tasks in it (see `base.TaskFamily`), or an entry of ``writing_tasks.yaml``. A new one is one
new file, or one new entry, and its name in `DOMAINS`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, cast

from howsure.errors import OptionError

if TYPE_CHECKING:
    from howsure.horizon.task_bank.base import TaskFamily

__all__ = ["DOMAINS", "families", "family_of"]

_WRITING = ("creative_writing", "communication_tasks")
DOMAINS = ("logic_puzzle", "code_completion", "pattern_recognition", *_WRITING)
"""Those that a program checks first."""


def families(domain: str) -> tuple[TaskFamily, ...]:
    """The kinds of tasks in a domain."""
    if domain not in DOMAINS:
        raise OptionError.unknown("domain with generators", domain, DOMAINS)
    if domain in _WRITING:
        from howsure.horizon.task_bank.writing import writing_families

        return writing_families(domain)
    return cast("tuple[TaskFamily, ...]", importlib.import_module(f"howsure.horizon.task_bank.{domain}").FAMILIES)


def family_of(domain: str, name: str) -> TaskFamily:
    """One of them."""
    by_name = {family.name: family for family in families(domain)}
    if name not in by_name:
        raise OptionError.unknown(f"generator in {domain}", name, by_name)
    return by_name[name]
