"""Arms and features that come and go while a bandit is in use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from infex.arrays import Label
from infex.bandit import extending, turnover
from infex.bandit.readable import Readable
from infex.features.table_encoding import NONE_GIVEN, Categories, Numbers

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit


class Changeable(Readable):
    """A bandit whose arms and features may change."""

    @property
    def _bandit(self) -> Bandit:
        return cast("Bandit", self)

    def add_arms(self, arms: Any, labels: Iterable[Label] | None = None) -> None:
        """Puts new arms behind those there are, with `labels` if the others have some.

        With a feature map `arms` are as the map takes them: for `disjoint` a label, several, or without
        labels how many; for `interactions` rows of features; for `joined` arms of any kind, or one text; for
        `hybrid` as its shared map takes them.

        What was learnt tells of them at once; an arm with a regression of its own begins with nothing, and
        the others keep all they have learnt. Exploring may try them, also where `allowed` forbids others.

        >>> from infex import Bandit, Greedy, features
        >>> shop = Bandit(features=features.disjoint(["tea", "coffee"], context_dim=2), policy=Greedy())
        >>> shop.add_arms(["oolong", "mate"])
        >>> shop.remove_arms("coffee")
        >>> shop.labels
        ('tea', 'oolong', 'mate')
        """
        with self._lock:
            turnover.add_arms(self._bandit, arms, labels)

    def remove_arms(self, which: object) -> None:
        """Takes the arms in `which` away, by label where arms have labels, else by index.

        What was learnt stays; that of an arm with a regression of its own (`disjoint`) goes with the arm.
        What its rewards have told of features that arms share (`hybrid`) stays.

        Indices close up behind them. A pending decision for a removed arm can still be told: its reward is
        learnt on the arm's features. Where the arm had a regression of its own nothing is learnt from it,
        also if an arm of the same label has come since.
        """
        with self._lock:
            turnover.remove_arms(self._bandit, which)

    def extend(
        self,
        more: int | None = None,
        *,
        numbers: Numbers = NONE_GIVEN,
        categories: Categories = NONE_GIVEN,
        longest: float | None = None,
    ) -> None:
        """Adds features to contexts or arms: what was learnt stays, as if they had been 0 before.

        Contexts of a `features.table` get further `numbers` and `categories`, given as there; a category
        that is there gets further values. Contexts that are plain vectors, and arms, get so many `more`
        features behind the others, and contexts may have another `longest`. Fixed arms have 0 there. A
        reward that is told later for an earlier decision is learnt with 0 there.

        >>> from infex import Bandit, Greedy, features
        >>> visitor = features.table({"age": (20, 80)}, {"country": ["FR", "DE"]})
        >>> bandit = Bandit(features=features.disjoint(["tea", "coffee"], context=visitor), policy=Greedy())
        >>> bandit.extend(numbers={"visits": (0, 10)}, categories={"country": ["IT"]})
        >>> bandit.names
        ('intercept', 'age', 'visits', 'country=FR', 'country=DE', 'country=IT')
        """
        with self._lock:
            extending.extend(self._bandit, more, numbers, categories, longest)
