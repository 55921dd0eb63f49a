"""What every run through Inspect shares, without Inspect: why a reply failed, what errors say, which run is which."""

import errno
import json
import sqlite3
from pathlib import Path
from types import SimpleNamespace

import pytest

from howsure.errors import InputError
from howsure.running import (
    Asking,
    BudgetSpentError,
    Gate,
    GivenUpError,
    InspectRun,
    RunBudget,
    Tokens,
    error_counts,
    failure_of,
    plain_errors,
)
from howsure.running.runs import _budget, is_too_long
from howsure.safe_io import cache_folder
from servers.event_loops import in_a_loop


def output(text="", *, stop="stop", parts=None, empty=False):
    content = parts if parts is not None else text
    return SimpleNamespace(empty=empty, stop_reason=stop, completion=text, message=SimpleNamespace(content=content))


REFUSAL = [SimpleNamespace(refusal=True)]


@pytest.mark.parametrize(
    ("said", "with_answer", "without"),
    [
        (output("42"), None, None),
        (output(""), None, "null"),
        (output(" \n"), None, "null"),
        (output("42", stop="max_tokens"), None, "length"),
        (output("too long", stop="model_length"), "length", "length"),
        (output("No.", stop="content_filter"), "refusal", "refusal"),
        (output("No.", parts=REFUSAL), "refusal", "refusal"),
        (output(empty=True), "null", "null"),
    ],
)
def test_why_a_reply_is_none_to_judge(said, with_answer, without):
    assert failure_of(said, has_answer=True) == with_answer
    assert failure_of(said, has_answer=False) == without


def test_errors_are_told_in_short_and_counted():
    retried = "RetryError(<Future at 0x7f state=finished raised RateLimitError>)\n  trace"
    told = error_counts([retried, retried.replace("7f", "8a"), "ValueError: x\ny", "CancelledError()"])
    assert told == {"RateLimitError, also when asked again": 2, "ValueError: x": 1}


def test_tokens_from_a_providers_cache_count_as_read():
    usage = {"input_tokens": 5, "input_tokens_cache_read": 30, "input_tokens_cache_write": None, "output_tokens": 7}
    one = Tokens.of(SimpleNamespace(**usage, reasoning_tokens=None))
    assert (one, one + Tokens(1, 2, 3)) == (Tokens(35, 7, 0), Tokens(36, 9, 3))


def test_runs_of_one_model_share_replies_and_differ_by_their_settings(tmp_path):
    def asking(**identity):
        return SimpleNamespace(identity={"model": "m"} | identity)

    run = InspectRun.of(tmp_path, asking(), {"attempts": 2})
    assert run == InspectRun.of(tmp_path, asking(), {"attempts": 2})
    other = InspectRun.of(tmp_path, asking(), {"attempts": 3})
    assert (other.mark != run.mark, other.replies == run.replies) == (True, True)
    assert InspectRun.of(tmp_path, asking(temperature=1), {"attempts": 2}).replies != run.replies
    # an object that is no JSON is told by its kind, so that a run is found again
    args = asking(model_args={"outputs": lambda: 1}), asking(model_args={"outputs": lambda: 2})
    assert len({InspectRun.of(tmp_path, one, {}).mark for one in args}) == 1


def test_a_run_forgets_its_own_replies_and_leaves_those_of_others(tmp_path):
    ours, others = (InspectRun(tmp_path, mark, mark) for mark in ("ours", "others"))
    for run in (ours, others):
        run.replies.mkdir(parents=True)
        (run.replies / "reply").touch()
    ours.forget_replies()
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["others"]
    others.forget_replies()
    assert not (tmp_path / "cache").exists()


def test_a_damaged_log_is_named_with_what_to_do(tmp_path):
    pytest.importorskip("inspect_ai")
    run = InspectRun(tmp_path, "mark", "shelf")
    run.folder.mkdir()
    (run.folder / "half.eval").write_bytes(b"PK")
    with pytest.raises(InputError, match=r"half\.eval: is damaged .* Move it away; the run continues"):
        run.logs()


def test_what_the_user_sets_wins_and_patience_makes_no_other_run():
    pytest.importorskip("inspect_ai")
    asking = Asking("mockllm/model", config={"temperature": 0, "max_retries": 1, "attempt_timeout": 9}, max_retries=8)
    assert (asking.manner["max_retries"], asking.manner["attempt_timeout"]) == (1, 9)
    assert asking.identity == Asking("mockllm/model", config={"temperature": 0}).identity
    assert Asking("mockllm/model").manner["timeout"] < 1000, "a server that always fails is given up"


