"""How fast horizons double: METR's published numbers, a planted trend, dates from anywhere, what is refused."""

import datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from howsure.errors import InputError
from howsure.horizon.time_horizon.charts import _apart
from howsure.horizon.time_horizon.curves import draw_curves, fit_curves, horizon, timed
from howsure.horizon.time_horizon.doubling import fit_horizon_trend
from howsure.horizon.time_horizon.horizons import time_horizons
from howsure.horizon.time_horizon.published import DatedHorizons, dated_horizons, read_releases
from howsure.horizon.time_horizon.simulator import simulate_time

PUBLISHED = Path(__file__).parents[2] / "../shared/data/metr/published_horizons_1_0.yaml"
DAY = datetime.date(2020, 1, 1)


def horizons(log2_minutes, days, drawn=None):
    frame = pl.DataFrame(
        {
            "model": [f"m{i}" for i in range(len(days))],
            "released": [DAY + datetime.timedelta(days=int(day)) for day in days],
            "minutes": np.exp2(log2_minutes),
            "minutes_low": [None] * len(days),
            "minutes_high": [None] * len(days),
        },
        schema_overrides={"minutes_low": pl.Float64, "minutes_high": pl.Float64},
    )
    edges = np.tile([-1.0, 9.0], (len(days), 1))
    return DatedHorizons(frame, np.empty((0, len(days))) if drawn is None else drawn, edges, 0.5)


@pytest.mark.parametrize(("since", "days", "n"), [(None, 195.8, 17), (datetime.date(2023, 1, 1), 165.3, 14)])
def test_published_doubling_times(since, days, n):
    if not PUBLISHED.is_file():
        pytest.skip("the published horizons are not here")
    found = fit_horizon_trend(dated_horizons(PUBLISHED), since=since)
    assert round(found.doubling.value, 1) == days
    assert found.line.n == n
    assert found.doubling.low < days < found.doubling.high
    assert found.doubling_text.startswith(f"{days} days [")


def test_the_published_frontier_is_the_published_one():
    if not PUBLISHED.is_file():
        pytest.skip("the published horizons are not here")
    import yaml

    results = yaml.safe_load(PUBLISHED.read_text())["results"]
    models = fit_horizon_trend(dated_horizons(PUBLISHED)).to_frame()
    told = {name for name, one in results.items() if one["metrics"]["is_sota"]}
    assert set(models.filter("is_frontier")["model"]) == told


def test_an_exact_line_is_found():
    days = np.array([0, 100, 300, 550, 700])
    found = fit_horizon_trend(horizons(days / 125, days))
    assert found.doubling.value == pytest.approx(125)
    assert found.line.r2 == pytest.approx(1)
    assert found.path["minutes"][-1] == pytest.approx(2 ** (700 / 125), rel=1e-3)


def test_the_first_and_the_last_model_have_their_names_and_no_name_covers_a_point():
    found = fit_horizon_trend(horizons([0.0, 1.0, 2.0, 2.9, 3.0, 3.1], [0, 300, 600, 890, 900, 905]))
    before, after = _apart(found.models.filter("is_used"), found.models)
    assert after == ["m0"]  # there is no room before it
    assert {"m1", "m2", "m5"} <= {*before}
    assert not {*before} & {*after}


def test_models_behind_the_frontier_do_not_count():
    days = np.array([0, 100, 150, 300, 400])
    found = fit_horizon_trend(horizons([0, 1, 0.3, 3, 4], days))
    assert found.to_frame()["is_frontier"].to_list() == [True, True, False, True, True]
    assert found.doubling.value == pytest.approx(100)
    same_day = fit_horizon_trend(horizons([0, 1, 0.9, 2, 3], [0, 100, 100, 200, 300]))
    assert same_day.to_frame()["is_frontier"].to_list() == [True, True, False, True, True]


def test_intervals_hold_the_planted_doubling_time():
    rng, days = np.random.default_rng(0), np.arange(10) * 150
    held = []
    for _ in range(150):
        y = days / 200 + rng.normal(0, 0.15, 10)
        frontier_all = fit_horizon_trend(horizons(np.maximum.accumulate(y) + np.arange(10) * 1e-9, days))
        held.append(frontier_all.doubling.covers(200))
    assert 0.9 < np.mean(held) <= 0.99


