"""`howsure study init`, `check`, `select`, `build`, `collect` and `simulate`: from a study file to ratings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from howsure.cli.options import Output, Seed, verb
from howsure.errors import OptionError

if TYPE_CHECKING:
    from howsure.study.packet.building import StudyPacket
    from howsure.study.packet.simulated_raters import ItemCrowd
    from howsure.study.scoring.collection import CollectedRatings

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)


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
    read it, and every page contains its SHA-256. Mail the pages, or use `howsure serve`.
    """
    from howsure.study.item_studies import read_study
    from howsure.study.packet.building import build as build_packet

    if output.out is None:
        raise OptionError("Name the folder for the pages and the key: -o packet.")
    is_form = format != "html"
    if one_page and raters and raters > 1:
        raise OptionError(f"--one-page makes one page for all; omit --raters {raters}.")
    packet = build_packet(
        read_study(study),
        n_raters=raters,
        one_page=one_page or (is_form and design is None and raters in (None, 1)),
        design=design,
    )
    written = _save(packet, output.out, format)
    _print_built(packet, output)
    output.console.wrote(written)


def _save(packet: StudyPacket, folder: Path, kind: str) -> list[Path]:
    from howsure.study.packet.forms import save_forms

    return packet.save(folder) if kind == "html" else save_forms(packet, folder, kind)  # type: ignore[arg-type]


def _print_built(packet: StudyPacket, output: Output) -> None:
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


# `howsure study init`.


@app.command(epilog="Example: howsure study init --preset pairwise -o my-study")
@verb
def init(
    output: Output,
    preset: Annotated[str, typer.Option(help="Preset: persona, likert, pairwise, ranking or labels.")] = "persona",
) -> None:
    """Write an example study with comments; it can be built without changes.

    Writes study.yaml, its schema for editors, and words.yaml, with which the page's own words can be translated, into the folder
    (default: the current one). An existing study is never overwritten.
    """
    from howsure.study.presets import PRESETS
    from howsure.study.presets import init as start

    folder = output.out or Path()
    written = start(folder, preset)
    path = written[0]
    output.console.say(f"{preset}: {PRESETS[preset]}.")
    output.console.say(f"Next: howsure study check {path}; howsure study build {path} -o packet")
    output.console.json({"preset": preset, "written": [str(one) for one in written]})
    output.console.wrote(written)


# `howsure study check`.


@app.command(epilog="Example: howsure study check examples/study/study.yaml --raters 8")
@verb
def check(
    output: Output,
    study: Annotated[Path | None, typer.Argument(help="The study (YAML).", show_default=False)] = None,
    raters: Annotated[
        int | None,
        typer.Option(
            min=1, max=10_000, help="Number of raters. [default: as the design needs, or 7]", show_default=False
        ),
    ] = None,
    schema: Annotated[
        bool,
        typer.Option("--schema", help="Print the JSON schema: of a study, for editors; -o writes study.schema.json."),
    ] = False,
) -> None:
    """Check a study before anyone rates: problems that would reveal the conditions, bias the comparison or tire raters.

    Each check passes, warns or fails; the exit code is 1 if one fails. Writes check.csv and preflight.json.
    """
    if schema:
        _schema(output)
    if study is None:
        if schema:
            return
        raise OptionError("Nothing to check. Name the study: howsure study check study.yaml.")
    from howsure.study.item_studies import read_study
    from howsure.study.packet.preflight import check as check_study

    found = check_study(read_study(study), n_raters=raters)
    for line in found.checks:
        output.console.say(str(line))
    counts = {state: sum(line.state == state for line in found.checks) for state in ("pass", "warn", "fail")}
    output.console.say(", ".join(f"{n} {state}" for state, n in counts.items()))
    output.console.json(found.as_dict())
    if output.out:
        output.console.wrote(found.save(output.out))
    if not found.is_ready:
        raise SystemExit(1)


def _schema(output: Output) -> None:
    from howsure.outside_text import json_text
    from howsure.results import write_json
    from howsure.study.presets import study_schema

    if output.out:
        output.console.wrote([write_json(study_schema(), output.out / "study.schema.json")])
    else:
        print(json_text(study_schema(), indent=1))


# `howsure study select`.


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


