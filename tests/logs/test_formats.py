"""Logs of others are read as they were meant, and what is written is read again to the last bit."""

import json
from pathlib import Path

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from infex.checks import settings_by_name
from infex.errors import InvalidLog
from infex.features import disjoint
from infex.logs import ColumnNames, Log, LogFacts, read, read_parts, table_of, write
from tests.logs.soft_log import VW_VALUES, SoftLog, soft_log

SOFT = soft_log()


def ips(log: Log, target: np.ndarray) -> float:
    assert log.propensity is not None
    return float(np.mean(target[np.arange(len(log)), log.arm] / log.propensity * log.reward))


def same(one: Log, other: Log) -> None:
    """Two logs are the same to the last bit."""
    mine, theirs = settings_by_name(one), settings_by_name(other)
    for name, value in mine.items():
        if isinstance(value, np.ndarray):
            assert value.dtype == theirs[name].dtype, name
            assert value.tobytes() == theirs[name].tobytes(), name
        elif name == "others":
            assert value.keys() == theirs[name].keys()
            for key, column in value.items():
                assert np.array_equal(column, theirs[name][key]), key
        else:
            assert value == theirs[name], name


def full(seed: int, n: int = 40, count: int = 5, dim: int = 3) -> Log:
    """A log with every kind of column in it, some of them with nulls."""
    rng = np.random.default_rng(seed)
    explored = rng.random(n) < 0.4
    offered = rng.random((n, count)) < 0.8
    arm = rng.integers(count, size=n)
    offered[np.arange(n), arm] = True
    laws = np.where(offered, rng.random((n, count)), 0.0)
    laws[~explored] = np.nan
    laws /= laws.sum(axis=1, keepdims=True)
    return Log(
        round=np.cumsum(rng.integers(1, 4, size=n)),
        arm=arm,
        reward=np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
        propensity=rng.random(n) * 0.9 + 0.1,
        explore_probability=np.where(explored, 0.5, rng.choice([0.0, 0.25], size=n)),
        base_propensity=np.where(explored, laws[np.arange(n), arm], np.nan),
        explored=explored,
        greedy=rng.integers(-1, count, size=n),
        base_propensities=laws,
        offers=np.where(offered[:, :, None], rng.normal(size=(n, count, dim)), 0.0),
        offered=offered,
        context=rng.normal(size=(n, 2)),
        labels=tuple(f"arm {k}" for k in range(count)),
        kept=rng.random(n) * 0.5 + 0.5,
        unit=np.array([f"who {k}" for k in rng.integers(9, size=n)]),
        time=np.datetime64("2026-01-01", "us") + rng.integers(10**12, size=n),
        facts=LogFacts(
            policy="Greedy", schedule="jittered(5, seed=1)", period=5, penalty=0.1, rewards=(-9, 9)
        ),
        others={"id": np.array([f"id-{k}" for k in range(n)]), "weight": rng.random(n)},
    )


@pytest.mark.parametrize("seed", range(3))
def test_a_log_is_read_as_it_was_written(seed: int, tmp_path: Path) -> None:
    log = full(seed)
    write(log, tmp_path / "log.parquet")
    same(log, read(tmp_path / "log.parquet"))
    parts = list(read_parts(tmp_path / "log.parquet", rows=7))
    assert [len(part) for part in parts] == [7, 7, 7, 7, 7, 5]
    write(parts, tmp_path / "again.parquet")
    same(log, read(tmp_path / "again.parquet"))
    same(log, read(table_of(log)))
    fixed = Log(arm=[0, 1], reward=[0.1, np.nan], arms=np.eye(2) / 3, labels=("x", "y"))
    write(fixed, tmp_path / "fixed.parquet")
    same(fixed, read(tmp_path / "fixed.parquet"))
    mapped = Log(arm=[0, 1], reward=[0.1, 1e-300], context=np.eye(2) / 3, features=disjoint(["x", "y"], 2))
    write(mapped, tmp_path / "mapped.parquet")
    assert read(tmp_path / "mapped.parquet").features == mapped.features


