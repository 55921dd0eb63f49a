"""Kernels are compiled once on a machine, and it is said while it lasts."""

import os
import subprocess
import sys

CODE = """
import logging
logging.basicConfig(level=logging.INFO, format="%(message)s")
import numpy as np
from howsure.stats.bootstrap import hierarchical_weights
hierarchical_weights([np.array([0, 0, 1])], 5, np.random.default_rng(0))
"""


def test_compiling_is_told_once_and_kept(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=True).stderr
        for _ in range(2)
    )
    assert first.count("compiling numerical kernels") == 1
    assert second == ""
