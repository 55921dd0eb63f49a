"""Hot loops as machine code: compiled once on a machine, kept beside the package or in the user's cache, and announced while it lasts."""

from __future__ import annotations

import hashlib
import logging
import pickle
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar, overload

from numba import njit, types
from numba.core import event
from numba.core.caching import IndexDataCacheFile
from numba.core.compiler_lock import global_compiler_lock

from howsure.safe_io import cache_folder, lock_file

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

    def healing(one: Any) -> Any:
        compiled = make(one)
        kept = compiled._cache
        if hasattr(kept, "_cache_file"):  # numba without a folder to write to keeps nothing
            kept._cache_file = _CheckedFile(  # type: ignore[no-untyped-call]
                kept._cache_path, kept._impl.filename_base, kept._impl.locator.get_source_stamp()
            )
            compiled.compile = partial(_compile_once, compiled, compiled.compile)
        return compiled

    return healing if function is None else healing(function)


def _compile_once(compiled: Any, compile_it: Callable[[Any], Any], signature: Any) -> Any:
    """Compile a kernel while no other process on this machine does: it would compile the same, and now finds it on disk.

    Where another kernel calls it with a constant, it is compiled for any number of that type, not for this one.
    """
    signature = tuple(map(types.unliteral, signature))
    kept = compiled._cache
    if kept._index_key(signature, compiled.targetctx.codegen()) in kept._cache_file._load_index():
        return compile_it(signature)
    with global_compiler_lock, _alone(kept._impl.filename_base):
        return compile_it(signature)


_ours: set[str] = set()


@contextmanager
def _alone(name: str) -> Iterator[None]:
    """A lock among processes for one kernel: others are compiled meanwhile, and those that it calls have locks of their own."""
    if name in _ours:
        yield
        return
    with ExitStack() as stack:
        # where nothing can be written, or nobody is at home, each compiles for itself
        with suppress(OSError, RuntimeError):
            folder = cache_folder() / "compiling"
            folder.mkdir(parents=True, exist_ok=True)
            lock_file(stack.enter_context((folder / f"{name}.lock").open("a")))
        _ours.add(name)
        try:
            yield
        finally:
            _ours.discard(name)


class _CheckedFile(IndexDataCacheFile):
    """numba's files of a kernel, with a digest before the machine code: what is damaged is compiled again, never run."""

    def _load_index(self) -> Any:
        try:
            return super()._load_index()  # type: ignore[no-untyped-call]
        except Exception:  # noqa: BLE001  damaged bytes may raise anything
            return {}

    def _load_data(self, name: str) -> Any:
        digest, data = _parted(Path(self._data_path(name)).read_bytes())  # type: ignore[no-untyped-call]
        if digest != hashlib.sha256(data).digest():
            raise OSError("damaged")  # numba takes this as: not there
        return pickle.loads(data)

    def _save_data(self, name: str, data: Any) -> None:
        dumped = self._dump(data)  # type: ignore[no-untyped-call]
        with self._open_for_write(self._data_path(name)) as stream:  # type: ignore[no-untyped-call]
            stream.write(hashlib.sha256(dumped).digest() + dumped)


def _parted(data: bytes) -> tuple[bytes, bytes]:
    return data[:32], data[32:]


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
