"""Track the Stat: for how many turns can a model or a person keep a running statistic in mind?

Numbers are shown one at a time; after each, the player says the median (or the mode, …) of all numbers so far. The first wrong
or malformed answer ends the game, and the score is the number of correct answers before it.

The verbs of ``howsure track`` are functions of the same names here: `estimate`, `run`, `length`, `human`, `page`, `collect` and `report`.
"""

from typing import TYPE_CHECKING

from howsure._lazy import lazily

if TYPE_CHECKING:
    from howsure.track.adaptive import MedianLength as MedianLength
    from howsure.track.adaptive import find_median_length as find_median_length
    from howsure.track.browser import collect_page as collect_page
    from howsure.track.browser import make_page as make_page
    from howsure.track.game.sequence import Setting as Setting
    from howsure.track.results import TrackResult as TrackResult
    from howsure.track.results import measure as measure
    from howsure.track.results import report_games as report_games
    from howsure.track.running.costs import Prices as Prices
    from howsure.track.running.costs import RunEstimate as RunEstimate
    from howsure.track.running.costs import estimate_run as estimate_run
    from howsure.track.running.costs import estimate_tokens as estimate_tokens
    from howsure.track.running.logs import read_samples as read_samples
    from howsure.track.running.playing import play_all as play_all
    from howsure.track.running.playing import run_model as run_model
    from howsure.track.running.playing import run_players as run_players
    from howsure.track.samples import Samples as Samples
    from howsure.track.terminal import play_human as play_human

    estimate, run, length, human = estimate_run, play_all, find_median_length, play_human
    page, collect, report = make_page, collect_page, report_games

_HOMES = {
    "MedianLength": "adaptive",
    "Prices": "running.costs",
    "RunEstimate": "running.costs",
    "Samples": "samples",
    "Setting": "game.sequence",
    "TrackResult": "results",
    "collect": "browser:collect_page",
    "collect_page": "browser",
    "estimate": "running.costs:estimate_run",
    "estimate_run": "running.costs",
    "estimate_tokens": "running.costs",
    "find_median_length": "adaptive",
    "human": "terminal:play_human",
    "length": "adaptive:find_median_length",
    "make_page": "browser",
    "measure": "results",
    "page": "browser:make_page",
    "play_all": "running.playing",
    "play_human": "terminal",
    "read_samples": "running.logs",
    "report": "results:report_games",
    "report_games": "results",
    "run": "running.playing:play_all",
    "run_model": "running.playing",
    "run_players": "running.playing",
}
__all__ = sorted(_HOMES)  # noqa: PLE0605
__getattr__ = lazily(__name__, _HOMES)
