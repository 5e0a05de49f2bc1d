"""A bandit that writes its log as it decides: what is logged first is entered then."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, final

import numpy as np

from infex.arrays import Bools, Floats, labels_of
from infex.bandit import deciding
from infex.bandit.arms import Asked, Fixed, Mapped
from infex.bandit.context_reading import read
from infex.bandit.decision import Decision
from infex.bandit.offering import offered_mask
from infex.errors import InvalidSetting
from infex.features import Disjoint, Encoded, FeatureMap, Interactions
from infex.linear import InBlock, On, Separate
from infex.logs.log_facts import LogFacts
from infex.logs.log_rows import LogReward, LogRow
from infex.logs.log_schema import LogHeader, map_data, period_of
from infex.logs.recorder import Recorder, reward_frame, row_frame, said_frame
from infex.policies import Infex
from infex.policies.base_laws import laws_of
from infex.records.catalog import shown
from infex.rounds import Taken

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit


@final
class Notebook:
    """The log of one bandit: its file, and what was last said there of all rows that follow."""

    __slots__ = ("_bandit", "_said", "recorder")

    def __init__(self, bandit: Bandit, path: str | os.PathLike[str]) -> None:
        self._bandit, self.recorder = bandit, Recorder(path)
        self._said: tuple[str, int] | None = None

    def decided(self, asked: Asked, own_id: str | None) -> tuple[Decision, Taken, bytes]:
        """The next decision and its row; nothing has changed, and nothing is written yet."""
        bandit = self._bandit
        asked = read(bandit._arms, asked)
        decision, taken = deciding.decide(bandit, asked, own_id)
        return decision, taken, row_frame(_row(bandit, asked, decision, taken))

    def entered(self, decision: Decision, taken: Taken) -> bytes:
        """The row of a decision that was taken elsewhere, if what was on offer is known of it."""
        bandit = self._bandit
        context: object = None
        if isinstance(taken.on, InBlock) and isinstance(bandit.features, Disjoint):
            context = _as_given(bandit, taken.on.context)
        elif not isinstance(bandit._arms, Fixed):
            raise InvalidSetting(
                "a bandit that writes a log cannot enter a decision among arms that it does not see: use ask"
            )
        return row_frame(_row(bandit, Asked(context=context), decision, taken, entered=True))

    def write(self, rows: Iterable[bytes]) -> None:
        """Hands rows to the system; before them what is true of all that follow, if that has changed."""
        bandit = self._bandit
        now = bandit._lives.name, bandit._player.account.changes
        head = [] if now == self._said else [said_frame(header_of_bandit(bandit), now[0])]
        self.recorder.write([*head, *rows])
        self._said = now

    def told_again(self, decision: Decision, reward: float, weight: float) -> None:
        """Writes what the reward of a decision has become."""
        self.recorder.write([told_frame(decision, reward, weight)])

    def reward(self, decision: Decision, on: On, reward: float, weight: float) -> None:
        """Writes a reward, if it can be learnt."""
        memory = self._bandit._player.memory
        if memory.searches or weight != 1.0:
            memory.counted(on, reward, weight)  # which refuses it
        self.recorder.write([told_frame(decision, reward, weight)])


def _as_given(bandit: Bandit, inside: Floats) -> object:
    """A context that a map of blocks has read, as it was given; an encoded one stays."""
    arms = bandit._arms
    assert isinstance(arms, Mapped)
    return inside * arms.unit if arms.encoder is None else Encoded(inside)


def _on_offer(bandit: Bandit, asked: Asked, count: int) -> Bools | None:
    """Which arms were on offer; None if all were."""
    labels = bandit._arms.labels if asked.labels is None else labels_of(asked.labels, count)
    return offered_mask(asked.offered, labels, count)


def _count(bandit: Bandit, offers: Floats | None) -> int:
    """How many arms there are in a round."""
    arms = bandit._arms
    if isinstance(arms, Mapped):
        return arms.features.count
    return int(arms.columns.shape[1]) if isinstance(arms, Fixed) else len(offers) if offers is not None else 0


def told_frame(decision: Decision, reward: float, weight: float) -> bytes:
    """A reward that came now."""
    return reward_frame(decision.t, decision.id, LogReward(reward, weight, _now()))


def _now() -> int:
    return time.time_ns() // 1000


def header_of_bandit(bandit: Bandit) -> LogHeader:
    """What is true of all rows of a bandit, until its arms or its policy change."""
    arms, policy = bandit._arms, bandit.policy
    schedule = policy.schedule if isinstance(policy, Infex) else None
    facts = LogFacts(
        policy=shown(policy),
        schedule=None if schedule is None else shown(schedule),
        period=period_of(schedule),
        penalty=bandit.penalty,
        seed=bandit.seed,
        estimator=None if bandit.estimator is None else shown(bandit.estimator),
        encoded=isinstance(arms, Mapped) and arms.encoder is not None,
        rewards=bandit._rule.range,
    )
    fixed = np.ascontiguousarray(arms.columns.T) if isinstance(arms, Fixed) else None
    features = kept_map(bandit)
    count = arms.features.count if isinstance(arms, Mapped) else None if fixed is None else len(fixed)
    blocks = features is None and isinstance(arms.layout, Separate)
    return LogHeader(facts, fixed, arms.labels, features, count, arms.dim, blocks)


def kept_map(bandit: Bandit) -> FeatureMap | None:
    """The map, if it can be kept and its contexts are numbers; of any other the rows of all arms are kept."""
    features = bandit.features
    if type(features) not in (Disjoint, Interactions) or features is None or map_data(features) is None:
        return None
    return features


def _row(bandit: Bandit, asked: Asked, decision: Decision, taken: Taken, entered: bool = False) -> LogRow:
    offers, context = _looked(bandit, asked)
    return LogRow(
        decision.t, decision.arm, decision.id, decision.label, decision.explored, decision.greedy,
        decision.probability, decision.chance, decision.law,
        None if entered else _laws(bandit, asked, decision, _count(bandit, offers)), offers, context, _now(),
        reason=str(decision.reason), loss=taken.loss,
        offered=_on_offer(bandit, asked, _count(bandit, offers)),
    )  # fmt: skip


def _looked(bandit: Bandit, asked: Asked) -> tuple[Floats | None, Floats | None]:
    """What arms looked like: rows, or the context that a map joins them with; neither of fixed ones."""
    arms, context = bandit._arms, asked.context
    if isinstance(arms, Fixed):
        return None, None
    if kept_map(bandit) is not None:
        vector = context.vector if isinstance(context, Encoded) else np.asarray(context, dtype=np.float64)
        return None, vector
    if isinstance(arms, Mapped):
        return np.ascontiguousarray(arms.features(context)), None
    columns = arms.offer(asked).columns
    assert isinstance(columns, np.ndarray)
    return np.ascontiguousarray(columns.T), None


def _laws(bandit: Bandit, asked: Asked, decision: Decision, count: int) -> Floats | None:
    """The chance of every arm of a round that explored; of some arms on offer it is known where it is 1."""
    if not decision.explored or decision.law is None:
        return None
    if decision.law == 1.0:
        laws = np.zeros(count)
        laws[decision.arm] = 1.0
        return laws
    if asked.offered is not None:
        return None
    offered = bandit._arms.offer(asked)
    evidence = bandit._player.evidence(offered.columns, offered.allowed)
    found = laws_of(bandit.policy, decision.t, evidence)
    return found if found is not None and found[decision.arm] == decision.law else None
