"""Runs as a table: its columns, and an Arrow table with ways to other libraries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, final

import numpy as np
import pyarrow as pa

from infex.experiments.printed import aligned
from infex.experiments.tasks import TaskOutcome

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
        ("volume", pa.float64()),
    ]
)


def rows_of(outcomes: Iterable[TaskOutcome]) -> pa.Table:
    """One row for each run and recorded round."""
    good = [outcome for outcome in outcomes if outcome.error is None]
    if not good:
        return RUN_COLUMNS.empty_table()
    counts = [len(outcome.rounds) for outcome in good]
    columns: dict[str, Any] = {
        "key": np.repeat([outcome.key for outcome in good], counts),
        "t": [t for outcome in good for t in outcome.rounds],
        "regret": [value for outcome in good for value in outcome.regret],
    }
    for name in RUN_COLUMNS.names:
        if name not in columns:
            columns[name] = np.repeat([outcome.facts[name] for outcome in good], counts)
    return pa.table({name: columns[name] for name in RUN_COLUMNS.names}, schema=RUN_COLUMNS)


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
