"""Attempts as counts: the same wherever the files are counted, and the same results as from the attempts themselves."""

import numpy as np
import polars as pl
import pytest

import howsure
from howsure.errors import InputError, OptionError
from howsure.sources.counting import count_attempts
from howsure.tables import Attempts
from test_compute import Cluster

N_FILES = 5


@pytest.fixture
def folder(tmp_path):
    """Files that each hold some attempts of every model at every task, under two prompts."""
    rng = np.random.default_rng(4)
    for number in range(N_FILES):
        index = np.arange(400)
        frame = pl.DataFrame(
            {
                "model": [f"m{i % 4}" for i in index],
                "task": [f"t{i // 4 % 50}" for i in index],
                "attempt": 2 * number + 1 + index // 200,
                "prompt": ["plain" if i // 200 else "long" for i in index],
                "score": (rng.random(400) < 0.4).astype(int),
                "seconds": rng.random(400),
            }
        )
        frame.write_parquet(tmp_path / f"part-{number}.parquet")
    return tmp_path


def test_counts_give_the_results_of_the_attempts(folder):
    attempts = howsure.read(folder, wanted="attempts")
    counts = count_attempts(folder)
    assert len(counts) == 4 * 50 * 2
    assert int(counts.frame["n"].sum()) == len(attempts) == 2000
    by = ("subject", "task", "prompt")
    assert counts.counts(*by).equals(attempts.counts(*by))
    assert counts.notes[0] == f"2,000 rows of {N_FILES} files: 2,000 attempts counted."


def test_means_and_intervals_agree(folder):
    made, raw = (
        howsure.summary(one).to_frame() for one in (count_attempts(folder), howsure.read(folder, wanted="attempts"))
    )
    for name in ("mean", "mean_low", "mean_high", "se"):
        assert made[name].to_list() == pytest.approx(raw[name].to_list(), rel=1e-9)


def test_numbers_of_attempts_are_ranked_over_all_files(folder):
    """Ranked within its own file, every second file began at 1 again."""
    table = howsure.read(folder, wanted="attempts")
    tried = table.frame.group_by("subject", "task").agg(pl.col("attempt").sort())["attempt"]
    assert all(one == list(range(1, 2 * N_FILES + 1)) for one in tried.to_list())
    for path in folder.glob("*.parquet"):
        pl.read_parquet(path).with_columns(pl.col("attempt") * 10).write_parquet(path)
    assert howsure.read(folder, wanted="attempts").frame["attempt"].equals(table.frame["attempt"])


def test_any_format_is_counted(tmp_path):
    (tmp_path / "a.csv").write_text("llm,question_id,passed\na,q1,yes\na,q1,no\na,q2,\n")
    (tmp_path / "b.jsonl").write_text('{"subject": "b", "task": "q1", "n": 5, "n_success": 2}\n')
    counts = count_attempts(tmp_path)
    assert counts.frame.select("subject", "task", "n", "n_success").rows() == [
        *(("a", "q1", 2, 1), ("a", "q2", 1, None), ("b", "q1", 5, 2)),
    ]
    assert counts.notes[0] == "4 rows of 2 files: 8 attempts counted."


def test_attempts_without_a_score_are_counted_by_outcome(tmp_path):
    rows = ["a,q1,1,", "a,q1,,late", "a,q1,,gone", "a,q1,0,", "a,q1,,"]
    (tmp_path / "a.csv").write_text("model,item,score,error\n" + "\n".join(rows))
    (tmp_path / "b.csv").write_text("model,item,score\na,q1,1\nb,q1,0\nb,q2,timeout\n")
    (tmp_path / "c.csv").write_text("model,item,score\nb,q2,timeout\n")
    counts = count_attempts(tmp_path)
    assert counts.frame.sort("subject", "task", "outcome").select(
        "subject", "task", "outcome", "n", "n_success", "reason"
    ).rows() == [
        ("a", "q1", "errored", 2, None, "several reasons"),
        ("a", "q1", "scored", 3, 2, None),
        ("a", "q1", "unscored", 1, None, "blank"),
        ("b", "q1", "scored", 1, 0, None),
        ("b", "q2", "errored", 2, None, "timeout"),
    ]
    assert "5 of 9 attempts have no score: 4 errored, 1 unscored." in counts.notes
    one = count_attempts([tmp_path / "a.csv", tmp_path / "b.csv"])
    rows = howsure.read([tmp_path / "a.csv", tmp_path / "b.csv"], wanted="attempts")
    for rule in ("errored=wrong,unscored=wrong", "errored=wrong", "errored=drop"):
        assert one.counting(rule).counted.counts("subject").equals(rows.counting(rule).counted.counts("subject"))


def test_what_cannot_be_counted_is_named(folder):
    path = folder / "part-0.parquet"
    assert len(count_attempts([path, folder]).frame.filter(pl.col("n") != N_FILES)) == 0  # named twice, read once
    (folder / "copy.parquet").write_bytes(path.read_bytes())
    with pytest.raises(
        InputError, match=r"Of the 12 attempts of m0 on t0, two have the same number .*Is a file there twice"
    ):
        count_attempts(folder)
    (folder / "copy.parquet").unlink()
    (folder / "broken.parquet").write_bytes(path.read_bytes()[:-50])
    assert "1 file was not read (damaged): broken.parquet" in count_attempts(folder).notes[-1]
    with pytest.raises(InputError, match=r"broken\.parquet: not a whole parquet file"):
        count_attempts(folder, strict=True)
    pl.DataFrame({"model": ["a"], "item": ["q"], "score": [0.5]}).write_csv(folder / "half.csv")
    with pytest.raises(InputError, match=r"half\.csv: score 0\.5 is neither 0 nor 1, and cannot be counted"):
        count_attempts(folder / "half.csv")
    pl.DataFrame({"model": ["a"], "benchmark": ["q"], "score": [0.5]}).write_csv(folder / "scores.csv")
    with pytest.raises(InputError, match=r"cannot be counted"):
        count_attempts(folder / "scores.csv")


def test_the_command_writes_counts(folder, command):
    out = folder / "out" / "counts.parquet"
    told = command("convert", folder, out, "--counts")
    assert told.returncode == 0, told.stderr
    assert "2,000 attempts counted" in told.stderr
    assert Attempts(out).counts("subject").equals(count_attempts(folder / "*.parquet").counts("subject"))
    assert "pass --counts as well" in command("convert", folder, out, "--scheduler", "tcp://127.0.0.1:1").stderr
    with pytest.raises(OptionError, match="pass counts as well"):
        howsure.convert(folder, out, scheduler="tcp://127.0.0.1:1")


@pytest.mark.heavy
def test_a_cluster_that_loses_its_worker_gives_the_same_counts(folder, tmp_path_factory):
    here = count_attempts(folder)
    with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        (victim,) = cluster.add_workers(1)

        def replace(done, total):
            if done == 1:
                victim.kill()
                cluster.start_worker()

        there = count_attempts(folder, scheduler=cluster.address, progress=replace)
        assert victim.wait(30)
        assert there.frame.equals(here.frame)
        assert there.notes == here.notes
        (folder / "copy.parquet").write_bytes((folder / "part-0.parquet").read_bytes())
        with pytest.raises(InputError, match="Is a file there twice"):
            count_attempts(folder, scheduler=cluster.address)
