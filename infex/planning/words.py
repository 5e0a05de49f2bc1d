"""A plan in words, as a line of Python, and as plain data."""

from __future__ import annotations

import math
from typing import Any

from infex.planning.race import FEW, Lane, Race
from infex.policies import Infex


def code_of(policy: Any) -> str:
    """The policy as a line of Python.

    >>> import infex
    >>> code_of(infex.Infex(infex.LinUCB(scale=0.2), infex.every(20), data="own"))
    'infex.Infex(infex.LinUCB(scale=0.2), infex.every(20), data="own")'
    """
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


def rounds_of(policy: Any, horizon: int) -> str:
    """In which rounds it explores.

    >>> import infex
    >>> rounds_of(infex.Infex(infex.LinUCB(), infex.every(20)), 1000)
    'in rounds 20, 40, 60, 80, ..., 1,000'
    """
    if not isinstance(policy, Infex):
        return "in every round"
    schedule: Any = policy.schedule
    count = schedule.count(horizon)
    first = [f"{schedule.when(n):,}" for n in range(1, min(count, 4) + 1)]
    last = f", ..., {schedule.when(count):,}" if count > 4 else ""
    return f"in rounds {', '.join(first)}{last}"


def reasons(race: Race, alive: list[Lane], best: Lane, chosen: Lane, settled: bool, slack: float) -> str:
    """Why this one, and what is not sure about it."""
    within = f"{1 + slack:g} times"
    if chosen is best:
        few = " among those whose neighbours do well, too"
        lucky = any(lane.mean < best.mean for lane in alive if lane.rounds == best.rounds)
        words = (
            f"It has the lowest mean regret{few if lucky else ''}, {chosen.mean:,.0f}, "
            f"and none that explores less is shown to be within {within} of it."
        )
    else:
        words = (
            f"It explores least of those whose mean regret is shown to be within {within} the lowest: "
            f"{chosen.mean:,.0f} against {best.mean:,.0f} of {best.candidate.expression}."
        )
    if not settled:
        return f"{words} {_doubt(race, alive, chosen)}"
    rarer = sum(lane.candidate.explorations < chosen.candidate.explorations for lane in alive)
    if not rarer:
        return words
    return (
        f"{words} Of {rarer} that explore less this could be neither shown nor ruled out in the time given."
    )


def _doubt(race: Race, alive: list[Lane], chosen: Lane) -> str:
    """What is missing for a settled choice."""
    words = ["Not settled: another may still be better by more than that."]
    waiting = sum(lane.rounds < race.horizon for lane in alive)
    if chosen.rounds < race.horizon:
        words.append(
            f"No candidate was played to the end: figures are of the first {chosen.rounds:,} rounds."
        )
    elif waiting:
        words.append(f"{waiting} of {len(alive)} candidates that may be as good were not played to the end.")
    elif chosen.regret.size < FEW:
        words.append(f"It met {chosen.regret.size} problems, too few to see what goes wrong but rarely.")
    return " ".join([*words, "Give it more seconds."])


def json_of(found: Any) -> dict[str, Any]:
    """A plan as plain data, in which what is not a number is null."""
    data = {
        "recommended": found.recommended,
        "code": found.code,
        "settled": found.settled,
        "explorations": found.explorations,
        "share": found.explorations / found.horizon,
        "horizon": found.horizon,
        "rounds": found.rounds,
        "keep_within": found.keep_within,
        "arms_divided_by": found.longest,
        "when": found.when,
        "why": found.why,
        "regret": found.regret,
        "against": found.against,
        "candidates": list(found.candidates),
        "front": [each.expression for each in found.front],
        "arms": list(found.arms),
    }
    plain: dict[str, Any] = _plain(data)
    return plain


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
