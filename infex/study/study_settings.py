"""The settings of a study as plain data: what it began with, what is in force, and where others differ."""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Mapping
from typing import Any

from infex.arrays import brief
from infex.bandit import Bandit
from infex.errors import CannotLoad, InfexWarning, InvalidSetting, NoRecord, OtherSettings
from infex.registry import describe, from_record, label_of, record_of
from infex.study.plain_requests import plain_value
from infex.study.references import reference_to, remade
from infex.study.rules import REWARD_RULES

THINGS = ("policy", "estimator", "features")
BANDIT_DEFAULTS = {
    name: parameter.default
    for name, parameter in inspect.signature(Bandit).parameters.items()
    if parameter.default is not parameter.empty
}
Settings = dict[str, Any]
"""Every setting by its name, as plain data."""


def kept_settings(given: Mapping[str, object]) -> Settings:
    """All settings, those that were not given at their defaults; refuses names that there are not."""
    unknown = sorted(set(given) - set(BANDIT_DEFAULTS) - set(REWARD_RULES))
    if unknown:
        known = ", ".join(sorted({*BANDIT_DEFAULTS, *REWARD_RULES}))
        raise InvalidSetting(f"a study has no setting {unknown[0]!r}; it has {known}")
    every = BANDIT_DEFAULTS | REWARD_RULES | dict(given)
    return {name: kept_setting(name, value) for name, value in every.items()}


def kept_setting(name: str, value: object) -> Any:
    """One setting as plain data."""
    if name in THINGS:
        return None if value is None else kept_thing(value)
    return plain_value(name, value)


def kept_thing(thing: object) -> Any:
    """A policy, estimator or map as its record; of one that holds code of yours, what can be told of it."""
    known = record_of(thing)
    if known is not None:
        return {"record": known}
    kept = {"record": None, "shown": label_of(thing), "told": describe(thing)}
    with contextlib.suppress(NoRecord):
        return kept | {"by": reference_to(thing)}
    return kept


def alive(name: str, kept: Any, given: object = None) -> Any:
    """The policy, estimator or map that was kept.

    One with code of yours is the one that is given, if that is the same, or else made anew by its name.
    """
    if kept is None:
        return None
    with warnings.catch_warnings():  # whoever made it has been warned
        warnings.simplefilter("ignore", InfexWarning)
        if kept["record"] is not None:
            return from_record(kept["record"])
        if given is not None and is_same(kept, kept_thing(given)):
            return given
        if "by" in kept:
            return _by_name(name, kept)
    if given is None:
        raise CannotLoad(
            f"the {name} of this study holds your code: open it with {name}=, it was {kept['shown']}"
        )
    raise OtherSettings(f"the {name} of this study is {kept['shown']}, not what was given")


def _by_name(name: str, kept: Any) -> Any:
    """A thing of a user's class, made by its name: refused if the class takes its settings otherwise now."""
    found = remade(kept["by"])
    now = kept_thing(found)
    if not is_same(kept, now):
        change = "; ".join(apart(name, kept["told"], now.get("told", now["record"])))
        raise OtherSettings(f"{kept['shown']} is not what it was when the study took it: {change}")
    return found


def is_same(kept: Any, now: Any) -> bool:
    """Are two things the same, as far as can be told? Old journals do not say how one is made."""
    words = ("record", "told")
    return [kept.get(word) for word in words] == [now.get(word) for word in words]


def bandit_of(settings: Settings, given: Mapping[str, object]) -> Bandit:
    """The bandit with which a study of these settings begins."""
    options = {name: settings[name] for name in settings if name not in THINGS and name not in REWARD_RULES}
    things = {name: alive(name, settings[name], given.get(name)) for name in THINGS}
    return Bandit(**options, **things)


def refuse_different(name: str, in_force: Settings, given: Mapping[str, object]) -> None:
    """Refuses settings that are given and differ from those in force: says which, and how."""
    now = {word: kept_setting(word, value) for word, value in given.items()}
    unknown = [f"{word}: no such setting" for word in now if word not in in_force]
    found = [part for word in now if word in in_force for part in apart(word, in_force[word], now[word])]
    if unknown or found:
        raise OtherSettings(
            f"the study {name!r} has other settings: {'; '.join(unknown + found)}. Open it without "
            "them; amend can change policy, allowed and pending"
        )


def apart(name: str, kept: Any, now: Any) -> list[str]:
    """Where two values differ, each place by its name."""
    if kept == now and type(kept) is type(now):
        return []
    if isinstance(kept, dict) and isinstance(now, dict) and "told" in kept and is_same(kept, now):
        return []
    if isinstance(kept, dict) and isinstance(now, dict) and kept.get("kind") == now.get("kind"):
        words = [*kept, *(word for word in now if word not in kept)]
        named = ((name if word == "record" else f"{name}.{word}", word) for word in words)
        return [part for path, word in named for part in apart(path, kept.get(word), now.get(word))]
    if isinstance(kept, int | float) and isinstance(now, int | float) and kept == now:
        return []
    return [f"{name} is {_brief(kept)}, not {_brief(now)}"]


def _brief(value: object) -> str:
    kind = value.get("kind") if isinstance(value, dict) else None
    return str(kind) if kind else brief(value, most=60)
