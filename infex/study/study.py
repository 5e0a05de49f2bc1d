"""A bandit that survives: every decision and reward is in a journal before it is acknowledged.

    study = Study.open(url, name, **settings)      begins a study, or goes on with it
    study.ask(key, context=..., unit=...)          a Decision; the same key gives the same one again
    study.tell(key, reward)                        exactly once
    study.ask_many(keys, contexts=...), tell_many(keys, rewards)
    study.explain(key), study.metrics(), study.state(key)
    study.estimates(context=...), study.intervals(context=...), study.exploration()
    study.amend(policy=..., reason="..."), add_arms, remove_arms, extend, pause, resume
    study.verify(), study.export(path), study.forget(unit), study.correct(key, reward)
    study.flush(), study.close(); it is a context manager
    infex.studies(url)                             the names of the studies there

Any number of threads may use one study. Errors have names: AnotherRequest (the key has a decision on another
request), AlreadyTold (another reward than before), UnknownDecision (no such key), OtherSettings and
UnknownStudy (opening), StoreFailed (the disk or the server; nothing was acknowledged, and the same call again
is safe), StoreInUse (another process has the file).
"""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple, Self, final

import numpy as np
import numpy.typing as npt

from infex.arrays import Label, plain_value
from infex.bandit import Bandit, Decision, Exploration
from infex.checks import whole
from infex.errors import InvalidSetting, StoreFailed
from infex.features.table import NONE_GIVEN, Categories, Numbers
from infex.policies.base import Policy, checked
from infex.registry import label_of
from infex.study.commands import (
    Amend,
    Ask,
    AskRow,
    Batch,
    Correct,
    Flush,
    Learn,
    Tell,
    TellRow,
    each_row,
)
from infex.study.events import LOG_KEY, MICROSECONDS, LearntLog, Observation
from infex.study.executor import Executor
from infex.study.explain import Explanation, explain
from infex.study.export import Exported, export
from infex.study.journal import BEGINNING
from infex.study.lift import Lift, lift_of
from infex.study.metrics import count_by_age
from infex.study.pause import Limit, is_paused, limits_of
from infex.study.requests import check_lengths, check_text, checked_key, checked_unit, rows_of
from infex.study.settings import Rules, check_settings, policy_to_plain, with_own_learner
from infex.study.snapshot import load_state, open_state, without_erased
from infex.study.state import RewardState, StudyState
from infex.study.stores.base import claim_store, release_store, sqlite_path, without_password
from infex.study.verify import Verdict, verify


class Summary(NamedTuple):
    """A study in short: its policy as text, is exploring paused, its arms, rounds, limits and rules."""

    policy: str
    paused: bool
    labels: tuple[Label, ...] | None
    rounds: int
    limits: tuple[Limit, ...]
    rules: Rules


