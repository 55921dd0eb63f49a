"""What a report's sentences say, held against the tables of the same report."""

import itertools
import re

from howsure.estimates import Estimate, chance
from howsure.reporting import TableBlock, Text
from howsure.reporting.render import shown_columns

BANNED = re.compile(r"intervals? overlap|leads with|\bp = 0\.0+\b|P = 1\.0+\b|= [<>]|\b[pP]\S* = (?:0\.000|1\.000)")
HIGHEST = re.compile(
    r"(?P<what>.+): (?P<best>\S+) has the highest estimate, (?P<first>.+), followed by (?P<second>\S+) with (?P<next>.+?)\.(?: |$)"
)
PROBABILITY = re.compile(r"P\((\S+) > (\S+)\) ([=<>]) ([\d.]+\d)")
SIGNIFICANT = re.compile(r"(\d+) of (\d+) differences .* significant \(.*, (\d+)%\)")
CRITERION = re.compile(r"(.+) ([≥≤]) ([-\d.]+)$")
INTERVAL = re.compile(r"\[([-−\d.,∞<>]+?), ([-\d.,∞<>]+)\]")
SUBJECTS = ("Model", "Subject", "Player")


def contradictions(report):
    """Every sentence of a report that a table of the same section denies, and every table that cannot be read as it is meant."""
    return [f"{section.title}: {fault}" for section in report.sections for fault in _in_section(section)]


def _in_section(section):
    tables = [
        {one.title: one.cells for one in shown_columns(b)} | {"": b}
        for b in section.blocks
        if isinstance(b, TableBlock)
    ]
    told = [*section.found, *section.unknown, *(b.text for b in section.blocks if isinstance(b, Text))]
    yield from (f"says {text!r}" for text in told if BANNED.search(text))
    for table in tables:
        yield from _unreadable(table)
        yield from _wrong_verdicts(table, section)
    probabilities = {pair: p for table in tables for pair, p in _probabilities(table)}
    for text in told:
        yield from _wrong_order(text, tables)
        yield from _wrong_count(text, tables)
    tests = {frozenset(pair): p for table in tables for pair, p in _tests(table)}
    for text in section.found:
        yield from _wrong_test(text, tests, is_known=True)
        yield from _wrong_probability(text, probabilities, lambda p: p >= 0.9, "as known")
    for text in section.unknown:
        yield from _wrong_test(text, tests, is_known=False)
        yield from _wrong_probability(text, probabilities, lambda p: p < 0.995, "as not known")


def _unreadable(table):
    for title, cells in table.items():
        if re.match(r"p\b|P\(", title):
            yield from (f"{title} is printed as {c.text}" for c in cells if re.fullmatch(r"0\.0+|1\.0+", c.text))
        if re.search(r"\brank\b.*interval|^(best|worst) rank", title, re.IGNORECASE) and "%" not in title:
            yield f"{title} does not state its level"


def _wrong_verdicts(table, section):
    if "Claim" in table and "Verdict" in table:
        for claim, verdict, p in zip(table["Claim"], table["Verdict"], table["p, corrected"], strict=True):
            is_small = p.text.startswith("<") or (p.text != "–" and float(p.text) < 0.1)
            if verdict.text == "supported" and not is_small:
                yield f"{claim.text} is called supported, and p is {p.text}"
            named = [text for text in section.found if text.startswith(claim.text)]
            if named and verdict.text != "supported":
                yield f"{claim.text} is told as known, and the table says {verdict.text}"
    if "Criterion" not in table:
        return
    rows = zip(table["Criterion"], table["Estimate"], table["Verdict"], strict=True)
    for criterion, found, verdict in ([cell.text for cell in row] for row in rows):
        name, sign, threshold = CRITERION.match(criterion).groups()
        ends = INTERVAL.search(found)
        if ends:
            low, high = (float(end.replace(",", "").replace("∞", "inf")) for end in ends.groups())
            meets = (
                (low >= float(threshold), high >= float(threshold))
                if sign == "≥"
                else (high <= float(threshold), low <= float(threshold))
            )
            printed = {(True, True): "pass", (False, False): "fail"}.get(meets, "inconclusive")
            if printed != verdict:
                yield f"{criterion} is called {verdict}, and the table prints {found}"
        asked = re.compile(rf"whether the criterion on {re.escape(name)}( \S+ [-\d.]+)? is met")
        is_open = any(asked.search(text) for text in section.unknown)
        if is_open != (verdict == "inconclusive"):
            yield f"{name} is {verdict} in the table, and {'' if is_open else 'not '}listed as not yet known"


