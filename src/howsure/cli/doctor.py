"""`howsure doctor`: is everything here that Howsure needs?"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Annotated, Literal

import typer

from howsure.cli.options import verb
from howsure.cli.output import Console
from howsure.errors import HowsureError

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)

_ROOM = 2**30  # bytes; a run with charts takes a few megabytes, its log more
_EXTRAS = {
    "run": ("inspect_ai", "openai"),
    "serve": ("starlette", "uvicorn"),
    "cluster": ("distributed",),
    "excel": ("fastexcel",),
    "charts": ("altair", "vl_convert"),
}
_PACKAGES = (
    "numpy",
    "scipy",
    "numba",
    "polars",
    "altair",
    "vl-convert-python",
    "pydantic",
    "msgspec",
    "inspect-ai",
    "distributed",
)


@dataclass(frozen=True)
class DoctorCheck:
    """One thing that was looked at."""

    name: str
    state: Literal["ok", "note", "fail"]
    message: str


@app.command(epilog="Example: howsure doctor")
@verb
def doctor(
    scheduler: Annotated[
        str | None, typer.Option(help="A Dask scheduler, as in tcp://host:8786, to be checked too.", show_default=False)
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON on standard output, and nothing else there.")
    ] = False,
) -> None:
    """Check the installation: versions, encoding, disk, caches, extras, browser, cluster.

    Damaged caches are repaired. "note" marks what is missing but not needed by every verb; exit code 1 says that something fails.
    """
    checks = [*_versions(), _encoding(), *_disk(), _charts(), _kernels(), *_extras(), _browser()]
    if scheduler:
        checks.append(_cluster(scheduler))
    console = Console(is_json=json)
    for check in checks:
        console.say(f"{check.state:<5} {check.name:<21} {check.message}")
    is_usable = all(check.state != "fail" for check in checks)
    console.say("Ready." if is_usable else "Not ready: fix what fails.")
    console.json({"is_usable": is_usable, "checks": [asdict(check) for check in checks]})
    if not is_usable:
        raise SystemExit(1)


def _versions() -> Iterator[DoctorCheck]:
    from howsure._version import __version__

    there = {name: version for name in _PACKAGES if (version := _version(name))}
    told = ", ".join(f"{name} {version}" for name, version in there.items())
    python = ".".join(map(str, sys.version_info[:3]))
    yield DoctorCheck("versions", "ok", f"howsure {__version__}, Python {python}, {told}")


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _encoding() -> DoctorCheck:
    name = (sys.stdout.encoding or "unknown").lower()
    if name.startswith("utf"):
        return DoctorCheck("encoding", "ok", f"standard output is {name}")
    hint = "characters that it lacks are replaced; set PYTHONIOENCODING=utf-8 if the terminal can show more"
    return DoctorCheck("encoding", "note", f"standard output is {name}: {hint}")


def _disk() -> Iterator[DoctorCheck]:
    from howsure.safe_io import cache_folder

    for name, folder in (
        ("here", Path.cwd()),
        ("temporary files", Path(tempfile.gettempdir())),
        ("cache", cache_folder()),
    ):
        there = next(path for path in (folder, *folder.parents) if path.exists())
        free = shutil.disk_usage(there).free
        is_open = os.access(there, os.W_OK)
        told = f"{folder}: {free / 2**30:,.1f} GB free" + ("" if is_open else ", and it cannot be written")
        # a cache only saves time, and results may go elsewhere
        state: Literal["ok", "note", "fail"] = "ok" if is_open and free > _ROOM else "note"
        yield DoctorCheck(f"disk, {name}", "fail" if name == "temporary files" and not is_open else state, told)


def _charts() -> DoctorCheck:
    from howsure.charts.page import bundle, kept_bundle
    from howsure.charts.pictures import can_draw
    from howsure.safe_io import cache_folder

    if not can_draw():
        return DoctorCheck("charts", "note", "tables are printed, charts are not drawn: pip install 'howsure[charts]'")
    if kept_bundle() is not None:
        return DoctorCheck("charts", "ok", f"the script of pages with charts is whole, in {cache_folder()}")
    return _tried(
        "charts",
        lambda: f"the script of pages with charts was built again ({len(bundle()):,} letters), in {cache_folder()}",
    )


def _kernels() -> DoctorCheck:
    def compiled() -> str:
        import numpy as np

        from howsure.stats import replicates

        replicates.hierarchical_weights([np.array([0, 0, 1])], 5, np.random.default_rng(0))
        kept = next((one._cache.cache_path for one in vars(replicates).values() if hasattr(one, "_cache")), None)
        return f"numerical kernels run; compiled ones are kept in {kept}"

    return _tried("kernels", compiled)


def _tried(name: str, work: Callable[[], str]) -> DoctorCheck:
    try:
        return DoctorCheck(name, "ok", work())
    except Exception as error:  # noqa: BLE001  whatever is wrong here is what was asked for
        return DoctorCheck(name, "fail", f"{type(error).__name__}: {error}")


def _extras() -> Iterator[DoctorCheck]:
    import importlib.util

    for extra, packages in _EXTRAS.items():
        missing = [name for name in packages if importlib.util.find_spec(name) is None]
        told = f"{', '.join(missing)} not installed: pip install 'howsure[{extra}]'" if missing else "installed"
        yield DoctorCheck(f"extra, {extra}", "note" if missing else "ok", told)


def _browser() -> DoctorCheck:
    names = ("chromium", "chromium-browser", "google-chrome", "chrome", "firefox")
    found = os.environ.get("HOWSURE_CHROMIUM") or next((path for name in names if (path := shutil.which(name))), None)
    if found:
        return DoctorCheck("browser", "ok", found)
    return DoctorCheck("browser", "note", "none found; reports and pages open in any browser on any machine")


def _cluster(address: str) -> DoctorCheck:
    from howsure.compute import n_cluster_workers

    try:
        n_workers = n_cluster_workers(address)
    except HowsureError as error:
        return DoctorCheck("cluster", "fail", str(error))
    told = f"a Dask scheduler at {address} with {n_workers} workers"
    return DoctorCheck(
        "cluster",
        "ok" if n_workers else "fail",
        told if n_workers else f"{told}: start some with 'dask worker {address}'",
    )
