"""Tables as people have them: read on the first try where one reading is possible, asked about where two are."""

import csv
import json

import pandas as pd
import polars as pl
import pytest

from howsure import sources
from howsure.errors import InputError, OptionError
from howsure.evals.comparison import compare
from howsure.evals.summaries import summary
from howsure.sources.files import guess, load_mapping, save_mapping
from howsure.tables import TABLES, Attempts, Scores, printed_tables, table_choice, untidy
from howsure.tables.frames import parts_of
from howsure.tables.guesses import read_as

RIGHT = {"ann": [1, 1, 0, 1], "bob": [0, 1, 0, 0]}
MEANS = {"ann": 0.75, "bob": 0.25}


def lines(header, row, *, separator=","):
    rows = [row(model, item, right) for model in RIGHT for item, right in enumerate(RIGHT[model])]
    return "\n".join([header, *(separator.join(map(str, one)) for one in rows)]) + "\n"


def wide(write):
    head = "model," + ",".join(f"q{i}" for i in range(4))
    return "\n".join([head, *(f"{model}," + ",".join(map(write, RIGHT[model])) for model in RIGHT)]) + "\n"


# name of the file, its text, what the note says; all have the same means
UGLY = {
    "natural": ("x.csv", lines("model,sample_id,epoch,score", lambda m, i, r: (m, i, 0, r)), "in the order of epoch"),
    "semicolons, commas, mark": (
        "x.csv",
        "\ufeff" + lines("LLM;Question ID;Accuracy", lambda m, i, r: (m, i, f"{r},0"), separator=";"),
        "LLM → subject, Question ID → task, Accuracy → score; decimal commas",
    ),
    "pass and fail": (
        "x.tsv",
        lines("agent\tinstance_id\tresult", lambda m, i, r: (m, i, "PASS" if r else "Fail"), separator="\t"),
        "fail = 0, pass = 1",
    ),
    "yes and no, with blanks": (
        "x.csv",
        lines("model_name,question_id,correct", lambda m, i, r: (m, i, "Yes" if r else "no"))
        + "ann,q8,\nann,q9,N/A\nbob,q8,-\n",
        "correct → score; no = 0, yes = 1",
    ),
    "inspect letters": (
        "x.csv",
        lines("Model,id,Score", lambda m, i, r: (m, i, "C" if r else "I")),
        "c = 1, i = 0",
    ),
    "percent signs": (
        "x.csv",
        lines("model,benchmark,accuracy", lambda m, i, r: (m, i, f"{100 * r}%")),
        "benchmark → task, accuracy → score; accuracy: percentages, divided by 100",
    ),
    "percentages without signs": (
        "x.csv",
        lines("model,item,score", lambda m, i, r: (m, i, 100.0 * r)),
        "score: percentages from 0 to 100, divided by 100",
    ),
    "a column per item": ("x.csv", wide(lambda r: "TRUE" if r else "FALSE"), "columns q0, q1, q2, q3 → task"),
    "a column per model": (
        "x.csv",
        "question_id,ann,bob\n" + "".join(f"q{i},{RIGHT['ann'][i]},{RIGHT['bob'][i]}\n" for i in range(4)),
        "columns ann, bob → subject",
    ),
    "counts without items": ("x.csv", "model,n,correct\nann,4,3\nbob,4,1\n", "correct of n items"),
    "counts per item": (
        "x.csv",
        lines("model,task_id,n,correct", lambda m, i, r: (m, i, 3, 3 * r)),
        "correct → n_success",
    ),
    "an index and further columns": (
        "x.csv",
        lines(",modelName,sampleId,isCorrect,temperature", lambda m, i, r: (i, m, i, bool(r), 0.7)),
        "modelName → subject, sampleId → task, isCorrect → score",
    ),
    "seeds": (
        "x.jsonl",
        "".join(
            f'{{"llm": "{m}", "problem_id": {i}, "seed": {seed}, "passed": {str(bool(r)).lower()}}}\n'
            for m in RIGHT
            for i, r in enumerate(RIGHT[m])
            for seed in (42, 1337)
        ),
        "in the order of seed",
    ),
    "fractions without items": ("x.csv", "model,correct\nann,3/4\nbob,1 of 4\n", "correct: 3/4 read as 3 of 4"),
    "fractions, a column per benchmark": (
        "x.csv",
        "Model;GPQA;MMLU\nann;3/4;30/40\nbob;1/4;10/40\n",
        "columns GPQA, MMLU → benchmark; 3/4 read as 3 of 4",
    ),
    "fractions per item": (
        "x.csv",
        lines("model,item,passed", lambda m, i, r: (m, i, f"{5 * r}/5")) + "ann,9,n/a\n",
        "passed: 5/5 read as 5 of 5",
    ),
    "German": (
        "x.csv",
        lines("Modell;Aufgabe;richtig", lambda m, i, r: (m, i, "ja" if r else "nein"), separator=";"),
        "Modell → subject, Aufgabe → task, richtig → score; ja = 1, nein = 0",
    ),
    "French": (
        "x.csv",
        lines("Modèle;Tâche;Réussi", lambda m, i, r: (m, i, "oui" if r else "non"), separator=";"),
        "Modèle → subject, Tâche → task, Réussi → score; non = 0, oui = 1",
    ),
    "Spanish": (
        "x.csv",
        lines("modelo,tarea,correcto", lambda m, i, r: (m, i, "Sí" if r else "No")),
        "no = 0, sí = 1",
    ),
    "row numbers of pandas": (
        "x.csv",
        lines("Unnamed: 0,model,item,score", lambda m, i, r: (i, m, i, r)),
        "row numbers in Unnamed: 0 excluded",
    ),
    "blanks everywhere": (
        "x.csv",
        lines(" Model , Task Name ,Score\u200b", lambda m, i, r: (f" {m} ", f" {i}", f"{r}\u00a0")),
        "Model → subject, Task Name → task, Score → score; blanks around fields removed",
    ),
    "Markdown": (
        "x.md",
        "# Results\n\nWe ran, and ran.\n\n| model | item | score |\n|---|:-:|--:|\n"
        + "".join(f"| {m} | {i} | **{r}** |\n" for m in RIGHT for i, r in enumerate(RIGHT[m]))
        + "\nThat is all.\n",
        "fields between bars; blanks around fields removed; of score, only the number is read (**1**)",
    ),
    "empty fields at the ends of lines": (
        "x.csv",
        "model,item,score\n" + "".join(f"{m},{i},{r},,\n" for m in RIGHT for i, r in enumerate(RIGHT[m])),
        "empty fields at the ends of lines excluded",
    ),
    "lines above and below": (
        "x.csv",
        "# by us, in May\n" + lines("model,item,score", lambda m, i, r: (m, i, r)) + "\nTotal: 8 rows\nby ACME\n",
        "1 line above the header excluded; 2 lines below the table excluded",
    ),
    "an error after each score": (
        "x.csv",
        lines("model,benchmark,score", lambda m, i, r: (m, i, f"{r}.0 ± 0.1")),
        "of score, only the number is read (1.0 ± 0.1)",
    ),
    "footnotes": (
        "x.csv",
        lines("Which model?,item,score", lambda m, i, r: (m, i, f"{r}{'*' * (i == 1)}")),
        "Which model? → subject, item → task; of score, only the number is read (1*)",
    ),
    "a rule, and the header again": (
        "x.csv",
        lines("model,item,score", lambda m, i, r: (m, i, r)).replace(
            "bob,0", "model,item,score\n-----,----,-----\nbob,0"
        ),
        "2 rows of dashes or with the header again excluded",
    ),
    "single quotes": (
        "x.csv",
        lines("'model','item','score'", lambda m, i, r: (f"'{m}'", f"'{i}'", f"'{r}'")),
        "single quotes around fields removed",
    ),
    "prompts": (
        "x.csv",
        lines("model,prompt,response,score", lambda m, i, r: (m, f'"What, {i}?"', "yes", r)),
        "prompt → task",
    ),
    "models in a column without a name": (
        "x.csv",
        wide(str).replace("model,", ",", 1),
        "the column without a name → subject",
    ),
    "LaTeX": (
        "x.tex",
        "\\begin{tabular}{lcccc}\n\\toprule\n\\textbf{Model} & q0 & q1 & q2 & q3 \\\\ % names\n\\midrule\n"
        + "".join(
            f"{model} & " + " & ".join(f"$\\mathbf{{{r}}}$" for r in RIGHT[model]) + " \\\\[2pt]\n" for model in RIGHT
        )
        + "\\bottomrule\n\\end{tabular}\n",
        "the first table of a LaTeX file",
    ),
    "printed by pandas": (
        "x.txt",
        pd.DataFrame(
            [(m, f"q{i}", r) for m in RIGHT for i, r in enumerate(RIGHT[m])], columns=["llm", "item", "score"]
        ).to_string()
        + "\n\n[8 rows x 3 columns]\n",
        "fields separated by blanks; row numbers in the column without a name excluded",
    ),
    "JSON with comments": (
        "x.json",
        "// from a notebook\n[\n"
        + "".join(
            f' {{"model": "{m}", "id": {i}, "score": {r}}}, // {r}\n' for m in RIGHT for i, r in enumerate(RIGHT[m])
        )
        + "]\n",
        "comments excluded; commas before closing brackets excluded",
    ),
    "objects over several lines": (
        "x.jsonl",
        "\n".join(
            json.dumps({"model": m, "id": i, "score": r}, indent=1) for m in RIGHT for i, r in enumerate(RIGHT[m])
        ),
        "objects over several lines",
    ),
    "NaN": (
        "x.jsonl",
        "\n".join(
            json.dumps({"model": m, "id": i, "score": r})
            for m in RIGHT
            for i, r in enumerate([*RIGHT[m], float("nan")])
        ),
        "NaN read as missing (2)",
    ),
    "circles": (
        "x.csv",
        lines("model,item,result", lambda m, i, r: (m, i, "🟢" if r else "🔴")),
        "🔴 = 0, 🟢 = 1",
    ),
    "intervals in brackets": (
        "x.csv",
        lines("model,item,score", lambda m, i, r: (m, i, f'"{r}.0 [{r - 0.1:.2f}, {r + 0.1:.2f}]"')),
        "of score, only the number is read (1.0 [0.90, 1.10])",
    ),
    "objects of items": (
        "x.json",
        json.dumps({f"q{i}": {m: bool(RIGHT[m][i]) for m in RIGHT} for i in range(4)}),
        "names of objects → task; columns ann, bob → subject",
    ),
    "errors": (
        "x.csv",
        lines("model,item,verdict", lambda m, i, r: (m, i, "PASS" if r else "FAIL")) + "ann,9,ERROR\n",
        "verdict → score; fail = 0, pass = 1",
    ),
}


