"""The length at which half of the last answers are correct, found with few calls: each call's length depends on what was correct before.

A call shows a whole sequence in one prompt and asks for the last answer only, so that it costs as many tokens as the sequence is long, and not their square.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from howsure.arguments import checked
from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.results import Provenance, Result, columns_of
from howsure.running import Asking, InspectRun, error_counts
from howsure.stats.means import wilson
from howsure.track.game.statistics import statistic, usual_name

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section

__all__ = ["TOO_LONG", "LengthPosterior", "MedianLength", "Trial", "chance_level", "find_median_length", "posterior_of"]

TOO_LONG = "x"  # in the place of a call's outcome, where its sequence did not fit into the context window
_SLOPES = np.geomspace(0.7, 10, 14)


class LengthPosterior:
    r"""What is known of the median length after some calls.

    .. math:: P(\text{last answer correct} \mid L) = c + \frac{1 - c}{1 + (L / M)^s}

    c is the chance level, M the median length, s how steeply accuracy falls. The prior of log M is uniform from half a turn to four times the longest length, that of log s
    from 0.7 to 10; s is integrated out. The next length is where M is expected (Watson and Pelli 1983), spread over a factor of 1.6 to both sides so that s is learnt too.
    """

    def __init__(self, chance: float, longest: int) -> None:
        self.chance, self.longest = chance, longest
        self._grid = np.linspace(np.log(0.5), np.log(4 * longest), 240)
        self._log_p = np.zeros((len(self._grid), len(_SLOPES)))

    def add(self, length: int, *, is_right: bool) -> None:
        """Take the outcome of a call."""
        falls = 1 / (1 + np.exp(_SLOPES[None, :] * (np.log(length) - self._grid[:, None])))
        p = self.chance + (1 - self.chance) * falls
        self._log_p += np.log(np.clip(p if is_right else 1 - p, 1e-12, 1))

    @property
    def weights(self) -> np.ndarray:
        """The posterior of log M on its grid."""
        p = np.exp(self._log_p - self._log_p.max()).sum(1)
        return np.asarray(p / p.sum())

    def curve(self, lengths: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The probability of a correct last answer at each length: its mean, and the ends of its credible interval."""
        weights = np.exp(self._log_p - self._log_p.max()).ravel()
        weights /= weights.sum()
        apart = np.log(lengths)[:, None, None] - self._grid[None, :, None]
        p = (self.chance + (1 - self.chance) / (1 + np.exp(_SLOPES * apart))).reshape(len(lengths), -1)
        order = np.argsort(p, axis=1)
        below = np.take_along_axis(np.broadcast_to(weights, p.shape), order, 1).cumsum(1)
        ends = [
            np.take_along_axis(
                p, np.take_along_axis(order, (below < q).sum(1, keepdims=True).clip(max=p.shape[1] - 1), 1), 1
            )[:, 0]
            for q in ((1 - level) / 2, (1 + level) / 2)
        ]
        return p @ weights, ends[0], ends[1]

    def next_length(self, rng: np.random.Generator) -> int:
        """How long the next sequence is."""
        expected = float(self.weights @ self._grid) + rng.uniform(-0.47, 0.47)
        return int(np.clip(round(np.exp(expected)), 1, self.longest))

    def median(self, level: float = 0.95) -> Estimate:
        """The median length with its credible interval; beyond the longest length there is no number."""
        below = self.weights.cumsum()
        low, value, high = (
            float(np.exp(self._grid[min(int(np.searchsorted(below, q)), len(self._grid) - 1)]))
            for q in ((1 - level) / 2, 0.5, (1 + level) / 2)
        )
        if value > self.longest:
            reason = f"more than half of the last answers are correct at the longest length, {self.longest}"
            low_state: Literal["ok", "above_range"] = "above_range" if low > self.longest else "ok"
            return Estimate(
                self.longest, min(low, self.longest), None, level, "above_range", reason, low_state, "above_range"
            )
        if value < 1:
            return Estimate(
                1.0,
                None,
                max(high, 1.0),
                level,
                "below_range",
                "most last answers are wrong after one turn",
                "below_range",
            )
        is_open = high > self.longest
        return Estimate(
            value, max(low, 1.0), None if is_open else high, level, high_state="above_range" if is_open else "ok"
        )


