"""The script is made once, kept whole, and never needed on disk."""

import threading

import pytest

from howsure.charts import page as module
from howsure.charts.page import bundle
from howsure.safe_io import cache_folder


@pytest.fixture
def made(monkeypatch, tmp_path):
    """Counts how often the script is made; the cache is empty and elsewhere."""
    calls = []
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(module, "_make", lambda: calls.append(1) or "window.vegaEmbed=1; // σ\n" * 1000)
    bundle.cache_clear()
    yield calls
    bundle.cache_clear()


def test_it_is_made_once_and_then_read(made):
    first = bundle()
    bundle.cache_clear()
    assert bundle() == first
    assert len(made) == 1


def test_it_is_kept_under_the_version_that_made_it(made, monkeypatch):
    bundle()
    monkeypatch.setattr(module, "_version", lambda: "99")
    bundle.cache_clear()
    bundle()
    assert len(made) == 2
    assert any(path.name.startswith("vega-embed-99-") for path in cache_folder().iterdir())


@pytest.mark.parametrize(
    "damage", [lambda data: data[: len(data) // 2], lambda data: b"", lambda data: b"\xff" + data[1:]]
)
def test_a_damaged_file_is_made_again(made, damage):
    first = bundle()
    (kept,) = cache_folder().iterdir()
    kept.write_bytes(damage(kept.read_bytes()))
    bundle.cache_clear()
    assert bundle() == first
    assert len(made) == 2
    bundle.cache_clear()
    assert bundle() == first
    assert len(made) == 2


def test_a_folder_that_cannot_be_written_leaves_it_in_memory(made, tmp_path):
    (tmp_path / "howsure").write_text("a file where the folder should be")
    assert bundle().startswith("window.vegaEmbed")
    assert bundle().startswith("window.vegaEmbed")
    assert len(made) == 1


def test_makers_at_the_same_time_leave_one_whole_file(made):
    barrier, seen = threading.Barrier(8), []

    def work():
        barrier.wait()
        seen.append(bundle.__wrapped__())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(seen) == {"window.vegaEmbed=1; // σ\n" * 1000}
    assert [path.read_text("utf-8") for path in cache_folder().iterdir()] == [seen[0]]


def test_a_relative_cache_home_is_ignored_as_its_standard_says(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    for value in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert cache_folder() == tmp_path / ".cache" / "howsure"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "howsure"


def test_the_real_script_is_small_and_fetches_nothing():
    script = bundle()
    assert len(script.encode()) < 1_000_000
    assert "vegaEmbed" in script
    assert "cdn.jsdelivr" not in script
    assert "</script" not in script
