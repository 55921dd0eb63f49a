"""Track the Stat: for how many turns can a solver keep a running statistic in its head?

Numbers are shown one at a time; after each, the solver says the median (or the mode, …) of all numbers so far. The first wrong
or malformed answer ends the game, and the score is the number of right turns.
"""

from typing import TYPE_CHECKING

from howsure._lazy import lazily

if TYPE_CHECKING:
    from howsure.track.browser import collect_page as collect_page
    from howsure.track.browser import make_page as make_page
    from howsure.track.costs import estimate_tokens as estimate_tokens
    from howsure.track.inspect.model_runs import run_model as run_model
    from howsure.track.playing import run_players as run_players
    from howsure.track.reading import read_samples as read_samples
    from howsure.track.results import measure as measure
    from howsure.track.samples import Samples as Samples
    from howsure.track.sequence import Setting as Setting
    from howsure.track.terminal import play_human as play_human

_HOMES = {
    "Samples": "samples",
    "Setting": "sequence",
    "collect_page": "browser",
    "estimate_tokens": "costs",
    "make_page": "browser",
    "measure": "results",
    "play_human": "terminal",
    "read_samples": "reading",
    "run_model": "inspect.model_runs",
    "run_players": "playing",
}
__all__ = sorted(_HOMES)  # noqa: PLE0605
__getattr__ = lazily(__name__, _HOMES)
