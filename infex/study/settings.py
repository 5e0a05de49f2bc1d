"""The settings of a study as plain data: what it began with, how amendments change it, where others differ.

A built-in policy, estimator or map is kept as its record. One of a user's class is kept by the name of the
class and its settings, `{"object": "my.rules:Doubling", "settings": {"c": 3}}`, and made again by importing
it; what cannot be made so must be given again when the study is opened.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import inspect
import operator
import re
import sys
import warnings
from collections.abc import Mapping
from typing import Any, final

from infex.arrays import brief, plain_scalar, plain_value
from infex.bandit import Bandit
from infex.bandit.reshape import Reshaping
from infex.checks import LARGEST_REWARD, imported, one_of, real, settings_by_name
from infex.errors import (
    CannotLoad,
    DamagedJournal,
    InfexError,
    InfexWarning,
    InvalidSetting,
    NoRecord,
    OtherSettings,
)
from infex.models.pending import narrows
from infex.policies.base import checked, policy_info
from infex.registry import BY_NAME, describe, entry_of, from_record, label_of, record_of, to_record
from infex.study.assigned import check_holdout_policy
from infex.study.events import MICROSECONDS
from infex.study.pause import is_paused, paused_policy, resumed_policy

Settings = dict[str, Any]
"""Every setting by its name, as plain data."""
OBJECTS = ("policy", "estimator", "features")
BANDIT_DEFAULTS = {
    name: parameter.default
    for name, parameter in inspect.signature(Bandit).parameters.items()
    if parameter.default is not parameter.empty
}
SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
LONGEST_UNIT = 20  # characters of a unit of rewards
LONGEST_WAIT = 100 * 366 * 86_400  # seconds
PLAIN_VALUES = (bool, int, float, str, type(None))
ARM_CHANGES = ("add arms", "remove arms", "extend")
"""Amendments of arms and features."""


@final
@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The settings of a study that a bandit does not have.

    `wait` is how long a reward may take: seconds, or "3 days". None: for ever. A decision whose time has
    passed takes the reward `default`; without one nothing is learnt from it. A reward that comes later is
    kept and marked late. `again` says what a second reward is: "refuse" refuses one that differs from the
    first; "sum" adds it up.

    `holdout` is the share of units (of keys, where no unit is said) that are held out: for them a fixed
    `holdout_policy` decides: "uniform", {"arm": label}, or "greedy" of a state that stays as it is: that at
    the beginning, or at the last `amend(freeze=True)`.

    With `sticky` a unit keeps the arm that the policy gave it, greedily or exploring, for good or for a time
    ("30 days"), as long as that arm is on offer: such decisions are no rounds, and are learnt from. For those
    held out, "uniform" draws by the unit then. An `apprentice` decides nothing: each request says which arm
    was `played`, and the study learns from it. A study that `awaits_log` decides nothing before it has learnt
    from one.

    `reward_unit` is what a reward is counted in, such as "EUR": it is shown beside rewards, and changes
    nothing else.
    """

    wait: float | str | None = None
    default: float | None = None
    again: str = "refuse"
    holdout: float = 0.0
    holdout_policy: str | dict[str, Any] = "uniform"
    sticky: bool | float | str = False
    apprentice: bool = False
    awaits_log: bool = False
    reward_unit: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.reward_unit, str) or len(self.reward_unit) > LONGEST_UNIT:
            raise InvalidSetting(
                f'reward_unit must be a text of at most {LONGEST_UNIT} characters, such as "EUR", '
                f"got {brief(self.reward_unit)}"
            )
        real("holdout", self.holdout, least=0, most=1)
        check_holdout_policy(self.holdout_policy)
        one_of("again", self.again, ("refuse", "sum"))
        _ = self.patience, self.stickiness
        for name in ("apprentice", "awaits_log"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidSetting(f"{name} must be True or False, got {getattr(self, name)!r}")
        if self.default is not None:
            real("default", self.default, least=-LARGEST_REWARD, most=LARGEST_REWARD)
            if self.wait is None:
                raise InvalidSetting(
                    f"default={self.default!r} is for decisions whose `wait` has passed: say wait="
                )

    @staticmethod
    def of(settings: Settings) -> Rules:
        """Those of a study with these settings."""
        return Rules(**{name: settings[name] for name in RULE_DEFAULTS})

    @property
    def sums(self) -> bool:
        """Do several rewards make one?"""
        return self.again == "sum"

    @property
    def patience(self) -> int | None:
        """How many microseconds a reward may take."""
        return None if self.wait is None else _microseconds("wait", self.wait)

    @property
    def stickiness(self) -> int | None:
        """How many microseconds a unit keeps its arm; None for good, or if it does not."""
        return None if isinstance(self.sticky, bool) else _microseconds("sticky", self.sticky)


def _microseconds(name: str, value: float | str) -> int:
    """A time that a setting tells in seconds, or as in "3 days"."""
    if not isinstance(value, str):
        return int(real(name, value, above=0, most=LONGEST_WAIT) * MICROSECONDS)
    found = re.fullmatch(r"(\d+(?:\.\d+)?) (second|minute|hour|day|week)s?", value)
    seconds = float(found[1]) * SECONDS[found[2]] if found else 0.0
    if not 0 < seconds <= LONGEST_WAIT:
        raise InvalidSetting(
            f'{name} must be seconds, or a text such as "3 days" or "90 minutes", got {value!r}'
        )
    return int(seconds * MICROSECONDS)


RULE_DEFAULTS = {field.name: field.default for field in dataclasses.fields(Rules)}


def settings_to_plain(given: Mapping[str, object]) -> Settings:
    """All settings, those that were not given at their defaults; unknown names are refused."""
    every = BANDIT_DEFAULTS | RULE_DEFAULTS
    if unknown := sorted(set(given) - set(every)):
        known = ", ".join(sorted(every))
        raise InvalidSetting(f"a study has no setting {unknown[0]!r}; it has {known}")
    _refuse_keeping_rows(given.get("policy"))
    return {name: setting_to_plain(name, value) for name, value in (every | dict(given)).items()}


def setting_to_plain(name: str, value: object) -> Any:
    """One setting as plain data."""
    if name in OBJECTS:
        return None if value is None else object_to_plain(value)
    return plain_value(name, value)


def object_to_plain(thing: object) -> Any:
    """A policy, estimator or map as its record; of one with a user's code, what can be told of it."""
    known = record_of(thing)
    if known is not None:
        return {"record": known}
    kept = {"record": None, "shown": label_of(thing), "told": describe(thing)}
    with contextlib.suppress(NoRecord):
        return kept | {"by": reference_to(thing)}
    return kept


def _refuse_keeping_rows(policy: object) -> None:
    """Refuses a policy that remembers what is to be gone when a unit is erased."""
    if policy is None:
        return
    info = policy_info(checked("policy", policy))
    controls = (part for schedule in info.controlled_schedules for part in schedule.parts())
    if any(getattr(type(part), "keeps_rows", False) for part in (*info.chain, *controls)):
        raise InvalidSetting(
            f"{label_of(policy)} remembers features or rewards of single decisions, or sums of them: a "
            "study, from which units are erased, cannot have it. A Bandit can"
        )


def policy_to_plain(policy: object) -> Any:
    """A policy that takes over; NoRecord says why it cannot be made again from the journal alone."""
    _refuse_keeping_rows(policy)
    kept = object_to_plain(policy)
    if kept["record"] is None and "by" not in kept:
        reference_to(policy)  # which says why not
    return kept


def object_from_plain(name: str, kept: Any, given: object = None) -> Any:
    """The policy, estimator or map that was kept.

    One with a user's code is the one that is given, if that is the same, or else made anew by its name. A
    learner is always a new one: what one state learns, no other may know.
    """
    if kept is None:
        return None
    with warnings.catch_warnings():  # whoever made it has been warned
        warnings.simplefilter("ignore", InfexWarning)
        if kept["record"] is not None:
            return from_record(kept["record"])
        if given is not None and _is_same(kept, object_to_plain(given)):
            return with_own_learner({name: given})[name]
        if "by" in kept:
            found = made_from(kept["by"])
            now = object_to_plain(found)
            if not _is_same(kept, now):
                change = "; ".join(_differences(name, kept["told"], now.get("told", now["record"])))
                raise OtherSettings(f"{kept['shown']} is not what it was when the study took it: {change}")
            return found
    if given is None:
        raise CannotLoad(
            f"the {name} of this study holds your code: open it with {name}=, it was {kept['shown']}"
        )
    raise OtherSettings(f"the {name} of this study is {kept['shown']}, not what was given")


def with_own_learner(given: Mapping[str, object]) -> dict[str, object]:
    """What is given, with a copy of the policy if it is a learner, which changes with every reward."""
    policy = given.get("policy")
    if policy is None or not policy_info(checked("policy", policy)).learners:
        return dict(given)
    try:
        return {**given, "policy": copy.deepcopy(policy)}
    except Exception as error:  # a user's code may raise anything
        raise InvalidSetting(
            f"{label_of(policy)} keeps a state of its own that cannot be copied, and a study needs it as it "
            f"was at first to replay its journal: {error}"
        ) from error


def own_objects(settings: Settings, given: Mapping[str, object]) -> dict[str, Any]:
    """The policy, estimator and map that hold a user's code; None for each that a record tells all of."""
    return {
        name: object_from_plain(name, settings[name], given.get(name))
        if settings[name] is not None and settings[name]["record"] is None
        else None
        for name in OBJECTS
    }


def bandit_of(settings: Settings, given: Mapping[str, object]) -> Bandit:
    """The bandit with which a study of these settings begins."""
    plain = {word: value for word, value in settings.items() if word not in (*OBJECTS, *RULE_DEFAULTS)}
    objects = {word: object_from_plain(word, settings[word], given.get(word)) for word in OBJECTS}
    return Bandit(**plain, **objects)


def check_settings(name: str, in_force: Settings, given: Mapping[str, object]) -> None:
    """Refuses settings that are given and differ from those in force: says which, and how."""
    now = {word: setting_to_plain(word, value) for word, value in given.items()}
    found = [f"{word}: no such setting" for word in now if word not in in_force]
    for word in now:
        found += _differences(word, in_force[word], now[word]) if word in in_force else []
    if found:
        raise OtherSettings(
            f"the study {name!r} has other settings: {'; '.join(found)}. Open it without "
            "them; amend can change policy, allowed and pending"
        )


def without_first_code(first: Settings, given: Mapping[str, object]) -> dict[str, object]:
    """What is given, but for a user's code that the study began with: replay needs that in any case."""
    return {
        word: value
        for word, value in given.items()
        if not (
            word in OBJECTS
            and first[word]
            and first[word]["record"] is None
            and _is_same(first[word], setting_to_plain(word, value))
        )
    }


def _is_same(kept: Any, now: Any) -> bool:
    """Are two objects the same, as far as can be told?"""
    return all(kept.get(word) == now.get(word) for word in ("record", "told"))


def _differences(name: str, kept: Any, now: Any) -> list[str]:
    """Where two values differ, each place by its name."""
    if kept == now and type(kept) is type(now):
        return []
    if isinstance(kept, dict) and isinstance(now, dict) and "told" in kept and _is_same(kept, now):
        return []
    if isinstance(kept, dict) and isinstance(now, dict) and kept.get("kind") == now.get("kind"):
        words = [*kept, *(word for word in now if word not in kept)]
        named = ((name if word == "record" else f"{name}.{word}", word) for word in words)
        return [part for path, word in named for part in _differences(path, kept.get(word), now.get(word))]
    if isinstance(kept, int | float) and isinstance(now, int | float) and kept == now:
        return []
    return [f"{name} is {_brief(kept)}, not {_brief(now)}"]


def _brief(value: object) -> str:
    kind = value.get("kind") if isinstance(value, dict) else None
    return str(kind) if kind else brief(value, most=60)


def amend(bandit: Bandit, settings: Settings, what: str, to: Any) -> Reshaping | None:
    """Changes a bandit and the settings in force; returns how arms or features moved, if they did."""
    moved = None
    match what:
        case "policy":
            wanted = object_from_plain("policy", to)
            if is_paused(bandit.policy):  # which lasts until it is resumed
                wanted = paused_policy(wanted)
                to = object_to_plain(wanted)
            bandit.policy = wanted
            settings["policy"] = to
        case "pause" | "resume":
            wanted = (paused_policy if what == "pause" else resumed_policy)(bandit.policy)
            if wanted != bandit.policy:
                settings["policy"] = object_to_plain(wanted)
                bandit.policy = wanted
        case "allowed":
            bandit.allowed = to
            settings["allowed"] = to
        case "pending":
            bandit.narrows = narrows(to)
            settings["pending"] = to
        case "freeze":
            pass  # bandit and settings stay: the state keeps a copy of the bandit for those held out
        case "apprentice":
            settings["apprentice"] = Rules(apprentice=to).apprentice
        case "add arms":
            bandit.add_arms(to.get("arms"), to.get("labels"))
        case "remove arms":
            _refuse_to_remove_holdout_arm(settings, to)
            moved = bandit.remove_arms(to)
            match settings.get("holdout_policy"):
                case {"arm": int(arm)} if bandit.labels is None:
                    settings["holdout_policy"] = {"arm": moved.place(arm)}
        case "extend":
            moved = bandit.extend(**to)
        case _:
            raise DamagedJournal(f"an amendment of {what!r} is not known here")
    if what in ARM_CHANGES:
        _update_arms(bandit, settings)
    return moved


def _refuse_to_remove_holdout_arm(settings: Settings, removed: object) -> None:
    """Those held out would get nothing any more."""
    match settings.get("holdout_policy"):
        case {"arm": arm} if settings["holdout"] and arm in (
            removed if isinstance(removed, list) else [removed]
        ):
            raise InvalidSetting(
                f"remove_arms must leave the arm {arm!r}: those held out get it, by holdout_policy"
            )


def check_holdout_arm(bandit: Bandit, settings: Settings) -> None:
    """Refuses an arm for those held out that a study with arms of its own does not have."""
    count = len(bandit.arms) if bandit.features is None else bandit.features.count
    match settings["holdout_policy"]:
        case {"arm": arm} if settings["holdout"] and count:
            known = range(count) if bandit.labels is None else bandit.labels
            if arm not in known:
                raise InvalidSetting(f"holdout_policy must be an arm of the study, got {arm!r}")


def _update_arms(bandit: Bandit, settings: Settings) -> None:
    """Brings the settings to the arms or the map that are in force."""
    if settings["arms"] is not None:
        settings["arms"] = bandit.arms.tolist()
        settings["labels"] = None if bandit.labels is None else list(bandit.labels)
    elif bandit.features is not None:
        settings["features"] = object_to_plain(bandit.features)
    else:
        settings["dim"] = bandit.arms.shape[1]
    settings["allowed"] = None if bandit.allowed is None else bandit.allowed.tolist()


def reference_to(thing: object) -> Any:
    """How a thing can be made again; NoRecord if it holds something that no module has under a name."""
    thing = plain_scalar(thing)
    if isinstance(thing, PLAIN_VALUES):
        return thing
    if isinstance(thing, tuple | list):
        return {"items": [reference_to(part) for part in thing], "tuple": isinstance(thing, tuple)}
    with contextlib.suppress(NoRecord):
        return {"record": to_record(thing)}
    row = entry_of(thing)
    if row is not None:
        return {"kind": row[0].name, "settings": {word: reference_to(part) for word, part in row[1].items()}}
    settings = {word: reference_to(part) for word, part in _fields_of(thing).items()}
    return {"object": _name_of(type(thing)), "settings": settings}


def made_from(reference: Any) -> Any:
    """The thing that `reference_to` told how to make; CannotLoad if it cannot be made here."""
    if isinstance(reference, PLAIN_VALUES):
        return reference
    match reference:
        case {"items": items, "tuple": is_tuple}:
            parts = [made_from(part) for part in items]
            return tuple(parts) if is_tuple else parts
        case {"record": kept}:
            return from_record(kept)
        case {"kind": kind, "settings": settings} if kind in BY_NAME:
            return _call(BY_NAME[kind].make, kind, settings)
        case {"object": name, "settings": settings}:
            kind = imported(name, CannotLoad, f"the study needs {name}, which cannot be imported here")
            if not settings and not dataclasses.is_dataclass(kind) and not _is_made_of_nothing(kind):
                raise CannotLoad(
                    f"what {name} was made with was not kept: open the study with its policy= once more"
                )
            return _call(kind, name, settings)
    raise CannotLoad(f"an infex of another version wrote how a policy is made: {sorted(reference)}")


def _name_of(kind: type) -> str:
    """The name under which Python finds a class in its module."""
    module, name = kind.__module__, kind.__qualname__
    try:
        found = operator.attrgetter(name)(sys.modules[module])
    except (AttributeError, KeyError):
        found = None
    if module == "__main__" or found is not kind:
        raise NoRecord(
            f"{name} is in no module from which it can be imported later: put it at the top of one"
        )
    return f"{module}:{name}"


def _fields_of(thing: object) -> dict[str, Any]:
    """The settings of a user's object: those of a dataclass, or none of one that keeps nothing."""
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        return settings_by_name(thing)
    kind = type(thing)
    takes_nothing = kind.__init__ is object.__init__ and _is_made_of_nothing(kind)
    if takes_nothing and object.__getstate__(thing) is None:
        return {}
    raise NoRecord(
        f"what {type(thing).__qualname__} was made with is not known: make it a dataclass, whose fields are"
    )


def _is_made_of_nothing(kind: Any) -> bool:
    """Can an object of a class hold nothing before its `__init__`? A number or a set holds what it is."""
    return kind.__new__ is object.__new__


def _call(make: Any, name: str, settings: dict[str, Any]) -> Any:
    given = {word: made_from(value) for word, value in settings.items()}
    try:
        return make(**given)
    except InfexError:
        raise
    except Exception as error:  # a user's code may raise anything
        raise CannotLoad(
            f"the study needs {name} with {', '.join(given) or 'no settings'}: {error}"
        ) from error
