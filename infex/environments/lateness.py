"""Rewards that come late, or never."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from infex.arrays import Integers
from infex.checks import real, whole
from infex.errors import InvalidSetting
from infex.streams import stream

NEVER = -1
MOST_LATE = 10**7  # rounds whose rewards can be on their way


@final
@dataclass(frozen=True, slots=True)
class Late:
    """When rewards come: see `late`.

    `rounds` is how late every reward is, or else `mean` the mean of a geometric law; `lost` is the share
    that never comes.
    """

    rounds: int | tuple[int, ...] | None = None
    mean: float | None = None
    lost: float = 0.0

    def __post_init__(self) -> None:
        if self.rounds is not None and self.mean is not None:
            raise InvalidSetting(f"rewards are late by given rounds or by a mean, got both: {self!r}")
        if isinstance(self.rounds, tuple):
            if not self.rounds:
                raise InvalidSetting("a list of delays must have at least one, got none")
            [whole("a delay", delay, least=0) for delay in self.rounds]
        elif self.rounds is not None:
            whole("rounds", self.rounds, least=0)
        if self.mean is not None:
            real("mean", self.mean, least=0)
        real("lost", self.lost, least=0, most=1)

    def delays(self, seed: int, key: int, horizon: int) -> Integers:
        """After how many further decisions each round's reward is told; -1 is never."""
        if horizon > MOST_LATE:
            raise InvalidSetting(f"late rewards are kept for at most {MOST_LATE} rounds, got {horizon}")
        rng = stream(seed, "late", key)
        if self.mean is not None:
            found = rng.geometric(1.0 / (1.0 + self.mean), horizon) - 1
        else:
            found = np.resize(np.array(0 if self.rounds is None else self.rounds), horizon)
        found = found.astype(np.int64)
        found[rng.random(horizon) < self.lost] = NEVER
        return found


def checked_late(given: object) -> Late | None:
    """`late`, if it says when rewards come; a whole number is so many rounds."""
    if given is None or isinstance(given, Late):
        return given
    if isinstance(given, int) and not isinstance(given, bool):
        return Late(given)
    raise InvalidSetting(
        f"late must be a number of rounds, or late(...) of infex.environments, got {given!r}"
    )


def late(rounds: int | Sequence[int] | None = None, mean: float | None = None, lost: float = 0.0) -> Late:
    """Rewards that come after further decisions: so many `rounds`, or a geometric number with that `mean`.

    A list of rounds is gone through again and again. Each reward is `lost`, and never told, with that
    probability. Rewards that are due after the same decision are told in the order of their rounds.

    >>> late(rounds=20, lost=0.1)
    Late(rounds=20, mean=None, lost=0.1)
    """
    given = rounds if rounds is None or isinstance(rounds, int) else tuple(rounds)
    return Late(given, mean, lost)
