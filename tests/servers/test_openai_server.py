"""The test server itself, asked over real sockets."""

import http.client
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

from servers.openai_server import ChatServer, completion, cut, failure, faulty, hang, no_choices, raw


def post(server, *said, path="/v1/chat/completions", timeout=60, **options):
    """Status, headers and body; messages are by turns the user's and the assistant's."""
    messages = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(said)]
    line = http.client.HTTPConnection(urlsplit(server.base_url).netloc, timeout=timeout)
    try:
        line.request("POST", path, json.dumps({"model": "m", "messages": messages, **options}), {"X-Note": "here"})
        answer = line.getresponse()
        return answer.status, dict(answer.headers), answer.read()
    finally:
        line.close()


def content(server, *said):
    return json.loads(post(server, *said)[2])["choices"][0]["message"]["content"]


def test_a_function_answers_and_sees_the_request():
    with ChatServer(lambda request: f"{request.turn}: {request.text}") as server:
        assert content(server, "one two") == "0: one two"
        assert content(server, "one", "0: one", "three") == "1: three"
        first, second = server.requests
    assert (first.number, second.number) == (0, 1)
    assert first.headers["X-Note"] == "here"
    assert second.said_by("user") == ["one", "three"]


def test_tokens_are_counted_and_add_up():
    with ChatServer(lambda request: "four words are here") as server:
        usage = json.loads(post(server, "one two")[2])["usage"]
        post(server, "three")
        assert usage == {"prompt_tokens": 2, "completion_tokens": 4, "total_tokens": 6}
        assert server.usage == {"prompt_tokens": 3, "completion_tokens": 8, "total_tokens": 11}


def test_messages_in_parts_are_read():
    with ChatServer(lambda request: request.text) as server:
        parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
        body = post(server, messages=[{"role": "user", "content": parts}])[2]
    assert json.loads(body)["choices"][0]["message"]["content"] == "ab"


def test_models_are_listed_and_other_addresses_are_not_found():
    with ChatServer(lambda request: "", model="mine") as server:
        line = http.client.HTTPConnection(urlsplit(server.base_url).netloc, timeout=60)
        line.request("GET", "/v1/models")
        listed = json.loads(line.getresponse().read())
        line.request("GET", "/nothing")
        assert line.getresponse().status == 404
        line.close()
        assert post(server, "a", path="/v1/embeddings")[0] == 404
        assert post(server, "a", stream=True)[0] == 400
    assert [model["id"] for model in listed["data"]] == ["mine"]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (completion(None), {"content": None}),
        (completion(""), {"content": ""}),
        (completion("no", refusal="I will not"), {"refusal": "I will not"}),
        (completion("5", reasoning="2 + 3"), {"reasoning_content": "2 + 3"}),
    ],
)
def test_messages_of_every_kind(fault, expected):
    with ChatServer(lambda request: fault) as server:
        message = json.loads(post(server, "a")[2])["choices"][0]["message"]
    assert expected.items() <= message.items()


def test_replies_that_are_not_as_they_should_be():
    with ChatServer(
        lambda request: [completion("x", finish="length"), no_choices(), raw(b"{")][request.number]
    ) as server:
        assert json.loads(post(server, "a")[2])["choices"][0]["finish_reason"] == "length"
        assert json.loads(post(server, "a")[2])["choices"] == []
        assert post(server, "a")[2] == b"{"


def test_failures_carry_status_code_and_retry_after():
    with ChatServer(lambda request: failure(429, code="rate_limit_exceeded", retry_after=0.5)) as server:
        status, headers, body = post(server, "a")
    assert (status, headers["Retry-After"]) == (429, "0.5")
    assert json.loads(body)["error"]["code"] == "rate_limit_exceeded"


def test_a_cut_line_ends_in_the_middle_of_the_body():
    with ChatServer(lambda request: cut("long " * 100)) as server, pytest.raises(http.client.IncompleteRead):
        post(server, "a")


def test_a_hanging_line_says_nothing():
    with ChatServer(lambda request: hang()) as server, pytest.raises(TimeoutError):
        post(server, "a", timeout=0.2)


def test_closing_does_not_wait_for_what_hangs():
    with ThreadPoolExecutor() as pool:
        with ChatServer(lambda request: hang(60)) as server:
            asked = pool.submit(post, server, "a")
            while not server.requests:
                time.sleep(0.01)
        with pytest.raises(http.client.RemoteDisconnected):
            asked.result(timeout=60)


def test_nothing_is_left_after_closing():
    before = threading.active_count()
    with ChatServer(lambda request: "a") as server:
        idle = http.client.HTTPConnection(urlsplit(server.base_url).netloc, timeout=60)
        idle.request("GET", "/v1/models")
        idle.getresponse().read()
    assert threading.active_count() == before
    idle.close()


def test_faults_come_at_their_turn_one_after_the_other():
    with ChatServer(faulty(lambda request: "right", 1, [failure(500), completion("wrong")])) as server:
        assert content(server, "a") == "right"
        assert post(server, "a", "right", "b")[0] == 500
        assert [content(server, "a", "right", "b") for _ in range(2)] == ["wrong", "wrong"]
        assert post(server, "c", "right", "d")[0] == 500, "each conversation has its own faults"


def test_a_disturbance_can_pass():
    with ChatServer(faulty(lambda request: "right", 0, [failure(429)], forever=False)) as server:
        assert post(server, "a")[0] == 429
        assert content(server, "a") == "right"
        assert set(server.asked().values()) == {2}


def test_many_ask_at_once():
    with ChatServer(lambda request: request.text) as server, ThreadPoolExecutor(16) as pool:
        texts = [str(i) for i in range(64)]
        assert list(pool.map(lambda text: content(server, text), texts)) == texts
    assert sorted(request.number for request in server.requests) == list(range(64))
