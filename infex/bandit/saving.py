"""A bandit to a file and back."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from infex.arrays import Bools, Floats, fitting, fitting_rows
from infex.bandit import archive, packing
from infex.bandit.arms import Arms, Changing, Fixed, Labels, Mapped
from infex.bandit.block_upgrading import from_format_2
from infex.bandit.changes import OF_CHANGES
from infex.bandit.differing import (
    Path,
    given_or_kept,
    map_of,
    map_record,
    policy_shown,
    record_of,
    shown_as,
    told_of,
)
from infex.bandit.foreseeing import foresee
from infex.bandit.learnt_logs import taught_kept
from infex.bandit.lineage_files import lineage_kept, lineage_record
from infex.bandit.lives import Lives
from infex.bandit.noting import fits, shape
from infex.bandit.parts import Parts
from infex.bandit.pending_columns import forget_lives, pending_kept, pending_record
from infex.bandit.prior import prior_kept
from infex.bandit.pulls import pulls_kept, pulls_record, removals_record, restore_removals
from infex.bandit.rearranging import layout_kept, rearranged
from infex.bandit.remembering import ToldDecisions, remembered_kept, remembered_record
from infex.bandit.reward_rule import RewardRule
from infex.bandit.upgrading import from_format_1
from infex.bandit.waiting import Waiting
from infex.checks import told
from infex.errors import (
    CannotLoad,
    CannotSave,
    DamagedFile,
    InfexError,
    NotKept,
)
from infex.features import FeatureMap
from infex.linear import Layout, Memory
from infex.linear.estimating import Arrays, Estimator, checked_estimator, in_unit
from infex.policies.reviving import revived
from infex.policies.settling import UNSAID_DELTA, settled
from infex.policies.traits import Policy, checked, traits_of
from infex.records.notes import note_of, note_record
from infex.rounds import Player
from infex.version import __version__

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit

BAD_CONTENT = (
    InfexError,
    KeyError,
    IndexError,
    TypeError,
    ValueError,
    AttributeError,
    OverflowError,
    RecursionError,
    MemoryError,
)
SOURCES = {Fixed: "fixed", Changing: "changing", Mapped: "mapped"}


def save(bandit: Bandit, path: Path) -> None:
    """Writes all of a bandit; nothing of it changes, and what is loaded goes on bit for bit."""
    if bandit._player.traits.pupils:
        raise CannotSave(f"{told(bandit.policy)} keeps a state of its own, which a file cannot hold")
    archive.write(path, *_content(bandit))
    if bandit._notebook is not None:
        bandit._notebook.recorder.sync()


def digest(bandit: Bandit) -> str:
    """A text that tells states apart."""
    settings, arrays = _content(bandit)
    lives = {bandit._lives.name, *bandit._lives.past}
    for name in ("written_by", "lives", "lineage", "taught"):
        del settings[name]
    arrays = {name: array for name, array in arrays.items() if not name.startswith(OF_CHANGES)}
    forget_lives(settings["pending"], arrays, lives)
    if settings["remembered"] is not None:
        forget_lives(settings["remembered"]["words"], arrays, lives, "remembered ")
    found = hashlib.blake2b(json.dumps(settings, sort_keys=True).encode(), digest_size=16)
    for name in sorted(arrays):
        found.update(f"{name} {arrays[name].shape} {arrays[name].dtype}".encode())
        found.update(np.ascontiguousarray(arrays[name]).tobytes())
    return found.hexdigest()


def _content(bandit: Bandit) -> tuple[dict[str, Any], Arrays]:
    """All of a bandit as plain data and arrays."""
    player = bandit._player
    pending, waiting = pending_record(bandit._waiting)
    lineage, passed = lineage_record(bandit)
    remembered, told_before = remembered_record(bandit._remembered)
    settings = {
        "written_by": f"infex {__version__}",
        "policy": record_of(bandit.policy),
        "policy_shown": policy_shown(bandit.policy),
        "shape": shape(bandit.policy),
        "told": {"policy": told_of(bandit.policy), "estimator": told_of(bandit.estimator)},
        "estimator": record_of(bandit.estimator),
        "estimator_shown": shown_as(bandit.estimator),
        "features": None if bandit.features is None else map_record(bandit.features),
        "seed": bandit.seed,
        "rescale": bandit.rescale,
        "source": SOURCES[type(bandit._arms)],
        "labels": bandit.labels,
        "allowed": None if bandit.allowed is None else bandit.allowed.tolist(),
        "penalty": player.memory.all.penalty,
        "prior": list(bandit._prior),
        "pulls": pulls_record(player.memory),
        "removals": removals_record(bandit._arms),
        "narrows": bandit.narrows,
        "note": note_record(player.note),
        "lives": bandit._lives.after(bandit.t),
        "lineage": lineage,
        "taught": list(bandit._taught.marks),
        "account": packing.account_record(player.account),
        "pending": pending,
        "rewards": None if bandit.rewards is None else list(bandit.rewards),
        "remembered": remembered,
    }
    return settings, player.memory.arrays() | waiting | passed | told_before


def load(
    path: Path, policy: Policy | None, estimator: Estimator | None, features: FeatureMap | None, adopt: bool
) -> Bandit:
    """The bandit of a file."""
    return _restored(path, archive.read(path), policy, estimator, features, adopt)


def packed(bandit: Bandit) -> bytes:
    """All of a bandit, as the file would hold it that `save` writes."""
    if bandit._player.traits.pupils:
        raise CannotSave(f"{told(bandit.policy)} keeps a state of its own, which a file cannot hold")
    return archive.packed(*_content(bandit))


def unpacked(
    content: bytes, policy: Policy | None, estimator: Estimator | None, features: FeatureMap | None
) -> Bandit:
    """The bandit that `packed` was given."""
    file = io.BytesIO(content)
    return _restored("a snapshot", archive.unpacked("a snapshot", file), policy, estimator, features, False)


def _restored(
    path: Path,
    found: tuple[int, dict[str, Any], Arrays],
    policy: Policy | None,
    estimator: Estimator | None,
    features: FeatureMap | None,
    adopt: bool,
) -> Bandit:
    form, settings, arrays = found
    try:
        if form == 1:
            settings, arrays = from_format_1(settings, arrays, policy)
        if form <= 2:
            settings, arrays = from_format_2(settings, arrays)
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

    policy = None if policy is None else settled(checked("policy", policy), UNSAID_DELTA)
    own_policy = given_or_kept("policy", path, settings, policy, adopt)
    own_estimator = given_or_kept("estimator", path, settings, checked_estimator(estimator), adopt)
    columns = fitting("columns", arrays["columns"], (-1, -1))
    fitting_rows("arms", columns.T, len(columns))
    source = _source(path, settings, columns, features, adopt)
    prior = prior_kept(settings.get("prior"), settings["penalty"], own_estimator)
    layout = layout_kept(settings["features"], columns)
    memory = _memory(path, layout, settings, arrays, own_policy, own_estimator, prior.unit)
    memory.pulls = pulls_kept(source, settings.get("pulls"), packing.labels_kept(settings["labels"]))
    player = Player(own_policy, memory)
    packing.restore_account(player.account, settings["account"])
    player.policy = own_policy  # whose windows may look back at what was explored
    note = revived(own_policy, note_of(settings["note"]))
    same = policy is None or record_of(policy) == settings["policy"]
    same = same and settings["shape"] in (None, shape(own_policy))
    if same and fits(own_policy, note, source.dim):
        player.note = note  # that of another policy, or of other settings, is not this one's
    elif same or policy is None:
        raise DamagedFile("the note in it is not one of its policy's")
    waiting = _waiting(settings["pending"], arrays, layout, player.account.t)
    lineage = lineage_kept(settings, arrays, player.memory, layout)
    remembered = remembered_kept(settings.get("remembered"), arrays, layout, player.account.t)
    waits: list[Waiting | ToldDecisions] = [waiting] if remembered is None else [waiting, remembered]
    lineage = rearranged(
        path, player, waits, lineage, layout, packing.labels_kept(settings["labels"]), source
    )
    narrows = settings.get("narrows", False)  # older files were written where pending ones were not looked at
    _refuse_unless(isinstance(narrows, bool), "narrows", narrows)
    foresee(player.memory, waiting, narrows)
    seed = settings["seed"]
    _refuse_unless(isinstance(seed, int) and not isinstance(seed, bool), "seed", seed)
    lives = Lives(packing.lives_kept(settings["lives"]))
    bandit = Bandit.__new__(Bandit)
    bandit._begin(Parts(source, player, seed, own_estimator, lives, waiting, prior))
    bandit._lineage, bandit._taught = lineage, taught_kept(settings.get("taught"))
    bandit._take_rewards(RewardRule.of(settings.get("rewards"), own_estimator), remembered)
    return bandit


def _waiting(kept: Any, arrays: Arrays, layout: Layout, t: int) -> Waiting:
    """What waits; up to format 3 decisions stood one by one."""
    if isinstance(kept, list):
        return packing.waiting_of(kept, arrays["pending rows"], layout, t)
    return pending_kept(kept, arrays, layout, t)


def _refuse_unless(fits: bool, name: str, value: object) -> None:
    if not fits:
        raise DamagedFile(f"its {name} is {value!r}")


def _source(
    path: Path, settings: dict[str, Any], columns: Floats, given: FeatureMap | None, adopt: bool
) -> Arms:
    """Where the arms come from; what is allowed goes by label where arms have labels."""
    rescale, labels = settings["rescale"], packing.labels_kept(settings["labels"])
    _refuse_unless(isinstance(rescale, bool), "rescale", rescale)
    if settings["source"] == "mapped":
        source: Arms = Mapped(map_of(path, settings["features"], given, len(columns), adopt), rescale)
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
    restore_removals(source, settings.get("removals"))
    return source


def _mask(kept: Sequence[bool], before: Labels, now: Labels) -> Bools:
    """Which arms may be tried, by label: one that the file does not know may be."""
    if before == now:
        return np.array(kept)
    if before is None or now is None:
        raise CannotLoad("the file says by place which arms may be tried, and the map given has other labels")
    known = dict(zip(before, kept, strict=True))
    return np.array([bool(known.get(label, True)) for label in now])


def _memory(
    path: Path,
    layout: Layout,
    settings: dict[str, Any],
    arrays: Arrays,
    policy: Policy,
    estimator: Estimator | None,
    unit: float,
) -> Memory:
    apart = "explored told" in arrays
    if traits_of(policy).uses_explored and not apart:
        raise CannotLoad(f"{told(policy)} needs exploring rounds kept apart, which the file does not hold")
    memory = Memory.empty(layout, settings["penalty"], apart, in_unit(estimator, unit))
    if memory.all.penalty != settings["penalty"]:  # what was derived with another is computed anew
        arrays = {name: array for name, array in arrays.items() if not name.endswith((" closed", " factors"))}
    try:
        memory.restore(arrays)
    except KeyError:
        if record_of(estimator) == settings["estimator"]:
            raise
        before = settings["estimator_shown"] or "ridge regression"
        raise CannotLoad(f"{told(estimator)} cannot go on from what {before} has learnt") from None
    return memory
