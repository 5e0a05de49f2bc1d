"""Changes of a study's settings: policy, arms, features, as plain data that the journal can hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from infex.bandit import Bandit
from infex.bandit.reshape import Reshaping
from infex.errors import DamagedJournal
from infex.study.references import reference_to
from infex.study.study_settings import Settings, alive, kept_thing


def kept_policy(policy: object) -> Any:
    """A policy that takes over, as plain data; one with code of yours by the name of its class."""
    kept = kept_thing(policy)
    if kept["record"] is None and "by" not in kept:
        reference_to(policy)  # which says why not
    return kept


def amended(bandit: Bandit, settings: Settings, what: str, to: Any) -> Reshaping | None:
    """Changes the bandit and the settings in force; returns how arms or features moved, if they did."""
    if what not in CHANGES:
        raise DamagedJournal(f"an amendment of {what!r} is not known here")
    return CHANGES[what](bandit, settings, to)


def _policy(bandit: Bandit, settings: Settings, to: Any) -> None:
    bandit.policy = alive("policy", to)
    settings["policy"] = to


def _allowed(bandit: Bandit, settings: Settings, to: Any) -> None:
    bandit.allowed = to
    settings["allowed"] = to


def _pending(bandit: Bandit, settings: Settings, to: Any) -> None:
    bandit.narrows = to == "narrow"
    settings["pending"] = to


def _added(bandit: Bandit, settings: Settings, to: Any) -> None:
    bandit.add_arms(to["arms"], to["labels"])
    _arms_now(bandit, settings)


def _removed(bandit: Bandit, settings: Settings, to: Any) -> Reshaping:
    removal = bandit.remove_arms(to)
    _arms_now(bandit, settings)
    return removal


def _extended(bandit: Bandit, settings: Settings, to: Any) -> Reshaping:
    added = bandit.extend(**to)
    _arms_now(bandit, settings)
    return added


def _arms_now(bandit: Bandit, settings: Settings) -> None:
    """The arms or the map that are in force."""
    if settings["arms"] is not None:
        settings["arms"] = bandit.arms.tolist()
        settings["labels"] = None if bandit.labels is None else list(bandit.labels)
    elif bandit.features is not None:
        settings["features"] = kept_thing(bandit.features)
    else:
        settings["dim"] = bandit.arms.shape[1]
    settings["allowed"] = None if bandit.allowed is None else bandit.allowed.tolist()


ARM_CHANGES = ("add arms", "remove arms", "extend")
CHANGES: dict[str, Callable[[Bandit, Settings, Any], Reshaping | None]] = {
    "policy": _policy,
    "allowed": _allowed,
    "pending": _pending,
    "add arms": _added,
    "remove arms": _removed,
    "extend": _extended,
}
