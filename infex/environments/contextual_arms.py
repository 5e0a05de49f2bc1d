"""Problems in which a context is drawn in every round, and each arm has a parameter of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from infex.arrays import Floats, columns_of, shown
from infex.checks import qualified_name, set_fields
from infex.core.drawing import draw_arms
from infex.environments.contexts import refuse_contexts
from infex.environments.fixed_arms import BLOCK, key_of
from infex.environments.lateness import Late, checked_late
from infex.environments.offer_sets import OfferSets
from infex.environments.reward_laws import RewardLaw, Rewards, reward_law
from infex.environments.truths import Link, Stretch, Unrefined, linked
from infex.errors import InvalidArms, InvalidSetting
from infex.streams import stream

ContextDraw = Callable[[np.random.Generator], Any]


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ContextualInstance(Unrefined):
    """A context in every round, independent of the past; arm k has the mean x'theta_k in it.

    `thetas` are the parameters, (K, c), a row for each arm. Contexts are N(0, I/(2c)) cut to length 1, or
    what `contexts(rng)` gives: c numbers, no longer than 1, by `rng` alone; or those of `sets`, drawn
    uniformly: `OfferSets` of one row each, which many problems share. `rewards`, `noise`, `degrees`, `link`
    and `late` are those of `LinearInstance`. Policies learn a regression for each arm, as in a
    `Bandit` with `features.disjoint`; regret counts from the best arm of each round.

    All policies that play the same instance with the same seed meet the same contexts and noise.

    >>> instance = ContextualInstance(thetas=[[0.6, 0.0], [0.0, 0.6], [0.3, 0.3]])
    >>> [contexts.shape for t, contexts in instance.rounds(seed=1, horizon=4)]
    [(4, 2)]
    """

    thetas: Any
    contexts: ContextDraw | None = None
    sets: OfferSets | None = None
    rewards: Rewards = "sign"
    noise: float | Floats = 1.0
    degrees: float = 3.0
    link: Link = "linear"
    late: Late | int | None = None
    key: int = field(init=False, repr=False)
    law: RewardLaw = field(init=False, repr=False)

    def __post_init__(self) -> None:
        thetas = _parameters(self.thetas)
        law = reward_law(self.rewards, self.noise, self.degrees, len(thetas))
        _refuse_link(self.link)
        refuse_contexts(self.contexts)
        _check_sets(self.sets, self.contexts, thetas.shape[1])
        source = qualified_name(self.contexts)
        content = f"contextual {thetas.shape} {law.name} {law.shown} {self.link} {source}".encode()
        set_fields(
            self,
            thetas=shown(thetas),
            noise=law.noise,
            law=law,
            late=checked_late(self.late),
            key=key_of(thetas.tobytes() + content + law.content + _content(self.sets)),
        )

    mean = None  # no function of a user's says what means are
    standing = None  # no arms are known without a context
    is_plain = False

    @property
    def count(self) -> int:
        """How many arms there are."""
        return len(self.thetas)

    @property
    def context_dim(self) -> int:
        """How many features a context has."""
        return int(self.thetas.shape[1])

    @property
    def dim(self) -> int:
        """How many parameters all arms have together."""
        return int(self.thetas.size)

    @property
    def theta(self) -> Floats:
        """All parameters, one behind the other."""
        return shown(self.thetas.reshape(-1))

    @property
    def arms(self) -> int:
        """How many arms are known in every context."""
        return self.count

    def draws(self, seed: int) -> np.random.Generator:
        """The draws of rewards in rounds 1, 2, ..."""
        return stream(seed, "rewards", self.key)

    def rounds(self, seed: int, horizon: int) -> Iterator[tuple[int, Floats]]:
        """The contexts of all rounds, some at a time: the first of them, and its contexts, (rounds, c)."""
        rng = stream(seed, "contexts", self.key)
        size = max(1, min(horizon, BLOCK // (self.context_dim + self.count)))
        for t in range(1, horizon + 1, size):
            drawn = np.empty((min(size, horizon + 1 - t), self.context_dim, 1))
            if self.sets is not None:
                drawn[:, :, 0] = self.sets.rows[rng.integers(len(self.sets), size=len(drawn)), 0]
            elif self.contexts is None:
                draw_arms(drawn, 1, rng)
            else:
                for place, one in enumerate(drawn):
                    one[:] = self._drawn(t + place, rng)
            yield t, drawn.reshape(len(drawn), self.context_dim)

    def stretches(self, seed: int, horizon: int) -> Iterator[Stretch]:
        """All rounds, some at a time, with their contexts and means."""
        for first, contexts in self.rounds(seed, horizon):
            means = np.zeros((len(contexts), self.count))
            for feature, shares in zip(contexts.T, self.thetas.T, strict=True):
                means += feature[:, None] * shares  # in this order on every machine
            means = linked(means, self.link)
            self.law.refuse(means)
            last = first + len(contexts) - 1
            yield Stretch(first, last, np.arange(first, last + 1), means, contexts)

    def _drawn(self, t: int, rng: np.random.Generator) -> Floats:
        assert self.contexts is not None
        try:
            return columns_of(np.reshape(self.contexts(rng), (1, -1)), dim=self.context_dim)
        except (InvalidArms, TypeError, ValueError) as error:
            raise InvalidArms(f"the context of round {t}: {error}") from None


def _refuse_link(link: object) -> None:
    if link not in ("linear", "logistic"):
        raise InvalidSetting(f"link must be one of linear, logistic; got {link!r}")


def _check_sets(sets: OfferSets | None, contexts: ContextDraw | None, dim: int) -> None:
    if sets is None:
        return
    if contexts is not None or not isinstance(sets, OfferSets):
        raise InvalidSetting("give either contexts, or sets as OfferSets")
    if sets.rows.shape[1:] != (1, dim):
        raise InvalidSetting(
            f"sets must be contexts of {dim} features, (sets, 1, {dim}), got {sets.rows.shape}"
        )


def _content(sets: OfferSets | None) -> bytes:
    return b"" if sets is None else sets.content


def _numbers(given: object) -> Floats:
    """An array of what was given; none where it holds no numbers."""
    with contextlib.suppress(TypeError, ValueError):
        return np.array(given, dtype=np.float64)
    return np.zeros(0)


def _parameters(given: object) -> Floats:
    found = _numbers(given)
    if found.ndim != 2 or 0 in found.shape or not np.isfinite(found).all():
        raise InvalidSetting(f"thetas must be finite numbers (K, c), a row for each arm, got {found.shape}")
    return found
