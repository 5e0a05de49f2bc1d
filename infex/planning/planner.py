"""`infex.plan`: the schedule that explores as rarely as it may without losing much."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from infex.checks import real, whole
from infex.errors import InvalidSetting
from infex.planning.beliefs import Belief, belief
from infex.planning.candidates import Candidate, candidates, greedy, limits, plain_linucb
from infex.planning.costs import Cost, against, cost
from infex.planning.race import (
    FIRST,
    MOST,
    Lane,
    Race,
    difference,
    is_rarest,
    is_settled,
    line_up,
    near,
    student,
)
from infex.planning.words import code_of, reasons, rounds_of
from infex.simulation.batch import compile_loop

LONGEST = 10**9
RACING = 0.9  # of the time; the rest is for LinUCB and greedy, which the choice is compared with

Progress = Callable[[str, float], None]  # what goes on, and the share of time spent


class Tried(NamedTuple):
    """One candidate after the race: its explorations, and its regret over the problems it met.

    Its runs have `rounds` rounds: those that were clearly worse before the end have lost at least that.
    The interval is of 95 %, for the mean. `cost` is the part of the regret in exploring rounds.
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
@dataclass(frozen=True, slots=True)
class Plan:
    """What to do, why, and what it costs.

    `recommended` is the policy in the words of the catalogue, `policy` itself, and `code` a line of
    Python to paste. `settled` says whether no other candidate can still be better by more than
    `keep_within`. `regret` has the regret over `rounds` rounds of what is "recommended", of the
    "best" candidate, of "LinUCB" in every round and of "greedy"; `against` by how much the recommended
    one's differs from the others'. `arms`, if they are yours, says how often each was the best.
    """

    recommended: str
    policy: Any
    code: str
    settled: bool
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

    @property
    def front(self) -> tuple[Tried, ...]:
        """The candidates that none beats both in regret and in explorations, fewest explorations first."""
        found: list[Tried] = []
        played = (each for each in self.candidates if each.rounds == self.rounds)
        for each in sorted(played, key=lambda tried: (tried.explorations, tried.mean)):
            if not found or each.mean < found[-1].mean:
                found.append(each)
        return tuple(found)

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
    if rounds > LONGEST:
        raise InvalidSetting(f"horizon must be at most {LONGEST} to be simulated, got {rounds}")
    slack = real("keep_within", keep_within, least=1) - 1.0
    known = belief(arms, labels, dim, arms_count, noise, bound, logged)
    allowed = limits(rounds, max_share, max_count, max_cost)
    grid = candidates(rounds, known.noise, known.bound, allowed)
    limit, start = real("seconds", seconds, above=0), whole("seed", seed)
    compile_loop()
    race = Race(known, rounds, start, workers, allowed, slack, RACING * limit)
    lanes = line_up(grid)
    alive = _heats(race, lanes, slack, progress)
    best, chosen = choice(race, alive, slack)
    settled = all(lane.rounds == rounds for lane in alive) and is_settled(chosen, alive, slack)
    references = [
        _reference(race, each, chosen, limit)
        for each in (plain_linucb(rounds, known.noise, known.bound), greedy())
    ]
    return _plan(race, lanes, alive, best, chosen, references, settled, slack)


def _heats(race: Race, lanes: list[Lane], slack: float, progress: Progress | None) -> list[Lane]:
    """The lanes left when the choice is settled and none that explores less is in doubt, or time is up."""
    alive, problems = lanes, FIRST
    while True:

        def told(count: int, problems: int = problems) -> None:
            if progress is not None:
                words = f"{count} of {len(lanes)} candidates, {problems} problems"
                progress(words, min(1.0, 1.0 - race.left() / race.seconds))

        alive, complete = race.heat(alive, problems, told)
        if not complete:
            if problems > FIRST:
                _cut(alive, problems // 2)
            return alive
        chosen = choice(race, alive, slack)[1]
        if (is_settled(chosen, alive, slack) and is_rarest(chosen, alive)) or problems >= MOST:
            return alive
        problems *= 2


def _cut(lanes: list[Lane], problems: int) -> None:
    """The problems that all lanes met, so that their means are of the same ones."""
    for lane in lanes:
        lane.take(lane.regret[:problems], lane.cost[:problems])


def choice(race: Race, lanes: list[Lane], slack: float) -> tuple[Lane, Lane]:
    """The best lane, and that with the fewest explorations among those shown to be near it.

    Where none was played to the end, those that went farthest count.
    """
    farthest = max(lane.rounds for lane in lanes) if lanes else 0
    fit = [lane for lane in lanes if lane.rounds == farthest and race.is_allowed(lane)]
    if not fit:
        raise InvalidSetting(
            f"exploring costs more than max_cost = {race.allowed.cost:g} with every schedule that was tried; "
            "more rounds of the horizon, or a schedule guarded(..., cost_limit=...), may keep it"
        )
    best = min(fit, key=lambda lane: lane.careful())
    return best, min(near(fit, best, slack), key=lambda lane: (lane.candidate.explorations, lane.mean))


def _reference(race: Race, candidate: Candidate, chosen: Lane, seconds: float) -> Lane:
    """A policy to compare with, on as many problems of the choice as the rest of the time allows."""
    lane = Lane(candidate)
    begun = time.monotonic()
    while lane.regret.size < chosen.regret.size:
        spent = time.monotonic() - begun
        if lane.regret.size and spent * 2 > (1.0 - RACING) / 2 * seconds:
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
    settled: bool,
    slack: float,
) -> Plan:
    policy, linucb = chosen.candidate.policy, references[0]
    tried = [_tried(lane, lane in alive, best) for lane in lanes if lane.rounds]
    return Plan(
        recommended=chosen.candidate.expression,
        policy=policy,
        code=code_of(policy),
        settled=settled,
        explorations=chosen.candidate.explorations,
        horizon=race.horizon,
        rounds=chosen.rounds,
        keep_within=1.0 + slack,
        longest=race.belief.longest,
        candidates=tuple(sorted(tried, key=lambda each: (-each.rounds, each.mean))),
        regret={
            name: cost(lane.regret)
            for name, lane in zip(
                ("recommended", "best", "LinUCB", "greedy"), (chosen, best, *references), strict=True
            )
        },
        against={
            "best": against(chosen.regret, best.regret),
            "LinUCB": against(chosen.regret, linucb.regret),
        },
        arms=_arms(race.belief, race.problems),
        when=rounds_of(policy, race.horizon),
        why=reasons(race, alive, best, chosen, settled, slack),
    )


def _tried(lane: Lane, alive: bool, best: Lane) -> Tried:
    """A lane's figures; one of all rounds is brought to all problems of the best by paired differences."""
    mean, error, n = lane.mean, lane.error(), lane.regret.size
    if lane.rounds == best.rounds and lane is not best:
        gap, apart = difference(lane, best)
        mean, error = best.mean + gap, float(np.hypot(apart, best.error()))
    reach = student(0.975, n - 1) * error if n > 1 else float("inf")
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
