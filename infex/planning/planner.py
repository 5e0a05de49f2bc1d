"""`infex.plan`: the schedule that explores as rarely as it may without losing much."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from infex.checks import real, whole
from infex.errors import InvalidSetting
from infex.experiments.statistics import Difference, paired
from infex.planning.beliefs import Belief, belief
from infex.planning.candidates import Limits, candidates, greedy, limits, plain_linucb
from infex.planning.race import FIRST, MOST, Lane, Race, difference, is_settled, leader, near, survivors
from infex.policies import Infex
from infex.simulation.batch import compile_loop

WORST = 0.9  # the decile that a cautious reader looks at
LONGEST = 10**9

Progress = Callable[[str, float], None]  # what goes on, and the share of time spent


class Tried(NamedTuple):
    """One candidate after the race: its regret over the problems it met, and its explorations."""

    expression: str
    explorations: int
    problems: int
    mean: float
    low: float
    high: float
    median: float
    worst_decile: float
    cost: float
    alive: bool


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """What to do, why, and what it costs.

    `recommended` is the policy in the words of the catalogue, `policy` itself, and `code` a line of
    Python to paste. `settled` says whether no other candidate can still be better by more than
    `keep_within`. `against_best` and `against_linucb` are paired differences of regret.
    """

    recommended: str
    policy: Any
    code: str
    settled: bool
    explorations: int
    horizon: int
    keep_within: float
    longest: float
    candidates: tuple[Tried, ...]
    references: tuple[Tried, ...]
    against_best: Difference
    against_linucb: Difference
    when: str
    why: str

    @property
    def front(self) -> tuple[Tried, ...]:
        """The candidates that none beats both in regret and in explorations, fewest explorations first."""
        found: list[Tried] = []
        for each in sorted(self.candidates, key=lambda tried: (tried.explorations, tried.mean)):
            if not found or each.mean < found[-1].mean:
                found.append(each)
        return tuple(found)

    def chosen(self) -> Tried:
        """The figures of what is recommended."""
        return next(each for each in self.candidates if each.expression == self.recommended)


def plan(
    arms: Any = None,
    *,
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
    rewards (indices of arms, rewards) to draw the parameter from their posterior. Limits:
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
    known = belief(arms, dim, arms_count, noise, bound, logged)
    allowed = limits(rounds, max_share, max_count, max_cost)
    grid = candidates(rounds, known.noise, known.bound, allowed)
    compile_loop()
    race = Race(known, rounds, whole("seed", seed), workers, real("seconds", seconds, above=0))
    lanes = [Lane(each) for each in grid]
    references = [Lane(plain_linucb(rounds, known.noise, known.bound)), Lane(greedy())]
    for lane in references:
        race.run(lane, FIRST)
    started, alive = _heats(race, lanes, allowed, slack, progress)
    chosen = _choice(alive, slack)
    settled = len(started) == len(lanes) and is_settled(chosen, alive, slack)
    for lane in references:
        race.run(lane, min(chosen.regret.size, max(FIRST, lane.regret.size, _affordable(lane, seconds))))
    return _plan(known, rounds, chosen, started, alive, references, settled, slack)


def _heats(
    race: Race, lanes: list[Lane], allowed: Limits, slack: float, progress: Progress | None
) -> tuple[list[Lane], list[Lane]]:
    """All lanes that started, and those that are left at the end."""
    total = race.left()
    problems, started, alive = FIRST, lanes, lanes
    while True:
        words = f"{len(alive)} candidates on {problems} problems"

        def tell(_: Lane, words: str = words) -> None:
            if progress is not None:
                progress(words, min(1.0, 1.0 - race.left() / total))

        done = race.heat(_quick_first(alive), problems, tell)
        if problems == FIRST:
            started = done or [_forced(race, lanes[0])]
            alive = _within(started, allowed) or started
        elif len(done) < len(alive):
            return started, alive  # the heat was not finished: compare what all have
        alive = survivors(alive)
        if is_settled(_choice(alive, slack), alive, slack) or race.left() <= 0 or problems >= MOST:
            return started, alive
        problems *= 2


def _forced(race: Race, lane: Lane) -> Lane:
    race.run(lane, FIRST)
    return lane


def _quick_first(lanes: list[Lane]) -> list[Lane]:
    """Lanes in the order of what is known to matter: good ones first, so that time runs out on the others."""
    return sorted(lanes, key=lambda lane: lane.mean if lane.regret.size else -1.0)


def _within(lanes: list[Lane], allowed: Limits) -> list[Lane]:
    """The lanes whose exploring rounds lose no more than is allowed, in the mean."""
    return [lane for lane in lanes if float(lane.cost.mean()) <= allowed.cost]


def _choice(lanes: list[Lane], slack: float) -> Lane:
    """The lane with the fewest explorations among those shown to be near the best."""
    return min(near(lanes, slack), key=lambda lane: (lane.candidate.explorations, lane.mean))


def _affordable(lane: Lane, seconds: float) -> int:
    """How many problems a reference may take, in a tenth of the time."""
    each = max(lane.seconds / max(lane.regret.size, 1), 1e-6)
    return int(0.1 * seconds / each)


def _plan(
    known: Belief,
    horizon: int,
    chosen: Lane,
    started: list[Lane],
    alive: list[Lane],
    references: list[Lane],
    settled: bool,
    slack: float,
) -> Plan:
    best = leader(alive)
    n = min(chosen.regret.size, references[0].regret.size)
    tried = [_tried(lane, lane in alive, best) for lane in started]
    policy = chosen.candidate.policy
    return Plan(
        recommended=chosen.candidate.expression,
        policy=policy,
        code=_code(policy),
        settled=settled,
        explorations=chosen.candidate.explorations,
        horizon=horizon,
        keep_within=1.0 + slack,
        longest=known.longest,
        candidates=tuple(sorted(tried, key=lambda each: each.mean)),
        references=tuple(_tried(lane, True, best) for lane in references),
        against_best=paired(chosen.regret, best.regret[: chosen.regret.size]),
        against_linucb=paired(chosen.regret[:n], references[0].regret[:n]),
        when=_when(policy, horizon),
        why=_why(chosen, best, alive, slack, settled),
    )


def _tried(lane: Lane, alive: bool, best: Lane) -> Tried:
    """A lane's figures; its mean is brought to all problems of the best by their paired difference."""
    gap, error = difference(lane, best)
    mean, error = best.mean + gap, math.hypot(error, best.error()) if lane is not best else best.error()
    return Tried(
        lane.candidate.expression,
        lane.candidate.explorations,
        int(lane.regret.size),
        mean,
        mean - 1.96 * error,
        mean + 1.96 * error,
        float(np.median(lane.regret)),
        float(np.quantile(lane.regret, WORST)),
        float(lane.cost.mean()),
        alive,
    )


