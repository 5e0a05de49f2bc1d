"""Numba, hastened while it compiles: it finds the same, and is left as it was."""

import gc
import itertools
from typing import Any

import numba
import numpy as np
import pytest
from llvmlite.binding import ffi
from numba.core import base, ir, types
from numba.core.compiler import Flags
from numba.core.errors import TypingError
from numba.core.postproc import PostProcessor
from numba.core.runtime.context import NRTContext
from numba.core.targetconfig import ConfigStack, TargetConfig

from infex.kernels import hastening
from infex.kernels.compiling import compiled, inner

OPTIONS = ("nrt", "forceinline", "release_gil")


def sets_of_options() -> list[Flags]:
    """All sets in which each of three options is said to be on, said to be off, or not said."""
    found = []
    for values in itertools.product((True, False, None), repeat=3):
        options = Flags()
        for name, value in zip(OPTIONS, values, strict=True):
            if value is not None:
                setattr(options, name, value)
        found.append(options)
    return found


def parts_of_numba() -> list[Any]:
    """What is changed while a kernel is compiled."""
    functions = TargetConfig.__eq__, TargetConfig.__hash__, types.BaseFunction.get_call_type
    more = NRTContext.get_meminfos, PostProcessor.run, vars(base)["_has_loc"], ir.Inst._rec_list_vars
    return [*functions, *more, ffi.lib._lock._cblist, gc.get_threshold()]


def test_sets_of_options_are_equal_where_numba_calls_them_equal() -> None:
    for one, other in itertools.product(sets_of_options(), repeat=2):
        assert hastening.equal_options(one, other) == TargetConfig.__eq__(one, other)
    assert hastening.equal_options(Flags(), "text") is NotImplemented


def test_a_set_of_options_has_the_hash_that_numba_gives_it() -> None:
    """Else what Numba found before would not be found again."""
    for options in sets_of_options():
        assert hastening.hash_of_options(options) == TargetConfig.__hash__(options)


def test_a_signature_is_looked_for_once_for_each_set_of_options_that_is_handed_on() -> None:
    looked_for = []

    class Function:
        def __init__(self) -> None:
            self._impl_keys: dict[Any, Any] = {}

        def find(self, context: object, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
            looked_for.append(args)
            self._impl_keys[args] = len(looked_for)
            return types.float64(*args)

    function, signatures = Function(), hastening.Signatures(Function.find)
    for options in sets_of_options():
        with ConfigStack().enter(options):
            first = signatures.of(function, "context", (types.float64,), {})
            implementation = function._impl_keys[first.args]
            function._impl_keys.clear()
            assert signatures.of(function, "context", (types.float64,), {}) is first
            assert function._impl_keys == {first.args: implementation}
    assert len(looked_for) == 4  # nrt, which is on where it is not said, and forceinline


def test_numba_is_left_as_it_was_and_within_another_one_too() -> None:
    before = parts_of_numba()
    with hastening.hastened():
        within = parts_of_numba()
        with hastening.hastened():
            assert parts_of_numba() == within
        assert parts_of_numba() == within
    assert parts_of_numba() == before != within


@pytest.mark.compiled
def test_numba_is_left_as_it_was_when_a_kernel_cannot_be_compiled() -> None:
    before = parts_of_numba()
    with pytest.raises(TypingError):
        compiled(lambda x: x + "text")(1.0)
    assert parts_of_numba() == before


@pytest.mark.parametrize(
    ("owner", "name"),
    [(TargetConfig, "_values"), (ffi.lib._lock, "_cblist"), (types, "BaseFunction")],
)
def test_numba_is_not_changed_where_a_part_of_it_is_missing(
    owner: object, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(owner, name)
    assert hastening.changes.__wrapped__() == ()


@pytest.mark.compiled
def test_a_kernel_is_the_same_where_numba_is_not_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.linspace(0.0, 3.0, 7)

    def roots(values: Any) -> float:
        total = 0.0
        for value in values:
            total += max(value, 1.0) ** 0.5
        return total

    hastened = compiled(roots)(values)
    monkeypatch.setattr(hastening, "changes", tuple)
    assert compiled(roots)(values) == hastened == roots(values)


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore:Code running in object mode")
def test_what_python_does_within_a_kernel_is_compiled_too() -> None:
    """Numba asks there which variables live where; it is found out when it asks."""

    def told(values: Any) -> Any:
        total, letters = values.sum(), 0
        with numba.objmode(letters="int64"):
            letters = len(str(total))
        return sum([value + total for value in values]), letters

    values = np.linspace(0.0, 3.0, 7)
    assert compiled(told)(values) == (84.0, 4)


@pytest.mark.compiled
def test_an_inner_kernel_can_be_called_all_the_same() -> None:
    assert inner(lambda x: x + 1.0)(1.0) == 2.0


def test_variables_are_found_where_numba_finds_them() -> None:
    def function(a: Any, b: Any) -> Any:
        for place in range(len(a)):
            a[place], b = b + a[place], max(a[place], 2.0, b)
        return (a, {"b": b}, [a[1:place], b])

    blocks = numba.core.bytecode, numba.core.interpreter
    identity = blocks[0].FunctionIdentity.from_function(function)
    found = blocks[1].Interpreter(identity).interpret(blocks[0].ByteCode(identity))
    statements = [each for block in found.blocks.values() for each in block.body]
    assert sum(len(each.list_vars()) for each in statements) > 20
    for each in statements:
        for value in (each, vars(each), [each, {1: (each,)}], None, "text"):
            assert hastening.variables_in(each, value) == each._rec_list_vars(value)
