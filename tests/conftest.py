"""What several test folders share: a real browser, and a page in it that reports every trouble."""

import atexit
import itertools
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import settings

from servers import prepared_process

# The same examples in every run; ``pytest --hypothesis-profile=default`` draws new ones.
settings.register_profile("same", deadline=None, derandomize=True)
settings.load_profile("same")


HOMES, _NUMBERS = Path(tempfile.mkdtemp(prefix="homes-")), itertools.count(1)
atexit.register(shutil.rmtree, HOMES, ignore_errors=True)
# What takes long to make is shared: compiled kernels (made under a lock, beside the package or here) and the script of pages with charts.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
_SHARED = ("howsure/compiling", "numba")
_SCRIPTS = "howsure/vega-embed-*.js"


def own_home() -> dict[str, str]:
    """The variables of a new home, in which nothing is known of other tests or of the user."""
    home = HOMES / f"{next(_NUMBERS)}"
    cache = home / ".cache"
    (cache / "howsure").mkdir(parents=True)
    for name in _SHARED:
        (CACHE / name).mkdir(parents=True, exist_ok=True)
        (cache / name).symlink_to(CACHE / name, target_is_directory=True)
    for script in CACHE.glob(_SCRIPTS):
        (cache / "howsure" / script.name).symlink_to(script)
    folders = {f"XDG_{name}_HOME": home / f".{name.lower()}" for name in ("CONFIG", "DATA", "STATE")}
    return {name: str(path) for name, path in {"HOME": home, "XDG_CACHE_HOME": cache, **folders}.items()}


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol() -> Iterator[None]:
    """Each test, with the fixtures that are made for it, has a home and caches of its own: Inspect's and ours, too.

    What a fixture of a module has started keeps the home of the test that asked first.
    """
    own = own_home()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("INSPECT_CACHE_DIR", raising=False)
        for name, path in own.items():
            patch.setenv(name, path)
        yield
    for script in Path(own["XDG_CACHE_HOME"]).glob(_SCRIPTS):
        if not script.is_symlink():  # the first that was made
            (CACHE / "howsure").mkdir(parents=True, exist_ok=True)
            shutil.move(script, CACHE / "howsure" / script.name)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest tests first, so that no worker is left with one at the end."""
    items.sort(key=lambda item: item.get_closest_marker("heavy") is None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: Any, log: Any) -> Any:
    """Tests that share what takes long to make go to one worker: those of a file, and rather those of a folder.

    The blocks of the docs share nothing.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFolder(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file, _, test = nodeid.partition("::")
            return nodeid if file.endswith("test_docs.py") and "run" in test.partition("[")[0] else file

        def _assign_work_unit(self, node: Any) -> None:
            """The next file of the folder that the worker is in; otherwise of the one with most tests in which no other worker is."""
            left = Counter({scope: len(unit) for scope, unit in self.workqueue.items()})
            folders: Counter[str] = Counter()
            for scope, n_tests in left.items():
                folders[_folder(scope)] += n_tests
            latest = {one: _folder(next(reversed(work))) for one, work in self.assigned_work.items() if work}
            mine, taken = latest.pop(node, None), set(latest.values())
            best = max(folders, key=lambda name: (name == mine, name not in taken, folders[name]))
            self.workqueue.move_to_end(next(scope for scope in left if _folder(scope) == best), last=False)
            super()._assign_work_unit(node)

    config.option.loadscopereorder = False  # the longest first
    return ByFolder(config, log)


def _folder(nodeid: str) -> str:
    return nodeid.partition("::")[0].rpartition("/")[0]


FLAGS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A running Chromium, or a skip that says what to install."""
    names = ("chromium-headless-shell", "chromium", "/usr/bin/chromium-headless-shell", "/usr/bin/chromium")
    program = os.environ.get("HOWSURE_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if not program:
        pytest.skip("no browser: install the package 'chromium-headless-shell', or set HOWSURE_CHROMIUM to a browser")
    playwright = pytest.importorskip("playwright.sync_api", reason="no playwright: pip install playwright")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def browser_page(chromium: Any) -> Iterator[Callable[..., Any]]:
    """A function that opens a file or address: ``browser_page(path, width=400, scheme="dark")`` gives the page.

    More options go to the browser's context.
    Console errors and warnings, uncaught exceptions and requests that leave this machine fail the test when it ends,
    unless it empties ``browser_page.troubles`` of those it expected.
    """
    contexts = []
    troubles: list[str] = []

    def opened(
        where: str | Path, *, width: int = 1280, height: int = 900, scheme: str = "light", **options: Any
    ) -> Any:
        size = {"width": width, "height": height}
        context = chromium.new_context(viewport=size, color_scheme=scheme, reduced_motion="reduce", **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda said: said.type in ("error", "warning") and troubles.append(said.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda request: _is_outside(request.url) and troubles.append(f"request to {request.url}"))
        page.goto(where.resolve().as_uri() if isinstance(where, Path) else where)
        return page

    opened.troubles = troubles
    yield opened
    for context in contexts:
        context.close()
    assert troubles == []


@pytest.fixture
def axe() -> Callable[[Any], list[str]]:
    """What an accessibility audit finds on a page: one line a violation, and none when all is well."""
    audit = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python"
    ).Axe()

    def violations(page: Any) -> list[str]:
        if page.evaluate("typeof axe") == "undefined":  # half a megabyte of script, once a page
            page.evaluate(audit.axe_script)
        found = page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
        return [f"{one['id']}: {node['html'][:160]}" for one in found for node in one["nodes"]]

    return violations


def _is_outside(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme not in ("file", "data", "blob", "about") and parts.hostname not in ("127.0.0.1", "localhost")


@pytest.fixture(scope="session")
def command():
    """Runs `howsure` as a user does, in a process of its own: ``command("summary", path, cwd=…)``."""

    def run(*arguments, **options):
        return prepared_process.run(["-m", "howsure", *arguments], inspect="--model" in arguments, **options)

    return run
