"""`infex.plan`: the schedule that explores as rarely as it may without losing much."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import ArrayLike

from infex.arrays import Label
from infex.errors import InvalidSetting, LargeReward
from infex.features import FeatureMap
from infex.logs import Log
from infex.planning.answer import Plan
from infex.planning.beliefs import Belief, belief
from infex.planning.candidates import Candidate, candidates, greedy, plain_linucb
from infex.planning.finish import Finish
from infex.planning.judging import LEVEL_PROBLEMS, Judge, sittings
from infex.planning.lanes import PROBLEMS_TO_SETTLE, Lane, is_beyond, is_within, line_up
from infex.planning.logged_contexts import belief_of_log, with_map
from infex.planning.menu import MENU_FACTORS, least, rarest
from infex.planning.question import Question, planned_horizon
from infex.planning.race import FIRST_HEAT, Race

RACING_SHARE, JUDGING_SHARE = 0.3, 0.92  # of the time, when the race and the last sitting are to end
LEVEL_SHARE, REFERENCE_SHARE = 0.01, 0.03  # of the time that one lane of a level, or LinUCB, may take
GLANCE_ROUNDS = 20_000  # enough to tell how long a whole run would take
Progress = Callable[[str, float], None]  # what goes on, and the share of time spent


def plan(
    arms: ArrayLike | None = None,
    *,
    labels: Sequence[str] | None = None,
    dim: int | None = None,
    arms_count: int | None = None,
    horizon: int,
    noise: float | None = None,
    bound: float = 1.0,
    logged: tuple[Any, Any] | Log | None = None,
    features: FeatureMap | None = None,
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
    `horizon`; the `noise` of rewards (if it is not said: by what the linear model leaves of logged
    rewards, else 1); the `bound` on the length of the parameter, or `logged`
    rewards (indices or labels of arms, rewards) to draw the parameter from their posterior: then every run
    begins with what they have taught, and no exploration at all is tried too. `logged` may be a log, as
    `evaluation.read` gives it, which says what arms look like; where it has contexts, these are drawn from
    those of the log, and `features` is the map, if the log does not say it. Limits:
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
    known = _believed(arms, labels, dim, arms_count, noise, bound, logged, features)
    question = Question(
        dim=known.dim,
        arms_count=known.count,
        horizon=horizon,
        noise=known.noise,
        noise_by=known.noise_by,
        bound=bound,
        logged=rewards_in(logged),
        offers=0 if known.offers is None else len(known.offers),
        max_share=max_share,
        max_count=max_count,
        max_cost=max_cost,
        keep_within=keep_within,
        seconds=seconds,
        seed=seed,
    )
    return Plan.of(question, _raced(question, known, workers, progress))


def _believed(
    arms: ArrayLike | None,
    labels: Sequence[str] | None,
    dim: int | None,
    arms_count: int | None,
    noise: float | None,
    bound: float,
    logged: tuple[Any, Any] | Log | None,
    features: FeatureMap | None,
) -> Belief:
    """What is believed of the problem, by arms and rewards or by a whole log."""
    if not isinstance(logged, Log):
        if features is not None:
            raise InvalidSetting("features need logged=, a log whose contexts they are for")
        return belief(arms, labels, dim, arms_count, noise, bound, logged)
    log = with_map(logged, features)
    if log.arms is not None and log.offers is None and log.offered is None:
        names = log.labels if labels is None else tuple(labels)
        return belief(log.arms, names, dim, arms_count, noise, bound, _rewards_by_arm(log, names))
    if arms is not None or labels is not None or dim is not None or arms_count is not None:
        raise InvalidSetting("this log says what its arms look like: leave out arms, dim and arms_count")
    return belief_of_log(log, noise, bound)


def _rewards_by_arm(log: Log, names: Sequence[Label] | None) -> tuple[Any, Any]:
    """The arms that have a reward in a log, by name if they have names, and these rewards."""
    arms, rewards = log.arm[log.rewarded], log.reward[log.rewarded]
    return (arms if names is None else [names[arm] for arm in arms.tolist()]), rewards


def rewards_in(logged: tuple[Any, Any] | Log | None) -> int:
    """How many logged rewards there are."""
    if isinstance(logged, Log):
        return int(logged.rewarded.sum())
    return 0 if logged is None else len(logged[1])


def _raced(question: Question, known: Belief, workers: int | None, progress: Progress | None) -> Finish:
    """How the race among all candidates ends, and what its choices come to on fresh problems."""
    allowed, horizon = question.limits(), question.horizon
    lanes = line_up(candidates(horizon, known.noise, known.bound, allowed, known.learnt is not None))
    slack = max(question.keep_within, *MENU_FACTORS) - 1.0
    race = Race(known, horizon, question.seed, workers, allowed, slack, RACING_SHARE * question.seconds)
    begun = race.deadline - race.seconds
    hear = progress or (lambda words, share: None)

    def report(words: str) -> None:
        hear(words, min(1.0, (time.monotonic() - begun) / question.seconds))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LargeReward)  # belief() has warned of a log that does not fit
        alive = _heats(race, lanes, question.slack, report)
        fit = fitting(race, alive)
        levels = _levels(race, lanes, fit)
        report("judging the choice on fresh problems")
        sitting = sittings(race, fit, levels, question.keep_within, begun + JUDGING_SHARE * question.seconds)
        report("playing beside it what is drawn")
        others = [plain_linucb(horizon, known.noise, known.bound), greedy()]
        met = sitting.judge.of(sitting.chosen).regret.size
        linucb, never = (_reference(sitting.judge, candidate, met, question.seconds) for candidate in others)
        left = begun + question.seconds - time.monotonic()
        sitting.judge.hear(levels, sitting.judge.affordable(levels, min(LEVEL_PROBLEMS, met), left))
    return Finish(race, question.keep_within, lanes, alive, fit, levels, sitting, linucb, never)


def _heats(race: Race, lanes: list[Lane], slack: float, report: Callable[[str], None]) -> list[Lane]:
    """The lanes left when it is clear which to choose, or time is up."""
    alive, problems = lanes, FIRST_HEAT
    while True:

        def listen(count: int, problems: int = problems) -> None:
            report(f"{count} of {len(lanes)} candidates, {problems} problems")

        left, complete = race.heat(alive, problems, listen)
        if not complete:
            if problems > FIRST_HEAT:
                _cut(left, min(lane.regret.size for lane in left))
            return left
        alive, problems = left, race.affordable(left, problems)
        if not problems or _is_clear(race, alive, slack):
            return alive


def _cut(lanes: list[Lane], problems: int) -> None:
    """Keeps the problems that all lanes met, so that their means are of the same ones."""
    for lane in lanes:
        lane.take(lane.regret[:problems], lane.cost[:problems])


def _is_clear(race: Race, lanes: list[Lane], slack: float) -> bool:
    """Is it shown that none is better, that the choice is within the slack, and all rarer ones beyond it?"""
    fit = [lane for lane in lanes if race.is_allowed(lane)]
    if not fit or fit[0].regret.size < PROBLEMS_TO_SETTLE:
        return False
    best = least(fit)
    chosen = rarest(fit, best, 1.0 + slack)
    rarer = [lane for lane in fit if lane.candidate.explorations < chosen.candidate.explorations]
    near = all(_is_shown(best, lane, slack) for lane in fit) and _is_shown(chosen, best, slack)
    return near and all(is_beyond(lane, best, slack) for lane in rarer)


def _is_shown(lane: Lane, other: Lane, slack: float) -> bool:
    return lane is other or is_within(lane, other, slack)


def fitting(race: Race, lanes: list[Lane]) -> list[Lane]:
    """The lanes to choose from: those within the limits that went farthest."""
    allowed = [lane for lane in lanes if lane.rounds and race.is_allowed(lane)]
    farthest = max((lane.rounds for lane in allowed), default=0)
    fit = [lane for lane in allowed if lane.rounds == farthest]
    if not fit:
        raise InvalidSetting(
            f"exploring costs more than max_cost = {race.allowed.cost:g} with every schedule that was tried; "
            "a max_count lets it try rarer ones, and a schedule guarded(..., cost_limit=...) keeps any limit"
        )
    return fit


def _levels(race: Race, lanes: list[Lane], alive: list[Lane]) -> list[Lane]:
    """For each number of explorations the lane that the race puts first, played to the end."""
    rounds = alive[0].rounds
    by_count: dict[int, list[Lane]] = {}
    for lane in lanes:
        if lane.rounds and race.is_allowed(lane):
            by_count.setdefault(lane.candidate.explorations, []).append(lane)
    first = [_first(some, alive) for some in by_count.values()]
    if rounds == race.horizon:
        for lane in first:
            _bring(race, lane)
    return [lane for lane in first if lane.rounds == rounds]


def _first(lanes: list[Lane], alive: list[Lane]) -> Lane:
    """The best of those not given up; where there is none, of those that went farthest."""
    return min(lanes, key=lambda lane: (lane not in alive, -lane.rounds, lane.careful()))


def _bring(race: Race, lane: Lane) -> None:
    """Plays a lane that was given up to the end of some problems, if that takes little time."""
    takes = PROBLEMS_TO_SETTLE * lane.seconds * race.horizon / lane.rounds / race.workers
    if lane.regret.size < PROBLEMS_TO_SETTLE and takes < LEVEL_SHARE * race.seconds:
        race.pool.run(lane, PROBLEMS_TO_SETTLE, race.horizon, race.workers)


def _reference(judge: Judge, candidate: Candidate, most: int, seconds: float) -> Lane:
    """A policy to compare with, on as many fresh problems as the time allows; on none if one takes long."""
    glance = Lane(candidate)
    judge.pool.run(glance, 1, min(judge.rounds, GLANCE_ROUNDS))
    glance.seconds *= judge.rounds / glance.rounds
    if glance.seconds <= max(0.2 * seconds, 2.0):
        judge.hear([glance], judge.affordable([glance], most, REFERENCE_SHARE * seconds))
    return judge.of(glance)
