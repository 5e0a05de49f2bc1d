"""Policies that hold another one, their base."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from infex.policies import Policy


@runtime_checkable
class Wrapper(Protocol):
    """A policy with a `base`, such as `Infex`, or a user's own."""

    base: Policy | None


def base_in(policy: object) -> Policy | None:
    """The policy that another one holds; None if it holds none."""
    return policy.base if isinstance(policy, Wrapper) else None
