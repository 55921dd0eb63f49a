"""What a log says of a game: how it stands, why it broke off, what it cost."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from inspect_ai.model import ContentReasoning, ContentText, ModelOutput, ModelUsage

from assay.track.game import Referee
from assay.track.parsing import parse
from assay.track.sequence import Setting

__all__ = ["FAILURES", "Failure", "Record"]

Failure = Literal["api", "length", "null", "refusal", "notes", "limit"]
FAILURES: tuple[Failure, ...] = get_args(Failure)
"""Why a game was broken off without an answer to judge: none of these is the model's format.

``api`` the server failed, and went on failing; ``length`` the reply or the conversation was too long and was cut off; ``null`` a reply without
text; ``refusal`` the model or a filter declined; ``notes`` the reply held notes or reasoning where only the answer was allowed; ``limit`` a limit that
was set in Inspect.
"""

_TAG = re.compile(r"\[\s*\w+\s*:[^\]]{0,40}\]")
_LONG = 200  # characters; nobody needs them to say one number
_MANY = 3  # numbers beside the answer: the one just shown may be repeated, a list may not


@dataclass
class Tokens:
    """Tokens of several replies: ``input`` is all that was read, from a provider's cache too."""

    input: int = 0
    output: int = 0
    reasoning: int = 0

    def add(self, usage: ModelUsage) -> None:
        """Count one reply."""
        self.input += usage.input_tokens + (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
        self.output += usage.output_tokens
        self.reasoning += usage.reasoning_tokens or 0


class Record:
    """Judges the replies of one game and remembers what the log shall say of it."""

    def __init__(self, referee: Referee, setting: Setting) -> None:
        self.referee, self.setting = referee, setting
        self.failure: Failure | None = None
        self.n_turns = self.n_notes = 0
        self._all, self._charged = Tokens(), Tokens()
        self._is_counted = False

    @property
    def mark(self) -> dict[str, Any]:
        """What tells this turn's messages from those of others."""
        return {"turn": self.n_turns}

    def show(self, number: int) -> None:
        """The next number is on the table."""
        self.n_turns += 1
        self.referee.show(number)

    def count(self, usage: ModelUsage | None, *, is_charged: bool) -> None:
        """Add a reply's tokens; a reply from Inspect's cache was charged in an earlier run."""
        if usage is None:
            return
        self._is_counted = True
        self._all.add(usage)
        if is_charged:
            self._charged.add(usage)

    def judge(self, output: ModelOutput) -> bool:
        """Whether the game goes on after this reply."""
        answer = parse(output.completion, self.referee.variant)
        has_notes = answer is not None and _has_notes(output)
        self.n_notes += has_notes
        self.failure = _failure(output, has_answer=answer is not None)
        if has_notes and self.setting.is_brief:
            self.failure = self.failure or "notes"
        return self.failure is None and self.referee.judge(answer)

    def as_dict(self) -> dict[str, Any]:
        """Flat and short, so that Inspect's summaries keep it."""
        game = self.referee.game
        is_over = game.is_complete or game.error_kind
        failure = self.failure or (None if is_over else "limit")
        told = asdict(game) | {"failure": failure, "n_turns": self.n_turns, "n_notes": self.n_notes}
        if self._is_counted:
            told |= {f"{name}_tokens": n for name, n in asdict(self._all).items()}
            told |= {f"charged_{name}_tokens": n for name, n in asdict(self._charged).items()}
        return told


def _failure(output: ModelOutput, *, has_answer: bool) -> Failure | None:
    if output.empty:
        return "null"
    # of these two the text is the server's, not the model's
    if output.stop_reason == "model_length":
        return "length"
    if output.stop_reason == "content_filter" or _is_refusal(output):
        return "refusal"
    if has_answer:
        return None
    if output.stop_reason == "max_tokens":
        return "length"
    # Inspect makes no difference between an empty text and none
    return None if output.completion.strip() else "null"


def _is_refusal(output: ModelOutput) -> bool:
    content = output.message.content
    return not isinstance(content, str) and any(isinstance(part, ContentText) and part.refusal for part in content)


def _has_notes(output: ModelOutput) -> bool:
    """Whether the reply holds more than the answer: then the state may be kept in writing."""
    content = output.message.content
    if not isinstance(content, str) and any(isinstance(part, ContentReasoning) for part in content):
        return True
    if output.usage and output.usage.reasoning_tokens:
        return True
    rest = _TAG.sub("", output.completion)
    return len(rest) > _LONG or len(re.findall(r"\d+", rest)) >= _MANY
