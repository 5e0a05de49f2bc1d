"""Learners and models of other libraries, by stand-ins with the verbs that their documents name."""

import math
from typing import Any

import numpy as np
import pytest

from infex import Bandit, Infex, LinUCB, adapters, every
from infex.errors import InvalidChoice, InvalidSetting, NotKept
from infex.lab import Sweep, play
from infex.lab.environments import changing, gaussian
from infex.policies import UCB1, FixedBonusUCB, Uniform
from infex.testing import PolicyContract


class CobaUCB:
    """LinUCB with a fixed bonus, as coba's: an action, its probability, and what it wants to be told."""

    def __init__(self, law: bool = False) -> None:
        self.law: Any = law
        self.v: Any = None
        self.b: Any = None
        self.heard: list[Any] = []

    def begin(self, dim: int) -> None:
        if self.v is None:
            self.v, self.b = np.eye(dim), np.zeros(dim)

    def predict(self, context: Any, actions: Any) -> Any:
        assert context is None
        rows = np.array(actions)
        self.begin(rows.shape[1])
        inverse = np.linalg.inv(self.v)
        widths = np.sqrt(np.einsum("kd,de,ke->k", rows, inverse, rows))
        scores = rows @ inverse @ self.b + widths
        best = int(np.argmax(scores >= scores.max() - 1e-10))
        if self.law:
            return [0.9 * (k == best) + 0.1 / len(actions) for k in range(len(actions))]
        return actions[best], 1.0, {"best": best}

    def learn(self, context: Any, action: Any, reward: float, probability: float, best: Any = None) -> None:
        self.begin(len(action))
        self.v, self.b = self.v + np.outer(action, action), self.b + reward * np.array(action)
        self.heard.append((probability, best))


class MeanMab:
    """UCB1 by places, as MABWiser's: `fit` forgets, `partial_fit` does not; it predicts nothing before."""

    def __init__(self, arms: list[int]) -> None:
        self.arms = arms
        self.told: Any = None

    def fit(self, decisions: Any, rewards: Any) -> None:
        self.told = {arm: [] for arm in self.arms}
        self.partial_fit(decisions, rewards)

    def partial_fit(self, decisions: Any, rewards: Any) -> None:
        for arm, reward in zip(decisions, rewards, strict=True):
            self.told[arm].append(reward)

    def predict(self) -> int:
        if self.told is None:
            raise RuntimeError("call fit first")
        n = sum(map(len, self.told.values()))
        fresh = [arm for arm in self.arms if not self.told[arm]]
        bonus = {arm: math.sqrt(8 * math.log(n) / max(len(self.told[arm]), 1)) for arm in self.arms}
        return fresh[0] if fresh else max(self.arms, key=lambda arm: np.mean(self.told[arm]) + bonus[arm])


class RiverBandit:
    """The arm after the last, as a policy of river's."""

    def __init__(self) -> None:
        self.last = -1
        self.sums: dict[int, float] = {}

    def pull(self, arm_ids: Any) -> int:
        return int(arm_ids[(self.last + 1) % len(arm_ids)])

    def update(self, arm_id: int, reward: float) -> None:
        self.last = arm_id
        self.sums[arm_id] = self.sums.get(arm_id, 0.0) + reward


class Stochastic:
    """Linear regression by stochastic gradients, for one row (river) and for many (scikit-learn)."""

    def __init__(self) -> None:
        self.theta: Any = None

    def learn_one(self, x: dict[int, float], y: float) -> None:
        row = np.array([x[i] for i in range(len(x))])
        self.theta = np.zeros(len(row)) if self.theta is None else self.theta
        self.theta = self.theta + 0.3 * (y - row @ self.theta) * row

    def predict_one(self, x: dict[int, float]) -> float:
        return 0.0 if self.theta is None else float(sum(x[i] * self.theta[i] for i in x))

    def partial_fit(self, rows: Any, rewards: Any) -> None:
        for row, reward in zip(rows, rewards, strict=True):
            self.learn_one(dict(enumerate(row)), reward)

    def predict(self, rows: Any) -> Any:
        if self.theta is None:
            raise RuntimeError("not fitted yet")
        return rows @ self.theta


class OnlyPartial:
    """scikit-learn's verbs alone."""

    def __init__(self) -> None:
        self.inner = Stochastic()

    def partial_fit(self, rows: Any, rewards: Any) -> None:
        self.inner.partial_fit(rows, rewards)

    def predict(self, rows: Any) -> Any:
        return self.inner.predict(rows)


class TestACobaLearner(PolicyContract):
    def make(self) -> Any:
        return adapters.from_coba(CobaUCB())


class TestARegressorOfRiver(PolicyContract):
    def make(self) -> Any:
        return adapters.from_river(Stochastic())


