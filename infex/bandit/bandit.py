"""Ask and tell: a bandit for use."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, final

import numpy as np
import numpy.typing as npt

from infex.arrays import Label
from infex.bandit import deciding, saving
from infex.bandit.arms import NOTHING_ASKED, Asked, question, read_from, source_of
from infex.bandit.asking import ask_given_quickly
from infex.bandit.deciding import ask_plainly, pending_of
from infex.bandit.decision import Decided, Decision
from infex.bandit.explaining import estimates_of
from infex.bandit.foreseeing import foresee, wait_no_more
from infex.bandit.parts import new_parts
from infex.bandit.pulls import count_pull, pulls_of
from infex.bandit.remembering import Again, ToldDecisions, tell_and_remember
from infex.bandit.reward_rule import Reward, RewardRule, checked_reward
from infex.bandit.sufficing import warn_of_few
from infex.bandit.wholesale import Wholesale
from infex.checks import HEAVIEST_WEIGHT, real
from infex.errors import InvalidReward
from infex.features import FeatureMap
from infex.features.feature_map import checked_map
from infex.linear import Evidence
from infex.linear.estimating import Estimator
from infex.linear.foresight import PendingWay, narrows
from infex.policies.traits import Policy
from infex.records.catalog import shown
from infex.rounds import Exploration


@final
class Bandit(Wholesale):
    """Joins arms, a policy and all that was learnt: `ask` for a decision, `tell` its reward.

    `arms` is a (K, d) array of rows no longer than 1, with `labels` for them if you like; with
    `rescale`, a longer row is divided by its length. Where the arms change every round, say
    `dim` instead and give them to `ask`; or give `features`, a map of `infex.features` that joins
    arms with a context, and ask with the context. Rewards may come late, in any order, or never.
    `allowed` says for every arm whether exploring may try it (a policy without a schedule explores
    in every round). `penalty` is that of the ridge; `estimator` is one of `infex.estimators`, in the
    place of ridge regression. `seed` is that of all draws.

    `pending` decisions "narrow" the widths that exploring reads, as if each had been told its estimate: a
    night of explorations without rewards is spread over many arms. With "ignore" it looks at rewards alone,
    and all of them may go to one arm. Estimates and intervals do not depend on it.

    `log` is a file to which every decision is appended before `ask` gives it, and every reward; it survives
    the end of the process at any moment, and `infex.evaluation.read` reads it. See `log_to`.

    `rewards` are the least and the greatest that can be told, as in (0, 250): any other is refused, and the
    decision stays pending. With (0, 1) True and False are rewards too. `remembers` says for how many of the
    last decisions what was told is kept, for a second reward by `tell(..., again=...)`; each takes some 600
    bytes.

    `horizon` is how many decisions are expected, if that is known: a schedule with fewer explorations than
    there are parameters is warned of (`FewExplorations`), as is one that stops for good before that.

    Any number of threads may use one bandit: it does one thing at a time.

    >>> from infex import Infex, LinUCB, every
    >>> policy = Infex(LinUCB(), every(2))
    >>> bandit = Bandit([[1.0, 0.0], [0.6, 0.8]], policy, labels=["plain", "rich"])
    >>> first = bandit.ask()
    >>> first.label, first.explored
    ('plain', False)
    >>> bandit.tell(first, reward=-1.0)
    >>> second = bandit.ask(id="order-124")
    >>> second.label, second.explored
    ('rich', True)
    >>> bandit.tell("order-124", reward=1.0)
    """

    def __init__(
        self,
        arms: npt.ArrayLike | None = None,
        policy: Policy | None = None,
        *,
        dim: int | None = None,
        features: FeatureMap | None = None,
        seed: int = 0,
        penalty: float = 1.0,
        labels: Iterable[Label] | None = None,
        rescale: bool = False,
        allowed: npt.ArrayLike | None = None,
        estimator: Estimator | None = None,
        pending: PendingWay = "narrow",
        rewards: tuple[float, float] | None = None,
        remembers: int = 0,
        horizon: int | None = None,
        log: str | os.PathLike[str] | None = None,
    ) -> None:
        narrowing, rule = narrows(pending), RewardRule.of(rewards, estimator)
        told = ToldDecisions.of(remembers)
        source = source_of(arms, dim, checked_map(features), labels, rescale)
        source.allow(allowed)
        self._begin(new_parts(source, policy, seed, penalty, estimator))
        warn_of_few(source, self._player, horizon)
        self._take_rewards(rule, told)
        foresee(self._player.memory, self._waiting, narrowing)
        if log is not None:
            self.log_to(log)

    def ask(
        self,
        arms: npt.ArrayLike | None = None,
        labels: Iterable[Label] | None = None,
        *,
        context: object = None,
        allowed: npt.ArrayLike | None = None,
        offered: object = None,
        explore: bool = True,
        id: str | None = None,  # noqa: A002 - what users call it
    ) -> Decision:
        """Takes the next decision; give the arms on offer, with `labels` if you like, or the context.

        `offered` names the arms that may be played at all in this request, greedily too: by label where arms
        have labels, else by index, or with a truth for each. Costs count from the best of them, and the
        probability of a decision is over them. With `explore=False` nothing is explored in this request: what
        was due is skipped, or owed, as the schedule says. `allowed` says for every arm whether exploring may
        try it in this round; what the bandit forbids in all rounds stays forbidden.

        `id` is a text of your own to tell the reward by; by itself a decision has one that no other process,
        copy or loaded file gives out again. Your own must not be one that is pending; whether it was used
        before that is yours to know.
        """
        self._lock.acquire()  # `with` takes twice the time
        try:
            fixed = arms is None and labels is None and context is None and allowed is None
            asked = NOTHING_ASKED
            if not fixed or offered is not None or explore is not True:
                arms, context = question(self._arms, arms, context)
                asked = Asked(arms, labels, context, allowed, offered, explore)
            if self._notebook is not None:
                return deciding.ask_noting(self, self._notebook, asked, id)
            if asked is NOTHING_ASKED:
                quickly = ask_plainly(self, id)
            else:
                quickly = None if arms is None else ask_given_quickly(self, id, asked)
            return deciding.ask_at_length(self, asked, id) if quickly is None else quickly
        finally:
            self._lock.release()

    def decide(
        self,
        arms: npt.ArrayLike | None = None,
        labels: Iterable[Label] | None = None,
        *,
        context: object = None,
        allowed: npt.ArrayLike | None = None,
        offered: object = None,
        explore: bool = True,
        id: str | None = None,  # noqa: A002 - what users call it
    ) -> Decided:
        """What `ask` would decide; nothing changes until it is entered, by `enter`.

        `arms`, `labels`, `context`, `allowed`, `offered`, `explore` and `id` are those of `ask`.
        """
        with self._lock:
            arms, context = question(self._arms, arms, context)
            asked = Asked(arms, labels, context, allowed, offered, explore)
            decision, taken = deciding.decide(self, asked, id)
            played = deciding.features_at(self, taken.choice.arm)
            return Decided(decision, taken, id is not None, self._player.account.changes, played)

    def enter(self, decided: Decided) -> Decision:
        """Takes a decision as it was decided, here or by a bandit in the same state: nothing is decided anew.

        It must be that of the next round, with no change of arms or policy since. Rewards may have been
        told since: what was decided stays.
        """
        with self._lock:
            deciding.enter(self, decided)
        return decided.decision

    def exploration(self) -> Exploration:
        """How much was planned, done and skipped, the next round due, and the estimated cost so far."""
        with self._lock:
            return self._player.exploration(self._player.evidence())

    def tell(
        self, decision: Decision | str | int, reward: Reward, *, weight: float = 1.0, again: Again = "refuse"
    ) -> None:
        """Reports the reward of a decision, given as it was or by its id.

        `weight` is how much it counts in the squared error, as in 1/variance; 1 for a plain reward. `again`
        is what a second reward does in a bandit that `remembers`: "refuse" it; nothing if it is the "same",
        any other being refused; be added ("sum"); or "replace" the first. All is then as if the sum, or the
        last, had been told at once.

        >>> from infex import Greedy
        >>> shop = Bandit([[1.0]], Greedy(), remembers=1000)
        >>> visit = shop.ask()
        >>> shop.tell(visit, 0.5, again="sum")  # a click
        >>> shop.tell(visit, 2.5, again="sum")  # and what was bought
        >>> shop.estimates().estimate.round(9).tolist(), shop.pulls.tolist()
        ([1.5], [1])
        """
        if again != "refuse" or self._remembered is not None:
            with self._lock:
                return tell_and_remember(self, decision, reward, weight, again)
        if type(reward) is not float or not self._least <= reward <= self._greatest:
            reward = checked_reward(self, reward)
        if type(weight) is not float or weight != 1.0:
            weight = real("weight", weight, above=0, most=HEAVIEST_WEIGHT, error=InvalidReward)
        self._lock.acquire()
        try:
            taken, on = pending_of(self, decision)
            if self._notebook is not None:
                self._notebook.reward(taken, on, reward, weight)
            self._player.learn(taken.arm, on, reward, taken.explored, weight)
            if self._player._memory.pulls is not None:
                count_pull(self, taken)
            wait_no_more(self, taken, on)
        finally:
            self._lock.release()

    def drop(self, decision: Decision | str | int) -> None:
        """Forgets a decision whose reward will never come."""
        with self._lock:
            wait_no_more(self, *pending_of(self, decision))

    def evidence(self, arms: npt.ArrayLike | None = None, *, context: object = None) -> Evidence:
        """What the policy would read now; it stays as it is. Give the arms, if they change, or a context."""
        with self._lock:
            offered = read_from(self._arms, arms).offer(Asked(arms, context=context))
            return self._player.evidence(offered.columns, offered.allowed).copy()

    def estimates(
        self,
        arms: npt.ArrayLike | None = None,
        labels: Iterable[Label] | None = None,
        *,
        context: object = None,
    ) -> np.recarray[Any, Any]:
        """One record for each arm: label, estimate, low, high, pulls (rewards it was told).

        Give arms (and `labels`) to ask about others than the fixed ones; their pulls are not known, and 0.
        With a feature map give the `context`.
        """
        with self._lock:
            offered = read_from(self._arms, arms).offer(Asked(arms, labels, context))
            known = None if arms is not None else pulls_of(self._arms, self._player.memory)
            evidence = self._player.evidence(offered.columns)
            return estimates_of(evidence, offered.labels, self._radius, known)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the bandit to one file at `path`, in the place of an older one; pending decisions too."""
        with self._lock:
            saving.save(self, path)

    @staticmethod
    def load(
        path: str | os.PathLike[str],
        policy: Policy | None = None,
        *,
        estimator: Estimator | None = None,
        features: FeatureMap | None = None,
        adopt: bool = False,
    ) -> Bandit:
        """The bandit that was saved at `path`, which goes on exactly as the saved one would have.

        Give the `policy` if it is a class or function of your own, which a file cannot hold. So too
        the `estimator`, and the `features` if they are `joined` by a function, or a map of your own.
        What differs from what the file names is refused, unless you say `adopt=True`: then it takes
        over, as far as it can go on from what was learnt.
        """
        return saving.load(path, policy, estimator, features, adopt)

    def digest(self) -> str:
        """A short text that is the same for bandits in the same state: all they decide, learn and count.

        Ids that are not yours do not count, nor does who wrote a file. Of a policy, estimator or map of your
        own its class counts, and its settings if it is a dataclass.
        """
        with self._lock:
            return saving.digest(self)

    def __repr__(self) -> str:
        ignored = "" if self.narrows else " ignored"
        counts = f"t={self.t}, explored={self.explored}, pending={len(self._waiting)}{ignored}"
        return f"Bandit({self._arms} of {self._arms.dim} features, {shown(self.policy)}, {counts})"
