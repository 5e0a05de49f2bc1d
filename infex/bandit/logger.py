"""The log of a bandit: what it decides is written to a file before it is applied, and so is each reward."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import final

import numpy as np

from infex.arrays import Bools, Floats, labels_of
from infex.bandit.arms import Arms, Fixed, Mapped, Request, offered_mask
from infex.bandit.decision import Decision, DecisionRecord
from infex.errors import InvalidSetting
from infex.features import Disjoint, Encoded, FeatureMap, Interactions
from infex.logs.log import LogFacts
from infex.logs.recorded import Recorder, header_frame, reward_frame, row_frame
from infex.logs.schema import LogHeader, LogReward, LogRow, map_data, period_of
from infex.models.base import Estimator
from infex.models.layout import ArmRow, PerArm
from infex.policies import Infex
from infex.policies.base import Policy
from infex.registry import label_of

Version = tuple[str, int]
"""The name of a bandit, and how often its arms or policy have changed: a header holds for one version."""


@final
class DecisionLogger:
    """A file to which decisions and rewards are appended."""

    __slots__ = ("_recorder", "_version")

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._recorder = Recorder(path)
        self._version: Version | None = None

    def write(self, version: Version, header: LogHeader, rows: Iterable[LogRow]) -> None:
        """Hands rows to the system; before them the header, if the version has changed."""
        head = [] if version == self._version else [header_frame(header, version[0])]
        self._recorder.write([*head, *map(row_frame, rows)])
        self._version = version

    def write_rewards(self, rewards: Iterable[tuple[Decision, float, float]]) -> None:
        """Hands over rewards, each of a decision, with its weight."""
        now = _now()
        self._recorder.write(
            [
                reward_frame(decision.t, decision.id, LogReward(reward, weight, now))
                for decision, reward, weight in rewards
            ]
        )

    def sync(self) -> None:
        """Brings all of it to the disk."""
        self._recorder.sync()

    def close(self) -> None:
        """Writes no more."""
        self._recorder.close()


def header_of(
    arms: Arms,
    policy: Policy,
    penalty: float,
    seed: int,
    estimator: Estimator | None,
    rewards: tuple[float, float] | None,
) -> LogHeader:
    """What is true of all rows of a bandit, until its arms or its policy change."""
    schedule = policy.schedule if isinstance(policy, Infex) else None
    facts = LogFacts(
        policy=label_of(policy),
        schedule=None if schedule is None else label_of(schedule),
        period=period_of(schedule),
        penalty=penalty,
        seed=seed,
        estimator=None if estimator is None else label_of(estimator),
        encoded=isinstance(arms, Mapped) and arms.encoder is not None,
        rewards=rewards,
    )
    fixed = np.ascontiguousarray(arms.columns.T) if isinstance(arms, Fixed) else None
    features = _logged_map(arms)
    count = arms.features.count if isinstance(arms, Mapped) else None if fixed is None else len(fixed)
    blocks = features is None and isinstance(arms.layout, PerArm)
    return LogHeader(facts, fixed, arms.labels, features, count, arms.dim, blocks)


def row_of(arms: Arms, request: Request, record: DecisionRecord, base_propensities: Floats | None) -> LogRow:
    """A decision with what was on offer; `base_propensities` are those of all arms."""
    decision, (offers, context) = record.decision, _features(arms, request)
    return LogRow(
        decision.t, decision.arm, decision.id, decision.label, decision.explored, decision.greedy,
        decision.propensity, decision.explore_probability, decision.base_propensity, base_propensities,
        offers, context, _now(),
        reason=str(decision.reason), loss=record.loss,
        offered=_on_offer(arms, request, arm_count(arms, offers)),
    )  # fmt: skip


def request_behind(arms: Arms, record: DecisionRecord) -> Request:
    """The request of a decision that was taken elsewhere, as far as a log needs it."""
    on = record.on
    if isinstance(arms, Mapped) and isinstance(on, ArmRow) and isinstance(arms.features, Disjoint):
        return Request(context=on.context * arms.unit if arms.encoder is None else Encoded(on.context))
    if not isinstance(arms, Fixed):
        raise InvalidSetting(
            "a bandit that writes a log cannot enter a decision among arms that it does not see: use ask"
        )
    return Request()


def arm_count(arms: Arms, offers: Floats | None) -> int:
    """How many arms there are in a round."""
    if isinstance(arms, Mapped):
        return arms.features.count
    return int(arms.columns.shape[1]) if isinstance(arms, Fixed) else 0 if offers is None else len(offers)


def _logged_map(arms: Arms) -> FeatureMap | None:
    """The map, if it can be kept and its contexts are numbers; of any other the rows of all arms are kept."""
    features = arms.features if isinstance(arms, Mapped) else None
    if not isinstance(features, Disjoint | Interactions) or map_data(features) is None:
        return None
    return features


def _features(arms: Arms, request: Request) -> tuple[Floats | None, Floats | None]:
    """What arms looked like: rows, or the context that a map joins them with; neither of fixed ones."""
    if isinstance(arms, Fixed):
        return None, None
    context = request.context
    if _logged_map(arms) is not None:
        vector = context.vector if isinstance(context, Encoded) else np.asarray(context, dtype=np.float64)
        return None, vector
    if isinstance(arms, Mapped):
        return np.ascontiguousarray(arms.features(context)), None
    columns = arms.offer(request).columns
    assert isinstance(columns, np.ndarray)
    return np.ascontiguousarray(columns.T), None


def _on_offer(arms: Arms, request: Request, count: int) -> Bools | None:
    labels = arms.labels if request.labels is None else labels_of(request.labels, count)
    return offered_mask(request.offered, labels, count)


def _now() -> int:
    return time.time_ns() // 1000
