"""Models behind a real server that misbehaves: what is the model's fault is told from what is not, and nothing is asked twice."""

import contextlib
import importlib.util
import re
import threading
from collections import Counter
from pathlib import Path

import pytest

from howsure.track.game.prompts import bracketed, instructions, state_message
from howsure.track.game.sequence import Setting
from howsure.track.game.statistics import statistic
from howsure.track.running.logs import samples_from_logs
from servers.inspect_process import inspect
from servers.openai_server import (
    ChatServer,
    completion,
    cut,
    failure,
    faulty,
    hang,
    no_choices,
    raw,
)
from track.inspect_program import run, start

for package in ("inspect_ai", "openai"):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"models are asked with Inspect and {package}, which is not installed", allow_module_level=True)

MODEL = "openai-api/test/test-model"
OURS = "openai-http/test/test-model"
TASK_FILE = Path(__file__).parents[2] / "src" / "howsure" / "track" / "running" / "task.py"
RIGHT_TURNS = 3
LENGTH = 6

# what the server does in turn 4, and what the sample shall then say: error_kind, failure
FAULTS = {
    "429 once": ([failure(429, code="rate_limit_exceeded", retry_after=0.05)], (None, None)),
    "429 for good": ([failure(429, code="rate_limit_exceeded", retry_after=0.05)], (None, "api")),
    "500": ([failure(500)], (None, "api")),
    "cut line": ([cut("[median: 5]")], (None, "api")),
    "half a document": ([raw(b'{"choices": [')], (None, "api")),
    "a web page": ([raw(b"<html>Bad gateway</html>")], (None, "api")),
    "empty": ([completion("")], (None, "null")),
    "null": ([completion(None)], (None, "null")),
    "no choices": ([no_choices()], (None, "api")),
    "cut off": ([completion("The sorted numbers are", finish="length")], (None, "cut")),
    "answer, then cut off": ([completion("[median: 0.1] because", finish="length")], ("other", None)),
    "conversation too long": ([failure(400, code="context_length_exceeded")], (None, "context")),
    "conversation too long, in other words": ([failure(400, says="prompt is too long: 9 > 8")], (None, "context")),
    "filter": ([completion("", finish="content_filter")], (None, "refusal")),
    "refusal": ([completion(None, refusal="I would rather not.")], (None, "refusal")),
    "wrong bracket": ([completion("(median: 5)")], ("format", None)),
    "other word": ([completion("[mode: 5]")], ("format", None)),
    "unicode digits, wrong": ([completion("[median: ١.١]")], ("other", None)),
    "a megabyte": ([completion("1 2 3 " * 175_000)], ("format", None)),
}
PASSING = {"429 once"}
NAMES = list(FAULTS)


def right(request):
    """What the perfect player says to a conversation."""
    tracked = statistic(re.search(r"\[(\w+): <answer>\]", request.said_by("system")[0])[1])()
    for number in numbers(request):
        tracked.update(number)
    return bracketed(tracked, tracked.answer())


def numbers(request):
    return [int(re.search(r"^\d+$", text, re.MULTILINE)[0]) for text in request.said_by("user")]


def misbehaving():
    """A server for as many samples as there are faults; each has its own."""
    behave = [faulty(right, RIGHT_TURNS, faults, forever=name not in PASSING) for name, (faults, _) in FAULTS.items()]
    beginnings = [Setting(length=LENGTH).steps("median", seed) for seed in range(len(FAULTS))]

    def reply(request):
        shown = numbers(request)
        (seed, *others) = [seed for seed, known in enumerate(beginnings) if known[: len(shown)] == shown]
        return right(request) if others else behave[seed](request)

    return reply


def job(server, out, **changes):
    return {
        "model": MODEL,
        "base_url": server.base_url,
        "out": str(out),
        "n_samples": len(FAULTS),
        "setting": {"length": LENGTH},
        "max_retries": 0,
        "attempt_timeout": 120,
        "model_args": {"max_retries": 1},
        "max_samples": len(FAULTS),
    } | changes


def frame(result):
    return samples_from_logs(result["logs"]).frame


def answered_twice(server):
    """Conversations to which the server gave a whole reply more than once; a first number is shared by several games."""
    answered = Counter(
        request.conversation
        for request, reply in zip(server.requests, server.replies, strict=True)
        if reply.usage and len(numbers(request)) > 1
    )
    return [conversation for conversation, times in answered.items() if times > 1]


