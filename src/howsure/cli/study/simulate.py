"""`howsure study simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from howsure.cli.options import Output, Seed, verb
from howsure.errors import OptionError

if TYPE_CHECKING:
    from howsure.study.packet.simulated_raters import ItemCrowd

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


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
    fidelity: Annotated[float, typer.Option(min=0, max=1, help="Mean fidelity, 0–1, of targets; 0.5 is none.")] = 0.8,
    spread: Annotated[float, typer.Option(min=0, help="Standard deviation of fidelity over pairs.")] = 0.1,
    correlation: Annotated[
        float, typer.Option(min=-1, max=1, help="Assumed correlation: of the model's scores with the true fidelity.")
    ] = 0.9,
    severity: Annotated[
        float, typer.Option(min=0, help="Rater bias (severity): standard deviation between raters.")
    ] = 0.05,
    noise: Annotated[float, typer.Option(min=0, help="Noise: standard deviation of one rating of a pair.")] = 0.1,
    bots: Annotated[int, typer.Option(min=0, help="Raters who answer at random.")] = 0,
    straight_liners: Annotated[int, typer.Option(min=0, help="Raters who tick the same places throughout.")] = 0,
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
            "--packet brings its own study and needs a folder for the answers: leave out --study, give -o."
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
