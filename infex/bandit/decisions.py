"""Many decisions, as columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, final, overload

import numpy as np

from infex.arrays import Bools, Floats, Integers, Label, shown
from infex.bandit.decision import Decision
from infex.checks import quick
from infex.policies.choice import Reason

# The rows of `whole` and of `figures`: what a decision has of whole numbers, and of others.
T, CHOSEN, BEST_ARM, WHY, LABELLED, LIFE, WHOLES = range(7)
ESTIMATE, LOW, HIGH, PROBABILITY, CHANCE, LAW, FIGURES = range(7)
NOTHING_SAID = -1


class Tables(NamedTuple):
    """The words that columns point at: reasons, labels, names of lives, and ids of the caller's own.

    An id is a life's name and the round, or one of `texts`: number -1 is the first, -2 the second, and so on.
    """

    reasons: tuple[Reason | str, ...] = ()
    labels: tuple[Label, ...] = ()
    lives: tuple[str, ...] = ()
    texts: Sequence[str] = ()


@final
class Decisions(Sequence[Decision]):
    """Decisions as columns; one by one they are `Decision`s, and a slice is some of them.

    `t`, `arm`, `greedy`, `explored`, `estimate`, `low`, `high`, `probability`, `chance` and `law` are arrays,
    in which a number that is not known is NaN; `ids`, `labels` and `reasons` are lists.

    A bandit makes them, of `whole` numbers, other `figures`, what `explored`, and `tables` of words.

    >>> from infex import Bandit, Infex, LinUCB, every
    >>> bandit = Bandit([[1.0, 0.0], [0.6, 0.8]], Infex(LinUCB(), every(2)), labels=["plain", "rich"])
    >>> decisions: Decisions = bandit.ask_many(3)
    >>> decisions.t.tolist(), decisions.explored.tolist()
    ([1, 2, 3], [False, True, False])
    >>> bandit.tell_many(decisions, [0.0, 1.0, 0.5])
    >>> decisions[0].label, len(decisions[1:]), len(bandit.pending)
    ('plain', 2, 0)
    """

    __slots__ = ("_explored", "_figures", "_tables", "_whole")

    def __init__(self, whole: Integers, figures: Floats, explored: Bools, tables: Tables) -> None:
        self._whole, self._figures, self._explored, self._tables = whole, figures, explored, tables

    @property
    def parts(self) -> tuple[Integers, Floats, Bools, Tables]:
        """All columns at once, (6, n) whole numbers and (6, n) others, and the words they point at."""
        return self._whole, self._figures, self._explored, self._tables

    def __len__(self) -> int:
        return self._explored.size

    def __repr__(self) -> str:
        return f"Decisions({len(self)}, {int(self._explored.sum())} of them explored)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Decisions) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    @overload
    def __getitem__(self, place: int) -> Decision: ...

    @overload
    def __getitem__(self, place: slice) -> Decisions: ...

    def __getitem__(self, place: int | slice) -> Decision | Decisions:
        if isinstance(place, slice):
            return self.at(np.arange(len(self))[place])
        return self._single(range(len(self))[place])  # which refuses a place that is not there

    def __iter__(self) -> Iterator[Decision]:
        t, arm, greedy, *_ = self._whole.tolist()
        estimate, low, high, *shares = self._figures.tolist()
        probability, chance, law = ([None if math.isnan(x) else x for x in each] for each in shares)
        fields = zip(
            self.ids, t, arm, self.labels, self._explored.tolist(), greedy, estimate, low, high,
            probability, self.reasons, chance, law, strict=True,
        )  # fmt: skip
        return (quick(Decision, each) for each in fields)

    def _single(self, place: int) -> Decision:
        tables = self._tables
        t, arm, greedy, why, named, _ = self._whole[:, place].tolist()
        estimate, low, high, *shares = self._figures[:, place].tolist()
        probability, chance, law = (None if share != share else share for share in shares)  # NaN
        label = tables.labels[named] if named >= 0 else None
        explored, reason = bool(self._explored[place]), tables.reasons[why]
        fields = (self.id_at(place), t, arm, label, explored, greedy, estimate, low, high)
        return quick(Decision, (*fields, probability, reason, chance, law))

    def id_at(self, place: int) -> str:
        """The id of one of them."""
        life, tables = self._whole.item(LIFE, place), self._tables
        return f"{tables.lives[life]}-{self._whole.item(T, place)}" if life >= 0 else tables.texts[-1 - life]

    def at(self, places: Integers | Bools) -> Decisions:
        """Some of them."""
        return Decisions(
            self._whole[:, places], self._figures[:, places], self._explored[places], self._tables
        )

    @property
    def t(self) -> Integers:
        """The rounds."""
        return shown(self._whole[T])

    @property
    def arm(self) -> Integers:
        """The arms played."""
        return shown(self._whole[CHOSEN])

    @property
    def greedy(self) -> Integers:
        """The arms of the largest estimates."""
        return shown(self._whole[BEST_ARM])

    @property
    def explored(self) -> Bools:
        """Which of them explored."""
        return shown(self._explored)

    @property
    def estimate(self) -> Floats:
        """What was known of each arm played."""
        return shown(self._figures[ESTIMATE])

    @property
    def low(self) -> Floats:
        """The lower ends of their intervals."""
        return shown(self._figures[LOW])

    @property
    def high(self) -> Floats:
        """The upper ends."""
        return shown(self._figures[HIGH])

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """The ends of the intervals by the noise that was seen, lower and upper: see `Decision.interval`."""
        from infex.bandit.decided_intervals import intervals_of_many

        return intervals_of_many(self, level)

    @property
    def probability(self) -> Floats:
        """The chance of each arm played, NaN where it is not known."""
        return shown(self._figures[PROBABILITY])

    @property
    def chance(self) -> Floats:
        """The chance of exploring, NaN where it is not known."""
        return shown(self._figures[CHANCE])

    @property
    def law(self) -> Floats:
        """The chance of each arm if the round explores, NaN where it could not, or that is not known."""
        return shown(self._figures[LAW])

    @property
    def ids(self) -> list[str]:
        """What to tell each reward by."""
        names, texts = self._tables.lives, self._tables.texts
        return [
            f"{names[life]}-{t}" if life >= 0 else texts[-1 - life]
            for life, t in zip(self._whole[LIFE].tolist(), self._whole[T].tolist(), strict=True)
        ]

    @property
    def labels(self) -> list[Label | None]:
        """The labels of the arms played."""
        labels = self._tables.labels
        return [labels[code] if code >= 0 else None for code in self._whole[LABELLED].tolist()]

    @property
    def reasons(self) -> list[Reason | str]:
        """Why each explored, or why not."""
        reasons = self._tables.reasons
        return [reasons[code] for code in self._whole[WHY].tolist()]

    def columns(self) -> dict[str, Any]:
        """All of them by the names of a `Decision`'s fields, for a log or a table: arrays and lists."""
        return {
            "id": self.ids, "t": self.t, "arm": self.arm, "label": self.labels, "explored": self.explored,
            "greedy": self.greedy, "estimate": self.estimate, "low": self.low, "high": self.high,
            "probability": self.probability, "reason": [str(reason) for reason in self.reasons],
            "chance": self.chance, "law": self.law,
        }  # fmt: skip

    def to_arrow(self) -> Any:
        """The same as a table of pyarrow, which has to be installed; what is not known is null there."""
        import pyarrow as pa

        columns = self.columns()
        columns["label"] = [None if label is None else str(label) for label in columns["label"]]
        return pa.table({name: pa.array(values, from_pandas=True) for name, values in columns.items()})

    @staticmethod
    def of(decisions: Iterable[Decision]) -> Decisions:
        """Single decisions as columns."""
        return _gathered(list(decisions))


