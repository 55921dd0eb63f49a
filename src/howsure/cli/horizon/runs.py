"""`howsure horizon tasks`, `run`, `page`, `collect`, `review` and `simulate`: from tasks to a table of attempts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from howsure.cli.asking import AskingOptions, asking_option, tell_errors
from howsure.cli.options import Level, Output, Seed, file_to_write, folder_to_write, numbers, verb
from howsure.cli.output import Console, progress_bar
from howsure.errors import OptionError

if TYPE_CHECKING:
    from howsure.horizon.asking.task_runs import TaskRun
    from howsure.horizon.task_bank import Task

__all__ = ["Domains", "Suite", "app", "read_suite"]

app = typer.Typer(rich_markup_mode=None)


# What the verbs that ask tasks share: a suite, or some domains of it.


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


@app.command(epilog="Example: howsure horizon tasks -o tasks.yaml --n 20")
@verb
def tasks(
    suite: Annotated[
        Path | None, typer.Argument(help="A suite to read and check, instead of writing one.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Output: a YAML file, or a folder for it.", show_default=False)
    ] = None,
    n: Annotated[int, typer.Option("--n", min=1, help="Number of tasks, divided evenly among the domains.")] = 100,
    domain: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this domain; may be repeated. everyday: the twelve domains of daily life; all: all domains. [default: the five of NAME]",
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
    """Write a suite of tasks, each of which generates fresh instances; or check and show an existing suite."""
    from howsure.errors import OptionError
    from howsure.horizon import task_bank
    from howsure.horizon.task_bank import make_tasks, read_tasks, task_schema, write_tasks

    console = Console(is_quiet=quiet, is_json=json)
    if schema:
        Console(is_json=True).json(task_schema())
        return
    if suite and (domain or out):
        raise OptionError("A suite is read as it is: omit --domain and -o.")
    target = file_to_write(out, "tasks.yaml") if out else None
    added = [task_bank.add_domain(path) for path in add_domain or ()]
    named = domain or added or list(task_bank.DOMAINS)
    groups = {"everyday": task_bank.EVERYDAY, "all": task_bank.all_domains()}
    domains = list(dict.fromkeys(one for name in named for one in groups.get(name, (name,))))
    held = read_tasks(suite) if suite else make_tasks(n, domains=domains)
    if show is not None:
        _show(_named(held, show), seed, console)
        return
    written = [write_tasks(held, target)] if target else []
    _print_suite(held, written, console)
    console.wrote(written)


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


def _print_suite(held: tuple[Task, ...], written: list[Path], console: Console) -> None:
    groups: dict[tuple[str, str, str], list[Task]] = {}
    for task in held:
        kind = task.generator or "own tasks"
        groups.setdefault((task.domain, kind, task.verification_type), []).append(task)
    rows = [(*group, _range(members), len(members)) for group, members in groups.items()]
    n_automated = sum(task.is_verifiable for task in held)
    caption = f"{n_automated} are scored by a program, {len(held) - n_automated} must be scored by a person or a judge."
    console.table(f"{len(held)} tasks", ("domain", "generator", "verification", "difficulty", "tasks"), rows, caption)
    console.json({"tasks": [task.model_dump() for task in held], "written": written})


def _range(members: list[Task]) -> str:
    known = [task.difficulty for task in members if task.difficulty is not None]
    return f"{min(known):.2f} to {max(known):.2f}" if known else ""


# `howsure horizon run`.


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
            help="All attempts at a task in one conversation; the model learns after each answer whether it was right.",
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
    asked twice, even with another judge. Exit code 1 means that a server failed and attempts are missing.
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
    _print_run(done, level, output)
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


def _print_run(done: TaskRun, level: float, output: Output) -> None:
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


# `howsure horizon page`.


_SAME = "All learners see the same instances, so an unusually hard instance distorts the learning curve. For a study pass --learners N."


@app.command(epilog="Example: howsure horizon page tasks.yaml --tasks 3 --attempts 5 -o novice.html")
@verb
def page(
    suite: Suite,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", help="Output: an HTML file or a folder for it; with --learners a folder.", show_default=False
        ),
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
        bool,
        typer.Option(
            "--timed", help="Measure how long experts need for each task: time from start to success or to giving up."
        ),
    ] = False,
    keep_answers: Annotated[
        bool, typer.Option("--keep-answers", help="Ask people for consent to store their answers as typed.")
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

    One HTML file that needs no network. The key, in the same folder, says which tasks the page shows. Keep it: answers cannot be scored without it. Mail
    the page, or use `howsure serve`; `howsure horizon collect` reads the answers. With --timed each task is done once, until the answer is right or the person gives up:
    `howsure horizon baselines` and `howsure horizon time --human-times people` take these times.
    """
    from howsure.horizon.novices.pages import make_pages

    console = Console(is_quiet=quiet, is_json=json)
    if out is None:
        raise OptionError("Name the file for the page: -o novice.html.")
    target = file_to_write(out, "novice.html") if learners is None else folder_to_write(out)
    if (learners is None) != (target.suffix == ".html"):  # before the work, not after
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
    written = made.save(target)
    if learners is None and not timed:  # several people at one instance are what a human time needs
        console.notes([_SAME])
    n_tasks = len(made.key.screens) // len(made.pages)
    console.say(f"Pages: {len(made.pages)}. Tasks on each: {n_tasks}. Attempts at each: {attempts}.")
    console.json(
        {
            "pages": len(made.pages),
            "tasks": n_tasks,
            "attempts": attempts,
            "sealed": made.key.commitment,
            "written": written,
        }
    )
    console.wrote(_in_short(written))


