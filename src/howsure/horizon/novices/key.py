"""Which task and instances the screens of novices' pages show: the key, which stays with whoever made them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from howsure.errors import InputError
from howsure.horizon.task_bank import Task
from howsure.people import canonical, digest
from howsure.people.build import explain
from howsure.people.screens import OpaqueId
from howsure.safe_io import read_bytes

__all__ = ["ENDING", "NovicesKey", "PlacedTask", "key_beside"]

ENDING = ".key.json"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PlacedTask(_Part):
    """What a screen shows: a task, and the instance at each attempt."""

    task: str
    seeds: tuple[int, ...] = Field(min_length=1)


class NovicesKey(_Part):
    """Tasks, and where they are shown. Every page carries the key's digest; the salt keeps anyone from guessing at its content."""

    format: Literal["howsure-novices-key/1"] = "howsure-novices-key/1"
    salt: str = Field(min_length=16)
    tasks: tuple[Task, ...]
    screens: dict[OpaqueId, PlacedTask] = Field(min_length=1)

    @property
    def text(self) -> str:
        """The content of its file."""
        return canonical(self.model_dump(mode="json"))

    @property
    def commitment(self) -> str:
        """Its SHA-256."""
        return digest(self.text)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> NovicesKey:
        """The key in a file."""
        try:
            return cls.model_validate_json(read_bytes(Path(path)))
        except ValidationError as error:
            raise InputError(
                f"{path}: not the key of novices' pages ({explain(error)}). Name the file that came with them."
            ) from None


def key_beside(pages: Path) -> Path:
    """Where the key of a page, or of a folder of pages, is kept."""
    return pages / f"novices{ENDING}" if pages.is_dir() or pages.suffix != ".html" else pages.with_suffix(ENDING)
