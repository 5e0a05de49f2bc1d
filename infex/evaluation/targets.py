"""Target policies: what a log is to evaluate, as probabilities of arms in every round. They do not learn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, final

import numpy as np

from infex.arrays import Floats, Integers
from infex.bandit import Bandit
from infex.checks import imported, safe_repr
from infex.core.evaluation import best_in_rows
from infex.errors import InfexError, InvalidLog, InvalidTarget
from infex.evaluation.model import LogAnalysis
from infex.features import Interactions
from infex.features.base import ScaledMap
from infex.logs import Log
from infex.logs.arm_features import ArmFeatures
from infex.logs.log import Fingerprint, is_match
from infex.policies import Greedy, Uniform
from infex.registry import parse

SUM_TOLERANCE = 1e-9
Probabilities = Callable[[slice], Floats]


@final
class Logged:
    """The arms that the log played: what happened, to compare with what would have happened."""

    def __repr__(self) -> str:
        return "evaluation.logged"


logged: Final = Logged()


@final
class PessimisticPolicy:
    """The arm with the best lower bound x'theta - `far` |x| in V^-1; a function of offers (n, K, d)."""

    def __init__(self, theta: Floats, inverse: Floats, far: float, taught: Fingerprint) -> None:
        self.theta, self.inverse, self.far, self.taught = theta, inverse, far, taught

    def __call__(self, offers: Floats, context: object = None) -> Integers:
        """The arm of each round."""
        return best_in_rows(self.lower(np.asarray(offers, dtype=np.float64)))

    def lower(self, offers: Floats) -> Floats:
        """The lower bounds of all arms, (n, K)."""
        if self.far == 0.0:
            scores: Floats = offers @ self.theta
            return np.ascontiguousarray(scores)
        squares = np.einsum("nkd,nkd->nk", offers @ self.inverse, offers)
        return np.ascontiguousarray(offers @ self.theta - self.far * np.sqrt(np.maximum(squares, 0.0)))


@final
class TargetPolicy:
    """A policy that does not learn, on one log: `probabilities(span)` is (rounds, K), rows add up to 1.

    `is_logged`: is it what the log played? `is_learnt`: was it made from rounds of this very log?
    `needs_whole`: is it made from all rounds of the log, whichever part is at hand? `shared`: how many of the
    `hashes` of what it was taught are those of this log.
    """

    def __init__(
        self,
        name: str,
        probabilities: Probabilities,
        *,
        is_logged: bool = False,
        is_learnt: bool = False,
        needs_whole: bool = False,
        taught: tuple[int, int] = (0, 0),
    ) -> None:
        self.name, self.probabilities, self.is_logged = name, probabilities, is_logged
        self.needs_whole, (self.shared, self.hashes) = needs_whole, taught
        self.is_learnt = is_learnt or is_match(*taught)


def targets_of(targets: object, analysis: LogAnalysis) -> list[TargetPolicy]:
    """All targets of a dict, on the log of an analysis."""
    if not isinstance(targets, Mapping) or not targets:
        raise InvalidTarget(
            "targets must be a dict of names and policies, as in {'now': evaluation.logged}, got "
            f"{safe_repr(targets)}"
        )
    strange = next((name for name in targets if not isinstance(name, str)), None)
    if strange is not None:
        raise InvalidTarget(f"targets must have texts for names, got {safe_repr(strange)}")
    return [target_of(name, target, analysis) for name, target in targets.items()]


