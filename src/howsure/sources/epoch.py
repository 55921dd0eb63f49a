"""Epoch AI's benchmark tables: the zip that it publishes, the folder of 2025, or one tidy csv.

Which file and column holds what is written in ``epoch.yaml``; since the middle of 2026 the zip says most of it itself, in
``benchmark_metadata.csv``. A row becomes a score when it names a model version and a score between 0 and 1; what is left
out is counted in the table's notes, by reason. Scores are as published: not adjusted for guessing (``floor`` and ``ceiling``
are columns of their own), and a model may have several on one benchmark. (The tidy table of Epoch's own fit is different:
there a model is a group of versions, and its best score is already stretched from guessing at 0 to the ceiling at 1.)
Epoch's data are free to use under CC BY 4.0 when it is credited; tables that it took from others keep their own terms.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

import polars as pl

from howsure.errors import InputError, OptionError
from howsure.safe_io import Archive
from howsure.sources import Progress
from howsure.sources._reading import keys, leave_out, saw
from howsure.tables import Scores
from howsure.tables.frames import format_of, parts_of
from howsure.yaml_files import read_yaml

__all__ = [
    "ABOUT",
    "OPTIONS",
    "PUBLIC_URL",
    "SUBFOLDERS",
    "Bundle",
    "domains",
    "paper_leaves_out",
    "read",
    "read_models",
    "recognise",
    "table_names",
]

ABOUT = "Epoch AI's benchmark tables: its zip, an older folder of csv files, or one tidy csv"
OPTIONS: frozenset[str] = frozenset()
PUBLIC_URL = "https://epoch.ai/data/benchmark_data.zip"
"""Where Epoch publishes the zip; `howsure.sources.download.fetch` gets it."""

SUBFOLDERS = frozenset({"additional_eci_data", "epoch_capabilities_index"})
"""Folders in the unpacked zip that belong to it."""

_METADATA = "benchmark_metadata.csv"
_ESTIMATES = {"benchmark_name", "edi", "estimated_slope_scaled"}  # columns of a table of Epoch's estimates
_EXTERNAL = "_external.csv"  # how the zip marks tables that Epoch took from others
_EXPORT = re.compile(r"benchmarks_runs\.csv|external_benchmark_\w+\.csv")
_LARGEST_SE = 0.5  # of a mean of numbers between 0 and 1
_SHOWN = 6


def recognise(path: Path) -> str | None:
    """Why this is one of Epoch's layouts, or None."""
    names = table_names(path, _is_ours)
    if _METADATA in names:
        return f"it contains {_METADATA}, as Epoch's benchmark zip does"
    if any(name.endswith(_EXTERNAL) for name in names):
        return f"it contains tables named *{_EXTERNAL}, as Epoch's benchmark zip does"
    if any(map(_EXPORT.fullmatch, names)):
        return "it contains benchmarks_runs.csv or external_benchmark_*.csv, as Epoch's folder of 2025 does"
    columns = keys(path) if format_of(path) else ()
    if {*columns} >= _ESTIMATES:
        return "it has the columns of the difficulties and slopes in Epoch's benchmark zip"
    found = _columns(columns, _facts()["tidy"])
    if {"model", "benchmark"} <= found.keys() and _folded(found.get("score", "")) == "performance":
        return "it has the columns model, benchmark and performance, as Epoch's tidy table does"
    return None


def read(paths: Sequence[Path], *, divide_by: float = 1, progress: Progress | None = None, **options: Any) -> Scores:
    """Every score that Epoch's tables hold, with what they know of models and benchmarks."""
    return Scores.union([_read_one(path, divide_by, progress) for path in paths])


def paper_leaves_out() -> dict[str, str]:
    """The benchmarks in the folder of 2025 that the stitching paper's fit does without, each with the reason."""
    return dict(_facts()["paper_leaves_out"])


def domains() -> dict[str, list[str]]:
    """Domains and the benchmarks that belong to them, by name; ``*`` stands for any text."""
    return {name: list(patterns) for name, patterns in _facts()["domains"].items()}


