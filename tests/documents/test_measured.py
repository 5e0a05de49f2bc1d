"""Figures that documents quote are those that were recorded."""

import json
import re
from typing import Any

import pytest

from docs.building import measured, pages
from infex.lab import specs, theory

RECORDED = json.loads((pages.DOCS / "measured" / "peers.json").read_text())
LIBRARIES = {"NumPy loop", "coba", "river", "contextualbandits", "MABWiser"}


def recorded(title: str, column: int) -> dict[str, str]:
    """The figures of a table's column, by library, without their ratios."""
    (table,) = [each for each in RECORDED["tables"] if each["title"].startswith(title)]
    return {row[0]: row[column].split(" (")[0] for row in table["rows"]}


def test_the_readme_quotes_what_was_recorded() -> None:
    rows = [line for line in (pages.ROOT / "README.md").read_text().splitlines() if line.startswith("| a")]
    tables = [recorded("A simulated round", 1), recorded("A round with a context", 2)]
    quoted = {}
    for row, table in zip(rows, tables, strict=True):
        _, _, ours, others, _ = row.split("|")
        assert ours.split()[0] == table["infex"]
        for name, figure in re.findall(r"([A-Za-z][\w ]*?) ([\d,.]+) µs", others):
            assert table[name.strip()] == figure, name
            quoted[name.strip()] = figure
    assert quoted.keys() == LIBRARIES


def test_the_readme_quotes_errors_that_were_recorded() -> None:
    (row,) = [line for line in (pages.ROOT / "README.md").read_text().splitlines() if "collinear" in line]
    table = recorded("Exactness", 2)
    _, _, ours, others, _ = row.split("|")
    assert ours.strip() == table["infex"]
    default = table["contextualbandits, its default of 32 bits"]
    said = f"river {table['river']}, MABWiser {table['MABWiser']}, contextualbandits' default {default}"
    assert others.strip() == said


def test_a_table_has_a_row_for_each_library_and_says_when_and_with_what() -> None:
    text = measured.write("peers.json", [])
    for table in RECORDED["tables"]:
        assert f"**{table['title']}**" in text
        assert {len(row) for row in table["rows"]} == {len(table["columns"])}
        assert "infex" in {row[0] for row in table["rows"]}
    assert RECORDED["date"] in text
    assert all(f"{name} {version}" in text for name, version in RECORDED["versions"].items())


@pytest.mark.parametrize("page", ["adaptive", "atlas"])
def test_a_page_shows_every_table_and_quotes_intervals_of_theirs_alone(page: str) -> None:
    text = (pages.DOCS / f"{page}.md").read_text()
    tables = json.loads((pages.DOCS / "measured" / f"{page}.json").read_text())["tables"]
    blocks = re.findall(rf"```\{{measured\}} {page}\.json\n(.*?)\n?```", text, re.DOTALL)
    titles = [title for block in blocks for title in block.splitlines()]
    assert sorted(titles) == sorted(table["title"] for table in tables)
    assert all(measured.write(f"{page}.json", [title]).startswith(f"**{title}**") for title in titles)
    cells = "\n".join(cell.replace("*", "") for table in tables for row in table["rows"] for cell in row)
    quoted = re.findall(r"[+-]?\d[\d.,]* \[[^\]()]+\]", " ".join(text.split()))
    assert len(quoted) > 10
    for each in quoted:
        assert each in cells, each


@pytest.mark.compiled
def test_regret_in_the_table_of_the_paper_is_what_the_page_itself_plays() -> None:
    page = pages.DOCS / "paper.md"
    names: dict[str, Any] = {}
    figure = next(block for block in pages.programs(page) if block.language == "{picture}")
    pages.run_python(page, figure, figure.code, names)
    results = names["results"]
    shown = dict(re.findall(r"^\| `(.+?)` \| (.+) \|$", page.read_text(), re.MULTILINE))
    assert len(results.policies) == 5
    for policy in results.policies:
        finals = [results.regret(cell, policy) for cell in results.cells]
        assert shown[policy] == " | ".join(f"{each.mean():,.0f} ± {each.std(ddof=1):,.0f}" for each in finals)


WORST = json.loads((pages.DOCS / "measured" / "worst-case.json").read_text())
FIGURES = {
    (table["title"].strip("`."), row[0].strip("`")): row for table in WORST["tables"] for row in table["rows"]
}


def test_worst_cases_are_recorded_in_units_of_the_bound() -> None:
    horizon = 10**6
    assert len(FIGURES) == 30
    for (_, schedule), row in FIGURES.items():
        explorations, regret, times = (int(row[place].replace(",", "")) for place in (1, 2, 4))
        (named,) = specs.named(schedule, "schedule")
        assert named.thing.count(horizon) == explorations
        assert times == pytest.approx(
            regret / theory.worst_case_bound(horizon, explorations), abs=0.6, rel=1e-3
        )


def test_the_page_of_worst_cases_quotes_what_was_recorded() -> None:
    text = " ".join((pages.DOCS / "worst-case.md").read_text().split())
    shares = {key: row for key, row in FIGURES.items() if int(row[5].rstrip("%")) < 10}
    times = [int(row[4]) for row in shares.values()]
    counts = [int(row[1].replace(",", "")) for row in shares.values()]
    assert f"between {min(times)} and {max(times)} times the floor" in text
    assert f"f(T) goes from {min(counts)} to {max(counts):,}" in text
    row = FIGURES["LinUCB", "logarithmic(2)"]
    assert f"{row[2]} [{row[3].replace(' to ', ', ')}]" in text
    late = [FIGURES["Uniform", f"power({r})"] for r in ("0.65", "0.8", "1")]
    assert "late slopes are {}, {} and {}, each ± 0.03".format(*(row[6] for row in late)) in text
    assert {row[8] for row in late} == {"± 0.03"}
    row = FIGURES["LinUCB", "power(1)"]
    assert f"has the slope {row[6]} [{row[7].replace(' to ', ', ')}]" in text
    row = FIGURES["LinUCB", "power(0.8)"]
    assert f"its slope is {row[6]} {row[8]}" in text
    logs = [
        row[10]
        for (_, schedule), row in FIGURES.items()
        if schedule in ("logarithmic(1)", "logarithmic(1.5)", "logarithmic(2)")
    ]
    assert f"are {min(each.split()[0] for each in logs)} or more" in text
    assert min(float(each.split("[")[1].split(",")[0]) for each in logs) > 0.6
