"""Models at tasks behind a real server that misbehaves, and Inspect's mock model: scored, judged, told apart, taken up again."""

import importlib.util
import json
import re
import time
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

import howsure
from horizon.run_program import run, start
from howsure.horizon.asking.replies import attempts_from_logs
from howsure.horizon.novices.answers import review_item
from howsure.horizon.task_bank import make_tasks, read_tasks, write_tasks
from howsure.sources import read
from howsure.tables import Attempts
from servers.inspect_process import ENVIRONMENT, inspect
from servers.openai_server import ChatServer, Reply, completion, cut, failure, no_choices, raw

for package in ("inspect_ai", "openai"):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"models are asked with Inspect and {package}, which is not installed", allow_module_level=True)

TASK_FILE = Path(howsure.__file__).parent / "horizon/asking/task.py"
LIMITED = failure(429, code="rate_limit_exceeded", retry_after=0.05)
# what the server does to a sum, and what the reply shall then say: a score, or a failure
FAULTS = {
    "well": (None, 1.0),
    "wrong": (completion("Answer: 1"), 0.0),
    "prose": (completion("It is a sum."), 0.0),
    "429 once": ([LIMITED], 1.0),
    "429 for good": (LIMITED, "api"),
    "500": (failure(500), "api"),
    "cut line": (cut("Answer: 1"), "api"),
    "half a document": (raw(b'{"choices": ['), "api"),
    "no choices": (no_choices(), "api"),
    "empty": (completion(""), "null"),
    "cut short": (completion("Let me think about", finish="length"), "length"),
    "filtered": (completion("No.", finish="content_filter"), "refusal"),
    "refused": (completion(None, refusal="I would rather not."), "refusal"),
}
# what the judge says, and what then becomes of the text
VERDICTS = {
    "half": (completion("It rhymes.\n[score: 0.5]"), 0.5),
    "seven": (completion("[score: 7]"), "judge_format"),
    "prose": (completion("I give it 0.5."), "judge_format"),
    "empty": (completion(""), "judge_null"),
    "declined": (completion(None, refusal="I would rather not."), "judge_refusal"),
    "cut short": (completion("Let me see", finish="length"), "judge_length"),
    "500": (failure(500), "api"),
}
N_ATTEMPTS = 2


def suite():
    sums = [
        f"{{id: sum/{n}, domain: sums, family: sums, verification_type: automated, prompt: 'What is {n} + 100? ({name})', answer: {n + 100}}}"
        for n, name in enumerate(FAULTS)
    ]
    poems = [
        f"{{id: poem/{n}, domain: poems, verification_type: llm_judge, prompt: 'Write a line ({name}).', rubric: 'It is a line ({name}).'}}"
        for n, name in enumerate(VERDICTS)
    ]
    letter = (
        "{id: letter, domain: letters, verification_type: expert_review, prompt: 'Write a letter.', rubric: 'Kind?'}"
    )
    return "tasks:\n" + "".join(f"- {line}\n" for line in (*sums, *poems, letter))


def right(request):
    """The sum, a line, or the judge's praise."""
    if "[score:" in request.text:
        return "Fine.\n[score: 1]"
    asked = re.search(r"What is (\d+) \+ (\d+)", request.text)
    return f"Answer: {int(asked[1]) + int(asked[2])}" if asked else "Roses are red."


def misbehaving():
    times = {}

    def answer(request):
        name = re.findall(r"\(([^()]*)\)", request.text)
        faults = VERDICTS if "[score:" in request.text else FAULTS if "What is" in request.text else {}
        fault = faults.get(name[-1], [None])[0] if name else None
        if isinstance(fault, list):
            asked = times[request.text] = times.get(request.text, 0) + 1
            fault = fault[asked - 1] if asked <= len(fault) else None
        return fault or right(request)

    return answer


def job(server, tasks, out, **changes):
    told = {
        "tasks": tasks,
        "model": "openai-api/test/m",
        "base_url": server.base_url,
        "out": out,
        "attempts": N_ATTEMPTS,
    }
    judge = {"judge": "openai-api/test/judge", "judge_base_url": server.base_url}
    quick = {"max_retries": 0, "attempt_timeout": 60, "model_args": {"max_retries": 1}}
    return told | judge | quick | changes


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    path = tmp_path_factory.mktemp("suite") / "tasks.yaml"
    path.write_text(suite())
    return path


