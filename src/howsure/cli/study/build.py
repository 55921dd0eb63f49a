"""`howsure study build`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from howsure.cli.options import Output, verb
from howsure.errors import OptionError

if TYPE_CHECKING:
    from howsure.study.packet.building import StudyPacket

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog="Example: howsure study build examples/study/study.yaml --raters 8 -o packet")
@verb
def build(
    study: Annotated[Path, typer.Argument(help="The study (YAML).", show_default=False)],
    output: Output,
    raters: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=10_000,
            help="Number of raters: one page each. [default: as the design needs, or 7; 1 form]",
            show_default=False,
        ),
    ] = None,
    design: Annotated[
        str | None,
        typer.Option(
            help="Design: items x ratings, or 50x8/12 where each rater rates 12. [default: the study's]",
            show_default=False,
        ),
    ] = None,
    one_page: Annotated[bool, typer.Option("--one-page", help="One page for everyone, which asks for a name.")] = False,
    format: Annotated[  # noqa: A002 - what it is called on the command line
        Literal["html", "csv", "google", "qualtrics"],
        typer.Option(help="html: pages. For form builders: google (Apps Script), qualtrics (import file), csv."),
    ] = "html",
) -> None:
    """Build one blind page per rater, and the sealed key that stays with you.

    Orders and slots come from the study's seed and are balanced over raters. key.json says which response was which; only you may
    read it, and every page carries its SHA-256. Mail the pages, or hand them out with `howsure serve`.
    """
    from howsure.study.item_studies import read_study
    from howsure.study.packet.building import build as build_packet

    if output.out is None:
        raise OptionError("Name the folder for the pages and the key: -o packet.")
    is_form = format != "html"
    if one_page and raters and raters > 1:
        raise OptionError(f"--one-page makes one page for all; leave out --raters {raters}.")
    packet = build_packet(
        read_study(study),
        n_raters=raters,
        one_page=one_page or (is_form and design is None and raters in (None, 1)),
        design=design,
    )
    written = _save(packet, output.out, format)
    _tell(packet, output)
    output.console.wrote(written)


def _save(packet: StudyPacket, folder: Path, kind: str) -> list[Path]:
    from howsure.study.packet.forms import save_forms

    return packet.save(folder) if kind == "html" else save_forms(packet, folder, kind)  # type: ignore[arg-type]


def _tell(packet: StudyPacket, output: Output) -> None:
    from howsure.study.protocol import Study

    told = packet.as_dict()
    study, n_pages, balance = packet.study, len(packet.pages), packet.balance
    what = "pairs" if isinstance(study, Study) else "items"
    output.console.say(
        f"{n_pages} × {study.n_units} {what}, {study.repeats} shown again, {len(study.attention)} attention items."
    )
    if study.n_units < len(study.units):
        each = f"{balance.fewest}" if balance.fewest == balance.most else f"{balance.fewest} to {balance.most}"
        linked = "shared raters link all items" if balance.is_connected else "some items share no rater with the others"
        output.console.say(
            f"Blocks: each of {len(study.units)} {what} has {each} raters; two of them share {balance.fewest_together} to "
            f"{balance.most_together}; {linked}."
        )
    if isinstance(study, Study) and n_pages > 1:
        lowest, highest = told["slot_one_lowest"], told["slot_one_highest"]
        span = f"{lowest:.0%}" if lowest == highest else f"{lowest:.0%} to {highest:.0%}"
        output.console.say(f"A pair's target is in slot 1 for {span} of raters.")
    elif isinstance(study, Study):
        output.console.say(f"Everyone sees one order; the target is in slot 1 in {told['slot_one']:.0%} of pairs.")
    output.console.say(f"Key sealed: SHA-256 {told['sealed']}")
    output.console.json(told)
