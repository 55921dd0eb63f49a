"""By how many months one group of models is behind another: open and closed weights, countries, organisations."""

from __future__ import annotations

import fnmatch
import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from howsure.arguments import checked
from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate, State
from howsure.results import Provenance, Result, columns_of
from howsure.sources import epoch
from howsure.stats._arrays import Bools, Floats, Ints, check_level
from howsure.stats.replicates import replicate_interval
from howsure.stitch.cleaning import listed
from howsure.stitch.forecasting.frontier import DAYS_A_YEAR, Dated, frontier_level
from howsure.stitch.model.problem import single_names
from howsure.stitch.scale import Scale
from howsure.tables.frames import parts_of
from howsure.tables.spellings import fold_name

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = ["Lags", "lag", "mean_lag"]

_MONTHS = 12.0
_KEYS = ("model", "model version", "id", "organisation", "organization")
_FEWEST = 3  # models of a group


@dataclass(frozen=True, eq=False, kw_only=True)
class Lags(Result):
    """How many months groups of models are behind one another.

    Parameters
    ----------
    lags : pl.DataFrame
        One row per pair: group, behind, months (mean over the capabilities that both reached) with interval, latest (at the capability of the weaker
        group's best model today) with interval, p_behind, and the capabilities between which they are compared.
    frontiers : pl.DataFrame
        The record models of each group: group, date, model, capability.
    groups : pl.DataFrame
        One row per group: number of models, best model, its capability and date.
    level : float
        Coverage of the intervals, between 0 and 1.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "lag"

    lags: pl.DataFrame
    frontiers: pl.DataFrame
    groups: pl.DataFrame
    level: float
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The lags (main), the groups, and the record models of each."""
        return {"lags": self.lags, "lag_groups": self.groups, "lag_frontiers": self.frontiers}

    def estimate(self, row: Mapping[str, Any], name: str = "months") -> Estimate:
        """The lag of a row of ``lags``, ``months`` or ``latest``, with its interval."""
        if row[name] is None:
            return Estimate.without("undefined", "no capability was reached by both", level=self.level)
        low, high = row[f"{name}_low"], row[f"{name}_high"]
        ends: State = "ok" if low is not None and high is not None else "undefined"
        return Estimate(row[name], low, high, self.level, low_state=ends, high_state=ends)

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.stitch.sections import lag_section

        return [lag_section(self)]

    def charts(self) -> dict[str, Chart]:
        """The frontier of each group over time, and the lags."""
        from howsure.stitch.forecasting.charts import draw_group_frontiers, draw_lags

        drawn = {"group_frontiers": draw_group_frontiers(self)}
        return drawn | ({"lags": draw_lags(self)} if len(self.lags) else {})


