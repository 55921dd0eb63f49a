"""The store of a conversation's replies: nothing is asked twice, and nothing that was cut by a crash is believed."""

import pytest

pytest.importorskip("inspect_ai")
from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, ModelOutput, ModelUsage

from howsure.running.replies import KeptReplies


def reply(text):
    return ModelOutput(
        model="m",
        choices=[ChatCompletionChoice(message=ChatMessageAssistant(content=text, id="1"))],
        completion=text,
        usage=ModelUsage(input_tokens=7, output_tokens=1, total_tokens=8),
    )


def written(folder, questions):
    kept = KeptReplies(folder / "game.jsonl")
    for one in questions:
        assert kept.next(one) is None
        kept.keep(reply(one.upper()))
    kept.close()
    return kept.path


def test_a_conversation_continues_from_its_file(tmp_path):
    path = tmp_path / "game.jsonl"
    for n_asked in (3, 0):
        kept = KeptReplies(path)
        asked = []
        for question in "abc":
            output = kept.next(question)
            if output is None:
                asked.append(question)
                output = reply(question.upper())
                kept.keep(output)
            assert output.completion == question.upper()
            assert output.usage.input_tokens == 7
        kept.close()
        assert len(asked) == n_asked


def test_a_line_that_a_crash_cut_is_asked_again(tmp_path):
    path = written(tmp_path, "abc")
    path.write_text(path.read_text()[:-20])
    kept = KeptReplies(path)
    assert [kept.next(one) is None for one in "abc"] == [False, False, True]
    kept.keep(reply("C"))
    kept.close()
    assert path.read_text() == written(tmp_path / "other", "abc").read_text()


def test_what_follows_another_question_is_discarded(tmp_path):
    path = written(tmp_path, "abc")
    kept = KeptReplies(path)
    assert [kept.next(one) is None for one in "ax"] == [False, True]
    kept.keep(reply("X"))
    assert kept.next("c") is None, "the same question after another history"
    kept.keep(reply("C"))
    kept.close()
    again = KeptReplies(path)
    assert [again.next(one).completion for one in "axc"] == ["A", "X", "C"]
