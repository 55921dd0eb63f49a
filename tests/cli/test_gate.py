"""`howsure gate` and the GitHub Action, as a shell runs them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from servers import prepared_process

ROOT = Path(__file__).parents[2]
CI = ROOT / "examples/ci"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["base.csv", "candidate.csv", "--margin", "0.06"], 0),
        (["base.csv", "worse.csv"], 1),
        (["base.csv", "candidate.csv"], 3),
        (["base.csv", "candidate.csv", "--cannot-tell", "ship"], 0),
        (["base.csv", "candidate.csv", "--cannot-tell", "block"], 1),
        (["base.csv", "missing.csv"], 2),
        (["base.csv"], 2),
        (["base.csv", "candidate.csv", "--margin", "-1"], 2),
    ],
)
def test_exit_codes(arguments, code, command):
    found = command("gate", *arguments, cwd=CI)
    assert found.returncode == code, found.stderr
    assert "Traceback" not in found.stderr


def test_an_unexpected_error_never_reads_as_block():
    broken = "import howsure.evals.gating as g\ndef gate(*a, **k): raise RuntimeError('bug')\ng.gate = gate\n"
    broken += f"import sys\nsys.argv = ['howsure', 'gate', {str(CI / 'base.csv')!r}, {str(CI / 'worse.csv')!r}]\nfrom howsure.cli import main\nmain()"
    found = prepared_process.run(["-c", broken])
    assert found.returncode == 70
    assert "RuntimeError: bug" in found.stderr


@pytest.fixture
def action(tmp_path):
    """Runs the deciding step of action.yml in bash, with its inputs as GitHub gives them."""
    described = yaml.safe_load((ROOT / "action.yml").read_text())
    step = next(one for one in described["runs"]["steps"] if one.get("id") == "gate")
    program = tmp_path / "bin" / "howsure"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m howsure "$@"\n')
    program.chmod(0o755)

    def run(**given):
        inputs = {name: one.get("default", "") for name, one in described["inputs"].items()} | given
        env = {
            name: str(inputs[text.removeprefix("${{ inputs.").removesuffix(" }}")])
            for name, text in step["env"].items()
        }
        files = {name: str(tmp_path / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        env |= files | {"RUNNER_TEMP": str(tmp_path), "PATH": f"{program.parent}:{os.environ['PATH']}"}
        found = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", step["run"]],
            env=os.environ | env,
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        written = Path(files["GITHUB_OUTPUT"])
        outputs = dict(line.split("=", 1) for line in written.read_text().splitlines()) if written.exists() else {}
        summary = Path(files["GITHUB_STEP_SUMMARY"])
        return found, outputs, summary.read_text() if summary.exists() else ""

    return run


def test_the_action_of_the_example_ships_and_keeps_the_history(action, tmp_path):
    workflow = yaml.safe_load((CI / "workflow.yml").read_text())
    given = next(step["with"] for step in workflow["jobs"]["gate"]["steps"] if "with" in step)
    found, outputs, summary = action(**given | {"history": str(tmp_path / "history.jsonl")})
    assert found.returncode == 0, found.stderr
    assert outputs["verdict"] == "ship"
    assert summary.startswith("### ✅ ship")
    assert Path(outputs["markdown"]).read_text().strip() == summary.strip()
    assert len((tmp_path / "history.jsonl").read_text().splitlines()) == 1


def test_the_action_blocks_warns_and_tells_errors_from_verdicts(action):
    found, outputs, _ = action(base="examples/ci/base.csv", candidate="examples/ci/worse.csv")
    assert (found.returncode, outputs["verdict"]) == (1, "block")
    found, outputs, summary = action(base="examples/ci/base.csv", candidate="examples/ci/candidate.csv")
    assert (found.returncode, outputs["verdict"]) == (0, "cannot tell")
    assert "::warning::" in found.stdout
    assert "more items" in summary
    found, outputs, _ = action(base="examples/ci/base.csv", candidate="nothing.csv")
    assert (found.returncode, outputs["verdict"]) == (2, "")


def test_history_is_shown_and_drawn(command, tmp_path):
    kept = tmp_path / "history.jsonl"
    for commit in ("one", "two"):
        command("gate", CI / "base.csv", CI / "candidate.csv", "--history", kept, "--commit", commit)
    found = command("gate", "--history", kept, "-o", tmp_path / "out")
    assert found.returncode == 0, found.stderr
    assert "The chain of 2 runs is complete" in found.stdout
    assert (tmp_path / "out" / "trend.png").exists()
