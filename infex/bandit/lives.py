"""Ids of decisions that no other process, copy or file can give out again."""

from __future__ import annotations

import contextlib
import os
import secrets
from typing import final

from infex.checks import whole
from infex.errors import AlreadyTold, InvalidChoice, InvalidSetting, UnknownDecision

LONGEST_ID = 200  # characters
forks = [0]  # how often this process was forked off another since infex was imported


def _forked() -> None:
    forks[0] += 1


with contextlib.suppress(AttributeError):  # a system without fork
    os.register_at_fork(after_in_child=_forked)


@final
class Lives:
    """A bandit lives from its making, loading, copying or forking on; each life has a name of its own.

    `past` are the names of earlier lives, and up to which round each is this bandit's own past.
    """

    __slots__ = ("_forks", "name", "past")

    def __init__(self, past: dict[str, int] | None = None) -> None:
        self.past = {} if past is None else dict(past)
        self.name = secrets.token_hex(5)
        self._forks = forks[0]

    def next_id(self, t: int) -> str:
        """The id of round t."""
        if self._forks != forks[0]:
            self._renew(t - 1)
        return f"{self.name}-{t}"

    def adopt(self, key: str, t: int) -> None:
        """Another life gave round t this id, which is entered here."""
        name = named(key, t)
        if name != self.name:
            self.past[name] = max(self.past.get(name, 0), t)

    def after(self, t: int) -> dict[str, int]:
        """All lives that are past for a bandit that goes on from here, in another process or object."""
        return self.past | {self.name: t}

    def checked(self, key: object) -> str:
        """An id of the caller's own."""
        if not isinstance(key, str) or not key or len(key) > LONGEST_ID:
            raise InvalidSetting(f"id must be a text of 1 to {LONGEST_ID} characters, got {key!r}")
        name, _, number = key.rpartition("-")
        if number.isdecimal() and (name == self.name or name in self.past):
            raise InvalidSetting(f"id {key!r} looks like one of the bandit's own: choose another")
        return str(key)

    def refuse(self, key: str, t: int) -> None:
        """Says why no decision waits under an id; t rounds were taken."""
        name, _, number = key.rpartition("-")
        number_of = int(number) if number.isdecimal() and len(number) < 20 else 0
        last = t if name == self.name else self.past.get(name)
        if last is None or number_of < 1:
            raise UnknownDecision(
                f"no decision {key!r} waits here: it was never taken, has its reward already, or was dropped"
            )
        if number_of > last:
            raise UnknownDecision(
                f"decision {key!r} was taken in another life of this bandit; this one is from round {last}"
            )
        raise AlreadyTold(f"decision {key!r} has its reward already, or was dropped")

    def _renew(self, t: int) -> None:
        self.past[self.name] = t
        self.name, self._forks = secrets.token_hex(5), forks[0]


def named(key: str, t: int) -> str:
    """The life that gave round t this id."""
    name, _, number = key.rpartition("-")
    if not name or number != str(t):
        raise InvalidChoice(f"the id {key!r} is not one that a bandit gives to its round {t}")
    return name


def key_of(given: object) -> str:
    """The id that is meant: a text, or the number that was one in files of format 1."""
    if isinstance(given, str):
        return str(given)
    return str(whole("the id of a decision", given, error=UnknownDecision))