@pytest.fixture(scope="module", params=[MODEL, OURS])
def disturbed(request, tmp_path_factory):
    """A run on the misbehaving server, and the same run resumed when the server is well again; with Inspect's provider and with ours."""
    out = tmp_path_factory.mktemp("disturbed")
    how = {"model": request.param} | ({"model_args": {}, "max_retries": 1} if request.param == OURS else {})
    with ChatServer(misbehaving()) as server:
        (first,) = run(job(server, out, **how))
        first["usage"] = server.usage
        server.answer = right
        second, third = run(job(server, out, **how), job(server, out, **how))
        second["usage"], second["twice"] = server.usage, answered_twice(server)
    return first, second, third


@pytest.mark.parametrize("name", NAMES)
def test_what_ends_a_game_is_told_apart(disturbed, name):
    row = frame(disturbed[0]).row(NAMES.index(name), named=True)
    assert (row["error_kind"], row["failure"]) == FAULTS[name][1]
    assert row["violation"] == (FAULTS[name][1][0] == "format")
    assert row["max_length"] == (LENGTH if name in PASSING else RIGHT_TURNS)


def test_a_server_that_hangs_is_given_up(tmp_path):
    with ChatServer(faulty(right, RIGHT_TURNS, [hang()])) as server:
        (done,) = run(job(server, tmp_path, n_samples=1, attempt_timeout=2))
    assert (done["exit_code"], done["errors"]) == (1, {"AttemptTimeoutError, also when asked again": 1})
    assert frame(done).select("failure", "violation").rows() == [("api", 0)]


# what a server does from its first reply on, and how it is asked
SERVERS = {
    "key": (failure(401, code="invalid_api_key"), {}),
    "gone": (failure(500), {"config": {"max_retries": 0}, "model_args": {"max_retries": 0}, "max_retries": 7}),
    "bad request": (failure(400, code="bad_parameter"), {}),
    "silent": (hang(), {"config": {"max_retries": 0, "attempt_timeout": 2}, "max_retries": 7, "attempt_timeout": 200}),
}


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """Twelve games with each of these servers; a server that garbles one reply in each game; and Inspect's mock model."""
    with contextlib.ExitStack() as stack:
        servers = {name: stack.enter_context(ChatServer(lambda _, f=fault: f)) for name, (fault, _) in SERVERS.items()}
        servers["garbled"] = stack.enter_context(
            ChatServer(faulty(right, RIGHT_TURNS, [raw(b'{"choices": [')], forever=False))
        )
        how = {name: how for name, (_, how) in SERVERS.items()}
        jobs = [
            job(server, tmp_path_factory.mktemp("refused"), **{"n_samples": 12} | how.get(name, {}))
            for name, server in servers.items()
        ]
        jobs.append(jobs[0] | {"model": "mockllm/model", "base_url": None, "model_args": {}, "n_samples": 2})
        results = dict(zip([*servers, "offline"], run(*jobs), strict=True))
        return {name: (result, len(servers[name].requests)) for name, result in results.items() if name in servers} | {
            "offline": (results["offline"], 0)
        }


def test_a_refused_key_stops_the_run_after_the_first_question(refused):
    result, asked = refused["key"]
    assert asked == 1
    assert sum(result["errors"].values()) == 12
    assert any("not asked: the server refused the key" in line and "401" in line for line in result["errors"])
    assert frame(result)["ended_by"].to_list() == ["interrupted"] * 12


def test_a_server_that_always_fails_is_given_up_after_three_questions(refused):
    result, asked = refused["gone"]
    assert (asked, result["exit_code"]) == (3, 1)
    assert any("not asked: the server kept failing" in line for line in result["errors"])


def test_the_users_own_retries_and_timeouts_win(refused):
    """The job asks for 7 retries and 200 seconds, its ``config`` for none and 2."""
    result, asked = refused["silent"]
    assert asked <= 2, "the client may ask again by itself"
    assert any("AttemptTimeoutError" in line for line in result["errors"])


def test_the_reason_of_a_bad_request_is_shown(refused):
    result, _ = refused["bad request"]
    assert any("told to fail with 400" in line for line in result["errors"])
    assert not any("Request:" in line for line in result["errors"])


def test_a_body_that_is_no_json_is_asked_for_again(refused):
    result, asked = refused["garbled"]
    assert (result["status"], result["errors"]) == ("complete", {})
    assert frame(result)["max_length"].to_list() == [LENGTH] * 12
    assert asked > 12 * LENGTH


def test_inspects_mock_model_needs_no_network(refused):
    """It counted tokens with a tokenizer from the network: no question was answered, and the server was blamed."""
    result, _ = refused["offline"]
    assert (result["status"], result["errors"], result["addresses"]) == ("complete", {}, [])