@pytest.mark.parametrize("form", UGLY)
def test_ugly_forms_are_read_on_the_first_try(tmp_path, form):
    name, text, says = UGLY[form]
    (tmp_path / name).write_text(text, encoding="utf-8")
    table = sources.read(tmp_path / name, wanted="attempts")
    assert {row.subject: row.mean.value for row in summary(table.counted, by="all").rows} == pytest.approx(MEANS)
    assert table.notes[0].startswith("read as: ")
    assert says in table.notes[0]


def test_the_command_says_what_it_assumed(tmp_path, command):
    (tmp_path / "x.csv").write_text(UGLY["inspect letters"][1])
    told = command("summary", tmp_path / "x.csv")
    assert told.returncode == 0
    assert "note: read as: Model → subject, id → task, Score → score; c = 1, i = 0" in told.stderr


def test_a_table_with_our_names_is_read_without_a_word(tmp_path):
    (tmp_path / "x.csv").write_text("subject,task,score,prompt\na,t,1,long\n")
    table = sources.read(tmp_path / "x.csv")
    assert table.notes == ()
    assert table.config == ["prompt"]


def test_games_of_track_the_stat_are_sent_to_their_own_verb(tmp_path):
    columns = "model,solver,variant,setting,seed,attempt,length,max_length,ended_by"
    (tmp_path / "samples.csv").write_text(f"{columns}\nm,direct,median,standard,0,1,40,23,error\n")
    for read in (sources.read, summary, compare):
        with pytest.raises(InputError, match=r"samples\.csv: holds games of Track the Stat\. howsure track report"):
            read(tmp_path / "samples.csv")


def test_frames_go_the_same_way(tmp_path):
    frame = pl.DataFrame(
        {"llm": ["a", "a", "b", "b"], "item_id": [1, 2, 1, 2], "is_correct": ["yes", "no", "no", "no"]}
    )
    rows = [summary(given).to_frame() for given in (frame, frame.lazy(), frame.to_pandas(), frame.to_arrow())]
    assert all(one.equals(rows[0]) for one in rows)
    assert Attempts.of(frame).notes == ("read as: llm → subject, item_id → task, is_correct → score; no = 0, yes = 1.",)
    assert compare(pd.DataFrame(frame.to_dicts())).pairs[0].difference.value == 0.5


def test_a_wide_table_has_no_columns_of_ours_that_nobody_gave(tmp_path):
    (tmp_path / "x.csv").write_text("model,q1,q2\na,1,\nb,0,1\n")
    table = sources.read(tmp_path / "x.csv", wanted="attempts")
    assert set(table.frame.columns) == {"subject", "kind", "task", "attempt", "score"}
    assert len(table.notes) == 1


def test_a_column_per_benchmark_is_a_table_of_scores(tmp_path):
    text = "model,release_date,GSM8K,MMLU,avg\nann,2024-05-13,92.1,88.7,90.4\nbob,2024-03-04,95.0,-,95\n"
    (tmp_path / "x.csv").write_text(text)
    table = sources.read(tmp_path / "x.csv", wanted="scores")
    assert isinstance(table, Scores)
    assert table.frame.select("model", "benchmark", "score").rows() == [
        ("ann", "GSM8K", pytest.approx(0.921)),
        ("ann", "MMLU", pytest.approx(0.887)),
        ("bob", "GSM8K", pytest.approx(0.95)),
    ]
    assert "not read as scores: avg; 1 blank excluded" in table.notes[0]


