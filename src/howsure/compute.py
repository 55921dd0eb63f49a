"""Replicates on this machine's cores or on a Dask cluster: same call, same numbers.

>>> def means(rng, size):
...     return rng.normal(size=(size, 20)).mean(axis=1)
>>> replicate(means, 1000, seed=1).shape
(1000,)

The replicates are cut into batches whose size does not depend on who computes them. Batch i draws from its own stream,
child i of the seed, and runs with one BLAS thread, because BLAS adds in another order with two. So a seed gives the same
numbers bit for bit for any number of cores or workers on one machine, and to a relative 1e-9 on another CPU.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import math
import operator
import os
import pickle
import queue
import socket
import sys
import threading
import uuid
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache, partial, reduce
from importlib import metadata
from itertools import islice
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from howsure._version import __version__
from howsure.errors import HowsureError, OptionError, cut_short, need, still_wanted

__all__ = ["Stopped", "each", "n_cluster_workers", "one_blas_thread", "replicate"]

Drawn = TypeVar("Drawn", NDArray[Any], tuple[NDArray[Any], ...])
Batch = tuple[int, Any]
"""The index of a batch and what was drawn for it."""
Batches = Generator[Batch, None, None]
"""Batches as they are finished; closing it gives up the rest."""
Versions = tuple[tuple[str, str], ...]
Form = list[tuple[tuple[int, ...], np.dtype[Any]]]

_log = logging.getLogger("howsure")
_CONNECT_SECONDS = 5
_WORKER_SECONDS = 30  # a worker that was started together with us needs some
_IN_FLIGHT = 1024  # batches that a cluster knows of: enough for hundreds of cores, little for its scheduler


class Stopped(KeyboardInterrupt):
    """Ctrl-C during replicates; what was finished is not lost.

    ``finished`` holds the first ``done`` of ``total`` replicates, exactly those that a run of ``done`` would have
    given, or None when there are none. Batches that were finished out of turn are left out: the quick ones are not a fair sample.
    """

    def __init__(self, finished: Any, done: int, total: int, what: str = "replicates") -> None:
        super().__init__(f"stopped after {done:,} of {total:,} {what}")
        self.finished = finished
        self.done = done
        self.total = total


def replicate(
    work: Callable[[np.random.Generator, int], Drawn],
    n: int,
    *,
    seed: int,
    batch: int = 64,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    keep: bool = True,
    what: str = "replicates",
) -> Drawn:
    """`n` replicates in order, the same for a seed wherever they are computed.

    ``work(rng, size)`` draws ``size`` replicates with ``rng`` and returns an array, or a tuple of arrays, whose first axis is
    the replicate. It must not change what it shares with other batches, since threads run it side by side.
    ``batch`` is part of the numbers, like ``seed``: a longer run with the same two begins with the same whole batches.
    ``workers`` counts threads: by default one a core; 1 computes in the calling thread. Threads help where ``work``
    releases the interpreter's lock, as numba kernels with ``nogil`` and numpy's larger operations do.
    ``scheduler`` is the address of a Dask scheduler instead, as in ``tcp://host:8786``; whoever can reach it can run code
    on its workers, and ``work`` is sent there with all that it refers to. A lost worker's batches are computed again by others.
    ``progress(done, n)`` is called in the calling thread. ``what`` is what messages call the replicates, such as "simulations".

    What ``work`` raises comes out at once; Ctrl-C raises `Stopped`, or, within `howsure.errors.keep_finished`, gives
    fewer than `n` replicates, at this and at every later call, unless ``keep`` is False: then they are a part of more work, which is to stop as a whole. Neither waits for batches under way.
    """
    _check(n, seed, batch, workers, scheduler)
    n = still_wanted(n) if keep else n
    job = _Job(work, n, batch, seed)
    collected = _Collected(job)
    batches = _on_threads(job, workers or _count_cores()) if scheduler is None else _on_cluster(job, scheduler)
    try:
        with closing(batches):
            for index, drawn in batches:
                collected.put(index, drawn)
                if progress:
                    progress(collected.n_done, n)
    except KeyboardInterrupt as interrupt:
        done = collected.n_leading
        if done and keep and cut_short(done, n, what):
            return cast("Drawn", collected.first(done))
        raise Stopped(collected.first(done) if done else None, done, n, what) from interrupt
    return cast("Drawn", collected.first(n))


def each(work: Callable[[int], Any], n: int, *, scheduler: str | None = None) -> Batches:
    """The numbers 0 … n − 1, each with what `work` makes of it: in order here, or as the workers of a Dask cluster finish them.

    Parameters
    ----------
    work : callable
        Takes a number. On a cluster it is sent to the workers with all that it refers to; what a lost worker had is done again.
    n : int
        How many numbers.
    scheduler : str, optional
        Address of a Dask scheduler, as in ``tcp://host:8786``.
    """
    job = _Numbers(work, n)
    return (job(index) for index in range(n)) if scheduler is None else _on_cluster(job, scheduler)


def n_cluster_workers(address: str) -> int:
    """How many workers the Dask scheduler at an address has; raises when none listens there."""
    need("distributed", "cluster", "Running on a cluster")
    with _connected(address) as client:
        return len(client.scheduler_info()["workers"])


def _check(n: int, seed: int, batch: int, workers: int | None, scheduler: str | None) -> None:
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise OptionError(
            f"seed {seed!r} is not a whole number from 0; choose one, so that the numbers can be repeated."
        )
    for name, count in (("n", n), ("batch", batch), ("workers", workers)):
        if count is not None and count < 1:
            raise OptionError(f"{name} is {count}; it must be at least 1.")
    if scheduler is not None and workers is not None:
        raise OptionError(f"workers counts threads of this machine; omit it to run on the cluster {scheduler}.")


def _count_cores() -> int:
    """Those this process may use, where the system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class _Job:
    """What is to be drawn, cut into batches; called with an index, it draws that batch."""

    work: Callable[[np.random.Generator, int], Any]
    n: int
    batch: int
    seed: int

    @property
    def n_batches(self) -> int:
        return math.ceil(self.n / self.batch)

    def rows(self, index: int) -> slice:
        return slice(index * self.batch, min(self.n, (index + 1) * self.batch))

    def __call__(self, index: int) -> Batch:
        rng = np.random.default_rng(np.random.SeedSequence(int(self.seed), spawn_key=(index,)))
        rows = self.rows(index)
        with one_blas_thread:
            return index, self.work(rng, rows.stop - rows.start)


