"""`infex lab bound` and `infex lab verify`, as a user sees them."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from infex.cli.main import main
from infex.lab import theory
from infex.lab.verification import Effort, Statement, statements, two_arms
from infex.schedules import every

PROBLEM = ["--dim", "10", "--gap", "0.1", "--horizon", "1e6"]


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def infex(*words: str) -> Result:
    return CliRunner().invoke(main, ["lab", *words], catch_exceptions=False)


def test_bound_prints_the_terms_and_says_that_they_promise_nothing() -> None:
    found = infex("bound", *PROBLEM, "--schedule", "every(20)", "--schedule", "logarithmic(2)")
    assert found.exit_code == 0
    assert max(map(len, found.output.splitlines())) <= 80
    assert "Vacuous" in found.output
    assert "probability" not in found.output
    for words in ("every(20)", "logarithmic(2)", "constant", "tau_Alg", "32,866,960", "none"):
        assert words in found.output


def test_bound_says_what_holds_where_it_does() -> None:
    easy = ["bound", "--dim", "2", "--gap", "1", "--noise", "0.1", "--horizon", "1e6"]
    found = infex(*easy, "--schedule", "every(20)", "--schedule", "never()")
    assert "holds" in found.output
    assert "vacuous" in found.output
    assert "with probability 1 - 2e-06" in " ".join(found.output.split())
    assert "vacuous" not in infex(*easy, "--schedule", "every(20)").output


def test_bound_as_json_has_the_figures_of_the_library() -> None:
    rows = json.loads(infex("bound", *PROBLEM, "--json").output)
    assert [row["schedule"] for row in rows] == ["every(5)", "every(20)", "every(100)"]
    wanted = theory.infex(theory.Setting(dim=10, gap=0.1), every(20), 10**6)
    row = rows[1]
    assert (row["base"], row["constant"], row["growing"]) == (wanted.base, wanted.constant, wanted.growing)
    assert row["bound"] == wanted.regret
    assert row["vacuous"] is True
    assert row["tau_0"] == wanted.tau_0
    assert row["useful_from"] == pytest.approx(7.2e8, rel=0.02)
    sampled = json.loads(
        infex(
            "bound", *PROBLEM, "--schedule", "logarithmic(2)", "--base", "LinTS", "--arms", "100", "--json"
        ).output
    )
    assert sampled[0]["tau_0"] is None
    assert sampled[0]["bound"] is None


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_bound_draws_a_picture(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infex.lab.theory.report.HORIZONS_DRAWN", 6)
    out = tmp_path / f"bound.{kind}"
    assert infex("bound", *PROBLEM, "--schedule", "every(20)", "--out", str(out)).exit_code == 0
    assert out.read_bytes()[:4] in (b"\x89PNG", b"<?xm", b"%PDF")


def test_bound_refuses_in_one_line(tmp_path: Path) -> None:
    for words, message in (
        (["--out", str(tmp_path / "a.gif")], "a picture is a file .png, .svg or .pdf"),
        (["--schedule", "LinUCB"], "a schedule is one of"),
        (["--delta", "2"], "delta must be at most 1"),
        (["--horizon", "1.5"], "not a whole number of rounds"),
        (["--horizon", "inf"], "not a whole number of rounds"),
    ):
        found = infex("bound", *PROBLEM, *words)
        assert found.exit_code == 2
        assert message in found.output


def test_verify_prints_every_statement_with_its_figure() -> None:
    found = infex("verify", "--only", "C8", "--only", "c13", "--seed", "3")
    assert found.exit_code == 0
    assert max(map(len, found.output.splitlines())) <= 80
    for words in ("C8", "0.9952", "C13", "all 2 hold"):
        assert words in found.output
    rows = json.loads(infex("verify", "--only", "C8", "--json").stdout)
    assert [list(row) for row in rows] == [["id", "statement", "measured", "limit", "holds"]]
    assert rows[0]["holds"] is True
    assert rows[0]["measured"] == pytest.approx(49.758 / 50, abs=1e-4)


def test_verify_ends_with_1_where_a_statement_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = Statement("C1", "two is at most 1", lambda effort: 2.0)
    monkeypatch.setattr(statements, "STATEMENTS", (failing,))
    found = infex("verify")
    assert found.exit_code == 1
    assert "FAILS" in found.output
    assert "C1 failed" in found.output
    rows = json.loads(infex("verify", "--json").stdout)
    assert rows == [
        {"id": "C1", "statement": "two is at most 1", "measured": 2.0, "limit": 1.0, "holds": False}
    ]


def test_verify_draws_what_too_little_exploration_costs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = two_arms.measure
    monkeypatch.setattr(
        two_arms, "measure", lambda effort, count, listener: short(effort, count=20, listener=listener)
    )
    out = tmp_path / "lower.svg"
    found = infex("verify", "--lower-bound", "--out", str(out))
    assert found.exit_code == 0
    assert "(log t)^2" in found.output
    assert "the worse arm always" in out.read_text()
    rows = json.loads(infex("verify", "--lower-bound", "--json").stdout)
    assert [row["schedule"] for row in rows] == ["log t", "(log t)^2", "sqrt t", "t/20", "greedy"]
    assert len(rows[0]["rounds"]) == len(rows[0]["regret"])
    assert rows[4]["slope"] > 0.9


def test_verify_refuses_in_one_line(tmp_path: Path) -> None:
    for words, message in (
        (["--only", "C22"], "there is no statement 'C22'; there are C1 to C21"),
        (["--out", str(tmp_path / "a.png")], "--out is for the picture of --lower-bound"),
        (["--lower-bound", "--only", "C1"], "leave out --only"),
        (["--lower-bound", "--out", str(tmp_path / "a.gif")], "a picture is a file"),
    ):
        found = infex("verify", *words)
        assert found.exit_code == 2
        assert message in " ".join(found.output.split())


def test_a_slope_is_the_same_in_the_table_and_in_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one below 0, which a curve has that falls by chance."""
    rounds = np.geomspace(1, 100_000, 60)
    falling = two_arms.Curves(1, rounds, {"falling": 100 * rounds**-0.25})
    monkeypatch.setattr(two_arms, "measure", lambda effort, count, listener: falling)
    (row,) = json.loads(infex("verify", "--lower-bound", "--json").stdout)
    assert row["slope"] == pytest.approx(-0.25)
    assert infex("verify", "--lower-bound").stdout.count("-0.25") == 2


def test_an_interrupted_check_shows_the_passes_that_were_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0

    def check(effort: Effort) -> float:
        nonlocal count
        count += 1
        if count == 3:
            raise KeyboardInterrupt
        return count / 10

    monkeypatch.setattr(statements, "STATEMENTS", (Statement("C1", "a claim", check),))
    found = infex("verify", "--thorough", "--json")
    assert found.exit_code == 130
    assert json.loads(found.stdout)[0]["measured"] == 0.2
    assert "pass 2 of 12: all hold" in found.stderr
    assert "interrupted: these are the passes" in found.stderr
