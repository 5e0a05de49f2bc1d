"""`make peers`: runs the other libraries' lines, measures all, and writes two files of docs/measured."""

import datetime
import importlib.metadata
import json
from pathlib import Path

import infex
from benchmarks.peers.agreement import agreement
from benchmarks.peers.batches import ARMS, DIM, batches_table
from benchmarks.peers.exactness import exactness_table
from benchmarks.peers.memory import memory_table
from benchmarks.peers.page_lines import run_page
from benchmarks.peers.rounds import contexts_table, fixed_table
from benchmarks.peers.simulating import simulation_table

FILE = Path(__file__).parent.parent.parent / "docs" / "measured" / "peers.json"
LIBRARIES = (
    "mabwiser",
    "contextualbandits",
    "vowpalwabbit",
    "river",
    "coba",
    "pymab",
    "optuna",
    "numpy",
    "numba",
)


def main() -> None:
    """Measures and writes."""
    run_page(agreement())
    contexts, exact = contexts_table(), exactness_table()
    tables = [
        exactness(exact),
        timed(
            "A round with a context.",
            "A ridge for each arm, LinUCB: choose, and learn the reward. Microseconds of processor time.",
            contexts,
        ),
        timed("A round among fixed arms.", "100 arms, 10 features, one parameter.", {"us": fixed_table()}),
        timed(
            "Many decisions at once.",
            f"10,000 contexts of {DIM} features, {ARMS} arms, the model as it is: one decision.",
            {"us": batches_table()},
        ),
        timed(
            "A simulated round.", "LinUCB, 100 arms, 10 features, with regret.", {"us": simulation_table()}
        ),
        timed("Memory.", "200 arms with 20 features, 300 rewards.", {"MB": memory_table()}),
    ]
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(recorded(tables), indent=1) + "\n")
    for table in tables:
        print(table["title"], table["note"])
        print(json.dumps(table["rows"], indent=1))


def recorded(tables: list[dict[str, object]]) -> dict[str, object]:
    """What the page shows."""
    return {
        "date": datetime.date.today().isoformat(),
        "how": "`make peers`, two shared cores, one thread, all in turns in one process, "
        "the least of three turns; read the ratios.",
        "versions": {"infex": infex.__version__}
        | {name: importlib.metadata.version(name) for name in LIBRARIES},
        "tables": tables,
    }


def exactness(found: dict[str, dict[str, float]]) -> dict[str, object]:
    """Errors, a column for each set of data."""
    names = next(iter(found.values()))
    rows = [[name, *(f"{found[data][name]:.0e}" for data in found)] for name in names]
    note = "Greatest error of an estimate, relative to the largest, against 60 digits."
    return {"title": "Exactness.", "note": note, "columns": ["library", *found], "rows": rows}


def timed(title: str, note: str, found: dict[str, dict[str, float]]) -> dict[str, object]:
    """Figures, a column for each size, and how many times as much as infex each takes."""
    names = next(iter(found.values()))
    rows = [[name, *(_figure(found[size], name) for size in found)] for name in names]
    return {"title": title, "note": note, "columns": ["library", *found], "rows": rows}


def _figure(found: dict[str, float], name: str) -> str:
    return (
        said(found[name])
        if name == "infex"
        else f"{said(found[name])} ({said(found[name] / found['infex'])} x)"
    )


def said(figure: float) -> str:
    """Two or three digits, and thousands apart."""
    return f"{float(f'{figure:.3g}'):,.0f}" if figure >= 100 else f"{figure:.2g}"


if __name__ == "__main__":
    main()
