"""What a policy is, and all that is read off one beside its choice."""

from __future__ import annotations

import copy
import dataclasses
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast, runtime_checkable

import numpy as np

from infex.arrays import Floats
from infex.checks import told
from infex.errors import InfexWarning, InvalidSetting
from infex.linear import Posterior, Radius
from infex.policies.choice import Choice
from infex.policies.settling import lacks_delta

if TYPE_CHECKING:
    from infex.policies.gate import Gate


class Policy(Protocol):
    """Settings and no data: one method, which changes nothing.

    `Hooks` says what else is read off a policy, where it is there.
    """

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The choice of round t, which counts from 1."""


class Learner(Policy, Protocol):
    """A policy with a state of its own, such as a wrapped model of another library."""

    def learn(self, arm: int, features: Floats, reward: float, explored: bool) -> None:
        """Takes in the reward of one decision."""


class Played(Protocol):
    """What a simulation may tell a policy about the problem it plays."""

    @property
    def theta(self) -> Floats:
        """The true parameter, (d,)."""

    @property
    def arms(self) -> Floats | int:
        """The fixed arms, (K, d), or how many are drawn anew in every round."""


@runtime_checkable
class PlayedFixed(Played, Protocol):
    """The same where arms are fixed."""

    @property
    def gaps(self) -> Floats:
        """By how much each arm is worse than the best, (K,)."""


@runtime_checkable
class PlayedChanging(Played, Protocol):
    """The same where arms are drawn anew in every round."""

    def blocks(self, seed: int, horizon: int) -> Iterator[tuple[int, Floats]]:
        """The arms of all rounds, some at a time: the first of them, and their columns, (rounds, d, K)."""


class Hooks(Policy, Protocol):
    """All that is read off a policy beside `choose`; a policy has any of these, or none.

    A policy that holds another as its `base` has the base's `uses_explored`, `radius`, `greatest` and
    `learn` where it has none of its own; the other hooks speak for the policy that has them alone.

    `base`: the policy inside a wrapper. `uses_explored`: are the exploring rounds kept apart too, as
    `posterior.explored`? False if it is not there. `tells_explored`: under `Infex`, is it believed in what it
    calls explored? That of `uses_explored` if it is not there. `heeds_allowed`: does it read
    `posterior.allowed` itself? Any other policy is shown the allowed arms alone. `reads_places`: does a
    learner that is shown some arms alone find them by `posterior.places`? Else it is refused. `greatest`: the
    largest reward that fits its settings; a larger one is warned of. `gate`: when it explores, for a policy
    with a schedule. `exploiter`: who decides where it does not explore; None is the greedy arm.
    """

    base: Policy
    exploiter: Policy | None
    uses_explored: bool
    tells_explored: bool
    heeds_allowed: bool
    reads_places: bool
    greatest: float
    gate: Gate

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float | None:
        """The chance that `choose` picks `arm`, if it is known."""

    def radius(self, posterior: Posterior) -> Radius:
        """The factor of the width in `low` and `high` of a decision: one, or one for each arm."""

    def informed(self, instance: Played, horizon: int) -> Policy:
        """The policy that a simulation plays in its place, if it asks for what theory takes for known."""

    def learn(self, arm: int, features: Floats, reward: float, explored: bool) -> None:
        """Takes in the reward of one decision: for a learner with a state of its own."""

    def passes_on(self, explored: bool) -> bool:
        """Does the learner inside hear of the reward of such a decision?"""

    def with_law(self, draws: int) -> Policy:
        """The same policy with a law that is known, by so many draws, for one that samples."""

    def with_delta(self, delta: float) -> Policy:
        """The same with this delta; itself if it has none, or says one. A dataclass needs no such method."""

    def accepts(self, note: object, dim: int) -> bool:
        """Can it read such a note, where arms have `dim` features? A policy without it reads any."""

    def revived(self, note: Any) -> Any:
        """A note that was kept as plain data, with the named tuples it had."""

    def compiled(self) -> Any:
        """How a compiled loop plays it, see `infex.policies.form`; None if it cannot."""


@runtime_checkable
class Opens(Protocol):
    """What says of a round whether it explores."""

    def opening(self, t: int, posterior: Posterior, states: Any) -> Any:
        """Does round t explore, and why, or why not?"""


HOOKS = frozenset(name for name in {*Hooks.__annotations__, *vars(Hooks)} if not name.startswith("_"))
METHODS = HOOKS - set(Hooks.__annotations__)
MISSING: Any = object()
ATTRIBUTES: dict[str, tuple[Any, str]] = {
    "uses_explored": ((bool, np.bool_), "True or False"),
    "tells_explored": ((bool, np.bool_), "True or False"),
    "heeds_allowed": ((bool, np.bool_), "True or False"),
    "reads_places": ((bool, np.bool_), "True or False"),
    "greatest": ((int, float, np.integer, np.floating), "a number"),
    "gate": (Opens, "a gate, as `Infex` has it"),
}


class Pupil(NamedTuple):
    """A learner inside a policy; it hears of a reward if all that stand around it pass it on."""

    learner: Learner
    hears: tuple[Callable[[bool], bool], ...]


class Traits(NamedTuple):
    """What the hooks of a policy say, read once, by one walk through the policies it holds.

    `chain` are the policy, its base, the base of that and so on, and `gates` those that they have.
    `draws_rounds`: does one of them explore in rounds that were drawn at random? `span`: how many rounds
    back do limits look? `pupils` are the learners, each once. `trusted`: is all of it infex's own?
    `lacks_delta`: is there a delta that nobody said?
    """

    chain: tuple[Policy, ...]
    uses_explored: bool
    tells_explored: bool
    heeds_allowed: bool
    reads_places: bool
    greatest: float | None
    radius: Callable[[Posterior], Radius] | None
    propensity: Callable[[int, Posterior, int], float | None] | None
    pupils: tuple[Pupil, ...]
    gate: Gate | None
    gates: tuple[Gate, ...]
    draws_rounds: bool
    span: int
    accepts: Callable[[Any, int], bool] | None
    trusted: bool
    lacks_delta: bool

    def teach(self, arm: int, features: Floats, reward: float, explored: bool) -> None:
        """Passes a reward on to the learners that hear of such rewards."""
        for learner, hears in self.pupils:
            if all(passes_on(explored) for passes_on in hears):
                learner.learn(arm, features, reward, explored)


def traits_of(policy: Policy) -> Traits:
    """All that a round reads off a policy beside its choice, by one walk through the policies it holds.

    What is asked once, when a policy is made or a run begins (`informed`, `with_law`, `compiled`, `revived`),
    is looked for by `hook` and the functions below.

    Policies of infex's own cannot change: what was read of the last ones is remembered.
    """
    remembered = REMEMBERED_TRAITS.get(id(policy))
    if remembered is not None and remembered.chain[0] is policy:
        return remembered
    traits = _read(policy)
    if traits.trusted:
        if len(REMEMBERED_TRAITS) >= MOST_REMEMBERED:
            REMEMBERED_TRAITS.clear()
        REMEMBERED_TRAITS[id(policy)] = traits
    return traits


def _read(policy: Policy) -> Traits:
    chain = tuple(_walk(policy))
    beside = _beside(chain)
    pupils = _pupils(chain, beside)
    uses = bool(_first(chain, "uses_explored", False))
    gates: list[Gate] = [gate for link in chain if (gate := _own(link, "gate")) is not None]
    parts = (*chain, *(part for gate in gates for part in gate.parts()))
    return Traits(
        chain=chain,
        uses_explored=uses,
        tells_explored=bool(_own(policy, "tells_explored", uses)),
        heeds_allowed=bool(_own(policy, "heeds_allowed", False)),
        reads_places=all(_own(pupil.learner, "reads_places", False) for pupil in pupils),
        greatest=_first(chain, "greatest", None),
        radius=_first(chain, "radius", None),
        propensity=_own(policy, "propensity"),
        pupils=pupils,
        gate=_own(policy, "gate"),
        gates=tuple(gates),
        draws_rounds=any(gate.drawn for gate in gates),
        span=max((gate.span for gate in gates), default=0),
        accepts=_own(policy, "accepts"),
        trusted=all(type(part).__module__.startswith("infex.") for part in parts)
        and all(each.trusted for each in beside.values()),
        lacks_delta=any(lacks_delta(part) for part in parts)
        or any(each.lacks_delta for each in beside.values()),
    )


def _beside(chain: tuple[Policy, ...]) -> dict[int, Traits]:
    """The traits of those who decide where a policy of the chain does not explore, by that one's place."""
    found = {place: _own(link, "exploiter") for place, link in enumerate(chain)}
    return {place: traits_of(each) for place, each in found.items() if each is not None}


