"""Any study: from `init` to tables, in a real browser and with simulated raters whose true values are known."""

import csv
import json
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import httpx
import numpy as np
import polars as pl
import pytest
import yaml

from howsure.errors import InputError
from howsure.people import digest
from howsure.people.words import Words, read_words
from howsure.study.item_studies import ItemStudy, read_study
from howsure.study.packet.building import StudyPacket, build
from howsure.study.packet.preflight import check
from howsure.study.packet.simulated_raters import ItemCrowd, rate_items
from howsure.study.presets import PRESETS, init, preset_text, study_schema
from howsure.study.protocol import Study
from howsure.study.scoring.collection import collect
from howsure.tables import Ratings, Votes

from .item_walk import heading, walk
from .study_examples import EXAMPLE

ITEM_PRESETS = [name for name in PRESETS if name != "persona"]
RESPONSES = {"a": "First.", "b": "Second.", "c": "Third."}


def item_study(questions, items=None, **given):
    items = items or [{"id": f"i{n}", "prompt": f"Question {n}?", "responses": RESPONSES} for n in range(4)]
    return ItemStudy.model_validate({"title": "T", "items": items, "questions": questions, "seed": 3} | given)


def collected(study, folder, *, seed=1, crowd=None, **given):
    """Built, filled in by simulated raters, and collected."""
    build(study, **given).save(folder / "packet")
    drawn = rate_items(folder / "packet", seed=seed, crowd=crowd)
    drawn.save_answers(folder / "answers")
    return collect([folder / "answers"], folder / "packet/key.json"), drawn


# starting


def test_every_preset_works_at_once_and_the_example_is_the_persona_preset(tmp_path):
    assert preset_text("persona") == EXAMPLE.read_text()
    for name in PRESETS:
        paths = init(tmp_path / name, name)
        study = read_study(paths[0])
        assert isinstance(study, Study if name == "persona" else ItemStudy)
        assert check(study).is_ready
        with pytest.raises(InputError, match="already there"):
            init(tmp_path / name, name)
    assert study_schema()["then"]["properties"]["questions"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"questions": [{"name": "q", "type": "pairwise", "question": "?"}], "show": "one"}, "needs show: pairs"),
        ({"questions": [{"name": "q", "type": "category", "question": "?"}]}, "needs labels"),
        ({"questions": [{"name": "q", "type": "slider", "question": "?", "labels": ["a"]}]}, "two labels"),
        ({"questions": [{"name": "q", "type": "rating", "question": "?", "high": 30}]}, "type: slider"),
        ({"questions": [{"name": "guess", "type": "rating", "question": "?"}]}, "reserved"),
        ({"items": [{"id": "x"}]}, "needs either a text or responses"),
        ({"items": [{"id": "x", "responses": {"again": "t", "b": "u"}}]}, "reserved"),
        ({"screening": [{"question": "?", "options": ["a", "b"], "admits": ["a", "b"]}]}, "screens nobody"),
        ({"markup": "html"}, "plain"),
        ({"items": []}, "items: has no entries"),
        ({"items": [{"id": "x", "responses": {"a": "t", "b": ""}}]}, "items.0.responses.b: is empty"),
        (
            {"show": "all", "items": [{"id": "x", "responses": {f"s{n}": "t" for n in range(20)}}]},
            "2 to 12 are needed for show: all",
        ),
        ({"colour": "red"}, "not a field"),
    ],
)
def test_faults_are_named_with_their_line(tmp_path, change, told):
    base = {
        "title": "T",
        "questions": [{"name": "q", "type": "rating", "question": "?"}],
        "items": [{"id": "i", "text": "t"}],
    }
    path = tmp_path / "study.yaml"
    path.write_text(yaml.safe_dump(base | change, sort_keys=False))
    with pytest.raises(InputError, match=r"study\.yaml line \d+") as error:
        read_study(path)
    assert told in str(error.value)


# building


def test_twenty_systems_are_compared_two_at_a_time():
    items = [{"id": "i", "responses": {f"s{n:02d}": f"Text {n}." for n in range(20)}}]
    study = item_study([{"name": "better", "type": "pairwise", "question": "?"}], items)
    assert len(study.units) == 190
    shown = [one.item for row in build(study, design="190x1/10").shown for one in row]
    assert sorted(shown) == sorted(unit.id for unit in study.units)


