"""Rounds of which it is known without asking the policy that they play the greedy arm, and why."""

from __future__ import annotations

from typing import final

from infex.errors import OutOfReach
from infex.policies import Greedy, Infex
from infex.policies.choice import Turn
from infex.policies.gate import Gate
from infex.rounds import Player
from infex.schedules import never
from infex.schedules.protocol import Family, Schedule


@final
class QuietRounds:
    """The rounds between those that a schedule names, in which nothing is drawn, noted or looked at.

    `turn` is what becomes of exploring in them.
    """

    __slots__ = ("_plan", "turn")

    def __init__(self, plan: Schedule, turn: Turn | None) -> None:
        self._plan, self.turn = plan, turn

    @staticmethod
    def of(player: Player, masked: bool) -> QuietRounds | None:
        """Those of a player's policy; None if it has none. `masked`: are there arms that may not be tried?"""
        policy = player.policy
        if type(policy) is Greedy and policy.ties == "lowest" and not masked:
            return QuietRounds(never(), None)
        if type(policy) is not Infex or not is_known(player):
            return None
        quiet = policy.ties == "lowest" and policy.greedy is None and not policy.gate.drawn
        plan = policy.gate.plan
        return QuietRounds(plan, Turn.REST) if quiet and isinstance(plan, Family) else None

    def until(self, t: int, last: int, owed: int) -> int:
        """The first round from t on, at most `last` + 1, in which the policy must be asked."""
        if owed:
            return t  # any round may make up for one that was skipped
        try:
            return int(min(self._plan.when(self._plan.count(t - 1) + 1), last + 1))
        except OutOfReach:  # of a union that is too dense to be counted
            return next((due for due in range(t, last + 1) if self._plan.explores(due)), last + 1)


def is_known(player: Player) -> bool:
    """Is all of the policy infex's own, with no function of a user's in it that may look at the bandit?"""
    return (
        player.traits.trusted and not player.traits.pupils and all(map(_has_no_function, player.traits.gates))
    )


def _has_no_function(gate: Gate) -> bool:
    return not gate.layers or gate.compiled() is not None
