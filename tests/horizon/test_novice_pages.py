"""Novices in a real browser: tasks attempted by keyboard, reloaded half-way, collected, and fitted."""

import json
from collections import Counter

import polars as pl
import pytest

from howsure.errors import InputError, OptionError
from howsure.horizon.novices.answers import collect_novices, review_item
from howsure.horizon.novices.pages import NovicePages, NovicesKey, make_pages
from howsure.horizon.novices.rehearsal import fill_in_pages
from howsure.horizon.reviewing import add_reviews
from howsure.horizon.task_bank import make_tasks, read_tasks
from howsure.people import GameScreen, build_page, canonical, digest, read_page
from howsure.sources import read
from howsure.tables import Attempts

OWN = """\
- {id: river, domain: places, verification_type: automated, prompt: 'Which river flows through Cairo?', answer: [Nile, the Nile]}
- {id: even, domain: numbers, verification_type: automated, prompt: Name an even number., regex: '\\d*[02468]'}
- {id: line, domain: writing, verification_type: llm_judge, prompt: Write a line.}
"""


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text(OWN)
    return read_tasks(path)


def rounds(page):
    return [screen for screen in page.page.screens if isinstance(screen, GameScreen)]


def answered(built, answers, rater="ada"):
    """A result as the page would record it: `answers` by task."""
    (page,) = built.pages.values()
    records = {}
    for screen in page.page.screens:
        seen = {"kind": screen.kind, "ms": 60_000, "visits": 1} | ({"agreed": True} if screen.kind == "consent" else {})
        if isinstance(screen, GameScreen):
            said = answers[built.key.screens[screen.id].task]
            steps = [{"answer": answer, "ms": 2_000} for answer in said]
            seen |= {"begun": True, "open_ms": 0, "steps": steps}
        records[screen.id] = seen
    times = {"started": "2025-01-01T00:00:00.000Z", "finished": "2025-01-01T00:10:00.000Z"}
    body = {
        "format": "howsure-result/1",
        "page": page.digest,
        "rater": rater,
        "reloads": 0,
        "screens": records,
        **times,
    }
    return json.dumps(body | {"digest": digest(canonical(body))}, ensure_ascii=False)


def collected(built, tmp_path, answers):
    built.save(tmp_path / "novice.html")
    (tmp_path / "ada.json").write_text(answered(built, answers))
    return collect_novices(tmp_path / "novice.html", [tmp_path / "ada.json"])


def type_in(page, *texts):
    """Each answer, and on from what is told of it; what was told."""
    told = []
    for text in texts:
        page.keyboard.type(text)
        page.keyboard.press("Enter")
        told.append(page.locator(".verdict").inner_text())
        page.keyboard.press("Enter")
    return told


def begin(page):
    page.keyboard.press("Tab")
    page.keyboard.type("ada")
    press(page, "Enter", "Enter", "Enter")  # the name, what to do, and into the first round


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def finish(page, folder):
    press(page, "Enter")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download answers").press("Enter")
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def test_attempted_by_keyboard_reloaded_half_way_collected_and_fitted(browser_page, axe, command, tmp_path):
    suite, html = tmp_path / "tasks.yaml", tmp_path / "novice.html"
    made = command("horizon", "tasks", "-o", suite, "--n", "3", "--domain", "logic_puzzle", "-q")
    assert made.returncode == 0, made.stderr
    told = command("horizon", "page", suite, "-o", html, "--tasks", "2", "--attempts", "4")
    assert told.returncode == 0, told.stderr
    assert "For a study pass --learners N." in told.stderr
    key = NovicesKey.read(tmp_path / "novice.key.json")
    tasks = {task.id: task for task in key.tasks}
    placed = [key.screens[screen.id] for screen in rounds(read_page(html))]
    first, second = ([tasks[one.task].instance(seed).answer for seed in one.seeds] for one in placed)

    page = browser_page(html)
    assert axe(page) == []
    begin(page)
    assert page.locator(".counter").inner_text() == "Attempt 1 of 4"
    assert axe(page) == []
    assert type_in(page, "?", first[1]) == ["Not right.", "Right."]
    page.reload()
    page.get_by_role("textbox").focus()
    assert page.locator(".counter").inner_text() == "Attempt 3 of 4"
    assert type_in(page, f" {first[2].lower()} ", "wrong") == ["Right.", "Not right."]
    assert page.locator(".verdict").inner_text() == "This round is over. Right answers: 2."
    press(page, "Enter", "Enter")
    assert type_in(page, *second) == ["Right."] * 4
    press(page, "Enter")
    sent = finish(page, tmp_path)

    told = command("horizon", "collect", html, sent, "-o", tmp_path / "out", "--json")
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["learners"][0]["attempts"] == 8
    rows = Attempts(tmp_path / "out" / "attempts.csv").frame
    assert [rows.filter(task=one.task)["score"].to_list() for one in placed] == [[0, 1, 1, 0], [1, 1, 1, 1]]
    assert (rows["seconds"].is_null().any(), rows["seconds"].min() >= 0) == (False, True)
    assert {*rows["kind"]} == {"human"}
    fitted = command("horizon", "curves", tmp_path / "out" / "attempts.csv", "--json", "-q")
    assert fitted.returncode == 0, fitted.stderr


