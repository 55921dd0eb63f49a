"""Kernels are compiled once on a machine, and it is said while it lasts."""

import importlib.util
import os
import subprocess
import sys

import pytest

CODE = """
import logging
logging.basicConfig(level=logging.INFO, format="%(message)s")
import numpy as np
from howsure.stats.replicates import hierarchical_weights
hierarchical_weights([np.array([0, 0, 1])], 5, np.random.default_rng(0))
"""
KERNEL = """
from howsure.compiled import kernel


@kernel
def twice(x):
    return 2.0 * x
"""


def test_compiling_is_told_once_and_kept(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=True).stderr
        for _ in range(2)
    )
    assert first.count("compiling numerical kernels") == 1
    assert second == ""


@pytest.mark.parametrize(("ending", "place"), [("*.nbi", 0), ("*.nbc", 40), ("*.nbc", -1)])
def test_a_damaged_cache_is_compiled_again(tmp_path, ending, place):
    module = tmp_path / "kernels.py"
    module.write_text(KERNEL)

    def n_compiled():
        """Import the module as a new process would, and run its kernel."""
        spec = importlib.util.spec_from_file_location("kernels", module)
        kernels = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(kernels)
        assert kernels.twice(3.0) == 6.0
        return sum(kernels.twice.stats.cache_misses.values())

    assert n_compiled() == 1
    (path,) = tmp_path.rglob(ending)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2] if place < 0 else data[:place] + b"\xff" * 20 + data[place + 20 :])
    assert [n_compiled(), n_compiled()] == [1, 0]


def test_processes_that_start_together_compile_a_kernel_once(tmp_path):
    (tmp_path / "kernels.py").write_text(KERNEL)
    code = "from kernels import twice; twice(3.0); print(sum(twice.stats.cache_misses.values()))"
    line, environment = [sys.executable, "-c", code], os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    both = [subprocess.Popen(line, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert sorted(process.communicate(timeout=120)[0].strip() for process in both) == ["0", "1"]
