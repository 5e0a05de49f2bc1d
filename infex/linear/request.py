"""What a request says of its round: which arms may be played at all, and whether it may explore."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from infex.arrays import Floats, Integers, shown
from infex.linear.knowledge import Knowledge
from infex.linear.offers import On


class Among(NamedTuple):
    """Where the arms of posterior stand among all arms of the round; without `places` they are all.

    `whole` and `explored` are what is known of all of them, from every round and from exploring ones.
    `may_explore` is False where whoever asks forbids exploring in this one request.
    """

    places: Integers | None = None
    whole: Knowledge | None = None
    explored: Knowledge | None = None
    may_explore: bool = True

    def among(self, places: Integers, known: Knowledge, explored: Knowledge | None) -> Among:
        """The same for some of the arms, which are known so far."""
        if places.size == known.count:
            return self
        if self.places is None:
            return Among(places, known, explored, self.may_explore)
        return self._replace(places=self.places[places])

    def of_explored(self) -> Among:
        """The same for what exploring rounds have taught."""
        return self if self.places is None else self._replace(whole=self.explored, explored=None)

    def copy(self) -> Among:
        """The same of what is known now, which stays."""
        whole, explored = (None if each is None else each.copy() for each in (self.whole, self.explored))
        return self._replace(whole=whole, explored=explored)

    def place(self, arm: int) -> int:
        """Where an arm stands among all."""
        return arm if self.places is None else self.places.item(arm)

    def seat(self, place: int) -> int:
        """Which of these arms stands at a place."""
        return place if self.places is None else int(np.searchsorted(self.places, place))

    def all_places(self, count: int) -> Integers:
        """The places of so many arms."""
        return shown(np.arange(count) if self.places is None else self.places)

    def all_known(self, known: Knowledge) -> Knowledge:
        """What is known of all arms, where `known` are these."""
        return known if self.whole is None else self.whole

    def learnt_on(self, known: Knowledge, arm: int, features: Floats | None) -> On:
        """What the reward of an arm is learnt on: as if all had been shown."""
        return self.all_known(known).learnt_on(self.place(arm), features)


ANYTHING = Among()
