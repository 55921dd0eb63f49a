"""A simulated study: raters with known bias (severity), noise and careless behaviour rate pairs of known fidelity."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from howsure.errors import OptionError
from howsure.results import Provenance, Result, plain
from howsure.stats._arrays import Floats
from howsure.study.inputs import check_type
from howsure.study.packet.design import AGAIN, ATTENTION, ShownItem, arrange
from howsure.study.protocol import Attention, Dimension, ResponsePair, Study
from howsure.tables import Ratings

__all__ = [
    "DOMAINS",
    "DOMAIN_SHARE",
    "MODEL_MEAN",
    "MODEL_SD",
    "Answers",
    "Crowd",
    "SimulatedStudy",
    "Truth",
    "domain_levels",
    "fidelity_of",
    "honest_answers",
    "kept_answers",
    "placeholder_study",
    "random_answers",
    "simulate",
    "slot_answers",
]

DOMAINS = ("TECH", "ANAL", "PHIL", "SELF", "NARR")
"""From the easiest to the hardest, as in the bundled example."""

DOMAIN_SHARE = 0.5
"""How much of the variance of scores lies between domains."""

MODEL_MEAN, MODEL_SD = 0.87, 0.04
"""What automatic scores of persona fidelity look like."""

_DRAWS = 100_000  # behind the true reliability: leaves an error of about 0.003
_DRAWS_A_PAIR = 20_000
_SECONDS = {"honest": 62.0, "bot": 3.0, "straight": 9.0, "slot one": 14.0}  # an item, in the median
_ATTENTIVE = {"honest": 0.97, "bot": 0.5, "straight": 0.5, "slot one": 0.6}
_RATER_COLUMNS = {
    "rater": pl.String,
    "minutes": pl.Float64,
    "complete": pl.Float64,
    "quiz": pl.Float64,
    "slot_one": pl.Float64,
    "comments": pl.String,
    "digest": pl.String,
}
_BEFORE_RATING = 130.0  # seconds for consent, gold standard and quiz, in the median


@dataclass(frozen=True)
class Crowd:
    """Simulated raters.

    Parameters
    ----------
    n_raters : int
        Number of raters.
    severity : float
        Rater bias (severity): standard deviation between honest raters, on the 0–1 scale of fidelity.
    noise : float
        Standard deviation of one rating of a pair, on the same scale.
    bots : int
        Raters who answer at random.
    straight_liners : int
        Raters who always choose the same positions.
    slot_one_pickers : int
        Raters who always prefer the first response.
    attrition : float
        Probability that a rater stops early.
    """

    n_raters: int = 7
    severity: float = 0.05
    noise: float = 0.10
    bots: int = 0
    straight_liners: int = 0
    slot_one_pickers: int = 0
    attrition: float = 0.0

    def __post_init__(self) -> None:
        if min(self.n_raters - 1, self.bots, self.straight_liners, self.slot_one_pickers) < 0:
            raise OptionError("There must be at least one rater, and no count may be below 0.")
        if self.bots + self.straight_liners + self.slot_one_pickers > self.n_raters:
            raise OptionError(
                f"{self.n_raters} raters are fewer than the bots, straight-liners and slot-one pickers together."
            )
        if min(self.severity, self.noise) < 0 or not 0 <= self.attrition <= 1:
            raise OptionError("severity and noise must be at least 0, and attrition between 0 and 1.")

    @property
    def kinds(self) -> list[str]:
        """What each rater is: honest ones first."""
        vices = ["bot"] * self.bots + ["straight"] * self.straight_liners + ["slot one"] * self.slot_one_pickers
        return ["honest"] * (self.n_raters - len(vices)) + vices


@dataclass(frozen=True)
class Truth:
    """Expected results with honest raters.

    ``fidelity_by_pair`` is each pair's PFI, ``fidelity`` its mean over all such pairs; ``icc_2_1`` is the reliability of one
    rater's PFI, ``icc_2_k`` of the mean of the honest ones, ``alpha`` the same without severity; ``correlation`` is that of model scores
    with true PFI over all such pairs, ``correlation_here`` over the pairs of this study. ``kind_by_rater`` tells who is honest.
    """

    fidelity_by_pair: Mapping[str, float]
    fidelity: float
    icc_2_1: float
    icc_2_k: float
    alpha: float
    correlation: float
    correlation_here: float | None
    kind_by_rater: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class SimulatedStudy(Result):
    """Simulated ratings as `howsure study collect` would give them, with their true values.

    Parameters
    ----------
    ratings : Ratings
        The ratings.
    raters : pl.DataFrame
        One row per rater.
    model_scores : pl.DataFrame
        item, score, domain.
    truth : Truth
        The true values.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "study_truth"
    ratings: Ratings
    raters: pl.DataFrame
    model_scores: pl.DataFrame
    truth: Truth
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """``ratings``, ``raters`` and ``model_scores``."""
        return {"ratings": self.ratings.frame, "raters": self.raters, "model_scores": self.model_scores}

    def as_dict(self) -> dict[str, Any]:
        """The true values and the provenance; the drawn ratings are in the tables."""
        truth: dict[str, Any] = plain(self.truth)
        return {**truth, "provenance": plain(self.provenance)}


