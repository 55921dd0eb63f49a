"""How well raters agree: every coefficient of a table of ratings, and which one to report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate
from howsure.results import Provenance, Result, columns_of
from howsure.stats._arrays import Floats
from howsure.stats.reliability import (
    Scale,
    agreement_on_categories,
    choose_coefficient,
    intraclass,
    noise_ceiling,
    over_clusters,
    reliability_table,
)
from howsure.study.scoring.fidelity import is_pair
from howsure.tables import Ratings, Table
from howsure.tables.frames import Part, parts_of

if TYPE_CHECKING:
    from howsure.tables.frames import Source

__all__ = [
    "RATER_EFFECTS",
    "NoiseCeiling",
    "Reliability",
    "clusters_used",
    "coded",
    "look_swapped",
    "matrix_of",
    "noise_ceiling_of",
    "read_ratings",
    "reliability",
]

RATER_EFFECTS = ("unidentified", "sampled", "fixed")
_NUMBER = r"^[+-]?[0-9]*\.?[0-9]+([eE][+-]?[0-9]+)?$"


@dataclass(frozen=True, kw_only=True)
class Reliability(Result):
    """All coefficients of agreement, and which one fits the design.

    Table ``reliability``: one row per coefficient (coefficient, value, value_low, value_high, value_state).

    Parameters
    ----------
    coefficients : Mapping[str, Estimate]
        Name → estimate.
    report : str
        Name of the coefficient to report.
    sentence : str
        Why that one.
    n_items : int
        Number of items.
    n_raters : int
        Number of raters.
    n_missing : int
        Number of missing ratings.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "reliability"
    coefficients: Mapping[str, Estimate]
    report: str
    sentence: str
    n_items: int
    n_raters: int
    n_missing: int
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """One table, ``reliability``."""
        rows = [{"coefficient": name} | columns_of(value=one) for name, one in self.coefficients.items()]
        return {"reliability": pl.DataFrame(rows, infer_schema_length=None)}

    def as_dict(self) -> dict[str, Any]:
        """The coefficients, which one to report and why, and the numbers of items, raters and missing ratings."""
        counts = {"n_items": self.n_items, "n_raters": self.n_raters, "n_missing": self.n_missing}
        return {**super().as_dict(), "report": self.report, "sentence": self.sentence, **counts}


def reliability(
    ratings: Ratings | Source,
    *,
    dimension: str | None = None,
    rater_effects: str = "sampled",
    scale: Scale | None = None,
    cluster: str | None = None,
    level: float = 0.95,
) -> Reliability:
    """Every coefficient of agreement for one dimension of a table of ratings.

    Parameters
    ----------
    ratings : Ratings, frame or path
        The ratings in long form (rater, item, dimension, value). A file may also have one row per item and one column per rater.
    dimension : str, optional
        Which dimension, where there are several.
    rater_effects : {"sampled", "fixed", "unidentified"}
        Who the raters are: ``sampled`` (the same people rate all items and are a sample of possible raters), ``fixed`` (exactly
        these people) or ``unidentified`` (other people for each item).
    scale : {"nominal", "ordinal", "interval"}, optional
        What the values are: categories without order, ordered categories, or numbers; by default ``nominal`` for text and ``interval`` for numbers.
        With ``nominal`` only coefficients without order and distance are given. The coefficient to report follows from scale and design.
    cluster : str, optional
        Column of the ratings that groups items which resemble each other, such as their prompt; the intervals are then a jackknife over its values. By
        default the ratings' own column ``cluster``, where there is one.
    level : float
        Coverage of the intervals, between 0 and 1.

    Returns
    -------
    Reliability
        The coefficients with intervals, and which one to report.

    Examples
    --------
    >>> import howsure
    >>> howsure.study.reliability("examples/study/ratings.csv", dimension="voice").report  # doctest: +SKIP
    'icc_2_1'
    """
    if rater_effects not in RATER_EFFECTS:
        raise OptionError.unknown("rater effects", rater_effects, RATER_EFFECTS)
    ratings = read_ratings(ratings, categories=True, dimension=dimension)
    scale = scale or ("nominal" if ratings.is_categorical else "interval")
    (ratings,), names = coded(ratings)
    if names and scale != "nominal":
        raise OptionError(
            f"scale {scale}: the ratings are text ({', '.join(names[:4])}), whose order is unknown. Give numbers."
        )
    frame = _one_dimension(ratings, dimension)
    n_all, frame = len(frame), frame.filter(is_pair())
    n_again = n_all - len(frame)
    notes = (
        [f"{n_again} ratings of pairs that were shown again are excluded: they are not other items."] if n_again else []
    )
    matrix, items, _ = matrix_of(frame)
    of_item, cluster_notes = clusters_used(cluster, Ratings(frame))
    clusters = None if of_item is None else [of_item[item] for item in items]
    commonest = float(frame["value"].value_counts()["count"].max() or 0) / max(len(frame), 1)  # type: ignore[arg-type]
    choice = choose_coefficient(scale, rater_effects, commonest=commonest)  # type: ignore[arg-type]
    coefficients = agreement_on_categories if scale == "nominal" else reliability_table
    n_items, n_raters = matrix.shape
    return Reliability(
        coefficients=coefficients(matrix, clusters=clusters, level=level),
        report=choice.name,
        sentence=choice.sentence,
        n_items=n_items,
        n_raters=n_raters,
        n_missing=int(np.isnan(matrix).sum()),
        provenance=Provenance.of(
            ratings,
            notes=[*notes, *cluster_notes],
            dimension=frame["dimension"][0],
            rater_effects=rater_effects,
            scale=scale,
            cluster=cluster or ("cluster" if clusters else None),
            level=level,
        ),
    )


