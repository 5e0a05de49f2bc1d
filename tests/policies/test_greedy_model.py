"""A model of one's own for the rounds that do not explore: `Infex(base, schedule, greedy=model)`."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infex import Bandit, Choice, Greedy, Infex, LinUCB, every, jittered
from infex.errors import InvalidChoice, InvalidSetting
from infex.lab import environments, play
from infex.models import Posterior
from infex.policies import Uniform
from infex.policies.base import resolve_defaults
from infex.registry import label_of
from infex.testing import PolicyContract


class Means:
    """The mean reward of each arm, 0.5 before its first."""

    uses_allowed = True

    def __init__(self) -> None:
        self.sums: dict[int, float] = {}
        self.counts: dict[int, int] = {}

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        known = {arm: total / self.counts[arm] for arm, total in self.sums.items()}
        return Choice(max(range(len(posterior)), key=lambda arm: (known.get(arm, 0.5), -arm)))

    def learn(self, arm: int, features: Any, reward: float, explored: bool) -> None:
        self.sums[arm] = self.sums.get(arm, 0.0) + reward
        self.counts[arm] = self.counts.get(arm, 0) + 1


class TestWithAModel(PolicyContract):
    def make(self) -> Infex:
        return Infex(LinUCB(), every(4), greedy=Means())


@pytest.mark.parametrize("data", ["shared", "own"])
def test_the_model_decides_where_the_base_does_not(data: Any) -> None:
    instance = environments.gaussian(dim=3, arms=6, seed=4)
    run = play(instance, Infex(Uniform(), every(3), data=data, greedy=Means()), 200, seed=2, record=True)
    assert run.arms is not None
    assert run.rewards is not None
    assert run.explored == 66
    told: dict[int, list[float]] = {}
    for t, (arm, reward) in enumerate(zip(run.arms.tolist(), run.rewards.tolist(), strict=True), start=1):
        if t % 3:
            means = [np.mean(told[each]) if each in told else 0.5 for each in range(6)]
            assert means[arm] == pytest.approx(max(means), abs=1e-12)
        told.setdefault(arm, []).append(reward)


def test_the_greedy_policy_as_a_model_changes_nothing() -> None:
    instance = environments.gaussian(dim=4, arms=20, seed=1)
    for schedule in (every(7), jittered(5, seed=2)):
        plain = play(instance, Infex(LinUCB(), schedule), 500, record=True)
        model = play(instance, Infex(LinUCB(), schedule, greedy=Greedy()), 500, record=True)
        assert np.array_equal(plain.arms, model.arms)
        assert plain.regret == model.regret


def test_a_learner_that_is_base_and_model_hears_of_every_reward_once() -> None:
    both = Means()
    bandit = Bandit(np.eye(3), Infex(both, every(2), greedy=both))
    for _ in range(8):
        bandit.tell(bandit.ask(), 1.0)
    assert sum(both.counts.values()) == 8
    base, model = Means(), Means()
    bandit = Bandit(np.eye(3), Infex(base, every(2), data="own", greedy=model))
    for _ in range(8):
        bandit.tell(bandit.ask(), 1.0)
    assert (sum(base.counts.values()), sum(model.counts.values())) == (4, 8)


def test_the_probability_of_a_model_goes_into_that_of_the_round() -> None:
    bandit = Bandit(np.eye(4), Infex(Uniform(), jittered(4, seed=1), greedy=Greedy()))
    seen = set()
    for _ in range(40):
        decision = bandit.ask()
        assert decision.explore_probability is not None
        greedy = float(decision.arm == decision.greedy)
        expected = decision.explore_probability / 4 + (1 - decision.explore_probability) * greedy
        assert decision.propensity == pytest.approx(expected, abs=1e-12)
        seen.add(decision.explored)
        bandit.tell(decision, 0.3)
    assert seen == {True, False}
    unknown = Bandit(np.eye(4), Infex(Uniform(), every(4), greedy=Means()))
    assert [unknown.ask().propensity for _ in range(4)] == [None, None, None, 0.25]


def test_a_model_may_play_an_arm_that_exploring_may_not_try() -> None:
    class Second:
        def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
            assert posterior.allowed is None
            assert posterior.policy_state is None
            return Choice(1)

    bandit = Bandit(np.eye(3), Infex(LinUCB(), every(2), greedy=Second()), allowed=[True, False, True])
    assert [bandit.ask().arm for _ in range(2)] == [1, 0]


def test_what_a_model_cannot_be() -> None:
    class Noting:
        def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
            return Choice(0, policy_state=1)

    both = Means()
    with pytest.raises(InvalidSetting, match="cannot be the learner of both"):
        Infex(both, every(2), data="own", greedy=both)
    with pytest.raises(InvalidSetting, match="no schedule of its own"):
        Infex(LinUCB(), every(2), greedy=Infex(LinUCB(), every(3)))
    with pytest.raises(InvalidSetting, match="greedy must be a policy"):
        Infex(LinUCB(), every(2), greedy=3)
    with pytest.raises(InvalidSetting, match="ties are the model's own"):
        Infex(LinUCB(), every(2), ties="random", greedy=Greedy())
    bandit = Bandit(np.eye(2), Infex(LinUCB(), every(2), greedy=Noting()))
    with pytest.raises(InvalidChoice, match="may keep no policy state"):
        bandit.ask()
    assert bandit.t == 0


def test_a_model_is_named_copied_saved_and_given_its_delta(tmp_path: Path) -> None:
    policy = Infex(LinUCB(), every(2), greedy=Greedy(ties="random"))
    assert label_of(policy) == "Infex(LinUCB, every(2), greedy=Greedy(ties=random))"
    assert pickle.loads(pickle.dumps(policy)) == policy == copy.deepcopy(policy)
    bandit = Bandit(np.eye(3), policy, seed=5)
    first = [bandit.ask().arm for _ in range(5)]
    bandit.save(tmp_path / "b.infex")
    loaded = Bandit.load(tmp_path / "b.infex")
    assert len(first) == 5
    assert [loaded.ask().arm for _ in range(20)] == [bandit.ask().arm for _ in range(20)]
    filled = resolve_defaults(Infex(Uniform(), every(2), greedy=LinUCB()), 0.25)
    assert filled.greedy.delta == 0.25  # type: ignore[attr-defined]
