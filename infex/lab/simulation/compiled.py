"""Runs by the two compiled loops of `infex.core`: one over fixed arms, and a general one for all else.

Where a base in Python is to decide, the general loop waits for its arm, and plays all other rounds.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from infex.arrays import Floats, Integers
from infex.bandit.agent import Agent
from infex.core.bank import RidgeBank
from infex.core.choosing import Kind, Reads, Wrap
from infex.core.controls import ControlKind
from infex.core.fixed_arms import FixedArmsRun
from infex.core.general import GeneralRun
from infex.core.models import DisjointModel, LassoModel, Model, RegressionModel
from infex.core.posterior import RidgePosterior
from infex.core.ridge import Ridge
from infex.lab.environments import ContextualInstance, Instance, LinearInstance, Stretch
from infex.lab.simulation.python_loop import RunSettings, log_spaced
from infex.models.base import Estimator, FitSpec, fit_spec
from infex.models.ridge import checked_penalty
from infex.models.state import ModelState
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
from infex.registry import record_of
from infex.schedules import Every, Schedule, always
from infex.schedules.periodic import rounds_between
from infex.streams import stream

READ_PENDING = (ControlKind.DOUBT, ControlKind.LEDGER)  # which no loop tells of what is pending
IN_PYTHON = BaseSpec(Kind.GREEDY, Reads.READS_WIDTHS)  # stands for a base that the loop waits for
UNIFORM = BaseSpec(Kind.UNIFORM, Reads.READS_NOTHING)  # what forced sampling plays in forced rounds


class Plan(NamedTuple):
    """How compiled loops play a policy: its specification, and the estimator in the place of ridge, if any.

    With `in_python` the policy itself decides in exploring rounds. With `forced`, exploring rounds are those
    that the policy forces, and greedy ones read least squares or LASSO.
    """

    spec: CompiledSpec
    fit: FitSpec | None = None
    in_python: bool = False
    forced: ForcedSpec | None = None

    @property
    def is_plain(self) -> bool:
        """Can the loop over fixed arms play it, with ridge?"""
        return self.spec.is_plain and self.fit is None and not self.in_python and self.forced is None

    @property
    def decides_always(self) -> bool:
        """Does the base decide in every round?"""
        return self.spec.schedule is None and self.forced is None

    @property
    def calls_user(self) -> bool:
        """Do its runs call a user's code: a base, a weight, a pause or a schedule?"""
        rows = () if self.spec.controls is None else self.spec.controls.rows
        schedules = [self.spec.schedule, *(row.pauses for row in rows)]
        weighs = self.fit is not None and self.fit.weigh is not None
        return self.in_python or weighs or not all(each is None or is_built_in(each) for each in schedules)

    def can_play(self, instance: Instance) -> bool:
        """Is there a loop for this problem?"""
        rows = () if self.spec.controls is None else self.spec.controls.rows
        if instance.late is not None and any(row.kind in READ_PENDING for row in rows):
            return False
        if isinstance(instance, ContextualInstance):
            uncontrolled = self._replace(spec=self.spec._replace(controls=None))
            return uncontrolled.is_plain and instance.late is None
        if self.in_python and instance.late is not None:
            return False
        if instance.fixed_arms is not None:
            return True
        weighs = self.fit is not None and self.fit.weigh is not None  # a user weighs arms that change
        return not weighs and self.spec.base.kind not in READ_PULLS  # and they have no pulls


def plan_of(policy: Policy, estimator: Estimator | None = None) -> Plan | None:
    """How compiled loops play a policy; None if they cannot."""
    spec = compiled_spec(policy)
    if estimator is not None:
        fit = fit_spec(estimator)
        if fit is None or not isinstance(spec, CompiledSpec) or spec.wrap.kind == Wrap.GREEDY_FIRST:
            return None
        return Plan(spec, fit)
    if isinstance(spec, ForcedSpec):
        return Plan(CompiledSpec(UNIFORM, random_ties=spec.random_ties), forced=spec)
    return _plan_in_python(policy) if spec is None else Plan(spec)


