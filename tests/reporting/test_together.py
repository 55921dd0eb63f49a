"""Results saved by verbs are gathered in one page, as they were."""

import datetime

import pytest

from howsure.errors import InputError
from howsure.estimates import Estimate
from howsure.evals.simulator import simulate
from howsure.evals.summaries import summary
from howsure.reporting import (
    ChartBlock,
    Download,
    KeyNumbers,
    Method,
    Report,
    Section,
    TableBlock,
    Text,
    find_reports,
    render,
    save_report,
    together,
)
from howsure.results.storage import write_value

TODAY = datetime.date(2026, 1, 2)


@pytest.fixture(scope="module")
def report():
    found = summary(simulate(seed=1).attempts)
    blocks = [
        Text("words"),
        KeyNumbers({"a": Estimate(0.5, 0.4, 0.6), "b": "text", "c": Estimate.without("too_few", "why")}),
        TableBlock(("x", "y"), [(1, Estimate(2, 1, 3)), (None, TODAY), (True, 0.5)], "rows"),
        ChartBlock(found.chart()),
        Method("how"),
        Download("rows.csv", "a,b\n1,2\n"),
    ]
    section = Section("One", blocks, found=["amber leads."], unknown=["Whether basalt is better."])
    return Report("Title", [section], found.provenance, TODAY, [Text("front")])


def test_a_saved_report_renders_as_it_did(report, tmp_path):
    page = save_report(report, tmp_path / "report.html")
    (path, again), *others = find_reports([tmp_path]).items()
    assert not others
    assert path.name == "report.sections.json"
    assert render(again) == page.read_text() == render(report)


def test_many_in_one_say_what_was_found_and_what_is_not_known(report, tmp_path):
    for name in ("a", "b"):
        save_report(report, tmp_path / name / "report.html")
    page = together(find_reports([tmp_path / "a", tmp_path / "b"]), date=TODAY)
    assert [section.title for section in page.sections] == ["One", "Settings of each result"]  # the same result once
    html = render(page)
    front = html[html.index('class="front"') : html.index('class="part"')]
    assert '<li class="known" dir="auto"><b>Result</b> amber leads.</li>' in front
    assert '<li class="open" dir="auto"><b>Not decided</b> Whether basalt is better.</li>' in front
    assert front.count("amber leads.") == 1
    assert [row[1] for row in page.sections[-1].blocks[0].rows] == ["a", "b"]


def test_a_folder_without_results_and_a_broken_file_are_told(tmp_path):
    with pytest.raises(InputError, match="contains no saved result"):
        find_reports([tmp_path])
    (tmp_path / "report.sections.json").write_text("{}")
    with pytest.raises(InputError, match=r"report\.sections\.json: contains no sections"):
        find_reports([tmp_path])


def test_a_result_without_sections_is_shown_too(tmp_path):
    found = summary(simulate(seed=1).attempts)
    found.save(tmp_path)
    (report,) = find_reports([tmp_path]).values()
    assert render(report) == render(
        Report(report.title, found.sections(), found.provenance, report.date, found.opening())
    )
    assert list(find_reports([tmp_path / "summary.result.zip"])) == [tmp_path / "summary.result.zip"]


def test_what_an_interrupted_check_keeps_is_no_result(tmp_path):
    write_value(summary(simulate(seed=1).attempts), tmp_path / "unfinished" / "0a1b.result.zip")
    with pytest.raises(InputError, match="contains no saved result"):
        find_reports([tmp_path])


def test_the_command_gathers_what_verbs_wrote(tmp_path, command):
    path = simulate(seed=2).attempts.write(tmp_path / "attempts.csv")
    assert command("summary", path, "-o", tmp_path / "out").returncode == 0
    told = command("report", tmp_path / "out", "-o", tmp_path / "all.html")
    assert told.returncode == 0, told.stderr
    assert "<h1" in (tmp_path / "all.html").read_text()
