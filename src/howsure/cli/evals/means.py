"""`howsure summary`, `compare`, `power` and `leaderboard`: means of attempts and their differences."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from howsure.cli.options import Inputs, Level, Output, Reading, Seed, verb
from howsure.cli.output import finish, progress_bar
from howsure.estimates import chance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from howsure.cli.output import Console
    from howsure.estimates import Estimate
    from howsure.evals.comparison import Comparison, Difference
    from howsure.evals.summaries import SummaryRow
    from howsure.tables import Attempts

__all__ = ["Choosing", "Cluster", "ItemsAre", "Weights", "app", "decimals", "estimands", "words"]

app = typer.Typer()


# What the verbs on evals share.


Cluster = Annotated[
    str | None,
    typer.Option(
        help="Clusters: attempts with the same value are not independent (task, family, domain, or none). [default: family if there are families, else task]",
        show_default=False,
    ),
]
ItemsAre = Annotated[
    str,
    typer.Option(
        "--items",
        help="Items: sampled (intervals are about items like these) or fixed (about exactly these items, from repeats alone).",
    ),
]
Weights = Annotated[str, typer.Option(help="Weights: over several evals, what counts once (evals or items).")]


def _option(text: str, *names: str) -> Any:
    return typer.Option(*names, help=text, rich_help_panel="Attempts", show_default=False)


@dataclass(frozen=True)
class Choosing:
    """Which attempts count, and as what."""

    where: Annotated[list[str] | None, _option("Rows to keep: e.g. temperature>=0.5 or prompt!=cot; any column.")] = (
        None
    )
    only: Annotated[list[str] | None, _option("Only these values, e.g. prompt=plain,cot.")] = None
    exclude: Annotated[list[str] | None, _option("Exclude: rows with these values, e.g. model=old.")] = None
    reduce: Annotated[
        str | None,
        _option(
            "How attempts at an item become one score: mean, pass@K, pass^K, majority@K or best@K. [default: mean]"
        ),
    ] = None

    def apply(self, attempts: Attempts, console: Console) -> Attempts:
        """The attempts that count; says what their scores are and what was left out."""
        from howsure.evals.variants import reduce_attempts, select

        chosen = select(attempts, where=self.where or (), only=self.only or (), exclude=self.exclude or ())
        counted = reduce_attempts(chosen, self.reduce or "mean")
        console.notes(note for note in counted.notes if note not in attempts.notes)
        return counted


def words(text: str | None) -> list[str]:
    """Words separated by commas."""
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def decimals(number: float | None, digits: int) -> str | None:
    """A number with that many decimals; None stays None."""
    return None if number is None else f"{number:.{digits}f}"


def estimands(rows: Sequence[SummaryRow | Difference], cluster: str, items: str = "sampled") -> str:
    """What the numbers of a table are means of, and which units the intervals take as independent."""
    rows_of: dict[str, list[str]] = {}
    for row in rows:
        rows_of.setdefault(row.estimand, []).append(row.task)
    several = [f"{'all' if 'all' in tasks else 'other rows'}: {what}" for what, tasks in rows_of.items()]
    what = next(iter(rows_of)) if len(rows_of) == 1 else "; ".join(several)
    independent = "attempts" if cluster == "none" else f"clusters ({cluster})"
    if items == "fixed":
        return f"Shown: {what}; intervals from the variance between repeats of an item. Other items would give other means."
    return f"Shown: {what}; intervals over independent {independent}."


By = Annotated[
    str | None,
    typer.Option(
        help="Groups: one row per value of all, domain, family or task. [default: domain if there is one]",
        show_default=False,
    ),
]


@app.command(epilog="Example: howsure summary examples/evals/attempts.csv --cluster family")
@verb
def summary(
    inputs: Inputs,
    reading: Reading,
    choosing: Choosing,
    output: Output,
    by: By = None,
    cluster: Cluster = None,
    items: ItemsAre = "sampled",
    weights: Weights = "evals",
    level: Level = 0.95,
    mixed_model: Annotated[
        bool,
        typer.Option(
            "--mixed-model", help="Add a mixed model of all scores: variance shares, and means pooled over evals."
        ),
    ] = False,
) -> None:
    """Mean score of each model, with intervals over clusters of attempts.

    Every item counts once, with the mean of its attempts; over several evals, every eval that all models tried counts once.

    Repeats of one task, or tasks of one family, are correlated: intervals that ignore it are too narrow. The design effect is the
    variance of the mean divided by its variance if all attempts were independent. Writes summary.csv, summary.json, the chart and
    a report.
    """
    from howsure.evals.summaries import summary as summarize

    attempts = choosing.apply(reading.attempts(inputs, output.console), output.console)
    result = summarize(attempts, by=by, cluster=cluster, items=items, weights=weights, level=level)
    output.console.notes(result.provenance.notes[len(attempts.notes) :])
    has_held, has_missing = any(r.held for r in result.rows), any(r.n_missing for r in result.rows)
    rows: list[tuple[Any, ...]] = [
        (
            r.subject,
            *([r.held] if has_held else []),
            r.task,
            r.mean,
            f"{r.n:,}",
            f"{r.n_items:,}",
            r.n_clusters,
            decimals(r.design_effect, 1),
        )
        + (_missing(r) if has_missing else ())
        for r in result.rows
    ]
    columns: tuple[str, ...] = (
        "subject",
        *(["held"] if has_held else []),
        "task",
        f"mean [{level:.0%}]",
        "attempts",
        "items",
        "clusters",
        "design effect",
    )
    columns += ("no score", "if wrong or right") if has_missing else ()
    cluster = result.provenance.settings["cluster"]
    output.console.table("Mean score", columns, rows, estimands(result.rows, cluster, items))
    more: list[Path] = []
    if mixed_model:
        from howsure.evals.summaries import pooled_means

        pooled = pooled_means(attempts, cluster=cluster, weights=weights, level=level)
        output.console.notes(note for note in pooled.provenance.notes if note not in result.provenance.notes)
        shares = [(name, share, f"{pooled.variances[name]:.4f}") for name, share in pooled.shares.items()]
        sources = ("source", f"share [{level:.0%}]", "variance")
        output.console.table("Variance of one attempt within an eval", sources, shares)
        means = [(r.subject, r.task, r.mean, r.design, f"{r.own_weight:.2f}", r.remark) for r in pooled.rows]
        shown = ("subject", "task", f"model [{level:.0%}]", f"design-based [{level:.0%}]", "own weight", "remark")
        caption = "Own weight: weight of the eval's own mean; the rest is the weight of other evals. Compare with the design-based interval."
        output.console.table("Means from one model of all scores", shown, means, caption)
        more = pooled.save(output.out) if output.out else []
    finish(result, output, "summary", "How well did each model do?", more)


def _missing(row: SummaryRow | Difference) -> tuple[str | None, str | None]:
    """How many attempts have no score, and the number at both ends of what they could have been."""
    if row.lowest is None or row.highest is None:
        return f"{row.n_missing:,}" if row.n_missing else None, None
    return f"{row.n_missing:,}", f"{row.lowest:.3f} to {row.highest:.3f}"


# `howsure compare`.


@app.command(epilog="Example: howsure compare examples/evals/attempts.csv --a amber-2 --b amber-1 --cluster family")
@verb
def compare(
    inputs: Inputs,
    reading: Reading,
    choosing: Choosing,
    output: Output,
    a: Annotated[
        str | None, typer.Option(help='The first of two: a model, or "model=x,prompt=cot".', show_default=False)
    ] = None,
    b: Annotated[
        str | None, typer.Option(help="The second of two. Without --a and --b: all pairs.", show_default=False)
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="Groups: any column that describes a run, such as model, prompt or temperature; two with a comma are crossed. "
            "domain, family or task: one comparison per value. [default: what varies]",
            show_default=False,
        ),
    ] = None,
    cluster: Cluster = None,
    items: ItemsAre = "sampled",
    weights: Weights = "evals",
    correction: Annotated[str, typer.Option(help="For many p-values: holm or bh (Benjamini–Hochberg).")] = "holm",
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Differences between models, prompts or any other runs, paired by item, with tests corrected for their number.

    Two folders are compared with each other: howsure compare new/ old/. Other factors that vary are averaged over: each combination of their values that
    both sides have counts once. Scorers are held equal.

    P(A > B) is the probability that the true difference is above 0. The within-item share is the share of the squared standard
    error that more repeats (epochs) would remove; the rest can be reduced only by more items. Writes compare.csv, compare.json, the charts and a
    report.
    """
    from howsure.evals.comparison import compare as compare_runs

    attempts = choosing.apply(_read(inputs, reading, output), output.console)
    with progress_bar("comparing", output.console) as progress:
        result = compare_runs(
            attempts,
            a,
            b,
            by=by or "all",
            cluster=cluster,
            items=items,
            weights=weights,
            correction=correction,
            level=level,
            seed=seed,
            progress=progress,
        )
    output.console.notes(note for note in result.provenance.notes if note not in attempts.notes)
    output.console.say(result.statement)
    cluster = result.provenance.settings["cluster"]
    _print_differences(result, output, cluster, correction, level, items)
    if result.interactions:
        rows = [
            (f"{i.a1} − {i.a2}", f"{i.moderator}: {i.b1} − {i.b2}", i.held, i.interaction, chance(i.p), chance(i.p_adjusted), i.n_items)
            for i in result.interactions
        ]  # fmt: skip
        columns = ("difference", "change with", "held", f"interaction [{level:.0%}]", "p", f"p ({correction})", "items")
        caption = "How much the difference in the first column depends on the second factor; 0 means that it does not."
        output.console.table("Interactions", columns, rows, caption)
    if result.costs:
        costs = [
            (c.name, c.held, c.score, c.cost, c.seconds, c.tokens, c.cost_per_success, "yes" if c.is_efficient else "")
            for c in result.costs
        ]
        names = ("variant", "held", "score", "cost", "seconds", "tokens", "cost per success", "efficient")
        shown = [
            i for i, name in enumerate(names) if name in ("variant", "score") or any(_is_known(row[i]) for row in costs)
        ]
        caption = "Means per attempt. Efficient: no other variant scores as high at this cost or less."
        output.console.table(
            "Score, cost and time", [names[i] for i in shown], [[row[i] for i in shown] for row in costs], caption
        )
    finish(result, output, "compare", "Which is better?")


