"""What leads from one instrument to another. Each bridge refuses what does not fit, with a reason, and keeps what made it.

::

    track     games of Track the Stat  → attempts at learning it → learning curves, N-attempt horizons
    scores    attempts at any eval     → scores with standard errors → a place on the capability scale
    judged    a judge's verdicts, some labelled by people → corrected rates → horizons that include the judge's errors
    scales    capability, time horizon and N-attempt horizon, on the models they share
"""

from typing import TYPE_CHECKING

from howsure._lazy import lazily

if TYPE_CHECKING:
    from howsure.bridges.games import learning_attempts as learning_attempts
    from howsure.bridges.games import track_horizons as track_horizons
    from howsure.bridges.judge_correction import Corrected as Corrected
    from howsure.bridges.judge_correction import correct as correct
    from howsure.bridges.judge_correction import judged_horizons as judged_horizons
    from howsure.bridges.placing import place_attempts as place_attempts
    from howsure.bridges.placing import scores_of as scores_of
    from howsure.bridges.scales import ScaleMap as ScaleMap
    from howsure.bridges.scales import map_scales as map_scales

_HOMES = {
    "Corrected": "judge_correction",
    "ScaleMap": "scales",
    "correct": "judge_correction",
    "judged_horizons": "judge_correction",
    "learning_attempts": "games",
    "map_scales": "scales",
    "place_attempts": "placing",
    "scores_of": "placing",
    "track_horizons": "games",
}
__all__ = sorted(_HOMES)  # noqa: PLE0605
__getattr__ = lazily(__name__, _HOMES)
