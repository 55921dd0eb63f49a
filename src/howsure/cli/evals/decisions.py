"""`howsure gate`, `watch`, `overview`, `items`, `explore` and `names`: decisions, and what they depend on."""

from __future__ import annotations

import os
import subprocess
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from howsure.cli.evals.means import Choosing, Cluster
from howsure.cli.options import Inputs, Level, Output, Printing, Reading, Seed, file_to_write, verb
from howsure.cli.output import finish, progress_bar, save_charts
from howsure.errors import OptionError
from howsure.estimates import chance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from howsure.evals.gating import GateDecision
    from howsure.evals.overviews import AutomaticClaim
    from howsure.evals.stopping import Watch

__all__ = ["Viewer", "app"]

app = typer.Typer()


@app.command(epilog="Example: howsure gate examples/ci/base.csv examples/ci/candidate.csv --margin 0.06")
@verb
def gate(
    reading: Reading,
    choosing: Choosing,
    output: Output,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="BASE CANDIDATE",
            help="Two files or folders, or one with --base and --candidate. With --coverage: item banks.",
            show_default=False,
        ),
    ] = None,
    base: Annotated[
        str | None, typer.Option(help='The base: a model, or "model=x,prompt=cot".', show_default=False)
    ] = None,
    candidate: Annotated[
        str | None, typer.Option(help='The candidate: a model, or "model=x,prompt=cot".', show_default=False)
    ] = None,
    margin: Annotated[
        float, typer.Option(help="Margin: the largest drop of the mean score that is acceptable.")
    ] = 0.02,
    suite: Annotated[
        Path | None,
        typer.Option(help="YAML file: which evals are tested, each with its own margin.", show_default=False),
    ] = None,
    subset: Annotated[
        bool, typer.Option("--subset", help="The candidate was meant to run on fewer items than the base.")
    ] = False,
    level: Annotated[
        float, typer.Option(min=0.5, max=0.999, help="Coverage of the intervals: here of one-sided limits.")
    ] = 0.95,
    cluster: Cluster = None,
    cannot_tell: Annotated[
        str | None,
        typer.Option(help="Use the exit code of ship or block if the verdict is 'cannot tell'.", show_default=False),
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write the verdict as Markdown, for a pull request.", show_default=False)
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option(help="Add the verdict to this file; without inputs, show the file.", show_default=False),
    ] = None,
    commit: Annotated[
        str | None, typer.Option(help="For the history. [default: GITHUB_SHA, or git's HEAD]", show_default=False)
    ] = None,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="Measure how often the gate is wrong, on item banks (n, n_success).")
    ] = False,
    simulations: Annotated[
        int, typer.Option(min=10, help="Simulated data sets: pairs of models per row, with --coverage.")
    ] = 10_000,
    seed: Seed = 0,
) -> None:
    """Ship, block or cannot tell: may the candidate replace the base?

    Ship: the lower limit of the one-sided interval of candidate − base is above −margin, on every eval. Block: not ship, and the upper limit is
    below 0, on one eval (Holm-corrected). Otherwise the data cannot tell, and the output says what would decide. Attempts without a score are counted
    in every defensible way, and a verdict stands only if all of them give it.

    Exit codes: 0 ship, 1 block, 3 cannot tell, 2 an error that you can correct, 70 an unexpected error. Writes gate.csv, gate.json, the chart and a
    report; with --history also the trend over commits. Where GITHUB_STEP_SUMMARY is set, the Markdown is added to that file.
    """
    if cannot_tell not in (None, "ship", "block"):
        raise OptionError.unknown("way to end", str(cannot_tell), ("ship", "block"))
    if coverage:
        return _coverage(inputs or [], reading, output, simulations, level, seed, margin)
    if history and not inputs:
        return _show_history(history, output)
    if len(inputs or []) not in (1, 2):
        raise OptionError("Name two inputs: howsure gate BASE CANDIDATE; or one, with --base and --candidate.")
    from howsure.evals.gating import EXIT_CODES
    from howsure.evals.gating import gate as judge

    paths = [Path(one).resolve() for one in inputs or []]
    if len(paths) == 2 and paths[0] == paths[1]:
        raise OptionError(
            f"{inputs[1] if inputs else ''} is both base and candidate. Name two inputs; or this one once, with --base and --candidate."
        )
    sides = [choosing.apply(reading.attempts([one], output.console), output.console) for one in inputs or []]
    options: dict[str, Any] = {"margin": margin, "suite": suite, "subset": subset, "level": level, "cluster": cluster}
    result = judge(*sides, base=base, candidate=candidate, **options)
    told = {f"{name}: {note}" for name in ("base", "candidate") for one in sides for note in one.notes}
    output.console.notes(note for note in result.provenance.notes if note not in told)
    _print(result, output, level)
    if markdown:
        from howsure.safe_io import write_atomic

        output.console.wrote([write_atomic(markdown, result.markdown())])
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(result.markdown() + "\n")
    more: list[Path] = []
    if history:
        from howsure.evals.gating import append_history, read_history

        append_history(history, result, commit=commit or _commit())
        more = save_charts(read_history(history).charts(), output, output.out) if output.out else []
    finish(result, output, "gate", "May the candidate replace the base?", more)
    is_open = result.verdict == "cannot tell" and cannot_tell is not None
    code = EXIT_CODES["ship" if cannot_tell == "ship" else "block"] if is_open else result.exit_code
    if is_open:
        output.console.notes([f"The verdict is 'cannot tell'; the exit code is that of {cannot_tell} (--cannot-tell)."])
    if code:
        raise SystemExit(code)
    return None


