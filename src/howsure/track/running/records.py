"""What a log says of a game: how it stands, why it was interrupted, what it cost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import zip_longest
from typing import Any

from inspect_ai.model import ChatMessageAssistant, ContentReasoning, ContentText, ModelOutput

from howsure.running import Tokens, failure_of
from howsure.track.game.parsing import parse, parse_all, split_reasoning
from howsure.track.game.rules import Referee
from howsure.track.game.sequence import Setting
from howsure.track.game.statistics import Step

__all__ = ["Record", "without_reasoning"]

_TAG = re.compile(r"\[\s*\w+\s*:[^\]]{0,40}\]")
_LONG = 200  # characters; nobody needs them to say one number
_STOPS = ("context",)  # what no later turn can be better than
_MANY = 3  # numbers beside the answer: the one just shown may be repeated, a list may not


class Record:
    """Judges the replies of one game and remembers what the log shall say of it."""

    def __init__(self, referee: Referee, setting: Setting) -> None:
        self.referee, self.setting = referee, setting
        self.failure: str | None = None  # one of `howsure.track.game.endings.FAILURES`
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