class TestARegressorOfScikitLearn(PolicyContract):
    def make(self) -> Any:
        return Infex(LinUCB(), every(4), greedy=adapters.from_sklearn(OnlyPartial()))


@pytest.mark.parametrize("data", ["shared", "own"])
def test_a_linucb_of_coba_plays_as_fixed_bonus_ucb(data: Any) -> None:
    for seed in range(3):
        instance = gaussian(dim=3, arms=7, seed=seed)
        found = play(instance, Infex(adapters.from_coba(CobaUCB()), every(3), data=data), 150, record=True)
        known = play(instance, Infex(FixedBonusUCB(bonus=1.0), every(3), data=data), 150, record=True)
        np.testing.assert_array_equal(found.arms, known.arms)


def test_a_learner_of_coba_is_told_again_what_it_said() -> None:
    learner = CobaUCB()
    bandit = Bandit(np.eye(3), Infex(adapters.from_coba(learner), every(2)))
    for _ in range(4):
        bandit.tell(bandit.ask(), 0.5)
    assert [probability for probability, _ in learner.heard] == [1.0] * 4
    assert [best is None for _, best in learner.heard] == [True, False, True, False]


def test_a_law_of_coba_is_drawn_from_and_its_chance_told() -> None:
    learner = CobaUCB(law=True)
    bandit = Bandit(np.eye(4), adapters.from_coba(learner), seed=3)
    for _ in range(300):
        bandit.tell(bandit.ask(), 0.0)
    chances = [probability for probability, _ in learner.heard]
    assert set(np.round(chances, 6)) == {0.925, 0.025}
    assert 0.85 < np.mean(np.array(chances) > 0.5) < 0.99


def test_answers_of_coba_that_are_neither_action_nor_law_are_refused() -> None:
    class Silent:
        def __init__(self, answer: Any) -> None:
            self.answer = answer

        def predict(self, context: Any, actions: Any) -> Any:
            return self.answer

        def learn(self, *given: Any, **more: Any) -> None: ...

    for answer, said in ((None, "an action or a law"), ([0.5, 0.2], "add up to 1"), ([1.0], "got 1 numbers")):
        with pytest.raises(InvalidChoice, match=said):
            Bandit(np.eye(2), adapters.from_coba(Silent(answer))).ask()


def test_a_mab_is_made_of_the_arms_and_plays_as_ucb1_after_its_first_reward() -> None:
    instance = gaussian(dim=3, arms=6, seed=2)
    policy = adapters.from_mabwiser(MeanMab)
    run = play(instance, policy, 200, record=True)
    assert run.arms is not None
    first = int(run.arms[0])
    assert run.arms[1:6].tolist() == [arm for arm in range(6) if arm != first]
    known = play(instance, UCB1(), 200, record=True)
    assert sorted(run.counts.tolist()) == pytest.approx(sorted(known.counts.tolist()), abs=60)
    with pytest.raises(NotKept, match="fixed arms alone"):
        play(changing(dim=2, arms=3, seed=1), policy, 5)


def test_a_policy_of_river_pulls_and_is_updated() -> None:
    policy = RiverBandit()
    bandit = Bandit(np.eye(3), adapters.from_river(policy))
    asked = []
    for _ in range(6):
        decision = bandit.ask()
        asked.append(decision.arm)
        bandit.tell(decision, 1.0)
    assert asked == [0, 1, 2, 0, 1, 2]
    assert policy.sums == {0: 2.0, 1: 2.0, 2: 2.0}


def test_a_regressor_is_the_same_by_either_door() -> None:
    instance = gaussian(dim=3, arms=9, seed=5)
    runs = [
        play(instance, Infex(Uniform(), every(4), greedy=made), 300, record=True)
        for made in (adapters.from_river(Stochastic()), adapters.from_sklearn(OnlyPartial()))
    ]
    np.testing.assert_array_equal(runs[0].arms, runs[1].arms)
    uniform = play(instance, Uniform(), 300)
    assert runs[0].regret < 0.7 * uniform.regret


def test_what_has_no_verbs_of_river_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="pull and update, or a model with predict_one"):
        adapters.from_river(object())


def test_adapters_stand_in_sweeps_under_the_name_of_what_they_hold() -> None:
    policies = {"coba": adapters.from_coba(CobaUCB()), "river": adapters.from_river(RiverBandit())}
    sweep = Sweep(environments=["gaussian(dim=2, arms=3)"], policies=policies, horizon=20, seeds=2)
    results = sweep.run(workers=1)
    assert results.finals.num_rows == 4
    assert not results.failures
    assert repr(adapters.from_mabwiser(MeanMab)) == "from_mabwiser(MeanMab)"
    assert repr(policies["coba"]) == "from_coba(CobaUCB)"
