"""A simulated shop that shows the service at work: three studies, late rewards, visitors that keep coming."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from infex.errors import InfexError
from infex.service.schemas import parsed
from infex.service.studies import Studies
from infex.streams import stream
from infex.study.study import Study

PRODUCTS = ("tea", "coffee", "cocoa", "juice", "water", "syrup")
LANDS = ("FR", "DE", "IT", "ES")
PAST_SECONDS = 12 * 86_400.0
LIVE_PAUSE, LIVE_DELAY = 0.04, 8.0  # seconds
NEVER_TOLD = 0.1  # of rewards
VISITOR = {
    "kind": "table", "version": 1, "numbers": [["age", [18.0, 90.0]], ["hour", [0.0, 24.0]]],
    "categories": [["land", list(LANDS)]], "missing": "refuse", "unseen": "refuse", "beyond": "refuse",
    "intercept": True,
}  # fmt: skip


@final
@dataclass
class Shopper:
    """Draws visitors of a study and what they do: the truth that the study has to find."""

    name: str
    settings: dict[str, Any]
    arms: tuple[str, ...]
    by_context: bool = True
    past: int = 6000
    late: list[tuple[float, int, str, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = stream(7, "demo", self.name)
        self.truth = self.rng.normal(0.0, 0.16, (len(self.arms), 7 if self.by_context else 1))
        self.truth[:, 0] += self.rng.uniform(0.05, 0.45, len(self.arms))
        self.count = itertools.count(1)

    def visitor(self) -> dict[str, Any] | None:
        """The context of one, if contexts count here."""
        if not self.by_context:
            return None
        age, hour, land = self.rng.integers(18, 91), self.rng.uniform(0, 24), self.rng.integers(len(LANDS))
        return {"age": int(age), "hour": round(float(hour), 1), "land": LANDS[land]}

    def mean(self, arm: int, visitor: dict[str, Any] | None) -> float:
        """The chance that a visitor takes what is offered."""
        features = np.zeros(self.truth.shape[1])
        features[0] = 1.0
        if visitor is not None:
            features[1:3] = (visitor["age"] - 54) / 36, (visitor["hour"] - 12) / 12
            features[3 + LANDS.index(visitor["land"])] = 1.0
        return float(np.clip(self.truth[arm] @ features, 0.02, 0.95))

    def act(self, study: Study, now: float, delay: float) -> None:
        """One visitor comes, and rewards that are due are told."""
        visitor, key = self.visitor(), f"{self.name}-{next(self.count):06}"
        unit = f"visitor-{self.rng.integers(2000)}"
        decision = study.ask(key, context=visitor, unit=unit, durable=False)
        reward = float(self.rng.random() < self.mean(decision.arm, visitor))
        if self.rng.random() > NEVER_TOLD:
            after = now + self.rng.exponential(delay)
            heapq.heappush(self.late, (after, next(self.count), key, reward))
        while self.late and self.late[0][0] <= now:
            _, _, key, reward = heapq.heappop(self.late)
            study.tell(key, reward, durable=False)


def shoppers() -> list[Shopper]:
    """A shop of six products, a newsletter of six lines, and a shelf that explores by chance."""
    shop = {"kind": "disjoint", "version": 1, "arms": list(PRODUCTS), "context_dim": 7, "longest": 2.0}
    lines = tuple(f"line {letter}" for letter in "ABCDEF")
    shelf = tuple(f"shelf {number}" for number in range(1, 9))
    by_context = _settings("Infex(LinUCB(scale=0.3), guarded(every(20), 150.0))", shop | {"context": VISITOR})
    return [
        Shopper("shop", by_context | {"holdout": 0.1, "reward_unit": "EUR"}, PRODUCTS),
        Shopper("newsletter", _settings("Infex(LinTS, every(10))") | _fixed(lines), lines, False, 600),
        Shopper(
            "shelf", _settings("Infex(LinUCB(scale=0.5), jittered(15))") | _fixed(shelf), shelf, False, 600
        ),
    ]


def _settings(policy: str, features: dict[str, Any] | None = None) -> dict[str, Any]:
    things = {} if features is None else {"features": parsed("features", features)}
    return {"policy": parsed("policy", policy), "seed": 7, "wait": "1 day", "rewards": (0.0, 1.0)} | things


def _fixed(labels: tuple[str, ...]) -> dict[str, Any]:
    return {"arms": np.eye(len(labels)).tolist(), "labels": list(labels)}


def play_past(url: str, shops: list[Shopper], end: float) -> None:
    """Twelve days of decisions and rewards, written into a new database before the service opens it."""
    for shop in shops:
        now = [end - PAST_SECONDS]
        with Study.open(url, shop.name, clock=lambda now=now: now[0], **shop.settings) as study:  # type: ignore[misc]
            for _ in range(shop.past):
                shop.act(study, now[0], PAST_SECONDS / 200)
                now[0] += PAST_SECONDS / shop.past


def play_on(studies: Studies, shops: list[Shopper], ended: threading.Event) -> None:
    """Visitors that come while the service runs, until it ends."""
    while not ended.wait(LIVE_PAUSE):
        for shop in shops[: 1 + (int(time.time() * 10) % 3 == 0) * 2]:
            try:
                shop.act(studies.get(shop.name).study, time.time(), LIVE_DELAY)
            except InfexError:
                continue  # it is being opened, or closed
