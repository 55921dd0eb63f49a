"""Sections on Track the Stat: how many correct answers, how games end, the gain from showing the state, tokens."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from howsure.estimates import chance
from howsure.outside_text import csv_text
from howsure.results.blocks import Block, Cell, ChartBlock, Download, Method, Section, TableBlock, Text
from howsure.results.leading import with_lead
from howsure.track.adaptive import MedianLength
from howsure.track.charts import (
    ERROR_WORDS,
    draw_averages,
    draw_errors,
    draw_reasoning,
    draw_survival,
    reasoning_history,
)
from howsure.track.differences import Contrast, PlayerDifference
from howsure.track.results import TrackResult, TrackRow
from howsure.track.samples import DIRECT
from howsure.track.survival import Board

__all__ = ["length_section", "track_sections"]


def track_sections(results: TrackResult) -> list[Section]:
    """A section on each board that was played, one on what showing the state brings, and one on tokens where they were counted."""
    played = [board for board in results.boards if any(row.survival for row in results.on(board))]
    sections = [_board_section(results, board, has_notes=board == played[0]) for board in played]
    sections += [_difference_section(results)] if results.differences else []
    sections += [_gain_section(results)] if results.gains else []
    sections += [_reasoning_section(results)] if results.reasoning_rows() else []
    sections += [_usage_section(results)] if any(row.usage.input_tokens is not None for row in results.rows) else []
    return sections


def length_section(found: MedianLength) -> Section:
    """The length at which half of a model's last answers are correct."""
    told = found.provenance.settings
    n_right = sum(one.is_right for one in found.trials)
    cells: list[list[Cell]] = [[found.model, found.variant, found.median, len(found.trials), n_right, told["longest"]]]
    columns = ["Model", "Variant", "Median length (turns)", "Calls", "Correct", "Longest possible"]
    caption = "The number of turns after which half of the last answers are correct, above chance."
    calls: list[list[Cell]] = [[one.run, one.call, one.length, "yes" if one.is_right else "no"] for one in found.trials]
    notes = [Text("\n\n".join(found.provenance.notes))] if found.provenance.notes else []
    shares: list[list[Cell]] = [[length, n, share] for length, n, share in found.by_length()]
    heads = ["Length", "Calls", "Share of correct last answers"]
    return Section(
        "At which length half of the last answers are correct",
        [
            *notes,
            *map(ChartBlock, found.charts().values()),
            TableBlock(columns, cells, caption),
            *([TableBlock(heads, shares, "Correct last answers by length, with Wilson's interval.")] if shares else []),
            TableBlock(["Run", "Call", "Length", "Correct"], calls, "Every call."),
            Method(_LENGTH_METHOD.format(chance=told["chance"], level=told["level"])),
        ],
    )


_LENGTH_METHOD = (
    "Each call shows a whole sequence in one prompt; only the last answer is requested. The probability of a correct answer is c + (1 − c)/(1 + (L/M)^s) at length L, with the chance level c = {chance:.2g}, "
    "the median length M and the slope s. The prior is uniform in log M and log s; the next length is near the expected M, if lengths are not given. The interval is credible, of level {level:.0%}. Calls of all "
    "searches are pooled. A refusal, an empty reply or one that was cut off counts as wrong; a sequence that does not fit into the context window does not count."
)


def _board_section(results: TrackResult, board: Board, *, has_notes: bool) -> Section:
    notes = [Text("\n\n".join(results.provenance.notes))] if has_notes and results.provenance.notes else []
    blocks: list[Block] = [
        *notes,
        ChartBlock(draw_averages(results, board)),
        _metrics(results, board),
        _baselines(results, board),
        ChartBlock(draw_survival(results, board)),
        _survival(results, board),
        _hazards(results, board),
        _accuracy(results, board),
        ChartBlock(draw_errors(results, board)),
        _errors(results, board),
        Method(_METHOD.format(level=results.level)),
        Download("track.csv", csv_text(results.to_frame())),
    ]
    section = Section(f"For how many turns: {board.title}", blocks)
    baselines = {one.name for one in results.baselines if one.board == board}
    for solver in dict.fromkeys(row.solver for row in results.on(board)):
        rows = [(row.model, row.headline) for row in results.on(board) if row.solver == solver]
        players = [row for row in rows if row[0] not in baselines]
        how = "" if solver == DIRECT else f", {solver} state"
        what = f"Correct answers before the first error ({board.title}{how})"
        pair = partial(_pair, results, board, solver)
        section = with_lead(section, what, players, p_value=partial(_p_value, pair), advantage=partial(_ahead, pair))
    return section


def _pair(results: TrackResult, board: Board, solver: str, a: str, b: str) -> PlayerDifference | None:
    """The paired difference of two players, from the table of differences."""
    for one in results.differences:
        is_here = (one.variant, one.setting, one.length) == (board.variant, board.setting, board.length)
        if is_here and one.solver == solver and {one.a, one.b} == {a, b}:
            return one
    return None


