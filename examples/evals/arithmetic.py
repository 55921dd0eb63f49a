"""A small eval for Inspect: ``inspect eval examples/evals/arithmetic.py --model PROVIDER/MODEL``."""

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import generate


@task
def arithmetic() -> Task:
    """Ten sums; right if the reply includes the result."""
    samples = [Sample(input=f"What is {17 * n} + {23 + n}?", target=str(18 * n + 23)) for n in range(10)]
    return Task(dataset=samples, solver=generate(), scorer=includes())
