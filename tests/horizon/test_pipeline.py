"""examples/name/dvc.yaml: each stage's command runs without DVC, reads what it names and writes what it promises."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

EXAMPLE = Path(__file__).parents[2] / "examples/name"
SMALL = {"tasks.n": 6, "novices.learners": 6, "novices.attempts": 5, "models.runs": 4, "horizons.bootstrap": 30}


def setting(name, params):
    """A value of params.yaml by its dotted name, smaller where that saves time."""
    for part in name.split("."):
        params = params[part]
    return str(SMALL.get(name, params))


def test_the_stages_run_one_after_the_other(tmp_path, command):
    params = yaml.safe_load((EXAMPLE / "params.yaml").read_text())
    stages = yaml.safe_load((EXAMPLE / "dvc.yaml").read_text())["stages"]
    assert list(stages) == ["tasks", "runs", "curves", "horizons", "plot_name_results"]
    for name, stage in stages.items():
        for needed in stage.get("deps", []):
            assert (tmp_path / needed).exists(), f"{name} needs {needed}"
        line = re.sub(r"\$\{([\w.]+)\}", lambda found: setting(found[1], params), stage["cmd"])
        told = command(*shlex.split(line)[1:], cwd=tmp_path)
        assert told.returncode == 0, f"{name}: {told.stderr}"
        for made in stage["outs"]:
            assert (tmp_path / made).exists(), f"{name} made no {made}"
    assert (tmp_path / "horizons/horizons.csv").exists()
    assert (tmp_path / "plots/crossing.png").exists()


def test_the_last_stage_needs_all_others():
    """So `dvc repro plot_name_results` makes everything."""
    stages = yaml.safe_load((EXAMPLE / "dvc.yaml").read_text())["stages"]
    needed, found = {"plot_name_results"}, set()
    while needed:
        name = needed.pop()
        found.add(name)
        needed |= {
            other for other, stage in stages.items() if {*stage["outs"]} & {*stages[name].get("deps", [])}
        } - found
    assert found == set(stages)


def test_every_setting_is_used_and_named_as_a_dependency():
    params = yaml.safe_load((EXAMPLE / "params.yaml").read_text())
    for name, stage in yaml.safe_load((EXAMPLE / "dvc.yaml").read_text())["stages"].items():
        for used in re.findall(r"\$\{([\w.]+)\}", stage["cmd"]):
            assert setting(used, params)
            assert any(used == known or used.startswith(f"{known}.") for known in stage["params"]), f"{name}: {used}"
    with pytest.raises(KeyError):
        setting("horizons.width", params)
