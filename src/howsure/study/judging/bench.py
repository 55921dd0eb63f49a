"""Many judges beside the same people: who agrees best, what a panel gains, what biases each, what each costs, and which to use."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl

from howsure.errors import InputError, OptionError
from howsure.estimates import Estimate, stated
from howsure.results import Provenance, Result, columns_of
from howsure.stats._arrays import Floats, Ints, codes
from howsure.stats.bias import bias_effects
from howsure.stats.calibration import calibration
from howsure.stats.correlation import Kind, correlation
from howsure.stats.judges import (
    alternative_annotator_test,
    compare_judges,
    panel_ratings,
    power_of_replacement,
)
from howsure.stats.label_sampling import budget_for
from howsure.stats.means import mean, paired_difference, share
from howsure.stats.sequences import drift_alarm
from howsure.study.agreement import clusters_used, coded, look_swapped, read_ratings
from howsure.study.inputs import orders_beside
from howsure.study.judging.attacks import attack, has_attacks
from howsure.study.judging.ratings import Orders
from howsure.study.scoring.fidelity import is_pair
from howsure.tables import Column, Ratings, Table
from howsure.tables.frames import as_list

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Section
    from howsure.tables.frames import Source

__all__ = ["AnswerTexts", "JudgeBench", "JudgeCosts", "JudgeDrift", "bench", "drift", "style_of"]

PANEL, EQUAL = "panel (weighted)", "panel (equal weights)"


class AnswerTexts(Table):
    """What was rated: the text of each item, and who wrote it. Any further column of numbers is a property whose effect is estimated too."""

    columns = (
        Column("item", "the item", required=True),
        Column("text", "its text: length, lists, headings, bold words and code are counted"),
        Column("length", "number of words, where there is no text", "number", above=0),
        Column("family", "the family of the model that wrote it, such as openai"),
    )
    key = ("item",)
    told_by = ("item", "family")


class JudgeCosts(Table):
    """What one rating of each judge costs, and its family."""

    columns = (
        Column("judge", "the judge", required=True),
        Column("cost", "cost of one rating", "number", low=0),
        Column("family", "its family, as in the table of texts"),
    )
    key = ("judge",)
    told_by = ("judge", "cost")


@dataclass(frozen=True, kw_only=True)
class JudgeBench(Result):
    """Several judges compared with the same people and with each other.

    Table ``bench``: one row per dimension and judge (agreement, minus_people, bias, consistency, noise, calibration_error and correlation with their intervals,
    attack_shift (how far the attack that raises its ratings most raises them, simultaneous interval over all attacks) and worst_attack, may_replace, winning_rate, cost, cost_for_precision). Table ``judge_differences``: one row per pair of judges (difference of agreement with its interval, p, p_holm). Table
    ``effects``: what slot, length, style and the judge's own family do to its ratings beyond people's, in one model. Table ``thresholds``: the cut that was chosen on one half of the items
    and how it does on the other. Table ``weights``: the panel's. Table ``attacks``: how far each attack moves each judge, as `attack` gives it. A table without rows is left out.

    Parameters
    ----------
    rows : Mapping[str, pl.DataFrame]
        The tables.
    kind : str
        How agreement is measured.
    raters : tuple of str
        The people.
    recommendation : tuple of str
        Which judge to use, and whether a panel of all is better.
    caveats : tuple of str
        What to know about that judge: its biases, attacks that move it, the power of the test.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "bench"
    rows: Mapping[str, pl.DataFrame]
    kind: str
    raters: tuple[str, ...]
    recommendation: tuple[str, ...]
    caveats: tuple[str, ...]
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``bench``, ``judge_differences``, ``effects``, ``thresholds``, ``weights`` and ``attacks``."""
        return dict(self.rows)

    def as_dict(self) -> dict[str, Any]:
        """The tables, the recommendation and its caveats."""
        told = {"recommendation": list(self.recommendation), "caveats": list(self.caveats)}
        return super().as_dict() | {"kind": self.kind} | told

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.study.judging.sections import bench_sections

        return bench_sections(self)

    def charts(self) -> dict[str, Chart]:
        """Charts by file name."""
        from howsure.study.judging.charts import draw_bench

        return draw_bench(self)


def bench(
    people: Ratings | Source,
    judges: Ratings | Source,
    *,
    orders: Orders | Source | None = None,
    texts: AnswerTexts | Source | None = None,
    costs: JudgeCosts | Source | None = None,
    kind: Kind | Literal["match"] | None = None,
    cluster: str | None = None,
    epsilon: float = 0.2,
    half_width: float = 0.1,
    cost_label: float = 1.0,
    seed: int = 0,
    level: float = 0.95,
) -> JudgeBench:
    """Compare judges with people and with each other, and recommend one.

    Parameters
    ----------
    people, judges : Ratings, frame or path, or several
        Who rated what; numbers or text. Every judge is a rater of the second table. Items that all judges and somebody of the people rated are used; judges' ratings of attacked
        answers (``ITEM.attack-NAME``, as `attack_texts` names them) tell how far attacks move each judge.
    orders : Orders, frame or path, optional
        Ratings in each slot order, and of each repeat. By default ``judge_orders.csv`` in the folder of the judges' ratings, if these are paths and the file is there; a note names it.
    texts : AnswerTexts, frame or path, optional
        The texts, lengths or families of the items.
    costs : JudgeCosts, frame or path, optional
        What one rating of each judge costs.
    kind : {"pearson", "spearman", "kendall", "match"}, optional
        How agreement is measured; by default Pearson's correlation for numbers and ``match`` for text.
    cluster : str, optional
        Column of the ratings that groups items, such as the prompt; by default their own column ``cluster``.
    epsilon : float
        Margin of the alternative-annotator test.
    half_width : float
        The precision, as a share of the scale's width, for which costs are compared.
    cost_label : float
        What one label of a person costs, in the currency of the judges' costs.
    seed : int
        Halves, folds and simulations.
    level : float
        Coverage of the intervals, between 0 and 1.
    """
    orders, found_notes = orders_beside(judges) if orders is None else (orders, [])
    tables = [read_ratings(people, categories=True), read_ratings(judges, categories=True)]
    is_text = any(table.is_categorical for table in tables)
    (given, judged), _ = coded(*tables)
    kind = kind or ("match" if is_text else "pearson")
    if is_text and kind != "match":
        raise OptionError(f"kind {kind}: the ratings are text. Agreement on categories is measured by match.")
    known = None if orders is None else Orders.of(orders)
    about = None if texts is None else AnswerTexts.of(texts)
    prices = None if costs is None else JudgeCosts.of(costs)
    sides = [table.frame.filter(is_pair()) for table in (given, judged)]
    dimensions = sorted({*sides[0]["dimension"]} & {*sides[1]["dimension"]})
    if not dimensions:
        raise InputError("People and judges share no dimension. Use the same names.")
    names = sides[1]["rater"].unique(maintain_order=True).to_list()
    raters = tuple(sides[0]["rater"].unique().sort())
    if clash := sorted({*names} & {*raters}):
        raise InputError(f"{clash[0]!r} is a judge and one of the people. Give them different names.")
    of_item, cluster_notes = clusters_used(cluster, given, judged)
    found = _Bench(names, kind, of_item, known, about, prices, epsilon, half_width, cost_label, seed, level)
    if has_attacks(judged):
        found.add_attacks(judged)
    for dimension in dimensions:
        found.add(dimension, *(side.filter(pl.col("dimension") == dimension) for side in sides))
    provenance = Provenance.of(
        given,
        seed=seed,
        notes=(*look_swapped(given, judged), *found_notes, *judged.notes, *cluster_notes, *dict.fromkeys(found.notes)),
        judges=names,
        kind=kind,
        cluster=cluster or ("cluster" if of_item else None),
        epsilon=epsilon,
        half_width=half_width,
        cost_label=cost_label,
        level=level,
    )
    rows = found.frames()
    recommendation, caveats = found.recommend()
    return JudgeBench(
        rows=rows,
        kind=kind,
        raters=raters,
        recommendation=tuple(recommendation),
        caveats=tuple(caveats),
        provenance=provenance,
    )


class _Bench:
    """The rows of all tables, dimension after dimension."""

    def __init__(
        self,
        names: list[str],
        kind: Kind | Literal["match"],
        clusters: Mapping[str, str] | None,
        orders: Orders | None,
        texts: AnswerTexts | None,
        costs: JudgeCosts | None,
        epsilon: float,
        half_width: float,
        cost_label: float,
        seed: int,
        level: float,
    ) -> None:
        self.names, self.kind, self.clusters = names, kind, clusters
        self.orders, self.texts, self.costs = orders, texts, costs
        self.epsilon, self.half_width, self.cost_label = epsilon, half_width, cost_label
        self.seed, self.level = seed, level
        self.rows: dict[str, list[dict[str, Any]]] = {}
        self.notes: list[str] = []
        self.power: dict[str, Estimate] = {}
        self.worst: dict[tuple[str, str], dict[str, Any]] = {}

    def add_attacks(self, judges: Ratings) -> None:
        """How far attacks move the judges; of each judge's, the one that raises its ratings most, at a level that allows for the choice."""
        if self.kind == "match":
            self.notes.append("Attacks are excluded: their effect can be measured only if ratings are numbers.")
            return
        found = attack(judges, level=self.level)
        self.rows["attacks"] = found.rows.to_dicts()
        self.notes += found.provenance.notes
        n_attacks = found.rows["attack"].n_unique()
        together = attack(judges, level=1 - (1 - self.level) / n_attacks).rows.drop_nulls("shift").sort("shift")
        self.worst = {(row["judge"], row["dimension"]): row for row in together.iter_rows(named=True)}

    def add(self, dimension: str, people: pl.DataFrame, judges: pl.DataFrame) -> None:
        """Everything about one dimension."""
        mine = judges.pivot(on="rater", index="item", values="value")
        theirs = people.pivot(on="rater", index="item", values="value")
        names = [name for name in self.names if name in mine.columns]
        both = mine.join(theirs.select("item"), on="item", how="inner").drop_nulls(names).sort("item")
        if len(both) < 5:
            self.notes.append(f"{dimension}: {len(both)} items were rated by all judges and by people; 5 are needed.")
            return
        left_out = theirs["item"].n_unique() - len(both)
        if left_out:
            self.notes.append(f"{dimension}: {left_out} items are excluded, because not all judges rated them.")
        table = both.select(names).to_numpy().astype(np.float64)
        given = both.select("item").join(theirs, on="item", how="left", maintain_order="left").drop("item")
        rated = given.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        items = both["item"].to_list()
        labels = None if self.clusters is None else codes([self.clusters[item] for item in items], "clusters")
        scale = float(min(np.nanmin(table), np.nanmin(rated))), float(max(np.nanmax(table), np.nanmax(rated)))
        columns, shown = table, list(names)
        if len(names) > 1:
            weighted, equal, weights = panel_ratings(table, rated, self.kind, clusters=labels, seed=self.seed)
            if not np.isnan(weighted).any():
                columns, shown = np.column_stack([table, weighted, equal]), [*names, PANEL, EQUAL]
                for name, weight in zip(names, weights, strict=True):
                    self._add("weights", dimension=dimension, judge=name, weight=float(weight))
        agreements, pairs, n_items = compare_judges(columns, rated, self.kind, clusters=labels, level=self.level)
        width = scale[1] - scale[0]
        measure: Literal["closeness", "match"] = "match" if self.kind == "match" else "closeness"
        for row, name in zip(agreements, shown, strict=True):
            values = columns[:, row.judge]
            test = alternative_annotator_test(
                values, rated, measure, epsilon=self.epsilon, clusters=labels, level=self.level
            )
            self._add(
                "bench",
                dimension=dimension,
                judge=name,
                **columns_of(agreement=row.agreement, minus_people=row.minus_people),
                **self._of_judge(name, dimension, values, rated, labels, scale),
                winning_rate=test.winning_rate.value,
                may_replace=None if test.may_replace is None else ("yes" if test.may_replace else "no"),
                **self._price(name, values, rated, width),
                n_items=n_items,
            )
        for pair in pairs:
            self._add("judge_differences", dimension=dimension, a=shown[pair.a], b=shown[pair.b], **columns_of(difference=pair.difference), p=pair.p, p_holm=pair.p_holm)  # fmt: skip
        self.power[dimension] = power_of_replacement(
            rated, measure, clusters=labels, epsilon=self.epsilon, n_simulations=100, seed=self.seed
        )
        if self.kind != "match":
            self._effects(dimension, names, items, table, rated, labels)
            self._thresholds(dimension, names, table, rated, labels, scale)

    def _of_judge(
        self, name: str, dimension: str, values: Floats, rated: Floats, labels: Ints | None, scale: tuple[float, float]
    ) -> dict[str, Any]:
        """Bias, stability and calibration of one judge."""
        undefined = Estimate.without("undefined", "categories have no mean", level=self.level)
        bias = error = with_mean = undefined
        if self.kind != "match":
            people = np.nanmean(rated, axis=1)
            bias = paired_difference(values, people, labels, level=self.level, bounds=None).estimate
            width = scale[1] - scale[0]
            unit = (np.clip(values, *scale) - scale[0]) / width
            error = calibration(unit, (people - scale[0]) / width, clusters=labels, level=self.level).error
            with_mean = correlation(values, people, clusters=labels, level=self.level).estimate
        consistency, noise = self._stability(name, dimension)
        worst = self.worst.get((name, dimension))
        moved = Estimate.without("undefined", "attacked answers were not rated", level=self.level)
        if worst:
            moved = Estimate(worst["shift"], worst["shift_low"], worst["shift_high"], self.level, worst["shift_state"])
        return columns_of(
            bias=bias,
            correlation=with_mean,
            calibration_error=error,
            consistency=consistency,
            noise=noise,
            attack_shift=moved,
        ) | {"worst_attack": worst["attack"] if worst else None}

    def _stability(self, name: str, dimension: str) -> tuple[Estimate, Estimate]:
        """The share of items with the same verdict in both orders, and the spread of repeats of the same question."""
        nothing = Estimate.without("undefined", "ratings in each order were not given", level=self.level)
        if self.orders is None:
            return nothing, nothing
        mine = self.orders.frame.filter(
            pl.col("rater") == name, pl.col("dimension") == dimension, pl.col("value").is_not_null()
        )
        by_slot = mine.group_by("item", "target_slot").agg(
            pl.col("value").mean(), spread=pl.col("value").var(), n=pl.len()
        )
        wide = by_slot.pivot(on="target_slot", index="item", values="value").drop_nulls()
        same = nothing
        if {"1", "2"} <= set(wide.columns):
            same = share(np.isclose(wide["1"].to_numpy(), wide["2"].to_numpy()), level=self.level)
        repeated = by_slot.filter(pl.col("n") > 1)
        if repeated.is_empty():
            return same, Estimate.without("undefined", "no question was asked again", level=self.level)
        of_items = repeated.group_by("item").agg(pl.col("spread").mean())["spread"].to_numpy()
        spread = mean(of_items, level=self.level, bounds=None).estimate
        return same, spread.map(lambda variance: math.sqrt(max(variance, 0.0)))

    def _price(self, name: str, values: Floats, rated: Floats, width: float) -> dict[str, Any]:
        """Cost per rating, and the cheapest mix of labels and ratings that reaches the precision."""
        known = {} if self.costs is None else {row["judge"]: row for row in self.costs.frame.iter_rows(named=True)}
        cost = known.get(name, {}).get("cost")
        if name in (PANEL, EQUAL) and known and all(one in known for one in self.names):
            cost = sum(known[one].get("cost") or 0.0 for one in self.names)
        if cost is None or self.kind == "match":
            return {"cost": cost, "cost_for_precision": None, "cost_of_labels_alone": None}
        people = np.nanmean(rated, axis=1)
        if not people.std() or not values.std():
            return {"cost": cost, "cost_for_precision": None, "cost_of_labels_alone": None}
        budget = budget_for(
            self.half_width * width,
            sd=float(people.std(ddof=1)),
            correlation=float(np.clip(np.corrcoef(values, people)[0, 1], -0.999, 0.999)),
            cost_label=self.cost_label,
            cost_judge=float(cost),
            level=self.level,
        )
        cheapest = min(budget.cost, budget.cost_alone)
        return {"cost": float(cost), "cost_for_precision": cheapest, "cost_of_labels_alone": budget.cost_alone}

    def _effects(
        self, dimension: str, names: list[str], items: list[str], table: Floats, rated: Floats, labels: Ints | None
    ) -> None:
        """Slot, length, style and own family, in one model for each judge."""
        people = np.nanmean(rated, axis=1)
        place = {item: at for at, item in enumerate(items)}
        features = _features(self.texts, items)
        families = {} if self.texts is None or not self.texts.has("family") else dict(self.texts.frame.select("item", "family").iter_rows())  # fmt: skip
        of_judge = {} if self.costs is None or not self.costs.has("family") else dict(self.costs.frame.select("judge", "family").iter_rows())  # fmt: skip
        for at, name in enumerate(names):
            slots = None
            if self.orders is not None:
                mine = self.orders.frame.filter(
                    pl.col("rater") == name, pl.col("dimension") == dimension, pl.col("value").is_not_null(), pl.col("item").is_in(items)
                )  # fmt: skip
                slots = mine.select("item", "target_slot", "value").rows() if len(mine) else None
            rows = slots or [(item, None, value) for item, value in zip(items, table[:, at], strict=True)]
            where = np.array([place[item] for item, *_ in rows])
            x: dict[str, Floats] = {}
            if slots:
                turned = -1.0 if dimension.endswith(":comparison") else 1.0
                x["slot 1 − slot 2"] = np.array([turned * (0.5 if slot == 1 else -0.5) for _, slot, _ in rows])
            x |= {what: column[where] for what, column in features.items()}
            own = of_judge.get(name) or _family_in(name, set(families.values()))
            if families and own:
                x["own family"] = np.array([1.0 if families.get(item) == own else 0.0 for item, *_ in rows])
            if not x:
                continue
            is_known = ~np.isnan(np.column_stack(list(x.values()))).any(axis=1)
            excess = np.array([value for *_, value in rows], dtype=np.float64) - people[where]
            code = where if labels is None else labels[where]
            effects = bias_effects(
                excess[is_known],
                {what: column[is_known] for what, column in x.items()},
                clusters=code[is_known],
                level=self.level,
            )
            for what, one in effects.items():
                self._add("effects", dimension=dimension, judge=name, effect=what, **columns_of(value=one), reason=one.reason or None)  # fmt: skip

    def _thresholds(
        self,
        dimension: str,
        names: list[str],
        table: Floats,
        rated: Floats,
        labels: Ints | None,
        scale: tuple[float, float],
    ) -> None:
        """A cut of each judge's ratings, chosen on one half of the items and tested on the other."""
        people = np.nanmean(rated, axis=1)
        is_true = people > (scale[0] + scale[1]) / 2
        code = np.arange(len(people)) if labels is None else labels
        order = np.random.default_rng(self.seed).permutation(int(code.max()) + 1)
        is_first = order[code] % 2 == 0
        if (
            min(
                is_true[is_first].sum(),
                (~is_true[is_first]).sum(),
                is_true[~is_first].sum(),
                (~is_true[~is_first]).sum(),
            )
            < 3
        ):
            self.notes.append(
                f"{dimension}: fewer than 3 items above or below the middle in one half, so no threshold is tested."
            )
            return
        for at, name in enumerate(names):
            cuts = np.unique(table[is_first, at])
            cuts = (cuts[:-1] + cuts[1:]) / 2 if len(cuts) > 1 else cuts
            scores = [_balanced(table[is_first, at] > cut, is_true[is_first]) for cut in cuts]
            cut = float(cuts[int(np.argmax(scores))])
            said, true = table[~is_first, at] > cut, is_true[~is_first]
            own = None if labels is None else labels[~is_first]
            right = share(said == true, own, level=self.level)
            sensitivity = share(said[true], None if own is None else own[true], level=self.level)
            specificity = share(~said[~true], None if own is None else own[~true], level=self.level)
            self._add("thresholds", dimension=dimension, judge=name, threshold=cut, **columns_of(accuracy=right, sensitivity=sensitivity, specificity=specificity), n_chosen_on=int(is_first.sum()), n_tested_on=int((~is_first).sum()))  # fmt: skip

    def _add(self, table: str, **row: Any) -> None:
        self.rows.setdefault(table, []).append(row)

    def frames(self) -> dict[str, pl.DataFrame]:
        """The tables."""
        if "bench" not in self.rows:
            raise InputError(" ".join(self.notes) or "No item was rated by all judges and by people.")
        order = ("bench", "judge_differences", "effects", "thresholds", "weights", "attacks")
        texts = ("_state", "reason", "may_replace", "worst_attack")
        return {
            name: pl.DataFrame(
                self.rows[name],
                infer_schema_length=None,
                schema_overrides={
                    key: pl.String if key.endswith(texts) else pl.Float64
                    for key in self.rows[name][0]
                    if key.endswith((*texts, "_low", "_high")) or f"{key}_low" in self.rows[name][0] or key in _NUMBERS
                },
            )
            for name in order
            if name in self.rows
        }

    def recommend(self) -> tuple[list[str], list[str]]:
        """Which judge to use for each dimension, from the tests that the tables show; and what to know about it."""
        told: list[str] = []
        caveats: list[str] = []
        for dimension in dict.fromkeys(row["dimension"] for row in self.rows["bench"]):
            rows = [row for row in self.rows["bench"] if row["dimension"] == dimension and row["agreement"] is not None]
            single = [row for row in rows if row["judge"] in self.names]
            if not single:
                told.append(f"{dimension}: no judge's agreement with people is defined; the table gives the reason.")
                continue
            tested = {
                frozenset((row["a"], row["b"])): row["p_holm"]
                for row in self.rows.get("judge_differences", [])
                if row["dimension"] == dimension
            }
            best = max(single, key=lambda row: row["agreement"])
            able = [row for row in single if row["may_replace"] == "yes"] or single
            priced = [row for row in able if row["cost_for_precision"] is not None]
            by_cost = len(priced) == len(able) > 1
            chosen = (
                min(priced, key=lambda row: row["cost_for_precision"])
                if by_cost
                else max(able, key=lambda row: row["agreement"])
            )
            words = f"{dimension}: use {chosen['judge']} (agreement {Estimate(chosen['agreement'], chosen['agreement_low'], chosen['agreement_high'])}"
            words += f"; it may {'' if chosen['may_replace'] == 'yes' else 'not '}replace a rater)" if chosen["may_replace"] else ")"  # fmt: skip
            of = "judges that may replace a rater" if able[0]["may_replace"] == "yes" else "judges"
            if by_cost:
                words += f". Of {len(able)} {of}, it costs least for a mean to within ±{self.half_width:.0%} of the scale: {chosen['cost_for_precision']:.3g}, where people's labels alone cost {chosen['cost_of_labels_alone']:.3g}"
            elif len(able) > 1:
                words += f". Of {len(able)} {of}, it has the highest agreement"
            apart = [
                row["judge"] for row in single
                if row is not best and (tested.get(frozenset((row["judge"], best["judge"]))) or 1.0) < 1 - self.level
            ]  # fmt: skip
            if len(single) > 1:
                words += f". {best['judge']} has the highest agreement of all; of the {len(single) - 1} other judges, {len(apart)} {'agrees' if len(apart) == 1 else 'agree'} significantly less (Holm-corrected)"
            told.append(words + ".")
            moved = [
                f"{row['effect']} {Estimate(row['value'], row['value_low'], row['value_high'])}"
                for row in self.rows.get("effects", [])
                if (row["dimension"], row["judge"]) == (dimension, chosen["judge"])
                and row["value_low"] is not None
                and (row["value_low"] > 0 or row["value_high"] < 0)
            ]
            if moved:
                caveats.append(f"{dimension}: {chosen['judge']} is biased beyond people: {'; '.join(moved)}.")
            caveats += self._resistance(dimension, chosen["judge"], able, tested)
            panel = next((row for row in rows if row["judge"] == PANEL), None)
            p = None if panel is None else tested.get(frozenset((PANEL, best["judge"])))
            if panel is not None and p is not None:
                gain = panel["agreement"] - best["agreement"]
                worth = (
                    f"a weighted panel of all judges gains {gain:+.3f}"
                    if p < 1 - self.level
                    else f"no gain of a weighted panel over {best['judge']} is shown ({gain:+.3f})"
                )
                told.append(f"{dimension}: {worth}, {stated('p', p)} (Holm-corrected).")
            power = self.power.get(dimension)
            if power is not None and power.value is not None and power.value < 0.8 and chosen["may_replace"] != "yes":
                caveats.append(
                    f"{dimension}: the alternative-annotator test has little power here: a judge exactly as good as a rater would pass in about {power.value:.0%} of such studies. Not passing does not show that the judge is worse."
                )
        return told, caveats

    def _resistance(
        self, dimension: str, chosen: str, able: list[dict[str, Any]], tested: Mapping[frozenset[str], float | None]
    ) -> list[str]:
        """Whether attacks move the chosen judge, and which judge to use instead where people may attack it."""
        mine = [row for row in self.rows.get("attacks", []) if row["dimension"] == dimension]
        if not any(row["judge"] == chosen for row in mine):
            return []

        def moving(judge: str) -> list[dict[str, Any]]:
            return [row for row in mine if row["judge"] == judge and (row["p_holm"] or 0.0) < 1 - self.level]

        if not moving(chosen):
            return [f"{dimension}: no attack moves {chosen} significantly (Holm-corrected)."]
        told = "; ".join(
            f"{row['attack']} {Estimate(row['shift'], row['shift_low'], row['shift_high'])}" for row in moving(chosen)
        )
        firm = [
            one for one in able
            if any(row["judge"] == one["judge"] for row in mine) and not moving(one["judge"])
            and (tested.get(frozenset((one["judge"], chosen))) or 1.0) >= 1 - self.level
        ]  # fmt: skip
        instead = (
            f"use {max(firm, key=lambda one: one['agreement'])['judge']}, which no attack moves significantly"
            if firm
            else "let people look at what it rates highest"
        )
        return [
            f"{dimension}: attacks move {chosen}: {told}. Where authors of answers may know that a judge reads them, {instead}."
        ]


