"""A delta that nobody said: 1/T where a horizon is known, 0.01 elsewhere; a delta that is said stays."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import infex
from infex import Bandit, Choice, Infex, LinTS, LinUCB, every, registry, until_certain
from infex.lab import play, play_many
from infex.lab.environments import changing, gaussian
from infex.policies.base import DEFAULT_DELTA, lacks_delta, policy_info, resolve_defaults
from infex.policies.controls import Control
from infex.registry import from_record, stream_name, to_record
from infex.testing import PolicyContract

INSTANCE = gaussian(4, 15, 3)


@dataclass(frozen=True)
class Own:
    """LinUCB by the book, with a delta that may be unsaid."""

    delta: float | None = None

    def choose(self, t: int, posterior: Any, rng: Any) -> Choice:
        assert self.delta is not None, "nobody said a delta"
        radius = np.sqrt(posterior.log_det_ratio - 2 * np.log(self.delta)) + 1
        return Choice(infex.best(posterior.upper(radius)))


@dataclass
class Learning:
    """A learner that may have learnt something before it is played."""

    delta: float | None = None
    told: list[float] = field(default_factory=list)

    def choose(self, t: int, posterior: Any, rng: Any) -> Choice:
        return Choice(0)

    def learn(self, arm: int, features: Any, reward: float, explored: bool) -> None:
        self.told.append(reward)


class Wrapped:
    """A wrapper that is no dataclass."""

    def __init__(self, base: Any) -> None:
        self.base = base

    def choose(self, t: int, posterior: Any, rng: Any) -> Choice:
        choice: Choice = self.base.choose(t, posterior, rng)
        return choice


@dataclass(frozen=True)
class Doubtful(Control):
    """A control of a user's with a delta."""

    schedule: Any
    delta: float | None = None


@dataclass(frozen=True)
class Fixed:
    """A user's policy that has a delta of its own, which is a number by default."""

    delta: float = 0.3

    def choose(self, t: int, posterior: Any, rng: Any) -> Choice:
        return Choice(0)


def deltas(policy: Any) -> list[float | None]:
    """All deltas of a policy: its own, its base's, and those of controls."""
    info = policy_info(policy)
    parts = [
        *info.chain,
        *(part for controlled_schedule in info.controlled_schedules for part in controlled_schedule.parts()),
    ]
    return [part.delta for part in parts if hasattr(part, "delta")]


UNSAID = {
    "LinUCB": LinUCB(),
    "base": Infex(LinTS(), every(5)),
    "base of a base": Infex(infex.policies.GreedyFirst(LinUCB()), every(2)),
    "control": Infex(LinUCB(), infex.guarded(until_certain(every(5)), 3.0)),
    "own control": Infex(LinUCB(), Doubtful(until_certain(every(5)))),
    "own": Own(),
    "own base": Infex(Own(), every(3)),
    "wrapper": Wrapped(Wrapped(LinUCB())),
    "default base": infex.policies.GreedyFirst(),
}


@pytest.mark.parametrize("name", UNSAID)
def test_every_delta_that_nobody_said_is_filled(name: str) -> None:
    policy = UNSAID[name]
    assert set(deltas(policy)) == {None}
    assert set(deltas(resolve_defaults(policy, 0.2))) == {0.2}
    assert set(deltas(policy)) == {None}
    assert set(deltas(play(INSTANCE, policy, 40).policy)) == {1 / 40}
    assert set(deltas(play_many(INSTANCE, policy, 40, [1, 2])[1].policy)) == {1 / 40}
    assert set(deltas(Bandit(INSTANCE.arms, policy).policy)) == {DEFAULT_DELTA}


@pytest.mark.parametrize("instance", [INSTANCE, changing(3, 8, 2)], ids=["fixed", "changing"])
@pytest.mark.parametrize(
    "said", [lambda d: LinTS(delta=d), lambda d: Infex(LinUCB(delta=d), every(5), data="own")]
)
def test_a_run_without_a_delta_is_that_with_one_over_the_horizon(said: Any, instance: Any) -> None:
    one, other = play(instance, said(None), 300, 4), play(instance, said(1 / 300), 300, 4)
    assert one.regret == other.regret
    np.testing.assert_array_equal(one.curve()[1], other.curve()[1])
    assert one.policy == other.policy


