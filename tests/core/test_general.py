"""The general loop and that of contexts refuse what does not fit, and read no memory that was not given."""

from typing import Any

import numpy as np
import pytest

from infex.core.bank import RidgeBank
from infex.core.choosing import Base, Kind, Reads
from infex.core.contexts import ContextsRun
from infex.core.estimators import WeightedFit
from infex.core.general import GeneralRun
from infex.core.ridge import Ridge
from infex.core.runs import Law

ARMS, DIM, HORIZON = 4, 2, 30
NONE: Any = np.zeros(0, dtype=np.int64)
LIMITS, GUARDS, CERTAINTY, PAUSES = range(4)


def columns() -> Any:
    return np.random.default_rng(1).normal(size=(DIM, ARMS)) / 2.0


def general(**changed: Any) -> GeneralRun:
    given: dict[str, Any] = {
        "ridge": Ridge(columns()),
        "base": Base(Kind.LINUCB, Reads.READS_WIDTHS, delta=0.01),
        "law": Law.GAUSSIAN,
        "noises": np.ones(ARMS),
        "reward_rng": np.random.default_rng(2),
        "rng": np.random.default_rng(3),
        "horizon": HORIZON,
        "checkpoints": np.array([10, HORIZON]),
    }
    return GeneralRun(**(given | changed))


def rounds(**changed: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "first": 1,
        "last": HORIZON,
        "exploring": np.arange(5, HORIZON + 1, 5),
        "ends": np.array([HORIZON]),
        "means": np.zeros((1, ARMS)),
    }
    return given | changed


def contexts(**changed: Any) -> ContextsRun:
    given: dict[str, Any] = {
        "bank": RidgeBank(ARMS, DIM),
        "base": Base(Kind.LINTS, Reads.READS_NOTHING, delta=0.01),
        "law": Law.SIGN,
        "noises": np.ones(ARMS),
        "reward_rng": np.random.default_rng(2),
        "rng": np.random.default_rng(3),
        "horizon": HORIZON,
        "checkpoints": np.array([HORIZON]),
    }
    return ContextsRun(**(given | changed))


@pytest.mark.parametrize(
    "changed",
    [
        {"ridge": None},
        {"base": None},
        {"noises": np.ones(ARMS - 1)},
        {"noises": np.ones((ARMS, 1))},
        {"horizon": 0},
        {"apart": Ridge(np.ones((DIM, ARMS + 1)))},
        {"apart": Ridge(np.ones((DIM + 1, ARMS)))},
        {"delays": [0] * (HORIZON - 1)},
        {"delays": np.zeros((HORIZON, 1))},
        {"controls": [(LIMITS, False, 1.0, 0, 0.0, 0.0, 1.0, 0.0)] * 17},
        {"controls": [(LIMITS, False)]},
        {"spacing": 0},
        {"span": -1},
        {"rng": 7},
        {"law": "gaussian"},
        {"law": 99},
        {"fits": ()},
        {"fits": [WeightedFit(DIM, 1.0)]},
        {"controls": [(LIMITS, False, 1.0, 40, 0.0, 0.0, 1.0, 0.0)], "span": 5},
        {"controls": [(9, False, 1.0, 0, 0.0, 0.0, 1.0, 0.0)]},
    ],
    ids=repr,
)
def test_a_general_run_refuses_what_does_not_fit(changed: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError)):
        general(**changed).play(**rounds())


@pytest.mark.parametrize(
    "changed",
    [
        {"first": 0},
        {"last": HORIZON + 1},
        {"first": 9, "last": 8},
        {"means": np.zeros((1, ARMS - 1))},
        {"means": np.zeros((2, ARMS))},
        {"means": np.zeros((0, ARMS)), "ends": NONE},
        {"ends": np.array([HORIZON - 1])},
        {"means": np.zeros((2, ARMS)), "ends": np.array([HORIZON, 3])},
        {"exploring": np.zeros((2, 2), dtype=np.int64)},
        {"exploring": np.array([1.5])},
        {"pauses": [NONE]},
    ],
    ids=repr,
)
def test_rounds_that_do_not_fit_are_refused(changed: dict[str, Any]) -> None:
    found = general()
    with pytest.raises((TypeError, ValueError)):
        found.play(**rounds(**changed))
    assert found.counts.sum() == 0


@pytest.mark.parametrize(
    "shape", [(HORIZON - 1, DIM, ARMS), (HORIZON, DIM, ARMS + 1), (HORIZON, ARMS, DIM), (0, 0, 0)]
)
def test_arms_of_another_shape_are_refused_where_they_change(shape: tuple[int, ...]) -> None:
    found = general(ridge=Ridge(np.zeros((DIM, ARMS)), scored=False), changing=True)
    with pytest.raises(ValueError, match="arms must be"):
        found.play(**rounds(blocks=np.zeros(shape)))