_NUMBERS = ("p", "p_holm", "cost", "cost_for_precision", "cost_of_labels_alone", "winning_rate", "threshold", "weight")


def _balanced(said: Any, true: Any) -> float:
    return float(said[true].mean() + (~said[~true]).mean()) / 2


def style_of(text: str) -> dict[str, float]:
    """Length and style of a text: log₂ of its words, and whether it has list items, headings, bold words and code, as shares or 0/1.

    Parameters
    ----------
    text : str
        The text, in Markdown or plain.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    listed = sum(bool(re.match(r"\s*([-*+•]|\d+[.)])\s", line)) for line in lines)
    return {
        "twice the length": math.log2(max(len(text.split()), 1)),
        "lists": listed / max(len(lines), 1),
        "headings": float(any(re.match(r"\s*#{1,6}\s", line) for line in lines)),
        "bold words": float("**" in text or "__" in text),
        "code": float("```" in text),
    }


def _features(texts: AnswerTexts | None, items: Sequence[str]) -> dict[str, Floats]:
    """Properties of the items, NaN where unknown."""
    if texts is None:
        return {}
    extra = [name for name in texts.frame.columns if name not in ("item", "text", "length", "family")]
    frame = texts.frame.with_columns(pl.col(extra).cast(pl.Float64, strict=False))
    rows = {row["item"]: row for row in frame.iter_rows(named=True)}
    found: list[dict[str, float]] = []
    more = [name for name in extra if frame[name].drop_nulls().len()]
    for item in items:
        row = rows.get(item, {})
        known = style_of(row["text"]) if row.get("text") else {}
        if row.get("length"):
            known["twice the length"] = math.log2(row["length"])
        found.append(known | {name: float(row[name]) for name in more if row.get(name) is not None})
    names = dict.fromkeys(name for one in found for name in one)
    return {name: np.array([one.get(name, math.nan) for one in found]) for name in names}


def _family_in(judge: str, families: set[Any]) -> str | None:
    """The family whose name the judge's name begins with or contains as its provider."""
    known = [family for family in families if family and family.casefold() in judge.casefold()]
    return max(known, key=len, default=None)


