"""What each address answers: it parses, calls the study, and writes what comes out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import final

import msgspec

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
from infex.service.http_exchange import NOT_KEPT, HttpAnswer, HttpRequest
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
from infex.service.store_health import StoreHealth
from infex.service.study_calls import (
    amend_study,
    asked_all,
    asked_one,
    key_in,
    keys_in,
    told_all,
    told_one,
)
from infex.study.kept_answers import answer_table, place_of
from infex.version import __version__

ENCODER_OF_ANSWERS = msgspec.json.Encoder()
DECISIONS_DECODER = StrictDecoder(DecisionRequest | list[DecisionRequest])
REWARDS_DECODER = StrictDecoder(RewardRequest | list[RewardRequest])
STUDY_DECODER, AMENDMENT_DECODER = StrictDecoder(StudyRequest), StrictDecoder(AmendmentRequest)
PREVIEW_DECODER = StrictDecoder(PreviewRequest)
IDEMPOTENCY_KEY = b"idempotency-key"
REPLAYED = (NOT_KEPT, (b"idempotency-replayed", b"true"))


def said(answer: object, status: int = 200) -> HttpAnswer:
    """An answer as JSON."""
    return HttpAnswer(ENCODER_OF_ANSWERS.encode(answer), status)


@final
class Endpoints:
    """The answers of one service; each method takes a request that the guard has let through."""

    def __init__(self, studies: OpenStudies, store: StoreHealth, limits: ServiceLimits) -> None:
        self.studies, self._store, self._limits = studies, store, limits
        self.replays = Replays(answer_table(studies.url))
        self._proving = asyncio.Lock()  # whoever holds it reads a whole journal

    async def decide(self, request: HttpRequest) -> HttpAnswer:
        """Takes a decision, or many in one commit. They are on disk when this answers.

        If one of many is refused, none is taken: `field` names its row, counted from 0, as in `[2].context`.
        """
        body, calls = await request.body(), await self._calls(request)
        header = request.header(IDEMPOTENCY_KEY)
        return await self._once(request, body, lambda: self._decided(calls, body, header))

    async def _decided(self, calls: GroupedCalls, body: bytes, header: str | None) -> bytes:
        asked = DECISIONS_DECODER.read(body)
        if isinstance(asked, list):
            self._refuse_long(asked)
            self._refuse_many_arms(asked)
            keys = keys_in(asked, header)
            self._refuse_pending(calls, keys)
            decisions = await calls.call(lambda study: asked_all(study, keys, asked))
            return ENCODER_OF_ANSWERS.encode(list(map(decision_answer, decisions)))
        self._refuse_many_arms((asked,))
        key = key_in(asked, header)
        self._refuse_pending(calls, (key,))
        decision = await calls.call(lambda study: asked_one(study, key, asked))
        return ENCODER_OF_ANSWERS.encode(decision_answer(decision))

    async def reward(self, request: HttpRequest) -> HttpAnswer:
        """Tells a reward, or many in one commit: each exactly once, however often it is sent.

        If one of many is refused, none is told: `field` names its row, counted from 0, as in `[2].reward`.
        """
        body, calls = await request.body(), await self._calls(request)
        return await self._once(request, body, lambda: self._rewarded(calls, body))

    async def _rewarded(self, calls: GroupedCalls, body: bytes) -> bytes:
        told = REWARDS_DECODER.read(body)
        if not isinstance(told, list):
            return ENCODER_OF_ANSWERS.encode(await calls.call(lambda study: told_one(study, told)))
        self._refuse_long(told)
        return ENCODER_OF_ANSWERS.encode(await calls.call(lambda study: told_all(study, told)))

    async def decision(self, request: HttpRequest) -> HttpAnswer:
        """The decision of a key, and what has become of its reward."""
        key = request.params["key"]
        found = await asyncio.to_thread((await self._calls(request)).study.explain, key, prove=False)
        decided = None if found.decision is None else decision_answer(found.decision)
        rest = {"state": found.state.value, "reward": found.reward, "late": found.late, "at": found.at}
        return said({"key": key, "decision": decided, **rest, "told_at": found.told_at})

    async def explain(self, request: HttpRequest) -> HttpAnswer:
        """Why a decision was taken, with the proof that the journal gives it again; `prove=false` is quicker.

        A proof replays the journal, so one is made at a time. Contexts are not shown.
        """
        key, study = request.params["key"], (await self._calls(request)).study
        if request.query.get("prove") == "false":
            why = await asyncio.to_thread(study.explain, key, prove=False)
        elif self._proving.locked():
            raise Overloaded("a proof is being made: the same again later, or prove=false")
        else:
            async with self._proving:
                why = await asyncio.to_thread(study.explain, key)
        return said(ExplainAnswer(key=key, why=plain_figures(why)))

    async def lift(self, request: HttpRequest) -> HttpAnswer:
        """What the study gains over those held out, with its interval, or why there is none."""
        if self._proving.locked():
            raise Overloaded("a journal is being read: the same again later")
        async with self._proving:
            found = await asyncio.to_thread((await self._calls(request)).study.lift)
        return said(plain_figures(found))

    async def list_studies(self, request: HttpRequest) -> HttpAnswer:
        """All studies at a glance."""
        return said([await asyncio.to_thread(self.glance, calls) for calls in self.studies])

    async def study(self, request: HttpRequest) -> HttpAnswer:
        """One study at a glance."""
        return said(await asyncio.to_thread(self.glance, await self._calls(request)))

    async def begin_study(self, request: HttpRequest) -> HttpAnswer:
        """Begins a study. The same again changes nothing; other settings are refused."""
        body = await request.body()

        async def work() -> bytes:
            calls = await self.studies.begin(STUDY_DECODER.read(body))
            return ENCODER_OF_ANSWERS.encode(await asyncio.to_thread(self.glance, calls))

        return await self._once(request, body, work, 201)

    async def amend(self, request: HttpRequest) -> HttpAnswer:
        """Changes the policy, the arms that may be tried, or pauses exploring: an entry of the journal."""
        body = await request.body()
        calls = await self._calls(request)

        async def work() -> bytes:
            change: AmendmentRequest = AMENDMENT_DECODER.read(body)
            await asyncio.to_thread(amend_study, calls.study, change)
            return ENCODER_OF_ANSWERS.encode(await asyncio.to_thread(self.glance, calls))

        return await self._once(request, body, work)

    async def preview(self, request: HttpRequest) -> HttpAnswer:
        """How many explorations a policy would make in about a day, without changing anything.

        `rounds` is how many rounds that is, `basis` says where this number comes from.
        """
        asked: PreviewRequest = PREVIEW_DECODER.read(await request.body())
        calls = await self._calls(request)
        policy = thing_of(asked.policy)
        today = datetime.now(UTC).date()
        answer = await asyncio.to_thread(previewed, calls.study, policy, asked.policy, today)
        return said(answer)

    async def past(self, request: HttpRequest) -> HttpAnswer:
        """What the journal tells: shares of arms over time, when it explored, what was skipped and why."""
        calls = await self._calls(request)
        past = self.studies.view(calls.study.name).past()
        line = await asyncio.to_thread(planned_line, calls.study, past["stretches"])
        return said(past | {"planned": line})

    async def latest(self, request: HttpRequest) -> HttpAnswer:
        """The latest decisions, newest first; `arm`, `reason`, `explored` and `state` choose among them.

        Those for units that are held out are not among them.
        """
        wanted = request.query
        explored = {"true": True, "false": False}.get(wanted.get("explored", ""))
        fields = {name: wanted.get(name) for name in ("arm", "reason", "state")}
        found = self.studies.view(self._name(request)).latest(explored=explored, **fields)
        return said(found[: _count(wanted.get("most", "100"))])

    async def healthz(self, request: HttpRequest) -> HttpAnswer:
        """Is the process alive?"""
        return said(HealthAnswer(status="alive", version=__version__))

    async def readyz(self, request: HttpRequest) -> HttpAnswer:
        """Are all studies open, and can the store be used? 503 while that is not so."""
        word = (
            "opening" if not self.studies.ready else "ready" if await self._store.is_up() else "store fails"
        )
        return said(HealthAnswer(status=word, version=__version__), 200 if word == "ready" else 503)

    def glance(self, calls: GroupedCalls) -> StudyAnswer:
        """A study as the page shows it among others."""
        with self.studies.onlookers.looking():
            return glance(calls, self.studies.view(calls.study.name))

    async def _once(
        self, request: HttpRequest, body: bytes, work: Callable[[], Awaitable[bytes]], status: int = 200
    ) -> HttpAnswer:
        """The answer of the work; of a request that came before, with its Idempotency-Key, the same again."""
        header = request.header(IDEMPOTENCY_KEY)
        if header is None:
            return HttpAnswer(await work(), status)
        place = place_of(request.scope["path"], key_of(header))
        before = await self.replays.begin(place, body)
        if before is not None:
            return HttpAnswer(before, status, headers=REPLAYED)
        answer: bytes | None = None
        try:
            answer = await work()
        finally:
            await self.replays.end(place, answer)
        return HttpAnswer(answer, status)

    def _name(self, request: HttpRequest) -> str:
        return request.params["name"]

    async def _calls(self, request: HttpRequest) -> GroupedCalls:
        return await self.studies.found(self._name(request))

    def _refuse_long(self, many: Sequence[object]) -> None:
        if not 1 <= len(many) <= self._limits.batch:
            expected = f"1 to {self._limits.batch} requests"
            raise InvalidBody(f"{len(many)} requests in one body", field="body", expected=expected)

    def _refuse_many_arms(self, many: Sequence[DecisionRequest]) -> None:
        for row, each in enumerate(many):
            if each.arms is not None and len(each.arms) > self._limits.arms:
                expected = f"at most {self._limits.arms} arms"
                field = "arms" if len(many) == 1 else f"[{row}].arms"
                raise InvalidBody(f"{len(each.arms)} arms", field=field, expected=expected)

    def _refuse_pending(self, calls: GroupedCalls, keys: Sequence[str]) -> None:
        """Refuses what would wait beside too many others; who asks again for a known key is answered."""
        pending, most = calls.study.pending_count, self._limits.pending
        if pending + len(keys) <= most:
            return
        new = calls.study.count_new(keys)
        if new and pending + new > most:
            raise Overloaded(f"{pending} decisions wait for their rewards: tell some first")


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:6]) <= 1000 or len(text) > 4:
        raise InvalidBody("most is not a number in range", field="most", expected="1 to 1000")
    return int(text)


BATCH_OF_DECISIONS, BATCH_OF_REWARDS = (
    DecisionAnswer | list[DecisionAnswer],
    RewardAnswer | list[RewardAnswer],
)
