"""What a policy is, and all that infex reads of one beside its choice."""

from __future__ import annotations

import copy
import dataclasses
import math
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, cast, runtime_checkable

import numpy as np

from infex.arrays import Floats
from infex.checks import misspelt, safe_repr, set_fields
from infex.errors import InfexWarning, InvalidArms, InvalidChoice, InvalidSetting
from infex.models.layout import Radius
from infex.models.posterior import Posterior
from infex.policies.choice import Choice, Reason, ScheduleStatus, checked_arm, checked_choice, is_built_in

if TYPE_CHECKING:
    from infex.policies.controls import ControlledSchedule


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
    """A problem with fixed arms."""

    @property
    def gaps(self) -> Floats:
        """By how much each arm is worse than the best, (K,)."""


@runtime_checkable
class ChangingProblem(Problem, Protocol):
    """A problem whose arms are drawn anew in every round."""

    def blocks(self, seed: int, horizon: int) -> Iterator[tuple[int, Floats]]:
        """The arms of all rounds, some at a time: the first of them, and their columns, (rounds, d, K)."""


class Hooks(Policy, Protocol):
    """All that infex reads of a policy beside `choose`. A policy has those that it needs.

    A policy that holds another as its `base` has the base's `uses_explored`, `confidence_radius`,
    `reward_bound` and `learn` where it has none of its own. The other hooks speak for the policy that has
    them alone.

    `base`: the policy inside a wrapper. `reward_bound`: the largest reward that fits the settings; a larger
    one is warned of. The rest are False by default. `uses_explored`: it reads `posterior.explored`, so that
    exploring rounds are kept apart too. `reports_explored`: as a base of `Infex`, it says itself by
    `Choice.explored` which of its rounds explore, as one with `uses_explored` does. `uses_allowed`: it reads
    `posterior.allowed` itself; any other policy is shown the allowed arms alone. `needs_own_data`: as a base
    of `Infex` it learns from its own rounds alone, so that data="shared" is refused. `uses_places`: a learner
    that is shown some arms alone finds them by `posterior.places`; any other is refused such a request.

    `missing_setting`: a text about what it must know before it can choose, such as "say horizon=...", and
    None once it does. A bandit refuses the policy with this text. A simulation tells first what it can, by
    `for_problem`.

    A name that is nearly that of a hook which the policy lacks, such as `propensty` or `use_explored`, is
    refused: nobody would read it. A name that begins with an underscore is the policy's own affair.
    """

    base: Policy
    reward_bound: float
    uses_explored: bool
    reports_explored: bool
    uses_allowed: bool
    uses_places: bool
    needs_own_data: bool
    missing_setting: str | None

    def learn(self, arm: int, features: Floats, reward: float, explored: bool) -> None:
        """Takes in the reward of one decision: for a learner with a state of its own."""

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float | None:
        """The probability that `choose` picks `arm`; None if it is not known."""

    def confidence_radius(self, posterior: Posterior) -> Radius:
        """The factor of the width in `low` and `high` of a decision: one, or one for each arm."""

    def for_problem(self, instance: Problem, horizon: int) -> Policy:
        """The policy that a simulation plays in its place, with what theory takes for known."""


HOOKS = frozenset(name for name in {*Hooks.__annotations__, *vars(Hooks)} if not name.startswith("_"))
METHODS = HOOKS - set(Hooks.__annotations__)
FLAG = (bool, np.bool_), "True or False"
ATTRIBUTES: dict[str, tuple[Any, str]] = {
    "uses_explored": FLAG,
    "reports_explored": FLAG,
    "uses_allowed": FLAG,
    "uses_places": FLAG,
    "needs_own_data": FLAG,
    "reward_bound": ((int, float, np.integer, np.floating), "a number"),
    "missing_setting": ((str, type(None)), "a text or None"),
}
MISSING: Any = object()


def hook(policy: object, name: str, default: object = None) -> Any:
    """One hook of a policy by its name, or `default`; an attribute of another kind is refused by name."""
    assert name in HOOKS, name
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


