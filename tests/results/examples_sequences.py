"""What `howsure watch` returns."""

from howsure.estimates import Estimate
from howsure.evals import simulate
from howsure.evals.real_banks import SequenceCheck, sequences_on_banks
from howsure.evals.stopping import Watch, WatchedDifference, WatchedRun
from howsure.evals.summaries import PooledModel, pooled_means
from howsure.results import Provenance

from .registry import example


@example(Watch)
def watch():
    counts = {"n_units": 30, "n_planned": 80, "answer": "open"}
    runs = [
        WatchedRun(log=f"{m}.eval", task="t", model=m, status="started", mean=mean, n_finished=34, n_failed=1, **counts)
        for m, mean in (("a", Estimate(0.6, 0.4, 0.8)), ("b", Estimate.without("too_few", "no unit is finished")))
    ]
    pair = WatchedDifference(task="t", a="a", b="b", difference=Estimate(0.1, -0.2, 0.4), **counts)
    return Watch(runs=tuple(runs), pairs=(pair,), provenance=Provenance({"level": 0.95}, seed=0))


@example(SequenceCheck)
def sequences():
    import tempfile
    from pathlib import Path

    rows = [f"{m},{i},100,{c}" for m, cs in (("a", (90, 50, 80)), ("b", (20, 30, 10))) for i, c in enumerate(cs)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bank.csv"
        path.write_text("\n".join(["model,example_id,count,correct", *rows]))
        return sequences_on_banks(path, n_simulations=3)


@example(PooledModel)
def pooled():
    return pooled_means(simulate(n_families=4, seed=1).attempts)
