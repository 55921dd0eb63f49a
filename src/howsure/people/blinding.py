"""Names that say nothing, and answers that can be recognised but not read off.

What a page holds can be seen by whoever opens its source. So screens carry opaque names, and where a page must tell right
from wrong it carries salted hashes. A patient reader can still try all answers of a short list: feedback is for practice
and for stopping a game, and the score that counts is made on import.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import unicodedata

__all__ = ["SPACES", "conceal", "hide", "is_blank", "new_salt", "normal_number", "normal_text", "opaque_id"]

# Spelt out because \s means different characters to a browser and to Python.
SPACES = "\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_SPACES = re.compile(f"[{SPACES}]+")
_NUMBER = re.compile(r"([+-]?)([0-9]{1,15})(?:[.,]([0-9]{0,15}))?")


def opaque_id(secret: str, *parts: object) -> str:
    """An id of 16 letters and digits that is always the same for these parts and reveals nothing without the secret.

    >>> opaque_id("s3cret", "rater 1", "pair 4") == opaque_id("s3cret", "rater 1", "pair 4")
    True

    Parameters
    ----------
    secret : str
        The secret.
    """
    message = "\x1f".join(map(str, parts)).encode()
    return base64.b32encode(hmac.digest(secret.encode(), message, "sha256")[:10]).decode().lower()


def new_salt() -> str:
    """Fresh salt for hidden answers."""
    return secrets.token_hex(16)


def hide(salt: str, part: str | int, answer: str) -> str:
    """The salted hash by which a page recognises an answer (already in its normal form) to one question or step."""
    return hashlib.sha256(f"{salt}\n{part}\n{answer}".encode()).hexdigest()[:16]


def conceal(salt: str, part: str | int, text: str) -> str:
    """A text that the page tells later, so that nobody reads it in the page's source by accident; whoever wants to can undo it."""
    data = text.encode()
    blocks = range(len(data) // 32 + 1)
    stream = b"".join(hashlib.sha256(f"{salt}\n{part}\ntold\n{block}".encode()).digest() for block in blocks)
    return base64.b64encode(bytes(a ^ b for a, b in zip(data, stream, strict=False))).decode()


def is_blank(text: str) -> bool:
    """Whether a text holds nothing but spaces."""
    return not _SPACES.sub("", text)


def normal_number(text: str, decimals: int = 0) -> str | None:
    """A typed number in its shortest form, or None when it is none or has more than `decimals` decimals.

    >>> normal_number("+07,50", 2), normal_number("−0"), normal_number("1,000")
    ('7.5', '0', None)
    """
    tidy = _SPACES.sub("", unicodedata.normalize("NFKC", text)).replace("\u2212", "-")
    match = _NUMBER.fullmatch(tidy)
    if match is None or len(match[3] or "") > decimals:
        return None
    whole, fraction = match[2].lstrip("0") or "0", (match[3] or "").rstrip("0")
    size = f"{whole}.{fraction}" if fraction else whole
    return f"-{size}" if match[1] == "-" and size != "0" else size


def normal_text(text: str) -> str:
    """A typed text for comparison: letter case and spaces do not count.

    >>> normal_text("  New\\u00a0York ")
    'newyork'
    """
    return _SPACES.sub("", unicodedata.normalize("NFKC", text)).lower()
