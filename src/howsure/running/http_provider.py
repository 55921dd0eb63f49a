"""Servers that speak OpenAI's chat protocol, asked over httpx: ``openai-http/SERVICE/MODEL``.

Inspect's own provider for them (``openai-api/…``) passes every message of a conversation through several layers in each turn, so a turn gets more expensive
with every turn before it (``openai-http-base/…`` asks base models at ``/completions``). Here a message is serialised once and its bytes are kept; a turn adds two messages. What Inspect's model layer does (limits, retries, events,
usage) is not touched. Text only: tools, images and streaming need ``openai-api/…``, and a setting that this provider does not know is refused.
"""

from __future__ import annotations

import json
import os
import re
from collections import OrderedDict
from collections.abc import AsyncGenerator
from typing import Any, NamedTuple

import httpx
from anyio.lowlevel import RunVar
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    RetryDecision,
    StopReason,
    messages_to_openai,
    model_output_from_openai,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from howsure.errors import OptionError
from howsure.running.runs import GarbledReplyError, is_too_long

__all__ = ["BASE_PROVIDER", "PROVIDER", "BaseHttpAPI", "HttpAPI", "ServerError"]

PROVIDER, BASE_PROVIDER = "openai-http", "openai-http-base"
_CONVERSATIONS = 256  # whose bytes are kept; more are open at a time only on purpose
_PARAMETERS = {
    "stop_seqs": "stop",
    "num_choices": "n",
    **{
        name: name
        for name in (
            "max_tokens", "temperature", "top_p", "seed", "frequency_penalty", "presence_penalty", "logit_bias", "logprobs", "top_logprobs", "reasoning_effort", "verbosity",
        )
    },
}  # fmt: skip
# what Inspect's model layer sees to, or what has no meaning without tools
_NOT_OURS = {
    "max_retries", "timeout", "attempt_timeout", "stream_idle_timeout", "max_connections", "adaptive_connections", "system_message", "cache", "cache_prompt",
    "fail_on_refusal", "reasoning_history", "parallel_tool_calls", "internal_tools", "max_tool_output", "extra_body", "extra_headers", "response_schema",
}  # fmt: skip
_MORE = ("tool_calls", "refusal", "reasoning_content", "reasoning", "reasoning_details", "audio")
_STOPS: dict[str, StopReason] = {
    "stop": "stop",
    "eos": "stop",
    "length": "max_tokens",
    "content_filter": "content_filter",
}
_REFUSED = ("content_filter", "content_policy_violation", "invalid_prompt")


class ServerError(Exception):
    """A reply with a status of failure: ``status_code``, what the server said, and after how many seconds it may be asked again."""

    def __init__(self, status_code: int, said: str, retry_after: float | None = None) -> None:
        super().__init__(f"status {status_code}: {said}")
        self.status_code, self.retry_after = status_code, retry_after
        self.provider_message = str(self)


