"""Answers are read as people would read them, and no text is too odd."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howsure.errors import InputError
from howsure.horizon.task_bank import Exact, NeedsJudge, Pattern
from howsure.people.blinding import normal_text
from howsure.people.questions import readings


@pytest.mark.parametrize(
    "text",
    [
        *("42", " 42 ", "42.", "42\n", "042", "+42", "42.0", "`42`", "**42**", "“42”", "4 2"),
        *("Answer: 42", "answer:42", "ANSWER : 42.", "**Answer:** 42", "**Answer: 42**", "Final answer: `42`"),
        *("Answer:\n42", "Answer:\n\n  42\n", "The answer is: 42", "Answer: 42\nI am sure of that."),
        *("Answer: 41\nNo, wait.\nAnswer: 42", "First I add.\nThen I multiply.\n42", "It is 17.\n\n42."),
        *(
            "```\n42\n```",
            "Answer:\n```text\n42\n```",
            "So:\n~~~\n42\n~~~",
            r"Answer: \boxed{42}",
            r"Answer: $\boxed{42}$.",
        ),
        *("Answer: 41 answer: 42", "４２", "Answer:\u00a042"),
        *("It should be 42.", "It has to be: 42", "The missing number: **42**", "`42` belongs in the gap."),
        *("<answer>42</answer>", "17?\n<Answer> 42 </Answer>\nSurely.", "Answer: <answer>42</answer>."),
        *("<answer>42</answer> Again: <answer>42.</answer>", "<answer>It should be 42</answer>"),
    ],
)
def test_forms_that_are_right(text):
    assert Exact(("42",))(text) == 1.0


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "...", "43", "-42", "4.2", "42 or 43", "not 42", "42\n43", "Answer: 42\nAnswer: 43"),
        *("Answer: 43\n42", "Answer:", "42\nAnswer:", "421", "forty-two", "42%", "42 apples"),
        *("It should be 43.", "It should not be 42.", "It should be 42 or 43.", "42 or 43 belongs in the gap."),
        *("It should be 43.\nIt should be 42.", "The number is 43.\nThe missing number: 42", "<answer>43</answer> 42"),
        *("<answer>42</answer> <answer>43</answer>", "<answer>43</answer>\n<answer>42</answer>", "<answer></answer>42"),
        *("Answer: 43\n<answer>42</answer>", "<answer>42</answer>\nAnswer: 43", "<answer>42"),
    ],
)
def test_forms_that_are_wrong(text):
    assert Exact(("42",))(text) == 0.0


def test_words_thousands_and_several_answers():
    assert Exact(("New York", "NYC"))("Answer: new  york.") == 1.0
    assert Exact(("New York", "NYC"))("nyc") == 1.0
    assert Exact(("1250.5",))("1,250.50") == 1.0
    assert Exact(("-7",))("−7") == 1.0
    assert Exact(("a\nb",))("Answer: a\nb") == 1.0
    assert Exact(("...",))("...") == 1.0
    assert Exact(("..",))(". .") == 1.0
    assert Exact(("x..*",))("x . . *") == 1.0


def test_the_last_line_that_says_answer_counts():
    assert readings("Answer: one\nAnswer: two\nthree") == ("two", "two\nthree")
    assert readings("no mark\nat all") == ("no mark\nat all", "at all")
    assert readings("Answer:") == ()


PLAIN = st.text("abcXYZ019 ,.-+*%'_éß²", min_size=1, max_size=12).filter(str.strip)


@given(PLAIN, st.sampled_from([str.upper, str.lower, " ".join, lambda text: f"  {text}\t"]))
def test_what_a_page_takes_for_right_is_right(answer, typed_as):
    typed = typed_as(answer)
    if normal_text(typed) == normal_text(answer):
        assert Exact((answer,))(typed) == 1.0


SURROGATES = st.text(st.characters(exclude_categories=()))


@settings(deadline=None)
@given(SURROGATES)
def test_no_text_is_too_odd(text):
    assert NeedsJudge()(text) is None
    assert Exact(("42", "x"))(text) in (0.0, 1.0)
    assert Pattern("[a-z]+")(text) in (0.0, 1.0)


def test_a_long_reply_is_read_from_its_end():
    assert Exact(("42",))("x" * 10**6 + "\nAnswer: 42") == 1.0
    assert Pattern("4+2")("Answer: " + "4" * 10**6) == 0.0


@pytest.mark.parametrize(
    ("regex", "text", "score"),
    [
        (r"\d+ ?kg", "Answer: 12 KG", 1.0),
        (r"\d+ ?kg", "about 12 kg or so", 0.0),
        (r"yes|no", "yes", 1.0),
        (r"yes|no", "yes and no", 0.0),
        (r".*\bblue\b.*", "It is a Blue sky", 1.0),
        (r"(?s).*end", "one\nend", 1.0),
        (r"caf[eé]", "CAFÉ", 1.0),
    ],
)
def test_a_pattern_matches_the_whole_answer(regex, text, score):
    assert Pattern(regex)(text) == score


CATASTROPHES = [
    *(r"(a+)+", r"(a*)*b", r"(a|aa)+$", r"(a|a)*c", r"(.*a){30}", r"(x+x+)+y", r"((a+)+)+!", r"(\w+\s?)*!"),
    *(r"(a?){200}a{200}", r"^(([a-z])+.)+[A-Z]([a-z])+$", r"(?:\w{1,9}){9}!", r"a*a*a*a*a*a*a*a*a*a*a*b"),
]


@pytest.mark.parametrize("regex", CATASTROPHES)
def test_patterns_that_would_hang_elsewhere_take_no_time(regex):
    assert Pattern(regex)("a" * 9_000 + "?") == 0.0


@pytest.mark.parametrize(
    ("regex", "told"),
    [
        *(("(", "unclosed group"), ("a)|(b", "unopened group"), ("[", "unclosed character class"), ("*", "repetition")),
        *((r"(?=x)", "look-around"), (r"(a)\1", "backreferences"), (r"a{1000}{1000}", "size limit")),
        *((r"(\w{500}){50}", "size limit"), ("a" * 501, "501 characters"), ("(?x) a # b", "unclosed group")),
    ],
)
def test_patterns_that_cannot_be_used_say_why(regex, told):
    with pytest.raises(InputError, match=told) as caught:
        Pattern(regex)
    assert "\n" not in str(caught.value)
