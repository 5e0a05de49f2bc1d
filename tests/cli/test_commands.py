"""The command line, as a user sees it."""

import contextlib
import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

from infex.cli.lab_command import show
from infex.cli.main import main
from infex.errors import InvalidSetting
from infex.lab import Sweep, paper
from infex.lab.results import Results
from infex.lab.runner import chunked
from infex.lab.store import Folder, read
from infex.lab.sweep import SETTINGS, read_sweep
from tests.lab.sweeps.test_results import results as made
from tests.waiting import PATIENCE, started, until

ROOT = Path(__file__).parents[2]
SMALL = ["--dim", "2", "--dim", "3", "--arms", "4", "--instances", "3", "--horizon", "300", "--workers", "1"]


def infex(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), catch_exceptions=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("cli") / "small"
    found = infex("reproduce", *SMALL, "--out", str(out))
    assert found.exit_code == 0, found.output
    return out


def test_reproduce_writes_all_that_it_promises(folder: Path) -> None:
    names = {path.name for path in folder.iterdir()}
    figures = {f"figure{number}.{kind}" for number in (1, 2) for kind in ("png", "svg", "pdf")}
    assert names >= figures | {"results.parquet", "summary.csv", "report.html", "sweep.json"}
    with (folder / "summary.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [
        "environment", "dim", "arms", "horizon", "policy", "instances",
        "regret_mean", "regret_low", "regret_high", "regret_std", "regret_median",
        "explored_mean", "different_mean", "seconds_median",
    ]  # fmt: skip
    assert len(rows) == 2 * len(paper.policies())
    assert {row["policy"] for row in rows} == set(paper.policies())
    assert {(row["dim"], row["arms"], row["instances"]) for row in rows} == {("2", "4", "3"), ("3", "4", "3")}


def test_the_default_is_the_papers_whole_experiment() -> None:
    sweep = paper.paper()
    assert len(sweep.problems) == 9
    assert sweep.horizon == 10_000
    assert sweep.seeds == tuple(range(20))
    assert [player.label for player in sweep.players[:5]] == [
        "LinUCB",
        "Infex(LinUCB, every(5))",
        "Infex(LinUCB, every(20))",
        "Infex(LinUCB, every(100))",
        "LinTS",
    ]
    assert sweep.players[1].policy.base.delta == 1e-4


def test_a_second_time_plays_nothing_and_other_contents_are_left_alone(folder: Path, tmp_path: Path) -> None:
    before = (folder / "results.parquet").read_bytes()
    assert infex("reproduce", *SMALL, "--out", str(folder)).exit_code == 0
    assert (folder / "results.parquet").read_bytes() == before
    (tmp_path / "notes.txt").write_text("mine")
    found = infex("reproduce", *SMALL, "--out", str(tmp_path))
    assert found.exit_code == 2
    assert "has other contents; name another, or --force" in found.output


def test_policies_are_chosen_by_name(tmp_path: Path) -> None:
    words = ["--policy", "Infex(LinUCB, every(5))", "--policy", "tests.lab.sweeps.players:middle"]
    found = infex("reproduce", *SMALL, *words, "--out", str(tmp_path / "a"))
    assert found.exit_code == 0
    assert "Infex(LinUCB, every(5))" in found.output
    assert "tests.lab.sweeps.players:middle" in found.output
    bad = infex("reproduce", *SMALL, "--policy", "LinUBC", "--out", str(tmp_path / "b"))
    assert bad.exit_code == 2
    assert "unknown name 'LinUBC'" in bad.output
    assert not (tmp_path / "b").exists()


def test_contexts_are_played_into_a_folder_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--policy", "Infex(LinUCB, every(5))", "--policy", "LinUCB", "--policy", "Greedy"]
    found = infex("reproduce", "--contexts", *SMALL, *words)
    assert found.exit_code == 0, found.output
    out = tmp_path / "reproduction-contexts"
    with (out / "summary.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["environment"] for row in rows[::3]] == [
        f"changing(dim={dim}, arms=4{best})"
        for dim in (2, 3)
        for best in ("", ", best=fixed", ", best=recurring")
    ]
    page = (out / "report.html").read_text()
    assert "<h1>Infrequent exploration with arms that change</h1>" in page
    assert "What the paper's appendix discusses, on these runs" in page
    assert page.count("of 2 cells") == 3
    (out / "report.html").unlink()
    assert infex("lab", "report", str(out)).exit_code == 0
    assert (out / "report.html").read_text() == page
    assert infex("reproduce", "--contexts", *SMALL, *words, "--out", "mine").exit_code == 0
    assert (tmp_path / "mine" / "summary.csv").exists()


