"""`infex.plan`: the schedule that explores as rarely as it may without losing much."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from infex.checks import real, whole
from infex.errors import InvalidSetting, LargeReward
from infex.planning.beliefs import Belief, belief
from infex.planning.candidates import Candidate, candidates, greedy, limits, plain_linucb
from infex.planning.costs import Cost, against, cost
from infex.planning.race import (
    FIRST_HEAT,
    LAST_HEAT,
    PROBLEMS_TO_SHOW,
    Lane,
    Race,
    is_settled,
    line_up,
    near,
    rarer,
    student,
)
from infex.planning.words import assumed, code_of, divided, reasons, rounds_of
from infex.simulation.batch import compile_loop

LONGEST_HORIZON = 10**9
RACING_SHARE = 0.9  # of the time; the rest is for LinUCB and greedy, which the choice is compared with

GLANCE_ROUNDS = 20_000  # rounds that tell how long a run takes

Progress = Callable[[str, float], None]  # what goes on, and the share of time spent


class Tried(NamedTuple):
    """One candidate after the race: its explorations, and its regret over the problems it met.

    Its runs have `rounds` rounds: those that were clearly worse before the end have lost at least that.
    The interval is of 95 %, for the mean. `cost` is the part of the regret in exploring rounds. `alive`
    says that it was not given up: its problems are all that were played.
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


@final
@dataclass(frozen=True, slots=True, repr=False)
class Plan:
    """What to do, why, and what it costs.

    `recommended` is the policy in the words of the catalogue, `policy` itself, and `code` a line of
    Python to paste, for arms divided by `longest`. `settled` says whether no other candidate can still
    be better by more than `keep_within`. `regret` has the regret over `rounds` rounds of what is
    "recommended", of the `best` candidate, of "LinUCB" in every round and of "greedy"; `against` by how
    much the recommended one's differs from the others'; LinUCB is left out where it takes too long.
    `open` is how many that explore less may still be as near. `arms`, if they are yours, says how often
    each was the best. `question` is what was asked for.
    """

    recommended: str
    policy: Any
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
    question: dict[str, Any]

    def __repr__(self) -> str:
        state = "settled" if self.settled else "not settled"
        return f"<Plan: {self.recommended}, {self.explorations} of {self.horizon} rounds explore, {state}>"

    @property
    def front(self) -> tuple[Tried, ...]:
        """The candidates that none beats both in regret and in explorations, fewest explorations first.

        Of those given up, on fewer problems, what seems better than the best does not count.
        """
        lowest = next(each.mean for each in self.candidates if each.expression == self.best)
        limit = self.question["max_cost"]
        played = [
            each
            for each in self.candidates
            if each.rounds == self.rounds
            and (each.alive or (each.problems >= PROBLEMS_TO_SHOW and each.mean > lowest))
            and (limit is None or each.cost <= limit)
        ]
        found: list[Tried] = []
        for each in sorted(played, key=lambda tried: (tried.explorations, tried.mean)):
            if not found or each.mean < found[-1].mean:
                found.append(each)
        return tuple(found)

    @property
    def assumed(self) -> str:
        """What problems were simulated."""
        return assumed(self)

    @property
    def divided(self) -> str:
        """What is to be done with arms of one's own before the line is pasted; nothing if they were short."""
        return divided(self) if self.longest != 1.0 else ""

    def chosen(self) -> Tried:
        """The figures of what is recommended."""
        return next(each for each in self.candidates if each.expression == self.recommended)


