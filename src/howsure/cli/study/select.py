"""`howsure study select`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from howsure.cli.options import Output, Seed, verb
from howsure.errors import OptionError

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog="Example: howsure study select examples/study/candidates.csv --pairs 5 -o selection")
@verb
def select(
    model_scores: Annotated[
        Path, typer.Argument(help="A table with a column of scores and, if known, of domains.", show_default=False)
    ],
    output: Output,
    pairs: Annotated[int, typer.Option(min=1, help="Number of pairs: how many to choose.")] = 5,
    score: Annotated[
        str | None,
        typer.Option(help="The column of scores. [default: score, model_score or pfi]", show_default=False),
    ] = None,
    domain: Annotated[
        str | None, typer.Option("--domain-column", help="The column of domains. [default: domain]", show_default=False)
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(help="Rows to keep: COLUMN=VALUE, e.g. persona=Ziggy; may be repeated.", show_default=False),
    ] = None,
    score_levels: Annotated[
        str | None,
        typer.Option(help="The level of each domain, e.g. TECH=high,PHIL=mid,NARR=low.", show_default=False),
    ] = None,
    critical: Annotated[
        bool, typer.Option("--critical", help="Critical cases: the lowest, the highest, and scores between.")
    ] = False,
    divide_by: Annotated[float, typer.Option(help="Scores run from 0 to this number.")] = 1.0,
    seed: Seed = 0,
) -> None:
    """Choose pairs over domains and score levels (high, mid, low), without replacement.

    Rows without a score, copies, and rows whose measured numbers repeat to the last digit (a dry run, placeholders) are refused, each with
    the reason. Writes pairs.yaml to fill in, model_scores.csv, refused.csv and selection.json.
    """
    from howsure.study.packet.selection import select as choose

    chosen = choose(
        model_scores,
        n_pairs=pairs,
        score=score,
        domain=domain,
        where=_pairs_of(where or [], "--where"),
        score_levels=_pairs_of((score_levels or "").split(","), "--score-levels"),
        is_critical=critical,
        divide_by=divide_by,
        seed=seed,
    )
    rows = [
        (r["item"], r["domain"], r["score_level"], f"{r['score']:.3f}", r["line"], r["about"])
        for r in chosen.pairs.iter_rows(named=True)
    ]
    n_usable = chosen.n_rows - len(chosen.refused)
    caption = f"Chosen from {n_usable} usable rows of {chosen.n_rows}; levels are thirds of their scores. Seed {seed}."
    output.console.table("Pairs to rate", ("pair", "domain", "level", "score", "line", "row"), rows, caption)
    output.console.notes(chosen.findings)
    output.console.json(chosen.as_dict())
    if output.out:
        output.console.wrote(chosen.save(output.out))


def _pairs_of(texts: list[str], option: str) -> dict[str, str]:
    """NAME=VALUE, as often as given."""
    found = {}
    for text in filter(None, (one.strip() for one in texts)):
        name, is_there, value = text.partition("=")
        if not (is_there and name.strip() and value.strip()):
            raise OptionError(f"{option} {text}: write NAME=VALUE.")
        found[name.strip()] = value.strip()
    return found
