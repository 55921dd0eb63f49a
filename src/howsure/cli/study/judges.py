"""`howsure study judge`, `validate`, `bench`, `attack`, `drift`, `estimate` and `labels`: automatic judges."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from howsure.cli.asking import AskingOptions, asking_option, tell_errors
from howsure.cli.options import Epsilon, ItemCluster, Level, Output, RaterEffects, Seed, verb
from howsure.cli.output import finish
from howsure.errors import OptionError
from howsure.estimates import Estimate, chance

if TYPE_CHECKING:
    from howsure.study.judging.bench import JudgeBench
    from howsure.study.judging.embeddings import Similarity
    from howsure.study.judging.ratings import JudgeRatings
    from howsure.study.judging.validation import Validation
    from howsure.study.protocol import Study

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)


def _embedding(text: str) -> Any:
    return typer.Option(help=text, rich_help_panel="Similarity", show_default=False)


@dataclass(frozen=True)
class Similar:
    """Where vectors come from."""

    embeddings: Annotated[str | None, _embedding("Base address of a server with OpenAI's embeddings protocol.")] = None
    embedding_model: Annotated[str | None, _embedding("The embedding model's name there.")] = None


@app.command(epilog="Example: howsure study judge examples/study/study.yaml -o similarity")
@verb
def judge(
    study: Annotated[Path, typer.Argument(help="The study's YAML file.", show_default=False)],
    output: Output,
    asking: AskingOptions,
    similar: Similar,
    model: Annotated[
        list[str] | None,
        asking_option("Model: PROVIDER/MODEL, as Inspect spells it; may be repeated.", show_default=False),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="How often each question is asked in each order.")] = 1,
    attacks: Annotated[
        str | None,
        typer.Option(help="Judge attacked answers too: all, or names of attacks with commas.", show_default=False),
    ] = None,
    level: Level = 0.95,
) -> None:
    """Models rate the same blinded pairs on the same dimensions, each in both slot orders, through Inspect.

    Writes judge.csv (ratings: the mean of both orders), judge_orders.csv (each order, and what failed), model_scores.csv (item, score 0–1) and
    similarity_scores.csv (how close each response is to the gold standard by embeddings, or by letters without an endpoint). Logs are in
    DIR/logs, for `inspect view`. The same command continues an interrupted run, also with more models or repeats. Exit code 1: a server failed, or no pair was rated.
    """
    from howsure.study.judging.attacks import with_attacks
    from howsure.study.protocol import Study

    read = Study.read(study)
    found = _similarity(read, similar, output)
    named = [one.strip() for one in attacks.split(",")] if attacks else []
    read = with_attacks(read, "all" if named == ["all"] else named)
    judged, exit_code = _ask_all(read, model, repeats, asking, level, output) if model else (None, 0)
    output.console.json({"judge": judged and judged.as_dict(), "similarity": found.as_dict()})
    if output.out:
        output.console.wrote([*(judged.save(output.out) if judged else []), *found.save(output.out)])
    if exit_code:
        raise SystemExit(exit_code)


def _similarity(study: Study, similar: Similar, output: Output) -> Similarity:
    from howsure.study.judging.embeddings import Endpoint, measure_similarity

    if bool(similar.embeddings) != bool(similar.embedding_model):
        raise OptionError("--embeddings URL and --embedding-model NAME are used together; give both or neither.")
    embed = (
        Endpoint(similar.embeddings, similar.embedding_model)
        if similar.embeddings and similar.embedding_model
        else None
    )
    found = measure_similarity(study, embed)
    rows = [(item, f"{a:.3f}", f"{b:.3f}", domain) for item, a, b, domain, _ in found.to_frame().iter_rows()]
    caption = f"By {found.method}. Cosine, from 0 to 1."
    output.console.table("Similarity to the gold standard", ("pair", "target", "comparison", "domain"), rows, caption)
    return found


def _ask_all(
    study: Study, models: list[str], repeats: int, asking: AskingOptions, level: float, output: Output
) -> tuple[JudgeRatings, int]:
    from howsure.study.judging.ratings import joined

    done = [_ask(study, model, repeats, asking, level, output) for model in models]
    return joined([judged for judged, _ in done]), max(code for _, code in done)


def _ask(
    study: Study, model: str, repeats: int, asking: AskingOptions, level: float, output: Output
) -> tuple[JudgeRatings, int]:
    from howsure.study.judging.ratings import summarise_replies
    from howsure.study.judging.runs import run_judge

    run = run_judge(study, model, repeats=repeats, **asking.into(output))
    tell_errors(run, output, f"{model}: not every question was answered.")
    judged = summarise_replies(study, model, run.replies, level=level)
    _print_judge(judged, output)
    if judged.ratings.is_empty():
        output.console.notes([f"{model} rated no pair in both orders. Look at the replies: inspect view"])
        return judged, run.exit_code or 1
    return judged, run.exit_code


def _print_judge(judged: JudgeRatings, output: Output) -> None:
    from howsure.study.judging.ratings import FAILURES

    output.console.notes(f"{n} × no rating: {FAILURES[failure]} ({failure})." for failure, n in judged.failures.items())
    rows = [
        (name, one.shift, one.consistency, one.slot_one if one.slot_one.value is not None else "", one.n_items)
        for name, one in judged.position.items()
    ]
    columns = ("dimension", "slot 1 − slot 2", "same in both orders", "changed: with slot 1", "pairs")
    caption = f"{judged.ratings['item'].n_unique()} of {judged.n_pairs} pairs were rated in both orders."
    output.console.table(f"Position bias of {judged.model}", columns, rows, caption)


# `howsure study validate`.


@app.command(
    epilog="Example: howsure study validate examples/study/judge/ratings.csv examples/study/judge/judge.csv --lengths examples/study/judge/lengths.csv -o validation"
)
@verb
def validate(
    ratings: Annotated[
        Path, typer.Argument(help="People's ratings (rater, item, dimension, value).", show_default=False)
    ],
    judge: Annotated[list[Path], typer.Argument(help="Judges' ratings, in the same form.", show_default=False)],
    output: Output,
    study: Annotated[Path | None, typer.Option(help="Study file, for scales and lengths.", show_default=False)] = None,
    orders: Annotated[
        list[Path] | None,
        typer.Option(
            help="Judges' ratings in each order. [default: judge_orders.csv beside each JUDGE]", show_default=False
        ),
    ] = None,
    lengths: Annotated[
        Path | None, typer.Option(help="Table with item and length, where there is no study file.", show_default=False)
    ] = None,
    kind: Annotated[
        str, typer.Option(help="Agreement: pearson, spearman, kendall, or match where ratings are categories.")
    ] = "pearson",
    rater_effects: RaterEffects = None,
    cluster: ItemCluster = None,
    epsilon: Epsilon = 0.2,
    level: Level = 0.95,
) -> None:
    """Compare a judge with people: agreement on equal terms, whether it may replace a rater, corrected means, bias and calibration.

    Writes validation.json, validation.csv, calibration.csv, charts, and validate_report.html, which opens offline.
    """
    from howsure.study.judging.validation import validate as compare

    found = compare(
        ratings,
        judge,
        study=study,
        orders=orders or None,
        lengths=lengths,
        kind=kind,  # type: ignore[arg-type]  # checked there
        rater_effects=rater_effects,  # type: ignore[arg-type]  # checked there
        cluster=cluster,
        epsilon=epsilon,
        level=level,
    )
    _print_validation(found, output)
    finish(found, output, "validate", "A judge compared with people")


def _print_validation(found: Validation, output: Output) -> None:
    from howsure.study.judging.comparison import OF_CATEGORIES

    console = output.console
    console.notes(found.provenance.notes)
    for judge in found.judges:
        rows = found.of(judge)
        title = f"{judge} compared with {len(found.raters)} raters, on equal terms"
        terms = {name: words for name, words in _TERMS.items() if name in OF_CATEGORIES or not found.is_categorical}
        told = [(row.dimension, *(row.statistics[name] for name in terms), row.n_items) for row in rows]
        console.table(title, ("dimension", *terms.values(), "items"), told, _TERMS_CAPTION)
        if not found.is_categorical:
            told = [(row.dimension, *(row.statistics[name] for name in _SWAYS), row.n_items) for row in rows]
            console.table(f"Bias of {judge}", ("dimension", *_SWAYS.values(), "items"), told, _SWAYS_CAPTION)
        for row in rows:
            console.say(row.sentence)


_TERMS = {
    "judge_with_others": "judge with others",
    "people_with_others": "people with others",
    "judge_minus_people": "difference",
    "correlation": "r with the mean",
    "noise_ceiling": "ceiling",
}
_TERMS_CAPTION = "Each rater in turn is excluded; rater and judge are compared with the other raters."
_SWAYS = {
    "judge_too_high": "judge − people",
    "position_shift": "slot 1 − slot 2",
    "length_excess": "length excess",
    "calibration_error": "calibration error",
}
_SWAYS_CAPTION = (
    "In units of the rating, the length excess for each doubling; the calibration error as a share of the scale."
)


# `howsure study bench`.


def _file(text: str) -> Any:
    return typer.Option(help=text, show_default=False)


@app.command(
    epilog="Example: howsure study bench examples/study/bench/people.csv examples/study/bench/judges.csv examples/study/bench/attacked.csv --texts examples/study/bench/texts.csv --costs examples/study/bench/costs.csv -o bench"
)
@verb
def bench(
    people: Annotated[Path, typer.Argument(help="People's ratings: numbers or text.", show_default=False)],
    judges: Annotated[
        list[Path],
        typer.Argument(
            help="Judges' ratings of the same items (and of attacked ones), or Inspect logs.", show_default=False
        ),
    ],
    output: Output,
    orders: Annotated[
        list[Path] | None,
        _file("Judges' ratings in each order. [default: judge_orders.csv beside each file of judges]"),
    ] = None,
    texts: Annotated[
        Path | None, _file("Table with item and text, length or family: for length, style, own family.")
    ] = None,
    costs: Annotated[Path | None, _file("Table with judge, cost (of one rating) and family.")] = None,
    kind: Annotated[
        str | None, _file("Agreement: pearson, spearman, kendall or match. [default: pearson; match for text]")
    ] = None,
    cluster: ItemCluster = None,
    epsilon: Epsilon = 0.2,
    half_width: Annotated[
        float,
        typer.Option(help="Half the width of the interval: the precision for the costs, as a share of the scale."),
    ] = 0.1,
    cost_label: Annotated[float, typer.Option(help="Cost of one label of a person.")] = 1.0,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Compare many judges with the same people and with each other, and recommend one.

    Writes bench.csv, judge_differences.csv, effects.csv, thresholds.csv, weights.csv, attacks.csv (those with rows), bench.json, charts and bench_report.html.
    """
    from howsure.study.judging.bench import bench as compare

    found = compare(
        people,
        judges,
        orders=orders or None,
        texts=texts,
        costs=costs,
        kind=kind,  # type: ignore[arg-type]  # checked there
        cluster=cluster,
        epsilon=epsilon,
        half_width=half_width,
        cost_label=cost_label,
        seed=seed,
        level=level,
    )
    output.console.notes(found.provenance.notes)
    _print_bench(found, output)
    finish(found, output, "bench", "Judges compared with people")


