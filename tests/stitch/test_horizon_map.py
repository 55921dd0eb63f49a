"""Time horizons on capability: against the published numbers, by hand, and with planted truths."""

import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from howsure.errors import InputError
from howsure.stats.trends import fit_line
from howsure.stitch.forecasting.horizon_map import held_out_r2, map_horizons, read_horizons
from howsure.stitch.scale import fit
from howsure.stitch.simulator import simulate

SHARED = Path(__file__).parents[2] / "../shared"
METR = SHARED / "data/epoch-2025-11/external_benchmark_metr.csv"
MODELS = SHARED / "reference/stitch_paper/models.csv"
needs_paper = pytest.mark.skipif(not (METR.is_file() and MODELS.is_file()), reason="the published data are not here")


@pytest.fixture(scope="module")
def world():
    return simulate(n_models=60, n_benchmarks=16, seed=2)


@pytest.fixture(scope="module")
def scale(world):
    return fit(world.scores, n_replicates=60)


@pytest.fixture(scope="module")
def horizons(scale):
    """Planted on the fitted scale: ln(minutes) = 1 + 1.5·capability + noise."""
    rng = np.random.default_rng(0)
    names = scale.models.sample(30, seed=1).select("model", "capability")
    minutes = np.exp(1 + 1.5 * names["capability"].to_numpy() + rng.normal(0, 0.3, 30))
    return names.select("model").with_columns(minutes=minutes)


@needs_paper
def test_the_published_map():
    table = read_horizons(METR)
    joined = pl.read_csv(MODELS).join(table, on="model")
    line = fit_line(joined["capability"], np.log(joined["minutes"]))
    assert line.n == 23
    assert line.slope.value == pytest.approx(3.383, abs=5e-4)
    assert line.r2 == pytest.approx(0.839, abs=5e-4)


@needs_paper
@pytest.mark.heavy
def test_the_real_table_from_scores_to_map():
    from howsure.sources import epoch

    scale = fit(epoch.read([METR.parent]), preset="paper", anchor="Winogrande", n_replicates=100)
    found = map_horizons(scale, METR)
    assert found.line.n == 23
    assert found.slope.value == pytest.approx(3.383, abs=1e-3)
    assert 0.4 < found.held_out_r2.low < found.held_out_r2.value < found.line.r2
    assert any("7 of 30 models" in note for note in found.provenance.notes)


def test_the_held_out_share_leaves_whole_families_out():
    rng = np.random.default_rng(1)
    x, family = rng.normal(0, 1, 15), np.repeat(np.arange(5), 3)
    y = 2 * x + rng.normal(0, 0.5, 15)
    missed, around = 0.0, 0.0
    for f in range(5):
        out = family == f
        line = np.polyfit(x[~out], y[~out], 1)
        missed += np.sum((y[out] - np.polyval(line, x[out])) ** 2)
        around += np.sum((y[out] - y[~out].mean()) ** 2)
    assert held_out_r2(x, y, family) == pytest.approx(1 - missed / around)


def test_weights_are_copies_of_families():
    rng = np.random.default_rng(2)
    x, y, family = rng.normal(0, 1, 9), rng.normal(0, 1, 9), np.repeat(np.arange(3), 3)
    twice = np.concatenate([np.arange(9), np.arange(3)])
    weights = np.where(family == 0, 2.0, 1.0)
    assert held_out_r2(x, y, family, weights) == pytest.approx(held_out_r2(x[twice], y[twice], family[twice]))


def test_noise_explains_nothing_held_out():
    rng = np.random.default_rng(3)
    shares = [held_out_r2(rng.normal(size=20), rng.normal(size=20), np.arange(20)) for _ in range(200)]
    assert np.mean(shares) < 0


def test_the_map_finds_the_planted_slope(scale, horizons):
    found = map_horizons(scale, horizons)
    assert found.slope.covers(1.5)
    assert found.slope.width > found.line.slope.width
    assert found.doublings.value == pytest.approx(found.slope.value / math.log(2))
    assert 0.8 < found.held_out_r2.low < found.held_out_r2.value < found.held_out_r2.high < 1
    there = found.minutes(1.0)
    assert there.low < math.exp(2.5) < there.high
    assert there.low > 0


def test_the_interval_of_the_slope_holds_it_as_often_as_stated(scale):
    rng, n, held = np.random.default_rng(5), 60, 0
    capability = scale.models["capability"].to_numpy()
    for _ in range(n):
        chosen = rng.choice(len(capability), 25, replace=False)
        minutes = np.exp(1.5 * capability[chosen] + rng.normal(0, 0.4, 25))
        rows = dict(zip(scale.models["model"].gather(chosen), minutes, strict=True))
        held += map_horizons(scale, rows, n_replicates=20).slope.covers(1.5)
    assert held / n > 0.9


