"""INFEX: infrequent exploration (Lee and Oh, NeurIPS 2025, Algorithm 1)."""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, final

import numpy as np

from infex.arrays import Floats
from infex.checks import one_of
from infex.errors import InvalidSetting, SparseExploration
from infex.linear import Evidence
from infex.policies.control import (
    GREEDILY,
    SCHEDULED,
    Control,
    controlled,
    controlled_probability,
    why_not,
)
from infex.policies.greedy import GREEDY
from infex.policies.protocol import (
    NO_ARM_ALLOWED,
    Choice,
    Policy,
    checked,
    choose_allowed,
    chosen,
    learns,
    none_allowed,
    probability,
    teach,
    uses_explored,
)
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
    schedule: Schedule | Control
    _: KW_ONLY
    data: Literal["shared", "own"] = "shared"
    ties: Ties = "lowest"

    def __post_init__(self) -> None:
        checked("base", self.base)
        one_of("ties", self.ties, TIES)
        own = one_of("data", self.data, ("shared", "own")) == "own"
        if own and uses_explored(self.base):
            raise InvalidSetting(f"own data cannot be kept for a base that keeps its own: {self.base!r}")
        _refuse_strange(self.schedule, own)
        _warn_of_sparse(self.schedule)

    def choose(self, t: int, evidence: Evidence, rng: np.random.Generator) -> Choice:
        """The base's arm in the rounds of the schedule, the greedy arm in all others."""
        schedule = self.schedule
        if isinstance(schedule, Control):
            return controlled(self, schedule, t, evidence, rng)
        if not schedule.explores(t):
            return self.exploit(t, evidence, rng, why_not(schedule, t))
        if none_allowed(evidence):
            return self.exploit(t, evidence, rng, NO_ARM_ALLOWED)
        return self.explore(t, evidence, rng, SCHEDULED)

    def probability(self, t: int, evidence: Evidence, arm: int) -> float | None:
        """The chance of `arm`, given the rounds before, over all draws; None where it is not known."""
        if isinstance(self.schedule, Control):
            return controlled_probability(self, self.schedule, t, evidence, arm)
        explores = chance(self.schedule, t)
        if explores == 0.0 or none_allowed(evidence):
            return GREEDY[self.ties].probability(t, evidence, arm)
        inner = self.inner_probability(*self.seen(t, evidence), arm)
        if explores == 1.0 or inner is None:
            return inner
        if explores is None or hasattr(self.base, "schedule"):  # whose draws may hang together with ours
            return None
        return explores * inner + (1.0 - explores) * GREEDY[self.ties].probability(t, evidence, arm)

    heeds_allowed = True

    def explore(
        self, t: int, evidence: Evidence, rng: np.random.Generator, reason: str, turn: int | None = None
    ) -> Choice:
        """The base's choice."""
        tells = uses_explored(self.base)  # whether it explored
        choice = choose_allowed(self.base, *self.seen(t, evidence, turn), rng, trusted=tells)
        arm = chosen(choice, len(evidence))
        explored = choice.explored if tells else True
        return Choice(arm, explored, choice.note, reason if explored else GREEDILY, choice.features)

    def exploit(self, t: int, evidence: Evidence, rng: np.random.Generator, reason: str) -> Choice:
        """The greedy arm."""
        choice = GREEDY[self.ties].choose(t, evidence, rng)
        return choice if reason is GREEDILY else Choice(choice.arm, False, None, reason)

    def learn(self, arm: int, features: Floats, reward: float, explored: bool) -> None:
        """Passes a reward on to a base that learns by itself: all of them, or its own."""
        if learns(self.base) and (explored or self.data == "shared"):
            teach(self.base, arm, features, reward, explored)

    def inner_probability(self, t: int, seen: Evidence, arm: int) -> float | None:
        """The chance that `explore` picks `arm`, by what the base sees."""
        return probability(self.base, t, seen, arm, trusted=uses_explored(self.base))

    @property
    def learns(self) -> bool:
        """Does the base keep a state of its own?"""
        return learns(self.base)

    @property
    def uses_explored(self) -> bool:
        """Must the exploring rounds be kept apart?"""
        return self.data == "own" or uses_explored(self.base)

    def seen(self, t: int, evidence: Evidence, turn: int | None = None) -> tuple[int, Evidence]:
        """The round and the evidence as the base sees them; `turn` is its round by its own count."""
        if self.data == "shared":
            return t, evidence
        if turn is None:
            turn = self.schedule.count(t - 1) + 1  # type: ignore[union-attr]
        return turn, evidence.explored


def _refuse_strange(schedule: Any, own: bool) -> None:
    counts = own and not isinstance(schedule, Control)
    for verb in ("explores", "count") if counts else ("explores",):
        if isinstance(schedule, type) or not callable(getattr(schedule, verb, None)):
            raise InvalidSetting(f"schedule must be an object with a method {verb}, got {schedule!r}")


def _warn_of_sparse(schedule: Any) -> None:
    if getattr(schedule, "grows", None) is False:
        warnings.warn(
            f"{schedule!r} explores too rarely to keep the regret low for ever: its count does not grow "
            "faster than log t. For a short horizon that may be just what you want; then filter out "
            "infex.SparseExploration.",
            SparseExploration,
            stacklevel=4,
        )
