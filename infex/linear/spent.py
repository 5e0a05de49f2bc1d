"""What exploring has taken so far."""

from __future__ import annotations

from typing import NamedTuple

from infex.errors import NotKept


class Spent(NamedTuple):
    """What exploring has taken so far, under whatever policies were in force.

    `done`: decisions that explored; `cost`: their summed estimated loss; `owed`: explorations that
    were due, did not happen and are to be made up for; `recent`: the round and the estimated loss of
    each exploration in the last rounds, as many as the windows of the policy's limits look back, which
    is from round `whole_from` on.
    """

    done: int = 0
    cost: float = 0.0
    owed: int = 0
    recent: tuple[tuple[int, float], ...] = ()
    whole_from: int = 1

    def since(self, t: int) -> tuple[int, float]:
        """How many explorations there were from round t on, and what they cost."""
        if max(t, 1) < self.whole_from:
            raise NotKept(
                f"explorations were kept one by one from round {self.whole_from} on, not from {t}: a control "
                "that looks back says so by its `window`, and a policy that holds another by `base`"
            )
        count, cost = 0, 0.0
        for at, loss in self.recent:
            if at >= t:  # added up one by one: `sum` differs in its last bit between versions of Python
                count, cost = count + 1, cost + loss
        return count, cost


NOTHING = Spent()
