"""Examples of what Track the Stat returns."""

from howsure.track.game.simulated_players import simulate
from howsure.track.results import TrackResult, measure
from howsure.track.running.costs import RunEstimate, estimate_run

from .registry import example


@example(TrackResult)
def track():
    return measure(simulate(n_samples=12, length=60, break_off=0.02).samples)


@example(RunEstimate)
def estimate():
    return estimate_run(["median"], turns=[5])
