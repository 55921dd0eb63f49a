"""`howsure claims check`, `plan`, `verify` and `coverage`."""

from __future__ import annotations

import datetime
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from howsure.cli.options import Inputs, Level, Output, Printing, Reading, Scheduler, Seed, file_to_write, verb
from howsure.cli.output import Console, finish, progress_bar
from howsure.errors import interruption_notes

if TYPE_CHECKING:
    from howsure.claims.checking import ClaimCheck
    from howsure.claims.kinds.instruments import Instrument
    from howsure.claims.multiverse import Verdict

__all__ = ["ClaimsFile", "Most", "Replicates", "app"]

app = typer.Typer(rich_markup_mode=None)

ClaimsFile = Annotated[
    Path, typer.Argument(metavar="CLAIMS", help="YAML: one line per claim, and changes of choices.", show_default=False)
]
Replicates = Annotated[int, typer.Option(min=20, help="Replicates: bootstrap samples per specification.")]
Most = Annotated[
    int,
    typer.Option(min=1, help="Largest number of specifications per claim; if there are more, a sample is computed."),
]

_SLOW = 20  # seconds from which the estimated time is told


@app.command(
    epilog="Example: howsure claims check examples/claims/claims.yaml examples/claims/runs.csv --certificate certificate.json -o claims"
)
@verb
def check(
    claims: ClaimsFile,
    inputs: Inputs,
    reading: Reading,
    output: Output,
    replicates: Replicates = 1000,
    most: Most = 500,
    list_only: Annotated[
        bool, typer.Option("--list", help="Print the choices and the number of specifications, and compute nothing.")
    ] = False,
    certificate: Annotated[
        Path | None, typer.Option(help="Write a certificate (json) that `claims verify` can check.", show_default=False)
    ] = None,
    planned: Annotated[
        Path | None,
        typer.Option(help="Plan: file of `claims plan`; checks whether the analysis followed it.", show_default=False),
    ] = None,
    level: Level = 0.95,
    seed: Seed = 0,
    scheduler: Scheduler = None,
) -> None:
    """Does a claim hold under every defensible analysis of the data?

    First the list of choices is printed, then the verdict of each claim: holds in all, holds in most (and which choice changes it), does not hold, or cannot
    tell. Writes claims.csv, specifications.csv, effects.csv, interactions.csv, tipping_points.csv, choices.csv, claims.json, the charts and
    claims_report.html. With -o, finished fits of capability scales are kept in the folder `unfinished` there until the end: after an interruption the same
    command continues from them.
    """
    from howsure.claims.checking import check as check_claims
    from howsure.claims.checking import choices_of, estimated_seconds
    from howsure.claims.claim_files import read_claims
    from howsure.claims.inputs import ClaimData

    file = read_claims(claims)
    data = ClaimData.of(inputs, file, lambda paths, wanted: reading.read(paths, output.console, wanted))
    found = choices_of(file, data)
    _print_choices(found, output.console, most)
    if list_only:
        return
    if not output.quiet and not output.json:
        seconds = estimated_seconds(found, most, replicates)
        if seconds > _SLOW:
            output.console.notes(
                [f"this will take about {seconds:.0f} s of computing time; --most and --replicates make it shorter"]
            )
    keep = output.out / "unfinished" if output.out else None
    with progress_bar("checking", output.console) as progress:
        result = check_claims(
            file,
            data,
            n_replicates=replicates,
            most=most,
            level=level,
            seed=seed,
            scheduler=scheduler,
            progress=progress,
            keep=keep,
        )
    output.console.notes(note for note in result.provenance.notes if note not in data.notes)
    _print(result, output.console)
    if certificate and interruption_notes():
        output.console.notes(
            ["no certificate was written: the check was interrupted, and its numbers cannot be found again"]
        )
    elif certificate:
        _write_certificate(result, data, certificate, planned, output)
    elif planned:
        from howsure.claims.certificates import data_age, plan_differences, read_certificate

        settings = {"n_replicates": replicates, "most": most, "level": level, "seed": seed}
        plan = read_certificate(planned)
        _say_planned(output.console, plan_differences(plan, file, settings), data_age(plan, data))
    finish(result, output, "claims", "What may be claimed?")
    if keep and not interruption_notes():
        shutil.rmtree(keep, ignore_errors=True)


