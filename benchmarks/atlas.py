"""The atlas of bases, played into a folder, and its figures for docs/atlas.md.

`python -m benchmarks.atlas FOLDER` goes on where it was interrupted.
"""

from __future__ import annotations

import json
import math
import sys
from datetime import date
from pathlib import Path
from typing import Any

from infex._stats import Interval
from infex.lab import atlas
from infex.lab.bases.atlas import Atlas
from infex.lab.bases.catalogue import ALONE
from infex.lab.fingerprint import versions

FILE = Path(__file__).parent.parent / "docs" / "measured" / "atlas.json"
LIBRARIES = ("infex", "numpy")


def tables(found: Atlas) -> list[dict[str, Any]]:
    """The figures that the page shows."""
    columns = [column for column in found.columns if column[0] in (ALONE, "every(20)")]
    first = found.bases[0].name
    return [
        {
            "title": "Over all bases.",
            "note": f"Geometric means over the {len(found.common)} problems that all bases play, with "
            "intervals of 95 %.",
            "columns": ["what", "figure"],
            "rows": [[f"{each.words} ...", _text(each.figure)] for each in found.statements()],
        },
        {
            "title": "Pairs of a base and a problem.",
            "note": "On how many a schedule gains, loses, or neither can be told, each by its own interval.",
            "columns": ["schedule", "settings", "gains", "loses", "cannot be told"],
            "rows": [
                [f"`{schedule}`", setting, *map(str, found.verdicts(schedule, setting).values())]
                for schedule, setting in found.columns
                if schedule != ALONE
            ],
        },
        {
            "title": "What schedules gain on each base.",
            "note": "Regret under the schedule over that of the base alone, at published settings: geometric "
            "means over the problems that the base plays.",
            "columns": ["base", *(f"`{schedule}`" for schedule in found.schedules)],
            "rows": [
                [base.name, *(_text(found.overall_ratio(base.name, each)) for each in found.schedules)]
                for base in found.bases
            ],
        },
        {
            "title": "What is left once bases are tuned.",
            "note": "For each base that can be tuned, as geometric means over the problems that it plays: "
            "regret alone at the published setting over that tuned, and regret under `every(20)` over that "
            "alone.",
            "columns": ["base", "alone: published over tuned", "ratio, published", "ratio, tuned"],
            "rows": [
                [
                    base.name,
                    _text(found.excess(base.name)),
                    _text(found.overall_ratio(base.name, "every(20)")),
                    _text(found.overall_ratio(base.name, "every(20)", "tuned")),
                ]
                for base in found.bases
                if base.is_tunable
            ],
        },
        {
            "title": "Problem by problem.",
            "note": "Regret under `every(20)` over that alone, as geometric means over the bases that can be "
            "tuned and play the problem.",
            "columns": ["problem", "published", "tuned"],
            "rows": [
                [
                    problem.name,
                    _text(found.problem_ratio(problem.name, "every(20)")),
                    _text(found.problem_ratio(problem.name, "every(20)", "tuned")),
                ]
                for problem in found.problems
            ],
        },
        {
            "title": "The bases.",
            "note": f"Regret in multiples of that of {first} alone, as geometric means over the problems "
            "that all play.",
            "columns": ["base", "Theorem 1", "propensities", *(f"{one}, {two}" for one, two in columns)],
            "rows": [
                [
                    base.name,
                    base.coverage,
                    base.propensities,
                    *(_text(found.relative(base.name, *column)) for column in columns),
                ]
                for base in found.bases
            ],
        },
    ]


def _text(figure: Interval) -> str:
    ends = "" if math.isnan(figure.low) else f" [{figure.low:.2f}, {figure.high:.2f}]"
    return f"{figure.value:.2f}{ends}"


def main(folder: str) -> None:
    """Plays what is missing in a folder, writes its page, and records the figures."""
    found = atlas(out=folder, progress=True)
    found.write(folder)
    known = versions()
    recorded = {
        "date": date.today().isoformat(),
        "how": f"`infex lab atlas`, {len(found.seeds)} seeds of {found.horizon:,} rounds on each of "
        f"{len(found.problems)} problems.",
        "versions": {name: known[name] for name in LIBRARIES},
        "tables": tables(found),
    }
    FILE.write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
