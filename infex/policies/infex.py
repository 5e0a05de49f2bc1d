"""How likely Infex is to explore in a round, and to play an arm."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal, NamedTuple, final

import numpy as np

from infex.arrays import Floats
from infex.checks import callers_level, one_of, quick, repr_settings, safe_repr
from infex.errors import InvalidChoice, InvalidSetting, SparseExploration
from infex.models.posterior import Posterior
from infex.policies.base import (
    InfexState,
    Policy,
    PolicyInfo,
    checked,
    choose_allowed,
    hook,
    policy_info,
    propensity_allowed,
    restore_state,
)
from infex.policies.choice import (
    TIES,
    Choice,
    Reason,
    ScheduleStatus,
    Ties,
    checked_arm,
    checked_choice,
    mixture,
)
from infex.policies.compiled import CompiledSpec, compiled_spec
from infex.policies.controls import Control, ControlledSchedule, RoundVerdict, State
from infex.policies.greedy import GREEDIES, EpsilonGreedy
from infex.schedules.base import Schedule, has


class Shares(NamedTuple):
    """The probability of an arm, the chance of exploring, and the law of the arm if the round explores."""

    propensity: float | None
    explore_probability: float | None
    base_propensity: float | None


UNKNOWN = Shares(None, None, None)


@final
class Likelihood(NamedTuple):
    """The controlled schedule and the base of an Infex, as far as probabilities depend on them."""

    controlled_schedule: ControlledSchedule
    base: PolicyInfo
    own: bool
    greedy: Callable[[int, Posterior, int], float | None]

    def seen(self, t: int, posterior: Posterior, policy_state: InfexState) -> tuple[int, Posterior]:
        """The round and the posterior as the base sees them; with own data it counts its own rounds.

        What is owed is not the base's to make up for. Pending decisions narrow what it reads: its
        rounds explore. (One that holds a schedule inside does so itself.)
        """
        seen = posterior
        if policy_state.base is not posterior.policy_state or posterior.spent.owed:
            seen = posterior.seen_by(policy_state.base, posterior.spent._replace(owed=0))
        clock, seen = (posterior.spent.done + 1, seen.explored) if self.own else (t, seen)
        return clock, seen if self.base.controlled_schedules else seen.narrowed

    def of_base(
        self, t: int, posterior: Posterior, opening: RoundVerdict, policy_state: InfexState, choice: Choice
    ) -> Shares:
        """Those of a round in which the base chose, and explored or, if it is believed in that, did not."""
        if (
            not self.controlled_schedule.drawn
            and not self.controlled_schedule.refusing
            and not self.base.reports_explored
        ):
            return Shares(choice.propensity, 1.0, choice.propensity)
        if self.controlled_schedule.refusing and (choice.propensity != 1.0 or self.controlled_schedule.drawn):
            return UNKNOWN  # another arm might have been refused
        opens = self._chance(t, posterior, opening, policy_state)
        greedy = None if opens in (1.0, None) else self.greedy(t, posterior, choice.arm)
        probability = mixture(opens, choice.propensity, greedy)
        mixes = opens not in (0.0, 1.0)  # might this round have been drawn as the other kind?
        if mixes and self.base.propensity is None:
            probability = None  # as greedy rounds, for which the hook is asked, cannot tell it either
        if not self.base.reports_explored:
            return Shares(probability, opens, choice.propensity)
        if mixes:
            return Shares(probability, None, None)  # as greedy rounds cannot ask the base whether it explores
        explores = choice.explore_probability
        both = None if opens is None or explores is None else opens * explores
        return Shares(probability, both, choice.base_propensity)

    def of_greedy(
        self,
        t: int,
        posterior: Posterior,
        opening: RoundVerdict,
        policy_state: InfexState,
        arm: int,
        share: float | None,
    ) -> Shares:
        """Those of a round that did not explore; `share` is that of the greedy arm among its ties."""
        if not self.controlled_schedule.drawn:
            return Shares(share, 0.0, None)
        opens = self._chance(t, posterior, opening, policy_state)
        if opens == 0.0:
            return Shares(share, 0.0, None)
        if self.controlled_schedule.refusing or opens is None:
            return UNKNOWN
        law = self._law(t, posterior, arm, policy_state)
        probability = mixture(opens, law, share)
        return (
            Shares(probability, None, None) if self.base.reports_explored else Shares(probability, opens, law)
        )

    def of(self, t: int, posterior: Posterior, policy_state: InfexState, arm: int) -> float | None:
        """The probability of any arm."""
        opening = self.controlled_schedule.opening(t, posterior, policy_state.states)
        chance = self._chance(t, posterior, opening, policy_state)
        law = None if chance in (0.0, None) else self._law(t, posterior, arm, policy_state)
        if self.controlled_schedule.refusing and law is not None:
            return None  # an arm may be refused, and the greedy one played in its place
        return mixture(chance, law, self.greedy(t, posterior, arm))

    def laws(self, t: int, posterior: Posterior, policy_state: InfexState) -> list[float | None]:
        """The law of each arm, if the round explores; None where the base says itself when it does."""
        arms = range(len(posterior))
        return [
            None if self.base.reports_explored else self._law(t, posterior, arm, policy_state) for arm in arms
        ]

    def _chance(
        self, t: int, posterior: Posterior, opening: RoundVerdict, policy_state: InfexState
    ) -> float | None:
        chance = self.controlled_schedule.chance(t, posterior, opening, policy_state.states)
        if chance not in (0.0, 1.0) and self.base.draws_rounds:
            return None  # the draws of the base's own schedule may be correlated with ours
        return chance

    def _law(self, t: int, posterior: Posterior, arm: int, policy_state: InfexState) -> float | None:
        clock, seen = self.seen(t, posterior, policy_state)
        return propensity_allowed(self.base, clock, seen, arm, trusted=self.base.reports_explored)


def accepts_infex_state(begin: InfexState, base: PolicyInfo, policy_state: object, dim: int) -> bool:
    """Is it a policy state of an Infex that begins like that, with a state for each control?"""
    return (
        isinstance(policy_state, InfexState)
        and [type(state) for state in policy_state.states] == [type(state) for state in begin.states]
        and (
            policy_state.base is None
            or base.accepts_state is None
            or base.accepts_state(policy_state.base, dim)
        )
    )


def restored_infex_state(begin: InfexState, base: object, policy_state: object) -> object:
    """The state of an Infex, with those of its controls as these have them, and the base's."""
    if not isinstance(policy_state, InfexState) or len(policy_state.states) != len(begin.states):
        return policy_state
    states = (_named(fresh, state) for fresh, state in zip(begin.states, policy_state.states, strict=True))
    return InfexState(tuple(states), restore_state(base, policy_state.base))


