import json
import re

import pytest

from howsure.charts.theme import DARK, LIGHT, PALETTE, PALETTE_DARK
from howsure.errors import InputError
from howsure.people import build_page, read_page, read_pages
from howsure.people.build import asset

from .page_examples import HOSTILE, study_page, track_page

WORDS_THAT_TELL = ("target", "comparison", "control", "treatment", "condition", "baseline", "experimental", "placebo")


def test_a_page_comes_back_from_its_file_as_it_was(tmp_path):
    built = study_page(texts=(HOSTILE, "b"))
    again = read_page(built.save(tmp_path / "a.html"))
    assert again == built
    assert again.digest == built.digest
    assert build_page(built.page).digest == built.digest


def test_hostile_texts_cannot_leave_their_place_in_the_source():
    html = study_page(texts=(HOSTILE, "b")).html({"rater": HOSTILE, "draft": None, "receipt": None})
    assert html.count("<script") == html.count("</script>") == 4
    assert "<img" not in html
    assert "<!--" not in html
    assert "\u2028" not in html


def test_the_policy_names_just_the_script_and_style_inside_and_no_page_reaches_out():
    html = study_page().html()
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', html)[1].replace("&#39;", "'")
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    assert "connect-src 'self'" in study_page().html({"rater": "r1"}).replace("&#39;", "'")
    assert not re.findall(r'\b(?:src|href)="(?!data:,)', html)
    assert not re.findall(r"https?://(?!www\.w3\.org/1998/Math/MathML)", html)  # the name of formulas is no address


def test_the_runtime_holds_no_word_that_could_name_a_condition():
    runtime = "".join(asset(name) for name in ("page.html", "page.css")) + study_page().html().split('id="session"')[1]
    assert [word for word in WORDS_THAT_TELL if word in runtime.lower()] == []


def test_the_runtime_never_makes_markup_of_text():
    script = study_page().html().split('id="session"')[1]
    assert not re.findall(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function|setAttribute\(.style", script
    )


def test_pages_differ_only_where_their_content_differs():
    one, two = study_page("r1").html(), study_page("r2").html()
    strip = re.compile(r'(?s)<script type="application/json" id="content">.*?</script>|data-digest="\w+"')
    assert strip.sub("", one) == strip.sub("", two)
    assert one != two


def test_two_raters_get_names_that_cannot_be_matched_and_orders_of_their_own():
    pages = [study_page(f"r{n}", n_items=4).page for n in range(6)]
    assert len({screen.id for page in pages for screen in page.screens}) == 6 * len(pages[0].screens)
    assert len({tuple(p.text for s in page.screens for p in getattr(s, "passages", ())) for page in pages}) > 1


def test_a_page_wears_the_same_colours_as_charts():
    light, dark = re.findall(r":root \{(.*?)\}", asset("page.css"), re.DOTALL)
    for css, colors, palette in ((light, LIGHT, PALETTE), (dark, DARK, PALETTE_DARK)):
        assert all(f"--{name}: {color};" in css for name, color in {**colors, "accent": palette[0]}.items())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<p>hello", "not a page made by Howsure"),
        ('<script type="application/json" id="content">{"a":</script>', "damaged"),
        ('<script type="application/json" id="content">{"title":"x"}</script>', "Build it again"),
    ],
)
def test_other_files_are_refused_in_one_line(text, reason, tmp_path):
    (tmp_path / "x.html").write_text(text)
    with pytest.raises(InputError, match=reason) as caught:
        read_page(tmp_path / "x.html")
    assert "\n" not in str(caught.value)


def test_a_folder_without_pages_is_refused(tmp_path):
    with pytest.raises(InputError, match="no folder with pages"):
        read_pages(tmp_path)
    (tmp_path / "x.html").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="UTF-8"):
        read_pages(tmp_path)


def test_content_written_by_an_older_version_keeps_its_digest(tmp_path):
    built = track_page()
    content = json.loads(built.content)
    del content["settings"]  # as if the field had not existed
    older = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    path = tmp_path / "old.html"
    path.write_text(f'<script type="application/json" id="content">{older}</script>')
    assert read_page(path).content == older
    assert read_page(path).digest != built.digest
