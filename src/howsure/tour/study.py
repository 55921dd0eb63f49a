"""A rating study: raters of known severity and noise, one of whom answers at random."""

from __future__ import annotations

from pathlib import Path

from howsure.study.analysis import Analysis, analyze
from howsure.study.scoring.fidelity import ModelScores, Raters
from howsure.study.sections import study_sections
from howsure.study.simulator import Crowd, Truth, simulate
from howsure.tour.stops import KnownEstimate, TourSettings, TourStatistic, TourStop

__all__ = ["study_part"]

_STATISTIC = TourStatistic("Statistic of the study", "0–1", of="Statistic")
_PAIR = TourStatistic("Fidelity of a pair", "PFI, 0–1", of="Pair")
_N_PAIRS, _CROWD = 20, Crowd(n_raters=10, bots=1)
_ABOUT = f"Nine raters, and one who answers at random, compare {_N_PAIRS} pairs of responses. Simulated are the fidelity of each target (PFI, persona fidelity index), the bias (severity) and noise of the raters, and the correlation of an automatic score with the true fidelity; so the expected result without careless raters is known. Rules fixed in advance decide which raters are included."


def study_part(settings: TourSettings) -> TourStop:
    """Fidelity, agreement and the model beside people."""
    world = simulate(n_pairs=_N_PAIRS, crowd=_CROWD, fidelity=0.7, seed=settings.seed)
    found = analyze(
        world.ratings,
        raters=Raters(world.raters),
        model_scores=ModelScores(world.model_scores),
        level=settings.level,
        seed=settings.seed,
    )
    assert isinstance(found, Analysis)

    def save(folder: Path) -> list[Path]:
        return [*world.save(folder), *(path for path in found.save(folder) if path.name != "raters.csv")]

    known = _known(found, world.truth)
    return TourStop(
        "Study", "study", "Raters rate", _ABOUT, known, found.provenance, lambda: study_sections(found), save
    )


def _known(found: Analysis, truth: Truth) -> tuple[KnownEstimate, ...]:
    statistics = {
        "Fidelity (PFI)": ("pfi", truth.fidelity),
        "ICC(2,1), one rater": ("pfi.icc_2_1", truth.icc_2_1),
        "Alpha, mean of raters": ("pfi.cronbach_alpha", truth.alpha),
        "Corrected correlation": ("pearson_disattenuated", truth.correlation),
    }
    whole = [
        KnownEstimate(_STATISTIC, name, found.findings.statistics[key], value)
        for name, (key, value) in statistics.items()
    ]
    pairs = [KnownEstimate(_PAIR, row.item, row.pfi, truth.fidelity_by_pair[row.item]) for row in found.findings.pairs]
    return (*whole, *pairs)
