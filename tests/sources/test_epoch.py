"""Epoch's layouts, the paper's 1,324 rows, and what is told about rows that are excluded."""

from __future__ import annotations

import csv
import gzip
import zipfile
from collections.abc import Mapping
from datetime import date
from pathlib import Path

import polars as pl
import pytest

from howsure import sources
from howsure.errors import InputError, OptionError
from howsure.sources import epoch
from howsure.tables import Scores

SHARED = Path(__file__).parents[2] / "../shared"
FOLDER = SHARED / "data/epoch-2025-11"
HUB = SHARED / "data/trials/epoch_hub_2026_04/benchmark_data.zip"
PAPER = SHARED / "reference/stitch_paper/scores_in.csv"
KEY = ["model", "benchmark"]


@pytest.fixture(scope="module")
def real() -> Scores:
    if not FOLDER.is_dir():
        pytest.skip(f"{FOLDER} is not there")
    return epoch.read([FOLDER])


@pytest.fixture(scope="module")
def paper() -> pl.DataFrame:
    if not PAPER.is_file():
        pytest.skip(f"{PAPER} is not there")
    return pl.read_csv(PAPER, try_parse_dates=True)


# a small zip with the names and columns of the published one

HEADER = "benchmark,in_eci,source_file,score_column,scale,random_baseline,score_ceiling,release_date,superseded_by\n"
METADATA = f"""{HEADER}GPQA diamond,True,gpqa_diamond.csv,Best score (across scorers),1.0,0.25,1.0,2023-11-20,
Aider polyglot,True,aider_polyglot_external.csv,Percent correct,0.01,0.0,1.0,2024-12-21,
Lech Mazur Writing,True,lech_external.csv,Mean score,0.1,0.0,1.0,2025-01-31,
APEX-Agents,True,apex_agents_external.csv,Pass@1 score,1.0,0.0,1.0,2026-01-01,
FrontierMath-Old,True,frontiermath.csv,Best score (across scorers),1.0,0.0,0.94,2025-02-28,FrontierMath-New
FrontierMath-New,True,unpublished.csv,Best score (across scorers),1.0,0.0,1.0,2026-02-28,
Renamed,True,renamed_external.csv,Old name,1.0,0.0,1.0,2026-01-01,
Shown only,False,gpqa_diamond.csv,Best score (across scorers),1.0,0.5,1.0,2023-11-20,
Vending-Bench 2,False,,,,,,,
"""
MODELS = """model_version,model_group,date,display_name,organization,country,accessibility,training_compute_flop
,,,,,,,
opus_max,Opus,2026-09-22,Opus (max),Anthropic,United States of America,API access,
opus_low,Opus,2026-09-22,,Anthropic,United States of America,API access,
twin,Twin,2025-05-28,,DeepSeek,China,Open weights,
twin,Twin,2025-05-29,,DeepSeek,China,Open weights,
"llama ",Llama,2023-07-18,,Meta AI,United States of America,Open weights,8.1e+23
"""
TABLES = {
    "benchmark_metadata.csv": METADATA,
    "model_metadata.csv": MODELS,
    "gpqa_diamond.csv": "Model version,mean_score,Best score (across scorers),Release date,stderr,id\n"
    "opus_max,0.94,0.95,2026-09-22,0.014,a\nopus_max,0.91,0.93,2026-09-22,0.0,b\nopus_low,0.8,0.8,,0.02,c\n",
    "aider_polyglot_external.csv": "Model version,Percent correct,Source\ntwin,50,Board\nllama ,62.5,\n,77,Board\nstranger,12%,Board\n",
    "lech_external.csv": "Model version,Mean score,Source\ntwin,8.39,Repo\ntwin,n/a,Repo\ntwin,,Repo\n",
    "apex_agents_external.csv": "Model version,Pass@1 score,Pass@1 Standard Error\nopus_max,0.735,4.9\nopus_low,0.525,90\ntwin,1.2,4\n",
    "frontiermath.csv": "Model version,mean_score,Best score (across scorers),stderr\nopus_low,0.3,0.3,0.03\n",
    "renamed_external.csv": "Model version,New name\ntwin,0.4\n",
    "vending_bench_2_external.csv": "Model version,Score\ntwin,-31.18\n",
}


