"""Tasks that people and models attempt: generators of fresh instances in five domains, and tasks of one's own from YAML.

>>> task = make_tasks(5)[0]
>>> task.instance(1) == task.instance(1), task.instance(1).prompt == task.instance(2).prompt
(True, False)
"""

from howsure.horizon.task_bank.answers import Checker, Exact, NeedsJudge, Pattern
from howsure.horizon.task_bank.base import Instance, Task, TaskFamily
from howsure.horizon.task_bank.registry import DOMAINS, families
from howsure.horizon.task_bank.suite import make_tasks, read_tasks, task_schema, write_tasks

__all__ = [
    "DOMAINS",
    "Checker",
    "Exact",
    "Instance",
    "NeedsJudge",
    "Pattern",
    "Task",
    "TaskFamily",
    "families",
    "make_tasks",
    "read_tasks",
    "task_schema",
    "write_tasks",
]
