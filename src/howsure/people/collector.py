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
taken from ``X-Forwarded-For`` when an address was given (so that a proxy is in front) and the proxy runs on the same machine.

The open link hands out the pages in turn to people who bring an id (``?PROLIFIC_PID=…``). One browser gets one page, known by a
cookie, and an id that has a page in one browser gets none in another, so knowing somebody's id opens nothing. A place whose owner
has been away too long is given to somebody else. Ids stay in ``answers.sqlite``; answers carry the page's name instead.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import json
import secrets
import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from statistics import median
from typing import Any, TypeAlias

import polars as pl
import uvicorn
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from howsure.errors import InputError, OptionError
from howsure.outside_text import csv_text
from howsure.people.build import BuiltPage, fill
from howsure.people.packet import Invitation, Packet
from howsure.people.records import Draft, FinishedAnswers, is_screened_out, read_draft, read_result
from howsure.people.results import quality_signs
from howsure.people.store import Decide, Decision, Fielding, Final, Joined, Quotas, Seat, Store
from howsure.people.strict_json import canonical, parse
from howsure.people.words import Words

__all__ = ["Collector", "Limits", "RateLimit", "export", "listen", "serve"]

Checks: TypeAlias = Callable[[BuiltPage, FinishedAnswers], Sequence[str]]