def zip_of(path: Path, tables: Mapping[str, str], prefix: str = "") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in tables.items():
            archive.writestr(prefix + name, text)
        archive.writestr(prefix + "README.md", "## Licensing")
        archive.writestr(prefix + "epoch_capabilities_index/eci_scores.csv", "Model,eci\nOpus,167\n")
        archive.writestr("__MACOSX/._benchmark_metadata.csv", "\x00")
    return path


def folder_of(path: Path, tables: Mapping[str, str]) -> Path:
    path.mkdir()
    for name, text in tables.items():
        (path / name).write_text(text, "utf-8")
    return path


def one(scores: Scores, model: str, benchmark: str) -> dict[str, object]:
    return scores.frame.filter(model=model, benchmark=benchmark).row(0, named=True)


# the paper


def cleaned(scores: pl.DataFrame) -> pl.DataFrame:
    """The paper's cleaning: models on more than 3 benchmarks, released since November 2022, the best score of each."""
    counts = pl.col("benchmark").n_unique().over("model")
    kept = scores.filter(counts > 3).filter(pl.col("date") >= date(2022, 11, 1))
    return kept.group_by(KEY).agg(pl.col("score").max(), pl.col("date", "benchmark_date").first())


def test_gives_the_papers_rows(real: Scores, paper: pl.DataFrame) -> None:
    ours = cleaned(real.frame.filter(~pl.col("benchmark").is_in(list(epoch.paper_leaves_out()))))
    theirs = paper.with_columns(pl.col("model").str.strip_chars())  # one name ends in a space
    both = ours.join(theirs, on=KEY, how="full", suffix="_paper")
    assert len(ours) == len(theirs) == len(both) == 1324
    assert (both["score"] - both["performance"]).abs().max() < 1e-12
    assert both["date"].equals(both["date_paper"])
    assert both["benchmark_date"].eq_missing(both["benchmark_release_date"]).all()


@pytest.mark.parametrize("benchmark", list(epoch.paper_leaves_out()))
def test_each_benchmark_that_the_paper_leaves_out_would_change_its_rows(real: Scores, benchmark: str) -> None:
    without = set(epoch.paper_leaves_out()) - {benchmark}
    assert len(cleaned(real.frame.filter(~pl.col("benchmark").is_in(list(without))))) > 1324


# the folder of 2025


def test_the_folder_is_read_whole(real: Scores) -> None:
    assert sources.recognise(FOLDER).source == "epoch"
    assert "external_benchmark_" in sources.recognise(FOLDER).reason
    assert real.frame["benchmark"].n_unique() == 43
    assert len(real) == 2628
    told = " ".join(real.notes)
    assert "404 of 3,035 rows excluded: no model version" in told
    assert "3 of 3,035 rows excluded: no source" in told
    assert "external_benchmark_metr.csv is excluded: time horizons" in told
    assert "external_benchmark_mcbench.csv is excluded: Elo" in told
    assert "Llama-2-70b-hf" in told
    assert "outside 0 to 1" not in told


def test_no_row_is_lost_beside_those_that_are_counted(real: Scores) -> None:
    """Counted in another way: file by file with the standard library's reader."""
    read = {"benchmarks_runs.csv", *(path.name for path in FOLDER.glob("external_benchmark_*.csv"))}
    read -= {"external_benchmark_mcbench.csv", "external_benchmark_metr.csv"}
    complete = 0
    for name in read:
        with (FOLDER / name).open(encoding="utf-8-sig", newline="") as stream:
            for row in csv.DictReader(stream):
                complete += bool(row.get("Model version", row.get("model"))) and row.get("Source") != ""
    assert len(real) == complete  # no row with a model and a source lacks a score


def test_what_the_folder_knows_of_models_and_benchmarks(real: Scores) -> None:
    row = one(real, "gpt-4-0613", "GPQA diamond")
    assert row["date"] == date(2023, 6, 13)
    assert row["benchmark_date"] == date(2023, 11, 20)
    assert row["organisation"] == "OpenAI"
    assert row["compute"] == pytest.approx(2.1e25)
    assert row["source"] == "Epoch evaluations"
    families = real.frame.filter(pl.col("model").str.starts_with("o3-2025-04-16"))["family"]
    assert families.unique().to_list() == ["o3"]