def simulate(
    study: Study | str | os.PathLike[str] | None = None,
    *,
    n_pairs: int = 5,
    crowd: Crowd | None = None,
    fidelity: float = 0.8,
    spread: float = 0.1,
    correlation: float = 0.9,
    seed: int = 0,
) -> SimulatedStudy:
    r"""Simulated ratings of a study.

    .. math:: f_i = \text{fidelity} + \text{spread}\,\big(\rho\, u_i + \sqrt{1 - \rho^2}\, z_i\big), \qquad
              v_{ij} = f_i + \text{severity}_j + \text{noise}_{ij}

    u is the model's score of pair i in standard deviations, ρ the ``correlation``, and v_ij the fidelity that rater j perceives: 1 means that only the target has the quality, 0.5 that both responses are equal, 0 the reverse. Each answer is the step of its scale nearest to v_ij plus a little noise. Because scales are discrete and bounded, the true values of the ratings are computed by simulating many more honest raters.

    Parameters
    ----------
    study : Study | str or path | None
        The study or its file; by default ``n_pairs`` placeholder pairs over five domains, with the default dimensions, one repeated pair, one attention item and the question which response was the target.
    n_pairs : int
        Number of pairs, without a study.
    crowd : Crowd | None
        The raters.
    fidelity : float
        Mean fidelity.
    spread : float
        Standard deviation of fidelity over pairs.
    correlation : float
        Correlation of the model's scores with fidelity.
    seed : int
        Seed of the random numbers.
    """
    rng = np.random.default_rng(seed)
    crowd = Crowd() if crowd is None else crowd
    check_type("crowd", crowd, Crowd, "a Crowd")
    study = placeholder_study(n_pairs, seed) if study is None else Study.of(study)
    pairs = _Pairs(study, fidelity, spread, correlation)
    standing, scores = pairs.scores_here(rng)
    seen = pairs.fidelity_at(standing, rng)
    names = [f"r{number:02}" for number in range(1, crowd.n_raters + 1)]
    raters = [
        _Rater(name, kind, study, crowd, rng).rate(items, dict(zip(pairs.ids, seen, strict=True)))
        for name, kind, items in zip(names, crowd.kinds, arrange(study, crowd.n_raters), strict=True)
    ]
    ratings = Ratings(pl.concat([rows for rows, _ in raters]))
    domains = pl.Series([pair.domain for pair in study.pairs], dtype=pl.String)
    model_scores = pl.DataFrame({"item": pairs.ids, "score": scores, "domain": domains})
    truth = _truth(pairs, crowd, seen, scores, dict(zip(names, crowd.kinds, strict=True)), rng)
    settings = {
        **vars(crowd),
        "n_pairs": len(study.pairs),
        "fidelity": fidelity,
        "spread": spread,
        "correlation": correlation,
    }
    return SimulatedStudy(
        ratings=ratings,
        raters=pl.DataFrame([about for _, about in raters], schema=_RATER_COLUMNS),
        model_scores=model_scores,
        truth=truth,
        provenance=Provenance(settings, ratings.digest, seed),
    )


def placeholder_study(n_pairs: int, seed: int = 0) -> Study:
    """A study with the default dimensions whose texts say nothing, its pairs dealt over five domains."""
    if not 1 <= n_pairs <= 200:
        raise OptionError(f"{n_pairs} pairs: a study has 1 to 200.")
    digits = max(2, len(str(n_pairs)))
    pairs = [
        ResponsePair(
            id=f"pair-{n + 1:0{digits}}",
            prompt="A prompt.",
            target="One.",
            comparison="Two.",
            domain=DOMAINS[n % len(DOMAINS)],
        )
        for n in range(n_pairs)
    ]
    attention = Attention(
        id="a1", text="Choose the first.", question="Which?", options=("First", "Second"), right="First"
    )
    return Study(
        title="A simulated study",
        consent="No person is asked.",
        gold="A text.",
        pairs=tuple(pairs),
        attention=(attention,),
        repeats=1,
        ask_guess=True,
        seed=seed,
    )


