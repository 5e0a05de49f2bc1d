"""INFEX: infrequent exploration (Lee and Oh, NeurIPS 2025, Algorithm 1)."""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Literal, final

import numpy as np

from infex.checks import one_of
from infex.errors import InvalidSetting, SparseExploration
from infex.linear import Evidence
from infex.linear.kernels import Floats
from infex.policies.greedy import GREEDY
from infex.policies.protocol import Choice, Policy, checked, chosen, learns, probability, uses_explored
from infex.policies.ties import TIES, Ties
from infex.schedules.protocol import Schedule, chance


@final
@dataclass(frozen=True, slots=True)
class Infex:
    """Lets `base` decide in the rounds of `schedule`, and is greedy in all others.

    With `data="shared"` the base sees the data of all rounds. With `data="own"` it sees those of
    its own rounds alone and counts time by them, so that these are exactly a run of the base by
    itself; the greedy rounds use all data either way.
    """

    base: Policy
    schedule: Schedule
    _: KW_ONLY
    data: Literal["shared", "own"] = "shared"
    ties: Ties = "lowest"

    def __post_init__(self) -> None:
        checked("base", self.base)
        for verb in ("explores",) if self.data == "shared" else ("explores", "count"):
            if isinstance(self.schedule, type) or not callable(getattr(self.schedule, verb, None)):
                raise InvalidSetting(
                    f"schedule must be an object with a method {verb}, got {self.schedule!r}"
                )
        one_of("ties", self.ties, TIES)
        if one_of("data", self.data, ("shared", "own")) == "own" and uses_explored(self.base):
            raise InvalidSetting(f"own data cannot be kept for a base that keeps its own: {self.base!r}")
        if getattr(self.schedule, "grows", None) is False:
            warnings.warn(
                f"{self.schedule!r} explores too rarely to keep the regret low for ever: its count does not "
                "grow faster than log t. For a short horizon that may be just what you want; then filter out "
                "infex.SparseExploration.",
                SparseExploration,
                stacklevel=3,
            )

    def choose(self, t: int, evidence: Evidence, rng: np.random.Generator) -> Choice:
        """The base's arm in the rounds of the schedule, the greedy arm in all others."""
        if self.schedule.explores(t):
            choice = self.base.choose(*self._seen(t, evidence), rng)
            arm = chosen(choice, len(evidence))
            return choice if uses_explored(self.base) else Choice(arm, explored=True)
        return GREEDY[self.ties].choose(t, evidence, rng)

    def probability(self, t: int, evidence: Evidence, arm: int) -> float | None:
        """The chance of `arm`, given the rounds before, over all draws; None where it is not known."""
        explores = chance(self.schedule, t)
        if explores == 0.0:
            return GREEDY[self.ties].probability(t, evidence, arm)
        inner = probability(self.base, *self._seen(t, evidence), arm)
        if explores == 1.0 or inner is None:
            return inner
        if explores is None or hasattr(self.base, "schedule"):  # whose draws may hang together with ours
            return None
        return explores * inner + (1.0 - explores) * GREEDY[self.ties].probability(t, evidence, arm)

    def learn(self, arm: int, features: Floats, reward: float, explored: bool) -> None:
        """Passes a reward on to a base that learns by itself: all of them, or its own."""
        if learns(self.base) and (explored or self.data == "shared"):
            self.base.learn(arm, features, reward, explored)  # type: ignore[attr-defined]

    @property
    def learns(self) -> bool:
        """Does the base keep a state of its own?"""
        return learns(self.base)

    @property
    def uses_explored(self) -> bool:
        """Must the exploring rounds be kept apart?"""
        return self.data == "own" or uses_explored(self.base)

    def _seen(self, t: int, evidence: Evidence) -> tuple[int, Evidence]:
        """The round and the evidence as the base sees them."""
        if self.data == "shared":
            return t, evidence
        return self.schedule.count(t - 1) + 1, evidence.explored