_NO_LINK = "No such page. Check that the link is complete."
_NO_SEAT = {"elsewhere": 409, "crowded": 429, "full": 503, "complete": 410}
_GONE = {
    "away": "This place was given to somebody else, because it was left for too long. Open the study's link again.",
    "withdrawn": "The answers to this page were withdrawn.",
}
_LONGEST_TOKEN = 100
_MOST_ROWS = 2_000
_REMARKABLE = 5  # people from one address
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
    ``on_final`` is told who finished. ``fielding`` has completion codes and who may come by the open link, ``quotas`` what each page
    shows. ``decide`` looks at the answers whenever a set is final: a study that is over takes nobody in, and pages with the most items
    that still need ratings are handed out first.
    """

    def __init__(
        self,
        packet: Packet,
        store: Store,
        *,
        checks: Checks = quality_signs,
        limits: Limits | None = None,
        on_final: Callable[[Invitation], None] = lambda invitation: None,
        fielding: Fielding | None = None,
        quotas: Quotas | None = None,
        decide: Decide | None = None,
    ) -> None:
        self.packet, self.store, self.limits = packet, store, limits or Limits()
        self.fielding, self.quotas = fielding or Fielding(), quotas
        self._checks, self._on_final, self._decide = checks, on_final, decide
        self._by_seat = {invitation.rater: invitation for invitation in packet.invitations}
        self._joins = RateLimit(*self.limits.per_join)
        self._decision: Decision | None = None
        self._deciding, self._has_news = threading.Lock(), threading.Event()
        self._secret = secrets.token_bytes(32)
        self._by_mask = {self._mask(one.token): one for one in packet.invitations if one.token}
        self._links, self._strangers = RateLimit(*self.limits.per_link), RateLimit(*self.limits.per_stranger)
        self._signs: dict[str, list[str]] = {}
        self._refuse_changed_pages()
        self._look()

    @cached_property
    def app(self) -> ASGIApp:
        """The ASGI application."""
        routes = [
            Route("/r/{token}", self._show_page),
            Route("/r/{token}/", self._show_page),
            Route("/r/{token}/draft", self._receive_draft, methods=["PUT"]),
            Route("/r/{token}/result", self._receive_final, methods=["POST"]),
            Route("/join/{token}", self._join),
            Route("/join/{token}/", self._join),
            Route("/admin/{token}", self._show_admin),
            Route("/admin/{token}/", self._show_admin),
            Route("/admin/{token}/progress", self._show_progress),
            Route("/admin/{token}/results.jsonl", self._export),
            Route("/admin/{token}/people.csv", self._export_people),
            Route("/admin/{token}/withdraw", self._withdraw, methods=["POST"]),
        ]
        inner = Starlette(routes=routes, exception_handlers={HTTPException: _told})
        inner.router.redirect_slashes = False  # a redirect would repeat the Host header, which nobody vouches for
        return _with_headers(inner)

    def progress(self) -> dict[str, Any]:
        """How far everyone is: counts, a row for each invitation, quotas, and where a live study stands."""
        finals = {final.rater: final for final in self.store.finals()}
        drafts, withdrawn = self.store.drafts(), self.store.withdrawn()
        seats = self.store.seats() if self.packet.open else []
        sitting = {one.seat: one for one in seats if one.state == "open"}
        rows = [
            self._row(one, finals.get(one.rater), drafts.get(one.rater), sitting.get(one.rater), seats)
            for one in self.packet.invitations
        ]
        for row in rows:
            if row["label"] in withdrawn and row["state"] == "invited" and not self.packet.open:
                row["state"] = "withdrawn"
        counts = {state: sum(row["state"] == state for row in rows) for state in ("finished", "begun", "invited")}
        hour = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
        minutes = [row["minutes"] for row in rows if row["state"] == "finished"]
        counts |= {
            "withdrawn": len(withdrawn),
            "screened": sum(one.state == "screened" for one in seats),
            "away": sum(one.state == "away" for one in seats),
            "last_hour": sum(final.received > hour for final in finals.values()),
        }
        told = {
            "title": self.packet.invitations[0].page.page.title,
            **counts,
            "median_minutes": round(median(minutes), 1) if minutes else None,
            "n_flagged": sum(bool(row["signs"]) for row in rows),
            "is_open": bool(self.packet.open),
            "decision": self._decision.message if self._decision else "",
            "is_over": bool(self._decision and self._decision.is_over),
            "quotas": self._quota_rows(finals, sitting),
        }
        return {**told, "raters": rows}

    def _quota_rows(self, finals: Mapping[str, Final], sitting: Mapping[str, Seat]) -> dict[str, Any] | None:
        """How many ratings each item has, and how many are under way."""
        if self.quotas is None:
            return None
        counts: dict[str, list[int]] = {}
        for seat, items in self.quotas.items_by_seat.items():
            for item in items:
                row = counts.setdefault(item, [0, 0])
                row[0] += seat in finals
                row[1] += seat in sitting and seat not in finals
        rows = [{"item": item, "done": done, "under_way": way} for item, (done, way) in counts.items()]
        met = sum(done >= self.quotas.wanted for done, _ in counts.values())
        return {"wanted": self.quotas.wanted, "met": met, "of": len(rows), "rows": rows[:_MOST_ROWS]}

    # what people do

    async def _show_page(self, request: Request) -> Response:
        html = await run_in_threadpool(self._html, await self._who(request))
        return HTMLResponse(html, headers=_PAGE_HEADERS)

    def _html(self, guest: _Guest) -> str:
        if guest.receipt:  # a screening turned them away
            told: dict[str, Any] = {"rater": guest.rater, "receipt": guest.receipt, "draft": None}
            return guest.page.html(told | {"completion": self.fielding.end(guest.person, is_screened_out=True)})
        final, draft = self.store.final(guest.rater), self.store.draft(guest.rater)
        told = {"rater": guest.rater, "receipt": final.receipt if final else None}
        told["completion"] = self._end(guest, final) if final else None
        return guest.page.html(told | {"draft": json.loads(draft) if draft and not final else None})

    def _end(self, guest: _Guest, final: Final) -> dict[str, str] | None:
        result = FinishedAnswers.model_validate_json(final.text)
        return self.fielding.end(guest.person, is_screened_out=is_screened_out(guest.page.page, result))

    async def _join(self, request: Request) -> Response:
        """Give a person who comes by the open link a page, and send them there."""
        if not self.packet.open or not hmac.compare_digest(
            self._mask(request.path_params["token"]), self._mask(self.packet.open)
        ):
            raise self._stranger(request)
        address = _network(request)
        if not self._joins.allows(address):
            raise HTTPException(429, "Too many requests; try again in a moment.", {"retry-after": "30"})
        person = self.fielding.person(request.query_params)
        if not person:
            return self._note("join_no_id", 400)
        if not self.fielding.admits(person):
            return self._note("join_unknown", 403)
        cookie = f"howsure_{hashlib.sha256(self.packet.open.encode()).hexdigest()[:12]}"
        browser = request.cookies.get(cookie, "")[:64] or secrets.token_urlsafe(24)
        joined = await run_in_threadpool(self._seat_for, person, browser, address)
        if not joined.token:
            return self._note(f"join_{joined.reason}", _NO_SEAT[joined.reason])
        up = "../.." if request.url.path.endswith("/") else ".."
        response = RedirectResponse(f"{up}/r/{joined.token}/", 303)
        is_secure = request.url.scheme == "https"
        response.set_cookie(cookie, browser, max_age=90 * 86400, httponly=True, samesite="lax", secure=is_secure)
        return response

    def _seat_for(self, person: str, browser: str, address: str) -> Joined:
        marked = hmac.digest(self.packet.admin.encode(), address.encode(), "sha256").hex()[:16]
        seats = [one.rater for one in self.packet.invitations]
        if self._decision and self._decision.is_over:
            seats = []
        elif self._decision and self._decision.decided and self.quotas:
            items, decided = self.quotas.items_by_seat, self._decision.decided
            needed = {seat: sum(item not in decided for item in items.get(seat, ())) for seat in seats}
            seats = sorted((seat for seat in seats if needed[seat]), key=lambda seat: -needed[seat])
        return self.store.join(
            person,
            browser,
            marked,
            seats=seats,
            away_seconds=60 * self.fielding.away_minutes,
            most_per_address=self.limits.seats_per_address,
            idle_seconds=self.limits.idle_seconds,
        )

    def _look(self) -> bool:
        """Let a live study decide on the answers so far, unless somebody is looking: then they look again. Says whether it looked."""
        self._has_news.set()
        if self._decide is None or not self._deciding.acquire(blocking=False):
            return False
        try:
            self._has_news.clear()
            self._decision = self._decide(self.store.finals())
        finally:
            self._deciding.release()
        return True

    def _look_again(self) -> None:
        """Look while others finished during a look; runs when the person who looked first has their receipt."""
        while self._decide is not None and self._has_news.is_set() and self._look():
            pass

    def _note(self, word: str, status: int) -> Response:
        """A page that says one thing, in the language of the study."""
        page = self.packet.invitations[0].page.page
        words = Words.of(page.language, page.words)
        html = fill("note.html", (), reaches="'none'", page=page, note=words[word])
        return HTMLResponse(html, status, headers=_PAGE_HEADERS)

    async def _receive_draft(self, request: Request) -> Response:
        invitation = await self._who(request)
        kept = await run_in_threadpool(self._keep_draft, invitation, await self._body(request))
        if not kept:
            raise HTTPException(409, "A later draft or the final answers were already received.")
        return JSONResponse({"kept": True})

    def _keep_draft(self, invitation: _Guest, data: bytes) -> bool:
        if invitation.receipt:
            return False
        try:
            draft = read_draft(data, invitation.page, invitation.rater)
        except InputError as error:
            raise HTTPException(422, f"{error}.") from None
        return self.store.keep_draft(
            invitation.rater, draft.page, draft.saves, canonical(draft.model_dump(mode="json"))
        )

    async def _receive_final(self, request: Request) -> Response:
        guest = await self._who(request)
        result, kept = await run_in_threadpool(self._keep_final, guest, await self._body(request))
        if kept.digest != result.digest:
            raise HTTPException(409, "Other answers were already received from this person.")
        is_out = is_screened_out(guest.page.page, result)
        if not is_out:
            self._on_final(self._by_seat[guest.rater])
            await run_in_threadpool(self._look)
        told = {"receipt": kept.receipt, "received": kept.received}
        end = self.fielding.end(guest.person, is_screened_out=is_out)
        return JSONResponse(told | {"completion": end}, background=BackgroundTask(self._look_again))

    def _keep_final(self, invitation: _Guest, data: bytes) -> tuple[FinishedAnswers, Final]:
        try:
            result = read_result(data, {invitation.page.digest: invitation.page})
        except InputError as error:
            raise HTTPException(422, f"{error}.") from None
        if result.rater != invitation.rater:
            raise HTTPException(422, "The answers belong to another person.")
        if invitation.is_seat and (invitation.receipt or is_screened_out(invitation.page.page, result)):
            receipt = self.store.screen_out(invitation.token, result.digest)
            kept = self.store.seat(invitation.token)
            return result, Final(invitation.rater, result.page, kept.digest if kept else "", "", receipt, "")
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

    async def _export_people(self, request: Request) -> Response:
        """Who came by the open link: this identifies people."""
        self._admit(request)
        finals = {final.rater for final in await run_in_threadpool(self.store.finals)}
        rows = [
            (one.person, one.seat, "finished" if one.state == "open" and one.seat in finals else one.state, one.joined)
            for one in await run_in_threadpool(self.store.seats)
        ]
        frame = pl.DataFrame(rows, dict.fromkeys(("id", "rater", "state", "joined"), pl.String), orient="row")
        headers = {"content-disposition": 'attachment; filename="people.csv"'}
        return Response(csv_text(frame), media_type="text/csv", headers=headers)

    async def _withdraw(self, request: Request) -> Response:
        """Remove somebody's answers."""
        self._admit(request)
        try:
            asked = parse(await self._body(request))
        except InputError as error:
            raise HTTPException(422, f"{error}.") from None
        name = asked.get("rater") if isinstance(asked, dict) else None
        rater = await run_in_threadpool(self.store.withdraw, name) if isinstance(name, str) and name else ""
        if not rater:
            raise HTTPException(404, "Nobody of this name has answers here.")
        await run_in_threadpool(self._look)
        return JSONResponse({"withdrawn": rater})

    def _row(
        self,
        invitation: Invitation,
        final: Final | None,
        draft: tuple[str, str] | None,
        sitting: Seat | None,
        seats: Sequence[Seat],
    ) -> dict[str, Any]:
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
        signs = []
        if sitting:
            row["state"] = "begun"
            same = sum(one.address == sitting.address for one in seats if one.state == "open")
            signs += [f"this browser came with {sitting.n_ids} ids"] if sitting.n_ids > 1 else []
            signs += [f"{same} people from one address"] if same >= _REMARKABLE else []
        if final:
            result = FinishedAnswers.model_validate_json(final.text)
            finished = {"state": "finished", "done": n_screens, "seen": final.received}
            signs = [*signs, *self._signs_of(invitation.page, result)]
            return row | finished | {"minutes": _minutes(result), "signs": signs}
        if draft:
            begun = Draft.model_validate_json(draft[0])
            return row | {
                "state": "begun",
                "done": min(begun.at, n_screens),
                "minutes": _minutes(begun),
                "seen": draft[1],
                "signs": signs,
            }
        return row | {"signs": signs}

    def _signs_of(self, page: BuiltPage, result: FinishedAnswers) -> list[str]:
        if result.digest not in self._signs:
            self._signs[result.digest] = list(self._checks(page, result))
        return self._signs[result.digest]

    # who asks, and how much

    async def _who(self, request: Request) -> _Guest:
        """Who has a link. Tokens are compared by keyed digests, so the time taken tells nothing about them."""
        guest = await run_in_threadpool(self._guest, request.path_params["token"])
        if guest is None:
            raise self._stranger(request)
        if not self._links.allows(guest.token):
            raise HTTPException(429, "Too many requests; try again in a moment.", {"retry-after": "5"})
        return guest

    def _guest(self, token: str) -> _Guest | None:
        invitation = self._by_mask.get(self._mask(token))
        if invitation is not None:
            if invitation.rater in self.store.withdrawn():
                raise HTTPException(410, _GONE["withdrawn"])
            return _Guest(invitation.rater, invitation.page, token)
        seat = self.store.seat(token) if self.packet.open and len(token) < _LONGEST_TOKEN else None
        if seat is None or seat.seat not in self._by_seat:
            return None
        if seat.state in ("away", "withdrawn"):
            raise HTTPException(410, _GONE[seat.state])
        return _Guest(seat.seat, self._by_seat[seat.seat].page, token, seat.person, seat.receipt, is_seat=True)

    def _admit(self, request: Request) -> None:
        if not hmac.compare_digest(self._mask(request.path_params["token"]), self._mask(self.packet.admin)):
            raise self._stranger(request)

    def _stranger(self, request: Request) -> HTTPException:
        if self._strangers.allows(_network(request)):
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


