"""The parts of a round in compiled loops: what decides is shown what is known; rewards are heard and learnt.

It goes as `rounds.Player` does. What differs between policies and estimators is called at its address (see
`calling`), so that one loop, compiled once, plays them all.
"""

from typing import Any, NamedTuple

import numpy as np

from infex import kernels
from infex.arrays import Floats, Integers
from infex.kernels import ARM
from infex.kernels.awaiting import expect_changes, narrow_board
from infex.kernels.bases import READS_SCORES, READS_WIDTHS
from infex.kernels.calling import call, call_fitter, call_learner
from infex.kernels.compiling import compiled, copy_into, lending, within, woven
from infex.kernels.layout import RUNS, SUM, VOLUME, N, aligned
from infex.kernels.learning import square_widths
from infex.kernels.outlook import PENDING_ALL, PENDING_EXPLORED, Outlook, look_ahead
from infex.kernels.run_arrays import State
from infex.kernels.view import View

STALE = RUNS  # where no ridge counts its runs: have widths been left behind?
NO_SEARCH = -1


class Deciding(NamedTuple):
    """What decides in the rounds of the base, and hears of rewards: addresses, settings and notes.

    It `reads` so much of the board, and with `reads_factor` what pending decisions narrow: widths or samples.
    With `apart` the base sees exploring rounds alone; with `own_clock` it counts time by them too. `learner`
    is 0 if nobody listens; it `hears_all` rewards, or those of exploring rounds. With `linked` scores are
    log-odds.
    """

    chooser: Any
    learner: Any
    settings: Floats
    notes: Floats
    tentative: Floats
    asked: Floats  # 1 once it was asked for an arm: a learner hears of rewards from then on
    shown: (
        Floats  # the arms that it was shown last, (d, K), where they change and somebody learns; else (0, 0)
    )
    reads: int
    reads_factor: bool
    apart: bool
    own_clock: bool
    hears_all: bool
    linked: bool


class Fitting(NamedTuple):
    """An estimator at its address, 0 for ridge; its settings, and the weight of every arm's rewards.

    There are no weights for ridge. `search_at` is where it keeps the estimate from which its next search
    starts, if it searches.
    """

    fitter: Any
    settings: Floats
    weights: Floats
    search_at: int


class Learning(NamedTuple):
    """What was learnt: the arrays of a ridge, pulls and sums, and what an estimator keeps.

    `search` is the estimate of the last decision, from which a search starts whatever arrives meanwhile; it
    has room where rewards come late and the estimator searches.
    """

    ridge: State
    counts: Floats
    memory: Floats
    search: Floats


class Room(NamedTuple):
    """Arrays that a loop writes to, and nobody reads after a round; boards have room where arms change."""

    scores: Floats  # (6, K)
    boards: Floats  # (2, 4, K)
    places: Integers  # (K,)
    sample: Floats  # (5, d)


def room_of(dim: int, arms: int, changing: bool) -> Room:
    """Room for the rounds of a loop."""
    scores, boards, sample = aligned((6, arms), (2, 4, arms if changing else 0), (5, dim))
    return Room(scores, boards, np.zeros(arms, dtype=np.int64), sample)


@woven
def fit(learning: Learning, fitting: Fitting, x: Floats, reward: float, weight: float) -> int:
    """An estimator takes in one reward, or none if the weight is 0; 0, or its fault."""
    _, solved, columns, board, _, run, penalty = learning.ridge
    for i in range(learning.search.size):
        learning.memory[fitting.search_at + i] = learning.search[i]
    volume, fault = call_fitter(
        fitting.fitter, x, reward, weight, penalty, fitting.settings, learning.memory, solved
    )
    kernels.product(columns, solved[columns.shape[0]], board[0])
    run[VOLUME], run[STALE] = volume, 1.0
    return fault  # type: ignore[no-any-return]


@woven
def widen(ridge: State) -> None:
    """Widths that an estimator has left behind are computed where they are read: a third of its time."""
    _, solved, columns, board, _, run, _ = ridge
    if run[STALE] > 0.0:
        square_widths(solved, columns, board)
        run[STALE] = 0.0


@within
def take_by_fit(learning: Learning, fitting: Fitting, arm: int, x: Floats, reward: float) -> int:
    """An estimator learns one reward; 0, or its fault."""
    return fit(learning, fitting, x, reward, fitting.weights[arm])


@woven
def take_fixed(
    counts: Floats, truth: Floats, solved: Floats, columns: Floats, board: Floats, vectors: Floats,
    run: Floats, penalty: float, arm: int, reward: float,
) -> None:  # fmt: skip
    """A ridge learns one reward of a fixed arm."""
    counts[0, arm] += 1.0
    counts[1, arm] += reward
    if arm != run[ARM]:
        kernels.learn(truth, penalty, solved, columns, board, vectors, run, arm, reward)
    elif kernels.pull(run, reward):
        kernels.close_run(truth, penalty, solved, columns, board, vectors, run)