def test_what_a_wide_table_says_of_its_benchmarks_is_no_model(tmp_path):
    (tmp_path / "x.csv").write_text("benchmark,is_coding,gpt,claude\nA,TRUE,0.5,0.6\nB,FALSE,0.4,0.3\n")
    table = sources.read(tmp_path / "x.csv", wanted="scores")
    assert set(table.frame["model"]) == {"gpt", "claude"}
    assert "not read as scores: is_coding" in table.notes[0]


@pytest.mark.parametrize(
    "text", ["model,task,score\na,t,1\nb,t,0\n", "model,q1,q2\na,1,0\nb,1,1\n", "model,n,correct\na,9,3\n"]
)
def test_reading_without_a_verb_takes_what_summary_takes(tmp_path, text):
    (tmp_path / "x.csv").write_text(text)
    table = sources.read(tmp_path / "x.csv")
    assert table.frame.equals(sources.read(tmp_path / "x.csv", wanted="attempts").frame)
    assert ("--table scores" in table.notes[0]) == ("n,correct" not in text)
    if "n,correct" not in text:
        assert isinstance(sources.read(tmp_path / "x.csv", table="scores"), Scores)


def test_a_grade_out_of_ten_is_no_count_of_attempts(tmp_path):
    """As counts, the grades of three items would weigh as thirty attempts."""
    (tmp_path / "x.csv").write_text("model,item,score\na,q1,7/10\na,q2,8/10\na,q3,9/10\n")
    table = sources.read(tmp_path / "x.csv")
    assert table.frame["score"].to_list() == [0.7, 0.8, 0.9]
    assert "n" not in table.frame.columns or table.frame["n"].null_count() == 3
    assert "7/10 read as 0.7, one score" in table.notes[0]


@pytest.mark.parametrize("value", ["11/10", "3/0", "1/2/2024"])
def test_what_is_no_share_is_no_fraction(tmp_path, value):
    (tmp_path / "x.csv").write_text(f"model,item,score\na,q1,7/10\na,q2,{value}\n")
    with pytest.raises(InputError, match=rf"x\.csv line 2: score 7/10 is not a number .* line 3 \({value}\)"):
        sources.read(tmp_path / "x.csv", wanted="attempts")


def test_a_file_without_models_may_be_named_after_one(tmp_path):
    for name, right in RIGHT.items():
        text = "id,correct\n" + "".join(f"{i},{r}\n" for i, r in enumerate(right))
        (tmp_path / f"{name}.csv").write_text(text)
    table = sources.read(tmp_path)
    assert {row.subject: row.mean.value for row in summary(table).rows} == MEANS
    assert any("subject = ann, the name of the file" in note for note in table.notes)


@pytest.mark.parametrize("tail", ["ann\n", "\nann,q8\n"])
def test_a_last_row_that_was_cut_off_is_no_line_below_the_table(tmp_path, tail):
    (tmp_path / "x.csv").write_text("model,item,score\nann,q1,1\n" + tail)
    with pytest.raises(InputError, match=r"x\.csv line [34]: [12] fields where the header has 3"):
        sources.read(tmp_path / "x.csv")


def test_a_line_is_named_after_rows_were_left_out(tmp_path):
    (tmp_path / "x.csv").write_text("# us, in May\nmodel,item,score\n---,---,---\nann,q1,1\nann,q2,seven\n")
    with pytest.raises(InputError, match=r"x\.csv line 5: score seven is not a number"):
        sources.read(tmp_path / "x.csv")


def test_a_column_that_nobody_needs_does_not_stop_the_reading(tmp_path):
    text = "model,item,score,timestamp,cost\na,q1,1,03/05/2024 10:22,$0.03\na,q2,0,04/05/2024 11:00,$1.20\n"
    (tmp_path / "x.csv").write_text(text)
    table = sources.read(tmp_path / "x.csv")
    assert not {"date", "timestamp", "cost"} & {*table.frame.columns}
    assert "timestamp is not read (03/05/2024 10:22 is no date such as 2025-01-31)" in table.notes[0]
    assert "cost is not read ($0.03 is no number)" in table.notes[0]
    (tmp_path / "x.csv").write_text(text.replace("$0.03", "0.03"))  # one wrong value is a fault, which is named
    with pytest.raises(InputError, match=r"x\.csv line 3: cost \$1\.20 is not a number"):
        sources.read(tmp_path / "x.csv")


def test_row_numbers_are_no_configuration(tmp_path):
    pd.DataFrame({"model": ["a", "b"], "item": ["q", "q"], "score": [1, 0]}, index=[3, 7]).to_csv(tmp_path / "x.csv")
    table = sources.read(tmp_path / "x.csv")
    assert isinstance(table, Attempts)
    assert not [name for name in table.config if name != "log"]


def test_standard_errors_are_on_the_scale_of_their_scores(tmp_path):
    (tmp_path / "x.csv").write_text("model,dataset,accuracy,stderr\na,b,87.5%,1.5%\na,c,60%,n/a\n")
    table = sources.read(tmp_path / "x.csv", wanted="scores")
    assert table.frame["se"].to_list() == [pytest.approx(0.015), None]


def test_a_share_beside_n_gives_the_successes(tmp_path):
    (tmp_path / "x.csv").write_text("model,task,n,accuracy\na,t,3,0.333\nb,t,3,66.7%\n".replace("66.7%", "0.667"))
    assert sources.read(tmp_path / "x.csv", wanted="attempts").frame["n_success"].to_list() == [1, 2]


def test_wrong_values_are_still_named_with_their_lines(tmp_path):
    (tmp_path / "x.csv").write_text("model;item;correct\na;1;yes\na;2;\na;3;maybe\n")
    with pytest.raises(InputError, match=r"x\.csv line 4: score maybe is not a number"):
        sources.read(tmp_path / "x.csv")
    (tmp_path / "x.csv").write_text("subject,task,score\na,1,0.5\na,2,\na,3,0.7\na,4,62\n")
    with pytest.raises(InputError, match=r"x\.csv line 5: score 62"):
        sources.read(tmp_path / "x.csv")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("model,item,score\na,1,3\na,2,8\n", {}, "score goes from 3 to 8. Pass divide_by=100, divide_by"),
        ("model,accuracy,f1\na,0.5,0.6\n", {}, "'accuracy' or 'f1' could be score"),
        ('model;item;score\na;1;"1,234"\n'.replace(";", ","), {}, "a decimal comma or a comma for thousands"),
        ("model,item,score\na,1,87%\na,2,0.4\n", {}, "1 of 2 values have a % sign"),
        ("model,g,m\na,90,0.5\nb,80,0.6\n", {"wanted": "attempts"}, "g look like percentages, but m"),
        ("model,q1,q2\na,P,N\n", {"wanted": "attempts"}, "positive and negative"),
        (
            "who,what\na,b\n",
            {"wanted": "attempts"},
            r"attempts needs subject, task, score; .*The columns are: who, what",
        ),
    ],
)
def test_where_two_readings_are_possible_the_user_is_asked(tmp_path, text, options, message):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        sources.read(tmp_path / "x.csv", **options)
    assert "\n" not in str(caught.value)


