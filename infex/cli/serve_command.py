"""`infex serve`."""

from __future__ import annotations

from pathlib import Path

import click

from infex.cli.options import FILE
from infex.errors import InvalidSetting

NO_TOKEN = "no token: everybody on this machine may do everything"


@click.command()
@click.option("--db", "url", metavar="URL", help="sqlite:///file.db or postgresql://...")
@click.option("--demo", is_flag=True, help="A simulated shop in a database of its own, gone at the end.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8321, show_default=True)
@click.option("--host-name", "hosts", multiple=True, metavar="NAME", help="A name by which it may be called.")
@click.option("--tokens", type=FILE, help="File of tokens [default: the one beside a SQLite database].")
def serve(
    url: str | None, demo: bool, host: str, port: int, hosts: tuple[str, ...], tokens: Path | None
) -> None:
    """Decisions over HTTP, and a page that shows what exploration does.

    All studies of the database are served; POST /v1/studies begins one. Without a file of tokens it listens
    on this machine alone, and everybody here may do everything: `infex token make` changes that, for good. If
    the file loses its last token, the service is shut to all, and does not start again.

    \b
    infex serve --db sqlite:///shop.db
    infex serve --demo
    infex serve --db sqlite:///shop.db --host 0.0.0.0 --host-name bandit.example.com
    """
    from infex.service.server import LOG, Listening, log_to_standard_error, serve, serve_demo
    from infex.study.stores.base import without_password

    if (url is None) != demo:
        raise InvalidSetting("say --db URL, or --demo")
    log_to_standard_error()
    if url is None:
        LOG.warning(NO_TOKEN)
        serve_demo(host, port, lambda at: LOG.info("infex serves a simulated shop at %s", at))
        return
    listening = Listening(url=url, host=host, port=port, hosts=hosts, tokens=tokens)
    if listening.token_file.is_open:
        LOG.warning(NO_TOKEN)
    serve(
        listening,
        started=lambda at: LOG.info("infex serves %s at %s", without_password(url), at),
    )
