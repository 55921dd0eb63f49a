"""Paths such as ``s3://…`` and ``hf://…``: fetched through fsspec, if it is installed, into a folder that lives as long as the process."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from howsure.errors import InputError, MissingExtraError

__all__ = ["fetched", "is_remote", "with_their_names"]

_fetched: dict[str, str] = {}  # where it lies here → what the user called it


def is_remote(path: object) -> bool:
    """Whether this is an address such as ``s3://bucket/logs``."""
    return isinstance(path, str) and "://" in path.partition("/")[0] + path.partition("/")[1] + "/"


def fetched(address: str) -> list[Path]:
    """The file or folder, or the files that match a pattern, as local copies with their own names."""
    try:
        from fsspec.core import url_to_fs
    except ModuleNotFoundError:
        scheme = address.partition("://")[0]
        raise MissingExtraError(
            f"{address}: reading {scheme}:// needs the package 'fsspec': pip install fsspec"
        ) from None
    try:
        system, path = url_to_fs(address)
        names = system.glob(path) if any(mark in path for mark in "*?[") else [path]
        if not names or not system.exists(names[0]):
            raise InputError(f"{address}: no such file.")
        return [_copied(system, name, address) for name in names]
    except ImportError as error:
        raise MissingExtraError(f"{address}: {error}") from None
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - every file system has its own kinds of errors
        raise InputError(
            f"{address}: cannot be read ({' '.join(str(error).split())[:160] or type(error).__name__})."
        ) from None


def _copied(system: object, name: str, address: str) -> Path:
    home = Path(tempfile.mkdtemp(dir=_home()))
    target = home / name.rstrip("/").rpartition("/")[2]
    system.get(name, str(target), recursive=True)  # type: ignore[attr-defined]
    scheme = address.partition("://")[0]
    _fetched[str(target)] = f"{scheme}://{name.removeprefix(f'{scheme}://').lstrip('/')}"
    return target


def with_their_names(told: str) -> str:
    """A text with the addresses that the user gave instead of the places of the copies."""
    for here, address in _fetched.items():
        told = told.replace(here, address)
    return told


@cache
def _home() -> str:
    home = tempfile.mkdtemp(prefix="howsure-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    return home