def test_scores_of_any_size_need_a_direction_that_is_known_or_said(tmp_path):
    text = "model,item,{}\na,1,30\na,2,812\nb,1,10\nb,2,400\n"
    (tmp_path / "x.csv").write_text(text.format("latency_ms"))
    table = sources.read(tmp_path / "x.csv", wanted="attempts")
    assert set(table.frame["better"]) == {"lower"}
    assert set(table.frame["scale"]) == {"free"}
    row = compare(table).pairs[0]
    assert row.difference.value == pytest.approx(216)
    assert row.estimand == "mean of item means (lower is better)"
    (tmp_path / "y.csv").write_text(text.format("score"))
    told = sources.read(tmp_path / "y.csv", better="higher")
    assert told.notes == ("read as: model → subject, item → task; score as it is, higher is better.",)
    assert summary(told).rows[0].mean.value == pytest.approx(421)


def test_a_guess_can_be_changed_and_saved(tmp_path):
    (tmp_path / "x.csv").write_text("model,id,question_id,acc,f1\na,1,q1,50%,0.1\na,2,q2,75%,0.2\n")
    with pytest.raises(InputError, match="'acc' or 'f1' could be score"):
        sources.read(tmp_path / "x.csv", wanted="attempts")
    found = guess([tmp_path / "x.csv"], wanted="attempts", rename={"score": "acc"})
    assert found.rename == {"subject": "model", "task": "question_id", "score": "acc"}
    mapping = save_mapping(
        tmp_path / "m.yaml", table="attempts", rename=found.rename, fill=found.fill, divide_by=found.divide_by
    )
    assert load_mapping(mapping).divide_by == 100
    table = sources.read(tmp_path / "x.csv", mapping=mapping)
    assert table.frame["score"].to_list() == [0.5, 0.75]


def test_each_column_can_be_said_to_be_a_task(tmp_path):
    (tmp_path / "x.csv").write_text("model,accuracy,f1\na,0.5,0.6\nb,0.7,0.8\n")
    table = sources.read(tmp_path / "x.csv", table="attempts", rename={"task": "*"})
    assert table.frame["task"].to_list() == ["accuracy", "f1"] * 2


def test_several_pairs_fit_in_one_option(tmp_path, command):
    (tmp_path / "x.csv").write_text("a,b,c,d\nm,1,0.5,9\nn,1,0.7,9\n")
    told = command("summary", tmp_path / "x.csv", "--map", "subject=a,task=b,score=c")
    assert told.returncode == 0, told.stderr
    saved = command(
        "convert",
        tmp_path / "x.csv",
        tmp_path / "y.csv",
        "--map",
        "subject=a,task=b,score=c",
        "--save-mapping",
        tmp_path / "m.yaml",
    )
    assert saved.returncode == 0, saved.stderr
    assert load_mapping(tmp_path / "m.yaml").rename == {"subject": "a", "task": "b", "score": "c"}


def test_an_unknown_column_of_ours_is_refused(tmp_path):
    (tmp_path / "x.csv").write_text("model,item,score\na,1,1\n")
    with pytest.raises(OptionError, match="No column of Attempts called 'scor'"):
        sources.read(tmp_path / "x.csv", wanted="attempts", rename={"scor": "score"})


def test_a_table_in_which_every_score_is_blank_is_not_called_empty(tmp_path):
    (tmp_path / "x.csv").write_text("model,item,score\na,1,nan\na,2,n/a\n")
    with pytest.raises(InputError, match="none of the 2 rows has a score"):
        sources.read(tmp_path / "x.csv", wanted="attempts")


NATURAL = lines("model,item,score", lambda m, i, r: (m, f"q{i}", r))
SPREADSHEETS = {
    "separator named": (
        ("sep=;\n" + NATURAL.replace(",", ";")).encode(),
        "fields separated by ';', as the first line says",
    ),
    "titles": (("Results of May\n\n" + NATURAL).encode(), "1 line above the header excluded"),
    "titles with empty fields": (("Results,,\nby Ann,,\n,,\n" + NATURAL).encode(), "2 lines above the header excluded"),
    "empty columns and rows": ((NATURAL.replace("\n", ",,\n") + ",,,,\n").encode(), "2 empty columns excluded"),
    "unicode text": (NATURAL.replace(",", "\t").encode("utf-16"), "UTF-16"),
}


@pytest.mark.parametrize("name", SPREADSHEETS)
def test_what_spreadsheets_write_is_read_and_said(tmp_path, name):
    data, note = SPREADSHEETS[name]
    (tmp_path / "x.csv").write_bytes(data)
    table = sources.read(tmp_path / "x.csv", wanted="attempts")
    assert {row.subject: row.mean.value for row in summary(table).rows} == MEANS
    assert note in " ".join(table.notes)


def test_lines_are_counted_from_the_top_of_the_file(tmp_path):
    (tmp_path / "x.csv").write_text("Results of May\n\n" + NATURAL + "ann,q9,maybe\n")
    with pytest.raises(InputError, match=r"x\.csv line 12: score maybe"):
        sources.read(tmp_path / "x.csv", wanted="attempts")
    (tmp_path / "x.csv").write_text("Results of May\n\n" + NATURAL + "ann,q9\n")
    with pytest.raises(InputError, match=r"x\.csv line 12: 2 fields where the header has 3"):
        sources.read(tmp_path / "x.csv", wanted="attempts")


def test_a_header_with_one_name_is_no_title(tmp_path):
    (tmp_path / "x.csv").write_text(",q1\na,1\nb,0\n")
    assert sources.read(tmp_path / "x.csv").frame["subject"].to_list() == ["a", "b"]
    (tmp_path / "x.csv").write_text("model,\na,1\nb,0\n")
    with pytest.raises(InputError, match="The columns are: model"):
        sources.read(tmp_path / "x.csv", wanted="attempts")


def test_a_list_of_objects_is_read(tmp_path):
    frame = pd.DataFrame(
        [(m, f"q{i}", r) for m in RIGHT for i, r in enumerate(RIGHT[m])], columns=["llm", "id", "passed"]
    )
    frame.to_json(tmp_path / "x.json", orient="records")
    table = sources.read(tmp_path / "x.json", wanted="attempts")
    assert {row.subject: row.mean.value for row in summary(table).rows} == MEANS
    (tmp_path / "x.json").write_text('[{"llm": "a"}, 3]')
    with pytest.raises(InputError, match="element 2 of the list is not an object"):
        sources.read(tmp_path / "x.json", wanted="attempts")


def test_the_second_header_of_a_pivot_table_is_not_a_model(tmp_path):
    """Read as it stands, the items would be the models and the models the items."""
    (tmp_path / "x.csv").write_text("model,gpt,claude\nitem,,\nq1,1,0\nq2,0,1\n")
    with pytest.raises(InputError, match="second row of names"):
        sources.read(tmp_path / "x.csv", wanted="attempts")


