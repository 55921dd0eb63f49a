"""Choosing pairs: the dry-run rows of real scores, copies, ties, balance, and a file to fill in."""

import json
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
import yaml

from howsure.errors import InputError, OptionError
from howsure.study.packet.selection import LEVELS, select
from howsure.study.protocol import Study
from howsure.study.scoring.fidelity import ModelScores

PERSONA = Path(__file__).parents[2] / "../shared/data/ratings/persona_model_scores.csv"


@pytest.fixture
def persona():
    if not PERSONA.exists():
        pytest.skip("no ../shared/data/ratings: real model scores are not on this machine")
    return PERSONA


def table(path, rows, header="item,domain,score"):
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def fine(n, domains=("A", "B", "C")):
    """Rows with scores to many digits, spread over domains."""
    return [f"i{k},{domains[k % len(domains)]},{0.3 + 0.6 * (k * 0.61803398875 % 1):.9f}" for k in range(n)]


def test_the_dry_run_in_real_scores_is_found(persona):
    chosen = select(persona, n_pairs=15, seed=1)
    lines = chosen.refused["line"].to_list()
    # 15 rows of each of three personas and 7 of a fourth carry one persona's constants
    assert lines == list(range(3, 55))
    assert (chosen.n_rows, len(chosen.refused)) == (113, 52)
    (said,) = chosen.findings
    assert "52 of 113 rows" in said
    assert "embedding_cosine_similarity, claude_score, gpt4_score, gemini_score, pfi and semantic_drift" in said
    assert "though they differ in domain and run_index" in said
    assert "15 from line 3 (pfi 0.861667)" in said
    assert "7 from line 48 (pfi 0.951667)" in said
    assert not set(chosen.pairs["line"]) & set(lines)


def test_every_domain_and_level_takes_part(persona):
    pairs = select(persona, n_pairs=15, seed=2).pairs
    assert set(Counter(pairs["domain"]).values()) == {3}
    assert Counter(pairs["score_level"]) == dict.fromkeys(LEVELS, 5)
    assert pairs["line"].n_unique() == 15
    five = select(persona, n_pairs=5, seed=2).pairs
    assert five["domain"].n_unique() == 5
    assert sorted(Counter(five["score_level"]).values()) == [1, 2, 2]


def test_levels_are_thirds_of_the_usable_scores(tmp_path):
    pairs = select(table(tmp_path / "s.csv", fine(60)), n_pairs=60).pairs
    by_level = {level: pairs.filter(pairs["score_level"] == level)["score"] for level in LEVELS}
    assert {level: len(scores) for level, scores in by_level.items()} == dict.fromkeys(LEVELS, 20)
    assert by_level["low"].max() < by_level["mid"].min()
    assert by_level["mid"].max() < by_level["high"].min()


def test_seed_decides_and_nothing_is_chosen_twice(tmp_path):
    path = table(tmp_path / "s.csv", fine(40))
    assert select(path, n_pairs=9, seed=4).pairs.equals(select(path, n_pairs=9, seed=4).pairs)
    assert not select(path, n_pairs=9, seed=5).pairs.equals(select(path, n_pairs=9, seed=4).pairs)
    everything = select(path, n_pairs=40).pairs
    assert sorted(everything["line"]) == list(range(2, 42))


def test_copies_and_blanks_are_refused_with_their_lines(tmp_path):
    rows = fine(12)
    path = table(tmp_path / "s.csv", [*rows, rows[3], "late,A,"])
    chosen = select(path, n_pairs=3)
    assert chosen.refused["line"].to_list() == [14, 15]
    assert chosen.refused["reason"].to_list() == ["a copy of line 5", "no score"]
    assert chosen.findings == (
        "1 of 14 rows have no score.",
        "1 of 14 rows are copies of earlier ones in every column.",
    )


def test_ties_of_a_coarse_scale_are_no_suspects(tmp_path):
    marks = (7, 8, 8, 9, 26 / 3, 26 / 3, 25 / 3, 9)  # means of three whole marks
    path = table(tmp_path / "s.csv", [f"i{k},A,{mark}" for k, mark in enumerate(marks)])
    chosen = select(path, n_pairs=4, divide_by=10)
    assert chosen.refused.is_empty()
    assert "so they stay" in chosen.findings[0]


def test_lines_are_the_files_own_where_texts_break_over_them(tmp_path):
    rows = [f'i{k},"two\nlines",{0.3 + 0.6 * (k * 0.61803398875 % 1):.9f}' for k in range(6)]
    chosen = select(table(tmp_path / "s.csv", rows, "item,note,score"), n_pairs=6)
    assert chosen.pairs["line"].to_list() == [2, 4, 6, 8, 10, 12]
    assert chosen.pairs["domain"].null_count() == 6


