"""Which items: how hard each one is, which models it separates, and which look wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import quote, urlsplit

import numpy as np
import polars as pl

from howsure.arguments import checked
from howsure.errors import InputError, OptionError
from howsure.evals.item_means import Items, items_of
from howsure.evals.variants import averaged_factors, one_scorer
from howsure.results import Provenance, Result, columns_of
from howsure.stats._arrays import Bools, Floats, normal_quantile
from howsure.stats.means import score_bounds, wilson
from howsure.stats.multiplicity import benjamini_hochberg
from howsure.tables import Attempts

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = ["ItemTable", "items", "transcript_links", "viewer_address"]

_FEWEST_MODELS = 5  # below, no order of the models is rare enough to suspect a key
_N_ORDERS = (1000, 10_000, 200_000)  # random orders; the next number only for items with few as low
_ENOUGH, _ORDERS_AT_ONCE, _MOST_PRODUCTS = 20, 10_000, 2_000_000_000


@dataclass(frozen=True, kw_only=True)
class ItemTable(Result):
    """Items with what models did on them.

    Table ``items``: one row per item, by eval and from hard to easy.

    ====================  =================================================================================================
    eval, task            the item
    n_models, n           number of models that tried it, and of their attempts
    success               mean over models of their mean scores, each model counting once, with success_low, … over models
    solved                never, sometimes or always: whether no, some or all attempts scored above 0.5
    discrimination        correlation over models of the score on this item with the mean on the other items of the eval
    p_negative            one-sided p-value: is the discrimination negative? (permutation of models)
    p_adjusted            the same, corrected for the number of items (Benjamini–Hochberg)
    is_suspect            whether p_adjusted is below 1 − level: look at the key (the target) of this item first
    noise                 probability that two attempts of one model at this item disagree, where items were repeated
    score_a, score_b      means of the two models that are compared
    difference            score_a − score_b, with its interval over attempts
    flip                  a: only a's mean is above 0.5; b: only b's; empty: neither or both
    ====================  =================================================================================================

    Table ``item_scores``: one row per item and model: eval, task, subject, mean, n, and ``link`` to the transcript of its first
    attempt where a viewer was named. Table ``saturation``: one row per eval: the highest mean, and the shares of items that are
    never solved, always solved and informative (neither), with intervals.

    Parameters
    ----------
    items : pl.DataFrame
        Table ``items``.
    scores : pl.DataFrame
        Table ``item_scores``.
    evals : pl.DataFrame
        Table ``saturation``.
    a : str
        The first model that is compared, if any.
    b : str
        The second model that is compared, if any.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "items"
    items: pl.DataFrame
    scores: pl.DataFrame
    evals: pl.DataFrame
    a: str
    b: str
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables ``items``, ``item_scores`` and ``saturation``."""
        return {"items": self.items, "item_scores": self.scores, "saturation": self.evals}

    @property
    def flips(self) -> tuple[int, int]:
        """How many items only a solved, and how many only b."""
        return int((self.items["flip"] == "a").sum()), int((self.items["flip"] == "b").sum())

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.evals.sections import items_section

        return [items_section(self)]

    def charts(self) -> dict[str, Chart]:
        """``items``: how many items are how hard; ``items_discrimination``: the items that discriminate least."""
        from howsure.evals.charts import draw_discrimination, draw_items

        charts: dict[str, Chart] = {"items": draw_items(self)}
        if self.items["discrimination"].is_not_null().any():
            charts["items_discrimination"] = draw_discrimination(self)
        return charts


@checked
def items(
    attempts: Attempts | Source,
    a: str | None = None,
    b: str | None = None,
    *,
    viewer: str | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> ItemTable:
    r"""All items: success of each model, differences between two models, and items whose key may be wrong.

    A good item is solved by better models more often. Its discrimination is the correlation over models of the score on the item
    with the mean score on the *other* items of the eval (the item–rest correlation), with Fisher's interval. A negative one is a
    reason to look at the item's key. The p-value is the share of all orders of the models in which the correlation is as low
    (1,000 random orders, and up to 211,000 where few are), corrected for the number of items; with fewer than 5 models nothing can be suspected.

    Parameters
    ----------
    attempts : Attempts, frame or path
        One row per attempt.
    a, b : str, optional
        The two models whose difference and flips are shown. Without them, the models with the highest and second-highest mean.
    viewer : str, optional
        Address of a running ``inspect view``, such as ``http://127.0.0.1:7575``: adds links to transcripts, where the
        attempts come from Inspect logs.
    level : float, default 0.95
        Coverage of the intervals; 1 − level is the false discovery rate of suspected items.
    seed : int, default 0
        For the random orders of models. The same seed gives the same numbers.

    Returns
    -------
    ItemTable
        Tables ``items``, ``item_scores`` and ``saturation``.

    Raises
    ------
    InputError
        If scores are not between 0 and 1.
    OptionError
        If a model does not exist, or the viewer's address is not one.

    Examples
    --------
    >>> import howsure
    >>> howsure.items("examples/evals/attempts.csv").flips  # doctest: +SKIP
    (8, 6)
    """
    attempts = Attempts.of(attempts)
    if attempts.is_free:
        raise InputError("Items are described by success: scores must be 0–1. Rescale them, or remove the free ones.")
    one_scorer(attempts)
    by = "domain" if attempts.has("domain") else "all"
    groups = list(items_of(attempts, by, cluster="task", factors=averaged_factors(attempts)))
    frame = pl.concat([group.frame for group in groups])
    a, b = _pair(frame, a, b)
    links = transcript_links(attempts, viewer)
    rng, ends = np.random.default_rng(seed), _ends(attempts.counted)
    parts = [_described(group.frame, ends, a, b, level, rng) for group in groups]
    table = pl.concat(parts, how="vertical_relaxed")
    tested = table["p_negative"].is_not_null()
    adjusted = np.full(len(table), np.nan)
    adjusted[tested.to_numpy()] = benjamini_hochberg(table.filter(tested)["p_negative"].to_numpy())
    position = table.columns.index("p_negative") + 1
    table = table.insert_column(position, pl.Series("p_adjusted", adjusted).fill_nan(None))
    is_suspect = (table["p_adjusted"] < 1 - level).fill_null(value=False).alias("is_suspect")
    table = table.insert_column(position + 1, is_suspect)
    scores = frame.select("eval", "task", "subject", "mean", "n").sort("eval", "task", "subject")
    if links is not None:
        scores = scores.join(links, on=["eval", "task", "subject"], how="left", maintain_order="left")
    notes = [note for group in groups for note in group.notes if group.factors]
    n_few = int((table["n_models"] < _FEWEST_MODELS).sum())
    if n_few:
        notes.append(
            f"{n_few:,} of {len(table):,} items were tried by fewer than {_FEWEST_MODELS} models: their key is not tested."
        )
    return ItemTable(
        items=table,
        scores=scores,
        evals=pl.DataFrame([_saturation(group, table, level) for group in groups], infer_schema_length=None),
        a=a,
        b=b,
        provenance=Provenance.of(attempts, seed=seed, notes=notes, a=a, b=b, viewer=viewer or "none", level=level),
    )


def viewer_address(viewer: str) -> str:
    """The address of ``inspect view`` without what comes after the host and path.

    Parameters
    ----------
    viewer : str
        Such as ``http://127.0.0.1:7575``.
    """
    parts = urlsplit(viewer)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise OptionError(f"viewer {viewer!r} is not an address. Give that of inspect view: http://127.0.0.1:7575.")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}/"


def transcript_links(attempts: Attempts, viewer: str | None) -> pl.DataFrame | None:
    """A link to the transcript of the first attempt of each subject at each item; None without a viewer or logs.

    Parameters
    ----------
    attempts : Attempts
        With the columns ``log``, ``sample`` and ``epoch``, as Inspect logs give them.
    viewer : str, optional
        See `items`.
    """
    if viewer is None:
        return None
    start = viewer_address(viewer)
    if not attempts.has("log", "sample", "epoch"):
        raise OptionError("viewer: these attempts do not name their logs and samples. Read them from Inspect logs.")
    domain = pl.col("domain").fill_null("(none)") if attempts.has("domain") else pl.lit("")
    first = (
        attempts.lazy.drop_nulls(["log", "sample", "epoch"])
        .sort("attempt")
        .group_by("subject", domain.alias("eval"), "task")
        .agg(pl.struct("log", "sample", "epoch").first().alias("where"))
        .collect()
    )
    link = [
        f"{start}#/logs/{quote(one['log'], safe='')}/samples/sample/{quote(one['sample'], safe='')}/{one['epoch']}/"
        for one in first["where"]
    ]
    return first.drop("where").with_columns(link=pl.Series(link, dtype=pl.String))


def _pair(frame: pl.DataFrame, a: str | None, b: str | None) -> tuple[str, str]:
    means = frame.group_by("subject").agg(pl.col("mean").mean()).sort(["mean", "subject"], descending=[True, False])
    there = means["subject"].to_list()
    for name in (a, b):
        if name is not None and name not in there:
            raise OptionError.unknown("subject", name, there)
    if a is not None and a == b:
        raise OptionError(f"a and b are both {a!r}. Name two subjects.")
    others = [name for name in there if name not in (a, b)]
    a = a or (others.pop(0) if others else "")
    return a, b or (others[0] if others else "")


def _ends(attempts: Attempts) -> pl.DataFrame:
    """The best and the worst score that any attempt has on each item."""
    domain = pl.col("domain").fill_null("(none)") if attempts.has("domain") else pl.lit("")
    best = worst = pl.col("score")
    if attempts.has("n"):  # a row stands for n attempts of which n_success scored 1
        hits, n = pl.col("n_success"), pl.col("n")
        best = pl.when(hits.is_null()).then(best).otherwise((hits > 0).cast(pl.Float64))
        worst = pl.when(hits.is_null()).then(worst).otherwise((hits == n).cast(pl.Float64))
    grouped = attempts.lazy.group_by(domain.alias("eval"), "task")
    return grouped.agg(best.max().alias("best"), worst.min().alias("worst")).collect(engine="streaming")


def _described(
    frame: pl.DataFrame, ends: pl.DataFrame, a: str, b: str, level: float, rng: np.random.Generator
) -> pl.DataFrame:
    """The rows of one eval's items, from hard to easy."""
    wide = {
        name: frame.pivot("subject", index=["eval", "task"], values=name).sort("eval", "task")
        for name in ("mean", "n", "spread")
    }
    names = [name for name in wide["mean"].columns if name not in ("eval", "task")]
    mean, n, spread = (wide[name].select(names).to_numpy().astype(np.float64) for name in ("mean", "n", "spread"))
    is_tried = np.isfinite(mean)
    n_models = is_tried.sum(axis=1)
    quantile = normal_quantile(level)
    success = np.nanmean(mean, axis=1)
    low, high = score_bounds(success, n_models, quantile)
    # whether an attempt at all, and whether all of them, scored above one half
    ends = wide["mean"].select("eval", "task").join(ends, on=["eval", "task"], how="left", maintain_order="left")
    solved = (
        pl.when(pl.col("best") <= 0.5)
        .then(pl.lit("never"))
        .otherwise(pl.when(pl.col("worst") > 0.5).then(pl.lit("always")).otherwise(pl.lit("sometimes")))
    )
    table = (
        wide["mean"]
        .select("eval", "task")
        .with_columns(
            n_models=pl.Series(n_models),
            n=pl.Series(np.nansum(n, axis=1).astype(np.int64)),
            **_estimates("success", success, low, high),
            solved=ends.select(solved.alias("solved"))["solved"],
            **_discrimination(mean, is_tried, quantile, rng),
            **_noise(n, spread, quantile),
        )
    )
    columns = [names.index(one) if one in names else None for one in (a, b)]
    none = np.full(len(table), np.nan)
    sides = [
        (none, none, none)
        if column is None
        else (mean[:, column], *score_bounds(mean[:, column], n[:, column], quantile))
        for column in columns
    ]
    (x, x_low, x_high), (y, y_low, y_high) = sides
    # Newcombe's interval joins those of the two means by squares
    lower, upper = x - y - np.hypot(x - x_low, y_high - y), x - y + np.hypot(x_high - x, y - y_low)
    flip = np.where((x > 0.5) & (y <= 0.5), "a", np.where((y > 0.5) & (x <= 0.5), "b", ""))
    return table.with_columns(
        score_a=pl.Series(x).fill_nan(None),
        score_b=pl.Series(y).fill_nan(None),
        **_estimates("difference", x - y, lower, upper),
        flip=pl.Series(flip, dtype=pl.String),
    ).sort("success", "task")


