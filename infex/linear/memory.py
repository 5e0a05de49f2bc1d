"""All that a bandit has learnt: from every round and, where asked for, from exploring rounds alone."""

from __future__ import annotations

from typing import Any, final

from infex.arrays import Floats, Integers
from infex.errors import InvalidSetting
from infex.linear.evidence import Evidence
from infex.linear.ridge import Ridge
from infex.linear.statistics import Estimator, Statistics
from infex.linear.tally import Tally


@final
class Memory:
    """Statistics of all rounds and, if they are kept, of exploring rounds; with pulls by arm.

    `ridge` are those of all rounds, a `Ridge` unless an estimator made others. `note` is what the
    policy wants to know in its next round (see `Choice`).
    """

    __slots__ = ("explored", "note", "own_tally", "ridge", "tally")

    def __init__(self, ridge: Statistics, explored: Statistics | None) -> None:
        self.ridge = ridge
        self.explored = explored
        self.tally = Tally(ridge.columns.shape[1])
        self.own_tally = None if explored is None else Tally(ridge.columns.shape[1])
        self.note: Any = None

    @staticmethod
    def empty(columns: Floats, penalty: float, apart: bool, estimator: Estimator | None = None) -> Memory:
        """Nothing learnt, by ridge or another estimator; `apart` if exploring rounds are kept apart too."""
        make = Ridge if estimator is None else estimator.start
        return Memory(make(columns, penalty), make(columns, penalty) if apart else None)

    @property
    def columns(self) -> Floats:
        """The fixed arms, (d, K)."""
        return self.ridge.columns

    def evidence(self) -> Evidence:
        """What is known of the fixed arms."""
        return Evidence(self.ridge, self.explored, self.tally, self.own_tally, self.note)

    def offer(self, columns: Floats) -> Evidence:
        """What is known of the arms of one round."""
        explored = None if self.explored is None else self.explored.on(columns)
        return Evidence(self.ridge.on(columns), explored, note=self.note)

    def learn(self, arm: int, reward: float, explored: bool) -> None:
        """Takes in one reward of a fixed arm."""
        self.ridge.learn(arm, reward)
        tally = self.tally  # `add` written out, as this is the way of every reward
        tally.pulls[arm] += 1
        tally.sums[arm] += reward
        if explored and self.explored is not None and self.own_tally is not None:
            self.explored.learn(arm, reward)
            self.own_tally.add(arm, reward)

    def learn_weighted(self, arm: int, reward: float, explored: bool, weight: float) -> None:
        """Takes in one reward of a fixed arm that counts `weight` times in the squared error."""
        self.absorb_weighted(self.columns[:, arm].copy(), reward, explored, weight)
        self.tally.add(arm, reward)
        if explored and self.own_tally is not None:
            self.own_tally.add(arm, reward)

    def absorb_weighted(self, x: Floats, reward: float, explored: bool, weight: float) -> None:
        """Takes in one reward of any x that counts `weight` times in the squared error."""
        if not self.ridge.squares:
            raise InvalidSetting(f"a weight ({weight:g}) needs an estimator of least squares")
        self.absorb(x, reward, explored, weight)

    def refuse(self, reward: float) -> None:
        """Refuses a reward that the statistics could not take in; changes nothing."""
        check = getattr(self.ridge, "refuse", None)
        if check is not None:
            check(reward)

    def absorb(self, x: Floats, reward: float, explored: bool, weight: float = 1.0) -> None:
        """Takes in one reward of any x."""
        self.ridge.absorb(x, reward, weight)
        if explored and self.explored is not None:
            self.explored.absorb(x, reward, weight)

    def over(self, columns: Floats, places: Integers) -> Memory:
        """What was learnt, over other fixed arms: each at its old place, or new (-1)."""
        explored = None if self.explored is None else self.explored.over(columns)
        found = Memory(self.ridge.over(columns), explored)
        found.tally = self.tally.at(places)
        found.own_tally = None if self.own_tally is None else self.own_tally.at(places)
        found.note = self.note
        return found

    def merge(self, other: Memory, places: Integers) -> None:
        """Takes in all that another has learnt; each of its arms is at a place here, or nowhere (-1)."""
        self.ridge.add(other.ridge)
        self.tally.merge(other.tally, places)
        if self.explored is not None and other.explored is not None:
            self.explored.add(other.explored)
        if self.own_tally is not None and other.own_tally is not None:
            self.own_tally.merge(other.own_tally, places)

    def settle(self) -> None:
        """Computes all that is derived anew, so that a copy made of the truth alone is the same."""
        self.ridge.settle()
        if self.explored is not None:
            self.explored.settle()

    def arrays(self) -> dict[str, Any]:
        """All that was learnt, as arrays to be kept."""
        kept: dict[str, Any] = {"columns": self.columns}
        for name, ridge, tally in self._parts():
            if ridge is not None and tally is not None:
                parts = ridge.arrays() | {"pulls": tally.pulls, "sums": tally.sums}
                kept |= {f"{name} {part}": array for part, array in parts.items()}
        return kept

    def restore(self, arrays: dict[str, Any]) -> None:
        """Takes all that was learnt from arrays that were kept."""
        for name, ridge, tally in self._parts():
            if ridge is not None and tally is not None:
                prefix = f"{name} "
                ridge.restore(
                    {key.removeprefix(prefix): arrays[key] for key in arrays if key.startswith(prefix)}
                )
                tally.pulls[:] = arrays[f"{name} pulls"]
                tally.sums[:] = arrays[f"{name} sums"]

    def _parts(self) -> tuple[tuple[str, Statistics | None, Tally | None], ...]:
        return ("all", self.ridge, self.tally), ("explored", self.explored, self.own_tally)
