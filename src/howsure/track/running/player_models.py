"""Players as models of Inspect, so that a log says who played: ``--model howsure/oracle``."""

from __future__ import annotations

from collections import OrderedDict

from inspect_ai.model import ChatMessage, GenerateConfig, modelapi

from howsure.errors import OptionError
from howsure.track.game.players import player
from howsure.track.game.rules import Player
from howsure.track.running.free_model import FreeAPI

__all__ = ["PROVIDER", "PlayerAPI"]

PROVIDER = "howsure"
_SEATS = 256  # games remembered at a time; more are played at once only on purpose


@modelapi(name=PROVIDER)
class PlayerAPI(FreeAPI):
    """One of the players that need no model, under its own name: oracle, random, largest, window-20, noisy-0.05.

    It is told the numbers by the messages' metadata. Where a conversation is not the one it knows, one turn on, it plays
    the game anew from the start: a resumed game goes on as it began.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - as Inspect has it
    ) -> None:
        super().__init__(model_name, base_url, api_key, config)
        player(model_name, "median")  # says now if there is no such player
        # by the opening message: how many messages the game had, and who plays it
        self._seats: OrderedDict[str | None, tuple[int, Player]] = OrderedDict()

    def said(self, messages: list[ChatMessage]) -> str:
        """What the player says to the last number."""
        opening = messages[0].metadata or {}
        if "player_seed" not in opening:
            raise OptionError(f"{PROVIDER}/{self.model_name} plays track_the_stat only. Choose another model.")
        told, playing = self._seats.pop(messages[0].id, (0, None))
        newest = messages[-2:]  # the turn, and before it the last reply, or after it the state
        if playing is None or told + 2 != len(messages):
            playing, newest = player(self.model_name, opening["variant"], seed=opening["player_seed"]), messages
        shown = [one.metadata for one in newest if one.metadata]
        said = [playing.reply(one["step"]) for one in shown if "step" in one][-1:]
        said += [playing.reply(step) for one in shown for step in one.get("steps", ())]  # all turns at once
        self._seats[messages[0].id] = len(messages), playing
        if len(self._seats) > _SEATS:
            self._seats.popitem(last=False)
        return "\n".join(said)