def test_pages_tell_neither_items_nor_systems(tmp_path):
    study = read_study(Path(init(tmp_path, "pairwise")[0]))
    packet = build(study)
    for built in packet.pages:
        for name in (*study.systems, *(item.id for item in study.items)):
            assert f'"{name}"' not in built.content
    units = {unit.id: unit for unit in study.units}
    first = {}
    for row in packet.shown:
        for one in row:
            if one.item in units:
                first.setdefault(one.item, []).append(one.systems[0])
    for unit, leads in first.items():
        counts = [leads.count(system) for system in units[unit].systems]
        assert max(counts) - min(counts) <= 1
    assert StudyPacket.load(packet.save(tmp_path / "p")[0].parent).shown == packet.shown


def test_the_key_of_a_response_is_its_number():
    """Keys choose options by their place: a tie between the two responses would make 2 a tie, and 3 Response 2."""
    study = item_study([{"name": "q", "type": "pairwise", "question": "?", "ties": True, "both_bad": True}])
    screen = next(one for one in build(study, n_raters=1).pages[0].page.screens if one.kind == "item")
    titles = [passage.label for passage in screen.passages]
    assert [option.label for option in screen.questions[0].options][:2] == titles


def test_two_screens_of_one_item_do_not_follow_each_other():
    study = item_study([{"name": "q", "type": "rating", "question": "?"}])
    for row in build(study, n_raters=6).shown:
        items = [one.item.partition("/")[0] for one in row]
        assert all(one != other for one, other in pairwise(items))


# collecting


def test_each_type_of_question_comes_back_as_it_was_answered(tmp_path):
    questions = [
        {"name": "rate", "type": "rating", "question": "?", "of": "response", "labels": ["x", "y", "z"]},
        {"name": "order", "type": "ranking", "question": "?", "top": 2},
        {"name": "ends", "type": "best_worst", "question": "?"},
        {"name": "kind", "type": "category", "question": "?", "labels": ["p", "q"]},
        {"name": "tags", "type": "labels", "question": "?", "labels": ["u", "v"]},
        {"name": "fine", "type": "yes_no", "question": "?"},
        {"name": "why", "type": "text", "question": "?"},
    ]
    packet = build(item_study(questions), n_raters=2)
    packet.save(tmp_path / "packet")
    built = packet.pages[0]
    placed = packet.key.placed("r01")
    order = ["c", "a"]
    body = json.loads(rate_items(tmp_path / "packet", seed=1).answers[0])
    for name, record in body["screens"].items():
        if name in placed:
            slots = {system: "abc"[slot] for slot, system in enumerate(placed[name].systems)}
            ratings = {
                f"rate_{slot}": {"a": 1, "b": 2, "c": 3}[system] for slot, system in enumerate(placed[name].systems, 1)
            }
            ends = {"ends_best": slots["b"], "ends_worst": slots["c"]}
            record["answers"] = {**ratings, "order": [slots[one] for one in order], **ends}
            record["answers"] |= {"kind": "b", "tags": ["b"], "fine": "yes", "why": "=cmd|' /C calc'!A0"}
    body["digest"] = _digest(body)
    (tmp_path / "one.json").write_text(json.dumps(body))
    found = collect([tmp_path / "one.json"], tmp_path / "packet/key.json")
    rates = found.ratings.frame.filter(pl.col("dimension") == "rate")
    assert dict(zip(rates["system"], rates["value"], strict=True)) == {"a": 1.0, "b": 2.0, "c": 3.0}
    assert set(rates["cluster"]) == {"i0", "i1", "i2", "i3"}
    ranks = found.rankings.filter(pl.col("dimension") == "order")
    assert {(row["system"], row["rank"]) for row in ranks.to_dicts()} == {("c", 1), ("a", 2), ("b", 3)}
    ends = found.rankings.filter(pl.col("dimension") == "ends")
    assert {(row["system"], row["rank"]) for row in ends.to_dicts()} == {("b", 1), ("a", 2), ("c", 3)}
    assert set(found.categories.frame["value"]) == {"q"}
    binary = found.ratings.frame.filter(pl.col("dimension").str.starts_with("tags") | (pl.col("dimension") == "fine"))
    assert {(row["dimension"], row["value"]) for row in binary.to_dicts()} == {
        ("tags:u", 0.0),
        ("tags:v", 1.0),
        ("fine", 1.0),
    }
    found.save(tmp_path / "out")
    with (tmp_path / "out/texts.csv").open(newline="") as file:
        cells = [row["text"] for row in csv.DictReader(file)]
    assert all(not cell.startswith(("=", "+", "-", "@")) for cell in cells)  # a spreadsheet sees no formula
    assert built.page.rater == "r01"


