"""Results and samples of lm-evaluation-harness, in the shapes that its versions wrote."""

import gzip
import hashlib
import json
from datetime import date
from pathlib import Path

import polars as pl
import pytest

from howsure.errors import InputError, OptionError
from howsure.sources import lm_eval, read, recognise
from howsure.tables import Attempts, Scores

STAMP = "2024-05-01T12-34-56.789012"
REAL = Path(__file__).parents[3] / "shared/data/formats/lm_eval"
MODEL = "EleutherAI/pythia-160m"

GSM8K = {
    "alias": "gsm8k",
    "exact_match,strict-match": 0.5762,
    "exact_match_stderr,strict-match": 0.0136,
    "exact_match,flexible-extract": 0.6641,
    "exact_match_stderr,flexible-extract": 0.0130,
}


def results(folder, tasks, *, stamp=STAMP, model=MODEL, drop=(), **more):
    held = {
        "results": tasks,
        "group_subtasks": {name: [] for name in tasks},
        "configs": {name: {"task": name} for name in tasks},
        "versions": dict.fromkeys(tasks, 3.0),
        "n-shot": dict.fromkeys(tasks, 5),
        "higher_is_better": {name: {"acc": True, "exact_match": True, "word_perplexity": False} for name in tasks},
        "n-samples": {name: {"original": 1319, "effective": 200} for name in tasks},
        "config": {"model": "hf", "model_args": f"pretrained={model},dtype=float32", "limit": 200.0},
        "git_hash": "abc",
        "date": 1714566896.7,
        "model_source": "hf",
        "model_name": model,
        "model_name_sanitized": model.replace("/", "__"),
    } | more
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"results_{stamp}.json"
    path.write_text(json.dumps({key: value for key, value in held.items() if key not in drop}, indent=2))
    return path


def sample(doc_id, *, document=None, filtered="none", **metrics):
    doc = {"question": document or f"{doc_id} + 1 = ?"}
    return {
        "doc_id": doc_id,
        "doc": doc,
        "target": "2",
        "arguments": {"gen_args_0": {"arg_0": 'Q: \\ "x" ?\n', "arg_1": {"until": ["\n"]}}},
        "resps": [["2"]],
        "filtered_resps": ["2"],
        "filter": filtered,
        "metrics": list(metrics),
        "doc_hash": hashlib.sha256(json.dumps(doc).encode()).hexdigest(),
        "prompt_hash": "0" * 64,
        "target_hash": "1" * 64,
        **metrics,
    }


def samples(folder, rows, *, task="gsm8k", stamp=STAMP, drop=()):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"samples_{task}_{stamp}.jsonl"
    kept = [{key: value for key, value in row.items() if key not in drop} for row in rows]
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept))
    return path


# aggregates


def test_results_are_scores_with_error_and_number_of_items(tmp_path):
    path = results(tmp_path, {"arc_easy": {"alias": "arc_easy", "acc,none": 0.61, "acc_stderr,none": 0.01}})
    assert recognise(path).source == "lm_eval"
    table = read(path)
    assert isinstance(table, Scores)
    row = table.frame.row(0, named=True)
    assert row == {
        "model": MODEL,
        "benchmark": "arc_easy",
        "score": 0.61,
        "se": 0.01,
        "n_items": 200,
        "source": path.name,
    }
    assert table.notes == ()


def test_several_values_of_a_task_are_benchmarks_of_their_own_and_told(tmp_path):
    table = read(results(tmp_path, {"gsm8k": GSM8K}))
    assert table.frame["benchmark"].to_list() == [
        "gsm8k (exact_match, strict-match)",
        "gsm8k (exact_match, flexible-extract)",
    ]
    assert any("--metric and --filter choose" in note for note in table.notes)


def test_one_value_that_remains_bears_the_tasks_name(tmp_path):
    table = read(results(tmp_path, {"gsm8k": GSM8K}), filter="flexible-extract")
    assert table.frame.select("benchmark", "score", "se").rows() == [("gsm8k", 0.6641, 0.0130)]


def test_a_filter_that_is_none_is_not_named(tmp_path):
    task = {"acc,none": 0.5, "acc_stderr,none": 0.01, "acc_norm,none": 0.6, "acc_norm_stderr,none": 0.01}
    path = results(tmp_path, {"hellaswag": task})
    assert read(path).frame["benchmark"].to_list() == ["hellaswag (acc)", "hellaswag (acc_norm)"]
    assert read(path, metric="acc_norm").frame.select("benchmark", "score").rows() == [("hellaswag", 0.6)]


