"""The verb that looks at the surroundings, and mends the caches."""

import json
import os

import pytest

from servers import prepared_process


def doctor(*arguments, **environment):
    return prepared_process.run(["-m", "howsure", "doctor", *arguments], env={**os.environ, **environment})


@pytest.mark.heavy
def test_it_says_what_is_here_and_mends_the_cache(tmp_path):
    first = doctor("--json", XDG_CACHE_HOME=str(tmp_path))
    assert first.returncode == 0, first.stderr
    told = json.loads(first.stdout)
    names = {check["name"].partition(",")[0] for check in told["checks"]}
    assert names == {"versions", "encoding", "disk", "charts", "kernels", "extra", "browser"}
    assert told["is_usable"]
    (script,) = (tmp_path / "howsure").glob("vega-embed-*.js")
    script.write_bytes(script.read_bytes()[:1000])
    assert "built again" in doctor(XDG_CACHE_HOME=str(tmp_path)).stdout
    assert "is whole" in doctor(XDG_CACHE_HOME=str(tmp_path)).stdout


def test_a_cluster_that_is_not_there_fails(tmp_path):
    done = doctor("--scheduler", "tcp://127.0.0.1:9", PYTHONIOENCODING="ascii")
    assert done.returncode == 1
    assert "fail  cluster               No Dask scheduler answers at tcp://127.0.0.1:9" in done.stdout
    assert "note  encoding              standard output is ascii" in done.stdout
    assert "Traceback" not in done.stderr