def _read(inputs: list[str], reading: Reading, output: Output) -> Attempts:
    """The attempts of all inputs; two folders, or two files whose models have the same names, are told apart by the column ``input``."""
    import polars as pl

    from howsure.evals.variants import INPUT
    from howsure.tables import Attempts

    if len(inputs) != 2 or not (
        all(Path(one).is_dir() for one in inputs) or all(Path(one).is_file() for one in inputs)
    ):
        return reading.attempts(inputs, output.console)
    both = [reading.attempts([one], output.console) for one in inputs]
    models = [set(one.lazy.select(pl.col("subject").unique()).collect()["subject"]) for one in both]
    if not models[0] & models[1]:
        return (
            reading.attempts(inputs, output.console)
            if all(Path(one).is_file() for one in inputs)
            else Attempts.union(both)
        )
    short = [Path(one).resolve().name for one in inputs]
    names = short if len(set(short)) == 2 else [one.rstrip("/") for one in inputs]
    tables = [
        pl.concat([one.lazy.with_columns(pl.lit(name).alias(INPUT))]) for one, name in zip(both, names, strict=True)
    ]
    rows = pl.concat(tables, how="diagonal_relaxed").drop("attempt")
    made = Attempts(rows, notes=[note for one in both for note in one.notes])
    made.count = both[0].count
    return made


