"""The lines of the page on running the service, sent to a real one."""

import json
import re
import shlex
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from docs.building import pages
from docs.building.serving import served
from infex.cli.main import main
from infex.service.auth import Scope

PAGE = pages.DOCS / "operations.md"
CODE = [block.code for block in pages.blocks(PAGE)]


@pytest.fixture(autouse=True)
def a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def ran(words: list[str]) -> str:
    done = CliRunner().invoke(main, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def sent(words: list[str], token: str) -> Any:
    """The answer to `curl -H HEADER URL -d BODY`, with a token where the page has a variable."""
    option, header, url, data, body = words
    assert (option, data) == ("-H", "-d")
    name, _, value = header.partition(": ")
    asked = urllib.request.Request(url, body.encode(), {name: value.replace("$TOKEN", token)})
    with urllib.request.urlopen(asked) as answer:
        return json.load(answer)


def test_tokens_are_made_listed_and_revoked_as_shown() -> None:
    (shown,) = [code for code in CODE if "infex token" in code]
    made, listed, revoked = pages.commands(shown)
    ran(made)
    (token,) = re.findall(r"\b[0-9a-f]{8}\b", ran(listed))
    ran([token if re.fullmatch("[0-9a-f]{8}", word) else word for word in revoked])
    assert "revoked" in ran(listed) or token not in ran(listed)


def every_scope() -> str:
    """A token that may do everything."""
    scopes = [word for scope in Scope for word in ("--scope", str(scope))]
    return str(re.findall(r"\S{20,}", ran(["token", "make", "--db", "sqlite:///shop.db", *scopes]))[0])


@pytest.mark.parametrize("make", [every_scope, str], ids=["with a token", "where there is none"])
def test_what_curl_sends_is_answered_and_commands_run_as_shown(
    make: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    token = make()
    first, *lines = "\n".join(code for code in CODE if "curl" in code).splitlines()
    variables = dict(re.findall(r'(\w+)="?([^";]+)', first.partition("#")[0]))
    text = "\n".join(lines)
    for name, value in variables.items():
        text = text.replace(f"${name}", value)
    with served("--db", "sqlite:///shop.db") as url:
        asked = text.replace("http://localhost:8321", url).split("curl ")[1:]
        begun, decided, told, changed, paused = [sent(shlex.split(each), token) for each in asked]
        monkeypatch.setenv("INFEX_TOKEN", token)
        (settings,) = [code for code in CODE if '"features"' in code]
        Path("teas.json").write_text(settings)
        (shown,) = [code for code in CODE if "INFEX_TOKEN" in code]
        said = [ran(words) for words in pages.commands(shown.replace("http://localhost:8321", url))]
    assert begun["name"] == "drinks"
    assert decided["label"] in ("tea", "juice")
    assert told["state"] == "rewarded"
    assert changed["arms"] == ["tea", "mate"]
    assert (changed["paused"], paused["paused"]) == (False, True)
    assert len(said) == 8
    assert "drinks: arms added: 1" in said[3]
    assert said[-1].startswith("holds: ")
