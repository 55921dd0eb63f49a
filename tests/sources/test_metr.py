"""METR's runs, runs with practice, and counts."""

import json
from datetime import date
from pathlib import Path

import polars as pl
import pytest

from howsure.errors import InputError
from howsure.sources import metr, read, recognise
from howsure.tables import Attempts

REAL = Path(__file__).parents[2] / "../shared/data/metr/runs_2025-01-28.jsonl"
TRIALS = REAL.parents[1] / "trials/metr"
RUN = {"task_id": "maze/a", "task_family": "maze", "alias": "o9", "score_binarized": 1, "human_minutes": 12.5}
DAY = 24 * 3600 * 1000


def write(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture
def real():
    if not REAL.exists():
        pytest.skip(f"{REAL.name} is not there")
    return REAL


# runs


def test_real_runs_are_recognised_and_kept_whole(real):
    assert recognise(real).source == "metr"
    table = read(real)
    raw = pl.read_ndjson(real, infer_schema_length=None)
    assert isinstance(table, Attempts)
    assert len(table) == 7063
    assert table.frame["subject"].n_unique() == 11
    assert table.frame["task"].n_unique() == raw["task_id"].n_unique()
    assert table.frame["score"].sum() == raw["score_binarized"].sum()
    assert table.frame["minutes"].sum() == pytest.approx(raw["human_minutes"].sum())
    assert len(table.notes) == 1
    assert "runs (27%) were cut at a limit" in table.notes[0]


def test_real_people_are_people_without_a_date(real):
    frame = read(real).frame
    people = frame.filter(kind="human")
    assert people["subject"].unique().to_list() == ["human"]
    assert len(people) == 211
    assert people["date"].null_count() == 211
    assert people["seconds"].null_count() == 0
    assert frame.filter(kind="model")["date"].null_count() == 0


def test_attempts_follow_the_start_of_the_runs_and_not_the_file(tmp_path):
    runs = [RUN | {"run_id": name, "started_at": start} for name, start in (("c", 3 * DAY), ("a", DAY), ("b", 2 * DAY))]
    frame = read(write(tmp_path / "runs.jsonl", runs)).frame
    assert dict(zip(frame["source"], frame["attempt"], strict=True)) == {"a": 1, "b": 2, "c": 3}


def test_attempts_are_numbered_across_files(tmp_path):
    write(tmp_path / "late.jsonl", [RUN | {"run_id": "late", "started_at": 2 * DAY}])
    write(tmp_path / "soon.jsonl", [RUN | {"run_id": "soon", "started_at": DAY}])
    frame = read(tmp_path / "*.jsonl").frame
    assert dict(zip(frame["source"], frame["attempt"], strict=True)) == {"soon": 1, "late": 2}


def test_the_same_file_named_twice_is_read_once(tmp_path):
    path = write(tmp_path / "runs.jsonl", [RUN])
    assert len(read([path, path])) == 1


def test_seconds_and_date_come_from_milliseconds(tmp_path):
    run = RUN | {"started_at": 1734070031112, "completed_at": 1734071923976}
    row = read(write(tmp_path / "runs.jsonl", [run])).frame.row(0, named=True)
    assert row["seconds"] == pytest.approx(1892.864)
    assert row["date"] == date(2024, 12, 13)


def test_a_start_of_0_is_no_date(tmp_path):
    run = RUN | {"alias": "human", "started_at": 0, "completed_at": 60_000}
    row = read(write(tmp_path / "runs.jsonl", [RUN | {"started_at": DAY}, run])).frame.row(1, named=True)
    assert (row["seconds"], row["date"]) == (60, None)


def test_without_times_the_order_of_the_file_counts(tmp_path):
    runs = [RUN | {"score_binarized": score} for score in (0, 1, 1)]
    table = read(write(tmp_path / "runs.jsonl", runs))
    assert table.frame.sort("attempt")["score"].to_list() == [0, 1, 1]
    assert not table.has("date")
    assert not table.has("seconds")


@pytest.mark.parametrize(
    ("alias", "kind"),
    [
        ("human", "human"),
        ("Human", "human"),
        ("humans (expert)", "human"),
        ("human_novice", "human"),
        ("humanoid-7b", "model"),
        ("superhuman", "model"),
        ("o9", "model"),
    ],
)
def test_kind_is_told_by_the_alias(tmp_path, alias, kind):
    path = write(tmp_path / "runs.jsonl", [RUN | {"alias": alias}])
    assert read(path).frame["kind"].to_list() == [kind]


def test_runs_in_csv_and_parquet_read_as_in_jsonl(tmp_path):
    runs = [RUN | {"score_binarized": score, "started_at": DAY + score} for score in (0, 1)]
    jsonl = read(write(tmp_path / "runs.jsonl", runs))
    for name, writer in (("runs.csv", pl.DataFrame.write_csv), ("runs.parquet", pl.DataFrame.write_parquet)):
        writer(pl.DataFrame(runs), tmp_path / name)
        assert recognise(tmp_path / name).source == "metr"
        columns = jsonl.frame.columns
        assert read(tmp_path / name).frame.select(columns).equals(jsonl.frame)


def test_a_wrong_score_is_named_with_its_line(tmp_path):
    path = write(tmp_path / "runs.jsonl", [RUN, RUN, RUN | {"score_binarized": 7}])
    with pytest.raises(InputError, match=r"runs\.jsonl line 3: score 7 is not between 0 and 1 \(o9 on maze/a\)"):
        read(path)


# practice


PRACTICE = RUN | {"attempt_number": 1, "learner_type": "human_novice", "alias": "human_novice", "task_domain": "logic"}


def novice(number, attempt, **more):
    return PRACTICE | {"run_id": f"novice_{number:04}_attempt_{attempt:02}_x7", "attempt_number": attempt} | more


def test_people_are_their_learner_and_models_their_alias(tmp_path):
    runs = [novice(23, 2, score_binarized=1), novice(23, 1, score_binarized=0), novice(4, 1)]
    runs.append(PRACTICE | {"alias": "weak", "learner_type": "ai_zero_shot", "run_id": "weak_0"})
    path = write(tmp_path / "name_runs.jsonl", runs)
    assert "practice" in recognise(path).reason
    frame = read(path).frame
    assert frame["subject"].to_list() == ["novice_0023", "novice_0023", "novice_0004", "weak"]
    assert frame["kind"].to_list() == ["human", "human", "human", "model"]
    assert frame["attempt"].to_list() == [2, 1, 1, 1]
    assert frame["domain"].to_list() == ["logic"] * 4


def test_a_learner_id_goes_before_the_run_id(tmp_path):
    path = write(tmp_path / "runs.jsonl", [novice(23, 1, learner_id="ada")])
    assert read(path).frame["subject"].to_list() == ["ada"]


def test_a_person_that_cannot_be_told_is_refused(tmp_path):
    path = write(tmp_path / "runs.jsonl", [novice(1, 1), PRACTICE | {"run_id": "odd"}])
    with pytest.raises(InputError, match=r"line 2: subject is missing"):
        read(path)


def test_an_unknown_learner_type_is_refused(tmp_path):
    path = write(tmp_path / "runs.jsonl", [novice(1, 1, learner_type="dog")])
    with pytest.raises(InputError, match="kind dog is not one of human, model, baseline"):
        read(path)


def test_a_gap_in_practice_is_a_missing_attempt(tmp_path):
    path = write(tmp_path / "runs.jsonl", [novice(1, 1), novice(1, 3)])
    assert read(path).frame["attempt"].to_list() == [1, 3]
    path = write(tmp_path / "runs.jsonl", [novice(1, 1), novice(1, 3), novice(1, 3)])
    with pytest.raises(InputError, match=r"line 2: attempt 3 of novice_0001 on maze/a is there 2 times"):
        read(path)


# counts


COUNTS = "alias,task_id,task_family,human_minutes,n_successes,n_runs\n"


def test_counts_stay_counts(tmp_path):
    (tmp_path / "counts.csv").write_text(COUNTS + "o9,a,f,3,2,3\no9,b,f,5,0,2\nhuman,a,f,3,1,1\n")
    assert "counts" in recognise(tmp_path / "counts.csv").reason
    table = read(tmp_path / "counts.csv")
    assert table.counts("subject", "task").select("n", "total").rows() == [(1, 1.0), (3, 2.0), (2, 0.0)]
    assert table.frame.filter(subject="o9", task="a").select("attempt", "n", "n_success").rows() == [(1, 3, 2)]
    assert table.frame.filter(subject="human")["kind"].to_list() == ["human"]
    assert table.frame.filter(task="b")["minutes"].to_list() == [5]


@pytest.mark.parametrize("name", ["counts.jsonl", "counts.parquet", "counts.tsv", "counts.csv.gz"])
def test_counts_in_every_format(tmp_path, name):
    frame = pl.DataFrame({"subject": ["o9"], "task": ["a"], "n_successes": [2], "n_runs": [5], "minutes": [3.5]})
    from howsure.tables.frames import write_frame

    table = read(write_frame(frame, tmp_path / name))
    assert table.counts("task").rows() == [("a", 5, 2.0, 2.0)]
    assert table.frame["minutes"].to_list() == [3.5]


def test_rows_of_the_same_pair_are_numbered_on(tmp_path):
    (tmp_path / "counts.csv").write_text(COUNTS + "o9,a,f,3,1,2\no9,a,f,3,1,1\n")
    table = read(tmp_path / "counts.csv")
    assert table.frame["attempt"].to_list() == [1, 2]
    assert table.counts("task").rows() == [("a", 3, 2.0, 2.0)]


def test_a_trillion_runs_take_no_more_room_than_one(tmp_path):
    (tmp_path / "counts.csv").write_text(COUNTS + "o9,a,f,3,250000000000,1000000000000\n")
    table = read(tmp_path / "counts.csv")
    assert (len(table), table.frame["score"][0], table.frame["n"][0]) == (1, 0.25, 10**12)


def test_rows_without_runs_are_left_out_and_told(tmp_path):
    (tmp_path / "counts.csv").write_text(COUNTS + "o9,a,f,3,0,0\no9,b,f,3,1,1\n")
    table = read(tmp_path / "counts.csv")
    assert table.frame["task"].to_list() == ["b"]
    assert any("1 rows with no runs" in note for note in table.notes)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("o9,b,f,3,4,3", r"counts\.csv line 3: n_successes 4 is more than n_runs"),
        ("o9,b,f,3,-1,3", r"counts\.csv line 3: n_successes -1 is not a whole number from 0 up"),
        ("o9,b,f,3,1,-3", r"counts\.csv line 3: n_runs -3 is not a whole number"),
        ("o9,b,f,3,0.5,3", r"counts\.csv line 3: n_successes 0\.5 is not a whole number"),
        ("o9,b,f,3,1,", r"counts\.csv line 3: n_runs is empty; it is not a whole number"),
        ("o9,b,f,3,one,3", r"counts\.csv line 3: n_successes one is not a whole number"),
        ("o9,b,f,3,1,inf", r"counts\.csv line 3: n_runs inf is not a whole number"),
        (",b,f,3,1,1", r"counts\.csv line 3: subject is missing"),
        ("o9,b,f,0,1,1", r"counts\.csv line 3: minutes 0 is not above 0"),
    ],
)
def test_wrong_counts_are_named_with_their_line(tmp_path, row, message):
    (tmp_path / "counts.csv").write_text(COUNTS + f"o9,a,f,3,1,1\n{row}\n")
    with pytest.raises(InputError, match=message):
        read(tmp_path / "counts.csv")


