"""`Plan`: what to do, why, and what it costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, final

import numpy as np

from infex.environments import LinearInstance
from infex.planning.beliefs import Belief
from infex.planning.costs import Cost, against, cost
from infex.planning.question import Question
from infex.planning.race import PROBLEMS_TO_SHOW, Lane, Race, is_settled, rarer
from infex.planning.words import assumed, code_of, divided, reasons, rounds_of
from infex.policies import Policy
from infex.statistics import Interval, mean_intervals


class Tried(NamedTuple):
    """One candidate after the race: its explorations, and its regret over the problems it met.

    Its runs have `rounds` rounds: a candidate that was clearly worse before the end has lost at least
    that. `low` and `high` are the bounds of an interval of 95 % for the mean, NaN with fewer than 12
    problems. `cost` is the part of the regret in exploring rounds. `alive` says that the candidate was not
    given up: it met all problems that were played.
    """

    expression: str
    explorations: int
    problems: int
    rounds: int
    mean: float
    low: float
    high: float
    cost: float
    alive: bool


class Arm(NamedTuple):
    """One of the arms, and in what share of the simulated problems it was the best."""

    label: str
    best: float


class Finish(NamedTuple):
    """How a race ended: all lanes, those not given up, the best, the chosen one, and two to compare with."""

    race: Race
    lanes: list[Lane]
    alive: list[Lane]
    best: Lane
    chosen: Lane
    linucb: Lane
    greedy: Lane

    @property
    def is_settled(self) -> bool:
        """Did all that are left play to the end, and is none better by more than the slack?"""
        return all(lane.rounds == self.race.horizon for lane in self.alive) and is_settled(
            self.chosen, self.alive, self.race.slack
        )

    def compared(self) -> dict[str, Lane]:
        """The lanes whose costs the plan shows, by name; one that took too long is left out."""
        named = {"recommended": self.chosen, "best": self.best, "LinUCB": self.linucb, "greedy": self.greedy}
        return {name: lane for name, lane in named.items() if lane.regret.size}


@final
@dataclass(frozen=True, slots=True, repr=False)
class Plan:
    """What to do, why, and what it costs.

    `recommended` is the policy in the words of the catalogue, `policy` itself, and `code` a line of
    Python to paste, for arms divided by `longest`. `settled` says whether no other candidate can still
    be better by more than `keep_within`. `regret` has the regret over `rounds` rounds of what is
    "recommended", of the `best` candidate, of "LinUCB" in every round and of "greedy". `against` has by how
    much the regret of the recommended one exceeds that of the best and of LinUCB; LinUCB is left out where
    it takes too long. `open` counts the candidates that explore less and may still be as near. `arms`, if
    they are yours, says how often each was the best. `question` is what was asked for.
    """

    recommended: str
    policy: Policy
    code: str
    best: str
    settled: bool
    open: int
    explorations: int
    horizon: int
    rounds: int
    keep_within: float
    longest: float
    candidates: tuple[Tried, ...]
    regret: dict[str, Cost]
    against: dict[str, Cost]
    arms: tuple[Arm, ...]
    when: str
    why: str
    question: Question

    @staticmethod
    def of(question: Question, finish: Finish) -> Plan:
        """The plan that a race comes to."""
        race, best, chosen = finish.race, finish.best, finish.chosen
        policy, compared = chosen.candidate.policy, finish.compared()
        return Plan(
            recommended=chosen.candidate.expression,
            policy=policy,
            code=code_of(policy),
            best=best.candidate.expression,
            settled=finish.is_settled,
            open=rarer(chosen, finish.alive),
            explorations=chosen.candidate.explorations,
            horizon=race.horizon,
            rounds=chosen.rounds,
            keep_within=question.keep_within,
            longest=race.belief.longest,
            candidates=_all_tried(finish),
            regret={name: cost(lane.regret) for name, lane in compared.items()},
            against={
                name: against(chosen.regret, compared[name].regret)
                for name in ("best", "LinUCB")
                if name in compared
            },
            arms=_best_arms(race.belief, race.problems),
            when=rounds_of(policy, race.horizon),
            why=reasons(race, finish.alive, best, chosen, finish.is_settled),
            question=question,
        )

    def __repr__(self) -> str:
        state = "settled" if self.settled else "not settled"
        return f"<Plan: {self.recommended}, {self.explorations} of {self.horizon} rounds explore, {state}>"

    @property
    def front(self) -> tuple[Tried, ...]:
        """The candidates that none beats both in regret and in explorations, fewest explorations first.

        A candidate that was given up met fewer problems; it does not count if it seems better than the best.
        """
        lowest = next(tried.mean for tried in self.candidates if tried.expression == self.best)
        limit = self.question.max_cost
        played = [
            tried
            for tried in self.candidates
            if tried.rounds == self.rounds
            and (tried.alive or (tried.problems >= PROBLEMS_TO_SHOW and tried.mean > lowest))
            and (limit is None or tried.cost <= limit)
        ]
        front: list[Tried] = []
        for tried in sorted(played, key=lambda tried: (tried.explorations, tried.mean)):
            if not front or tried.mean < front[-1].mean:
                front.append(tried)
        return tuple(front)

    @property
    def assumed(self) -> str:
        """What problems were simulated."""
        return assumed(self.question, self.longest)

    @property
    def divided(self) -> str:
        """What to do with your arms before the line of code fits them; nothing if none was longer than 1."""
        return divided(self.longest) if self.longest != 1.0 else ""

    def chosen(self) -> Tried:
        """The figures of what is recommended."""
        return next(tried for tried in self.candidates if tried.expression == self.recommended)

    def as_data(self) -> dict[str, Any]:
        """The plan as plain data, for JSON."""
        return {
            "recommended": self.recommended,
            "code": self.code,
            "best": self.best,
            "settled": self.settled,
            "open": self.open,
            "explorations": self.explorations,
            "share": self.explorations / self.horizon,
            "horizon": self.horizon,
            "rounds": self.rounds,
            "keep_within": self.keep_within,
            "arms_divided_by": self.longest,
            "when": self.when,
            "why": self.why,
            "regret": self.regret,
            "against": self.against,
            "candidates": self.candidates,
            "front": [tried.expression for tried in self.front],
            "arms": self.arms,
            "question": asdict(self.question),
        }


def _all_tried(finish: Finish) -> tuple[Tried, ...]:
    """The figures of all lanes that played, those that went farthest first, and of them the best first."""
    played = [lane for lane in finish.lanes if lane.rounds]
    alive = {id(lane) for lane in finish.alive}
    intervals = mean_intervals([lane.regret for lane in played])
    tried = [
        _tried(lane, id(lane) in alive, finish.best, interval)
        for lane, interval in zip(played, intervals, strict=True)
    ]
    return tuple(sorted(tried, key=lambda tried: (-tried.rounds, tried.mean)))


def _tried(lane: Lane, alive: bool, best: Lane, interval: Interval) -> Tried:
    """A lane's figures; where it met fewer problems, scaled by how hard these were for the best."""
    n = lane.regret.size
    scale = 1.0
    if lane.rounds == best.rounds and 0 < n < best.regret.size:
        there = float(best.regret[:n].mean())
        scale = best.mean / there if there > 0.0 else 1.0
    return Tried(
        lane.candidate.expression,
        lane.candidate.explorations,
        int(n),
        lane.rounds,
        scale * lane.mean,
        float(np.maximum(scale * interval.low, 0.0)),  # unlike Python's max, it gives nan for nan
        scale * interval.high,
        float(lane.cost.mean()),
        alive,
    )


def _best_arms(known: Belief, problems: Sequence[LinearInstance]) -> tuple[Arm, ...]:
    """How often each arm was the best, most often first; nothing where arms are drawn for each problem."""
    if known.arms is None:
        return ()
    wins = np.bincount([int(np.argmax(problem.means)) for problem in problems], minlength=known.count)
    names: Iterable[str] = known.labels or [str(place) for place in range(known.count)]
    arms = [Arm(name, float(share)) for name, share in zip(names, wins / len(problems), strict=True)]
    return tuple(sorted(arms, key=lambda arm: -arm.best))
