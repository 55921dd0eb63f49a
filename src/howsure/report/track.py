"""Sections on Track the Stat: how many turns, how they end, what the state brings, what it costs."""

from __future__ import annotations

from functools import partial

from howsure.estimates import chance
from howsure.outside_text import csv_text
from howsure.report.blocks import Block, Cell, ChartBlock, Download, Method, Section, TableBlock, Text
from howsure.report.leads import with_lead
from howsure.track.baselines import Board
from howsure.track.charts import ERROR_WORDS, draw_averages, draw_errors, draw_survival
from howsure.track.differences import Contrast
from howsure.track.results import TrackResult
from howsure.track.samples import DIRECT

__all__ = ["track_sections"]


def track_sections(results: TrackResult) -> list[Section]:
    """A section on each board that was played, one on what showing the state brings, and one on tokens where they were counted."""
    played = [board for board in results.boards if any(row.survival for row in results.on(board))]
    sections = [_board_section(results, board, has_notes=board == played[0]) for board in played]
    sections += [_difference_section(results)] if results.differences else []
    sections += [_gain_section(results)] if results.gains else []
    sections += [_usage_section(results)] if any(row.usage.input_tokens is not None for row in results.rows) else []
    return sections


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
        ChartBlock(draw_errors(results, board)),
        _errors(results, board),
        Method(_METHOD.format(level=results.level)),
        Download("track.csv", csv_text(results.to_frame())),
    ]
    section = Section(f"For how many turns: {board.title}", blocks)
    baselines = {one.name for one in results.baselines if one.board == board}
    for solver in dict.fromkeys(row.solver for row in results.on(board)):
        rows = [(row.model, row.average) for row in results.on(board) if row.solver == solver]
        players = [row for row in rows if row[0] not in baselines]
        how = "" if solver == DIRECT else f", {solver} state"
        what = f"Correct answers before the first error ({board.title}{how})"
        section = with_lead(section, what, players, p_value=partial(_p_value, results, board, solver))
    return section


def _p_value(results: TrackResult, board: Board, solver: str, a: str, b: str) -> float | None:
    """Of the paired difference of two players, from the table of differences."""
    for one in results.differences:
        is_here = (one.variant, one.setting, one.length) == (board.variant, board.setting, board.length)
        if is_here and one.solver == solver and {one.a, one.b} == {a, b}:
            return one.p_holm
    return None


_METHOD = (
    "A turn is right when the answer in brackets equals the statistic of all numbers so far, to one decimal. The first wrong or malformed answer "
    "ends the game, and its score is the number of right turns. A refusal, an empty answer or one that was cut off counts as an error in that turn.\n\n"
    "A game that a server's failure, a budget or a limit broke off is censored: it had at least so many right turns (Kaplan and Meier). The restricted mean is the "
    "area under the survival curve up to the last turn that at least five games answered. The average goes on from there with a constant hazard, if half of the games have "
    "ended by then. If not, or where games reached a limit of context or tokens, the average is not identified and only its bounds are given. The upper "
    "bound takes games that reached a limit as right to the end, and games without an answer as censored.\n\n"
    "Intervals have level {level:.0%}. Those of the average and the violation rate are score intervals clustered by sequence; those of the standard deviation and "
    "the median come from resampling sequences. Where all games ended in the same turn, the interval of the average is that of a constant hazard. "
    "The largest and the smallest are facts about these games. Where more than half of the games reach the end, the median is above the range.\n\n"
    "Kinds of errors: the column of chance has the shares among wrong random guesses in the same turns. A kind that is as frequent as in guesses says nothing "
    "of the cause.\n\n"
    "“random (exact)” is the expectation of a player that says one of the numbers seen, computed and not drawn; its interval is where the average of one "
    "run lies. It is not the least that costs no thought: on the mode, always saying the largest number lasts 14 turns."
)


def _metrics(results: TrackResult, board: Board) -> TableBlock:
    columns = ["Player", "Solver", "Average", "SD", "Median", "Largest", "Smallest", "Violation rate", "Games"]
    rows: list[list[Cell]] = []
    for row in results.on(board):
        turns: list[Cell] = [row.average, row.stddev, row.median, row.largest, row.smallest]
        rows.append([row.model, row.solver, *turns, row.violation_rate, row.n])
    return TableBlock(columns, rows, "Right turns of each player and solver, with intervals.")


