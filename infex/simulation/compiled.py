"""Runs by the compiled loops of `infex.core`.

There are three: over fixed arms, with a context in every round, and a general one for all else. A base in
Python decides between two calls of the general loop, which plays all other rounds.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np

from infex.arrays import Floats, Integers
from infex.bandit.agent import Agent
from infex.core.bank import RidgeBank
from infex.core.choosing import Kind, Reads, Wrap
from infex.core.contexts import ContextsRun
from infex.core.estimators import Fit
from infex.core.forced import ForcedRun
from infex.core.general import GeneralRun
from infex.core.ridge import Ridge
from infex.core.runs import Law, Outcome
from infex.core.simulation import FixedArmsRun
from infex.environments import ContextualInstance, Instance, LinearInstance, Stretch
from infex.environments.lateness import checked_late
from infex.environments.reward_laws import RewardSource
from infex.errors import NoRecord
from infex.models.base import Estimator, FitSpec, fit_spec
from infex.models.model import ModelState
from infex.models.ridge import RidgeModel, RidgePosterior, checked_penalty
from infex.models.ridge_bank import RidgeBankModel
from infex.policies import Infex
from infex.policies.base import Policy, policy_info
from infex.policies.compiled import (
    READ_PULLS,
    BaseSpec,
    CompiledSpec,
    ControlsSpec,
    ForcedSpec,
    compiled_spec,
)
from infex.records import to_record
from infex.schedules import Every, Schedule
from infex.schedules.periodic import named_rounds
from infex.simulation.run import Run, RunTerms, log_spaced
from infex.streams import stream

CHUNK = 1 << 16  # rounds of one call, after which Ctrl-C is heard: some hundredths of a second
PYTHON = BaseSpec(Kind.GREEDY, Reads.READS_WIDTHS)  # stands for a base that is asked between calls


class Plan(NamedTuple):
    """How compiled loops play a policy: its form, and the estimator in the place of ridge, if there is one.

    With `in_python` the base is no form: the policy itself decides in exploring rounds.
    """

    form: CompiledSpec
    fit: FitSpec | None = None
    in_python: bool = False

    @property
    def is_plain(self) -> bool:
        """Can a loop play it that keeps neither notes nor pulls, with ridge?"""
        return self.form.is_plain and self.fit is None and not self.in_python

    @property
    def calls_user(self) -> bool:
        """Do its runs call a user's code: a base, a weight, a pause or a schedule?"""
        rows = () if self.form.controls is None else self.form.controls.rows
        schedules = [self.form.schedule, *(row.pauses for row in rows)]
        weighs = self.fit is not None and self.fit.weigh is not None
        return self.in_python or weighs or not all(each is None or is_built_in(each) for each in schedules)

    def can_play(self, instance: Instance) -> bool:
        """Is there a loop for this problem?"""
        if isinstance(instance, ContextualInstance):
            return self.is_plain and instance.late is None
        if self.in_python and instance.late is not None:
            return False
        if instance.standing is not None:
            return True
        weighs = self.fit is not None and self.fit.weigh is not None  # a user weighs arms that change
        return not weighs and self.form.base.kind not in READ_PULLS  # and they have no pulls


def plan_of(policy: Policy, estimator: Estimator | None = None) -> Plan | None:
    """How compiled loops play a policy; None if they cannot."""
    form = compiled_spec(policy)
    if not isinstance(form, CompiledSpec):
        return _plan_in_python(policy) if form is None and estimator is None else None
    if estimator is None:
        return Plan(form)
    fit = fit_spec(estimator)
    return None if fit is None or form.wrap.kind == Wrap.GREEDY_FIRST else Plan(form, fit)


def _plan_in_python(policy: Policy) -> Plan | None:
    """A plan for a base in Python whose rounds are known ahead, and which learns nothing by itself."""
    if type(policy) is not Infex or policy.greedy is not None or policy_info(policy).learners:
        return None
    if policy.controlled_schedule.controls or not is_built_in(policy.controlled_schedule.plan):
        return None
    apart = policy_info(policy).uses_explored
    ties = policy.ties == "random"
    return Plan(
        CompiledSpec(PYTHON, policy.controlled_schedule.plan, random_ties=ties, apart=apart), in_python=True
    )


