"""What the project says about itself in several places is the same."""

import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


def test_workflows_test_the_stated_versions_on_three_systems():
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["classifiers"]
    stated = [one.rpartition(" ")[2] for one in classifiers if one.startswith("Programming Language :: Python :: 3.")]
    matrix = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text("utf-8"))["jobs"]["test"]["strategy"][
        "matrix"
    ]
    assert matrix["python"] == stated == ["3.11", "3.12", "3.13", "3.14"]
    assert matrix["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    # only what has run is claimed
    assert [one for one in classifiers if one.startswith("Operating System")] == ["Operating System :: POSIX :: Linux"]
