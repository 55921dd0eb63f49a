"""From a `Page` to one HTML file that opens without a network, and back.

The file holds the content as JSON, one style sheet and one script. Its policy lets just these run; it can reach nothing,
or, when it is served, only the collector it came from. The browser is told to refuse markup from text altogether.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from howsure.errors import InputError
from howsure.outside_text import templates
from howsure.people.screens import Page
from howsure.people.strict_json import canonical, digest, parse
from howsure.people.words import Words, direction
from howsure.safe_io import read_bytes, write_atomic

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["BuiltPage", "asset", "build_page", "explain", "fill", "read_page", "read_pages"]

_SCRIPTS = (
    "words",
    "dom",
    "sha256",
    "answers",
    "progress",
    "clock",
    "courier",
    "questions",
    "screens",
    "game",
    "ends",
    "main",
)
_CONTENT = re.compile(r'<script type="application/json" id="content">(.*?)</script>', re.DOTALL)
_LARGEST = 64 * 2**20


@dataclass(frozen=True)
class BuiltPage:
    """A page with fixed content; every answer to it names its ``digest``.

    Parameters
    ----------
    page : Page
        The page.
    content : str
        Its content as canonical JSON.
    """

    page: Page
    content: str

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the content, as the browser finds it too."""
        return digest(self.content)

    def html(self, session: dict[str, Any] | None = None) -> str:
        """The page as HTML; with a `session` (who answers, what is already there) it reports to its collector."""
        words = Words.of(self.page.language, self.page.words)
        return fill(
            "page.html",
            _SCRIPTS,
            reaches="'self'" if session else "'none'",
            page=self.page,
            digest=self.digest,
            words=words,
            worded=_embedded(canonical(words.texts)),
            content=_embedded(self.content),
            session=_embedded(canonical(session)),
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page as one HTML file, to be mailed or served."""
        return write_atomic(path, self.html())


def build_page(page: Page) -> BuiltPage:
    """Fix the content of a page: ``build_page(page).save("rater-1.html")``.

    Parameters
    ----------
    page : Page
        The page.
    """
    return BuiltPage(page, canonical(page.model_dump(mode="json")))


def read_page(path: str | os.PathLike[str]) -> BuiltPage:
    """A page from the file that `BuiltPage.save` wrote.

    Parameters
    ----------
    path : str or path
        The file.
    """
    path = Path(path)
    found = _CONTENT.search(_text(path))
    if not found:
        raise InputError(f"{path}: not a page made by Howsure. Name the HTML files that it built.")
    try:
        content = canonical(parse(found[1].encode()))
        return BuiltPage(Page.model_validate_json(content), content)
    except ValidationError as error:
        raise InputError(
            f"{path}: not a page that this version of Howsure knows ({explain(error)}). Build it again."
        ) from None
    except InputError as error:
        raise InputError(f"{path}: its content is damaged ({error}). Build the page again.") from None


def read_pages(folder: str | os.PathLike[str]) -> dict[str, BuiltPage]:
    """All pages of a folder, by file name without the ending, in order of the names.

    Parameters
    ----------
    folder : str or path
        The folder.
    """
    folder = Path(folder)
    paths = sorted(folder.glob("*.html")) if folder.is_dir() else []
    if not paths:
        raise InputError(
            f"{folder}: no folder with pages (.html) in it. Name the folder that the pages were built into."
        )
    return {path.stem: read_page(path) for path in paths}


def explain(error: ValidationError) -> str:
    """The first fault that pydantic found, in one line: where and what."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    more = f"; {error.error_count() - 1} more" if error.error_count() > 1 else ""
    return f"{place[:120]}: {first['msg'][:200]}{more}" if place else f"{first['msg'][:200]}{more}"


def fill(template: str, scripts: Iterable[str], *, reaches: str, **values: Any) -> str:
    """A page of this folder's assets around one script and one style, under a policy that lets just these run."""
    from markupsafe import Markup

    code = f'(() => {{\n"use strict";\n{"".join(asset(f"{name}.js") for name in scripts)}}})();\n'
    look = asset("page.css")
    if "page" in values:
        values["direction"] = direction(values["page"].language)
    return (
        _templates()
        .get_template(template)
        .render(script=Markup(code), style=Markup(look), policy=_policy(code, look, reaches), **values)
    )


@cache
def asset(name: str) -> str:
    """The text of a file in ``assets``."""
    return files("howsure.people").joinpath("assets", name).read_text(encoding="utf-8")


def _policy(code: str, look: str, reaches: str) -> str:
    rules = (
        "default-src 'none'",
        f"script-src {_hash(code)}",
        f"style-src {_hash(look)}",
        "img-src data:",  # the empty icon, which spares a request
        f"connect-src {reaches}",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
    return "; ".join(rules)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _embedded(text: str) -> Any:
    """JSON text that cannot end its script element nor open a comment in it."""
    from markupsafe import Markup

    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)


def _text(path: Path) -> str:
    if path.is_file() and path.stat().st_size > _LARGEST:
        raise InputError(f"{path}: larger than {_LARGEST // 2**20} MB and not read; pages are smaller.")
    try:
        return read_bytes(path).decode()
    except UnicodeError:
        raise InputError(f"{path}: not text in UTF-8. Build the page again.") from None


@cache
def _templates() -> Environment:
    return templates(asset, trim_blocks=True, lstrip_blocks=True)