def _print_choices(found: list[tuple[Any, Instrument]], console: Console, most: int) -> None:
    shown: set[str] = set()
    for claim, instrument in found:
        choices = instrument.choices
        rows = tuple(
            (choice.name if place == 0 else "", option.value + (" (default)" if place == 0 else ""), option.reason)
            for choice in choices.choices
            for place, option in enumerate(choice.options)
        )
        title = str(claim)
        key = repr(rows)
        if key in shown:
            console.say(f"{title}\n  The same choices as above.\n")
            continue
        shown.add(key)
        n = len(choices.specifications(most))
        caption = f"{n:,} specifications" + (
            f", a sample of {choices.n_combinations:,} combinations" if n == most < choices.n_combinations else ""
        )
        caption += "".join(f". Changed: {one}" for one in choices.changes) + "."
        console.table(f"Choices for: {title}", ("choice", "option", "reason"), rows, caption)


def _print(result: ClaimCheck, console: Console) -> None:
    from howsure.claims.sections import NOT_PROBABILITIES, effect_text, summary_lines

    for verdict in result.verdicts:
        console.say(f"{verdict.claim}")
        for line in summary_lines(verdict, result.level):
            console.say(f"  {line}")
        rows = [
            (
                one.choice,
                one.option,
                effect_text(verdict, one.effect),
                effect_text(verdict, one.alone),
                f"{one.share_supported:.0%} ({one.share_supported_default:.0%})",
            )
            for one in verdict.effects
        ]
        if rows:
            columns = (
                "choice",
                "option",
                f"effect [{result.level:.0%}]",
                "alone",
                "supporting",
            )
            what = "as a factor" if verdict.is_ratio else "as a difference"
            pairs = "; ".join(_interaction(verdict, one) for one in verdict.interactions[:3])
            caption = (
                f"Effect of each option instead of the default, {what}, as the median over all other choices; alone: with the others at their default. Supporting: share of specifications (in brackets: of those with the default option)."
                + (f" Interactions: {pairs}." if pairs else "")
            )
            console.table("Effects of the options", columns, rows, caption)
    console.say(NOT_PROBABILITIES)


def _interaction(verdict: Verdict, one: Any) -> str:
    from howsure.claims.sections import effect_text

    return f"{one.choice_a}={one.option_a} with {one.choice_b}={one.option_b} {effect_text(verdict, one.effect)}"


def _write_certificate(result: ClaimCheck, data: Any, path: Path, planned: Path | None, output: Output) -> None:
    from howsure.claims.certificates import certificate as certify
    from howsure.claims.certificates import read_certificate
    from howsure.claims.sections import certificate_section
    from howsure.reporting import Report, render
    from howsure.results import write_json
    from howsure.safe_io import write_atomic

    command = shlex.join(["howsure", *sys.argv[1:]])
    plan = read_certificate(planned) if planned else None
    made = certify(result, data, command=command, planned=plan)
    if plan is not None:
        _say_planned(output.console, made["plan"]["why_not"], made["plan"]["data"])
    page = Report(
        "Certificate", [certificate_section(made)], result.provenance, datetime.datetime.now(tz=datetime.UTC).date()
    )
    output.console.wrote([write_json(made, path), write_atomic(path.with_suffix(".html"), render(page))])


def _say_planned(console: Console, problems: list[str], age: str) -> None:
    kept = "As planned: claims, choices, settings and version are those of the plan."
    console.say(f"{kept if not problems else 'Not as planned: ' + '; '.join(problems) + '.'} {age}")


# `howsure claims plan`.


