"""Pre-flight: a sound study passes, and each fault is found and named."""

import json

import pytest

from howsure.study.packet.preflight import check
from howsure.study.protocol import Study

from .study_examples import EXAMPLE, small_study

GOLD = "Before we patch anything let us step back and look at the whole house because a red light is only an ant on the floor of a kitchen in a house by the sea"


def found(study, name, **given):
    return [(one.state, one.message) for one in check(study, **given).checks if one.name == name]


def with_texts(targets, comparisons, **given):
    pairs = [
        {"id": f"p{n}", "prompt": f"Question {n}?", "target": target, "comparison": comparison}
        for n, (target, comparison) in enumerate(zip(targets, comparisons, strict=True), 1)
    ]
    return small_study(pairs=pairs, **given)


def test_the_example_passes_without_a_warning(command, tmp_path):
    told = command("study", "check", EXAMPLE, "--raters", 8, "--json", "-o", tmp_path)
    assert told.returncode == 0, told.stderr
    result = json.loads(told.stdout)
    assert result["is_ready"]
    assert {row["state"] for row in result["check"]} == {"pass"}
    assert {"check.csv", "preflight.json", "preflight.result.zip"} == {path.name for path in tmp_path.iterdir()}


def test_a_gold_standard_among_the_responses_fails_and_exits_1(command, tmp_path):
    study = with_texts(["Quite warm.", f"So I say: {GOLD}."], ["Cold.", "Colder."], gold=GOLD)
    assert found(study, "gold standard")[0][0] == "fail"
    assert "p2 (target)" in found(study, "gold standard")[0][1]
    path = tmp_path / "study.json"
    path.write_text(study.model_dump_json())
    told = command("study", "check", path)
    assert told.returncode == 1
    assert "fail  gold standard: it is among the responses: p2 (target)." in told.stdout


def test_a_response_that_quotes_the_gold_standard_fails():
    study = with_texts(["He said: a red light is only an ant on the floor, friends."], ["Cold."], gold=GOLD)
    assert "8 or more of its words" in found(study, "gold standard")[0][1]


@pytest.mark.parametrize(("n_raters", "told"), [(8, "4 to 4 times"), (7, "3 to 4 times")])
def test_balance_is_told(n_raters, told):
    ((state, text),) = found(small_study(4), "randomisation", n_raters=n_raters)
    assert state == "pass"
    assert told in text


def test_one_order_for_all_and_the_common_seed_warn():
    assert found(small_study(4), "randomisation", n_raters=1)[0][0] == "warn"
    assert found(small_study(4, seed=0), "seed")[0][0] == "warn"
    assert found(small_study(4), "seed") == []


@pytest.mark.parametrize(
    "text", ["As an AI, I cannot feel.", "I am a language model.", "Ask ChatGPT.", "[Target] Well.", "Baseline: well."]
)
def test_texts_that_identify_themselves_fail_in_one_condition_and_warn_in_both(text):
    assert found(with_texts([text], ["Cold."]), "self-identification")[0][0] == "fail"
    assert found(with_texts([text], [f"{text} Too."]), "self-identification")[0][0] == "warn"
    assert found(with_texts(["I like to claim a target."], ["Cold."]), "self-identification")[0][0] == "pass"


def test_names_that_raters_know_fail():
    study = with_texts(["Says Ziggy: look."], ["Cold."], title="Who sounds like Ziggy?")
    assert found(study, "names") == [
        ("fail", "'Ziggy' in p1 (target). A name that raters know gives the response away.")
    ]


@pytest.mark.parametrize(("n_words", "state"), [(10, "pass"), (14, "warn"), (25, "fail")])
def test_length_that_tells_conditions_apart(n_words, state):
    study = with_texts(["warm " * n_words, "mild " * n_words], ["cold " * 10, "cool " * 10])
    assert found(study, "length")[0][0] == state


