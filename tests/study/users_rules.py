"""Policies of a user's own, in a module from which they can be imported."""

from dataclasses import dataclass
from typing import Any, final

import infex


@final
@dataclass(frozen=True)
class Turns:
    """Plays the arms in turn, from `first` on."""

    first: int = 0
    steps: tuple[int, ...] = (1,)

    def choose(self, t: int, posterior: Any, rng: Any) -> infex.Choice:
        return infex.Choice((self.first + t * sum(self.steps)) % len(posterior), explored=False)


@final
class Plain:
    """Keeps nothing, and plays the last arm."""

    def choose(self, t: int, posterior: Any, rng: Any) -> infex.Choice:
        return infex.Choice(len(posterior) - 1, explored=False)


@final
class Declared(infex.Policy):
    """Says that it is a policy; no test makes one before a study is opened with it."""

    def choose(self, t: int, posterior: Any, rng: Any) -> infex.Choice:
        return infex.Choice(0, explored=False)


class Unknown:
    """Does not say what it was made with."""

    def __init__(self, first: int) -> None:
        self.first = first

    def choose(self, t: int, posterior: Any, rng: Any) -> infex.Choice:
        return infex.Choice(self.first, explored=False)


@final
@dataclass(frozen=True)
class Held:
    """Holds anything, and plays the first arm."""

    anything: Any

    def choose(self, t: int, posterior: Any, rng: Any) -> infex.Choice:
        return infex.Choice(0, explored=False)


class Weights(dict[str, float]):
    """Holds what it was made with where no attribute tells of it."""

    def __init__(self, **weights: float) -> None:
        super().__init__(weights)


class Chosen(frozenset[int]):
    """The same, from before it has an `__init__`."""

    def __new__(cls, *parts: int) -> "Chosen":
        return super().__new__(cls, parts)
