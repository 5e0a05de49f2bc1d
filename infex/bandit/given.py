"""What a file holds against what `load` was given in its place: named where they differ, and refused."""

from __future__ import annotations

import os
import warnings
from typing import Any

from infex.bandit.noting import shape
from infex.errors import CannotLoad, DamagedFile, NoRecord, SparseExploration
from infex.estimators import Ridge
from infex.features import FeatureMap, checked_map
from infex.policies import Infex
from infex.policies.traits import Policy, checked
from infex.records import made, record
from infex.records.settings import Record

Path = str | os.PathLike[str]


def given_or_kept(name: str, path: Path, settings: dict[str, Any], given: object, adopt: bool) -> Any:
    """The policy or estimator of a file, or the one that was given in its place."""
    kept, shown = settings[name], settings[f"{name}_shown"]
    if given is None:
        if kept is None and shown is not None:
            raise CannotLoad(f"the {name} in {path} is not infex's own; load it with {name}=, it was {shown}")
        return None if kept is None else _quietly(kept)
    if name == "policy":
        checked(name, given)
    if name == "policy" and kept is None and not adopt:
        _refuse_other(path, settings, checked(name, given))
    now = record_of(given)
    plain = name == "estimator" and kept is None and shown is None
    other = not _same_ridge(given, settings["penalty"]) if plain else kept is not None and now != kept
    if other and not adopt:
        raise CannotLoad(
            f"{path} holds another {name}: {_difference(kept, now, shown, shown_as(given))}; "
            "say adopt=True to go on with the one that is given"
        )
    return given


def _same_ridge(given: object, penalty: float) -> bool:
    return isinstance(given, Ridge) and given.penalty in (None, penalty)


def _refuse_other(path: Path, settings: dict[str, Any], given: Policy) -> None:
    """Refuses a policy that is made of other parts than the one in the file, which is a user's."""
    before, now = settings["shape"], shape(given)
    if before is not None and before != now:
        raise CannotLoad(f"{path} holds another policy: {before}, not {now}; say adopt=True to go on with it")
    held = settings.get("schedule")
    if held is not None and held != schedule_of(given):
        told = _difference(held, schedule_of(given), held["kind"], "another")
        raise CannotLoad(f"{path} holds another schedule: {told}; say adopt=True to go on with it")


def schedule_of(policy: Policy) -> Any:
    """The record of Infex's schedule; None of any other policy, or of a user's schedule."""
    return record_of(policy.schedule) if isinstance(policy, Infex) else None


def map_record(features: FeatureMap) -> Any:
    """A map, or what can be told of one that holds a user's function."""
    labels = None if features.labels is None else list(features.labels)
    told = {"shown": shown_as(features), "labels": labels, "count": features.count}
    return record_of(features) or told


def _difference(kept: Record | None, now: Record | None, shown: str | None, new: str | None) -> str:
    if kept is None or now is None or kept["kind"] != now["kind"]:
        return f"{shown or 'ridge regression with the penalty of the bandit'}, not {new}"
    names = [name for name in now if kept.get(name) != now[name]]
    return ", ".join(f"{name} is {_brief(kept.get(name))}, not {_brief(now[name])}" for name in names)


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _quietly(kept: object) -> Any:
    with warnings.catch_warnings():  # whoever made the policy has been warned
        warnings.simplefilter("ignore", SparseExploration)
        return made(kept)


def record_of(thing: object) -> Record | None:
    """The record of what is built in; None of a user's own."""
    try:
        return None if thing is None else record(thing)
    except NoRecord:
        return None


def shown_as(thing: object) -> str | None:
    """How a thing is called in an error; a stranger's repr is not called, for it may raise anything."""
    if thing is None:
        return None
    return repr(thing) if record_of(thing) is not None else type(thing).__qualname__


def map_of(path: Path, kept: Record, given: FeatureMap | None, dim: int, adopt: bool) -> FeatureMap:
    """The map of a file, or the one that was given in its place."""
    if given is None:
        if "shown" in kept:
            raise CannotLoad(
                f"{path} holds a feature map with your code; load it with features=, it was {kept['shown']}"
            )
        _refuse_size(kept, dim)
        features: FeatureMap = made(kept)
        if features.dim != dim:
            raise DamagedFile(f"its map has {features.dim} features, and what was learnt {dim}")
        return features
    checked_map(given)
    if given.dim != dim:
        raise CannotLoad(f"{path} holds a bandit with a map of {dim} features, got {given!r}")
    now = map_record(given)
    if "shown" in kept and "count" in kept and now != kept and not adopt:
        told = f"{kept['count']} arms {kept['labels'] or ''}, not {given.count} {given.labels or ''}"
        raise CannotLoad(f"{path} holds another feature map: {told}; say adopt=True to go on with it")
    if "shown" not in kept and now != kept and now != record_of(made(kept)) and not adopt:
        raise CannotLoad(
            f"{path} holds another feature map: {_difference(kept, now, kept['kind'], shown_as(given))}; "
            "say adopt=True to go on with the one that is given"
        )
    return given


def _refuse_size(kept: Any, dim: int) -> None:
    """Refuses a map whose blocks are not as many as what was learnt, before it takes memory."""
    if kept["kind"] == "disjoint":
        arms = kept["arms"] if isinstance(kept["arms"], int) else len(kept["arms"])
        if arms * kept["context_dim"] != dim:
            raise DamagedFile(
                f"its map has {arms} blocks of {kept['context_dim']}, and what was learnt {dim}"
            )
