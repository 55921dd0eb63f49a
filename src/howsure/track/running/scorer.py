"""The score of a game is the number of correct answers; the eval's six metrics are taken over all games, epoch or not."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState

from howsure.track.game.endings import FAILURES

__all__ = ["METRICS", "logged_max_length", "max_length"]

_LONGEST = 200  # of a reply, in characters; the whole one is in the log's messages
_SHOWN = ("length", "error_kind", "failure", "answer", "truth", "n_turns", "n_notes")


def _metric(name: str, figure: Callable[[list[float]], Any], of: Callable[[Score], float]) -> Metric:
    # unreduced: Inspect would first average the epochs of a sample, and take spread and extremes of those averages
    @metric(name=name, scores="unreduced")
    def made() -> Metric:
        def compute(scores: Sequence[SampleScore]) -> Value:
            played = [of(one.score) for one in scores if not math.isnan(one.score.as_float())]
            return float(figure(played)) if played else math.nan

        return compute

    return made()


def _turns(score: Score) -> float:
    return score.as_float()


def _is_violation(score: Score) -> float:
    return (score.metadata or {}).get("error_kind") == "format"


METRICS = [
    _metric("avg_max_length", np.mean, _turns),
    _metric("stddev_max_length", np.std, _turns),
    _metric("median_max_length", np.median, _turns),
    _metric("max_max_length", max, _turns),
    _metric("min_max_length", min, _turns),
    _metric("violation_rate", np.mean, _is_violation),
]


@scorer(metrics=METRICS)
def max_length() -> Scorer:
    """How many turns were right. An interrupted game has no score: it is censored, which the metrics here cannot say; `howsure track report` can."""
    return _scoring()


# A log names a scorer without its package, and `inspect score LOG` then looks in vain for it; so the name that is logged has the package in it.
@scorer(metrics=METRICS, name="howsure/max_length")
def logged_max_length() -> Scorer:
    """The same under the name by which `inspect score LOG` finds it."""
    return _scoring()


def _scoring() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        told = {name: state.metadata.get(name) for name in _SHOWN}
        if told["failure"] and FAILURES[told["failure"]] != "no_answer":
            return Score.unscored(reason=told["failure"], explanation=_story(state.metadata), metadata=told)
        return Score(
            value=state.metadata["max_length"],
            answer=state.output.completion[:_LONGEST],
            explanation=_story(state.metadata),
            metadata=told,
        )

    return score


def _story(told: dict[str, Any]) -> str:
    right = f"{told['max_length']} of {told['length']} turns correct"
    if told["failure"]:
        return f"{right}, then no answer: {told['failure']}"
    if told["error_kind"] is None:
        return right
    said = "no answer in brackets" if told["answer"] is None else f"{told['answer']:g}"
    return f"{right}, then an error ({told['error_kind']}): the correct answer was {told['truth']:g}, the reply {said}"