def test_replicates_widen_the_interval():
    rng, days = np.random.default_rng(1), np.array([0, 100, 300, 550, 700])
    y = days / 125 + np.array([0, 0.1, -0.1, 0.1, 0])
    tilt = rng.normal(0, 0.001, (500, 1)) * (days - days.mean())
    plain, moved = (fit_horizon_trend(horizons(y, days, drawn)) for drawn in (None, y + tilt))
    assert moved.doubling.value == plain.doubling.value
    assert moved.doubling.width > 1.2 * plain.doubling.width
    assert moved.plain == plain.plain
    some = np.where(rng.random((500, 5)) < 0.01, -np.inf, y + tilt)
    assert 0.9 < fit_horizon_trend(horizons(y, days, some)).doubling.width / moved.doubling.width < 1.4


def test_replicates_that_all_failed_leave_the_interval_undefined_without_a_warning():
    days = np.array([0, 100, 300, 550])
    found = fit_horizon_trend(horizons(days / 125, days, np.full((50, 4), np.nan)))
    assert found.doubling.value == pytest.approx(125)
    assert found.doubling.low_state == found.doubling.high_state == "undefined"


def test_replicates_beyond_the_range_are_censored_and_none_is_dropped():
    """A model above the longest task in a third of the replicates, and once at 7e160 minutes, leaves the interval finite."""
    rng, days = np.random.default_rng(2), np.arange(8) * 200.0
    y = days / 200 + rng.normal(0, 0.1, 8)
    drawn = y + rng.normal(0, 0.3, (600, 8))
    drawn[:200, -1], drawn[200, -1] = np.inf, 535
    found, complete = (fit_horizon_trend(horizons(y, days, some)).doubling for some in (drawn, drawn[201:]))
    assert found.high_state == "ok"
    assert 1 < found.width / complete.width < 2
    drawn[:59, 0] = np.nan  # a model without a horizon says nothing in that replicate
    assert 1 < fit_horizon_trend(horizons(y, days, drawn)).doubling.width / complete.width < 2
    drawn[:100] = np.nan
    lost = fit_horizon_trend(horizons(y, days, drawn))
    assert lost.doubling.low_state == "undefined"
    assert lost.doubling_text.endswith("days [undefined: 100 of 600 replicates failed; an interval allows 10%]")
    assert lost.path["minutes_low"].null_count() == len(lost.path)


@pytest.mark.parametrize("is_published", [False, True])
def test_intervals_cover_the_doubling_time_of_simulated_runs(is_published, tmp_path):
    """Models share tasks, so that errors are alike in neighbours and the scatter around the line hides them: alone it covers about 60 %."""
    rng, n, covered, plain = np.random.default_rng(4), 8, [], []
    for k in range(20):
        days = np.sort(rng.integers(0, 2000, n))
        models = {f"m{i}": float(2 ** (1 + days[i] / 300)) for i in range(n)}
        world = simulate_time(models, n_families=25, seed=k)
        data = timed(world.counts)
        curves = fit_curves(data)
        drawn = draw_curves(data, curves, 100, seed=k)
        estimates = [horizon(curves.of(i), drawn.of(i), data.x, 0.5, 0.95, 1) for i in range(n)]
        released = [DAY + datetime.timedelta(days=int(day)) for day in days]
        frame = pl.DataFrame({"model": list(models), "released": released, "minutes": [e.value for e in estimates]})
        frame = frame.with_columns(
            pl.Series(f"minutes_{end}", [getattr(e, end) for e in estimates]) for end in ("low", "high")
        )
        if is_published:
            frame.write_csv(tmp_path / "published.csv")
            dated = dated_horizons(tmp_path / "published.csv")
        else:
            edges = np.tile([data.x.min(), data.x.max()], (n, 1))
            dated = DatedHorizons(frame, drawn.log2_minutes(0.5), edges, 0.5)
        found = fit_horizon_trend(dated)
        covered.append(found.doubling.covers(300))
        plain.append(found.plain.covers(300))
    assert np.mean(covered) >= 0.8
    assert np.mean(plain) < 0.8


