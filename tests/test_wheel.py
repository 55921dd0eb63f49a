"""The wheel in an environment that has nothing but what it declares: core alone, then with everything."""

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.heavy


def run(*line, **options):
    return subprocess.run([str(part) for part in line], capture_output=True, text=True, **options)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    told = run(sys.executable, "-m", "pip", "wheel", ROOT, "--no-deps", "--no-build-isolation", "-w", folder)
    assert told.returncode == 0, told.stderr
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Makes an environment that holds the wheel and links to the packages it declares, and gives its folder of programs."""

    def make(*extras):
        folder = tmp_path_factory.mktemp("-".join(["env", *extras]))
        run(sys.executable, "-m", "venv", "--without-pip", folder, check=True)
        packages = next(folder.glob("lib/python*/site-packages"))
        for name in top_level_names(declared({"howsure": {"", *extras}})):
            (packages / name).symlink_to(Path(sysconfig.get_path("platlib"), name))
        pip = [sys.executable, "-m", "pip", "--python", folder / "bin/python"]
        told = run(*pip, "install", "-q", "--no-compile", "--no-deps", "--no-index", wheel)
        assert told.returncode == 0, told.stderr
        give_our_kernels(packages / "howsure")
        return folder / "bin"

    return make


def declared(wanted):
    """The distributions that others need, each with its extras, from what the installed ones declare."""
    found = {}
    while wanted:
        name, extras = wanted.popitem()
        if extras <= found.get(name, set()):
            continue
        found.setdefault(name, set()).update(extras)
        for line in importlib.metadata.requires(name) or ():
            need = Requirement(line)
            if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in found[name]):
                wanted.setdefault(need.name, {""}).update(need.extras)
    return found.keys() - {"howsure"}


def top_level_names(distributions):
    """The folders and files of distributions in site-packages."""
    files = (file for name in distributions for file in importlib.metadata.files(name))
    return {file.parts[0] for file in files} - {"..", "__pycache__"}


def give_our_kernels(package):
    """What is compiled here for the same sources need not be compiled there for a minute: numba knows them by time and size."""
    for kernel in (ROOT / "src/howsure").rglob("__pycache__/*.nb[ic]"):
        source = kernel.parents[1] / f"{kernel.name.partition('.')[0]}.py"
        installed = package / source.relative_to(ROOT / "src/howsure")
        if source.exists() and installed.read_bytes() == source.read_bytes():
            os.utime(installed, ns=(source.stat().st_atime_ns, source.stat().st_mtime_ns))
            (installed.parent / "__pycache__").mkdir(exist_ok=True)
            shutil.copy(kernel, installed.parent / "__pycache__")


ASK_EVERY_VERB = """
from howsure.cli.app import PANELS, app
import importlib, typer
from typer.testing import CliRunner
for verbs in PANELS.values():
    for name, (module, _) in verbs.items():
        found = typer.main.get_command(importlib.import_module(module).app)
        group = getattr(found, "commands", {}).get(name, found)
        inner = group.list_commands(None) if hasattr(group, "list_commands") else ()
        for words in ([name], *([name, verb] for verb in inner)):
            asked = CliRunner().invoke(app, [*words, "--help"])
            assert asked.exit_code == 0, (words, asked.output, asked.exception)
            print(*words)
"""


@pytest.fixture(scope="module")
def core(installed):
    return installed()


@pytest.fixture(scope="module")
def desk(core, tmp_path_factory):
    """A folder with what the verbs below read."""
    folder = tmp_path_factory.mktemp("desk")
    run(core / "howsure", "horizon", "tasks", "-o", "tasks.yaml", "--n", "5", cwd=folder, check=True)
    shutil.copy(ROOT / "examples/study/study.yaml", folder)
    run(core / "howsure", "study", "build", "study.yaml", "-o", "packet", cwd=folder, check=True)
    return folder


def test_core_alone_shows_every_verb_and_the_tour(core, tmp_path):
    told = run(core / "python", "-c", ASK_EVERY_VERB)
    assert told.returncode == 0, told.stderr
    assert len(told.stdout.splitlines()) > 45
    told = run(core / "howsure", "demo", "--quick", "--json", "-o", tmp_path / "demo", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    counted = json.loads(told.stdout)
    assert 0.7 < counted["covered"] / counted["intervals"] <= 1
    assert (tmp_path / "demo" / "report.html").exists()
    assert list(core.parent.glob("lib/python*/site-packages/howsure/py.typed"))


@pytest.mark.parametrize(
    ("line", "extra"),
    [
        (["track", "run", "--model", "openai/x", "-o", "out"], "run"),
        (["horizon", "run", "tasks.yaml", "--model", "openai/x", "-o", "out"], "run"),
        (["study", "judge", "study.yaml", "--model", "openai/x", "-o", "out"], "run"),
        (["serve", "packet"], "serve"),
    ],
)
def test_without_an_extra_its_verbs_say_what_to_install(core, line, extra, desk):
    told = run(core / "howsure", *line, cwd=desk)
    assert told.returncode == 2
    assert f"pip install 'howsure[{extra}]'" in told.stderr or f'pip install "howsure[{extra}]"' in told.stderr


def test_with_everything_a_model_is_asked_through_inspect(installed, tmp_path):
    programs = installed("all")
    line = ["track", "run", "--model", "howsure/window-5", "--samples", "2", "--length", "3", "-o", tmp_path / "runs"]
    told = run(programs / "howsure", *line, cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert len((tmp_path / "runs" / "samples.csv").read_text().splitlines()) == 3
    assert list((tmp_path / "runs" / "logs").rglob("*.eval"))