@pytest.mark.parametrize(
    ("model", "benchmark", "score", "se"),
    [
        ("grok-4-0709", "Balrog", 0.436, 0.022),
        ("gpt-5.1_medium", "GPQA diamond", 0.85, 0.02),
        ("gemini-2.5-pro", "OTIS Mock AIME 2024-2025", 0.847, 0.05),
        ("gpt-5-2025-08-07_high", "MATH level 5", 0.981, None),  # ±0: rounded away
        ("o4-mini-2025-04-16_medium", "ARC-AGI", 0.42, None),
        ("o3-2025-04-16_medium", "Lech Mazur Writing", 0.839, None),
    ],
)
def test_scores_and_standard_errors(real: Scores, model: str, benchmark: str, score: float, se: float | None) -> None:
    row = one(real, model, benchmark)
    assert row["score"] == pytest.approx(score, abs=1e-12)
    assert row["se"] == (se if se is None else pytest.approx(se, abs=1e-12))


def test_of_several_scorers_the_best_ones_standard_error_counts(tmp_path: Path) -> None:
    runs = 'task,model,Best score (across scorers),Scores\nMATH,m,0.98,"match:0.9±0.03,graded:0.98±0.01"\n'
    row = one(epoch.read([folder_of(tmp_path / "f", {"benchmarks_runs.csv": runs})]), "m", "MATH")
    assert row["se"] == 0.01


def test_a_folder_may_hold_less_and_more(tmp_path: Path) -> None:
    tables = {
        "external_benchmark_anli.csv": "Model version,SCORE ,Source\na,50.0%,Paper\nb,101%,Paper\n",
        "external_benchmark_newcomer.csv": "Model version,Score\na,1\n",
        "external_benchmark_bbh.csv": "Model version,Average\na,40\n",
    }
    scores = epoch.read([folder_of(tmp_path / "f", tables)])
    assert scores.frame.rows() == [("a", "ANLI", 0.5, None, "Paper"), ("a", "BBH", 0.4, None, None)]
    told = " ".join(scores.notes)
    assert "nothing is known about them: external_benchmark_newcomer.csv" in told
    assert (
        "1 of 3 rows excluded: the score is outside 0 to 1; the first is in external_benchmark_anli.csv: 101% (b on ANLI)"
        in told
    )


# the published zip


@pytest.mark.parametrize("layout", ["zip", "nested zip", "folder"])
def test_the_published_layout(tmp_path: Path, layout: str) -> None:
    if layout == "folder":
        path = folder_of(tmp_path / "benchmark_data", TABLES)
    else:
        path = zip_of(tmp_path / "benchmark_data.zip", TABLES, "benchmark_data/" if layout == "nested zip" else "")
    assert sources.recognise(path).source == "epoch"
    assert "benchmark_metadata.csv" in sources.recognise(path).reason
    scores = epoch.read([path])
    found = {(row["model"], row["benchmark"]): row["score"] for row in scores.frame.sort("score").iter_rows(named=True)}
    assert found == {
        ("opus_max", "GPQA diamond"): 0.95,
        ("opus_low", "GPQA diamond"): 0.8,
        ("twin", "Aider polyglot"): 0.5,
        ("llama", "Aider polyglot"): 0.625,
        ("stranger", "Aider polyglot"): 0.12,
        ("twin", "Lech Mazur Writing"): pytest.approx(0.839, abs=1e-12),
        ("opus_max", "APEX-Agents"): 0.735,
        ("opus_low", "APEX-Agents"): 0.525,
        ("opus_low", "FrontierMath-Old"): 0.3,
    }
    assert len(scores) == 10  # one model has two scores on one benchmark


