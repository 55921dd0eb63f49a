"""Certificates: found again from another copy of the data; a changed row, option, version and result are each named."""

import json
from pathlib import Path

import polars as pl
import pytest

import howsure
from howsure.claims import Claim, certificate, check, plan, verify
from howsure.claims.certificates import _digest, plan_differences
from howsure.claims.claim_files import ClaimFile, read_claims
from howsure.errors import InputError, OptionError

ROOT = Path(__file__).parents[2]
RUNS = ROOT / "examples/claims/runs.csv"
CLAIMS = ROOT / "examples/claims/claims.yaml"
FEW = ClaimFile(
    (Claim(kind="horizon", model="amber-2", at_least=20),),
    ({"choice": "curve", "remove": "weibull", "reason": "quick"},),
)


@pytest.fixture(scope="module")
def runs():
    return howsure.read(RUNS)


@pytest.fixture(scope="module")
def made(runs):
    return json.loads(json.dumps(certificate(check(FEW, runs, n_replicates=30), runs, command="test")))


def problems(found):
    return {what: detail for what, is_equal, detail in found.rows if not is_equal}


def test_a_certificate_is_found_again_on_another_copy(made, tmp_path):
    pl.read_csv(RUNS).sample(fraction=1.0, shuffle=True, seed=1).write_csv(tmp_path / "copy.csv")
    assert problems(verify(made, howsure.read(tmp_path / "copy.csv"))) == {}


def test_a_changed_row_is_named(made, runs):
    frame = runs.frame
    row = frame.row(100, named=True)
    changed = frame.with_row_index("#").with_columns(
        pl.when(pl.col("#") == 100).then(1 - pl.col("score")).otherwise("score").alias("score")
    )
    told = problems(verify(made, howsure.Attempts(changed.drop("#"))))
    assert told["data"] == f"rows of {row['subject']} at {row['task']} differ"


def test_a_changed_option_and_version_are_named(made, runs, tmp_path):
    edited = json.loads(json.dumps(made))
    edited["claims"]["choices"] = []
    edited["version"] = "0.0.1"
    told = problems(verify(edited, runs))
    assert "claims was changed after it was written" in told["certificate"]
    assert "option curve=weibull is computed now and not in the certificate" in told["options"]
    assert told["version"].startswith("written by 0.0.1")
    edited = json.loads(json.dumps(made))
    edited["results"][0]["verdict"] = "does not hold"
    told = problems(verify(edited, runs))
    assert "results" in told["certificate"]
    assert "verdict (does not hold in the certificate, holds in all now)" in told["results"]


def test_the_claims_file_is_compared(made, runs):
    other = ClaimFile((Claim(kind="horizon", model="amber-2", at_least=25),), FEW.changes)
    told = problems(verify(made, runs, claims=other))
    assert "25" in told["claims file"]
    assert "20" in told["claims file"]


def test_a_plan_is_kept_or_what_differs_is_said(runs):
    planned = plan(FEW, n_replicates=30)
    settings = {"n_replicates": 30, "most": 500, "level": 0.95, "seed": 0}
    assert plan_differences(planned, FEW, settings) == []
    assert plan_differences(planned, FEW, settings | {"seed": 1}) == ["seed is 1, planned was 0"]
    assert plan_differences(planned, read_claims(CLAIMS), settings) == [
        "claims are not those of the plan",
        "choices are not those of the plan",
    ]
    assert (
        "hash does not fit" in plan_differences(planned | {"plan": planned["plan"] | {"claims": []}}, FEW, settings)[0]
    )
    found = check(FEW, runs, n_replicates=30)
    assert certificate(found, runs, planned=planned)["plan"]["is_planned"]
    assert not certificate(found, runs)["plan"]["is_planned"]


def test_a_plan_that_was_not_there_cannot_be_written_into_a_certificate(made, runs, tmp_path):
    for forged in (
        {"is_planned": True, "why_not": [], "hash": "0123456789abcdef", "written": "2020-01-01"},
        {**plan(FEW, n_replicates=31), "is_planned": True, "why_not": []},
    ):
        edited = {**made, "plan": forged}
        assert problems(verify(edited, runs))["certificate"] == "plan was changed after it was written"
        edited["digests"] = made["digests"] | {"plan": _digest(forged)}
        told = problems(verify(edited, runs))
        assert list(told) == ["plan"]
        assert told["plan"].startswith("it is said to be kept, and is not kept")
    kept = plan(FEW, n_replicates=30)
    honest = certificate(check(FEW, runs, n_replicates=30), runs, planned=kept)
    assert problems(verify(honest, runs, planned=kept)) == {}
    other = plan(FEW, n_replicates=40)
    assert other["hash"] in problems(verify(honest, runs, planned=other))["plan"]


def test_data_that_are_older_than_the_plan_are_counted(runs):
    kept = plan(FEW, n_replicates=30)
    found = check(FEW, runs, n_replicates=30)
    assert "do not show whether" in certificate(found, runs, planned=kept)["plan"]["data"]
    dated = howsure.Attempts(runs.frame.with_columns(date=pl.lit("2020-01-31").str.to_date()))
    told = certificate(found, dated, planned=kept)["plan"]["data"]
    assert told == f"720 of 720 rows are dated before the day of the plan, {kept['written'][:10]}."


