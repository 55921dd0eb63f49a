"""Texts that a user can see use the words of a textbook, not those of a private dialect."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# What was once written here, and what a reader understands at once.
INSTEAD = {
    r"(hold|holds|held) the truth": "contain the true value",
    r"(?<![`.])planted": "true (simulated)",
    r"told from none": "statistically significant",
    r"(hold|holds|held|holding) against": "compare with",
    r"yardsticks?": "baseline",
    r"(drawn|made|redrawn|counted) anew": "resampled, again",
    r"(rest|rests|resting) (up)?on": "is sensitive to, depends on",
    r"right turns?": "correct turns",
    r"at its word": "calibrated",
    r"stitched": "linked on one scale",
    r"be they|ever so": "(plain word order)",
    r"endlessly many": "in expectation",
    r"free of noise": "disattenuated",
    r"go together|goes together": "correlate; are used together",
    r"who count": "included",
    r"what it comes to": "(name the quantity)",
    r"hangs? together": "are correlated",
    r"give or take": "±",
    r"gauge": "identification constraint",
    r"broke off|broken off": "interrupted",
    r"goes? on with": "continue",
    r"one (row|line|file|entry|page|chart|number|column|score|rank|test) an? (model|task|pair|rater|learner|game|run|attempt|benchmark|"
    r"format|instrument|verb|group|row|question|step|result|design|item|subject)": "one … per …",
    r"\d+ (times|points|days|doublings) an? (year|task|model|day|month|pair|game)": "per",
    r"mend(s|ed|ing)?": "fix",
}
DIALECT = re.compile("|".join(rf"\b(?:{pattern})\b" for pattern in INSTEAD), re.IGNORECASE)
SOURCES = sorted((ROOT / "src/howsure").rglob("*.py"))
ASSETS = [path for path in sorted((ROOT / "src/howsure").rglob("assets/*")) if path.suffix in (".html", ".js")]
TEXTS = [*sorted((ROOT / "docs").rglob("*.md")), *ASSETS, *(ROOT / name for name in ("README.md", "CONTRIBUTING.md"))]


def texts_of(path):
    """Line and text of every string that has more than one word: messages, help, docstrings."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src/howsure")))
def test_texts_of_the_package_are_plain(path):
    found = [f"line {line}: {hit[0]!r}" for line, text in texts_of(path) for hit in DIALECT.finditer(text)]
    assert found == []


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_texts_of_the_documentation_are_plain(path):
    assert [hit[0] for hit in DIALECT.finditer(path.read_text(encoding="utf-8"))] == []


def test_the_check_finds_what_it_looks_for():
    assert DIALECT.search("182 of 197 intervals hold the truth")
    assert DIALECT.search("one row a model")
    assert not DIALECT.search("One row per model, which the tests hold against nothing"[:17])
