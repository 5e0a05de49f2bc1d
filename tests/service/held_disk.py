"""A disk that stands still, or fails, until a test lets it go: the one place that knows how stores write."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import pytest

import infex
from infex.study.stores.sqlite import SQLiteStore
from tests.waiting import PATIENCE


class HeldDisk:
    """Commits of the study `pricing` that end when they are let go, or when the block ends."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.go_on = threading.Semaphore(0), threading.Semaphore(0)
        self.sizes: list[int] = []
        append = SQLiteStore.append

        def held(store: Any, name: str, entries: Any, after: Any) -> None:
            if name == "pricing" and len(entries) and entries[0].kind != "opened":
                self.sizes.append(len(entries))
                self.begun.release()
                assert self.go_on.acquire(timeout=PATIENCE)
            append(store, name, entries, after)

        monkeypatch.setattr(SQLiteStore, "append", held)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.go_on.release(1000)


@contextmanager
def failing_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """While it lasts nothing can be written."""

    def failed(store: Any, name: str, entries: Any, after: Any) -> None:
        raise infex.errors.StoreFailed("no room is left on /dev/shop at 10.0.0.7")

    with monkeypatch.context() as broken:
        broken.setattr(SQLiteStore, "append", failed)
        yield
