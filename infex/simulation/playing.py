"""Playing one run: compiled for built-in policies, in Python for any other."""

from __future__ import annotations

import dataclasses
import time

import numpy as np

from infex.arrays import Floats
from infex.bandit.agent import Agent, play_round
from infex.checks import whole
from infex.environments import ContextualInstance, Environment, Instance, LinearInstance, OwnInstance
from infex.errors import InvalidSetting
from infex.estimators import Ridge
from infex.kernels import regret
from infex.linear import Memory, RidgeStatistics
from infex.linear.estimating import Estimator, checked_estimator
from infex.linear.foresight import PendingWay, narrows
from infex.linear.ridge_bank import BlockRidge
from infex.policies.confidence import warn_of_large
from infex.policies.form import ForcedForm
from infex.policies.settling import settled
from infex.policies.traits import Policy, checked, informed, traits_of
from infex.simulation.batch import CHUNK, play_batch
from infex.simulation.contextual_plays import play_contextual
from infex.simulation.course import course_of
from infex.simulation.forced import play_forced
from infex.simulation.ledger import Ledger
from infex.simulation.opened import play_open
from infex.simulation.remembered import asks_for_problem, form_of, stream_name
from infex.simulation.run import Run
from infex.simulation.run_copies import own_copies
from infex.simulation.stateful import play_stateful
from infex.simulation.terms import RunTerms
from infex.streams import stream

MOST_ROUNDS = 10**15  # floats count them exactly


def play(
    instance: Instance | Environment,
    policy: Policy,
    horizon: int,
    seed: int = 0,
    *,
    penalty: float = 1.0,
    record: bool = False,
    estimator: Estimator | None = None,
    pending: PendingWay = "narrow",
) -> Run:
    """One run of a policy; the same seed gives the same run, and all policies meet the same noise.

    `instance` is a problem of `infex.environments`, or one of your own (`infex.environments.Environment`).
    Built-in policies and kernels, alone or as a base of `Infex`, run in compiled loops, also with an
    `estimator`, one of `infex.estimators` in the place of ridge regression; any other, and a rate that only
    Python can evaluate, in a plain loop that does the same step by step. So do, unless arms are fixed and
    rewards of a plain law come at once, OLSBandit and the LASSO bandits; and estimators whose weights a user
    gives, where arms change. `penalty` is that of the ridge; with `record` the run keeps every round. The run
    plays deep copies of policy, problem and estimator, and leaves these as they were given. A `delta` that is
    not said is 1/`horizon`. A policy's own draws come from a stream named for the policy and its settings.
    Where rewards come late, `pending` decisions "narrow" the widths that exploring rounds read, or are left
    out of them ("ignore"), as in a `Bandit`.

    >>> from infex import Infex, LinUCB, environments, every
    >>> instance = environments.gaussian(dim=5, arms=50, seed=3)
    >>> run = play(instance, Infex(LinUCB(delta=1e-3), every(20)), horizon=1000)
    >>> run.explored
    50
    """
    narrowing = narrows(pending)
    checked("policy", policy)
    instance = checked_instance(instance)
    horizon = checked_horizon(horizon)
    policy = settled(policy, 1.0 / horizon)
    warn_of_means(instance, policy)
    penalty, estimator = plain_ridge(penalty, checked_estimator(estimator))
    terms = RunTerms(policy, stream_name(policy), horizon, penalty, record)
    return play_copies(instance, seed, terms, estimator, narrowing)


def play_named(
    instance: Instance, policy: Policy, label: str, horizon: int, seed: int, record: bool = False
) -> Run:
    """The same with draws that are named by a label: two policies with one label draw the same numbers."""
    return play_copies(instance, seed, RunTerms(policy, label, horizon, record=record), None)


def play_copies(
    instance: Instance,
    seed: int,
    terms: RunTerms,
    estimator: Estimator | None,
    narrowing: bool = True,
    learnt: RidgeStatistics | BlockRidge | None = None,
) -> Run:
    """One run of copies of policy, problem and estimator, so that it leaves nothing behind in what was given.

    A policy that asks for the problem it plays is told. The run names what was given.
    """
    policy, problem, own = own_copies(policy=terms.policy, problem=instance, estimator=estimator)
    if asks_for_problem(policy):
        policy = informed(policy, problem, terms.horizon)
    run = _play(problem, seed, terms._replace(policy=policy), own, narrowing, learnt)
    if run.policy is terms.policy and run.instance is instance:
        return run
    return dataclasses.replace(run, policy=terms.policy, instance=instance)


