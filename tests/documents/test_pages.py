"""The code that pages show runs from top to bottom, and commands that they name exist."""

import re
import shlex
from pathlib import Path

import click
import pytest

from docs.building import pages
from infex.cli.main import main
from infex.client import RemoteDecision

PAGES = [page for page in pages.pages() if pages.programs(page)]


def called(page: Path) -> str:
    return str(page.relative_to(pages.DOCS))


@pytest.fixture(autouse=True)
def a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib

    matplotlib.use("svg")
    monkeypatch.chdir(tmp_path)


@pytest.mark.compiled
@pytest.mark.parametrize("page", PAGES, ids=called)
def test_a_page_runs_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    pages.run(page, tmp_path / "pictures")
    drawn = {path.name for path in (tmp_path / "pictures").glob("*")}
    assert drawn == {block.rest for block in pages.blocks(page) if block.language == "{picture}"}


NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")


def coordinates(drawing: str) -> list[float]:
    return [float(each) for path in re.findall(r' d="([^"]*)"', drawing) for each in NUMBER.findall(path)]


@pytest.mark.compiled
@pytest.mark.parametrize("name", pages.kept_pictures())
def test_a_picture_that_is_kept_is_the_one_that_its_page_draws(name: str, tmp_path: Path) -> None:
    pages.run(pages.kept_pictures()[name], tmp_path)
    drawn, kept = (tmp_path / name).read_text(), (pages.DOCS / name).read_text()
    assert re.findall(r"<text[^>]*>([^<]*)", drawn) == re.findall(r"<text[^>]*>([^<]*)", kept)
    assert len(coordinates(kept)) > 500
    assert coordinates(drawn) == pytest.approx(coordinates(kept), abs=0.5), "`make docs` draws it again"


@pytest.mark.compiled
def test_captions_of_the_picture_say_what_each_policy_and_a_tuned_linucb_end_at() -> None:
    import infex

    policies = ["LinUCB", "Infex(LinUCB, every(20))", "Greedy", "LinUCB(scale=0.2)"]
    sweep = infex.lab.Sweep(
        environments=["gaussian(dim=10, arms=100)"], policies=policies, horizon=10_000, seeds=20
    )
    results = sweep.run(workers=1)
    (cell,) = results.cells
    means = [f"{results.regret(cell, policy).mean():,.0f}" for policy in policies]
    said = (
        "ends at {} (INFEX at {}, greedy at {}). With a fifth of that radius, `{}`, "
        "it ends at {} on the same problems"
    )
    for page in (pages.ROOT / "README.md", pages.DOCS / "index.md"):
        assert said.format(*means[:3], policies[3], means[3]) in " ".join(page.read_text().split())


def test_the_picture_of_the_readme_is_kept() -> None:
    (shown,) = re.findall(r"!\[[^]]*\]\(docs/([^)]*)\)", (pages.ROOT / "README.md").read_text())
    assert list(pages.kept_pictures()) == [shown]


def test_code_that_asks_a_service_is_answered_by_a_real_one(tmp_path: Path) -> None:
    import infex

    with infex.Study.open("sqlite:///shop.db", "tea", arms=[[1.0, 0.0], [0.0, 1.0]], policy=infex.LinUCB()):
        pass
    page = tmp_path / "page.md"
    shown = (
        'with infex.Client("http://127.0.0.1:8321") as client:\n    found = client.study("tea").ask("a")\n'
    )
    starts = "```console\ninfex serve --db sqlite:///shop.db\n```\n"
    page.write_text(f"{starts}```python\nimport infex\n```\n```python served\n{shown}```\n")
    found = pages.run(page)["found"]
    assert isinstance(found, RemoteDecision)
    assert not found.fallback
    with infex.Study.open("sqlite:///shop.db", "tea") as study:
        assert study.state("a") == "pending"
    page.write_text(f"{starts}```python served\nasks = 'nobody'\n```\n")
    with pytest.raises(AssertionError, match="asks no service"):
        pages.run(page)


def test_no_block_of_python_is_left_out() -> None:
    marks = {
        block.rest for page in pages.pages() for block in pages.blocks(page) if block.language == "python"
    }
    assert marks == {"", "peer", "served"}


def test_code_that_fails_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Words\n\n```python\nx = 1\n```\n\n```python\nassert x == 2, 'told'\n```\n")
    with pytest.raises(AssertionError, match="told"):
        pages.run(page)
    page.write_text("```sh\ninfex plan --horizon never\n```\n")
    with pytest.raises(AssertionError, match="infex plan --horizon never ended with 2"):
        pages.run(page)
    page.write_text("```{picture} a.svg\n:alt: Nothing.\nfigure = None\n```\n")
    with pytest.raises(AssertionError, match="leaves a figure"):
        pages.run(page, tmp_path)


def unknown_words(words: list[str]) -> list[str]:
    """Commands and options of a line that infex does not have."""
    command: click.Command = main
    context = click.Context(main, info_name="infex")
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        inner = command.get_command(context, words[0])
        if inner is None:
            return words[:1]
        command, words = inner, words[1:]
    known = {option for each in command.get_params(context) for option in each.opts + each.secondary_opts}
    return [word for word in words if word.startswith("--") and word.split("=")[0] not in known]


@pytest.mark.parametrize("page", [*pages.pages(), pages.ROOT / "README.md"], ids=lambda page: page.name)
def test_every_command_that_is_shown_exists(page: Path) -> None:
    shown = [words for block in pages.blocks(page) for words in pages.commands(block.code)]
    assert not [(shlex.join(words), gone) for words in shown if (gone := unknown_words(words))]


def test_a_command_that_is_gone_is_seen() -> None:
    assert unknown_words(["study", "show", "url"]) == []
    assert unknown_words(["study", "shew", "url"]) == ["shew"]
    assert unknown_words(["plan", "--horizon", "10", "--fast"]) == ["--fast"]


def test_no_picture_is_without_words_for_those_who_cannot_see_it() -> None:
    for page in pages.pages():
        for block in pages.blocks(page):
            if block.language == "{picture}":
                assert ":alt: " in block.code, f"{page.name}: {block.rest}"
