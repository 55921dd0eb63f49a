"""What Inspect finds under ``howsure/``: named in this package's entry point, imported for what it registers."""

from __future__ import annotations

import howsure.horizon.asking.task
import howsure.running.http_provider
import howsure.study.judging.task
import howsure.track.running.registry  # noqa: F401

__all__: list[str] = []
