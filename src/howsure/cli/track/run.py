"""`howsure track run`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from howsure.cli.asking import Asking, asking_option, tell_errors
from howsure.cli.options import Level, Output, Seed, verb
from howsure.cli.output import Console, progress_bar
from howsure.cli.track.conditions import Conditions, NSamples, Solvers, Variants
from howsure.cli.track.printing import tell
from howsure.errors import OptionError

if TYPE_CHECKING:
    from howsure.track.inspect.model_runs import ModelRun
    from howsure.track.samples import Samples
    from howsure.track.sequence import Setting

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@dataclass(frozen=True)
class Playing(Asking):
    """How a model is asked, game by game."""

    max_samples: Annotated[int, asking_option("Games at a time; memory grows with it.", min=1)] = 20
    epochs: Annotated[int, asking_option("Games with each sequence.", min=1)] = 1
    state_role: Annotated[str, asking_option("Who tells the explicit state: user or assistant.")] = "user"


@app.command()
@verb
def run(
    output: Output,
    conditions: Conditions,
    playing: Playing,
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

    \b
    howsure track run --model openai/gpt-5 --variant mode -o runs
    """
    from howsure.track.reading import kept_in, locked
    from howsure.track.results import measure
    from howsure.track.samples import Samples

    if not (model or player):
        raise OptionError("Nobody plays. Name a model (--model PROVIDER/MODEL) or a player (--player oracle).")
    played, exit_code = [], 0
    if player:
        played.append(_players(player, variant, solver, conditions.setting, samples, seed, output.console))
    for name in model or []:
        for one, way in [(one, way) for one in variant for way in solver]:
            found = _ask(name, one, way, conditions.setting, samples, seed, playing, output)
            played.append(found.samples)
            exit_code = max(exit_code, found.exit_code)
    with locked(output.out):  # others may add their games to this folder at the same time
        older = kept_in(output.out) if output.out else None
        results = measure(Samples.union(played).over(older), level=level, seed=seed)
        written = results.save(output.out) if output.out else []
    tell(results, output)
    output.console.wrote(written)
    if exit_code:
        raise SystemExit(exit_code)


def _players(
    names: Sequence[str],
    variants: list[str],
    solvers: list[str],
    setting: Setting,
    n_samples: int,
    seed: int,
    console: Console,
) -> Samples:
    from howsure.track.playing import run_players

    if solvers != ["direct"]:
        raise OptionError("--solver is for models: a player knows its own state. Leave it out.")
    with progress_bar("playing", console) as progress:
        return run_players(names, variants, setting=setting, n_samples=n_samples, seed=seed, progress=progress)


def _ask(
    model: str, variant: str, solver: str, setting: Setting, n_samples: int, seed: int, playing: Playing, output: Output
) -> ModelRun:
    from howsure.track.inspect.model_runs import run_model

    asked = playing.into(output) | {"variant": variant, "solver": solver, "n_samples": n_samples, "seed": seed}
    found = run_model(model, setting=setting, **asked)
    tell_errors(found, output, f"{model} on {variant}: not every game was played.")
    return found
