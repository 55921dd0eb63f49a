"""The eval as a task of Inspect: ``inspect eval howsure/track_the_stat -T variant=mode --model …``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from anyio import get_cancelled_exc_class
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    Model,
    ModelOutput,
    cache_path,
    get_model,
)
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import LimitExceededError, token_limit

from howsure.errors import OptionError
from howsure.running import MANNER, BudgetSpentError, Gate, GivenUpError, Tokens, digest, failure_of
from howsure.running.replies import KeptReplies
from howsure.track.game.prompts import (
    all_turns,
    bracketed,
    instructions,
    parse,
    parse_all,
    split_reasoning,
    state_message,
    turn_message,
)
from howsure.track.game.rules import FAILURES, Referee
from howsure.track.game.sequence import HIGH, LENGTH, LOW, Mode, Setting
from howsure.track.game.statistics import Step, usual_name
from howsure.track.samples import COMPLETION, COT, EXPLICIT, SOLVERS, board_name

__all__ = [
    "METRICS",
    "Record",
    "Role",
    "logged_max_length",
    "max_length",
    "play_game",
    "replies_file",
    "track_the_stat",
    "without_reasoning",
]


@task
def track_the_stat(
    variant: str = "median",
    solver: str = "direct",
    samples: int = 250,
    length: int = LENGTH,
    low: int = LOW,
    high: int = HIGH,
    distractors: float = 0.0,
    is_brief: bool = False,  # noqa: FBT001, FBT002 - Inspect passes -T options by name
    keeps_reasoning: bool = False,  # noqa: FBT001, FBT002
    takes_first: bool = False,  # noqa: FBT001, FBT002
    updates: int = 1,
    interference: float = 0.0,
    mode: Mode = "turns",
    replaced: float = 0.0,
    is_original: bool = False,  # noqa: FBT001, FBT002
    state_role: Literal["user", "assistant"] = "user",
    seed: int = 0,
    cache: bool = False,  # noqa: FBT001, FBT002
) -> Task:
    """For how many turns can a model keep a running statistic in its head?

    Args:
        variant: What is tracked: median, mode, boxes, boxes-12, …
        solver: ``direct``; ``explicit``, where the state is shown after each update; ``cot``, where the model is told to reason in its reply; ``completion`` for base
            models, which continue the conversation as one text. ``explicit+cot`` and ``explicit+completion`` are both.
        samples: How many sequences are played, from number 0 on.
        length: How many turns a game has.
        low: The smallest number.
        high: One more than the largest number.
        distractors: The chance of an irrelevant line before a turn.
        is_brief: Forbid all but the answer: a reply with notes interrupts the game. Reasoning before the reply is counted, not forbidden.
        keeps_reasoning: Leave the reasoning of earlier turns in the conversation, where the model can read it again.
        takes_first: The first answer in brackets counts, not the last.
        updates: Numbers, or other updates, per turn.
        interference: The chance of an update of another game before a turn, which must be ignored.
        mode: ``turns`` to the first error, ``one-shot`` for all turns in one prompt, or ``continue`` after errors.
        replaced: In the mode ``continue``, the chance that an answer is replaced by a wrong one in the conversation.
        is_original: The instructions have the order of the eval's first implementation.
        state_role: Who says the explicit state. ``assistant`` adds a message that many servers take for the start of the reply.
        seed: For players that draw; sequences do not depend on it.
        cache: Keep replies beside Inspect's cache, so that an interrupted run goes on where it was. A later run of the same model
            would be given the same replies, unless ``INSPECT_CACHE_DIR`` names another folder.
    """
    if samples < 1:
        raise OptionError(f"{samples} samples are too few. Give at least 1.")
    if solver not in SOLVERS:
        raise OptionError.unknown("solver", solver, SOLVERS)
    if state_role not in ("user", "assistant"):
        raise OptionError.unknown("state_role", state_role, ("user", "assistant"))
    setting = Setting(
        length=length,
        low=low,
        high=high,
        distractors=distractors,
        is_brief=is_brief,
        keeps_reasoning=keeps_reasoning,
        takes_first=takes_first,
        updates=updates,
        interference=interference,
        mode=mode,
        replaced=replaced,
        is_original=is_original,
    )
    is_explicit, is_cot, is_completion = (word in solver.split("+") for word in (EXPLICIT, COT, COMPLETION))
    if mode == "one-shot" and (is_explicit or is_completion):
        raise OptionError(f"In one prompt there is no state to show after each update. Leave the solver {solver} out.")
    if is_cot and is_brief:
        raise OptionError("Brief replies forbid reasoning in the reply, and cot asks for it. Choose one of the two.")
    label = f"{solver} (assistant)" if is_explicit and state_role == "assistant" else solver
    told = {"variant": usual_name(variant), "solver": label, "setting": setting.label, **asdict(setting)}
    prompt = instructions(variant, setting, asks_for_reasoning=is_cot)
    board = pl.DataFrame({name: [told[name]] for name in ("variant", "setting", "solver", "length")})
    games = [Sample(id=number, input=prompt, metadata={**told, "seed": number}) for number in range(samples)]
    return Task(
        dataset=MemoryDataset(games, name=f"{variant} {setting.label}"),
        solver=play_game(
            is_explicit=is_explicit,
            state_role=state_role,
            is_completion=is_completion,
            player_seed=seed,
            cache=cache,
        ),
        scorer=logged_max_length(),
        fail_on_error=False,  # a server's failure in one game is no reason to stop the others
        metadata={"howsure_board": board.select(board_name()).item()},  # what readers of the log call it
    )


# The score of a game is the number of correct answers; the eval's six metrics are taken over all games, epoch or not.


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


# One game with a model, turn by turn or in one prompt; what a reply may contain and what the model is shown depend on the setting and the solver.


Role = Literal["user", "assistant"]
_STOP = "\nMessage:"  # where a base model goes on with the transcript by itself


@solver
def play_game(
    *,
    is_explicit: bool = False,
    state_role: Role = "user",
    is_completion: bool = False,
    player_seed: int = 0,
    cache: bool = False,
) -> Solver:
    """Play the sample's sequence; how it went is in the sample's metadata, also when something breaks it off.

    The sample's metadata say what is played: ``variant``, ``seed``, and all that makes a `Setting`. With ``is_explicit`` the state is shown with
    the newest update, as part of the user's message or as a message of the assistant's, and is not kept in the conversation. With ``is_completion`` the model gets
    the conversation as one text that it continues, as base models do.
    """
    gate = Gate()

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        told = state.metadata
        setting = Setting(**{field.name: told[field.name] for field in fields(Setting)})
        record = Record(Referee(told["variant"], setting.length), setting)
        state.messages = [_opening(state, player_seed)]
        kept = (
            KeptReplies(replies_file(state, [is_explicit, state_role, is_completion, player_seed])) if cache else None
        )
        ask = _Asking(get_model(), kept, record, gate, is_completion=is_completion)
        try:
            if setting.mode == "one-shot":
                await _play_at_once(state, record, ask)
            else:
                await _play_turns(state, record, ask, state_role if is_explicit else None)
        except LimitExceededError as error:
            record.failure = f"{error.type}_limit"
            raise
        except get_cancelled_exc_class():  # a limit of time, or whoever runs the eval
            record.failure = "time_limit"
            raise
        finally:
            told |= record.as_dict()
            if kept:
                kept.close()
        return state

    return solve


async def _play_turns(state: TaskState, record: Record, ask: _Asking, state_role: Role | None) -> None:
    """Turn after turn, to the first error or, where the setting says so, to the end."""
    told, setting, kind = state.metadata, record.setting, type(record.referee.statistic)
    steps, lines = setting.steps(told["variant"], told["seed"]), setting.lines(told["variant"], told["seed"])
    replacing = np.random.default_rng([told["seed"], 2])
    history = list(state.messages)  # what the model reads; the log's messages have all that was said
    for step, line in zip(steps, lines, strict=True):
        record.show(step)
        shown = _message(ChatMessageUser, turn_message(kind, step, line), record, step=step)
        with_state = _with_state(shown, record, state_role) if state_role else [shown]
        state.output = await ask([*history, *with_state])
        said = [choice.message for choice in state.output.choices[:1]]
        state.messages.extend([shown, *said])
        kept = said if setting.keeps_reasoning else [without_reasoning(one) for one in said]
        if setting.replaced and replacing.random() < setting.replaced:
            wrong = bracketed(kind, record.referee.truth + int(replacing.integers(1, 10)))
            kept = [_message(ChatMessageAssistant, wrong, record, is_replaced=True)]
        history.extend([shown, *kept])
        if not record.judge(state.output, takes_first=True if ask.is_completion else None):
            break


async def _play_at_once(state: TaskState, record: Record, ask: _Asking) -> None:
    """All turns in one prompt, all answers in one reply."""
    told, setting, kind = state.metadata, record.setting, type(record.referee.statistic)
    steps: list[Step] = setting.steps(told["variant"], told["seed"])
    text = all_turns(kind, steps, setting.lines(told["variant"], told["seed"]))
    shown = ChatMessageUser(content=text, metadata={"steps": steps})
    state.messages.append(shown)
    state.output = await ask(list(state.messages))
    state.messages.extend(choice.message for choice in state.output.choices[:1])
    record.judge_all(state.output, steps)


class _Asking:
    """Puts a conversation to the model, and notes what was charged and what was interrupted."""

    def __init__(
        self, model: Model, kept: KeptReplies | None, record: Record, gate: Gate, *, is_completion: bool
    ) -> None:
        self._model, self._kept, self._record, self._gate = model, kept, record, gate
        self.is_completion = is_completion
        config: dict[str, Any] = {}
        if record.setting.keeps_reasoning:  # by themselves, some providers would drop it
            config["reasoning_history"] = "all"
        if is_completion:
            config["stop_seqs"] = [_STOP]
        self._options: dict[str, Any] = {"config": GenerateConfig(**config)} if config else {}

    async def __call__(self, messages: list[ChatMessage]) -> ModelOutput:
        output = self._kept.next("\n".join(one.text for one in messages[-2:])) if self._kept else None
        if output is not None:
            self._record.count(output, is_charged=False)
        else:
            output = await self._asked([_transcript(messages)] if self.is_completion else messages)
        for choice in output.choices[:1]:
            choice.message.metadata = self._record.mark
        return output

    async def _asked(self, messages: list[ChatMessage]) -> ModelOutput:
        try:
            with token_limit(None) as charged:  # sees only what was asked now, not what came from Inspect's cache
                output = await self._gate.ask(lambda: self._model.generate(messages, **self._options))
        except GivenUpError as error:
            self._record.failure = "budget" if isinstance(error, BudgetSpentError) else "api"
            raise
        self._record.count(output, is_charged=charged.usage > 0)
        if self._kept:
            self._kept.keep(output)
        return output


def replies_file(state: TaskState, settings: list[Any]) -> Path:
    """Where the replies of a sample are kept: beside Inspect's cache, by all that can change a reply."""
    model = get_model()
    config = model.config.model_dump(exclude_none=True, exclude=set(MANNER))
    shelf = digest([str(model), model.api.base_url, config, state.metadata, settings])
    return cache_path() / "games" / f"{shelf}-{state.sample_id}-{state.epoch}.jsonl"