def _p_value(pair: Callable[[str, str], PlayerDifference | None], a: str, b: str) -> float | None:
    return one.p_holm if (one := pair(a, b)) else None


def _ahead(pair: Callable[[str, str], PlayerDifference | None], a: str, b: str) -> str | None:
    one = pair(a, b)
    if one is None or one.contrast.difference.value is None:
        return None
    return f"Difference: {one.contrast.difference if one.a == a else -one.contrast.difference}"


_METHOD = (
    "An answer is correct if the number in brackets equals the statistic of all numbers so far, to one decimal. The first wrong or malformed answer "
    "ends the game, and its score is the number of correct answers before it. A refusal, an empty answer or one that was cut off counts as an error in that turn.\n\n"
    "A game that was interrupted by a failing server, a budget or a limit is censored: it had at least this many correct answers (Kaplan–Meier). The restricted mean is the "
    "area under the survival curve up to the last turn that at least five games answered. From there on the average assumes a hazard that is a power of the turn and differs between sequences, fitted to all errors, if half of the games have "
    "ended by then. If not, or where games reached a limit of context or tokens, the average is not identified and only its bounds are given. The upper "
    "bound treats games that reached a limit as correct to the end, and games without an answer as censored.\n\n"
    "Intervals have level {level:.0%}. Those of the average and the violation rate are score intervals clustered by sequence (a profile likelihood interval where a part of the average is assumed); those of the standard deviation and "
    "the median come from a cluster bootstrap over sequences. Where all games ended in the same turn, the interval of the average is that of a constant hazard. "
    "The largest and the smallest describe these games and have no interval. Where more than half of the games reach the end, the median is above the range.\n\n"
    "Kinds of errors: the last column gives the shares among wrong random guesses in the same turns. A kind of error that is as frequent as among random guesses gives no information "
    "about the cause.\n\n"
    "“random (exact)” is the exact expectation for a player that answers with a random one of the numbers shown; its interval is the range in which the average of one "
    "run lies. It is not the strongest simple baseline: on the mode, a player that always answers with the largest number gives 14 correct answers."
)


def _metrics(results: TrackResult, board: Board) -> TableBlock:
    columns = ["Player", "Solver", "Average", "SD", "Median", "Largest", "Smallest", "Violation rate", "Games"]
    rows: list[list[Cell]] = []
    for row in results.on(board):
        turns: list[Cell] = [row.average, row.stddev, row.median, row.largest, row.smallest]
        rows.append([row.model, row.solver, *turns, row.violation_rate, row.n])
    return TableBlock(columns, rows, "Correct answers before the first error, by player and solver, with intervals.")


def _baselines(results: TrackResult, board: Board) -> TableBlock:
    rows: list[list[Cell]] = [[one.name, one.average] for one in results.baselines if one.board == board]
    return TableBlock(
        ["Baseline", "Average"], rows, "Baselines: average number of correct answers before the first error."
    )


def _survival(results: TrackResult, board: Board) -> TableBlock:
    rows: list[list[Cell]] = []
    for row in results.on(board):
        if row.survival:
            bounds: list[Cell] = [*(row.bounds or (None, None))]
            counts: list[Cell] = [row.n, row.n_censored, row.n_no_answer]
            rows.append([row.model, row.solver, row.survival.restricted_mean, row.survival.reach, *bounds, *counts])
    columns = ["Player", "Solver", "Restricted mean", "Up to turn", "Average, at least", "At most"]
    columns += ["Games", "Interrupted", "Without an answer"]
    return TableBlock(
        columns, rows, "Correct answers if games were interrupted: restricted mean, and bounds of the average."
    )


def _errors(results: TrackResult, board: Board) -> TableBlock:
    rows: list[list[Cell]] = [
        [row.model, row.solver, ERROR_WORDS[kind], count, row.chance_errors.get(kind)]
        for row in results.on(board)
        for kind, count in row.errors.items()
        if count or kind in row.chance_errors
    ]
    columns = ["Player", "Solver", "Ended by", "Games", "Share among wrong guesses"]
    return TableBlock(
        columns, rows, "How games ended, and the shares of the kinds of errors among random guesses in the same turns."
    )


def _hazards(results: TrackResult, board: Board) -> TableBlock:
    rows: list[list[Cell]] = [
        [row.model, row.solver, f"{h.first}–{h.last}", h.hazard, h.n_errors, h.n_turns]
        for row in results.on(board)
        if row.survival
        for h in row.survival.hazards
        if h.n_turns
    ]
    columns = ["Player", "Solver", "Turns", "Hazard (probability of an error per turn)", "Errors", "Turns played"]
    return TableBlock(columns, rows, "Hazard by range of turns, among the games that reached them.")


