"""What policies remember of their own choices, and what rewards are learnt on, as records."""

from __future__ import annotations

from typing import Any, get_args, get_origin, get_type_hints

from infex.arrays import Floats, fitting
from infex.checks import whole
from infex.errors import InvalidRecord
from infex.models.layout import ArmRow, DesignRow
from infex.policies.base import InfexState
from infex.policies.choice import Reason, check_policy_state
from infex.policies.controls import GuardedState
from infex.policies.greedy import GreedyFirstState
from infex.policies.ucb import SwitchingState
from infex.policies.until_certain import CertainState

POLICY_STATES: dict[str, type[Any]] = {  # by the names that files have
    "InfexNote": InfexState,
    "FirstNote": GreedyFirstState,
    "Switched": SwitchingState,
    "GuardedState": GuardedState,
    "CertainState": CertainState,
}

KINDS = {state: kind for kind, state in POLICY_STATES.items()}
PLAIN_KINDS = (bool, int, float, str, type(None))

REASONS = {str(reason): reason for reason in Reason}


def policy_state_to_record(policy_state: object) -> Any:
    """A policy state as plain data: what has names keeps them, and a tuple is told from a list."""
    if isinstance(policy_state, tuple):
        if type(policy_state) in KINDS:
            return {"kind": KINDS[type(policy_state)]} | {
                name: policy_state_to_record(part)
                for name, part in policy_state._asdict().items()  # type: ignore[attr-defined]
            }
        return {"kind": "tuple", "parts": [policy_state_to_record(part) for part in policy_state]}
    if isinstance(policy_state, dict):
        return {
            "kind": "dict",
            "parts": {name: policy_state_to_record(part) for name, part in policy_state.items()},
        }
    return (
        [policy_state_to_record(part) for part in policy_state]
        if isinstance(policy_state, list)
        else policy_state
    )


def policy_state_from_record(kept: object) -> Any:
    """The policy state that a record is of."""
    if isinstance(kept, list):
        return [policy_state_from_record(part) for part in kept]
    if not isinstance(kept, dict):
        check_policy_state(kept)
        return kept
    kind, parts = kept.get("kind"), kept.get("parts")
    if kind == "tuple" and isinstance(parts, list):
        return tuple(policy_state_from_record(part) for part in parts)
    if kind == "dict" and isinstance(parts, dict):
        return {str(name): policy_state_from_record(part) for name, part in parts.items()}
    if kind not in POLICY_STATES:
        raise InvalidRecord(f"no policy state is called {kind!r}")
    try:
        policy_state = POLICY_STATES[kind](
            **{name: policy_state_from_record(part) for name, part in kept.items() if name != "kind"}
        )
    except TypeError as error:
        raise InvalidRecord(f"the policy state {kind} cannot be read: {error}") from None
    for name, hint in get_type_hints(POLICY_STATES[kind]).items():
        hints = (hint,) if get_origin(hint) is tuple else get_args(hint) or (hint,)
        if not any(_is_of(policy_state._asdict()[name], part) for part in hints):
            raise InvalidRecord(
                f"{name} of the policy state {kind} cannot be {policy_state._asdict()[name]!r}"
            )
    return policy_state


def _is_of(value: object, hint: Any) -> bool:
    """Is a part of a policy state of its kind? A whole number is a float too; of `Any` nothing is asked."""
    if get_origin(hint) is tuple:
        return isinstance(value, tuple)
    if hint not in PLAIN_KINDS:
        return True
    if isinstance(value, bool):
        return hint is bool
    return isinstance(value, int | float if hint is float else hint)


def on_record(on: DesignRow) -> Any:
    """What a reward is learnt on, as plain data."""
    if isinstance(on, ArmRow):
        return {"arm": on.arm, "context": on.context.tolist()}
    return on if isinstance(on, int) else on.tolist()


def on_of(kept: object) -> DesignRow:
    """What a record says a reward is learnt on."""
    if isinstance(kept, dict):
        arm = whole("the arm that is learnt on", kept["arm"], least=0, error=InvalidRecord)
        return ArmRow(arm, fitting("on", kept["context"], (-1,)))
    if isinstance(kept, list):
        features: Floats = fitting("on", kept, (-1,))
        return features
    return whole("on", kept, error=InvalidRecord)


def reason_of(text: str) -> Reason | str:
    """A reason by its text: one of infex's own, or a user's."""
    return REASONS.get(text, text)
