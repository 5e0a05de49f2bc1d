"""What every table of answers promises."""

from collections.abc import Iterator
from contextlib import contextmanager

from infex.study.kept_answers import KEPT_SECONDS, AnswerTable, KeptAnswer, answer_table, place_of

PLACE = place_of("/v1/x", "key")


@contextmanager
def opened(url: str) -> Iterator[AnswerTable]:
    table = answer_table(url)
    try:
        yield table
    finally:
        table.close()


def check_table(url: str) -> None:
    """Answers stay as they are, for everybody who opens the table, and for a week."""
    with opened(url) as table:
        assert table.find(PLACE) is None
        table.put([KeptAnswer(PLACE, b"d", b"first")], 1000.0)
        table.put([KeptAnswer(PLACE, b"e", b"second"), KeptAnswer(b"other", b"f", b"x")], 1001.0)
        assert table.find(PLACE) == KeptAnswer(PLACE, b"d", b"first"), "what was answered stays"
    with opened(url) as table, opened(url) as another:
        assert table.find(PLACE) == another.find(PLACE) == KeptAnswer(PLACE, b"d", b"first")
        another.put([KeptAnswer(b"new", b"g", b"y")], 1000.5 + KEPT_SECONDS)
        assert table.find(PLACE) is None, "it is a week old"
        assert table.find(b"other") is not None
