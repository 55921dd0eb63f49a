"""Form builders: the questions out, the exported csv back in."""

import csv
import json
import re

import polars as pl
import pytest
import yaml

from howsure.errors import InputError, OptionError
from howsure.study.item_studies import read_study
from howsure.study.packet.building import build
from howsure.study.packet.forms import FormMapping, collect_forms, form_frame, read_mapping, save_forms
from howsure.study.presets import init
from howsure.study.protocol import Study

from .study_examples import EXAMPLE, perfect, small_study

HOSTILE = "</script> `${7*7}` ' \" \\ \u2028 %BLOCKS%"


@pytest.fixture(params=[1, 2], ids=["one form", "two forms"])
def forms(request, tmp_path):
    """The example as forms: the packet and its folder."""
    packet = build(Study.read(EXAMPLE), n_raters=request.param, one_page=request.param == 1)
    save_forms(packet, tmp_path / "form")
    return packet, tmp_path / "form"


def shown_label(question, value):
    if question.kind == "scale":
        return question.labels[value - question.low]
    return next(option.label for option in question.options if option.value == value)


def export(packet, number, path, raters, *, change=lambda row: row):
    """What a form builder exports when perfect raters have filled in a form."""
    page = packet.pages[number]
    placed = {name: one for rows in packet.key.raters.values() for name, one in rows.items()}
    screens = {screen.id: screen for screen in page.page.screens}
    row = {"Timestamp": "2025/06/01 12:00", f"{number + 1}.00 Your name or code": ""}
    for text, screen, name in form_frame(page, number + 1).select("text", "screen", "name").iter_rows():
        if not name:
            continue
        if screen in placed:
            question = next(q for q in screens[screen].questions if q.name == name)
            row[text] = shown_label(question, perfect(packet.study, placed[screen])[name])
        elif screens[screen].kind == "quiz":
            row[text] = packet.study.quiz.questions[int(name[1:]) - 1].right
        else:
            row[text] = "Fine, thanks"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(row))
        writer.writeheader()
        for rater in raters:
            writer.writerow(change(row | {f"{number + 1}.00 Your name or code": rater}))
    return path


def test_a_form_filled_in_by_perfect_raters(forms, tmp_path):
    packet, folder = forms
    files = [export(packet, n, tmp_path / f"{n}.csv", [f"ada{n}", f"ben{n}"]) for n in range(len(packet.pages))]
    mappings = [read_mapping(path) for path in sorted(folder.glob("*.yaml"))]
    found = collect_forms(files, mappings, key=packet.key)
    means = dict(found.ratings.frame.group_by("dimension").agg(pl.col("value").mean()).iter_rows())
    assert means == {
        **dict.fromkeys(("voice",), 2),
        **dict.fromkeys(("vibe:target", "logic:target"), 3),
        **dict.fromkeys(("vibe:comparison", "logic:comparison", "continuity", "guess", "attention"), 1),
    }
    assert len(found.raters) == 2 * len(packet.pages)
    row = found.raters.row(0, named=True)
    assert (row["rater"], row["complete"], row["quiz"], row["minutes"]) == ("ada0", 1.0, 1.0, None)
    assert row["comments"] == "Fine, thanks"
    assert found.ratings.frame["position"].unique().sort().to_list() == list(range(1, 8))


def test_the_form_tells_no_condition_and_every_column_has_its_own_name(forms):
    packet, folder = forms
    text = (folder / "form-1.csv").read_text() + (folder / "form-1.yaml").read_text()
    assert "target" not in text.casefold()
    assert "comparison" not in text.casefold()
    assert (folder / "key.json").stat().st_mode & 0o777 == 0o600
    frame = pl.read_csv(folder / "form-1.csv")
    assert frame.columns == ["section", "kind", "text", "options", "required"]
    asked = frame.filter(pl.col("kind") != "read")["text"]
    assert asked.n_unique() == len(asked)
    assert packet.key.commitment in frame["text"][0]


