"""Judges behind a real server that misbehaves: a server's failure is no rating and is asked again, a malformed reply is none and is not."""

import importlib.util
import time

import polars as pl
import pytest

from howsure.tables import Ratings
from servers.openai_server import ChatServer, Reply, completion, cut, failure, no_choices, raw
from study.judge_program import run, start
from study.judging import fan, small_study

for package in ("inspect_ai", "openai"):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"models are asked with Inspect and {package}, which is not installed", allow_module_level=True)

# what the server does to one pair, in both orders, and what the reply shall then say
FAULTS = {
    "well": (None, None),
    "429 once": ([failure(429, code="rate_limit_exceeded", retry_after=0.05)], None),
    "429 for good": (failure(429, code="rate_limit_exceeded", retry_after=0.05), "api"),
    "500": (failure(500), "api"),
    "401": (failure(401, code="invalid_api_key"), "api"),
    "cut line": (cut("[voice: 1]"), "api"),
    "half a document": (raw(b'{"choices": ['), "api"),
    "no choices": (no_choices(), "api"),
    "prose": (completion("Response 1, clearly."), "format"),
    "empty": (completion(""), "null"),
    "cut short": (completion("Let me think about", finish="length"), "length"),
    "filtered": (completion("No.", finish="content_filter"), "refusal"),
    "refused": (completion(None, refusal="I would rather not."), "refusal"),
}
NAMES = list(FAULTS)
STUDY = small_study(len(FAULTS))


def right(request):
    return fan(STUDY)(request.text)


def misbehaving():
    times = {}

    def answer(request):
        number = int(request.text.split("Question ")[1].split("?")[0])
        fault = FAULTS[NAMES[number]][0]
        if isinstance(fault, list):
            asked = times[request.text] = times.get(request.text, 0) + 1
            fault = fault[asked - 1] if asked <= len(fault) else None
        return fault or right(request)

    return answer


def job(server, out, **changes):
    told = {"model": "openai-api/test/test-model", "base_url": server.base_url, "out": str(out), "n_pairs": len(FAULTS)}
    return told | {"max_retries": 0, "attempt_timeout": 60, "model_args": {"max_retries": 1}} | changes


@pytest.fixture(scope="module")
def disturbed(tmp_path_factory):
    """A run on the misbehaving server, the same when the server is well again, and once more; then two that are wrong."""
    out = tmp_path_factory.mktemp("disturbed")
    with ChatServer(misbehaving()) as server:
        (first,) = run(job(server, out))
        n_first = len(server.requests)
        server.answer = right
        wrong = [job(server, out, config={"temprature": 0}), job(server, out, model="nobody/m", base_url=None)]
        second, third, *refused = run(job(server, out), job(server, out), *wrong)
        asked_again = [request.text for request in server.requests[n_first:]]
    return first, second, third, asked_again, refused


@pytest.mark.parametrize("name", NAMES)
def test_what_left_a_question_without_rating_is_told_apart(disturbed, name):
    told = [reply for reply in disturbed[0]["replies"] if reply[0] == f"pair-{NAMES.index(name)}"]
    assert [reply[3] for reply in told] == [FAULTS[name][1]] * 2
    assert [bool(reply[2]) for reply in told] == [FAULTS[name][1] is None] * 2


def test_right_answers_are_about_the_target_in_both_orders(disturbed):
    assert [
        (slot, values["voice"], values["vibe:comparison"]) for _, slot, values, _ in disturbed[0]["replies"][:2]
    ] == [
        (1, 2, 1),
        (2, 2, 1),
    ]


def test_a_servers_failure_is_named_and_the_others_go_on(disturbed):
    first = disturbed[0]
    assert (first["status"], first["exit_code"], first["addresses"]) == ("incomplete", 1, [])
    assert "RateLimitError, also when asked again" in first["errors"]


def test_only_what_a_server_failed_on_is_asked_again(disturbed):
    _, second, third, asked_again, _ = disturbed
    failed = [number for number, name in enumerate(NAMES) if FAULTS[name][1] == "api"]
    assert sorted(text.split("Question ")[1].split("?")[0] for text in asked_again) == sorted(
        f"{number}" for number in failed for _ in (1, 2)
    )
    assert (second["status"], second["exit_code"], second["errors"]) == ("complete", 0, {})
    outcome = {reply[0]: reply[3] for reply in second["replies"]}
    expected = [None if FAULTS[name][1] == "api" else FAULTS[name][1] for name in NAMES]
    assert [outcome[f"pair-{number}"] for number in range(len(NAMES))] == expected
    assert third["logs"] == second["logs"], "what is complete is not asked again"


def test_a_misspelt_setting_and_a_wrong_provider_are_named(disturbed):
    misspelt, unknown = disturbed[-1]
    assert misspelt["error"].startswith(
        "OptionError: No generation setting called 'temprature'. Did you mean 'temperature'?"
    )
    assert unknown["error"].startswith("OptionError: ")
    assert "nobody" in unknown["error"]


def test_the_command_writes_tables_and_says_when_a_server_failed(tmp_path, command, monkeypatch):
    monkeypatch.setenv("TEST_API_KEY", "none")
    study = tmp_path / "study.yaml"
    study.write_text(small_study(3).model_dump_json())
    line = ["study", "judge", study, "--model", "openai-api/test/m", "-o", tmp_path / "out", "-q"]

    def answer(request):
        return completion("Hm.") if "Question 2?" in request.text else right(request)

    with ChatServer(answer) as server:
        told = command(*line, "--base-url", server.base_url, "--config", "temperature=0")
        assert {request.body["temperature"] for request in server.requests} == {0}
    assert told.returncode == 0, told.stderr
    ratings = Ratings(tmp_path / "out/judge.csv").frame
    assert ratings["item"].unique().sort().to_list() == ["pair-0", "pair-1"]
    scores = pl.read_csv(tmp_path / "out/model_scores.csv")
    assert scores.rows() == [("pair-0", 1.0, "TECH"), ("pair-1", 1.0, "TECH")]
    assert (tmp_path / "out/judge_orders.csv").read_text().count("format") == 12
    assert "lexical" in (tmp_path / "out/similarity_scores.csv").read_text()
    assert list((tmp_path / "out/logs").glob("*.eval"))


def test_a_judge_that_rates_nothing_is_no_success(tmp_path, command, monkeypatch):
    monkeypatch.setenv("TEST_API_KEY", "none")
    study = tmp_path / "study.yaml"
    study.write_text(small_study(3).model_dump_json())
    with ChatServer(lambda request: completion("Hm.")) as server:
        line = ("study", "judge", study, "--model", "openai-api/test/m", "--base-url", server.base_url)
        told = command(*line, "-o", tmp_path / "out")
    assert told.returncode == 1
    assert "rated no pair in both orders" in told.stderr
    assert "format" in (tmp_path / "out/judge_orders.csv").read_text()


@pytest.mark.evidence  # runs of all kinds are kept by the same code: tests/track kills one
def test_a_killed_run_keeps_what_was_answered(tmp_path):
    def slowly(request):
        whole = completion(right(request))(request)
        return Reply(whole.body, wait=0.1, usage=whole.usage)

    with ChatServer(slowly) as server:
        task = job(server, tmp_path, max_samples=1)
        program = start(task)
        while len(server.requests) < 12:
            time.sleep(0.01)
            assert program.poll() is None, program.stderr.read()
        program.kill()
        program.communicate()
        asked = len(server.requests)
        (done,) = run(task)
        assert (done["status"], done["errors"]) == ("complete", {})
        assert len(server.requests) <= 2 * len(FAULTS) + 2, f"asked {asked} before the kill"
