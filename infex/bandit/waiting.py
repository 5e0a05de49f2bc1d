"""Decisions that wait for their reward."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import final

import numpy as np

from infex.arrays import Floats, Integers
from infex.bandit.decision import Decision
from infex.bandit.decisions import Decisions, joined_decisions
from infex.bandit.pending_block import Block, Pending, own_ids
from infex.errors import DuplicateId
from infex.linear import InBlock, On
from infex.linear.grounds import Grounds
from infex.linear.offers import GONE

MOST_SINGLE = 1 << 16  # decisions that are kept one by one, for a quick `tell`
FOLDED = 1 << 11  # of them, the oldest, that become columns when there are more: whoever asks waits for it


@final
class Waiting:
    """Decisions without a reward by their ids, oldest first.

    The last that were asked for one by one stand in a dict, `singles`; those of batches, of files and of long
    ago in blocks of columns, where an id that a life gave is found by its round.
    """

    __slots__ = ("_blocks", "_named", "singles")

    def __init__(self) -> None:
        self.singles: dict[str, Pending] = {}
        self._blocks: list[Block] = []  # by their first rounds
        self._named: dict[str, int] = {}  # the rounds of ids of the caller's own, in blocks

    def __len__(self) -> int:
        return len(self.singles) + sum(block.left for block in self._blocks)

    def __iter__(self) -> Iterator[Pending]:
        if not self._blocks:
            return iter(self.singles.values())
        return heapq.merge(self.singles.values(), *self._blocks, key=_round_of)

    @property
    def oldest(self) -> int | None:
        """The round of the oldest decision that waits; None if there is none."""
        singles = (decision.t for decision, _ in islice(self.singles.values(), 1))
        return min((*singles, *(block.oldest for block in self._blocks)), default=None)

    def refuse(self, key: str) -> None:
        """Refuses an id that a pending decision has."""
        if key in self.singles or self._place(key) is not None:
            raise DuplicateId(f"decision {key!r} waits for its reward already: ids may not come twice")

    def add(self, decision: Decision, on: On) -> None:
        """One more."""
        self.put((decision, on))

    def put(self, pending: Pending) -> None:
        """The same."""
        self.singles[pending[0][0]] = pending  # by its id
        if len(self.singles) > MOST_SINGLE:
            self._fold()

    def add_all(self, decisions: Sequence[Decision], grounds: Sequence[On]) -> None:
        """Many more, one by one."""
        every = zip(decisions, grounds, strict=True)
        self.singles.update((pending[0][0], pending) for pending in every)
        while len(self.singles) > MOST_SINGLE:
            self._fold()

    def add_block(self, block: Block) -> None:
        """Many more; no other block has rounds between its own."""
        place = bisect_right(self._blocks, block.first, key=_first_of)
        self._blocks.insert(place, block)
        for t, key in own_ids(block.decisions):
            self._named[key] = t

    def find(self, key: str) -> Pending | None:
        """The one with that id, if it waits."""
        found = self.singles.get(key)
        if found is not None or (where := self._place(key)) is None:
            return found
        block, place = where
        return block.decisions[place], block.grounds.on(place)

    def remove(self, key: str) -> None:
        """One less."""
        if self.singles.pop(key, None) is None:
            where = self._place(key)
            assert where is not None, key
            self.remove_from(where[0], np.array([where[1]]))

    def remove_from(self, block: Block, places: Integers) -> None:
        """So many less in a block, at different places."""
        if self._named:
            for _, key in own_ids(block.decisions.at(places)):
                del self._named[key]
        block.remove(places)
        if block.left == 0:
            self._blocks.remove(block)

    def block_of(self, t: int) -> Block | None:
        """The block in which round t would stand."""
        place = bisect_right(self._blocks, t, key=_first_of) - 1
        return self._blocks[place] if place >= 0 else None

    def remove_after(self, t: int) -> None:
        """Decisions of rounds after t wait no more."""
        for key in [key for key, (decision, _) in self.singles.items() if decision.t > t]:
            del self.singles[key]
        for block in list(self._blocks):
            if (late := block.after(t)).size:
                self.remove_from(block, late)

    def widen(self, widened: Callable[[On], On], rows_widened: Callable[[Floats], Floats]) -> None:
        """What rewards are learnt on gets further features."""
        self.singles = {key: (decision, widened(on)) for key, (decision, on) in self.singles.items()}
        for block in self._blocks:
            block.grounds = block.grounds._replace(rows=rows_widened(block.grounds.rows))

    def move(self, places: Integers, columns: Floats) -> None:
        """Arms come to new places, `places` being their old ones; `columns` are the old fixed arms.

        A fixed arm that is gone is learnt by its features; of one with a regression of its own nothing is.
        """
        moved = new_places(places)
        move_each(self.singles, moved, columns)
        for block in self._blocks:
            block.grounds = block.grounds.moved(places, columns)

    def parts(self) -> Iterator[tuple[Decisions, Grounds]]:
        """All that waits, as columns, in parts whose rounds may lie between each other."""
        for block in self._blocks:
            yield block.waiting()
        if self.singles:
            yield _columns(list(self.singles.values()))

    def whole(self) -> tuple[Decisions, Grounds]:
        """All that waits, as columns, oldest first."""
        parts = list(self.parts()) or [_columns([])]
        decisions = joined_decisions([decisions for decisions, _ in parts])
        grounds = Grounds.joined([grounds for _, grounds in parts])
        if (np.diff(decisions.t) > 0).all():
            return decisions, grounds
        order = np.argsort(decisions.t)
        return decisions.at(order), grounds.at(order)

    def _fold(self) -> None:
        """The oldest that were asked for one by one become columns."""
        oldest = list(islice(self.singles.items(), FOLDED))
        blocks = [block for block in self._blocks if block.first > oldest[0][1][0].t]
        last = blocks[0].first if blocks else oldest[-1][1][0].t + 1
        folded = [(key, pending) for key, pending in oldest if pending[0].t < last]
        self.add_block(Block(*_columns([pending for _, pending in folded])))
        for key, _ in folded:
            del self.singles[key]

    def _place(self, key: str) -> tuple[Block, int] | None:
        """In which block, and where, an id stands that waits."""
        if not self._blocks:
            return None
        t = self._named.get(key)
        if t is None:
            number = key.rpartition("-")[2]
            t = int(number) if number.isdecimal() and len(number) < 19 else 0
        block = self.block_of(t)
        place = None if block is None else block.find(t, key)
        return None if block is None or place is None else (block, place)


def new_places(places: Integers) -> dict[int, int]:
    """The new place of each arm that stays, by its old one."""
    return {old: new for new, old in enumerate(places.tolist()) if old != GONE}


def move_each(pending: dict[str, Pending], moved: dict[int, int], columns: Floats) -> None:
    """Arms come to new places, by their old ones."""
    for key, (decision, on) in pending.items():
        if isinstance(on, int):
            pending[key] = decision, moved.get(on, np.array(columns[:, on]))
        elif isinstance(on, InBlock):
            pending[key] = decision, InBlock(moved.get(on.arm, GONE), on.context)


def _columns(pending: list[Pending]) -> tuple[Decisions, Grounds]:
    return Decisions.of(decision for decision, _ in pending), Grounds.of(on for _, on in pending)


def _round_of(pending: Pending) -> int:
    return pending[0].t


def _first_of(block: Block) -> int:
    return block.first
