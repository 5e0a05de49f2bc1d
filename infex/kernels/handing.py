"""Generators handed over to compiled loops as addresses, which Numba takes 9 us to look up in each."""

import ctypes
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.cpu import CPUContext
from numba.core.typing.templates import Signature
from numba.extending import intrinsic

from infex.arrays import Words
from infex.kernels.compiling import Intrinsic, Values, lending, plain_python

DRAWING_FUNCTIONS = ("next_uint64", "next_uint32", "next_double")
BITS: Any = types.NumPyRandomBitGeneratorType("bit_generator")


def handed(*generators: np.random.Generator) -> Any:
    """The addresses of generators, a row for each: of their state, and of the functions that draw.

    They are good as long as the generators live.
    """
    return generators if plain_python else np.array([_addresses(each) for each in generators], np.uint64)


def _addresses(generator: np.random.Generator) -> list[int]:
    bits: Any = generator.bit_generator.ctypes
    drawing = [ctypes.cast(getattr(bits, name), ctypes.c_void_p).value for name in DRAWING_FUNCTIONS]
    return [bits.state_address, bits.state.value, *drawing]


def _generator_at(
    typing_context: object, at: object, state: object, words: object, halves: object, doubles: object
) -> Intrinsic:
    """A generator by its addresses, in the structure that Numba makes of one."""

    def emit(context: CPUContext, builder: ir.IRBuilder, signature: Signature, given: Values) -> ir.Value:
        bits = cgutils.create_struct_proxy(BITS)(context, builder)  # type: ignore[no-untyped-call]
        names = ("state_address", "state", *(f"fnptr_{name}" for name in DRAWING_FUNCTIONS))
        for name, address in zip(names, given, strict=True):
            setattr(bits, name, address)
        generator = cgutils.create_struct_proxy(types.npy_rng)(context, builder)  # type: ignore[no-untyped-call]
        generator.bit_generator = bits._getvalue()
        return generator._getvalue()

    return types.npy_rng(*[types.uint64] * 5), emit


built: Any = intrinsic(_generator_at)


def _generator_plainly(handed: tuple[np.random.Generator, ...], place: int) -> np.random.Generator:
    return handed[place]


@lending
def _generator(handed: Words, place: int) -> Any:
    return built(handed[place, 0], handed[place, 1], handed[place, 2], handed[place, 3], handed[place, 4])


generator_at: Any = _generator_plainly if plain_python else _generator