class Coder:
    """Numbers for words, in the order in which they come."""

    __slots__ = ("_codes",)

    def __init__(self) -> None:
        self._codes: dict[Any, int] = {}

    def code(self, word: object) -> int:
        """The number of a word; -1 is None."""
        return NOTHING_SAID if word is None else self._codes.setdefault(word, len(self._codes))

    @property
    def words(self) -> tuple[Any, ...]:
        """All words that came."""
        return tuple(self._codes)


def _gathered(decisions: list[Decision]) -> Decisions:
    reasons, labels, lives = Coder(), Coder(), Coder()
    texts: list[str] = []
    columns: tuple[Any, ...] = tuple(zip(*decisions, strict=True)) if decisions else ((),) * 13
    ids, t, arm, label, explored, greedy, estimate, low, high, probability, reason, chance, law = columns
    coded = [_life(key, at, lives, texts) for key, at in zip(ids, t, strict=True)]
    words = [reasons.code(why) for why in reason], [labels.code(name) for name in label]
    whole = np.array([t, arm, greedy, *words, coded], dtype=np.int64).reshape(WHOLES, len(decisions))
    figures = np.array([estimate, low, high, probability, chance, law], dtype=np.float64)  # None is NaN
    tables = Tables(reasons.words, labels.words, lives.words, texts)
    return Decisions(whole, figures.reshape(FIGURES, len(decisions)), np.array(explored, dtype=bool), tables)


