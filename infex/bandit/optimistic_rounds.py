"""Batches in which a policy is optimistic, where each arm has a regression: one compiled call for all rounds.

It is what as many calls of `ask` give, to the last bit; a test compares them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from infex.arrays import Floats, Integers
from infex.bandit.batch_columns import greedy_decisions
from infex.bandit.decisions import BEST_ARM, CHANCE, LAW, WHY, Decisions
from infex.bandit.pending_block import Block
from infex.bandit.questions import Greedily, InContexts, Questions
from infex.bandit.row_rules import ALL_OFFERED
from infex.kernels.batch_ahead import ahead_of, batch_of, decide_ahead
from infex.kernels.given_arms import best_in_blocks, widths_in_blocks
from infex.linear.awaited_sums import BlockSums
from infex.linear.block_ridge import BlockRidge
from infex.linear.foresight import Foresight
from infex.linear.grounds import Grounds, order_of_arms
from infex.linear.offers import InContext, Radius
from infex.rounds.shortcut import Shortcut

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit


FEWEST_DUE = 2  # exploring rounds for which it takes less time


class OptimisticAnswers(NamedTuple):
    """The arms that are played, the greedy ones and their estimates, and sums over what is pending then."""

    answers: Greedily
    greedy: Integers
    best: Floats
    awaited: Integers


def ask_optimistically(bandit: Bandit, questions: Questions, keys: list[str] | None) -> Decisions | None:
    """All decisions of a batch; None where they must be taken in another way."""
    player, inside = bandit._player, _plain_rows(bandit, questions)
    shortcut, ridge, t = player.shortcut, player.memory.all, player.account.t
    if inside is None or shortcut is None or not shortcut.optimistic or player.account.owed:
        return None
    due = shortcut.due(t + 1, t + len(inside)) - (t + 1)
    if type(ridge) is not BlockRidge or due.size < FEWEST_DUE:
        return None
    evidence = player.evidence(InContext(inside[0]))
    choosing, radius = shortcut.choosing_radius(evidence), bandit._radius(evidence)
    betas = np.array(np.broadcast_to(choosing, ridge.layout.arms), dtype=np.float64)
    fine = np.all(betas >= 0.0) and np.all(radius >= 0.0)
    played = _played(ridge, player.memory.foresight, inside, due, betas) if fine else None
    if played is None:
        return None
    decisions = _decisions(bandit, shortcut, due, played, radius, questions, keys)
    _enter(bandit, shortcut, due, played, decisions)
    player.account.noticed.update(questions.noticed)
    return decisions


def _enter(
    bandit: Bandit, shortcut: Shortcut, due: Integers, played: OptimisticAnswers, decisions: Decisions
) -> None:
    """Enters all decisions into the account, and has them wait for their rewards."""
    answers, account = played.answers, bandit._player.account
    losses = np.maximum(played.best[due] - answers.means[due], 0.0)
    different = int((answers.arms != played.greedy).sum())
    account.enter_many(
        account.t + len(decisions), due + (account.t + 1), shortcut.explored[1], losses, different
    )
    bandit._waiting.add_block(Block(decisions, answers.grounds))
    foresight = bandit._player.memory.foresight
    if foresight is not None and not foresight.replace_sums(BlockSums(played.awaited), len(decisions)):
        foresight.take_many(answers.grounds, decisions.explored, answers.means, 1)


def _plain_rows(bandit: Bandit, questions: Questions) -> Floats | None:
    """Contexts as rows, (n, c), where nothing more is said of the requests."""
    if not isinstance(questions, InContexts) or bandit.allowed is not None:
        return None
    return questions.plain_rows


def _played(
    ridge: BlockRidge, foresight: Foresight | None, inside: Floats, due: Integers, betas: Floats
) -> OptimisticAnswers | None:
    """What is played in each context; None if some number is none."""
    count = len(inside)
    arms, means, widths = np.empty(count, dtype=np.int64), np.empty(count), np.empty(count)
    if not best_in_blocks(ridge.solved, inside, np.arange(count), ALL_OFFERED, arms, means):
        return None
    greedy, best, narrows = arms.copy(), means.copy(), foresight is not None
    batch, thetas = batch_of(ridge.solved, ridge.runs, inside), np.ascontiguousarray(ridge.solved[:, -1].T)
    ahead = ahead_of(ridge.solved, ridge.runs, _awaited(foresight), count)
    if not decide_ahead(batch, thetas, due, betas, narrows, ahead, arms, means):
        return None
    widths_in_blocks(ridge.solved, inside, order_of_arms(arms, ridge.layout.arms), arms, widths)
    answers = Greedily(arms, means, widths, Grounds.in_blocks(arms, inside))
    return OptimisticAnswers(answers, greedy, best, ahead.awaited)


def _awaited(foresight: Foresight | None) -> Integers | None:
    """Sums over what is pending; None where exploring does not look at it."""
    if foresight is None:
        return None
    sums = foresight.sums()
    assert isinstance(sums, BlockSums)
    return sums.awaited


def _decisions(
    bandit: Bandit,
    shortcut: Shortcut,
    due: Integers,
    played: OptimisticAnswers,
    radius: Radius,
    questions: Questions,
    keys: list[str] | None,
) -> Decisions:
    """The decisions as columns: those of greedy rounds, but for what exploring ones say otherwise."""
    first = bandit._player.account.t + 1
    quietly = greedy_decisions(bandit, first, played.answers, radius, questions, keys)
    whole, figures, explored, tables = quietly.parts
    whole[BEST_ARM], whole[WHY, due] = played.greedy, 1
    figures[CHANCE, due], figures[LAW, due], explored[due] = 1.0, 1.0, True
    reasons = (*tables.reasons, shortcut.explored[0])
    return Decisions(whole, figures, explored, tables._replace(reasons=reasons))
