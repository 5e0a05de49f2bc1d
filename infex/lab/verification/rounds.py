"""Statements about sums, schedules and rounds, and orders of growth: C8, C9, C13 to C16 and C18 to C20."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Literal, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from infex.arrays import Floats
from infex.bandit.agent import Agent, play_round
from infex.errors import SparseExploration
from infex.lab import environments
from infex.lab.simulation import play_many
from infex.lab.theory.bounds import Setting, constants
from infex.lab.theory.paper_tables import table_1
from infex.lab.verification.statements import Effort, states
from infex.models.state import ModelState
from infex.policies import Greedy, Infex, LinTS, LinUCB, Policy, budget
from infex.policies.base import policy_info
from infex.schedules import Schedule, always, every, jittered, listed, logarithmic, never, power, stretched
from infex.streams import stream

TAIL_DELTA = 0.1
ROUND_SIZES = ((4, 8), (4, 64), (12, 8), (12, 64))
FALLING_GAPS = (0.5, 0.1, 0.02, 0.004)
SCHEDULE_FAMILIES: tuple[Schedule, ...] = (
    every(1),
    every(20),
    every(7, offset=3),
    stretched(1),
    stretched(2.5),
    power(0.3),
    power(0.5),
    logarithmic(1),
    logarithmic(3),
    jittered(20, seed=5),
    listed([1, 2, 30, 31, 10**9]),
    budget(every(3), 50),
    every(6) | every(10),
)

# Sums


def crossings(level: float) -> float:
    """The sum over n of P(S_n/n >= c) for a walk of N(0, 1) steps: sum of erfc(c sqrt(n/2))/2."""
    last = math.ceil((40.0 / level) ** 2)
    return sum(0.5 * math.erfc(level * math.sqrt(n / 2.0)) for n in range(last, 0, -1))


@states(
    "C8", "a normal walk's mean is above c at most 1/(2 c^2) times, in expectation: the greatest share of it"
)
def check_crossings(effort: Effort) -> float:
    """The greatest share, computed exactly: these sums converge fast."""
    return max(crossings(level) * 2.0 * level**2 for level in (0.1, 0.2, 0.5, 1.0))


def excess(rng: np.random.Generator, chances: Floats, runs: int, factor: float = 2.0) -> float:
    """The share of runs in which the chances sum up to more than factor (sum of X + log(1/delta)) at some n.

    X_t is 1 with a chance that depends on the past: the next of `chances` after every success.
    """
    step, owed = np.zeros(runs, int), np.zeros(runs)
    broken = np.zeros(runs, bool)
    for _ in range(400):
        chance = chances[step % chances.size]
        success = rng.random(runs) < chance
        owed += chance - factor * success
        step += success
        broken |= owed >= factor * math.log(1.0 / TAIL_DELTA)
    return float(broken.mean())


@states(
    "C9",
    "expected steps exceed 2 (steps + log(1/delta)) with chance at most delta = 0.1: the share of runs",
    TAIL_DELTA,
)
def check_excess(effort: Effort) -> float:
    """The greatest share of several rules that make chances of the past."""
    rng, runs = effort.rng("freedman"), 4000 * effort.scale
    rules = ([0.02], [0.2], [0.9, 0.1], [0.01, 0.3, 1.0])
    return max(excess(rng, np.array(rule), runs) for rule in rules)


def reciprocals(period: int, last: int) -> Floats:
    """The sum over t <= T of 1/max(floor(t/m), 1) as a share of m (1 + log T), for T up to `last`."""
    rounds = np.arange(1, last + 1)
    sums = np.cumsum(1.0 / np.maximum(rounds // period, 1))
    return np.asarray(sums / (period * (1.0 + np.log(rounds))))


@states(
    "C13", "sum_{t <= T} 1/max(floor(t/m), 1) is at most m (1 + log T): the greatest share of it", 1.0 + 1e-12
)
def check_reciprocals(effort: Effort) -> float:
    """The greatest share for all T up to 20,000 and many m.

    Example 1 of the paper comes to this by a middle step that does not hold.
    """
    periods = (*range(1, 40), 50, 100, 500, 1000)
    return max(float(reciprocals(m, 20_000 * effort.scale).max()) for m in periods)


# Schedules and rounds


def inversions(schedule: Schedule, rng: np.random.Generator) -> int:
    """In how many of 60 draws f, f^-1 and membership do not fit together.

    f(f^-1(n)) = n, f^-1(n) explores, f^-1(f(t)) <= t < f^-1(f(t) + 1), and t explores iff f rises there.
    """
    wrong = 0
    for _ in range(30):
        n, t = (int(10.0 ** rng.uniform(0, top)) for top in (5, 10))
        when, count = schedule.when(n), schedule.count(t)
        if when < math.inf:
            wrong += not (schedule.count(int(when)) == n and schedule.explores(int(when)))
        wrong += not (
            (count == 0 or schedule.when(count) <= t)
            and t < schedule.when(count + 1)
            and schedule.explores(t) == (count > schedule.count(t - 1))
        )
    return wrong


@states("C14", "f and f^-1 of every schedule fit together: how often not", 0)
def check_inversions(effort: Effort) -> float:
    """Draws that do not fit together, over all families."""
    rng = effort.rng("inversions")
    return sum(inversions(schedule, rng) for schedule in SCHEDULE_FAMILIES for _ in range(effort.scale))


def played(
    policy: Policy, arms: Floats, rewards: Floats, named: Callable[[int], int] = lambda t: t
) -> list[int]:
    """The arms that a policy plays where arm k has the reward `rewards[t, k]` in round t.

    Its draws in round t come from a stream of named(t) alone.
    """
    apart = policy_info(policy).uses_explored
    agent = Agent(policy, ModelState.empty(np.ascontiguousarray(arms.T), 1.0, apart))
    found = []
    for t, row in enumerate(rewards, 1):
        rng = stream(1, "round", named(t))
        choice, _ = play_round(agent, t, rng, lambda arm, row=row: float(row[arm]))  # type: ignore[misc]
        found.append(choice.arm)
    return found


def table(seed: int, horizon: int) -> tuple[Floats, Floats]:
    """Arms of a random problem, and the rewards of all arms in all rounds."""
    instance = environments.gaussian(5, 20, seed)
    draws = stream(seed, "rewards of all arms", horizon).random((horizon, 1))
    return np.array(instance.arms), np.where(draws < (1.0 + instance.means) / 2.0, 1.0, -1.0)


def ends(
    base: Policy,
    arms: Floats,
    rewards: Floats,
    schedules: tuple[Schedule, Schedule] = (always(), never()),
) -> int:
    """Rounds in which INFEX differs from its base, exploring always, or from greedy, exploring never."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SparseExploration)
        mixed = [Infex(base, schedule) for schedule in schedules]
    return sum(
        one != other
        for pair in zip(mixed, (base, Greedy()), strict=True)
        for one, other in zip(*(played(policy, arms, rewards) for policy in pair), strict=True)
    )