def _in_short(written: list[Path]) -> list[Path]:
    """The first and the last page stand for many."""
    pages = [path for path in written if path.suffix == ".html"]
    others = [path for path in written if path.suffix != ".html"]
    return written if len(pages) <= 3 else [pages[0].with_name(f"{pages[0].name} … {pages[-1].name}"), *others]


# `howsure horizon collect`.


@app.command(epilog="Example: howsure horizon collect novice.html answers/ -o novices")
@verb
def collect(
    page: Annotated[
        Path, typer.Argument(help="The page that was answered, or the folder of pages.", show_default=False)
    ],
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Learners' files (.json), an export of `howsure serve` (.jsonl), or folders.", show_default=False
        ),
    ],
    output: Output,
    key: Annotated[
        Path | None, typer.Option(help="Key: the file of the page. [default: the one beside it]", show_default=False)
    ] = None,
) -> None:
    """Novices' files → a table of attempts, scored by the tasks themselves.

    Digests are verified; duplicates and files of other pages are refused, each with its reason. Writes attempts.csv and runs.jsonl (for the other verbs), learners.csv,
    review.csv (texts that somebody has to read) and novices.json.
    """
    from howsure.horizon.novices.answers import collect_novices

    found = collect_novices(page, files, key=key)
    output.console.notes(found.provenance.notes)
    rows = [
        (learner, f"{minutes:.1f}", tasks, attempts, None if success is None else f"{success:.0%}")
        for learner, minutes, tasks, attempts, success in found.learners.iter_rows()
    ]
    caption = f"{len(found.review)} texts must be read and scored by a person." if len(found.review) else ""
    title = f"{len(found.rows):,} attempts of {len(rows)} learner{'' if len(rows) == 1 else 's'}, {len(found.refused)} files refused"
    output.console.table(title, ("learner", "minutes", "tasks", "attempts", "right"), rows, caption)
    output.console.json(found.as_dict())
    if output.out:
        output.console.wrote(found.save(output.out))


# `howsure horizon review`.


@app.command(epilog="Example: howsure horizon review run reviewed.csv -o scored")
@verb
def review(
    folder: Annotated[
        Path,
        typer.Argument(
            help="The folder that `howsure horizon run` or `howsure horizon collect` wrote.", show_default=False
        ),
    ],
    output: Output,
    reviews: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Its review.csv with a column score from 0 to 1; or, with --page, reviewers' files (.json, .jsonl) or folders.",
            show_default=False,
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            help="The reviewers' page: written if no REVIEWS are given, else the one that they answer. With --reviewers a folder.",
            show_default=False,
        ),
    ] = None,
    reviewers: Annotated[
        int | None,
        typer.Option(min=1, max=1_000, help="Write one page per reviewer, each in its own order.", show_default=False),
    ] = None,
    readings: Annotated[
        int | None,
        typer.Option(min=1, help="How many of the reviewers read each text. [default: all]", show_default=False),
    ] = None,
) -> None:
    """Texts that a person must score: a page for reviewers, and their scores → the table of attempts.

    FOLDER contains review.csv: texts without the names of their authors. `howsure horizon review FOLDER --page review.html` writes a page on which people score them; `howsure horizon review
    FOLDER answers/ --page review.html -o scored` reads their answers. Or reviewers fill in a column score of review.csv. Several scores of one text are averaged. Writes the same files as `run` or
    `collect`, with these scores.
    """
    from howsure.horizon.reviewing import add_reviews, write_review_pages

    if not reviews:
        if page is None:
            raise OptionError("Give the reviews, or --page review.html to write a page for reviewers.")
        output.console.wrote(write_review_pages(folder, page, n_reviewers=reviewers, n_readings=readings))
        return
    if reviewers or readings:
        raise OptionError("--reviewers and --readings are for writing pages; omit them here.")
    if page is None and len(reviews) > 1:
        raise OptionError("Give one table of reviews, or the answers to a page with --page.")
    if not output.out:
        raise OptionError("The scored attempts need a folder: add -o DIR.")
    scored = add_reviews(folder, reviews if page else reviews[0], pages=page)
    output.console.notes(scored.provenance.notes)
    output.console.say(
        f"{len(scored.review)} texts do not have a score yet. Attempts with a score: {len(scored.attempts):,}."
    )
    output.console.json(scored.as_dict())
    output.console.wrote(scored.save(output.out))


