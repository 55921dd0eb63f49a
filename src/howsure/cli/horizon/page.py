"""`howsure horizon page`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from howsure.cli.horizon.suites import Domains, Suite, read_suite
from howsure.cli.options import Seed, verb
from howsure.cli.output import Console, progress_bar
from howsure.errors import OptionError

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)

_SAME = "All learners see the same instances, so an unusually hard instance distorts the learning curve. For a study pass --learners N."


@app.command(epilog="Example: howsure horizon page tasks.yaml --tasks 3 --attempts 5 -o novice.html")
@verb
def page(
    suite: Suite,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Output: an HTML file, or with --learners a folder.", show_default=False),
    ] = None,
    tasks: Annotated[int, typer.Option(min=1, max=100, help="Number of tasks: on a page.")] = 5,
    attempts: Annotated[int, typer.Option(min=1, max=100, help="Attempts at each task.")] = 10,
    learners: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=10_000,
            help="Number of learners: one page per learner, each with different tasks.",
            show_default=False,
        ),
    ] = None,
    domain: Domains = None,
    judged: Annotated[
        bool, typer.Option("--judged", help="Include tasks that a person must score; they give no feedback.")
    ] = False,
    timed: Annotated[
        bool, typer.Option("--timed", help="Measure how long people who know the tasks need: start, give up, success.")
    ] = False,
    keep_answers: Annotated[
        bool, typer.Option("--keep-answers", help="Ask people to agree that their answers are kept as typed.")
    ] = False,
    show_answers: Annotated[
        bool,
        typer.Option("--show-answers", help="Show the right answer after a wrong one, not only that it was wrong."),
    ] = False,
    seed: Seed = 0,
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON on standard output, and nothing else there.")
    ] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress and no notes.")] = False,
) -> None:
    """A page on which people attempt tasks several times and learn after each answer whether it was right.

    One HTML file that needs no network. Beside it is the key, which says which tasks it shows. Keep it: answers cannot be scored without it. Mail
    the page, or hand it out with `howsure serve`; `howsure horizon collect` reads what comes back. With --timed each task is done once, until the answer is right or the person gives up:
    `howsure horizon baselines` and `howsure horizon time --human-times people` take these times.
    """
    from howsure.horizon.novices.pages import make_pages

    console = Console(is_quiet=quiet, is_json=json)
    if out is None:
        raise OptionError("Name the file for the page: -o novice.html.")
    if (learners is None) != (out.suffix == ".html"):  # before the work, not after
        raise OptionError(f"{out}: name a file such as novice.html for one page, or with --learners a folder.")
    asked: dict[str, Any] = {
        "n_tasks": tasks,
        "n_attempts": attempts,
        "n_learners": learners,
        "with_judged": judged,
        "is_timed": timed,
        "keeps_answers": keep_answers,
        "shows_answers": show_answers,
    }
    with progress_bar("making pages", console) as progress:
        made = make_pages(read_suite(suite, domain), seed=seed, progress=progress, **asked)
    written = made.save(out)
    if learners is None and not timed:  # several people at one instance are what a human time needs
        console.notes([_SAME])
    n_tasks = len(made.key.screens) // len(made.pages)
    console.say(f"Pages: {len(made.pages)}. Tasks on each: {n_tasks}. Attempts at each: {attempts}.")
    console.json({"pages": len(made.pages), "tasks": n_tasks, "attempts": attempts, "sealed": made.key.commitment})
    console.wrote(_in_short(written))


def _in_short(written: list[Path]) -> list[Path]:
    """The first and the last page stand for many."""
    pages = [path for path in written if path.suffix == ".html"]
    others = [path for path in written if path.suffix != ".html"]
    return written if len(pages) <= 3 else [pages[0].with_name(f"{pages[0].name} … {pages[-1].name}"), *others]
