"""One decision of a bandit: taken, entered, and found again when its reward comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from infex.arrays import fitting_rows
from infex.bandit.arms import Asked, Fixed, Labels
from infex.bandit.context_reading import checked_rules, counting, read
from infex.bandit.decision import Decided, Decision
from infex.bandit.explaining import explained
from infex.bandit.foreseeing import await_reward
from infex.bandit.lives import key_of
from infex.bandit.noting import fits
from infex.bandit.offering import requested
from infex.bandit.pending_block import Pending
from infex.checks import quick, real
from infex.errors import InvalidChoice, InvalidRound, UnknownDecision
from infex.linear import InBlock, Layout, On, Separate
from infex.policies.choice import Choice, checked_choice
from infex.policies.masks import refuse_turn
from infex.policies.reviving import revived
from infex.policies.traits import Traits
from infex.rounds import Taken
from infex.rounds.account import Account
from infex.rounds.open_shortcut import OpenShortcut
from infex.rounds.shortcut import Glance, Shortcut

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit
    from infex.bandit.recording import Notebook


def decide(bandit: Bandit, asked: Asked, own_id: str | None) -> tuple[Decision, Taken]:
    """The next decision, and what entering it changes; nothing has changed yet."""
    asked = read(bandit._arms, asked)
    offered = bandit._arms.offer(asked)
    player = bandit._player
    t = player.account.t + 1
    key = key_for(bandit, own_id, t)
    evidence = requested(player.evidence(offered.columns, offered.allowed), asked, offered.labels)
    before = stamp(bandit)
    taken = player.decide(t, evidence, bandit._draws.at(t))
    if stamp(bandit) != before:
        raise InvalidChoice(f"the policy changed its own bandit while it chose in round {t}")
    return explained(key, taken, evidence, offered.labels, bandit._radius), counting(taken, asked)


def ask_at_length(bandit: Bandit, asked: Asked, own_id: str | None) -> Decision:
    """Asks any question."""
    decision, taken = decide(bandit, asked, own_id)
    bandit._player.enter(taken)
    await_reward(bandit, decision, taken.on)
    return decision


def ask_plainly(bandit: Bandit, own_id: str | None) -> Decision | None:
    """Asks for fixed arms, where the policy's decision can be had in one call."""
    player, arms = bandit._player, bandit._arms
    account, shortcut = player.account, player.shortcut
    if shortcut is None or arms.allowed is not None or account.owed:
        return None
    t = account.t + 1
    seen = None
    if seen is None or seen[1][0] < 0:
        return None  # no score is a number: the long way says so
    key = bandit._lives.next_id(t) if own_id is None else key_for(bandit, own_id, t)
    decision = taken_quickly(account, shortcut, key, t, seen, arms.labels)
    await_reward(bandit, decision, seen[1][0])
    return decision


def taken_quickly(
    account: Account, says: Shortcut | OpenShortcut, key: str, t: int, seen: Glance, labels: Labels
) -> Decision:
    """The decision that a shortcut saw, entered into the account."""
    explores, (arm, greedy, estimate, best, margin) = seen
    reason, turn = says.explored if explores else says.greedy
    if explores:
        loss = best - estimate if best > estimate else 0.0
        account.enter_explored(t, turn, loss, arm != greedy)
    else:
        account.t = t
    fields = (
        key, t, arm, None if labels is None else labels[arm], explores, greedy,
        estimate, estimate - margin, estimate + margin,
        1.0, reason, 1.0 if explores else 0.0, 1.0 if explores else None,
    )  # fmt: skip
    return quick(Decision, fields)


def ask_noting(bandit: Bandit, notebook: Notebook, asked: Asked, own_id: str | None) -> Decision:
    """Asks, and writes the decision to the log before it is entered."""
    decision, taken, row = notebook.decided(asked, own_id)
    notebook.write([row])
    bandit._player.enter(taken)
    await_reward(bandit, decision, taken.on)
    return decision


def enter(bandit: Bandit, decided: Decided) -> None:
    """Takes a decision as it was decided."""
    if not isinstance(decided, Decided):
        raise InvalidChoice(f"enter takes what `decide` gave, a Decided; got a {type(decided).__name__}")
    decision, taken, own_id, changes, played = decided
    player = bandit._player
    if type(taken.t) is not int or taken.t != bandit.t + 1:
        raise InvalidRound(
            f"{decision.id!r} was decided as round {taken.t}, and round {bandit.t + 1} is next: another "
            "decision was taken since, or one is missing; decide anew"
        )
    if changes != player.account.changes:
        raise InvalidRound(f"arms or the policy have changed since {decision.id!r} was decided: decide anew")
    if not decided.agrees:
        raise InvalidChoice(f"the decision {decision.id!r} is not what was taken")
    bandit._waiting.refuse(decision.id)
    entered = _checked_taken(bandit, taken)
    if played is not None and played != features_at(bandit, entered.choice.arm):
        raise InvalidRound(f"{decision.id!r} was decided among other arms: decide anew")
    if own_id:
        bandit._lives.checked(decision.id)
    else:
        bandit._lives.adopt(decision.id, taken.t)
    if bandit._notebook is not None:
        bandit._notebook.write([bandit._notebook.entered(decision, entered)])
    player.enter(entered)
    await_reward(bandit, decision, entered.on)
    player.account.hear()  # rewards may have been told since it was decided


