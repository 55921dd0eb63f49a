"""Pictures of the documentation, drawn when it is built: charts with the commands that drew them, the demo's report, and the import graph.

`python docs/_ext/pictures.py` draws the two pictures of the README again (light and dark).
"""

from __future__ import annotations

import ast
import html
import os
import shlex
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "src"))

from howsure.charts.export import save_chart  # noqa: E402 (its folder is named above)
from howsure.charts.theme import DARK, FONT, LIGHT, PALETTE, PALETTE_DARK  # noqa: E402
from howsure.results import Result  # noqa: E402

GALLERY = (
    ("Mean scores", "howsure summary examples/evals/attempts.csv --cluster family -o out", "summary"),
    ("Differences between models", "howsure compare examples/evals/attempts.csv --cluster family -o out", "compare"),
    ("Time horizons", "howsure horizon time examples/horizon/time_counts.csv -o out", "success_by_length"),
    ("One capability scale", "howsure stitch fit examples/stitch/scores.csv --replicates 200 -o out", "capabilities"),
    ("Agreement of raters", "howsure study analyze examples/study/ratings.csv --study examples/study/study.yaml -o out", "agreement"),
    ("Correct answers before the first error", "howsure track run --player oracle --player window-5 --player largest --samples 60 --length 60 -o out", "survival"),
)  # fmt: skip
"""Title, command, and which of its charts is shown."""


def setup(app: Any) -> dict[str, Any]:
    """Sphinx calls this when it loads the extension."""
    app.add_config_value("pictures_drawn", True, "env")
    app.connect("builder-inited", _draw_all)
    app.add_directive("gallery", Gallery)
    app.add_directive("architecture", Architecture)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class Gallery(Directive):
    """The charts, each above its command."""

    def run(self) -> list[nodes.Node]:
        """One figure per chart."""
        figures = (
            f"<figure>{_both(title, f'{position}')}<figcaption>{html.escape(title)}<br><code>{html.escape(command)}</code></figcaption></figure>"
            for position, (title, command, _) in enumerate(GALLERY)
        )
        return [nodes.raw("", f'<div class="gallery">{"".join(figures)}</div>', format="html")]


class Architecture(Directive):
    """The import graph."""

    def run(self) -> list[nodes.Node]:
        """One picture."""
        text = "Rooms of the package from the command line at the top to errors at the bottom; lines are imports."
        return [nodes.raw("", f'<div class="wide">{_both(text, "architecture")}</div>', format="html")]


def _both(alt: str, name: str) -> str:
    return "".join(
        f'<img class="only-{scheme}" src="_pictures/{name}-{scheme}.svg" alt="{html.escape(alt)}" loading="lazy">'
        for scheme in ("light", "dark")
    )


def _draw_all(app: Any) -> None:
    folder = Path(app.outdir) / "_pictures"
    folder.mkdir(parents=True, exist_ok=True)
    save(architecture(), folder / "architecture")
    for position, (_, command, name) in enumerate(GALLERY):
        # where no command shall run, the README's picture stands for all
        is_drawn = app.config.pictures_drawn
        svg = drawn_by(command, name) if is_drawn else (ROOT / "docs/assets/summary-light.svg").read_text("utf-8")
        save(svg, folder / f"{position}")
    if app.config.pictures_drawn:
        _howsure(f"howsure demo --quick --quiet -o {shlex.quote(str(Path(app.outdir) / 'demo'))}", ROOT)


def drawn_by(command: str, name: str) -> str:
    """The SVG of a chart that a command writes to the folder ``out``."""
    with tempfile.TemporaryDirectory() as desk:
        (Path(desk) / "examples").symlink_to(ROOT / "examples", target_is_directory=True)
        _howsure(command, desk)
        result = Result.load(next((Path(desk) / "out").glob("*.result.zip")))
        key = next(one for one in result.charts() if one.startswith(name))
        return save_chart(result.chart(key), Path(desk) / "chart.svg").read_text(encoding="utf-8")


