"""A finished computation is kept, whatever happens to standard output, and what is stopped keeps what is finished."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from howsure.cli.output import _in_ascii
from servers import prepared_process

EXAMPLES = Path(__file__).parents[2] / "examples"
HOWSURE = [sys.executable, "-m", "howsure"]
needs_dev_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")


@pytest.fixture
def attempts(tmp_path):
    rows = [
        {"subject": f"α-∞ 数 {model}", "kind": "model", "task": str(task), "attempt": 1, "score": (task * model) % 2}
        for model in (1, 2)
        for task in range(8)
    ]
    path = tmp_path / "attempts.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.fixture
def shell(attempts, tmp_path):
    """Runs `summary … -o out` in a shell, with redirections, and gives what came and whether the results are there."""

    def run(redirections="", *options, **environment):
        command = " ".join([*HOWSURE, "summary", str(attempts), "-o", str(tmp_path / "out"), *options, redirections])
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, env={**os.environ, **environment}
        )
        assert b"Traceback" not in done.stderr
        assert (tmp_path / "out" / "summary.csv").is_file()
        assert (tmp_path / "out" / "summary_report.html").is_file()
        return done

    return run


def test_a_reader_that_leaves_costs_nothing(shell):
    done = shell("| head -c 1")
    assert done.returncode == 0, done.stderr
    assert b"Broken" not in done.stderr


@needs_dev_full
def test_a_full_disk_under_standard_output_is_told_after_the_results_are_saved(shell):
    done = shell("> /dev/full")
    assert done.returncode == 2
    assert b"howsure: standard output could not be written (No space left on device)" in done.stderr


@pytest.mark.parametrize("redirection", ["2>&-", ">&- 2>&- <&-"])
def test_closed_streams_cost_nothing(shell, redirection):
    done = shell(redirection)
    assert done.returncode == 0, done.stderr
    assert b"note:" not in done.stdout


def test_a_closed_standard_output_loses_results_that_no_file_has(attempts):
    line = " ".join([*HOWSURE, "summary", str(attempts), "--quiet", ">&-"])
    done = subprocess.run(["bash", "-c", line], capture_output=True)
    assert done.returncode == 2
    assert b"standard output could not be written (it is closed)" in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_letters_that_cannot_be_printed_are_replaced(shell, encoding):
    done = shell(PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr
    assert r"alpha-inf \u6570 1" in done.stdout.decode(encoding)


def test_json_holds_the_names_in_every_encoding(shell):
    done = shell("", "--json", PYTHONIOENCODING="cp1252", PYTHONUTF8="0")
    assert "α-∞ 数 1" in json.dumps(json.loads(done.stdout.decode("cp1252")), ensure_ascii=False)


@pytest.mark.parametrize(
    ("letter", "shown"), [("∞", "inf"), ("α", "alpha"), ("Δ", "Delta"), ("é", "e"), ("²", "2"), ("数", r"\u6570")]
)
def test_letters_in_ascii(letter, shown):
    assert _in_ascii(letter) == shown


@pytest.mark.heavy
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interruption_keeps_the_finished_replicates(tmp_path, number, code):
    program = f"""
import os, sys
from howsure import compute
put = compute._Collected.put
def put_and_interrupt(self, index, drawn):
    put(self, index, drawn)
    if self.n_leading >= 200 and self._job.n > 1000:
        compute._Collected.put = put
        os.kill(os.getpid(), {int(number)})
compute._Collected.put = put_and_interrupt
sys.argv = ["howsure", "horizon", "time", {str(EXAMPLES / "horizon" / "time_counts.csv")!r}, "--replicates", "100000000",
            "-o", {str(tmp_path)!r}]
from howsure.cli import main
main()
"""
    done = prepared_process.run(["-c", program])
    assert done.returncode == code, done.stderr
    result = json.loads((tmp_path / "time_horizons.json").read_text())
    (note,) = [note for note in result["provenance"]["notes"] if note.startswith("Interrupted: ")]
    assert "of 100,000,000 replicates were computed" in note
    assert done.stderr.count(note) == 1
    assert note in (tmp_path / "time_report.html").read_text()


@pytest.mark.parametrize(
    "module",
    ["howsure.cli.output", "howsure.cli.app", "typer", "howsure.cli.evals.means", "howsure.evals.summaries", "polars"],
)
def test_an_interruption_is_told_in_one_sentence_also_while_modules_are_imported(module):
    program = f"""
import os, signal, sys
class Interrupt:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt)
sys.argv = ["howsure", "summary", {str(EXAMPLES / "evals" / "attempts.csv")!r}]
from howsure.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("howsure: The command was stopped by Ctrl-C.")


def test_interrupted_simulations_are_called_so():
    program = """
import os, signal, sys
from howsure import compute
put = compute._Collected.put
def put_and_interrupt(self, index, drawn):
    put(self, index, drawn)
    if self.n_leading >= 1000:
        os.kill(os.getpid(), signal.SIGINT)
compute._Collected.put = put_and_interrupt
sys.argv = ["howsure", "coverage", "--simulations", "100000"]
from howsure.cli import main
main()
"""
    done = prepared_process.run(["-c", program])
    assert done.returncode == 130
    assert re.match(
        r"howsure: The command was stopped after \d{1,2},\d{3} of 100,000 simulations of row 1 of \d+\.", done.stderr
    )