def features_at(bandit: Bandit, arm: int) -> tuple[float, ...] | None:
    """The features of one of the fixed arms; None where arms change."""
    arms = bandit._arms
    if not isinstance(arms, Fixed):
        return None
    return tuple(arms.columns[:, arm].tolist()) if 0 <= arm < arms.columns.shape[1] else ()


def _checked_taken(bandit: Bandit, taken: Taken) -> Taken:
    """What was taken, if all of it can be entered here: it may come from a journal."""
    arms, policy = bandit._arms, bandit.policy
    layout = arms.layout
    count = layout.arms if isinstance(layout, Separate) else layout.shape[1] or taken.choice.arm + 1
    choice = checked_choice(taken.choice, max(count, 1), arms.dim)
    refuse_turn(choice, bandit._player.account.owed)
    if not _has_turns(bandit._player.traits, choice.turn is not None):
        raise InvalidChoice(f"the turn {choice.turn!r} cannot be one of {type(policy).__name__}'s")
    note = revived(policy, choice.note)
    if not fits(policy, note, arms.dim):
        raise InvalidChoice(f"the note of round {taken.t} is not one of {type(policy).__name__}'s")
    on = _checked_on(taken.on, layout)
    if not _is_learnt_on(on, choice, isinstance(arms, Fixed)):
        place = f"arm {on}" if isinstance(on, int) else "the features that are given"
        raise InvalidChoice(f"the reward of arm {choice.arm} cannot be learnt on {place}")
    loss = real("loss", taken.loss, least=0, most=None if choice.explored else 0.0, error=InvalidChoice)
    noticed = checked_rules(arms, taken.noticed)
    return Taken(taken.t, choice._replace(note=note), on, loss, taken.different, noticed)


def _has_turns(traits: Traits, has: bool) -> bool:
    """Can a policy's choice have a turn, or none? With a schedule it has one, and infex's own only then."""
    if traits.gate is not None:
        return has
    return not (has and traits.trusted and not traits.gates)


def _checked_on(on: On, layout: Layout) -> On:
    """What a reward is learnt on, if there is such an arm, or so many features."""
    if isinstance(layout, Separate):
        if not isinstance(on, InBlock) or not 0 <= on.arm < layout.arms:
            raise InvalidChoice(f"a reward must be learnt on one of {layout.arms} arms in a context")
        return InBlock(on.arm, fitting_rows("a context", np.atleast_2d(on.context), layout.row)[0])
    if isinstance(on, InBlock) or (isinstance(on, int) and not 0 <= on < layout.shape[1]):
        arm = on.arm if isinstance(on, InBlock) else on
        raise InvalidChoice(f"a reward cannot be learnt on arm {arm} of {layout.shape[1]}")
    return on if isinstance(on, int) else fitting_rows("what is learnt on", np.atleast_2d(on), len(layout))[0]


def _is_learnt_on(on: On, choice: Choice, fixed: bool) -> bool:
    """Can the reward of a choice be learnt on that? Of arms that change, nothing but the row is known."""
    if isinstance(on, InBlock):
        return choice.features is None and on.arm == choice.arm
    if choice.features is not None:
        return not isinstance(on, int) and np.array_equal(on, choice.features)
    return on == choice.arm if fixed and isinstance(on, int) else not fixed


def stamp(bandit: Bandit) -> tuple[int, int, int]:
    """What any change of a bandit changes: decisions taken, changes of arms and policy, rewards told."""
    account = bandit._player.account
    return account.t, account.changes, bandit._player.memory.all.told


def key_for(bandit: Bandit, own_id: str | None, t: int) -> str:
    """The id of round t: the caller's own, or one of the bandit's."""
    if own_id is None:
        return bandit._lives.next_id(t)
    key = bandit._lives.checked(own_id)
    bandit._waiting.refuse(key)
    return key


def pending_of(bandit: Bandit, decision: Decision | str | int) -> Pending:
    """The pending decision that is meant, and what its reward is learnt on."""
    if type(decision) is Decision:  # the common case, in less time
        single = bandit._waiting.singles.get(decision[0])
        if single is not None and single[0] is decision:
            return single
    elif type(decision) is str and (named := bandit._waiting.singles.get(decision)) is not None:
        return named
    key = named_by(decision)
    pending = bandit._waiting.find(key)
    if pending is None:
        bandit._lives.refuse(key, bandit.t)
    assert pending is not None
    refuse_other(decision, pending[0])
    return pending


def named_by(decision: Decision | str | int) -> str:
    """The id of a decision, given as it was or by its id."""
    return decision.id if isinstance(decision, Decision) else key_of(decision)


def refuse_other(decision: Decision | str | int, mine: Decision) -> None:
    """Refuses a decision that is another than the bandit's own under the same id."""
    if isinstance(decision, Decision) and mine != decision:
        raise UnknownDecision(
            f"the pending decision {mine.id!r} is of round {mine.t} and arm {mine.arm}; what was given is of "
            f"round {decision.t} and arm {decision.arm}: of another bandit, or told already under the same id"
        )
