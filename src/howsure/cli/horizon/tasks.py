"""`howsure horizon tasks`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from howsure.cli.options import Seed, verb
from howsure.cli.output import Console

if TYPE_CHECKING:
    from howsure.horizon.task_bank import Task

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog="Example: howsure horizon tasks -o tasks.yaml --n 20")
@verb
def tasks(
    suite: Annotated[
        Path | None, typer.Argument(help="A suite to read and check, instead of writing one.", show_default=False)
    ] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Output: a YAML file.", show_default=False)] = None,
    n: Annotated[int, typer.Option("--n", min=1, help="Number of tasks, divided evenly among the domains.")] = 100,
    domain: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this domain; may be repeated. everyday: twelve of daily life; all: all. By default NAME's five.",
            show_default=False,
        ),
    ] = None,
    add_domain: Annotated[
        list[Path] | None,
        typer.Option(help="A Python file with a domain of your own (it is run); may be repeated.", show_default=False),
    ] = None,
    show: Annotated[
        str | None, typer.Option(metavar="ID", help="Print one instance of a task.", show_default=False)
    ] = None,
    seed: Seed = 0,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema: of a suite.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON on standard output, and nothing else there.")
    ] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress and no notes.")] = False,
) -> None:
    """Write a suite of tasks, each a generator of fresh instances, or check and look at one."""
    from howsure.errors import OptionError
    from howsure.horizon import task_bank
    from howsure.horizon.task_bank import make_tasks, read_tasks, task_schema, write_tasks

    console = Console(is_quiet=quiet, is_json=json)
    if schema:
        Console(is_json=True).json(task_schema())
        return
    if suite and (domain or out):
        raise OptionError("A suite is read as it is: leave out --domain and -o.")
    added = [task_bank.add_domain(path) for path in add_domain or ()]
    named = domain or added or list(task_bank.DOMAINS)
    groups = {"everyday": task_bank.EVERYDAY, "all": task_bank.all_domains()}
    domains = list(dict.fromkeys(one for name in named for one in groups.get(name, (name,))))
    held = read_tasks(suite) if suite else make_tasks(n, domains=domains)
    if show is not None:
        _show(_named(held, show), seed, console)
        return
    _tell(held, console)
    if out:
        console.wrote([write_tasks(held, out)])


def _named(held: tuple[Task, ...], name: str) -> Task:
    from howsure.errors import OptionError

    by_id = {task.id: task for task in held}
    if name not in by_id:
        raise OptionError.unknown("task", name, by_id)
    return by_id[name]


def _show(task: Task, seed: int, console: Console) -> None:
    instance = task.instance(seed)
    shown = {
        "task": task.id,
        "seed": seed,
        "prompt": instance.prompt,
        "answer": instance.answer,
        "rubric": instance.rubric,
    }
    console.say(instance.prompt)
    if instance.answer is not None:
        console.say(f"\n[a correct answer] {instance.answer}")
    if instance.rubric is not None:
        console.say(f"\n[rubric] {instance.rubric}")
    console.json(shown | {"accepted": instance.accepted()})


def _tell(held: tuple[Task, ...], console: Console) -> None:
    groups: dict[tuple[str, str, str], list[Task]] = {}
    for task in held:
        kind = task.generator or "own tasks"
        groups.setdefault((task.domain, kind, task.verification_type), []).append(task)
    rows = [(*group, _range(members), len(members)) for group, members in groups.items()]
    n_automated = sum(task.is_verifiable for task in held)
    caption = f"{n_automated} are scored by a program, {len(held) - n_automated} must be scored by a person or a judge."
    console.table(f"{len(held)} tasks", ("domain", "generator", "verification", "difficulty", "tasks"), rows, caption)
    console.json({"tasks": [task.model_dump() for task in held]})


def _range(members: list[Task]) -> str:
    known = [task.difficulty for task in members if task.difficulty is not None]
    return f"{min(known):.2f} to {max(known):.2f}" if known else ""
