"""Copies, pickles and forks of a bandit; each is another life, whose ids are its own."""

from __future__ import annotations

import contextlib
import copy
import os
import threading
import weakref
from typing import TYPE_CHECKING, Any

from infex.bandit.lives import Lives

if TYPE_CHECKING:
    from infex.bandit.readable import Readable

NOT_COPIED = ("_lock", "_draws", "_notebook")


def state_of(bandit: Readable) -> dict[str, Any]:
    """All that a copy takes over, shared with nobody."""
    with bandit._lock:
        kept = {name: value for name, value in vars(bandit).items() if name not in NOT_COPIED}
        kept["_lives"] = Lives(bandit._lives.after(bandit.t))
        kept["_lineage"] = bandit._lineage.reborn(bandit._lives.name, bandit._player.memory)
        return copy.deepcopy(kept)


ALIVE: weakref.WeakSet[Readable] = weakref.WeakSet()


def open_locks() -> None:
    """In a process that was forked off: whoever held a lock is not there to open it again."""
    for bandit in ALIVE:
        bandit._lock = threading.RLock()
        before = bandit._lives.name
        bandit._lives.next_id(bandit.t + 1)  # which names the life that begins here
        bandit._lineage = bandit._lineage.reborn(before, bandit._player.memory)


with contextlib.suppress(AttributeError):  # a system without fork
    os.register_at_fork(after_in_child=open_locks)