def test_what_the_zip_knows(tmp_path: Path) -> None:
    scores = epoch.read([zip_of(tmp_path / "benchmark_data.zip", TABLES)])
    row = one(scores, "opus_max", "GPQA diamond")
    assert (row["floor"], row["ceiling"], row["se"]) == (0.25, 1.0, 0.014)
    assert (row["family"], row["organisation"], row["compute"]) == ("Opus", "Anthropic", None)
    assert (row["date"], row["benchmark_date"]) == (date(2026, 9, 22), date(2023, 11, 20))
    assert row["source"] == "Epoch evaluations"
    assert one(scores, "opus_low", "GPQA diamond")["family"] == "Opus"
    assert one(scores, "opus_max", "APEX-Agents")["se"] == pytest.approx(0.049)
    assert one(scores, "opus_max", "APEX-Agents")["source"] is None
    assert one(scores, "opus_low", "APEX-Agents")["se"] is None
    llama = one(scores, "llama", "Aider polyglot")
    assert (llama["compute"], llama["date"], llama["source"]) == (8.1e23, date(2023, 7, 18), None)
    assert one(scores, "stranger", "Aider polyglot")["date"] is None
    assert one(scores, "twin", "Aider polyglot")["date"] == date(2025, 5, 28)


@pytest.mark.parametrize(
    "told",
    [
        "Excluded, because Epoch's index does not use them: Shown only.",
        "Superseded, but read like the others (the preset eci excludes them): FrontierMath-Old by FrontierMath-New.",
        "Not read, since benchmark_metadata.csv places no scores in them: vending_bench_2_external.csv.",
        "Tables of scores that are not there: unpublished.csv.",
        "Excluded, because there is no column for the model or the score (in brackets): renamed_external.csv (Old name).",
        "Listed with several dates, of which the first counts: twin.",
        "1 of 14 rows excluded: no model version; the first is in aider_polyglot_external.csv.",
        "1 of 14 rows excluded: no score; the first is in lech_external.csv.",
        "1 of 14 rows excluded: the score is not a number; the first is in lech_external.csv: n/a (twin on Lech Mazur Writing).",
        "1 of 14 rows excluded: the score is outside 0 to 1; the first is in apex_agents_external.csv: 1.2 (twin on APEX-Agents).",
        "Space around these model versions was removed: llama.",
        "Excluded: standard errors above 0.5, too large for scores from 0 to 1, on APEX-Agents.",
    ],
)
def test_what_is_told_of_the_zip(tmp_path: Path, told: str) -> None:
    assert told in epoch.read([zip_of(tmp_path / "benchmark_data.zip", TABLES)]).notes


def test_columns_may_be_spelled_otherwise(tmp_path: Path) -> None:
    tables = {
        "benchmark_metadata.csv": "Benchmark,Source file,Score column\nGPQA,gpqa.csv,best score\n",
        "eci_model_versions.csv": "Model version,Model group,Date\nm,M,2025-01-31\n",
        "gpqa.csv": "model_version,Best_Score\nm,0.5\n",
    }
    row = one(epoch.read([zip_of(tmp_path / "b.zip", tables)]), "m", "GPQA")
    assert (row["score"], row["family"], row["date"]) == (0.5, "M", date(2025, 1, 31))


def test_progress_is_told_table_by_table(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    epoch.read([zip_of(tmp_path / "b.zip", TABLES)], progress=lambda done, total: seen.append((done, total)))
    assert seen == [(i, 6) for i in range(1, 7)]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"benchmark_metadata.csv": "benchmark,score_column\nA,b\n"}, "benchmark_metadata.csv has no column for file"),
        ({"benchmark_metadata.csv": METADATA.replace("0.01", "percent")}, "gives Aider polyglot the scale percent"),
        ({"benchmark_metadata.csv": METADATA.replace("0.01", "0")}, "gives Aider polyglot the scale 0"),
        ({"gpqa_diamond.csv": ""}, "gpqa_diamond.csv in it is not a csv table"),
        (
            {"benchmark_metadata.csv": HEADER + "A,True,renamed_external.csv,x,,,,,\n"},
            "no table in it has",
        ),
        (
            {"benchmark_metadata.csv": HEADER + "A,True,vending_bench_2_external.csv,Score,,,,,\n"},
            "outside 0 to 1",
        ),
    ],
)
def test_a_zip_that_is_not_as_it_should_be(tmp_path: Path, changed: dict[str, str], told: str) -> None:
    path = zip_of(tmp_path / "b.zip", TABLES | changed)
    with pytest.raises(InputError) as caught:
        epoch.read([path])
    assert str(caught.value).startswith(f"{path}: ")
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "content", [b"Model version,Best score\n\xff\xfe,0.5\n", gzip.compress(b"a,b\n" * 99, mtime=0)]
)
def test_a_member_that_is_not_text_is_refused(tmp_path: Path, content: bytes) -> None:
    path = zip_of(tmp_path / "b.zip", {"benchmark_metadata.csv": f"{HEADER}A,True,a.csv,Best score,,,,,\n"})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("a.csv", content)
    with pytest.raises(InputError, match=r"a\.csv in it is not a csv table|no table in it"):
        epoch.read([path])


