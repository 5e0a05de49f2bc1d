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
from infex.policies.choice import Choice, Reason, ScheduleStatus, checked_arm, checked_choice

if TYPE_CHECKING:
    from infex.policies.controls import ControlledSchedule


DEFAULT_DELTA = 0.01  # where no horizon is known


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

    greedy_policy: Any
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
        return part.with_delta(DEFAULT_DELTA) is not part
    return isinstance(part, NamesDelta) and part.delta is None and _may_lack(_kind(part))


def _kind(part: object) -> Any:
    return type(part)


@functools.cache
def _may_lack(kind: Any) -> bool:
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    return any(field.name == "delta" and field.init and field.default is None for field in fields)


def resolve_defaults(policy: Policy, delta: float) -> Policy:
    """The policy with `delta` wherever it, its base or a control says none; itself if none of them lacks one.

    >>> from infex import Infex, LinUCB, every
    >>> settled(Infex(LinUCB(), every(5)), 0.001).base.delta
    0.001
    >>> settled(LinUCB(delta=0.01), 0.001).delta
    0.01
    """
    from infex.policies.base import policy_info

    info = policy_info(policy)
    if not info.lacks_delta:
        return policy
    if not info.built_in:
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


class Problem(Protocol):
    """What a simulation may tell a policy about the problem it plays."""

    @property
    def theta(self) -> Floats:
        """The true parameter, (d,)."""

    @property
    def arms(self) -> Floats | int:
        """The fixed arms, (K, d), or how many are drawn anew in every round."""


@runtime_checkable
class FixedProblem(Problem, Protocol):
    """The same where arms are fixed."""

    @property
    def gaps(self) -> Floats:
        """By how much each arm is worse than the best, (K,)."""


@runtime_checkable
class ChangingProblem(Problem, Protocol):
    """The same where arms are drawn anew in every round."""

    def blocks(self, seed: int, horizon: int) -> Iterator[tuple[int, Floats]]:
        """The arms of all rounds, some at a time: the first of them, and their columns, (rounds, d, K)."""


class Hooks(Policy, Protocol):
    """All that is read off a policy beside `choose`; a policy has any of these, or none.

    A policy that holds another as its `base` has the base's `uses_explored`, `radius`, `reward_bound` and
    `learn` where it has none of its own; the other hooks speak for the policy that has them alone.

    `base`: the policy inside a wrapper. `uses_explored`: are the exploring rounds kept apart too, as
    `posterior.explored`? False if it is not there. `reports_explored`: under `Infex`, is it believed in
    what it calls explored? That of `uses_explored` if it is not there. `uses_allowed`: does it read
    `posterior.allowed` itself? Any other policy is shown the allowed arms alone. `uses_places`: does a
    learner that is shown some arms alone find them by `posterior.places`? Else it is refused.
    `reward_bound`: the largest reward that fits its settings; a larger one is warned of.
    `controlled_schedule`: when it explores, for a policy with a schedule. `greedy_policy`: who decides
    where it does not explore; None is the greedy arm.
    """

    base: Policy
    greedy_policy: Policy | None
    uses_explored: bool
    reports_explored: bool
    uses_allowed: bool
    uses_places: bool
    reward_bound: float
    controlled_schedule: ControlledSchedule

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float | None:
        """The chance that `choose` picks `arm`, if it is known."""

    def radius(self, posterior: Posterior) -> Radius:
        """The factor of the width in `low` and `high` of a decision: one, or one for each arm."""

    def for_problem(self, instance: Problem, horizon: int) -> Policy:
        """The policy that a simulation plays in its place, if it asks for what theory takes for known."""

    def learn(self, arm: int, features: Floats, reward: float, explored: bool) -> None:
        """Takes in the reward of one decision: for a learner with a state of its own."""

    def passes_on(self, explored: bool) -> bool:
        """Does the learner inside hear of the reward of such a decision?"""

    def with_propensity(self, draws: int) -> Policy:
        """The same policy with a law that is known, by so many draws, for one that samples."""

    def with_delta(self, delta: float) -> Policy:
        """The same with this delta; itself if it has none, or says one. A dataclass needs no such method."""

    def accepts_state(self, policy_state: object, dim: int) -> bool:
        """Can it read such a policy state, where arms have `dim` features? A policy without it reads any."""

    def restore_state(self, policy_state: Any) -> Any:
        """A policy state that was kept as plain data, with the named tuples it had."""

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
    "reports_explored": ((bool, np.bool_), "True or False"),
    "uses_allowed": ((bool, np.bool_), "True or False"),
    "uses_places": ((bool, np.bool_), "True or False"),
    "reward_bound": ((int, float, np.integer, np.floating), "a number"),
    "controlled_schedule": (Opens, "a schedule with its controls, as `Infex` has it"),
}


