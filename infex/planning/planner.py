"""`infex.plan`: the schedule that explores as rarely as it may without losing much."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import ArrayLike

from infex.errors import InvalidSetting, LargeReward
from infex.planning.answer import Finish, Plan
from infex.planning.beliefs import Belief, belief
from infex.planning.candidates import Candidate, candidates, greedy, plain_linucb
from infex.planning.question import Question, planned_horizon
from infex.planning.race import FIRST_HEAT, LAST_HEAT, Lane, Race, is_settled, line_up, near, rarer
from infex.simulation.batch import compile_loop

RACING_SHARE = 0.9  # of the time; the rest is for LinUCB and greedy, which the choice is compared with
GLANCE_ROUNDS = 20_000  # enough to tell how long a whole run would take
Progress = Callable[[str, float], None]  # what goes on, and the share of time spent


def plan(
    arms: ArrayLike | None = None,
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
    is settled or the time is over. `workers` are threads; `progress` hears how far the race is; `seed`
    is that of the problems.

    >>> answer = plan(dim=2, arms_count=5, horizon=200, seconds=0.5, max_share=0.1)
    >>> answer.explorations <= 20
    True
    """
    planned_horizon(horizon)  # before arms are looked at, which may take long
    known = belief(arms, labels, dim, arms_count, noise, bound, logged)
    question = Question(
        dim=known.dim,
        arms_count=known.count,
        horizon=horizon,
        noise=known.noise,
        bound=bound,
        logged=0 if logged is None else len(logged[1]),
        max_share=max_share,
        max_count=max_count,
        max_cost=max_cost,
        keep_within=keep_within,
        seconds=seconds,
        seed=seed,
    )
    return Plan.of(question, _raced(question, known, workers, progress))


def _raced(question: Question, known: Belief, workers: int | None, progress: Progress | None) -> Finish:
    """How the race among all candidates ends."""
    allowed, horizon = question.limits(), question.horizon
    lanes = line_up(candidates(horizon, known.noise, known.bound, allowed))
    compile_loop()
    seconds = RACING_SHARE * question.seconds
    race = Race(known, horizon, question.seed, workers, allowed, question.slack, seconds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LargeReward)  # belief() has warned of a log that does not fit
        alive = _heats(race, lanes, progress)
        best, chosen = choice(race, alive)
        linucb, never = (
            _reference(race, candidate, chosen, question.seconds)
            for candidate in (plain_linucb(horizon, known.noise, known.bound), greedy())
        )
    return Finish(race, lanes, alive, best, chosen, linucb, never)


def _heats(race: Race, lanes: list[Lane], progress: Progress | None) -> list[Lane]:
    """The lanes left when the choice is settled and none that explores less is in doubt, or time is up."""
    alive, problems = lanes, FIRST_HEAT
    while True:

        def report(count: int, problems: int = problems) -> None:
            if progress is not None:
                words = f"{count} of {len(lanes)} candidates, {problems} problems"
                progress(words, min(1.0, 1.0 - race.left() / race.seconds))

        alive, complete = race.heat(alive, problems, report)
        if not complete:
            if problems > FIRST_HEAT:
                _cut(alive, problems // 2)
            return alive
        chosen = choice(race, alive)[1]
        if (is_settled(chosen, alive, race.slack) and not rarer(chosen, alive)) or problems >= LAST_HEAT:
            return alive
        problems *= 2


def _cut(lanes: list[Lane], problems: int) -> None:
    """Keeps the problems that all lanes met, so that their means are of the same ones."""
    for lane in lanes:
        lane.take(lane.regret[:problems], lane.cost[:problems])


def choice(race: Race, lanes: list[Lane]) -> tuple[Lane, Lane]:
    """The best lane, and the one with the fewest explorations among those shown to be near it.

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
    """A policy to compare with, on as many problems as the rest of the time allows; perhaps on none."""
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
