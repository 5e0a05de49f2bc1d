"""Figures of a service for Prometheus, read from the studies when they are asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any, final

from prometheus_client import CollectorRegistry, Counter, Histogram, PlatformCollector, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from infex.service.open_studies import OpenStudies

SECONDS_EDGES = (0.002, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.5, 1.0, 5.0, 30.0)
MEDIA = CONTENT_TYPE_LATEST


@final
class Gauges:
    """All figures; a label is a study, an address or a status, never a key or a person."""

    def __init__(self, studies: OpenStudies) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        self._requests = Counter(
            "infex_requests", "Requests answered.", ["address", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "infex_request_seconds", "Until the answer.", ["address"], buckets=SECONDS_EDGES,
            registry=self._registry,
        )  # fmt: skip
        self._counted: dict[tuple[str, int], tuple[Counter, Histogram]] = {}  # a look at labels takes longer
        self._registry.register(StudyFigures(studies))

    def answered(self, address: str, status: int, seconds: float) -> None:
        """Counts a request."""
        counted = self._counted.get((address, status))
        if counted is None:
            counted = self._requests.labels(address, str(status)), self._seconds.labels(address)
            self._counted[address, status] = counted
        counted[0].inc()
        counted[1].observe(seconds)

    async def text(self) -> bytes:
        """All figures in the format of Prometheus."""
        return await asyncio.to_thread(generate_latest, self._registry)


@final
class StudyFigures(Collector):
    """The figures of all studies, as `study.metrics()` gives them at this moment."""

    def __init__(self, studies: OpenStudies) -> None:
        self._studies = studies

    def describe(self) -> Iterable[Metric]:
        """Nothing: what there is depends on the studies."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """One family for each figure."""
        seen = [(calls.study.name, calls.waiting, calls.study.metrics()) for calls in self._studies]
        yield from _counts(seen)
        yield from _rewards(seen)
        yield from _estimates(seen)
        waiting = GaugeMetricFamily("infex_waiting", "Requests that wait for the study.", labels=["study"])
        for name, count, _ in seen:
            waiting.add_metric([name], count)
        yield waiting
        yield GaugeMetricFamily(
            "infex_studies_failed", "Studies that cannot be opened.", value=len(self._studies.failed)
        )


Seen = list[tuple[str, int, dict[str, Any]]]


def _counts(seen: Seen) -> Iterator[Metric]:
    decisions = CounterMetricFamily("infex_decisions", "Decisions taken.", labels=["study"])
    explored = CounterMetricFamily(
        "infex_explorations",
        "Explorations planned, done, skipped, and really different.",
        labels=["study", "what"],
    )
    cost = GaugeMetricFamily(
        "infex_exploration_cost", "Summed estimated loss of exploring.", labels=["study"]
    )
    reasons = CounterMetricFamily("infex_reasons", "Decisions by their reason.", labels=["study", "reason"])
    for name, _, figures in seen:
        decisions.add_metric([name], figures["decisions"])
        spent = figures["exploration"]
        for what in ("planned", "done", "skipped", "made_up", "owed", "dropped", "different"):
            if spent[what] is not None:
                explored.add_metric([name, what], spent[what])
        cost.add_metric([name], spent["cost"])
        for reason, count in figures["reasons"].items():
            reasons.add_metric([name, reason], count)
    yield from (decisions, explored, cost, reasons)


def _rewards(seen: Seen) -> Iterator[Metric]:
    states = GaugeMetricFamily(
        "infex_decisions_by_state", "Decisions by the state of their reward.", labels=["study", "state"]
    )
    ages = GaugeMetricFamily(
        "infex_pending_by_age", "Pending decisions, by age in seconds up to `age`.", labels=["study", "age"]
    )
    delays = HistogramMetricFamily("infex_reward_delay_seconds", "From decision to reward.", labels=["study"])
    for name, _, figures in seen:
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
        "infex_mean_reward", "Mean reward of the last day's decisions.", labels=["study"]
    )
    calibration = GaugeMetricFamily(
        "infex_calibration", "Mean reward minus mean estimate, of the last day.", labels=["study"]
    )
    drift = GaugeMetricFamily(
        "infex_residual_drift", "Recent residuals from all, in standard errors.", labels=["study"]
    )
    for name, _, figures in seen:
        last = figures["days"][max(figures["days"])] if figures["days"] else {}
        for family, value in (
            (mean, last.get("mean_reward")),
            (calibration, last.get("calibration")),
            (drift, figures["residuals"]["z"]),
        ):
            if value is not None:
                family.add_metric([name], value)
    yield from (mean, calibration, drift)