def test_parts_that_follow_from_the_data_are_compared_even_if_their_digests_were_made_anew(made, runs):
    for part, change in (
        ("data", lambda one: one.update(n_rows=7)),
        ("data", lambda one: one["models"].update({"amber-1": "0"})),
        ("choices", lambda one: one[0][0].update(reason="because")),
        ("specifications", lambda one: one[0].pop()),
    ):
        edited = json.loads(json.dumps(made))
        change(edited[part])
        edited["digests"][part] = _digest(edited[part])
        told = problems(verify(edited, runs))
        assert list(told) == ["options" if part != "data" else "data"], part


def test_what_a_forger_adds_is_found_even_if_the_digests_were_made_anew(made, runs):
    for part, change, told in (
        ("endorsement", lambda one: one.update(endorsement="approved"), "endorsement is no part of a certificate"),
        ("results", lambda one: one["results"][0].update(note="approved"), "note is no part of a result"),
        (
            "reporting",
            lambda one: one["reporting"]["STREAM"]["filled"].update({"number of items": "6,000 tasks"}),
            "STREAM, number of items: the data say 60 tasks, 720 rows",
        ),
    ):
        edited = json.loads(json.dumps(made))
        change(edited)
        edited["digests"][part] = _digest(edited[part])
        assert told in "; ".join(problems(verify(edited, runs)).values())


def test_the_evaluators_answers_fill_what_the_data_do_not(runs):
    given = {"elicitation": "best of two prompts", "number of items": "many"}
    made = certificate(check(FEW, runs, n_replicates=30), runs, report=given)
    filled = made["reporting"]["STREAM"]["filled"]
    assert filled["elicitation"] == "best of two prompts"
    assert filled["number of items"] == "60 tasks, 720 rows"
    assert problems(verify(made, runs)) == {}


def test_numbers_that_are_none_and_settings_without_end_are_refused_in_one_line(made, runs, tmp_path):
    (tmp_path / "c.json").write_text(json.dumps(made | {"settings": made["settings"] | {"level": float("nan")}}))
    with pytest.raises(InputError, match="is not JSON"):
        verify(tmp_path / "c.json", runs)
    for settings in ({"n_replicates": True}, {"seed": -1}):
        with pytest.raises(InputError, match="damaged"):
            verify(made | {"settings": made["settings"] | settings}, runs)
    with pytest.raises(OptionError, match="Choose fewer replicates"):
        verify(made | {"settings": made["settings"] | {"n_replicates": 10**12}}, runs)


def test_the_number_of_replicates_is_the_one_that_was_made():
    scores = ROOT / "examples/stitch/scores.csv"
    names = howsure.Scores.of(scores).frame["model"].unique().sort().to_list()
    file = [{"kind": "scale", "model": names[0], "than": names[1]}]
    found = check(file, scores, n_replicates=500, most=1)
    assert (
        "100 replicates"
        in certificate(found, scores)["reporting"]["STREAM"]["filled"]["uncertainty and number of runs"]
    )


@pytest.mark.parametrize("part", ["settings", "claims", "data", "choices", "results", "plan", "digests", "certificate"])
def test_a_damaged_certificate_is_refused_in_one_line(made, runs, part):
    for broken in (None, [], "x"):
        with pytest.raises(InputError) as error:
            verify({**made, part: broken}, runs)
        assert "\n" not in str(error.value)


def test_reporting_standards_are_filled_or_listed_as_missing(made):
    for name in ("STREAM", "NIST AI 800-2", "NIST AI 800-3"):
        part = made["reporting"][name]
        assert part["filled"]
        assert all(part["filled"].values())
    assert "elicitation" in made["reporting"]["STREAM"]["missing"]
    assert made["reporting"]["STREAM"]["filled"]["number of items"] == "60 tasks, 720 rows"


def test_what_is_no_certificate_is_refused(tmp_path, runs):
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(InputError, match="neither a certificate nor a plan"):
        verify(tmp_path / "x.json", runs)


def test_the_verbs_run_as_a_user_runs_them(command, tmp_path):
    told = command("claims", "plan", CLAIMS, "-o", tmp_path / "plan.json", "--replicates", 30)
    assert told.returncode == 0, told.stderr
    told = command("claims", "check", CLAIMS, RUNS, "--replicates", 30, "--certificate", tmp_path / "c.json", "--planned", tmp_path / "plan.json", "-o", tmp_path / "out")  # fmt: skip
    assert told.returncode == 0, told.stderr
    assert told.stdout.index("Choices for") < told.stdout.index("Holds in all")
    assert "As planned" in told.stdout
    assert "recomputes all of it" in (tmp_path / "c.html").read_text()
    assert (tmp_path / "out/claims_report.html").exists()
    told = command("claims", "verify", tmp_path / "c.json", RUNS)
    assert told.returncode == 0, told.stderr
    assert "Equal" in told.stdout
    told = command("claims", "check", CLAIMS, RUNS, "--list")
    assert "216 specifications" in told.stdout
    assert "Holds" not in told.stdout


def test_an_interrupted_check_leaves_no_certificate(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from howsure.cli.claims import checking as verb

    monkeypatch.setattr(verb, "interruption_notes", lambda: ("Interrupted: 100 of 1,000 replicates were computed.",))
    out = tmp_path / "c.json"
    told = CliRunner().invoke(verb.app, ["check", str(CLAIMS), str(RUNS), "--replicates", "20", "--most", "2", "--certificate", str(out)])  # fmt: skip
    assert told.exit_code == 0, told.output
    assert "no certificate was written" in told.output
    assert not out.exists()
