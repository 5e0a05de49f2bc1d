"""A warm start: the rewards of a log, as rows that a study learns before its first decision."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from infex.bandit import Bandit
from infex.errors import InvalidLog
from infex.features.base import encoder_of
from infex.logs import Log, read
from infex.logs.files import form_of, guarded_reading
from infex.logs.log import Fingerprint
from infex.study.events import CONTENT_VERSION, ENCODER, LearntLog, Observation
from infex.study.requests import checked_unit
from infex.study.state import learn_observations

ROWS_AT_ONCE = 1_000
Row = tuple[str, Observation]
"""The unit of a reward ("" for nobody), and what is learnt."""


class WarmStart(NamedTuple):
    """The rows of a log that have a reward, and what names all of them."""

    log: LearntLog
    rows: Sequence[Row]


def warm_start_of(source: object, bandit: Bandit, columns: Mapping[str, Any] | None = None) -> WarmStart:
    """What a bandit can learn from a log, or from a file of one; decisions of its holdout are left out.

    Arms are matched by their labels, where the bandit's arms have labels, and else by their indices. The
    bandit learns all of it here, to see whether it can: it is a copy that is thrown away. `columns` are names
    of columns of a file, for `read`.
    """
    log = _log_of(source, bandit, columns or {}).without_held_out()
    places = np.flatnonzero(log.rewarded)
    weights = np.ones(len(log)) if "weight" not in log.others else log.others["weight"]
    weights = weights if log.inverse_kept is None else weights * log.inverse_kept
    arms, contexts = _arms_of(log, bandit), _contexts_of(log, bandit)
    rows = [
        (
            "" if log.unit is None or log.unit[n] is None else checked_unit(str(log.unit[n])),
            Observation(
                v=CONTENT_VERSION,
                arm=arms[n],
                reward=float(log.reward[n]),
                context=None if contexts is None else contexts[n],
                encoded=contexts is not None and log.facts.encoded,
                weight=float(weights[n]),
                explored=log.explored is not None and bool(log.explored[n]),
            ),
        )
        for n in places.tolist()
    ]
    learn_observations(bandit, [content for _, content in rows])
    return WarmStart(log_named(rows, Fingerprint.of(log).hashes), rows)


def log_named(rows: Sequence[Row], marks: Sequence[int]) -> LearntLog:
    """The name of rows: a hash of them, and how many they are; `marks` are those of a `Fingerprint`."""
    found = blake2b(digest_size=16)
    for unit, content in rows:
        found.update(ENCODER.encode([unit, content]))
    return LearntLog(v=CONTENT_VERSION, digest=found.hexdigest(), rows=len(rows), marks=list(marks))


def _log_of(source: object, bandit: Bandit, columns: Mapping[str, Any]) -> Log:
    if isinstance(source, Log):
        return source
    if not isinstance(source, str | os.PathLike):
        raise InvalidLog(f"learn_from is a log or the file of one, got a {type(source).__name__}")
    path = Path(source)
    with guarded_reading(str(path)):
        has_texts = not path.is_dir() and form_of(path) == "csv"  # which do not tell "10" from 10
    labels = bandit.labels if has_texts else None
    log = read(path, labels=labels, **columns)
    has_offers = log.context is not None or log.offers is not None or log.arms is not None
    if has_offers or bandit.features is None:
        return log
    return read(path, labels=labels, features=bandit.features, **columns)


def _arms_of(log: Log, bandit: Bandit) -> list[int | str | list[float]]:
    """The arm of each row, as `Bandit.learn` takes it."""
    if bandit.features is None and not len(bandit.arms):  # arms come with each request
        if log.offers is not None:
            return list(log.offers[np.arange(len(log)), log.arm].tolist())
        if log.arms is None:
            raise InvalidLog("arms of this study come with each request: the log must tell their features")
        return list(log.arms[log.arm].tolist())
    if bandit.labels is not None:
        if log.labels is None:
            raise InvalidLog("arms of this study have labels, and those of the log have none")
        known = set(bandit.labels)
        for arm in np.unique(log.arm[log.rewarded]).tolist():
            if log.labels[arm] not in known:
                raise InvalidLog(
                    f"the log has rewards of the arm {log.labels[arm]!r}, which the study has not"
                )
        return [log.labels[arm] for arm in log.arm.tolist()]
    count = len(bandit.arms) if bandit.features is None else bandit.features.count
    if log.count != count:
        raise InvalidLog(f"the log has {log.count} arms, and the study {count}, which have no labels")
    if bandit.features is None and log.arms is not None and not np.array_equal(log.arms, bandit.arms):
        raise InvalidLog("arms of the log have other features than those of the study, and no labels")
    return list(log.arm.tolist())


def _contexts_of(log: Log, bandit: Bandit) -> list[list[float]] | None:
    if bandit.features is None:
        return None
    if log.context is None:
        raise InvalidLog("this study joins its arms with contexts: the log must have them")
    if log.facts.encoded and log.features is not None:
        mine, theirs = encoder_of(bandit.features), encoder_of(log.features)
        if mine != theirs:
            raise InvalidLog("contexts of the log were made by another encoder than that of the study")
    return list(log.context.tolist())
