"""Reports: sections of text, tables and charts in one HTML page that opens without a network.

>>> report = Report("Findings", [Section("Results", [Text("…"), ChartBlock(chart)])], made, date)   # doctest: +SKIP
>>> save_report(report, "report.html")                                                                  # doctest: +SKIP
"""

from howsure.reporting.gathering import together
from howsure.reporting.render import render, save_report
from howsure.reporting.store import find_reports
from howsure.results.blocks import (
    Block,
    Cell,
    ChartBlock,
    Download,
    KeyNumbers,
    Method,
    Report,
    Section,
    TableBlock,
    Text,
)

__all__ = [
    "Block",
    "Cell",
    "ChartBlock",
    "Download",
    "KeyNumbers",
    "Method",
    "Report",
    "Section",
    "TableBlock",
    "Text",
    "find_reports",
    "render",
    "save_report",
    "together",
]
