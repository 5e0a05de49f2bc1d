"""Figures of a service in the format of Prometheus; those of studies are read when they are asked for."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections import Counter as Counts
from collections.abc import Callable, Iterable, Iterator
from typing import Any, final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from infex.errors import StoreFailed
from infex.service.auth import TokenFile
from infex.service.schemas import ServiceLimits
from infex.service.studies import ServedStudy, StoreHealth, Studies
from infex.study.stores.base import sqlite_path

SECONDS_BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.5, 1.0, 5.0, 30.0)
MEDIA_TYPE = CONTENT_TYPE_LATEST
MOST_ARMS = 20  # of a study, each with a line of its own
EXPLORATIONS = ("planned", "done", "skipped", "made_up", "owed", "dropped", "different")

Figures = dict[str, Any]
"""What `Study.metrics` gives."""
Samples = Iterable[tuple[list[str], float | None]]
"""Values by further labels; None where there is none."""


def _last_day(figures: Figures) -> Figures:
    days: Figures = figures["days"]
    return days[max(days)] if days else {}


Family = tuple[str, str, list[str], Callable[[Figures], Samples]]
"""Name, meaning, labels beside the study, and where its samples are in the figures of a study."""
# fmt: off
COUNTERS: list[Family] = [
    ("infex_decisions", "Decisions taken, those held out included.", [],
     lambda figures: [([], figures["decisions"])]),
    ("infex_decisions_held_out", "Decisions for units that are held out.", [],
     lambda figures: [([], figures["held_out"]["decisions"])]),
    ("infex_explorations", "Explorations planned, done, skipped; different: not the greedy arm.", ["what"],
     lambda figures: [([what], figures["exploration"][what]) for what in EXPLORATIONS]),
    ("infex_reasons", "Decisions by their reason, without those held out.", ["reason"],
     lambda figures: [([reason], count) for reason, count in figures["reasons"].items()]),
]
GAUGES: list[Family] = [
    ("infex_exploration_cost", "Summed estimated loss of exploring.", [],
     lambda figures: [([], figures["exploration"]["cost"])]),
    ("infex_decisions_by_state", "Decisions by the state of their reward, those held out included; they add "
     "up to infex_decisions.", ["state"],
     lambda figures: [([state], count) for state, count in figures["states"].items()]),
    ("infex_pending_by_age", "Pending decisions, those held out included, by age in seconds up to `age`.",
     ["age"], lambda figures: [([age], count) for age, count in figures["pending_by_age"].items()]),
    ("infex_mean_reward", "Mean reward of the last day's decisions, without those held out.", [],
     lambda figures: [([], _last_day(figures).get("mean_reward"))]),
    ("infex_calibration", "Mean reward minus mean estimate, of the last day.", [],
     lambda figures: [([], _last_day(figures).get("calibration"))]),
    ("infex_residual_drift", "Recent residuals from all, in standard errors.", [],
     lambda figures: [([], figures["residuals"]["z"])]),
    ("infex_recent_share", "Share of an arm in the latest 1,000 decisions, without those held out: of "
     "studies whose arms have labels, the 20 arms played most and all `other`.", ["arm"],
     lambda figures: [([arm], share) for arm, share in figures["shares"].items()]),
]
# fmt: on


@final
class Metrics:
    """All figures; a label is a study, one of its arms, an address or a status, never a key or a person."""

    def __init__(
        self, studies: Studies, store: StoreHealth, tokens: TokenFile, limits: ServiceLimits
    ) -> None:
        self._registry, self._store = CollectorRegistry(), store
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        self._requests = Counter(
            "infex_requests", "Requests answered.", ["address", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "infex_request_seconds",
            "Until the answer.",
            ["address"],
            buckets=SECONDS_BUCKETS,
            registry=self._registry,
        )
        self._registry.register(StudyCollector(studies, store, tokens))
        up = Gauge(
            "infex_store_up", "1 if the store can be read and written, 0 if not.", registry=self._registry
        )
        up.set_function(lambda: float(store.up))
        most = Gauge(
            "infex_pending_limit", "Pending decisions that a study may have.", registry=self._registry
        )
        most.set(limits.pending)

    def answered(self, address: str, status: int, seconds: float) -> None:
        """Counts a request that was answered."""
        self._requests.labels(address, status).inc()
        self._seconds.labels(address).observe(seconds)

    async def text(self) -> bytes:
        """All figures in the format of Prometheus; while the store fails, without those that need it."""
        await self._store.is_up()
        return await asyncio.to_thread(generate_latest, self._registry)


@final
class StudyCollector(Collector):
    """The figures of all studies, as `Study.metrics` gives them at this moment, and of what they rest on.

    A study whose figures need the store is left out while the store fails.
    """

    def __init__(self, studies: Studies, store: StoreHealth, tokens: TokenFile) -> None:
        self._studies, self._store, self._tokens = studies, store, tokens

    def describe(self) -> Iterable[Metric]:
        """Nothing: which samples there are depends on the studies."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """One family for each figure."""
        figures = dict(self._figures())
        for name, words, labels, samples in COUNTERS:
            yield _filled(CounterMetricFamily(name, words, labels=["study", *labels]), figures, samples)
        for name, words, labels, samples in GAUGES:
            yield _filled(GaugeMetricFamily(name, words, labels=["study", *labels]), figures, samples)
        yield _delays(figures)
        waiting = GaugeMetricFamily("infex_waiting", "Requests that wait for the study.", labels=["study"])
        for study in self._studies:
            waiting.add_metric([study.name], study.queue.waiting)
        yield waiting
        yield GaugeMetricFamily(
            "infex_studies_failed", "Studies that cannot be opened.", value=len(self._studies.failed)
        )
        yield CounterMetricFamily(
            "infex_store_failures", "Requests and checks that the store failed.", value=self._store.failures
        )
        path = sqlite_path(self._studies.url)
        with contextlib.suppress(OSError):  # its folder is gone: `infex_store_up` says so
            if path is not None:
                free, words = shutil.disk_usage(path.parent).free, "Free bytes where the database is."
                yield GaugeMetricFamily("infex_store_free_bytes", words, value=free)
        words = "Times that no valid token was left, so that every request was refused until one was made."
        yield CounterMetricFamily("infex_shut", words, value=self._tokens.times_shut)

    def _figures(self) -> Iterator[tuple[str, Figures]]:
        for served in self._studies:
            if self._studies.shared and not self._store.up:
                return
            try:
                yield served.name, served.study.metrics() | {"shares": _shares(served)}
            except StoreFailed as error:
                self._store.failed(error)


def _shares(served: ServedStudy) -> dict[str, float]:
    """The shares of arms lately: of a study whose requests bring their arms there would be too many."""
    if served.study.summary().labels is None:
        return {}
    recent = served.history.recent()
    most = Counts(each.arm for each in recent).most_common(MOST_ARMS)
    shares = {arm: count / len(recent) for arm, count in most}
    rest = 1.0 - sum(shares.values()) if recent else 0.0
    return shares | ({"other": shares.get("other", 0.0) + rest} if rest > 1e-9 else {})


def _filled(
    family: CounterMetricFamily | GaugeMetricFamily,
    figures: dict[str, Figures],
    samples: Callable[[Figures], Samples],
) -> Metric:
    for study, found in figures.items():
        for labels, value in samples(found):
            if value is not None:
                family.add_metric([study, *labels], value)
    return family


def _delays(figures: dict[str, Figures]) -> Metric:
    """How long rewards took, as a histogram: its buckets add up from the left."""
    words = "From decision to reward, without those held out."
    family = HistogramMetricFamily("infex_reward_delay_seconds", words, labels=["study"])
    for study, found in figures.items():
        total, buckets = 0, []
        for edge, count in found["delay"]["up_to"].items():
            total += count
            buckets.append(("+Inf" if edge == "more" else edge, float(total)))
        family.add_metric([study], buckets, total * (found["delay"]["mean"] or 0.0))
    return family
