"""A base in Python decides in its own rounds, between compiled ones: as if all were played in Python."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import (
    Choice,
    Infex,
    LinUCB,
    best,
    budget,
    every,
    guarded,
    jittered,
    listed,
    logarithmic,
    paused,
    until_certain,
)  # fmt: skip
from infex.errors import InvalidChoice
from infex.lab import play
from infex.lab.environments import changing, gaussian, steps, walk
from infex.lab.simulation.compiled import plan_of
from infex.models import Discounted, Posterior
from infex.policies import (
    TSUCB,
    ContextReduction,
    Control,
    LinPHE,
    PhasedElimination,
    SpannerIGW,
    doubtful,
    ledger,
)  # fmt: skip
from tests.lab.simulation.in_python import assert_same, play_in_python
from tests.lab.simulation.test_opened import skewed
from tests.policies.test_contract import Means

Generator = np.random.Generator


class Optimist:
    """Reads upper bounds."""

    def choose(self, t: int, posterior: Posterior, rng: Generator) -> Choice:
        return Choice(best(posterior.upper(0.5)))


class Counting:
    """Reads pulls where there are any, draws, and notes how often it was asked."""

    def choose(self, t: int, posterior: Posterior, rng: Generator) -> Choice:
        policy_state = (posterior.policy_state or 0) + 1
        if posterior.has_counts and rng.random() < 0.5:
            return Choice(int(np.argmin(posterior.pulls + posterior.sums)), policy_state=policy_state)
        return Choice(
            (best(posterior.perturbed(1.0, rng)) + policy_state) % len(posterior), policy_state=policy_state
        )


class Declining:
    """Reads exploring rounds alone, and calls some of its own rounds no exploration."""

    uses_explored = True

    def choose(self, t: int, posterior: Posterior, rng: Generator) -> Choice:
        return Choice(best(posterior.explored.upper(0.3)), explored=bool(rng.random() < 0.6))


class Naming:
    """Names other features than those of its arm."""

    def choose(self, t: int, posterior: Posterior, rng: Generator) -> Choice:
        arm = best(posterior.upper(0.3))
        return Choice(arm, features=posterior.arms[arm] * 0.5 if t % 3 == 0 else None)


class Thrifty:
    """Reads what was spent and learnt, and the round."""

    def choose(self, t: int, posterior: Posterior, rng: Generator) -> Choice:
        spent = posterior.spent
        counts = spent.done, int(1000 * spent.cost), len(spent.recent), spent.whole_from, spent.owed
        return Choice((sum(counts) + posterior.moments.n_observations + t) % len(posterior))


BASES = [Optimist(), Counting(), Declining(), Naming(), Thrifty()]
SCHEDULES = [every(1), every(7), logarithmic(3), jittered(5)]
CONTROLS = [
    ledger(0.5),
    ledger(0.1, guarded(jittered(3), 2.0), noise=0.5),
    doubtful(every(2), scale=0.05),
    guarded(every(3), 1.0),
    guarded(every(2), 1.5, window=30),
    until_certain(every(2), scale=0.1),
    budget(every(2), 9, window=40),
    budget(paused(every(2), every(3), "make up"), 12, window=50),
    guarded(paused(every(3), listed(range(20, 60)), "make up"), 2.0, window=150),
    paused(ledger(0.3), when=listed(range(10, 30))),
]
LAWS: list[dict[str, Any]] = [{}, {"rewards": "student"}, {"rewards": skewed}]


@given(
    base=st.sampled_from(BASES), schedule=st.sampled_from(SCHEDULES + CONTROLS), own=st.booleans(),
    ties=st.sampled_from(["lowest", "random"]), anew=st.booleans(),
    moves=st.sampled_from([None, steps(every=17), walk(0.05)]), law=st.sampled_from(LAWS),
    dim=st.integers(1, 6), arms=st.integers(1, 12), seed=st.integers(0, 10**6),
    horizon=st.sampled_from([1, 2, 40, 300]), penalty=st.sampled_from([1e-8, 0.5, 1.0]),
)  # fmt: skip
@settings(max_examples=300, deadline=None)
def test_runs_are_those_of_the_python_loop(
    base: Any, schedule: Any, own: bool, ties: Any, anew: bool, moves: Any, law: dict[str, Any], dim: int,
    arms: int, seed: int, horizon: int, penalty: float,
) -> None:  # fmt: skip
    data: Any = "own" if own and not isinstance(base, Declining) else "shared"
    policy = Infex(base, schedule, data=data, ties=ties)
    plan = plan_of(policy)
    assert plan is not None
    assert plan.in_python
    instance = (changing if anew else gaussian)(dim=dim, arms=arms, seed=seed, moves=moves, **law)
    more: Any = {"penalty": penalty, "record": True}
    slow = play_in_python(instance, policy, horizon, seed, **more)
    assert_same(play(instance, policy, horizon, seed, **more), slow)


def test_a_base_of_ours_that_is_not_compiled_is_played_so_too() -> None:
    policy, instance = Infex(ContextReduction(LinUCB()), every(3)), gaussian(dim=3, arms=8, seed=1)
    assert_same(play(instance, policy, 200, record=True), play_in_python(instance, policy, 200, record=True))


@pytest.mark.parametrize("schedule", CONTROLS, ids=repr)
@pytest.mark.parametrize(
    ("base", "data"),
    [
        (LinPHE(), "shared"),
        (TSUCB(samples=3), "shared"),
        (SpannerIGW(), "own"),
        (PhasedElimination(noise=0.1), "own"),
        (ContextReduction(LinUCB()), "shared"),
    ],
    ids=repr,
)
def test_bases_of_ours_in_python_are_played_so_under_controls(schedule: Any, base: Any, data: Any) -> None:
    policy, instance = Infex(base, schedule, data=data), gaussian(dim=3, arms=8, seed=1)
    slow = play_in_python(instance, policy, 150, record=True)
    assert_same(play(instance, policy, 150, record=True), slow)
    assert 0 < slow.explored < 150


@dataclass(frozen=True)
class NotOnSundays(Control):
    """A control of a user's."""

    schedule: Any

    def objects(self, t: int, posterior: Posterior, state: Any) -> str | None:
        return "a Sunday" if t % 7 == 0 else None