def _named(fresh: State, state: State) -> State:
    """A state as the control's own kind of tuple, if it has as many fields."""
    made = getattr(type(fresh), "_make", None)
    fits = isinstance(state, tuple) and len(fresh) == len(state)  # a file's may be anything
    return made(state) if fits and made is not None else state


def exploited(
    model: Policy | None, ties: Ties, t: int, posterior: Posterior, rng: np.random.Generator
) -> tuple[int, float | None]:
    """The arm of a round that does not explore, and with which probability it is picked."""
    if model is not None:
        return _modelled(model, t, posterior, rng)
    return (posterior.greedy, 1.0) if ties == "lowest" else GREEDIES[ties].pick(posterior, rng)


def _modelled(
    model: Policy, t: int, posterior: Posterior, rng: np.random.Generator
) -> tuple[int, float | None]:
    """The arm of a model; any may be played, also one that exploring may not try."""
    seen = posterior.exploited()
    choice = checked_choice(model.choose(t, seen, rng), len(seen), seen.dim)
    if choice.policy_state is not None or choice.features is not None:
        raise InvalidChoice(
            f"the model of greedy rounds, {safe_repr(model)}, may keep no policy state and no features"
        )
    known = choice.propensity is not None
    return choice.arm, choice.propensity if known else _told(model, t, posterior, choice.arm)


