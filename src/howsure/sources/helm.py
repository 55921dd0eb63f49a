"""HELM run folders: ``run_spec.json`` with the model, ``per_instance_stats.json`` with every instance, ``stats.json`` with means.

Instances become attempts, one per trial of the training examples. The mean of an eval is then the mean in ``stats.json``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from howsure.errors import InputError, OptionError
from howsure.sources import Progress
from howsure.sources._records import LOWER, Found, as_table, content_digest, inner, items, load_json, number, text
from howsure.tables import Scores, Table
from howsure.tables.metrics import better_by_name, is_higher_better

__all__ = ["ABOUT", "FOLDER_FILES", "OPTIONS", "read", "recognise"]

ABOUT = "HELM run folders (run_spec.json with per_instance_stats.json or stats.json)"
OPTIONS = frozenset({"metric", "strict", "better", "table"})
FOLDER_FILES = frozenset(
    {"run_spec.json", "scenario.json", "scenario_state.json", "stats.json", "per_instance_stats.json", "instances.json"}
)

# the measures that HELM's own leaderboards show, in this order
_MAIN = (
    *("exact_match", "quasi_exact_match", "prefix_exact_match", "quasi_prefix_exact_match"),
    *("final_number_exact_match", "math_equiv_chain_of_thought", "math_equiv", "chain_of_thought_correctness"),
    *("ifeval_strict_accuracy", "wildbench_score_rescaled", "omni_math_accuracy", "program_accuracy", "strict_correct"),
    *("f1_score", "f1_set_match", "code_eval_acc", "test_avg", "pass", "edit_similarity", "classification_macro_f1"),
    *(
        "rouge_l",
        "rouge_2",
        "bleu_4",
        "RR@10",
        "NDCG@10",
        "safety_score",
        "annotation_financebench_label_correct_answer",
    ),
)


def recognise(path: Path) -> str | None:
    """A folder with the specification of a run and its results."""
    if not path.is_dir() or not (path / "run_spec.json").is_file():
        return None
    found = next((name for name in ("per_instance_stats.json", "stats.json") if (path / name).is_file()), None)
    return f"it is a HELM run: it contains run_spec.json and {found}" if found else None


def read(
    paths: Sequence[Path],
    *,
    divide_by: float = 1,
    progress: Progress | None = None,
    metric: str | None = None,
    table: str | None = None,
    strict: bool = False,
    better: str | None = None,
) -> Table:
    """Every instance of every run as an attempt, scored by HELM's main metric or by `metric`."""

    def load(path: Path) -> Found:
        has_instances = (path / "per_instance_stats.json").is_file() and table != "scores"
        return _instances(path, metric) if has_instances else _aggregates(path, metric)

    return as_table(paths, load, divide_by=divide_by, progress=progress, strict=strict, better=better, table=table)


def _run(path: Path) -> tuple[str | None, str | None]:
    """The model, and the run's name without it."""
    spec = load_json(path / "run_spec.json")
    adapter, name = inner(spec, "adapter_spec"), text(spec.get("name")) if isinstance(spec, dict) else None
    model = text(adapter.get("model")) or text(adapter.get("model_deployment"))
    scenario, colon, arguments = (name or path.name).partition(":")
    kept = [pair for pair in arguments.split(",") if pair and not pair.startswith(("model=", "model_deployment="))]
    return model, f"{scenario}{colon}{','.join(kept)}" if kept else scenario


def _instances(path: Path, wanted: str | None) -> Found:
    model, name = _run(path)
    held = load_json(path / "per_instance_stats.json")
    if not isinstance(held, list):
        raise InputError(f"{path}: per_instance_stats.json is not a list of instances. Make or fetch it again.")
    found = Found(path)
    measured = [(instance, _stats(instance)) for instance in held if isinstance(instance, dict)]
    found.left_out["not an object"] += len(held) - len(measured)
    metric = _metric(path, wanted, [measure for _, stats in measured for measure in stats], found)
    digests = _digests(path)
    splits = {stats[metric][1] for _, stats in measured if metric in stats}
    for instance, stats in measured:
        if inner(instance, "perturbation"):
            found.left_out["a perturbed copy of an instance"] += 1
            continue
        mean, split = stats.get(metric, (None, None))
        domain = f"{name} ({split})" if len(splits) > 1 and split else name
        ident = text(instance.get("instance_id"))
        found.add(
            subject=model,
            task=ident and f"{domain}/{ident}",
            score=mean,
            reason=f"no {metric}",
            better=None if metric in _MAIN else better_by_name(metric),
            domain=domain,
            item_digest=digests.get(ident or ""),
            seconds=stats.get("inference_runtime", (None, None))[0],
            tokens=_sum(stats, "num_prompt_tokens", "num_output_tokens"),
            source=path.name,
        )
    for split in splits:
        domain = f"{name} ({split})" if len(splits) > 1 and split else name
        reported = _reported(path, metric, split)
        if reported is not None:
            found.reported[model or "", domain or ""] = reported
    return found