@dataclass(frozen=True)
class _Numbers:
    """Work without chance; called with a number, it does the work for it."""

    work: Callable[[int], Any]
    n_batches: int

    def __call__(self, index: int) -> Batch:
        return index, self.work(index)


class _Collected:
    """The replicates so far; their arrays are made when the first batch tells their form."""

    def __init__(self, job: _Job) -> None:
        self._job = job
        self._arrays: list[NDArray[Any]] = []
        self._is_tuple = False
        self._is_in = np.zeros(job.n_batches, dtype=bool)
        self.n_done = 0

    def put(self, index: int, drawn: Any) -> None:
        rows = self._job.rows(index)
        parts = [np.asarray(part) for part in (drawn if isinstance(drawn, tuple) else (drawn,))]
        if not self._arrays:
            self._is_tuple = isinstance(drawn, tuple)
            self._refuse_too_many(parts)
            self._arrays = [np.empty((self._job.n, *part.shape[1:]), part.dtype) for part in parts]
        # assignment alone would stretch a scalar over the rows and cut floats to integers
        found, expected = _form(parts), _form([array[rows] for array in self._arrays])
        if found != expected:
            raise ValueError(f"work returned {_told(found)} for batch {index}, expected {_told(expected)}")
        for array, part in zip(self._arrays, parts, strict=True):
            array[rows] = part
        self._is_in[index] = True
        self.n_done += rows.stop - rows.start

    def _refuse_too_many(self, parts: list[NDArray[Any]]) -> None:
        """Replicates that would fill more than half of this machine's memory are refused before they are computed."""
        bytes_each = sum(part.dtype.itemsize * math.prod(part.shape[1:]) for part in parts)
        room = _memory() / 2
        if bytes_each * self._job.n > room:
            raise OptionError(
                f"{self._job.n:,} replicates need {bytes_each * self._job.n / 2**30:,.0f} GB of memory, and half of this machine's is {room / 2**30:,.1f} GB. "
                f"Ask for at most {int(room / max(1, bytes_each)):,}; 1,000 are enough for most intervals."
            )

    @property
    def n_leading(self) -> int:
        """Replicates before the first that is missing."""
        n_batches = len(self._is_in) if self._is_in.all() else int(self._is_in.argmin())
        return min(self._job.n, n_batches * self._job.batch)

    def first(self, n: int) -> NDArray[Any] | tuple[NDArray[Any], ...]:
        arrays = tuple(array[:n] for array in self._arrays)
        return arrays if self._is_tuple else arrays[0]