def target_of(name: str, target: object, analysis: LogAnalysis) -> TargetPolicy:
    """One target, by what the caller passed for it."""
    log, features = analysis.log, analysis.features
    if isinstance(target, Logged):
        return TargetPolicy(name, lambda span: one_hot(log.arm[span], log.count), is_logged=True)
    if isinstance(target, Greedy):
        probabilities = _greedy_probabilities(log, features, analysis.model.theta)
        return TargetPolicy(name, probabilities, is_learnt=True, needs_whole=True)
    if isinstance(target, Bandit):
        own, told = _bandit_theta(name, target, log, features), analysis.told_theta
        same = bool(told.any()) and bool(np.allclose(own, told, rtol=1e-9, atol=1e-12))
        return TargetPolicy(
            name,
            _greedy_probabilities(log, features, own),
            is_learnt=target.has_learnt_from(log) or same,  # it was told the log's rewards, in whichever way
            taught=(target.taught.shared(log), len(target.taught.hashes)),
        )
    if isinstance(target, PessimisticPolicy):
        return TargetPolicy(
            name,
            lambda span: _best_on_offer(target.lower(features.every(span)), log, span),
            taught=(target.taught.shared(log), len(target.taught.hashes)),
        )
    if isinstance(target, Uniform):
        return TargetPolicy(name, lambda span: _uniform_probabilities(log, span))
    if isinstance(target, str) or (isinstance(target, int) and not isinstance(target, bool)):
        try:
            arms = log.places(target)
        except InvalidLog as error:
            raise InvalidTarget(f"{name!r}: {error}") from None
        return TargetPolicy(name, lambda span: _on_offer(name, _arm_called(arms, log, span), log, span))
    if isinstance(target, np.ndarray | Sequence):
        return TargetPolicy(name, _given_probabilities(name, np.asarray(target), analysis))
    if not isinstance(target, type) and callable(target):
        return TargetPolicy(name, _function_probabilities(name, target, log, features))
    if not isinstance(target, type) and "choose" in dir(target):
        raise InvalidTarget(
            f"{name!r} is {safe_repr(target)}, which learns: a log of other arms cannot tell what it would "
            "have learnt. evaluation.replay and evaluation.simulate can; a bandit is evaluated as it stands"
        )
    raise InvalidTarget(
        f"{name!r} must be evaluation.logged, a bandit, Greedy(), Uniform(), a label, probabilities "
        f"of the arms or a function of (offers, context), got {safe_repr(target)}"
    )


def one_hot(arms: Integers, count: int) -> Floats:
    """Probability 1 for one arm in each round."""
    probabilities = np.zeros((arms.size, count))
    probabilities[np.arange(arms.size), arms] = 1.0
    return probabilities


def _uniform_probabilities(log: Log, span: slice) -> Floats:
    if log.offered is None:
        return np.full((log.round[span].size, log.count), 1.0 / log.count)
    on = log.offered[span]
    found: Floats = on / on.sum(axis=1, keepdims=True)
    return found


def _greedy_probabilities(log: Log, features: ArmFeatures, theta: Floats) -> Probabilities:
    return lambda span: _best_on_offer(np.array(features.scores(span, theta)), log, span)


def _best_on_offer(scores: Floats, log: Log, span: slice) -> Floats:
    """Probability 1 for the arm on offer with the largest score; overwrites the scores of all others."""
    if log.offered is not None:
        scores[~log.offered[span]] = -np.inf
    return one_hot(best_in_rows(scores), log.count)


def _bandit_theta(name: str, bandit: Bandit, log: Log, features: ArmFeatures) -> Floats:
    """The parameter that a bandit has learnt, for the features of the log."""
    rule = bandit.features
    theta = np.asarray(bandit.theta, dtype=np.float64)
    by_index = log.dim is None or not (rule is None or isinstance(rule, Interactions))
    if by_index and (bandit.labels or log.labels) and bandit.labels != log.labels:
        raise InvalidTarget(
            f"{name!r} has other arms than this log, or in another order: compare their labels"
        )
    if log.dim is None:  # each arm is estimated by itself
        if rule is not None or len(bandit.arms) != log.count:
            raise InvalidTarget(f"{name!r} reads features of arms, and this log has none")
        known: Floats = bandit.arms @ theta
        return known
    if isinstance(rule, ScaledMap):
        theta = theta * rule.longest  # the log's features are divided, as the map does it
    flat = theta.reshape(-1)
    if flat.size != features.dim:
        raise InvalidTarget(f"{name!r} knows {flat.size} features, and arms of this log have {features.dim}")
    return flat


def _given_probabilities(name: str, values: np.ndarray, analysis: LogAnalysis) -> Probabilities:
    """Probabilities of all rounds, (K,), or of each, (n, K); or an arm for each, (n,)."""
    log, rounds = analysis.log, len(analysis.log)
    if values.dtype.kind in "iu" and values.shape == (rounds,) and rounds != log.count:
        arms = analysis.in_order(values)
        return lambda span: _checked(name, arms[span], log, span)
    if values.dtype.kind not in "iuf" or values.shape not in ((log.count,), (rounds, log.count)):
        raise InvalidTarget(
            f"{name!r} must be {log.count} probabilities, or {rounds} rows of so many, got {values.dtype} "
            f"of the shape {values.shape}"
        )
    every = np.broadcast_to(values if values.ndim == 1 else analysis.in_order(values), (rounds, log.count))
    return lambda span: _checked(name, every[span], log, span)