def test_lengths_that_cancel_out_still_warn():
    study = with_texts(["warm " * 30, "mild " * 5], ["cold " * 5, "cool " * 30])
    assert [state for state, _ in found(study, "length")] == ["pass", "warn"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("# Title\nwords", "headings"),
        ("- one\n- two", "lists"),
        ("**bold** words", "bold"),
        ("`code` words", "code"),
        ("well — words", "em dashes"),
        ("a \u200bhidden mark", "invisible characters"),
    ],
)
def test_typography_of_one_condition_warns(text, name):
    ((state, told),) = found(with_texts([text], ["plain words"]), "markdown and typography")
    assert state == "warn"
    assert f"{name}" in told
    assert found(with_texts([text], [f"{text} too"]), "markdown and typography")[0][0] == "pass"


def test_reading_time_grows_with_words_and_repeats():
    short, long = with_texts(["warm"], ["cold"]), with_texts(["warm " * 238], ["cold " * 238])
    assert long.expected_minutes - short.expected_minutes == pytest.approx(2, abs=0.02)
    assert small_study(4, repeats=2).expected_minutes > small_study(4).expected_minutes
    planned = {"target_minutes": (8, 12)}
    very_long = with_texts(["warm " * 6000], ["cold " * 6000])
    assert found(very_long.model_copy(update=planned), "time")[0][0] == "fail"
    assert found(very_long, "time")[0][0] == "warn"
    assert "Add pairs" in found(short.model_copy(update=planned), "time")[0][1]
    assert found(short, "time")[0][0] == "pass", "a short study needs no target"
    assert 8 < Study.read(EXAMPLE).expected_minutes < 12


def test_shared_responses_and_prompts_are_found():
    study = with_texts(["warm", "warm"], ["cold", "cool"])
    assert found(study, "repetition")[0] == ("fail", "pairs p1, p2 share a response. Give each pair its own.")
    pairs = [{"id": i, "prompt": "?", "target": f"t{i}", "comparison": f"c{i}"} for i in "ab"]
    assert found(small_study(pairs=pairs), "repetition")[0][0] == "warn"


def test_more_answers_than_digits_warn():
    many = {"name": "x", "kind": "each", "question": "?", "low": 1, "high": 10, "labels": [str(n) for n in range(10)]}
    assert found(small_study(dimensions=[many]), "keyboard")[0][0] == "warn"


def test_attention_that_does_not_state_its_answer_warns():
    item = {"id": "a", "text": "Choose the second.", "question": "?", "options": ["x", "blue"], "right": "blue"}
    assert found(small_study(attention=[item]), "attention")[0][0] == "warn"
    assert found(small_study(), "attention")[0][0] == "warn"
    assert found(small_study(repeats=1), "attention")[0][0] == "pass"


def test_gaps_in_model_scores_warn():
    pairs = [{"id": i, "prompt": f"{i}?", "target": f"t{i}", "comparison": f"c{i}"} for i in "ab"]
    study = small_study(pairs=[pairs[0] | {"model_score": 0.5}, pairs[1]])
    assert found(study, "model scores") == [("warn", "missing for b; the correlation would exclude them.")]


def test_nothing_to_check_says_so(command):
    told = command("study", "check")
    assert (told.returncode, told.stderr) == (
        2,
        "howsure: Nothing to check. Name the study: howsure study check study.yaml.\n",
    )


def test_a_gold_standard_that_is_like_the_comparisons_is_noticed():
    study = Study.read(EXAMPLE)
    assert any(one.name == "gold is representative" and one.state == "pass" for one in check(study).checks)
    wrong = study.model_copy(update={"gold": " ".join(pair.comparison[:120] for pair in study.pairs)})
    found = [one for one in check(wrong).checks if one.name == "gold is representative"]
    assert found[-1].state == "warn"
    assert "closer to the comparisons" in found[-1].message
    short = study.model_copy(update={"gold": "A whisper."})
    assert any("raters compare like with like" in one.message for one in check(short).checks)