def _code(policy: Any) -> str:
    """The policy as a line of Python."""
    base = policy.base if isinstance(policy, Infex) else policy
    plain = type(base)()
    given = [
        f"{name}={getattr(base, name)!r}"
        for name in ("noise", "bound", "delta", "scale")
        if getattr(base, name) != getattr(plain, name)
    ]
    inner = f"infex.{type(base).__name__}({', '.join(given)})"
    if not isinstance(policy, Infex):
        return inner
    more = ', data="own"' if policy.data == "own" else ""
    return f"infex.Infex({inner}, infex.{policy.schedule!r}{more})"


def _when(policy: Any, horizon: int) -> str:
    """In which rounds it explores."""
    if not isinstance(policy, Infex):
        return "in every round"
    schedule: Any = policy.schedule
    count = schedule.count(horizon)
    first = [str(schedule.when(n)) for n in range(1, min(count, 4) + 1)]
    last = f", ..., {schedule.when(count)}" if count > 4 else ""
    return f"in rounds {', '.join(first)}{last}"


def _why(chosen: Lane, best: Lane, alive: list[Lane], slack: float, settled: bool) -> str:
    words = (
        f"Of {len(alive)} candidates that are not clearly worse than the best, it explores least while its "
        f"mean regret of {chosen.mean:,.0f} is shown to be within {1 + slack:g} times the lowest "
        f"({best.mean:,.0f}, {best.candidate.expression})."
    )
    if chosen is best:
        words = (
            f"It has the lowest mean regret, {chosen.mean:,.0f}, and none that explores less is shown to be "
            f"within {1 + slack:g} times of it."
        )
    if settled:
        return words
    return words + " Not settled: another may still be better by more than that; give it more seconds."


def json_of(found: Plan) -> dict[str, Any]:
    """A plan as plain data, in which what is not a number is null."""
    data = {
        "recommended": found.recommended,
        "code": found.code,
        "settled": found.settled,
        "explorations": found.explorations,
        "share": found.explorations / found.horizon,
        "horizon": found.horizon,
        "keep_within": found.keep_within,
        "arms_divided_by": found.longest,
        "when": found.when,
        "why": found.why,
        "against_best": found.against_best._asdict(),
        "against_linucb": found.against_linucb._asdict(),
        "candidates": [each._asdict() for each in found.candidates],
        "references": [each._asdict() for each in found.references],
        "front": [each.expression for each in found.front],
    }
    finite: dict[str, Any] = _finite(data)
    return finite


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
