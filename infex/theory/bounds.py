"""Bounds on the regret of LinUCB and LinTS, with explicit constants."""

from __future__ import annotations

from typing import NamedTuple

from infex.checks import whole
from infex.errors import InvalidSetting
from infex.theory.setting import Setting
from infex.theory.turning import LAST_ROUND


class Bound(NamedTuple):
    """A bound on the regret of a base: it says nothing where it is vacuous.

    `failure` is the chance that it fails.

    `policy` is what it is of, at the `horizon`, with the `log_det_ratio` and `radius` that it rests on;
    `trivial` is 2 S T.
    """

    policy: str
    regret: float
    log_det_ratio: float
    radius: float
    horizon: int
    trivial: float
    failure: float

    @property
    def vacuous(self) -> bool:
        """Is it above 2 S T, which no policy's regret exceeds, or is the chance that it fails 1?"""
        return is_vacuous(self.regret, self.trivial, self.failure)

    def __str__(self) -> str:
        return in_words(self.policy, self.regret, self.trivial, self.horizon, self.failure)

    def __repr__(self) -> str:
        return f"<{self}>"


def is_vacuous(regret: float, trivial: float, failure: float) -> bool:
    """Does a bound promise nothing?"""
    return not regret <= trivial or failure >= 1.0


def in_words(policy: str, regret: float, trivial: float, horizon: int, failure: float) -> str:
    """A bound in words; a vacuous one is never called a guarantee."""
    if not regret <= trivial:
        return (
            f"vacuous: the bound of {policy} is {regret:.4g} at T = {horizon:.4g}, above the {trivial:.4g} "
            "that no policy exceeds"
        )
    if failure >= 1.0:
        return f"vacuous: at T = {horizon:.4g} nothing is guaranteed for {policy}, because delta is too large"
    return (
        f"regret of {policy} at T = {horizon:.4g} is at most {regret:.4g}, with probability at least "
        f"1 - {failure:.3g}"
    )


def linucb(setting: Setting, horizon: int) -> Bound:
    """The bound of LinUCB: 8 alpha beta^2/Delta, with alpha bounded by this very regret too.

    `setting` is the problem, and `horizon` is T.

    >>> linucb(Setting(dim=10, gap=0.1), 10_000).vacuous
    True
    >>> linucb(Setting(dim=2, gap=1.0, noise=0.1), 10_000)
    <regret of LinUCB at T = 1e+04 is at most 296.7, with probability at least 1 - 0.0001>
    """
    return alone(setting, "LinUCB", horizon)


def lints(setting: Setting, horizon: int) -> Bound:
    """The bound of LinTS: Theorem 2 of the paper with its constants written out, see `lints_regret`.

    `setting` is the problem, and `horizon` is T.
    """
    return alone(setting, "LinTS", horizon)


def alone(setting: Setting, base: str, horizon: int) -> Bound:
    """The bound of a base that plays by itself."""
    horizon = a_horizon(horizon)
    delta = setting.delta_at(horizon)
    regret, log_det_ratio = base_regret(setting, base, horizon, delta)
    radius = float(setting.radius(log_det_ratio, delta))
    trivial = 2.0 * setting.bound * horizon
    return Bound(base, regret, log_det_ratio, radius, horizon, trivial, setting.base_failure(base, delta))


def a_horizon(horizon: int) -> int:
    """`horizon`, if bounds can be computed for so many rounds."""
    rounds = whole("horizon", horizon, least=1)
    if rounds > LAST_ROUND and float(rounds) > float(LAST_ROUND):
        raise InvalidSetting(f"horizon must be at most 10^300 for a bound, got {rounds:.3e}")
    return min(rounds, LAST_ROUND)


def base_regret(setting: Setting, base: str, rounds: int, delta: float) -> tuple[float, float]:
    """What so many rounds of a base may cost, and their alpha."""
    if rounds == 0:
        return 0.0, 0.0
    log_det_ratio = setting.settled_volume(
        rounds, lambda alpha: setting.base_regret(base, rounds, alpha, delta)
    )
    return float(setting.base_regret(base, rounds, log_det_ratio, delta)), float(log_det_ratio)
