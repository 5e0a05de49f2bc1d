"""What a study gains over those who were held out, with an interval."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from statistics import NormalDist
from typing import NamedTuple

from infex.checks import real
from infex.study.events import EventKind
from infex.study.journal import Entry
from infex.study.settings import Rules
from infex.study.state import tracked_rewards

FEWEST_UNITS = 2
CHANCE_LEVEL = 0.001  # below it, a difference of shares is no chance any more
TELL_ALL = (
    "Tell a reward for every decision, 0 where nothing came of it; a new study that is begun with `wait` and "
    "`default` does so by itself."
)


class Lift(NamedTuple):
    """Mean rewards of those the study decides for, and of those held out; their difference and its interval.

    Decisions as an apprentice are on neither side. Decisions younger than the study's `wait` are left out
    (`left_out`), told or not, as long as one of them is pending: what is told early is not like what is
    told late. An older decision without a reward has the `default`, or none.

    `share` and `held_share` are the shares of decisions that have a reward. Means are over these decisions
    alone, so there is no difference and no interval, and `problem` says what to do, where a missing reward
    may still come (the study has no `wait`), and where the two shares differ by more than chance allows (both
    Fisher's exact test and a z test with units as draws, each at the level 0.001).

    The interval is that of a normal law, with what decisions of one unit have in common: each unit counts as
    one draw. It needs two units with rewards on each side.
    """

    mean: float | None
    held_mean: float | None
    difference: float | None
    low: float | None
    high: float | None
    decisions: int
    held_decisions: int
    units: int
    held_units: int
    share: float | None
    held_share: float | None
    left_out: int
    problem: str | None


class _Unit:
    """What the decisions of one unit add up to."""

    __slots__ = ("decisions", "reward", "rewarded")

    def __init__(self) -> None:
        self.decisions, self.rewarded, self.reward = 0, 0, 0.0


class _Group:
    """Those held out, or all others."""

    def __init__(self, units: Iterable[_Unit]) -> None:
        self.all = list(units)
        self.told = [unit for unit in self.all if unit.rewarded]
        self.decisions = sum(unit.decisions for unit in self.all)
        self.rewarded = sum(unit.rewarded for unit in self.told)

    @property
    def share(self) -> float | None:
        """Of how many decisions there is a reward."""
        return self.rewarded / self.decisions if self.decisions else None

    @property
    def mean(self) -> float | None:
        return math.fsum(unit.reward for unit in self.told) / self.rewarded if self.rewarded else None

    @property
    def variance(self) -> float:
        """That of the mean, with units as draws."""
        mean, units = self.mean or 0.0, len(self.told)
        squares = math.fsum((unit.reward - mean * unit.rewarded) ** 2 for unit in self.told)
        return squares / self.rewarded**2 * units / (units - 1)


def lift_of(entries: Iterable[Entry], rules: Rules, now: int, confidence: float) -> Lift:
    """The lift that the entries of a journal show at a time `now`."""
    level = real("confidence", confidence, above=0, most=1 - 1e-12)
    decisions = [each for each in tracked_rewards(entries).values() if each.kind is not EventKind.APPRENTICE]
    since = math.inf if rules.patience is None else now - rules.patience
    recent = [each for each in decisions if each.at > since]
    left_out = len(recent) if any(each.is_open for each in recent) else 0
    units: tuple[dict[str, _Unit], ...] = defaultdict(_Unit), defaultdict(_Unit)
    waiting = False
    for each in decisions:
        if left_out and each.at > since:
            continue
        reward = rules.default if each.is_open else each.reward
        waiting = waiting or (each.is_open and rules.patience is None)
        unit = units[each.held_out][each.unit or each.key]
        unit.decisions += 1
        if reward is not None:
            unit.rewarded += 1
            unit.reward += reward
    main, held = _Group(units[0].values()), _Group(units[1].values())
    problem = _problem(main, held, left_out, waiting, rules)
    difference = margin = None
    if problem is None and main.mean is not None and held.mean is not None:
        difference = main.mean - held.mean
        margin = NormalDist().inv_cdf(0.5 + level / 2) * math.sqrt(main.variance + held.variance)
    return Lift(
        main.mean,
        held.mean,
        difference,
        None if difference is None or margin is None else difference - margin,
        None if difference is None or margin is None else difference + margin,
        main.rewarded,
        held.rewarded,
        len(main.told),
        len(held.told),
        main.share,
        held.share,
        left_out,
        problem,
    )


def _problem(main: _Group, held: _Group, left_out: int, waiting: bool, rules: Rules) -> str | None:
    """Why there is no interval, and what to do; None if there is one."""
    if not held.decisions and not rules.holdout:
        return "Nobody is held out: open a study with holdout=0.05, say."
    if not held.decisions and not left_out:
        units = len(main.all)
        come = "1 unit has come" if units == 1 else f"{units} units have come"
        return f"Nobody has been held out yet: holdout is {rules.holdout:g}, and {come}."
    if waiting:
        missing = main.decisions - main.rewarded + held.decisions - held.rewarded
        return (
            f"{missing} decisions have no reward, and this study has no `wait`: rewards may still come. If "
            f"only some results are told, such as sales, means are too high. {TELL_ALL}"
        )
    if not _is_chance(main, held):
        return (
            f"More rewards are missing in one group than chance allows: {main.share:.1%} of decisions have "
            f"one, and {held.share:.1%} of those held out. Find out why. {TELL_ALL}"
        )
    if min(len(main.told), len(held.told)) < FEWEST_UNITS:
        wait = rules.wait if isinstance(rules.wait, str) else f"{rules.wait or 0:g} seconds"
        young = f" {left_out} decisions are left out: they are younger than the study's wait of {wait}."
        return f"There must be rewards of at least two units in each group.{young if left_out else ''}"
    return None


def _is_chance(main: _Group, held: _Group) -> bool:
    """May both groups have the same share of rewards?"""
    if not main.decisions or not held.decisions:
        return True
    return _z_test(main, held) >= CHANCE_LEVEL or _exact_test(main, held) >= CHANCE_LEVEL


def _z_test(main: _Group, held: _Group) -> float:
    """The two-sided p-value of a z test of equal shares, with units as draws of one law."""
    if main.rewarded * held.decisions == held.rewarded * main.decisions:
        return 1.0
    share = (main.rewarded + held.rewarded) / (main.decisions + held.decisions)
    units = [*main.all, *held.all]
    spread = math.fsum((unit.rewarded - share * unit.decisions) ** 2 for unit in units) / len(units)
    variance = spread * sum(len(group.all) / group.decisions**2 for group in (main, held))
    apart = abs(main.rewarded / main.decisions - held.rewarded / held.decisions)
    return 2.0 * NormalDist().cdf(-apart / math.sqrt(variance))


def _exact_test(main: _Group, held: _Group) -> float:
    """The two-sided p-value of Fisher's exact test of equal shares, with decisions as draws.

    Of all ways to spread the missing rewards over decisions, which are equally likely: the chance of a number
    among those held out that is no likelier than the one that was seen.
    """
    every, size = main.decisions + held.decisions, held.decisions
    missing = every - main.rewarded - held.rewarded

    def log_chance(here: int) -> float:
        ways = _log_choose(missing, here) + _log_choose(every - missing, size - here)
        return ways - _log_choose(every, size)

    seen = log_chance(size - held.rewarded) + 1e-9  # rounding
    fewest, most = max(0, size - (every - missing)), min(missing, size)
    likely = map(log_chance, range(fewest, most + 1))
    return math.fsum(math.exp(each) for each in likely if each <= seen)


def _log_choose(of: int, some: int) -> float:
    return math.lgamma(of + 1) - math.lgamma(some + 1) - math.lgamma(of - some + 1)
