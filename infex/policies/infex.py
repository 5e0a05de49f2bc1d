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
    InfexNote,
    Policy,
    Traits,
    checked,
    choose_allowed,
    hook,
    law_allowed,
    revived,
    traits_of,
)
from infex.policies.choice import TIES, Choice, Reason, Ties, Turn, arm_of, checked_choice, mixed
from infex.policies.compiled import CompiledSpec, compiled_spec
from infex.policies.controls import Control, Gate, Opening, State
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
    """The gate and the base of an Infex, as far as probabilities depend on them."""

    gate: Gate
    base: Traits
    own: bool
    greedy: Callable[[int, Posterior, int], float | None]

    def seen(self, t: int, posterior: Posterior, note: InfexNote) -> tuple[int, Posterior]:
        """The round and the posterior as the base sees them; with own data it counts its own rounds.

        What is owed is not the base's to make up for. Pending decisions narrow what it reads: its
        rounds explore. (One that holds a schedule inside does so itself.)
        """
        seen = posterior
        if note.base is not posterior.note or posterior.spent.owed:
            seen = posterior.seen_by(note.base, posterior.spent._replace(owed=0))
        clock, seen = (posterior.spent.done + 1, seen.explored) if self.own else (t, seen)
        return clock, seen if self.base.gates else seen.narrowed

    def of_base(
        self, t: int, posterior: Posterior, opening: Opening, note: InfexNote, choice: Choice
    ) -> Shares:
        """Those of a round in which the base chose, and explored or, if it is believed in that, did not."""
        if not self.gate.drawn and not self.gate.refusing and not self.base.tells_explored:
            return Shares(choice.propensity, 1.0, choice.propensity)
        if self.gate.refusing and (choice.propensity != 1.0 or self.gate.drawn):
            return UNKNOWN  # another arm might have been refused
        opens = self._chance(t, posterior, opening, note)
        greedy = None if opens in (1.0, None) else self.greedy(t, posterior, choice.arm)
        probability = mixed(opens, choice.propensity, greedy)
        mixes = opens not in (0.0, 1.0)  # might this round have been drawn as the other kind?
        if mixes and self.base.propensity is None:
            probability = None  # as greedy rounds, for which the hook is asked, cannot tell it either
        if not self.base.tells_explored:
            return Shares(probability, opens, choice.propensity)
        if mixes:
            return Shares(probability, None, None)  # as greedy rounds cannot ask the base whether it explores
        explores = choice.explore_probability
        both = None if opens is None or explores is None else opens * explores
        return Shares(probability, both, choice.base_propensity)

    def of_greedy(
        self, t: int, posterior: Posterior, opening: Opening, note: InfexNote, arm: int, share: float | None
    ) -> Shares:
        """Those of a round that did not explore; `share` is that of the greedy arm among its ties."""
        if not self.gate.drawn:
            return Shares(share, 0.0, None)
        opens = self._chance(t, posterior, opening, note)
        if opens == 0.0:
            return Shares(share, 0.0, None)
        if self.gate.refusing or opens is None:
            return UNKNOWN
        law = self._law(t, posterior, arm, note)
        probability = mixed(opens, law, share)
        return (
            Shares(probability, None, None) if self.base.tells_explored else Shares(probability, opens, law)
        )

    def of(self, t: int, posterior: Posterior, note: InfexNote, arm: int) -> float | None:
        """The probability of any arm."""
        opening = self.gate.opening(t, posterior, note.states)
        chance = self._chance(t, posterior, opening, note)
        law = None if chance in (0.0, None) else self._law(t, posterior, arm, note)
        if self.gate.refusing and law is not None:
            return None  # an arm may be refused, and the greedy one played in its place
        return mixed(chance, law, self.greedy(t, posterior, arm))

    def laws(self, t: int, posterior: Posterior, note: InfexNote) -> list[float | None]:
        """The law of each arm, if the round explores; None where the base says itself when it does."""
        arms = range(len(posterior))
        return [None if self.base.tells_explored else self._law(t, posterior, arm, note) for arm in arms]

    def _chance(self, t: int, posterior: Posterior, opening: Opening, note: InfexNote) -> float | None:
        chance = self.gate.chance(t, posterior, opening, note.states)
        if chance not in (0.0, 1.0) and self.base.draws_rounds:
            return None  # the draws of the base's own schedule may be correlated with ours
        return chance

    def _law(self, t: int, posterior: Posterior, arm: int, note: InfexNote) -> float | None:
        clock, seen = self.seen(t, posterior, note)
        return law_allowed(self.base, clock, seen, arm, trusted=self.base.tells_explored)


