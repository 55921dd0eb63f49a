import json
import re

import pytest

from howsure.errors import InputError
from howsure.people import answer_rows, quality_signs, read_results, results, step_rows
from howsure.people.records import FinishedAnswers, read_draft, read_result

from .page_examples import answered, signed, study_page, track_page


def write(folder, name, *bodies):
    path = folder / name
    path.write_text("\n".join(json.dumps(body, indent=None if name.endswith("l") else 1) for body in bodies))
    return path


def changed(body, *path, to):
    """A copy with one value changed and the digest computed again."""
    copy = json.loads(json.dumps(body))
    inner = copy
    for name in path[:-1]:
        inner = inner[name]
    if to is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = to
    return signed(copy)


def test_results_become_rows_that_instruments_score(tmp_path):
    pages = [study_page("r1"), study_page("r2")]
    files = [
        write(tmp_path, "a.json", answered(pages[0], voice=-2, comment="ok")),
        write(tmp_path, "b.jsonl", answered(pages[1])),
    ]
    collected = read_results(files, pages)
    assert collected.refused == ()
    rows = answer_rows(collected.results)
    assert len(rows) == 2 * 2 * 4 + 1
    items = [screen.id for screen in pages[0].page.screens if screen.kind == "item"]
    assert rows[0] == {
        "rater": "r1",
        "screen": items[0],
        "question": "voice",
        "value": -2,
        "seconds": 60.0,
        "revisions": 0,
        "position": 1,
    }
    assert rows[8]["question"] == "comments"
    assert rows[8]["position"] == 3
    assert collected.results[0].seconds == 360


def test_steps_of_a_game_become_rows(tmp_path):
    page = track_page()
    collected = read_results([write(tmp_path, "a.json", answered(page, rater="Zoë"))], [page])
    rows = step_rows(collected.results)
    assert [(row["step"], row["answer"], row["taken_for_right"]) for row in rows] == [
        (1, "5", True),
        (2, "4", False),
    ] * 2
    assert {row["rater"] for row in rows} == {"Zoë"}


def test_a_file_that_was_cut_or_changed_is_refused_and_the_others_count(tmp_path):
    pages = [study_page(f"r{n}") for n in range(3)]
    good = write(tmp_path, "good.json", answered(pages[0]))
    edited = answered(pages[1])
    edited["reloads"] = 7
    cut = tmp_path / "cut.json"
    cut.write_bytes(good.read_bytes()[:-300])
    collected = read_results([good, write(tmp_path, "edited.json", edited), cut], pages)
    assert [received.rater for received in collected.results] == ["r0"]
    assert "digest does not match" in collected.refused[0].reason
    assert "not JSON" in str(collected.refused[1])


def test_a_file_that_cannot_be_read_is_refused_and_the_others_count(tmp_path, monkeypatch):
    pages = [study_page(f"r{n}") for n in range(2)]
    write(tmp_path, "good.json", answered(pages[0]))
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "gone.json").symlink_to(tmp_path / "nowhere")
    write(tmp_path, "large.json", answered(pages[1], comment="x" * 5_000))
    monkeypatch.setattr(results, "_LARGEST_FILE", 4_000)
    collected = read_results([tmp_path], pages)
    assert [received.rater for received in collected.results] == ["r0"]
    assert [str(one).removeprefix(f"{tmp_path}/") for one in collected.refused] == [
        "folder.json: it is not a file.",
        "gone.json: it is not a file.",
        "large.json: it is larger than 0 MB and not read.",
    ]


def test_spaces_around_a_name_do_not_matter_and_a_blank_name_is_none(tmp_path):
    page = study_page("")
    paths = [
        write(tmp_path, f"{n}.json", answered(page, rater=name, voice=n))
        for n, name in enumerate(("ann ", "\tben", "  "))
    ]
    collected = read_results(paths, [page])
    assert [received.rater for received in collected.results] == ["ann", "ben"]
    assert {row["rater"] for row in answer_rows(collected.results)} == {"ann", "ben"}
    assert [one.reason for one in collected.refused] == ["it does not say who answered"]


@pytest.mark.parametrize(
    ("started", "finished", "sign"),
    [
        ("2025-06-01T12:00:00.000Z", "2025-06-01T12:30:00.000Z", None),
        ("2025-06-01T12:00:00.000Z", "2025-06-01T11:30:00.000Z", "finished before it was started"),
        ("2025-06-01T12:00:00.000Z", "2025-06-01T12:01:00.000Z", "6.0 minutes on screens, but only 1.0 from start"),
        ("2094-06-01T12:00:00.000Z", "2094-06-01T12:30:00.000Z", "finished in the future"),
        ("2025-13-41T12:00:00.000Z", "2025-06-01T12:30:00.000Z", "impossible date"),
    ],
)
def test_impossible_times_are_flagged(started, finished, sign):
    told = answered(STUDY) | {"started": started, "finished": finished}
    signs = quality_signs(STUDY, FinishedAnswers.model_validate_json(json.dumps(told)))
    assert [sign in one for one in signs] == ([True] if sign else [])


def test_nothing_is_kept_before_consent():
    whole = answered(STUDY)
    body = {name: whole[name] for name in ("page", "rater", "started", "reloads")} | {"at": 0, "saves": 1}
    for screens in ({}, {CONSENT: whole["screens"][CONSENT] | {"agreed": False}}):
        with pytest.raises(InputError, match="consent was not given"):
            read_draft(json.dumps(body | {"screens": screens}).encode(), STUDY, "r1")


