"""Every Eval Ever: one JSON file per evaluation with its aggregates, and beside it a jsonl file with the samples.

Both are read, versions 0.2 and 0.3, and `write` makes files of version 0.3.
"""

from __future__ import annotations

import hashlib
import json
import re
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
from howsure.sources._records import LOWER, Found, as_table, inner, items, load_json, number, text
from howsure.tables import Attempts, Scores, Table
from howsure.tables.frames import json_lines
from howsure.tables.outcomes import MISSING, OWN_FAILURES

__all__ = ["ABOUT", "HARNESS", "LAYOUTS", "OPTIONS", "SCHEMA_VERSION", "read", "recognise", "write"]

ABOUT = "Every Eval Ever: aggregate JSON files as scores, instance-level jsonl files as attempts"
OPTIONS = frozenset({"metric", "table", "strict", "better"})
HARNESS = dict.fromkeys(OWN_FAILURES, "wrong")  # in the aggregates that `write` makes
LAYOUTS = {
    "an aggregate": frozenset({"schema_version", "evaluation_id", "model_info", "evaluation_results"}),
    "samples": frozenset({"schema_version", "evaluation_id", "model_id", "sample_id", "evaluation"}),
    "an index without scores": frozenset({"record_type", "object_path", "object_uuid"}),
}
SCHEMA_VERSION = "0.3.0"

_RESERVED = re.compile(r"CON|PRN|AUX|NUL|COM\d|LPT\d", re.IGNORECASE)  # names of devices on Windows


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

    return as_table(
        paths,
        load,
        divide_by=divide_by,
        progress=progress,
        table=table,
        strict=strict,
        better=better,
        harness=HARNESS,
    )


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
        else:
            _add_score(found, held, result, model, f"{name} ({metric})" if names.count(name) > 1 and metric else name)
    return found


def _add_score(found: Found, held: Any, result: dict[str, Any], model: str | None, benchmark: str | None) -> None:
    """A score, brought to 0–1 by the metric's lowest and highest value, higher is better."""
    config, details = inner(result, "metric_config"), inner(result, "score_details")
    uncertainty = inner(details, "uncertainty")
    score, se = number(details.get("score")), number(inner(uncertainty, "standard_error").get("value"))
    low, high = number(config.get("min_score")) or 0.0, number(config.get("max_score"))
    if score == -1 and config.get("has_unknown_level"):
        found.left_out["unknown level"] += 1
        return
    is_lower = bool(config.get("lower_is_better"))
    if is_lower and (high is None or high <= low):
        found.left_out[LOWER] += 1
        return
    if score is not None and high is not None and high > low and ((low, high) != (0.0, 1.0) or is_lower):
        score, se = (score - low) / (high - low), None if se is None else se / (high - low)
        score = 1 - score if is_lower else score
        told = "1 to 0, as lower is better" if is_lower else "0 to 1, as the file says"
        found.notes.append(f"{benchmark}: scores from {low:g} to {high:g} are read as {told}.")
    n_items = number(uncertainty.get("num_samples")) or number(inner(result, "source_data").get("samples_number"))
    if score is not None and not is_lower:
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
    """The samples of a file; which scores are better is said in the aggregate of the same name, where it is there."""
    found = Found(path)
    beside = path.with_name(f"{path.name.removesuffix('.gz').removesuffix('.jsonl').removesuffix('_samples')}.json")
    results = items(load_json(beside), "evaluation_results") if beside.is_file() else []
    is_lower = {
        text(inner(one).get("evaluation_name")): bool(inner(one, "metric_config").get("lower_is_better"))
        for one in results
    }
    for _, sample in json_lines(path):
        name, result = text(sample.get("evaluation_name")), inner(sample, "evaluation")
        ident = text(sample.get("sample_id"))
        latency = number(inner(sample, "performance").get("latency_ms"))
        outcome = inner(sample, "metadata").get("outcome")
        found.add(
            subject=text(sample.get("model_id")),
            task=ident and f"{name}/{ident}",
            score=None if outcome in MISSING else number(result.get("score")),
            outcome=outcome if outcome in MISSING else None,
            reason=text(sample.get("error")) or "no score",
            better={True: "lower", False: "higher"}.get(is_lower.get(name)),  # type: ignore[arg-type]
            domain=name,
            item_digest=text(sample.get("sample_hash")),
            seconds=None if latency is None else latency / 1000,
            tokens=number(inner(sample, "token_usage").get("total_tokens")),
            error=text(sample.get("error")) if outcome in (None, "errored") else None,
            limit=text(sample.get("error")) if outcome == "limit" else None,
            source=path.name,
        )
    return found


# writing


