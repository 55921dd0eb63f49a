import os
import re
import sqlite3
import stat
from pathlib import Path

import pytest

from howsure.errors import InputError, OptionError
from howsure.people.packet import LINKS, open_packet, write_private
from howsure.people.store import ANSWERS, Store

from .page_examples import study_page, track_page


@pytest.fixture
def folder(tmp_path):
    for rater in ("r1", "r2"):
        study_page(rater).save(tmp_path / f"{rater}.html")
    return tmp_path


def test_links_are_long_secret_and_the_same_from_run_to_run(folder):
    packet = open_packet(folder)
    assert open_packet(folder) == packet
    tokens = [invitation.token for invitation in packet.invitations] + [packet.admin]
    assert len(set(tokens)) == 3
    assert all(re.fullmatch(r"[\w-]{32}", token) for token in tokens)
    assert stat.S_IMODE((folder / LINKS).stat().st_mode) == 0o600
    assert [(i.label, i.rater) for i in packet.invitations] == [("r1", "r1"), ("r2", "r2")]


def test_a_page_added_later_gets_a_link_and_the_others_keep_theirs(folder):
    before = {i.label: i.token for i in open_packet(folder).invitations}
    study_page("r3").save(folder / "r3.html")
    after = {i.label: i.token for i in open_packet(folder).invitations}
    assert before.items() < after.items()


def test_a_page_for_everyone_gets_as_many_links_as_asked_for(tmp_path):
    track_page().save(tmp_path / "play.html")
    with pytest.raises(OptionError, match="raters"):
        open_packet(tmp_path)
    assert len(open_packet(tmp_path, 3).invitations) == 3
    assert len(open_packet(tmp_path).invitations) == 3
    assert len(open_packet(tmp_path, 5).invitations) == 5


def test_folders_that_cannot_be_served_are_refused(folder):
    with pytest.raises(OptionError, match="omit raters"):
        open_packet(folder, 4)
    (folder / "copy.html").write_bytes((folder / "r1.html").read_bytes())
    with pytest.raises(InputError, match="both made for 'r1'"):
        open_packet(folder)
    (folder / "copy.html").unlink()
    track_page().save(folder / "play.html")
    with pytest.raises(InputError, match="another folder"):
        open_packet(folder)
    (folder / "play.html").unlink()
    (folder / LINKS).write_text("{}]")
    with pytest.raises(InputError, match="links.json: not the links"):
        open_packet(folder)


def test_the_store_is_private_and_keeps_the_first_final_answers(tmp_path):
    old_mask = os.umask(0)
    try:
        store = Store(tmp_path / ANSWERS)
        first = store.keep_final("r1", "page", "digest", "{}")
    finally:
        os.umask(old_mask)
    assert store.keep_final("r1", "page", "digest", "{}") == first
    assert store.keep_final("r1", "page", "other", "[]") == first
    assert not store.keep_draft("r1", "page", 99, "{}")
    store.close()
    again = Store(tmp_path / ANSWERS)
    assert again.finals() == [first]
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in Path(tmp_path).iterdir()}
    assert set(modes.values()) == {0o600}, modes
    again.close()


def test_an_older_draft_never_replaces_a_newer_one(tmp_path):
    store = Store(tmp_path / ANSWERS)
    assert store.keep_draft("r1", "page", 5, "five")
    assert store.keep_draft("r1", "page", 5, "five")
    assert not store.keep_draft("r1", "page", 5, "another five")
    assert not store.keep_draft("r1", "page", 4, "four")
    assert store.keep_draft("r1", "page", 6, "six")
    assert store.draft("r1") == "six"
    store.close()


def test_a_store_or_links_that_cannot_be_written_are_told_in_one_line(folder, command):
    (folder / ANSWERS).mkdir()
    told = command("serve", folder, "--port", "0")
    assert (told.returncode, told.stderr.count("\n")) == (2, 1)
    assert "answers.sqlite: cannot be written" in told.stderr
    with pytest.raises(InputError, match=r"nowhere/links.json: cannot be written"):
        write_private(folder / "nowhere/links.json", "{}")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_told_in_one_line(folder, command):
    folder.chmod(0o500)
    told = command("serve", folder, "--port", "0")
    folder.chmod(0o700)
    assert (told.returncode, told.stderr.count("\n")) == (2, 1)
    assert "cannot be written" in told.stderr


def test_a_file_that_is_no_store_is_refused(tmp_path):
    (tmp_path / ANSWERS).write_text("not a database at all, but long enough to look at")
    with pytest.raises(InputError, match="not a store"):
        Store(tmp_path / ANSWERS)


def test_a_commit_that_fails_on_a_full_disk_leaves_the_store_usable(tmp_path):
    store = Store(tmp_path / "answers.sqlite")
    inner = store._base

    class Full:
        in_transaction = property(lambda self: inner.in_transaction)

        def execute(self, text, *given):
            if text == "commit":
                raise sqlite3.OperationalError("database or disk is full")
            return inner.execute(text, *given)

    store._base = Full()
    with pytest.raises(sqlite3.OperationalError, match="full"):
        store.keep_final("r1", "page", "digest", "{}")
    store._base = inner
    assert store.final("r1") is None
    assert store.keep_final("r1", "page", "digest", "{}").receipt
    store.close()
