"""A user's policy as a compiled kernel, at the speed of the built-in ones."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final, overload

import numpy as np
from numba.core import types

from infex.arrays import Floats, shown
from infex.checks import importable, real, whole
from infex.errors import InvalidSetting
from infex.kernels import bases
from infex.kernels.calling import Chooser, LearnKernel, arguments, learner_arguments, users_address
from infex.kernels.compiling import compiled_for_user
from infex.kernels.fingerprint import mentions
from infex.linear import Evidence
from infex.policies.choice import Choice
from infex.policies.form import Form
from infex.policies.settling import UNSAID_DELTA
from infex.policies.traits import HOOKS

Room = Callable[[int, int], int]
NO_STATE = np.zeros(0)
FIELDS = ("kernel", "settings", "state", "arms")  # which a copy lacks before they are set


@final
class Kernel:
    """A function `f(t, view, rng)` that gives an arm, and the defaults of its settings.

    Called with settings, it is a policy: see `kernel`. `learns` gives it a state of so much `room`, which
    `learn` changes.
    """

    def __init__(
        self,
        function: Chooser,
        defaults: dict[str, Any],
        learn: LearnKernel | None = None,
        room: int | Room = 0,
    ) -> None:
        if not inspect.isfunction(function) or not _takes(function, 3):
            raise InvalidSetting(f"a kernel must be a function of t, view and rng; got {function!r}")
        functools.update_wrapper(self, function)
        self.__qualname__ = function.__qualname__.removesuffix(".function")
        function.__qualname__ = f"{self.__qualname__}.function"  # where pickle finds it
        self.function = function
        self.defaults = {name: _number(name, value) for name, value in defaults.items()}
        self.code: Chooser = compiled_for_user(function)
        self.learn: LearnKernel | None = None
        self.room: int | Room = 0
        if learn is not None:
            self.learns(room)(learn)

    def learns(self, room: int | Room) -> Callable[[LearnKernel], LearnKernel]:
        """Makes a function the one that takes rewards into a state of `room` numbers, all 0 at first.

        `room` is a number, or a function of the dimension and how many arms there are. The function
        is called with the state, the settings, the arms of the last choice, (d, K), and of one
        decision the arm, its features, its reward and whether it explored. It alone changes the state,
        and returns nothing; the kernel reads `view.state`. It hears of rewards from the kernel's first
        choice on; as a base of `Infex` with own data, of those of exploring rounds alone.

        >>> import infex
        >>> @infex.kernel
        ... def steady(t, seen, rng):
        ...     return int(seen.state[0])
        >>> @steady.learns(room=1)
        ... def after(state, settings, arms, arm, x, reward, explored):
        ...     state[0] = arm if reward > 0 else (arm + 1) % arms.shape[1]
        >>> infex.play(infex.environments.gaussian(dim=2, arms=3, seed=1), steady(), 100).horizon
        100
        """
        if not callable(room):
            whole("room", room, least=1)

        def attach(function: LearnKernel) -> LearnKernel:
            if not inspect.isfunction(function) or not _takes(function, 7):
                raise InvalidSetting(
                    "what learns must be a function of state, settings, arms, arm, x, reward and explored; "
                    f"got {function!r}"
                )
            self.learn, self.room = function, room
            return function

        return attach

    def __call__(self, *unnamed: float, **settings: float | None) -> KernelPolicy | KernelLearner:
        """The policy with these settings; the others have their defaults."""
        if unnamed:
            raise InvalidSetting(f"settings of {self.__name__} must be named, got {unnamed}")  # type: ignore[attr-defined]
        for name in settings:
            if name not in self.defaults:
                known = ", ".join(self.defaults) or "none"
                raise InvalidSetting(f"{self.__name__} has no setting {name!r}; it has {known}")  # type: ignore[attr-defined]
        found = self.defaults | {name: _number(name, value) for name, value in settings.items()}
        kind: Any = KernelPolicy if self.learn is None else KernelLearner
        return kind(self, tuple(found.values()))  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<kernel {self.__module__}.{self.__qualname__}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kernel) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    @property
    def parts(self) -> tuple[Any, ...]:
        """All that makes it what it is."""
        return self.function, self.defaults, self.learn, self.room

    @property
    def _content(self) -> tuple[Any, ...]:
        written = [each.__code__ if inspect.isfunction(each) else each for each in (self.learn, self.room)]
        return self.__qualname__, self.function.__code__, tuple(self.defaults.items()), *written

    def __deepcopy__(self, memo: object) -> Kernel:
        """Itself, as of a function: it keeps nothing, and compiling takes long."""
        return self

    def __reduce__(self) -> Any:
        """By name where another process can import it, else with its code."""
        if importable(self, self.__module__, self.__qualname__):
            return self.__qualname__
        return Kernel, self.parts

    @functools.cached_property
    def address(self) -> Any:
        """Where the compiled kernel stands in memory; good as long as the kernel lives."""
        return self._address(self.code, arguments(), types.int64, "an arm, a whole number such as int(k)")

    @functools.cached_property
    def reads_pulls(self) -> bool:
        """May it read pulls or sums, which the hot loop does not keep?"""
        return mentions(self.function, "pulls", "sums", "counts")

    @functools.cached_property
    def learner(self) -> LearnKernel:
        """What takes in rewards, compiled."""
        assert self.learn is not None
        return compiled_for_user(self.learn)

    @functools.cached_property
    def learner_address(self) -> Any:
        """Where it stands in memory."""
        return self._address(self.learner, learner_arguments(), types.none, "nothing")

    def _address(self, code: object, kinds: tuple[Any, ...], result: object, wanted: str) -> Any:
        return users_address(repr(self), code, kinds, result, wanted)

    def state_of(self, dim: int, arms: int) -> int:
        """How many numbers it remembers."""
        asked = self.room(dim, arms) if callable(self.room) else self.room
        return whole(f"room of {self!r}", asked, least=1)

    def named(self, settings: tuple[float | None, ...]) -> str:
        """The expression of the policy with these settings."""
        given = (f"{name}={value!r}" for name, value in zip(self.defaults, settings, strict=True))
        return f"{self.__name__}({', '.join(given)})"  # type: ignore[attr-defined]

    def setting(self, name: str, settings: tuple[float | None, ...]) -> float | None:
        """One of the settings by its name."""
        if name not in self.defaults:
            raise AttributeError(name)
        return dict(zip(self.defaults, settings, strict=True))[name]

    def chosen(
        self, t: int, evidence: Evidence, rng: np.random.Generator, settings: Floats, state: Floats
    ) -> Choice:
        """The arm that the kernel gives."""
        _ = self.address  # which refuses what cannot be compiled
        arm = int(self.code(t, evidence.view(settings, state), rng))
        return Choice(arm) if arm >= -1 else Choice(-2 - arm, explored=False)


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
        return numbers_of(self.settings)

    def compiled(self) -> Form:
        """The kernel itself, in every round."""
        base = bases.Base(bases.KERNEL, bases.READS_WIDTHS, address=self.kernel.address)
        return Form(base, self._numbers(), reads_pulls=self.kernel.reads_pulls)

    def choose(self, t: int, evidence: Evidence, rng: np.random.Generator) -> Choice:
        """The arm that the kernel gives."""
        return self.kernel.chosen(t, evidence, rng, self._numbers(), NO_STATE)

    def __getattr__(self, name: str) -> float | None:
        """A setting by its name; what is read off any policy by a name is no setting."""
        if name.startswith("_") or name in FIELDS or name in HOOKS:
            raise AttributeError(name)
        return self.kernel.setting(name, self.settings)

    def __repr__(self) -> str:
        return self.kernel.named(self.settings)


@final
@dataclass(slots=True, repr=False, unsafe_hash=True)
class KernelLearner:
    """A kernel with its settings and a state of its own: a learner like any other, for fixed arms."""

    kernel: Kernel
    settings: tuple[float | None, ...]
    state: Floats = field(default_factory=lambda: np.zeros(0), compare=False)
    arms: Floats = field(default_factory=lambda: np.zeros((0, 0)), compare=False)

    def with_delta(self, delta: float) -> KernelLearner:
        """The same with this delta, if it has one and none is said."""
        if None not in self.settings:
            return self
        given = tuple(delta if each is None else each for each in self.settings)
        return KernelLearner(self.kernel, given, self.state, self.arms)

    def compiled(self) -> Form | None:
        """The kernel itself, in every round, from a state of zeros on."""
        if self.state.any():
            return None
        kernel = self.kernel
        base = bases.Base(bases.KERNEL, bases.READS_WIDTHS, address=kernel.address)
        return Form(base, numbers_of(self.settings), learner=kernel.learner_address, room=kernel.state_of)

    def choose(self, t: int, evidence: Evidence, rng: np.random.Generator) -> Choice:
        """The arm that the kernel gives."""
        self.arms = np.ascontiguousarray(evidence.arms.T)
        if not self.state.size:
            self.state = np.zeros(self.kernel.state_of(*self.arms.shape))
        return self.kernel.chosen(t, evidence, rng, numbers_of(self.settings), self.state)

    def learn(self, arm: int, features: Floats, reward: float, explored: bool) -> None:
        """Takes in the reward of one decision, from its own first choice on."""
        if not self.state.size:
            return
        _ = self.kernel.learner_address  # which refuses what cannot be compiled
        given = shown(numbers_of(self.settings)), shown(self.arms), arm, shown(features), reward, explored
        self.kernel.learner(self.state, *given)

    def __getattr__(self, name: str) -> float | None:
        """A setting by its name."""
        if name.startswith("_") or name in FIELDS or name in HOOKS:
            raise AttributeError(name)
        return self.kernel.setting(name, self.settings)

    def __repr__(self) -> str:
        return self.kernel.named(self.settings)


@overload
def kernel(function: Chooser, /) -> Kernel: ...


@overload
def kernel(**settings: float | None) -> Callable[[Chooser], Kernel]: ...


def kernel(function: Chooser | None = None, /, **settings: float | None) -> Any:
    """Makes a policy of a function that Numba can compile.

    The function gets the round, a view of what is known (read it with the functions of
    `infex.view`) and the policy's own generator, and returns an arm; `view.unexplored(arm)` if the
    round is not to count as exploring. Settings are numbers: name them with their defaults in the
    decorator, and find them in `view.settings` in that order. A `delta` whose default is None is 1/T where
    a horizon T is known, and 0.01 elsewhere, as that of LinUCB.

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
    too. With `learns` it has a state of its own. It cannot write to what it is given, but for `rng`; it
    must not keep an array of it beyond the call, nor read beyond an array's end: nobody looks. What it
    raises is raised by `play`. Globals are compiled in as they are at its first use, so numbers that
    change are settings.
    """
    if function is None:
        checked = {name: _number(name, value) for name, value in settings.items()}
        return lambda given: Kernel(given, checked)
    return Kernel(function, {})


def _number(name: str, value: float | None) -> float | None:
    """A setting: a number, or for `delta` None, which says none."""
    return None if name == "delta" and value is None else real(name, value)


def numbers_of(settings: tuple[float | None, ...]) -> Floats:
    """Settings as a kernel reads them."""
    return np.array([UNSAID_DELTA if each is None else each for each in settings], dtype=np.float64)


def _takes(function: Callable[..., object], count: int) -> bool:
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    return True
