"""Code that is compiled at its first call, called before any run's time is taken."""

from __future__ import annotations

import copy
import warnings
from typing import Any

from infex.environments import Instance
from infex.simulation.plan import plan
from infex.simulation.playing import play

WARMING_ROUNDS = 2

_warmed: set[tuple[type, str]] = set()  # kinds of problems and contents of policies, in this process


def warm(instance: Instance, policy: Any, content: str) -> None:
    """Plays two rounds, once in a process for each kind of problem and policy, told by its content.

    Nothing comes of them: a policy that runs in Python is copied, for it may have a state, and what
    goes wrong or is warned of is left to the run itself.
    """
    if (type(instance), content) in _warmed:
        return
    _warmed.add((type(instance), content))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _tried(instance, policy)


def _tried(instance: Instance, policy: Any) -> None:
    """The policy, and the base that may not have its turn in so few rounds."""
    try:
        play(instance, policy if plan(policy) is not None else copy.deepcopy(policy), WARMING_ROUNDS)
    except KeyboardInterrupt:
        raise
    except BaseException:  # a user's code may raise anything, SystemExit too
        return
    if (base := getattr(policy, "base", None)) is not None:
        _tried(instance, base)
