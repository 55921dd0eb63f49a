"""What each chart draws from its rows, and which rows it refuses."""

import numpy as np
import polars as pl
import pytest

from howsure import charts
from howsure.charts import Caption, Field, Reference, bins, estimate_rows
from howsure.charts.export import svg, to_spec
from howsure.errors import OptionError
from howsure.estimates import Estimate

CAPTION = Caption(1204, "attempts", 0.95)
RATE = Field("value", "Success rate", "0–1")


def rows_with(spec, column):
    return [row for rows in spec["datasets"].values() for row in rows if column in row]


def plot(rows, **options):
    given = {"title": "T", "caption": CAPTION, "label": Field("label", "Model"), "value": RATE}
    return charts.interval_plot(rows, **given | options)


def test_open_ends_and_values_at_the_edge_are_arrowheads(examples):
    glyphs = {(row["label"], row["glyph"]) for row in rows_with(to_spec(examples["interval_plot"]()), "glyph")}
    assert glyphs == {
        ("strong", "circle"),
        ("medium", "circle"),
        ("medium", "triangle-left"),
        ("weak", "triangle-right"),
    }


def named(spec, field, places):
    """The names at these places."""
    (names,) = [param["value"] for param in spec["params"] if param["name"] == f"names_of_{field}"]
    return [names[place] for place in places]


def test_a_row_without_value_says_why_in_the_picture(examples):
    assert "too few (one cluster; two are needed)" in svg(to_spec(examples["interval_plot"]()))


def test_an_estimate_without_interval_is_a_dot_alone():
    spec = to_spec(plot(estimate_rows({"a": Estimate(0.5), "b": Estimate(0.7, 0.6, 0.8)})))
    assert [(row["label"], row["glyph"]) for row in rows_with(spec, "glyph")] == [("a", "circle"), ("b", "circle")]
    assert {row["label"]: row["end"] for row in rows_with(spec, "end")} == {"a": None, "b": 0.8}


def test_an_interval_that_is_open_at_both_ends_is_a_bar_with_two_arrows():
    rows = pl.DataFrame({"label": ["m"], "value": [0.5], "low": [None], "high": [None], "is_open": [True]})
    spec = to_spec(plot(rows.cast({"low": pl.Float64, "high": pl.Float64})))
    assert {row["glyph"] for row in rows_with(spec, "glyph")} == {"circle", "triangle-left", "triangle-right"}


@pytest.mark.parametrize(("scale", "value", "side"), [("linear", 0, "left"), ("linear", 0.55, "center"), ("linear", 0.95, "right"), ("log2", 0.1, "left")])  # fmt: skip
def test_the_label_of_a_line_near_an_end_of_the_axis_stands_on_the_inner_side(scale, value, side):
    rows = estimate_rows({"a": Estimate(0.5, 0.4, 0.6), "b": Estimate(0.8, 0.7, 0.9)})
    field = Field("value", "Rate", "0–1", scale=scale)
    spec = to_spec(plot(rows, value=field, reference=Reference(value, "no difference")))
    marks = [layer["mark"] for layer in spec["layer"] if layer["mark"]["type"] == "text"]
    assert [mark["align"] for mark in marks if mark.get("baseline") == "bottom"] == [side, side]


@pytest.mark.parametrize(("is_sorted", "order"), [(True, ["b", "a", "c"]), (False, ["a", "b", "c"])])
def test_rows_are_sorted_by_value_with_the_unknown_last(is_sorted, order):
    rows = estimate_rows({"a": Estimate(1), "b": Estimate(2), "c": Estimate.without("too_few", "one")})
    spec = to_spec(plot(rows, is_sorted=is_sorted))
    assert named(spec, "label", spec["layer"][0]["encoding"]["y"]["sort"]) == order


def test_groups_of_one_label_lie_beside_each_other():
    rows = pl.DataFrame({"label": ["a", "a"], "value": [1, 2], "low": [0, 1], "high": [2, 3], "g": [1, 2]})
    spec = to_spec(plot(rows, group=Field("g", "Group")))
    assert spec["layer"][0]["encoding"]["yOffset"]["field"] == "group_place"
    assert named(spec, "group", spec["layer"][0]["encoding"]["color"]["scale"]["domain"]) == ["1", "2"]


@pytest.mark.parametrize("there", [["no", "open"], ["open"], ["other", "open"]])
def test_a_known_group_has_its_colour_whatever_others_are_there(there):
    rows = pl.DataFrame({"label": there, "value": 1.0, "low": 0.0, "high": 2.0, "g": there})
    color = to_spec(plot(rows, group=Field("g", "Group", groups=("yes", "open"))))["layer"][0]["encoding"]["color"]
    assert color["scale"]["range"][there.index("open")] == charts.theme.PALETTE[1]


def test_what_is_not_finite_is_a_gap_and_not_a_number():
    rows = pl.DataFrame(
        {"label": ["a", "b"], "value": [0.5, float("nan")], "low": [0.4, 0.1], "high": [float("inf"), 0.9]}
    )
    drawn = {row["label"]: row for row in rows_with(to_spec(plot(rows)), "value")}
    assert drawn["a"]["high"] is None
    assert drawn["b"]["value"] is None
    assert drawn["b"]["told"] == "no value"


def test_no_name_from_the_data_reaches_vegas_expressions():
    strange = "a.b['x']:Q, \"y\""
    rows = pl.DataFrame({strange: ["one", "two"], "value": [0.2, 0.4], "low": [0.1, 0.3], "high": [0.3, 0.5]})
    spec = to_spec(plot(rows, label=Field(strange, "Model")))
    assert "a.b[" not in str({name: part for name, part in spec.items() if name != "description"})
    assert ">two<" in svg(spec)