def share_of(model: Policy | None, ties: Ties, t: int, posterior: Posterior, arm: int) -> float | None:
    """With which probability an arm is played in a round that does not explore, if that is known."""
    greedy = GREEDIES[ties].propensity
    return greedy(t, posterior, arm) if model is None else _told(model, t, posterior, arm)


def _told(model: Policy, t: int, posterior: Posterior, arm: int) -> float | None:
    tells = policy_info(model).propensity
    return None if tells is None else tells(t, posterior.exploited(), arm)


def refuse_model(given: Policy | None, ties: Ties, base: PolicyInfo, own: bool) -> None:
    """Refuses a model that explores by itself, or learns from all rounds what the base learns from few."""
    if given is None:
        return
    model = policy_info(checked("greedy", given))
    if ties != "lowest":
        raise InvalidSetting(
            f"ties are the model's own where there is one, got ties={ties!r} and {safe_repr(given)}"
        )
    if model.controlled_schedules:
        raise InvalidSetting(f"a model for greedy rounds has no schedule of its own, got {safe_repr(given)}")
    if own and _learners(base) & _learners(model):
        raise InvalidSetting(
            "with own data the base hears of its own rounds alone and the model of all: "
            f"{safe_repr(given)} cannot be the learner of both"
        )


def _learners(info: PolicyInfo) -> set[int]:
    return {id(inner.learner) for inner in info.learners}


