"""Reports: sections of text, tables and charts in one HTML page that opens without a network.

>>> report = Report("Findings", [Section("Results", [Text("…"), ChartBlock(chart)])], made, date)   # doctest: +SKIP
>>> save_report(report, "report.html")                                                                  # doctest: +SKIP
"""

from howsure.report.blocks import (
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
from howsure.report.render import render, save_report
from howsure.report.store import find_reports
from howsure.report.together import together

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