@dataclass(frozen=True, kw_only=True)
class JudgeDrift(Result):
    """Whether judges have changed on frozen anchor items.

    Table ``drift``: one row per judge and dimension (shift with its interval, evidence, alarm, alarm_at, n_items, n_runs). Table ``evidence``: one row per judge, dimension and run.

    Parameters
    ----------
    rows : pl.DataFrame
        Table ``drift``.
    course : pl.DataFrame
        Table ``evidence``.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "drift"
    rows: pl.DataFrame
    course: pl.DataFrame
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``drift`` and ``evidence``."""
        return {"drift": self.rows, "evidence": self.course}


def drift(
    runs: Ratings | Source | Sequence[Ratings | Source], *, n_baseline: int = 1, level: float = 0.95, seed: int = 0
) -> JudgeDrift:
    """Monitor judges on fixed anchor items: the alarm is valid after every run, for any number of runs.

    Parameters
    ----------
    runs : sequence of Ratings, frames or paths
        One table per run, in the order of time; the first ones are the baseline. All tables have the same raters (judges) and items.
    n_baseline : int
        How many runs are the baseline.
    level : float
        The probability that no alarm is ever raised, for any judge and dimension, while none changes is at least this: the evidence that an alarm needs grows with
        their number. It holds where the noise of a judge is its own on each item; noise that all items of a run share looks like a change.
    seed : int
        Breaks ties.
    """
    listed = as_list(runs)
    if len(listed) <= n_baseline:
        raise OptionError(
            f"Number of runs: {len(listed)}, of the baseline: {n_baseline}. Give one table per run, and at least one after the baseline."
        )
    tables = [read_ratings(run) for run in listed]
    frames = [table.frame.with_columns(pl.lit(at).alias("#run")) for at, table in enumerate(tables)]
    every = pl.concat([frame.select("#run", "rater", "item", "dimension", "value") for frame in frames])
    rows, course = [], []
    needed = every.select("rater", "dimension").n_unique() / (1 - level)
    for (judge, dimension), part in sorted(every.group_by("rater", "dimension"), key=lambda one: str(one[0])):
        wide = part.pivot(on="item", index="#run", values="value").sort("#run")
        grid = pl.DataFrame({"#run": range(len(tables))}, schema={"#run": wide["#run"].dtype}).join(wide, on="#run", how="left").drop("#run")  # fmt: skip
        found = drift_alarm(
            grid.cast(pl.Float64).fill_null(float("nan")).to_numpy(), n_baseline=n_baseline, level=level, seed=seed
        )
        at = np.flatnonzero(found.evidence >= needed)
        alarm = {"evidence": float(found.evidence[-1]), "evidence_needed": needed, "alarm": "yes" if len(at) else "no", "alarm_at": int(at[0]) + 1 if len(at) else None}  # fmt: skip
        counts = {"n_items": grid.width, "n_runs": len(tables)}
        rows.append({"judge": judge, "dimension": dimension, **columns_of(shift=found.shift), **alarm, **counts})
        course += [
            {"judge": judge, "dimension": dimension, "run": at + 1, "evidence": float(one)}
            for at, one in enumerate(found.evidence)
        ]
    provenance = Provenance.of(
        tables[0], seed=seed, n_baseline=n_baseline, level=level, runs=[table.digest for table in tables[1:]]
    )
    frame = pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"alarm_at": pl.Int64, "shift_low": pl.Float64, "shift_high": pl.Float64})  # fmt: skip
    return JudgeDrift(rows=frame, course=pl.DataFrame(course), provenance=provenance)
