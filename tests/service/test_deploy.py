"""What stands in deploy/ fits the service: figures that rules and dashboard name are published."""

import json
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import click
import yaml

from infex.cli.serve_command import serve
from infex.cli.token_command import make_token
from infex.service import studies
from infex.service.schemas import ServiceLimits
from infex.study.stores.base import without_password
from tests.service.running import CONTEXT, PRICING, running

DEPLOY = Path(__file__).parents[2] / "deploy"
NAME = re.compile(r"\binfex_[a-z_]+")


def published(folder: Path) -> set[str]:
    with running(folder) as call:
        call("POST", "/v1/studies", PRICING)
        call("POST", "/v1/studies/pricing/decisions", {"key": "a", "context": CONTEXT})
        call("POST", "/v1/studies/pricing/rewards", {"key": "a", "reward": 1.0})
        text = call("GET", "/metrics").body.decode()
    return {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")} | set(
        NAME.findall(text)
    )


def test_how_often_each_arm_was_played_is_published_and_how_much_room_there_is(tmp_path: Path) -> None:
    with running(tmp_path, ServiceLimits(pending=77)) as call:
        call("POST", "/v1/studies", PRICING)
        for number in range(8):
            offered = ["tea"] if number % 4 else ["water"]
            body = {"key": f"{number}", "context": CONTEXT, "offered": offered}
            call("POST", "/v1/studies/pricing/decisions", body)
        many = {"name": "many", "policy": "Greedy", "dim": 1}  # whose requests bring their arms
        call("POST", "/v1/studies", many)
        brought = {"key": "a", "arms": [[1.0], [2.0]], "labels": ["x", "y"]}
        call("POST", "/v1/studies/many/decisions", brought)
        call.is_read()
        call.is_read("many")
        lines = call("GET", "/metrics").body.decode().splitlines()
    shares = {line for line in lines if line.startswith("infex_recent_share")}
    assert shares == {
        f'infex_recent_share{{arm="{arm}",study="pricing"}} {share}'
        for arm, share in (("tea", 0.75), ("water", 0.25))
    }
    assert "infex_pending_limit 77.0" in lines
    (free,) = (float(line.split()[1]) for line in lines if line.startswith("infex_store_free_bytes"))
    assert 0 < free <= shutil.disk_usage(tmp_path).total


def rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load((DEPLOY / "infex.rules.yml").read_text())["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def test_rules_and_dashboard_name_figures_that_there_are(tmp_path: Path) -> None:
    known = published(tmp_path)
    board = json.loads((DEPLOY / "grafana.json").read_text())
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    for text in (*asked, *(rule["expr"] for rule in rules())):
        assert set(NAME.findall(text)) <= known, text
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


def test_the_rules_have_the_thresholds_of_the_page_and_a_word_in_the_handbook() -> None:
    handbook = (DEPLOY.parent / "docs" / "operations.md").read_text()
    texts = {rule["alert"]: rule["expr"] for rule in rules()}
    for name in texts:
        assert f"`{name}`" in handbook, name
    assert f"> {studies.DRIFT_Z:g}" in texts["InfexDrift"]
    assert f">= {studies.FEWEST_OLD}" in texts["InfexRewardsLate"]
    assert "|".join(studies.OLD_AGES) in texts["InfexRewardsLate"]
    assert f">= {studies.FEWEST_PLANNED}" in texts["InfexExplorationBehind"]
    assert f"< {studies.LEAST_DONE} " in texts["InfexExplorationBehind"]


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return found


def steps(word: str) -> list[str]:
    """What stands behind a word at the beginning of a line of the Containerfile."""
    text = (DEPLOY / "Containerfile").read_text().replace("\\\n", "")
    return [line.removeprefix(word).strip() for line in text.splitlines() if line.startswith(f"{word} ")]


def parsed(words: list[str], command: click.Command) -> dict[str, Any]:
    """The options that a command line gives, as the command itself reads it."""
    return command.make_context("infex", list(words), resilient_parsing=False).params


def test_instances_are_started_with_options_that_there_are() -> None:
    program, verb, *first = json.loads(steps("ENTRYPOINT")[0])
    assert (program, verb) == ("infex", "serve")
    services = compose()["services"]
    for name in ("one", "two"):
        options = parsed([*first, *services[name]["command"]], serve)
        assert (options["host"], options["port"]) == ("0.0.0.0", int(steps("EXPOSE")[0]))
        assert options["url"].endswith("@database/infex")
        assert options["tokens"].parent == Path("/tokens")
        assert "tokens:/tokens" in services[name]["volumes"]
    assert any("install -d -o infex /tokens" in step for step in steps("RUN")), "a volume is root's otherwise"


def test_the_token_of_the_instances_is_made_by_a_command_that_there_is() -> None:
    said = re.search(r"token make (.*)", (DEPLOY / "compose.yaml").read_text())
    assert said is not None
    options = parsed(said[1].split(), make_token)
    assert options["tokens"] == parsed(compose()["services"]["one"]["command"], serve)["tokens"]
    assert set(options["scopes"]) == {"decide", "reward", "read", "admin"}


def test_the_token_of_prometheus_is_made_by_a_command_that_there_is() -> None:
    text = re.sub(r"\\\n#", "", (DEPLOY / "compose.yaml").read_text())
    said = re.search(r"infex token make ([^>\n]*) > (\S+)\"", text)
    assert said is not None
    options = parsed(said[1].split(), make_token)
    assert options["tokens"] == parsed(compose()["services"]["one"]["command"], serve)["tokens"]
    assert set(options["scopes"]) == {"read"}
    (job,) = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())["scrape_configs"]
    assert job["authorization"]["credentials_file"] == said[2]
    assert "/tokens/prometheus" in (DEPLOY.parent / "docs" / "operations.md").read_text()


