"""From a study to the pages that raters open and the sealed key that stays with the researcher."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from howsure.errors import InputError, OptionError
from howsure.pages import BuiltPage, build_page, new_salt, write_private
from howsure.pages.build import explain
from howsure.pages.protocol import OpaqueId
from howsure.results import Provenance, plain
from howsure.safe_io import read_bytes
from howsure.study.design import AGAIN, Shown, arrange, design_frame
from howsure.study.page import guess_id, guessed, item_id, make_page
from howsure.study.protocol import Study

__all__ = ["EVERYONE", "KEY", "Key", "Packet", "Placed", "build", "refuse_old_key"]

KEY = "key.json"
EVERYONE = ""
_MOST_RATERS = 10_000


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Placed(_Part):
    """What an opaque screen of a page stands for: the item, and the slot that holds the target."""

    item: str
    target: int | None = Field(default=None, ge=1, le=2)


class _Content(_Part):
    format: Literal["howsure-study-key/1"] = "howsure-study-key/1"
    salt: str = Field(min_length=16)
    study: Study
    raters: dict[str, dict[OpaqueId, Placed]]


@dataclass(frozen=True)
class Key:
    """What un-blinds the answers: which screen of which rater shows which pair, with the target in which slot.

    Every page carries the SHA-256 of the key file; the salt in the file keeps anyone from guessing at its content.
    """

    text: str
    content: _Content

    @classmethod
    def seal(cls, study: Study, raters: Mapping[str, Mapping[str, Placed]], salt: str) -> Key:
        """The key of pages that are about to be made."""
        content = _Content(salt=salt, study=study, raters={rater: dict(placed) for rater, placed in raters.items()})
        return cls(json.dumps(content.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n", content)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Key:
        """The key in a file."""
        path = Path(path)
        try:
            text = read_bytes(path).decode()
            return cls(text, _Content.model_validate_json(text))
        except (UnicodeError, ValidationError) as error:
            told = explain(error) if isinstance(error, ValidationError) else "not text in UTF-8"
            raise InputError(
                f"{path}: not the key of a study ({told}). Name the key.json that `howsure study build` wrote."
            ) from None

    @property
    def study(self) -> Study:
        """What the pages show."""
        return self.content.study

    @property
    def raters(self) -> dict[str, dict[str, Placed]]:
        """What the screens of each rater's page stand for; `EVERYONE` is the rater of a page for all."""
        return self.content.raters

    @cached_property
    def commitment(self) -> str:
        """The SHA-256 of the key file, as ``sha256sum key.json`` prints it."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def placed(self, rater: str) -> dict[str, Placed]:
        """What the screens of this rater's page stand for."""
        return self.raters.get(rater) or self.raters.get(EVERYONE) or {}


@dataclass(frozen=True)
class Packet:
    """The pages of a study, one a rater or one for all, and their key."""

    key: Key
    pages: tuple[BuiltPage, ...]
    shown: tuple[tuple[Shown, ...], ...]

    @property
    def study(self) -> Study:
        """What the pages show."""
        return self.key.study

    def to_frame(self) -> pl.DataFrame:
        """One row an item of a rater: rater, position, item, target (its slot). This un-blinds."""
        return design_frame([page.page.rater or "everyone" for page in self.pages], self.shown)

    def as_dict(self) -> dict[str, Any]:
        """How many pages and items, how balanced, and the seal."""
        first = self.to_frame().drop_nulls("target").filter(~pl.col("item").str.ends_with(AGAIN))
        is_first = pl.col("target") == 1
        by_pair = first.group_by("item").agg(is_first.mean().alias("share"))["share"]
        counts = {
            "pages": len(self.pages),
            "pairs": len(self.study.pairs),
            "again": self.study.repeats,
            "attention": len(self.study.attention),
        }
        slot_one = {
            "slot_one": first.select(is_first.mean()).item(),
            "slot_one_lowest": by_pair.min(),
            "slot_one_highest": by_pair.max(),
        }
        made = Provenance({"pages": len(self.pages)}, digest=self.study.digest, seed=self.study.seed)
        return plain(counts | slot_one | {"sealed": self.key.commitment, "provenance": made})  # type: ignore[no-any-return]

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write the pages and key.json, which only its owner may read. A folder that already has a key is refused."""
        folder = Path(folder)
        refuse_old_key(folder)
        names = [page.page.rater or "study" for page in self.pages]
        written = [page.save(folder / f"{name}.html") for name, page in zip(names, self.pages, strict=True)]
        return [*written, write_private(folder / KEY, self.key.text)]


def build(study: Study, *, n_raters: int = 7, one_page: bool = False, salt: str | None = None) -> Packet:
    """The pages of a study with their key: ``build(Study.read("study.yaml")).save("packet")``.

    Orders and slots come from the study's seed and are balanced over `n_raters`, who are called r01, r02, …; with `one_page`
    everyone sees one order on one page, and slots are balanced over pairs only. The salt is drawn anew when it is not given.
    """
    if not 1 <= n_raters <= _MOST_RATERS:
        raise OptionError(f"{n_raters} raters; give 1 to {_MOST_RATERS:,}.")
    salt = salt or new_salt()
    raters = [EVERYONE] if one_page else [f"r{number:02d}" for number in range(1, n_raters + 1)]
    shown = arrange(study, len(raters))
    placed = {rater: _placed(study, salt, rater, row) for rater, row in zip(raters, shown, strict=True)}
    key = Key.seal(study, placed, salt)
    pages = [
        build_page(make_page(study, row, salt=salt, commitment=key.commitment, rater=rater))
        for rater, row in zip(raters, shown, strict=True)
    ]
    return Packet(key, tuple(pages), tuple(map(tuple, shown)))


def refuse_old_key(folder: Path) -> None:
    """Raise when a folder holds a key already: answers to its pages could never be read without it."""
    if (folder / KEY).exists():
        raise InputError(f"{folder / KEY} is already there, and answers to its pages need it. Build into a new folder.")
    if next(folder.glob("*.html"), None):
        raise InputError(f"{folder}: holds other pages, which would be handed out with these. Build into a new folder.")


def _placed(study: Study, salt: str, rater: str, shown: Sequence[Shown]) -> dict[str, Placed]:
    """What every screen that asks about an item stands for: those that rate it, and those that ask for a guess."""
    screens = {item_id(salt, rater, one): one for one in shown}
    screens |= {guess_id(salt, rater, one): one for one in guessed(study, shown)}
    return {name: Placed(item=one.item, target=one.target) for name, one in screens.items()}
