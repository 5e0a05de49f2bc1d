"""Studies that a service has, asked as if they were here: `Client`, and `AsyncClient` for an event loop.

It needs nothing beside infex itself. Requests carry keys, so each may be sent until it is answered.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import http.client
import json
import os
import random
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple, ParamSpec, Self, TypeGuard, TypeVar, final
from urllib.parse import quote, urlsplit

import numpy as np

from infex import errors
from infex.arrays import Label
from infex.checks import real, whole
from infex.errors import InfexError, InvalidSetting, ServiceRefused, ServiceSilent
from infex.registry import to_record

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0  # seconds
MOST_IDLE = 32  # connections
MOST_FALLBACKS = 100_000  # keys that are remembered
SENT_AGAIN = (408, 425, 429, 500, 502, 503, 504)
ERRORS_WITH_FIELDS = (
    errors.InvalidBody,
    errors.ServiceRefused,
)  # their constructors take more than a message
HELD_OUT = "held out"  # the reason of decisions whose arm is that of a fixed rule, not the greedy one
FALLBACK_REASON = "fallback: the service did not answer"
DEFAULT_REASON = f"{FALLBACK_REASON}, and the default was played"

P = ParamSpec("P")
T = TypeVar("T")


class RemoteDecision(NamedTuple):
    """A `Decision`, and whether it is a `fallback`: then nobody decided it and no reward may be told of it.

    A fallback plays the last greedy arm heard of among those offered, or else the request's default; `reason`
    says which. It has round 0, no estimate and no probability. `arm` is None if a default is the label of an
    arm whose number was never heard of.
    """

    id: str
    t: int
    arm: int | None
    label: Label | None
    explored: bool
    greedy: int | None
    estimate: float | None
    low: float | None
    high: float | None
    propensity: float | None
    reason: str
    explore_probability: float | None
    base_propensity: float | None
    fallback: bool = False


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a request may take in all, in `seconds`, sent again as often as there is time.

    After a decision for which there was no answer, further ones fall back at once for `rest` seconds. `pause`
    and `clock` are those of the system, except in tests.
    """

    seconds: float = 2.0
    rest: float = 5.0
    pause: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        real("seconds", self.seconds, above=0)
        real("rest", self.rest, least=0)


@final
class Client:
    """Studies of the service at `url`, asked with a `token`; any number of threads may use it.

    A request that is not answered is sent again, with growing pauses, for up to `seconds`. Requests have
    keys, so that none takes effect twice. `patience` says in place of `seconds` how long to wait.

    With `fallback`, `ask` and `ask_many` then play the greedy arm heard of last in this study among those
    that the request offers, or else its `default`, and say so; ServiceSilent is raised if there is neither.
    For the next 5 seconds they do so at once, without sending anything. Later ones still do so at once while
    a thread asks whether the service is ready; when it is, one request is sent, and its answer ends the
    outage. So an outage costs those `seconds` once, and not each time. Without `fallback` every request
    waits, and raises ServiceSilent.

        client = infex.Client("http://localhost:8321", token)
        pricing = client.study("pricing")
        decision = pricing.ask("order-1841", context={"age": 45, "country": "FR"})
        pricing.tell("order-1841", 0.7)
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        seconds: float = 2.0,
        fallback: bool = True,
        patience: Patience | None = None,
    ) -> None:
        if not isinstance(fallback, bool):
            raise InvalidSetting(f"fallback must be True or False, got {fallback!r}")
        self._patience = Patience(seconds=seconds) if patience is None else patience
        self._transport = _Transport(url, token, self._patience)
        self._fallback = fallback
        self._outages: dict[str, _Outage] = {}

    def study(self, name: str) -> RemoteStudy:
        """The study of a name; nothing is sent yet. What was heard of it is the same for all that have it."""
        outage = self._outages.setdefault(name, _Outage(self._transport.is_ready, self._patience))
        return RemoteStudy(name, self._transport, outage if self._fallback else None)

    def open(self, name: str, **settings: Any) -> RemoteStudy:
        """Begins a study with the settings of `infex.Study.open`, or finds it, if it has these settings."""
        plain = {word: _setting(word, value) for word, value in settings.items() if value is not None}
        self._transport.call("POST", "/v1/studies", {"name": name} | plain)
        return self.study(name)

    def studies(self) -> list[str]:
        """The names of all studies."""
        return [each["name"] for each in self._transport.call("GET", "/v1/studies")]

    def close(self) -> None:
        """Closes the connections that are idle."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@final
