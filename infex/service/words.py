"""Policies and rules of studies as sentences, for those who do not read code."""

from __future__ import annotations

from typing import Any

from infex.policies.base import Policy
from infex.registry import label_of, record_of
from infex.study.pause import is_paused, resumed_policy
from infex.study.settings import Rules

NAMES = {
    "LinUCB": "LinUCB, which tries arms that may be better than they look",
    "LinTS": "Thompson sampling, which tries arms by how likely they are the best",
    "Uniform": "an arm drawn at random",
}
ALONE = {
    "Greedy": "Always plays the arm with the best estimate, and never explores.",
    "Uniform": "Plays an arm drawn at random, every time.",
}


def policy_in_words(policy: Policy, unit: str = "") -> str:
    """What a built-in policy does, as a sentence; the label of any other. `unit` is that of the rewards.

    >>> from infex import Infex, every, guarded
    >>> from infex.policies import Uniform
    >>> policy_in_words(Infex(Uniform(), guarded(every(50), 100.0)), "EUR").partition("; ")[0]
    'Explores on every 50th decision, at most 100 EUR of estimated cost in all, with an arm drawn at random'
    """
    record = record_of(resumed_policy(policy))
    if record is None:
        return label_of(policy)
    if record["kind"] != "Infex":
        return ALONE.get(record["kind"], f"Every decision is taken by {_name(record)}.")
    when, otherwise = _when(record["schedule"], f" {unit}" if unit else ""), "the arm with the best estimate"
    if record["greedy"] is not None:
        otherwise = f"the arm of {_name(record['greedy'])}"
    comma = "," if ", " in when else ""
    found = f"Explores {when}{comma} with {_name(record['base'])}; otherwise plays {otherwise}."
    return f"Exploring is paused. Once it is resumed: {found}" if is_paused(policy) else found


def holdout_in_words(rules: Rules) -> str:
    """What those get who are held out."""
    match rules.holdout_policy:
        case {"arm": arm}:
            return f"always {arm}"
        case "greedy":
            return "the best arm by what was known at the beginning, or when it was frozen"
    return "an arm drawn at random"


def rules_in_words(rules: Rules) -> str:
    """Who decides for whom, as sentences; nothing if the policy decides for all but those held out."""
    found = []
    if rules.apprentice:
        found.append("It is an apprentice now: it decides nothing, and learns from what others play.")
    if rules.sticky:
        time = "for good" if rules.sticky is True else f"for {rules.sticky}"
        found.append(
            f"Whoever got an arm keeps it {time}{'' if isinstance(rules.sticky, bool | str) else ' s'}."
        )
    return " ".join(found)


def _name(record: dict[str, Any]) -> str:
    kind: str = record["kind"]
    return NAMES.get(kind, kind)


def _when(schedule: dict[str, Any], unit: str) -> str:
    """In which decisions a schedule explores, and within which limits."""
    inner = _when(schedule["schedule"], unit) if "schedule" in schedule else ""
    window = f" in any {schedule['window']:,} decisions" if schedule.get("window") else " in all"
    match schedule:
        case {"kind": "every", "m": 1}:
            return "on every decision"
        case {"kind": "every", "m": period}:
            return f"on every {_ordinal(period)} decision"
        case {"kind": "jittered", "m": period}:
            return f"on one of every {period:,} decisions, drawn at random"
        case {"kind": "listed", "rounds": rounds}:
            return f"on {len(rounds):,} listed decision{'s' * (len(rounds) > 1)}" if rounds else "never"
        case {"kind": "stretched", "r": r}:
            return f"ever more rarely (t/(log t)^{r:g} times in t decisions)"
        case {"kind": "power", "r": r}:
            return f"ever more rarely (t^{r:g} times in t decisions)"
        case {"kind": "logarithmic", "r": r}:
            return f"ever more rarely ((log t)^{r:g} times in t decisions)"
        case {"kind": "union", "members": members}:
            return " and ".join(_when(member, unit) for member in members)
        case {"kind": "budget", "limit": limit}:
            return f"{inner}, at most {limit:,} times{window}"
        case {"kind": "guarded", "cost_limit": limit}:
            return f"{inner}, at most {limit:,.12g}{unit} of estimated cost{window}"
        case {"kind": "until_certain"}:
            return f"{inner}, until one arm is surely the best"
        case {"kind": "doubtful"}:
            return f"{inner}, while another arm may be better"
        case {"kind": "ledger", "limit": limit, "schedule": {"kind": "every", "m": 1}}:
            return f"when greedy decisions are expected to have lost {limit:,.12g}{unit}"
        case {"kind": "ledger", "limit": limit}:
            return f"{inner}, when greedy decisions are expected to have lost {limit:,.12g}{unit}"
        case {"kind": "paused"}:
            return f"{inner}, but for pauses"
        case {"kind": "catching_up"}:
            return f"{inner}, made up for where a request forbids it"
    return f"when {schedule['kind']} says so"


def _ordinal(count: int) -> str:
    ending = "th" if count // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(count % 10, "th")
    return f"{count:,}{ending}"
