"""`assay track`: run, report, estimate, human, page, collect."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.finish import save_charts, write_report
from assay.cli.options import Level, Output, Seed, verb
from assay.cli.output import Console, progress_bar
from assay.errors import OptionError, need
from assay.estimates import chance

if TYPE_CHECKING:
    from assay.track.gains import Gain
    from assay.track.inspect.run import ModelRun
    from assay.track.results import Results, Row
    from assay.track.samples import Samples
    from assay.track.sequence import Setting

__all__ = ["app"]

app = typer.Typer(
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    rich_markup_mode=None,
    no_args_is_help=True,
    help="For how many turns can a solver keep a statistic in its head?",
)


def _option(text: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, rich_help_panel="Conditions", **more)


@dataclass(frozen=True)
class Conditions:
    """What is shown."""

    length: Annotated[int, _option("Numbers in a sequence.")] = 300
    low: Annotated[int, _option("The smallest number.")] = 0
    high: Annotated[int, _option("One more than the largest number.")] = 100
    distractors: Annotated[float, _option("Chance of an irrelevant line before each number, 0 to 1.")] = 0.0
    brief: Annotated[bool, _option("Forbid all but the answer, so that no scratchpad holds the state.", "--brief")] = (
        False
    )

    @property
    def setting(self) -> Setting:
        """The same for the game."""
        from assay.track.sequence import Setting

        return Setting(self.length, self.low, self.high, self.distractors, self.brief)


def _asking(text: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, rich_help_panel="Asking a model", **more)


@dataclass(frozen=True)
class Asking:
    """How a model is asked."""

    epochs: Annotated[int, _asking("Games with each sequence.", min=1)] = 1
    base_url: Annotated[str | None, _asking("Address of the model's server.", show_default=False)] = None
    state_role: Annotated[str, _asking("Who tells the explicit state: user or assistant.")] = "user"
    max_samples: Annotated[int, _asking("Games at a time; memory grows with it.", min=1)] = 20
    config: Annotated[
        list[str] | None, _asking("Inspect's generation settings, e.g. temperature=0.", show_default=False)
    ] = None

    @property
    def options(self) -> dict[str, Any]:
        """The same for Inspect."""
        told = {name: getattr(self, name) for name in ("epochs", "base_url", "state_role", "max_samples")}
        return told | {"config": dict(_setting(text) for text in self.config or [])}


Variants = Annotated[
    list[str], typer.Option("--variant", help="median, mode, recall, inversions or spread; may be repeated.")
]
Solvers = Annotated[
    list[str], typer.Option("--solver", help="direct, or explicit: the state is shown; may be repeated.")
]
NSamples = Annotated[int, typer.Option("--samples", min=1, help="Sequences to play, from number 0 on.")]


@app.command()
@verb
def run(
    output: Output,
    conditions: Conditions,
    asking: Asking,
    model: Annotated[
        list[str] | None,
        typer.Option(help="PROVIDER/MODEL, as Inspect spells it; may be repeated.", show_default=False),
    ] = None,
    player: Annotated[
        list[str] | None,
        typer.Option(help="oracle, random, largest, window-20 or noisy-0.05; may be repeated.", show_default=False),
    ] = None,
    variant: Variants = ["median"],  # noqa: B006 - typer copies it
    solver: Solvers = ["direct"],  # noqa: B006
    samples: NSamples = 250,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Let a model, or a player that needs none, play; the same command goes on with a run that was broken off.

    Writes samples.csv (one row a game) and track.csv (the figures) and keeps those of other players that are in the folder already.
    A model's logs are in DIR/logs, for `inspect view`. Exit code 1 says that a server failed and games are missing.
    """
    from assay.track.reading import kept_in
    from assay.track.results import measure
    from assay.track.samples import Samples

    if not (model or player):
        raise OptionError("Nobody plays. Name a model (--model PROVIDER/MODEL) or a player (--player oracle).")
    played, exit_code = [], 0
    if player:
        played.append(_players(player, variant, solver, conditions.setting, samples, seed, output.console))
    for name in model or []:
        for one, way in [(one, way) for one in variant for way in solver]:
            found = _ask(name, one, way, conditions.setting, samples, seed, asking, output)
            played.append(found.samples)
            exit_code = max(exit_code, found.exit_code)
    older = kept_in(output.out) if output.out else None
    results = measure(Samples.union(played).over(older), level=level, seed=seed)
    _tell(results, output)
    if output.out:
        output.console.wrote(results.save(output.out))
    if exit_code:
        raise SystemExit(exit_code)


