"""`howsure study check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from howsure.cli.options import Output, verb
from howsure.errors import OptionError

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


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
    """Check a study before anyone rates: what would reveal the conditions, bias the comparison or tire raters.

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
