"""Scaling apart from algorithms: against the published numbers, statsmodels, and planted truths."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from howsure.errors import InputError
from howsure.results import Provenance
from howsure.stitch.forecasting.scaling import (
    QUANTITIES,
    Coefficients,
    Computed,
    as_published,
    calendar_years,
    explained,
    jointly,
    progress,
    ratio,
    separate,
    size_families,
    two_stages,
)
from howsure.stitch.scale import fit
from howsure.stitch.simulator import PER_LOG10_FLOP, PER_YEAR, simulate
from howsure.tables import Scores

SHARED = Path(__file__).parents[2] / "../shared"
PAPER, EPOCH = SHARED / "reference/stitch_paper", SHARED / "data/epoch-2025-11"
needs_paper = pytest.mark.skipif(not (PAPER.is_dir() and EPOCH.is_dir()), reason="the published data are not here")
NOT_DISTILLED = ("claude-3-5-sonnet-20240620", "claude-3-5-sonnet-20241022")


def planted(rng, *, per_oom=0.3, per_year=0.4, shared=0.0, n_families=24, size=3, replicates=0):
    """Families of one date whose models differ in compute; ``shared`` is the spread of what a family has in common."""
    family = np.repeat(np.arange(n_families), size)
    days = np.repeat(rng.integers(19_000, 20_200, n_families), size)
    compute = np.repeat(rng.normal(24, 0.7, n_families), size) + np.tile(np.linspace(-0.8, 0.8, size), n_families)
    years = calendar_years(days)
    effect = shared * rng.standard_normal(n_families)[family] + 0.05 * rng.standard_normal(len(days))
    capability = per_oom * (compute - 24) + per_year * (years - 2023) + effect
    drawn = capability + 0.05 * rng.standard_normal((replicates, len(days)))
    names = tuple(f"m{i}" for i in range(len(days)))
    return Computed(names, days, capability, compute, tuple(f"f{f}" for f in family), drawn)


@pytest.fixture(scope="module")
def paper():
    models = pl.read_csv(PAPER / "models.csv", try_parse_dates=True)
    flop = pl.read_csv(EPOCH / "epoch_capabilities_index.csv").select(
        pl.col("Model version").alias("model"), pl.col("Training compute (FLOP)").alias("compute")
    )
    rows = models.join(flop.drop_nulls(), on="model").filter(~pl.col("model").is_in(distilled()))
    days = rows["date"].to_physical().to_numpy().astype(np.int64)
    names = tuple(rows["model"])
    return Computed(
        names, days, rows["capability"].to_numpy(), np.log10(rows["compute"].to_numpy()), size_families(names, days), np.empty((0, len(names)))
    )  # fmt: skip


def distilled():
    marked = pl.read_csv(EPOCH / "distilled_models.csv").filter("distilled")["model"]
    return [name for name in marked if name not in NOT_DISTILLED]


@pytest.fixture(scope="module")
def world():
    return simulate(n_models=80, n_benchmarks=20, seed=1)


@pytest.fixture(scope="module")
def scale(world):
    return fit(world.scores, n_replicates=60)


# against the published numbers


@needs_paper
def test_the_published_joint_regression(paper):
    ols = jointly(paper, 0.95, is_plain=True)
    assert len(paper.models) == 68
    assert ols.value[1:] == pytest.approx((0.3107, 0.3747), abs=5e-5)
    assert explained(paper, ols) == pytest.approx(0.897, abs=5e-4)
    told = as_published(ols)
    assert (told.value, told.low, told.high) == pytest.approx((1.206, 0.837, 1.575), abs=5e-4)


@needs_paper
def test_the_published_interval_leaves_out_that_the_two_slopes_are_correlated(paper):
    ols = jointly(paper, 0.95, is_plain=True)
    whole = ratio(ols, [0, 0, 1], [0, 1, 0])
    assert ols.covariance[1, 2] < 0
    assert whole.low < as_published(ols).low
    assert whole.high > as_published(ols).high
    assert (whole.low, whole.high) == pytest.approx((0.791, 1.807), abs=5e-4)


@needs_paper
@pytest.mark.heavy
def test_the_real_table_from_scores_to_progress():
    from howsure.sources import epoch

    scale = fit(epoch.read([EPOCH]), preset="paper", anchor="Winogrande", n_replicates=100)
    found = progress(scale)
    assert len(found.models) == 68
    assert any("models are excluded as distilled" in note for note in found.provenance.notes)
    assert len(progress(scale, keep_distilled=True).models) > 68
    assert found.rate("per_oom", "joint, OLS").value == pytest.approx(0.3107, abs=5e-5)
    assert found.rate("oom_per_year", "joint, as published").low == pytest.approx(0.837, abs=5e-4)
    assert found.rate("oom_per_year").width > found.rate("oom_per_year", "joint, OLS").width
    assert found.rate("per_oom", "within families").state == "ok"


# against other code


def test_the_joint_fit_is_that_of_statsmodels():
    import statsmodels.api as sm

    data = planted(np.random.default_rng(0), shared=0.2)
    design = sm.add_constant(np.column_stack([data.compute, data.years]))
    theirs = sm.OLS(data.capability, design).fit()
    ours = jointly(data, 0.95, is_plain=True)
    assert ours.value[1:] == pytest.approx(theirs.params[1:])
    assert ours.covariance[1:, 1:] == pytest.approx(theirs.cov_params()[1:, 1:], rel=1e-6)
    low, high = theirs.conf_int()[1]
    assert (ours.combined([0, 1, 0]).low, ours.combined([0, 1, 0]).high) == pytest.approx((low, high))


def test_two_stages_are_those_of_statsmodels():
    import statsmodels.api as sm

    data = planted(np.random.default_rng(1), shared=0.2)
    dummies = (np.array(data.family)[:, None] == sorted(set(data.family))).astype(float)
    k = sm.OLS(data.capability, np.column_stack([data.compute, dummies])).fit().params[0]
    g = sm.OLS(data.capability - k * data.compute, sm.add_constant(data.years)).fit().params[1]
    assert two_stages(data, 0.95).value == pytest.approx([k, g])


def test_fiellers_interval_holds_the_ratios_that_the_data_allow():
    of = Coefficients(np.array([2.0, 1.0]), np.array([[0.04, -0.01], [-0.01, 0.02]]), 30, 0.95)
    found = ratio(of, [1, 0], [0, 1])
    for end in (found.low, found.high):
        at_the_end = of.combined([1, -end])
        assert min(abs(at_the_end.low), abs(at_the_end.high)) < 1e-9
    assert of.combined([1, -found.value]).value == pytest.approx(0)


def test_a_divisor_that_may_be_zero_leaves_the_ratio_open():
    of = Coefficients(np.array([2.0, 0.1]), np.diag([0.01, 0.04]), 30, 0.95)
    found = ratio(of, [1, 0], [0, 1])
    assert (found.low, found.high, found.low_state) == (None, None, "unbounded")
    assert "may be 0" in found.reason
    assert ratio(Coefficients(np.zeros(2), np.eye(2), 9, 0.95), [1, 0], [0, 1]).state == "undefined"


# against planted truths


def test_intervals_hold_the_planted_slopes_as_often_as_stated():
    rng, n, held = np.random.default_rng(4), 80, np.zeros(4)
    for _ in range(n):
        data = planted(rng, shared=0.25)
        joint, staged = jointly(data, 0.95), two_stages(data, 0.95)
        plain = jointly(data, 0.95, is_plain=True)
        held += [
            joint.combined([0, 0, 1]).covers(0.4),
            plain.combined([0, 0, 1]).covers(0.4),
            staged.combined([0, 1]).covers(0.4),
            ratio(staged, [0, 1], [1, 0]).covers(0.4 / 0.3),
        ]
    joint, plain, per_year, years = held / n
    assert 0.89 <= joint <= 0.99
    assert plain < 0.86  # three models of a family are not three models
    assert per_year >= 0.89
    assert years >= 0.89


def test_the_second_stage_carries_the_uncertainty_of_the_first():
    """Few families tell k badly: taking it as known would leave most of the uncertainty of g out."""
    rng = np.random.default_rng(6)
    data = planted(rng, shared=0.02, n_families=40, size=1)
    family = ("a", "a", "b", "b", "c", "c", *data.family[6:])
    data = Computed(data.models, data.days, data.capability, data.compute, family, data.drawn)
    whole = two_stages(data, 0.95)
    growth = np.polyfit(data.years, data.compute, 1)[0]
    from_first = abs(growth) * np.sqrt(whole.covariance[0, 0])
    assert np.sqrt(whole.covariance[1, 1]) > 0.5 * from_first
    assert whole.df == 2


def test_redrawn_capabilities_widen_every_interval():
    known, redrawn = (planted(np.random.default_rng(7), shared=0.1, replicates=n) for n in (0, 300))
    for fitted in (jointly, two_stages):
        narrow, wide = (np.diag(fitted(data, 0.95).covariance) for data in (known, redrawn))
        assert (wide > narrow).all()


@pytest.mark.heavy
@pytest.mark.parametrize("n", [4, pytest.param(20, marks=pytest.mark.evidence)])
def test_the_planted_world_is_recovered_on_its_own_scale(n):
    held = np.zeros(2)
    for seed in range(n):
        world = simulate(n_models=80, n_benchmarks=20, seed=seed)
        scale = fit(world.scores, n_replicates=60)
        linked = scale.link({**dict(world.models.select("model", "capability").iter_rows()), "0": 0.0, "1": 1.0})
        unit = linked["1"] - linked["0"]
        found = progress(scale)
        held += [found.rate("per_oom").covers(PER_LOG10_FLOP * unit), found.rate("per_year").covers(PER_YEAR * unit)]
    assert (held / n >= (0.8 if n == 20 else 0.5)).all()  # 0.95 less three standard errors, at least


# families


def test_families_are_names_without_size_and_come_together():
    names = [
        "LLaMA-7B",
        "LLaMA-65B",
        "falcon-40b",
        "falcon-180B",
        "qwen3-235b-a22b",
        "Mixtral 8x7B",
        "Baichuan 2-7B",
        "Baichuan2-13B",
    ]
    days = np.array([0, 0, 10, 200, 5, 5, 50, 64])
    assert size_families(names, days) == (
        "llama", "llama", "falcon", "falcon (2)", "qwen3", "mixtral", "baichuan2", "baichuan2",
    )  # fmt: skip


def test_one_family_that_carries_all_is_named():
    data = planted(np.random.default_rng(0), n_families=2, size=4)
    with pytest.raises(InputError, match="Without f0 compute and time cannot be separated"):
        jointly(data, 0.95)


# the whole


def test_progress_holds_what_it_promises(scale, tmp_path):
    found = progress(scale)
    frame = found.to_frame()
    assert set(frame["quantity"]) == set(QUANTITIES)
    assert {"joint", "joint, OLS", "joint, as published", "within families", "two stages"} == set(frame["method"])
    total = np.polyfit(
        calendar_years(found.models["date"].to_physical().to_numpy()), found.models["capability"].to_numpy(), 1
    )[0]
    assert found.rate("per_year").value + found.rate("per_year_by_compute").value == pytest.approx(total)
    assert {path.name for path in found.save(tmp_path)} >= {
        "progress.csv",
        "compute_needed.csv",
        "gains.csv",
        "progress.json",
    }
    told = json.loads((tmp_path / "progress.json").read_text())
    assert told["n_models"] == len(found.models)


def test_years_are_one_over_orders_of_magnitude():
    found = separate(planted(np.random.default_rng(2), shared=0.1), 0.95, Provenance({}))
    for method in ("joint", "two stages", "joint, OLS"):
        years, ooms = found.rate("years_per_oom", method), found.rate("oom_per_year", method)
        assert years.value == pytest.approx(1 / ooms.value)
        assert (years.low, years.high) == pytest.approx((1 / ooms.high, 1 / ooms.low))


def test_compute_for_the_same_capability_falls_as_the_rate_says(scale):
    found = progress(scale)
    one = found.needed.filter(capability=found.needed["capability"][0]).sort("date")
    years = calendar_years(one["date"].to_physical().to_numpy())
    slope = np.polyfit(years, np.log10(one["compute"].to_numpy()), 1)[0]
    assert -slope == pytest.approx(found.rate("oom_per_year").value, rel=1e-6)
    assert (one["compute_low"].fill_null(0) < one["compute"]).all()
    steps = found.cheapest.sort("capability", "date")
    for _, part in steps.group_by("capability"):
        assert (np.diff(part["compute"].to_numpy()) < 0).all()


def test_an_order_of_magnitude_with_few_models_says_so():
    rng = np.random.default_rng(0)
    data = planted(rng, n_families=24)
    lone = np.append(data.compute, 27.5)
    data = Computed(
        (*data.models, "big"), np.append(data.days, 20_000), np.append(data.capability, 2.0), lone, (*data.family, "big"), np.empty((0, len(lone)))
    )  # fmt: skip
    gains = separate(data, 0.95, Provenance({})).gains
    assert gains["compute"][-1] == "1e27 to 1e28"
    assert gains["per_year_state"][-1] == "too_few"
    assert gains["n_models"].sum() == len(lone)


def test_compute_and_families_can_be_given(scale, world, tmp_path):
    table = world.models.select("model", "compute", "family")
    path = tmp_path / "compute.csv"
    table.write_csv(path)
    given = progress(scale, path)
    assert given.to_frame().equals(progress(scale, table).to_frame())
    as_mapping = progress(scale, dict(zip(table["model"], table["compute"] * 10, strict=True)))
    assert as_mapping.rate("per_oom").value == pytest.approx(given.rate("per_oom").value)
    assert set(given.models["family"]) <= set(table["family"])


def test_compute_may_have_the_names_of_epochs_tables(scale, world):
    table = world.models.select("model", "compute")
    theirs = table.select(
        (pl.col("model") + " ").alias("Model version"), pl.col("compute").alias("Training compute (FLOP)")
    )
    assert progress(scale, theirs).to_frame().equals(progress(scale, table).to_frame())


def test_excluded_models_do_not_count(scale):
    everyone = progress(scale)
    some = progress(scale, exclude=everyone.models["model"].to_list()[:10])
    assert len(some.models) == len(everyone.models) - 10
    assert any("70 of 80 models are included" in note for note in some.provenance.notes)


def test_wrong_compute_is_explained(scale, world, tmp_path):
    path = tmp_path / "compute.csv"
    path.write_text("model,compute\namber-1.0,1e24\namber-1.1,-3\n")
    with pytest.raises(InputError, match=r"compute.csv line 3: compute -3 is not above 0"):
        progress(scale, path)
    with pytest.raises(InputError, match="no column 'compute'. The table needs the columns model and compute"):
        progress(scale, pl.DataFrame({"model": ["a"], "flop": [1.0]}))
    with pytest.raises(InputError, match="has two values of compute"):
        progress(scale, pl.DataFrame({"model": ["a", "a"], "compute": [1.0, 2.0]}))
    with pytest.raises(InputError, match="0 models have a date and known compute"):
        progress(scale, {"nobody": 1e24})
    bare = fit(Scores(world.scores.frame.drop("compute")))
    with pytest.raises(InputError, match="Add the column compute to the scores"):
        progress(bare)
