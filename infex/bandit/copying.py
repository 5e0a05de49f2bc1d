"""A bandit's state for copies and pickles; a copy is another life, whose ids are its own."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from infex.bandit.lives import Lives

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit

NOT_COPIED = ("_lock", "_draws")


def state_of(bandit: Bandit) -> dict[str, Any]:
    """All that a copy takes over, shared with nobody."""
    with bandit._lock:
        kept = {name: value for name, value in vars(bandit).items() if name not in NOT_COPIED}
        kept["_lives"] = Lives(bandit._lives.after(bandit.t))
        return copy.deepcopy(kept)
