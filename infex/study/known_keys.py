"""Which keys have a decision: eight bytes each, so that a new key is told without a look at the disk."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from functools import lru_cache
from hashlib import blake2b
from typing import final

import numpy as np

MOST_RECENT = 1 << 16  # hashes that are kept one by one before they are sorted in


@final
class KnownKeys:
    """The keys that were added, as hashes of 64 bits: two of a billion keys agree once in 37 journals.

    A key that is taken for known and is not found in the journal is refused, and never decided a second time:
    so it is also if the index of a database is damaged.
    """

    __slots__ = ("_recent", "_sorted")

    def __init__(self, content: bytes = b"") -> None:
        self._sorted = array("Q", np.frombuffer(content, dtype="<u8").astype(np.uint64).tobytes())
        self._recent: set[int] = set()

    def __contains__(self, key: str) -> bool:
        number = _hash(key)
        return number in self._recent or self._is_sorted_in(number)

    def __len__(self) -> int:
        return len(self._sorted) + len(self._recent)

    def _is_sorted_in(self, number: int) -> bool:
        place = bisect_left(self._sorted, number)  # NumPy's would let other threads in
        return place < len(self._sorted) and self._sorted[place] == number

    def add(self, key: str) -> None:
        """One more."""
        self._recent.add(_hash(key))
        if len(self._recent) >= MOST_RECENT:
            self._sort()

    def _sort(self) -> None:
        recent = np.fromiter(self._recent, dtype=np.uint64, count=len(self._recent))
        recent.sort()
        every = np.concatenate([np.frombuffer(self._sorted, dtype=np.uint64), recent])
        every.sort(kind="stable")  # which merges what is sorted
        self._sorted, self._recent = array("Q", every.tobytes()), set()

    def to_bytes(self) -> bytes:
        """All of them."""
        self._sort()
        return np.frombuffer(self._sorted, dtype=np.uint64).astype("<u8").tobytes()


@lru_cache(maxsize=1024)  # a key is looked for, and then added
def _hash(key: str) -> int:
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest())
