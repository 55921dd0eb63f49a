import importlib.util
import json
import math
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import polars as pl
import pytest

from howsure import safe_io, sources
from howsure.errors import InputError, MissingExtraError, OptionError
from howsure.evals.comparison import compare
from howsure.evals.explorer import explore, with_texts
from howsure.evals.item_table import items
from howsure.evals.summaries import summary
from howsure.safe_io import Archive
from howsure.sources import inspect_format, inspect_logs, read, recognise
from howsure.sources.inspect_texts import read_texts
from howsure.tables import Scores
from servers import prepared_process

if importlib.util.find_spec("inspect_ai") is None:
    pytest.skip("logs are made with Inspect, which is not installed", allow_module_level=True)

MODEL = "mockllm/model"
SHARED = Path(__file__).parents[3] / "shared/data/formats/inspect"


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inspect")
    maker = Path(__file__).with_name("make_inspect_logs.py")
    prepared_process.run([maker, folder], inspect=True, cwd=folder).check_returncode()
    return folder


@pytest.fixture
def arith(made):
    return only(made / "arith")


def only(folder):
    (path,) = folder.iterdir()
    return path


def members(path):
    with Archive(path) as archive:
        return {name: archive.read(name) for name in archive.names}


def write_zip(path, parts):
    """As older versions of Inspect wrote: deflated."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data if isinstance(data, bytes | str) else json.dumps(data))
    return path


def variant(source, target, **changes):
    """A copy of a log whose header's `eval` says something else."""
    parts = members(source)
    header = json.loads(parts["header.json"])
    header["eval"] |= changes
    return write_zip(target, parts | {"header.json": header})


def by_hand(path, values, **sample):
    """A small .json log with these values of one scorer."""
    samples = [
        {"id": i, "epoch": 1, "input": "?", "target": "!", "scores": {"it": {"value": v}}} | sample
        for i, v in enumerate(values)
    ]
    spec = {"task": "hand", "model": "a/b", "created": "2025-01-31T23:30:00-05:00", "dataset": {}, "config": {}}
    path.write_text(json.dumps({"version": 2, "status": "success", "eval": spec, "samples": samples}))
    return path


def rows(path, **options):
    return inspect_logs.read([path], **options).frame


# the same numbers as Inspect


def reported(path):
    """Accuracy, standard error and clustered standard error in a log's own results."""
    header = json.loads(members(path)["header.json"] if path.suffix == ".eval" else path.read_bytes())
    metrics = header["results"]["scores"][0]["metrics"].values()
    return {("clustered" if m.get("params") else m["name"]): m["value"] for m in metrics}


@pytest.mark.parametrize("name", ["arith", "json", "minus", "edited.eval", "edited.json"])
def test_accuracy_and_standard_errors_agree_with_inspect(made, name):
    path = made / name if "." in name else only(made / name)
    attempts = inspect_logs.read([path], family="group")
    by_task, by_group = (summary(attempts, cluster=cluster).rows[0] for cluster in ("task", "family"))
    ours = {"accuracy": by_task.mean.value, "stderr": by_task.se, "clustered": by_group.se}
    theirs = reported(path)
    assert (by_task.n_clusters, by_group.n_clusters) == (12, 4)
    assert theirs["clustered"] > 0.01
    assert ours == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("name", ["troubled", "troubled_json"])
def test_every_ending_is_an_attempt_with_the_words_of_the_log_and_the_harness_mean_is_that_of_the_log(made, name):
    table = read(made / name, count="harness", cache=False)
    one = table.frame.filter(epoch=1).with_columns(pl.col("task").str.strip_prefix("troubled/"))
    endings = {task: (outcome, reason) for task, outcome, reason in one.select("task", "outcome", "reason").rows()}
    assert endings == dict.fromkeys(("s0", "s7", "s8"), ("scored", None)) | {
        "s1": ("errored", "RuntimeError('stumbled')"),
        "s2": ("unscored", "grader_failed The grade was not found."),
        "s3": ("refused", "refusal"),
        "s4": ("refused", "content_filter"),
        "s5": ("limit", "message"),
        "s6": ("refused", "RuntimeError('400: content_filter of the provider')"),
    }
    assert table.outcomes == {MODEL: {"errored": 1, "limit": 2, "refused": 6, "scored": 7, "unscored": 2}}
    assert "11 of 18 attempts have no score: 1 errored, 6 refused, 2 unscored, 2 ended by a limit." in table.notes
    assert repr(table).endswith("without a score: 1 errored, 6 refused, 2 unscored, 2 ended by a limit>")
    theirs = reported(only(made / name))
    (row,) = summary(table.counted, by="all").rows
    assert (row.mean.value, row.se) == (pytest.approx(theirs["accuracy"]), pytest.approx(theirs["stderr"]))
    assert theirs["accuracy"] == 0.5  # of s0, s1, s7, s8: the two epochs of s1 are one item
    wrong = read(made / name, count="errored=wrong", cache=False).counted
    assert wrong.frame.group_by("task").agg(pl.mean("score"))["score"].mean() == pytest.approx((1 + 0.5) / 8)
    account = sources.account(made / name)
    assert (account.n_read, account.n_used, account.n_unexplained) == (18, 18, 0)


