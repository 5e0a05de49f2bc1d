"""One decision of a bandit: taken, entered, and found again when its reward comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from infex.bandit.arms import Asked
from infex.bandit.decision import Decided, Decision
from infex.bandit.explaining import explained
from infex.bandit.lives import key_of
from infex.bandit.waiting import Pending
from infex.checks import LARGEST_REWARD, quick, real
from infex.errors import InvalidReward, InvalidRound, UnknownDecision
from infex.policies.confidence import warn_of_large
from infex.rounds import Taken

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit


def decide(bandit: Bandit, asked: Asked, own_id: str | None) -> tuple[Decision, Taken]:
    """The next decision, and what entering it changes; nothing has changed yet."""
    offered = bandit._arms.offer(asked)
    player = bandit._player
    t = player.account.t + 1
    key = key_for(bandit, own_id, t)
    evidence = player.evidence(offered.columns, offered.allowed)
    taken = player.decide(t, evidence, bandit._draws.at(t))
    return explained(key, taken, evidence, offered.labels, bandit._radius), taken


def ask_quickly(bandit: Bandit, own_id: str | None) -> Decision | None:
    """Asks for all fixed arms, where the policy's decision can be had in one call."""
    player, arms = bandit._player, bandit._arms
    account, shortcut = player.account, player.shortcut
    t = account.t + 1
    if shortcut is None or arms.allowed is not None or (seen := player.glance(t)) is None:
        return None
    explores, (arm, greedy, estimate, best, margin) = seen
    if arm < 0:
        return None  # no score is a number: the long way says so
    key = key_for(bandit, own_id, t)
    reason, turn = shortcut.explored if explores else shortcut.greedy
    if explores:
        account.enter(t, True, turn, max(best - estimate, 0.0), arm != greedy)
    else:
        account.t = t
    labels = arms.labels
    fields = (
        key, t, arm, None if labels is None else labels[arm], explores, greedy,
        estimate, estimate - margin, estimate + margin,
        1.0, reason, 1.0 if explores else 0.0, 1.0 if explores else None,
    )  # fmt: skip
    decision = quick(Decision, fields)
    bandit._waiting.add(decision, arm)
    return decision


def enter(bandit: Bandit, decided: Decided) -> None:
    """Takes a decision as it was decided."""
    decision, taken = decided
    if taken.t != bandit.t + 1:
        raise InvalidRound(f"after round {bandit.t} round {bandit.t + 1} is next; got one of {taken.t}")
    bandit._waiting.refuse(decision.id)
    bandit._lives.adopt(decision.id, taken.t)
    bandit._player.enter(taken)
    bandit._waiting.add(decision, taken.on)


def key_for(bandit: Bandit, own_id: str | None, t: int) -> str:
    """The id of round t: the caller's own, or one of the bandit's."""
    if own_id is None:
        return bandit._lives.next_id(t)
    key = bandit._lives.checked(own_id)
    bandit._waiting.refuse(key)
    return key


def pending_of(bandit: Bandit, decision: Decision | str | int) -> Pending:
    """The pending decision that is meant, and what its reward is learnt on."""
    key = decision.id if isinstance(decision, Decision) else key_of(decision)
    pending = bandit._waiting.find(key)
    if pending is None:
        bandit._lives.refuse(key, bandit.t)
    assert pending is not None
    mine = pending[0]
    if mine is not decision and isinstance(decision, Decision) and mine != decision:
        raise UnknownDecision(f"another bandit took {decision}; decision {key!r} here is {mine}")
    return pending


def checked_reward(bandit: Bandit, reward: object) -> float:
    """The reward as a float; warns, once, if the settings of the policy are far too small for it."""
    value = real("reward", reward, least=-LARGEST_REWARD, most=LARGEST_REWARD, error=InvalidReward)
    if abs(value) > bandit._greatest:
        bandit._greatest = LARGEST_REWARD
        warn_of_large(bandit.policy, value, stacklevel=3)
    return value