def read_models(path: Path) -> pl.DataFrame:
    """What the zip or folder knows of its models: model, display_name, family, organisation, country, accessibility, date, compute, as text.

    For each fact the first table that states it counts.
    """
    with Bundle(path, _is_ours) as bundle:
        tables = [bundle.read(name) for name in _facts()["facts"]["models"]["tables"] if name in bundle]
    parts = [_renamed(table, _facts()["groups"]) for table in tables]
    parts = [part for part in parts if "model" in part.columns]
    if not parts:
        raise InputError(f"{path}: no table of models in it.")
    stacked = pl.concat(parts, how="diagonal").drop_nulls("model")
    return stacked.group_by("model", maintain_order=True).agg(pl.exclude("model").drop_nulls().first())


# one path


def _read_one(path: Path, divide_by: float, progress: Progress | None) -> Scores:
    if not path.is_dir() and path.suffix.lower() != ".zip":
        if {*keys(path)} >= _ESTIMATES:
            raise InputError(f"{path}: holds difficulties and slopes that Epoch estimated, no scores. Give the zip.")
        return _read_tidy(path, divide_by)
    if divide_by != 1:
        raise OptionError(f"{path}: Epoch's tables state their own scale; omit --percent.")
    with Bundle(path, _is_ours) as bundle:
        plan = _published(bundle) if _METADATA in bundle else _exported(bundle)
        return _scores(bundle, plan, progress)


def _read_tidy(path: Path, divide_by: float) -> Scores:
    tidy = _facts()["tidy"]
    part = parts_of(path, [name for spellings in tidy.values() for name in spellings])[0].parsed()
    there = part.rows.collect_schema().names()
    found = _columns(there, tidy)
    is_stretched = {*_facts()["stretched"]} <= {*there} and not {"floor", "ceiling"} & {*found}
    told = [
        f"{path.name}: scores are stretched from guessing at 0 to the ceiling at 1, so its benchmarks need no floors."
    ]
    texts = pl.col(pl.String)
    spaced = part.collect(part.rows.select((texts != texts.str.strip_chars()).any()))
    saw(int(part.rows.select(pl.len()).collect().item()))
    trimmed = [name for name in spaced.columns if spaced[name][0]]
    return Scores(
        replace(part, rows=part.rows.with_columns(texts.str.strip_chars())),
        rename={ours: theirs for ours, theirs in found.items() if ours != theirs},
        divide_by=divide_by,
        fill={"floor": 0.0, "ceiling": 1.0} if is_stretched else None,
        notes=[*_told((trimmed, f"{path.name}: space around values was removed in {{names}}.")), *told * is_stretched],
    )


# which tables to read


@dataclass(frozen=True)
class _Sheet:
    """Where the scores of a benchmark are."""

    file: str
    score: str
    benchmark: str | None = None  # None: named in each row
    divide_by: float = 1
    source: str | None = None  # for tables without such a column
    needs_source: bool = False


@dataclass(frozen=True)
class _Plan:
    sheets: list[_Sheet]
    notes: list[str]


def _published(bundle: Bundle) -> _Plan:
    """What ``benchmark_metadata.csv`` says about the tables beside it."""
    table = bundle.read(_METADATA)
    found = _columns(table.columns, _facts()["metadata"])
    if missing := [name for name in ("benchmark", "file", "score") if name not in found]:
        raise InputError(
            f"{bundle.path}: {_METADATA} has no column for {_listed(missing)}. Get a new copy from {PUBLIC_URL}."
        )
    rows = _renamed(table, _facts()["metadata"]).rows(named=True)
    placed = [row for row in rows if row["benchmark"] and row["file"] and row["score"]]
    used = [row for row in placed if (row.get("is_used") or "true").casefold() != "false"]
    sheets = [_published_sheet(bundle, row) for row in used]
    unused = [row["benchmark"] for row in placed if row not in used]
    newer = [f"{row['benchmark']} by {row['superseded_by']}" for row in used if row.get("superseded_by")]
    notes = _told(
        (unused, "Excluded, because Epoch's index does not use them: {names}."),
        (newer, "Superseded, but read like the others (the preset eci excludes them): {names}."),
        (_unmentioned(bundle, sheets), f"Not read, since {_METADATA} places no scores in them: {{names}}."),
    )
    return _Plan(sheets, [*_left_out(bundle), *notes])


