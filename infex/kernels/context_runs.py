"""The compiled loop over contexts, where each arm has a regression of its own."""

import math
from typing import NamedTuple

import numpy as np

from infex.arrays import Floats
from infex.kernels import regret, to_sphere
from infex.kernels.bases import (
    EPSILON,
    GREEDY,
    HYBRID,
    LINTS,
    LINTS_SPHERICAL,
    LINUCB,
    ROBIN,
    UNIFORM,
    Base,
    NoSuchArm,
    NoSuchKind,
    any_arm,
    pick,
)
from infex.kernels.compiling import compiled, lend, within, woven
from infex.kernels.layout import VOLUME
from infex.kernels.reading import choosing_radius
from infex.kernels.rewards import rewarded
from infex.kernels.run_arrays import Outcome, Rule
from infex.kernels.small_ridges import (
    learn_block,
    look_at_blocks,
    sampled_blocks,
    widths_of_blocks,
)
from infex.kernels.world import BadReward, World, enter, gaps_from


class SmallRidges(NamedTuple):
    """The arrays of K ridges, as `small_ridges` describes them, and their penalty."""

    truth: Floats
    solved: Floats
    wide: Floats
    runs: Floats
    counts: Floats
    penalty: float


@compiled
def means_in_contexts(columns: Floats, contexts: Floats, out: Floats) -> None:
    """x'theta_k of every arm in every context, (rounds, K), from the parameters as columns, (c, K)."""
    for b in range(contexts.shape[0]):
        for k in range(out.shape[1]):
            out[b, k] = 0.0
        for i in range(contexts.shape[1]):
            value = contexts[b, i]
            for k in range(out.shape[1]):
                out[b, k] += value * columns[i, k]


@woven
def take_in_block(
    ridges: SmallRidges, arm: int, x: Floats, reward: float, numbers: Floats, radii: Floats
) -> None:
    """Learns the reward of an arm in a context; its radius alone changes."""
    truth, solved, wide, runs, counts, penalty = ridges
    learn_block(truth, penalty, solved, wide, runs, counts, arm, x, reward, 1.0)
    radii[arm] = choosing_radius(runs[arm, VOLUME], numbers)


@within
def sampled_in_blocks(
    base: Base, wide: Floats, radii: Floats, x: Floats, work: Floats, rng: np.random.Generator
) -> int:
    """The best arm where each has a parameter that is drawn for it; row 0 of `work` are the scores."""
    arms, dim = work.shape[1], x.size
    directions, places = np.empty((arms, dim)), np.arange(arms)
    for k in range(arms):
        for i in range(dim):
            directions[k, i] = rng.standard_normal()
        if base.kind == LINTS_SPHERICAL:
            to_sphere(directions[k])
    sampled_blocks(wide, x, places, work[0], radii, directions, work[2])
    return pick(work[2], base.random_ties, rng)


@within
def base_arm_in_context(
    base: Base, t: int, wide: Floats, radii: Floats, x: Floats, work: Floats, rng: np.random.Generator
) -> tuple[int, bool]:
    """The arm the base chooses in a context, and whether it calls that exploring; as `bases.base_arm`."""
    wide, radii, x, work = lend(wide), lend(radii), lend(x), lend(work)
    kind, arms = base.kind, work.shape[1]
    exploits = kind == GREEDY
    if kind == EPSILON:
        rate = min(1.0, t ** (-1.0 / 3.0)) if base.rate < 0.0 else base.rate
        exploits = rng.random() >= rate
    elif kind == HYBRID:
        exploits = rng.random() >= base.rate
    if kind == ROBIN:
        return (t - 1) % arms, True
    if kind == UNIFORM or (kind == EPSILON and not exploits):
        return any_arm(arms, rng), True
    look_at_blocks(wide, x, work[0])
    if exploits:
        return pick(work[0], base.random_ties, rng), False
    if kind == LINUCB:
        widths_of_blocks(wide, x, work[2], work[1])
        for k in range(arms):
            work[2, k] = work[0, k] + radii[k] * work[1, k]
        return pick(work[2], base.random_ties, rng), True
    if kind not in (LINTS, LINTS_SPHERICAL, HYBRID):
        raise NoSuchKind(kind)
    return sampled_in_blocks(base, wide, radii, x, work, rng), True


@compiled
def play_contexts(
    t: int,
    contexts: Floats,
    rule: Rule,
    base: Base,
    ridges: SmallRidges,
    apart: SmallRidges,
    world: World,
    reward_rng: np.random.Generator,
    rng: np.random.Generator,
    outcome: Outcome,
) -> int:
    """Plays a round in each context, (rounds, c), from t on; 0, or the fault of a law that raised.

    There is a row of means for each round.
    """
    ridges, apart, world, outcome, contexts = (
        lend(ridges),
        lend(apart),
        lend(world),
        lend(outcome),
        lend(contexts),
    )
    exploring, always, own, random_ties = rule
    count, turn, own_clock = world.means.shape[1], 0, int(outcome.tally[regret.EXPLORED])
    work, gaps, radii = np.empty((3, count)), np.empty(count), np.empty((2, count))
    numbers = np.array([base.noise, base.bound, base.delta, base.scale, base.bonus, ridges.penalty])
    for k in range(count):
        radii[0, k] = choosing_radius(ridges.runs[k, VOLUME], numbers)
        radii[1, k] = choosing_radius(apart.runs[k, VOLUME], numbers)
    for b in range(contexts.shape[0]):
        x, now = contexts[b], t + b
        explores = always or (turn < exploring.size and exploring[turn] == now)
        if explores:
            turn += 1
            if own:
                arm, explores = base_arm_in_context(
                    base, own_clock + turn, apart.wide, radii[1], x, work, rng
                )
            else:
                arm, explores = base_arm_in_context(base, now, ridges.wide, radii[0], x, work, rng)
            explores = explores or not always
        else:
            look_at_blocks(ridges.wide, x, work[0])
            arm = pick(work[0], random_ties, rng)
        if not 0 <= arm < count:
            raise NoSuchArm(arm, now)
        reward, fault = rewarded(world.law, world.means[b, arm], world.noise[arm], now, reward_rng)
        if fault != 0:
            return fault
        if not math.isfinite(reward):
            raise BadReward(reward, now)
        gaps_from(world.means[b], gaps)
        enter(outcome, now, arm, explores, gaps[arm], reward)
        take_in_block(ridges, arm, x, reward, numbers, radii[0])
        if explores and own:
            take_in_block(apart, arm, x, reward, numbers, radii[1])
    return 0
