"""`infex.lab.plan`: the schedule that explores as rarely as it may without losing much."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from numpy.typing import ArrayLike

from infex.arrays import Integers, Label
from infex.checks import real, set_fields, whole
from infex.errors import InfexError, InvalidSetting, LargeReward
from infex.features import FeatureMap
from infex.lab.environments import Environment, Instance
from infex.lab.planner.beliefs import (
    Belief,
    GivenProblem,
    Problems,
    belief,
    belief_of_log,
    given_problem,
    with_map,
)
from infex.lab.planner.judging import LEVEL_PROBLEMS, MENU_FACTORS, Sitting, Verdict, least, rarest, sittings
from infex.lab.planner.race import (
    FIRST_HEAT,
    PROBLEMS_TO_SETTLE,
    Candidate,
    Race,
    candidates,
    is_beyond,
    is_within,
    plain_linucb,
)
from infex.lab.planner.report import Plan
from infex.lab.simulation.compiled import plan_of
from infex.lab.simulation.copies import own_copies
from infex.logs import Log
from infex.policies import Greedy, Policy
from infex.schedules import Schedule

LONGEST_HORIZON = 10**9
RACING_SHARE, JUDGING_SHARE = 0.3, 0.92  # of the time, when the race and the last sitting are to end
LEVEL_SHARE, REFERENCE_SHARE = 0.01, 0.03  # of the time that one of a level, or LinUCB, may take
GLANCE_ROUNDS = 20_000  # enough to tell how long a whole run would take
TRIAL_ROUNDS = 50  # that each base of a user's plays before the race, to find out whether it fits
Progress = Callable[[str, float], None]  # what goes on, and the share of time spent
Report = Callable[[str], None]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The problem, what is allowed, and the time that may be spent.

    `bound` is as the user gave it, `logged` the number of logged rewards, `offers` how many rounds of a log
    have offers that are drawn from (0: arms stay), `noise_by` where the noise is from, and `problem` a
    problem of the user's own. Limits are None where there are none.
    """

    dim: int
    arms_count: int
    horizon: int
    noise: float
    bound: float
    logged: int
    max_share: float | None
    max_count: int | None
    max_cost: float | None
    keep_within: float
    seconds: float
    seed: int
    offers: int = 0
    noise_by: str = ""
    problem: str = ""

    def __post_init__(self) -> None:
        real("keep_within", self.keep_within, least=1)
        set_fields(
            self,
            horizon=planned_horizon(self.horizon),
            max_cost=self.max_cost if self.max_cost is None else real("max_cost", self.max_cost, least=0),
            seconds=real("seconds", self.seconds, above=0),
            seed=whole("seed", self.seed),
        )
        most_explorations(self.horizon, self.max_share, self.max_count)


def planned_horizon(horizon: float) -> int:
    """`horizon`, if so many rounds can be simulated; also as 1e4."""
    given = int(horizon) if isinstance(horizon, float) and horizon.is_integer() else horizon
    rounds = whole("horizon", given, least=2)
    if rounds > LONGEST_HORIZON:
        raise InvalidSetting(f"horizon must be at most {LONGEST_HORIZON} to be simulated, got {rounds}")
    return rounds


