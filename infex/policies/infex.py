"""INFEX: infrequent exploration (Lee and Oh, NeurIPS 2025, Algorithm 1)."""

import functools
import warnings
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal, final

import numpy as np

from infex.checks import callers_level, one_of, quick, told, told_settings
from infex.errors import InvalidSetting, SparseExploration
from infex.linear import Posterior
from infex.policies.choice import Choice, Reason, Turn, arm_of
from infex.policies.form import Form, form_of
from infex.policies.gate import Control, Gate, Opening
from infex.policies.greedy_model import exploited, refuse_model, share_of
from infex.policies.likelihood import UNKNOWN, InfexNote, Likelihood, Shares
from infex.policies.masks import choose_allowed
from infex.policies.reviving import fits_note, revived_note
from infex.policies.ties import TIES, Ties
from infex.policies.traits import Policy, Traits, checked, traits_of
from infex.schedules.protocol import Schedule, has


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
    __repr__ = told_settings

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

    def compiled(self) -> Form | None:
        """The base in the rounds of the schedule, if neither it nor a control needs Python."""
        form = form_of(self.base)
        if not isinstance(form, Form) or not form.is_base or self.greedy is not None:
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


def _scheduled(form: Form, schedule: Schedule | Control, gate: Gate) -> Form | None:
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
        raise InvalidSetting(f"schedule must be an object with a method explores, got {told(schedule)}")
    if has(schedule, "grows") and schedule.grows is False:
        warnings.warn(
            f"{told(schedule)} explores too rarely to keep the regret low for ever: its count does not grow "
            "faster than log t. For a short horizon that may be just what you want; then filter out "
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
        raise InvalidSetting(f"own data cannot be kept for a base that keeps its own: {told(infex.base)}")
    if traits.span > 0:
        raise InvalidSetting(
            "with own data a base counts its own rounds, and its windows would look back at others: "
            f"{told(infex.base)}"
        )


def _refuse_inner(infex: Infex, traits: Traits) -> None:
    """Refuses controls inside the base that only the outermost schedule can keep."""
    if any(layer.missed == "make up" for gate in traits.gates for layer in gate.layers):
        raise InvalidSetting(
            f"only the outermost schedule can make up for rounds, not that of {told(infex.base)}"
        )
    if any(gate.refusing for gate in traits.gates):
        raise InvalidSetting(
            "only the outermost schedule can refuse arms for their cost, as all that its base plays is "
            f"charged to it: put the limit around {told(infex.schedule)}, not into {told(infex.base)}"
        )
