"""The feedback of the Open Bandit Pipeline: a dict of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from infex.arrays import Floats
from infex.errors import InvalidLog
from infex.logs.log import Log
from infex.logs.log_facts import LogFacts


def obp_log(feedback: Mapping[str, Any], facts: LogFacts | None = None) -> Log:
    """The log in obp's dict: action, reward, pscore, context, action_context, position and pi_b.

    The propensity of an arm is `pscore`, of all arms `pi_b`, in the position of the row. `expected_reward`
    is what a simulation knows, and is not read.
    """
    for name in ("action", "reward"):
        if feedback.get(name) is None:
            raise InvalidLog(f"obp's feedback has an array {name}, and this has none")
    try:
        arrays = {name: _array(name, feedback[name]) for name in feedback if name in KNOWN}
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidLog(f"obp's feedback must be a dict of arrays ({type(error).__name__})") from None
    position = arrays.get("position")
    arrays = {name: array for name, array in arrays.items() if array is not None}
    parts: dict[str, Any] = {
        "arm": arrays["action"],
        "reward": arrays["reward"],
        "propensity": arrays.get("pscore"),
        "context": arrays.get("context"),
        "arms": arrays.get("action_context"),
        "base_propensities": _propensities(arrays.get("pi_b"), position),
        "count": _count(feedback.get("n_actions")),
        "others": {} if position is None else {"position": position},
    }
    for name in ("reward", "propensity"):
        if (
            parts[name] is not None
            and np.asarray(parts[name]).dtype.kind == "f"
            and np.isnan(parts[name]).any()
        ):
            raise InvalidLog(f"{name} must be a number in every row of obp's feedback, and is NaN in some")
    return Log(**parts, facts=facts or LogFacts())


KNOWN = ("action", "reward", "pscore", "context", "action_context", "position", "pi_b")


def _array(name: str, value: object) -> np.ndarray | None:
    if value is None:
        return None
    array = np.asarray(value)
    if array.dtype.kind not in "iufb":
        raise InvalidLog(f"{name} must be an array of numbers in obp's feedback")
    return array.astype(np.int64) if name == "action" and array.dtype.kind == "b" else array


def _count(value: object) -> int | None:
    return int(value) if isinstance(value, int | np.integer) and not isinstance(value, bool) else None


def _propensities(given: np.ndarray | None, position: np.ndarray | None) -> Floats | None:
    """Propensities of all arms, in the position of each row where there are several."""
    if given is None:
        return None
    if given.ndim == 2:
        return given.astype(np.float64)
    if given.ndim != 3 or not given.shape[2]:
        raise InvalidLog(f"pi_b must have the shape (rounds, arms, positions), got {given.shape}")
    if given.shape[2] == 1:
        return given[:, :, 0].astype(np.float64)
    if position is None or position.shape != given.shape[:1] or position.dtype.kind not in "iu":
        raise InvalidLog("pi_b has several positions, and no position of each row goes with it")
    if position.min() < 0 or position.max() >= given.shape[2]:
        raise InvalidLog(f"position must be from 0 to {given.shape[2] - 1} in every row")
    return given[np.arange(len(given)), :, position].astype(np.float64)


def obp_feedback(log: Log) -> dict[str, Any]:
    """A log as obp's dict; needs the propensity of each arm that was played, and every reward."""
    if log.propensity is None or np.isnan(log.propensity).any():
        raise InvalidLog("obp needs the propensity of the arm of every round, which this log does not have")
    if not log.rewarded.all():
        raise InvalidLog("obp has no missing rewards: write log.take(log.rewarded)")
    full = (
        log.base_propensities
        if log.explore_probability is None or (log.explore_probability == 1.0).all()
        else None
    )
    if full is not None and np.isnan(full).any():
        full = None
    return {
        "n_rounds": len(log),
        "n_actions": log.count,
        "context": log.context,
        "action": log.arm,
        "reward": log.reward,
        "pscore": log.propensity,
        "position": log.others.get("position"),
        "action_context": log.arms,
        "pi_b": None if full is None else full[:, :, None],
    }
