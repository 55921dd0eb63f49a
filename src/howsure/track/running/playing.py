"""Running Track the Stat: models through Inspect, scripted players right here."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from howsure.arguments import checked
from howsure.errors import InputError, OptionError
from howsure.running import Asking, InspectRun, error_counts
from howsure.track.game.players import player
from howsure.track.game.rules import play
from howsure.track.game.sequence import Setting
from howsure.track.game.statistics import usual_name
from howsure.track.results import TrackResult, measure
from howsure.track.running.logs import kept_in, locked, samples_of
from howsure.track.samples import DIRECT, GameSample, Samples

__all__ = ["SAMPLES", "ModelRun", "play_all", "run_model", "run_players"]

SAMPLES = 250


@checked
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
    """Run models and scripted players, and measure their correct answers before the first error.

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


@checked
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


# A model plays through Inspect: started once, and resumed until every game is played.


_UNFINISHED = ("api", "error", "cancelled", "budget")
_LEAST_ROOM = 2**20  # bytes; the log of one game may need more


@dataclass(frozen=True)
class ModelRun:
    """What a run has come to: its games, its logs from old to new, and the errors that broke games off, with their number.

    ``status`` is ``incomplete`` while games are missing or failed with an error: the same call goes on from there.
    """

    status: Literal["complete", "incomplete"]
    samples: Samples
    logs: tuple[Path, ...]
    n_missing: int
    errors: Mapping[str, int]

    @property
    def exit_code(self) -> int:
        """0 when every game was played, else 1. Inspect's own is 0 also when every sample errored."""
        return 0 if self.status == "complete" else 1


@checked
def run_model(
    model: str,
    *,
    out: str | os.PathLike[str],
    variant: str = "median",
    solver: str = "direct",
    setting: Setting | None = None,
    n_samples: int = SAMPLES,
    seed: int = 0,
    state_role: str = "user",
    epochs: int = 1,
    **asking: Any,
) -> ModelRun:
    """Run a model on Track the Stat through Inspect, or continue the run with these settings.

    No question is asked twice: finished games are read from the log, and interrupted games continue from the replies that were kept. If a server keeps failing, its game is censored and the others continue.

    Parameters
    ----------
    model : str
        ``provider/name``, as Inspect spells it.
    out : str or path
        Folder of the run.
    variant : str
        The statistic to track.
    solver : str
        ``direct``, ``explicit`` (the state is shown), ``cot``, ``completion``, ``explicit+cot`` or ``explicit+completion``.
    setting : Setting | None
        Length, range and distractors of the sequences.
    n_samples : int
        Number of sequences.
    seed : int
        Seed of scripted players that draw random numbers; the sequences do not depend on it.
    state_role : str
        Role of the message with the explicit state: user or assistant.
    epochs : int
        Games per sequence.
    **asking
        Further settings of `howsure.running.Asking`: ``base_url``, ``config``, ``max_samples`` (games at a time; memory grows with it), ….
    """
    asked = Asking(model, **asking)
    if "reasoning_history" in asked.config:
        raise OptionError(
            "reasoning_history: what stays of earlier reasoning is a condition of the game. Use --keep-reasoning."
        )
    if model.startswith("human/"):  # who plays one game at a time and has the screen to himself
        asked = replace(asked, max_samples=1, display="none")
    variant = usual_name(variant)
    task_args = {"variant": variant, "solver": solver, "samples": n_samples, "state_role": state_role, "seed": seed}
    task_args |= asdict(setting or Setting())
    run = InspectRun.of(out, asked, task_args | {"epochs": epochs})
    run = replace(run, shelf=run.mark)  # its own, which is cleared when all is played
    before = _standing(run, n_samples * epochs)
    if before and before.status == "complete":
        return before
    _play(run, asked, task_args, epochs, before)
    return _finished(run, n_samples * epochs)


def _play(run: InspectRun, asked: Asking, task_args: dict[str, Any], epochs: int, before: ModelRun | None) -> None:
    # also where Inspect finds the task that a log names
    from howsure.track.running.registry import track_the_stat

    # games of players cost nothing to play again, so what protects paid replies is left out
    is_paid = not asked.model.startswith(("howsure/", "howsure-reasoning/"))
    if before:
        run.retry(before.logs[-1], asked, log_realtime=is_paid)
    else:
        run.evaluate(track_the_stat(**task_args, cache=is_paid), asked, epochs=epochs, log_realtime=is_paid)


def _standing(run: InspectRun, n_games: int) -> ModelRun | None:
    """How it stands, or None when nothing was played."""
    logs = run.logs()
    if not any(log.samples for log in logs):
        return None
    samples = samples_of(logs)
    unfinished = int(samples.frame["failure"].is_in(_UNFINISHED).sum())
    missing = n_games - len(samples.frame)
    return ModelRun(
        status="incomplete" if unfinished or missing else "complete",
        samples=samples,
        logs=tuple(log.path for log in logs),
        n_missing=missing,
        errors=error_counts(str(one.error) for one in logs[-1].samples or [] if one.error),
    )


def _finished(run: InspectRun, n_games: int) -> ModelRun:
    """How it stands after playing; the kept replies of a complete run are not needed any more."""
    done = _standing(run, n_games)
    if done is None:
        left = shutil.disk_usage(run.folder).free
        if left < _LEAST_ROOM:  # Inspect has told so in its own log, and ended as if all were well
            raise InputError(
                f"{run.folder}: no game could be written, the disk is full ({left:,} bytes are left). Make room; the same command continues."
            )
        raise InputError(f"{run.folder}: no game was played. Read the log with: inspect view")
    if done.status == "complete":
        run.forget_replies()
    return done
