"""`make bench`: prints tables and writes benchmarks/results/ask_tell.json."""

import json
import platform
from pathlib import Path

from benchmarks import ask_tell

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Runs all benchmarks."""
    rows = ask_tell.table()
    print("\nask + tell, microseconds a round (least of several runs; the loop and the reward included)\n")
    print(f"{'d':>3}{'K':>6}  {'policy':36}{'infex':>8}{'NumPy':>9}{'faster':>9}")
    for row in rows:
        print(f"{row.dim:3}{row.arms:6}  {row.policy:36}{row.infex:8.1f}{row.textbook:9.1f}{row.ratio:8.1f}x")
    RESULTS.mkdir(exist_ok=True)
    found = [row._asdict() | {"ratio": row.ratio} for row in rows]
    report = {"machine": platform.platform(), "python": platform.python_version(), "ask_tell": found}
    (RESULTS / "ask_tell.json").write_text(json.dumps(report, indent=2) + "\n")
    print(f"\nwritten to {RESULTS.relative_to(Path.cwd())}/ask_tell.json")


if __name__ == "__main__":
    main()