def _digest(body):
    return digest({name: value for name, value in body.items() if name != "digest"})


def test_a_response_that_a_rater_meets_in_several_pairs_keeps_each_of_its_ratings(tmp_path):
    asked = [
        {"name": "better", "type": "pairwise", "question": "?"},
        {"name": "good", "type": "rating", "question": "{response}?", "of": "response"},
        {"name": "kind", "type": "category", "question": "{response}?", "of": "response", "labels": ["x", "y"]},
    ]
    found, _ = collected(item_study(asked, repeats=1), tmp_path, n_raters=4)
    assert found.refused == ()
    assert len(found.votes) == 4 * (4 * 3 + 1)
    for table in (found.ratings.frame, found.categories.frame):
        first = table.filter(~pl.col("item").str.ends_with("/again"))
        assert len(table) == 2 * len(found.votes)
        assert first.group_by("item").len()["len"].unique().to_list() == [4]  # every rater, once in each pair
        assert set(first.filter(cluster="i0", system="a")["item"]) == {"i0/a+b/a", "i0/a+c/a"}


@pytest.mark.parametrize("name", ITEM_PRESETS)
def test_simulated_raters_answer_every_preset(tmp_path, name):
    study = read_study(init(tmp_path / "study", name)[0])
    found, drawn = collected(study, tmp_path)
    assert found.refused == ()
    assert len(found.raters) == len(drawn.raters)
    assert found.raters["complete"].to_list() == [1.0] * len(found.raters)
    expected = {"likert": "ratings", "pairwise": "votes", "ranking": "rankings", "labels": "categories"}[name]
    assert expected in found.tables
    for kind, table in ((Ratings, found.ratings), (Ratings, found.categories), (Votes, found.votes)):
        assert table is None or isinstance(table, kind)


def test_blocks_meet_their_quota_within_one_and_the_means_recover_the_order(tmp_path):
    """50 items, 8 ratings each, 12 per rater: quotas, and the true order of systems."""
    items = [{"id": f"i{n}", "responses": {"good": f"Good {n}.", "bad": f"Bad {n}."}} for n in range(25)]
    study = item_study([{"name": "q", "type": "rating", "question": "?", "high": 7}], items)
    found, drawn = collected(study, tmp_path, design="50x8/12", crowd=ItemCrowd(spread=2.0))
    counts = found.ratings.frame.group_by("item").len()["len"]
    assert (len(counts), counts.min(), counts.max()) == (50, 8, 9)
    means = dict(found.ratings.frame.group_by("system").agg(pl.col("value").mean()).iter_rows())
    assert means["good"] > means["bad"] + 1
    assert drawn.quality() == {"good": 1.0, "bad": -1.0}


def test_votes_follow_the_model_they_were_drawn_from(tmp_path):
    """The share of votes for the first of two equal systems is that of Davidson's model with the position effect."""
    items = [{"id": f"i{n}", "responses": {"a": f"A {n}.", "b": f"B {n}."}} for n in range(40)]
    study = item_study([{"name": "better", "type": "pairwise", "question": "?"}], items)
    crowd = ItemCrowd(spread=0.0, item_spread=0.0, first=0.5)
    found, _ = collected(study, tmp_path, n_raters=30, crowd=crowd)
    shares = dict(found.votes.frame.group_by("outcome").len().iter_rows())
    n, weights = sum(shares.values()), np.array([np.exp(0.5), 1.0, 0.6 * np.exp(0.25)])
    expected = dict(zip(["a", "b", "tie"], weights / weights.sum(), strict=True))
    for outcome, share in expected.items():
        assert abs(shares[outcome] / n - share) < 4 * np.sqrt(share * (1 - share) / n)


def test_packets_of_one_study_are_merged_and_others_refused(tmp_path):
    study = item_study([{"name": "q", "type": "rating", "question": "?"}])
    for number in (1, 2):
        again = study.model_copy(update={"seed": number})
        build(again, n_raters=2).save(tmp_path / f"p{number}")
        rate_items(tmp_path / f"p{number}", seed=number).save_answers(tmp_path / f"a{number}")
    keys = [tmp_path / "p1/key.json", tmp_path / "p2/key.json"]
    found = collect([tmp_path / "a1", tmp_path / "a2"], keys)
    assert found.raters["rater"].to_list() == ["p1:r01", "p1:r02", "p2:r01", "p2:r02"]
    other = item_study([{"name": "other", "type": "rating", "question": "?"}])
    build(other, n_raters=2).save(tmp_path / "p3")
    with pytest.raises(InputError, match="of another study"):
        collect([tmp_path / "a1"], [keys[0], tmp_path / "p3/key.json"])


