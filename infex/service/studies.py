"""The studies that a service has open, what requests ask of them, and whether their store can be used."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, final

from infex.bandit import Decision
from infex.checks import settings_by_name
from infex.errors import InfexError, InvalidBody, NotReady, Overloaded, StoreFailed, UnknownStudy
from infex.service.history import History
from infex.service.overview import Overview
from infex.service.queue import StudyQueue
from infex.service.schemas import (
    AmendmentRequest,
    CorrectionRequest,
    DecisionRequest,
    PreviewAnswer,
    RewardAnswer,
    RewardRequest,
    ServiceLimits,
    StudyAnswer,
    StudyRequest,
    parsed,
    plain_figures,
)
from infex.service.words import holdout_in_words, policy_in_words, rules_in_words
from infex.study.commands import AskRow, TellRow
from infex.study.pause import planned_count, resumed_policy
from infex.study.stores.base import sqlite_path, studies
from infex.study.study import Study

LOG = logging.getLogger("infex.service")
ROUNDS_ASSUMED = 10_000  # of a preview, where nothing was decided lately
NO_DAY = {"rounds": 0, "mean_reward": None, "calibration": None}

DRIFT_Z = 4.0  # standard errors between recent residuals and all
OLD_SHARE, OLD_AGES, FEWEST_OLD = 0.5, ("604800", "2592000", "more"), 100  # pending for more than a day
LEAST_DONE, FEWEST_PLANNED = 0.5, 20


@final
class ServedStudy:
    """One open study: `queue` calls it, and `history` shows its past.

    What changes it goes through the queue, and is on disk when it returns. What only looks at it blocks, and
    is called in a thread.
    """

    def __init__(self, study: Study, queue: StudyQueue, history: History, limits: ServiceLimits) -> None:
        self.study, self.queue, self.history, self._limits = study, queue, history, limits
        self.name, self.overview = study.name, Overview(study, history)
        self._refreshing: asyncio.Task[None] | None = None

    async def decide(self, key: str, request: DecisionRequest) -> Decision:
        """The decision of a key."""
        self._refuse_pending([key])
        options = _options(request)
        return await self.queue.call(
            lambda study: study.ask(key, unit=request.unit, durable=False, **options)
        )

    async def decide_many(self, keys: list[str], many: Sequence[DecisionRequest]) -> list[Decision]:
        """The decisions of many keys in one commit; if one is refused, none is taken."""
        self._refuse_pending(keys)
        rows = [AskRow(key, each.unit, _options(each)) for key, each in zip(keys, many, strict=True)]
        return await self.queue.call(lambda study: study.ask_rows(rows, durable=False))

    async def reward(self, key: str, request: RewardRequest) -> RewardAnswer:
        """What has become of a decision whose reward was told."""
        options = {"weight": request.weight, "part": request.part}
        state = await self.queue.call(
            lambda study: study.tell(key, request.reward, durable=False, **options)  # type: ignore[arg-type]
        )
        return RewardAnswer(key, str(state))

    async def reward_many(self, keys: list[str], many: Sequence[RewardRequest]) -> list[RewardAnswer]:
        """The same of many in one commit; if one is refused, none is told."""
        rows = [
            TellRow(key, each.reward, each.weight, each.part) for key, each in zip(keys, many, strict=True)
        ]
        states = await self.queue.call(lambda study: study.tell_rows(rows, durable=False))
        return [RewardAnswer(key, str(state)) for key, state in zip(keys, states, strict=True)]

    def _refuse_pending(self, keys: Sequence[str]) -> None:
        """Refuses what would wait beside too many others; who asks again for a known key is answered."""
        pending, most = self.study.pending_count, self._limits.pending
        if pending + len(keys) > most and (new := self.study.count_new(keys)) and pending + new > most:
            raise Overloaded(f"{pending} decisions wait for their rewards: tell some first")

    async def correct(self, request: CorrectionRequest) -> RewardAnswer:
        """What has become of a decision whose reward was put right."""
        words = {"reason": request.reason, "durable": False}
        state = await self.queue.call(
            lambda study: study.correct(request.key, request.reward, **words)  # type: ignore[arg-type]
        )
        return RewardAnswer(request.key, str(state))

    def amend(self, key: str | None, request: AmendmentRequest) -> None:
        """Changes the study, in one commit."""
        changes, new, more = request.changes(), request.add_arms, request.extend
        if not changes:
            fields = [field for field in request.__struct_fields__ if field not in ("reason", "key")]
            raise InvalidBody(
                "nothing is to be changed", field="body", expected=f"one of {', '.join(fields)}"
            )
        if new is not None:
            count = new.arms if isinstance(new.arms, int) else len(new.arms)
            _refuse_large("add_arms.arms", count, self._limits.arms)
        if more is not None:
            _refuse_large("extend.more", more.more, self._limits.features)
        self.study.amend(**changes, key=key, reason=request.reason)

    def summary(self) -> StudyAnswer:
        """The study as the page shows it among others."""
        shown, figures = self.study.summary(), plain_figures(self.study.metrics())
        figures |= {
            "waiting": self.queue.waiting,
            "alarms": alarms_of(figures),
            "read": self.history.entries,  # the page is drawn anew when more is read
            "per_minute": self.history.per_minute(time.time()),
            "today": figures["days"][max(figures["days"])] if figures["days"] else NO_DAY,
            "limits": [limit._asdict() for limit in shown.limits],
            "overview": self.overview.plain["at"],
        }
        labels = None if shown.labels is None else [_plain_label(label) for label in shown.labels]
        unit, rules = shown.rules.reward_unit, settings_by_name(shown.rules)
        return StudyAnswer(
            name=self.name,
            policy=shown.policy,
            paused=shown.paused,
            arms=labels,
            figures=figures,
            words=f"{policy_in_words(self.study.policy, unit)} {rules_in_words(shown.rules)}".strip(),
            rules=rules | {"holdout_policy": holdout_in_words(shown.rules)},
        )

    def past(self) -> dict[str, Any]:
        """The history of the journal, how many explorations the policy in force plans, and the overview."""
        past, policy = self.history.plain(), resumed_policy(self.study.policy)
        counts = [planned_count(policy, 1, span["last"]) for span in past["spans"]]
        return past | {"planned": None if None in counts else counts, "overview": self.overview.plain}

    def refresh_overview(self, lock: asyncio.Lock) -> None:
        """Has the overview computed anew in the background, once it may be, if there is anything new.

        The `lock` lets one study at a time do so.
        """
        if self.overview.is_stale and (self._refreshing is None or self._refreshing.done()):
            self._refreshing = asyncio.create_task(self._refresh_overview(lock))

    async def _refresh_overview(self, lock: asyncio.Lock) -> None:
        await asyncio.sleep(self.overview.seconds_until_due())
        async with lock:
            await asyncio.to_thread(self.overview.refresh)

    def cancel_overview(self) -> None:
        """Gives up an overview that is being computed."""
        if self._refreshing is not None:
            self._refreshing.cancel()

    def preview(self, policy: str | dict[str, Any]) -> PreviewAnswer:
        """How often a policy would explore in as many rounds as the busier of the last two days had, UTC."""
        wanted, today = parsed("policy", policy), datetime.now(UTC).date()
        first, days = self.study.summary().rounds + 1, self.study.metrics()["days"]
        lately = [day for back in (0, 1) if days.get(day := str(today - timedelta(back)), NO_DAY)["rounds"]]
        rounds, basis = ROUNDS_ASSUMED, "assumed: it decided nothing today or yesterday (UTC)"
        if lately:
            busier = max(lately, key=lambda day: days[day]["rounds"])
            rounds = days[busier]["rounds"]
            basis = f"as many as were decided on {busier} (UTC), the busier of today and yesterday"
        last = first + rounds - 1
        return PreviewAnswer(
            policy=policy if isinstance(policy, str) else "",
            rounds=rounds,
            basis=basis,
            explorations=planned_count(wanted, first, last),
            now=planned_count(self.study.policy, first, last),
        )


def _options(request: DecisionRequest) -> dict[str, Any]:
    """Keyword arguments for `Study.ask`; None means that the field was omitted."""
    return {
        "context": request.context,
        "arms": request.arms,
        "labels": request.labels,
        "allowed": request.allowed,
        "offered": request.offered,
        "explore": None if request.explore else False,
        "played": request.played,
    }


def _plain_label(label: object) -> str | int:
    return label if isinstance(label, str | int) else str(label)


def alarms_of(figures: Mapping[str, Any]) -> list[str]:
    """What somebody should look at, and do; the rules for Prometheus have the same thresholds.

    >>> quiet = {"residuals": {"z": -5.0}, "pending_by_age": {}, "states": {"pending": 0}}
    >>> alarms_of(quiet | {"exploration": {"planned": 0, "done": 0}})[0].partition(". ")[0]
    'Estimates drift: recent residuals are 5.0 standard errors from all'
    """
    found = []
    z = figures["residuals"]["z"]
    if z is not None and abs(z) > DRIFT_Z:
        found.append(
            f"Estimates drift: recent residuals are {abs(z):.1f} standard errors from all. Ask whether the "
            "world or a feature has changed; an estimator such as Discounted forgets what is old."
        )
    old = sum(figures["pending_by_age"].get(age, 0) for age in OLD_AGES)
    if old >= FEWEST_OLD and old > OLD_SHARE * figures["states"]["pending"]:
        found.append(
            f"Rewards are late: {old} decisions have waited for more than a day. See whether whoever tells "
            "rewards still runs."
        )
    planned, done = figures["exploration"]["planned"] or 0, figures["exploration"]["done"]
    if planned >= FEWEST_PLANNED and done < LEAST_DONE * planned:
        found.append(
            f"Exploration falls behind: {done} done of {planned} planned. What was skipped, and why, stands "
            "below: a limit was reached, exploring was paused, or no arm was allowed."
        )
    return found


@final
class Studies:
    """All studies at a URL, by name; `opened` is set once all that can be are open; others are `failed`."""

    def __init__(self, url: str, limits: ServiceLimits) -> None:
        self.url, self._limits = url, limits
        self._open_studies: dict[str, ServedStudy] = {}
        self._opening, self._closed = threading.Lock(), False
        self.overview_lock = asyncio.Lock()  # one study at a time reads its whole journal for its overview
        self.openings = 0  # begun and ended: odd while a study is being opened, which may make the database
        self.opened = asyncio.Event()
        self.shared = sqlite_path(url) is None  # do other instances begin studies too?
        self.failed: dict[str, InfexError] = {}

    def __iter__(self) -> Iterator[ServedStudy]:
        return iter([study for _, study in sorted(self._open_studies.items())])

    def get(self, name: str) -> ServedStudy:
        """The study of a name."""
        found = self._open_studies.get(name)
        if found is not None:
            return found
        if name in self.failed:
            raise self.failed[name]
        if not self.opened.is_set():
            raise NotReady("the studies are being opened")
        raise UnknownStudy(f"there is no study {name!r}")

    async def find(self, name: str) -> ServedStudy:
        """The study of a name; one that another instance has begun is opened."""
        try:
            return self.get(name)
        except UnknownStudy:
            if not self.shared or name not in await asyncio.to_thread(studies, self.url):
                raise
        return await asyncio.to_thread(self._open, name, {}, asyncio.get_running_loop())

    async def open_all(self) -> None:
        """Opens all that are kept and not open; then the service is ready.

        StoreFailed is raised if the store cannot be used now: then it is to be tried again.
        """
        for name in await asyncio.to_thread(studies, self.url):
            if name in self._open_studies or name in self.failed:
                continue
            try:
                await asyncio.to_thread(self._open, name, {}, asyncio.get_running_loop())
            except StoreFailed:
                raise
            except InfexError as error:
                LOG.error(
                    "the study %r cannot be opened, others are served: %s. See `infex study verify`, or "
                    "restore a backup, and start the service again",
                    name,
                    error,
                )
                self.failed[name] = error
        self.opened.set()

    async def begin(self, request: StudyRequest) -> ServedStudy:
        """Begins a study, or finds the one of this name with these settings."""
        if request.features is not None:
            arms, width = request.features.get("arms"), request.features.get("context_dim")
            _refuse_large("features.arms", len(arms) if isinstance(arms, list) else arms, self._limits.arms)
            _refuse_large("features.context_dim", width, self._limits.features)
        _refuse_large("dim", request.dim, self._limits.features)
        settings, loop = request.settings(), asyncio.get_running_loop()
        return await asyncio.to_thread(self._open, request.name, settings, loop)

    def _open(self, name: str, settings: dict[str, Any], loop: asyncio.AbstractEventLoop) -> ServedStudy:
        with self._opening:
            if self._closed:
                raise NotReady("the service is closing down")
            if name in self._open_studies:
                self._open_studies[name].study.check_settings(settings)
                return self._open_studies[name]
            if len(self._open_studies) >= self._limits.studies:
                raise Overloaded(f"{len(self._open_studies)} studies are open, which is all that are allowed")
            self.openings += 1
            try:
                study = Study.open(self.url, name, **settings)
            finally:
                self.openings += 1
            queue = StudyQueue(study, self._limits, loop, self.shared)
            served = ServedStudy(study, queue, History(self.url, name), self._limits)
            self._open_studies[name] = served
            return served

    async def close(self) -> None:
        """Does what was begun in all of them, and closes them; whoever reads goes first."""
        await asyncio.to_thread(self._open_no_more)
        for study in self:
            study.cancel_overview()
            await asyncio.to_thread(study.history.close)
        for study in self:
            await study.queue.close()
        self._open_studies.clear()

    def _open_no_more(self) -> None:
        with self._opening:  # one that is being opened is waited for
            self._closed = True


def _refuse_large(field: str, size: object, most: int) -> None:
    """Refuses what would take more memory than a request may ask for, before it is made."""
    if isinstance(size, int) and size > most:
        raise InvalidBody(f"{field} is {size}", field=field, expected=f"at most {most}")


SECONDS_BETWEEN_CHECKS = 1.0
LONGEST_CHECK = 2.0  # seconds until a store that does not answer counts as failing
SECONDS_BETWEEN_LINES = 10.0  # of the log, while the store fails in the same way


@final
class StoreHealth:
    """Whether the store can be used, from failed requests (`failed`) and from checks (`is_up`).

    A failure makes the store count as down until a check succeeds. The first failure is logged at once, and
    so is one for another cause; while it lasts, there is a line every ten seconds, and one at its end.
    """

    def __init__(self, open_studies: Studies, clock: Callable[[], float] = time.monotonic) -> None:
        self._studies, self._clock = open_studies, clock
        self._lock = threading.Lock()
        self._checking: asyncio.Task[None] | None = None
        self._checked = self._logged = -math.inf
        self._down_since: float | None = None
        self._cause, self._unlogged = "", 0
        self.failures = 0

    @property
    def up(self) -> bool:
        """Could the store be used last time?"""
        return self._down_since is None

    async def is_up(self) -> bool:
        """Can the store be used? It is checked at most once a second, and waited for two seconds at most."""
        checking = self._checking
        if checking is None and self._clock() - self._checked >= SECONDS_BETWEEN_CHECKS:
            checking = self._checking = asyncio.create_task(asyncio.to_thread(self._check))
            checking.add_done_callback(self._has_checked)
        if checking is not None:
            done, _ = await asyncio.wait({checking}, timeout=LONGEST_CHECK)
            if not done:
                self.failed(StoreFailed(f"no answer within {LONGEST_CHECK:g} s"))
        return self.up

    async def end(self) -> None:
        """Waits for a check that is under way, but not for long."""
        if self._checking is not None:
            await asyncio.wait({self._checking}, timeout=LONGEST_CHECK)

    def _has_checked(self, checking: asyncio.Task[None]) -> None:
        self._checking, self._checked = None, self._clock()
        if not checking.cancelled():
            checking.result()  # an error that is no failure of the store goes to the loop, which logs it

    def _check(self) -> None:
        """Reads the store by its address; after a failure, also writes what a failed commit has left."""
        failures, openings = self.failures, self._studies.openings
        try:
            names = studies(self._studies.url)
            missing = [study.name for study in self._studies if study.name not in names]
            if missing:
                raise StoreFailed(f"the database does not have the open study {missing[0]!r} any more")
            if not self.up:
                for served in self._studies:
                    served.study.flush()
        except InfexError as error:
            self.failed(error, openings)
        else:
            self._worked(failures)

    def failed(self, error: InfexError, openings: int | None = None) -> None:
        """Counts and logs a failure of the store.

        With `openings` as they were before, a database that was being made meanwhile is not blamed: it may
        have been read half made.
        """
        is_made = openings is not None and (openings % 2 == 1 or openings != self._studies.openings)
        if is_made and not isinstance(error, StoreFailed):
            return
        cause = str(error)
        with self._lock:
            now = self._clock()
            self.failures += 1
            self._unlogged += 1
            if self._down_since is None:
                self._down_since = now
            elif cause == self._cause and now - self._logged < SECONDS_BETWEEN_LINES:
                return
            count, self._unlogged, self._logged, self._cause = self._unlogged, 0, now, cause
        advice = "Make room on the disk, and see that the database file is there and can be read and written"
        if self._studies.shared:
            advice = "Bring PostgreSQL back, or make it reachable from here"
        LOG.error(
            "the database cannot be used (failures since the last line: %d): %s. Requests that need it get "
            "503; nothing acknowledged is lost. %s; the service then goes on by itself",
            count,
            cause,
            advice,
        )

    def _worked(self, failures: int) -> None:
        """The store could be used, and counts as up, unless there were more failures meanwhile."""
        with self._lock:
            if self.failures != failures:
                return
            since, self._down_since = self._down_since, None
        if since is not None:
            LOG.warning("the database can be used again, after %.0f s", self._clock() - since)
