"""Suites of tasks: made, written and read as YAML."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from howsure.arguments import checked
from howsure.errors import InputError, OptionError, closest
from howsure.horizon.task_bank.base import Task
from howsure.horizon.task_bank.registry import DOMAINS, families
from howsure.safe_io import write_atomic
from howsure.yaml_files import read_yaml

__all__ = ["instance_seed", "make_tasks", "read_tasks", "sample_id", "task_schema", "write_tasks"]

_NOTHING = ("", "~", "null", "Null", "NULL")
_HEAD = """\
# Tasks for people and models. One with a generator is a fresh puzzle or prompt at every attempt, drawn at its difficulty (0 easy, 1 hard).
# A task of your own has a prompt instead, and an answer, a regex or a rubric; see `howsure horizon tasks --schema`.
"""


@checked
def make_tasks(n: int = 100, *, domains: Sequence[str] = DOMAINS) -> tuple[Task, ...]:
    """A suite of `n` tasks, equally many per domain, with difficulties spread evenly from easy to hard in each.

    >>> [task.id for task in make_tasks(5)][:2]
    ['logic_puzzle/sudoku_01', 'code_completion/fill_the_blank_01']

    Parameters
    ----------
    n : int
        Number of tasks.
    domains : Sequence[str]
        The domains.
    """
    if n < 1:
        raise OptionError(f"{n} tasks are too few. Ask for at least 1.")
    if not domains or len(set(domains)) < len(domains):
        raise OptionError("Name at least one domain, and each once.")
    shares = [n // len(domains) + (place < n % len(domains)) for place in range(len(domains))]
    return tuple(task for domain, share in zip(domains, shares, strict=True) for task in _spread(domain, share))


@checked
def write_tasks(tasks: Sequence[Task], path: str | os.PathLike[str]) -> Path:
    """Write a suite as YAML that `read_tasks` accepts.

    Parameters
    ----------
    tasks : Sequence[Task]
        The tasks.
    path : str or path
        The file to write.
    """
    import yaml

    held = yaml.safe_dump({"tasks": [_entry(task) for task in tasks]}, sort_keys=False, allow_unicode=True, width=120)
    return write_atomic(path, _HEAD + held)


@checked
def read_tasks(path: Sequence[Task] | str | os.PathLike[str]) -> tuple[Task, ...]:
    """The tasks of a YAML file: a list, or a list under ``tasks``. An error message names line and field. Tasks are returned as they are.

    Parameters
    ----------
    path : str or path
        The file.
    """
    if not isinstance(path, str | os.PathLike):
        return tuple(path)
    file = Path(path)
    nodes = list(_entries(file, read_yaml(file, is_text=True).tree))
    if not nodes:
        raise InputError(f"{file}: contains no tasks. Write them as a list under tasks:.")
    tasks: dict[str, Task] = {}
    for node in nodes:
        task = _task(file, node)
        if task.id in tasks:
            raise InputError(f"{_line(file, node)}: id {task.id!r} was used before. Give every task an id of its own.")
        tasks[task.id] = task
    return tuple(tasks.values())


def task_schema() -> dict[str, Any]:
    """The JSON schema of a suite, for editors that check YAML while one writes."""
    listed = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/Task"}}
    task = Task.model_json_schema(by_alias=False)
    task["properties"]["answer"]["anyOf"] = [
        {"type": ["string", "number"]},
        {"type": "array", "items": {"type": ["string", "number"]}},
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Tasks",
        "type": "object",
        "properties": {"tasks": listed},
        "required": ["tasks"],
        "additionalProperties": False,
        "$defs": {"Task": task},
    }


def _spread(domain: str, n: int) -> Iterator[Task]:
    kinds = families(domain)
    for place in range(n):
        kind = kinds[place % len(kinds)]
        yield Task(
            id=f"{domain}/{kind.name}_{place + 1:02}",
            domain=domain,
            verification_type=kind.verification_type,
            generator=kind.name,
            difficulty=round((place + 0.5) / n, 3),
            description=kind.description,
        )


def _entry(task: Task) -> dict[str, Any]:
    held = task.model_dump(exclude_defaults=True)
    if task.family in (task.generator, task.id):
        del held["family"]
    if "answer" in held:
        held["answer"] = task.answer[0] if len(task.answer) == 1 else list(task.answer)
    return held


def _entries(file: Path, root: Any) -> Iterator[Any]:
    import yaml

    if isinstance(root, yaml.MappingNode):
        listed = [value for key, value in root.value if key.value == "tasks"]
        others = [key for key, _ in root.value if key.value != "tasks"]
        if others or len(listed) != 1:
            where = _line(file, others[0] if others else root)
            raise InputError(f"{where}: a suite holds one list, tasks:, and nothing beside it.")
        root = listed[0]
    if root is not None and not isinstance(root, yaml.SequenceNode):
        raise InputError(f"{_line(file, root)}: tasks: is followed by a list, one task after each dash.")
    yield from root.value if root is not None else ()


def _task(file: Path, node: Any) -> Task:
    from pydantic import ValidationError

    lines, held = _fields(file, node)
    try:
        return Task.model_validate(held)
    except ValidationError as error:
        first, *more = error.errors()
        field = str(first["loc"][0]) if first["loc"] else ""
        where = lines.get(field) or lines.get(f"task_{field}") or node.start_mark.line + 1
        named = f"task {held.get('id', held.get('task_id'))!r}: " if held.get("id") or held.get("task_id") else ""
        rest = f" ({len(more)} more in this task.)" if more else ""
        raise InputError(f"{file} line {where}: {named}{_told(field, first)}{rest}") from None


def _fields(file: Path, node: Any) -> tuple[dict[str, int], dict[str, Any]]:
    """The line and the value of each field of a task."""
    import yaml

    if not isinstance(node, yaml.MappingNode):
        raise InputError(f"{_line(file, node)}: a task has lines such as id: tea/boil and domain: cooking.")
    lines: dict[str, int] = {}
    held: dict[str, Any] = {}
    for key, value in node.value:
        if key.value in lines:
            raise InputError(f"{_line(file, key)}: {key.value} is there twice. Take one away.")
        lines[key.value] = key.start_mark.line + 1
        parts = value.value if isinstance(value, yaml.SequenceNode) else [value]
        if not all(isinstance(part, yaml.ScalarNode) for part in parts):
            raise InputError(f"{_line(file, key)}: {key.value} is a text, a number or a list of them.")
        texts = [None if not part.style and part.value in _NOTHING else part.value for part in parts]
        if texts != [None]:
            held[key.value] = texts if isinstance(value, yaml.SequenceNode) else texts[0]
    return lines, held


def _told(field: str, error: Any) -> str:
    kind, message = error["type"], str(error["msg"])
    if kind == "extra_forbidden":
        near = closest(field, list(Task.model_fields))
        hint = f" Did you mean {near}?" if near else f" Choose from: {', '.join(Task.model_fields)}."
        return f"{field} is not a field of a task.{hint}"
    if kind == "missing":
        return f"{field} is missing. Add it."
    text = message.removeprefix("Value error, ")
    return f"{field}: {text[0].lower()}{text[1:].rstrip('.')}." if field else f"{text.rstrip('.')}."


def _line(file: Path, node: Any) -> str:
    return f"{file} line {node.start_mark.line + 1}"


# Which instance of a task an attempt is about, and how that attempt is called.


_SEEDS_APART, _LEARNERS_APART = 10**9, 1_000  # room for more learners and attempts than there will be


def instance_seed(seed: int, attempt: int, *, learner: int = 0) -> int:
    """The same for every model, and another for every learner from 1 up.

    >>> instance_seed(0, 7), instance_seed(0, 7, learner=2)
    (7, 2007)
    """
    return seed * _SEEDS_APART + learner * _LEARNERS_APART + attempt


def sample_id(task: str, seed: int, shots: int = 0) -> str:
    """The task, the instance of it, and the number of worked examples before it."""
    return f"{task}/{seed}/{shots}-shot" if shots else f"{task}/{seed}"