def _memory() -> float:
    """This machine's memory in bytes, where the system tells; otherwise 8 GB."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return 8.0 * 2**30


def _form(arrays: list[NDArray[Any]]) -> Form:
    return [(array.shape, array.dtype) for array in arrays]


def _told(form: Form) -> str:
    return " and ".join(f"{dtype} of shape {shape}" for shape, dtype in form)


class _OneBlasThread:
    """One BLAS thread while anybody is inside, as many as before when the last has left.

    The number belongs to the whole process, so each batch could not set and restore it by itself beside others.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._limits: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._n_inside:
                self._limits = _blas().limit(limits=1, user_api="blas")
            self._n_inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if not self._n_inside:
                self._limits.restore_original_limits()


@cache
def _blas() -> Any:
    """The BLAS libraries of this process, found once: it takes milliseconds."""
    import scipy.linalg  # noqa: F401  brings a BLAS of its own, which must be there to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


one_blas_thread = _OneBlasThread()


def _on_threads(job: _Job, n_threads: int) -> Batches:
    """The batches as this machine's threads finish them."""
    n_threads = min(n_threads, job.n_batches)
    with one_blas_thread:
        if n_threads == 1:
            yield from map(job, range(job.n_batches))
        else:
            yield from _side_by_side(job, n_threads)


def _side_by_side(job: _Job, n_threads: int) -> Batches:
    todo = iter(range(job.n_batches))  # the interpreter's lock gives each number to one thread
    done: queue.SimpleQueue[Batch | BaseException] = queue.SimpleQueue()
    is_over = threading.Event()
    for _ in range(n_threads):
        # the caller's context holds its np.errstate; a daemon, since the process must not wait for it after Ctrl-C
        start = contextvars.copy_context().run
        threading.Thread(target=start, args=(_serve, job, todo, done, is_over), daemon=True).start()
    try:
        for _ in range(job.n_batches):
            outcome = done.get()
            if isinstance(outcome, BaseException):
                raise outcome
            yield outcome
    finally:
        is_over.set()


def _serve(
    job: _Job,
    todo: Iterator[int],
    done: queue.SimpleQueue[Batch | BaseException],
    is_over: threading.Event,
) -> None:
    """Draw batches until none is left or nobody wants them."""
    for index in todo:
        if is_over.is_set():
            return
        try:
            done.put(job(index))
        except BaseException as error:  # noqa: BLE001  the calling thread raises it
            done.put(error)


def _on_cluster(job: _Job | _Numbers, address: str) -> Batches:
    """The batches as the cluster's workers finish them."""
    need("distributed", "cluster", "Running on a cluster")
    with _connected(address) as client:
        _await_worker(client, address)
        yield from _side_by_side_there(job, client, address)


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    try:
        _knock(address)
        client = _distributed().Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except OSError as error:
        raise HowsureError(
            f"No Dask scheduler answers at {address} ({error.strerror or error}). Start one with 'dask scheduler', or run without a cluster."
        ) from None
    with client:
        yield client


def _knock(address: str) -> None:
    """Fail within seconds when no Dask scheduler listens there: a Dask client would keep trying, and hold up the process."""
    from distributed.comm.addressing import get_address_host_port

    try:
        host, port = get_address_host_port(address, strict=True)
    except ValueError as error:
        raise OptionError(f"scheduler {address!r} is not an address like tcp://host:8786 ({error}).") from None
    socket.create_connection((host, port), timeout=_CONNECT_SECONDS).close()
    said: list[str] = []

    # in a thread of its own, since the caller may have a running event loop, as notebooks do
    def ask() -> None:
        with asyncio.Runner() as runner:
            said.append(runner.run(_kind_of_server(address)))

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(_CONNECT_SECONDS + 1)
    if said != ["Scheduler"]:
        raise HowsureError(
            f"The server at {address} is not a Dask scheduler ({said[0] if said else 'it does not answer'}). Start one with 'dask scheduler', or run without a cluster."
        )


