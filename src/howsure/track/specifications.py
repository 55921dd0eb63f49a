"""Correct answers before the first error under many specifications, with one value per game whose mean they are."""

from __future__ import annotations

import polars as pl

from howsure.estimates import Estimate
from howsure.results.choices import AnalysisChoice, AnalysisOption, Choices, Specification
from howsure.stats._arrays import Floats, Ints
from howsure.track.differences import contrast, shared_games
from howsure.track.game.rules import IS_CENSORED
from howsure.track.samples import DIRECT
from howsure.track.survival import Board, GameEnds, average_turns, needs_assumption, survival_of

__all__ = ["board_label", "difference_under", "games_under", "turn_choices", "turns_under"]

TurnValues = tuple[Ints, Floats]
"""Sequence and value of each game."""


def board_label(row: dict[str, object]) -> str:
    """What a game was played on, and how the model was asked: median, 50 numbers; median, 50 numbers (explicit)."""
    title = Board(str(row["variant"]), str(row["setting"]), int(str(row["length"]))).title
    return title if row["solver"] == DIRECT else f"{title} ({row['solver']})"


def turn_choices(games: pl.DataFrame) -> Choices:
    """The defensible choices of the number of correct answers that these games allow, each with its reasons.

    Parameters
    ----------
    games : pl.DataFrame
        The games on one board; a choice that would change nothing is not offered.
    """
    o = AnalysisOption
    n, offered = len(games), list[AnalysisChoice]()
    if n_cut := int(games.select(IS_CENSORED.sum()).item()):
        offered.append(
            AnalysisChoice(
                "interrupted",
                f"What do games count as that were interrupted ({n_cut:,} of {n:,})?",
                (
                    o("censored", "they were correct so far, and the server or a limit says nothing of the next turn", "Kaplan and Meier 1958"),
                    o("left out", "only games that ended by themselves are compared; long games are interrupted more often"),
                ),
            )
        )  # fmt: skip
    if n_silent := int((games["ended_by"] == "no_answer").sum()):
        offered.append(
            AnalysisChoice(
                "no_answer",
                f"What do games count as that ended without an answer ({n_silent:,} of {n:,})?",
                (
                    o("error", "who does not answer is not right", "the default of howsure track report"),
                    o("censored", "a refusal or a cut reply does not show that the state was lost"),
                ),
            )
        )
    if n_odd := int((games["violation"] == 1).sum()):
        offered.append(
            AnalysisChoice(
                "violations",
                f"What do games count as that a malformed reply ended ({n_odd:,} of {n:,})?",
                (
                    o("error", "the format is part of the task", "the default of howsure track report"),
                    o("left out", "a wrong format does not show that the state was lost"),
                ),
            )
        )
    return Choices(tuple(offered))


def games_under(games: pl.DataFrame, specification: Specification) -> pl.DataFrame:
    """The games that a specification includes, with the endings that it gives them."""
    if specification.get("interrupted") == "left out":
        games = games.filter(~IS_CENSORED)
    if specification.get("no_answer") == "censored":
        games = games.with_columns(pl.col("ended_by").replace("no_answer", "interrupted"))
    if specification.get("violations") == "left out":
        games = games.filter(pl.col("violation") != 1)
    return games


def turns_under(games: pl.DataFrame, level: float) -> tuple[Estimate, TurnValues | None]:
    """Correct answers on average, or the restricted mean where the average needs an assumption; and the values of games whose mean it is.

    Parameters
    ----------
    games : pl.DataFrame
        Games of one player on one board.
    level : float
        Coverage of the interval.
    """
    average, _ = average_turns(games, level=level)
    ends = GameEnds.of(games) if len(games) else None
    if ends is None or not ends.n:
        return average, None
    if needs_assumption(average):
        return survival_of(ends, level=level).restricted_mean, (ends.seeds, ends.values(ends.reach))
    return average, (ends.seeds, ends.extended_values())


def difference_under(first: pl.DataFrame, second: pl.DataFrame, level: float) -> tuple[Estimate, list[TurnValues]]:
    """Correct answers of one player minus those of another (`contrast`), and the values of both players' games.

    Parameters
    ----------
    first, second : pl.DataFrame
        Games of two players on one board.
    level : float
        Coverage of the interval.
    """
    if not (len(first) and len(second)):
        return Estimate.without("too_few", "one player has no game left", level=level), []
    found = contrast(first, second, level=level)
    sides = [GameEnds.of(side) for side in shared_games(first, second)]
    if found.difference.value is None:
        return found.difference, []
    values = [(side.seeds, side.values(found.limit)) for side in sides]
    if found.n_seeds < 2:
        return found.difference, values
    means = [pl.DataFrame({"seed": seeds, "v": v}).group_by("seed").mean() for seeds, v in values]
    both = means[0].join(means[1], on="seed", suffix="_second").sort("seed")
    seeds = both["seed"].to_numpy()
    return found.difference, [(seeds, both["v"].to_numpy()), (seeds, both["v_second"].to_numpy())]
