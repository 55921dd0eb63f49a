"""Human ratings: do people agree, and how sure is that?"""

from typing import TYPE_CHECKING

from howsure._lazy import lazily

if TYPE_CHECKING:
    from howsure.study.check import preflight as preflight
    from howsure.study.embeddings import measure_similarity as measure_similarity
    from howsure.study.judge import judge_study as judge_study
    from howsure.study.protocol import Study as Study
    from howsure.study.rehearse import fill_in as fill_in
    from howsure.study.reliability import assess as assess

_HOMES = {
    "Study": "protocol",
    "assess": "reliability",
    "fill_in": "rehearse",
    "judge_study": "judge",
    "measure_similarity": "embeddings",
    "preflight": "check",
}
__all__ = sorted(_HOMES)  # noqa: PLE0605
__getattr__ = lazily(__name__, _HOMES)
