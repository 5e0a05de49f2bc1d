"""The honest interval of a decision: of the moment at which it was taken.

A decision is plain data and holds no bandit, so that `ask` pays nothing for an interval that nobody asks for.
It is found where the decision waits, among the bandits of this process, and can be told until that bandit
learns something further. What was asked for once stays.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from typing import TYPE_CHECKING, cast

import numpy as np

from infex.arrays import Floats
from infex.bandit.copying import ALIVE
from infex.bandit.decision import Decision
from infex.bandit.honest_intervals import Noticed, noticed_on
from infex.bandit.readable import Readable
from infex.errors import NotKept
from infex.linear import On
from infex.linear.grounds import Grounds

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit
    from infex.bandit.decisions import Decisions

MOST_INTERVALS = 1 << 16  # intervals of one bandit that stay
Asked = OrderedDict[str, tuple[Decision, Noticed]]
ASKED: weakref.WeakKeyDictionary[Readable, Asked] = weakref.WeakKeyDictionary()


def interval_of(decision: Decision, level: float) -> tuple[float, float]:
    """The ends of its interval."""
    for bandit in _living(decision.id):
        with bandit._lock:
            noticed = _noticed(bandit, decision)
        if noticed is not None:
            _, low, high = noticed.ends(level)
            return float(low[0]), float(high[0])
    raise _not_known(f"the decision {decision.id!r} was")


def intervals_of_many(decisions: Decisions, level: float) -> tuple[Floats, Floats]:
    """The ends of theirs."""
    if not len(decisions):
        return np.empty(0), np.empty(0)
    for bandit in _living(decisions.id_at(0)):
        with bandit._lock:
            pending = [bandit._waiting.find(key) for key in decisions.ids]
            if any(each is None for each in pending) or int(decisions.t.min()) <= _heard(bandit):
                continue
            _, low, high = noticed_on(bandit, Grounds.of(each[1] for each in pending if each)).ends(level)
            return low, high
    ends = np.array([interval_of(decision, level) for decision in decisions])
    return ends[:, 0].copy(), ends[:, 1].copy()


def _noticed(bandit: Bandit, decision: Decision) -> Noticed | None:
    """What its interval is made of, if this bandit took it and knows; it is kept from now on."""
    asked = ASKED.get(bandit)
    kept = None if asked is None else asked.get(decision.id)
    if kept is not None and kept[0] == decision:
        return kept[1]
    on = _waiting_on(bandit, decision)
    if on is None:
        return None
    noticed = noticed_on(bandit, Grounds.of([on]))
    asked = ASKED.setdefault(bandit, OrderedDict())
    asked[decision.id] = decision, noticed
    if len(asked) > MOST_INTERVALS:
        asked.popitem(last=False)
    return noticed


def _waiting_on(bandit: Bandit, decision: Decision) -> On | None:
    """What its reward is learnt on, if it waits here and nothing was learnt since."""
    found = bandit._waiting.find(decision.id)
    if found is None or found[0] != decision or decision.t <= _heard(bandit):
        return None
    return found[1]


def _heard(bandit: Bandit) -> int:
    return bandit._player.account.heard


def _living(key: str) -> list[Bandit]:
    """The bandits of this process, those first that may have given an id."""
    life = key.rpartition("-")[0]
    while True:
        try:
            living = [cast("Bandit", each) for each in ALIVE]
        except RuntimeError:  # another thread has made one just now
            continue
        return sorted(living, key=lambda each: each._lives.name != life and life not in each._lives.past)


def _not_known(what: str) -> NotKept:
    return NotKept(
        f"{what} not taken here, or its bandit has learnt since, or was loaded, copied or changed: ask for "
        "`interval` before the next reward is told (it then stays), or see `bandit.intervals` for now"
    )
