"""What a page itself says, in its language: bundled, or translated in a YAML file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from howsure.errors import InputError, closest
from howsure.yaml_files import read_yaml

__all__ = ["LANGUAGES", "Words", "direction", "read_words"]

LANGUAGES = ("en", "de")
"""The languages that are bundled."""

_NAME = re.compile(r"\{([a-z]+)\}")
Texts = Mapping[str, str | Mapping[str, str]]


_FROM_RIGHT = ("ar", "arc", "ckb", "dv", "fa", "he", "ks", "ps", "sd", "ug", "ur", "yi")


def direction(language: str) -> str:
    """``rtl`` for a language that is written from right to left, else ``ltr``."""
    return "rtl" if language.partition("-")[0].lower() in _FROM_RIGHT else "ltr"


@dataclass(frozen=True)
class Words:
    """The words of one language: ``Words.of("de")["next"]``, ``Words.of("en").fill("place", number=1, total=3)``."""

    language: str
    texts: Texts

    @classmethod
    def of(cls, language: str, own: Texts | None = None) -> Words:
        """The bundled words of a language (English where it is not bundled), replaced by those of one's own."""
        code = language.partition("-")[0].lower()
        return cls(language, {**_bundled(code if code in LANGUAGES else "en"), **(own or {})})

    @property
    def is_bundled(self) -> bool:
        """Whether the language is one of those that are bundled."""
        return self.language.partition("-")[0].lower() in LANGUAGES

    def __getitem__(self, name: str) -> str:
        text = self.texts[name]
        return text if isinstance(text, str) else text["other"]

    def fill(self, name: str, **values: Any) -> str:
        """A text with its blanks filled in; ``count`` chooses the form for one, where there is one."""
        text = self.texts[name]
        if not isinstance(text, str):
            text = text.get("one", text["other"]) if values.get("count") == 1 else text["other"]
        return _NAME.sub(lambda match: str(values.get(match[1], match[0])), text)


def read_words(path: str | os.PathLike[str]) -> dict[str, str | dict[str, str]]:
    """A translation from its YAML file: any of the texts in ``words-en.yaml``, with the same names in braces."""
    document = read_yaml(Path(path))
    known = _bundled("en")
    if not isinstance(document.value, dict):
        raise InputError(f"{path}: no list of texts. It has lines such as `next: Weiter`.")
    for name, text in document.value.items():
        where = f"{path}{document.line_of([name])}"
        if name not in known:
            near = closest(str(name), list(known))
            raise InputError(f"{where}: no text is called {name!r}.{f' Did you mean {near!r}?' if near else ''}")
        forms = text if isinstance(text, dict) else {"other": text}
        if "other" not in forms or not all(isinstance(one, str) for one in forms.values()):
            raise InputError(f"{where}: {name} must be text, or a list of plural forms with `other`; put it in quotes.")
        if strangers := {*_NAME.findall(" ".join(forms.values()))} - _blanks(known[name]):
            raise InputError(
                f"{where}: {name} has no blank {{{min(strangers)}}}; leave the names in braces as they are."
            )
    return document.value


def _blanks(text: str | Mapping[str, str]) -> set[str]:
    forms = [text] if isinstance(text, str) else list(text.values())
    return {name for one in forms for name in _NAME.findall(one)}


@cache
def _bundled(code: str) -> Texts:
    import yaml

    text = files("howsure.people").joinpath("assets", f"words-{code}.yaml").read_text(encoding="utf-8")
    found: Texts = yaml.safe_load(text)
    return found