def _life(key: str, t: int, lives: Coder, texts: list[str]) -> int:
    """The number of the life that named round t so; or of a text of its own."""
    name, _, number = key.rpartition("-")
    if name and number == str(t):
        return lives.code(name)
    texts.append(key)
    return -len(texts)


class Words:
    """The words of several decisions in one table of each kind, to which their numbers are brought."""

    __slots__ = ("_coders", "_texts")

    def __init__(self) -> None:
        self._coders = {WHY: Coder(), LABELLED: Coder(), LIFE: Coder()}
        self._texts: list[str] = []

    def recoded(self, part: Decisions) -> Integers:
        """The whole numbers of some decisions, whose words stand here from now on."""
        whole, _, _, tables = part.parts
        found = whole.copy()
        for row, words in zip(self._coders, tables[:3], strict=True):
            found[row] = _recoded(whole[row], [self._coders[row].code(word) for word in words])
        own = whole[LIFE] < 0
        if own.any():
            found[LIFE, own] = -len(self._texts) - 1 - np.arange(int(own.sum()))
            self._texts += [tables.texts[-1 - code] for code in whole[LIFE, own].tolist()]
        return found

    @property
    def tables(self) -> Tables:
        """All of them."""
        reasons, labels, lives = (coder.words for coder in self._coders.values())
        return Tables(reasons, labels, lives, self._texts)


def joined_decisions(parts: Sequence[Decisions]) -> Decisions:
    """Several, one after the other."""
    words = Words()
    wholes = [words.recoded(part) for part in parts]
    figures = [part.parts[1] for part in parts]
    explored = [part.parts[2] for part in parts]
    return Decisions(np.hstack(wholes), np.hstack(figures), np.concatenate(explored), words.tables)


def overwritten(decisions: Decisions, places: Integers, others: Decisions) -> Decisions:
    """Decisions of which some are others; the columns are the same arrays."""
    words = Words()
    whole, figures, explored = words.recoded(decisions), *decisions.parts[1:3]
    whole[:, places] = words.recoded(others)
    figures[:, places], explored[places] = others.parts[1], others.parts[2]
    return Decisions(whole, figures, explored, words.tables)


def _recoded(codes: Integers, numbers: list[int]) -> Integers:
    """Codes in another table; those below 0 stay."""
    if not numbers:
        return codes
    return np.where(codes >= 0, np.array(numbers)[np.maximum(codes, 0)], codes)
