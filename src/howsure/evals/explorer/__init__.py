"""One offline page in which models and items can be looked at: filtered, sorted, zoomed and compared.

`explore` packs the attempts (columns as numbers, texts as places in a list, all compressed) beside one script, one style
sheet and a policy that lets nothing else run and nothing be fetched. The script computes every number in the browser, by
the formulas of `howsure.stats.means`.
"""

from __future__ import annotations

import base64
import html
import os
import zlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.special import gammaincinv

from howsure._version import __version__
from howsure.arguments import checked
from howsure.charts.page import policy, style
from howsure.errors import OptionError
from howsure.evals.item_means import default_cluster
from howsure.evals.item_table import viewer_address
from howsure.evals.variants import aligned, averaged_factors, levels_of, named, variants_of, varying_factors
from howsure.outside_text import json_text, one_line, several_lines, templates
from howsure.safe_io import write_atomic
from howsure.stats._arrays import check_level, normal_quantile, t_quantile
from howsure.tables import Attempts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from howsure.tables.frames import Source

__all__ = ["Explorer", "explore", "with_texts"]

_LEVELS = (0.8, 0.9, 0.95, 0.99)
_N_POINTS = 33
_MOST_VALUES = 300  # a column with more different texts cannot be filtered by ticking them
_MEASURES = {"seconds": "Seconds", "tokens": "Tokens", "cost": "Cost ($)"}
_TEXTS = ("question", "target", "answer")
_HIDDEN = frozenset(
    {"subject", "task", "score", "n", "n_success", "scale", "better", "item_digest", "kind", "source", *_TEXTS}
)


@dataclass(frozen=True)
class Explorer:
    """A page of its own: `save` writes it, a notebook shows it.

    Parameters
    ----------
    html : str
        The whole page.
    notes : tuple of str
        What a reader should know of the data, such as pooled variants.
    """

    html: str
    notes: tuple[str, ...] = ()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page as one HTML file.

        Parameters
        ----------
        path : str or path
            The file.
        """
        return write_atomic(path, self.html)

    def __repr__(self) -> str:
        """Its size."""
        return f"<Explorer: a page of {len(self.html.encode()) / 1e6:.1f} MB; .save(path) writes it>"

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that it and the notebook cannot reach each other."""
        return (
            f'<iframe srcdoc="{html.escape(self.html, quote=True)}" title="Explorer" sandbox="allow-scripts allow-popups" '
            'style="width:100%;height:860px;border:1px solid #8a96a3;border-radius:6px"></iframe>'
        )