class RemoteStudy:
    """One study of a service, with the verbs of `infex.Study`; `Client.study` makes it."""

    def __init__(self, name: str, transport: _Transport, outage: _Outage | None) -> None:
        self.name, self._transport, self._outage = name, transport, outage
        self._path = f"/v1/studies/{quote(name, safe='')}"

    def ask(
        self, key: str | None = None, *, context: object = None, default: Label | None = None, **more: Any
    ) -> RemoteDecision:
        """The decision of a key, on disk; without a key one is made up, to be found in `decision.id`.

        `context`, `arms`, `labels`, `offered`, `allowed`, `explore` and `unit` are those of `Study.ask`. If
        the service does not answer in time, the greedy arm heard of last among those `offered` is played, or
        else `default`: the label of an arm, or its number where arms have no labels. Of `arms` that a request
        brings none was heard of. `decision.fallback` says so, and its reward is not to be told. `allowed` is
        about exploring alone, so a fallback does not look at it.
        """
        name = uuid.uuid4().hex if key is None else key
        return self._decide([name], [context], default, more, one=True)[0]

    def ask_many(
        self,
        keys: Sequence[str],
        *,
        contexts: Sequence[object] | None = None,
        default: Label | None = None,
        **more: Any,
    ) -> list[RemoteDecision]:
        """The decisions of many keys in one request, all on disk.

        Without an answer each is decided as `ask` does it then, with the same `default` for all.
        """
        given = [None] * len(keys) if contexts is None else contexts
        if len(given) != len(keys):
            raise InvalidSetting(f"contexts must be as many as the keys, {len(keys)}, got {len(given)}")
        return self._decide(keys, given, default, more, one=False)

    def _decide(
        self,
        keys: Sequence[str],
        contexts: Sequence[object],
        default: Label | None,
        more: dict[str, Any],
        one: bool,
    ) -> list[RemoteDecision]:
        offer = _Offer.of(more, default)
        before = [self._fallback_of(key) for key in keys]
        rest = {word: value for word, value in more.items() if value is not None}
        rows = [
            {"key": key, **({} if context is None else {"context": context}), **rest}
            for key, context, known in zip(keys, contexts, before, strict=True)
            if known is None
        ]

        def send() -> list[dict[str, Any]]:
            answer = self._transport.call("POST", f"{self._path}/decisions", rows[0] if one else rows)
            return [answer] if one else list(answer)

        if not rows:
            answers = []
        elif self._outage is None:
            answers = send()
        else:
            try:
                answers = self._outage.call(send, offer)
            except ServiceSilent:
                decisions = self._outage.decide(keys, offer)
                if decisions is None:
                    raise
                return decisions
        heard = iter([self._heard(answer, offer) for answer in answers])
        return [next(heard) if known is None else known for known in before]

    def _heard(self, answer: dict[str, Any], offer: _Offer) -> RemoteDecision:
        known = {name: value for name, value in answer.items() if name in RemoteDecision._fields}
        decision = RemoteDecision(**(known | {"id": answer["key"], "t": answer["round"]}))
        if self._outage is not None:
            self._outage.hear(decision, offer)
        return decision

    def _fallback_of(self, key: str) -> RemoteDecision | None:
        return None if self._outage is None else self._outage.known(key)

    def tell(self, key: str, reward: float, *, weight: float = 1.0, part: str | None = None) -> str:
        """Tells a reward, exactly once, however often it is sent; the state of the decision then.

        That of a fallback is not sent, and "fallback" returned: the service may have decided otherwise.
        """
        if self._fallback_of(key) is not None:
            return "fallback"
        body = {"key": key, "reward": reward, "weight": weight} | ({} if part is None else {"part": part})
        return str(self._transport.call("POST", f"{self._path}/rewards", body)["state"])

    def tell_many(self, keys: Sequence[str], rewards: Sequence[float]) -> list[str]:
        """Tells many rewards in one request, but for those of fallbacks; the state of each."""
        pairs = list(zip(keys, rewards, strict=True))
        sent = [{"key": key, "reward": value} for key, value in pairs if self._fallback_of(key) is None]
        answers = self._transport.call("POST", f"{self._path}/rewards", sent) if sent else []
        states = {each["key"]: str(each["state"]) for each in answers}
        return [states.get(key, "fallback") for key in keys]

    def explain(self, key: str) -> dict[str, Any]:
        """Why a decision was taken, as plain data."""
        why: dict[str, Any] = self._transport.call("GET", f"{self._path}/explain/{quote(key, safe='')}")[
            "why"
        ]
        return why

    def state(self, key: str) -> str:
        """How far the reward of a decision has come."""
        return str(self._transport.call("GET", f"{self._path}/decisions/{quote(key, safe='')}")["state"])

    def metrics(self) -> dict[str, Any]:
        """The figures of the study."""
        figures: dict[str, Any] = self._transport.call("GET", self._path)["figures"]
        return figures

    def amend(self, *, reason: str, policy: object = None, **more: Any) -> None:
        """Changes the policy, `allowed` arms, or with `explore=False` pauses exploring; it is recorded."""
        changes = {} if policy is None else {"policy": _setting("policy", policy)}
        self._transport.call("POST", f"{self._path}/amendments", {"reason": reason} | changes | more)


