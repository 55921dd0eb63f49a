"""The index and what belongs to it: `howsure stitch domains, update, votes, gaps, growth, all`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from howsure.cli.options import Inputs, Level, Output, Reading, Seed, verb
from howsure.cli.output import Console, finish, progress_bar, save_charts, write_report
from howsure.cli.stitch.scale import SHOWN, Fit, Fitting, capability_of, figure, load_scale
from howsure.errors import InputError
from howsure.estimates import Estimate, chance

if TYPE_CHECKING:
    from howsure.stitch.preferences import JointScale, VoteRanking
    from howsure.stitch.whole_run import WholeRun

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog="Example: howsure stitch domains fit --baskets examples/stitch/baskets.yaml")
@verb
def domains(
    folder: Fit,
    output: Output,
    baskets: Annotated[
        Path | None,
        typer.Option(
            help="YAML file of domains with their benchmarks, or benchmarks with weights. [default: Epoch's benchmarks by name]",
            show_default=False,
        ),
    ] = None,
    min_benchmarks: Annotated[int, typer.Option(min=1, help="Exclude models on fewer benchmarks, in each domain.")] = 2,
    rows: Annotated[int, typer.Option("-n", "--rows", min=1, help="Rows to show: models per domain.")] = 5,
    seed: Seed = 0,
) -> None:
    """Capabilities by domain: maths, coding, or baskets of your own.

    The benchmarks' curves stay as they are on the whole scale; only the capabilities are fitted again. Writes domains.csv, domain_leaders.csv, baskets.csv, domains.json, the chart and a report.
    """
    from howsure.stitch.baskets import domains as place

    scale = load_scale(folder)
    found = place(scale, baskets, min_benchmarks=min_benchmarks, seed=seed)
    output.console.notes(note for note in found.provenance.notes if note not in scale.provenance.notes)
    shown = found.models.group_by("domain", maintain_order=True).head(rows).rows(named=True)
    cells = [
        (r["domain"], r["rank"], r["model"], capability_of(r, found.level), figure(r["overall"], 2), r["n_benchmarks"])
        for r in shown
    ]
    columns = ("domain", "rank", "model", f"capability [{found.level:.0%}]", "overall", "benchmarks")
    output.console.table(
        "Capabilities by domain", columns, cells, f"The first {rows} of each domain; in the unit of the scale."
    )
    output.console.say(found.sentence)
    finish(found, output, "domains", "Capabilities by domain")


@app.command(
    epilog="Example: howsure stitch update fit examples/stitch/scores.csv examples/stitch/new.csv --replicates 20"
)
@verb
def update(
    folder: Annotated[
        Path, typer.Argument(metavar="OLD", help="The folder that `howsure stitch fit -o` wrote.", show_default=False)
    ],
    inputs: Annotated[
        list[str], typer.Argument(metavar="NEW", help="The new table, for example a newer zip.", show_default=False)
    ],
    reading: Reading,
    output: Output,
    replicates: Annotated[
        int | None,
        typer.Option(
            min=0, help="Replicates: bootstrap refits for the intervals. [default: as OLD]", show_default=False
        ),
    ] = None,
    seed: Seed = 0,
) -> None:
    """Changes of the estimates with a newer table, and their reasons.

    The newer table is fitted as the older one was. A change has two parts: the effect of the model's own new scores, and the effect of changed curves of benchmarks. With -o, writes the new fit (as `fit` does) with update.csv, update_scores.csv, update_benchmarks.csv,
    update.json, the chart and a report; give OLD as the folder to update in place.
    """
    from howsure.stitch.updating import LEAST_CHANGE
    from howsure.stitch.updating import update as renew

    old = load_scale(folder)
    scores = reading.scores(inputs, output.console)
    with progress_bar("refitting", output.console) as progress:
        found = renew(old, scores, n_replicates=replicates, seed=seed, progress=progress)
    console, counts = output.console, found.counts
    console.notes(note for note in found.provenance.notes if note not in (*scores.notes, *old.provenance.notes))
    console.say(
        f"Scores: {counts.n_new_scores:,} new, {counts.n_changed_scores:,} changed, {counts.n_removed_scores:,} gone. Models: {counts.n_new_models:,} new, {counts.n_removed_models:,} gone. "
        f"Benchmarks: {counts.n_new_benchmarks:,} new, {counts.n_removed_benchmarks:,} gone.\n"
    )
    moved = found.moved.head(SHOWN).rows(named=True)
    cells = [
        (
            r["model"],
            figure(r["before"], 2),
            capability_of(r | {"interval_state": "ok"}, found.scale.level),
            _signed(r["change"]),
            _signed(r["by_own_scores"]),
            _signed(r["by_curves"]),
            f"{r['rank_before']} → {r['rank']}",
        )
        for r in moved
    ]
    columns = ("model", "before", f"now [{found.scale.level:.0%}]", "change", "by its scores", "by curves", "rank")
    if cells:
        console.table(
            "The largest changes",
            columns,
            cells,
            "By its scores: with the old curves. By curves: benchmarks moved through the scores of other models.",
        )
    else:
        console.say(f"No capability changed by {LEAST_CHANGE} or more.")
    best = found.models.filter(found.models["before"].is_null()).sort("rank").head(SHOWN).rows(named=True)
    if best:
        console.table(
            "New models",
            ("rank", "model", "capability"),
            [(r["rank"], r["model"], capability_of(r | {"interval_state": "ok"}, found.scale.level)) for r in best],
            "",
        )
    more: list[Path] = []
    if output.out:
        more = [*found.scale.save(output.out), *save_charts(found.scale.charts(), output, output.out)]
    finish(found, output, "update", "What moved, and why", more)


@app.command(epilog="Example: howsure stitch votes examples/stitch/votes.csv --covariate length --fit fit")
@verb
def votes(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    fit: Annotated[
        Path | None,
        typer.Option(help="The folder of a fit: votes are joined with its capabilities.", show_default=False),
    ] = None,
    covariate: Annotated[
        list[str] | None,
        typer.Option(
            help="Covariate: a column of differences, or a stem with _a and _b; may be repeated.", show_default=False
        ),
    ] = None,
    no_position: Annotated[
        bool, typer.Option("--no-position", help="Do not estimate the advantage of being shown as A.")
    ] = False,
    cluster: Annotated[
        str, typer.Option(help="Clusters: votes with the same value are not independent (voter, item or none).")
    ] = "voter",
    both_bad: Annotated[str, typer.Option(help='What a vote for neither is: "tie" or "drop".')] = "tie",
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Models ranked by votes, with ties, tiers and fragility.

    Bradley–Terry with ties, the position and covariates; voters are clusters. With --fit, votes are one more source of information about capability. Writes votes.csv, vote_pairs.csv,
    vote_effects.csv, joint.csv (with --fit), votes.json, the charts and a report.
    """
    from howsure.stitch.preferences import votes as rank
    from howsure.tables import Votes

    table = reading.read(list(inputs), output.console, "votes")
    if not isinstance(table, Votes):
        raise InputError(f"{inputs[0]}: no votes. A table of votes has voter, item, a, b and outcome.")
    options: dict[str, Any] = {
        "covariates": covariate or (),
        "cluster": cluster,
        "both_bad": both_bad,
        "position": not no_position,
    }
    found = rank(table, None if fit is None else load_scale(fit), level=level, seed=seed, **options)
    output.console.notes(note for note in found.provenance.notes if note not in table.notes)
    _show_ranking(found, output.console)
    if len(found.effects):
        _show_effects(found, output.console)
    output.console.say(f"{found.fragility.sentence}\n")
    if found.joint is not None:
        _show_joint(found.joint, level, output.console)
    finish(found, output, "votes", "Models by votes")


