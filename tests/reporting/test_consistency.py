"""No sentence contradicts a table of the same report: examples and docs, and the check itself."""

import datetime
import re
from pathlib import Path

import pytest

from consistency import BANNED, contradictions
from howsure.estimates import Estimate
from howsure.reporting import Report, Section, TableBlock, find_reports
from howsure.results import Provenance

ROOT = Path(__file__).parents[2]
EXAMPLES = {
    "summary": ("summary", "examples/evals/attempts.csv"),
    "compare": ("compare", "examples/evals/attempts.csv"),
    "time": ("horizon", "time", "examples/horizon/time_counts.csv", "--replicates", "100"),
    "fit": ("stitch", "fit", "examples/stitch/scores.csv", "--replicates", "60"),
}


@pytest.mark.heavy
@pytest.mark.parametrize("verb", EXAMPLES)
def test_no_sentence_about_the_examples_contradicts_its_tables(verb, command, tmp_path):
    told = command(*EXAMPLES[verb], "-o", tmp_path, "--quiet", cwd=ROOT)
    assert told.returncode == 0, told.stderr
    assert not BANNED.search(told.stdout)
    (report,) = find_reports([tmp_path]).values()
    assert contradictions(report) == []


@pytest.mark.parametrize("path", sorted([*ROOT.glob("docs/**/*.md"), ROOT / "README.md"]), ids=lambda path: path.name)
def test_the_docs_quote_no_such_sentence(path):
    quoted = re.findall(r"```output\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    assert not [text for text in quoted if BANNED.search(text)]


def a_report(blocks, found=(), unknown=()):
    section = Section("One", blocks, found=found, unknown=unknown)
    return Report("Title", [section], Provenance({}), datetime.date(2026, 1, 2))


PAIRS = TableBlock(("A", "B", "P(A > B)"), [("a", "b", ">0.999"), ("b", "c", "0.600")], "Pairs.")
MEANS = TableBlock(("Model", "Mean"), [("a", Estimate(0.7, 0.6, 0.8)), ("b", Estimate(0.5, 0.4, 0.6))], "Means.")
TESTS = TableBlock(("A", "B", "p, corrected"), [("a", "b", "<0.001"), ("a", "c", "0.080")], "Tests.")

HOLM = TableBlock(("a", "b", "p (Holm)"), [("a", "b", "<0.001")], "Differences.")


def verdict(shown, said):
    return TableBlock(("Criterion", "Estimate", "Verdict"), [("domain pattern ≥ 0", shown, said)], "Verdicts.")


@pytest.mark.parametrize(
    "report",
    [
        a_report([PAIRS], unknown=["Score: whether a is truly ahead of b; their intervals overlap."]),
        a_report([PAIRS], unknown=["Score: whether a is higher than b. P(a > b) > 0.999."]),
        a_report([PAIRS], unknown=["Score: whether a is higher than b. P(a > b) = 0.700."]),
        a_report([PAIRS], found=["Score: b is higher. P(b > c) = 0.600."]),
        a_report([PAIRS], found=["Score: a is higher. P(a > z) = 0.980."]),
        a_report(
            [MEANS],
            found=["Mean: b has the highest estimate, 0.50 [0.40, 0.60], followed by a with 0.70 [0.60, 0.80]."],
        ),
        a_report(
            [TESTS], found=["2 of 2 differences between models are statistically significant (Holm-corrected, 5%)."]
        ),
        a_report(
            [HOLM],
            found=[
                "Turns: a has the highest estimate, 9 [8, 10], followed by b with 7 [6, 8]. Test: p = 0.030, corrected."
            ],
        ),
        a_report([HOLM], unknown=["Turns: whether a is higher than b. Test: p < 0.001, corrected."]),
        a_report(
            [verdict("0.14 [0.00, 0.28]", "inconclusive")],
            unknown=["Study: whether the criterion on domain pattern is met; so."],
        ),
        a_report([verdict("0.14 [-0.01, 0.28]", "inconclusive")]),
        a_report([TableBlock(("A", "p"), [("a", "0.000")], "p.")]),
        a_report([TableBlock(("Model", "Best rank"), [("a", 1)], "Ranks.")]),
    ],
)
def test_contradictions_are_found(report):
    assert len(contradictions(report)) == 1


def test_what_fits_is_no_contradiction():
    found = [
        "Score: a has the highest estimate, 0.70 [0.60, 0.80], followed by b with 0.50 [0.40, 0.60]. P(a > b) > 0.999.",
        "1 of 2 differences between models are statistically significant (Holm-corrected, 5%).",
    ]
    unknown = [
        "Score: whether b is higher than c. P(b > c) = 0.600.",
        "Study: whether the criterion on domain pattern is met; so.",
    ]
    blocks = [PAIRS, MEANS, TESTS, verdict("0.14 [-0.01, 0.28]", "inconclusive")]
    assert contradictions(a_report(blocks, found, unknown)) == []