def _plan_in_python(policy: Policy) -> Plan | None:
    """A plan for a base in Python under a schedule and controls of ours, which learns nothing by itself."""
    if type(policy) is not Infex or policy.greedy is not None or policy_info(policy).learners:
        return None
    plan, controls = policy.controlled_schedule.plan, policy.controlled_schedule.compiled()
    if controls is None or not is_built_in(plan):
        return None
    apart, random_ties = policy_info(policy).uses_explored, policy.ties == "random"
    spec = CompiledSpec(IN_PYTHON, plan, random_ties=random_ties, apart=apart, controls=controls)
    return Plan(spec, in_python=True)


def is_built_in(schedule: Schedule) -> bool:
    """Is the schedule ours all the way down, with no code of a user's in it?"""
    return record_of(schedule) is not None


def exploring_rounds(schedule: Schedule | None, first: int, last: int) -> Integers:
    """The rounds from first to last that a schedule names; none without one."""
    if schedule is None:
        return np.zeros(0, dtype=np.int64)
    if is_built_in(schedule) and not isinstance(schedule, Every):
        found: Integers = _cached_rounds(schedule, first, last)
        return found
    return rounds_between(schedule, first, last)


_cached_rounds: Any = functools.lru_cache(maxsize=64)(rounds_between)


@functools.lru_cache(maxsize=8)
def forced_rounds(policy: Any, dim: int, first: int, last: int) -> Integers:
    """The rounds from first to last that a policy forces, with so many features."""
    found = np.array([t for t in range(first, last + 1) if policy.is_forced(t, dim)], dtype=np.int64)
    found.flags.writeable = False
    return found


def play_compiled(
    instance: Instance, seed: int, settings: RunSettings, plan: Plan
) -> FixedArmsRun | GeneralRun:
    """What one run gave; a base that keeps own data begins without what was learnt before."""
    sums = None if settings.learnt is None else settings.learnt.sufficient_statistics().sums
    if plan.is_plain and instance.is_plain and isinstance(instance, LinearInstance):
        return _play_fixed(instance, seed, settings, plan, sums)
    return _play_general(instance, seed, settings, plan, sums)


def _play_fixed(
    instance: LinearInstance, seed: int, settings: RunSettings, plan: Plan, sums: Floats | None
) -> FixedArmsRun:
    spec, penalty, always = plan.spec, checked_penalty(settings.penalty), plan.decides_always
    reads = spec.reads != Reads.READS_NOTHING
    run = FixedArmsRun(
        Ridge(instance.arms.T, penalty, sums, scored=reads or not always),
        spec.core_base,
        instance.means,
        instance.gaps,
        instance.law.kind,
        cast(float, instance.noise),
        instance.draws(seed),
        stream(seed, "policy", settings.label, instance.key),
        settings.horizon,
        log_spaced(settings.horizon),
        own=Ridge(instance.arms.T, penalty, scored=reads) if spec.own else None,
        always=always,
        random_ties=spec.random_ties,
        record=settings.record,
    )
    for stretch in instance.stretches(seed, settings.horizon):
        run.play(stretch.last, exploring_rounds(spec.schedule, stretch.first, stretch.last))
    return run


def _play_general(
    instance: Instance, seed: int, settings: RunSettings, plan: Plan, sums: Floats | None
) -> GeneralRun:
    spec, controls = plan.spec, plan.spec.controls or ControlsSpec()
    rng = stream(seed, "policy", settings.label, instance.key)
    model, explored = _models(instance, settings, plan, sums)
    run = GeneralRun(
        model,
        spec.core_base,
        instance.law.kind,
        instance.law.noises,
        instance.draws(seed),
        rng,
        settings.horizon,
        log_spaced(settings.horizon),
        explored=explored,
        own_clock=spec.own,
        always=plan.decides_always,
        random_ties=spec.random_ties,
        degrees=instance.law.degrees,
        controls=[row.control for row in controls.rows],
        spacing=controls.spacing,
        span=controls.span,
        delays=instance.delays(seed, settings.horizon),
        narrows=settings.narrows,
        steady=instance.is_plain,
        record=settings.record,
        asks=plan.in_python,
    )
    base = (
        BaseInPython(cast(Infex, settings.policy), model, explored, instance, rng) if plan.in_python else None
    )
    for stretch in instance.stretches(seed, settings.horizon):
        first, last, ends, means, offers = stretch
        rewards = instance.law.table(stretch, seed, instance.key)
        if plan.forced is not None and plan.forced.forces:
            exploring = forced_rounds(cast(Any, settings.policy), instance.dim, first, last)
        else:
            exploring = exploring_rounds(spec.schedule, first, last)
        pauses = [exploring_rounds(row.pauses, first, last) for row in controls.rows]
        run.play(first, last, exploring, ends, means, offers, pauses, rewards)
        while base is not None and run.waiting:
            base.play_round(run, stretch)
    return run