def exploring_rounds(schedule: Schedule | None, first: int, last: int) -> Integers:
    """The rounds from first to last that a schedule names; none without one."""
    if schedule is None:
        return np.zeros(0, dtype=np.int64)
    if is_built_in(schedule) and not isinstance(schedule, Every):
        found: Integers = _last_named(schedule, first, last)
        return found
    return named_rounds(schedule, first, last)


def is_built_in(schedule: Schedule) -> bool:
    """Is the schedule ours all the way down, with no code of a user's in it?"""
    try:
        to_record(schedule)
    except NoRecord:
        return False
    return True


_last_named: Any = lru_cache(maxsize=64)(named_rounds)


def play_compiled(
    instance: Instance,
    seed: int,
    terms: RunTerms,
    plan: Plan,
    narrows: bool = True,
    learnt: RidgeModel | RidgeBankModel | None = None,
) -> Run:
    """One run; it begins with what was `learnt` before, but for a base that keeps own data."""
    begun = time.perf_counter()
    if isinstance(instance, ContextualInstance):
        assert learnt is None or isinstance(learnt, RidgeBankModel)
        run: Outcome = _play_contexts(instance, seed, terms, plan, learnt)
    else:
        assert learnt is None or isinstance(learnt, RidgeModel)
        sums = None if learnt is None else learnt.snapshot()
        if is_steady(instance) and plan.is_plain:
            run = _play_fixed(instance, seed, terms, plan, sums)
        else:
            run = _play_general(instance, seed, terms, plan, narrows, sums)
    return run_of(run, instance, seed, terms, time.perf_counter() - begun)


def run_of(run: Outcome, instance: Instance, seed: int, terms: RunTerms, seconds: float) -> Run:
    """What a compiled loop has played, as a run."""
    return Run(
        instance=instance,
        policy=terms.policy,
        horizon=terms.horizon,
        seed=seed,
        regret_exploring=run.regret_exploring,
        regret_greedy=run.regret_greedy,
        explored=run.explored,
        optimal=run.optimal,
        seconds=seconds,
        log_det_ratio=run.log_det_ratio,
        counts=run.counts,
        points=(log_spaced(terms.horizon), run.curve),
        arms=run.arms if terms.record else None,
        rewards=run.rewards if terms.record else None,
        losses=run.losses if terms.record else None,
    )


def _play_fixed(instance: Any, seed: int, terms: RunTerms, plan: Plan, sums: Floats | None) -> FixedArmsRun:
    form, penalty, always = plan.form, checked_penalty(terms.penalty), plan.form.schedule is None
    reads = form.reads != Reads.READS_NOTHING
    run = FixedArmsRun(
        Ridge(instance.arms.T, penalty, sums, scored=reads or not always),
        form.core_base,
        instance.means,
        instance.gaps,
        instance.law.kind,
        instance.noise,
        instance.draws(seed),
        stream(seed, "policy", terms.label, instance.key),
        terms.horizon,
        log_spaced(terms.horizon),
        own=Ridge(instance.arms.T, penalty, scored=reads) if form.own else None,
        always=always,
        random_ties=form.random_ties,
        record=terms.record,
    )
    for first in range(1, terms.horizon + 1, CHUNK):
        last = min(first + CHUNK - 1, terms.horizon)
        run.play(last, exploring_rounds(form.schedule, first, last))
    return run


