"""Every format: recognised without an option, every row accounted for, means as the tool states them, and no damage that is not told."""

import importlib.util
import json
import math
import random
import shutil
import sys
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howsure import sources
from howsure.errors import HowsureError, InputError, OptionError
from howsure.tables import Attempts, Scores, Votes

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("formats_benchmark", ROOT / "benchmarks/formats.py")
formats = importlib.util.module_from_spec(spec)
sys.modules["formats_benchmark"] = formats
spec.loader.exec_module(formats)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The files of all formats, by name."""
    return {file.format: file for file in formats.files(tmp_path_factory.mktemp("formats"))}


@pytest.fixture(scope="module")
def outcomes(files):
    """What reading each of the files that are here gave."""
    return {name: formats.outcome(file) for name, file in files.items() if file.path.exists()}


def test_every_file_is_recognised_accounted_for_and_has_the_tools_mean(files, outcomes):
    for name, (made, mean) in outcomes.items():
        file = files[name]
        if file.source == "files":
            continue
        assert {one.source for one in made.files if one.source} == {file.source}, file.format
        assert made.n_unexplained == 0, file.format
        assert made.n_read == file.n, file.format
        if file.mean is not None:
            assert math.isclose(mean, file.mean, rel_tol=1e-9, abs_tol=1e-12), file.format


def test_marks_keep_no_format_from_being_recognised(files, monkeypatch):
    folders = (ROOT / "tests/sources/files", ROOT / "examples", ROOT.parent / "shared/data")
    known = [file.path for file in files.values() if file.path.exists()]
    known += [path for folder in folders if folder.is_dir() for path in sorted(folder.rglob("*")) if path.is_file()]

    def found():
        return {path: sources._recognised(path) for path in known if path.is_file()}

    with_marks = found()
    monkeypatch.setattr(sources, "has_mark", lambda path, marks: marks != ("/",))
    assert with_marks == found()
    assert len({one.source for one in with_marks.values() if one}) > 15


def test_at_least_fifteen_sources_are_offered_each_with_a_line():
    told = sources.formats()
    assert len(told) >= 18
    assert list(told)[-1] == "files"
    assert all(line and "\n" not in line for line in told.values())


# what rows say


def test_helm_splits_are_evals_of_their_own(files):
    file = files["HELM run (MMLU, two splits)"]
    if not file.path.exists():
        pytest.skip("no shared data")
    table = sources.read(file.path)
    domains = table.frame.group_by("domain").agg(pl.col("score").mean()).sort("domain").rows()
    assert domains == [
        ("mmlu:subject=philosophy,method=multiple_choice_joint (test)", pytest.approx(1 / 9, rel=1e-12)),
        ("mmlu:subject=philosophy,method=multiple_choice_joint (valid)", 0.0),
    ]
    assert table.frame["item_digest"].n_unique() == 10
    assert not [note for note in table.notes if "but the file states" in note]
    with pytest.raises(OptionError, match="No metric in .* called 'exact_mach'. Did you mean 'exact_match'"):
        sources.read(file.path, metric="exact_mach")


def test_a_mean_that_is_not_what_the_file_states_is_noted(files, tmp_path):
    held = json.loads(files["EvalPlus results"].path.read_text())
    held["pass_at_k"]["plus"]["pass@1"] = 0.9
    (tmp_path / "acme--small.eval_results.json").write_text(json.dumps(held))
    notes = sources.read(tmp_path / "acme--small.eval_results.json").notes
    assert "HumanEval+: the mean over the 2 items of acme/small is 0.5, but the file states 0.9." in notes


def test_prompts_are_a_factor_with_the_counts_that_promptfoo_states(files):
    path = files["promptfoo run"].path
    stated = set()
    for prompt in json.loads(path.read_text())["results"]["prompts"]:
        passed, failed, errors = (prompt["metrics"][f"test{one}Count"] for one in ("Pass", "Fail", "Error"))
        stated.add((prompt["provider"], prompt["label"], passed, passed + failed + errors, errors))
    ours = sources.read(path).frame.group_by("subject", "prompt")
    assert set(ours.agg(pl.sum("score"), pl.len().alias("n"), pl.count("error")).rows()) == stated
    assert len(stated) == 4


def test_an_errored_attempt_is_kept_and_counts_as_the_user_says(files):
    path = files["promptfoo output"].path
    table = sources.read(path)
    assert table.frame["score"].to_list() == [1, 0, 1, None]
    assert table.frame["outcome"].to_list() == ["scored", "scored", "scored", "errored"]
    assert "1 of 4 attempts have no score: 1 errored." in table.notes
    assert not sources.account(path).left_out
    for count, scores in (("errored=wrong", [1, 0, 1, 0]), ({"errored": "drop"}, [1, 0, 1]), ("harness", [1, 0, 1, 0])):
        assert sources.read(path, count=count).counted.frame["score"].to_list() == scores
    assert [str(one) for one in table.policies] == ["errored=drop", "errored=wrong"]
    with pytest.raises(OptionError, match="No rule for errored called 'ignore'"):
        sources.read(path, count="errored=ignore")
    with pytest.raises(
        OptionError, match="count and missing_score are about attempts without a score; these are votes"
    ):
        sources.read(files["LMArena votes (jsonl)"].path, count="harness")


def test_a_harness_that_counts_errors_as_wrong_is_followed_where_it_is_asked_for(files):
    path = files["SWE-bench report"].path
    table = sources.read(path, count="harness")
    assert table.frame["score"].to_list() == [1, 1, 0, None, None]
    assert table.frame["outcome"].to_list()[3:] == ["errored", "absent"]
    assert table.frame["reason"].to_list()[3:] == ["the evaluation of the patch failed", "not submitted"]
    assert table.counted.frame["score"].to_list() == [1, 1, 0, 0, 0]
    assert table.frame["family"].unique().to_list() == ["django__django"]
    assert table.frame["subject"].unique().to_list() == ["acme/small"]
    with pytest.raises(OptionError, match="swe_bench and evalplus count attempts without a score differently"):
        sources.read([path, files["EvalPlus results"].path], count="harness")


def test_a_metric_can_be_chosen(files):
    assert sources.read(files["promptfoo output"].path, metric="score").frame["score"].to_list() == [1, 0.25, 1, None]
    assert sources.read(files["EvalPlus results"].path, metric="base").frame["score"].to_list() == [1, 1]
    exact = sources.read(files["DeepEval test run"].path, metric="Exact Match")
    assert exact.frame["domain"].unique().to_list() == ["Exact Match"]
    assert exact.frame["subject"].unique().to_list() == ["dummy-model"]


def test_scanned_transcripts_are_paired_by_what_was_asked(files, tmp_path):
    scan = pl.read_parquet(files["Inspect Scout results"].path)
    ids = sorted(scan["transcript_task_id"].unique())
    turned = dict(zip(ids, reversed(ids), strict=True))  # as when ids are assigned after shuffling
    other = scan.with_columns(
        pl.lit("mockllm/other").alias("transcript_model"), pl.col("transcript_task_id").replace_strict(turned)
    )
    scan.write_parquet(tmp_path / "one.parquet")
    other.write_parquet(tmp_path / "other.parquet")
    table = sources.read(tmp_path)
    scores = (
        table.frame.group_by("task", "subject").agg(pl.mean("score")).pivot("subject", index="task", values="score")
    )
    assert len(scores) == len(ids)
    assert scores["mockllm/model"].to_list() == scores["mockllm/other"].to_list()


def test_votes_have_voters_items_outcomes_and_days(files):
    for name in ("LMArena votes (jsonl)", "LMArena votes (parquet)"):
        table = sources.read(files[name].path)
        assert isinstance(table, Votes)
        assert table.frame["outcome"].to_list() == ["a", "b", "tie", "both_bad"]
        assert table.frame["voter"].to_list() == ["v0", "v1", "v2", "v3"]
        assert str(table.frame["date"][0]) == "2023-11-14"


def test_results_and_details_of_one_run_are_read_once(files):
    folder = files["lighteval results"].path.parents[3]
    made = sources.account(folder)
    assert (made.table, made.n_used) == ("attempts", 4)
    assert made.left_out == {
        "scores, where attempts are read (--table scores reads them)": 1,
        "an average over tasks": 2,
        "lower is better, and nothing says what the highest value is": 1,
    }
    assert isinstance(sources.read(folder, table="scores"), Scores)


def test_harbor_sums_what_a_trial_of_several_steps_spent(files):
    path = files["Harbor job with repeats and steps"].path
    stated = json.loads((path / "result.json").read_text())["stats"]
    frame = sources.read(path).frame
    assert frame["tokens"].sum() == stated["n_input_tokens"] + stated["n_output_tokens"]
    assert frame["cost"].sum() == pytest.approx(stated["cost_usd"], rel=1e-12)
    assert frame.sort("task", "attempt").select("task", "attempt", "score", "limit").rows() == [
        ("acme/task-0", 1, 1.0, None),
        ("acme/task-0", 2, 0.0, None),
        ("acme/task-1", 1, 1.0, None),
        ("acme/task-1", 2, None, "AgentTimeoutError"),
        ("acme/task-2", 1, 0.5, None),
    ]


def test_harbor_names_model_agent_limit_cost_and_seconds(files):
    frame = sources.read(files["Harbor job"].path).frame.sort("task")
    assert frame["subject"].unique().to_list() == ["acme/small (terminus-2)"]
    assert frame.select("outcome", "limit", "cost", "seconds", "tokens").row(2) == (
        *("limit", "AgentTimeoutError", 0.01, 60, 120),
    )


def test_samples_without_a_model_take_it_from_the_evals(files):
    made = formats.MADE / "inspect_frames"
    with pytest.raises(InputError, match="names no model. Make it with samples_df"):
        sources.read(made / "samples_default.csv")
    table = sources.read([made / "samples_default.csv", made / "evals.parquet"])
    assert table.frame["subject"].unique().to_list() == ["mockllm/model"]
    assert table.frame["score"].mean() == 0.5


def test_live_frames_of_inspect_are_read():
    made = formats.MADE / "inspect_frames"
    live = pl.read_parquet(made / "samples.parquet")
    for frame in (live, live.to_pandas()):
        table = sources.read(frame, scorer="match")
        assert isinstance(table, Attempts)
        assert (len(table), table.frame["score"].mean()) == (12, 0.5)
    own = pl.DataFrame({"subject": ["m"], "task": ["t"], "score": [1.0]})
    assert len(sources.read(own)) == 1


def samples_frame(model, order, scorer="match"):
    """samples_df of a run whose samples were numbered after they came into this order; sample k is solved if k is even."""
    return pl.DataFrame(
        {
            "sample_id": [f"{model}-{place}" for place, _ in enumerate(order)],
            "eval_id": model,
            "task_name": "quiz",
            "model": model,
            "id": list(range(1, len(order) + 1)),
            "epoch": 1,
            "input": [f"question {k}" for k in order],
            "target": [str(k) for k in order],
            f"score_{scorer}": ["C" if k % 2 == 0 else "I" for k in order],
        }
    )


def test_samples_numbered_after_shuffling_are_paired_by_what_they_ask():
    table = sources.read([samples_frame("a", range(20)), samples_frame("b", [*range(10, 20), *range(10)])])
    scores = table.frame.pivot("subject", index="task", values="score")
    assert (len(scores), (scores["a"] == scores["b"]).all()) == (20, True)
    assert "paired by their content" in " ".join(table.notes)
    same = sources.read([samples_frame("a", range(20)), samples_frame("b", range(20))])
    assert set(same.frame["task"]) == {f"quiz/{k}" for k in range(1, 21)}
    assert not same.notes


@pytest.mark.parametrize(
    "scorer", ["attack_success_rate", "bias_score", "harmfulness_score", "jailbreak_success", "score_toxicity"]
)
def test_lower_scores_are_better_where_the_scorer_counts_what_is_bad(scorer):
    table = sources.read(samples_frame("a", range(6), scorer))
    assert set(table.frame["better"]) == {"lower"}
    assert "Lower scores are better: quiz" in " ".join(table.notes)
    assert "better" not in sources.read(samples_frame("a", range(6), scorer), better="higher").frame.columns


# folders and unknown files


def test_every_file_of_a_folder_is_read_or_named(files, tmp_path):
    shutil.copy(files["promptfoo output"].path, tmp_path / "promptfoo.json")
    shutil.copy(files["EvalPlus results"].path, tmp_path / "acme--x.eval_results.json")
    for place in range(7):
        (tmp_path / f"note{place}.txt").write_text("hello")
    (tmp_path / "beside.csv").write_text("subject,task,score\nm,t,1\n")
    (tmp_path / "near.json").write_text('{"date": "2026-01-01", "hash": "x", "tasks": {}}')
    made = sources.account(tmp_path)
    assert Counter(one.source for one in made.files) == {"promptfoo": 1, "evalplus": 1, None: 9}
    assert made.n_unexplained == 0
    names = "note0.txt, note1.txt, note2.txt, note3.txt, note4.txt and 2 more."
    assert f"7 files were not read (not recognised): {names}" in made.notes
    assert any(
        "not recognised; closest to evalplus (results), but without eval): near.json." in note for note in made.notes
    )
    assert any("a table beside evalplus, promptfoo; name it to read it): beside.csv." in note for note in made.notes)


def test_a_damaged_file_among_others_is_named_and_strict_stops(files, tmp_path):
    whole = files["promptfoo output"].path.read_text()
    (tmp_path / "a.json").write_text(whole)
    (tmp_path / "b.json").write_text(whole[: len(whole) // 2])
    made = sources.account(tmp_path)
    assert (made.n_read, made.n_used, made.n_unexplained) == (4, 4, 0)
    assert any(note.startswith("1 file was not read (damaged; --strict stops instead): b.json") for note in made.notes)
    with pytest.raises(InputError, match=r"b\.json: not a whole JSON file"):
        sources.read(tmp_path, strict=True)


def test_an_unknown_file_names_the_nearest_format(tmp_path):
    (tmp_path / "x.json").write_text('{"evalId": "e", "outcome": {}}')
    with pytest.raises(InputError, match=r"closest to promptfoo \(output\), but without results"):
        sources.read(tmp_path / "x.json")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no file in it is of a known format"):
        sources.read(tmp_path / "empty")


def test_another_package_may_bring_a_source(tmp_path, monkeypatch):
    class Plugin:
        ABOUT = "lines of model and score"
        OPTIONS = frozenset()

        @staticmethod
        def recognise(path):
            return "it ends in .plug" if path.suffix == ".plug" else None

        @staticmethod
        def read(paths, *, divide_by=1, progress=None):
            rows = [line.split() for path in paths for line in path.read_text().splitlines()]
            return Attempts(
                pl.DataFrame(
                    {"subject": [r[0] for r in rows], "task": ["t"] * len(rows), "score": [float(r[1]) for r in rows]}
                )
            )

    class Point:
        name = "plugged"

        @staticmethod
        def load():
            return Plugin

    class Broken(Point):
        name = "broken"

        @staticmethod
        def load():
            raise RuntimeError("cannot be imported")

    monkeypatch.setattr(sources, "entry_points", lambda group: [Point, Broken])
    sources._plugins.cache_clear()
    try:
        (tmp_path / "x.plug").write_text("m 0.5\n")
        assert sources.recognise(tmp_path / "x.plug").source == "plugged"
        assert sources.read(tmp_path / "x.plug").frame["score"].to_list() == [0.5]
        assert "plugged" in sources.formats()
        assert "broken" not in sources.formats()
    finally:
        monkeypatch.undo()
        sources._plugins.cache_clear()


@pytest.mark.parametrize("failing", ["recognise", "read", "gives nothing", "has no options"])
def test_a_source_of_another_package_that_fails_is_named_in_one_line(tmp_path, monkeypatch, failing):
    def fail(*_, **__):
        raise RuntimeError("it broke")

    class Plugin:
        ABOUT = "anything"
        recognise = fail if failing == "recognise" else staticmethod(lambda path: "it is mine")
        read = fail if failing == "read" else staticmethod(lambda *_, **__: None)

    if failing != "has no options":
        Plugin.OPTIONS = frozenset()

    class Point:
        name = "plugged"
        load = staticmethod(lambda: Plugin)

    monkeypatch.setattr(sources, "entry_points", lambda group: [Point])
    sources._plugins.cache_clear()
    try:
        path = tmp_path / "x.csv"
        path.write_text("model,item,score\nm,q,1\n")
        if failing == "has no options":
            assert len(sources.read(path)) == 1
            assert "plugged" not in sources.formats()
        else:
            with pytest.raises(
                InputError, match=r"x\.csv: the source 'plugged', which another package brought, failed"
            ):
                sources.read(path)
            assert len(sources.read(path, source_name="files")) == 1
    finally:
        monkeypatch.undo()
        sources._plugins.cache_clear()


# damage


def readable(path):
    """Read without a traceback, and with an account that sums."""
    try:
        made = sources.account(path)
    except HowsureError:
        return
    assert made.n_unexplained == 0, (path, made.as_dict())


def damaged(data, rng):
    """A file that was cut, has flipped bits, or lost or repeats a stretch."""
    data = bytearray(data)
    how = rng.randrange(4)
    if how == 0:
        return bytes(data[: rng.randrange(len(data))])
    if how == 1:
        for _ in range(rng.randrange(1, 5)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        return bytes(data)
    start = rng.randrange(len(data))
    stretch = data[start : start + rng.randrange(1, 40)]
    return bytes(data[:start] + (stretch * 3 if how == 2 else b"") + data[start + len(stretch) :])


def test_damaged_files_are_told_or_summed(files, tmp_path):
    rng = random.Random(7)
    for file in files.values():
        if not file.path.is_file() or file.path.stat().st_size > 100_000:
            continue
        data = file.path.read_bytes()
        for turn in range(8):
            path = tmp_path / f"{turn}" / file.path.name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(damaged(data, rng))
            readable(path)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def places(held, prefix=()):
    """Where values stand in a JSON document."""
    inside = held.items() if isinstance(held, dict) else enumerate(held) if isinstance(held, list) else ()
    for key, value in inside:
        yield (*prefix, key)
        yield from places(value, (*prefix, key))


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_values_of_another_type_are_told_or_summed(files, tmp_path_factory, data):
    names = [
        name
        for name, file in files.items()
        if file.by in ("hand", "DeepEval") and file.path.suffix in (".json", ".jsonl")
    ]
    file = files[data.draw(st.sampled_from(names))]
    is_lines = file.path.suffix == ".jsonl"
    lines = (
        [json.loads(line) for line in file.path.read_text().splitlines()]
        if is_lines
        else json.loads(file.path.read_text())
    )
    for _ in range(data.draw(st.integers(1, 3))):
        *steps, last = data.draw(st.sampled_from(list(places(lines)) or [(0,)]))
        held = lines
        for step in steps:
            held = held[step]
        held[last] = data.draw(JSON)
    path = tmp_path_factory.mktemp("typed") / file.path.name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) if is_lines else json.dumps(lines))
    readable(path)


@pytest.mark.parametrize("layout", ["evalId", "eval", "testCases", "leaderboards", "results"])
def test_deep_nesting_and_huge_lines_are_told(tmp_path, layout):
    deep = '{"evalId": 1, "date": 1, "hash": 1, "results": {"version": 3, "results": ' + "[" * 100_000
    (tmp_path / "deep.json").write_text(deep.replace("evalId", layout))
    readable(tmp_path / "deep.json")
    closed = f'{{"{layout}": ' + "[" * 5000 + "]" * 5000 + "}"
    (tmp_path / "closed.json").write_text(closed)
    readable(tmp_path / "closed.json")
    (tmp_path / "long.jsonl").write_text('{"model_a": "' + "x" * 3_000_000 + '", "model_b": "b", "winner": "tie"}\n')
    readable(tmp_path / "long.jsonl")


def test_scores_of_any_size_need_a_direction(tmp_path):
    shutil.copy(formats.MADE / "scan/n_messages.parquet", tmp_path / "n_messages.parquet")
    with pytest.raises(InputError, match="nothing says whether higher ones are better: n_messages"):
        sources.read(tmp_path / "n_messages.parquet")
    table = sources.read(tmp_path / "n_messages.parquet", better="lower")
    assert table.frame.select("score", "scale", "better").unique().rows() == [(2.0, "free", "lower")]
    both = sources.account(formats.MADE / "scan")
    assert (both.n_read, both.n_used, both.n_unexplained) == (24, 12, 0)
    assert both.left_out == {"outside 0–1, and nothing says which scores are better": 12}


@pytest.mark.skipif(not formats.SHARED.is_dir(), reason="no shared data beside the project")
def test_the_documented_table_is_what_the_command_prints(files, outcomes):
    documented = (ROOT / "docs/formats.md").read_text().splitlines()
    printed = [formats.line(file, outcomes.get(name)) for name, file in files.items()]
    assert len(printed) > 30
    assert [line for line in printed if line not in documented] == []


# which scores are better


def deepeval_run(folder):
    cases = [
        {"name": f"c{i}", "metricsData": [{"name": "Hallucination", "score": x}]} for i, x in enumerate((0.0, 0.5))
    ]
    (folder / "run.json").write_text(
        json.dumps({"testCases": cases, "metricsScores": [], "hyperparameters": {"model": "m"}})
    )
    return {}


def openai_run(folder):
    spec = {"spec": {"completion_fns": ["m"], "eval_name": "asr.v0", "base_eval": "asr"}}
    events = [
        {"run_id": "r", "event_id": n, "sample_id": f"s{n}", "type": "metrics", "data": {"wer": x}}
        for n, x in enumerate((0.0, 1.5))
    ]
    (folder / "log.jsonl").write_text("".join(json.dumps(one) + "\n" for one in (spec, *events)))
    return {}


def lighteval_run(folder):
    frame = pl.DataFrame(
        {"metric": [{"em": 1.0, "wer": 0.0}, {"em": 0.0, "wer": 1.5}], "doc": [{"id": "a"}, {"id": "b"}]}
    )
    frame.write_parquet(folder / "details_asr_2026-01-01T00-00-00.0.parquet")
    return {"metric": "wer"}


def helm_run(folder):
    run = folder / "run"
    run.mkdir()
    (run / "run_spec.json").write_text(json.dumps({"name": "talk:model=m", "adapter_spec": {"model": "m"}}))
    stats = [
        {"instance_id": f"i{n}", "stats": [{"name": {"name": "toxic_frac"}, "mean": x, "count": 1}]}
        for n, x in enumerate((0.0, 0.5))
    ]
    (run / "per_instance_stats.json").write_text(json.dumps(stats))
    return {"metric": "toxic_frac"}


@pytest.mark.parametrize("make", [deepeval_run, openai_run, lighteval_run, helm_run])
def test_a_metric_of_which_lower_values_are_better_is_read_so(tmp_path, make):
    options = make(tmp_path)
    table = sources.read(tmp_path, **options)
    assert set(table.frame["better"]) == {"lower"}
    assert sorted(table.frame["score"])[0] == 0
    is_free = max(table.frame["score"]) > 1
    assert ("free" in table.frame["scale"].to_list() if "scale" in table.frame.columns else False) == is_free
    assert sources.account(tmp_path, **options).n_unexplained == 0


def test_an_unknown_metric_of_lighteval_is_not_another_one(tmp_path):
    lighteval_run(tmp_path)
    with pytest.raises(OptionError, match="No metric in .* called 'wher'"):
        sources.read(tmp_path, metric="wher")
    assert sources.read(tmp_path).frame["score"].to_list() == [1, 0]  # higher is better first


# attempts without a score


def test_harbor_tells_limits_of_the_agent_from_faults_of_the_instrument(tmp_path):
    exceptions = ["AgentTimeoutError", "VerifierTimeoutError", "RateLimitError", "ContextLengthExceededError", None]
    for place, exception in enumerate([*exceptions, "late, but scored"]):
        trial = {
            "task_name": f"t{place}", "trial_name": f"t{place}__a", "agent_info": {"name": "x"},
            "verifier_result": {"rewards": {"reward": 1}} if place == 5 else None,
            "exception_info": {"exception_type": exception} if exception else None,
        }  # fmt: skip
        (tmp_path / f"t{place}").mkdir()
        (tmp_path / f"t{place}/result.json").write_text(json.dumps(trial))
    frame = sources.read(tmp_path).frame.sort("task")
    assert frame["outcome"].to_list() == ["limit", "errored", "errored", "limit", "unscored", "scored"]
    assert frame["reason"].to_list() == [*exceptions[:4], "the verifier gave no reward", None]


def test_frames_of_inspect_keep_samples_without_a_score():
    rows = [
        {"id": "a", "score_includes": "C", "error": None, "limit": None},
        {"id": "b", "score_includes": None, "error": "boom", "limit": None},
        {"id": "c", "score_includes": None, "error": None, "limit": "token"},
        {"id": "d", "score_includes": "nan", "error": None, "limit": None},
    ]
    frame = pl.DataFrame(rows).with_columns(
        sample_id=pl.col("id"), eval_id=pl.lit("e"), epoch=1, model=pl.lit("m"), task_name=pl.lit("t")
    )
    table = sources.read(frame)
    assert table.frame["outcome"].to_list() == ["scored", "errored", "limit", "unscored"]
    assert table.frame["reason"].to_list() == [None, "boom", "token", "the score is nan"]


def test_scanners_without_a_value_are_attempts_where_others_have_one(files, tmp_path):
    scan = pl.read_parquet(files["Inspect Scout results"].path)
    broken = [None if "scan_error" not in scan.columns else pl.lit(None, pl.String)][0]
    gone = pl.int_range(pl.len()) == 0
    changed = scan.with_columns(
        pl.when(gone).then(None).otherwise("value").alias("value"),
        pl.when(gone).then(pl.lit("null")).otherwise("value_type").alias("value_type"),
    )
    if broken is not None:
        late = pl.int_range(pl.len()) == 1
        changed = changed.with_columns(
            pl.when(late).then(pl.lit("no reply")).otherwise("scan_error").alias("scan_error")
        )
    changed.write_parquet(tmp_path / "scan.parquet")
    table = sources.read(tmp_path / "scan.parquet")
    reasons = dict(table.frame.drop_nulls("reason").select("reason", "outcome").rows())
    assert reasons == {"the scanner gave no value": "unscored"} | (
        {"no reply": "errored"} if broken is not None else {}
    )
    assert len(table) == len(scan)


def test_a_blank_run_of_metr_is_an_attempt(tmp_path):
    rows = [
        {"task_id": "t/1", "alias": "m", "score_binarized": 1},
        {"task_id": "t/2", "alias": "m", "score_binarized": None, "fatal_error_from": "server"},
    ]
    rows += [{"task_id": "t/3", "alias": "m", "score_binarized": None, "fatal_error_from": "usageLimits"}]
    (tmp_path / "runs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = sources.read(tmp_path / "runs.jsonl")
    assert table.frame["outcome"].to_list() == ["scored", "errored", "limit"]
    assert sources.account(tmp_path / "runs.jsonl").n_unexplained == 0


def test_an_empty_cell_of_a_spreadsheet_is_an_attempt(tmp_path):
    pytest.importorskip("fastexcel")
    writer = pytest.importorskip("xlsxwriter")
    with writer.Workbook(tmp_path / "x.xlsx") as book:
        sheet = book.add_worksheet()
        for place, row in enumerate(
            [("model", "item", "score"), ("a", "q1", 1), ("a", "q2", None), ("b", "q1", "timeout")]
        ):
            sheet.write_row(place, 0, row)
    table = sources.read(tmp_path / "x.xlsx")
    assert table.frame["outcome"].to_list() == ["scored", "unscored", "errored"]
