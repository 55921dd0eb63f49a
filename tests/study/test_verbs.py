"""The verbs of `howsure study` in Python, and the examples in their help."""

import pkgutil
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import howsure
from howsure.cli.study import VERBS

ROOT = Path(__file__).parents[2]
NAMES = [name for panel in VERBS.values() for name in panel]


@pytest.mark.parametrize("name", NAMES)
def test_every_verb_is_a_function_of_the_same_name(name):
    assert callable(getattr(howsure.study, name))


def test_no_module_has_the_name_of_a_public_name():
    modules = {module.name for module in pkgutil.iter_modules(howsure.study.__path__)}
    assert not modules & set(howsure.study.__all__)


@pytest.mark.parametrize("as_frame", [pl.DataFrame, pd.DataFrame], ids=["polars", "pandas"])
def test_frames_are_accepted_where_a_table_is(as_frame):
    rows = pl.read_csv(ROOT / "examples/study/ratings.csv")
    given = as_frame(rows.to_dict(as_series=False))
    one = howsure.study.analyze(given, study=ROOT / "examples/study/study.yaml")
    other = howsure.study.analyze(ROOT / "examples/study/ratings.csv", study=ROOT / "examples/study/study.yaml")
    assert_frame_equal(one.to_frame(), other.to_frame(), check_exact=False, rel_tol=1e-9)
    assert howsure.study.reliability(given, dimension="voice").n_raters == 8


def test_reliability_is_that_of_the_analysis_where_pairs_are_shown_twice():
    """A pair that is shown again is not another item."""
    ratings, study = ROOT / "examples/study/ratings.csv", ROOT / "examples/study/study.yaml"
    alone = howsure.study.reliability(ratings, dimension="voice")
    assert alone.n_items == 5
    assert any("shown again" in note for note in alone.provenance.notes)
    in_analysis = howsure.study.analyze(ratings, study=study).everyone.reliability["voice"]
    assert alone.coefficients["icc_2_k"].value == pytest.approx(in_analysis.coefficients["icc_2_k"].value)


def test_the_example_fits_its_study():
    found = howsure.study.analyze(ROOT / "examples/study/ratings.csv", study=ROOT / "examples/study/study.yaml")
    assert [row.item for row in found.findings.pairs] == sorted(
        pair.id for pair in howsure.study.Study.read(ROOT / "examples/study/study.yaml").pairs
    )
    assert found.findings.statistics["pearson"].state == "ok"
