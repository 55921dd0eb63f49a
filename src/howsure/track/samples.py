"""One row per game, whoever played it: the table that runs write and reports read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

import polars as pl

from howsure.errors import InputError, OptionError
from howsure.tables import Attempts, Column, Table
from howsure.track.game.rules import ENDINGS, ERROR_KINDS, FAILURES, IS_CENSORED, ErrorKind, Game, ended_by
from howsure.track.game.sequence import STANDARD, Setting
from howsure.track.game.statistics import statistic

if TYPE_CHECKING:
    from howsure.tables.frames import Part, Source

__all__ = [
    "COMPLETION",
    "COT",
    "DIRECT",
    "EXPLICIT",
    "GROUP",
    "SOLVERS",
    "GameSample",
    "Samples",
    "board_name",
    "load_samples",
]

DIRECT, EXPLICIT, COT, COMPLETION = "direct", "explicit", "cot", "completion"
SOLVERS = (DIRECT, EXPLICIT, COT, f"{EXPLICIT}+{COT}", COMPLETION, f"{EXPLICIT}+{COMPLETION}")
"""How a model is asked: nothing else, the state shown, reasoning asked for, as one text to continue; the state shown in addition to these."""

GROUP = ("model", "solver", "variant", "setting", "length")
"""What makes games comparable: figures are of one player with one solver on one board."""


@dataclass(frozen=True)
class GameSample:
    """How one game went, and who played it under which conditions.

    ``max_length`` counts correct answers, of ``length`` possible. ``failure`` says why a game was interrupted
    (`howsure.track.game.rules.FAILURES`). Tokens are those of the whole game. ``marks`` has every turn where a game did not stop at the first error,
    ``turn_ms`` how many milliseconds a person took for each.
    """

    model: str
    variant: str
    seed: int
    max_length: int
    length: int
    error_kind: ErrorKind | None = None
    solver: str = DIRECT
    kind: str = "model"
    setting: str = STANDARD
    attempt: int = 1
    failure: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    seconds: float | None = None
    marks: str | None = None
    turn_ms: str | None = None

    @property
    def violation(self) -> int:
        """1 if the format of the reply ended the game."""
        return int(self.error_kind == "format")

    @classmethod
    def of(
        cls,
        game: Game,
        *,
        model: str,
        variant: str,
        seed: int,
        setting: Setting,
        solver: str = DIRECT,
        kind: str = "model",
        seconds: float | None = None,
        turn_ms: Sequence[int] | None = None,
    ) -> GameSample:
        """The sample of a game that was played to its end."""
        return cls(
            model,
            variant,
            seed,
            game.max_length,
            game.length,
            game.error_kind,
            solver,
            kind,
            setting.label,
            seconds=seconds,
            turn_ms=" ".join(map(str, turn_ms)) if turn_ms else None,
        )


def _count(name: str, meaning: str) -> Column:
    return Column(name, meaning, "whole", low=0)


class Samples(Table):
    """Games of models, baselines and people: one row per game."""

    columns = (
        Column("model", "who played", required=True),
        Column(
            "solver",
            "how the model was asked: direct, explicit where the state was shown, cot, completion",
            required=True,
        ),
        Column("variant", "what was tracked", required=True),
        Column("setting", "what differs from the original conditions", required=True),
        Column("seed", "which sequence", "whole", required=True, low=0),
        Column("attempt", "1 for the first game with this sequence, then 2, …", "whole", required=True, low=1),
        Column("length", "numbers in the sequence", "whole", required=True, low=1),
        Column("max_length", "correct answers before the first error", "whole", required=True, low=0),
        Column("violation", "1 if the format of the reply ended the game", "whole", required=True, low=0, high=1),
        Column("error_kind", "what ended the game", choices=ERROR_KINDS),
        Column("failure", "why the game was interrupted", choices=tuple(FAILURES)),
        Column("ended_by", "how the game ended, from error_kind and failure", choices=ENDINGS),
        _count("input_tokens", "tokens read"),
        _count("output_tokens", "tokens written"),
        _count("reasoning_tokens", "of these, hidden reasoning"),
        Column("seconds", "how long the game took", "number", low=0),
        Column("marks", "of games that went on after an error: 1 right, 0 wrong, x no answer, by turn"),
        Column("turn_ms", "of people: milliseconds of each turn, separated by spaces"),
        Column("kind", "human, model or baseline", required=True, choices=("human", "model", "baseline")),
    )
    key = (*GROUP, "seed", "attempt")
    told_by = ("model", "seed")

    @classmethod
    def from_games(cls, samples: Iterable[GameSample], *, notes: Sequence[str] = ()) -> Samples:
        """The table of these games.

        Parameters
        ----------
        samples : iterable of Sample
            One per game.
        notes : sequence of str
            What a reader of the table should know.
        """
        rows = [{name: getattr(sample, name) for name in _OF_SAMPLE} for sample in samples]
        if not rows:
            raise InputError("There is no sample: no game was played.")
        return cls(pl.DataFrame(rows, schema={name: _SCHEMA[name] for name in _OF_SAMPLE}), notes=notes)

    def over(self, older: Samples | None) -> Samples:
        """These games, and of `older` ones those of players that have none here on the same board."""
        if older is None:
            return self
        rest = older.frame.join(self.frame, on=GROUP, how="anti")
        return Samples.union([Samples(rest, notes=older.notes), self]) if len(rest) else self

    def attempts(self, *, by: Literal["sequence", "board"] = "sequence", min_turns: int | None = None) -> Attempts:
        """The games as attempts: the score is the share of correct turns, or 1 for at least ``min_turns`` of them.

        An interrupted game has no score, unless it had ``min_turns`` correct turns by then; such games are excluded, and a note counts
        them. The column ``domain`` names the board: the statistic, the setting, the length, and whether the state is shown.

        Parameters
        ----------
        by : {"sequence", "board"}
            What a task is: one sequence, so that players are compared on the same numbers, or one board, played repeatedly
            with new numbers in the order of the rows.
        min_turns : int, optional
            Score 1 for this many correct turns, else 0.
        """
        shortest = min(self.frame["length"])
        if min_turns is not None and not 1 <= min_turns <= shortest:
            raise OptionError(
                f"min_turns = {min_turns}, but the shortest game has {shortest} numbers. Choose 1 to {shortest}."
            )
        right = pl.col("max_length")
        is_known = ~IS_CENSORED if min_turns is None else ~IS_CENSORED | (right >= min_turns)
        known = self.frame.filter(is_known)
        if known.is_empty():
            raise InputError(
                f"All {len(self.frame):,} games were interrupted, so none has a score. Continue the run, or raise its limits."
            )
        board = board_name()
        shaped = (known.sort("attempt") if by == "sequence" else known).select(
            pl.col("model").alias("subject"),
            "kind",
            (pl.format("{}/{}", board, "seed") if by == "sequence" else board).alias("task"),
            (right / pl.col("length") if min_turns is None else (right >= min_turns).cast(pl.Float64)).alias("score"),
            board.alias("domain"),
            "solver",
            "seconds",
        )
        order = pl.int_range(1, pl.len() + 1).over("subject", "task")
        n_left = len(self.frame) - len(known)
        left = [f"{n_left:,} of {len(self.frame):,} games were interrupted and have no score."] if n_left else []
        return Attempts(shaped.with_columns(order.alias("attempt")), notes=(*self.notes, *left))

    @classmethod
    def _check(cls, part: Part, divide_by: float) -> pl.LazyFrame:
        checked = super()._check(part, divide_by)
        there = checked.collect_schema().names()
        absent = [pl.lit(None, dtype).alias(name) for name, dtype in _SCHEMA.items() if name not in there]
        whole = checked.with_columns(absent).with_columns(ended_by())
        return whole.select(*_SCHEMA, pl.exclude([*_SCHEMA]))

    def _check_groups(self, parts: Sequence[Part]) -> None:
        super()._check_groups(parts)
        for variant in self.lazy.select(pl.col("variant").unique()).collect()["variant"]:
            try:
                statistic(variant)
            except OptionError as error:
                raise InputError(str(error)) from None
        failed = pl.col("failure").is_not_null()
        is_complete = pl.col("max_length") == pl.col("length")
        format_error = (pl.col("error_kind") == "format").fill_null(False)
        is_odd = (
            (pl.col("max_length") > pl.col("length"))
            | (~failed & (is_complete != pl.col("error_kind").is_null()))
            | (failed & (is_complete | pl.col("error_kind").is_not_null()))
            | (format_error != (pl.col("violation") == 1))
        )
        odd = self.lazy.filter(is_odd).head(1).collect()
        if len(odd):
            row = odd.row(0, named=True)
            raise InputError(
                f"{row['model']} on {row['variant']}, seed {row['seed']}: {row['max_length']} of {row['length']} turns right, violation {row['violation']} and "
                f"error {row['error_kind'] or 'none'}, failure {row['failure'] or 'none'} contradict each other. A game ends with an error, with a failure or with all turns correct; violation is 1 for 'format' only."
            )


_TYPES = {"text": pl.String, "whole": pl.Int64, "number": pl.Float64}
_SCHEMA = {column.name: _TYPES[column.kind] for column in Samples.columns}
_OF_SAMPLE = [name for name in _SCHEMA if name != "ended_by"]
assert set(_OF_SAMPLE) == {field.name for field in fields(GameSample)} | {"violation"}


def board_name() -> pl.Expr:
    """What is played, as one text: results on different boards cannot be compared."""
    conditions = [
        pl.when(pl.col(name) != usual).then(pl.format(" {}", name)).otherwise(pl.lit(""))
        for name, usual in (("setting", STANDARD), ("solver", DIRECT))
    ]
    return pl.format("track/{}{}{}/{}", "variant", *conditions, "length")


def load_samples(paths: Source) -> Samples:
    """The games in one or several ``samples.csv``."""
    return Samples(paths)
