from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from howsure import compute
from howsure.compute import Stopped, replicate
from howsure.errors import HowsureError, MissingExtraError, OptionError, interruption_notes, keep_finished

SEED = 20


def normals(rng, size):
    return rng.normal(size=(size, 3))


def norms() -> Callable[..., np.ndarray]:
    """Work whose last bits depend on the number of BLAS threads, and which can be sent to other machines by value."""

    def work(rng, size):
        return np.array([row @ row for row in rng.normal(size=(size, 30_000))])

    return work


# The numbers


def test_each_batch_draws_from_its_own_child_of_the_seed():
    children = np.random.SeedSequence(SEED).spawn(3)
    by_hand = [normals(np.random.default_rng(child), size) for child, size in zip(children, (4, 4, 2), strict=True)]
    assert np.array_equal(replicate(normals, 10, seed=SEED, batch=4), np.concatenate(by_hand))


@pytest.mark.parametrize("workers", [None, 2, 3, 50])
def test_the_numbers_do_not_depend_on_the_threads(workers):
    alone = replicate(norms(), 90, seed=SEED, batch=8, workers=1)
    assert np.array_equal(replicate(norms(), 90, seed=SEED, batch=8, workers=workers), alone)


def test_the_numbers_do_not_depend_on_the_threads_of_blas():
    drawn = []
    for limit in (1, 4):
        with threadpool_limits(limit, user_api="blas"):
            drawn.append(replicate(norms(), 20, seed=SEED, batch=8, workers=1))
    assert np.array_equal(*drawn)


def test_a_longer_run_begins_with_the_same_batches():
    assert np.array_equal(replicate(normals, 1000, seed=SEED)[:128], replicate(normals, 128, seed=SEED))


def test_another_seed_gives_other_numbers():
    assert not np.isin(replicate(normals, 100, seed=SEED), replicate(normals, 100, seed=SEED + 1)).any()


@pytest.mark.parametrize("n", [1, 5, 63, 64, 65])
def test_as_many_rows_as_asked(n):
    assert replicate(normals, n, seed=SEED).shape == (n, 3)


@pytest.mark.parametrize("workers", [1, 2])
def test_tuples_keep_their_parts_apart(workers):
    def work(rng, size):
        return rng.normal(size=size), rng.integers(0, 9, size=(size, 2))

    scores, counts = replicate(work, 100, seed=SEED, batch=16, workers=workers)
    assert scores.shape == (100,)
    assert counts.shape == (100, 2)
    assert counts.dtype == np.int64


def test_blas_has_one_thread_inside_and_as_many_as_before_afterwards():
    def threads():
        return sorted((one["filepath"], one["num_threads"]) for one in threadpool_info() if one["user_api"] == "blas")

    replicate(normals, 1, seed=SEED)  # the first call may load a library
    with threadpool_limits(2, user_api="blas"):
        before, inside = threads(), []
        replicate(lambda rng, size: inside.append(threads()) or normals(rng, size), 300, seed=SEED, workers=2)
        assert {count for told in inside for _, count in told} == {1}
        assert threads() == before


def test_threads_heed_the_callers_floating_point_settings():
    def work(rng, size):
        return np.ones(size) / 0

    with np.errstate(divide="ignore"):
        assert np.isinf(replicate(work, 10, seed=SEED, batch=2, workers=2)).all()
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        replicate(work, 10, seed=SEED, batch=2, workers=2)


# The way of a run


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_is_told_in_the_calling_thread(workers):
    told = []
    replicate(
        normals,
        100,
        seed=SEED,
        batch=32,
        workers=workers,
        progress=lambda done, total: told.append((done, total, threading.current_thread())),
    )
    assert [total for _, total, _ in told] == [100] * 4
    assert sorted(done for done, _, _ in told) == [done for done, _, _ in told]
    assert told[-1][0] == 100
    assert {thread for _, _, thread in told} == {threading.current_thread()}


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_comes_out_with_its_own_traceback_and_ends_the_rest(workers):
    begun = []

    def fail_at_third(rng, size):
        begun.append(size)
        if len(begun) == 3:
            raise ZeroDivisionError("third")
        time.sleep(0.01)
        return normals(rng, size)

    with pytest.raises(ZeroDivisionError, match="third") as caught:
        replicate(fail_at_third, 1000, seed=SEED, batch=1, workers=workers)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "fail_at_third"
    assert len(begun) < 500  # of 1,000: the rest was never begun


