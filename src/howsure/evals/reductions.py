"""How several attempts at one item become one score: pass@k, pass^k, majority@k, best@k; and what errors count as."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
from scipy.special import gammaln

from howsure.errors import InputError, OptionError
from howsure.stats._arrays import Floats
from howsure.tables import Attempts

__all__ = ["ERRORS", "REDUCTIONS", "best_of", "count_errors", "majority_of", "pass_all", "pass_any", "reduce_attempts"]

ERRORS = ("wrong", "drop")
REDUCTIONS = ("mean", "pass@K", "pass^K", "majority@K", "best@K")


def reduce_attempts(attempts: Attempts, how: str = "mean") -> Attempts:
    """One attempt per model and item, whose score is an unbiased estimate from all its attempts.

    ``pass@K`` is the probability that at least one of K attempts succeeds, ``pass^K`` that all do, ``majority@K`` that more than half do (a
    tie counts ½), ``best@K`` the expected highest score of K attempts. Each is the mean over all choices of K of the item's n attempts, so it
    is unbiased for every n ≥ K; means, differences and intervals over items are then computed as for any score.

    Parameters
    ----------
    attempts : Attempts
        With at least K attempts at an item; items with fewer are left out and counted in a note.
    how : str
        ``mean`` leaves the attempts as they are; otherwise as above, such as ``pass@5``.

    Examples
    --------
    >>> import howsure
    >>> from howsure.evals.reductions import reduce_attempts
    >>> howsure.summary(reduce_attempts(howsure.read("examples/evals/attempts.csv"), "pass@2"))  # doctest: +SKIP
    """
    if how == "mean":
        return attempts
    found = re.fullmatch(r"(pass|majority|best)([@^])(\d+)", how)
    if not found or (found[2] == "^" and found[1] != "pass") or int(found[3]) < 1:
        raise OptionError.unknown("way to reduce attempts", how, REDUCTIONS)
    kind, k = found[1] + found[2], int(found[3])
    is_counted = kind != "best@"
    if is_counted:
        binary = pl.col("score").is_in([0.0, 1.0])
        if attempts.has("n"):
            binary = binary | pl.col("n_success").is_not_null()
        if not attempts.lazy.select(binary.all()).collect(engine="streaming").item():
            raise InputError(
                f"{how} needs attempts that are right (1) or wrong (0). For graded scores choose best@{k}."
            )
    elif attempts.has("n"):
        raise InputError(f"{how} needs one row per attempt, not counts. For right-or-wrong attempts choose pass@{k}.")
    sums = attempts.sums()
    keys = ["subject", "task", *(["domain"] if attempts.has("domain") else [])]
    used = {"attempt", "score", "n", "n_success", *keys}
    rest = [name for name in attempts.lazy.collect_schema().names() if name not in used]
    config = [name for name in attempts.config if name in rest]
    used_up = [name for name in ("cost", "tokens", "seconds") if name in rest]  # one score stands for k attempts
    scores = [] if is_counted else [pl.col("score").sort().alias("#scores")]
    groups = attempts.lazy.group_by(*keys, *config).agg(
        sums["n"].alias("#n"), sums["total"].alias("#total"), *scores,
        *(pl.col(n).mean() * k if n in used_up else pl.col(n).first() for n in rest if n not in config),
    )  # fmt: skip
    frame = groups.sort(*keys, *config).collect(engine="streaming")
    enough = frame.filter(pl.col("#n") >= k)
    if enough.is_empty():
        most = int(frame["#n"].max() or 0)  # type: ignore[arg-type]
        raise InputError(f"{how} needs at least {k} attempts at an item; the most is {most}.")
    n, total = enough["#n"].to_numpy().astype(float), enough["#total"].to_numpy()
    if is_counted:
        value = {"pass@": pass_any, "pass^": pass_all, "majority@": majority_of}[kind](n, np.round(total), k)
    else:
        value = np.array([best_of(np.asarray(scores), k) for scores in enough["#scores"].to_list()])
    few = len(frame) - len(enough)
    amounts = f"; {', '.join(used_up)}: of {k} attempts" if used_up and k > 1 else ""
    notes = [f"Scores are {how} per item, from {int(n.min())}–{int(n.max())} attempts each{amounts}."]
    notes += (
        [f"{few:,} of {len(frame):,} pairs of model and item have fewer than {k} attempts and are left out."]
        if few
        else []
    )
    kept = enough.drop("#n", "#total", *(["#scores"] if scores else [])).with_columns(
        score=pl.Series(np.clip(value, 0, 1) if not attempts.is_free else value)
    )
    number = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("subject", "task")
    return Attempts(kept.with_columns(attempt=number), notes=(*attempts.notes, *notes))


def pass_any(n: Floats, successes: Floats, k: int) -> Floats:
    """Probability that at least one of k attempts succeeds: 1 − C(n−c, k)/C(n, k)."""
    return 1 - _share_of_choices(n - successes, n, k)


def pass_all(n: Floats, successes: Floats, k: int) -> Floats:
    """Probability that all of k attempts succeed: C(c, k)/C(n, k)."""
    return _share_of_choices(successes, n, k)


def majority_of(n: Floats, successes: Floats, k: int) -> Floats:
    """Probability that more than half of k attempts succeed, plus half the probability of a tie: hypergeometric."""
    from scipy.stats import hypergeom

    more = hypergeom.sf(k // 2, n, successes, k)
    return np.asarray(more if k % 2 else more + hypergeom.pmf(k // 2, n, successes, k) / 2)


def best_of(scores: Floats, k: int) -> float:
    """Expected highest of k of these scores, drawn without replacement: Σ x₍ᵢ₎ C(i−1, k−1)/C(n, k)."""
    n = len(scores)
    order = np.arange(1, n + 1, dtype=float)
    weights = np.where(
        order >= k, np.exp(_log_choices(np.maximum(order - 1, k - 1), k - 1) - _log_choices(np.array(float(n)), k)), 0.0
    )
    return float(np.sort(scores) @ weights)


def count_errors(attempts: Attempts, errors: str | None) -> Attempts:
    """The attempts with those that ended in an error counted as wrong or left out.

    Parameters
    ----------
    attempts : Attempts
        With the column ``error``.
    errors : {"wrong", "drop"} or None
        ``wrong``: score 0. ``drop``: leave them out. None: as they were scored.
    """
    if errors is None:
        return attempts
    if errors not in ERRORS:
        raise OptionError.unknown("way to count errors", errors, ERRORS)
    if not attempts.has("error"):
        return Attempts(attempts, notes=["No attempt is known to have ended in an error: there is no column 'error'."])
    is_error = pl.col("error").is_not_null()
    n = int(attempts.lazy.select(is_error.sum()).collect(engine="streaming").item())
    if errors == "drop":
        kept = attempts.lazy.filter(~is_error)
        number = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("subject", "task")
        if n and not kept.select(pl.len()).collect(engine="streaming").item():
            raise InputError("Every attempt ended in an error, so none is left.")
        note = f"{n:,} attempts that ended in an error are left out."
        return Attempts(kept.with_columns(number.alias("attempt")), notes=(*attempts.notes, note))
    if attempts.has("n") and n:
        raise InputError("Errors cannot be counted as wrong where rows stand for several attempts.")
    wrong = attempts.lazy.with_columns(pl.when(is_error).then(0.0).otherwise(pl.col("score")).alias("score"))
    return Attempts(wrong, notes=(*attempts.notes, f"{n:,} attempts that ended in an error count as wrong (score 0)."))


def _share_of_choices(part: Floats, whole: Floats, k: int) -> Floats:
    """C(part, k)/C(whole, k)."""
    part, whole = np.asarray(part, dtype=float), np.asarray(whole, dtype=float)
    ratio = np.exp(_log_choices(np.maximum(part, k), k) - _log_choices(whole, k))
    return np.where(part >= k, ratio, 0.0)


def _log_choices(n: Floats, k: int) -> Floats:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