@woven
def take(learning: Learning, fitting: Fitting, arm: int, x: Floats, reward: float) -> int:
    """One reward is learnt; 0, or the fault of an estimator that raised.

    Arms that change have no pulls of their own, and share a count if there is room for one.
    """
    truth, solved, columns, board, vectors, run, penalty = learning.ridge
    counts, anew = learning.counts, columns.shape[1] == 0
    if not anew and fitting.weights.size == 0:
        take_fixed(counts, truth, solved, columns, board, vectors, run, penalty, arm, reward)
        return 0
    if counts.shape[1] > 0:
        place = 0 if anew else arm
        counts[0, place] += 1.0
        counts[1, place] += reward
    if fitting.weights.size > 0:
        return take_by_fit(learning, fitting, arm, x, reward)
    kernels.absorb(truth, penalty, solved, columns, board, vectors, run, x, reward)
    return 0


@within
def start(learning: Learning, fitting: Fitting) -> int:
    """Nothing is learnt yet."""
    _, _, _, _, vectors, run, _ = learning.ridge
    learning.counts[:] = 0.0
    if fitting.weights.size == 0:
        return 0
    learning.memory[:], learning.search[:] = 0.0, 0.0
    vectors[:], run[:] = 0.0, 0.0
    run[ARM] = -1.0
    return fit(learning, fitting, np.zeros(vectors.shape[1]), 0.0, 0.0)


@woven
def search_on(learning: Learning, fitting: Fitting) -> None:
    """A decision was taken: the next search starts from the present estimate."""
    for i in range(learning.search.size):
        learning.search[i] = learning.memory[fitting.search_at + i]


@within
def hear(
    deciding: Deciding, fitting: Fitting, learning: Learning, own: Learning, columns: Floats, arm: int,
    x: Floats, reward: float, explored: bool,
) -> int:  # fmt: skip
    """Whoever learns hears of a reward; 0, or a fault."""
    fault = 0
    if deciding.learner != 0 and deciding.asked[0] > 0.0 and (explored or deciding.hears_all):
        fault = call_learner(
            deciding.learner, deciding.notes, deciding.settings, columns, arm, x, reward, explored
        )
    if fault == 0:
        fault = take(learning, fitting, arm, x, reward)
    if fault == 0 and explored and deciding.apart:
        fault = take(own, fitting, arm, x, reward)
    return fault


@compiled
def score(reads: int, solved: Floats, columns: Floats, board: Floats) -> None:
    """As much of the board of arms that change as is read."""
    if reads == READS_WIDTHS:
        kernels.direct(solved, columns, board)
    elif reads == READS_SCORES:
        kernels.product(columns, solved[columns.shape[0]], board[0])


@woven
def looks_ahead(deciding: Deciding, ahead: Outlook) -> bool:
    """Is anything pending that changes what the chooser reads?"""
    return deciding.reads_factor and ahead.counts[PENDING_EXPLORED if deciding.apart else PENDING_ALL] > 0


@within
def narrowed(reads: int, ridge: State, apart: bool, ahead: Outlook, columns: Floats, board: Floats) -> None:
    """What exploring reads with all that is pending in V; the board of arms that change goes into `board`."""
    truth, solved, standing, kept, vectors, run, penalty = ridge
    which = PENDING_EXPLORED if apart else PENDING_ALL
    if standing.shape[1] > 0:
        expect_changes(ahead.sums[which], columns, ahead.changes[which], np.empty(columns.shape[0]))
    look_ahead(ahead, apart, solved, vectors, run)
    copy_into(ahead.truth, truth)
    kernels.add_pulls(ahead.truth, penalty, vectors[0], run[N], run[SUM])
    if standing.shape[1] > 0:
        narrow_board(ahead.solved, columns, kept, run, reads == READS_WIDTHS, ahead.board)
    else:
        score(reads, ahead.solved, columns, board)


@lending
def standing_view(deciding: Deciding, own: Learning, room: Room) -> View:
    """What the chooser is shown of fixed arms where nothing is pending."""
    truth, solved, columns, board, vectors, run, penalty = own.ridge
    return View(
        columns, deciding.settings, penalty, board, run, solved, vectors, own.counts, deciding.tentative,
        truth, room.scores[:4], room.places, room.sample[:4],
    )  # fmt: skip


@within
def ask_of(
    deciding: Deciding, own: Learning, ahead: Outlook, columns: Floats, room: Room, t: int,
    rng: np.random.Generator,
) -> tuple[int, int]:  # fmt: skip
    """The arm of the chooser among arms that change, or where something is pending; and 0, or its fault."""
    truth, solved, standing, board, vectors, run, penalty = own.ridge
    anew = standing.shape[1] == 0
    if anew:
        board = room.boards[1]
    if looks_ahead(deciding, ahead):
        narrowed(deciding.reads, own.ridge, deciding.apart, ahead, columns, board)
        truth, solved, vectors, run = ahead.truth, ahead.solved, ahead.vectors, ahead.run
        if not anew:
            board = ahead.board
    elif anew:
        score(deciding.reads, solved, columns, board)
    seen = View(
        columns, deciding.settings, penalty, board, run, solved, vectors, own.counts, deciding.tentative,
        truth, room.scores[:4], room.places, room.sample[:4],
    )  # fmt: skip
    answer: tuple[int, int] = call(deciding.chooser, t, seen, rng)
    return answer
