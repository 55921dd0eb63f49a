"""What a log says of a game: how it stands, why it was interrupted, what it cost."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

from inspect_ai.model import ContentReasoning, ModelOutput, ModelUsage

from howsure.running import Tokens, failure_of
from howsure.track.game.parsing import parse
from howsure.track.game.rules import Referee
from howsure.track.game.sequence import Setting

__all__ = ["Record"]

_TAG = re.compile(r"\[\s*\w+\s*:[^\]]{0,40}\]")
_LONG = 200  # characters; nobody needs them to say one number
_MANY = 3  # numbers beside the answer: the one just shown may be repeated, a list may not


class Record:
    """Judges the replies of one game and remembers what the log shall say of it."""

    def __init__(self, referee: Referee, setting: Setting) -> None:
        self.referee, self.setting = referee, setting
        self.failure: str | None = None  # one of `howsure.track.game.endings.FAILURES`
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
        used = Tokens.of(usage)
        self._all += used
        if is_charged:
            self._charged += used

    def judge(self, output: ModelOutput) -> bool:
        """Whether the game goes on after this reply."""
        answer = parse(output.completion, self.referee.variant)
        has_notes = answer is not None and _has_notes(output)
        self.n_notes += has_notes
        self.failure = failure_of(output, has_answer=answer is not None)
        if self.failure == "length":
            self.failure = "context" if output.stop_reason == "model_length" else "cut"
        if has_notes and self.setting.is_brief:
            self.failure = self.failure or "notes"
        return self.failure is None and self.referee.judge(answer)

    def as_dict(self) -> dict[str, Any]:
        """Flat and short, so that Inspect's summaries keep it."""
        game = self.referee.game
        is_over = game.is_complete or game.error_kind
        failure = self.failure or (None if is_over else "error")
        told = asdict(game) | {"failure": failure, "n_turns": self.n_turns, "n_notes": self.n_notes}
        if self._is_counted:
            told |= {f"{name}_tokens": n for name, n in asdict(self._all).items()}
            told |= {f"charged_{name}_tokens": n for name, n in asdict(self._charged).items()}
        return told


def _has_notes(output: ModelOutput) -> bool:
    """Whether the reply holds more than the answer: then the state may be kept in writing."""
    content = output.message.content
    if not isinstance(content, str) and any(isinstance(part, ContentReasoning) for part in content):
        return True
    if output.usage and output.usage.reasoning_tokens:
        return True
    rest = _TAG.sub("", output.completion)
    return len(rest) > _LONG or len(re.findall(r"\d+", rest)) >= _MANY
