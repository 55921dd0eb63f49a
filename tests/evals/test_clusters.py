"""Which items are not independent: families by default, few of them, and columns that group items."""

import numpy as np
import polars as pl

import howsure
from howsure.evals.simulator import simulate


def grouped(name, n_groups=10, n_items=8, spread=0.3, seed=0):
    """Two models at items of groups, some of which are harder than others."""
    rng = np.random.default_rng(seed)
    rows = []
    for group in range(n_groups):
        shift = rng.normal(0, spread)
        for item in range(n_items):
            rows += [
                {
                    "subject": model,
                    "task": f"{group}/{item}",
                    name: f"g{group}",
                    "score": float(rng.random() < 0.5 + shift + gain),
                }
                for model, gain in (("a", 0.0), ("b", 0.05))
            ]
    return pl.DataFrame(rows)


def test_a_family_is_the_default_cluster_everywhere():
    attempts = simulate(n_families=12, seed=1).attempts
    for function, table in (
        (howsure.summary, None),
        (howsure.compare, None),
        (howsure.leaderboard, None),
        (howsure.overview, "overview"),
    ):
        plain, asked = function(attempts), function(attempts, cluster="family")
        assert plain.to_frame(table).equals(asked.to_frame(table)), function
        assert plain.provenance.settings["cluster"] == "family"


def test_one_family_of_all_items_is_no_cluster():
    table = grouped("family").with_columns(family=pl.lit("all"))
    assert {row.n_clusters for row in howsure.summary(table).rows} == {80}


def test_few_families_show_both_intervals():
    notes = howsure.summary(grouped("family", n_groups=3)).provenance.notes
    by_task = howsure.summary(grouped("family", n_groups=3), cluster="task").rows[0].mean
    assert any("only 3 effective families" in note and str(by_task) in note for note in notes)
    assert not any("effective families" in note for note in howsure.summary(grouped("family")).provenance.notes)


def test_families_of_unequal_size_cover_the_true_mean():
    """Seven families, of which the largest has most items: the interval over families contains the true mean, that over items does not."""
    rng, sizes = np.random.default_rng(3), [100, 40, 20, 10, 5, 3, 2]
    hits = {"family": [], "task": []}
    for _ in range(150):
        rates = rng.beta(1.4, 0.93, len(sizes))
        family = np.repeat(np.arange(len(sizes)), sizes)
        frame = pl.DataFrame(
            {
                "subject": "m",
                "task": [f"t{i}" for i in range(len(family))],
                "family": family.astype(str),
                "score": (rng.random(len(family)) < rates[family]).astype(float),
            }
        )
        for cluster, own in hits.items():
            own.append(howsure.summary(frame, cluster=cluster).rows[0].mean.covers(1.4 / 2.33))
    assert np.mean(hits["family"]) > 0.91
    assert np.mean(hits["task"]) < 0.6


def test_a_column_that_groups_similar_items_is_named():
    notes = howsure.summary(grouped("topic_area")).provenance.notes
    assert any("same topic_area resemble each other" in note and "map family=topic_area" in note for note in notes)
    assert not any("resemble" in note for note in howsure.summary(grouped("topic_area", spread=0.0)).provenance.notes)


def test_means_of_scores_without_bounds_say_where_few_scores_dominate():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {"subject": "m", "task": [f"t{i}" for i in range(30)], "score": rng.lognormal(3, 1.5, 30), "scale": "free"}
    )
    assert any("a few large scores dominate" in note for note in howsure.summary(frame).provenance.notes)
    even = frame.with_columns(score=rng.normal(100, 5, 30))
    assert not any("dominate" in note for note in howsure.summary(even).provenance.notes)
