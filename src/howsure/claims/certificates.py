"""Certificates: what was claimed, from which data, under which specifications, with which result; and whether all that can be found again."""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from howsure._version import __version__
from howsure.arguments import checked
from howsure.claims.checking import ClaimCheck, check
from howsure.claims.claim_files import Claim, ClaimFile, read_claims
from howsure.claims.inputs import KEYS, ClaimData, tables_of
from howsure.errors import InputError
from howsure.outside_text import json_text
from howsure.results import Provenance, Result, plain
from howsure.safe_io import read_bytes
from howsure.tables import Table
from howsure.tables.frames import as_text

if TYPE_CHECKING:
    from howsure.tables.frames import Source

__all__ = ["Verification", "certificate", "data_parts", "plan", "plan_differences", "read_certificate", "verify"]

_FORM = 1
_TOLERANCE = 1e-9
_MOST_TASKS = 50_000
_NOT_DATA = ("source", "log", "attempt")  # where and in which order a row was read, not what it says


@dataclass(frozen=True, kw_only=True, eq=False)
class Verification(Result):
    """What a certificate says, compared with what the data give now.

    Table ``verification``: one row per comparison: ``what``, ``is_equal`` and ``detail``.

    Parameters
    ----------
    rows : tuple[tuple[str, bool, str], ...]
        What was compared, whether it is equal, and what differs.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "verification"

    rows: tuple[tuple[str, bool, str], ...]
    provenance: Provenance

    @property
    def is_equal(self) -> bool:
        """Whether nothing differs."""
        return all(is_equal for _, is_equal, _ in self.rows)

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``verification``."""
        kinds = {"what": pl.String, "is_equal": pl.Boolean, "detail": pl.String}
        return {"verification": pl.DataFrame(list(self.rows), schema=kinds, orient="row")}


@checked
def plan(claims: ClaimFile | Claim | Path | str | Mapping[str, Any] | Sequence[Any], *, n_replicates: int = 1000, most: int = 500, level: float = 0.95, seed: int = 0) -> dict[str, Any]:  # fmt: skip
    """Claims, changes of choices and settings with their hash, to be fixed before the data are seen.

    Parameters
    ----------
    claims : path, mapping, sequence, Claim or ClaimFile
        As for `check`.
    n_replicates : int, default 1000
        Bootstrap replicates.
    most : int, default 500
        The largest number of specifications per claim.
    level : float, default 0.95
        Coverage of the intervals.
    seed : int, default 0
        Of the replicates.
    """
    settings = {"n_replicates": n_replicates, "most": most, "level": level, "seed": seed}
    file = read_claims(claims)
    content = plain({**file.as_dict(), "settings": settings, "version": __version__})
    written = datetime.datetime.now(tz=datetime.UTC).isoformat(timespec="seconds")
    return {
        "plan": content,
        "sentences": [str(one) for one in file.claims],
        "hash": _digest(content),
        "written": written,
    }


def plan_differences(planned: Mapping[str, Any], file: ClaimFile, settings: Mapping[str, Any]) -> list[str]:
    """How claims, choices and settings differ from a plan; nothing where they are as planned."""
    content = planned.get("plan")
    if not isinstance(content, Mapping) or planned.get("hash") != _digest(content):
        return ["the plan was changed after it was written: its hash does not fit"]
    now = file.as_dict()
    found = [f"{key} are not those of the plan" for key in ("claims", "choices") if content.get(key) != plain(now[key])]
    for key, value in settings.items():
        if content.get("settings", {}).get(key) != value:
            found.append(f"{key} is {value}, planned was {content.get('settings', {}).get(key)}")
    if content.get("version") != __version__:
        found.append(f"version is {__version__}, planned was {content.get('version')}")
    return found