def _opening(state: TaskState, player_seed: int) -> ChatMessage:
    """The instructions; with them, what a player needs to draw as it would without Inspect."""
    again = [state.epoch] if state.epoch > 1 else []
    seeds = [player_seed, state.metadata["seed"], *again]
    told = {"variant": state.metadata["variant"], "player_seed": seeds}
    return ChatMessageSystem(content=state.input_text, metadata=told)


def _transcript(messages: list[ChatMessage]) -> ChatMessage:
    """The conversation as one text, up to where the next answer begins."""
    words = {"user": "Message:", "assistant": "You:", "system": ""}
    told = [f"{words[one.role]} {one.text.partition(_STOP)[0].strip()}".strip() for one in messages]
    return ChatMessageUser(content="\n".join([told[0], "", *told[1:], "You:"]))


def _with_state(shown: ChatMessageUser, record: Record, role: Role) -> list[ChatMessage]:
    told = state_message(record.referee.statistic)
    if role == "assistant":
        return [shown, _message(ChatMessageAssistant, told, record)]
    # one message, because many chat templates refuse two of the user's in a row
    return [_message(ChatMessageUser, f"{shown.text}\n\n{told}", record, **(shown.metadata or {}))]


def _message(kind: Any, text: str, record: Record, **more: Any) -> Any:
    """A message that no other is equal to: Inspect's log compares equal ones again and again, in every turn."""
    return kind(content=text, metadata=record.mark | more)


