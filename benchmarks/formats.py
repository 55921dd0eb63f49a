"""Every format that Howsure reads: recognised without an option, its rows, and the tool's own count beside them.

``python -m benchmarks.formats`` prints the table of docs/formats.md. Files that others wrote lie in ``shared`` beside the project and in
``tests/sources/files`` (made by running the tool on a dummy model); the others are written here by hand after the tool's source.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from howsure import sources
from howsure.tables import Attempts

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared" / "data"
MADE = ROOT / "tests" / "sources" / "files"


@dataclass(frozen=True)
class FormatFile:
    """A file of a format: who wrote it, how many rows the tool counts in it, and the mean that the tool states."""

    format: str
    source: str
    path: Path
    by: str
    n: int
    mean: float | None = None


def main() -> None:
    """Print the table as Markdown."""
    with tempfile.TemporaryDirectory() as folder:
        print("| format | file by | read as | rows read | used | left out | tool's count | tool's mean | ours |")
        print("|---|---|---|---|---|---|---|---|---|")
        for file in files(Path(folder)):
            print(line(file, outcome(file) if file.path.exists() else None))


def line(file: FormatFile, found: tuple[sources.Account, float] | None) -> str:
    """A file's line of the table; `found` is its outcome, None where it is not here."""
    if found is None:
        return f"| {file.format} | {file.by} | not here | | | | | | |"
    made, ours = found
    stated = "" if file.mean is None else f"{file.mean:.4f}"
    mean = "" if file.mean is None else f"{ours:.4f}"
    counts = f"{made.n_read:,} | {made.n_used:,} | {made.n_left_out:,} | {file.n:,}"
    return f"| {file.format} | {file.by} | {made.files[0].source} → {made.table} | {counts} | {stated} | {mean} |"


def measure() -> dict[str, float]:
    """How many formats are read, of how many there is a file, and how many rows are unexplained."""
    with tempfile.TemporaryDirectory() as folder:
        there = [file for file in files(Path(folder)) if file.path.exists()]
        made = [outcome(file)[0] for file in there]
    return {
        "formats": len(made),
        "by_others": sum(file.by != "hand" for file in there),
        "rows_unexplained": sum(abs(one.n_unexplained) for one in made),
    }


def outcome(file: FormatFile) -> tuple[sources.Account, float]:
    """The account of reading a file without options, and the mean score over items."""
    table, made = sources._read(file.path, None, 1, None, is_cached=False, options={})  # `account` and `read` in one
    if isinstance(table, Attempts):
        table = sources.with_count(table, [one.source for one in made.files if one.source], "harness", None)
    frame = table.counted.frame if isinstance(table, Attempts) else table.frame
    if "score" not in frame.columns:
        return made, float("nan")
    if "task" in frame.columns:
        frame = frame.group_by("task").agg(pl.col("score").mean())
    return made, float(frame["score"].mean())  # type: ignore[arg-type]


