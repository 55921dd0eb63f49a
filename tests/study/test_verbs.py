"""The verbs of `howsure study` in Python, and the examples in their help."""

import json
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
    known = {"study": ROOT / "examples/study/study.yaml", "raters": ROOT / "examples/study/raters.csv"}
    one = howsure.study.analyze(given, **known)
    other = howsure.study.analyze(ROOT / "examples/study/ratings.csv", **known)
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


STUDY, BENCH, JUDGE = "examples/study", "examples/study/bench", "examples/study/judge"
SAME = {
    "analyze": (
        [f"{STUDY}/ratings.csv", "--study", f"{STUDY}/study.yaml"],
        lambda study: study.analyze(f"{STUDY}/ratings.csv", study=f"{STUDY}/study.yaml"),
    ),
    "analyze answers": ([f"{BENCH}/people.csv"], lambda study: study.analyze(f"{BENCH}/people.csv")),
    "validate": (
        [f"{JUDGE}/ratings.csv", f"{JUDGE}/judge.csv"],
        lambda study: study.validate(f"{JUDGE}/ratings.csv", f"{JUDGE}/judge.csv"),
    ),
    "bench": (
        [f"{BENCH}/people.csv", f"{BENCH}/judges.csv", f"{BENCH}/attacked.csv"],
        lambda study: study.bench(f"{BENCH}/people.csv", [f"{BENCH}/judges.csv", f"{BENCH}/attacked.csv"]),
    ),
    "reliability": ([f"{BENCH}/people.csv"], lambda study: study.reliability(f"{BENCH}/people.csv")),
    "estimate": (
        [f"{BENCH}/labels.csv", f"{BENCH}/judges.csv"],
        lambda study: study.estimate(f"{BENCH}/labels.csv", f"{BENCH}/judges.csv"),
    ),
    "labels": (
        [f"{BENCH}/judges.csv", "--n-labels", "25"],
        lambda study: study.labels(f"{BENCH}/judges.csv", n_labels=25),
    ),
    "drift": (
        [f"{BENCH}/anchors-{run}.csv" for run in (1, 2, 3)],
        lambda study: study.drift([f"{BENCH}/anchors-{run}.csv" for run in (1, 2, 3)]),
    ),
    "plan": (["--simulations", "100"], lambda study: study.plan(n_simulations=100)),
    "stop": (
        [f"{BENCH}/people.csv", "--require", "mean:quality >= 2", "--max-raters", "20", "--range", "1,5"],
        lambda study: study.stop(f"{BENCH}/people.csv", ["mean:quality >= 2"], n_planned=20, scale=(1, 5)),
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_command_and_python_give_the_same_numbers(name, command, monkeypatch):
    """The same files in, the same result out: a file that lies beside them is found by both or by neither."""
    monkeypatch.chdir(ROOT)
    options, call = SAME[name]
    told = command("study", name.split()[0], *options, "--json", cwd=ROOT)
    assert told.returncode in (0, 1), told.stderr
    assert _same(json.loads(told.stdout), json.loads(json.dumps(call(howsure.study).as_dict())))


def _same(one, other):
    """Raise where two results differ, by their path."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        return all(_same(one[name], other[name]) for name in one if name != "made")
    if isinstance(one, list):
        assert len(one) == len(other)
        return all(map(_same, one, other))
    assert one == (pytest.approx(other, rel=1e-9) if isinstance(one, float) else other)
    return True


def test_files_beside_are_used_and_named(tmp_path):
    """A frame has no folder, so nothing is found beside it."""
    found = howsure.study.analyze(ROOT / STUDY / "ratings.csv", study=ROOT / STUDY / "study.yaml")
    assert any(str(ROOT / STUDY / "raters.csv") in note for note in found.provenance.notes)
    assert found.findings.statistics["minutes"].value == pytest.approx(10.836, abs=1e-3)
    rows = pl.read_csv(ROOT / STUDY / "ratings.csv")
    assert howsure.study.analyze(rows, study=ROOT / STUDY / "study.yaml").provenance.notes != found.provenance.notes
    people, judge = ROOT / JUDGE / "ratings.csv", ROOT / JUDGE / "judge.csv"
    for found in (howsure.study.validate(people, judge), howsure.study.bench(people, judge)):
        assert any(str(ROOT / JUDGE / "judge_orders.csv") in note for note in found.provenance.notes)


def test_what_an_analysis_wrote_is_no_table_about_raters(tmp_path):
    """An analysis of answers writes raters.csv too, with one row per rater and statistic."""
    rows = pl.read_csv(ROOT / BENCH / "people.csv")
    rows.write_csv(tmp_path / "ratings.csv")
    first = howsure.study.analyze(tmp_path / "ratings.csv")
    first.save(tmp_path)
    assert (tmp_path / "raters.csv").exists()
    assert howsure.study.analyze(tmp_path / "ratings.csv").provenance.notes == first.provenance.notes