@checked
def lag(
    scale: Scale | str | os.PathLike[str],
    groups: Source | Mapping[str, str] | None = None,
    *,
    by: str = "organisation",
    join: Mapping[str, Sequence[str]] | None = None,
    since: float | None = None,
    level: float = 0.95,
) -> Lags:
    r"""By how many months each group's frontier is behind another's.

    .. math:: \text{lag} = \frac{1}{c_2 - c_1} \int_{c_1}^{c_2} \big(t_A(c) - t_B(c)\big)\,dc

    t(c) is the day on which a group's best model first had capability c. The mean goes over the capabilities that both groups reached: from the higher of
    their first best models to the lower of their best models today. It is the area between the two frontiers, so exchanging the groups changes its sign alone.
    ``latest`` is the lag at c₂. Intervals come from the refits of the scale; which models were published is taken as given.

    Parameters
    ----------
    scale : Scale or path
        A scale whose models have dates.
    groups : mapping, frame or path, optional
        The group of each model, or of each organisation; a model of several ("Google DeepMind,Google") belongs to each of them. Epoch's zip or folder has the columns organisation, country and accessibility. Any other table has a column of models (model, model version, id) or organisations, and the column `by`. Without it,
        `by` is ``organisation`` or ``family``, as the scores have it.
    by : str
        The column of the groups.
    join : mapping of str to sequence of str, optional
        Groups to be joined under one name, such as ``{"open": ["Open weights*"]}``; ``*`` stands for any text. With it, all other groups are excluded.
    since : float, optional
        Compare only capabilities from this one on.
    level : float
        Coverage of the intervals, between 0 and 1.

    Raises
    ------
    InputError
        If fewer than two groups have three dated models.
    """
    scale = Scale.loaded(scale)
    check_level(level)
    dated = Dated.of(scale)
    given = _labels(scale, dated, groups, by)
    is_plain = by == "family" or isinstance(groups, Mapping)
    single = [([name] if name else []) if is_plain else single_names(name) for name in given]
    label = [{new for name in names if (new := _joined(name, join))} for names in single]
    counts = pl.Series([name for names in label for name in sorted(names)], dtype=pl.String).value_counts(sort=True)
    kept = [name for name, n in counts.rows() if n >= _FEWEST]
    notes = list(scale.provenance.notes)
    small = len(counts) - len(kept)
    notes += [f"{small} groups have fewer than {_FEWEST} dated models and are excluded."] if small else []
    shared = sorted({" and ".join(sorted(names)) for names in label if len(names) > 1})
    notes += [f"Models of several groups count in each of them: {listed(shared)}."] if shared else []
    without = sum(not names for names in label)
    notes += [f"{without} of {len(label)} dated models have no group and are excluded."] if without else []
    if scale.without_replicates:
        notes.append(f"Lags have no intervals: {scale.without_replicates}.")
    if len(kept) < 2:
        raise InputError(
            f"{len(kept)} groups have {_FEWEST} or more dated models; a lag needs two. The groups are: {', '.join(counts[counts.columns[0]].head(8)) or 'none'}."
        )
    member = {name: np.array([name in names for names in label]) for name in kept}
    best_first = sorted(kept, key=lambda name: -float(dated.capability[member[name]].max()))
    rows = [
        _pair(dated, member, behind, ahead, since, level) for ahead, behind in itertools.combinations(best_first, 2)
    ]
    told = {"by": by, "join": {name: list(ones) for name, ones in (join or {}).items()}, "since": since, "level": level}
    return Lags(
        lags=pl.DataFrame(rows, infer_schema_length=None),
        frontiers=_frontiers(dated, member, best_first),
        groups=_groups(dated, member, best_first),
        level=level,
        provenance=Provenance({**told, "scale": scale.provenance.settings}, scale.provenance.digest, 0, tuple(notes)),
    )


def mean_lag(
    a: tuple[Ints, Floats], b: tuple[Ints, Floats], since: float | None = None
) -> tuple[float, float, float, float]:
    """Months by which a is behind b: the mean over the capabilities that both reached, at the highest of these, and the two ends of the range.

    ``a`` and ``b`` are days and capabilities. NaN where no capability was reached by both.
    """
    first, second = _records(*a), _records(*b)
    low = max(first[1][0], second[1][0], -np.inf if since is None else since)
    high = min(first[1][-1], second[1][-1])
    if not low <= high:
        return np.nan, np.nan, low, high
    # the day of a capability is constant between records of either group
    steps = np.unique(
        np.concatenate([[low, high], *(level[(level > low) & (level < high)] for _, level in (first, second))])
    )
    upper = steps[1:] if len(steps) > 1 else steps
    days = [record[0][np.searchsorted(record[1], upper)] for record in (first, second)]
    behind = (days[0] - days[1]) / DAYS_A_YEAR * _MONTHS
    weights = np.diff(steps) if len(steps) > 1 else np.ones(1)
    return float(np.average(behind, weights=weights)), float(behind[-1]), low, high


def _records(days: Ints, capability: Floats) -> tuple[Ints, Floats]:
    """Days and levels at which the best capability so far rose."""
    order = np.lexsort((-capability, days))
    level = np.maximum.accumulate(capability[order])
    is_new = np.concatenate([[True], np.diff(level) > 0])
    return days[order][is_new], level[is_new]


