"""`howsure serve`: hand out pages and receive the answers."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from howsure.cli.options import verb
from howsure.cli.output import Console
from howsure.errors import InputError, OptionError, need

if TYPE_CHECKING:
    from howsure.people.packet import Invitation, Packet
    from howsure.people.store import Fielding, Store

__all__ = ["app"]

app = typer.Typer()

_LOCAL = ("127.0.0.1", "localhost", "::1")


def _field(text: str) -> Any:
    return typer.Option(help=text, rich_help_panel="People from a platform", show_default=False)


@dataclass(frozen=True)
class FieldingOptions:
    """What people from a platform bring and get."""

    completion_code: Annotated[str, _field("Shown to people when their answers have arrived.")] = ""
    completion_url: Annotated[str, _field("Address to which they return afterwards; {id} becomes their id.")] = ""
    screen_out_code: Annotated[str, _field("Code shown to people whom the screening excluded.")] = ""
    screen_out_url: Annotated[str, _field("Address to which those people return.")] = ""
    id_parameter: Annotated[
        list[str] | None, _field("Name of the id in the open link. [default: PROLIFIC_PID, workerId, participant, …]")
    ] = None
    ids: Annotated[Path | None, _field("A text file with the ids that may take part, one per line.")] = None
    away_minutes: Annotated[
        float,
        typer.Option(
            min=1,
            help="An unfinished place is given to another person after this number of minutes without activity.",
            rich_help_panel="People from a platform",
        ),
    ] = 60
    per_address: Annotated[
        int,
        typer.Option(
            min=1,
            help="Largest number of unfinished places per network address; people in one classroom may share an address.",
            rich_help_panel="People from a platform",
        ),
    ] = 40


@app.command(epilog="Example: howsure serve packet")
@verb
def serve(
    packet: Annotated[Path, typer.Argument(help="A folder of pages, as `howsure study build` writes it.")],
    fielding: FieldingOptions,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 chooses any free port.")] = 8000,
    host: Annotated[str, typer.Option(help="Network address of this machine to listen on.")] = "127.0.0.1",
    url: Annotated[
        str | None, typer.Option(help="Web address: under which people reach it, for the links.", show_default=False)
    ] = None,
    raters: Annotated[
        int | None,
        typer.Option(
            min=1, max=10_000, help="Number of raters: links for a page made for everyone.", show_default=False
        ),
    ] = None,
    is_open: Annotated[
        bool, typer.Option("--one-link", help="One link for all who bring an id, such as ?PROLIFIC_PID=…")
    ] = False,
    stop_when: Annotated[
        str | None,
        typer.Option(
            help="Admit no more people when this is decided, e.g. 'difference:quality:a:b >= 0', or 'each:quality >= 3' (open link).",
            show_default=False,
        ),
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="Write the answers received so far (.jsonl), and stop.", show_default=False)
    ] = None,
    backup: Annotated[
        Path | None,
        typer.Option(
            help="Write a whole copy of answers.sqlite, also while it is served, and stop.", show_default=False
        ),
    ] = None,
    withdraw: Annotated[
        str | None,
        typer.Option(
            help="Remove the answers of this rater, or of the person with this id, and stop.", show_default=False
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress and no notes.")] = False,
) -> None:
    """Give each rater a secret link to their page, and store the answers.

    Links stay the same from run to run (links.json). Answers are in answers.sqlite, written before a page says thanks; a person
    can continue on another day or another device. The admin link shows progress, quotas and warnings; there you can download answers and remove those of a
    rater's. With --one-link there is one link for a platform such as Prolific: people bring their id, get the next page, and a code at the end.

    The server uses HTTP without encryption. For people outside this machine, use a proxy with TLS in front of it (one line of Caddy:
    `reverse_proxy 127.0.0.1:8000`), pass its address as --url, and keep its access log private, because links are secrets.
    """
    need("starlette", "serve", "howsure serve")
    need("uvicorn", "serve", "howsure serve")
    from howsure.people.build import read_pages
    from howsure.people.packet import open_packet
    from howsure.people.store import ANSWERS, Store

    console = Console(is_quiet=quiet)
    if withdraw is not None or export or backup:
        read_pages(packet)  # a folder without pages is a slip of the pen
        with contextlib.closing(Store(packet / ANSWERS)) as store:
            if withdraw is not None:
                _withdraw(store, withdraw, console)
            if export:
                _write_answers(store, export, console)
            if backup:
                store.backup(backup)
                console.wrote([backup])
        return
    if stop_when and not is_open:
        raise OptionError("--stop-when needs --one-link: people with their own link are always admitted.")
    opened = open_packet(packet, raters, is_open=is_open)
    given = _fielding(fielding)
    with contextlib.closing(Store(packet / ANSWERS)) as store:
        _run(opened, store, host, port, url, given, fielding.per_address, stop_when, console)


def _withdraw(store: Store, name: str, console: Console) -> None:
    rater = store.withdraw(name)
    if not rater:
        raise OptionError(f"There are no answers of {name!r}. Name a rater, or the id of a person.")
    console.say(f"The answers of {rater} are removed.")


def _fielding(options: FieldingOptions) -> Fielding:
    from howsure.people.store import ID_PARAMETERS, Fielding
    from howsure.safe_io import read_bytes

    listed = None
    if options.ids is not None:
        listed = frozenset(read_bytes(options.ids).decode("utf-8-sig", "replace").split())
        if not listed:
            raise InputError(f"{options.ids}: no id in it. Write one per line.")
    return Fielding(
        completion_code=options.completion_code,
        completion_url=options.completion_url,
        screen_out_code=options.screen_out_code,
        screen_out_url=options.screen_out_url,
        id_parameters=tuple(options.id_parameter or ID_PARAMETERS),
        ids=listed,
        away_minutes=options.away_minutes,
    )


def _write_answers(store: Store, path: Path, console: Console) -> None:
    from howsure.people.collector import export
    from howsure.safe_io import write_atomic

    n_results = len(store.finals())
    write_atomic(path, export(store))
    console.say(f"{path}: {n_results} final answer set{'' if n_results == 1 else 's'}.")


def _run(
    packet: Packet,
    store: Store,
    host: str,
    port: int,
    url: str | None,
    fielding: Fielding,
    per_address: int,
    stop_when: str | None,
    console: Console,
) -> None:
    from howsure.people.collector import Collector, Limits, listen, serve
    from howsure.people.store import ANSWERS

    counter = _Counter(packet, store, console)
    known = _known(packet, stop_when)
    limits = Limits(seats_per_address=per_address)
    collector = Collector(packet, store, limits=limits, on_final=counter.told, fielding=fielding, **known)
    bound = listen(host, port)
    base = url or f"http://{f'[{host}]' if ':' in host else host}:{bound.getsockname()[1]}"
    if host not in _LOCAL and not base.startswith("https://"):
        console.notes(["answers are sent unencrypted; outside a trusted network put a proxy with TLS in front"])
    with contextlib.suppress(KeyboardInterrupt):
        _print_links(packet, base.rstrip("/"), console)
        serve(collector, bound, is_proxied=url is not None)
    console.say(f"\nStopped: {counter}. All answers are in {packet.folder / ANSWERS}.")


def _known(packet: Packet, stop_when: str | None) -> dict[str, Any]:
    """What the instrument that made the pages knows of them: what is odd, what each page shows, and when the study is over."""
    from howsure.study.packet.building import KEY, StudyKey, quotas_of
    from howsure.study.scoring.collection import live_signs
    from howsure.study.scoring.stopping import decide_live, parse_stop_rule

    is_study = packet.invitations[0].page.page.instrument == "study"
    if not is_study or not (packet.folder / KEY).exists():
        if stop_when:
            raise OptionError(f"--stop-when needs the key of a study in {packet.folder}.")
        return {}
    key = StudyKey.read(packet.folder / KEY)
    known: dict[str, Any] = {"checks": live_signs(key), "quotas": quotas_of(key)}
    if stop_when:
        pages = [one.page for one in packet.invitations]
        known["decide"] = decide_live(key, pages, parse_stop_rule(stop_when, key.study))
    return known


def _print_links(packet: Packet, base: str, console: Console) -> None:
    width = max(len(invitation.label) for invitation in packet.invitations)
    if packet.open:
        console.say(
            f"{len(packet.invitations)} places by one link. Prolific: add ?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}} to it."
        )
        console.say(f"{'open':<{width}}  {base}/join/{packet.open}/")
    for invitation in () if packet.open else packet.invitations:
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
