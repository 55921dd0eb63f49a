"""`howsure serve`: hand out pages and receive the answers."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from howsure.cli.options import verb
from howsure.cli.output import Console
from howsure.errors import need

if TYPE_CHECKING:
    from howsure.people.collector import Checks
    from howsure.people.packet import Invitation, Packet
    from howsure.people.store import Store

__all__ = ["app"]

app = typer.Typer()

_LOCAL = ("127.0.0.1", "localhost", "::1")


@app.command(epilog="Example: howsure serve packet")
@verb
def serve(
    packet: Annotated[Path, typer.Argument(help="A folder of pages, as `howsure study build` writes it.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 chooses any free port.")] = 8000,
    host: Annotated[str, typer.Option(help="Network address of this machine to listen on.")] = "127.0.0.1",
    url: Annotated[
        str | None, typer.Option(help="The address under which people reach it, for the links.", show_default=False)
    ] = None,
    raters: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="Links for a page made for everyone.", show_default=False)
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="Write the answers received so far (.jsonl), and stop.", show_default=False)
    ] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No notes.")] = False,
) -> None:
    """Give each rater a secret link to their page, and keep the answers.

    Links stay the same from run to run (links.json). Answers are in answers.sqlite, written before a page says thanks; a person
    can go on another day or on another device. The admin link shows progress and downloads the answers.

    This speaks plain HTTP on this machine. For people elsewhere put a proxy with TLS in front of it (one line of Caddy:
    `reverse_proxy 127.0.0.1:8000`), pass its address as --url, and keep its access log private, for links are secrets.
    """
    need("starlette", "serve", "howsure serve")
    need("uvicorn", "serve", "howsure serve")
    from howsure.people.packet import open_packet
    from howsure.people.store import ANSWERS, Store

    console = Console(is_quiet=quiet)
    opened = open_packet(packet, raters)
    with contextlib.closing(Store(packet / ANSWERS)) as store:
        if export:
            _write_answers(store, export, console)
        else:
            _run(opened, store, host, port, url, console)


def _write_answers(store: Store, path: Path, console: Console) -> None:
    from howsure.people.collector import export
    from howsure.safe_io import write_atomic

    n_results = len(store.finals())
    write_atomic(path, export(store))
    console.say(f"{path}: {n_results} final answer set{'' if n_results == 1 else 's'}.")


def _run(packet: Packet, store: Store, host: str, port: int, url: str | None, console: Console) -> None:
    from howsure.people.collector import Collector
    from howsure.people.server import listen, serve
    from howsure.people.store import ANSWERS

    counter = _Counter(packet, store, console)
    collector = Collector(packet, store, checks=_checks(packet), on_final=counter.told)
    bound = listen(host, port)
    base = url or f"http://{f'[{host}]' if ':' in host else host}:{bound.getsockname()[1]}"
    if host not in _LOCAL and not base.startswith("https://"):
        console.notes(["answers are sent unencrypted; outside a trusted network put a proxy with TLS in front"])
    with contextlib.suppress(KeyboardInterrupt):
        _print_links(packet, base.rstrip("/"), console)
        serve(collector, bound)
    console.say(f"\nStopped: {counter}. All answers are in {packet.folder / ANSWERS}.")


def _checks(packet: Packet) -> Checks:
    """What is odd about an answer set, as the instrument that made the pages knows it."""
    from howsure.people import quality_signs
    from howsure.study.packet.building import KEY, StudyKey
    from howsure.study.scoring.collection import live_signs

    is_study = packet.invitations[0].page.page.instrument == "study"
    return (
        live_signs(StudyKey.read(packet.folder / KEY)) if is_study and (packet.folder / KEY).exists() else quality_signs
    )


def _print_links(packet: Packet, base: str, console: Console) -> None:
    width = max(len(invitation.label) for invitation in packet.invitations)
    for invitation in packet.invitations:
        console.say(f"{invitation.label:<{width}}  {base}/r/{invitation.token}/")
    console.say(f"{'admin':<{width}}  {base}/admin/{packet.admin}/")
    sys.stdout.flush()  # whoever keeps the output in a file wants the links now


class _Counter:
    """Says who finished, once each, and how many have."""

    def __init__(self, packet: Packet, store: Store, console: Console) -> None:
        self._of, self._console = len(packet.invitations), console
        self._raters = {final.rater for final in store.finals()}

    def told(self, invitation: Invitation) -> None:
        if invitation.rater not in self._raters:
            self._raters.add(invitation.rater)
            self._console.say(f"{invitation.label} finished: {self}")

    def __str__(self) -> str:
        return f"{len(self._raters)} of {self._of} have finished"
