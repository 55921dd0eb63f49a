"""Blind human ratings: do people agree, and does an automatic judge agree with them?

The verbs of ``howsure study`` under the same names: `plan`, `select`, `check`, `build`, `collect`, `analyze`, `judge`, `validate`,
`reliability`, `simulate`.

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
    from howsure.study.collection import Collected as Collected
    from howsure.study.collection import collect as collect
    from howsure.study.embeddings import Similarity as Similarity
    from howsure.study.embeddings import measure_similarity as measure_similarity
    from howsure.study.judging import Judged as Judged
    from howsure.study.judging import judge as judge
    from howsure.study.packet import Packet as Packet
    from howsure.study.packet import build as build
    from howsure.study.plan_simulation import Assumptions as Assumptions
    from howsure.study.plan_simulation import Design as Design
    from howsure.study.planning import StudyPlan as StudyPlan
    from howsure.study.planning import plan as plan
    from howsure.study.preflight import Preflight as Preflight
    from howsure.study.preflight import check as check
    from howsure.study.protocol import Study as Study
    from howsure.study.rehearsal import fill_in as fill_in
    from howsure.study.selection import Selection as Selection
    from howsure.study.selection import select as select
    from howsure.study.simulator import Crowd as Crowd
    from howsure.study.simulator import SimulatedStudy as SimulatedStudy
    from howsure.study.simulator import simulate as simulate
    from howsure.study.validation import Validation as Validation
    from howsure.study.validation import validate as validate
    from howsure.study.verdict import Criterion as Criterion
    from howsure.study.verdict import read_criteria as read_criteria

_HOMES = {
    "Analysis": "analysis",
    "Assumptions": "plan_simulation",
    "Collected": "collection",
    "Criterion": "verdict",
    "Crowd": "simulator",
    "Design": "plan_simulation",
    "Judged": "judging",
    "Packet": "packet",
    "Preflight": "preflight",
    "Reliability": "agreement",
    "Selection": "selection",
    "Similarity": "embeddings",
    "SimulatedStudy": "simulator",
    "Study": "protocol",
    "StudyPlan": "planning",
    "Validation": "validation",
    "analyze": "analysis",
    "build": "packet",
    "check": "preflight",
    "collect": "collection",
    "fill_in": "rehearsal",
    "judge": "judging",
    "measure_similarity": "embeddings",
    "plan": "planning",
    "read_criteria": "verdict",
    "read_ratings": "agreement",
    "reliability": "agreement",
    "select": "selection",
    "simulate": "simulator",
    "validate": "validation",
}
__all__ = sorted(_HOMES)  # noqa: PLE0605
__getattr__ = lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return [*__all__]