def test_a_benchmark_is_called_the_same_in_all_files(tmp_path):
    one = {"gsm8k": {"exact_match,strict-match": 0.5, "exact_match_stderr,strict-match": 0.01}}
    results(tmp_path / "a", {"gsm8k": GSM8K}, model="a")
    results(tmp_path / "b", one, model="b")
    frame = read(tmp_path / "*/results_*.json").frame
    strict = frame.filter(benchmark="gsm8k (exact_match, strict-match)")
    assert strict["model"].to_list() == ["a", "b"]


def test_groups_are_left_out_and_told(tmp_path):
    tasks = {name: {"acc,none": 0.5, "acc_stderr,none": 0.1} for name in ("mmlu", "mmlu_stem", "mmlu_algebra")}
    nested = {"mmlu": ["mmlu_stem"], "mmlu_stem": ["mmlu_algebra"], "mmlu_algebra": []}
    path = results(tmp_path, tasks, group_subtasks=nested, groups={"mmlu": tasks["mmlu"]})
    table = read(path)
    assert table.frame["benchmark"].to_list() == ["mmlu_algebra"]
    assert "Groups are excluded, as their tasks are read: mmlu, mmlu_stem." in table.notes


def test_what_is_no_score_is_left_out_and_told(tmp_path):
    tasks = {
        "wikitext": {"word_perplexity,none": 0.9, "word_perplexity_stderr,none": "N/A"},
        "wmt": {"bleu,none": 27.3, "bleu_stderr,none": 0.4},
        "odd": {"mcc,none": float("nan"), "note,none": "text"},
        "good": {"acc,none": 0.5, "acc_stderr,none": "N/A"},
    }
    table = read(results(tmp_path, tasks))
    assert table.frame["benchmark"].to_list() == ["good"]
    assert not table.has("se")
    assert f"Excluded because {LOWER}: word_perplexity on wikitext." in table.notes
    assert "Excluded because not between 0 and 1: bleu on wmt." in table.notes
    assert "Excluded because not a number: mcc on odd, note on odd." in table.notes


def test_a_scale_of_a_hundred_is_divided_with_its_error(tmp_path):
    path = results(tmp_path, {"wmt": {"bleu,none": 27.0, "bleu_stderr,none": 0.5}})
    assert read(path, divide_by=100).frame.select("score", "se").row(0) == pytest.approx((0.27, 0.005))


def test_nothing_left_is_an_error(tmp_path):
    path = results(tmp_path, {"wikitext": {"word_perplexity,none": 12.0}})
    with pytest.raises(InputError, match="no value from 0 to 1 where higher is better"):
        read(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "exact_mach"}, r"No metric called 'exact_mach'\. Did you mean 'exact_match'\?"),
        ({"filter": "strict"}, r"No filter called 'strict'\..*strict-match, flexible-extract"),
        ({"table": "ratings"}, "No table of lm-eval output called 'ratings'"),
    ],
)
def test_unknown_choices_name_those_there_are(tmp_path, options, message):
    with pytest.raises(OptionError, match=message):
        read(results(tmp_path, {"gsm8k": GSM8K}), **options)


@pytest.mark.parametrize("drop", [("model_name",), ("model_name", "config")])
def test_older_files_name_the_model_in_their_arguments_or_folder(tmp_path, drop):
    path = results(tmp_path / "EleutherAI__pythia-160m", {"arc": {"acc,none": 0.5}}, drop=drop)
    assert read(path).frame["model"].to_list() == [MODEL]


def test_fields_that_older_files_lack_are_not_needed(tmp_path):
    lacking = ("n-samples", "higher_is_better", "group_subtasks")
    table = read(results(tmp_path, {"arc": {"acc,none": 0.5, "acc_stderr,none": 0.1}}, drop=lacking))
    assert table.frame.select("score", "se").row(0) == (0.5, 0.1)
    assert not table.has("n_items")


def test_a_truncated_file_is_explained(tmp_path):
    path = results(tmp_path, {"gsm8k": GSM8K})
    path.write_text(path.read_text()[:-20])
    with pytest.raises(InputError, match=r"results_.*\.json: not a whole JSON file"):
        read(path)


# samples


