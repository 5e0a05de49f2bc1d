"""`low` and `high` of a decision are the theory's, whatever the `scale` a policy chooses by."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import infex
from infex import features

Array = npt.NDArray[np.float64]
BASES = [infex.LinUCB, infex.LinTS, infex.policies.HybridTS, infex.policies.RarelySwitchingUCB]
SEEDS = range(4)


def settings(seed: int) -> dict[str, float]:
    """A noise, a bound, a delta and a scale far from 1, drawn by `seed`."""
    rng = np.random.default_rng(seed)
    return {
        "noise": rng.uniform(0.1, 40.0),
        "bound": rng.uniform(0.1, 100.0),
        "delta": rng.uniform(0.001, 0.5),
        "scale": rng.choice([0.0, 0.05, 0.2, 3.0]),
    }


def policy_of(base: Any, seed: int, scheduled: bool) -> Any:
    made = base(**settings(seed))
    return infex.Infex(made, infex.every(3)) if scheduled else made


class Sums:
    """V and b of ridge regression, and the interval of Abbasi-Yadkori et al. (2011), Theorem 2."""

    def __init__(self, dim: int, penalty: float, seed: int) -> None:
        self.penalty, self.told = penalty, settings(seed)
        self.v, self.b = penalty * np.eye(dim), np.zeros(dim)

    def add(self, x: Array, reward: float) -> None:
        self.v, self.b = self.v + np.outer(x, x), self.b + reward * x

    def interval(self, x: Array) -> list[float]:
        dim, (noise, bound, delta, _) = len(self.b), self.told.values()
        log_det_ratio = np.linalg.slogdet(self.v)[1] - dim * np.log(self.penalty)
        beta = noise * np.sqrt(log_det_ratio + 2 * np.log(1 / delta)) + np.sqrt(self.penalty) * bound
        middle, margin = x @ np.linalg.solve(self.v, self.b), beta * np.sqrt(x @ np.linalg.solve(self.v, x))
        return [middle - margin, middle + margin]


def drawn(seed: int) -> tuple[np.random.Generator, Array, float]:
    """A generator, nine arms of four features, and a penalty."""
    rng = np.random.default_rng(100 + seed)
    arms = rng.normal(size=(9, 4))
    return rng, arms / np.linalg.norm(arms, axis=1).max(), rng.uniform(0.1, 5.0)


def ends(decision: Any) -> Any:
    return pytest.approx([decision.low, decision.high], rel=1e-9)


@pytest.mark.parametrize("scheduled", [True, False])
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("seed", SEEDS)
def test_low_and_high_of_fixed_arms_are_those_of_the_formula(base: Any, seed: int, scheduled: bool) -> None:
    rng, arms, penalty = drawn(seed)
    bandit = infex.Bandit(arms, policy_of(base, seed, scheduled), penalty=penalty, seed=seed)
    sums = Sums(4, penalty, seed)
    for n in range(30):
        if n % 3 == 0:
            decision = bandit.ask()
        elif n % 3 == 1:
            decision = bandit.ask(offered=[1, 4, 6], explore=n % 2 == 0)
        else:
            decision = bandit.ask_many(4)[3]
        assert sums.interval(arms[decision.arm]) == ends(decision)
        table = bandit.estimates()
        each = np.array([sums.interval(x) for x in arms])
        assert table.low == pytest.approx(each[:, 0], rel=1e-9)
        assert table.high == pytest.approx(each[:, 1], rel=1e-9)
        reward = float(rng.normal())
        bandit.tell(decision, reward)
        sums.add(arms[decision.arm], reward)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("seed", SEEDS)
def test_those_of_arms_given_with_each_question_too(base: Any, seed: int) -> None:
    rng, _, penalty = drawn(seed)
    bandit = infex.Bandit(dim=4, policy=policy_of(base, seed, True), penalty=penalty, seed=seed)
    sums = Sums(4, penalty, seed)
    for n in range(20):
        arms = rng.uniform(-0.5, 0.5, size=(5, 4))
        decision = bandit.ask(arms) if n % 2 else bandit.ask_many([arms] * 3)[2]
        assert sums.interval(arms[decision.arm]) == ends(decision)
        reward = float(rng.normal())
        bandit.tell(decision, reward)
        sums.add(arms[decision.arm], reward)


@pytest.mark.parametrize("base", [infex.LinUCB, infex.LinTS])
@pytest.mark.parametrize("seed", SEEDS)
def test_those_of_arms_with_a_regression_each_too(base: Any, seed: int) -> None:
    rng, _, penalty = drawn(seed)
    shop = features.disjoint(3, context_dim=2)
    bandit = infex.Bandit(features=shop, policy=policy_of(base, seed, True), penalty=penalty, seed=seed)
    sums = [Sums(2, penalty, seed) for _ in range(3)]
    for n in range(40):
        contexts = rng.uniform(-0.7, 0.7, size=(9, 2))
        if n % 4 == 0:
            decisions = [bandit.ask(context=contexts[0])]
        elif n % 4 == 1:
            decisions = [bandit.ask(context=contexts[0], offered=[0, 2])]
        else:
            decisions = list(bandit.ask_many(contexts))
        for decision, x in zip(decisions, contexts, strict=False):
            assert sums[decision.arm].interval(x) == ends(decision)
        each = np.array([arm.interval(contexts[0]) for arm in sums])
        assert bandit.estimates(context=contexts[0]).low == pytest.approx(each[:, 0], rel=1e-9)
        reward = float(rng.normal())
        bandit.tell(decisions[0], reward)
        sums[decisions[0].arm].add(contexts[0], reward)


@pytest.mark.parametrize("base", [infex.LinUCB, infex.LinTS])
@pytest.mark.parametrize("seed", SEEDS)
def test_those_of_arms_that_share_features_too(base: Any, seed: int) -> None:
    rng, _, penalty = drawn(seed)
    shop = features.hybrid(features.interactions([[0.3], [0.9], [0.5]], context_dim=2))
    bandit = infex.Bandit(features=shop, policy=policy_of(base, seed, True), penalty=penalty, seed=seed)
    sums = Sums(8, penalty / 2, seed)  # the map divides rows by the root of 2: none is longer than 1
    for n in range(30):
        context = rng.uniform(-0.6, 0.6, size=2)
        decision = bandit.ask(context=context) if n % 2 else bandit.ask_many([context] * 3)[2]
        x = np.array(shop(context)[decision.arm])
        assert sums.interval(x) == ends(decision)
        reward = float(rng.normal())
        bandit.tell(decision, reward)
        sums.add(x, reward)


@pytest.mark.parametrize("scale", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("base", BASES)
def test_the_first_interval_holds_every_mean_within_the_bound(base: Any, scale: float) -> None:
    policy = base(noise=20.0, bound=100.0, scale=scale)
    bandit = infex.Bandit(np.eye(3), infex.Infex(policy, infex.every(2)))
    for decision in (bandit.ask(), bandit.ask(), *bandit.ask_many(2)):
        assert decision.low <= -100.0
        assert decision.high >= 100.0


@pytest.mark.parametrize("base", [infex.LinUCB, infex.LinTS])
def test_at_a_small_scale_intervals_hold_in_all_rounds_of_all_runs(base: Any) -> None:
    held = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        theta, arms = rng.normal(size=5), rng.normal(size=(10, 5))
        theta, arms = 40 * theta / np.linalg.norm(theta), arms / np.linalg.norm(arms, axis=1).max()
        policy = infex.Infex(base(noise=40.0, bound=40.0, scale=0.2), infex.every(20))
        bandit = infex.Bandit(arms, policy, seed=seed)
        run = True
        for _ in range(300):
            decision = bandit.ask()
            mean = float(arms[decision.arm] @ theta)
            run = run and decision.low <= mean <= decision.high
            bandit.tell(decision, mean + float(rng.normal(0.0, 40.0)))
        held.append(run)
    assert held == [True] * 20


def test_scale_still_says_how_much_is_explored() -> None:
    """At scale 0 the optimistic arm is the greedy one; at scale 1 it is one that was never tried."""
    played = {}
    for scale in (0.0, 1.0):
        bandit = infex.Bandit(np.eye(3), infex.LinUCB(scale=scale), pending="ignore")
        bandit.learn(arms=[1] * 50, rewards=[0.2] * 50)
        played[scale] = [bandit.ask().arm, bandit.ask(offered=[0, 1, 2]).arm, int(bandit.ask_many(1).arm[0])]
    assert played == {0.0: [1, 1, 1], 1.0: [0, 0, 0]}