def test_an_empty_queue_in_the_work_is_an_error_like_any_other():
    import queue

    def work(rng, size):
        raise queue.Empty

    with pytest.raises(queue.Empty):
        replicate(work, 10, seed=SEED, batch=2, workers=2)


def test_an_error_in_progress_ends_the_run():
    def refuse(done, total):
        raise RuntimeError("enough")

    before = threading.active_count()
    with pytest.raises(RuntimeError, match="enough"):
        replicate(normals, 1000, seed=SEED, batch=4, workers=2, progress=refuse)
    _until(lambda: threading.active_count() <= before)


@pytest.mark.parametrize(
    ("work", "told"),
    [
        (lambda rng, size: rng.normal(), "shape () for batch 0, expected float64 of shape (4,)"),
        (lambda rng, size: rng.normal(size=size + 1), "shape (5,) for batch 0, expected float64 of shape (4,)"),
        (lambda rng, size: np.zeros(size, int if size == 4 else float), "float64 of shape (2,) for batch 2, expected"),
        (lambda rng, size: np.zeros((size, size)), "shape (2, 2) for batch 2, expected float64 of shape (2, 4)"),
        (lambda rng, size: (np.zeros(size),) * size, "for batch 2, expected"),
    ],
)
def test_work_that_returns_something_else_is_named(work, told):
    with pytest.raises(ValueError, match="work returned") as caught:
        replicate(work, 10, seed=SEED, batch=4, workers=1)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"n": 0}, "n is 0; it must be at least 1."),
        ({"batch": 0}, "batch is 0"),
        ({"workers": -1}, "workers is -1"),
        ({"seed": None}, "seed None is not a whole number"),
        ({"seed": -3}, "seed -3"),
        ({"seed": 0.5}, "seed 0.5"),
        ({"workers": 2, "scheduler": "tcp://127.0.0.1:8786"}, "omit it to run on the cluster"),
        ({"scheduler": "here"}, "scheduler 'here' is not an address like tcp://host:8786"),
        ({"scheduler": "http://127.0.0.1:8786"}, "unknown address scheme 'http'"),
    ],
)
def test_refused(options, told):
    with pytest.raises(OptionError) as caught:
        replicate(normals, **({"n": 10, "seed": SEED} | options))
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


# Ctrl-C

INTERRUPTED = """
import json, time
from howsure.compute import Stopped, replicate

def work(rng, size):
    (batch,) = rng.bit_generator.seed_seq.spawn_key
    drawn = rng.normal(size=size)
    if batch >= {quick}:
        time.sleep({seconds})
    return drawn

if __name__ == "__main__":
    try:
        replicate(work, 1000, seed={seed}, batch=10, progress=lambda done, total: print(done, flush=True), **{options})
    except Stopped as stopped:
        finished = None if stopped.finished is None else stopped.finished.tolist()
        print(json.dumps([stopped.done, stopped.total, str(stopped), finished]))
"""


def interrupt(options: dict[str, object], *, quick: int, seconds: float) -> tuple[int, int, str, list[float]]:
    """Send Ctrl-C once the quick batches are done; the process must end though slow ones are under way."""
    script = INTERRUPTED.format(quick=quick, seconds=seconds, seed=SEED, options=options)
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            for _ in range(quick):
                assert process.stdout.readline(), process.stderr.read()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=50)  # the slow batches take 60 s
        finally:
            process.kill()
    assert (process.returncode, err) == (0, "")
    return json.loads(out.splitlines()[-1])


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_ends_at_once_and_keeps_what_is_finished(workers):
    done, total, told, finished = interrupt({"workers": workers}, quick=3, seconds=60)
    assert (done, total, told) == (30, 1000, "stopped after 30 of 1,000 replicates")
    assert finished == replicate(lambda rng, size: rng.normal(size=size), 30, seed=SEED, batch=10).tolist()