def test_the_reason_stands_after_the_request_that_inspect_repeats():
    told = error_counts(
        ['ModelGenerateError(\'\\nRequest:\\n{\\n  "messages": []\\n}\\n\\nBadRequestError("no such setting")\')']
    )
    assert list(told) == ['BadRequestError("no such setting")\')']
    assert error_counts(["GivenUpError('not asked: no key')"]) == {"not asked: no key": 1}
    for text in ("not asked: 9 of 8 tokens are spent", """the reply is no JSON object: '"it's"'"""):
        for kind in (GivenUpError, BudgetSpentError):
            assert error_counts([repr(kind(text))]) == {text: 1}, "as it was worded, without quotes within quotes"


# how servers say that a conversation does not fit into the context window
TOO_LONG = (
    "context_length_exceeded",
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    "Input tokens exceed the configured limit of 272000 tokens.",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "Input is too long for requested model.",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
    "Please reduce the length of the messages or completion.",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens",
    "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
    "the request exceeds the available context size",
    "Invalid request: Your request exceeded model token limit: 8192",
    "too many tokens: size limit exceeded by 1000 tokens. Try using shorter or fewer inputs.",
    "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
    "Range of input length should be [1, 129024]",
)
OTHER = (
    "temperature is out of range",
    "max_tokens is too large: 100000. This model supports at most 4096 completion tokens",
    "Invalid value for 'max_tokens': must be at least 1",
    "You exceeded your current quota",
)


def test_a_full_context_is_told_from_other_refusals_in_the_words_of_many_servers():
    assert [text for text in TOO_LONG if not is_too_long(400, text)] == []
    assert [text for text in OTHER if is_too_long(400, text)] == []
    assert not is_too_long(500, TOO_LONG[0]), "a server's own failure may pass"
    assert is_too_long(413, "")


def test_a_limit_that_nobody_can_count_ends_the_run():
    for limit in ({"max_tokens": 10}, {"max_cost": 1.0}):
        budget = RunBudget(**limit)
        budget.check()
        budget.add(None)
        with pytest.raises(BudgetSpentError, match="does not count the tokens"):
            budget.check()
    free = RunBudget()
    free.add(None)
    free.check()


