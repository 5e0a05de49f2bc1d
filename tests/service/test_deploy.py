"""What stands in deploy/ fits the service: figures that rules and dashboard name are published."""

import json
import re
from pathlib import Path
from typing import Any

import yaml

from infex.service import alarms
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
    assert f"> {alarms.DRIFT_Z:g}" in texts["InfexDrift"]
    assert f">= {alarms.FEWEST_OLD}" in texts["InfexRewardsLate"]
    assert "|".join(alarms.OLD_AGES) in texts["InfexRewardsLate"]
    assert f">= {alarms.FEWEST_PLANNED}" in texts["InfexExplorationBehind"]
    assert f"< {alarms.LEAST_DONE} " in texts["InfexExplorationBehind"]


def test_the_containers_run_the_command_that_there_is() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    assert {"one", "two", "database", "balancer"} <= compose["services"].keys()
    words = compose["services"]["one"]["command"]
    assert {word for word in words if word.startswith("--")} == {"--db", "--tokens", "--host-name"}
    assert '["infex", "serve", "--host", "0.0.0.0"]' in (DEPLOY / "Containerfile").read_text()