@checked
def explore(
    attempts: Attempts | Source,
    *,
    by: str | Sequence[str] = (),
    cluster: str | None = None,
    level: float = 0.95,
    viewer: str | None = None,
    with_text: bool = False,
    title: str = "Explorer",
) -> Explorer:
    """One offline page with all attempts: a map of models by items, two models side by side, items, cost, filters.

    Filters on any column recompute the means, their clustered intervals and the paired differences in the browser: the same numbers
    as `howsure.summary(by="all")` and `howsure.compare` give for the same rows.

    Parameters
    ----------
    attempts : Attempts, frame or path
        One row per attempt; more columns (prompt, temperature, …) become filters.
    by : str or sequence of str, optional
        What is compared: model, or columns that vary within a model, such as ``"model,prompt"``. Without it, all factors that vary,
        crossed; with ``"model"``, attempts are pooled over the others, and a note says so.
    cluster : {"task", "family", "domain"}, optional
        Items of one cluster are not independent: by default those of one family, where there are families; can be changed in the page.
    level : float, default 0.95
        Coverage of the intervals; can be changed in the page.
    viewer : str, optional
        Address of a running ``inspect view``, such as ``http://127.0.0.1:7575``: adds links to transcripts.
    with_text : bool, default False
        Whether the columns ``question``, ``target`` and ``answer`` go into the page; for Inspect logs they are read from the logs.
        Without it no text of an item or answer goes into the page.
    title : str, default "Explorer"
        Heading of the page.

    Returns
    -------
    Explorer
        With ``save(path)``; a notebook shows the page.

    Raises
    ------
    OptionError
        If the attempts lack the column named by `cluster`, have no texts, or the viewer's address is not one.

    Examples
    --------
    >>> import howsure
    >>> howsure.explore("examples/evals/attempts.csv").save("explorer.html")  # doctest: +SKIP
    """
    check_level(level)
    if isinstance(attempts, str | Path):
        path, attempts = attempts, Attempts.of(attempts)
        attempts = with_texts(attempts, [path]) if with_text else attempts
    attempts, compared, averaged = _compared(Attempts.of(attempts), by)
    attempts = attempts.counted
    frame = attempts.frame
    cluster = default_cluster(attempts, cluster)
    clusters = ["task", *(name for name in ("family", "domain") if name in frame.columns)]
    if cluster not in clusters:
        raise OptionError.unknown("cluster", cluster, clusters)
    has_text = [name for name in _TEXTS if name in frame.columns]
    if with_text and not has_text:
        raise OptionError("with_text: these attempts have no column question, target or answer.")
    address = None if viewer is None else viewer_address(viewer)
    if address and not attempts.has("log", "sample", "epoch"):
        raise OptionError("viewer: these attempts do not name their logs and samples. Read them from Inspect logs.")
    domain = pl.col("domain").fill_null("(none)") if "domain" in frame.columns else pl.lit("")
    frame = frame.with_columns(domain.alias("#eval")).sort("#eval", "task", "subject", "attempt")
    item = pl.struct("#eval", "task").rle_id()
    frame = frame.with_columns(item.alias("#item"))
    packing = _Packing()
    models, model = _coded(frame["subject"])
    packing.add("#model", model)
    packing.add("#item", frame["#item"].to_numpy())
    _add_scores(packing, frame["score"].to_numpy())
    cell = frame.select(pl.struct(averaged or ["#item"]).rank("dense").cast(pl.Int64) - 1).to_series().to_numpy()
    n_cells = int(cell.max()) + 1 if averaged else 1
    if n_cells > 1:
        packing.add("#cell", cell)
    if attempts.has("n"):
        packing.add("#n", frame["n"].fill_null(1).cast(pl.Float64).to_numpy())
    first = frame.unique("#item", keep="first", maintain_order=True).sort("#item")
    evals, eval_ = _coded(first["#eval"])
    packing.add("#eval", eval_, of="item")
    for name, labels in _clusters(first, clusters).items():
        packing.add(f"#cluster {name}", labels, of="item")
    if attempts.has("item_digest") and frame["item_digest"].null_count() < len(frame):
        _, digest = _coded(frame["item_digest"], has_missing=True)
        packing.add_by_item("#digest", digest, frame["#item"].to_numpy())
    _add_columns(packing, frame, compared, keeps_logs=address is not None)
    texts = _texts(packing, frame, has_text) if with_text else None
    content = {
        "n": int(frame["n"].fill_null(1).sum()) if attempts.has("n") else len(frame),
        "n_items": len(first),
        "n_cells": n_cells,
        "models": [one_line(name) for name in models],
        "evals": [one_line(name) for name in evals],
        "tasks": [one_line(name) for name in first["task"]],
        "bounds": None if attempts.is_free else [0, 1],
        "cluster": cluster,
        "clusters": clusters,
        "level": level,
        "quantiles": {f"{one:.10g}": _quantiles(one) for one in sorted({*_LEVELS, level})},
        "viewer": address,
        "columns": packing.columns,
        "blob": packing.blob(),
        "texts": texts,
    }
    return Explorer(_page(content, title, attempts), attempts.notes)


def _compared(attempts: Attempts, by: str | Sequence[str]) -> tuple[Attempts, str, list[str]]:
    """The attempts with what is compared as their subject, its name, and the factors that are averaged over; notes say so."""
    wanted = [one.strip() for one in (by.split(",") if isinstance(by, str) else by) if one.strip()]
    factors = wanted or varying_factors(attempts)
    if factors in ([], ["subject"], ["model"]):
        averaged = averaged_factors(attempts)
        return attempts.derive(attempts.lazy, *_averaged(attempts, averaged)), "Model", averaged
    cells = variants_of(attempts, by=factors)
    paired, notes = aligned(cells.attempts)
    rows = paired.lazy.with_columns(pl.col("subject").replace(dict(cells.names)))
    crossed = f"Compared: {cells.factor}." + (
        "" if wanted else " To average over one of them, name the others with by."
    )
    made = paired.derive(rows, *cells.notes, *_averaged(attempts, cells.averaged), *notes, crossed)
    return made, cells.factor.capitalize(), list(cells.averaged)