# What a log says of a game: how it stands, why it was interrupted, what it cost.


_TAG = re.compile(r"\[\s*\w+\s*:[^\]]{0,40}\]")
_LONG = 200  # characters; nobody needs them to say one number
_STOPS = ("context",)  # what no later turn can be better than
_MANY = 3  # numbers beside the answer: the one just shown may be repeated, a list may not


class Record:
    """Judges the replies of one game and remembers what the log shall say of it."""

    def __init__(self, referee: Referee, setting: Setting) -> None:
        self.referee, self.setting = referee, setting
        self.failure: str | None = None  # one of `howsure.track.game.rules.FAILURES`
        self._first_failure: str | None = (
            None  # where the game goes on after errors, and the first of them was no answer
        )
        self.n_turns = self.n_notes = self.n_reasoned = 0
        self.n_estimated = 0  # replies whose reasoning tokens the server did not count
        self._all, self._charged = Tokens(), Tokens()
        self._is_counted = False

    @property
    def mark(self) -> dict[str, Any]:
        """What tells this turn's messages from those of others."""
        return {"turn": self.n_turns}

    def show(self, step: Step) -> None:
        """The next turn is on the table."""
        self.n_turns += 1
        self.referee.show(step)

    def count(self, output: ModelOutput, *, is_charged: bool) -> None:
        """Add a reply's tokens; a reply from Inspect's cache was charged in an earlier run.

        Where the reply shows reasoning and the server counts no tokens of it, its share of the output tokens is that of its characters.
        """
        thought, said = _reasoning_and_rest(output)
        self.n_reasoned += bool(thought or (output.usage and output.usage.reasoning_tokens))
        if output.usage is None:
            return
        self._is_counted = True
        used = Tokens.of(output.usage)
        if thought and not used.reasoning:
            self.n_estimated += 1
            used = replace(used, reasoning=round(used.output * len(thought) / (len(thought) + len(said))))
        self._all += used
        if is_charged:
            self._charged += used

    def judge(self, output: ModelOutput, *, takes_first: bool | None = None) -> bool:
        """Whether the game goes on after this reply."""
        _, said = _reasoning_and_rest(output)
        first = self.setting.takes_first if takes_first is None else takes_first
        answer = parse(said, self.referee.variant, takes_first=first)
        has_notes = answer is not None and _has_notes(said)
        self.n_notes += has_notes
        failure = self._failure(output, has_answer=answer is not None)
        if has_notes and self.setting.is_brief:
            failure = failure or "notes"
        if self.setting.mode == "continue" and failure not in _STOPS:
            if self.referee.game.error_kind is None:
                self._first_failure = failure
            self.referee.judge(None if failure else answer)
            return True
        self.failure = failure
        return self.failure is None and self.referee.judge(answer)

    def judge_all(self, output: ModelOutput, steps: Sequence[Step]) -> None:
        """Judge the answers of a reply to all turns at once, in their order; after one that is missing the rest is not known."""
        _, said = _reasoning_and_rest(output)
        answers = _one_per_turn(said, self.referee.variant, len(steps), takes_first=self.setting.takes_first)
        self.failure = self._failure(output, has_answer=len(answers) >= len(steps))
        for step, answer in zip_longest(steps, answers):
            if answer is None and self.failure:
                break
            self.show(step)
            self.referee.judge(answer)

    def _failure(self, output: ModelOutput, *, has_answer: bool) -> str | None:
        found = failure_of(output, has_answer=has_answer)
        if found == "length":
            return "context" if output.stop_reason == "model_length" else "cut"
        return found

    def as_dict(self) -> dict[str, Any]:
        """Flat and short, so that Inspect's summaries keep it."""
        game = self.referee.game
        is_over = game.is_complete or game.error_kind
        failure = self.failure or (None if is_over else "error")
        if game.error_kind:  # where the game went on after an error, what stopped it later changes nothing
            failure = self._first_failure
        told = asdict(game) | {"failure": failure, "n_turns": self.n_turns, "n_notes": self.n_notes}
        if self._first_failure:  # a refusal or silence is no error of format
            told |= {"error_kind": None, "truth": None}
        told |= {"n_reasoned": self.n_reasoned, "n_estimated": self.n_estimated}
        if self.setting.mode != "turns":
            told["marks"] = self.referee.marks
        if self._is_counted:
            told |= {f"{name}_tokens": n for name, n in asdict(self._all).items()}
            told |= {f"charged_{name}_tokens": n for name, n in asdict(self._charged).items()}
        return told