class TestGate:
    def ask(self, *outcomes, n=1):
        """What n questions come to, one after the other, at a server with these outcomes; None is a reply without choices."""
        output = pytest.importorskip("inspect_ai.model").ModelOutput
        asked = []

        async def question():
            outcome = outcomes[min(len(asked), len(outcomes) - 1)]
            asked.append(outcome)
            if isinstance(outcome, Exception):
                raise outcome
            return output(choices=[]) if outcome is None else output.from_content("m", outcome)

        async def play():
            gate = Gate()
            for _ in range(n):
                try:
                    reply = await gate.ask(question)
                    found.append(reply.completion if reply.stop_reason == "stop" else reply.stop_reason)
                except GivenUpError as error:
                    found.append(str(error))

        found = []
        in_a_loop(play())
        return found, len(asked)

    def test_a_server_that_never_answered_is_given_up_at_once(self):
        found, n_asked = self.ask(RuntimeError("down"), n=5)
        assert n_asked == 1
        assert found[-1] == "not asked: the server kept failing (RuntimeError('down'))"

    def test_one_question_that_a_server_fails_at_does_not_keep_the_others_from_being_asked(self):
        """A run is continued, and the first of its open games is the one that the server always fails at."""

        class InternalServerError(Exception):
            status_code = 500

        down = InternalServerError("down")
        assert self.ask(down, down, "well", "well", n=4) == (["InternalServerError('down')"] * 2 + ["well"] * 2, 4)
        assert self.ask(down, n=9)[1] == 3

    def test_after_a_first_failure_the_next_two_are_asked_together(self):
        """Each is asked with patience, minutes long: one after the other they would keep a run waiting for a server that is down."""
        anyio = pytest.importorskip("anyio")

        class InternalServerError(Exception):
            status_code = 500

        n_open, most_open, found = 0, [], []

        async def question():
            nonlocal n_open
            n_open += 1
            most_open.append(n_open)
            await anyio.sleep(0.02)
            n_open -= 1
            raise InternalServerError("down")

        async def one(gate):
            try:
                await gate.ask(question)
            except GivenUpError as error:
                found.append(str(error))

        async def play():
            gate = Gate()
            async with anyio.create_task_group() as group:
                for _ in range(8):
                    group.start_soon(one, gate)

        in_a_loop(play())
        assert most_open == [1, 1, 2]
        assert len(found) == 8

    def test_a_server_that_answered_has_twenty_chances(self):
        found, n_asked = self.ask("well", RuntimeError("down"), n=25)
        assert (found[0], n_asked) == ("well", 21)

    def test_a_reply_in_between_starts_the_count_anew(self):
        outcomes = [out for _ in range(8) for out in ("well", *[RuntimeError("down")] * 9)]
        assert self.ask(*outcomes, n=80)[1] == 80

    def test_a_garbled_reply_is_asked_for_again(self):
        garbled = json.JSONDecodeError("no value", "", 0)
        assert self.ask(garbled, garbled, "well") == (["well"], 3)
        found, n_asked = self.ask(garbled)
        assert n_asked == 4
        assert "JSONDecodeError" in found[0]
        no_text = UnicodeDecodeError("utf-16-be", b"\xff", 0, 1, "truncated data")
        assert self.ask(no_text, "well") == (["well"], 2)

    def test_a_reply_without_choices_is_the_servers_failure_and_asked_for_again(self):
        assert self.ask(None, "well") == (["well"], 2)
        assert self.ask(None) == (["the reply has no choices"], 4)

    def test_a_kept_reply_without_choices_costs_nothing_again(self):
        """Inspect tells its limits of what was asked, not of what came from its cache; here nothing was asked."""
        model = pytest.importorskip("inspect_ai.model")
        kept = model.ModelOutput(choices=[], usage=model.ModelUsage(input_tokens=70, output_tokens=7, total_tokens=77))
        whole = model.ModelOutput.from_content("m", "well")
        whole.usage = kept.usage
        budget = RunBudget(max_tokens=1000)

        async def play():
            token = _budget.set(budget)
            replies = iter([kept, whole])

            async def question():
                return next(replies)

            assert (await Gate().ask(question)).completion == "well"
            _budget.reset(token)

        in_a_loop(play())
        assert budget.tokens == 0

    def test_half_a_character_does_not_stop_a_game(self):
        assert self.ask("[median: 5] \ud83d é 😀") == (["[median: 5] ? é 😀"], 1)

    def test_a_full_context_is_a_reply_whatever_the_provider_makes_of_it(self):
        class BadRequestError(Exception):
            status_code = 400

        assert self.ask(BadRequestError("prompt is too long: 9 tokens > 8 maximum")) == (["model_length"], 1)
        assert "temperature" in self.ask(BadRequestError("temperature is out of range"))[0][0]


def test_a_full_disk_is_told_in_one_line():
    pytest.importorskip("inspect_ai")
    with pytest.raises(InputError, match=r"x\.eval: the run's logs .* \(No space left on device\)"), plain_errors():
        raise OSError(errno.ENOSPC, "No space left on device", "x.eval")
    # Inspect's realtime log, on the disk of the user's home
    with pytest.raises(InputError, match=r"cannot be written \(database or disk is full\)"), plain_errors():
        raise sqlite3.OperationalError("database or disk is full")


def test_a_run_that_wrote_nothing_on_a_full_disk_says_so(monkeypatch, tmp_path):
    """Inspect logs that it cannot write its log, and ends without an exception."""
    pytest.importorskip("inspect_ai")
    from howsure.track.running import playing

    run = InspectRun(tmp_path, "mark", "shelf")
    run.folder.mkdir()
    with pytest.raises(InputError, match="no game was played"):
        playing._finished(run, 4)
    monkeypatch.setattr(playing.shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    with pytest.raises(
        InputError, match=r"the disk is full \(0 bytes are left\). Make room; the same command continues"
    ):
        playing._finished(run, 4)


def test_a_test_has_a_home_of_its_own(tmp_path):
    """What is kept by another test, or by the user, changes nothing here."""
    from inspect_ai.model import cache_path

    kept = cache_path(), cache_folder() / "readings"
    assert all(path.is_relative_to(Path.home()) for path in kept)
    assert Path.home().parent.name.startswith("homes-")
    assert not (Path.home() / "seen").exists()
    (Path.home() / "seen").touch()


def test_another_test_has_another_home():
    assert not (Path.home() / "seen").exists()
