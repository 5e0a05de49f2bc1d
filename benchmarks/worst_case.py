"""The map of worst cases for docs/worst-case.md: `python -m benchmarks.worst_case FOLDER`.

It plays what `infex lab worst-case --longest 1e6` plays, writes its page into a folder that is there, and
records the figures.
"""

from __future__ import annotations

import json
import sys
from datetime import date
from pathlib import Path
from typing import Any

from infex.lab.fingerprint import versions
from infex.lab.reports.worst_case import write_worst_cases
from infex.lab.worst_case import WorstCases, horizons_to, worst_cases

FILE = Path(__file__).parent.parent / "docs" / "measured" / "worst-case.json"
LONGEST = 10**6
COLUMNS = [
    "schedule", "f(T)", "worst regret", "95 %", "times the floor", "lost exploring", "late slope",
    "95 %, seeds", "scatter", "predicted", "slope from 100 on, hull of both intervals", "worst instance, gap",
]  # fmt: skip


def table(found: WorstCases, base: str) -> dict[str, Any]:
    """The worst cases of one base at the longest horizon, and how its regret grows."""
    ends = {each.schedule: each for each in found.ends if each.base == base}
    rows = []
    for slope in (each for each in found.slopes if each.base == base):
        end, late, whole = ends[slope.schedule], slope.late, slope.all
        rows.append(
            [
                f"`{slope.schedule}`",
                f"{end.explorations:,}",
                f"{end.regret:,.0f}",
                f"{end.low:,.0f} to {end.high:,.0f}",
                f"{end.regret / end.floor:,.0f}",
                f"{end.exploring:.0%}",
                f"{late.slope:.2f}",
                f"{late.low:.2f} to {late.high:.2f}",
                f"± {late.scatter:.2f}",
                f"{late.predicted:.2f}",
                f"{whole.slope:.2f} [{whole.least:.2f}, {whole.most:.2f}]",
                f"{end.family}, {end.gap:.2g}",
            ]
        )
    first = found.horizons[len(found.horizons) // 2]
    return {
        "title": f"`{base}`.",
        "note": f"Worst regret found at T = {found.horizons[-1]:,}, and slopes from T = {first:,} on.",
        "columns": COLUMNS,
        "rows": rows,
    }


def main(folder: str) -> None:
    """Plays the map, writes its page, and records the figures."""
    found, known = worst_cases(horizons=horizons_to(LONGEST)), versions()
    write_worst_cases(found, Path(folder))
    recorded = {
        "date": date.today().isoformat(),
        "how": f"`infex lab worst-case --longest 1e6`, {found.seeds} fresh seeds, seed {found.seed}.",
        "versions": {name: known[name] for name in ("infex", "numpy")},
        "tables": [table(found, base) for base in found.bases],
    }
    FILE.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