@final
@dataclass(frozen=True, slots=True)
class Infex:
    """Lets `base` decide in the rounds of `schedule`, and is greedy in all others.

    With `data="shared"` the base sees the data of all rounds. With `data="own"` it sees those of its own
    rounds alone and counts time by them, so that these are exactly a run of the base by itself; greedy
    rounds use all data either way. `ties` go to the "lowest" index, or at "random".

    `greedy` is a policy that decides where the base does not, in the place of the ridge's greedy arm, such as
    a model whose samples the base plays; a learner hears of all rewards. Costs stay those of the ridge.
    """

    base: Policy
    schedule: Schedule | Control
    _: KW_ONLY
    data: Literal["shared", "own"] = "shared"
    ties: Ties = "lowest"
    greedy: Policy | None = None
    controlled_schedule: ControlledSchedule = field(init=False, repr=False, compare=False)
    _likelihood: Likelihood = field(init=False, repr=False, compare=False)
    _begin: InfexState = field(init=False, repr=False, compare=False)

    uses_allowed = True
    __repr__ = repr_settings

    def __post_init__(self) -> None:
        controlled_schedule, info = _checked(self)
        object.__setattr__(self, "controlled_schedule", controlled_schedule)
        object.__setattr__(self, "_begin", InfexState(controlled_schedule.begin()))
        greedy_share = functools.partial(share_of, self.greedy, self.ties)
        likelihood = Likelihood(controlled_schedule, info, self.data == "own", greedy_share)
        object.__setattr__(self, "_likelihood", likelihood)

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The base's arm in the rounds of the schedule, the greedy arm in all others."""
        policy_state = posterior.policy_state or self._begin
        opening = self.controlled_schedule.opening(t, posterior, policy_state.states)
        if not opening.opens:
            return self._greedy(t, posterior, rng, opening, policy_state)
        info = self._likelihood.base
        clock, seen = self._likelihood.seen(t, posterior, policy_state)
        choice = choose_allowed(self.base, info, clock, seen, rng, trusted=info.reports_explored)
        if info.reports_explored and not choice.explored:  # nothing was tried, so nothing is charged
            shares = self._likelihood.of_base(t, posterior, opening, policy_state, choice)
            return _declined(choice, opening, policy_state, shares)
        loss = loss_of(posterior, checked_arm(choice, len(posterior)))
        judged = self.controlled_schedule.admits(opening, t, loss, posterior, policy_state.states)
        if not judged.opens:
            return self._greedy(t, posterior, rng, judged, policy_state, refused=choice.propensity)
        shares = self._likelihood.of_base(t, posterior, opening, policy_state, choice)
        states = self.controlled_schedule.after_exploring(loss, policy_state.states)
        base_note = policy_state.base if choice.policy_state is None else choice.policy_state
        kept = InfexState(states, base_note) if states or base_note is not None else None
        fields = (choice.arm, True, kept, opening.reason, choice.features, *shares, opening.schedule_status)
        return quick(Choice, fields)

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float | None:
        """The chance of `arm`, given the rounds before, over all draws; None where it is not known."""
        return self._likelihood.of(t, posterior, posterior.policy_state or self._begin, arm)

    def compiled(self) -> CompiledSpec | None:
        """The base in the rounds of the schedule, if neither it nor a control needs Python."""
        form = compiled_spec(self.base)
        if not isinstance(form, CompiledSpec) or not form.is_base or self.greedy is not None:
            return None
        form = form._replace(own=self.data == "own", random_ties=self.ties == "random", is_base=False)
        return _scheduled(form, self.schedule, self.controlled_schedule)

    @property
    def uses_explored(self) -> bool:
        """Must the exploring rounds be kept apart?"""
        beside = self.greedy is not None and policy_info(self.greedy).uses_explored
        return self.data == "own" or self._likelihood.base.uses_explored or beside

    @property
    def greedy_policy(self) -> Policy | None:
        """Who decides where the base does not."""
        return self.greedy

    def accepts_state(self, policy_state: object, dim: int) -> bool:
        """One of its own, with a state for each control."""
        return accepts_infex_state(self._begin, self._likelihood.base, policy_state, dim)

    def restore_state(self, policy_state: object) -> object:
        """Its own state, with those of its controls as these have them, and the base's."""
        return restored_infex_state(self._begin, self.base, policy_state)

    def passes_on(self, explored: bool) -> bool:
        """Does a base that learns by itself hear of the reward: of all, or of its own rounds alone?"""
        return explored or self.data == "shared"

    def _greedy(
        self,
        t: int,
        posterior: Posterior,
        rng: np.random.Generator,
        opening: RoundVerdict,
        policy_state: InfexState,
        refused: float | None = 1.0,
    ) -> Choice:
        """The greedy arm; `refused` is the probability with which the base chose an arm that was refused."""
        arm, share = exploited(self.greedy, self.ties, t, posterior, rng)
        if (
            opening.place is None and not self.controlled_schedule.drawn
        ):  # no control has objected, and no round was drawn
            return quick(
                Choice, (arm, False, None, opening.reason, None, share, 0.0, None, opening.schedule_status)
            )
        shares = UNKNOWN
        if refused == 1.0:
            shares = self._likelihood.of_greedy(t, posterior, opening, policy_state, arm, share)
        states = self.controlled_schedule.after_skip(opening, posterior, policy_state.states)
        kept = None if states is policy_state.states else InfexState(states, policy_state.base)
        return Choice(arm, False, kept, opening.reason, None, *shares, opening.schedule_status)


def loss_of(posterior: Posterior, arm: int) -> float:
    """The estimated loss of an arm: the best estimate of all arms minus its own, but for rounding."""
    return max(posterior.best - posterior.estimate(arm), 0.0)


def _scheduled(
    form: CompiledSpec, schedule: Schedule | Control, controlled_schedule: ControlledSchedule
) -> CompiledSpec | None:
    """The form with a schedule and its controls, if none of them needs Python."""
    if not isinstance(schedule, Control):
        return form._replace(schedule=schedule)
    controls = controlled_schedule.compiled()
    return None if controls is None else form._replace(schedule=controlled_schedule.plan, controls=controls)


