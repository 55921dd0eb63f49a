"""The game in a browser: one offline page with a practice round and several games, and what comes back from it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace

from howsure.arguments import checked
from howsure.errors import InputError, OptionError
from howsure.people import (
    BuiltPage,
    GameScreen,
    NumberQuestion,
    Page,
    ReadingScreen,
    Received,
    build_page,
    opaque_id,
    read_page,
    read_results,
    step_rows,
)
from howsure.people.screens import Screen
from howsure.track.game.prompts import for_people, turn_message
from howsure.track.game.rules import Referee
from howsure.track.game.sequence import Setting
from howsure.track.game.statistics import shown, statistic, usual_name
from howsure.track.running.playing import SAMPLES
from howsure.track.samples import GameSample, Samples

__all__ = ["collect_page", "make_page"]

PRACTICE_SEED, PRACTICE_LENGTH = SAMPLES, 6  # no sequence of the eval is given away
_INSTRUMENT = "track"


@checked
def make_page(variant: str, *, n_games: int = 3, first_seed: int = 0, setting: Setting | None = None) -> BuiltPage:
    """A page on which a person practises once, with feedback after each answer, and then plays `n_games`.

    The first wrong answer ends a game; the page asks for the player's name.

    Parameters
    ----------
    variant : str
        The statistic to track.
    n_games : int
        Number of games after the practice round.
    first_seed : int
        Sequence of the first game; the next ones follow.
    setting : Setting, optional
        Conditions of the games.
    """
    if n_games < 1:
        raise OptionError(f"{n_games} games are too few. Give at least 1.")
    setting = setting or Setting()
    variant = usual_name(variant)
    kind = statistic(variant)
    practice = replace(setting, length=min(PRACTICE_LENGTH, setting.length))
    games = [_game(f"Game {n + 1} of {n_games}", variant, first_seed + n, setting) for n in range(n_games)]
    text = (
        "\n\n".join(for_people(kind, setting))
        + "\n\nYou cannot see a turn again after you have answered. Use your memory only: no notes, no calculator. The first wrong answer ends a game. A short practice round comes first; it shows after each answer whether it was right."
    )
    told: dict[str, str | int] = {
        "variant": variant,
        "setting": setting.label,
        "length": setting.length,
        "first_seed": first_seed,
    }
    screens: tuple[Screen, ...] = (
        ReadingScreen(id=opaque_id(_INSTRUMENT, "rules"), title=f"Track the {variant}", text=text),
        _game("Practice", variant, PRACTICE_SEED, practice, is_practice=True),
        *games,
    )
    return build_page(Page(instrument=_INSTRUMENT, title="Track the Stat", screens=screens, settings=told))


@checked
def collect_page(page: BuiltPage | str | os.PathLike[str], results: Iterable[str | os.PathLike[str]]) -> Samples:
    """The games that people sent back from a page, scored again; the practice round is excluded.

    Parameters
    ----------
    page : BuiltPage or path
        The page that was played.
    results : iterable of paths
        The files that people sent back, or folders of them.

    Returns
    -------
    Samples
        One row per game; its notes name what was refused, and why.
    """
    if not isinstance(page, BuiltPage):
        page = read_page(page)
    if page.page.instrument != _INSTRUMENT:
        raise InputError(
            f"This page belongs to {page.page.instrument}, not to {_INSTRUMENT}. Name the page that was played."
        )
    collected = read_results(results, [page])
    refused = tuple(str(refusal) for refusal in collected.refused)
    if not collected.results:
        raise InputError("No answers to this page were found. " + " ".join(refused))
    return Samples.from_games((s for received in collected.results for s in _samples(received)), notes=refused)


def _game(title: str, variant: str, seed: int, setting: Setting, *, is_practice: bool = False) -> GameScreen:
    kind = statistic(variant)
    state, steps = kind(), []
    for step, line in zip(setting.steps(variant, seed), setting.lines(variant, seed), strict=True):
        state.take(step)
        texts = turn_message(kind, step, line), kind.reference()
        steps.append(("\n\n".join(filter(None, texts)), [shown(state.answer())]))
    asked = "Your answer" if kind.intro() else f"{kind.name.capitalize()} of all numbers so far"
    answer = NumberQuestion(name="answer", text=asked, decimals=1)
    ending = {"stop": "end", "tells": True} if is_practice else {"stop": "wrong"}
    unit = "Turn" if kind.intro() else "Number"
    return GameScreen.hiding(steps, answer=answer, id=opaque_id(_INSTRUMENT, seed), title=title, unit=unit, **ending)


def _samples(received: Received) -> list[GameSample]:
    """One sample a game of one person."""
    told = received.page.page.settings
    setting = Setting.of(str(told["setting"]), int(told["length"]))
    games = [screen.id for screen in received.page.page.screens if isinstance(screen, GameScreen)][1:]
    rows = step_rows([received])
    return [
        _sample(received.rater, str(told["variant"]), int(told["first_seed"]) + n, setting, played)
        for n, screen in enumerate(games)
        if (played := [row for row in rows if row["screen"] == screen])
    ]


def _sample(rater: str, variant: str, seed: int, setting: Setting, played: Sequence[dict[str, object]]) -> GameSample:
    referee = Referee(variant, setting.length)
    for step, row in zip(setting.steps(variant, seed), played, strict=False):
        referee.show(step)
        if not referee.judge(float(str(row["answer"]))):
            break
    turn_ms = [round(1000 * float(str(row["seconds"]))) for row in played]
    return GameSample.of(
        referee.game,
        model=f"human/{rater}",
        variant=variant,
        seed=seed,
        setting=setting,
        kind="human",
        seconds=sum(turn_ms) / 1000,
        turn_ms=turn_ms,
    )
