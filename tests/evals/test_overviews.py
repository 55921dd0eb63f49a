"""The overview: its claims are those of compare, and each warning appears where its cause is there and only there."""

import json

import numpy as np
import polars as pl
import pytest

import howsure
from howsure.evals import simulate
from howsure.evals.overviews import overview
from howsure.tables import Attempts

ABILITIES = {"weak": -1.5, "middle": 0.0, "twin": 0.02}


@pytest.fixture(scope="module")
def attempts():
    return simulate(abilities=ABILITIES, n_families=10, n_attempts=2, seed=3).attempts


def changed(attempts, **columns):
    return Attempts(attempts.frame.with_columns(**columns))


def kinds(result):
    return [one.kind for one in result.warnings]


def test_claims_are_the_tests_of_compare(attempts):
    result, tested = (
        overview(attempts, cluster="family", seed=1),
        howsure.compare(attempts, by="model", cluster="family", seed=1),
    )
    assert len(result.claims) == 3
    by_pair = {frozenset((pair.a, pair.b)): pair for pair in tested.pairs}
    for claim in result.claims:
        pair = by_pair[frozenset((claim.a, claim.b))]
        assert claim.p_adjusted == pair.p_adjusted
        assert claim.difference.value == pytest.approx(abs(pair.difference.value))
        assert (claim.verdict == "supported") == (pair.p_adjusted < 0.05)
    assert {(c.a, c.b) for c in result.supported} == {("middle", "weak"), ("twin", "weak")}
    assert kinds(result) == []


def test_the_front_page_of_compare_names_who_is_better_and_what_is_open(attempts):
    (front,) = [one for one in howsure.compare(attempts, by="model", cluster="family").sections() if one.found]
    claims = overview(attempts, cluster="family")
    assert front.found[0].startswith("2 of 3 differences between models are statistically significant")
    assert front.found[1:] == [claim.sentence for claim in claims.supported]
    assert front.unknown == [f"{claim.sentence} To decide: {claim.to_decide}." for claim in claims.undecided]
    assert "items like these" in front.next_step


def test_an_open_claim_says_how_many_items_would_decide_it(attempts):
    (claim,) = overview(attempts, cluster="family").undecided
    assert {claim.a, claim.b} == {"middle", "twin"}
    assert claim.items_needed.value > claim.n_items
    assert f"{claim.items_needed.value:,.0f} items" in claim.to_decide
    assert claim.sentence.startswith(f"Whether {claim.a} is better than {claim.b}: ")
    assert claim.to_decide in overview(attempts, cluster="family").next_step


def test_the_items_that_it_asks_for_do_decide():
    """With as many items as it asks for, the same difference is found in about 80 % of simulated evals."""
    rng = np.random.default_rng(0)

    def eval_of(n, p_a=0.7, p_b=0.6):
        rows = [(s, f"t{i}", float(rng.random() < p)) for s, p in (("a", p_a), ("b", p_b)) for i in range(n)]
        return Attempts(pl.DataFrame(rows, schema=["subject", "task", "score"], orient="row"))

    pilot = next(
        r for r in (overview(eval_of(60)) for _ in range(50)) if abs(r.claims[0].difference.value - 0.1) < 1e-9
    )
    n = int(pilot.claims[0].items_needed.value)
    assert 290 < n < 440  # (1.96 + 0.84)² · 0.45 / 0.01 = 353; the pilot estimates the variance 0.45
    found = np.mean([bool(overview(eval_of(n)).supported) for _ in range(60)])
    assert found == pytest.approx(0.8, abs=0.17)


def test_a_group_of_equal_models_is_rarely_told_apart():
    n_wrong = sum(
        bool(overview(simulate(abilities=dict.fromkeys("abc", 0.0), n_families=4, seed=seed).attempts).supported)
        for seed in range(30)
    )
    assert n_wrong <= 5  # 5 % of 30 is 1.5; 6 or more has probability 0.003


def test_runs_cut_by_a_limit_are_counted_and_their_influence_is_tested(attempts):
    is_cut = (pl.col("subject") == "weak") & (pl.col("score") == 0)
    result = overview(changed(attempts, limit=pl.when(is_cut).then(pl.lit("token"))), cluster="family")
    assert kinds(result) == ["limit-cut runs"]
    n = attempts.frame.select(is_cut.sum()).item()
    assert result.warnings[0].text.startswith(f"{n:,} of {len(attempts):,} attempts")
    assert "2 of 3 verdicts change" in result.warnings[0].text  # without its failures the weak model is perfect
    assert sum(row.n_scored for row in result.contents) == len(attempts)  # they have a score


