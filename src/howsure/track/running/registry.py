"""What Inspect finds under ``howsure/``: named in this package's entry point."""

from __future__ import annotations

from howsure.track.running.human_model import HumanAPI
from howsure.track.running.length_task import search_length, track_length
from howsure.track.running.player_models import PlayerAPI, ReasoningAPI
from howsure.track.running.scorer import max_length
from howsure.track.running.solver import play_game
from howsure.track.running.task import track_the_stat

__all__ = [
    "HumanAPI",
    "PlayerAPI",
    "ReasoningAPI",
    "max_length",
    "play_game",
    "search_length",
    "track_length",
    "track_the_stat",
]