def test_samples_are_attempts_paired_by_document(tmp_path):
    folder = tmp_path / "EleutherAI__pythia-160m"
    path = samples(folder, [sample(0, exact_match=1.0), sample(1, exact_match=0.0)])
    assert recognise(path).source == "lm_eval"
    table = read(path)
    assert isinstance(table, Attempts)
    frame = table.frame
    assert frame["subject"].to_list() == [MODEL, MODEL]
    assert frame["task"].to_list() == [f"gsm8k/{sample(n)['doc_hash']}" for n in (0, 1)]
    assert frame["domain"].to_list() == ["gsm8k", "gsm8k"]
    assert frame["score"].to_list() == [1, 0]
    assert frame["date"].to_list() == [date(2024, 5, 1)] * 2
    assert table.notes == ()


def test_the_results_beside_them_know_the_models_name(tmp_path):
    folder = tmp_path / "llama3.3__70b"
    results(folder, {"gsm8k": GSM8K}, model="llama3.3:70b")
    path = samples(folder, [sample(0, exact_match=1)])
    assert read(path).frame["subject"].to_list() == ["llama3.3:70b"]


@pytest.mark.parametrize(
    ("folder", "model"), [("a__b", "a/b"), ("plain", "plain"), ("a__b__c", "a__b__c"), ("__b", "__b")]
)
def test_a_folder_gives_its_slash_back_where_there_is_one_place_for_it(tmp_path, folder, model):
    path = samples(tmp_path / folder, [sample(0, exact_match=1)])
    assert read(path).frame["subject"].to_list() == [model]


def test_an_eval_with_underscores_and_packed_files(tmp_path):
    path = samples(tmp_path, [sample(0, acc=1)], task="mmlu_pro_computer_science")
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert recognise(packed).source == "lm_eval"
    assert read(packed).frame["domain"].to_list() == ["mmlu_pro_computer_science"]


def test_the_first_filter_is_read_and_told_unless_one_is_chosen(tmp_path):
    rows = [sample(n, filtered="strict-match", exact_match=0) for n in range(3)]
    rows += [sample(n, filtered="flexible-extract", exact_match=1) for n in range(3)]
    path = samples(tmp_path, rows)
    table = read(path)
    assert table.frame["score"].to_list() == [0, 0, 0]
    assert any("read through filter strict-match" in note and "flexible-extract" in note for note in table.notes)
    chosen = read(path, filter="flexible-extract")
    assert chosen.frame["score"].to_list() == [1, 1, 1]
    assert chosen.notes == ()


def test_the_first_usable_metric_is_read_and_told_unless_one_is_chosen(tmp_path):
    rows = [sample(n, perplexity=[-3.5, 2], length=120.0, acc=True, acc_norm=0.5) for n in range(2)]
    path = samples(tmp_path, rows)
    table = read(path)
    assert table.frame["score"].to_list() == [1, 1]
    assert any("scored by acc; --metric chooses among perplexity, length, acc_norm" in note for note in table.notes)
    assert read(path, metric="acc_norm").frame["score"].to_list() == [0.5, 0.5]


def test_a_metric_where_lower_is_better_comes_last(tmp_path):
    results(tmp_path, {"gsm8k": GSM8K}, higher_is_better={"gsm8k": {"loss": False, "acc": True}})
    path = samples(tmp_path, [sample(0, loss=0.25, acc=1)])
    assert read(path, metric="acc").frame["score"].to_list() == [1]
    assert read(path).frame["score"].to_list() == [1]
    assert "gsm8k: scored by acc; --metric chooses among loss." in read(path).notes
    alone = read(samples(tmp_path, [sample(0, loss=0.25)]))
    assert alone.frame.select("score", "better").rows() == [(0.25, "lower")]


LOWER = "lower is better, and nothing says what the highest value is"
METRICS = ["bits_per_byte", "brier_score", "byte_perplexity", "toxicity", "wer", "ter", "pct_stereotype"]


@pytest.mark.parametrize("metric", METRICS)
def test_a_metric_is_lower_is_better_by_its_name_where_the_file_says_nothing(tmp_path, metric):
    tasks = {"it": {f"{metric},none": 0.4, "acc,none": 0.5}}
    table = read(results(tmp_path, tasks, drop=("higher_is_better",)))
    assert table.frame["score"].to_list() == [0.5]
    assert f"Excluded because {LOWER}: {metric} on it." in table.notes
    path = samples(tmp_path / "alone", [sample(0, **{metric: 0.4, "acc": 1})])
    attempts = read(path)
    assert attempts.frame["score"].to_list() == [1]
    for value, scale in ((0.4, None), (2.5, "free")):  # alone, or asked for, it is read as it is
        path = samples(tmp_path / f"{scale}", [sample(0, **{metric: value}), sample(1, **{metric: value, "acc": 1})])
        lower = read(path, metric=metric)
        columns = ["score", "better", *(["scale"] if scale else [])]
        assert lower.frame.select(columns).rows() == [(value, "lower", *([scale] if scale else []))] * 2
        assert f"gsm8k: lower {metric} is better{', read as it is' if scale else ''}." in lower.notes


