"""Which pairs people shall rate: chosen over domains and score levels, from rows that were measured."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from howsure.errors import InputError, OptionError
from howsure.results import Provenance, Result
from howsure.safe_io import write_atomic
from howsure.tables.frames import Part, as_list, parts_of

if TYPE_CHECKING:
    from howsure.tables.frames import Source

__all__ = ["LEVELS", "MEASURED_SCORES", "Selection", "Suspects", "find_suspects", "measured_columns", "select"]

LEVELS = ("low", "mid", "high")
_TEXTS = ("prompt", "target", "comparison")
_LABELS_SHOWN = 6


@dataclass(frozen=True, kw_only=True)
class Selection(Result):
    """Selected pairs, refused rows and reasons.

    Table ``model_scores``: one row per selected pair (item, score, domain, score_level, line, about). Table ``refused``: line, score, reason.

    Parameters
    ----------
    pairs : pl.DataFrame
        The selected pairs.
    refused : pl.DataFrame
        The refused rows.
    findings : tuple[str, ...]
        Problems of the rows, in sentences.
    texts : tuple[Mapping[str, str], ...]
        Prompt and responses of each pair, as far as the file has them.
    n_rows : int
        Number of rows in the file.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "selection"
    pairs: pl.DataFrame
    refused: pl.DataFrame
    findings: tuple[str, ...]
    texts: tuple[Mapping[str, str], ...]
    n_rows: int
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``model_scores`` (the selected pairs, as `howsure study analyze --model-scores` reads them) and ``refused``."""
        return {"model_scores": self.pairs, "refused": self.refused}

    def as_dict(self) -> dict[str, Any]:
        """The tables, the numbers of rows and what was wrong with them."""
        counts = {"n_rows": self.n_rows, "n_refused": len(self.refused)}
        return {**super().as_dict(), **counts, "findings": list(self.findings)}

    def to_yaml(self) -> str:
        """The pairs as a study file lists them, with blanks for the texts that are still missing."""
        import yaml

        source = self.provenance.settings["source"]
        parts = [
            "# Fill in the prompt and both responses of each pair, then name this file in study.yaml:  pairs: pairs.yaml\n"
        ]
        for row, texts in zip(self.pairs.iter_rows(named=True), self.texts, strict=True):
            entry = {"id": row["item"], **{name: texts.get(name, "") for name in _TEXTS}}
            entry |= {} if row["domain"] is None else {"domain": row["domain"]}
            entry |= {"model_score": row["score"]}
            parts.append(f"\n# {row['score_level']} score; {source} line {row['line']}: {row['about']}\n")
            parts.append(yaml.safe_dump([entry], sort_keys=False, allow_unicode=True))
        return "".join(parts)

    def save(self, path: str | os.PathLike[str]) -> list[Path]:
        """Write what every result writes, and pairs.yaml.

        Parameters
        ----------
        path : str or path
            The folder.
        """
        return [write_atomic(Path(path) / "pairs.yaml", self.to_yaml()), *super().save(path)]


def select(
    model_scores: Source,
    *,
    n_pairs: int = 5,
    score: str | None = None,
    domain: str | None = None,
    where: Mapping[str, str] | None = None,
    score_levels: Mapping[str, str] | None = None,
    is_critical: bool = False,
    divide_by: float = 1.0,
    seed: int = 0,
) -> Selection:
    """Select pairs without replacement, balanced over domains and over high, middle and low scores as far as the rows allow.

    With ``score_levels`` each domain gives pairs of its own level only, such as easy, moderate and hard cases; with ``is_critical`` the pairs are the ones with
    the lowest, the highest and evenly spaced scores between, whatever their domain. A score level is a third of the usable rows by score. Rows without a score, copies of other rows, and rows with the same measured
    numbers as rows of other prompts are refused and named.

    Parameters
    ----------
    model_scores : frame or path
        One row per candidate pair, with a column of scores and, if known, a column of domains.
    n_pairs : int
        How many pairs to select.
    score, domain : str, optional
        The columns of scores and domains; by default the ones called so, or the usual names of a score.
    where : Mapping[str, str], optional
        Column → value: only such rows are candidates, for example those of one persona.
    score_levels : Mapping[str, str], optional
        Domain → ``low``, ``mid`` or ``high``; other domains give no pair.
    is_critical : bool
        Select critical cases by score alone.
    divide_by : float
        The largest possible score, so that scores divided by it lie between 0 and 1.
    seed : int
        Seed of the random selection.

    Returns
    -------
    Selection
        The selected pairs and the refused rows.
    """
    listed = as_list(model_scores)
    if len(listed) != 1:
        raise InputError(f"model_scores must be one table; {len(listed)} were given.")
    model_scores = listed[0]
    parts = parts_of(model_scores)
    if len(parts) != 1:
        raise InputError(f"model_scores must be one table; {model_scores} names {len(parts)} files.")
    (part,) = parts
    part = part.parsed()
    path = str(model_scores) if isinstance(model_scores, str | os.PathLike) else "the table"
    frame = part.collect(part.rows)
    column = _score_column(frame, score, path)
    scores = _scores(part, frame, column, divide_by)
    place = _domain_column(frame, domain, path)
    lines = _lines(part, len(frame))
    suspects = find_suspects(frame, scores, column, lines)
    is_candidate = _candidates(frame, where or {}, path)
    rows_left = [row for row in range(len(frame)) if row not in suspects.reasons and is_candidate[row]]
    usable = np.array(rows_left, dtype=np.int64)
    _refuse_too_few(path, n_pairs, usable, suspects, int(is_candidate.sum()))
    _refuse_constant(path, column, scores[usable])
    rows = _Rows(frame, scores, lines, _domains(frame, place), _levels(scores, usable), _labels(frame, {column, place}))
    rng = np.random.default_rng(seed)
    if is_critical and score_levels:
        raise OptionError("Critical cases are selected by score alone; omit the levels of domains.")
    if is_critical:
        chosen = _extremes(usable, rows, n_pairs, rng)
    else:
        chosen = _draw(_of_level(usable, rows, n_pairs, score_levels or {}), rows, n_pairs, rng)
    settings: dict[str, Any] = {
        "source": Path(path).name,
        "score": column,
        "domain": place,
        "n_pairs": n_pairs,
        "divide_by": divide_by,
    }
    settings |= {"where": dict(where or {}), "score_levels": dict(score_levels or {}), "is_critical": is_critical}
    digest = hashlib.sha256(frame.write_csv().encode()).hexdigest()[:16]
    return Selection(
        pairs=_chosen_frame(rows, chosen),
        refused=_refused_frame(rows, suspects),
        findings=suspects.findings,
        texts=tuple({name: str(frame[name][row] or "") for name in _TEXTS if name in frame.columns} for row in chosen),
        n_rows=len(frame),
        provenance=Provenance(settings, digest, seed),
    )


def _score_column(frame: pl.DataFrame, name: str | None, path: str) -> str:
    if name is not None:
        if name not in frame.columns:
            raise OptionError.unknown(f"column in {path}", name, frame.columns)
        return name
    found = next((usual for usual in MEASURED_SCORES if usual in frame.columns), None)
    if found is None:
        listed = ", ".join(measured_columns(frame)) or "none holds numbers"
        raise OptionError(f"{path}: no column called {' or '.join(MEASURED_SCORES)}. Name one with --score: {listed}.")
    return found


def _domain_column(frame: pl.DataFrame, name: str | None, path: str) -> str | None:
    if name is not None and name not in frame.columns:
        raise OptionError.unknown(f"column in {path}", name, frame.columns)
    return name or ("domain" if "domain" in frame.columns else None)


def _scores(part: Part, frame: pl.DataFrame, column: str, divide_by: float) -> np.ndarray:
    """The scores as numbers, NaN where a cell is blank."""
    if divide_by <= 0:
        raise OptionError(f"--divide-by {divide_by:g} is not above 0.")
    text = frame[column].cast(pl.String).fill_null("").str.strip_chars()
    numbers = text.cast(pl.Float64, strict=False)
    wrong = (text != "") & (numbers.is_null() | ~numbers.is_finite().fill_null(value=False))
    if wrong.any():
        row = int(wrong.arg_true()[0])
        raise InputError(f"{part.where(row)}: {column} {text[row]!r} is not a number.")
    scores = numbers.to_numpy().astype(np.float64) / divide_by
    outside = np.flatnonzero((scores < 0) | (scores > 1))
    if len(outside):
        row = int(outside[0])
        raise InputError(
            f"{part.where(row)}: {column} {scores[row]:g} is not between 0 and 1. Pass --divide-by 10, 100 or what fits."
        )
    return scores


def _refuse_too_few(path: str, n_pairs: int, usable: np.ndarray, suspects: Suspects, n_rows: int) -> None:
    if n_pairs < 1:
        raise OptionError(f"{n_pairs} pairs are none. Give at least 1.")
    if len(usable) < n_pairs:
        why = f" {suspects.findings[0]}" if suspects.findings else ""
        raise InputError(f"{path}: {len(usable)} of {n_rows} rows are usable, and {n_pairs} pairs are asked for.{why}")


def _refuse_constant(path: str, column: str, scores: np.ndarray) -> None:
    if len(scores) > 1 and np.ptp(scores) == 0:
        raise InputError(f"{path}: {column} is {scores[0]:g} in every usable row, so there is nothing to choose by.")


def _domains(frame: pl.DataFrame, column: str | None) -> list[str | None]:
    if column is None:
        return [None] * len(frame)
    named = frame[column].cast(pl.String).fill_null("").str.strip_chars()
    return [name or None for name in named]


def _levels(scores: np.ndarray, usable: np.ndarray) -> dict[int, str]:
    """Low, mid or high for each usable row, by thirds of their scores; equal scores get the same level."""
    cuts = np.quantile(scores[usable], (1 / 3, 2 / 3))
    return {int(row): LEVELS[int(np.searchsorted(cuts, scores[row], side="right"))] for row in usable}


def _labels(frame: pl.DataFrame, skipped: set[str | None]) -> list[str]:
    """The columns that name a row."""
    aside = {*skipped, *_TEXTS, *measured_columns(frame)}
    return [name for name in frame.columns if name not in aside][:_LABELS_SHOWN]


@dataclass(frozen=True)
class _Rows:
    """The file's rows with what was found out about them; levels of the usable ones alone."""

    frame: pl.DataFrame
    scores: np.ndarray
    lines: Sequence[int]
    domains: Sequence[str | None]
    levels: Mapping[int, str]
    labels: Sequence[str]

    def about(self, row: int) -> str:
        """What names a row in its file, on one line."""
        return ", ".join(f"{name} {' '.join(str(self.frame[name][row]).split())[:60]}" for name in self.labels)