def _play_contexts(
    instance: ContextualInstance, seed: int, terms: RunTerms, plan: Plan, learnt: RidgeBankModel | None
) -> ContextsRun:
    form, size = plan.form, (instance.count, instance.context_dim, checked_penalty(terms.penalty))
    source = RewardSource(instance.law, seed, instance.key)
    run = ContextsRun(
        RidgeBank(*size, None if learnt is None else learnt.sufficient_statistics().truth),
        form.core_base,
        instance.law.kind,
        instance.law.noises,
        source.generator,
        stream(seed, "policy", terms.label, instance.key),
        terms.horizon,
        log_spaced(terms.horizon),
        own=RidgeBank(*size) if form.own else None,
        always=form.schedule is None,
        random_ties=form.random_ties,
        degrees=instance.law.degrees,
        record=terms.record,
    )
    for stretch in instance.stretches(seed, terms.horizon):
        first, last, _, means, contexts = stretch
        assert contexts is not None
        run.play(first, contexts, means, exploring_rounds(form.schedule, first, last), source.table(stretch))
    return run


def _play_general(
    instance: Instance, seed: int, terms: RunTerms, plan: Plan, narrows: bool, sums: Floats | None
) -> GeneralRun:
    form, late, standing = plan.form, checked_late(instance.late), instance.standing
    fit, controls = plan.fit, form.controls or ControlsSpec()
    penalty = checked_penalty(terms.penalty if fit is None or fit.penalty is None else fit.penalty)
    columns = np.zeros((instance.dim, instance.count)) if standing is None else standing.T
    always, apart = form.schedule is None, form.own or form.apart
    scored = standing is not None and not (always and (form.apart or form.reads == Reads.READS_NOTHING))
    ridge = Ridge(columns, penalty, sums, scored)
    explored = Ridge(columns, penalty, None, standing is not None) if apart else None
    rng, source = (
        stream(seed, "policy", terms.label, instance.key),
        RewardSource(instance.law, seed, instance.key),
    )
    run = GeneralRun(
        ridge,
        form.core_base,
        instance.law.kind,
        instance.law.noises,
        source.generator,
        rng,
        terms.horizon,
        log_spaced(terms.horizon),
        changing=standing is None,
        explored=explored,
        own_clock=form.own,
        fits=_fits(fit, instance, penalty, terms.horizon, apart),
        weights=None if fit is None or fit.weigh is None else fit.weigh(columns),
        linked=fit is not None and fit.linked,
        always=always,
        random_ties=form.random_ties,
        degrees=instance.law.degrees,
        controls=[row.control for row in controls.rows],
        spacing=controls.spacing,
        span=controls.span,
        delays=None if late is None else late.delays(seed, instance.key, terms.horizon),
        narrows=narrows,
        steady=is_steady(instance),
        record=terms.record,
    )
    decider = BaseInPython(terms.policy, ridge, explored, standing is None, rng) if plan.in_python else None
    for stretch in stretches(instance, seed, terms.horizon):
        first, last, ends, means, blocks = stretch
        exploring, table = exploring_rounds(form.schedule, first, last), source.table(stretch)
        if decider is not None:
            decider.play(run, stretch, exploring, table)
            continue
        pauses = [exploring_rounds(row.pauses, first, last) for row in controls.rows]
        run.play(first, last, exploring, ends, means, blocks, pauses, table)
    return run


def _fits(
    fit: FitSpec | None, instance: Instance, penalty: float, horizon: int, apart: bool
) -> list[Fit | None]:
    """The estimators of all rounds, and of exploring ones."""
    if fit is None:
        return [None, None]
    rows = horizon if instance.standing is None else instance.count  # different rows that are learnt on
    return [fit.make(instance.dim, penalty, rows, horizon) if each else None for each in (True, apart)]


def is_steady(instance: Instance) -> bool:
    """Do all means stay as they are, and rewards of a plain law come at once?"""
    return isinstance(instance, LinearInstance) and instance.is_plain


def stretches(instance: Any, seed: int, horizon: int) -> Iterator[Stretch]:
    """All rounds, some at a time, with their means and arms."""
    if not is_steady(instance):
        yield from instance.stretches(seed, horizon)
        return
    for first in range(1, horizon + 1, CHUNK):
        last = min(first + CHUNK - 1, horizon)
        yield Stretch(first, last, np.array([last]), instance.means[None, :])


