"""From a study to the pages that raters open and the sealed key that stays with the researcher."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from howsure.errors import InputError, OptionError
from howsure.people import BuiltPage, build_page, new_salt, read_pages, write_private
from howsure.people.build import explain
from howsure.people.screens import OpaqueId
from howsure.people.store import Quotas
from howsure.results import Provenance, Result, write_json
from howsure.safe_io import read_bytes
from howsure.study.item_studies import ItemStudy, study_of
from howsure.study.packet.design import AGAIN, ATTENTION, ShownItem, arrange, design_frame
from howsure.study.packet.pages import guess_id, guessed, item_id, make_page
from howsure.study.planning.design import Balance, RatingDesign, balance_of, parse_design
from howsure.study.protocol import BlockPlan, Study
from howsure.tables.frames import write_frame

__all__ = [
    "EVERYONE",
    "KEY",
    "SUMMARY",
    "PlacedItem",
    "StudyKey",
    "StudyPacket",
    "build",
    "quotas_of",
    "refuse_old_key",
]

KEY, SUMMARY = "key.json", "packet.json"
EVERYONE = ""
_MOST_RATERS = 10_000


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PlacedItem(_Part):
    """What an opaque screen of a page stands for: the item, the slot that holds the target, and the systems by slot."""

    item: str
    target: int | None = Field(default=None, ge=1, le=2)
    systems: tuple[str, ...] = ()


class _Content(_Part):
    format: Literal["howsure-study-key/1"] = "howsure-study-key/1"
    salt: str = Field(min_length=16)
    study: Study | ItemStudy
    raters: dict[str, dict[OpaqueId, PlacedItem]]


@dataclass(frozen=True)
class StudyKey:
    """What un-blinds the answers: which screen of which rater shows which pair, with the target in which slot.

    Every page carries the SHA-256 of the key file; the salt in the file keeps anyone from guessing at its content.
    """

    text: str
    content: _Content

    @classmethod
    def seal(cls, study: Study | ItemStudy, raters: Mapping[str, Mapping[str, PlacedItem]], salt: str) -> StudyKey:
        """The key of pages that are about to be made."""
        content = _Content(salt=salt, study=study, raters={rater: dict(placed) for rater, placed in raters.items()})
        return cls(json.dumps(content.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n", content)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> StudyKey:
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
    def study(self) -> Study | ItemStudy:
        """What the pages show."""
        return self.content.study

    @property
    def raters(self) -> dict[str, dict[str, PlacedItem]]:
        """What the screens of each rater's page stand for; `EVERYONE` is the rater of a page for all."""
        return self.content.raters

    @cached_property
    def commitment(self) -> str:
        """The SHA-256 of the key file, as ``sha256sum key.json`` prints it."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def placed(self, rater: str) -> dict[str, PlacedItem]:
        """What the screens of this rater's page stand for."""
        return self.raters.get(rater) or self.raters.get(EVERYONE) or {}


