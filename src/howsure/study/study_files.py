"""From a study file to a study; a fault is named with its line."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import ValidationError

from howsure.errors import InputError
from howsure.people.markup import pictures_in, read_picture
from howsure.people.words import read_words
from howsure.study.item_studies import ItemStudy
from howsure.study.protocol import Study, StudyParts
from howsure.yaml_files import Document, read_yaml

__all__ = ["read_study", "study_of"]


def read_study(path: str | os.PathLike[str]) -> Study | ItemStudy:
    """The study in a YAML (or JSON) file: an `ItemStudy` where it has ``items``, else a `Study`. A fault is named with its line.

    Parameters
    ----------
    path : str or path
        The file. ``pairs``, ``items`` and ``words`` may name other files beside it; pictures are read from beside it too. The
        ``key.json`` of a packet is taken as well.
    """
    path = Path(path)
    document = read_yaml(path)
    if not isinstance(document.value, dict):
        raise InputError(
            f"{path}: not a study. It begins with `title: …`; `howsure study init` writes one to start from."
        )
    given, listed_in = dict(document.value), document
    if "study" in given and "raters" in given:  # the key of a packet holds the study as it was built
        given = dict(given["study"])
    kind, field = (ItemStudy, "items") if "items" in given else (Study, "pairs")
    if isinstance(given.get(field), str):
        listed_in = read_yaml(path.parent / given[field])
        listed = listed_in.value
        given[field] = listed.get(field) if isinstance(listed, dict) else listed
    if isinstance(given.get("words"), str):
        given["words"] = read_words(path.parent / given["words"])
    try:
        study: Study | ItemStudy = kind.model_validate(given)
    except ValidationError as error:
        raise InputError(_fault(error, document, listed_in, field)) from None
    if isinstance(study, ItemStudy) and study.markup == "markdown" and not study.pictures:
        texts = {text for unit in study.units for text in study.texts_of(unit)}
        names = {name for text in texts for name in pictures_in(text)}
        return study.model_copy(update={"pictures": {name: _picture(path.parent, name) for name in sorted(names)}})
    return study


def study_of(study: Study | ItemStudy | str | os.PathLike[str]) -> Study | ItemStudy:
    """The study itself, or the one in a file."""
    return study if isinstance(study, StudyParts) else read_study(study)


def _picture(folder: Path, name: str) -> str:
    """A picture from beside the study, and from nowhere else."""
    path = folder / name
    if "://" in name or not path.resolve().is_relative_to(folder.resolve()):
        raise InputError(
            f"{folder}: the picture {name[:80]!r} is not in this folder. Pages load nothing from elsewhere."
        )
    return read_picture(path)


def _fault(error: ValidationError, document: Document, listed_in: Document, field_of: str) -> str:
    """The first fault in one line: file, line, field, what is wrong."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = first["loc"]
    where = document
    if listed_in is not document and place[:1] == (field_of,):
        where, place = listed_in, place if isinstance(listed_in.value, dict) else place[1:]
    # a check on top of a type adds a part that is no field of the file
    field = ".".join(str(part) for part in place if "[" not in str(part))
    said = first["msg"].removeprefix("Value error, ")
    more = f" ({error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{where.path}{where.line_of(place)}: {field or 'the study'}: {_REMEDY.get(first['type'], said)}.{more}"


_REMEDY = {
    "missing": "is missing; every study needs it",
    "extra_forbidden": "is not a field of a study; `howsure study check --schema` lists them",
    "string_pattern_mismatch": "is blank or not an allowed name (a dimension: up to 30 of a–z 0–9 _, a letter first; an id: up to 40 of A–Z a–z 0–9 . _ -, a letter or digit first; a language: a code such as en)",
    "string_too_short": "is empty; fill it in",
    "string_type": "must be text; put it in quotes",
    "too_short": "has no entries; give at least one",
    "too_long": "has too many entries; `howsure study check --schema` says how many are allowed",
}
