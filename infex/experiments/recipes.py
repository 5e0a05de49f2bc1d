"""Problems and policies of a sweep as data: what they are called, and how a worker makes them."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, final

from infex import environments
from infex.checks import plain
from infex.errors import InvalidExpression, InvalidSetting
from infex.policies import Infex, LinTS, LinUCB, catalog
from infex.policies.protocol import checked
from infex.simulation.batch import name as stream_name
from infex.simulation.playing import checked_instance

KINDS: dict[str, Callable[..., Any]] = {"gaussian": environments.gaussian, "changing": environments.changing}


@final
@dataclass(frozen=True, slots=True)
class Problem:
    """A problem for each seed: one of `infex.environments` by its settings, or a user's.

    `source` is a kind such as "gaussian", `package.module:object`, or an instance; an object that
    can be called is called with the seed.
    """

    source: Any
    settings: tuple[tuple[str, Any], ...] = ()
    label: str = ""

    def __post_init__(self) -> None:
        if not self.label:
            object.__setattr__(self, "label", self._described())

    def make(self, seed: int) -> environments.Instance:
        """The instance of one seed."""
        if isinstance(self.source, str) and self.source in KINDS:
            made = KINDS[self.source](seed=seed, **dict(self.settings))
        else:
            found = load(self.source) if isinstance(self.source, str) else self.source
            made = found(seed) if callable(found) else found
        return checked_instance(made)  # type: ignore[no-any-return]

    def _described(self) -> str:
        if isinstance(self.source, str) and self.source in KINDS:
            return f"{self.source}({', '.join(f'{name}={_word(value)}' for name, value in self.settings)})"
        if isinstance(self.source, str):
            return self.source
        if callable(self.source):
            return f"{self.source.__module__}:{self.source.__qualname__}"
        return f"{type(self.source).__name__}({self.source.key:016x})"


@final
@dataclass(frozen=True, slots=True)
class Player:
    """A policy under the name it has in tables; `base` is the name of the base it explores with."""

    policy: Any
    label: str
    base: str | None = None


def problem(given: Any) -> Problem:
    """A problem from text such as "gaussian(dim=10, arms=100)", `package.module:object`, or an instance."""
    if isinstance(given, Problem):
        return given
    if not isinstance(given, str):
        if not callable(given):
            checked_instance(given)
        return Problem(given)
    kind, _, inside = given.partition("(")
    if kind.strip() in KINDS and inside.endswith(")"):
        return of_kind(kind.strip(), catalog.arguments(given))
    if ":" in given:
        load(given)
        return Problem(given)
    raise InvalidSetting(
        f"an environment must be like 'gaussian(dim=10, arms=100)', one of {', '.join(KINDS)}, or "
        f"'package.module:object'; got {given!r}"
    )


def of_kind(kind: str, settings: dict[str, Any]) -> Problem:
    """A problem of `infex.environments` by its settings, which are tried at once."""
    order = {name: place for place, name in enumerate(inspect.signature(KINDS[kind]).parameters)}
    for name in settings:
        if name not in order or name == "seed":
            known = ", ".join(each for each in order if each != "seed")
            raise InvalidSetting(f"{kind} has no setting {name!r}; it has {known}")
    for name in ("dim", "arms"):
        if name not in settings:
            raise InvalidSetting(f"{kind} needs {name}, as in {kind}(dim=10, arms=100)")
    found = Problem(kind, tuple(sorted(settings.items(), key=lambda item: order[item[0]])))
    found.make(seed=0)
    return found


def player(given: Any, delta: float | None = None) -> Player:
    """A policy from its catalogue expression, `package.module:object`, or itself.

    Policies whose `delta` is the default get the one given here; their names do not change.
    """
    if isinstance(given, Player):
        return given
    if not isinstance(given, str):
        policy = checked("policy", given)
        return Player(with_delta(policy, delta), label_of(policy), base_of(policy))
    if ":" in given:
        found = load(given)
        made = isinstance(found, type) or (callable(found) and not hasattr(found, "choose"))
        policy = checked("policy", found() if made else found)
        return Player(with_delta(policy, delta), given, None)
    policy = checked("policy", catalog.parse(given))
    return Player(with_delta(policy, delta), catalog.expression(policy), base_of(policy))


def combined(
    bases: Iterable[Any], schedules: Iterable[Any], data: Iterable[Any], delta: float | None
) -> list[Player]:
    """`Infex` of every base with every schedule, and data of each kind."""
    found = []
    for base in bases:
        inner = player(base, delta)
        for schedule in schedules:
            rule = catalog.parse(schedule) if isinstance(schedule, str) else schedule
            for kind in data:
                more = ", data=own" if kind == "own" else ""
                label = f"Infex({inner.label}, {label_of(rule)}{more})"
                found.append(Player(Infex(inner.policy, rule, data=kind), label, inner.label))
    return found


def with_delta(policy: Any, delta: float | None) -> Any:
    """The policy, or its base, with another delta in place of the default."""
    if delta is None:
        return policy
    if isinstance(policy, Infex):
        return dataclasses.replace(policy, base=with_delta(policy.base, delta))
    if isinstance(policy, LinUCB | LinTS) and policy.delta == type(policy)().delta:
        return dataclasses.replace(policy, delta=delta)
    return policy


def label_of(thing: Any) -> str:
    """A policy's or schedule's name in tables: its catalogue expression, or its own repr."""
    try:
        return catalog.expression(thing)
    except InvalidExpression:
        named = " object at 0x" not in repr(thing)
        return repr(thing) if named else stream_name(thing)


def base_of(policy: Any) -> str | None:
    """The name of the policy that an `Infex` explores with."""
    return label_of(policy.base) if isinstance(policy, Infex) else None


def load(reference: str) -> Any:
    """The object that `package.module:object` names."""
    module, _, name = reference.partition(":")
    try:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidSetting(f"cannot load {reference!r}: {error}") from error
    return found


def _word(value: Any) -> str:
    return value if isinstance(value, str) else plain(value)
