"""The common question with arms in it, asked in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from infex.arrays import labels_of
from infex.bandit.arms import Asked, Changing
from infex.bandit.deciding import key_for, taken_quickly
from infex.bandit.decision import Decision
from infex.bandit.foreseeing import await_reward
from infex.bandit.given_columns import plain_rows
from infex.linear import RidgeStatistics

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit


def ask_given_quickly(bandit: Bandit, own_id: str | None, asked: Asked) -> Decision | None:
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
    decision = taken_quickly(player.account, shortcut, key_for(bandit, own_id, t), t, seen, names)
    await_reward(bandit, decision, np.array(rows[decision.arm]))
    return decision
