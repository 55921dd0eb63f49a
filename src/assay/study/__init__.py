"""Human ratings: do people agree, and how sure is that?"""

from typing import TYPE_CHECKING

from assay._lazy import lazily

if TYPE_CHECKING:
    from assay.study.check import preflight as preflight
    from assay.study.embeddings import measure_similarity as measure_similarity
    from assay.study.judge import judge_study as judge_study
    from assay.study.protocol import Study as Study
    from assay.study.rehearse import fill_in as fill_in
    from assay.study.reliability import assess as assess

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
