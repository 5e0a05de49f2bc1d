"""What a policy is, and what may be read off one beside its choice."""

from __future__ import annotations

import copy
import dataclasses
import functools
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast, runtime_checkable

import numpy as np

from infex.arrays import Floats
from infex.checks import safe_repr
from infex.errors import InfexWarning, InvalidArms, InvalidChoice, InvalidSetting
from infex.models.layout import Radius
from infex.models.posterior import Posterior
from infex.policies.choice import Choice, Reason, Turn, arm_of, checked_choice

if TYPE_CHECKING:
    from infex.policies.controls import Gate


UNSAID_DELTA = 0.01  # where no horizon is known


@runtime_checkable
class NamesDelta(Protocol):
    """A policy or a control with a delta, which is None where nobody said one."""

    delta: float | None


@runtime_checkable
class HoldsPolicy(Protocol):
    """A policy around another."""

    base: Any


@runtime_checkable
class HoldsGreedy(Protocol):
    """A policy with one that decides where it does not explore."""

    exploiter: Any
    greedy: Any


@runtime_checkable
class HoldsSchedule(Protocol):
    """A policy or a control around a schedule."""

    schedule: Any


@runtime_checkable
class TakesDelta(Protocol):
    """What is no dataclass with a field `delta`, and can be given one."""

    def with_delta(self, delta: float) -> Any:
        """The same with this delta; itself if it has none, or says one."""


def lacks_delta(part: object) -> bool:
    """Has it a delta that nobody said?"""
    if isinstance(part, TakesDelta):
        return part.with_delta(UNSAID_DELTA) is not part
    return isinstance(part, NamesDelta) and part.delta is None and _may_lack(_kind(part))


def _kind(part: object) -> Any:
    return type(part)


@functools.cache
def _may_lack(kind: Any) -> bool:
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    return any(field.name == "delta" and field.init and field.default is None for field in fields)


def settled(policy: Policy, delta: float) -> Policy:
    """The policy with `delta` wherever it, its base or a control says none; itself if none of them lacks one.

    >>> from infex import Infex, LinUCB, every
    >>> settled(Infex(LinUCB(), every(5)), 0.001).base.delta
    0.001
    >>> settled(LinUCB(delta=0.01), 0.001).delta
    0.01
    """
    from infex.policies.base import traits_of

    traits = traits_of(policy)
    if not traits.lacks_delta:
        return policy
    if not traits.trusted:
        return cast("Policy", _filled(policy, delta))
    known = SETTLED.get((id(policy), delta))
    if known is None or known[0] is not policy:
        if len(SETTLED) >= MOST_SETTLED:
            SETTLED.clear()
        known = SETTLED[id(policy), delta] = policy, _filled(policy, delta)
    return cast("Policy", known[1])


SETTLED: dict[tuple[int, float], tuple[Any, Any]] = {}  # infex's own policies, which cannot change
MOST_SETTLED = 64


def _filled(part: Any, delta: float, above: tuple[Any, ...] = ()) -> Any:
    """A policy or a control with `delta` in the place of None, there and in what it holds."""
    if isinstance(part, TakesDelta):
        return part.with_delta(delta)
    changed: dict[str, Any] = {"delta": delta} if lacks_delta(part) else {}
    for name, inner in _held(part):
        if not any(inner is outer for outer in (part, *above)):
            filled = _filled(inner, delta, (part, *above))
            changed |= {} if filled is inner else {name: filled}
    return _with(part, changed) if changed else part


def _held(part: object) -> Iterator[tuple[str, object]]:
    if isinstance(part, HoldsPolicy):
        yield "base", part.base
    if isinstance(part, HoldsGreedy):
        yield "greedy", part.greedy
    if isinstance(part, HoldsSchedule):
        yield "schedule", part.schedule


def _with(part: Any, changed: dict[str, Any]) -> Any:
    """The same with other settings; what can change is copied, for it may hold more than its settings."""
    with warnings.catch_warnings():  # whoever made it has been warned already
        warnings.simplefilter("ignore", InfexWarning)
        if _is_frozen(type(part)):
            return dataclasses.replace(part, **changed)
        other = copy.copy(part)
        if "__dict__" in dir(part):  # which a subclass of a dataclass with slots has, and its copy leaves out
            vars(other).update(vars(part))
        for name, value in changed.items():
            object.__setattr__(other, name, value)
        return other


def _is_frozen(kind: Any) -> bool:
    """Is a class itself a frozen dataclass? A subclass of one may have a state beside its fields."""
    params = vars(kind).get("__dataclass_params__")
    return params is not None and bool(params.frozen)


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
        """How a compiled loop plays it, see `infex.policies.compiled`; None if it cannot."""


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
            f"{name} must be a policy, an object with a method choose; got {safe_repr(policy)}{hint}"
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


class InfexNote(NamedTuple):
    """What the controls remember, and the base's note."""

    states: tuple[tuple[Any, ...], ...]
    base: Any = None


