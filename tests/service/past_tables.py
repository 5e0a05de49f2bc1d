"""What every table of pasts promises."""

from contextlib import closing

from infex.service.kept_pasts import past_table


def check_past_table(url: str) -> None:
    """The last that was put stays, for everybody who opens the table."""
    with closing(past_table(url)) as table:
        assert table.find("shop") is None
        table.put("shop", b"first")
        table.put("shop", b"second")
        table.put("another", b"third")
        assert table.find("shop") == b"second"
    with closing(past_table(url)) as table, closing(past_table(url)) as other:
        assert table.find("shop") == other.find("shop") == b"second"
        other.put("shop", b"")
        assert table.find("shop") == b""
        assert table.find("another") == b"third"
