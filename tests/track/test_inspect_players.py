"""The eval as a task of Inspect, played by players: no server, no model."""

import importlib.util
import json
import shutil
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from howsure.errors import InputError
from howsure.safe_io import Archive
from howsure.sources.inspect_format import read_log
from howsure.track.game.sequence import Setting
from howsure.track.running.logs import samples_from_logs
from howsure.track.running.playing import run_players
from servers.inspect_process import ENVIRONMENT, inspect
from track.inspect_program import run

if importlib.util.find_spec("inspect_ai") is None:
    pytest.skip("games are played with Inspect, which is not installed", allow_module_level=True)

PLAYERS = ("oracle", "random", "largest", "window-5", "noisy-0.2")
FIGURES = ["model", "variant", "setting", "length", "seed", "max_length", "violation", "error_kind", "kind"]
SHORT = {"length": 12}


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """What each job came to, by name."""
    folder = tmp_path_factory.mktemp("runs")
    jobs = {
        (name, variant): {"model": f"howsure/{name}", "variant": variant, "n_samples": 6, "seed": 3, "setting": SHORT}
        for name in PLAYERS
        for variant in ("median", "mode")
    }
    jobs["epochs"] = {"model": "howsure/noisy-0.2", "n_samples": 5, "epochs": 3, "setting": SHORT}
    jobs["shown"] = {"model": "howsure/noisy-0.2", "n_samples": 5, "setting": SHORT, "solver": "explicit"}
    jobs["told"] = jobs["shown"] | {"state_role": "assistant"}
    jobs["again"] = jobs["random", "mode"]
    jobs["mock"] = {"model": "mockllm/model", "n_samples": 1, "setting": SHORT, "max_retries": 0}
    jobs["nobody"] = {"model": "howsure/nobody"}
    jobs["no provider"] = {"model": "nowhere/model", "n_samples": 1}
    jobs["no provider named"] = {"model": "model", "n_samples": 1}
    jobs["no variant"] = {"model": "howsure/oracle", "variant": "medain"}
    jobs["no solver"] = {"model": "howsure/oracle", "solver": "implicit"}
    jobs["no role"] = {"model": "howsure/oracle", "state_role": "system"}
    jobs["no setting"] = {"model": "howsure/oracle", "config": {"temprature": 0}}
    results = run(*({**job, "out": str(folder)} for job in jobs.values()))
    return dict(zip(jobs, results, strict=True))


@pytest.fixture
def noisy(played):
    """The log of a run with several epochs."""
    return Path(played["epochs"]["logs"][0])


