"""What the functions of a study refuse: arguments of a wrong type, swapped tables, nothing at all."""

from pathlib import Path

import polars as pl
import pytest

from howsure import study
from howsure.errors import HowsureError, InputError, OptionError

ROOT = Path(__file__).parents[2] / "examples/study"
RATINGS, STUDY = ROOT / "ratings.csv", ROOT / "study.yaml"
PEOPLE, JUDGES, LABELS = (ROOT / "bench" / f"{name}.csv" for name in ("people", "judges", "labels"))
OUT = "unused"

WRONG = {
    "number": 5,
    "mapping": {"a": 1},
    "empty": [],
    "frame": pl.DataFrame({"a": [1]}),
    "object": object(),
}
FILLED = {name: value for name, value in WRONG.items() if name != "empty"}
TAKE_A_STUDY = {
    "analyze": lambda value: study.analyze(RATINGS, study=value),
    "validate": lambda value: study.validate(PEOPLE, JUDGES, study=value),
    "build": study.build,
    "check": study.check,
    "simulate": study.simulate,
    "judge": lambda value: study.judge(value, "mockllm/model", out=OUT),
    "measure_similarity": study.measure_similarity,
    "read_study": study.read_study,
}
TAKE_CRITERIA = {
    "analyze": lambda value: study.analyze(RATINGS, study=STUDY, criteria=value),
    "plan": lambda value: study.plan(criteria=value, n_simulations=100),
    "stop": lambda value: study.stop(PEOPLE, value, n_planned=20, scale=(1, 5)),
}
OTHERS = {
    "rules": lambda value: study.analyze(RATINGS, study=STUDY, rules=value),
    "domain_order": lambda value: study.analyze(RATINGS, study=STUDY, domain_order=value),
    "pace": lambda value: study.plan(pace=value),
    "assumptions": lambda value: study.plan(assumptions=value),
    "crowd": lambda value: study.simulate(crowd=value),
    "packet": study.rate_items,
    "preset": lambda value: study.init(OUT, value),
    "key": lambda value: study.collect(["answers"], value),
}


@pytest.mark.parametrize("name", TAKE_A_STUDY)
@pytest.mark.parametrize("value", WRONG.values(), ids=list(WRONG))
def test_what_is_no_study_is_refused(name, value):
    with pytest.raises(OptionError, match=r"^study must be .* this is of type"):
        TAKE_A_STUDY[name](value)


@pytest.mark.parametrize("name", ["build", "check", "judge"])
def test_a_study_is_needed(name):
    with pytest.raises(OptionError, match="study must be"):
        TAKE_A_STUDY[name](None)


@pytest.mark.parametrize("name", TAKE_CRITERIA)
@pytest.mark.parametrize("value", FILLED.values(), ids=list(FILLED))
def test_what_is_no_criterion_is_refused(name, value):
    with pytest.raises(OptionError, match=r"^criteria must be .* this is of type"):
        TAKE_CRITERIA[name](value)


@pytest.mark.parametrize("name", TAKE_CRITERIA)
def test_a_file_of_criteria_that_is_not_there_is_named(name):
    with pytest.raises(InputError, match=r"none\.yaml"):
        TAKE_CRITERIA[name]("none.yaml")


@pytest.mark.parametrize("name", ["plan", "stop"])
@pytest.mark.parametrize("value", [[], (), None], ids=str)
def test_at_least_one_criterion_is_needed(name, value):
    with pytest.raises(OptionError, match="criteria is empty"):
        TAKE_CRITERIA[name](value)


def test_criteria_are_objects_lines_or_a_file(tmp_path):
    (tmp_path / "criteria.yaml").write_text("- {name: 'pfi >= 0.5', statistic: pfi, threshold: 0.5}\n")
    line = "pfi >= 0.5"
    given = [line, [line], [study.Criterion(line, "pfi", 0.5)], tmp_path / "criteria.yaml", str(tmp_path / "criteria.yaml")]  # fmt: skip
    verdicts = [study.analyze(RATINGS, study=STUDY, criteria=one).as_dict()["verdict"] for one in given]
    assert verdicts == [{line: "pass"}] * len(given)
    assert study.analyze(RATINGS, study=STUDY, criteria=[]).as_dict()["verdict"] == {}


@pytest.mark.parametrize("argument", OTHERS)
@pytest.mark.parametrize("value", FILLED.values(), ids=list(FILLED))
def test_other_arguments_of_a_wrong_type_are_named(argument, value):
    with pytest.raises(OptionError, match=f"^{argument} "):
        OTHERS[argument](value)


@pytest.mark.parametrize("call", [study.select, study.reliability, study.analyze, study.attack, study.drift])
def test_no_table_at_all_is_refused(call):
    with pytest.raises(HowsureError):
        call([])


def test_one_path_is_not_split_into_letters():
    for runs in ("/", str(PEOPLE), PEOPLE, pl.read_csv(PEOPLE)):
        with pytest.raises(OptionError, match="Number of runs: 1"):
            study.drift(runs)
    with pytest.raises(InputError, match=r"none\.json"):
        study.collect("answers", "none.json")


def test_one_table_of_ratings_or_several():
    judges = pl.read_csv(JUDGES)
    halves = [judges.filter(pl.col("rater").str.starts_with("aster")), judges.filter(~pl.col("rater").str.starts_with("aster"))]  # fmt: skip
    one, two = study.labels(judges, n_labels=20), study.labels(halves, n_labels=20)
    assert one.drawn.equals(two.drawn)


def test_labels_come_before_the_judges_ratings():
    found = study.estimate(LABELS, JUDGES)
    assert found.rows["mean"][0] == pytest.approx(3.0518354670803416)
    with pytest.raises(InputError, match="Give the labels first and the judges' ratings second"):
        study.estimate(JUDGES, LABELS)


@pytest.mark.parametrize("compare", [study.validate, study.bench], ids=["validate", "bench"])
def test_swapped_tables_are_noted(compare):
    one_judge, raters = ROOT / "judge/judge.csv", ROOT / "judge/ratings.csv"
    for people, judges in ((PEOPLE, JUDGES), (raters, one_judge)):
        assert not any("swapped" in note for note in compare(people, judges).provenance.notes)
        notes = compare(judges, people).provenance.notes
        assert "Are the tables swapped? People's ratings come first" in notes[0]
