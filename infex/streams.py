"""Named random streams: each draw depends on one seed and the name of its use, and on nothing else."""

import hashlib
from typing import Any, final

import numpy as np
import numpy.typing as npt
from numpy.random.bit_generator import ISpawnableSeedSequence

from infex.arrays import Words
from infex.checks import whole

Name = str | int


def digest(seed: int, name: tuple[Name, ...], size: int) -> int:
    """`size` bytes that depend on the seed and the name alone, as a whole number."""
    parts = (str(part) if isinstance(part, str) else whole("part of a name", part) for part in name)
    text = repr((whole("seed", seed), *parts))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=size).digest(), "little")


def stream(seed: int, *name: Name) -> np.random.Generator:
    """A generator that depends on its seed and name alone.

    Adding a policy or a worker, which draw under other names, shifts nobody else's draws.

    >>> float(stream(7, "rewards", 3).random()) == float(stream(7, "rewards", 3).random())
    True
    >>> float(stream(7, "rewards", 3).random()) == float(stream(7, "rewards", 4).random())
    False
    """
    words: Any = Digest(digest(seed, name, 32))
    return np.random.Generator(np.random.PCG64(words))


@final
class Digest(ISpawnableSeedSequence):
    """32 bytes as what a PCG64 starts from; NumPy would hash a number once more, in ten times the time."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.children = 0

    def spawn(self, n_children: int) -> list[Any]:
        """As many more, each for a stream of its own."""
        first, self.children = self.children, self.children + n_children
        return [Digest(digest(self.number, ("child", place), 32)) for place in range(first, self.children)]

    def generate_state(self, n_words: int, dtype: npt.DTypeLike = np.uint32) -> Words:
        """The words, as NumPy asks for them."""
        return _words(self.number)


def _words(number: int) -> Words:
    return np.frombuffer(number.to_bytes(32, "little"), dtype=np.uint64)


def place(seed: int, *name: Name, size: int) -> int:
    """A whole number drawn uniformly from 0 to size - 1, without a generator to keep.

    >>> 0 <= place(7, "block", 12, size=5) < 5
    True
    """
    return digest(seed, name, 16) * size >> 128


@final
class Rounds:
    """One generator whose draws in round t depend on (seed, name, t) alone.

    `at(t)` sets the counter of a single Philox, ten times cheaper than a new generator. It gives the state in
    lists, which NumPy reads in less than half the time that arrays take.
    """

    __slots__ = ("_bits", "_counter", "_generator", "_state")

    def __init__(self, seed: int, *name: Name) -> None:
        key = digest(seed, name, 16)
        words = [key & (2**64 - 1), key >> 64]
        self._bits = np.random.Philox(key=np.array(words, dtype=np.uint64))
        self._generator = np.random.Generator(self._bits)
        self._counter = [0, 0, 0, 0]
        self._state: Any = {
            "bit_generator": "Philox",
            "state": {"counter": self._counter, "key": words},
            "buffer": [0, 0, 0, 0],
            "buffer_pos": 4,
            "has_uint32": 0,
            "uinteger": 0,
        }

    def at(self, t: int) -> np.random.Generator:
        """The generator at the start of round t; it is the same object for every round."""
        self._counter[1] = t
        self._bits.state = self._state
        return self._generator
