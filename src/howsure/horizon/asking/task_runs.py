"""A model at the tasks of a suite through Inspect: started once, and asked again for what is missing."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import polars as pl

from howsure.arguments import checked
from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.horizon.asking.replies import (
    FAILURES,
    REPLIES,
    UNFINISHED,
    latest_samples,
    replies_from_logs,
    scored,
    to_name,
    worked_examples,
)
from howsure.horizon.novices.answers import Written, review_item, review_scores, review_table
from howsure.horizon.task_bank import Task, read_tasks
from howsure.horizon.task_bank.suite import instance_seed, sample_id
from howsure.people.blinding import new_salt
from howsure.people.packet import write_private
from howsure.results import Provenance, Result, plain
from howsure.running import Asking, InspectRun, Tokens, error_counts
from howsure.safe_io import read_bytes
from howsure.sources.inspect_format import Log
from howsure.stats.means import mean
from howsure.tables import Attempts

__all__ = ["TaskRun", "run_tasks"]

_ABOUT = ("family", "domain", "verification_type")
_ANSWERED = ("score", "failure", "seconds", "mode", "answer", *(name for name in REPLIES if name.endswith("_tokens")))
_WHICH = ("task", "seed", "shots")
_TO_READ = ("expert", "unjudged")
_KEY = "review.key.json"


@dataclass(frozen=True, kw_only=True, eq=False)
class TaskRun(Result):
    """A model's run at tasks.

    Parameters
    ----------
    status : str
        ``incomplete`` while a server's failure left something unasked: the same call continues from there; else ``complete``.
    replies : pl.DataFrame
        One row per attempt, with its score or the ``failure`` that left none (`howsure.horizon.asking.replies.FAILURES`), its tokens and the judge's.
    review : pl.DataFrame
        The texts that somebody has to read, without their writer's name.
    logs : tuple of Path
        The logs of Inspect.
    errors : mapping
        Errors of servers, with their number.
    secret : str
        What the names of the texts in ``review`` are made with; kept from reviewers.
    provenance : Provenance
        Settings, seed, digest of the run, version and notes.
    """

    name: ClassVar[str] = "run"

    status: Literal["complete", "incomplete"]
    replies: pl.DataFrame
    review: pl.DataFrame
    logs: tuple[Path, ...]
    errors: Mapping[str, int]
    secret: str
    provenance: Provenance

    @property
    def exit_code(self) -> int:
        """0 when every reply came, else 1. Inspect's own is 0 also when every sample errored."""
        return 0 if self.status == "complete" else 1

    @cached_property
    def attempts(self) -> Attempts:
        """The attempts that have a score."""
        return scored(self.replies, notes=self.provenance.notes)

    @property
    def n_unscored(self) -> int:
        """Attempts without a score."""
        return self.replies["score"].null_count()

    @property
    def failures(self) -> dict[str, int]:
        """Why attempts have no score, with their number."""
        counts = dict(self.replies["failure"].drop_nulls().value_counts().iter_rows())
        return {name: counts[name] for name in FAILURES if name in counts}

    @property
    def tokens(self) -> dict[str, Tokens]:
        """What the replies of the model and of the judge cost; each is counted once, however often the run was taken up."""
        names = ("input", "output", "reasoning")
        sums = self.replies.select(pl.col("^.*_tokens$").sum()).row(0, named=True)
        return {
            who: Tokens(*(sums[f"{prefix}{name}_tokens"] for name in names))
            for who, prefix in (("model", ""), ("judge", "judge_"))
        }

    def success(self, *, level: float = 0.95) -> dict[str, Estimate]:
        """The mean score in each domain where something was scored, with an interval over its tasks."""
        parts = self.replies.drop_nulls("score").group_by("domain", maintain_order=True)
        return {str(domain): mean(part["score"], part["task"], level=level).estimate for (domain,), part in parts}

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``replies`` (one row per attempt); ``attempts`` where there are scores, ``review`` where somebody has to read."""
        scores = {"attempts": self.attempts.frame} if self.n_unscored < len(self.replies) else {}
        return {"replies": self.replies, **scores, **({"review": self.review} if len(self.review) else {})}

    def reviewed(self, reviews: pl.DataFrame) -> TaskRun:
        """The same run with the scores that people gave to the texts in ``review``.

        Parameters
        ----------
        reviews : polars.DataFrame
            The table ``review`` with a column ``score`` from 0 to 1; several rows of one item are averaged.
        """
        names = self.replies.select("model", "task", "seed", "shots").iter_rows()
        replies = self.replies.with_columns(
            item=pl.Series([review_item(self.secret, *name) for name in names], dtype=pl.String)
        )
        found = review_scores(reviews, self.review["item"])
        replies = replies.join(found.rename({"score": "given"}), on="item", how="left", maintain_order="left")
        is_given = pl.col("given").is_not_null()
        replies = replies.with_columns(
            score=pl.coalesce("given", "score"), failure=pl.when(~is_given).then("failure")
        ).drop("item", "given")
        left = self.review.filter(~pl.col("item").is_in(found["item"].implode()))
        return replace(self, replies=replies, review=left)

    def as_dict(self) -> dict[str, Any]:
        """Success, counts, failures, errors and tokens as plain JSON."""
        told = {name: getattr(self, name) for name in ("status", "n_unscored", "failures", "errors", "tokens")}
        told |= {"success": self.success(), "n_attempts": len(self.replies), "logs": [log.name for log in self.logs]}
        return dict(plain(told | {"provenance": self.provenance}))

    def more_files(self) -> dict[str, pl.DataFrame | None]:
        """The runs, where there are scores."""
        return {"runs.jsonl": to_name(self.attempts) if "attempts" in self.tables else None}


@checked
def run_tasks(
    tasks: Sequence[Task] | str | os.PathLike[str],
    model: str,
    *,
    out: str | os.PathLike[str],
    attempts: int = 20,
    judge: str | None = None,
    shots: int | Sequence[int] = 0,
    feedback: bool = False,
    shows_answers: bool = False,
    seed: int = 0,
    judge_base_url: str | None = None,
    **asking: Any,
) -> TaskRun:
    """Run a model on every task through Inspect, or continue that run.

    No question is asked twice: replies are kept in ``cache`` beside the logs, also for a run with another judge or more attempts.

    Parameters
    ----------
    tasks : Sequence[Task] or path
        The tasks, or the file that has them.
    model : str
        ``provider/name``, as Inspect spells it.
    out : str or path
        Folder of the run; an interrupted run in it is continued.
    attempts : int
        Attempts per task; each is a new instance.
    judge : str | None
        Model that scores by rubric what no program can check; without it people must score those replies.
    shots : int or sequence of int
        Number of worked examples shown before each task; with several numbers every attempt is made with each.
    feedback : bool
        Whether the attempts at a task are one conversation, in which the model is told after each answer whether it was right, as novices are. Only tasks that a program checks
        can be asked so, and without worked examples.
    shows_answers : bool
        With ``feedback``: whether the model is also told the right answer after a wrong one, at tasks that are new at each attempt.
    seed : int
        Seed of the instances.
    judge_base_url : str | None
        Address of the judge's server.
    **asking
        Further settings of `howsure.running.Asking`: ``base_url``, ``config``, ``max_samples``, ….
    """
    tasks = read_tasks(tasks)
    counts = (shots,) if isinstance(shots, int) else tuple(shots)
    if attempts < 1 or not tasks or min(counts, default=-1) < 0:
        raise OptionError("A run needs at least 1 task and 1 attempt, and 0 or more shots.")
    if len(set(counts)) < len(counts):
        raise OptionError(f"shots {', '.join(map(str, counts))}: give each number once.")
    if feedback and (any(counts) or not all(task.is_verifiable for task in tasks)):
        raise OptionError(
            "With feedback, a program must check every task, and there are no worked examples. Choose other domains, or remove one of the two."
        )
    if shows_answers and not feedback:
        raise OptionError("Right answers are shown as part of the feedback. Ask for feedback, too.")
    asked = Asking(model, **asking)
    settings = {
        "attempts": attempts,
        "shots": counts[0] if len(counts) == 1 else list(counts),
        "seed": seed,
        "judge": judge,
        "judge_base_url": judge_base_url,
        **({"feedback": True} if feedback else {}),
        **({"shows_answers": True} if shows_answers else {}),
    }
    run = InspectRun.of(out, asked, [settings, [task.model_dump(mode="json") for task in tasks]])
    plan = _Plan(tuple(tasks), attempts, counts, seed, feedback, shows_answers)
    missing = plan.missing(run.logs())
    if missing:
        judging = replace(asked, model=judge, base_url=judge_base_url, model_args={}, config={}) if judge else None
        _ask(run, asked, plan, missing, judging)
    told = {"model": model, **settings, **asked.config}
    return plan.result(run, Provenance(told, run.mark, seed, plan.notes))


@dataclass(frozen=True)
class _Plan:
    """All that a run is to ask."""

    tasks: tuple[Task, ...]
    attempts: int
    shots: tuple[int, ...]
    seed: int
    feedback: bool
    shows_answers: bool

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row per attempt: its task and instance."""
        seeds = {attempt: instance_seed(self.seed, attempt) for attempt in range(1, self.attempts + 1)}
        rows = [
            {name: getattr(task, name) for name in _ABOUT}
            | {"task": task.id, "attempt": attempt, "seed": seed, "shots": shots}
            | {"earlier_attempts": attempt - 1 if self.feedback else 0}
            | {"#id": sample_id(task.id, seeds[1] if self.feedback else seed, shots)}
            for task in self.tasks
            for shots in self.shots
            for attempt, seed in seeds.items()
        ]
        return pl.DataFrame(rows, schema={name: REPLIES.get(name, pl.String) for name in rows[0]})

    @property
    def notes(self) -> tuple[str, ...]:
        """What is not as the settings say."""
        most = max(self.shots)
        short = [task for task in self.tasks if len(worked_examples(task, self.tasks, 1, most)) < most]
        return (f"{len(short)} of {len(self.tasks)} tasks have fewer than {most} examples to show.",) if short else ()

    def missing(self, logs: Sequence[Log]) -> frozenset[str]:
        """The samples that have no whole reply yet."""
        whole = replies_from_logs(logs).filter(pl.col("failure").ne_missing(UNFINISHED))
        return frozenset(self.frame.join(whole, on=_WHICH, how="anti")["#id"])

    def result(self, run: InspectRun, provenance: Provenance) -> TaskRun:
        """What the run's logs say; what was not asked yet is a server's failure too."""
        logs = run.logs()
        found = replies_from_logs(logs).select(*_WHICH, *_ANSWERED)
        whole = self.frame.join(found, on=_WHICH, how="left", maintain_order="left")
        failure = pl.when(pl.col("score").is_null()).then(pl.col("failure").fill_null(UNFINISHED)).alias("failure")
        model = pl.lit(provenance.settings["model"]).alias("model")
        replies = whole.with_columns(failure, model).select(list(REPLIES))
        is_left = bool(replies["failure"].eq(UNFINISHED).any())
        texts = _to_read(self.tasks, logs)
        secret = _secret(run.out) if texts else ""
        return TaskRun(
            status="incomplete" if is_left else "complete",
            replies=replies,
            review=review_table(texts, secret),
            logs=tuple(log.path for log in logs),
            errors=error_counts(str(one.error) for _, one in latest_samples(logs).values() if one.error),
            secret=secret,
            provenance=provenance,
        )


