"""Ways to play beside turn by turn to the first error, with a real server: one prompt, on after errors, base models, budgets."""

import importlib.util
import re
import threading

import pytest

from howsure.errors import OptionError
from howsure.track.game.prompts import bracketed, instructions, state_message
from howsure.track.game.sequence import Setting
from howsure.track.game.statistics import statistic
from howsure.track.results import measure
from howsure.track.running.logs import samples_from_logs
from howsure.track.samples import GameSample, Samples
from servers.openai_server import ChatServer, completion
from track.inspect_program import run, start

for package in ("inspect_ai", "openai"):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"models are asked with Inspect and {package}, which is not installed", allow_module_level=True)

LENGTH = 6


def truths(variant, seed=0, length=LENGTH, updates=1):
    kind = statistic(variant)
    state, found = kind(), []
    for step in Setting(length=length, updates=updates).steps(variant, seed):
        state.take(step)
        found.append(bracketed(kind, state.answer()))
    return found


def by_turn(replies):
    return lambda request: replies[request.turn]


def at_once(replies):
    return lambda request: "\n".join(replies)


def transcript(variant):
    """A base model: continues the text, and goes on by itself behind the answer."""
    right = truths(variant)
    return lambda request: f" {right[request.text.count('You:') - 5]}\nMessage: 5\nYou: [median: 5]"


def wrong(replies, *places):
    return [f"[{text[1:].partition(':')[0]}: 7777]" if i in places else text for i, text in enumerate(replies)]


def job(**changes):
    return {"variant": "median", "n_samples": 1, "setting": {"length": LENGTH} | changes.pop("setting", {})} | changes


ONE_SHOT, CONTINUE = {"mode": "one-shot"}, {"mode": "continue"}
# by the model's name: how it answers, and how it is asked
MODELS = {
    "all": (at_once(truths("boxes")), job(variant="boxes", setting=ONE_SHOT)),
    "fourth-wrong": (at_once(wrong(truths("repl"), 3)), job(variant="repl", setting=ONE_SHOT)),
    "two-missing": (at_once(truths("sums")[:4]), job(variant="sums", setting=ONE_SHOT)),
    "cut-off": (lambda _: completion("\n".join(truths("mode")[:2]), finish="length"), job(variant="mode", setting=ONE_SHOT)),
    "draft": (at_once([*wrong(truths("median"), 1, 4), "Once more:", *truths("median")]), job(setting=ONE_SHOT)),
    "draft-first": (
        at_once([*wrong(truths("median"), 1, 4), "Once more:", *truths("median")]),
        job(setting=ONE_SHOT | {"takes_first": True}),
    ),
    "corrects": (at_once([f"[median: 1], no: {text}" for text in truths("median")]), job(setting=ONE_SHOT)),
    "one-line": (lambda _: " ".join(truths("median")), job(setting=ONE_SHOT)),
    "recovers": (by_turn(wrong(truths("median"), 1, 2)), job(setting=CONTINUE)),
    "silent-once": (by_turn(["", *truths("median")[1:]]), job(setting=CONTINUE)),
    "replaced": (by_turn(truths("ledger")), job(variant="ledger", setting=CONTINUE | {"replaced": 1.0})),
    "several": (by_turn(truths("automaton-5", updates=3)), job(variant="automaton-5", setting={"updates": 3})),
    "cot": (
        by_turn([f"Sorted: 1, 2, 3, 4. {text}" for text in truths("median")]),
        job(solver="explicit+cot", setting={"is_original": True}),
    ),
    "base": (transcript("median"), job(solver="completion")),
}  # fmt: skip


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """One game of each model: its sample, and the bodies of what it was asked."""
    out = tmp_path_factory.mktemp("modes")
    with ChatServer(lambda request: MODELS[request.body["model"]][0](request)) as server:
        jobs = [
            how
            | {"model": f"openai-http{'-base' * (name == 'base')}/test/{name}", "base_url": server.base_url, "out": out}
            for name, (_, how) in MODELS.items()
        ]
        results = dict(zip(MODELS, run(*jobs), strict=True))
        bodies = {name: [one.body for one in server.requests if one.body["model"] == name] for name in MODELS}
    rows = {name: samples_from_logs(result["logs"]).frame.row(0, named=True) for name, result in results.items()}
    return {name: (row, bodies[name]) for name, row in rows.items()}


@pytest.mark.parametrize(
    ("name", "turns", "error", "failure", "marks"),
    [
        ("all", 6, None, None, "111111"),
        ("fourth-wrong", 3, "other", None, "111011"),
        ("two-missing", 4, "format", None, "1111xx"),
        ("cut-off", 2, None, "cut", "11"),
        ("draft", 6, None, None, "111111"),
        ("draft-first", 1, "other", None, "101101"),
        ("corrects", 6, None, None, "111111"),
        ("one-line", 6, None, None, "111111"),
        ("recovers", 1, "other", None, "100111"),
        ("silent-once", 0, None, "null", "x11111"),
        ("replaced", 6, None, None, "111111"),
        ("several", 6, None, None, None),
        ("cot", 6, None, None, None),
        ("base", 6, None, None, None),
    ],
)
def test_every_way_to_play_is_judged(played, name, turns, error, failure, marks):
    row, bodies = played[name]
    assert (row["max_length"], row["error_kind"], row["failure"], row.get("marks")) == (turns, error, failure, marks)
    assert len(bodies) == (1 if "mode=one-shot" in row["setting"] else LENGTH)