def fits_note(begin: InfexNote, base: Traits, note: object, dim: int) -> bool:
    """Is it a note of an Infex that begins like that, with a state for each control?"""
    return (
        isinstance(note, InfexNote)
        and [type(state) for state in note.states] == [type(state) for state in begin.states]
        and (note.base is None or base.accepts is None or base.accepts(note.base, dim))
    )


def revived_note(begin: InfexNote, base: object, note: object) -> object:
    """A note of an Infex with the states of its controls as these have them, and the base's note."""
    if not isinstance(note, InfexNote) or len(note.states) != len(begin.states):
        return note
    states = (_named(fresh, state) for fresh, state in zip(begin.states, note.states, strict=True))
    return InfexNote(tuple(states), revived(base, note.base))


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
    return (posterior.greedy, 1.0) if ties == "lowest" else GREEDIES[ties].picked(posterior, rng)


def _modelled(
    model: Policy, t: int, posterior: Posterior, rng: np.random.Generator
) -> tuple[int, float | None]:
    """The arm of a model; any may be played, also one that exploring may not try."""
    seen = posterior.exploited()
    choice = checked_choice(model.choose(t, seen, rng), len(seen), seen.dim)
    if choice.note is not None or choice.features is not None:
        raise InvalidChoice(
            f"the model of greedy rounds, {safe_repr(model)}, may keep no note and no features"
        )
    known = choice.propensity is not None
    return choice.arm, choice.propensity if known else _told(model, t, posterior, choice.arm)


def share_of(model: Policy | None, ties: Ties, t: int, posterior: Posterior, arm: int) -> float | None:
    """With which probability an arm is played in a round that does not explore, if that is known."""
    greedy = GREEDIES[ties].propensity
    return greedy(t, posterior, arm) if model is None else _told(model, t, posterior, arm)


def _told(model: Policy, t: int, posterior: Posterior, arm: int) -> float | None:
    tells = traits_of(model).propensity
    return None if tells is None else tells(t, posterior.exploited(), arm)


def refuse_model(given: Policy | None, ties: Ties, base: Traits, own: bool) -> None:
    """Refuses a model that explores by itself, or learns from all rounds what the base learns from few."""
    if given is None:
        return
    model = traits_of(checked("greedy", given))
    if ties != "lowest":
        raise InvalidSetting(
            f"ties are the model's own where there is one, got ties={ties!r} and {safe_repr(given)}"
        )
    if model.gates:
        raise InvalidSetting(f"a model for greedy rounds has no schedule of its own, got {safe_repr(given)}")
    if own and _learners(base) & _learners(model):
        raise InvalidSetting(
            "with own data the base hears of its own rounds alone and the model of all: "
            f"{safe_repr(given)} cannot be the learner of both"
        )