def test_one_games_error_does_not_stop_the_others(disturbed):
    first, _, _ = disturbed
    assert (first["n_missing"], first["exit_code"]) == (0, 1)
    assert any(re.search(r"(RateLimitError|status 429: .*), also when asked again", line) for line in first["errors"])


def test_tokens_add_up(disturbed):
    first, _, _ = disturbed
    table = frame(first)
    assert table["input_tokens"].sum() == first["usage"]["prompt_tokens"]
    assert table["output_tokens"].sum() == first["usage"]["completion_tokens"]


def test_a_resumed_run_asks_nothing_again_that_was_answered(disturbed):
    _, second, third = disturbed
    assert (second["status"], second["exit_code"]) == ("complete", 0)
    assert second["twice"] == []
    assert third["logs"] == second["logs"], "what is complete is not asked again"
    assert not (Path(second["logs"][0]).parents[1] / "cache").exists()


def test_a_resumed_run_plays_on_where_the_server_failed_and_leaves_the_rest(disturbed):
    first, second, _ = (frame(result) for result in disturbed)
    outcome = ["max_length", "error_kind", "failure"]
    is_failed = first["failure"] == "api"
    assert second.filter(is_failed).select(outcome).unique().rows() == [(LENGTH, None, None)]
    assert second.filter(~is_failed).select(outcome).equals(first.filter(~is_failed).select(outcome))
    assert second["input_tokens"].sum() == disturbed[1]["usage"]["prompt_tokens"], "earlier tokens are counted once"


def with_notes(request):
    return f"Sorted they are {sorted(numbers(request))}. {right(request)}"


def thinking(request):
    return completion(right(request), reasoning="Let me sort them.")


def thinking_unseen(request):
    return completion(right(request), completion_tokens_details={"reasoning_tokens": 40})


def reading_from_cache(request):
    return completion(right(request), prompt_tokens_details={"cached_tokens": 30})


BRIEF = {"setting": {"length": 3, "is_brief": True}}
# how each model answers, and how it is asked
MODELS = {
    "shown": (right, {"solver": "explicit"}),
    "told": (right, {"solver": "explicit", "state_role": "assistant", "variant": "mode"}),
    "distracted": (right, {"setting": {"length": 3, "distractors": 1.0}}),
    "notes": (with_notes, {}),
    "thoughts": (thinking, {}),
    "brief": (right, BRIEF),
    "brief-notes": (with_notes, BRIEF),
    "brief-thoughts": (thinking, BRIEF),
    "brief-unseen": (thinking_unseen, BRIEF),
    "cached": (reading_from_cache, {}),
    "limited": (right, {"config": {"max_tokens": 9, "temperature": 0.5}}),
}


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """One game of each model: its sample, the notes on it, and the bodies of what it was asked."""
    out = tmp_path_factory.mktemp("asked")
    with ChatServer(lambda request: MODELS[request.body["model"]][0](request)) as server:
        jobs = [
            job(server, out, model=f"openai-api/test/{name}", n_samples=1, **({"setting": {"length": 3}} | how))
            for name, (_, how) in MODELS.items()
        ]
        results = dict(zip(MODELS, run(*jobs), strict=True))
        bodies = {name: [one.body for one in server.requests if one.body["model"] == name] for name in MODELS}
    samples = {name: samples_from_logs(result["logs"]) for name, result in results.items()}
    return {name: (one.frame.row(0, named=True), one.notes, bodies[name]) for name, one in samples.items()}


def said(body):
    return [(message["role"], message["content"]) for message in body["messages"]]


def test_explicit_state_comes_with_the_newest_number_only(asked):
    row, _, bodies = asked["shown"]
    assert (row["solver"], row["max_length"]) == ("explicit", 3)
    first, second, third = Setting(length=3).steps("median", 0)
    (system, opening), *turns = said(bodies[-1])
    assert (system, opening) == ("system", instructions("median", Setting(length=3)))
    assert turns[:-1] == [("user", f"{first}"), ("assistant", f"[median: {first}]"), ("user", f"{second}"), turns[3]]
    assert turns[-1] == ("user", f"{third}\n\n{state('median', first, second, third)}")


def test_the_assistant_can_say_the_state(asked):
    row, _, bodies = asked["told"]
    assert (row["solver"], row["max_length"]) == ("explicit (assistant)", 3)
    shown = Setting(length=3).steps("median", 0)
    assert said(bodies[-1])[-2:] == [("user", f"{shown[-1]}"), ("assistant", state("mode", *shown))]
    assert len(said(bodies[-1])) == 1 + 2 * 2 + 2