def _candidates(frame: pl.DataFrame, where: Mapping[str, str], path: str) -> np.ndarray:
    """Which rows have the values that were asked for, spelt in any case."""
    is_in = np.ones(len(frame), dtype=bool)
    for column, value in where.items():
        if column not in frame.columns:
            raise OptionError.unknown(f"column in {path}", column, frame.columns)
        text = frame[column].cast(pl.String).fill_null("").str.strip_chars().str.to_lowercase()
        if not (text == value.strip().casefold()).any():
            raise OptionError.unknown(
                f"value of {column} in {path}", value, sorted({*frame[column].cast(pl.String).drop_nulls()})
            )
        is_in &= (text == value.strip().casefold()).to_numpy()
    return is_in


def _of_level(usable: np.ndarray, rows: _Rows, n_pairs: int, score_levels: Mapping[str, str]) -> np.ndarray:
    """The usable rows that are of the level asked of their domain; all of them where none is asked."""
    if not score_levels:
        return usable
    known = {str(rows.domains[row]) for row in usable}
    for domain, level in score_levels.items():
        if domain not in known:
            raise OptionError.unknown("domain", domain, sorted(known))
        if level not in LEVELS:
            raise OptionError.unknown("level", level, LEVELS)
    fitting = [row for row in usable.tolist() if score_levels.get(str(rows.domains[row])) == rows.levels[row]]
    for domain, level in score_levels.items():
        if not any(rows.domains[row] == domain for row in fitting):
            there = sorted(
                {rows.levels[row] for row in usable.tolist() if rows.domains[row] == domain}, key=LEVELS.index
            )
            raise InputError(f"No usable row of {domain} has a {level} score; its scores are {' and '.join(there)}.")
    if len(fitting) < n_pairs:
        raise InputError(f"{len(fitting)} usable rows have the levels asked for, and {n_pairs} pairs are wanted.")
    return np.array(fitting, dtype=np.int64)


