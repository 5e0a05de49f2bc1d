"""Greedy answers to many questions from one compiled call, of which each is decided in its own round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from infex.bandit.arms import Changing, Fixed
from infex.bandit.bandit import Bandit
from infex.bandit.batching import foresee_quiet, quiet_answers
from infex.bandit.deciding import key_for
from infex.bandit.decision import Decided
from infex.bandit.journaling import plain_decided
from infex.bandit.questions import Greedily, questions_of
from infex.bandit.quiet_rounds import QuietRounds, is_known
from infex.errors import InfexError
from infex.linear import InBlock, On
from infex.linear.offers import Radius
from infex.policies.choice import Reason


@final
class ForeseenRounds:
    """The greedy answers to the questions of a batch: they stand until something is learnt or changed."""

    __slots__ = ("_answers", "_bandit", "_greedily", "_keys", "_last", "_on", "_quiet")

    def __init__(
        self, bandit: Bandit, keys: Sequence[str], quiet: QuietRounds, greedily: Greedily, radius: Radius
    ) -> None:
        self._bandit, self._keys, self._quiet, self._greedily = bandit, keys, quiet, greedily
        arms, means, widths, _ = greedily
        margins = (radius[arms] if isinstance(radius, np.ndarray) and radius.ndim else radius) * widths
        self._answers = list(zip(arms.tolist(), means.tolist(), margins.tolist(), strict=True))
        self._on = grounds_of(greedily)
        self._last = bandit._player.account.t + arms.size

    def decided(self, first: int) -> list[Decided]:
        """The decisions on the questions from a place on, up to the next round in which something is due."""
        account = self._bandit._player.account
        t = account.t + 1
        due = self._quiet.until(t, self._last, account.owed)
        return [self._one(t + n, first + n) for n in range(due - t)]

    def _one(self, t: int, place: int) -> Decided:
        arm, mean, margin = self._answers[place]
        seen, says = (False, (arm, arm, mean, mean, margin)), (Reason.GREEDY, self._quiet.turn)
        return plain_decided(self._bandit, self._keys[place], t, seen, says, self._on[place])

    def enter(self, first: int, every: Sequence[Decided]) -> None:
        """Enters what `decided` has given."""
        bandit = self._bandit
        with bandit._lock:
            bandit._player.account.enter(every[-1].taken.t, False, self._quiet.turn, 0.0, False)
            foresee_quiet(bandit, self._greedily, first, first + len(every))
            for decision, taken, *_ in every:
                bandit._waiting.add(decision, taken.on)


def foreseen(bandit: Bandit, keys: Sequence[str], contexts: Sequence[object]) -> ForeseenRounds | None:
    """The greedy answers to questions, each a context or None; None if each must be found by itself.

    `keys` are the ids of the decisions, no two the same. Where one is refused, asking it by itself says why.
    """
    if not contexts or bandit._player.memory.searches or not is_known(bandit._player):
        return None
    fixed = isinstance(bandit._arms, Fixed)
    if isinstance(bandit._arms, Changing) or (fixed and any(context is not None for context in contexts)):
        return None
    try:
        named = [key_for(bandit, key, bandit.t + 1) for key in keys]
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
    if any(type(context) is not list or bool in {*map(type, context)} for context in contexts):
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
        own = map(np.array, rows[row])
        return [InBlock(arm, context) for arm, context in zip(place.tolist(), own, strict=True)]
    return [greedily.grounds.on(which) for which in range(place.size)]