def test_an_older_zip_says_what_is_missing(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "b.zip", {"gpqa_external.csv": "Model version,Score\nm,0.5\n"})
    assert "_external.csv" in (epoch.recognise(path) or "")
    with pytest.raises(InputError, match=r"contains no benchmark_metadata\.csv.*https://epoch\.ai"):
        epoch.read([path])


def test_percent_is_refused_where_the_tables_state_their_scale(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="omit divide_by=100"):
        epoch.read([zip_of(tmp_path / "b.zip", TABLES)], divide_by=100)


# the zip of April 2026, which does not say where its scores are

SLOPES = "additional_eci_data/eci_benchmark_difficulties_and_slopes.csv"
OLD_TABLES = {
    "gpqa_diamond.csv": "Model version,mean_score,Best score (across scorers),Release date,stderr,id\n"
    "opus_max,0.94,0.95,2026-02-05,0.014,a\n",
    "the_agent_company_external.csv": "Model version,% Score,Release date,% Resolved,Source\nopus_max,0.5,2026-02-05,0.4,Board\n",
    "os_world_external.csv": "Model version,Score,Agent,Source\nopus_max,65.4,Own,Board\n,70,Unknown,Board\n",
    "webdev_arena_external.csv": "Model version,Arena Score\nopus_max,1556.29\n",
    "newcomer_external.csv": "Model version,Score\nopus_max,1\n",
    "epoch_capabilities_index.csv": "Model version,ECI Score,Release date,Organization,Model name\nopus_max,150,2026-02-05,Anthropic,Opus\n",
    SLOPES: "benchmark_name,is_anchor,benchmark_release_date,edi,estimated_slope_scaled\nOSWorld,False,2024-04-11,146.5,0.14\n",
    "additional_eci_data/eci_scaling.csv": "a,b\n111,20\n",
}