class _Http(ModelAPI):
    """A model behind an address of OpenAI's protocol.

    The address is ``--base-url`` or ``SERVICE_BASE_URL``, the key ``SERVICE_API_KEY``, as with Inspect's ``openai-api``; a server that wants no key is asked without.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - as Inspect has it
    ) -> None:
        service, _, name = model_name.partition("/")
        if not name:
            raise OptionError(
                f"{PROVIDER}/{model_name} names no service. Write {PROVIDER}/SERVICE/MODEL, as in {PROVIDER}/local/{model_name}."
            )
        variable = service.upper().replace("-", "_")
        super().__init__(model_name, base_url, api_key, [f"{variable}_API_KEY"], config)
        self.api_key = self.api_key or os.environ.get(f"{variable}_API_KEY")
        self.base_url = self.base_url or os.environ.get(f"{variable}_BASE_URL")
        if not self.base_url:
            raise OptionError(
                f"{PROVIDER}/{model_name}: no address. Give the server's (--base-url) or set {variable}_BASE_URL."
            )
        self._name = name
        # one per event loop: connections cannot move to another, and Inspect starts one per eval
        self._lifetime: RunVar[_Lifetime | None] = RunVar("client", None)
        # by the first message of a conversation: each message's content as it was, and its bytes
        self._written: OrderedDict[str | int, list[tuple[Any, str, bytes]]] = OrderedDict()

    def service_model_name(self) -> str:
        """The model's name without the service."""
        return self._name

    def canonical_name(self) -> str:
        """The name by which Inspect knows a model's context window and price."""
        return self._name

    def tool_result_images(self) -> bool:
        """There are no tools, and so nothing that Inspect would have to look for in every message of every turn."""
        return True

    tool_result_documents = tool_result_images

    def connection_key(self) -> str:
        """Connections are counted per key and model."""
        return f"{self.initial_api_key}:{self.model_name}"

    def should_retry(self, ex: BaseException) -> RetryDecision:
        """Whether the failure may pass: too many requests, the server's own errors, a line that dropped, a body that cannot be unpacked."""
        if isinstance(ex, ServerError):
            if ex.status_code == 429:
                return RetryDecision.rate_limit(ex.retry_after)
            if ex.status_code == 408 or ex.status_code >= 500:
                return RetryDecision.transient(ex.retry_after)
        elif isinstance(ex, (httpx.TransportError, httpx.DecodingError)):
            return RetryDecision.transient()
        return RetryDecision.no()

    def is_auth_failure(self, ex: Exception) -> bool:
        """Whether the key was refused."""
        return isinstance(ex, ServerError) and ex.status_code == 401

    async def generate(
        self,
        input: list[ChatMessage],  # noqa: A002 - Inspect's name
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """The reply to a conversation."""
        if tools:
            raise OptionError(f"{PROVIDER} asks without tools. Use openai-api/{self.model_name}.")
        body = await self._body(input, json.dumps(self._parameters(config)).encode())
        headers = {"Content-Type": "application/json", **(config.extra_headers or {})}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        client = await self._client()
        reply = await client.post(self.path, content=body, headers=headers)
        if reply.status_code != 200:
            return self._failed(reply.status_code, reply.text, reply.headers.get("retry-after"))
        try:
            said = reply.json()
        except (ValueError, RecursionError) as error:  # no JSON, no text at all, or nested without end
            raise GarbledReplyError(f"the reply is no JSON: {reply.text[:100]!r}") from error
        if not isinstance(said, dict):
            raise GarbledReplyError(f"the reply is no JSON object: {reply.text[:100]!r}")
        if failed := _error_in(said):
            return self._failed(_status_in(failed), json.dumps({"error": failed}), None)
        try:
            return await self._output({"model": self._name, **said})
        except (AttributeError, TypeError, ValueError, LookupError) as error:
            raise GarbledReplyError(f"the reply is no chat completion: {reply.text[:100]!r}") from error

    async def _output(self, said: dict[str, Any]) -> ModelOutput:
        """A plain text here, at once; a reply with more (reasoning, a refusal, log-probabilities) by Inspect's conversion, which takes milliseconds."""
        if all(map(_is_plain, said["choices"])):
            choices = [
                ChatCompletionChoice(
                    message=ChatMessageAssistant(
                        content=one["message"].get("content") or "", model=said["model"], source="generate"
                    ),
                    stop_reason=_STOPS.get(one.get("finish_reason") or "", "unknown"),
                )
                for one in said["choices"]
            ]
            return ModelOutput(model=said["model"], choices=choices, usage=_usage(said.get("usage")))
        from openai.types.chat import ChatCompletion

        # as the openai client reads it: a field that a server leaves out is no reason to lose a reply
        output = await model_output_from_openai(ChatCompletion.construct(**said | {"usage": None}))
        return output.model_copy(update={"usage": _usage(said.get("usage"))})

    path = "chat/completions"

    async def _body(self, messages: list[ChatMessage], settings: bytes) -> bytes:
        return b'{"messages":[' + b",".join(await self._bytes(messages)) + b"]," + settings[1:]

    async def aclose(self) -> None:
        """Drop the connections."""
        if lifetime := self._lifetime.get():
            self._lifetime.set(None)
            await lifetime.ends.aclose()

    async def _client(self) -> httpx.AsyncClient:
        lifetime = self._lifetime.get()
        if lifetime is None:
            # Inspect's attempt_timeout ends an attempt; a connection that nobody accepts is given up earlier
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=100)
            timeout = httpx.Timeout(None, connect=30)
            client = httpx.AsyncClient(base_url=str(self.base_url), limits=limits, timeout=timeout)
            lifetime = _Lifetime(client, _closed_at_the_end(client))
            self._lifetime.set(lifetime)
            await anext(lifetime.ends)
        return lifetime.client

    async def _bytes(self, messages: list[ChatMessage]) -> list[bytes]:
        """Every message as JSON; those that were in the conversation before are not serialised again."""
        key = messages[0].id or id(messages[0])
        before = self._written.pop(key, [])
        now = []
        for place, message in enumerate(messages):
            content = message.content
            told = content if isinstance(content, str) else message.model_dump_json()
            known = before[place] if place < len(before) else None
            if known is None or known[0] is not message or known[1] != told:
                known = message, told, await _as_json(message)
            now.append(known)
        self._written[key] = now
        if len(self._written) > _CONVERSATIONS:
            self._written.popitem(last=False)
        return [written for _, _, written in now]

    def _parameters(self, config: GenerateConfig) -> dict[str, Any]:
        given = {name: getattr(config, name) for name in config.model_fields_set}
        given = {name: value for name, value in given.items() if value is not None}
        for name in given:
            if name not in _PARAMETERS and name not in _NOT_OURS:
                raise OptionError(f"{PROVIDER} does not know the setting {name}. Use openai-api/{self.model_name}.")
        found = {"model": self._name} | {_PARAMETERS[name]: v for name, v in given.items() if name in _PARAMETERS}
        if "max_tokens" in found and re.match(r"o\d|gpt-[5-9]", self._name):
            found["max_completion_tokens"] = found.pop("max_tokens")
        if schema := config.response_schema:
            described = schema.model_dump(exclude_none=True)
            found["response_format"] = {
                "type": "json_schema",
                "json_schema": {"schema": described.pop("json_schema"), **described},
            }
        return found | (config.extra_body or {})

    def _failed(self, status: int, text: str, retry_after: str | None) -> ModelOutput:
        """A full context and a filter are replies of the model's; anything else is a failure of the server's."""
        error = _error_of(text)
        said = str(error.get("message") or text[:300])
        if status in (400, 413, 422):
            if is_too_long(status, f"{error.get('code')} {error.get('type')} {said}"):
                return ModelOutput.from_content(self._name, said, "model_length")
            if error.get("code") in _REFUSED:
                return ModelOutput.from_content(self._name, said, "content_filter")
        seconds = float(retry_after) if retry_after and re.fullmatch(r"\d+(\.\d+)?", retry_after) else None
        raise ServerError(status, said, seconds)