@app.command()
@verb
def report(
    inputs: Annotated[
        list[Path],
        typer.Argument(help="Inspect logs, samples.csv files, or folders that hold them.", show_default=False),
    ],
    output: Output,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """What came out: the six metrics with intervals, survival over turns, what the state brings, kinds of errors, tokens.

    Writes track.csv, samples.csv, survival.csv, hazard.csv, attempts.csv, track.json, the charts, and report.html, which opens offline.
    """
    from assay.track.reading import read_samples
    from assay.track.results import measure

    results = measure(read_samples(inputs), level=level, seed=seed)
    _tell(results, output)
    if output.out:
        folder, sections = output.out, "track.track_sections"
        page = write_report(folder / "report.html", "Track the Stat", sections, results, results.provenance)
        attempts = results.samples.attempts().write(folder / "attempts.csv")
        output.console.wrote([page, attempts, *results.save(folder), *save_charts(results.charts(), folder)])


@app.command()
@verb
def estimate(
    output: Output,
    conditions: Conditions,
    variant: Variants = ["median", "mode"],  # noqa: B006
    solver: Solvers = ["direct", "explicit"],  # noqa: B006
    samples: NSamples = 250,
    turns: Annotated[
        list[float] | None,
        typer.Option(
            help="Right turns that games last on average; may be repeated. [default: 10, 50, all]", show_default=False
        ),
    ] = None,
    input_price: Annotated[float | None, typer.Option(help="Of a million tokens read.", show_default=False)] = None,
    output_price: Annotated[float | None, typer.Option(help="Of a million tokens written.", show_default=False)] = None,
    cached_price: Annotated[
        float | None, typer.Option(help="Of a million tokens read again, where that is cheaper.", show_default=False)
    ] = None,
    extra_output: Annotated[float, typer.Option(help="Tokens written in a turn beside the answer (reasoning).")] = 0,
) -> None:
    """What a run would use and cost, before it is started. Nothing is asked.

    The conversation is read anew in each turn, so what is read grows with the square of the turns. Counted by a rule of thumb:
    expect to be off by a third.
    """
    from assay.track.estimate import Prices, estimate_tokens

    if (input_price is None) != (output_price is None):
        raise OptionError("--input-price and --output-price go together; give both or none.")
    prices = None if input_price is None or output_price is None else Prices(input_price, output_price, cached_price)
    lasts = turns or sorted({min(10.0, conditions.length), min(50.0, conditions.length), float(conditions.length)})
    shared: dict[str, Any] = {"n_samples": samples, "setting": conditions.setting, "extra_output": extra_output}
    found = [estimate_tokens(v, s, turns=t, **shared) for v in variant for s in solver for t in lasts]
    costs = [one.cost(prices) if prices else None for one in found]
    rows = [
        (
            e.variant,
            e.solver,
            f"{e.turns:g}",
            f"{e.input_tokens:,}",
            f"{e.repeated_tokens:,}",
            f"{e.output_tokens:,}",
            _money(cost),
        )
        for e, cost in zip(found, costs, strict=True)
    ]
    columns = ("variant", "solver", "right turns", "input", "of it repeated", "output", "cost")
    caption = f"{samples:,} games each. Repeated: read the turn before, which many providers charge less for."
    output.console.table(
        "Tokens of a run", columns if prices else columns[:-1], [r if prices else r[:-1] for r in rows], caption
    )
    told = [vars(e) | {"total_tokens": e.total_tokens, "cost": cost} for e, cost in zip(found, costs, strict=True)]
    output.console.json(told)
    if output.out:
        import polars as pl

        from assay.frames import write_frame

        output.console.wrote([write_frame(pl.DataFrame(told, infer_schema_length=None), output.out / "estimate.csv")])


@app.command()
@verb
def human(
    conditions: Conditions,
    name: Annotated[str, typer.Option(help="Who plays.")] = "me",
    variant: Annotated[str, typer.Option(help="median, mode, recall, inversions or spread.")] = "median",
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for the games.")] = Path("track-human"),
    sequence: Annotated[
        int | None, typer.Option(min=0, help="Which sequence. [default: the first not yet played]", show_default=False)
    ] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No notes.")] = False,
) -> None:
    """Play it yourself: type the number, no brackets needed; q stops, and the same command goes on from there.

    Writes samples.csv and attempts.csv, which keep the games of everybody who plays in this folder.
    """
    from assay.track.human import play_human
    from assay.track.reading import FILE

    console = Console(is_quiet=quiet)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise OptionError("The game needs a terminal: run it without pipes or redirection.")
    with _own_screen() as screen:
        samples = play_human(name, variant, out, screen, setting=conditions.setting, seed=sequence)
    if samples is None:
        console.say("Stopped. The same command goes on from here.")
        return
    last = samples.frame.row(-1, named=True)
    console.say(f"{last['max_length']} right turns on the {last['variant']}, sequence {last['seed']}.")
    console.wrote([out / FILE, samples.attempts().write(out / "attempts.csv")])


@app.command()
@verb
def page(
    conditions: Conditions,
    out: Annotated[Path, typer.Option("-o", "--out", help="The HTML file to write.")] = Path("play.html"),
    variant: Annotated[str, typer.Option(help="median, mode, recall, inversions or spread.")] = "median",
    games: Annotated[int, typer.Option(min=1, help="Games after the practice round.")] = 3,
    sequence: Annotated[int, typer.Option(min=0, help="The first game's sequence; the next ones follow.")] = 0,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No notes.")] = False,
) -> None:
    """The same game as a page for a browser: one file, no network. Mail it; `assay track collect` reads what comes back."""
    from assay.track.page import make_page

    made = make_page(variant, n_games=games, first_seed=sequence, setting=conditions.setting)
    Console(is_quiet=quiet).wrote([made.save(out)])


@app.command()
@verb
def collect(
    played: Annotated[Path, typer.Argument(metavar="PAGE", help="The page that was played.", show_default=False)],
    results: Annotated[
        list[Path], typer.Argument(help="The files that people sent back, or folders of them.", show_default=False)
    ],
    output: Output,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Turn the files that players sent back into samples.csv and attempts.csv, judged again number by number."""
    from assay.pages import read_page
    from assay.track.page import collect_page
    from assay.track.reading import FILE, kept_in
    from assay.track.results import measure

    samples = collect_page(read_page(played), results)
    older = kept_in(output.out) if output.out else None
    kept = samples.over(older)
    _tell(measure(kept, level=level, seed=seed), output)
    if output.out:
        output.console.wrote([kept.write(output.out / FILE), kept.attempts().write(output.out / "attempts.csv")])


class _Terminal:
    """A screen of its own: what was shown is gone, also from what one can scroll back to."""

    def show(self, text: str) -> None:
        print("\x1b[2J\x1b[3J\x1b[H" + text, end="", flush=True)

    def ask(self, prompt: str) -> str | None:
        print(prompt, end="", flush=True)
        return sys.stdin.readline() or None


@contextmanager
def _own_screen() -> Iterator[_Terminal]:
    print("\x1b[?1049h", end="", flush=True)
    try:
        yield _Terminal()
    finally:
        print("\x1b[?1049l", end="", flush=True)


def _players(
    names: Sequence[str],
    variants: list[str],
    solvers: list[str],
    setting: Setting,
    n_samples: int,
    seed: int,
    console: Console,
) -> Samples:
    from assay.track.run import run_players

    if solvers != ["direct"]:
        raise OptionError("--solver is for models: a player knows its own state. Leave it out.")
    with progress_bar("playing", console) as progress:
        return run_players(names, variants, setting=setting, n_samples=n_samples, seed=seed, progress=progress)


def _ask(
    model: str, variant: str, solver: str, setting: Setting, n_samples: int, seed: int, asking: Asking, output: Output
) -> ModelRun:
    need("inspect_ai", "run", "Asking a model")
    from assay.track.inspect.run import run_model

    if not output.out:
        raise OptionError("A model's run needs a folder for its logs: add -o DIR.")
    is_seen = not (output.quiet or output.json)
    display = "none" if not is_seen else "rich" if sys.stdout.isatty() else "plain"
    found = run_model(
        model,
        out=output.out,
        variant=variant,
        solver=solver,
        setting=setting,
        n_samples=n_samples,
        seed=seed,
        display=display,
        **asking.options,
    )
    output.console.notes(f"{count} × {line}" for line, count in found.errors.items())
    if found.exit_code:
        output.console.notes(
            [f"{model} on {variant}: not every game was played. The same command goes on with the rest."]
        )
    return found


def _tell(results: Results, output: Output) -> None:
    from assay.track.yardsticks import GUESSING

    console = output.console
    console.notes(results.provenance.notes)
    rows = [
        (r.model, r.solver, _board(r), r.average, r.stddev, r.median, r.largest, r.smallest, r.violation_rate, r.n)
        for r in results.rows
    ]
    figures = (f"average [{results.level:.0%}]", "SD", "median", "max", "min", "violations", "games")
    exact = [one for one in results.yardsticks if one.name == GUESSING]
    told = "; ".join(f"{one.name} on {one.board.variant} {one.average}" for one in exact)
    console.table("Right turns", ("player", "solver", "variant", *figures), rows, f"To compare with: {told}.")
    if results.gains:
        gained = [(g.model, g.solver, _board(g), g.difference, chance(g.p), g.n_seeds) for g in results.gains]
        titles = ("model", "solver", "variant", "explicit − implicit", "p (log-rank)", "sequences")
        console.table("What the state brings", titles, gained, "Right turns, paired by sequence.")
    console.json(results.as_dict())


def _board(row: Row | Gain) -> str:
    from assay.track.yardsticks import Board

    return Board(row.variant, row.setting, row.length).title


def _setting(text: str) -> tuple[str, Any]:
    import json

    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise OptionError(f"--config {text}: write it as name=value, for example --config temperature=0.")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _money(cost: float | None) -> str | None:
    return None if cost is None else f"{cost:,.2f}"
