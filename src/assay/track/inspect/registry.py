"""What Inspect finds under ``assay/``: named in this package's entry point."""

from __future__ import annotations

from assay.track.inspect.human_model import HumanAPI
from assay.track.inspect.player_models import PlayerAPI
from assay.track.inspect.scorer import max_length
from assay.track.inspect.solver import play_game
from assay.track.inspect.task import track_the_stat

__all__ = ["HumanAPI", "PlayerAPI", "max_length", "play_game", "track_the_stat"]
