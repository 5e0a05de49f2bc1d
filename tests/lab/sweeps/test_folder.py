"""Folders of sweeps: nothing of a user's goes, nothing finished is lost, damage is named."""

import json
from pathlib import Path
from typing import Any

import pyarrow.feather
import pyarrow.parquet
import pytest

from infex.errors import DamagedFile, InfexError
from infex.lab import Results
from tests.lab.sweeps.test_sweep import columns, interrupted, sweep


def parts(folder: Path) -> list[Path]:
    return sorted((folder / "runs").glob("*.arrow"))


def test_force_deletes_nothing_of_a_users(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    mine = [tmp_path / "runs" / name for name in ("best.arrow", "notes.txt")]
    for path in mine:
        path.write_text("mine")
    for _ in range(2):
        assert not sweep().run(workers=1, out=tmp_path, force=True).failures
        assert [path.read_text() for path in mine] == ["mine", "mine"]
    assert len(parts(tmp_path)) == 2
    assert not sweep().run(workers=1, out=tmp_path).failures
    assert mine[0].exists()


def test_force_keeps_old_runs_until_there_are_new_ones(tmp_path: Path) -> None:
    sweep().run(workers=1, out=tmp_path / "a")
    before = parts(tmp_path / "a")
    for bad in ({"workers": 0}, {"engine": "cloud"}, {"scheduler": "tcp://127.0.0.1:1"}):
        with pytest.raises(InfexError):
            sweep().run(out=tmp_path / "a", force=True, **bad)
        assert parts(tmp_path / "a") == before
    interrupted(sweep(), tmp_path / "a", after=0, force=True)
    assert parts(tmp_path / "a") == before
    interrupted(sweep(), tmp_path / "a", after=1, force=True)
    assert before[0] not in parts(tmp_path / "a")
    assert 0 < sweep().run(workers=1, out=tmp_path / "a").about["earlier"] < 9, "the old ones are gone"


def test_one_process_writes_at_a_time(tmp_path: Path) -> None:
    refused: list[str] = []

    def second(done: int, total: int, failed: int) -> None:
        for force in (False, True):
            with pytest.raises(InfexError, match=r"another process is writing to .*a; wait for it") as caught:
                sweep().run(workers=1, out=tmp_path / "a", force=force)
            refused.append(str(caught.value))

    assert not sweep().run(workers=1, out=tmp_path / "a", progress=second).failures
    assert refused
    assert not sweep().run(workers=1, out=tmp_path / "a").failures


def test_a_file_that_goes_while_it_is_read_is_looked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(sweep(), tmp_path / "a", after=2)
    first, *others = parts(tmp_path / "a")
    kept = sum(pyarrow.feather.read_table(part).num_rows for part in (first, *others))
    reader = pyarrow.feather.read_table

    def joined(path: Any) -> Any:
        if first.exists():  # as when another process joins files: its rows are in another one
            rows = reader(first)
            pyarrow.feather.write_feather(rows, str(first.with_name(f"{0:032x}.arrow")))
            first.unlink()
            raise FileNotFoundError(path)
        return reader(path)

    assert others
    monkeypatch.setattr(pyarrow.feather, "read_table", joined)
    assert sweep().run(workers=1, out=tmp_path / "a").about["earlier"] == kept
    monkeypatch.setattr(pyarrow.feather, "read_table", lambda path: Path(tmp_path / "nowhere").read_bytes())
    with pytest.raises(InfexError, match="another process is writing"):
        sweep().run(workers=1, out=tmp_path / "a")


def test_a_crash_before_the_first_run_leaves_a_folder_that_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Path.mkdir

    def crash(path: Path, *given: Any, **more: Any) -> None:
        if path.name == "runs":
            raise KeyboardInterrupt
        made(path, *given, **more)

    monkeypatch.setattr(Path, "mkdir", crash)
    with pytest.raises(KeyboardInterrupt):
        sweep().run(workers=1, out=tmp_path / "a")
    monkeypatch.undo()
    assert not sweep().run(workers=1, out=tmp_path / "a").failures
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / ".lock").touch()
    assert not sweep().run(workers=1, out=tmp_path / "b").failures


