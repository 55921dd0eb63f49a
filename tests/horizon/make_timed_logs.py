"""A real Inspect log whose samples say in their metadata how long an expert needs; a token limit cuts some of them.

python tests/horizon/make_timed_logs.py FOLDER
"""

import sys

from inspect_ai import Task, eval  # noqa: A004
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match
from inspect_ai.solver import generate

MINUTES = (0.5, 1, 2, 4, 8, 16, 32, 64)
LIMIT = 700
CORRECT = (0, 1, 2, 3, 5)


def answer(number):
    """Longer tasks need more tokens; the last ones need more than the limit."""
    out = ModelOutput.from_content("mockllm/model", "yes" if number in CORRECT else "no")
    out.usage = ModelUsage(input_tokens=10, output_tokens=100 * (number + 1), total_tokens=100 * (number + 1) + 10)
    return out


samples = [
    Sample(input=f"task {k}", target="yes", id=f"t{k}", metadata={"human_minutes": m, "family": f"f{k}"})
    for k, m in enumerate(MINUTES)
]
model = get_model("mockllm/model", custom_outputs=[answer(k) for k in range(len(MINUTES))])
task = Task(dataset=MemoryDataset(samples), solver=generate(), scorer=match(), token_limit=LIMIT, name="timed")
(log,) = eval(task, model=model, log_dir=sys.argv[1], display="none", max_samples=1)
sys.exit(log.status != "success")
