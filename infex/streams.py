"""Named random streams: each draw depends on one seed and the name of its use, and on nothing else."""

import ctypes
import functools
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


PCG64_FACTOR = 0x2360ED051FC65DA44385DF649FCCF645
MASK = (1 << 128) - 1


def start(seed: int, *name: Name) -> Words:
    """The state of a stream's PCG64 before its first draw: the low and high word of state and increment.

    A PCG64 takes its words as an initial state and a sequence, high word first, and makes one step
    (O'Neill, 2014).
    """
    number = digest(seed, name, 32)
    state, sequence = _swapped(number), _swapped(number >> 128)
    increment = (sequence << 1 | 1) & MASK
    state = ((increment + state) * PCG64_FACTOR + increment) & MASK
    return _words(increment << 128 | state)


def _swapped(number: int) -> int:
    """The lower two words of a number in the other order."""
    return (number & MASK >> 64) << 64 | number >> 64 & MASK >> 64


@final
class SettableGenerator:
    """One generator that compiled code can set to the start of any stream, through its memory.

    `state` is the memory of a PCG64 as four words, `buffer` one word more: half a draw kept back.
    `known` says whether NumPy lays them out as expected; where it does not, leave them alone.
    """

    __slots__ = ("buffer", "generator", "known", "state")

    def __init__(self) -> None:
        self.generator = stream(0, "settable")
        bits: Any = self.generator.bit_generator
        outer: Any = (ctypes.c_uint64 * 2).from_address(bits.ctypes.state_address)
        inner: Any = (ctypes.c_uint64 * 4).from_address(outer[0])
        self.buffer: Words = np.frombuffer(outer, dtype=np.uint64)[1:]
        self.state: Words = np.frombuffer(inner, dtype=np.uint64)
        begun = np.array_equal(self.state, start(0, "settable")) and self.buffer[0] == 0
        self.generator.integers(10, dtype=np.uint32)  # leaves half a draw in the buffer
        kept = bits.state["has_uint32"] | bits.state["uinteger"] << 32
        self.known = bool(begun and kept != 0 and self.buffer[0] == kept)


def place(seed: int, *name: Name, size: int) -> int:
    """A whole number drawn uniformly from 0 to size - 1, without a generator to keep.

    >>> 0 <= place(7, "block", 12, size=5) < 5
    True
    """
    return digest(seed, name, 16) * size >> 128


@final
class Rounds:
    """One generator whose draws in round t depend on (seed, name, t) alone.

    `at(t)` sets the counter of a single Philox, thirty times cheaper than a new generator. It writes
    to the generator's memory where NumPy lays it out as expected, which is checked once; else it gives
    the state in lists, which NumPy reads in less than half the time that arrays take.
    """

    __slots__ = ("_bits", "_counter", "_generator", "_memory", "_rest", "_state")

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
        self._memory: Any = None
        self._rest: Any = None
        if philox_is_known():
            self._memory, self._rest = self._laid_out()

    def at(self, t: int) -> np.random.Generator:
        """The generator at the start of round t; it is the same object for every round."""
        memory, rest = self._memory, self._rest
        if memory is None:
            self._counter[1] = t
            self._bits.state = self._state
        else:
            memory[0] = memory[2] = memory[3] = 0
            memory[1] = t
            rest[2] = 4  # nothing is left in the buffer of four words
            rest[7] = 0  # nor half a word
        return self._generator

    @property
    def memory(self) -> tuple[Words, Words] | None:
        """What `at` writes to, as arrays for compiled code: the counter, and the rest; None if not known."""
        if self._memory is None:
            return None
        return np.frombuffer(self._memory, dtype=np.uint64), np.frombuffer(self._rest, dtype=np.uint64)

    def _laid_out(self) -> tuple[Any, Any]:
        """The counter in the generator's memory; and two pointers, a place in the buffer, it, half a word."""
        bits: Any = self._bits
        rest = (ctypes.c_uint64 * 8).from_address(bits.ctypes.state_address)
        counter = (ctypes.c_uint64 * 4).from_address(rest[0])
        return memoryview(counter).cast("B").cast("Q"), memoryview(rest).cast("B").cast("Q")


@functools.cache
def philox_is_known() -> bool:
    """Does NumPy lay out a Philox as `Rounds` expects? Tried on one whose state is known."""
    bits: Any = np.random.Philox(key=np.array([3, 5], dtype=np.uint64))
    generator = np.random.Generator(bits)
    rest = (ctypes.c_uint64 * 8).from_address(bits.ctypes.state_address)
    generator.integers(10, dtype=np.uint32)  # leaves three words and a half
    state = bits.state
    half = state["has_uint32"] | state["uinteger"] << 32
    expected = [state["buffer_pos"], *state["buffer"].tolist(), half]
    if [rest[2] & 0xFFFFFFFF, *rest[3:7], rest[7]] != expected or half == 0:
        return False
    counter = (ctypes.c_uint64 * 4).from_address(rest[0])
    return bool(list(counter) == state["state"]["counter"].tolist())
