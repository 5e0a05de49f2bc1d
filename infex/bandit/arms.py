"""What a request asks for, and where its arms come from: fixed, given, or joined with a context."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, final

import numpy as np
import numpy.typing as npt

from infex.arrays import Bools, Floats, Integers, Label, brief, columns_of, is_masked, labels_of, shown
from infex.checks import whole
from infex.errors import DamagedFile, InvalidArms, InvalidContext, InvalidSetting, UnknownArm
from infex.features import Disjoint, Encoded, FeatureMap, Hybrid, Interactions, Joined
from infex.features.base import MutableArms, check_context_alone, encoder_of, remaining, unit_of
from infex.features.vectors import context_sequence, table_rows, vectors_of
from infex.models.layout import GONE, ContextOffer, DesignRows, Layout, Offer, PerArm

Labels = tuple[Label, ...] | None
Removal = tuple[int, tuple[int, ...]]
MOST_AT_ONCE = 2**31  # decisions


class Request(NamedTuple):
    """What a user gave to `ask`."""

    arms: npt.ArrayLike | None = None
    labels: Iterable[Label] | None = None
    context: object = None
    allowed: npt.ArrayLike | None = None
    offered: object = None
    explore: object = True


NOTHING_ASKED = Request()


class Offered(NamedTuple):
    """The arms of one round, None if they are the fixed ones; labels; which of them exploring may try."""

    columns: Offer | None
    labels: Labels
    allowed: Bools | None


class Arms(Protocol):
    """Where arms come from."""

    labels: Labels
    allowed: Bools | None
    rescale: bool

    @property
    def dim(self) -> int:
        """How many features an arm has."""

    @property
    def layout(self) -> Layout:
        """What statistics are kept of: fixed arms, of which there may be none, or a regression for each."""

    @property
    def unit(self) -> float:
        """By what features are divided, as a map does; 1 for arms that are given as they are."""

    def read(self, request: Request) -> Request:
        """The request with its context encoded, if the map has an encoder."""

    def offer(self, request: Request) -> Offered:
        """The arms of a round; refuses what does not fit."""

    def requests(
        self, asked: object, labels: Iterable[Iterable[Label] | None] | None, rules: BatchRules
    ) -> list[Request]:
        """What `ask_many` was given, one request for each decision; refuses what does not fit."""

    def logged(self, arms: object, contexts: object) -> Logged:
        """What the rewards of a log are learnt on; refuses what does not fit."""

    def allow(self, allowed: npt.ArrayLike | None) -> None:
        """Says for every arm whether exploring may try it; None is all of them."""


class Logged(NamedTuple):
    """Rows of a log: the place of each arm, what its reward is learnt on, and rules that contexts took."""

    places: Integers
    design: DesignRows
    noticed: Counter[str]


class BatchRules(NamedTuple):
    """The rules of `ask_many` as they were given: `allowed` for all requests, the others for each, or all."""

    allowed: npt.ArrayLike | None
    offered: object
    explore: object

    def each(self, count: int) -> list[tuple[npt.ArrayLike | None, object, object]]:
        """Those of so many requests, one by one."""
        offered = _offers(self.offered, count)
        explore = _permissions(self.explore, count)
        return [(self.allowed, offered[place], explore[place]) for place in range(count)]


@final
class Fixed:
    """The same arms in every round."""

    __slots__ = ("_plain", "allowed", "columns", "labels", "rescale")

    unit = 1.0

    def __init__(self, columns: Floats, labels: Labels, rescale: bool) -> None:
        self.columns, self.labels, self.rescale = columns, labels_of(labels, columns.shape[1]), rescale
        self.allow(None)

    def __str__(self) -> str:
        return f"{self.columns.shape[1]} arms"

    @property
    def dim(self) -> int:
        return int(self.columns.shape[0])

    @property
    def layout(self) -> Layout:
        return self.columns

    def read(self, request: Request) -> Request:
        return request

    def offer(self, request: Request) -> Offered:
        if request is NOTHING_ASKED:
            return self._plain
        if request.arms is not None or request.labels is not None:
            raise InvalidArms("the arms are fixed: for arms that change, begin with `dim` in place of `arms`")
        if request.context is not None:
            raise InvalidContext("there is no feature map for a context: begin with `features`")
        return Offered(None, self.labels, _both(self.allowed, request.allowed, self.columns.shape[1]))

    def requests(
        self, asked: object, labels: Iterable[Iterable[Label] | None] | None, rules: BatchRules
    ) -> list[Request]:
        _refuse_labels(labels)
        if isinstance(asked, bool | np.bool_) or not isinstance(asked, int | np.integer):
            raise InvalidSetting(
                "the arms of this bandit are fixed: ask for a number of decisions, got a "
                f"{type(asked).__name__}"
            )
        count = whole("the number of decisions", asked, least=0)
        if count > MOST_AT_ONCE:
            raise InvalidSetting(f"the number of decisions must be at most {MOST_AT_ONCE}, got more")
        if rules.allowed is None and rules.offered is None and rules.explore is True:
            return [NOTHING_ASKED] * count
        return [Request(None, None, None, *rule) for rule in rules.each(count)]

    def logged(self, arms: object, contexts: object) -> Logged:
        _refuse_contexts(contexts)
        places = places_of_all(arms, self.labels, self.columns.shape[1])
        return Logged(places, DesignRows.on_arms(places), Counter())

    def allow(self, allowed: npt.ArrayLike | None) -> None:
        self.allowed = None if allowed is None else mask_of(allowed, self.columns.shape[1])
        self._plain = Offered(None, self.labels, self.allowed)

    def added(self, arms: npt.ArrayLike, labels: Iterable[Label] | None) -> tuple[Fixed, Integers]:
        """With new arms behind the others; and the old place of each, -1 for a new one."""
        columns = columns_of(arms, dim=self.dim, rescale=self.rescale)
        names = labels_of(labels, columns.shape[1])
        if (names is None) != (self.labels is None):
            have = "have none" if self.labels is None else f"have {self.labels[:5]}..."
            raise InvalidArms(f"either all arms have labels or none; those there are {have}")
        before, new = self.columns.shape[1], columns.shape[1]
        both_names = None if names is None else (*(self.labels or ()), *names)
        found = Fixed(np.hstack([self.columns, columns]), both_names, self.rescale)
        if self.allowed is not None:
            found.allow(np.concatenate([self.allowed, np.ones(new, dtype=bool)]))
        return found, np.concatenate([np.arange(before), np.full(new, GONE)])

    def removed(self, which: object) -> tuple[Fixed, Integers]:
        """Without some arms, named by label where arms have labels; and the old places of the rest."""
        _, stay = _split(which, self.labels, self.columns.shape[1])
        names = None if self.labels is None else tuple(self.labels[place] for place in stay)
        found = Fixed(np.ascontiguousarray(self.columns[:, stay]), names, self.rescale)
        found.allow(None if self.allowed is None else self.allowed[stay])
        return found, stay


@final
class Changing:
    """Arms that are given with every request."""

    __slots__ = ("_dim", "rescale")

    labels: Labels = None
    allowed: Bools | None = None
    unit = 1.0

    def __init__(self, dim: int, rescale: bool) -> None:
        self._dim, self.rescale = whole("dim", dim, least=1), rescale

    def __str__(self) -> str:
        return "changing arms"

    @property
    def dim(self) -> int:
        return self._dim

    @property
    def layout(self) -> Layout:
        return np.empty((self.dim, 0))

    def read(self, request: Request) -> Request:
        return request

    def offer(self, request: Request) -> Offered:
        if request.context is not None:
            raise InvalidContext("there is no feature map for a context: begin with `features`")
        if request.arms is None:
            raise InvalidArms("the arms change every round: give `arms`")
        columns = columns_of(request.arms, dim=self.dim, rescale=self.rescale)
        labels = labels_of(request.labels, columns.shape[1])
        return Offered(columns, labels, _both(None, request.allowed, columns.shape[1]))

    def requests(
        self, asked: object, labels: Iterable[Iterable[Label] | None] | None, rules: BatchRules
    ) -> list[Request]:
        if isinstance(asked, str) or not isinstance(asked, Sequence | np.ndarray):
            raise InvalidArms(
                "the arms of this bandit change every round: give a list of (K, d) arrays, got a "
                f"{type(asked).__name__}"
            )
        if isinstance(asked, np.ndarray) and asked.ndim != 3:
            raise InvalidArms(f"sets of arms must have the shape (n, K, d), got {asked.shape}")
        names: list[Any] = [None] * len(asked) if labels is None else list(labels)
        if len(names) != len(asked):
            raise InvalidArms(
                f"labels must be as many lists as there are sets of arms, {len(asked)}, got {len(names)}"
            )
        rows = zip(asked, names, rules.each(len(asked)), strict=True)
        return [Request(arms, names, None, *rule) for arms, names, rule in rows]

    def logged(self, arms: object, contexts: object) -> Logged:
        _refuse_contexts(contexts)
        rows = columns_of(arms, dim=self.dim, rescale=self.rescale).T  # type: ignore[arg-type]
        return Logged(np.zeros(len(rows), dtype=np.int64), DesignRows.on_rows(rows), Counter())

    def allow(self, allowed: npt.ArrayLike | None) -> None:
        if allowed is not None:
            raise InvalidArms(
                "what is allowed of arms that change goes with them: give `arms` and `allowed` together"
            )


@final
class Mapped:
    """Arms that a feature map joins with a context.

    Maps of infex's own give rows that need no second look. `removals` are those that a pending decision is
    older than: the round after which arms went, and the places they had, in their order.
    """

    __slots__ = ("allowed", "encoder", "features", "labels", "layout", "removals", "rescale")

    def __init__(self, features: FeatureMap, rescale: bool) -> None:
        self.features, self.rescale = features, rescale
        self.encoder = encoder_of(features)
        self.labels: Labels = labels_of(features.labels, features.count)
        self.layout = layout_of(features)
        self.allowed: Bools | None = None
        self.removals: tuple[Removal, ...] = ()

    def __str__(self) -> str:
        return f"{self.features.count} arms in a context"

    @property
    def dim(self) -> int:
        return self.features.dim

    @property
    def unit(self) -> float:
        return unit_of(self.features)

    def read(self, request: Request) -> Request:
        context = request.context
        if context is None and request.arms is not None:
            context = request.arms  # all that is given to a bandit with a map is its context
            request = request._replace(arms=None, context=context)
        if self.encoder is None or context is None or type(context) is Encoded:
            return request
        return request._replace(context=self.encoder.encode(context))

    def offer(self, request: Request) -> Offered:
        check_context_alone(request.context, request.arms, request.labels)
        offer = self.joined(request.context)
        return Offered(offer, self.labels, _both(self.allowed, request.allowed, self.features.count))

    def joined(self, context: object) -> Offer:
        """The arms in a context."""
        features = self.features
        if isinstance(features, Disjoint):
            return ContextOffer(features.within(context))
        if isinstance(features, Hybrid):
            return ContextOffer(*features.within(context))
        if isinstance(features, Interactions | Joined):
            return np.ascontiguousarray(features(context).T)
        columns = columns_of(features(context), dim=features.dim)
        if columns.shape[1] != features.count:
            raise InvalidContext(
                f"the feature map has {features.count} arms, and gave {columns.shape[1]} rows"
            )
        return columns

    def requests(
        self, asked: object, labels: Iterable[Iterable[Label] | None] | None, rules: BatchRules
    ) -> list[Request]:
        _refuse_labels(labels)
        contexts = context_sequence(asked if self.encoder is None else table_rows(asked))
        rows = zip(contexts, rules.each(len(contexts)), strict=True)
        return [Request(None, None, context, *rule) for context, rule in rows]

    def logged(self, arms: object, contexts: object) -> Logged:
        features = self.features
        places = places_of_all(arms, self.labels, features.count)
        if contexts is None:
            raise InvalidContext("this bandit joins its arms with contexts: give one for each reward")
        given, noticed = self._read_all(contexts)
        if len(given) != places.size:
            raise InvalidContext(f"contexts must be as many as the arms, {places.size}, got {len(given)}")
        if isinstance(features, Disjoint):
            return Logged(places, DesignRows.on_arm_rows(places, _vectors(features, given)), noticed)
        if isinstance(features, Interactions):
            inside = _vectors(features, given)
            products = features.arms[places][:, :, None] * inside[:, None, :]
            return Logged(places, DesignRows.on_rows(products.reshape(places.size, features.dim)), noticed)
        size = self.layout.row if isinstance(self.layout, PerArm) else self.dim
        rows = np.empty((places.size, size))
        for n, (context, place) in enumerate(zip(given, places.tolist(), strict=True)):
            offer = self.joined(context)
            rows[n] = offer.row(place) if isinstance(offer, ContextOffer) else offer[:, place]
        apart = isinstance(self.layout, PerArm)
        return Logged(
            places, DesignRows.on_arm_rows(places, rows) if apart else DesignRows.on_rows(rows), noticed
        )

    def _read_all(self, contexts: object) -> tuple[Sequence[object], Counter[str]]:
        """All contexts at once, encoded, and how often which rule was needed.

        A log of the bandit's own has contexts that were encoded already.
        """
        is_read = isinstance(contexts, list) and all(type(each) is Encoded for each in contexts)
        if self.encoder is None or is_read:
            return context_sequence(contexts), Counter()
        rows, noticed = self.encoder.encode_many(contexts)
        times = Counter({str(rule): whole(f"how often {rule!r}", n, least=0) for rule, n in noticed.items()})
        return [Encoded(row) for row in rows], +times

    def allow(self, allowed: npt.ArrayLike | None) -> None:
        self.allowed = None if allowed is None else mask_of(allowed, self.features.count)

    def added(self, arms: object, labels: Iterable[Label] | None) -> tuple[Mapped, Integers]:
        """With new arms behind the others; and the old place of each, -1 for a new one."""
        before = self.features.count
        found = Mapped(self._mutable().with_arms(arms, labels), self.rescale)
        new = found.features.count - before
        if new == 0:
            raise InvalidArms("there must be at least one arm to add, got none")
        found.removals = self.removals
        if self.allowed is not None:
            found.allow(np.concatenate([self.allowed, np.ones(new, dtype=bool)]))
        return found, np.concatenate([np.arange(before), np.full(new, GONE)])

    def removed(self, which: object) -> tuple[Mapped, Integers]:
        """Without some arms, named by label where arms have labels; and the old places of the rest."""
        gone, stay = _split(which, self.labels, self.features.count)
        found = Mapped(self._mutable().without(gone), self.rescale)
        found.allow(None if self.allowed is None else self.allowed[stay])
        found.removals = self.removals
        return found, stay

    def add_removal(self, t: int, stay: Integers, count: int, oldest: int | None) -> None:
        """After round t those at `stay` were left of so many arms: kept while a decision is pending since."""
        if oldest is None:
            self.removals = ()
            return
        gone = tuple(np.setdiff1d(np.arange(count), stay).tolist())
        self.removals = (*(each for each in self.removals if each[0] >= oldest), (t, gone))

    def place_now(self, t: int, arm: int, label: Label | None) -> int | None:
        """The present place of the arm that a decision of round t played; None of one that is gone."""
        place, labels = arm, self.labels
        for removed_at, gone in self.removals:
            if t <= removed_at:
                if place in gone:
                    return None
                place -= sum(each < place for each in gone)
        if place < self.features.count and (labels is None or labels[place] == label):
            return place
        return labels.index(label) if labels is not None and label in labels else None

    def restore_removals(self, kept: Any) -> None:
        """Takes the removals of a file."""
        name = "a round or place of arms that were removed"
        self.removals = tuple(
            (
                whole(name, t, least=0, error=DamagedFile),
                tuple(whole(name, place, least=0, error=DamagedFile) for place in gone),
            )
            for t, gone in kept
        )
        if any(list(gone) != sorted(set(gone)) for _, gone in self.removals):
            raise DamagedFile("the places of arms that were removed are in no order")

    def _mutable(self) -> MutableArms:
        if not isinstance(self.features, MutableArms):
            raise InvalidArms("arms of a map of your own come and go only if it has with_arms and without")
        return self.features


def _vectors(features: Disjoint | Interactions, contexts: Sequence[object]) -> Floats:
    """Contexts as a map reads them, (n, c)."""
    if features.context is None:
        return vectors_of(contexts, features.context_dim, features.longest).rows
    rows = [features.within(context) for context in contexts]
    return np.array(rows).reshape(len(contexts), features.context_dim)


def layout_of(features: FeatureMap) -> Layout:
    """What statistics are kept of, with a map."""
    if isinstance(features, Disjoint):
        return PerArm(features.count, features.context_dim)
    if isinstance(features, Hybrid):
        return PerArm(features.count, len(features.own), features.shared.dim)
    return np.empty((features.dim, 0))


def arms_of(
    arms: npt.ArrayLike | None,
    dim: int | None,
    features: FeatureMap | None,
    labels: Iterable[Label] | None,
    rescale: bool,
) -> Fixed | Changing | Mapped:
    """Where the arms of a new bandit come from."""
    if [arms is None, dim is None, features is None].count(False) != 1:
        raise InvalidSetting(
            "give either the arms or, if they change every round, their dim, or features for contexts"
        )
    if not isinstance(rescale, bool):
        raise InvalidSetting(f"rescale must be True or False, got {rescale!r}")
    if features is not None:
        if labels is not None:
            raise InvalidArms("the labels of arms in a feature map go with it")
        return Mapped(features, rescale)
    if dim is not None:
        if labels is not None:
            raise InvalidArms(
                "labels of arms that change every round go with them: give `arms` and `labels` together"
            )
        return Changing(dim, rescale)
    assert arms is not None
    columns = columns_of(arms, rescale=rescale)
    return Fixed(columns, labels if labels is None or isinstance(labels, str) else tuple(labels), rescale)  # type: ignore[arg-type]


def mask_of(allowed: npt.ArrayLike, count: int) -> Bools:
    """One True or False for each of so many arms."""
    must = f"allowed must be true or false for each of {count} arms"
    try:
        mask = np.array(allowed)
    except ValueError:
        raise InvalidArms(f"{must}, got {brief(allowed)}") from None
    if mask.dtype != np.bool_ or mask.shape != (count,) or is_masked(allowed):
        raise InvalidArms(f"{must}, got {brief(mask.tolist())}")
    return shown(mask)


def _both(always: Bools | None, now: npt.ArrayLike | None, count: int) -> Bools | None:
    """The arms that a bandit allows always and that are allowed in this round."""
    if now is None:
        return always
    mask = mask_of(now, count)
    return mask if always is None else shown(mask & always)


def may_explore(explore: object, name: str = "explore") -> bool:
    """True or False, as Python or NumPy has it."""
    if not isinstance(explore, bool | np.bool_):
        raise InvalidSetting(f"{name} must be True or False, got {explore!r}")
    return bool(explore)


def offered_mask(offered: object, labels: Labels, count: int) -> Bools | None:
    """Which of so many arms are on offer, (K,); None if all are.

    They are named by label where arms have labels, else by index, each once; or there is a truth for each.
    """
    if offered is None:
        return None
    if type(offered) is np.ndarray and offered.dtype == np.bool_ and offered.ndim == 1:
        mask = _truths(offered, count)
    else:
        mask = _named_mask(_listed(offered), labels, count)
    return None if mask.all() else shown(mask)


def _named_mask(names: list[object], labels: Labels, count: int) -> Bools:
    if not names:
        raise InvalidArms("at least one arm must be on offer, got none")
    if {type(name) for name in names} <= {bool, np.bool_}:
        return _truths(names, count)
    places, mask = places_by_name(labels, count), np.zeros(count, dtype=bool)
    for name in names:
        place = place_of(name, places, labels is not None)
        if mask[place]:
            raise InvalidArms(f"an arm may be offered once, got {name!r} twice")
        mask[place] = True
    return mask


def _truths(names: Sequence[object] | Bools, count: int) -> Bools:
    if len(names) != count:
        raise InvalidArms(f"offered must be True or False for each of {count} arms, got {len(names)}")
    mask = np.array(names, dtype=bool)
    if not mask.any():
        raise InvalidArms("at least one arm must be on offer, got none")
    return mask


def _listed(offered: object) -> list[object]:
    """What was given as a list; a text is one label, and no list of letters."""
    if isinstance(offered, str) or not isinstance(offered, Iterable):
        return [offered]
    return offered.tolist() if isinstance(offered, np.ndarray) else list(offered)


def _offers(offered: object, count: int) -> Sequence[object]:
    """What each of so many requests offers: a list of lists, or of masks; or one list, or mask, for all."""
    if type(offered) is np.ndarray and offered.dtype == np.bool_ and offered.ndim == 2:
        rows: Sequence[object] = list(offered)
    else:
        rows = [] if offered is None else _listed(offered)
    if offered is None or not count:
        return [None] * count
    if not rows:
        raise InvalidArms("at least one arm must be on offer in each request, got none")
    if not all(row is None or (isinstance(row, Iterable) and not isinstance(row, str)) for row in rows):
        return [rows] * count
    if len(rows) != count:
        raise InvalidArms(f"offered must have as many lists as there are requests, {count}, got {len(rows)}")
    return rows


def _permissions(explore: object, count: int) -> Sequence[bool]:
    """Whether each of so many requests may explore."""
    if isinstance(explore, bool | np.bool_):
        return [bool(explore)] * count
    if isinstance(explore, str) or not isinstance(explore, Iterable):
        raise InvalidSetting(f"explore must be True or False, or a list of them, got {explore!r}")
    truths = [may_explore(each, f"explore[{place}]") for place, each in enumerate(explore)]
    if len(truths) != count:
        raise InvalidSetting(f"explore must have a truth for each of {count} requests, got {len(truths)}")
    return truths


def _refuse_contexts(contexts: object) -> None:
    if contexts is not None:
        raise InvalidContext("this bandit has no feature map for contexts: give learn(arms=..., rewards=...)")


def _refuse_labels(labels: object) -> None:
    if labels is not None:
        raise InvalidArms("labels go with sets of arms; those of this bandit are known")


@functools.lru_cache(maxsize=4)  # requests name the same arms again and again
def places_by_name(labels: Labels, count: int) -> Mapping[Label, int]:
    """Where each arm is: by its label where arms have labels, else by its index."""
    return {label: place for place, label in enumerate(labels or range(count))}


def place_of(name: object, places: Mapping[Label, int], labelled: bool) -> int:
    """The index of the arm that is named, among those that are known."""
    by = "labels" if labelled else "indices"
    if isinstance(name, str):
        key: Label = str(name)
    elif isinstance(name, bool | np.bool_) or not isinstance(name, int | np.integer):  # or somebody's context
        raise UnknownArm(f"arms go by their {by}, got a {type(name).__name__}")
    else:
        key = int(name)
    if key not in places:
        raise UnknownArm(f"no arm is called {key!r}; arms go by their {by}")
    return places[key]


def places_of_all(arms: object, labels: Labels, count: int) -> Integers:
    """The index of each arm of a log: by label where arms have labels, else by index."""
    if isinstance(arms, str) or not isinstance(arms, Iterable):
        raise InvalidArms(f"arms must be a list with one for each reward, got a {type(arms).__name__}")
    if labels is None and isinstance(arms, np.ndarray) and arms.dtype.kind in "iu":
        places = arms.astype(np.int64).reshape(-1)
    else:
        known, labelled = places_by_name(labels, count), labels is not None
        places = np.array([place_of(arm, known, labelled) for arm in arms], dtype=np.int64)
    beyond = (places < 0) | (places >= count)
    if beyond.any():
        raise UnknownArm(f"no arm has the index {places[beyond][0]}; there are {count}")
    return places


def _split(which: object, labels: Labels, count: int) -> tuple[set[int], Integers]:
    """The places of the arms that are named, and of those that stay, at least one."""
    places = places_by_name(labels, count)
    gone = {place_of(name, places, labels is not None) for name in _listed(which)}
    if len(gone) == count:
        raise InvalidArms(f"at least one arm must stay; asked to remove all {len(gone)}")
    return gone, np.array(remaining(count, gone))
