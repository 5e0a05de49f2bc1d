"""What a file keeps of a bandit, and the bandit that goes on from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from infex.arrays import Floats, Integers, fitting, fitting_rows
from infex.bandit.agent import Agent
from infex.bandit.archive import FilePath, digest
from infex.bandit.arms import (
    Arms,
    Changing,
    Fixed,
    Labels,
    Mapped,
)
from infex.bandit.ids import Ids, past_from
from infex.bandit.pending import Pending
from infex.bandit.prior import Prior
from infex.bandit.replication import PREFIX, Replication, shape_of
from infex.bandit.rewards import (
    RewardHistory,
    RewardRule,
)
from infex.checks import safe_repr, whole
from infex.errors import (
    CannotLoad,
    CannotSave,
    DamagedFile,
    InfexError,
    NotKept,
)
from infex.features import FeatureMap
from infex.features.base import checked_map
from infex.logs.log import HASHES_KEPT, Fingerprint
from infex.models import Ridge
from infex.models.base import Arrays, Estimator, checked_estimator, rescaled
from infex.models.layout import GONE, ArmRow, DesignRow, Layout, PerArm
from infex.models.state import ModelState
from infex.policies.base import (
    DEFAULT_DELTA,
    Policy,
    checked,
    policy_info,
    resolve_defaults,
    restore_state,
    without_parameters,
)
from infex.registry import (
    describe,
    difference,
    from_record_quietly,
    label_of,
    policy_state_from_record,
    policy_state_to_record,
)
from infex.version import __version__

BAD_CONTENT = (
    InfexError, KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RecursionError,
    MemoryError,
)  # fmt: skip
ALWAYS_HELD = 10**6  # numbers of a model that take too little memory to look for them in its file
SOURCES = {Fixed: "fixed", Changing: "changing", Mapped: "mapped"}


def given_or_kept(path: FilePath, name: str, kept: Any, given: Any, adopt: bool) -> Any:
    """The policy or estimator of a file, or the one that was given in its place.

    `kept` is its description. Another one than the file describes is refused, unless it is to be adopted.
    """
    if given is None:
        if kept is not None and "kind" not in kept:
            raise CannotLoad(
                f"the {name} in {path} is not infex's own; load it with {name}=, it was {_classes(kept)}"
            )
        return None if kept is None else from_record_quietly(kept)
    now = describe(given)
    if now != kept and not adopt:
        other = difference(kept, now)
        if kept is None:
            other = f"ridge regression with the penalty of the bandit, not {label_of(given)}"
        elif kept.get("class") != now.get("class"):
            other = f"{_classes(kept)}, not {_classes(now)}"
        raise CannotLoad(
            f"{path} holds another {name}: {other}; say adopt=True to go on with the one that is given"
        )
    return given


def _classes(description: Any) -> str:
    """What a description is of, and in brackets what that is made of: "Infex(Decaying, every)"."""
    parts = [_classes(part) for part in description.values() if isinstance(part, dict)]
    name = description.get("kind") or description["class"]
    return f"{name}({', '.join(parts)})" if parts else str(name)


def same_ridge(given: object, penalty: float) -> bool:
    """Is it the ridge regression that a bandit with this penalty has without an estimator?"""
    return isinstance(given, Ridge) and given.penalty in (None, penalty)


def map_given_or_kept(
    path: FilePath, kept: Any, given: FeatureMap | None, dim: int, adopt: bool
) -> FeatureMap:
    """The feature map of a file, or the one that was given in its place."""
    if given is None:
        if "kind" not in kept:
            raise CannotLoad(
                f"{path} holds a feature map with your code; load it with features=, it was {kept['class']}"
            )
        features: FeatureMap = from_record_quietly(kept)
        if features.dim != dim:
            raise DamagedFile(f"its map has {features.dim} features, and what was learnt {dim}")
        return features
    checked_map(given)
    if given.dim != dim:
        raise CannotLoad(f"{path} holds a bandit with a map of {dim} features, got {given!r}")
    if describe(given) != kept and not adopt:
        raise CannotLoad(
            f"{path} holds another feature map: {difference(kept, describe(given))}; "
            "say adopt=True to go on with the one that is given"
        )
    return given


@dataclass(slots=True)
class Parts:
    """All that a bandit holds and a file keeps; `narrows`: do pending decisions narrow widths?"""

    arms: Arms
    agent: Agent
    seed: int
    estimator: Estimator | None
    prior: Prior
    rule: RewardRule
    history: RewardHistory | None
    ids: Ids
    pending: Pending
    replication: Replication
    taught: Fingerprint
    narrows: bool

    def content(self, digesting: bool = False) -> tuple[dict[str, Any], Arrays]:
        """All of the bandit as plain data and arrays."""
        agent, model = self.agent, self.agent.model
        features = self.arms.features if isinstance(self.arms, Mapped) else None
        if agent.info.learners and not digesting:
            raise CannotSave(f"{safe_repr(agent.policy)} keeps a state of its own, which a file cannot hold")
        pending, waiting = self.pending.arrays("pending")
        replication, passed = self.replication.arrays(self.ids.name, model)
        remembered, history = (None, {}) if self.history is None else self.history.arrays()
        header = {
            "written_by": f"infex {__version__}",
            "policy": describe(agent.policy),
            "policy_state": policy_state_to_record(agent.policy_state),
            "estimator": describe(self.estimator),
            "features": describe(features),
            "source": SOURCES[type(self.arms)],
            "layout": list(self.arms.layout) if isinstance(self.arms.layout, PerArm) else None,
            "labels": None if self.arms.labels is None else list(self.arms.labels),
            "allowed": None if self.arms.allowed is None else self.arms.allowed.tolist(),
            "rescale": self.arms.rescale,
            "removals": [list(each) for each in self.arms.removals] if isinstance(self.arms, Mapped) else [],
            "seed": self.seed,
            "prior": list(self.prior),
            "pulls": None if model.pulls is None else model.pulls.tolist(),
            "narrows": self.narrows,
            "rewards": None if self.rule.range is None else list(self.rule.range),
            "account": agent.account.record(),
            "pending": pending,
            "remembered": remembered,
            "ids": self.ids.after(agent.account.t),
            "replication": replication,
            "taught": list(self.taught.hashes),
        }
        return header, model.arrays() | waiting | passed | history

    def digest(self) -> str:
        """A short text that is the same for the same state, whatever ids infex gave and whoever wrote it."""
        header, arrays = self.content(digesting=True)
        names = {self.ids.name, *self.ids.past}
        for name in ("written_by", "ids", "replication", "taught"):
            del header[name]
        for texts in (header["pending"], header["remembered"] or {"ids": []}):
            texts["ids"] = [_without_name(key, names) for key in texts["ids"]]
        kept = {name: array for name, array in arrays.items() if not name.startswith(PREFIX)}
        return digest(header, kept)

    @staticmethod
    def restored(
        path: FilePath,
        header: dict[str, Any],
        arrays: Arrays,
        policy: Policy | None,
        estimator: Estimator | None,
        features: FeatureMap | None,
        adopt: bool,
    ) -> Parts:
        """Those of a file, or of bytes: `policy`, `estimator` and `features` are those of `Bandit.load`."""
        try:
            return Parts._restored(path, header, arrays, policy, estimator, features, adopt)
        except (CannotLoad, NotKept):
            raise
        except DamagedFile as error:
            raise DamagedFile(f"{path} is damaged: {error}") from None
        except BAD_CONTENT as error:
            raise DamagedFile(f"{path} lacks what a bandit needs: {error}") from None

    @staticmethod
    def _restored(
        path: FilePath,
        header: dict[str, Any],
        arrays: Arrays,
        policy: Policy | None,
        estimator: Estimator | None,
        features: FeatureMap | None,
        adopt: bool,
    ) -> Parts:
        given = None if policy is None else resolve_defaults(checked("policy", policy), DEFAULT_DELTA)
        own_policy = given_or_kept(path, "policy", header["policy"], given, adopt)
        same_policy = describe(own_policy) == header["policy"]
        kept_estimator = header["estimator"]
        own_estimator = checked_estimator(estimator)
        if kept_estimator is not None or not same_ridge(own_estimator, header["prior"][0]):
            own_estimator = given_or_kept(path, "estimator", kept_estimator, own_estimator, adopt)
        columns: Floats = fitting("columns", arrays["columns"], (-1, -1))
        fitting_rows("arms", columns.T, len(columns))
        layout = _layout_of(header["layout"], columns)
        _refuse_huge(layout, arrays)
        source = _source_of(path, header, columns, features, adopt)
        if not _same_kind(layout, source.layout):
            held, given_layout = _layout_text(layout), _layout_text(source.layout)
            raise CannotLoad(f"{path} holds {held}, which cannot go on as {given_layout}")
        prior = Prior.restored(header["prior"], own_estimator)
        model = _model_of(path, header, arrays, layout, own_policy, own_estimator, prior)
        model.pulls = _pulls_of(source, header["pulls"])
        agent = Agent(own_policy, model)
        agent.account.restore(header["account"])
        agent.policy = own_policy  # whose windows may look back at what was explored
        t = agent.account.t
        if same_policy:
            kept = policy_state_from_record(header["policy_state"])
            agent.policy_state = restore_state(own_policy, kept, source.dim)
            if agent.policy_state is None and kept is not None:
                raise DamagedFile("the policy's state in it is not one of this policy's")
        pending = Pending.restored(header["pending"], arrays, "pending", layout, t)
        remembered = header["remembered"]
        history = None if remembered is None else RewardHistory.restored(remembered, arrays, layout, t)
        rule = RewardRule(header["rewards"], own_estimator)
        seed, narrows = header["seed"], header["narrows"]
        if type(seed) is not int or not isinstance(narrows, bool):
            raise DamagedFile(f"its seed is {seed!r}, and its narrows is {narrows!r}")
        ids, shape = Ids(past_from(header["ids"])), shape_of(layout, model)
        parts = Parts(
            source, agent, seed, own_estimator, prior, rule, history, ids, pending,
            Replication.restored(header["replication"], arrays, shape, model), taught_of(header["taught"]),
            narrows,
        )  # fmt: skip
        parts._match_arms(path, layout, _labels_of(header["labels"]))
        return parts

    def _match_arms(self, path: FilePath, held: Layout, before: Labels) -> None:
        """Brings what a file tells of each arm to where the map has it now, by label."""
        now, labels, agent, model = self.arms.layout, self.arms.labels, self.agent, self.agent.model
        apart = isinstance(held, PerArm)
        if not isinstance(self.arms, Mapped) or (model.pulls is None and not apart):
            return
        count = self.arms.features.count
        if before == labels and (model.pulls is None or model.pulls.size == count):
            return
        if before is None or labels is None:
            if model.pulls is not None and not model.pulls.any():
                model.pulls = np.zeros(count, dtype=np.int64)
                return
            if apart:
                return
            raise CannotLoad(f"{path} has pulls by place, and the map given has other arms")
        known = {label: place for place, label in enumerate(before)}
        places = np.array([known.get(label, GONE) for label in labels])
        if apart:
            agent.replace_model(model.rearranged(now, places))
            new = {old: place for place, old in enumerate(places.tolist()) if old != GONE}

            def changed(on: DesignRow) -> DesignRow:
                assert isinstance(on, ArmRow)
                return ArmRow(new.get(on.arm, GONE), on.context)

            self.pending.change(changed)
            if self.history is not None:
                self.history.change(changed)
            agent.policy_state = without_parameters(agent.policy_state)
        else:
            assert model.pulls is not None
            agent.replace_model(model.with_pulls(np.where(places >= 0, model.pulls[places], 0)))
        self.replication = self.replication.move(model, agent.model, places)


def _labels_of(kept: object) -> Labels:
    if kept is not None and not isinstance(kept, list):
        raise DamagedFile("its labels are no list")
    return None if kept is None else tuple(kept)


def _layout_of(kept: Any, columns: Floats) -> Layout:
    """What the statistics of a file are of; refused before it takes memory."""
    if kept is None:
        return columns
    layout = PerArm(*(whole("layout", number, least=0, error=DamagedFile) for number in kept))
    if layout.parameters != len(columns) or not layout.arms or not layout.dim:
        raise DamagedFile(f"its layout is {kept}, and what was learnt has {len(columns)} parameters")
    return layout


def _refuse_huge(layout: Layout, arrays: Arrays) -> None:
    """Refuses a layout whose statistics take far more memory than a file holds numbers of them."""
    if isinstance(layout, PerArm):
        needed = layout.arms * layout.dim * (layout.dim + layout.shared) + layout.shared**2
    else:
        needed = len(layout) ** 2
    held = sum(array.size for array in arrays.values())
    if needed > max(held, ALWAYS_HELD):
        raise DamagedFile(f"its features need {needed} numbers, and it holds {held}")


def _source_of(
    path: FilePath, header: dict[str, Any], columns: Floats, given: FeatureMap | None, adopt: bool
) -> Arms:
    """Where the arms of a file come from; what is allowed goes by label where arms have labels."""
    rescale, labels, kind = header["rescale"], _labels_of(header["labels"]), header["source"]
    if not isinstance(rescale, bool):
        raise DamagedFile(f"its rescale is {rescale!r}")
    if kind == "mapped":
        features = map_given_or_kept(path, header["features"], given, len(columns), adopt)
        mapped = Mapped(features, rescale)
        mapped.restore_removals(header["removals"])
        source: Arms = mapped
    elif given is not None:
        raise CannotLoad(f"{path} holds a bandit with no feature map, got {given!r}")
    elif kind == "changing":
        source = Changing(len(columns), rescale)
    elif kind == "fixed" and columns.shape[1] > 0:
        source = Fixed(columns, labels, rescale)
    else:
        raise DamagedFile(f"its arms are {kind!r}, and there are {columns.shape[1]}")
    allowed = header["allowed"]
    if allowed is not None and labels != source.labels:
        if labels is None or source.labels is None:
            raise CannotLoad(f"{path} says by place which arms may be tried, and the map has other labels")
        known = dict(zip(labels, allowed, strict=True))
        allowed = [bool(known.get(label, True)) for label in source.labels]
    source.allow(allowed if allowed is None else np.array(allowed))
    return source


def _pulls_of(arms: Arms, kept: object) -> Integers | None:
    if no_pulls(arms) is None:
        return None
    found: Integers = fitting("pulls", kept, (-1,), whole=True)
    return found


def taught_of(kept: object) -> Fingerprint:
    """Marks of the logs that a bandit has learnt from, checked."""
    if not isinstance(kept, list) or len(kept) > HASHES_KEPT:
        raise DamagedFile("the marks of logs that it has learnt from are none")
    if not all(type(mark) is int and 0 <= mark < 2**64 for mark in kept):
        raise DamagedFile("a mark of a log that it has learnt from must be a whole number of 64 bits")
    return Fingerprint(kept)


def _model_of(
    path: FilePath,
    header: dict[str, Any],
    arrays: Arrays,
    layout: Layout,
    policy: Policy,
    estimator: Estimator | None,
    prior: Prior,
) -> ModelState:
    apart = "explored told" in arrays
    if policy_info(policy).uses_explored and not apart:
        raise CannotLoad(
            f"{safe_repr(policy)} needs exploring rounds kept apart, which the file does not hold"
        )
    model = ModelState.empty(layout, prior.inside, apart, rescaled(estimator, prior.unit))
    if list(prior) != header["prior"]:  # what was derived with another penalty is computed anew
        arrays = {name: array for name, array in arrays.items() if not name.endswith((" closed", " factors"))}
    try:
        model.restore(arrays)
    except KeyError:
        if describe(estimator) == header["estimator"]:
            raise
        before = header["estimator"] or "ridge regression"
        raise CannotLoad(f"{safe_repr(estimator)} cannot go on from what {before} has learnt") from None
    return model


def _same_kind(held: Layout, given: Layout) -> bool:
    """Do both have one regression for all, or one for each arm of the same features?"""
    if isinstance(held, PerArm) and isinstance(given, PerArm):
        return held[1:] == given[1:]
    return not isinstance(held, PerArm) and not isinstance(given, PerArm)


def _layout_text(layout: Layout) -> str:
    if isinstance(layout, PerArm):
        shared = f", and {layout.shared} shared features" if layout.shared else ""
        return f"a regression for each arm on contexts of {layout.dim} features{shared}"
    return "one regression for all"


def _without_name(key: str, names: set[str]) -> str:
    name, dash, number = key.rpartition("-")
    return f"{dash}{number}" if name in names else key


def no_pulls(arms: Arms) -> Integers | None:
    """Zeros for the arms of a map with one regression, which does not tell them apart; else None."""
    if not isinstance(arms, Mapped) or isinstance(arms.layout, PerArm):
        return None
    return np.zeros(arms.features.count, dtype=np.int64)
