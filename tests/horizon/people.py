"""Real people's right and wrong answers by attempt."""

from pathlib import Path

import polars as pl
import pytest

from howsure.horizon.learning_curves.novice_counts import novice_counts
from howsure.tables import Attempts

LEARNING = Path(__file__).parents[2] / "../shared/data/learning/human_attempts.parquet"


def people(dataset, last=15, answers=1, attempts=2, first=1):
    """The people of one data set, on the tasks that are covered well enough."""
    if not LEARNING.exists():
        pytest.skip("no real data on learning in ../shared/data")
    rows = (
        pl.scan_parquet(LEARNING).filter(pl.col("dataset").str.starts_with(dataset)).with_columns(kind=pl.lit("human"))
    )
    named = rows.rename({"learner": "subject", "skill": "task", "correct": "score"})
    counts = novice_counts(Attempts(named), last=last)
    return counts.of_tasks(counts.covered(answers=answers, attempts=attempts, first=first))
