"""Chances of a reward of 1, by their log-odds."""

from __future__ import annotations

from typing import final

import numpy as np

from infex.arrays import Floats
from infex.errors import NotKept
from infex.kernels import best
from infex.kernels.view import View
from infex.linear import Offer
from infex.linear.moments import Moments


def chance(odds: Floats) -> Floats:
    """1/(1 + exp(-odds)), for odds of any size."""
    found: Floats = np.exp(-np.logaddexp(0.0, -odds))
    return found


@final
class Chances:
    """What is known of arms whose scores x'theta are log-odds."""

    lasting = False

    def __init__(self, odds: Offer) -> None:
        self._odds = odds
        self.columns = odds.columns

    @property
    def penalty(self) -> float:
        return self._odds.penalty

    @property
    def volume(self) -> float:
        return self._odds.volume

    def estimates(self) -> tuple[int, Floats]:
        found = chance(self._odds.estimates()[1])
        return best(found), found

    def widths(self) -> Floats:
        _, chances = self.estimates()
        return chances * (1.0 - chances) * self._odds.widths()

    def width(self, arm: int) -> float:
        return float(self.widths()[arm])

    def upper(self, beta: float) -> Floats:
        return chance(self._odds.upper(beta))

    def perturbed(self, scale: float, direction: Floats) -> Floats:
        return self._odds.perturbed(scale, direction)

    def means(self, scores: Floats) -> Floats:
        return chance(scores)

    def on(self, columns: Floats) -> Chances:
        return Chances(self._odds.on(columns))

    def moments(self) -> Moments:
        return self._odds.moments()

    def view(self, settings: Floats) -> View:
        raise NotKept(
            "a kernel reads linear scores; these are chances of a reward of 1: write the policy in Python"
        )
