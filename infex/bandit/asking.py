"""The common question with arms in it, asked in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from infex.arrays import Floats, labels_of
from infex.bandit.arms import Asked, Changing, Labels
from infex.bandit.deciding import key_for
from infex.bandit.decision import Decision
from infex.bandit.foreseeing import await_reward
from infex.bandit.given_columns import plain_rows
from infex.checks import quick
from infex.linear import RidgeStatistics
from infex.rounds.shortcut import Glance, Said

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit


def ask_given_quickly(bandit: Bandit, asked: Asked, own_id: str | None) -> Decision | None:
    """Asks among the arms that are given, where the policy's decision can be had in one call."""
    arms, labels, context, allowed, offered, explore = asked
    player, shortcut = bandit._player, bandit._open_shortcut
    ridge = player.memory.all
    if shortcut is None or context is not None or allowed is not None or player.account.owed:
        return None
    if offered is not None or explore is not True:
        return None
    if type(bandit._arms) is not Changing or arms is None or type(ridge) is not RidgeStatistics:
        return None
    if (rows := plain_rows(arms, bandit._arms.dim)) is None:
        return None
    t = player.account.t + 1
    seen = shortcut.take(t, ridge, rows, player.memory.foresight)
    if seen is None or seen[1][0] < 0:
        return None  # the long way says why, or computes anew what it needs
    names = None if labels is None else labels_of(labels, len(rows))
    said = shortcut.explored if seen[0] else shortcut.greedy
    return _taken(bandit, t, key_for(bandit, own_id, t), seen, said, names, rows)


def _taken(
    bandit: Bandit, t: int, key: str, seen: Glance, said: Said, labels: Labels, rows: Floats
) -> Decision:
    explores, (arm, greedy, estimate, best, margin) = seen
    reason, turn = said
    loss = max(best - estimate, 0.0) if explores else 0.0
    bandit._player.account.enter(t, explores, turn, loss, explores and arm != greedy)
    fields = (
        key, t, arm, None if labels is None else labels[arm], explores, greedy,
        estimate, estimate - margin, estimate + margin,
        1.0, reason, 1.0 if explores else 0.0, 1.0 if explores else None,
    )  # fmt: skip
    decision = quick(Decision, fields)
    await_reward(bandit, decision, np.array(rows[arm]))
    return decision
