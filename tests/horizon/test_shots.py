"""Worked examples: fresh, with answers, never what is asked."""

import pytest

from howsure.horizon.asking.replies import worked_examples
from howsure.horizon.task_bank import Task, make_tasks

CAPITALS = {"France": "Paris", "Italy": "Rome", "Spain": "Madrid"}
OWN = [
    Task(id=land, domain="capitals", verification_type="automated", prompt=f"{land}?", answer=city)
    for land, city in CAPITALS.items()
]
TWIN = Task(id="again", domain="capitals", verification_type="automated", prompt="France?", answer="Paris")
OTHER = Task(id="sum", domain="sums", verification_type="automated", prompt="1 + 1?", answer="2")


@pytest.mark.parametrize("task", make_tasks(6, domains=["logic_puzzle", "code_completion"]), ids=lambda task: task.id)
def test_examples_are_fresh_instances_with_their_answers(task):
    shown = {seed: worked_examples(task, [task], seed, 3) for seed in (1, 2)}
    prompts = [one.prompt for several in shown.values() for one in several]
    assert len({*prompts, task.instance(1).prompt, task.instance(2).prompt}) == 8
    assert all(one.check(one.answer) == 1 for several in shown.values() for one in several)


def test_a_task_that_stays_the_same_is_shown_others_of_its_domain():
    for seed in range(20):
        shown = worked_examples(OWN[0], [*OWN, TWIN, OTHER], seed, 5)
        assert {(one.prompt, one.answer) for one in shown} == {("Italy?", "Rome"), ("Spain?", "Madrid")}
    assert len({worked_examples(OWN[0], OWN, seed, 1)[0].prompt for seed in range(20)}) == 2


def test_where_nothing_has_an_answer_nothing_is_shown():
    story = make_tasks(1, domains=["creative_writing"])[0]
    pattern = Task(id="even", domain="capitals", verification_type="automated", prompt="Even?", regex="[02468]")
    assert worked_examples(story, [story], 1, 3) == []
    assert worked_examples(OTHER, [OTHER, *OWN], 1, 3) == []
    assert len(worked_examples(pattern, [pattern, *OWN], 1, 3)) == 3
    assert worked_examples(OWN[0], OWN, 1, 0) == []
