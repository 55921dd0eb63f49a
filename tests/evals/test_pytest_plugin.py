"""Evals as tests, in real pytest sessions."""

import importlib.metadata
import shutil
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
EXAMPLE = Path(__file__).parents[2] / "examples/ci/test_assistant.py"
IS_INSTALLED = any(one.name == "howsure" for one in importlib.metadata.entry_points(group="pytest11"))
LOADED = () if IS_INSTALLED else ("-p", "howsure.evals.pytest_plugin")


@pytest.fixture
def session(pytester):
    """Runs a file of tests in a process of its own."""

    def run(code, *options):
        pytester.makepyfile(test_eval=code) if isinstance(code, str) else shutil.copy(
            code, pytester.path / "test_eval.py"
        )
        return pytester.runpytest_subprocess(*LOADED, "-p", "no:cacheprovider", "-q", *options)

    return run


def code(share_right, n=60, marker="at_least=0.8"):
    return f"""
import pytest
@pytest.mark.eval({marker})
@pytest.mark.parametrize("i", range({n}))
def test_items(i):
    assert i >= {n} * (1 - {share_right})
"""


def test_the_example_passes_though_single_answers_are_wrong(session):
    found = session(EXAMPLE)
    assert found.ret == 0
    found.stdout.fnmatch_lines(["*evals*", "PASS: products: 0.* over 60 items, 180 attempts; at least 0.6 is asked."])


def test_the_run_fails_when_the_evidence_says_so(session):
    found = session(code(0.5))
    assert found.ret == 1
    found.stdout.fnmatch_lines(
        ["FAIL: test_items: 0.50*; at least 0.8 is asked.", "  0.00 test_items[[]0]", "  and 10 more", "60 evaluated*"]
    )
    assert "passed" not in found.stdout.str()


def test_where_the_data_cannot_tell_it_passes_and_says_so(session):
    assert session(code(0.77)).ret == 0
    found = session(code(0.77), "--eval-cannot-tell", "fail")
    assert found.ret == 1
    found.stdout.fnmatch_lines(["CANNOT TELL: *"])


def test_a_saved_session_is_the_base_of_the_next(session, pytester):
    assert session(code(0.9, n=200, marker="name='e'"), "--eval-save", "base.csv").ret == 0
    same = session(code(0.9, n=200, marker="name='e', base='base.csv'"))
    assert same.ret == 0
    same.stdout.fnmatch_lines(["SHIP: e: *"])
    worse = session(code(0.8, n=200, marker="name='e', base='base.csv'"))
    assert worse.ret == 1
    worse.stdout.fnmatch_lines(["BLOCK: e: *"])


def test_a_test_that_was_moved_to_another_file_is_the_same_item(session, pytester):
    assert session(code(0.9, n=200, marker="name='e'"), "--eval-save", "base.csv").ret == 0
    pytester.makepyfile(test_moved=code(0.8, n=200, marker="name='e', base='base.csv'"))
    moved = pytester.runpytest_subprocess(*LOADED, "-p", "no:cacheprovider", "-q", "test_moved.py")
    assert moved.ret == 1
    moved.stdout.fnmatch_lines(["BLOCK: e: *"])


def test_evals_of_one_name_in_two_files_are_told_apart(session, pytester):
    pytester.makepyfile(test_other=code(1.0))
    found = session(code(1.0))
    assert found.ret == 1
    found.stdout.fnmatch_lines(["ERROR: test_items: several files have tests of this name*"])


def test_what_is_no_assertion_stays_an_error_and_unmarked_tests_stay_tests(session):
    found = session(
        """
import pytest
@pytest.mark.eval(at_least=0.1)
@pytest.mark.parametrize("i", range(20))
def test_items(i):
    if i == 3: raise RuntimeError("broken")
def test_plain():
    assert False
"""
    )
    assert found.ret == 1
    found.assert_outcomes(failed=2)
    found.stdout.fnmatch_lines(["*19 evaluated*"])


def test_graded_scores_are_recorded(session):
    found = session(
        """
import pytest
@pytest.mark.eval(at_least=0.5)
@pytest.mark.parametrize("i", range(30))
def test_items(i, record_property):
    record_property("score", 0.2 + i / 100)
"""
    )
    assert found.ret == 1
    found.stdout.fnmatch_lines(["FAIL: *test_items: 0.3*"])


def test_processes_of_xdist_are_judged_together(session):
    pytest.importorskip("xdist")
    found = session(code(0.5, n=30, marker="at_least=0.8, repeats=2"), "-n", "2")
    assert found.ret == 1
    found.stdout.fnmatch_lines(["FAIL: *over 30 items, 60 attempts; at least 0.8 is asked."])
