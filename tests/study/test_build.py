"""Orders and slots that balance, pages that tell nothing, and a key that is sealed."""

import hashlib
import json
import re
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howsure.errors import InputError, OptionError
from howsure.people import read_page, read_pages
from howsure.study.packet.building import EVERYONE, StudyKey, build
from howsure.study.packet.design import AGAIN, ATTENTION, arrange, williams
from howsure.study.protocol import Study

from .study_examples import EXAMPLE, small_study

ATTENTIVE = [{"id": f"a{n}", "text": "Say x.", "question": "?", "options": ["x", "y"], "right": "x"} for n in (1, 2)]


def pairs_only(row):
    return [one for one in row if one.target and not one.item.endswith(AGAIN)]


@pytest.mark.parametrize("n", range(1, 10))
def test_williams_squares_are_latin_and_balance_who_follows_whom(n):
    rows = williams(n)
    for square in (rows[:n], rows[n:]):
        assert all(sorted(column) == list(range(n)) for column in zip(*square, strict=True))
    follows = Counter(step for row in rows for step in pairwise(row))
    assert len(follows) == n * (n - 1)
    assert len(set(follows.values())) <= 1


@settings(max_examples=60, deadline=None)
@given(n_pairs=st.integers(1, 9), n_raters=st.integers(1, 25), seed=st.integers(0, 10_000))
def test_slots_and_places_balance_over_raters(n_pairs, n_raters, seed):
    rows = [pairs_only(row) for row in arrange(small_study(n_pairs, seed=seed), n_raters)]
    first = Counter(one.item for row in rows for one in row if one.target == 1)
    for row in rows:
        assert len({one.item for one in row}) == len(row) == n_pairs
        assert abs(sum(one.target == 1 for one in row) - n_pairs / 2) <= 0.5
    for pair in {one.item for row in rows for one in row}:
        assert abs(first[pair] - n_raters / 2) <= 0.5
        places = Counter(place for row in rows for place, one in enumerate(row) if one.item == pair)
        assert max(places.values()) <= -(-n_raters // n_pairs) + 1


def test_repeats_come_last_swapped_and_every_pair_takes_its_turn():
    rows = arrange(small_study(4, repeats=1), 4)
    assert sorted(row[-1].pair for row in rows) == ["p1", "p2", "p3", "p4"]
    for row in rows:
        assert row[-1].item == row[0].item + AGAIN
        assert {row[0].target, row[-1].target} == {1, 2}


@settings(max_examples=30, deadline=None)
@given(n_pairs=st.integers(1, 5), seed=st.integers(0, 1000))
def test_attention_items_stand_between_pairs(n_pairs, seed):
    for row in arrange(small_study(n_pairs, attention=ATTENTIVE, seed=seed), 3):
        marks = [one.item.startswith(ATTENTION) for one in row]
        assert sum(marks) == 2
        assert not marks[0]
        assert n_pairs < 3 or (not marks[-1] and (True, True) not in pairwise(marks))


def test_same_seed_same_orders_and_another_seed_others():
    assert arrange(small_study(6), 7) == arrange(small_study(6), 7)
    assert arrange(small_study(6), 7) != arrange(small_study(6, seed=8), 7)


def test_two_raters_see_different_orders_and_slots():
    first, second, *_ = build(Study.read(EXAMPLE)).pages
    prompts = [[s.prompt for s in page.page.screens if s.kind == "item" and s.prompt] for page in (first, second)]
    assert prompts[0] != prompts[1]
    assert sorted(set(prompts[0])) == sorted(set(prompts[1]))
    shown = [
        {s.prompt: s.passages[0].text for s in p.page.screens if s.kind == "item" and s.prompt} for p in (first, second)
    ]
    assert shown[0] != shown[1]


def test_a_page_is_the_same_whichever_slot_holds_the_target(tmp_path):
    """Source, styles, ids and order: take the response texts away and nothing tells the conditions apart."""
    study = small_study(1)
    pair = study.pairs[0]
    swapped = study.model_copy(
        update={"pairs": (pair.model_copy(update={"target": pair.comparison, "comparison": pair.target}),)}
    )
    one, other = (build(s, n_raters=2, salt="s" * 32).pages[0] for s in (study, swapped))
    texts = [page.html().replace(page.page.commitment, "").replace(page.digest, "") for page in (one, other)]
    assert texts[0] != texts[1]
    turned = texts[1].replace(pair.target, "§").replace(pair.comparison, pair.target).replace("§", pair.comparison)
    assert texts[0] == turned


def test_the_source_holds_no_condition_word_no_pair_name_and_no_right_answer(tmp_path):
    study = Study.read(EXAMPLE)
    packet = build(study)
    packet.save(tmp_path)
    names = [name for pair in study.pairs for name in (pair.id, pair.domain)]
    for path in tmp_path.glob("*.html"):
        source, content = path.read_text(), read_page(path).content
        for word in ("target", "comparison", "persona", "domain", "model_score", "baseline"):
            assert word not in source.casefold()
        assert [name for name in names if re.search(rf"\b{name}\b", content)] == []
        assert "/again" not in content
        assert packet.key.content.salt not in source
        assert "seed" not in content


def test_opaque_names_differ_between_raters_and_between_builds():
    study = small_study()
    one, again = build(study, n_raters=2), build(study, n_raters=2)
    names = [{screen.id for screen in page.page.screens} for page in (*one.pages, *again.pages)]
    assert not set.intersection(names[0], names[1])
    assert not set.intersection(names[0], names[2])
    assert one.shown == again.shown


def test_the_key_is_private_and_its_digest_is_in_every_page(tmp_path):
    packet = build(small_study(), n_raters=3)
    packet.save(tmp_path)
    path = tmp_path / "key.json"
    assert path.stat().st_mode & 0o777 == 0o600
    sealed = hashlib.sha256(path.read_bytes()).hexdigest()
    assert [page.page.commitment for page in read_pages(tmp_path).values()] == [sealed] * 3
    key = StudyKey.read(path)
    assert key.commitment == sealed
    assert key.raters == packet.key.raters
    assert key.study == packet.study


def test_a_build_never_overwrites_a_key_nor_joins_other_pages(tmp_path):
    build(small_study()).save(tmp_path / "a")
    with pytest.raises(InputError, match="key.json is already there"):
        build(small_study()).save(tmp_path / "a")
    (tmp_path / "a/key.json").unlink()
    with pytest.raises(InputError, match="contains other pages"):
        build(small_study()).save(tmp_path / "a")


def test_a_spoilt_key_says_so(tmp_path):
    path = tmp_path / "key.json"
    for text in ("{}", "nonsense", '{"format": "howsure-study-key/1", "salt": "x"}'):
        path.write_text(text)
        with pytest.raises(InputError, match="not the key of a study"):
            StudyKey.read(path)


def test_one_page_for_everyone_asks_for_a_name(tmp_path):
    packet = build(small_study(), one_page=True)
    packet.save(tmp_path)
    page = read_page(tmp_path / "study.html")
    assert page.page.rater == ""
    assert list(packet.key.raters) == [EVERYONE]
    assert packet.as_dict()["slot_one"] == 0.5


def test_too_few_and_too_many_raters_are_refused():
    for n_raters in (0, 20_000):
        with pytest.raises(OptionError, match=f"{n_raters} raters"):
            build(small_study(), n_raters=n_raters)


def test_the_command_builds_a_packet_and_tells_the_seal(command, tmp_path):
    told = command("study", "build", EXAMPLE, "--raters", 8, "-o", tmp_path / "packet", "--json")
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout)
    assert (found["n_pages"], found["slot_one_lowest"], found["slot_one_highest"]) == (8, 0.5, 0.5)
    assert found["sealed"] == hashlib.sha256((tmp_path / "packet/key.json").read_bytes()).hexdigest()
    assert len(list((tmp_path / "packet").glob("r*.html"))) == 8
    again = command("study", "build", EXAMPLE, "-o", tmp_path / "packet")
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert command("study", "build", EXAMPLE).returncode == 2