@pytest.mark.parametrize("name", ["arith", "json"])
def test_headers_alone_give_the_means_that_they_state(made, tmp_path, name):
    path = only(made / name)
    if path.suffix == ".eval":
        kept = write_zip(tmp_path / "header.eval", {"header.json": members(path)["header.json"]})
    else:
        kept = tmp_path / "header.json"
        kept.write_text(
            json.dumps({key: value for key, value in json.loads(path.read_text()).items() if key != "samples"})
        )
    table = inspect_logs.read([kept])
    assert isinstance(table, Scores)
    theirs, n_items = reported(path), rows(path)["task"].n_unique()
    assert table.frame.select("score", "n_items").rows() == [(pytest.approx(theirs["accuracy"], abs=1e-12), n_items)]
    assert "1 log without samples: the means that they state are read as scores." in table.notes
    both = inspect_logs.read([kept, only(made / "minus")])
    assert any("1 log without samples was excluded" in note for note in both.notes)


@pytest.mark.parametrize(
    "name", ["arith", "json", "flaky", "retried", "edited.eval", "edited.json", "invalidated.eval", "old", "unfinished"]
)
def test_inspects_own_reader_gives_the_same_rows_and_notes(made, arith, tmp_path, monkeypatch, name):
    path = made / name
    if name == "old":
        path = write_zip(tmp_path / "old.eval", members(arith))
    if name == "unfinished":
        path = unfinished(arith, tmp_path)
    ours = inspect_logs.read([path], family="story")
    monkeypatch.setattr(inspect_format, "_KNOWN_VERSIONS", frozenset())
    theirs = inspect_logs.read([path], family="story")
    key = ["subject", "task", "attempt"]
    assert ours.frame.sort(key).equals(theirs.frame.sort(key))
    assert ours.notes == theirs.notes


ODD = {
    "id": [7, "7", "a b ", 7.0, True, None, 2**60],
    "epoch": [1, "2", 2.0, -1, None],
    "scores": [
        None,
        {},
        {"it": {}},
        {"it": {"value": [1], "history": [{"value": 0}]}},
        {"it": {"history": None}},
        {"it": 1},
        [1],
    ],
    "metadata": [None, {"a": [1]}, [1]],
    "total_time": [None, 3, "3.5", True, "soon"],
    "model_usage": [None, {}, {"m": {"total_tokens": 3}}, [1]],
    "input": [
        None,
        "q",
        "q...\n(content truncated)",
        "é\u2028",
        [{"role": "user", "content": "q"}],
        [{"role": "user", "content": [1]}],
    ],
    "target": [None, "B", ["A", "x"], 5, {"a": 1}],
    "choices": [None, [], ["x", "y"], "xy", [1]],
}


