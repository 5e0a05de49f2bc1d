"""What is true of a problem: the means of its arms, round by round."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, final

import numpy as np

from infex.arrays import Floats, Integers, products, shown
from infex.checks import one_of, qualified_name, safe_repr
from infex.environments.moving import Moves, Path, RandomWalk, Resting, Steps, Turning
from infex.errors import InvalidSetting
from infex.streams import stream

Link = Literal["linear", "logistic"]
MeanFunction = Callable[[Floats], Any]

LINKS = ("linear", "logistic")
TIE = 1e-12  # of 1 + the best mean: what is nearer is as good


class Stretch(NamedTuple):
    """Rounds `first` to `last`: each row of `means` holds until the round of `ends`, (rows, K).

    `columns` are the arms where they are drawn anew, (rounds, d, K), or contexts, (rounds, c), where each arm
    has a parameter of its own; there is then a row for each round.
    """

    first: int
    last: int
    ends: Integers
    means: Floats
    columns: Floats | None = None


class Unrefined:
    """What the built-in problems share: none of them can be refined by a subclass."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        if Unrefined not in cls.__bases__:
            raise TypeError(
                f"{cls.__name__} cannot refine {cls.__bases__[0].__name__}: loops would not call what it "
                "overrides; give rewards=, mean=, moves= or late=, or write an environment of your own "
                "(infex.environments)"
            )


@final
@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """Means x'theta through a link, with a theta that may move; or a function of the arms, (K, d) to (K,)."""

    theta: Floats
    link: Link = "linear"
    mean: MeanFunction | None = None
    moves: Moves | None = None

    def __post_init__(self) -> None:
        one_of("link", self.link, LINKS)
        self._refuse_mean()
        self._refuse_moves()

    def _refuse_mean(self) -> None:
        if self.mean is not None and not callable(self.mean):
            raise InvalidSetting(f"mean must be a function of the arms, got {safe_repr(self.mean)}")

    def _refuse_moves(self) -> None:
        if self.moves is not None and (isinstance(self.moves, type) or not isinstance(self.moves, Moves)):
            raise InvalidSetting(f"moves must be steps, turning or walk, got {safe_repr(self.moves)}")
        if self.mean is not None and (self.moves is not None or self.link != "linear"):
            raise InvalidSetting("a mean of your own has no link and does not move; write an environment")

    @property
    def is_plain(self) -> bool:
        """Are the means x'theta in every round?"""
        return self.link == "linear" and self.mean is None and self.moves is None

    @property
    def content(self) -> bytes:
        """What tells this truth from others, for the names of streams; none for a plain one."""
        return b"" if self.is_plain else f"{self.link} {_moves_name(self.moves)}".encode()

    def path(self, seed: int, key: int) -> Path:
        """Where the parameter goes in a run."""
        theta = np.array(self.theta)
        return Resting(theta) if self.moves is None else self.moves.path(theta, stream(seed, "moves", key))

    def means(self, arms: Floats, theta: Floats) -> Floats:
        """The means of arms, (K, d), by a theta."""
        if self.mean is None:
            return linked(products(arms, theta), self.link)
        return means_from(self.mean(arms), len(arms))

    def means_of(self, block: Floats, thetas: Floats) -> Floats:
        """The means of the arms of some rounds, (rounds, d, K), by a theta for each, (rounds, d)."""
        if self.mean is None:
            return linked(np.einsum("bd,bdk->bk", thetas, block), self.link)
        return np.array([means_from(self.mean(shown(columns.T)), columns.shape[1]) for columns in block])


def _moves_name(moves: Moves | None) -> str:
    """How a parameter moves, in words; a user's object is named by its class, whatever its `repr` says."""
    return (
        repr(moves) if isinstance(moves, Steps | Turning | RandomWalk | None) else qualified_name(type(moves))
    )


def linked(scores: Floats, link: Link) -> Floats:
    """Means from x'theta."""
    if link == "linear":
        return scores
    return np.asarray(1.0 / (1.0 + np.exp(-scores)))


def means_from(given: Any, count: int) -> Floats:
    """The means that a user's function gave for so many arms."""
    try:
        found = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidSetting(f"means must be {count} numbers, got {type(given).__name__}") from None
    if found.shape != (count,) or not np.all(np.isfinite(found)):
        raise InvalidSetting(
            f"means must be {count} finite numbers, one for each arm, got an array of shape {found.shape}"
            + ("" if np.all(np.isfinite(found)) else " with some that are not finite")
        )
    return found


def gaps_below(means: Floats) -> Floats:
    """By how much each mean falls short of the best; nothing within rounding."""
    gaps = means.max() - means
    gaps[gaps <= TIE * (1.0 + abs(means.max()))] = 0.0
    return np.asarray(gaps)
