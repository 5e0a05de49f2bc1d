"""`make bench`: prints tables and writes them to benchmarks/results/ as JSON."""

import json
import platform
from pathlib import Path
from typing import Any

from benchmarks import (
    aims,
    ask_tell,
    bases,
    by_hand,
    disjoint,
    engine,
    evaluation,
    hybrid,
    journal,
    logs,
    many,
    page,
    plans,
    rivals,
    service,
    study,
    sweeps,
)

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Runs all benchmarks."""
    write("aims", show_aims())
    write("ask_tell", show_ask_tell())
    write("disjoint", show_disjoint())
    write("hybrid", show_hybrid())
    write("engine", show_engine())
    write("many", show_many())
    write("by_hand", show_by_hand())
    write("rivals", show_rivals())
    write("bases", show_bases())
    write("plans", show_plan())
    write("evaluation", show_evaluation())
    write("logs", show_logs())
    write("sweeps", show_sweeps())
    write("service", service.show())
    write("page", show_page())
    write("study", show_study())
    write("journal", show_journal())
    print(f"\nwritten to {RESULTS.relative_to(Path.cwd())}/")


def show_journal() -> dict[str, Any]:
    """A journal that grows for years."""
    found = journal.measured()
    journal.show(found)
    return {"measured": found._asdict(), "extrapolated": found.far()}


def show_study() -> dict[str, Any]:
    """A bandit with a journal."""
    load, alone, kept, shared = study.durable(), study.not_waiting(), study.long_study(), study.postgres()
    print("\na study in SQLite, every answer on disk, from 64 threads (wanted: 8,000 a second, 40 ms)\n")
    print(f"{load.per_second:,.0f} events a second, median {load.median:.1f} ms, p99 {load.p99:.1f} ms")
    print(f"an ask that waits for no disk: {alone:.0f} microseconds (wanted: 60)")
    print(f"{kept.decisions:,} decisions: opened in {kept.opened:.2f} s (wanted: 3)")
    rate, size = kept.replayed_per_second, kept.bytes_each
    print(f"replayed at {rate:,.0f} decisions a second (wanted: 50,000); memory: {size:.0f} bytes each")
    print(f"PostgreSQL, two processes of 32 threads: {shared:,.0f} decisions a second (wanted: 3,000)")
    return {"load": load._asdict(), "alone": alone, "long": kept._asdict(), "postgres": shared}


def show_aims() -> list[dict[str, Any]]:
    """What one decision costs, beside its aims."""
    print("\none decision, and what it was meant to cost\n")
    rows = aims.table()
    for row in rows:
        print(f"  {row.what:54}{row.figure:9.3f} {row.unit:3} aim {row.aim:g}")
    return [row._asdict() for row in rows]


def show_ask_tell() -> list[dict[str, Any]]:
    """One ask and one tell of a bandit."""
    print("\nask + tell, microseconds a round (least of several runs)\n")
    print(f"{'d':>3}{'K':>6}  {'policy':36}{'infex':>8}{'NumPy':>9}{'faster':>9}")
    rows = ask_tell.table()
    for row in rows:
        print(f"{row.dim:3}{row.arms:6}  {row.policy:36}{row.infex:8.1f}{row.textbook:9.1f}{row.ratio:8.1f}x")
    print("\none ask, d = 10, K = 100, every(20), microseconds (wanted: at most 2x)\n")
    kinds = [ask_tell.asks(late) for late in (0, 1, 200)]
    for late, greedy, exploring in kinds:
        ratio = exploring / greedy
        print(f"{late:4} pending: greedy {greedy:.2f}, exploring {exploring:.2f}: {ratio:.2f}x")
    timed = [row._asdict() | {"ratio": row.ratio} for row in rows]
    return timed + [kind._asdict() | {"ratio": kind.ratio} for kind in kinds]


def show_page() -> list[dict[str, Any]]:
    """The page of a long study, in Chromium."""
    print("\nthe page of 1,000,000 decisions, until its charts are drawn (wanted: 1.5 s)\n")
    print(f"{'opened':24}{'seconds':>9}{'processor':>11}{'of journal':>12}")
    rows = page.measured(1_000_000)
    for row in rows:
        print(f"{row.opened:24}{row.drawn:9.2f}{row.processor:11.2f}{row.shown:12.0%}")
    return [row._asdict() for row in rows]


def show_disjoint() -> dict[str, Any]:
    """A regression for each arm."""
    print("\na regression for each arm, microseconds of processor time for ask + tell\n")
    print(f"{'c':>3}{'K':>6}  {'policy':34}{'infex':>8}{'NumPy':>9}{'ratio':>8}{'wanted':>9}")
    rows = disjoint.table()
    for row in rows:
        print(
            f"{row.context:3}{row.arms:6}  {row.policy:34}{row.infex:8.1f}{row.numpy:9.1f}{row.ratio:7.2f}x"
            f"{row.wanted:8.1f}x"
        )
    megabytes = disjoint.memory()
    print(f"\na shop of 200 arms and 20 features: {megabytes:.1f} MB")
    return {"rows": [row._asdict() | {"ratio": row.ratio} for row in rows], "megabytes": megabytes}


def show_evaluation() -> list[dict[str, Any]]:
    """What logs can tell, of a million rows."""
    print("\na log of 1,000,000 rounds and 10 arms, seconds of one core (least of several runs)\n")
    print(f"{'':48}{'infex':>9}{'wanted':>9}")
    rows = evaluation.table()
    for row in rows:
        print(f"  {row.what:46}{row.seconds:9.3f}{row.wanted:9.2f}")
    return [row._asdict() for row in rows]


def show_logs() -> list[dict[str, Any]]:
    """Reading logs, learners on them, and writing one."""
    print("\nlogs, how many a second of one core (best of several runs)\n")
    rows = logs.table()
    for row in rows:
        wanted = f"{row.wanted:14,.0f}" if row.wanted else ""
        print(f"  {row.what:58}{row.rate:14,.0f}{wanted}")
    return [row._asdict() for row in rows]


def show_hybrid() -> dict[str, Any]:
    """Features that arms share beside their own, and runs in contexts."""
    print("\nfeatures.hybrid, microseconds of processor time for ask + tell (c and p of contexts and arms)\n")
    print(f"{'c':>3}{'p':>3}{'K':>6}{'infex':>9}{'NumPy':>9}{'ratio':>8}{'one regression':>17}")
    rows = hybrid.table()
    for row in rows:
        dense = "" if row.dense is None else f"{row.dense:17.1f}"
        sizes = f"{row.context:3}{row.features:3}{row.arms:6}"
        print(f"{sizes}{row.infex:9.1f}{row.numpy:9.1f}{row.ratio:7.2f}x{dense}")
    print(f"\nruns in contexts, c = 5, K = 10, microseconds a round, wanted at most {hybrid.A_ROUND:g}\n")
    played = hybrid.runs()
    for name, microseconds in played:
        print(f"  {name:27}{microseconds:9.3f}")
    return {"rows": [row._asdict() | {"ratio": row.ratio} for row in rows], "runs": dict(played)}


def show_engine() -> dict[str, Any]:
    """Whole simulated runs."""
    print(f"\nplay, microseconds a round of whole calls, T = {engine.HORIZON:,}\n")
    print(f"{'d':>3}{'K':>6}  {'policy':27}{'infex':>9}{'reference':>11}{'':8}{'faster':>9}{'wanted':>9}")
    rows = engine.table()
    for row in rows:
        print(
            f"{row.dim:3}{row.arms:6}  {row.policy:27}{row.infex:9.4f}{row.reference:11.3f} {row.against:7}"
            f"{row.ratio:8.1f}x{row.wanted:8.0f}x"
        )
    print("\ngrowth of Infex(LinUCB, every(20)) at d = 10, K = 100, T = 10,000 with one of them\n")
    grown = engine.growth()
    for name, microseconds in grown:
        print(f"  {name:14}{microseconds:9.4f} microseconds a round")
    print(
        "\na policy in Python and the built-in one that it imitates, d = 10, K = 100, microseconds a round\n"
    )
    own = engine.in_python()
    for name, mine, theirs in own:
        print(f"  {name:27}{mine:9.4f}{theirs:9.4f}{mine / theirs:8.2f}x")
    print("\nLinUCB with an estimator, d = 10, K = 100, microseconds of processor time a round, and wanted\n")
    fitted = engine.fitted()
    for name, ours, wanted in fitted:
        print(f"  {name:27}{ours:9.2f}{wanted:9.0f}")
    print("\nLinUCB over arms drawn anew in every round, microseconds a round: infex, NumPy, drawing alone\n")
    drawn = engine.changing_arms()
    for name, ours, book, drawing in drawn:
        print(f"  {name:20}{ours:9.2f}{book:9.2f}{drawing:9.2f}{book / ours:8.1f}x")
    print(
        f"\nplay_many, runs of {engine.HORIZON:,} rounds a second on one thread and on two, d = 10, K = 100\n"
    )
    both = engine.two_cores()
    for name, one, two, ratio in both:
        print(f"  {name:27}{one:9.0f}{two:9.0f}{ratio:8.2f}x")
    return {
        "rows": [row._asdict() | {"ratio": row.ratio} for row in rows],
        "growth": dict(grown),
        "in_python": own,
        "fitted": fitted,
        "changing": drawn,
        "two_cores": both,
    }


def show_many() -> dict[str, Any]:
    """Batches, logs, arms that come with the question, and a million pending decisions."""
    print(f"\nask_many of {many.BATCH:,} contexts, ask(arms) + tell, microseconds of the processor each\n")
    rows = many.batches() + many.given_arms()
    for row in rows:
        figures = f"{row.infex:9.3f}{row.numpy:9.3f} NumPy{row.ratio:8.2f}x"
        wanted = f", wanted at most {row.wanted:g}" if row.wanted is not None else ""
        print(f"  {row.what:66}{figures}{wanted}")
    seconds, numpy = many.logs()
    print(f"\nlearn of {many.LOGGED:,} rows, 40 arms of 12 features: {seconds:.3f} s, NumPy {numpy:.3f} s")
    held = many.pending()
    print(
        f"{many.PENDING:,} pending decisions of that shop (wanted: 5 s, 1,024 MB): "
        + ", ".join(f"{k} {v:.1f}" for k, v in held.items())
    )
    return {
        "rows": [row._asdict() | {"ratio": row.ratio} for row in rows],
        "learn": {"infex": seconds, "numpy": numpy},
        "pending": held,
    }


def show_by_hand() -> list[dict[str, Any]]:
    """Whole simulated runs against C."""
    print("\nplay and C written by hand, d = 10, K = 100, microseconds of processor time a round")
    print("(greedy and rare exploration against one dense product and argmax a round)\n")
    rows = by_hand.table()
    for row in rows:
        line = f"{row.policy:27}{row.infex:9.4f}{row.by_hand:9.4f}{row.ratio:8.2f}x, wanted {row.wanted:.0f}x"
        print(f"  {line}")
    return [row._asdict() | {"ratio": row.ratio} for row in rows]


def show_rivals() -> list[dict[str, Any]]:
    """The algorithms that the paper names."""
    print("\nother algorithms, microseconds a round, and those of one d x d solve for each arm\n")
    print(f"{'d':>3}{'K':>6}  {'policy':27}{'infex':>9}{'K solves':>11}{'':>9}")
    rows = rivals.table()
    for row in rows:
        print(f"{row.dim:3}{row.arms:6}  {row.policy:27}{row.infex:9.2f}{row.solves:11.1f}{row.ratio:8.1f}x")
    return [row._asdict() | {"ratio": row.ratio} for row in rows]


def show_bases() -> list[dict[str, Any]]:
    """Published bases, beside LinUCB."""
    print("\na round of published bases, microseconds of processor time, and how many of LinUCB's\n")
    print(f"{'d':>3}{'K':>6}  {'base':24}" + "".join(f"{name:>22}" for name in bases.SCHEDULES))
    rows = bases.table()
    for row in rows:
        pairs = zip(row.times, row.ratios, strict=True)
        figures = "".join(f"{time:12.2f}{ratio:9.1f}x" for time, ratio in pairs)
        print(f"{row.dim:3}{row.arms:6}  {row.base:24}{figures}")
    return [row._asdict() for row in rows]


def show_plan() -> dict[str, Any]:
    """One plan within its time."""
    print("\na plan at d = 10, K = 100, T = 10,000, kept within 1.25, in 30 seconds\n")
    row = plans.settled_plan()
    value, low, high = row.ratio
    state = "settled" if row.settled else "NOT settled"
    print(f"  {row.seconds:.1f} s, {state}: {row.explorations:,} explorations, {row.problems:,} problems,")
    print(f"  {value:.2f} [{low:.2f}, {high:.2f}] times the regret of the best")
    return row._asdict()


def show_sweeps() -> dict[str, Any]:
    """The whole paper, and the memory of many short runs."""
    whole = sweeps.whole_paper()
    print(f"\nthe whole paper, {whole.runs:,} runs of 10,000 rounds, once compiled\n")
    print(f"  its runs alone, on all cores  {whole.alone:6.1f} s")
    print(f"  the sweep                     {whole.playing:6.1f} s{whole.playing_ratio:8.2f}x")
    whole_time = whole.playing + whole.reporting
    print(f"  with figures and page         {whole_time:6.1f} s{whole.whole_ratio:8.2f}x")
    held = sweeps.memory()
    print(f"\na sweep of {held.runs:,} runs of 1,000 rounds: {held.seconds:.1f} s, {held.most:.0f} MB in all")
    print(f"  processes, of 30 runs {held.few:.0f} MB: {held.kilobytes_a_run:.1f} kB a run")
    return {"paper": whole._asdict(), "memory": held._asdict()}


def write(name: str, found: Any) -> None:
    """Puts what was measured into a file."""
    RESULTS.mkdir(exist_ok=True)
    report = {"machine": platform.platform(), "python": platform.python_version(), name: found}
    (RESULTS / f"{name}.json").write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
