"""From raters' files and the key to ratings: orientation, refusals, and what stands beside them."""

import csv
import json

import polars as pl
import pytest

from howsure.errors import InputError
from howsure.people import digest
from howsure.study.packet.building import build
from howsure.study.protocol import Study
from howsure.study.scoring.collection import collect, live_signs
from howsure.study.scoring.exclusions import check_raters
from howsure.study.scoring.fidelity import Raters
from howsure.tables import Ratings

from .study_examples import EXAMPLE, first_slot, perfect, rate, rate_all, small_study

PREFERRED = {"name": "vibe", "kind": "preferred", "question": "?", "low": 1, "high": 3, "labels": ["a", "b", "c"]}


@pytest.fixture
def example(tmp_path):
    """The example study, built for eight raters."""
    packet = build(Study.read(EXAMPLE), n_raters=8)
    packet.save(tmp_path / "packet")
    return packet


def values(gathered, dimension):
    return gathered.ratings.frame.filter(pl.col("dimension") == dimension)["value"].to_list()


def test_a_perfect_rater_gets_full_marks_whatever_the_slots(example, tmp_path):
    found = collect([rate_all(example, tmp_path / "in")], tmp_path / "packet/key.json")
    expected = {"voice": 2, "vibe:target": 3, "vibe:comparison": 1, "logic:target": 3, "logic:comparison": 1}
    expected |= {"continuity": 1, "guess": 1, "attention": 1}
    assert {name: set(values(found, name)) for name in expected} == {name: {value} for name, value in expected.items()}
    assert len(values(found, "voice")) == 8 * 6
    assert set(found.ratings.frame["dimension"]) == set(expected)


def test_a_rater_who_always_picks_slot_one_is_neutral_over_balanced_raters(example, tmp_path):
    found = collect([rate_all(example, tmp_path / "in", first_slot)], tmp_path / "packet/key.json")
    voice = found.ratings.frame.filter(dimension="voice").filter(~pl.col("item").str.ends_with("/again"))
    assert set(voice["value"]) == {-2, 2}
    assert voice.group_by("item").agg(pl.col("value").mean())["value"].to_list() == [0.0] * 5
    assert voice["value"].mean() == 0
    guess = found.ratings.frame.filter(dimension="guess").filter(~pl.col("item").str.ends_with("/again"))
    assert guess["value"].mean() == 0.5


def test_repeats_and_attention_have_names_of_their_own(example, tmp_path):
    found = collect([rate_all(example, tmp_path / "in", first_slot)], tmp_path / "packet/key.json")
    frame = found.ratings.frame.filter(rater="r01")
    again = frame.filter(pl.col("item").str.ends_with("/again"), dimension="voice")
    pair = again["item"][0].removesuffix("/again")
    assert again["value"][0] == -frame.filter(item=pair, dimension="voice")["value"][0]
    attention = frame.filter(dimension="attention")
    assert attention.select("item", "value").rows() == [("attention/reader-1", 0.0)]
    places = frame.unique("item")["position"].sort().to_list()
    assert places == list(range(1, 8))


def test_the_form_of_the_preferred_response(tmp_path):
    packet = build(
        small_study(dimensions=[{"name": "voice", "kind": "comparison", "question": "?"}, PREFERRED]), n_raters=2
    )
    packet.save(tmp_path / "packet")
    found = collect([rate_all(packet, tmp_path / "in")], tmp_path / "packet/key.json")
    assert set(found.ratings.frame["dimension"]) == {"voice", "vibe:preferred"}
    assert set(values(found, "vibe:preferred")) == {3}


def test_raters_stand_beside_the_ratings(example, tmp_path):
    folder = rate_all(example, tmp_path / "in", comment="Nice ants", quiz="a")
    found = collect([folder], tmp_path / "packet/key.json")
    row = found.raters.row(0, named=True)
    assert (row["rater"], row["complete"], row["quiz"], row["comments"]) == ("r01", 1.0, 0.0, "Nice ants")
    assert row["minutes"] == len(example.pages[0].page.screens)
    assert row["slot_one"] in (2 / 6, 3 / 6, 4 / 6)
    assert row["digest"] == json.loads((folder / "answers-r01.json").read_text())["digest"]
    assert collect([rate_all(example, folder)], tmp_path / "packet/key.json").raters["quiz"][0] == 1.0