def write(table: Table, folder: Path, *, relationship: str = "other", organisation: str = "unknown") -> list[Path]:
    """Write a table as files of Every Eval Ever 0.3: per model one aggregate, and for attempts its samples.

    Texts of questions and answers are not in Howsure's tables: the samples carry scores, ids and hashes, and empty texts. The format wants a
    score of every sample: one without has score 0, its error or reason, and its ``outcome`` among the metadata. The aggregates are over the
    attempts that count.

    Parameters
    ----------
    table : Attempts or Scores
        What to write.
    folder : Path
        The folder for the files, which lie in it as in a datastore (``data/COLLECTION/DEVELOPER/MODEL/UUID.json``). The UUID depends on the content alone.
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
        counted = {rows["subject"][0]: rows for rows in _by(table.counted.frame, "subject")}
        return [
            path
            for rows in _by(table.frame, "subject")
            for path in _write_model(rows, counted.get(rows["subject"][0]), folder, relationship, organisation)
        ]
    if isinstance(table, Scores):
        written = []
        for rows in _by(table.frame, "model"):
            record = _record(rows["model"][0], rows, relationship, organisation)
            record["evaluation_results"] = [_result_of_score(row) for row in rows.rows(named=True)]
            written.append(write_atomic(folder / f"{_place(record)}.json", _dumped(record)))
        return written
    raise OptionError(f"{type(table).__name__} cannot be written as Every Eval Ever; attempts and scores can.")


def _write_model(
    rows: pl.DataFrame, counted: pl.DataFrame | None, folder: Path, relationship: str, organisation: str
) -> Iterator[Path]:
    record = _record(rows["subject"][0], rows, relationship, organisation)
    domains = rows.with_columns(_eval_name(rows).alias("#eval"))
    results = []
    for part in [] if counted is None else _by(counted.with_columns(_eval_name(counted).alias("#eval")), "#eval"):
        # every item counts once, with the mean of its attempts, as in `howsure summary`
        means = part.group_by("task").agg(pl.col("score").mean())["score"]
        deviation = means.std()
        uncertainty: dict[str, Any] = {"num_samples": len(means)}
        if isinstance(deviation, float):
            error = deviation / len(means) ** 0.5
            uncertainty |= {"standard_error": {"value": error, "method": "analytic"}, "standard_deviation": deviation}
        score = {"score": float(means.mean()), "uncertainty": uncertainty}  # type: ignore[arg-type]
        is_lower = "better" in part.columns and (part["better"] == "lower").all()
        is_free = "scale" in part.columns and (part["scale"] == "free").any()
        results.append(_result(part["#eval"][0], score, is_lower=is_lower, is_free=is_free))
    record["evaluation_results"] = results
    place = _place(record)
    lines = "".join(
        json.dumps(_sample(row, record["evaluation_id"]), ensure_ascii=False) + "\n" for row in domains.rows(named=True)
    )
    record["detailed_evaluation_results"] = {
        "format": "jsonl",
        "file_path": f"{place}_samples.jsonl",
        "hash_algorithm": "sha256",
        "checksum": hashlib.sha256(lines.encode()).hexdigest(),
        "total_rows": len(domains),
    }
    yield write_atomic(folder / f"{place}.json", _dumped(record))
    yield write_atomic(folder / f"{place}_samples.jsonl", lines)


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
            "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
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


def _result(name: str, details: dict[str, Any], *, is_lower: bool = False, is_free: bool = False) -> dict[str, Any]:
    return {
        "evaluation_result_id": name,
        "evaluation_name": name,
        "source_data": {"dataset_name": name, "source_type": "other"},
        "metric_config": {
            "metric_id": "score",
            "metric_name": "score",
            "metric_unit": "points" if is_free else "proportion",
            "lower_is_better": is_lower,
            "score_type": "continuous",
            "min_score": "-Infinity" if is_free else 0.0,
            "max_score": "Infinity" if is_free else 1.0,
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
        "evaluation": {
            "score": 0.0 if row["score"] is None else row["score"],
            "is_correct": row["score"] == (0 if row.get("better") == "lower" else 1) and row.get("scale") != "free",
        },
        "metadata": {"attempt": str(row["attempt"])},
    }
    if row.get("seconds") is not None:
        sample["performance"] = {"latency_ms": row["seconds"] * 1000}
    if row.get("error"):
        sample["error"] = row["error"]
    if row["score"] is None:
        sample["metadata"]["outcome"] = row["outcome"]
        sample["error"] = row["reason"]
    return sample


def _place(record: dict[str, Any]) -> str:
    """Where the format wants a record, without the ending: ``data/COLLECTION/DEVELOPER/MODEL/UUID``, with a UUID that is one of version 4 by its form."""
    lasting = {name: value for name, value in record.items() if name not in ("evaluation_id", "retrieved_timestamp")}
    digest = hashlib.sha256(_dumped(lasting).encode()).digest()
    evals = {result["evaluation_name"] for result in record["evaluation_results"]}
    named = record["model_info"]
    before, slash, after = named["id"].partition("/")
    folders = (
        next(iter(evals)) if len(evals) == 1 else "howsure",
        *((before, after) if slash else (named["developer"], before)),
    )
    return "/".join(["data", *map(_portable, folders), str(uuid.UUID(bytes=digest[:16], version=4))])


def _portable(name: str) -> str:
    """A name that a folder can have on any system."""
    plain = re.sub(r'[<>:"\\|?*/\x00-\x1f]', "_", name).rstrip(". ") or "_"
    return f"{plain}_" if plain.lower() == "data" or _RESERVED.fullmatch(plain.partition(".")[0]) else plain


def _dumped(record: dict[str, Any]) -> str:
    return json.dumps(
        record, indent=2, ensure_ascii=False, default=lambda value: str(value) if isinstance(value, date) else None
    )
