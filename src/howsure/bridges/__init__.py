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
    from howsure.bridges.judged import Corrected as Corrected
    from howsure.bridges.judged import correct as correct
    from howsure.bridges.judged import judged_horizons as judged_horizons
    from howsure.bridges.scales import ScaleMap as ScaleMap
    from howsure.bridges.scales import map_scales as map_scales
    from howsure.bridges.scores import place_attempts as place_attempts
    from howsure.bridges.scores import scores_of as scores_of
    from howsure.bridges.track import learning_attempts as learning_attempts
    from howsure.bridges.track import track_horizons as track_horizons

_HOMES = {
    "Corrected": "judged",
    "ScaleMap": "scales",
    "correct": "judged",
    "judged_horizons": "judged",
    "learning_attempts": "track",
    "map_scales": "scales",
    "place_attempts": "scores",
    "scores_of": "scores",
    "track_horizons": "track",
}
__all__ = sorted(_HOMES)  # noqa: PLE0605
__getattr__ = lazily(__name__, _HOMES)
