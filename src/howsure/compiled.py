"""Hot loops as machine code: compiled once on a machine, kept beside the package or in the user's cache, and announced while it lasts."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, overload

from numba import njit
from numba.core import event

__all__ = ["kernel"]

Function = TypeVar("Function", bound=Callable[..., Any])

_log = logging.getLogger("howsure")


@overload
def kernel(function: Function, /) -> Function: ...
@overload
def kernel(**options: Any) -> Callable[[Function], Function]: ...
def kernel(function: Any = None, /, **options: Any) -> Any:
    """Compile a function with numba, keep the result on disk, and let other threads run meanwhile: ``@kernel``.

    ``options`` are those of `numba.njit` besides, as in ``@kernel(fastmath=True)``.
    """
    _listen()
    make = njit(cache=True, nogil=True, **options)
    return make if function is None else make(function)


@cache
def _listen() -> None:
    """Say that kernels are being compiled when the first one is, in each process; a kernel from the cache is not compiled."""
    event.register("numba:compile", _Announcement())  # type: ignore[no-untyped-call]


class _Announcement(event.Listener):
    def __init__(self) -> None:
        self.is_made = False

    def on_start(self, event: Any) -> None:
        if not self.is_made:
            self.is_made = True
            _log.info("compiling numerical kernels; this happens once, later runs start at once")

    def on_end(self, event: Any) -> None:
        pass
