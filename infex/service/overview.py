"""What the page says at the top of a study, computed in the background: is it worth it, which arms win?"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, final

import msgspec
import numpy as np

from infex.errors import InfexError
from infex.service.history import CONFIDENCE, History
from infex.service.schemas import plain_figures
from infex.study.assigned import offered_arms
from infex.study.study import Study

LEAST_PAUSE = 30.0  # seconds between two computations
SHARE_OF_TIME = 0.05  # at most so much of the time goes into them
REQUESTS_ASKED = 200  # the latest, over which arms win
OFFER = ("arms", "labels", "context", "offered")


@final
class Overview:
    """Lift and winners of a study as they were at a time; `refresh` reads all of its journal."""

    def __init__(self, study: Study, history: History) -> None:
        self._study, self._history = study, history
        self._entries, self._next = 0, 0.0
        self.plain: dict[str, Any] = {"at": None, "lift": None, "winners": None}

    @property
    def is_stale(self) -> bool:
        """Was more read of the journal since?"""
        return self._history.entries != self._entries

    def seconds_until_due(self) -> float:
        """How many seconds must pass until it may be computed again."""
        return max(0.0, self._next - time.monotonic())

    def refresh(self) -> None:
        """Computes it anew; where that cannot be, what was found before stays."""
        begun, entries, now = time.monotonic(), self._history.entries, time.time()
        with contextlib.suppress(InfexError):
            lift = plain_figures(self._history.lift(self._study.summary().rules, now))
            winners = winners_of(self._study, self._history.requests(REQUESTS_ASKED))
            self.plain, self._entries = {"at": now, "lift": lift, "winners": winners}, entries
        ended = time.monotonic()
        self._next = ended + max(LEAST_PAUSE, (ended - begun) / SHARE_OF_TIME)


def winners_of(study: Study, requests: Sequence[bytes]) -> dict[str, Any] | None:
    """In how many of these requests each arm has the best estimate, and in how many it is surely the best.

    An arm is surely the best where its interval lies above those of all others on offer. All intervals of a
    request hold together with a chance of 95 %, at one moment (Bonferroni). If all requests are the same, as
    without contexts, `arms` has their estimates and intervals, too. None if no request fits the study now.
    """
    best, sure, asked = Counter[str](), Counter[str](), 0
    intervals: dict[str, dict[str, float]] = {}
    different = Counter(map(_offer_in, requests))
    for encoded, count in different.items():
        request = msgspec.json.decode(encoded)
        words = {word: request.get(word) for word in ("arms", "labels", "context")}
        with contextlib.suppress(InfexError):  # asked before arms or features were others
            several = len(study.estimates(**words))
            table = study.intervals(1.0 - (1.0 - CONFIDENCE) / several, **words)
            labels = table.label.tolist()
            names = [str(arm if label is None else label) for arm, label in enumerate(labels)]
            offered = np.flatnonzero(offered_arms(request, labels))
            winner = offered[np.argmax(table.estimate[offered])]
            others = offered[offered != winner]
            asked += count
            best[names[winner]] += count
            sure[names[winner]] += count * bool(np.all(table.low[winner] > table.high[others]))
            if len(different) == 1:
                ends = zip(names, table.estimate, table.low, table.high, strict=True)
                intervals = {name: {"estimate": e, "low": low, "high": high} for name, e, low, high in ends}
    if not asked:
        return None
    arms = {name: {"best": best[name], "sure": sure[name]} for name in {**intervals, **best}}
    found = {name: counts | intervals.get(name, {}) for name, counts in arms.items()}
    return {"requests": asked, "different": len(different), "arms": plain_figures(found)}


def _offer_in(request: bytes) -> bytes:
    """What a request offers, and to whom: not what was played, nor whether it might be explored on."""
    said = msgspec.json.decode(request)
    return msgspec.json.encode({word: said[word] for word in OFFER if word in said})
