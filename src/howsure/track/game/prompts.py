"""What a solver is told: the task, the format, the rule, a worked example; then number after number. The texts are in ``prompts.yaml``."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from howsure.errors import OptionError
from howsure.track.game.sequence import OTHER, Setting
from howsure.track.game.statistics import Statistic, Step, shown, statistic
from howsure.yaml_files import read_yaml

__all__ = [
    "all_turns",
    "bracketed",
    "for_people",
    "instructions",
    "is_right",
    "parse",
    "parse_all",
    "split_reasoning",
    "state_message",
    "turn_message",
]

_FOR_PEOPLE = ("several", "several_numbers", "distractors", "interference")


def instructions(
    variant: str, setting: Setting | None = None, *, asks_for_reasoning: bool = False, asks_for_last: bool = False
) -> str:
    """The opening message.

    Where the setting has distractors or updates of another game it says that they are to be ignored; where it is brief, that a reply holds nothing but the answer, so that
    no scratchpad makes the state explicit.
    """
    kind, setting = statistic(variant), setting or Setting()
    is_numbers, is_several = not kind.intro(), setting.updates > 1
    filled = {
        "low": setting.low,
        "high": setting.high - 1,
        "task": kind.task,
        "rule": kind.rule,
        "variant": kind.name,
        "updates": setting.updates,
        "other": OTHER,
        "answer": bracketed(kind, "<answer>"),
    }

    def told(*names: str) -> list[str]:
        return [_texts()[name].format(**filled).strip() for name in names]

    shown = told("several_numbers" if is_several else "numbers") if is_numbers else [kind.intro()]
    if is_several and not is_numbers:
        shown += told("several")
    one_shot = ["one_shot_last" if asks_for_last else "one_shot"] if setting.mode == "one-shot" else []
    asides = [
        name
        for name, is_due in {
            "distractors": setting.distractors,
            "interference": setting.interference,
            "brief": setting.is_brief,
            "continue": setting.mode == "continue",
            "reasoning": asks_for_reasoning,
        }.items()
        if is_due
    ]
    task = "task" if is_numbers and not is_several else "task_of_messages"
    if setting.is_original:
        parts = [*shown, *told(task), _worked(kind, setting.updates), *told("original_answer", *one_shot, *asides)]
    else:
        answer = "answer_only" if setting.mode == "continue" else "answer"
        parts = [*shown, *told(task, answer, *one_shot, *asides), _worked(kind, setting.updates)]
    return "\n\n".join(parts)


def for_people(kind: type[Statistic], setting: Setting) -> list[str]:
    """What a person is told of the task, in paragraphs; what only a model can be asked for is refused."""
    for_models = ("mode", "is_brief", "keeps_reasoning", "takes_first", "is_original")
    if any(getattr(setting, name) != getattr(Setting(), name) for name in for_models):
        raise OptionError(f"People play turn by turn to the first error; this setting is for models: {setting.label}.")
    filled = {"low": setting.low, "high": setting.high - 1, "updates": setting.updates, "other": OTHER}
    texts = {name: text.format(**filled).strip() for name, text in _texts().items() if name in _FOR_PEOPLE}
    is_several = setting.updates > 1
    shown = kind.intro() or (texts["several_numbers"] if is_several else "Numbers come one at a time.")
    asides = [
        texts["several"] if is_several and kind.intro() else "",
        texts["distractors"] if setting.distractors else "",
        texts["interference"] if setting.interference else "",
    ]
    return [f"{shown} After each{' message' * is_several}, type {kind.task}.", *filter(None, [kind.rule, *asides])]


def turn_message(kind: type[Statistic], step: Step, line: str = "") -> str:
    """What is shown in one turn: lines to ignore, the updates, and what is asked.

    >>> turn_message(statistic("ledger"), "0 1 5 1")
    'Anna gives Ben 5 coins.\\nHow many coins does Ben have?'
    """
    updates = step if isinstance(step, list) else [step]
    events = [kind.event(one) for one in updates]
    shown = "\n".join(events) if kind.intro() else ", ".join(events)
    return "\n".join(filter(None, [line, shown, kind.question(updates[-1])]))


def all_turns(kind: type[Statistic], steps: Sequence[Step], lines: Sequence[str]) -> str:
    """All turns in one message, numbered."""
    turns = [turn_message(kind, step, line) for step, line in zip(steps, lines, strict=True)]
    return "\n\n".join(f"{n}.\n{text}" for n, text in enumerate(turns, 1))


def state_message(state: Statistic) -> str:
    """The explicit state after a number, for the solver that is shown it.

    Show the newest one only and take the one before out of the conversation: it is outdated, and keeping all of them would make a
    run of 300 turns fifteen times as expensive.
    """
    return _texts()["state"].format(state=state.state, value=state.render())


def bracketed(kind: type[Statistic] | Statistic, answer: float | str) -> str:
    """An answer in its brackets.

    >>> bracketed(statistic("mode"), 9.0)
    '[mode: 9]'
    """
    return f"[{kind.name}: {answer if isinstance(answer, str) else shown(answer)}]"


def _worked(kind: type[Statistic], n_updates: int) -> str:
    """The example, with as many updates in a message as the game has; where these are several, two messages."""
    n_messages = len(kind.example) if n_updates == 1 else 2
    updates, state, lines = iter(kind.example * n_updates), kind(), []
    for _ in range(n_messages):
        step = [next(updates) for _ in range(n_updates)]
        state.take(step)
        word = "message" if kind.intro() or kind.question(step[-1]) or n_updates > 1 else "turn"
        told = turn_message(kind, step)
        lines.append(_texts()[word].format(number=told, answer=bracketed(kind, state.answer())))
    return "\n".join([_texts()["example"], *lines])


@cache
def _texts() -> dict[str, str]:
    texts: dict[str, str] = read_yaml(Path(__file__).with_name("prompts.yaml")).value
    return texts


# What a reply says: the last (or first) ``[<variant>: <answer>]`` outside of its reasoning, and whether that is right.


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
