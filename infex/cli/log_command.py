"""`infex log`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from infex.cli.evaluate_command import FORMATS
from infex.cli.options import FILE
from infex.errors import PartsDiffer

if TYPE_CHECKING:
    from infex.logs import Log


@click.group()
def log() -> None:
    """Logs of decisions: infex's own, and other formats.

    \b
    infex log convert events.dsjson year.parquet --context "age,visits" --features "price"
    infex log convert shop.log year.parquet         what Bandit(log=...) wrote, as Parquet
    """


@log.command()
@click.argument("source", type=FILE)
@click.argument("target", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--form", type=click.Choice(FORMATS), help="Format of the source  [default: detected]")
@click.option("--to", type=click.Choice(("infex", "obp", "dsjson")), default="infex", show_default=True)
@click.option("--arm", default="arm", show_default=True, help="The column of arms.")
@click.option("--reward", default="reward", show_default=True, help="The column of rewards.")
@click.option("--propensity", default="propensity", show_default=True, help="The column of propensities.")
@click.option("--round", "round_", default="round", show_default=True, help="The column of rounds.")
@click.option("--context", default="", help="Columns of the context, or features that arms share: a,b,c.")
@click.option("--features", default="", help="Features of each arm, in dsjson: a,b,c.")
@click.option("--sort", is_flag=True, help="Sort rows by round.")
def convert(
    source: Path,
    target: Path,
    form: str | None,
    to: str,
    arm: str,
    reward: str,
    propensity: str,
    round_: str,
    context: str,
    features: str,
    sort: bool,
) -> None:
    """Checks the log SOURCE and writes it to the file TARGET in another format.

    Parquet is written some rows at a time, in little memory.
    """
    from infex.logs import ColumnNames, read, read_parts, write

    names = ColumnNames(
        arm=arm, reward=reward, propensity=propensity, round=round_,
        context=_listed(context), arms=_listed(features),
    )  # fmt: skip
    count = 0
    if to == "infex" and not sort:

        def counted(part: Log) -> Log:
            nonlocal count
            count += len(part)
            return part

        try:
            write(map(counted, read_parts(source, form, names=names)), target)  # type: ignore[arg-type]
        except PartsDiffer:
            count = 0
    if not count:
        more = {"context": names.context, "arms": names.arms, "sort": sort}
        columns = {"arm": arm, "reward": reward, "propensity": propensity, "round": round_}
        whole = read(source, form, **columns, **more)  # type: ignore[arg-type]
        write(whole, target, to)  # type: ignore[arg-type]
        count = len(whole)
    click.echo(f"written: {target}, {count:,} rounds")


def _listed(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip())
