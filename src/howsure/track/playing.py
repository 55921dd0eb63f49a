"""Games of players that need no model, played here and now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from howsure.errors import OptionError
from howsure.track.game import play
from howsure.track.players import player
from howsure.track.samples import Sample, Samples
from howsure.track.sequence import Setting

__all__ = ["SAMPLES", "run_players"]

SAMPLES = 250


def run_players(
    names: Sequence[str],
    variants: Iterable[str],
    *,
    setting: Setting | None = None,
    n_samples: int = SAMPLES,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Samples:
    """Every player on every variant, over the sequences 0 … `n_samples` − 1; `seed` is for players that draw."""
    if n_samples < 1:
        raise OptionError(f"{n_samples} samples leave nothing to play. Give at least 1.")
    setting = setting or Setting()
    sequences = [setting.numbers(sample) for sample in range(n_samples)]
    matches = [(name, variant) for variant in variants for name in names]
    samples: list[Sample] = []
    for done, (name, variant) in enumerate(matches, 1):
        for sample, numbers in enumerate(sequences):
            game = play(player(name, variant, seed=(seed, sample)), variant, numbers)
            samples.append(Sample.of(game, model=name, variant=variant, seed=sample, setting=setting, kind="baseline"))
        if progress:
            progress(done, len(matches))
    return Samples.from_games(samples)
