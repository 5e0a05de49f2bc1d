"""Tokens are made, kept as hashes, read again at once, and revoked."""

import hashlib
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from infex.cli.main import main
from infex.cli.token_command import SCOPES
from infex.errors import DamagedFile, InvalidSetting, UnknownToken
from infex.service.auth import Scope, TokenFile, token_path


def test_a_token_has_the_scopes_it_was_made_with(tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path / "t")
    one, other = tokens.make(["decide"]), tokens.make(["read", "admin", "read"], note="ops")
    assert tokens.scopes(one) == {Scope.DECIDE}
    assert tokens.scopes(other) == {Scope.READ, Scope.ADMIN}
    assert [token.note for token in tokens.listed()] == ["", "ops"]


def test_nothing_but_hashes_is_kept_and_nobody_else_may_read_them(tmp_path: Path) -> None:
    token = TokenFile(tmp_path / "t").make(["read"])
    kept = (tmp_path / "t").read_text()
    assert token not in kept
    assert token.rpartition("_")[2] not in kept
    assert hashlib.sha256(token.encode()).hexdigest() in kept
    assert stat.S_IMODE((tmp_path / "t").stat().st_mode) == 0o600


@pytest.mark.parametrize("change", [lambda t: t + "x", lambda t: t[:-1], lambda t: "", lambda t: t.upper()])
def test_another_token_has_no_scope(tmp_path: Path, change: Callable[[str], str]) -> None:
    tokens = TokenFile(tmp_path / "t")
    token = tokens.make(["read"])
    assert tokens.scopes(change(token)) is None
    assert tokens.scopes("other" + token.removeprefix("infex")) is None
    assert tokens.scopes("infex_\ud800_x") is None


def test_what_another_process_changes_holds_at_once(tmp_path: Path) -> None:
    here, there = TokenFile(tmp_path / "t"), TokenFile(tmp_path / "t")
    token = there.make(["read"])
    assert here.scopes(token) == {Scope.READ}
    there.revoke(token.split("_")[1])
    assert here.scopes(token) is None
    assert here.listed() == []


def test_tokens_made_at_once_are_all_kept(tmp_path: Path) -> None:
    def make() -> None:
        for _ in range(5):
            TokenFile(tmp_path / "t").make(["read"])

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({token.id for token in TokenFile(tmp_path / "t").listed()}) == 20


def test_what_is_no_file_of_tokens_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b'{"version": 1, "tokens": [{"id": "x"}]}')
    with pytest.raises(DamagedFile):
        TokenFile(tmp_path / "t").listed()
    (tmp_path / "t").write_bytes(b'{"version": 9, "tokens": []}')
    with pytest.raises(DamagedFile, match="version 9"):
        TokenFile(tmp_path / "t").listed()
    with pytest.raises(InvalidSetting, match="folder"):
        TokenFile(tmp_path / "missing" / "t").make(["read"])
    for scopes in ([], ["all"]):
        with pytest.raises(InvalidSetting):
            TokenFile(tmp_path / "u").make(scopes)


def test_the_file_stands_beside_a_database_of_sqlite(tmp_path: Path) -> None:
    assert token_path(f"sqlite:///{tmp_path}/a.db", None) == tmp_path / "a.db.tokens"
    assert token_path("postgresql://x/y", tmp_path / "t") == tmp_path / "t"
    with pytest.raises(InvalidSetting, match="--tokens"):
        token_path("postgresql://x/y", None)


def test_the_command_knows_all_scopes() -> None:
    assert set(SCOPES) == set(Scope)


def test_the_command_makes_lists_and_revokes(tmp_path: Path) -> None:
    def said(*words: str, code: int = 0) -> str:
        result = CliRunner().invoke(main, ["token", *words, "--tokens", str(tmp_path / "t")])
        assert result.exit_code == code, result.output
        return result.output

    token = said("make", "--scope", "decide", "--scope", "reward", "--note", "till").strip()
    name = token.split("_")[1]
    assert TokenFile(tmp_path / "t").scopes(token) == {Scope.DECIDE, Scope.REWARD}
    assert name in said("list")
    assert '"till"' in said("list", "--json")
    assert token not in said("list", "--json")
    said("revoke", name)
    assert said("list") == ""
    assert name in said("revoke", name, code=2)
    with pytest.raises(UnknownToken):
        TokenFile(tmp_path / "t").revoke(name)
    assert CliRunner().invoke(main, ["token", "list"]).exit_code == 2
