"""Runs on problems of every kind: arms drawn anew, means that move, any law of rewards, late rewards.

Compiled where policy and law are, else in Python, with the same results.
"""

from __future__ import annotations

import functools
import time
from collections import defaultdict
from typing import NamedTuple

import numpy as np

from infex.arrays import Floats, Integers
from infex.environments import Instance, LinearInstance, Stretch
from infex.environments.lateness import NEVER, checked_late
from infex.environments.reward_laws import RewardSource
from infex.errors import InvalidChoice, InvalidReward
from infex.kernels import open_runs
from infex.kernels.bases import NoSuchArm
from infex.kernels.calling import throw
from infex.kernels.changing_runs import play_block
from infex.kernels.fixed_runs import Rule, State
from infex.kernels.outlook import outlook
from infex.kernels.rewards import Law
from infex.kernels.world import BadReward, Post, World, enter, gaps_from
from infex.linear import InContext, Memory, On, RidgeStatistics
from infex.linear.estimating import Estimator
from infex.policies import Greedy, Policy
from infex.policies.traits import traits_of
from infex.rounds import Player, Taken
from infex.simulation.batch import wrong
from infex.simulation.course import Course, course_of
from infex.simulation.ledger import Ledger
from infex.simulation.run import Run
from infex.streams import stream


def play_open(
    instance: Instance,
    policy: Policy,
    label: str,
    course: Course | None,
    horizon: int,
    seed: int,
    penalty: float,
    record: bool,
    estimator: Estimator | None = None,
    narrows: bool = True,
) -> Run:
    """One run; `course` is that of a policy that needs no Python."""
    source = RewardSource(instance.law, seed, instance.key)
    law = source.compiled if course is not None else None
    if law is not None:
        compile_open(instance.standing is None)
    apart = traits_of(policy).uses_explored
    standing = np.zeros((0, instance.dim)) if instance.standing is None else instance.standing
    memory = Memory.empty(np.ascontiguousarray(standing.T), penalty, apart, estimator)
    ledger = Ledger(1, instance.count, horizon, record)
    rng = stream(seed, "policy", label, instance.key)
    late = checked_late(instance.late)
    delays = None if late is None else late.delays(seed, instance.key, horizon)
    begun = time.perf_counter()
    if course is None or law is None:
        if narrows and delays is not None:
            memory.foresee()
        loop = Interpreter(Player(policy, memory), ledger, source, rng, delays)
        for stretch in instance.stretches(seed, horizon):
            loop.play(stretch)
    else:
        post = post_of(delays, instance.dim, instance.count, instance.standing is None, narrows)
        for stretch in instance.stretches(seed, horizon):
            _compiled(stretch, instance, course, law, memory, ledger, post, source.generator, rng)
    ledger.volumes[0] = memory.all.known().volume
    return ledger.run(0, instance, policy, seed, time.perf_counter() - begun)


@functools.cache
def compile_open(changing: bool) -> None:
    """Compiles a loop, or reads it from the cache, so that no run's time holds it."""
    instance = LinearInstance(np.zeros((1, 1)), np.zeros(1))
    memory, course = Memory.empty(np.zeros((1, 0 if changing else 1)), 1.0, apart=False), course_of(Greedy())
    source = RewardSource(instance.law, 0, 0)
    assert course is not None
    assert source.compiled is not None
    block = np.zeros((1, 1, 1)) if changing else None
    stretch = Stretch(1, 1, np.array([1]), np.zeros((1, 1)), block)
    ledger = Ledger(1, 1, 2, record=False)
    _compiled(
        stretch, instance, course, source.compiled, memory, ledger, post_of(None, 0, 0), stream(0), stream(0)
    )


class OnItsWay(NamedTuple):
    """A reward on its way, as a player learns it."""

    arm: int
    on: On
    reward: float
    explored: bool


class Unpaid(NamedTuple):
    """A decision whose reward is on its way."""

    t: int
    explored: bool
    estimate: float