def test_distractors_stand_before_the_numbers(asked):
    row, _, bodies = asked["distracted"]
    assert (row["setting"], row["max_length"]) == ("distractors=1", 3)
    setting = Setting(length=3, distractors=1.0)
    lines = [
        f"{line}\n{number}" for line, number in zip(setting.lines("median", 0), setting.steps("median", 0), strict=True)
    ]
    assert [text for role, text in said(bodies[-1]) if role == "user"] == lines


@pytest.mark.parametrize("name", ["notes", "thoughts"])
def test_written_state_is_noticed(asked, name):
    row, notes, _ = asked[name]
    assert (row["max_length"], row["failure"]) == (3, None)
    assert notes[0].startswith(f"openai-api/test/{name}: in 1 of 1 games a reply contains reasoning or notes")


def test_nothing_is_noticed_where_only_answers_are_said(asked):
    assert asked["shown"][1] == asked["brief"][1] == ()


@pytest.mark.parametrize(
    ("name", "turns", "failure"),
    [("brief", 3, None), ("brief-notes", 2, "notes"), ("brief-thoughts", 3, None), ("brief-unseen", 3, None)],
)
def test_written_state_can_be_forbidden(asked, name, turns, failure):
    row, _, bodies = asked[name]
    assert (row["max_length"], row["failure"], row["violation"]) == (turns, failure, 0)
    assert "Write nothing but the answer" in said(bodies[0])[0][1]


def test_tokens_from_a_providers_cache_count_as_read(asked):
    row, _, bodies = asked["cached"]
    words = sum(len(text.split()) for body in bodies for _, text in said(body))
    assert (row["input_tokens"], row["reasoning_tokens"]) == (words, 0)
    assert asked["brief-unseen"][0]["reasoning_tokens"] == 3 * 40


def test_generation_settings_reach_the_model(asked):
    _, _, bodies = asked["limited"]
    assert {(body["max_tokens"], body["temperature"]) for body in bodies} == {(9, 0.5)}


def state(variant, *shown):
    tracked = statistic(variant)()
    for number in shown:
        tracked.update(number)
    return state_message(tracked)


@pytest.mark.heavy
def test_a_killed_run_goes_on_from_the_replies_it_had(tmp_path):
    held, killed = threading.Event(), threading.Event()

    def then_nothing(request):
        if request.number >= 5 * LENGTH + 3 and not killed.is_set():
            held.set()
            killed.wait(600)
        return right(request)

    with ChatServer(then_nothing) as server:
        task = job(server, tmp_path, n_samples=8, max_samples=2)
        program = start(task)
        while not held.wait(0.2) and program.poll() is None:
            pass
        is_running = program.poll() is None
        program.kill()
        _, errors = program.communicate()
        killed.set()
        assert is_running, errors
        asked = len(server.requests)
        kept = sum(path.read_text().count("\n") for path in (tmp_path / "cache").rglob("*.jsonl"))
        assert 0 <= asked - kept <= 2, "all but what was on its way is kept"
        (done,) = run(task)
        assert (done["status"], done["errors"]) == ("complete", {})
        assert len(server.requests) == 8 * LENGTH + asked - kept
    table = frame(done)
    assert table.select("max_length", "attempt").rows() == [(LENGTH, 1)] * 8
    assert table["input_tokens"].n_unique() == 1, "the replies before the kill are counted too"


@pytest.mark.heavy
def test_inspects_own_retry_counts_earlier_tokens(tmp_path):
    """Without the cache a game is played again from its start, and what it cost before is counted."""
    with ChatServer(faulty(right, RIGHT_TURNS, [failure(400, code="bad")])) as server:
        line = ["eval", f"{TASK_FILE}@track_the_stat", "-T", "samples=2", "-T", f"length={LENGTH}", "--model", MODEL]
        line += ["--model-base-url", server.base_url, "--log-dir", tmp_path, "--display=none", "--max-retries=0"]
        first = inspect(*line, cwd=tmp_path)
        assert first.returncode == 0, "the trap: every sample errored, and Inspect's exit code is 0"
        (log,) = tmp_path.glob("*.eval")
        assert samples_from_logs([log]).frame["failure"].to_list() == ["api", "api"]
        server.answer = right
        again = inspect("eval-retry", log, "--log-dir", tmp_path, "--display=none", cwd=tmp_path)
        assert again.returncode == 0, again.stderr
    assert len(list(tmp_path.glob("*.eval"))) == 2
    table = samples_from_logs([tmp_path]).frame
    assert table.select("failure", "max_length", "attempt").rows() == [(None, LENGTH, 1)] * 2
    assert table["input_tokens"].sum() == server.usage["prompt_tokens"]
    assert table["output_tokens"].sum() == server.usage["completion_tokens"]
