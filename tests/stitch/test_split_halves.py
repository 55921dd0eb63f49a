"""Do two halves of the benchmarks agree as well as the noise says?"""

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit

from howsure.stitch.cleaning import prepare_scores
from howsure.stitch.model.fits import solve_hierarchy, solve_ridge
from howsure.stitch.model.problem import AnchorBenchmark
from howsure.stitch.model.replicates import half_disagreement
from howsure.stitch.scale import fit
from howsure.stitch.simulator import simulate
from howsure.tables import Scores


@pytest.fixture(scope="module")
def rows():
    return simulate(n_models=40, n_benchmarks=12, density=0.8, seed=2).scores.frame


@pytest.fixture(scope="module")
def with_a_second_trait(rows):
    """Each model has a trait that half of the benchmarks reward and the others punish."""
    rng = np.random.default_rng(0)
    trait = dict(zip(rows["model"].unique().sort(), rng.standard_normal(40), strict=True))
    side = dict(zip(rows["benchmark"].unique().sort(), rng.permutation([1, -1] * 6), strict=True))
    moved = [0.8 * trait[m] * side[b] for m, b in rows.select("model", "benchmark").rows()]
    score = expit(logit(np.clip(rows["score"].to_numpy(), 0.01, 0.99)) + moved)
    return rows.with_columns(score=score, floor=pl.lit(0.0))


def test_halves_disagree_more_where_there_is_a_second_trait(rows, with_a_second_trait):
    one, two = (half_disagreement(solve_hierarchy(prepare_scores(Scores(r)))) for r in (rows, with_a_second_trait))
    assert 1 <= one < 1.4
    assert two > 1.2 * one


def test_the_scale_says_so_and_has_wider_intervals(with_a_second_trait):
    wide = fit(with_a_second_trait, n_replicates=100)
    plain = fit(with_a_second_trait, n_replicates=100, error_factor=1.0)
    factor = wide.provenance.settings["error_factor"]
    widths = [(f.models["capability_high"] - f.models["capability_low"]).mean() for f in (wide, plain)]
    assert widths[0] > widths[1] * (1 + (factor - 1) / 2)
    assert any(
        f"differ {factor:.2f} times as much as the noise of the scores explains" in n for n in wide.provenance.notes
    )
    assert not any("two halves" in note for note in plain.provenance.notes)


def test_it_is_1_for_the_published_objective_and_for_tables_that_are_too_small(rows):
    problem = prepare_scores(Scores(rows))
    assert half_disagreement(solve_ridge(problem, AnchorBenchmark(0))) == 1
    few = rows.filter(pl.col("model").is_in(rows["model"].unique().sort().head(8).to_list()))
    assert half_disagreement(solve_hierarchy(prepare_scores(Scores(few), min_benchmarks=2))) == 1
