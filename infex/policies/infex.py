"""The paper's idea (Lee and Oh, 2025): a base decides in the rounds of a schedule, all others are greedy."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal, NamedTuple, final

import numpy as np

from infex.arrays import Floats
from infex.checks import callers_level, one_of, quick, repr_settings, safe_repr, set_fields
from infex.errors import InvalidChoice, InvalidSetting, SparseExploration
from infex.models.posterior import Posterior
from infex.policies.base import (
    InfexState,
    Policy,
    PolicyInfo,
    SamplingPolicy,
    ScheduledPolicy,
    are_numbers,
    checked,
    choose_allowed,
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
    is_built_in,
)
from infex.policies.compiled import CompiledSpec, compiled_spec
from infex.policies.controls import Control, ControlledSchedule, RoundVerdict, State
from infex.policies.greedy import GREEDIES, EpsilonGreedy
from infex.schedules.base import Schedule, has


class Propensities(NamedTuple):
    """The probability of an arm, that the round explores, and that of the arm if it does; None: not known."""

    propensity: float | None
    explore_probability: float | None
    base_propensity: float | None


UNKNOWN = Propensities(None, None, None)


def mixture(explore: float | None, base: float | None, greedy: float | None) -> float | None:
    """explore * base + (1 - explore) * greedy; None if one that matters is not known."""
    if explore is None:
        return None
    if explore == 0.0:
        return greedy
    if explore == 1.0 or base is None or greedy is None:
        return base if explore == 1.0 else None
    return explore * base + (1.0 - explore) * greedy


@final
@dataclass(frozen=True, slots=True)
class Infex(ScheduledPolicy):
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
    _base_info: PolicyInfo = field(init=False, repr=False, compare=False)
    _greedy_info: PolicyInfo | None = field(init=False, repr=False, compare=False)
    _initial: InfexState = field(init=False, repr=False, compare=False)

    uses_allowed = True
    __repr__ = repr_settings

    def __post_init__(self) -> None:
        base, greedy = _checked(self)
        schedule = ControlledSchedule(self.schedule)
        initial = InfexState(schedule.initial_states())
        set_fields(self, controlled_schedule=schedule, _base_info=base, _greedy_info=greedy, _initial=initial)

    @property
    def uses_explored(self) -> bool:
        """Must the exploring rounds be kept apart?"""
        greedy = self._greedy_info is not None and self._greedy_info.uses_explored
        return self.data == "own" or self._base_info.uses_explored or greedy

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The base's arm in the rounds of the schedule, the greedy arm in all others."""
        state = posterior.policy_state or self._initial
        schedule, certain = self.controlled_schedule, True
        verdict = schedule.judge(t, posterior, state.states)
        if verdict.explores:
            choice, verdict = self._explore(t, posterior, rng, verdict, state)
            if verdict.explores:
                return choice
            certain = choice.propensity == 1.0  # would any draw have been refused?
        if self._greedy_info is not None:
            arm, propensity = self._model_arm(self._greedy_info, t, posterior, rng)
        elif self.ties == "lowest":
            arm, propensity = posterior.greedy, 1.0
        else:
            arm, propensity = GREEDIES[self.ties].pick(posterior, rng)
        status = verdict.schedule_status
        if verdict.control is None and not verdict.due and not schedule.drawn:
            return quick(Choice, (arm, False, None, verdict.reason, None, propensity, 0.0, None, status))
        known = UNKNOWN
        if certain:
            known = self._propensities_of_greedy(t, posterior, verdict, state, arm, propensity)
        states = schedule.after_skip(verdict, posterior, state.states)
        kept = None if states is state.states else InfexState(states, state.base)
        return Choice(arm, False, kept, verdict.reason, None, *known, status)

    def _explore(
        self, t: int, posterior: Posterior, rng: np.random.Generator, verdict: RoundVerdict, state: InfexState
    ) -> tuple[Choice, RoundVerdict]:
        """The choice in a round of the base, and the verdict on it: its arm may be refused for the cost."""
        clock, seen = self._base_view(t, posterior, state)
        reports = self._base_info.reports_explored
        choice = choose_allowed(self._base_info, clock, seen, rng, all_explored=not reports)
        # a user's base may tell its propensity by the hook
        if choice.propensity is None and not self._base_info.built_in:
            told = propensity_allowed(self._base_info, clock, seen, choice.arm, all_explored=not reports)
            choice = choice._replace(propensity=told)
        if reports and not choice.explored:  # nothing was tried, so nothing is charged
            known = self._propensities_of_base(t, posterior, verdict, state, choice)
            return _declined(choice, verdict, state, known), verdict
        schedule = self.controlled_schedule
        arm = checked_arm(choice, len(posterior))
        judged = schedule.judge_arm(verdict, t, arm, posterior, state.states)
        if not judged.explores:
            return choice, judged
        known = self._propensities_of_base(t, posterior, verdict, state, choice)
        states = schedule.after_exploring(arm, posterior, state.states)
        inner = state.base if choice.policy_state is None else choice.policy_state
        kept = InfexState(states, inner) if states or inner is not None else None
        status = verdict.schedule_status
        return Choice(choice.arm, True, kept, verdict.reason, choice.features, *known, status), verdict

    def _model_arm(
        self, model: PolicyInfo, t: int, posterior: Posterior, rng: np.random.Generator
    ) -> tuple[int, float | None]:
        """The arm of the policy `greedy`; any may be played, also one that exploring may not try."""
        seen = posterior.exploited()
        choice = checked_choice(model.policy.choose(t, seen, rng), len(seen), seen.dim)
        if choice.policy_state is not None or choice.features is not None:
            raise InvalidChoice(
                f"the model of greedy rounds, {safe_repr(self.greedy)}, may keep no policy state and no "
                "features"
            )
        known = choice.propensity is not None
        return choice.arm, choice.propensity if known else self._greedy_propensity(t, posterior, choice.arm)

    def _base_view(self, t: int, posterior: Posterior, state: InfexState) -> tuple[int, Posterior]:
        """The round and the posterior as the base sees them; with own data it counts its own rounds.

        What is owed is not the base's to make up for. Pending decisions narrow what it reads: its
        rounds explore. (One that holds a schedule inside does so itself.)
        """
        seen = posterior
        if state.base is not posterior.policy_state or posterior.spent.owed:
            seen = posterior.seen_by(state.base, posterior.spent._replace(owed=0))
        clock, seen = (posterior.spent.done + 1, seen.explored) if self.data == "own" else (t, seen)
        return clock, seen if self._base_info.controlled_schedules else seen.narrowed

    # The probability of an arm is p q + (1 - p) g. Here p is the probability that the round explores, which
    # is 0 or 1 unless the rounds of the schedule are drawn at random; q is the base's probability of the arm,
    # and g that of greedy rounds: 1 for the greedy arm, if ties go to the lowest index.

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float | None:
        """The probability of `arm`, given the rounds before, over all draws; None where it is not known."""
        state = posterior.policy_state or self._initial
        verdict = self.controlled_schedule.judge(t, posterior, state.states)
        explore = self._explore_probability(t, posterior, verdict, state)
        base = None if explore in (0.0, None) else self._base_propensity(t, posterior, state, arm)
        if self.controlled_schedule.refuses_arms and base is not None:
            return None  # an arm may be refused, and the greedy one played in its place
        return mixture(explore, base, self._greedy_propensity(t, posterior, arm))

    def _base_propensities(self, t: int, posterior: Posterior) -> list[float | None]:
        """The probability of each arm if the round explores; None if the base says itself when it does."""
        if self._base_info.reports_explored:
            return [None] * len(posterior)
        state = posterior.policy_state or self._initial
        return [self._base_propensity(t, posterior, state, arm) for arm in range(len(posterior))]

    def _explore_probability(
        self, t: int, posterior: Posterior, verdict: RoundVerdict, state: InfexState
    ) -> float | None:
        explore = self.controlled_schedule.explore_probability(verdict, t, posterior, state.states)
        if explore not in (0.0, 1.0) and any(inner.drawn for inner in self._base_info.controlled_schedules):
            return None  # the draws of the base's own schedule may be correlated with ours
        return explore

    def _base_propensity(self, t: int, posterior: Posterior, state: InfexState, arm: int) -> float | None:
        clock, seen = self._base_view(t, posterior, state)
        all_explored = not self._base_info.reports_explored
        return propensity_allowed(self._base_info, clock, seen, arm, all_explored=all_explored)

    def _greedy_propensity(self, t: int, posterior: Posterior, arm: int) -> float | None:
        if self._greedy_info is None:
            return GREEDIES[self.ties].propensity(t, posterior, arm)
        tells = self._greedy_info.propensity
        return None if tells is None else tells(t, posterior.exploited(), arm)

    def _propensities_of_base(
        self, t: int, posterior: Posterior, verdict: RoundVerdict, state: InfexState, choice: Choice
    ) -> Propensities:
        """Those of a round in which the base chose, whether it explored or, if it reports that, did not."""
        schedule, reports = self.controlled_schedule, self._base_info.reports_explored
        if not schedule.drawn and not schedule.refuses_arms and not reports:
            return Propensities(choice.propensity, 1.0, choice.propensity)
        if schedule.refuses_arms and (choice.propensity != 1.0 or schedule.drawn):
            return UNKNOWN  # another arm might have been refused
        explore = self._explore_probability(t, posterior, verdict, state)
        greedy = None if explore in (1.0, None) else self._greedy_propensity(t, posterior, choice.arm)
        propensity = mixture(explore, choice.propensity, greedy)
        mixes = explore not in (0.0, 1.0)  # might this round have been drawn as the other kind?
        if mixes and self._base_info.propensity is None:
            propensity = None  # as greedy rounds, for which the hook is asked, cannot tell it either
        if not reports:
            return Propensities(propensity, explore, choice.propensity)
        if mixes:
            return Propensities(propensity, None, None)  # greedy rounds cannot ask the base if it explores
        explores = choice.explore_probability
        both = None if explore is None or explores is None else explore * explores
        return Propensities(propensity, both, choice.base_propensity)

    def _propensities_of_greedy(
        self,
        t: int,
        posterior: Posterior,
        verdict: RoundVerdict,
        state: InfexState,
        arm: int,
        greedy: float | None,
    ) -> Propensities:
        """Those of a round that did not explore; `greedy` is the probability of its arm in such a round."""
        schedule = self.controlled_schedule
        explore = self._explore_probability(t, posterior, verdict, state) if schedule.drawn else 0.0
        if explore == 0.0:
            return Propensities(greedy, 0.0, None)
        if schedule.refuses_arms or explore is None:
            return UNKNOWN
        base = self._base_propensity(t, posterior, state, arm)
        propensity = mixture(explore, base, greedy)
        if self._base_info.reports_explored:
            return Propensities(propensity, None, None)
        return Propensities(propensity, explore, base)

    def greedy_rounds_after(self, t: int) -> float:
        """How many rounds after t surely play the model's greedy arm; 0 where that cannot be told."""
        if self.greedy is not None or self.ties != "lowest":
            return 0
        return self.controlled_schedule.rests_after(t)

    def restore_state(self, state: object, dim: int) -> InfexState | None:
        """A state of its own, with those of its controls as these have them, and the base's."""
        initial = self._initial.states
        if not isinstance(state, InfexState) or not isinstance(state.states, tuple):
            return None
        if len(state.states) != len(initial):
            return None
        states = tuple(map(_as_kind_of, initial, state.states))
        inner = restore_state(self.base, state.base, dim)
        if not all(map(_is_alike, initial, states)) or (inner is None) != (state.base is None):
            return None
        return InfexState(states, inner)

    def compiled(self) -> CompiledSpec | None:
        """The base in the rounds of the schedule, if neither it nor a control needs Python."""
        spec = compiled_spec(self.base)
        if not isinstance(spec, CompiledSpec) or not spec.is_base or self.greedy is not None:
            return None
        spec = spec._replace(own=self.data == "own", random_ties=self.ties == "random", is_base=False)
        if not isinstance(self.schedule, Control):
            return spec._replace(schedule=self.schedule)
        controls = self.controlled_schedule.compiled()
        plan = self.controlled_schedule.plan
        return None if controls is None else spec._replace(schedule=plan, controls=controls)


