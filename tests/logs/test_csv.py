"""A CSV with columns of text is read as it stands, and what is wrong in it is named by row and column."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pytest
from click.testing import CliRunner

from infex import evaluation, features
from infex.cli.main import main
from infex.errors import InvalidLog, InvalidSetting
from infex.logs import ColumnNames, read, read_parts

HEADER = "shown,gain,p,age,country\n"
VISITOR = features.table({"age": (20, 80)}, {"country": ["DE", "FR"]})
BY_VISITOR = features.disjoint(["juice", "tea"], context=VISITOR)
NAMES: dict[str, Any] = {"arm": "shown", "reward": "gain", "propensity": "p"}


def shop(rounds: int = 400) -> pd.DataFrame:
    """Rounds in which tea earns 1 more in France and 1 less in Germany, and juice always 2."""
    rng = np.random.default_rng(5)
    country, tea = rng.choice(["DE", "FR"], rounds), rng.random(rounds) < 0.5
    gain = 2.0 + tea * np.where(country == "FR", 1.0, -1.0) + 0.1 * rng.normal(size=rounds)
    age = rng.integers(20, 81, rounds)
    columns = {"shown": np.where(tea, "tea", "juice"), "gain": gain, "p": 0.5, "age": age, "country": country}
    return pd.DataFrame(columns)


def kept(folder: Path, text: str) -> Path:
    (folder / "shop.csv").write_text(text)
    return folder / "shop.csv"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return kept(tmp_path, shop().to_csv(index=False))


def test_columns_of_text_are_read_by_a_map_over_a_table(path: Path) -> None:
    log = read(path, **NAMES, context=["age", "country"], features=BY_VISITOR)
    by_hand = VISITOR.rows(shop()[["age", "country"]]) / VISITOR.longest
    assert log.context == pytest.approx(by_hand, abs=1e-15)
    assert (log.labels, log.dim) == (("juice", "tea"), 8)
    values = evaluation.evaluate(log, {name: name for name in ("juice", "tea")}, estimator="dm", bound=9)
    assert values["juice"].value == pytest.approx(2.0, abs=0.05)


def test_the_table_says_which_columns_these_are_in_whatever_order(path: Path) -> None:
    said = read(path, **NAMES, context=["age", "country"], features=BY_VISITOR)
    for context in ([], ["country", "age"]):
        found = read(path, **NAMES, context=context, features=BY_VISITOR)
        assert np.array_equal(found.context, said.context)


@pytest.mark.parametrize("form", ["pandas", "categories", "polars", "parquet"])
def test_other_tables_are_read_alike(path: Path, form: str) -> None:
    frame = shop()
    source: Any = frame
    if form == "categories":
        source = frame.astype({"country": "category"})
    elif form == "polars":
        source = pl.from_pandas(frame)
    elif form == "parquet":
        source = path.with_suffix(".parquet")
        frame.to_parquet(source)
    log, same = (read(each, **NAMES, features=BY_VISITOR) for each in (source, path))
    assert np.array_equal(log.context, same.context)


def test_a_log_in_parts_and_one_that_was_written_are_the_same(path: Path) -> None:
    log = read(path, **NAMES, features=BY_VISITOR)
    parts = list(read_parts(path, names=ColumnNames(**NAMES, features=BY_VISITOR)))
    assert np.array_equal(np.concatenate([part.context for part in parts]), log.context)
    evaluation.write(log, path.with_suffix(".parquet"))
    again = read(path.with_suffix(".parquet"))
    targets = {"tea": "tea"}
    found = [
        evaluation.evaluate(each, targets, estimator="dm", bound=9)["tea"].value for each in (log, again)
    ]
    assert found[0] == found[1]
    sums = evaluation.evaluate_parts(parts, targets, bound=9.0)["tea"]
    assert sums.dm == pytest.approx(found[0], abs=1e-12)


def test_an_empty_text_is_missing(tmp_path: Path) -> None:
    table = features.table({"age": (20, 80)}, {"country": ["DE", "FR"]}, missing="flag")
    path = kept(tmp_path, HEADER + "tea,1,0.5,20,FR\njuice,0,0.5,30,\n")
    log = read(path, **NAMES, features=features.disjoint(["juice", "tea"], context=table))
    assert log.context is not None
    assert np.sign(log.context[:, table.names.index("country missing")]).tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ('tea,"12,5",0.5,20,FR', r"column 'gain' must hold numbers, and row 3 holds a text"),
        ('tea,1,0.5,"20,5",FR', r"column 'age' must hold numbers, and row 3 holds a text"),
        ("tea,12,5,0.5,20,FR", r"row 3 has 6 columns, and the header has 5"),
        ("tea,1,0.5,20", r"row 3 has 4 columns, and the header has 5"),
        ("tea,1,secret,20,FR", r"column 'p' must hold numbers, and row 3 holds a text"),
        ("tea,1,0.5,20,secret", r"country of context 2 is none of its 2 categories"),
        ("tea,1,0.5,90,FR", r"age of context 2 is above its range"),
    ],
)
@pytest.mark.parametrize("is_long", [False, True])
def test_a_row_that_cannot_be_read_is_named_and_not_quoted(
    tmp_path: Path, row: str, words: str, is_long: bool
) -> None:
    """Files are read in blocks: the type of a column is not settled by the first of them."""
    first = "tea,1,0.5,20,FR\njuice,0,0.5,30,DE\n"
    count = 50_000 if is_long else 1
    path = kept(tmp_path, HEADER + first * count + row + "\n")
    rounds = 2 * count
    words = words.replace("row 3", f"row {rounds + 1}").replace("context 2", f"context {rounds}")
    with pytest.raises(InvalidLog, match=words) as refused:
        read(path, **NAMES, features=BY_VISITOR)
    for secret in ("12,5", "20,5", "secret"):
        assert secret not in str(refused.value)


@pytest.mark.parametrize("last", ["12.5", ""])
def test_numbers_may_have_decimals_in_late_rows_alone(tmp_path: Path, last: str) -> None:
    first = "tea,1,1,20,FR\njuice,0,1,30,DE\n" * 50_000
    path = kept(tmp_path, HEADER + first + f"tea,{last},0.5,20.5,FR\n")
    for log in (
        read(path, **NAMES, context=["age"]),
        read(path, **NAMES, features=BY_VISITOR),
        list(read_parts(path, names=ColumnNames(**NAMES, context=("age",))))[-1],
    ):
        assert log.reward[-1] == 12.5 if last else np.isnan(log.reward[-1])
        assert log.propensity is not None
        assert log.propensity[-1] == 0.5


def test_rewards_may_be_missing_in_all_early_rows(tmp_path: Path) -> None:
    path = kept(tmp_path, HEADER + "tea,,0.5,20,FR\n" * 50_000 + "juice,1.5,0.5,20,FR\n")
    parts = list(read_parts(path, names=ColumnNames(**NAMES)))
    for last in (read(path, **NAMES), parts[-1]):
        assert last.reward[-1] == 1.5


def test_columns_of_text_without_a_table_are_refused_with_what_to_do(path: Path) -> None:
    with pytest.raises(InvalidLog, match=r"column 'country' must hold numbers, .*features.table"):
        read(path, **NAMES, context=["age", "country"])
    with pytest.raises(InvalidLog, match="no column is called 'visits'"):
        read(path, **NAMES, features=features.disjoint(2, context=features.table({"visits": (0, 9)})))
    with pytest.raises(InvalidSetting, match=r"features must be a map such as infex.features.disjoint"):
        read(path, **NAMES, features=VISITOR)


def run(*words: object) -> Any:
    return CliRunner().invoke(main, [str(word) for word in words])


COLUMNS = ("--arm", "shown", "--reward", "gain")


def test_the_command_reads_columns_of_text(path: Path) -> None:
    asked = "--policy", "tea", "--estimator", "dm", "--bound", "9", "--context", "age", "--context", "country"
    columns = (*COLUMNS, "--propensity", "p")
    result = run("evaluate", path, *columns, *asked, "--features", "table disjoint", "--json")
    assert result.exit_code == 0, result.output
    log = read(path, **NAMES, features=BY_VISITOR)
    value = evaluation.evaluate(log, {"tea": "tea"}, estimator="dm", bound=9)["tea"].value
    assert json.loads(result.stdout)["targets"][0]["value"] == pytest.approx(value, abs=1e-9)
    refused = run("evaluate", path, *columns, *asked)
    assert refused.exit_code == 2
    assert "table disjoint" in refused.output
    assert run("evaluate", path, *columns, *asked, "--features", "tabel disjoint").exit_code == 2


def test_a_map_of_a_module_reads_columns_of_text(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop_maps.py").write_text(
        "from infex import features\n"
        "visitor = features.table({'age': (20, 80)}, {'country': ['DE', 'FR']})\n"
        "by_visitor = features.disjoint(['juice', 'tea'], context=visitor)\n"
    )
    monkeypatch.chdir(tmp_path)
    asked = "--policy", "tea", "--estimator", "dm", "--bound", "9", "--features", "shop_maps:by_visitor"
    result = run("evaluate", path, *COLUMNS, "--propensity", "p", *asked)
    assert result.exit_code == 0, result.output


def test_interactions_take_the_features_of_arms_from_a_file_by_their_labels(
    path: Path, tmp_path: Path
) -> None:
    asked = "--policy", "tea", "--estimator", "dm", "--bound", "9", "--context", "country", "--json"
    words = "evaluate", path, *COLUMNS, "--propensity", "p", *asked, "--features", "table interactions"
    assert run(*words).exit_code == 2
    said = []
    for rows in ("juice,1.0,0.0\ntea,0.3,0.4\n", "tea,0.3,0.4\njuice,1.0,0.0\n"):
        (tmp_path / "arms.csv").write_text(f"arm,sweet,hot\n{rows}")
        result = run(*words, "--arms", tmp_path / "arms.csv")
        assert result.exit_code == 0, result.output
        said.append(json.loads(result.stdout)["targets"][0]["value"])
    assert said[0] == pytest.approx(said[1], abs=1e-12)
    frame = shop()
    tea, france = frame["shown"] == "tea", frame["country"] == "FR"
    assert said[0] == pytest.approx(frame["gain"][tea].groupby(france).mean().mean(), abs=0.1)
    assert run(*words[:-2], "--arms", tmp_path / "arms.csv").exit_code == 2


def test_a_plan_names_columns_as_an_evaluation_does(path: Path, tmp_path: Path) -> None:
    more = "--horizon", "200", "--seconds", "1", "--out", tmp_path / "planned", "--json"
    table = "--features", "table disjoint", "--context", "age", "--context", "country", "--bound", "5"
    assert run("plan", "--logged", path, *COLUMNS, *table, *more).exit_code == 0
    assert run("plan", "--logged", path, *table, *more).exit_code == 2
    (tmp_path / "arms.csv").write_text("arm,sweet\njuice,1.0\ntea,0.5\n")
    arms = "--arms", tmp_path / "arms.csv", "--bound", "5"
    assert run("plan", "--logged", path, *COLUMNS, *arms, *more).exit_code == 0
    refused = run("plan", "--logged", path, *arms, *more)
    assert (refused.exit_code, "a column 'arm' is needed" in refused.output) == (2, True)
