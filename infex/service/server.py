"""Running the service: checks what it may listen on, then serves until it is told to end."""

from __future__ import annotations

import gc
import ipaddress
import logging
import signal
import socket
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

import uvicorn

from infex.checks import real, whole
from infex.errors import InfexWarning, InvalidSetting
from infex.service.app import Service
from infex.service.auth import TokenFile, token_path
from infex.service.demo import play_on, play_past, shoppers
from infex.service.middleware import MOST_HEAD
from infex.service.schemas import ServiceLimits

LOG = logging.getLogger("infex.service")
SECONDS_BETWEEN_LOOKS = 0.1  # at the file of tokens: a look takes as long as a tenth of a request
SECONDS_OF_A_THREAD = 0.0005  # before another has its turn; with Python's 0.005 slow requests are slower
OBJECTS_BETWEEN_COLLECTIONS = (5_000, 5, 1_000)
"""As `gc.set_threshold`: a collection of all objects stops every request for a tenth of a second or more."""
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """Where a service listens, and what for. On another address than loopback it needs a token.

    `tokens` is the file of its tokens; by default the one beside a SQLite database. `hosts` are further names
    by which it may be called, such as that of the proxy before it; then it needs a token, too. A file without
    a valid token is refused: the last one was revoked, and that is no reason to let all in.
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

    def bind(self) -> socket.socket:
        """A socket that listens there; InvalidSetting if that cannot be."""
        try:
            family = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)[0][0]
            return socket.create_server((self.host, self.port), family=family, backlog=2048)
        except OSError as error:
            words = f"cannot listen on {self.host}, port {self.port}: {error.strerror or error}"
            raise InvalidSetting(words) from None

    def service(self) -> Service:
        """The service, not yet running."""
        return Service(self.url, self.token_file, self.names, self.limits)


def serve(listening: Listening, started: Callable[[str], None]) -> None:
    """Serves until SIGTERM or Ctrl-C; then finishes what was begun, and closes the studies.

    `started` is called with the address once it listens.
    """
    with listening.bind() as bound:  # before anything else is opened
        run(listening.service(), listening, bound, started)


def serve_demo(host: str, port: int, started: Callable[[str], None]) -> None:
    """Serves a simulated shop, with twelve days behind it and visitors that keep coming."""
    with tempfile.TemporaryDirectory(prefix="infex-demo-") as folder:
        listening = Listening(url=f"sqlite:///{folder}/demo.db", host=host, port=port)
        with listening.bind() as bound:
            shops, ended = shoppers(), threading.Event()
            play_past(listening.url, shops, time.time())
            service = listening.service()
            visitors = threading.Thread(target=play_on, args=(service.studies, shops, ended))
            visitors.start()
            try:
                run(service, listening, bound, started)
            finally:
                ended.set()
                visitors.join()


def run(service: Service, listening: Listening, bound: socket.socket, started: Callable[[str], None]) -> None:
    """Runs a service until SIGTERM or Ctrl-C."""
    # Threads take turns often, and old objects are seldom searched for garbage: what is there at the start
    # stays, and what a decision leaves behind has no cycles.
    sys.setswitchinterval(SECONDS_OF_A_THREAD)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*OBJECTS_BETWEEN_COLLECTIONS)
    signal.signal(signal.SIGTERM, lambda *_: None)  # the server raises it again once it has ended well
    host, port = bound.getsockname()[:2]
    started(f"http://{f'[{host}]' if ':' in host else host}:{port}/")
    server_of(service, listening.limits).run(sockets=[bound])


def server_of(service: Service, limits: ServiceLimits) -> uvicorn.Server:
    """The server that a service runs on.

    h11 is the parser because it limits heads that do not come to their end (400). A head of up to twice the
    limit always reaches the middleware, which refuses it by name (431).
    """
    server = uvicorn.Server(
        uvicorn.Config(
            service.app,
            http="h11",
            h11_max_incomplete_event_size=2 * MOST_HEAD,
            ws="none",
            lifespan="on",
            log_config=None,
            log_level="error",  # warnings are of single requests: strangers could fill a log with them
            access_log=False,  # addresses hold keys
            proxy_headers=False,  # nothing here depends on who is at the other end
            server_header=False,
            date_header=False,
            limit_concurrency=4 * limits.waiting,  # connections; the middleware refuses requests before
            timeout_graceful_shutdown=limits.closing_seconds,
            timeout_keep_alive=30,
        )
    )
    service.is_ending = lambda: server.should_exit
    return server


@final
class LogLines(logging.Formatter):
    r"""Time in UTC, level and message, on one line.

    >>> record = logging.LogRecord("infex", logging.ERROR, "", 0, "no room\nis left", None, None)
    >>> record.created, record.msecs = 1.25, 250.0
    >>> LogLines().format(record)
    '1970-01-01T00:00:01.250Z ERROR no room | is left'
    """

    def __init__(self) -> None:
        super().__init__("%(asctime)s.%(msecs)03dZ %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")
        self.converter = time.gmtime

    def format(self, record: logging.LogRecord) -> str:
        """The line; breaks within it, as of a traceback, are shown as bars."""
        return " | ".join(line.strip() for line in super().format(record).splitlines() if line.strip())


def log_to_standard_error() -> None:
    """Sends what infex, uvicorn, asyncio and warnings log to standard error, with times."""
    handler = logging.StreamHandler()
    handler.setFormatter(LogLines())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.captureWarnings(True)
    warnings.simplefilter("once", InfexWarning)
    LOG.setLevel(logging.INFO)
