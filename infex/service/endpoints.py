"""What each address answers: it parses, calls the study, and writes what comes out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from infex.errors import InvalidBody, Overloaded
from infex.service.answers import (
    DecisionAnswer,
    ExplainAnswer,
    HealthAnswer,
    RewardAnswer,
    StudyAnswer,
    decision_answer,
)
from infex.service.glances import glance, planned_line, previewed
from infex.service.grouped_calls import GroupedCalls
from infex.service.kept_answers import answer_table, place_of
from infex.service.open_studies import OpenStudies, thing_of
from infex.service.parsing import StrictDecoder
from infex.service.plain_answers import plain_figures
from infex.service.replays import Replays, key_of
from infex.service.service_limits import ServiceLimits
from infex.service.shapes import (
    AmendmentRequest,
    DecisionRequest,
    PreviewRequest,
    RewardRequest,
    StudyRequest,
)
from infex.service.study_calls import amend_study, asked_all, keyed, told_all
from infex.study.showing import (
    pending_count,
)
from infex.version import __version__

ENCODER_OF_ANSWERS = msgspec.json.Encoder()
DECISIONS_DECODER = StrictDecoder(DecisionRequest | list[DecisionRequest])
REWARDS_DECODER = StrictDecoder(RewardRequest | list[RewardRequest])
STUDY_DECODER, AMENDMENT_DECODER = StrictDecoder(StudyRequest), StrictDecoder(AmendmentRequest)
PREVIEW_DECODER = StrictDecoder(PreviewRequest)


def said(answer: object, status: int = 200) -> Response:
    """An answer as JSON."""
    return Response(ENCODER_OF_ANSWERS.encode(answer), status, media_type="application/json")


@final
class Endpoints:
    """The answers of one service; each method takes a request that the guard has let through."""

    def __init__(self, studies: OpenStudies, limits: ServiceLimits) -> None:
        self.studies, self._limits = studies, limits
        self.replays = Replays(answer_table(studies.url))
        self._proving = asyncio.Lock()  # whoever holds it reads a whole journal

    async def decide(self, request: Request) -> Response:
        """Takes a decision, or many in one commit. They are on disk when this answers."""
        body = await _body(request)
        calls = await self._calls(request)

        async def work() -> bytes:
            asked = DECISIONS_DECODER.read(body)
            many = asked if isinstance(asked, list) else [asked]
            self._refuse_long(many)
            with_keys = keyed(many, request.headers.get("idempotency-key"))
            self._refuse_pending(calls)
            decided = await calls.call(lambda study: asked_all(study, with_keys))
            answers = [decision_answer(each) for each in decided]
            return ENCODER_OF_ANSWERS.encode(answers if isinstance(asked, list) else answers[0])

        return await self._once(request, body, work)

    async def reward(self, request: Request) -> Response:
        """Tells a reward, or many in one commit: each exactly once, however often it is sent."""
        body = await _body(request)
        calls = await self._calls(request)

        async def work() -> bytes:
            told = REWARDS_DECODER.read(body)
            many: list[RewardRequest] = told if isinstance(told, list) else [told]
            self._refuse_long(many)
            states = await calls.call(lambda study: told_all(study, many))
            answers = [
                RewardAnswer(key=each.key, state=state) for each, state in zip(many, states, strict=True)
            ]
            return ENCODER_OF_ANSWERS.encode(answers if isinstance(told, list) else answers[0])

        return await self._once(request, body, work)

    async def decision(self, request: Request) -> Response:
        """The decision of a key, and what has become of its reward."""
        key = request.path_params["key"]
        found = await asyncio.to_thread((await self._calls(request)).study.explain, key, prove=False)
        decided = None if found.decision is None else decision_answer(found.decision)
        rest = {"state": found.state.value, "reward": found.reward, "late": found.late, "at": found.at}
        return said({"key": key, "decision": decided, **rest, "told_at": found.told_at})

    async def explain(self, request: Request) -> Response:
        """Why a decision was taken, with the proof that the journal gives it again; `prove=false` is quicker.

        A proof replays the journal, so one is made at a time. Contexts are not shown.
        """
        key, study = request.path_params["key"], (await self._calls(request)).study
        if request.query_params.get("prove") == "false":
            why = await asyncio.to_thread(study.explain, key, prove=False)
        elif self._proving.locked():
            raise Overloaded("a proof is being made: the same again later, or prove=false")
        else:
            async with self._proving:
                why = await asyncio.to_thread(study.explain, key)
        return said(ExplainAnswer(key=key, why=plain_figures(why)))

    async def lift(self, request: Request) -> Response:
        """What the study gains over those who are held out, with its interval; all of the journal is read."""
        if self._proving.locked():
            raise Overloaded("a journal is being read: the same again later")
        async with self._proving:
            found = await asyncio.to_thread((await self._calls(request)).study.lift)
        return said(plain_figures(found))

    async def list_studies(self, request: Request) -> Response:
        """All studies at a glance."""
        return said([await asyncio.to_thread(self.glance, calls) for calls in self.studies])

    async def study(self, request: Request) -> Response:
        """One study at a glance."""
        return said(await asyncio.to_thread(self.glance, await self._calls(request)))

    async def begin_study(self, request: Request) -> Response:
        """Begins a study. The same again changes nothing; other settings are refused."""
        body = await _body(request)

        async def work() -> bytes:
            calls = await self.studies.begin(STUDY_DECODER.read(body))
            return ENCODER_OF_ANSWERS.encode(await asyncio.to_thread(self.glance, calls))

        return await self._once(request, body, work, 201)

    async def amend(self, request: Request) -> Response:
        """Changes the policy, the arms that may be tried, or pauses exploring: an entry of the journal."""
        body = await _body(request)
        calls = await self._calls(request)

        async def work() -> bytes:
            change: AmendmentRequest = AMENDMENT_DECODER.read(body)
            await asyncio.to_thread(amend_study, calls.study, change)
            return ENCODER_OF_ANSWERS.encode(await asyncio.to_thread(self.glance, calls))

        return await self._once(request, body, work)

    async def preview(self, request: Request) -> Response:
        """How many explorations a policy would make in the next day, without changing anything."""
        asked: PreviewRequest = PREVIEW_DECODER.read(await _body(request))
        calls = await self._calls(request)
        policy = thing_of(asked.policy)
        view = self.studies.view(calls.study.name)
        answer = await asyncio.to_thread(previewed, calls.study, view, policy, asked.policy)
        return said(answer)

    async def past(self, request: Request) -> Response:
        """What the journal tells: shares of arms over time, when it explored, what was skipped and why."""
        calls = await self._calls(request)
        past = self.studies.view(calls.study.name).past()
        line = await asyncio.to_thread(planned_line, calls.study, past["stretches"])
        return said(past | {"planned": line})

    async def latest(self, request: Request) -> Response:
        """The latest decisions, newest first; `arm`, `reason`, `explored` and `state` choose among them."""
        wanted = request.query_params
        explored = {"true": True, "false": False}.get(wanted.get("explored", ""))
        fields = {name: wanted.get(name) for name in ("arm", "reason", "state")}
        found = self.studies.view(self._name(request)).latest(explored=explored, **fields)
        return said(found[: _count(wanted.get("most", "100"))])

    async def healthz(self, request: Request) -> Response:
        """Is the process alive?"""
        return said(HealthAnswer(status="alive", version=__version__, studies=len(self.studies)))

    async def readyz(self, request: Request) -> Response:
        """Are all studies open? 503 until they are."""
        status, word = (200, "ready") if self.studies.ready else (503, "opening")
        return said(HealthAnswer(status=word, version=__version__, studies=len(self.studies)), status)

    def glance(self, calls: GroupedCalls) -> StudyAnswer:
        """A study as the page shows it among others."""
        return glance(calls, self.studies.view(calls.study.name))

    async def _once(
        self, request: Request, body: bytes, work: Callable[[], Awaitable[bytes]], status: int = 200
    ) -> Response:
        """The answer of the work; of a request that came before, with its Idempotency-Key, the same again."""
        header = request.headers.get("idempotency-key")
        if header is None:
            return Response(await work(), status, media_type="application/json")
        place = place_of(request.scope["path"], key_of(header))
        before = await self.replays.begin(place, body)
        if before is not None:
            again = {"idempotency-replayed": "true"}
            return Response(before, status, again, media_type="application/json")
        answer: bytes | None = None
        try:
            answer = await work()
        finally:
            await self.replays.end(place, answer)
        return Response(answer, status, media_type="application/json")

    def _name(self, request: Request) -> str:
        return str(request.path_params["name"])

    async def _calls(self, request: Request) -> GroupedCalls:
        return await self.studies.found(self._name(request))

    def _refuse_long(self, many: Sequence[object]) -> None:
        if not 1 <= len(many) <= self._limits.batch:
            expected = f"1 to {self._limits.batch} requests"
            raise InvalidBody(f"{len(many)} requests in one body", field="body", expected=expected)
        for each in many:
            if isinstance(each, DecisionRequest) and len(each.arms or ()) > self._limits.arms:
                expected = f"at most {self._limits.arms} arms"
                raise InvalidBody(f"{len(each.arms or ())} arms", field="arms", expected=expected)

    def _refuse_pending(self, calls: GroupedCalls) -> None:
        pending = pending_count(calls.study)
        if pending >= self._limits.pending:
            raise Overloaded(f"{pending} decisions wait for their rewards: tell some first")


async def _body(request: Request) -> bytes:
    """The body, which mostly comes as one; `request.body()` takes three times as long."""
    parts = []
    while True:
        message = await request.receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:6]) <= 1000 or len(text) > 4:
        raise InvalidBody("most is not a number in range", field="most", expected="1 to 1000")
    return int(text)


BATCH_OF_DECISIONS, BATCH_OF_REWARDS = (
    DecisionAnswer | list[DecisionAnswer],
    RewardAnswer | list[RewardAnswer],
)
