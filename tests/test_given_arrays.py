"""What is made from a caller's arrays keeps copies: changing the arrays afterwards changes nothing."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import infex
from infex import Bandit, Greedy, LinUCB, features
from infex.arrays import Floats
from infex.features import Encoded, EncodedMany
from infex.lab import environments
from infex.lab.environments import ChangingInstance, ContextualInstance, LinearInstance
from infex.lab.environments.instances import OfferSets
from infex.logs import Log, read

ROUNDS = 4
COLUMNS: dict[str, Any] = {
    "arm": np.array([0, 1, 1, 0]),
    "reward": np.array([1.0, 0.0, 0.5, 2.0]),
    "round": np.array([1, 2, 3, 4]),
    "propensity": np.full(ROUNDS, 0.5),
    "explore_probability": np.full(ROUNDS, 0.5),
    "base_propensity": np.full(ROUNDS, 0.5),
    "explored": np.array([True, False, True, True]),
    "greedy": np.array([0, 0, 1, 1]),
    "base_propensities": np.full((ROUNDS, 2), 0.5),
    "offers": np.full((ROUNDS, 2, 3), 0.25),
    "arms": np.full((2, 3), 0.25),
    "context": np.full((ROUNDS, 3), 0.25),
    "offered": np.ones((ROUNDS, 2), dtype=bool),
    "kept": np.full(ROUNDS, 0.5),
    "unit": np.array([7, 8, 9, 10]),
    "stream": np.array([1, 1, 1, 1]),
    "time": np.array([1.0, 2.0, 3.0, 4.0]),
    "reward_time": np.array([1.0, 2.0, 3.0, 4.0]),
}


def changed(array: Any) -> None:
    """Other values in the place of all of an array's."""
    array[...] = ~array if array.dtype == bool else array + 1


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("is_locked_view", [False, True])
def test_a_log_keeps_a_copy_of_every_column(name: str, is_locked_view: bool) -> None:
    mine = COLUMNS[name].copy()
    given = mine
    if is_locked_view:
        given = mine.view()
        given.flags.writeable = False
    others = {each: COLUMNS[each] for each in ("arm", "reward") if each != name}
    log = Log(**others, **{name: given})
    changed(mine)
    assert np.array_equal(getattr(log, name), COLUMNS[name])


def test_a_log_keeps_a_copy_of_further_columns() -> None:
    note = np.array([1, 2, 3, 4])
    others = {"note": note}
    log = Log(arm=COLUMNS["arm"], reward=COLUMNS["reward"], others=others)
    changed(note)
    others["more"] = note
    assert {name: values.tolist() for name, values in log.others.items()} == {"note": [1, 2, 3, 4]}


def test_a_log_that_was_read_from_a_table_keeps_a_copy_of_its_columns() -> None:
    reward, unit = COLUMNS["reward"].copy(), COLUMNS["unit"].copy()
    log = read(pa.table({"arm": COLUMNS["arm"], "reward": reward, "unit": unit}))
    changed(reward)
    changed(unit)
    assert log.reward.tolist() == COLUMNS["reward"].tolist()
    assert log.unit is not None
    assert log.unit.tolist() == COLUMNS["unit"].tolist()


ARMS = np.array([[0.6, 0.0], [0.0, 0.8]])
THETA = np.array([0.5, 0.3])
SETS = np.array([[[0.6, 0.0], [0.0, 0.8]], [[0.1, 0.2], [0.3, 0.4]]])


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (ARMS, lambda arms: LinearInstance(arms, THETA)),
        (THETA, lambda theta: LinearInstance(ARMS, theta)),
        (THETA, lambda noise: LinearInstance(ARMS, THETA, rewards="gaussian", noise=noise)),
        (THETA, lambda means: LinearInstance(ARMS, THETA, mean=lambda arms: means)),
        (THETA, lambda theta: ChangingInstance(theta=theta, arms=2)),
        (ARMS, lambda fixed: ChangingInstance(theta=THETA, arms=2, fixed=fixed)),
        (SETS, lambda sets: ChangingInstance(theta=THETA, arms=2, sets=sets)),
        (SETS, lambda sets: ChangingInstance(theta=THETA, arms=2, sets=list(sets))),
        (SETS, lambda sets: ChangingInstance(theta=THETA, arms=2, sets=OfferSets(sets))),
        (ARMS, lambda thetas: ContextualInstance(thetas=thetas)),
    ],
    ids=[
        "arms",
        "theta",
        "noise",
        "mean",
        "changing",
        "fixed",
        "sets",
        "list of sets",
        "shared sets",
        "thetas",
    ],
)
def test_a_problem_keeps_copies(given: Floats, made: Callable[[Floats], Any]) -> None:
    mine = given.copy()
    problem = made(mine)
    before = infex.lab.play(problem, LinUCB(), 200, seed=1).regret
    mine *= 0.5
    assert infex.lab.play(problem, LinUCB(), 200, seed=1).regret == before


