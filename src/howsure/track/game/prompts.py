"""What a solver is told: the task, the format, the rule, a worked example; then number after number."""

from __future__ import annotations

from howsure.track.game.sequence import Setting
from howsure.track.game.statistics import Statistic, shown, statistic

__all__ = ["bracketed", "instructions", "state_message", "turn_message"]


def instructions(variant: str, setting: Setting | None = None) -> str:
    """The opening message.

    Where the setting has distractors it says that they are to be ignored; where it is brief, that a reply holds nothing but the answer, so that
    no scratchpad makes the state explicit.
    """
    kind, setting = statistic(variant), setting or Setting()
    told = [
        f"You will be shown whole numbers from {setting.low} to {setting.high - 1}, one in each message. A number may come again, and counts each time.",
        f"After every number, say {kind.task}. {kind.rule}",
        f"Answer each message with {bracketed(kind, '<answer>')}: square brackets, the word {variant}, a colon, one space, "
        "and the answer as a whole number or with a decimal point. The first wrong answer, or one in another format, ends the exercise.",
    ]
    if setting.distractors:
        told.append("Some messages begin with a line of text. It has nothing to do with the exercise: ignore it.")
    if setting.is_brief:
        told.append("Write nothing but the answer in its brackets: no steps, no lists, no notes.")
    return "\n\n".join([*told, _worked(kind)])


def turn_message(number: int, distractor: str = "") -> str:
    """What is shown in one turn."""
    return f"{distractor}\n{number}" if distractor else str(number)


def state_message(state: Statistic) -> str:
    """The explicit state after a number, for the solver that is shown it.

    Show the newest one only and take the one before out of the conversation: it is outdated, and keeping all of them would make a
    run of 300 turns fifteen times as expensive.
    """
    return f"For reference, {state.state}: {state.render()}"


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
        lines.append(f"Number: {number}\nYou: {bracketed(kind, state.answer())}")
    return "An example:\n" + "\n".join(lines)