@pytest.fixture(scope="module")
def disturbed(tasks, tmp_path_factory):
    """A run on the misbehaving server, the same when the server is well again, once more, and one with another judge."""
    out = tmp_path_factory.mktemp("disturbed")
    with ChatServer(misbehaving()) as server:
        (first,) = run(job(server, tasks, out))
        first["usage"], n_first = server.usage, len(server.requests)
        server.answer = right
        again = job(server, tasks, out)
        second, third, other = run(again, again, again | {"judge": "openai-api/test/other"})
        later = list(zip(server.requests, server.replies, strict=True))[n_first:]
    # the other judge comes last, and nothing is filtered before that
    n_second = next(n for n, (one, _) in enumerate(later) if one.body["model"] == "other" or "(filtered)" in one.text)
    second["usage"] = dict(
        Counter(first["usage"]) + sum((Counter(reply.usage) for _, reply in later[:n_second]), Counter())
    )
    second["asked"] = [request.text for request, _ in later[:n_second]]
    other["asked"] = [(request.body["model"], request.text) for request, _ in later[n_second:]]
    return first, second, third, other


def outcome(result):
    """By task: the scores or failures of its attempts."""
    rows = pl.DataFrame(result["replies"], infer_schema_length=None)
    told = {}
    for row in rows.iter_rows(named=True):
        told.setdefault(row["task"], []).append(row["failure"] or row["score"])
    return told


@pytest.mark.parametrize("name", FAULTS)
def test_what_becomes_of_a_reply_is_told_apart(disturbed, name):
    assert outcome(disturbed[0])[f"sum/{list(FAULTS).index(name)}"] == [FAULTS[name][1]] * N_ATTEMPTS


@pytest.mark.parametrize("name", VERDICTS)
def test_what_a_judge_says_is_a_score_or_a_state(disturbed, name):
    assert outcome(disturbed[0])[f"poem/{list(VERDICTS).index(name)}"] == [VERDICTS[name][1]] * N_ATTEMPTS


def test_what_an_expert_has_to_read_is_exported_without_a_score_and_blind(disturbed):
    first = disturbed[0]
    assert outcome(first)["letter"] == ["expert"] * N_ATTEMPTS
    assert [(row["task"], row["prompt"], row["rubric"], row["text"]) for row in first["review"]] == [
        ("letter", "Write a letter.", "Kind?", "Roses are red.")
    ] * N_ATTEMPTS
    assert "test/m" not in json.dumps(first["review"])
    names = {row["item"] for row in first["review"]}
    assert names == {row["item"] for row in disturbed[1]["review"]}  # a run that is continued gives the same names
    guessed = {review_item("review", "openai-api/test/m", row["task"], row["seed"]) for row in first["review"]}
    assert not names & guessed


def test_a_servers_failure_is_named_and_the_others_go_on(disturbed):
    first = disturbed[0]
    assert (first["status"], first["exit_code"], first["addresses"]) == ("incomplete", 1, [])
    assert "RateLimitError, also when asked again" in first["errors"]
    expected = [outcome for _, outcome in [*FAULTS.values(), *VERDICTS.values()] if isinstance(outcome, str)]
    counts = {name: N_ATTEMPTS * expected.count(name) for name in {*expected}} | {"expert": N_ATTEMPTS}
    assert first["failures"] == counts
    assert first["n_unscored"] == sum(counts.values())


def test_only_what_a_server_failed_on_is_asked_again(disturbed):
    _, second, third, _ = disturbed
    failed = [name for name, (_, told) in FAULTS.items() if told == "api"]
    asked = [re.search(r"\(([^()]*)\)", text)[1] for text in second["asked"] if "[score:" not in text]
    assert sorted(asked) == sorted(failed * N_ATTEMPTS)
    judged = [text for text in second["asked"] if "[score:" in text]
    assert len(judged) == N_ATTEMPTS, "the text that the judge failed on was kept"
    assert (second["status"], second["exit_code"], second["errors"]) == ("complete", 0, {})
    assert third["paths"] == second["paths"], "what is complete is not asked again"
    whole = {task: told for task, told in outcome(disturbed[0]).items() if "api" not in told}
    assert {task: outcome(second)[task] for task in whole} == whole


def test_tokens_add_up(disturbed):
    for result in disturbed[:2]:
        read, written = (sum(result["tokens"][who][what] for who in ("model", "judge")) for what in ("input", "output"))
        # a reply without choices has its price too
        assert (read, written) == (result["usage"]["prompt_tokens"], result["usage"]["completion_tokens"])