@dataclass(frozen=True)
class _Pairs:
    """The population that a study's pairs come from."""

    study: Study
    fidelity: float
    spread: float
    correlation: float

    def __post_init__(self) -> None:
        if not -1 <= self.correlation <= 1:
            raise OptionError(f"correlation {self.correlation:g} is not between −1 and 1.")
        if all(dimension.kind == "choice" for dimension in self.study.dimensions):
            raise OptionError(
                "The study has only questions of the kind choice, which give no fidelity score. Add a comparison."
            )
        if self.spread < 0 or not 0 <= self.fidelity <= 1:
            raise OptionError("fidelity must be between 0 and 1, and spread at least 0.")

    @property
    def ids(self) -> list[str]:
        return [pair.id for pair in self.study.pairs]

    def scores_here(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Where each pair of the study stands among model scores, in standard deviations, and its score."""
        given = np.array(
            [np.nan if p.model_score is None else p.model_score for p in self.study.pairs], dtype=np.float64
        )
        if np.isfinite(given).all() and np.ptp(given) > 0:
            return (given - given.mean()) / given.std(), given
        standing = self._standing(np.arange(len(given)), rng)
        return standing, np.clip(MODEL_MEAN + MODEL_SD * standing, 0, 1)

    def population(self, n: int, rng: np.random.Generator) -> Floats:
        """Where so many other pairs stand."""
        return self._standing(rng.integers(0, len(self.study.pairs), n), rng)

    def fidelity_at(self, standing: Floats, rng: np.random.Generator) -> Floats:
        own = rng.standard_normal(len(standing))
        rest = np.sqrt(1 - self.correlation**2) * own
        return np.asarray(self.fidelity + self.spread * (self.correlation * standing + rest))

    def _standing(self, places: np.ndarray, rng: np.random.Generator) -> Floats:
        """Standard normal about the level of each pair's domain; levels fall in the order in which domains appear."""
        listed = [pair.domain for pair in self.study.pairs]
        domains = list(dict.fromkeys(listed))
        levels = domain_levels(np.array([domains.index(domain) for domain in listed]))
        share = DOMAIN_SHARE if len(domains) > 1 else 0.0
        own = rng.standard_normal(len(places))
        return np.asarray(np.sqrt(share) * levels[places] + np.sqrt(1 - share) * own)


def domain_levels(domain: np.ndarray) -> Floats:
    """Falling levels of domains 0, 1, … in equal steps, with mean 0 and variance 1 over the pairs."""
    falling = -domain.astype(np.float64)
    centred = falling - falling.mean()
    return np.asarray(centred / (centred.std() or 1.0))


class _Rater:
    """One rater: knows how to answer, and is gone after the last item."""

    def __init__(self, name: str, kind: str, study: Study, crowd: Crowd, rng: np.random.Generator) -> None:
        self.name, self.kind, self.study, self.crowd, self.rng = name, kind, study, crowd, rng
        self.severity = crowd.severity * rng.standard_normal()
        self.pace = float(np.exp(0.15 * rng.standard_normal()))
        self.habit = rng.random(len(study.dimensions))

    def rate(self, items: Sequence[ShownItem], seen: Mapping[str, float]) -> tuple[pl.DataFrame, dict[str, Any]]:
        """The rows of this rater, and what raters.csv says of them."""
        stays = self.rng.random() >= self.crowd.attrition
        answered = items if stays else items[: int(self.rng.integers(1, max(len(items), 2)))]
        rows, total = [], _BEFORE_RATING * self.pace * float(np.exp(0.2 * self.rng.standard_normal()))
        total = min(total, 20.0) if self.kind != "honest" else total
        for position, shown in enumerate(answered, 1):
            seconds = _SECONDS[self.kind] * self.pace * float(np.exp(0.35 * self.rng.standard_normal()))
            total += seconds
            rows += [
                (self.name, shown.item, name, value, round(seconds, 1), self._revisions(), position)
                for name, value in self._answer(shown, seen).items()
            ]
        # a guess is asked once per pair; that of a repeat is drawn all the same, so that a seed keeps its numbers
        asked = [row for row in rows if not (row[2] == "guess" and row[1].endswith(AGAIN))]
        return _rating_frame(asked), self._about(items, answered, total / 60)

    def _answer(self, shown: ShownItem, seen: Mapping[str, float]) -> Answers:
        if shown.item.startswith(ATTENTION):
            return {"attention": float(self.rng.random() < _ATTENTIVE[self.kind])}
        return self._judge(shown, seen) | ({"guess": self._guess()} if self.study.ask_guess else {})

    def _judge(self, shown: ShownItem, seen: Mapping[str, float]) -> Answers:
        asked, is_first = self.study.dimensions, shown.target == 1
        if self.kind == "bot":
            return random_answers(asked, self.rng)
        if self.kind == "straight":
            return kept_answers(asked, self.habit, is_first=is_first)
        if self.kind == "slot one":
            return slot_answers(asked, is_first=is_first)
        view = seen[shown.pair] + self.severity + self.crowd.noise * self.rng.standard_normal()
        drawn = honest_answers(asked, np.array([view]), self.rng)
        return {name: float(values[0]) for name, values in drawn.items()}

    def _guess(self) -> float:
        """By chance alone, so blinding holds."""
        return float(self.rng.choice((1.0, 0.0, 0.5)))

    def _revisions(self) -> int:
        return int(self.rng.poisson(0.2 if self.kind == "honest" else 0.0))

    def _about(self, items: Sequence[ShownItem], answered: Sequence[ShownItem], minutes: float) -> dict[str, Any]:
        slots = [shown.target for shown in answered if shown.target]
        right = 0.9 if self.kind == "honest" else 0.5
        n_asked = len(self.study.quiz.questions) if self.study.quiz else 0
        return {
            "rater": self.name,
            "minutes": round(minutes, 2),
            "complete": sum(map(self._asked, answered)) / sum(map(self._asked, items)),
            "quiz": float(self.rng.binomial(n_asked, right)) / n_asked if n_asked else None,
            "slot_one": slots.count(1) / len(slots) if slots else None,
            "comments": None,
            "digest": None,
        }

    def _asked(self, shown: ShownItem) -> int:
        """How many questions an item has."""
        if shown.target is None:
            return 1
        has_guess = self.study.ask_guess and shown.item == shown.pair
        return sum(len(dimension.rated) for dimension in self.study.dimensions) + has_guess


def _rating_frame(rows: Sequence[tuple[Any, ...]]) -> pl.DataFrame:
    kinds = [pl.String, pl.String, pl.String, pl.Float64, pl.Float64, pl.Int64, pl.Int64]
    names = ["rater", "item", "dimension", "value", "seconds", "revisions", "position"]
    return pl.DataFrame(rows, schema=dict(zip(names, kinds, strict=True)), orient="row")


def _truth(
    pairs: _Pairs, crowd: Crowd, seen: Floats, scores: Floats, kinds: Mapping[str, str], rng: np.random.Generator
) -> Truth:
    asked = pairs.study.dimensions
    strays = float(np.hypot(crowd.severity, crowd.noise))
    by_pair = [float(_rated(asked, np.full(_DRAWS_A_PAIR, one), strays, rng).mean()) for one in seen]
    item, rater, total, mean, with_scores = _components(pairs, crowd, rng)
    n_honest = max(1, list(kinds.values()).count("honest"))
    spoken = item > 0.001 * total  # what chance alone leaves of no variance
    here = float(np.corrcoef(by_pair, scores)[0, 1]) if np.ptp(by_pair) and np.ptp(scores) else None
    return Truth(
        dict(zip(pairs.ids, by_pair, strict=True)),
        mean,
        item / total if spoken else 0.0,
        item / (item + (total - item) / n_honest) if spoken else 0.0,
        item / (item + (total - item - rater) / n_honest) if spoken else 0.0,
        float(np.clip(with_scores / np.sqrt(item), -1, 1)) if spoken else 0.0,
        here,
        dict(kinds),
    )


def _components(pairs: _Pairs, crowd: Crowd, rng: np.random.Generator) -> tuple[float, float, float, float, float]:
    """Variance of PFI by pair, by rater and in all, its mean, and its covariance with model scores, over the population.

    Each draw has two pairs rated by the same two raters, so covariances of its four cells are the components.
    """
    standing = np.stack([pairs.population(_DRAWS, rng) for _ in range(2)])
    seen = np.stack([pairs.fidelity_at(one, rng) for one in standing])
    severity = crowd.severity * rng.standard_normal((2, _DRAWS))
    cells = np.array([[_rated(pairs.study.dimensions, s + r, crowd.noise, rng) for r in severity] for s in seen])
    off = cells - cells.mean()
    item = float((off[:, 0] * off[:, 1]).mean())
    rater = float((off[0] * off[1]).mean())
    with_scores = float((off * (standing - standing.mean())[:, None]).mean() / standing.std())
    return item, max(rater, 0.0), float((off**2).mean()), float(cells.mean()), with_scores


def _rated(asked: Sequence[Dimension], seen: Floats, strays: float, rng: np.random.Generator) -> Floats:
    """The PFI that honest raters give to what they see as `seen`, straying by so much."""
    return fidelity_of(asked, honest_answers(asked, seen + strays * rng.standard_normal(len(seen)), rng))


# How simulated raters fill in a pair's questions: by what they see, at random, by habit, or by slot.
#
# Answers are by name as in a table of ratings: ``voice``, ``vibe:target``, ``vibe:comparison``, …, comparisons above 0 for the target.


Answers = dict[str, float]

_ANSWER_NOISE = 0.08  # of one answer beside the rater's view of the pair, on its 0–1 scale


def honest_answers(asked: Sequence[Dimension], view: Floats, rng: np.random.Generator) -> dict[str, Floats]:
    """The answers of raters who see a target's fidelity as `view`, 0 to 1: the nearest steps, with some noise in each."""
    answers: dict[str, Floats] = {}
    lead = np.zeros(len(view))
    for dimension in asked:
        own = _ANSWER_NOISE * rng.standard_normal((2, len(view)))
        if dimension.kind == "each":
            answers[dimension.rated[0]] = _step(dimension, view + own[0])
            answers[dimension.rated[1]] = _step(dimension, 1 - view + own[1])
        elif dimension.kind == "preferred":
            answers[dimension.rated[0]] = _step(dimension, np.where(lead < 0, 1 - view, view) + own[0])
        else:
            answers[dimension.rated[0]] = _step(dimension, view + own[0])
        lead = answers[dimension.name] if dimension.kind == "comparison" else lead
    return answers


def random_answers(asked: Sequence[Dimension], rng: np.random.Generator) -> Answers:
    """Any label, whatever the texts."""
    return {name: float(rng.choice(dimension.codes)) for dimension in asked for name in dimension.rated}


def kept_answers(asked: Sequence[Dimension], habit: Floats, *, is_first: bool) -> Answers:
    """The label at the same place of each scale, pair after pair; `habit` is that place from 0 to 1 for each dimension."""
    answers: Answers = {}
    for dimension, place in zip(asked, habit, strict=True):
        code = float(dimension.codes[round(place * (len(dimension.codes) - 1))])
        turned = -code if dimension.kind == "comparison" and is_first else code
        answers |= dict.fromkeys(dimension.rated, turned + 0.0)  # no −0 in tables
    return answers


def slot_answers(asked: Sequence[Dimension], *, is_first: bool) -> Answers:
    """All for the first response, whichever it is."""
    answers: Answers = {}
    for dimension in asked:
        ends = (float(dimension.high), float(dimension.low))[:: 1 if is_first else -1]
        if dimension.kind in ("comparison", "each"):
            answers |= dict(zip(dimension.rated, ends, strict=False))
        else:
            answers[dimension.rated[0]] = float(dimension.high)
    return answers


def fidelity_of(asked: Sequence[Dimension], answers: Mapping[str, Floats]) -> Floats:
    """PFI of many answers at once, as `howsure.study.scoring.fidelity` has it of a table of ratings."""
    lead = next((answers[dimension.name] for dimension in asked if dimension.kind == "comparison"), None)
    parts = [_part(dimension, answers, lead) for dimension in asked if dimension.kind != "choice"]
    return np.asarray(np.mean(parts, axis=0))


def _part(dimension: Dimension, answers: Mapping[str, Floats], lead: Floats | None) -> Floats:
    """A dimension's part on 0–1; `lead` is above 0 where the target was preferred."""
    scaled = (answers[dimension.rated[0]] - dimension.low) / (dimension.high - dimension.low)
    if dimension.kind != "preferred" or lead is None:
        return scaled
    return np.where(lead > 0, scaled, np.where(lead < 0, (1 - scaled) / 2, 0.5))


def _step(dimension: Dimension, place: Floats) -> Floats:
    """The code of the nearest step of the scale, from its lowest at 0 to its highest at 1."""
    codes = np.sort(np.array(dimension.codes, dtype=np.float64))
    return codes[np.clip(np.round(place * (len(codes) - 1)), 0, len(codes) - 1).astype(np.int64)]
