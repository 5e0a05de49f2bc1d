"""Running the service: checks what it may listen on, then serves until it is told to end."""

from __future__ import annotations

import gc
import ipaddress
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

import uvicorn

from infex.checks import real, whole
from infex.errors import InvalidSetting
from infex.service.application import Service
from infex.service.demo import play_on, play_past, shoppers
from infex.service.head_limits import HeadLimits
from infex.service.service_limits import ServiceLimits
from infex.service.token_places import token_path
from infex.service.tokens import TokenFile

SECONDS_BETWEEN_LOOKS = 0.1  # at the file of tokens: a look takes as long as a tenth of a request
SECONDS_OF_A_THREAD = (
    0.0005  # before another has its turn; with 0.005, as by default, p99 is 1.5 times as long
)
OBJECTS_BETWEEN_COLLECTIONS = (5_000, 5, 1_000)
"""As `gc.set_threshold`: a collection of all objects stops every request for a tenth of a second or more."""
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """Where a service listens, and what for. On another address than loopback it needs a token.

    `tokens` is the file of its tokens; for SQLite that is by itself the one beside the database. `hosts` are
    further names by which it may be called, such as that of the proxy before it; then it needs a token, too.
    A file without a valid token is refused: the last one was revoked, and that is no reason to let all in.
    """

    url: str
    host: str = "127.0.0.1"
    port: int = 8321
    tokens: Path | None = None
    hosts: tuple[str, ...] = ()
    limits: ServiceLimits = field(default_factory=ServiceLimits)
    token_file: TokenFile = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        real("port", whole("port", self.port, least=0), least=0, most=65_535)
        file = TokenFile(token_path(self.url, self.tokens), SECONDS_BETWEEN_LOOKS)
        object.__setattr__(self, "token_file", file)
        if not file.listed() and file.path.exists():
            raise InvalidSetting(
                f"{file.path} has no valid token: make one by `infex token make`, or remove the file to let "
                "everybody on this machine do everything"
            )
        names = [name for name in self.hosts if name.lower() not in LOOPBACK_NAMES]
        if file.is_open and (names or not self.is_local):
            raise InvalidSetting(
                f"{names[0] if self.is_local else self.host} can be reached by others, and {file.path} has "
                "no token: make one by `infex token make`, or listen on 127.0.0.1 without --host-name"
            )

    @property
    def is_local(self) -> bool:
        """Can this machine alone reach it?"""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which it may be called."""
        own = f"[{self.host}]" if ":" in self.host else self.host
        return (*LOOPBACK_NAMES, own, *self.hosts)


@final
class ClosingServer(uvicorn.Server):
    """A server that refuses new requests and lets go of listeners before it waits for what was begun."""

    def __init__(self, config: uvicorn.Config, service: Service, started: Callable[[str], None]) -> None:
        super().__init__(config)
        self._service, self._started = service, started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listens, and says where: the port may have been the system's to choose."""
        await super().startup(sockets)
        if self.started:
            self._started(_address_of(self.servers[0].sockets[0].getsockname()))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Ends: what was begun is answered, what is new is refused."""
        self._service.app.closing = True
        await self._service.feed.end()
        await super().shutdown(sockets)


def _address_of(name: tuple[str, int]) -> str:
    host, port = name[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def service_of(listening: Listening) -> Service:
    """The service, not yet running."""
    return Service(listening.url, listening.token_file, listening.names, listening.limits)


def serve(listening: Listening, started: Callable[[str], None]) -> None:
    """Serves until SIGTERM or Ctrl-C; then finishes what was begun, and closes the studies.

    `started` is called with the address once it listens.
    """
    refuse_taken(listening.host, listening.port)
    run(service_of(listening), listening, started)


def refuse_taken(host: str, port: int) -> None:
    """Refuses an address that cannot be listened on, before anything else is opened."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        raise InvalidSetting(f"cannot listen on {host}, port {port}: {error.strerror or error}") from None


def serve_demo(host: str, port: int, started: Callable[[str], None]) -> None:
    """Serves a simulated shop, with two days behind it and visitors that go on to come."""
    with tempfile.TemporaryDirectory(prefix="infex-demo-") as folder:
        listening = Listening(url=f"sqlite:///{folder}/demo.db", host=host, port=port)
        shops, ended = shoppers(), threading.Event()
        play_past(listening.url, shops, time.time())
        service = service_of(listening)
        hand = threading.Thread(target=play_on, args=(service, shops, ended, ended.wait))
        hand.start()
        try:
            run(service, listening, started)
        finally:
            ended.set()
            hand.join()


def take_turns_quickly() -> None:
    """Sets this process to answer evenly: threads take turns often, and old objects are seldom searched.

    What is there at the start stays; what a decision leaves behind has no cycles. Young objects, among which
    those of requests that failed have some, are looked through as ever.
    """
    sys.setswitchinterval(SECONDS_OF_A_THREAD)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*OBJECTS_BETWEEN_COLLECTIONS)


def run(service: Service, listening: Listening, started: Callable[[str], None]) -> None:
    """Runs a service until SIGTERM or Ctrl-C."""
    settings = uvicorn.Config(
        service.app,
        host=listening.host,
        port=listening.port,
        log_config=None,
        log_level="error",  # warnings are of single requests: strangers could fill a log with them
        access_log=False,  # addresses hold keys
        proxy_headers=False,  # nothing here depends on who is at the other end
        server_header=False,
        date_header=False,
        limit_concurrency=2 * listening.limits.waiting,
        timeout_graceful_shutdown=listening.limits.closing_seconds,
        timeout_keep_alive=30,
        http=HeadLimits,
        ws="none",
        lifespan="on",
    )
    take_turns_quickly()
    signal.signal(signal.SIGTERM, lambda *_: None)  # the server raises it again once it has ended well
    ClosingServer(settings, service, started).run()
