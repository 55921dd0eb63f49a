"""Factors, cells and rows chosen by any column."""

import numpy as np
import polars as pl
import pytest

import howsure
from howsure.errors import InputError, OptionError
from howsure.evals.comparison import compare
from howsure.evals.variants import select, varying_factors
from howsure.tables import Attempts


def crossed(effect=0.3, n=80, repeats=2, seed=0):
    """Two models, two prompts; the second prompt helps the first model only."""
    rng = np.random.default_rng(seed)
    hard = rng.random(n)
    rows = []
    for model, prompt in (("x", "plain"), ("x", "cot"), ("y", "plain"), ("y", "cot")):
        rate = np.clip(
            0.5 - 0.4 * hard + (0.2 if model == "y" else 0) + (effect if (model, prompt) == ("x", "cot") else 0), 0, 1
        )
        rows += [(model, prompt, f"t{i}", float(rng.random() < rate[i])) for i in range(n) for _ in range(repeats)]
    return pl.DataFrame(rows, schema=["subject", "prompt", "task", "score"], orient="row")


def test_two_prompts_of_one_model_are_compared_without_being_asked():
    one = crossed().filter(pl.col("subject") == "x")
    (pair,) = compare(one).pairs
    assert (pair.a, pair.b, pair.held) == ("cot", "plain", "")
    means = one.group_by("prompt").agg(pl.col("score").mean()).sort("prompt")["score"]
    assert pair.difference.value == pytest.approx(means[0] - means[1])
    assert pair.n_items == 80


def test_where_models_and_prompts_vary_models_are_compared_over_exactly_these_prompts():
    (pair,) = compare(crossed()).pairs
    assert (pair.a, pair.b, pair.held) == ("x", "y", "")
    assert pair.estimand == "mean of item means, for exactly these 2 prompts"
    each = [
        compare(crossed().filter(pl.col("prompt") == prompt)).pairs[0].difference.value for prompt in ("cot", "plain")
    ]
    assert pair.difference.value == pytest.approx(np.mean(each))


def test_combinations_that_only_one_model_has_do_not_count():
    """Twice as many attempts with one prompt, and a third prompt of one model alone: every prompt that both have counts once."""
    table = crossed()
    more = table.filter(pl.col("subject") == "x", pl.col("prompt") == "cot")
    alone = more.with_columns(prompt=pl.lit("third"), score=pl.lit(1.0))
    (pair,) = compare(table).pairs
    (weighted,) = compare(pl.concat([table, more])).pairs
    assert weighted.difference.value == pytest.approx(pair.difference.value)
    unbalanced = compare(pl.concat([table, alone]))
    assert unbalanced.pairs[0].difference == pair.difference
    assert any("1 of 3 combinations of prompt" in note for note in unbalanced.provenance.notes)


def test_scorers_are_held_equal_and_never_averaged():
    rows = [
        {"subject": model, "task": f"q{i}", "scorer": scorer, "score": float((i * 7 + k) % 10 < least)}
        for k, (model, rates) in enumerate({"a": (8, 3), "b": (5, 7)}.items())
        for scorer, least in zip(("match", "judge"), rates, strict=True)
        for i in range(40)
    ]
    table = pl.DataFrame(rows)
    assert {(pair.held, pair.difference.value > 0) for pair in compare(table).pairs} == {
        ("scorer=match", True),
        ("scorer=judge", False),
    }
    assert {row.held for row in howsure.summary(table).rows} == {"scorer=match", "scorer=judge"}
    for refuses in (howsure.leaderboard, howsure.items, lambda one: howsure.gate(one, base="a", candidate="b")):
        with pytest.raises(OptionError, match="several scorers"):
            refuses(table)


def test_other_factors_are_held_equal():
    found = compare(crossed(), by="prompt").pairs
    assert [(pair.a, pair.b, pair.held) for pair in found] == [("cot", "plain", "model=x"), ("cot", "plain", "model=y")]
    for pair in found:
        alone = compare(crossed().filter(pl.col("subject") == pair.held[-1])).pairs[0]
        assert pair.difference == alone.difference


def test_crossed_factors_have_an_interaction_that_is_the_difference_of_differences():
    found = compare(crossed(), by="model,prompt")
    (interaction,) = found.interactions
    by_label = {(pair.a, pair.b): pair.difference.value for pair in found.pairs}
    expected = (
        by_label["model=x, prompt=cot", "model=y, prompt=cot"]
        - by_label["model=x, prompt=plain", "model=y, prompt=plain"]
    )
    assert interaction.interaction.value == pytest.approx(expected)
    assert interaction.p < 0.01
    assert "interactions" in found.tables


