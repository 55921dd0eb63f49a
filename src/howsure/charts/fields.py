"""What a chart needs to be told besides its rows: columns with titles and units, the caption, the reference line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import polars as pl

    from howsure.estimates import Estimate

__all__ = ["Caption", "Field", "Reference", "bins", "estimate_rows"]

_SPACE = "\u00a0"  # does not break
_PROPERTIES = frozenset(
    {
        *(
            "constructor",
            "hasOwnProperty",
            "isPrototypeOf",
            "propertyIsEnumerable",
            "toLocaleString",
            "toString",
            "valueOf",
        ),
        *("__proto__", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__"),
    }
)


@dataclass(frozen=True)
class Field:
    """A column of a chart's data, and how it is labelled.

    Parameters
    ----------
    column : str
        Name of the column.
    title : str
        Title of the axis, legend or tooltip.
    unit : str
        Unit in brackets after the title (``0–1``, ``minutes``, ``log-odds``); every numeric column has one.
    format : str
        d3 number format.
    scale : Literal['linear', 'log2', 'log10']
        Scale of the axis.
    domain : tuple[float, float] | None
        The two ends of the axis.
    ticks : Mapping[float, str]
        Marks on the axis and their labels, such as ``{1: "1 min", 60: "1 h"}``.
    groups : tuple[str, ...]
        Groups that keep their colour in every chart, also where the data lack some of them.
    """

    column: str
    title: str
    unit: str = ""
    format: str = ""
    scale: Literal["linear", "log2", "log10"] = "linear"
    domain: tuple[float, float] | None = None
    ticks: Mapping[float, str] = field(default_factory=dict)
    groups: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The title with its unit, on one line."""
        # Vega writes titles into expressions: a line separator would end the text, and a property of every object be overwritten
        label = " ".join((f"{self.title} ({self.unit})" if self.unit else self.title).split())
        return f"{label}{_SPACE}" if label in _PROPERTIES else label


@dataclass(frozen=True)
class Caption:
    """Number of observations behind a chart, and the level and method of its intervals.

    A chart without intervals has ``level=None`` and a ``method`` that says why.

    >>> Caption(1204, "attempts", 0.95, "bootstrap over task families").told("Bars")
    'n = 1,204 attempts. Bars: 95 % interval, bootstrap over task families.'

    Parameters
    ----------
    n : int
        Number of observations.
    of : str
        What is counted: attempts, models, ratings.
    level : float | None
        Coverage of the intervals; None without intervals.
    method : str
        How the intervals were computed.
    note : str
        A further sentence.
    """

    n: int
    of: str
    level: float | None
    method: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if self.level is None and not self.method:
            raise ValueError("a Caption without level needs a method that says why there is no interval")
        if self.level is not None and not 0 < self.level < 1:
            raise ValueError(f"level {self.level} is not between 0 and 1")

    def told(self, mark: str = "") -> str:
        """The caption as text; `mark` is what draws the intervals (Bars, Bands)."""
        parts = [f"n = {self.n:,} {self.of}", self._interval(mark), self.note]
        return " ".join(f"{part.rstrip('.')}." for part in parts if part)

    def _interval(self, mark: str) -> str:
        if self.level is None:
            return f"No interval: {self.method}"
        made = f", {self.method}" if self.method else ""
        return (f"{mark}: " if mark else "") + f"{self.level * 100:.6g} % interval{made}"


@dataclass(frozen=True)
class Reference:
    """A line to compare with, such as chance level or no difference.

    Parameters
    ----------
    value : float
        Position of the line.
    label : str
        Text beside the line.
    """

    value: float
    label: str = ""


def estimate_rows(by_label: Mapping[str, Estimate] | Iterable[tuple[str, Estimate]]) -> pl.DataFrame:
    """Estimates as rows for a chart: ``label``, ``value``, ``low``, ``high``, ``state``, ``text`` (as printed).

    Parameters
    ----------
    by_label : Mapping[str, Estimate] | Iterable[tuple[str, Estimate]]
        Label → estimate, or pairs of them.
    """
    import polars as pl

    pairs = list(by_label.items() if isinstance(by_label, Mapping) else by_label)
    rows = [(label, one.value, one.low, one.high, one.state, str(one)) for label, one in pairs]
    kinds = [pl.String, pl.Float64, pl.Float64, pl.Float64, pl.String, pl.String]
    names = ["label", "value", "low", "high", "state", "text"]
    return pl.DataFrame(rows, schema=dict(zip(names, kinds, strict=True)), orient="row")


def bins(values: Iterable[float], n_bins: int = 40) -> pl.DataFrame:
    """Number of values in each of `n_bins` equal steps: ``start``, ``end``, ``count``.

    Parameters
    ----------
    values : Iterable[float]
        Finite numbers.
    n_bins : int
        Number of steps.
    """
    import numpy as np
    import polars as pl

    counts, edges = np.histogram(np.fromiter(values, float), bins=n_bins)
    return pl.DataFrame({"start": edges[:-1], "end": edges[1:], "count": counts})
