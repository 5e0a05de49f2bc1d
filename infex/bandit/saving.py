"""A bandit to a file and back."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from infex.arrays import Bools, Floats, fitting, fitting_rows
from infex.bandit import archive, packing
from infex.bandit.arms import Arms, Changing, Fixed, Labels, Mapped
from infex.bandit.lives import Lives
from infex.bandit.noting import fits, revived, shape
from infex.bandit.parts import Parts
from infex.bandit.upgrading import from_format_1
from infex.errors import (
    CannotLoad,
    CannotSave,
    DamagedFile,
    InfexError,
    NoRecord,
    NotKept,
    SparseExploration,
)
from infex.estimators import Ridge
from infex.features import FeatureMap, checked_map
from infex.linear import Memory
from infex.linear.estimating import Arrays, Estimator, checked_estimator
from infex.policies import Infex
from infex.policies.traits import Policy, checked, traits_of
from infex.records import made, record
from infex.records.notes import note_of, note_record
from infex.records.settings import Record
from infex.rounds import Player
from infex.version import __version__

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit

Path = str | os.PathLike[str]
BAD_CONTENT = (
    InfexError,
    KeyError,
    IndexError,
    TypeError,
    ValueError,
    AttributeError,
    OverflowError,
    RecursionError,
)
SOURCES = {Fixed: "fixed", Changing: "changing", Mapped: "mapped"}


def save(bandit: Bandit, path: Path) -> None:
    """Writes all of a bandit; nothing of it changes, and what is loaded goes on bit for bit."""
    player = bandit._player
    if player.traits.learner is not None:
        raise CannotSave(f"{bandit.policy!r} keeps a state of its own, which a file cannot hold")
    pending, rows = packing.waiting_record(bandit._waiting)
    settings = {
        "written_by": f"infex {__version__}",
        "policy": _record(bandit.policy),
        "policy_shown": _shown(bandit.policy),
        "shape": shape(bandit.policy),
        "schedule": _schedule(bandit.policy),
        "estimator": _record(bandit.estimator),
        "estimator_shown": _shown(bandit.estimator),
        "features": None if bandit.features is None else _map_record(bandit.features),
        "seed": bandit.seed,
        "rescale": bandit.rescale,
        "source": SOURCES[type(bandit._arms)],
        "labels": bandit.labels,
        "allowed": None if bandit.allowed is None else bandit.allowed.tolist(),
        "penalty": bandit.penalty,
        "note": note_record(player.note),
        "lives": bandit._lives.after(bandit.t),
        "account": packing.account_record(player.account),
        "pending": pending,
    }
    archive.write(path, settings, player.memory.arrays() | {"pending rows": rows})


def load(
    path: Path, policy: Policy | None, estimator: Estimator | None, features: FeatureMap | None, adopt: bool
) -> Bandit:
    """The bandit of a file."""
    form, settings, arrays = archive.read(path)
    try:
        if form == 1:
            settings, arrays = from_format_1(settings, arrays, policy)
        return _loaded(path, settings, arrays, policy, estimator, features, adopt)
    except (CannotLoad, NotKept):
        raise
    except DamagedFile as error:
        raise DamagedFile(f"{path} is damaged: {error}") from None
    except BAD_CONTENT as error:
        raise DamagedFile(f"{path} lacks what a bandit needs: {error}") from None


def _loaded(
    path: Path,
    settings: dict[str, Any],
    arrays: Arrays,
    policy: Policy | None,
    estimator: Estimator | None,
    features: FeatureMap | None,
    adopt: bool,
) -> Bandit:
    from infex.bandit.bandit import Bandit

    own_policy = _one("policy", path, settings, policy, adopt)
    own_estimator = _one("estimator", path, settings, checked_estimator(estimator), adopt)
    columns = fitting("columns", arrays["columns"], (-1, -1))
    fitting_rows("arms", columns.T, len(columns))
    source = _source(path, settings, columns, features, adopt)
    memory = _memory(path, columns, settings, arrays, own_policy, own_estimator)
    player = Player(own_policy, memory)
    packing.restore_account(player.account, settings["account"])
    player.policy = own_policy  # whose windows may look back at what was explored
    note = revived(own_policy, note_of(settings["note"]))
    same = policy is None or _record(policy) == settings["policy"]
    same = same and settings["shape"] in (None, shape(own_policy))
    if same and fits(own_policy, note, source.dim):
        player.note = note  # that of another policy, or of other settings, is not this one's
    elif same or policy is None:
        raise DamagedFile("the note in it is not one of its policy's")
    waiting = packing.waiting_of(
        settings["pending"], arrays["pending rows"], source.dim, columns.shape[1], player.account.t
    )
    seed = settings["seed"]
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise DamagedFile(f"its seed is {seed!r}")
    lives = Lives(packing.lives_kept(settings["lives"]))
    bandit = Bandit.__new__(Bandit)
    bandit._begin(Parts(source, player, seed, own_estimator, lives, waiting))
    return bandit


def _one(name: str, path: Path, settings: dict[str, Any], given: object, adopt: bool) -> Any:
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
    now = _record(given)
    plain = name == "estimator" and kept is None and shown is None and type(given) is not Ridge
    if (plain or (now != kept and kept is not None)) and not adopt:
        raise CannotLoad(
            f"{path} holds another {name}: {_difference(kept, now, shown, _shown(given))}; "
            "say adopt=True to go on with the one that is given"
        )
    return given


def _refuse_other(path: Path, settings: dict[str, Any], given: Policy) -> None:
    """Refuses a policy that is made of other parts than the one in the file, which is a user's."""
    before, now = settings["shape"], shape(given)
    if before is not None and before != now:
        raise CannotLoad(f"{path} holds another policy: {before}, not {now}; say adopt=True to go on with it")
    held = settings.get("schedule")
    if held is not None and held != _schedule(given):
        told = _difference(held, _schedule(given), held["kind"], "another")
        raise CannotLoad(f"{path} holds another schedule: {told}; say adopt=True to go on with it")


