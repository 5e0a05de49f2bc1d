"""`play` and `play_many`: whole runs of a policy on a problem, and what they gave."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from infex.arrays import Floats, Integers
from infex.checks import callers_level, whole
from infex.core.runs import Law
from infex.errors import InvalidSetting, NotKept
from infex.lab.environments import (
    ChangingInstance,
    ContextualInstance,
    Environment,
    Instance,
    LinearInstance,
    OwnInstance,
    RandomWalk,
    Steps,
    Turning,
)
from infex.lab.simulation.compiled import Plan, plan_of, play_compiled
from infex.lab.simulation.copies import own_copies
from infex.lab.simulation.python_loop import RunSettings, log_spaced, play_in_python
from infex.models import Ridge
from infex.models.base import Estimator, checked_estimator
from infex.models.pending import PendingWay, narrows
from infex.models.ridge import RidgeModel
from infex.models.ridge_bank import RidgeBankModel
from infex.policies.base import Policy, checked, for_problem, policy_info, resolve_defaults
from infex.policies.ucb import warn_of_large
from infex.registry import label_of, stream_name

MOST_ROUNDS = 10**15  # floats count them exactly


@final
@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One run: regret and where it came from, explorations, time, and pulls of every arm.

    It is that of a `policy` on an `instance` over a `horizon`, from a `seed`. `regret` is the
    pseudo-regret, with true means: `regret_exploring` came from the rounds that `explored`, and
    `regret_greedy` from the others. With a schedule, `different` of the exploring rounds played another arm
    than the greedy one; it is None without. `points` are rounds and the regret up to them. `optimal` is how
    often a best arm was played, `counts` how often each; `seconds` is its wall-clock time, and
    `log_det_ratio` alpha at the end. With `record=True` there are `arms`, `rewards` and `losses` (the
    gap of the arm that was played) of every round.
    """

    instance: Instance = field(repr=False)
    policy: Any
    horizon: int
    seed: int
    regret_exploring: float
    regret_greedy: float
    explored: int
    different: int | None
    optimal: int
    seconds: float
    log_det_ratio: float
    counts: Integers = field(repr=False)
    points: tuple[Integers, Floats] = field(repr=False)
    arms: Integers | None = field(repr=False, default=None)
    rewards: Floats | None = field(repr=False, default=None)
    losses: Floats | None = field(repr=False, default=None)

    def __repr__(self) -> str:
        return (
            f"Run(regret={self.regret:.6g}, explored={self.explored}, different={self.different}, "
            f"horizon={self.horizon}, "
            f"seed={self.seed}, policy={label_of(self.policy)})"
        )

    @property
    def regret(self) -> float:
        """The regret of all rounds."""
        return self.regret_greedy + self.regret_exploring

    def curve(self, every_round: bool = False) -> tuple[Integers, Floats]:
        """Rounds and the regret up to them: log-spaced, or `every_round` if the run was recorded."""
        if not every_round:
            return self.points
        if self.losses is None:
            raise NotKept("rounds were not recorded; play with record=True")
        return np.arange(1, self.horizon + 1), np.cumsum(self.losses)


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

    `instance` is a problem of `infex.lab.environments`, or one of your own (an `Environment` from there).
    `penalty` is that of the ridge, and `estimator` one of `infex.models` in its place; with `record` the
    run keeps every round. The run plays deep copies of policy, problem and estimator, and leaves these as
    they were given. A `delta` that is not said is 1/`horizon`. A policy's own draws come from a stream named
    for the policy and its settings. Where rewards come late, `pending` decisions "narrow" the widths that
    exploring rounds read, or are left out of them ("ignore"), as in a `Bandit`.

    Built-in policies run in compiled loops. So do the greedy rounds of `Infex` around a base in Python, which
    decides in its own rounds alone. All else runs in a plain loop that does the same step by step: other
    policies in Python; a base in Python that learns by itself, or with controls, an estimator, late rewards
    or contexts; where arms change, weights that a user gives; and in contexts estimators, late rewards, and
    all bases but Greedy, Uniform, EpsilonGreedy, ExploreThenCommit, LinUCB, FixedBonusUCB, LinTS, HybridTS.

    >>> from infex import Infex, LinUCB, every
    >>> from infex.lab import environments
    >>> instance = environments.gaussian(dim=5, arms=50, seed=3)
    >>> run = play(instance, Infex(LinUCB(delta=1e-3), every(20)), horizon=1000)
    >>> run.explored
    50
    """
    more: Any = {"penalty": penalty, "record": record, "estimator": estimator, "pending": pending}
    return play_many([instance], policy, horizon, [seed], workers=1, **more)[0]


def play_many(
    instances: Instance | Environment | Iterable[Instance | Environment],
    policy: Policy,
    horizon: int,
    seeds: Iterable[int] = (0,),
    *,
    penalty: float = 1.0,
    record: bool = False,
    workers: int | None = None,
    estimator: Estimator | None = None,
    paired: bool = False,
    pending: PendingWay = "narrow",
    learnt: RidgeModel | RidgeBankModel | None = None,
) -> list[Run]:
    """Every instance with every seed, in that order: the very runs that `play` gives one by one.

    `horizon`, `penalty`, `record`, `estimator` and `pending` are those of `play`; `workers` are threads, as
    many as there are cores if it is not said. With `paired` there is a seed for each instance, and each is
    played with its own alone. Compiled loops hold no interpreter lock, so that threads share the cores; what
    calls a user's code goes one by one. Each run plays copies of what was given. `learnt` is what was seen of
    the same features before round 1, for compiled policies with ridge whose rewards come at once: all runs
    begin with it, but for a base that keeps own data. On a `ContextualInstance` it is a `RidgeBankModel`.

    `instances` are one problem or several; one `policy` plays them all.

    >>> from infex import Greedy
    >>> from infex.lab import environments
    >>> runs = play_many(environments.gaussian(dim=3, arms=9, seed=1), Greedy(), 100, seeds=range(4))
    >>> [run.seed for run in runs]
    [0, 1, 2, 3]
    """
    given = instances if isinstance(instances, Iterable) else [instances]
    problems = [checked_instance(each) for each in given]
    if not isinstance(seeds, Iterable):
        raise InvalidSetting(
            f"seeds must be a list of whole numbers, such as range({seeds!r}); got {seeds!r}"
        )
    numbers = list(seeds)
    if paired and len(problems) != len(numbers):
        raise InvalidSetting(
            f"there must be a seed for each of {len(problems)} instances, got {len(numbers)}"
        )
    tasks = (
        list(zip(problems, numbers, strict=True))
        if paired
        else [(instance, seed) for instance in problems for seed in numbers]
    )
    if not tasks:
        raise InvalidSetting(f"nothing to play: {len(problems)} instances with {len(numbers)} seeds each")
    threads = whole("workers", cores() if workers is None else workers, least=1)
    checked("policy", policy)
    horizon = checked_horizon(horizon)
    policy = resolve_defaults(policy, 1.0 / horizon)
    reward_bound = policy_info(policy).reward_bound
    for problem in problems:
        largest = problem.largest if isinstance(problem, LinearInstance) else 0.0
        if reward_bound is not None and largest > reward_bound:
            warn_of_large(policy, largest, callers_level())
    estimator = checked_estimator(estimator)
    if type(estimator) is Ridge:  # what is played without an estimator
        penalty, estimator = penalty if estimator.penalty is None else estimator.penalty, None
    settings = RunSettings(
        policy, stream_name(policy), horizon, penalty, record, estimator, narrows(pending), learnt
    )
    if threads > 1 or learnt is not None:
        plan = plan_of(*own_copies(policy=policy, estimator=estimator))
        if learnt is not None:
            refuse_beginning(learnt, problems, plan)
        if plan is None or plan.calls_user or any(has_own_code(problem) for problem in problems):
            threads = 1  # a user's code is not called from several threads at once
    if threads == 1:
        return [play_copies(*task, settings) for task in tasks]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda task: play_copies(task[0], task[1], settings), tasks))


def play_copies(instance: Instance, seed: int, settings: RunSettings) -> Run:
    """One run of copies of policy, problem and estimator, so that it leaves nothing behind in what was given.

    A policy that asks for the problem it plays is told. The run names what was given.
    """
    policy, problem, estimator = own_copies(
        policy=settings.policy, problem=instance, estimator=settings.estimator
    )
    policy = for_problem(policy, problem, settings.horizon)
    own = settings._replace(policy=policy, estimator=estimator)
    plan = plan_of(policy, estimator)
    begun = time.perf_counter()
    if plan is not None and plan.can_play(problem):
        counted: Any = play_compiled(problem, seed, own, plan)
    else:
        counted = play_in_python(problem, seed, own)
    scheduled = policy_info(policy).controlled_schedule is not None
    return Run(
        instance=instance,
        policy=settings.policy,
        horizon=settings.horizon,
        seed=seed,
        regret_exploring=counted.regret_exploring,
        regret_greedy=counted.regret_greedy,
        explored=counted.explored,
        different=counted.different if scheduled else None,
        optimal=counted.optimal,
        seconds=time.perf_counter() - begun,
        log_det_ratio=counted.log_det_ratio,
        counts=counted.counts,
        points=(log_spaced(settings.horizon), counted.curve),
        arms=counted.arms if settings.record else None,
        rewards=counted.rewards if settings.record else None,
        losses=counted.losses if settings.record else None,
    )


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
        value = repr(instance) if isinstance(instance, str | int | float | None) else named.__qualname__
        raise InvalidSetting(
            f"instance must be one of infex.lab.environments, got {value}; "
            "or an object with means(t, arms), and arms or offer(t, rng)"
        )
    return OwnInstance(instance)


def has_own_code(instance: Instance) -> bool:
    """Does playing it call a user's Python?"""
    own = (getattr(instance, name, None) for name in ("environment", "mean", "contexts"))
    moves = getattr(instance, "moves", None)
    return (
        any(each is not None for each in own)
        or instance.law.kind == Law.TABLE
        or not isinstance(moves, Steps | Turning | RandomWalk | None)
    )


def cores() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not every system tells
        return os.cpu_count() or 1


def refuse_beginning(
    learnt: RidgeModel | RidgeBankModel, problems: Sequence[Instance], plan: Plan | None
) -> None:
    """Refuses what runs cannot begin with."""
    if plan is None or not plan.is_plain:
        raise InvalidSetting("runs begin with what was learnt only if the policy is compiled, with ridge")
    for problem in problems:
        if isinstance(problem, ContextualInstance):
            shape = problem.count, problem.context_dim, 0
            if not isinstance(learnt, RidgeBankModel) or learnt.layout != shape:
                raise InvalidSetting(
                    f"runs in contexts begin with a RidgeBankModel of {problem.count} arms on "
                    f"{problem.context_dim} features"
                )
        elif not isinstance(learnt, RidgeModel) or problem.dim != len(learnt.columns):
            size = len(learnt.columns) if isinstance(learnt, RidgeModel) else "other"
            raise InvalidSetting(f"what was learnt is of {size} features, and a problem has {problem.dim}")
        at_once = isinstance(problem, ChangingInstance | ContextualInstance) and problem.late is None
        if not (problem.is_plain or at_once):
            raise InvalidSetting("runs begin with what was learnt only if rewards come at once")
