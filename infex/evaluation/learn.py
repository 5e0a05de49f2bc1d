"""What can be learnt from a log: a bandit that continues it, or a policy of a guaranteed value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from infex.arrays import Bools, Floats, Integers
from infex.bandit import Bandit
from infex.checks import real
from infex.errors import InfexError, InvalidLog
from infex.evaluation.model import LogAnalysis, analyse
from infex.evaluation.overlap import overlap_of
from infex.evaluation.targets import PessimisticPolicy, logged, targets_of
from infex.features import Encoded, FeatureMap
from infex.logs import Log
from infex.logs.log import Fingerprint
from infex.models.base import Estimator
from infex.policies.base import Policy
from infex.registry import parse


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LearntPolicy:
    """What `learn` found: a `policy`, its `value` on the logged rounds, and bounds that hold after choosing.

    `floor` is a lower bound on its value, `gain` the difference to what the log played, with its interval.
    `ground` says what these rest on.

    `gain_low` and `gain_high` are the ends of that interval; `analysis` is what was found about the log.
    """

    policy: PessimisticPolicy
    value: float
    floor: float
    gain: float
    gain_low: float
    gain_high: float
    ground: str
    analysis: LogAnalysis = field(repr=False)

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
    analysis = analyse(log, rewards=rewards, confidence=confidence, noise=noise, bound=bound)
    model, log = analysis.model, analysis.log
    model.warn_of_misfit()
    far = real("pessimism", pessimism, least=0) * model.ellipsoid.radius
    inverse = np.asarray(np.linalg.inv(model.ellipsoid.gram), dtype=np.float64)
    policy = PessimisticPolicy(model.theta, inverse, far, Fingerprint.of(log))
    both = targets_of({"learnt": policy, "logged": logged}, analysis)
    mine, theirs = (overlap_of(target, analysis).mean_features for target in both)
    value, gain = model.bounds(mine), model.bounds(mine - theirs)
    return LearntPolicy(
        policy=policy,
        value=float(mine @ model.theta),
        floor=value.low,
        gain=float((mine - theirs) @ model.theta),
        gain_low=gain.low,
        gain_high=gain.high,
        ground=value.ground,
        analysis=analysis,
    )


def bandit(
    log: Log,
    policy: Policy,
    *,
    fresh: bool = False,
    seed: int | None = None,
    penalty: float | None = None,
    estimator: Estimator | None = None,
    features: FeatureMap | None = None,
    rescale: bool = False,
) -> Bandit:
    """The bandit that was told all rewards of a log, and continues with its next round.

    `policy` may be another than the one that wrote the log. `seed`, `penalty` and `estimator` are those the
    log names, otherwise those of a new `Bandit`; `features` is the map, if the log has contexts and no map.
    With `fresh` rounds begin at 1, so that a schedule begins anew; otherwise the clock continues after the
    last round, and explorations of the log count. Rewards that never came are left out, and nothing is
    pending. `rescale` is that of `Bandit`. The bandit, and any file of it, remembers the log that taught it:
    `evaluate` does not weight it by the same one. If rows were left out of the log (`log.kept`), a reward has
    the weight 1/kept, so that sums over rewards are on average those of all rounds. Decisions of the holdout
    are left out, as the bandit that wrote the log has not learnt from them, unless there are no others.

    >>> from infex import Greedy, Infex, LinUCB, evaluation, every
    >>> log = evaluation.Log(arm=[0, 1, 0], reward=[1.0, 0.0, 1.0], arms=[[1.0, 0.0], [0.0, 1.0]])
    >>> warm = evaluation.bandit(log, Infex(LinUCB(), every(20)))
    >>> warm.t, warm.pulls.tolist(), warm.ask().arm
    (3, [2, 1], 0)
    """
    log = log.without_held_out()
    rule, facts = log.features if features is None else features, log.facts
    if estimator is None and facts.estimator is not None:
        try:
            estimator = parse(facts.estimator)
        except InfexError:
            raise InvalidLog(f"the estimator of this log has to be given: {facts.estimator}") from None
    found = new_bandit(
        log,
        policy,
        seed=seed if seed is not None else facts.seed or 0,
        penalty=penalty if penalty is not None else 1.0 if facts.penalty is None else facts.penalty,
        estimator=estimator,
        features=rule,
        rescale=rescale,
    )
    rows = np.flatnonzero(log.rewarded)
    weights = log.others.get("weight")
    if log.inverse_kept is not None:
        weights = log.inverse_kept if weights is None else weights * log.inverse_kept
    found.learn(
        _contexts(log, rule, rows),
        _played_arms(log, rule, rows),
        log.reward[rows],
        None if weights is None else weights[rows],
        explored=None if log.explored is None else log.explored[rows],
    )
    found.taught = found.taught + Fingerprint.of(log)
    if not fresh:
        rounds = log.of_policy()
        found.resume(int(rounds.round.max()), *explorations(rounds))
    return found


def new_bandit(
    log: Log,
    policy: Policy,
    *,
    seed: int,
    penalty: float,
    estimator: Estimator | None,
    features: FeatureMap | None = None,
    rescale: bool = False,
) -> Bandit:
    """A bandit among the arms of a log that has learnt nothing yet."""
    rule = log.features if features is None else features
    arms: dict[str, Any] = {"features": rule}
    if log.offers is not None or (log.arms is not None and log.offered is not None):
        arms = {"dim": log.dim, "rescale": rescale}
    elif log.arms is not None:
        arms = {"arms": log.arms, "labels": log.labels, "rescale": rescale}
    elif rule is None or log.context is None:
        raise InvalidLog(
            "this log does not say what arms looked like: it needs offers, or arms, or contexts and a map"
        )
    return Bandit(**arms, policy=policy, seed=seed, penalty=penalty, estimator=estimator)


def _played_arms(log: Log, rule: FeatureMap | None, rows: Integers) -> object:
    """The arms that were played, as `Bandit.learn` takes them."""
    if log.offers is not None:
        return log.offers[rows, log.arm[rows]]
    if log.arms is not None and log.offered is not None:
        return log.arms[log.arm[rows]]
    labels = log.labels if log.arms is not None else None if rule is None else rule.labels
    return log.arm[rows] if labels is None else [labels[place] for place in log.arm[rows].tolist()]


def _contexts(log: Log, rule: FeatureMap | None, rows: Integers) -> list[Encoded] | Floats | None:
    if log.offers is not None or log.arms is not None or rule is None or log.context is None:
        return None
    contexts = log.context[rows]
    return [Encoded(context) for context in contexts] if log.facts.encoded else contexts


class Explorations(NamedTuple):
    """The exploring rounds of a log, which of them did not play the greedy arm, and their losses."""

    rounds: Integers
    different: Bools
    losses: Floats


def explorations(log: Log) -> Explorations:
    """The exploring rounds of a log."""
    size = len(log)
    explored = np.zeros(size, dtype=bool) if log.explored is None else log.explored
    different = np.zeros(size, dtype=bool)
    if log.greedy is not None:
        different = (log.arm != log.greedy) & (log.greedy >= 0)
    losses = np.asarray(log.others.get("loss", np.zeros(size)), dtype=np.float64)
    return Explorations(log.round[explored], different[explored], losses[explored])
