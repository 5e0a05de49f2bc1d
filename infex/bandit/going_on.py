"""A bandit that goes on where a log ends."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from infex.arrays import Bools, Floats, Integers
from infex.errors import InvalidSetting

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit


def go_on(bandit: Bandit, last: int, rounds: Integers, different: Bools, losses: Floats) -> None:
    """Counts the rounds of a log up to its last as the bandit's own: clock, explorations, and their cost.

    `rounds` are those that explored, with the loss of each and whether it played another arm than greedy.
    Refused where a control has to remember more of them than that.
    """
    player = bandit._player
    gate = player.traits.gate
    if any(each.layers for each in player.traits.gates):
        raise InvalidSetting(
            "the controls around this schedule remember what no log holds: begin its rounds anew, as fresh"
        )
    account, done = player.account, rounds.size
    account.restore(
        t=last,
        changes=account.changes,
        planned=done if gate is not None else 0,
        scheduled=gate is not None,
        done=done,
        made_up=0,
        owed=0,
        dropped=0,
        different=int(np.count_nonzero(different)),
        cost=float(losses.sum()),
        forgotten=0,
        recent=deque(zip(rounds.tolist(), losses.tolist(), strict=True)),
    )