def test_rows_per_item_of_several_benchmarks_are_attempts_with_the_benchmark_as_eval(tmp_path):
    # the same item numbers in two benchmarks are different items
    rows = [f"{model},{bank},0.7,{item},10,{item % 3}" for model in "ab" for bank in ("x", "y") for item in range(4)]
    path = tmp_path / "counts.csv"
    path.write_text("\n".join(["model,benchmark_id,temperature,example_id,count,correct", *rows]) + "\n")
    found = sources.read(path)
    assert isinstance(found, Attempts)
    assert found.frame.select("domain", "task").n_unique() == 8
    assert summary(found, by="domain").to_frame()["n_items"].to_list() == [4] * 4


def test_hundreds_of_columns_are_read_as_few_are(tmp_path, monkeypatch):
    written = ["1", "0", "yes", "no", "0,5", "n/a", "", "✓", "0.87"]
    names = [f"q{i}" for i in range(120)]
    rows = [[m, *(written[8] if i % 9 == 8 else written[(i + k) % 8] for i in range(120))] for k, m in enumerate("abc")]
    (tmp_path / "x.tsv").write_text("\n".join("\t".join(row) for row in [["model", *names], *rows]))
    many = sources.read(tmp_path / "x.tsv", table="attempts")
    for module in (table_choice, untidy):
        monkeypatch.setattr(module, "MANY_COLUMNS", 10**6)
    few = sources.read(tmp_path / "x.tsv", table="attempts")
    assert many.frame.equals(few.frame)
    assert many.notes == few.notes
    kept = [name for name in names if name in set(many.frame["task"])]
    assert many.frame.filter(subject="a")["task"].to_list() == [
        n for n in kept if rows[0][names.index(n) + 1] not in ("", "n/a")
    ]
    assert many.frame.filter(subject="a", task="q8")["score"].to_list() == [0.87]


def test_a_small_percentage_beside_large_ones_is_a_percentage(tmp_path):
    (tmp_path / "x.csv").write_text("model,MMLU,GPQA\na,87.5,50\nb,77.25,40\n")
    table = sources.read(tmp_path / "x.csv", table="scores")
    assert table.frame["score"].to_list() == [0.875, 0.5, 0.7725, 0.4]
    assert "percentages divided by 100" in table.notes[0]


def test_a_row_that_sums_up_the_others_is_no_model(tmp_path):
    (tmp_path / "x.csv").write_text("model,mmlu,gpqa\na,0.8,0.5\nb,0.7,\nAverage,0.75,0.5\n")
    account = sources.account(tmp_path / "x.csv", table="attempts")
    assert (account.n_read, account.n_used, account.n_unexplained) == (6, 3, 0)
    assert account.left_out == {"no score": 1, "of a row that sums up the others": 2}
    assert "row Average, which summarises the other rows, excluded" in account.notes[0]


def test_one_column_of_scores_beside_names_is_no_wide_table(tmp_path):
    (tmp_path / "x.csv").write_text("Who?,Instance #,Got it right\na,q1,1\nb,q1,0\n")
    with pytest.raises(InputError, match="there is no column for 'subject'"):
        sources.read(tmp_path / "x.csv", table="attempts")


