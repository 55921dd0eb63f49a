"""Texts go out to reviewers on a page, and their scores come back into the attempts."""

import json

import polars as pl
import pytest

from howsure.errors import InputError, OptionError
from howsure.horizon.novices.answers import Novices, Written, review_table
from howsure.horizon.reviewing import add_reviews, make_review_pages, write_review_pages
from howsure.horizon.task_bank import Task, make_tasks
from howsure.people import Item
from howsure.people.packet import seen_record, signed_answers, write_answers
from howsure.results import Provenance

LETTER = Task(
    id="letter", domain="letters", verification_type="expert_review", prompt="Write a letter.", rubric="Kind?"
)
STORY = make_tasks(1, domains=["creative_writing"])[0]
SECRET = "drawn at random"
TEXTS = [Written(LETTER, 1, "ada", "Dear Bo."), Written(STORY, 1, "ada", "It rained."), Written(STORY, 2, "bo", "")]


@pytest.fixture
def found():
    """Texts of two learners that wait for their scores."""
    review = review_table(TEXTS, SECRET)
    about = {"kind": "human", "score": None, "family": "f", "seconds": 1.0, "mode": None, "answer": None, "position": 1}
    rows = [
        {"subject": one.by, "task": one.task.id, "attempt": 1, "domain": one.task.domain, "verification_type": one.task.verification_type, **about}
        for one in TEXTS
    ]  # fmt: skip
    schema = {"score": pl.Float64, "mode": pl.String, "answer": pl.String}
    pending = pl.DataFrame(rows, schema_overrides=schema).with_columns(
        item=pl.Series([review_table([one], SECRET)["item"][0] for one in TEXTS])
    )
    learners = pl.DataFrame({"learner": ["ada", "bo"]})
    return Novices(
        rows=pending.drop("item").clear(), learners=learners, review=review, pending=pending, refused=(), provenance=Provenance({})
    )  # fmt: skip


def items(page):
    return [screen for screen in page.page.screens if isinstance(screen, Item)]


def filled(page, choose, rater="rev"):
    """What a reviewer sends who answers each question by `choose`."""
    records = {screen.id: seen_record(screen) for screen in page.page.screens}
    for item in items(page):
        records[item.id]["answers"] = {one.name: choose(item, one) for one in item.questions}
    return signed_answers(page, rater, records)


def test_a_page_asks_for_the_points_that_no_program_checks_and_does_not_tell_who_wrote(found):
    (page,) = make_review_pages(found).values()
    shown = {item.id: item for item in items(page)}
    letter, story, empty = (shown[review_table([one], SECRET)["item"][0]] for one in TEXTS)
    assert [one.kind for one in letter.questions] == ["scale"]
    assert [one.label for one in letter.context] == ["The task", "What to go by"]
    asked = [one.text for one in story.questions]
    rubric = STORY.instance(1).rubric
    assert all(point in rubric for point in asked)
    assert len(asked) >= 3
    assert not any("words." in point and point.startswith("It has ") for point in asked)
    assert empty.passages[0].text == "(empty)"
    told = page.content
    assert "ada" not in told
    assert '"bo"' not in told


def test_scores_come_back_as_a_judge_would_give_them(found, tmp_path):
    page, answers = tmp_path / "review.html", tmp_path / "answers"
    write_review_pages(found, page)
    (made,) = make_review_pages(found).values()
    yes = filled(made, lambda _, one: 4 if one.kind == "scale" else "yes", "one")
    half = filled(made, lambda _, one: 1 if one.kind == "scale" else "in_part", "two")
    write_answers(answers, {"one": yes, "two": half})
    (answers / "three.json").write_text("{}")
    scored = add_reviews(found, answers, pages=page)
    by_task = {(row["subject"], row["task"]): row["score"] for row in scored.rows.iter_rows(named=True)}
    assert by_task["ada", "letter"] == (1 + 0.25) / 2
    # one of the story's points is its length, which a program found to be wrong: 0
    n = STORY.instance(1).rubric.count("\n") - 3
    story = review_table(TEXTS[1:2], SECRET)["item"][0]
    n_asked = len(next(item for item in items(made) if item.id == story).questions)
    assert by_task["ada", STORY.id] == pytest.approx(0.75 * n_asked / n)
    assert scored.review.is_empty()
    assert any("three.json" in note for note in scored.provenance.notes)