def _pupils(chain: tuple[Policy, ...], beside: dict[int, Traits]) -> tuple[Pupil, ...]:
    """The first learner of the chain, and those beside it; one that is both hears of what either does."""
    both = [
        Pupil(learner, _passing(chain[:place]) + hears)
        for place, traits in beside.items()
        for learner, hears in traits.pupils
    ]
    first = next((place for place, link in enumerate(chain) if callable(_own(link, "learn"))), None)
    if first is not None:
        both.append(Pupil(cast(Learner, chain[first]), _passing(chain[:first])))
    return tuple({id(pupil.learner): pupil for pupil in reversed(both)}.values())


def _passing(around: tuple[Policy, ...]) -> tuple[Callable[[bool], bool], ...]:
    found = [_own(link, "passes_on") for link in around]
    return tuple(passes_on for passes_on in found if passes_on is not None)


REMEMBERED_TRAITS: dict[int, Traits] = {}  # each holds its policy, so that no other can have its id
MOST_REMEMBERED = 64


def hook(policy: object, name: str) -> Any:
    """One hook of a policy by its name, None if it has none."""
    assert name in HOOKS, name
    return _own(policy, name)


def _own(policy: object, name: str, default: object = None) -> Any:
    value = getattr(policy, name, default)
    if value is default:
        return value
    if name in METHODS and not callable(value):
        raise InvalidSetting(
            f"{name} of {type(policy).__name__} is no method, but infex reads it as one: rename it"
        )
    if name in ATTRIBUTES and not isinstance(value, ATTRIBUTES[name][0]):
        raise InvalidSetting(
            f"{name} of {type(policy).__name__} must be {ATTRIBUTES[name][1]}, as infex reads it; it is a "
            f"{type(value).__name__}: rename it if it is something else"
        )
    return value