def _one_per_turn(said: str, variant: str, n_turns: int, *, takes_first: bool) -> list[float]:
    """The answers of a reply to all turns, of more than there are turns those that count.

    Of several in a line the last one counts, and of a draft and a final list the final one; or of both the first.
    """
    answers = parse_all(said, variant)
    if len(answers) > n_turns:
        by_line = [parse(line, variant, takes_first=takes_first) for line in said.splitlines()]
        lines = [one for one in by_line if one is not None]
        answers = lines if len(lines) >= n_turns else answers
    return answers[:n_turns] if takes_first else answers[-n_turns:]


def without_reasoning(message: ChatMessageAssistant) -> ChatMessageAssistant:
    """The message as it stays in the conversation where earlier reasoning is dropped; the same one if it has none."""
    content = message.content
    if isinstance(content, str):
        thought, said = split_reasoning(content)
        return message.model_copy(update={"content": said.strip()}) if thought else message
    kept = [
        part.model_copy(update={"text": split_reasoning(part.text)[1].strip()})
        if isinstance(part, ContentText)
        else part
        for part in content
        if not isinstance(part, ContentReasoning)
    ]
    return message.model_copy(update={"content": kept})


def _reasoning_and_rest(output: ModelOutput) -> tuple[str, str]:
    """What a reply shows of its reasoning, in parts of its own or between marks in the text, and what it says."""
    content = output.message.content if output.choices else ""
    parts = [] if isinstance(content, str) else [part for part in content if isinstance(part, ContentReasoning)]
    shown = "".join("" if part.redacted else part.reasoning for part in parts)
    thought, said = split_reasoning(output.completion)
    return shown + thought, said


def _has_notes(said: str) -> bool:
    """Whether the reply says more than the answer: then the state may be kept in writing."""
    rest = _TAG.sub("", said)
    return len(rest) > _LONG or len(re.findall(r"\d+", rest)) >= _MANY