def _print(result: GateDecision, output: Output, level: float) -> None:
    rows = [
        (
            row.eval,
            row.verdict,
            row.base.value if row.base.value is None else f"{row.base.value:.3f}",
            row.candidate.value if row.candidate.value is None else f"{row.candidate.value:.3f}",
            row.difference.against(-row.margin),
            f"{row.margin:g}",
            chance(row.p_ship),
            chance(row.p_block_adjusted),
            row.n_items,
            f"{row.n_gains} / {row.n_losses}",
            f"{row.n_missing_base} / {row.n_missing_candidate}"
            if row.n_missing_base or row.n_missing_candidate
            else None,
            "; ".join(part for part in (row.advice or row.reason, row.tipping) if part),
        )
        for row in result.rows
    ]
    columns: tuple[str, ...] = ("eval", "verdict", "base", "candidate", "difference", "margin")
    columns = (*columns, "p (drop)", "p (no drop)", "items", "+ / −", "no score", "what would decide")
    caption = (
        f"Estimand: mean over items of candidate − base, every item counting once, with two one-sided limits of {level:.0%}. Ship: lower limit above "
        "−margin. Block: not ship, and upper limit below 0 after Holm correction. p (drop): of a drop of the margin or more; p (no drop): Holm-corrected; "
        "+ / −: items that became better and worse; no score: attempts of the base and of the candidate without one."
    )
    output.console.table("Gate", columns, rows, caption)
    output.console.say(result.sentence)


def _coverage(
    inputs: list[str], reading: Reading, output: Output, simulations: int, level: float, seed: int, margin: float
) -> None:
    import polars as pl

    from howsure.evals.gate_simulation import gate_coverage
    from howsure.tables import Attempts

    banks = [reading.attempts([one], output.console) for one in inputs]
    named = [  # a bank without a name is called like its file
        bank
        if bank.has("domain")
        else Attempts(bank.lazy.with_columns(pl.lit(Path(one).stem).alias("domain")), notes=bank.notes)
        for one, bank in zip(inputs, banks, strict=True)
    ]
    margins = sorted({margin, 0.05})
    with progress_bar("simulating", output.console) as progress:
        result = gate_coverage(
            named or None, n_simulations=simulations, level=level, seed=seed, margins=margins, progress=progress
        )
    rows = [
        (r.bank, f"{r.n_items} × {r.n_repeats}", f"{r.margin:g}", f"{r.false_ship:.3f}", f"{r.false_block:.3f}", f"{r.true_ship:.2f}", f"{r.cannot_tell:.2f}", f"{r.planned_drop:.3f}", f"{r.true_block:.2f}")
        for r in result.rows
    ]  # fmt: skip
    columns: tuple[str, ...] = (
        "bank",
        "items × repeats",
        "margin",
        "false ships",
        "false blocks",
        "A/A: ship",
        "A/A: cannot tell",
    )
    columns = (*columns, "planned drop", "blocks at it")
    caption = (
        f"{simulations:,} pairs per number, seed {seed}. False ships: at a true drop equal to the margin. False blocks: base and candidate are the same model "
        f"(A/A). Both shall be at most {1 - level:.0%} (Monte Carlo standard error {result.rows[0].monte_carlo_se:.4f}). Planned drop: what a plan with 80 % "
        "power gives, at least the margin."
    )
    output.console.table("How often is the gate wrong?", columns, rows, caption)
    output.console.json(result.as_dict())
    if output.out:
        output.console.wrote(result.save(output.out))