def test_counts_without_a_subject_are_refused(tmp_path):
    (tmp_path / "counts.csv").write_text("task,n_successes,n_runs\na,1,2\n")
    with pytest.raises(InputError, match="no column subject or alias"):
        read(tmp_path / "counts.csv")


def test_another_file_read_as_metr_says_what_is_expected(tmp_path):
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    assert metr.recognise(tmp_path / "other.csv") is None
    with pytest.raises(InputError, match=r"neither task_id, alias, score_binarized \(runs\) nor n_successes, n_runs"):
        read(tmp_path / "other.csv", source_name="metr")


def test_progress_is_told_file_by_file(tmp_path):
    paths = [write(tmp_path / f"{name}.jsonl", [RUN | {"alias": name}]) for name in "ab"]
    steps = []
    metr.read(paths, progress=lambda done, total: steps.append((done, total)))
    assert steps == [(1, 2), (2, 2)]


def test_endings_tokens_and_sources_of_minutes_are_kept_and_counted(tmp_path):
    runs = [
        RUN
        | {"fatal_error_from": "usageLimits", "human_source": "baseline", "total_tokens": 7, "dollar_equivalent": 0.5},
        RUN
        | {"fatal_error_from": "agent", "human_source": "estimate", "total_tokens": None, "dollar_equivalent": None},
        RUN | {"fatal_error_from": None, "human_source": "qa", "total_tokens": 9, "dollar_equivalent": 1.0},
    ]
    path = write(tmp_path / "runs.jsonl", runs)
    found = read(path)
    frame = found.lazy.collect()
    assert frame["limit"].to_list() == ["usageLimits", None, None]
    assert frame["error"].to_list() == [None, "agent", None]
    assert frame["human_source"].to_list() == ["baseline", "estimate", "qa"]
    assert frame["tokens"].to_list() == [7, None, 9]
    assert frame["cost"].to_list() == [0.5, None, 1.0]
    assert f"{path}: 1 of 3 runs (33%) were cut at a limit (column limit)." in found.notes
    assert f"{path}: 1 of 3 runs (33%) were ended by an error (column error)." in found.notes


