"""Replies of one long conversation in one file, so that an interrupted one continues where it was without asking anything twice.

Inspect's cache makes a key from the whole conversation in every turn and writes a file per reply; a conversation that only grows needs neither: its replies are lines in
the order of the turns, each with what was asked.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from howsure.safe_io import write_atomic

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput

__all__ = ["KeptReplies"]


class KeptReplies:
    """The replies of one conversation.

    A line has a reply and a digest of all that was asked until then. A line that was cut by a crash, and everything after a question that is not the one that was
    asked then, is discarded and asked again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines = _whole_lines(path)
        self._turn = 0
        self._digest = ""
        self._stream: IO[str] | None = None

    def next(self, asked: str) -> ModelOutput | None:
        """The reply to the next question, or None where there is none and it has to be asked; then `keep` it."""
        from inspect_ai.model import ModelOutput

        self._digest = hashlib.sha256((self._digest + asked).encode()).hexdigest()[:24]
        if self._turn < len(self._lines) and self._lines[self._turn]["asked"] == self._digest:
            self._turn += 1
            return ModelOutput.model_validate(self._lines[self._turn - 1]["reply"])
        del self._lines[self._turn :]
        return None

    def keep(self, reply: ModelOutput) -> None:
        """Write the reply to the question that `next` had none for; it is on the disk when this returns."""
        if self._stream is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self._lines or self.path.exists():  # without the line that a crash cut, and without what was discarded
                write_atomic(self.path, "".join(_line(kept["asked"], kept["reply"]) for kept in self._lines))
            self._stream = self.path.open("a", encoding="utf-8")
        self._stream.write(_line(self._digest, reply.model_dump(mode="json", exclude_none=True)))
        self._stream.flush()

    def close(self) -> None:
        """Close the file."""
        if self._stream:
            self._stream.close()


def _line(asked: str, reply: Any) -> str:
    return json.dumps({"asked": asked, "reply": reply}) + "\n"


def _whole_lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    lines = []
    for text in path.read_text("utf-8", errors="replace").splitlines():
        try:
            line = json.loads(text)
        except ValueError:  # cut by a crash
            break
        lines.append(line)
    return lines