def _show_history(path: Path, output: Output) -> None:
    from howsure.evals.gating import read_history

    result = read_history(path)
    rows = [(r.position, r.time, r.commit[:12], r.eval, r.verdict, r.candidate, r.difference) for r in result.rows]
    columns = ("run", "time", "commit", "eval", "verdict", "candidate", "candidate − base")
    output.console.table("History of the gate", columns, rows, f"The chain of {rows[-1][0]} runs is complete.")
    finish(result, output, "history", "How did the candidates develop?")


def _commit() -> str:
    """The commit that is judged, as far as the environment knows it."""
    if sha := os.environ.get("GITHUB_SHA"):
        return sha
    try:
        asked = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return asked.stdout.strip() if asked.returncode == 0 else ""


# `howsure watch`.


@app.command(epilog="Example: howsure watch logs --target 0.7 --once")
@verb
def watch(
    output: Output,
    folder: Annotated[Path, typer.Argument(help="The folder in which Inspect writes its logs.", show_default=False)],
    target: Annotated[
        float | None, typer.Option(help="Is each mean above or below this target?", show_default=False)
    ] = None,
    margin: Annotated[float, typer.Option(min=0, help="Margin: smaller differences do not matter.")] = 0.0,
    precision: Annotated[
        float | None, typer.Option(help="Half-width of the interval that is precise enough.", show_default=False)
    ] = None,
    scorer: Annotated[
        str | None, typer.Option(help="Inspect: which scorer, or scorer.key.", show_default=False)
    ] = None,
    level: Level = 0.95,
    count: Annotated[
        str | None,
        typer.Option(
            help="What attempts without a score count as, e.g. errored=wrong; decide it before the first look.",
            show_default=False,
        ),
    ] = None,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between looks.")] = 5.0,
    once: Annotated[bool, typer.Option("--once", help="Look once and end.")] = False,
) -> None:
    """Confidence sequences of evals while they run: look as often as you like.

    Each interval is valid at all looks together, so an eval may be stopped as soon as its question is decided. A unit is an item
    with all its repeats; units are counted in a random order that was fixed before the run, and a finished unit is counted after those before it.
    Ends when no log is being written any more. With -o writes watch.csv and watch_differences.csv.
    """
    from howsure.evals.stopping import watch as look

    options: dict[str, Any] = {"target": target, "margin": margin, "precision": precision, "count": count}
    result = look(folder, **options, level=level, scorer=scorer)
    if not once and not output.json:
        import time

        from rich.console import Console
        from rich.live import Live

        with Live(console=Console(), auto_refresh=False, transient=True) as live:
            while result.is_running:
                live.update(_drawn(result, level), refresh=True)
                time.sleep(every)
                result = look(folder, **options, level=level, scorer=scorer)
    output.console.notes(result.provenance.notes)
    for title, columns, rows in _contents(result, level):
        output.console.table(title, columns, rows, _CAPTION)
    if output.json:
        output.console.json(result.as_dict())
    if output.out:
        output.console.wrote(result.save(output.out))


_CAPTION = "Confidence sequences, valid at all looks together. In order: finished units without an unfinished unit before them."


def _contents(result: Watch, level: float) -> list[tuple[str, tuple[str, ...], list[tuple[Any, ...]]]]:
    runs: list[tuple[Any, ...]] = [
        (
            r.task,
            r.model,
            r.status,
            r.mean,
            f"{r.n_units:,}",
            f"{r.n_finished:,}",
            f"{r.n_planned:,}",
            r.n_failed,
            r.answer,
        )
        for r in result.runs
    ]
    columns: tuple[str, ...] = (
        "eval",
        "model",
        "status",
        f"mean [{level:.0%}]",
        "in order",
        "finished",
        "planned",
        "failed",
        "answer",
    )
    tables = [("Means", columns, runs)]
    if result.pairs:
        pairs: list[tuple[Any, ...]] = [
            (p.task, p.a, p.b, p.difference.against(0), f"{p.n_units:,}", f"{p.n_planned:,}", p.answer)
            for p in result.pairs
        ]
        columns = ("eval", "A", "B", f"A − B [{level:.0%}]", "in order", "planned", "answer")
        tables.append(("Differences, paired by item", columns, pairs))
    return tables


def _drawn(result: Watch, level: float) -> Any:
    """The tables for a live display."""
    import rich.box
    from rich.console import Group
    from rich.markup import escape
    from rich.table import Table

    from howsure.outside_text import one_line

    drawn = []
    for title, columns, rows in _contents(result, level):
        table = Table(*(escape(name) for name in columns), title=title, box=rich.box.SIMPLE_HEAD, title_justify="left")
        for row in rows:
            table.add_row(*(escape(one_line(str(cell))) for cell in row))
        drawn.append(table)
    return Group(*drawn, f"[dim]{escape(_CAPTION)}[/dim]")