class InnerLearner(NamedTuple):
    """A learner inside a policy; it hears of a reward if all that stand around it pass it on."""

    learner: Learner
    hears: tuple[Callable[[bool], bool], ...]


class PolicyInfo(NamedTuple):
    """What the hooks of a policy say, read once, by one walk through the policies it holds.

    `chain` are the policy, its base, the base of that and so on, and `controlled_schedules` those that
    they have. `draws_rounds`: does one of them explore in rounds that were drawn at random? `span`: how
    many rounds back do limits look? `learners` are the learners, each once. `built_in`: is all of it
    infex's own? `lacks_delta`: is there a delta that nobody said?
    """

    chain: tuple[Policy, ...]
    uses_explored: bool
    reports_explored: bool
    uses_allowed: bool
    uses_places: bool
    reward_bound: float | None
    radius: Callable[[Posterior], Radius] | None
    propensity: Callable[[int, Posterior, int], float | None] | None
    learners: tuple[InnerLearner, ...]
    controlled_schedule: ControlledSchedule | None
    controlled_schedules: tuple[ControlledSchedule, ...]
    draws_rounds: bool
    span: int
    accepts_state: Callable[[Any, int], bool] | None
    built_in: bool
    lacks_delta: bool

    def update(self, arm: int, features: Floats, reward: float, explored: bool) -> None:
        """Passes a reward on to the learners that hear of such rewards."""
        for learner, hears in self.learners:
            if all(passes_on(explored) for passes_on in hears):
                learner.learn(arm, features, reward, explored)


def policy_info(policy: Policy) -> PolicyInfo:
    """All that a round reads off a policy beside its choice, by one walk through the policies it holds.

    What is asked once, when a policy is made or a run begins (`for_problem`, `with_propensity`,
    `compiled`, `restore_state`), is looked for by `hook` and the functions below.

    Policies of infex's own cannot change: what was read of the last ones is remembered.
    """
    remembered = REMEMBERED_INFO.get(id(policy))
    if remembered is not None and remembered.chain[0] is policy:
        return remembered
    info = _read(policy)
    if info.built_in:
        if len(REMEMBERED_INFO) >= MOST_REMEMBERED:
            REMEMBERED_INFO.clear()
        REMEMBERED_INFO[id(policy)] = info
    return info


def _read(policy: Policy) -> PolicyInfo:
    chain = tuple(_walk(policy))
    beside = _beside(chain)
    learners = _learners(chain, beside)
    uses = bool(_first(chain, "uses_explored", False))
    controlled_schedules: list[ControlledSchedule] = [
        controlled_schedule
        for link in chain
        if (controlled_schedule := _own(link, "controlled_schedule")) is not None
    ]
    parts = (
        *chain,
        *(part for controlled_schedule in controlled_schedules for part in controlled_schedule.parts()),
    )
    return PolicyInfo(
        chain=chain,
        uses_explored=uses,
        reports_explored=bool(_own(policy, "reports_explored", uses)),
        uses_allowed=bool(_own(policy, "uses_allowed", False)),
        uses_places=all(_own(inner.learner, "uses_places", False) for inner in learners),
        reward_bound=_first(chain, "reward_bound", None),
        radius=_first(chain, "radius", None),
        propensity=_own(policy, "propensity"),
        learners=learners,
        controlled_schedule=_own(policy, "controlled_schedule"),
        controlled_schedules=tuple(controlled_schedules),
        draws_rounds=any(controlled_schedule.drawn for controlled_schedule in controlled_schedules),
        span=max((controlled_schedule.span for controlled_schedule in controlled_schedules), default=0),
        accepts_state=_own(policy, "accepts_state"),
        built_in=all(type(part).__module__.startswith("infex.") for part in parts)
        and all(each.built_in for each in beside.values()),
        lacks_delta=any(lacks_delta(part) for part in parts)
        or any(each.lacks_delta for each in beside.values()),
    )