def test_a_bandit_keeps_copies_of_its_arms_and_of_what_is_pending() -> None:
    arms, more = ARMS.copy(), ARMS[:1] / 2
    bandit = Bandit(arms, Greedy())
    bandit.add_arms(more)
    decision = bandit.ask()
    changed(arms)
    changed(more)
    bandit.tell(decision, 1.0)
    other = Bandit(np.vstack([ARMS, ARMS[:1] / 2]), Greedy())
    other.tell(other.ask(), 1.0)
    assert bandit.estimates().tolist() == other.estimates().tolist()


def test_a_bandit_keeps_copies_of_rows_and_contexts_that_are_pending() -> None:
    rows, context = ARMS.copy(), THETA.copy()
    by_rows = Bandit(dim=2, policy=Greedy())
    by_map = Bandit(features=features.disjoint(2, 2), policy=Greedy())
    decisions = by_rows.ask(arms=rows), by_map.ask(context=context)
    contexts = np.array([context, context])
    many = by_map.ask_many(contexts)
    changed(rows)
    changed(context)
    changed(contexts)
    by_rows.tell(decisions[0], 1.0)
    by_map.tell(decisions[1], 1.0)
    by_map.tell_many(many, [1.0, 1.0])
    again = Bandit(dim=2, policy=Greedy()), Bandit(features=features.disjoint(2, 2), policy=Greedy())
    again[0].tell(again[0].ask(arms=ARMS), 1.0)
    for decision in [again[1].ask(context=THETA) for _ in range(3)]:
        again[1].tell(decision, 1.0)
    assert by_rows.theta.tolist() == again[0].theta.tolist()
    assert by_map.theta == pytest.approx(again[1].theta, abs=1e-12)


def test_interactions_keep_a_copy_of_their_arms() -> None:
    arms = ARMS.copy()
    joined = features.interactions(arms, context_dim=2)
    before = joined(THETA).tolist()
    changed(arms)
    assert joined(THETA).tolist() == before


class OneBuffer:
    """An encoder that writes every context into the same array."""

    names, size, longest = ("first", "second"), 2, 1.0

    def __init__(self) -> None:
        self.buffer, self.rows = np.zeros(2), np.zeros((1, 2))

    def encode(self, context: Any) -> Encoded:
        self.buffer[:] = context
        return Encoded(self.buffer)

    def encode_many(self, contexts: Any) -> EncodedMany:
        self.rows[:] = contexts
        return EncodedMany(self.rows, {})


def test_a_pending_decision_keeps_a_copy_of_what_an_encoder_gave() -> None:
    bandit = Bandit(features=features.disjoint(2, context=OneBuffer()), policy=Greedy())
    decision = bandit.ask(context=[0.6, 0.0])
    bandit.ask(context=[0.0, 0.8])
    many = bandit.ask_many([[0.6, 0.0]])
    bandit.ask_many([[0.0, 0.8]])
    bandit.tell(decision, 1.0)
    bandit.tell_many(many, [1.0])
    assert bandit.theta[decision.arm].tolist() == pytest.approx([1.2 / 1.72, 0.0], abs=1e-12)


def test_named_problems_are_made_anew() -> None:
    first = environments.gaussian(2, 3, 0)
    with pytest.raises(ValueError, match="read-only"):
        first.arms[0] = 0.0