def _refuse_misspelt(policy: object) -> None:
    """Refuses a policy of a user's with an attribute that is nearly called as a hook that it lacks.

    What is nearly called as a method counts only if it is one; a `base` is read by the policy itself.
    """
    methods = [name for name in dir(type(policy)) if callable(getattr(type(policy), name, None))]
    for names, hooks in ((methods, METHODS), (dir(policy), ATTRIBUTES)):
        found = misspelt(names, [name for name in hooks if name not in dir(policy)])
        if found is not None:
            raise InvalidSetting(
                f"{type(policy).__name__} has {found[0]}, which infex does not read: call it {found[1]}, or "
                "begin its name with an underscore if it is something else"
            )


def checked(name: str, policy: object) -> Policy:
    """`policy`, if it is an object with a method choose."""
    if isinstance(policy, type):
        raise InvalidSetting(
            f"{name} must be a policy; got the class {policy.__name__}, say {policy.__name__}(...)"
        )
    if not callable(getattr(policy, "choose", None)):
        called = getattr(policy, "__name__", None) if callable(policy) else None
        hint = "" if called is None else f", say {called}()"
        raise InvalidSetting(
            f"{name} must be a policy, an object with a method choose; got {safe_repr(policy)}{hint}"
        )
    return cast(Policy, policy)


class StatefulPolicy:
    """A built-in policy that remembers something of its own choices, or may hold one that does.

    With `keeps_rows`, which controls may have too, its state holds features or rewards of single decisions,
    or sums of them: a study, from which units are erased, refuses it.
    """

    __slots__ = ()
    keeps_rows: ClassVar[bool] = False

    def restore_state(self, state: Any, dim: int) -> Any:
        """A state that was kept as plain data, as this policy reads it; None if it cannot be its own.

        `dim` is the number of features.
        """
        raise NotImplementedError


def are_numbers(values: object, count: int) -> bool:
    """Is it a tuple of so many finite numbers, as a policy state keeps them?

    >>> are_numbers((0.5, 2), 2), are_numbers((0.5, "2"), 2), are_numbers((0.5, float("nan")), 2)
    (True, False, False)
    """
    if not isinstance(values, tuple) or len(values) != count:
        return False
    return all(type(number) in (int, float) and abs(number) < math.inf for number in values)


class SamplingPolicy:
    """A built-in policy whose propensities are known by draws alone."""

    __slots__ = ()

    def with_draws(self, draws: int) -> Policy:
        """The same with propensities that are known, by so many draws."""
        raise NotImplementedError


class ScheduledPolicy(StatefulPolicy):
    """What `Infex` is: `base` decides in the rounds of a schedule, and `greedy` in all others."""

    __slots__ = ()

    base: Policy
    greedy: Policy | None
    data: Literal["shared", "own"]
    controlled_schedule: ControlledSchedule


class InnerLearner(NamedTuple):
    """A learner inside a policy; does it hear of the rewards of exploring rounds alone?"""

    learner: Learner
    explored_only: bool


class PolicyInfo(NamedTuple):
    """What a policy and those inside it declare, read once when a bandit or a run gets the policy.

    `chain` are the policy, its base, the base of that and so on; `controlled_schedules` are those of all of
    them, and `controlled_schedule` is the policy's own. `lookback` is over how many rounds limits count, and
    `learners` has each learner once. `built_in`: is all of it infex's own, so that nothing can change it?
    """

    chain: tuple[Policy, ...]
    uses_explored: bool
    reports_explored: bool
    uses_allowed: bool
    uses_places: bool
    needs_own_data: bool
    missing_setting: str | None
    reward_bound: float | None
    confidence_radius: Callable[[Posterior], Radius] | None
    propensity: Callable[[int, Posterior, int], float | None] | None
    learners: tuple[InnerLearner, ...]
    controlled_schedule: ControlledSchedule | None
    controlled_schedules: tuple[ControlledSchedule, ...]
    lookback: int
    built_in: bool

    @property
    def policy(self) -> Policy:
        """The policy itself."""
        return self.chain[0]

    def update(self, arm: int, features: Floats, reward: float, explored: bool) -> None:
        """Passes the reward of a decision on to the learners that hear of it."""
        for learner, explored_only in self.learners:
            if explored or not explored_only:
                learner.learn(arm, features, reward, explored)


