"""Figures of a service for Prometheus, read from the studies when they are asked for."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any, final

from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from infex.errors import StoreFailed
from infex.service.open_studies import OpenStudies
from infex.service.store_health import StoreHealth
from infex.service.tokens import TokenFile

SECONDS_EDGES = (0.002, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.5, 1.0, 5.0, 30.0)
EDGES_AS_TEXT = (*map(str, SECONDS_EDGES), "+Inf")
MEDIA = CONTENT_TYPE_LATEST


@final
class Gauges:
    """All figures; a label is a study, an address or a status, never a key or a person."""

    def __init__(self, studies: OpenStudies, store: StoreHealth, tokens: TokenFile) -> None:
        self._registry, self._store = CollectorRegistry(), store
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        self._traffic = Traffic()
        self.answered = self._traffic.answered
        self._registry.register(self._traffic)
        self._registry.register(TokenFigures(tokens))
        self._registry.register(StudyFigures(studies, store))
        self._registry.register(StoreFigures(store))

    async def text(self) -> bytes:
        """All figures in the format of Prometheus; while the store fails, without those that need it."""
        await self._store.is_up()
        return await asyncio.to_thread(generate_latest, self._registry)


@final
class Traffic(Collector):
    """Requests that were answered, as plain sums: those of Prometheus take ten times as long.

    One thread counts; any thread may collect.
    """

    def __init__(self) -> None:
        self._requests: dict[tuple[str, int], int] = {}
        self._seconds: dict[str, Durations] = {}

    def answered(self, address: str, status: int, seconds: float) -> None:
        """Counts a request."""
        self._requests[address, status] = self._requests.get((address, status), 0) + 1
        durations = self._seconds.get(address)
        if durations is None:
            durations = self._seconds[address] = Durations()
        durations.add(seconds)

    def describe(self) -> Iterable[Metric]:
        """Nothing: what there is depends on what was asked."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Requests by address and status, and how long they took."""
        requests = CounterMetricFamily("infex_requests", "Requests answered.", labels=["address", "status"])
        for (address, status), count in self._requests.copy().items():
            requests.add_metric([address, str(status)], count)
        yield requests
        seconds = HistogramMetricFamily("infex_request_seconds", "Until the answer.", labels=["address"])
        for address, durations in self._seconds.copy().items():
            seconds.add_metric([address], durations.buckets(), durations.total)
        yield seconds


@final
class Durations:
    """How many durations lie up to each of `SECONDS_EDGES`, and their sum."""

    __slots__ = ("_counts", "total")

    def __init__(self) -> None:
        self._counts, self.total = [0] * (len(SECONDS_EDGES) + 1), 0.0

    def add(self, seconds: float) -> None:
        """Counts one."""
        self._counts[bisect_left(SECONDS_EDGES, seconds)] += 1
        self.total += seconds

    def buckets(self) -> list[tuple[str, float]]:
        """The counts added up from the left, by their edges."""
        return list(zip(EDGES_AS_TEXT, map(float, accumulate(self._counts)), strict=True))


@final
class TokenFigures(Collector):
    """How often the service was left without a valid token; nobody can read it before there is one again."""

    def __init__(self, tokens: TokenFile) -> None:
        self._tokens = tokens

    def collect(self) -> Iterator[Metric]:
        """One counter."""
        words = "Times that no valid token was left, so that every request was refused until one was made."
        yield CounterMetricFamily("infex_shut", words, value=self._tokens.times_shut)


