"""`Plan`: what to do, why, and what it costs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, final

import numpy as np

from infex.arrays import Integers
from infex.environments import ContextualInstance, LinearInstance
from infex.planning.beliefs import PlannedProblem
from infex.planning.costs import Cost, against, cost
from infex.planning.finish import Finish, Judged, MenuEntry
from infex.planning.lanes import PROBLEMS_TO_SETTLE, Lane
from infex.planning.pools import Pool
from infex.planning.question import Question
from infex.planning.reasons import reasons
from infex.planning.words import assumed, code_of, divided, rounds_of
from infex.policies import Policy


class Tried(NamedTuple):
    """One candidate in the race: its explorations, and its mean regret over the problems it met there.

    By these figures some were chosen among hundreds, so that those look better than they are: do not quote
    them, but the menu's. Runs have `rounds` rounds: a candidate that was clearly worse before the end has
    lost at least that. `cost` is the part of the regret in exploring rounds. `alive` says that it was not
    given up.
    """

    expression: str
    explorations: int
    problems: int
    rounds: int
    mean: float
    cost: float
    alive: bool


class Arm(NamedTuple):
    """One of the arms, and in what share of the simulated problems it was the best."""

    label: str
    best: float


@final
@dataclass(frozen=True, slots=True, repr=False)
class Plan:
    """What to do, why, and what it costs.

    `recommended` is the policy in the words of the catalogue, `policy` itself, and `code` a line of
    Python to paste, for arms divided by `longest`. `menu` has the least regret, the least exploration within
    some factors of it, and the knee; `levels` the candidate that the race puts first for each number of
    exploring rounds. `regret` has the regret over `rounds` rounds of what is "recommended", of the `best`
    candidate, of "LinUCB" in every round and of "greedy"; `against` by how much the regret of the recommended
    one exceeds that of the best and of LinUCB. LinUCB is left out where it takes too long, and a level that
    met fewer than 64 problems. All these figures are of fresh problems; those of the menu are of the same
    ones, which chose nothing but which entry is the least regret. `candidates` has the figures of the race.
    `settled` says whether it is shown that no other candidate is better by more than
    `keep_within`, `open` how many explore less and may still be as near. `arms`, if they are yours, says how
    often each was the best. `question` is what was asked for.
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
    menu: tuple[MenuEntry, ...]
    levels: tuple[Judged, ...]
    candidates: tuple[Tried, ...]
    regret: dict[str, Cost]
    against: dict[str, Cost]
    arms: tuple[Arm, ...]
    when: str
    why: str
    question: Question

    @staticmethod
    def of(question: Question, finish: Finish) -> Plan:
        """The plan that a race and its judgement come to."""
        race, chosen = finish.race, finish.chosen
        policy, compared = chosen.candidate.policy, finish.compared()
        return Plan(
            recommended=chosen.candidate.expression,
            policy=policy,
            code=code_of(policy),
            best=finish.best.candidate.expression,
            settled=finish.is_settled,
            open=finish.open,
            explorations=chosen.candidate.explorations,
            horizon=race.horizon,
            rounds=chosen.rounds,
            keep_within=question.keep_within,
            longest=race.pool.belief.longest,
            menu=finish.menu(),
            levels=_levels(finish),
            candidates=_all_tried(finish),
            regret={name: cost(lane.regret) for name, lane in compared.items()},
            against=_against_others(compared),
            arms=_best_arms(finish.sitting.judge.pool),
            when=rounds_of(policy, race.horizon),
            why=reasons(finish),
            question=question,
        )

    def __repr__(self) -> str:
        state = "settled" if self.settled else "not settled"
        return f"<Plan: {self.recommended}, {self.explorations} of {self.horizon} rounds explore, {state}>"

    @property
    def assumed(self) -> str:
        """What problems were simulated."""
        return assumed(self.question, self.longest)

    @property
    def divided(self) -> str:
        """What to do with your arms before the line of code fits them; nothing if none was longer than 1."""
        return divided(self.longest) if self.longest != 1.0 else ""

    def chosen(self) -> Judged:
        """The figures of what is recommended."""
        return next(entry.judged for entry in self.menu if entry.judged.expression == self.recommended)

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
            "menu": [entry._asdict() | {"holds": entry.holds} for entry in self.menu],
            "levels": self.levels,
            "candidates": self.candidates,
            "arms": self.arms,
            "question": asdict(self.question),
        }


def _against_others(compared: dict[str, Lane]) -> dict[str, Cost]:
    """By how much the recommended lane loses more than the best, and than LinUCB, if they were played."""
    others = [name for name in ("best", "LinUCB") if name in compared]
    return {name: against(compared["recommended"].regret, compared[name].regret) for name in others}


def _levels(finish: Finish) -> tuple[Judged, ...]:
    """The figures of the lanes of each number of explorations that met enough problems, fewest first."""
    judge = finish.sitting.judge
    known = [lane for lane in finish.levels if judge.of(lane).regret.size >= PROBLEMS_TO_SETTLE]
    return tuple(sorted(map(finish.judged, known), key=lambda each: each.explorations))


def _all_tried(finish: Finish) -> tuple[Tried, ...]:
    """The figures of all lanes that played, those that went farthest first, and of them the best first."""
    tried = [_tried(lane, lane in finish.alive) for lane in finish.lanes if lane.rounds]
    return tuple(sorted(tried, key=lambda tried: (-tried.rounds, tried.mean)))


def _tried(lane: Lane, alive: bool) -> Tried:
    counts = lane.candidate.explorations, int(lane.regret.size), lane.rounds
    return Tried(lane.candidate.expression, *counts, lane.mean, float(lane.cost.mean()), alive)


def _best_arms(pool: Pool) -> tuple[Arm, ...]:
    """How often each arm was the best, in problems or in rounds of them, most often first.

    Nothing where arms are drawn for each problem.
    """
    known, problems = pool.belief, pool.drawn
    if known.arms is None and known.offers is None:
        return ()
    problems = problems if known.offers is None else problems[:PROBLEMS_TO_SETTLE]
    wins = np.bincount(np.concatenate([_best_in(problem) for problem in problems]), minlength=known.count)
    names: Iterable[str] = known.labels or [str(place) for place in range(known.count)]
    arms = [Arm(name, float(share)) for name, share in zip(names, wins / wins.sum(), strict=True)]
    return tuple(sorted(arms, key=lambda arm: -arm.best))


def _best_in(problem: PlannedProblem) -> Integers:
    """The best arm of a problem; where arms are other ones in every round, that of each."""
    if isinstance(problem, LinearInstance):
        return np.array([int(np.argmax(problem.means))])
    if isinstance(problem, ContextualInstance):
        assert problem.sets is not None
        found: Integers = np.argmax(problem.sets.rows[:, 0] @ problem.thetas.T, axis=1)
        return found
    best: Integers = np.argmax(problem.sets @ problem.theta, axis=1)
    return best
