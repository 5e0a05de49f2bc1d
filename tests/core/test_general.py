"""The general loop refuses what does not fit, and reads no memory that was not given."""

from typing import Any

import numpy as np
import pytest

from infex.core.bank import RidgeBank
from infex.core.choosing import Base, Kind, Reads
from infex.core.controls import Control, ControlKind
from infex.core.estimators import WeightedFit
from infex.core.general import GeneralRun
from infex.core.models import DisjointModel, LassoModel, Model, RegressionModel, SharedModel
from infex.core.posterior import RidgePosterior
from infex.core.ridge import Ridge
from infex.core.runs import Law
from infex.errors import InvalidChoice, InvalidReward

ARMS, DIM, HORIZON = 4, 2, 30
NONE: Any = np.zeros(0, dtype=np.int64)


def columns() -> Any:
    return np.random.default_rng(1).normal(size=(DIM, ARMS)) / 2.0


def general(**changed: Any) -> GeneralRun:
    given: dict[str, Any] = {
        "model": RegressionModel(Ridge(columns())),
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


def contexts(**changed: Any) -> GeneralRun:
    given: dict[str, Any] = {
        "model": DisjointModel(RidgeBank(ARMS, DIM)),
        "base": Base(Kind.LINTS, Reads.READS_NOTHING, delta=0.01),
        "law": Law.SIGN,
    }
    return general(**(given | changed))


def in_contexts(**changed: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "exploring": NONE,
        "ends": np.arange(1, HORIZON + 1),
        "means": np.zeros((HORIZON, ARMS)),
        "offers": np.ones((HORIZON, DIM)),
    }
    return rounds(**(given | changed))


@pytest.mark.parametrize(
    "changed",
    [
        {"model": None},
        {"model": Model()},
        {"model": SharedModel()},
        {"base": None},
        {"noises": np.ones(ARMS - 1)},
        {"noises": np.ones((ARMS, 1))},
        {"horizon": 0},
        {"explored": RegressionModel(Ridge(np.ones((DIM, ARMS + 1))))},
        {"explored": RegressionModel(Ridge(np.ones((DIM + 1, ARMS))))},
        {"explored": RegressionModel(Ridge(columns()), changing=True)},
        {"explored": LassoModel(Ridge(columns()))},
        {"model": LassoModel(Ridge(columns()))},
        {
            "model": LassoModel(Ridge(columns())),
            "base": Base(Kind.UNIFORM, Reads.READS_NOTHING),
            "controls": [Control(ControlKind.LIMITS)],
        },
        {"delays": [0] * (HORIZON - 1)},
        {"delays": np.zeros((HORIZON, 1))},
        {"controls": [Control(ControlKind.LIMITS)] * 17},
        {"controls": [(ControlKind.LIMITS, False)]},
        {"spacing": 0},
        {"span": -1},
        {"rng": 7},
        {"law": "gaussian"},
        {"law": 99},
        {"controls": [Control(ControlKind.LIMITS, over=40)], "span": 5},
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
        {"exploring": np.array([-4, 2])},
        {"exploring": np.array([3, 3])},
        {"exploring": np.array([9, 2])},
        {"exploring": np.array([HORIZON + 1])},
        {"rewards": np.zeros((HORIZON, ARMS))},
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
    found = general(model=RegressionModel(Ridge(np.zeros((DIM, ARMS)), scored=False), changing=True))
    with pytest.raises(ValueError, match="arms or contexts must be"):
        found.play(**rounds(offers=np.zeros(shape)))


@pytest.mark.parametrize(
    "delays",
    [None, [0] * HORIZON, [-1] * HORIZON, [10**12] * HORIZON, [2**63 - 1] * HORIZON, [3, 0, -1] * 10],
    ids=str,
)
@pytest.mark.parametrize("kind", list(Kind), ids=lambda kind: kind.name)
def test_odd_delays_never_leave_the_arrays(delays: Any, kind: Kind) -> None:
    found = general(
        base=Base(kind, Reads.READS_WIDTHS, delta=0.01, rate=0.5), delays=delays, narrows=True, record=True
    )
    found.play(**rounds())
    assert found.counts.sum() == HORIZON
    np.testing.assert_array_equal(np.bincount(found.arms, minlength=ARMS), found.counts)


def test_rounds_are_played_in_their_order_and_once() -> None:
    found = general()
    for first, last in ((2, 3), (1, HORIZON + 1)):
        with pytest.raises(ValueError, match="do not go on from round 1"):
            found.play(**rounds(first=first, last=last, ends=np.array([last])))
    found.play(**rounds(last=4, exploring=NONE))
    with pytest.raises(ValueError, match="do not go on from round 5"):
        found.play(**rounds(last=4, exploring=NONE))
    assert found.counts.sum() == 4


@pytest.mark.parametrize("pauses", [[3, 3], [9, 2], [0], [HORIZON + 1]], ids=repr)
def test_pauses_that_do_not_rise_are_refused(pauses: list[int]) -> None:
    found = general(controls=[Control(ControlKind.PAUSES)])
    with pytest.raises(ValueError, match=rf"pauses must be rounds that rise, from 1 to {HORIZON}; got"):
        found.play(**rounds(pauses=[np.array(pauses)]))


@pytest.mark.parametrize(("kind", "over"), [(9, 0), (ControlKind.GUARDS, -1)])
def test_a_control_that_cannot_be_is_refused(kind: Any, over: int) -> None:
    with pytest.raises(ValueError, match="control"):
        Control(kind, over=over)


def test_given_rewards_are_those_of_the_arms_played() -> None:
    table = np.random.default_rng(7).normal(size=(HORIZON, ARMS))
    found = general(law=Law.TABLE, record=True)
    found.play(**rounds(rewards=table))
    np.testing.assert_array_equal(found.rewards, table[np.arange(HORIZON), found.arms])
    other = contexts(law=Law.TABLE, record=True)
    other.play(**in_contexts(rewards=table))
    np.testing.assert_array_equal(other.rewards, table[np.arange(HORIZON), other.arms])


@pytest.mark.parametrize(
    "table",
    [None, np.zeros((HORIZON, ARMS - 1)), np.zeros((HORIZON - 1, ARMS)), np.zeros(HORIZON)],
    ids=["none", "arms", "rounds", "one"],
)
def test_given_rewards_that_do_not_fit_are_refused(table: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        general(law=Law.TABLE).play(**rounds(rewards=table))
    with pytest.raises((TypeError, ValueError)):
        contexts(law=Law.TABLE).play(**in_contexts(rewards=table))


def test_an_infinite_reward_is_refused_with_its_round() -> None:
    table = np.zeros((HORIZON, ARMS))
    table[6] = np.inf
    with pytest.raises(InvalidReward, match="in round 7 it gave inf"):
        general(law=Law.TABLE).play(**rounds(rewards=table))


def test_rounds_that_the_caller_decides_are_those_of_the_base() -> None:
    """Whoever plays the arms of a run by hand gets that run."""
    whole = general(record=True)
    whole.play(**rounds())
    ridge = Ridge(columns())
    found = general(model=RegressionModel(ridge), record=True, asks=True)
    found.play(**rounds())
    waited = []
    while found.waiting:
        waited.append(found.next_round)
        beta = np.sqrt(ridge.log_det_ratio - 2.0 * np.log(0.01)) + 1.0
        assert found.play_arm(int(np.argmax(RidgePosterior(ridge).upper(beta))), True)
    assert waited == list(range(5, HORIZON + 1, 5))
    np.testing.assert_array_equal(found.arms, whole.arms)
    np.testing.assert_array_equal(found.rewards, whole.rewards)
    assert (found.explored, found.log_det_ratio) == (whole.explored, whole.log_det_ratio)
    assert ridge.told == HORIZON
    np.testing.assert_array_equal(ridge.counts[0], whole.counts)


def test_a_reward_is_learnt_on_the_features_that_are_named() -> None:
    ridge, x = Ridge(columns()), np.array([0.3, -0.2])
    found = general(model=RegressionModel(ridge), record=True, asks=True)
    found.play(**rounds(last=1, exploring=np.array([1])))
    found.play_arm(1, False, x)
    gram = np.eye(DIM) + np.outer(x, x)
    np.testing.assert_allclose(ridge.theta, np.linalg.solve(gram, found.rewards[0] * x))
    assert found.explored == 0
    assert ridge.counts.sum() == 0.0


def test_a_control_may_refuse_the_arm_of_the_caller_and_the_greedy_one_is_played() -> None:
    for limit, taken in ((-1.0, False), (0.0, True)):
        control = Control(ControlKind.GUARDS, limit=limit)
        found = general(record=True, asks=True, controls=[control])
        found.play(**rounds(last=1, exploring=np.array([1]), pauses=[NONE]))
        assert found.play_arm(1, True) is taken
        assert found.arms[0] == (1 if taken else 0)
        found.play(**rounds(first=2, last=HORIZON, exploring=NONE, pauses=[NONE]))
        assert found.explored == taken


@pytest.mark.parametrize(
    "chosen",
    [
        {"arm": ARMS},
        {"arm": -1},
        {"features": np.zeros(DIM + 1)},
        {"features": np.zeros((DIM, 1))},
        {"features": np.array([0.0, np.nan])},
    ],
    ids=repr,
)
def test_an_arm_that_cannot_be_played_is_refused_and_the_round_goes_on_waiting(
    chosen: dict[str, Any],
) -> None:
    found = general(asks=True)
    found.play(**rounds())
    with pytest.raises((ValueError, InvalidChoice)):
        found.play_arm(**({"arm": 0, "explores": True} | chosen))
    assert (found.waiting, found.next_round) == (True, 5)
    with pytest.raises(ValueError, match="round 5 is not played yet"):
        found.play(**rounds(first=5))


@pytest.mark.parametrize("made", [{"always": True}, {"delays": [0] * HORIZON}], ids=repr)
def test_a_run_that_leaves_no_round_to_the_caller_is_refused(made: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="leave no round to the caller"):
        general(asks=True, **made)
    with pytest.raises(ValueError, match="no round is waiting for an arm"):
        general().play_arm(0, True)


def test_an_estimator_must_fit_its_ridge() -> None:
    with pytest.raises(ValueError, match="3 features cannot learn 2"):
        RegressionModel(Ridge(columns()), fit=WeightedFit(3, 1.0))
    with pytest.raises(ValueError, match="4 weights"):
        RegressionModel(Ridge(columns()), fit=WeightedFit(2, 1.0), weights=np.ones(3))


def test_models_of_one_run_share_no_memory() -> None:
    ridge, fit, bank = Ridge(columns()), WeightedFit(2, 1.0), RidgeBank(ARMS, DIM)
    pairs: list[tuple[Model, Model]] = [
        (RegressionModel(ridge), RegressionModel(ridge)),
        (RegressionModel(ridge, fit=fit), RegressionModel(Ridge(columns()), fit=fit)),
        (DisjointModel(bank), DisjointModel(bank)),
    ]
    for model, explored in [*pairs, (pairs[0][0], pairs[0][0])]:
        with pytest.raises(ValueError, match="explored must be another model"):
            general(model=model, explored=explored)
    with pytest.raises(ValueError, match="screen must be another model"):
        LassoModel(ridge, screen=LassoModel(ridge))


def test_a_ridge_keeps_its_own_arms_after_a_run_over_drawn_ones() -> None:
    ridge = Ridge(np.ones((DIM, ARMS)), scored=False)
    found = general(model=RegressionModel(ridge, changing=True))
    found.play(**rounds(offers=np.random.default_rng(5).normal(size=(HORIZON, DIM, ARMS)) / 2.0))
    del found
    ridge.learn(1, 1.0)
    assert np.isfinite(ridge.theta).all()
    with pytest.raises(ValueError, match="read-only"):
        ridge.run[0] = 10.0**9


def test_arms_in_turn_are_played_in_contexts() -> None:
    found = contexts(base=Base(Kind.ROUND_ROBIN, Reads.READS_NOTHING), always=True, record=True)
    found.play(**in_contexts())
    np.testing.assert_array_equal(found.arms, np.arange(HORIZON) % ARMS)


def test_a_limit_of_explorations_is_kept_over_any_window() -> None:
    control = Control(ControlKind.LIMITS, limit=2.0, over=7)
    found = general(controls=[control], span=7, base=Base(Kind.UNIFORM, Reads.READS_NOTHING))
    found.play(**rounds(exploring=np.arange(1, HORIZON + 1), pauses=[NONE]))
    assert found.explored == 2 * HORIZON // 7 + 2  # rounds 1, 2, 8, 9, 15, 16, 22, 23, 29, 30


@pytest.mark.parametrize(
    "changed",
    [
        {"explored": DisjointModel(RidgeBank(ARMS, DIM + 1))},
        {"explored": RegressionModel(Ridge(columns()))},
        {"noises": np.ones(2)},
        {"base": Base(Kind.UCB1)},
        {"base": Base(Kind.LINUCB), "delays": [0] * HORIZON, "narrows": True},
        {"horizon": -1},
        {"rng": None},
    ],
    ids=repr,
)
def test_a_run_in_contexts_refuses_what_does_not_fit(changed: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError)):
        contexts(**changed).play(**in_contexts())


@pytest.mark.parametrize(
    "changed",
    [
        {"offers": None},
        {"offers": np.zeros((HORIZON, DIM + 1))},
        {"offers": np.zeros((HORIZON - 1, DIM))},
        {"offers": np.zeros((HORIZON, DIM, ARMS))},
        {"means": np.zeros((HORIZON, ARMS - 1))},
        {"means": np.zeros((HORIZON - 1, ARMS))},
        {"first": 2, "offers": np.zeros((HORIZON - 1, DIM))},
        {"first": 0, "offers": np.zeros((HORIZON + 1, DIM))},
    ],
    ids=repr,
)
def test_contexts_that_do_not_fit_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"contexts|means|rounds"):
        contexts().play(**in_contexts(**changed))


@pytest.mark.parametrize(
    "given",
    [(0, 2), (2, 0), (-1, 1), (2, 2, 0.0), (2, 2, np.nan), (2, 2, 1.0, np.zeros((2, 2, 3)))],
    ids=repr,
)
def test_a_bank_that_cannot_be_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match=r"arm|penalty|sums"):
        RidgeBank(*given)
