"""A bandit to a file and back."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from infex.arrays import Floats
from infex.bandit import archive
from infex.bandit.decision import Decision
from infex.errors import CannotLoad, CannotSave, DamagedFile, InvalidExpression, SparseExploration
from infex.features import FeatureMap, Interactions, checked_map
from infex.linear import Memory
from infex.linear.statistics import Estimator, checked_estimator
from infex.policies import catalog
from infex.policies.protocol import Policy, uses_explored

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit

FEATURES = "arms of the feature map"


def save(bandit: Bandit, path: str | os.PathLike[str]) -> None:
    """Writes the truth of a bandit, and lets what is derived start from it anew here too."""
    if bandit._learns:
        raise CannotSave(f"{bandit.policy!r} keeps a state of its own, which a file cannot hold")
    memory = bandit._memory
    settings = {
        "policy": _expression(bandit.policy),
        "shown": repr(bandit.policy),
        "estimator": None if bandit.estimator is None else _expression(bandit.estimator),
        "estimator shown": None if bandit.estimator is None else repr(bandit.estimator),
        "seed": bandit.seed,
        "rescale": bandit.rescale,
        "fixed": bandit._fixed,
        "labels": bandit.labels,
        "penalty": bandit.penalty,
        "t": bandit.t,
        "explored": bandit.explored,
        "skipped": bandit._skipped,
        "made_up": bandit._made_up,
        "cost": bandit._cost,
        "allowed": None if bandit.allowed is None else bandit.allowed.tolist(),
        "kinds": _kinds(bandit.policy),
        "note": memory.note,
        "features": None if bandit.features is None else _described(bandit.features),
        "pending": [_packed(decision, where) for decision, where in bandit._pending.values()],
    }
    archive.write(path, settings, memory.arrays() | _arms(bandit.features))
    memory.settle()


def load(
    path: str | os.PathLike[str],
    policy: Policy | None,
    estimator: Estimator | None,
    features: FeatureMap | None,
) -> Bandit:
    """The bandit of a file."""
    from infex.bandit.bandit import Bandit

    settings, arrays = archive.read(path)
    try:
        bandit = Bandit(
            dim=arrays["columns"].shape[0],
            policy=_policy(settings["policy"], settings["shown"], path) if policy is None else policy,
            seed=settings["seed"],
            rescale=settings["rescale"],
            estimator=_estimator(settings, path) if estimator is None else estimator,
        )
        bandit._fixed = settings["fixed"]
        bandit._labels = None if settings["labels"] is None else tuple(settings["labels"])
        bandit._features = _features(settings["features"], arrays, features, path)
        bandit._t = settings["t"]
        for name in ("explored", "skipped", "made_up", "cost"):
            setattr(bandit, f"_{name}", settings[name])
        bandit._allowed = None if settings["allowed"] is None else np.array(settings["allowed"])
        bandit._pending = dict(_unpacked(packed) for packed in settings["pending"])
        bandit._memory = _memory(bandit, settings, arrays)
        if policy is None or settings["kinds"] == _kinds(policy):
            bandit._memory.note = _tuples(settings["note"])  # that of another policy is not this one's
    except (KeyError, IndexError) as error:
        raise DamagedFile(f"{path} lacks what a bandit needs: {error}") from None
    return bandit


def _kinds(policy: Any) -> str:
    """What a policy is made of, by the names of its classes: whose note it can read."""
    inner = [getattr(policy, name) for name in ("base", "schedule") if hasattr(policy, name)]
    return f"{type(policy).__name__}({', '.join(map(_kinds, inner))})"


def _expression(thing: Policy | Estimator) -> str | None:
    try:
        return catalog.expression(thing)
    except InvalidExpression:
        return None


def _policy(text: str | None, shown: str, path: str | os.PathLike[str]) -> Policy:
    if text is None:
        raise CannotLoad(
            f"{path} holds a policy that is not infex's own; load it with policy=, it was {shown}"
        )
    with warnings.catch_warnings():  # whoever made the policy has been told
        warnings.simplefilter("ignore", SparseExploration)
        found: Policy = catalog.parse(text)
    return found


def _estimator(settings: dict[str, Any], path: str | os.PathLike[str]) -> Estimator | None:
    text, shown = settings["estimator"], settings["estimator shown"]
    if text is None and shown is not None:
        raise CannotLoad(
            f"{path} holds an estimator that is not in the catalogue; load it with estimator=, it was {shown}"
        )
    return None if text is None else checked_estimator(catalog.parse(text))


def _described(features: FeatureMap) -> dict[str, Any]:
    """The settings of a map, or how it is shown if a file cannot hold it."""
    if not isinstance(features, Interactions):
        return {"shown": repr(features)}
    return {name: getattr(features, name) for name in ("context_dim", "labels", "longest")}


def _arms(features: FeatureMap | None) -> archive.Arrays:
    return {FEATURES: features.arms} if isinstance(features, Interactions) else {}


def _features(
    saved: dict[str, Any] | None, arrays: archive.Arrays, given: Any, path: str | os.PathLike[str]
) -> FeatureMap | None:
    if given is not None:
        found = checked_map(given)
        dim = len(arrays["columns"])
        if saved is None or found is None or found.dim != dim:
            held = f"a map of {dim} features" if saved else "no feature map"
            raise CannotLoad(f"{path} holds a bandit with {held}, got {given!r}")
        return found
    if saved is None:
        return None
    if "shown" in saved:
        raise CannotLoad(
            f"{path} holds a feature map with code of yours; load it with features=, it was {saved['shown']}"
        )
    return Interactions(arms=arrays[FEATURES], **saved)


def _memory(bandit: Bandit, settings: dict[str, Any], arrays: archive.Arrays) -> Memory:
    apart = "explored told" in arrays
    if uses_explored(bandit.policy) and not apart:
        raise CannotLoad(f"{bandit.policy!r} needs exploring rounds kept apart, which the file does not hold")
    memory = Memory.empty(arrays["columns"], settings["penalty"], apart, bandit.estimator)
    try:
        memory.restore(arrays)
    except KeyError:
        if bandit.estimator is None or repr(bandit.estimator) == settings["estimator shown"]:
            raise
        before = settings["estimator shown"] or "ridge regression"
        raise CannotLoad(f"{bandit.estimator!r} cannot go on from what {before} has learnt") from None
    return memory


def _tuples(note: Any) -> Any:
    """A note as it was: JSON knows lists alone."""
    return tuple(map(_tuples, note)) if isinstance(note, list) else note


def _packed(decision: Decision, where: int | Floats) -> dict[str, Any]:
    return decision._asdict() | {"where": where if isinstance(where, int) else where.tolist()}


def _unpacked(packed: dict[str, Any]) -> tuple[int, tuple[Decision, int | Floats]]:
    where = packed.pop("where")
    decision = Decision(**packed)
    return decision.id, (decision, where if isinstance(where, int) else np.array(where, dtype=np.float64))