def revived(policy: object, note: Any) -> Any:
    """A note of a policy by its own hook `revived`.

    One that has none, such as a wrapper of a user's, passes on what the policy inside it noted, or keeps it
    somewhere in a note of its own: there the first policy inside that has the hook gets it.
    """
    if note is None:
        return None
    chain = traits_of(policy).chain  # type: ignore[arg-type]
    revives = next((found for link in chain if (found := hook(link, "revived")) is not None), None)
    if revives is None:
        return note
    return revives(note) if hook(policy, "revived") is not None else _inside(note, revives)


def _inside(note: Any, revives: Any) -> Any:
    """The note, with every note of an Infex in it revived."""
    if isinstance(note, InfexNote):
        return revives(note)
    if isinstance(note, dict):
        return {name: _inside(part, revives) for name, part in note.items()}
    if type(note) in (list, tuple):
        return type(note)(_inside(part, revives) for part in note)
    return note


def none_allowed(posterior: Posterior) -> bool:
    """Is there no arm that exploring may try?"""
    return posterior.allowed is not None and not posterior.allowed.any()


def choose_allowed(
    policy: Policy,
    traits: Traits,
    t: int,
    posterior: Posterior,
    rng: np.random.Generator,
    trusted: bool = True,
) -> Choice:
    """The policy's choice; among the arms that are allowed, if it does not look after that itself.

    It is not `trusted` with that where all it chooses counts as explored. If no arm is allowed, the
    greedy one is played.
    """
    if posterior.allowed is None or (trusted and traits.heeds_allowed):
        return _checked(policy.choose(t, posterior, rng), traits, posterior)
    if none_allowed(posterior):
        turn = None if traits.gate is None else Turn.DROPPED
        return Choice(posterior.greedy, False, None, Reason.NO_ARM_ALLOWED, None, 1.0, 0.0, None, turn)
    refuse_some(policy, traits, "`allowed` would", "posterior.allowed itself, and say heeds_allowed = True")
    seen, places = posterior.among(posterior.allowed)
    choice = _checked(policy.choose(t, seen, rng), traits, seen)
    return choice._replace(arm=int(places[arm_of(choice, len(seen))]))


def refuse_some(policy: Policy, traits: Traits, changes: str, advice: str) -> None:
    """Refuses to show some arms alone to a learner that knows arms by their indices."""
    if traits.pupils and not traits.reads_places:
        raise InvalidArms(
            f"{safe_repr(policy)} knows arms by their indices, which {changes} change; let it read {advice}"
        )


def refuse_offer(policy: Policy, traits: Traits) -> None:
    """Refuses to offer some arms alone to such a learner."""
    refuse_some(policy, traits, "an offer of some would", "posterior.places, and say reads_places = True")


def unexplored(choice: Choice, posterior: Posterior) -> Choice:
    """What is played in the place of a choice where the request forbids exploring.

    The choice itself if it would not have explored, whatever was drawn; else the greedy arm.
    """
    if not choice.explored and choice.explore_probability == 0.0:
        return choice
    if (
        not choice.explored and choice.explore_probability is None
    ):  # nobody knows what else it might have done
        return choice._replace(propensity=None, explore_probability=0.0, base_propensity=None)
    missed = {Turn.DUE: Turn.DROPPED, Turn.MADE_UP: Turn.REST}
    turn = None if choice.turn is None else missed.get(choice.turn, choice.turn)
    share = None if choice.explore_probability is None else 1.0
    return Choice(posterior.greedy, False, None, Reason.FORBIDDEN, None, share, 0.0, None, turn)


def _checked(choice: Choice, traits: Traits, posterior: Posterior) -> Choice:
    """The choice, whole, if a user's code had a hand in it."""
    if traits.trusted:
        return choice
    whole = checked_choice(choice, len(posterior), posterior.dim)
    refuse_turn(whole, posterior.spent.owed)
    return whole


def refuse_turn(choice: Choice, owed: int) -> None:
    """Refuses a turn that cannot be that of the choice, where so many explorations are owed."""
    if choice.turn is not None and choice.explored != (choice.turn in (Turn.DUE, Turn.MADE_UP)):
        raise InvalidChoice(f"a Choice with explored={choice.explored} cannot have the turn {choice.turn!r}")
    if choice.turn is Turn.MADE_UP and not owed:
        raise InvalidChoice("no exploration is owed that a Choice could make up for")


def law_allowed(traits: Traits, t: int, posterior: Posterior, arm: int, trusted: bool = True) -> float | None:
    """The chance that `choose_allowed` picks `arm`, if the policy tells."""
    if traits.propensity is None:
        return None
    if posterior.allowed is None or (trusted and traits.heeds_allowed):
        return traits.propensity(t, posterior, arm)
    if none_allowed(posterior):
        return float(arm == posterior.greedy)
    seen, places = posterior.among(posterior.allowed)
    if not posterior.allowed[arm]:  # never, if the law is known at all
        return None if traits.propensity(t, seen, 0) is None else 0.0
    return traits.propensity(t, seen, int(np.searchsorted(places, arm)))
