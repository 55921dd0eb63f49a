"""What Inspect finds under ``howsure/``: named in this package's entry point."""

from __future__ import annotations

from howsure.track.running.length_task import search_length, track_length
from howsure.track.running.players import HumanAPI, PlayerAPI, ReasoningAPI
from howsure.track.running.task import max_length, play_game, track_the_stat

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
