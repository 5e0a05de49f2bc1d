"""A user's policy as a compiled kernel, at the speed of the built-in ones."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final, overload

import numpy as np
from numba.core import types

from infex.arrays import Floats
from infex.checks import real
from infex.errors import InvalidSetting
from infex.kernels import bases
from infex.kernels.calling import Chooser, arguments
from infex.kernels.compiling import compiled_for_user, plain_python
from infex.linear import Evidence
from infex.policies.choice import Choice
from infex.policies.form import Form
from infex.policies.settling import UNSAID_DELTA


@final
class Kernel:
    """A function `f(t, view, rng)` that gives an arm, and the defaults of its settings.

    Called with settings, it is a policy: see `kernel`.
    """

    def __init__(self, function: Chooser, defaults: dict[str, Any]) -> None:
        if not inspect.isfunction(function) or not _takes_three(function):
            raise InvalidSetting(f"a kernel must be a function of t, view and rng; got {function!r}")
        functools.update_wrapper(self, function)
        self.__qualname__ = function.__qualname__.removesuffix(".function")
        function.__qualname__ = f"{self.__qualname__}.function"  # where pickle finds it
        self.function = function
        self.defaults = {name: _number(name, value) for name, value in defaults.items()}
        self.code: Chooser = compiled_for_user(function)

    def __call__(self, *unnamed: float, **settings: float | None) -> KernelPolicy:
        """The policy with these settings; the others have their defaults."""
        if unnamed:
            raise InvalidSetting(f"settings of {self.__name__} must be named, got {unnamed}")  # type: ignore[attr-defined]
        for name in settings:
            if name not in self.defaults:
                known = ", ".join(self.defaults) or "none"
                raise InvalidSetting(f"{self.__name__} has no setting {name!r}; it has {known}")  # type: ignore[attr-defined]
        found = self.defaults | {name: _number(name, value) for name, value in settings.items()}
        return KernelPolicy(self, tuple(found.values()))

    def __repr__(self) -> str:
        return f"<kernel {self.__module__}.{self.__qualname__}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kernel) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    @property
    def _content(self) -> tuple[Any, ...]:
        return self.__qualname__, self.function.__code__, tuple(self.defaults.items())

    def __reduce__(self) -> Any:
        """By name where another process can import it, else with its code."""
        home: Any = sys.modules.get(self.__module__)
        for part in self.__qualname__.split("."):
            home = getattr(home, part, None)
        if home is self and self.__module__ != "__main__":
            return self.__qualname__
        return Kernel, (self.function, self.defaults)

    @functools.cached_property
    def address(self) -> Any:
        """Where the compiled kernel stands in memory; good as long as the kernel lives."""
        if plain_python:
            return self.code
        kernel: Any = self.code
        try:
            kernel.compile(arguments())
        except Exception as error:  # Numba raises more kinds than its own
            hint = " (what a kernel is given can be read alone)" if "readonly array" in str(error) else ""
            raise InvalidSetting(f"{self!r} cannot be compiled{hint}: {error}") from error
        code = kernel.overloads[arguments()]
        given = types.unliteral(code.signature.return_type)  # type: ignore[no-untyped-call]
        if given != types.int64:
            raise InvalidSetting(
                f"{self!r} must return an arm, a whole number such as int(k); it returns {given}"
            )
        return code.library.get_pointer_to_function(code.fndesc.llvm_func_name)


@final
@dataclass(frozen=True, slots=True, repr=False)
class KernelPolicy:
    """A kernel with its settings: a policy like any other, which counts each of its rounds as exploring."""

    kernel: Kernel
    settings: tuple[float | None, ...]

    def with_delta(self, delta: float) -> KernelPolicy:
        """The same with this delta, if it has one and none is said."""
        if None not in self.settings:
            return self
        return KernelPolicy(self.kernel, tuple(delta if each is None else each for each in self.settings))

    def _numbers(self) -> Floats:
        return np.array(self.with_delta(UNSAID_DELTA).settings, dtype=np.float64)

    def compiled(self) -> Form:
        """The kernel itself, in every round."""
        base = bases.Base(bases.KERNEL, bases.READS_WIDTHS, address=self.kernel.address)
        return Form(base, self._numbers())

    def choose(self, t: int, evidence: Evidence, rng: np.random.Generator) -> Choice:
        """The arm that the kernel gives."""
        _ = self.kernel.address  # which refuses what cannot be compiled
        return Choice(int(self.kernel.code(t, evidence.view(self._numbers()), rng)))

    def __getattr__(self, name: str) -> float | None:
        """A setting by its name."""
        if name.startswith("_") or name not in self.kernel.defaults:
            raise AttributeError(name)
        return dict(zip(self.kernel.defaults, self.settings, strict=True))[name]

    def __repr__(self) -> str:
        given = (f"{name}={value!r}" for name, value in zip(self.kernel.defaults, self.settings, strict=True))
        return f"{self.kernel.__name__}({', '.join(given)})"  # type: ignore[attr-defined]


@overload
def kernel(function: Chooser, /) -> Kernel: ...


@overload
def kernel(**settings: float | None) -> Callable[[Chooser], Kernel]: ...


def kernel(function: Chooser | None = None, /, **settings: float | None) -> Any:
    """Makes a policy of a function that Numba can compile.

    The function gets the round, a view of what is known (read it with the functions of
    `infex.view`) and the policy's own generator, and returns an arm. Settings are numbers: name
    them with their defaults in the decorator, and find them in `view.settings` in that order. A `delta`
    whose default is None is 1/T where a horizon T is known, and 0.01 elsewhere, as that of LinUCB.

    >>> import infex
    >>> from infex import view
    >>> @kernel(bonus=1.0)
    ... def constant_bonus(t, seen, rng):
    ...     return view.best(view.upper(seen, seen.settings[0]))
    >>> policy = infex.Infex(constant_bonus(bonus=0.5), infex.every(20))
    >>> policy.base
    constant_bonus(bonus=0.5)
    >>> infex.play(infex.environments.gaussian(dim=5, arms=50, seed=3), policy, horizon=1000).explored
    50

    In `play` it runs inside the compiled loop, alone or as a base of `Infex`; a `Bandit` takes it
    too. It cannot write to what it is given, but for `rng`; it must not keep an array of it beyond the
    call, nor read beyond an array's end: nobody looks. What it raises is raised by `play`. Globals are
    compiled in as they are at its first use, so numbers that change are settings.
    """
    if function is None:
        checked = {name: _number(name, value) for name, value in settings.items()}
        return lambda given: Kernel(given, checked)
    return Kernel(function, {})


def _number(name: str, value: float | None) -> float | None:
    """A setting: a number, or for `delta` None, which says none."""
    return None if name == "delta" and value is None else real(name, value)


def _takes_three(function: Chooser) -> bool:
    try:
        inspect.signature(function).bind(1, None, None)
    except TypeError:
        return False
    return True
