"""A log is columns that fit together, or it is refused with its column and rounds."""

import numpy as np
import pytest

from infex.errors import InvalidLog
from infex.features import disjoint
from infex.logs import Log, LogFacts


def small(**other: object) -> Log:
    columns: dict[str, object] = {"arm": [0, 1, 1, 0], "reward": [1.0, 0.0, np.nan, 2.0], "count": 3}
    return Log(**(columns | other))


def test_a_log_without_rounds_counts_them_from_one() -> None:
    log = small()
    assert log.round.tolist() == [1, 2, 3, 4]
    assert (len(log), log.count, log.dim) == (4, 3, None)
    assert log.rewarded.tolist() == [True, True, False, True]


def test_columns_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        small().reward[0] = 3.0


def test_how_many_arms_there_are_is_found() -> None:
    assert Log(arm=[0, 4], reward=[0.0, 0.0]).count == 5
    assert Log(arm=[0, 1], reward=[0.0, 0.0], labels=("a", "b", "c")).count == 3
    mapped = Log(arm=[0, 1], reward=[0.0, 0.0], context=np.ones((2, 4)) / 2, features=disjoint(7, 4))
    assert (mapped.count, mapped.dim) == (7, 28)
    assert Log(arm=[0], reward=[0.0], offers=np.zeros((1, 2, 3))).dim == 3
    assert Log(arm=[0], reward=[0.0], arms=np.zeros((2, 5))).dim == 5
    with pytest.raises(InvalidLog, match="differ in how many arms"):
        small(labels=("a", "b"))


def test_some_rows_are_a_log_too() -> None:
    log = small(time=np.array([1, 2, 3, 4]), others={"note": np.array(list("abcd"))}, arms=np.eye(3))
    some = log.take(np.array([1, 3]))
    assert some.round.tolist() == [2, 4]
    assert some.others["note"].tolist() == ["b", "d"]
    assert some.time is not None
    assert some.time.tolist() == [2, 4]
    assert some.arms is not None
    assert some.arms.shape == (3, 3)


def test_arms_go_by_label() -> None:
    log = small(labels=("a", "b", "c"))
    assert (log.label(1), log.place("c")) == ("b", 2)
    assert (small().label(1), small().place(2)) == (1, 2)
    for name in ("d", 1, True):
        with pytest.raises(InvalidLog, match="no arm of this log"):
            log.place(name)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"propensity": [0.5, 0.0, 0.5, -1.0]}, "propensity must lie above 0.*2 rows.*rounds 2, 4$"),
        ({"propensity": [0.5, 1.7, 0.5, 0.5]}, "1 row is not: round 2$"),
        (
            {"base_propensity": [2.0, 2.0, 2.0, 2.0]},
            "base_propensity must.*4 rows are not: rounds 1, 2, 3, ...",
        ),
        ({"explore_probability": [0.0, 1.1, 0.5, 0.5]}, "explore_probability must lie"),
        (
            {"explore_probability": [0.0, 1.0, 0.0, 0.0], "explored": [True, True, False, False]},
            "explored cannot.*round 1",
        ),
        ({"kept": [0.0, 1.0, 1.0, 1.0]}, "kept must"),
        ({"kept": [np.nan, 1.0, 1.0, 1.0]}, "kept must"),
        ({"reward": [1.0, np.inf, 0.0, 0.0]}, "reward must be finite.*round 2"),
        ({"reward": ["1", "2", "3", "4"]}, "reward must be a column of float64"),
        ({"reward": [1.0]}, "reward must have the shape"),
        ({"arm": [0, 3, 1, 0]}, "arm must be one of the 3 arms.*round 2"),
        ({"arm": [0, -1, 1, 0]}, "arm must be one of the 3"),
        ({"arm": [0.0, 1.0, 1.0, 0.0]}, "arm must be a column of int64"),
        ({"greedy": [0, -2, 1, 0]}, "greedy must"),
        ({"round": [1, 2, 2, 4]}, "round must increase.*round 2"),
        ({"round": [0, 2, 3, 4]}, "round must be 1 or more"),
        (
            {"round": [1, 2, 1, 1], "stream": ["a", "a", "b", "b"]},
            "round must increase.*1 row is not: round 1",
        ),
        ({"base_propensities": np.full((4, 3), 0.5)}, "base_propensities must add up to 1"),
        ({"base_propensities": [[1.5, -0.5, 0.0]] * 4}, r"base_propensities must lie in \[0, 1\]"),
        ({"base_propensities": np.full((4, 2), 0.5)}, "differ in how many arms"),
        ({"base_propensities": np.ones(4)}, "base_propensities must have 2 axes"),
        ({"offered": [[True, False, True]] * 4}, "arm must be one of the arms on offer; 2 rows"),
        (
            {
                "arm": [0] * 4,
                "offered": [[True, True, False]] * 4,
                "base_propensities": [[0.5, 0.0, 0.5]] * 4,
            },
            "base_propensities must be 0 for arms that are not on offer",
        ),
        ({"offers": np.full((4, 3, 2), np.nan)}, "offers must be finite"),
        ({"offers": np.zeros((3, 3, 2))}, "offers must have 4 rows"),
        ({"context": np.zeros((4, 2, 2))}, "context must have 4 rows"),
        ({"arms": np.zeros((3, 2, 2))}, r"arms must have the shape \(K, d\)"),
        ({"unit": np.arange(3)}, "unit must have the shape"),
        ({"others": {"note": np.arange(3)}}, "note must have 4 rows"),
        ({"arm": [], "reward": []}, "at least one row"),
    ],
)
def test_what_cannot_be_is_refused_with_its_column(columns: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidLog, match=words):
        small(**columns)


def test_rounds_rise_within_each_stream_by_itself() -> None:
    log = small(round=[1, 1, 2, 2], stream=np.array(["a", "b", "a", "b"]))
    assert log.round.tolist() == [1, 1, 2, 2]


def test_facts_are_checked() -> None:
    assert LogFacts(period=20, rewards=[0, 1]).rewards == (0.0, 1.0)
    for bad in ({"period": 0}, {"noise": 0.0}, {"penalty": -1.0}, {"rewards": (1, 0)}, {"rewards": 3}):
        with pytest.raises(InvalidLog):
            LogFacts(**bad)


def test_a_log_says_what_it_holds() -> None:
    assert repr(small()) == "Log(4 rounds, 3 arms: arm, reward, round)"


def test_explorations_that_could_play_one_arm_only_do_not_promise_weights() -> None:
    def explored_with(law: float) -> Log:
        drawn = {
            "explored": [False, True],
            "explore_probability": [0.0, 1.0],
            "base_propensity": [np.nan, law],
            "propensity": [1.0, law],
        }
        return Log(arm=[0, 1], reward=[0.0, 1.0], **drawn)

    assert "every arm had propensity 1: weights cannot evaluate any other policy" in str(explored_with(1.0))
    assert "explorations with known propensities can evaluate other policies" in str(explored_with(0.5))
