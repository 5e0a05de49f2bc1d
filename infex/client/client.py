"""`infex.Client`: studies that are served elsewhere."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, Self, final
from urllib.parse import quote

from infex.arrays import Label
from infex.client.connections import Connections
from infex.client.fallbacks import CircuitBreaker, Fallbacks, Offer, offer_of
from infex.client.remote_decision import RemoteDecision, heard
from infex.client.retrying import Patience, Sender
from infex.errors import InvalidSetting, ServiceSilent
from infex.registry import to_record


@final
class Client:
    """Studies of the service at `url`, asked with a `token`; any number of threads may use it.

    A request that is not answered within `seconds` was sent again and again until then, with pauses that
    grow. Requests have keys, so that none happens twice.

    With `fallback`, `ask` and `ask_many` then play the greedy arm heard of last in this study among those
    that the request offers, or else its `default`, and say so; ServiceSilent is raised if there is neither.
    For the next 5 seconds they do so at once, without sending anything. Later ones still do so at once while
    a thread asks whether the service is ready; when it is, one request is sent, and its answer ends the
    outage. So an outage costs those `seconds` once, and not each time. Without `fallback` every request
    waits, and raises ServiceSilent. `patience` says in place of `seconds` how long to wait.

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
        self._connections = Connections(url, token)
        self._patience = Patience(seconds=seconds) if patience is None else patience
        self._sender = Sender(self._connections, self._patience)
        self._fallback = fallback
        self._outages: dict[str, tuple[Fallbacks, CircuitBreaker]] = {}

    def study(self, name: str) -> RemoteStudy:
        """The study of a name; nothing is sent yet. What was heard of it is the same for all that have it."""
        new = Fallbacks(), CircuitBreaker(self._sender.is_ready, self._patience)
        return RemoteStudy(self._sender, name, self._fallback, *self._outages.setdefault(name, new))

    def open(self, name: str, **settings: Any) -> RemoteStudy:
        """Begins a study with the settings of `infex.Study.open`, or finds it, if it has these settings."""
        plain = {word: _kept(word, value) for word, value in settings.items() if value is not None}
        self._sender.call("POST", "/v1/studies", {"name": name} | plain)
        return self.study(name)

    def studies(self) -> list[str]:
        """The names of all studies."""
        return [each["name"] for each in self._sender.call("GET", "/v1/studies")]

    def close(self) -> None:
        """Closes the connections that are idle."""
        self._connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@final
class RemoteStudy:
    """One study of a service, with the verbs of `infex.Study`."""

    def __init__(
        self, sender: Sender, name: str, fallback: bool, fallbacks: Fallbacks, breaker: CircuitBreaker
    ) -> None:
        self.name, self._sender, self._fallback = name, sender, fallback
        self._path = f"/v1/studies/{quote(name, safe='')}"
        self._fallbacks, self._breaker = fallbacks, breaker

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
        name, offer = uuid.uuid4().hex if key is None else key, offer_of(more, default)
        if (before := self._fallbacks.known(name)) is not None:
            return before
        try:
            return self._heard(self._decisions(_asked(name, context, more), offer), offer)
        except ServiceSilent as silent:
            return self._instead([name], offer, silent)[0]

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
        offer, before = offer_of(more, default), [self._fallbacks.known(key) for key in keys]
        rows = zip(keys, given, before, strict=True)
        body = [_asked(key, context, more) for key, context, known in rows if known is None]
        try:
            answers = iter(self._decisions(body, offer) if body else ())
        except ServiceSilent as silent:
            return self._instead(keys, offer, silent)
        return [self._heard(next(answers), offer) if known is None else known for known in before]

    def tell(self, key: str, reward: float, *, weight: float = 1.0, part: str | None = None) -> str:
        """Tells a reward, exactly once, however often it is sent; the state of the decision then.

        That of a fallback is not sent, and "fallback" returned: the service may have decided otherwise.
        """
        if self._fallbacks.known(key) is not None:
            return "fallback"
        return str(
            self._sender.call("POST", f"{self._path}/rewards", _told(key, reward, weight, part))["state"]
        )

    def tell_many(self, keys: Sequence[str], rewards: Sequence[float]) -> list[str]:
        """Tells many rewards in one request, but for those of fallbacks; the state of each."""
        pairs = list(zip(keys, rewards, strict=True))
        sent = [{"key": key, "reward": value} for key, value in pairs if self._fallbacks.known(key) is None]
        answers = self._sender.call("POST", f"{self._path}/rewards", sent) if sent else []
        states = {each["key"]: str(each["state"]) for each in answers}
        return [states.get(key, "fallback") for key in keys]

    def explain(self, key: str) -> dict[str, Any]:
        """Why a decision was taken, as plain data."""
        why: dict[str, Any] = self._sender.call("GET", f"{self._path}/explain/{quote(key, safe='')}")["why"]
        return why

    def state(self, key: str) -> str:
        """How far the reward of a decision has come."""
        return str(self._sender.call("GET", f"{self._path}/decisions/{quote(key, safe='')}")["state"])

    def metrics(self) -> dict[str, Any]:
        """The figures of the study."""
        figures: dict[str, Any] = self._sender.call("GET", self._path)["figures"]
        return figures

    def amend(self, *, reason: str, policy: object = None, **more: Any) -> None:
        """Changes the policy, `allowed` arms, or with `explore=False` pauses exploring; it is recorded."""
        body = {"reason": reason} | ({} if policy is None else {"policy": _kept("policy", policy)}) | more
        head = {"idempotency-key": f'"{uuid.uuid4().hex}"'}
        self._sender.call("POST", f"{self._path}/amendments", body, head)

    def _decisions(self, body: object, offer: Offer) -> Any:
        """The answer to a request for decisions."""

        def send() -> Any:
            return self._sender.call("POST", f"{self._path}/decisions", body)

        return self._breaker.call(send, self._fallbacks.has_arm(offer)) if self._fallback else send()

    def _instead(self, keys: Sequence[str], offer: Offer, silent: ServiceSilent) -> list[RemoteDecision]:
        """Fallbacks; without any the error is raised."""
        decisions = self._fallbacks.decide(keys, offer) if self._fallback else None
        if decisions is None:
            raise silent
        return decisions

    def _heard(self, answer: dict[str, Any], offer: Offer) -> RemoteDecision:
        decision = heard(answer)
        self._fallbacks.hear(decision, offer)
        return decision


def _asked(key: str, context: object, more: dict[str, Any]) -> dict[str, Any]:
    given = {word: value for word, value in more.items() if value is not None}
    return {"key": key, **({} if context is None else {"context": context}), **given}


def _told(key: str, reward: float, weight: float, part: str | None) -> dict[str, Any]:
    return {"key": key, "reward": reward, "weight": weight} | ({} if part is None else {"part": part})


def _kept(word: str, value: object) -> Any:
    """A setting as it is sent."""
    if word in ("policy", "estimator"):
        return value if isinstance(value, str | dict) else to_record(value)
    return to_record(value) if word == "features" and not isinstance(value, dict) else value