def files(folder: Path) -> Iterator[FormatFile]:
    """All files, those that are written by hand in `folder`."""
    formats = SHARED / "formats"
    yield FormatFile("Inspect log (.eval)", "inspect_logs", MADE / "modulo.eval", "Inspect", 6, 1 / 3)
    yield FormatFile("Inspect log (.json)", "inspect_logs", formats / "inspect/data_arc_qwen.json", "Inspect", 3, 1 / 3)
    yield FormatFile(
        "Inspect log, keys sorted",
        "inspect_logs",
        formats / "inspect/data_arc_sonnet_sorted_keys.json",
        "Inspect",
        5,
        1.0,
    )
    yield FormatFile(
        "Inspect samples_df", "inspect_frames", MADE / "inspect_frames/samples.parquet", "Inspect", 12, 0.5
    )
    yield FormatFile("Inspect evals_df", "inspect_frames", MADE / "inspect_frames/evals.parquet", "Inspect", 1, 0.5)
    yield FormatFile("Inspect Scout results", "inspect_scout", MADE / "scan/has_digit.parquet", "Scout", 12, 10 / 12)
    (results,) = (
        (formats / "lm_eval").glob("results_*.json") if (formats / "lm_eval").is_dir() else (formats / "absent",)
    )
    yield FormatFile("lm-eval results", "lm_eval", results, "lm-eval", 2, 0.0002)
    yield FormatFile("lm-eval results and samples", "lm_eval", formats / "lm_eval", "lm-eval", 12, 0.0)
    eee = formats / "every_eval_ever"
    yield FormatFile(
        "Every Eval Ever aggregate 0.2", "every_eval_ever", eee / "98ea850e-7019-4728-a558-8b1819ec47c2.json", "EEE", 6
    )
    name = "f3a1c0de-4b2e-4c1a-9f6d-1b7e5a2c8d40"
    yield FormatFile("Every Eval Ever aggregate 0.3", "every_eval_ever", eee / f"{name}.json", "EEE", 1, 0.75)
    yield FormatFile("Every Eval Ever samples 0.3", "every_eval_ever", eee / f"{name}_samples.jsonl", "EEE", 1, 1.0)
    runs = sorted((formats / "helm").glob("*")) if (formats / "helm").is_dir() else [formats / "absent"] * 2
    yield FormatFile("HELM run (HellaSwag)", "helm", runs[0], "HELM", 10, 0.3)
    yield FormatFile("HELM run (MMLU, two splits)", "helm", runs[1], "HELM", 10, 0.1)
    yield FormatFile("DeepEval test run", "deepeval", MADE / "deepeval_test_run.json", "DeepEval", 10, (0.2 + 0.55) / 2)
    yield FormatFile("promptfoo run", "promptfoo", MADE / "promptfoo_output.json", "promptfoo", 16)
    solved = MADE / "acme--small_dummy_temp_0.8_eval_results.json"
    yield FormatFile("EvalPlus run (two samples a task)", "evalplus", solved, "EvalPlus", 328, 0.75)
    yield FormatFile("SWE-bench run report", "swe_bench", MADE / "acme__small.first.json", "SWE-bench", 8, 3 / 8)
    yield FormatFile("lighteval run", "lighteval", _lighteval(folder / "lighteval_run"), "lighteval", 14, 2 / 3)
    log = MADE / "openai_evals_log.jsonl"
    yield FormatFile("OpenAI evals run", "openai_evals", log, "OpenAI evals", 8, 0.75)
    yield FormatFile("Harbor job with repeats and steps", "harbor", MADE / "harbor_job", "Harbor", 6)
    stated = MADE / "hub/acme/small/.eval_results/sums.yaml"
    yield FormatFile("Hugging Face .eval_results file", "hf_eval_results", stated, "huggingface_hub", 3, 1.675 / 3)
    yield FormatFile("METR runs", "metr", SHARED / "metr/runs_2025-01-28.jsonl", "METR", 7063)
    yield FormatFile("METR published results (YAML)", "metr", SHARED / "metr/published_horizons_1_0.yaml", "METR", 33)
    yield FormatFile("Epoch folder of 2025", "epoch", SHARED / "epoch-2025-11", "Epoch", 3035)
    hub = SHARED / "trials/epoch_hub_2026_04/benchmark_data.zip"
    yield FormatFile("Epoch zip of April 2026", "epoch", hub, "Epoch", 3653)
    yield FormatFile("counts (csv)", "files", SHARED / "items/aime2025_cot.csv", "its authors", 1500)
    yield from by_hand(folder)


def _lighteval(folder: Path) -> Path:
    """The run's folder, with the names that lighteval gives, some of which no file of a repository can have everywhere."""
    stamp = "2026-11-17T06-10-32.010043"
    for kept, name in (
        ("results.json", f"results/acme/adder/results_{stamp}.json"),
        ("details.parquet", f"details/acme/adder/{stamp}/details_sums|0_{stamp}.parquet"),
    ):
        (folder / name).parent.mkdir(parents=True)
        shutil.copy(MADE / "lighteval" / kept, folder / name)
    return folder