def test_after_an_interruption_later_steps_are_short():
    def stop(done, total):
        if done >= 150:
            raise KeyboardInterrupt

    with keep_finished():
        first = replicate(normals, 300, seed=SEED, batch=50, workers=1, progress=stop)
        later = replicate(normals, 300, seed=SEED, batch=50)
        part = replicate(normals, 300, seed=SEED, batch=50, keep=False)
        assert interruption_notes() == (
            "Interrupted: 150 of 300 replicates were computed, and the intervals use only these.",
        )
    assert (len(first), len(later), len(part)) == (150, 100, 300)


def test_only_the_leading_batches_are_kept():
    first_may_go = threading.Event()

    def work(rng, size):
        if size == 2:  # the last and only short batch
            return rng.normal(size=size)
        first_may_go.wait(10)
        return rng.normal(size=size)

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(Stopped) as caught:
        replicate(work, 6, seed=SEED, batch=4, workers=2, progress=stop)
    first_may_go.set()
    assert (caught.value.finished, caught.value.done, caught.value.total) == (None, 0, 6)


def test_a_stop_says_what_was_computed():
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(Stopped, match="^stopped after 50 of 3,000 simulations$"):
        replicate(normals, 3000, seed=SEED, batch=50, workers=1, progress=stop, what="simulations")
    with keep_finished():
        replicate(normals, 100, seed=SEED, batch=50, workers=1, progress=stop, what="simulations")
        (note,) = interruption_notes()
    assert note.startswith("Interrupted: 50 of 100 simulations were computed")


# A cluster


def test_nobody_listens():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(
            HowsureError, match=rf"No Dask scheduler answers at {address} \(Connection refused\)\. Start"
        ):
            replicate(normals, 10, seed=SEED, scheduler=address)