def _first(chain: tuple[object, ...], name: str, default: object) -> Any:
    values = (_own(link, name, MISSING) for link in chain)
    return next((value for value in values if value is not MISSING), default)


def _walk(policy: object) -> Iterator[Any]:
    walked: list[Any] = []
    while policy is not None and not any(policy is link for link in walked):
        walked.append(policy)
        yield policy
        policy = _own(policy, "base")


def checked(name: str, policy: object) -> Policy:
    """`policy`, if it is an object with a method choose."""
    if isinstance(policy, type):
        raise InvalidSetting(
            f"{name} must be a policy; got the class {policy.__name__}, say {policy.__name__}(...)"
        )
    if not callable(_own(policy, "choose")):
        called = _own(policy, "__name__") if callable(policy) else None
        hint = "" if called is None else f", say {called}()"
        raise InvalidSetting(
            f"{name} must be a policy, an object with a method choose; got {told(policy)}{hint}"
        )
    return cast(Policy, policy)


def informed(policy: Policy, instance: Played, horizon: int) -> Policy:
    """The policy, or its base, once it is told the problem it plays, where it asks for that.

    Only a simulation can: some policies need a number that theory takes for known.
    """
    tells = _own(policy, "informed")
    if callable(tells):
        return tells(instance, horizon)  # type: ignore[no-any-return]
    base = _own(policy, "base")
    told = base if base is None else informed(base, instance, horizon)
    return policy if told is None or told is base else with_base(policy, told)


def with_law(policy: Policy, draws: int) -> Policy:
    """The policy, and the bases in it, with laws that are known, by so many draws where they sample."""
    tells = _own(policy, "with_law")
    if tells is not None:
        return tells(draws)  # type: ignore[no-any-return]
    base = _own(policy, "base")
    lawful = base if base is None else with_law(base, draws)
    return policy if lawful is None or lawful is base else with_base(policy, lawful)


def with_base(policy: Policy, base: Policy) -> Policy:
    """The same wrapper around another base, whatever kind of class it is."""
    with warnings.catch_warnings():  # whoever made the policy has been warned already
        warnings.simplefilter("ignore", InfexWarning)
        if dataclasses.is_dataclass(policy) and not isinstance(policy, type):
            return dataclasses.replace(policy, base=base)
        other = copy.copy(policy)
        object.__setattr__(other, "base", base)
        return other