@dataclass(frozen=True)
class _Guest:
    """Whoever asks with a valid token; ``receipt`` where a screening turned them away."""

    rater: str
    page: BuiltPage
    token: str
    person: str = ""
    receipt: str = ""
    is_seat: bool = False


def export(store: Store) -> str:
    """All final answers, one JSON object a line, as `results.read_results` takes them."""
    return "".join(f"{final.text}\n" for final in store.finals())


def _network(request: Request) -> str:
    """The visitor's address; of IPv6 the first half, because one household or server has the whole second half to choose from."""
    host = request.client.host if request.client else ""
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return ""  # a proxy that passes on what a visitor wrote there: all of them together count as one
    if isinstance(found, ipaddress.IPv4Address):
        return host
    return str(found.ipv4_mapped or ipaddress.ip_network((int(found) >> 64 << 64, 64)))


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


# Runs the collector on a port of this machine.


def listen(host: str, port: int) -> socket.socket:
    """A socket bound to host and port (0: any free one)."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise OptionError(
            f"{host} port {port} cannot be listened on ({error.strerror or error}). Choose another --port or --host."
        ) from None
    return bound


def serve(collector: Collector, bound: socket.socket, *, is_proxied: bool = False) -> None:
    """Serve until interrupted; requests under way are finished before `KeyboardInterrupt` goes on."""
    serving = server(collector, is_proxied=is_proxied).serve(sockets=[bound])
    try:
        with asyncio.Runner() as runner:
            runner.run(serving)
    finally:
        serving.close()  # an interruption before the loop began leaves it unawaited, which would print a warning


def server(collector: Collector, *, is_proxied: bool = False) -> uvicorn.Server:
    """The web server, not yet running.

    Without a proxy in front, a visitor could write any address into ``X-Forwarded-For``, so the header is believed only with ``is_proxied``, and then
    only from this machine or from the addresses in the environment variable ``FORWARDED_ALLOW_IPS``.
    """
    head_seconds = collector.limits.head_seconds

    class Prompt(_Prompt):
        seconds = head_seconds

    config = uvicorn.Config(
        collector.app,
        http=Prompt,
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        log_level="error",
        access_log=False,  # links are secret
        server_header=False,
        proxy_headers=is_proxied,
        limit_concurrency=collector.limits.connections,
        timeout_keep_alive=int(head_seconds),
        timeout_graceful_shutdown=5,
    )
    return uvicorn.Server(config)


class _Prompt(H11Protocol):
    """HTTP that waits for a request's head only so long; uvicorn alone would let it trickle in for ever."""

    seconds: float
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._stop_waiting()
        self._deadline = self.loop.call_later(self.seconds, self.timeout_keep_alive_handler)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


