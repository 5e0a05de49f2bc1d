"""What a journal needs of a bandit: decisions entered as they were taken, and all of its state as bytes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from infex.bandit import extending, saving, turnover
from infex.bandit.arms import Mapped, context_within
from infex.bandit.bandit import Bandit
from infex.bandit.context_reading import read_one
from infex.bandit.deciding import key_for, pending_of
from infex.bandit.decision import Decided, Decision
from infex.bandit.foreseeing import await_reward
from infex.bandit.noting import fits
from infex.bandit.relocation import Relocation
from infex.bandit.reward_rule import limits
from infex.checks import LARGEST_REWARD, quick, told
from infex.errors import InvalidChoice, InvalidRound, NotKept
from infex.features import FeatureMap
from infex.features.table_encoding import NONE_GIVEN, Categories, Numbers
from infex.linear import InBlock, Layout, On, Separate
from infex.linear.estimating import Estimator
from infex.linear.offers import GONE
from infex.linear.revising import Revision
from infex.policies.choice import Choice, Turn
from infex.policies.masks import refuse_turn
from infex.policies.reviving import revived
from infex.policies.traits import Policy
from infex.rounds import Taken
from infex.rounds.shortcut import Glance, Said

PLAINLY_ASKED = {"context"}
"""What the common question has."""


def decide_own(bandit: Bandit, options: dict[str, Any], key: str) -> Decided:
    """What `bandit.decide(**options, id=key)` gives, the common question in a third of the time."""
    return bandit.decide(**options, id=key)


def refuse_options(bandit: Bandit, options: dict[str, Any], key: str) -> None:
    """Refuses what `decide_own` would refuse now."""
    with bandit._lock:
        arms = bandit._arms
        plain = options.keys() <= PLAINLY_ASKED and bandit._player.shortcut is not None
        if plain and isinstance(arms, Mapped) and isinstance(arms.layout, Separate):
            context_within(arms, read_one(arms, options.get("context")))
            key_for(bandit, key, bandit.t + 1)
            return
    bandit.decide(**options, id=key)


def plain_decided(
    bandit: Bandit, key: str, t: int, seen: Glance, says: Said, on: On, noticed: tuple[str, ...] = ()
) -> Decided:
    """What was seen of round t as a decision: `says` are its reason and turn, `on` what is learnt on."""
    player, labels = bandit._player, bandit._arms.labels
    explores, (arm, greedy, estimate, best, margin) = seen
    reason, turn = says
    shares = (1.0, 1.0, 1.0) if explores else (1.0, 0.0, None)
    label = None if labels is None else labels[arm]
    fields = (key, t, arm, label, explores, greedy, estimate, estimate - margin, estimate + margin)
    decision = quick(Decision, (*fields, shares[0], reason, *shares[1:]))
    said = reason if player.traits.gate is not None else ""  # by a policy without a schedule
    choice = quick(Choice, (arm, explores, None, said, None, *shares, turn))
    loss = max(best - estimate, 0.0) if explores else 0.0
    taken = quick(Taken, (t, choice, on, loss, explores and arm != greedy, noticed))
    return quick(Decided, (decision, taken, True, player.account.changes, None))


def enter_own(bandit: Bandit, decided: Decided) -> None:
    """Enters what this bandit has decided just now, with nothing in between: there is nothing to check."""
    with bandit._lock:
        bandit._player.enter(decided.taken)
        await_reward(bandit, decided.decision, decided.taken.on)


def enter_again(bandit: Bandit, decided: Decided) -> None:
    """Enters what a journal says was decided, as `Bandit.enter` does; a plain greedy round in less time."""
    choice = decided.taken.choice
    if choice.turn is not Turn.REST or choice.note is not None or choice.features is not None:
        bandit.enter(decided)
        return
    with bandit._lock:
        refuse_unfit(bandit, decided)
        bandit._player.enter(decided.taken)
        await_reward(bandit, decided.decision, decided.taken.on)
        bandit._player.account.hear()  # rewards may have been told since it was decided


def refuse_unfit(bandit: Bandit, decided: Decided) -> None:
    """Refuses a decision without note and features that this bandit cannot have taken now."""
    decision, (t, choice, on, loss, _, _), own_id, changes, _ = decided
    account, traits = bandit._player.account, bandit._player.traits
    if t != account.t + 1 or changes != account.changes:
        raise InvalidRound(f"{decision.id!r} is not of round {account.t + 1}, which is next")
    turns = (choice.turn is not None) == (traits.gate is not None)
    if not own_id or not turns or not 0.0 <= loss < math.inf or not _is_one(on, bandit._arms.layout):
        raise InvalidChoice(f"what was decided for {decision.id!r} does not fit this bandit")
    if choice.turn is not Turn.REST and choice.turn is not None:
        refuse_turn(choice, account.owed)
    bandit._waiting.refuse(decision.id)


def _is_one(on: On, layout: Layout) -> bool:
    """Can a reward be learnt on that, where arms stand so?"""
    if isinstance(layout, Separate):
        return isinstance(on, InBlock) and 0 <= on.arm < layout.arms and len(on.context) == layout.row
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


def remove_arms(bandit: Bandit, which: object) -> Relocation:
    """Removes arms as `Bandit.remove_arms` does, and returns what changed for rewards told before."""
    with bandit._lock:
        return turnover.remove_arms(bandit, which)


def extend(
    bandit: Bandit,
    more: int | None = None,
    numbers: Numbers = NONE_GIVEN,
    categories: Categories = NONE_GIVEN,
    longest: float | None = None,
) -> Relocation:
    """Adds features as `Bandit.extend` does, and returns what changed for rewards told before."""
    with bandit._lock:
        return extending.extend(bandit, more, numbers, categories, longest)


class Placed(NamedTuple):
    """Where a decision's arm is now (GONE if it was removed), and what its reward is learnt on now."""

    arm: int
    on: On