def test_saved_ratings_read_back(example, tmp_path):
    found = collect([rate_all(example, tmp_path / "in")], tmp_path / "packet/key.json")
    written = found.save(tmp_path / "out")
    assert [path.name for path in written] == [
        "ratings.csv",
        "raters.csv",
        "refused.csv",
        "collect.json",
        "collect.result.zip",
    ]
    assert Ratings(tmp_path / "out/ratings.csv").frame.equals(found.ratings.frame)
    told = json.loads((tmp_path / "out/collect.json").read_text())
    assert told["provenance"]["settings"]["sealed"] == example.key.commitment


def test_duplicates_and_strangers_are_refused_with_the_file_and_the_reason(example, tmp_path):
    folder = rate_all(example, tmp_path / "in")

    def put(name, body):
        (folder / name).write_text(json.dumps(body))

    put("copy-of-r01.json", rate(example, 0))
    put("second-of-r02.json", rate(example, 1, first_slot))
    other = build(Study.read(EXAMPLE), n_raters=8)
    put("other-study.json", rate(other, 3))
    put("borrowed-page.json", rate(example, 4, rater="r08"))
    changed = rate(example, 5)
    changed["reloads"] = 3
    put("answers-r06.json", changed)
    (folder / "half.json").write_text("{")
    found = collect([folder], tmp_path / "packet/key.json")
    assert found.raters["rater"].to_list() == ["r01", "r03", "r04", "r05", "r07", "r08"]
    told = {one.source.rpartition("/")[2]: one.reason for one in found.refused}
    for name, reason in {
        "copy-of-r01.json": "counted once",
        "second-of-r02.json": "'r02' gave 2 answer sets that differ",
        "answers-r02.json": "'r02' gave 2 answer sets that differ",
        "other-study.json": "answers another page",
        "borrowed-page.json": "comes from 'r08', but the page was made for 'r05'",
        "answers-r06.json": "digest does not match",
        "half.json": "not JSON",
    }.items():
        assert reason in told.pop(name)
    assert told == {}


def test_when_nothing_counts_the_reason_is_told(example, tmp_path):
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(InputError, match=r"No answers count \(1 refused\). .*bad.json: not what a page"):
        collect([tmp_path / "bad.json"], tmp_path / "packet/key.json")


def test_a_changed_key_does_not_open_the_answers(example, tmp_path):
    key, folder = tmp_path / "packet/key.json", rate_all(example, tmp_path / "in")
    text = key.read_text()
    place = text.index('"target": 1', text.index('"raters"'))
    key.write_text(f'{text[:place]}"target": 2{text[place + 11 :]}')
    with pytest.raises(InputError, match="not the key that the pages in .* were sealed with"):
        collect([folder], key)


def test_a_key_kept_elsewhere_needs_the_pages(example, tmp_path):
    folder = rate_all(example, tmp_path / "in")
    kept = tmp_path / "safe/key.json"
    kept.parent.mkdir()
    (tmp_path / "packet/key.json").rename(kept)
    with pytest.raises(InputError, match="no folder with pages"):
        collect([folder], kept)
    assert len(collect([folder], kept, pages=tmp_path / "packet").raters) == 8


def test_answers_that_lie_in_the_packet_are_found_there(example, tmp_path):
    rate_all(example, tmp_path / "packet")
    (tmp_path / "packet/links.json").write_text("{}")
    found = collect([tmp_path / "packet"], tmp_path / "packet/key.json")
    assert (len(found.raters), found.refused) == (8, ())