def save(svg: str, path: Path) -> None:
    """Write a picture as ``PATH-light.svg`` and, with each colour changed for its dark partner, as ``PATH-dark.svg``."""
    svg = svg.replace('fill="white"', f'fill="{LIGHT["paper"]}"')
    dark = svg
    partners = [*zip(PALETTE, PALETTE_DARK, strict=True), *((LIGHT[name], DARK[name]) for name in LIGHT)]
    for old, new in partners:
        dark = dark.replace(f'"{old}"', f'"{new}!"')
    Path(f"{path}-light.svg").write_text(svg, encoding="utf-8")
    Path(f"{path}-dark.svg").write_text(dark.replace('!"', '"'), encoding="utf-8")


def _howsure(command: str, folder: str | Path) -> None:
    line = [sys.executable, "-m", *shlex.split(command)]
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, env=env, check=False)
    if done.returncode:
        raise RuntimeError(f"{command}: {done.stderr}")


# the import graph


def imports() -> dict[str, set[str]]:
    """Room → the rooms it imports, read from the sources. A room is a package or module directly under `howsure`."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted((ROOT / "src/howsure").rglob("*.py")):
        room = _room(path)
        if room.startswith("_"):
            continue
        found[room] |= set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("howsure"):
                inner = (node.module or "").split(".")[1:2] or [alias.name for alias in node.names]
                found[room] |= {name for name in inner if not name.startswith("_") and name != room}
            elif isinstance(node, ast.Import):
                found[room] |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("howsure.")}
    return {room: {other for other in others if other in found} for room, others in found.items()}


def _room(path: Path) -> str:
    return path.relative_to(ROOT / "src/howsure").parts[0].removesuffix(".py")


def architecture() -> str:
    """The import graph as SVG: each room stands above all rooms that it imports; lines that follow from others are not drawn."""
    graph = imports()

    def height(room: str) -> int:
        return 1 + max(map(height, graph[room]), default=-1)

    def below(room: str) -> set[str]:
        return graph[room].union(*(below(other) for other in graph[room])) if graph[room] else set()

    rows: dict[int, list[str]] = defaultdict(list)
    for room in sorted(graph):
        rows[height(room)].append(room)
    wide, tall, gap = 116, 40, 62
    width = max(len(row) for row in rows.values()) * (wide + 14) + 20
    place = {
        room: (width / 2 + (position - (len(row) - 1) / 2) * (wide + 14), 20 + (max(rows) - level) * gap)
        for level, row in rows.items()
        for position, room in enumerate(row)
    }
    lines = [
        _line(place[room], place[other], wide, tall)
        for room in graph
        for other in graph[room] - set().union(*(below(one) for one in graph[room]))
    ]
    boxes = [_box(room, *place[room], wide, tall) for room in graph]
    size = f'width="{width:.0f}" height="{20 + (max(rows) + 1) * gap}"'
    view = f'viewBox="0 0 {width:.0f} {20 + (max(rows) + 1) * gap}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {view} font-family="{FONT}">{"".join(lines + boxes)}</svg>'


def _line(start: tuple[float, float], end: tuple[float, float], wide: int, tall: int) -> str:
    (x1, y1), (x2, y2) = (start[0], start[1] + tall), end
    bend = (y2 - y1) / 2
    path = f"M{x1:.0f},{y1:.0f}C{x1:.0f},{y1 + bend:.0f} {x2:.0f},{y2 - bend:.0f} {x2:.0f},{y2:.0f}"
    return f'<path d="{path}" fill="none" stroke="{LIGHT["edge"]}" stroke-width="1"/>'


def _box(room: str, x: float, y: float, wide: int, tall: int) -> str:
    where = ROOT / "src/howsure" / room
    files = list(where.rglob("*.py")) if where.is_dir() else [where.with_suffix(".py")]
    counted = f"{len(files)} files" if len(files) > 1 else "1 file"
    return (
        f'<rect x="{x - wide / 2:.0f}" y="{y:.0f}" width="{wide}" height="{tall}" rx="6" fill="{LIGHT["soft"]}" stroke="{LIGHT["edge"]}"/>'
        f'<text x="{x:.0f}" y="{y + 17:.0f}" text-anchor="middle" font-size="13" font-weight="600" fill="{LIGHT["ink"]}">{room}</text>'
        f'<text x="{x:.0f}" y="{y + 32:.0f}" text-anchor="middle" font-size="11" fill="{LIGHT["muted"]}">{counted}</text>'
    )


if __name__ == "__main__":
    save(drawn_by(*GALLERY[0][1:]), ROOT / "docs/assets/summary")
