"""Check claims under every defensible analysis: `check`, and the result that it returns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from howsure.arguments import checked
from howsure.claims.claim_files import Claim, ClaimFile, read_claims
from howsure.claims.inputs import ClaimData
from howsure.claims.kinds import instrument_of
from howsure.claims.kinds.instruments import Instrument
from howsure.claims.multiverse import Verdict, assess
from howsure.errors import HowsureError, OptionError
from howsure.results import Provenance, Result, columns_of
from howsure.results.choices import Choices
from howsure.stats._arrays import check_level
from howsure.tables import Table

if TYPE_CHECKING:
    from howsure.charts.drawing import Chart
    from howsure.results.blocks import Block, Section
    from howsure.tables.frames import Source

__all__ = ["ClaimCheck", "check", "choices_of"]

_MOST_NUMBERS = 200_000_000  # replicates of all specifications of a claim: 1.6 GB
_TRIALS = (
    20  # a claim with less work than this many trials is not tried beforehand: the trial would be a large part of it
)


@dataclass(frozen=True, kw_only=True, eq=False)
class ClaimCheck(Result):
    """Claims with their verdicts under all specifications.

    Table ``claims``: one row per claim, with the default estimate, the range over specifications, shares and verdict. Table ``specifications``: one row per claim
    and specification. Table ``effects``: how far each option moves the result. Table ``interactions``: pairs of options. Table ``tipping_points``. Table
    ``choices``: every option with its reason.

    Parameters
    ----------
    verdicts : tuple[Verdict, ...]
        One entry per claim.
    level : float
        Coverage of the intervals, between 0 and 1.
    file : ClaimFile
        The claims and the user's changes of choices.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "claims"

    verdicts: tuple[Verdict, ...]
    level: float
    file: ClaimFile
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``claims``, ``specifications``, ``effects``, ``interactions``, ``tipping_points`` and ``choices``."""
        claims, rows, effects, pairs, tipping, choices = [], [], [], [], [], []
        for v in self.verdicts:
            label = v.claim.label
            claims.append(
                {"claim": label, "verdict": v.verdict, "quantity": v.quantity, "threshold": v.claim.threshold}
                | columns_of(estimate=v.default)
                | {
                    "lowest": v.low,
                    "highest": v.high,
                    "n_specifications": v.n_specifications,
                    "n_possible": v.n_possible,
                }
                | {
                    "share_supported": v.share_supported,
                    "share_contradicted": v.share_contradicted,
                    "share_open": v.share_open,
                }
                | {"share_of_replicates": v.share_of_replicates, "turns_on": v.turns_on, "sentence": v.sentence}
            )
            rows += [
                {"claim": label, "specification": one.number, "options": _options(one.options)}
                | columns_of(estimate=one.estimate)
                | {"status": one.status, "share_of_replicates": one.share_of_replicates}
                for one in v.specifications
            ]
            effects += [
                {
                    "claim": label,
                    "choice": one.choice,
                    "option": one.option,
                    "scale": "factor" if v.is_ratio else "difference",
                }
                | columns_of(effect=one.effect, alone=one.alone)
                | {
                    "n_pairs": one.n_pairs,
                    "share_supported": one.share_supported,
                    "share_supported_default": one.share_supported_default,
                }
                for one in v.effects
            ]
            pairs += [
                {
                    "claim": label,
                    "choice_a": one.choice_a,
                    "option_a": one.option_a,
                    "choice_b": one.choice_b,
                    "option_b": one.option_b,
                }
                | {"scale": "factor" if v.is_ratio else "difference"}
                | columns_of(effect=one.effect)
                | {"n_pairs": one.n_pairs}
                for one in v.interactions
            ]
            tipping += [
                {"claim": label, "what": one.what, "value": one.value, "sentence": one.sentence} for one in v.tipping
            ]
            choices.append(v.choices.table().select(pl.lit(label).alias("claim"), pl.all()))
        numbers = ("estimate", "effect", "alone", "value", "lowest", "highest", "share_of_replicates")
        kinds = {f"{name}{end}": pl.Float64 for name in numbers for end in ("", "_low", "_high")}
        frames = {
            name: pl.DataFrame(own, schema_overrides={k: v for k, v in kinds.items() if k in own[0]}, infer_schema_length=None)
            for name, own in (("claims", claims), ("specifications", rows), ("effects", effects), ("interactions", pairs), ("tipping_points", tipping))
            if own
        }  # fmt: skip
        return {**frames, "choices": pl.concat(choices)}

    def sections(self) -> list[Section]:
        """What a report says about it."""
        from howsure.claims.sections import claim_sections

        return claim_sections(self)

    def opening(self) -> list[Block]:
        """A table of all claims, where there are more than the front page has room for."""
        from howsure.claims.sections import MOST_CARDS, claims_table

        return [claims_table(self)] if len(self.verdicts) > MOST_CARDS else []

    def charts(self) -> dict[str, Chart]:
        """A specification curve per claim, and how far each option moves the result, by file name."""
        from howsure.claims.charts import draw_claims

        return draw_claims(self)


@checked
def check(
    claims: ClaimFile | Claim | Path | str | Mapping[str, Any] | Sequence[Any],
    data: ClaimData | Table | Source | Sequence[Any],
    *,
    n_replicates: int = 1000,
    most: int = 500,
    level: float = 0.95,
    seed: int = 0,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    keep: Path | str | None = None,
) -> ClaimCheck:
    """Whether claims hold under every defensible analysis of the data.

    Each claim is computed under every combination of the instrument's declared choices, with replicates that all combinations share. The verdict is *holds
    in all* (every specification supports it), *holds in most* (the default and at least 80 % do), *does not hold* (the default contradicts it) or
    *cannot tell*. Shares of specifications are not probabilities.

    Parameters
    ----------
    claims : path, mapping, sequence, Claim or ClaimFile
        A YAML file of claims, its content, or claims.
    data : table, frame, path, or several of them
        The tables that the claims need: attempts (one row per try), scores, ratings or games of Track; for a trend also a file of model and released.
    n_replicates : int, default 1000
        Bootstrap replicates per specification; at most 100 are made of a scale, whose refits are slow.
    most : int, default 500
        The largest number of specifications per claim. Of more, a sample is taken: the default, every change of one option, of two, and random ones.
    level : float, default 0.95
        Coverage of the intervals.
    seed : int, default 0
        The same seed gives the same numbers.
    scheduler : str, optional
        A Dask scheduler, such as ``tcp://host:8786``.
    progress : callable, optional
        Called with the number of replicates (horizons) or specifications (other kinds) that are done, and their total.
    keep : path, optional
        A folder for the finished fits of capability scales: after an interruption the same call goes on from them.

    Returns
    -------
    ClaimCheck
        Verdicts and tables.

    Examples
    --------
    >>> import howsure
    >>> howsure.claims.check([{"kind": "level", "model": "amber-2", "at_least": 0.5}], "examples/evals/attempts.csv")  # doctest: +SKIP
    """
    check_level(level)
    if n_replicates < 20 or most < 1:
        raise OptionError("Give at least 20 replicates and 1 specification.")
    file = read_claims(claims)
    held = ClaimData.of(data, file)
    verdicts, fewer = [], list[str]()
    for claim, instrument in choices_of(file, held):
        specifications = instrument.specifications(most, seed=seed)
        if len(specifications) * min(n_replicates, instrument.most_replicates or n_replicates) > _MOST_NUMBERS:
            raise OptionError(
                f"{n_replicates:,} replicates of {len(specifications):,} specifications do not fit in memory. Choose fewer replicates or specifications."
            )
        if (instrument.most_replicates or n_replicates) < n_replicates:
            fewer.append(f"{claim.label} {instrument.most_replicates:,} replicates were made, because refits are slow.")
        fits = instrument.fit(
            specifications,
            level=level,
            n_replicates=n_replicates,
            seed=seed,
            scheduler=scheduler,
            progress=progress,
            keep=None if keep is None else Path(keep),
        )
        verdicts.append(assess(claim, instrument.choices, specifications, fits, level=level))
    settings = {"n_replicates": n_replicates, "most": most, "level": level}
    sampled = [
        f"{v.claim.label} {v.n_specifications:,} of {v.n_possible:,} combinations were computed (a sample: --most)."
        for v in verdicts
        if v.n_specifications < v.n_possible and v.n_specifications == most
    ]
    return ClaimCheck(
        verdicts=tuple(verdicts),
        level=level,
        file=file,
        provenance=Provenance(
            settings, held.digest, seed, (*held.notes, *(n for v in verdicts for n in v.notes), *sampled, *fewer)
        ),
    )


def choices_of(file: ClaimFile, data: ClaimData | Table | Source | Sequence[Any]) -> list[tuple[Claim, Instrument]]:
    """Every claim with its choices, as the user changed them. A change must fit at least one claim."""
    held = ClaimData.of(data, file)
    found = []
    used: set[int] = set()
    for claim in file.claims:
        instrument = instrument_of(claim, held)
        choices: Choices = instrument.choices
        for place, change in enumerate(file.changes):
            if change["choice"] in [one.name for one in choices.choices]:
                choices = choices.changed(
                    change["choice"], add=change.get("add"), remove=change.get("remove"), reason=change["reason"]
                )
                used.add(place)
        found.append((claim, replace(instrument, choices=choices)))
    for place, change in enumerate(file.changes):
        if place not in used:
            names = sorted({one.name for _, instrument in found for one in instrument.choices.choices})
            raise OptionError.unknown("choice", change["choice"], names)
    return found


def estimated_seconds(found: Sequence[tuple[Claim, Instrument]], most: int, n_replicates: int) -> float:
    """How long a check will take, about, from a small trial of each claim that has much more to compute than its trial."""
    total = 0.0
    for _, instrument in found:
        specifications = instrument.specifications(most)
        few = specifications[: min(4, len(specifications))]
        n = min(n_replicates, instrument.most_replicates or n_replicates)
        if len(specifications) * n < _TRIALS * len(few) * (32 + 64):
            continue
        try:
            instrument.fit(few, level=0.95, n_replicates=32, seed=0)  # compiles
            started = time.process_time()
            instrument.fit(few, level=0.95, n_replicates=64, seed=0)
        except HowsureError:
            continue
        total += (time.process_time() - started) * len(specifications) / len(few) * n / 64
    return total


def _options(options: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in options.items())
