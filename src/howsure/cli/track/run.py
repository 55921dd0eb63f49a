"""`howsure track run`."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from howsure.cli.asking import AskingOptions, asking_option, tell_errors
from howsure.cli.options import Level, Output, Seed, verb
from howsure.cli.output import progress_bar
from howsure.cli.track.conditions import Conditions, NSamples, Solvers, Variants
from howsure.cli.track.printing import print_result
from howsure.errors import OptionError

if TYPE_CHECKING:
    from howsure.track.running.playing import ModelRun

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


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
        raise OptionError("--solver is for models: a scripted player knows its own state. Leave it out.")
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
        f"{name}: asked through Inspect's provider; openai-http/{name.partition('/')[2]} asks the same server with less CPU time per turn."
        for name in models
        if name.startswith("openai-api/")
    ]
    output.console.notes(told)