def _averaged(attempts: Attempts, names: Sequence[str]) -> list[str]:
    return [
        f"Scores are averaged over {named(name)} ({', '.join(levels_of(attempts, name))}): each value that both models have counts once."
        for name in names
    ]


def with_texts(attempts: Attempts, inputs: Sequence[str | Path]) -> Attempts:
    """The attempts with the columns ``question``, ``target`` and ``answer`` from the Inspect logs that they were read from.

    Parameters
    ----------
    attempts : Attempts
        As they were read from `inputs`. Where they have texts already, or do not name their samples, they stay as they are.
    inputs : sequence of str or path
        The logs, or folders with them.
    """
    from howsure.sources.inspect_texts import read_texts

    if any(attempts.has(name) for name in _TEXTS) or not attempts.has("log", "sample", "epoch"):
        return attempts
    found = read_texts(inputs)
    joined = attempts.frame.join(found, on=["log", "sample", "epoch"], how="left", maintain_order="left")
    notes = list(attempts.notes)
    if n_without := joined["answer"].null_count():
        notes.append(f"{n_without:,} of {len(joined):,} attempts have no text in these logs.")
    return attempts.derive(joined.lazy(), *notes)


class _Packing:
    """Columns as bytes, one after the other, and where each of them is."""

    def __init__(self) -> None:
        self.columns: list[dict[str, Any]] = []
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, name: str, column: NDArray[Any], /, *, of: str = "row", **told: Any) -> None:
        if column.dtype.kind == "f":
            kind, array = "f64", column.astype("<f8")
        else:
            most = int(column.max()) if len(column) else 0
            kind = "u8" if most < 2**8 else "u16" if most < 2**16 else "u32"
            array = column.astype({"u8": "<u1", "u16": "<u2", "u32": "<u4"}[kind])
        data = array.tobytes()
        data += b"\0" * (-len(data) % 8)  # a column of numbers begins at a multiple of its size
        self.columns.append({"name": name, "type": kind, "offset": self._size, "length": len(array), "of": of, **told})
        self._parts.append(data)
        self._size += len(data)

    def add_by_item(self, name: str, column: NDArray[Any], item: NDArray[Any], /, **told: Any) -> None:
        """One value per item where all rows of an item have the same, else one per row."""
        starts = np.flatnonzero(np.diff(item, prepend=-1))
        per_item = column[starts]
        same = np.array_equal(per_item[item], column, equal_nan=column.dtype.kind == "f")
        self.add(name, per_item if same else column, of="item" if same else "row", **told)

    def blob(self) -> str:
        return _packed(b"".join(self._parts))


def _packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 6)).decode()


def _coded(values: pl.Series, *, has_missing: bool = False) -> tuple[list[Any], NDArray[np.int64]]:
    """The different texts in order, and the place of each value; with `has_missing`, place 0 is no value."""
    names = values.drop_nulls().unique().sort().to_list()
    place = {name: number for number, name in enumerate(names, int(has_missing))}
    codes = values.replace_strict(place, default=0, return_dtype=pl.Int64).to_numpy()
    return [None, *names] if has_missing else names, codes


def _add_scores(packing: _Packing, scores: NDArray[np.float64]) -> None:
    """Few different scores go as places in a list."""
    values, places = np.unique(scores, return_inverse=True)
    if len(values) <= 2**8:
        packing.add("#score", places, numbers=values.tolist())
    else:
        packing.add("#score", scores)


def _clusters(first: pl.DataFrame, names: list[str]) -> dict[str, NDArray[np.int64]]:
    """The cluster of each item, as `howsure.evals.item_means` labels it before items with equal content are joined."""
    own = pl.format("{}\x1f{}", "#eval", "task")
    labels = {"task": own, "domain": pl.col("#eval")}
    if "family" in first.columns:
        labels["family"] = pl.format("{}\x1e{}", "#eval", "family").fill_null(own)
    return {name: _coded(first.select(labels[name].alias("c"))["c"])[1] for name in names}