@pytest.fixture(scope="module")
def entry_point(tmp_path_factory):
    """The environment of a machine on which the package is installed with the entry points of pyproject.toml."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    folder = tmp_path_factory.mktemp("site")
    installed = folder / "howsure_as_installed-1.0.dist-info"
    installed.mkdir()
    lines = [f"{name} = {module}" for name, module in project["entry-points"]["inspect_ai"].items()]
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: howsure-as-installed\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("\n".join(["[inspect_ai]", *lines]))
    return ENVIRONMENT | {"PYTHONPATH": str(folder)}


def test_players_play_in_inspect_as_they_do_without(played):
    direct = run_players(PLAYERS, ["median", "mode"], setting=Setting(**SHORT), n_samples=6, seed=3)
    logs = [log for key, result in played.items() if isinstance(key, tuple) for log in result["logs"]]
    keys = ["variant", "model", "seed"]
    assert samples_from_logs(logs).frame.select(FIGURES).sort(keys).equals(direct.frame.select(FIGURES).sort(keys))


def test_the_log_says_who_played(played):
    log = read_log(Path(played["window-5", "mode"]["logs"][0]), None)
    assert (log.eval.model, log.eval.task) == ("howsure/window-5", "howsure/track_the_stat")


def test_players_need_no_network(played):
    assert played["oracle", "median"]["addresses"] == played["mock"]["addresses"] == []
    assert played["mock"]["exit_code"] == 0


def test_games_of_players_cost_nothing(played):
    frame = samples_from_logs(played["random", "mode"]["logs"]).frame
    assert frame.select("input_tokens", "output_tokens", "reasoning_tokens").sum().row(0) == (0, 0, 0)


def test_a_complete_run_is_not_played_again(played):
    assert played["again"] == played["random", "mode"]
    assert played["again"]["exit_code"] == 0


def test_epochs_are_attempts_of_their_own(noisy):
    frame = samples_from_logs([noisy]).frame
    assert frame["attempt"].to_list() == [1] * 5 + [2] * 5 + [3] * 5
    lengths = frame.partition_by("attempt", maintain_order=True)
    assert lengths[0]["max_length"].to_list() != lengths[1]["max_length"].to_list()


def test_players_do_not_look_at_the_state(played, noisy):
    """In the first epoch a player that draws does so as with another solver and without Inspect."""
    direct = samples_from_logs([noisy]).frame.filter(attempt=1)
    for name, solver in (("shown", "explicit"), ("told", "explicit (assistant)")):
        explicit = samples_from_logs(played[name]["logs"]).frame
        assert explicit["solver"].unique().to_list() == [solver]
        assert explicit["max_length"].equals(direct["max_length"])


def test_inspects_own_metrics_are_over_all_games_too(noisy):
    turns = samples_from_logs([noisy]).frame["max_length"].to_numpy()
    with Archive(noisy) as archive:
        scores = json.loads(archive.read("header.json"))["results"]["scores"]
    metrics = {name.rpartition("/")[2]: told["value"] for one in scores for name, told in one["metrics"].items()}
    assert metrics == pytest.approx(
        {
            "avg_max_length": turns.mean(),
            "stddev_max_length": turns.std(),
            "median_max_length": np.median(turns),
            "max_max_length": turns.max(),
            "min_max_length": turns.min(),
            "violation_rate": 0,
        }
    )
    # the trap: of epochs that were averaged first, the spread and the extremes are others
    reduced = turns.reshape(3, 5).mean(axis=0)
    assert reduced.std() < turns.std()
    assert reduced.max() < turns.max()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nobody", "No player called 'nobody'. Choose from: oracle, random, largest, window-K, noisy-P."),
        ("no provider", "nowhere"),
        ("no provider named", "<api_name>/<model_name>"),
        ("no variant", "No variant called 'medain'. Did you mean 'median'?"),
        ("no solver", "No solver called 'implicit'."),
        ("no role", "No state_role called 'system'."),
        ("no setting", "No generation setting called 'temprature'. Did you mean 'temperature'?"),
    ],
)
def test_what_cannot_be_played_is_said_in_one_line(played, name, told):
    assert played[name]["error"].startswith("OptionError: ")
    assert told in played[name]["error"]
    assert "\n" not in played[name]["error"]


def test_inspects_command_finds_the_task_and_the_players(entry_point, tmp_path):
    options = {"variant": "mode", "samples": 4, "length": 9, "distractors": 0.5}
    pairs = [word for name, value in options.items() for word in ("-T", f"{name}={value}")]
    line = [
        "eval",
        "howsure/track_the_stat",
        *pairs,
        "--model",
        "howsure/largest",
        "--log-dir",
        tmp_path,
        "--display=none",
    ]
    done = inspect(*line, env=entry_point, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    setting = Setting(length=9, distractors=0.5)
    direct = run_players(["largest"], ["mode"], setting=setting, n_samples=4).frame
    assert samples_from_logs([tmp_path]).frame.select(FIGURES).equals(direct.select(FIGURES))


@pytest.mark.heavy
def test_inspects_own_score_command_finds_the_scorer(noisy, tmp_path):
    log = Path(shutil.copy(noisy, tmp_path))
    done = inspect("score", log, "--overwrite", "--action", "overwrite", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "avg_max_length" in done.stdout


@pytest.mark.heavy
def test_a_limit_set_in_inspect_is_no_violation(tmp_path):
    line = ["eval", "howsure/track_the_stat", "-T", "samples=2", "-T", "length=9", "--model", "howsure/oracle"]
    done = inspect(*line, "--message-limit=6", "--log-dir", tmp_path, "--display=none", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = samples_from_logs([tmp_path]).frame.select("max_length", "failure", "error_kind", "violation").rows()
    assert rows == [(2, "message_limit", None, 0)] * 2


def test_logs_of_other_tasks_and_empty_folders_are_refused(noisy, tmp_path):
    with Archive(noisy) as archive:
        parts = {name: archive.read(name) for name in archive.names}
    with zipfile.ZipFile(tmp_path / "other.eval", "w") as other:
        for name, data in parts.items():
            other.writestr(name, data.replace(b"howsure/track_the_stat", b"howsure/other"))
    with pytest.raises(InputError, match=r"is a log of 'howsure/other', not of 'track_the_stat'"):
        samples_from_logs([tmp_path])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="contains no Inspect log"):
        samples_from_logs([tmp_path / "empty"])
    with pytest.raises(InputError, match="no such file"):
        samples_from_logs([tmp_path / "absent"])


def test_runs_that_differ_in_a_setting_are_different_players(noisy, tmp_path):
    cold, warm = (tmp_path / name for name in ("cold.eval", "warm.eval"))
    for path, temperature in ((cold, 0), (warm, 1)):
        with_config(noisy, path, {"temperature": temperature, "max_retries": temperature})
    models = samples_from_logs([cold, warm]).frame["model"].unique().sort().to_list()
    assert models == ["noisy-0.2 (temperature=0)", "noisy-0.2 (temperature=1)"]
    both = samples_from_logs([noisy, with_config(noisy, tmp_path / "same.eval", {"max_retries": 3})]).frame
    assert both.select(pl.col("attempt").max(), pl.col("model").n_unique()).row(0) == (6, 1)


def with_config(log, path, config):
    """A log of another run with other generation settings."""
    with Archive(log) as archive, zipfile.ZipFile(path, "w") as copy:
        for name in archive.names:
            data = archive.read(name)
            if name == "header.json":
                header = json.loads(data)
                header["eval"] |= {"task_id": path.stem, "model_generate_config": config}
                data = json.dumps(header)
            copy.writestr(name, data)
    return path
