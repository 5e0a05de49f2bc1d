"""Replay: a policy that learns goes through drawn rounds of a log, and plays those on which it agrees."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np

from infex.arrays import Bools, Floats, Integers
from infex.bandit import Bandit
from infex.checks import real, whole
from infex.errors import InvalidSetting, NoSupport, OutOfReach
from infex.evaluation.learn import new_bandit
from infex.features import Encoded, FeatureMap
from infex.lab.simulation.copies import own_copies
from infex.logs import Log
from infex.models.base import Estimator
from infex.policies.base import Policy
from infex.registry import label_of
from infex.streams import stream

DEVIATIONS_BELOW = 2.0  # by how many standard deviations `safe_rounds` are fewer than expected


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How far a log reaches for a learner: drawn `events`, each accepted at the `acceptance_rate`.

    `rounds` are those to expect: events times the `acceptance_rate`. `text` says so in words.
    """

    events: int
    acceptance_rate: float

    @property
    def rounds(self) -> int:
        """The expected number of rounds of a learner."""
        return int(self.events * self.acceptance_rate)

    @property
    def safe_rounds(self) -> int:
        """The number of rounds that the log is long enough for in 98 of 100 cases."""
        expected = self.events * self.acceptance_rate
        spread = math.sqrt(expected * (1.0 - self.acceptance_rate))
        return max(int(expected - DEVIATIONS_BELOW * spread), 1)

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
    """What a learner did on a log: the rounds on which it agreed.

    `rows` are the log's rows that were accepted, with the `rewards`, `arms` and `explored` of its rounds.
    `rounds` is how many were fixed in advance; `complete` says whether the log was long enough for them: a
    mean over fewer is biased. `first` and `last` are rounds of the log, between which it played.
    `bandit` is the learner at the end. `parts` are means over disjoint parts of the log, if asked for.

    `policy` is the label of the policy, `reach` how far the log reaches for a learner.
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


@final
class DrawnRounds(NamedTuple):
    """Rows of drawn rounds with a reward, the propensity of each arm, and the smallest that any arm had.

    If rows were left out of the log, all propensities are times `kept`: those of a row that plays the arm and
    is in the log. `events` are the rounds that the rows stand for.
    """

    rows: Integers
    propensity: Floats
    least: float
    events: float

    def reach(self, parts: int = 1) -> Reach:
        """How far one of so many parts of the log reaches for a learner."""
        rate = self.least * (self.events / self.rows.size)  # of the rows that are left
        return Reach(events=self.rows.size // parts, acceptance_rate=rate)


def drawn_rounds(log: Log) -> DrawnRounds:
    """The exploring rounds of a log that explores by a schedule, otherwise all whose propensity is known."""
    explore = log.explore_probability
    varies = explore is not None and not np.isnan(explore).all() and not (explore == 1.0).all()
    scheduled = log.explored is not None and varies
    propensity = log.base_propensity if scheduled or log.propensity is None else log.propensity
    if propensity is None:
        propensity = np.full(len(log), np.nan)
    known = log.rewarded & ~np.isnan(propensity)
    if scheduled and log.explored is not None:
        known &= log.explored
    rows = np.flatnonzero(known)
    if not rows.size:
        raise NoSupport(
            "no round of this log was drawn with a known propensity: a learner has nothing to agree with"
        )
    least = _smallest_propensity(log, rows, propensity[rows])
    if least == 1.0 and log.count > 1:
        raise NoSupport(
            f"in {rows.size:,} of {rows.size:,} drawn rounds the log could play one arm only; a learner that "
            "plays another can learn nothing from it. evaluation.simulate can try it under the model"
        )
    if log.kept is None:
        return DrawnRounds(rows, propensity[rows], least, rows.size)
    kept = log.kept[rows]
    return DrawnRounds(rows, propensity[rows] * kept, least * float(kept.min()), float((1.0 / kept).sum()))


def _smallest_propensity(log: Log, rows: Integers, propensity: Floats) -> float:
    """The smallest propensity of an arm on offer in these rounds; refused if it is 0."""
    if log.base_propensities is None:
        return float(propensity.min())
    propensities = log.base_propensities[rows]
    on = np.ones(propensities.shape, dtype=bool) if log.offered is None else log.offered[rows]
    known = np.asarray(~np.isnan(propensities).any(axis=1))
    lacking = known & ((propensities <= 0.0) & on).any(axis=1)
    if lacking.any():
        rounds = ", ".join(str(t) for t in log.round[rows[lacking]][:3])
        raise NoSupport(
            f"in {int(lacking.sum()):,} of {rows.size:,} drawn rounds the log could not play every arm "
            f"(rounds {rounds}, ...): a learner that plays the others could never agree. A base of full "
            "support, such as Softened(LinUCB()), leaves logs that can be replayed"
        )
    return float(min(propensity.min(), propensities[on & known[:, None]].min(initial=1.0)))


def reach(log: Log) -> Reach:
    """How far a log reaches for a learner, before anything is replayed.

    >>> from infex.logs import Log
    >>> reach(Log(arm=[0, 1] * 50, reward=[0.0] * 100, propensity=[0.5] * 100)).rounds
    50
    """
    return drawn_rounds(log.of_policy()).reach()


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
    """What a policy that learns would have earned: it plays the drawn rounds on which it agrees.

    If it would have played another arm the round is left out, and nothing changes: its schedule counts the
    rounds that it plays. That is unbiased (Li et al. 2011) for a number of `rounds` that is fixed in advance;
    None takes one that the log will hardly fall short of, and more than the log can be expected to give is
    refused at once. Rounds that were not drawn uniformly are accepted with a probability of their own, so
    that all weigh the same (Dudik et al. 2012); so are rows of a log of which others were left out (`kept`).
    Without known propensities, or if some arm had propensity 0, it is refused. `parts` cuts the log into so
    many, each with a learner of its own, for an interval. `seed`, `penalty`, `estimator` and `features` are
    those of the learner.

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
    log = log.of_policy() if features is None else replace(log.of_policy(), features=features)
    drawn = drawn_rounds(log)
    count = whole("parts", parts, least=1)
    whole_log, share = drawn.reach(), drawn.reach(count)
    wanted = share.safe_rounds if rounds is None else whole("rounds", rounds, least=1)
    if wanted > share.rounds:
        each = "" if count == 1 else f", each of {count} parts {share.events:,}"
        raise OutOfReach(f"{whole_log.text}{each}; rounds={wanted:,} are beyond that")
    runs = []
    for number, places in enumerate(np.array_split(np.arange(drawn.rows.size), count)):
        own, own_estimator = own_copies(policy=policy, estimator=estimator)
        bandit = new_bandit(log, own, seed=seed + number, penalty=penalty, estimator=own_estimator)
        runs.append((bandit, *_accepted(bandit, log, _usable_rows(drawn, places, seed + number), wanted)))
    bandit, rows, explored = runs[0]
    if not rows.size:
        raise NoSupport(f"{label_of(policy)} never agreed with a drawn round of this log")
    means = [log.reward[each].mean() for _, each, _ in runs if each.size == wanted]
    return ReplayedRun(
        policy=label_of(policy),
        reach=whole_log,
        rounds=wanted,
        rows=rows,
        rewards=log.reward[rows],
        arms=log.arm[rows],
        explored=explored,
        first=int(log.round[rows[0]]),
        last=int(log.round[rows[-1]]),
        bandit=bandit,
        parts=np.array(means or [log.reward[rows].mean()]),
    )


def _usable_rows(drawn: DrawnRounds, places: Integers, seed: int) -> Integers:
    """Rows that are accepted so that all arms, and all rounds, are equally likely."""
    rows, propensity = drawn.rows[places], drawn.propensity[places]
    if not (propensity > drawn.least).any():
        return rows
    uniform = stream(seed, "replayed").random(rows.size)
    return rows[uniform * propensity < drawn.least]


def _accepted(bandit: Bandit, log: Log, rows: Integers, rounds: int) -> tuple[Integers, Bools]:
    """The rows on which a bandit agreed, up to `rounds` of them, and which of its rounds explored.

    In each row the bandit decides; if it plays the arm that was played, it is told the reward. Otherwise
    nothing changes, so that among fixed arms one decision stands until a row agrees.
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
    return np.array(accepted, dtype=np.int64), np.array(explored, dtype=bool)


def _request(log: Log, row: int) -> tuple[dict[str, Any], int]:
    """The arguments of `ask` in a row of a log, none if arms are fixed; and the index of the arm played."""
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
