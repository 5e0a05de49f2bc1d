"""Greedy answers to many questions from one compiled call, of which each is decided in its own round."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, repeat
from typing import NamedTuple, final

import numpy as np

from infex.bandit.arms import Changing, Fixed
from infex.bandit.bandit import Bandit
from infex.bandit.batching import foresee_quiet, quiet_answers
from infex.bandit.decision import Decision
from infex.bandit.questions import Greedily, questions_of
from infex.bandit.quiet_rounds import QuietRounds, is_known
from infex.checks import quick
from infex.errors import InfexError
from infex.linear import InBlock, On
from infex.linear.grounds import Grounds
from infex.linear.offers import Radius
from infex.policies.choice import Reason, Turn


class GreedyStretch(NamedTuple):
    """Greedy decisions of rounds that follow each other, not entered yet, and what each is learnt on.

    `said` is what the policy said of them, "" if it has no schedule; `turn` is what became of exploring;
    `changes` is how often arms or the policy had changed before.
    """

    decisions: list[Decision]
    on: list[On]
    grounds: Grounds
    said: str
    turn: Turn | None
    changes: int


@final
class ForeseenRounds:
    """The greedy answers to the questions of a batch: they stand until something is learnt or changed."""

    __slots__ = ("_bandit", "_columns", "_greedily", "_last", "_on", "_quiet")

    def __init__(
        self, bandit: Bandit, keys: Sequence[str], quiet: QuietRounds, greedily: Greedily, radius: Radius
    ) -> None:
        self._bandit, self._quiet, self._greedily = bandit, quiet, greedily
        arms, means, widths, _ = greedily
        margins = (radius[arms] if isinstance(radius, np.ndarray) and radius.ndim else radius) * widths
        places, labels = arms.tolist(), bandit._arms.labels
        names = [None] * len(places) if labels is None else [labels[place] for place in places]
        ends = (means - margins).tolist(), (means + margins).tolist()
        self._columns = keys, places, names, means.tolist(), *ends
        self._on = grounds_of(greedily)
        self._last = bandit._player.account.t + arms.size

    def decided(self, first: int) -> GreedyStretch:
        """The decisions on the questions from a place on, up to the next round in which something is due."""
        player = self._bandit._player
        t = player.account.t + 1
        last = first + self._quiet.until(t, self._last, player.account.owed) - t
        keys, arms, labels, means, lows, highs = (column[first:last] for column in self._columns)
        rounds, greedily = range(t, t + len(keys)), (repeat(1.0), repeat(Reason.GREEDY), repeat(0.0))
        fields = zip(
            keys, rounds, arms, labels, repeat(False), arms, means, lows, highs, *greedily, repeat(None)
        )
        decisions = list(map(quick, repeat(Decision), fields))
        said = "" if player.traits.gate is None else Reason.GREEDY
        grounds = self._greedily.grounds.span(first, last)
        return GreedyStretch(
            decisions, self._on[first:last], grounds, said, self._quiet.turn, player.account.changes
        )

    def enter(self, first: int, stretch: GreedyStretch) -> None:
        """Enters what `decided` has given."""
        bandit, decisions = self._bandit, stretch.decisions
        with bandit._lock:
            bandit._player.account.enter(decisions[-1].t, False, self._quiet.turn, 0.0, False)
            foresee_quiet(bandit, self._greedily, first, first + len(decisions))
            bandit._waiting.add_all(decisions, stretch.on)


def foreseen(bandit: Bandit, keys: Sequence[str], contexts: Sequence[object]) -> ForeseenRounds | None:
    """The greedy answers to questions, each a context or None; None if each must be found by itself.

    `keys` are the ids of the decisions, no two the same, and none of them waits or ever did. Where one is
    refused, asking it by itself says why.
    """
    if not contexts or bandit._player.memory.searches or not is_known(bandit._player):
        return None
    fixed = isinstance(bandit._arms, Fixed)
    if isinstance(bandit._arms, Changing) or (fixed and any(context is not None for context in contexts)):
        return None
    try:
        named = [bandit._lives.checked(key) for key in keys]
        asked = len(contexts) if fixed else in_rows(contexts)
        questions = questions_of(bandit, asked, None, None, None, True)
        found = quiet_answers(bandit, questions)
    except InfexError:
        return None
    if found is None or questions.noticed:  # what is noticed of a context goes with its own decision
        return None
    return ForeseenRounds(bandit, named, *found)


def in_rows(contexts: Sequence[object]) -> object:
    """Contexts that are lists of numbers as rows of one array; any others as they are."""
    if {*map(type, contexts)} != {list} or bool in {*map(type, chain.from_iterable(contexts))}:  # type: ignore[arg-type]
        return contexts
    try:
        rows = np.array(contexts)
    except ValueError:  # they are not equally long
        return contexts
    return rows if rows.dtype == np.float64 else contexts


def grounds_of(greedily: Greedily) -> list[On]:
    """What the reward of each answer is learnt on."""
    place, row, rows, apart = greedily.grounds
    if apart:
        return list(map(quick, repeat(InBlock), zip(place.tolist(), map(np.array, rows[row]), strict=True)))
    return [greedily.grounds.on(which) for which in range(place.size)]