# `howsure overview`, also `howsure LOGS`.


_MOST_LINES, _WIDTH = 6, 110


@app.command(epilog="Example: howsure overview examples/evals/attempts.csv --cluster family")
@verb
def overview(
    inputs: Inputs,
    reading: Reading,
    choosing: Choosing,
    output: Output,
    by: Annotated[
        str | None,
        typer.Option(help="Groups: one claim per pair over all evals (all), or per eval (domain).", show_default=False),
    ] = None,
    cluster: Cluster = None,
    level: Level = 0.95,
    target: Annotated[float, typer.Option("--power", help="Power: for the number of items needed.")] = 0.8,
    seed: Seed = 0,
) -> None:
    """Contents of the logs, differences that the data support, differences that they do not decide, and warnings.

    howsure LOGS is short for howsure overview LOGS. Every pair of models gives one claim; all claims are tested together (Holm), so the probability that any
    supported claim is wrong is at most 5 %. Writes overview.csv (the claims), contents.csv, warnings.csv, overview.json, the charts and a report.
    """
    from howsure.evals.overviews import overview as look

    attempts = choosing.apply(reading.attempts(inputs, output.console), output.console)
    with progress_bar("comparing", output.console) as progress:
        result = look(attempts, by=by, cluster=cluster, level=level, power=target, seed=seed, progress=progress)
    say = output.console.say
    say(_paragraph("What is in the logs", [result.holdings]))
    if result.claims:
        say(_paragraph(f"What they support ({result.tested})", [*result.standings, *_lines(result.supported)]))
        if result.undecided:
            say(_paragraph("What they do not decide, and how many items would decide it", _lines(result.undecided)))
    else:
        lines = result.mean_lines[:_MOST_LINES]
        left = len(result.mean_lines) - len(lines)
        lines += [f"… and {left:,} more; -o writes all of them."] if left else []
        say(_paragraph("What they support: means only, because there is nothing to compare", lines))
    if result.warnings:
        say(_paragraph("Warnings", [f"{one.kind}: {one.text}" for one in result.warnings]))
    say(_paragraph("Next step", [result.next_step]))
    finish(result, output, "overview", "What may be claimed?")


def _lines(claims: Sequence[AutomaticClaim]) -> list[str]:
    """One line per claim, and how many are left."""
    lines = [f"{c.sentence} To decide: {c.to_decide}." if c.to_decide else c.sentence for c in claims[:_MOST_LINES]]
    left = len(claims) - len(lines)
    return [*lines, *([f"… and {left:,} more; -o writes all of them."] if left else [])] or ["No claim."]


def _paragraph(title: str, lines: Sequence[str]) -> str:
    wrapped = [textwrap.fill(line, _WIDTH, initial_indent="  ", subsequent_indent="    ") for line in lines]
    return "\n".join([title, *wrapped, ""])


# `howsure items`.


Viewer = Annotated[
    str | None,
    typer.Option(
        help="Address of `inspect view`, for links to transcripts: http://127.0.0.1:7575.", show_default=False
    ),
]
_SHOWN = 20


