"""Plans: the published critical values and powers, plain sentences, one recommendation, files and charts."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

from howsure.errors import OptionError
from howsure.study.planning.design import RatingDesign, parse_design
from howsure.study.planning.plans import DESIGNS, Pace, plan
from howsure.study.planning.simulated_studies import Assumptions
from howsure.study.verdict import Criterion

SMALL = (RatingDesign(3, 10), RatingDesign(10, 5))


@pytest.fixture(scope="module")
def asked():
    return plan(5, 7, n_simulations=1000, seed=3)


def test_critical_r_and_power_are_as_published(asked):
    # two-sided 5 % table of r; power of r ≥ 0.70 and p < 0.05 at 5 pairs
    critical = {row.design.pairs: row.critical_r for row in asked.rows}
    assert {n: round(critical[n], 3) for n in (3, 5, 10, 20, 30)} == {
        3: 0.997,
        5: 0.878,
        10: 0.632,
        20: 0.444,
        30: 0.361,
    }
    assert {one.true_r: round(one.noiseless, 2) for one in asked.power} == {0.7: 0.27, 0.8: 0.41, 0.9: 0.67}
    assert all(one.noisy < one.noiseless for one in asked.power)


def test_ceiling_and_raters_follow_spearman_and_brown(asked):
    single = asked.assumptions.consistency
    assert asked.asked.reliability == pytest.approx(7 * single / (1 + 6 * single))
    assert asked.asked.ceiling == pytest.approx(asked.asked.reliability**0.5)
    for target, n in asked.raters_for.items():
        assert n * single / (1 + (n - 1) * single) >= target - 1e-9
        assert (n - 1) * single / (1 + (n - 2) * single) < target


def test_five_pairs_cannot_carry_the_claim(asked):
    assert asked.asked.as_assumed.joint.passed < 0.01
    assert 0.3 < asked.asked.as_assumed.joint.met < 0.7
    told = " ".join(asked.sentences)
    assert "below 0.88 does not differ from 0" in told
    assert "the effective threshold is therefore 0.88, not 0.7" in told
    assert "cannot be separated from a difference between two pairs" in told
    assert "cannot show that α is at least 0.75" in told
    assert f"Recommended: {asked.recommended}" in told
    assert asked.recommended.pairs >= 30


def test_the_recommended_design_costs_least_of_those_that_hold(asked):
    best = next(row for row in asked.rows if row.design == asked.recommended)
    assert asked.is_enough
    assert best.as_assumed.joint.passed >= 0.8
    for row in asked.rows:
        assert row.as_assumed.joint.passed < 0.8 or row.person_minutes >= best.person_minutes


def test_more_pairs_narrow_the_intervals(asked):
    by_pairs = {row.design.pairs: row for row in asked.rows if row.design.raters == 7}
    widths = [by_pairs[n].width_alpha for n in (5, 30, 60)]
    assert widths == sorted(widths, reverse=True)
    assert by_pairs[5].width_single > 0.6


def test_a_sufficient_design_is_told_so():
    made = plan(80, 7, designs=(), n_simulations=500)
    assert made.is_enough
    assert made.recommended == RatingDesign(80, 7)
    assert any(sentence.startswith("The design is enough") for sentence in made.sentences)
    assert "94 raters with 6 pairs each" in made.sentences[-1]


def test_where_none_suffices_the_best_is_named():
    made = plan(5, 7, designs=SMALL, n_simulations=300)
    assert not made.is_enough
    assert any(sentence.startswith("None of the designs compared") for sentence in made.sentences)


def test_only_what_the_criteria_ask_is_spoken_of():
    made = plan(5, 7, designs=(), criteria=[Criterion("agree", "pfi.cronbach_alpha", 0.5)], n_simulations=300)
    told = " ".join(made.sentences)
    assert "α is at least 0.5" in told
    assert "correlation below" not in told
    assert "domain" not in told
    assert set(made.to_frame("plan_criteria")["criterion"]) == {"agree", "all"}


def test_seed_gives_the_same_plan():
    one, same, other = (plan(5, 7, designs=SMALL, n_simulations=200, seed=seed) for seed in (3, 3, 4))
    assert one.to_frame().equals(same.to_frame())
    assert one.sentences == same.sentences
    assert not one.to_frame().equals(other.to_frame())


def test_minutes_and_sittings():
    pace = Pace(before=2, pair=1.5, sitting=12)
    assert (pace.minutes(RatingDesign(5, 7)), pace.sittings(RatingDesign(5, 7))) == (9.5, 1)
    assert (pace.minutes(RatingDesign(30, 3)), pace.sittings(RatingDesign(30, 3))) == (55, 5)
    with pytest.raises(OptionError, match="sitting"):
        Pace(before=2, pair=11, sitting=12)


def test_designs_are_read_as_people_write_them():
    assert parse_design("20x4") == parse_design("20 × 4") == parse_design("20*4") == RatingDesign(20, 4)
    with pytest.raises(OptionError, match="20x4"):
        parse_design("twenty")
    assert {
        RatingDesign(5, 7),
        RatingDesign(3, 10),
        RatingDesign(10, 5),
        RatingDesign(15, 5),
        RatingDesign(20, 4),
        RatingDesign(30, 3),
    } <= set(DESIGNS)


def test_powerless_options_are_refused():
    with pytest.raises(OptionError, match="simulations"):
        plan(n_simulations=10)


def test_frames_and_charts_hold_what_they_say(asked):
    frame = asked.to_frame()
    assert frame["judgements"].to_list() == [row.design.pairs * row.design.raters for row in asked.rows]
    curve = asked.curve()
    assert curve["true_r"].unique().sort().to_list() == [0.7, 0.8, 0.9]
    assert curve.select(pl.col("power").is_between(0, 1).all()).item()
    charts = asked.charts()
    assert set(charts) == {"plan_designs", "plan_power"}
    for chart in charts.values():
        told = json.dumps(chart.to_dict())
        assert "Chance that" in told
    assert "asked for: 5 × 7" in json.dumps(charts["plan_designs"].to_dict(), ensure_ascii=False)


def test_setting_of_weak_raters_lowers_the_chances():
    strong, weak = (
        plan(10, 5, assumptions=Assumptions(icc=icc), designs=(), n_simulations=500).asked for icc in (0.6, 0.2)
    )
    assert weak.ceiling < strong.ceiling
    assert weak.as_assumed.joint.met < strong.as_assumed.joint.met


def test_the_command_writes_the_plan_and_a_report(command, tmp_path):
    told = command("study", "plan", "-n", "200", "--design", "25x6", "-o", tmp_path / "out", "--json")
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout)
    assert any((row["pairs"], row["raters"]) == (25, 6) for row in found["plan"])
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {
        "plan.csv",
        "plan_criteria.csv",
        "plan.json",
        "plan_report.html",
        "plan_designs.png",
        "plan_power.png",
    } <= names
    assert "does not differ from 0" in (tmp_path / "out/plan_report.html").read_text()


def test_the_command_tells_a_wrong_option_in_one_line(command):
    told = command("study", "plan", "--icc", "1.5")
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr.startswith("howsure: icc must be between 0 and 1")
    assert told.stderr.count("\n") == 1


def test_the_docs_quote_what_the_command_says(command):
    page = (Path(__file__).parents[2] / "docs/study-plan.md").read_text()
    shown = re.search(r"```text\n\$ howsure (study plan [^\n]*)\n(.*?)```", page, re.S)
    told = command(*shown[1].split())
    assert [line for line in told.stdout.splitlines() if line.startswith("- ")] == shown[2].splitlines()