def test_numbers_without_unit_are_our_mistake():
    rows = estimate_rows({"a": Estimate(1)})
    with pytest.raises(ValueError, match="give its unit"):
        plot(rows, value=Field("value", "Success rate"))


def test_a_column_that_is_not_there_is_named_with_the_nearest():
    with pytest.raises(OptionError, match=r"No column in the rows to draw called 'valu'\. Did you mean 'value'\?"):
        plot(estimate_rows({"a": Estimate(1)}), value=Field("valu", "Rate", "0–1"))


def test_more_rows_than_a_page_draws_are_refused():
    rows = pl.DataFrame({"label": [str(i) for i in range(5001)]}).with_columns(value=0.5, low=0.4, high=0.6)
    with pytest.raises(OptionError, match=r"5,001 rows; a page draws up to 5,000\. Aggregate first\."):
        plot(rows)


def test_no_rows_are_refused():
    with pytest.raises(OptionError, match="no rows to draw"):
        plot(estimate_rows({}))


@pytest.mark.parametrize(
    ("strange", "shown"),
    [("a\x00b", r"a\x00b"), ("a\x1bb", r"a\x1bb"), ("a\uffffb", r"a\uffffb"), ("a\u202eb", r"a\u202eb")],
)
def test_characters_that_no_picture_can_show_are_written_as_escapes(strange, shown, tmp_path):
    chart = plot(estimate_rows({strange: Estimate(0.5, 0.4, 0.6)}), title=strange)
    picture = svg(to_spec(chart))
    assert shown in picture
    assert strange not in picture
    charts.save_chart(chart, tmp_path / "chart.png")


def test_the_rows_stay_as_they_were():
    rows = estimate_rows({"a": Estimate(1 / 3, 0.2, 0.5)})
    before = rows.clone()
    plot(rows)
    assert rows.equals(before)


def test_steps_are_drawn_for_survival_curves():
    rows = pl.DataFrame({"turn": [0, 1, 2], "value": [1.0, 0.5, 0.2], "low": [1.0, 0.3, 0.1], "high": [1.0, 0.7, 0.4]})
    chart = charts.line_with_band(
        rows, title="T", caption=CAPTION, x=Field("turn", "Turns", "count"), y=RATE, is_step=True
    )
    marks = [layer["mark"] for layer in to_spec(chart)["layer"]]
    assert [mark.get("interpolate") for mark in marks if mark["type"] in ("area", "line")] == ["step-after"] * 2


def test_lines_that_are_computed_have_no_band():
    rows = pl.DataFrame({"items": [10, 100], "power": [0.2, 0.8]})
    x, y, caption = (
        Field("items", "Items", "number"),
        Field("power", "Power", "0–1"),
        Caption(100, "items", None, "planned"),
    )
    spec = to_spec(charts.line_with_band(rows, title="T", caption=caption, x=x, y=y, low=None, high=None))
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["line", "point"]
    assert spec["title"]["subtitle"] == ["n = 100 items. No interval: planned."]


def test_heat_maps_drop_their_figures_when_cells_are_too_small():
    size = 21
    rows = pl.DataFrame([(i, j, i * j) for i in range(size) for j in range(size)], schema=["x", "y", "v"], orient="row")
    options = {
        "title": "T",
        "caption": CAPTION,
        "x": Field("x", "X"),
        "y": Field("y", "Y"),
        "value": Field("v", "V", "u"),
    }
    many, few = charts.heat_map(rows, **options), charts.heat_map(rows.filter(pl.col("x") < 5), **options)
    assert [layer["mark"]["type"] for layer in to_spec(many)["layer"]] == ["rect"]
    assert [layer["mark"]["type"] for layer in to_spec(few)["layer"]] == ["rect", "text"]


def test_a_square_heat_map_has_the_same_order_on_both_sides():
    rows = pl.DataFrame({"x": ["b", "a"], "y": ["a", "b"], "v": [0.2, 0.8]})
    chart = charts.heat_map(
        rows, title="T", caption=CAPTION, x=Field("x", "X"), y=Field("y", "Y"), value=Field("v", "V", "u")
    )
    spec = to_spec(chart)
    encoding = spec["layer"][0]["encoding"]
    assert named(spec, "x", encoding["x"]["sort"]) == named(spec, "y", encoding["y"]["sort"]) == ["a", "b"]


def test_bins_count_every_value_once():
    values = np.random.default_rng(5).normal(size=999)
    counted = bins(values, n_bins=7)
    assert counted["count"].sum() == 999
    assert counted["start"][1:].to_list() == counted["end"][:-1].to_list()
    for start, end, count in counted.head(6).iter_rows():
        assert count == np.sum((values >= start) & (values < end))


def test_estimate_rows_keep_states_and_texts():
    frame = estimate_rows(
        [("a", Estimate(0.78, 0.73, 0.83)), ("b", Estimate.without("undefined", "slope of the wrong sign"))]
    )
    assert frame.rows() == [
        ("a", 0.78, 0.73, 0.83, "ok", "0.78 [0.73, 0.83]"),
        ("b", None, None, None, "undefined", "undefined (slope of the wrong sign)"),
    ]


def test_captions_without_interval_say_why():
    assert Caption(40, "scores", None, "scores as reported").told() == "n = 40 scores. No interval: scores as reported."
    with pytest.raises(ValueError, match="says why"):
        Caption(40, "scores", None)
    with pytest.raises(ValueError, match="between 0 and 1"):
        Caption(40, "scores", 95)