def test_errors_that_change_nothing_are_told_as_such(attempts):
    is_error = pl.int_range(pl.len()) == 0
    result = overview(changed(attempts, error=pl.when(is_error).then(pl.lit("Timeout"))), cluster="family")
    assert "Without them every verdict is the same." in result.warnings[0].text


def test_models_with_different_settings_are_told(attempts):
    warm = pl.when(pl.col("subject") == "weak").then(1.0).otherwise(0.0)
    result = overview(changed(attempts, temperature=warm, provider=pl.col("subject")), cluster="family")
    assert kinds(result) == ["mixed configurations"]
    assert "temperature (0, 1)" in result.warnings[0].text
    assert "provider" not in result.warnings[0].text


def test_a_prompt_that_varies_is_averaged_over_what_both_have(attempts):
    both = pl.concat([attempts.frame.with_columns(prompt=pl.lit(one)) for one in ("plain", "cot")]).drop("attempt")
    result = overview(Attempts(both), cluster="family")
    assert {(claim.a, claim.b) for claim in result.claims} == {(c.a, c.b) for c in overview(attempts).claims}
    assert "conclusions are about exactly these" in result.warnings[0].text
    assert "for exactly these 2 prompts" in result.comparison.pairs[0].estimand


def test_one_model_with_two_prompts_compares_the_prompts(attempts):
    one = attempts.frame.filter(pl.col("subject") == "weak")
    both = pl.concat([one.with_columns(prompt=pl.lit(name)) for name in ("plain", "cot")]).drop("attempt")
    (claim,) = overview(Attempts(both)).claims
    assert {claim.a, claim.b} == {"plain", "cot"}
    assert claim.verdict == "not decided"


def test_one_model_alone_has_a_mean_and_no_claim(attempts):
    result = overview(Attempts(attempts.frame.filter(pl.col("subject") == "weak")))
    assert result.claims == ()
    assert "another model" in result.next_step
    assert result.contents[0].mean.value is not None


@pytest.mark.parametrize(("ability", "kind"), [(9.0, "saturated"), (-9.0, "too hard")])
def test_evals_without_room_are_told(ability, kind):
    result = overview(simulate(abilities={"a": ability, "b": ability}, n_families=8, seed=1).attempts, cluster="task")
    assert kind in kinds(result)


@pytest.mark.parametrize(("scorer", "is_judge"), [("model_graded_qa", True), ("match", False)])
def test_a_judge_is_recognised_by_its_name(attempts, scorer, is_judge):
    result = overview(changed(attempts, scorer=pl.lit(scorer)), cluster="family")
    assert ("unvalidated judge" in kinds(result)) == is_judge


def test_lower_scores_can_be_better(attempts):
    result = overview(changed(attempts, better=pl.lit("lower")), cluster="family")
    assert {c.a for c in result.supported} == {"weak"}
    assert all(c.difference.value < 0 for c in result.supported)


def test_evals_that_models_do_not_share_are_compared_one_by_one(attempts):
    frame = attempts.frame
    part = frame.filter(pl.col("domain") == frame["domain"][0])
    first, second = (part.with_columns(domain=pl.lit(d), task=pl.lit(d) + pl.col("task")) for d in "xy")
    rows = pl.concat([first.filter(pl.col("subject") != "twin"), second.filter(pl.col("subject") != "weak")])
    assert {claim.task for claim in overview(Attempts(rows)).claims} == {"x", "y"}


# the command


def test_a_path_as_the_first_word_is_the_overview(command, tmp_path, attempts):
    path = attempts.write(tmp_path / "runs.csv")
    short, long = command(str(path), "--cluster", "family"), command("overview", str(path), "--cluster", "family")
    assert short.returncode == 0
    assert short.stdout == long.stdout
    assert len(short.stdout.splitlines()) <= 40
    assert "middle is better than weak" in short.stdout
    assert command(str(tmp_path / "nothing.csv")).returncode == 2


def test_programs_get_the_same(command, tmp_path, attempts):
    path = attempts.write(tmp_path / "runs.csv")
    told = json.loads(command("overview", str(path), "--cluster", "family", "--json").stdout)
    assert [row["verdict"] for row in told["overview"]] == [c.verdict for c in overview(path, cluster="family").claims]
    assert {"contents", "warnings", "provenance"} <= set(told)