def _extremes(usable: np.ndarray, rows: _Rows, n: int, rng: np.random.Generator) -> list[int]:
    """Rows whose scores are nearest to n evenly spaced ranks, from the lowest to the highest; chance decides between equals."""
    order = usable[np.lexsort((rng.random(len(usable)), rows.scores[usable]))]
    places = np.unique(np.round(np.linspace(0, len(order) - 1, n)).astype(int))
    return [int(row) for row in order[places]]


def _draw(usable: np.ndarray, rows: _Rows, n: int, rng: np.random.Generator) -> list[int]:
    """Row after row from the domain, then the cell, then the level that took part least; chance decides between equals."""
    cells: dict[tuple[str | None, str], list[int]] = {}
    for row in rng.permutation(usable).tolist():
        cells.setdefault((rows.domains[row], rows.levels[row]), []).append(row)
    by_domain: Counter[str | None] = Counter()
    by_cell: Counter[tuple[str | None, str]] = Counter()
    by_level: Counter[str] = Counter()
    chosen = []
    for _ in range(n):
        there = [cell for cell in cells if cells[cell]]
        cell = min(there, key=lambda c: (by_domain[c[0]], by_cell[c], by_level[c[1]], rng.random()))
        chosen.append(cells[cell].pop())
        by_domain[cell[0]] += 1
        by_cell[cell] += 1
        by_level[cell[1]] += 1
    return sorted(chosen, key=lambda row: (str(rows.domains[row]), row))