def _probabilities(table):
    """By pair, what the table prints of P(first > second)."""
    if "P(A > B)" in table:
        for a, b, p in zip(table["A"], table["B"], table["P(A > B)"], strict=True):
            yield (a.text, b.text), p.text
    following = next((title for title in table if "than the next" in title), None)
    if following:
        names = [cell.text for cell in table["Model"]]
        for (a, b), p in zip(itertools.pairwise(names), table[following], strict=False):
            yield (a, b), p.text


def _tests(table):
    """By pair, the corrected p-value that the table prints."""
    if "p (Holm)" in table:
        for a, b, p in zip(table["a"], table["b"], table["p (Holm)"], strict=True):
            yield (a.text, b.text), p.text


def _wrong_test(text, tests, *, is_known):
    said = re.search(r"Test: p ([=<]) ([\d.]+\d)", text)
    pair = (
        HIGHEST.match(text) if is_known else re.search(r"whether (?P<best>\S+) is higher than (?P<second>\S+)\.", text)
    )
    shown = tests.get(frozenset((pair["best"], pair["second"]))) if said and pair else None
    if shown is not None and shown != said[1].strip("=") + said[2]:
        yield f"says {text!r}, and the table prints {shown}"
    elif said and (float(said[2]) < 0.02 if not is_known else float(said[2]) > 0.2):
        yield f"lists {text!r} as {'' if is_known else 'not '}known"


def _wrong_probability(text, probabilities, fits, how):
    for a, b, sign, number in PROBABILITY.findall(text):
        said = sign.strip("=") + number
        shown = probabilities.get((a, b)) or _turned(probabilities.get((b, a)))
        if shown is None:
            yield f"says {text!r}, and no table has that probability"
        elif shown != said:
            yield f"says {text!r}, and the table prints {shown}"
        elif not fits(float(number)):
            yield f"lists {text!r} {how}"


def _turned(shown):
    return (
        None
        if shown is None
        else chance(1 - float(shown))
        if shown[0] not in "<>"
        else {">": "<0.001", "<": ">0.999"}[shown[0]]
    )


def _wrong_order(text, tables):
    said = HIGHEST.match(text)
    if not said:
        return
    for table in tables:
        block = table[""]
        subject = next((place for place, title in enumerate(block.columns) if title in SUBJECTS), None)
        if subject is None:
            continue
        for place, title in enumerate(block.columns):
            column = [(row[subject], row[place]) for row in block.rows if isinstance(row[place], Estimate)]
            mine = [one for name, one in column if name == said["best"] and str(one) == said["first"]]
            others = [one for name, one in column if name == said["second"] and str(one) == said["next"]]
            if mine and others and mine[0].value < others[0].value:
                yield f"says {text!r}, and {title} of {said['second']} is higher"


def _wrong_count(text, tables):
    said = SIGNIFICANT.match(text)
    if not said:
        return
    cells = [
        cell.text
        for table in tables
        if not {"Interaction", "Claim"} & set(table)
        for cell in table.get("p, corrected", ())
    ]
    below = sum(cell == "<0.001" or (cell[0].isdigit() and float(cell) < int(said[3]) / 100) for cell in cells)
    if (below, len(cells)) != (int(said[1]), int(said[2])):
        yield f"says {text!r}, and the table has {below} of {len(cells)}"
