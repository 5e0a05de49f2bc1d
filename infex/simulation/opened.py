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
from infex.bandit.agent import Agent, Step
from infex.environments import Instance, LinearInstance, Stretch
from infex.environments.lateness import NEVER, checked_late
from infex.environments.reward_laws import RewardSource
from infex.errors import InvalidChoice, InvalidReward
from infex.kernels.bases import GAUSSIAN_TS, PLAIN_HYBRID, PLAIN_UCB, NoSuchArm
from infex.kernels.handing import handed
from infex.kernels.stateful_runs import play_stretch
from infex.kernels.world import BadReward, World, enter, gaps_from
from infex.linear import InContext, Memory, On, RidgeStatistics
from infex.linear.estimating import Estimator
from infex.policies import Greedy, Policy
from infex.policies.traits import traits_of
from infex.simulation import general
from infex.simulation.course import Course, course_of
from infex.simulation.ledger import Ledger
from infex.simulation.run import Run
from infex.simulation.setting_up import Setup, Shape, post_of, weights_of
from infex.simulation.stateful import in_words, raise_fault, wrong
from infex.simulation.terms import RunTerms
from infex.streams import stream

READ_PULLS = (PLAIN_UCB, GAUSSIAN_TS, PLAIN_HYBRID)


def play_open(
    instance: Instance,
    seed: int,
    terms: RunTerms,
    course: Course | None,
    estimator: Estimator | None = None,
    narrows: bool = True,
    learnt: RidgeStatistics | None = None,
) -> Run:
    """One run; `course` is that of a policy that needs no Python.

    It begins with what was `learnt` by ridge before, but for a base that keeps own data.
    """
    if course is not None and general.can_play(course, instance):
        sums = None if learnt is None else learnt.snapshot()
        return general.play_general(instance, seed, terms, course, narrows, sums)
    policy, label, horizon, penalty, record = terms
    source = RewardSource(instance.law, seed, instance.key)
    ledger = Ledger(1, instance.count, horizon, record)
    rng = stream(seed, "policy", label, instance.key)
    late = checked_late(instance.late)
    delays = None if late is None else late.delays(seed, instance.key, horizon)
    if course is None or source.compiled is None or not can_play(course, instance):
        loop: Interpreter | CompiledLoop = Interpreter(
            player_of(instance, policy, penalty, estimator, narrows and delays is not None, learnt),
            ledger, source, rng, delays,
        )  # fmt: skip
    else:
        compile_open()
        loop = CompiledLoop(instance, course, penalty, ledger, source, rng, delays, narrows, learnt)
    begun = time.perf_counter()
    for stretch in instance.stretches(seed, horizon):
        loop.play(stretch)
    loop.close()
    return ledger.run(0, instance, policy, seed, time.perf_counter() - begun)


def can_play(course: Course, instance: Instance) -> bool:
    """Can a compiled loop play it? Arms that change have no pulls, and a user weighs each of them anew."""
    if instance.standing is not None:
        return True
    weighs = course.fit is not None and course.fit.weigh is not None
    return course.form.base.kind not in READ_PULLS and not weighs


def player_of(
    instance: Instance,
    policy: Policy,
    penalty: float,
    estimator: Estimator | None,
    foresees: bool,
    learnt: RidgeStatistics | None = None,
) -> Agent:
    """Who plays in Python."""
    standing = np.zeros((0, instance.dim)) if instance.standing is None else instance.standing
    apart = traits_of(policy).uses_explored
    memory = Memory.empty(np.ascontiguousarray(standing.T), penalty, apart, estimator)
    if learnt is not None:
        memory.all.grow(learnt.growth())
    if foresees:
        memory.foresee()
    return Agent(policy, memory)