class Prepared(NamedTuple):
    """What is to be known of a reward that is about to be told, if it may be changed later.

    `counted` is the weight with which it is learnt, `turn` and `own_turn` its numbers among all rewards and
    among those of exploring rounds.
    """

    counted: float
    turn: int
    own_turn: int | None


def prepared(
    bandit: Bandit, decision: Decision, reward: float, weight: float, on: On | None = None
) -> Prepared:
    """That of a decision that waits for its reward, or of one that was dropped, which is learnt `on` that."""
    with bandit._lock:
        memory = bandit._player.memory
        ground = pending_of(bandit, decision.id)[1] if on is None else on
        counted = memory.counted(ground, reward, weight)
        return quick(Prepared, (counted, *memory.turns(ground, decision.explored)))


def revise(
    bandit: Bandit, decision: Decision, now: Placed, before: float | None, after: float, learnt: Prepared
) -> None:
    """A reward that was told as `before`, or None if nothing was learnt, is `after`: as if it had come so."""
    arm, on = now
    with bandit._lock:
        player = bandit._player
        if before is None:
            refuse_reward(bandit, after)
            player.learn(arm, on, after, decision.explored, learnt.counted)
            if player.memory.pulls is not None and arm != GONE:
                player.memory.pulls[arm] += 1
            return
        if player.traits.pupils:
            raise NotKept(
                f"{told(bandit.policy)} keeps a state of its own, of which no reward can be changed"
            )
        refuse_reward(bandit, after)
        player.memory.revise(Revision(on, before, after, learnt.counted, learnt.turn), learnt.own_turn)
        player.account.hear()


def enter_count(bandit: Bandit, taken: Taken) -> None:
    """Enters a round of which nothing but its counts is left: no reward will be told."""
    with bandit._lock:
        if taken.t != bandit.t + 1:
            raise InvalidRound(f"round {taken.t} was erased, and round {bandit.t + 1} is next")
        refuse_turn(taken.choice, bandit._player.account.owed)
        note = revived(bandit.policy, taken.choice.note)
        if not fits(bandit.policy, note, bandit._arms.dim):
            raise InvalidChoice(f"the note of round {taken.t} is not one of this policy's")
        bandit._player.enter(taken._replace(choice=taken.choice._replace(note=note)))


def refuse_reward(bandit: Bandit, reward: float) -> None:
    """Refuses a reward that is out of the bandit's range, or that its estimator cannot take in."""
    bandit._rule.refuse_outside(reward)
    bandit._player.memory.all.refuse(reward)


def warn_no_more(bandit: Bandit) -> None:
    """Lets a bandit take large rewards without a word: whoever told them first was warned."""
    bandit._fitting = LARGEST_REWARD
    bandit._least, bandit._greatest = limits(bandit._rule, bandit._fitting)
