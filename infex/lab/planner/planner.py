"""`infex.lab.plan`: the schedule that explores as rarely as it may without losing much."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from infex.checks import whole
from infex.errors import InfexError, InvalidSetting, LargeReward
from infex.features import FeatureMap
from infex.lab.environments import Environment, Instance
from infex.lab.planner.beliefs import Problems, belief, given_problem
from infex.lab.planner.evaluation import MENU_FACTORS, Evaluation, evaluate
from infex.lab.planner.race import Candidate, Race, candidates, delta_at
from infex.lab.planner.report import Plan, Question, most_explorations
from infex.lab.simulation import play_many
from infex.lab.simulation.compiled import plan_of
from infex.lab.simulation.copies import own_copies
from infex.logs import Log
from infex.policies import Greedy, LinUCB, Policy
from infex.schedules import Schedule

LONGEST_HORIZON = 10**9
RACING_SHARE, EVALUATION_END = 0.3, 0.92  # of the time, when the race and the last evaluation are to end
TRIAL_ROUNDS = 50  # that each base of a user's plays before the race, to find out whether it fits
LEVEL_PROBLEMS = 256  # of candidates that are drawn beside the menu
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

    A schedule that looks at the data (`ledger`, with limits in units of the noise) is among infex's own,
    but not where runs begin with a log. How often it explores is the mean over problems, and the paper's
    regret bound says nothing of it.

    Limits are `max_share` or `max_count` of exploring rounds, and `max_cost`, the greatest mean loss of them
    all. A schedule that looks at the data keeps the former by a `budget`, whatever the data are. `workers`
    are threads (one where your code is called); `progress` hears how far the race is; `seed` is that of the
    problems.

    >>> answer = plan(dim=2, arms_count=5, horizon=200, seconds=0.5, max_share=0.1)
    >>> answer.explorations <= 20
    True
    """
    rounds: Any = horizon
    is_float = isinstance(rounds, float) and rounds.is_integer()  # such as 1e4
    horizon = whole("horizon", int(rounds) if is_float else rounds, least=2)
    if horizon > LONGEST_HORIZON:
        raise InvalidSetting(f"horizon must be at most {LONGEST_HORIZON} to be simulated, got {horizon}")
    if problem is None:
        source: Problems = belief(arms, labels, dim, arms_count, noise, bound, logged, features)
    elif any(each is not None for each in (arms, labels, dim, arms_count, logged, features)):
        raise InvalidSetting(
            "a problem says all that is simulated: leave out arms, labels, dim, arms_count, logged and "
            "features"
        )
    else:
        source = given_problem(problem, noise, bound, whole("seed", seed))
    question = Question(
        dim=source.dim,
        arms_count=source.count,
        horizon=horizon,
        noise=source.noise,
        noise_by=source.noise_by,
        bound=bound,
        logged=source.logged,
        offers=0 if source.offers is None else len(source.offers),
        problem=source.problem,
        max_share=max_share,
        max_count=max_count,
        max_cost=max_cost,
        keep_within=keep_within,
        seconds=seconds,
        seed=seed,
    )
    most = most_explorations(horizon, max_share, max_count)
    warm = source.learnt is not None
    entered = candidates(
        horizon, source.noise, source.bound, most,
        warm=warm, bases=bases, schedules=schedules, problem=source.instance(0, question.seed),
    )  # fmt: skip
    if problem is not None or bases is not None or schedules is not None:
        _try_out(entered, source, question)
        if _calls_user_code(entered, source):
            whole("workers", 1 if workers is None else workers, least=1)
            workers = 1  # a user's code is never called from several threads
    race = Race(
        source,
        horizon,
        entered,
        seed=question.seed,
        workers=workers,
        max_cost=math.inf if question.max_cost is None else question.max_cost,
        factor=max(keep_within, *MENU_FACTORS),
        seconds=RACING_SHARE * question.seconds,
    )
    return Plan.of(question, _evaluated(question, race, progress))


def _try_out(entered: list[Candidate], source: Problems, question: Question) -> None:
    """Plays a few rounds with one candidate of each base, so that one that does not fit is named at once.

    So it is with one of each schedule that looks at the data.
    """
    rounds = min(question.horizon, TRIAL_ROUNDS)
    of_bases = {base: each for each in entered if each.planned is not None for base, *_ in each.places}
    of_schedules = {rank: each for each in entered if each.planned is None for _, rank, *_ in each.places}
    for candidate in (*of_bases.values(), *of_schedules.values()):
        problem = source.instance(0, question.seed)
        try:
            play_many(problem, candidate.policy, rounds, penalty=source.penalty, learnt=source.learnt)
        except InfexError as error:
            raise InvalidSetting(f"{candidate.label} cannot play this problem: {error}") from error


def _calls_user_code(entered: list[Candidate], source: Problems) -> bool:
    """Do runs call a user's Python, which is never called from several threads at once?"""
    compiled = [plan_of(*own_copies(policy=each.policy, estimator=None)) for each in entered]
    return source.own_code or any(each is None or each.calls_user for each in compiled)


def _evaluated(question: Question, race: Race, progress: Progress | None) -> Evaluation:
    """How the race ends, and what its choices come to on fresh problems."""
    seconds, source = question.seconds, race.pool.source
    begun = race.deadline - race.seconds

    def report(words: str) -> None:
        if progress is not None:
            progress(words, min(1.0, (time.monotonic() - begun) / seconds))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LargeReward)  # one was warned before of what does not fit
        race.run(question.keep_within, report)
        report("evaluating the choice on fresh problems")
        evaluation = evaluate(race, question.keep_within, begun + EVALUATION_END * seconds)
        report("playing what it is compared with")
        linucb = LinUCB(noise=source.noise, bound=source.bound, delta=delta_at(race.horizon))
        evaluation.compare_with("LinUCB", linucb, race.horizon, seconds)
        evaluation.compare_with("greedy", Greedy(), 0, seconds)
        left = begun + seconds - time.monotonic()
        met = evaluation.fresh(evaluation.chosen).regret.size
        evaluation.play(race.levels, evaluation.affordable(race.levels, min(LEVEL_PROBLEMS, met), left))
    return evaluation
