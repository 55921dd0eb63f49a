"""Running Track the Stat: models through Inspect, scripted players right here."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from howsure.errors import OptionError
from howsure.track.game.players import player
from howsure.track.game.rules import play
from howsure.track.game.sequence import Setting
from howsure.track.game.statistics import usual_name
from howsure.track.results import TrackResult, measure
from howsure.track.running.reading import kept_in, locked
from howsure.track.samples import DIRECT, GameSample, Samples

if TYPE_CHECKING:
    from howsure.track.running.model_runs import ModelRun

__all__ = ["SAMPLES", "play_all", "run_players"]

SAMPLES = 250


def play_all(
    *,
    models: Sequence[str] = (),
    players: Sequence[str] = (),
    variants: Sequence[str] = ("median",),
    solvers: Sequence[str] = (DIRECT,),
    setting: Setting | None = None,
    n_samples: int = SAMPLES,
    level: float = 0.95,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    after_model: Callable[[str, str, ModelRun], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
    **asking: Any,
) -> TrackResult:
    """Let models and scripted players play, and measure how long they last.

    Games of other players that are in the folder `out` already are kept and measured too. A model's run that was interrupted is continued.

    Parameters
    ----------
    models : sequence of str
        Models, as Inspect names them (``provider/name``). They need `out`.
    players : sequence of str
        Scripted players: oracle, random, largest, window-K, noisy-P.
    variants : sequence of str
        What to track: median, mode, inversions, spread, lookback, permutation, boxes, sums, automaton, repl, ledger; with a size, as in ``boxes-12``.
    solvers : sequence of str
        For models: ``direct``, ``explicit`` (the state is shown), ``cot``, ``completion``, ``explicit+cot``, ``explicit+completion``.
    setting : Setting, optional
        Conditions of the games: length, range of the numbers, distractors.
    n_samples : int
        Number of sequences, from number 0 on.
    level : float
        Coverage of the intervals, between 0 and 1.
    seed : int
        Seed of players that draw and of resampled intervals.
    out : str or path, optional
        Folder for the games, the tables and the models' logs.
    after_model : callable, optional
        Called with the model, the variant and the `ModelRun` after each run of a model.
    progress : callable, optional
        Called with the number of scripted players and variants that are done and their total.
    **asking
        How models are asked; see `howsure.running.Asking`.

    Returns
    -------
    TrackResult
        The metrics with intervals, and the games as ``samples``.
    """
    if not (models or players):
        raise OptionError("No player is named. Give a model (provider/name) or a scripted player (oracle).")
    if models and out is None:
        raise OptionError("A model's run is kept in a folder, so that it can be continued: give out.")
    played = []
    if players:
        played.append(
            run_players(players, variants, setting=setting, n_samples=n_samples, seed=seed, progress=progress)
        )
    for model in models:
        from howsure.track.running.model_runs import run_model

        for variant, solver in itertools.product(variants, solvers):
            asked = {"variant": variant, "solver": solver, "n_samples": n_samples, "seed": seed, **asking}
            found = run_model(model, out=out, setting=setting, **asked)  # type: ignore[arg-type]
            played.append(found.samples)
            if after_model:
                after_model(model, variant, found)
    folder = Path(out) if out else None
    with locked(folder):  # others may add their games to this folder at the same time
        older = kept_in(folder) if folder else None
        result = measure(Samples.union(played).over(older), level=level, seed=seed)
        if folder:
            result.save(folder)
    return result


def run_players(
    names: Sequence[str],
    variants: Iterable[str],
    *,
    setting: Setting | None = None,
    n_samples: int = SAMPLES,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Samples:
    """Games of scripted players, which need no model.

    Parameters
    ----------
    names : sequence of str
        Players: oracle, random, largest, window-K, noisy-P.
    variants : iterable of str
        Statistics to track.
    setting : Setting, optional
        Conditions of the games.
    n_samples : int
        Number of sequences, from number 0 on.
    seed : int
        Seed of the players that draw; the sequences do not depend on it.
    progress : callable, optional
        Called with the number of players and variants that are done and their total.
    """
    if n_samples < 1:
        raise OptionError(f"{n_samples} samples: give at least 1.")
    setting = setting or Setting()
    if setting.mode != "turns":
        raise OptionError(f"Scripted players play turn by turn to the first error, not in the mode {setting.mode}.")
    matches = [(name, usual_name(variant)) for variant in variants for name in names]
    sequences = {variant: [setting.steps(variant, one) for one in range(n_samples)] for _, variant in matches}
    samples: list[GameSample] = []
    for done, (name, variant) in enumerate(matches, 1):
        for sample, steps in enumerate(sequences[variant]):
            game = play(player(name, variant, seed=(seed, sample)), variant, steps)
            samples.append(
                GameSample.of(game, model=name, variant=variant, seed=sample, setting=setting, kind="baseline")
            )
        if progress:
            progress(done, len(matches))
    return Samples.from_games(samples)
