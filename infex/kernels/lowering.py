"""Kernels written out for LLVM in fewer instructions than Numba takes: it works on each of them many times.

Numba takes a value apart and puts it together again at each step, keeps in memory what is used in more than
one block, and counts references to arrays that a kernel has only borrowed. Here it does not; what a kernel
computes is the same.
"""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir as llvm
from numba.core import ir, types
from numba.core.analysis import compute_cfg_from_blocks, compute_use_defs
from numba.core.compiler_machinery import register_pass
from numba.core.cpu import CPUContext
from numba.core.datamodel.registry import default_manager
from numba.core.lowering import Lower
from numba.core.typed_passes import BaseNativeLowering
from numba.core.unsafe import eh
from numba.np.arrayobj import load_item, store_item

from infex.kernels.borrowing import LENDING, borrows, counts, named_by, uncounted
from infex.kernels.hastening import Path
from infex.kernels.writing import LeanBuilder, LeanContext

MEMINFO, PARENT, ITEMS, ITEMSIZE, DATA, SHAPE, STRIDES = range(7)  # the parts of Numba's arrays
TRYING = eh.mark_try_block, eh.exception_check
ARRAY_PARTS = {"size": ITEMS, "shape": SHAPE}


NUMBERS: Any = types.range_state64_type
COUNTER: Any = types.range_iter64_type
LAYOUTS = {
    types.Array(types.float64, 1, "C"): "meminfo parent nitems itemsize data shape strides",
    COUNTER: "iter stop step count",
}
for kind, parts in LAYOUTS.items():
    if default_manager[kind]._fields != tuple(parts.split()):
        raise ImportError(f"{kind} has other parts in this version of Numba")


