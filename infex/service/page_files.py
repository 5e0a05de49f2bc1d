"""The files of the page, served as they are in the package."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from hashlib import blake2b
from importlib.resources import files
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response


class PageFile(NamedTuple):
    """A file of the package, and what kind it is."""

    name: str
    media: str
    package: str = "infex.service"


FILES = {
    "/": PageFile("page.html", "text/html; charset=utf-8"),
    "/page.js": PageFile("page.js", "text/javascript; charset=utf-8"),
    "/study.js": PageFile("study.js", "text/javascript; charset=utf-8"),
    "/drawing.js": PageFile("drawing.js", "text/javascript; charset=utf-8", "infex.reports"),
    "/page.css": PageFile("page.css", "text/css; charset=utf-8"),
}


def answer(file: PageFile) -> Callable[[Request], Awaitable[Response]]:
    """The answer that gives a file; 304 to whoever has it already."""
    content = files(file.package).joinpath(file.name).read_bytes()
    tag = f'"{blake2b(content, digest_size=12).hexdigest()}"'
    headers = {"etag": tag, "cache-control": "no-cache", "content-type": file.media}

    async def page_file(request: Request) -> Response:
        """A file of the page, which holds no data."""
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers)

    page_file.__name__ = file.name.replace(".", "_")
    return page_file
