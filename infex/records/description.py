"""Plain data that tells things apart: records of what is built in, classes and settings of the rest."""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
from typing import Any

from infex.arrays import brief, plain_scalar
from infex.checks import settings_by_name
from infex.errors import InfexError, NoRecord, SparseExploration
from infex.features import Disjoint, FeatureMap, Hybrid, Joined
from infex.features.base import encoder_of
from infex.policies.base import Policy, hook, policy_info
from infex.records import from_record, to_record
from infex.records.catalog import shown
from infex.records.settings import Record


def record_of(thing: object) -> Record | None:
    """The record of what is built in; None of a user's own."""
    with contextlib.suppress(NoRecord):
        return None if thing is None else to_record(thing)
    return None


def describe(thing: object) -> Any:
    """A record; or of what has none its class, and its settings if it is a dataclass."""
    thing = plain_scalar(thing)
    if thing is None or isinstance(thing, bool | int | float | str):
        return thing
    if (known := record_of(thing)) is not None:
        return known
    if isinstance(thing, tuple | list):
        return [describe(part) for part in thing]
    found: dict[str, Any] = {"class": type(thing).__qualname__}
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        return found | {name: describe(value) for name, value in settings_by_name(thing).items()}
    base = hook(thing, "base")
    return found if base is None else found | {"base": describe(base)}


def describe_map(features: FeatureMap) -> Any:
    """A record; or what can be told of a map that holds a user's function."""
    if (known := record_of(features)) is not None:
        return known
    labels = None if features.labels is None else list(features.labels)
    found: dict[str, Any] = {"class": type(features).__qualname__, "labels": labels, "count": features.count}
    if isinstance(features, Joined):
        found |= {"longest": features.longest}
    if (encoder := encoder_of(features)) is not None:
        found |= {"longest": encoder.longest, "names": list(encoder.names)}
    if isinstance(features, Disjoint):
        found |= {"context_dim": features.context_dim}
    if isinstance(features, Hybrid):
        found |= {"shared": describe_map(features.shared), "own": list(features.own)}
        found |= {"reader": describe(features.reader), "longest": features.longest}
    return found


def shown_as(thing: object) -> str | None:
    """How a thing is called in an error; a stranger's repr is not called, for it may raise anything."""
    if thing is None:
        return None
    return shown(thing) if record_of(thing) is not None else type(thing).__qualname__


def policy_shown(policy: Policy) -> str:
    """How a policy is called in an error: what it is, or what it is made of."""
    if record_of(policy) is not None:
        return shown(policy)
    parts = []
    for link in policy_info(policy).chain:
        controlled_schedule = policy_info(link).controlled_schedule
        layers = () if controlled_schedule is None else controlled_schedule.controls
        parts += [type(link).__name__, *(type(layer).__name__ for layer in layers)]
    first, *rest = parts
    return f"{first}({', '.join(rest)})" if rest else first


def made_quietly(kept: object) -> Any:
    """What a record is of; whoever made it first has been warned."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SparseExploration)
        return from_record(kept)


def difference(before: Any, now: Any, name: str = "it") -> str:
    """Where two descriptions differ first."""
    if isinstance(before, dict) and isinstance(now, dict) and set(before) == set(now):
        kinds = [(part.get("kind"), part.get("class")) for part in (before, now)]
        if kinds[0] == kinds[1]:
            for word in before:
                if before[word] != now[word]:
                    return difference(before[word], now[word], word)
    return f"{name} is {_brief(before)}, not {_brief(now)}"


def _brief(value: object) -> str:
    if isinstance(value, dict) and "kind" in value:
        with contextlib.suppress(InfexError):
            return shown(made_quietly(value))
    return brief(value, most=60)
