"""`assay horizon run`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.horizon.suites import Domains, Suite, read_suite
from assay.cli.options import Level, Output, Seed, verb
from assay.errors import OptionError, need

if TYPE_CHECKING:
    from assay.horizon.inspect.run import TaskRun
    from assay.horizon.tasks import Task

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


def _asking(text: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, rich_help_panel="Asking a model", **more)


@dataclass(frozen=True)
class Asking:
    """How a model is asked."""

    base_url: Annotated[str | None, _asking("Address of the model's server.", show_default=False)] = None
    judge_base_url: Annotated[str | None, _asking("Address of the judge's server.", show_default=False)] = None
    max_samples: Annotated[int, _asking("Questions at a time.", min=1)] = 20
    config: Annotated[
        list[str] | None, _asking("Inspect's generation settings, e.g. temperature=0.", show_default=False)
    ] = None

    @property
    def options(self) -> dict[str, Any]:
        """The same for Inspect."""
        told = {name: getattr(self, name) for name in ("base_url", "judge_base_url", "max_samples")}
        return told | {"config": dict(_setting(text) for text in self.config or [])}


@app.command()
@verb
def run(
    suite: Suite,
    output: Output,
    asking: Asking,
    model: Annotated[str, typer.Option(help="PROVIDER/MODEL, as Inspect spells it.", show_default=False)],
    attempts: Annotated[int, typer.Option(min=1, help="Attempts at each task, each a fresh instance.")] = 20,
    judge: Annotated[
        str | None,
        typer.Option(help="PROVIDER/MODEL that judges by rubric what no program checks.", show_default=False),
    ] = None,
    shots: Annotated[int, typer.Option(min=0, help="Worked examples shown before each task.")] = 0,
    domain: Domains = None,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Let a model attempt the tasks through Inspect; the same command goes on with a run that was broken off.

    Writes attempts.csv and runs.jsonl (scored attempts, for the other verbs), replies.csv (every attempt, its tokens, and why one has no score),
    review.csv (texts that somebody has to read) and run.json. Logs are in DIR/logs, for `inspect view`; replies are kept in DIR/cache, so that nothing is
    asked twice, whatever judge is named. Exit code 1 says that a server failed and attempts are missing.

    \b
    assay horizon run tasks.yaml --model openai/gpt-5 --judge anthropic/claude-sonnet-4-5 -o run
    """
    need("inspect_ai", "run", "Asking a model")
    if not output.out:
        raise OptionError("A model's run needs a folder for its logs: add -o DIR.")
    tasks = read_suite(suite, domain)
    _warn(tasks, attempts, judge, output)
    from assay.horizon.inspect.run import run_tasks

    display = "none" if output.quiet or output.json else "rich" if sys.stdout.isatty() else "plain"
    asked: dict[str, Any] = {"attempts": attempts, "judge": judge, "shots": shots, "seed": seed, "display": display}
    done = run_tasks(tasks, model, out=output.out, **asked, **asking.options)
    _tell(done, level, output)
    output.console.json(done.as_dict())
    output.console.wrote(done.save(output.out))
    if done.exit_code:
        raise SystemExit(done.exit_code)


def _warn(tasks: Sequence[Task], attempts: int, judge: str | None, output: Output) -> None:
    """What will have no score, before anything is paid for."""
    unread = [task for task in tasks if not task.is_verifiable]
    if judge:
        unread = [task for task in unread if task.verification_type == "expert_review"]
    if unread:
        remedy = "" if judge else " Name a judge with --judge, or choose other domains with --domain."
        output.console.notes(
            [f"Replies to {len(unread)} tasks ({len(unread) * attempts} attempts) are left for people to read.{remedy}"]
        )


def _tell(done: TaskRun, level: float, output: Output) -> None:
    from assay.horizon.replies import FAILURES

    output.console.notes(done.provenance.notes)
    output.console.notes(f"{count} × {line}" for line, count in done.errors.items())
    output.console.notes(f"{n} × no score: {FAILURES[name]} ({name})." for name, n in done.failures.items())
    if done.exit_code:
        output.console.notes(["Not every question was answered. The same command goes on with the rest."])
    counts = dict(done.replies.drop_nulls("score")["domain"].value_counts().iter_rows())
    rows = [(domain, success, counts[domain]) for domain, success in done.success(level=level).items()]
    used = done.tokens
    caption = "; ".join(
        f"{who}: {one.input:,} tokens read, {one.output:,} written"
        for who, one in used.items()
        if one.input or one.output
    )
    title = f"{done.provenance.settings['model']}: {len(done.replies) - done.n_unscored:,} of {len(done.replies):,} attempts scored"
    output.console.table(title, ("domain", "success", "attempts"), rows, caption)


def _setting(text: str) -> tuple[str, Any]:
    import json

    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise OptionError(f"--config {text}: write it as name=value, for example --config temperature=0.")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
