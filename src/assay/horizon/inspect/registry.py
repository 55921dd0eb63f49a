"""What Inspect finds under ``assay/`` of this instrument."""

from __future__ import annotations

from assay.horizon.inspect.scorer import task_score
from assay.horizon.inspect.task import attempt_task, name_tasks

__all__ = ["attempt_task", "name_tasks", "task_score"]