def plan(
    arms: Any = None,
    *,
    labels: Sequence[str] | None = None,
    dim: int | None = None,
    arms_count: int | None = None,
    horizon: int,
    noise: float = 1.0,
    bound: float = 1.0,
    logged: tuple[Any, Any] | None = None,
    max_share: float | None = None,
    max_count: int | None = None,
    max_cost: float | None = None,
    keep_within: float = 1.1,
    seconds: float = 30.0,
    workers: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Plan:
    """The schedule that explores least among those within `keep_within` of the best, by simulation.

    Give your `arms`, (K, d), or a `dim` and an `arms_count` to draw arms as in the paper; the
    `horizon`; the `noise` of rewards; the `bound` on the length of the parameter, or `logged`
    rewards (indices or labels of arms, rewards) to draw the parameter from their posterior. Limits:
    `max_share` or `max_count` of exploring rounds, and `max_cost`, the greatest mean loss of them
    all. Schedules of several families, with LinUCB and LinTS, both data modes and several scales of
    the radius, race on the same problems; what is clearly worse drops out, until the choice
    is settled or the time is over.

    >>> found = plan(dim=2, arms_count=5, horizon=200, seconds=0.5, max_share=0.1)
    >>> found.explorations <= 20
    True
    """
    rounds = whole("horizon", horizon, least=2)
    if rounds > LONGEST_HORIZON:
        raise InvalidSetting(f"horizon must be at most {LONGEST_HORIZON} to be simulated, got {rounds}")
    slack = real("keep_within", keep_within, least=1) - 1.0
    known = belief(arms, labels, dim, arms_count, noise, bound, logged)
    allowed = limits(rounds, max_share, max_count, max_cost)
    grid = candidates(rounds, known.noise, known.bound, allowed)
    limit, start = real("seconds", seconds, above=0), whole("seed", seed)
    question = {
        "dim": known.dim,
        "arms_count": known.count,
        "horizon": rounds,
        "noise": known.noise,
        "bound": bound,
        "logged": 0 if logged is None else len(logged[1]),
        "max_share": max_share,
        "max_count": max_count,
        "max_cost": max_cost,
        "keep_within": keep_within,
        "seconds": limit,
        "seed": start,
    }
    compile_loop()
    race = Race(known, rounds, start, workers, allowed, slack, RACING_SHARE * limit)
    lanes = line_up(grid)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LargeReward)  # of every candidate; a log that does not fit was told
        alive = _heats(race, lanes, progress)
        best, chosen = choice(race, alive)
        references = [
            _reference(race, each, chosen, limit)
            for each in (plain_linucb(rounds, known.noise, known.bound), greedy())
        ]
    return _plan(race, lanes, alive, best, chosen, references, question)


