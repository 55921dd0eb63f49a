"""What the samples of Inspect logs ask and what models answered, as texts: read only where somebody asks to see them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from msgspec import Struct, field

from howsure.safe_io import Archive, read_bytes
from howsure.sources._reading import files_below
from howsure.sources.inspect_format import Whole, _parsed, is_log
from howsure.tables.frames import expand

__all__ = ["read_texts"]

_SCHEMA = dict.fromkeys(("log", "sample", "question", "target", "answer"), pl.String) | {"epoch": pl.Int64}


class _Message(Struct):
    content: Any = None


class _Choice(Struct):
    message: _Message = field(default_factory=_Message)


class _Output(Struct):
    choices: list[_Choice] = []


class _Text(Struct):
    """The parts of a sample that people read."""

    id: Whole | str
    epoch: Whole
    input: Any = None
    target: Any = None
    output: _Output | None = None


class _Texts(Struct):
    samples: list[_Text] | None = None


def read_texts(inputs: Sequence[str | Path]) -> pl.DataFrame:
    """The question, the target and the model's answer of every sample of the logs among these files and folders.

    Parameters
    ----------
    inputs : sequence of str or path
        Files, folders or globs; what is no Inspect log is passed over.

    Returns
    -------
    polars.DataFrame
        ``log`` (the file's name), ``sample``, ``epoch``, ``question``, ``target``, ``answer``.
    """
    paths = [path for one in inputs for path in expand(str(one))]
    files = [file for path in paths for file in ([path] if path.is_file() else files_below(path)) if is_log(file)]
    rows = [
        (file.name, str(one.id), _written(one.input), _written(one.target), _answer(one), one.epoch)
        for file in files
        for one in _samples(file)
    ]
    frame = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    # a sample that was run anew is written again, and the last writing counts
    return frame.unique(["log", "sample", "epoch"], keep="last", maintain_order=True)


def _samples(path: Path) -> Iterator[_Text]:
    if path.suffix != ".eval":
        whole: _Texts = _parsed(_Texts, read_bytes(path), str(path))
        yield from whole.samples or []
        return
    with Archive(path) as archive:
        for name in archive.names:
            if re.fullmatch(r"samples/.*\.json", name):
                yield _parsed(_Text, archive.read_json(name), f"{path}: {name}")


def _answer(sample: _Text) -> str:
    choices = sample.output.choices if sample.output else []
    return _written(choices[0].message.content) if choices else ""


def _written(value: Any) -> str:
    """A text, the texts of messages with their roles, or a sign for what is none."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    parts = []
    for part in value:
        if isinstance(part, str):
            parts.append(part)
        elif isinstance(part, dict) and "role" in part:
            lead = f"{part['role']}: " if len(value) > 1 else ""
            parts.append(lead + _written(part.get("content")))
        elif isinstance(part, dict):
            text = part.get("text") or part.get("reasoning")
            parts.append(text if isinstance(text, str) else f"({part.get('type', 'other content')})")
    return "\n\n".join(parts)
