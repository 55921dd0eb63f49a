"""`howsure track run`, `length`, `human`, `page`, `collect` and `estimate`: games of Track the Stat."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from howsure.cli.asking import AskingOptions, asking_option, prices_of, tell_errors
from howsure.cli.options import Level, Output, Printing, Seed, file_to_write, folder_to_write, verb
from howsure.cli.output import Console, progress_bar, write_all
from howsure.cli.track.report import print_result
from howsure.errors import OptionError

if TYPE_CHECKING:
    from howsure.track.game.sequence import Setting
    from howsure.track.running.playing import ModelRun

__all__ = ["Conditions", "NSamples", "Solvers", "Variant", "Variants", "app"]

app = typer.Typer(rich_markup_mode=None)


# What is played: options that the verbs share.


_CHOICES = "median, mode, inversions, spread, lookback, permutation, boxes, sums, automaton, repl or ledger; with a size, as in boxes-12"

Variant = Annotated[str, typer.Option(help=f"{_CHOICES}.")]
Variants = Annotated[list[str], typer.Option("--variant", help=f"{_CHOICES}; may be repeated.")]
Solvers = Annotated[
    list[str],
    typer.Option(
        "--solver",
        help="direct, explicit (the state is shown), cot (reasons in the reply), completion (base models), explicit+cot, explicit+completion; may be repeated.",
    ),
]
NSamples = Annotated[
    int, typer.Option("--samples", min=1, help="Number of sequences to play, starting with sequence 0.")
]


def _option(text: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, rich_help_panel="Conditions", **more)


@dataclass(frozen=True)
class Conditions:
    """What is shown."""

    length: Annotated[int, _option("Turns per game.")] = 300
    low: Annotated[int, _option("The smallest number.")] = 0
    high: Annotated[int, _option("One more than the largest number.")] = 100
    distractors: Annotated[float, _option("Probability of an irrelevant line before each number, 0 to 1.")] = 0.0
    updates: Annotated[int, _option("Numbers, or other updates, per turn.")] = 1
    interference: Annotated[
        float, _option("Probability that a turn also shows an update of another game, to be ignored, 0 to 1.")
    ] = 0.0
    mode: Annotated[
        str,
        _option("turns (to the first error), one-shot (all turns in one prompt), or continue (after errors too)."),
    ] = "turns"
    replaced: Annotated[
        float,
        _option("With --mode continue: probability that an answer is replaced by a wrong one in the conversation."),
    ] = 0.0
    prompt: Annotated[
        str,
        _option("Order of the instructions: howsure, or original-like (as in the first implementation of the eval)."),
    ] = "howsure"
    brief: Annotated[
        bool,
        _option(
            "Forbid notes in replies, so that the state cannot be written down. Hidden reasoning is counted, not forbidden.",
            "--brief",
        ),
    ] = False
    keep_reasoning: Annotated[
        bool,
        _option(
            "Keep a model's reasoning of earlier turns in the conversation; by default it is removed.",
            "--keep-reasoning",
        ),
    ] = False
    first_answer: Annotated[bool, _option("The first answer in a reply counts, not the last.", "--first-answer")] = (
        False
    )

    @property
    def setting(self) -> Setting:
        """The same for the game."""
        from howsure.track.game.sequence import Setting

        if self.prompt not in ("howsure", "original-like"):
            raise OptionError.unknown("prompt", self.prompt, ("howsure", "original-like"))
        return Setting(
            length=self.length,
            low=self.low,
            high=self.high,
            distractors=self.distractors,
            is_brief=self.brief,
            keeps_reasoning=self.keep_reasoning,
            takes_first=self.first_answer,
            updates=self.updates,
            interference=self.interference,
            mode=self.mode,  # type: ignore[arg-type]
            replaced=self.replaced,
            is_original=self.prompt == "original-like",
        )


@dataclass(frozen=True)
class PlayingOptions(AskingOptions):
    """How a model is asked, game by game."""

    max_samples: Annotated[int, asking_option("Samples at a time: games; memory grows with their number.", min=1)] = 20
    reasoning_effort: Annotated[
        str | None,
        asking_option("How much a reasoning model thinks: none, minimal, low, medium, high, …", show_default=False),
    ] = None
    reasoning_tokens: Annotated[
        int | None,
        asking_option("Most tokens of reasoning per reply, for providers with a budget.", min=0, show_default=False),
    ] = None
    epochs: Annotated[int, asking_option("Games per sequence.", min=1)] = 1
    state_role: Annotated[str, asking_option("Role of the message with the explicit state: user or assistant.")] = (
        "user"
    )

    def into(self, output: Output) -> dict[str, Any]:
        """The same for a run; the two dials for reasoning are settings of Inspect."""
        told = super().into(output)
        dials = {name: told.pop(name) for name in ("reasoning_effort", "reasoning_tokens")}
        told["config"] |= {name: value for name, value in dials.items() if value is not None}
        return told


@app.command(epilog="Example: howsure track run --player oracle --player window-5 --samples 20 -o runs")
@verb
def run(
    output: Output,
    conditions: Conditions,
    playing: PlayingOptions,
    model: Annotated[
        list[str] | None,
        typer.Option(help="Model: PROVIDER/MODEL, as Inspect spells it; may be repeated.", show_default=False),
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
    """Run models or scripted baselines; the same command continues a run that was interrupted.

    Writes samples.csv (one row per game) and track.csv (the metrics) and keeps games of other players that are in the folder.
    A model's logs are in DIR/logs, for `inspect view`. Exit code 1 means that a server failed and games are missing.

    With a model: howsure track run --model openai/gpt-5 --variant mode -o runs
    """
    from howsure.track.running.playing import play_all

    if not (model or player):
        raise OptionError("No player is named. Give a model (--model PROVIDER/MODEL) or a player (--player oracle).")
    if player and solver != ["direct"]:
        raise OptionError("--solver is for models: a scripted player has no solver. Omit it.")
    exit_codes = [0]
    asking = playing.into(output) if model else {"out": output.out}
    if model:
        _tell_estimate(output, variant, solver, samples, conditions, playing, model)

    def after_model(name: str, of: str, found: ModelRun) -> None:
        tell_errors(found, output, f"{name} on {of}: not every game was played.")
        exit_codes.append(found.exit_code)

    # Inspect has a display of its own
    with nullcontext() if model else progress_bar("playing", output.console) as progress:
        result = play_all(
            models=model or [],
            players=player or [],
            variants=variant,
            solvers=solver,
            setting=conditions.setting,
            n_samples=samples,
            level=level,
            seed=seed,
            after_model=after_model,
            progress=progress,
            **asking,
        )
    print_result(result, output)
    if output.out:
        names = [f"{name}.csv" for name in result.tables]
        output.console.wrote([output.out / name for name in (*names, "track.json")])
    if max(exit_codes):
        raise SystemExit(max(exit_codes))


def _tell_estimate(
    output: Output,
    variants: list[str],
    solvers: list[str],
    n_samples: int,
    conditions: Conditions,
    playing: PlayingOptions,
    models: list[str],
) -> None:
    """What the run will use, before anything is asked; reasoning is not known beforehand."""
    from howsure.track.running.costs import estimate_run

    setting, prices = conditions.setting, playing.prices
    found = estimate_run(variants, solvers, n_samples=n_samples * playing.epochs, setting=setting, prices=prices)
    by_turns: dict[float, tuple[int, float]] = {}
    for row in found.rows:
        tokens, cost = by_turns.get(row.turns, (0, 0.0))
        by_turns[row.turns] = (
            tokens + row.total_tokens * len(models),
            cost + (row.cost(prices) if prices else 0) * len(models),
        )
    cases = [
        (f"{tokens / 1e6:,.1f} million" if tokens >= 1e6 else f"{tokens:,.0f}")
        + (f", cost {cost:,.2f}" if prices else "")
        + f" (games of {turns:g} correct answers)"
        for turns, (tokens, cost) in by_turns.items()
    ]
    limits = [
        f"{name} {value:g}"
        for name, value in (("--max-tokens-total", playing.max_tokens_total), ("--max-cost", playing.max_cost))
        if value is not None
    ]
    told = [f"Tokens, estimated without reasoning: {'; '.join(cases)}."]
    told += [f"Each run ends at {' or '.join(limits)}; the same command with more continues."] if limits else []
    told += [
        f"{name}: called by Inspect's provider; openai-http/{name.partition('/')[2]} calls the same server with less CPU time per turn."
        for name in models
        if name.startswith("openai-api/")
    ]
    output.console.notes(told)


# `howsure track length`.


@app.command(epilog="Example: howsure track length --model howsure/window-20 --variant ledger --longest 100 -o length")
@verb
def length(
    output: Output,
    asking: AskingOptions,
    model: Annotated[
        str, typer.Option(help="Model: PROVIDER/MODEL, as Inspect spells it; howsure/window-20 is a baseline.")
    ],
    variant: Variant = "median",
    calls: Annotated[int, typer.Option(min=1, max=100, help="Calls per run.")] = 10,
    searches: Annotated[
        int, typer.Option(min=1, help="Number of searches, which are independent and run at the same time.")
    ] = 4,
    longest: Annotated[int, typer.Option(min=2, help="Longest sequence, in turns.")] = 300,
    at: Annotated[
        list[int] | None,
        typer.Option(min=1, help="Ask at this length, instead of searching; may be repeated.", show_default=False),
    ] = None,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """The length at which half of a model's last answers are correct, with few calls; the same command continues a search that was interrupted.

    Each call shows a whole sequence in one prompt and asks for the last answer only; its length is chosen from earlier outcomes, or given with --at.

    Writes median_length.csv, trials.csv, with --at accuracy.csv, median_length.json, a chart and report.html; the model's logs are in DIR/logs.
    """
    from howsure.track.adaptive import find_median_length

    found = find_median_length(
        model,
        variant=variant,
        n_calls=calls,
        n_searches=searches,
        longest=longest,
        at=at or (),
        level=level,
        seed=seed,
        **asking.into(output),
    )
    tell_errors(found, output, f"{model} on {variant}: not every call was answered.")
    output.console.notes(found.provenance.notes)
    n_right = sum(one.is_right for one in found.trials)
    columns = ("model", "variant", f"median length [{level:.0%}]", "calls", "correct", "longest call")
    longest_call = max((one.length for one in found.trials), default=None)
    row = (found.model, found.variant, found.median, len(found.trials), n_right, longest_call)
    caption = "The number of turns after which half of the last answers are correct, above chance; credible interval."
    output.console.table("Median length", columns, [row], caption)
    if by_length := found.by_length():
        heads = ("length", "calls", f"correct last answers [{level:.0%}]")
        told = f"Guessing: {found.provenance.settings['chance']:.2g}."
        output.console.table("Correct last answers by length", heads, by_length, told)
    output.console.json(found.as_dict())
    if output.out:
        output.console.wrote(write_all(found, output, output.out / "report.html", "Median length"))
    if found.exit_code:
        raise SystemExit(found.exit_code)


# `howsure track human`.


@app.command(epilog="Example: howsure track human --name jo --variant mode")
@verb
def human(
    conditions: Conditions,
    name: Annotated[str, typer.Option(help="Who plays.")] = "me",
    variant: Variant = "median",
    out: Annotated[Path, typer.Option("-o", "--out", help="Output: a folder for the games.")] = Path("track-human"),
    sequence: Annotated[
        int | None,
        typer.Option(min=0, help="Sequence: which one. [default: the first not yet played]", show_default=False),
    ] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress and no notes.")] = False,
) -> None:
    """Play the game yourself: type the number without brackets; q stops, and the same command continues from there.

    Writes samples.csv and attempts.csv, which keep the games of all who play in this folder.
    """
    from howsure.track.running.logs import FILE
    from howsure.track.terminal import play_human

    console = Console(is_quiet=quiet)
    folder_to_write(out)
    samples = play_human(name, variant, out, setting=conditions.setting, seed=sequence)
    if samples is None:
        console.say("Stopped. The same command continues from here.")
        return
    last = samples.frame.row(-1, named=True)
    console.say(f"{last['max_length']} correct answers on the {last['variant']}, sequence {last['seed']}.")
    console.wrote([out / FILE, samples.attempts().write(out / "attempts.csv")])


# `howsure track page`.


@app.command(epilog="Example: howsure track page --games 3 -o play.html")
@verb
def page(
    conditions: Conditions,
    printing: Printing,
    out: Annotated[Path, typer.Option("-o", "--out", help="Output: an HTML file, or a folder for it.")] = Path(
        "play.html"
    ),
    variant: Variant = "median",
    games: Annotated[int, typer.Option(min=1, help="Games after the practice round.")] = 3,
    sequence: Annotated[int, typer.Option(min=0, help="Sequence: that of the first game; the next ones follow.")] = 0,
) -> None:
    """The same game as a page for a browser: one file that works offline. Send it to people; `howsure track collect` reads their answers.

    Writes the page.
    """
    from howsure.track.browser import make_page

    target = file_to_write(out, "play.html")
    made = make_page(variant, n_games=games, first_seed=sequence, setting=conditions.setting)
    written = [made.save(target)]
    printing.console.json(
        {"written": written, "variant": variant, "games": games, "sequence": sequence, "setting": conditions.setting}
    )
    printing.console.wrote(written)


# `howsure track collect`.


@app.command(epilog="Example: howsure track collect play.html answers/ -o people")
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
    """Convert the files that players sent back to samples.csv and attempts.csv; all answers are scored again."""
    from howsure.people import read_page
    from howsure.track.browser import collect_page
    from howsure.track.results import measure
    from howsure.track.running.logs import FILE, kept_in, locked

    samples = collect_page(read_page(played), results)
    written: list[Path] = []
    with locked(output.out):
        kept = samples.over(kept_in(output.out) if output.out else None)
        if output.out:
            written = [kept.write(output.out / FILE), kept.attempts().write(output.out / "attempts.csv")]
    print_result(measure(kept, level=level, seed=seed), output)
    output.console.wrote(written)


# `howsure track estimate`.


@app.command(epilog="Example: howsure track estimate --variant mode --samples 100")
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
            help="Correct answers before the first error, on average; may be repeated. [default: 10, 50, all]",
            show_default=False,
        ),
    ] = None,
    input_price: Annotated[
        float | None, typer.Option(help="Price per million input tokens.", show_default=False)
    ] = None,
    output_price: Annotated[
        float | None, typer.Option(help="Price per million output tokens.", show_default=False)
    ] = None,
    cached_price: Annotated[
        float | None,
        typer.Option(help="Price per million cached input tokens, if it is lower.", show_default=False),
    ] = None,
    extra_output: Annotated[
        float, typer.Option(help="Output tokens per turn in addition to the answer (reasoning).")
    ] = 0,
) -> None:
    """Tokens and cost of a run, before it is started. No model is called.

    The conversation is read again in each turn, so the tokens read grow with the square of the number of turns. Tokens are counted by a
    rule of thumb: expect an error of up to a third.

    Writes estimate.csv and estimate.json.
    """
    from howsure.track.running.costs import estimate_run

    prices = prices_of(input_price, output_price, cached_price)
    result = estimate_run(
        variant,
        solver,
        turns=turns,
        n_samples=samples,
        setting=conditions.setting,
        extra_output=extra_output,
        prices=prices,
    )
    rows = [
        (
            e.variant,
            e.solver,
            f"{e.turns:g}",
            *(f"{count:,}" for count in (e.input_tokens, e.repeated_tokens, e.output_tokens)),
            *([f"{e.cost(prices):,.2f}"] if prices else []),
        )
        for e in result.rows
    ]
    columns = ("variant", "solver", "correct turns", "input", "of it repeated", "output", *(["cost"] if prices else []))
    caption = f"{samples:,} games each. Repeated: the same as in the turn before; many providers charge less for it."
    output.console.table("Tokens of a run", columns, rows, caption)
    output.console.json(result.as_dict())
    if output.out:
        output.console.wrote(result.save(output.out))