def test_runs_that_stand_twice_count_once(tmp_path: Path) -> None:
    """A crash while files are joined leaves the old ones beside the new one."""
    results = sweep().run(workers=1, out=tmp_path / "a")
    (part,) = parts(tmp_path / "a")
    part.with_name(f"{0:032x}.arrow").write_bytes(part.read_bytes())
    rows = pyarrow.parquet.read_table(tmp_path / "a" / "results.parquet")
    pyarrow.parquet.write_table(pyarrow.concat_tables([rows, rows]), tmp_path / "a" / "results.parquet")
    assert columns(Results.load(tmp_path / "a")).equals(columns(results))
    again = sweep().run(workers=1, out=tmp_path / "a")
    assert again.about["earlier"] == 9
    assert columns(again).equals(columns(results))
    assert [pyarrow.feather.read_table(each).num_rows for each in parts(tmp_path / "a")] == [9]


@pytest.mark.parametrize("name", ["part", "results.parquet", "sweep.json", "failures.json"])
def test_damage_is_named(tmp_path: Path, name: str) -> None:
    sweep().run(workers=1, out=tmp_path / "a")
    path = parts(tmp_path / "a")[0] if name == "part" else tmp_path / "a" / name
    path.write_bytes(b"\xff\x00 no such thing")
    with pytest.raises(DamagedFile, match=f"{path.name} is damaged: "):
        sweep().run(workers=1, out=tmp_path / "a") if name == "part" else Results.load(tmp_path / "a")
    if name == "part":
        path.unlink()
    assert not sweep().run(workers=1, out=tmp_path / "a").failures
    assert Results.load(tmp_path / "a").finals.num_rows == 9


def test_files_of_another_kind_are_named(tmp_path: Path) -> None:
    sweep().run(workers=1, out=tmp_path / "a")
    pyarrow.parquet.write_table(pyarrow.table({"x": [1]}), tmp_path / "a" / "results.parquet")
    with pytest.raises(DamagedFile, match=r"results\.parquet has other columns than a table of runs"):
        Results.load(tmp_path / "a")
    (tmp_path / "a" / "sweep.json").write_text("[]")
    with pytest.raises(DamagedFile, match=r"sweep\.json is damaged: it holds no dict"):
        Results.load(tmp_path / "a")


def test_files_are_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep(policies=["Greedy"]).run(workers=1, out=tmp_path / "a")
    names = ("results.parquet", "summary.csv", "sweep.json")
    before = {name: (tmp_path / "a" / name).read_bytes() for name in names}

    def full(*given: Any) -> None:
        raise OSError("no space left on device")

    for place in ("pyarrow.csv.write_csv", "pyarrow.parquet.ParquetWriter", "os.replace"):
        with monkeypatch.context() as patch:
            patch.setattr(place, full)
            with pytest.raises(OSError, match="no space left"):
                sweep().run(workers=1, out=tmp_path / "a")
        assert {name: (tmp_path / "a" / name).read_bytes() for name in names} == before
    assert not [path for path in (tmp_path / "a").iterdir() if path.name.startswith(".results")]


def test_nothing_is_written_without_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert sweep().run(workers=1).finals.num_rows == 9
    assert list(tmp_path.iterdir()) == []


def test_rows_have_one_order_however_they_were_played(tmp_path: Path) -> None:
    given: dict[str, Any] = {"policies": ["Greedy", "LinUCB"], "seeds": [3, 1, 2]}
    tables = [
        sweep(**given).run(workers=workers, out=tmp_path / str(workers)).table().arrow for workers in (1, 2)
    ]
    mixed = sweep(policies=["LinUCB"], seeds=[2, 3]).run(workers=1, out=tmp_path / "mixed")
    assert mixed.finals.num_rows == 2
    tables.append(sweep(**given).run(workers=1, out=tmp_path / "mixed").table().arrow)
    for table in tables:
        assert table.drop_columns(["seconds"]).equals(tables[0].drop_columns(["seconds"]))
    finals = Results.load(tmp_path / "2").finals
    assert finals["policy"].to_pylist() == ["Greedy"] * 3 + ["LinUCB"] * 3
    assert finals["seed"].to_pylist() == [1, 2, 3, 1, 2, 3]


def test_a_folder_says_what_was_played_and_how(tmp_path: Path) -> None:
    sweep(seeds=2, title="Mine").run(workers=2, out=tmp_path / "a")
    about = json.loads((tmp_path / "a" / "sweep.json").read_text())
    assert (about["title"], about["engine"], about["workers"], about["earlier"]) == ("Mine", "local", 2, 0)
    assert sweep().run(workers=1, out=tmp_path / "a").about["earlier"] == 6