def test_a_task_that_stays_the_same_is_over_once_it_was_solved(own, tmp_path):
    built = make_pages(own, n_tasks=3, n_attempts=4, with_judged=True)
    found = collected(
        built, tmp_path, {"river": ["Rhine", " THE nile"], "even": ["3", "4", "x", "8"], "line": ["a"] * 4}
    )
    scores = {task: part["score"].to_list() for (task,), part in found.rows.group_by("task", maintain_order=True)}
    assert scores == {"river": [0, 1, 1, 1], "even": [0, 1, 0, 1]}
    assert found.rows.filter(task="river")["seconds"].to_list() == [2, 2, None, None]
    assert found.attempts.notes == (
        "2 attempts at tasks that stay the same were not made, because they were solved; they count as right.",
    )
    assert found.learners.rows() == [("ada", 4.0, 2, 8, 0.625)]


def test_texts_that_have_to_be_judged_are_left_out_or_exported_blind(own, tmp_path):
    assert len(rounds(make_pages(own).pages[""])) == 2
    built = make_pages(own[2:], n_attempts=2, with_judged=True)
    found = collected(built, tmp_path, {"line": ["One.", "Two."]})
    assert sorted(found.review["text"]) == ["One.", "Two."]
    assert "ada" not in found.review.write_csv()
    # nobody without the key can find the texts of a writer whose name they guess
    names = {review_item(built.key.salt, "ada", "line", seed) for seed in found.review["seed"]}
    assert names == {*found.review["item"]}
    with pytest.raises(InputError, match="All answers must be scored by people"):
        _ = found.attempts
    assert {path.name for path in found.save(tmp_path / "out")} == {
        *("learners.csv", "review.csv", "novices.json", "novices.result.zip")
    }


def test_the_page_reveals_neither_tasks_nor_answers():
    tasks = make_tasks(6, domains=["logic_puzzle", "pattern_recognition"])
    built = make_pages(tasks, n_tasks=6, n_attempts=3)
    (page,) = built.pages.values()
    assert not any(task.id in page.html() for task in tasks)
    for screen in rounds(page):
        placed = built.key.screens[screen.id]
        task = next(task for task in tasks if task.id == placed.task)
        for seed, step in zip(placed.seeds, screen.steps, strict=True):
            assert all(len(right) == 16 for right in step.rights)
            assert screen.is_right(placed.seeds.index(seed), task.instance(seed).answer)


def test_learners_have_instances_of_their_own_and_tasks_are_dealt_evenly():
    tasks = make_tasks(9, domains=["logic_puzzle", "pattern_recognition"])
    built = make_pages(tasks, n_tasks=4, n_attempts=2, n_learners=9)
    assert list(built.pages) == [f"learner-00{n}" for n in range(1, 10)]
    assert {page.page.rater for page in built.pages.values()} == {*built.pages}
    assert Counter(one.task for one in built.key.screens.values()) == {task.id: 4 for task in tasks}
    for page in built.pages.values():
        domains = Counter(built.key.screens[one.id].task.partition("/")[0] for one in rounds(page))
        assert set(domains) == {"logic_puzzle", "pattern_recognition"}
    shown = [step.show for page in built.pages.values() for one in rounds(page) for step in one.steps]
    assert len({*shown}) == len(shown)