@dataclass(frozen=True)
class NoiseCeiling:
    """The correlation that a perfect score could be expected to reach with these raters' mean, and the reliability it is the root of.

    ``coefficient`` names that reliability (``icc_1_k``, ``icc_2_k`` or ``icc_3_k``).
    """

    ceiling: Estimate
    reliability: Estimate
    coefficient: str


def noise_ceiling_of(table: Floats, rater_effects: str, *, clusters: Any = None, level: float = 0.95) -> NoiseCeiling:
    r"""The noise ceiling :math:`\sqrt{ICC(\cdot, k)}` of the items that a correlation is computed over.

    Parameters
    ----------
    table : array, items × raters
        Just the items of the correlation, NaN where nobody rated: reliability depends on how much the items differ.
    rater_effects : str
        Who the raters are, as in `reliability`. Where everybody rated everything, rater bias (severity) moves all items alike and lowers no
        correlation, so ``icc_3_k`` is used; with gaps it is ``icc_2_k`` for sampled raters.
    clusters : sequence, optional
        One label per item: the interval is then a jackknife over clusters of −log(1 − ICC).
    level : float
        Coverage of the interval, 0.95 by default.
    """
    used = table[:, ~np.isnan(table).all(axis=0)]
    if rater_effects == "unidentified":
        name = "icc_1_k"
    else:
        name = "icc_3_k" if rater_effects == "fixed" or not np.isnan(used).any() else "icc_2_k"
    correlations = partial(intraclass, level=level)
    found = correlations(used) if clusters is None else over_clusters(correlations, used, clusters, level)
    reliability = found[name]
    return NoiseCeiling(noise_ceiling(reliability), reliability, name)


def _clusters_of(column: str, *tables: Ratings) -> dict[str, str]:
    """The cluster of each item, from whichever table has the column."""
    having = [table.frame.select("item", column) for table in tables if table.has(column)]
    if not having:
        extra = sorted(
            {name for table in tables for name in table.frame.columns} - {"rater", "item", "dimension", "value"}
        )
        raise OptionError.unknown("column to cluster by", column, extra)
    rows = pl.concat([one.with_columns(pl.col(column).cast(pl.String)) for one in having]).unique().drop_nulls()
    twice = rows.filter(pl.len().over("item") > 1)["item"].sort()
    if len(twice):
        raise InputError(f"Item {twice[0]!r} has two values in column {column!r}. An item belongs to one cluster.")
    by_item = dict(rows.iter_rows())
    lacking = sorted({item for table in tables for item in table.frame.filter(is_pair())["item"]} - set(by_item))
    if lacking:
        raise InputError(
            f"{len(lacking)} items have no value in column {column!r}: {', '.join(lacking[:4])}. Fill it in for every item."
        )
    return by_item


def clusters_used(column: str | None, *tables: Ratings) -> tuple[Mapping[str, str] | None, list[str]]:
    """The cluster of each item by the named column, or by the tables' own column ``cluster``; None where items do not belong together. And notes.

    A named column must give every item one cluster; an own column that does not is left out, and a note says why.

    Parameters
    ----------
    column : str, optional
        The column that was asked for.
    *tables : Ratings
        One of which has the column.
    """
    if column is not None:
        return _clusters_of(column, *tables), []
    if not any(table.has("cluster") for table in tables):
        return None, []
    try:
        of_item = _clusters_of("cluster", *tables)
    except InputError as error:
        return None, [f"Column cluster is not used, and intervals take items as independent. {error}"]
    n_clusters = len(set(of_item.values()))
    if n_clusters == len(of_item):
        return None, []
    if n_clusters == 1:
        return None, ["All items are in one cluster: it is not used, and intervals take items as independent."]
    return of_item, [f"Column cluster groups {len(of_item)} items into {n_clusters} clusters; intervals use it."]