class LeanLower(Lower):
    """Writes out a kernel for LLVM."""

    context: Any
    fndesc: Any
    func_ir: Any
    builder: Any
    typeof: Any
    loadvar: Any
    incref: Any

    def setup_function(self, fndesc: Any) -> None:
        """Starts with the function."""
        super().setup_function(fndesc)  # type: ignore[no-untyped-call]
        self.builder = LeanBuilder(self.entry_block)

    def lower_normal_function(self, fndesc: Any) -> None:
        """Writes out the function."""
        whole = self.context
        self.context = self._lean(whole)
        try:
            super().lower_normal_function(fndesc)  # type: ignore[no-untyped-call]
        finally:
            self.context = whole

    def _lean(self, context: Any) -> Any:
        """What writes the parts of the function; without counting of references where all are borrowed."""
        context.nrt  # noqa: B018 (made where it is asked for, and handed on: exceptions take memory by it)
        lean = context.subtarget(enable_nrt=context.enable_nrt and not self.borrowed)
        if type(lean) is CPUContext and not self.tries:
            lean.__class__ = LeanContext
        return lean

    def _tries(self) -> bool:
        blocks = self.func_ir.blocks.values()
        values = (each.value for block in blocks for each in block.find_insts(ir.Assign))
        names = [each.value for each in values if isinstance(each, ir.Global)]
        return any(value is each for value in names for each in TRYING)  # a value may be an array

    def init(self) -> None:
        """Finds out what is borrowed, and what needs no place in memory."""
        self.tries = self._tries()
        self.lends = self.func_ir.func_id.func in LENDING and self.flags.no_cpython_wrapper
        self.borrowed = borrows(self)
        super().init()  # type: ignore[no-untyped-call]
        if self.generator_info is None and not self.tries:
            self._singly_assigned_vars |= self._set_once()

    def counts(self, name: str) -> bool:
        """Are references to what a variable holds counted?"""
        return not self.borrowed and counts(self.context, self.typeof(name))

    def _set_once(self) -> set[str]:
        """The variables that are set at one place, which comes before all others where they are used."""
        blocks = self.func_ir.blocks
        uses, dominators = compute_use_defs(blocks), compute_cfg_from_blocks(blocks).dominators()  # type: ignore[no-untyped-call]
        places: dict[str, list[int]] = {}
        for label, block in blocks.items():
            for statement in block.find_insts(ir.Assign):
                places.setdefault(statement.target.name, []).append(label)
        once = {name: labels[0] for name, labels in places.items() if len(labels) == 1}
        for label, used in uses.usemap.items():
            for name in used & once.keys():
                home = once[name]
                if home == label or home > label or home not in dominators[label]:
                    del once[name]
        return {name for name in once if not self.counts(name)}

    def lower_inst(self, inst: Any) -> Any:
        """A statement."""
        if not (self.lends and isinstance(inst, ir.Return)):
            return super().lower_inst(inst)  # type: ignore[no-untyped-call]
        build, kind = self.builder, self.fndesc.restype
        lent = uncounted(self.context, build, kind, self.loadvar(inst.value.name))
        self.call_conv.return_value(build, self.context.get_return_value(build, kind, lent))
        return None

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        """What stands to the right of a variable."""
        kind = self.typeof(expr.value.name) if expr.op in ("getattr", "getiter") else None
        if expr.op == "getattr" and type(kind) is types.Array and expr.attr in ARRAY_PARTS:
            part = self.builder.extract_value(self.loadvar(expr.value.name), ARRAY_PARTS[expr.attr])
            if part.type == self.context.get_value_type(resty):
                return part
        if expr.op == "getiter" and (kind, resty) == (NUMBERS, COUNTER):
            numbers = self.loadvar(expr.value.name)
            start, stop, step = (self.builder.extract_value(numbers, i) for i in range(3))
            if isinstance(step, llvm.Constant) and step.constant == 1:
                return self._counter(start, stop, step)
        return super().lower_expr(resty, expr)  # type: ignore[no-untyped-call]

    def lower_call(self, resty: Any, expr: Any) -> Any:
        """A call."""
        kind, signature = self.typeof(expr.func.name), self.fndesc.calltypes[expr]
        if named_by(kind) is not range or resty != NUMBERS:
            return super().lower_call(resty, expr)  # type: ignore[no-untyped-call]
        given = self.fold_call_args(kind, signature, expr.args, expr.vararg, expr.kws)  # type: ignore[no-untyped-call]
        one = llvm.Constant(llvm.IntType(64), 1)
        numbers = ([one.type(0), *given, one] if len(given) == 1 else [*given, one])[:3]
        state = llvm.Constant(self.context.get_value_type(resty), llvm.Undefined)
        for place, number in enumerate(numbers):
            state = self.builder.insert_value(state, number, place)
        return state

    def _counter(self, start: Any, stop: Any, step: Any) -> Any:
        """What goes through the numbers from `start` to `stop` one by one."""
        build, zero = self.builder, start.type(0)
        with build.goto_entry_block():
            place, left = build.alloca(start.type), build.alloca(start.type)
        count = build.sub(stop, start)
        build.store(start, place)
        build.store(build.select(build.icmp_signed(">", count, zero), count, zero), left)
        counter = llvm.Constant(self.context.get_value_type(COUNTER), llvm.Undefined)
        for i, part in enumerate((place, stop, step, left)):
            counter = build.insert_value(counter, part, i)
        return counter

    def delvar(self, name: str) -> None:
        """A variable is not used any more."""
        if self.counts(name):
            super().delvar(name)  # type: ignore[no-untyped-call]

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Sets a variable."""
        if name in self._singly_assigned_vars or self.counts(name) or self._disable_sroa_like_opt:
            super().storevar(value, name, argidx)  # type: ignore[no-untyped-call]
        else:
            self._alloca_var(name, self.typeof(name))  # type: ignore[no-untyped-call]
            self.builder.store(value, self.getvar(name))  # type: ignore[no-untyped-call]

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """A number of an array, or a row of one; the rest as Numba does it."""
        kind, places = self.typeof(value.name), self._places(value, index)
        if places is None or signature.return_type != resty:
            return super().lower_getitem(resty, expr, value, index, signature)  # type: ignore[no-untyped-call]
        array = self.loadvar(value.name)
        pointer = self._item(array, kind, places)
        if len(places) == kind.ndim:
            return load_item(self.context, self.builder, kind, pointer)  # type: ignore[no-untyped-call]
        row = self._row(array, kind, resty, pointer, len(places))
        self.incref(resty, row)
        return row

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        """Sets a number of an array; the rest as Numba does it."""
        kind, places = self.typeof(target_var.name), self._places(target_var, index_var)
        if places is None or len(places) < kind.ndim:
            return super().lower_setitem(target_var, index_var, value_var, signature)  # type: ignore[no-untyped-call]
        pointer = self._item(self.loadvar(target_var.name), kind, places)
        value = self.loadvar(value_var.name)
        for given, wanted in (
            (self.typeof(value_var.name), signature.args[2]),
            (signature.args[2], kind.dtype),
        ):
            value = self.context.cast(self.builder, value, given, wanted)
        return store_item(self.context, self.builder, kind, value, pointer)  # type: ignore[no-untyped-call]

    def _places(self, array: Any, index: Any) -> list[tuple[Any, Any]] | None:
        """The types and values of integers that are an index of an array; None if it is something else."""
        kind, of_index = self.typeof(array.name), self.typeof(index.name)
        if type(kind) is not types.Array or kind.layout != "C" or self.context.enable_boundscheck:
            return None
        kinds = of_index.types if isinstance(of_index, types.BaseTuple) else (of_index,)  # type: ignore[attr-defined]
        if not 0 < len(kinds) <= kind.ndim or not all(isinstance(each, types.Integer) for each in kinds):
            return None
        value = self.loadvar(index.name)
        if not isinstance(of_index, types.BaseTuple):
            return [(of_index, value)]
        return [(each, self.builder.extract_value(value, i)) for i, each in enumerate(kinds)]

    def _item(self, array: Any, kind: Any, places: Sequence[tuple[Any, Any]]) -> Any:
        """Where an item stands, or a row begins: places below 0 count from the end."""
        build, position = self.builder, None
        for axis in range(kind.ndim):
            length = build.extract_value(array, (SHAPE, axis)) if axis else None
            if position is not None:
                position = build.mul(position, length)
            if axis < len(places):
                place = self._from_start(array, axis, *places[axis])
                position = place if position is None else build.add(position, place)
        return build.gep(build.extract_value(array, (DATA,)), [position])

    def _from_start(self, array: Any, axis: int, kind: Any, place: Any) -> Any:
        build, word = self.builder, types.intp if kind.signed else types.uintp
        place = self.context.cast(build, place, kind, word)
        if not kind.signed or (isinstance(place, llvm.Constant) and place.constant >= 0):
            return place
        wrapped = build.add(place, build.extract_value(array, (SHAPE, axis)))
        return build.select(build.icmp_signed("<", place, place.type(0)), wrapped, place)

    def _row(self, array: Any, kind: Any, row_kind: Any, data: Any, axes: int) -> Any:
        """A view of the part of an array whose first axes are given."""
        build, left = self.builder, range(axes, kind.ndim)
        lengths = [build.extract_value(array, (SHAPE, axis)) for axis in left]
        count = lengths[0]
        for length in lengths[1:]:
            count = build.mul(count, length, flags=("nsw",))
        parts: dict[Path, Any] = {(ITEMS,): count, (DATA,): data}
        parts |= {(part,): build.extract_value(array, (part,)) for part in (MEMINFO, PARENT, ITEMSIZE)}
        for i, axis in enumerate(left):
            parts[SHAPE, i] = lengths[i]
            parts[STRIDES, i] = build.extract_value(array, (STRIDES, axis))
        row = llvm.Constant(self.context.get_value_type(row_kind), llvm.Undefined)
        for path, part in parts.items():
            row = build.insert_value(row, part, path)
        return row


@register_pass(mutates_CFG=True, analysis_only=False)  # type: ignore[no-untyped-call]
class LeanLowering(BaseNativeLowering):
    """The last of Numba's passes over a kernel."""

    _name: Any = "lean_lowering"

    @property
    def lowering_class(self) -> type[Lower]:
        """What writes out the kernel."""
        return LeanLower