def test_a_copy_of_a_file_and_the_file_with_two_scores_are_named(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("model,item,score\na,q1,1\na,q2,0\n")
    (copied,) = [note for note in sources.read(tmp_path).notes if "same content" in note]
    assert copied.startswith(f"{tmp_path / 'b.csv'} has the same content as {tmp_path / 'a.csv'};")
    (tmp_path / "c.csv").write_text("model,item,exact_match,f1\na,q1,1,0.5\n")
    with pytest.raises(InputError, match=r"c\.csv: 'exact_match' or 'f1' could be score"):
        sources.read(tmp_path / "c.csv")


# columns that are not one variable each


def read_text(tmp_path, text, name="x.csv"):
    path = tmp_path / name
    path.write_text(text)
    assert sources.account(path).n_unexplained == 0
    return sources.read(path)


def test_numbers_of_successes_and_failures_are_counts(tmp_path):
    table = read_text(tmp_path, 'model,task,Passed,Failed,Skipped\na,t1,"1,012",8,3\na,t2,0,20,0\n')
    assert table.frame.select("n", "n_success").rows() == [(1020, 1012), (20, 0)]
    assert "Passed of Passed + Failed → n_success of n" in table.notes[0]


def test_marks_for_passed_and_failed_are_no_counts(tmp_path):
    table = read_text(tmp_path, "model,task,passed,failed\na,t1,1,0\na,t2,0,1\n")
    assert table.frame["score"].to_list() == [1, 0]
    assert "n" not in table.frame.columns


def test_failures_that_are_no_whole_numbers_are_not_added(tmp_path):
    with pytest.raises(InputError, match="passed goes from 3 to 4"):
        read_text(tmp_path, "model,task,passed,failed\na,t1,3,0.5\na,t2,4,1\n")


@pytest.mark.parametrize(("names", "attempts"), [("seed_0,seed_1", [1, 2]), ("run 1,run 2", [1, 2])])
def test_a_column_per_seed_or_run_is_a_row_per_attempt(tmp_path, names, attempts):
    table = read_text(tmp_path, f"model,task,{names}\na,t1,1,0\na,t2,,1\n")
    assert table.frame.select("task", "attempt", "score").rows() == [("t1", 1, 1), ("t1", 2, 0), ("t2", 1, 1)]
    assert "→ attempt, with their values as score" in table.notes[0]
    assert "1 blank excluded" in table.notes[0]


def test_a_column_per_dimension_is_a_row_per_rating(tmp_path):
    table = read_text(tmp_path, "annotator,item,clarity,accuracy,comment\nr1,i1,4,2,good\nr2,i1,5,1,\n")
    assert table.frame.select("rater", "item", "dimension", "value").rows() == [
        ("r1", "i1", "clarity", 4),
        ("r1", "i1", "accuracy", 2),
        ("r2", "i1", "clarity", 5),
        ("r2", "i1", "accuracy", 1),
    ]


def test_percent_signs_that_some_numbers_lack_are_added_unless_they_are_shares(tmp_path):
    table = read_text(tmp_path, "model,benchmark,score\na,x,88.5%\nb,x,82\nc,x,90 %\n")
    assert table.frame["score"].to_list() == pytest.approx([0.885, 0.82, 0.9])
    with pytest.raises(InputError, match="2 of 3 values have a % sign"):
        read_text(tmp_path, "model,benchmark,score\na,x,88.5%\nb,x,0.82\nc,x,90 %\n")


def test_an_id_beside_the_question_is_the_item(tmp_path):
    table = read_text(tmp_path, "id,question,answer,correct\n1,why?,so,1\n2,how?,no,0\n")
    assert table.frame["task"].to_list() == ["1", "2"]


def test_objects_in_the_place_of_scores_and_models_are_opened(tmp_path):
    rows = [
        {"model": {"name": m, "size": 7}, "id": i, "grade": {"correct": i < 2, "why": "x"}}
        for m in "ab"
        for i in (1, 2)
    ]
    table = read_text(tmp_path, "\n".join(map(json.dumps, rows)), "x.jsonl")
    assert table.frame.select("subject", "score").rows() == [("a", 1), ("a", 0), ("b", 1), ("b", 0)]
    assert "grade.correct → grade" in table.notes[0]


def test_runs_with_their_rows_inside_are_one_table(tmp_path):
    runs = [{"model": m, "run": 7, "results": [{"id": i, "pass": i < 2} for i in (1, 2)]} for m in "ab"]
    table = read_text(tmp_path, json.dumps(runs), "x.json")
    assert table.frame.select("subject", "task", "score").rows() == [
        ("a", "1", 1),
        ("a", "2", 0),
        ("b", "1", 1),
        ("b", "2", 0),
    ]
    wrapped = {
        "metadata": {"date": "2025-01-01", "by": "us"},
        "results": {m: {"t": {"score": 1}, "u": {"score": 0}} for m in "ab"},
    }
    table = read_text(tmp_path, json.dumps(wrapped), "y.json")
    assert table.frame.select("subject", "task", "score").rows() == [
        ("a", "t", 1),
        ("a", "u", 0),
        ("b", "t", 1),
        ("b", "u", 0),
    ]


def test_names_written_as_numbers_and_as_texts_are_said(tmp_path):
    rows = [{"subject": s, "task": f"t{i}", "score": i} for s in (1, "1", 2) for i in (0, 1)]
    table = read_text(tmp_path, "\n".join(map(json.dumps, rows)), "x.jsonl")
    assert 'subject 1 and "1" are read as one' in table.notes[0]
    table = read_text(tmp_path, "\n".join(map(json.dumps, rows[:2] + rows[4:])), "y.jsonl")
    assert not any("read as one" in note for note in table.notes)


PAGE = """<html><style>td {color: red}</style><table><tr><td>menu</td></tr></table>
<table class="dataframe"><thead><tr><th></th><th>model</th><th>item</th><th>correct</th></tr></thead>
<tr><th>0</th><td rowspan="2"><b>ann</b><sup>1</sup></td><td>q&amp;1</td><td>yes</td></tr><tr><th>1</th><td>q2<td>no</tr>
<tr><th>2</th><td>bob</td><td>q&amp;1</td><td>no</td></tr></table><table><tr><td>x</td><td>y</td></tr></table></html>"""


def test_a_table_of_a_web_page_is_read(tmp_path):
    (tmp_path / "page.html").write_text(PAGE)
    table = sources.read(tmp_path / "page.html")
    assert table.frame.select("subject", "task", "score").rows() == [
        ("ann", "q&1", 1),
        ("ann", "q2", 0),
        ("bob", "q&1", 0),
    ]
    assert "the first table of a web page" in table.notes[0]
    bomb = "<table><tr>" + "<td rowspan=1000 colspan=1000>x</td>" * 50 + "</tr></table>"
    for text in ("<html>sign in", "<table><tr><td>a<td>b</table>", bomb, "<table>" * 5000):
        (tmp_path / "page.html").write_text(text)
        with pytest.raises(InputError, match="page.html"):
            sources.read(tmp_path / "page.html")


def test_elo_ratings_are_scores_as_they_are_unless_benchmarks_stand_beside_them(tmp_path):
    path = tmp_path / "arena.csv"
    path.write_text("Rank,Model,Arena Elo,Votes\n1,ann,1285,20000\n2,bob,1150,900\n")
    table = sources.read(path)
    assert table.frame.select("subject", "task", "score", "scale").rows() == [
        ("ann", "Arena Elo", 1285, "free"),
        ("bob", "Arena Elo", 1150, "free"),
    ]
    assert "task = Arena Elo, one score per subject; Arena Elo as it is, higher is better" in table.notes[0]
    path.write_text("Model,MMLU,Elo\nann,81.5,1285\nbob,70.2,1150\n")
    assert sources.read(path).frame["task"].unique().to_list() == ["MMLU"]
    path.write_text("model,accuracy\nann,0.5\nann,0.6\n")  # two scores, and nothing says of what
    with pytest.raises(InputError, match="no column for 'task'"):
        sources.read(path)


@pytest.mark.parametrize("name", ["judge_score", "rating"])
def test_grades_in_whole_numbers_up_to_ten_are_read_as_they_are(tmp_path, name):
    path = tmp_path / "judged.csv"
    path.write_text(f"model,item,{name}\nann,1,7\nann,2,10\nbob,1,1\nbob,2,4\n")
    table = sources.read(path)
    assert table.frame["score"].to_list() == [7, 10, 1, 4]
    assert f"{name} as it is, higher is better" in table.notes[0]
    path.write_text(f"model,item,{name}\nann,1,72.5\nann,2,90\nbob,1,15\nbob,2,41\n")
    assert sources.read(path).frame["score"].to_list() == pytest.approx([0.725, 0.9, 0.15, 0.41])


def test_words_in_the_place_of_a_verdict_say_what_became_of_the_attempt(tmp_path):
    path = tmp_path / "verdicts.csv"
    path.write_text("model,item,verdict\nann,1,Correct\nann,2,Refused\nbob,1,NOT_ATTEMPTED\nbob,2,timeout\nbob,3,n/a\n")
    table = sources.read(path)
    assert table.frame.select("score", "outcome", "reason").rows() == [
        (1, "scored", None),
        (None, "refused", "Refused"),
        (0, "scored", None),
        (None, "errored", "timeout"),
        (None, "unscored", "blank"),
    ]
    assert "correct = 1, not_attempted = 0" in table.notes[0]
    assert "3 of 5 attempts have no score: 1 errored, 1 refused, 1 unscored." in table.notes
    assert sources.account(path).n_left_out == sources.account(path).n_unexplained == 0


def test_a_total_below_a_long_table_is_left_out_and_counted(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("Modell;Aufgabe;Punkte\nann;1;0,5\nbob;1;1,0\nGesamt;;0,75\n")
    table = sources.read(path)
    assert table.frame["subject"].to_list() == ["ann", "bob"]
    assert "1 row that sums up the others excluded" in table.notes[0]
    account = sources.account(path)
    assert (account.n_left_out, account.n_unexplained) == (1, 0)


def test_many_columns_are_looked_at_as_one_column_of_values(tmp_path, monkeypatch):
    path, n = tmp_path / "wide.csv", 300
    names = ",".join(f"item {i}" for i in range(n))
    path.write_text(f"model,{names}\nann,{', '.join(['1'] * n)}\nbob,{','.join(['0'] * n)}\n")
    looked = []
    text_of = untidy.text_of
    monkeypatch.setattr(untidy, "text_of", lambda name: looked.append(name) or text_of(name))
    table = sources.read(path)
    assert table.frame.group_by("subject").agg(pl.len(), pl.mean("score")).sort("subject").rows() == [
        ("ann", n, 1.0),
        ("bob", n, 0.0),
    ]
    assert "blanks around fields removed" in table.notes[0]
    assert len(looked) < n  # not some for each column: 20,000 columns took minutes


@pytest.mark.parametrize(
    ("text", "columns", "rows"),
    [
        (
            "Model,MMLU,,GSM8K,\n,acc,stderr,acc,stderr\nann,0.8,0.01,0.9,0.02\n",
            ["subject", "task", "score", "stderr"],
            [("ann", "MMLU", 0.8, "0.01"), ("ann", "GSM8K", 0.9, "0.02")],
        ),
        (
            ",mmlu,mmlu,gsm8k\n,zero,five,five\nllm,,,\nann,0.8,0.85,0.9\n",
            ["subject", "task", "score"],
            [("ann", "mmlu zero", 0.8), ("ann", "mmlu five", 0.85), ("ann", "gsm8k five", 0.9)],
        ),
    ],
)
def test_two_rows_of_names_are_read_as_one(tmp_path, text, columns, rows):
    (tmp_path / "levels.csv").write_text(text)
    table = sources.read(tmp_path / "levels.csv")
    assert table.frame.select(columns).rows() == rows
    assert "two rows of names read as one" in table.notes[0]


@pytest.mark.parametrize(
    "text",
    [
        "model,mmlu,mmlu\nann,0.8,0.9\nbob,0.7,0.6\n",  # a name that is there twice
        "model,mmlu,mmlu\n,acc,ci_low\nann,0.8,0.7\n" + "bob,0.8,x\n",
        "model,a,a\n,stderr,n\nann,0.1,20\n",  # no score among them
        "model,a,a\n,acc,n\nann,0.1,20\nbob,0.1,20,30,40\n",
        "model,a,a\n,acc,n\nann,0.1\n",
    ],
)
def test_what_only_looks_like_two_rows_of_names_is_refused(tmp_path, text):
    (tmp_path / "levels.csv").write_text(text)
    with pytest.raises(InputError):
        sources.read(tmp_path / "levels.csv")


@pytest.mark.parametrize(
    "text", ["model,item,verdict\na,1,C\na,2,ERROR\na,3,\nb,1,I\n", "model,q1,q2\na,1,error\nb,,0\n"]
)
def test_errors_among_verdicts_are_attempts_and_an_empty_cell_of_a_wide_table_is_none(tmp_path, text):
    path = tmp_path / "x.csv"
    path.write_text(text)
    account, is_wide = sources.account(path), "q1" in text
    assert (account.n_used, dict(account.left_out)) == ((3, {"no score": 1}) if is_wide else (4, {}))
    assert account.n_unexplained == 0
    wrong = sources.read(path, count="errored=wrong")
    assert wrong.frame.filter(subject="a", outcome="errored")["reason"].str.to_lowercase().to_list() == ["error"]
    assert wrong.counted.frame.filter(subject="a")["score"].to_list() == [1.0, 0.0]


def test_rewards_below_zero_are_no_shares_with_mistakes(tmp_path):
    (tmp_path / "x.csv").write_text("model,task,reward\na,t1,-1.5\na,t2,2.0\nb,t1,0.5\nb,t2,-0.2\n")
    table = sources.read(tmp_path / "x.csv")
    assert table.frame["score"].to_list() == [-1.5, 2.0, 0.5, -0.2]
    assert "reward as it is, higher is better" in table.notes[0]


@pytest.mark.parametrize(
    ("cell", "read"),
    [
        (r"\multirow{2}{*}{\textbf{A}}", "A"),
        (r"\underline{{\bf 88.7}}", "88.7"),
        (r"88.7\,$\pm$\,0.3", "88.7 ± 0.3"),
        (r"88.7\textsuperscript{a}", "88.7"),
        (r"12\%", "12%"),
        (r"\frac{1}{2}", r"\frac{1}{2}"),  # unknown commands stay, so that the cell is no number
    ],
)
def test_cells_of_latex(cell, read):
    table = printed_tables.latex_table(rf"\begin{{tabular}}{{ll}} {cell} & x \\ \end{{tabular}}".encode()).decode()
    assert next(csv.reader([table.splitlines()[0]]))[0] == read


@pytest.mark.parametrize(
    "text", ["\\begin{tabular}{l}" * 20_000, "{" + "/*" * 20_000, "[{" + ", " * 50_000, "\n" * 50_000]
)
def test_texts_that_make_patterns_slow_are_read_quickly(tmp_path, text):
    for ending in ("tex", "json", "jsonl", "txt"):
        (tmp_path / f"x.{ending}").write_text(text)
        with pytest.raises(InputError):
            sources.read(tmp_path / f"x.{ending}")


# tables in which nothing has to be guessed

OWN = {
    "attempts": "subject,task,score,date\na,q1,1,2025-01-01\na,q2,0.5,\nb,q1,true,2025-01-02\n",
    "scores": "model,benchmark,score,se,floor\na,x,0.5,0.1,0.25\na,y,0.25,,\n",
    "ratings": "rater,item,dimension,value\nann,1,tone,4\nbob,1,tone,5\n",
    "categories": "rater,item,dimension,value\nann,1,tone,good\nbob,1,tone,n/a\n",
    "votes": "voter,item,a,b,outcome\nann,1,x,y,a\nbob,1,x,y,tie\n",
}


@pytest.mark.parametrize("name", OWN)
def test_a_table_with_our_columns_is_read_as_it_stands_and_as_by_guessing(tmp_path, name):
    (tmp_path / "x.csv").write_text(OWN[name])
    parts = parts_of(tmp_path / "x.csv")
    found = [made for made in (table.as_it_stands(parts) for table in TABLES.values()) if made]
    guessed = read_as(*parts)
    assert [type(made) for made in found] == [guessed.table]
    assert found[0].frame.equals(guessed.table([guessed.part]).frame)
    assert not guessed.says
    assert found[0].digest == sources.read(tmp_path / "x.csv").digest


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("subject,task,score\nsubject,task,score\na,q1,1\n", "the header again"),
        ("rater,item,dimension,value\n---,---,---,---\nann,1,tone,good\n", "row of dashes"),
        ("rater,item,dimension,value\nrater,item,dimension,value\nann,1,tone,good\n", "the header again"),
        ("subject,task,score\na\u200b,q1,1\nb,q1,0\n", "blanks around fields removed"),
        ("subject,task,epoch,score\na,q1,0,1\na,q1,1,0\n", "in the order of epoch"),
        ("subject,task,score\na,q1,50%\na,q2,75%\n", "divided by 100"),
        ("subject,task,score\na,q1,1\nb,q1,n/a\n", ""),
        ("subject,task,score\na,q1,1\nb,q1,timeout\n", ""),
        ("subject,task,score,n\na,q1,0.5,10\nb,q1,0.25,4\n", "n_success"),
        ("subject,task,score,Release date\na,q1,1,2025-01-01\n", "Release date → date"),
    ],
)
def test_what_has_to_be_guessed_is_not_read_as_it_stands(tmp_path, text, says):
    (tmp_path / "x.csv").write_text(text)
    assert not any(table.as_it_stands(parts_of(tmp_path / "x.csv")) for table in TABLES.values())
    assert says in " ".join(sources.read(tmp_path / "x.csv").notes)