def _show_ranking(found: VoteRanking, console: Console) -> None:
    level = found.level
    cells = [
        (r["rank"], None if r["rank_low"] is None else f"{r['rank_low']:.0f}–{r['rank_high']:.0f}", r["tier"], r["model"], _strength(r, level), figure(r["elo"], 0), r["n_votes"], chance(r["p_best"]))
        for r in found.models.head(30).rows(named=True)
    ]  # fmt: skip
    columns = ("rank", f"rank [{level:.0%}]", "tier", "model", f"strength [{level:.0%}]", "Elo", "votes", "P(best)")
    console.table(
        "Models by votes",
        columns,
        cells,
        f"{found.fragility.n_votes:,} votes of {found.n_voters:,} voters. Strength: log odds against the average model.",
    )


def _show_effects(found: VoteRanking, console: Console) -> None:
    level = found.level
    effects = [
        (
            r["effect"],
            Estimate.without("undefined", r["reason"])
            if r["value"] is None
            else Estimate(r["value"], r["value_low"], r["value_high"], level),
        )
        for r in found.effects.rows(named=True)
    ]
    console.table(
        "Effects",
        ("effect", f"log odds [{level:.0%}]"),
        effects,
        "Position: advantage of A. Tie: log ν of Davidson's model. Covariates: one standard deviation.",
    )


