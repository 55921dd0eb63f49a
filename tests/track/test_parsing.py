"""The parser: as the reference's, on every text there is."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from howsure.track.game.prompts import is_right, parse, split_reasoning
from howsure.track.game.statistics import VARIANTS


def test_every_reference_case(reference):
    told = reference("parse_cases")
    for case in told["cases"]:
        found = parse(case["text"], told["task"], takes_first=True)
        assert found == case["parsed"], case["text"]
        assert (found is not None and is_right(found, 5)) == case["accepted_for_truth_5"], case["text"]


@given(text=st.text(max_size=200), variant=st.sampled_from(VARIANTS))
@example(text="[median: " + "9" * 5000 + "]", variant="median")
@example(text="[median: ٣٫٥]", variant="median")
@example(text="[median: ²]", variant="median")
@example(text="[median: 1." + "0" * 400 + "]", variant="median")
def test_no_text_makes_it_raise(text, variant):
    for whole in (text, f"[{variant}: {text}]"):
        found = parse(whole, variant)
        assert found is None or (math.isfinite(found) and isinstance(is_right(found, 5.0), bool))


@given(st.integers(0, 10**6), st.integers(0, 9))
def test_what_is_written_is_read(whole, tenth):
    assert parse(f"so: [MODE: {whole}.{tenth}]!", "mode") == float(f"{whole}.{tenth}")


@pytest.mark.parametrize(
    ("answer", "truth", "right"), [(40.5, 40.5, True), (40.54, 40.5, True), (40.4, 40.5, False), (5, 5.0, True)]
)
def test_answers_are_compared_to_one_decimal(answer, truth, right):
    assert is_right(answer, truth) is right


def test_the_last_answer_counts_unless_the_first_is_asked_for():
    text = "At first [mode: 3], but 7 came twice: [Mode: 7]. Not [median: 9]."
    assert parse(text, "mode") == 7
    assert parse(text, "mode", takes_first=True) == 3


HARMONY = "<|channel|>analysis<|message|>is it [mode: 1]?<|end|><|start|>assistant<|channel|>final<|message|>[mode: 2]<|return|>"


@pytest.mark.parametrize(
    "text",
    [
        *(
            f"{opening}is it [mode: 1]?{closing}\n[mode: 2]"
            for opening, closing in (
                *((f"<{word}>", f"</{word}>") for word in ("think", "Thinking", "thought", "reasoning", "reflection", "scratchpad", "analysis", "antThinking", "seed:think", "longcat_think")),
                ("[THINK]", "[/THINK]"),
                ("◁think▷", "◁/think▷"),
                ("<|begin_of_thought|>", "<|end_of_thought|>"),
                ("<|START_THINKING|>", "<|END_THINKING|>"),
                ("", "</think>"),
                ("", "</longcat_think>"),
                ('<thinking mode="long">', "</thinking>"),
            )
        ),
        HARMONY,
        "<think>is it </think><think>[mode: 1]?</think>[mode: 2]",
    ],
)  # fmt: skip
def test_reasoning_of_every_common_kind_is_taken_out(text):
    thought, said = split_reasoning(text)
    assert thought == "is it [mode: 1]?"
    assert parse(said, "mode", takes_first=True) == parse(said, "mode") == 2


def test_reasoning_that_never_ends_holds_no_answer():
    assert split_reasoning("<think>so far [mode: 1]") == ("so far [mode: 1]", "")


@given(st.text(max_size=80))
def test_a_text_without_marks_stays_as_it_was(text):
    if not any(mark in text for mark in "<[◁"):
        assert split_reasoning(text) == ("", text)


@given(
    st.lists(
        st.sampled_from(
            [
                "<think>",
                "</think>",
                "[THINK]",
                "[/THINK]",
                "<|channel|>analysis<|message|>",
                "<|end|>",
                "[mode: 2]",
                "x",
            ]
        ),
        max_size=12,
    )
)
def test_no_order_of_marks_makes_it_raise_or_invent_text(parts):  # fmt: skip
    thought, said = split_reasoning("".join(parts))
    assert (thought + said).count("[mode: 2]") <= parts.count("[mode: 2]")