def test_pages_and_keys_are_kept_apart(own, tmp_path):
    built = make_pages(own, n_learners=2, n_attempts=1)
    with pytest.raises(OptionError, match="or a folder for one page per learner"):
        built.save(tmp_path / "novice.html")
    written = built.save(tmp_path / "pages")
    assert [path.name for path in written] == [
        "learner-001.html",
        "learner-002.html",
        "novice_pages.json",
        "novices.key.json",
    ]
    assert written[-1].stat().st_mode & 0o077 == 0
    with pytest.raises(InputError, match="answers to its pages need it"):
        built.save(tmp_path / "pages")
    written[-1].rename(tmp_path / "elsewhere.key.json")
    with pytest.raises(InputError, match="contains other pages"):
        built.save(tmp_path / "pages")
    other = make_pages(own, n_attempts=1)
    page, _ = other.save(tmp_path / "one.html")
    with pytest.raises(InputError, match="not sealed with this key"):
        collect_novices(page, [tmp_path], key=tmp_path / "elsewhere.key.json")
    with pytest.raises(InputError, match="not the key of novices' pages"):
        collect_novices(page, [tmp_path], key=page)
    with pytest.raises(InputError, match="No answers were accepted"):
        collect_novices(page, [tmp_path])


def test_a_page_of_another_version_is_noticed(own, tmp_path):
    built = make_pages(own, n_attempts=1)
    first, *rest = built.key.tasks
    key = built.key.model_copy(update={"tasks": (first.model_copy(update={"prompt": "Something else?"}), *rest)})
    page = built.pages[""].page.model_copy(update={"commitment": key.commitment})
    changed = NovicePages.of({"": build_page(page)}, key)
    with pytest.raises(InputError, match="Collect with the version that made the page"):
        collected(changed, tmp_path, {"river": ["Nile"], "even": ["2"]})


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"n_attempts": 0}, "1 to 100 attempts"),
        ({"n_tasks": 101}, "1 to 100 tasks"),
        ({"n_learners": 0}, "1 or more learners"),
    ],
)
def test_what_does_not_fit_is_told(own, wrong, told):
    with pytest.raises(OptionError, match=told):
        make_pages(own, **wrong)
    with pytest.raises(OptionError, match="No task of the suite is checked by a program"):
        make_pages(own[2:])


def test_files_read_by_every_verb(own, tmp_path):
    built = make_pages(own[:1], n_attempts=3)
    found = collected(built, tmp_path, {"river": ["Rhine", "Po", "Nile"]})
    found.save(tmp_path / "out")
    columns = ["subject", "kind", "task", "attempt", "score", "family", "domain"]
    by_name = read([str(tmp_path / "out" / "runs.jsonl")]).frame.select(columns)
    assert by_name.equals(found.attempts.frame.select(columns))
    assert by_name["score"].to_list() == [0, 0, 1]
    assert isinstance(pl.read_csv(tmp_path / "out" / "learners.csv"), pl.DataFrame)


