"""`howsure study judge`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from howsure.cli.asking import AskingOptions, asking_option, tell_errors
from howsure.cli.options import Level, Output, verb
from howsure.errors import OptionError

if TYPE_CHECKING:
    from howsure.study.judging.embeddings import Similarity
    from howsure.study.judging.ratings import JudgeRatings
    from howsure.study.protocol import Study

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


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
    from howsure.study.judging.attacks import ATTACKS, with_attacks
    from howsure.study.protocol import Study

    read = Study.read(study)
    found = _similarity(read, similar, output)
    wanted = [] if not attacks else list(ATTACKS) if attacks == "all" else [one.strip() for one in attacks.split(",")]
    read = with_attacks(read, wanted)
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
    _tell(judged, output)
    if judged.ratings.is_empty():
        output.console.notes([f"{model} rated no pair in both orders. Look at the replies: inspect view"])
        return judged, run.exit_code or 1
    return judged, run.exit_code


def _tell(judged: JudgeRatings, output: Output) -> None:
    from howsure.study.judging.ratings import FAILURES

    output.console.notes(f"{n} × no rating: {FAILURES[failure]} ({failure})." for failure, n in judged.failures.items())
    rows = [
        (name, one.shift, one.consistency, one.slot_one if one.slot_one.value is not None else "", one.n_items)
        for name, one in judged.position.items()
    ]
    columns = ("dimension", "slot 1 − slot 2", "same in both orders", "changed: with slot 1", "pairs")
    caption = f"{judged.ratings['item'].n_unique()} of {judged.n_pairs} pairs were rated in both orders."
    output.console.table(f"Position bias of {judged.model}", columns, rows, caption)