def read_ratings(ratings: Ratings | Source, *, categories: bool = False, dimension: str | None = None) -> Ratings:
    """Ratings of any origin: a long table, a table with one row per item and one column per rater, or a rating tool's file.

    A long table has one row per rater, item and dimension; its columns may have the names that people use for them (annotator, label, …). In the wide
    form a first column whose values are not all numbers, or that is called item, names the items; gaps are allowed. Files of Label Studio, Argilla,
    Potato, Prodigy and Mechanical Turk are recognised. Where raters rated several systems' answers to one item, each answer becomes an item of its
    own, called ``item [system]``, and the column ``cluster`` says which belong together.

    Parameters
    ----------
    ratings : Ratings, frame or path, or several
        The table itself, or a frame or file to make it of; several become one table.
    categories : bool
        Whether values may be categories (text); otherwise they must be numbers.
    dimension : str, optional
        The dimension that is wanted: of a rating tool's file with numbers and text, only it is read.
    """
    if isinstance(ratings, list | tuple):
        if not ratings:
            raise InputError("No ratings were given.")
        return Ratings.union([read_ratings(one, categories=categories, dimension=dimension) for one in ratings])
    read = ratings if isinstance(ratings, Ratings) else _as_ratings(ratings, dimension)
    read = _by_answer(read)
    return read if categories else read.numeric()


def _as_ratings(ratings: Source, dimension: str | None) -> Ratings:
    if isinstance(ratings, str | Path):
        from howsure import sources

        path = Path(ratings)
        if path.exists() and (found := sources.recognise(path)).source not in ("files", "excel"):
            if found.source == "inspect_logs":
                return _of_scorers(sources.read(path, scorer="all"))
            is_chosen = dimension is not None and "metric" in sources.source(found.source).OPTIONS
            options: dict[str, Any] = {"metric": dimension} if is_chosen else {}
            table = sources.read(path, wanted="ratings", **options)
            if not isinstance(table, Ratings):
                kind = type(table).__name__.lower()
                raise InputError(f"{path}: contains {kind} ({found.source}); this command needs ratings.")
            return table
    parts = parts_of(ratings)
    if len(parts) != 1:
        return Ratings(ratings)
    from howsure.tables.guesses import read_as

    names = {name.strip().lower() for name in parts[0].rows.collect_schema().names()}
    if {"rater", "item", "value"} <= names:
        return Ratings(ratings, fill={} if "dimension" in names else {"dimension": "rating"})
    if names & {
        "rater",
        "annotator",
        "rater_id",
        "annotator_id",
        "worker",
        "worker_id",
        "coder",
        "judge",
        "participant",
    }:
        asked = names & {"dimension", "criterion", "aspect", "attribute", "scale", "question"}
        guess = read_as(parts[0], table=Ratings, fill={} if asked else {"dimension": "rating"})
        return Ratings([guess.part], notes=[f"{guess.says}."] if guess.says else [])
    return _from_wide(parts[0])


def _of_scorers(attempts: Table) -> Ratings:
    """The scorers of Inspect logs as raters: an item is a sample, its system the model that answered, its value the mean over epochs."""
    keys = ["scorer", "task", "subject"]
    rated = attempts.frame.drop_nulls("score")  # a sample without a score has no rating
    mean = rated.group_by(keys, maintain_order=True).agg(pl.col("score").mean().alias("value"))
    named = mean.rename({"scorer": "rater", "task": "item", "subject": "system"})
    note = "Inspect: raters are the scorers, items are TASK/SAMPLE, values are mean scores over epochs."
    return Ratings(named.with_columns(pl.lit("score").alias("dimension")), notes=[*attempts.notes, note])


def _by_answer(ratings: Ratings) -> Ratings:
    """Each system's answer to an item as an item of its own, where raters rated more than one."""
    if not ratings.has("system"):
        return ratings
    several = pl.struct("rater", "item", "dimension")
    if not ratings.lazy.select(several.is_duplicated().any()).collect().item():
        return ratings
    cluster = [] if ratings.has("cluster") else [pl.col("item").alias("cluster")]
    answer = pl.format("{} [{}]", "item", pl.col("system").fill_null("?"))
    return Ratings(ratings.frame.with_columns(answer.alias("item"), *cluster), notes=ratings.notes)