def test_the_same_result_twice_counts_once_and_two_different_ones_not_at_all(tmp_path):
    pages = [study_page("r1"), study_page("r2")]
    write(tmp_path, "a.json", answered(pages[0]))
    write(tmp_path, "b.json", answered(pages[0]))
    write(tmp_path, "c.jsonl", answered(pages[1], voice=1), answered(pages[1], voice=2))
    collected = read_results([tmp_path], pages)
    assert [received.rater for received in collected.results] == ["r1"]
    reasons = [str(refusal) for refusal in collected.refused]
    assert "counted once" in reasons[0]
    assert "c.jsonl line 1: 'r2' gave 2 answer sets that differ" in reasons[1]
    assert "line 2" in reasons[2]


def test_strangers_are_refused(tmp_path):
    collected = read_results([write(tmp_path, "a.json", answered(study_page("r9")))], [study_page("r1")])
    assert "another page" in collected.refused[0].reason


def test_a_path_that_is_not_there_is_named():
    with pytest.raises(InputError, match=r"nowhere\.json: no such file"):
        read_results(["nowhere.json"], [])


STUDY = study_page()
CONSENT, SAMPLE, QUIZ, FIRST, _, COMMENTS = (screen.id for screen in STUDY.page.screens)


@pytest.mark.parametrize(
    ("path", "to", "reason"),
    [
        (("rater",), "r2", "made for 'r1'"),
        (("rater",), "", "rater"),
        (("format",), "howsure-result/2", "format"),
        (("page",), "0" * 64, "another page"),
        (("extra",), 1, "extra"),
        (("started",), "yesterday", "started"),
        (("reloads",), -1, "reloads"),
        (("screens", CONSENT), ..., "is not answered"),
        (("screens", CONSENT, "agreed"), False, "consent"),
        (("screens", CONSENT, "agreed"), 1, "agreed"),
        (("screens", "a" * 16), {"kind": "reading", "ms": 1, "visits": 1}, "no such screen"),
        (("screens", SAMPLE, "kind"), "consent", "agreed"),
        (("screens", SAMPLE, "ms"), -5, "ms"),
        (("screens", SAMPLE, "ms"), True, "ms"),
        (("screens", QUIZ, "tries"), [], "0 tries"),
        (("screens", QUIZ, "tries"), [{"q1": "ants"}] * 3, "3 tries"),
        (("screens", QUIZ, "tries"), [{"q1": "wasps"}], "cannot be answered"),
        (("screens", FIRST, "answers", "voice"), 3, "cannot be answered with '3'"),
        (("screens", FIRST, "answers", "voice"), "1", "cannot be answered"),
        (("screens", FIRST, "answers", "voice"), None, "answers.voice"),
        (("screens", FIRST, "answers", "voice"), [[[[1]]]], "answers.voice"),
        (("screens", FIRST, "answers", "voice"), ..., "'voice' is not answered"),
        (("screens", FIRST, "answers", "other"), 1, "no question 'other'"),
        (("screens", FIRST, "answers", "sure"), "080", "cannot be answered"),
        (("screens", COMMENTS, "answers", "comments"), "x" * 5001, "cannot be answered"),
    ],
)
def test_what_the_page_could_not_have_recorded_is_refused(path, to, reason):
    body = changed(answered(STUDY), *path, to=to)
    with pytest.raises(InputError, match=reason) as caught:
        read_result(json.dumps(body).encode(), {STUDY.digest: STUDY})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ([], "not played"),
        (["5"], "before it"),
        (["4", "5"], "goes on"),
        (["5"] * 5, "5 answers to 4"),
        (["5.55"], "cannot be given"),
    ],
)
def test_a_game_must_have_been_played_by_its_rules(answers, reason):
    page = track_page("p1")
    body = changed(
        answered(page), "screens", page.page.screens[1].id, "steps", to=[{"answer": a, "ms": 1} for a in answers]
    )
    with pytest.raises(InputError, match=reason):
        read_result(json.dumps(body).encode(), {page.digest: page})


def test_a_draft_belongs_to_one_person_and_page():
    whole = answered(STUDY)
    body = {name: whole[name] for name in ("page", "rater", "started", "reloads", "screens")} | {"at": 2, "saves": 9}
    assert read_draft(json.dumps(body).encode(), STUDY, "r1").saves == 9
    for wrong in ({"rater": "r2"}, {"page": "0" * 64}, {"screens": {"a" * 16: whole["screens"][SAMPLE]}}):
        with pytest.raises(InputError, match="another page or person|no such screen"):
            read_draft(json.dumps(body | wrong).encode(), STUDY, "r1")


@pytest.mark.parametrize(
    ("given", "n_items", "sign"),
    [
        ({}, 2, None),
        ({"ms": 100}, 2, "words of items in"),
        ({"quiz": "bees"}, 2, r"quiz not passed \(0 of 1, 1 needed\)"),
        ({}, 5, "the same answers to all 5 items"),
    ],
)
def test_signs_of_trouble(given, n_items, sign):
    page = study_page(n_items=n_items)
    signs = quality_signs(page, FinishedAnswers.model_validate_json(json.dumps(answered(page, **given))))
    if sign is None:
        assert signs == []
    else:
        assert len(signs) == 1
        assert re.search(sign, signs[0])
