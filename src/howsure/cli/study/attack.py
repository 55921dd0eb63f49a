"""`howsure study attack`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from howsure.cli.finish import finish
from howsure.cli.options import Level, Output, verb
from howsure.errors import OptionError
from howsure.estimates import Estimate, chance

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog="Example: howsure study attack --texts examples/study/bench/answers.csv -o attacked")
@verb
def attack(
    output: Output,
    judges: Annotated[
        list[Path] | None,
        typer.Argument(help="Judges' ratings of clean and attacked answers (ITEM.attack-NAME).", show_default=False),
    ] = None,
    texts: Annotated[
        Path | None,
        typer.Option(help="Table with item and text: write attacked answers for your judges.", show_default=False),
    ] = None,
    level: Level = 0.95,
) -> None:
    """How far do hidden instructions, invisible characters, claims of authority and padding move judges?

    With --texts, writes attacked.csv: every answer, and every answer under each attack. With judges' ratings of these, says how far each attack moved each judge; writes attacks.csv,
    attacks.json, the chart and attack_report.html. `howsure study judge --attacks all` does both for a study.
    """
    from howsure.study.judging.attacks import attack as measure
    from howsure.study.judging.attacks import attack_texts

    if texts is not None:
        if output.out is None:
            raise OptionError("--texts writes a file: name a folder with -o.")
        from howsure.tables.frames import parts_of, write_frame

        (part,) = parts_of(texts)
        made = attack_texts(part.collect(part.rows))
        output.console.wrote([write_frame(made, output.out / "attacked.csv")])
    if not judges:
        if texts is None:
            raise OptionError("Name judges' ratings, or answers with --texts.")
        return
    from howsure.study.agreement import read_ratings
    from howsure.tables import Ratings

    found = measure(Ratings.union([read_ratings(path) for path in judges]), level=level)
    output.console.notes(found.provenance.notes)
    rows = [
        (row["judge"], row["dimension"], row["attack"], Estimate(row["shift"], row["shift_low"], row["shift_high"], state=row["shift_state"]).against(0), chance(row["p_holm"]), row["n_items"])
        for row in found.rows.iter_rows(named=True)
    ]  # fmt: skip
    columns = ("judge", "dimension", "attack", f"shift [{level:.0%}]", "p, Holm", "answers")
    output.console.table("Rating under attack minus rating of the clean answer", columns, rows)
    for sentence in found.sentences:
        output.console.say(sentence)
    finish(found, output, "attack", "Attacks on judges")