@functools.cache
def compile_open() -> None:
    """Compiles the loop, or reads it from the cache, so that no run's time holds it."""
    instance = LinearInstance(np.ones((1, 1)), np.zeros(1))
    course, source = course_of(Greedy()), RewardSource(instance.law, 0, 0)
    assert course is not None
    loop = CompiledLoop(
        instance, course, 1.0, Ledger(1, 1, 2, record=False), source, stream(0), None, narrows=False
    )
    loop.play(Stretch(1, 1, np.array([1]), np.zeros((1, 1))))


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
        player: Agent,
        ledger: Ledger,
        source: RewardSource,
        rng: np.random.Generator,
        delays: Integers | None,
    ) -> None:
        self._player, self._outcome, self._source = player, ledger.outcome(0), source
        self._ledger = ledger
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

    def close(self) -> None:
        """Enters what was learnt in all."""
        self._ledger.volumes[0] = self._player.memory.all.known().volume

    def _round(self, t: int, means: Floats, gaps: Floats, columns: Floats | None) -> None:
        player = self._player
        taken, estimate = self._decided(t, columns)
        player.apply(*taken.effects)
        arm, explored = taken.choice.arm, taken.choice.explored
        reward = self._source.reward(t, arm, float(means[arm]))
        enter(self._outcome, t, arm, explored, gaps[arm], reward)
        self._wait(OnItsWay(arm, taken.on, reward, explored), Unpaid(t, explored, estimate))
        for gained, decision in self._due.pop(t, ()):
            player.learn(*gained)
            if player.memory.foresight is not None:
                player.memory.foresight.remove(decision, gained.on)

    def _decided(self, t: int, columns: Floats | None) -> tuple[Step, float]:
        """What the policy does, and the estimate of its arm; evidence that is held costs copies."""
        offer = InContext(columns) if columns is not None and columns.ndim == 1 else columns
        evidence = self._player.evidence(offer)
        taken = self._player.decide(t, evidence, self._rng)
        return taken, evidence.estimate(taken.choice.arm)

    def _wait(self, gained: OnItsWay, decision: Unpaid) -> None:
        if self._player.memory.foresight is not None:
            self._player.memory.foresight.add((decision, gained.on))
        delay = 0 if self._delays is None else self._delays[decision.t - 1]
        if delay != NEVER:
            self._due[decision.t + delay].append((gained, decision))


class CompiledLoop:
    """The same run in a compiled loop, a call for each stretch."""

    def __init__(
        self,
        instance: Instance,
        course: Course,
        penalty: float,
        ledger: Ledger,
        source: RewardSource,
        rng: np.random.Generator,
        delays: Integers | None,
        narrows: bool,
        learnt: RidgeStatistics | None = None,
    ) -> None:
        standing = instance.standing
        shape = Shape(instance.dim, instance.count, standing is None)
        # A copy: one that cannot be written to, as of one arm, would be compiled for anew.
        columns = np.zeros((shape.dim, 0)) if standing is None else np.array(standing.T, order="C")
        self._instance, self._course, self._ledger, self._source = instance, course, ledger, source
        self._setup = Setup(shape, course, penalty, ledger.horizon, columns, delays is not None)
        weighed = columns if standing is not None else np.zeros((shape.dim, shape.arms))
        self._fitting = self._setup.fitting(weights_of(course.fit, weighed))
        self._post = post_of(delays, shape, narrows, course.fit is not None and course.fit.linked)
        self._no_arms, self._draws = np.zeros((0, *columns.shape)), (source.generator, rng)
        self._handed = handed(*self._draws)
        self._learnt = np.zeros((0, 0, 0)) if learnt is None else learnt.snapshot()

    def play(self, stretch: Stretch) -> None:
        """Plays all rounds of a stretch."""
        setup, law, ledger = self._setup, self._source.compiled, self._ledger
        assert law is not None
        arms = self._no_arms if stretch.columns is None else stretch.columns
        world = World(law, self._instance.law.noises, stretch.ends, stretch.means, arms, False)
        t, end = stretch.first, stretch.last
        try:
            fault = play_stretch(
                t, end, setup.rule(t, end), setup.deciding, self._fitting, setup.controls(t, end),
                setup.spending, setup.learning, setup.own, world, self._post, setup.room, self._handed,
                ledger.outcome(0), ledger.volumes, self._learnt,
            )  # fmt: skip
        except NoSuchArm as error:
            raise InvalidChoice(wrong(self._course, self._instance.count, *error.args)) from None
        except BadReward as error:
            raise InvalidReward(
                "the law of rewards must give a finite number; in round {1} it gave {0}".format(*error.args)
            ) from None
        except InvalidReward as error:  # where kernels are plain Python
            raise in_words(error) from None
        if fault:
            raise_fault(fault)

    def close(self) -> None:
        """All is in the ledger."""
