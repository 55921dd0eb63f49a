"""Blind human ratings: do people agree, and does an automatic judge agree with them?

The verbs of ``howsure study`` under the same names: `init`, `plan`, `select`, `check`, `build`, `collect`, `analyze`, `judge`, `validate`,
`reliability`, `simulate`, `bench`, `labels`, `estimate`, `attack`, `drift`, `stop`, `coverage`.

>>> import howsure
>>> howsure.study.analyze("ratings.csv", study="study.yaml").save("out")  # doctest: +SKIP
"""

from typing import TYPE_CHECKING

from howsure._lazy import lazily

if TYPE_CHECKING:
    from howsure.study.agreement import Reliability as Reliability
    from howsure.study.agreement import read_ratings as read_ratings
    from howsure.study.agreement import reliability as reliability
    from howsure.study.analysis import Analysis as Analysis
    from howsure.study.analysis import analyze as analyze
    from howsure.study.answer_types import AnswerAnalysis as AnswerAnalysis
    from howsure.study.answer_types import Rankings as Rankings
    from howsure.study.answer_types import Spans as Spans
    from howsure.study.interval_coverage import StudyCoverage as StudyCoverage
    from howsure.study.interval_coverage import coverage as coverage
    from howsure.study.item_studies import ItemStudy as ItemStudy
    from howsure.study.item_studies import read_study as read_study
    from howsure.study.judging.attacks import JudgeAttacks as JudgeAttacks
    from howsure.study.judging.attacks import attack as attack
    from howsure.study.judging.bench import AnswerTexts as AnswerTexts
    from howsure.study.judging.bench import JudgeBench as JudgeBench
    from howsure.study.judging.bench import JudgeCosts as JudgeCosts
    from howsure.study.judging.bench import JudgeDrift as JudgeDrift
    from howsure.study.judging.bench import bench as bench
    from howsure.study.judging.bench import drift as drift
    from howsure.study.judging.embeddings import Similarity as Similarity
    from howsure.study.judging.embeddings import measure_similarity as measure_similarity
    from howsure.study.judging.labelling import LabelEstimates as LabelEstimates
    from howsure.study.judging.labelling import LabelPlan as LabelPlan
    from howsure.study.judging.labelling import estimate as estimate
    from howsure.study.judging.labelling import labels as labels
    from howsure.study.judging.ratings import JudgeRatings as JudgeRatings
    from howsure.study.judging.ratings import judge as judge
    from howsure.study.judging.validation import Validation as Validation
    from howsure.study.judging.validation import validate as validate
    from howsure.study.packet.building import StudyPacket as StudyPacket
    from howsure.study.packet.building import build as build
    from howsure.study.packet.preflight import Preflight as Preflight
    from howsure.study.packet.preflight import check as check
    from howsure.study.packet.selection import Selection as Selection
    from howsure.study.packet.selection import select as select
    from howsure.study.packet.simulated_raters import ItemCrowd as ItemCrowd
    from howsure.study.packet.simulated_raters import SimulatedAnswers as SimulatedAnswers
    from howsure.study.packet.simulated_raters import fill_in as fill_in
    from howsure.study.packet.simulated_raters import rate_items as rate_items
    from howsure.study.planning.design import RatingDesign as RatingDesign
    from howsure.study.planning.plans import StudyPlan as StudyPlan
    from howsure.study.planning.plans import plan as plan
    from howsure.study.planning.simulated_studies import Assumptions as Assumptions
    from howsure.study.presets import init as init
    from howsure.study.protocol import Study as Study
    from howsure.study.scoring.collection import CollectedRatings as CollectedRatings
    from howsure.study.scoring.collection import collect as collect
    from howsure.study.simulator import Crowd as Crowd
    from howsure.study.simulator import SimulatedStudy as SimulatedStudy
    from howsure.study.simulator import simulate as simulate
    from howsure.study.stopping import StudyStop as StudyStop
    from howsure.study.stopping import stop as stop
    from howsure.study.verdict import Criterion as Criterion
    from howsure.study.verdict import read_criteria as read_criteria

_HOMES = {
    "AnswerAnalysis": "answer_types",
    "AnswerTexts": "judging.bench",
    "JudgeAttacks": "judging.attacks",
    "JudgeBench": "judging.bench",
    "JudgeCosts": "judging.bench",
    "JudgeDrift": "judging.bench",
    "LabelEstimates": "judging.labelling",
    "LabelPlan": "judging.labelling",
    "StudyCoverage": "interval_coverage",
    "StudyStop": "stopping",
    "Rankings": "answer_types",
    "Spans": "answer_types",
    "attack": "judging.attacks",
    "bench": "judging.bench",
    "coverage": "interval_coverage",
    "drift": "judging.bench",
    "estimate": "judging.labelling",
    "labels": "judging.labelling",
    "stop": "stopping",
    "Analysis": "analysis",
    "Assumptions": "planning.simulated_studies",
    "CollectedRatings": "scoring.collection",
    "Criterion": "verdict",
    "Crowd": "simulator",
    "RatingDesign": "planning.design",
    "ItemCrowd": "packet.simulated_raters",
    "ItemStudy": "item_studies",
    "JudgeRatings": "judging.ratings",
    "StudyPacket": "packet.building",
    "Preflight": "packet.preflight",
    "Reliability": "agreement",
    "Selection": "packet.selection",
    "Similarity": "judging.embeddings",
    "SimulatedAnswers": "packet.simulated_raters",
    "SimulatedStudy": "simulator",
    "Study": "protocol",
    "StudyPlan": "planning.plans",
    "Validation": "judging.validation",
    "analyze": "analysis",
    "build": "packet.building",
    "check": "packet.preflight",
    "collect": "scoring.collection",
    "fill_in": "packet.simulated_raters",
    "init": "presets",
    "judge": "judging.ratings",
    "measure_similarity": "judging.embeddings",
    "plan": "planning.plans",
    "rate_items": "packet.simulated_raters",
    "read_criteria": "verdict",
    "read_ratings": "agreement",
    "read_study": "item_studies",
    "reliability": "agreement",
    "select": "packet.selection",
    "simulate": "simulator",
    "validate": "judging.validation",
}
__all__ = sorted(_HOMES)  # noqa: PLE0605
__getattr__ = lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return [*__all__]
