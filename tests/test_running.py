"""What every run through Inspect shares, without Inspect: why a reply failed, what errors say, which run is which."""

from types import SimpleNamespace

import pytest

from howsure.errors import InputError
from howsure.running import InspectRun, Tokens, error_counts, failure_of


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
    with pytest.raises(InputError, match=r"half\.eval: is damaged .* Move it away; the run goes on"):
        run.logs()
