"""`howsure study analyze`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from howsure.cli.finish import finish
from howsure.cli.options import Level, Output, RaterEffects, Seed, verb
from howsure.errors import OptionError

if TYPE_CHECKING:
    from howsure.cli.output import Console
    from howsure.study.analysis import Analysis
    from howsure.study.answer_types import AnswerAnalysis

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


def _file(text: str) -> Any:
    return typer.Option(help=text, show_default=False)


@app.command(
    epilog="Example: howsure study analyze examples/study/ratings.csv --study examples/study/study.yaml -o analysis"
)
@verb
def analyze(
    ratings: Annotated[
        Path,
        typer.Argument(
            help="Ratings (numbers or categories), votes, rankings or spans: any table, or a rating tool's file.",
            show_default=False,
        ),
    ],
    output: Output,
    raters: Annotated[
        Path | None,
        typer.Option(
            "--rater-table",
            help="What is known of raters. [default: raters.csv beside the ratings]",
            show_default=False,
        ),
    ] = None,
    study: Annotated[
        Path | None, _file("Study file, or key.json: scales, domains, model scores, minutes, pass mark.")
    ] = None,
    model_scores: Annotated[Path | None, _file("Columns item, score (0–1) and, if known, domain.")] = None,
    criteria: Annotated[
        Path | None, _file("Criteria: a YAML list of name, statistic, threshold, direction. [default: the protocol's]")
    ] = None,
    domain_order: Annotated[
        str, typer.Option(help="Domains, from the highest expected fidelity to the lowest.")
    ] = "TECH > ANAL > PHIL = SELF > NARR",
    rater_effects: RaterEffects = None,
    answers: Annotated[
        str | None,
        _file("protocol, ratings, categories, comparisons, rankings or spans. [default: as the columns show]"),
    ] = None,
    dimension: Annotated[str | None, _file("Only this dimension (not for the protocol).")] = None,
    scale: Annotated[
        str | None,
        _file("Scale of the values: nominal, ordinal or interval; not for the protocol. [default: nominal for text]"),
    ] = None,
    all_raters: Annotated[
        bool, typer.Option("--all-raters", help="Exclude nobody (not for the protocol, which shows both).")
    ] = False,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Quality, fidelity, agreement, the model compared with people, and a verdict on each criterion.

    A criterion passes when its whole interval does, fails when none of it does, and is inconclusive otherwise. Raters who broke a
    rule are excluded, and every statistic is also given for all raters; without raters there is no verdict. Writes analysis.json,
    statistics.csv, pairs.csv, raters.csv, exclusions.csv, charts and analyze_report.html.

    Answers to other questions are analysed by their type: systems compared (Holm-corrected), agreement, raters, true labels. Raters who broke a rule (completion, minutes,
    attention, quiz, straight-lining) are excluded and counted. Writes answers.json, agreement.csv, systems.csv, differences.csv, raters.csv, labels.csv, confusion.csv,
    exclusions.csv (those with rows), charts and analyze_report.html.
    """
    from howsure.study.analysis import Analysis
    from howsure.study.analysis import analyze as analyze_ratings
    from howsure.study.item_studies import read_study
    from howsure.study.scoring.fidelity import ModelScores
    from howsure.study.scoring.findings import Order
    from howsure.study.verdict import CRITERIA, read_criteria

    beside = raters or _beside(ratings)
    _refuse_to_overwrite(output.out, beside)
    found = analyze_ratings(
        ratings,
        answers=answers,  # type: ignore[arg-type]  # checked there
        dimension=dimension,
        scale=scale,  # type: ignore[arg-type]  # checked there
        raters=beside,
        study=read_study(study) if study else None,
        model_scores=ModelScores(model_scores) if model_scores else None,
        criteria=read_criteria(criteria) if criteria else CRITERIA,
        domain_order=Order.parse(domain_order),
        rater_effects=rater_effects,  # type: ignore[arg-type]  # checked there
        all_raters=all_raters,
        level=level,
        seed=seed,
    )
    output.console.notes(found.provenance.notes)
    if isinstance(found, Analysis):
        _tell(found, output.console)
    else:
        _tell_answers(found, output.console)
    finish(found, output, "analyze", "Study")


def _tell_answers(found: AnswerAnalysis, console: Console) -> None:
    from howsure.study.sections import answer_tables

    for block in answer_tables(found, is_short=True):
        console.table(block.caption, block.columns, block.rows)
    for sentence in dict.fromkeys((*found.reasons.values(), *found.sentences)):
        console.say(sentence)


def _beside(ratings: Path) -> Path | None:
    path = ratings.parent / "raters.csv"
    if not path.is_file():
        return None
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        names = {name.strip() for name in file.readline().split(",")}
    # an analysis of answers writes a table of this name too
    return path if "rater" in names and "statistic" not in names else None


def _refuse_to_overwrite(out: Path | None, raters: Path | None) -> None:
    if out and raters and (out / "raters.csv").resolve() == raters.resolve():
        raise OptionError(f"-o {out}: would overwrite {raters}, which is read. Choose another folder.")


def _tell(found: Analysis, console: Console) -> None:
    from howsure.study.verdict import blinding_words, lite_words, order_words, time_words

    statistics, everyone, level = found.findings.statistics, found.everyone.statistics, found.findings.settings.level
    has_two = found.has_exclusions
    columns = ("statistic", f"value [{level:.0%}]", *((f"all {len(found.everyone.raters)} raters",) if has_two else ()))
    nobody = not found.findings.raters  # the same reason in every row makes the table wide
    rows = [
        (name, "no rater" if nobody else one, *((everyone[name],) if has_two else ()))
        for name, one in statistics.items()
        if _is_main(name, found)
    ]
    title = f"{len(found.findings.pairs)} pairs, {len(found.findings.raters)} of {len(found.quality.raters)} raters"
    console.table(title, columns, rows, lite_words())
    verdicts = [
        (
            one.criterion.name,
            one.criterion,
            "no rater" if nobody else one.estimate.against(one.criterion.threshold),
            one.verdict,
            one.reason,
        )
        for one in found.judgements
    ]
    console.table("Verdict", ("criterion", "requires", f"estimate [{level:.0%}]", "verdict", "because"), verdicts)
    excluded = [(one.rater, one.rule, one.reason) for one in found.quality.exclusions]
    if excluded:
        console.table("Excluded by rule", ("rater", "rule", "because"), excluded)
    for words in (
        order_words(found.findings),
        blinding_words(statistics["blinding_index"]),
        time_words(statistics["minutes"], found.quality.rules.target_minutes),
    ):
        console.say(words)
    console.say(f"\n{found.sentence}")


def _is_main(name: str, found: Analysis) -> bool:
    """The statistics that a terminal shows: all but the coefficients of agreement, of which the advised ones stay."""
    dimension, dot, coefficient = name.partition(".")
    if not dot or dimension == "domain":
        return True
    known = found.findings.reliability.get(dimension)
    return known is not None and coefficient in (known.report, "cronbach_alpha", "krippendorff_interval")
