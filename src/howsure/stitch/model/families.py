"""Which models resemble each other: versions and settings of one model are a family."""

from __future__ import annotations

import re

__all__ = ["family_of", "single_names"]

_EFFORT = re.compile(r"_(none|minimal|low|medium|high|xhigh|max|\d+k)$")
_KIND = re.compile(r"-(preview|exp|experimental|latest|beta|thinking|instruct|chat|it|hf|base)(?=-|$)")
_BETWEEN = re.compile(r",(?! )")
_DATE = re.compile(r"[-_@]((19|20)\d\d-?\d\d-?\d\d|\d\d-\d\d|\d{4}|00\d)(?=[-_@]|$)")


def family_of(model: str) -> str:
    """The version's name without effort, kind and date: what to use where a table names no family.

    >>> family_of("gpt-5-2025-08-07_high"), family_of("gemini-2.5-pro-preview-06-05"), family_of("Qwen2.5-72B-Instruct")
    ('gpt-5', 'gemini-2.5-pro', 'qwen2.5-72b')
    """
    name = _EFFORT.sub("", model.strip().lower())
    return _DATE.sub("", _KIND.sub("", name)) or name


def single_names(joint: str | None) -> list[str]:
    """The organisations or countries of a model that has several.

    >>> single_names("Google DeepMind,Google"), single_names("Acme, Inc."), single_names(None)
    (['Google DeepMind', 'Google'], ['Acme, Inc.'], [])
    """
    return [name for name in _BETWEEN.split(joint) if name] if joint else []
