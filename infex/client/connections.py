"""Connections to one service that stay open, each used by one thread of one process at a time."""

from __future__ import annotations

import http.client
import os
from typing import NamedTuple, final
from urllib.parse import urlsplit

from infex.errors import InvalidSetting, ServiceSilent

MOST_IDLE = 32


class HeardAnswer(NamedTuple):
    """What a service sent back."""

    status: int
    body: bytes
    retry_after: float | None


@final
class Connections:
    """Sends requests to `url`, which is http://host:port or https://host, with a token if there is one."""

    def __init__(self, url: str, token: str | None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise InvalidSetting(f"url must be such as http://localhost:8321, got {url!r}")
        self._secure, self._host, self._port = parts.scheme == "https", parts.hostname, parts.port
        self._before = parts.path.rstrip("/")
        self._headers = {"accept": "application/json"} | (
            {} if token is None else {"authorization": f"Bearer {token}"}
        )
        self._idle: list[http.client.HTTPConnection] = []  # append and pop are atomic: no lock to be forked
        self._process, self._closed = os.getpid(), False

    def send(
        self, method: str, path: str, body: bytes | None, seconds: float, headers: dict[str, str]
    ) -> HeardAnswer:
        """The answer; ServiceSilent if there is none in time. A connection that was left open may be dead."""
        known = self._taken()
        if known is not None:
            try:
                return self._sent(known, method, path, body, seconds, headers)
            except TimeoutError as error:
                raise ServiceSilent(f"no answer within {seconds:.3g} s") from error
            except (OSError, http.client.HTTPException):
                known.close()  # the service closed it while it was idle: a new one may do
        try:
            return self._sent(self._new(), method, path, body, seconds, headers)
        except (OSError, http.client.HTTPException) as error:
            raise ServiceSilent(f"no answer from {self._host}: {type(error).__name__}") from error

    def close(self) -> None:
        """Closes those that are idle; one that is in use is closed after it."""
        self._closed = True
        while (connection := self._taken()) is not None:
            connection.close()

    def _sent(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: bytes | None,
        seconds: float,
        headers: dict[str, str],
    ) -> HeardAnswer:
        connection.timeout = seconds
        if connection.sock is not None:
            connection.sock.settimeout(seconds)
        try:
            connection.request(method, self._before + path, body, self._headers | headers)
            answer = connection.getresponse()
            content = answer.read()
        except BaseException:
            connection.close()
            raise
        self._give_back(connection)
        later = answer.getheader("retry-after") or ""
        return HeardAnswer(answer.status, content, float(later) if later.isdigit() else None)

    def _taken(self) -> http.client.HTTPConnection | None:
        if self._process != os.getpid():  # a fork shares sockets: answers would reach the wrong process
            self._idle, inherited, self._process = [], self._idle, os.getpid()
            for connection in inherited:
                connection.close()
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _give_back(self, connection: http.client.HTTPConnection) -> None:
        if len(self._idle) < MOST_IDLE and connection.sock is not None and not self._closed:
            self._idle.append(connection)
        else:
            connection.close()

    def _new(self) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        return kind(self._host, self._port)
