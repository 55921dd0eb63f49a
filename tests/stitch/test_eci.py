"""The preset `eci` on a zip of Epoch's schema, against the published procedure written down again with scipy."""

import zipfile

import numpy as np
import polars as pl
import pytest
from scipy.optimize import least_squares
from scipy.special import expit

from howsure.sources import epoch
from howsure.stitch import domains, fit

N_GROUPS, N_BENCHMARKS = 24, 9


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A zip with the columns of the published one: groups of versions, percentages, floors, ceilings, a superseded benchmark."""
    rng = np.random.default_rng(0)
    capability = np.linspace(-1.5, 2.5, N_GROUPS) + 0.3 * rng.normal(size=N_GROUPS)
    difficulty, slope = np.linspace(-1.5, 2.5, N_BENCHMARKS), rng.uniform(0.8, 2.0, N_BENCHMARKS)
    floor = np.where(np.arange(N_BENCHMARKS) % 3 == 0, 0.25, 0.0)
    ceiling = np.where(np.arange(N_BENCHMARKS) % 4 == 1, 0.95, 1.0)
    names = ["Winogrande", *(f"Bench {i}" for i in range(1, N_BENCHMARKS))]
    groups = ["Claude 3.5 Sonnet" if i == 12 else "GPT-5" if i == 22 else f"Group {i}" for i in range(N_GROUPS)]
    versions, scores = [], {name: [] for name in names}
    for g, group in enumerate(groups):
        year = 2022 if g == 0 else 2023 + g // 9
        for effort in ("low", "high")[: 1 + g % 2]:
            version = f"{group.lower().replace(' ', '-')}_{effort}"
            versions.append((version, group, f"{year}-0{1 + g % 9}-15"))
            for b, name in enumerate(names):
                if rng.random() < 0.75:
                    share = expit(slope[b] * (capability[g] - 0.3 * (effort == "low") - difficulty[b]))
                    value = floor[b] + (ceiling[b] - floor[b]) * share + 0.03 * rng.normal()
                    scores[name].append((version, round(float(np.clip(value, 0, 1)), 4)))
    path = tmp_path_factory.mktemp("epoch") / "benchmark_data.zip"
    with zipfile.ZipFile(path, "w") as archive:
        header = (
            "benchmark,in_eci,source_file,score_column,scale,random_baseline,score_ceiling,release_date,superseded_by\n"
        )
        lines = [
            f"{name},True,bench_{b}_external.csv,Percent correct,0.01,{floor[b]},{ceiling[b]},2023-01-0{b + 1},{'Bench 8' if name == 'Bench 7' else ''}\n"
            for b, name in enumerate(names)
        ]
        archive.writestr("benchmark_metadata.csv", header + "".join(lines))
        told = "".join(f"{v},{g},{day},,Org,Country,API access,\n" for v, g, day in versions)
        archive.writestr(
            "model_metadata.csv",
            f"model_version,model_group,date,display_name,organization,country,accessibility,training_compute_flop\n{told}",
        )
        for b, name in enumerate(names):
            rows = "".join(f"{version},{100 * value:.2f},Board\n" for version, value in scores[name])
            archive.writestr(f"bench_{b}_external.csv", f"Model version,Percent correct,Source\n{rows}")
    table = pl.DataFrame(
        [(v, name, round(100 * s, 2) / 100) for name, some in scores.items() for v, s in some],
        schema=["model", "benchmark", "score"],
        orient="row",
    ).join(pl.DataFrame(versions, schema=["model", "group", "date"], orient="row"), on="model")
    limits = {name: (floor[b], ceiling[b]) for b, name in enumerate(names)}
    return path, table, limits


def published(table, limits):
    """Capabilities of the groups by the published procedure: best score of a group, stretched and clipped, least squares with one ridge, two groups at 130 and 150."""
    rows = (
        table.filter(pl.col("benchmark") != "Bench 7")
        .group_by("group", "benchmark")
        .agg(pl.col("score").max(), pl.col("date").min())
    )
    first = table.group_by("group").agg(pl.col("date").min().alias("first"))
    rows = rows.join(first, on="group").filter(pl.col("benchmark").n_unique().over("group") >= 4)
    rows = rows.filter(pl.col("first") >= "2023-01-01").sort("group", "benchmark")
    groups, names = sorted(set(rows["group"])), sorted(set(rows["benchmark"]))
    m = np.array([groups.index(one) for one in rows["group"]])
    b = np.array([names.index(one) for one in rows["benchmark"]])
    floor, ceiling = (np.array([limits[name][i] for name in names])[b] for i in (0, 1))
    y = np.clip((rows["score"].to_numpy() - floor) / (ceiling - floor), 1e-3, 1 - 1e-3)
    pinned = names.index("Winogrande")
    free = [i for i in range(len(names)) if i != pinned]
    n = len(groups) + len(names) + len(free)

    def residuals(theta):
        slope = np.ones(len(names))
        slope[free] = theta[len(groups) + len(names) :]
        fitted = expit(slope[b] * (theta[m] - theta[len(groups) + b]))
        return np.concatenate([fitted - y, np.sqrt(0.1 / n) * theta])

    low = np.concatenate([np.full(len(groups) + len(names), -10.0), np.full(len(free), 0.1)])
    start = np.concatenate([np.zeros(len(groups) + len(names)), np.ones(len(free))])
    found = least_squares(residuals, start, bounds=(low, 10.0), xtol=1e-14, ftol=1e-14, gtol=1e-14).x[: len(groups)]
    at = {name: found[groups.index(name)] for name in ("Claude 3.5 Sonnet", "GPT-5")}
    unit = 20 / (at["GPT-5"] - at["Claude 3.5 Sonnet"])
    return {name: 130 + unit * (value - at["Claude 3.5 Sonnet"]) for name, value in zip(groups, found, strict=True)}


def test_the_index_equals_the_published_procedure(made):
    path, table, limits = made
    scale = fit(epoch.read([path]), preset="eci")
    expected = published(table, limits)
    ours = dict(scale.models.select("model", "capability").iter_rows())
    assert set(ours) == set(expected)
    assert max(abs(ours[name] - value) for name, value in expected.items()) < 0.2
    assert (ours["Claude 3.5 Sonnet"], ours["GPT-5"]) == pytest.approx((130, 150))
    assert "Bench 7" not in scale.problem.benchmarks


def test_domains_keep_the_curves_of_the_index(made):
    path, *_ = made
    scale = fit(epoch.read([path]), preset="eci", n_replicates=20)
    found = domains(scale, {"hard": ["Bench 5", "Bench 6", "Bench 8"]})
    both = found.models.join(scale.models.select("model", own="capability"), on="model")
    # on the scale of the index, near the whole index
    assert abs((both["capability"] - both["own"]).mean()) < 5
    assert np.corrcoef(both["capability"], both["own"])[0, 1] > 0.8


def test_the_zip_names_countries_and_accessibility(made):
    path, *_ = made
    models = epoch.read_models(path)
    assert {"model", "country", "accessibility", "family"} <= set(models.columns)
    assert set(models["country"]) == {"Country"}