def _declined(choice: Choice, verdict: RoundVerdict, state: InfexState, known: Propensities) -> Choice:
    """The choice of a base that was given a round, and says that it did not explore."""
    return choice._replace(
        policy_state=None if choice.policy_state is None else InfexState(state.states, choice.policy_state),
        reason=Reason.DECLINED if verdict.due else Reason.GREEDY,
        schedule_status=ScheduleStatus.DROPPED if verdict.due else ScheduleStatus.REST,
        **known._asdict(),
    )


def _as_kind_of(initial: State, state: State) -> State:
    """A state as the control's own kind of tuple, if it has as many fields."""
    make = getattr(type(initial), "_make", None)
    fits = isinstance(state, tuple) and len(initial) == len(state)  # a file's may be anything
    return make(state) if fits and make is not None else state


def _is_alike(initial: State, state: State) -> bool:
    """Is a control's state of the kind it has at first? One of infex's own has such parts, too."""
    alike = type(state) is type(initial)
    return alike and (not is_built_in(initial) or all(map(_is_alike_part, initial, state)))


def _is_alike_part(initial: object, part: object) -> bool:
    if isinstance(initial, tuple):
        return isinstance(part, tuple) and are_numbers(part, len(part))
    return are_numbers((part,), 1) if type(initial) is float else type(part) is type(initial)


