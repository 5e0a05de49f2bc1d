"""Ids of decisions that no other process, copy or file can give out again."""

from __future__ import annotations

import contextlib
import os
import secrets
from typing import NoReturn, final

from infex.checks import whole
from infex.errors import AlreadyTold, DamagedFile, InvalidChoice, InvalidSetting, UnknownDecision

LONGEST_ID = 200  # characters
forks = [0]  # how often this process was forked off another since infex was imported


def _forked() -> None:
    forks[0] += 1


with contextlib.suppress(AttributeError):  # a system without fork
    os.register_at_fork(after_in_child=_forked)


@final
class Ids:
    """Ids "NAME-ROUND". A bandit that is made, loaded, copied or forked off gets a new random `name`.

    `past` are the names that it had before, and up to which round each is this bandit's own past.
    """

    __slots__ = ("_forks", "name", "past")

    def __init__(self, past: dict[str, int] | None = None) -> None:
        self.past = {} if past is None else dict(past)
        self.name = secrets.token_hex(5)
        self._forks = forks[0]

    def of_round(self, t: int) -> str:
        """The id of round t."""
        if self._forks != forks[0]:
            self.past[self.name] = t - 1
            self.name, self._forks = secrets.token_hex(5), forks[0]
        return f"{self.name}-{t}"

    def adopt(self, key: str, t: int) -> None:
        """Another instance gave round t this id, which is applied here."""
        name, _, number = key.rpartition("-")
        if not name or number != str(t):
            raise InvalidChoice(f"the id {key!r} is not one that a bandit gives to its round {t}")
        if name != self.name:
            self.past[name] = max(self.past.get(name, 0), t)

    def after(self, t: int) -> dict[str, int]:
        """All names that are past for a bandit that goes on from here, in another process or object."""
        return self.past | {self.name: t}

    def own(self, key: object) -> str:
        """An id of the caller's own, if it is one."""
        if not isinstance(key, str) or not key or len(key) > LONGEST_ID:
            raise InvalidSetting(f"id must be a text of 1 to {LONGEST_ID} characters, got {key!r}")
        name, _, number = key.rpartition("-")
        if number.isdecimal() and (name == self.name or name in self.past):
            raise InvalidSetting(f"id {key!r} looks like one of the bandit's own: choose another")
        return str(key)

    def refuse(self, key: str, t: int) -> NoReturn:
        """Says why no decision is pending under an id; t rounds were taken."""
        name, _, number = key.rpartition("-")
        of_round = int(number) if number.isdecimal() and len(number) < 20 else 0
        last = t if name == self.name else self.past.get(name)
        if last is None or of_round < 1:
            raise UnknownDecision(
                f"no decision {key!r} is pending here: it was never taken, has its reward already, or was "
                "dropped"
            )
        if of_round > last:
            raise UnknownDecision(
                f"decision {key!r} was taken by another copy of this bandit; this one is from round {last}"
            )
        raise AlreadyTold(f"decision {key!r} has its reward already, or was dropped")


def past_from(kept: object) -> dict[str, int]:
    """Earlier names of a bandit, from a file."""
    if not isinstance(kept, dict):
        raise DamagedFile("its earlier names are no mapping")
    return {str(name): whole("a round", t, least=0, error=DamagedFile) for name, t in kept.items()}