@final
class StudyFigures(Collector):
    """The figures of all studies, as `study.metrics()` gives them at this moment.

    A study whose figures need the store is left out while the store fails.
    """

    def __init__(self, studies: OpenStudies, store: StoreHealth) -> None:
        self._studies, self._store = studies, store

    def describe(self) -> Iterable[Metric]:
        """Nothing: what there is depends on the studies."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """One family for each figure."""
        seen = list(self._seen())
        yield from _counts(seen)
        yield from _rewards(seen)
        yield from _estimates(seen)
        waiting = GaugeMetricFamily("infex_waiting", "Requests that wait for the study.", labels=["study"])
        for calls in self._studies:
            waiting.add_metric([calls.study.name], calls.waiting)
        yield waiting
        yield GaugeMetricFamily(
            "infex_studies_failed", "Studies that cannot be opened.", value=len(self._studies.failed)
        )

    def _seen(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for calls in self._studies:
            if self._studies.shared and not self._store.up:
                return
            try:
                yield calls.study.name, calls.study.metrics()
            except StoreFailed as error:
                self._store.failed(error)


@final
class StoreFigures(Collector):
    """Whether the store can be used, and how often it could not."""

    def __init__(self, store: StoreHealth) -> None:
        self._store = store

    def collect(self) -> Iterator[Metric]:
        """Both, of this instance."""
        yield GaugeMetricFamily(
            "infex_store_up", "1 if the store can be read and written, 0 if not.", value=float(self._store.up)
        )
        yield CounterMetricFamily(
            "infex_store_failures", "Requests and checks that the store failed.", value=self._store.failures
        )


Seen = list[tuple[str, dict[str, Any]]]


def _counts(seen: Seen) -> Iterator[Metric]:
    decisions = CounterMetricFamily(
        "infex_decisions", "Decisions taken, those held out included.", labels=["study"]
    )
    held = CounterMetricFamily(
        "infex_decisions_held_out", "Decisions for units that are held out.", labels=["study"]
    )
    explored = CounterMetricFamily(
        "infex_explorations",
        "Explorations planned, done, skipped, and really different.",
        labels=["study", "what"],
    )
    cost = GaugeMetricFamily(
        "infex_exploration_cost", "Summed estimated loss of exploring.", labels=["study"]
    )
    reasons = CounterMetricFamily(
        "infex_reasons", "Decisions by their reason, without those held out.", labels=["study", "reason"]
    )
    for name, figures in seen:
        decisions.add_metric([name], figures["decisions"])
        held.add_metric([name], figures["held_out"]["decisions"])
        spent = figures["exploration"]
        for what in ("planned", "done", "skipped", "made_up", "owed", "dropped", "different"):
            if spent[what] is not None:
                explored.add_metric([name, what], spent[what])
        cost.add_metric([name], spent["cost"])
        for reason, count in figures["reasons"].items():
            reasons.add_metric([name, reason], count)
    yield from (decisions, held, explored, cost, reasons)


def _rewards(seen: Seen) -> Iterator[Metric]:
    states = GaugeMetricFamily(
        "infex_decisions_by_state",
        "Decisions by the state of their reward, those held out included; they add up to infex_decisions.",
        labels=["study", "state"],
    )
    ages = GaugeMetricFamily(
        "infex_pending_by_age",
        "Pending decisions, those held out included, by age in seconds up to `age`.",
        labels=["study", "age"],
    )
    delays = HistogramMetricFamily(
        "infex_reward_delay_seconds", "From decision to reward, without those held out.", labels=["study"]
    )
    for name, figures in seen:
        for state, count in figures["states"].items():
            states.add_metric([name, state], count)
        for age, count in figures["pending_by_age"].items():
            ages.add_metric([name, age], count)
        delays.add_metric([name], *_buckets(figures["delay"]))
    yield from (states, ages, delays)


def _buckets(delay: dict[str, Any]) -> tuple[list[tuple[str, float]], float]:
    """The buckets added up from the left, and the sum."""
    total, buckets = 0, []
    for edge, count in delay["up_to"].items():
        total += count
        buckets.append(("+Inf" if edge == "more" else edge, float(total)))
    return buckets, total * (delay["mean"] or 0.0)


def _estimates(seen: Seen) -> Iterator[Metric]:
    mean = GaugeMetricFamily(
        "infex_mean_reward",
        "Mean reward of the last day's decisions, without those held out.",
        labels=["study"],
    )
    calibration = GaugeMetricFamily(
        "infex_calibration", "Mean reward minus mean estimate, of the last day.", labels=["study"]
    )
    drift = GaugeMetricFamily(
        "infex_residual_drift", "Recent residuals from all, in standard errors.", labels=["study"]
    )
    for name, figures in seen:
        last = figures["days"][max(figures["days"])] if figures["days"] else {}
        for family, value in (
            (mean, last.get("mean_reward")),
            (calibration, last.get("calibration")),
            (drift, figures["residuals"]["z"]),
        ):
            if value is not None:
                family.add_metric([name], value)
    yield from (mean, calibration, drift)
