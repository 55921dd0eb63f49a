"""A loopback server that speaks OpenAI's chat protocol, and misbehaves on command.

>>> with ChatServer(lambda request: "pong") as server:          # doctest: +SKIP
...     ask(server.base_url)                                    # http://127.0.0.1:PORT/v1
...     assert server.requests[0].text == "ping"

What it says is up to a function from a `ChatRequest` to a text or a `Reply`; `faulty` makes such a function that answers
rightly up to a turn and then misbehaves. It runs in threads of this process, on a port that the system chooses, and
answers ``/v1/chat/completions``, ``/v1/completions``, ``/v1/responses`` (whole replies only) and ``/v1/models``.
"""

import contextlib
import itertools
import json
import socket
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Usage = dict[str, int]


@dataclass(frozen=True)
class ChatRequest:
    """One question: the body that came, and which one it was, from 0."""

    number: int
    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.body["messages"]

    @property
    def text(self) -> str:
        """What was said last."""
        return _text(self.messages[-1])

    @property
    def turn(self) -> int:
        """How many replies the conversation holds already."""
        return len(self.said_by("assistant"))

    @property
    def conversation(self) -> str:
        """The messages as one key: equal for a question that is asked again."""
        return json.dumps(self.messages, sort_keys=True)

    def said_by(self, role: str) -> list[str]:
        return [_text(message) for message in self.messages if message["role"] == role]


@dataclass(frozen=True)
class Reply:
    """What goes over the wire, after `wait` seconds; with `cut`, only so many bytes of it before the line drops."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    wait: float = 0
    cut: int | None = None
    usage: Usage = field(default_factory=dict)


Answer = Callable[[ChatRequest], "str | Reply | Fault"]
Fault = Callable[[ChatRequest], Reply]


def completion(
    content: str | None, *, finish: str = "stop", reasoning: str | None = None, refusal: str | None = None, **usage: Any
) -> Fault:
    """A whole reply; tokens are counted as words unless `usage` names them (``prompt_tokens=…``)."""

    def reply(request: ChatRequest) -> Reply:
        told = _usage(request, content or "", reasoning or "") | usage
        told["total_tokens"] = told["prompt_tokens"] + told["completion_tokens"]
        message = {"role": "assistant", "content": content, "refusal": refusal}
        message |= {"reasoning_content": reasoning} if reasoning else {}
        return _json(_envelope(request, [{"index": 0, "message": message, "finish_reason": finish}], told), usage=told)

    return reply


def no_choices() -> Fault:
    """A reply whose list of choices is empty, and which costs nothing."""
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    return lambda request: _json(_envelope(request, [], usage))


def failure(
    status: int, *, code: str = "server_error", retry_after: float | None = None, says: str | None = None
) -> Fault:
    """An error as OpenAI words it, such as 429 with ``Retry-After``, or 400 with the code ``context_length_exceeded``."""
    headers = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
    error = {"error": {"message": says or f"told to fail with {status}", "type": "error", "param": None, "code": code}}
    return lambda request: _json(error, status=status, headers=headers)


def raw(body: bytes) -> Fault:
    """A reply with status 200 and this body, whatever it is."""
    return lambda request: Reply(body)


def hang(seconds: float = 60) -> Fault:
    """Nothing for so long, or until the server closes; then the line drops."""
    return lambda request: Reply(b"", wait=seconds, cut=0)


def cut(content: str, after: int = 40) -> Fault:
    """The line drops in the middle of a reply's body."""
    return lambda request: Reply(completion(content)(request).body, cut=after)


def faulty(
    answer: Callable[[ChatRequest], str],
    at: int,
    faults: Sequence[Fault],
    *,
    forever: bool = True,
    turn: Callable[[ChatRequest], int] = lambda request: request.turn,
) -> Answer:
    """`answer` for the first `at` turns of each conversation, then one fault after the other.

    The last fault stays for good, or with ``forever=False`` the conversation goes on rightly after it, as after a
    disturbance that passes. `turn` says how many turns a request has behind it.
    """
    times: Counter[str] = Counter()
    lock = threading.Lock()

    def reply(request: ChatRequest) -> str | Fault:
        if turn(request) != at:
            return answer(request)
        with lock:
            asked = times[request.conversation]
            times[request.conversation] += 1
        if asked < len(faults):
            return faults[asked]
        return faults[-1] if forever else answer(request)

    return reply


