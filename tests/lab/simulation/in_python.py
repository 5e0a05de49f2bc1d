"""Runs of the Python loop, whatever compiled loops could play: the reference."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from infex.lab.simulation import Run, play, simulator


@contextmanager
def in_python() -> Iterator[None]:
    """All runs inside are played in Python."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulator, "plan_of", lambda *asked: None)
        yield


def play_in_python(*given: Any, **more: Any) -> Run:
    """One run."""
    with in_python():
        return play(*given, **more)


def assert_same(one: Run, other: Run) -> None:
    """Two runs are the same to the last bit."""
    np.testing.assert_array_equal(one.arms, other.arms)
    np.testing.assert_array_equal(one.rewards, other.rewards)
    np.testing.assert_array_equal(one.losses, other.losses)
    np.testing.assert_array_equal(one.counts, other.counts)
    np.testing.assert_array_equal(one.curve()[1], other.curve()[1])
    for name in ("regret", "regret_greedy", "regret_exploring", "explored", "log_det_ratio", "optimal"):
        assert getattr(one, name) == getattr(other, name), name
    if None not in (one.different, other.different):  # a policy in disguise has no schedule
        assert one.different == other.different
