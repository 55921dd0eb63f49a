"""Every Eval Ever: one JSON file per evaluation with its aggregates, and beside it a jsonl file with the samples.

Both are read, versions 0.2 and 0.3, and `write` makes files of version 0.3.
"""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl

from howsure._version import __version__
from howsure.errors import InputError, OptionError
from howsure.safe_io import write_atomic
from howsure.sources import Progress
from howsure.sources._reading import fitting
from howsure.sources._records import Found, as_table, inner, items, load_json, number, text
from howsure.tables import Attempts, Scores, Table
from howsure.tables.frames import json_lines

__all__ = ["ABOUT", "LAYOUTS", "OPTIONS", "SCHEMA_VERSION", "read", "recognise", "write"]

ABOUT = "Every Eval Ever: aggregate JSON files as scores, instance-level jsonl files as attempts"
OPTIONS = frozenset({"metric", "table", "strict", "better"})
LAYOUTS = {
    "an aggregate": frozenset({"schema_version", "evaluation_id", "model_info", "evaluation_results"}),
    "samples": frozenset({"schema_version", "evaluation_id", "model_id", "sample_id", "evaluation"}),
    "an index without scores": frozenset({"record_type", "object_path", "object_uuid"}),
}
SCHEMA_VERSION = "0.3.0"


def recognise(path: Path) -> str | None:
    """By the keys that every aggregate, or every sample, has."""
    layout = fitting(path, LAYOUTS)
    return f"it is {layout} of Every Eval Ever" if layout in ("an aggregate", "samples") else None


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
    """Samples as attempts, or aggregates as scores between each metric's lowest and highest value.

    Where both are given, the samples are read, and a note says where their mean is not the aggregate.
    """

    def load(path: Path) -> Found:
        layout = fitting(path, LAYOUTS)
        if layout == "an index without scores":
            raise InputError(
                f"{path}: an index of Every Eval Ever, which names the files with scores. Read those files."
            )
        return _samples(path) if layout == "samples" else _aggregate(path, metric)

    return as_table(paths, load, divide_by=divide_by, progress=progress, table=table, strict=strict, better=better)


def _aggregate(path: Path, wanted: str | None) -> Found:
    held = load_json(path)
    found = Found(path, Scores)
    model = text(inner(held, "model_info").get("id")) or text(inner(held, "model_info").get("name"))
    results = [result for result in items(held, "evaluation_results") if isinstance(result, dict)]
    found.left_out["not an object"] += len(items(held, "evaluation_results")) - len(results)
    names = [text(result.get("evaluation_name")) for result in results]
    for result, name in zip(results, names, strict=True):
        config = inner(result, "metric_config")
        metric = text(config.get("metric_id")) or text(config.get("metric_name"))
        if wanted and metric != wanted:
            found.left_out[f"another metric than {wanted}"] += 1
        elif config.get("lower_is_better"):
            found.left_out["lower is better"] += 1
        else:
            _add_score(found, held, result, model, f"{name} ({metric})" if names.count(name) > 1 and metric else name)
    return found


def _add_score(found: Found, held: Any, result: dict[str, Any], model: str | None, benchmark: str | None) -> None:
    """A score, brought to 0–1 by the metric's lowest and highest value."""
    config, details = inner(result, "metric_config"), inner(result, "score_details")
    uncertainty = inner(details, "uncertainty")
    score, se = number(details.get("score")), number(inner(uncertainty, "standard_error").get("value"))
    low, high = number(config.get("min_score")) or 0.0, number(config.get("max_score"))
    if score == -1 and config.get("has_unknown_level"):
        found.left_out["unknown level"] += 1
        return
    if score is not None and high is not None and high > low and (low, high) != (0.0, 1.0):
        score, se = (score - low) / (high - low), None if se is None else se / (high - low)
        found.notes.append(f"{benchmark}: scores from {low:g} to {high:g} are read as 0 to 1, as the file says.")
    n_items = number(uncertainty.get("num_samples")) or number(inner(result, "source_data").get("samples_number"))
    if score is not None:
        found.reported[model or "", benchmark or ""] = score
    found.add(
        model=model,
        benchmark=benchmark,
        score=score,
        se=se,
        n_items=int(n_items) if n_items and n_items >= 1 else None,
        organisation=text(inner(held, "model_info").get("developer")),
        source=found.path.name,
    )


def _samples(path: Path) -> Found:
    found = Found(path)
    for _, sample in json_lines(path):
        name, result = text(sample.get("evaluation_name")), inner(sample, "evaluation")
        ident = text(sample.get("sample_id"))
        latency = number(inner(sample, "performance").get("latency_ms"))
        found.add(
            subject=text(sample.get("model_id")),
            task=ident and f"{name}/{ident}",
            score=number(result.get("score")),
            reason=text(sample.get("error")) or "no score",
            domain=name,
            item_digest=text(sample.get("sample_hash")),
            seconds=None if latency is None else latency / 1000,
            tokens=number(inner(sample, "token_usage").get("total_tokens")),
            error=text(sample.get("error")),
            source=path.name,
        )
    return found


# writing