def test_what_a_file_says_of_a_metric_goes_before_its_name(tmp_path):
    tasks = {"it": {"error_found,none": 0.4, "score,none": 0.3}}
    told = {
        "it": {
            "metric_list": [
                {"metric": "error_found", "higher_is_better": True},
                {"metric": "score", "higher_is_better": False},
            ]
        }
    }
    table = read(results(tmp_path, tasks, drop=("higher_is_better",), configs=told))
    assert table.frame["score"].to_list() == [0.4]
    assert table.notes == (f"Excluded because {LOWER}: score on it.",)


def test_a_direction_that_nobody_says_is_told(tmp_path):
    table = read(results(tmp_path, {"it": {"vibe,none": 0.4}}, drop=("higher_is_better",)))
    assert table.notes == ("Read as higher is better, which neither file nor name says: vibe on it.",)
    attempts = read(samples(tmp_path / "alone", [sample(0, vibe=1)]))
    assert attempts.notes == ("gsm8k: vibe is read as higher is better, which neither file nor name says.",)


@pytest.mark.parametrize("filling", [0, 100_000])
def test_results_are_recognised_in_whichever_order_their_keys_stand(tmp_path, filling):
    path = results(tmp_path, {"arc": {"acc,none": 0.5}}, configs={"arc": {"text": "x" * filling}})
    path.write_text(json.dumps(json.loads(path.read_text()), sort_keys=True))
    assert recognise(path).source == "lm_eval"
    assert read(path).frame["score"].to_list() == [0.5]


def test_identical_documents_are_further_attempts(tmp_path):
    rows = [sample(0, document="same", acc=0), sample(1, acc=1), sample(2, document="same", acc=1)]
    table = read(samples(tmp_path, rows))
    same = table.frame.filter(task=f"gsm8k/{rows[0]['doc_hash']}")
    assert same.select("attempt", "score").rows() == [(1, 0.0), (2, 1.0)]
    assert "1 samples repeat a document of the same model and eval, and are its further attempts." in table.notes


def test_a_document_without_the_metric_is_an_attempt_and_the_harness_mean_is_that_of_the_others(tmp_path):
    rows = [sample(0, acc=1.0), sample(1, acc=0.0), sample(2), sample(3, acc=1.0), sample(4, acc=float("nan"))]
    samples(tmp_path, rows)
    results(tmp_path, {"gsm8k": {"alias": "gsm8k", "acc,none": 2 / 3}})
    table = read(tmp_path, count="harness")
    assert table.frame["outcome"].to_list() == ["scored", "scored", "unscored", "scored", "unscored"]
    assert table.frame["reason"].drop_nulls().to_list() == ["no acc", "no acc"]
    stated = read(tmp_path, table="scores").frame["score"][0]
    assert table.counted.frame["score"].mean() == pytest.approx(stated)
    assert table.counting("unscored=wrong").counted.frame["score"].mean() == pytest.approx(2 / 5)


@pytest.mark.skipif(not REAL.is_dir(), reason="no shared data beside the project")
def test_the_harness_means_of_a_real_run_are_those_that_it_states():
    table = read(REAL, count="harness")
    means = table.counted.frame.group_by("domain").agg(pl.mean("score"))
    stated = json.loads(next(REAL.glob("results_*.json")).read_text())["results"]
    for eval_name, mean in means.rows():
        values = [value for name, value in stated[eval_name].items() if isinstance(value, float)]
        assert any(mean == pytest.approx(value, abs=1e-12) for value in values), eval_name


def test_a_second_run_goes_on_counting(tmp_path):
    for day, score in (("2024-05-01", 0), ("2024-06-01", 1)):
        samples(tmp_path, [sample(0, acc=score)], stamp=f"{day}T00-00-00.1")
    assert read(tmp_path / "samples_*").frame.select("attempt", "score").rows() == [(1, 0.0), (2, 1.0)]


def test_older_samples_name_neither_filter_nor_metrics(tmp_path):
    rows = [sample(0, acc=0), sample(1, acc=1), sample(0, acc=1), sample(1, acc=1)]
    table = read(samples(tmp_path, rows, drop=("filter", "metrics", "doc_hash")))
    assert table.frame.select("task", "score").rows() == [("gsm8k/0", 0.0), ("gsm8k/1", 1.0)]
    assert any("does not name its filters" in note for note in table.notes)


