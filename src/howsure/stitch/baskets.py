"""Indices of domains: capabilities from some benchmarks alone, with the benchmarks' curves as the whole scale has them."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from howsure.arguments import checked
from howsure.errors import InputError, OptionError
from howsure.results import Provenance, Result
from howsure.stitch.cleaning import listed
from howsure.stitch.placing import place
from howsure.stitch.scale import Scale
from howsure.stitch.summaries import estimate_of
from howsure.tables import Scores

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section

__all__ = ["Baskets", "DomainIndices", "domains", "read_baskets"]

Baskets = Mapping[str, Sequence[str] | Mapping[str, float]]
"""Domains with their benchmarks: a list of names, or names with their weights; ``*`` stands for any text."""


@dataclass(frozen=True, eq=False, kw_only=True)
class DomainIndices(Result):
    """Capabilities by domain.

    Parameters
    ----------
    models : pl.DataFrame
        One row per model and domain: domain, rank, model, capability with interval and states, n_benchmarks, overall (its capability on all benchmarks).
    leaders : pl.DataFrame
        One row per domain, its first model: domain, model, capability with interval and states, overall, n_models (that have an index there), n_absent (models without one that are more
        capable overall), absent (the most capable of them).
    baskets : pl.DataFrame
        One row per domain and benchmark: domain, benchmark, weight, n_models.
    level : float
        Coverage of the intervals, between 0 and 1.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "domains"

    models: pl.DataFrame
    leaders: pl.DataFrame
    baskets: pl.DataFrame
    level: float
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Models by domain (main), the first of each domain, and the benchmarks of each domain."""
        return {"domains": self.models, "domain_leaders": self.leaders, "baskets": self.baskets}

    @property
    def sentence(self) -> str:
        """The model with the highest capability of each domain, among those that have scores there, and how many better ones have none."""
        told = []
        for row in self.leaders.rows(named=True):
            more = f" and {row['n_absent'] - 1} more" if row["n_absent"] > 1 else ""
            lack = f"; without scores there, but more capable overall: {row['absent']}{more}" if row["n_absent"] else ""
            told.append(
                f"{row['domain']}: {row['model']} {estimate_of(row, self.level)} (of {row['n_models']} models{lack})"
            )
        return f"The highest capability by domain, among models with scores there: {'; '.join(told)}."

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.stitch.sections import domain_section

        return [domain_section(self)]

    def charts(self) -> dict[str, Chart]:
        """The best models by domain."""
        from howsure.stitch.charts import draw_domains

        return {"domains": draw_domains(self)}


@checked
def domains(
    scale: Scale | str | os.PathLike[str],
    baskets: Baskets | str | os.PathLike[str] | None = None,
    *,
    min_benchmarks: int = 2,
    seed: int = 0,
) -> DomainIndices:
    """Capabilities of the scale's models from the benchmarks of each domain alone.

    The benchmarks' difficulties and slopes stay as they are on the whole scale; only the capabilities are fitted again, to the scores of the domain. All domains are
    therefore in the unit of the scale, and a model that is higher in maths than overall does better on maths benchmarks than its other scores suggest. Models with few
    scores in a domain are shrunk towards the expected capability at their release date.

    Parameters
    ----------
    scale : Scale or path
        A finished scale.
    baskets : mapping or path, optional
        Domains with their benchmarks, or a YAML file of the same form; weights say how much a benchmark counts beside its precision. By default Epoch's benchmarks by
        name: maths, coding, agents, knowledge, reading and common sense.
    min_benchmarks : int
        Models with fewer benchmarks in a domain are excluded there.
    seed : int
        The same seed gives the same intervals.

    Raises
    ------
    InputError
        If no domain has a benchmark of the scale.
    OptionError
        If a weight is not a positive number, or a name in a given basket is not on the scale.
    """
    scale = Scale.loaded(scale)
    if min_benchmarks < 1:
        raise OptionError(f"min_benchmarks is {min_benchmarks}; it must be at least 1.")
    is_given = baskets is not None
    if baskets is None:
        from howsure.sources.epoch import domains as epochs

        baskets = epochs()
    elif isinstance(baskets, str | os.PathLike):
        baskets = read_baskets(Path(baskets))
    rows = scale.problem.to_frame()
    counts = dict(rows.group_by("benchmark").len().iter_rows())
    overall = scale.models.select("model", pl.col("capability").alias("overall"))
    parts, members, notes = [], [], []
    for number, (domain, entries) in enumerate(baskets.items()):
        weights = _matched(domain, entries, scale.problem.benchmarks, is_given=is_given)
        members += [(domain, name, weight, counts[name]) for name, weight in weights.items()]
        own = rows.filter(
            pl.col("benchmark").is_in(list(weights)),
        ).filter(pl.col("benchmark").n_unique().over("model") >= min_benchmarks)
        if not len(own):
            notes.append(f"{domain}: no model has {min_benchmarks} of its benchmarks, so it has no index.")
            continue
        placed = place(scale, Scores(own), weights=weights, seed=seed + number)[0]
        parts.append(
            placed.drop("unmatched")
            .join(overall, on="model", how="left", maintain_order="left")
            .select(pl.lit(domain).alias("domain"), pl.int_range(1, pl.len() + 1).alias("rank"), pl.all())
        )
    if not parts:
        raise InputError(
            f"No domain has an index: {' '.join(notes) or 'none has a benchmark of the scale'} The benchmarks are {listed(scale.problem.benchmarks)}."
        )
    models = pl.concat(parts, how="diagonal_relaxed")
    told = {name: {n: w for d, n, w, _ in members if d == name} for name in baskets}
    settings = {"baskets": told, "min_benchmarks": min_benchmarks, "scale": scale.provenance.settings}
    return DomainIndices(
        models=models,
        leaders=_leaders(models, overall),
        baskets=pl.DataFrame(members, schema=["domain", "benchmark", "weight", "n_models"], orient="row"),
        level=scale.level,
        provenance=Provenance(settings, scale.provenance.digest, seed, (*scale.provenance.notes, *notes)),
    )


def _leaders(models: pl.DataFrame, overall: pl.DataFrame) -> pl.DataFrame:
    """The first model of each domain, beside more capable ones that have no index there."""
    rows = []
    for _, own in models.group_by("domain", maintain_order=True):
        first = own.row(0, named=True)
        absent = overall.filter(~pl.col("model").is_in(own["model"].to_list()), pl.col("overall") > first["overall"])
        best = absent.sort("overall", descending=True)["model"].first()
        first = {name: first[name] for name in own.columns if name not in ("rank", "n_benchmarks")}
        rows.append({**first, "n_models": len(own), "n_absent": len(absent), "absent": best})
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"absent": pl.String})


def read_baskets(path: Path) -> Baskets:
    """Domains with their benchmarks, from a YAML file."""
    from howsure.yaml_files import read_yaml

    document = read_yaml(path)
    if not isinstance(document.value, dict) or not document.value:
        raise InputError(f"{path}: a list of domains is needed, each with its benchmarks: 'maths: [AIME, MATH]'.")
    for domain, entries in document.value.items():
        is_weighed = isinstance(entries, dict) and all(
            isinstance(one, int | float) and not isinstance(one, bool) for one in entries.values()
        )
        is_listed = isinstance(entries, list) and all(isinstance(one, str) for one in entries)
        if not entries or not (is_weighed or is_listed):
            where = document.line_of([domain])
            raise InputError(
                f"{path}{where}: {domain} needs a list of benchmarks, or benchmarks with their weights ('MATH: 2')."
            )
    return {str(domain): entries for domain, entries in document.value.items()}


def _matched(
    domain: str, entries: Sequence[str] | Mapping[str, float], known: Sequence[str], *, is_given: bool
) -> dict[str, float]:
    """The benchmarks of the scale that a basket names, with their weights."""
    weighed: Mapping[str, Any] = entries if isinstance(entries, Mapping) else dict.fromkeys(entries, 1.0)
    found: dict[str, float] = {}
    for entry, weight in weighed.items():
        if not 0 < float(weight) < float("inf"):
            raise OptionError(f"{domain}: the weight {weight} of {entry} is not a number above 0.")
        names = [name for name in known if fnmatch.fnmatchcase(name.casefold(), entry.casefold())]
        if not names and is_given:
            raise OptionError.unknown(f"benchmark for {domain}", entry, known)
        found |= {name: float(weight) for name in names if name not in found}
    return found
