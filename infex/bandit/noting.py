"""Whose note is whose: what a policy noted of its own choices, and whether another can read it."""

from __future__ import annotations

from typing import Any

from infex.policies.traits import Policy, traits_of


def shape(policy: Policy) -> list[str]:
    """What a policy is made of, by the names of its classes: whose note it can read."""
    names = []
    for link in traits_of(policy).chain:
        gate = traits_of(link).gate
        layers = () if gate is None else gate.layers
        names += [type(link).__name__, *(type(layer).__name__ for layer in layers)]
    return names


def fits(policy: Policy, note: Any, dim: int) -> bool:
    """Can the policy read a note? One that says nothing of its notes reads any."""
    accepts = traits_of(policy).accepts
    return note is None or accepts is None or accepts(note, dim)