def _chosen_frame(rows: _Rows, chosen: Sequence[int]) -> pl.DataFrame:
    numbers: Counter[str] = Counter()
    told = []
    for row in chosen:
        domain = rows.domains[row]
        stem = _stem(domain)
        numbers[stem] += 1
        item = f"{stem}-{numbers[stem]}"
        told.append((item, float(rows.scores[row]), domain, rows.levels[row], rows.lines[row], rows.about(row)))
    names = ["item", "score", "domain", "score_level", "line", "about"]
    kinds = [pl.String, pl.Float64, pl.String, pl.String, pl.Int64, pl.String]
    return pl.DataFrame(told, schema=dict(zip(names, kinds, strict=True)), orient="row")


def _stem(domain: str | None) -> str:
    """The domain as the beginning of an id."""
    return re.sub(r"[^a-z0-9]+", "-", (domain or "pair").casefold()).strip("-")[:30] or "pair"


def _refused_frame(rows: _Rows, suspects: Suspects) -> pl.DataFrame:
    told = [
        (rows.lines[row], None if np.isnan(rows.scores[row]) else float(rows.scores[row]), reason)
        for row, reason in sorted(suspects.reasons.items())
    ]
    return pl.DataFrame(told, schema={"line": pl.Int64, "score": pl.Float64, "reason": pl.String}, orient="row")


def _lines(part: Part, n_rows: int) -> list[int]:
    """The line of each row, or its number where a file has no lines."""
    if not n_rows:
        return []
    first, last = _line(part, 0), _line(part, n_rows - 1)
    # looking up a line reads the file, so rows that fill one line each are counted instead
    return list(range(first, last + 1)) if last - first == n_rows - 1 else [_line(part, row) for row in range(n_rows)]


def _line(part: Part, row: int) -> int:
    found = re.search(r"(\d+)$", part.where(row))
    return int(found[1]) if found else row + 1


# Rows of scores that nobody measured: blanks, copies, and statistics that repeat to the last digit.


MEASURED_SCORES = ("score", "model_score", "pfi")
"""What a column of scores is usually called."""

_FINEST_STEP = 1000  # scores in steps of 1/1000 or more coarsely tie by chance
_SHOWN = 5


@dataclass(frozen=True)
class Suspects:
    """Why rows are refused, by their number, and what was found in sentences."""

    reasons: dict[int, str]
    findings: tuple[str, ...]