class ChatServer:
    """The server, as a context: it listens inside the block and nothing of it is left after.

    ``requests`` are all questions in order of arrival, ``replies`` what each got.
    """

    def __init__(self, answer: Answer, model: str = "test-model") -> None:
        self.answer = answer
        self.model = model
        self.requests: list[ChatRequest] = []
        self._replies: dict[int, Reply] = {}
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._http = _Listener(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.drop_lines()
        self._http.server_close()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def replies(self) -> list[Reply]:
        """In the order of the requests, whoever was answered first."""
        with self._lock:
            return [self._replies[number] for number in sorted(self._replies)]

    @property
    def usage(self) -> Usage:
        """The tokens of all whole replies together."""
        total: Counter[str] = Counter({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0})
        for reply in self.replies:
            total.update(reply.usage)
        return dict(total)

    def asked(self) -> Counter[str]:
        """How often each conversation was sent."""
        return Counter(request.conversation for request in self.requests)

    def reply_to(self, body: dict[str, Any], headers: dict[str, str]) -> Reply:
        with self._lock:
            request = ChatRequest(len(self.requests), body, headers)
            self.requests.append(request)
        said = self.answer(request)
        if isinstance(said, str):
            said = completion(said)
        reply = said if isinstance(said, Reply) else said(request)
        with self._lock:
            self._replies[request.number] = reply
        return reply


class _Listener(ThreadingHTTPServer):
    daemon_threads = False  # closing waits for every thread
    request_queue_size = 128
    owner: ChatServer

    def __init__(self, *args: Any) -> None:
        self.lines: set[socket.socket] = set()
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.lines.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.lines.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""

    def drop_lines(self) -> None:
        """Clients keep idle connections open; their threads would wait for the next question."""
        for line in list(self.lines):
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Listener

    def do_GET(self) -> None:
        if self.path != "/v1/models":
            return self._send(_json({"error": {"message": f"no {self.path} here"}}, status=404))
        model = {"id": self.server.owner.model, "object": "model", "created": 0, "owned_by": "test"}
        return self._send(_json({"object": "list", "data": [model]}))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/v1/responses":
            messages = [{"role": one["role"], "content": one["content"]} for one in body["input"] if "role" in one]
            return self._send(
                _as_response(self.server.owner.reply_to(body | {"messages": messages}, dict(self.headers)))
            )
        if self.path == "/v1/completions":
            prompt = [{"role": "user", "content": body["prompt"]}]
            return self._send(_as_text(self.server.owner.reply_to(body | {"messages": prompt}, dict(self.headers))))
        if self.path != "/v1/chat/completions":
            return self._send(_json({"error": {"message": f"no {self.path} here"}}, status=404))
        if body.get("stream"):
            return self._send(_json({"error": {"message": "this server does not stream"}}, status=400))
        return self._send(self.server.owner.reply_to(body, dict(self.headers)))

    def _send(self, reply: Reply) -> None:
        if reply.wait:
            self.server.owner.closing.wait(reply.wait)
        headers = {"Content-Type": "application/json", "Content-Length": str(len(reply.body)), **reply.headers}
        head = [
            f"HTTP/1.1 {reply.status} {self.responses[reply.status][0]}",
            *(f"{k}: {v}" for k, v in headers.items()),
        ]
        start = "\r\n".join([*head, "", ""]).encode()
        if reply.cut is None:
            self.wfile.write(start + reply.body)
            return
        self.wfile.write(start + reply.body[: reply.cut] if reply.cut else b"")
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Tests look at `requests`, not at standard error."""


def _json(data: Any, **rest: Any) -> Reply:
    return Reply(json.dumps(data).encode(), **rest)


def _as_text(reply: Reply) -> Reply:
    """A whole chat completion as the protocol for base models has it; anything else as it is."""
    if reply.status != 200:
        return reply
    said = json.loads(reply.body)
    for choice in said["choices"]:
        choice["text"] = choice.pop("message")["content"]
    return _json(said, usage=reply.usage)


def _as_response(reply: Reply) -> Reply:
    """A whole chat completion as the responses protocol has it; anything else as it is."""
    if reply.status != 200:
        return reply
    said = json.loads(reply.body)
    text = {"type": "output_text", "text": said["choices"][0]["message"]["content"], "annotations": []}
    message = {"id": f"msg-{said['id']}", "type": "message", "role": "assistant", "status": "completed"}
    usage = {
        "input_tokens": said["usage"]["prompt_tokens"],
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": said["usage"]["completion_tokens"],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": said["usage"]["total_tokens"],
    }
    told = {"id": said["id"], "object": "response", "created_at": 0, "status": "completed", "model": said["model"]}
    told |= {"output": [message | {"content": [text]}], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    return _json(told | {"usage": usage}, usage=reply.usage)


_IDS = itertools.count()


def _envelope(request: ChatRequest, choices: list[Any], usage: Usage) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{next(_IDS)}",
        "object": "chat.completion",
        "created": 0,
        "model": request.body.get("model"),
        "choices": choices,
        "usage": usage,
    }


def _usage(request: ChatRequest, *said: str) -> Usage:
    prompt = sum(len(_text(message).split()) for message in request.messages)
    return {"prompt_tokens": prompt, "completion_tokens": sum(len(text.split()) for text in said)}


def _text(message: dict[str, Any]) -> str:
    """A message's text, whether it was sent as a string or as parts."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