@final
class AsyncClient:
    """A `Client` whose verbs are awaited: `await client.study("pricing").ask("order-1841", context=...)`.

    `url`, `token` and all other settings are those of `Client`; `connections` requests for decisions and as
    many others are under way at once, each in a thread. So decisions never queue behind rewards that are sent
    again and again while the service is away.
    """

    def __init__(self, url: str, token: str | None = None, *, connections: int = 32, **settings: Any) -> None:
        self._client = Client(url, token, **settings)
        count = whole("connections", connections, least=1)
        self._deciding = ThreadPoolExecutor(count, "infex client decisions")
        self._threads = ThreadPoolExecutor(count, "infex client")

    def study(self, name: str) -> AsyncRemoteStudy:
        """The study of a name; nothing is sent yet."""
        return AsyncRemoteStudy(self._client.study(name), self._deciding, self._threads)

    async def open(self, name: str, **settings: Any) -> AsyncRemoteStudy:
        """Begins a study, or finds it, as `Client.open` does."""
        await _in_thread(self._threads, self._client.open, name, **settings)
        return self.study(name)

    async def studies(self) -> list[str]:
        """The names of all studies."""
        return await _in_thread(self._threads, self._client.studies)

    async def close(self) -> None:
        """Waits for what is under way, and closes connections."""
        await asyncio.to_thread(self._threads.shutdown)
        await asyncio.to_thread(self._deciding.shutdown)
        self._client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


@final
class AsyncRemoteStudy:
    """One study of a service; its verbs are those of `RemoteStudy`, awaited."""

    def __init__(self, study: RemoteStudy, deciding: ThreadPoolExecutor, threads: ThreadPoolExecutor) -> None:
        self.name, self._study, self._deciding, self._threads = study.name, study, deciding, threads

    async def ask(
        self, key: str | None = None, *, context: object = None, default: Label | None = None, **more: Any
    ) -> RemoteDecision:
        """The decision of a key, or its fallback, as `RemoteStudy.ask` gives it."""
        return await _in_thread(
            self._deciding, self._study.ask, key, context=context, default=default, **more
        )

    async def ask_many(
        self,
        keys: Sequence[str],
        *,
        contexts: Sequence[object] | None = None,
        default: Label | None = None,
        **more: Any,
    ) -> list[RemoteDecision]:
        """The decisions of many keys in one request, or their fallbacks."""
        return await _in_thread(
            self._deciding, self._study.ask_many, keys, contexts=contexts, default=default, **more
        )

    async def tell(self, key: str, reward: float, *, weight: float = 1.0, part: str | None = None) -> str:
        """Tells a reward, exactly once."""
        return await _in_thread(self._threads, self._study.tell, key, reward, weight=weight, part=part)

    async def tell_many(self, keys: Sequence[str], rewards: Sequence[float]) -> list[str]:
        """Tells many rewards in one request."""
        return await _in_thread(self._threads, self._study.tell_many, keys, rewards)

    async def explain(self, key: str) -> dict[str, Any]:
        """Why a decision was taken."""
        return await _in_thread(self._threads, self._study.explain, key)

    async def state(self, key: str) -> str:
        """How far the reward of a decision has come."""
        return await _in_thread(self._threads, self._study.state, key)

    async def metrics(self) -> dict[str, Any]:
        """The figures of the study."""
        return await _in_thread(self._threads, self._study.metrics)

    async def amend(self, *, reason: str, policy: object = None, **more: Any) -> None:
        """Changes the study, as `RemoteStudy.amend` does."""
        await _in_thread(self._threads, self._study.amend, reason=reason, policy=policy, **more)