# `howsure horizon simulate`.


@app.command(epilog="Example: howsure horizon simulate --n-tasks 20 -o simulated")
@verb
def simulate(
    output: Output,
    tasks: Annotated[
        Path | None,
        typer.Option(
            "--task-suite",
            help="Tasks that `howsure horizon tasks` wrote; without them, tasks are simulated.",
            show_default=False,
        ),
    ] = None,
    n_tasks: Annotated[int, typer.Option("--n-tasks", min=1, help="Number of tasks to simulate.")] = 100,
    suite: Annotated[str, typer.Option("--difficulty", help="Difficulty of the tasks: mixed, easy or hard.")] = "mixed",
    learners: Annotated[int, typer.Option(min=1, help="Number of learners.")] = 50,
    attempts: Annotated[int, typer.Option(min=1, help="Attempts at each task, per novice.")] = 10,
    runs: Annotated[int, typer.Option(min=1, help="Runs per model and task.")] = 20,
    like: Annotated[
        list[float] | None,
        typer.Option(
            "--novice-attempt",
            help="Instead of three models: one that does as well as novices on this attempt; may be repeated.",
            show_default=False,
        ),
    ] = None,
    sameness: Annotated[
        float, typer.Option(min=0.01, max=1, help="Similarity of the learners; 1: all the same.")
    ] = 0.85,
    tasks_per_learner: Annotated[
        int | None,
        typer.Option(min=1, help="Number of tasks that each novice gets. [default: all]", show_default=False),
    ] = None,
    mastery: Annotated[
        int | None,
        typer.Option(min=1, help="Novices leave a task after this number of successes in a row.", show_default=False),
    ] = None,
    rehearse: Annotated[
        Path | None,
        typer.Option(
            help="Fill in this page, or the pages of this folder, that `howsure horizon page` wrote; of the other options only --learners (for a page for everyone), --sameness and --seed are used.",
            show_default=False,
        ),
    ] = None,
    seed: Seed = 0,
) -> None:
    """Simulate novices who learn and models that do not, with known true values.

    By default the data set of NAME: 100 tasks × 50 learners × 10 attempts, and 3 models × 20 runs × 100 tasks. Writes runs.jsonl, suite.csv (the
    true curves) and truth.json. With --rehearse: the files that novices would send back, in answers/ for `howsure horizon collect`, and suite.csv.
    """
    from howsure.horizon import simulator

    if not output.out:
        raise OptionError("The runs need a folder: add -o DIR.")
    if rehearse:
        _rehearse(rehearse, output.out, output.console, n_learners=learners, sameness=sameness, seed=seed)
        return
    if any(attempt < 1 for attempt in like or ()):
        raise OptionError("--novice-attempt begins at 1.")
    if tasks:
        from howsure.horizon.task_bank import read_tasks

        chosen = simulator.suite_of(read_tasks(tasks), seed=seed)
    else:
        chosen = simulator.draw_suite(n_tasks, kind=suite, seed=seed)
    planted = {f"like-attempt-{attempt:g}": attempt for attempt in like or ()}
    world = simulator.simulate(
        chosen,
        true_horizons=planted,
        n_learners=learners,
        n_attempts=attempts,
        n_runs=runs,
        sameness=sameness,
        tasks_per_learner=tasks_per_learner,
        mastery=mastery,
        seed=seed,
    )
    rows = [
        (model, f"{horizon:.2f}", f"{success:.3f}")
        for (model, horizon), success in zip(world.truth.items(), world.chances.mean(axis=1), strict=True)
    ]
    caption = f"{int(world.tried.sum()):,} attempts of novices and {world.runs.size:,} runs of models."
    output.console.table("True values", ("model", "horizon", "success"), rows, caption)
    output.console.json({"horizon": {m: n if abs(n) < 1e300 else None for m, n in world.truth.items()}, "seed": seed})
    output.console.wrote(world.save(output.out))


def _rehearse(pages: Path, out: Path, console: Console, *, n_learners: int, sameness: float, seed: int) -> None:
    """The files that simulated novices would send back."""
    from howsure.horizon.novices.rehearsal import fill_in_pages
    from howsure.tables.frames import write_frame

    answers, curves = fill_in_pages(pages, out / "answers", n_learners=n_learners, sameness=sameness, seed=seed)
    console.say(
        f"{len(answers)} simulated novices answered. Next: howsure horizon collect {pages} {out / 'answers'} -o novices"
    )
    console.json({"answers": [path.name for path in answers], "seed": seed})
    console.wrote([write_frame(curves.frame, out / "suite.csv"), *answers[:1], *answers[1:][-1:]])
