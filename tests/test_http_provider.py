"""Our own provider for servers that speak OpenAI's protocol, on a real server that misbehaves."""

import json

import pytest

pytest.importorskip("inspect_ai")
pytest.importorskip("openai")

import httpx
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    ContentReasoning,
    ContentText,
    GenerateConfig,
)

from howsure.errors import OptionError
from howsure.running.http_provider import HttpAPI, ServerError
from howsure.running.runs import GarbledReplyError
from servers.event_loops import in_a_loop
from servers.openai_server import ChatServer, Reply, completion, cut, failure, no_choices, raw


def ask(server, *conversations, **config):
    """One output or exception per conversation, all of one client."""

    async def work():
        api = HttpAPI("test/m-1", base_url=server.base_url, api_key=config.pop("api_key", "secret"))
        found = []
        for messages in conversations:
            try:
                found.append(await api.generate(messages, [], "auto", GenerateConfig(**config)))
            except Exception as error:  # noqa: BLE001 - it is what is looked at
                found.append((error, api.should_retry(error)))
        await api.aclose()
        return found

    return in_a_loop(work())


def hello():
    return [ChatMessageSystem(content="Say “pong”."), ChatMessageUser(content="ping")]


def test_a_reply_has_text_stop_and_usage():
    with ChatServer(
        lambda _: completion("pong", finish="length", prompt_tokens_details={"cached_tokens": 1})
    ) as server:
        (output,) = ask(server, hello())
    assert (output.completion, output.stop_reason, output.model) == ("pong", "max_tokens", "m-1")
    assert (output.usage.input_tokens, output.usage.input_tokens_cache_read, output.usage.output_tokens) == (2, 1, 1)
    (request,) = server.requests
    assert request.messages == [{"role": "system", "content": "Say “pong”."}, {"role": "user", "content": "ping"}]
    assert request.headers["Authorization"] == "Bearer secret"


def test_settings_reach_the_server_and_an_unknown_one_is_refused():
    with ChatServer(lambda _: "pong") as server:
        told = {"max_tokens": 9, "temperature": 0.5, "stop_seqs": ["x"], "extra_body": {"top_k": 3}, "max_retries": 2}
        ask(server, hello(), **told)
        ((error, _),) = ask(server, hello(), reasoning_tokens=10)
    (request,) = server.requests
    body = {name: value for name, value in request.body.items() if name != "messages"}
    assert body == {"model": "m-1", "max_tokens": 9, "temperature": 0.5, "stop": ["x"], "top_k": 3}
    assert isinstance(error, OptionError)
    assert "reasoning_tokens" in str(error)


def test_a_growing_conversation_is_sent_as_it_is():
    """Messages are serialised once; one that is changed, replaced or taken out is noticed."""
    messages, sent, n_written = hello(), [], []

    async def work():
        api = HttpAPI("test/m-1", base_url=server.base_url)

        async def send():
            before = {id(one) for one in await api._bytes(messages[:-1])}
            n_written.append(sum(id(one) not in before for one in await api._bytes(messages)))
            sent.append([one.text for one in messages])
            await api.generate(messages, [], "auto", GenerateConfig())

        for text in ("a", "b", "c"):
            messages.append(ChatMessageUser(content=text))
            await send()
            messages.append(ChatMessageAssistant(content=f"{text}!"))
        del messages[-1]
        messages[2].content = "changed"
        messages[4] = ChatMessageUser(content="another")
        await send()
        await api.aclose()

    with ChatServer(lambda _: "pong") as server:
        in_a_loop(work())
    assert [[one["content"] for one in request.messages] for request in server.requests] == sent
    assert n_written == [1, 1, 1, 1]


def test_reasoning_is_read_and_sent_back_as_inspect_does():
    with ChatServer(lambda _: completion("pong", reasoning="Ping needs pong.")) as server:
        kept = ChatMessageAssistant(
            content=[ContentReasoning(reasoning="Hm.", internal="reasoning_content"), ContentText(text="pong")]
        )
        (output,) = ask(server, [*hello(), kept, ChatMessageUser(content="ping")])
    assert [part.type for part in output.message.content] == ["reasoning", "text"]
    assert output.completion == "pong"
    assert server.requests[0].messages[2]["reasoning_content"] == "Hm."


def test_marks_of_reasoning_and_a_refusal_are_read():
    with ChatServer(
        lambda r: "<think>Hm.</think>pong" if r.text == "ping" else completion(None, refusal="No.")
    ) as server:
        thought, refused = ask(server, hello(), [ChatMessageUser(content="no")])
    assert thought.completion == "pong"
    assert refused.message.content[0].refusal


def test_a_text_in_parts_is_read():
    body = b'{"choices": [{"message": {"content": [{"type": "text", "text": "pong"}]}, "finish_reason": "stop"}]}'
    with ChatServer(lambda _: raw(body)) as server:
        (output,) = ask(server, hello())
    assert output.completion == "pong"


def test_marks_that_are_never_closed_take_no_time():
    """Inspect's own search takes time that grows with the square of their number: 100,000 of them, minutes."""
    text = "<think>" * 100_000
    with ChatServer(lambda _: text) as server:
        (output,) = ask(server, hello())
    assert output.completion == text


