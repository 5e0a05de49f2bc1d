"""The value of one target, by one estimator, with its interval and what it rests on."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple, final

import numpy as np

from infex.arrays import Floats, Integers
from infex.evaluation.estimators import dot
from infex.evaluation.groundwork import TargetRounds
from infex.evaluation.intervals import Bounds

ALIKE_WITHIN = 1e-14
MODEL_IS_OFF = ("correction", "beyond")  # kinds of findings


class LogFinding(NamedTuple):
    """Something that the log shows of an estimate: its `kind`, in `words`, and whether it is a warning.

    That is `warns`.
    """

    kind: str
    words: str
    warns: bool = True


class Carrier(NamedTuple):
    """A round that carries an estimate: its number, arm, weight, reward, and the share of all weights."""

    round: int
    arm: object
    weight: float
    reward: float
    share: float


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TargetValue:
    """What a log says of one target.

    `value` with `low` and `high`; `estimator` and `method` say how; `ground`: is the interval guaranteed,
    asymptotic, or does it rest on what is assumed? `support` is the share of the target's choices that the
    log could have played (None: not known), `effective` how many explorations of equal weight say as much,
    `explorations` how many there are. `model` is the frozen model's value and `correction` what weighted
    residuals add to it. `error` is the standard error of a weighted estimator.

    `name` is the target's, `bounds` the whole interval, `why` says why this estimator was taken, and
    `correction_error` is the standard error of the correction. `findings` speak against it, `carriers`
    are the rounds that weigh most. `gains`, `weights`, `draws` and `rounds` are what it was found by.
    """

    name: str
    value: float
    bounds: Bounds
    estimator: str
    why: str
    support: float | None
    effective: float
    explorations: int
    model: float
    correction: float
    correction_error: float
    error: float
    findings: tuple[LogFinding, ...] = ()
    carriers: tuple[Carrier, ...] = ()
    gains: Floats = field(repr=False)
    weights: Floats = field(repr=False)
    draws: Integers = field(repr=False)
    rounds: TargetRounds = field(repr=False)

    @property
    def low(self) -> float:
        """The lower end of its interval."""
        return self.bounds.low

    @property
    def high(self) -> float:
        """The upper end of its interval."""
        return self.bounds.high

    @property
    def ground(self) -> str:
        """What the interval rests on."""
        return self.bounds.ground

    @property
    def method(self) -> str:
        """How the interval was made."""
        return self.bounds.method

    @property
    def is_weighted(self) -> bool:
        """Does it rest on drawn rounds, and not on the model alone?"""
        return self.estimator != "dm"

    @property
    def is_model_off(self) -> bool:
        """Do explorations, or what rewards can be, speak against what the model says of it?"""
        return any(each.kind in MODEL_IS_OFF for each in self.findings)

    def as_record(self) -> dict[str, object]:
        """All of it as plain data."""
        return {
            "target": self.name,
            "value": self.value,
            "low": none_of_nan(self.low),
            "high": none_of_nan(self.high),
            "estimator": self.estimator,
            "interval": self.method,
            "ground": self.ground,
            "why": self.why,
            "support": self.support,
            "effective": self.effective,
            "explorations": self.explorations,
            "model": none_of_nan(self.model),
            "correction": none_of_nan(self.correction),
            "error": none_of_nan(self.error),
            "findings": [each._asdict() for each in self.findings],
            "carriers": [each._asdict() for each in self.carriers],
        }


def none_of_nan(value: float) -> float | None:
    """NaN is no number of JSON."""
    return value if math.isfinite(value) else None


def spread_of(values: Floats, groups: Integers | None = None) -> tuple[float, int]:
    """The standard error of a mean, and of how many: rounds, or groups of rounds that go together.

    >>> spread_of(np.array([0.0, 2.0]))
    (0.7071067811865476, 2)
    """
    size = values.size
    if size < 2:
        return math.nan, size
    mean = float(values.mean())
    apart = values - mean
    square, most, largest = dot(apart, apart), float(np.abs(apart).max()), float(np.abs(values).max())
    alike = square < math.inf and most <= ALIKE_WITHIN * largest  # all are the same, but for rounding
    if groups is None:
        return (0.0 if alike else math.sqrt(square) / size), size
    sums = np.bincount(groups, weights=np.zeros(size) if alike else apart)
    return math.sqrt(float(sums @ sums)) / size, sums.size
