"""`howsure horizon run`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from howsure.cli.asking import AskingOptions, asking_option, tell_errors
from howsure.cli.horizon.suites import Domains, Suite, read_suite
from howsure.cli.options import Level, Output, Seed, numbers, verb

if TYPE_CHECKING:
    from howsure.horizon.asking.task_runs import TaskRun
    from howsure.horizon.task_bank import Task

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog="Example: howsure horizon run tasks.yaml --model openai/gpt-5 --attempts 2 -o run")
@verb
def run(
    suite: Suite,
    output: Output,
    asking: AskingOptions,
    model: Annotated[str, typer.Option(help="Model: PROVIDER/MODEL, as Inspect spells it.", show_default=False)],
    attempts: Annotated[int, typer.Option(min=1, help="Attempts at each task, each a fresh instance.")] = 20,
    judge: Annotated[
        str | None,
        typer.Option(help="PROVIDER/MODEL of a judge, for replies that no program can check.", show_default=False),
    ] = None,
    judge_base_url: Annotated[str | None, asking_option("Address of the judge's server.", show_default=False)] = None,
    shots: Annotated[
        str, typer.Option(help="Worked examples shown before each task; several numbers with commas, as in 0,1,2,4,8.")
    ] = "0",
    feedback: Annotated[
        bool,
        typer.Option(
            "--feedback",
            help="All attempts at a task in one conversation; after each answer the model is told whether it was right.",
        ),
    ] = False,
    show_answers: Annotated[
        bool,
        typer.Option("--show-answers", help="Show the right answer after a wrong one, with --feedback."),
    ] = False,
    domain: Domains = None,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Let a model attempt the tasks through Inspect; the same command continues an interrupted run.

    Writes attempts.csv and runs.jsonl (scored attempts, for the other verbs), replies.csv (every attempt, its tokens, and why one has no score),
    review.csv (texts that somebody has to read) and run.json. Logs are in DIR/logs, for `inspect view`; replies are kept in DIR/cache, so that nothing is
    asked twice, whatever judge is named. Exit code 1 says that a server failed and attempts are missing.
    """
    asked = asking.into(output)
    tasks = read_suite(suite, domain)
    _warn(tasks, attempts, judge, output)
    from howsure.horizon.asking.task_runs import run_tasks

    asked |= {"attempts": attempts, "judge": judge, "judge_base_url": judge_base_url, "seed": seed}
    asked |= {
        "shots": [int(one) for one in numbers("--shots", shots)],
        "feedback": feedback,
        "shows_answers": show_answers,
    }
    done = run_tasks(tasks, model, **asked)
    _tell(done, level, output)
    output.console.json(done.as_dict())
    output.console.wrote(done.save(asked["out"]))
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
            [f"Replies to {len(unread)} tasks ({len(unread) * attempts} attempts) must be scored by people.{remedy}"]
        )


def _tell(done: TaskRun, level: float, output: Output) -> None:
    from howsure.horizon.asking.replies import FAILURES

    output.console.notes(done.provenance.notes)
    tell_errors(done, output, "Not every question was answered.")
    output.console.notes(f"{n} × no score: {FAILURES[name]} ({name})." for name, n in done.failures.items())
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
