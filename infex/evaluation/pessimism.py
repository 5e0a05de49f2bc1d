"""A policy learnt from a log that plays the arm with the best lower bound, and what it is worth at least."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np

from infex.checks import real
from infex.evaluation.groundwork import Groundwork, groundwork, rounds_of
from infex.evaluation.intervals import Bounds
from infex.evaluation.log_arguments import confidence_level, positive, require_log, reward_range
from infex.evaluation.log_model import warn_of_misfit
from infex.evaluation.targets import PessimisticPolicy, logged, target_of
from infex.logs import Log
from infex.logs.log import Fingerprint


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LearntPolicy:
    """What `learn` found: a `policy`, its `value` on the logged rounds, and bounds that hold after choosing.

    `floor` is a lower bound on its value, `gain` the difference to what the log played, with its interval.
    `ground` says what these rest on.

    `gain_low` and `gain_high` are the ends of that interval; `work` is what it was found by.
    """

    policy: PessimisticPolicy
    value: float
    floor: float
    gain: float
    gain_low: float
    gain_high: float
    ground: str
    work: Groundwork = field(repr=False)

    def __str__(self) -> str:
        return (
            f"a policy worth {self.value:.4g} a round here, at least {self.floor:.4g} ({self.ground}); "
            f"{self.gain:+.4g} [{self.gain_low:+.4g}, {self.gain_high:+.4g}] against what was played"
        )


def learn(
    log: Log,
    pessimism: float = 1.0,
    *,
    confidence: float = 0.95,
    rewards: tuple[float, float] | None = None,
    noise: float | None = None,
    bound: float | None = None,
) -> LearntPolicy:
    """The arm with the best lower bound x'theta - pessimism radius |x| in V^-1, in every round of the log.

    With a `pessimism` of 0 it is greedy. Its `floor` holds with probability `confidence`, although the
    policy was chosen by the same log, if rewards are linear; `noise`, `bound` and `rewards` are those of
    `evaluate`.

    >>> from infex.logs import Log
    >>> log = Log(arm=[0, 1] * 200, reward=[1.0, 0.0] * 200, arms=[[1.0, 0.0], [0.0, 1.0]])
    >>> found = learn(log, noise=0.1, bound=1.0)
    >>> found.policy(np.eye(2)[None]).tolist(), found.floor > 0.8
    ([0], True)
    """
    require_log(log)
    work = groundwork(
        log,
        rewards=reward_range(log.facts, rewards),
        confidence=confidence_level(confidence),
        noise=positive("noise", noise),
        bound=positive("bound", bound),
    )
    warn_of_misfit(work.model)
    far = real("pessimism", pessimism, least=0) * work.model.ellipsoid.radius
    inverse = np.asarray(np.linalg.inv(work.model.ellipsoid.gram), dtype=np.float64)
    policy = PessimisticPolicy(work.model.theta, inverse, far, Fingerprint.of(work.log))
    mine = rounds_of(target_of("learnt", policy, work.log, work.looks, work.model.theta), work).mean_row
    theirs = rounds_of(target_of("logged", logged, work.log, work.looks, work.model.theta), work).mean_row
    found: Bounds = work.model.bounds(mine)
    apart = work.model.bounds(mine - theirs)
    return LearntPolicy(
        policy=policy,
        value=float(mine @ work.model.theta),
        floor=found.low,
        gain=float((mine - theirs) @ work.model.theta),
        gain_low=apart.low,
        gain_high=apart.high,
        ground=found.ground,
        work=work,
    )