# `howsure study collect`.


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
    """Raters' files and the key → tables by kind of question; in a study of pairs, positive values always favour the target.

    Digests are verified; duplicates, files of other studies and unreadable files are refused, each with its reason, and the rest is read. Impossible times are
    flagged. Writes raters.csv, refused.csv, collect.json and, if the study has such questions, ratings.csv, categories.csv, votes.csv, rankings.csv,
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
    _print_collected(found, output)
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


def _print_collected(found: CollectedRatings, output: Output) -> None:
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


# `howsure study simulate`.


@app.command(epilog="Example: howsure study simulate --packet packet -o simulated")
@verb
def simulate(
    output: Output,
    study: Annotated[
        Path | None,
        typer.Option(help="Study file (YAML) whose pairs are rated. [default: placeholders]", show_default=False),
    ] = None,
    pairs: Annotated[int, typer.Option(min=1, max=200, help="Number of pairs, without a study.")] = 5,
    raters: Annotated[int, typer.Option(min=1, help="Number of raters, including bots.")] = 7,
    fidelity: Annotated[
        float, typer.Option(min=0, max=1, help="Mean fidelity, 0–1, of the targets; 0.5 means no preference.")
    ] = 0.8,
    spread: Annotated[float, typer.Option(min=0, help="Standard deviation of fidelity over pairs.")] = 0.1,
    correlation: Annotated[
        float, typer.Option(min=-1, max=1, help="Assumed correlation: of the model's scores with the true fidelity.")
    ] = 0.9,
    severity: Annotated[
        float, typer.Option(min=0, help="Rater bias (severity): standard deviation between raters.")
    ] = 0.05,
    noise: Annotated[float, typer.Option(min=0, help="Noise: standard deviation of one rating of a pair.")] = 0.1,
    bots: Annotated[int, typer.Option(min=0, help="Raters who answer at random.")] = 0,
    straight_liners: Annotated[int, typer.Option(min=0, help="Raters who choose the same place on every page.")] = 0,
    slot_one_pickers: Annotated[int, typer.Option(min=0, help="Raters who always prefer the first response.")] = 0,
    attrition: Annotated[float, typer.Option(min=0, max=1, help="Probability that a rater stops early.")] = 0.0,
    packet: Annotated[
        Path | None,
        typer.Option(help="Also fill in the pages of this packet.", show_default=False),
    ] = None,
    seed: Seed = 0,
) -> None:
    """Simulate raters with known true values: the tables that `collect` would write, and the true values.

    Writes ratings.csv, raters.csv, model_scores.csv and study_truth.json (true fidelity of each pair, true reliability and
    correlation, who is a bot); with --packet also the files that raters would send back, in answers/, for `collect`. For a packet of any other
    study only --attrition is used; it writes answers/ and the true values (item_truth.csv).
    """
    from howsure.study.item_studies import ItemStudy
    from howsure.study.packet.building import KEY, StudyKey
    from howsure.study.packet.simulated_raters import ItemCrowd, fill_in
    from howsure.study.protocol import Study
    from howsure.study.simulator import Crowd
    from howsure.study.simulator import simulate as draw

    if packet and (study or not output.out):
        raise OptionError(
            "--packet contains its own study and needs a folder for the answers: omit --study, and give -o."
        )
    key = StudyKey.read(packet / KEY) if packet else None
    if packet and key and isinstance(key.study, ItemStudy):
        _rate_items(packet, output, ItemCrowd(dropout=attrition), seed)
        return
    if key:
        raters = len(key.raters)
    crowd = Crowd(raters, severity, noise, bots, straight_liners, slot_one_pickers, attrition)
    asked = Study.of(packet / KEY) if packet else Study.read(study) if study else None
    drawn = draw(
        asked, n_pairs=pairs, crowd=crowd, fidelity=fidelity, spread=spread, correlation=correlation, seed=seed
    )
    truth = drawn.truth
    output.console.table(
        f"{drawn.ratings!r}",
        ("true value of", "value"),
        [
            ("mean fidelity (PFI)", f"{truth.fidelity:.3f}"),
            ("reliability of one rater, ICC(2,1)", f"{truth.icc_2_1:.3f}"),
            ("of the mean of honest raters, ICC(2,k)", f"{truth.icc_2_k:.3f}"),
            ("the same without rater bias (alpha)", f"{truth.alpha:.3f}"),
            ("correlation of model scores with true PFI", f"{truth.correlation:.3f}"),
        ],
        "In expectation over such pairs and honest raters.",
    )
    output.console.json(drawn.as_dict())
    if output.out:
        output.console.wrote(drawn.save(output.out))
    if output.out and packet:
        output.console.wrote(fill_in(packet, drawn.ratings, output.out / "answers"))


def _rate_items(packet: Path, output: Output, crowd: ItemCrowd, seed: int) -> None:
    """Fill in the pages of a study that is not of pairs."""
    from howsure.study.packet.simulated_raters import rate_items

    assert output.out is not None
    drawn = rate_items(packet, crowd=crowd, seed=seed)
    rows = [(system or "(no system)", f"{value:.2f}") for system, value in drawn.quality().items()]
    caption = (
        "On the log-odds scale. item_truth.csv also has the true value of each response, category, label and span."
    )
    output.console.table(f"{len(drawn.raters)} raters answered", ("system", "true quality"), rows, caption)
    output.console.json(drawn.as_dict())
    output.console.wrote([*drawn.save(output.out), *drawn.save_answers(output.out / "answers")])
