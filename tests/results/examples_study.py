"""Examples of the results of a rating study."""

import tempfile
from functools import cache
from pathlib import Path

import polars as pl

from howsure.stats.latent_classes import simulate_labels
from howsure.stats.sequences import simulate_runs
from howsure.study import (
    agreement,
    analysis,
    answer_types,
    interval_coverage,
    item_studies,
    presets,
    simulator,
    stopping,
)
from howsure.study.judging import attacks, bench, embeddings, labelling, ratings, validation
from howsure.study.judging import simulator as judge_simulator
from howsure.study.packet import building, preflight, selection, simulated_raters
from howsure.study.planning import plans
from howsure.study.planning.design import RatingDesign
from howsure.study.scoring import collection
from howsure.study.verdict import Criterion
from study.judging import small_study as judged_study
from study.study_examples import rate_all, small_study

from .registry import example


@cache
def simulated():
    return simulator.simulate(crowd=simulator.Crowd(5, bots=1), seed=1)


@cache
def simulated_judge():
    return judge_simulator.simulate_judge(seed=1)


@cache
def built():
    return building.build(small_study(3, repeats=1), n_raters=2, salt="0123456789abcdef")


example(simulator.SimulatedStudy)(simulated)
example(judge_simulator.SimulatedJudge)(simulated_judge)
example(building.StudyPacket)(built)


@example(plans.StudyPlan)
def plan():
    return plans.plan(5, 4, designs=[RatingDesign(10, 3)], n_simulations=100)


@example(selection.Selection)
def select():
    scores = pl.DataFrame({"prompt": [f"q{n}" for n in range(12)], "score": [0.5 + n / 40 for n in range(11)] + [None]})
    return selection.select(scores, n_pairs=3)


@example(preflight.Preflight)
def check():
    return preflight.check(small_study(), n_raters=3)


@example(collection.CollectedRatings)
def collect():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        built().save(folder / "packet")
        rate_all(built(), folder / "answers")
        (folder / "answers/stray.json").write_text("{}")
        return collection.collect([folder / "answers"], folder / "packet/key.json")


@example(analysis.Analysis)
def analyze():
    drawn = simulated()
    return analysis.analyze(drawn.ratings, raters=drawn.raters, model_scores=drawn.model_scores)


@example(ratings.JudgeRatings)
def judge():
    study = judged_study()
    values = {"voice": 1.0, "vibe:target": 3.0, "vibe:comparison": 1.0, "logic:target": 3.0, "logic:comparison": 2.0}
    replies = [
        ratings.Reply(pair.id, slot, {**values, "voice": float(slot), "continuity": 1.0})
        for pair in study.pairs
        for slot in (1, 2)
    ]
    return ratings.summarise_replies(study, "toy", [*replies[:-1], ratings.Reply("pair-2", 2, {}, "format")])


@example(validation.Validation)
def validate():
    drawn = simulated_judge()
    return validation.validate(drawn.ratings, drawn.judge, orders=drawn.orders, lengths=drawn.lengths)


@example(agreement.Reliability)
def reliability():
    return agreement.reliability(simulated().ratings, dimension="voice")


@example(embeddings.Similarity)
def similarity():
    return embeddings.measure_similarity(judged_study())


@example(simulated_raters.SimulatedAnswers)
def simulated_answers():
    with tempfile.TemporaryDirectory() as name:
        study = item_studies.read_study(presets.init(Path(name) / "study", "labels")[0])
        building.build(study, n_raters=2, salt="0123456789abcdef").save(Path(name) / "packet")
        return simulated_raters.rate_items(Path(name) / "packet", seed=1)


@cache
def simulated_bench():
    return judge_simulator.simulate_bench(n_items=30, seed=1)


example(judge_simulator.SimulatedBench)(simulated_bench)


@example(answer_types.AnswerAnalysis)
def analyze_answers():
    drawn = simulate_labels(n_items=30, seed=1)[0]
    names = ("calm", "angry", "sad")
    rows = [(f"r{r}", f"t{i}", "tone", names[int(drawn[i, r])]) for i in range(30) for r in range(4)]
    table = pl.DataFrame(rows, schema=["rater", "item", "dimension", "value"], orient="row")
    return answer_types.analyze_answers(table)


@example(bench.JudgeBench)
def judge_bench():
    drawn = simulated_bench()
    return bench.bench(drawn.people, drawn.judges, orders=drawn.orders, texts=drawn.texts, costs=drawn.costs)


@example(bench.JudgeDrift)
def judge_drift():
    runs = simulate_runs(n_runs=3, n_items=6, seed=1)
    rows = [{"rater": "j", "item": [f"a{n}" for n in range(6)], "dimension": "q", "value": run} for run in runs]
    return bench.drift([pl.DataFrame(row) for row in rows])


@example(attacks.JudgeAttacks)
def judge_attacks():
    items = [f"{n}{end}" for end in ("", ".attack-padding") for n in range(6)]
    values = [*range(6), *(n + 1 + n % 2 for n in range(6))]
    return attacks.attack(pl.DataFrame({"rater": "j", "item": items, "dimension": "q", "value": values}))


@example(labelling.LabelPlan)
def label_plan():
    drawn = simulated_bench()
    return labelling.labels(drawn.judges, n_labels=12, pilot=drawn.people)


@example(labelling.LabelEstimates)
def label_estimates():
    drawn = simulated_bench()
    few = drawn.people.frame.filter(pl.col("item") <= "answer-019")
    return labelling.estimate(few, drawn.judges)


@example(stopping.StudyStop)
def study_stop():
    criteria = [Criterion("high", "mean:quality", 3.0), Criterion("agree", "reliability:quality", 0.5)]
    return stopping.stop(simulated_bench().people, criteria, n_planned=20, scale=(1, 5), looks=[5, 20])


@example(interval_coverage.StudyCoverage)
def study_coverage():
    return interval_coverage.coverage(containing="Plackett", n_simulations=3)
