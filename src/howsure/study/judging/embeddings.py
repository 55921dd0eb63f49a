"""How close each response comes to the gold standard by its text alone: a second score beside a judge's.

A similarity is the cosine of the angle between two texts' vectors, from 0 (nothing in common) to 1 (same direction). The vectors come from an
embeddings endpoint, or, without one, from the texts' letters: a lexical measure, which sees spelling and not meaning, and is labelled so.
"""

from __future__ import annotations

import http.client
import json
import math
import os
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from howsure.errors import InputError, OptionError
from howsure.results import Provenance, Result
from howsure.stats._arrays import Floats
from howsure.study.protocol import Study

__all__ = ["KEY_VARIABLE", "LEXICAL", "Endpoint", "Similarity", "lexical_vectors", "measure_similarity"]

KEY_VARIABLE = "HOWSURE_EMBEDDINGS_KEY"
"""The environment variable whose value is sent as key, where it is set."""

LEXICAL = "lexical (TF-IDF of 3 to 5 letters)"
_BATCH = 64  # texts in one request
_LENGTHS = (3, 4, 5)
_WORTH_ANOTHER_TRY = {408, 409, 425, 429, 500, 502, 503, 504}
_LONGEST_PAUSE = 30.0
_LARGEST = 256 * 2**20


@dataclass(frozen=True, kw_only=True)
class Similarity(Result):
    """Similarity of each pair's responses to the gold standard.

    Parameters
    ----------
    frame : pl.DataFrame
        Table ``similarity_scores``, which `howsure study analyze --model-scores` accepts: item, score (similarity of the target), comparison (of the other response), domain, method.
    method : str
        The embedding model, or the lexical measure.
    provenance : Provenance
        Settings, seed, digest of the input, version and notes.
    """

    name: ClassVar[str] = "similarity"
    frame: pl.DataFrame
    method: str
    provenance: Provenance

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """One table, ``similarity_scores``."""
        return {"similarity_scores": self.frame}


def measure_similarity(
    study: Study | str | os.PathLike[str], embed: Callable[[Sequence[str]], Floats] | None = None
) -> Similarity:
    r"""How close the responses of each pair come to the gold standard: :math:`\max(0, \cos(v, v_{gold}))`.

    Parameters
    ----------
    study : Study or path
        The study, or its YAML file.
    embed : callable, optional
        Turns texts into vectors, such as an `Endpoint`; without it the measure is lexical.
    """
    study = Study.of(study)
    texts = [study.gold, *(text for pair in study.pairs for text in (pair.target, pair.comparison))]
    vectors = (embed or lexical_vectors)(texts)
    cosines = _cosines(vectors[1:], vectors[0]).reshape(-1, 2)
    method = getattr(embed, "method", "embedding") if embed else LEXICAL
    columns = {"item": [pair.id for pair in study.pairs], "score": cosines[:, 0], "comparison": cosines[:, 1]}
    frame = pl.DataFrame(
        columns | {"domain": [pair.domain for pair in study.pairs]}, schema_overrides={"domain": pl.String}
    )
    provenance = Provenance({"method": method}, digest=study.digest)
    return Similarity(frame=frame.with_columns(method=pl.lit(method)), method=method, provenance=provenance)


def lexical_vectors(texts: Sequence[str]) -> Floats:
    r"""Texts as TF-IDF vectors of their runs of 3 to 5 letters within words, after scikit-learn's ``char_wb``.

    .. math:: v_{g} = n_g \Big(\ln \frac{1 + N}{1 + N_g} + 1\Big)

    n is how often the run occurs in the text, N the number of texts, N_g of those with the run. Upper and lower case are the same.
    """
    counts = [Counter(_runs(text)) for text in texts]
    place = {run: at for at, run in enumerate(sorted({run for count in counts for run in count}))}
    matrix = np.zeros((len(texts), len(place)))
    for row, count in zip(matrix, counts, strict=True):
        row[[place[run] for run in count]] = list(count.values())
    weights = np.log((1 + len(texts)) / (1 + (matrix > 0).sum(axis=0))) + 1
    return np.asarray(matrix * weights)