@final
class Study:
    """A bandit with a journal: what was acknowledged is never lost, and replay gives the same state.

    `Study.open` makes one: `url` is that of its database, `name` its name there; `executor` does its work.

    What raised StoreFailed may be done all the same, as soon as the disk obeys again. The same call again
    changes nothing if it was: of `ask`, `tell`, `correct` and `forget`, and of amendments with a `key`. An
    amendment without one would be made twice, and so would, with `again="sum"`, a `tell` without a `part`.

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

    def __init__(self, url: str, name: str, executor: Executor) -> None:
        self.url, self.name, self._executor = url, name, executor
        self._open = threading.Lock()  # held by whoever closes it, for good

    @staticmethod
    def open(
        url: str,
        name: str,
        *,
        learn_from: object = None,
        clock: Callable[[], float] = time.time,
        **settings: Any,
    ) -> Study:
        """The study `name` at `url`, which is begun with these settings if there is none.

        `url` is sqlite:///file.db, or postgresql://user@host/database. `settings` are those of `Bandit`
        (`arms`, `dim` or `features`, `policy`, `seed`, ...), those of rewards (`wait`, `default`, `again`,
        `reward_unit`), and who decides for whom: `holdout`, `holdout_policy`, `sticky`, `apprentice`. A study
        that is there needs none: those that differ from its own are refused (OtherSettings). What holds code
        of yours must be given again. A policy that learns by itself is given as it was at first: the study
        copies it, and `study.policy` is the copy that learns. `clock` tells the seconds since 1970.

        With `learn_from`, the method of this name is called: a study that is there must have learnt the same
        log.
        """
        if not isinstance(name, str) or not name:
            raise InvalidSetting(f"the name of a study must be a text, got {name!r}")
        store = claim_store(url, name)
        try:
            if learn_from is not None and store.end(name) == BEGINNING:
                settings = {**settings, "awaits_log": True}  # nothing is decided if that fails
            given = with_own_learner(settings)
            state, mark = open_state(store, name, given, int(clock() * MICROSECONDS))
            study = Study(url, name, Executor(store, name, state, mark, clock))
        except BaseException:
            release_store(url, name, store)
            raise
        try:
            if learn_from is not None:
                study.learn_from(learn_from)
        except BaseException:
            study.close()
            raise
        return study

    def learn_from(
        self, source: object, *, arm: str = "arm", reward: str = "reward", unit: str = "unit"
    ) -> int:
        """Learns all rewards of a log, or of the file of one, before the first decision; how many they are.

        `arm`, `reward` and `unit` name columns of a file; those of contexts are called as the study's are.
        They are entries of the journal, behind one with a hash of them all. The same log again changes
        nothing. If it breaks off, the study decides nothing until all of it is learnt.
        """
        from infex.study.warm_start import ROWS_AT_ONCE, warm_start_of  # which needs libraries that read logs

        store, given, bandit = self._executor.store, self._executor.state.given, self.bandit()
        for entry in store.of_keys(self.name, [LOG_KEY]):  # a log is read for the arms and features of then
            bandit = load_state(store, self.name, given, before=entry.number, with_keys=False)[0].bandit
        log, rows = warm_start_of(source, bandit, {"arm": arm, "reward": reward, "unit": unit})
        for first in range(0, max(len(rows), 1), ROWS_AT_ONCE):
            self.learn_rows(log, first, rows[first : first + ROWS_AT_ONCE])
        return len(rows)

    def learn_rows(self, log: LearntLog, first: int, rows: Sequence[tuple[str, Observation]]) -> int:
        """Learns rows of a log from the one numbered `first`, each once; how many are learnt then."""
        return self._executor.run(Learn(log, first, rows))

    def ask(
        self,
        key: str,
        *,
        context: object = None,
        arms: npt.ArrayLike | None = None,
        labels: Iterable[Label] | None = None,
        allowed: npt.ArrayLike | None = None,
        unit: str | None = None,
        played: Label | None = None,
        durable: bool = True,
        **more: object,
    ) -> Decision:
        """The decision of a key: taken now, or the one that was taken when the same was asked before.

        `context`, `arms`, `labels`, `allowed` and whatever else are those of `Bandit.ask`. `unit` is whom
        it is about, such as a customer. `played` is the arm that was played, of a study that is an
        apprentice. AnotherRequest is raised if something else was asked under this key. The decision is on
        disk when this returns; with `durable=False` it will be, unless the process or its machine fails
        before: `flush` waits for it. PostgreSQL always waits.
        """
        options = {"context": context, "arms": arms, "labels": labels, "allowed": allowed, "played": played}
        return self._executor.run(Ask.of(key, unit, options | more), durable)

    def ask_many(
        self,
        keys: Sequence[str],
        *,
        contexts: Sequence[object] | Mapping[str, Sequence[object]] | None = None,
        arms: Sequence[npt.ArrayLike] | None = None,
        units: Sequence[str | None] | None = None,
        played: Sequence[Label] | None = None,
        durable: bool = True,
        **more: object,
    ) -> list[Decision]:
        """The decisions of many keys, each as `ask` gives it, in one commit.

        `contexts`, `arms`, `units` and `played` are one for each key, in the order of the keys; contexts
        may also be a table, or a mapping of columns. What else is given is the same for all. If one is
        refused, the error names its row, and nothing was decided.
        """
        columns = {"context": rows_of(contexts), "arms": rows_of(arms), "played": rows_of(played)}
        column_of_units = [None] * len(keys) if units is None else list(units)
        check_lengths(len(keys), columns | {"units": column_of_units})
        given = {word: column for word, column in columns.items() if column is not None}
        rows = [
            AskRow(key, unit, {word: column[row] for word, column in given.items()} | more)
            for row, (key, unit) in enumerate(zip(keys, column_of_units, strict=True))
        ]
        return self.ask_rows(rows, durable=durable)

    def ask_rows(self, rows: Sequence[AskRow], *, durable: bool = True) -> list[Decision]:
        """As `ask_many`, for rows that differ in more than contexts; a refusal has the `row` too."""
        keys = [row.key for row in rows]
        commands = each_row(rows, keys, lambda row: Ask.of(row.key, row.unit, row.options))
        return self._executor.run(Batch(commands), durable)

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
        return self._executor.run(Tell.of(key, reward, weight, part), durable)

    def correct(self, key: str, reward: float, *, reason: str = "", durable: bool = True) -> RewardState:
        """Puts a reward right that was told, or taken by default: as if it had come so; its state then.

        Arms may have been removed and features added since the decision. If its own arm was removed, the
        reward is corrected in what all arms share; where each arm has a regression of its own (`disjoint`),
        that went with the arm, and no estimate changes. NotKept is raised, and nothing changes, where the
        correction cannot be exact: some estimators whose rewards count by their order, and removed arms of
        `hybrid` maps.
        """
        return self._executor.run(Correct.of(key, reward, reason), durable)

    def forget(self, unit: str, *, reason: str = "") -> int:
        """Erases all that is kept of a unit: contexts, decisions, rewards; how many entries that was.

        The state afterwards is, to the last bit, that of a study which never learnt these rewards. That
        rounds were taken and how they count for the schedule and its limits stays, and so do the keys and
        times of the entries, and the chain of hashes. The journal is replayed from the unit's first entry,
        beside the study, which goes on meanwhile.
        """
        about = checked_unit(unit)
        if not about:
            raise InvalidSetting("forget needs a unit")
        check_text("reason", reason)
        return self._executor.forget(about, reason)

    def tell_many(
        self, keys: Sequence[str], rewards: Sequence[float], *, durable: bool = True
    ) -> list[RewardState]:
        """Reports many rewards as `tell` does, in one commit.

        If one is refused, the error names its row, and none was told.
        """
        check_lengths(len(keys), {"rewards": rewards})
        rows = map(TellRow, keys, list(rewards))  # by place: a Series would be read by its index
        return self.tell_rows(list(rows), durable=durable)

    def tell_rows(self, rows: Sequence[TellRow], *, durable: bool = True) -> list[RewardState]:
        """As `tell_many`, for rows with weights or parts; a refusal has the `row` too."""
        commands = each_row(rows, [row.key for row in rows], lambda row: Tell.of(*row))
        return self._executor.run(Batch(commands), durable)

    def state(self, key: str) -> RewardState:
        """How far the reward of a decision has come."""
        name = checked_key(key)
        return self._executor.read(lambda state: state.decision_of(name).state)

    def explain(self, key: str, *, prove: bool = True, contents: bool = False) -> Explanation:
        """Why a decision was taken, and what became of it.

        With `prove` the journal is replayed from the last snapshot before the decision, which is then decided
        once more: that shows all offers, the share of each feature, and that nothing else could have been
        decided (`verify` proves the snapshots, too). With `contents` it shows the context and the unit too.
        """
        self.flush()
        executor = self._executor
        given = executor.state.given
        return explain(executor.store, self.name, given, checked_key(key), contents, prove)

    def verify(self, checkpoint: str | None = None) -> Verdict:
        """Replays the whole journal, decides every decision once more, and says what does not fit, if any.

        `checkpoint` is that of a verdict from before, kept elsewhere: the journal must still go on from it.
        """
        self.flush()
        return verify(self._executor.store, self.name, self._executor.state.given, checkpoint)

    def export(self, path: str | Path) -> Exported:
        """Writes all decisions with their rewards as a log in Parquet, for `infex.evaluation.read`."""
        self.flush()
        return export(self._executor.store, self.name, self._executor.state.given, Path(path))

    def archive(self, folder: str | Path | None = None, *, keep: int) -> int:
        """Moves all entries but the newest `keep` out of the database, into files in a folder; how many.

        Without a `folder` it is the one beside shop.db that is called shop.db.archive. Nothing else
        changes: all of them are still found, explained, verified, exported and erased, as long as the
        folder is there. To use another folder, move the files, and archive to it. The database is made
        smaller, and answers wait while it is. Only for SQLite.
        """
        kept, file = whole("keep", keep, least=1), sqlite_path(self.url) or Path("none")
        beside = file.with_name(f"{file.name}.archive")
        self.flush()
        store = self._executor.store
        last = store.end(self.name).number - kept
        return store.archive(self.name, beside if folder is None else Path(folder), last)

    def estimates(
        self,
        arms: npt.ArrayLike | None = None,
        labels: Iterable[Label] | None = None,
        *,
        context: object = None,
    ) -> np.recarray[Any, Any]:
        """One record for each arm: label, estimate, low, high, pulls; as `Bandit.estimates` gives them."""
        return self._executor.read(lambda state: state.bandit.estimates(arms, labels, context=context))

    def intervals(
        self,
        level: float = 0.95,
        arms: npt.ArrayLike | None = None,
        labels: Iterable[Label] | None = None,
        *,
        context: object = None,
    ) -> np.recarray[Any, Any]:
        """One record for each arm: label, estimate, low, high, pulls; as `Bandit.intervals` gives them."""
        return self._executor.read(lambda state: state.bandit.intervals(level, arms, labels, context=context))

    def exploration(self) -> Exploration:
        """How much was planned, done and skipped, the next round due, and the estimated cost so far."""
        return self._executor.read(lambda state: state.bandit.exploration())

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self._executor.read(lambda state: state.bandit.policy)

    @property
    def pending_count(self) -> int:
        """How many decisions wait for their rewards, as far as this process knows."""
        return len(self._executor.state.open)

    def bandit(self) -> Bandit:
        """A copy of the bandit as it is now, to look at, to save, or to go on with elsewhere."""
        return self._executor.read(lambda state: copy.deepcopy(state.bandit))

    def digest(self) -> str:
        """A hash of the state: the same for studies that go on in the same way, in any process."""
        return self._executor.read(lambda state: state.digest())

    def summary(self) -> Summary:
        """What is in force now."""

        def look(state: StudyState) -> Summary:
            bandit = state.bandit
            labels = None if bandit.labels is None else tuple(bandit.labels)
            limits = tuple(limits_of(bandit.policy))
            paused = is_paused(bandit.policy)
            return Summary(label_of(bandit.policy), paused, labels, bandit.t, limits, state.rules)

        return self._executor.read(look)

    def count_new(self, keys: Collection[str]) -> int:
        """How many of these keys have no decision, as far as this process knows."""
        known = self._executor.state.keys
        return sum(key not in known for key in set(keys))

    def check_settings(self, given: Mapping[str, object]) -> None:
        """Refuses settings that differ from those in force (OtherSettings says which)."""
        self._executor.read(lambda state: check_settings(self.name, state.settings, given))

    def metrics(self) -> dict[str, Any]:
        """Figures for operations, as plain numbers: decisions, rewards by state, delay, exploration, days.

        `decisions`, `states` (which add up to them) and `pending_by_age` count all decisions, also those for
        units that are held out; `held_out` counts these alone. `rounds` counts the decisions of the policy,
        without those held out, and so do all other figures: `delay`, `exploration`, `reasons`, `days`,
        `residuals`.
        """
        figures, times = self._executor.read(lambda state: state.metrics())
        return figures | {"pending_by_age": count_by_age(times, self._executor.now())}

    def lift(self, confidence: float = 0.95) -> Lift:
        """What the study gains over those who are held out: the difference of mean rewards, and its interval.

        Where rewards are missing there may be none: `problem` says why, and what to do; see `Lift` for the
        rule. All of the journal is read.
        """
        self.flush()
        executor, store = self._executor, self._executor.store
        entries = without_erased(store, self.name, store.read(self.name))
        return lift_of(entries, executor.state.rules, executor.now(), confidence)

    def amend(
        self,
        *,
        policy: Policy | None = None,
        allowed: npt.ArrayLike | None = None,
        explore: bool | None = None,
        pending: str | None = None,
        freeze: bool = False,
        apprentice: bool | None = None,
        add_arms: Mapping[str, object] | None = None,
        remove_arms: object = None,
        extend: Mapping[str, object] | None = None,
        key: str | None = None,
        reason: str,
    ) -> None:
        """Changes the study, all in one commit: each change is an entry of the journal with its `reason`.

        If one is refused, none is made. Nothing learnt and nothing spent is lost. Under a `key` of yours it
        is made once: the same again changes nothing, another request raises AnotherRequest. These keys are
        no keys of decisions.

        The changes are made in this order. `remove_arms`, `extend` and `add_arms` are the arguments of the
        methods of these names, the latter two as mappings. `allowed` says for every arm whether exploring
        may try it. `pending` is how pending decisions count. `policy` is the new policy with its schedule
        and limits; one of your own class is kept as `module:Class(settings)`, so its module must be
        importable. `explore` pauses exploring (False), or goes on with it (True). With `freeze`, those who
        are held out are decided for by the greedy arm of the present state from now on. With
        `apprentice=False` a study decides that was an apprentice before.
        """
        changes = {
            "remove_arms": plain_value("remove_arms", remove_arms),
            "extend": _fields("extend", extend, ("more", "numbers", "categories", "longest")),
            "add_arms": _fields("add_arms", add_arms, ("arms", "labels")),
            "allowed": plain_value("allowed", allowed),
            "pending": plain_value("pending", pending),
            "policy": None if policy is None else policy_to_plain(checked("policy", policy)),
            "explore": explore,
            "freeze": freeze or None,
            "apprentice": apprentice,
        }
        if not isinstance(explore, bool | None) or not isinstance(freeze, bool):
            raise InvalidSetting(f"explore and freeze must be true or false, got {explore!r} and {freeze!r}")
        self._executor.run(Amend.of(changes, key, reason))

    def add_arms(
        self, arms: Any, labels: Iterable[Label] | None = None, *, key: str | None = None, reason: str = ""
    ) -> None:
        """Puts new arms behind those there are, as `Bandit.add_arms` does; an amendment."""
        names = None if labels is None else list(labels)
        self.amend(add_arms={"arms": arms, "labels": names}, key=key, reason=reason)

    def remove_arms(self, which: object, *, key: str | None = None, reason: str = "") -> None:
        """Takes arms away, as `Bandit.remove_arms` does; an amendment."""
        self.amend(remove_arms=which, key=key, reason=reason)

    def extend(
        self,
        more: int | None = None,
        *,
        numbers: Numbers = NONE_GIVEN,
        categories: Categories = NONE_GIVEN,
        longest: float | None = None,
        key: str | None = None,
        reason: str = "",
    ) -> None:
        """Adds features to contexts or arms, as `Bandit.extend` does; an amendment."""
        words = {"more": more, "numbers": dict(numbers), "categories": dict(categories), "longest": longest}
        given = {word: value for word, value in words.items() if value not in (None, {})}
        self.amend(extend=given, key=key, reason=reason)

    def pause(self, reason: str, *, key: str | None = None) -> None:
        """Skips all explorations that are due from now on, until `resume`; an amendment."""
        self.amend(explore=False, key=key, reason=reason)

    def resume(self, reason: str, *, key: str | None = None) -> None:
        """Goes on with exploring as the policy says; an amendment."""
        self.amend(explore=True, key=key, reason=reason)

    def flush(self) -> None:
        """Returns when all that was asked and told is on disk."""
        self._executor.flush()

    def when_flushed(self, call: Callable[[StoreFailed | None], None]) -> None:
        """Calls, from any thread, when all that was asked and told is on disk, or with why it is not.

        `call` must return at once, and not use the study: whoever waits for the disk waits for it, too.
        """

        def called(flushed: Future[None]) -> None:
            error = flushed.exception()
            call(error if error is None or isinstance(error, StoreFailed) else StoreFailed(str(error)))

        self._executor.submit(Flush()).add_done_callback(called)

    def close(self) -> None:
        """Writes what is left, and lets go of the store."""
        if self._open.acquire(blocking=False):
            try:
                self._executor.close()
            finally:
                release_store(self.url, self.name, self._executor.store)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Study({self.name!r} at {without_password(self.url)}, {self._executor.state.bandit!r})"


def _fields(name: str, given: Mapping[str, object] | None, known: tuple[str, ...]) -> Any:
    """What is given by some of these names, as plain data."""
    if given is None:
        return None
    if not isinstance(given, Mapping) or not set(given) <= set(known):
        raise InvalidSetting(f"{name} must be a mapping with some of {', '.join(known)}")
    return plain_value(name, given)