def test_gaps_lower_completeness_and_leave_no_row(forms, tmp_path):
    packet, folder = forms
    voice = form_frame(packet.pages[0]).filter(name="voice")["text"][0]
    path = export(packet, 0, tmp_path / "e.csv", ["ada"], change=lambda row: row | {voice: " "})
    found = collect_forms([path], [read_mapping(folder / "form-1.yaml")], key=packet.key)
    assert len(found.ratings.frame.filter(dimension="voice")) == 5
    assert found.raters["complete"][0] == pytest.approx(41 / 42)


def test_who_answers_twice_and_who_has_no_name_is_refused(forms, tmp_path):
    packet, folder = forms
    path = export(packet, 0, tmp_path / "e.csv", ["ada", "ben", "ada", ""])
    found = collect_forms([path], [read_mapping(folder / "form-1.yaml")], key=packet.key)
    assert found.raters["rater"].to_list() == ["ben"]
    assert sorted(map(str, found.refused)) == [
        f"{path} line 2: 'ada' answered 2 times; keep one line and remove the others.",
        f"{path} line 4: 'ada' answered 2 times; keep one line and remove the others.",
        f"{path} line 5: it does not say who answered.",
    ]


def test_one_bad_line_or_file_does_not_stop_the_others(forms, tmp_path):
    packet, folder = forms
    voice = form_frame(packet.pages[0]).filter(name="voice")["text"][0]
    good = export(packet, 0, tmp_path / "good.csv", ["ada "])
    bad = export(packet, 0, tmp_path / "bad.csv", ["ben"], change=lambda row: row | {voice: "Maybe"})
    (tmp_path / "empty.csv").write_bytes(b"")
    files, mapping = [tmp_path / "empty.csv", bad, good], [read_mapping(folder / "form-1.yaml")]
    found = collect_forms(files, mapping, key=packet.key)
    assert found.raters["rater"].to_list() == ["ada"]
    assert [one.source.removeprefix(f"{tmp_path}/") for one in found.refused] == ["empty.csv", "bad.csv line 2"]
    with pytest.raises(InputError, match=r"empty.csv: is empty.* 1 more are refused"):
        collect_forms(files, mapping, key=packet.key, strict=True)


def test_an_answer_that_is_none_is_named_with_line_and_column(forms, tmp_path):
    packet, folder = forms
    voice = form_frame(packet.pages[0]).filter(name="voice")["text"][0]
    path = export(packet, 0, tmp_path / "e.csv", ["ada"], change=lambda row: row | {voice: "Maybe"})
    mapping = read_mapping(folder / "form-1.yaml")
    with pytest.raises(InputError, match=r"e.csv line 2: column '1.03 Which .*': 'Maybe' is no answer to 'voice'"):
        collect_forms([path], [mapping], key=packet.key)
    kind = mapping.model_copy(update={"answers": {"Maybe": "Hard to tell, or both"}})
    assert 0 in collect_forms([path], [kind], key=packet.key).ratings.frame.filter(dimension="voice")["value"].to_list()


FOREIGN = {
    "rater": "ResponseId",
    "seconds": "Duration (in seconds)",
    "skip_rows": 2,
    "columns": {
        "Q1": {"item": "p1", "question": "voice", "target": 1},
        "Q2": {"item": "p1", "question": "vibe_1", "target": 1},
        "Q3": {"item": "p1", "question": "vibe_2", "target": 1},
        "Q4": {"item": "p1", "question": "continuity", "target": 1},
        "Q5": {"item": "p2/again", "question": "voice", "target": 2},
    },
}
QUALTRICS = """\
ResponseId,Duration (in seconds),Q1,Q2,Q3,Q4,Q5
Response ID,Duration (in seconds),"Which, of these
two?",Warm?,Warm?,Same?,Which?
"{""ImportId"":""_recordId""}","{""ImportId"":""duration""}",x,x,x,x,x
R_1,600,-2,3,1,0.5,2
R_2,300,Definitely Response 2,1,A little,"Yes, the same one",
"""