@pytest.mark.parametrize("subject", ["subject", "Model"])
def test_files_that_need_mending_are_mended_also_under_our_names(tmp_path, subject):
    (tmp_path / "ends.csv").write_text(f"{subject},task,attempt,score\na,t1,1,1,\na,t2,1,0,\n")
    (tmp_path / "quote.csv").write_text(f'{subject},task,score\na,5" pipe,1\nb,t,0\n')
    ends = sources.read(tmp_path / "ends.csv")
    assert ends.frame["score"].to_list() == [1, 0]
    assert "empty fields at the ends of lines excluded" in " ".join(ends.notes)
    assert sources.read(tmp_path / "quote.csv").frame["task"].to_list() == ['5" pipe', "t"]


@pytest.mark.parametrize(
    ("held", "path"),
    [
        ({"metadata": {"model": "m"}}, "metadata.model"),
        ({"config": {"model": "m", "judge": {"model": "j"}}}, "config.model"),
        ({"meta": {"run": {"model_name": "m"}}, "judge": {"model": "j"}}, "meta.run.model_name"),
        ({"config": {"model": {"name": "m", "temperature": 0}}}, "config.model.name"),
        ({"model": {"name": "m"}}, "model.name"),
    ],
)
@pytest.mark.parametrize("form", ["jsonl", "json", "frame"])
def test_a_nested_name_of_the_model_is_the_subject(tmp_path, held, path, form):
    if form == "frame" and path == "model.name":
        pytest.skip("objects in a column of models are those of JSON")
    rows = [
        {"id": f"q{i}", "score": i % 2} | json.loads(json.dumps(held).replace('"m"', f'"m{i // 2}"')) for i in range(4)
    ]
    if form == "frame":
        table = Attempts.of(pl.DataFrame(rows))
    else:
        text = json.dumps(rows) if form == "json" else "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"x.{form}").write_text(text)
        table = sources.read(tmp_path / f"x.{form}")
    assert table.frame.select("subject", "task").rows() == [(f"m{i // 2}", f"q{i}") for i in range(4)]
    assert path in table.notes[0]


