"""`howsure compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from howsure.cli.evals.common import Choosing, Cluster, ItemsAre, Weights, estimands, words
from howsure.cli.finish import finish
from howsure.cli.options import Inputs, Level, Output, Reading, Seed, verb
from howsure.cli.output import progress_bar
from howsure.estimates import chance

if TYPE_CHECKING:
    from howsure.estimates import Estimate
    from howsure.evals.comparison import Comparison, Difference
    from howsure.tables import Attempts

__all__ = ["app"]

app = typer.Typer()


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
    pool: Annotated[
        str | None,
        typer.Option(help="Columns whose values count as repeats instead of being held equal.", show_default=False),
    ] = None,
    cluster: Cluster = "task",
    items: ItemsAre = "sampled",
    weights: Weights = "evals",
    correction: Annotated[str, typer.Option(help="For many p-values: holm or bh (Benjamini–Hochberg).")] = "holm",
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Differences between models, prompts or any other runs, paired by item, with tests corrected for their number.

    Two folders are compared with each other: howsure compare new/ old/. Factors that vary and are not named are held equal.

    P(A > B) is the probability that the true difference is above 0. The within-item share is the share of the squared standard
    error that more repeats (epochs) would remove; the rest needs more items. Writes compare.csv, compare.json, the charts and a
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
            pool=words(pool),
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
    _print_differences(result, output, cluster, correction, level, items)
    if result.interactions:
        rows = [
            (f"{i.a1} − {i.a2}", f"{i.moderator}: {i.b1} − {i.b2}", i.held, i.interaction, chance(i.p), chance(i.p_adjusted), i.n_items)
            for i in result.interactions
        ]  # fmt: skip
        columns = ("difference", "change with", "held", f"interaction [{level:.0%}]", "p", f"p ({correction})", "items")
        caption = "How much the difference in the first column depends on the second factor; 0 where it does not."
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
    return Attempts(rows, notes=[note for one in both for note in one.notes])


def _print_differences(
    result: Comparison, output: Output, cluster: str, correction: str, level: float, items: str
) -> None:
    rows = [_difference_row(pair) for pair in result.pairs]
    has_held = any(pair.held for pair in result.pairs)
    columns: tuple[str, ...] = ("A", "B", "held", "task", f"A − B [{level:.0%}]", "p", f"p ({correction})", "P(A > B)")
    columns = (*columns, "items", "clusters", "within-item share", "test")
    together = "task" if cluster == "none" else cluster  # a pair is an item, with all its attempts
    is_unpaired = {pair.test.endswith("unpaired") for pair in result.pairs}
    over = {False: "the items that both tried", True: "each model's own items (unpaired)"}
    caption = f"Differences over {', or '.join(over[one] for one in sorted(is_unpaired))}. "
    caption += estimands(result.pairs, together, items)
    if not has_held:
        columns, rows = columns[:2] + columns[3:], [row[:2] + row[3:] for row in rows]
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