def _checked(infex: Infex) -> tuple[PolicyInfo, PolicyInfo | None]:
    """What base and greedy policy declare, if all settings fit."""
    base, schedule = policy_info(checked("base", infex.base)), infex.schedule
    one_of("ties", infex.ties, TIES)
    one_of("data", infex.data, ("shared", "own"))
    if infex.data == "own":
        _refuse_own_data(infex.base, base)
    elif base.needs_own_data:
        raise InvalidSetting(
            f"{safe_repr(infex.base)} learns from its own rounds alone, as greedy ones break its law: "
            'say data="own"'
        )
    greedy = None if infex.greedy is None else policy_info(checked("greedy", infex.greedy))
    if greedy is not None:
        _refuse_model(infex, base, greedy)
    _refuse_inner_controls(infex, base)
    if isinstance(schedule, type) or not has(schedule, "explores"):
        raise InvalidSetting(f"schedule must be an object with a method explores, got {safe_repr(schedule)}")
    if has(schedule, "grows") and schedule.grows is False:
        warnings.warn(
            f"{safe_repr(schedule)} explores too rarely to keep the regret low for ever: its count does not "
            "grow faster than log t. For a short horizon that may be just what you want; then filter out "
            "infex.errors.SparseExploration.",
            SparseExploration,
            stacklevel=callers_level(),
        )
    return base, greedy