# How much a stranger may ask of the collector.


@dataclass(frozen=True)
class Limits:
    """What one request may weigh and last, and how many may come: per link, and per network address where the link is unknown.

    An address is a network's outermost one: a class room or a company shares it. So people who answer are never refused for having few places left; but where
    places run out, one that was taken and left idle, from an address with more than a quarter of all places, goes to somebody from another address.
    """

    body_bytes: int = 1_000_000
    body_seconds: float = 15
    head_seconds: float = 10
    connections: int = 800
    per_link: tuple[float, int] = (3, 60)  # requests a second in the long run, and at once
    per_stranger: tuple[float, int] = (1, 30)
    per_join: tuple[float, int] = (2, 60)  # from one address by the open link
    seats_per_address: int = 40  # that are taken and not yet finished
    idle_seconds: float = 300  # after which a place without any answer counts as idle


class RateLimit:
    """A bucket for each name: `burst` requests at once, refilled with `per_second`. The oldest names are forgotten first."""

    def __init__(
        self, per_second: float, burst: int, clock: Callable[[], float] = time.monotonic, n_names: int = 10_000
    ) -> None:
        self._per_second, self._burst, self._clock, self._n_names = per_second, burst, clock, n_names
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allows(self, name: str) -> bool:
        """Whether one more request of this name is within the rate; it is counted if it is."""
        now = self._clock()
        left, then = self._left.pop(name, (float(self._burst), now))
        left = min(self._burst, left + (now - then) * self._per_second)
        self._left[name] = (left - 1 if left >= 1 else left, now)
        if len(self._left) > self._n_names:
            self._left.popitem(last=False)
        return left >= 1
