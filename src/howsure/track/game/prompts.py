"""What a solver is told: the task, the format, the rule, a worked example; then number after number. The texts are in ``prompts.yaml``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from howsure.errors import OptionError
from howsure.track.game.sequence import OTHER, Setting
from howsure.track.game.statistics import Statistic, Step, shown, statistic
from howsure.yaml_files import read_yaml

__all__ = ["all_turns", "bracketed", "for_people", "instructions", "state_message", "turn_message"]

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