@app.command(epilog="Example: howsure items examples/evals/attempts.csv --a amber-2 --b amber-1 -o out")
@verb
def items(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    a: Annotated[str | None, typer.Option(help="The first of two: a model.", show_default=False)] = None,
    b: Annotated[
        str | None,
        typer.Option(help="The second of two: a model. [default: the two highest means]", show_default=False),
    ] = None,
    viewer: Viewer = None,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """All items: success of each model, differences between two models, and items whose key may be wrong.

    Prints the saturation of each eval, the flips between A and B, and the items that better models solve significantly less often.
    Writes items.csv (one row per item), item_scores.csv (per item and model, with links to transcripts), saturation.csv,
    items.json, the charts and a report.
    """
    from howsure.evals.item_table import items as describe
    from howsure.evals.sections import estimate_of

    attempts = reading.attempts(inputs, output.console)
    result = describe(attempts, a, b, viewer=viewer, level=level, seed=seed)
    output.console.notes(result.provenance.notes[len(attempts.notes) :])
    shares = ("never_solved", "always_solved", "informative")
    rows = [
        (
            row["eval"] or "all",
            row["n_items"],
            row["best_model"],
            *(estimate_of(row, name) for name in ("best", *shares)),
        )
        for row in result.evals.iter_rows(named=True)
    ]
    columns = ("eval", "items", "highest", f"its mean [{level:.0%}]", "never solved", "always solved", "informative")
    caption = "Informative: some attempts score above 0.5 and others do not. Only such items contain information about differences between models."
    output.console.table("Saturation", columns, rows, caption)
    only_a, only_b = result.flips
    is_several = len(result.evals) > 1  # items of one name may be in several evals
    flips = result.items.filter(result.items["flip"] != "")
    rows = [
        (
            row["flip"],
            *([row["eval"]] if is_several else []),
            row["task"],
            *(f"{row[side]:.3g}" for side in ("score_a", "score_b")),
            estimate_of(row, "difference"),
        )
        for row in flips.head(_SHOWN).iter_rows(named=True)
    ]
    caption = f"Only {result.a} (a) solves {only_a:,} items, only {result.b} (b) {only_b:,}."
    caption += f" The first {_SHOWN} are shown; items.csv (-o) has all." if len(flips) > _SHOWN else ""
    if rows:
        names = ("solved by", *(["eval"] if is_several else []), "item", "A", "B", f"A − B [{level:.0%}]")
        output.console.table("Flips", names, rows, caption)
    suspects = result.items.filter("is_suspect").sort("discrimination")
    rows = [
        (row["task"], estimate_of(row, "success"), estimate_of(row, "discrimination"), f"{row['p_adjusted']:.3f}")
        for row in suspects.head(_SHOWN).iter_rows(named=True)
    ]
    caption = f"{len(suspects):,} items that better models solve significantly less often (false discovery rate {1 - level:.0%})."
    if rows:
        output.console.table(
            "Items whose key may be wrong", ("item", "success", "discrimination", "p, corrected"), rows, caption
        )
    finish(result, output, "items", "Which items?")


# `howsure explore`.


@app.command(epilog="Example: howsure explore examples/evals/attempts.csv -o explorer.html")
@verb
def explore(
    inputs: Inputs,
    reading: Reading,
    printing: Printing,
    out: Annotated[Path, typer.Option("-o", "--out", help="Output: the page, or a folder for it.")] = Path(
        "explorer.html"
    ),
    is_opened: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    with_text: Annotated[
        bool, typer.Option("--with-text", help="Put questions, targets and answers into the page.")
    ] = False,
    viewer: Viewer = None,
    by: Annotated[
        str,
        typer.Option(
            help="Groups: model, prompt, model,prompt, … [default: all that vary, crossed]",
            show_default=False,
        ),
    ] = "",
    cluster: Cluster = None,
    level: Level = 0.95,
    title: Annotated[str, typer.Option(help="Title of the page.")] = "Explorer",
) -> None:
    """One offline page with all attempts: a map of models by items, two models side by side, items, cost.

    Filters on any column recompute means, clustered intervals and paired differences in the browser: the same numbers as
    `howsure summary` and `howsure compare`. The page fetches and sends nothing. Texts go into it only with --with-text.
    """
    from howsure.evals.explorer import explore as build
    from howsure.evals.explorer import with_texts

    console, target = printing.console, file_to_write(out, "explorer.html")
    attempts = reading.attempts(inputs, console)
    if with_text:
        attempts = with_texts(attempts, inputs)
    page = build(attempts, by=by, cluster=cluster, level=level, viewer=viewer, with_text=with_text, title=title)
    console.notes(page.notes[len(attempts.notes) :])
    path = page.save(target)
    console.json({"written": [path], "attempts": len(attempts), "digest": attempts.digest, "notes": page.notes})
    console.wrote([path])
    if is_opened:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())


# `howsure names`: spellings of one model or benchmark.


@app.command(epilog="Example: howsure names examples/evals/attempts.csv --save names.yaml")
@verb
def names(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    save: Annotated[
        Path | None,
        typer.Option(help="Write the proposals to this file, to be edited and used with --names.", show_default=False),
    ] = None,
) -> None:
    """Names of models and benchmarks that may be the same, with the reasons.

    Nothing is merged. --save writes the proposals as YAML; delete the lines that are wrong, and pass the file as --names to any verb.
    """
    from howsure.evals.name_proposals import names as propose_names
    from howsure.tables.spellings import NameFile

    if output.out and not save:
        save = output.out / "names.yaml"
    merges = propose_names([reading.read([one], output.console) for one in inputs])
    rows = [(merge.kind, merge.name, merge.into, merge.reason, f"{merge.rows:,}") for merge in merges]
    if rows:
        caption = "Proposals: nothing was merged."
        output.console.table(
            "Names that may mean the same", ("kind", "name", "may be", "differs in", "rows"), rows, caption
        )
    else:
        output.console.say("No two names look like variants of the same name.")
    if save:
        output.console.wrote([NameFile.of(merges).save(save)])
    output.console.json(merges)
