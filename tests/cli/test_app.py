"""The root command: quick, grouped, and honest about what went wrong."""

import inspect
import operator
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import howsure
from howsure.cli.app import PANELS, app

VERBS = [name for verbs in PANELS.values() for name in verbs]


def test_help_imports_nothing_heavy(command):
    code = "import sys; sys.argv = ['howsure', '--help']\ntry:\n    from howsure.cli import main; main()\nfinally:\n    print(sorted(sys.modules))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("'numpy'", "'polars'", "'altair'", "'scipy'", "'numba'", "'rich'", "'inspect_ai'", "'pydantic'"):
        assert heavy not in told


def test_help_names_every_verb_and_gives_examples(command):
    told = command("--help").stdout
    assert all(f"\n  {verb} " in told for verb in VERBS)
    assert "Examples:" in told


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(verb, command):
    told = command(verb, "--help")
    assert told.returncode == 0
    assert "Usage: " in told.stdout


def test_version(command):
    from howsure import __version__

    assert command("--version").stdout.strip() == f"howsure {__version__}"


def test_a_wrong_verb_is_a_user_error(command):
    told = command("summry")
    assert told.returncode == 2
    assert "summry" in told.stderr


def test_a_missing_file_is_told_in_one_line(command):
    told = command("summary", "nowhere.jsonl")
    assert told.returncode == 2
    assert told.stderr == "howsure: nowhere.jsonl: no such file.\n"
    assert told.stdout == ""


# One number here, several with commas there; a number or a file of folds: the same meaning.
SEVERAL = {"--folds", "--learners", "--tasks"}


def options(command, path=()):
    """Every option of every verb: the verb, the option's name, the type of its values, and its help."""
    for parameter in command.params:
        if parameter.opts[-1].startswith("--"):
            kind = str(parameter.type_descriptor.annotation).removeprefix("list[").removesuffix("]")
            kind = kind.removeprefix("<class '").removesuffix("'>")
            yield " ".join(path), parameter.opts[-1], kind, parameter.help or ""
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        yield from options(command.get_command(None, name), (*path, name))


def test_an_option_has_one_type_in_all_verbs():
    kinds = {}
    for verb, option, kind, _ in options(typer.main.get_command(app)):
        kinds.setdefault(option, {}).setdefault(kind, verb)
    assert len(kinds) > 200
    several = {option: verbs for option, verbs in kinds.items() if len(verbs) > 1 and option not in SEVERAL}
    assert several == {}


def meaning(text):
    """What an option is, without the details: its help up to the first mark."""
    return re.split(r"\s*[.,:;(\[]", text.removeprefix("Inspect: ").removeprefix("Files: "))[0]


def test_an_option_means_the_same_in_all_verbs():
    """The help of an option begins with the same words wherever it stands: another meaning needs another name."""
    meanings = {}
    for verb, option, _, text in options(typer.main.get_command(app)):
        meanings.setdefault(option, {}).setdefault(meaning(text), verb)
    several = {option: verbs for option, verbs in meanings.items() if len(verbs) > 1}
    assert several == {}


def verbs(command, path=()):
    """Every verb, with the groups that it stands in."""
    if not hasattr(command, "list_commands"):
        yield path
        return
    for name in command.list_commands(None):
        yield from verbs(command.get_command(None, name), (*path, name))


def test_every_verb_takes_json_and_an_output():
    """What README says of all verbs, with the exceptions that it names."""
    having = {}
    for verb, option, _, _ in options(typer.main.get_command(app)):
        having.setdefault(option, set()).add(verb)
    every = {" ".join(verb) for verb in verbs(typer.main.get_command(app))}
    assert every - having["--json"] == {"serve", "track human"}
    assert every - having["--out"] == {"serve", "doctor"}


# They print, serve or gather what others computed.
ONLY_COMMANDS = {("report",), ("serve",), ("demo",), ("doctor",)}


def test_every_verb_is_a_documented_function_of_the_same_name_in_python():
    documented = (Path(__file__).parents[2] / "docs/api.md").read_text("utf-8").split()
    names = [".".join(verb) for verb in verbs(typer.main.get_command(app)) if verb not in ONLY_COMMANDS]
    assert len(names) > 80
    for name in (re.sub(r"^bridge\.", "bridges.", name) for name in names):
        function = operator.attrgetter(name)(howsure)
        assert inspect.isfunction(function), name
        assert function.__doc__, name
        assert f"howsure.{name}" in documented, name


@pytest.mark.parametrize(
    ("name", "meant"), [("sumary", "summary"), ("stitch.fitt", "fit"), ("horizon.atempts", "attempts")]
)
def test_a_misspelt_name_in_python_gets_a_suggestion(name, meant):
    with pytest.raises(AttributeError, match=f"Did you mean '{meant}'"):
        operator.attrgetter(name)(howsure)