def test_an_export_without_names_identifies_nobody(tmp_path):
    study = item_study(
        [{"name": "q", "type": "rating", "question": "?"}, {"name": "why", "type": "text", "question": "?"}],
        demographics=[{"name": "town", "question": "Where do you live?"}],
    )
    packet = build(study, n_raters=6)
    packet.save(tmp_path / "packet")
    for text in rate_items(tmp_path / "packet", seed=1).answers:
        body = json.loads(text)
        for record in body["screens"].values():
            if "q" in record.get("answers", {}):
                record["answers"]["why"] = "I am Ada Lovelace"
            elif record["kind"] == "item" and not record["answers"]:
                screen = next(
                    s
                    for b in packet.pages
                    for s in b.page.screens
                    if s.id in body["screens"] and body["screens"][s.id] is record
                )
                record["answers"] = {screen.questions[0].name: "Ada of Ockham"}
        body["digest"] = _digest(body)
        (tmp_path / f"{body['rater']}.json").write_text(json.dumps(body))
    found = collect(sorted(tmp_path.glob("r*.json")), tmp_path / "packet/key.json")
    assert set(found.about_raters["answer"]) == {"Ada of Ockham"}
    bare = found.without_names(seed=5)
    told = json.dumps(bare.as_dict(), default=str)
    for secret in ("Ada", "Ockham", "r01", *found.raters["digest"]):
        assert secret not in told
    assert sorted(bare.raters["rater"]) == [f"p{n}" for n in range(1, 7)]
    assert len(bare.ratings) == len(found.ratings)
    assert bare.raters["rater"].to_list() == sorted(bare.raters["rater"])  # the order tells nothing either


# words


def test_a_page_speaks_german_and_any_translation(tmp_path, browser_page):
    study = item_study([{"name": "q", "type": "yes_no", "question": "Stimmt das?"}], language="de", consent="Ja?")
    page = browser_page(build(study, n_raters=1).pages[0].save(tmp_path / "de.html"))
    assert heading(page) == "Bevor Sie beginnen"
    page.locator("input").check()
    page.get_by_role("button", name="Weiter").click()
    page.get_by_role("button", name="Weiter").click()
    assert page.locator(".option span").all_inner_texts() == ["Ja", "Nein"]
    assert "Aufgabe 1 von 12" in heading(page)
    (tmp_path / "words.yaml").write_text("next: Prossimo\nplace: Passo {number} di {total}\n")
    words = read_words(tmp_path / "words.yaml")
    italian = study.model_copy(update={"language": "it", "words": words})
    page = browser_page(build(italian, n_raters=1).pages[0].save(tmp_path / "it.html"))
    assert page.locator("#place").inner_text() == "Passo 1 di 16"
    assert page.get_by_role("button", name="Prossimo").count() == 1
    (tmp_path / "bad.yaml").write_text("place: Passo {numero}\n")
    with pytest.raises(InputError, match=r"no blank \{numero\}"):
        read_words(tmp_path / "bad.yaml")


def test_a_page_in_a_language_from_right_to_left_is_laid_out_so(tmp_path, browser_page):
    items = [{"id": "i", "prompt": "سؤال؟", "responses": {"a": "نص أول", "b": "A second text."}}]
    study = item_study([{"name": "better", "type": "pairwise", "question": "أيهما أفضل؟"}], items, language="ar")
    page = browser_page(build(study, n_raters=1).pages[0].save(tmp_path / "p.html"), width=400)
    page.locator(".next").click()
    ways = "[...document.querySelectorAll('html, .option, .box')].map((one) => getComputedStyle(one).direction)"
    assert sorted(page.evaluate(ways)) == ["ltr", *["rtl"] * 5]  # a text keeps its own direction
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_both_bundled_languages_say_everything_with_the_same_blanks():
    english, german = (Words.of(code).texts for code in ("en", "de"))
    assert set(english) == set(german)
    for name, text in english.items():
        assert _blanks(text) == _blanks(german[name]), name