def test_a_wrong_value_of_a_chosen_metric_is_named_with_its_line(tmp_path):
    rows = [sample(0, filtered="a", acc=1), sample(0, filtered="b", acc=1), sample(1, filtered="b", acc=62.5)]
    path = samples(tmp_path, rows)
    with pytest.raises(InputError, match=r"samples_gsm8k_.*\.jsonl line 3: score 62\.5 is not between 0 and 1"):
        read(path, filter="b", metric="acc")


def test_an_eval_without_the_metric_is_left_out_and_told(tmp_path):
    samples(tmp_path, [sample(0, acc=1)], task="arc")
    samples(tmp_path, [sample(0, exact_match=1)], task="gsm8k")
    table = read(tmp_path / "samples_*", metric="acc")
    assert table.frame["domain"].to_list() == ["arc"]
    assert any("samples_gsm8k" in note and "no acc to read" in note for note in table.notes)


def test_samples_without_a_usable_metric_are_refused(tmp_path):
    with pytest.raises(InputError, match="no metric with values from 0 to 1"):
        read(samples(tmp_path, [sample(0, bleu=["a", "b"])]))


def test_samples_under_another_name_are_refused_with_the_name_they_need(tmp_path):
    path = samples(tmp_path, [sample(0, acc=1)]).rename(tmp_path / "mine.jsonl")
    assert lm_eval.recognise(path) is None
    with pytest.raises(InputError, match=r"Call the file samples_<task>_<date>\.jsonl"):
        read(path, source_name="lm_eval")


def test_a_long_first_line_is_recognised_by_what_is_in_reach(tmp_path):
    path = samples(tmp_path, [sample(0, document="long " * 50_000, acc=1)])
    assert recognise(path).source == "lm_eval"
    assert len(read(path)) == 1


# folders


def test_a_folder_of_results_is_read_as_scores(tmp_path):
    results(tmp_path / "out" / "a", {"arc": {"acc,none": 0.5}}, model="a")
    results(tmp_path / "out" / "b", {"arc": {"acc,none": 0.6}}, model="b")
    assert recognise(tmp_path / "out").source == "lm_eval"
    assert read(tmp_path / "out").frame.select("model", "score").rows() == [("a", 0.5), ("b", 0.6)]


def test_of_a_folder_with_both_the_samples_are_read(tmp_path):
    results(tmp_path, {"gsm8k": GSM8K, "other": {"acc,none": 0.5}})
    samples(tmp_path, [sample(0, exact_match=1)])
    table = read(tmp_path)
    assert isinstance(table, Attempts)
    assert "Results without samples are not read: other; --table scores reads results instead." in table.notes
    assert isinstance(read(tmp_path, table="scores"), Scores)
    assert isinstance(read(tmp_path, table="attempts"), Attempts)


def test_a_table_that_nothing_was_written_for_is_refused(tmp_path):
    results(tmp_path, {"gsm8k": GSM8K})
    with pytest.raises(InputError, match=r"no samples_\*\.jsonl to make attempts from"):
        read(tmp_path, table="attempts")


def test_an_empty_folder_is_refused(tmp_path):
    assert lm_eval.recognise(tmp_path) is None
    with pytest.raises(InputError, match=r"contains neither results_\*\.json nor samples_\*\.jsonl"):
        read(tmp_path, source_name="lm_eval")


@pytest.mark.parametrize("text", ['{"results": [1]}', '{"results": {"a": 1}}', '{"status": "success"}', "", "[]"])
def test_other_json_is_left_to_others(tmp_path, text):
    (tmp_path / "results_x.json").write_text(text)
    assert lm_eval.recognise(tmp_path / "results_x.json") is None


def test_damaged_and_other_files_of_a_folder_are_named(tmp_path):
    results(tmp_path / "a", {"arc": {"acc,none": 0.5}}, model="a")
    broken = results(tmp_path / "b", {"arc": {"acc,none": 0.6}}, model="b")
    broken.write_text(broken.read_text()[:-20])
    (tmp_path / "log.txt").write_text("done")
    table = read(tmp_path)
    assert table.frame["model"].to_list() == ["a"]
    assert any(
        note.startswith("1 file was not read (damaged; --strict stops instead): results_") for note in table.notes
    )
    assert "1 file was not read (not recognised): log.txt." in table.notes
    with pytest.raises(InputError, match="not a whole JSON file"):
        read(tmp_path, strict=True)