def test_another_judge_reads_the_same_replies(disturbed):
    other = disturbed[3]
    assert other["status"] == "complete"
    filtered = [text for model, text in other["asked"] if model == "m"]
    assert {re.search(r"\((.*)\)", text)[1] for text in filtered} == {"filtered", "no choices"}, (
        "no reply of theirs is kept"
    )
    assert sum(model == "other" for model, _ in other["asked"]) == len(VERDICTS) * N_ATTEMPTS
    assert outcome(other)["poem/1"] == [1.0] * N_ATTEMPTS


def test_logs_become_attempts_without_inspect(disturbed, tasks):
    found = attempts_from_logs(disturbed[1]["paths"])
    assert (set(found.frame["subject"]), set(found.frame["kind"])) == ({"openai-api/test/m"}, {"model"})
    assert not found.has("date")
    rows = found.frame.filter(task="sum/0").select("attempt", "score", "family", "domain", "verification_type").rows()
    assert rows == [(n, 1.0, "sums", "sums", "automated") for n in (1, 2)]
    n_scored = sum(row["score"] is not None for row in disturbed[1]["replies"])
    assert len(found) == n_scored


@pytest.fixture(scope="module")
def asked(tasks, tmp_path_factory):
    """What is asked with examples, of tasks of one's own and of generated ones; runs of Inspect's mock model, and runs that cannot be."""
    out = tmp_path_factory.mktemp("asked")
    made = write_tasks(make_tasks(2, domains=["pattern_recognition", "creative_writing"]), out / "made.yaml")
    mock = {"tasks": tasks, "model": "mockllm/model", "out": out, "attempts": 3, "says": "Answer: 100"}
    with ChatServer(right) as server:
        results = run(
            job(server, tasks, out, shots=3, attempts=1, config={"temperature": 0.5}),
            job(server, made, out, shots=2, attempts=2, judge=None, judge_base_url=None),
            *(mock, mock, mock | {"model": "nobody/m", "says": None}),
            mock | {"says": None, "attempts": 1, "out": out / "offline"},
            *(mock | {"config": {"temprature": 0}}, mock | {"attempts": 0}),
        )
        own = [request for request in server.requests if "What is" in request.text]
        other = [request for request in server.requests if "comes next" in request.text]
    return results, own, other, read_tasks(made)


def test_examples_come_before_a_task_and_are_never_the_one_that_is_asked(asked):
    _, own, generated, made = asked
    for request in own:
        questions, answers = request.said_by("user"), request.said_by("assistant")
        assert (len(questions), len({*questions}), len(answers)) == (4, 4, 3)
        sums = [int(re.search(r"What is (\d+)", question)[1]) + 100 for question in questions[:-1]]
        assert answers == [str(one) for one in sums]
    for request, seed in zip(
        sorted(generated, key=lambda one: one.text != made[0].instance(1).prompt), (1, 2), strict=True
    ):
        questions, answers = request.said_by("user"), request.said_by("assistant")
        assert questions[-1] == made[0].instance(seed).prompt
        assert (len({*questions}), len(answers)) == (3, 2)
    shown = [tuple(request.said_by("user")[:-1]) for request in generated]
    assert not {*shown[0]} & {*shown[1]}, "every attempt has examples of its own"


def test_tasks_without_examples_are_told(asked):
    (own, made, *_), *_ = asked
    assert own["provenance"]["notes"] == ["8 of 21 tasks have fewer than 3 examples to show."]
    assert made["failures"] == {"unjudged": 2}
    assert [row["text"] for row in made["review"]] == ["Roses are red."] * 2


def test_a_model_with_examples_is_a_subject_of_its_own_and_settings_reach_it(asked):
    (own, *_), requests, *_ = asked
    assert {*attempts_from_logs(own["paths"]).frame["subject"]} == {"openai-api/test/m (3-shot)"}
    assert {request.body["temperature"] for request in requests} == {0.5}


def test_inspects_mock_model_and_what_is_wrong_with_a_name(tasks, asked):
    _, _, done, again, unknown, plain, misspelt, none = asked[0]
    n = 3 * len(read_tasks(tasks))
    assert done["tokens"]["model"] == {"input": 7 * n, "output": 3 * n, "reasoning": 0}
    assert (outcome(done)["sum/0"], outcome(done)["sum/1"]) == ([1.0] * 3, [0.0] * 3)
    assert (done["status"], done["failures"]["unjudged"], done["addresses"]) == ("complete", 3 * len(VERDICTS), [])
    assert again["paths"] == done["paths"]
    # without a count of its own Inspect would fetch a tokenizer: "0 of 12 attempts scored" offline, reason api
    assert (plain["status"], plain["addresses"], "api" in plain["failures"]) == ("complete", [], False)
    assert plain["tokens"]["model"]["input"] > 0
    assert unknown["error"].startswith("OptionError: ")
    assert "nobody" in unknown["error"]
    assert "Did you mean 'temperature'?" in misspelt["error"]
    assert none["error"].startswith("OptionError: A run needs at least 1 task")