def own_rounds(
    base: Policy, schedule: Schedule, arms: Floats, rewards: Floats, data: Literal["shared", "own"] = "own"
) -> int:
    """Exploring rounds that differ from a run of the base by itself on the noise of those rounds.

    The base's draws are those of its own round number in both.
    """
    exploring = [t for t in range(1, len(rewards) + 1) if schedule.explores(t)]
    turns = {t: turn for turn, t in enumerate(exploring, 1)}
    mixed = played(Infex(base, schedule, data=data), arms, rewards, lambda t: turns.get(t, 0))
    alone = played(base, arms, rewards[[t - 1 for t in exploring]])
    return sum(mixed[t - 1] != arm for t, arm in zip(exploring, alone, strict=True))


@states("C15", "INFEX that explores always is its base, and never, greedy: rounds that differ", 0)
def check_ends(effort: Effort) -> float:
    """Rounds that differ, with both bases."""
    bases = (LinUCB(delta=0.01), LinTS(delta=0.01), LinTS(delta=0.01, sampling="spherical"))
    tables = [table(seed, 150) for seed in effort.seeds("ends", 3)]
    return sum(ends(base, *each) for base in bases for each in tables)


@states("C16", "with own data the exploring rounds are a run of the base by itself: rounds that differ", 0)
def check_own(effort: Effort) -> float:
    """Rounds that differ, with both bases and three schedules."""
    tables = [table(seed, 300) for seed in effort.seeds("own", 3)]
    schedules = (every(5), power(0.7), jittered(4, seed=2))
    return sum(
        own_rounds(base, schedule, *each)
        for base in (LinUCB(delta=0.01), LinTS(delta=0.01))
        for schedule in schedules
        for each in tables
    )


@states(
    "C19", "INFEX has less mean regret than its base: LinTS for m = 5, 20, 100, LinUCB for 5: greatest ratio"
)
def check_experiments(effort: Effort) -> float:
    """The greatest ratio of mean regrets on the paper's instances at d = 10, K = 10 and 100, T = 10,000."""
    shares = []
    for arms in (10, 100):
        problems = [environments.gaussian(10, arms, seed) for seed in effort.seeds(f"paper {arms}", 20)]

        def mean_regret(policy: Policy, problems: list[environments.LinearInstance] = problems) -> float:
            return float(np.mean([run.regret for run in play_many(problems, policy, 10_000)]))

        for base, periods in ((LinUCB(delta=1e-4), (5,)), (LinTS(delta=1e-4), (5, 20, 100))):
            alone = mean_regret(base)
            shares += [mean_regret(Infex(base, every(period))) / alone for period in periods]
    return float(np.max(shares))


# Orders of growth


@final
class Counted(float):
    """A number whose products, quotients and roots are counted."""

    products = 0

    def __mul__(self, other: float) -> Counted:
        Counted.products += 1
        return Counted(float(self) * float(other))

    __rmul__ = __mul__

    def __truediv__(self, other: float) -> Counted:
        Counted.products += 1
        return Counted(float(self) / float(other))

    def __add__(self, other: float) -> Counted:
        return Counted(float(self) + float(other))

    __radd__ = __add__

    def __sub__(self, other: float) -> Counted:
        return Counted(float(self) - float(other))

    def sqrt(self) -> Counted:
        """The root, which counts as one product."""
        Counted.products += 1
        return Counted(math.sqrt(self))