def _aggregates(path: Path, wanted: str | None) -> Found:
    model, name = _run(path)
    found = Found(path, Scores)
    stats = [one for one in _listed(path / "stats.json") if not inner(one, "name", "perturbation")]
    names = [str(inner(one, "name").get("name")) for one in stats]
    metric = _metric(path, wanted, names, found)
    for one in stats:
        told = inner(one, "name")
        if told.get("name") != metric:
            found.left_out[f"another measure than {metric}"] += 1
            continue
        if metric not in _MAIN and is_higher_better(metric) is False:
            found.left_out[LOWER] += 1
            continue
        several = names.count(metric) > 1 and told.get("split")
        found.add(
            model=model,
            benchmark=f"{name} ({told['split']})" if several else name,
            score=number(one.get("mean")),
            source=path.name,
        )
    return found


def _metric(path: Path, wanted: str | None, measures: Sequence[str], found: Found) -> str:
    there = dict.fromkeys(measures)
    scores = [name for name in there if is_higher_better(name) or name in _MAIN]
    if wanted:
        if wanted not in there:
            raise OptionError.unknown(f"metric in {path}", wanted, scores or there)
        return wanted
    chosen = next((name for name in _MAIN if name in there), None) or next(iter(scores), None)
    if chosen is None:
        raise InputError(
            f"{path}: no measure that is known to be a score. Name one with --metric: {', '.join(there) or 'none'}."
        )
    if others := [name for name in scores if name != chosen and "@" not in name]:
        found.notes.append(f"{path.name}: scored by {chosen}; --metric chooses among {', '.join(others)}.")
    return chosen


def _stats(instance: dict[str, Any]) -> dict[str, tuple[float | None, str | None]]:
    """The mean and the split of each measure of one instance."""
    stats = [one for one in items(instance, "stats") if isinstance(one, dict)]
    return {
        str(inner(one, "name").get("name")): (number(one.get("mean")), text(inner(one, "name").get("split")))
        for one in stats
        if one.get("count")
    }


def _sum(stats: dict[str, tuple[float | None, str | None]], *names: str) -> float | None:
    found = [stats[name][0] for name in names if name in stats]
    return sum(one for one in found if one is not None) if found else None


def _listed(path: Path) -> list[dict[str, Any]]:
    held = load_json(path)
    return [one for one in held if isinstance(one, dict)] if isinstance(held, list) else []


def _reported(path: Path, metric: str, split: str | None) -> float | None:
    """The mean that HELM itself states."""
    if not (path / "stats.json").is_file():
        return None
    for one in _listed(path / "stats.json"):
        name = inner(one, "name")
        if name.get("name") == metric and text(name.get("split")) == split and not name.get("perturbation"):
            return number(one.get("mean"))
    return None


def _digests(path: Path) -> dict[str, str]:
    """A hash of what each instance asks and of its answers, where the run keeps them."""
    file = next((path / name for name in ("instances.json", "scenario_state.json") if (path / name).is_file()), None)
    if file is None:
        return {}
    held = load_json(file)
    states = items(held, "request_states") if isinstance(held, dict) else held if isinstance(held, list) else []
    digests = {}
    for state in states:
        instance = inner(state, "instance") or (state if isinstance(state, dict) else {})
        answers = sorted(
            f"{inner(one, 'output').get('text')} {one.get('tags')}"
            for one in items(instance, "references")
            if isinstance(one, dict)
        )
        digests[str(instance.get("id"))] = content_digest(inner(instance, "input").get("text"), answers)
    return digests