def _print_bench(found: JudgeBench, output: Output) -> None:
    from howsure.study.judging.sections import bench_effects, bench_table

    for block in (bench_table(found, is_short=True), bench_effects(found)):
        if block is not None:
            output.console.table(block.caption, block.columns, block.rows)
    for sentence in (*found.recommendation, *found.caveats):
        output.console.say(sentence)


# `howsure study attack`.


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
    """How much do hidden instructions, invisible characters, claims of authority and padding change judges' ratings?

    With --texts, writes attacked.csv: every answer, and every answer under each attack. With judges' ratings of these answers, estimates how much each attack changed the ratings of each judge; writes attacks.csv,
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
    found = measure(judges, level=level)
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


# `howsure study drift`.


@app.command(
    epilog="Example: howsure study drift examples/study/bench/anchors-1.csv examples/study/bench/anchors-2.csv examples/study/bench/anchors-3.csv"
)
@verb
def drift(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Ratings of the same anchor items, one file per run, oldest first.", show_default=False),
    ],
    output: Output,
    baseline: Annotated[int, typer.Option(min=1, help="How many of the first runs are the baseline.")] = 1,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Has a judge changed, measured on fixed anchor items? Repeat this after every run: the alarm is valid for any number of looks.

    Exit code 1: alarm. Writes drift.csv, evidence.csv and drift.json.
    """
    from howsure.study.judging.bench import drift as watch

    found = watch(runs, n_baseline=baseline, level=level, seed=seed)
    rows = [
        (row["judge"], row["dimension"], Estimate(row["shift"], row["shift_low"], row["shift_high"], state=row["shift_state"]), f"{row['evidence']:.3g}", f"run {row['alarm_at'] + baseline}" if row["alarm_at"] else "none", row["n_items"])
        for row in found.rows.iter_rows(named=True)
    ]  # fmt: skip
    caption = f"Evidence: the value of a bet on a change (a test martingale); an alarm at {found.rows['evidence_needed'][0]:.0f}. Without a change the probability of any alarm is at most {1 - level:.2g}, over all looks, judges and dimensions together."
    columns = ("judge", "dimension", "later runs − baseline", "evidence", "alarm", "items")
    output.console.table(f"Drift over {len(runs)} runs", columns, rows, caption)
    finish(found, output, "drift", "Drift of judges")
    if any(row["alarm"] == "yes" for row in found.rows.iter_rows(named=True)):
        raise SystemExit(1)


