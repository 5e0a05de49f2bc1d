"""Slow and obvious versions, to compare the fast ones with: every round solves from scratch."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from infex.linear.kernels import Floats
from infex.policies import EpsilonGreedy, Greedy, Infex, LinTS, LinUCB, Uniform

Draws = Callable[[int], np.random.Generator]


class Pull(NamedTuple):
    """One round's arm, reward, and whether it explored."""

    arm: int
    reward: float
    explored: bool


@final
class SlowRidge:
    """Ridge regression of pulls, from the definition."""

    def __init__(self, arms: Floats, pulls: Sequence[Pull], penalty: float) -> None:
        chosen = arms[[pull.arm for pull in pulls]] if pulls else np.zeros((0, arms.shape[1]))
        rewards = np.array([pull.reward for pull in pulls])
        self.arms = arms
        self.penalty = penalty
        self.gram = penalty * np.eye(arms.shape[1]) + chosen.T @ chosen
        self.theta = np.linalg.solve(self.gram, chosen.T @ rewards)

    def estimates(self) -> Floats:
        """x'theta of every arm."""
        return self.arms @ self.theta

    def widths(self) -> Floats:
        """sqrt(x'V^-1 x) of every arm."""
        solved = np.linalg.solve(self.gram, self.arms.T)
        squares: Floats = np.sum(self.arms * solved.T, axis=1)
        return np.sqrt(squares)

    def volume(self) -> float:
        """log(det V/det V_0)."""
        return float(np.linalg.slogdet(self.gram / self.penalty)[1])

    def sampled(self, beta: float, eta: Floats) -> Floats:
        """x'(theta + beta V^-1/2 eta) of every arm, with a fresh Cholesky factor."""
        root = np.linalg.inv(np.linalg.cholesky(self.gram)).T
        return self.arms @ (self.theta + beta * root @ eta)


def lowest(scores: Floats) -> int:
    """The tie rule: the lowest index within 1e-12 (1 + |max|) of the largest score."""
    top = max(scores)
    return next(k for k, score in enumerate(scores) if score >= top - 1e-12 * (1 + abs(top)))


def slow_arm(policy: Any, t: int, arms: Floats, pulls: Sequence[Pull], penalty: float, draws: Draws) -> int:
    """The arm a built-in policy with ties="lowest" must choose in round t after `pulls`."""
    ridge = SlowRidge(arms, pulls, penalty)
    rng = draws(t)
    match policy:
        case Infex(base=base, schedule=schedule):
            if not schedule.explores(t):
                return slow_arm(Greedy(), t, arms, pulls, penalty, draws)
            if policy.data == "shared":
                return slow_arm(base, t, arms, pulls, penalty, draws)
            own = [pull for pull in pulls if pull.explored]
            return slow_arm(base, len(own) + 1, arms, own, penalty, lambda _: draws(t))
        case Greedy():
            return lowest(ridge.estimates())
        case Uniform():
            return int(rng.integers(len(arms)))
        case EpsilonGreedy():
            explores = rng.random() < policy.eps(t)
            return int(rng.integers(len(arms))) if explores else lowest(ridge.estimates())
        case LinUCB():
            return lowest(ridge.estimates() + slow_radius(policy, ridge) * ridge.widths())
        case LinTS():
            eta: Floats = rng.standard_normal((arms.shape[1],))
            if policy.sampling == "spherical":
                eta *= math.sqrt(eta.size) / float(np.linalg.norm(eta))
            return lowest(ridge.sampled(slow_radius(policy, ridge), eta))
    raise TypeError(f"no slow version of {policy!r}")


def slow_radius(policy: Any, ridge: SlowRidge) -> float:
    """scale (sigma sqrt(alpha + 2 log(1/delta)) + sqrt(lambda) S)."""
    spread = policy.noise * math.sqrt(ridge.volume() + 2 * math.log(1 / policy.delta))
    return float(policy.scale * (spread + math.sqrt(ridge.penalty) * policy.bound))


def slow_play(
    policy: Any,
    arms: Floats,
    reward: Callable[[int, int], float],
    draws: Draws,
    horizon: int,
    penalty: float = 1.0,
) -> list[int]:
    """The arms of rounds 1 to `horizon`."""
    pulls: list[Pull] = []
    for t in range(1, horizon + 1):
        arm = slow_arm(policy, t, arms, pulls, penalty, draws)
        explored = policy.schedule.explores(t) if isinstance(policy, Infex) else True
        pulls.append(Pull(arm, reward(t, arm), explored))
    return [pull.arm for pull in pulls]
