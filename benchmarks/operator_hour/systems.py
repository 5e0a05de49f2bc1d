"""Services on two databases, and what goes wrong with them: kills, full disks, a server that crashes."""

import contextlib
import os
import random
import shutil
import subprocess
import sys
import threading
import time
import traceback
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import final

import psycopg

from tests.ports import steady_port
from tests.study.server import SERVER_USER, Server, as_server
from tests.waiting import until

AWAY = 3.0  # seconds until a supervisor starts an instance again, or a server
FULL = 5.0  # seconds for which a disk is full
MEGABYTE = 1_000_000


@final
class Disk:
    """A file system in a file, mounted at `folder`: it can be full without anything else being so."""

    def __init__(self, image: Path, megabytes: int) -> None:
        self.folder = image.with_suffix("")
        self.folder.mkdir()
        with image.open("wb") as file:
            file.truncate(megabytes * MEGABYTE)
        subprocess.run(["mkfs.ext4", "-q", "-m", "0", image], check=True)
        subprocess.run(["mount", "-o", "loop", image, self.folder], check=True)

    def fill(self) -> None:
        """Takes all room that is left."""
        with (self.folder / "ballast").open("wb") as file, contextlib.suppress(OSError):
            for size in (MEGABYTE, 4096):
                while True:
                    try:
                        os.posix_fallocate(file.fileno(), file.seek(0, os.SEEK_END), size)
                    except OSError:
                        break

    def free(self) -> None:
        """Gives it back."""
        (self.folder / "ballast").unlink()

    def unmount(self) -> None:
        """Takes it away, with all that is on it."""
        subprocess.run(["umount", "--lazy", self.folder], check=True)


@final
class Instance:
    """One `infex serve`, at the same port whenever it is started; what it logs goes to a file."""

    def __init__(self, url: str, folder: Path, number: int) -> None:
        self.port, self.log = steady_port(), folder / f"instance-{number}.log"
        words = ["serve", "--db", url, "--port", str(self.port), "--tokens", str(folder / "no.tokens")]
        self._command = [sys.executable, "-m", "infex", *words]
        self.start()
        self.memory_at_start = self.memory()

    def start(self) -> None:
        """Starts it, and waits until it listens."""
        with self.log.open("a") as log:
            environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
            self.process = subprocess.Popen(self._command, stderr=log, env=environment)
        until(self._listens, f"{self.port} listens", self.process)

    def kill(self) -> None:
        """Ends it at once."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Asks it to end; its exit code."""
        self.process.terminate()
        return self.process.wait()

    def memory(self) -> float:
        """Megabytes that it holds."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1000

    def _listens(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz"):
                return True
        except urllib.error.URLError:
            return False


class System:
    """A database with its instances, and its `faults` by name; `files` are where its data are."""

    name: str
    faults: dict[str, Callable[[], None]]
    files: Path

    def __init__(self, url: str, folder: Path, instances: int) -> None:
        self.url = url
        self.instances = [Instance(url, folder, number) for number in range(instances)]

    @property
    def ports(self) -> list[int]:
        """Where its instances listen."""
        return [instance.port for instance in self.instances]

    def rewrite(self) -> None:
        """Takes out of the files what the database does not show any more, where it does not do so itself."""

    def size(self) -> float:
        """Megabytes of its database."""
        return sum(path.stat().st_size for path in self.files.rglob("*") if path.is_file()) / MEGABYTE

    def unexpected_errors(self) -> list[str]:
        """What its instances have logged of errors that nobody has foreseen: their places in the code."""
        lines = (line for instance in self.instances for line in instance.log.read_text().splitlines())
        return [line for line in lines if " ERROR " in line and " at " in line and ".py:" in line]


@final
class OnSQLite(System):
    """One instance, killed and started again at once; its disk may be full."""

    name = "SQLite"

    def __init__(self, folder: Path, megabytes: int) -> None:
        self.disk = Disk(folder / "sqlite.image", megabytes)
        self.files = self.disk.folder / "data"
        self.files.mkdir()
        super().__init__(f"sqlite:///{self.files}/shop.db", folder, 1)
        self.faults = {"killed": self._kill, "disk full": self._fill_disk}

    def _kill(self) -> None:
        self.instances[0].kill()
        self.instances[0].start()

    def _fill_disk(self) -> None:
        self.disk.fill()
        time.sleep(FULL)
        self.disk.free()

    def close(self) -> None:
        """Takes all of it away."""
        for instance in self.instances:
            instance.kill()
        self.disk.unmount()


@final
class OnPostgres(System):
    """Two instances, of which one is killed; the server crashes, and its disk may be full."""

    name = "PostgreSQL"

    def __init__(self, folder: Path, megabytes: int) -> None:
        self.disk = Disk(folder / "postgres.image", megabytes)
        shutil.chown(self.disk.folder, SERVER_USER)
        self.server = Server(self.disk.folder)
        self.files = self.disk.folder / "data"
        inner = folder / "instances"
        inner.mkdir()
        super().__init__(self.server.url, inner, 2)
        self.faults = {"killed": self._kill, "server crashed": self._crash, "disk full": self._fill_disk}

    def rewrite(self) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("vacuum full infex_entries")
            connection.execute("vacuum full infex_snapshots")
            connection.execute("checkpoint")

    def _kill(self) -> None:
        instance = random.choice(self.instances)
        instance.kill()
        time.sleep(AWAY)
        instance.start()

    def _crash(self) -> None:
        self.server.stop("immediate")
        time.sleep(AWAY)
        self.server.start()

    def _fill_disk(self) -> None:
        """A server that cannot write its log ends itself; it is started again once there is room."""
        self.disk.fill()
        time.sleep(FULL)
        self.disk.free()
        status = as_server(self.server.programs / "pg_ctl", "-D", self.files, "status", check=False)
        if status.returncode:
            self.server.start()

    def close(self) -> None:
        """Takes all of it away."""
        for instance in self.instances:
            instance.kill()
        self.server.stop("immediate")
        self.disk.unmount()


@final
class FaultInjector(threading.Thread):
    """Injects one fault after the other to a system, each as often as the others, with pauses between."""

    def __init__(self, system: System, pause: float, ended: threading.Event) -> None:
        super().__init__(name=f"faults of {system.name}")
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._system, self._pause, self._ended, self._rng = system, pause, ended, random.Random(3)

    def run(self) -> None:
        """Goes on until it is ended; a fault that has begun then is over before."""
        try:
            for name in self._names():
                if self._ended.wait(self._rng.uniform(0.5, 1.5) * self._pause):
                    return
                self._system.faults[name]()
                self.counts[name] += 1
                dead = [
                    instance.port
                    for instance in self._system.instances
                    if instance.process.poll() is not None
                ]
                if dead:
                    self.wrong.append(f"{self._system.name}: {dead} ended by itself")
        except Exception:
            self.wrong.append(traceback.format_exc())

    def _names(self) -> Iterator[str]:
        while True:
            yield from self._rng.sample(sorted(self._system.faults), len(self._system.faults))
