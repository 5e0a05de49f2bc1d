"""Rows of a log that a bandit learns from: no rounds, no exploration, only what was seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from infex.arrays import Bools, Floats, Integers, is_masked
from infex.bandit.arms import Changing, Fixed, Labels, Mapped, offer_of
from infex.bandit.given_columns import given_columns
from infex.bandit.labels import place_of, places_by_name
from infex.bandit.pulls import learn_pulls
from infex.bandit.reward_rule import checked_rewards
from infex.bandit.telling import checked_weights, counted_weights, learners_too
from infex.checks import whole
from infex.errors import InvalidArms, InvalidContext, InvalidReward, UnknownArm
from infex.features import Disjoint, Encoded, Encoder, Hybrid, Interactions
from infex.features.many_contexts import contexts_of, vectors_of
from infex.linear.grounds import Grounds

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit

CHUNK_LEARNT = 4096  # rows of products that are made at a time


class Told(NamedTuple):
    """Rewards of a log, how much each counts, and which were of rounds that explored; as they were given."""

    rewards: npt.ArrayLike
    weights: npt.ArrayLike | None
    explored: npt.ArrayLike | None


def learn(
    bandit: Bandit,
    contexts: object,
    arms: object,
    rewards: npt.ArrayLike,
    weights: npt.ArrayLike | None,
    explored: npt.ArrayLike | None = None,
) -> None:
    """Takes in all rows of a log, or none."""
    source = bandit._arms
    told = Told(rewards, weights, explored)
    if contexts is not None and not isinstance(source, Mapped):
        raise InvalidContext("this bandit has no feature map for contexts: give learn(arms=..., rewards=...)")
    if isinstance(source, Changing):
        rows = given_columns(arms, source.dim, source.rescale).T  # type: ignore[arg-type]
        _take(bandit, np.zeros(len(rows), dtype=np.int64), Grounds.on_rows(rows), told)
        return
    assert isinstance(source, Fixed | Mapped)
    count = source.columns.shape[1] if isinstance(source, Fixed) else source.features.count
    places = places_of_all(arms, source.labels, count)
    if isinstance(source, Fixed):
        _take(bandit, places, Grounds.on_arms(places), told)
    else:
        _take_mapped(bandit, source, contexts, places, told)


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


def _take_mapped(
    bandit: Bandit,
    source: Mapped,
    contexts: object,
    places: Integers,
    told: Told,
) -> None:
    rule = source.features
    if contexts is None:
        raise InvalidContext("this bandit joins its arms with contexts: give one for each reward")
    given, noticed = _read(source.encoder, contexts)
    if len(given) != places.size:
        raise InvalidContext(f"contexts must be as many as the arms, {places.size}, got {len(given)}")
    if isinstance(rule, Disjoint):
        grounds = Grounds.in_blocks(places, _inside(rule, given))
    elif isinstance(rule, Hybrid):
        grounds = Grounds.in_blocks(places, _hybrid_rows(rule, given, places))
    elif isinstance(rule, Interactions):
        inside = _inside(rule, given)
        rows = (rule.arms[places][:, :, None] * inside[:, None, :]).reshape(places.size, rule.dim)
        grounds = Grounds.on_rows(rows)
    else:
        grounds = Grounds.on_rows(_own_rows(source, given, places))
    _take(bandit, places, grounds, told)
    bandit._player.account.noticed.update(noticed)


def _read(encoder: Encoder | None, contexts: object) -> tuple[Sequence[object], Counter[str]]:
    """All contexts at once, as the encoder of the map reads them, and how often which rule was needed.

    A log of the bandit's own has contexts that were read already.
    """
    if encoder is None or (isinstance(contexts, list) and all(type(each) is Encoded for each in contexts)):
        return contexts_of(contexts), Counter()
    rows, noticed = encoder.encode_many(contexts)
    times = Counter({str(rule): whole(f"how often {rule!r}", n, least=0) for rule, n in noticed.items()})
    return [Encoded(row) for row in rows], +times


def _inside(rule: Disjoint | Interactions, contexts: Sequence[object]) -> Floats:
    """Contexts as the map reads them, (n, c)."""
    if rule.context is None:
        return vectors_of(contexts, rule.context_dim, rule.longest)
    return np.array([rule.within(context) for context in contexts]).reshape(len(contexts), rule.context_dim)


def _hybrid_rows(rule: Hybrid, contexts: Sequence[object], places: Integers) -> Floats:
    """The features of each arm that was played, its own and shared ones, (n, c + s)."""
    rows = np.empty((places.size, len(rule.own) + rule.shared.dim))
    for n, (context, place) in enumerate(zip(contexts, places.tolist(), strict=True)):
        own, shared = rule.within(context)
        rows[n] = np.concatenate([own, shared[place]])
    return rows


def _own_rows(source: Mapped, contexts: Sequence[object], places: Integers) -> Floats:
    """The rows that a user's map gives to the arms that were played."""
    rows = np.empty((places.size, source.dim))
    for n, (context, place) in enumerate(zip(contexts, places.tolist(), strict=True)):
        columns = offer_of(source.features, context)
        assert isinstance(columns, np.ndarray)
        rows[n] = columns[:, place]
    return rows


def _take(bandit: Bandit, places: Integers, grounds: Grounds, told: Told) -> None:
    """Learns all rows; whatever cannot be learnt is refused before anything is."""
    given = checked_rewards(bandit, told.rewards, grounds.size)
    counts = checked_weights(told.weights, grounds.size)
    tried = _checked_truths(told.explored, grounds.size)
    memory = bandit._player.memory
    if memory.searches:
        counts = counted_weights(bandit, grounds, given, counts)
    learners_too(bandit, places, grounds, given, tried)
    bandit._player.account.hear()
    memory.all.gather(grounds, given, counts)
    if memory.explored is not None and tried.any():
        mine = np.flatnonzero(tried)
        memory.explored.gather(grounds.at(mine), given[mine], counts[mine])
    learn_pulls(memory, places)


def _checked_truths(explored: npt.ArrayLike | None, count: int) -> Bools:
    """Which rows explored; none if nobody says."""
    found = np.zeros(count, dtype=bool) if explored is None else np.asarray(explored)
    if found.shape != (count,) or found.dtype != np.bool_ or is_masked(explored):
        raise InvalidReward(f"explored must be True or False for each of {count} rewards")
    return found
