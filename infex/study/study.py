"""A bandit that survives: every decision and reward is in a journal before it is acknowledged.

    study = Study.open(url, name, **settings)      begins a study, or goes on with it
    study.ask(key, context=..., unit=...)          a Decision; the same key gives the same one again
    study.tell(key, reward)                        exactly once
    study.ask_many(keys, contexts=...), tell_many(keys, rewards)
    study.explain(key), study.metrics(), study.state(key)
    study.estimates(context=...), study.intervals(context=...), study.exploration()
    study.amend(policy=..., reason="..."), add_arms, remove_arms, extend
    study.flush(), study.close(); it is a context manager
    infex.studies(url)                             the names of the studies there

Any number of threads may use one study. Errors have names: AnotherRequest (the key has a decision on another
request), AlreadyTold (another reward than before), UnknownDecision (no such key), OtherSettings and
UnknownStudy (opening), StoreFailed (the disk or the server; nothing was acknowledged, and the same call again
is safe), StoreInUse (another process has the file).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt

from infex.arrays import Label
from infex.bandit import Decision, Exploration
from infex.errors import (
    InvalidSetting,
    StoreFailed,
)
from infex.features.table import NONE_GIVEN, Categories, Numbers
from infex.policies.base import Policy, checked
from infex.study.addresses import claimed_store, release_store, sqlite_path, without_password
from infex.study.amending import kept_policy
from infex.study.cases import RewardState
from infex.study.desk import Desk, LocalDesk
from infex.study.entries import BEGINNING, Mark
from infex.study.erasing import forget_unit
from infex.study.explaining_cases import Explanation, explanation_of
from infex.study.given_rows import in_places, question_of, questions_of, refuse_lengths, reward_content
from infex.study.lifting import Lift, lift_of
from infex.study.moves import (
    KeyedReward,
    amend_one,
    ask_all,
    ask_one,
    correct_one,
    known_case,
    row_by_row,
    tell_all,
    tell_one,
)
from infex.study.opening import opened_standing
from infex.study.plain_requests import checked_key, checked_unit, plain_value
from infex.study.shared_desk import SharedDesk
from infex.study.standing import Standing
from infex.study.store import Store
from infex.study.study_figures import figures_of


@final
class Study:
    """A bandit with a journal: what was acknowledged is never lost, and replay gives the same state.

    `Study.open` makes one: `url` is that of its database, `name` its name there, and `desk` does its work.

    >>> import tempfile, infex
    >>> folder = tempfile.TemporaryDirectory()
    >>> url = f"sqlite:///{folder.name}/shop.db"
    >>> policy = infex.Infex(infex.LinUCB(), infex.every(2))
    >>> shop = infex.features.disjoint(["tea", "juice"], context_dim=2)
    >>> with infex.Study.open(url, "pricing", features=shop, policy=policy, seed=7) as study:
    ...     first = study.ask("order-1841", context=[0.6, 0.8])
    ...     str(study.tell("order-1841", 0.7))
    'rewarded'
    >>> with infex.Study.open(url, "pricing") as study:
    ...     study.ask("order-1841", context=[0.6, 0.8]) == first
    True
    >>> folder.cleanup()
    """

    def __init__(self, url: str, name: str, desk: Desk) -> None:
        self.url, self.name, self._desk = url, name, desk
        self._open = threading.Lock()  # held by whoever closes it, for good

    @staticmethod
    def open(url: str, name: str, *, clock: Callable[[], float] = time.time, **settings: Any) -> Study:
        """The study `name` at `url`, which is begun with these settings if there is none.

        `url` is sqlite:///file.db, or postgresql://user@host/database. `settings` are those of `Bandit`
        (`arms`, `dim` or `features`, `policy`, `seed`, ...) and of rewards: `wait`, `default`, `again`. A
        study that is there needs none: those that differ from its own are refused (OtherSettings). What
        holds code of yours must be given again. `clock` tells the seconds since 1970.
        """
        if not isinstance(name, str) or not name:
            raise InvalidSetting(f"the name of a study must be a text, got {name!r}")
        store = claimed_store(url, name)
        try:
            at = int(clock() * 1_000_000)
            standing, mark = opened_standing(store, name, settings, at)
            return Study(url, name, _desk_at(url)(store, name, standing, mark, clock))
        except BaseException:
            release_store(url, name, store)
            raise

    def ask(
        self,
        key: str,
        *,
        context: object = None,
        arms: npt.ArrayLike | None = None,
        labels: Iterable[Label] | None = None,
        allowed: npt.ArrayLike | None = None,
        unit: str | None = None,
        durable: bool = True,
        **more: object,
    ) -> Decision:
        """The decision of a key: taken now, or the one that was taken when the same was asked before.

        `context`, `arms`, `labels`, `allowed` and whatever else are those of `Bandit.ask`. `unit` is whom it
        is about, such as a customer. AnotherRequest is raised if something else was asked under this key. The
        decision is on disk when this returns; with `durable=False` it will be, unless the process or its
        machine fails before: `flush` waits for it. PostgreSQL always waits.
        """
        words = {"context": context, "arms": arms, "labels": labels, "allowed": allowed, **more}
        question = question_of(key, unit, words)
        return self._desk.run(lambda: ask_one(self._desk, question), durable)

    def ask_many(
        self,
        keys: Sequence[str],
        *,
        contexts: Sequence[object] | Mapping[str, Sequence[object]] | None = None,
        arms: Sequence[npt.ArrayLike] | None = None,
        units: Sequence[str | None] | None = None,
        durable: bool = True,
        **more: object,
    ) -> list[Decision]:
        """The decisions of many keys, each as `ask` gives it, in one commit.

        `contexts`, `arms` and `units` are one for each key, in the order of the keys; contexts may also be a
        table, or a mapping of columns. What else is given is the same for all. If one is refused, the error
        names its row, and nothing was decided.
        """
        of_each = [None] * len(keys) if units is None else list(units)
        given = {"context": in_places(contexts), "arms": in_places(arms)}
        refuse_lengths(len(keys), given | {"units": of_each})
        questions = questions_of(keys, of_each, given, more)
        return self._desk.run(lambda: ask_all(self._desk, questions), durable)

    def tell(
        self,
        key: str,
        reward: float,
        *,
        weight: float = 1.0,
        part: str | None = None,
        durable: bool = True,
    ) -> RewardState:
        """Reports the reward of a decision, exactly once; the state that the decision has then.

        The same again changes nothing; another value is refused (AlreadyTold) unless the study was opened
        with `again="sum"`: then rewards add up, and each `part` that has a name counts once. What comes
        after the study's `wait` is kept, not learnt, and marked late. `weight` is that of `Bandit.tell`.
        """
        content = reward_content(reward, weight, part)
        return self._desk.run(lambda: tell_one(self._desk, KeyedReward(key, content)), durable)

    def correct(self, key: str, reward: float, *, reason: str = "") -> RewardState:
        """Puts a reward right that was told, or taken by default: as if it had come so; its state then.

        Arms may have been removed and features added since the decision. If its own arm was removed, the
        reward is corrected in what all arms share; where each arm has a regression of its own (`disjoint`),
        that went with the arm, and no estimate changes. NotKept is raised, and nothing changes, where the
        correction cannot be exact: some estimators whose rewards count by their order, and removed arms of
        `hybrid` maps.
        """
        content = reward_content(reward, reason=reason)
        return self._desk.run(lambda: correct_one(self._desk, key, content), True)

    def forget(self, unit: str, *, reason: str = "") -> int:
        """Erases all that is kept of a unit: contexts, decisions, rewards; how many entries that was.

        The state afterwards is, to the last bit, that of a study which never learnt these rewards. That
        rounds were taken and how they count for the schedule and its limits stays, and so do the keys and
        times of the entries, and the chain of hashes.
        """
        return forget_unit(self._desk, checked_unit(unit), reason)

    def tell_many(
        self, keys: Sequence[str], rewards: Sequence[float], *, durable: bool = True
    ) -> list[RewardState]:
        """Reports many rewards as `tell` does, in one commit.

        If one is refused, the error names its row, and none was told.
        """
        refuse_lengths(len(keys), {"rewards": rewards})
        told = list(rewards)  # by place: a Series would be read by its index
        every = row_by_row(keys, lambda row, key: KeyedReward(key, reward_content(told[row])))
        return self._desk.run(lambda: tell_all(self._desk, every), durable)

    def state(self, key: str) -> RewardState:
        """How far the reward of a decision has come."""
        return self._desk.look(lambda: known_case(self._desk, key)).state

    def explain(self, key: str, *, prove: bool = True, contents: bool = False) -> Explanation:
        """Why a decision was taken, and what became of it.

        With `prove` the journal is replayed up to the decision, which is then decided once more: that shows
        all offers, the share of each feature, and that nothing else could have been decided. It takes time
        in a long journal. With `contents` it shows the context and the unit too.
        """
        desk = self._desk
        self.flush()
        given = desk.look(lambda: desk.standing.given)
        return explanation_of(desk.store, self.name, dict(given), checked_key(key), contents, prove)

    def estimates(
        self,
        arms: npt.ArrayLike | None = None,
        labels: Iterable[Label] | None = None,
        *,
        context: object = None,
    ) -> np.recarray[Any, Any]:
        """One record for each arm: label, estimate, low, high, pulls; as `Bandit.estimates` gives them."""
        return self._desk.look(lambda: self._desk.standing.bandit.estimates(arms, labels, context=context))

    def intervals(
        self,
        level: float = 0.95,
        arms: npt.ArrayLike | None = None,
        labels: Iterable[Label] | None = None,
        *,
        context: object = None,
    ) -> np.recarray[Any, Any]:
        """One record for each arm: label, estimate, low, high, pulls; as `Bandit.intervals` gives them."""
        return self._desk.look(
            lambda: self._desk.standing.bandit.intervals(level, arms, labels, context=context)
        )

    def exploration(self) -> Exploration:
        """How much was planned, done and skipped, the next round due, and the estimated cost so far."""
        return self._desk.look(lambda: self._desk.standing.bandit.exploration())

    def metrics(self) -> dict[str, Any]:
        """Figures for operations, as plain numbers: decisions, rewards by state, delay, exploration, days.

        `decisions`, `states` (which add up to them) and `pending_by_age` count all decisions, also those for
        units that are held out; `held_out` counts these alone. `rounds` counts the decisions of the policy,
        without those held out, and so do all other figures: `delay`, `exploration`, `reasons`, `days`,
        `residuals`.
        """
        return self._desk.look(lambda: figures_of(self._desk.standing, self._desk.now())).whole()

    def lift(self, confidence: float = 0.95) -> Lift:
        """What the study gains over those who are held out: the difference of mean rewards, and its interval.

        Where rewards are missing there may be none: `problem` says why, and what to do; see `Lift` for the
        rule. All of the journal is read.
        """
        self.flush()
        entries = self._desk.store.read(self.name, BEGINNING)
        return lift_of(entries, self._desk.standing.rules, self._desk.now(), confidence)

    def amend(
        self,
        *,
        policy: Policy | None = None,
        allowed: npt.ArrayLike | None = None,
        pending: str | None = None,
        freeze: bool = False,
        reason: str,
    ) -> None:
        """Changes the policy with its schedule and limits, the arms that may be tried, or how pending count.

        It is an entry of the journal with its `reason`. Nothing learnt and nothing spent is lost. A policy of
        your own class is kept as `module:Class(settings)`, so its module must be importable. Arms come
        and go by `add_arms` and `remove_arms`, features by `extend`. With `freeze`, those who are held out
        are decided for by the greedy arm of the present state from now on.
        """
        changes: list[tuple[str, object]] = []
        if policy is not None:
            changes.append(("policy", kept_policy(checked("policy", policy))))
        if allowed is not None:
            changes.append(("allowed", plain_value("allowed", allowed)))
        if pending is not None:
            changes.append(("pending", pending))
        if freeze:
            changes.append(("freeze", True))
        if not changes:
            raise InvalidSetting("amend changes a policy, allowed or pending, or freezes: none was given")
        for what, to in changes:
            amend_one(self._desk, what, to, reason)

    def add_arms(self, arms: Any, labels: Iterable[Label] | None = None, *, reason: str = "") -> None:
        """Puts new arms behind those there are, as `Bandit.add_arms` does; an entry of the journal."""
        names = None if labels is None else plain_value("labels", list(labels))
        amend_one(self._desk, "add arms", {"arms": plain_value("arms", arms), "labels": names}, reason)

    def remove_arms(self, which: object, *, reason: str = "") -> None:
        """Takes arms away, as `Bandit.remove_arms` does; an entry of the journal."""
        amend_one(self._desk, "remove arms", plain_value("which", which), reason)

    def extend(
        self,
        more: int | None = None,
        *,
        numbers: Numbers = NONE_GIVEN,
        categories: Categories = NONE_GIVEN,
        longest: float | None = None,
        reason: str = "",
    ) -> None:
        """Adds features to contexts or arms, as `Bandit.extend` does; an entry of the journal."""
        words = {"more": more, "numbers": dict(numbers), "categories": dict(categories), "longest": longest}
        given = {word: plain_value(word, value) for word, value in words.items() if value not in (None, {})}
        amend_one(self._desk, "extend", given, reason)

    def flush(self) -> None:
        """Returns when all that was asked and told is on disk."""
        self._desk.flush()

    def when_flushed(self, call: Callable[[StoreFailed | None], None]) -> None:
        """Calls, from any thread, when all that was asked and told is on disk, or with why it is not.

        `call` must return at once, and not use the study: whoever waits for the disk waits for it, too.
        """
        self._desk.when_flushed(call)

    def close(self) -> None:
        """Writes what is left, and lets go of the store."""
        if self._open.acquire(blocking=False):
            try:
                self._desk.close()
            finally:
                release_store(self.url, self.name, self._desk.store)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        bandit = self._desk.standing.bandit
        return f"Study({self.name!r} at {without_password(self.url)}, {bandit!r})"


def _desk_at(url: str) -> Callable[[Store, str, Standing, Mark, Callable[[], float]], Desk]:
    """How work is done at a URL: SQLite is for one process, PostgreSQL for several."""
    return SharedDesk if sqlite_path(url) is None else LocalDesk