def most_explorations(horizon: int, share: float | None, count: int | None) -> int:
    """How many rounds of the horizon may explore."""
    most = horizon
    if share is not None:
        most = min(most, math.floor(real("max_share", share, least=0, most=1) * horizon + 1e-9))
    return most if count is None else min(most, whole("max_count", count, least=0))


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
    problem: Instance | Environment | Callable[..., Any] | str | None = None,
    bases: Iterable[Policy | str] | Mapping[str, Policy | str] | None = None,
    schedules: Iterable[Schedule | str] | Mapping[str, Schedule | str] | None = None,
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
    `horizon`; the `noise` of rewards (else it is what the linear model leaves of logged
    rewards, or 1); the `bound` on the length of the parameter, or `logged`
    rewards (indices or labels of arms, rewards) to draw the parameter from their posterior: then every run
    begins with what they have taught, and no exploration at all is tried too. `logged` may be a log, as
    `evaluation.read` gives it, which says what arms look like; where it has contexts, these are drawn from
    those of the log, and `features` is the map, if the log does not say it.

    Or give a `problem`: one of `infex.lab.environments`, an `Environment` of your own, a function that makes
    either of a seed, or an expression such as "sphere(dim=5, arms=50, gap=0.1)" or "package.module:object". A
    function or an expression gives another problem for every seed, an object the same one with other
    noise. `noise` and `bound` are then settings of LinUCB and LinTS alone.

    Schedules of several families, with LinUCB and LinTS, both data modes and several scales of
    the radius, race on the same problems; what is clearly worse drops out, until the choice
    is settled or the time is over. `bases` and `schedules` are tried instead: lists of objects or
    expressions, or dicts of their names. The word "default" in them stands for infex's own.

    Limits are `max_share` or `max_count` of exploring rounds, and `max_cost`, the greatest mean loss of them
    all. `workers` are threads (one where your code is called); `progress` hears how far the race is; `seed`
    is that of the problems.

    >>> answer = plan(dim=2, arms_count=5, horizon=200, seconds=0.5, max_share=0.1)
    >>> answer.explorations <= 20
    True
    """
    horizon = planned_horizon(horizon)  # before arms are looked at, which may take long
    if problem is None:
        source: Problems = _belief(arms, labels, dim, arms_count, noise, bound, logged, features)
    elif any(each is not None for each in (arms, labels, dim, arms_count, logged, features)):
        raise InvalidSetting(
            "a problem says all that is simulated: leave out arms, labels, dim, arms_count, logged and "
            "features"
        )
    else:
        source = given_problem(problem, noise, bound, whole("seed", seed))
    believed = source if isinstance(source, Belief) else None
    question = Question(
        dim=source.dim,
        arms_count=source.count,
        horizon=horizon,
        noise=source.noise,
        noise_by="" if believed is None else believed.noise_by,
        bound=bound,
        logged=_rewards_in(logged),
        offers=0 if believed is None or believed.offers is None else len(believed.offers),
        problem=source.label if isinstance(source, GivenProblem) else "",
        max_share=max_share,
        max_count=max_count,
        max_cost=max_cost,
        keep_within=keep_within,
        seconds=seconds,
        seed=seed,
    )
    entered = candidates(
        horizon,
        source.noise,
        source.bound,
        most_explorations(horizon, max_share, max_count),
        warm=source.learnt is not None,
        bases=bases,
        schedules=schedules,
    )
    if isinstance(source, GivenProblem) or bases is not None or schedules is not None:
        _try_out(entered, source, question)
        if _calls_user_code(entered, source):
            workers = 1 if workers is None else min(whole("workers", workers, least=1), 1)
    return Plan.of(question, _raced(question, source, entered, workers, progress))


def _belief(
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
        played, rewards = log.arm[log.rewarded], log.reward[log.rewarded]
        if arms is not None:  # a user's own features of them, in any order if they have labels
            by_arm = played if labels is None else _labels_of(played, log.labels)
            return belief(arms, labels, dim, arms_count, noise, bound, (by_arm, rewards))
        names = log.labels if labels is None else tuple(labels)
        by_arm = played if names is None else [names[arm] for arm in played.tolist()]
        return belief(log.arms, names, dim, arms_count, noise, bound, (by_arm, rewards))
    if arms is not None or labels is not None or dim is not None or arms_count is not None:
        raise InvalidSetting("this log says what its arms look like: leave out arms, dim and arms_count")
    return belief_of_log(log, noise, bound)


def _labels_of(played: Integers, labels: Sequence[Label] | None) -> list[Label]:
    """The labels of the arms that a log has played; their indices where it has no labels."""
    return [arm if labels is None else labels[arm] for arm in played.tolist()]


def _rewards_in(logged: tuple[Any, Any] | Log | None) -> int:
    if isinstance(logged, Log):
        return int(logged.rewarded.sum())
    return 0 if logged is None else len(logged[1])


def _try_out(entered: list[Candidate], source: Problems, question: Question) -> None:
    """Plays a few rounds with one candidate of each base, so that one that does not fit is named at once."""
    from infex.lab.simulation import play_many

    first = {place.base: each for each in entered for place in each.places}
    for candidate in first.values():
        try:
            play_many(
                source.instance(0, question.seed),
                candidate.policy,
                min(question.horizon, TRIAL_ROUNDS),
                penalty=source.penalty,
                learnt=source.learnt,
            )
        except InfexError as error:
            raise InvalidSetting(f"{candidate.label} cannot play this problem: {error}") from error


def _calls_user_code(entered: list[Candidate], source: Problems) -> bool:
    """Do runs call a user's Python, which is never called from several threads at once?"""
    if isinstance(source, GivenProblem) and source.own_code:
        return True
    compiled = [plan_of(*own_copies(policy=each.policy, estimator=None)) for each in entered]
    return any(each is None or each.calls_user for each in compiled)


