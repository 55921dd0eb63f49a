"""What Inspect finds under ``howsure/`` of this instrument."""

from __future__ import annotations

from howsure.horizon.asking.scorer import task_score
from howsure.horizon.asking.task import attempt_task, name_tasks

__all__ = ["attempt_task", "name_tasks", "task_score"]