def _show_joint(joint: JointScale, level: float, console: Console) -> None:
    relation = joint.relation
    rows = [
        (
            r["model"],
            figure(r["capability"], 2),
            figure(r["strength"], 2),
            Estimate(r["joint"], r["joint_low"], r["joint_high"], level),
            r["source"],
        )
        for r in joint.models.filter(joint.models["source"] != "benchmarks").head(SHOWN).rows(named=True)
    ]
    told = f"Votes and capability correlate at {relation['correlation']}, corrected for errors; one unit of capability is {relation['slope']} log odds."
    console.table(
        "Benchmarks and votes together",
        ("model", "benchmarks", "votes", f"together [{level:.0%}]", "source"),
        rows,
        told,
    )


@app.command(epilog="Example: howsure stitch gaps fit")
@verb
def gaps(
    folder: Fit,
    output: Output,
    models: Annotated[
        int, typer.Option("-n", "--models", min=1, help="Number of models: how many of the best count as the frontier.")
    ] = 10,
) -> None:
    """Where benchmarks are missing, and which to add.

    Writes gaps.csv (precision along the scale), new_benchmarks.csv, priorities.csv (scores that the best models lack), gaps.json, the chart and a report.
    """
    from howsure.stitch.benchmark_gaps import gaps as look

    scale = load_scale(folder)
    found = look(scale, n_models=min(models, len(scale.models)))
    ranges = ", ".join(f"{low:.2f} to {high:.2f}" for low, high in found.ranges()) or "none"
    best = found.new_benchmarks.row(0, named=True)
    gain = Estimate(best["gain"], best["gain_low"], best["gain_high"], found.level).map(lambda share: 100 * share)
    output.console.say(
        f"Capabilities at which benchmarks are missing: {ranges}. A new benchmark would give most information about the best models (mean capability {found.frontier:.2f}) at difficulty {best['difficulty']:.2f}; "
        f"it would narrow their standard error by {gain} %.\n"
    )
    cells = [
        (r["model"], r["benchmark"], figure(r["expected"], 2), figure(r["sd_now"], 3), figure(r["sd_after"], 3))
        for r in found.priorities.head(SHOWN).rows(named=True)
    ]
    columns = ("model", "benchmark", "expected score", "standard error now", "after")
    output.console.table(
        "Scores to collect next",
        columns,
        cells,
        f"The first {SHOWN} of {len(found.priorities):,} that the best models lack.",
    )
    finish(found, output, "gaps", "Which benchmarks are missing")


