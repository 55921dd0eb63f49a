"""Charts: one look, a caption with n and the intervals' level on each, four outputs, no network.

A chart function takes rows (a small polars frame), `Field`\\ s that name columns with titles and units, a title and a
`Caption`; it draws what it is given and computes nothing. `save_chart` writes ``.html``, ``.png``, ``.svg`` or ``.json``.
"""

from howsure.charts.encodings import Caption, Field, Reference, bins, estimate_rows
from howsure.charts.export import save_chart, to_spec
from howsure.charts.kinds import heat_map, histogram, interval_plot, line_with_band, points_with_trend
from howsure.charts.theme import captioned

__all__ = [
    "Caption",
    "Field",
    "Reference",
    "bins",
    "captioned",
    "estimate_rows",
    "heat_map",
    "histogram",
    "interval_plot",
    "line_with_band",
    "points_with_trend",
    "save_chart",
    "to_spec",
]
