"""A service that has had a token stays shut, whatever becomes of its file of tokens."""

import http.client
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from infex.cli.main import main
from infex.errors import DamagedFile, InvalidSetting
from infex.service.server import Listening
from tests.service.running import running
from tests.service.serving_here import command, serving
from tests.waiting import PATIENCE, until

ALL_SCOPES = ("admin", "decide", "read", "reward")


def said(*words: str | Path) -> str:
    result = CliRunner().invoke(main, [*map(str, words)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output.strip()


def new_token(file: Path) -> str:
    scopes = [word for scope in ALL_SCOPES for word in ("--scope", scope)]
    return said("token", "make", "--tokens", file, *scopes)


def revoke_all(file: Path) -> None:
    for token in json.loads(said("token", "list", "--json", "--tokens", file)):
        said("token", "revoke", token["id"], "--tokens", file)


def replace_by_folder(file: Path) -> None:
    """As good as a file that may not be read, and for the superuser too."""
    file.unlink()
    file.mkdir()


LOSSES: dict[str, Callable[[Path], object]] = {
    "removed": Path.unlink,
    "emptied": lambda file: file.write_bytes(b""),
    "unreadable": replace_by_folder,
    "garbage": lambda file: file.write_bytes(b"\xff\x00 no tokens"),
    "another file": lambda file: file.write_text('{"version": 9, "tokens": []}'),
    "the last one revoked": revoke_all,
}


def take_away(file: Path) -> None:
    if file.is_dir():
        shutil.rmtree(file)
    file.unlink(missing_ok=True)


def asked(url: str, token: str | None = None, path: str = "/v1/me") -> tuple[int, str]:
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=PATIENCE)
    with closing(connection):
        connection.request("GET", path, None, {} if token is None else {"authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def status(url: str, token: str | None = None) -> int:
    return asked(url, token)[0]


def differs(url: str, token: str, before: int) -> bool:
    return status(url, token) != before


def times_shut(url: str, token: str) -> float:
    found = re.search(r"^infex_shut_total (\S+)$", asked(url, token, "/metrics")[1], re.MULTILINE)
    assert found is not None
    return float(found[1])


def next_line(process: subprocess.Popen[Any]) -> str:
    assert process.stderr is not None
    return str(process.stderr.readline())


def test_a_service_with_tokens_stays_shut_when_they_are_lost_and_opens_to_new_ones(tmp_path: Path) -> None:
    file = tmp_path / "shop.db.tokens"
    token = new_token(file)
    with serving(tmp_path) as (url, process):
        for times, (how, lose) in enumerate(LOSSES.items(), 1):
            assert (status(url), status(url, token)) == (401, 200)
            lose(file)
            until(partial(differs, url, token, 200), "the loss is seen", process)
            for _ in range(30):
                assert (status(url), status(url, token), status(url, "infex_x_y")) == (401, 401, 401), how
            line = next_line(process)
            assert "every request is refused" in line, how
            assert "infex token make" in line
            if how != "the last one revoked":
                take_away(file)
            token = new_token(file)
            until(partial(differs, url, token, 401), "the new token holds", process)
            assert status(url, token) == 200
            assert times_shut(url, token) == times, "and the line was one: that of the next loss is next"


def test_a_token_that_came_and_went_shuts_a_service_that_began_without(tmp_path: Path) -> None:
    file = tmp_path / "shop.db.tokens"
    with serving(tmp_path) as (url, process):
        assert status(url) == 200
        token = new_token(file)
        until(lambda: status(url, token) == 200, "the token is seen", process)
        assert status(url) == 401
        revoke_all(file)
        until(lambda: status(url, token) == 401, "the token is gone", process)
        assert status(url) == 401
        file.unlink()
        again = new_token(file)
        until(lambda: status(url, again) == 200, "another token is seen", process)
        assert (status(url), status(url, token)) == (401, 401)


def test_a_start_without_tokens_says_so(tmp_path: Path) -> None:
    with subprocess.Popen(command(tmp_path), stderr=subprocess.PIPE, text=True) as process:
        try:
            assert next_line(process).endswith(" no token: everybody on this machine may do everything\n")
        finally:
            process.kill()


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
@pytest.mark.parametrize("how", sorted(set(LOSSES) - {"removed"}))
def test_a_file_without_a_valid_token_does_not_start_an_open_service(
    tmp_path: Path, how: str, host: str
) -> None:
    file, url = tmp_path / "shop.db.tokens", f"sqlite:///{tmp_path}/shop.db"
    new_token(file)
    LOSSES[how](file)
    with pytest.raises((InvalidSetting, DamagedFile), match=re.escape(str(file))):
        Listening(url=url, host=host)
    if how == "the last one revoked":
        with pytest.raises(InvalidSetting, match="infex token make"):
            Listening(url=url, host=host)


@pytest.mark.parametrize(
    "where", [{"host": "0.0.0.0"}, {"hosts": ("shop.example",)}, {"hosts": ("localhost", "one")}]
)
def test_a_service_that_others_can_reach_does_not_start_without_tokens(
    tmp_path: Path, where: dict[str, Any]
) -> None:
    """By its address, or by its name behind a proxy."""
    url = f"sqlite:///{tmp_path}/shop.db"
    with pytest.raises(InvalidSetting, match="infex token make"):
        Listening(url=url, **where)
    Listening(url=url, hosts=("localhost",))


def test_tokens_that_are_lost_before_the_first_request_leave_it_shut(tmp_path: Path) -> None:
    file = tmp_path / "shop.db.tokens"
    new_token(file)
    listening = Listening(url=f"sqlite:///{tmp_path}/shop.db", host="0.0.0.0")
    file.unlink()
    with running(tmp_path, tokens=listening.token_file) as call:
        assert call("GET", "/v1/me").status == 401