def test_several_files_in_a_folder_are_one_log(tmp_path: Path) -> None:
    log = full(4)
    write(log.take(slice(0, 25)), tmp_path / "a.parquet")
    write(log.take(slice(25, None)), tmp_path / "b.parquet")
    same(log, read(tmp_path))


def test_the_form_of_the_schema_is_written_down(tmp_path: Path) -> None:
    write(full(1), tmp_path / "log.parquet")
    table = pq.read_table(tmp_path / "log.parquet")
    said = json.loads(table.schema.metadata[b"infex"])
    assert (said["format"], said["schedule"], said["period"]) == (1, "jittered(5, seed=1)", 5)
    assert table.schema.field("arm").type == pa.int32()
    assert table.schema.field("reward").nullable
    newer = table.replace_schema_metadata({"infex": json.dumps(said | {"format": 2})})
    pq.write_table(newer, tmp_path / "newer.parquet")
    with pytest.raises(InvalidLog, match="format 2"):
        read(tmp_path / "newer.parquet")


def dsjson(log: SoftLog, row: int) -> str:
    """A line as Vowpal Wabbit has it: arms by rank, chances in that order, a cost."""
    ranked = sorted(range(6), key=lambda arm: (arm != log.arm[row], -log.chances[row, arm]))
    context = {f"x{k}": value for k, value in enumerate(log.context[row].tolist())}
    return json.dumps(
        {
            "_label_cost": -float(log.reward[row]),
            "_label_probability": float(log.propensity[row]),
            "_label_Action": int(log.arm[row]) + 1,
            "_labelIndex": int(log.arm[row]),
            "EventId": f"event {row}",
            "Timestamp": "2026-11-17T03:00:00.0000000Z",
            "a": [arm + 1 for arm in ranked],
            "p": [float(log.chances[row, arm]) for arm in ranked],
            "c": {
                "user": context,
                "_multi": [{"item": {"id": f"i{arm}", "size": arm / 8}} for arm in range(6)],
            },
            "VWState": {"m": "none"},
        }
    )