def test_one_page_tells_raters_by_their_names(tmp_path):
    packet = build(small_study(), one_page=True)
    packet.save(tmp_path / "packet")
    for name in ("Ada", "Ben"):
        (tmp_path / f"{name}.json").write_text(json.dumps(rate(packet, rater=name)))
    found = collect([tmp_path / "Ada.json", tmp_path / "Ben.json"], tmp_path / "packet/key.json")
    assert found.raters.select("rater", "slot_one").rows() == [("Ada", 0.5), ("Ben", 0.5)]
    assert set(values(found, "voice")) == {2}


def test_one_bad_file_does_not_stop_the_others_unless_strict(tmp_path, command):
    packet = build(small_study(), one_page=True)
    packet.save(tmp_path / "packet")
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "ada.json").write_text(json.dumps(rate(packet, rater="Ada ")))
    (folder / "half.json").write_text("{")
    (folder / "odd.json").mkdir()
    line = ("study", "collect", folder, "--key", tmp_path / "packet/key.json")
    told = command(*line, "-o", tmp_path / "out")
    assert told.returncode == 0, told.stderr
    assert "1 rater, 2 refused" in told.stdout
    assert pl.read_csv(tmp_path / "out/raters.csv")["rater"].to_list() == ["Ada"]
    assert pl.read_csv(tmp_path / "out/refused.csv").height == 2
    strict = command(*line, "--strict", "-o", tmp_path / "strict")
    assert (strict.returncode, strict.stderr.count("\n")) == (2, 1)
    assert "half.json: not JSON" in strict.stderr
    assert not (tmp_path / "strict").exists()


def test_impossible_times_are_flagged_beside_the_ratings(tmp_path):
    packet = build(small_study(), n_raters=2)
    packet.save(tmp_path / "packet")
    body = rate(packet) | {"finished": "2094-01-01T00:00:00.000Z"}
    del body["digest"]
    (tmp_path / "a.json").write_text(json.dumps(body | {"digest": digest(body)}))
    (tmp_path / "b.json").write_text(json.dumps(rate(packet, 1)))
    found = collect([tmp_path / "a.json", tmp_path / "b.json"], tmp_path / "packet/key.json")
    assert found.raters["flags"].to_list() == ["finished in the future (2094-01-01T00:00:00.000Z)", None]
    assert any("a.json: finished in the future" in note for note in found.provenance.notes)
    assert check_raters(found.ratings, Raters(found.raters)).raters[0].flags[0].startswith("finished in the future")


def test_texts_of_raters_are_shown_as_text_and_start_no_formula(tmp_path, command):
    packet = build(small_study(), one_page=True)
    packet.save(tmp_path / "packet")
    name, comment = "=1+1", '=HYPERLINK("http://example.org","x")\x1b[31m\u202e'
    (tmp_path / "a.json").write_text(json.dumps(rate(packet, rater=name, comment=comment)))
    (tmp_path / "b.json").write_text(json.dumps(rate(packet, rater="\x1b[2Jeve")))
    files = (tmp_path / "a.json", tmp_path / "b.json")
    told = command("study", "collect", *files, "--key", tmp_path / "packet/key.json", "-o", tmp_path / "out")
    assert told.returncode == 0, told.stderr
    assert not {"\x1b", "\u202e"} & set(told.stdout + told.stderr)
    for path in (tmp_path / "out").glob("*.csv"):
        cells = [cell for row in csv.reader(path.read_text().splitlines()) for cell in row]
        assert not [cell for cell in cells if cell.startswith("=")], path
    analysis = command("study", "analyze", tmp_path / "out/ratings.csv", "-o", tmp_path / "analysis")
    assert analysis.returncode == 0, analysis.stderr
    assert not {"\x1b", "\u202e"} & set(analysis.stdout + analysis.stderr)
    assert not {"\x1b", "\u202e"} & set((tmp_path / "analysis/analyze_report.html").read_text())
    for path in (tmp_path / "analysis").glob("*.csv"):
        cells = [cell for row in csv.reader(path.read_text().splitlines()) for cell in row]
        assert not [cell for cell in cells if cell.startswith("=")], path


