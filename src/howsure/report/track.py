"""Sections on Track the Stat: how many turns, how they end, what the state brings, what it costs."""

from __future__ import annotations

from howsure.estimates import chance
from howsure.outside_text import csv_text
from howsure.report.blocks import Block, Cell, ChartBlock, Download, Method, Section, TableBlock, Text
from howsure.report.leads import with_lead
from howsure.track.charts import draw_averages, draw_errors, draw_survival
from howsure.track.results import Results
from howsure.track.samples import DIRECT
from howsure.track.yardsticks import Board

__all__ = ["track_sections"]


def track_sections(results: Results) -> list[Section]:
    """A section on each board that was played, one on what showing the state brings, and one on tokens where they were counted."""
    played = [board for board in results.boards if any(row.n for row in results.on(board))]
    sections = [_board_section(results, board, has_notes=board == played[0]) for board in played]
    sections += [_gain_section(results)] if results.gains else []
    sections += [_usage_section(results)] if any(row.usage.input_tokens is not None for row in results.rows) else []
    return sections


def _board_section(results: Results, board: Board, *, has_notes: bool) -> Section:
    notes = [Text("\n\n".join(results.provenance.notes))] if has_notes and results.provenance.notes else []
    blocks: list[Block] = [
        *notes,
        ChartBlock(draw_averages(results, board)),
        _metrics(results, board),
        _yardsticks(results, board),
        ChartBlock(draw_survival(results, board)),
        _lasting(results, board),
        _hazards(results, board),
        ChartBlock(draw_errors(results, board)),
        Method(_METHOD.format(level=results.level)),
        Download("track.csv", csv_text(results.to_frame())),
    ]
    section = Section(f"For how many turns: {board.title}", blocks)
    baselines = {one.name for one in results.yardsticks if one.board == board}
    for solver in dict.fromkeys(row.solver for row in results.on(board)):
        rows = [(row.model, row.average) for row in results.on(board) if row.solver == solver]
        players = [row for row in rows if row[0] not in baselines]
        how = "" if solver == DIRECT else f", {solver} state"
        section = with_lead(section, f"Correct answers before the first error ({board.title}{how})", players)
    return section


_METHOD = (
    "A turn is right when the answer in brackets equals the statistic of all numbers so far, to one decimal. The first wrong or malformed answer "
    "ends the game, and its score is the number of right turns. Samples that a server's failure broke off are left out and counted.\n\n"
    "Intervals have level {level:.0%}. The average's and the violation rate's are score intervals clustered by sequence; the standard deviation's and "
    "the median's come from resampling sequences. The largest and the smallest are facts about these games.\n\n"
    "Games with all turns right would have gone on: the survival curve treats them as censored (Kaplan and Meier), and where more than half "
    "reach the end the median survival is above the range. The restricted mean is the area under the curve up to the length.\n\n"
    "“random (exact)” is the expectation of a player that says one of the numbers seen, computed and not drawn; its interval is where the average of one "
    "run lies. It is not the least that costs no thought: on the mode, always saying the largest number lasts 14 turns."
)


def _metrics(results: Results, board: Board) -> TableBlock:
    columns = ["Player", "Solver", "Average", "SD", "Median", "Largest", "Smallest", "Violation rate", "Games"]
    rows: list[list[Cell]] = []
    for row in results.on(board):
        turns: list[Cell] = [row.average, row.stddev, row.median, row.largest, row.smallest]
        rows.append([row.model, row.solver, *turns, row.violation_rate, row.n])
    return TableBlock(columns, rows, "Right turns of each player and solver, with intervals.")


def _yardsticks(results: Results, board: Board) -> TableBlock:
    rows: list[list[Cell]] = [[one.name, one.average] for one in results.yardsticks if one.board == board]
    return TableBlock(["Yardstick", "Average"], rows, "What to compare with: average number of right turns.")


def _lasting(results: Results, board: Board) -> TableBlock:
    rows: list[list[Cell]] = [
        [row.model, row.solver, row.lasting.median, row.lasting.restricted_mean, row.n, row.n_failed]
        for row in results.on(board)
        if row.lasting
    ]
    columns = ["Player", "Solver", "Median survival", "Restricted mean", "Games", "Left out"]
    return TableBlock(columns, rows, "How many turns games last, those that reached the end allowed for.")


def _hazards(results: Results, board: Board) -> TableBlock:
    rows: list[list[Cell]] = [
        [row.model, row.solver, f"{h.first}–{h.last}", h.chance, h.n_errors, h.n_turns]
        for row in results.on(board)
        if row.lasting
        for h in row.lasting.hazards
        if h.n_turns
    ]
    columns = ["Player", "Solver", "Turns", "Chance to fail in a turn", "Errors", "Turns played"]
    return TableBlock(columns, rows, "The risk in each stretch of turns, for those that got so far.")


def _gain_section(results: Results) -> Section:
    rows: list[list[Cell]] = [
        [g.model, g.solver, g.variant, g.setting, g.difference, chance(g.p), g.n_seeds, g.n_unshared]
        for g in results.gains
    ]
    columns = [
        "Model",
        "Solver",
        "Variant",
        "Setting",
        "Explicit − implicit",
        "p (log-rank)",
        "Sequences",
        "Only one way",
    ]
    method = (
        "Mean difference of right turns on the same sequences, with a t interval. The log-rank test compares the two survival curves and allows for games that "
        "reached the end; it does not use the pairing, which puts it on the safe side."
    )
    table = TableBlock(columns, rows, "Right turns with the state shown minus without, paired by sequence.")
    return Section("What does it bring to be shown the state?", [table, Method(method)])


def _usage_section(results: Results) -> Section:
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
        "What did it cost?", [TableBlock(columns, rows, "Tokens of all samples, those left out too."), Text(text)]
    )