def _add_columns(packing: _Packing, frame: pl.DataFrame, compared: str, *, keeps_logs: bool) -> None:
    """Every other column: a filter, a measure, or what a link needs."""
    item = frame["#item"].to_numpy()
    shown = ["subject", *(name for name in frame.columns if name not in _HIDDEN and not name.startswith("#"))]
    for name in shown:
        values = frame[name]
        if values.null_count() == len(values):
            continue
        if name in ("sample", "epoch") and not keeps_logs:
            continue
        label = compared if name == "subject" else _MEASURES.get(name, name.replace("_", " ").capitalize())
        if values.dtype.is_numeric() and name not in ("epoch", "attempt"):
            numbers = values.cast(pl.Float64).fill_null(np.nan).to_numpy()
            known = numbers[np.isfinite(numbers)]
            packing.add_by_item(
                name,
                numbers,
                item,
                label=one_line(label),
                filter=True,
                measure=name in _MEASURES,
                range=[float(known.min()), float(known.max())],
            )
            continue
        if values.dtype.is_nested():
            continue
        texts = values.cast(pl.String)
        names, codes = _coded(texts, has_missing=True)
        if values.dtype.is_integer():
            order = sorted(range(1, len(names)), key=lambda place: int(names[place]))
        else:
            order = list(range(1, len(names)))
        is_needed = keeps_logs and name in ("log", "sample", "epoch")
        is_filter = name not in ("sample", "epoch") and 1 < len(order) + (texts.null_count() > 0) <= _MOST_VALUES
        if not (is_needed or is_filter):
            continue
        shown_places = [*([0] if texts.null_count() else []), *order]
        kept = [None if one is None else one if is_needed else one_line(one) for one in names]
        packing.add_by_item(name, codes, item, label=one_line(label), filter=is_filter, values=kept, shown=shown_places)


def _texts(packing: _Packing, frame: pl.DataFrame, names: list[str]) -> dict[str, Any]:
    """All different texts once, compressed, and for each column the place of its text."""
    item = frame["#item"].to_numpy()
    everything = pl.concat([frame[name].cast(pl.String) for name in names])
    held, _ = _coded(everything, has_missing=True)
    place = {text: number for number, text in enumerate(held)}
    for name in names:
        codes = frame[name].cast(pl.String).replace_strict(place, default=0, return_dtype=pl.Int64).to_numpy()
        packing.add_by_item(f"#text {name}", codes, item)
    safe = ["" if text is None else several_lines(text) for text in held]
    return {"columns": names, "blob": _packed(json_text(safe).encode())}


def _quantiles(level: float) -> dict[str, Any]:
    """Quantiles of t at the Chebyshev points of 1/df between 0 and 1 (as logarithms), of the normal and of Poisson's limits."""
    points = (1 - np.cos(np.pi * np.arange(_N_POINTS) / (_N_POINTS - 1))) / 2
    values = [normal_quantile(level) if x == 0 else t_quantile(level, 1 / x) for x in points]
    return {
        "normal": normal_quantile(level),
        "points": points.tolist(),
        "logs": np.log(values).tolist(),
        "poisson": [float(gammaincinv(count, 1 - level)) for count in (1, 2, 3)],
    }


def _page(content: dict[str, Any], title: str, attempts: Attempts) -> str:
    from markupsafe import Markup

    code = f'(() => {{\n"use strict";\n{_asset("explorer.js")}}})();\n'
    look = style() + _asset("explorer.css")
    text = json_text(content, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":  # JSON that cannot end its script element
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    is_free = content["bounds"] is None
    return (
        templates(_asset, trim_blocks=True, lstrip_blocks=True)
        .get_template("explorer.html")
        .render(
            title=title,
            version=__version__,
            digest=attempts.digest,
            notes=attempts.notes,
            low="low score" if is_free else "score 0",
            high="high score" if is_free else "score 1",
            policy=f"{policy([code], look)}; require-trusted-types-for 'script'; trusted-types 'none'",
            style=Markup(look),
            content=Markup(text),
            script=Markup(code),
        )
    )


@cache
def _asset(name: str) -> str:
    return files("howsure.evals.explorer").joinpath("assets", name).read_text(encoding="utf-8")
