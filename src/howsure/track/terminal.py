"""The game for people, one number at a time: they type the answer, may stop and go on later, and never see a number again."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Protocol

import polars as pl

from howsure.arguments import checked
from howsure.errors import InputError, OptionError
from howsure.safe_io import read_bytes, write_atomic
from howsure.track.game.prompts import for_people, turn_message
from howsure.track.game.rules import Game, Referee
from howsure.track.game.sequence import Setting
from howsure.track.game.statistics import Step, shown, statistic, usual_name
from howsure.track.running.logs import FILE, kept_in, locked
from howsure.track.running.playing import SAMPLES
from howsure.track.samples import GameSample, Samples

__all__ = ["Paused", "Screen", "play_human", "typed"]

QUIT = "q"


class Screen(Protocol):
    """What a person looks at: it shows one thing at a time and keeps nothing."""

    def show(self, text: str) -> None:
        """Put `text` in the place of all that was there."""

    def ask(self, prompt: str) -> str | None:
        """What is typed after `prompt`; None when the person has gone."""


@dataclass(frozen=True)
class Paused:
    """A game that was left before its end: enough to go on with it, and no number of it."""

    name: str
    variant: str
    seed: int
    setting: str
    length: int
    n_right: int = 0
    seconds: float = 0.0
    turn_ms: tuple[int, ...] = ()

    @classmethod
    def load(cls, path: Path) -> Paused | None:
        """The game kept in `path`, or None."""
        if not path.exists():
            return None
        try:
            kept = cls(**json.loads(read_bytes(path)))
            kept.referee()
        except (ValueError, TypeError, RecursionError, OptionError):
            raise InputError(f"{path}: not a game that can be continued. Delete the file to start a new one.") from None
        return kept

    def save(self, path: Path) -> None:
        """Keep the game in `path`."""
        write_atomic(path, json.dumps(asdict(self)) + "\n")

    def steps(self) -> list[Step]:
        """All turns of the game."""
        return Setting.of(self.setting, self.length).steps(self.variant, self.seed)

    def referee(self) -> Referee:
        """The referee as he stood when the game was left."""
        referee = Referee(self.variant, self.length)
        for step in self.steps()[: self.n_right]:
            referee.show(step)
            referee.judge(referee.truth)
        return referee


@checked
def play_human(
    name: str,
    variant: str,
    folder: str | os.PathLike[str],
    screen: Screen | None = None,
    *,
    setting: Setting | None = None,
    seed: int | None = None,
    clock: Callable[[], float] = monotonic,
) -> Samples | None:
    """Play one game in the terminal, or continue the unfinished game of `name`; None if it is interrupted again.

    The game is added to ``samples.csv`` in `folder`, and all games there are returned. If the input is not a number, the question is repeated:
    a typing error says nothing about memory.

    Parameters
    ----------
    name : str
        Who plays.
    variant : str
        The statistic to track.
    folder : str or path
        Where the games are kept.
    screen : Screen, optional
        Shows the numbers and reads the answers; without it, this terminal.
    setting : Setting, optional
        Conditions of the game.
    seed : int, optional
        Which sequence; without it, the first that `name` has not played.
    clock : callable
        Gives the time in seconds.
    """
    folder = Path(folder)
    if screen is None:
        with _own_screen() as terminal:
            return play_human(name, variant, folder, terminal, setting=setting, seed=seed, clock=clock)
    if not re.fullmatch(r"[\w.-]+", name):
        raise OptionError(f"The name {name!r} may have letters, digits, points, hyphens and underscores only.")
    variant = usual_name(variant)  # says now if there is none
    paused_in = folder / f"paused-{name}-{variant}.json"
    game = Paused.load(paused_in) or _new_game(name, variant, folder, setting or Setting(), seed)
    screen.show(_welcome(game))
    if _ask(screen, "Press Enter to begin. ") is None:
        return None
    ended = _turns(game, paused_in, screen, clock)
    if ended is None:
        return None
    played, timed = ended
    with locked(folder):
        samples = _with_sample(folder, timed, played)
        samples.write(folder / FILE)
    paused_in.unlink(missing_ok=True)
    screen.show(_goodbye(game, played))
    _ask(screen, "Press Enter to leave. ")
    return samples


def typed(text: str) -> float | None:
    """The number that a person typed, with or without brackets; None where there is none.

    >>> typed("40.5"), typed("[median: 40,5]"), typed("forty")
    (40.5, 40.5, None)
    """
    found = re.fullmatch(r"\s*(?:\[\w+:)?\s*(\d{1,15})(?:[.,](\d{1,15}))?\s*\]?\s*", text)
    return float(f"{found[1]}.{found[2] or 0}") if found else None


def _new_game(name: str, variant: str, folder: Path, setting: Setting, seed: int | None) -> Paused:
    if seed is None:
        past = kept_in(folder)
        mine = pl.col("model") == _player(name), pl.col("variant") == variant, pl.col("setting") == setting.label
        played = set(past.frame.filter(*mine)["seed"]) if past else set()
        seed = next((one for one in range(SAMPLES) if one not in played), 0)
    return Paused(name, variant, seed, setting.label, setting.length)


def _turns(game: Paused, paused_in: Path, screen: Screen, clock: Callable[[], float]) -> tuple[Game, Paused] | None:
    """Number after number; what was reached is kept after every right answer, so that nothing can be lost."""
    referee, began, timed = game.referee(), clock(), game
    steps, lines = game.steps(), Setting.of(game.setting, game.length).lines(game.variant, game.seed)
    for turn in range(game.n_right, game.length):
        referee.show(steps[turn])
        answer = _answer(screen, turn, game, steps[turn], lines[turn])
        ended = clock()
        timed = replace(timed, seconds=timed.seconds + ended - began)
        if answer is None:  # the turn is shown again, and its time begins anew
            timed.save(paused_in)
            return None
        timed = replace(timed, turn_ms=(*timed.turn_ms, round(1000 * (ended - began))))
        began = ended
        if not referee.judge(answer):
            break
        timed = replace(timed, n_right=turn + 1)
        timed.save(paused_in)
    return referee.game, timed


def _answer(screen: Screen, turn: int, game: Paused, step: Step, line: str) -> float | None:
    """The number that was typed, asked for until there is one; None to leave."""
    trouble, kind = "", statistic(game.variant)
    while True:
        above = f"{line}\n\n" if line else ""
        shown = turn_message(kind, step).replace("\n", "\n    ")
        below = f"{kind.reference()}\n\n" if kind.reference() else ""
        screen.show(f"Turn {turn + 1} of {game.length}\n\n{above}    {shown}\n\n{below}{trouble}")
        text = _ask(screen, f"{kind.name.capitalize()} ({QUIT} to stop): ")
        answer = None if text is None else typed(text)
        if text is None or answer is not None:
            return answer
        trouble = f"{text.strip()[:40]!r} is not a number. Type digits, such as 7 or 40.5.\n\n"


def _ask(screen: Screen, prompt: str) -> str | None:
    text = screen.ask(prompt)
    return None if text is None or text.strip().lower() == QUIT else text


def _welcome(game: Paused) -> str:
    kind = statistic(game.variant)
    told = [
        *for_people(kind, Setting.of(game.setting, game.length)),
        "You cannot see a turn again after you have answered. Use your memory only: no notes, no calculator. The first wrong answer ends the game.",
        f"Type {QUIT} to stop; the same command continues from there.",
    ]
    if game.n_right:
        told.append(f"You continue after {game.n_right} correct answers.")
    return "\n\n".join(told) + "\n\n"


def _goodbye(game: Paused, played: Game) -> str:
    if played.is_complete:
        return f"All {played.length} answers correct. Well done.\n\n"
    assert played.truth is not None
    return f"Wrong: the {game.variant} was {shown(played.truth)}. You had {played.max_length} turns right.\n\n"


def _with_sample(folder: Path, game: Paused, played: Game) -> Samples:
    past, setting = kept_in(folder), Setting.of(game.setting, game.length)
    told = {"model": _player(game.name), "variant": game.variant, "seed": game.seed}
    sample = GameSample.of(
        played,
        model=_player(game.name),
        variant=game.variant,
        seed=game.seed,
        setting=setting,
        kind="human",
        seconds=round(game.seconds, 3),
        turn_ms=game.turn_ms,
    )
    if not past:
        return Samples.from_games([sample])
    before = len(past.frame.filter(**told, setting=game.setting, length=game.length))
    return Samples.union([past, Samples.from_games([replace(sample, attempt=before + 1)])])


def _player(name: str) -> str:
    return f"human/{name}"


class _Terminal:
    """A screen of its own: what was shown is gone, also from what one can scroll back to."""

    def show(self, text: str) -> None:
        self._write("\x1b[2J\x1b[3J\x1b[H" + text)

    def ask(self, prompt: str) -> str | None:
        self._write(prompt)
        return sys.stdin.readline() or None

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


@contextmanager
def _own_screen() -> Iterator[_Terminal]:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise OptionError("The game needs a terminal: run it without pipes or redirection.")
    sys.stdout.write("\x1b[?1049h")
    try:
        yield _Terminal()
    finally:
        sys.stdout.write("\x1b[?1049l")
        sys.stdout.flush()