def test_run_plays_a_file_and_says_what_failed(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(
        'horizon = 50\nseeds = 2\npolicies = ["Greedy", "tests.lab.sweeps.players:failing"]\n'
        '[[environments]]\nkind = "gaussian"\ndim = 2\narms = 3\n'
    )
    found = infex("lab", "run", str(path), "--out", str(tmp_path / "a"), "--workers", "1")
    assert found.exit_code == 1
    assert "2 runs failed" in found.output
    assert "ZeroDivisionError: on purpose" in found.output
    assert len(json.loads((tmp_path / "a" / "failures.json").read_text())) == 2
    assert "runs failed" in (tmp_path / "a" / "report.html").read_text()
    path.write_text(path.read_text().replace("dim = 2", 'dim = "two"'))
    bad = infex("lab", "run", str(path), "--out", str(tmp_path / "b"))
    assert bad.exit_code == 2
    assert "sweep.toml" in bad.output
    assert not (tmp_path / "b").exists()


def test_report_draws_again(folder: Path) -> None:
    (folder / "report.html").unlink()
    (folder / "figure1.png").unlink()
    found = infex("lab", "report", str(folder))
    assert found.exit_code == 0
    assert (folder / "report.html").exists()
    assert (folder / "figure1.png").exists()
    rows = json.loads(infex("lab", "report", str(folder), "--json").output)
    assert len(rows) == 2 * len(paper.policies())
    assert infex("lab", "report", str(folder / "nowhere")).exit_code == 2


def test_compare_prints_paired_differences(folder: Path) -> None:
    found = infex("lab", "compare", "Infex(LinUCB, every(5))", "LinUCB", "--in", str(folder))
    assert found.exit_code == 0
    assert "of 3" in found.output
    rows: list[dict[str, Any]] = json.loads(
        infex("lab", "compare", "Infex(LinUCB, every(5))", "LinUCB", "--in", str(folder), "--json").output
    )
    assert [(row["dim"], row["pairs"]) for row in rows] == [(2, 3), (3, 3)]
    assert all(row["low"] is None and row["high"] is None for row in rows)  # of so few pairs
    same = json.loads(infex("lab", "compare", "Greedy", "Greedy", "--in", str(folder), "--json").output)
    assert [row["mean"] for row in same] == [0, 0]
    bad = infex("lab", "compare", "Greedy", "Nobody", "--in", str(folder))
    assert bad.exit_code == 2
    assert "no runs of 'Nobody'; there are runs of\n  LinUCB\n" in bad.output
    near = infex("lab", "compare", "Greedy", "LinUBC", "--in", str(folder))
    assert "no runs of 'LinUBC' (did you mean LinUCB?)" in near.output


@pytest.mark.parametrize(
    "words", [[], ["reproduce"], ["lab", "run"], ["lab", "report"], ["lab", "compare"]], ids=str
)
def test_help_shows_examples(words: list[str]) -> None:
    found = infex(*words, "--help")
    assert found.exit_code == 0
    assert "infex " in found.output
    assert "\\b" not in found.output


def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(tmp_path: Path) -> None:
    """Runs on 4 arms are finished and those on 3 are held when the signal comes, on any machine."""
    (tmp_path / "mine.py").write_text(
        f"from tests.lab.sweeps.players import Held\nheld = Held({str(tmp_path)!r}, arms=3)\n"
    )
    words = ["reproduce", "--dim", "2", "--arms", "3", "--arms", "4", "--instances", "3", "--horizon", "300"]
    words += ["--policy", "mine:held", "--workers", "2", "--out", "a"]
    program = [sys.executable, "-c", "from infex.cli import main; main()", *words]
    given: dict[str, Any] = {"cwd": tmp_path, "env": os.environ | {"PYTHONPATH": str(ROOT)}, "text": True}
    with started(program, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **given) as process:
        until(lambda: len(list(tmp_path.glob("a/runs/*.arrow"))) == 3, "three runs are kept", process)
        until(lambda: len(list(tmp_path.glob("held-*"))) == 2, "both workers are held", process)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "what was finished is kept in a" in " ".join(said.split())
    with Folder(tmp_path / "a") as folder:
        kept = folder.keys()
    assert len(kept) == 3
    (tmp_path / "go").touch()
    again = subprocess.run(program, capture_output=True, timeout=PATIENCE, **given)
    assert again.returncode == 0, again.stderr
    results = read(tmp_path / "a")
    assert results.finals.num_rows == 6
    assert results.about["earlier"] == 3
    by_arms = zip(results.finals["key"].to_pylist(), results.finals["arms"].to_pylist(), strict=True)
    assert kept == {key for key, arms in by_arms if arms == 4}


def sweep_file(folder: Path, policies: list[str], **more: Any) -> str:
    """A sweep file of two instances of 2 dimensions and 3 arms."""
    given = {"horizon": 50, "seeds": 2, "policies": policies} | more
    path = folder / "sweep.toml"
    lines = [f"{name} = {json.dumps(value)}" for name, value in given.items()]
    path.write_text("\n".join([*lines, "[[environments]]", 'kind = "gaussian"', "dim = 2", "arms = 3"]))
    return str(path)


def test_one_instance_has_no_spread_and_no_interval(tmp_path: Path) -> None:
    path, out = sweep_file(tmp_path, ["Greedy", "LinUCB"], seeds=1), str(tmp_path / "a")
    shown = infex("lab", "run", path, "--out", out, "--workers", "1")
    assert shown.exit_code == 0
    assert "nan" not in shown.output
    assert "\N{PLUS-MINUS SIGN} \N{EN DASH}" in shown.output
    rows = json.loads(infex("lab", "report", out, "--json").output, parse_constant=pytest.fail)
    assert [row["regret_std"] for row in rows] == [None, None]
    rows = json.loads(
        infex("lab", "compare", "Greedy", "LinUCB", "--in", out, "--json").output, parse_constant=pytest.fail
    )
    assert [(row["pairs"], row["low"]) for row in rows] == [(1, None)]
    table = infex("lab", "compare", "Greedy", "LinUCB", "--in", out).output
    assert "too few" in table
    assert "nan" not in table


def test_failures_are_listed_even_if_drawing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: Any) -> None:
        raise ValueError("no ink")

    monkeypatch.setattr("infex.lab.reports.page.write_report", broken)
    path = sweep_file(tmp_path, ["Greedy", "tests.lab.sweeps.players:failing"])
    found = infex("lab", "run", path, "--out", str(tmp_path / "a"), "--workers", "1")
    assert found.exit_code == 1
    assert "the report could not be drawn: ValueError: no ink" in found.output
    assert "2 runs failed" in found.output
    found = infex(
        "lab", "run", sweep_file(tmp_path, ["Greedy"]), "--out", str(tmp_path / "b"), "--workers", "1"
    )
    assert found.exit_code == 1