def _published_sheet(bundle: Bundle, row: Mapping[str, str]) -> _Sheet:
    try:
        scale = float(row.get("scale") or 1)
    except ValueError:
        scale = math.nan
    if not 0 < scale < math.inf:
        raise InputError(
            f"{bundle.path}: {_METADATA} gives {row['benchmark']} the scale {row['scale']}, not a number above 0. Correct it, or get a new copy from {PUBLIC_URL}."
        )
    source = None if row["file"].endswith(_EXTERNAL) else _facts()["own_runs"]
    return _Sheet(row["file"], row["score"], row["benchmark"], 1 / scale, source)  # 1/0.01 is exactly 100


def _exported(bundle: Bundle) -> _Plan:
    """What ``epoch.yaml`` says about a bundle that says nothing about itself."""
    bundles = _facts()["bundles"]
    n_there = [sum(table["file"] in bundle for table in one["tables"]) for one in bundles]
    if not any(n_there):
        raise InputError(
            f"{bundle.path}: contains no {_METADATA} to say how its tables are read, and no table whose scores are known. Get a new copy from {PUBLIC_URL}."
        )
    chosen = bundles[n_there.index(max(n_there))]
    sheets = [_Sheet(**table, needs_source=chosen["needs_source"]) for table in chosen["tables"]]
    unknown = (_unmentioned(bundle, sheets), "Not read, since nothing is known about them: {names}.")
    return _Plan(sheets, [*_left_out(bundle), *_told(unknown)])


def _left_out(bundle: Bundle) -> list[str]:
    return [f"{file} is excluded: {why}." for file, why in _facts()["left_out"].items() if file in bundle]


def _unmentioned(bundle: Bundle, sheets: Iterable[_Sheet]) -> list[str]:
    facts = _facts()
    mentioned = {name for kind in facts["facts"].values() for name in kind["tables"]} | set(facts["left_out"])
    return [name for name in bundle.names if name not in mentioned | {sheet.file for sheet in sheets}]


# tables of scores → Scores


def _scores(bundle: Bundle, plan: _Plan, progress: Progress | None) -> Scores:
    rows, notes = _collected(bundle, plan.sheets, progress)
    models, benchmarks, distilled = (_known(bundle, kind) for kind in ("models", "benchmarks", "distilled"))
    kept = rows.filter(pl.col("why").is_null())
    saw(len(rows))
    for why, n in rows.drop_nulls("why").group_by("why").len().rows():
        leave_out(why, n)
    if not len(kept):
        raise InputError(f"{bundle.path}: no row has a model version and a score. {' '.join(_row_notes(rows))}")
    kept = kept.join(benchmarks, on="benchmark", how="left", maintain_order="left")
    kept = kept.join(models, on="model", how="left", maintain_order="left")
    if "distilled" in distilled.columns:
        words = pl.col("distilled").str.to_lowercase().replace_strict({"true": "yes", "false": "no"}, default=None)
        kept = kept.join(distilled.select("model", words), on="model", how="left", maintain_order="left")
    disputed = models.filter("is_disputed")["model"].to_list()
    there = set(kept["benchmark"])
    overlaps = [one for one in _facts()["overlaps"] if {one["part"], one["whole"]} <= there]
    if overlaps:
        whole = {one["part"]: one["whole"] for one in overlaps}
        kept = kept.with_columns(part_of=pl.col("benchmark").replace_strict(whole, default=None))
    twice = [f"{one['part']} beside {one['whole']} ({one['why']})" for one in overlaps]
    notes += _told(
        (disputed, "Listed with several dates, of which the first counts: {names}."),
        (twice, "Benchmarks that overlap (column part_of): {names}."),
    )
    ours = [column.name for column in Scores.columns if column.name in kept.columns]
    return Scores(kept.select(ours), notes=[*plan.notes, *notes, *_row_notes(rows)])