@pytest.mark.parametrize(
    ("policy", "more"),
    [
        (Optimist(), {}),
        (Infex(Means(), every(3)), {}),
        (Infex(Optimist(), NotOnSundays(every(3))), {}),
        (Infex(Optimist(), every(3), greedy=LinUCB()), {}),
        (Infex(Optimist(), every(3)), {"estimator": Discounted(rate=0.9)}),
    ],
    ids=["alone", "learner", "control", "model", "estimator"],
)
def test_all_else_is_played_in_python(policy: Any, more: dict[str, Any]) -> None:
    assert plan_of(policy, more.get("estimator")) is None
    assert play(gaussian(dim=3, arms=8, seed=1), policy, 60, **more).counts.sum() == 60


def test_a_base_is_asked_in_its_own_rounds_alone() -> None:
    asked = []

    class Listing(Optimist):
        def choose(self, t: int, posterior: Posterior, rng: Generator) -> Choice:
            asked.append(t)
            return super().choose(t, posterior, rng)

    assert play(gaussian(dim=3, arms=8, seed=1), Infex(Listing(), every(25)), 100).explored == 4
    assert asked == [25, 50, 75, 100]


def test_what_a_base_has_read_stays_as_it_is() -> None:
    kept: list[tuple[Any, Any, Any]] = []

    class Keeping(Optimist):
        def choose(self, t: int, posterior: Posterior, rng: Generator) -> Choice:
            kept.append((posterior, posterior.estimates.copy(), posterior.moments.gram.copy()))
            return super().choose(t, posterior, rng)

    play(gaussian(dim=3, arms=8, seed=1), Infex(Keeping(), every(10)), 100)
    for posterior, estimates, gram in kept:
        np.testing.assert_array_equal(posterior.estimates, estimates)
        np.testing.assert_array_equal(posterior.moments.gram, gram)


def test_what_a_base_raises_arrives_as_it_is() -> None:
    class Broken:
        def choose(self, t: int, posterior: Posterior, rng: Generator) -> Choice:
            if t < 20:
                return Choice(0)
            raise LookupError("round", t)

    with pytest.raises(LookupError) as raised:
        play(gaussian(dim=3, arms=8, seed=1), Infex(Broken(), every(5)), 100)
    assert raised.value.args == ("round", 20)


@pytest.mark.parametrize("anew", [False, True])
def test_an_arm_that_is_not_there_is_refused(anew: bool) -> None:
    class Wild:
        def choose(self, t: int, posterior: Posterior, rng: Generator) -> Choice:
            return Choice(8)

    with pytest.raises(InvalidChoice, match="8"):
        play((changing if anew else gaussian)(dim=3, arms=8, seed=1), Infex(Wild(), every(5)), 100)