def test_whoever_asks_the_instances_does_so_by_a_name_they_know() -> None:
    services = compose()["services"]
    known = {*parsed(services["one"]["command"], serve)["hosts"]}
    (job,) = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())["scrape_configs"]
    asked = [target for config in job["static_configs"] for target in config["targets"]]
    behind = re.findall(r"\w+:8321", (DEPLOY / "Caddyfile").read_text())
    assert len(behind) == 2
    for place in (*asked, *behind):
        assert place.partition(":")[0] in services.keys() & known, place


def test_files_that_containers_name_are_there() -> None:
    root = DEPLOY.parent
    for service in compose()["services"].values():
        build = service.get("build")
        assert build is None or (DEPLOY / build["context"] / build["dockerfile"]).is_file()
        mounted = [volume.split(":")[0] for volume in service.get("volumes", ())]
        assert all((DEPLOY / place).is_file() for place in mounted if place.startswith("."))
        assert {place for place in mounted if not place.startswith(".")} <= compose()["volumes"].keys()
        assert {*service.get("depends_on", ())} <= compose()["services"].keys()
    copied = [step for step in steps("COPY") if not step.startswith("--from")]
    built = {"pyproject.toml", "meson.build", "meson.options", "README.md", "LICENSE", "infex"}
    assert built <= {source for step in copied for source in step.split()[:-1]}, "what a wheel is built from"
    for step in copied:
        assert all((root / source).exists() for source in step.split()[:-1]), step
    (rules_file,) = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())["rule_files"]
    assert (DEPLOY / rules_file).is_file()


def test_the_container_installs_extras_by_names_that_there_are() -> None:
    extras = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (install,) = (step for step in steps("RUN") if step.startswith("pip install"))
    asked = re.search(r"\[(.*?)\]", install)
    assert asked is not None
    assert {*asked[1].split(",")} <= extras.keys()
    (check,) = steps("HEALTHCHECK")
    assert "/healthz" in check, "a database that is away is no reason to start the container again"


def test_no_password_of_a_database_gets_into_a_log() -> None:
    for url in ("postgresql://infex:a@:/hunter@db/infex", "postgres://db/infex?user=a&password=hunter&x=1"):
        assert "hunter" not in without_password(url)
    assert without_password("sqlite:///shop.db") == "sqlite:///shop.db"
