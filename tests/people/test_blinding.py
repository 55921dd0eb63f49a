import random
import re
import unicodedata

import pytest

from howsure.people.blinding import hide, is_blank, new_salt, normal_number, normal_text, opaque_id
from howsure.people.build import asset
from howsure.people.strict_json import canonical, digest


def test_opaque_names_repeat_with_the_secret_and_tell_nothing_without_it():
    assert opaque_id("s", "rater 1", "pair 1") == opaque_id("s", "rater 1", "pair 1")
    names = {opaque_id("s", rater, pair) for rater in range(50) for pair in range(50)} | {opaque_id("t", 0, 0)}
    assert len(names) == 2501
    assert all(re.fullmatch("[a-z2-7]{16}", name) for name in names)
    assert opaque_id("s", "ab", "c") != opaque_id("s", "a", "bc")


def test_the_same_answer_is_hidden_differently_by_salt_and_place():
    salt = new_salt()
    assert hide(salt, 0, "5") == hide(salt, "0", "5")
    assert len({hide(salt, 0, "5"), hide(salt, 1, "5"), hide(salt, 0, "6"), hide(new_salt(), 0, "5")}) == 4


@pytest.mark.parametrize(
    ("text", "decimals", "normal"),
    [
        ("7", 0, "7"),
        ("007", 0, "7"),
        (" +7 ", 0, "7"),
        ("-0", 0, "0"),
        ("\u22125", 0, "-5"),
        ("７", 0, "7"),
        ("7.50", 2, "7.5"),
        ("7,5", 1, "7.5"),
        ("7.", 1, "7"),
        ("7.0", 0, None),
        ("1,000", 2, None),
        ("7.55", 1, None),
        ("1e3", 3, None),
        ("٣", 0, None),
        (".5", 1, None),
        ("", 0, None),
        ("NaN", 0, None),
        ("9" * 16, 0, None),
    ],
)
def test_numbers_have_one_form(text, decimals, normal):
    assert normal_number(text, decimals) == normal


def test_the_browser_and_python_agree_on_every_form(browser_page, tmp_path):
    """Typed answers, canonical texts and digests come out the same on both sides, for thousands of odd texts."""
    random_ = random.Random(4)
    texts = [_odd_text(random_) for _ in range(1000)] + _odd_numbers(random_)
    (tmp_path / "empty.html").write_text("<!doctype html><title>x</title>")
    page = browser_page(tmp_path / "empty.html")
    code = asset("sha256.js") + asset("answers.js")
    report = "texts.map((t) => [isBlank(t), normalText(t), normalNumber(t, 2), canonical({ t }), sha256(canonical({ t })), hidden('s', 3, t)])"
    there = page.evaluate(f"(texts) => {{ {code}; return {report}; }}", texts)
    here = [
        [is_blank(t), normal_text(t), normal_number(t, 2), canonical({"t": t}), digest({"t": t}), hide("s", 3, t)]
        for t in texts
    ]
    assert there == here


def test_half_a_letter_becomes_a_mark_before_it_is_recorded(browser_page, tmp_path):
    (tmp_path / "empty.html").write_text("<!doctype html><title>x</title>")
    page = browser_page(tmp_path / "empty.html")
    code = asset("sha256.js") + asset("answers.js")
    assert (
        page.evaluate(f'() => {{ {code}; return whole("a\\ud83d \\ud83d\\ude00 \\ude00"); }}')
        == "a\ufffd \U0001f600 \ufffd"
    )


def _odd_text(random_):
    ranges = [
        (0x00, 0x7F),
        (0x80, 0x24F),
        (0x370, 0x5FF),
        (0x1E00, 0x206F),
        (0x3000, 0x30FF),
        (0xFB00, 0xFFEF),
        (0x1F300, 0x1F6FF),
    ]
    letters = (chr(random_.randint(*random_.choice(ranges))) for _ in range(random_.randint(0, 70)))
    return "".join(letter for letter in letters if unicodedata.category(letter) not in ("Cn", "Cs"))


def _odd_numbers(random_):
    return ["".join(random_.choices("0123456789+-−., \u00a0５", k=random_.randint(0, 6))) for _ in range(1000)]
