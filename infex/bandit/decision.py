"""What a bandit decided, and why."""

from typing import NamedTuple

from infex.arrays import Label
from infex.policies.choice import Reason
from infex.rounds import Taken


class Decision(NamedTuple):
    """One decision, which cannot be changed: which arm, explored or greedy, and what was known of it.

    `id` is what to tell its reward by, `t` its round; `arm` is an index, and `label` that arm's label.
    Indices are among all arms, also where a request offers but some of them.

    `low` and `high` are estimate -+ radius width, with the confidence radius of the policy (that of LinUCB's
    default settings if it has none), which its `scale` does not change. `greedy` is the arm of the largest
    estimate among those on offer; in a greedy round it is the arm played, ties may be random, unless the
    policy has estimates of its own (least squares, LASSO). `reason` says why it explored or why not: one of
    `Reason`, or a text of your own policy's.

    `probability` is the chance of this arm in this round, given the rounds before it, over all draws,
    those of a jittered schedule included; an arm that is not on offer has none. `chance` is that of
    exploring in this round, and `law` that of this arm given that the round explores. Each is None where
    it is not known; `law` is also None where the round could not explore. `interval` is narrower than `low`
    and `high`, which hold in all rounds at once: by the noise that was seen.
    """

    id: str
    t: int
    arm: int
    label: Label | None
    explored: bool
    greedy: int
    estimate: float
    low: float
    high: float
    probability: float | None
    reason: Reason | str
    chance: float | None
    law: float | None

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """From where to where the arm's mean reward lies with a chance of about `level`, as was known then.

        By the noise that was seen up to this decision: see `bandit.intervals`, which tells the same of now,
        and docs/intervals.md. Ask for it before the bandit learns the next reward: it then stays, at any
        level. Afterwards, and for a decision from a record or a file, it is not known (NotKept).

        >>> from infex import Bandit, Greedy
        >>> bandit = Bandit([[1.0]], Greedy(), rewards=(0, 1))
        >>> bandit.learn(arms=[0] * 8, rewards=[1, 0, 1, 1, 1, 0, 1, 1])
        >>> decision = bandit.ask()
        >>> [round(end, 2) for end in decision.interval(0.9)]
        [0.28, 1.0]
        """
        from infex.bandit.decided_intervals import interval_of

        return interval_of(self, level)


class Decided(NamedTuple):
    """A `decision` that is not entered yet, and in `taken` all that entering it changes.

    `bandit.enter(decided)` enters it. `own_id`: did the caller choose its id? `changes`: how often arms or
    the policy had changed before it was decided; after another change it cannot be entered any more.
    `played` are the features of its arm, where arms are fixed: a bandit that has others there refuses it.
    `infex.record(decided)` is all of it as plain data, for a journal, and `infex.made` gives it back.
    """

    decision: Decision
    taken: Taken
    own_id: bool = False
    changes: int = 0
    played: tuple[float, ...] | None = None

    @property
    def agrees(self) -> bool:
        """Is the decision of what was taken?"""
        (t, choice, _, _, different, _), decision = self.taken, self.decision
        shares = choice.probability, choice.chance, choice.law
        return (
            (t, choice.arm, choice.explored) == (decision.t, decision.arm, decision.explored)
            and shares == (decision.probability, decision.chance, decision.law)
            and different == (decision.explored and decision.arm != decision.greedy)
        )
