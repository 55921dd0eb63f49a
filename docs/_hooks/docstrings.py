"""Docstrings as Markdown: formulas and displayed code in them are written for people who read the source."""

from __future__ import annotations

import inspect
import re
from typing import Any

import griffe

_FORMULA = re.compile(r"^\.\. math::(.*(?:\n\n?[ \t]+.*)*)", re.M)
_ROLE = re.compile(r":math:`([^`]+)`")
_CODE = re.compile(r"^(.*)::$", re.M)


class Docstrings(griffe.Extension):
    """Griffe calls this with each object that it has read."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Turn the object's docstring into Markdown before it is shown."""
        if obj.docstring:
            obj.docstring.value = to_markdown(inspect.cleandoc(obj.docstring.value))


def to_markdown(text: str) -> str:
    r"""``.. math::`` and ``:math:`` as formulas between ``$$`` or ``\(…\)``, and ``::`` before code as nothing."""
    text = _FORMULA.sub(lambda found: f"$$\n{' '.join(found[1].split())}\n$$", text)
    text = _ROLE.sub(lambda found: rf"\({found[1]}\)", text)
    return _CODE.sub(lambda found: f"{found[1]}:" if found[1] else "", text)