def test_interactions_contain_the_true_value():
    hits = []
    for seed in range(60):
        found = compare(crossed(effect=0.0, n=40, seed=seed), by="model,prompt").interactions[0]
        hits.append(found.interaction.covers(0.0))
    assert np.mean(hits) >= 0.88


def test_sides_name_any_columns():
    (pair,) = compare(crossed(), "model=x,prompt=cot", {"model": "y", "prompt": "plain"}).pairs
    assert (pair.a, pair.b) == ("model=x, prompt=cot", "model=y, prompt=plain")
    with pytest.raises(OptionError, match="No prompt called 'cod'. Did you mean 'cot'"):
        compare(crossed(), "model=x,prompt=cod", "model=x,prompt=plain")
    with pytest.raises(OptionError, match="both"):
        compare(crossed(), "prompt=cot", "prompt=cot")


def test_what_does_not_describe_a_run_is_not_a_factor():
    table = crossed().with_columns(
        answer=pl.Series(np.random.default_rng(0).choice(list("ABCD"), 640)), level=pl.col("task").str.slice(1, 1)
    )
    assert varying_factors(Attempts(table)) == ["subject", "prompt"]
    with pytest.raises(OptionError, match="score does not describe a run"):
        compare(table, by="score")
    with pytest.raises(OptionError, match="No column in these attempts called 'promt'"):
        compare(table, by="promt")


def test_numbers_are_factors_too():
    table = crossed().filter(pl.col("subject") == "x").with_columns(
        temperature=pl.when(pl.col("prompt") == "cot").then(1.0).otherwise(0.5)
    ).drop("prompt")  # fmt: skip
    (pair,) = compare(table).pairs
    assert (pair.a, pair.b) == ("0.5", "1")


def test_rows_are_chosen_by_any_column():
    table = Attempts(crossed().with_columns(temperature=pl.lit(0.7)))
    assert len(select(table, where=["temperature>=0.5", "prompt!=cot"])) == 320
    assert len(select(table, only=["model=x"], exclude=["prompt=cot"])) == 160
    assert len(select(table, only=["prompt=cot,plain"])) == 640
    chosen = select(table, where=["prompt=cot"])
    assert "320 of 640 attempts are included: prompt=cot." in chosen.notes
    with pytest.raises(InputError, match="No attempt fulfils prompt=cod. Values of prompt: cot, plain"):
        select(table, where=["prompt=cod"])
    with pytest.raises(OptionError, match="write a condition as column=value"):
        select(table, where=["prompt"])


def test_free_scores_are_compared_as_they_are():
    table = (
        crossed().filter(pl.col("subject") == "x").with_columns(score=pl.col("score") * 40 - 7, scale=pl.lit("free"))
    )
    (pair,) = compare(table).pairs
    assert abs(pair.difference.value) < 40
    assert pair.difference.high - pair.difference.low > 1
    two = pl.concat([table.with_columns(domain=pl.lit(name)) for name in ("a", "b")])
    assert len(compare(two, by="domain").pairs) == 2


def test_costs_stand_beside_scores():
    table = crossed().with_columns(
        cost=pl.when(pl.col("prompt") == "cot").then(0.04).otherwise(0.01), tokens=pl.lit(100)
    )
    found = compare(table, by="model,prompt")
    rows = {row.name: row for row in found.costs}
    one = rows["model=x, prompt=cot"]
    assert one.cost.value == pytest.approx(0.04)
    assert one.cost_per_success.value == pytest.approx(0.04 / one.score.value)
    assert one.cost_per_success.low < one.cost_per_success.value < one.cost_per_success.high
    assert rows["model=y, prompt=plain"].is_efficient
    assert "pareto" in found.charts()


def test_a_model_without_success_has_an_unbounded_cost_per_success():
    table = pl.DataFrame(
        {"subject": ["a"] * 3 + ["b"] * 3, "task": list("xyz") * 2, "score": [0.0] * 3 + [1.0] * 3, "cost": [1.0] * 6}
    )
    rows = {row.name: row for row in compare(table).costs}
    assert rows["a"].cost_per_success.state == "unbounded"


def test_bad_input_is_said_in_one_line():
    one = crossed().filter(pl.col("subject") == "x", pl.col("prompt") == "cot")
    with pytest.raises(InputError, match="There is only one subject to compare"):
        compare(one)
    apart = pl.DataFrame(
        {"subject": ["a", "a", "b"], "task": ["x", "x", "x"], "score": [1.0, 0, 1], "scorer": ["1", "2", "3"]}
    )
    with pytest.raises(InputError, match="No two values of model agree in scorer"):
        compare(apart, by="model")
