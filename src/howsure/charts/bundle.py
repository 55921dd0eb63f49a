"""The JavaScript that draws charts in a page: Vega, Vega-Lite and Vega-Embed in one text, made once for this machine."""

from __future__ import annotations

import contextlib
import hashlib
from functools import cache
from pathlib import Path

from howsure.charts.pictures import engine
from howsure.errors import InputError, need
from howsure.safe_io import cache_folder, write_atomic

__all__ = ["bundle", "kept_bundle"]

# Vega-Embed alone brings the other two and the interpreter that needs no eval; naming them too only adds bytes.
_SNIPPET = "window.vegaEmbed=vegaEmbed;"


@cache
def bundle() -> str:
    """The script that defines ``vegaEmbed``.

    Making it takes seconds, so it is kept in `cache_folder` under vl-convert's version and its own digest; a damaged file is
    made again. Processes that make it at the same time each write a whole file; where the folder cannot be written the script
    lives in memory only.
    """
    if (kept := kept_bundle()) is not None:
        return kept
    made = _make()
    with contextlib.suppress(OSError, InputError):
        for damaged in _kept_files():
            damaged.unlink(missing_ok=True)
        write_atomic(cache_folder() / f"vega-embed-{_version()}-{_digest(made.encode())}.js", made)
    return made


def kept_bundle() -> str | None:
    """The script from the cache if it is there, whole and of this version."""
    for path in _kept_files():
        with contextlib.suppress(OSError):
            data = path.read_bytes()
            if path.stem.endswith(f"-{_digest(data)}"):
                return data.decode()
    return None


def _kept_files() -> list[Path]:
    return sorted(cache_folder().glob(f"vega-embed-{_version()}*.js"))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def _version() -> str:
    need("vl_convert", "charts", "A page with charts")
    from importlib.metadata import version

    return version("vl-convert-python")


def _make() -> str:
    return str(engine().javascript_bundle(_SNIPPET))