def _heats(race: Race, lanes: list[Lane], progress: Progress | None) -> list[Lane]:
    """The lanes left when the choice is settled and none that explores less is in doubt, or time is up."""
    alive, problems = lanes, FIRST_HEAT
    while True:

        def told(count: int, problems: int = problems) -> None:
            if progress is not None:
                words = f"{count} of {len(lanes)} candidates, {problems} problems"
                progress(words, min(1.0, 1.0 - race.left() / race.seconds))

        alive, complete = race.heat(alive, problems, told)
        if not complete:
            if problems > FIRST_HEAT:
                _cut(alive, problems // 2)
            return alive
        chosen = choice(race, alive)[1]
        if (is_settled(chosen, alive, race.slack) and not rarer(chosen, alive)) or problems >= LAST_HEAT:
            return alive
        problems *= 2


def _cut(lanes: list[Lane], problems: int) -> None:
    """The problems that all lanes met, so that their means are of the same ones."""
    for lane in lanes:
        lane.take(lane.regret[:problems], lane.cost[:problems])


def choice(race: Race, lanes: list[Lane]) -> tuple[Lane, Lane]:
    """The best lane, and that with the fewest explorations among those shown to be near it.

    Where none was played to the end, those that went farthest count.
    """
    allowed = [lane for lane in lanes if lane.rounds and race.is_allowed(lane)]
    farthest = max((lane.rounds for lane in allowed), default=0)
    fit = [lane for lane in allowed if lane.rounds == farthest]
    if not fit:
        raise InvalidSetting(
            f"exploring costs more than max_cost = {race.allowed.cost:g} with every schedule that was tried; "
            "a max_count lets it try rarer ones, and a schedule guarded(..., cost_limit=...) keeps any limit"
        )
    best = min(fit, key=lambda lane: lane.careful())
    chosen = min(near(fit, best, race.slack), key=lambda lane: (lane.candidate.explorations, lane.mean))
    return (chosen if chosen.mean <= best.mean else best), chosen


def _reference(race: Race, candidate: Candidate, chosen: Lane, seconds: float) -> Lane:
    """A policy to compare with, on as many problems as the rest of the time allows, which may be none."""
    lane = Lane(candidate)
    begun = time.monotonic()
    race.run(lane, 1, min(chosen.rounds, GLANCE_ROUNDS))
    if lane.seconds * chosen.rounds / lane.rounds > max(0.2 * seconds, 2.0):
        return Lane(candidate)
    while lane.rounds < chosen.rounds or lane.regret.size < chosen.regret.size:
        spent = time.monotonic() - begun
        if lane.rounds == chosen.rounds and spent * 2 > (1.0 - RACING_SHARE) / 2 * seconds:
            break
        problems = min(2 * max(lane.regret.size, 1), chosen.regret.size)
        race.run(lane, problems, chosen.rounds, race.workers)
    return lane


def _plan(
    race: Race,
    lanes: list[Lane],
    alive: list[Lane],
    best: Lane,
    chosen: Lane,
    references: list[Lane],
    question: dict[str, Any],
) -> Plan:
    settled = all(lane.rounds == race.horizon for lane in alive) and is_settled(chosen, alive, race.slack)
    policy = chosen.candidate.policy
    compared = zip(("recommended", "best", "LinUCB", "greedy"), (chosen, best, *references), strict=True)
    lanes_of = {name: lane for name, lane in compared if lane.regret.size}
    tried = [_tried(lane, lane in alive, best) for lane in lanes if lane.rounds]
    return Plan(
        recommended=chosen.candidate.expression,
        policy=policy,
        code=code_of(policy),
        best=best.candidate.expression,
        settled=settled,
        explorations=chosen.candidate.explorations,
        horizon=race.horizon,
        rounds=chosen.rounds,
        keep_within=question["keep_within"],
        longest=race.belief.longest,
        candidates=tuple(sorted(tried, key=lambda each: (-each.rounds, each.mean))),
        open=rarer(chosen, alive),
        regret={name: cost(lane.regret) for name, lane in lanes_of.items()},
        against={
            name: against(chosen.regret, lanes_of[name].regret)
            for name in ("best", "LinUCB")
            if name in lanes_of
        },
        arms=_arms(race.belief, race.problems),
        when=rounds_of(policy, race.horizon),
        why=reasons(race, alive, best, chosen, settled),
        question=question,
    )


def _tried(lane: Lane, alive: bool, best: Lane) -> Tried:
    """A lane's figures, scaled by the best's where it met fewer problems, which may be easier or harder."""
    n = lane.regret.size
    scale = 1.0
    if lane.rounds == best.rounds and 0 < n < best.regret.size:
        there = float(best.regret[:n].mean())
        scale = best.mean / there if there > 0.0 else 1.0
    mean, reach = scale * lane.mean, scale * student(0.975, n - 1) * lane.error() if n > 1 else math.inf
    return Tried(
        lane.candidate.expression,
        lane.candidate.explorations,
        int(n),
        lane.rounds,
        mean,
        max(mean - reach, 0.0),
        mean + reach,
        float(lane.cost.mean()),
        alive,
    )


def _arms(known: Belief, problems: list[Any]) -> tuple[Arm, ...]:
    """How often each arm was the best of the problems, most often first; nothing for arms that were drawn."""
    if known.arms is None:
        return ()
    wins = np.bincount([int(np.argmax(each.means)) for each in problems], minlength=known.count)
    names = known.labels or [str(place) for place in range(known.count)]
    found = [Arm(name, float(share)) for name, share in zip(names, wins / len(problems), strict=True)]
    return tuple(sorted(found, key=lambda arm: -arm.best))
