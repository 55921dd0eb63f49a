"""Tasks that people and models attempt: generators of fresh instances in NAME's five domains and twelve of daily life, and tasks of one's own from YAML.

>>> task = make_tasks(5)[0]
>>> task.instance(1) == task.instance(1), task.instance(1).prompt == task.instance(2).prompt
(True, False)
"""

from howsure.horizon.task_bank.base import Checker, Exact, Instance, NeedsJudge, Pattern, Task, TaskFamily
from howsure.horizon.task_bank.registry import DOMAINS, EVERYDAY, add_domain, all_domains, families
from howsure.horizon.task_bank.suite import make_tasks, read_tasks, task_schema, write_tasks

__all__ = [
    "DOMAINS",
    "EVERYDAY",
    "Checker",
    "Exact",
    "Instance",
    "NeedsJudge",
    "Pattern",
    "Task",
    "TaskFamily",
    "add_domain",
    "all_domains",
    "families",
    "make_tasks",
    "read_tasks",
    "task_schema",
    "write_tasks",
]