@dataclass(frozen=True)
class Endpoint:
    """Vectors from a server with OpenAI's embeddings protocol, as most local servers have it too.

    ``url`` is its base address (``http://localhost:11434/v1``) and ``model`` the embedding model. The value of ``HOWSURE_EMBEDDINGS_KEY`` is sent as
    key, where it is set. A server that is busy or broken is asked again ``retries`` times with growing pauses; ``timeout`` is how many seconds
    it may be silent.
    """

    url: str
    model: str
    retries: int = 5
    timeout: float = 60
    first_pause: float = 0.5

    @property
    def method(self) -> str:
        """What a table says of these vectors."""
        return f"embedding {self.model}"

    def __call__(self, texts: Sequence[str]) -> Floats:
        """One row per text."""
        parts = [self._vectors(texts[start : start + _BATCH]) for start in range(0, len(texts), _BATCH)]
        if len({part.shape[1] for part in parts}) > 1:
            raise InputError(f"{self.url}: vectors of different length for {self.model!r}. Is it an embedding model?")
        return np.concatenate(parts)

    def _vectors(self, texts: Sequence[str]) -> Floats:
        answer = self._ask({"model": self.model, "input": list(texts)})
        try:
            by_place = {int(one["index"]): one["embedding"] for one in answer["data"]}
            vectors = np.array([by_place[place] for place in range(len(texts))], dtype=np.float64)
        except (KeyError, TypeError, ValueError):
            vectors = np.empty(0)
        if vectors.ndim != 2 or not np.isfinite(vectors).all():
            raise InputError(
                f"{self.url}: the answer contains no vector for each text. Does it speak OpenAI's protocol?"
            )
        return vectors

    def _ask(self, body: dict[str, Any]) -> Any:
        for tried in range(self.retries + 1):
            try:
                return self._try(body)
            except _BusyError as busy:
                if tried == self.retries:
                    raise InputError(f"{self.url}: {busy}, {tried + 1} times. Try again later.") from None
                time.sleep(min(busy.pause or self.first_pause * 2**tried, _LONGEST_PAUSE))
        raise AssertionError("the last try returns or raises")

    def _try(self, body: dict[str, Any]) -> Any:
        try:
            # a redirect would take the key to another address
            with urllib.request.build_opener(_NoRedirects).open(self._request(body), timeout=self.timeout) as reply:
                return json.loads(reply.read(_LARGEST))
        except urllib.error.HTTPError as error:
            with error:
                if error.code in _WORTH_ANOTHER_TRY:
                    raise _BusyError(f"answered {error.code}", error.headers.get("Retry-After")) from None
                told = " ".join(error.read(2_000).decode(errors="replace").split())[:200]
            raise InputError(
                f"{self.url}: refused with {error.code} ({told}). Check the address, --embedding-model and {KEY_VARIABLE}."
            ) from None
        except (OSError, http.client.HTTPException) as error:
            raise _BusyError(f"did not answer ({getattr(error, 'reason', None) or type(error).__name__})") from None
        except ValueError:
            raise InputError(f"{self.url}: the answer is not JSON. Does it use OpenAI's protocol?") from None

    def _request(self, body: dict[str, Any]) -> urllib.request.Request:
        if urllib.parse.urlsplit(self.url).scheme not in ("http", "https"):
            raise OptionError(f"--embeddings {self.url}: not a web address. Write it as http://localhost:11434/v1.")
        headers = {"Content-Type": "application/json"}
        key = os.environ.get(KEY_VARIABLE)
        headers |= {"Authorization": f"Bearer {key}"} if key else {}
        return urllib.request.Request(f"{self.url.rstrip('/')}/embeddings", json.dumps(body).encode(), headers)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """None makes it an error."""


class _BusyError(Exception):
    """What another try may fix, and after how many seconds if the server says so."""

    def __init__(self, told: str, retry_after: str | None = None) -> None:
        super().__init__(told)
        try:
            self.pause = max(float(retry_after or 0), 0.0)
        except ValueError:  # a date
            self.pause = 0.0


def _runs(text: str) -> list[str]:
    words = [f" {word} " for word in text.lower().split()]
    return [
        word[start : start + size]
        for word in words
        for size in _LENGTHS
        for start in range(max(len(word) - size, 0) + 1)
        if size == _LENGTHS[0] or len(word) >= size
    ]


def _cosines(vectors: Floats, gold: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1) * math.sqrt(float(gold @ gold))
    products = vectors @ gold
    cosines = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    return np.asarray(np.clip(cosines, 0.0, 1.0))