def write(table: Table, folder: Path, *, relationship: str = "other", organisation: str = "unknown") -> list[Path]:
    """Write a table as files of Every Eval Ever 0.3: per model one aggregate, and for attempts its samples.

    Texts of questions and answers are not in Howsure's tables: the samples carry scores, ids and hashes, and empty texts.

    Parameters
    ----------
    table : Attempts or Scores
        What to write.
    folder : Path
        The folder for the files, which are named by a UUID that depends on the content alone.
    relationship : str
        Who evaluated: first_party, third_party, collaborative or other.
    organisation : str
        The organisation that provides the results.

    Returns
    -------
    list of Path
        The files, each validating against the published schema.
    """
    if isinstance(table, Attempts):
        return [
            path
            for rows in _by(table.frame, "subject")
            for path in _write_model(rows, folder, relationship, organisation)
        ]
    if isinstance(table, Scores):
        written = []
        for rows in _by(table.frame, "model"):
            record = _record(rows["model"][0], rows, relationship, organisation)
            record["evaluation_results"] = [_result_of_score(row) for row in rows.rows(named=True)]
            written.append(write_atomic(folder / f"{_uuid(record)}.json", _dumped(record)))
        return written
    raise OptionError(f"{type(table).__name__} cannot be written as Every Eval Ever; attempts and scores can.")


def _write_model(rows: pl.DataFrame, folder: Path, relationship: str, organisation: str) -> Iterator[Path]:
    record = _record(rows["subject"][0], rows, relationship, organisation)
    domains = rows.with_columns(_eval_name(rows).alias("#eval"))
    results = []
    for part in _by(domains, "#eval"):
        # every item counts once, with the mean of its attempts, as in `howsure summary`
        means = part.group_by("task").agg(pl.col("score").mean())["score"]
        deviation = means.std()
        uncertainty: dict[str, Any] = {"num_samples": len(means)}
        if isinstance(deviation, float):
            error = deviation / len(means) ** 0.5
            uncertainty |= {"standard_error": {"value": error, "method": "analytic"}, "standard_deviation": deviation}
        score = {"score": float(means.mean()), "uncertainty": uncertainty}  # type: ignore[arg-type]
        results.append(_result(part["#eval"][0], score))
    record["evaluation_results"] = results
    name = _uuid(record)
    lines = "".join(
        json.dumps(_sample(row, record["evaluation_id"]), ensure_ascii=False) + "\n" for row in domains.rows(named=True)
    )
    samples = folder / f"{name}_samples.jsonl"
    record["detailed_evaluation_results"] = {
        "format": "jsonl",
        "file_path": samples.name,
        "hash_algorithm": "sha256",
        "checksum": hashlib.sha256(lines.encode()).hexdigest(),
        "total_rows": len(domains),
    }
    yield write_atomic(folder / f"{name}.json", _dumped(record))
    yield write_atomic(samples, lines)


def _eval_name(rows: pl.DataFrame) -> pl.Expr:
    return pl.col("domain").fill_null("eval") if "domain" in rows.columns else pl.lit("eval")


def _by(frame: pl.DataFrame, name: str) -> list[pl.DataFrame]:
    return frame.partition_by(name, maintain_order=True)


def _record(model: str, rows: pl.DataFrame, relationship: str, organisation: str) -> dict[str, Any]:
    developer = rows["organisation"][0] if "organisation" in rows.columns else None
    now = f"{time.time():.6f}"
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"howsure/{model.replace('/', '_')}/{now}",
        "retrieved_timestamp": now,
        "source_metadata": {
            "source_name": "howsure",
            "source_type": "evaluation_run",
            "source_organization_name": organisation,
            "evaluator_relationship": relationship,
        },
        "eval_library": {"name": "howsure", "version": __version__},
        "model_info": {
            "name": model.rpartition("/")[2] or model,
            "id": model,
            "developer": developer or model.partition("/")[0],
        },
    }


def _result_of_score(row: dict[str, Any]) -> dict[str, Any]:
    details: dict[str, Any] = {"score": row["score"]}
    uncertainty: dict[str, Any] = {}
    if row.get("se") is not None:
        uncertainty["standard_error"] = {"value": row["se"]}
    if row.get("n_items") is not None:
        uncertainty["num_samples"] = row["n_items"]
    return _result(row["benchmark"], details | ({"uncertainty": uncertainty} if uncertainty else {}))


def _result(name: str, details: dict[str, Any]) -> dict[str, Any]:
    return {
        "evaluation_result_id": name,
        "evaluation_name": name,
        "source_data": {"dataset_name": name, "source_type": "other"},
        "metric_config": {
            "metric_id": "score",
            "metric_name": "score",
            "metric_unit": "proportion",
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": 1.0,
        },
        "score_details": details,
    }


def _sample(row: dict[str, Any], evaluation: str) -> dict[str, Any]:
    sample: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": evaluation,
        "model_id": row["subject"],
        "evaluation_name": row["#eval"],
        "evaluation_result_id": row["#eval"],
        "sample_id": row["task"].removeprefix(f"{row['#eval']}/"),
        "sample_hash": row.get("item_digest"),
        "interaction_type": "single_turn",
        "input": {"raw": "", "reference": []},
        "output": {"raw": []},
        "answer_attribution": [],
        "evaluation": {"score": row["score"], "is_correct": row["score"] == 1},
        "metadata": {"attempt": str(row["attempt"])},
    }
    if row.get("seconds") is not None:
        sample["performance"] = {"latency_ms": row["seconds"] * 1000}
    if row.get("error"):
        sample["error"] = row["error"]
    return sample


def _uuid(record: dict[str, Any]) -> str:
    lasting = {name: value for name, value in record.items() if name not in ("evaluation_id", "retrieved_timestamp")}
    return str(uuid.uuid5(uuid.NAMESPACE_URL, _dumped(lasting)))


def _dumped(record: dict[str, Any]) -> str:
    return json.dumps(
        record, indent=2, ensure_ascii=False, default=lambda value: str(value) if isinstance(value, date) else None
    )
