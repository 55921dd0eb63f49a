"""`howsure study collect`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from howsure.cli.options import Output, verb
from howsure.errors import OptionError

if TYPE_CHECKING:
    from howsure.study.scoring.collection import CollectedRatings

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog="Example: howsure study collect simulated/answers --key packet/key.json -o collected")
@verb
def collect(
    files: Annotated[
        list[Path],
        typer.Argument(help="Raters' files (.json), an export of `howsure serve` (.jsonl), folders, or a form's csv."),
    ],
    output: Output,
    key: Annotated[
        list[Path] | None,
        typer.Option(help="Key: key.json of the build; may be repeated to merge packets.", show_default=False),
    ] = None,
    pages: Annotated[
        Path | None, typer.Option(help="Folder of the pages. [default: the key's folder]", show_default=False)
    ] = None,
    mapping: Annotated[
        list[Path] | None,
        typer.Option(
            help="Mapping of columns: the meaning of each column of forms (YAML); may be repeated.", show_default=False
        ),
    ] = None,
    study: Annotated[
        Path | None, typer.Option(help="Study file (YAML), for forms built without a key.", show_default=False)
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop with an error: at the first file or line that is refused.")
    ] = False,
    anonymous: Annotated[
        bool,
        typer.Option("--anonymous", help="Random codes for raters; no comments, free texts or answers about them."),
    ] = False,
) -> None:
    """Raters' files and the key → tables by kind of question; in a study of pairs + always means the target.

    Digests are verified; duplicates, files of other studies and unreadable files are refused, each with its reason, and the rest is read. Impossible times are
    flagged. Writes raters.csv, refused.csv, collect.json and, as far as the study asks for them, ratings.csv, categories.csv, votes.csv, rankings.csv,
    spans.csv, texts.csv and about_raters.csv.
    """
    if not key and not (mapping and study):
        raise OptionError("The answers are blind. Pass --key key.json (or, for a foreign form, --mapping and --study).")
    if mapping:
        found = _from_forms(files, mapping, key[0] if key else None, study, strict=strict)
    else:
        found = _from_pages(files, key or [], pages, strict=strict)
    if anonymous:
        found = found.without_names()
    output.console.notes(found.provenance.notes)
    _tell(found, output)
    if output.out:
        output.console.wrote(found.save(output.out))


def _from_pages(files: list[Path], key: list[Path], pages: Path | None, *, strict: bool) -> CollectedRatings:
    from howsure.study.scoring.collection import collect as collect_pages

    return collect_pages(files, key, pages=pages, strict=strict)


def _from_forms(
    files: list[Path], mapping: list[Path], key: Path | None, study: Path | None, *, strict: bool
) -> CollectedRatings:
    from howsure.study.item_studies import read_study
    from howsure.study.packet.building import StudyKey
    from howsure.study.packet.forms import collect_forms, read_mapping

    opened = StudyKey.read(key) if key else None
    given = read_study(study) if study else None
    return collect_forms(files, [read_mapping(path) for path in mapping], key=opened, study=given, strict=strict)


def _tell(found: CollectedRatings, output: Output) -> None:
    n_raters, n_refused = len(found.raters), len(found.refused)
    what = "ratings" if found.votes is None and found.rankings is None and found.categories is None else "answers"
    title = f"{found.n_answers:,} {what} of {n_raters} rater{'' if n_raters == 1 else 's'}, {n_refused} refused"
    columns = ("rater", "minutes", "complete", "quiz", "attention", "slot_one")
    rows = [
        (rater, _round(minutes, "{:.1f}"), *(_round(share, "{:.0%}") for share in shares))
        for rater, minutes, *shares in found.raters.select(columns).iter_rows()
    ]
    caption = "complete: questions answered. attention: attention items right. slot_one: items with the target first."
    output.console.table(title, columns, rows[:40], caption)
    if len(rows) > 40:
        output.console.say(f"… and {len(rows) - 40} more raters: raters.csv")
    comments = [(rater, told) for rater, told in found.raters.select("rater", "comments").iter_rows() if told]
    if comments:
        output.console.table("What raters said", ("rater", "comment"), comments[:20])
    output.console.json(found.as_dict())


def _round(value: float | None, form: str) -> str | None:
    return None if value is None else form.format(value)
