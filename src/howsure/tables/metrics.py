"""What the name of a metric says: which values are better, and whether they are shares."""

from __future__ import annotations

import re

__all__ = ["better_by_name", "is_error_measure", "is_grade", "is_higher_better", "is_share"]

_LOWER = frozenset(
    {"perplexity", "ppl", "brier", "toxicity", "wer", "cer", "ter", "loss", "nll", "mse", "mae", "rmse", "error"}
    | {"errors", "distance", "stereotype", "ece", "bpb", "bits", "latency", "seconds", "duration", "runtime", "cost"}
    | {"price", "tokens", "regret", "violations", "hallucination", "hallucinations", "attack", "attacks", "asr", "bias"}
    | {
        "biased",
        "harm",
        "harmful",
        "harmfulness",
        "jailbreak",
        "jailbreaks",
        "jailbroken",
        "leakage",
        "leaked",
        "toxic",
    }
    | {"fid", "kid", "mape", "smape", "rmsle", "nmse", "crossentropy", "logloss", "delay", "memory"}
    | {"sycophancy", "sycophantic", "deception", "deceptive", "misalignment"}
)
_HIGHER = frozenset(
    {"acc", "accuracy", "exact", "em", "match", "f1", "mcc", "bleu", "bleurt", "chrf", "rouge", "rouge1", "rouge2"}
    | {"rougel", "rougelsum", "meteor", "bertscore", "mc1", "mc2", "pass", "passed", "precision", "recall", "auc"}
    | {"auroc", "ndcg", "correct", "verify", "win", "success", "likelihood", "score", "reward", "solved", "resolved"}
    | {"grade", "points", "return", "iou", "elo", "rating", "ratings", "rubric", "quality", "helpfulness", "stars"}
)
_GRADES = frozenset({"judge", "grade", "rating", "ratings", "rubric", "quality", "helpfulness", "stars"})
_ERROR_MEASURES = frozenset(
    {
        "wer",
        "cer",
        "ter",
        "perplexity",
        "ppl",
        "rmse",
        "mae",
        "mse",
        "mape",
        "fid",
        "nll",
        "brier",
        "ece",
        "bpb",
        "logloss",
        "latency",
    }
)
_LOWER_IN_FULL = frozenset({"likelihood_diff"})
_FREE = frozenset(
    {"perplexity", "ppl", "loss", "nll", "mse", "mae", "rmse", "distance", "bpb", "bits", "latency", "seconds"}
    | {"wer", "cer", "ter", "brier", "fid", "kid", "mape", "smape", "rmsle", "nmse", "crossentropy", "logloss"}
    | {
        "delay",
        "memory",
        "errors",
        "violations",
        "duration",
        "runtime",
        "cost",
        "price",
        "tokens",
        "reward",
        "return",
        "elo",
        "points",
        "regret",
    }
)


def is_higher_better(metric: str) -> bool | None:
    """Whether higher values of a metric are better, by its name; None where the name does not say.

    Parameters
    ----------
    metric : str
        A name such as ``acc_norm``, ``word_perplexity`` or ``WER``.
    """
    words = _words(metric)
    if metric.lower() in _LOWER_IN_FULL or words & _LOWER:
        return False
    return True if words & _HIGHER else None


def better_by_name(metric: str) -> str | None:
    """``higher`` or ``lower``, by a metric's name; None where the name does not say.

    Parameters
    ----------
    metric : str
        As in `is_higher_better`.
    """
    return {True: "higher", False: "lower", None: None}[is_higher_better(metric)]


def is_error_measure(name: str) -> bool:
    """Whether a benchmark is a measure of which lower values are better, beyond doubt: WER, perplexity, …

    Parameters
    ----------
    name : str
        A name such as ``LibriSpeech WER``; one such as ``bias`` may be that of a benchmark on which higher scores are better.
    """
    return bool(_words(name) & _ERROR_MEASURES) or _is_error_rate(name)


def _is_error_rate(name: str) -> bool:
    """Whether it is the rate of wrong words or characters, which may be above 1."""
    return "error" in _words(name) and bool(_words(name) & {"word", "words", "character", "char"})


def is_share(metric: str) -> bool:
    """Whether the values of a metric are between 0 and 1 as far as its name says: not seconds, perplexity, rewards, …

    Parameters
    ----------
    metric : str
        A name such as ``acc_norm`` or ``word_perplexity``.
    """
    return not (_words(metric) & _FREE or _is_error_rate(metric))


def is_grade(metric: str) -> bool:
    """Whether a metric is one that judges give in whole numbers, such as 1 to 10, as far as its name says.

    Parameters
    ----------
    metric : str
        A name such as ``judge_score`` or ``rating``.
    """
    return bool(_words(metric) & _GRADES)


def _words(name: str) -> set[str]:
    parted = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    return set(re.split(r"[^a-z0-9]+", parted.lower()))