def _declined(choice: Choice, opening: RoundVerdict, policy_state: InfexState, shares: Shares) -> Choice:
    schedule_status = ScheduleStatus.DROPPED if opening.due else ScheduleStatus.REST
    reason = Reason.DECLINED if opening.due else Reason.GREEDY
    kept = None if choice.policy_state is None else InfexState(policy_state.states, choice.policy_state)
    told = shares._asdict()
    return choice._replace(policy_state=kept, reason=reason, schedule_status=schedule_status, **told)


def _checked(infex: Infex) -> tuple[ControlledSchedule, PolicyInfo]:
    """The controlled schedule and the info of the base, if all settings fit."""
    info, schedule = policy_info(checked("base", infex.base)), infex.schedule
    one_of("ties", infex.ties, TIES)
    _refuse_data(infex, info)
    refuse_model(infex.greedy, infex.ties, info, infex.data == "own")
    _refuse_inner(infex, info)
    if isinstance(schedule, type) or not has(schedule, "explores"):
        raise InvalidSetting(f"schedule must be an object with a method explores, got {safe_repr(schedule)}")
    if has(schedule, "grows") and schedule.grows is False:
        warnings.warn(
            f"{safe_repr(schedule)} explores too rarely to keep the regret low for ever: its count does not "
            "grow faster than log t. For a short horizon that may be just what you want; then filter out "
            "infex.SparseExploration.",
            SparseExploration,
            stacklevel=callers_level(),
        )
    return ControlledSchedule(schedule), info


def _refuse_data(infex: Infex, info: PolicyInfo) -> None:
    """Refuses own data for a base that cannot be played by itself."""
    if one_of("data", infex.data, ("shared", "own")) == "shared":
        return
    if info.uses_explored:
        raise InvalidSetting(
            f"own data cannot be kept for a base that keeps its own: {safe_repr(infex.base)}"
        )
    if info.span > 0:
        raise InvalidSetting(
            "with own data a base counts its own rounds, and its windows would look back at others: "
            f"{safe_repr(infex.base)}"
        )


def _refuse_inner(infex: Infex, info: PolicyInfo) -> None:
    """Refuses controls inside the base that only the outermost schedule can keep."""
    if any(
        layer.missed == "make up"
        for controlled_schedule in info.controlled_schedules
        for layer in controlled_schedule.controls
    ):
        raise InvalidSetting(
            f"only the outermost schedule can make up for rounds, not that of {safe_repr(infex.base)}"
        )
    if any(controlled_schedule.refusing for controlled_schedule in info.controlled_schedules):
        raise InvalidSetting(
            "only the outermost schedule can refuse arms for their cost, as all that its base plays is "
            f"charged to it: put the limit around {safe_repr(infex.schedule)}, not into "
            f"{safe_repr(infex.base)}"
        )


MOST_LAWS = 1000  # arms; each is asked about by itself, and a law looks at all arms
SUM_ROUNDING = 1e-9


def base_propensities(policy: Policy, t: int, posterior: Posterior) -> Floats | None:
    """The chance of every arm if round t explores, (K,); None where it is not known, or takes long to find.

    That of a policy that samples takes many draws for each arm; of the arm that it plays a `Choice` tells it.
    """
    info = policy_info(policy)
    if len(posterior) > MOST_LAWS or any(hook(link, "with_propensity") is not None for link in info.chain):
        return None
    if isinstance(policy, EpsilonGreedy) and posterior.allowed is None:
        return np.full(len(posterior), 1.0 / len(posterior))
    if isinstance(policy, Infex):
        shares = policy._likelihood.laws(t, posterior, posterior.policy_state or policy._begin)
    elif info.controlled_schedules:
        return None
    else:
        shares = [propensity_allowed(info, t, posterior.narrowed, arm) for arm in range(len(posterior))]
    laws = np.array([np.nan if share is None else share for share in shares])
    return laws if abs(float(laws.sum()) - 1.0) <= SUM_ROUNDING else None