def test_what_does_not_rise_has_no_doubling_time():
    flat = fit_horizon_trend(horizons([2.0, 2.0, 2.0], [0, 100, 200]))
    assert flat.doubling.state == "undefined"
    assert "does not rise" in flat.doubling_text
    unsure = fit_horizon_trend(horizons([1.0, 1.1, 4.0], [0, 100, 110]))
    assert (unsure.doubling.high, unsure.doubling.high_state) == (None, "unbounded")
    assert unsure.doubling_text.endswith("∞]")


def test_too_few_dates_are_told():
    with pytest.raises(InputError, match=r"The frontier since 2020-06-01 has models of 1 date; a trend needs 3"):
        fit_horizon_trend(horizons([1, 2, 3], [0, 100, 200]), since=datetime.date(2020, 6, 1))


def test_a_fit_gets_its_dates_from_a_table(tmp_path):
    models = {"a": 4.0, "b": 16.0, "c": 64.0, "d": 200.0}
    found = time_horizons(simulate_time(models, seed=3).counts, n_replicates=100)
    releases = tmp_path / "releases.csv"
    releases.write_text("model,released\na,2023-01-01\nb,2023-07-01\nc,2024-01-01\n")
    dated = dated_horizons(found, read_releases(releases))
    assert dated.frame["model"].to_list() == ["a", "b", "c"]
    assert "Excluded, no release date: d." in dated.notes
    assert dated.drawn.shape == (100, 3)
    from_fit = fit_horizon_trend(dated)
    found.save(tmp_path / "fit")
    again = fit_horizon_trend(dated_horizons(tmp_path / "fit", read_releases(releases)))
    assert again.doubling == from_fit.doubling
    table = fit_horizon_trend(dated_horizons(tmp_path / "fit" / "time_horizons.csv", read_releases(releases)))
    assert table.doubling.value == pytest.approx(from_fit.plain.value)
    assert any("published intervals, taken as 95% intervals, enter" in note for note in table.provenance.notes)


def test_tables_may_have_their_own_dates(tmp_path):
    path = tmp_path / "horizons.csv"
    path.write_text(
        "model,minutes,released,state\nx,1,2020-01-01,ok\ny,2,2020-07-01,ok\nz,5,2021-01-01,ok\nw,0.5,2021-02-01,below_range\n"
    )
    dated = dated_horizons(path)
    assert dated.frame["model"].to_list() == ["x", "y", "z"]
    assert "Excluded, no horizon: w." in dated.notes
    assert 100 < fit_horizon_trend(dated).doubling.value < 250


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("h.csv", "model,length\nx,1\n", "no column 'minutes'"),
        ("h.csv", "model,minutes\nx,1\n", "both a horizon and a release date. Give the dates with releases"),
        ("h.csv", "model,minutes,released\nx,1,soon\n", "line 2: released soon is not a date"),
        ("h.csv", "model,minutes,success_rate\nx,1,0.8\n", "no horizon at success rate 0.5"),
        ("h.csv", "model,minutes,released\nx,long,2020-01-01\n", "Write numbers with digits"),
        ("h.yaml", "models: 3\n", "no results by model"),
        ("h.yaml", "results: {a: {metrics: {}}}\n", "a has no p50_horizon_length"),
        ("h.yaml", "a: [\n", "not YAML"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, name, text, says):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=says):
        dated_horizons(path)


@pytest.mark.parametrize(
    "text", ["date:\n  o1: 2024-12-05\n  'x: 2': '2024-05-13'\n", "o1: 2024-12-05\n'x: 2': 2024-05-13\n"]
)
def test_release_dates_in_yaml(tmp_path, text):
    """As METR publishes them, and as the error message advises."""
    path = tmp_path / "r.yaml"
    path.write_text(text)
    assert read_releases(path) == {"o1": datetime.date(2024, 12, 5), "x: 2": datetime.date(2024, 5, 13)}
    path.write_text(text.replace("12-05", "13-05"))
    with pytest.raises(InputError, match=r"r.yaml line \d: o1: 2024-13-05 is not a date. Write 2024-12-05"):
        read_releases(path)
    path.write_text("date:\n")
    with pytest.raises(InputError, match="not release dates by model"):
        read_releases(path)