def test_impossible_times_are_left_out_and_counted(tmp_path):
    start = 1_700_000_000_000
    times = [(start, start + 5000), (start, start - 1), (1e25, 1e25), (-5, start), (0, 3000), (None, None)]
    runs = [RUN | {"started_at": one, "completed_at": other} for one, other in times]
    path = write(tmp_path / "runs.jsonl", runs)
    found = read(path)
    frame = found.lazy.collect()
    assert sorted(frame["seconds"].drop_nulls()) == [3, 5]
    assert frame["date"].drop_nulls().to_list() == [date(2023, 11, 14)]
    assert (
        f"{path}: 3 of 6 runs (50%) have impossible start or end times; their seconds and date are excluded."
        in found.notes
    )


def test_a_real_file_says_how_many_runs_were_cut(real):
    found = read(real)
    assert any("1,912 of 7,063 runs (27%) were cut at a limit" in note for note in found.notes)
    by_kind = found.lazy.group_by("kind").agg(pl.col("limit").count(), pl.len()).collect()
    models = by_kind.filter(kind="model").row(0, named=True)
    assert round(models["limit"] / models["len"], 2) == 0.28
    assert {"human_source", "tokens", "cost"} <= set(found.lazy.collect_schema().names())


RELEASES = "date:\n  o9: 2025-03-01\n  o8: 2024-01-15\n"


