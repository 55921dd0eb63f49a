"""From ratings to a verdict, on small tables with known answers, on simulated raters and on real ones."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from howsure.errors import InputError, OptionError
from howsure.stats.components import crossed_mean
from howsure.stats.reliability import cronbach_alpha
from howsure.study.analysis import analyze
from howsure.study.scoring.fidelity import ModelScores, Raters, score
from howsure.study.scoring.findings import Order
from howsure.study.sections import study_sections
from howsure.study.simulator import Crowd, placeholder_study, simulate
from howsure.study.verdict import Criterion
from howsure.tables import Ratings

from .tables import DOMAINS, PAIRS, perfect, slot_one, straight, table

SHARED = Path(__file__).parents[2] / "../shared"


def mixed(seed):
    """A rater who mostly prefers the target, the more so on early pairs."""

    def answers(rater, pair, slot):
        rng = np.random.default_rng([seed, sum(map(ord, rater + pair))])
        view = 0.9 - 0.12 * PAIRS.index(pair) + rng.normal(0, 0.12) if pair in PAIRS else rng.random()
        voice = float(np.clip(round(4 * view), 0, 4)) - 2
        vibe, logic = (float(np.clip(round(2 * (view + rng.normal(0, 0.1))), 0, 2)) + 1 for _ in range(2))
        return {
            "voice": voice,
            "vibe:target": vibe,
            "vibe:comparison": 2.0,
            "logic:target": logic,
            "logic:comparison": 1.0,
            "continuity": 0.5,
        }

    return answers


def seven(seed=0):
    return table({f"r{n}": mixed(seed) for n in range(7)})


def scores(by_pair=None, domains=DOMAINS):
    listed = by_pair or dict(zip(PAIRS, (0.92, 0.9, 0.86, 0.87, 0.82), strict=True))
    return ModelScores(
        pl.DataFrame({"item": list(listed), "score": list(listed.values()), "domain": [domains.get(p) for p in listed]})
    )


@pytest.fixture(scope="module")
def seeds_study():
    return analyze(seven(), model_scores=scores())


def test_a_perfect_study_is_one_and_has_no_agreement_to_speak_of():
    found = analyze(table({f"r{n}": perfect for n in range(7)}), model_scores=scores()).findings.statistics
    assert found["pfi"].value == found["voice"].value == found["continuity"].value == 1
    assert found["pfi"].high == 1
    assert found["pfi.cronbach_alpha"].state == found["pfi.icc_2_k"].state == "undefined"
    assert found["pearson"].state == "undefined"
    assert found["noise_ceiling"].state == "undefined"


def test_who_always_picks_slot_one_is_neutral():
    found = analyze(table({"a": slot_one, "b": slot_one}, (*PAIRS, "p6"))).findings.statistics
    assert found["voice"].value == found["pfi"].value == 0.5


def test_alpha_is_by_pair_wherever_a_rater_met_it(seeds_study):
    scored = score(seven())
    by_hand = cronbach_alpha(scored.matrix("pfi"))
    assert seeds_study.findings.statistics["pfi.cronbach_alpha"] == by_hand
    shuffled = seven().frame.with_columns(position=pl.lit(1)).sample(fraction=1, shuffle=True, seed=1)
    again = analyze(Ratings(shuffled), model_scores=scores())
    assert again.findings.statistics["pfi.cronbach_alpha"] == by_hand
    assert again.to_frame("pairs").equals(seeds_study.to_frame("pairs"))


def test_five_pairs_decide_little(seeds_study):
    words = {one.criterion.name: one.verdict for one in seeds_study.judgements}
    assert words["model–human correlation"] == "inconclusive"
    assert words["domain pattern"] == "inconclusive"
    assert seeds_study.verdict == "inconclusive"
    assert "do not decide the claim" in seeds_study.sentence
    difference = seeds_study.findings.statistics["domain_difference"]
    assert (difference.state, difference.low) == ("too_few", None)
    assert seeds_study.findings.statistics["domain_difference_here"].low is not None


def test_the_order_of_domains_is_tested_over_pairs_and_over_raters(seeds_study):
    domains = seeds_study.findings.domains
    assert [row.domain for row in domains.rows] == ["TECH", "ANAL", "PHIL", "SELF", "NARR"]
    assert domains.ends == ("TECH", "NARR")
    # of 5! arrangements two put PHIL and SELF in the middle
    assert domains.by_pair.least_p == pytest.approx(2 / 120)
    assert domains.by_rater.p < 0.001
    assert domains.order.value == pytest.approx(1, abs=0.2)


def test_two_pairs_a_domain_carry_a_difference():
    pairs = tuple(f"{domain}{n}" for domain in ("TECH", "NARR") for n in range(3))

    def answers(rater, pair, slot):
        rng = np.random.default_rng(sum(map(ord, rater + pair)))
        return {"voice": float(rng.integers(1, 3) if pair.startswith("TECH") else rng.integers(-2, 0))}

    listed = dict.fromkeys(pairs, 0.5)
    found = analyze(
        table({f"r{n}": answers for n in range(6)}, pairs),
        model_scores=scores(listed, {pair: pair[:4] for pair in pairs}),
        domain_order=Order.parse("TECH > NARR"),
    )
    difference = found.findings.statistics["domain_difference"]
    assert difference.state == "ok"
    assert difference.low > 0
    assert found.findings.domains.by_pair.p <= 0.05


def test_combined_shows_both_parts(seeds_study):
    model, statistics = seeds_study.findings.model, seeds_study.findings.statistics
    assert model.combined.value == pytest.approx((model.model.value + model.human.value) / 2)
    assert statistics["pfi_combined"] == model.combined
    assert statistics["pfi_model"].value == pytest.approx(np.mean([0.92, 0.9, 0.86, 0.87, 0.82]))


def test_the_ceiling_ignores_severity_where_all_rated_all(seeds_study):
    statistics, model = seeds_study.findings.statistics, seeds_study.findings.model
    assert model.ceiling_from == "icc_3_k"
    assert statistics["noise_ceiling"].value == pytest.approx(np.sqrt(statistics["pfi.icc_3_k"].value))
    assert statistics["pearson_disattenuated"].value == pytest.approx(
        min(1, statistics["pearson"].value / statistics["noise_ceiling"].value)
    )
    assert model.critical == pytest.approx(0.878, abs=5e-4)


def test_gaps_go_to_reml_and_change_the_ceiling():
    frame = seven().frame.filter(~((pl.col("rater") == "r0") & (pl.col("item") == "p1")))
    found = analyze(Ratings(frame), model_scores=scores()).findings
    assert found.components["pfi"].method == "reml"
    assert found.model.ceiling_from == "icc_2_k"
    assert found.statistics["pfi"].state == "ok"
    assert found.pairs[0].n_raters == 6


def test_every_figure_is_there_with_and_without_exclusions():
    ratings = table({**{f"r{n}": mixed(0) for n in range(6)}, "lazy": straight})
    found = analyze(ratings, model_scores=scores())
    assert found.quality.kept == [f"r{n}" for n in range(6)]
    assert found.findings.statistics.keys() == found.everyone.statistics.keys()
    assert found.findings.statistics["pfi"].value > found.everyone.statistics["pfi"].value
    assert len(found.everyone.raters) == 7
    assert "1 of 7 raters are excluded by rule" in " ".join(found.provenance.notes)
    assert "(1 of 7 were excluded by rules)" in found.sentence


def test_where_the_rules_leave_no_rater_there_is_no_verdict(tmp_path):
    found = analyze(table({"a": straight, "b": straight}), model_scores=scores())
    assert found.quality.kept == []
    assert found.findings.raters == ()
    assert {one.verdict for one in (*found.judgements, *found.judgements_everyone)} == {"no verdict"}
    assert (found.verdict, found.as_dict()["overall"]) == ("no verdict", "no verdict")
    assert all(one.value is None and "left no rater" in one.reason for one in found.findings.statistics.values())
    assert found.everyone.statistics["pfi"].value is not None
    assert "so there is no verdict" in found.sentence
    assert "Every rater was excluded by rule" in " ".join(found.provenance.notes)
    found.save(tmp_path)
    assert pl.read_csv(tmp_path / "pairs.csv")["pfi"].null_count() == len(PAIRS)
    assert [section.title for section in study_sections(found)] == [
        "Are the criteria met?",
        "Which raters are included?",
    ]


def test_the_command_without_raters_ends_well_and_shows_no_verdict(tmp_path, command):
    path = table({"a": straight, "b": straight}).write(tmp_path / "ratings.csv")
    told = command("study", "analyze", path, "-o", tmp_path / "out")
    assert told.returncode == 0, told.stderr
    assert "no verdict" in told.stdout
    assert "0 of 2 raters" in told.stdout
    assert "inconclusive" not in told.stdout.lower()


def test_severity_is_against_those_who_count():
    rows = {row.rater: row for row in analyze(table({"a": perfect, "b": perfect, "lazy": straight})).raters}
    assert rows["a"].severity.value == 0
    assert rows["lazy"].severity.value < -0.3


def test_blinding_is_judged_by_its_interval():
    def with_guess(value):
        return [(f"r{n}", pair, "guess", value) for n in range(7) for pair in PAIRS]

    answers = {f"r{n}": mixed(0) for n in range(7)}
    told = analyze(table(answers, extra=with_guess(1.0))).findings.statistics["blinding_index"]
    unsure = analyze(table(answers, extra=with_guess(0.5))).findings.statistics["blinding_index"]
    assert told.value == 1
    assert told.low > 0
    assert unsure.value == 0
    assert unsure.covers(0)
    assert analyze(seven()).findings.statistics["blinding_index"].reason == "no guesses were asked"


def test_without_model_or_domains_the_figures_say_why():
    found = analyze(seven()).findings.statistics
    assert "no model scores" in found["pearson"].reason
    assert "no domains are known" in found["domain_difference"].reason


def test_own_criteria_and_unknown_statistics():
    found = analyze(seven(), criteria=[Criterion("high", "voice", 0.1), Criterion("low", "voice", 0.1, "at_most")])
    assert [one.verdict for one in found.judgements] == ["pass", "fail"]
    assert "not supported: low" in found.sentence
    with pytest.raises(OptionError, match="No statistic called 'vioce'"):
        analyze(seven(), criteria=[Criterion("x", "vioce", 0)])


def test_scores_of_other_pairs_are_refused():
    with pytest.raises(InputError, match="No pair has a model score"):
        analyze(seven(), model_scores=scores({"other": 0.5}))


def test_the_files(tmp_path, seeds_study):
    written = seeds_study.save(str(tmp_path))
    tables = {"statistics.csv", "pairs.csv", "raters.csv", "exclusions.csv"}
    assert {path.name for path in written} == tables | {"analysis.json", "analysis.result.zip"}
    told = json.loads((tmp_path / "analysis.json").read_text())
    ends = ("", "_low", "_high", "_state")
    assert {f"{name}{end}" for name in ("value", "value_all") for end in ends} <= told["statistics"][0].keys()
    assert [row["statistic"] for row in told["statistics"]] == list(seeds_study.everyone.statistics)
    assert told["verdict"] == {one.criterion.name: one.verdict for one in seeds_study.judgements}
    assert told["tests"]["pearson"]["n"] == 5
    pairs = pl.read_csv(tmp_path / "pairs.csv")
    assert pairs["item"].to_list() == list(PAIRS)
    assert {"pfi", "pfi_low", "pfi_high", "pfi_lite", "voice", "continuity", "model", "combined"} <= set(pairs.columns)
    raters = pl.read_csv(tmp_path / "raters.csv")
    assert {"is_excluded", "severity", "agreement", "minutes"} <= set(raters.columns)


def test_the_same_input_gives_the_same_result(seeds_study):
    assert analyze(seven(), model_scores=scores()).as_dict() == seeds_study.as_dict()


def test_simulated_vices_are_left_out_and_the_truth_is_found():
    crowd = Crowd(n_raters=10, bots=1, straight_liners=1, slot_one_pickers=1)
    world = simulate(n_pairs=20, crowd=crowd, seed=11)
    found = analyze(world.ratings, raters=Raters(world.raters), model_scores=ModelScores(world.model_scores))
    honest = [name for name, kind in world.truth.kind_by_rater.items() if kind == "honest"]
    assert found.quality.kept == honest
    assert found.findings.statistics["pfi"].covers(world.truth.fidelity)
    assert not found.everyone.statistics["pfi"].covers(world.truth.fidelity) or (
        found.everyone.statistics["pfi"].value < found.findings.statistics["pfi"].value
    )
    assert found.findings.statistics["pfi.icc_2_k"].covers(world.truth.icc_2_k)


def coverage(study, n):
    """How often the interval of PFI holds the truth."""
    worlds = (simulate(study, seed=seed) for seed in range(n))
    return np.mean([crossed_mean(score(w.ratings).matrix("pfi")).estimate.covers(w.truth.fidelity) for w in worlds])


@pytest.mark.evidence
def test_the_interval_of_pfi_covers_at_five_pairs():
    over_domains = placeholder_study(5)
    at_random = tuple(pair.model_copy(update={"domain": None}) for pair in over_domains.pairs)
    # within three standard errors of 120 studies
    assert 0.89 <= coverage(over_domains.model_copy(update={"pairs": at_random}), 120) <= 0.995
    # one pair of each domain: their means stray less than those of pairs at random, and no interval of one a domain can know
    assert coverage(over_domains, 40) >= 0.95


@pytest.fixture(scope="module")
def reference():
    path = SHARED / "reference/reliability.json"
    if not path.exists():
        pytest.skip(f"no {path.name}: the shared data are not here")
    return json.loads(path.read_text())


def real(name, raters, **columns):
    frame = pl.read_csv(SHARED / "data/ratings" / name, infer_schema_length=None)
    wide = frame.select(*raters, **columns)
    return Ratings(wide.unpivot(index=list(columns), on=raters, variable_name="rater", value_name="value"))


def test_general_dimensions_of_unidentified_raters(reference):
    item = pl.col("story_id").cast(pl.String)
    raters = ["rater1", "rater2", "rater3"]
    ratings = real("hanna_raters_metrics.csv.gz", raters, item=item, dimension="criterion")
    found = analyze(
        Ratings(ratings.frame.filter(pl.col("dimension") != "Surprise")),
        answers="protocol",
        rater_effects="unidentified",
    ).findings
    for criterion, value in reference["hanna_icc_1k_by_criterion"].items():
        if criterion != "Surprise":
            assert found.statistics[f"{criterion}.icc_1_k"].value == pytest.approx(value, abs=5e-7)
    assert found.reliability["pfi"].report == "icc_1_k"
    assert 0.35 < found.statistics["pfi"].low < found.statistics["pfi"].high < 0.45


def test_general_dimensions_of_crossed_raters(reference):
    item = pl.col("doc") + "/" + pl.col("system")
    experts = ["expert0", "expert1", "expert2"]
    found = analyze(
        real("summeval_raters_judges.csv.gz", experts, item=item, dimension="dimension"), answers="protocol"
    ).findings
    for coefficient in ("icc_2_1", "icc_2_k", "cronbach_alpha", "krippendorff_ordinal"):
        for dimension, value in reference["summeval"][coefficient].items():
            assert found.statistics[f"{dimension}.{coefficient}"].value == pytest.approx(value, abs=5e-4)
    assert found.settings.rater_effects == "sampled"


def rows(*listed):
    return Ratings(pl.DataFrame(listed, schema=["rater", "item", "dimension", "value"], orient="row"))


@pytest.mark.parametrize(
    ("ratings", "state"),
    [
        (rows(("a", "p", "voice", 1.0)), "too_few"),
        (rows(*(("a", f"p{n}", "voice", n % 3.0) for n in range(5))), "too_few"),
        (rows(*((f"r{n}", "p", "voice", n % 3.0) for n in range(5))), "too_few"),
        (rows(*((f"r{n}", f"p{m}", "continuity", (n + m) % 2.0) for n in range(4) for m in range(4))), "undefined"),
        (rows(*((f"r{n}{m}", f"p{m}", "voice", (n + m) % 3.0) for n in range(4) for m in range(4))), "ok"),
        (rows(*((f"r{n}", f"p{m}", "voice", 0.0) for n in range(4) for m in range(2))), "ok"),
    ],
    ids=["one answer", "one rater", "one pair", "no part of the index", "each pair its own raters", "no spread"],
)
def test_thin_tables_give_states_and_a_whole_report(ratings, state):
    import datetime

    from howsure.reporting import Report, render
    from howsure.study.sections import study_sections

    found = analyze(ratings)
    assert found.findings.statistics["pfi"].state == state
    assert found.verdict != "pass"
    json.dumps(found.as_dict(), allow_nan=False)
    assert "Do raters agree?" in render(
        Report("Study", study_sections(found), found.provenance, datetime.date(2025, 1, 1))
    )