def policy_info(policy: Policy) -> PolicyInfo:
    """All that a round needs to know of a policy, by one walk through the policies it holds."""
    chain = tuple(_walk(policy))
    for link in chain:
        if not is_built_in(link):
            _refuse_misspelt(link)
    scheduled = [link for link in chain if isinstance(link, ScheduledPolicy)]
    schedules = tuple(link.controlled_schedule for link in scheduled)
    greedy = [policy_info(link.greedy) for link in scheduled if link.greedy is not None]
    learners = _learners(chain)
    parts = (*chain, *(part for schedule in schedules for part in schedule.parts()))
    uses_explored = bool(_inherited(chain, "uses_explored", False))
    missing = [*(hook(link, "missing_setting") for link in chain), *(info.missing_setting for info in greedy)]
    return PolicyInfo(
        chain=chain,
        uses_explored=uses_explored,
        reports_explored=bool(hook(policy, "reports_explored", uses_explored)),
        uses_allowed=bool(hook(policy, "uses_allowed", False)),
        uses_places=all(hook(inner.learner, "uses_places", False) for inner in learners),
        needs_own_data=any(hook(link, "needs_own_data", False) for link in chain),
        missing_setting=next(filter(None, missing), None),
        reward_bound=_inherited(chain, "reward_bound", None),
        confidence_radius=_inherited(chain, "confidence_radius", None),
        propensity=hook(policy, "propensity"),
        learners=learners,
        controlled_schedule=policy.controlled_schedule if isinstance(policy, ScheduledPolicy) else None,
        controlled_schedules=schedules,
        lookback=max((schedule.lookback for schedule in schedules), default=0),
        built_in=all(map(is_built_in, parts)) and all(info.built_in for info in greedy),
    )


def _walk(policy: object) -> Iterator[Any]:
    """The policy, its base, the base of that and so on; a circle ends."""
    walked: list[Any] = []
    while policy is not None and not any(policy is link for link in walked):
        walked.append(policy)
        yield policy
        policy = hook(policy, "base")


def _inherited(chain: tuple[object, ...], name: str, default: object) -> Any:
    """A hook of the outermost policy that has it."""
    values = (hook(link, name, MISSING) for link in chain)
    return next((value for value in values if value is not MISSING), default)


def _learners(chain: tuple[Policy, ...]) -> tuple[InnerLearner, ...]:
    """The first learner of the chain, and those in greedy policies; one that is both hears of all rewards."""
    found: list[InnerLearner] = []
    first, explored_only = None, False
    for link in chain:
        if first is None and hook(link, "learn") is not None:
            first = InnerLearner(cast(Learner, link), explored_only)
        if isinstance(link, ScheduledPolicy):
            for inner in () if link.greedy is None else policy_info(link.greedy).learners:
                found.append(InnerLearner(inner.learner, explored_only or inner.explored_only))
            explored_only = explored_only or link.data == "own"
    if first is not None:
        found.append(first)
    return tuple({id(inner.learner): inner for inner in reversed(found)}.values())


DEFAULT_DELTA = 0.01  # where no horizon is known


def resolve_defaults(policy: Policy, delta: float) -> Policy:
    """The policy with `delta` wherever it, a policy inside it or a control has None; itself if none has.

    A policy or control says that it has a delta by a dataclass field `delta` that is None by default.

    >>> from infex import Infex, LinUCB, every
    >>> resolve_defaults(Infex(LinUCB(), every(5)), 0.001).base.delta
    0.001
    >>> resolve_defaults(LinUCB(delta=0.01), 0.001).delta
    0.01
    """
    return cast(Policy, _resolved(policy, delta, ()))


def lacks_delta(policy: Policy) -> bool:
    """Is there a delta in it that `resolve_defaults` fills?"""
    return resolve_defaults(policy, DEFAULT_DELTA) is not policy


def _resolved(part: Any, delta: float, around: tuple[Any, ...]) -> Any:
    changed: dict[str, Any] = {"delta": delta} if _lacks_own_delta(part) else {}
    around = (part, *around)
    for name in ("base", "schedule", "greedy") if isinstance(part, ScheduledPolicy) else ("base", "schedule"):
        inner = getattr(part, name, None)
        if inner is not None and not any(inner is outer for outer in around):
            resolved = _resolved(inner, delta, around)
            if resolved is not inner:
                changed[name] = resolved
    return with_settings(part, **changed) if changed else part


