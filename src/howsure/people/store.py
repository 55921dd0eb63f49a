"""Answers in SQLite: on the disk before anyone is thanked."""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal
from urllib.parse import quote, urlsplit

from howsure.errors import InputError, OptionError

__all__ = ["ANSWERS", "Decision", "Fielding", "Final", "Joined", "Quotas", "Seat", "Store"]

ANSWERS = "answers.sqlite"
_TABLES = """
create table if not exists drafts (rater text primary key, page text, saves integer, text text, saved text);
create table if not exists finals (rater text primary key, page text, digest text, text text, receipt text, received text);
create table if not exists seats (token text primary key, seat text, person text, browser text, address text,
    joined text, seen real, state text, n_ids integer, digest text, receipt text);
create table if not exists withdrawn (rater text, at text);
"""
_SEEN_SECONDS = 20  # a sign of life is written down no more often
_SEAT = "token, seat, person, address, joined, seen, state, n_ids, digest, receipt"


@dataclass(frozen=True)
class Final:
    """One rater's final answers as they came, and the receipt that was given for them."""

    rater: str
    page: str
    digest: str
    text: str
    receipt: str
    received: str


State = Literal["open", "away", "screened", "withdrawn"]


@dataclass(frozen=True)
class Seat:
    """A page that somebody who came by the open link has taken, and what became of it.

    ``open``: taken, or finished where there are final answers. ``away``: given to somebody else. ``screened``: turned away by a screening.
    """

    token: str
    seat: str
    person: str
    address: str
    joined: str
    seen: float
    state: State
    n_ids: int
    digest: str
    receipt: str


@dataclass(frozen=True)
class Joined:
    """What somebody who comes by the open link gets: a token, or why there is none."""

    token: str = ""
    reason: Literal["", "elsewhere", "crowded", "full", "complete"] = ""