def _raced(
    question: Question,
    source: Problems,
    entered: list[Candidate],
    workers: int | None,
    progress: Progress | None,
) -> Verdict:
    """How the race among all candidates ends, and what its choices come to on fresh problems."""
    seconds, horizon = question.seconds, question.horizon
    race = Race(
        source,
        horizon,
        seed=question.seed,
        workers=workers,
        max_cost=math.inf if question.max_cost is None else question.max_cost,
        slack=max(question.keep_within, *MENU_FACTORS) - 1.0,
        seconds=RACING_SHARE * seconds,
    )
    begun = race.deadline - race.seconds

    def report(words: str) -> None:
        if progress is not None:
            progress(words, min(1.0, (time.monotonic() - begun) / seconds))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LargeReward)  # one was warned before of what does not fit
        alive = _heats(race, entered, question.keep_within - 1.0, report)
        fit = race.fitting(alive)
        levels = _levels(race, entered, fit)
        report("judging the choice on fresh problems")
        sitting = sittings(race, fit, levels, question.keep_within, begun + JUDGING_SHARE * seconds)
        report("playing what it is compared with")
        met = sitting.of(sitting.chosen).regret.size
        linucb, greedy = (
            _reference(sitting, candidate, entered, met, seconds)
            for candidate in (plain_linucb(horizon, source.noise, source.bound), Candidate(Greedy(), 0))
        )
        left = begun + seconds - time.monotonic()
        sitting.play(levels, sitting.affordable(levels, min(LEVEL_PROBLEMS, met), left))
    return Verdict(race, entered, alive, fit, levels, sitting, linucb, greedy)


def _heats(race: Race, entered: list[Candidate], slack: float, report: Report) -> list[Candidate]:
    """The candidates left when it is clear which to choose, or time is up."""
    alive, problems = entered, FIRST_HEAT
    while True:

        def listen(count: int, problems: int = problems) -> None:
            report(f"{count} of {len(entered)} candidates, {problems} problems")

        left, complete = race.heat(alive, problems, listen)
        if not complete:
            if problems > FIRST_HEAT:  # keeps the problems that all met, so that means are of the same ones
                met = min(each.regret.size for each in left)
                for each in left:
                    each.take(each.regret[:met], each.cost[:met])
            return left
        alive, problems = left, race.affordable(left, problems)
        if not problems or _is_clear(race, alive, slack):
            return alive


def _is_clear(race: Race, alive: list[Candidate], slack: float) -> bool:
    """Is it shown that none is better, that the choice is within the slack, and all rarer ones beyond it?"""
    fit = [each for each in alive if race.is_allowed(each)]
    if not fit or fit[0].regret.size < PROBLEMS_TO_SETTLE:
        return False
    best = least(fit)
    chosen = rarest(fit, best, 1.0 + slack)
    near = [(best, each) for each in fit] + [(chosen, best)]
    rarer = [each for each in fit if each.explorations < chosen.explorations]
    return all(one is other or is_within(one, other, slack) for one, other in near) and all(
        is_beyond(each, best, slack) for each in rarer
    )


def _levels(race: Race, entered: list[Candidate], fit: list[Candidate]) -> list[Candidate]:
    """For each number of explorations the one that the race puts first, played to the end.

    That is the best of those not given up or, where there is none, of those that went farthest; one that
    was given up is played to the end of some problems if that takes little time.
    """
    by_count: dict[int, list[Candidate]] = {}
    for each in entered:
        if each.rounds and race.is_allowed(each):
            by_count.setdefault(each.explorations, []).append(each)
    first = [
        min(some, key=lambda each: (each not in fit, -each.rounds, each.careful()))
        for some in by_count.values()
    ]
    if fit[0].rounds == race.horizon:
        for each in first:
            takes = PROBLEMS_TO_SETTLE * each.seconds * race.horizon / each.rounds / race.workers
            if each.regret.size < PROBLEMS_TO_SETTLE and takes < LEVEL_SHARE * race.seconds:
                race.pool.run(each, PROBLEMS_TO_SETTLE, race.horizon, race.workers)
    return [each for each in first if each.rounds == fit[0].rounds]


def _reference(
    sitting: Sitting, candidate: Candidate, entered: list[Candidate], most: int, seconds: float
) -> Candidate:
    """A policy to compare with, on as many fresh problems as the time allows; on none if one takes long."""
    if any(each.label == candidate.label and candidate.policy != each.policy for each in entered):
        candidate.label += ", plain"  # a user has called another policy so
    sitting.pool.run(candidate, 1, min(sitting.rounds, GLANCE_ROUNDS))
    candidate.seconds *= sitting.rounds / candidate.rounds
    if candidate.seconds <= max(0.2 * seconds, 2.0):
        sitting.play([candidate], sitting.affordable([candidate], most, REFERENCE_SHARE * seconds))
    return sitting.of(candidate)
