"""Blocks: how even and connected they are, and that what a planner recommends can be built."""

import numpy as np
import pytest

from howsure.errors import OptionError
from howsure.study.interval_coverage import coverage
from howsure.study.packet.building import build
from howsure.study.packet.design import AGAIN, arrange
from howsure.study.planning.design import RatingDesign, balance_of, deal_blocks, parse_design
from howsure.study.planning.plans import plan
from howsure.study.planning.simulated_studies import Assumptions, draw_ratings, statistics_of_studies, who_rates

from .study_examples import small_study


@pytest.mark.parametrize("text", ["50x8/12", "20x3/7", "9x4/3", "12x5", "40x2/2"])
def test_each_item_has_its_ratings_or_one_more_and_shared_raters_link_all(text):
    design = parse_design(text)
    blocks = design.blocks(seed=3)
    balance = balance_of(blocks, design.pairs)
    assert len(blocks) == design.n_raters
    assert {len(set(block)) for block in blocks} == {design.block_size}
    assert design.raters <= balance.fewest <= balance.most <= design.raters + 1
    assert balance.is_connected


def test_fifty_items_with_eight_ratings_meet_evenly():
    balance = balance_of(RatingDesign(50, 8, 12).blocks(1), 50)
    assert RatingDesign(50, 8, 12).n_raters == 34
    assert balance.most_together <= 4  # the mean is 1.8


def test_known_balanced_designs_are_found():
    """The Fano plane and the projective plane of order 3 exist, so every two items meet exactly once."""
    for n_items, size in ((7, 3), (13, 4)):
        balance = balance_of(deal_blocks(n_items, n_items, size, seed=1), n_items)
        assert (balance.fewest_together, balance.most_together) == (1, 1)


def test_a_quota_of_120_for_500_raters():
    design = RatingDesign(50, 120, 12)
    balance = balance_of(design.blocks(2), 50)
    assert (design.n_raters, balance.fewest, balance.most) == (500, 120, 120)
    assert balance.most_together - balance.fewest_together <= 6


def test_what_cannot_be_dealt_is_refused():
    for text in ("twenty", "20x", "x4", "20x4/"):
        with pytest.raises(OptionError, match="not a design"):
            parse_design(text)
    with pytest.raises(OptionError, match="cannot be made"):
        deal_blocks(5, 3, 6)
    with pytest.raises(OptionError, match="has 6 to rate"):
        build(small_study(6), design="50x8/12")


def test_pairs_in_blocks_have_balanced_slots_and_keep_their_repeats():
    study = small_study(12, repeats=1).model_copy(update={"seed": 5})
    packet = build(study, design=RatingDesign(12, 6, 4))
    assert len(packet.pages) == 18
    shown = [one for row in packet.shown for one in row if one.target and not one.item.endswith(AGAIN)]
    for pair in study.pairs:
        slots = [one.target for one in shown if one.item == pair.id]
        assert abs(slots.count(1) - slots.count(2)) <= 1
    for row in packet.shown:
        again = [one for one in row if one.item.endswith(AGAIN)]
        first = {one.item: one.target for one in row}
        assert [3 - first[one.pair] for one in again] == [one.target for one in again]
    assert packet.key.study.design.per_rater == 4
    assert arrange(packet.key.study, 18) == packet.shown


def test_a_plan_in_blocks_costs_more_raters_and_says_how_to_build_it():
    made = plan(50, 8, per_rater=12, designs=[], n_simulations=100)
    assert (made.asked.design.n_raters, made.asked.minutes) == (34, 22.0)
    assert made.asked.reliability < plan(50, 8, designs=[], n_simulations=100).asked.reliability
    assert any("howsure study build study.yaml --design 50x8/12" in sentence for sentence in made.sentences)


def test_intervals_of_a_plan_in_blocks_cover():
    """Errors clustered by pair and by rater: the mean and the difference of domains contain the true value in about 95 %."""
    design, assumptions = RatingDesign(40, 6, 10), Assumptions(icc=0.4, severity_share=0.4, has_domains=False)
    scores, model = draw_ratings(design, assumptions, 1500, np.random.default_rng(1))
    found = statistics_of_studies(scores, model, design.domain, who=who_rates(design))
    _, low, high = found["pfi"]
    assert 0.93 <= float(((low <= 0.85) & (high >= 0.85)).mean()) <= 0.985
    _, low, high = found["domain_difference"]
    assert 0.93 <= float(((low <= 0) & (high >= 0)).mean()) <= 0.985


def test_an_unnamed_topic_makes_the_interval_of_a_difference_too_narrow():
    known, unnamed, ordinal = coverage(containing="differ by topic", n_simulations=2, seed=1).rows
    assert unnamed.method.endswith(": avoid")
    assert unnamed.mean_width < known.mean_width
    assert ordinal.mean_width is not None


@pytest.mark.evidence
def test_means_differences_and_the_ordinal_model_cover_in_blocks_with_drop_outs():
    """Also where some raters are far off, the most severe leave, or systems differ by topic; a row to avoid covers less."""
    n = 400
    rows = coverage(containing="blocks", n_simulations=n, seed=1).rows
    error = 2 * np.sqrt(0.95 * 0.05 / n)
    for row in rows:
        if row.method.endswith("avoid"):
            assert row.coverage < 0.93
        else:
            assert 0.93 - error <= row.coverage <= 0.97 + error, row