def test_every_model_of_the_scale_gets_a_horizon(scale, horizons, tmp_path):
    found = map_horizons(scale, horizons)
    frame = found.to_frame()
    assert len(frame) == len(scale.models)
    assert frame["published"].count() == 30
    assert (frame["minutes_low"] < frame["minutes"]).all()
    row = frame.row(0, named=True)
    assert row["minutes"] == pytest.approx(found.minutes(row["capability"]).value)
    assert {path.name for path in found.save(tmp_path)} == {
        "horizon_map.csv", "horizon_points.csv", "horizon_map.json", "horizon_map.result.zip",
    }  # fmt: skip
    told = json.loads((tmp_path / "horizon_map.json").read_text())
    assert told["n_models"] == 30
    assert told["held_out_r2"]["low"] == pytest.approx(found.held_out_r2.low)


def test_the_same_seed_gives_the_same_interval(scale, horizons):
    first, second, other = (map_horizons(scale, horizons, seed=seed).held_out_r2 for seed in (0, 0, 1))
    assert first == second
    assert first.low != other.low


def test_the_bridge_gives_the_same_slope(scale, horizons, tmp_path):
    """Two verbs, one number: the bridge left out families and the capabilities' own errors."""
    from howsure.bridges.scales import map_scales, read_scale

    scale.save(tmp_path)
    kind, capability = read_scale(tmp_path)
    minutes = horizons.select("model", pl.col("minutes").alias("value"))
    (link, _) = map_scales({kind: capability, "minutes": minutes}).links
    here = map_horizons(scale, horizons).doublings
    assert (link.x, link.y) == ("capability", "minutes")
    assert (link.slope.value, link.slope.low, link.slope.high) == pytest.approx(
        (here.value, here.low, here.high), rel=1e-9
    )


def test_horizons_come_as_mapping_frame_or_file(scale, horizons, tmp_path):
    path = tmp_path / "horizons.csv"
    horizons.rename({"model": "Model version", "minutes": "Time horizon"}).write_csv(path)
    slopes = [map_horizons(scale, given).slope for given in (horizons, dict(horizons.iter_rows()), path)]
    assert slopes[0].value == pytest.approx(slopes[1].value)
    assert slopes[0].value == pytest.approx(slopes[2].value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("model,minutes\na,5\nb,-2\n", r"line 3: a time horizon of -2 \(b\)"),
        ("model,minutes\na,soon\n", r"line 2: a time horizon of soon \(a\)"),
        ("model,minutes\na,5\na,6\n", r"a has two rows. Keep one row per model"),
        ("name,minutes\na,5\n", r"no column 'model' in name, minutes"),
        ("model,hours\na,5\n", r"no column 'minutes' in model, hours"),
    ],
)
def test_wrong_horizons_are_explained(text, says, tmp_path):
    path = tmp_path / "horizons.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=says):
        read_horizons(path)


def test_empty_horizons_are_left_out(tmp_path):
    path = tmp_path / "horizons.csv"
    path.write_text("model,minutes\na,5\nb,\n")
    assert read_horizons(path)["model"].to_list() == ["a"]


def test_too_few_shared_models_are_not_mapped(scale, horizons):
    with pytest.raises(
        InputError, match=r"4 of 5 models with a time horizon are on the scale; a map needs 5, of 3 families"
    ):
        map_horizons(scale, {**dict(horizons.head(4).iter_rows()), "nobody": 3.0})


def test_a_scale_without_replicates_says_what_the_intervals_lack(world, horizons):
    found = map_horizons(fit(world.scores, n_replicates=0), horizons)
    assert any("no replicates" in note for note in found.provenance.notes)
    assert found.slope.width > 0


def test_a_file_of_names_joins_models_that_are_spelt_differently(scale, horizons, tmp_path):
    whole = map_horizons(scale, horizons)
    spelt = horizons.with_columns(pl.col("model").str.to_uppercase())
    with pytest.raises(InputError, match=r"Counted apart, but may be the same: .* \(case\)"):
        map_horizons(scale, spelt)
    file = tmp_path / "names.yaml"
    lines = [f"  {name}: [{name.upper()}]" for name in horizons["model"]]
    file.write_text("\n".join(["models:", *lines]))
    assert map_horizons(scale, spelt, names=file).points.equals(whole.points)
    lines = [
        f"  {name.upper()}: [{name}]" for name in horizons["model"]
    ]  # the other way round: the names of the scale stay
    file.write_text("\n".join(["models:", *lines]))
    assert map_horizons(scale, spelt, names=file).points.equals(whole.points)


def test_some_models_that_are_spelt_differently_are_named(scale, horizons):
    other = horizons["model"][0]
    spelt = horizons.with_columns(
        pl.when(pl.col("model") == other).then(pl.lit(other.upper())).otherwise("model").alias("model")
    )
    notes = " ".join(map_horizons(scale, spelt).provenance.notes)
    assert f"{other.upper()}" in notes
    assert "howsure names" in notes


def test_a_file_of_names_cannot_make_one_model_of_two(scale, horizons, tmp_path):
    one, two = horizons["model"][:2]
    file = tmp_path / "names.yaml"
    file.write_text(f"models:\n  {one}: [{two}]\n")
    with pytest.raises(InputError, match="makes one model"):
        map_horizons(scale, horizons, names=file)
