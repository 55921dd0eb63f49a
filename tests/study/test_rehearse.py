"""A rehearsal: what simulated raters fill in comes back from the pages as it was drawn."""

import polars as pl
import pytest

from howsure.errors import InputError
from howsure.study.packet.building import build
from howsure.study.packet.simulated_raters import fill_in
from howsure.study.protocol import Study
from howsure.study.scoring.collection import collect
from howsure.study.simulator import Crowd, simulate
from howsure.tables import Ratings

from .study_examples import EXAMPLE, perfect, rate_all, small_study


def test_simulated_raters_go_through_pages_and_key_unchanged(tmp_path):
    study = Study.read(EXAMPLE)
    world = simulate(study, crowd=Crowd(7, bots=1, slot_one_pickers=1), seed=3)
    build(study, n_raters=7).save(tmp_path / "packet")
    sent = fill_in(tmp_path / "packet", world.ratings, tmp_path / "in")
    found = collect(sent, tmp_path / "packet/key.json")
    order = ["rater", "item", "dimension"]
    compared = [*order, "value", "position"]
    assert found.ratings.frame.select(compared).sort(order).equals(world.ratings.frame.select(compared).sort(order))
    assert found.refused == ()


def test_what_collect_gives_can_be_filled_in_again(tmp_path):
    packet = build(small_study(3, repeats=1), n_raters=3)
    packet.save(tmp_path / "packet")
    found = collect([rate_all(packet, tmp_path / "in", perfect)], tmp_path / "packet/key.json")
    again = collect(fill_in(tmp_path / "packet", found.ratings, tmp_path / "out"), tmp_path / "packet/key.json")
    assert again.ratings.frame.equals(found.ratings.frame)


def test_who_stopped_early_sends_nothing(tmp_path):
    packet = build(small_study(3), n_raters=2)
    packet.save(tmp_path / "packet")
    whole = collect([rate_all(packet, tmp_path / "in", perfect)], tmp_path / "packet/key.json").ratings.frame
    early = Ratings(whole.filter((pl.col("rater") != "r02") | (pl.col("position") < 3)))
    assert [path.name for path in fill_in(tmp_path / "packet", early, tmp_path / "out")] == ["answers-r01.json"]
    nobody = Ratings(whole.with_columns(pl.lit("someone").alias("rater")).unique(["item", "dimension"]))
    with pytest.raises(InputError, match="no page is for a rater with ratings"):
        fill_in(tmp_path / "packet", nobody, tmp_path / "out")