def _beside(chain: tuple[Policy, ...]) -> dict[int, PolicyInfo]:
    """The traits of those who decide where a policy of the chain does not explore, by that one's place."""
    found = {place: _own(link, "greedy_policy") for place, link in enumerate(chain)}
    return {place: policy_info(each) for place, each in found.items() if each is not None}


def _learners(chain: tuple[Policy, ...], beside: dict[int, PolicyInfo]) -> tuple[InnerLearner, ...]:
    """The first learner of the chain, and those beside it; one that is both hears of what either does."""
    both = [
        InnerLearner(learner, _passing(chain[:place]) + hears)
        for place, info in beside.items()
        for learner, hears in info.learners
    ]
    first = next((place for place, link in enumerate(chain) if callable(_own(link, "learn"))), None)
    if first is not None:
        both.append(InnerLearner(cast(Learner, chain[first]), _passing(chain[:first])))
    return tuple({id(inner.learner): inner for inner in reversed(both)}.values())


def _passing(around: tuple[Policy, ...]) -> tuple[Callable[[bool], bool], ...]:
    found = [_own(link, "passes_on") for link in around]
    return tuple(passes_on for passes_on in found if passes_on is not None)


REMEMBERED_INFO: dict[int, PolicyInfo] = {}  # each holds its policy, so that no other can have its id
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


def for_problem(policy: Policy, instance: Problem, horizon: int) -> Policy:
    """The policy, or its base, once it is told the problem it plays, where it asks for that.

    Only a simulation can: some policies need a number that theory takes for known.
    """
    tells = _own(policy, "for_problem")
    if callable(tells):
        return tells(instance, horizon)  # type: ignore[no-any-return]
    base = _own(policy, "base")
    told = base if base is None else for_problem(base, instance, horizon)
    return policy if told is None or told is base else with_base(policy, told)


def with_propensity(policy: Policy, draws: int) -> Policy:
    """The policy, and the bases in it, with laws that are known, by so many draws where they sample."""
    tells = _own(policy, "with_propensity")
    if tells is not None:
        return tells(draws)  # type: ignore[no-any-return]
    base = _own(policy, "base")
    lawful = base if base is None else with_propensity(base, draws)
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


class InfexState(NamedTuple):
    """What the controls remember, and the base's policy state."""

    states: tuple[tuple[Any, ...], ...]
    base: Any = None


def restore_state(policy: object, policy_state: Any) -> Any:
    """A policy state of a policy by its own hook `restore_state`.

    One that has none, such as a wrapper of a user's, passes on what the policy inside it remembers, or
    keeps it somewhere in a policy state of its own: there the first policy inside that has the hook gets it.
    """
    if policy_state is None:
        return None
    chain = policy_info(policy).chain  # type: ignore[arg-type]
    revives = next((found for link in chain if (found := hook(link, "restore_state")) is not None), None)
    if revives is None:
        return policy_state
    return (
        revives(policy_state) if hook(policy, "restore_state") is not None else _inside(policy_state, revives)
    )


def _inside(policy_state: Any, revives: Any) -> Any:
    """The policy state, with every note of an Infex in it restored."""
    if isinstance(policy_state, InfexState):
        return revives(policy_state)
    if isinstance(policy_state, dict):
        return {name: _inside(part, revives) for name, part in policy_state.items()}
    if type(policy_state) in (list, tuple):
        return type(policy_state)(_inside(part, revives) for part in policy_state)
    return policy_state


def no_arm_allowed(posterior: Posterior) -> bool:
    """Is there no arm that exploring may try?"""
    return posterior.allowed is not None and not posterior.allowed.any()