def by_hand(folder: Path) -> Iterator[FormatFile]:  # noqa: PLR0915 - one file after another
    """Formats whose tool cannot be run here: small files after the tool's source or documentation."""

    def write(name: str, held: Any) -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(held if isinstance(held, str) else json.dumps(held))
        return path

    def lines(name: str, rows: list[dict[str, Any]]) -> Path:
        return write(name, "".join(json.dumps(row) + "\n" for row in rows))

    stamp = "2026-08-10T17-22-11.385681"
    results = {
        "config_general": {"model_name": "acme/small", "lighteval_sha": "?"},
        "results": {
            "anli:r1|0": {"acc": 0.25, "acc_stderr": 0.25},
            "wiki|0": {"ppl": 12.5, "ppl_stderr": 1.0},
            "all": {"acc": 0.25, "acc_stderr": 0.25, "ppl": 12.5},
        },
        "config_tasks": {"anli:r1|0": {"metrics": [{"metric_name": "acc", "higher_is_better": True}]}},
    }
    path = write(f"lighteval/results/acme/small/results_{stamp}.json", results)
    yield FormatFile("lighteval results", "lighteval", path, "hand", 4, 0.25)
    details = folder / f"lighteval/details/acme/small/{stamp}/details_anli:r1|0_{stamp}.parquet"
    details.parent.mkdir(parents=True)
    docs = [{"query": f"q{n}", "id": str(n), "choices": ["a", "b"], "gold_index": 0} for n in range(4)]
    pl.DataFrame({"doc": docs, "metric": [{"acc": 1.0 if n == 0 else 0.0} for n in range(4)]}).write_parquet(details)
    yield FormatFile("lighteval details", "lighteval", details, "hand", 4, 0.25)

    def promptfoo(place: int, *, success: bool, error: str | None = None) -> dict[str, Any]:
        return {
            "promptIdx": 0, "testIdx": place, "vars": {"n": place}, "provider": {"id": "openai:gpt-x", "label": ""},
            "prompt": {"raw": "Add {{n}}", "label": "add"}, "success": success, "score": 1.0 if success else 0.25,
            "latencyMs": 120, "cost": 0.001, "failureReason": 2 if error else 0 if success else 1, "error": error,
            "gradingResult": None if error else {"pass": success, "score": 1.0 if success else 0.25, "reason": ""},
            "namedScores": {}, "response": {"output": "2", "tokenUsage": {"total": 9}},
        }  # fmt: skip

    cases = [
        promptfoo(0, success=True),
        promptfoo(1, success=False),
        promptfoo(2, success=True),
        promptfoo(3, success=False, error="timeout"),
    ]
    metrics = {"testPassCount": 2, "testFailCount": 1, "testErrorCount": 1}
    summary = {
        "version": 3, "timestamp": "2026-05-01T10:00:00Z",
        "prompts": [{"provider": "openai:gpt-x", "label": "add", "raw": "Add {{n}}", "metrics": metrics}],
        "results": cases, "stats": {"successes": 2, "failures": 1, "errors": 1},
    }  # fmt: skip
    path = write("promptfoo.json", {"evalId": "eval-1", "results": summary, "config": {"description": "sums"}})
    yield FormatFile("promptfoo output", "promptfoo", path, "hand", 4, 1 / 2)

    def solution(base: str, plus: str) -> dict[str, Any]:
        return {
            "task_id": "",
            "solution": "",
            "base_status": base,
            "plus_status": plus,
            "base_fail_tests": [],
            "plus_fail_tests": [],
        }

    tasks = {"HumanEval/0": [solution("pass", "pass")], "HumanEval/1": [solution("pass", "fail")]}
    held = {
        "date": "2026-05-01 10:00",
        "hash": "x",
        "eval": tasks,
        "pass_at_k": {"base": {"pass@1": 1.0}, "plus": {"pass@1": 0.5}},
    }
    path = write("evalplus/acme--small_vllm_temp_0.0.eval_results.json", held)
    yield FormatFile("EvalPlus results", "evalplus", path, "hand", 2, 0.5)

    ids = [f"django__django-{n}" for n in range(5)]
    report = {
        "total_instances": 5, "submitted_instances": 4, "completed_instances": 3, "resolved_instances": 2,
        "unresolved_instances": 1, "empty_patch_instances": 0, "error_instances": 1, "completed_ids": ids[:3],
        "incomplete_ids": ids[4:], "empty_patch_ids": [], "submitted_ids": ids[:4], "resolved_ids": ids[:2],
        "unresolved_ids": ids[2:3], "error_ids": ids[3:4], "schema_version": 2,
    }  # fmt: skip
    path = write("acme__small.run1.json", report)
    yield FormatFile("SWE-bench report", "swe_bench", path, "hand", 5, 0.4)
    boards = {
        "leaderboards": [
            {"name": "Verified", "results": [{"name": "agent + small", "resolved": 65.2, "date": "2026-01-02"}]}
        ]
    }
    yield FormatFile("SWE-bench leaderboards", "swe_bench", write("leaderboards.json", boards), "hand", 1, 0.652)

    for place, reward in enumerate((1.0, 0.0, None)):
        trial = {
            "task_name": f"terminal-bench/t{place}", "trial_name": f"t{place}__a", "source": "terminal-bench",
            "agent_info": {"name": "terminus-2", "model_info": {"name": "small", "provider": "acme"}},
            "agent_result": {"n_input_tokens": 100, "n_output_tokens": 20, "cost_usd": 0.01},
            "verifier_result": None if reward is None else {"rewards": {"reward": reward}},
            "exception_info": {"exception_type": "AgentTimeoutError"} if reward is None else None,
            "started_at": "2026-01-01T10:00:00Z", "finished_at": "2026-01-01T10:01:00Z",
        }  # fmt: skip
        write(f"harbor/t{place}__a/result.json", trial)
    evals = {"terminus-2__small__terminal-bench": {"n_trials": 3, "n_errors": 1, "metrics": [{"mean": 1 / 3}]}}
    write("harbor/result.json", {"n_total_trials": 3, "stats": {"evals": evals}, "id": "j"})
    yield FormatFile("Harbor job", "harbor", folder / "harbor", "hand", 4, 1 / 3)

    trials = [
        {
            "task_id": f"t{n}",
            "trial_name": f"t{n}.1",
            "is_resolved": n < 2,
            "failure_mode": "unset" if n < 3 else "agent_timeout",
        }
        for n in range(4)
    ]
    path = write("tb/results.json", {"id": "r", "results": trials, "accuracy": 0.5, "n_resolved": 2})
    write(
        "tb/run_metadata.json",
        {"model_name": "acme/small", "agent_name": "terminus", "dataset_name": "terminal-bench-core"},
    )
    yield FormatFile("Terminal-Bench run", "harbor", path, "hand", 4, 0.5)

    def item(place: int, status: str) -> dict[str, Any]:
        return {
            "object": "eval.run.output_item", "id": f"o{place}", "created_at": 1750000000, "run_id": "r", "eval_id": "eval_1",
            "status": status, "datasource_item_id": place, "datasource_item": {},
            "results": [{"name": "match", "passed": status == "pass", "score": float(status == "pass")}],
            "sample": {"model": "gpt-x", "usage": {"total_tokens": 12}, "error": None},
        }  # fmt: skip

    page = {"object": "list", "data": [item(0, "pass"), item(1, "fail"), item(2, "error")], "has_more": False}
    yield FormatFile("OpenAI evals-API output items", "openai_evals", write("output_items.json", page), "hand", 3, 0.5)
    spec = {"spec": {"completion_fns": ["gpt-x"], "eval_name": "e.dev.v0", "base_eval": "e"}}
    events = [
        {
            "run_id": "r",
            "event_id": n,
            "sample_id": f"e.{n}",
            "type": "match",
            "data": {"correct": n % 2 == 0},
            "created_at": "2026-01-01 00:00:00",
        }
        for n in range(4)
    ]
    yield FormatFile("OpenAI evals log", "openai_evals", lines("openai.jsonl", [spec, *events]), "hand", 4, 0.5)

    votes = [
        {
            "question_id": f"q{n}",
            "model_a": "x",
            "model_b": "y",
            "winner": winner,
            "judge": f"v{n}",
            "tstamp": 1.7e9,
            "language": "English",
        }
        for n, winner in enumerate(("model_a", "model_b", "tie", "tie (bothbad)", "?"))
    ]
    yield FormatFile("LMArena votes (jsonl)", "arena_votes", lines("votes.jsonl", votes), "hand", 5)
    path = folder / "votes.parquet"
    pl.DataFrame(votes).write_parquet(path)
    yield FormatFile("LMArena votes (parquet)", "arena_votes", path, "hand", 5)

    yaml = "- dataset:\n    id: cais/hle\n    task_id: default\n  value: 20.9\n  date: '2026-01-15'\n- dataset:\n    id: openai/gsm8k\n    task_id: gsm8k\n  value: 91.5\n"
    yield FormatFile(
        "Hugging Face .eval_results",
        "hf_eval_results",
        write("acme/small/.eval_results/hle.yaml", yaml),
        "hand",
        2,
        0.562,
    )
    old = {
        "results": {"arc": {"acc": 0.4, "acc_stderr": 0.1, "ppl": 5.0}},
        "versions": {"arc": 0},
        "config": {"model_args": "pretrained=acme/small"},
    }
    yield FormatFile("lm-eval results before 0.4", "lm_eval", write("old/results.json", old), "hand", 2, 0.4)

    result = {"from_name": "quality", "to_name": "t", "type": "rating", "value": {"rating": 4}}
    done = {"completed_by": 10, "was_cancelled": False, "result": [result], "lead_time": 4.3}
    skipped = {"completed_by": 11, "was_cancelled": True, "result": []}
    exported = [{"id": 7, "data": {"text": "…"}, "annotations": [done, skipped], "predictions": []}]
    yield FormatFile("Label Studio export", "label_studio", write("label_studio.json", exported), "hand", 2)
    responses = {"quality": [{"user_id": "u1", "value": 3, "status": "submitted"}, {"user_id": "u2", "value": 4, "status": "draft"}]}  # fmt: skip
    argilla: list[dict[str, Any]] = [{"id": "r1", "fields": {"text": "…"}, "responses": responses}]
    yield FormatFile("Argilla records", "argilla", write("argilla.json", argilla), "hand", 2)
    annotated = [{"id": str(n), "displayed_text": "…", "label_annotations": {"size": {"Yes": "true"}}, "span_annotations": {}, "behavioral_data": {}} for n in (1, 2)]  # fmt: skip
    yield FormatFile("Potato annotations", "potato", lines("kim/annotated_instances.jsonl", annotated), "hand", 2)
    choices = [{"text": "…", "_input_hash": n, "_task_hash": n, "_annotator_id": "kim", "options": [{"id": 1, "text": "good"}], "accept": [1], "answer": answer} for n, answer in ((1, "accept"), (2, "ignore"))]  # fmt: skip
    yield FormatFile("Prodigy annotations", "prodigy", lines("prodigy.jsonl", choices), "hand", 2)
    batch = "HITId,WorkerId,AssignmentId,AssignmentStatus,Answer.tone\nh1,w1,a1,Approved,calm\nh1,w2,a2,Rejected,sad\n"
    yield FormatFile("Mechanical Turk results", "mturk", write("batch.csv", batch), "hand", 2)


if __name__ == "__main__":
    main()
