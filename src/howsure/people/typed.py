"""What a typed answer says: tolerant of form, never of content.

``assets/answers.js`` does the same, letter for letter, so a page calls right what is scored as right. Classes of characters are
spelt out because a browser's and Python's differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from howsure.people.blinding import SPACES, normal_number, normal_text

__all__ = ["bare", "plain_form", "plain_forms", "readings"]

_LONGEST_REPLY = 10_000
_ANY = re.IGNORECASE | re.ASCII
_MARK = re.compile(r"\banswer\b[ *_`]{0,4}(?:is[ *_`]{0,4})?:[ *_`]{0,4}", _ANY)
_TAG = re.compile(r"<answer>(.*?)</answer>", _ANY | re.DOTALL)
_SUBJECT = (
    r"(?:(?:so|thus|hence|therefore|then)[ ,:]+)?(?:(?:the|my) +)?(?:(?:final|correct|right|missing|next) +)?"
    r"(?:answer|result|blank|piece|expression|value|number|term|letter|letters|digits|order)"
)
_SAID = re.compile(rf"{_SUBJECT} +(?:is|are|should be|must be|would be)[ :]+(.+)", _ANY | re.DOTALL)
_NAMED = re.compile(
    rf"(?:{_SUBJECT} *:|it +(?:should|must|has to) +be[ :])(.+)"
    r"|(.+?) (?:belongs|goes|fits|should go|must go) +(?:in|into) +the +(?:blank|gap)",
    _ANY | re.DOTALL,
)
_BREAK = re.compile("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_FENCE = re.compile(rf"[{SPACES}]*(?:```|~~~)[A-Za-z0-9_+-]*[{SPACES}]*")
_COMMAND = re.compile(r"\\(?:boxed|text|mathrm|mathbf|texttt)\{(.*)\}", re.DOTALL)
_EDGES = re.compile(
    f"^[{SPACES}]+|(?<![{SPACES}])[{SPACES}]+$"
)  # a long gap is looked at once, not from each of its spaces
_WRAPPING = "\"'`*_$“”‘’«»"
_LEFT, _RIGHT = re.compile(f"^[{SPACES}{_WRAPPING}]+"), re.compile(f"(?<![{SPACES}{_WRAPPING}])[{SPACES}{_WRAPPING}]+$")
_DOTS = re.compile(rf"\.[{SPACES}]*\.$")  # no full stop
_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")


def readings(text: str) -> tuple[str, ...]:
    r"""The ways to read the final answer off a reply, the likelier first.

    What stands between tags ``<answer>`` counts; without them what follows the last ``Answer:``, the rest of its line or all that is left; without one the whole
    reply, or its last line. "The answer is" and the like may stand before it, "belongs in the blank" after it. Tags that differ name no answer, nor does a last line
    such as "It should be 42" where an earlier one names another.

    >>> readings("Answer: 3? No.\n**Answer:** 42.")
    ('42',)
    >>> readings("So it must be\n42")
    ('So it must be\n42', '42')
    >>> readings("The blank should be `x`.")
    ('The blank should be `x', 'x')
    >>> readings("<answer>x</answer>, I think."), readings("<answer>x</answer> or <answer>y</answer>")
    (('x',), ())
    """
    text = text[-_LONGEST_REPLY:]
    tagged, parts = _TAG.findall(text), _MARK.split(_TAG.sub(r"\1", text))
    lines, is_marked = _lines(parts[-1]), len(parts) > 1
    if tagged:
        named = {*map(bare, tagged), *map(bare, lines[:is_marked])}
        lines = _lines(tagged[0]) if len(named) == 1 else []
    if not lines:
        return ()
    left = "\n".join(lines)
    found = [bare(one) for one in ((left,) if tagged else (lines[0], left) if is_marked else (left, lines[-1]))]
    said = _matched(_SAID, found)
    if len({one for form in (_SAID, _NAMED) for one in _matched(form, map(bare, lines))}) <= 1:
        said += _matched(_NAMED, found)
    return tuple(dict.fromkeys(one for one in (*found, *said) if one))


def _lines(text: str) -> list[str]:
    """Those that are neither empty nor the edge of a block of code."""
    return [line for line in _BREAK.split(text) if not _FENCE.fullmatch(line) and _EDGES.sub("", line)]


def _matched(form: re.Pattern[str], texts: Iterable[str]) -> list[str]:
    """What is left of texts that have this form."""
    return [bare(match[match.lastindex or 0]) for text in texts if (match := form.fullmatch(text))]


def bare(text: str) -> str:
    """Without quotes, emphasis, a box, the full stop of a sentence, and halves of letters that cannot be encoded; unless nothing else is there."""
    whole = _EDGES.sub("", text.encode("utf-8", "replace").decode())
    inner = _unwrapped(whole)
    while command := _COMMAND.fullmatch(inner):
        inner = _unwrapped(command[1])
    return inner or whole


def plain_form(text: str) -> str:
    """An answer as it is compared: without regard to case and spaces, numbers in their shortest form.

    >>> plain_form(" New York "), plain_form("1,250.50"), plain_form("−07")
    ('newyork', '1250.5', '-7')
    """
    one = _EDGES.sub("", text).replace("{,}", ",").replace("\\,", "")
    return normal_number(one.replace(",", "") if _THOUSANDS.fullmatch(one) else one, 15) or normal_text(text)


def plain_forms(text: str) -> tuple[str, ...]:
    """Every form in which a typed text is compared with a right answer."""
    return tuple(dict.fromkeys((normal_text(text), *map(plain_form, readings(text)))))


def _unwrapped(text: str) -> str:
    inner = _RIGHT.sub("", _LEFT.sub("", text))
    return inner if _DOTS.search(inner) else _RIGHT.sub("", inner.removesuffix("."))