@pytest.mark.parametrize(
    ("says", "told"),
    [(b"", "it does not answer"), (b"HTTP/1.1 400 Bad Request\r\n\r\n" * 9, "it uses another protocol")],
)
def test_something_else_listens(says, told, monkeypatch):
    monkeypatch.setattr(compute, "_CONNECT_SECONDS", 2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        held = []

        def answer():
            with contextlib.suppress(OSError):
                while True:
                    held.append(server.accept()[0])
                    held[-1].sendall(says)

        threading.Thread(target=answer, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(
            HowsureError, match=rf"The server at {address} is not a Dask scheduler \({told}\)\. Start one"
        ):
            replicate(normals, 10, seed=SEED, scheduler=address)
    for connection in held:
        connection.close()


def test_without_distributed_the_install_line_is_shown(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'howsure\[cluster\]'"):
        replicate(normals, 10, seed=SEED, scheduler="tcp://127.0.0.1:8786")


class Cluster:
    """A Dask scheduler and its workers, each a process of its own, without the nannies that limit BLAS by themselves."""

    def __init__(self, folder: Path, n_workers: int = 0) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--host=127.0.0.1", "--port=0", f"--scheduler-file={file}")
        _until(lambda: file.exists() and file.read_text())
        self.address = json.loads(file.read_text())["address"]
        self.add_workers(n_workers)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes):
            process.kill()
            process.wait(10)

    def add_workers(self, count: int) -> list[subprocess.Popen[bytes]]:
        n_before = self.n_workers()
        workers = [self.start_worker() for _ in range(count)]
        _until(lambda: self.n_workers() == n_before + count)
        return workers

    def start_worker(self, prelude: str = "") -> subprocess.Popen[bytes]:
        return self._start("worker", self.address, "--no-nanny", "--nthreads=1", prelude=prelude)

    def remove(self, worker: subprocess.Popen[bytes]) -> None:
        n_before = self.n_workers()
        worker.terminate()
        _until(lambda: self.n_workers() == n_before - 1)

    def n_workers(self) -> int:
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            return len(client.nthreads())

    def _start(self, role: str, *arguments: str, prelude: str = "") -> subprocess.Popen[bytes]:
        script = f"{prelude}\nfrom distributed.cli.dask_{role} import main\nmain()"
        command = [sys.executable, "-c", script, *arguments, "--no-dashboard"]
        with (self._folder / f"{role}.log").open("ab") as log:
            process = subprocess.Popen(command, cwd=self._folder, stdout=log, stderr=log)
        self._processes.append(process)
        return process


def _until(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < deadline, "it never became true"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[Cluster]:
    pytest.importorskip("distributed")
    with Cluster(tmp_path_factory.mktemp("cluster"), n_workers=2) as started:
        yield started


def slow_pids(seconds: float) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    def work(rng, size):
        time.sleep(seconds)
        return rng.normal(size=size), np.full(size, os.getpid())

    return work


@pytest.mark.heavy
def test_a_cluster_gives_the_same_numbers(cluster):
    here = replicate(norms(), 90, seed=SEED, batch=8, workers=1)
    assert np.array_equal(replicate(norms(), 90, seed=SEED, batch=8, scheduler=cluster.address), here)


@pytest.mark.heavy
def test_a_claim_on_a_cluster_has_the_same_numbers(cluster):
    from howsure.claims import check
    from howsure.claims.simulator import simulate_runs

    claim, runs = {"kind": "horizon", "model": "model", "at_least": 30}, simulate_runs("limits", n_families=8)
    here = check([claim], runs, n_replicates=70, most=4)
    there = check([claim], runs, n_replicates=70, most=4, scheduler=cluster.address)
    for table in ("claims", "specifications", "effects"):
        assert there.to_frame(table).equals(here.to_frame(table)), table


@pytest.mark.heavy
def test_all_workers_of_a_cluster_take_part_and_progress_is_told(cluster):
    told = []
    numbers, pids = replicate(
        slow_pids(0.05),
        100,
        seed=SEED,
        batch=5,
        scheduler=cluster.address,
        progress=lambda done, total: told.append((done, total, threading.current_thread())),
    )
    assert len(set(pids.tolist())) == 2
    assert os.getpid() not in pids
    assert told == [(done, 100, threading.current_thread()) for done in range(5, 101, 5)]
    assert np.array_equal(numbers, replicate(slow_pids(0), 100, seed=SEED, batch=5)[0])


@pytest.mark.heavy
def test_more_batches_than_the_cluster_is_told_of_at_once(cluster, monkeypatch):
    monkeypatch.setattr(compute, "_IN_FLIGHT", 3)
    there, _ = replicate(slow_pids(0), 100, seed=SEED, batch=4, scheduler=cluster.address)
    assert np.array_equal(there, replicate(slow_pids(0), 100, seed=SEED, batch=4)[0])


@pytest.mark.heavy
def test_large_work_is_sent_without_a_warning(cluster):
    weights = np.random.default_rng(SEED).normal(size=2_000_000)

    def work(rng, size):
        return np.full(size, weights[-1])

    assert (replicate(work, 10, seed=SEED, scheduler=cluster.address) == weights[-1]).all()


@pytest.mark.heavy
def test_a_lost_workers_batches_are_computed_again(cluster, tmp_path):
    def work(rng, size):
        busy = tmp_path / str(os.getpid())
        busy.touch()
        time.sleep(0.05)
        busy.unlink()
        return rng.normal(size=size)

    (victim,) = cluster.add_workers(1)

    def kill_when_busy(done, total):
        if (tmp_path / str(victim.pid)).exists():
            victim.kill()

    there = replicate(work, 500, seed=SEED, batch=5, scheduler=cluster.address, progress=kill_when_busy)
    assert victim.wait(30) == -signal.SIGKILL
    assert [path.name for path in tmp_path.iterdir()] == [str(victim.pid)]  # it was lost with a batch under way
    assert np.array_equal(there, replicate(slow_pids(0), 500, seed=SEED, batch=5)[0])


@pytest.mark.heavy
def test_the_work_itself_outlives_the_only_worker_that_held_it(tmp_path):
    with Cluster(tmp_path) as small:
        (victim,) = small.add_workers(1)

        def replace(done, total):
            if done == 20:
                victim.kill()
                small.start_worker()

        there, pids = replicate(slow_pids(0.02), 100, seed=SEED, batch=5, scheduler=small.address, progress=replace)
        assert len(set(pids.tolist())) == 2
        assert np.array_equal(there, replicate(slow_pids(0), 100, seed=SEED, batch=5)[0])


@pytest.mark.heavy
def test_a_batch_that_ends_its_workers_is_named(tmp_path, monkeypatch):
    def work(rng, size):
        if size == 2:
            time.sleep(0.5)
            os._exit(1)
        return rng.normal(size=size)

    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "1")
    with (
        Cluster(tmp_path, n_workers=2) as small,
        pytest.raises(HowsureError, match="lost 2 workers over one batch, the last tcp://127") as caught,
    ):
        replicate(work, 10, seed=SEED, batch=4, scheduler=small.address)
    assert "\n" not in str(caught.value)


@pytest.mark.heavy
def test_a_lost_scheduler_is_an_error(tmp_path):
    def kill(done, total):
        small.scheduler.kill()

    with (
        Cluster(tmp_path, n_workers=1) as small,
        pytest.raises(HowsureError, match=f"The Dask scheduler at {small.address} was lost or restarted"),
    ):
        replicate(slow_pids(0.05), 1000, seed=SEED, batch=5, scheduler=small.address, progress=kill)


@pytest.mark.heavy
def test_a_scheduler_without_workers_is_an_error(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(compute, "_WORKER_SECONDS", 0.2)
    with (
        Cluster(tmp_path) as small,
        pytest.raises(HowsureError, match=f"has no workers: start some with 'dask worker {small.address}'"),
    ):
        replicate(normals, 10, seed=SEED, scheduler=small.address)
    assert f"the Dask scheduler at {small.address} has no workers; waiting" in caplog.text


@pytest.mark.heavy
def test_an_error_on_a_worker_comes_out_with_its_traceback(cluster):
    def fail(rng, size):
        raise OSError("no such drive")

    with pytest.raises(OSError, match="no such drive") as caught:
        replicate(fail, 1000, seed=SEED, batch=5, scheduler=cluster.address)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "fail"


@pytest.mark.heavy
def test_work_that_the_workers_cannot_import_is_an_error(cluster):
    package = __name__.partition(".")[0]
    with pytest.raises(HowsureError, match=rf"has no module '{package}': install there what is installed here\.$"):
        replicate(normals, 10, seed=SEED, scheduler=cluster.address)


NO_HOWSURE = """
import sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name == "howsure":
            raise ModuleNotFoundError("No module named 'howsure'", name="howsure")
sys.meta_path.insert(0, Hide())
"""

OTHER_SCIPY = """
import importlib.metadata
true_version = importlib.metadata.version
importlib.metadata.version = lambda name: "0.9" if name == "scipy" else true_version(name)
"""


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("prelude", "told"),
    [
        (NO_HOWSURE, "has no module 'howsure': install there what is installed here."),
        (OTHER_SCIPY, "has scipy 0.9, the run was started with"),
    ],
    ids=["no howsure", "other scipy"],
)
def test_a_worker_with_other_versions_is_refused_even_when_it_comes_late(cluster, prelude, told):
    late = []

    def join(done, total):
        if not late:
            late.append(cluster.start_worker(prelude))

    try:
        with pytest.raises(HowsureError) as caught:
            replicate(slow_pids(0.05), 10_000, seed=SEED, batch=5, scheduler=cluster.address, progress=join)
        assert told in str(caught.value)
        assert "\n" not in str(caught.value)
    finally:
        cluster.remove(late[0])


@pytest.mark.heavy
def test_ctrl_c_during_a_cluster_run_leaves_the_cluster_free(cluster):
    done, total, _, finished = interrupt({"scheduler": cluster.address}, quick=4, seconds=1)
    assert total == 1000
    assert finished == replicate(lambda rng, size: rng.normal(size=size), done, seed=SEED, batch=10).tolist()
    assert replicate(slow_pids(0), 10, seed=SEED, scheduler=cluster.address)[0].shape == (10,)


def test_more_replicates_than_fit_in_memory_are_refused():
    with pytest.raises(OptionError, match=r"replicates need [\d,]+ GB of memory.* Ask for at most"):
        replicate(lambda rng, size: np.zeros((size, 1000)), 10**9, seed=1, workers=1)