def _function_probabilities(
    name: str, target: Callable[..., Any], log: Log, features: ArmFeatures
) -> Probabilities:
    has_features = log.dim is not None

    def probabilities(span: slice) -> Floats:
        context = None if log.context is None else log.context[span]
        answer = target(features.every(span) if has_features else None, context)
        return _checked(name, np.asarray(answer), log, span)

    return probabilities


def _arm_called(arms: Integers, log: Log, span: slice) -> Integers:
    """In each round, the one of the arms with the same label that is on offer; the first if none is."""
    if log.offered is None:
        return np.full(log.round[span].size, arms[0])
    found: Integers = arms[np.argmax(log.offered[span][:, arms], axis=1)]
    return found


def _on_offer(name: str, arms: Integers, log: Log, span: slice) -> Floats:
    """Probability 1 for one arm in each round, if these are on offer."""
    if log.offered is not None and not (on := log.offered[span][np.arange(arms.size), arms]).all():
        place = int(np.argmin(on))
        raise InvalidTarget(
            f"{name!r} must give probabilities for arms on offer alone; in round {log.round[span][place]} "
            f"arm {arms[place]} is not"
        )
    return one_hot(arms, log.count)


def _checked(name: str, answer: np.ndarray, log: Log, span: slice) -> Floats:
    """Probabilities of all arms in these rounds; one arm for each round will do too."""
    rounds = log.round[span]
    if answer.dtype.kind in "iu" and answer.shape == rounds.shape:
        beyond = (answer < 0) | (answer >= log.count)
        if beyond.any():
            place = int(np.argmax(beyond))
            raise InvalidTarget(
                f"{name!r} plays arm {answer[place]} in round {rounds[place]}, of {log.count}"
            )
        return _on_offer(name, answer, log, span)
    if answer.dtype.kind not in "iuf" or answer.shape != (rounds.size, log.count):
        raise InvalidTarget(
            f"{name!r} must give probabilities of the shape {(rounds.size, log.count)}, or an arm for each "
            f"round, got {answer.dtype} of the shape {answer.shape}"
        )
    probabilities = answer.astype(np.float64, copy=False)
    total = probabilities.sum(axis=1)
    bad = ~(np.abs(total - 1.0) <= SUM_TOLERANCE)
    if not float(probabilities.min(initial=0.0)) >= 0.0:
        bad |= ~(probabilities >= 0.0).all(axis=1)
    if log.offered is not None:
        bad |= ((probabilities > 0.0) & ~log.offered[span]).any(axis=1)
    if bad.any():
        place = int(np.argmax(bad))
        raise InvalidTarget(
            f"{name!r} must give probabilities of 0 or more that add up to 1, for arms on offer alone; in "
            f"round {rounds[place]} they add up to {total[place]:.12g}, the least is "
            f"{probabilities[place].min():.6g}"
        )
    return probabilities


# Targets by the words of a command line


def named_targets(texts: Iterable[str], log: Log) -> dict[str, Any]:
    """Targets by name: `now`, a label, a saved bandit, `module:function`, or a policy; `name=` may go before.

    >>> from infex.logs import Log
    >>> log = Log(arm=[0, 1], reward=[0.0, 1.0], labels=("tea", "coffee"))
    >>> named_targets(["now", "hot=tea", "Uniform"], log)
    {'now': evaluation.logged, 'hot': 'tea', 'Uniform': Uniform()}
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, sign, rest = text.partition("=")
        if not sign or not name or "(" in name:  # such as Greedy(ties=...)
            name, rest = text, text
        if name in found:
            raise InvalidTarget(f"two policies are called {name!r}: give one another name, as in mine={rest}")
        found[name] = _named_target(rest, log)
    return found


def _named_target(text: str, log: Log) -> Any:
    if text == "now":
        return logged
    if log.labels is not None and text in log.labels:
        return text
    if log.labels is None and text.isdigit():
        return int(text)
    if Path(text).is_file():
        return Bandit.load(text)
    if ":" in text and "(" not in text:
        return imported(text, InvalidTarget, f"cannot load the target {text!r}")
    try:
        return parse(text)
    except InfexError as error:
        raise InvalidTarget(
            f"{text!r} is no arm of the log, no file of a bandit, and no policy to evaluate: {error}"
        ) from None
