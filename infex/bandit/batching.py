"""Many decisions at once: as many calls of `ask` that get no reward in between, to the last bit."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt

from infex.arrays import Label
from infex.bandit import deciding
from infex.bandit.batch_columns import greedy_decisions
from infex.bandit.decision import Decision
from infex.bandit.decisions import Decisions, overwritten
from infex.bandit.foreseeing import await_reward, foresee
from infex.bandit.pending_block import Block
from infex.bandit.questions import Greedily, Questions, questions_of
from infex.bandit.quiet_rounds import QuietRounds, is_known
from infex.errors import DuplicateId, InvalidSetting
from infex.linear.grounds import Grounds
from infex.linear.offers import On, Radius

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit
    from infex.bandit.recording import Notebook


def ask_many(
    bandit: Bandit,
    asked: object,
    labels: Iterable[Iterable[Label] | None] | None,
    allowed: npt.ArrayLike | None,
    offered: object,
    explore: object,
    ids: Iterable[str] | None,
) -> Decisions:
    """All decisions, or none if one of them cannot be taken."""
    questions = questions_of(bandit, asked, labels, allowed, offered, explore)
    keys = _own_keys(bandit, ids, len(questions))
    if not len(questions):
        return Decisions.of([])
    before = Before(bandit)
    try:
        decisions = None
        if bandit._notebook is not None:
            decisions = _noting(bandit, bandit._notebook, questions, keys)
        elif is_known(bandit._player):
            decisions = _at_once(bandit, questions, keys)
        if decisions is None:
            decisions = _one_by_one(bandit, questions, keys)
    except BaseException:
        before.restore()
        raise
    memory = bandit._player.memory
    if memory.searches:
        memory.entered(bool(decisions.explored.any()))
    return decisions


def _own_keys(bandit: Bandit, ids: Iterable[str] | None, count: int) -> list[str] | None:
    """Ids of the caller's own: as many as there are questions, no two the same, and none that waits."""
    if ids is None:
        return None
    if isinstance(ids, str):
        raise InvalidSetting(f"ids must be a list with one text for each decision, got the text {ids!r}")
    keys = [bandit._lives.checked(key) for key in ids]
    if len(keys) != count:
        raise InvalidSetting(f"ids must be as many as the decisions, {count}, got {len(keys)}")
    known: set[str] = set()
    for key in keys:
        bandit._waiting.refuse(key)
        if key in known:
            raise DuplicateId(f"decision {key!r} would wait twice: ids may not come twice")
        known.add(key)
    return keys


@final
class Before:
    """What a bandit was before a batch that failed."""

    __slots__ = ("_account", "_bandit", "_note")

    def __init__(self, bandit: Bandit) -> None:
        player = bandit._player
        self._bandit, self._note, self._account = bandit, player.note, copy.copy(player.account)
        self._account.recent, self._account.noticed = (
            player.account.recent.copy(),
            player.account.noticed.copy(),
        )

    def restore(self) -> None:
        """Brings it back: rounds, explorations, the note, and what waits."""
        bandit, player = self._bandit, self._bandit._player
        bandit._waiting.remove_after(self._account.t)
        player.account, player.note = self._account, self._note
        foresee(player.memory, bandit._waiting, bandit.narrows)


def _one_by_one(bandit: Bandit, questions: Questions, keys: list[str] | None) -> Decisions:
    """Each by itself, as a user's policy may look at its bandit."""
    taken = []
    for place in range(len(questions)):
        decision, on = _decided(bandit, questions, place, keys)
        await_reward(bandit, decision, on)
        taken.append(decision)
    return Decisions.of(taken)


def _noting(bandit: Bandit, notebook: Notebook, questions: Questions, keys: list[str] | None) -> Decisions:
    """Each by itself, and all of them written to the log once they are taken."""
    taken, rows = [], []
    for place in range(len(questions)):
        own_id = None if keys is None else keys[place]
        decision, entry, row = notebook.decided(questions.asked(place), own_id)
        bandit._player.book(entry)
        await_reward(bandit, decision, entry.on)
        taken.append(decision)
        rows.append(row)
    notebook.write(rows)
    return Decisions.of(taken)


def _decided(bandit: Bandit, questions: Questions, place: int, keys: list[str] | None) -> tuple[Decision, On]:
    """One decision, as the policy takes it."""
    decision, taken = deciding.decide(bandit, questions.asked(place), None if keys is None else keys[place])
    bandit._player.book(taken)
    return decision, taken.on


def _at_once(bandit: Bandit, questions: Questions, keys: list[str] | None) -> Decisions | None:
    """Greedy rounds in one compiled call, the policy asked in the others alone; None where none is greedy."""
    account, found = bandit._player.account, quiet_answers(bandit, questions)
    if found is None:
        return None
    quiet, greedily, radius = found
    noticed = account.noticed.copy()
    noticed.update(questions.noticed)  # also of those that the policy is asked about, which count it too
    first, count = account.t + 1, len(questions)
    last = first + count - 1
    asked: dict[int, tuple[Decision, On]] = {}
    t = first
    while t <= last:
        due = quiet.until(t, last, account.owed)
        if due > t:
            account.enter(due - 1, False, quiet.turn, 0.0, False)
            foresee_quiet(bandit, greedily, t - first, due - first)
        if due <= last:
            asked[due - first] = _decided(bandit, questions, due - first, keys)
            _foresee_one(bandit, *asked[due - first])
        t = due + 1
    quietly = greedy_decisions(bandit, first, greedily, radius, questions, keys)
    block = _mixed(quietly, greedily.grounds, asked)
    bandit._waiting.add_block(block)
    account.noticed = noticed
    return block.decisions


def quiet_answers(bandit: Bandit, questions: Questions) -> tuple[QuietRounds, Greedily, Radius] | None:
    """The rounds in which nothing is due, the greedy answers for these, their radius; None without any."""
    masked = questions.asked(0).allowed is not None or bandit.allowed is not None
    quiet = QuietRounds.of(bandit._player, masked)
    greedily = None if quiet is None else questions.greedily(bandit)
    if quiet is None or greedily is None:
        return None
    offered = bandit._arms.offer(questions.asked(0))
    radius = bandit._radius(bandit._player.evidence(offered.columns))
    return (quiet, greedily, radius) if np.all(radius >= 0.0) else None  # the long way says so


def foresee_quiet(bandit: Bandit, greedily: Greedily, first: int, last: int) -> None:
    """Exploring looks at greedy decisions of the batch that wait, from one place up to before another."""
    foresight = bandit._player.memory.foresight
    if foresight is not None:
        grounds = greedily.grounds.span(first, last)
        foresight.take_many(grounds, np.zeros(last - first, dtype=bool), greedily.means[first:last], 1)


def _foresee_one(bandit: Bandit, decision: Decision, on: On) -> None:
    foresight = bandit._player.memory.foresight
    if foresight is not None:
        foresight.add((decision, on))


def _mixed(quietly: Decisions, grounds: Grounds, asked: dict[int, tuple[Decision, On]]) -> Block:
    """Greedy decisions, and in their places those that the policy took."""
    if not asked:
        return Block(quietly, grounds)
    places = np.fromiter(asked, dtype=np.int64, count=len(asked))
    taken = Decisions.of(decision for decision, _ in asked.values())
    learnt_on = Grounds.of(on for _, on in asked.values())
    return Block(overwritten(quietly, places, taken), grounds.overwritten(places, learnt_on))
