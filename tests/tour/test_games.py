"""Games through Inspect are the same games; what goes wrong there is told in one line."""

import subprocess
import sys

import pytest

from howsure.errors import HowsureError
from howsure.tour.games import LENGTH, N_SAMPLES, YARDSTICKS, RunningGames, play_directly, playing

CAST = {"noisy-0.31000": "weak"}
SHOWN = ("model", "kind", "seed", "max_length", "length", "error_kind")


def test_inspect_gives_the_same_games_and_logs(tmp_path):
    pytest.importorskip("inspect_ai", reason="no Inspect: pip install 'howsure[run]'")
    with playing(CAST, 5) as under_way:
        games = under_way.finish()
    directly = play_directly(CAST, 5)
    assert games.samples.frame.select(SHOWN).sort(SHOWN).equals(directly.samples.frame.select(SHOWN).sort(SHOWN))
    assert len(games.logs) == len(CAST) + len(YARDSTICKS)
    assert not directly.logs
    written = games.save(tmp_path)
    assert {path.name for path in written} == {"samples.csv", *games.logs}
    assert all(path.stat().st_size > 1000 for path in written)
    directly.save(tmp_path)
    assert not list((tmp_path / "logs").iterdir())  # no log of an earlier tour stays


def test_players_stand_for_models_and_yardsticks_for_themselves():
    frame = play_directly(CAST, 1).samples.frame
    assert dict(frame.select("model", "kind").unique().iter_rows()) == {
        "weak": "model",
        **dict.fromkeys(YARDSTICKS, "baseline"),
    }
    assert set(frame["length"]) == {LENGTH}
    assert frame.group_by("model").len()["len"].to_list() == [N_SAMPLES] * 2


def test_models_do_not_err_in_the_same_turns():
    """With one seed for all, a player who slips twice as often would err wherever the other does."""
    frame = play_directly({"noisy-0.10000": "a", "noisy-0.10001": "b"}, 2).samples.frame
    a, b = (frame.filter(model=name)["max_length"].to_list() for name in ("a", "b"))
    assert a != b


def test_a_failure_is_one_line(tmp_path):
    line = [sys.executable, "-c", "import sys; print('first', file=sys.stderr); sys.exit('no room left.')"]
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    with pytest.raises(HowsureError, match=r"no room left\. Pass quick"):
        RunningGames(process, tmp_path, {}).finish()


def test_games_under_way_end_with_the_tour():
    with pytest.raises(KeyboardInterrupt), playing({"noisy-0.00001": "endless"}, 1) as under_way:
        raise KeyboardInterrupt
    assert under_way.process.poll() is not None
    assert not under_way.folder.exists()
