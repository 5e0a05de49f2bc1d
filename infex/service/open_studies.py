"""The studies of a service: all that are kept at its address, opened once."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from typing import Any, final

import msgspec

from infex import registry
from infex.errors import InfexError, InvalidBody, NotReady, Overloaded, StoreFailed, UnknownStudy
from infex.registry import from_record
from infex.service.grouped_calls import GroupedCalls
from infex.service.journal_view import JournalView
from infex.service.kept_pasts import past_table
from infex.service.service_limits import ServiceLimits
from infex.service.service_log import SERVICE_LOG
from infex.service.shapes import HoldoutArm, StudyRequest
from infex.study.stores.base import sqlite_path, studies
from infex.study.study import Study

CALLERS_OF_SHARED = 32  # threads; what they ask at once goes into one transaction
LONGEST_WAY = 1.0  # seconds: a journal is read on, though somebody always looks
THINGS_BY_TEXT = ("policy", "estimator")


@final
class Onlookers:
    """Those who look at a study now: whoever reads old entries gives way, and the page is drawn first."""

    def __init__(self) -> None:
        self._lock, self._count, self._nobody = threading.Lock(), 0, threading.Event()
        self._nobody.set()

    @contextlib.contextmanager
    def looking(self) -> Iterator[None]:
        """While it lasts, somebody looks."""
        self._add(1)
        try:
            yield
        finally:
            self._add(-1)

    def give_way(self, seconds: float = LONGEST_WAY) -> bool:
        """Returns when nobody looks, or False after so many seconds."""
        return self._nobody.wait(seconds)

    def _add(self, count: int) -> None:
        with self._lock:
            self._count += count
            if self._count:
                self._nobody.clear()
            else:
                self._nobody.set()


@final
class OpenStudies:
    """Studies by name, with calls and views of journals; `opened` when all are open, or `failed`."""

    def __init__(self, url: str, limits: ServiceLimits) -> None:
        self.url, self._limits = url, limits
        self._calls: dict[str, GroupedCalls] = {}
        self._views: dict[str, JournalView] = {}
        self._opening, self._pasts = threading.Lock(), past_table(url)
        self.onlookers = Onlookers()
        self.opened = asyncio.Event()
        self.shared = sqlite_path(url) is None  # do other instances begin studies too?
        self.failed: dict[str, InfexError] = {}

    @property
    def ready(self) -> bool:
        """Are all open that can be?"""
        return self.opened.is_set()

    def __iter__(self) -> Iterator[GroupedCalls]:
        return iter([calls for _, calls in sorted(self._calls.items())])

    def of(self, name: str) -> GroupedCalls:
        """The study of a name."""
        found = self._calls.get(name)
        if found is not None:
            return found
        if name in self.failed:
            raise self.failed[name]
        if not self.ready:
            raise NotReady("the studies are being opened")
        raise UnknownStudy(f"there is no study {name!r}")

    async def found(self, name: str) -> GroupedCalls:
        """The study of a name; one that another instance has begun is opened."""
        try:
            return self.of(name)
        except UnknownStudy:
            if not self.shared or name not in await asyncio.to_thread(studies, self.url):
                raise
        return await asyncio.to_thread(self._open, name, {}, asyncio.get_running_loop())

    def view(self, name: str) -> JournalView:
        """What the journal of a study tells, as far as it was read."""
        self.of(name)
        return self._views[name]

    async def open_all(self) -> None:
        """Opens all that are kept and not open; then the service is ready.

        StoreFailed is raised if the store cannot be used now: then it is to be tried again.
        """
        loop = asyncio.get_running_loop()
        for name in await asyncio.to_thread(studies, self.url):
            if name in self._calls or name in self.failed:
                continue
            try:
                await asyncio.to_thread(self._open, name, {}, loop)
            except StoreFailed:
                raise
            except InfexError as error:
                SERVICE_LOG.error(
                    "the study %r cannot be opened, others are served: %s. See `infex study verify`, or "
                    "restore a backup, and start the service again",
                    name,
                    error,
                )
                self.failed[name] = error
        self.opened.set()

    async def begin(self, request: StudyRequest) -> GroupedCalls:
        """Begins a study, or finds the one of this name with these settings."""
        settings = settings_of(request, self._limits)
        return await asyncio.to_thread(self._open, request.name, settings, asyncio.get_running_loop())

    def _open(self, name: str, settings: dict[str, Any], loop: asyncio.AbstractEventLoop) -> GroupedCalls:
        with self._opening:
            if name in self._calls:
                self._calls[name].study.check_settings(settings)
                return self._calls[name]
            if len(self._calls) >= self._limits.studies:
                raise Overloaded(f"{len(self._calls)} studies are open, which is all that are allowed")
            study = Study.open(self.url, name, **settings)
            self._views[name] = JournalView(self.url, name, self._pasts)
            callers = CALLERS_OF_SHARED if self.shared else 1
            self._calls[name] = GroupedCalls(study, self._limits, loop, callers)
            return self._calls[name]

    def close(self) -> None:
        """Does what was begun in all of them, and closes them; whoever reads goes first."""
        for view in self._views.values():
            view.close()
        self._pasts.close()
        for calls in self:
            calls.close()
        self._calls.clear()
        self._views.clear()


def settings_of(request: StudyRequest, limits: ServiceLimits) -> dict[str, Any]:
    """What `Study.open` is to be given."""
    plain = {name: value for name, value in msgspec.structs.asdict(request).items() if value is not None}
    del plain["name"]
    if isinstance(request.holdout_policy, HoldoutArm):
        plain["holdout_policy"] = {"arm": request.holdout_policy.arm}
    for name in THINGS_BY_TEXT:
        if name in plain:
            plain[name] = thing_of(plain[name])
    if "features" in plain:
        refuse_large_map(plain["features"], limits)
        plain["features"] = thing_of(plain["features"])
    if plain.get("dim", 1) > limits.features:
        raise InvalidBody("dim is too large", field="dim", expected=f"at most {limits.features}")
    return plain


def thing_of(said: str | dict[str, Any]) -> Any:
    """A policy, an estimator or a map: built-in ones alone, from text or from a record."""
    return registry.parse(said) if isinstance(said, str) else from_record(said)


def refuse_large_map(record: dict[str, Any], limits: ServiceLimits) -> None:
    """Refuses a map that would take more memory than a request may ask for, before it is made."""
    arms, dim = record.get("arms"), record.get("context_dim")
    count = arms if isinstance(arms, int) else len(arms) if isinstance(arms, list) else 0
    width = dim if isinstance(dim, int) else 0
    for field, found, most in (("arms", count, limits.arms), ("context_dim", width, limits.features)):
        if found > most:
            raise InvalidBody(f"{field} is {found}", field=f"features.{field}", expected=f"at most {most}")
