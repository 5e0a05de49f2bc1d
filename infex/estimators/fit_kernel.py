"""A user's estimator as a compiled kernel, at the speed of the built-in ones."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numba.core import types

from infex.arrays import Floats, fitting, shown
from infex.checks import real, whole
from infex.errors import InvalidSetting
from infex.estimators.fit import Fit
from infex.estimators.solution import Solution
from infex.kernels.calling import Fitter, fitter_arguments, users_address
from infex.kernels.compiling import compiled_for_user
from infex.linear.estimating import Arrays, FitForm

FitRoom = Callable[[int], int]
ARGUMENTS = 7


@final
class FitKernel:
    """A function that takes in rewards, how many numbers it keeps, and the defaults of its settings.

    Called with settings, it is an estimator: see `fit_kernel`.
    """

    def __init__(self, function: Fitter, room: int | FitRoom, defaults: dict[str, float]) -> None:
        if not inspect.isfunction(function) or len(inspect.signature(function).parameters) != ARGUMENTS:
            raise InvalidSetting(
                "the kernel of an estimator must be a function of x, reward, weight, penalty, settings, "
                f"memory and solved; got {function!r}"
            )
        functools.update_wrapper(self, function)
        self.function, self.room, self.defaults = function, room, defaults
        self.code: Fitter = compiled_for_user(function)

    def __call__(self, **settings: float) -> KernelEstimator:
        """The estimator with these settings; the others have their defaults."""
        for name in settings:
            if name not in self.defaults:
                known = ", ".join(self.defaults) or "none"
                raise InvalidSetting(f"{self.__name__} has no setting {name!r}; it has {known}")  # type: ignore[attr-defined]
        given = {name: real(name, value) for name, value in settings.items()}
        return KernelEstimator(self, tuple((self.defaults | given).values()))

    def __deepcopy__(self, memo: object) -> FitKernel:
        """Itself, as of a function: it keeps nothing, and compiling takes long."""
        return self

    @property
    def parts(self) -> tuple[Any, ...]:
        """All that makes it what it is."""
        return self.function, self.room, self.defaults

    def numbers(self, dim: int) -> int:
        """How many numbers it keeps."""
        asked = self.room(dim) if callable(self.room) else self.room
        return whole(f"room of {self.__name__}", asked, least=0)  # type: ignore[attr-defined]

    @functools.cached_property
    def address(self) -> Any:
        """Where the compiled kernel stands in memory."""
        name: str = self.__name__  # type: ignore[attr-defined]
        return users_address(name, self.code, fitter_arguments(), types.float64, "the volume, a number")


@final
@dataclass(frozen=True, slots=True, repr=False)
class KernelEstimator:
    """A kernel with its settings: an estimator like any other."""

    kernel: FitKernel
    settings: tuple[float, ...]

    def compiled(self) -> FitForm:
        """The kernel itself."""
        settings = np.array(self.settings)
        return FitForm(self.kernel.address, settings, lambda dim, arms, horizon: self.kernel.numbers(dim))

    def start(self, columns: Floats, penalty: float) -> KernelFit:
        """Statistics over these arms, with nothing learnt."""
        return KernelFit(columns, penalty, self)

    def __repr__(self) -> str:
        given = zip(self.kernel.defaults, self.settings, strict=True)
        return f"{self.kernel.__name__}({', '.join(f'{name}={value!r}' for name, value in given)})"  # type: ignore[attr-defined]


@final
class KernelFit(Fit):
    """What the kernel keeps, and what it solved after the last reward."""

    def __init__(self, columns: Floats, penalty: float, estimator: KernelEstimator) -> None:
        super().__init__(columns, penalty, estimator)
        _ = estimator.kernel.address  # which refuses what cannot be compiled
        self._code, self._settings = estimator.kernel.code, shown(np.array(estimator.settings))
        self._memory = np.zeros(estimator.kernel.numbers(self.dim))
        self._solved = np.zeros((self.dim + 1, self.dim))
        self._volume = 0.0
        self._call(np.zeros(self.dim), 0.0, 0.0)

    def take(self, x: Floats, reward: float, weight: float) -> None:
        self._call(x, reward, weight)

    def solve(self, start: Floats) -> Solution:
        return Solution(self._solved.copy(), self._volume)

    def kept(self) -> Arrays:
        volume = np.array(self._volume)
        return {"memory": self._memory.copy(), "solved": self._solved.copy(), "volume": volume}

    def recall(self, arrays: Arrays, told: int) -> None:
        shapes = {"memory": self._memory.shape, "solved": self._solved.shape, "volume": ()}
        memory, solved, volume = (fitting(name, arrays[name], shape) for name, shape in shapes.items())
        self._memory, self._solved, self._volume = memory, solved, float(volume)

    def _call(self, x: Floats, reward: float, weight: float) -> None:
        given = float(reward), float(weight), self.penalty, self._settings, self._memory, self._solved
        self._volume = self._code(shown(np.ascontiguousarray(x)), *given)


def fit_kernel(room: int | FitRoom, **settings: float) -> Callable[[Fitter], FitKernel]:
    """Makes an estimator of a function that Numba can compile.

    The function is given x, (d,), a reward, its weight, the penalty, the settings in their order, a memory
    of `room` numbers, all 0 at first, that it may change, and `solved`, (d + 1, d), where it leaves a lower
    triangular M, with M'M the covariance of theta, and below it theta. It returns the volume. A weight of 0
    asks it to solve with nothing learnt. `room` is a number, or a function of the dimension; other
    arguments are `settings` with their defaults. `infex.view` has `add` and `settle` for sums of rewards.

    >>> import infex
    >>> from infex import view
    >>> @fit_kernel(room=lambda dim: 2 * (dim + 1) * dim, most=1.0)
    ... def clipped(x, reward, weight, penalty, settings, memory, solved):
    ...     sums = memory.reshape((2, x.size + 1, x.size))
    ...     if weight > 0.0:
    ...         view.add(sums, penalty, x, min(max(reward, -settings[0]), settings[0]), weight)
    ...     return view.settle(sums, penalty, solved)
    >>> problem = infex.environments.gaussian(dim=3, arms=9, seed=1, rewards="gaussian")
    >>> int(infex.play(problem, infex.LinUCB(), 100, estimator=clipped(most=2.0)).counts.sum())
    100
    """
    if not callable(room):
        whole("room", room, least=0)
    checked = {name: real(name, value) for name, value in settings.items()}
    return lambda function: FitKernel(function, room, checked)