async def _kind_of_server(address: str) -> str:
    """What a server of Dask says that it is, or why it says nothing."""
    dask = _distributed()

    async def ask() -> str:
        comm = await dask.comm.connect(
            address, timeout=_CONNECT_SECONDS, **dask.Security().get_connection_args("client")
        )
        try:
            await comm.write({"op": "identity", "reply": True})
            answer = await comm.read()
            return str(answer["type"])
        finally:
            comm.abort()

    try:
        return await asyncio.wait_for(ask(), _CONNECT_SECONDS)
    except Exception as error:  # noqa: BLE001  a stranger's bytes may raise anything
        return "it does not answer" if isinstance(error, TimeoutError) else "it uses another protocol"


def _await_worker(client: Any, address: str) -> None:
    if not client.scheduler_info()["workers"]:
        _log.warning("the Dask scheduler at %s has no workers; waiting up to %d seconds", address, _WORKER_SECONDS)
    try:
        client.wait_for_workers(1, timeout=_WORKER_SECONDS)
    except TimeoutError:
        raise HowsureError(
            f"The Dask scheduler at {address} has no workers: start some with 'dask worker {address}'."
        ) from None


def _side_by_side_there(job: _Job | _Numbers, client: Any, address: str) -> Batches:
    name = f"replicates-{uuid.uuid4().hex}"
    sent = _send(job, client, name)
    opener = pickle.dumps(partial(_open, _versions()))
    todo = iter(range(job.n_batches))

    def submit(n_batches: int) -> list[Any]:
        indices = list(islice(todo, n_batches))
        # loads(opener)(sent)(index), told in Python's own functions: the scheduler needs no Howsure, and a worker without it fails by name
        calls = [[pickle.loads, opener, sent, index] for index in indices]
        # keys of one group let the scheduler hold batches back until a worker is free, so that one lost takes few along
        keys = [(name, index) for index in indices]
        return cast("list[Any]", client.map(reduce, [operator.call] * len(calls), calls, key=keys)) if calls else []

    running = _distributed().as_completed(submit(_IN_FLIGHT), loop=client.loop)
    for finished in running.batches():
        running.update(submit(len(finished)))
        yield from _fetch(finished, client, address)


def _send(job: _Job | _Numbers, client: Any, name: str) -> Any:
    """The job on the cluster, once for all batches, as a task: scattered data would be lost with the worker that holds them."""
    import cloudpickle
    import dask

    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
        return client.submit(bytes, cloudpickle.dumps(job), key=f"{name}-job")


@lru_cache(maxsize=1)
def _open(versions: Versions, sent: bytes) -> _Job:
    """On a worker: the job, provided that the worker computes with the same versions as whoever sent it."""
    for (package, theirs), (_, ours) in zip(versions, _versions(), strict=True):
        if theirs != ours:
            worker = _distributed().get_worker().address
            raise HowsureError(
                f"The Dask worker {worker} has {package} {ours}, the run was started with {theirs}: install the same there, or the numbers would differ."
            )
    return cast("_Job", pickle.loads(sent))


def _versions() -> Versions:
    """What decides the numbers, or whether they can be sent."""
    python = ".".join(map(str, sys.version_info[:2]))
    others = ((package, metadata.version(package)) for package in ("numba", "numpy", "polars", "scipy"))
    return ("python", python), ("howsure", __version__), *others


def _fetch(finished: list[Any], client: Any, address: str) -> list[Batch]:
    dask = _distributed()
    try:
        return cast("list[Batch]", client.gather(finished))
    except ModuleNotFoundError as error:
        raise HowsureError(
            f"A worker of the cluster at {address} has no module {error.name!r}: install there what is installed here."
        ) from None
    except dask.KilledWorker as error:
        raise HowsureError(
            f"The cluster at {address} lost {error.allowed_failures + 1} workers over one batch, the last {error.last_worker.address}: "
            "their logs say why; most often memory ran out, and a smaller batch helps."
        ) from None
    except (dask.CancelledError, OSError):
        if any(future.status == "error" for future in finished):
            raise  # the work's own
        raise HowsureError(f"The Dask scheduler at {address} was lost or restarted: run again.") from None


def _distributed() -> Any:
    """Dask's package, whose own types are too patchy to check against."""
    import distributed

    return distributed
