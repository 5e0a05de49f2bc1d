"""Policy states that are not the policy's are refused where they enter, and never later."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from infex import Bandit, Infex, LinUCB, every, guarded, until_certain
from infex.errors import InfexError, InvalidChoice
from infex.policies import (
    EXP2,
    EnsembleSampling,
    GreedyFirst,
    PhasedElimination,
    RarelySwitchingUCB,
    SupLinUCB,
    Uniform,
)
from infex.policies.base import restore_state
from infex.policies.conservative import conservative
from infex.policies.doubt import ledger
from infex.policies.greedy import GreedyFirstState
from infex.policies.layered import NO_LAYER
from infex.registry import policy_state_from_record, policy_state_to_record

ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
POLICIES: list[Any] = [
    EnsembleSampling(members=3),
    EXP2(rate=0.1),
    GreedyFirst(RarelySwitchingUCB(), level=9.0, wait=1),
    PhasedElimination(noise=0.1),
    RarelySwitchingUCB(),
    SupLinUCB(horizon=50),
]
POLICIES += [Infex(policy, every(1), data="own") for policy in POLICIES]
POLICIES += [
    Infex(Uniform(), schedule)
    for schedule in (
        conservative(every(1), baseline=100.0, alpha=1.0),
        guarded(every(1), cost_limit=9.0),
        ledger(0.01),
        until_certain(every(1)),
    )
]


def told(policy: Any, rounds: int) -> Bandit:
    """A bandit after some rounds."""
    bandit = Bandit(ARMS, policy, seed=1)
    for t in range(rounds):
        bandit.tell(bandit.ask(), 0.1 * (t % 3))
    return bandit


def whole_numbers(record: Any) -> Any:
    """The same plain data with 3 for each 3.2, as a file of another language may have 3 for 3.0."""
    if isinstance(record, list):
        return [whole_numbers(part) for part in record]
    if isinstance(record, dict):
        return {name: whole_numbers(part) for name, part in record.items()}
    return int(record) if type(record) is float else record


def broken(state: Any) -> Iterator[Any]:
    """The state with one part, at any depth, replaced by something else."""
    if not isinstance(state, tuple):
        yield from (each for each in ("a", True, None, (), -7, 10**60, 1e300) if each is not state)
        return
    yield from ("a", 3, state[1:], (*state, 1.0)) if type(state) is tuple else ("a", 3)
    for place, part in enumerate(state):
        for other in broken(part):
            parts = *state[:place], other, *state[place + 1 :]
            yield parts if type(state) is tuple else type(state)(*parts)


@pytest.mark.filterwarnings("ignore:.*(overflow|invalid value).*:RuntimeWarning")
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_a_broken_state_is_refused_or_played_on_with(policy: Any) -> None:
    """Some were entered, and the next round died in NumPy; others died with a bare TypeError."""
    bandit = told(policy, 5)
    decided = bandit.decide()
    state, before = decided.policy_state, bandit.digest()
    state = bandit.policy_state if state is None else state
    assert restore_state(bandit.policy, state, 2) == state
    refused = 0
    for lie in broken(state):
        other = told(policy, 5)
        try:
            decision = other.enter(decided._replace(policy_state=lie))
        except InvalidChoice:
            assert other.digest() == before
            refused += 1
            continue
        other.tell(decision, 0.1)
        try:
            other.ask()
        except InfexError:  # numbers that a run cannot have had, such as 10^60
            continue
    assert refused > 10


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_a_state_of_whole_numbers_is_played_on_with(policy: Any) -> None:
    """Sums of whole numbers were an array of these, which takes up no fraction."""
    bandit = told(policy, 5)
    decided = bandit.decide()
    state = policy_state_from_record(whole_numbers(policy_state_to_record(decided.policy_state)))
    bandit.tell(bandit.enter(decided._replace(policy_state=state)), 0.1)
    assert 0 <= bandit.ask().arm < 3


def test_states_of_other_sizes_are_no_states() -> None:
    """The layers and the horizon, members, features and quotas are told apart by their number."""
    layers = told(SupLinUCB(horizon=50), 3).decide().policy_state
    assert restore_state(SupLinUCB(horizon=50), layers, 2) == layers
    assert restore_state(SupLinUCB(horizon=5000), layers, 2) is None
    assert restore_state(SupLinUCB(horizon=50), layers, 3) is None
    for layer in (-2, 4, 0.0, True):
        assert restore_state(SupLinUCB(horizon=50), layers._replace(layer=layer), 2) is None
    for layer in (NO_LAYER, 0, 3):
        assert restore_state(SupLinUCB(horizon=50), layers._replace(layer=layer), 2) is not None
    members = told(EnsembleSampling(members=3), 3).decide().policy_state
    assert restore_state(EnsembleSampling(members=4), members, 2) is None
    phase = told(PhasedElimination(noise=0.1), 3).decide().policy_state
    for quota in ((0, 1), (0, 1, 1, 1), (0, 0, 0), (0, 1, 2), (0, 1.0, 1), (-1, 1, 1)):
        assert restore_state(PhasedElimination(), phase._replace(quotas=(quota,)), 2) is None
    assert restore_state(PhasedElimination(), phase._replace(quotas=((0, 2, 1),)), 2) is not None


def test_a_state_of_greedy_first_has_a_level() -> None:
    policy = GreedyFirst(LinUCB())
    assert restore_state(policy, GreedyFirstState(False, 0.5), 2) == GreedyFirstState(False, 0.5)
    for state in (GreedyFirstState(False, "a"), GreedyFirstState(1, 0.5)):
        assert restore_state(policy, state, 2) is None
