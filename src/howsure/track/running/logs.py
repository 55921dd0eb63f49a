"""Logs of Inspect into samples, one row per game; read from the samples' summaries and without Inspect."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from howsure.arguments import checked
from howsure.errors import InputError
from howsure.running import locked, read_logs
from howsure.sources import inspect_logs
from howsure.sources.inspect_format import Log
from howsure.sources.inspect_format import Sample as Logged
from howsure.track.samples import GameSample, Samples, load_samples

__all__ = ["FILE", "kept_in", "locked", "read_samples", "samples_from_logs", "samples_of"]

_TASK = "track_the_stat"
_PLAYERS = "howsure/"
_KINDS = {"howsure": "baseline", "human": "human"}  # by provider; every other one serves models
# how a run is carried out, which does not change what a model says
_NO_MATTER = {"max_connections", "adaptive_connections", "max_retries", "timeout", "attempt_timeout", "cache", "batch"}
_DIALS = ("reasoning_effort", "reasoning_tokens")


def samples_from_logs(paths: Sequence[str | os.PathLike[str]]) -> Samples:
    """Every game in these logs, or folders of logs.

    Logs with one task id are tries at one run: of each game the last try without an error counts, with the tokens of all.
    Epochs, and other runs of the same model under the same conditions, are further attempts. ``failure`` says why a game was interrupted
    without an answer to judge (`howsure.track.game.rules.FAILURES`).
    """
    return samples_of(read_logs(paths, _TASK))


def samples_of(logs: Sequence[Log]) -> Samples:
    """The same of logs that were read, from old to new."""
    names = _names(logs)
    games = [game for tries in _runs(logs) for game in _games(tries, names[tries[-1].path])]
    if not games:
        raise InputError(f"{logs[0].path}: no sample was played yet. Continue the run first.")
    times: Counter[tuple[Any, ...]] = Counter()
    rows = []
    for game in games:
        row = game.row()
        key = row.model, row.solver, row.variant, row.setting, row.length, row.seed
        times[key] += 1
        rows.append(replace(row, attempt=times[key]))
    return Samples.from_games(rows, notes=_notes(games))


@dataclass
class _Game:
    """One sequence in one epoch, and every try at it, from old to new."""

    model: str
    path: Path
    tries: list[Logged] = field(default_factory=list)

    @property
    def last(self) -> Logged:
        """The try that counts."""
        whole = [one for one in self.tries if not one.error]
        return (whole or self.tries)[-1]

    @property
    def told(self) -> dict[str, Any]:
        """What the solver wrote down."""
        return self.last.metadata or {}

    def row(self) -> GameSample:
        """The game as a sample."""
        told = self.told
        failure = told.get("failure")
        if self.last.error and failure in (None, "limit", "time_limit"):
            failure = "cancelled" if "Cancelled" in str(self.last.error) else "error"
        try:
            return GameSample(
                model=self.model.removeprefix(_PLAYERS),
                kind=_KINDS.get(self.model.partition("/")[0], "model"),
                **{name: told[name] for name in ("variant", "solver", "setting", "length", "seed")},
                max_length=told.get("max_length", 0),
                error_kind=told.get("error_kind"),
                failure=failure,
                marks=told.get("marks"),
                input_tokens=self._tokens("input"),
                output_tokens=self._tokens("output"),
                reasoning_tokens=self._tokens("reasoning"),
                seconds=self.last.total_time,
            )
        except KeyError as error:
            raise InputError(
                f"{self.path}: sample {self.last.id!r} has no {error.args[0]!r} in its metadata. Was it made by another version?"
            ) from None

    def _tokens(self, name: str) -> int | None:
        """What all tries were charged, and no less than the replies of this one cost.

        Replies from Inspect's cache are free in the try that uses them. They were charged in an earlier one, of which
        nothing may be left if it was killed.
        """
        # a retry takes samples over whole, and the same time tells that it is the same try
        tries = {one.total_time: one.metadata or {} for one in self.tries}.values()
        charged = [told[f"charged_{name}_tokens"] for told in tries if f"charged_{name}_tokens" in told]
        return max(sum(charged), self.told.get(f"{name}_tokens", 0)) if charged else None


def _runs(logs: Sequence[Log]) -> list[list[Log]]:
    runs: defaultdict[str, list[Log]] = defaultdict(list)
    for log in logs:
        runs[log.eval.task_id or str(log.path)].append(log)
    return list(runs.values())


def _games(tries: Sequence[Log], name: str) -> Iterator[_Game]:
    """The games of a run, by epoch and number."""
    games: dict[tuple[str, int], _Game] = {}
    for log in tries:
        for sample in log.samples or []:
            if not sample.invalidation:
                game = games.setdefault((str(sample.id), sample.epoch), _Game(name, log.path))
                game.tries.append(sample)
    yield from (games[key] for key in sorted(games, key=lambda key: (key[1], len(key[0]), key[0])))


def _names(logs: Sequence[Log]) -> dict[Path, str]:
    """Each log's model, with the settings in which it differs from others of that model."""
    by_model: defaultdict[str, list[Log]] = defaultdict(list)
    for log in logs:
        by_model[log.eval.model].append(log)
    names = {}
    for model, several in by_model.items():
        settings = [
            {name: v for (_, name), v in log.model_settings().items() if name not in _NO_MATTER} for log in several
        ]
        every = dict.fromkeys(name for one in settings for name in one)
        # the dials for reasoning are always named: a folder may get another run with other ones later
        differing = [name for name in every if name in _DIALS or len({one.get(name) for one in settings}) > 1]
        for log, one in zip(several, settings, strict=True):
            told = ", ".join(f"{name}={one[name]}" for name in differing if name in one)
            names[log.path] = f"{model} ({told})" if told else model
    return names


