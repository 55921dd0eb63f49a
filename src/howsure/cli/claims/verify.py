"""`howsure claims verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from howsure.cli.options import Inputs, Output, Reading, Scheduler, verb
from howsure.cli.output import progress_bar

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)


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
    output.console.say("Equal: the certificate is found again." if found.is_equal else "Not equal: see what differs.")
    output.console.json(found.as_dict())
    if output.out:
        output.console.wrote(found.save(output.out))
    if not found.is_equal:
        raise SystemExit(1)