def test_clear_differences_among_many_models_survive_the_correction():
    # 30 models, 435 pairs: a p-value that random flips cannot make smaller than 1/10,001 would support none of them
    ability = np.linspace(-2, 2, 30)
    items = np.random.default_rng(0).normal(0, 1, 80)
    share = 1 / (1 + np.exp(-(ability[:, None] - items)))
    rows = [
        {"subject": f"m{i:02}", "task": f"t{j:02}", "n": 20, "n_success": round(20 * float(share[i, j]))}
        for i in range(30)
        for j in range(80)
    ]
    found = overview(Attempts.of(pl.DataFrame(rows)))
    assert {("m29", "m00"), ("m20", "m05")} <= {(claim.a, claim.b) for claim in found.supported}
    assert found.standings[0].startswith("m29 is better than ")
    assert all(claim.p_adjusted < 0.001 for claim in found.supported if claim.a == "m29" and claim.b == "m00")


def test_among_many_models_the_leader_is_shown_with_its_lead_and_nobody_is_sent_for_impossible_numbers_of_items():
    successes = {"top": 36, "even": 24, "odd": 24, **{f"low{i}": 8 + i for i in range(4)}}
    rows = [
        {"subject": name, "task": f"t{j:02}", "n": 40, "n_success": n + (name == "even") * (3 - 6 * (j % 2) + (j == 0))}
        for name, n in successes.items()
        for j in range(60)
    ]
    found = overview(Attempts.of(pl.DataFrame(rows)))
    lead = next(claim.difference for claim in found.claims if (claim.a, claim.b) == ("top", "even"))
    assert found.standings[0] == f"top is better than 6 of the 6 others, of which even is next ({lead})."
    first = found.undecided[0]
    assert {first.a, first.b} == {"even", "odd"}
    assert first.items_needed.value > 1000
    assert found.next_step.startswith("even and odd are too close to decide between them on this eval: about ")
    assert [(claim.a, claim.b) for claim in found.shown_claims][:2] == [("top", "even"), ("top", "odd")]
    assert {claim.a for claim in found.shown_claims} == {"top"}


def rows(*models, score=lambda model, i: (i + len(model)) % 2):
    found = [
        {"subject": model, "task": item, "score": score(model, i)}
        for model, items in models
        for i, item in enumerate(items)
    ]
    return pl.DataFrame(found)


@pytest.mark.parametrize(
    ("data", "n_items", "reason"),
    [
        (rows(("a", "xy"), ("b", "xy"), score=lambda *_: 1), "2 items", "no difference was observed"),
        (rows(("a", "x"), ("bb", "x")), "1 item,", "an interval needs 2"),
        (rows(("a", "uvwx"), ("b", "ABCD"), score=lambda model, i: i < len(model) + (model == "a")), "8 items", "without common items"),
    ],
    ids=["equal", "single", "disjoint"],
)  # fmt: skip
def test_pairs_that_are_not_decided_are_never_called_decided(data, n_items, reason):
    found = overview(data)
    assert found.undecided
    assert "not decided" in found.next_step
    assert reason in found.next_step
    assert n_items in found.holdings  # items of all models together
    assert reason in found.undecided[0].items_needed.reason


def test_an_item_with_two_names_counts_once(attempts):
    renamed = pl.when(pl.col("subject") == "weak").then(pl.col("task") + "x").otherwise(pl.col("task"))
    found = overview(changed(attempts, item_digest=pl.col("task"), task=renamed))
    assert f"{attempts.frame['task'].n_unique()} items" in found.holdings


def test_people_and_baselines_are_not_counted_as_models():
    rows = [
        {"subject": name, "kind": kind, "task": f"t{i}", "attempt": 1, "score": float(i % 2)}
        for name, kind in (("m", "model"), ("Ann", "human"), ("guess", "baseline"))
        for i in range(4)
    ]
    found = overview(pl.DataFrame(rows))
    assert found.holdings.startswith("1 model (m), 1 human subject (Ann), 1 baseline (guess), 4 items")
    assert dict(found.tables["contents"].select("subject", "kind").iter_rows()) == {"m": "model", "Ann": "human", "guess": "baseline"}  # fmt: skip


def test_logs_without_anything_to_compare_still_have_an_overview():
    """Two models on two evals: the means are told on the front page, and why there is no claim."""
    rows = [("a", "maths", f"t{i}", i % 2) for i in range(6)] + [("b", "law", f"u{i}", 1) for i in range(6)]
    attempts = Attempts(pl.DataFrame(rows, schema=["subject", "domain", "task", "score"], orient="row"))
    result = overview(attempts)
    assert (result.claims, kinds(result)) == ((), ["nothing to compare", *kinds(result)[1:]])
    assert [line.split(":")[0] for line in result.mean_lines] == ["a on maths", "b on law"]
    front = result.sections()[0]
    assert (front.found, front.verdict) == (result.mean_lines, "Mean")
    assert "two models" in result.next_step
    one = overview(Attempts(attempts.frame.head(1)))
    assert "1 attempt (1 per" in one.holdings
    assert "no interval: " in one.mean_lines[0]