# `howsure study estimate`.


@app.command(
    epilog="Example: howsure study estimate examples/study/bench/labels.csv examples/study/bench/judges.csv -o estimate"
)
@verb
def estimate(
    labels: Annotated[Path, typer.Argument(help="People's ratings of some items.", show_default=False)],
    judge: Annotated[list[Path], typer.Argument(help="Judges' ratings of all items.", show_default=False)],
    output: Output,
    drawn: Annotated[
        Path | None,
        typer.Option(help="labels.csv of `howsure study labels`: how the items were drawn.", show_default=False),
    ] = None,
    dimension: Annotated[str | None, typer.Option(help="Only this dimension.", show_default=False)] = None,
    cluster: ItemCluster = None,
    items: Annotated[
        str, typer.Option(help="Items: sampled (a sample of possible items) or fixed (the only ones of interest).")
    ] = "sampled",
    level: Level = 0.95,
) -> None:
    """The mean label of all items that the judges rated, of which people labelled some (prediction-powered inference).

    Numbers give means, text gives the share of each category; one row per system where there are systems. Writes estimates.csv, label_estimates.json and
    estimate_report.html.
    """
    from howsure.study.judging.labelling import estimate as compute
    from howsure.study.judging.sections import label_sections

    found = compute(
        labels,
        judge,
        drawn=drawn,
        dimension=dimension,
        cluster=cluster,
        items=items,  # type: ignore[arg-type]  # checked there
        level=level,
    )
    output.console.notes(found.provenance.notes)
    from howsure.results.blocks import TableBlock

    for block in label_sections(found)[0].blocks:
        if isinstance(block, TableBlock):
            output.console.table(block.caption, block.columns, block.rows, f"Judges: {', '.join(found.judges)}.")
    finish(found, output, "estimate", "The mean label of all items")