def _print_differences(
    result: Comparison, output: Output, cluster: str, correction: str, level: float, items: str
) -> None:
    rows = [_difference_row(pair) for pair in result.pairs]
    has_held = any(pair.held for pair in result.pairs)
    columns: tuple[str, ...] = ("A", "B", "at", "task", f"A − B [{level:.0%}]", "p", f"p ({correction})", "P(A > B)")
    columns = (*columns, "items", "clusters", "within-item share", "test")
    together = "task" if cluster == "none" else cluster  # a pair is an item, with all its attempts
    is_unpaired = {pair.test.endswith("unpaired") for pair in result.pairs}
    over = {False: "the items that both tried", True: "each model's own items (unpaired)"}
    caption = f"Differences over {', or '.join(over[one] for one in sorted(is_unpaired))}. "
    caption += estimands(result.pairs, together, items)
    if not has_held:
        columns, rows = columns[:2] + columns[3:], [row[:2] + row[3:] for row in rows]
    if any(pair.n_missing for pair in result.pairs):
        columns = (*columns, "no score", "if wrong or right")
        rows = [(*row, *_missing(pair)) for row, pair in zip(rows, result.pairs, strict=True)]
        caption += f" p ({correction}) is the largest under every defensible way to count attempts without a score; --count decides it."
    output.console.table("Differences", columns, rows, caption)