class Store:
    """Drafts and final answers by rater; safe to use from several threads and, through SQLite, several processes."""

    def __init__(self, path: Path) -> None:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # SQLite gives its side files the same mode
        except OSError as error:
            raise _unwritable(path, error.strerror or str(error)) from None
        self._lock = threading.Lock()
        self._base = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=20)
        try:
            self._base.execute("pragma journal_mode = wal")
            self._base.execute("pragma synchronous = full")
            self._base.execute("pragma secure_delete = on")  # whoever withdraws leaves nothing in the file
            self._base.executescript(_TABLES)
        except sqlite3.OperationalError as error:
            raise _unwritable(path, str(error)) from None
        except sqlite3.DatabaseError as error:
            raise InputError(f"{path}: not a store of answers ({error}). Move it away to start a new one.") from None

    def close(self) -> None:
        """Let go of the file."""
        self._base.close()

    def draft(self, rater: str) -> str | None:
        """The latest draft of a rater."""
        with self._lock:
            row = self._base.execute("select text from drafts where rater = ?", (rater,)).fetchone()
        return row[0] if row else None

    def keep_draft(self, rater: str, page: str, saves: int, text: str) -> bool:
        """Keep a draft unless a later one or the final answers are there; says whether it (or just the same) is kept now."""
        with self._transaction():
            if self._base.execute("select 1 from finals where rater = ?", (rater,)).fetchone():
                return False
            row = self._base.execute("select saves, text from drafts where rater = ?", (rater,)).fetchone()
            if row and row[0] >= saves:
                return bool(row[1] == text)
            self._base.execute("replace into drafts values (?, ?, ?, ?, ?)", (rater, page, saves, text, _now()))
            return True

    def final(self, rater: str) -> Final | None:
        """The final answers of a rater."""
        with self._lock:
            row = self._base.execute("select * from finals where rater = ?", (rater,)).fetchone()
        return Final(*row) if row else None

    def keep_final(self, rater: str, page: str, digest: str, text: str) -> Final:
        """Keep the first final answers of a rater and give back what is kept: the caller compares the digests."""
        new = (rater, page, digest, text, secrets.token_hex(6), _now())
        with self._transaction():
            self._base.execute("insert into finals values (?, ?, ?, ?, ?, ?) on conflict do nothing", new)
            return Final(*self._base.execute("select * from finals where rater = ?", (rater,)).fetchone())

    def finals(self) -> list[Final]:
        """All final answers, in the order in which they came."""
        with self._lock:
            return [Final(*row) for row in self._base.execute("select * from finals order by received, rater")]

    def pages(self) -> dict[str, str]:
        """Which page each rater has begun or finished, by digest."""
        with self._lock:
            return dict(self._base.execute("select rater, page from drafts union select rater, page from finals"))

    def drafts(self) -> dict[str, tuple[str, str]]:
        """The latest draft of every rater, and when it came."""
        with self._lock:
            rows = self._base.execute("select rater, text, saved from drafts").fetchall()
        return {rater: (text, saved) for rater, text, saved in rows}

    # people who come by the open link

    def join(
        self,
        person: str,
        browser: str,
        address: str,
        *,
        seats: Sequence[str],
        away_seconds: float,
        most_per_address: int,
        idle_seconds: float = 300,
        now: float | None = None,
    ) -> Joined:
        """A seat for a person: theirs if they have one, else the first of ``seats`` that is free, else one whose owner is away, else an idle one of a crowd.

        One browser has one seat, whatever ids it comes with; an id that has a seat in another browser gets none. An owner is away who has not
        finished and was not seen for so many seconds; their draft is removed and their token ends. A crowd is another address with more than a quarter of
        ``seats`` (and more than 2); its idle seats are those without any answer and without a sign of life for ``idle_seconds``.
        """
        now = time.time() if now is None else now
        with self._transaction():
            taken = [
                Seat(*row)
                for row in self._base.execute(f"select {_SEAT} from seats where state in ('open', 'screened')")
            ]
            browsers = dict(self._base.execute("select token, browser from seats"))
            finished = {row[0] for row in self._base.execute("select rater from finals")}
            own = next((one for one in taken if one.person == person), None)
            if own and browsers[own.token] != browser:
                return Joined(reason="elsewhere")
            known = own or next((one for one in taken if browser and browsers[one.token] == browser), None)
            if known:
                more = 0 if own else 1
                self._base.execute("update seats set n_ids = n_ids + ? where token = ?", (more, known.token))
                return Joined(known.token)
            waiting = [one for one in taken if one.state == "open" and one.seat not in finished]
            if sum(one.address == address for one in waiting) >= most_per_address:
                return Joined(reason="crowded")
            occupied = {one.seat for one in waiting} | finished
            free = next((seat for seat in seats if seat not in occupied), None)
            if free is None:
                here = [one for one in waiting if one.seat in seats]
                begun = {row[0] for row in self._base.execute("select rater from drafts")}
                held = Counter(one.address for one in waiting)
                crowds = {one for one, n in held.items() if n > max(2, len(seats) / 4)} - {address}
                gone = [one for one in here if one.seen < now - away_seconds] or [
                    one
                    for one in here
                    if one.address in crowds and one.seat not in begun and one.seen < now - idle_seconds
                ]
                if not gone:
                    return Joined(reason="full" if here else "complete")
                oldest = min(gone, key=lambda one: one.seen)
                free = oldest.seat
                self._base.execute("update seats set state = 'away' where token = ?", (oldest.token,))
                self._base.execute("delete from drafts where rater = ?", (free,))
            token = secrets.token_urlsafe(24)
            row = (token, free, person, browser, address, _now(), now, "open", 1, "", "")
            self._base.execute(f"insert into seats values ({', '.join('?' * len(row))})", row)
            return Joined(token)

    def seat(self, token: str) -> Seat | None:
        """The seat of a token; being asked for it counts as being seen."""
        select, now = f"select {_SEAT} from seats where token = ?", time.time()
        with self._lock:
            row = self._base.execute(select, (token,)).fetchone()
        if row and (found := Seat(*row)).state == "open" and now - found.seen > _SEEN_SECONDS:
            with self._transaction():
                self._base.execute("update seats set seen = ? where token = ? and state = 'open'", (now, token))
                # read again: between the two, somebody else may have got the place
                row = self._base.execute(select, (token,)).fetchone()
        return Seat(*row) if row else None

    def screen_out(self, token: str, digest: str) -> str:
        """Free the seat of somebody whom a screening turned away; their answers are not kept. Gives a receipt."""
        receipt = secrets.token_hex(6)
        with self._transaction():
            row = self._base.execute("select seat, receipt from seats where token = ?", (token,)).fetchone()
            if row and not row[1]:
                change = "update seats set state = 'screened', digest = ?, receipt = ? where token = ?"
                self._base.execute(change, (digest, receipt, token))
                self._base.execute("delete from drafts where rater = ?", (row[0],))
                return receipt
            return str(row[1]) if row else ""

    def seats(self) -> list[Seat]:
        """Everyone who came by the open link, in the order in which they came."""
        with self._lock:
            return [Seat(*row) for row in self._base.execute(f"select {_SEAT} from seats order by joined, token")]

    def withdraw(self, name: str) -> str:
        """Remove the answers of a rater (or of the person with this id) and what is known of them; gives the rater's name, or nothing."""
        with self._transaction():
            found = self._base.execute(
                "select seat from seats where person = ? and state in ('open', 'screened')", (name,)
            ).fetchone()
            rater = found[0] if found else name
            has = "select 1 from drafts where rater = ? union select 1 from finals where rater = ?"
            is_seat = self._base.execute("select 1 from seats where seat = ? and state = 'open'", (rater,)).fetchone()
            if not found and not is_seat and not self._base.execute(has, (rater, rater)).fetchone():
                return ""
            if found or is_seat:
                forget = "update seats set state = 'withdrawn', person = '', browser = '', address = '' where "
                self._base.execute(forget + "person = ? or (seat = ? and state = 'open')", (name, rater))
            for table in ("drafts", "finals"):
                self._base.execute(f"delete from {table} where rater = ?", (rater,))
            self._base.execute("insert into withdrawn values (?, ?)", (rater, _now()))
        with self._lock:
            self._base.execute("pragma wal_checkpoint(truncate)")
        return rater

    def backup(self, path: Path) -> None:
        """A whole copy of the store as it stands, made while others may write; only its owner may read it."""
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            with closing(sqlite3.connect(path)) as copy, self._lock:
                self._base.backup(copy)
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"{path}: the copy cannot be written ({error}). Name another file.") from None

    def withdrawn(self) -> list[str]:
        """Who has withdrawn, once for each time."""
        with self._lock:
            return [row[0] for row in self._base.execute("select rater from withdrawn order by at")]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock:
            self._base.execute("begin immediate")
            try:
                yield
                self._base.execute("commit")
            except BaseException:
                if self._base.in_transaction:  # a full disk may have ended it
                    self._base.execute("rollback")
                raise