def _learners(traits: Traits) -> set[int]:
    return {id(pupil.learner) for pupil in traits.pupils}


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
    gate: Gate = field(init=False, repr=False, compare=False)
    _likelihood: Likelihood = field(init=False, repr=False, compare=False)
    _begin: InfexNote = field(init=False, repr=False, compare=False)

    heeds_allowed = True
    __repr__ = repr_settings

    def __post_init__(self) -> None:
        gate, traits = _checked(self)
        object.__setattr__(self, "gate", gate)
        object.__setattr__(self, "_begin", InfexNote(gate.begin()))
        greedy_share = functools.partial(share_of, self.greedy, self.ties)
        likelihood = Likelihood(gate, traits, self.data == "own", greedy_share)
        object.__setattr__(self, "_likelihood", likelihood)

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The base's arm in the rounds of the schedule, the greedy arm in all others."""
        note = posterior.note or self._begin
        opening = self.gate.opening(t, posterior, note.states)
        if not opening.opens:
            return self._greedy(t, posterior, rng, opening, note)
        traits = self._likelihood.base
        clock, seen = self._likelihood.seen(t, posterior, note)
        choice = choose_allowed(self.base, traits, clock, seen, rng, trusted=traits.tells_explored)
        if traits.tells_explored and not choice.explored:  # nothing was tried, so nothing is charged
            shares = self._likelihood.of_base(t, posterior, opening, note, choice)
            return _declined(choice, opening, note, shares)
        loss = loss_of(posterior, arm_of(choice, len(posterior)))
        judged = self.gate.admits(opening, t, loss, posterior, note.states)
        if not judged.opens:
            return self._greedy(t, posterior, rng, judged, note, refused=choice.propensity)
        shares = self._likelihood.of_base(t, posterior, opening, note, choice)
        states = self.gate.after_exploring(loss, note.states)
        base_note = note.base if choice.note is None else choice.note
        kept = InfexNote(states, base_note) if states or base_note is not None else None
        fields = (choice.arm, True, kept, opening.reason, choice.features, *shares, opening.turn)
        return quick(Choice, fields)

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float | None:
        """The chance of `arm`, given the rounds before, over all draws; None where it is not known."""
        return self._likelihood.of(t, posterior, posterior.note or self._begin, arm)

    def compiled(self) -> CompiledSpec | None:
        """The base in the rounds of the schedule, if neither it nor a control needs Python."""
        form = compiled_spec(self.base)
        if not isinstance(form, CompiledSpec) or not form.is_base or self.greedy is not None:
            return None
        form = form._replace(own=self.data == "own", random_ties=self.ties == "random", is_base=False)
        return _scheduled(form, self.schedule, self.gate)

    @property
    def uses_explored(self) -> bool:
        """Must the exploring rounds be kept apart?"""
        beside = self.greedy is not None and traits_of(self.greedy).uses_explored
        return self.data == "own" or self._likelihood.base.uses_explored or beside

    @property
    def exploiter(self) -> Policy | None:
        """Who decides where the base does not."""
        return self.greedy

    def accepts(self, note: object, dim: int) -> bool:
        """One of its own, with a state for each control."""
        return fits_note(self._begin, self._likelihood.base, note, dim)

    def revived(self, note: object) -> object:
        """A note of its own with the states of its controls as these have them, and the base's note."""
        return revived_note(self._begin, self.base, note)

    def passes_on(self, explored: bool) -> bool:
        """Does a base that learns by itself hear of the reward: of all, or of its own rounds alone?"""
        return explored or self.data == "shared"

    def _greedy(
        self,
        t: int,
        posterior: Posterior,
        rng: np.random.Generator,
        opening: Opening,
        note: InfexNote,
        refused: float | None = 1.0,
    ) -> Choice:
        """The greedy arm; `refused` is the probability with which the base chose an arm that was refused."""
        arm, share = exploited(self.greedy, self.ties, t, posterior, rng)
        if opening.place is None and not self.gate.drawn:  # no control has objected, and no round was drawn
            return quick(Choice, (arm, False, None, opening.reason, None, share, 0.0, None, opening.turn))
        shares = UNKNOWN
        if refused == 1.0:
            shares = self._likelihood.of_greedy(t, posterior, opening, note, arm, share)
        states = self.gate.after_skip(opening, posterior, note.states)
        kept = None if states is note.states else InfexNote(states, note.base)
        return Choice(arm, False, kept, opening.reason, None, *shares, opening.turn)