def find_suspects(frame: pl.DataFrame, scores: np.ndarray, column: str, lines: Sequence[int]) -> Suspects:
    """Rows without a score, copies, and rows whose measured statistics all repeat in rows that are called otherwise.

    Two texts that are measured to many digits never get the same statistics throughout, so equal statistics are a placeholder, a dry run or a
    copy. Statistics in coarse steps (up to 1/1000, as a mean of whole marks has) tie by chance: there only whole copies are refused.
    ``column`` is that of the ``scores``; ``lines`` are where the rows stand in their file.
    """
    blanks = {int(row): "no score" for row in np.flatnonzero(np.isnan(scores))}
    copies = _copies(frame, lines, without=blanks)
    kept = [row for row in range(len(frame)) if row not in blanks and row not in copies]
    measured = list(dict.fromkeys([*measured_columns(frame), column]))
    groups = _equal_groups(frame, measured, kept)
    is_fine = any(_is_fine(_numbers(frame[name])) for name in measured)
    alike = {row: _alike(group, lines) for group in groups if is_fine for row in group}
    findings = [
        *([f"{len(blanks)} of {len(frame)} rows have no {column}."] if blanks else []),
        *([f"{len(copies)} of {len(frame)} rows are copies of earlier ones in every column."] if copies else []),
        *(_told(frame, groups, measured, column, lines, is_fine=is_fine) if groups else []),
    ]
    return Suspects({**blanks, **copies, **alike}, tuple(findings))


def measured_columns(frame: pl.DataFrame) -> list[str]:
    """Columns of numbers with decimals: what was measured. Whole numbers may be labels, such as the number of a run."""
    return [name for name in frame.columns if _is_measured(_numbers(frame[name]))]


def _is_measured(numbers: pl.Series) -> bool:
    there = numbers.drop_nulls().drop_nans()
    return len(there) > 0 and len(there) == len(numbers) - numbers.null_count() and bool((there % 1 != 0).any())


def _numbers(column: pl.Series) -> pl.Series:
    """The column as numbers, NaN where text is none."""
    text = column.cast(pl.String).str.strip_chars()
    filled = text.set(text == "", None)
    return filled.cast(pl.Float64, strict=False).fill_null(float("nan")).set(filled.is_null(), None)


def _copies(frame: pl.DataFrame, lines: Sequence[int], without: dict[int, str]) -> dict[int, str]:
    first: dict[tuple[object, ...], int] = {}
    found = {}
    for row, cells in enumerate(frame.iter_rows()):
        if row not in without and first.setdefault(cells, row) != row:
            found[row] = f"a copy of line {lines[first[cells]]}"
    return found


def _equal_groups(frame: pl.DataFrame, measured: Sequence[str], kept: Sequence[int]) -> list[list[int]]:
    """Rows that agree in every measured statistic, two or more together."""
    statistics = pl.DataFrame({name: _numbers(frame[name]) for name in measured}).rows()
    groups: dict[tuple[object, ...], list[int]] = {}
    for row in kept:
        groups.setdefault(statistics[row], []).append(row)
    return [group for group in groups.values() if len(group) > 1]


def _is_fine(numbers: pl.Series) -> bool:
    """Whether no step of 1/1, 1/2, … 1/1000 explains all statistics."""
    values = numbers.drop_nulls().drop_nans().unique().to_numpy()
    scaled = np.outer(np.arange(1, _FINEST_STEP + 1), values[:_FINEST_STEP])
    return not (np.abs(scaled - np.round(scaled)) < 1e-6).all(axis=1).any()


def _alike(group: Sequence[int], lines: Sequence[int]) -> str:
    others = f"{len(group) - 1} other row" + ("s" if len(group) > 2 else "")
    return f"the same measured statistics as {others}, from line {lines[group[0]]} on"


def _told(
    frame: pl.DataFrame,
    groups: Sequence[Sequence[int]],
    measured: Sequence[str],
    column: str,
    lines: Sequence[int],
    *,
    is_fine: bool,
) -> list[str]:
    n_alike = sum(map(len, groups))
    if not is_fine:
        return [
            f"{n_alike} of {len(frame)} rows tie in {_listed(measured)}; in steps this coarse that is no wonder, so they stay."
        ]
    labels = [name for name in frame.columns if name not in measured]
    differ = [name for name in labels if any(frame[name][list(group)].n_unique() > 1 for group in groups)]
    called = f", though they differ in {_listed(differ)}" if differ else ""
    where_found = [f"{len(g)} from line {lines[g[0]]} ({column} {_numbers(frame[column])[g[0]]:.6g})" for g in groups]
    more = f" and {len(groups) - _SHOWN} more groups" if len(groups) > _SHOWN else ""
    return [
        f"{n_alike} of {len(frame)} rows agree with others to the last digit in {_listed(measured)}{called}: "
        f"{', '.join(where_found[:_SHOWN])}{more}. Different texts are not measured alike; "
        "this is what a dry run or copied values look like. None of these rows is used."
    ]


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
