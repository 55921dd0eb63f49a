"""Real ratings and the numbers that correct code gets on them, read in place."""

import csv
import gzip
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

SHARED = Path(__file__).parents[2] / "../shared"


def needed(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f"real data are not here: {path.name}")
    return path


@pytest.fixture(scope="session")
def reference():
    """Published figures of reliability by name."""
    return json.loads(needed(SHARED / "reference/reliability.json").read_text())


@pytest.fixture(scope="session")
def hanna():
    """Ratings of HANNA's stories by criterion: 1056 × 3, of raters who are not identified."""
    columns = ["rater1", "rater2", "rater3"]
    return _by("criterion", columns, needed(SHARED / "data/ratings/hanna_raters_metrics.csv.gz"))


@pytest.fixture(scope="session")
def summeval():
    """By dimension of SummEval, ``people`` (1600 × 3 experts) and ``judge`` (GPT-4o)."""
    columns = ["expert0", "expert1", "expert2", "judge_gpt-4o"]
    tables = _by("dimension", columns, needed(SHARED / "data/ratings/summeval_raters_judges.csv.gz"))
    return {name: SimpleNamespace(people=table[:, :3], judge=table[:, 3]) for name, table in tables.items()}


def _by(key, columns, path):
    with gzip.open(path, "rt") as file:
        rows = list(csv.DictReader(file))
    names = dict.fromkeys(row[key] for row in rows)
    return {name: np.array([[float(row[c]) for c in columns] for row in rows if row[key] == name]) for name in names}