def _unwritable(path: Path, why: str) -> InputError:
    return InputError(f"{path}: cannot be written ({why}). Copy the pages to a folder that you may write to.")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


# How a study meets its raters: the open link, what a platform that pays them asks for, and when the study is over.


ID_PARAMETERS = ("PROLIFIC_PID", "workerId", "participant_id", "participant", "pid", "id")
"""Where platforms put a person's id: Prolific, Mechanical Turk, and usual names."""

_ID = re.compile(r"[A-Za-z0-9._@:+-]{1,80}")


@dataclass(frozen=True)
class Fielding:
    """What people get at the end, and who may come by the open link.

    Parameters
    ----------
    completion_code, completion_url : str
        Shown with the receipt; ``{id}`` in the address becomes the person's id.
    screen_out_code, screen_out_url : str
        The same for people whom a screening turned away.
    id_parameters : tuple[str, ...]
        Names of the address's parameter that holds a person's id, the first that is there counts.
    ids : frozenset[str] | None
        The ids that may take part; None: any.
    away_minutes : float
        After how many minutes without a sign of life an unfinished place is given to somebody else.
    """

    completion_code: str = ""
    completion_url: str = ""
    screen_out_code: str = ""
    screen_out_url: str = ""
    id_parameters: tuple[str, ...] = ID_PARAMETERS
    ids: frozenset[str] | None = None
    away_minutes: float = 60

    def __post_init__(self) -> None:
        for url in (self.completion_url, self.screen_out_url):
            if url and (urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc):
                raise OptionError(f"{url}: not an address that people can be sent to. It begins with https://.")
        if self.away_minutes <= 0:
            raise OptionError(f"{self.away_minutes:g} minutes away is not above 0.")

    def end(self, person: str = "", *, is_screened_out: bool = False) -> dict[str, str] | None:
        """The code and the address for a person who is done; None where nothing is set."""
        pair = (
            (self.screen_out_code, self.screen_out_url)
            if is_screened_out
            else (self.completion_code, self.completion_url)
        )
        told = {"code": pair[0], "url": pair[1].replace("{id}", quote(person, safe=""))}
        return {name: text for name, text in told.items() if text} or None

    def person(self, query: Mapping[str, str]) -> str:
        """The id in an address's parameters, or nothing."""
        given = next((query[name] for name in self.id_parameters if query.get(name)), "")
        return given if _ID.fullmatch(given) else ""

    def admits(self, person: str) -> bool:
        """Whether a person with this id may take part."""
        return self.ids is None or person in self.ids


@dataclass(frozen=True)
class Quotas:
    """How many ratings each item wants, and which items each page shows."""

    wanted: int
    items_by_seat: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Decision:
    """Where a live study stands: whether it is over, what it found so far in words, and the items that need no more ratings."""

    is_over: bool
    message: str
    decided: frozenset[str] = frozenset()


Decide = Callable[[Sequence[Final]], Decision]
"""Looks at all final answers, in the order in which they came, and says whether more are needed."""
