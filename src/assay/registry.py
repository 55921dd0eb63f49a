"""What Inspect finds under ``assay/``: named in this package's entry point, imported for what it registers."""

from __future__ import annotations

import assay.horizon.inspect.registry
import assay.study.inspect.task
import assay.track.inspect.registry  # noqa: F401

__all__: list[str] = []
