"""Runs the collector on a port of this machine."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from howsure.errors import OptionError
from howsure.people.collector import Collector

__all__ = ["listen", "serve"]


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
