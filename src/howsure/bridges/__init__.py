"""From one instrument to another. A bridge refuses what does not fit, with the reason, and keeps the provenance.

The verbs of ``howsure bridge`` are functions of the same names here::

    track     games of Track the Stat → attempts of people who learn it → N-attempt horizons
    scores    attempts at evals → scores with standard errors
    place     attempts at evals → a place on the capability scale
    judged    a judge's verdicts, some labelled by people → corrected success rates, and horizons that include the judge's errors
    map       capability, time horizon and N-attempt horizon, on the models that two of them share
"""

from typing import TYPE_CHECKING

from howsure._lazy import lazily

if TYPE_CHECKING:
    from howsure.bridges.games import learning_attempts as learning_attempts
    from howsure.bridges.games import track_horizons as track_horizons
    from howsure.bridges.judge_correction import Corrected as Corrected
    from howsure.bridges.judge_correction import JudgedHorizons as JudgedHorizons
    from howsure.bridges.judge_correction import correct as correct
    from howsure.bridges.judge_correction import correct_verdicts as correct_verdicts
    from howsure.bridges.judge_correction import judged_horizons as judged_horizons
    from howsure.bridges.placing import place_attempts as place_attempts
    from howsure.bridges.placing import scores_of as scores_of
    from howsure.bridges.scales import ScaleMap as ScaleMap
    from howsure.bridges.scales import map_scales as map_scales

    track, scores, place = track_horizons, scores_of, place_attempts
    judged, map = correct_verdicts, map_scales  # noqa: A001 - the verb's name

_HOMES = {
    "Corrected": "judge_correction",
    "JudgedHorizons": "judge_correction",
    "ScaleMap": "scales",
    "correct": "judge_correction",
    "correct_verdicts": "judge_correction",
    "judged": "judge_correction:correct_verdicts",
    "judged_horizons": "judge_correction",
    "learning_attempts": "games",
    "map": "scales:map_scales",
    "map_scales": "scales",
    "place": "placing:place_attempts",
    "place_attempts": "placing",
    "scores": "placing:scores_of",
    "scores_of": "placing",
    "track": "games:track_horizons",
    "track_horizons": "games",
}
__all__ = sorted(_HOMES)  # noqa: PLE0605
__getattr__ = lazily(__name__, _HOMES)