def _difference_row(d: Difference) -> tuple[Any, ...]:
    tested = chance(d.p), chance(d.p_adjusted), chance(d.p_a_greater)
    counted = d.n_items, d.n_clusters, _share(d.within_item_share), d.test
    return d.a, d.b, d.held, d.task, d.difference, *tested, *counted


def _share(share: Estimate) -> str | None:
    """A share in per cent, with its interval."""
    if share.value is None:
        return None
    ends = "" if share.low is None or share.high is None else f" [{share.low:.0%}, {share.high:.0%}]"
    return f"{share.value:.0%}{ends}"


def _is_known(cell: Any) -> bool:
    return bool(cell) if isinstance(cell, str) else getattr(cell, "value", None) is not None


# `howsure power`.


@app.command(epilog="Example: howsure power --effect 0.05 --n-items 200")
@verb
def power(
    reading: Reading,
    output: Output,
    inputs: Annotated[
        list[str] | None, typer.Argument(help="A pilot with repeats, for the variances.", show_default=False)
    ] = None,
    effect: Annotated[float, typer.Option(help="The smallest true difference that matters.")] = 0.05,
    items: Annotated[
        int | None,
        typer.Option(
            "--n-items",
            min=2,
            help="Number of items: those that you have; also prints the detectable difference and the power.",
            show_default=False,
        ),
    ] = None,
    target: Annotated[float, typer.Option("--power", help="Power: the probability of detecting the difference.")] = 0.8,
    level: Level = 0.95,
    accuracy: Annotated[float, typer.Option(help="Without a pilot: accuracy of the weaker model.")] = 0.7,
    correlation: Annotated[
        float,
        typer.Option(help="Assumed correlation: of the models' success probabilities over items, without a pilot."),
    ] = 0.5,
    share_between: Annotated[
        float,
        typer.Option(
            help="Without a pilot: share of the variance of a score that is between items (the rest is between repeats)."
        ),
    ] = 0.5,
    a: Annotated[str | None, typer.Option(help="The first of two: a model of the pilot.", show_default=False)] = None,
    b: Annotated[str | None, typer.Option(help="The second of two: a model of the pilot.", show_default=False)] = None,
    cluster: Cluster = None,
    assurance: Annotated[
        float, typer.Option(min=0.5, max=0.99, help="With a pilot: confidence with which the plan reaches its power.")
    ] = 0.9,
    tokens_per_item: Annotated[
        float | None,
        typer.Option(help="Tokens of one attempt at one item. [default: the pilot's]", show_default=False),
    ] = None,
    price: Annotated[
        float | None, typer.Option(help="Dollars per million tokens. [default: the pilot's cost]", show_default=False)
    ] = None,
) -> None:
    """How many items and repeats are needed to detect a difference between two models.

    Plans a paired comparison on the same items, from assumptions or from a pilot run with repeats. Writes power.csv, power.json,
    the chart and a report.
    """
    from howsure.evals.planning import power as plan_power

    pilot = reading.attempts(inputs, output.console) if inputs else None
    result = plan_power(
        pilot,
        effect=effect,
        n_items=items,
        power=target,
        level=level,
        accuracy=accuracy,
        correlation=correlation,
        share_between=share_between,
        a=a,
        b=b,
        cluster=cluster,
        assurance=assurance,
        tokens_per_item=tokens_per_item,
        price=price,
    )
    output.console.notes(result.provenance.notes[len(pilot.notes) if pilot else 0 :])
    columns: dict[str, list[Any]] = {
        "attempts per item": [row.attempts_per_item for row in result.rows],
        "items needed": [f"{row.items_needed:,}" for row in result.rows],
        "attempts in total": [f"{row.attempts_needed:,}" for row in result.rows],
        "tokens": [f"{row.tokens_needed:,.0f}" if row.tokens_needed else None for row in result.rows],
        "dollars": [None if row.cost_needed is None else f"{row.cost_needed:,.2f}" for row in result.rows],
        "detectable": [decimals(row.detectable, 3) for row in result.rows],
        "power": [decimals(row.power, 2) for row in result.rows],
    }
    shown = {name: cells for name, cells in columns.items() if any(cell is not None for cell in cells)}
    sure = f", with {assurance:.0%} confidence," if inputs else ""
    title = f"To detect a true difference of {effect:g} with {target:.0%} power{sure} at the {level:.0%} level"
    caption = f"Last two columns: with {items:,} items." if items else "--n-items N adds what N items can show."
    caption = " ".join([caption, "Assumptions:", *result.assumptions])
    output.console.table(title, tuple(shown), list(zip(*shown.values(), strict=True)), caption)
    finish(result, output, "power", "How many items does an eval need?")


