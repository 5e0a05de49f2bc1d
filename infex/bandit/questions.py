"""Many questions at once: the fixed arms again and again, sets of arms, or contexts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, final

import numpy as np
import numpy.typing as npt

from infex.arrays import MOST_SQUARED, Bools, Floats, Integers, Label, labels_of
from infex.bandit.arms import NOTHING_ASKED, Asked, Changing, Fixed, Labels, Mapped
from infex.bandit.given_columns import plain_rows
from infex.bandit.row_rules import RowRules, row_rules
from infex.checks import whole
from infex.errors import InvalidArms, InvalidContext, InvalidSetting
from infex.features import ContextTable, Disjoint, EncodedMany, Interactions, Shortened
from infex.features.many_contexts import contexts_of, vectors_of
from infex.features.named_values import one_by_one
from infex.kernels.offered_arms import best_of_offers
from infex.linear.grounds import Grounds

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit

NOTHING_NOTICED: Mapping[str, int] = {}
SETS_AT_ONCE = 256  # sets of arms that a map makes at a time

ONE_WIDTH = np.array([0.0, 0.0, 1.0, 0.0, 1.0, 1.0])  # a radius of 1, as `interval_radius` reads it
MOST_AT_ONCE = 2**31  # decisions


class Greedily(NamedTuple):
    """The greedy arm of every question, its estimate and width, and what its reward is learnt on."""

    arms: Integers
    means: Floats
    widths: Floats
    grounds: Grounds

    @staticmethod
    def joined(parts: Sequence[Greedily]) -> Greedily:
        """Several, one after the other."""
        arms = np.concatenate([part.arms for part in parts])
        means = np.concatenate([part.means for part in parts])
        widths = np.concatenate([part.widths for part in parts])
        return Greedily(arms, means, widths, Grounds.joined([part.grounds for part in parts]))


class Questions(Protocol):
    """So many questions, each as `ask` takes it."""

    def __len__(self) -> int:
        """How many."""

    def asked(self, place: int) -> Asked:
        """One of them."""

    def labels(self, place: int) -> Labels:
        """The labels of its arms."""

    def one_labels(self) -> Labels:
        """Those of the arms of all questions, if they are the same."""

    @property
    def noticed(self) -> Mapping[str, int]:
        """How often each rule was needed to read the contexts of all of them, if they were read at once."""

    def greedily(self, bandit: Bandit) -> Greedily | None:
        """The greedy answers to all of them; None where each must be found by itself."""


@final
class SameArms:
    """The fixed arms, so many times."""

    __slots__ = ("_asked", "_count", "_labels", "_rules")

    def __init__(self, count: int, labels: Labels, rules: RowRules) -> None:
        self._count, self._labels, self._rules = count, labels, rules
        self._asked = NOTHING_ASKED if rules.allowed is None else Asked(allowed=rules.allowed)

    def __len__(self) -> int:
        return self._count

    def asked(self, place: int) -> Asked:
        return Asked(None, None, None, *self._rules.at(place)) if self._rules.differ else self._asked

    def labels(self, place: int) -> Labels:
        return self._labels

    def one_labels(self) -> Labels:
        return self._labels

    @property
    def noticed(self) -> Mapping[str, int]:
        return NOTHING_NOTICED

    def greedily(self, bandit: Bandit) -> Greedily | None:
        """One answer to all of them, or one for each offer."""
        evidence, masks = bandit._player.evidence(), self._rules.masks
        arms = np.full(self._count, evidence.greedy)
        if evidence.greedy < 0 or (len(masks) and not best_of_offers(evidence.estimates, masks, arms)):
            return None
        played, which = np.unique(arms, return_inverse=True) if len(masks) else (arms[:1], 0 * arms)
        widths = np.array([evidence.width(arm) for arm in played.tolist()])[which]
        return Greedily(arms, evidence.estimates[arms], widths, Grounds.on_arms(arms))


@final
class ArmSets:
    """A set of arms for each question."""

    __slots__ = ("_labels", "_rules", "_sets")

    def __init__(
        self, sets: Sequence[Any] | Floats, labels: Sequence[Labels] | None, rules: RowRules
    ) -> None:
        self._sets, self._labels, self._rules = sets, labels, rules

    def __len__(self) -> int:
        return len(self._sets)

    def asked(self, place: int) -> Asked:
        return Asked(self._sets[place], self.labels(place), None, *self._rules.at(place))

    def labels(self, place: int) -> Labels:
        return None if self._labels is None else self._labels[place]

    def one_labels(self) -> Labels:
        return None

    @property
    def noticed(self) -> Mapping[str, int]:
        return NOTHING_NOTICED

    def greedily(self, bandit: Bandit) -> Greedily | None:
        if self._rules.offered is not None:
            return None  # each set has an offer of its own
        dim = bandit._arms.dim
        rows = [plain_rows(arms, dim) for arms in self._sets]
        checked = [each for each in rows if each is not None]
        if len(checked) == len(rows) and (found := among(bandit, checked, MOST_SQUARED)) is not None:
            return found
        offers = (bandit._arms.offer(self.asked(place)).columns for place in range(len(self)))
        return among(bandit, [columns.T for columns in offers if isinstance(columns, np.ndarray)], math.inf)


@final
class InContexts:
    """A context for each question."""

    __slots__ = ("_contexts", "_inside", "_labels", "_rules")

    def __init__(
        self, contexts: Sequence[object], inside: EncodedMany | None, labels: Labels, rules: RowRules
    ) -> None:
        self._contexts, self._inside, self._labels, self._rules = contexts, inside, labels, rules

    @property
    def noticed(self) -> Mapping[str, int]:
        return NOTHING_NOTICED if self._inside is None else self._inside.noticed

    @property
    def plain_rows(self) -> Floats | None:
        """All contexts, (n, c), where they were read at once and nothing more is said of the questions."""
        plain = self._inside is not None and self._rules.allowed is None and not self._rules.differ
        return self._inside.rows if plain and self._inside is not None else None

    def __len__(self) -> int:
        return len(self._contexts)

    def asked(self, place: int) -> Asked:
        return Asked(None, None, self._contexts[place], *self._rules.at(place))

    def labels(self, place: int) -> Labels:
        return self._labels

    def one_labels(self) -> Labels:
        return self._labels

    def greedily(self, bandit: Bandit) -> Greedily | None:
        features, ridge = bandit.features, bandit._player.memory.all
        inside = None if self._inside is None else self._inside.rows
        if isinstance(features, Interactions) and inside is not None:
            return within_products(ridge, features, inside, self._rules.masks)
        if inside is None and isinstance(bandit._arms, Mapped) and bandit._arms.encoder is not None:
            return None  # a user's encoder reads one by one
        if not isinstance(bandit._arms.layout, np.ndarray):
            return None
        chunks = [
            range(first, min(first + SETS_AT_ONCE, len(self))) for first in range(0, len(self), SETS_AT_ONCE)
        ]
        parts = [among(bandit, [self._rows(bandit, place) for place in chunk], math.inf) for chunk in chunks]
        whole_parts = [part for part in parts if part is not None]
        return self._placed(Greedily.joined(whole_parts)) if len(whole_parts) == len(parts) else None

    def _rows(self, bandit: Bandit, place: int) -> Floats:
        columns = bandit._arms.offer(self.asked(place)).columns
        assert isinstance(columns, np.ndarray)
        masks = self._rules.masks
        return columns.T[masks[place]] if len(masks) else columns.T

    def _placed(self, found: Greedily) -> Greedily:
        """The same, with the index of each arm among all in the place of that among those on offer."""
        masks = self._rules.masks
        if not len(masks):
            return found
        places = [np.flatnonzero(mask)[arm] for mask, arm in zip(masks, found.arms, strict=True)]
        return found._replace(arms=np.array(places, dtype=np.int64))


def among(bandit: Bandit, sets: Sequence[Floats], most: float) -> Greedily | None:
    """The greedy answers among several sets of arms, (K, d) each; None if one is refused, or by no ridge."""
    return None


def within_products(ridge: object, features: Interactions, inside: Floats, masks: Bools) -> Greedily | None:
    """The greedy answers in contexts, (n, c), where features of arms and contexts are multiplied."""
    return None


def questions_of(
    bandit: Bandit,
    asked: object,
    labels: Iterable[Iterable[Label] | None] | None,
    allowed: npt.ArrayLike | None,
    offered: object,
    explore: object,
) -> Questions:
    """What was asked, if it can be: all of it is looked at before anything is decided."""
    arms = bandit._arms
    if isinstance(arms, Changing):
        sets, names = _sets(asked, labels)
        return ArmSets(sets, names, row_rules(allowed, offered, explore, len(sets)))
    if labels is not None:
        raise InvalidArms("labels go with sets of arms; those of this bandit are known")
    if isinstance(arms, Fixed):
        count = _count(asked)
        rules = row_rules(allowed, offered, explore, count, arms.columns.shape[1], arms.labels)
        return SameArms(count, arms.labels, rules)
    assert isinstance(arms, Mapped)
    contexts = contexts_of(asked if arms.encoder is None else one_by_one(asked))
    rules = row_rules(allowed, offered, explore, len(contexts), arms.features.count, arms.labels)
    return InContexts(contexts, _inside(arms, contexts), arms.labels, rules)


def _inside(arms: Mapped, contexts: Sequence[object]) -> EncodedMany | None:
    """All contexts as rows of features, (n, c); None where each must be read by itself."""
    features = arms.features
    if isinstance(arms.encoder, ContextTable | Shortened):
        try:
            return arms.encoder.encode_many(contexts)
        except InvalidContext:
            return None  # of which the row is named when its turn comes
    if isinstance(features, Interactions | Disjoint) and features.context is None:
        return EncodedMany(vectors_of(contexts, features.context_dim, features.longest), {})
    return None


def _count(asked: object) -> int:
    """How many decisions are asked for; what is no number may be somebody's context."""
    if isinstance(asked, bool | np.bool_) or not isinstance(asked, int | np.integer):
        raise InvalidSetting(
            f"the arms of this bandit are fixed: ask for a number of decisions, got a {type(asked).__name__}"
        )
    count = whole("the number of decisions", asked, least=0)
    if count > MOST_AT_ONCE:
        raise InvalidSetting(f"the number of decisions must be at most {MOST_AT_ONCE}, got more")
    return count


def _sets(
    asked: object, labels: Iterable[Iterable[Label] | None] | None
) -> tuple[Sequence[Any] | Floats, list[Labels] | None]:
    """Sets of arms, and their labels, if there are any."""
    if isinstance(asked, str) or not isinstance(asked, Sequence | np.ndarray):
        raise InvalidArms(
            f"the arms of this bandit change every round: give a list of (K, d) arrays, got a "
            f"{type(asked).__name__}"
        )
    if isinstance(asked, np.ndarray) and asked.ndim != 3:
        raise InvalidArms(f"sets of arms must have the shape (n, K, d), got {asked.shape}")
    if labels is None:
        return asked, None
    names = list(labels)
    if len(names) != len(asked):
        raise InvalidArms(
            f"labels must be as many lists as there are sets of arms, {len(asked)}, got {len(names)}"
        )
    checked = [labels_of(each, len(np.asarray(arms))) for each, arms in zip(names, asked, strict=True)]
    return asked, checked