@dataclass(frozen=True)
class Trial:
    """One call: its length, and whether the last answer was correct."""

    run: int
    call: int
    length: int
    is_right: bool


@dataclass(frozen=True, kw_only=True, repr=False)
class MedianLength(Result):
    """The length at which half of a model's last answers are correct.

    Parameters
    ----------
    model : str
        Who was asked.
    variant : str
        What was tracked.
    setting : str
        What differs from the original conditions.
    median : Estimate
        The median length in turns, with its credible interval.
    trials : tuple[Trial, ...]
        Every call.
    status : {"complete", "incomplete"}
        ``incomplete`` while calls are missing because of a server or a budget: the same call goes on from there.
    errors : Mapping[str, int]
        What servers failed with.
    provenance : Provenance
        Settings, seed, version and notes.
    """

    name = "median_length"

    model: str
    variant: str
    setting: str
    median: Estimate
    trials: tuple[Trial, ...]
    status: str
    errors: Mapping[str, int]
    provenance: Provenance

    @property
    def exit_code(self) -> int:
        """0 when every call was made, else 1."""
        return 0 if self.status == "complete" else 1

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``median_length`` (one row), ``trials`` (one row per call) and, where the lengths were given, ``accuracy`` (one row per length)."""
        row = {
            "model": self.model,
            "variant": self.variant,
            "setting": self.setting,
            **columns_of(median_length=self.median),
        }
        row |= {"n_calls": len(self.trials), "n_right": sum(one.is_right for one in self.trials)}
        by_length = self.by_length()
        schema = {"run": pl.Int64, "call": pl.Int64, "length": pl.Int64, "is_right": pl.Boolean}
        return {
            "median_length": pl.DataFrame([row], infer_schema_length=None),
            "trials": pl.DataFrame([vars(one) for one in self.trials], schema=schema),
            **({"accuracy": pl.DataFrame(_accuracy_rows(by_length), infer_schema_length=None)} if by_length else {}),
        }

    def by_length(self) -> list[tuple[int, int, Estimate]]:
        """Where the lengths were given: each of them, its number of calls, and the share of correct last answers (Wilson's interval)."""
        if not self.provenance.settings.get("at"):
            return []
        found = []
        for length in sorted({one.length for one in self.trials}):
            outcomes = [one.is_right for one in self.trials if one.length == length]
            share = wilson(sum(outcomes), len(outcomes), float(self.provenance.settings["level"]))
            found.append((length, len(outcomes), share))
        return found

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.track.sections import length_section

        return [length_section(self)]

    def charts(self) -> dict[str, Chart]:
        """The share of correct last answers by length, by the name of its file."""
        from howsure.track.charts import draw_lengths

        return {"lengths": draw_lengths(self)} if self.trials else {}


def _accuracy_rows(by_length: list[tuple[int, int, Estimate]]) -> list[dict[str, Any]]:
    return [{"length": length, "n_calls": n, **columns_of(accuracy=share)} for length, n, share in by_length]


@checked
def find_median_length(
    model: str,
    *,
    out: str | os.PathLike[str],
    variant: str = "median",
    n_calls: int = 10,
    n_searches: int = 4,
    longest: int = 300,
    at: Sequence[int] = (),
    level: float = 0.95,
    seed: int = 0,
    **asking: Any,
) -> MedianLength:
    """The length at which half of a model's last answers are correct, with few calls; or continue the search with these settings.

    Searches are independent and run at the same time; their calls are pooled at the end.

    Parameters
    ----------
    model : str
        ``provider/name``, as Inspect spells it.
    out : str or path
        Folder of the search.
    variant : str
        What to track.
    n_calls : int
        Calls per run.
    n_searches : int
        Number of searches, which are independent and run at the same time.
    longest : int
        Longest sequence, in turns.
    at : sequence of int
        Ask at these lengths in turn, instead of searching: the share of correct last answers at each is the table ``accuracy``.
    level : float
        Coverage of the credible interval, between 0 and 1.
    seed : int
        Seed of the lengths and of scripted players.
    **asking
        Further settings of `howsure.running.Asking`.
    """
    if min(n_calls, n_searches) < 1 or n_calls > 100:
        raise OptionError(
            f"{n_searches} searches of {n_calls} calls: give at least 1, and at most 100 calls per search."
        )
    if at and (min(at) < 1 or len(at) > n_calls):
        raise OptionError(f"lengths {list(at)}: give lengths of at least 1, and no more of them than calls per search.")
    longest = max(*at, 2) if at else longest
    if longest < 2:
        raise OptionError(f"longest {longest} leaves nothing to search. Give at least 2.")
    asked, variant = Asking(model, **asking), usual_name(variant)
    settings: dict[str, Any] = {
        "variant": variant,
        "searches": n_searches,
        "calls": n_calls,
        "longest": longest,
        "seed": seed,
    }
    settings |= {"at": list(at)} if at else {}
    run = InspectRun.of(out, asked, settings | {"task": "track_length"})
    trials, too_long, errors = _trials(run, n_searches)
    if len(trials) + len(too_long) < n_searches * n_calls:
        from howsure.track.running.registry import track_length

        logs = [log for log in run.logs() if log.samples]
        is_paid = not model.startswith("howsure/")
        if logs:
            run.retry(logs[-1].path, asked)
        else:
            run.evaluate(track_length(**settings, cache=is_paid), asked)
        trials, too_long, errors = _trials(run, n_searches)
        if not run.logs():
            raise InputError(f"{run.folder}: nothing was asked. Read the log with: inspect view")
    chance = chance_level(variant)
    n_answered = len(trials) + len(too_long)
    is_complete = n_answered == n_searches * n_calls
    notes = [] if is_complete else [f"{n_answered} of {n_searches * n_calls} calls were answered."]
    fitting = longest
    if too_long:
        fitting = max(min(too_long) - 1, 1)
        notes.append(
            f"{len(too_long)} calls with {min(too_long)} turns or more did not fit into the context window. They are no errors of the model: lengths up to {fitting} turns were searched."
        )
    none = Estimate.without("too_few", "no call was answered", level=level)
    return MedianLength(
        model=model,
        variant=variant,
        setting="one-shot, last answer",
        median=posterior_of(trials, chance, longest, fitting).median(level) if trials else none,
        trials=tuple(trials),
        status="complete" if is_complete else "incomplete",
        errors=errors,
        provenance=Provenance(settings | {"level": level, "chance": chance}, seed=seed, notes=tuple(notes)),
    )


def posterior_of(trials: Sequence[Trial], chance: float, longest: int, fitting: int | None = None) -> LengthPosterior:
    """The posterior after these calls; beyond ``fitting`` turns, where the context window is full, nothing can be asked."""
    found = LengthPosterior(chance, longest)
    for one in trials:
        found.add(one.length, is_right=one.is_right)
    found.longest = fitting or longest
    return found


def chance_level(variant: str) -> float:
    """The probability that a guess is right after 20 updates: the chance level of a long sequence."""
    kind = statistic(variant)
    chances = []
    for seed in range(20):
        state = kind()
        for one in kind.updates(seed, 20, 0, 100):
            state.update(one)
        chances.append(state.chance())
    return float(np.mean(chances))


def _trials(run: InspectRun, n_searches: int) -> tuple[list[Trial], list[int], dict[str, int]]:
    """Every call that was answered, of each run from the last log that has it; the lengths that did not fit; and what servers failed with last."""
    logs: Sequence[Any] = [log for log in run.logs() if log.samples]
    told: dict[int, str] = {}
    for log in logs:
        for sample in log.samples:
            found = (sample.metadata or {}).get("trials", "")
            told[int(sample.id)] = max(found, told.get(int(sample.id), ""), key=len)
    calls = [
        (number, call, int(length), outcome)
        for number in range(n_searches)
        for call, word in enumerate(told.get(number, "").split())
        for length, _, outcome in [word.partition(":")]
    ]
    trials = [Trial(number, call, length, said == "1") for number, call, length, said in calls if said != TOO_LONG]
    too_long = [length for _, _, length, said in calls if said == TOO_LONG]
    last = logs[-1].samples if logs else []
    return trials, too_long, error_counts(str(one.error) for one in last if one.error)