def test_a_timed_page_has_start_success_and_giving_up_which_is_a_lower_bound(browser_page, axe, command, tmp_path):
    """One task is answered wrongly, then rightly; the other is given up: a time, and a censored time."""
    from howsure.horizon.time_horizon.people_times import human_times

    suite, html = tmp_path / "tasks.yaml", tmp_path / "timed.html"
    made = command("horizon", "tasks", "-o", suite, "--n", "3", "--domain", "logic_puzzle", "-q")
    assert made.returncode == 0, made.stderr
    told = command("horizon", "page", suite, "-o", html, "--tasks", "2", "--attempts", "4", "--timed", "-q")
    assert told.returncode == 0, told.stderr
    key = NovicesKey.read(tmp_path / "timed.key.json")
    placed = [key.screens[screen.id] for screen in rounds(read_page(html))]
    assert all(len(set(one.seeds)) == 1 for one in placed)  # one instance, however often it is answered
    right = {task.id: task for task in key.tasks}[placed[0].task].instance(placed[0].seeds[0]).answer

    page = browser_page(html)
    give_up = page.get_by_role("button", name="Give up")
    page.keyboard.press("Tab")
    page.keyboard.type("ada")
    press(page, "Enter", "Enter")
    assert not give_up.is_visible()  # before the start
    press(page, "Enter")
    assert give_up.is_visible()
    assert axe(page) == []
    assert type_in(page, "?", right) == ["Not right.", "Right."]
    assert page.locator(".verdict").inner_text() == "This round is over. Right answers: 1."
    assert not give_up.is_visible()
    press(page, "Enter", "Enter")
    assert type_in(page, "?") == ["Not right."]
    page.reload()  # what was answered is kept, and so is the button
    give_up.click()
    assert page.locator(".verdict").inner_text() == "This round is over. Right answers: 0."
    assert page.locator("button.next").inner_text() == "Next"
    page.keyboard.press("Enter")
    sent = finish(page, tmp_path)

    told = command("horizon", "collect", html, sent, "-o", tmp_path / "out", "-q")
    assert told.returncode == 0, told.stderr
    rows = Attempts(tmp_path / "out" / "attempts.csv").frame
    assert [rows.filter(task=one.task)["score"].to_list() for one in placed] == [[1], [0]]
    assert rows["seconds"].min() > 0
    times = human_times(Attempts(tmp_path / "out" / "attempts.csv")).tasks
    assert [times.filter(task=one.task)["n_gave_up"].item() for one in placed] == [0, 1]
    assert times.filter(task=placed[1].task)["minutes_state"].item() == "above_range"


def test_timed_answers_add_up_and_the_game_must_end_where_it_was_given_up(own, tmp_path):
    """Three answers of two seconds each, the last one right; and a give-up that is followed by an answer is refused."""
    built = make_pages([task for task in own if task.id == "river"], n_tasks=1, n_attempts=5, is_timed=True)
    rows = collected(built, tmp_path, {"river": ["Rhine", "Po", "Nile"]}).rows
    assert rows.select("attempt", "score", "seconds").rows() == [(1, 1.0, 6.0)]
    (tmp_path / "ada.json").write_text(answered(built, {"river": ["(gave up)", "Nile"]}))
    with pytest.raises(InputError, match="goes on after its end"):
        collect_novices(tmp_path / "novice.html", [tmp_path / "ada.json"])


def test_only_tasks_that_a_page_can_check_are_timed(own):
    with pytest.raises(OptionError, match="No task of the suite is checked by a program"):
        make_pages([task for task in own if task.id != "river"], is_timed=True, with_judged=True)


def test_answers_are_kept_only_where_people_agreed(own, tmp_path):
    asked, silent = (make_pages(own, n_attempts=1, keeps_answers=keeps) for keeps in (True, False))
    assert asked.pages[""].page.screens[0].kind == "consent"
    for built, kept in ((asked, "Rhine"), (silent, None)):
        folder = tmp_path / str(kept)
        folder.mkdir()
        found = collected(built, folder, {"river": ["Rhine"], "even": ["2"]})
        wrong = found.rows.filter(task="river")
        assert wrong["answer"].to_list() == [kept]
        assert wrong["mode"].to_list() == ["other answer"]


def test_scores_of_reviewers_come_back_into_the_attempts(own, tmp_path, command):
    built = make_pages(own[2:], n_attempts=3, with_judged=True)
    found = collected(built, tmp_path, {"line": ["one", "two", "three"]})
    assert found.rows.is_empty()
    assert len(found.review) == 3
    found.save(tmp_path / "out")
    first, second, third = found.pending.sort("attempt")["item"]
    filled = pl.DataFrame({"item": [second, first, first, third], "score": [0.5, 1.0, 0.0, None]})
    filled.write_csv(tmp_path / "reviewed.csv")
    scored = add_reviews(tmp_path / "out", tmp_path / "reviewed.csv")
    assert scored.attempts.frame.select("attempt", "score").rows() == [(1, 0.5), (2, 0.5)]
    assert scored.review["item"].to_list() == [third]
    told = command("horizon", "review", tmp_path / "out", tmp_path / "reviewed.csv", "-o", tmp_path / "scored")
    assert told.returncode == 0, told.stderr
    assert "1 texts do not have a score yet. Attempts with a score: 2." in told.stdout
    assert pl.read_csv(tmp_path / "scored/attempts.csv")["score"].to_list() == [0.5, 0.5]
    later = add_reviews(found, pl.DataFrame({"item": [second], "score": [1.0]}))
    assert later.rows.is_empty()  # attempt 2 waits for attempt 1
    for wrong, told in (
        ({"item": ["nobody"], "score": [1.0]}, "is called 'nobody'"),
        ({"item": [first], "score": [3.0]}, "not between 0 and 1"),
        ({"item": [first], "score": [None]}, "No review has a score"),
        ({"item": [first]}, "no column 'score'"),
    ):
        with pytest.raises(InputError, match=told):
            add_reviews(found, pl.DataFrame(wrong))


