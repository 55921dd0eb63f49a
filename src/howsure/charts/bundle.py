"""The JavaScript that draws charts in a page: Vega, Vega-Lite and Vega-Embed in one text, made once for this machine."""

from __future__ import annotations

import contextlib
import os
from functools import cache
from pathlib import Path

from howsure.errors import InputError
from howsure.safe_io import write_atomic

__all__ = ["bundle", "cache_folder"]

# Vega-Embed alone brings the other two and the interpreter that needs no eval; naming them too only adds bytes.
_SNIPPET = "window.vegaEmbed=vegaEmbed;"


@cache
def bundle() -> str:
    """The script that defines ``vegaEmbed``.

    Making it takes seconds, so it is kept in `cache_folder` under vl-convert's version. Processes that make it at the same
    time each write a whole file; where the folder cannot be written the script lives in memory only.
    """
    kept = cache_folder() / f"vega-embed-{_version()}.js"
    try:
        return kept.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        made = _make()
    with contextlib.suppress(OSError, InputError):
        write_atomic(kept, made)
    return made


def cache_folder() -> Path:
    """Where Howsure keeps what can be made again: ``$XDG_CACHE_HOME/howsure``, or ``~/.cache/howsure``."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if Path(home).is_absolute() else Path.home() / ".cache") / "howsure"


def _version() -> str:
    from importlib.metadata import version

    return version("vl-convert-python")


def _make() -> str:
    import vl_convert

    return str(vl_convert.javascript_bundle(_SNIPPET))
