"""What a bandit was told lately, so that a second reward for a decision can be told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, final

import numpy as np

from infex.arrays import Floats, Integers, fitting, within
from infex.bandit.deciding import named_by, pending_of, refuse_other
from infex.bandit.decision import Decision
from infex.bandit.decisions import Decisions
from infex.bandit.foreseeing import wait_no_more
from infex.bandit.pending_block import Block, Pending
from infex.bandit.pending_columns import pending_kept, pending_record
from infex.bandit.pulls import count_pull
from infex.bandit.reward_rule import checked_reward
from infex.bandit.waiting import Waiting, move_each, new_places
from infex.checks import HEAVIEST_WEIGHT, LARGEST_REWARD, one_of, real, told, whole
from infex.errors import AlreadyTold, DamagedFile, InvalidReward, InvalidSetting, NotKept, NotRemembered
from infex.linear import Layout
from infex.linear.estimating import Arrays
from infex.linear.grounds import Grounds
from infex.linear.memory import Turns
from infex.linear.revising import Revision

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit

Again = Literal["refuse", "same", "sum", "replace"]
AGAIN = ("refuse", "same", "sum", "replace")
NOT_APART = -1  # the turn among exploring rounds of a reward that is in none
KEPT_FIGURES = 6  # reward, weight, counted weight, turn, turn among exploring rounds, place in the order


class ToldReward(NamedTuple):
    """What was learnt of a decision: its reward, told and counted weight, and numbers among rewards."""

    reward: float
    weight: float
    counted: float
    turns: Turns


@final
class ToldDecisions:
    """The last `most` decisions that were told, and what was learnt of each; the oldest goes first."""

    __slots__ = ("decisions", "learnt", "most")

    def __init__(self, most: int) -> None:
        self.most = most
        self.decisions: dict[str, Pending] = {}
        self.learnt: dict[str, ToldReward] = {}

    @staticmethod
    def of(remembers: object) -> ToldDecisions | None:
        """Room for so many; None for none."""
        most = whole("remembers", remembers, least=0)
        return ToldDecisions(most) if most else None

    def add(self, decision: Decision, on: Any, learnt: ToldReward) -> None:
        """One more, which takes the place of an earlier one of the same id."""
        self.forget(decision.id)
        while len(self.learnt) >= self.most:
            self.forget(next(iter(self.learnt)))
        self.decisions[decision.id], self.learnt[decision.id] = (decision, on), learnt

    def forget(self, key: str) -> None:
        """Nothing of a decision is kept any more."""
        if self.learnt.pop(key, None) is not None:
            del self.decisions[key]

    def find(self, key: str) -> tuple[Pending, ToldReward] | None:
        """The decision with that id, what it was learnt on, and what was learnt."""
        return (self.decisions[key], self.learnt[key]) if key in self.learnt else None

    def move(self, places: Integers, columns: Floats) -> None:
        """Arms come to new places, `places` being their old ones; `columns` are the old fixed arms."""
        move_each(self.decisions, new_places(places), columns)


def tell_and_remember(
    bandit: Bandit, decision: Decision | str | int, reward: object, weight: float, again: object
) -> None:
    """Reports the first reward of a decision, which is remembered, or another one, as `again` says."""
    way, store = one_of("again", again, AGAIN), bandit._remembered
    if store is None:
        raise InvalidSetting(f"again={way!r} needs a bandit that remembers: Bandit(..., remembers=1000)")
    weight = real("weight", weight, above=0, most=HEAVIEST_WEIGHT, error=InvalidReward)
    key = named_by(decision)
    known = store.find(key) if bandit._waiting.find(key) is None else None
    if known is not None:
        _tell_again(bandit, store, decision, known, reward, weight, way)
        return
    try:
        mine, on = pending_of(bandit, decision)
    except AlreadyTold:
        raise NotRemembered(
            f"decision {key!r} was dropped, or has its reward, and is not among the last {store.most} that "
            "are remembered"
        ) from None
    learn_and_remember(bandit, mine, on, checked_reward(bandit, reward), weight)


def learn_and_remember(bandit: Bandit, decision: Decision, on: Any, reward: float, weight: float) -> None:
    """Learns the reward of a pending decision, and remembers it."""
    player, store = bandit._player, bandit._remembered
    if bandit._notebook is not None:
        bandit._notebook.reward(decision, on, reward, weight)
    turns = player.memory.turns(on, decision.explored)
    counted = player.learn(decision.arm, on, reward, decision.explored, weight)
    count_pull(bandit, decision)
    wait_no_more(bandit, decision, on)
    assert store is not None
    store.add(decision, on, ToldReward(reward, weight, counted, turns))


def _tell_again(
    bandit: Bandit,
    store: ToldDecisions,
    given: Decision | str | int,
    known: tuple[Pending, ToldReward],
    given_reward: object,
    weight: float,
    way: str,
) -> None:
    """What is added may lie outside the range of rewards (money that is given back); the sum may not."""
    (decision, on), learnt = known
    rule = bandit._rule._replace(range=None) if way == "sum" else bandit._rule
    reward = rule.number(given_reward)
    refuse_other(given, decision)
    if weight not in (1.0, learnt.weight):
        raise InvalidReward(f"a second reward has the weight of the first, {learnt.weight:g}, got {weight:g}")
    if way == "same" and reward == learnt.reward:
        return
    if way in ("refuse", "same"):
        raise AlreadyTold(f"decision {decision.id!r} was told {learnt.reward!r} already, and now {reward!r}")
    after = checked_reward(bandit, learnt.reward + reward if way == "sum" else reward)
    change(bandit, on, learnt, after)
    if bandit._notebook is not None:
        bandit._notebook.told_again(decision, after, learnt.weight)
    store.learnt[decision.id] = learnt._replace(reward=after)


def change(bandit: Bandit, on: Any, learnt: ToldReward, after: float | None) -> None:
    """All that was learnt is as if a reward had been told as `after`, or never (None)."""
    player, (turn, own_turn) = bandit._player, learnt.turns
    if player.traits.pupils:
        raise NotKept(f"{told(bandit.policy)} keeps a state of its own, of which no reward can be changed")
    if after is not None:
        player.memory.all.refuse(after)
    player.memory.revise(Revision(on, learnt.reward, after, learnt.counted, turn), own_turn)
    player.account.hear()
    bandit._lineage.revised(0 if after is not None else -1)


def remembered_record(store: ToldDecisions | None) -> tuple[dict[str, Any] | None, Arrays]:
    """What is remembered: words as plain data, all else as arrays."""
    if store is None:
        return None, {}
    waiting, pending = Waiting(), sorted(store.decisions.values(), key=_round)
    if pending:
        decisions, ons = zip(*pending, strict=True)
        waiting.add_block(Block(Decisions.of(decisions), Grounds.of(ons)))
    words, arrays = pending_record(waiting)
    found = {f"remembered {name}": array for name, array in arrays.items()}
    place = {key: at for at, key in enumerate(store.learnt)}
    rows = [_figures(store.learnt[each.id], place[each.id]) for each, _ in pending]
    found["remembered rewards"] = np.array(rows, dtype=np.float64).reshape(len(rows), KEPT_FIGURES)
    return {"most": store.most, "words": words}, found


def _round(pending: Pending) -> int:
    return pending[0].t


def _figures(learnt: ToldReward, order: int) -> list[float]:
    turn, own = learnt.turns
    return [learnt.reward, learnt.weight, learnt.counted, turn, NOT_APART if own is None else own, order]


def remembered_kept(kept: Any, arrays: Arrays, layout: Layout, t: int) -> ToldDecisions | None:
    """What a file remembers; files from before remember nothing."""
    if kept is None:
        return None
    store = ToldDecisions(whole("remembers", kept["most"], least=1, error=DamagedFile))
    prefix = "remembered "
    own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    found = list(pending_kept(kept["words"], own, layout, t))
    keys = [decision.id for decision, _ in found]
    rows: Floats = fitting("rewards that are remembered", own["rewards"], (len(keys), KEPT_FIGURES))
    if len(keys) > store.most or sorted(rows[:, -1].tolist()) != list(range(len(keys))):
        raise DamagedFile("what is remembered is more than there is room for, or in no order")
    within("a reward that is remembered", rows[:, 0], (len(keys),), -LARGEST_REWARD, LARGEST_REWARD)
    within("a weight that is remembered", rows[:, 1], (len(keys),), 0.0, HEAVIEST_WEIGHT)
    within("a weight that is remembered", rows[:, 2], (len(keys),), 0.0, HEAVIEST_WEIGHT)
    for at in np.argsort(rows[:, -1]).tolist():
        reward, weight, counted, turn, apart, _ = rows[at].tolist()
        if not (turn >= 0.0 and turn.is_integer() and apart >= NOT_APART and apart.is_integer()):
            raise DamagedFile("the number of a reward that is remembered is none")
        own_turn = None if apart == NOT_APART else int(apart)
        decision, on = found[at]
        store.add(decision, on, ToldReward(reward, weight, counted, (int(turn), own_turn)))
    return store
