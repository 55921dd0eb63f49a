"""Track the Stat: for how many turns can a solver keep a running statistic in its head?

Numbers are shown one at a time; after each, the solver says the median (or the mode, …) of all numbers so far. The first wrong
or malformed answer ends the game, and the score is the number of right turns.
"""

from typing import TYPE_CHECKING

from howsure._lazy import lazily

if TYPE_CHECKING:
    from howsure.track.estimate import estimate_tokens as estimate_tokens
    from howsure.track.human import play_human as play_human
    from howsure.track.inspect.run import run_model as run_model
    from howsure.track.page import collect_page as collect_page
    from howsure.track.page import make_page as make_page
    from howsure.track.reading import read_samples as read_samples
    from howsure.track.results import measure as measure
    from howsure.track.run import run_players as run_players
    from howsure.track.samples import Samples as Samples
    from howsure.track.sequence import Setting as Setting

_HOMES = {
    "Samples": "samples",
    "Setting": "sequence",
    "collect_page": "page",
    "estimate_tokens": "estimate",
    "make_page": "page",
    "measure": "results",
    "play_human": "human",
    "read_samples": "reading",
    "run_model": "inspect.run",
    "run_players": "run",
}
__all__ = sorted(_HOMES)  # noqa: PLE0605
__getattr__ = lazily(__name__, _HOMES)