def _refuse_own_data(base: Policy, info: PolicyInfo) -> None:
    """Refuses own data for a base that cannot be played by itself."""
    if info.uses_explored:
        raise InvalidSetting(f"own data cannot be kept for a base that keeps its own: {safe_repr(base)}")
    if info.lookback > 0:
        raise InvalidSetting(
            "with own data a base counts its own rounds, and its windows would look back at others: "
            f"{safe_repr(base)}"
        )


def _refuse_model(infex: Infex, base: PolicyInfo, greedy: PolicyInfo) -> None:
    """Refuses a model that explores by itself, or learns from all rounds what the base learns from few."""
    given = safe_repr(infex.greedy)
    if infex.ties != "lowest":
        raise InvalidSetting(
            f"ties are the model's own where there is one, got ties={infex.ties!r} and {given}"
        )
    if greedy.controlled_schedules:
        raise InvalidSetting(f"a model for greedy rounds has no schedule of its own, got {given}")
    both = {id(inner.learner) for inner in base.learners} & {id(inner.learner) for inner in greedy.learners}
    if infex.data == "own" and both:
        raise InvalidSetting(
            "with own data the base hears of its own rounds alone and the model of all: "
            f"{given} cannot be the learner of both"
        )


def _refuse_inner_controls(infex: Infex, base: PolicyInfo) -> None:
    """Refuses controls inside the base that only the outermost schedule can keep."""
    inner = base.controlled_schedules
    if any(control.missed == "make up" for schedule in inner for control in schedule.controls):
        raise InvalidSetting(
            f"only the outermost schedule can make up for rounds, not that of {safe_repr(infex.base)}"
        )
    if any(schedule.refuses_arms for schedule in inner):
        raise InvalidSetting(
            "only the outermost schedule can refuse arms for their cost, as all that its base plays is "
            f"charged to it: put the limit around {safe_repr(infex.schedule)}, not into "
            f"{safe_repr(infex.base)}"
        )


MOST_ARMS = 1000  # each is asked about by itself, and the answer looks at all arms
SUM_ROUNDING = 1e-9


def base_propensities(policy: Policy, t: int, posterior: Posterior) -> Floats | None:
    """The probability of every arm if round t explores, (K,); None where not known, or slow to compute.

    Those of a policy that samples take many draws for each arm; a `Choice` has that of the arm it plays.
    """
    info = policy_info(policy)
    if len(posterior) > MOST_ARMS or any(isinstance(link, SamplingPolicy) for link in info.chain):
        return None
    if isinstance(policy, EpsilonGreedy) and posterior.allowed is None:
        return np.full(len(posterior), 1.0 / len(posterior))
    if isinstance(policy, Infex):
        known = policy._base_propensities(t, posterior)
    elif info.controlled_schedules:
        return None
    else:
        seen = posterior.narrowed
        known = [propensity_allowed(info, t, seen, arm) for arm in range(len(posterior))]
    found = np.array([np.nan if probability is None else probability for probability in known])
    return found if abs(float(found.sum()) - 1.0) <= SUM_ROUNDING else None
