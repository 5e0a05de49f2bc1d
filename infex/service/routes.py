"""The routes of a service: what each reads, which scope it needs, and what it answers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from typing import Any, BinaryIO, final

import msgspec
from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Send
from starlette.types import Scope as ASGIScope

from infex.errors import InfexError, InvalidBody, InvalidLog, NotReady, Overloaded
from infex.service.auth import Scope
from infex.service.events import Feed
from infex.service.history import RecentDecision
from infex.service.metrics import MEDIA_TYPE, Metrics
from infex.service.refusals import Refused
from infex.service.schemas import (
    AmendmentRequest,
    ArchiveAnswer,
    ArchiveRequest,
    BodyDecoder,
    CorrectionRequest,
    DecisionAnswer,
    DecisionRequest,
    ErasureAnswer,
    ErasureRequest,
    ExplainAnswer,
    HealthAnswer,
    LearntAnswer,
    PreviewAnswer,
    PreviewRequest,
    RewardAnswer,
    RewardRequest,
    ServiceLimits,
    StudyAnswer,
    StudyRequest,
    VerdictAnswer,
    decision_answer,
    plain_figures,
)
from infex.service.studies import ServedStudy, StoreHealth, Studies
from infex.study.state import RewardState
from infex.version import __version__

ENCODER = msgspec.json.Encoder()
STUDY = "/v1/studies/{name}"
LONGEST_KEY_HEADER = 200
LONGEST_UPLOAD = 600.0  # seconds that a log may take to come
SHORT_TEXT = {"type": "string", "maxLength": 200}
FLAG = {"type": "string", "enum": ["true", "false"]}
PARQUET = "application/vnd.apache.parquet"
BYTES_AT_ONCE = 1_000_000  # of a file that is sent
FILTERS = {
    "arm": SHORT_TEXT,
    "reason": SHORT_TEXT,
    "state": {"type": "string", "enum": [state.value for state in RewardState]},
    "explored": FLAG,
    "most": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100},
}
COLUMNS = {name: SHORT_TEXT | {"default": name} for name in ("arm", "reward", "unit")}
PAGE_FILES = {
    "/": ("infex.service", "static/page.html", "text/html; charset=utf-8"),
    "/page.js": ("infex.service", "static/page.js", "text/javascript; charset=utf-8"),
    "/overview.js": ("infex.service", "static/overview.js", "text/javascript; charset=utf-8"),
    "/study.js": ("infex.service", "static/study.js", "text/javascript; charset=utf-8"),
    "/chart.js": ("infex.pages", "chart.js", "text/javascript; charset=utf-8"),
    "/page.css": ("infex.pages", "page.css", "text/css; charset=utf-8"),
}
"""The files of the page, by their paths: package, name and media type."""


@final
@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """One route; `scope` has no default, so that none is open by being forgotten: None opens it to all."""

    method: str
    path: str
    scope: Scope | None
    respond: Callable[[Request], Awaitable[Response]]
    takes: Any = None
    takes_file: bool = False
    gives: Any = None
    status: int = 200
    media: str = ""
    query: Mapping[str, Any] = field(default_factory=dict)
    keyed: bool = False  # may an Idempotency-Key say the key?

    @property
    def name(self) -> str:
        """Its name in the OpenAPI description and in metrics."""
        return self.respond.__name__


class KeyConvertor(Convertor[str]):
    """All that is left of a path: keys may hold any characters."""

    regex = "(?s:.+)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("key", KeyConvertor())


def answer(content: object, status: int = 200) -> Response:
    """A response as JSON."""
    return Response(ENCODER.encode(content), status, media_type="application/json")


@final
class Routes:
    """The endpoints of one service; each method answers a request that the middleware has let through."""

    def __init__(
        self, studies: Studies, store: StoreHealth, feed: Feed, metrics: Metrics, limits: ServiceLimits
    ) -> None:
        self._studies, self._store, self._feed, self._metrics = studies, store, feed, metrics
        self._limits = limits
        self._reading_journal = asyncio.Lock()  # one request at a time reads a whole journal
        self.endpoints = tuple(self._table())
        self._decoders = {
            endpoint.name: BodyDecoder(endpoint.takes) for endpoint in self.endpoints if endpoint.takes
        }

    def _table(self) -> Iterator[Endpoint]:
        """Every endpoint; those that are called most come first."""
        yield Endpoint(
            method="POST", path=f"{STUDY}/decisions", scope=Scope.DECIDE, respond=self.decide, keyed=True,
            takes=DecisionRequest | list[DecisionRequest], gives=DecisionAnswer | list[DecisionAnswer],
        )  # fmt: skip
        yield Endpoint(
            method="POST", path=f"{STUDY}/rewards", scope=Scope.REWARD, respond=self.reward, keyed=True,
            takes=RewardRequest | list[RewardRequest], gives=RewardAnswer | list[RewardAnswer],
        )  # fmt: skip
        yield Endpoint(
            method="GET", path=f"{STUDY}/decisions", scope=Scope.READ, respond=self.latest,
            gives=list[RecentDecision], query=FILTERS,
        )  # fmt: skip
        yield Endpoint(
            method="GET", path=f"{STUDY}/decisions/{{key:key}}", scope=Scope.READ, respond=self.decision,
            gives=dict[str, Any],
        )  # fmt: skip
        yield Endpoint(
            method="GET", path=f"{STUDY}/explain/{{key:key}}", scope=Scope.READ, respond=self.explain,
            gives=ExplainAnswer, query={"prove": FLAG | {"default": "true"}, "contents": FLAG},
        )  # fmt: skip
        yield Endpoint(
            method="GET", path=f"{STUDY}/verify", scope=Scope.READ, respond=self.verify, gives=VerdictAnswer,
            query={"checkpoint": SHORT_TEXT},
        )  # fmt: skip
        yield Endpoint(
            method="GET", path=f"{STUDY}/export", scope=Scope.EXPORT, respond=self.export, media=PARQUET
        )
        yield Endpoint(
            method="POST", path=f"{STUDY}/corrections", scope=Scope.CORRECT, respond=self.correct,
            takes=CorrectionRequest, gives=RewardAnswer,
        )  # fmt: skip
        yield Endpoint(
            method="POST", path=f"{STUDY}/erasures", scope=Scope.ERASE, respond=self.erase,
            takes=ErasureRequest, gives=ErasureAnswer,
        )  # fmt: skip
        yield Endpoint(
            method="GET", path=f"{STUDY}/lift", scope=Scope.READ, respond=self.lift, gives=dict[str, Any]
        )
        yield Endpoint(
            method="GET", path=f"{STUDY}/past", scope=Scope.READ, respond=self.past, gives=dict[str, Any]
        )
        yield Endpoint(
            method="POST", path=f"{STUDY}/amendments", scope=Scope.ADMIN, respond=self.amend, keyed=True,
            takes=AmendmentRequest, gives=StudyAnswer,
        )  # fmt: skip
        yield Endpoint(
            method="POST", path=f"{STUDY}/log", scope=Scope.ADMIN, respond=self.learn_from,
            takes_file=True, gives=LearntAnswer, query=COLUMNS,
        )  # fmt: skip
        yield Endpoint(
            method="POST", path=f"{STUDY}/archive", scope=Scope.ADMIN, respond=self.archive,
            takes=ArchiveRequest, gives=ArchiveAnswer,
        )  # fmt: skip
        yield Endpoint(
            method="POST", path=f"{STUDY}/preview", scope=Scope.READ, respond=self.preview,
            takes=PreviewRequest, gives=PreviewAnswer,
        )  # fmt: skip
        yield Endpoint(method="GET", path=STUDY, scope=Scope.READ, respond=self.study, gives=StudyAnswer)
        yield Endpoint(
            method="GET", path="/v1/studies", scope=Scope.READ, respond=self.list_studies,
            gives=list[StudyAnswer],
        )  # fmt: skip
        yield Endpoint(
            method="POST", path="/v1/studies", scope=Scope.ADMIN, respond=self.begin_study,
            takes=StudyRequest, gives=StudyAnswer, status=201,
        )  # fmt: skip
        yield Endpoint(
            method="GET", path="/v1/events", scope=Scope.READ, respond=self.events, media="text/event-stream"
        )
        yield Endpoint(method="GET", path="/v1/me", scope=Scope.READ, respond=self.me, gives=dict[str, Any])
        yield Endpoint(
            method="GET", path="/metrics", scope=Scope.READ, respond=self.metrics, media="text/plain"
        )
        yield Endpoint(method="GET", path="/healthz", scope=None, respond=self.healthz, gives=HealthAnswer)
        yield Endpoint(method="GET", path="/readyz", scope=None, respond=self.readyz, gives=HealthAnswer)
        for path, (package, name, media) in PAGE_FILES.items():
            yield Endpoint(
                method="GET", path=path, scope=None, respond=page_file(package, name, media), media=media
            )

    async def decide(self, request: Request) -> Response:
        """Takes a decision, or many in one commit. They are on disk when this answers.

        If one of many is refused, none is taken: `field` names its row, counted from 0, as in `[2].context`.
        """
        asked, study = await self._decoded(request), await self._study(request)
        keys = self._keys(asked, request)
        self._refuse_many_arms(asked)
        if isinstance(asked, list):
            return answer([decision_answer(each) for each in await study.decide_many(keys, asked)])
        return answer(decision_answer(await study.decide(keys[0], asked)))

    async def reward(self, request: Request) -> Response:
        """Tells a reward, or many in one commit: each exactly once, however often it is sent.

        If one of many is refused, none is told: `field` names its row, counted from 0, as in `[2].reward`.
        """
        told, study = await self._decoded(request), await self._study(request)
        keys = self._keys(told, request)
        if isinstance(told, list):
            return answer(await study.reward_many(keys, told))
        return answer(await study.reward(keys[0], told))

    async def decision(self, request: Request) -> Response:
        """The decision of a key, and what has become of its reward."""
        key, study = request.path_params["key"], (await self._study(request)).study
        found = await asyncio.to_thread(study.explain, key, prove=False)
        decision = None if found.decision is None else decision_answer(found.decision)
        rest = {"state": found.state.value, "reward": found.reward, "late": found.late, "at": found.at}
        return answer({"key": key, "decision": decision, **rest, "told_at": found.told_at})

    async def explain(self, request: Request) -> Response:
        """Why a decision was taken, with the proof that the journal gives it again; `prove=false` is quicker.

        A proof replays the journal, so one is made at a time. With `contents=true`, for which the token needs
        the scope `export` too, the context and the unit are shown.
        """
        contents = _flag(request, "contents", False)
        if contents:
            refuse_scope(request, Scope.EXPORT)
        key, prove = request.path_params["key"], _flag(request, "prove", True)
        study = (await self._study(request)).study
        work = partial(study.explain, key, prove=prove, contents=contents)
        why = await (self._alone(work) if prove else asyncio.to_thread(work))
        return answer(ExplainAnswer(key=key, why=why.plain()))

    async def verify(self, request: Request) -> Response:
        """Replays the whole journal, and decides every decision once more: does all of it fit?

        `checkpoint` is that of a verdict from before: the journal must still go on from it. One journal is
        read at a time, and a long one takes minutes.
        """
        study = (await self._study(request)).study
        found = await self._alone(study.verify, request.query_params.get("checkpoint"))
        return answer(VerdictAnswer(holds=found.holds, **found._asdict()))

    async def export(self, request: Request) -> Response:
        """All decisions with their rewards, contexts and units, as a log in Parquet.

        The headers Infex-Rows and Infex-Held-Out count all rows, and those of units that are held out.
        """
        log: Response = await self._alone(_exported, await self._study(request))
        return log

    async def correct(self, request: Request) -> Response:
        """Puts the reward of a decision right, as if it had been told so. It is on disk when this answers."""
        asked, study = await self._decoded(request), await self._study(request)
        return answer(await study.correct(asked))

    async def erase(self, request: Request) -> Response:
        """Erases all that is kept of a unit, and all that was learnt of it; decisions are taken meanwhile.

        The journal is replayed without it, so one is erased at a time. It is off the disk when this answers.
        """
        asked, study = await self._decoded(request), (await self._study(request)).study
        erased = await self._alone(partial(study.forget, asked.unit, reason=asked.reason))
        return answer(ErasureAnswer(erased=erased))

    async def lift(self, request: Request) -> Response:
        """What the study gains over those held out, with its interval, or why there is none."""
        return answer(plain_figures(await self._alone((await self._study(request)).study.lift)))

    async def list_studies(self, request: Request) -> Response:
        """All studies with their figures."""
        return answer([await asyncio.to_thread(study.summary) for study in self._studies])

    async def study(self, request: Request) -> Response:
        """One study with its figures."""
        return answer(await asyncio.to_thread((await self._study(request)).summary))

    async def begin_study(self, request: Request) -> Response:
        """Begins a study. The same again changes nothing; other settings are refused."""
        study = await self._studies.begin(await self._decoded(request))
        return answer(await asyncio.to_thread(study.summary), 201)

    async def amend(self, request: Request) -> Response:
        """Changes arms, features, the policy and more, or pauses exploring: all in one commit, or nothing."""
        change, study = await self._decoded(request), await self._study(request)
        header = request.headers.get("idempotency-key")
        key = None if change.key is None and header is None else _key(change.key, header, "key")
        await asyncio.to_thread(study.amend, key, change)
        return answer(await asyncio.to_thread(study.summary))

    async def learn_from(self, request: Request) -> Response:
        """Learns all rewards of a log, a file of Parquet or CSV, before the first decision.

        `arm`, `reward` and `unit` name its columns; those of contexts are called as the study's are. Each row
        is an entry of the journal. The same log again changes nothing; if it breaks off, nothing is decided
        until all of it is learnt.
        """
        study = (await self._study(request)).study
        with _private_folder() as folder:
            path = Path(folder) / "log"
            with open(path, "wb") as file:
                await self._receive(request, file.write, self._limits.log, LONGEST_UPLOAD)
            try:
                rows = await self._alone(partial(study.learn_from, path, **request.query_params))
            except InvalidLog as error:
                raise InvalidLog(str(error).removeprefix(f"{path}: ")) from error
        return answer(LearntAnswer(rows=rows))

    async def archive(self, request: Request) -> Response:
        """Moves old entries of the journal into files beside the database, where they are still found."""
        asked, study = await self._decoded(request), (await self._study(request)).study
        return answer(ArchiveAnswer(archived=await self._alone(partial(study.archive, keep=asked.keep))))

    async def preview(self, request: Request) -> Response:
        """How many explorations a policy would make in about a day, without changing anything.

        `rounds` is how many rounds that is, `basis` says where this number comes from.
        """
        asked, study = await self._decoded(request), await self._study(request)
        return answer(await asyncio.to_thread(study.preview, asked.policy))

    async def past(self, request: Request) -> Response:
        """What the journal tells by hours and days, by arms and by segments of contexts, and an overview.

        The overview has the lift and which arms win, as of its time `at`: it is computed in the background,
        and is null until then.
        """
        study = await self._study(request)
        study.refresh_overview(self._studies.overview_lock)
        return answer(await asyncio.to_thread(study.past))

    async def latest(self, request: Request) -> Response:
        """The latest decisions, newest first; `arm`, `reason`, `explored` and `state` choose among them.

        Those for units that are held out are not among them.
        """
        query = request.query_params
        explored = {"true": True, "false": False}.get(query.get("explored", ""))
        fields = {name: query.get(name) for name in ("arm", "reason", "state")}
        most = query.get("most", "100")
        if not (most.isascii() and most.isdigit() and len(most) <= 4 and 1 <= int(most) <= 1000):
            raise InvalidBody("most is not a number in range", field="most", expected="1 to 1000")
        found = (await self._study(request)).history.recent(explored=explored, **fields)
        return answer(found[: int(most)])

    async def events(self, request: Request) -> Response:
        """All studies with their figures as server-sent events, whenever something has changed."""
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        return StreamingResponse(self._feed.listen(), media_type="text/event-stream")

    async def metrics(self, request: Request) -> Response:
        """All figures in the format of Prometheus."""
        return Response(await self._metrics.text(), headers={"content-type": MEDIA_TYPE})

    async def me(self, request: Request) -> Response:
        """What the token allows."""
        return answer({"scopes": sorted(request.scope["infex.scopes"])})

    async def healthz(self, request: Request) -> Response:
        """Is the process alive?"""
        return answer(HealthAnswer(status="alive", version=__version__))

    async def readyz(self, request: Request) -> Response:
        """Are all studies open, and can the store be used? 503 while that is not so."""
        if not self._studies.opened.is_set():
            word = "opening"
        else:
            word = "ready" if await self._store.is_up() else "store fails"
        return answer(HealthAnswer(status=word, version=__version__), 200 if word == "ready" else 503)

    async def _study(self, request: Request) -> ServedStudy:
        return await self._studies.find(request.path_params["name"])

    async def _decoded(self, request: Request) -> Any:
        """The body of a request."""
        parts: list[bytes] = []
        await self._receive(request, parts.append, self._limits.body, self._limits.seconds)
        return self._decoders[request.scope["infex.address"]].decode(b"".join(parts))

    async def _receive(
        self, request: Request, take: Callable[[bytes], object], most: int, seconds: float
    ) -> None:
        """Has each part of a body taken; it must come in time, and have at most so many bytes."""
        size = 0
        try:
            async with asyncio.timeout(seconds):
                async for part in request.stream():
                    size += len(part)
                    if size > most:
                        expected = f"at most {most} bytes"
                        raise Refused(413, "TooLarge", "the body is too large", expected, "body", close=True)
                    take(part)
        except TimeoutError:
            words = "the body did not come in time"
            raise Refused(408, "TooSlow", words, "a body at once", "body", close=True) from None

    async def _alone(self, work: Callable[..., Any], *words: Any) -> Any:
        """Work that reads a whole journal, in a thread; Overloaded while another does."""
        if self._reading_journal.locked():
            raise Overloaded("another request reads a whole journal now")
        async with self._reading_journal:
            return await asyncio.to_thread(work, *words)

    def _keys(self, body: Any, request: Request) -> list[str]:
        """The keys of a body: its own, or the Idempotency-Key; in a batch, with the row behind it."""
        header = request.headers.get("idempotency-key")
        if not isinstance(body, list):
            return [_key(body.key, header, "key")]
        if not 1 <= len(body) <= self._limits.batch:
            expected = f"1 to {self._limits.batch} requests"
            raise InvalidBody(f"{len(body)} requests in one body", field="body", expected=expected)
        return [
            f"{_key(None, header, f'[{row}].key')}#{row}" if each.key is None else each.key
            for row, each in enumerate(body)
        ]

    def _refuse_many_arms(self, asked: DecisionRequest | Sequence[DecisionRequest]) -> None:
        rows = (
            {"": asked} if isinstance(asked, DecisionRequest) else {f"[{n}].": r for n, r in enumerate(asked)}
        )
        for place, each in rows.items():
            if each.arms is not None and len(each.arms) > self._limits.arms:
                expected = f"at most {self._limits.arms} arms"
                raise InvalidBody(f"{len(each.arms)} arms", field=f"{place}arms", expected=expected)


def refuse_scope(request: Request, scope: Scope) -> None:
    """Refuses a token that does not allow this."""
    if scope not in request.scope["infex.scopes"]:
        raise Refused(403, "ScopeTooSmall", "the token does not allow this", f"a token with {scope}")


def refuse_query(request: Request, query: Mapping[str, Any]) -> None:
    """Refuses names that an endpoint does not declare, and values that are none of those it lists."""
    for name, value in request.query_params.multi_items():
        if name not in query:
            raise InvalidBody("unknown name in the query", field=name[:60], expected=" or ".join(query))
        listed = query[name].get("enum", [value])
        if value not in listed:
            raise InvalidBody(f"{name} is not one of its values", field=name, expected=" or ".join(listed))


def _flag(request: Request, name: str, default: bool) -> bool:
    """What a query says of a flag."""
    return bool(request.query_params.get(name, "true" if default else "false") == "true")


@final
class FileResponse(StreamingResponse):
    """Sends a file, and closes it, also if whoever asked for it goes away."""

    def __init__(self, file: BinaryIO, headers: Mapping[str, str]) -> None:
        parts = iter(lambda: file.read(BYTES_AT_ONCE), b"")
        super().__init__(parts, media_type=PARQUET, headers=headers)
        self._file = file

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        with self._file:
            await super().__call__(scope, receive, send)


@contextlib.contextmanager
def _private_folder() -> Iterator[str]:
    """A folder for files that are gone after it; NotReady if there is no room for them."""
    try:
        with tempfile.TemporaryDirectory(prefix="infex-") as folder:
            yield folder
    except OSError as error:
        if isinstance(error, InfexError):
            raise
        raise NotReady("there is no room for the file now") from error


def _exported(served: ServedStudy) -> Response:
    """The log of a study as a response, from a file without a name: it is gone once it is closed."""
    with _private_folder() as folder:
        path = Path(folder) / "log.parquet"
        rows, held_out = served.study.export(path)
        file = open(path, "rb")  # noqa: SIM115 - whoever sends it closes it
    headers = {
        "content-length": str(os.fstat(file.fileno()).st_size),
        "infex-rows": str(rows),
        "infex-held-out": str(held_out),
    }
    return FileResponse(file, headers)


def _key(own: str | None, header: str | None, field: str) -> str:
    """The key of a request: its own, or the one in the header, which may be quoted (RFC 8941)."""
    if own is not None:
        return own
    if header is None:
        raise InvalidBody(f"{field} is missing", field=field, expected="a key, or an Idempotency-Key")
    text = header.strip()
    key = text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
    if not key or len(key) > LONGEST_KEY_HEADER or not key.isascii() or not key.isprintable() or '"' in key:
        raise InvalidBody(
            "the Idempotency-Key cannot be read",
            field="Idempotency-Key",
            expected=f'a text in quotes, of 1 to {LONGEST_KEY_HEADER} ASCII characters without "',
        )
    return key


def page_file(package: str, name: str, media: str) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint of a file of the page; 304 to whoever has it already."""
    content = files(package).joinpath(name).read_bytes()
    tag = f'"{blake2b(content, digest_size=12).hexdigest()}"'
    headers = {"etag": tag, "cache-control": "no-cache"}

    async def respond(request: Request) -> Response:
        """A file of the page, which holds no data."""
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers | {"content-type": media})

    respond.__name__ = name.rpartition("/")[2].replace(".", "_")
    return respond
