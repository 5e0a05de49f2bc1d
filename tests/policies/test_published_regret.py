"""Published bases lose what plain loops of their papers' pseudocode lose, on the same arms and rewards.

The loops were written from the papers, not from infex; `docs/published.md` names what else was compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from infex import Bandit, LinTS, LinUCB, Policy, models
from infex.arrays import Floats
from infex.policies import (
    EXP2,
    TSUCB,
    EnsembleSampling,
    LinIDS,
    LinIMED,
    LinMED,
    LinPHE,
    OptimisticTS,
    PhasedElimination,
    RandLinUCB,
    SpannerIGW,
    SupLinUCB,
    WeightedBootstrap,
    WeightedOFUL,
)

DIM, ARMS, NOISE, DELTA = 3, 8, 0.3, 0.01


@dataclass(frozen=True)
class Task:
    """Arms (K, d), the reward that each arm would give in each round, (T, K), and the gaps of the arms."""

    arms: Floats
    rewards: Floats
    gaps: Floats
    rng: np.random.Generator

    @property
    def horizon(self) -> int:
        return len(self.rewards)


def task(seed: int, horizon: int, law: str) -> Task:
    """Arms of lengths from 0.6 to 1 and a theta of length 0.8; rewards of +1 and -1, or Gaussian ones."""
    rng = np.random.default_rng(seed)
    arms = rng.normal(size=(ARMS, DIM))
    arms *= (rng.uniform(0.6, 1.0, ARMS) / np.linalg.norm(arms, axis=1))[:, None]
    theta = rng.normal(size=DIM)
    means = arms @ (0.8 * theta / np.linalg.norm(theta))
    if law == "sign":
        rewards = np.where(rng.random((horizon, 1)) < (1 + means) / 2, 1.0, -1.0)
    else:
        rewards = means + NOISE * rng.normal(size=(horizon, 1))
    return Task(arms, rewards, means.max() - means, rng)


def played(policy: Policy, given: Task, seed: int, estimator: models.Weighted | None = None) -> list[int]:
    """The arms that a bandit plays."""
    bandit, arms = Bandit(given.arms, policy, seed=seed, estimator=estimator), list[int]()
    for rewards in given.rewards:
        decision = bandit.ask()
        bandit.tell(decision, float(rewards[decision.arm]))
        arms.append(decision.arm)
    return arms


# ridge regression, solved anew in every round


class Known(NamedTuple):
    """What ridge regression knows before round t: V, V^-1 and theta."""

    t: int
    given: Task
    gram: Floats
    inverse: Floats
    theta: Floats

    @property
    def means(self) -> Floats:
        return self.given.arms @ self.theta

    @property
    def widths(self) -> Floats:
        found: Floats = np.sqrt(np.sum(self.given.arms @ self.inverse * self.given.arms, axis=1))
        return found

    def beta(self, mixture: bool = False) -> float:
        noise_part = NOISE**2 * (np.linalg.slogdet(self.gram)[1] + 2 * math.log(1 / DELTA))
        return float(np.sqrt(noise_part + 1) if mixture else np.sqrt(noise_part) + 1)

    def sample(self, spread: float) -> Floats:
        return self.given.rng.multivariate_normal(self.theta, spread**2 * self.inverse)


Choose = Callable[[Known], int]
Loop = Callable[[Task], list[int]]


def by_ridge(choose: Choose, weights: Callable[[Floats], Floats] | None = None) -> Loop:
    """The arms that a rule plays which looks at V and theta alone; V begins as I."""

    def loop(given: Task) -> list[int]:
        gram, moment, arms = np.eye(DIM), np.zeros(DIM), list[int]()
        weight = np.ones(ARMS) if weights is None else weights(given.arms)
        for t in range(1, given.horizon + 1):
            inverse = np.asarray(np.linalg.inv(gram), dtype=np.float64)
            arm = int(choose(Known(t, given, gram, inverse, inverse @ moment)))
            x = given.arms[arm]
            gram = gram + weight[arm] * np.outer(x, x)
            moment = moment + weight[arm] * given.rewards[t - 1, arm] * x
            arms.append(arm)
        return arms

    return loop


def oful(known: Known) -> int:
    """Abbasi-Yadkori, Pal and Szepesvari (2011)."""
    return int(np.argmax(known.means + known.beta() * known.widths))


def mixture(known: Known) -> int:
    """AMM-UCB of Flynn, Reeb, Kandemir and Peters (2023)."""
    return int(np.argmax(known.means + known.beta(mixture=True) * known.widths))


def abeille(known: Known) -> int:
    """Abeille and Lazaric (2017)."""
    return int(np.argmax(known.given.arms @ known.sample(known.beta())))


def agrawal(known: Known) -> int:
    """Agrawal and Goyal (2013), with t in the place of T."""
    spread = NOISE * math.sqrt(9 * DIM * math.log(known.t / DELTA))
    return int(np.argmax(known.given.arms @ known.sample(spread)))


def posterior_sampling(known: Known) -> int:
    return int(np.argmax(known.given.arms @ known.sample(NOISE)))


def optimistic_sampling(known: Known) -> int:
    """May, Korda, Lee and Leslie (2012)."""
    return int(np.argmax(np.maximum(known.means, known.given.arms @ known.sample(NOISE))))


def rand_ucb(known: Known) -> int:
    """Vaswani, Mehrabian, Durand and Kveton (2020): Z of 20 values, with one weight changed."""
    values = np.arange(20) / 19
    weights = np.exp(-32 * values**2) / (0.125 * math.sqrt(2 * math.pi))
    weights[-1] = 1e-6
    z = known.given.rng.choice(values, p=weights / weights.sum())
    return int(np.argmax(known.means + z * known.beta() * known.widths))


def imed(known: Known) -> int:
    """LinIMED-1 of Bian and Tan (2024)."""
    reach = (known.beta() * known.widths) ** 2
    return int(np.argmin((known.means.max() - known.means) ** 2 / reach + np.log(1 / reach)))


def imed_by_upper_bounds(known: Known) -> int:
    """LinIMED-3 of Bian and Tan (2024), with C = 30."""
    reach = (known.beta() * known.widths) ** 2
    upper = known.means + np.sqrt(reach)
    gaps = upper.max() - upper
    index, best = gaps**2 / reach + np.log(1 / reach), int(np.argmax(upper))
    index[best] = min(math.log(30 / gaps.max() ** 2), math.log(1 / reach[best]))
    return int(np.argmin(index))


def design(arms: Floats, steps: int = 15) -> Floats:
    """An optimal design by the multiplicative algorithm of Silvey, Titterington and Torsney (1978)."""
    shares = np.full(len(arms), 1 / len(arms))
    for _ in range(steps):
        solved = np.linalg.inv((arms.T * shares) @ arms + 1e-12 * np.eye(DIM))
        shares = shares * np.sum(arms @ solved * arms, axis=1)
        shares /= shares.sum()
    return shares


def med(known: Known) -> int:
    """LinMED-90 of Balagopalan and Jun (2025)."""
    best, chances = int(np.argmax(known.means)), np.ones(ARMS)
    for k, x in enumerate(known.given.arms):
        apart = known.given.arms[best] - x
        if k != best:
            gap, reach = apart @ known.theta, known.beta() ** 2 * (apart @ known.inverse @ apart)
            chances[k] = math.exp(-(gap**2) / reach)
    law = 0.05 * design(known.given.arms * np.sqrt(chances)[:, None]) + 0.05 / ARMS
    law[best] += 0.9
    law *= chances
    return int(known.given.rng.choice(ARMS, p=law / law.sum()))


def ids(gain: str) -> Choose:
    """Kirschner and Krause (2018), by trying 201 weights of every two arms."""

    def choose(known: Known) -> int:
        upper = known.means + known.beta() * known.widths
        gaps = upper.max() - (known.means - known.beta() * known.widths)
        gains = np.log(1 + known.widths**2)
        if gain == "directed":
            u = known.given.arms[int(np.argmax(upper))]
            after = [np.linalg.inv(known.gram + np.outer(x, x)) for x in known.given.arms]
            gains = np.array([math.log((u @ known.inverse @ u) / (u @ each @ u)) for each in after])
        p = np.linspace(0, 1, 201)[:, None, None]
        ratios = ((1 - p) * gaps[:, None] + p * gaps) ** 2 / ((1 - p) * gains[:, None] + p * gains)
        q, i, j = np.unravel_index(np.argmin(ratios), ratios.shape)
        return int(j if known.given.rng.random() < q / 200 else i)

    return choose


def inverse_gaps(known: Known) -> int:
    """SpannerIGW of Zhu, Foster, Langford and Mineiro (2022), with an optimal design; rate 200."""
    costs = 200 / (4 * DIM) * (known.means.max() - known.means)
    weights = design(known.given.arms / np.sqrt(1 + costs)[:, None]) / 2
    weights[int(np.argmax(known.means))] += 0.5
    levels = np.linspace(0.5, 1, 2001)
    sums = np.sum(weights / (levels[:, None] + costs), axis=1)
    law = weights / (levels[int(np.argmin(np.abs(sums - 1)))] + costs)
    return int(known.given.rng.choice(ARMS, p=law / law.sum()))


def ts_ucb(known: Known) -> int:
    """Baek and Farias (2023), with 50 samples."""
    samples = known.given.rng.multivariate_normal(known.theta, NOISE**2 * known.inverse, size=50)
    best = np.mean(np.max(samples @ known.given.arms.T, axis=1))
    return int(np.argmin((best - known.means) / known.widths))


def deviations(arms: Floats) -> Floats:
    """How far rewards scatter, by arm: what weighted regression is told."""
    return np.where(arms[:, 0] > 0, 0.3, 1.0)


def bernstein(known: Known) -> int:
    """Zhou, Gu and Szepesvari (2021), with a tenth of the radius: its own plays the widest arm for ever."""
    n, least = max(known.t - 1, 1), 0.3
    doubt = math.log(4 * n**2 / DELTA)
    first = 8 * math.sqrt(DIM * math.log(1 + n / (DIM * least**2)) * doubt)
    beta = first + 4 / least * doubt + 1
    return int(np.argmax(known.means + 0.01 * beta * known.widths))


# loops that remember more than V and theta


def perturbed_history(given: Task) -> list[int]:
    """Kveton, Szepesvari, Ghavamzadeh and Boutilier (2019), a = 1/2; rewards of -1 and +1 for 0 and 1."""
    pulls, sums, arms = np.zeros(ARMS), np.zeros(ARMS), list[int]()
    for t in range(given.horizon):
        if t < DIM:
            arm = t  # d arms span the space
        else:
            more = np.ceil(0.5 * pulls).astype(int)
            drawn = [sum(given.rng.choice([-1.0, 1.0], size=count)) for count in more]
            gram = (given.arms.T * (pulls + more)) @ given.arms + 1.5 * np.eye(DIM)
            theta = np.linalg.solve(gram, given.arms.T @ (sums + np.array(drawn)))
            arm = int(np.argmax(given.arms @ theta))
        pulls[arm] += 1
        sums[arm] += given.rewards[t, arm]
        arms.append(arm)
    return arms


def bootstrap(given: Task) -> list[int]:
    """Vaswani, Kveton, Wen, Rao, Schmidt and Abbasi-Yadkori (2018): a weight of Exp(1) for each reward."""
    arms, rewards = list[int](), list[float]()
    for t in range(given.horizon):
        if t < DIM:
            arm = t
        else:
            weights, rows = given.rng.exponential(size=t), given.arms[arms]
            gram = (rows.T * weights) @ rows + np.eye(DIM)
            arm = int(np.argmax(given.arms @ np.linalg.solve(gram, rows.T @ (weights * np.array(rewards)))))
        arms.append(arm)
        rewards.append(float(given.rewards[t, arm]))
    return arms


def ensemble(given: Task) -> list[int]:
    """Lu and Van Roy (2017): twenty members, each with a prior and a noise of its own for every reward."""
    gram, arms = np.eye(DIM), list[int]()
    moments = NOISE * given.rng.normal(size=(20, DIM))  # V_0 theta_0, with theta_0 of N(0, noise^2/penalty)
    for rewards in given.rewards:
        theta = np.linalg.solve(gram, moments[given.rng.integers(20)])
        arm = int(np.argmax(given.arms @ theta))
        x = given.arms[arm]
        gram = gram + np.outer(x, x)
        moments = moments + np.outer(rewards[arm] + NOISE * given.rng.normal(size=20), x)
        arms.append(arm)
    return arms


def elimination(given: Task) -> list[int]:
    """Lattimore and Szepesvari (2020), Algorithm 12; the order within a phase is drawn."""
    left, arms, phase = np.arange(ARMS), list[int](), 0
    while len(arms) < given.horizon:
        phase += 1
        each = 2 * DIM * NOISE**2 * 4**phase * math.log(ARMS * phase * (phase + 1) / DELTA)
        pulls = np.ceil(each * np.where((shares := design(given.arms[left], 2000)) > 1e-3, shares, 0))
        order = given.rng.permutation(np.repeat(left, pulls.astype(int)))[: given.horizon - len(arms)]
        rewards = given.rewards[len(arms) + np.arange(len(order)), order]
        theta = np.linalg.lstsq(given.arms[order], rewards, rcond=None)[0]
        arms += order.tolist()
        scores = given.arms[left] @ theta
        left = left[scores >= scores.max() - 2 * 2.0**-phase]
    return arms


def layers(given: Task) -> list[int]:
    """SupLinUCB of Chu, Li, Reyzin and Schapire (2011); alpha times 2 noise, as rewards are not in [0, 1]."""
    horizon, arms = given.horizon, list[int]()
    alpha = 2 * NOISE * math.sqrt(0.5 * math.log(2 * horizon * ARMS / DELTA))
    count = math.ceil(math.log(horizon))
    grams, moments = [np.eye(DIM)] * count, [np.zeros(DIM)] * count
    for t in range(horizon):
        kept, s, arm = list(range(ARMS)), 1, -1
        while arm < 0:
            rows = given.arms[kept]
            inverse = np.linalg.inv(grams[s - 1])
            widths = alpha * np.sqrt(np.sum(rows @ inverse * rows, axis=1))
            upper = rows @ inverse @ moments[s - 1] + widths
            if np.all(widths <= 1 / math.sqrt(horizon)):
                arm = kept[int(np.argmax(upper))]
            elif np.any(widths > 2.0**-s):
                arm = kept[int(np.argmax(widths))]  # "some" arm in the paper
                x = given.arms[arm]
                grams[s - 1] = grams[s - 1] + np.outer(x, x)
                moments[s - 1] = moments[s - 1] + given.rewards[t, arm] * x
            else:
                kept = [k for k, u in zip(kept, upper, strict=True) if u >= upper.max() - 2 * 2.0**-s]
                s += 1
        arms.append(arm)
    return arms


def exponential_weights(given: Task) -> list[int]:
    """EXP2 of Lattimore and Szepesvari (2020), chapter 27."""
    rate = min(math.sqrt(math.log(ARMS) / (3 * DIM * given.horizon)), 1 / DIM)
    theta, arms, explored = np.zeros(DIM), list[int](), design(given.arms, 2000)
    for rewards in given.rewards:
        weights = np.exp(rate * given.arms @ theta)
        law = (1 - DIM * rate) * weights / weights.sum() + DIM * rate * explored
        arm = int(given.rng.choice(ARMS, p=law / law.sum()))
        gram = (given.arms.T * law) @ given.arms
        theta = theta + np.linalg.solve(gram, given.arms[arm]) * rewards[arm]
        arms.append(arm)
    return arms


class Pair(NamedTuple):
    """A base of infex, the loop of its paper, and the law of rewards."""

    policy: Callable[[int], Policy]
    loop: Loop
    law: str = "gaussian"
    estimator: models.Weighted | None = None


def pair(policy: Any, loop: Loop, law: str = "gaussian", estimator: models.Weighted | None = None) -> Pair:
    return Pair(lambda horizon: policy, loop, law, estimator)


RADIUS: dict[str, Any] = {"noise": NOISE, "delta": DELTA}
WEIGHTED = models.Weighted(weight=lambda x: 1 / 0.3**2 if x[0] > 0 else 1.0)
PAIRS: dict[str, Pair] = {
    "LinUCB": pair(LinUCB(**RADIUS), by_ridge(oful)),
    "LinUCB, mixture": pair(LinUCB(**RADIUS, radius="mixture"), by_ridge(mixture)),
    "LinTS, abeille": pair(LinTS(**RADIUS), by_ridge(abeille)),
    "LinTS, agrawal": pair(LinTS(**RADIUS, inflation="agrawal"), by_ridge(agrawal)),
    "LinTS, uninflated": pair(LinTS(**RADIUS, inflation=None), by_ridge(posterior_sampling)),
    "OptimisticTS": pair(OptimisticTS(**RADIUS, inflation=None), by_ridge(optimistic_sampling)),
    "RandLinUCB": pair(RandLinUCB(**RADIUS), by_ridge(rand_ucb)),
    "LinIMED-1": pair(LinIMED(**RADIUS), by_ridge(imed)),
    "LinIMED-3": pair(LinIMED(**RADIUS, variant=3), by_ridge(imed_by_upper_bounds)),
    "LinMED-90": pair(LinMED(**RADIUS), by_ridge(med)),
    "LinIDS": pair(LinIDS(**RADIUS), by_ridge(ids("variance"))),
    "LinIDS, directed": pair(LinIDS(**RADIUS, gain="directed"), by_ridge(ids("directed"))),
    "SpannerIGW": pair(SpannerIGW(rate=200), by_ridge(inverse_gaps)),
    "TSUCB": pair(TSUCB(noise=NOISE, samples=50), by_ridge(ts_ucb)),
    "WeightedOFUL": pair(
        WeightedOFUL(least_noise=0.3, delta=DELTA, scale=0.01),
        by_ridge(bernstein, lambda arms: 1 / deviations(arms) ** 2),
        estimator=WEIGHTED,
    ),
    "LinPHE": pair(LinPHE(), perturbed_history, "sign"),
    "WeightedBootstrap": pair(WeightedBootstrap(), bootstrap, "sign"),
    "EnsembleSampling": pair(EnsembleSampling(members=20, noise=NOISE), ensemble),
    "PhasedElimination": pair(PhasedElimination(noise=NOISE, delta=DELTA), elimination),
    "SupLinUCB": Pair(lambda horizon: SupLinUCB(noise=NOISE, delta=DELTA, horizon=horizon), layers),
    "EXP2": Pair(lambda horizon: EXP2(horizon=horizon), exponential_weights, "sign"),
}
SAME_ARMS = {"LinUCB", "LinUCB, mixture", "LinIMED-1", "LinIMED-3", "WeightedOFUL", "SupLinUCB"}

TASKS = dict.fromkeys(
    ("EXP2", "RandLinUCB", "TSUCB", "EnsembleSampling", "LinTS, uninflated", "OptimisticTS"), 300
)


def regrets(name: str, horizon: int, seeds: int) -> tuple[Floats, Floats]:
    """What infex loses and what the loop loses, on so many tasks."""
    both, found = PAIRS[name], []
    for seed in range(seeds):
        here, there = task(seed, horizon, both.law), task(seed, horizon, both.law)
        ours = played(both.policy(horizon), here, seed, both.estimator)
        found.append([here.gaps[ours].sum(), there.gaps[both.loop(there)].sum()])
    lost = np.array(found)
    return lost[:, 0], lost[:, 1]


@pytest.mark.parametrize("name", sorted(SAME_ARMS))
def test_a_base_that_draws_nothing_plays_the_arms_of_its_papers_pseudocode(name: str) -> None:
    both = PAIRS[name]
    for seed in range(3):
        given = task(seed, 200, both.law)
        assert played(both.policy(200), given, seed, both.estimator) == both.loop(given)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(PAIRS) - SAME_ARMS))
def test_a_base_loses_what_its_papers_pseudocode_loses(name: str) -> None:
    """Within 4 standard errors of the mean difference, which are small beside the regret."""
    ours, theirs = regrets(name, horizon=600, seeds=TASKS.get(name, 80))
    error = np.std(ours - theirs, ddof=1) / np.sqrt(len(ours))
    assert abs(np.mean(ours - theirs)) <= 4 * error
    assert error < 0.15 * np.mean(theirs)