def _blanks(text):
    forms = text.values() if isinstance(text, dict) else [text]
    return {blank for one in forms for blank in re.findall(r"\{[a-z]+\}", one)}


# in a browser


def test_whoever_has_read_the_debriefing_changes_no_answer(tmp_path, browser_page):
    items = [{"id": "i", "text": "One."}]
    asked = [{"name": "q", "type": "yes_no", "question": "Is it?"}]
    study = item_study(asked, items, debriefing="It was a trick.", comments=False)
    page = browser_page(build(study, n_raters=1).pages[0].save(tmp_path / "p.html"))
    page.locator(".next").click()
    assert page.locator(".back").is_visible()
    page.locator("input").first.check()
    page.locator(".next").click()
    assert heading(page) == "What this study is about"
    assert page.locator(".prose").all_inner_texts() == [
        "Your answers are complete and can no longer be changed.",
        "It was a trick.",
    ]
    assert page.locator(".back").is_hidden()
    page.reload()
    assert heading(page) == "What this study is about"
    assert page.locator(".back").is_hidden()
    page.locator(".next").click()
    assert "go back" not in page.locator("main").inner_text()
    page.get_by_role("button", name="Finish").click()
    assert page.locator("textarea.result").count() == 1


SCREENS = {"wide": (1280, "light"), "narrow": (400, "dark")}


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("name", "screen"),
    [
        # both screens once here, every study on both in `make evidence`
        pytest.param(name, screen, marks=[] if screen == "narrow" or name == "likert" else pytest.mark.evidence)
        for name in PRESETS
        for screen in SCREENS
    ],
)
def test_five_studies_from_init_to_tables_in_a_browser(tmp_path, browser_page, axe, name, screen):
    """Every kind of screen: nothing overflows, the audit is clean, answers come back."""
    study = read_study(init(tmp_path / "study", name)[0])
    build(study).save(tmp_path / "packet")
    answers = tmp_path / "answers"
    answers.mkdir()

    def look(page, title):
        assert axe(page) == [], title
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), title

    width, scheme = SCREENS[screen]
    page = browser_page(tmp_path / "packet/r01.html", width=width, scheme=scheme)
    assert walk(page, 1, look)[-1] == "Thank you"
    (answers / "r01.json").write_text(page.locator("textarea.result").input_value())
    found = collect([answers], tmp_path / "packet/key.json")
    assert found.refused == ()
    assert found.raters["complete"].to_list() == [1.0]


def test_new_questions_by_keyboard_alone_and_after_a_reload(tmp_path, browser_page):
    questions = [
        {"name": "order", "type": "ranking", "question": "Order?"},
        {"name": "tags", "type": "labels", "question": "Tags?", "labels": ["u", "v"]},
        {"name": "good", "type": "slider", "question": "Good?", "low": 0, "labels": ["bad", "good"]},
    ]
    page = browser_page(build(item_study(questions), n_raters=1).pages[0].save(tmp_path / "p.html"))
    page.keyboard.press("Enter")  # the task
    page.keyboard.press("Control+Enter")
    assert "Put 3 in order." in page.locator(".trouble").first.inner_text()
    for key in ("3", "1", "2"):  # digits rank
        page.keyboard.press(key)
    assert page.locator(".rank").all_inner_texts() == ["2.", "3.", "1."]
    page.locator(".labels input").first.focus()
    page.keyboard.press("2")
    assert page.locator(".labels input").nth(1).is_checked()
    page.keyboard.press("3")  # none of these takes the others back
    assert [box.is_checked() for box in page.locator(".labels input").all()] == [False, False, True]
    page.locator(".slider input").focus()
    assert page.locator(".slider-value").inner_text() == "Not set yet"
    page.keyboard.press("Control+Enter")
    assert heading(page) == "Item 1 of 4"
    page.keyboard.press("ArrowRight")
    page.reload()
    assert page.locator(".slider-value").inner_text() == "Set to 51"
    assert page.locator(".rank").all_inner_texts() == ["2.", "3.", "1."]
    page.keyboard.press("Control+Enter")
    assert heading(page) == "Item 2 of 4"


