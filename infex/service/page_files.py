"""The files of the page, served as they are in the package."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from hashlib import blake2b
from importlib.resources import files
from typing import NamedTuple

from infex.service.http_exchange import WITHOUT_BODY, HttpAnswer, HttpRequest


class PageFile(NamedTuple):
    """A file of the package, and what kind it is."""

    name: str
    media: str
    package: str = "infex.service"


FILES = {
    "/": PageFile("page.html", "text/html; charset=utf-8"),
    "/page.js": PageFile("page.js", "text/javascript; charset=utf-8"),
    "/study.js": PageFile("study.js", "text/javascript; charset=utf-8"),
    "/chart.js": PageFile("chart.js", "text/javascript; charset=utf-8", "infex.pages"),
    "/page.css": PageFile("page.css", "text/css; charset=utf-8", "infex.pages"),
}


def answer(file: PageFile) -> Callable[[HttpRequest], Awaitable[HttpAnswer]]:
    """The answer that gives a file; 304 to whoever has it already."""
    content = files(file.package).joinpath(file.name).read_bytes()
    tag = f'"{blake2b(content, digest_size=12).hexdigest()}"'.encode()
    headers = ((b"etag", tag), (b"cache-control", b"no-cache"))
    whole = HttpAnswer(content, 200, file.media.encode(), headers)
    known = HttpAnswer(b"", WITHOUT_BODY, file.media.encode(), headers)

    async def page_file(request: HttpRequest) -> HttpAnswer:
        """A file of the page, which holds no data."""
        return known if request.headers.get(b"if-none-match") == tag else whole

    page_file.__name__ = file.name.replace(".", "_")
    return page_file