def test_release_dates_that_are_read_with_runs_are_their_dates(tmp_path):
    runs = write(tmp_path / "runs.jsonl", [RUN, RUN | {"alias": "unknown-1"}])
    (tmp_path / "release_dates.yaml").write_text(RELEASES)
    table = read([runs, tmp_path / "release_dates.yaml"])
    assert table.frame.sort("subject")["date"].to_list() == [date(2025, 3, 1), None]
    assert "No release date: unknown-1." in table.notes
    with pytest.raises(InputError, match="has release dates and no results"):
        read(tmp_path / "release_dates.yaml")


def test_published_results_are_scores_with_the_release(tmp_path):
    path = tmp_path / "results.yaml"
    path.write_text(
        "benchmark_name: METR-Horizon-v1\nresults:\n  o9:\n    metrics:\n      average_score:\n        estimate: 0.48\n"
        "      p50_horizon_length:\n        estimate: 18.5\n    release_date: 2024-06-20\n"
    )
    row = read(path).frame.row(0, named=True)
    assert (row["model"], row["benchmark"], row["score"]) == ("o9", "METR-Horizon-v1", 0.48)
    assert (row["date"], float(row["p50_minutes"])) == (date(2024, 6, 20), 18.5)


def test_task_results_may_list_their_tasks(tmp_path):
    """Version 1.1: an agent's tasks are a list, its release is a date, and a family is the first part of a task's name."""
    path = tmp_path / "results.yaml"
    path.write_text(
        "benchmark_name: METR-Horizon-v1.1\nagents:\n  o9:\n    release_date: 2025-01-02\n    tasks:\n"
        "    - task_id: a/1\n      human_minutes: 2\n      n_successes: 4\n      n_runs: 4\n"
        "    - task_id: a/2\n      human_minutes: 30\n      n_successes: 1\n      n_runs: 4\n"
    )
    assert "task results" in metr.recognise(path)
    frame = read(path).frame.sort("task")
    assert frame.select("subject", "task", "family", "minutes", "n", "n_success").rows() == [
        ("o9", "a/1", "a", 2.0, 4, 4),
        ("o9", "a/2", "a", 30.0, 4, 1),
    ]
    assert frame["date"].to_list() == [date(2025, 1, 2)] * 2
    path.write_text(path.read_text().replace("task_id: a/2", "task_id: a/1"))
    with pytest.raises(InputError, match=r"results.yaml: tasks: a/1 is there twice"):
        read(path)


