"""The tour: simulated data with known true values, every instrument applied to them, and every estimate beside that truth.

::

    world                                     the models of the tour, and their true values
    games                                     the models play Track the Stat, through Inspect if it is installed
    evals, track, horizons, study, stitch     one instrument each: measure, and compare with the true values
    stops, page                               what an instrument adds to the page, and the page
    making, coverage                          the whole tour once; and many times, to count how often intervals contain the true value
"""

from typing import TYPE_CHECKING

from howsure._lazy import lazily

if TYPE_CHECKING:
    from howsure.tour.coverage import Coverage as Coverage
    from howsure.tour.coverage import cover as cover
    from howsure.tour.making import Demo as Demo
    from howsure.tour.making import run_demo as run_demo

_HOMES = {"Coverage": "coverage", "Demo": "making", "cover": "coverage", "run_demo": "making"}
__all__ = sorted(_HOMES)  # noqa: PLE0605
__getattr__ = lazily(__name__, _HOMES)