@pytest.mark.parametrize("delta", [0.01, 0.3, 1 / 300])
def test_a_delta_that_is_said_stays(delta: float) -> None:
    for policy in (
        LinUCB(delta=delta),
        Own(delta),
        Infex(LinTS(delta=delta), until_certain(every(5), delta)),
    ):
        assert resolve_defaults(policy, 0.2) is policy
        assert play(INSTANCE, policy, 50).policy is policy
        assert Bandit(INSTANCE.arms, policy).policy is policy
    assert resolve_defaults(Fixed(), 0.2).delta == 0.3  # type: ignore[attr-defined]


def test_own_and_built_in_are_played_with_the_same_delta() -> None:
    """P6: a user's policy kept 0.01 where LinUCB was given 1/T."""
    runs = [play(INSTANCE, policy, 700, record=True).arms for policy in (Own(), LinUCB())]
    np.testing.assert_array_equal(runs[0], runs[1])


def test_what_a_learner_knows_is_kept() -> None:
    given = Learning(told=[1.0, 2.0])
    filled: Any = resolve_defaults(given, 0.2)
    assert (filled.told, filled.delta, given.delta) == ([1.0, 2.0], 0.2, None)
    play(INSTANCE, given, 20)
    assert given.told == [1.0, 2.0]


def test_policies_that_hold_each_other_are_filled() -> None:
    one: Any = Wrapped(None)
    one.base = Wrapped(one)
    assert resolve_defaults(one, 0.2) is one


def test_files_name_the_delta_that_is_played(tmp_path: Any) -> None:
    bandit = Bandit(INSTANCE.arms, Infex(LinUCB(), until_certain(every(3))))
    bandit.save(tmp_path / "x.infex")
    loaded = Bandit.load(tmp_path / "x.infex")
    assert deltas(loaded.policy) == [0.01, 0.01]
    assert Bandit.load(tmp_path / "x.infex", policy=Infex(LinUCB(), until_certain(every(3)))).t == 0
    with pytest.raises(infex.InfexError, match="delta"):
        Bandit.load(tmp_path / "x.infex", policy=LinUCB(delta=0.3))
    assert from_record(to_record(LinUCB())) == LinUCB()


@pytest.mark.parametrize("name", registry.POLICIES)
def test_streams_are_called_as_before(name: str) -> None:
    """When they got their names the default was 0.01, which was left out."""
    text = {"Infex": "Infex(LinTS, until_certain(every(5)))", "Softened": "Softened(LinUCB)"}.get(name, name)
    policy = registry.parse(text)
    assert stream_name(policy) == stream_name(resolve_defaults(policy, 0.01)) == text
    assert (stream_name(resolve_defaults(policy, 0.25)) == text) == (not lacks_delta(policy))


def test_the_loop_knows_no_unsaid_delta() -> None:
    form: Any = LinUCB().compiled()
    assert form.base.delta == DEFAULT_DELTA
    for bad in (0.0, 2, "x", True):
        with pytest.raises(infex.InfexError, match="delta must be"):
            LinUCB(delta=bad)


class TestOwn(PolicyContract):
    """The contract says a delta where a policy says none."""

    def make(self) -> Any:
        return Own()


class Refined(LinUCB):  # type: ignore[misc]  # which is final, for type checkers
    """A plain subclass of a dataclass with slots, with a state of its own."""

    def __init__(self, arm: int) -> None:
        super().__init__()
        object.__setattr__(self, "arm", arm)

    def choose(self, t: int, posterior: Any, rng: Any) -> Choice:
        assert self.delta is not None, "nobody said a delta"
        return Choice(vars(self)["arm"])


def test_a_plain_subclass_of_a_policy_is_told_the_delta_and_decides_by_itself() -> None:
    run = play(INSTANCE, Refined(arm=3), 20)
    assert run.counts[3] == 20
    assert run.policy.delta == 1 / 20