def _lacks_own_delta(part: Any) -> bool:
    if getattr(part, "delta", 0.0) is not None or not dataclasses.is_dataclass(part):
        return False
    return any(
        field.name == "delta" and field.init and field.default is None for field in dataclasses.fields(part)
    )


def with_settings(part: Any, **changed: Any) -> Any:
    """The same policy or control with other settings.

    What can change is copied, for it may hold more than its settings.
    """
    with warnings.catch_warnings():  # whoever made it has been warned already
        warnings.simplefilter("ignore", InfexWarning)
        parameters = vars(type(part)).get("__dataclass_params__")  # a subclass may have a state beside fields
        if parameters is not None and parameters.frozen:
            return dataclasses.replace(part, **changed)
        other = copy.copy(part)
        if "__dict__" in dir(part):  # which a subclass of a dataclass with slots has, and its copy leaves out
            vars(other).update(vars(part))
        set_fields(other, **changed)
        return other


def _with_inner(policy: Policy, change: Callable[[Policy], Policy]) -> Policy:
    """The same wrapper around a changed base; the policy itself if it has none, or nothing changes."""
    base = hook(policy, "base")
    changed = base if base is None else change(base)
    return policy if changed is base else cast(Policy, with_settings(policy, base=changed))


def asks_for_problem(policy: Policy) -> bool:
    """Does the policy, or one in it, ask for the problem that it plays (`Hooks.for_problem`)?"""
    return any(hook(link, "for_problem") is not None for link in _walk(policy))


def for_problem(policy: Policy, instance: Problem, horizon: int) -> Policy:
    """The policy, or its base, once it is told the problem it plays, where it asks for that.

    Only a simulation can: some policies need a number that theory takes for known.
    """
    if not asks_for_problem(policy):
        return policy
    tells = hook(policy, "for_problem")
    if tells is not None:
        return cast(Policy, tells(instance, horizon))
    return _with_inner(policy, lambda base: for_problem(base, instance, horizon))


def with_draws(policy: Policy, draws: int) -> Policy:
    """The policy, and the bases in it, with propensities that are known: by so many draws, if they sample."""
    if isinstance(policy, SamplingPolicy):
        return policy.with_draws(draws)
    return _with_inner(policy, lambda base: with_draws(base, draws))


class InfexState(NamedTuple):
    """What the controls of an `Infex` remember, and its base."""

    states: tuple[tuple[Any, ...], ...]
    base: Any = None


def restore_state(policy: Policy, state: Any, dim: int) -> Any:
    """A policy state that was kept as plain data, as the policy reads it; None if it cannot be the policy's.

    `dim` is the number of features. A policy of a user's may remember anything; a wrapper may keep the state
    of an Infex inside its own.
    """
    if state is None:
        return None
    if isinstance(policy, StatefulPolicy):
        return policy.restore_state(state, dim)
    inner = next((link for link in _walk(policy) if isinstance(link, StatefulPolicy)), None)
    return state if inner is None else _restored_inside(state, inner, dim)


def _restored_inside(state: Any, inner: StatefulPolicy, dim: int) -> Any:
    """The state of a wrapper, with that of every Infex in it restored."""
    if isinstance(state, InfexState):
        return inner.restore_state(state, dim) or state
    if isinstance(state, dict):
        return {name: _restored_inside(part, inner, dim) for name, part in state.items()}
    if type(state) in (list, tuple):
        return type(state)(_restored_inside(part, inner, dim) for part in state)
    return state


def without_parameters(policy_state: Any) -> Any:
    """A policy state without what is of features that arms no longer have: it is found anew."""
    return _without(policy_state, ("has_parameters", "has_arms"))


def without_arms(policy_state: Any) -> Any:
    """A policy state without what names arms by their indices, once these are others."""
    return _without(policy_state, ("has_arms",))


def _without(policy_state: Any, marks: tuple[str, ...]) -> Any:
    if any(getattr(policy_state, mark, False) for mark in marks):
        return None
    if isinstance(policy_state, tuple):
        parts = [_without(part, marks) for part in policy_state]
        return type(policy_state)(*parts) if type(policy_state) is not tuple else tuple(parts)
    return policy_state


