"""A PostgreSQL server of its own, for tests: started on a free port, by a user who is not root."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.ports import steady_port

SERVER_USER = "postgres"  # Debian's package makes it


def programs() -> Path:
    """The folder of PostgreSQL's programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or [Path(shutil.which("initdb") or "")]
    assert found[-1].name == "initdb", "PostgreSQL is missing: run `make postgresql`"
    return found[-1].parent


def as_server(*command: str | Path, check: bool = True) -> subprocess.CompletedProcess[Any]:
    """Runs a command as the server's user, if that is not who runs the tests."""
    user: dict[str, Any] = (
        {} if os.getuid() else {"user": SERVER_USER, "group": pwd.getpwnam(SERVER_USER).pw_gid}
    )
    return subprocess.run(command, capture_output=True, text=True, cwd="/", check=check, **user)


class Server:
    """One that is running; its data go with it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.programs = folder, programs()
        as_server(self.programs / "initdb", "-D", folder / "data", "-U", SERVER_USER, "--auth=trust")
        self.port = steady_port()
        self.start()

    @property
    def url(self) -> str:
        """Its address."""
        return f"postgresql://{SERVER_USER}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        settings = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1"
        self._control("start", "-w", "-t", "600", "-o", settings, "-l", str(self.folder / "log"))

    def stop(self, how: str = "fast") -> None:
        """Stops it; "immediate" is a crash."""
        self._control("stop", "-m", how, "-w", "-t", "600")

    def _control(self, *words: str) -> None:
        as_server(self.programs / "pg_ctl", "-D", self.folder / "data", *words)


@contextlib.contextmanager
def running() -> Iterator[Server]:
    """A server, as long as the block lasts."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not os.getuid():
            shutil.chown(folder, SERVER_USER)
        server = Server(folder)
        try:
            yield server
        finally:
            server.stop("immediate")