def _notes(games: Sequence[_Game]) -> list[str]:
    noted = Counter(game.model for game in games if game.told.get("n_notes") or game.told.get("n_reasoned"))
    estimated = Counter(game.model for game in games if game.told.get("n_estimated"))
    total = Counter(game.model for game in games)
    return [
        f"{model}: in {n} of {total[model]} games a reply contains reasoning or notes in addition to the answer, so the model may write down the state."
        for model, n in noted.items()
    ] + [
        f"{model}: the server did not count the reasoning tokens of {n} of {total[model]} games; they are estimated from the reasoning's share of the reply's characters."
        for model, n in estimated.items()
    ]


# Games from wherever they lie: Inspect logs, samples.csv files, and folders that hold them.


FILE = "samples.csv"


@checked
def read_samples(paths: Sequence[str | os.PathLike[str]]) -> Samples:
    """All games in these files, folders and subfolders. Where a folder has logs and a samples.csv made from them, the logs are read.

    Parameters
    ----------
    paths : Sequence[str or path]
        Files and folders.
    """
    if not paths:
        raise InputError("No input was given: name a log, a samples.csv or a folder that contains them.")
    given = [Path(path) for path in paths]
    logs = [path for path in given if path.is_file() and inspect_logs.recognise(path)]
    # all logs at once, because several may be tries at the same run
    together = [samples_from_logs(logs)] if logs else []
    return Samples.union([*together, *(_read(path) for path in given if path not in logs)])


def kept_in(folder: Path) -> Samples | None:
    """The games in a folder's samples.csv, if it has one."""
    path = folder / FILE
    return load_samples(path) if path.exists() else None


def _read(path: Path) -> Samples:
    if not path.exists():
        raise InputError(f"{path}: no such file or folder.")
    if path.is_file():
        return load_samples(path)
    # people's games, from `track collect`, lie in a folder of their own beside the logs
    files = sorted(path.rglob(FILE))
    kept = Samples.union([load_samples(file) for file in files]) if files else None
    if inspect_logs.recognise(path):
        return samples_from_logs([path]).over(kept)
    if kept is None:
        raise InputError(f"{path}: contains no Inspect log and no {FILE}. Name the folder of a run.")
    return kept