def no_arm_allowed(posterior: Posterior) -> bool:
    """Is there no arm that exploring may try?"""
    return posterior.allowed is not None and not posterior.allowed.any()


def choose_allowed(
    info: PolicyInfo, t: int, posterior: Posterior, rng: np.random.Generator, all_explored: bool = False
) -> Choice:
    """The policy's choice among the arms that are allowed; the greedy arm if none is.

    A policy that reads `posterior.allowed` itself is shown all arms, unless `all_explored`: all that it
    chooses counts as explored.
    """
    if (info.uses_allowed and not all_explored) or (allowed := posterior.allowed) is None:
        choice = info.policy.choose(t, posterior, rng)
        return choice if info.built_in else _checked_own(choice, posterior)
    if not allowed.any():
        status = None if info.controlled_schedule is None else ScheduleStatus.DROPPED
        return Choice(posterior.greedy, False, None, Reason.NO_ARM_ALLOWED, None, 1.0, 0.0, None, status)
    refuse_some(info, "`allowed` would", "posterior.allowed itself, and say uses_allowed = True")
    seen, places = posterior.among(allowed)
    choice = info.policy.choose(t, seen, rng)
    if not info.built_in:
        choice = _checked_own(choice, seen)
    return choice._replace(arm=int(places[checked_arm(choice, len(seen))]))


def propensity_allowed(
    info: PolicyInfo, t: int, posterior: Posterior, arm: int, all_explored: bool = False
) -> float | None:
    """The probability that `choose_allowed` picks `arm`; None if the policy does not tell."""
    tells, allowed = info.propensity, posterior.allowed
    if tells is None:
        return None
    if allowed is None or (info.uses_allowed and not all_explored):
        return tells(t, posterior, arm)
    if not allowed.any():
        return float(arm == posterior.greedy)
    seen, places = posterior.among(allowed)
    if not allowed[arm]:  # never, if propensities are known at all
        return None if tells(t, seen, 0) is None else 0.0
    return tells(t, seen, int(np.searchsorted(places, arm)))


def without_exploring(choice: Choice, posterior: Posterior) -> Choice:
    """What is played in the place of a choice where the request forbids exploring.

    The choice itself if it would not have explored, whatever was drawn; else the greedy arm.
    """
    if not choice.explored and choice.explore_probability == 0.0:
        return choice
    if not choice.explored and choice.explore_probability is None:  # it might have done anything else
        return choice._replace(propensity=None, explore_probability=0.0, base_propensity=None)
    missed = {ScheduleStatus.DUE: ScheduleStatus.DROPPED, ScheduleStatus.MADE_UP: ScheduleStatus.REST}
    status = None if choice.schedule_status is None else missed.get(choice.schedule_status)
    propensity = None if choice.explore_probability is None else 1.0
    return Choice(
        posterior.greedy, False, None, Reason.FORBIDDEN, None, propensity, 0.0, None,
        status or choice.schedule_status,
    )  # fmt: skip


def refuse_some(info: PolicyInfo, changes: str, advice: str) -> None:
    """Refuses to show some arms alone to a learner that knows arms by their indices."""
    if info.learners and not info.uses_places:
        raise InvalidArms(
            f"{safe_repr(info.policy)} knows arms by their indices, which {changes} change; let it read "
            f"{advice}"
        )


def refuse_offer(info: PolicyInfo) -> None:
    """Refuses to offer some arms alone to such a learner."""
    refuse_some(info, "an offer of some would", "posterior.places, and say uses_places = True")


def _checked_own(choice: Choice, posterior: Posterior) -> Choice:
    """A choice in which a user's code had a hand, whole."""
    whole = checked_choice(choice, len(posterior), posterior.dim)
    check_schedule_status(whole, posterior.spent.owed)
    return whole


def check_schedule_status(choice: Choice, owed: int) -> None:
    """Refuses a status that cannot be that of the choice, where so many explorations are owed."""
    status = choice.schedule_status
    if status is not None and choice.explored != (status in (ScheduleStatus.DUE, ScheduleStatus.MADE_UP)):
        raise InvalidChoice(
            f"a Choice with explored={choice.explored} cannot have the schedule_status {status!r}"
        )
    if status is ScheduleStatus.MADE_UP and not owed:
        raise InvalidChoice("no exploration is owed that a Choice could make up for")
