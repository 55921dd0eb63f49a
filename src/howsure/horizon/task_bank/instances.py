"""Which instance of a task an attempt is about, and how that attempt is called."""

from __future__ import annotations

__all__ = ["instance_seed", "sample_id"]

_SEEDS_APART, _LEARNERS_APART = 10**9, 1_000  # room for more learners and attempts than there will be


def instance_seed(seed: int, attempt: int, *, learner: int = 0) -> int:
    """The same for every model, and another for every learner from 1 up.

    >>> instance_seed(0, 7), instance_seed(0, 7, learner=2)
    (7, 2007)
    """
    return seed * _SEEDS_APART + learner * _LEARNERS_APART + attempt


def sample_id(task: str, seed: int, shots: int = 0) -> str:
    """The task, the instance of it, and the number of worked examples before it."""
    return f"{task}/{seed}/{shots}-shot" if shots else f"{task}/{seed}"
