"""Problems and policies of a sweep as data: what they are called, and how a worker makes them."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import itertools
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, final, runtime_checkable

from infex import environments
from infex.checks import plain
from infex.errors import InvalidExpression, InvalidSetting
from infex.experiments import references
from infex.experiments.content import digest
from infex.experiments.expressions import names_delta, parsed
from infex.experiments.naming import hint
from infex.experiments.wrapping import base_in
from infex.policies import Infex, Policy
from infex.policies.confidence import DEFAULT, Confidence
from infex.policies.traits import checked
from infex.records import catalog
from infex.records.stream_names import stream_name
from infex.schedules import Schedule
from infex.simulation.playing import checked_instance

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

GENERATORS: dict[str, Callable[..., Any]] = {
    "gaussian": environments.gaussian,
    "changing": environments.changing,
}


@runtime_checkable
class Chooses(Protocol):
    """An object with a method `choose`, also one that can be called."""

    choose: object


@runtime_checkable
class Defined(Protocol):
    """A function or a class, which knows where it was defined."""

    __module__: str
    __qualname__: str


@final
@dataclass(frozen=True, slots=True)
class Recipe:
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
        if self.is_of_a_kind:
            made = GENERATORS[self.source](seed=seed, **dict(self.settings))
        else:
            source = load(self.source) if isinstance(self.source, str) else self.source
            made = source(seed) if callable(source) else source
        return checked_instance(made)

    def content(self, seed: int) -> str:
        """A digest of the problem of one seed: of its settings, or of what a user's object gives."""
        if self.is_of_a_kind:
            return digest((self.source, self.settings))
        try:
            return digest(self.make(seed))
        except KeyboardInterrupt:
            raise
        except BaseException:  # a user's code may raise anything; playing it will record what
            return ""

    @property
    def is_of_a_kind(self) -> bool:
        """Is it one of `infex.environments` by its settings?"""
        return isinstance(self.source, str) and self.source in GENERATORS

    def _described(self) -> str:
        if self.is_of_a_kind:
            return f"{self.source}({', '.join(f'{name}={_word(value)}' for name, value in self.settings)})"
        if isinstance(self.source, str):
            return self.source
        if callable(self.source):
            return _called(self.source)
        return f"{type(self.source).__name__}({self.source.key:016x})"


@final
@dataclass(frozen=True, slots=True)
class LabelledPolicy:
    """A policy under the name it has in tables; `base` is the name of the base it explores with."""

    policy: Any
    label: str
    base: str | None = None
    content: str = field(init=False, repr=False)  # a digest of the policy

    def __post_init__(self) -> None:
        object.__setattr__(self, "content", digest(self.policy))


def recipe(given: object) -> Recipe:
    """A problem from text such as "gaussian(dim=10, arms=100)", `package.module:object`, or an instance."""
    if isinstance(given, Recipe):
        return given
    if not isinstance(given, str):
        if not callable(given):
            checked_instance(given)
        return Recipe(given)
    kind, _, inside = given.partition("(")
    if kind.strip() in GENERATORS and inside.endswith(")"):
        return of_kind(kind.strip(), catalog.arguments(given))
    if ":" in given:
        source = load(given)
        if not callable(source):
            checked_instance(source)
        return Recipe(given)
    raise InvalidSetting(
        f"an environment must be like 'gaussian(dim=10, arms=100)', one of {', '.join(GENERATORS)}, or "
        f"'package.module:object'; got {given!r}"
    )


def of_kind(kind: str, settings: dict[str, Any]) -> Recipe:
    """A problem of `infex.environments` by its settings, tried at once; defaults are left out."""
    asked = inspect.signature(GENERATORS[kind]).parameters
    order = {name: place for place, name in enumerate(asked)}
    for name in settings:
        if name not in order or name == "seed":
            known = ", ".join(each for each in order if each != "seed")
            near = hint(name, known.split(", "))
            raise InvalidSetting(f"{kind} has no setting {name!r}{near}; it has {known}")
    for name in ("dim", "arms"):
        if name not in settings:
            raise InvalidSetting(f"{kind} needs {name}, as in {kind}(dim=10, arms=100)")
    Recipe(kind, tuple(settings.items())).make(seed=0)
    named = [item for item in settings.items() if item[1] != asked[item[0]].default]
    return Recipe(kind, tuple(sorted(named, key=lambda item: order[item[0]])))


