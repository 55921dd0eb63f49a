"""What a reply says: the last (or first) ``[<variant>: <answer>]`` outside of its reasoning, and whether that is right."""

from __future__ import annotations

import re
import sys
from functools import cache

__all__ = ["is_right", "parse", "parse_all", "split_reasoning"]

# how models mark reasoning in the text of a reply: what opens it, and what closes it
_MARKS = (
    (r"<((?:\w+[:_-])?think(?:ing)?|thoughts?|reasoning|reflection|scratchpad|analysis|antthinking)\b[^<>]*>", r"</{0}\s*>"),
    (r"\[(think|thinking|reasoning)\]", r"\[/{0}\]"),
    (r"◁(think)▷", r"◁/{0}▷"),
    (r"<\|begin_of_(thought)\|>", r"<\|end_of_{0}\|>"),
    (r"<\|start_(thinking)\|>", r"<\|end_{0}\|>"),
    # the channels of harmony: everything but the channel "final" is reasoning
    (r"<\|channel\|>(analysis|commentary)\b[^<]*<\|message\|>", r"<\|(?:end|return|call)\|>|(?=<\|channel\|>final)"),
)  # fmt: skip
_OPENING = re.compile("|".join(opening for opening, _ in _MARKS), re.IGNORECASE)
# with its opening in the prompt, a reply begins inside the reasoning and shows the closing mark alone
_CLOSING = re.compile(
    r"</(?:(?:\w+[:_-])?think(?:ing)?|thoughts?|reasoning)\s*>|\[/(?:think|thinking|reasoning)\]|◁/think▷|<\|end_of_thought\|>|<\|end_thinking\|>",
    re.IGNORECASE,
)


def split_reasoning(text: str) -> tuple[str, str]:
    """The reasoning in a reply's text and the rest of it, by the marks of the common kinds.

    Known marks: ``<think>``, ``<thinking>``, ``<thought>``, ``<reasoning>``, ``<reflection>``, ``<scratchpad>``, ``<analysis>``, ``<antThinking>``, ``<think>`` with a maker's prefix (``<seed:think>``, ``<longcat_think>``),
    ``[THINK]``, ``◁think▷``, ``<|begin_of_thought|>``, ``<|START_THINKING|>`` and the channels of gpt-oss. Reasoning that is not closed reaches to the
    end. A closing mark without an opening one ends reasoning that began in the prompt.

    Parameters
    ----------
    text : str
        The reply.

    Returns
    -------
    tuple of str
        Reasoning and rest; without marks, an empty text and the reply as it was.

    Examples
    --------
    >>> split_reasoning("<think>[median: 3]? No.</think>[median: 4]")
    ('[median: 3]? No.', '[median: 4]')
    """
    thought, rest, place = [], [], 0
    while opened := _OPENING.search(text, place):
        rest.append(text[place : opened.start()])
        kind = next(i for i, (start, _) in enumerate(_MARKS) if re.match(start, opened[0], re.IGNORECASE))
        word = next(group for group in opened.groups() if group)
        closed = re.compile(_MARKS[kind][1].format(re.escape(word)), re.IGNORECASE).search(text, opened.end())
        thought.append(text[opened.end() : closed.start() if closed else len(text)])
        place = closed.end() if closed else len(text)
    rest.append(text[place:])
    whole = "".join(rest)
    orphans = list(_CLOSING.finditer(whole))
    if orphans:
        thought.insert(0, whole[: orphans[-1].start()])
        whole = whole[orphans[-1].end() :]
    return "".join(thought), whole


def parse(text: str, variant: str, *, takes_first: bool = False) -> float | None:
    """The number in the last ``[variant: number]``, or None where there is none.

    Upper and lower case are the same; after the colon stands one space, then digits, or digits, a point and digits.

    Parameters
    ----------
    text : str
        The reply, without its reasoning (`split_reasoning`).
    variant : str
        The statistic that is tracked.
    takes_first : bool
        Take the first such number, as the eval's first implementation did. A model that works towards its answer says it last.

    Examples
    --------
    >>> parse("First [Median: 40], corrected [Median: 40.5].", "median")
    40.5
    >>> parse("[median:40.5]", "median") is None
    True
    """
    said = parse_all(text, variant)
    return said[0 if takes_first else -1] if said else None


def parse_all(text: str, variant: str) -> list[float]:
    """The numbers in all ``[variant: number]``, in their order."""
    word = variant.partition("-")[0]  # the size of a state is not in the brackets
    return [min(float(said), sys.float_info.max) for said in _pattern(word).findall(text)]


def is_right(answer: float, truth: float) -> bool:
    """Whether both are the same to one decimal."""
    return round(answer, 1) == round(truth, 1)


@cache
def _pattern(variant: str) -> re.Pattern[str]:
    return re.compile(rf"\[{re.escape(variant)}: (\d+(?:\.\d+)?)\]", re.IGNORECASE)