class _Lifetime(NamedTuple):
    """A client, and what ends it."""

    client: httpx.AsyncClient
    ends: AsyncGenerator[None, None]


async def _closed_at_the_end(client: httpx.AsyncClient) -> AsyncGenerator[None, None]:
    """An event loop ends its generators before it closes, and so the client: Inspect closes no model."""
    try:
        yield
    finally:
        await client.aclose()


def _is_plain(choice: dict[str, Any]) -> bool:
    message = choice["message"]
    is_more = any(message.get(name) for name in _MORE) or choice.get("logprobs")
    text = message.get("content")
    # Inspect looks for the end of every mark that is opened: of a model that repeats an opening one, for minutes
    return not is_more and not (isinstance(text, str) and "</think" in text[text.find("<think") :])


def _usage(told: Any) -> ModelUsage | None:
    """The server's counts; what is no number counts as missing, which is no reason to lose a reply."""
    read, written = _count(told, "prompt_tokens"), _count(told, "completion_tokens")
    if read is None and written is None:
        return None
    details = "prompt_tokens_details", "completion_tokens_details"
    cached, reasoned = (told.get(name) for name in details)
    from_cache = min(_count(cached, "cached_tokens") or 0, read or 0)
    return ModelUsage(
        input_tokens=(read or 0) - from_cache,
        output_tokens=written or 0,
        total_tokens=_count(told, "total_tokens") or (read or 0) + (written or 0),
        input_tokens_cache_read=from_cache or None,
        reasoning_tokens=_count(reasoned, "reasoning_tokens"),
    )


def _count(told: Any, name: str) -> int | None:
    value = told.get(name) if isinstance(told, dict) else None
    return value if isinstance(value, int) and value >= 0 else None


@modelapi(name=PROVIDER)
class HttpAPI(_Http):
    """A model that chats."""


@modelapi(name=BASE_PROVIDER)
class BaseHttpAPI(_Http):
    """A base model, which continues a text: the conversation is one message, and ``/completions`` is asked."""

    path = "completions"

    async def _body(self, messages: list[ChatMessage], settings: bytes) -> bytes:
        if len(messages) != 1:
            raise OptionError(
                f"{BASE_PROVIDER} continues one text and knows no conversation. Use the solver completion."
            )
        return b'{"prompt":' + json.dumps(messages[0].text).encode() + b"," + settings[1:]

    async def _output(self, said: dict[str, Any]) -> ModelOutput:
        choices = [{**one, "message": {"content": one["text"]}} for one in said["choices"]]
        return await super()._output({**said, "choices": choices})


async def _as_json(message: ChatMessage) -> bytes:
    """A message as OpenAI's protocol has it; what is more than a text goes through Inspect's own conversion."""
    if isinstance(message.content, str) and not getattr(message, "tool_calls", None) and message.role != "tool":
        return json.dumps({"role": message.role, "content": message.content}).encode()
    return json.dumps((await messages_to_openai([message]))[0]).encode()


def _error_of(text: str) -> dict[str, Any]:
    try:
        told = json.loads(text)
    except ValueError:
        return {}
    error = told.get("error", told) if isinstance(told, dict) else {}
    return error if isinstance(error, dict) else {"message": str(error)}


def _error_in(said: dict[str, Any]) -> Any:
    """The error that some gateways write into a reply with status 200: instead of the choices, or into the choice that it interrupted."""
    choices = said.get("choices")
    if not choices or not isinstance(choices, list):
        return said.get("error")
    return next((one["error"] for one in choices if isinstance(one, dict) and one.get("error")), None)


def _status_in(error: Any) -> int:
    """The status that some gateways write into the body of a reply with status 200."""
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 500
