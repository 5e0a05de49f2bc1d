"""Reading a journal page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from infex.study.entries import Entry, Mark, followed

PAGE_OF_ENTRIES = 1000


def paged(page_of: Callable[[Mark, int], list[Entry]], after: Mark, most: int | None) -> Iterator[Entry]:
    """The entries behind a place, all or `most`, each if it follows the one before."""
    left = PAGE_OF_ENTRIES if most is None else most
    while left > 0:
        wanted = min(left, PAGE_OF_ENTRIES)
        page = page_of(after, wanted)
        yield from followed(page, after)
        if len(page) < wanted:
            return
        after = page[-1].mark
        left = left if most is None else left - len(page)