@pytest.mark.parametrize("field", ODD)
@pytest.mark.parametrize("choices", [None, ["x", "y"]])
def test_samples_are_the_same_however_strictly_they_are_read(field, choices):
    plain = {"id": 1, "epoch": 1, "input": "q", "target": "B", "choices": choices, "scores": {"it": {"value": "C"}}}
    said = []
    for unread in (0.0, math.nan):  # NaN is no JSON, so that all of it is read less strictly
        for value in ODD[field]:
            try:
                data = json.dumps([plain | {"working_time": unread}, plain | {field: value}]).encode()
                listed = inspect_format._parsed(list[inspect_format.Sample], data, "x")
                for one in listed:
                    inspect_format._identify(one)
            except InputError as error:
                listed = str(error)
            said.append(listed)
    assert said[: len(said) // 2] == said[len(said) // 2 :]
    assert isinstance(said[0], list)


def test_words_and_numbers_mean_what_they_mean_in_inspect(tmp_path):
    from inspect_ai.scorer import value_to_float

    values = ["C", "I", "P", "N", True, False, 0, 1, 0.25, "0.5", "1", "yes", "No", "TRUE", "false", "1e-1"]
    frame = rows(by_hand(tmp_path / "log.json", values))
    assert frame["score"].to_list() == [value_to_float()(value) for value in values]


def test_the_fast_path_does_not_import_inspect(made):
    files = [str(path) for path in made.rglob("*") if path.is_file() and "graded" not in str(path)]
    code = (
        "import sys; from pathlib import Path; from howsure.sources import inspect_logs\n"
        "inspect_logs.read([Path(name) for name in sys.argv[1:]], family='story')\n"
        "assert 'inspect_ai' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, *files], check=True, timeout=300)


# what a row says


def test_a_row_names_model_eval_sample_epoch_and_log(made, arith):
    frame = rows(arith)
    first = frame.row(0, named=True)
    header = json.loads(members(arith)["header.json"])["eval"]
    assert len(frame) == 36
    assert frame.select("task", "item_digest").n_unique() == frame["item_digest"].n_unique() == 12
    assert first | {"score": 0, "seconds": 0, "item_digest": "", "tokens": 0} == {
        "subject": MODEL,
        "kind": "model",
        "task": "arith/s0",
        "attempt": 1,
        "score": 0,
        "domain": "arith",
        "item_digest": "",
        "seconds": 0,
        "tokens": 0,
        "solver": "generate",
        "variant": "plus",
        "date": pl.Series([header["created"][:10]]).str.to_date()[0],
        "log": arith.name,
        "sample": "s0",
        "epoch": 1,
        "source": arith.name,
        "scorer": "includes",
    }
    assert first["seconds"] > 0
    assert frame.group_by("task").agg(pl.col("attempt").sort())["attempt"].to_list() == [[1, 2, 3]] * 12


def test_the_date_is_that_of_the_run_in_utc(tmp_path):
    assert str(rows(by_hand(tmp_path / "log.json", ["C"]))["date"][0]) == "2025-02-01"


def test_an_id_that_ends_in_space_is_quoted(tmp_path):
    assert rows(by_hand(tmp_path / "log.json", ["C"], id="x "))["task"].to_list() == ["hand/'x '"]


def test_older_summaries_without_metadata_and_times_are_enough(arith, tmp_path):
    parts = members(arith)
    kept = ("id", "epoch", "input", "target", "scores")
    parts["summaries.json"] = [{name: one[name] for name in kept} for one in json.loads(parts["summaries.json"])]
    frame = rows(write_zip(tmp_path / "old.eval", parts))
    assert "seconds" not in frame.columns
    assert frame.equals(
        rows(arith).drop("seconds", "tokens").with_columns(source=pl.lit("old.eval"), log=pl.lit("old.eval"))
    )
    assert (
        rows(tmp_path / "old.eval", family="group")["family"].to_list()
        == rows(arith, family="group")["family"].to_list()
    )


# families


def test_a_family_that_the_summary_cuts_short_is_read_in_full(arith):
    families = rows(arith, family="story")["family"].unique().sort().to_list()
    assert [text[-2:] for text in families] == [" 0", " 1", " 2"]
    assert {len(text.split()) for text in families} == {301}


def test_a_number_may_be_a_family(arith):
    assert rows(arith, family="number")["family"].unique().sort().to_list() == ["0", "1"]


@pytest.mark.parametrize("metadata", [{}, {"group": None}, {"group": " "}, {"group": ["a"]}, {"group": math.nan}])
def test_a_sample_without_the_family_is_refused(tmp_path, metadata):
    path = by_hand(tmp_path / "log.json", ["C"], metadata=metadata)
    with pytest.raises(
        InputError, match=r"log.json: sample 0 has no text or number 'group' .* Its fields: (none|group)\."
    ):
        rows(path, family="group")


# scorers


def test_the_first_of_several_scorers_counts_and_a_note_lists_them(made):
    table = inspect_logs.read([made / "graded"])
    assert table.notes == (
        "1 log with several scorers was read with the first; choose with --scorer: "
        "graded with match (of match, grades.truth, grades.style, points, parts).",
    )
    assert table.frame.equals(rows(made / "graded", scorer="match"))


def test_a_key_of_dictionaries_can_be_chosen(made):
    frame = rows(made / "graded", scorer="grades.truth")
    assert frame.filter(attempt=1).sort("task")["score"].to_list() == [1, 0, 1, 0, 1, 0]
    assert rows(made / "graded", scorer="grades.style")["score"].unique().to_list() == [0.25]


def test_each_key_of_dictionaries_is_an_eval(made):
    frame = rows(made / "graded", scorer="grades")
    assert frame["domain"].unique().sort().to_list() == ["graded [grades.style]", "graded [grades.truth]"]
    assert frame.filter(domain="graded [grades.style]")["score"].unique().to_list() == [0.25]


def test_all_scorers_are_read_as_evals_of_their_own(made):
    table = inspect_logs.read([made / "graded"], scorer="all")
    assert table.frame["domain"].unique().sort().to_list() == [
        "graded [grades.style]",
        "graded [grades.truth]",
        "graded [match]",
        "graded [points]",
    ]
    assert table.frame.filter(domain="graded [points]")["scale"].unique().to_list() == ["free"]
    assert any(note.startswith("1 scorer was excluded: parts") for note in table.notes)


def test_a_scorer_can_be_chosen_for_one_eval(made):
    frame = rows(made / "graded", scorer="graded=grades.style,other=it")
    assert frame["score"].unique().to_list() == [0.25]
    assert rows(made / "graded", scorer="other=it").equals(rows(made / "graded"))


@pytest.mark.parametrize("name", ["mach", "grades.thruth"])
def test_an_unknown_scorer_names_the_choices(made, name):
    with pytest.raises(OptionError, match=r"No scorer in .*graded.*Did you mean '(match|grades.truth)'\?"):
        rows(made / "graded", scorer=name)


def test_lists_are_refused(made):
    with pytest.raises(InputError, match=r"sample 's0' \(epoch 1\): score \[1, 0\] is not one number.*scorer"):
        rows(made / "graded", scorer="parts")


def test_numbers_beyond_one_need_a_divisor_or_a_direction(made, tmp_path):
    frame = rows(made / "graded", scorer="points", divide_by=20)
    assert frame.filter(attempt=2).sort("task")["score"].to_list() == [0.1, 0.6, 0.1, 0.6, 0.1, 0.6]
    path = by_hand(tmp_path / "log.json", [3, 11])
    with pytest.raises(InputError, match=r'score 3 is not between 0 and 1 \(it goes from 3 to 11\).*better="lower"'):
        rows(path)
    frame = rows(path, better="lower")
    assert frame.select("score", "scale", "better").rows() == [(3, "free", "lower"), (11, "free", "lower")]


def test_a_log_whose_direction_is_not_known_does_not_stop_the_others(tmp_path):
    by_hand(tmp_path / "a.json", [3, 11])
    path = by_hand(tmp_path / "b.json", ["C", "I"])
    path.write_text(path.read_text().replace('"hand"', '"other"'))
    table = inspect_logs.read([tmp_path])
    assert table.frame["domain"].unique().to_list() == ["other"]
    assert table.notes[0].startswith("1 log whose scores go beyond 0–1 was excluded (include with --higher-is-better")


def test_the_divisor_leaves_words_alone(tmp_path):
    path = by_hand(tmp_path / "log.json", ["C", "P", True, "yes", 50, "50", 100])
    assert rows(path, divide_by=100)["score"].to_list() == [1, 0.5, 1, 1, 0.5, 0.5, 1]


@pytest.mark.parametrize("value", [1.5, -0.1, "2", math.inf, 10**400, "good", "nan", [1], [[]]])
def test_other_values_are_refused(tmp_path, value):
    with pytest.raises(InputError, match=r"log.json: sample 1 \(epoch 1\): score .* is not") as caught:
        rows(by_hand(tmp_path / "log.json", ["C", value]))
    assert "\n" not in str(caught.value)


# what does not count, and what counts with a note


@pytest.mark.parametrize(
    ("name", "n", "notes"),
    [
        (
            "flaky",
            12,
            ["3 of 12 attempts have no score: 1 errored, 2 unscored."],
        ),
        ("edited.eval", 36, ["2 samples were edited, and the edited score counts: arith on mockllm/model."]),
        ("edited.json", 36, ["2 samples were edited, and the edited score counts: arith on mockllm/model."]),
        (
            "invalidated.eval",
            35,
            [
                "1 sample was invalidated and excluded: arith on mockllm/model.",
                "2 samples were edited, and the edited score counts: arith on mockllm/model.",
                "The mean that Inspect states in 1 log is not the one here, which is over all scored samples and epochs: "
                "arith on mockllm/model (0.5278; here 0.5417).",
                "The attempts at 1 task were renumbered because epochs are missing: arith on mockllm/model.",
            ],
        ),
        (
            "retried",
            6,
            [
                "1 log was excluded because a newer log of the same run is there: flaky on mockllm/model.",
                "1 sample was edited, and the edited score counts: flaky on mockllm/model.",
                "1 of 6 attempts have no score: 1 unscored.",
            ],
        ),
    ],
)
def test_notes_say_what_became_of_samples(made, name, n, notes):
    table = inspect_logs.read([made / name])
    assert len(table) == n
    assert list(table.notes) == notes


def test_an_edited_score_is_used_as_edited(made):
    for name in ("edited.eval", "edited.json"):
        scores = rows(made / name).filter(task="arith/s3").sort("attempt")["score"].to_list()
        assert scores[:2] == [0.5, 0.5]
        assert scores[2] in (0, 1)


def test_a_failed_log_tells_its_status_and_its_cancelled_samples(made):
    failed, retried = sorted((made / "retried").iterdir())
    table = inspect_logs.read([failed])
    assert table.frame.filter(outcome="scored")["task"].to_list() == ["flaky/s0"]
    assert sorted(table.frame["task"]) == [f"flaky/s{i}" for i in range(6)]
    endings = {
        task: (outcome, reason) for task, outcome, reason in table.frame.select("task", "outcome", "reason").rows()
    }
    assert endings["flaky/s1"] == ("errored", "RuntimeError('stumbled')")
    assert endings["flaky/s5"] == ("absent", "the run ended (error) without it")
    others = {outcome + (reason or "")[:15] for outcome, reason in endings.values()} - {"erroredRuntimeError('s"}
    assert others <= {"scored", "absentthe run ended (", "erroredCancelledError("}, others
    assert "1 log did not end in success, and the complete samples count: flaky on mockllm/model, error." in table.notes
    assert rows(made / "retried")["source"].unique().to_list() == [retried.name]


def test_a_scored_sample_counts_although_it_errored(tmp_path):
    table = inspect_logs.read([by_hand(tmp_path / "log.json", ["C"], error={"message": "late"})])
    assert table.notes == ("1 sample errored but was scored, which counts as it does in Inspect: hand on a/b.",)


def unfinished(source, folder):
    """The log as it lies on disk while its run goes on, with one sample that was run anew."""
    parts = members(source)
    told = json.loads(parts["summaries.json"])[:9]
    first = {**told[0], "scores": None, "error": "boom"}
    batches = {"_journal/summaries/10.json": told[4:] + told[:1], "_journal/summaries/9.json": [first, *told[1:4]]}
    there = ["_journal/start.json", *(f"samples/{one['id']}_epoch_{one['epoch']}.json" for one in told)]
    return write_zip(folder / "unfinished.eval", {name: parts[name] for name in there} | batches)


def test_an_unfinished_log_gives_the_samples_in_its_journal(arith, tmp_path):
    table = inspect_logs.read([unfinished(arith, tmp_path)])
    told = [f"arith/{one['id']}" for one in json.loads(members(arith)["summaries.json"])[:9]]
    assert sorted(table.frame.filter(outcome="scored")["task"]) == sorted(told)
    absent = table.frame.filter(outcome="absent")
    assert len(table.frame) == 36 == 9 + len(absent)
    assert absent["reason"].unique().to_list() == ["the run ended (started) without it"]
    assert set(table.frame.group_by("task").len()["len"]) == {3}
    assert table.notes == (
        "1 log did not end in success, and the complete samples count: arith on mockllm/model, started.",
        "27 of 36 attempts have no score: 27 absent.",
    )


def test_a_log_in_many_batches_is_read_without_opening_samples(arith, tmp_path):
    parts = members(arith)
    told = json.loads(parts["summaries.json"])
    batches = {"_journal/summaries/1.json": told[:18], "_journal/summaries/2.json": told[18:]}
    without = {name: data for name, data in parts.items() if not name.startswith("samples/")}
    assert len(rows(write_zip(tmp_path / "lean.eval", without | batches))) == 36


def test_no_scored_sample_is_an_error_that_says_why(tmp_path):
    path = by_hand(tmp_path / "log.json", [None, math.nan])
    with pytest.raises(InputError, match=r"no sample has a score \(most often: the scorer gave no value\)\."):
        rows(path)


# several logs


def test_different_configurations_are_not_merged(made, arith, tmp_path):
    minus = only(made / "minus")
    other = variant(arith, tmp_path / "other.eval", model="other/model", task_id="other")
    frame = inspect_logs.read([arith, minus, other]).frame
    assert frame.group_by("subject", "domain").len().sort("subject", "domain").rows() == [
        (MODEL, "arith (variant=minus)", 24),
        (MODEL, "arith (variant=plus)", 36),
        ("other/model", "arith (variant=plus)", 36),
    ]
    assert "arith (variant=minus)/s0" in frame["task"]


def test_another_seed_is_the_same_eval(arith, tmp_path):
    args = {"variant": "plus", "seed": 1, "player_seed": 1}
    first = variant(arith, tmp_path / "first.eval", task_args=args, task_id="first")
    other = variant(arith, tmp_path / "other.eval", task_args=args | {"seed": 2}, model="other/model", task_id="other")
    assert inspect_logs.read([first, other]).frame["domain"].unique().to_list() == ["arith"]


def test_solvers_and_long_arguments_tell_configurations_apart(arith, tmp_path):
    parts = members(arith)
    header = json.loads(parts["header.json"])
    header["eval"]["task_id"] = "new"
    header["plan"]["steps"] = [{"solver": "cot", "params": {"template": "x" * 99}}]
    path = write_zip(tmp_path / "cot.eval", parts | {"header.json": header})
    names = inspect_logs.read([arith, path]).frame["domain"].unique().sort().to_list()
    assert names[0].startswith("arith (solver=cot, cot.template=xxxxxxxxxxxxxxxxxxxxxxxx…")
    assert names[1] == "arith (solver=generate)"


def test_a_repeated_run_gives_further_attempts(arith, tmp_path):
    again = variant(arith, tmp_path / "a.eval", task_id="again", created="2030-01-01T00:00:00+00:00")
    table = inspect_logs.read([again, arith])
    attempts = table.frame.filter(task="arith/s0").sort("attempt").select("attempt", "source").rows()
    assert attempts == [(i, arith.name if i <= 3 else "a.eval") for i in range(1, 7)]
    assert table.notes == ("1 repeated run was taken as further attempts: arith on mockllm/model.",)


def test_repeats_with_other_model_settings_are_told(arith, tmp_path):
    again = variant(arith, tmp_path / "a.eval", task_id="again", model_generate_config={"temperature": 0})
    notes = inspect_logs.read([again, arith]).notes
    assert notes[0].endswith("arith on mockllm/model, though they differ in temperature.")


def test_the_newest_log_of_a_run_counts(arith, tmp_path):
    newer = variant(arith, tmp_path / "newer.eval", created="2030-01-01T00:00:00+00:00")
    copy = tmp_path / "copy.eval"
    shutil.copy(newer, copy)
    os.utime(copy, (0, 0))
    older = variant(arith, tmp_path / "older.eval", model="mockllm/older", created="2020-01-01T00:00:00+00:00")
    table = inspect_logs.read([newer, older, copy])
    assert table.frame["source"].unique().to_list() == ["newer.eval"]
    assert table.notes == (
        "1 log was excluded because a newer log of the same run is there: arith on mockllm/older.",
        "1 log was excluded because an identical copy is there: arith on mockllm/model.",
    )


def test_many_places_are_cut_short_in_a_note(tmp_path):
    for i in range(6):
        path = by_hand(tmp_path / f"{i}.json", ["C", None], error={"message": "late"})
        path.write_text(path.read_text().replace("a/b", f"a/{i}"))
    assert inspect_logs.read([tmp_path]).notes == (
        "6 samples errored but were scored, which counts as it does in Inspect: hand on a/0 (1), hand on a/1 (1), hand on a/2 (1), hand on a/3 (1) and 2 more.",
        "6 of 12 attempts have no score: 6 errored.",
    )


def test_progress_counts_logs(made):
    seen = []
    inspect_logs.read([made / "arith", made / "retried"], progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


# which sample is which


def test_samples_that_were_numbered_after_shuffling_are_paired_by_content(made):
    table = inspect_logs.read([made / "shuffled"])
    assert table.notes == ("2 logs were paired by content because sample ids differ between runs: numbered.",)
    assert table.frame["task"].n_unique() == 50
    pair = compare(table, "test/1", "test/2").pairs[0]
    assert pair.n_items == 50
    # both models fail on the same hard questions, which only the right pairing shows
    means = table.frame.pivot("subject", index="task", values="score")
    assert means.select(pl.corr("test/1", "test/2")).item() > 0.5
    assert pair.difference.high < 0


def test_the_same_questions_under_two_configurations_are_one_cluster(made):
    table = inspect_logs.read([made / "arith", made / "minus"], family="group")
    for cluster, n in (("task", 12), ("family", 4)):
        rows = {row.task: row for row in summary(table, cluster=cluster).rows}
        assert {row.n_clusters for row in rows.values()} == {n}
        assert rows["all"].n_items == 24


def asking(path, model, questions, scores, **sample):
    """A log of a model that numbers these questions in this order."""
    by_hand(path, scores, **sample)
    held = json.loads(path.read_text())
    held["eval"] |= {"model": model}
    for one, question in zip(held["samples"], questions, strict=True):
        one.update({"input": question} if isinstance(question, str) else question)
    path.write_text(json.dumps(held))
    return path


def test_messages_and_shuffled_choices_are_the_same_item(tmp_path):
    asked = {"input": [{"id": "m1", "role": "user", "content": "q"}], "choices": ["yes", "no"], "target": "A"}
    again = {"input": "q", "choices": ["no", "yes"], "target": "B"}
    other = {"input": "q", "choices": ["no", "yes"], "target": "A"}
    for number, question in enumerate((asked, again, other)):
        asking(tmp_path / f"{number}.json", f"a/{number}", [question], ["C"])
    digests = inspect_logs.read([tmp_path]).frame.sort("subject")["item_digest"].to_list()
    assert digests[0] == digests[1] != digests[2]


def test_ids_pair_samples_as_long_as_they_mean_one_thing(tmp_path):
    asking(tmp_path / "a.json", "a", ["x", "y", "same", "same"], ["C", "I", "C", "I"])
    asking(tmp_path / "b.json", "b", ["x", "y", "same", "same"], ["I", "I", "C", "C"])
    table = inspect_logs.read([tmp_path])
    assert table.notes == ()
    assert table.frame.filter(subject="a")["task"].to_list() == ["hand/0", "hand/1", "hand/2", "hand/3"]
    assert table.frame["item_digest"].n_unique() == 3
    assert {(row.n_items, row.n_clusters) for row in summary(table).rows} == {(4, 3)}


def test_samples_that_share_one_prompt_are_told_apart_by_their_ids(tmp_path):
    table = inspect_logs.read([asking(tmp_path / "a.json", "a", ["Solve it."] * 4, ["C", "I", "C", "I"])])
    assert summary(table).rows[0].n_clusters == 4


def test_a_sample_without_a_summary_counts(arith, tmp_path):
    parts = members(arith)
    summaries = json.loads(parts["summaries.json"])
    path = write_zip(tmp_path / "log.eval", parts | {"summaries.json": summaries[1:]})
    assert len(rows(path)) == len(rows(arith))


def test_logs_without_the_scorer_are_left_out_with_a_note(tmp_path):
    by_hand(tmp_path / "a.json", ["C", "I"])
    other = by_hand(tmp_path / "b.json", ["C", "I"], scores={"that": {"value": 1}})
    other.write_text(other.read_text().replace("hand", "other"))
    table = inspect_logs.read([tmp_path], scorer="it")
    assert table.frame["domain"].unique().to_list() == ["hand"]
    assert table.notes == ("1 log without this scorer was excluded (--strict stops instead): other on a/b.",)
    with pytest.raises(OptionError, match=r"b\.json"):
        inspect_logs.read([tmp_path], scorer="it", strict=True)
    with pytest.raises(OptionError, match="No scorer"):
        inspect_logs.read([tmp_path], scorer="none")


def test_notes_name_the_configuration_and_infinity_is_no_percentage(tmp_path):
    for number, status in enumerate(({"error": {"message": "broke"}, "scores": None}, {})):
        path = by_hand(tmp_path / f"{number}.json", ["C", "I"], **status)
        held = json.loads(path.read_text())
        held["eval"]["task_args"] = {"hint": number}
        path.write_text(json.dumps(held))
    table = inspect_logs.read([tmp_path])
    assert table.frame.filter(outcome="errored")["domain"].to_list() == ["hand (hint=0)"] * 2
    assert table.notes == ("2 of 4 attempts have no score: 2 errored.",)
    with pytest.raises(InputError, match="Infinity is not a finite number") as caught:
        rows(by_hand(tmp_path / "inf.json", [math.inf]))
    assert "divide_by" not in str(caught.value)


def test_equal_contents_that_ids_cannot_tell_apart_are_repeats(tmp_path):
    asking(tmp_path / "a.json", "a", ["x", "same", "same"], ["C", "I", "C"])
    asking(tmp_path / "b.json", "b", ["same", "x", "same"], ["I", "I", "C"])
    table = inspect_logs.read([tmp_path])
    assert "2 logs were paired by content because sample ids differ between runs: hand." in table.notes
    assert any("4 samples were taken as repeats of a sample with the same content" in note for note in table.notes)
    assert table.frame.group_by("subject", "task").len()["len"].sort().to_list() == [1, 1, 2, 2]


def test_an_item_that_changed_between_runs_is_not_paired(tmp_path):
    asking(tmp_path / "a.json", "a", ["x", "y", "z"], ["C", "I", "C"])
    asking(tmp_path / "b.json", "b", ["x", "y", "new"], ["I", "I", "C"])
    table = inspect_logs.read([tmp_path])
    assert "1 item was not paired because the content changed between runs: hand." in table.notes
    assert table.frame["task"].n_unique() == 4
    assert compare(table, "a", "b").pairs[0].n_items == 2


def test_what_a_run_was_configured_with_becomes_columns(tmp_path):
    path = by_hand(
        tmp_path / "log.json", ["C"], model_usage={"a/b": {"total_tokens": 12, "total_cost": 0.5}}, limit="token"
    )
    log = json.loads(path.read_text())
    log["eval"] |= {"task_args": {"subset": "hard", "limit": 3}, "model_generate_config": {"temperature": 0.7}}
    log["plan"] = {
        "steps": [
            {"solver": "system_message", "params": {"template": "Be brief."}},
            {"solver": "generate", "params": {}},
        ]
    }
    path.write_text(json.dumps(log))
    table = inspect_logs.read([path])
    found = table.frame.row(0, named=True)
    wanted = {"tokens": 12, "cost": 0.5, "limit": "token", "subset": "hard", "arg_limit": "3", "temperature": "0.7"}
    wanted |= {"prompt": "Be brief.", "solver": "system_message + generate", "log": "log.json"}
    assert {name: found[name] for name in wanted} == wanted
    assert set(table.config) == {"log", "subset", "arg_limit", "temperature", "prompt", "solver"}


# which files


def test_logs_and_folders_of_logs_are_recognised(made, arith, tmp_path):
    (tmp_path / "logs.json").write_text('{"version": 2, "logs": {}}')
    (tmp_path / "eval.txt").write_text("no log")
    assert inspect_logs.recognise(arith) == "it is an Inspect log"
    assert inspect_logs.recognise(made / "edited.json") == "it is an Inspect log"
    assert inspect_logs.recognise(made / "arith") == f"it contains Inspect logs ({arith.name})"
    assert inspect_logs.recognise(made) == f"it contains Inspect logs ({'edited.eval'})"
    for path in (tmp_path, tmp_path / "logs.json", tmp_path / "eval.txt", tmp_path / "absent"):
        assert inspect_logs.recognise(path) is None
    assert recognise(made).source == "inspect_logs"


def test_a_folder_is_read_whole_but_for_hidden_files(arith, tmp_path):
    for name in (".git/a.eval", "deep/.hidden.eval", "deep/er/.cache/b.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("broken")
    shutil.copy(arith, tmp_path / "deep" / "er" / "log.eval")
    table = read(tmp_path, family="group")
    assert len(table) == 36
    assert table.frame["source"].unique().to_list() == ["log.eval"]


def test_a_log_named_twice_is_read_once(made, arith):
    assert inspect_logs.read([arith, made / "arith", arith]).notes == ()


def test_a_folder_without_logs_is_an_error(tmp_path):
    with pytest.raises(InputError, match="contains no Inspect log"):
        inspect_logs.read([tmp_path])


# damage


def damaged(name, good, folder):
    parts = members(good)
    header, summaries = json.loads(parts["header.json"]), json.loads(parts["summaries.json"])
    if name == "truncated":
        path = folder / "bad.eval"
        path.write_bytes(good.read_bytes()[:-5000])
        return path
    changed = {
        "empty": {},
        "headless": {"summaries.json": parts["summaries.json"]},
        "no JSON": parts | {"header.json": parts["header.json"][:-9]},
        "no UTF-8": parts | {"header.json": parts["header.json"].replace(b"arith", b"\xff\xfe")},
        "a list": parts | {"header.json": b"[]"},
        "no eval": parts | {"header.json": {**header, "eval": 1}},
        "no model": parts | {"header.json": {**header, "eval": {"task": "t"}}},
        "no date": parts | {"header.json": {**header, "eval": header["eval"] | {"created": "once"}}},
        "no summaries": parts | {"summaries.json": {}},
        "bad epoch": parts | {"summaries.json": [summaries[0] | {"epoch": "first"}]},
        "bad scores": parts | {"summaries.json": [summaries[0] | {"scores": [1]}]},
        "deep": parts | {"summaries.json": b"[" * 100_000},
        "no sample": {name: data for name, data in parts.items() if not name.startswith("samples/s3")},
        "traversal": parts | {"../up.json": b"{}"},
        "bomb": parts | {"summaries.json": b" " * 2**21},
    }
    return write_zip(folder / "bad.eval", changed[name])


@pytest.mark.parametrize(
    "name",
    [
        *("truncated", "empty", "headless", "no JSON", "no UTF-8", "a list", "no eval", "no model", "no date"),
        *("no summaries", "bad epoch", "bad scores", "deep", "no sample", "traversal", "bomb"),
    ],
)
def test_a_damaged_log_is_named_in_one_line(arith, tmp_path, monkeypatch, name):
    monkeypatch.setattr(safe_io, "_FREE_BYTES", 2**20)
    shutil.copy(arith, tmp_path / "good.eval")
    path = damaged(name, arith, tmp_path)
    for asked, strict in ((path, False), (tmp_path, True)):
        with pytest.raises(InputError) as caught:
            inspect_logs.read([asked], strict=strict)
        assert str(caught.value).startswith(f"{path}: ")
        assert "\n" not in str(caught.value)
    table = inspect_logs.read([tmp_path])
    assert len(table) == 36
    (told,) = table.notes
    assert told.startswith("1 file was not read (damaged; --strict stops instead): bad.eval (")


def test_a_folder_with_nothing_readable_is_an_error(arith, tmp_path):
    for name in ("a.eval", "b.eval"):
        (tmp_path / name).write_bytes(arith.read_bytes()[:-5000])
    with pytest.raises(InputError, match=r"a\.eval: .* \(and 1 other files cannot be read either\)"):
        inspect_logs.read([tmp_path])


def test_files_of_a_folder_that_are_no_logs_are_named(arith, tmp_path):
    shutil.copy(arith, tmp_path / "log.eval")
    (tmp_path / "deep").mkdir()
    for name in ("README.md", "deep/listing.json"):
        (tmp_path / name).write_text("{}")
    assert inspect_logs.read([tmp_path]).notes == (
        "2 files were not read (no Inspect log): README.md, deep/listing.json.",
    )


def reordered(source, target, order):
    held = json.loads(source.read_text())
    target.write_text(json.dumps({key: held[key] for key in order(held)}))
    return target


@pytest.mark.parametrize(
    "order",
    [sorted, lambda held: sorted(held, reverse=True), lambda held: [key for key in held if key != "version"]],
    ids=["sorted", "reversed", "without version"],
)
def test_a_json_log_is_recognised_in_whichever_order_its_keys_stand(made, tmp_path, order):
    path = reordered(made / "edited.json", tmp_path / "log.json", order)
    assert recognise(path).source == "inspect_logs"
    assert rows(path).drop("source", "log").equals(rows(made / "edited.json").drop("source", "log"))


def test_a_json_log_whose_samples_come_first_is_recognised(tmp_path):
    path = by_hand(tmp_path / "first.json", ["C"] * 2000)
    reordered(path, path, lambda held: sorted(held, key=lambda key: key != "samples"))
    assert inspect_logs.recognise(path)
    assert len(rows(path)) == 2000
    (tmp_path / "other.json").write_text(json.dumps({"samples": ["x" * 80] * 2000}))
    assert inspect_logs.recognise(tmp_path / "other.json") is None


@pytest.mark.skipif(not SHARED.exists(), reason="the logs of other people are not beside the project")
def test_real_logs_that_others_wrote_are_all_read_or_named():
    table = read(SHARED)
    assert table.frame.group_by("subject").len().sort("subject").rows() == [
        ("anthropic/claude-sonnet-4-0", 5),
        ("ollama/qwen2.5:0.5b", 3),
    ]
    assert table.notes == ("1 log without samples was excluded: simpleqa_verified on anthropic/claude-opus-4-6.",)


@pytest.mark.parametrize(
    "cut", [lambda data: data[:-9], lambda data: data.replace(b"arith", b"\xff"), lambda data: b""]
)
def test_a_damaged_json_log_is_named_in_one_line(made, tmp_path, cut):
    path = tmp_path / "bad.json"
    path.write_bytes(cut((made / "edited.json").read_bytes()))
    with pytest.raises(InputError, match=r"bad.json: not what Inspect writes \(Invalid JSON") as caught:
        inspect_logs.read([path])
    assert "\n" not in str(caught.value)


# versions that are not known


def of_version(version, source, folder):
    parts = members(source)
    return write_zip(
        folder / "new.eval", parts | {"header.json": json.loads(parts["header.json"]) | {"version": version}}
    )


def test_a_version_that_is_not_known_is_read_by_inspect(arith, tmp_path):
    frame = rows(of_version(3, arith, tmp_path))
    assert (
        frame.drop("source", "log")
        .sort("task", "attempt")
        .equals(rows(arith).drop("source", "log").sort("task", "attempt"))
    )


def test_inspect_is_asked_for_when_it_is_needed(arith, tmp_path, monkeypatch):
    path = of_version(3, arith, tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"new.eval: reading this version .* pip install 'howsure\[run\]'"):
        rows(path)


def test_a_version_that_inspect_cannot_read_is_an_error(made, tmp_path):
    path = tmp_path / "new.json"
    path.write_text((made / "edited.json").read_text().replace('"version": 2', '"version": 99', 1))
    with pytest.raises(InputError, match=r"new.json: the installed Inspect cannot read it \(.*version 99.*\)"):
        rows(path)


# texts


@pytest.mark.parametrize("name", ["arith", "json"])
def test_texts_are_those_of_inspect(made, name):
    from inspect_ai.log import read_eval_log

    path = only(made / name)
    found = {(row["sample"], row["epoch"]): row for row in read_texts([path]).iter_rows(named=True)}
    samples = read_eval_log(str(path)).samples
    assert len(found) == len(samples) == 36
    for sample in samples:
        row = found[str(sample.id), sample.epoch]
        assert (row["log"], row["question"]) == (path.name, sample.input)
        assert (row["target"], row["answer"]) == (sample.target, sample.output.completion)


def test_the_explorer_shows_the_texts_of_logs_and_links_to_them(made):
    folder = made / "shuffled"
    attempts = with_texts(read([str(folder)]), [folder])
    assert attempts.frame["answer"].null_count() == 0
    page = explore(attempts, with_text=True, viewer="http://127.0.0.1:7575").html
    assert '"viewer":"http://127.0.0.1:7575/"' in page
    assert explore(str(folder), with_text=True).html.count('"texts":{"columns":["question","target","answer"]') == 1
    links = items(attempts, viewer="http://127.0.0.1:7575").scores["link"]
    assert links.null_count() == 0
    assert links.str.contains(r"#/logs/[^/]+\.eval/samples/sample/[^/]+/1/$").all()


def test_another_mean_that_the_log_states_is_named(tmp_path):
    path = by_hand(tmp_path / "best.json", ["C", "I", "C", "I"])
    log = json.loads(path.read_text())
    result = {"name": "it", "scorer": "it", "reducer": "max", "metrics": {"accuracy": {"value": 1.0}}}
    path.write_text(json.dumps({**log, "results": {"scores": [result]}}))
    assert [note for note in read(path).notes if "(1 with the reducer max; here 0.5)" in note]
    result["metrics"]["accuracy"]["value"] = 0.5
    path.write_text(json.dumps({**log, "results": {"scores": [result]}}))
    assert not read(path).notes


def test_absent_samples_of_shuffled_logs_are_paired_by_content_where_it_is_known(made, tmp_path):
    one, other = sorted((made / "shuffled").iterdir())
    parts = members(one)
    told = json.loads(parts["summaries.json"])
    ids = [sample["id"] for sample in told]
    header = json.loads(parts["header.json"])
    header["status"] = "cancelled"
    header["eval"]["dataset"]["sample_ids"] = ids
    header["eval"]["config"]["epochs"] = 2
    kept = [*told[:40], *({**sample, "epoch": 2} for sample in told[:5])]
    changed = {name: data for name, data in parts.items() if not name.startswith(("_journal", "samples/"))}
    changed |= {f"samples/{s['id']}_epoch_{s['epoch']}.json": parts[f"samples/{s['id']}_epoch_1.json"] for s in kept}
    first = write_zip(tmp_path / one.name, changed | {"header.json": header, "summaries.json": kept})
    shutil.copy(other, tmp_path / other.name)
    account, table = sources.account([first, tmp_path / other.name]), inspect_logs.read([first, tmp_path / other.name])
    # the second epoch of 35 samples is absent and known by the first; 10 samples are absent in both, and nothing says what they ask
    assert table.outcomes["test/1"] == {"absent": 35, "scored": 45}
    assert account.left_out["absent, and nothing says what it asks"] == 20
    assert account.n_unexplained == 0
    absent = table.frame.filter(outcome="absent")
    assert absent["item_digest"].null_count() == 0
    assert set(absent["task"]) <= set(table.frame.filter(subject="test/2")["task"])
