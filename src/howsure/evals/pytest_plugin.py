"""A pytest plugin: an eval as tests, whose run fails only when the evidence says so.

Each test marked ``eval`` is an item (each repeat an attempt); its assertion gives 1 or 0, or ``record_property("score", 0.7)`` a graded
score. A single wrong answer does not fail. At the end of the session each eval is judged on all its items::

    @pytest.mark.eval(at_least=0.8, repeats=3)
    @pytest.mark.parametrize("question", QUESTIONS)
    def test_arithmetic(question): ...

``at_least``: the run fails if the one-sided 95 % upper limit of the mean is below it. ``base``: a file that ``--eval-save`` wrote; the run fails
if `howsure.gate` says block. Where the data cannot tell, the run passes and the summary says so (``--eval-cannot-tell fail`` changes that). Items are
named by test and parameters, without the file, so that a test may be moved; marked tests are counted as "evaluated", not as passed.
The items may run on several processes (pytest-xdist): they are judged together, where their reports arrive.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

__all__: list[str] = []

_KEY = "howsure"
_REPEAT = "howsure_repeat"
_MOST_LISTED = 20
_OPTIONS = {"name", "at_least", "base", "margin", "repeats"}


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options ``--eval-save`` and ``--eval-cannot-tell``."""
    group = parser.getgroup("howsure", "evals as tests")
    group.addoption("--eval-save", metavar="FILE", help="Write the attempts of this session, as a base for later ones.")
    group.addoption(
        "--eval-cannot-tell", choices=("pass", "fail"), default="pass", help="The outcome where the data cannot tell."
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, and keep what reports bring."""
    config.addinivalue_line(
        "markers", "eval(name, at_least, base, margin, repeats): an item of an eval, judged with all others at the end."
    )
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Judge(config), "howsure-judge")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a marked test ``repeats`` times."""
    marker = metafunc.definition.get_closest_marker("eval")
    if marker and (repeats := int(marker.kwargs.get("repeats", 1))) > 1:
        metafunc.fixturenames.append(_REPEAT)
        metafunc.parametrize(
            _REPEAT, range(1, repeats + 1), ids=[f"repeat{n}" for n in range(1, repeats + 1)], indirect=True
        )


@pytest.fixture
def howsure_repeat(request: pytest.FixtureRequest) -> int:
    """Which repeat of a marked test this is: 1, 2, …"""
    return int(getattr(request, "param", 1))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Turn the outcome of a marked test into a score; what is no assertion stays an error."""
    report = yield
    marker = item.get_closest_marker("eval")
    if marker is None or report.when != "call":
        return report
    if unknown := set(marker.kwargs) - _OPTIONS:
        raise pytest.UsageError(f"{item.nodeid}: the marker eval has no option {', '.join(sorted(unknown))}.")
    is_wrong = call.excinfo is not None and call.excinfo.errisinstance(AssertionError)
    if report.outcome == "skipped" or (call.excinfo is not None and not is_wrong):
        return report
    given = dict(item.user_properties).get("score")
    score = float(given) if given is not None else float(not is_wrong)  # type: ignore[arg-type]
    params = getattr(getattr(item, "callspec", None), "params", {})
    file, _, task = item.nodeid.partition("::")
    if _REPEAT in params:
        task = task.replace(f"repeat{params[_REPEAT]}", "").replace("[-", "[").replace("-]", "]").replace("[]", "")
    name = marker.kwargs.get("name") or task.partition("[")[0]
    row = {"eval": name, "task": task, "score": score, "seconds": report.duration, "file": file}
    report.user_properties.append(
        (_KEY, json.dumps(row | {"options": {k: str(v) if k == "base" else v for k, v in marker.kwargs.items()}}))
    )
    report.outcome, report.longrepr = "passed", None
    return report


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Count an item of an eval as evaluated: whether it passed is decided over all items."""
    if report.when == "call" and any(key == _KEY for key, _ in report.user_properties):
        return "evaluated", "e", "EVALUATED"
    return None


class _Judge:
    """Collects the scores of all processes, and judges at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.rows: list[dict[str, Any]] = []
        self.lines: list[tuple[str, str]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            self.rows += [json.loads(str(value)) for key, value in report.user_properties if key == _KEY]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not self.rows:
            return
        from howsure.errors import HowsureError

        if path := self.config.getoption("--eval-save"):
            self._frame(self.rows).sort("domain", "task", maintain_order=True).write_csv(Path(str(path)))
        by_eval: dict[str, list[dict[str, Any]]] = {}
        for row in self.rows:
            by_eval.setdefault(row["eval"], []).append(row)
        for name, rows in sorted(by_eval.items()):
            try:
                self.lines += self._judged(name, rows)
            except HowsureError as error:
                self.lines.append(("error", f"{name}: {error}"))
        is_open_failed = self.config.getoption("--eval-cannot-tell") == "fail"
        failing = {"fail", "block", "error", *(["cannot tell"] if is_open_failed else [])}
        if session.exitstatus == 0 and any(verdict in failing for verdict, _ in self.lines):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.lines:
            terminalreporter.section("evals")
            for verdict, text in self.lines:
                terminalreporter.line(
                    f"{verdict.upper()}: {text}",
                    red=verdict in ("fail", "block", "error"),
                    yellow=verdict == "cannot tell",
                )

    def _frame(self, rows: list[dict[str, Any]]) -> Any:
        import polars as pl

        columns = {"subject": "candidate", "domain": "eval", "task": "task", "score": "score", "seconds": "seconds"}
        return pl.DataFrame([{ours: row.get(theirs, theirs) for ours, theirs in columns.items()} for row in rows])

    def _judged(self, name: str, rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
        """The verdicts on one eval."""
        from howsure.errors import InputError
        from howsure.evals.gating import gate
        from howsure.evals.summaries import summary
        from howsure.tables import Attempts

        if len(files := sorted({row["file"] for row in rows})) > 1 and not rows[0]["options"].get("name"):
            raise InputError(f"several files have tests of this name ({', '.join(files[:3])}). Give each eval a name.")
        options, attempts = rows[0]["options"], Attempts(self._frame(rows))
        mean = summary(attempts, level=0.9).rows[0].mean  # its ends are one-sided limits of 95 %
        told = f"{name}: {mean} over {len({row['task'] for row in rows})} items, {len(rows)} attempts"
        found: list[tuple[str, str]] = []
        if (least := options.get("at_least")) is not None:
            is_below = mean.high is not None and mean.high < least
            is_above = mean.low is not None and mean.low >= least
            verdict = "fail" if is_below else "pass" if is_above else "cannot tell"
            found.append((verdict, f"{told}; at least {least:g} is asked.{_lowest(rows) if is_below else ''}"))
        if base := options.get("base"):
            where = Path(base) if Path(base).is_absolute() else self.config.rootpath / base
            import polars as pl

            before = Attempts(where)
            kept = before.derive(before.lazy.filter(pl.col("domain") == name)) if before.has("domain") else before
            decision = gate(kept, attempts, margin=options.get("margin", 0.02))
            found.append(
                (
                    decision.verdict,
                    f"{name}: {decision.rows[0].difference.against(-decision.rows[0].margin)} against {base}. {decision.sentence}"
                    + (_lowest(rows) if decision.verdict == "block" else ""),
                )
            )
        return found or [("pass", told + ".")]


def _lowest(rows: list[dict[str, Any]]) -> str:
    """The items with the lowest mean scores, one per line."""
    scores: dict[str, list[float]] = {}
    for row in rows:
        scores.setdefault(row["task"], []).append(row["score"])
    means = sorted((sum(own) / len(own), task) for task, own in scores.items())
    failing = [one for one in means if one[0] < 1]
    more = f"\n  and {len(failing) - _MOST_LISTED:,} more" if len(failing) > _MOST_LISTED else ""
    return "".join(f"\n  {mean:.2f} {task}" for mean, task in failing[:_MOST_LISTED]) + more