def test_pairs_yaml_is_a_studys_once_it_is_filled_in(tmp_path):
    path = table(tmp_path / "s.csv", fine(30))
    written = select(path, n_pairs=5, seed=1).save(tmp_path / "out")
    assert [one.name for one in written] == [
        "pairs.yaml",
        "model_scores.csv",
        "refused.csv",
        "selection.json",
        "selection.result.zip",
    ]
    text = written[0].read_text()
    study = {"title": "T", "consent": "C", "gold": "G", "pairs": "pairs.yaml"}
    (tmp_path / "out/study.yaml").write_text(yaml.safe_dump(study))
    with pytest.raises(InputError, match=r"pairs.yaml line \d+: .*prompt"):
        Study.read(tmp_path / "out/study.yaml")
    filled = text
    for name in ("prompt", "target", "comparison"):
        filled = filled.replace(f"{name}: ''", f"{name}: a {name}")
    written[0].write_text(filled)
    pairs = Study.read(tmp_path / "out/study.yaml").pairs
    scores = ModelScores(written[1]).frame
    assert [(p.id, p.model_score, p.domain) for p in pairs] == scores.select("item", "score", "domain").rows()
    assert json.loads(written[3].read_text())["n_rows"] == 30


def test_texts_that_the_file_holds_are_carried_over(tmp_path):
    rows = [f"i{k},{0.31 + k * 0.1234567:.7f},Why {k}?,T: #{k},C {k}" for k in range(4)]
    chosen = select(table(tmp_path / "s.csv", rows, "item,score,prompt,target,comparison"), n_pairs=4)
    entries = yaml.safe_load(chosen.to_yaml())
    assert [entry["target"] for entry in entries] == [f"T: #{k}" for k in range(4)]


@pytest.mark.parametrize(
    ("rows", "options", "says"),
    [
        (["a,A,0.5", "b,A,high"], {}, "line 3: score 'high' is not a number"),
        (["a,A,0.5", "b,A,7.5"], {}, "line 3: score 7.5 is not between 0 and 1.*divide_by"),
        (["a,A,0.5", "b,A,0.6"], {"n_pairs": 3}, "2 of 2 rows are usable, and 3 pairs"),
        (["a,A,0.5", "b,B,0.5"], {"n_pairs": 2}, "score is 0.5 in every usable row"),
        (["a,A,0.5"], {"score": "pfi"}, "No column in .* called 'pfi'"),
        (["a,A,0.5"], {"domain": "field"}, "called 'field'"),
        (["a,A,0.5"], {"divide_by": 0}, "divide_by=0"),
    ],
)
def test_what_is_wrong_is_told(tmp_path, rows, options, says):
    with pytest.raises((InputError, OptionError), match=says):
        select(table(tmp_path / "s.csv", rows), **({"n_pairs": 1} | options))


def test_without_a_score_column_the_candidates_are_named(tmp_path):
    path = table(tmp_path / "s.csv", ["a,0.51,3", "b,0.62,4"], "item,cosine,run")
    with pytest.raises(OptionError, match="score: cosine"):
        select(path, n_pairs=1)


def test_the_command_says_how_it_found_them(persona, command, tmp_path):
    told = command("study", "select", persona, "--pairs", 5, "-o", tmp_path)
    assert told.returncode == 0, told.stderr
    assert "52 of 113 rows agree with others to the last digit" in told.stderr
    assert "Chosen from 61 usable rows of 113" in told.stdout
    assert len(yaml.safe_load((tmp_path / "pairs.yaml").read_text())) == 5


def test_a_level_per_domain_and_critical_cases():
    candidates = Path(__file__).parents[2] / "examples/study/candidates.csv"
    wanted = {"TECH": "high", "ANAL": "high", "PHIL": "mid", "SELF": "mid", "NARR": "low"}
    chosen = select(candidates, score_levels=wanted, seed=2)
    assert dict(chosen.pairs.select("domain", "score_level").iter_rows()) == wanted
    with pytest.raises(OptionError, match="No level called 'top'"):
        select(candidates, score_levels={"TECH": "top"})
    critical = select(candidates, n_pairs=3, is_critical=True)
    scores = pl.read_csv(candidates)["score"]
    assert critical.pairs["score"].to_list()[0] == scores.min()
    assert critical.pairs["score"].to_list()[-1] == scores.max()
    assert critical.pairs["score_level"].to_list() == ["low", "mid", "high"]


def test_one_persona_of_the_real_file(persona):
    chosen = select(persona, n_pairs=3, score="pfi", where={"persona": "ziggy"})
    assert pl.read_csv(persona)["persona"].n_unique() > 1
    assert all("persona Ziggy" in about for about in chosen.pairs["about"])
    with pytest.raises(OptionError, match="No value of persona"):
        select(persona, n_pairs=3, score="pfi", where={"persona": "nobody"})
