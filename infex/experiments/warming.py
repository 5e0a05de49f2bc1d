"""Calls code before any run is timed, because Numba compiles it at its first call."""

from __future__ import annotations

import warnings

from infex.environments import Instance
from infex.experiments.wrapping import base_in
from infex.policies import Policy
from infex.simulation.playing import play

WARMING_ROUNDS = 2

_warmed: set[tuple[type, str]] = set()  # kinds of problems and contents of policies, in this process


def warm(instance: Instance, policy: Policy, content: str) -> None:
    """Plays two rounds, once in a process for each kind of problem and content of a policy.

    The results are dropped; errors and warnings are left to the run itself.
    """
    if (type(instance), content) in _warmed:
        return
    _warmed.add((type(instance), content))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _play_briefly(instance, policy)


def _play_briefly(instance: Instance, policy: Policy) -> None:
    """Plays the policy, and its base, which may not have its turn in so few rounds."""
    try:
        play(instance, policy, WARMING_ROUNDS)
    except KeyboardInterrupt:
        raise
    except BaseException:  # a user's code may raise anything, SystemExit too
        return
    if (base := base_in(policy)) is not None:
        _play_briefly(instance, base)
