"""Learners on a log: a policy goes through drawn rounds, and learns where it would have done the same."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np

from infex.arrays import Bools, Floats, Integers
from infex.bandit import Bandit
from infex.checks import real, whole
from infex.errors import InvalidSetting, NoSupport, OutOfReach
from infex.evaluation.drawn_events import DrawnEvents, drawn_events
from infex.evaluation.warm_bandit import new_bandit
from infex.features import Encoded, FeatureMap
from infex.lab.simulation.copies import own_copies
from infex.logs import Log
from infex.models.base import Estimator
from infex.policies.base import Policy
from infex.registry import label_of
from infex.streams import stream

SPREADS_BELOW = 2.0  # rounds are fixed so far below what is expected, in standard deviations


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How far a log reaches for a learner: drawn `events`, each accepted at the `acceptance_rate`.

    `rounds` are those to expect: events times the `acceptance_rate`. `text` says so.
    """

    events: int
    acceptance_rate: float

    @property
    def rounds(self) -> int:
        """How many rounds a learner can be expected to play."""
        return int(self.events * self.acceptance_rate)

    @property
    def safe_rounds(self) -> int:
        """How many rounds are played before the log ends in all but 2 of 100 cases."""
        expected = self.events * self.acceptance_rate
        spread = math.sqrt(expected * (1.0 - self.acceptance_rate))
        return max(int(expected - SPREADS_BELOW * spread), 1)

    @property
    def text(self) -> str:
        """The same in words."""
        return (
            f"{self.events:,} rounds of this log were drawn with known propensities; a learner agrees with "
            f"about one in {1.0 / self.acceptance_rate:,.1f}, which gives it about {self.rounds:,} rounds"
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ReplayedRun:
    """What a learner did on a log: the rounds it agreed with.

    `rows` are the log's rows that were accepted, with the `rewards`, `arms` and `explored` of its rounds.
    `rounds` is how many were fixed in advance; `complete` says whether the log was long enough for them: a
    mean over fewer is biased. `first` and `last` are rounds of the log: the time that this speaks of.
    `bandit` is the learner at the end. `parts` are means over disjoint parts of the log, if asked for.

    `policy` is the learner as it stands at the end, `reach` how far the log could take it.
    """

    policy: str
    reach: Reach
    rounds: int
    rows: Integers
    rewards: Floats
    arms: Integers
    explored: Bools
    first: int
    last: int
    bandit: Bandit
    parts: Floats

    @property
    def accepted(self) -> int:
        """How many rounds it played."""
        return int(self.rewards.size)

    @property
    def complete(self) -> bool:
        """Did it play as many rounds as were fixed in advance?"""
        return self.accepted == self.rounds

    @property
    def mean(self) -> float:
        """The mean reward of its rounds; over all parts, if there are several."""
        return float(self.parts.mean()) if self.parts.size else math.nan

    @property
    def curve(self) -> Floats:
        """The mean reward up to each round."""
        found: Floats = np.cumsum(self.rewards) / np.arange(1, self.accepted + 1)
        return found

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """An interval of the mean from its parts, of which there must be two or more that were complete."""
        if self.parts.size < 2:
            raise InvalidSetting("one run is one draw of a learner's course: say replay(..., parts=10)")
        from scipy import stats

        level = real("confidence", confidence, above=0, most=1)
        spread = float(self.parts.std(ddof=1)) / math.sqrt(self.parts.size)
        half = float(stats.t.ppf(0.5 + level / 2.0, self.parts.size - 1)) * spread
        return self.mean - half, self.mean + half

    def __repr__(self) -> str:
        state = "" if self.complete else f" of {self.rounds:,} that were asked for: the log has ended"
        return (
            f"<Replay of {self.policy}: mean reward {self.mean:.6g} over {self.accepted:,} rounds{state}, "
            f"from rounds {self.first:,} to {self.last:,} of the log>"
        )


def reach(log: Log) -> Reach:
    """How far a log reaches for a learner, before anything is replayed.

    >>> from infex.logs import Log
    >>> reach(Log(arm=[0, 1] * 50, reward=[0.0] * 100, propensity=[0.5] * 100)).rounds
    50
    """
    events = drawn_events(log.without_held_out())
    return Reach(events=int(events.rows.size), acceptance_rate=events.acceptance_rate)


def replay(
    log: Log,
    policy: Policy,
    rounds: int | None = None,
    *,
    parts: int = 1,
    seed: int = 0,
    penalty: float = 1.0,
    estimator: Estimator | None = None,
    features: FeatureMap | None = None,
) -> ReplayedRun:
    """What a policy that learns would have got: it goes through drawn rounds, and plays those it agrees with.

    Where it would have played another arm the round is left out, and nothing changes: its schedule counts
    the rounds that it plays. That is unbiased (Li et al. 2011) for a number of `rounds` that is fixed in
    advance; None takes one that the log will hardly fall short of, and more than the log can be expected to
    give is refused at once. Rounds that were not drawn uniformly are accepted with a chance of their own,
    so that all weigh the same (Dudik et al. 2012); without known propensities, or where some arm had none, it
    is refused. `parts` cuts the log into so many, each with a learner of its own, for an interval.
    `seed`, `penalty`, `estimator` and `features` are those of the learner.

    >>> import numpy as np
    >>> from infex import Infex, LinUCB, evaluation, every
    >>> rng = np.random.default_rng(0)
    >>> arm, offers = rng.integers(2, size=400), rng.random((400, 2, 2)) / 2
    >>> reward, half = offers[range(400), arm, 0], np.full(400, 0.5)
    >>> log = evaluation.Log(arm=arm, reward=reward, propensity=half, offers=offers)
    >>> found = evaluation.replay(log, Infex(LinUCB(), every(20)), rounds=150)
    >>> found.accepted, int(found.explored.sum()), bool(found.mean > log.reward.mean())
    (150, 7, True)
    """
    log = log.without_held_out() if features is None else replace(log.without_held_out(), features=features)
    events = drawn_events(log)
    count = whole("parts", parts, least=1)
    whole_log = Reach(events=events.rows.size, acceptance_rate=events.acceptance_rate)
    share = Reach(events=events.rows.size // count, acceptance_rate=events.acceptance_rate)
    wanted = share.safe_rounds if rounds is None else whole("rounds", rounds, least=1)
    if wanted > share.rounds:
        each = "" if count == 1 else f", each of {count} parts {share.events:,}"
        raise OutOfReach(f"{whole_log.text}{each}; rounds={wanted:,} are beyond that")
    cut = np.array_split(np.arange(events.rows.size), count)
    settings = {"penalty": penalty, "estimator": estimator, "features": None}
    runs = [
        _run(log, policy, _some(events, places), wanted, seed + number, settings)
        for number, places in enumerate(cut)
    ]
    return _joined(policy, whole_log, wanted, log, runs)


def _some(events: DrawnEvents, places: Integers) -> DrawnEvents:
    return events._replace(rows=events.rows[places], propensity=events.propensity[places])


def _run(
    log: Log, policy: Policy, events: DrawnEvents, rounds: int, seed: int, settings: dict[str, Any]
) -> tuple[Bandit, AcceptedRows]:
    """One learner on some events: copies of what was given."""
    own, estimator = own_copies(policy=policy, estimator=settings["estimator"])
    bandit = new_bandit(log, own, seed=seed, **settings | {"estimator": estimator})
    usable = np.ones(events.rows.size, dtype=bool)
    if (events.propensity > events.acceptance_rate).any():
        drawn = stream(seed, "replayed").random(events.rows.size)
        usable = drawn * events.propensity < events.acceptance_rate
    return bandit, _accept(bandit, log, events.rows[usable], rounds)


class AcceptedRows(NamedTuple):
    """The rows of a log that a bandit agreed with, and which of its rounds explored."""

    rows: Integers
    explored: Bools


def _accept(bandit: Bandit, log: Log, rows: Integers, rounds: int) -> AcceptedRows:
    """Goes through rows of a log until so many rounds were played, or the rows end.

    In each the bandit decides; if it plays the arm that was played, it is told the reward. Else nothing
    changes, so that among fixed arms one decision stands until a row agrees.
    """
    accepted: list[int] = []
    explored: list[bool] = []
    decided = None
    for row in rows.tolist():
        if len(accepted) == rounds:
            break
        request, arm = _request(log, row)
        if request or decided is None:
            decided = bandit.decide(**request)
        if arm == decided.decision.arm:
            bandit.tell(bandit.enter(decided), float(log.reward[row]))
            accepted.append(row)
            explored.append(decided.decision.explored)
            decided = None
    return AcceptedRows(np.array(accepted, dtype=np.int64), np.array(explored, dtype=bool))


def _request(log: Log, row: int) -> tuple[dict[str, Any], int]:
    """What a bandit is asked in a row of a log, nothing if arms are fixed; and which of them was played."""
    arm = int(log.arm[row])
    if log.context is not None and log.offers is None and log.arms is None:
        return {"context": Encoded(log.context[row]) if log.facts.encoded else log.context[row]}, arm
    if log.offers is None and log.offered is None:
        return {}, arm
    arms = log.arms if log.offers is None else log.offers[row]
    assert arms is not None
    if log.offered is None:
        return {"arms": arms}, arm
    on = log.offered[row]
    return {"arms": arms[on]}, int(np.count_nonzero(on[:arm]))


def _joined(
    policy: Policy, found: Reach, rounds: int, log: Log, runs: list[tuple[Bandit, AcceptedRows]]
) -> ReplayedRun:
    """The first learner's course, and the means of all whose parts were long enough."""
    bandit, steps = runs[0]
    if not steps.rows.size:
        raise NoSupport(f"{label_of(policy)} never agreed with a drawn round of this log")
    means = [log.reward[each.rows].mean() for _, each in runs if each.rows.size == rounds]
    return ReplayedRun(
        policy=label_of(policy),
        reach=found,
        rounds=rounds,
        rows=steps.rows,
        rewards=log.reward[steps.rows],
        arms=log.arm[steps.rows],
        explored=steps.explored,
        first=int(log.round[steps.rows[0]]),
        last=int(log.round[steps.rows[-1]]),
        bandit=bandit,
        parts=np.array(means or [log.reward[steps.rows].mean()]),
    )