def test_a_foreign_survey_is_read_by_a_mapping_written_by_hand(command, tmp_path):
    (tmp_path / "export.csv").write_text(QUALTRICS, encoding="utf-8-sig")
    (tmp_path / "mapping.yaml").write_text(yaml.safe_dump(FOREIGN))
    (tmp_path / "study.json").write_text(small_study(2, repeats=1).model_dump_json())
    told = command(
        *(
            "study",
            "collect",
            "export.csv",
            "--mapping",
            "mapping.yaml",
            "--study",
            "study.json",
            "-o",
            "out",
            "--json",
        ),
        cwd=tmp_path,
    )
    assert told.returncode == 0, told.stderr
    rows = pl.read_csv(tmp_path / "out/ratings.csv").select("rater", "item", "dimension", "value").rows()
    assert rows == [
        ("R_1", "p1", "voice", 2.0),
        ("R_1", "p1", "vibe:target", 3.0),
        ("R_1", "p1", "vibe:comparison", 1.0),
        ("R_1", "p1", "continuity", 0.5),
        ("R_1", "p2/again", "voice", 2.0),
        ("R_2", "p1", "voice", -2.0),
        ("R_2", "p1", "vibe:target", 1.0),
        ("R_2", "p1", "vibe:comparison", 2.0),
        ("R_2", "p1", "continuity", 1.0),
    ]
    assert [row["minutes"] for row in json.loads(told.stdout)["raters"]] == [10.0, 5.0]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"columns": {"Q1": {"item": "p1", "question": "voice"}}}, "names pair 'p1' without its target"),
        ({"columns": {"Q1": {"item": "p9", "question": "voice"}}}, "names item 'p9', which is neither in the key"),
        ({"columns": {"Q1": {"item": "p1", "question": "mood", "target": 1}}}, "names question 'mood'"),
        (
            {"columns": {"Q7": {"item": "p1", "question": "voice", "target": 1}}},
            "column 'Q7' of the mapping is not there",
        ),
        ({"seconds": "Q4"}, "line 6: column 'Q4': 'Yes, the same one' is not a number"),
    ],
)
def test_a_mapping_that_does_not_fit_is_told(change, told, tmp_path):
    path = tmp_path / "export.csv"
    path.write_text(QUALTRICS)
    with pytest.raises(InputError, match=told):
        collect_forms([path], [FormMapping.model_validate(FOREIGN | change)], study=small_study(2), strict=True)


def test_files_that_are_no_export_are_told(tmp_path):
    path, mapping = tmp_path / "export.csv", FormMapping.model_validate(FOREIGN)
    for data, told in ((b"", "is empty"), (b"\xff\xfe\x00", "UTF-8"), (b"a,b\n1,2\n", "is not there")):
        path.write_bytes(data)
        with pytest.raises(InputError, match=told):
            collect_forms([path], [mapping], study=small_study(2))
    path.write_text("Q1,Q1\n1,2\n")
    twice = FormMapping.model_validate({"columns": {"Q1": {"item": "p1", "question": "voice", "target": 1}}})
    with pytest.raises(InputError, match="more than once"):
        collect_forms([path], [twice], study=small_study(2))
    with pytest.raises(InputError, match="Pass key or study"):
        collect_forms([path], [twice])
    (tmp_path / "m.yaml").write_text("columns: {Q1: {item: a}}")
    with pytest.raises(InputError, match=r"m.yaml line 1: columns.Q1.question: Field required"):
        read_mapping(tmp_path / "m.yaml")


def test_the_command_writes_a_form(command, tmp_path):
    told = command("study", "build", EXAMPLE, "--format", "csv", "-o", tmp_path / "form")
    assert told.returncode == 0, told.stderr
    assert {path.name for path in (tmp_path / "form").iterdir()} == {"form-1.csv", "form-1.yaml", "key.json"}


# scripts and files that build a form

RECORDER = """
const made = [];
const item = (kind) => new Proxy({}, { get: (_, name) => (...given) => { made.at(-1).push([name, ...given]); return item(kind); } });
const form = new Proxy({}, { get: (_, name) => (...given) => { if (name.startsWith("add")) { made.push([name]); return item(name); } made.push([name, ...given]); return "link"; } });
const FormApp = { create: (title) => { made.push(["create", title]); return form; }, createTextValidation: () => ({ requireNumberBetween: (a, b) => ({ build: () => [a, b] }) }) };
const Logger = { log() {} };
"""