def _accuracy(results: TrackResult, board: Board) -> TableBlock:
    rows: list[list[Cell]] = []
    goes_on = any(row.accuracy.overall.value is not None for row in results.on(board))
    for row in results.on(board):
        one = row.accuracy
        rest: list[Cell] = [one.overall, one.after_right, one.after_wrong] if goes_on else []
        rows.append([row.model, row.solver, one.share_changed, one.changed, one.unchanged, *rest])
    columns = [
        "Player",
        "Solver",
        "Share of turns with a new answer",
        "Accuracy in these turns",
        "Accuracy in other turns",
    ]
    columns += ["Accuracy of all turns", "After a correct answer", "After a wrong answer"] if goes_on else []
    return TableBlock(columns, rows, "Accuracy by turn, of the turns that were answered.")


def _gain_section(results: TrackResult) -> Section:
    rows: list[list[Cell]] = [[g.model, g.solver, g.variant, g.setting, *_contrast(g.contrast)] for g in results.gains]
    columns = ["Model", "Solver", "Variant", "Setting", "Explicit − implicit", *_CONTRAST]
    table = TableBlock(columns, rows, "Correct answers with the state shown minus without, paired by sequence.")
    return Section("Gain from showing the state", [table, Method(_CONTRAST_METHOD)])


def _difference_section(results: TrackResult) -> Section:
    rows: list[list[Cell]] = [
        [d.a, d.b, d.solver, d.variant, d.setting, d.length, *_contrast(d.contrast), chance(d.p_holm)]
        for d in results.differences
    ]
    columns = ["a", "b", "Solver", "Variant", "Setting", "Length", "a − b", *_CONTRAST, "p (Holm)"]
    table = TableBlock(columns, rows, "Correct answers of player a minus those of player b, paired by sequence.")
    holm = " p (Holm) is corrected for all pairs on the same board."
    return Section("Differences between players", [table, Method(_CONTRAST_METHOD + holm)])


_CONTRAST = ("Up to turn", "p", "p (log-rank)", "Sequences", "In one player's games only")
_CONTRAST_METHOD = "Difference of restricted means up to the last turn that at least five games of both answered, paired by sequence, with a t interval and the p of that t test. Interrupted games are censored. The log-rank test compares the two survival curves; it does not use the pairing."


def _contrast(found: Contrast) -> list[Cell]:
    return [found.difference, found.limit, chance(found.p), chance(found.p_log_rank), found.n_seeds, found.n_unshared]


def _reasoning_section(results: TrackResult) -> Section:
    blocks: list[Block] = []
    columns = [
        "Model",
        "Solver",
        "Earlier reasoning",
        "Reasoning tokens per turn",
        "Average",
        "Restricted mean",
        "Games",
    ]
    for board, rows in results.reasoning_rows().items():
        cells: list[list[Cell]] = [
            [row.model, row.solver, reasoning_history(row), row.reasoning, row.average, _restricted(row), row.n]
            for row in rows
        ]
        caption = f"Correct answers before the first error and reasoning tokens per turn: {board.title}."
        blocks += [ChartBlock(draw_reasoning(results, board)), TableBlock(columns, cells, caption)]
    return Section("Correct answers against reasoning", [*blocks, Method(_REASONING_METHOD)])


def _restricted(row: TrackRow) -> Cell:
    return row.survival.restricted_mean if row.survival else None


_REASONING_METHOD = (
    "Reasoning tokens per turn: all reasoning tokens of the games over all turns that were asked, with a t interval clustered by sequence. The tokens are those that the server "
    "counted. “Dropped”: the model reads its earlier answers, not the reasoning before them, so it has to compute the state again in each turn. “Kept”: it also reads "
    "its earlier reasoning, which makes the state explicit. Models that reason more differ in other ways too: only rows of one model with different settings show what reasoning "
    "itself changes."
)


def _usage_section(results: TrackResult) -> Section:
    rows: list[list[Cell]] = []
    for row in results.rows:
        use = row.usage
        counts: list[Cell] = [use.input_tokens, use.output_tokens, use.reasoning_tokens, use.total_tokens]
        rows.append([row.model, row.solver, row.variant, *counts, use.n_turns, use.written_each_turn])
    columns = [
        "Model",
        "Solver",
        "Variant",
        "Input",
        "Output",
        "of it reasoning",
        "Total",
        "Turns asked",
        "Output tokens per turn",
    ]
    text = (
        "An answer in its brackets takes 5 to 10 tokens. A model that writes more, or reasons before it answers, may keep the state in writing: its results "
        "then describe explicit tracking, for any solver."
    )
    return Section(
        "Tokens used",
        [TableBlock(columns, rows, "Tokens of all games, including interrupted games."), Text(text)],
    )
