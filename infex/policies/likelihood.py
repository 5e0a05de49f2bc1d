"""How likely Infex is to explore in a round, and to play an arm."""

from __future__ import annotations

from typing import Any, NamedTuple, final

from infex.linear import Evidence
from infex.policies.choice import Choice, mixed
from infex.policies.gate import Gate, Opening, States
from infex.policies.greedy import GREEDY
from infex.policies.masks import law_allowed
from infex.policies.ties import Ties
from infex.policies.traits import Traits


class InfexNote(NamedTuple):
    """What the controls remember, and the base's note."""

    states: States
    base: Any = None


class Shares(NamedTuple):
    """The probability of an arm, the chance of exploring, and the law of the arm if the round explores."""

    probability: float | None
    chance: float | None
    law: float | None


UNKNOWN = Shares(None, None, None)


@final
class Likelihood(NamedTuple):
    """The gate and the base of an Infex, as far as probabilities depend on them."""

    gate: Gate
    base: Traits
    own: bool
    ties: Ties

    def seen(self, t: int, evidence: Evidence, note: InfexNote) -> tuple[int, Evidence]:
        """The round and the evidence as the base sees them; with own data it counts its own rounds."""
        seen = evidence if note.base is evidence.note else evidence.noted(note.base)
        return (evidence.spent.done + 1, seen.explored) if self.own else (t, seen)

    def of_explored(
        self, t: int, evidence: Evidence, opening: Opening, note: InfexNote, choice: Choice
    ) -> Shares:
        """Those of a round that explored, with the base's choice."""
        law = choice.law if self.base.tells_explored else choice.probability
        if not self.gate.drawn and not self.gate.refusing:
            return Shares(law, 1.0, law)
        if self.gate.refusing and law != 1.0:
            return UNKNOWN  # another arm might have been refused
        chance = self._chance(t, evidence, opening, note)
        greedy = None if chance in (1.0, None) else GREEDY[self.ties].probability(t, evidence, choice.arm)
        return Shares(mixed(chance, law, greedy), chance, law)

    def of_greedy(
        self, t: int, evidence: Evidence, opening: Opening, note: InfexNote, arm: int, share: float
    ) -> Shares:
        """Those of a round that did not explore; `share` is that of the greedy arm among its ties."""
        if not self.gate.drawn:
            return Shares(share, 0.0, None)
        chance = self._chance(t, evidence, opening, note)
        if chance == 0.0:
            return Shares(share, 0.0, None)
        law = None if chance is None else self._law(t, evidence, arm, note)
        return UNKNOWN if self.gate.refusing else Shares(mixed(chance, law, share), chance, law)

    def of(self, t: int, evidence: Evidence, note: InfexNote, arm: int) -> float | None:
        """The probability of any arm."""
        opening = self.gate.opening(t, evidence, note.states)
        chance = self._chance(t, evidence, opening, note)
        law = None if chance in (0.0, None) else self._law(t, evidence, arm, note)
        if self.gate.refusing and law is not None:
            return None  # an arm may be refused, and the greedy one played in its place
        return mixed(chance, law, GREEDY[self.ties].probability(t, evidence, arm))

    def _chance(self, t: int, evidence: Evidence, opening: Opening, note: InfexNote) -> float | None:
        chance = self.gate.chance(t, evidence, opening, note.states)
        if chance not in (0.0, 1.0) and self.base.draws_rounds:
            return None  # the draws of the base's own schedule may be correlated with ours
        return chance

    def _law(self, t: int, evidence: Evidence, arm: int, note: InfexNote) -> float | None:
        clock, seen = self.seen(t, evidence, note)
        return law_allowed(self.base, clock, seen, arm, trusted=self.base.tells_explored)