# `howsure leaderboard`.


@app.command(epilog="Example: howsure leaderboard examples/evals/attempts.csv --cluster family")
@verb
def leaderboard(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    benchmark: Annotated[
        str | None, typer.Option(help="Benchmark: only this one of published scores.", show_default=False)
    ] = None,
    n_items: Annotated[
        int | None,
        typer.Option(min=1, help="Number of items: of the benchmark, for published scores.", show_default=False),
    ] = None,
    cluster: Cluster = None,
    level: Level = 0.95,
    target: Annotated[float, typer.Option("--power", help="Power: for the number of items needed.")] = 0.8,
    replicates: Annotated[
        int, typer.Option(min=100, help="Replicates: random sign flips, or draws of the scores' errors.")
    ] = 2000,
    seed: Seed = 0,
) -> None:
    """Models in tiers, with intervals of their ranks, and the items that would separate neighbours.

    All pairs are tested together, so the probability of any wrong order is at most 5 %. Tier 1 contains the models that no model is
    significantly better than, and so the best model. Takes attempts, or published scores (model, benchmark, score): without
    the number of items, the smallest number that gives the rounded percentages is used, and a note says so. Writes leaderboard.csv,
    leaderboard_pairs.csv, leaderboard.json, the charts and a report.
    """
    from howsure.evals.leaderboards import leaderboard as rank
    from howsure.evals.sections import rank_text

    table = reading.read(inputs, output.console)
    result = rank(
        table,
        benchmark=benchmark,
        n_items=n_items,
        cluster=cluster,
        level=level,
        power=target,
        n_replicates=replicates,
        seed=seed,
    )
    output.console.notes(result.provenance.notes[len(table.notes) :])
    rows = [
        (p.tier, p.subject, p.mean, rank_text(p.rank), rank_text(p.rank_marginal), f"{p.n_items:,}")
        for p in result.places
    ]
    columns = ("tier", "model", f"mean [{level:.0%}]", "rank, all together", "rank, this model alone", "items")
    caption = (
        f"Tier 1 contains the best model with {level:.0%} confidence. {result.separation} "
        f"Test: {result.method}. Shown: {result.estimand}."
    )
    output.console.table("Leaderboard", columns, rows, caption)
    finish(result, output, "leaderboard", "Which models differ significantly?")