@pytest.mark.skipif(not TRIALS.is_dir(), reason="METR's task results are not here")
def test_metr_task_results_1_1_are_read():
    frame = read(TRIALS / "task_results_1_1_excerpt.yaml").frame
    assert frame["subject"].unique().to_list() == ["GPT-4 0314"]
    assert (frame["n"].sum(), frame["n_success"].sum()) == (26, 14)
    assert "alert_triage" in frame["family"].to_list()


def test_task_results_in_yaml_are_counts(tmp_path):
    path, dates = tmp_path / "results.yaml", tmp_path / "dates.yaml"
    path.write_text(
        "tasks:\n  a/1: {human_minutes: 2, task_family: a}\n  b/1: {human_minutes: 30, task_family: b}\n"
        "agents:\n  o9:\n    tasks:\n      a/1: {n_successes: 4, n_runs: 4}\n      b/1: {n_successes: 1, n_runs: 4}\n"
        "  o8:\n    tasks:\n      a/1: {n_successes: 3, n_runs: 4}\n      b/1: {n_successes: 0, n_runs: 0}\n"
    )
    dates.write_text("date:\n  o9: 2025-01-02\n  o8: 2024-01-02\n")
    assert "task results" in metr.recognise(path)
    frame = metr.read([path, dates]).frame.sort("subject", "task")
    assert frame.select("subject", "task", "n", "n_success", "minutes", "family").rows() == [
        ("o8", "a/1", 4, 3, 2.0, "a"),
        ("o9", "a/1", 4, 4, 2.0, "a"),
        ("o9", "b/1", 4, 1, 30.0, "b"),
    ]
    assert frame["date"].to_list()[0] == date(2024, 1, 2)
    path.write_text("agents:\n  o9:\n    n_successes: 1\n    n_runs: 2\n")
    with pytest.raises(InputError, match="no agent has tasks with n_successes and n_runs"):
        metr.read([path])
