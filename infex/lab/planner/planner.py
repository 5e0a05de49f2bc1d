"""`infex.lab.plan`: the schedule that explores as rarely as it may without losing much."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, cast, final

import numpy as np
from numpy.typing import ArrayLike

from infex._stats import Interval
from infex.arrays import Integers, Label
from infex.checks import real, set_fields, whole
from infex.errors import InvalidSetting, LargeReward
from infex.features import FeatureMap
from infex.lab.environments import ContextualInstance, LinearInstance
from infex.lab.planner.beliefs import Belief, PlannedProblem, belief, belief_of_log, with_map
from infex.lab.planner.judging import (
    FRESH_TO_SETTLE,
    LEVEL_PROBLEMS,
    MENU_FACTORS,
    Cost,
    Finish,
    Judge,
    Judged,
    MenuEntry,
    against,
    cost,
    least,
    rarest,
    sittings,
)
from infex.lab.planner.race import (
    FIRST_HEAT,
    PROBLEMS_TO_SETTLE,
    PROBLEMS_TO_SHOW,
    Candidate,
    Lane,
    Limits,
    Pool,
    Race,
    candidates,
    greedy,
    is_beyond,
    is_within,
    limits,
    line_up,
    plain_linucb,
)
from infex.logs import Log
from infex.policies import Greedy, Infex, LinTS, LinUCB, Policy
from infex.schedules import Schedule

LONGEST_HORIZON = 10**9


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The problem, what is allowed, and the time that may be spent.

    `bound` is as the user gave it, `logged` the number of logged rewards, `offers` how many rounds of a log
    have offers that are drawn from (0: arms stay), `noise_by` where the noise is from. Limits are None
    where there are none.
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

    def __post_init__(self) -> None:
        real("keep_within", self.keep_within, least=1)
        set_fields(
            self,
            horizon=planned_horizon(self.horizon),
            seconds=real("seconds", self.seconds, above=0),
            seed=whole("seed", self.seed),
        )
        self.limits()

    @property
    def slack(self) -> float:
        """The part by which the regret may exceed that of the best."""
        return self.keep_within - 1.0

    def limits(self) -> Limits:
        """Exploring rounds, and their summed loss, that are allowed."""
        return limits(self.horizon, self.max_share, self.max_count, self.max_cost)


def planned_horizon(horizon: float) -> int:
    """`horizon`, if so many rounds can be simulated; also as 1e4."""
    given = int(horizon) if isinstance(horizon, float) and horizon.is_integer() else horizon
    rounds = whole("horizon", given, least=2)
    if rounds > LONGEST_HORIZON:
        raise InvalidSetting(f"horizon must be at most {LONGEST_HORIZON} to be simulated, got {rounds}")
    return rounds


REFERENCE_NAMES = {
    "recommended": "recommended",
    "best": "the best",
    "LinUCB": "plain LinUCB",
    "greedy": "greedy",
}


def said(value: float, sign: str = "") -> str:
    """A regret as people write it: whole, or with three digits where it is small.

    >>> said(12345.6), said(0.01234), said(-3.21, "+")
    ('12,346', '0.0123', '-3.21')
    """
    return f"{value:{sign},.0f}" if abs(value) >= 100 else f"{value:{sign}.3g}"


def times(ratio: Interval) -> str:
    """A ratio with its interval, where there is one.

    >>> times(Interval(1.148, 1.09, 1.21)), times(Interval(2.0, math.nan, math.nan))
    ('1.15 [1.09, 1.21]', '2.00')
    """
    if not math.isfinite(ratio.low):
        return f"{ratio.value:.2f}"
    return f"{ratio.value:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"


def code_of(policy: Policy) -> str:
    """The policy as a line of Python.

    >>> import infex
    >>> code_of(infex.Infex(infex.LinUCB(scale=0.2), infex.every(20), data="own"))
    'infex.Infex(infex.LinUCB(scale=0.2), infex.every(20), data="own")'
    """
    if isinstance(policy, Greedy):
        return "infex.Greedy()"
    base = policy.base if isinstance(policy, Infex) else policy
    assert isinstance(base, LinUCB | LinTS)  # the planner tries no other
    defaults = asdict(type(base)())
    settings = [f"{name}={value!r}" for name, value in asdict(base).items() if value != defaults[name]]
    inner = f"infex.{type(base).__name__}({', '.join(settings)})"
    if not isinstance(policy, Infex):
        return inner
    more = ', data="own"' if policy.data == "own" else ""
    return f"infex.Infex({inner}, infex.{policy.schedule!r}{more})"


def rounds_of(policy: Policy, horizon: int) -> str:
    """The rounds in which it explores, in words.

    >>> import infex
    >>> rounds_of(infex.Infex(infex.LinUCB(), infex.every(20)), 1000)
    'in rounds 20, 40, 60, 80, ..., 1,000'
    """
    if isinstance(policy, Greedy):
        return "never"
    if not isinstance(policy, Infex):
        return "in every round"
    schedule = cast(Schedule, policy.schedule)  # the planner puts none under control
    count = schedule.count(horizon)
    first = [f"{schedule.when(n):,}" for n in range(1, min(count, 4) + 1)]
    last = f", ..., {schedule.when(count):,}" if count > 4 else ""
    return f"in rounds {', '.join(first)}{last}"


def assumed(question: Question, longest: float) -> str:
    """What problems were simulated."""
    law = "any direction"
    if question.logged:
        law = f"a posterior of {question.logged:,} logged rewards, with which every run begins"
    drawn = f", as in {question.offers:,} rounds of the log" if question.offers else ""
    noise = f"noise {question.noise:g}" + (f" ({question.noise_by})" if question.noise_by else "")
    return (
        f"simulated: {question.arms_count:,} arms in {question.dim} dimensions{drawn}, mean rewards up to "
        f"{question.bound * longest:g} (bound {question.bound:g}), {noise}, theta of {law}"
    )


def divided(longest: float) -> str:
    """What to do with your arms before the line of code fits them."""
    return f"arms were divided by {longest:g}, so that none is longer than 1; divide yours too"


def reasons(finish: Finish) -> str:
    """Why this candidate was chosen, how it did on fresh problems, and whether that settles it."""
    if not finish.recommended.explorations:
        words = _none_needed(finish)
    elif finish.chosen is not finish.best:
        words = _rarer(finish)
    elif finish.rival is None:
        words = _alone(finish)
    else:
        words = _nothing_near(finish, finish.rival)
    if finish.is_settled:
        return f"{words} Settled: {_shown(finish)}."
    return f"{words} Not settled: {_doubt(finish)} Give it more seconds."


def _within(finish: Finish) -> str:
    return f"{finish.keep_within:g} times"


def _none_needed(finish: Finish) -> str:
    """What the log has taught is enough."""
    judged, best = finish.recommended, finish.judged(finish.best)
    words = (
        "You need no exploration: what the log has taught is enough. On "
        f"{judged.problems:,} fresh problems greedy loses {said(judged.regret.value)}"
    )
    if finish.chosen is finish.best:
        return f"{words}, the least."
    return f"{words}: {times(judged.ratio)} times the {said(best.regret.value)} of {best.expression}."


def _rarer(finish: Finish) -> str:
    judged, best = finish.recommended, finish.judged(finish.best)
    return (
        f"It explores least of those within {_within(finish)} the least regret. On {judged.problems:,} fresh "
        f"problems, which did not choose it, it loses {said(judged.regret.value)}: {times(judged.ratio)} "
        f"times the {said(best.regret.value)} of {best.expression}."
    )


def _alone(finish: Finish) -> str:
    """The best is recommended, and none that explores less was judged as its rival."""
    judged, met = finish.recommended, finish.best.regret.size
    words = f"It loses {said(judged.regret.value)} on {judged.problems:,} fresh problems, the least."
    if met < PROBLEMS_TO_SHOW:
        return f"{words} {met} problems were tried, too few to tell whether exploring less is as good."
    tried = (lane.candidate.explorations for lane in finish.lanes if lane.rounds)
    return words if min(tried) < judged.explorations else f"{words} Nothing that explores less was tried."


def _nothing_near(finish: Finish, rival: Judged) -> str:
    judged = finish.recommended
    often = "in every round" if judged.explorations == finish.race.horizon else "as often as this"
    return (
        f"Explore {often}: nothing that explores less often came within {_within(finish)} of its regret, "
        f"{said(judged.regret.value)} on {judged.problems:,} fresh problems. The nearest, {rival.expression} "
        f"with {rival.explorations:,} explorations, loses {times(rival.ratio)} times as much there."
    )


def _shown(finish: Finish) -> str:
    if finish.chosen is finish.best:
        return "no other is better by more than that, and none that explores less is as near"
    words = f"the interval stays within {finish.keep_within:g}, and no other is better by more than that"
    if not finish.open:
        return words
    return f"{words}. Whether {finish.open} that explore less are as near could not be told"


def _doubt(finish: Finish) -> str:
    """What is missing for a settled choice."""
    if not finish.is_allowed:  # what is promised comes first
        return _dear(finish)
    if not finish.is_complete:
        return _cut_short(finish)
    if finish.is_choice_shown:
        return "another may still be better by more than that."
    if finish.recommended.problems < FRESH_TO_SETTLE:
        return f"{finish.recommended.problems} fresh problems are too few."
    if finish.chosen is not finish.best:
        return f"the interval goes beyond {finish.keep_within:g}."
    return (
        f"{finish.open} that explore less may be as near." if finish.open else "the nearest may be as near."
    )


def _dear(finish: Finish) -> str:
    limit, cost = finish.race.allowed.cost, finish.recommended.cost
    return f"exploring cost {said(cost)} there, more than max_cost = {limit:g}."


def _cut_short(finish: Finish) -> str:
    """What the race had no time for."""
    rounds, horizon = finish.chosen.rounds, finish.race.horizon
    waiting = sum(lane.rounds < horizon for lane in finish.alive)
    if rounds < horizon:
        words = f"no candidate was played to the end, figures are of the first {rounds:,} rounds."
        return words + " max_cost was held against these only." * (finish.race.allowed.cost < math.inf)
    if waiting:
        return f"{waiting} of {len(finish.alive)} candidates that may be as good were not played to the end."
    return f"{finish.best.regret.size} problems chose it, too few to see what goes wrong but rarely."


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
            levels=_level_records(finish),
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


def _level_records(finish: Finish) -> tuple[Judged, ...]:
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
