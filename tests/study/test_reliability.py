"""One table of ratings through the command line and from Python: published statistics, gaps, both forms, bad input."""

import json
from pathlib import Path

import polars as pl
import pytest

from howsure.errors import InputError, OptionError
from howsure.study.agreement import read_ratings, reliability
from howsure.tables import Ratings

ROOT = Path(__file__).parents[2]

# Shrout and Fleiss (1979), six targets by four judges
TABLE = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
NAMES = [
    *("icc_1_1", "icc_2_1", "icc_3_1", "icc_1_k", "icc_2_k", "icc_3_k", "cronbach_alpha"),
    *("krippendorff_nominal", "krippendorff_ordinal", "krippendorff_interval", "krippendorff_ratio"),
    *("gwet_ac1", "gwet_ac2_linear", "gwet_ac2_quadratic"),
]


def wide(path, rows=TABLE, header="a,b,c,d"):
    path.write_text("\n".join([header, *(",".join("" if v is None else str(v) for v in row) for row in rows)]) + "\n")
    return path


def test_the_command_gives_every_coefficient_as_published(command, tmp_path):
    told = command("study", "reliability", wide(tmp_path / "r.csv"), "--json")
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout)
    rows = {row["coefficient"]: row for row in found["reliability"]}
    assert set(NAMES) <= set(rows)
    assert rows["icc_2_1"]["value"] == pytest.approx(0.2898, abs=5e-5)
    assert (rows["icc_2_1"]["value_low"], rows["icc_2_1"]["value_high"]) == pytest.approx((0.019, 0.761), abs=6e-4)
    assert rows["icc_3_k"]["value"] == pytest.approx(0.9093, abs=5e-5)
    assert found["report"] in NAMES


def test_long_form_says_the_same(tmp_path):
    lines = [f"{r},{i},{v}" for i, row in enumerate(TABLE) for r, v in zip("abcd", row, strict=True)]
    long = tmp_path / "long.csv"
    long.write_text("\n".join(["rater,item,value", *lines]) + "\n")
    one, other = reliability(read_ratings(long)), reliability(read_ratings(wide(tmp_path / "wide.csv")))
    assert one.to_frame().equals(other.to_frame())


def test_gaps_and_named_items_are_allowed(tmp_path):
    rows = [[f"text {i}", *row] for i, row in enumerate(TABLE)]
    rows[2][1] = None
    found = reliability(read_ratings(wide(tmp_path / "r.csv", rows, "item,a,b,c,d")))
    assert (found.n_items, found.n_raters, found.n_missing) == (6, 4, 1)
    assert found.coefficients["krippendorff_interval"].state == "ok"


def test_no_variance_is_a_state(tmp_path):
    found = reliability(read_ratings(wide(tmp_path / "r.csv", [[3, 3, 3]] * 5, "a,b,c")))
    assert found.coefficients["icc_2_1"].state == "undefined"
    assert found.coefficients["icc_2_1"].value is None


def test_what_does_not_fit_is_told(tmp_path):
    with pytest.raises(InputError, match="column of ratings"):
        read_ratings(wide(tmp_path / "one.csv", [["x", 1], ["y", 2]], "item,a"))
    with pytest.raises(InputError, match="value x is not a number"):
        read_ratings(wide(tmp_path / "text.csv", [["i", 1, "x"], ["j", 2, 3]], "item,a,b"))
    long = tmp_path / "long.csv"
    long.write_text("rater,item,dimension,value\na,i,voice,1\na,i,logic,2\n")
    with pytest.raises(OptionError, match="2 dimensions"):
        reliability(read_ratings(long))
    with pytest.raises(OptionError, match="No rater effects called 'random'"):
        reliability(read_ratings(wide(tmp_path / "r.csv")), rater_effects="random")


def test_a_column_of_the_ratings_may_group_items():
    ratings = read_ratings(ROOT / "examples/study/ratings.csv").frame.filter(pl.col("dimension") == "voice")
    grouped = Ratings(ratings.with_columns(prompt=pl.col("item").str.slice(-1)))
    plain, found = reliability(grouped), reliability(grouped, cluster="prompt")
    assert found.coefficients["icc_2_1"].value == pytest.approx(plain.coefficients["icc_2_1"].value)
    assert found.coefficients["icc_2_1"].low != plain.coefficients["icc_2_1"].low
    assert found.provenance.settings["cluster"] == "prompt"
    with pytest.raises(OptionError, match="No column to cluster by called 'prompts'"):
        reliability(grouped, cluster="prompts")
