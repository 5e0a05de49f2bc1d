"""`infex study`: what is kept of studies, checked, explained, changed and taken elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from infex.cli.options import FILE
from infex.cli.output import as_json

Command = Callable[..., None]


@click.group()
def study() -> None:
    """Studies: bandits with a journal.

    URL is sqlite:///file.db or postgresql://user@host/database. What only reads works beside the process that
    has a study open.
    """


def _json(command: Command) -> Command:
    return click.option("--json", "json_wanted", is_flag=True, help="Print JSON.")(command)


def _say(found: Any, json_wanted: bool, lines: list[str]) -> None:
    click.echo(as_json(found) if json_wanted else "\n".join(lines))


@study.command("list")
@click.argument("url")
@_json
def list_studies(url: str, json_wanted: bool) -> None:
    """The studies that are kept at URL."""
    from infex.study.inspection import list_studies as listed

    rows = listed(url)
    lines = [f"{row['name']}: {row['entries']} entries since {row['opened']}" for row in rows]
    _say(rows, json_wanted, lines or ["no studies"])


@study.command()
@click.argument("url")
@click.argument("name")
@_json
def show(url: str, name: str, json_wanted: bool) -> None:
    """The settings of a study, its amendments, and a checkpoint to be kept elsewhere."""
    from infex.study.inspection import describe_study

    found = describe_study(url, name)
    lines = [f"{name}: {found['entries']} entries, begun by infex {found['infex']}"]
    lines += [f"  {word}: {value}" for word, value in found["settings"].items() if value is not None]
    lines += map(_amendment, found["amendments"])
    _say(found, json_wanted, [*lines, f"checkpoint {found['checkpoint']}"])


def _amendment(each: dict[str, Any]) -> str:
    return f"  entry {each['entry']}, {each['at']}: {each['what']} ({each['reason']})"


@study.command()
@click.argument("url")
@click.argument("name")
@click.option("--key", help="The entries of one key.")
@click.option("--last", type=click.IntRange(min=1), help="So many entries from the end.")
@click.option("--contents", is_flag=True, help="Show contexts, rewards and units too.")
@_json
def log(url: str, name: str, key: str | None, last: int | None, contents: bool, json_wanted: bool) -> None:
    """The entries of a journal; contexts are not shown unless they are asked for."""
    from infex.study.inspection import log_rows

    rows = log_rows(url, name, key, last, contents)
    _say(rows, json_wanted, [_entry(row, contents) for row in rows])


def _entry(row: dict[str, Any], contents: bool) -> str:
    """An entry in a line."""
    content = "  (erased)" if row["erased"] else f"  {row['content']}" if contents else ""
    return f"{row['entry']:>8}  {row['at']}  {row['kind']:<10}  {row['key']}{content}"


@study.command()
@click.argument("url")
@click.argument("name")
@click.argument("key")
@click.option("--contents", is_flag=True, help="Show the context and the unit too.")
@_json
def explain(url: str, name: str, key: str, contents: bool, json_wanted: bool) -> None:
    """Why a decision was taken, decided once more from the journal to prove it."""
    from infex.study.explain import explain as explanation_of
    from infex.study.stores.base import reading

    with reading(url, name) as store:
        found = explanation_of(store, name, {}, key, contents).plain()
    _say(found, json_wanted, _explained(found))


def _explained(found: dict[str, Any]) -> list[str]:
    decision = found["decision"]
    if decision is None:
        return [f"{found['key']}: {found['state']}, entry {found['entry']} of {found['at']}"]
    label = decision["arm"] if decision["label"] is None else decision["label"]
    proof = {True: "proven: decided once more, it comes out the same", False: "NOT what this state decides"}
    lines = [
        f"{found['key']}: arm {label} in round {decision['t']}, {decision['reason']}, {found['at']}",
        f"  reward {found['reward']} ({found['state']}), policy {found['policy']}",
        f"  {proof.get(found['proven'], 'cannot be proven: something it rested on was erased')}",
    ]
    lines += [_offered(offer, offer["arm"] == decision["arm"]) for offer in found["offers"]]
    return lines + [f"    {word}: {share:+.4g}" for word, share in found["shares"].items()]


def _offered(offer: dict[str, Any], played: bool) -> str:
    label = offer["arm"] if offer["label"] is None else offer["label"]
    interval = f"{offer['low']:.4g} to {offer['high']:.4g}"
    return f"  {'*' if played else ' '} {label}: {offer['estimate']:.4g} ({interval})"


@study.command()
@click.argument("url")
@click.argument("name")
@click.option("--out", type=FILE, required=True, help="A file of Parquet.")
@_json
def export(url: str, name: str, out: Path, json_wanted: bool) -> None:
    """Writes all decisions with their rewards as a log in Parquet.

    The column held_out says which were for units that are held out.
    """
    from infex.study.export import export as write
    from infex.study.stores.base import reading

    with reading(url, name) as store:
        count, held = write(store, name, {}, out)
    words = f"{count} decisions in {out}, {held} of them for units that are held out"
    _say({"rows": count, "held_out": held, "file": str(out)}, json_wanted, [words])


@study.command()
@click.argument("url")
@click.argument("name")
@click.option("--checkpoint", help="What `show` or `verify` printed before, kept elsewhere.")
@_json
def verify(url: str, name: str, checkpoint: str | None, json_wanted: bool) -> None:
    """Replays the whole journal and compares every decision; names the first entry that does not fit.

    The exit code is 1 if one does not.
    """
    from infex.study.stores.base import reading
    from infex.study.verify import verify as verdict_of

    with reading(url, name) as store:
        found = verdict_of(store, name, {}, checkpoint)
    counts = f"{found.entries} entries, {found.decisions} decisions, {found.proven} proven"
    if found.unproven:
        counts += f", {found.unproven} that rest on what was erased since"
    lines = [f"holds: {counts}" if found.holds else f"does not hold: {found.why}"]
    _say(found, json_wanted, [*lines, f"checkpoint {found.checkpoint}"])
    if not found.holds:
        sys.exit(1)


@study.command()
@click.argument("url")
@click.argument("file", type=FILE)
@_json
def backup(url: str, file: Path, json_wanted: bool) -> None:
    """Copies all studies at URL into a new FILE, while they are in use."""
    from infex.study.inspection import back_up

    names = back_up(url, file)
    _say({"studies": names, "file": str(file)}, json_wanted, [f"{len(names)} studies in {file}"])


@study.command()
@click.argument("url")
@click.argument("name")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--keep", type=click.IntRange(min=1), required=True, help="How many of the newest entries stay."
)
@_json
def archive(url: str, name: str, folder: Path, keep: int, json_wanted: bool) -> None:
    """Moves old entries out of the database into files in FOLDER, where they are still found.

    Only for SQLite, whose file must not be open in another process.
    """
    from infex.study.study import Study

    with Study.open(url, name) as opened:
        count = opened.archive(folder, keep=keep)
    _say({"archived": count, "folder": str(folder)}, json_wanted, [f"{count} entries went to {folder}"])


@study.command()
@click.argument("file", type=FILE)
@click.argument("url")
@_json
def restore(file: Path, url: str, json_wanted: bool) -> None:
    """Brings the studies of a backup to URL, which must have none of their names."""
    from infex.study.inspection import restore as bring
    from infex.study.stores.base import without_password

    names, there = bring(file, url), without_password(url)
    _say({"studies": names, "url": there}, json_wanted, [f"{len(names)} studies at {there}"])


@study.command()
@click.argument("url")
@click.argument("name")
@click.option("--policy", required=True, help='Such as "Infex(LinUCB, every(50))" or "my.rules:Mine(c=3)".')
@click.option("--reason", required=True, help="Why it is changed; it is kept in the journal.")
@_json
def amend(url: str, name: str, policy: str, reason: str, json_wanted: bool) -> None:
    """Puts another policy in force, as an entry of the journal."""
    from infex.errors import InvalidSetting
    from infex.lab.expressions import read
    from infex.study.study import Study

    chosen = read(policy, "policy")
    if len(chosen) != 1:
        raise InvalidSetting(f"{policy!r} names {len(chosen)} policies: one is to be in force")
    with Study.open(url, name) as opened:
        opened.amend(policy=chosen[0].make(), reason=reason)
    _say({"study": name, "policy": policy}, json_wanted, [f"{policy} is in force"])


@study.command(context_settings={"ignore_unknown_options": True})  # a reward may begin with a minus
@click.argument("url")
@click.argument("name")
@click.argument("key")
@click.argument("reward", type=float)
@click.option("--reason", default="", help="Why; it is kept in the journal.")
@_json
def correct(url: str, name: str, key: str, reward: float, reason: str, json_wanted: bool) -> None:
    """Puts the reward of the decision KEY right, as if REWARD had been told in the first place.

    A database of PostgreSQL may be in use meanwhile; one of SQLite must not be open in another process.
    """
    from infex.study.study import Study

    with Study.open(url, name) as opened:
        state = str(opened.correct(key, reward, reason=reason))
    found = {"key": key, "reward": reward, "state": state}
    _say(found, json_wanted, [f"{key}: the reward is {reward:g} ({state})"])


@study.command()
@click.argument("url")
@click.argument("name")
@click.argument("unit")
@click.option("--reason", default="", help="Why; it is kept in the journal.")
@_json
def forget(url: str, name: str, unit: str, reason: str, json_wanted: bool) -> None:
    """Erases all that is kept of UNIT: contexts, decisions and rewards.

    The keys of its decisions stay in the journal.
    """
    from infex.study.study import Study

    with Study.open(url, name) as opened:
        count = opened.forget(unit, reason=reason)
    _say({"erased": count}, json_wanted, [f"{count} entries were erased"])


@study.command()
@click.argument("url")
@click.argument("name")
@_json
def metrics(url: str, name: str, json_wanted: bool) -> None:
    """Figures for operations: rewards by state, delays, exploration, days."""
    from infex.study.inspection import metrics_at

    found = metrics_at(url, name, int(time.time() * 1_000_000))
    _say(found, json_wanted, [f"{word}: {value}" for word, value in found.items()])
