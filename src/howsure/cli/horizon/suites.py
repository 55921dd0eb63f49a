"""What the verbs that ask tasks share: a suite, or some domains of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from howsure.errors import OptionError

if TYPE_CHECKING:
    from howsure.horizon.task_bank import Task

__all__ = ["Domains", "Suite", "read_suite"]

Suite = Annotated[Path, typer.Argument(help="The tasks (YAML).", show_default=False)]
Domains = Annotated[list[str] | None, typer.Option(help="Only this domain; may be repeated.", show_default=False)]


def read_suite(path: Path, domains: list[str] | None) -> list[Task]:
    """The tasks of a file, in these domains or in all."""
    from howsure.horizon.task_bank import read_tasks

    tasks = read_tasks(path)
    there = dict.fromkeys(task.domain for task in tasks)
    for name in domains or []:
        if name not in there:
            raise OptionError.unknown("domain in the suite", name, there)
    return [task for task in tasks if not domains or task.domain in domains]