def _estimates(name: str, value: Floats, low: Floats, high: Floats) -> dict[str, pl.Series]:
    """Columns of estimates, entry by entry; NaN where there is too little for a value or for an end."""
    state = np.where(np.isfinite(value) & np.isfinite(low), "ok", "too_few")
    ends = {"": value, "_low": low, "_high": high}
    columns = {f"{name}{end}": pl.Series(np.asarray(part, np.float64)).fill_nan(None) for end, part in ends.items()}
    return columns | {f"{name}_state": pl.Series(state, dtype=pl.String)}


def _discrimination(mean: Floats, is_tried: Bools, quantile: float, rng: np.random.Generator) -> dict[str, pl.Series]:
    """Item–rest correlations with Fisher's interval and one-sided permutation p-values, for each set of models that tried."""
    n_items = len(mean)
    value, low, high, p = (np.full(n_items, np.nan) for _ in range(4))
    filled = np.where(is_tried, mean, 0.0)
    totals, counts = filled.sum(axis=0), is_tried.sum(axis=0)
    patterns, group = np.unique(is_tried, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        rows = np.flatnonzero(group.ravel() == number)
        m = int(pattern.sum())
        if m < 3 or (counts[pattern] < 2).any():
            continue
        own = mean[np.ix_(rows, pattern)]
        rest = (totals[pattern] - own) / (counts[pattern] - 1)
        own, rest = (part - part.mean(axis=1, keepdims=True) for part in (own, rest))
        sizes = [np.sqrt((part**2).sum(axis=1)) for part in (own, rest)]
        varies = (sizes[0] > 1e-12) & (sizes[1] > 1e-12)
        own, rest = own[varies] / sizes[0][varies, None], rest[varies] / sizes[1][varies, None]
        r = np.clip((own * rest).sum(axis=1), -1, 1)
        at = rows[varies]
        value[at] = r
        if m > 3:
            inside = np.clip(r, -1 + 1e-12, 1 - 1e-12)
            reach = quantile / np.sqrt(m - 3)
            low[at], high[at] = np.tanh(np.arctanh(inside) - reach), np.tanh(np.arctanh(inside) + reach)
        if m >= _FEWEST_MODELS:
            p[at] = _p_negative(own, rest, r, rng)
    columns = _estimates("discrimination", value, low, high)
    return columns | {"p_negative": pl.Series(p).fill_nan(None)}


def _p_negative(own: Floats, rest: Floats, r: Floats, rng: np.random.Generator) -> Floats:
    """The share of orders of the models with a correlation as low; more orders for items where it is small."""
    m, n_low, n_orders = own.shape[1], np.zeros(len(r)), np.zeros(len(r))
    open_ = np.arange(len(r))
    for n in _N_ORDERS:
        if not len(open_) or len(open_) * n * m > _MOST_PRODUCTS:
            break
        for start in range(0, n, _ORDERS_AT_ONCE):
            orders = rng.permuted(np.tile(np.arange(m), (min(_ORDERS_AT_ONCE, n - start), 1)), axis=1)
            for item in open_:
                n_low[item] += (own[item][orders] @ rest[item] <= r[item] + 1e-9).sum()
        n_orders[open_] += n
        open_ = open_[n_low[open_] < _ENOUGH]
    return (1 + n_low) / (1 + n_orders)


def _noise(n: Floats, spread: Floats, quantile: float) -> dict[str, pl.Series]:
    """Mean over models of the expected squared difference of two attempts: their disagreement, for right-or-wrong answers."""
    is_repeated = n > 1
    pairs = np.where(is_repeated, n // 2, 0).sum(axis=1)
    df = np.where(is_repeated, n - 1, 0).sum(axis=1)
    within = np.where(is_repeated, spread, 0.0).sum(axis=1)
    share = np.clip(np.divide(2 * within, df, out=np.full(len(df), np.nan), where=df > 0), 0, 1)
    low, high = score_bounds(share, np.where(pairs > 0, pairs, np.nan), quantile)
    return _estimates("noise", share, low, high)


def _saturation(group: Items, table: pl.DataFrame, level: float) -> dict[str, Any]:
    """One eval: how much its items can still tell models apart."""
    evals = group.frame["eval"].unique().to_list()
    own = table.filter(pl.col("eval").is_in(evals))
    means = {subject: group.mean_of(subject, level).estimate for subject in group.subjects}
    best = max(means, key=lambda name: -1.0 if (value := means[name].value) is None else value)
    n_by_kind = {kind: int((own["solved"] == kind).sum()) for kind in ("never", "always", "sometimes")}
    return (
        {"eval": evals[0], "n_items": len(own), "n_models": len(group.subjects), "best_model": best}
        | columns_of(
            best=means[best],
            never_solved=wilson(n_by_kind["never"], len(own), level),
            always_solved=wilson(n_by_kind["always"], len(own), level),
            informative=wilson(n_by_kind["sometimes"], len(own), level),
        )
        | {"n_suspect": int(own["is_suspect"].sum())}
    )
