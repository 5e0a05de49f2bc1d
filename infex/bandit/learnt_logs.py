"""Which logs a bandit has learnt from: those that it wrote itself, and those that it was given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from infex.errors import DamagedFile
from infex.logs.log import Log
from infex.logs.log_marks import MARKS_KEPT, Taught

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit


def enter_taught(bandit: Bandit, taught: Taught) -> None:
    """Remembers by which log a bandit was taught."""
    bandit._taught = bandit._taught + taught


def taught_to(bandit: Bandit) -> Taught:
    """By which logs it was taught."""
    return bandit._taught


def has_lived(bandit: Bandit, log: Log) -> bool:
    """Does the log hold rewards of the bandit's own past, or of lives whose rewards it was given?"""
    if log.stream is None:
        return False
    past, given = bandit._lives.after(bandit.t), bandit._lineage.known
    for life in set(log.stream.tolist()):
        mine = log.rewarded & (log.stream == life)
        if mine.any() and (life in given or int(log.round[mine].min()) <= past.get(life, 0)):
            return True
    return False


def taught_kept(kept: object) -> Taught:
    """What a file says of logs; older files say nothing."""
    marks = [] if kept is None else kept
    if not isinstance(marks, list) or len(marks) > MARKS_KEPT:
        raise DamagedFile("the marks of logs that it has learnt from are none")
    if not all(type(mark) is int and 0 <= mark < 2**64 for mark in marks):
        raise DamagedFile("a mark of a log that it has learnt from must be a whole number of 64 bits")
    return Taught(marks)
