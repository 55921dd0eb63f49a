"""What a solver is told: the task, the format, the rule, a worked example; then number after number. The texts are in ``prompts.yaml``."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from howsure.track.game.sequence import Setting
from howsure.track.game.statistics import Statistic, shown, statistic
from howsure.yaml_files import read_yaml

__all__ = ["bracketed", "instructions", "state_message", "turn_message"]


def instructions(variant: str, setting: Setting | None = None) -> str:
    """The opening message.

    Where the setting has distractors it says that they are to be ignored; where it is brief, that a reply holds nothing but the answer, so that
    no scratchpad makes the state explicit.
    """
    kind, setting = statistic(variant), setting or Setting()
    names = [
        "numbers",
        "task",
        "answer",
        *(["distractors"] if setting.distractors else []),
        *(["brief"] if setting.is_brief else []),
    ]
    filled = {"low": setting.low, "high": setting.high - 1, "task": kind.task, "rule": kind.rule, "variant": variant}
    told = [_texts()[name].format(**filled, answer=bracketed(kind, "<answer>")) for name in names]
    return "\n\n".join([*told, _worked(kind)])


def turn_message(number: int, distractor: str = "") -> str:
    """What is shown in one turn."""
    return f"{distractor}\n{number}" if distractor else str(number)


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


def _worked(kind: type[Statistic]) -> str:
    state, lines = kind(), []
    for number in kind.example:
        state.update(number)
        lines.append(_texts()["turn"].format(number=number, answer=bracketed(kind, state.answer())))
    return "\n".join([_texts()["example"], *lines])


@cache
def _texts() -> dict[str, str]:
    texts: dict[str, str] = read_yaml(Path(__file__).with_name("prompts.yaml")).value
    return texts
