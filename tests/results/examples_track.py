"""Examples of what Track the Stat returns."""

from howsure.results import Provenance
from howsure.track.adaptive import MedianLength, Trial, posterior_of
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


@example(MedianLength)
def median_length():
    trials = tuple(Trial(0, call, 10 + 5 * call, call < 4) for call in range(8))
    told = {"variant": "boxes", "runs": 1, "calls": 8, "longest": 100, "seed": 0, "level": 0.95, "chance": 1 / 7}
    return MedianLength(
        model="amber-1",
        variant="boxes",
        setting="one-shot, last answer",
        median=posterior_of(trials, 1 / 7, 100).median(),
        trials=trials,
        status="complete",
        errors={},
        provenance=Provenance(told, seed=0),
    )