@pytest.mark.parametrize("form", ["dsjson", "csv", "table", "pandas", "polars", "obp"])
def test_the_same_rows_have_the_value_that_vowpal_wabbit_tells(form: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    frame = pd.DataFrame({"shown": SOFT.arm, "click": SOFT.reward, "p": SOFT.propensity})
    names = {"arm": "shown", "reward": "click", "propensity": "p"}
    if form == "dsjson":
        path.write_text("\n".join(dsjson(SOFT, row) for row in range(1500)))
        log = read(path)
        assert log.base_propensities is not None
        assert np.array_equal(log.base_propensities, SOFT.chances)
    elif form == "csv":
        frame.to_csv(path, index=False)
        log = read(path, **names)
    elif form == "table":
        frame.to_parquet(path)
        log = read(path, **names)
    elif form == "pandas":
        log = read(frame, **names)
    elif form == "polars":
        log = read(pl.from_pandas(frame), **names)
    else:
        log = read({"action": SOFT.arm, "reward": SOFT.reward, "pscore": SOFT.propensity, "position": None})
    for target, value in VW_VALUES.items():
        assert ips(log, SOFT.targets[target]) == pytest.approx(value, rel=1e-12)


def test_features_of_events_become_numbers(tmp_path: Path) -> None:
    path = tmp_path / "ds"
    path.write_text("\n".join(dsjson(SOFT, row) for row in range(5)))
    log = read(path, context=["user.x0", "user.x3"], arms=["item.size", "item.id=i2"])
    assert log.context is not None
    assert log.offers is not None
    assert np.array_equal(log.context, SOFT.context[:5, [0, 3]])
    assert log.offers[3].tolist() == [[k / 8, float(k == 2)] for k in range(6)]
    with pytest.raises(InvalidLog, match=r"no event has a feature called 'user.x9'"):
        read(path, context="user.x9")


def test_rows_that_were_dropped_or_not_to_be_learnt_from(tmp_path: Path) -> None:
    lines = [json.loads(dsjson(SOFT, row)) for row in range(4)]
    lines[1]["_skipLearn"] = True
    lines[2]["pdrop"] = 0.75
    lines[0]["pdrop"] = 0.0
    lines[3]["pdrop"] = 0.0
    (tmp_path / "ds").write_text("\n".join(map(json.dumps, lines)))
    log = read(tmp_path / "ds")
    assert log.kept is not None
    assert (log.round.tolist(), log.kept.tolist()) == ([1, 3, 4], [1.0, 0.25, 1.0])
    assert log.others["id"].tolist() == ["event 0", "event 2", "event 3"]
    assert log.time is not None
    assert str(log.time[0]) == "2026-11-17T03:00:00.000000"


def test_arms_that_differ_in_number_are_on_offer_where_they_are(tmp_path: Path) -> None:
    played = [(0, -1.0, 0.5, [1, 2]), (1, 2.0, 0.25, [3, 4, 5])]
    events = [
        {
            "_label_cost": cost,
            "_label_probability": propensity,
            "_labelIndex": arm,
            "c": {"_multi": [{"x": each} for each in values]},
        }
        for arm, cost, propensity, values in played
    ]
    (tmp_path / "ds").write_text("\n".join(map(json.dumps, events)))
    log = read(tmp_path / "ds", arms="x")
    assert log.offered is not None
    assert log.offers is not None
    assert log.offered.tolist() == [[True, True, False], [True, True, True]]
    assert log.offers[:, :, 0].tolist() == [[1, 2, 0], [3, 4, 5]]
    assert (log.arm.tolist(), log.reward.tolist()) == ([0, 1], [1.0, -2.0])
    bare = read(tmp_path / "ds")
    assert bare.offered is not None
    assert bare.offered.tolist() == log.offered.tolist()


def test_chances_in_single_precision_add_up_to_one(tmp_path: Path) -> None:
    lines = [json.loads(dsjson(SOFT, row)) for row in range(3)]
    for line in lines:
        line["p"] = np.float32(line["p"]).tolist()
    (tmp_path / "ds").write_text("\n".join(map(json.dumps, lines)))
    log = read(tmp_path / "ds")
    assert log.base_propensities is not None
    assert np.allclose(log.base_propensities, SOFT.chances[:3], atol=1e-7)
    assert np.abs(log.base_propensities.sum(axis=1) - 1.0).max() < 1e-12
    lines[1]["p"][0] = 0.9
    (tmp_path / "ds").write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(InvalidLog, match="add up to 1; 1 row is not: round 2"):
        read(tmp_path / "ds")


def plain(columns: dict[str, object] | None = None) -> Log:
    return Log(
        arm=SOFT.arm,
        reward=SOFT.reward,
        propensity=SOFT.propensity,
        context=SOFT.context,
        base_propensities=SOFT.chances,
        **(columns or {}),
    )


def test_what_is_written_for_others_is_read_again(tmp_path: Path) -> None:
    log = plain({"kept": np.full(1500, 0.3)})
    write(log, tmp_path / "ds", form="dsjson")
    names = [f"context.x{k}" for k in range(4)]
    again = read(tmp_path / "ds", context=names)
    for name in ("arm", "reward", "propensity", "context", "base_propensities", "kept", "round"):
        assert np.array_equal(settings_by_name(log)[name], settings_by_name(again)[name]), name
    log = plain({"others": {"position": np.arange(1500) % 3}})
    write(log, tmp_path / "obp.npz", form="obp")
    same(log, read(tmp_path / "obp.npz"))
    feedback = dict(np.load(tmp_path / "obp.npz"))
    assert feedback["pi_b"].shape == (1500, 6, 1)
    assert feedback["n_actions"] == 6
    for form in ("obp", "dsjson"):
        with pytest.raises(InvalidLog, match="no missing rewards"):
            write(Log(arm=[0], reward=[np.nan], propensity=[1.0]), tmp_path / "no", form=form)
        with pytest.raises(InvalidLog, match="needs the propensity"):
            write(Log(arm=[0], reward=[1.0]), tmp_path / "no", form=form)
    assert not (tmp_path / "no").exists()


def test_positions_of_a_slate_choose_their_chances() -> None:
    rng = np.random.default_rng(0)
    chances = rng.dirichlet(np.ones(4), size=(6, 3)).transpose(0, 2, 1)
    feedback = {
        "action": [0, 1, 2, 3, 0, 1],
        "reward": np.ones(6),
        "pi_b": chances,
        "position": [0, 1, 2, 0, 1, 2],
    }
    log = read(feedback)
    assert log.base_propensities is not None
    assert np.array_equal(log.base_propensities[4], chances[4, :, 1])
    with pytest.raises(InvalidLog, match="several positions"):
        read(feedback | {"position": None})


def test_contexts_may_be_several_columns(tmp_path: Path) -> None:
    frame = pl.DataFrame({"arm": ["x", "y"], "reward": [1.0, 2.0], "age": [30, 40], "visits": [0.5, 1.5]})
    log = read(frame, context=["age", "visits"], labels=["y", "x"])
    assert log.context is not None
    assert log.context.tolist() == [[30.0, 0.5], [40.0, 1.5]]
    assert (log.arm.tolist(), log.labels) == ([1, 0], ("y", "x"))
    frame.write_csv(tmp_path / "log.csv")
    parts = list(read_parts(tmp_path / "log.csv", names=ColumnNames(context=("visits",))))
    assert parts[0].labels == ("x", "y")
    with pytest.raises(InvalidLog, match="labels; 1 rows are not"):
        read(frame, labels=["y"])


def test_rows_out_of_order_are_refused_or_sorted() -> None:
    table = pa.table({"arm": [0, 1, 0], "reward": [1.0, 2.0, 3.0], "round": [2, 1, 5]})
    with pytest.raises(InvalidLog, match="round must increase"):
        read(table)
    assert read(table, sort=True).reward.tolist() == [2.0, 1.0, 3.0]
    with pytest.raises(InvalidLog, match="round must increase"):
        list(read_parts(table, rows=1))


TABLE = {"arm": [0, 1, 1], "reward": [1.0, 0.0, 0.5], "propensity": [0.5, 0.5, 0.25], "round": [4, 5, 9]}


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"reward": pa.array([1.0, np.nan, 2.0])}, "reward must be a number or null; 1 row is not: round 5"),
        ({"reward": [1.0, np.inf, 2.0]}, "reward must be finite, at most 1e100; 1 row is not: round 5"),
        ({"reward": ["a", "b", "secret"]}, "column .reward. must hold numbers, and row 1 holds a text"),
        ({"propensity": [0.0, 1.5, -1.0]}, "propensity must lie above 0.*3 rows are not: rounds 4, 5, 9"),
        ({"arm": [0, None, 1]}, "arm must be there in every row; 1 row is not: round 5"),
        ({"arm": [0.5, 0.0, 1.0]}, "arm must be a whole number; 1 row is not: round 4"),
        ({"round": [4, 4, 9]}, "round must increase"),
        (
            {"base_propensities": [[0.5, 0.5], [0.9, 0.5], None]},
            "base_propensities must add up to 1; 1 row is not: round 5",
        ),
        (
            {"base_propensities": [[0.5, None], [0.5, 0.5], None]},
            "base_propensities must have no null inside; 1 row is not: round 4",
        ),
        ({"base_propensities": [1.0, 1.0, 1.0]}, "base_propensities must hold lists, and holds double"),
        ({"arms": [[[1.0], [2.0]], [[1.0], [2.0, 3.0]], [[1.0], [2.0]]]}, "arms must have 2 features each"),
        (
            {"arms": [[[1.0], [2.0]], None, [[1.0], [2.0]]]},
            "arms must be there in every row, or in none; .*round 5",
        ),
        (
            {"arms": [[[1.0], [np.inf]], [[1.0], [1.0]], [[1.0], [2.0]]]},
            "arms must be finite; 1 row is not: round 4",
        ),
        (
            {"arms": [[[1.0], None], [[1.0], None], [[1.0], [2.0]]]},
            "arm must be one of the arms on offer.*round 5",
        ),
        ({"context": [[1.0], [1.0, 2.0], [1.0]]}, "context must have 2 numbers in each row; 2 rows"),
        ({"explored": [True, False, None]}, "explored must be true or false; 1 row is not: round 9"),
        (
            {"explore_probability": [0.5, 2.0, 0.5]},
            r"explore_probability must lie in \[0, 1\]; 1 row is not: round 5",
        ),
        ({"greedy": [0, 5, 1]}, "greedy must be one of the 2 arms"),
    ],
)
def test_what_cannot_be_is_refused_with_its_rounds(columns: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidLog, match=words) as refused:
        read(pa.table(TABLE | columns))
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "this file is empty"),
        ("\n\n", "log: this is not a log that can be read"),
        (
            "a,b\n1,2\n",
            "needs a column for arm, and none is called 'arm': name the one it is; there are a, b",
        ),
        ("arm,reward\n", "at least one row"),
        ("arm,reward\n1,secret\n", "reward.{1,2}must hold numbers"),
        ("arm,reward\ntea,1\n,0\njuice,1\n", "arm must be there in every row; 1 row has none"),
        ("arm,reward\n3,1\n,0\n2,1\n", "arm must be there in every row; 1 row is not: round 2"),
        ('{"a": 1}\n', "line 1 has no _label_cost"),
        (
            '{"_label_cost": 1, "_label_probability": 0.5, "_labelIndex": 0}\n{"secret',
            "line 2 is not an event",
        ),
        ('{"_label_cost": NaN, "_label_probability": 0.5, "_labelIndex": 0}\n', "line 1 is not an event"),
        (
            '{"_label_cost": 1, "_label_probability": "secret", "_labelIndex": 0}\n',
            "_label_probability must be a number",
        ),
        ('{"_label_cost": 1, "_label_probability": 1, "_labelIndex": 1, "_label_Action": 1}\n', "one arm"),
        (
            '{"_label_cost": 1, "_label_probability": 0.5, "_labelIndex": 0, "pdrop": 1}\n',
            "kept must lie above 0",
        ),
    ],
)
def test_text_that_is_no_log_is_refused_in_one_line(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(text)
    with pytest.raises(InvalidLog, match=words) as refused:
        read(tmp_path / "log")
    said = str(refused.value)
    assert "secret" not in said
    assert "\n" not in said
    assert said.startswith(str(tmp_path))


def test_what_is_no_log_at_all_is_refused(tmp_path: Path) -> None:
    for source in (3, None, object(), {"reward": [1.0]}, [], ["text"], tmp_path, tmp_path / "none"):
        with pytest.raises(InvalidLog):
            read(source)
    with pytest.raises(InvalidLog, match="form must be one of"):
        read(TABLE, form="excel")
    with pytest.raises(InvalidLog, match="form must be one of"):
        write(plain(), tmp_path / "x", form="excel")
    with pytest.raises(InvalidLog, match="no column is called 'p'; there are arm"):
        read(pa.table(TABLE), propensity="p")
    (tmp_path / "b.npz").write_bytes(b"PK\x03\x04 torn")
    with pytest.raises(InvalidLog, match="BadZipFile"):
        read(tmp_path / "b.npz")
    assert read(read(TABLE)).arm.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("word", "missing"), [("", True), ("null", True), ("NaN", False), ("nan", False), ("-inf", False)]
)
def test_a_reward_of_a_csv_is_missing_or_is_no_number(tmp_path: Path, word: str, missing: bool) -> None:
    """Arrow takes NaN for a null, so that it was counted as missing."""
    (tmp_path / "log.csv").write_text(f"arm,reward,propensity\n0,1.0,0.5\n1,{word},0.5\n0,0.0,0.5\n")
    if missing:
        assert read(tmp_path / "log.csv").rewarded.tolist() == [True, False, True]
        return
    with pytest.raises(InvalidLog, match="reward"):
        read(tmp_path / "log.csv")
