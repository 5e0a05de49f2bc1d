"""Runs as a table: its columns, and an Arrow table with ways to other libraries."""

from __future__ import annotations

from typing import Any, final

import pyarrow as pa

from infex.experiments.printed import aligned

RUN_COLUMNS = pa.schema(
    [
        ("key", pa.string()),
        ("environment", pa.string()),
        ("dim", pa.int32()),
        ("arms", pa.int32()),
        ("policy", pa.string()),
        ("seed", pa.int64()),
        ("horizon", pa.int64()),
        ("t", pa.int64()),
        ("regret", pa.float64()),
        ("seconds", pa.float64()),
        ("explored", pa.int64()),
        ("optimal", pa.int64()),
        ("regret_exploring", pa.float64()),
        ("regret_greedy", pa.float64()),
        ("log_det_ratio", pa.float64()),
    ]
)


@final
class Table:
    """An Arrow table that prints as one, with ways to Polars and pandas."""

    def __init__(self, arrow: pa.Table) -> None:
        self.arrow = arrow

    def __getattr__(self, name: str) -> Any:
        """All that an Arrow table has."""
        return getattr(self.arrow, name)

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """For every library that reads Arrow."""
        return self.arrow.__arrow_c_stream__(requested_schema)

    def __getitem__(self, name: str) -> Any:
        """A column."""
        return self.arrow[name]

    def __repr__(self) -> str:
        return aligned(self.arrow)

    def to_polars(self) -> Any:
        """The table as a Polars data frame."""
        import polars

        return polars.from_arrow(self.arrow)

    def to_pandas(self) -> Any:
        """The table as a pandas data frame."""
        return self.arrow.to_pandas()
