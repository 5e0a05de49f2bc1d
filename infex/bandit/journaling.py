"""What a journal needs of a bandit: decisions entered as they were taken, and all of its state as bytes."""

from __future__ import annotations

from collections.abc import Iterator

from infex.bandit import saving
from infex.bandit.bandit import Bandit
from infex.bandit.decision import Decided, Decision
from infex.bandit.foreseeing import await_reward
from infex.errors import InvalidChoice, InvalidRound
from infex.features import FeatureMap
from infex.linear import InBlock, Layout, On, Separate
from infex.linear.estimating import Estimator
from infex.policies.choice import Turn
from infex.policies.traits import Policy


def enter_own(bandit: Bandit, decided: Decided) -> None:
    """Enters what this bandit has decided just now, with nothing in between: there is nothing to check."""
    with bandit._lock:
        bandit._player.enter(decided.taken)
        await_reward(bandit, decided.decision, decided.taken.on)


def enter_again(bandit: Bandit, decided: Decided) -> None:
    """Enters what a journal says was decided, as `Bandit.enter` does; a plain greedy round in less time."""
    choice, on = decided.taken.choice, decided.taken.on
    if choice.turn is not Turn.REST or choice.note is not None or choice.features is not None:
        bandit.enter(decided)
        return
    with bandit._lock:
        if decided.taken.t != bandit.t + 1 or decided.changes != bandit._player.account.changes:
            raise InvalidRound(f"{decided.decision.id!r} is not of round {bandit.t + 1}, which is next")
        if not decided.own_id or bandit._player.traits.gate is None or not _is_one(on, bandit._arms.layout):
            raise InvalidChoice(f"what was decided for {decided.decision.id!r} does not fit this bandit")
        bandit._waiting.refuse(decided.decision.id)
        bandit._player.enter(decided.taken)
        await_reward(bandit, decided.decision, on)


def _is_one(on: On, layout: Layout) -> bool:
    """Can a reward be learnt on that, where arms stand so?"""
    if isinstance(layout, Separate):
        return isinstance(on, InBlock) and 0 <= on.arm < layout.arms and len(on.context) == layout.dim
    if isinstance(on, int):
        return 0 <= on < int(layout.shape[1])
    return not isinstance(on, InBlock) and len(on) == len(layout)


def state_bytes(bandit: Bandit) -> bytes:
    """All of a bandit, pending decisions too; CannotSave where a policy keeps a state of its own."""
    with bandit._lock:
        return saving.packed(bandit)


def bandit_from(
    content: bytes, policy: Policy | None, estimator: Estimator | None, features: FeatureMap | None
) -> Bandit:
    """The bandit of `state_bytes`; what holds code of yours must be given again."""
    return saving.unpacked(content, policy, estimator, features)


def waiting_in(bandit: Bandit) -> Iterator[tuple[Decision, On]]:
    """The decisions that wait for a reward, oldest first, each with what that will be learnt on."""
    with bandit._lock:
        yield from bandit._waiting
