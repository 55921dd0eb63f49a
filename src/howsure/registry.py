"""What Inspect finds under ``howsure/``: named in this package's entry point, imported for what it registers."""

from __future__ import annotations

import howsure.horizon.inspect.registry
import howsure.study.inspect.task
import howsure.track.inspect.registry  # noqa: F401

__all__: list[str] = []
