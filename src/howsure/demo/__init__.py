"""The tour: a world whose truth is planted, every instrument at work in it, and every estimate beside that truth.

::

    world                  the models of the tour, and what is true of them
    learners               people who learn Track the Stat
    games                  the models play it, through Inspect where that is installed
    evals, track, horizons, study, stitch     one instrument each: measure, and hold against the truth
    parts, page            what an instrument brings to the page, and the page
    tour, coverage         the whole of it, once; and many times over, to count
"""

from typing import TYPE_CHECKING

from howsure._lazy import lazily

if TYPE_CHECKING:
    from howsure.demo.coverage import Coverage as Coverage
    from howsure.demo.coverage import cover as cover
    from howsure.demo.tour import Demo as Demo
    from howsure.demo.tour import run_demo as run_demo

_HOMES = {"Coverage": "coverage", "Demo": "tour", "cover": "coverage", "run_demo": "tour"}
__all__ = sorted(_HOMES)  # noqa: PLE0605
__getattr__ = lazily(__name__, _HOMES)
