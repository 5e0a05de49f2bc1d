"""Is all that was acknowledged there, once, and nothing else? A ledger beside journal and exported log."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import infex
from benchmarks.operator_hour.ledger import Ledger
from benchmarks.operator_hour.shops import DEFAULT, EVERY
from infex.study.inspection import describe_study, log_rows

TOLERANCE = 1e-9
QUERIES = 20  # contexts of which estimates are compared
SAME = ("round", "label", "explored", "propensity", "reason")  # in answers and in the log


def check_study(ledger: Ledger, url: str, exported: Path) -> None:
    """Notes in the ledger whatever is wrong with its study, which no service has open any more."""
    table = pq.read_table(exported)
    header, log = json.loads(table.schema.metadata[b"infex"]), {row["id"]: row for row in table.to_pylist()}
    places = {row["key"]: row["entry"] for row in log_rows(url, ledger.study) if row["kind"] == "decision"}
    amendments = describe_study(url, ledger.study)["amendments"]
    check_decisions(ledger, log)
    check_rewards(ledger, log)
    check_amendments(ledger, amendments, places)
    check_explorations(ledger, amendments, places)
    with infex.Study.open(url, ledger.study) as study:
        check_estimates(ledger, study, list(log.values()), header)
        verdict = study.verify()
        ledger.expect(verdict.holds, f"verify: {verdict}")
        ledger.expect(verdict.decisions == len(places), f"verify counts {verdict.decisions} decisions")


def check_decisions(ledger: Ledger, log: dict[str, dict[str, Any]]) -> None:
    """Every decision is in the log as it was answered, unless its unit was erased; rounds have no gaps."""
    kept = {key: each.answer for key, each in ledger.decisions.items() if not ledger.is_erased(key)}
    ledger.expect(
        kept.keys() == log.keys(), f"lost: {kept.keys() - log.keys()}, added: {log.keys() - kept.keys()}"
    )
    for key in kept.keys() & log.keys():
        differ = [name for name in SAME if kept[key][name] != log[key][name]]
        ledger.expect(not differ, f"{key} was answered otherwise than it is logged: {differ}")
    rounds = sorted(each.answer["round"] for each in ledger.decisions.values())
    ledger.expect(rounds == list(range(1, len(rounds) + 1)), "rounds have gaps, or two decisions")


def check_rewards(ledger: Ledger, log: dict[str, dict[str, Any]]) -> None:
    """Every reward is in the log, with its last correction; what came late counts as the default."""
    for key, row in log.items():
        expected: set[float | None]
        if key in ledger.corrections:
            expected = {ledger.corrections[key]}
        elif key in ledger.rewards:
            reward, state = ledger.rewards[key]
            expected = {DEFAULT if state == "late" else reward}
        else:
            expected = {None, DEFAULT}
        ledger.expect(
            row["reward"] in expected, f"{key} has the reward {row['reward']}, not one of {expected}"
        )


def check_amendments(ledger: Ledger, found: list[dict[str, Any]], places: dict[str, int]) -> None:
    """Each amendment is there once, between what was answered before it and what was asked after it."""
    reasons = [each["reason"] for each in found]
    ledger.expect(reasons == [each.key for each in ledger.amendments], f"amendments are {reasons}")
    decisions = [each for key, each in ledger.decisions.items() if key in places]
    entries = np.array([places[each.request["key"]] for each in decisions])
    sent, answered = (np.array([getattr(each, when) for each in decisions]) for when in ("sent", "answered"))
    for amendment, entry in zip(ledger.amendments, (each["entry"] for each in found), strict=False):
        is_ordered = (entries[answered < amendment.sent] < entry).all()
        ledger.expect(
            bool(is_ordered), f"{amendment.key} stands before decisions that were answered before it"
        )
        is_ordered = (entries[sent > amendment.answered] > entry).all()
        ledger.expect(bool(is_ordered), f"{amendment.key} stands behind decisions that were asked after it")


def check_explorations(ledger: Ledger, found: list[dict[str, Any]], places: dict[str, int]) -> None:
    """A round explores if it is a multiple of the number then in force, unless paused or asked not to."""
    changes = {
        each["entry"]: amendment.change for each, amendment in zip(found, ledger.amendments, strict=False)
    }
    decided = {entry: ledger.decisions[key] for key, entry in places.items() if key in ledger.decisions}
    every, is_paused = EVERY, False
    for entry in sorted(changes | decided):
        if entry in changes:
            is_paused = not changes[entry].get("explore", not is_paused)
            if schedule := re.search(r"every\((\d+)\)", changes[entry].get("policy", "")):
                every, is_paused = int(schedule[1]), False
        else:
            request, answer = decided[entry].request, decided[entry].answer
            is_due = not is_paused and answer["round"] % every == 0 and request.get("explore", True)
            ledger.expect(
                answer["explored"] == is_due, f"round {answer['round']} explored: {answer['explored']}"
            )


def check_estimates(
    ledger: Ledger, study: infex.Study, log: list[dict[str, Any]], header: dict[str, Any]
) -> None:
    """Estimates are those of a ridge regression on the exported log: one for each arm, or one for all."""
    learnt = [row for row in log if row["reward"] is not None]
    arms, rewards = np.array([row["arm"] for row in learnt]), np.array([row["reward"] for row in learnt])
    if header["arms"] is not None:
        rows = np.array(header["arms"])
        theta = ridge(rows[arms], rewards, header["penalty"])
        current = rows[: len(study.estimates())]
        compare(ledger, study.estimates(), current @ theta)
        return
    longest, labels = header["features"]["longest"], header["labels"]  # contexts are divided by it
    contexts = longest * np.array([row["context"] for row in learnt])
    thetas = [
        ridge(contexts[arms == arm], rewards[arms == arm], header["penalty"]) for arm in range(len(labels))
    ]
    for row in log[-QUERIES:]:
        found = study.estimates(context=ledger.decisions[row["id"]].request["context"])
        context = longest * np.array(row["context"])
        compare(ledger, found, np.array([thetas[labels.index(label)] @ context for label in found.label]))


def ridge(rows: np.ndarray[Any, Any], rewards: np.ndarray[Any, Any], penalty: float) -> np.ndarray[Any, Any]:
    """The coefficients of a ridge regression."""
    return np.linalg.solve(penalty * np.eye(rows.shape[1]) + rows.T @ rows, rows.T @ rewards)


def compare(ledger: Ledger, found: Any, expected: np.ndarray[Any, Any]) -> None:
    """Notes estimates that differ by more than rounding."""
    worst = np.max(np.abs(found.estimate - expected) / np.maximum(np.abs(expected), 1e-3))
    ledger.expect(bool(worst <= TOLERANCE), f"estimates differ from ridge regression by {worst:.1e}")


def files_with(folder: Path, texts: list[bytes]) -> dict[bytes, list[str]]:
    """Texts that can be found in files, and in which; PostgreSQL's write-ahead log is left out."""
    found: dict[bytes, list[str]] = {}
    for path in folder.rglob("*"):
        if path.is_file() and "pg_wal" not in path.parts:
            content = path.read_bytes()
            for text in texts:
                if text in content:
                    found.setdefault(text, []).append(str(path.relative_to(folder)))
    return found
