"""`infex log convert` turns logs of others, and of bandits, into Parquet and back."""

from pathlib import Path

import numpy as np
from click.testing import CliRunner, Result

from infex import Bandit, Infex, jittered
from infex.cli.main import main
from infex.logs import Log, read, write
from infex.policies import Uniform
from tests.logs.soft_log import soft_log
from tests.logs.test_formats import dsjson, same

SOFT = soft_log(n=200)


def convert(*words: object) -> Result:
    return CliRunner().invoke(main, ["log", "convert", *map(str, words)])


def test_events_become_parquet_and_events_again(tmp_path: Path) -> None:
    (tmp_path / "events.dsjson").write_text("\n".join(dsjson(SOFT, row) for row in range(200)))
    names = ("--context", "user.x0, user.x1", "--features", "item.size")
    found = convert(tmp_path / "events.dsjson", tmp_path / "year.parquet", *names)
    assert found.exit_code == 0, found.output
    assert found.output == f"written: {tmp_path / 'year.parquet'}, 200 rounds\n"
    log = read(tmp_path / "year.parquet")
    assert log.context is not None
    assert log.offers is not None
    assert np.array_equal(log.context, SOFT.context[:, :2])
    assert log.offers.shape == (200, 6, 1)
    assert convert(tmp_path / "year.parquet", tmp_path / "again.dsjson", "--to", "dsjson").exit_code == 0
    again = read(tmp_path / "again.dsjson")
    assert np.array_equal(again.reward, SOFT.reward)
    assert convert(tmp_path / "year.parquet", tmp_path / "obp.npz", "--to", "obp").exit_code == 0
    assert np.array_equal(read(tmp_path / "obp.npz").arm, SOFT.arm)


def test_the_log_of_a_bandit_becomes_parquet(tmp_path: Path) -> None:
    bandit = Bandit(np.eye(3), Infex(Uniform(), jittered(5)), log=tmp_path / "shop.log")
    for reward in range(12):
        bandit.tell(bandit.ask(), float(reward))
    assert convert(tmp_path / "shop.log", tmp_path / "year.parquet").exit_code == 0
    same(read(tmp_path / "shop.log"), read(tmp_path / "year.parquet"))


def test_parts_whose_columns_differ_are_written_whole(tmp_path: Path) -> None:
    write(Log(arm=[0, 1], reward=[1.0, 2.0]), tmp_path / "a.parquet")
    write(Log(arm=[0, 1], reward=[1.0, 2.0], round=[3, 4], propensity=[0.5, 0.5]), tmp_path / "b.parquet")
    both = read(tmp_path)
    assert both.propensity is not None
    assert np.isnan(both.propensity[:2]).all()
    lines = [dsjson(SOFT, row) for row in range(3)]
    (tmp_path / "plain.csv").write_text("shown,gain,when\n1,0.5,2\n0,0.25,1\n")
    names = ("--arm", "shown", "--reward", "gain", "--round", "when")
    assert convert(tmp_path / "plain.csv", tmp_path / "c.parquet", *names).exit_code == 2
    assert convert(tmp_path / "plain.csv", tmp_path / "c.parquet", *names, "--sort").exit_code == 0
    assert read(tmp_path / "c.parquet").reward.tolist() == [0.25, 0.5]
    (tmp_path / "bad").write_text("\n".join([*lines, "{"]))
    refused = convert(tmp_path / "bad", tmp_path / "d.parquet")
    assert refused.exit_code == 2
    assert "line 4 is not an event" in refused.output
    assert not (tmp_path / "d.parquet").exists()
