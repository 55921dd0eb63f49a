"""Names that may be the same: proposed with reasons, merged only by a file."""

import polars as pl
import pytest

import howsure
from howsure.errors import InputError
from howsure.tables import Attempts, Ratings, Scores
from howsure.tables.spellings import NameFile, load_names, near_names, propose, rename_all


def proposals(*names, kind="models"):
    return {(m.name, m.into, m.reason) for m in propose({kind: {name: 9 - i for i, name in enumerate(names)}})}


def test_case_provider_date_and_punctuation_are_reasons():
    assert proposals("gpt-4o", "GPT-4o", "openai/gpt-4o-2024-11-20", "claude-3") == {
        ("GPT-4o", "gpt-4o", "case"),
        ("openai/gpt-4o-2024-11-20", "gpt-4o", "provider before the slash, date at the end"),
    }
    assert proposals("GPQA Diamond", "GPQA diamond", "gpqa_diamond", kind="benchmarks") == {
        ("GPQA diamond", "GPQA Diamond", "case"),
        ("gpqa_diamond", "GPQA Diamond", "case, spaces or punctuation"),
    }


def test_two_dated_versions_are_two_models():
    assert proposals("gpt-4o", "gpt-4o-2024-05-13", "gpt-4o-2024-11-20") == set()
    assert proposals("gpt-4o", "gpt-4o-2024-05-13", "openai/gpt-4o-20240513", "gpt-4o-2024-11-20") == {
        ("openai/gpt-4o-20240513", "gpt-4o-2024-05-13", "provider before the slash")
    }
    assert proposals("gpt-4o", "gpt-4o-mini", "gpt-4", "GSM8K") == set()


def test_near_names_come_with_the_nearest_first():
    assert near_names("GPQA-diamnd", ["GPQA diamond", "GSM8K", "GPQA main"])[0] == "GPQA diamond"
    assert near_names("something", ["GSM8K"]) == []


def test_a_file_merges_and_says_so(tmp_path):
    rows = {"subject": ["GPT-4o", "gpt-4o", "b"], "task": ["t", "t", "t"], "score": [1.0, 0.0, 1.0]}
    table = Attempts(pl.DataFrame(rows))
    path = NameFile.of(howsure.names(table)).save(tmp_path / "names.yaml")
    assert load_names(path) == NameFile({"gpt-4o": ["GPT-4o"]}, {}) or load_names(path).models == {"GPT-4o": ["gpt-4o"]}
    merged = rename_all(table, NameFile({"gpt-4o": ["GPT-4o"]}))
    assert merged.frame.filter(subject="gpt-4o")["attempt"].to_list() == [1, 2]
    assert merged.notes == ("1 name merged as the file of names says: GPT-4o → gpt-4o.",)
    assert rename_all(merged, NameFile({"gpt-4o": ["GPT-4o"]})) is merged
    scores = Scores(pl.DataFrame({"model": ["a"], "benchmark": ["GPQA diamond"], "score": [0.5]}))
    named = rename_all(scores, NameFile({}, {"GPQA Diamond": ["GPQA diamond"]}))
    assert named.frame["benchmark"].to_list() == ["GPQA Diamond"]
    ratings = Ratings(pl.DataFrame({"rater": ["r"], "item": ["i"], "dimension": ["d"], "value": [1]}))
    assert rename_all(ratings, NameFile({"a": ["b"]})) is ratings


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model: {}", "a file of names has models: and benchmarks:"),
        ("models: [a]", "write lines such as"),
        ("models: {a: b}", "give a list of texts"),
        ("models: {a: [x], b: [x]}", "'x' is a spelling of 'a' and of 'b'"),
    ],
)
def test_a_wrong_file_of_names_is_explained(tmp_path, text, message):
    (tmp_path / "names.yaml").write_text(text)
    with pytest.raises(InputError, match=message):
        load_names(tmp_path / "names.yaml")


def test_the_verb_proposes_saves_and_is_used(tmp_path, command):
    (tmp_path / "x.csv").write_text("model,item,correct\nGPT-4o,1,yes\ngpt-4o,2,no\nopenai/gpt-4o,3,yes\nb,1,no\n")
    told = command("names", tmp_path / "x.csv", "--save", tmp_path / "names.yaml")
    assert told.returncode == 0, told.stderr
    assert "nothing was merged" in told.stdout
    used = command("summary", tmp_path / "x.csv", "--names", tmp_path / "names.yaml", "--json")
    assert used.returncode == 0, used.stderr
    assert "2 names merged as the file of names says" in used.stderr


def test_names_that_may_be_one_are_told_until_a_file_merges_them(tmp_path, command):
    rows = "".join(f"{name},q{i},{i % 2}\n" for name in ("GPT-4o", "gpt-4o", "claude") for i in range(4))
    (tmp_path / "x.csv").write_text("model,item,score\n" + rows)
    (note,) = [note for note in howsure.read(tmp_path / "x.csv").notes if "may be the same" in note]
    assert note.startswith("Counted apart, but may be the same: GPT-4o and gpt-4o (case).")
    assert "`howsure names` lists them" in command("compare", tmp_path / "x.csv").stderr
    NameFile({"gpt-4o": ["GPT-4o"]}).save(tmp_path / "names.yaml")
    told = command("summary", tmp_path / "x.csv", "--names", tmp_path / "names.yaml")
    assert "1 name merged" in told.stderr
    assert "may be the same" not in told.stderr