def loss_of(posterior: Posterior, arm: int) -> float:
    """The estimated loss of an arm: the best estimate of all arms minus its own, but for rounding."""
    return max(posterior.best - posterior.estimate(arm), 0.0)


def _scheduled(form: CompiledSpec, schedule: Schedule | Control, gate: Gate) -> CompiledSpec | None:
    """The form with a schedule and its controls, if none of them needs Python."""
    if not isinstance(schedule, Control):
        return form._replace(schedule=schedule)
    controls = gate.compiled()
    return None if controls is None else form._replace(schedule=gate.plan, controls=controls)


def _declined(choice: Choice, opening: Opening, note: InfexNote, shares: Shares) -> Choice:
    turn = Turn.DROPPED if opening.due else Turn.REST
    reason = Reason.DECLINED if opening.due else Reason.GREEDY
    kept = None if choice.note is None else InfexNote(note.states, choice.note)
    told = shares._asdict()
    return choice._replace(note=kept, reason=reason, turn=turn, **told)


def _checked(infex: Infex) -> tuple[Gate, Traits]:
    """The gate and the traits of the base, if all settings fit."""
    traits, schedule = traits_of(checked("base", infex.base)), infex.schedule
    one_of("ties", infex.ties, TIES)
    _refuse_data(infex, traits)
    refuse_model(infex.greedy, infex.ties, traits, infex.data == "own")
    _refuse_inner(infex, traits)
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
    return Gate(schedule), traits


def _refuse_data(infex: Infex, traits: Traits) -> None:
    """Refuses own data for a base that cannot be played by itself."""
    if one_of("data", infex.data, ("shared", "own")) == "shared":
        return
    if traits.uses_explored:
        raise InvalidSetting(
            f"own data cannot be kept for a base that keeps its own: {safe_repr(infex.base)}"
        )
    if traits.span > 0:
        raise InvalidSetting(
            "with own data a base counts its own rounds, and its windows would look back at others: "
            f"{safe_repr(infex.base)}"
        )


def _refuse_inner(infex: Infex, traits: Traits) -> None:
    """Refuses controls inside the base that only the outermost schedule can keep."""
    if any(layer.missed == "make up" for gate in traits.gates for layer in gate.layers):
        raise InvalidSetting(
            f"only the outermost schedule can make up for rounds, not that of {safe_repr(infex.base)}"
        )
    if any(gate.refusing for gate in traits.gates):
        raise InvalidSetting(
            "only the outermost schedule can refuse arms for their cost, as all that its base plays is "
            f"charged to it: put the limit around {safe_repr(infex.schedule)}, not into "
            f"{safe_repr(infex.base)}"
        )


MOST_LAWS = 1000  # arms; each is asked about by itself, and a law looks at all arms
SUM_ROUNDING = 1e-9


def laws_of(policy: Policy, t: int, posterior: Posterior) -> Floats | None:
    """The chance of every arm if round t explores, (K,); None where it is not known, or takes long to find.

    That of a policy that samples takes many draws for each arm; of the arm that it plays a `Choice` tells it.
    """
    traits = traits_of(policy)
    if len(posterior) > MOST_LAWS or any(hook(link, "with_law") is not None for link in traits.chain):
        return None
    if isinstance(policy, EpsilonGreedy) and posterior.allowed is None:
        return np.full(len(posterior), 1.0 / len(posterior))
    if isinstance(policy, Infex):
        shares = policy._likelihood.laws(t, posterior, posterior.note or policy._begin)
    elif traits.gates:
        return None
    else:
        shares = [law_allowed(traits, t, posterior.narrowed, arm) for arm in range(len(posterior))]
    laws = np.array([np.nan if share is None else share for share in shares])
    return laws if abs(float(laws.sum()) - 1.0) <= SUM_ROUNDING else None
