"""Who plays in a sweep: policies with their labels, every delta, horizon, penalty and estimator."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, final

from infex.checks import plain, safe_repr
from infex.errors import InvalidSetting
from infex.experiments.content import digest
from infex.experiments.expressions import Kind, read
from infex.experiments.wrapping import base_in
from infex.models.base import checked_estimator
from infex.policies import Infex, Policy
from infex.policies.base import checked, lacks_delta, resolve_defaults
from infex.registry import label_of, stream_name
from infex.schedules.base import has
from infex.simulation.copies import own_copies

Delta = float | Literal["1/T"]


class Named(NamedTuple):
    """A policy, a schedule or an estimator under a name; for an `Infex`, the names of its parts too."""

    thing: Any
    label: str
    base: str | None = None
    schedule: str | None = None
    names: tuple[str, ...] = ()  # what else a user has called it


@final
@dataclass(frozen=True, slots=True)
class LabelledPolicy:
    """A policy as it is played, under the name it has in tables, with all else that a run needs.

    `base` and `schedule` are the names of an `Infex`'s parts; `names` are those that the user gave. The
    estimator None is ridge regression.
    """

    policy: Any
    label: str
    base: str | None
    schedule: str | None
    names: tuple[str, ...]
    horizon: int
    penalty: float
    estimator: Named | None = None
    content: str = field(init=False, repr=False)  # a digest of the policy
    stream: str = field(init=False, repr=False)  # the name of its draws
    estimator_content: str | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "content", digest(self.policy))
        object.__setattr__(self, "stream", stream_name(self.policy))
        estimator = None if self.estimator is None else digest(self.estimator.thing)
        object.__setattr__(self, "estimator_content", estimator)


def named(given: object, kind: Kind, name: str | None = None) -> list[Named]:
    """The policies, schedules or estimators that a text or an object stands for, perhaps under a name.

    >>> [each.label for each in named("LinUCB(scale=[0.1, 0.5])", "policy", "mine")]
    ['mine(scale=0.1)', 'mine(scale=0.5)']
    """
    if not isinstance(given, str):
        found = _object(_of_kind(given, kind))
        return [found if name is None else found._replace(label=name)]
    readings = read(given, kind)
    labels = [each.label for each in readings]
    if name is not None:
        one = len(readings) == 1
        labels = [name if one else f"{name}({', '.join(each.varied)})" for each in readings]
    return [
        Named(
            _of_kind(each.make(), kind), label, each.base, each.schedule, (given, *([name] if name else []))
        )
        for each, label in zip(readings, labels, strict=True)
    ]


def _object(thing: Any) -> Named:
    if not isinstance(thing, Infex):
        return Named(thing, label_of(thing))
    return Named(thing, label_of(thing), label_of(thing.base), label_of(thing.schedule))


def _of_kind(given: Any, kind: Kind) -> Any:
    """A copy of a policy, a schedule or an estimator: a sweep plays it as it was given."""
    (thing,) = own_copies(**{kind: given})
    if kind == "policy":
        return checked("policy", thing)
    if kind == "estimator":
        return checked_estimator(thing)
    if isinstance(thing, type) or not has(thing, "explores"):
        raise InvalidSetting(f"a schedule must be an object with a method explores, got {safe_repr(thing)}")
    return thing


def combined(
    bases: Iterable[Named], schedules: Iterable[Named], data: Iterable[Literal["shared", "own"]]
) -> list[Named]:
    """`Infex` of every base with every schedule, and data of each kind."""
    return [
        Named(
            Infex(base.thing, schedule.thing, data=kind),
            f"Infex({base.label}, {schedule.label}{', data=own' if kind == 'own' else ''})",
            base.label,
            schedule.label,
        )
        for base, schedule, kind in itertools.product(bases, schedules, data)
    ]


def entrants(
    players: Sequence[Named],
    horizon: int,
    deltas: Sequence[Delta],
    penalties: Sequence[float],
    estimators: Sequence[Named | None],
) -> Iterator[LabelledPolicy]:
    """All of them over a horizon, with every penalty and estimator, and every delta where they say none.

    A name tells what varies: a delta that the sweep says as a number, and penalty and estimator where
    there are several. What all share is in the table's columns alone.
    """
    for player, penalty, estimator in itertools.product(players, penalties, estimators):
        shared = _varied(penalty, penalties) + _varied(estimator, estimators)
        for delta in deltas if lacks_delta(player.thing) else deltas[:1]:
            policy = resolve_defaults(player.thing, 1.0 / horizon if delta == "1/T" else delta)
            tells = policy is not player.thing and (delta != "1/T" or len(deltas) > 1)
            label, base = (
                _labels(player, policy, delta, shared) if tells else _suffixed(player, shared, shared)
            )
            names = tuple(dict.fromkeys((player.label, *player.names)))
            yield LabelledPolicy(policy, label, base, player.schedule, names, horizon, penalty, estimator)


def _varied(value: float | Named | None, values: Sequence[object]) -> list[str]:
    """What a name says of a penalty or an estimator, if there are several."""
    if len(values) == 1:
        return []
    if isinstance(value, float):
        return [f"penalty={plain(value)}"]
    return [f"estimator={'Ridge' if value is None else value.label}"]


def _labels(player: Named, policy: Policy, delta: Delta, shared: list[str]) -> tuple[str, str | None]:
    """The names of a policy and of its base once the sweep has said a delta.

    What has an expression is called as if it had said the delta itself.
    """
    told = [f"delta={delta if isinstance(delta, str) else plain(delta)}", *shared]
    base, filled = base_in(player.thing), base_in(policy)
    label, own = _suffixed(player, told, told if filled is not base else shared)
    if delta != "1/T" and player.label == label_of(player.thing):
        label = _with(label_of(policy), shared)
    if delta != "1/T" and player.base is not None and player.base == label_of(base):
        own = _with(label_of(filled), shared)
    return label, own


def _suffixed(player: Named, words: list[str], base_words: list[str]) -> tuple[str, str | None]:
    return _with(player.label, words), None if player.base is None else _with(player.base, base_words)


def _with(name: str, words: list[str]) -> str:
    return f"{name} [{', '.join(words)}]" if words else name