def _collected(bundle: Bundle, sheets: Sequence[_Sheet], progress: Progress | None) -> tuple[pl.DataFrame, list[str]]:
    """The rows of all tables that are there, judged; and which tables are not, or are not as they should be."""
    there = [sheet for sheet in sheets if sheet.file in bundle]
    parts: list[pl.DataFrame] = []
    unlike: list[str] = []
    for done, sheet in enumerate(there, 1):
        rows = _rows(bundle.read(sheet.file), sheet)
        if rows is None:
            unlike.append(f"{sheet.file} ({sheet.score})")
        else:
            parts.append(rows)
        if progress:
            progress(done, len(there))
    if not parts:
        raise InputError(
            f"{bundle.path}: no table in it has the scores that it should have. Get a new copy from {PUBLIC_URL}."
        )
    absent = [sheet.file for sheet in sheets if sheet.file not in bundle]
    notes = _told(
        (absent, "Tables of scores that are not there: {names}."),
        (unlike, "Excluded, because there is no column for the model or the score (in brackets): {names}."),
    )
    return _judged(pl.concat(parts)), notes


def _rows(table: pl.DataFrame, sheet: _Sheet) -> pl.DataFrame | None:
    """The rows of one table in our words, still as text; None when it is not the table it should be."""
    found = _columns(table.columns, {**_facts()["rows"], "score": [sheet.score]})
    if not {"model", "score"} <= found.keys() or not (sheet.benchmark or "benchmark" in found):
        return None
    se, se_divide_by = _standard_error_of(table, sheet)
    model = pl.col(found["model"])
    return table.select(
        _text(found["model"]).alias("model"),
        (pl.lit(sheet.benchmark) if sheet.benchmark else _text(found["benchmark"])).alias("benchmark"),
        _text(found["score"]).alias("score"),
        se.alias("se"),
        (_text(found["source"]) if "source" in found else pl.lit(sheet.source, pl.String)).alias("source"),
        (model != model.str.strip_chars()).alias("is_spaced"),
        file=pl.lit(sheet.file),
        divide_by=pl.lit(float(sheet.divide_by)),
        se_divide_by=pl.lit(float(se_divide_by)),
        needs_source=pl.lit(sheet.needs_source and "source" in found),
    )


def _standard_error_of(table: pl.DataFrame, sheet: _Sheet) -> tuple[pl.Expr, float]:
    for entry in _facts()["standard_errors"]:
        if _folded(entry["score"]) == _folded(sheet.score):
            found = _columns(table.columns, {"se": [entry["se"]]})
            if found:
                return _text(found["se"]), entry.get("divide_by", sheet.divide_by)
    return pl.lit(None, pl.String), 1