def test_two_nested_models_and_several_nested_scores_are_asked_for(tmp_path):
    rows = [{"id": i, "score": 1, "config": {"model": "a"}, "request": {"model": "b"}} for i in range(2)]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match=r"config\.model and request\.model name different models\."):
        sources.read(tmp_path / "x.jsonl")
    table = sources.read(tmp_path / "x.jsonl", rename={"subject": "request.model"})
    assert table.frame["subject"].to_list() == ["b", "b"]
    rows = [{"model": "a", "id": i, "scores": {"Factuality": 0.5, "Style": i}} for i in range(2)]
    (tmp_path / "y.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match=r"scores has several scores: Factuality, Style\."):
        sources.read(tmp_path / "y.jsonl")
    table = sources.read(tmp_path / "y.jsonl", rename={"score": "scores.Style"})
    assert table.frame["score"].to_list() == [0, 1]


@pytest.mark.parametrize("total", ["TOTAL", "Average", "Overall", "Σ", "mean"])
@pytest.mark.parametrize("header", ["subject,task,score", "model,item,correct", "model;benchmark;accuracy"])
def test_a_total_of_each_model_in_a_long_table_is_no_item(tmp_path, total, header):
    rows = [f"{m},q{i},{x}" for m, own in RIGHT.items() for i, x in enumerate(own)]
    rows += [f"{m},{total},{sum(own) / len(own)}" for m, own in RIGHT.items()]
    mark = ";" if ";" in header else ","
    (tmp_path / "x.csv").write_text("\n".join([header, *(row.replace(",", mark) for row in rows)]))
    table = sources.read(tmp_path / "x.csv", wanted="attempts")
    assert dict(table.frame.group_by("subject").agg(pl.mean("score")).rows()) == pytest.approx(MEANS)
    assert "2 rows that sum up the others excluded" in table.notes[0]
    account = sources.account(tmp_path / "x.csv")
    assert (account.n_read, account.n_left_out, account.n_unexplained) == (10, 2, 0)


def test_an_item_that_is_called_sum_or_mean_is_an_item(tmp_path):
    (tmp_path / "x.csv").write_text("subject,task,score\na,sum,1\na,mean,0\na,sort,1\nb,sum,0\nb,mean,0\nb,sort,1\n")
    assert len(sources.read(tmp_path / "x.csv")) == 6
    (tmp_path / "y.csv").write_text("model,item,score\na,overall,1\nb,overall,0\n")  # nothing that it could sum up
    assert len(sources.read(tmp_path / "y.csv", wanted="attempts")) == 2


LOWER = [
    "wer",
    "CER",
    "word_error_rate",
    "TER",
    "perplexity",
    "rmse",
    "MAE",
    "mse",
    "loss",
    "latency_s",
    "brier",
    "ECE",
    "FID",
]


@pytest.mark.parametrize("name", [*LOWER, "toxicity"])
def test_a_measure_of_errors_is_lower_is_better_within_and_beyond_one(tmp_path, name):
    for values, scale in (((0.2, 0.9), None), ((0.4, 1.3), "free"), ((7.5, 30.0), "free")):
        if scale and name in ("toxicity", "ECE"):
            continue
        (tmp_path / "x.csv").write_text(f"model,item,{name}\na,q,{values[0]}\nb,q,{values[1]}\n")
        frame = sources.read(tmp_path / "x.csv", wanted="attempts").frame
        assert frame.select("score", "better").rows() == [(value, "lower") for value in values]
        assert (frame["scale"].to_list() if "scale" in frame.columns else [None]) == ([scale] * 2 if scale else [None])


def test_published_scores_of_which_lower_ones_are_better_are_turned_around_or_excluded(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("model,MMLU,LibriSpeech WER\na,0.7,0.1\nb,0.6,0.2\n")
    table, account = sources.read(path, table="scores"), sources.account(path, table="scores")
    assert table.frame.select("model", "benchmark", "score").rows() == [("a", "MMLU", 0.7), ("b", "MMLU", 0.6)]
    assert "LibriSpeech WER excluded: lower is better, and nothing says what the highest value is" in table.notes[0]
    assert (account.left_out["lower is better"], account.n_unexplained) == (2, 0)
    path.write_text("model,benchmark,wer\na,x,0.1\nb,x,0.25\n")
    with pytest.raises(InputError, match="wer: lower is better"):
        sources.read(path, table="scores")
    assert sources.read(path, table="scores", better="lower").frame["score"].to_list() == pytest.approx([0.9, 0.75])
    path.write_text("model,MMLU,wer\na,0.7,0.1\nb,0.6,0.2\n")
    wide = sources.read(path, wanted="attempts").frame
    assert dict(wide.select("task", "better").rows()) == {"MMLU": "higher", "wer": "lower"}
    path.write_text("model,q1,q2\na,0.7,0.1\nb,0.6,0.2\n")
    assert set(sources.read(path, wanted="attempts", better="lower").frame["better"]) == {"lower"}