def _pair(
    dated: Dated, member: Mapping[str, Bools], a: str, b: str, since: float | None, level: float
) -> dict[str, object]:
    first, second = member[a], member[b]
    days = dated.days[first], dated.days[second]
    months, latest, low, high = mean_lag((days[0], dated.capability[first]), (days[1], dated.capability[second]), since)
    drawn = np.array(
        [mean_lag((days[0], row[first]), (days[1], row[second]), since)[:2] for row in dated.drawn]
    ).reshape(-1, 2)
    found: dict[str, object] = {}
    for number, (name, value) in enumerate((("months", months), ("latest", latest))):
        if np.isnan(value):
            estimate = Estimate.without("undefined", "no capability was reached by both", level=level)
        else:
            estimate = replicate_interval(drawn[:, number], level).estimate(value, level=level)
        found |= columns_of(**{name: estimate})
    told = drawn[~np.isnan(drawn[:, 0]), 0]
    p_behind = float(((told > 0).mean() + (told >= 0).mean()) / 2) if len(told) else None
    return {"group": a, "behind": b, **found, "p_behind": p_behind, "capability_from": low, "capability_to": high}


def _labels(scale: Scale, dated: Dated, groups: Source | Mapping[str, str] | None, by: str) -> list[str | None]:
    """The group of each dated model."""
    place = {name: i for i, name in enumerate(scale.problem.models)}
    organisations = [scale.problem.organisations[place[name]] for name in dated.models]
    if groups is None:
        if by == "organisation":
            return list(organisations)
        if by == "family":
            return [scale.problem.families[place[name]] for name in dated.models]
        raise OptionError.unknown("column of the scores to group by", by, ("organisation", "family"))
    if isinstance(groups, Mapping):
        known = {fold_name(name): group for name, group in groups.items()}
    else:
        known = _read_groups(groups, by)
    return [
        known.get(fold_name(name)) or (None if org is None else known.get(fold_name(org)))
        for name, org in zip(dated.models, organisations, strict=True)
    ]


def _read_groups(groups: Source, by: str) -> dict[str, str]:
    """Groups by the folded name of a model or an organisation."""
    path = Path(groups) if isinstance(groups, str | os.PathLike) else None
    if path is not None and (path.is_dir() or path.suffix.lower() == ".zip"):
        table = epoch.read_models(path)
    else:
        table = parts_of(groups)[0].parsed().rows.collect()
    columns = {fold_name(name): name for name in table.columns}
    key = next((columns[fold_name(name)] for name in _KEYS if fold_name(name) in columns), None)
    if key is None:
        raise InputError(f"The table of groups has no column of models or organisations ({', '.join(_KEYS)}).")
    if fold_name(by) not in columns:
        raise OptionError.unknown("column of the groups", by, [name for name in table.columns if name != key])
    rows = table.select(key, columns[fold_name(by)]).drop_nulls().rows()
    return {fold_name(str(name)): str(group).strip() for name, group in rows if str(group).strip()}


def _joined(name: str, join: Mapping[str, Sequence[str]] | None) -> str | None:
    if not join:
        return name
    return next((new for new, old in join.items() if any(fnmatch.fnmatchcase(name, one) for one in old)), None)


def _frontiers(dated: Dated, member: Mapping[str, Bools], order: Sequence[str]) -> pl.DataFrame:
    """The record models of each group, in time."""
    names, rows = np.array(dated.models), []
    for group in order:
        inside = member[group]
        level = frontier_level(dated.days[inside], dated.capability[inside], dated.days[inside])
        is_record = dated.capability[inside] >= level
        rows += [
            {"group": group, "date": int(day), "model": model, "capability": float(value)}
            for day, model, value, is_one in zip(dated.days[inside], names[inside], dated.capability[inside], is_record, strict=True)
            if is_one
        ]  # fmt: skip
    frame = pl.DataFrame(rows).with_columns(pl.col("date").cast(pl.Int32).cast(pl.Date))
    place = {name: i for i, name in enumerate(order)}
    return frame.sort(pl.col("group").replace_strict(place, return_dtype=pl.Int64), "date", "capability")


def _groups(dated: Dated, member: Mapping[str, Bools], order: Sequence[str]) -> pl.DataFrame:
    rows = []
    for group in order:
        inside = np.flatnonzero(member[group])
        best = inside[int(dated.capability[inside].argmax())]
        rows.append(
            {
                "group": group,
                "n_models": len(inside),
                "best_model": dated.models[best],
                "capability": float(dated.capability[best]),
                "date": int(dated.days[best]),
            }
        )
    return pl.DataFrame(rows).with_columns(pl.col("date").cast(pl.Int32).cast(pl.Date))
