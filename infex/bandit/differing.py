"""What a file holds against what `load` was given in its place: named where they differ, and refused."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import warnings
from typing import Any

import numpy as np

from infex.arrays import brief, plain_scalar
from infex.bandit.noting import shape
from infex.checks import settings_by_name
from infex.errors import CannotLoad, DamagedFile, InfexError, NoRecord, SparseExploration
from infex.estimators import Ridge
from infex.features import Disjoint, FeatureMap, Hybrid, Joined
from infex.features.feature_map import checked_map, encoder_of
from infex.policies.traits import Policy, checked, hook
from infex.records import made, record
from infex.records.catalog import shown
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
    if kept is None and shown is not None and not adopt:
        _refuse_other(path, settings, name, given)
    now = record_of(given)
    plain = name == "estimator" and kept is None and shown is None
    other = not _same_ridge(given, _asked_penalty(settings)) if plain else kept is not None and now != kept
    if other and not adopt:
        raise CannotLoad(
            f"{path} holds another {name}: {_difference(kept, now, shown, shown_as(given))}; "
            "say adopt=True to go on with the one that is given"
        )
    return given


def _asked_penalty(settings: dict[str, Any]) -> Any:
    """The penalty that was asked for; that of the statistics, in files from before features had units."""
    prior = settings.get("prior")
    return prior[0] if prior else settings["penalty"]


def _same_ridge(given: object, penalty: float) -> bool:
    return isinstance(given, Ridge) and given.penalty in (None, penalty)


def _refuse_other(path: Path, settings: dict[str, Any], name: str, given: Any) -> None:
    """Refuses a policy or estimator that is not as the one in the file, which holds a user's code."""
    before, now = settings["shape"], shape(given) if name == "policy" else None
    if now is not None and before is not None and before != now:
        raise CannotLoad(
            f"{path} holds another policy, made of {', '.join(before)}, not of {', '.join(now)}; say "
            "adopt=True to go on with it"
        )
    held, told = settings.get("told", {}).get(name), told_of(given)
    if held is not None and not is_told_alike(held, told):
        raise CannotLoad(
            f"{path} holds another {name}: {_apart(held, told)}; say adopt=True to go on with it"
        )


def _apart(held: Any, told: Any, name: str = "it") -> str:
    """Where two tellings differ first."""
    if isinstance(held, dict) and isinstance(told, dict) and set(held) == set(told):
        for word in held:
            if held[word] != told[word]:
                return _apart(held[word], told[word], word)
    return f"{name} is {_brief(held)}, not {_brief(told)}"


def map_record(features: FeatureMap) -> Any:
    """A map, or what can be told of one that holds a user's function."""
    labels = None if features.labels is None else list(features.labels)
    told: dict[str, Any] = {"shown": shown_as(features), "labels": labels, "count": features.count}
    if isinstance(features, Joined):
        told |= {"longest": features.longest}
    if (encoder := encoder_of(features)) is not None:
        told |= {"longest": encoder.longest, "names": list(encoder.names)}
    if isinstance(features, Disjoint):
        told |= {"blocks": [features.count, features.context_dim]}
    if isinstance(features, Hybrid):
        told |= {"blocks": [features.count, len(features.own), features.shared.dim]}
        told |= {"shared": map_record(features.shared), "own": list(features.own)}
        told |= {"reader": told_of(features.reader), "longest": features.longest}
    return record_of(features) or told


def _refuse_other_map(path: Path, kept: Record, now: Record) -> None:
    """Refuses a map that is told otherwise than the one in the file, which holds a user's code."""
    names = [name for name in kept if now.get(name) != kept[name]]
    if not names:
        return
    told = _apart({name: kept[name] for name in names}, {name: now.get(name) for name in names})
    if "count" in names or "labels" in names:
        told = (
            f"{kept['count']} arms {kept['labels'] or ''}, not {now.get('count')} {now.get('labels') or ''}"
        )
    raise CannotLoad(f"{path} holds another feature map: {told}; say adopt=True to go on with it")


def _difference(kept: Record | None, now: Record | None, old: str | None, new: str | None) -> str:
    if kept is None or now is None or kept["kind"] != now["kind"]:
        return f"{old or 'ridge regression with the penalty of the bandit'}, not {new}"
    names = [name for name in now if kept.get(name) != now[name]]
    return ", ".join(f"{name} is {_brief(kept.get(name))}, not {_brief(now[name])}" for name in names)


def _brief(value: object) -> str:
    if isinstance(value, dict) and "kind" in value:
        with contextlib.suppress(InfexError):
            return shown(_quietly(value))
    return brief(value, most=60)


def _quietly(kept: object) -> Any:
    with warnings.catch_warnings():  # whoever made the policy has been warned
        warnings.simplefilter("ignore", SparseExploration)
        return made(kept)


def record_of(thing: object) -> Record | None:
    """The record of what is built in; None of a user's own."""
    with contextlib.suppress(NoRecord):
        return None if thing is None else record(thing)
    return None


def shown_as(thing: object) -> str | None:
    """How a thing is called in an error; a stranger's repr is not called, for it may raise anything."""
    if thing is None:
        return None
    return shown(thing) if record_of(thing) is not None else type(thing).__qualname__


def policy_shown(policy: Policy) -> str:
    """How a policy is called in an error: what it is, or what it is made of."""
    if record_of(policy) is not None:
        return shown(policy)
    first, *parts = shape(policy)
    return f"{first}({', '.join(parts)})" if parts else first


def told_of(thing: object) -> Any:
    """What can be told of anything that has no record: its class, and its settings if it is a dataclass."""
    thing = plain_scalar(thing)
    if thing is None or isinstance(thing, bool | int | float | str):
        return thing
    if (known := record_of(thing)) is not None:
        return known
    if isinstance(thing, tuple | list):
        return [told_of(part) for part in thing]
    told: dict[str, Any] = {"class": type(thing).__qualname__}
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        return told | {name: told_of(value) for name, value in settings_by_name(thing).items()}
    base = hook(thing, "base")
    return told if base is None else told | {"base": told_of(base)}


def is_told_alike(held: Any, told: Any) -> bool:
    """Is a thing told as it was? Of a number of NumPy's, files once held the class alone."""
    if isinstance(held, dict) and isinstance(told, dict):
        return held.keys() == told.keys() and all(is_told_alike(held[word], told[word]) for word in held)
    if isinstance(held, list) and isinstance(told, list):
        return len(held) == len(told) and all(map(is_told_alike, held, told))
    kind = getattr(np, held["class"], None) if isinstance(held, dict) and [*held] == ["class"] else None
    was_numpys = isinstance(kind, type) and issubclass(kind, np.generic)
    return bool(held == told) or (was_numpys and isinstance(told, bool | int | float | str))


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
    if "shown" in kept and not adopt:
        _refuse_other_map(path, kept, now)
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