def _baselines(results: TrackResult, board: Board) -> TableBlock:
    rows: list[list[Cell]] = [[one.name, one.average] for one in results.baselines if one.board == board]
    return TableBlock(["Baseline", "Average"], rows, "What to compare with: average number of right turns.")


def _survival(results: TrackResult, board: Board) -> TableBlock:
    rows: list[list[Cell]] = []
    for row in results.on(board):
        if row.survival:
            bounds: list[Cell] = [*(row.bounds or (None, None))]
            counts: list[Cell] = [row.n, row.n_censored, row.n_no_answer]
            rows.append([row.model, row.solver, row.survival.restricted_mean, row.survival.reach, *bounds, *counts])
    columns = ["Player", "Solver", "Restricted mean", "Up to turn", "Average, at least", "At most"]
    columns += ["Games", "Broken off", "Without an answer"]
    return TableBlock(columns, rows, "Right turns where games broke off: what is known without and with them.")


def _errors(results: TrackResult, board: Board) -> TableBlock:
    rows: list[list[Cell]] = [
        [row.model, row.solver, ERROR_WORDS[kind], count, row.chance_errors.get(kind)]
        for row in results.on(board)
        for kind, count in row.errors.items()
        if count or kind in row.chance_errors
    ]
    columns = ["Player", "Solver", "Ended by", "Games", "Share among wrong guesses"]
    return TableBlock(columns, rows, "How games ended, and which kinds of errors random guesses in the same turns are.")


def _hazards(results: TrackResult, board: Board) -> TableBlock:
    rows: list[list[Cell]] = [
        [row.model, row.solver, f"{h.first}–{h.last}", h.hazard, h.n_errors, h.n_turns]
        for row in results.on(board)
        if row.survival
        for h in row.survival.hazards
        if h.n_turns
    ]
    columns = ["Player", "Solver", "Turns", "Chance to fail in a turn", "Errors", "Turns played"]
    return TableBlock(columns, rows, "The risk in each stretch of turns, for those that got so far.")


def _gain_section(results: TrackResult) -> Section:
    rows: list[list[Cell]] = [[g.model, g.solver, g.variant, g.setting, *_contrast(g.contrast)] for g in results.gains]
    columns = ["Model", "Solver", "Variant", "Setting", "Explicit − implicit", *_CONTRAST]
    table = TableBlock(columns, rows, "Right turns with the state shown minus without, paired by sequence.")
    return Section("Gain from showing the state", [table, Method(_CONTRAST_METHOD)])


def _difference_section(results: TrackResult) -> Section:
    rows: list[list[Cell]] = [
        [d.a, d.b, d.solver, d.variant, d.setting, d.length, *_contrast(d.contrast), chance(d.p_holm)]
        for d in results.differences
    ]
    columns = ["a", "b", "Solver", "Variant", "Setting", "Length", "a − b", *_CONTRAST, "p (Holm)"]
    table = TableBlock(columns, rows, "Right turns of player a minus those of player b, paired by sequence.")
    holm = " p (Holm) is corrected for all pairs on the same board."
    return Section("Differences between players", [table, Method(_CONTRAST_METHOD + holm)])


_CONTRAST = ("Up to turn", "p", "p (log-rank)", "Sequences", "On one side only")
_CONTRAST_METHOD = (
    "Difference of restricted means up to the last turn that is well known of both, paired by sequence, with a t interval and the p of that t test. Games that broke "
    "off are censored. The log-rank test compares the two survival curves; it does not use the pairing."
)


def _contrast(found: Contrast) -> list[Cell]:
    return [found.difference, found.limit, chance(found.p), chance(found.p_log_rank), found.n_seeds, found.n_unshared]


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
        "Written a turn",
    ]
    text = (
        "An answer in its brackets takes 5 to 10 tokens. A model that writes more, or reasons before it answers, may keep the state in writing: then "
        "its figures tell of explicit tracking, whatever the solver."
    )
    return Section(
        "What did it cost?",
        [TableBlock(columns, rows, "Tokens of all games, also of those that broke off."), Text(text)],
    )
