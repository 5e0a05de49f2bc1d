"""The operator of a study: corrects, erases, amends, explains, exports, all over HTTP by `infex.Client`."""

import tempfile
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, TypeVar, final

import infex
from benchmarks.operator_hour.ledger import Amendment, Ledger
from benchmarks.operator_hour.shops import NAMES, Shop
from infex.client import RemoteStudy
from infex.errors import AnotherRequest, NotReady, Overloaded, ServiceSilent, StoreFailed

SECONDS = 20.0  # that a client waits for an instance, until the operator tries the next
PAUSE = 0.2  # seconds before that
FEWEST_ARMS, MOST_FEATURES = 3, 6
POLICIES = ("LinUCB, every(5)", "LinUCB, every(10)", "LinTS, every(7)", "LinUCB, every(20)")
LATER = (ServiceSilent, StoreFailed, Overloaded, NotReady)  # what says that the same may do later
T = TypeVar("T")


@final
class Operator(threading.Thread):
    """Does one thing after the other, each kind as often as the others, with pauses between."""

    def __init__(
        self, shop: Shop, ledger: Ledger, ports: list[int], pause: float, ended: threading.Event
    ) -> None:
        super().__init__(name=f"operator of {shop.name}")
        clients = [
            infex.Client(f"http://127.0.0.1:{port}", seconds=SECONDS, fallback=False) for port in ports
        ]
        self._studies = deque(client.study(shop.name) for client in clients)
        self._shop, self._ledger, self._pause, self._ended = shop, ledger, pause, ended
        self._rng, self._labels, self._policy = Random(5), list(NAMES[:5]), ""
        self._work: list[Callable[[], None]] = [
            self._correct, self._correct, self._erase, self._change_policy, self._pause_and_resume,
            self._add_arm, self._remove_arm, self._extend, self._explain, self._export, self._read_metrics,
        ]  # fmt: skip

    def run(self) -> None:
        """Goes on until it is ended."""
        try:
            while not self._ended.is_set():
                for work in self._rng.sample(self._work, len(self._work)):
                    if self._ended.wait(self._rng.uniform(0.5, 1.5) * self._pause):
                        return
                    work()
        except Exception:
            self._ledger.wrong.append(traceback.format_exc())

    def call(self, do: Callable[[RemoteStudy], T]) -> T:
        """What a call gives, at one instance or the other, sent again until it is answered."""
        while True:
            try:
                return do(self._studies[0])
            except LATER:
                self._studies.rotate()
                time.sleep(PAUSE)

    def amend(self, **change: Any) -> None:
        """One change, exactly once: the same again changes nothing, and another under its key is refused."""
        ledger = self._ledger
        key, sent = f"{ledger.study} amendment {len(ledger.amendments)}", time.monotonic()
        for _ in range(self._rng.choice((1, 2))):
            self.call(lambda study: study.amend(reason=key, key=key, **change))
        ledger.amendments.append(Amendment(key, change, sent, time.monotonic()))
        try:
            self.call(lambda study: study.amend(reason=key, key=key, policy="Greedy"))
            ledger.expect(False, f"{key} took another request")
        except AnotherRequest:
            pass

    def _correct(self) -> None:
        ledger = self._ledger
        for key in self._rng.sample(list(ledger.rewards), min(5, len(ledger.rewards))):
            if not ledger.is_erased(key):
                ledger.corrections[key] = reward = round(self._rng.gauss(0.5, 0.2), 6)
                state = self.call(lambda study: study.correct(key, reward, reason="sent back"))  # noqa: B023
                ledger.expect(state == "corrected", f"{key} is {state}, not corrected")

    def _erase(self) -> None:
        ledger = self._ledger
        settled = [unit for unit in ledger.settled if unit not in ledger.erased]
        if settled:
            unit = self._rng.choice(settled)
            ledger.erased.add(unit)
            self.call(lambda study: study.forget(unit, reason="asked for it"))
            key = ledger.keys[unit][0]
            state = self.call(lambda study: study.state(key))
            ledger.expect(state == "erased", f"{key} of a unit that was erased is {state}")

    def _change_policy(self) -> None:
        self._policy = self._rng.choice([each for each in POLICIES if each != self._policy])
        self.amend(policy=f"Infex({self._policy})")

    def _pause_and_resume(self) -> None:
        self.amend(explore=False)
        self._ended.wait(self._pause)
        self.amend(explore=True)

    def _add_arm(self) -> None:
        if gone := [name for name in NAMES if name not in self._labels]:
            label = self._rng.choice(gone)
            arms, labels = self._shop.new_arm(self._rng, label, self._ledger.more_features)
            self.amend(add_arms={"arms": arms} | ({} if labels is None else {"labels": labels}))
            self._labels.append(label)

    def _remove_arm(self) -> None:
        if len(self._labels) > FEWEST_ARMS:
            label = self._rng.choice(self._labels)
            self.amend(remove_arms=[label])
            self._labels.remove(label)

    def _extend(self) -> None:
        features = self._ledger.more_features
        if len(features) < MOST_FEATURES:
            self.amend(extend=self._shop.extension(f"more {len(features)}"))
            features.append(f"more {len(features)}")

    def _explain(self) -> None:
        ledger = self._ledger
        key = self._rng.choice(list(ledger.decisions))
        if not ledger.is_erased(key):
            why = self.call(lambda study: study.explain(key))
            ledger.read["proven" if why["proven"] else "unproven"] += 1

    def _export(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.call(lambda study: study.export(Path(folder) / "log.parquet"))
        self._ledger.read["exported"] += 1

    def _read_metrics(self) -> None:
        known, figures = len(self._ledger.decisions), self.call(lambda study: study.metrics())
        self._ledger.expect(figures["decisions"] >= known, f"{figures['decisions']} decisions of {known}")
        self._ledger.read["metrics"] += 1