class BaseInPython:
    """Lets a policy decide in exploring rounds, on what a general run has learnt before each."""

    def __init__(
        self, policy: Policy, ridge: Ridge, explored: Ridge | None, changing: bool, rng: np.random.Generator
    ) -> None:
        kept = None if explored is None else RunStatistics(explored, changing)
        self._agent = Agent(policy, ModelState(cast(Any, RunStatistics(ridge, changing)), cast(Any, kept)))
        self._rng = rng

    def play(self, run: GeneralRun, stretch: Stretch, exploring: Integers, table: Floats | None) -> None:
        """Plays the rounds of a stretch."""
        none: Integers = np.zeros(0, dtype=np.int64)
        first = stretch.first
        for t in [*exploring.tolist(), stretch.last + 1]:
            if first < t:
                here = slice(first - stretch.first, t - stretch.first)
                blocks = None if stretch.columns is None else stretch.columns[here]
                rewards = None if table is None else table[here]
                row = int(np.searchsorted(stretch.ends, first))
                run.play(first, t - 1, none, stretch.ends[row:], stretch.means[row:], blocks, rewards=rewards)
            if t <= stretch.last:
                self._decide(t, run, stretch, table)
            first = t + 1

    def _decide(self, t: int, run: GeneralRun, stretch: Stretch, table: Floats | None) -> None:
        agent, place = self._agent, t - stretch.first
        agent.account.t = t - 1
        columns = None if stretch.columns is None else stretch.columns[place]
        step = agent.decide(t, agent.posterior(columns), self._rng)
        agent.apply(*step.effects)
        choice, means = step.choice, stretch.means[np.searchsorted(stretch.ends, t)]
        rewards = None if table is None else table[place]
        run.play_arm(choice.arm, choice.explored, means, columns, rewards, choice.features)


class RunStatistics:
    """What a ridge of the core has learnt in a run, as policies in Python read it: numbers that stay."""

    def __init__(self, ridge: Ridge, changing: bool) -> None:
        self._ridge = ridge
        self.columns = np.zeros((len(ridge.columns), 0)) if changing else ridge.columns
        self.penalty = ridge.penalty

    def posterior(self) -> RidgePosterior:
        """What is known of the fixed arms; a copy, as the run goes on."""
        return RidgePosterior(self._ridge).copy()

    def set_warm_start(self) -> None:
        """Nothing is searched for."""


NO_ROUNDS = np.zeros(0, dtype=np.int64)


def play_forced(instance: LinearInstance, seed: int, terms: RunTerms, form: ForcedSpec) -> Run:
    """One run."""
    policy: Any = terms.policy
    noise = instance.law.noise
    assert isinstance(noise, float)  # as in every plain law
    begun = time.perf_counter()
    run = ForcedRun(
        instance.arms.T,
        checked_penalty(terms.penalty),
        instance.means,
        instance.gaps,
        Law(instance.law.kind),
        noise,
        instance.draws(seed),
        stream(seed, "policy", terms.label, instance.key),
        terms.horizon,
        log_spaced(terms.horizon),
        keep=form.keep,
        first=form.first,
        later=form.later,
        of_n=form.of_n,
        of_d=form.of_d,
        screens=form.forces,
        random_ties=form.random_ties,
        record=terms.record,
    )
    dim = instance.arms.shape[1]
    for t in range(1, terms.horizon + 1, CHUNK):
        last = min(t + CHUNK - 1, terms.horizon)
        run.play(t, last, forced_rounds(policy, dim, t, last) if form.forces else NO_ROUNDS)
    return run_of(run, instance, seed, terms, time.perf_counter() - begun)


@functools.lru_cache(maxsize=8)
def forced_rounds(policy: Any, dim: int, first: int, last: int) -> Integers:
    """Which of these rounds a policy forces, with so many features."""
    found = np.array([t for t in range(first, last + 1) if policy.is_forced(t, dim)], dtype=np.int64)
    found.flags.writeable = False
    return found