@dataclass(frozen=True, kw_only=True)
class StudyPacket(Result):
    """The pages of a study, one per rater or one for all, and their key.

    Table ``packet``: one row per page (rater, n_pairs, n_repeats, n_attention, digest); it does not reveal the slot of the target.

    Parameters
    ----------
    key : StudyKey
        The sealed key.
    pages : tuple[BuiltPage, ...]
        The pages.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "packet"
    key: StudyKey
    pages: tuple[BuiltPage, ...]
    provenance: Provenance

    @classmethod
    def of(cls, key: StudyKey, pages: Sequence[BuiltPage]) -> StudyPacket:
        """The packet of these pages and their key."""
        provenance = Provenance({"n_pages": len(pages)}, digest=key.study.digest, seed=key.study.seed)
        return cls(key=key, pages=tuple(pages), provenance=provenance)

    @property
    def study(self) -> Study | ItemStudy:
        """What the pages show."""
        return self.key.study

    @property
    def shown(self) -> list[list[ShownItem]]:
        """The items of each page in the order shown."""
        by_page = []
        for page in self.pages:
            placed = self.key.placed(page.page.rater)
            asked = (placed[screen.id] for screen in page.page.screens if screen.id in placed)
            by_item = {one.item: ShownItem(one.item, one.target, one.systems) for one in asked}
            by_page.append(list(by_item.values()))
        return by_page

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """One table, ``packet``."""
        rows = []
        for page, shown in zip(self.pages, self.shown, strict=True):
            n_repeats = sum(one.item.endswith(AGAIN) for one in shown)
            n_attention = sum(one.item.startswith(ATTENTION) for one in shown)
            counts = len(shown) - n_repeats - n_attention, n_repeats, n_attention
            rows.append((page.page.rater or "everyone", *counts, page.digest))
        return {"packet": pl.DataFrame(rows, ["rater", "n_pairs", "n_repeats", "n_attention", "digest"], orient="row")}

    @property
    def balance(self) -> Balance:
        """How evenly the items are dealt over the pages."""
        places = {unit.id: place for place, unit in enumerate(self.study.units)}
        blocks = [[places[one.item] for one in shown if one.item in places] for shown in self.shown]
        return balance_of(blocks, len(places))

    def unblinded(self) -> pl.DataFrame:
        """One row per item of a rater: rater, position, item, target (its slot). Keep it with the key."""
        return design_frame([page.page.rater or "everyone" for page in self.pages], self.shown)

    def as_dict(self) -> dict[str, Any]:
        """The table, how balanced the blocks and slots are, and the SHA-256 of the key."""
        sealed = {"sealed": self.key.commitment}
        counts = {"n_pages": len(self.pages), "n_items": len(self.study.units), "balance": vars(self.balance)}
        if isinstance(self.study, ItemStudy):
            return {**super().as_dict(), **counts, **sealed}
        first = self.unblinded().drop_nulls("target").filter(~pl.col("item").str.ends_with(AGAIN))
        is_first = pl.col("target") == 1
        by_pair = first.group_by("item").agg(is_first.mean().alias("share"))["share"]
        slot_one = {
            "slot_one": first.select(is_first.mean()).item(),
            "slot_one_lowest": by_pair.min(),
            "slot_one_highest": by_pair.max(),
        }
        return {**super().as_dict(), **counts, **slot_one, **sealed}

    def save(self, path: str | os.PathLike[str]) -> list[Path]:
        """Write the pages, packet.csv, packet.json, and key.json, which only its owner may read.

        Parameters
        ----------
        path : str or path
            A folder without a key: one that has a key is refused, for answers to its pages could never be read without it.
        """
        folder = Path(path)
        refuse_old_key(folder)
        names = [page.page.rater or "study" for page in self.pages]
        return [
            *(page.save(folder / f"{name}.html") for name, page in zip(names, self.pages, strict=True)),
            write_frame(self.to_frame(), folder / f"{self.name}.csv"),
            write_json(self.as_dict(), folder / SUMMARY),
            write_private(folder / KEY, self.key.text),
        ]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> StudyPacket:
        """The packet in a folder.

        Parameters
        ----------
        path : str or path
            The folder given to `save`; it has the pages and key.json.
        """
        return cls.of(StudyKey.read(Path(path) / KEY), list(read_pages(path).values()))


def build(
    study: Study | ItemStudy | str | os.PathLike[str],
    *,
    n_raters: int | None = None,
    one_page: bool = False,
    design: RatingDesign | str | None = None,
    salt: str | None = None,
) -> StudyPacket:
    """The pages of a study with their key: ``build("study.yaml").save("packet")``.

    Orders and slots come from the study's seed and are balanced over raters, who are called r01, r02, ….

    Parameters
    ----------
    study : Study, ItemStudy or path
        The study, or its YAML file.
    n_raters : int, optional
        How many raters get a page of their own; by default as many as the design needs, or 7.
    one_page : bool
        One page for everyone: all see one order, and slots are balanced over pairs only.
    design : RatingDesign or str, optional
        How many ratings each item gets and how many items one rater rates, such as ``"50x8/12"``; by default the study's ``design``, or
        all items for every rater. With `n_raters` too, so many blocks of that size are dealt.
    salt : str, optional
        What keeps anyone from guessing the key's content; resampled when it is not given.

    Returns
    -------
    StudyPacket
        The pages and the key; ``save`` writes them to a folder.
    """
    study = study_of(study)
    design = _design_of(study, design)
    n_pages = n_raters if n_raters is not None else 7 if design is None else design.n_raters
    if not 1 <= n_pages <= _MOST_RATERS:
        raise OptionError(f"{n_pages} raters; give 1 to {_MOST_RATERS:,}.")
    dealt = BlockPlan(ratings=design.raters, per_rater=design.block_size) if design and not one_page else None
    study = study.model_copy(update={"design": dealt})  # the key says how the ratings were dealt
    salt = salt or new_salt()
    digits = max(2, len(str(n_pages)))
    raters = [EVERYONE] if one_page else [f"r{number:0{digits}d}" for number in range(1, n_pages + 1)]
    shown = arrange(study, len(raters))
    placed = {rater: _placed(study, salt, rater, row) for rater, row in zip(raters, shown, strict=True)}
    key = StudyKey.seal(study, placed, salt)
    return StudyPacket.of(
        key,
        [
            build_page(make_page(study, row, salt=salt, commitment=key.commitment, rater=rater))
            for rater, row in zip(raters, shown, strict=True)
        ],
    )


def _design_of(study: Study | ItemStudy, asked: RatingDesign | str | None) -> RatingDesign | None:
    """The design that was asked for, or the study's own, for as many items as the study has."""
    n_items = len(study.units)
    if asked is None:
        plan = study.design
        return None if plan is None else RatingDesign(n_items, plan.ratings, min(plan.per_rater or 0, n_items))
    design = parse_design(asked) if isinstance(asked, str) else asked
    if design.pairs != n_items:
        raise OptionError(f"The design {design} is for {design.pairs} items, and the study has {n_items} to rate.")
    return design


def quotas_of(key: StudyKey) -> Quotas:
    """How many ratings each item wants and which items each page shows, for the collector's view; repeats and attention items aside."""
    units = {unit.id for unit in key.study.units}
    by_rater = {
        rater: list(dict.fromkeys(one.item for one in placed.values() if one.item in units))
        for rater, placed in key.raters.items()
    }
    counts = Counter(item for items in by_rater.values() for item in items)
    fewest = min((counts[unit] for unit in units), default=0)
    return Quotas(key.study.design.ratings if key.study.design else fewest, by_rater)


def refuse_old_key(folder: Path) -> None:
    """Raise when a folder holds a key already: answers to its pages could never be read without it."""
    if (folder / KEY).exists():
        raise InputError(f"{folder / KEY} is already there, and answers to its pages need it. Build into a new folder.")
    if next(folder.glob("*.html"), None):
        raise InputError(
            f"{folder}: contains other pages, which would be handed out with these. Build into a new folder."
        )


def _placed(study: Study | ItemStudy, salt: str, rater: str, shown: Sequence[ShownItem]) -> dict[str, PlacedItem]:
    """What every screen that asks about an item stands for: those that rate it, and those that ask for a guess."""
    screens = {item_id(salt, rater, one): one for one in shown}
    if isinstance(study, Study):
        screens |= {guess_id(salt, rater, one): one for one in guessed(study, shown)}
    return {name: PlacedItem(item=one.item, target=one.target, systems=one.systems) for name, one in screens.items()}