def test_the_apps_script_runs_and_adds_every_block_in_order(tmp_path, chromium):
    """In a real JavaScript engine, with a recorder in the place of Google's service."""
    study = read_study(init(tmp_path / "study", "likert")[0])
    hostile = study.model_copy(update={"title": HOSTILE, "thanks": "`${1}` </script> \u2028"})
    packet = build(hostile, one_page=True)
    paths = save_forms(packet, tmp_path / "form", "google")
    assert [path.name for path in paths] == ["form-1.gs", "form-1.yaml", "key.json"]
    page = chromium.new_page()
    made = page.evaluate(f"() => {{ {RECORDER} {paths[0].read_text()}; createForm(); return made; }}")
    page.close()
    frame = form_frame(packet.pages[0])
    assert made[0] == ["create", HOSTILE]
    added = [entry for entry in made if entry[0].startswith("add") and entry[0] != "addPageBreakItem"]
    assert len(added) == len(frame)
    kinds = {"read": "addSectionHeaderItem", "choice": "addMultipleChoiceItem", "number": "addTextItem"}
    for entry, row in zip(added, frame.iter_rows(named=True), strict=True):
        assert entry[0] == kinds.get(row["kind"], entry[0])
        calls = {call[0]: call[1] for call in entry[1:]}
        assert row["text"] in calls.values()
        if row["kind"] == "choice":
            assert calls["setChoiceValues"] == row["options"].split("\n")
            assert calls["setRequired"] == row["required"]
    sections = list(dict.fromkeys(frame["section"]))
    assert sum(entry[0] == "addPageBreakItem" for entry in made) == len(sections) - 1


def test_the_qualtrics_file_has_every_question_once_and_no_text_opens_a_command(tmp_path):
    study = read_study(init(tmp_path / "study", "likert")[0])
    study = study.model_copy(update={"instructions": "[[Question:DB]] <b>x</b>\n[[Choices]]"})
    packet = build(study, one_page=True)
    (path, mapping, _) = save_forms(packet, tmp_path / "form", "qualtrics")
    lines = path.read_text().splitlines()
    frame = form_frame(packet.pages[0])
    assert lines[0] == "[[AdvancedFormat]]"
    assert sum(line.startswith("[[Question:") for line in lines) == len(frame)
    commands = [line for line in lines if "[[" in line]
    assert all(
        re.fullmatch(r"\[\[(AdvancedFormat|Block:Study|PageBreak|Choices|ID:Q\d_\d+|Question:[A-Za-z:]+)\]\]", line)
        for line in commands
    )
    ids = re.findall(r"\[\[ID:(\S+)\]\]", path.read_text())
    assert len(set(ids)) == len(ids)
    assert set(read_mapping(mapping).columns) <= set(ids)


def test_answers_of_a_form_come_back_for_any_study_that_forms_can_ask(tmp_path):
    study = read_study(init(tmp_path / "study", "likert")[0])
    packet = build(study, one_page=True)
    paths = save_forms(packet, tmp_path / "form", "qualtrics")
    mapping = read_mapping(paths[1])
    rights = {
        "faithful": "Yes, entirely",
        "complete": "4",
        "overall": "70",
        "invented": "No",
        "why": "a note",
        "answer": "a bridge",
    }
    header = [mapping.rater, mapping.seconds, mapping.comments, *mapping.columns]
    rows = [["ann", "600", "fine", *(rights[one.question] for one in mapping.columns.values())]]
    export = tmp_path / "export.csv"
    with export.open("w", newline="") as file:
        csv.writer(file).writerows([header, ["text"] * len(header), ["{}"] * len(header), *rows])
    found = collect_forms([export], [mapping], key=packet.key)
    assert found.refused == ()
    values = dict(found.ratings.frame.group_by("dimension").agg(pl.col("value").first()).iter_rows())
    assert values == {"faithful": 5.0, "complete": 4.0, "overall": 70.0, "invented": 0.0}
    assert found.raters["attention"].to_list() == [1.0]
    with pytest.raises(OptionError, match="cannot ask ranking"):
        save_forms(build(read_study(init(tmp_path / "r", "ranking")[0]), one_page=True), tmp_path / "no", "google")