# what the server does; the kind of the error, and whether it is asked again
FAILURES = {
    "429": (failure(429, retry_after=7), ServerError, True),
    "500": (failure(500), ServerError, True),
    "401": (failure(401), ServerError, False),
    "400": (failure(400, code="bad"), ServerError, False),
    "cut line": (cut("pong"), httpx.TransportError, True),
    "packed, but not so": (lambda _: Reply(b"plain", headers={"Content-Encoding": "gzip"}), httpx.DecodingError, True),
    "half": (raw(b'{"choices": ['), GarbledReplyError, False),
    "a web page": (raw(b"<html>"), GarbledReplyError, False),
    "a list": (raw(b"[]"), GarbledReplyError, False),
    "other JSON": (raw(b'{"choices": "none"}'), GarbledReplyError, False),
    "no message": (raw(b'{"choices": [{}]}'), GarbledReplyError, False),
    "choices that are a number": (raw(b'{"choices": 5}'), GarbledReplyError, False),
    "bytes that are no text": (raw(b"\x00\xff{]<<"), GarbledReplyError, False),
    "lists without end": (raw(b"[" * 100_000), GarbledReplyError, False),
    "an error with status 200": (raw(b'{"error": {"message": "busy", "code": 503}}'), ServerError, True),
    "an error in a choice": (
        raw(b'{"choices": [{"message": {"content": ""}, "error": {"message": "upstream", "code": 502}}]}'),
        ServerError,
        True,
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_the_servers(name):
    fault, kind, is_retried = FAILURES[name]
    with ChatServer(lambda _: fault) as server:
        ((error, decision),) = ask(server, hello())
    assert isinstance(error, kind)
    assert bool(decision) == is_retried
    if name == "429":
        assert (decision.kind, decision.retry_after) == ("rate_limit", 7)
        assert "told to fail with 429" in str(error)


@pytest.mark.parametrize(
    ("fault", "stop"),
    [
        (failure(400, code="context_length_exceeded"), "model_length"),
        (raw(b"{}"), None),
        (failure(400, code="content_filter"), "content_filter"),
        (no_choices(), None),
        (completion("", finish="content_filter"), "content_filter"),
    ],
)
def test_a_full_context_and_a_filter_are_replies(fault, stop):
    with ChatServer(lambda _: fault) as server:
        (output,) = ask(server, hello())
    if isinstance(output, tuple):
        assert isinstance(output[0], GarbledReplyError)
    elif stop is None:
        assert output.empty
    else:
        assert output.stop_reason == stop


# what servers say in the place of their counts of tokens, and what is read from it
COUNTS = {
    "nothing": ({}, None),
    "a list": ([1], None),
    "texts": ({"prompt_tokens": "10", "completion_tokens": "5"}, None),
    "nulls": ({"prompt_tokens": None, "completion_tokens": None, "total_tokens": None}, None),
    "output only": ({"completion_tokens": 5}, (0, 5, None)),
    "more cached than read": ({"prompt_tokens": 4, "prompt_tokens_details": {"cached_tokens": 9}}, (0, 0, 4)),
}


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("more", [{}, {"reasoning_content": "Hm."}])
def test_odd_counts_of_tokens_are_no_reason_to_lose_a_reply(name, more):
    told, expected = COUNTS[name]
    message = {"role": "assistant", "content": "pong", **more}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": told}
    with ChatServer(lambda _: raw(json.dumps(body).encode())) as server:
        (output,) = ask(server, hello())
    assert output.completion == "pong"
    used = output.usage
    found = None if used is None else (used.input_tokens, used.output_tokens, used.input_tokens_cache_read)
    assert found == expected


def test_without_a_key_none_is_sent(monkeypatch):
    monkeypatch.delenv("TEST_API_KEY", raising=False)
    with ChatServer(lambda _: "pong") as server:
        ask(server, hello(), api_key=None)
    assert "Authorization" not in server.requests[0].headers


def test_a_model_without_service_or_address_is_refused(monkeypatch):
    monkeypatch.delenv("NOWHERE_BASE_URL", raising=False)
    with pytest.raises(OptionError, match="names no service"):
        HttpAPI("m-1", base_url="http://127.0.0.1:1")
    with pytest.raises(OptionError, match="NOWHERE_BASE_URL"):
        HttpAPI("nowhere/m-1")


def test_one_client_serves_one_event_loop_and_is_closed_with_it():
    """Inspect starts an event loop per eval, keeps the model and does not close it."""
    clients = []
    with ChatServer(lambda _: "pong") as server:
        api = HttpAPI("test/m-1", base_url=server.base_url)

        async def twice():
            for _ in range(2):
                assert (await api.generate(hello(), [], "auto", GenerateConfig())).completion == "pong"
                clients.append(await api._client())
            assert not clients[-1].is_closed

        in_a_loop(twice())
        in_a_loop(twice())
    first, again, second, _ = clients
    assert first is again is not second
    assert all(client.is_closed for client in clients)


def test_a_client_that_was_closed_is_made_anew():
    async def work():
        await api.aclose()
        for _ in range(2):
            assert (await api.generate(hello(), [], "auto", GenerateConfig())).completion == "pong"
            await api.aclose()

    with ChatServer(lambda _: "pong") as server:
        api = HttpAPI("test/m-1", base_url=server.base_url)
        in_a_loop(work())
