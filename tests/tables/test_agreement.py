"""Predictions and labels: their agreement is the score where texts say it, and the user is asked where they do not."""

import json
from pathlib import Path

import polars as pl
import pytest

import howsure
from howsure.errors import InputError

TRIALS = Path(__file__).parents[3] / "shared/data/trials/columns"


def read(tmp_path, text, name="gpt.csv", **options):
    (tmp_path / name).write_text(text)
    return howsure.read(tmp_path / name, **options)


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("gpt.csv", "id,prediction,label\n0,no,no\n1,Yes ,yes\n2,no,yes\n3,,no\n"),
        ("gpt.csv", "item,model,pred,gold\n0,gpt,1,1\n1,gpt,0,0.0\n2,gpt,1,0\n3,gpt,,1\n"),
        ("gpt.csv", "question_id,response,prediction,ground_truth\n0,So: A,A,a\n1,B!,B,B\n2,?,A,C\n3,,,C\n"),
        ("gpt.csv", "id,question,answer,expected\n0,1+1?,2,2\n1,2+2?,4.0,4\n2,3+3?,7,6\n3,4+4?,,8\n"),
        ("gpt.csv", "id,prediction,answer\n0,Paris,paris\n1,Rome,Rome\n2,Rome,Paris\n3,,Paris\n"),
        ("gpt.csv", "id,label,gpt\n0,cat,cat\n1,dog,dog\n2,cat,dog\n3,cat,\n"),
        ("gpt.jsonl", lines(*({"id": i, "completion": c, "ideal": t} for i, (c, t) in enumerate([("x", ["x", "y"]), ("Y", ["x", "y"]), ("z", ["x"]), (None, ["x"])])))),
        ("gpt.jsonl", lines(*({"id": i, "output": o, "expected": e, "metadata": {"model": "gpt"}} for i, (o, e) in enumerate([("yes", "yes"), ("no", "no"), ("no", "yes"), ("", "no")])))),
    ],
)  # fmt: skip
def test_agreement_is_the_score(tmp_path, name, text):
    table = read(tmp_path, text, name)
    if ",gpt\n" in text:  # a column per model: an empty cell is no attempt
        assert table.frame.select("subject", "task", "score").rows() == [
            ("gpt", str(i), x) for i, x in enumerate((1, 1, 0))
        ]
    else:
        assert table.frame.select("subject", "score").rows() == [("gpt", 1), ("gpt", 1), ("gpt", 0), ("gpt", None)]
        assert table.frame["outcome"].to_list()[3] == "unscored"
    assert "score = whether" in table.notes[0]
    assert "(2 of 3)" in table.notes[0]
    account = howsure.sources.account(tmp_path / name)
    assert account.n_unexplained == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("id,output,expected\n0,The answer is B,B\n1,B,B\n", "'the answer is b' beside 'b'"),
        ('id,output,expected\n0,Paris,"Paris, France"\n1,Rome,Rome\n', "'paris' beside 'paris, france'"),
        (f"id,output,expected\n0,{'so ' * 40},B\n1,B,B\n", "'so so so"),
        ("id,prediction,label\n0,1,yes\n1,0,no\n", "'1' beside 'yes'"),
        ("id,label,a,b\n0,1,1,0\n1,0,1,0\n2,1,1,1\n", "a, b may be answers to compare with label, or scores"),
        ("id,label,a,b\n0,yes,yes,no\n1,no,yes,no\n", "a, b may be answers to compare with label, or scores"),
    ],
)
def test_where_texts_do_not_say_it_the_user_is_asked(tmp_path, text, told):
    with pytest.raises(InputError, match=told):
        read(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "id,prediction,label,correct\n0,no,no,1\n1,yes,no,0\n",
        "id,target,a,b\n0,5,1,0\n1,7,0,1\n",
        "id,output,gpt\n0,17,1\n1,12,0\n",
    ],
)
def test_predictions_and_labels_are_never_subjects_or_scores(tmp_path, text):
    table = read(tmp_path, text)
    assert set(table.frame["subject"]) <= {"gpt", "a", "b"}
    assert table.frame.filter(pl.col("subject") != "b")["score"].to_list() == [1, 0]


def test_a_label_that_is_part_of_another_is_a_label(tmp_path):
    table = read(
        tmp_path,
        "id,prediction,label\n0,not toxic,toxic\n1,toxic,toxic\n2,not toxic,not toxic\n3,none,toxic\n4,none,none\n",
    )
    assert table.frame["score"].to_list() == [0, 1, 1, 0, 1]


def test_ratings_keep_their_labels(tmp_path):
    table = read(tmp_path, "annotator,item,dimension,label,prediction\nx,1,d,2,3\ny,1,d,3,3\n", table="ratings")
    assert list(map(float, table.frame["value"])) == [2, 3]


@pytest.mark.skipif(not TRIALS.is_dir(), reason="no shared data beside the project")
def test_the_trials_that_gave_wrong_answers():
    labelled = howsure.read(TRIALS / "pred_label.csv")
    held = pl.read_csv(TRIALS / "pred_label.csv")
    assert labelled.frame["subject"].unique().to_list() == ["pred_label"]
    assert labelled.frame["score"].mean() == (held["prediction"] == held["label"]).mean()
    braintrust = howsure.read(TRIALS / "braintrust_yesno.jsonl")
    scores = [
        json.loads(line)["scores"]["ExactMatch"]
        for line in (TRIALS / "braintrust_yesno.jsonl").read_text().splitlines()
    ]
    assert braintrust.frame["subject"].unique().to_list() == ["gpt-x"]
    assert braintrust.frame["score"].to_list() == scores
    nested = howsure.read(TRIALS / "nested2.jsonl")
    assert sorted(set(nested.frame["subject"])) == ["alpha", "beta"]
    wer = howsure.read(TRIALS / "wer.csv")
    assert set(wer.frame.select("scale", "better").rows()) == {("free", "lower")}
    eee = howsure.read(TRIALS / "eee_lower.json")
    assert dict(eee.frame.select("benchmark", "score").rows()) == {"WER": pytest.approx(0.925), "acc": 0.75}