def test_one_prompt_has_all_turns(played):
    _, (body,) = played["all"]
    opening, shown = (message["content"] for message in body["messages"])
    assert "All messages come at once" in opening
    assert re.findall(r"^(\d+)\.$", shown, re.MULTILINE) == [str(n) for n in range(1, LENGTH + 1)]
    assert shown.count("In which box") == LENGTH


def test_replaced_answers_are_what_the_model_reads(played):
    _, bodies = played["replaced"]
    told = [message["content"] for message in bodies[-1]["messages"] if message["role"] == "assistant"]
    assert len(told) == LENGTH - 1
    assert not set(told) & set(truths("ledger")) or all(a != b for a, b in zip(told, truths("ledger"), strict=False))


def test_explicit_state_goes_with_any_solver_and_the_original_order(played):
    row, bodies = played["cot"]
    assert (row["solver"], row["setting"]) == ("explicit+cot", "is_original=1")
    opening, newest = bodies[-1]["messages"][0]["content"], bodies[-1]["messages"][-1]["content"]
    assert "step by step" in opening
    assert opening.index("An example:") < opening.index("Write each answer as [median: <answer>]")
    state = statistic("median")()
    for number in Setting(length=LENGTH).steps("median", 0):
        state.update(number)
    assert newest.endswith(state_message(state))


def test_a_base_model_continues_one_text(played):
    _, bodies = played["base"]
    assert bodies[0]["prompt"].startswith(instructions("median", Setting(length=LENGTH)))
    assert bodies[-1]["prompt"].endswith("You:")
    assert bodies[0]["stop"] == ["\nMessage:"]


def test_a_budget_ends_a_run_that_more_continues(tmp_path):
    right = truths("median"), truths("median", 1)

    def answer(request):
        first = Setting(length=LENGTH).steps("median", 0)[0]
        return right[request.said_by("user")[0] != str(first)][request.turn]

    with ChatServer(answer) as server:
        asked = job(model="openai-http/test/m", base_url=server.base_url, out=tmp_path, n_samples=2, max_samples=1)
        (first,) = run(asked | {"max_tokens_total": 300})
        n_first, used = len(server.requests), server.usage["total_tokens"]
        run(asked | {"max_tokens_total": 300})
        n_again = len(server.requests)
        (last,) = run(asked | {"max_tokens_total": 100_000})
        n_all = len(server.requests)
    assert 0 < n_first < 2 * LENGTH
    assert used < 300 + 200, "one reply more at most"
    assert (first["exit_code"], n_again) == (1, n_first)
    assert any("of 300 tokens are spent" in line for line in first["errors"])
    assert (last["status"], n_all) == ("complete", 2 * LENGTH), "nothing is asked twice"
    frame = samples_from_logs(last["logs"]).frame
    assert frame["max_length"].to_list() == [LENGTH, LENGTH]
    assert samples_from_logs(first["logs"]).frame["ended_by"].to_list()[-1] == "interrupted"


def test_a_limit_of_cost_needs_prices():
    from howsure.running import Asking, BudgetSpentError, Prices, RunBudget

    with pytest.raises(OptionError, match="needs prices"):
        Asking("mockllm/model", max_cost=1.0)
    from inspect_ai.model import ModelUsage

    budget = RunBudget(max_cost=1.0, prices=Prices(1.0, 10.0, 0.1))
    budget.add(ModelUsage(input_tokens=400_000, input_tokens_cache_read=1_000_000, output_tokens=40_000))
    assert budget.cost == pytest.approx(0.4 + 0.1 + 0.4)
    budget.check()
    budget.add(ModelUsage(output_tokens=10_000))
    with pytest.raises(BudgetSpentError, match=r"1\.00 of 1\.00 are spent"):
        budget.check()


@pytest.mark.heavy
def test_a_run_is_not_continued_by_two_at_a_time(tmp_path):
    came, opened = threading.Event(), threading.Event()

    def slowly(request):
        came.set()
        opened.wait(600)
        return truths("median")[request.turn]

    with ChatServer(slowly) as server:
        asked = job(model="openai-http/test/m", base_url=server.base_url, out=tmp_path)
        first = start(asked)
        while not came.wait(0.2) and first.poll() is None:
            pass
        (second,) = run(asked)
        opened.set()
        told, errors = first.communicate()
    assert '"status": "complete"' in told, errors
    assert "under way in another process" in second["error"]
    assert len(server.requests) == LENGTH


def test_accuracy_is_that_of_the_turns():
    """By hand: the mode of 5 5 7 7 7 changes in turns 1 and 4 (largest of the tied)."""
    setting = Setting(length=5)
    numbers = setting.steps("mode", 0)
    changes = [i for i, n in enumerate(truths("mode", length=5)) if i == 0 or n != truths("mode", length=5)[i - 1]]
    assert len(numbers) == 5
    games = [GameSample("m", "mode", 0, 2, 5, "other", setting="mode=continue", marks="11001")]
    games += [GameSample("m", "mode", 0, 5, 5, setting="mode=continue", marks="11111", attempt=2)]
    (row,) = measure(Samples.from_games(games)).rows
    found = row.accuracy
    assert found.share_changed == pytest.approx(len(changes) / 5)
    assert found.overall.value == pytest.approx(0.8)
    assert found.after_wrong.value == pytest.approx(1 / 2)
    assert found.after_right.value == pytest.approx(5 / 6)
    right = [("11001"[i] == "1") + 1 for i in changes]
    assert found.changed.value == pytest.approx(sum(right) / (2 * len(changes)))