@pytest.mark.parametrize("exploring", [[-4, 2], [3, 3], [9, 2], [10**15]], ids=repr)
@pytest.mark.parametrize(
    "delays",
    [None, [0] * HORIZON, [-1] * HORIZON, [10**12] * HORIZON, [2**63 - 1] * HORIZON, [3, 0, -1] * 10],
    ids=str,
)
@pytest.mark.parametrize("kind", list(Kind), ids=lambda kind: kind.name)
def test_odd_rounds_and_delays_never_leave_the_arrays(exploring: Any, delays: Any, kind: Kind) -> None:
    found = general(
        base=Base(kind, Reads.READS_WIDTHS, delta=0.01, rate=0.5), delays=delays, narrows=True, record=True
    )
    found.play(**rounds(exploring=np.array(exploring)))
    assert found.counts.sum() == HORIZON
    np.testing.assert_array_equal(np.bincount(found.arms, minlength=ARMS), found.counts)


def test_rounds_are_played_in_their_order_and_once() -> None:
    found = general()
    for first, last in ((2, 3), (1, HORIZON + 1)):
        with pytest.raises(ValueError, match="do not go on from round 1"):
            found.play(**rounds(first=first, last=last, ends=np.array([last])))
    found.play(**rounds(last=4))
    with pytest.raises(ValueError, match="do not go on from round 5"):
        found.play(**rounds(last=4))
    assert found.counts.sum() == 4


def test_an_estimator_must_fit_its_ridge() -> None:
    with pytest.raises(ValueError, match="3 features cannot learn 2"):
        general(fits=(WeightedFit(3, 1.0), None))
    shared = WeightedFit(2, 1.0)
    with pytest.raises(ValueError, match="of its own"):
        general(apart=Ridge(columns()), fits=(shared, shared))


def test_a_ridge_keeps_its_own_arms_after_a_run_over_drawn_ones() -> None:
    ridge = Ridge(np.ones((DIM, ARMS)), scored=False)
    found = general(ridge=ridge, changing=True)
    found.play(**rounds(blocks=np.random.default_rng(5).normal(size=(HORIZON, DIM, ARMS)) / 2.0))
    del found
    ridge.learn(1, 1.0)
    assert np.isfinite(ridge.theta).all()
    with pytest.raises(ValueError, match="read-only"):
        ridge.run[0] = 10.0**9


def test_arms_in_turn_are_played_in_contexts() -> None:
    found = contexts(base=Base(Kind.ROUND_ROBIN, Reads.READS_NOTHING), always=True, record=True)
    found.play(1, np.ones((HORIZON, DIM)), np.zeros((HORIZON, ARMS)), NONE)
    np.testing.assert_array_equal(found.arms, np.arange(HORIZON) % ARMS)


def test_a_limit_of_explorations_is_kept_over_any_window() -> None:
    control = (LIMITS, False, 2.0, 7, 0.0, 0.0, 1.0, 0.0)
    found = general(controls=[control], span=7, base=Base(Kind.UNIFORM, Reads.READS_NOTHING))
    found.play(**rounds(exploring=np.arange(1, HORIZON + 1), pauses=[NONE]))
    assert found.explored == 2 * HORIZON // 7 + 2  # rounds 1, 2, 8, 9, 15, 16, 22, 23, 29, 30


@pytest.mark.parametrize(
    "changed",
    [
        {"bank": None},
        {"own": RidgeBank(ARMS, DIM + 1)},
        {"noises": np.ones(2)},
        {"base": Base(Kind.UCB1)},
        {"horizon": -1},
        {"rng": None},
    ],
    ids=repr,
)
def test_a_run_in_contexts_refuses_what_does_not_fit(changed: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError)):
        contexts(**changed).play(1, np.zeros((HORIZON, DIM)), np.zeros((HORIZON, ARMS)), NONE)


@pytest.mark.parametrize(
    ("first", "given", "means"),
    [
        (1, (HORIZON, DIM + 1), (HORIZON, ARMS)),
        (1, (HORIZON, DIM), (HORIZON, ARMS - 1)),
        (1, (HORIZON, DIM), (HORIZON - 1, ARMS)),
        (2, (HORIZON, DIM), (HORIZON, ARMS)),
        (0, (HORIZON, DIM), (HORIZON, ARMS)),
    ],
)
def test_contexts_that_do_not_fit_are_refused(first: int, given: Any, means: Any) -> None:
    with pytest.raises(ValueError, match=r"contexts|rounds"):
        contexts().play(first, np.zeros(given), np.zeros(means), NONE)


@pytest.mark.parametrize(
    "given",
    [(0, 2), (2, 0), (-1, 1), (2, 2, 0.0), (2, 2, np.nan), (2, 2, 1.0, np.zeros((2, 2, 3)))],
    ids=repr,
)
def test_a_bank_that_cannot_be_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match=r"arm|penalty|sums"):
        RidgeBank(*given)