@checked
def certificate(
    found: ClaimCheck,
    data: ClaimData | Table | Source | Sequence[Any],
    *,
    command: str = "",
    planned: Mapping[str, Any] | None = None,
    report: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A check as a certificate: plain JSON with digests of all its parts.

    Parameters
    ----------
    found : ClaimCheck
        What `check` returned.
    data : table, frame, path, or several of them
        The data that were checked.
    command : str
        The command that made it.
    planned : mapping, optional
        What `plan` returned before the data were seen; it is compared with what was done.
    report : mapping, optional
        The evaluator's answers to fields of reporting standards that the data do not fill, by the names of `REPORTING`.
    """
    held = ClaimData.of(data, found.file)
    settings = {**found.provenance.settings, "seed": found.provenance.seed}
    data_part = _data_part(held, found.file)
    made = plain(
        {
            "certificate": _FORM,
            "version": found.provenance.version,
            "machine": platform.machine(),
            "command": command,
            "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
            "settings": settings,
            "claims": found.file.as_dict(),
            "plan": _plan_part(planned, found.file, settings, held),
            "data": data_part,
            "choices": [v.choices.table().to_dicts() for v in found.verdicts],
            "specifications": [[list(one.options.values()) for one in v.specifications] for v in found.verdicts],
            "results": [_result(v) for v in found.verdicts],
            "reporting": _reporting(found, held, data_part["digest"], report or {}),
            "notes": list(found.provenance.notes),
        }
    )
    return {**made, "digests": {name: _digest(part) for name, part in made.items()}}


def read_certificate(path: Path) -> dict[str, Any]:
    """A certificate, or a plan, from its file."""
    try:
        content = json.loads(read_bytes(path), parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise InputError(f"{path}: is not JSON. Name a file that `howsure claims` wrote.") from None
    if not isinstance(content, dict) or not (
        {"certificate", "digests"} <= set(content) or {"plan", "hash"} <= set(content)
    ):
        raise InputError(f"{path}: is neither a certificate nor a plan. Name a file that `howsure claims` wrote.")
    return content


def _no_number(text: str) -> float:
    raise ValueError(text)


@checked
def verify(
    made: Mapping[str, Any] | Path | str,
    data: ClaimData | Table | Source | Sequence[Any],
    *,
    claims: ClaimFile | Path | str | None = None,
    planned: Mapping[str, Any] | Path | str | None = None,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Verification:
    """Whether a certificate's data, plan, options, version and results are found again.

    Everything that follows from the data is recomputed. Numbers agree if they differ by less than a relative 1e-9 (they are the same bits on the same kind of CPU).
    Command, date, machine, notes, and answers to reporting standards that data do not show are compared with their digests alone, which stand in the same file.

    Parameters
    ----------
    made : mapping or path
        The certificate.
    data : table, frame, path, or several of them
        The data, such as another copy of them.
    claims : path or ClaimFile, optional
        The claims as they are now; they are compared with those of the certificate.
    planned : mapping or path, optional
        The plan as it was published; it is compared with that of the certificate.
    scheduler : str, optional
        A Dask scheduler.
    progress : callable, optional
        Called with the number of replicates that are done and their total.
    """
    content = read_certificate(Path(made)) if isinstance(made, str | Path) else dict(made)
    if "digests" not in content:
        raise InputError("This is a plan, not a certificate. `howsure claims check --certificate` writes one.")
    file = read_claims(content.get("claims") or {})
    if not _is_sound(content, len(file.claims)):
        raise InputError("The certificate is damaged: parts are missing or not of their kind. Ask for another copy.")
    held = ClaimData.of(data, file)
    settings, plan_then = content["settings"], content["plan"]
    again = check(
        file, held, n_replicates=settings["n_replicates"], most=settings["most"], level=settings["level"], seed=settings["seed"],
        scheduler=scheduler, progress=progress,
    )  # fmt: skip
    now = certificate(again, held, planned=plan_then if "plan" in plan_then else None)
    digests, version = content["digests"], content.get("version")
    odd = [f"{name} is no part of a certificate" for name in content if name not in now]
    edited = [
        f"{name} was changed after it was written" for name in now if name != "digests" and _digest(content.get(name)) != digests.get(name)
    ]  # fmt: skip
    compared = {
        "certificate": [*odd, *edited],
        "version": [] if version == __version__ else [f"written by {version}, this is {__version__}"],
        "data": _data_differences(content["data"], now["data"]),
        "claims file": [] if claims is None else _claim_differences(file, read_claims(claims)),
        "plan": _plan_told(plan_then, now["plan"], planned),
        "options": _option_differences(content, now),
        "results": [
            text
            for then, now_one in zip(content["results"], now["results"], strict=True)
            for text in _result_differences(then, now_one)
        ],
        "reporting": _reporting_differences(content["reporting"], now["reporting"]),
    }
    if claims is None:
        del compared["claims file"]
    return Verification(
        rows=tuple((what, not problems, "; ".join(problems)) for what, problems in compared.items()),
        provenance=Provenance(
            {name: value for name, value in settings.items() if name != "seed"},
            held.digest,
            settings["seed"],
            held.notes,
        ),
    )


def _is_sound(content: Mapping[str, Any], n_claims: int) -> bool:
    """Whether a certificate has all parts, each of its kind and with one entry per claim."""
    try:
        settings, parts = content["settings"], data_parts(content["data"])
        return (
            content["certificate"] == _FORM
            and all(type(settings[key]) is int for key in ("n_replicates", "most", "seed"))
            and settings["seed"] >= 0
            and isinstance(settings["level"], float)
            and isinstance(content["plan"], Mapping)
            and isinstance(content["digests"], Mapping)
            and all(isinstance(one["filled"], Mapping) for one in content["reporting"].values())
            and all(len(content[key]) == n_claims for key in ("choices", "specifications", "results"))
            and all(
                isinstance(row[key], str) for one in content["choices"] for row in one for key in ("choice", "option")
            )
            and all(isinstance(one, Mapping) for one in content["results"])
            and all(isinstance(part["n_rows"], int) and isinstance(part["digest"], str) for part in parts.values())
            and all(isinstance(part["columns"], list) for part in parts.values())
            and all(isinstance(part[key], Mapping) for part in parts.values() for key in ("models", "tasks"))
        )
    except (KeyError, TypeError, AttributeError):
        return False


def _plan_part(
    planned: Mapping[str, Any] | None, file: ClaimFile, settings: Mapping[str, Any], held: ClaimData
) -> dict[str, Any]:
    """The plan itself, so that others can compare it, whether it was kept, and whether the data are younger than it."""
    if planned is None:
        return {"is_planned": False, "why_not": ["no plan was given"]}
    problems = plan_differences(planned, file, settings)
    return {
        "is_planned": not problems,
        "why_not": problems,
        "hash": planned.get("hash"),
        "written": planned.get("written"),
        "plan": planned.get("plan"),
        "data": data_age(planned, held),
    }


def data_age(planned: Mapping[str, Any], held: ClaimData) -> str:
    """Whether rows are dated before the plan was written, as a sentence.

    Parameters
    ----------
    planned : mapping
        What `plan` returned.
    held : ClaimData
        The data; attempts and votes may have a column ``date``.
    """
    written = str(planned.get("written", ""))[:10]
    dates = [
        table.lazy.select(pl.col("date").cast(pl.String)).collect(engine="streaming")["date"].drop_nulls()
        for table in held.tables.values()
        if table.has("date")
    ]
    n = sum(len(one) for one in dates)
    if not n or not written:
        return "The data have no dates, so they do not show whether the plan was written before them."
    n_before = sum(int((one < written).sum()) for one in dates)
    return f"{n_before:,} of {n:,} rows are dated before the day of the plan, {written}."


def _claim_differences(then: ClaimFile, now: ClaimFile) -> list[str]:
    """Claims and changes of choices that only the certificate has, or only the file."""
    before, after = then.as_dict(), now.as_dict()
    sides = (("file", after, before), ("certificate", before, after))
    return [f"{one} is only in the {where}" for key in ("claims", "choices") for where, a, b in sides for one in a[key] if one not in b[key]]  # fmt: skip


def _plan_told(
    then: Mapping[str, Any], now: Mapping[str, Any], planned: Mapping[str, Any] | Path | str | None
) -> list[str]:
    """Whether the plan was kept or not as the certificate says, and is the one that was published."""
    told = []
    kept = {True: "kept", False: "not kept"}
    says, shows = kept[bool(then.get("is_planned"))], kept[now["is_planned"]]
    if says != shows:
        told.append(f"it is said to be {says}, and is {shows} ({'; '.join(now['why_not']) or 'nothing differs'})")
    if planned is not None:
        published = read_certificate(Path(planned)) if isinstance(planned, str | Path) else planned
        if published.get("hash") != then.get("hash"):
            told.append(f"the plan of the certificate is {then.get('hash')}, the one given {published.get('hash')}")
    return told


def _option_differences(content: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Options that were listed or computed only once, or with another reason; and other lists of specifications."""
    problems = []
    for then, own in zip(content["choices"], now["choices"], strict=True):
        before, after = ({(row["choice"], row["option"]): row for row in rows} for rows in (then, own))
        for c, o in sorted(before.keys() | after.keys()):
            if (c, o) not in after:
                problems.append(f"option {c}={o} is in the certificate and not computed now")
            elif (c, o) not in before:
                problems.append(f"option {c}={o} is computed now and not in the certificate")
            elif before[c, o] != after[c, o]:
                problems.append(f"option {c}={o} has another question, reason or default")
    if content["specifications"] != now["specifications"] and not problems:
        problems.append("the list of specifications differs")
    return list(dict.fromkeys(problems))


def _data_part(held: ClaimData, file: ClaimFile) -> dict[str, Any]:
    """Digests of the table that the claims use; of several tables, those of each, by name."""
    parts = {name: _table_part(name, held.tables[name]) for name in tables_of(file.claims) if name in held.tables}
    if held.releases:
        days = {model: day.isoformat() for model, day in sorted(held.releases.items())}
        models = {model: _digest(day) for model, day in days.items()}
        columns = ["model", "released"]
        parts["releases"] = {"digest": _digest(days), "n_rows": len(days), "columns": columns, "models": models, "tasks": {}}  # fmt: skip
    if len(parts) == 1:
        ((name, part),) = parts.items()
        return {"table": name, **part}
    digests = {name: part["digest"] for name, part in parts.items()}
    return {"digest": _digest(digests), "n_rows": sum(part["n_rows"] for part in parts.values()), "tables": parts}


def data_parts(data: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The tables of a certificate's part ``data``, by name."""
    return dict(data["tables"]) if "tables" in data else {data.get("table", "attempts"): data}


def _table_part(name: str, table: Table) -> dict[str, Any]:
    """Digests of all rows, of each model's and of each task's (or raters and items, …): a changed row shows where two of them cross."""
    frame = as_text(table.frame.lazy()).collect()
    frame = frame.select(sorted(column for column in frame.columns if column not in _NOT_DATA))
    frame = frame.sort(frame.columns, nulls_last=True)

    def by(column: str) -> dict[str, str]:
        parts = frame.partition_by(column, as_dict=True, include_key=True, maintain_order=True)
        return {str(key[0]): _digest(part.write_csv()) for key, part in parts.items()}

    who, what = KEYS[name]
    is_large = frame[what].n_unique() > _MOST_TASKS
    return {
        "digest": _digest(frame.write_csv()),
        "n_rows": len(frame),
        "columns": frame.columns,
        "models": by(who),
        "tasks": {} if is_large else by(what),
    }


def _data_differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs, by table."""
    if then == now:
        return []
    before, after = data_parts(then), data_parts(now)
    found = [f"the {name} are only in the {where}" for where, a, b in (("certificate", before, after), ("data", after, before)) for name in a if name not in b]  # fmt: skip
    for name in after:
        if name in before:
            told = _table_differences(before[name], after[name])
            found += told if len(after) == 1 else [f"{name}: {one}" for one in told]
    return found


def _table_differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    if then == now:
        return []
    found = []
    if then["n_rows"] != now["n_rows"]:
        found.append(f"{now['n_rows']:,} rows, {then['n_rows']:,} in the certificate")
    if then["columns"] != now["columns"]:
        odd = sorted(set(then["columns"]) ^ set(now["columns"]))
        return [*found, f"other columns: {', '.join(odd)}"]
    models, tasks = ([name for name in sorted({*then[key], *now[key]}) if then[key].get(name) != now[key].get(name)] for key in ("models", "tasks"))  # fmt: skip
    if not models and not tasks:
        return [*found, *(["the digest of all rows"] if then["digest"] != now["digest"] else [])]
    where = [f"{word} {_some(names)}" for word, names in (("of", models), ("at", tasks)) if names]
    return [*found, f"rows {' '.join(where)} differ"]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")


def _result(verdict: Any) -> dict[str, Any]:
    return {
        "claim": str(verdict.claim),
        "verdict": verdict.verdict,
        "turns_on": verdict.turns_on,
        "estimate": verdict.default,
        "lowest": verdict.low,
        "highest": verdict.high,
        "share_supported": verdict.share_supported,
        "share_of_replicates": verdict.share_of_replicates,
        "values": [[one.estimate.value, one.estimate.low, one.estimate.high] for one in verdict.specifications],
        "status": [one.status for one in verdict.specifications],
        "effects": [
            [one.choice, one.option, one.effect.value, one.effect.low, one.effect.high] for one in verdict.effects
        ],
        "tipping_points": [one.sentence for one in verdict.tipping],
    }


def _result_differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """How one claim's result differs, in one sentence."""
    told = []
    for key in [*now, *(key for key in then if key not in now)]:
        name = key.replace("_", " ")
        if key not in now:
            told.append(f"{name} is no part of a result")
        elif not _is_close(then.get(key), now[key]):
            is_short = isinstance(now[key], str | float | None)
            told.append(f"{name} ({then.get(key)} in the certificate, {now[key]} now)" if is_short else name)
    return [f"{now['claim']} What differs: {', '.join(told)}"] if told else []


def _reporting_differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Fields of standards that the data fill, and that say something else; notes name files, and answers of the evaluator do not follow from the data."""
    return [
        f"{name}, {what}: the data say {text}"
        for name, part in now.items()
        for what, text in part["filled"].items()
        if REPORTING[name][what] != "notes" and then.get(name, {}).get("filled", {}).get(what) != text
    ]


def _is_close(a: Any, b: Any) -> bool:
    if isinstance(a, int | float) and isinstance(b, int | float) and not isinstance(a, bool):
        return math.isclose(a, b, rel_tol=_TOLERANCE, abs_tol=1e-12)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_is_close(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_is_close, a, b))
    return bool(a == b)


def _digest(value: Any) -> str:
    text = value if isinstance(value, str) else json_text(plain(value), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


REPORTING: dict[str, dict[str, str | None]] = {
    "STREAM": {
        "capability and threat model": None,
        "results that would rule the capability in or out": "threshold",
        "example item": None,
        "number of items": "n_items",
        "item type and scoring method": None,
        "how grading criteria were made": None,
        "grader: people or model, and agreement": None,
        "models tested": "models",
        "safeguards of the model": None,
        "elicitation": None,
        "performance": "estimate",
        "uncertainty and number of runs": "uncertainty",
        "alternative conditions and ablations": "specifications",
        "human baseline": "baseline",
        "interpretation, and what would falsify it": "tipping",
        "how the result influenced a decision": None,
    },
    "NIST AI 800-2": {
        "objective and what the score means": "claims",
        "benchmark and version": None,
        "protocol: prompts, tools, sampling settings": None,
        "inference budget and limits": "limits",
        "errors and excluded attempts": "notes",
        "uncertainty": "uncertainty",
        "data and code for others": "digest",
    },
    "NIST AI 800-3": {
        "estimand: exactly these items, or items like these": "estimand",
        "assumptions of the statistical model": "specifications",
        "sources of variance that the interval includes": "variance",
    },
}
"""Fields of reporting standards, in our words, and what fills them; None where only the evaluator can."""


_ITEMS = {"attempts": "tasks", "scores": "benchmarks", "ratings": "items", "games": "sequences"}
_VARIANCE = {
    "horizon": "families of tasks",
    "trend": "families of tasks, and models around the trend",
    "scale": "errors of scores",
    "agreement": "items",
    "turns": "sequences",
    "corrected rate": "tasks, and labels",
}


def _reporting(found: ClaimCheck, held: ClaimData, digest: str, given: Mapping[str, str]) -> dict[str, Any]:
    """The standards' fields that the data fill, and those that are missing."""
    from howsure.claims.sections import estimate_text

    tables = held.tables
    n_rows = sum(len(table) for table in tables.values())
    n_items = "; ".join(
        f"{table.lazy.select(pl.col(KEYS[name][1]).n_unique()).collect(engine='streaming').item():,} {_ITEMS[name]}, {len(table):,} rows"
        for name, table in tables.items()
    )
    named = sorted({name for v in found.verdicts for name in v.claim.models})
    cut = tables.get("attempts")
    has_limit = cut is not None and cut.has("limit")
    n_cut = (
        int(cut.lazy.select(pl.col("limit").is_not_null().sum()).collect().item())
        if cut is not None and has_limit
        else 0
    )
    kinds = {v.claim.kind for v in found.verdicts}
    n_made = " and ".join(dict.fromkeys(f"{v.n_replicates:,}" if v.n_replicates else "no" for v in found.verdicts))
    known = {
        "threshold": "; ".join(str(v.claim) for v in found.verdicts),
        "claims": "; ".join(str(v.claim) for v in found.verdicts),
        "n_items": n_items,
        "models": ", ".join(named),
        "estimate": "; ".join(f"{v.quantity}: {estimate_text(v, v.default)}" for v in found.verdicts),
        "uncertainty": f"{found.level:.0%} intervals, {n_made} replicates, {n_rows:,} rows",
        "specifications": "; ".join(
            f"{v.n_specifications:,} specifications: {', '.join(c.name for c in v.choices.choices)}"
            for v in found.verdicts
        ),
        "baseline": "expert minutes per task" if kinds & {"horizon", "trend"} else None,
        "tipping": " ".join(one.sentence for v in found.verdicts for one in v.tipping) or None,
        "limits": f"{n_cut:,} of {len(cut):,} attempts were cut at a limit" if cut is not None and has_limit else None,
        "notes": "; ".join(found.provenance.notes) or "none",
        "digest": f"digest of the rows {digest}",
        "estimand": "items like these (sampled), with exactly these items as an option where items were repeated",
        "variance": "; ".join(dict.fromkeys(_VARIANCE.get(v.claim.kind, "items, by cluster") for v in found.verdicts)),
    }
    standards: dict[str, Any] = {}
    for name, fields in REPORTING.items():
        filled = {what: (known.get(key) if key else None) or given.get(what) for what, key in fields.items()}
        standards[name] = {
            "filled": {what: text for what, text in filled.items() if text},
            "missing": [what for what, text in filled.items() if not text],
        }
    return standards
