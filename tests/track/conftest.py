"""What the tests of this instrument share: the eval's reference figures."""

import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "../shared/data/track"


@pytest.fixture
def reference():
    """Reads a reference file where it lies: ``reference("sequences")``; the test skips where it is absent."""

    def read(name):
        path = FOLDER / f"{name}.json"
        if not path.exists():
            pytest.skip(f"reference data are absent: {name}.json")
        return json.loads(path.read_text())

    return read