def _schedule(policy: Policy) -> Any:
    return _record(policy.schedule) if isinstance(policy, Infex) else None


def _map_record(features: FeatureMap) -> Any:
    """A map, or what can be told of one that holds a user's function."""
    labels = None if features.labels is None else list(features.labels)
    told = {"shown": _shown(features), "labels": labels, "count": features.count}
    return _record(features) or told


def _difference(kept: Record | None, now: Record | None, shown: str | None, new: str | None) -> str:
    if kept is None or now is None or kept["kind"] != now["kind"]:
        return f"{shown or 'ridge regression'}, not {new}"
    names = [name for name in now if kept.get(name) != now[name]]
    return ", ".join(f"{name} is {_brief(kept.get(name))}, not {_brief(now[name])}" for name in names)


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _quietly(kept: object) -> Any:
    with warnings.catch_warnings():  # whoever made the policy has been warned
        warnings.simplefilter("ignore", SparseExploration)
        return made(kept)


def _record(thing: object) -> Record | None:
    try:
        return None if thing is None else record(thing)
    except NoRecord:
        return None


def _shown(thing: object) -> str | None:
    """How a thing is called in an error; a stranger's repr is not called, for it may raise anything."""
    if thing is None:
        return None
    return repr(thing) if _record(thing) is not None else type(thing).__qualname__


def _source(
    path: Path, settings: dict[str, Any], columns: Floats, given: FeatureMap | None, adopt: bool
) -> Arms:
    """Where the arms come from; what is allowed goes by label where arms have labels."""
    rescale, labels = settings["rescale"], packing.labels_kept(settings["labels"])
    if not isinstance(rescale, bool):
        raise DamagedFile(f"its rescale is {rescale!r}")
    if settings["source"] == "mapped":
        source: Arms = Mapped(_features(path, settings["features"], given, len(columns), adopt), rescale)
    elif given is not None:
        raise CannotLoad(f"{path} holds a bandit with no feature map, got {given!r}")
    elif settings["source"] == "changing":
        source = Changing(len(columns), rescale)
    elif settings["source"] == "fixed" and columns.shape[1] > 0:
        source = Fixed(columns, labels, rescale)
    else:
        raise DamagedFile(f"its arms are {settings['source']!r}, and there are {columns.shape[1]}")
    if settings["allowed"] is not None:
        source.allow(_mask(settings["allowed"], labels, source.labels))
    return source


def _mask(kept: Sequence[bool], before: Labels, now: Labels) -> Bools:
    """Which arms may be tried, by label: one that the file does not know may be."""
    if before is None or now is None or before == now:
        return np.array(kept)
    known = dict(zip(before, kept, strict=True))
    return np.array([bool(known.get(label, True)) for label in now])


def _features(path: Path, kept: Record, given: FeatureMap | None, dim: int, adopt: bool) -> FeatureMap:
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
    now = _map_record(given)
    if "shown" in kept and "count" in kept and now != kept and not adopt:
        told = f"{kept['count']} arms {kept['labels'] or ''}, not {given.count} {given.labels or ''}"
        raise CannotLoad(f"{path} holds another feature map: {told}; say adopt=True to go on with it")
    if "shown" not in kept and now != kept and now != _record(made(kept)) and not adopt:
        raise CannotLoad(
            f"{path} holds another feature map: {_difference(kept, now, kept['kind'], _shown(given))}; "
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


def _memory(
    path: Path,
    columns: Floats,
    settings: dict[str, Any],
    arrays: Arrays,
    policy: Policy,
    estimator: Estimator | None,
) -> Memory:
    apart = "explored told" in arrays
    if traits_of(policy).uses_explored and not apart:
        raise CannotLoad(f"{policy!r} needs exploring rounds kept apart, which the file does not hold")
    memory = Memory.empty(columns, settings["penalty"], apart, estimator)
    try:
        memory.restore(arrays)
    except KeyError:
        if _record(estimator) == settings["estimator"]:
            raise
        before = settings["estimator_shown"] or "ridge regression"
        raise CannotLoad(f"{estimator!r} cannot go on from what {before} has learnt") from None
    return memory
