"""Who may do what: tokens with scopes, in a file that keeps only their hashes."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import hmac
import logging
import math
import os
import secrets
import threading
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import final

import msgspec

from infex.checks import one_of
from infex.errors import DamagedFile, InvalidSetting, UnknownToken
from infex.files import OWNER_ALONE, replace
from infex.study.stores.base import sqlite_path

LOG = logging.getLogger("infex.service")
TOKEN_FILE_VERSION = 1
SECRET_BYTES = 32
TOKEN_START = "infex"
NO_TOKEN = hashlib.sha256(b"").hexdigest()  # compared with where an id is not known, to take the same time

Stamp = tuple[int, ...]
"""What changes with a file: its times, inode and size."""
ABSENT: Stamp = ()
UNREADABLE: Stamp = (-1,)


class Scope(StrEnum):
    """What a token allows: to ask, to tell, to look, to change a study, to put rewards right, to erase units,
    to see contexts. None of them implies another.
    """

    DECIDE = "decide"
    REWARD = "reward"
    READ = "read"
    ADMIN = "admin"
    CORRECT = "correct"
    ERASE = "erase"
    EXPORT = "export"


class Token(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A token as the file has it: its id, which is no secret, the hash of all of it, and its scopes."""

    id: str
    sha256: str
    scopes: tuple[Scope, ...]
    made: str
    note: str = ""


class TokenFileContent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file."""

    version: int
    tokens: tuple[Token, ...]


@final
class TokenFile:
    """The tokens of a service, in a file that is read again as soon as it has changed.

    `seconds` may pass between two looks at the file. Once it was seen, the service stays shut to all who have
    no valid token: also when the file is gone, damaged or empty, until it has a token again. `times_shut`
    counts how often no valid token was left.

    A token is `infex_ID_SECRET`, with 256 random bits. Processes that write it take turns.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tokens = TokenFile(Path(folder) / "shop.db.tokens")
    ...     token = tokens.make([Scope.DECIDE, Scope.REWARD], note="the till")
    ...     print(sorted(map(str, tokens.scopes(token))), tokens.scopes("infex_of_nobody"))
    ['decide', 'reward'] None
    """

    def __init__(self, path: Path, seconds: float = 0.0) -> None:
        self.path, self._seconds, self._looked = path, seconds, -math.inf
        self._lock, self._tokens = threading.Lock(), dict[str, Token]()
        self._stamp: Stamp | None = None  # of the file as it was read last; None: it was never seen
        self.times_shut = 0

    def listed(self) -> list[Token]:
        """All tokens that are valid, oldest first; their secrets are known to nobody here."""
        return list(self._read())

    @property
    def is_open(self) -> bool:
        """Was no file of tokens ever seen? Then everybody may do everything."""
        self.look()
        return self._stamp is None

    def make(self, scopes: Iterable[str], note: str = "") -> str:
        """A new token, which is told this once."""
        wanted = _checked_scopes(scopes)
        name, secret = secrets.token_hex(4), secrets.token_urlsafe(SECRET_BYTES)
        token = f"{TOKEN_START}_{name}_{secret}"
        made = datetime.now(UTC).isoformat(timespec="seconds")
        kept = Token(id=name, sha256=_hashed(token), scopes=wanted, made=made, note=note)
        with self._writing():
            self._write([*self._read(), kept])
        return token

    def revoke(self, name: str) -> None:
        """Makes a token invalid, given by its id; whoever uses it is refused from now on."""
        with self._writing():
            before = self._read()
            after = [token for token in before if token.id != name]
            if len(after) == len(before):
                raise UnknownToken(f"{self.path} has no token with the id {name!r}")
            self._write(after)

    def scopes(self, token: str) -> frozenset[Scope] | None:
        """What a token allows; None if it is not valid. Takes the same time for all wrong ones of an id."""
        parts = token.split("_", 2)
        known = self.look() if len(parts) == 3 and parts[0] == TOKEN_START else {}
        kept = known.get(parts[1]) if known else None
        same = hmac.compare_digest(_hashed(token), NO_TOKEN if kept is None else kept.sha256)
        return frozenset(kept.scopes) if same and kept is not None else None

    def look(self) -> dict[str, Token]:
        """The tokens by id, as the file has them now."""
        now = time.monotonic()
        if now - self._looked < self._seconds:
            return self._tokens
        self._looked = now
        stamp = self._stamp_now()
        if stamp != self._stamp and not (stamp == ABSENT and self._stamp is None):
            with self._lock:
                self._take(stamp)
        return self._tokens

    def _stamp_now(self) -> Stamp:
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            return ABSENT
        except OSError:  # its folder may not be entered, for instance
            return UNREADABLE
        return found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_size

    def _take(self, stamp: Stamp) -> None:
        """Holds the tokens that the file has now; where it cannot be read there are none."""
        was_shut = self._stamp is not None and not self._tokens
        try:
            self._tokens, why = {token.id: token for token in self._read()}, f"{self.path} has no token"
            self._stamp = stamp
        except DamagedFile as error:
            self._tokens, why = {}, str(error)
            self._stamp = UNREADABLE  # so that the next look reads it again
        if not self._tokens and not was_shut:
            self.times_shut += 1
            LOG.error(
                "%s: every request is refused (401) until there is a token again. Remove the file if it is "
                "damaged, and make a token by `infex token make`",
                why,
            )

    def _read(self) -> tuple[Token, ...]:
        try:
            content = msgspec.json.decode(self.path.read_bytes(), type=TokenFileContent)
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise DamagedFile(f"{self.path} cannot be read: {error.strerror}") from None
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise DamagedFile(f"{self.path} is no file of tokens: {error}") from None
        if content.version != TOKEN_FILE_VERSION:
            raise DamagedFile(f"{self.path} is of the unknown version {content.version}")
        return content.tokens

    def _write(self, tokens: Iterable[Token]) -> None:
        content = TokenFileContent(version=TOKEN_FILE_VERSION, tokens=tuple(tokens))
        replace(self.path, msgspec.json.format(msgspec.json.encode(content), indent=1), mode=OWNER_ALONE)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """While it lasts no other process writes the file."""
        if not self.path.parent.is_dir():
            raise InvalidSetting(f"no such folder: {self.path.parent}")
        beside = self.path.with_name(f".{self.path.name}.lock")
        descriptor = os.open(beside, os.O_CREAT | os.O_RDWR, OWNER_ALONE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _checked_scopes(scopes: Iterable[str]) -> tuple[Scope, ...]:
    wanted = tuple(dict.fromkeys(scopes))
    for scope in wanted:
        one_of("scope", str(scope), tuple(each.value for each in Scope))
    if not wanted:
        raise InvalidSetting(f"a token needs a scope: {', '.join(Scope)}")
    return tuple(Scope(scope) for scope in wanted)


def _hashed(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


def token_path(url: str, given: Path | None) -> Path:
    """The file of tokens: the one that was given, or the one beside the database."""
    database = sqlite_path(url)
    if given is not None:
        return given
    if database is None:
        raise InvalidSetting("say --tokens FILE: only a database of SQLite has a file beside it")
    return database.with_name(f"{database.name}.tokens")
