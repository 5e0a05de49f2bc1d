"""How likely Infex is to explore in a round, and to play an arm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, final

from infex.linear import Posterior
from infex.policies.choice import Choice, mixed
from infex.policies.gate import Gate, Opening, States
from infex.policies.masks import law_allowed
from infex.policies.traits import Traits


class InfexNote(NamedTuple):
    """What the controls remember, and the base's note."""

    states: States
    base: Any = None


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
