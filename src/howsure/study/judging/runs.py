"""A model rates a study through Inspect: started once, and asked again for what is missing."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from howsure.running import Asking, InspectRun, error_counts
from howsure.sources.inspect_format import Log, Sample
from howsure.study.judging.ratings import Reply
from howsure.study.judging.task import ask, sample_id
from howsure.study.protocol import Study

__all__ = ["JudgeRun", "run_judge"]


@dataclass(frozen=True)
class JudgeRun:
    """What a run has come to: its replies, its logs from old to new, and the errors of servers, with their number."""

    replies: tuple[Reply, ...]
    logs: tuple[Path, ...]
    errors: Mapping[str, int]

    @property
    def missing(self) -> frozenset[str]:
        """The samples that a server's failure left unasked."""
        return frozenset(
            sample_id(one.item, one.target_slot, one.repeat) for one in self.replies if one.failure == "api"
        )

    @property
    def status(self) -> Literal["complete", "incomplete"]:
        """``incomplete`` while something is missing: the same call goes on from there."""
        return "incomplete" if self.missing else "complete"

    @property
    def exit_code(self) -> int:
        """0 when every reply came, else 1. Inspect's own is 0 also when every sample errored."""
        return 0 if self.status == "complete" else 1


def run_judge(study: Study, model: str, *, out: str | os.PathLike[str], repeats: int = 1, **asking: Any) -> JudgeRun:
    """Let `model` (``provider/name``, as Inspect spells it) rate every pair in both orders, or go on with that run in the folder `out`.

    Nothing is asked twice: replies that came are taken from the logs, also from those of a run that was killed. A question at which the server
    goes on failing is given up for now, and the others go on. A reply without a rating in it is the model's own failure, and is not asked again.
    ``repeats`` is how often each question is asked in each order; a later call may ask for more.
    ``asking`` is more on how to ask (`howsure.running.Asking`): ``base_url``, ``config``, ``max_samples``, ….
    """
    asked = Asking(model, **asking)
    run = InspectRun.of(out, asked, _texts(study))
    missing = _standing(study, run.logs(), repeats).missing
    if missing:
        from howsure.study.judging.task import judge_pairs

        # a reply is in the log as soon as it came, so that it outlives a run that is killed
        run.evaluate(judge_pairs(study, sorted(missing), repeats), asked, log_buffer=1)
    return _standing(study, run.logs(), repeats)


def _texts(study: Study) -> list[str]:
    """All that a model is asked: what else a study holds may change without a new run."""
    return [ask(study, pair, slot) for pair in study.pairs for slot in (1, 2)]


def _standing(study: Study, logs: Sequence[Log], repeats: int) -> JudgeRun:
    """How a run stands: of each question the first whole reply counts, and else the last failure."""
    latest: dict[tuple[str, int, int], Sample] = {}
    for sample in (sample for log in logs for sample in log.samples or []):
        told = sample.metadata or {}
        key = told["pair"], told["target_slot"], told.get("repeat", 1)
        if key not in latest or latest[key].error:
            latest[key] = sample
    orders = [(pair.id, slot, repeat) for repeat in range(1, repeats + 1) for pair in study.pairs for slot in (1, 2)]
    return JudgeRun(
        replies=tuple(_reply(*order, latest.get(order)) for order in orders),
        logs=tuple(log.path for log in logs),
        errors=error_counts(str(one.error) for one in latest.values() if one.error),
    )


def _reply(pair: str, slot: int, repeat: int, sample: Sample | None) -> Reply:
    """What a sample says; one that never came, or with an error, is the server's failure."""
    if sample is None or sample.error or not sample.scores:
        return Reply(pair, slot, {}, "api", repeat)
    failure = (sample.metadata or {}).get("failure")
    (score,) = sample.scores.values()
    return Reply(pair, slot, {} if failure else dict(score.value), failure, repeat)
