"""What a bandit does with many decisions and rewards at once."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from infex.arrays import Label
from infex.bandit.arms import Asked
from infex.bandit.batching import ask_many
from infex.bandit.changeable import Changeable
from infex.bandit.changes import Changes
from infex.bandit.decision import Decision
from infex.bandit.decisions import Decisions
from infex.bandit.exchange import apply, changes_of
from infex.bandit.honest_intervals import intervals_of
from infex.bandit.logged import learn
from infex.bandit.merging import merge
from infex.bandit.recording import Notebook
from infex.bandit.telling import tell_many
from infex.errors import CannotMerge

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit


class Wholesale(Changeable):
    """Many decisions, many rewards, logs, and what others have learnt."""

    def ask_many(
        self,
        asked: object,
        labels: Iterable[Iterable[Label] | None] | None = None,
        *,
        allowed: npt.ArrayLike | None = None,
        offered: object = None,
        explore: npt.ArrayLike = True,
        ids: Iterable[str] | None = None,
    ) -> Decisions:
        """Takes many decisions at once: equal to as many calls of `ask` that get no reward in between.

        `asked` is how many, for fixed arms; a list of contexts, or an array with one in each row; or a list
        of sets of arms, with one list of `labels` for each set if you like. Each decision is a round.
        `allowed` is that of `ask`, the same for all; `ids` are texts of your own, one for each. `offered` is
        a list of what `ask` takes, one for each decision, or an array of truths, (n, K); or one list of
        labels, the same for all. `explore` is one truth, or one for each. If one decision cannot be taken,
        none is.

        >>> from infex import Bandit, Infex, LinUCB, every, features
        >>> shop = Bandit(features=features.disjoint(["tea", "juice"], 2), policy=Infex(LinUCB(), every(2)))
        >>> shop.ask_many([[0.6, 0.8], [1.0, 0.0]]).explored.tolist()
        [False, True]
        >>> shop.ask_many([[0.6, 0.8], [1.0, 0.0]], offered=[["tea"], ["juice"]]).labels
        ['tea', 'juice']
        """
        with self._lock:
            return ask_many(self._bandit, asked, labels, allowed, offered, explore, ids)

    def tell_many(
        self,
        decisions: Decisions | Iterable[Decision | str | int],
        rewards: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
    ) -> None:
        """Reports many rewards at once, in their order, as `tell` does one by one; all of them, or none.

        `decisions` are those of `ask_many`, or a list of decisions or ids; `weights` are those of `tell`.
        """
        with self._lock:
            tell_many(self._bandit, decisions, rewards, weights)

    def learn(
        self,
        contexts: object = None,
        arms: object = None,
        rewards: npt.ArrayLike = (),
        weights: npt.ArrayLike | None = None,
        *,
        explored: npt.ArrayLike | None = None,
    ) -> None:
        """Learns from a log of its own or of others: as if these rewards had been told; all of them, or none.

        No round is counted, and no exploration. `arms` are labels where arms have labels, else indices, and
        rows of features where arms change every round; `contexts` go with a feature map alone. `weights` say
        how much each of the `rewards` counts, as in `tell`. `explored` says which rows were explorations, for
        a base that keeps data of its own.

        >>> from infex import Bandit, Greedy
        >>> bandit = Bandit([[1.0, 0.0], [0.0, 1.0]], Greedy(), labels=["tea", "juice"])
        >>> bandit.learn(arms=["tea", "juice", "tea"], rewards=[0.0, 1.0, 1.0])
        >>> bandit.estimates().pulls.tolist(), bandit.t
        ([2, 1], 0)
        """
        with self._lock:
            learn(self._bandit, contexts, arms, rewards, weights, explored)

    def log_to(self, path: str | os.PathLike[str] | None) -> None:
        """Writes all further decisions and rewards to the log at `path`, behind what is there; None: nowhere.

        As `Bandit(log=...)` does, for a bandit that was loaded, copied or forked off, which has none. A row
        says what was on offer, why, and with what chances; `save` brings it to the disk, too.
        """
        with self._lock:
            notebook = None if path is None else Notebook(self._bandit, path)
            if self._notebook is not None:
                self._notebook.recorder.close()
            self._notebook = notebook

    def changes(self) -> Changes:
        """What this bandit has learnt by itself since the last call, as sums, for others to `apply`.

        So workers that began with the same file or copy add up without counting anything twice. What it was
        given by others, applied or merged, is not in it. The number of each reward in the life of its bandit
        is: the same changes a second time are ignored, those that come out of order or in part are refused.
        What is not passed on yet is saved with the bandit. Not for estimators whose rewards count by their
        order, or one by one.
        """
        with self._lock:
            return changes_of(self._bandit)

    def apply(self, changes: Changes) -> int:
        """Takes in what another bandit on the same problem has learnt: how many rewards were new here.

        `changes` is what its own `changes()` gave. All of it is taken in, or nothing. The clock and
        the count of explorations stay this bandit's own.
        """
        with self._lock:
            return apply(self._bandit, changes)

    def intervals(
        self,
        level: float = 0.95,
        arms: npt.ArrayLike | None = None,
        labels: Iterable[Label] | None = None,
        *,
        context: object = None,
    ) -> np.recarray[Any, Any]:
        """One record for each arm: label, estimate, low, high, pulls; by the noise that was seen, not theory.

        An arm's mean reward lies from `low` to `high` with a chance of about `level`, one arm and one moment
        at a time: Student's quantile times the standard error, and what the penalty may draw the estimate by
        if theta is no longer than the policy's `bound`. Where too little was seen there is no end. With
        `rewards=` it stays in that range, and with `Logistic` within 0 and 1. docs/intervals.md says how
        often it holds, and where not. `arms`, `labels` and `context` are those of `estimates`.

        >>> from infex import Bandit, Greedy
        >>> bandit = Bandit([[1.0, 0.0], [0.0, 1.0]], Greedy(), rewards=(0, 1))
        >>> bandit.learn(arms=[0] * 8 + [1] * 8, rewards=[1, 0, 1, 1, 1, 0, 1, 1] + [0] * 7 + [1])
        >>> bandit.intervals(0.9).low.round(2).tolist(), bandit.intervals(0.9).high.round(2).tolist()
        ([0.32, 0.0], [1.0, 0.45])
        """
        with self._lock:
            return intervals_of(self._bandit, level, Asked(arms, labels, context))

    def merge(self, other: Bandit) -> None:
        """Takes in all that another bandit on the same problem has learnt; the other stays as it is.

        Dimension, penalty and estimator must agree; rewards that count by their order cannot be
        merged. Pulls add up for arms that both have, by features and
        label. The clock, the count of explorations and the pending decisions stay this bandit's
        own. Merging the same bandit a second time counts its data twice: to sync again and
        again, merge into a fresh bandit each time, or use `changes` and `apply`, which leave out what was
        merged. Where `rewards` have a range here, those of the other must have one within it.
        """
        if not isinstance(other, Wholesale):
            raise CannotMerge(f"a bandit merges with a bandit, got {other!r}")
        merge(self._bandit, other._bandit)