def _judged(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with numbers for text, and in ``why`` the reason to leave one out."""
    number = _fraction(pl.col("score"), pl.col("divide_by"))
    se = _standard_error(pl.col("se"), pl.col("se_divide_by"))
    why = (
        pl.when(pl.col("model").is_null())
        .then(pl.lit("no model version"))
        .when(pl.col("score").is_null())
        .then(pl.lit("no score"))
        .when(number.is_null())
        .then(pl.lit("the score is not a number"))
        .when(~number.is_between(0, 1))
        .then(pl.lit("the score is outside 0 to 1"))
        .when(pl.col("needs_source") & pl.col("source").is_null())
        .then(pl.lit("no source"))
    )
    return rows.with_columns(
        why.alias("why"),
        number.alias("score"),
        pl.col("score").alias("written"),
        # a standard error of 0 was rounded away, or belongs to a score of 0 or 1: it does not say how sure one can be
        pl.when(se.is_between(0, _LARGEST_SE, closed="right")).then(se).alias("se"),
        (se > _LARGEST_SE).alias("is_se_wrong"),
    )


def _fraction(text: pl.Expr, divide_by: pl.Expr) -> pl.Expr:
    """42% is 0.42 everywhere; 42 is divided by what the table says."""
    digits = text.str.strip_suffix("%").str.strip_chars().cast(pl.Float64, strict=False)
    return digits / pl.when(text.str.ends_with("%")).then(100.0).otherwise(divide_by)


def _standard_error(text: pl.Expr, divide_by: pl.Expr) -> pl.Expr:
    """A number, or in text such as ``exact:0.84±0.05,graded:0.85±0.04`` that of the best score."""
    pairs = text.str.extract_all(r"[\d.]+±[\d.]+")
    scores, errors = (
        pairs.list.eval(pl.element().str.extract(pattern).cast(pl.Float64, strict=False))
        for pattern in (r"^([\d.]+)", r"([\d.]+)$")
    )
    best = errors.list.get(scores.list.arg_max(), null_on_oob=True)
    return (best / divide_by).fill_null(_fraction(text, divide_by))


def _row_notes(rows: pl.DataFrame) -> list[str]:
    reasons = (
        rows.filter(pl.col("why").is_not_null())
        .group_by("why", maintain_order=True)
        .agg(pl.len().alias("n"), pl.col("file", "written", "model", "benchmark").first())
        .sort("n", descending=True)
    )
    notes = [
        f"{row['n']:,} of {len(rows):,} rows excluded: {row['why']}; the first is in {row['file']}{_told_score(row)}."
        for row in reasons.rows(named=True)
    ]
    spaced = rows.filter("is_spaced")["model"].drop_nulls().unique(maintain_order=True)
    beyond = rows.filter("is_se_wrong")["benchmark"].unique(maintain_order=True)
    return notes + _told(
        (spaced.to_list(), "Space around these model versions was removed: {names}."),
        (
            beyond.to_list(),
            f"Excluded: standard errors above {_LARGEST_SE}, too large for scores from 0 to 1, on {{names}}.",
        ),
    )


def _told_score(row: Mapping[str, Any]) -> str:
    named = row["written"] is not None and row["model"] is not None
    return f": {row['written']} ({row['model']} on {row['benchmark']})" if named else ""


# what is known of models and benchmarks


def _known(bundle: Bundle, kind: str) -> pl.DataFrame:
    """One row for each model or benchmark: for each fact the first table's word that states it."""
    facts = _facts()["facts"][kind]
    key = next(iter(facts["columns"]))
    tables = [bundle.read(name) for name in facts["tables"] if name in bundle]
    parts = [_renamed(table, facts["columns"]) for table in tables]
    parts = [part for part in parts if key in part.columns]
    if not parts:
        return pl.DataFrame(schema={key: pl.String, "is_disputed": pl.Boolean})
    stacked = pl.concat(parts, how="diagonal").filter(pl.col(key).is_not_null())
    dates = stacked.select(pl.col("^.*date$")).columns
    disputed = pl.any_horizontal(pl.lit(False), *(pl.col(name).drop_nulls().n_unique() > 1 for name in dates))
    first = pl.exclude(key).drop_nulls().first()
    return stacked.group_by(key, maintain_order=True).agg(first, disputed.alias("is_disputed"))


def _renamed(table: pl.DataFrame, spellings: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    found = _columns(table.columns, spellings)
    texts = [_text(theirs).alias(ours) for ours, theirs in found.items()]
    return table.select(texts).with_columns(pl.col("^.*date$").str.replace_all("/", "-", literal=True))


# names


def _is_ours(name: str) -> bool:
    """Whether a table's name alone says that it is Epoch's."""
    return name == _METADATA or name.endswith(_EXTERNAL) or bool(_EXPORT.fullmatch(name))


def _columns(there: Iterable[str], spellings: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """For each of our names the column that has one of its spellings; one written exactly like it comes first."""
    listed = list(there)
    by_folded = {_folded(name): name for name in reversed(listed)} | {name: name for name in listed}
    found = {
        ours: next((by_folded[key] for name in known for key in (name, _folded(name)) if key in by_folded), None)
        for ours, known in spellings.items()
    }
    return {ours: theirs for ours, theirs in found.items() if theirs is not None}


def _folded(name: str) -> str:
    return re.sub(r"[\s_]+", " ", name).strip().casefold()


def _text(name: str) -> pl.Expr:
    """A column without space around its values; an empty value is none."""
    text = pl.col(name).str.strip_chars()
    return pl.when(text != "").then(text)


def _told(*groups: tuple[Sequence[str], str]) -> list[str]:
    """The sentences whose groups have members."""
    return [sentence.format(names=_listed(names)) for names, sentence in groups if names]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f", … ({len(names)} in all)" if len(names) > _SHOWN else "")


@cache
def _facts() -> dict[str, Any]:
    facts: dict[str, Any] = read_yaml(Path(__file__).with_name("epoch.yaml")).value
    return facts


# Csv tables that come together, in a folder or in a zip.


_BOM = b"\xef\xbb\xbf"  # put before bytes that look compressed, it keeps polars from unpacking them without a bound


class Bundle:
    """The csv tables of a folder or a zip, by name; all their columns are text. Nothing is extracted.

    ``is_ours`` knows a table by its name: in a zip, those beside the first such table count, in whichever folder they are, and those in its `SUBFOLDERS`, which
    have the folder in their name.
    """

    def __init__(self, path: Path, is_ours: Callable[[str], bool]) -> None:
        self.path = path
        self._archive = None if path.is_dir() else Archive(path)
        self._members = _members(self._archive.names, is_ours) if self._archive else dict.fromkeys(_in_folder(path), "")

    def __enter__(self) -> Bundle:
        return self

    def __exit__(self, *_: object) -> None:
        if self._archive:
            self._archive.__exit__()

    def __contains__(self, name: str) -> bool:
        return name in self._members

    @property
    def names(self) -> list[str]:
        """The tables, sorted."""
        return list(self._members)

    def read(self, name: str) -> pl.DataFrame:
        """One table."""
        if self._archive is None:
            part = parts_of(self.path / name)[0]
            return part.collect(part.rows)
        data = self._archive.read(self._members[name])
        try:
            return pl.read_csv(_BOM + data.removeprefix(_BOM), infer_schema=False)
        except pl.exceptions.PolarsError as error:
            why = str(error).splitlines()[0].rstrip(".")
            raise InputError(f"{self.path}: {name} in it is not a csv table ({why}). Make or fetch it again.") from None


def table_names(path: Path, is_ours: Callable[[str], bool]) -> list[str]:
    """The names of the tables that a `Bundle` of this path would have; none when it is neither folder nor zip."""
    if path.is_dir():
        return _in_folder(path)
    if path.suffix.lower() != ".zip":
        return []
    try:
        with Archive(path) as archive:
            return list(_members(archive.names, is_ours))
    except InputError:
        return []


def _in_folder(path: Path) -> list[str]:
    folders = [path, *(path / name for name in sorted(SUBFOLDERS))]
    files = (entry for folder in folders if folder.is_dir() for entry in folder.iterdir() if entry.is_file())
    return sorted(file.relative_to(path).as_posix() for file in files if _is_table(file))


def _members(listed: Iterable[str], is_ours: Callable[[str], bool]) -> dict[str, str]:
    paths = sorted(filter(_is_table, map(PurePosixPath, listed)))
    homes = (path.parent for path in paths if is_ours(path.name))
    home = min(homes, key=lambda folder: len(folder.parts), default=PurePosixPath())
    folders = {home, *(home / name for name in SUBFOLDERS)}
    return {path.relative_to(home).as_posix(): str(path) for path in paths if path.parent in folders}


def _is_table(path: PurePath) -> bool:
    return path.suffix == ".csv" and not path.name.startswith(".")