async def _in_thread(
    threads: ThreadPoolExecutor, work: Callable[P, T], *words: P.args, **more: P.kwargs
) -> T:
    return await asyncio.get_running_loop().run_in_executor(threads, functools.partial(work, *words, **more))


class _Answer(NamedTuple):
    status: int
    body: bytes
    retry_after: float | None


@final
class _Transport:
    """Sends requests to `url` until they are answered, over connections that stay open.

    Each connection is used by one thread of one process at a time.
    """

    def __init__(self, url: str, token: str | None, patience: Patience) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise InvalidSetting(f"url must be such as http://localhost:8321, got {url!r}")
        self._secure, self._host, self._port = parts.scheme == "https", parts.hostname, parts.port
        self._prefix, self._patience = parts.path.rstrip("/"), patience
        self._headers = {"accept": "application/json"}
        if token is not None:
            self._headers["authorization"] = f"Bearer {token}"
        self._idle: list[http.client.HTTPConnection] = []  # append and pop are atomic: no lock to be forked
        self._process, self._closed = os.getpid(), False

    def call(self, method: str, path: str, body: object = None) -> Any:
        """The answer as plain data. Errors are those of a study; ServiceSilent if none comes in time."""
        data = None if body is None else _encoded(body)
        clock, seconds = self._patience.clock, self._patience.seconds
        end, tries, last = clock() + seconds, 0, ServiceSilent("no time")
        while (left := end - clock()) > 0:
            wait: float | None = None
            try:
                answer = self._send(method, path, data, left)
                if answer.status < 400:
                    return _plain_answer(answer)
                refused = _error_in(answer)
                if answer.status not in SENT_AGAIN:
                    raise refused
                last, wait = ServiceSilent(f"the service said {answer.status}: {refused}"), answer.retry_after
            except ServiceSilent as silent:
                last = silent
            tries += 1
            most = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (tries - 1))
            pause = (
                most * (0.5 + random.random() / 2) if wait is None else wait
            )  # clients come back one by one
            self._patience.pause(max(0.0, min(pause, end - clock())))
        raise ServiceSilent(f"{last} (sent {tries} times in {seconds:g} s)")

    def is_ready(self) -> bool:
        """Does the service answer that it can be used? Asked once."""
        try:
            return self._send("GET", "/readyz", None, self._patience.seconds).status not in SENT_AGAIN
        except ServiceSilent:
            return False

    def close(self) -> None:
        """Closes connections that are idle; one that is in use is closed after it."""
        self._closed = True
        while (connection := self._idle_connection()) is not None:
            connection.close()

    def _send(self, method: str, path: str, body: bytes | None, seconds: float) -> _Answer:
        """The answer; ServiceSilent if there is none in time. A connection that was left open may be dead."""
        known = self._idle_connection()
        if known is not None:
            try:
                return self._exchange(known, method, path, body, seconds)
            except TimeoutError as error:
                raise ServiceSilent(f"no answer within {seconds:.3g} s") from error
            except (OSError, http.client.HTTPException):
                known.close()  # the service closed it while it was idle: a new one may do
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        try:
            return self._exchange(kind(self._host, self._port), method, path, body, seconds)
        except (OSError, http.client.HTTPException) as error:
            raise ServiceSilent(f"no answer from {self._host}: {type(error).__name__}") from error

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: bytes | None,
        seconds: float,
    ) -> _Answer:
        connection.timeout = seconds
        if connection.sock is not None:
            connection.sock.settimeout(seconds)
        headers = self._headers if body is None else self._headers | {"content-type": "application/json"}
        try:
            connection.request(method, self._prefix + path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
        except BaseException:
            connection.close()
            raise
        if len(self._idle) < MOST_IDLE and connection.sock is not None and not self._closed:
            self._idle.append(connection)
        else:
            connection.close()
        later = answer.getheader("retry-after") or ""
        return _Answer(answer.status, content, float(later) if later.isdigit() else None)

    def _idle_connection(self) -> http.client.HTTPConnection | None:
        if self._process != os.getpid():  # a fork shares sockets: answers would reach the wrong process
            self._idle, inherited, self._process = [], self._idle, os.getpid()
            for connection in inherited:
                connection.close()
        try:
            return self._idle.pop()
        except IndexError:
            return None


def _plain_answer(answer: _Answer) -> Any:
    """The body of an answer as plain data; ServiceSilent if no service gave it, but, say, a proxy."""
    if 200 <= answer.status < 300:
        with contextlib.suppress(ValueError):
            return json.loads(answer.body) if answer.body else None
    raise ServiceSilent(f"no service of infex answered (status {answer.status}): is the url right?")


def _error_in(answer: _Answer) -> InfexError:
    """The error that a refusal names, as a study would raise it; ServiceRefused where it has another name."""
    try:
        refusal = json.loads(answer.body)
        name, message = str(refusal["error"]), str(refusal["message"])
    except (ValueError, KeyError, TypeError):
        return ServiceRefused(f"status {answer.status}", status=answer.status, error="")
    kind = vars(errors).get(name)
    if isinstance(kind, type) and issubclass(kind, InfexError) and not issubclass(kind, ERRORS_WITH_FIELDS):
        return kind(message)
    fields = {"field": refusal.get("field"), "expected": refusal.get("expected")}
    return ServiceRefused(message, status=answer.status, error=name, **fields)


def _encoded(body: object) -> bytes:
    """A body as JSON: arrays as lists, what is missing as null, and no number that is not finite."""
    try:
        return json.dumps(_plain(body), allow_nan=False).encode()
    except ValueError:
        raise InvalidSetting("numbers must be finite") from None


def _plain(value: object) -> Any:
    """What JSON can hold; NaN under a name is what is missing."""
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value
    if isinstance(value, Mapping):
        return {str(name): None if _is_nan(part) else _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple | range | set | frozenset):
        return [_plain(part) for part in value]
    raise InvalidSetting(f"a request holds numbers, texts, lists and mappings, got a {type(value).__name__}")


def _is_nan(value: object) -> bool:
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _setting(word: str, value: object) -> Any:
    """A setting as it is sent: policies, estimators and feature maps as records."""
    if word in ("policy", "estimator"):
        return value if isinstance(value, str | dict) else to_record(value)
    return to_record(value) if word == "features" and not isinstance(value, dict) else value


class _Offer(NamedTuple):
    """The arms that a request may be given, each by its label or, where arms have none, by its number.

    `names` is None for all arms of the study. `own` are the arms that the request brings along, if it does.
    """

    names: tuple[Label, ...] | None
    own: tuple[Label, ...] | None
    default: Label | None

    @staticmethod
    def of(request: Mapping[str, Any], default: Label | None) -> _Offer:
        """What a request offers; InvalidSetting if the default is not among it."""
        arms, offered, labels = request.get("arms"), request.get("offered"), request.get("labels")
        own = None if arms is None else tuple(range(len(arms))) if labels is None else _arm_names(labels)
        names = own if offered is None else _arm_names(offered)
        if default is not None:
            if not _is_arm_name(default):
                raise InvalidSetting(f"default must be the label or the number of an arm, got {default!r}")
            if names is not None and default not in names:
                raise InvalidSetting(f"default must be one of the arms that are offered, got {default!r}")
        return _Offer(names, own, default)


def _arm_names(arms: object) -> tuple[Label, ...]:
    """Arms by name; booleans, such as those of a mask, name none."""
    plain = _plain(arms)
    return tuple(name for name in (plain if isinstance(plain, list) else [plain]) if _is_arm_name(name))


def _is_arm_name(value: object) -> TypeGuard[Label]:
    return isinstance(value, str | int) and not isinstance(value, bool)


@final
class _Outage:
    """What a client plays in one study while the service is away, and when it asks again (a circuit breaker).

    Calls go through until one has no answer; then they are refused at once. After `patience.rest` seconds the
    next call is refused at once as well, and starts a daemon thread that asks the service once whether it is
    `ready`. If it is, one call is let through. Its answer ends the outage; until then all others are refused.
    A call that has no fallback is let through in place of that thread: its caller has nothing to go on with.

    The breaker is not locked, and a thread lives only as long as its one request, so a process that was
    forked during an outage goes on by itself. If threads race, one request more is sent.
    """

    def __init__(self, ready: Callable[[], bool], patience: Patience) -> None:
        self._ready, self._patience = ready, patience
        self._is_away, self._may_try, self._next_probe = False, False, 0.0
        self._own_lock, self._process = threading.Lock(), os.getpid()
        self._greedy: OrderedDict[Label, tuple[int, Label | None]] = OrderedDict()  # the latest last
        self._decided: OrderedDict[str, RemoteDecision] = OrderedDict()

    @property
    def _lock(self) -> threading.Lock:
        """A lock of this process: one that was held when a process was forked stays so in the new process."""
        if self._process != os.getpid():
            self._own_lock, self._process = threading.Lock(), os.getpid()
        return self._own_lock

    def call(self, send: Callable[[], T], offer: _Offer) -> T:
        """What `send` returns; ServiceSilent, at once, while the service is away."""
        if self._is_away and not self._may_try and not self._is_turn(offer):
            raise ServiceSilent("the service is away, and is tried again after some seconds")
        self._may_try = False
        try:
            answer = send()
        except ServiceSilent:
            self._next_probe, self._is_away = self._patience.clock() + self._patience.rest, True
            raise
        except InfexError:  # a refusal is an answer
            self._is_away = False
            raise
        self._is_away = False
        return answer

    def _is_turn(self, offer: _Offer) -> bool:
        """May this call try the service? If it has a fallback, a thread does so in its place."""
        now = self._patience.clock()
        if now < self._next_probe:
            return False
        self._next_probe = now + self._patience.rest
        with self._lock:
            has_fallback = self._chosen(offer) is not None
        if has_fallback:
            with contextlib.suppress(RuntimeError):  # no thread can be started now: a later call tries again
                threading.Thread(target=self._probe, name="infex client probe", daemon=True).start()
        return not has_fallback

    def _probe(self) -> None:
        if self._ready():
            self._may_try = True

    def hear(self, decision: RemoteDecision, offer: _Offer) -> None:
        """Remembers the arm of a decision of the service, if it is the greedy one among the study's arms."""
        if decision.explored or decision.reason == HELD_OUT or offer.own is not None or decision.arm is None:
            return
        name = decision.arm if decision.label is None else decision.label
        with self._lock:
            self._greedy[name] = decision.arm, decision.label
            self._greedy.move_to_end(name)

    def known(self, key: str) -> RemoteDecision | None:
        """The decision that was taken here for this key, if one was."""
        with self._lock:
            return self._decided.get(key)

    def decide(self, keys: Sequence[str], offer: _Offer) -> list[RemoteDecision] | None:
        """Decisions in place of the service's; None if there is no arm to play."""
        with self._lock:
            chosen = self._chosen(offer)
            if chosen is None:
                return None
            arm, label, reason = chosen
            greedy = arm if reason == FALLBACK_REASON else None
            for key in keys:
                self._decided.setdefault(key, RemoteDecision(
                    id=key, t=0, arm=arm, label=label, explored=False, greedy=greedy, estimate=None, low=None,
                    high=None, propensity=None, reason=reason, explore_probability=None, base_propensity=None,
                    fallback=True,
                ))  # fmt: skip
            decisions = [self._decided[key] for key in keys]
            while len(self._decided) > MOST_FALLBACKS:
                self._decided.popitem(last=False)
            return decisions

    def _chosen(self, offer: _Offer) -> tuple[int | None, Label | None, str] | None:
        """Number, label and reason of the arm to be played, as far as they are known."""
        if offer.own is None:
            for name, arm in reversed(self._greedy.items()):
                if offer.names is None or name in offer.names:
                    return *arm, FALLBACK_REASON
        if offer.default is None:
            return None
        return self._number(offer, offer.default), offer.default, DEFAULT_REASON

    def _number(self, offer: _Offer, default: Label) -> int | None:
        """The number of the default; None if it is a label whose number was never heard of."""
        if offer.own is not None:
            return offer.own.index(default) if default in offer.own else None
        if default in self._greedy:
            return self._greedy[default][0]
        have_labels = any(label is not None for _, label in self._greedy.values())
        return default if isinstance(default, int) and not have_labels else None