def test_a_table_of_releases_needs_dates(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("model,when\nx,2020-01-01\n")
    with pytest.raises(InputError, match="no columns model and released"):
        read_releases(path)


EXAMPLES = Path(__file__).parents[2] / "examples/horizon"


@pytest.fixture(scope="module")
def two_domains():
    """Simulated: the horizon doubles in 120 days on tasks of code, and in 240 on tasks of research."""
    from howsure import read

    found = time_horizons(read(EXAMPLES / "domain_counts.csv"), n_replicates=200, has_sensitivity=False)
    return found, read_releases(EXAMPLES / "releases.csv")


def test_domains_have_trends_that_contain_the_true_values_and_differ(two_domains):
    trend = fit_horizon_trend(*two_domains, by="domain")
    by_domain = {row["domain"]: row for row in trend.domains.rows(named=True)}
    for domain, days in {"code": 120, "research": 240}.items():
        row = by_domain[domain]
        assert row["doubling_days_low"] < days < row["doubling_days_high"]
        assert row["per_year"] == pytest.approx(365.25 / row["doubling_days"])
    gap = trend.differences.row(0, named=True)
    assert gap["difference"] == pytest.approx(by_domain["code"]["per_year"] - by_domain["research"]["per_year"])
    assert 0 < gap["difference_low"] < gap["difference"] < gap["difference_high"]
    assert trend.doubling == fit_horizon_trend(*two_domains).doubling
    assert set(trend.charts()) == {"trend", "trend_domains"}


def test_the_trend_of_a_domain_is_that_of_its_tasks_alone(two_domains):
    """Two ways to one number: the runs of one domain given alone."""
    found, releases = two_domains
    row = fit_horizon_trend(found, releases, by="domain").domains.row(0, named=True)
    chosen = (found.data.counts.tasks["domain"] == "code").to_numpy()
    alone = time_horizons(found.data.counts.of_tasks(chosen), n_replicates=0, has_sensitivity=False)
    assert row["doubling_days"] == pytest.approx(fit_horizon_trend(alone, releases).doubling.value)


def test_what_a_model_has_in_common_in_both_domains_cancels_in_the_difference():
    """The same scatter in two domains: each line is uncertain, their difference is not."""
    from howsure.horizon.time_horizon.doubling import _differences, _fit

    days, rng = np.arange(8) * 200, np.random.default_rng(1)
    scatter = rng.normal(0, 0.15, 8)
    fits = {name: _fit(horizons(days / d + scatter, days), None, 0.95) for name, d in {"a": 100, "b": 150}.items()}
    row = _differences(fits, 0.95).row(0, named=True)
    assert row["difference"] == pytest.approx(365.25 * (1 / 100 - 1 / 150))
    assert row["difference_high"] - row["difference_low"] < 1e-6


def test_a_domain_without_a_trend_says_why_and_a_table_has_no_domains(two_domains):
    found, releases = two_domains
    from dataclasses import replace

    from howsure.errors import OptionError

    tasks = found.data.counts.tasks.with_columns(
        domain=pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("other")).otherwise("domain")
    )
    rare = time_horizons(replace(found.data.counts, tasks=tasks), n_replicates=0, has_sensitivity=False)
    rows = fit_horizon_trend(rare, releases, by="domain")
    assert rows.domains.filter(domain="other")["per_year_state"].to_list() == ["too_few"]
    assert set(rows.differences.filter(b="other")["difference_state"]) == {"too_few"}
    with pytest.raises(OptionError, match="No grouping of a trend called 'task'"):
        fit_horizon_trend(found, releases, by="task")
    with pytest.raises(InputError, match="needs the runs"):
        fit_horizon_trend(horizons([0, 1, 2], [0, 100, 200]), by="domain")


@pytest.mark.evidence
def test_coverage_of_growth_by_domain_in_a_small_form():
    """`howsure horizon coverage --of domains` on 5 data sets per design; 40 give 0.93 to 0.98."""
    from howsure.horizon import coverage

    found = coverage("domains", n_simulations=5).rows
    assert found.group_by("quantity").agg(pl.col("coverage").mean())["coverage"].min() > 0.85