def test_the_command_writes_what_the_other_verbs_read(tasks, tmp_path, command):
    line = ["horizon", "run", tasks, "--model", "openai-api/test/m", "-o", tmp_path, "--attempts", "2"]
    with ChatServer(right) as server:
        line += ["--base-url", server.base_url]
        judge = "--judge", "openai-api/test/j", "--judge-base-url", server.base_url
        told = command(*line, *judge, "--config", "temperature=0", env=ENVIRONMENT)
        assert {request.body.get("temperature") for request in server.requests if request.body["model"] == "m"} == {0}
    assert told.returncode == 0, told.stderr
    assert "note: Replies to 1 tasks (2 attempts) must be scored by people.\n" in told.stderr
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {
        "attempts.csv",
        "cache",
        "logs",
        "replies.csv",
        "review.csv",
        "review.key.json",
        "run.json",
        "run.result.zip",
        "runs.jsonl",
    }
    attempts = Attempts(tmp_path / "attempts.csv")
    assert len(attempts) == 2 * (len(FAULTS) + len(VERDICTS))
    columns = ["subject", "task", "attempt", "score", "family", "domain"]
    by_name = read([str(tmp_path / "runs.jsonl")])
    assert by_name.frame.select(columns).sort(columns).equals(attempts.frame.select(columns).sort(columns))
    assert json.loads((tmp_path / "run.json").read_text())["success"]["sums"]["value"] == 1


def test_a_domain_that_is_not_there_is_named(tasks, tmp_path, command):
    wrong = command("horizon", "run", tasks, "--model", "openai-api/test/m", "-o", tmp_path, "--domain", "sum")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert "No domain in the suite called 'sum'. Did you mean 'sums'?" in wrong.stderr


@pytest.mark.heavy
def test_the_commands_exit_code_says_that_a_server_failed(tasks, tmp_path, command):
    line = ["horizon", "run", tasks, "--model", "openai-api/test/m", "-o", tmp_path, "--attempts", "1"]
    with ChatServer(lambda request: failure(401)) as server:
        told = command(*line, "--base-url", server.base_url, "--domain", "letters", "--json", "-q", env=ENVIRONMENT)
    assert (told.returncode, json.loads(told.stdout)["status"]) == (1, "incomplete"), told.stderr
    (line,) = told.stderr.splitlines()  # a quiet command says why it failed, too
    assert line.startswith("howsure: Not every question was answered. The same command continues with the rest.")
    assert "told to fail with 401" in line


@pytest.mark.evidence  # runs of all kinds are kept by the same code: tests/track kills one
def test_a_killed_run_keeps_what_was_answered(tasks, tmp_path):
    def slowly(request):
        whole = completion(right(request))(request)
        return Reply(whole.body, wait=0.1, usage=whole.usage)

    few = tmp_path / "few.yaml"
    few.write_text(
        "".join(
            line for line in tasks.read_text().splitlines(keepends=True) if not re.search(r"sum/[4-9]|sum/1\d", line)
        )
    )
    with ChatServer(slowly) as server:
        task = job(server, few, tmp_path, max_samples=1)
        program = start(task)
        while len(server.requests) < 12:
            time.sleep(0.01)
            assert program.poll() is None, program.stderr.read()
        program.kill()
        program.communicate()
        (done,) = run(task)
        assert (done["status"], done["errors"]) == ("complete", {})
        n = N_ATTEMPTS * (len(read_tasks(few)) + len(VERDICTS))
        assert n <= len(server.requests) <= n + 2, "only what was on its way is asked again"
        assert sum(done["tokens"][who]["output"] for who in ("model", "judge")) <= server.usage["completion_tokens"]