def _ask(run: InspectRun, asked: Asking, plan: _Plan, missing: frozenset[str], judge: Asking | None) -> None:
    from howsure.horizon.asking.task import make_task

    task = make_task(
        plan.tasks,
        attempts=plan.attempts,
        shots=plan.shots,
        feedback=plan.feedback,
        shows_answers=plan.shows_answers,
        judge=judge.made() if judge else None,
        seed=plan.seed,
        cache=True,
        only=missing,
        told={"run": run.mark},
    )
    run.evaluate(task, asked)


def _secret(folder: Path) -> str:
    """The secret of a run's folder, drawn once: a run that is continued gives its texts the same names, and reviewers cannot make those of a model they guess."""
    path = folder / _KEY
    if not path.exists():
        write_private(path, json.dumps({"salt": new_salt()}) + "\n")
    try:
        return str(json.loads(read_bytes(path))["salt"])
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path}: not the key of a run's texts. Move it away; texts then get new names.") from None


def _to_read(tasks: Sequence[Task], logs: Sequence[Log]) -> list[Written]:
    from inspect_ai.log import read_eval_log_sample

    by_id = {task.id: task for task in tasks}
    found = []
    for log, sample in latest_samples(logs).values():
        told = sample.metadata or {}
        if not sample.error and told.get("failure") in _TO_READ:
            whole = read_eval_log_sample(str(log.path), sample.id, sample.epoch)
            text = whole.output.completion
            found.append(Written(by_id[told["task"]], told["seed"], log.eval.model, text, told.get("shots", 0)))
    return found
