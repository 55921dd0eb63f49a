"""How simulated raters fill in a pair's questions: by what they see, at random, by habit, or by slot.

Answers are by name as in a table of ratings: ``voice``, ``vibe:target``, ``vibe:comparison``, …, comparisons above 0 for the target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from howsure.stats._arrays import Floats
from howsure.study.protocol import Dimension

__all__ = ["Answers", "fidelity_of", "honest_answers", "kept_answers", "random_answers", "slot_answers"]

Answers = dict[str, float]

_ANSWER_NOISE = 0.08  # of one answer beside the rater's view of the pair, on its 0–1 scale


def honest_answers(asked: Sequence[Dimension], view: Floats, rng: np.random.Generator) -> dict[str, Floats]:
    """The answers of raters who see a target's fidelity as `view`, 0 to 1: the nearest steps, with some noise in each."""
    answers: dict[str, Floats] = {}
    lead = np.zeros(len(view))
    for dimension in asked:
        own = _ANSWER_NOISE * rng.standard_normal((2, len(view)))
        if dimension.kind == "each":
            answers[dimension.rated[0]] = _step(dimension, view + own[0])
            answers[dimension.rated[1]] = _step(dimension, 1 - view + own[1])
        elif dimension.kind == "preferred":
            answers[dimension.rated[0]] = _step(dimension, np.where(lead < 0, 1 - view, view) + own[0])
        else:
            answers[dimension.rated[0]] = _step(dimension, view + own[0])
        lead = answers[dimension.name] if dimension.kind == "comparison" else lead
    return answers


def random_answers(asked: Sequence[Dimension], rng: np.random.Generator) -> Answers:
    """Any label, whatever the texts."""
    return {name: float(rng.choice(dimension.codes)) for dimension in asked for name in dimension.rated}


def kept_answers(asked: Sequence[Dimension], habit: Floats, *, is_first: bool) -> Answers:
    """The label at the same place of each scale, pair after pair; `habit` is that place from 0 to 1 for each dimension."""
    answers: Answers = {}
    for dimension, place in zip(asked, habit, strict=True):
        code = float(dimension.codes[round(place * (len(dimension.codes) - 1))])
        turned = -code if dimension.kind == "comparison" and is_first else code
        answers |= dict.fromkeys(dimension.rated, turned + 0.0)  # no −0 in tables
    return answers


def slot_answers(asked: Sequence[Dimension], *, is_first: bool) -> Answers:
    """All for the first response, whichever it is."""
    answers: Answers = {}
    for dimension in asked:
        ends = (float(dimension.high), float(dimension.low))[:: 1 if is_first else -1]
        if dimension.kind in ("comparison", "each"):
            answers |= dict(zip(dimension.rated, ends, strict=False))
        else:
            answers[dimension.rated[0]] = float(dimension.high)
    return answers


def fidelity_of(asked: Sequence[Dimension], answers: Mapping[str, Floats]) -> Floats:
    """PFI of many answers at once, as `howsure.study.scoring.fidelity` has it of a table of ratings."""
    lead = next((answers[dimension.name] for dimension in asked if dimension.kind == "comparison"), None)
    parts = [_part(dimension, answers, lead) for dimension in asked if dimension.kind != "choice"]
    return np.asarray(np.mean(parts, axis=0))


def _part(dimension: Dimension, answers: Mapping[str, Floats], lead: Floats | None) -> Floats:
    """A dimension's part on 0–1; `lead` is above 0 where the target was preferred."""
    scaled = (answers[dimension.rated[0]] - dimension.low) / (dimension.high - dimension.low)
    if dimension.kind != "preferred" or lead is None:
        return scaled
    return np.where(lead > 0, scaled, np.where(lead < 0, (1 - scaled) / 2, 0.5))


def _step(dimension: Dimension, place: Floats) -> Floats:
    """The code of the nearest step of the scale, from its lowest at 0 to its highest at 1."""
    codes = np.sort(np.array(dimension.codes, dtype=np.float64))
    return codes[np.clip(np.round(place * (len(codes) - 1)), 0, len(codes) - 1).astype(np.int64)]
