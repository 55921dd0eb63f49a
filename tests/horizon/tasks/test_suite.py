"""Suites: made, written, read, and told what is wrong with them by line and field."""

import json
from collections import Counter
from contextlib import suppress

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from howsure.errors import InputError, OptionError
from howsure.horizon.task_bank import DOMAINS, Task, families, make_tasks, read_tasks, task_schema, write_tasks

OWN = """\
tasks:
  - id: cooking/egg
    domain: cooking
    description: Soft boil an egg.
    verification_type: expert_review
  - task_id: sums/seven
    domain: sums
    prompt: What is three and four? Answer with the number.
    verification_type: automated
    answer: [7, seven]
  - id: sums/when
    domain: sums
    prompt: When does the train leave?
    verification_type: automated
    answer: 12:30
  - id: words/no
    domain: words
    prompt: What is the opposite of yes?
    verification_type: automated
    answer: no
  - id: words/greeting
    domain: words
    family: greetings
    difficulty: 0.25
    prompt: Say hello.
    verification_type: automated
    regex: h(ello|i)!?
  - id: words/poem
    domain: words
    prompt: Write a poem.
    verification_type: llm_judge
    rubric: Does it rhyme?
  - id: logic_puzzle/mine
    domain: logic_puzzle
    generator: seating
    difficulty: 0.3
    verification_type: automated
"""


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "tasks.yaml"
        path.write_text(text)
        return path

    return write


def test_a_suite_has_as_many_tasks_in_each_domain_and_all_difficulties():
    tasks = make_tasks()
    assert Counter(task.domain for task in tasks) == dict.fromkeys(DOMAINS, 20)
    assert len({task.id for task in tasks}) == 100
    assert sum(task.is_verifiable for task in tasks) == 60
    for domain in DOMAINS:
        difficulties = [task.difficulty for task in tasks if task.domain == domain]
        assert difficulties == sorted(set(difficulties))
        assert (difficulties[0], difficulties[-1]) == (0.025, 0.975)
        counts = Counter(task.family for task in tasks if task.domain == domain)
        assert set(counts) == {family.name for family in families(domain)}
        assert max(counts.values()) - min(counts.values()) <= 1


def test_suites_of_other_sizes():
    assert [task.domain for task in make_tasks(7)] == [DOMAINS[0]] * 2 + [DOMAINS[1]] * 2 + list(DOMAINS[2:])
    assert {task.domain for task in make_tasks(4, domains=["logic_puzzle"])} == {"logic_puzzle"}
    with pytest.raises(OptionError, match="at least 1"):
        make_tasks(0)
    with pytest.raises(OptionError, match="each once"):
        make_tasks(4, domains=["logic_puzzle", "logic_puzzle"])
    with pytest.raises(OptionError, match="No domain"):
        make_tasks(4, domains=["logic"])


def test_what_is_written_is_read_again(tmp_path, written):
    own = read_tasks(written(OWN))
    tasks = (*make_tasks(50), *own[:-1])
    assert read_tasks(write_tasks(tasks, tmp_path / "again.yaml")) == tasks
    assert read_tasks(tmp_path / "again.yaml")[3].instance(4) == tasks[3].instance(4)


def test_tasks_of_ones_own(written):
    egg, seven, when, no, greeting, poem, mine = read_tasks(written(OWN))
    assert egg.instance(0).check("I did.") is None
    assert (egg.instance(0).prompt, egg.family) == ("Soft boil an egg.", "cooking/egg")
    assert "1 for yes" in egg.instance(0).rubric
    assert (seven.id, seven.answer) == ("sums/seven", ("7", "seven"))
    assert [seven.instance(0).check(text) for text in ("7", "Answer: SEVEN", "8")] == [1.0, 1.0, 0.0]
    assert seven.instance(0).accepted() == ("7", "seven")
    assert seven.instance(0) == seven.instance(1)
    assert when.instance(0).check("12:30") == 1.0
    assert no.instance(0).check("No.") == 1.0
    assert [greeting.instance(0).check(text) for text in ("Hi!", "bye")] == [1.0, 0.0]
    assert (greeting.instance(0).accepted(), greeting.family, greeting.difficulty) == ((), "greetings", 0.25)
    assert poem.instance(0).rubric == "Does it rhyme?"
    assert mine.family == "seating"
    assert mine.instance(0) != mine.instance(1)