def test_policies_without_a_common_seed_are_drawn(tmp_path: Path) -> None:
    path = sweep_file(tmp_path, ["Greedy", "tests.lab.sweeps.players:odd", "tests.lab.sweeps.players:even"])
    found = infex("lab", "run", path, "--out", str(tmp_path / "a"), "--workers", "1")
    assert found.exit_code == 1
    assert "2 runs failed" in found.output
    assert "could not be drawn" not in found.output
    names = [f"tests.lab.sweeps.players:{name}" for name in ("odd", "even")]
    assert "0 of 0" in infex("lab", "compare", *names, "--in", str(tmp_path / "a")).output


def test_where_every_run_failed_the_page_says_so_in_place_of_an_older_one(tmp_path: Path) -> None:
    out = tmp_path / "a"
    first = infex("lab", "run", sweep_file(tmp_path, ["Greedy"]), "--out", str(out), "--workers", "1")
    assert first.exit_code == 0
    assert (out / "figure1.png").exists()
    path = sweep_file(tmp_path, ["tests.lab.sweeps.players:failing"])
    found = infex("lab", "run", path, "--out", str(out), "--workers", "1")
    assert found.exit_code == 1
    assert "an empty table and report.html are in" in found.output
    assert (
        (out / "summary.csv")
        .read_text()
        .startswith('"environment","dim","arms","horizon","policy","instances"')
    )
    text = (out / "report.html").read_text()
    assert "2 runs failed" in text
    assert "ZeroDivisionError: on purpose" in text
    assert "Greedy</td>" not in text
    assert not list(out.glob("figure*"))
    assert infex("lab", "report", str(out)).exit_code == 0
    told = infex("lab", "report", str(out), "--json")
    assert json.loads(told.stdout) == []
    assert "2 runs failed" in told.stderr


