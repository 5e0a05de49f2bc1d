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
import shutil
import tempfile
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Concatenate, NamedTuple, ParamSpec, Self, TypeGuard, TypeVar, final
from urllib.parse import quote, urlencode, urlsplit

from infex import errors
from infex.arrays import Label, plain_value
from infex.checks import real, whole
from infex.errors import InfexError, InvalidSetting, ServiceRefused, ServiceSilent
from infex.files import replacing
from infex.registry import to_record

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0  # seconds
LONG_WORK = 600.0  # seconds that a service may take for what reads a whole journal
MOST_IDLE = 32  # connections
MOST_FALLBACKS = 100_000  # keys that are remembered
SENT_AGAIN = (408, 425, 429, 500, 502, 503, 504)
ERRORS_WITH_FIELDS = (
    errors.InvalidBody,
    errors.ServiceRefused,
)  # their constructors take more than a message
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
        learn_from = settings.pop("learn_from", None)
        plain = {word: _setting(word, value) for word, value in settings.items() if value is not None}
        if learn_from is not None:
            plain["awaits_log"] = True
        self._transport.call("POST", "/v1/studies", {"name": name} | plain)
        study = self.study(name)
        if learn_from is not None:
            study.learn_from(learn_from)
        return study

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
        self, /, key: str | None = None, *, context: object = None, default: Label | None = None, **more: Any
    ) -> RemoteDecision:
        """The decision of a key, on disk; without a key one is made up, to be found in `decision.id`.

        `context`, `arms`, `labels`, `offered`, `allowed`, `explore` and `unit` are those of `Study.ask`. If
        the service does not answer in time, the greedy arm heard of last among those `offered` is played, or
        else `default`: the label of an arm, or its number where arms have no labels. Of `arms` that a request
        brings none was heard of. `decision.fallback` says so, and its reward is not to be told. `allowed` is
        about exploring alone, so a fallback does not look at it.
        """
        name = uuid.uuid4().hex if key is None else key
        return self._decide([name], [{"context": context}], default, more, one=True)[0]

    def ask_many(
        self,
        /,
        keys: Sequence[str],
        *,
        contexts: Sequence[object] | None = None,
        units: Sequence[str | None] | None = None,
        played: Sequence[Label] | None = None,
        default: Label | None = None,
        **more: Any,
    ) -> list[RemoteDecision]:
        """The decisions of many keys in one request, all on disk.

        `contexts`, `units` and `played` are one for each key; what else is given is the same for all. Without
        an answer each is decided as `ask` does it then, with the same `default` for all.
        """
        columns = {"contexts": contexts, "units": units, "played": played}
        for word, column in columns.items():
            if column is not None and len(column) != len(keys):
                raise InvalidSetting(f"{word} must be as many as the keys, {len(keys)}, got {len(column)}")
        fields = {"context": contexts, "unit": units, "played": played}
        given = {field: column for field, column in fields.items() if column is not None}
        rows = [{field: column[row] for field, column in given.items()} for row in range(len(keys))]
        return self._decide(keys, rows, default, more, one=False)

    def _decide(
        self,
        keys: Sequence[str],
        given: Sequence[Mapping[str, object]],
        default: Label | None,
        more: dict[str, Any],
        one: bool,
    ) -> list[RemoteDecision]:
        offer = _Offer.of(more, default)
        before = [self._fallback_of(key) for key in keys]
        rows = [
            {"key": key} | {word: value for word, value in {**row, **more}.items() if value is not None}
            for key, row, known in zip(keys, given, before, strict=True)
            if known is None
        ]

        def send() -> list[dict[str, Any]]:
            answer = self._transport.call("POST", f"{self._path}/decisions", rows[0] if one else rows)
            return [answer] if one else list(answer)

        if not rows:
            answers = []
        elif self._outage is None or "played" in rows[0]:  # where an arm was played, there is none to play
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

        Where rewards add up (`again="sum"`), a `part` that has a name counts once, also in another call;
        without one a name is made up for this call. That of a fallback is not sent, and "fallback" returned:
        the service may have decided otherwise.
        """
        if self._fallback_of(key) is not None:
            return "fallback"
        name = uuid.uuid4().hex if part is None else part
        body = {"key": key, "reward": reward, "weight": weight, "part": name}
        return str(self._transport.call("POST", f"{self._path}/rewards", body)["state"])

    def tell_many(self, keys: Sequence[str], rewards: Sequence[float]) -> list[str]:
        """Tells many rewards in one request, but for those of fallbacks; the state of each."""
        pairs = list(zip(keys, rewards, strict=True))
        sent = [
            {"key": key, "reward": value, "part": uuid.uuid4().hex}
            for key, value in pairs
            if self._fallback_of(key) is None
        ]
        answers = self._transport.call("POST", f"{self._path}/rewards", sent) if sent else []
        states = {each["key"]: str(each["state"]) for each in answers}
        return [states.get(key, "fallback") for key in keys]

    def learn_from(self, /, source: object, *, seconds: float = LONG_WORK, **columns: str) -> int:
        """Learns all rewards of a log, or of the file of one, before the first decision; how many they are.

        `arm`, `reward` and `unit` name columns of a file, as for `Study.learn_from`. It is sent until it
        is answered, for up to `seconds`: the same log again changes nothing.
        """
        with contextlib.ExitStack() as opened:
            if isinstance(source, str | os.PathLike):
                path = Path(source)
            else:
                from infex.logs import write  # which needs libraries for logs

                path = Path(opened.enter_context(tempfile.TemporaryDirectory())) / "log.parquet"
                write(source, path)  # type: ignore[arg-type]
            address = f"{self._path}/log?{urlencode(columns)}" if columns else f"{self._path}/log"
            answer = self._transport.call("POST", address, path.read_bytes(), seconds)
        return int(answer["rows"])

    def correct(self, key: str, reward: float, *, reason: str = "") -> str:
        """Puts a reward right that was told, or taken by default; the state of the decision then."""
        body = {"key": key, "reward": reward, "reason": reason}
        return str(self._transport.call("POST", f"{self._path}/corrections", body)["state"])

    def forget(self, unit: str, *, reason: str = "", seconds: float = LONG_WORK) -> int:
        """Erases all that is kept of a unit; how many entries that was.

        A long journal takes minutes, so it is waited for `seconds`, and not as long as the client says.
        """
        body = {"unit": unit, "reason": reason}
        return int(self._transport.call("POST", f"{self._path}/erasures", body, seconds)["erased"])

    def archive(self, *, keep: int, seconds: float = LONG_WORK) -> int:
        """Moves all entries but the newest `keep` into files beside the database; how many."""
        return int(self._transport.call("POST", f"{self._path}/archive", {"keep": keep}, seconds)["archived"])

    def explain(
        self, key: str, *, prove: bool = True, contents: bool = False, seconds: float = LONG_WORK
    ) -> dict[str, Any]:
        """Why a decision was taken, as plain data; it is sent once, and waited for `seconds`.

        With `contents` it shows the context and the unit, for which the token needs the scope `export` too.
        """
        path = f"explain/{quote(key, safe='')}?prove={_flag(prove)}&contents={_flag(contents)}"
        why: dict[str, Any] = self._read(path, seconds)["why"]
        return why

    def verify(self, checkpoint: str | None = None, *, seconds: float = LONG_WORK) -> dict[str, Any]:
        """What replaying the whole journal finds, as plain data: whether it `holds`, and if not, `why`.

        `checkpoint` is that of a verdict from before. It is sent once, and waited for `seconds`.
        """
        query = "" if checkpoint is None else f"?checkpoint={quote(checkpoint, safe='')}"
        verdict: dict[str, Any] = self._read(f"verify{query}", seconds)
        return verdict

    def export(self, path: str | Path, *, seconds: float = LONG_WORK) -> dict[str, int]:
        """Writes all decisions with their rewards as a log in Parquet, whole or not at all.

        It says how many `rows` these are, and how many of them were for units that are `held_out`. It is sent
        once; the service may take `seconds` until the first byte comes, and between two of them.
        """
        with replacing(Path(path)) as file:
            headers = self._transport.download(f"{self._path}/export", file, seconds)
        return {"rows": int(headers["infex-rows"]), "held_out": int(headers["infex-held-out"])}

    def lift(self, *, seconds: float = LONG_WORK) -> dict[str, Any]:
        """What the study gains over those held out, as plain data; sent once, and waited for `seconds`."""
        found: dict[str, Any] = self._read("lift", seconds)
        return found

    def _read(self, path: str, seconds: float) -> Any:
        return self._transport.call("GET", f"{self._path}/{path}", None, seconds, once=True)

    def state(self, key: str) -> str:
        """How far the reward of a decision has come."""
        return str(self._transport.call("GET", f"{self._path}/decisions/{quote(key, safe='')}")["state"])

    def metrics(self) -> dict[str, Any]:
        """The figures of the study."""
        figures: dict[str, Any] = self._transport.call("GET", self._path)["figures"]
        return figures

    def amend(self, /, *, reason: str, key: str | None = None, policy: object = None, **changes: Any) -> None:
        """Changes the study as `Study.amend` does, with the same words: all in one commit, or nothing.

        However often it is sent, it is made once: without a `key` of yours one is made up.
        """
        given = {word: value for word, value in changes.items() if value is not None}
        given |= {} if policy is None else {"policy": _setting("policy", policy)}
        body = {"reason": reason, "key": uuid.uuid4().hex if key is None else key} | given
        self._transport.call("POST", f"{self._path}/amendments", body)

    def add_arms(
        self, arms: Any, labels: Iterable[Label] | None = None, *, reason: str, key: str | None = None
    ) -> None:
        """Puts new arms behind those there are; an amendment."""
        names = {} if labels is None else {"labels": list(labels)}
        self.amend(
            add_arms={"arms": [arms] if isinstance(arms, str) else arms} | names, reason=reason, key=key
        )

    def remove_arms(self, which: Any, *, reason: str, key: str | None = None) -> None:
        """Takes arms away; an amendment."""
        self.amend(remove_arms=[which] if isinstance(which, str | int) else which, reason=reason, key=key)

    def extend(
        self, /, more: int | None = None, *, reason: str, key: str | None = None, **features: Any
    ) -> None:
        """Adds features to contexts or arms: `more`, or `numbers`, `categories`, `longest`; an amendment."""
        given = {word: value for word, value in {"more": more, **features}.items() if value is not None}
        self.amend(extend=given, reason=reason, key=key)

    def pause(self, reason: str, *, key: str | None = None) -> None:
        """Skips all explorations that are due from now on, until `resume`; an amendment."""
        self.amend(explore=False, reason=reason, key=key)

    def resume(self, reason: str, *, key: str | None = None) -> None:
        """Goes on with exploring as the policy says; an amendment."""
        self.amend(explore=True, reason=reason, key=key)


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


def _awaited(
    verb: Callable[Concatenate[RemoteStudy, P], T], deciding: bool = False
) -> Callable[Concatenate[AsyncRemoteStudy, P], Coroutine[Any, Any, T]]:
    """A verb of a study that is awaited, while a thread sends it."""

    @functools.wraps(verb)
    async def call(study: AsyncRemoteStudy, /, *words: P.args, **more: P.kwargs) -> T:
        threads = study.deciding if deciding else study.threads
        return await _in_thread(threads, verb, study.study, *words, **more)

    return call


@final
class AsyncRemoteStudy:
    """One study of a service; its verbs are those of `RemoteStudy`, awaited."""

    def __init__(self, study: RemoteStudy, deciding: ThreadPoolExecutor, threads: ThreadPoolExecutor) -> None:
        self.name, self.study, self.deciding, self.threads = study.name, study, deciding, threads

    ask = _awaited(RemoteStudy.ask, deciding=True)
    ask_many = _awaited(RemoteStudy.ask_many, deciding=True)
    tell = _awaited(RemoteStudy.tell)
    tell_many = _awaited(RemoteStudy.tell_many)
    correct = _awaited(RemoteStudy.correct)
    forget = _awaited(RemoteStudy.forget)
    archive = _awaited(RemoteStudy.archive)
    learn_from = _awaited(RemoteStudy.learn_from)
    explain = _awaited(RemoteStudy.explain)
    verify = _awaited(RemoteStudy.verify)
    export = _awaited(RemoteStudy.export)
    lift = _awaited(RemoteStudy.lift)
    state = _awaited(RemoteStudy.state)
    metrics = _awaited(RemoteStudy.metrics)
    amend = _awaited(RemoteStudy.amend)
    add_arms = _awaited(RemoteStudy.add_arms)
    remove_arms = _awaited(RemoteStudy.remove_arms)
    extend = _awaited(RemoteStudy.extend)
    pause = _awaited(RemoteStudy.pause)
    resume = _awaited(RemoteStudy.resume)


async def _in_thread(
    threads: ThreadPoolExecutor, work: Callable[P, T], *words: P.args, **more: P.kwargs
) -> T:
    return await asyncio.get_running_loop().run_in_executor(threads, functools.partial(work, *words, **more))


class _Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]  # by their names in lower case
    body: bytes


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

    def call(
        self, method: str, path: str, body: object = None, seconds: float | None = None, once: bool = False
    ) -> Any:
        """The answer as plain data. Errors are those of a study; ServiceSilent if none comes in time.

        `seconds` is how long it may take in all; None: as long as the client's patience lasts. With `once` it
        is not sent again.
        """
        data = body if body is None or isinstance(body, bytes) else _encoded(body)
        clock, seconds = self._patience.clock, real("seconds", seconds or self._patience.seconds, above=0)
        end, tries, last = clock() + seconds, 0, ServiceSilent("no time")
        while (left := end - clock()) > 0:
            wait: float | None = None
            try:
                answer = self._send(method, path, data, left)
                if answer.status < 400:
                    return _plain_answer(answer)
                refused = _error_in(answer)
                if once or answer.status not in SENT_AGAIN:
                    raise refused
                last = ServiceSilent(f"the service said {answer.status}: {refused}")
                later = answer.headers.get("retry-after", "")
                wait = float(later) if later.isdigit() else None
            except ServiceSilent as silent:
                if once:
                    raise
                last = silent
            tries += 1
            most = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (tries - 1))
            pause = (
                most * (0.5 + random.random() / 2) if wait is None else wait
            )  # clients come back one by one
            self._patience.pause(max(0.0, min(pause, end - clock())))
        raise ServiceSilent(f"{last} (sent {tries} times in {seconds:g} s)")

    def download(self, path: str, file: IO[bytes], seconds: float) -> Mapping[str, str]:
        """Writes the body of an answer to a file; its headers. It is sent once."""
        answer = self._send("GET", path, None, real("seconds", seconds, above=0), file)
        if answer.status >= 400:
            raise _error_in(answer)
        if "infex-rows" not in answer.headers:
            raise _no_service(answer.status)
        return answer.headers

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

    def _send(
        self, method: str, path: str, body: bytes | None, seconds: float, file: IO[bytes] | None = None
    ) -> _Answer:
        """The answer; ServiceSilent if there is none in time. A connection that was left open may be dead."""
        known = self._idle_connection()
        if known is not None:
            try:
                return self._exchange(known, method, path, body, seconds, file)
            except TimeoutError as error:
                raise ServiceSilent(f"no answer within {seconds:.3g} s") from error
            except (OSError, http.client.HTTPException):
                known.close()  # the service closed it while it was idle: a new one may do
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        try:
            return self._exchange(kind(self._host, self._port), method, path, body, seconds, file)
        except (OSError, http.client.HTTPException) as error:
            raise ServiceSilent(f"no answer from {self._host}: {type(error).__name__}") from error

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: bytes | None,
        seconds: float,
        file: IO[bytes] | None,
    ) -> _Answer:
        connection.timeout = seconds
        if connection.sock is not None:
            connection.sock.settimeout(seconds)
        headers = self._headers if body is None else self._headers | {"content-type": "application/json"}
        try:
            connection.request(method, self._prefix + path, body, headers)
            answer = connection.getresponse()
            content = answer.read() if file is None or answer.status >= 400 else _saved(answer, file)
        except BaseException:
            connection.close()
            raise
        if len(self._idle) < MOST_IDLE and connection.sock is not None and not self._closed:
            self._idle.append(connection)
        else:
            connection.close()
        return _Answer(answer.status, {name.lower(): text for name, text in answer.getheaders()}, content)

    def _idle_connection(self) -> http.client.HTTPConnection | None:
        if self._process != os.getpid():  # a fork shares sockets: answers would reach the wrong process
            self._idle, inherited, self._process = [], self._idle, os.getpid()
            for connection in inherited:
                connection.close()
        try:
            return self._idle.pop()
        except IndexError:
            return None


def _saved(answer: http.client.HTTPResponse, file: IO[bytes]) -> bytes:
    """Writes all of a body to a file, in place of what it had; `read` does not say that a body was cut."""
    length = answer.length
    file.seek(0)
    file.truncate()
    shutil.copyfileobj(answer, file)
    if length is not None and file.tell() != length:
        raise http.client.IncompleteRead(b"", length - file.tell())
    return b""


def _no_service(status: int) -> ServiceSilent:
    return ServiceSilent(f"no service of infex answered (status {status}): is the url right?")


def _plain_answer(answer: _Answer) -> Any:
    """The body of an answer as plain data; ServiceSilent if no service gave it, but, say, a proxy."""
    if 200 <= answer.status < 300:
        with contextlib.suppress(ValueError):
            return json.loads(answer.body) if answer.body else None
    raise _no_service(answer.status)


def _error_in(answer: _Answer) -> InfexError:
    """The error that a refusal names, as a study would raise it; ServiceRefused where it has another name."""
    try:
        refusal = json.loads(answer.body)
        name, message = str(refusal["error"]), str(refusal["message"])
    except (ValueError, KeyError, TypeError):
        return ServiceRefused(f"status {answer.status}", status=answer.status, error="")
    kind = vars(errors).get(name)
    if isinstance(kind, type) and issubclass(kind, InfexError) and not issubclass(kind, ERRORS_WITH_FIELDS):
        error = kind(message)
        error.field = refusal.get("field")
        return error
    fields = {"field": refusal.get("field"), "expected": refusal.get("expected")}
    return ServiceRefused(message, status=answer.status, error=name, **fields)


def _encoded(body: object) -> bytes:
    return json.dumps(plain_value("a request", body), allow_nan=False).encode()


def _flag(value: bool) -> str:
    return "true" if value else "false"


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
    plain = plain_value("arms", arms)
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
        if decision.arm is None or decision.arm != decision.greedy or offer.own is not None:
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