def _models(
    instance: Instance, settings: RunSettings, plan: Plan, sums: Floats | None
) -> tuple[Model, Model | None]:
    """What learns from all rounds, and what from exploring rounds, if these are kept apart."""
    spec, fit, forced = plan.spec, plan.fit, plan.forced
    penalty = checked_penalty(settings.penalty if fit is None or fit.penalty is None else fit.penalty)
    if isinstance(instance, ContextualInstance):
        shape = instance.count, instance.context_dim, penalty
        own = DisjointModel(RidgeBank(*shape)) if spec.own else None
        return DisjointModel(RidgeBank(*shape, sums)), own
    changing = instance.fixed_arms is None
    columns = (
        np.zeros((instance.dim, instance.count)) if instance.fixed_arms is None else instance.fixed_arms.T
    )
    if forced is not None:
        of_forced = LassoModel(
            Ridge(columns, penalty, scored=False), changing=changing, strength=forced.first
        )
        model = LassoModel(
            Ridge(columns, penalty, scored=False),
            changing=changing,
            fading=forced.later,
            of_n=forced.of_n,
            of_d=forced.of_d,
            screen=of_forced if forced.forces else None,
            keep=forced.keep,
        )
        return model, of_forced if forced.forces else None

    rows = settings.horizon if changing else instance.count  # different rows that are learnt on
    weights = None if fit is None or fit.weigh is None else fit.weigh(columns)

    def regression(ridge: Ridge) -> RegressionModel:
        if fit is None:
            return RegressionModel(ridge, changing=changing)
        own = fit.make(instance.dim, penalty, rows, settings.horizon)
        return RegressionModel(ridge, changing=changing, fit=own, weights=weights, logistic=fit.linked)

    read = not plan.decides_always or not (spec.apart or spec.reads == Reads.READS_NOTHING)
    ridge = Ridge(columns, penalty, sums, scored=read and not changing)
    if not (spec.own or spec.apart):
        return regression(ridge), None
    return regression(ridge), regression(Ridge(columns, penalty, scored=not changing))


class BaseInPython:
    """Lets a base decide in the rounds that a general run leaves to it, on what was learnt before each.

    The run has judged the schedule and its controls, so the policy that decides here explores in every round.
    """

    def __init__(
        self,
        policy: Infex,
        model: Any,
        explored: Any,
        instance: Instance,
        rng: np.random.Generator,
    ) -> None:
        changing = instance.fixed_arms is None
        apart = None if explored is None else RunStatistics(explored.ridge, changing)
        learnt = ModelState(cast(Any, RunStatistics(model.ridge, changing)), cast(Any, apart))
        self._agent, self._rng = Agent(replace(policy, schedule=always()), learnt), rng
        self._agent.account.look_back(policy_info(policy).lookback)

    def play_round(self, run: GeneralRun, stretch: Stretch) -> None:
        """Decides in the round that is waiting; the run goes on up to the next."""
        agent, t = self._agent, run.next_round
        agent.account.t = t - 1
        offer = None if stretch.columns is None else stretch.columns[t - stretch.first]
        step = agent.decide(t, agent.posterior(offer), self._rng)
        if run.play_arm(step.choice.arm, step.choice.explored, step.choice.features):
            agent.apply(*step.effects)


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