def test_a_bare_list_is_a_suite_too(written):
    plain = OWN.partition("\n")[2]
    assert read_tasks(written(plain)) == read_tasks(written(OWN))


ONE = "- id: a\n  domain: d\n  prompt: p\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "contains no tasks"),
        ("tasks: []", "contains no tasks"),
        ("tasks: 5", "line 1: tasks: is followed by a list"),
        ("just words", "line 1: tasks: is followed by a list"),
        ("task:\n- id: a", "line 1: a suite holds one list, tasks:"),
        ("tasks:\n- id: a\nmore: 1", "line 3: a suite holds one list"),
        ("tasks: []\ntasks: []", "line 2: 'tasks' is there twice"),
        ("tasks:\n- [1, 2]", "line 2: a task has lines such as"),
        ("tasks:\n  - id: 'a\n", "not YAML"),
        ("\ttasks: 1", "line 1: not YAML"),
        (ONE, "line 1: task 'a': verification_type is missing. Add it."),
        (ONE + "  verification_type: auto\n", "line 4: task 'a': verification_type: input should be 'automated', 'llm_judge' or 'expert_review'."),
        (ONE + "  verification_type: automated\n", "line 1: task 'a': verification_type automated needs either an answer or a regex"),
        (ONE + "  verification_type: automated\n  answer: 1\n  regex: x\n", "needs either an answer or a regex"),
        (ONE + "  verification_type: llm_judge\n  regex: x\n", "a regex is not used with verification_type llm_judge"),
        (ONE + "  verification_type: automated\n  regex: (\n", r"line 5: task 'a': regex: '\(' cannot be used: unclosed group."),
        (ONE + "  verification_type: automated\n  regex: (?=a)\n", "line 5: .*look-around"),
        (ONE + "  verification_type: automated\n  anwser: 7\n", "line 5: task 'a': anwser is not a field of a task. Did you mean answer?"),
        (ONE + "  colour: red\n  verification_type: llm_judge\n", "line 4: .*colour is not a field of a task. Choose from: id, domain"),
        (ONE + "  verification_type: llm_judge\n  prompt: q\n", "line 5: 'prompt' is there twice"),
        (ONE + "  verification_type: llm_judge\n  difficulty: 2\n", "line 5: task 'a': difficulty: input should be less than or equal to 1."),
        (ONE + "  verification_type: llm_judge\n  difficulty: nan\n", "line 5: task 'a': difficulty"),
        (ONE + "  verification_type: llm_judge\n  difficulty: hard\n", "line 5: task 'a': difficulty: input should be a valid number"),
        (ONE + "  verification_type: llm_judge\n  rubric: {a: b}\n", "line 5: rubric is a text, a number or a list"),
        (ONE + "  verification_type: llm_judge\n  rubric: [a, b]\n", "line 5: task 'a': rubric: input should be a valid string"),
        (ONE + "  verification_type: automated\n  answer: ['']\n", "line 5: task 'a': answer"),
        ("- domain: d\n  prompt: p\n  verification_type: llm_judge", "line 1: id is missing."),
        ("- id:\n  domain: d\n  prompt: p\n  verification_type: llm_judge", "line 1: id is missing."),
        ("- id: a\n  domain: d\n  verification_type: llm_judge", "neither prompt nor description"),
        ("- id: a\n  domain: astrology\n  generator: egg\n  difficulty: 0\n  verification_type: automated", "No domain with generators called 'astrology'"),
        ("- id: a\n  domain: logic_puzzle\n  generator: sudoko\n  difficulty: 0\n  verification_type: automated", "Did you mean 'sudoku'?"),
        ("- id: a\n  domain: logic_puzzle\n  generator: sudoku\n  verification_type: automated", "a generator needs a difficulty"),
        ("- id: a\n  domain: logic_puzzle\n  generator: sudoku\n  difficulty: 0\n  verification_type: llm_judge", "verification_type of generator 'sudoku' is automated"),
        ("- id: a\n  domain: logic_puzzle\n  generator: sudoku\n  difficulty: 0\n  verification_type: automated\n  answer: 1", "makes its own answer"),
        ((ONE + "  verification_type: llm_judge\n") * 2, "line 5: id 'a' was used before"),
        (ONE + "  family: f\n  minutes: 3\n  hours: 4\n", r"line 1: task 'a': verification_type is missing. Add it. \(2 more in this task.\)"),
        ("&a [*a]", r"line 1: \*a holds itself"),
        ("[" * 1_200, "line 1: nested too deeply"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_by_line_and_field(text, told, written):
    path = written(text)
    with pytest.raises(InputError, match=told) as caught:
        read_tasks(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_tasks(tmp_path / "none.yaml")
    (tmp_path / "odd.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not text in UTF-8"):
        read_tasks(tmp_path / "odd.yaml")


def test_shared_texts_are_fine_and_copies_without_end_are_not(written):
    shared = "- id: a\n  domain: d\n  prompt: &p same\n  verification_type: llm_judge\n- id: b\n  domain: d\n  prompt: *p\n  verification_type: llm_judge"
    assert [task.prompt for task in read_tasks(written(shared))] == ["same", "same"]
    bomb = "a: &a [x, x]\n" + "".join(
        f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefghijklmnop", "bcdefghijklmnopq", strict=True)
    )
    with pytest.raises(InputError, match="more than 500,000 keys and values"):
        read_tasks(written(bomb))


WORDS = st.sampled_from(
    [
        "tasks",
        "id",
        "domain",
        "answer",
        "- ",
        ": ",
        "\n",
        "  ",
        "[",
        "]",
        "{",
        "&a ",
        "*a",
        "'",
        "|",
        "x",
        "é",
        "automated",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(), st.lists(WORDS, max_size=25).map("".join)))
def test_any_file_is_a_suite_or_an_input_error(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "tasks.yaml"
    path.write_bytes(text.encode("utf-8", "replace"))
    with suppress(InputError):
        assert read_tasks(path)


def test_the_schema_says_the_same_as_the_reader(written):
    schema = task_schema()
    task = schema["$defs"]["Task"]
    assert set(task["properties"]) == set(Task.model_fields)
    assert set(task["required"]) == {"id", "domain", "verification_type"}
    assert task["additionalProperties"] is False
    assert task["properties"]["verification_type"]["enum"] == ["automated", "llm_judge", "expert_review"]
    assert json.loads(json.dumps(schema)) == schema
    for entry in yaml.safe_load(OWN)["tasks"]:
        assert set(entry) <= {*task["properties"], "task_id"}


def test_every_verb_of_the_command(command, tmp_path):
    made = command("horizon", "tasks", "-o", tmp_path / "tasks.yaml", "--n", 10)
    assert made.returncode == 0
    assert "10 tasks" in made.stdout
    assert "6 are scored by a program, 4 must be scored by a person or a judge" in made.stdout
    assert len(read_tasks(tmp_path / "tasks.yaml")) == 10

    shown = command(
        "horizon", "tasks", tmp_path / "tasks.yaml", "--show", "logic_puzzle/seating_02", "--seed", 4, "--json"
    )
    told = json.loads(shown.stdout)
    instance = next(task for task in read_tasks(tmp_path / "tasks.yaml") if task.id == told["task"]).instance(4)
    assert (told["prompt"], told["answer"], tuple(told["accepted"])) == (
        instance.prompt,
        instance.answer,
        instance.accepted(),
    )

    wrong = command("horizon", "tasks", "--show", "logic_puzzle/sudoku_1")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("howsure: No task called 'logic_puzzle/sudoku_1'. Did you mean")

    schema = command("horizon", "tasks", "--schema")
    assert json.loads(schema.stdout) == task_schema()