CountedArray = NDArray[np.object_]
counted: Callable[[ArrayLike], CountedArray] = np.vectorize(Counted, otypes=[object])


def greedy_round(arms: CountedArray, inverse: CountedArray, theta: CountedArray, reward: float) -> None:
    """Choosing by x'theta, and one Sherman-Morrison step."""
    x = arms[int(np.argmax(arms @ theta))]
    u = inverse @ x
    scale = x @ u + 1.0
    inverse = inverse - np.outer(u / scale, u)
    theta = theta + u * ((x @ theta) * -1.0 + reward) / scale


def linucb_round(arms: CountedArray, inverse: CountedArray, theta: CountedArray, reward: float) -> None:
    """The textbook's LinUCB: a product with V^-1 for every arm."""
    for x in arms:
        (x @ (inverse @ x)).sqrt() * 2.0
    greedy_round(arms, inverse, theta, reward)


def fast_linucb_round(arms: CountedArray, inverse: CountedArray, theta: CountedArray, reward: float) -> None:
    """LinUCB on a fixed arm set: squared widths are kept, and fall by g^2/(1 + q) for g = arms @ u."""
    u = inverse @ arms[0]
    scale = arms[0] @ u + 1.0
    for g in arms @ u:
        (g * g / scale).sqrt() * 2.0
    greedy_round(arms, inverse, theta, reward)


def lints_round(arms: CountedArray, inverse: CountedArray, theta: CountedArray, reward: float) -> None:
    """The textbook's LinTS: a Cholesky factor of V^-1 for every sample."""
    dim = len(theta)
    factor = counted(np.zeros((dim, dim)))
    for i in range(dim):
        for j in range(i + 1):
            rest = inverse[i, j] - sum((factor[i, k] * factor[j, k] for k in range(j)), Counted(0.0))
            factor[i, j] = rest.sqrt() if i == j else rest / factor[j, j]
    greedy_round(arms, inverse, theta + (factor @ counted(np.ones(dim))) * 2.0, reward)


ROUND_ORDERS: tuple[tuple[Callable[..., None], Callable[[int, int], int]], ...] = (
    (greedy_round, lambda d, k: d * d + d * k),
    (linucb_round, lambda d, k: d * d * k),
    (fast_linucb_round, lambda d, k: d * d + d * k),
    (lints_round, lambda d, k: d**3 + d * k),
)


def cost(play: Callable[..., None], dim: int, arms: int) -> int:
    """The products of one round."""
    rng = stream(0, "cost of a round", dim, arms)
    rows = rng.standard_normal((arms, dim))
    unit_rows = counted(rows / np.linalg.norm(rows, axis=1, keepdims=True))
    inverse, theta = counted(np.eye(dim)), counted(rng.standard_normal(dim))
    Counted.products = 0
    play(unit_rows, inverse, theta, 1.0)
    return Counted.products


@states("C18", "textbook rounds cost O(d^2 + dK), LinUCB O(d^2 K), LinTS O(d^3 + dK): products by order", 4.0)
def check_costs(effort: Effort) -> float:
    """The most products of a round, divided by its order."""
    return max(cost(play, *size) / model(*size) for play, model in ROUND_ORDERS for size in ROUND_SIZES)


def constant(dim: int, gap: float, schedule: Schedule) -> float:
    """2 S tau_0 + (7/16) Delta tau_1 for LinUCB with delta = 0.01."""
    setting = Setting(dim=dim, gap=gap, delta=0.01)
    return constants(setting, schedule, "LinUCB", 0.01).cost(setting)


def growth(schedule: Schedule, order: Callable[[int, float], float], dim: int) -> float:
    """The greatest factor by which the constant outgrows its order when the gap falls to a fifth."""
    shares = [constant(dim, gap, schedule) / order(dim, gap) for gap in FALLING_GAPS]
    return max(later / sooner for sooner, later in pairwise(shares))


def widening(order: Callable[[int, float, int], float], dim: int = 10, gap: float = 0.1) -> float:
    """The factor by which the constant of `every(m)` outgrows its order when m goes from 5 to 100."""
    few, many = (constant(dim, gap, every(m)) / order(dim, gap, m) for m in (5, 100))
    return many / few


@states(
    "C20", "the bound's constant has the order of Table 1: its growth against it as gaps fall and m rises"
)
def check_orders(effort: Effort) -> float:
    """The greatest growth against the rows of Table 1, in the gap and in m."""
    rows = ((every(20), 0, 1.0), (stretched(1), 1, 1.0), (stretched(2), 1, 2.0), (power(0.5), 2, 0.5))

    def order(row: int, r: float) -> Callable[[int, float], float]:
        return lambda dim, gap: table_1(dim, gap, 20, r)[row].value

    factors = [growth(schedule, order(row, r), dim) for schedule, row, r in rows for dim in (10, 40)]
    return max(*factors, widening(lambda dim, gap, m: table_1(dim, gap, m, 1)[0].value))