def plain_ridge(penalty: float, estimator: Estimator | None) -> tuple[float, Estimator | None]:
    """The penalty and the estimator of a run: ridge regression is what is played without one."""
    if type(estimator) is not Ridge:
        return penalty, estimator
    return penalty if estimator.penalty is None else estimator.penalty, None


def _play(
    instance: Instance,
    seed: int,
    terms: RunTerms,
    estimator: Estimator | None,
    narrowing: bool,
    learnt: RidgeStatistics | BlockRidge | None,
) -> Run:
    """One run; it begins with what was `learnt` by ridge before, which `refuse_beginning` has checked."""
    policy, label, horizon, penalty, record = terms
    if isinstance(instance, ContextualInstance):
        assert learnt is None or isinstance(learnt, BlockRidge)
        return play_contextual(instance, seed, terms, estimator, narrowing, learnt)
    assert learnt is None or isinstance(learnt, RidgeStatistics)
    course = course_of(policy, estimator)
    if not (isinstance(instance, LinearInstance) and instance.is_plain):
        return play_open(instance, seed, terms, course, estimator, narrowing, learnt)
    if learnt is not None:
        assert course is not None
        return play_batch([(instance, seed)], terms, course, learnt.snapshot())[0]
    form = form_of(policy) if estimator is None else None
    if isinstance(form, ForcedForm):
        return play_forced(instance, seed, terms, form)
    if course is not None:
        play_some = play_batch if course.is_hot else play_stateful
        return play_some([(instance, seed)], terms, course)[0]
    apart = traits_of(policy).uses_explored
    agent = Agent(policy, Memory.empty(np.ascontiguousarray(instance.arms.T), penalty, apart, estimator))
    ledger = Ledger(1, len(instance.arms), horizon, record)
    draws = instance.draws(seed), stream(seed, "policy", label, instance.key)
    start = time.perf_counter()
    _interpreted(instance, agent, ledger, *draws)
    ledger.volumes[0] = agent.memory.all.known().volume
    return ledger.run(0, instance, policy, seed, time.perf_counter() - start)


def warn_of_means(instance: Instance, policy: Policy) -> None:
    """Warns the caller's caller if the means of fixed arms are far beyond the settings of the policy."""
    if isinstance(instance, LinearInstance):
        greatest = traits_of(policy).greatest
        if greatest is not None and instance.largest > greatest:
            warn_of_large(policy, instance.largest, stacklevel=3)


def checked_horizon(horizon: object) -> int:
    """`horizon`, if so many rounds can be counted; also as 1e4."""
    if isinstance(horizon, float) and horizon.is_integer():
        horizon = int(horizon)
    if whole("horizon", horizon, least=1) > MOST_ROUNDS:
        raise InvalidSetting(f"horizon must be at most {MOST_ROUNDS}, got {horizon}")
    return whole("horizon", horizon)


def checked_instance(instance: object) -> Instance:
    """`instance`, if it is one that can be played."""
    if isinstance(instance, Instance):
        return instance
    if isinstance(instance, type) or not isinstance(instance, Environment) or not callable(instance.means):
        named = instance if isinstance(instance, type) else type(instance)
        told = repr(instance) if isinstance(instance, str | int | float | None) else named.__qualname__
        raise InvalidSetting(
            f"instance must be one of infex.environments, got {told}; "
            "or an object with means(t, arms), and arms or offer(t, rng)"
        )
    return OwnInstance(instance)


def _interpreted(
    instance: LinearInstance,
    agent: Agent,
    ledger: Ledger,
    reward_rng: np.random.Generator,
    rng: np.random.Generator,
) -> None:
    gaps: Floats = instance.gaps.copy()
    totals, counts = ledger.tallies[0], ledger.counts[0]
    mark = 0
    for t in range(1, ledger.horizon + 1):
        choice, reward = play_round(agent, t, rng, lambda arm: instance.reward(arm, reward_rng))
        if ledger.record:
            ledger.arms[0, t - 1], ledger.rewards[0, t - 1] = choice.arm, reward
        regret.note(totals, counts, gaps, choice.arm, choice.explored, 1.0)
        if t % CHUNK == 0 or t == ledger.checkpoints[mark]:
            regret.close_stretch(totals, counts, gaps)
        if t == ledger.checkpoints[mark]:
            ledger.curves[0, mark] = regret.regret(totals)
            mark += 1