@app.command(epilog="Example: howsure claims plan examples/claims/claims.yaml --out plan.json")
@verb
def plan(
    claims: ClaimsFile,
    out: Annotated[
        Path, typer.Option("-o", "--out", help="Output: the file of the plan, or a folder for it.", show_default=False)
    ],
    printing: Printing,
    replicates: Replicates = 1000,
    most: Most = 500,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Fix claims, choices and settings before the data are seen: writes them with their hash.

    Publish the hash, or commit the file. `howsure claims check --planned FILE` says whether all was done as planned.
    """
    from howsure.claims.certificates import plan as make_plan
    from howsure.results import write_json

    console, target = printing.console, file_to_write(out, "plan.json")
    made = make_plan(claims, n_replicates=replicates, most=most, level=level, seed=seed)
    for claim in made["sentences"]:
        console.say(claim)
    console.say(f"Plan {made['hash']}, written {made['written']}.")
    written = [write_json(made, target)]
    console.json({"written": written, "plan": made})
    console.wrote(written)


# `howsure claims verify`.


@app.command(epilog="Example: howsure claims verify certificate.json examples/claims/runs.csv")
@verb
def verify(
    certificate: Annotated[
        Path, typer.Argument(metavar="CERTIFICATE", help="What `claims check --certificate` wrote.", show_default=False)
    ],
    inputs: Inputs,
    reading: Reading,
    output: Output,
    claims: Annotated[
        Path | None,
        typer.Option(help="The claims file as it is now, to be compared with the certificate.", show_default=False),
    ] = None,
    planned: Annotated[
        Path | None,
        typer.Option(help="Plan: as it was published, to be compared with the certificate.", show_default=False),
    ] = None,
    scheduler: Scheduler = None,
) -> None:
    """Recompute a certificate from the data and say whether it is equal, or what differs: a row, an option, the plan, the version, a result.

    Exit codes: 0 equal, 1 something differs, 2 something to correct.
    """
    from howsure.claims.certificates import read_certificate
    from howsure.claims.certificates import verify as verify_certificate
    from howsure.claims.claim_files import read_claims
    from howsure.claims.inputs import ClaimData

    made = read_certificate(certificate)
    data: Any = inputs  # of a plan, which is refused below
    if "claims" in made:
        file = read_claims(made["claims"])
        data = ClaimData.of(inputs, file, lambda paths, wanted: reading.read(paths, output.console, wanted))
    with progress_bar("recomputing", output.console) as progress:
        found = verify_certificate(made, data, claims=claims, planned=planned, scheduler=scheduler, progress=progress)
    rows = [(what, "equal" if is_equal else "differs", detail) for what, is_equal, detail in found.rows]
    output.console.table(
        "Verification", ("part", "result", "what differs"), rows, "Numbers agree within a relative 1e-9."
    )
    output.console.say(
        "Equal: the recomputed certificate is the same."
        if found.is_equal
        else "Not equal: the differences are listed above."
    )
    output.console.json(found.as_dict())
    if output.out:
        output.console.wrote(found.save(output.out))
    if not found.is_equal:
        raise SystemExit(1)


# `howsure claims coverage`.


@app.command(epilog="Example: howsure claims coverage --simulations 4")
@verb
def coverage(
    output: Output,
    simulations: Annotated[int, typer.Option(min=2, help="Simulated data sets: per cause.")] = 200,
    seed: Seed = 0,
) -> None:
    """How often is the important choice named first, and how often are the verdicts right, in simulated data?

    In each simulated data set one choice matters: runs cut at a limit, the source of human times, or the weights.
    """
    from howsure.claims.simulator import claim_errors

    with progress_bar("simulating", output.console) as progress:
        found = claim_errors(simulations, seed=seed, progress=progress)
    rows = [(r.cause, r.what, r.share, r.n_simulations, f"{r.goal:g}") for r in found.rows]
    caption = f"{simulations:,} simulated data sets per cause, seed {seed}; intervals: 95 %, Wilson."
    output.console.table(
        "How often are the verdicts right?", ("cause", "question", "share", "data sets", "goal"), rows, caption
    )
    finish(found, output, "claim_errors", "How often are the verdicts right?")
