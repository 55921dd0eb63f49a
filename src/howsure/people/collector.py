"""Serves the pages of a packet and receives the answers.

Every person has a link with a secret token; whoever has the link is that person. Answers are on the disk before the page
says thanks. One final set a person: the same again gets the same receipt, a different one is refused. Nothing but the pages
is served, and pages are held in memory: no request names a file.

The collector speaks plain HTTP and listens on this machine only. To reach people outside, put a proxy that speaks TLS in
front of it, on a name of its own or under a path, and give its address to ``howsure serve --url`` for the links::

    study.example.org {                # Caddy; others likewise
        reverse_proxy 127.0.0.1:8000
    }

Tokens are part of the address: switch off the proxy's access log, or let only yourself read it. A visitor's address is
taken from ``X-Forwarded-For`` when the proxy runs on the same machine.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeAlias

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from howsure.errors import InputError
from howsure.people.build import BuiltPage, fill
from howsure.people.limits import Limits, RateLimit
from howsure.people.packet import Invitation, Packet
from howsure.people.records import Draft, FinishedAnswers, read_draft, read_result
from howsure.people.results import quality_signs
from howsure.people.store import Final, Store
from howsure.people.strict_json import canonical

__all__ = ["Collector", "export"]

Checks: TypeAlias = Callable[[BuiltPage, FinishedAnswers], Sequence[str]]

_NO_LINK = "No such page. Check that the link is complete."
_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "x-robots-tag": "noindex, nofollow",
}
_PAGE_HEADERS = {"content-security-policy": "frame-ancestors 'none'"}  # the page brings the rest of its policy along


class Collector:
    """The web application for one packet: ``Collector(packet, Store(path)).app``.

    ``checks`` says what is odd about a finished set of answers; the researcher's view shows it as answers come in.
    ``on_final`` is told who finished.
    """

    def __init__(
        self,
        packet: Packet,
        store: Store,
        *,
        checks: Checks = quality_signs,
        limits: Limits | None = None,
        on_final: Callable[[Invitation], None] = lambda invitation: None,
    ) -> None:
        self.packet, self.store, self.limits = packet, store, limits or Limits()
        self._checks, self._on_final = checks, on_final
        self._secret = secrets.token_bytes(32)
        self._by_mask = {self._mask(invitation.token): invitation for invitation in packet.invitations}
        self._links, self._strangers = RateLimit(*self.limits.per_link), RateLimit(*self.limits.per_stranger)
        self._signs: dict[str, list[str]] = {}
        self._refuse_changed_pages()

    @cached_property
    def app(self) -> ASGIApp:
        """The ASGI application."""
        routes = [
            Route("/r/{token}", self._show_page),
            Route("/r/{token}/", self._show_page),
            Route("/r/{token}/draft", self._receive_draft, methods=["PUT"]),
            Route("/r/{token}/result", self._receive_final, methods=["POST"]),
            Route("/admin/{token}", self._show_admin),
            Route("/admin/{token}/", self._show_admin),
            Route("/admin/{token}/progress", self._show_progress),
            Route("/admin/{token}/results.jsonl", self._export),
        ]
        inner = Starlette(routes=routes, exception_handlers={HTTPException: _told})
        inner.router.redirect_slashes = False  # a redirect would repeat the Host header, which nobody vouches for
        return _with_headers(inner)

    def progress(self) -> dict[str, Any]:
        """How far everyone is: counts, and a row for each invitation."""
        finals = {final.rater: final for final in self.store.finals()}
        drafts = self.store.drafts()
        rows = [self._row(one, finals.get(one.rater), drafts.get(one.rater)) for one in self.packet.invitations]
        counts = {state: sum(row["state"] == state for row in rows) for state in ("finished", "begun", "invited")}
        return {"title": self.packet.invitations[0].page.page.title, **counts, "raters": rows}

    # what people do

    async def _show_page(self, request: Request) -> Response:
        html = await run_in_threadpool(self._html, self._who(request))
        return HTMLResponse(html, headers=_PAGE_HEADERS)

    def _html(self, invitation: Invitation) -> str:
        final, draft = self.store.final(invitation.rater), self.store.draft(invitation.rater)
        told = {"rater": invitation.rater, "receipt": final.receipt if final else None}
        return invitation.page.html(told | {"draft": json.loads(draft) if draft and not final else None})

    async def _receive_draft(self, request: Request) -> Response:
        invitation = self._who(request)
        kept = await run_in_threadpool(self._keep_draft, invitation, await self._body(request))
        if not kept:
            raise HTTPException(409, "A later draft or the final answers were already received.")
        return JSONResponse({"kept": True})

    def _keep_draft(self, invitation: Invitation, data: bytes) -> bool:
        try:
            draft = read_draft(data, invitation.page, invitation.rater)
        except InputError as error:
            raise HTTPException(422, f"{error}.") from None
        return self.store.keep_draft(
            invitation.rater, draft.page, draft.saves, canonical(draft.model_dump(mode="json"))
        )

    async def _receive_final(self, request: Request) -> Response:
        invitation = self._who(request)
        result, kept = await run_in_threadpool(self._keep_final, invitation, await self._body(request))
        if kept.digest != result.digest:
            raise HTTPException(409, "Other answers were already received from this person.")
        self._on_final(invitation)
        return JSONResponse({"receipt": kept.receipt, "received": kept.received})

    def _keep_final(self, invitation: Invitation, data: bytes) -> tuple[FinishedAnswers, Final]:
        try:
            result = read_result(data, {invitation.page.digest: invitation.page})
        except InputError as error:
            raise HTTPException(422, f"{error}.") from None
        if result.rater != invitation.rater:
            raise HTTPException(422, "The answers belong to another person.")
        text = canonical(result.model_dump(mode="json"))
        return result, self.store.keep_final(invitation.rater, result.page, result.digest, text)

    # what the researcher sees

    async def _show_admin(self, request: Request) -> Response:
        self._admit(request)
        return HTMLResponse(fill("admin.html", ("dom", "admin"), reaches="'self'"), headers=_PAGE_HEADERS)

    async def _show_progress(self, request: Request) -> Response:
        self._admit(request)
        return JSONResponse(await run_in_threadpool(self.progress))

    async def _export(self, request: Request) -> Response:
        self._admit(request)
        headers = {"content-disposition": 'attachment; filename="results.jsonl"'}
        return Response(await run_in_threadpool(export, self.store), media_type="application/jsonl", headers=headers)

    def _row(self, invitation: Invitation, final: Final | None, draft: tuple[str, str] | None) -> dict[str, Any]:
        n_screens = len(invitation.page.page.screens)
        row = {
            "label": invitation.label,
            "state": "invited",
            "done": 0,
            "of": n_screens,
            "minutes": 0.0,
            "seen": "",
            "signs": [],
        }
        if final:
            result = FinishedAnswers.model_validate_json(final.text)
            finished = {"state": "finished", "done": n_screens, "seen": final.received}
            return row | finished | {"minutes": _minutes(result), "signs": self._signs_of(invitation.page, result)}
        if draft:
            begun = Draft.model_validate_json(draft[0])
            return row | {
                "state": "begun",
                "done": min(begun.at, n_screens),
                "minutes": _minutes(begun),
                "seen": draft[1],
            }
        return row

    def _signs_of(self, page: BuiltPage, result: FinishedAnswers) -> list[str]:
        if result.digest not in self._signs:
            self._signs[result.digest] = list(self._checks(page, result))
        return self._signs[result.digest]

    # who asks, and how much

    def _who(self, request: Request) -> Invitation:
        """The invitation of a link. Tokens are compared by keyed digests, so the time taken tells nothing about them."""
        invitation = self._by_mask.get(self._mask(request.path_params["token"]))
        if invitation is None:
            raise self._stranger(request)
        if not self._links.allows(invitation.rater):
            raise HTTPException(429, "Too many requests; try again in a moment.", {"retry-after": "5"})
        return invitation

    def _admit(self, request: Request) -> None:
        if not hmac.compare_digest(self._mask(request.path_params["token"]), self._mask(self.packet.admin)):
            raise self._stranger(request)

    def _stranger(self, request: Request) -> HTTPException:
        address = request.client.host if request.client else ""
        if self._strangers.allows(address):
            return HTTPException(404, _NO_LINK)
        return HTTPException(429, "Too many requests; try again later.", {"retry-after": "60"})

    def _mask(self, token: str) -> bytes:
        return hmac.digest(self._secret, token.encode(errors="replace"), "sha256")

    async def _body(self, request: Request) -> bytes:
        """The whole body, within bounds of size and time."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise _cut_off(415, "Send JSON.")
        length = request.headers.get("content-length", "0")
        if len(length) > 12 or not length.isascii() or not length.isdigit() or int(length) > self.limits.body_bytes:
            raise _cut_off(413, "The answers are too large.")
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                return await self._received(request)
        except TimeoutError:
            raise _cut_off(408, "The answers took too long to arrive.") from None
        except ClientDisconnect:
            raise _cut_off(400, "The connection was lost.") from None

    async def _received(self, request: Request) -> bytes:
        data = bytearray()
        async for chunk in request.stream():
            data += chunk
            if len(data) > self.limits.body_bytes:
                raise _cut_off(413, "The answers are too large.")
        return bytes(data)

    def _refuse_changed_pages(self) -> None:
        pages = {invitation.rater: invitation.page.digest for invitation in self.packet.invitations}
        for rater, digest in self.store.pages().items():
            if pages.get(rater) != digest:
                raise InputError(
                    f"{self.packet.folder}: the page of {rater!r} was changed or removed after answers to it came in. Put it back, or build into a new folder."
                )


def export(store: Store) -> str:
    """All final answers, one JSON object a line, as `results.read_results` takes them."""
    return "".join(f"{final.text}\n" for final in store.finals())


def _minutes(progress: Draft | FinishedAnswers) -> float:
    return round(sum(record.ms for record in progress.screens.values()) / 60_000, 1)


def _cut_off(status: int, reason: str) -> HTTPException:
    """A refusal that ends the connection, because the rest of the body is not wanted."""
    return HTTPException(status, reason, {"connection": "close"})


async def _told(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


def _with_headers(app: ASGIApp) -> ASGIApp:
    """The application, with the headers that every answer carries."""

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await app(scope, receive, send_with_headers)

    return wrapped