@app.command(epilog="Example: howsure stitch growth examples/stitch/scores.csv --replicates 20")
@verb
def growth(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    anchor: Annotated[
        str | None,
        typer.Option(
            help="The benchmark that fixes the scale (identification constraint). [default: Winogrande, where it is there]",
            show_default=False,
        ),
    ] = None,
    replicates: Annotated[int, typer.Option(min=20, help="Replicates: bootstrap refits for the intervals.")] = 200,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Growth of the frontier under different rules.

    Compares the presets seed, paper and default, in their own units and in a common unit, and explains why the numbers differ. Writes growth.csv, growth.json and a report.
    """
    from howsure.stitch.growth_rates import growth as compare

    scores = reading.scores(inputs, output.console)
    with progress_bar("fitting", output.console) as progress:
        found = compare(scores, anchor=anchor, n_replicates=replicates, level=level, seed=seed, progress=progress)
    cells = [
        (r["preset"], r["anchor"], *(Estimate(r[n], r[f"{n}_low"], r[f"{n}_high"], level) for n in ("per_year", "in_one_unit")), r["n_models"], r["n_frontier"], f"{r['first']:%Y-%m} to {r['last']:%Y-%m}")
        for r in found.rates.rows(named=True)
    ]  # fmt: skip
    columns = ("preset", "anchor", f"per year [{level:.0%}]", "in one unit", "models", "frontier", "from – to")
    output.console.table("Growth of the frontier", columns, cells)
    for sentence in found.sentences:
        output.console.say(sentence)
    finish(found, output, "growth", "Growth of the frontier")


@app.command(
    "all", epilog="Example: howsure stitch all examples/stitch/scores.csv --replicates 20 -o everything --formats html"
)
@verb
def run_all(
    inputs: Inputs,
    reading: Reading,
    output: Output,
    fitting: Fitting,
    replicates: Annotated[int, typer.Option(min=20, help="Replicates: bootstrap refits of the scale.")] = 400,
    level: Level = 0.9,
    seed: Seed = 0,
) -> None:
    """Every analysis of a table into one report with one summary.

    Explore, fit, forecast, lag, progress, growth, domains, gaps, robustness, check. An analysis that the table does not allow is skipped, with the reason. With -o, each analysis writes into its own folder, and all_report.html
    contains them all.
    """
    from howsure.stitch.whole_run import run_all as run_every

    scores = reading.scores(inputs, output.console)
    with progress_bar("analysing", output.console) as progress:
        run = run_every(
            scores,
            n_replicates=replicates,
            level=level,
            seed=seed,
            options=fitting.options,
            progress=lambda _, done, total: progress(done, total),
        )
    console = output.console
    rows: list[tuple[Any, ...]] = [
        (name, f"{run.seconds[name]:.1f} s", sentence) for name, sentence in zip(run, run.summary(), strict=True)
    ]
    for name, _, sentence in rows:
        console.say(f"{name}: {sentence}")
    console.notes(f"{name} is skipped: {reason}" for name, reason in run.skipped.items())
    if output.json:
        console.json(
            {
                "summary": {name: sentence for name, _, sentence in rows},
                "skipped": run.skipped,
                **{name: result.as_dict() for name, result in run.items()},
            }
        )
    if output.out:
        console.wrote(_write_all(run, output, output.out))


def _write_all(run: WholeRun, output: Output, folder: Path) -> list[Path]:
    """Each result in its own folder, and one report of all."""
    import datetime

    from howsure.reporting import Report
    from howsure.results.blocks import Section, TableBlock, Text

    written: list[Path] = []
    for name, result in run.items():
        written += result.save(folder / name)
        written += save_charts(result.charts(), output, folder / name)
    sentences = dict(zip(run, run.summary(), strict=True))
    table = TableBlock(["Analysis", "Finding"], [[name, sentences[name]] for name in run], "What each analysis found.")
    blocks: list[Any] = [table]
    if run.skipped:
        blocks.append(Text("Skipped: " + "; ".join(f"{name} ({reason})" for name, reason in run.skipped.items())))
    sections = [
        Section("What did each analysis find?", blocks),
        *(one for result in run.values() for one in result.sections()),
    ]
    today = datetime.datetime.now(tz=datetime.UTC).date()
    report = Report("The capability scale", sections, run["fit"].provenance, today, ())
    files = write_report(report, output, folder / "all_report.html", kind=type(run).__name__, written=written)
    return sorted(files, key=lambda path: path.parent != folder)  # the report first


def _signed(number: float | None) -> str | None:
    return None if number is None else f"{number:+.2f}"


def _strength(row: dict[str, Any], level: float) -> Estimate:
    if row["strength"] is None:
        return Estimate.without(row["strength_state"], "it always won, always lost, or no votes link it", level=level)
    return Estimate(row["strength"], row["strength_low"], row["strength_high"], level)
