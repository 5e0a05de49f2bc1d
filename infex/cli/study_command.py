"""`infex study`: what is kept of studies, checked, explained, changed and taken elsewhere."""

from __future__ import annotations

import contextlib
import functools
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from infex.arrays import as_json
from infex.cli.options import FILE

Command = Callable[..., None]
SECONDS_TO_ANSWER = 30.0  # of a service; what reads a whole journal may take longer


@click.group()
def study() -> None:
    """Studies: bandits with a journal.

    URL is sqlite:///file.db, postgresql://user@host/database, or the http:// address of a service, whose
    token is --token or INFEX_TOKEN. Through a service nothing has to be stopped; one process alone may open a
    file of SQLite to write. What only reads works beside it. list, show, log, backup and restore need the
    database itself.
    """


def _json(command: Command) -> Command:
    return click.option("--json", "json_wanted", is_flag=True, help="Print JSON.")(command)


def _at_study(reads: bool = False) -> Callable[[Command], Command]:
    """Gives a command the study that URL and NAME say; what only `reads` works beside whoever has it open."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def run(url: str, name: str, token: str | None, **words: Any) -> None:
            with _opened(url, name, token, reads) as found:
                command(found, **words)

        return _place(_json(run))

    return decorate


def _place(command: Command) -> Command:
    words = "Of the service at an http:// address; better in INFEX_TOKEN."
    option = click.option("--token", envvar="INFEX_TOKEN", help=words)
    return click.argument("url")(click.argument("name")(option(command)))


@contextlib.contextmanager
def _opened(url: str, name: str, token: str | None, reads: bool, **settings: Any) -> Iterator[Any]:
    """A study with its verbs: of a service, as its store has it, or opened here; begun, with settings."""
    if url.startswith(("http://", "https://")):
        from infex.client import Client

        with Client(url, token, seconds=SECONDS_TO_ANSWER) as client:
            yield client.open(name, **settings) if settings else client.study(name)
    elif reads:
        from infex.study.inspection import stored_study

        with stored_study(url, name) as stored:
            yield stored
    else:
        from infex.study.study import Study

        with Study.open(url, name, **settings) as here:
            yield here


def _amends(command: Command) -> Command:
    """The options that all amendments have."""
    key = "Makes it once, however often it is sent; another amendment under it is refused."
    command = click.option("--key", help=key)(command)
    reason = "Why it is changed; it is kept in the journal."
    return _at_study()(click.option("--reason", required=True, help=reason)(command))


def _label(text: str) -> str | int:
    """A label, or the number of an arm: what is written as a number is one, unless it is in quotes."""
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return found if isinstance(found, str | int) and not isinstance(found, bool) else text


def _plain_json(name: str, text: str | None) -> Any:
    """What an option says in JSON."""
    from infex.errors import InvalidSetting

    try:
        return None if text is None else json.loads(text)
    except ValueError:
        raise InvalidSetting(f"{name} must be JSON, got {text!r}") from None


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


@study.command("open")
@_place
@click.option("--settings", type=FILE, required=True, help="JSON with the fields of POST /v1/studies.")
@click.option("--learn-from", type=FILE, help="A log, whose rewards are learnt before the first decision.")
@click.option("--arm", default="arm", show_default=True, help="The column of arms in that log.")
@click.option("--reward", default="reward", show_default=True, help="The column of rewards.")
@click.option("--unit", default="unit", show_default=True, help="The column of units, if there is one.")
@_json
def open_study(
    url: str,
    name: str,
    token: str | None,
    settings: Path,
    learn_from: Path | None,
    arm: str,
    reward: str,
    unit: str,
    json_wanted: bool,
) -> None:
    """Begins the study NAME, or finds it, if it has these settings.

    Columns of contexts in a log are called as the study's table calls them.

    \b
    {"policy": "Infex(LinUCB, every(50))", "arms": [[1, 0], [0, 1]], "labels": ["tea", "juice"]}
    """
    from infex.errors import InvalidSetting
    from infex.service.schemas import BodyDecoder, StudyRequest

    try:
        given = json.loads(settings.read_bytes())
    except ValueError as fault:
        raise InvalidSetting(f"the content of {settings} must be JSON: {fault}") from None
    if not isinstance(given, dict):
        raise InvalidSetting(f"{settings} must have an object of JSON, with the settings by name")
    request = BodyDecoder(StudyRequest).decode(json.dumps(given | {"name": name}).encode())
    awaited = {} if learn_from is None else {"awaits_log": True}
    with _opened(url, name, token, False, **request.settings() | awaited) as opened:
        if learn_from is not None:
            opened.learn_from(learn_from, arm=arm, reward=reward, unit=unit)
        entries = opened.metrics()["entries"]
    _say({"study": name, "entries": entries}, json_wanted, [f"{name}: {entries} entries"])


@study.command()
@_at_study(reads=True)
@click.argument("key")
@click.option("--contents", is_flag=True, help="Show the context and the unit too.")
def explain(opened: Any, key: str, contents: bool, json_wanted: bool) -> None:
    """Why a decision was taken, decided once more from the journal to prove it."""
    found = opened.explain(key, contents=contents)
    _say(found, json_wanted, _explained(found, contents))


def _explained(found: dict[str, Any], contents: bool) -> list[str]:
    decision = found["decision"]
    if decision is None:
        return [f"{found['key']}: {found['state']}, entry {found['entry']} of {found['at']}"]
    label = decision["arm"] if decision["label"] is None else decision["label"]
    proof = {True: "proven: decided once more, it comes out the same", False: "NOT what this state decides"}
    lines = [
        f"{found['key']}: arm {label} in round {decision['t']}, {decision['reason']}, {found['at']}",
        f"  estimate when it was decided: {_estimate(decision)}",
        f"  reward {found['reward']} ({found['state']}), policy {found['policy']}",
        f"  {proof.get(found['proven'], 'cannot be proven: something it rested on was erased')}",
    ]
    if contents:
        request = found["request"] or {}
        lines += [f"  {word}: {json.dumps(value)}" for word, value in request.items() if value is not None]
        lines += [] if found["unit"] is None else [f"  unit: {found['unit']}"]
    if found["proven"] is None:
        lines.append("  these leave out what was erased, and are not the estimates that it was decided on:")
    lines += [_offered(offer, offer["arm"] == decision["arm"]) for offer in found["offers"]]
    return lines + [f"    {word}: {share:+.4g}" for word, share in found["shares"].items()]


def _offered(offer: dict[str, Any], played: bool) -> str:
    label = offer["arm"] if offer["label"] is None else offer["label"]
    return f"  {'*' if played else ' '} {label}: {_estimate(offer)}"


def _estimate(found: dict[str, Any]) -> str:
    """The estimate of an arm with its interval."""
    low, high = (f"{end:.4g}" if end is not None else "no end" for end in (found["low"], found["high"]))
    return f"{found['estimate']:.4g} ({low} to {high})"


@study.command()
@_at_study(reads=True)
@click.option("--out", type=FILE, required=True, help="A file of Parquet.")
def export(opened: Any, out: Path, json_wanted: bool) -> None:
    """Writes all decisions with their rewards as a log in Parquet.

    The column held_out says which were for units that are held out.
    """
    found = opened.export(out)
    words = f"{found['rows']} decisions in {out}, {found['held_out']} of them for units that are held out"
    _say(found | {"file": str(out)}, json_wanted, [words])


@study.command()
@_at_study(reads=True)
@click.option("--checkpoint", help="What `show` or `verify` printed before, kept elsewhere.")
def verify(opened: Any, checkpoint: str | None, json_wanted: bool) -> None:
    """Replays the whole journal and compares every decision; names the first entry that does not fit.

    The exit code is 1 if one does not.
    """
    found = opened.verify(checkpoint)
    counts = f"{found['entries']} entries, {found['decisions']} decisions, {found['proven']} proven"
    if found["unproven"]:
        counts += f", {found['unproven']} that rest on what was erased since"
    lines = [f"holds: {counts}" if found["holds"] else f"does not hold: {found['why']}"]
    _say(found, json_wanted, [*lines, f"checkpoint {found['checkpoint']}"])
    if not found["holds"]:
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
@_at_study()
@click.option(
    "--keep", type=click.IntRange(min=1), required=True, help="How many of the newest entries stay."
)
def archive(opened: Any, keep: int, json_wanted: bool) -> None:
    """Moves old entries out of a database of SQLite into files beside it, where they are still found."""
    count = opened.archive(keep=keep)
    _say({"archived": count}, json_wanted, [f"{count} entries were archived"])


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
@_amends
@click.option(
    "--policy", help='Such as "Infex(LinUCB, every(50))"; not through a service: "my.rules:Mine(c=3)".'
)
@click.option("--allowed", help="May exploring try this arm? JSON, one for each: [true, false].")
@click.option("--pending", help="How decisions that wait for their rewards count: narrow or ignore.")
@click.option(
    "--freeze", is_flag=True, help="Those held out get the greedy arm of the present state from now on."
)
@click.option("--apprentice", type=bool, help="false lets a study decide from now on that was an apprentice.")
def amend(
    opened: Any,
    policy: str | None,
    allowed: str | None,
    pending: str | None,
    freeze: bool,
    apprentice: bool | None,
    reason: str,
    key: str | None,
    json_wanted: bool,
) -> None:
    """Puts another policy in force, and other settings, as entries of the journal."""
    changes = {
        "policy": None if policy is None else _policy(opened, policy),
        "allowed": _plain_json("--allowed", allowed),
        "pending": pending,
        "freeze": freeze or None,
        "apprentice": apprentice,
    }
    given = {field: to for field, to in changes.items() if to is not None}
    opened.amend(**given, reason=reason, key=key)
    words = f"{opened.name}: changed {', '.join(given)}"
    _say({"study": opened.name, "changed": list(given)}, json_wanted, [words])


def _policy(opened: Any, text: str) -> Any:
    """The policy that a text names; for a service the text itself, of which nothing is loaded here."""
    from infex.client import RemoteStudy
    from infex.errors import InvalidSetting
    from infex.lab.expressions import read, references

    if isinstance(opened, RemoteStudy):
        if own := references(text):
            raise InvalidSetting(f"{own[0]} is not a policy of infex: a service takes no other")
        return text
    chosen = read(text, "policy")
    if len(chosen) != 1:
        raise InvalidSetting(f"{text!r} names {len(chosen)} policies: one is to be in force")
    return chosen[0].make()


@study.command("add-arms")
@_amends
@click.argument("labels", nargs=-1)
@click.option("--rows", help="The features of each new arm, where arms have some: [[0.6, 0.8]].")
@click.option("--count", type=click.IntRange(min=1), help="How many, where a map has arms without labels.")
def add_arms(
    opened: Any,
    labels: tuple[str, ...],
    rows: str | None,
    count: int | None,
    reason: str,
    key: str | None,
    json_wanted: bool,
) -> None:
    """Puts new arms behind those there are: by their LABELS, by --rows, or both."""
    names, features = [_label(label) for label in labels], _plain_json("--rows", rows)
    arms = next((given for given in (features, count) if given is not None), names)
    opened.add_arms(arms, names if features is not None and names else None, reason=reason, key=key)
    added = count or max(len(names), len(features or []))
    _say({"study": opened.name, "added": added}, json_wanted, [f"{opened.name}: arms added: {added}"])


@study.command("remove-arms")
@_amends
@click.argument("which", nargs=-1, required=True)
def remove_arms(opened: Any, which: tuple[str, ...], reason: str, key: str | None, json_wanted: bool) -> None:
    """Takes the arms WHICH away, by label, or by number where arms have no labels."""
    names = [_label(name) for name in which]
    opened.remove_arms(names, reason=reason, key=key)
    words = f"{opened.name}: arms removed: {len(names)}"
    _say({"study": opened.name, "removed": len(names)}, json_wanted, [words])


@study.command()
@_amends
@click.option("--more", type=click.IntRange(min=0), help="So many features, where they have no names.")
@click.option("--number", "numbers", type=(str, float, float), multiple=True, metavar="NAME LOW HIGH")
@click.option("--category", "categories", type=(str, str), multiple=True, metavar="NAME VALUE")
@click.option("--longest", type=float, help="How long a context may be from now on.")
def extend(
    opened: Any,
    more: int | None,
    numbers: tuple[tuple[str, float, float], ...],
    categories: tuple[tuple[str, str], ...],
    longest: float | None,
    reason: str,
    key: str | None,
    json_wanted: bool,
) -> None:
    """Adds features to contexts or arms; a category that is there gets further values."""
    values: dict[str, list[str | int]] = {}
    for category, value in categories:
        values.setdefault(category, []).append(_label(value))
    given: dict[str, Any] = {"numbers": {feature: (low, high) for feature, low, high in numbers}}
    given |= {"more": more, "categories": values, "longest": longest}
    given = {word: to for word, to in given.items() if to not in (None, {})}
    opened.extend(**given, reason=reason, key=key)
    words = f"{opened.name}: extended by {', '.join(given)}"
    _say({"study": opened.name, "extended": given}, json_wanted, [words])


@study.command()
@_amends
def pause(opened: Any, reason: str, key: str | None, json_wanted: bool) -> None:
    """Skips all explorations that are due from now on, until `resume`."""
    opened.pause(reason, key=key)
    _say({"study": opened.name, "paused": True}, json_wanted, [f"{opened.name}: exploring is paused"])


@study.command()
@_amends
def resume(opened: Any, reason: str, key: str | None, json_wanted: bool) -> None:
    """Goes on with exploring as the policy says."""
    opened.resume(reason, key=key)
    _say({"study": opened.name, "paused": False}, json_wanted, [f"{opened.name}: exploring goes on"])


@study.command(context_settings={"ignore_unknown_options": True})  # a reward may begin with a minus
@_at_study()
@click.argument("key")
@click.argument("reward", type=float)
@click.option("--reason", default="", help="Why; it is kept in the journal.")
def correct(opened: Any, key: str, reward: float, reason: str, json_wanted: bool) -> None:
    """Puts the reward of the decision KEY right, as if REWARD had been told in the first place."""
    state = str(opened.correct(key, reward, reason=reason))
    found = {"key": key, "reward": reward, "state": state}
    _say(found, json_wanted, [f"{key}: the reward is {reward:g} ({state})"])


@study.command()
@_at_study()
@click.argument("unit")
@click.option("--reason", default="", help="Why; it is kept in the journal.")
def forget(opened: Any, unit: str, reason: str, json_wanted: bool) -> None:
    """Erases all that is kept of UNIT: contexts, decisions and rewards.

    The keys of its decisions stay in the journal.
    """
    count = opened.forget(unit, reason=reason)
    _say({"erased": count}, json_wanted, [f"{count} entries were erased"])


@study.command()
@_at_study(reads=True)
def metrics(opened: Any, json_wanted: bool) -> None:
    """Figures for operations: rewards by state, delays, exploration, days."""
    found = opened.metrics()
    _say(found, json_wanted, [f"{word}: {value}" for word, value in found.items()])


@study.command()
@_at_study(reads=True)
def lift(opened: Any, json_wanted: bool) -> None:
    """What the study gains a decision over those held out, with its interval of 95 %."""
    found = opened.lift()
    if found["problem"] is not None:
        _say(found, json_wanted, [f"cannot be said: {found['problem']}"])
        return
    difference, low, high = (f"{found[word]:+.4g}" for word in ("difference", "low", "high"))
    basis = f"{found['decisions']} decisions, and {found['held_decisions']} held out"
    _say(found, json_wanted, [f"{difference} a decision ({low} to {high}), by {basis}"])
