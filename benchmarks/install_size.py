"""The size of an install in a fresh environment: MB in total, and of the largest packages.

python -m benchmarks install_size core            without extras
python -m benchmarks install_size run,charts      with two extras
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
SHOWN = 8


def measure(extras: str) -> dict[str, float]:
    """MB of everything that is installed, pip itself excluded, and of the largest packages."""
    with tempfile.TemporaryDirectory() as place:
        venv.create(place, with_pip=True)
        bin_folder = Path(place) / ("Scripts" if sys.platform == "win32" else "bin")
        (packages,) = Path(place).glob("[Ll]ib/**/site-packages")
        before = {entry.name for entry in packages.iterdir()}
        wanted = str(ROOT) if extras == "core" else f"{ROOT}[{extras}]"
        subprocess.run([bin_folder / "python", "-m", "pip", "install", "--quiet", wanted], check=True)
        sizes = {entry.name: _megabytes(entry) for entry in packages.iterdir() if entry.name not in before}
    largest = sorted(sizes, key=lambda name: -sizes[name])[:SHOWN]
    return {f"{extras}: MB": sum(sizes.values())} | {f"of that {name}: MB": sizes[name] for name in largest}


def _megabytes(place: Path) -> float:
    files = [place] if place.is_file() else [path for path in place.rglob("*") if path.is_file()]
    return sum(path.stat().st_size for path in files) / 1e6
