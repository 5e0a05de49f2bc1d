"""`infex bound` and `infex verify`, as a user sees them."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from infex import theory
from infex.cli.main import main
from infex.schedules import every

PROBLEM = ["--dim", "10", "--gap", "0.1", "--horizon", "1e6"]


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def infex(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), catch_exceptions=False)


def test_bound_prints_the_terms_and_says_that_they_promise_nothing() -> None:
    found = infex("bound", *PROBLEM, "--schedule", "every(20)", "--schedule", "logarithmic(2)")
    assert found.exit_code == 0
    assert max(map(len, found.output.splitlines())) <= 80
    assert "Vacuous" in found.output
    assert "probability" not in found.output
    for words in ("every(20)", "logarithmic(2)", "constant", "tau_Alg", "32,866,960", "never"):
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
    assert row["tau_0"] == wanted.tau_0.rounds
    assert row["useful_from"] == pytest.approx(7.2e8, rel=0.02)
    sampled = json.loads(
        infex(
            "bound", *PROBLEM, "--schedule", "logarithmic(2)", "--base", "LinTS", "--arms", "100", "--json"
        ).output
    )
    assert sampled[0]["tau_0"] is None
    assert sampled[0]["tau_0_log10"] > 300
    assert sampled[0]["bound"] is None


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_bound_draws_a_picture(tmp_path: Path, kind: str) -> None:
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