def look_swapped(people: Ratings, judges: Ratings) -> list[str]:
    """A note where the people's table looks like a judge's and the judges' table like people's, else nothing.

    They do if all names are PROVIDER/MODEL in the first table and none in the second, or if each item has one rater in the first table and some
    have several in the second, of whom none is called PROVIDER/MODEL.

    Parameters
    ----------
    people, judges : Ratings
        The tables as they were given.
    """
    sides = [table.frame.filter(is_pair()) for table in (people, judges)]
    names = [side["rater"].unique(maintain_order=True).to_list() for side in sides]
    if any("/" in name for name in names[1]):
        return []
    are_models = all("/" in name for name in names[0])
    most = [side.group_by("item", "dimension").len()["len"].max() for side in sides]
    if not are_models and not (most[0] == 1 and most[1] != 1):
        return []
    told = [f"{', '.join(map(str, one[:3]))}{', …' if len(one) > 3 else ''}" for one in names]
    return [
        f"Are the tables swapped? People's ratings come first and judges' ratings second; here the people are {told[0]} and the judges are {told[1]}."
    ]


def coded(*tables: Ratings) -> tuple[list[Ratings], tuple[str, ...]]:
    """Ratings whose categories are text, with a number for each category, the same in all tables; and the categories in the order of the numbers.

    Tables of numbers stay as they are, without categories.

    Parameters
    ----------
    *tables : Ratings
        All with numbers, or all with text.
    """
    if not any(table.is_categorical for table in tables):
        return list(tables), ()
    texts = [
        table.frame.with_columns(
            pl.col("value")
            if table.is_categorical
            else pl.format("{}", pl.col("value").map_elements("{:g}".format, pl.String))
        )
        for table in tables
    ]
    names = sorted({value for frame in texts for value in frame["value"].drop_nulls()})
    numbers = {name: float(place) for place, name in enumerate(names)}
    made = [
        Ratings(frame.with_columns(pl.col("value").replace_strict(numbers, return_dtype=pl.Float64)), notes=table.notes)
        for frame, table in zip(texts, tables, strict=True)
    ]
    return made, tuple(names)


def _from_wide(part: Part) -> Ratings:
    frame, path = part.collect(part.rows), part.path or "the table"
    if not frame.width:
        raise InputError(f"{path}: has no column. Give one row per item and one column per rater, at least 2.")
    first = frame.columns[0]
    text = frame[first].cast(pl.String).drop_nulls()
    is_named = first.casefold() in ("item", "id") or not text.str.contains(_NUMBER).all()
    named = frame if is_named else frame.with_row_index("item", offset=1)
    item = first if is_named else "item"
    raters = [name for name in named.columns if name != item]
    if len(raters) < 2:
        raise InputError(
            f"{path}: {len(raters)} column of ratings. Give one row per item and one column per rater, at least 2."
        )
    if is_named and first.casefold() not in ("item", "id") and named[first].n_unique() < len(named):
        # categories by rater, without a column of items
        named, item, raters = frame.with_row_index("item", offset=1), "item", list(frame.columns)
    long = (
        named.with_columns(pl.col(raters).cast(pl.String))
        .with_row_index("#row")
        .unpivot(index=["#row", item], on=raters, variable_name="rater", value_name="value")
    )
    filled = long.rename({item: "item"}).filter(pl.col("value").fill_null("").str.strip_chars() != "")
    filled = filled.with_columns(pl.lit("rating").alias("dimension"))
    numbers = filled["#row"] if part.numbers is None else part.numbers[filled["#row"]]  # so that a fault names its line
    return Ratings([replace(part, rows=filled.drop("#row").lazy(), numbers=numbers, is_parsed=True)])


def _one_dimension(ratings: Ratings, dimension: str | None) -> pl.DataFrame:
    there = ratings.frame["dimension"].unique().sort().to_list()
    if dimension is None and len(there) > 1:
        raise OptionError(f"There are {len(there)} dimensions. Choose one with --dimension: {', '.join(there[:8])}.")
    if dimension is not None and dimension not in there:
        raise OptionError.unknown("dimension", dimension, there)
    return ratings.frame.filter(pl.col("dimension") == (dimension or there[0]))


def matrix_of(frame: pl.DataFrame) -> tuple[Floats, list[str], list[str]]:
    """Items by raters of one dimension, NaN where nothing was said; and the names of both.

    Parameters
    ----------
    frame : pl.DataFrame
        Columns rater, item and value; at most one row per rater and item.
    """
    wide = frame.pivot(on="rater", index="item", values="value", maintain_order=True)
    cells = wide.drop("item").cast(pl.Float64).fill_null(float("nan"))
    return cells.to_numpy(), wide["item"].to_list(), cells.columns