def choose_allowed(
    policy: Policy,
    info: PolicyInfo,
    t: int,
    posterior: Posterior,
    rng: np.random.Generator,
    trusted: bool = True,
) -> Choice:
    """The policy's choice; among the arms that are allowed, if it does not look after that itself.

    It is not `built_in` with that where all it chooses counts as explored. If no arm is allowed, the
    greedy one is played.
    """
    if posterior.allowed is None or (trusted and info.uses_allowed):
        return _checked(policy.choose(t, posterior, rng), info, posterior)
    if no_arm_allowed(posterior):
        schedule_status = None if info.controlled_schedule is None else ScheduleStatus.DROPPED
        return Choice(
            posterior.greedy, False, None, Reason.NO_ARM_ALLOWED, None, 1.0, 0.0, None, schedule_status
        )
    refuse_some(policy, info, "`allowed` would", "posterior.allowed itself, and say heeds_allowed = True")
    seen, places = posterior.among(posterior.allowed)
    choice = _checked(policy.choose(t, seen, rng), info, seen)
    return choice._replace(arm=int(places[checked_arm(choice, len(seen))]))


def refuse_some(policy: Policy, info: PolicyInfo, changes: str, advice: str) -> None:
    """Refuses to show some arms alone to a learner that knows arms by their indices."""
    if info.learners and not info.uses_places:
        raise InvalidArms(
            f"{safe_repr(policy)} knows arms by their indices, which {changes} change; let it read {advice}"
        )


def refuse_offer(policy: Policy, info: PolicyInfo) -> None:
    """Refuses to offer some arms alone to such a learner."""
    refuse_some(policy, info, "an offer of some would", "posterior.places, and say reads_places = True")


def without_exploring(choice: Choice, posterior: Posterior) -> Choice:
    """What is played in the place of a choice where the request forbids exploring.

    The choice itself if it would not have explored, whatever was drawn; else the greedy arm.
    """
    if not choice.explored and choice.explore_probability == 0.0:
        return choice
    if (
        not choice.explored and choice.explore_probability is None
    ):  # nobody knows what else it might have done
        return choice._replace(propensity=None, explore_probability=0.0, base_propensity=None)
    missed = {ScheduleStatus.DUE: ScheduleStatus.DROPPED, ScheduleStatus.MADE_UP: ScheduleStatus.REST}
    schedule_status = (
        None if choice.schedule_status is None else missed.get(choice.schedule_status, choice.schedule_status)
    )
    share = None if choice.explore_probability is None else 1.0
    return Choice(posterior.greedy, False, None, Reason.FORBIDDEN, None, share, 0.0, None, schedule_status)


def _checked(choice: Choice, info: PolicyInfo, posterior: Posterior) -> Choice:
    """The choice, whole, if a user's code had a hand in it."""
    if info.built_in:
        return choice
    whole = checked_choice(choice, len(posterior), posterior.dim)
    check_schedule_status(whole, posterior.spent.owed)
    return whole


def check_schedule_status(choice: Choice, owed: int) -> None:
    """Refuses a status that cannot be that of the choice, where so many explorations are owed."""
    if choice.schedule_status is not None and choice.explored != (
        choice.schedule_status in (ScheduleStatus.DUE, ScheduleStatus.MADE_UP)
    ):
        raise InvalidChoice(
            f"a Choice with explored={choice.explored} cannot have the "
            f"schedule_status {choice.schedule_status!r}"
        )
    if choice.schedule_status is ScheduleStatus.MADE_UP and not owed:
        raise InvalidChoice("no exploration is owed that a Choice could make up for")


def propensity_allowed(
    info: PolicyInfo, t: int, posterior: Posterior, arm: int, trusted: bool = True
) -> float | None:
    """The chance that `choose_allowed` picks `arm`, if the policy tells."""
    if info.propensity is None:
        return None
    if posterior.allowed is None or (trusted and info.uses_allowed):
        return info.propensity(t, posterior, arm)
    if no_arm_allowed(posterior):
        return float(arm == posterior.greedy)
    seen, places = posterior.among(posterior.allowed)
    if not posterior.allowed[arm]:  # never, if the law is known at all
        return None if info.propensity(t, seen, 0) is None else 0.0
    return info.propensity(t, seen, int(np.searchsorted(places, arm)))
