"""Policies that must be told each reward before their next decision."""

from typing import NamedTuple

import numpy as np

from infex.errors import NotKept
from infex.models.posterior import Posterior
from infex.policies.base import StatefulPolicy, are_numbers


class LastPlayPolicy(StatefulPolicy):
    """A built-in policy that must be told the reward of each decision before the next, and remembers it."""

    __slots__ = ()
    keeps_rows = True


class LastPlay(NamedTuple):
    """The last play: its features, and how many rewards and which sum y x there were when it was made."""

    row: tuple[float, ...]
    n_observations: int
    moment: tuple[float, ...]


def last_play(posterior: Posterior, arm: int) -> LastPlay:
    """What is to be known of the play of an arm once its reward comes."""
    moments = posterior.moments
    return LastPlay(
        tuple(posterior.arms[arm].tolist()), moments.n_observations, tuple(moments.moment.tolist())
    )


def reward_of(policy: object, last: LastPlay, posterior: Posterior) -> float:
    """The reward of the last play, from how sum y x has changed since; 0 for a play of no length."""
    moments = posterior.moments
    if moments.n_observations != last.n_observations + 1:
        raise NotKept(
            f"{type(policy).__name__} must be told the reward of each decision before its next one, and no "
            f"other; {moments.n_observations - last.n_observations} rewards came since"
        )
    row = np.array(last.row, dtype=np.float64)
    length = float(row @ row)
    more = moments.moment - np.array(last.moment, dtype=np.float64)
    return float(row @ more) / length if length > 0.0 else 0.0


def restored_play(last: object, dim: int) -> LastPlay | None:
    """A last play that was kept as plain data; None if it cannot be one, with so many features."""
    if not isinstance(last, tuple) or len(last) != len(LastPlay._fields):
        return None
    play = LastPlay(*last)
    fits = are_numbers(play.row, dim) and type(play.n_observations) is int and are_numbers(play.moment, dim)
    return play if fits else None