def test_texts_are_dealt_out_evenly(found):
    pages = make_review_pages(found, n_reviewers=3, n_readings=2)
    read = [item.id for page in pages.values() for item in items(page)]
    assert [len(items(page)) for page in pages.values()] == [2, 2, 2]
    assert sorted(read) == sorted(found.review["item"].to_list() * 2)
    assert all(len(items(page)) == 3 for page in make_review_pages(found, n_reviewers=2).values())
    assert list(make_review_pages(found, n_reviewers=5, n_readings=1)) == ["reviewer-01", "reviewer-02", "reviewer-03"]
    with pytest.raises(OptionError, match="4 of 3 reviewers cannot read a text"):
        make_review_pages(found, n_reviewers=3, n_readings=4)
    with pytest.raises(OptionError, match="known number of reviewers"):
        make_review_pages(found, n_readings=1)


def test_texts_after_examples_are_texts_of_their_own():
    both = review_table([Written(LETTER, 1, "m", "a"), Written(LETTER, 1, "m", "b", shots=2)], SECRET)
    assert both["item"].n_unique() == 2


def test_what_is_wrong_is_said(found, tmp_path):
    with pytest.raises(OptionError, match=r"name a file such as review\.html"):
        write_review_pages(found, tmp_path / "folder")
    page = tmp_path / "review.html"
    write_review_pages(found, page)
    with pytest.raises(InputError, match="is already there"):
        write_review_pages(found, page)
    (tmp_path / "x.json").write_text("[]")
    with pytest.raises(InputError, match="No answers were accepted"):
        add_reviews(found, tmp_path / "x.json", pages=page)
    (made,) = make_review_pages(found).values()
    (tmp_path / "y.json").write_text(filled(made, lambda _, one: 0 if one.kind == "scale" else "no"))
    scored = add_reviews(found, [tmp_path / "y.json"], pages=page)
    assert {*scored.rows["score"]} == {0.0}
    with pytest.raises(InputError, match="No text that waits for a review is called"):
        add_reviews(scored, [tmp_path / "y.json"], pages=page)
    with pytest.raises(InputError, match="No text waits"):
        make_review_pages(scored)


def test_reviewed_by_keyboard_and_read_back_by_the_command(found, tmp_path, browser_page, axe, command):
    found.save(tmp_path / "out")
    told = command("horizon", "review", tmp_path / "out", "--page", tmp_path / "review.html")
    assert told.returncode == 0, told.stderr
    page = browser_page(tmp_path / "review.html")
    page.keyboard.press("Tab")
    page.keyboard.type("rev")
    page.keyboard.press("Enter")
    assert "Texts: 3." in page.locator("main").inner_text()
    page.keyboard.press("Enter")
    for _ in range(3):
        assert axe(page) == []
        for group in page.locator("fieldset").all():
            group.locator("input").first.focus()
            page.keyboard.press("Space")
        page.get_by_role("button", name="Next").press("Enter")
    page.get_by_role("button", name="Finish").press("Enter")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download answers").press("Enter")
    waiting.value.save_as(tmp_path / "rev.json")
    line = ("horizon", "review", tmp_path / "out", tmp_path / "rev.json", "--page", tmp_path / "review.html")
    told = command(*line, "-o", tmp_path / "scored", "--json")
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["n_to_review"] == 0
    scores = pl.read_csv(tmp_path / "scored" / "attempts.csv")
    assert scores.filter(task="letter")["score"].to_list() == [0.0]  # the first step is the lowest
    assert scores.filter(pl.col("task") == STORY.id)["score"].min() > 0.5  # the first option is Yes
