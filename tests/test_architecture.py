"""Imports point one way, and the public names are the ones we mean."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src" / "howsure"

# From the top to the ground. A module may import from rooms on lower floors and from its own room.
FLOORS = [
    {"__main__"},
    {"cli"},
    {"tour"},
    {"reporting"},
    {"claims"},
    {"bridges", "registry"},
    {"evals", "track", "horizon", "study", "stitch"},
    {"running"},
    {"people"},
    {"results"},
    {"charts"},
    {"stats", "sources"},
    {"compute"},
    {"arguments"},
    {"tables"},
    {"yaml_files", "compiled"},
    {"safe_io", "estimates"},
    {"errors", "interruptions", "outside_text", "_version", "_lazy"},
]
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
MODULES = sorted(SRC.rglob("*.py"))
ROOMS = ("bridges", "charts", "claims", "evals", "horizon", "people", "reporting", "stats", "stitch", "study", "track")
"""What can be reached as an attribute of the package."""


def room_of(path: Path) -> str:
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "howsure":
            inner = node.module.split(".")[1:]
            found |= {inner[0]} if inner else {alias.name for alias in node.names}
        if isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("howsure.")}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SRC)))
def test_imports_point_down(path):
    room = room_of(path)
    if room == "__init__":
        pytest.skip("the front door may name every room")
    for other in imported_rooms(path) - {room}:
        assert FLOOR[other] > FLOOR[room], f"{room} imports {other}, which is not on a lower floor"


CHARTS = [path for path in MODULES if path.name == "charts.py" or room_of(path) == "charts"]
STATISTICS = {
    *(
        "mean",
        "nanmean",
        "median",
        "nanmedian",
        "average",
        "std",
        "var",
        "quantile",
        "percentile",
        "nanquantile",
        "nanpercentile",
    ),
    *("corrcoef", "cov", "polyfit", "lstsq"),
}


def statistics_in(path: Path) -> list[str]:
    """What a module computes that a result should hold: imports of statistics, calls of estimators, means and quantiles."""
    found = [f"imports {room}" for room in imported_rooms(path) & {"stats", "compute"}]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            if name in STATISTICS or name.startswith(("fit_", "bootstrap")):
                found.append(f"line {node.lineno} calls {name}")
    return found


@pytest.mark.parametrize("path", CHARTS, ids=lambda path: str(path.relative_to(SRC)))
def test_charts_compute_no_statistics(path):
    assert statistics_in(path) == []


def test_a_chart_that_computes_is_seen(tmp_path):
    wrong = tmp_path / "charts.py"
    wrong.write_text("import numpy as np\nfrom howsure.stats.means import wilson\nlow = np.percentile([1, 2], 5)\n")
    assert statistics_in(wrong) == ["imports stats", "line 3 calls percentile"]


def test_every_room_has_a_floor():
    assert {room_of(path) for path in MODULES} - {"__init__"} <= set(FLOOR)


def test_a_class_name_means_one_thing():
    homes: dict[str, list[str]] = {}
    for path in MODULES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(str(path.relative_to(SRC)))
    del homes["Tracker"]  # every statistic of Track is a module with a class of this name: how a new one is found
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def test_one_row_of_several_is_not_taken_by_chance():
    """Polars keeps any row, in any order, unless it is told: the same command would give other last digits."""
    for path in MODULES:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            by_chance = re.search(r"\.unique\((\"|\[)", line) and "maintain_order" not in line and ".sort(" not in line
            assert not by_chance, f"{path.relative_to(SRC)}:{number}: say maintain_order=True, or sort"


@pytest.mark.parametrize(
    "path", [path for path in MODULES if path.name == "__init__.py"], ids=lambda path: path.parent.name
)
def test_a_package_lists_only_modules_that_exist(path):
    """In the aligned lists of its docstring: ``module    what it contains``."""
    listed = re.findall(
        r"^ {4}((?:[a-z_]+/?, )*[a-z_]+/?) {2,}\S", ast.get_docstring(ast.parse(path.read_text())) or "", re.M
    )
    names = {name.rstrip("/") for row in listed for name in row.split(", ")}
    package = ".".join(path.parent.relative_to(SRC.parent).parts)
    verbs = set(getattr(importlib.import_module(package), "__all__", ()))
    here = {one.stem for one in path.parent.iterdir() if one.suffix == ".py" or one.is_dir()}
    assert names - verbs <= here


def test_public_names_are_sorted_and_found():
    import howsure

    assert sorted(howsure.__all__) == sorted({*howsure.__all__})
    assert set(howsure.__all__) == {
        *("HowsureError", "Attempts", "Estimate", "Ratings", "Scores", "Votes", "__version__"),
        *(
            "compare",
            "convert",
            "coverage",
            "explore",
            "formats",
            "gate",
            "items",
            "leaderboard",
            "names",
            "overview",
            "power",
            "read",
            "summary",
            "watch",
        ),
    }
    for name in [*howsure.__all__, *ROOMS]:
        assert getattr(howsure, name) is not None


@pytest.mark.parametrize("room", ["bridges", "claims", "horizon", "stitch", "study", "track"])
def test_rooms_offer_their_names_lazily(room):
    module = importlib.import_module(f"howsure.{room}")
    assert module.__all__ == sorted(set(module.__all__))
    for name in module.__all__:
        assert callable(getattr(module, name)) or name.isupper()
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        module.nonsense  # noqa: B018


def test_the_front_door_is_pleasant(tmp_path):
    import howsure

    scale = howsure.stitch.fit(howsure.read(SRC.parents[1] / "examples/stitch/scores.csv"))
    assert {"model", "capability"} <= set(scale.models.columns)
    page = scale.chart().save(tmp_path / "scale.html").read_text()
    assert "https://cdn" not in page


def public_names():
    import howsure

    for module in (howsure, *(importlib.import_module(f"howsure.{room}") for room in ROOMS)):
        yield from ((f"{module.__name__}.{name}", getattr(module, name)) for name in getattr(module, "__all__", ()))


@pytest.mark.filterwarnings("ignore")
def test_every_parameter_of_every_public_function_and_class_is_documented():
    """Under Parameters, in numpydoc's form; what a class inherits may be documented there."""
    numpydoc = pytest.importorskip("numpydoc.docscrape", reason="no numpydoc: pip install numpydoc")
    missing = []
    for name, thing in public_names():
        if not callable(thing) or (inspect.isclass(thing) and issubclass(thing, Exception)):
            continue
        texts = [
            one.__doc__ for one in getattr(thing, "__mro__", [thing]) if "howsure" in getattr(one, "__module__", "")
        ]
        parsed = [numpydoc.NumpyDocString(inspect.cleandoc(text)) for text in texts if text]
        documented = {part.strip("* ") for doc in parsed for row in doc["Parameters"] for part in row.name.split(",")}
        parameters = inspect.signature(thing).parameters.values()
        named = {p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
        missing += [f"{name}: {parameter}" for parameter in sorted(named - documented)]
    assert missing == []


def test_describing_a_result_loads_no_analysis_that_did_not_make_it():
    """Sections name other results only for the type checker: a verb with -o does not import what it does not use."""
    modules = [".".join(path.relative_to(SRC.parent).with_suffix("").parts) for path in SRC.rglob("sections.py")]
    code = f"import importlib, sys\nfor name in {modules}: importlib.import_module(name)\nprint('scipy.stats' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert len(modules) > 8
    assert shown.strip() == "False"