def player(given: object, delta: float | None = None) -> LabelledPolicy:
    """A policy from its catalogue expression, `package.module:object`, or itself.

    LinUCB and LinTS get the `delta` given here where their text names none, and where an object has
    the default: whether that was named cannot be seen. Their names do not change.
    """
    if isinstance(given, LabelledPolicy):
        return given
    if not isinstance(given, str):
        policy = checked("policy", given)
        return LabelledPolicy(with_delta(policy, delta), label_of(policy), base_of(policy))
    if references.holds_references(given):
        named = references.read(given, _loaded)
        made = checked("policy", named.thing)
        return LabelledPolicy(made if named.has_delta else with_delta(made, delta), named.label, named.base)
    if ":" in given:
        return LabelledPolicy(with_delta(_loaded(given), delta), given, None)
    policy = checked("policy", parsed(given, "policy"))
    if not names_delta(given):
        return LabelledPolicy(with_delta(policy, delta), catalog.expression(policy), base_of(policy))
    base = policy.base if isinstance(policy, Infex) else None
    return LabelledPolicy(policy, _written_out(policy), None if base is None else _written_out(base))


def _written_out(policy: Policy) -> str:
    """The expression of a policy with its delta; the catalogue leaves out a delta that is the default."""
    return catalog.expression(policy, said=("delta",))


def _loaded(reference: str) -> Policy:
    """The policy that `package.module:object` names, or that it makes."""
    source = load(reference)
    if not isinstance(source, type) and (not callable(source) or isinstance(source, Chooses)):
        return checked("policy", source)
    try:
        made = source()
    except Exception as error:  # a user's code may raise anything
        raise InvalidSetting(f"{reference!r} cannot be made without arguments: {error}") from error
    return checked("policy", made)


def schedule_of(given: str | Schedule) -> Schedule:
    """A schedule from its catalogue expression, or itself."""
    if not isinstance(given, str):
        return given
    schedule: Schedule = parsed(given, "schedule")
    return schedule


def combined(
    bases: Iterable[LabelledPolicy], schedules: Iterable[Schedule], data: Iterable[Literal["shared", "own"]]
) -> list[LabelledPolicy]:
    """`Infex` of every base with every schedule, and data of each kind."""
    players = []
    for base, schedule, kind in itertools.product(bases, schedules, data):
        more = ", data=own" if kind == "own" else ""
        label = f"Infex({base.label}, {label_of(schedule)}{more})"
        players.append(LabelledPolicy(Infex(base.policy, schedule, data=kind), label, base.label))
    return players


def with_delta(policy: Policy, delta: float | None) -> Policy:
    """The policy, or its base, with another delta in place of the default."""
    if delta is None:
        return policy
    if isinstance(policy, Confidence) and policy.delta == DEFAULT.delta:
        return _replaced(policy, delta=delta)
    base = base_in(policy)
    if base is None or not dataclasses.is_dataclass(policy) or isinstance(policy, type):
        return policy
    changed = with_delta(base, delta)
    return policy if changed is base else _replaced(policy, base=changed)


def _replaced(policy: DataclassInstance, **settings: object) -> Policy:
    """A policy that is a dataclass, with other settings."""
    return cast(Policy, dataclasses.replace(policy, **settings))


def label_of(thing: object) -> str:
    """A policy's or schedule's name in tables: its catalogue expression, or its own repr."""
    try:
        return catalog.expression(thing)
    except InvalidExpression:
        named = " object at 0x" not in repr(thing)
        return repr(thing) if named else stream_name(thing)


def base_of(policy: object) -> str | None:
    """The name of the policy that an `Infex` explores with."""
    return label_of(policy.base) if isinstance(policy, Infex) else None


def load(reference: str) -> Any:
    """The object that `package.module:object` names."""
    module, _, name = reference.partition(":")
    try:
        return operator.attrgetter(name)(importlib.import_module(module))
    except (Exception, SystemExit) as error:  # a module may raise anything while it is imported
        raise InvalidSetting(f"cannot load {reference!r}: {error}") from error


def _called(source: object) -> str:
    """A name for a function that makes problems: where it was defined, and the arguments of a partial."""
    if isinstance(source, functools.partial):
        words = [*map(_plainly, source.args)]
        words += [f"{name}={_plainly(value)}" for name, value in source.keywords.items()]
        return f"{_called(source.func)}({', '.join(words)})"
    named = source if isinstance(source, Defined) else type(source)
    return f"{named.__module__}:{named.__qualname__}"


def _plainly(value: object) -> str:
    """Its repr, without an address."""
    return "..." if " at 0x" in repr(value) else repr(value)


def _word(value: str | float) -> str:
    return value if isinstance(value, str) else plain(value)
