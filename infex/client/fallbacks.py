"""What a client plays while the service does not answer, and when it asks again."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard, final

from infex.arrays import Label
from infex.client.remote_decision import DEFAULT_REASON, FALLBACK_REASON, RemoteDecision
from infex.client.retrying import Patience, plain_body
from infex.errors import InfexError, InvalidSetting, ServiceSilent

MOST_FALLBACKS = 100_000  # keys that are remembered
HELD_OUT = "held out"  # the reason of decisions whose arm is that of a fixed rule, not the greedy one

Call = Callable[[], Any]


class Offer(NamedTuple):
    """The arms that a request may be given, each by its label or, where arms have none, by its number.

    `names` is None for all arms of the study. `own` are the arms that the request brings along, if it does.
    """

    names: tuple[Label, ...] | None
    own: tuple[Label, ...] | None
    default: Label | None


def offer_of(request: Mapping[str, Any], default: Label | None) -> Offer:
    """What a request offers; InvalidSetting if the default is not among it."""
    arms, offered, labels = request.get("arms"), request.get("offered"), request.get("labels")
    own = None if arms is None else tuple(range(len(arms))) if labels is None else _names(labels)
    names = own if offered is None else _names(offered)
    if default is not None:
        if not _is_name(default):
            raise InvalidSetting(f"default must be the label or the number of an arm, got {default!r}")
        if names is not None and default not in names:
            raise InvalidSetting(f"default must be one of the arms that are offered, got {default!r}")
    return Offer(names, own, default)


def _names(arms: object) -> tuple[Label, ...]:
    """Arms by name; truths, such as those of a mask, name none."""
    plain = plain_body(arms)
    return tuple(name for name in (plain if isinstance(plain, list) else [plain]) if _is_name(name))


def _is_name(value: object) -> TypeGuard[Label]:
    return isinstance(value, str | int) and not isinstance(value, bool)


@final
class Fallbacks:
    """The greedy arms heard of in one study, the latest last, and what was decided by them for which keys."""

    def __init__(self) -> None:
        self._own_lock, self._process = threading.Lock(), os.getpid()
        self._greedy: OrderedDict[Label, tuple[int, Label | None]] = OrderedDict()
        self._kept: OrderedDict[str, RemoteDecision] = OrderedDict()

    @property
    def _lock(self) -> threading.Lock:
        """A lock of this process: one that was held when a process was forked stays so in the new process."""
        if self._process != os.getpid():
            self._own_lock, self._process = threading.Lock(), os.getpid()
        return self._own_lock

    def hear(self, decision: RemoteDecision, offer: Offer) -> None:
        """Remembers the arm of a decision of the service, if it is the greedy one among the study's arms."""
        if decision.explored or decision.reason == HELD_OUT or offer.own is not None or decision.arm is None:
            return
        name = decision.arm if decision.label is None else decision.label
        with self._lock:
            self._greedy[name] = decision.arm, decision.label
            self._greedy.move_to_end(name)

    def decide(self, keys: Sequence[str], offer: Offer) -> list[RemoteDecision] | None:
        """Decisions in place of the service's; None if there is no arm to play."""
        with self._lock:
            chosen = self._chosen(offer)
            if chosen is None:
                return None
            for key in keys:
                self._kept.setdefault(key, _instead(key, *chosen))
            decisions = [self._kept[key] for key in keys]
            while len(self._kept) > MOST_FALLBACKS:
                self._kept.popitem(last=False)
            return decisions

    def has_arm(self, offer: Offer) -> bool:
        """Is there an arm to play?"""
        with self._lock:
            return self._chosen(offer) is not None

    def known(self, key: str) -> RemoteDecision | None:
        """The decision that was taken here for this key, if one was."""
        with self._lock:
            return self._kept.get(key)

    def _chosen(self, offer: Offer) -> tuple[int | None, Label | None, str] | None:
        """Number, label and reason of the arm to be played, as far as they are known."""
        if offer.own is None:
            for name, arm in reversed(self._greedy.items()):
                if offer.names is None or name in offer.names:
                    return *arm, FALLBACK_REASON
        if offer.default is None:
            return None
        return self._number(offer, offer.default), offer.default, DEFAULT_REASON

    def _number(self, offer: Offer, default: Label) -> int | None:
        """The number of the default; None if it is a label whose number was never heard of."""
        if offer.own is not None:
            return offer.own.index(default) if default in offer.own else None
        if default in self._greedy:
            return self._greedy[default][0]
        have_labels = any(label is not None for _, label in self._greedy.values())
        return default if isinstance(default, int) and not have_labels else None


def _instead(key: str, arm: int | None, label: Label | None, reason: str) -> RemoteDecision:
    greedy = arm if reason == FALLBACK_REASON else None
    return RemoteDecision(
        id=key, t=0, arm=arm, label=label, explored=False, greedy=greedy, estimate=None, low=None, high=None,
        propensity=None, reason=reason, explore_probability=None, base_propensity=None, fallback=True,
    )  # fmt: skip


@final
class CircuitBreaker:
    """Lets calls through to a service until one has no answer; then refuses them at once for a while.

    After `patience.rest` seconds the next call is refused at once as well, and starts a daemon thread that
    asks the service once whether it is `ready`. If it is, one call is let through. Its answer ends the
    outage; until then all others are refused. A call that has no fallback is let through in place of that
    thread: its caller has nothing to go on with.

    Nothing is locked, and a thread lives only as long as its one request, so a process that was forked
    during an outage goes on by itself. If threads race, one request more is sent.
    """

    def __init__(self, ready: Callable[[], bool], patience: Patience) -> None:
        self._ready, self._patience = ready, patience
        self._is_open, self._may_try, self._next_probe = False, False, 0.0

    def call(self, send: Call, has_fallback: bool) -> Any:
        """What `send` returns; ServiceSilent, at once, while the service is away."""
        if self._is_open and not self._may_try and not self._is_turn(has_fallback):
            raise ServiceSilent("the service is away, and is tried again after some seconds")
        self._may_try = False
        try:
            answer = send()
        except ServiceSilent:
            self._next_probe, self._is_open = self._patience.clock() + self._patience.rest, True
            raise
        except InfexError:  # a refusal is an answer
            self._is_open = False
            raise
        self._is_open = False
        return answer

    def _is_turn(self, has_fallback: bool) -> bool:
        """May this call try the service? If it has a fallback, a thread does so in its place."""
        now = self._patience.clock()
        if now < self._next_probe:
            return False
        self._next_probe = now + self._patience.rest
        if has_fallback:
            with contextlib.suppress(RuntimeError):  # no thread can be started now: a later call tries again
                threading.Thread(target=self._probe, name="infex client probe", daemon=True).start()
        return not has_fallback

    def _probe(self) -> None:
        if self._ready():
            self._may_try = True