@pytest.mark.parametrize("layout", ["zip", "folder", "working folder"])
def test_a_zip_without_its_own_description(tmp_path: Path, layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "benchmark_data"
    if layout == "zip":
        path = zip_of(tmp_path / "benchmark_data.zip", OLD_TABLES)
    else:
        (path / "additional_eci_data").mkdir(parents=True)
        for name, text in OLD_TABLES.items():
            (path / name).write_text(text, "utf-8")
    if layout == "working folder":
        monkeypatch.chdir(path)
        path = Path()
    scores = sources.read(path)
    assert scores.frame.select(*KEY, "score").sort("score").rows() == [
        ("opus_max", "The Agent Company", 0.4),
        ("opus_max", "OSWorld", pytest.approx(0.654)),
        ("opus_max", "GPQA diamond", 0.95),
    ]
    assert one(scores, "opus_max", "GPQA diamond")["source"] == "Epoch evaluations"
    assert one(scores, "opus_max", "OSWorld")["benchmark_date"] == date(2024, 4, 11)
    assert one(scores, "opus_max", "OSWorld")["family"] == "Opus"
    assert sources.account(path).n_unexplained == 0
    told = " ".join(scores.notes)
    assert "webdev_arena_external.csv is excluded: Elo" in told
    assert "nothing is known about them: newcomer_external.csv." in told
    assert "not read" not in told.replace("Not read, since", "")
    assert "1 of 4 rows excluded: no model version" in told


def test_the_real_zip_of_april_2026() -> None:
    if not HUB.is_file():
        pytest.skip(f"{HUB} is not there")
    scores = sources.read(HUB)
    assert (len(scores), scores.frame["benchmark"].n_unique()) == (3238, 47)
    assert not {"is_anchor", "estimated_slope_scaled"} & set(scores.frame["model"])
    assert scores.frame["date"].null_count() < 60
    counted = sources.account(HUB)
    assert counted.n_unexplained == 0
    told = " ".join(scores.notes)
    assert "nothing is known" not in told
    assert "not there" not in told
    assert "no column" not in told
    assert "outside 0 to 1" not in told


def test_epochs_estimates_are_no_scores(tmp_path: Path) -> None:
    path = folder_of(tmp_path / "f", {"slopes.csv": OLD_TABLES[SLOPES]}) / "slopes.csv"
    for given in (path, path.parent):
        with pytest.raises(InputError, match="difficulties and slopes that Epoch estimated, no scores"):
            sources.read(given, wanted="scores")


def test_a_folder_is_named_where_it_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder_of(tmp_path / "hub", {"gpqa_external.csv": "Model version,Score\nm,0.5\n"})
    (path / "mine").mkdir()
    (path / "mine/scores.csv").write_text("model,benchmark,score\nm,GPQA,0.5\n")
    monkeypatch.chdir(path)
    told = " ".join(sources.read(".", wanted="scores").notes)
    assert told.endswith("): hub.")


# the tidy table


def test_the_papers_table_is_read_as_it_is(paper: pl.DataFrame) -> None:
    assert sources.recognise(PAPER).source == "epoch"
    scores = epoch.read([PAPER])
    assert scores.frame["score"].equals(paper["performance"].alias("score"))
    assert scores.frame["date"].equals(paper["date"])
    assert scores.frame["benchmark_date"].equals(paper["benchmark_release_date"], check_names=False)
    assert scores.notes == ("scores_in.csv: space around values was removed in model.",)


@pytest.mark.parametrize(
    "header", ["model,benchmark,performance,date", "Model_Version,Benchmark,Performance,Release date"]
)
def test_tidy_spellings(tmp_path: Path, header: str) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(f"{header}\no3,GPQA,80,2025-04-16\n")
    assert epoch.recognise(path)
    scores = epoch.read([path], divide_by=100)
    assert scores.frame.select(*KEY, "score", "date").row(0) == ("o3", "GPQA", 0.8, date(2025, 4, 16))


def test_scores_that_are_stretched_already_have_floors_of_0(tmp_path: Path) -> None:
    path = tmp_path / "eci_benchmarks.csv"
    header = "model_id,benchmark_id,performance,benchmark,benchmark_release_date,model,model_version,Model,date,source"
    path.write_text(f"{header}\nm1,b1,0.02,Winogrande,2019-07-24,GPT-2,gpt2-xl,GPT-2,2019-11-05,x\n")
    scores = epoch.read([path])
    assert scores.frame.select("model", "score", "floor", "ceiling").row(0) == ("GPT-2", 0.02, 0.0, 1.0)
    assert "stretched from guessing at 0" in scores.notes[0]


def test_tidy_faults_name_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("model,benchmark,performance\no3 ,GPQA,0.8\no3,MMLU,80\n")
    with pytest.raises(InputError, match=r"scores\.csv line 3: score 80 is not between 0 and 1 \(o3 on MMLU\)"):
        epoch.read([path])


def test_several_inputs_are_joined(tmp_path: Path) -> None:
    tidy = tmp_path / "scores.csv"
    tidy.write_text("model,benchmark,performance\no3,GPQA,0.8\n")
    assert len(epoch.read([tidy, zip_of(tmp_path / "b.zip", TABLES)])) == 11


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("scores.csv", b"model,benchmark,score\no3,GPQA,0.8\n"),
        ("notes.txt", b"model,benchmark,performance\n"),
        ("broken.zip", b"PK\x03\x04 half"),
        ("empty.csv", b""),
        ("binary.csv", b"\xff\xfe\x00"),
    ],
)
def test_what_is_not_epochs_is_left_to_others(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert epoch.recognise(path) is None
    assert epoch.recognise(tmp_path) is None


def test_benchmarks_that_overlap_are_named(real: Scores) -> None:
    (told,) = [note for note in real.notes if note.startswith("Benchmarks that overlap (column part_of)")]
    assert set(real.frame.filter(benchmark="BoolQ")["part_of"]) == {"SuperGLUE"}
    assert "BoolQ beside SuperGLUE" in told
    assert "FrontierMath" in told
