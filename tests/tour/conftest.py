"""One quick tour for all tests of its page."""

import datetime as dt

import pytest

from howsure.tour import run_demo


@pytest.fixture(scope="session")
def tour():
    return run_demo(seed=1, quick=True, date=dt.date(2026, 1, 1))


@pytest.fixture(scope="session")
def tour_folder(tour, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tour")
    tour.save(folder)
    return folder