def test_guesses_are_asked_after_all_ratings_and_there_is_no_way_back(example):
    screens = example.pages[0].page.screens
    asking = [n for n, one in enumerate(screens) if any(q.name == "guess" for q in getattr(one, "questions", ()))]
    rating = [n for n, one in enumerate(screens) if any(q.name == "voice" for q in getattr(one, "questions", ()))]
    assert len(asking) == 5
    assert max(rating) < min(asking)
    assert [screens[n].is_one_way for n in asking] == [True, False, False, False, False]
    assert all(len(screens[n].questions) == 1 for n in asking)


def test_live_signs_know_attention_repeats_and_minutes(example):
    from howsure.people import FinishedAnswers

    def turning(study, placed):
        own = first_slot if placed.item.endswith("/again") or placed.target is None else perfect
        return own(study, placed)

    signs = live_signs(example.key)
    for number in range(8):
        again = next(one for one in example.shown[number] if one.item.endswith("/again"))
        result = FinishedAnswers.model_validate_json(json.dumps(rate(example, number, turning, ms=4_000)))
        told = signs(example.pages[number], result)
        assert "1 of 1 attention items wrong" in told
        assert ("voice changed sign when shown again (1 of 1)" in told) == (again.target == 2)
        assert any("where 8 to 12 are expected" in one for one in told)
    fine = FinishedAnswers.model_validate_json(json.dumps(rate(example)))
    assert signs(example.pages[0], fine) == []


def test_the_command_collects_and_tells_what_it_refused(example, command, tmp_path):
    folder = rate_all(example, tmp_path / "in")
    (folder / "half.json").write_text("{")
    told = command("study", "collect", folder, "--key", tmp_path / "packet/key.json", "-o", tmp_path / "out")
    assert told.returncode == 0, told.stderr
    assert "8 raters, 1 refused" in told.stdout
    assert "half.json: not JSON" in told.stderr
    assert (tmp_path / "out/ratings.csv").exists()
    blind = command("study", "collect", folder)
    assert (blind.returncode, blind.stderr) == (
        2,
        "howsure: The answers are blind. Pass --key key.json (or, for a foreign form, --mapping and --study).\n",
    )


def test_comments_of_strangers_are_shown_and_change_nothing_around_them(tmp_path, command):
    """In the terminal, in the csv and in the report."""
    hostile = "=HYPERLINK(1) \x1b[31mred\x1b[0m [bold]loud[/bold] <script>globalThis.owned=1</script>"
    packet = build(small_study(3), n_raters=2)
    packet.save(tmp_path / "packet")
    rate_all(packet, tmp_path / "in", comment=hostile)
    told = command("study", "collect", tmp_path / "in", "--key", tmp_path / "packet/key.json", "-o", tmp_path / "out")
    assert told.returncode == 0, told.stderr
    assert "What raters said" in told.stdout
    assert "[bold]loud" in told.stdout
    assert "\x1b" not in told.stdout
    with (tmp_path / "out/raters.csv").open(newline="") as file:
        cells = [row["comments"] for row in csv.DictReader(file)]
    assert all("HYPERLINK" in cell and not cell.startswith("=") for cell in cells)
    ratings = tmp_path / "out/ratings.csv"
    done = command("study", "analyze", ratings, "--study", tmp_path / "packet/key.json", "-o", tmp_path / "analysis")
    assert done.returncode == 0, done.stderr
    report = (tmp_path / "analysis/analyze_report.html").read_text()
    assert "HYPERLINK" in report
    assert "<script>globalThis" not in report
    bare = command(
        "study",
        "collect",
        tmp_path / "in",
        "--key",
        tmp_path / "packet/key.json",
        "--anonymous",
        "-o",
        tmp_path / "bare",
    )
    assert bare.returncode == 0
    assert "HYPERLINK" not in "".join(path.read_text() for path in (tmp_path / "bare").glob("*.[cj]s*"))


def test_the_key_of_a_packet_is_a_study_file(tmp_path):
    packet = build(small_study(3), n_raters=2)
    packet.save(tmp_path / "packet")
    assert Study.read(tmp_path / "packet/key.json") == packet.study
