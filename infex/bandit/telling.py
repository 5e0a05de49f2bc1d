"""Many rewards at once: all of them, or none if one cannot be told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from infex.arrays import Bools, Floats, Integers
from infex.bandit.deciding import pending_of
from infex.bandit.decision import Decision
from infex.bandit.decisions import Decisions
from infex.bandit.foreseeing import wait_no_more
from infex.bandit.pending_block import Block, Pending
from infex.bandit.pulls import count_pull, count_pulls
from infex.bandit.recording import told_frame
from infex.bandit.remembering import learn_and_remember
from infex.bandit.reward_rule import checked_rewards, listed
from infex.checks import HEAVIEST_WEIGHT, real
from infex.errors import DuplicateId, InvalidReward
from infex.linear.grounds import Grounds

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit
    from infex.bandit.recording import Notebook

Which = Decisions | Iterable[Decision | str | int]


class Meant(NamedTuple):
    """Pending decisions that are meant: their arms, which explored, what they are learnt on.

    `block` and `places` say where they stand, if in one block; else `pending` are they one by one.
    """

    arms: Integers
    explored: Bools
    grounds: Grounds
    pending: list[Pending]
    block: Block | None = None
    places: Integers = np.zeros(0, dtype=np.int64)


def tell_many(bandit: Bandit, which: Which, rewards: npt.ArrayLike, weights: npt.ArrayLike | None) -> None:
    """Learns all rewards in their order."""
    meant = _meant(bandit, which)
    told = checked_rewards(bandit, rewards, meant.arms.size)
    counts = checked_weights(weights, told.size)
    if bandit._notebook is not None and bandit._remembered is None:
        _note(bandit, bandit._notebook, meant, told, counts)
    if bandit._remembered is not None:
        _tell_and_remember(bandit, meant, told, counts)
        return
    learn_in_order(bandit, meant.arms, meant.grounds, told, meant.explored, counts)
    for decision, on in meant.pending:
        count_pull(bandit, decision)
        wait_no_more(bandit, decision, on)
    if meant.block is not None:
        _wait_no_more(bandit, meant.block, meant.places, meant.grounds)


def _note(bandit: Bandit, notebook: Notebook, meant: Meant, rewards: Floats, weights: Floats) -> None:
    """Writes all rewards to the log, if all can be learnt."""
    counted_weights(bandit, meant.grounds, rewards, weights)  # which refuses those that cannot
    blocks = () if meant.block is None else meant.block.decisions.at(meant.places)
    decisions = [decision for decision, _ in meant.pending] or list(blocks)
    told = zip(decisions, rewards.tolist(), weights.tolist(), strict=True)
    notebook.write(told_frame(*each) for each in told)


def _tell_and_remember(bandit: Bandit, meant: Meant, rewards: Floats, weights: Floats) -> None:
    """The same one by one, so that each is remembered; what cannot be learnt is refused before any is."""
    counted_weights(bandit, meant.grounds, rewards, weights)
    pending = meant.pending
    if meant.block is not None:
        found = meant.block.decisions.at(meant.places)
        pending = [(decision, meant.grounds.on(at)) for at, decision in enumerate(found)]
    for (decision, on), reward, weight in zip(pending, rewards.tolist(), weights.tolist(), strict=True):
        learn_and_remember(bandit, decision, on, reward, weight)


def _wait_no_more(bandit: Bandit, block: Block, places: Integers, grounds: Grounds) -> None:
    """Decisions of a block were told."""
    told, foresight = block.decisions.at(places), bandit._player.memory.foresight
    count_pulls(bandit, told)
    if foresight is not None:
        foresight.take_many(grounds, told.explored, told.estimate, -1)
    bandit._waiting.remove_from(block, places)


def learn_in_order(
    bandit: Bandit, arms: Integers, grounds: Grounds, rewards: Floats, explored: Bools, weights: Floats
) -> None:
    """Takes in rewards one after the other; what cannot be is refused before anything is learnt."""
    player = bandit._player
    memory = player.memory
    if player.traits.pupils or memory.searches:
        counted = counted_weights(bandit, grounds, rewards, weights)
        learners_too(bandit, arms, grounds, rewards, explored)
        memory.take_many(grounds, rewards, explored, counted)
    else:
        memory.take_many(grounds, rewards, explored, weights)
    player.account.hear()


def counted_weights(bandit: Bandit, grounds: Grounds, rewards: Floats, weights: Floats) -> Floats:
    """The weights with which rewards are to be learnt; refuses those that cannot be."""
    pairs = zip(rewards.tolist(), weights.tolist(), strict=True)
    counted = bandit._player.memory.counted
    return np.array([counted(grounds.on(place), *pair) for place, pair in enumerate(pairs)])


def learners_too(bandit: Bandit, arms: Integers, grounds: Grounds, rewards: Floats, explored: Bools) -> None:
    """Passes rewards on to learners with a state of their own."""
    player = bandit._player
    if not player.traits.pupils:
        return
    for place, (arm, reward, tried) in enumerate(
        zip(arms.tolist(), rewards.tolist(), explored.tolist(), strict=True)
    ):
        player.traits.teach(arm, player.memory.row(grounds.on(place)), reward, tried)


def checked_weights(weights: npt.ArrayLike | None, count: int) -> Floats:
    """The weights as floats; 1 if there are none."""
    if weights is None:
        return np.ones(count)
    values = listed("weights", weights, count)
    if values.dtype.kind in "iuf" or not count:
        given = np.array(values, dtype=np.float64)
    else:
        given = np.array([real("weights", each, error=InvalidReward) for each in values.tolist()])
    for place in np.flatnonzero(~((given > 0.0) & (given <= HEAVIEST_WEIGHT))).tolist():
        real("weight", given[place].item(), above=0, most=HEAVIEST_WEIGHT, error=InvalidReward)
    return given


def _meant(bandit: Bandit, which: Which) -> Meant:
    """The pending decisions that are meant, each once."""
    if isinstance(which, Decisions) and (found := _in_block(bandit, which)) is not None:
        return found
    if isinstance(which, str):
        which = [which]
    pending = [pending_of(bandit, each) for each in which]
    keys = [decision.id for decision, _ in pending]
    refuse_twice(keys)
    arms = np.array([decision.arm for decision, _ in pending], dtype=np.int64)
    explored = np.array([decision.explored for decision, _ in pending], dtype=bool)
    return Meant(arms, explored, Grounds.of(on for _, on in pending), pending)


def refuse_twice(keys: Sequence[str]) -> None:
    """Refuses ids of which two are the same."""
    key, times = Counter(keys).most_common(1)[0] if keys else ("", 0)
    if times > 1:
        raise DuplicateId(f"decision {key!r} is told {times} times at once")


def _in_block(bandit: Bandit, which: Decisions) -> Meant | None:
    """Where decisions of one batch stand that all still wait; None if that is not so simple."""
    rounds = which.t
    block = bandit._waiting.block_of(int(rounds[0])) if rounds.size else None
    if block is None or (np.diff(rounds) <= 0).any():
        return None
    places = np.searchsorted(block.decisions.t, rounds)
    if places[-1] >= block.alive.size or not block.alive[places].all():
        return None
    mine = block.decisions.at(places)
    same = all(
        np.array_equal(*pair, equal_nan=True) for pair in zip(mine.parts[:2], which.parts[:2], strict=True)
    )
    if not same or mine.parts[3] != which.parts[3]:
        return None
    return Meant(mine.arm, mine.explored, block.grounds.at(places), [], block, places)