def test_spans_are_marked_by_keyboard_and_removed(tmp_path, browser_page):
    items = [{"id": "t", "text": "Dana met 😀 Omar in Lund."}]
    study = item_study([{"name": "named", "type": "span", "question": "Who?", "labels": ["person", "place"]}], items)
    build(study, n_raters=1).save(tmp_path / "packet")
    page = browser_page(tmp_path / "packet/r01.html")
    page.keyboard.press("Enter")
    page.locator(".word").first.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="place", exact=True).click()
    page.locator(".word", has_text="Lund").click()
    page.locator(".word", has_text="Lund").click()
    assert page.locator(".mark").all_inner_texts() == ["person: “Dana” ✕", "person: “😀 Omar” ✕", "place: “Lund.” ✕"]
    page.get_by_role("button", name="Remove: person, “Dana”").click()
    for _ in range(3):
        page.locator(".moves .next").last.click()
    (tmp_path / "a.json").write_text(page.locator("textarea.result").input_value())
    found = collect([tmp_path / "a.json"], tmp_path / "packet/key.json")
    assert found.spans.select("start", "end", "label", "text").rows() == [
        (9, 15, "person", "😀 Omar"),
        (19, 24, "place", "Lund."),
    ]


def test_best_and_worst_must_differ(tmp_path, browser_page):
    study = item_study([{"name": "ends", "type": "best_worst", "question": "Which?"}])
    page = browser_page(build(study, n_raters=1).pages[0].save(tmp_path / "p.html"))
    page.keyboard.press("Enter")
    for key in ("1", "1", "Enter"):
        page.keyboard.press(key)
    assert page.locator(".trouble").nth(1).inner_text() == "Choose another one here than above."


def test_a_screening_ends_the_page(tmp_path, browser_page):
    screening = [{"question": "Fluent?", "options": ["Yes", "No"], "admits": ["Yes"]}]
    study = item_study([{"name": "q", "type": "yes_no", "question": "?"}], screening=screening)
    build(study, n_raters=2).save(tmp_path / "packet")
    page = browser_page(tmp_path / "packet/r01.html")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    assert heading(page) == "Thank you for your interest"
    page.reload()
    assert heading(page) == "Thank you for your interest"
    (tmp_path / "out.json").write_text(page.locator("textarea.result").input_value())
    rate_items(tmp_path / "packet", seed=1).save_answers(tmp_path / "answers")
    (tmp_path / "answers/answers-r01.json").unlink()
    found = collect([tmp_path / "out.json", tmp_path / "answers"], tmp_path / "packet/key.json")
    assert (found.n_screened_out, found.raters["rater"].to_list()) == (1, ["r02"])


@pytest.mark.heavy
@pytest.mark.parametrize("n_raters", [2, pytest.param(5, marks=pytest.mark.evidence)])
def test_raters_in_browsers_by_the_open_link(tmp_path, chromium, command, n_raters):
    """The real server, people with Prolific ids in browsers of their own, and the code at the end."""
    init(tmp_path / "study", "ranking")
    build(read_study(tmp_path / "study/study.yaml"), n_raters=n_raters).save(tmp_path / "packet")
    line = [sys.executable, "-m", "howsure", "serve", str(tmp_path / "packet"), "--port", "0", "--one-link"]
    server = subprocess.Popen([*line, "--completion-code", "CX42"], stdout=subprocess.PIPE, text=True)
    try:
        links = dict(re.findall(r"^(open|admin)\s+(\S+)$", "".join(server.stdout.readline() for _ in range(3)), re.M))
        for number in range(n_raters):
            context = chromium.new_context(viewport={"width": 400, "height": 800})
            page = context.new_page()
            page.goto(f"{links['open']}?PROLIFIC_PID=pid{number}")
            assert "pid" not in page.url
            walk(page, number)
            page.locator(".code").wait_for()
            assert "CX42" in page.locator(".code").inner_text()
            context.close()
        page = chromium.new_context(viewport={"width": 1280, "height": 900}).new_page()
        page.goto(links["admin"])
        page.get_by_text(f"{n_raters} finished, 0 begun").wait_for()
        assert f"4 of 4 items have {n_raters}" in page.locator("#quota-title").inner_text()
        exported = httpx.get(f"{links['admin']}results.jsonl").text
        page.context.close()
    finally:
        server.terminate()
        server.wait(timeout=60)
        server.stdout.close()
    (tmp_path / "results.jsonl").write_text(exported)
    assert "pid" not in exported
    told = command(
        "study", "collect", tmp_path / "results.jsonl", "--key", tmp_path / "packet/key.json", "-o", tmp_path / "out"
    )
    assert told.returncode == 0, told.stderr
    assert len(pl.read_csv(tmp_path / "out/rankings.csv")) == n_raters * 4 * 4