@pytest.mark.heavy
def test_inspects_own_command_runs_the_task_and_its_retry_is_the_same_run(tasks, tmp_path):
    with ChatServer(misbehaving()) as server:
        asked = ["-T", f"suite={tasks}", "-T", "attempts=2", "-T", "domain=sums"]
        line = ["eval", f"{TASK_FILE}@name_tasks", *asked, "--model", "openai-api/test/m", "--display=none"]
        line += ["--model-base-url", server.base_url, "--log-dir", tmp_path, "--max-retries=0"]
        first = inspect(*line, cwd=tmp_path)
        assert first.returncode == 0, first.stderr
        (log,) = tmp_path.glob("*.eval")
        n_whole = sum(told != "api" for _, told in FAULTS.values())
        n_right = sum(isinstance(told, float) for _, told in FAULTS.values())
        assert len(attempts_from_logs([tmp_path])) == 2 * n_right
        server.answer = right
        again = inspect("eval-retry", log, "--log-dir", tmp_path, "--display=none", cwd=tmp_path)
        assert again.returncode == 0, again.stderr
    found = attempts_from_logs([tmp_path]).frame
    assert len(found) == 2 * (n_right + len(FAULTS) - n_whole)
    assert found.filter(task="sum/4").select("attempt", "score").rows() == [(1, 1.0), (2, 1.0)]


def test_a_run_with_several_numbers_of_examples_makes_every_attempt_with_each(tmp_path):
    own = tmp_path / "own.yaml"
    write_tasks(make_tasks(2, domains=["pattern_recognition"]), own)
    with ChatServer(lambda request: "Answer: " + str(request.text.count("Answer"))) as server:
        several = job(server, own, tmp_path / "run", shots=[0, 2], judge=None, judge_base_url=None)
        first, again = run(several), run(several)
        n_messages = Counter(len(request.body["messages"]) for request in server.requests)
    assert n_messages == {1: 4, 5: 4}  # nothing is asked twice
    assert first[0]["replies"] == again[0]["replies"]
    assert Counter(reply["shots"] for reply in first[0]["replies"]) == {0: 4, 2: 4}
    assert {row["subject"] for row in attempts_from_logs([tmp_path / "run/logs"]).frame.to_dicts()} == {
        "openai-api/test/m",
        "openai-api/test/m (2-shot)",
    }


def test_with_feedback_a_model_hears_whether_it_was_right_and_may_learn(tmp_path):
    """The model answers with the number of times that it was told it was wrong; the third answer is right, and so are those after it."""
    own = tmp_path / "own.yaml"
    own.write_text(
        "tasks:\n- {id: two, domain: sums, verification_type: automated, prompt: 'Which number?', answer: 2}\n"
    )

    def answer(request):
        told = [message["content"] for message in request.body["messages"] if message["role"] == "user"]
        return f"Answer: {sum('That is wrong.' in text for text in told)}"

    with ChatServer(answer) as server:
        course = job(server, own, tmp_path / "run", attempts=4, feedback=True, judge=None, judge_base_url=None)
        (first,), (again,) = run(course), run(course)
        assert len(server.requests) == 4
    assert [reply["score"] for reply in first["replies"]] == [0, 0, 1, 1]
    assert [reply["earlier_attempts"] for reply in first["replies"]] == [0, 1, 2, 3]
    assert first["replies"] == again["replies"]
    frame = attempts_from_logs([tmp_path / "run/logs"]).frame.sort("subject")
    assert dict(frame.select("subject", "score").iter_rows()) == {
        "openai-api/test/m": 0,
        "openai-api/test/m (after 1 attempt)": 0,
        "openai-api/test/m (after 2 attempts)": 1,
        "openai-api/test/m (after 3 attempts)": 1,
    }


def test_with_feedback_a_model_may_be_told_what_was_right(tmp_path):
    tasks = make_tasks(1, domains=["household"])
    write_tasks(tasks, tmp_path / "own.yaml")
    with ChatServer(lambda _: "Answer: ?") as server:
        course = job(
            server,
            tmp_path / "own.yaml",
            tmp_path / "run",
            attempts=2,
            feedback=True,
            shows_answers=True,
            judge=None,
            judge_base_url=None,
        )
        run(course)
        last = server.requests[-1].said_by("user")[-1]
    first, second = (tasks[0].instance(seed) for seed in (1, 2))
    assert last == f"That is wrong. The right answer: {first.answer}\n\n{second.prompt}"


def test_feedback_needs_tasks_that_a_program_checks(tasks, tmp_path):
    from howsure.errors import OptionError
    from howsure.horizon.asking.task_runs import run_tasks

    with pytest.raises(OptionError, match="a program must check every task"):
        run_tasks(read_tasks(tasks), "mockllm/model", out=tmp_path, feedback=True)
    with pytest.raises(OptionError, match="give each number once"):
        run_tasks(read_tasks(tasks), "mockllm/model", out=tmp_path, shots=[1, 1])
    with pytest.raises(OptionError, match="Ask for feedback, too"):
        run_tasks(read_tasks(tasks), "mockllm/model", out=tmp_path, shows_answers=True)
