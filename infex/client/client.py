"""`infex.Client`: studies that are served elsewhere."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, Self, final
from urllib.parse import quote

from infex.client.connections import Connections
from infex.client.remote_decision import Fallbacks, RemoteDecision, heard
from infex.client.retrying import Patience, Sender
from infex.errors import InvalidSetting, ServiceSilent
from infex.records import record


@final
class Client:
    """Studies of the service at `url`, asked with a `token`; any number of threads may use it.

    A request that is not answered within `seconds` was sent again and again until then, with pauses that
    grow. Requests have keys, so that none happens twice. With `fallback`, `ask` then plays the last greedy
    arm that was heard of, and says so; without, or before any was heard of, ServiceSilent is raised.
    `patience` says in their place how long to wait, and with which pauses.

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
        self._sender = Sender(self._connections, Patience(seconds=seconds) if patience is None else patience)
        self._fallback = fallback

    def study(self, name: str) -> RemoteStudy:
        """The study of a name; nothing is sent yet."""
        return RemoteStudy(self._sender, name, self._fallback)

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

    def __init__(self, sender: Sender, name: str, fallback: bool) -> None:
        self.name, self._sender, self._fallback = name, sender, fallback
        self._path = f"/v1/studies/{quote(name, safe='')}"
        self._heard = Fallbacks()

    def ask(self, key: str | None = None, *, context: object = None, **more: Any) -> RemoteDecision:
        """The decision of a key, on disk; without a key one is made up, to be found in `decision.id`.

        `context`, `arms`, `labels`, `allowed` and `unit` are those of `Study.ask`. If the service does not
        answer in time, the last greedy arm: `decision.fallback` says so, and its reward is not to be told.
        """
        name = uuid.uuid4().hex if key is None else key
        if (before := self._heard.known(name)) is not None:
            return before
        try:
            return self._known(
                self._sender.call("POST", f"{self._path}/decisions", _asked(name, context, more))
            )
        except ServiceSilent:
            instead = self._heard.decide(name) if self._fallback and not _brings_arms(more) else None
            if instead is None:
                raise
            return instead

    def ask_many(
        self, keys: Sequence[str], *, contexts: Sequence[object] | None = None, **more: Any
    ) -> list[RemoteDecision]:
        """The decisions of many keys in one request, all on disk; ServiceSilent if there is no answer."""
        given = [None] * len(keys) if contexts is None else contexts
        if len(given) != len(keys):
            raise InvalidSetting(f"contexts must be as many as the keys, {len(keys)}, got {len(given)}")
        body = [_asked(key, context, more) for key, context in zip(keys, given, strict=True)]
        return [self._known(each) for each in self._sender.call("POST", f"{self._path}/decisions", body)]

    def tell(self, key: str, reward: float, *, weight: float = 1.0, part: str | None = None) -> str:
        """Tells a reward, exactly once, however often it is sent; the state of the decision then.

        That of a fallback is not sent, and "fallback" returned: the service may have decided otherwise.
        """
        if self._heard.known(key) is not None:
            return "fallback"
        return str(
            self._sender.call("POST", f"{self._path}/rewards", _told(key, reward, weight, part))["state"]
        )

    def tell_many(self, keys: Sequence[str], rewards: Sequence[float]) -> list[str]:
        """Tells many rewards in one request, but for those of fallbacks; the state of each."""
        pairs = list(zip(keys, rewards, strict=True))
        sent = [{"key": key, "reward": value} for key, value in pairs if self._heard.known(key) is None]
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

    def _known(self, answer: dict[str, Any]) -> RemoteDecision:
        decision = heard(answer)
        self._heard.hear(decision)
        return decision


def _asked(key: str, context: object, more: dict[str, Any]) -> dict[str, Any]:
    given = {word: value for word, value in more.items() if value is not None}
    return {"key": key, **({} if context is None else {"context": context}), **given}


def _told(key: str, reward: float, weight: float, part: str | None) -> dict[str, Any]:
    return {"key": key, "reward": reward, "weight": weight} | ({} if part is None else {"part": part})


def _brings_arms(more: dict[str, Any]) -> bool:
    """Does a request bring its own arms? Then no arm that was heard of before is among them."""
    return more.get("arms") is not None


def _kept(word: str, value: object) -> Any:
    """A setting as it is sent."""
    if word in ("policy", "estimator"):
        return value if isinstance(value, str | dict) else record(value)
    return record(value) if word == "features" and not isinstance(value, dict) else value
