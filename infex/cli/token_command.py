"""`infex token`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from infex.cli.options import FILE
from infex.cli.output import say_json

if TYPE_CHECKING:
    from infex.service.auth import TokenFile

C = TypeVar("C", bound=Callable[..., Any])
SCOPES = ("decide", "reward", "read", "admin", "correct", "erase", "export")


def _where(command: C) -> C:
    """The options that say which file is meant."""
    command = click.option("--tokens", type=FILE, help="File of tokens [default: beside the database].")(
        command
    )
    return click.option("--db", "url", metavar="URL", help="The database, such as sqlite:///shop.db.")(
        command
    )


@click.group()
def token() -> None:
    """Who may ask a service, and for what.

    \b
    infex token make --db sqlite:///shop.db --scope decide --scope reward --note "the till"
    infex token list --db sqlite:///shop.db
    infex token revoke 1f9a0c3b --db sqlite:///shop.db
    """


@token.command("make")
@_where
@click.option("--scope", "scopes", multiple=True, required=True, type=click.Choice(SCOPES))
@click.option("--note", default="", help="Whom it is for.")
def make_token(url: str | None, tokens: Path | None, scopes: tuple[str, ...], note: str) -> None:
    """Prints a new token, this once: only its hash is kept."""
    click.echo(_file(url, tokens).make(scopes, note))


@token.command("list")
@_where
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_tokens(url: str | None, tokens: Path | None, as_json: bool) -> None:
    """Prints all tokens: their ids, not what they are."""
    kept = _file(url, tokens).listed()
    if as_json:
        say_json(
            [{"id": t.id, "scopes": [*map(str, t.scopes)], "made": t.made, "note": t.note} for t in kept]
        )
        return
    for each in kept:
        click.echo(f"{each.id}  {each.made}  {','.join(each.scopes):26}  {each.note}")


@token.command("revoke")
@click.argument("name", metavar="ID")
@_where
def revoke_token(name: str, url: str | None, tokens: Path | None) -> None:
    """Makes a token invalid, at once."""
    _file(url, tokens).revoke(name)
    click.echo(f"revoked {name}")


def _file(url: str | None, tokens: Path | None) -> TokenFile:
    from infex.errors import InvalidSetting
    from infex.service.auth import TokenFile, token_path

    if url is None and tokens is None:
        raise InvalidSetting("say which service: --db URL or --tokens FILE")
    return TokenFile(tokens if url is None and tokens is not None else token_path(url or "", tokens))
