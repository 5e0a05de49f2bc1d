"""Which keys have a decision: eight bytes each, so that a new key is told without a look at the disk."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple, final

import numpy as np
import numpy.typing as npt

from infex.errors import DamagedFile

KEYS_IN_A_RUN = 1 << 12
CHAIN_SIZE = 16


class KeysSummary(NamedTuple):
    """What a snapshot keeps of keys: how many runs there are, a hash of them all, and the keys since."""

    runs: int
    chain: bytes
    recent: bytes


@final
class KnownKeys:
    """The keys that were added, as hashes of 64 bits: two of a billion keys agree once in 37 journals.

    A key that is taken for known and is not found in the journal is refused, and never decided a second time:
    so it is also if the index of a database is damaged.

    Every `KEYS_IN_A_RUN` keys, in the order of the journal, are a run, which is written once and never
    changes; a snapshot names the runs before it, and has the keys since. In memory, runs are merged with
    those of the same length.
    """

    __slots__ = ("_merged", "_recent", "_runs", "chain", "new_runs")

    def __init__(self) -> None:
        self._merged: list[array[int]] = []
        self._recent: set[int] = set()
        self._runs, self.chain = 0, bytes(CHAIN_SIZE)
        self.new_runs: dict[int, bytes] = {}  # by their places: those that no store has yet

    @staticmethod
    def restored(summary: Sequence[Any], runs: Sequence[bytes] | None) -> KnownKeys:
        """The keys of a snapshot, with the runs before it; without them, earlier keys are not known."""
        keys, (count, chain, recent) = KnownKeys(), summary
        if runs is not None:
            for run in runs[:count]:
                keys.chain = _chained(keys.chain, run)
            if keys.chain != chain:
                raise DamagedFile("the keys beside a snapshot are not those that were written")
            every = np.sort(_hashes(b"".join(runs[:count])))
            keys._merged = [array("Q", every.tobytes())]
        keys._runs, keys.chain, keys._recent = count, chain, set(_hashes(recent).tolist())
        return keys

    def __contains__(self, key: str) -> bool:
        number = _hash(key)
        return number in self._recent or any(_has(run, number) for run in self._merged)

    def __len__(self) -> int:
        return KEYS_IN_A_RUN * self._runs + len(self._recent)

    def add(self, key: str) -> None:
        """One more."""
        self._recent.add(_hash(key))
        if len(self._recent) >= KEYS_IN_A_RUN:
            self._close_run()

    def _close_run(self) -> None:
        run = self.summary().recent
        self.new_runs[self._runs] = run
        self._runs, self.chain = self._runs + 1, _chained(self.chain, run)
        merged, newest = list(self._merged), _hashes(run)
        while merged and len(merged[-1]) <= len(newest):
            newest = np.concatenate([np.frombuffer(merged.pop(), dtype=np.uint64), newest])
            newest.sort(kind="stable")  # which merges what is sorted
        self._merged = [*merged, array("Q", newest.tobytes())]
        self._recent = set()  # after that: whoever looks meanwhile misses none

    def summary(self) -> KeysSummary:
        """What a snapshot keeps of them."""
        recent = np.sort(np.fromiter(self._recent, dtype="<u8", count=len(self._recent)))
        return KeysSummary(self._runs, self.chain, recent.tobytes())


def _has(run: array[int], number: int) -> bool:
    place = bisect_left(run, number)  # NumPy's would let other threads in
    return place < len(run) and run[place] == number


def _hashes(content: bytes) -> npt.NDArray[np.uint64]:
    return np.frombuffer(content, dtype="<u8").astype(np.uint64)


def _chained(chain: bytes, run: bytes) -> bytes:
    return blake2b(chain + run, digest_size=CHAIN_SIZE).digest()


@lru_cache(maxsize=1024)  # a key is looked for, and then added
def _hash(key: str) -> int:
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest())