def test_names_with_brackets_are_shown_as_they_are(tmp_path: Path) -> None:
    path = sweep_file(tmp_path, ["Infex(LinUCB, listed([1, 2]))"])
    found = infex("lab", "run", path, "--out", str(tmp_path / "[red]a"), "--workers", "1")
    assert found.exit_code == 0
    assert "Infex(LinUCB, listed([1, 2]))" in found.output
    red = infex(
        "lab", "run", sweep_file(tmp_path, ["tests.lab.sweeps.players:Styled"]), "--out", str(tmp_path / "b")
    )
    assert red.exit_code == 0
    assert show_of(tmp_path / "b", "[bold]x[/]") == ["[bold]x[/]"]


def show_of(folder: Path, name: str) -> list[str]:
    """The names of policies as the tables print them, where the only one has that name."""
    results = read(folder)
    table = results.table().arrow
    column = table.column_names.index("policy")
    renamed = table.set_column(column, "policy", pa.array([name] * len(table)))
    with contextlib.redirect_stdout(io.StringIO()) as out:
        show(Results(renamed))
    return list(dict.fromkeys(line.split()[0] for line in out.getvalue().splitlines() if "[bold]" in line))


@pytest.mark.parametrize("place", ["infex.lab.reports.page.write_report", "infex.lab.sweep.chunked"])
def test_ctrl_c_anywhere_ends_with_its_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    def interrupted(*given: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(place, interrupted)
    found = infex(
        "lab", "run", sweep_file(tmp_path, ["Greedy"]), "--out", str(tmp_path / "a"), "--workers", "1"
    )
    assert found.exit_code == 130
    assert "interrupted" in found.output


@pytest.mark.parametrize(
    "command", [["lab", "report", "nowhere"], ["lab", "compare", "A", "B", "--in", "nowhere"]]
)
def test_ctrl_c_in_reading_commands_ends_with_its_code(
    monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    def interrupted(*given: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("infex.lab.store.read", interrupted)
    assert infex(*command).exit_code == 130


@pytest.mark.parametrize("workers", ["1", "2"])
def test_warnings_of_infex_are_said_once_and_others_are_not(tmp_path: Path, workers: str) -> None:
    path = Path(sweep_file(tmp_path, ["LinUCB", "Infex(LinUCB, logarithmic(1))"]))  # which is made twice
    own = '[[environments]]\nkind = "object"\nobject = "tests.lab.sweeps.players:far"\n'
    path.write_text(f"{path.read_text()}\n{own}")
    found = infex("lab", "run", str(path), "--out", str(tmp_path / "a"), "--workers", workers)
    assert found.exit_code == 0
    lines = [line for line in found.stderr.splitlines() if line.startswith("warning: ")]
    assert [line.split()[1:5] for line in lines] == [
        ["logarithmic(1)", "explores", "too", "rarely"],
        ["a", "reward", "of", "30"],
        ["a", "reward", "of", "30"],
    ]
    assert len(set(lines)) == 3


def test_the_title_of_a_file_stays(tmp_path: Path) -> None:
    path = sweep_file(tmp_path, ["Greedy"], title="Mine & yours")
    assert infex("lab", "run", path, "--out", str(tmp_path / "a"), "--workers", "1").exit_code == 0
    page = tmp_path / "a" / "report.html"
    assert "<h1>Mine &amp; yours</h1>" in page.read_text()
    page.unlink()
    assert infex("lab", "report", str(tmp_path / "a")).exit_code == 0
    assert "<h1>Mine &amp; yours</h1>" in page.read_text()


def test_policies_to_compare_are_read_as_the_catalogue_reads_them(folder: Path) -> None:
    words = [
        "lab",
        "compare",
        "Infex( LinUCB(), every(5), data='shared' )",
        "Greedy()",
        "--in",
        str(folder),
        "--json",
    ]
    plain = ["lab", "compare", "Infex(LinUCB, every(5))", "Greedy", "--in", str(folder), "--json"]
    assert infex(*words).output == infex(*plain).output


def test_faults_in_a_users_module_come_as_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "misspelt.py").write_text("def f(:\n")
    monkeypatch.syspath_prepend(tmp_path)
    found = infex("lab", "run", sweep_file(tmp_path, ["misspelt:f"]), "--out", str(tmp_path / "a"))
    assert found.exit_code == 2
    assert "cannot load 'misspelt:f': invalid syntax (misspelt.py, line 1)" in found.output
    assert "Traceback" not in found.output
    assert not (tmp_path / "a").exists()


def test_a_policy_that_failed_always_is_told_from_one_that_is_unknown(tmp_path: Path) -> None:
    failing = "tests.lab.sweeps.players:failing"
    out = str(tmp_path / "a")
    infex("lab", "run", sweep_file(tmp_path, ["Greedy", failing]), "--out", out, "--workers", "1")
    found = infex("lab", "compare", "Greedy", failing, "--in", out)
    assert found.exit_code == 2
    assert f"all runs of '{failing}' failed: see failures.json" in found.output


def wide_results(policies: list[str], arms: list[int]) -> Results:
    cells = {
        (f"gaussian(dim=2, arms={count})", 2, count): {
            policy: {seed: (123456.0 + 1000 * seed, 0.001 * (1 + place)) for seed in range(3)}
            for place, policy in enumerate(policies)
        }
        for count in arms
    }
    return made(cells)


@pytest.mark.parametrize("width", [40, 80, 300])
def test_tables_cut_no_number_and_no_name(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    policies = ["Infex(LinUCB(bound=2, scale=0.25), every(100) | listed([1, 2, 3]))", "Greedy"]
    arms = [10, 20, 50, 100, 200, 500, 1000]
    show(wide_results(policies, arms))
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= width
    assert said.count("124,456 \N{PLUS-MINUS SIGN} 1,000") == len(arms) * len(policies)
    assert all(f"K = {count}" in said for count in arms)
    assert said.count("1.00") == said.count("2.00") == len(arms)
    assert "\N{HORIZONTAL ELLIPSIS}" not in said
    assert "d = 2: final regret, mean \N{PLUS-MINUS SIGN} std\n" in said
    if width == 300:
        assert said.count(policies[0]) == 3
        counts = said.partition("rounds explored, and those not greedy, means")[2].partition("d = 2")[0]
        assert counts.count("5,000, 1,666") == len(arms)
        assert "Greedy" not in counts, "nothing is told of a policy without a schedule"


def test_what_was_played_is_told_from_what_was_there(tmp_path: Path) -> None:
    words = ["lab", "run", sweep_file(tmp_path, ["Greedy"]), "--out", str(tmp_path / "a"), "--workers", "1"]
    assert "2 runs played in " in infex(*words).stderr
    again = infex(*words).stderr
    assert "0 runs played in " in again
    assert "; 2 were there already" in again
    assert "held another sweep" not in again
    more = infex("lab", "run", sweep_file(tmp_path, ["Greedy", "Uniform"]), *words[3:]).stderr
    assert "2 runs played in " in more
    assert "held another sweep" not in more  # of which all is still there
    other = infex("lab", "run", sweep_file(tmp_path, ["Uniform"]), *words[3:])
    assert "this folder held another sweep; its runs are kept, its table and figures" in other.stderr
    forced = infex("lab", "run", sweep_file(tmp_path, ["Greedy"]), *words[3:], "--force")
    assert "held another sweep" not in forced.stderr


def test_errors_come_without_a_progress_bar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    path = sweep_file(tmp_path, ["Greedy"])
    for out, message in (
        ("/proc/nowhere", "Error: cannot write to /proc/nowhere: "),
        (str(tmp_path), f"Error: the folder {tmp_path} has other contents; name another, or --force"),
        (str(tmp_path / "file" / "a"), "Error: cannot write to "),
    ):
        found = infex("lab", "run", path, "--out", out)
        assert found.exit_code == 2
        assert found.output.startswith(message)
        assert len(found.output.splitlines()) == 1

    def broken(*given: Any) -> Any:
        raise InvalidSetting("no scheduler answers")

    monkeypatch.setattr("infex.lab.runner.Engine.outcomes", broken)
    found = infex("lab", "run", path, "--out", str(tmp_path / "a"))
    assert found.exit_code == 2
    assert "Error: no scheduler answers" in found.output
    assert "compiling" not in found.output


def test_an_unfinished_sweep_is_told_from_none(tmp_path: Path) -> None:
    Folder(tmp_path / "a").__exit__()
    for words in (
        ["lab", "report", str(tmp_path / "a")],
        ["lab", "compare", "A", "B", "--in", str(tmp_path / "a")],
    ):
        found = infex(*words)
        assert found.exit_code == 2
        assert "is unfinished: run the same command again to go on" in found.output
    assert "holds no results of a sweep" in infex("lab", "report", str(tmp_path)).output


@pytest.mark.parametrize("command", ["run", "reproduce"])
def test_the_summary_comes_as_json(tmp_path: Path, command: str) -> None:
    out = ["--out", str(tmp_path / "a"), "--workers", "1", "--json"]
    failing = "tests.lab.sweeps.players:failing"
    if command == "run":
        words = ["lab", "run", sweep_file(tmp_path, ["Greedy", failing])]
    else:
        words = ["reproduce", *SMALL[:-2], "--policy", "Greedy", "--policy", failing]
    found = infex(*words, *out)
    assert found.exit_code == 1
    assert [row["policy"] for row in json.loads(found.stdout)] == ["Greedy"] * (2 - (command == "run"))
    assert "runs failed" in found.stderr


def test_the_example_is_a_sweep(tmp_path: Path) -> None:
    found = infex("lab", "run", "--example")
    assert found.exit_code == 0
    path = tmp_path / "sweep.toml"
    path.write_text(found.output)
    assert len(read_sweep(path).tasks()) == 120
    lines = [line.removeprefix("# ") for line in found.output.splitlines()]
    shown = [line for line in lines if "=" in line or line.startswith("[[")]
    path.write_text("\n".join(shown).replace("package.module:object", "tests.lab.sweeps.players:small"))
    assert len(read_sweep(path).problems) == 4  # with all that is commented out


def test_help_names_every_key_of_a_file() -> None:
    text = infex("lab", "run", "--help").output
    for name in SETTINGS:
        assert re.search(rf"^  {name} ", text, re.M), name
    assert "lower_bound(gap, which=2, " in infex("lab", "run", "--kinds").output
    for line in infex("--help").output.splitlines()[1:]:
        assert not line.endswith("...")


def test_names_that_infex_prints_are_policies(tmp_path: Path) -> None:
    own = "tests.lab.sweeps.players:middle"
    path = sweep_file(tmp_path, ["Greedy"], bases=[own], schedules=["every(20)"])
    out = str(tmp_path / "a")
    assert infex("lab", "run", path, "--out", out, "--workers", "1").exit_code == 0
    name = f"Infex({own}, every(20))"
    again = infex("lab", "run", sweep_file(tmp_path, [name]), "--out", out, "--workers", "1")
    assert "0 runs played in" in again.stderr
    assert read(out).bases == {name: own}
    assert infex("lab", "compare", f"Infex( {own},every(20))", name, "--in", out).exit_code == 0


def test_ctrl_c_that_nobody_could_raise_still_ends_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swallowed(tasks: Any) -> Any:
        with contextlib.suppress(KeyboardInterrupt):  # as a callback from C does
            signal.raise_signal(signal.SIGINT)
        return chunked(tasks)

    monkeypatch.setattr("infex.lab.sweep.chunked", swallowed)
    found = infex(
        "lab", "run", sweep_file(tmp_path, ["Greedy"]), "--out", str(tmp_path / "a"), "--workers", "1"
    )
    assert found.exit_code == 130
    assert "the same command goes on from there" in " ".join(found.stderr.split())
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_while_commands_are_imported_is_quiet() -> None:
    program = (
        "import builtins, signal, infex.cli\n"
        "before = builtins.__import__\n"
        "def interrupted(name, *given, **more):\n"
        "    if name == 'infex.cli.main': signal.raise_signal(signal.SIGINT)\n"
        "    return before(name, *given, **more)\n"
        "builtins.__import__ = interrupted\n"
        "infex.cli.main()\n"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE)
    assert (found.returncode, found.stdout, found.stderr) == (130, "", "")


def test_a_misspelt_command_or_problem_is_told_the_nearest_one() -> None:
    assert "No such command 'reprodce' (did you mean reproduce?)" in infex("reprodce").output
    assert "No such command 'suit' (did you mean suite?)" in infex("lab", "suit").output
    assert infex("reprodce").exit_code == 2
    with pytest.raises(InvalidSetting, match=r"got 'gausian\(dim=3, arms=5\)' .did you mean gaussian"):
        Sweep(environments=["gausian(dim=3, arms=5)"], policies=["LinUCB"], horizon=9, seeds=1)
