"""A bandit that has learnt what a log holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from infex.arrays import Bools, Floats
from infex.bandit import Bandit
from infex.errors import InfexError, InvalidLog
from infex.features import Encoded, FeatureMap
from infex.logs import Log
from infex.logs.log import Fingerprint
from infex.models.base import Estimator
from infex.policies.base import Policy
from infex.registry import parse


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
    """The bandit that was told all rewards of a log, and goes on with its next round.

    `policy` may be another than the one that wrote the log. `seed`, `penalty` and `estimator` are those the
    log names, else those of a new `Bandit`; `features` is the map, where the log has contexts and names none.
    With `fresh` rounds begin at 1, so that a schedule begins anew; otherwise the clock goes on after the
    last round, and explorations of the log count. Rewards that never came are left out, and nothing is
    pending. `rescale` is that of `Bandit`. The bandit, and any file of it, remembers by which log it was
    taught: `evaluate` does not weigh it by the same one. Decisions for those held out are left out, as the
    bandit that wrote the log has not learnt from them, unless there are no others.

    >>> from infex import Greedy, Infex, LinUCB, evaluation, every
    >>> log = evaluation.Log(arm=[0, 1, 0], reward=[1.0, 0.0, 1.0], arms=[[1.0, 0.0], [0.0, 1.0]])
    >>> warm = evaluation.bandit(log, Infex(LinUCB(), every(20)))
    >>> warm.t, warm.pulls.tolist(), warm.ask().arm
    (3, [2, 1], 0)
    """
    log = log.without_held_out()
    rule = log.features if features is None else features
    found = new_bandit(
        log,
        policy,
        seed=_first(seed, log.facts.seed, 0),
        penalty=_first(penalty, log.facts.penalty, 1.0),
        estimator=_estimator(log) if estimator is None else estimator,
        features=rule,
        rescale=rescale,
    )
    rows = np.flatnonzero(log.rewarded)
    found.learn(
        _contexts(log, rule, rows),
        _played(log, rule, rows),
        log.reward[rows],
        log.others["weight"][rows] if "weight" in log.others else None,
        explored=None if log.explored is None else log.explored[rows],
    )
    found.taught = found.taught + Fingerprint.of(log)
    if not fresh:
        explored, different, losses = rounds_of(log)
        found.resume(int(log.round.max()), log.round[explored], different[explored], losses[explored])
    return found


def new_bandit(
    log: Log,
    policy: Policy,
    *,
    seed: int,
    penalty: float,
    estimator: Estimator | None,
    features: FeatureMap | None,
    rescale: bool = False,
) -> Bandit:
    """A bandit among the arms of a log that has learnt nothing yet."""
    arms = _arms(log, log.features if features is None else features, rescale)
    return Bandit(**arms, policy=policy, seed=seed, penalty=penalty, estimator=estimator)


def _first(said: Any, logged: Any, default: Any) -> Any:
    return said if said is not None else default if logged is None else logged


def _estimator(log: Log) -> Estimator | None:
    if log.facts.estimator is None:
        return None
    try:
        return parse(log.facts.estimator)  # type: ignore[no-any-return]
    except InfexError:
        raise InvalidLog(f"the estimator of this log has to be given: {log.facts.estimator}") from None


def _arms(log: Log, rule: FeatureMap | None, rescale: bool) -> dict[str, Any]:
    """Where the arms of the bandit come from, as the log has them."""
    if log.offers is not None or (log.arms is not None and log.offered is not None):
        return {"dim": log.dim, "rescale": rescale}
    if log.arms is not None:
        return {"arms": log.arms, "labels": log.labels, "rescale": rescale}
    if rule is None or log.context is None:
        raise InvalidLog(
            "this log does not say what arms looked like: it needs offers, or arms, or contexts and a map"
        )
    return {"features": rule}


def _played(log: Log, rule: FeatureMap | None, rows: np.ndarray) -> object:
    """The arms that were played, as the bandit knows them."""
    if log.offers is not None:
        return log.offers[rows, log.arm[rows]]
    if log.arms is not None and log.offered is not None:
        return log.arms[log.arm[rows]]
    labels = log.labels if log.arms is not None else None if rule is None else rule.labels
    return log.arm[rows] if labels is None else [labels[place] for place in log.arm[rows].tolist()]


def _contexts(log: Log, rule: FeatureMap | None, rows: np.ndarray) -> list[Encoded] | Floats | None:
    if log.offers is not None or log.arms is not None or rule is None or log.context is None:
        return None
    contexts = log.context[rows]
    return [Encoded(context) for context in contexts] if log.facts.encoded else contexts


def rounds_of(log: Log) -> tuple[Bools, Bools, Floats]:
    """Which rounds explored, which played another arm than the greedy one, and what exploring lost."""
    size = len(log)
    explored = np.zeros(size, dtype=bool) if log.explored is None else log.explored
    different = np.zeros(size, dtype=bool)
    if log.greedy is not None:
        different = (log.arm != log.greedy) & (log.greedy >= 0)
    return explored, different, np.asarray(log.others.get("loss", np.zeros(size)), dtype=np.float64)