# `howsure study labels`.


@app.command(
    epilog="Example: howsure study labels examples/study/bench/judges.csv --pilot examples/study/bench/people.csv --n-labels 25 -o labels"
)
@verb
def labels(
    judge: Annotated[list[Path], typer.Argument(help="Judges' ratings of all items.", show_default=False)],
    output: Output,
    n_labels: Annotated[
        int | None, typer.Option(min=4, help="How many items people will label.", show_default=False)
    ] = None,
    half_width: Annotated[
        float | None,
        typer.Option(
            help="Half the width of the interval: to be reached, instead of --n-labels. Needs --pilot.",
            show_default=False,
        ),
    ] = None,
    pilot: Annotated[
        Path | None, typer.Option(help="Labels of some items, drawn at random.", show_default=False)
    ] = None,
    sampling: Annotated[
        str | None,
        typer.Option(
            help="uniform, stratified or active. [default: the one with the smallest error]", show_default=False
        ),
    ] = None,
    strata: Annotated[int, typer.Option(min=1, help="Number of strata of the judges' ratings.")] = 4,
    dimension: Annotated[str | None, typer.Option(help="Only this dimension.", show_default=False)] = None,
    cost_label: Annotated[float, typer.Option(help="Cost of one label of a person.")] = 1.0,
    cost_judge: Annotated[float, typer.Option(help="Cost of one rating of the judge.")] = 0.0,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """How many items people should label, and which ones; items are drawn with known probabilities of at least 0.05.

    Writes labels.csv (item, stratum, probability, is_drawn, judged), samplings.csv and label_plan.json. `howsure study estimate` takes labels.csv.
    """
    from howsure.study.judging.labelling import labels as plan_labels

    found = plan_labels(
        judge,
        n_labels=n_labels,
        half_width=half_width,
        pilot=pilot,
        sampling=sampling,  # type: ignore[arg-type]  # checked there
        n_strata=strata,
        dimension=dimension,
        cost_label=cost_label,
        cost_judge=cost_judge,
        seed=seed,
        level=level,
    )
    output.console.notes(found.provenance.notes)
    rows = [
        (row["sampling"], row["n_labels"], f"± {row['half_width']:.3g}", f"{row['relative_variance']:.2f}", "used" if row["is_used"] == "yes" else "")
        for row in found.samplings.iter_rows(named=True)
    ]  # fmt: skip
    columns = ("sampling", "labels", f"expected half width [{level:.0%}]", "variance / uniform", "")
    output.console.table("Ways to draw the items", columns, rows)
    for sentence in found.sentences:
        output.console.say(sentence)
    finish(found, output, "labels", "Which items to label")
