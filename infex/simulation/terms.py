"""What the runs of one policy share."""

from __future__ import annotations

from typing import NamedTuple

from infex.policies.traits import Policy


class RunTerms(NamedTuple):
    """All that is said of a run but its problem and its seed; `label` names the policy's draws."""

    policy: Policy
    label: str
    horizon: int
    penalty: float = 1.0
    record: bool = False
