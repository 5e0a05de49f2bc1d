"""What was acknowledged to whoever asked, kept outside of the services."""

import threading
import time
from collections import Counter, defaultdict
from typing import Any, NamedTuple, final


class Acknowledged(NamedTuple):
    """A request that was answered 200, the answer, and when it was sent first and answered last."""

    request: dict[str, Any]
    answer: dict[str, Any]
    sent: float
    answered: float


class Amendment(NamedTuple):
    """A change of a study under its key, which is its reason too; the words of `RemoteStudy.amend`."""

    key: str
    change: dict[str, Any]
    sent: float
    answered: float


@final
class Ledger:
    """All that one study has acknowledged, by key; whatever was answered and should not have been is `wrong`.

    `rewards` has the reward and the state that was answered. A unit is `settled` when no decision is asked
    for it any more. `erased` and `corrections` have what is to be erased or corrected before it is sent.
    """

    def __init__(self, study: str) -> None:
        self.study = study
        self.decisions: dict[str, Acknowledged] = {}
        self.rewards: dict[str, tuple[float, str]] = {}
        self.corrections: dict[str, float] = {}
        self.amendments: list[Amendment] = []
        self.keys: defaultdict[str, list[str]] = defaultdict(list)  # of a unit
        self.settled: list[str] = []
        self.erased: set[str] = set()
        self.more_features: list[str] = []
        self.wrong: list[str] = []
        self.read: Counter[str] = Counter()  # exports, proofs and the like
        self._lock = threading.Lock()

    def add_decision(self, acknowledged: Acknowledged) -> None:
        """A decision that was answered; a key has one decision for ever."""
        key, unit = acknowledged.request["key"], acknowledged.request["unit"]
        with self._lock:
            before = self.decisions.setdefault(key, acknowledged)
            self.expect(before.answer == acknowledged.answer, f"{key} was decided twice")
            if before is acknowledged:
                self.keys[unit].append(key)

    def is_erased(self, key: str) -> bool:
        """Was the unit of a decision erased, or is it about to be?"""
        return self.decisions[key].request["unit"] in self.erased

    def expect(self, holds: bool, otherwise: str) -> None:
        """Notes what is wrong, unless something holds."""
        if not holds:
            self.wrong.append(f"{time.strftime('%H:%M:%S')} {self.study}: {otherwise}")