class Interpreter:
    """A run in Python: a round after the other, rewards told when they are due."""

    def __init__(
        self,
        player: Player,
        ledger: Ledger,
        source: RewardSource,
        rng: np.random.Generator,
        delays: Integers | None,
    ) -> None:
        self._player, self._outcome, self._source = player, ledger.outcome(0), source
        self._rng, self._delays = rng, None if delays is None else delays.tolist()
        self._due: defaultdict[int, list[tuple[OnItsWay, Unpaid]]] = defaultdict(list)

    def play(self, stretch: Stretch) -> None:
        """Plays all rounds of a stretch."""
        gaps, row = np.empty(stretch.means.shape[1]), -1
        for t in range(stretch.first, stretch.last + 1):
            if row < 0 or t > stretch.ends[row]:
                row += 1
                gaps_from(stretch.means[row], gaps)
            columns = None if stretch.columns is None else stretch.columns[t - stretch.first]
            self._round(t, stretch.means[row], gaps, columns)

    def _round(self, t: int, means: Floats, gaps: Floats, columns: Floats | None) -> None:
        player = self._player
        taken, estimate = self._decided(t, columns)
        player.enter(taken)
        arm, explored = taken.choice.arm, taken.choice.explored
        reward = self._source.reward(t, arm, float(means[arm]))
        enter(self._outcome, t, arm, explored, gaps[arm], reward)
        self._wait(OnItsWay(arm, taken.on, reward, explored), Unpaid(t, explored, estimate))
        for gained, decision in self._due.pop(t, ()):
            player.learn(*gained)
            if player.memory.foresight is not None:
                player.memory.foresight.remove(decision, gained.on)

    def _decided(self, t: int, columns: Floats | None) -> tuple[Taken, float]:
        """What the policy does, and the estimate of its arm; evidence that is held costs copies."""
        offer = InContext(columns) if columns is not None and columns.ndim == 1 else columns
        evidence = self._player.evidence(offer)
        taken = self._player.decide(t, evidence, self._rng)
        return taken, evidence.estimate(taken.choice.arm)

    def _wait(self, gained: OnItsWay, decision: Unpaid) -> None:
        if self._player.memory.foresight is not None:
            self._player.memory.foresight.came.append((decision, gained.on))
        delay = 0 if self._delays is None else self._delays[decision.t - 1]
        if delay != NEVER:
            self._due[decision.t + delay].append((gained, decision))


def _arrivals(delays: Integers) -> tuple[Integers, Integers]:
    """The rounds whose rewards come, in the order of arrival, and the rounds after which they are there."""
    told = np.flatnonzero(delays != NEVER)
    order = np.argsort(told + 1 + delays[told], kind="stable")
    return told[order], told[order] + 1 + delays[told[order]]


def _no_post() -> Post:
    none, never = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_)
    nothing = np.zeros(0), never, np.zeros((0, 0)), outlook(0, 0)
    return Post(none, none, np.zeros(1, np.int64), none, *nothing)


def post_of(
    delays: Integers | None, dim: int, arms: int, changing: bool = False, narrows: bool = False
) -> Post:
    """Room for rewards on their way, in the order in which they arrive; none where all come at once.

    `narrows`: do exploring rounds look at them?
    """
    if delays is None:
        return _no_post()
    horizon = delays.size
    told, arrival = _arrivals(delays)
    if not told.size:
        told, arrival = np.zeros(1, np.int64), np.array([horizon + 1])  # one that never arrives
    return Post(
        told,
        arrival,
        np.zeros(1, dtype=np.int64),
        np.zeros(horizon, dtype=np.int64),
        np.zeros(horizon),
        np.zeros(horizon, dtype=np.bool_),
        np.zeros((horizon, dim if changing else 0)),
        outlook(dim, 0 if changing else arms) if narrows else outlook(0, 0),
    )


def _compiled(
    stretch: Stretch,
    instance: Instance,
    course: Course,
    law: Law,
    memory: Memory,
    ledger: Ledger,
    post: Post,
    reward_rng: np.random.Generator,
    rng: np.random.Generator,
) -> None:
    ridge, own, form = memory.all, memory.explored, course.form
    assert isinstance(ridge, RidgeStatistics)
    state = State._make((*ridge.state, ridge.penalty))
    apart = State._make((*own.state, ridge.penalty)) if isinstance(own, RidgeStatistics) else state
    first, last = stretch.first, stretch.last
    rule = Rule(course.exploring(first, last), form.schedule is None, form.own, form.random_ties)
    world = World(law, instance.law.noises, stretch.ends, stretch.means)
    who = form.base, form.settings, state, apart, world, post, reward_rng, rng, ledger.outcome(0)
    try:
        if stretch.columns is None:
            fault = open_runs.play_open_rounds(first, last, rule, *who)
        else:
            fault = play_block(first, stretch.columns, rule, *who)
    except NoSuchArm as error:
        raise InvalidChoice(wrong(course, instance.count, *error.args)) from None
    except BadReward as error:
        raise InvalidReward(
            "the law of rewards must give a finite number; in round {1} it gave {0}".format(*error.args)
        ) from None
    if fault:
        throw(fault)