def test_a_page_can_show_the_right_answer_after_a_wrong_one(browser_page, tmp_path):
    made = make_pages(
        make_tasks(2, domains=["pattern_recognition", "visual_patterns"]), n_tasks=2, n_attempts=2, shows_answers=True
    )
    made.save(tmp_path / "novice.html")
    task, *_ = (made.key.screens[screen.id] for screen in rounds(made.pages[""]))
    first = next(one for one in made.key.tasks if one.id == task.task).instance(task.seeds[0]).answer
    assert f'"{first}"' not in made.pages[""].content
    page = browser_page(tmp_path / "novice.html")
    begin(page)
    assert type_in(page, "?") == [f"Not right. The right answer: {first}"]
    plain = make_pages(make_tasks(1, domains=["pattern_recognition"]), n_attempts=2)
    assert {step.correction for screen in rounds(plain.pages[""]) for step in screen.steps} == {""}
    with pytest.raises(OptionError, match="its answer cannot be shown"):
        make_pages(make_tasks(2), is_timed=True, shows_answers=True)


def test_the_answer_of_a_task_that_stays_the_same_is_not_shown(own):
    made = make_pages(own[:1], n_attempts=2, shows_answers=True)
    assert [step.correction for step in rounds(made.pages[""])[0].steps] == ["", ""]


def test_a_rehearsal_fills_in_the_real_pages(own, tmp_path, command):
    tasks = [*make_tasks(8, domains=["household"]), *own]
    made = make_pages(tasks, n_tasks=4, n_attempts=4, n_learners=33, with_judged=True, keeps_answers=True)
    made.save(tmp_path / "pages")
    files, suite = fill_in_pages(tmp_path / "pages", tmp_path / "answers", seed=3)
    assert len(files) == 33
    found = collect_novices(tmp_path / "pages", [tmp_path / "answers"])
    assert found.refused == ()
    assert len(found.learners) == 33
    assert {*found.review["task"]} == {"line"}
    drawn = (
        found.rows.filter(pl.col("task").is_in([one.id for one in tasks[:8]]))
        .group_by("attempt")
        .agg(pl.col("score").mean(), pl.len())
        .sort("attempt")
    )
    generated = suite.frame["task"].is_in([one.id for one in tasks[:8]]).to_numpy()
    for attempt, share, n in drawn.iter_rows():
        assert share == pytest.approx(suite.success(attempt)[generated].mean(), abs=4 * (0.25 / n) ** 0.5 + 0.03)
    again, _ = fill_in_pages(made, tmp_path / "again", seed=3)
    assert [one.read_text() for one in again] == [one.read_text() for one in files]


@pytest.mark.parametrize("is_timed", [False, True])
def test_many_rehearse_a_page_for_everyone(is_timed, tmp_path, command):
    make_pages(make_tasks(2, domains=["household"]), n_attempts=5, is_timed=is_timed).save(tmp_path / "novice.html")
    told = command(
        "horizon", "simulate", "--rehearse", tmp_path / "novice.html", "--learners", "7", "-o", tmp_path / "sim"
    )
    assert told.returncode == 0, told.stderr
    found = collect_novices(tmp_path / "novice.html", [tmp_path / "sim/answers"])
    assert (len(found.learners), found.refused) == (7, ())
    assert len(found.rows) == 7 * 2 * (1 if is_timed else 5)
    assert {*found.rows["score"]} == {0, 1}
