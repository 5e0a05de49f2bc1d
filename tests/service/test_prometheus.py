"""The files for Prometheus and Grafana, judged by Prometheus itself: `promtool` of Debian's prometheus."""

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
INSTANCES = ("one:8321", "two:8321")
DAY, WEEK, MONTH = "86400", "604800", "2592000"


def promtool(*words: str | Path) -> subprocess.CompletedProcess[str]:
    program = shutil.which("promtool")
    assert program is not None, "promtool is missing: run `make prometheus`"
    return subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)


def test_prometheus_reads_its_configuration_and_the_rules(tmp_path: Path) -> None:
    token = tmp_path / "prometheus"
    token.write_text("infex_1f9a0c3b_secret\n")
    text = (DEPLOY / "prometheus.yml").read_text()
    assert "/tokens/prometheus" in text
    (tmp_path / "prometheus.yml").write_text(text.replace("/tokens/prometheus", str(token)))
    shutil.copy(DEPLOY / "infex.rules.yml", tmp_path)
    done = promtool("check", "config", tmp_path / "prometheus.yml")
    assert done.returncode == 0, done.stdout + done.stderr


def series(name: str, values: str, instance: str = INSTANCES[0], **labels: str) -> dict[str, str]:
    """What an instance exports, once a minute for two hours; `values` as promtool writes them."""
    words = {"job": "infex", "instance": instance, **labels}
    inner = ",".join(f'{word}="{value}"' for word, value in words.items())
    return {"series": f"{name}{{{inner}}}", "values": values}


def by_both(name: str, values: str, **labels: str) -> list[dict[str, str]]:
    """The same from both instances, as of totals that are those of a shared journal."""
    return [series(name, values, instance, **labels) for instance in INSTANCES]


def steady(value: float) -> str:
    return f"{value}+0x120"


def rising(a_minute: float) -> str:
    return f"0+{a_minute}x120"


def judged(folder: Path, *tests: Mapping[str, Any], rules: Sequence[Path] = ()) -> None:
    """Has promtool run tests of files of rules, or of expressions alone."""
    files = list(map(str, rules))
    content = {"rule_files": files, "evaluation_interval": "1m", "tests": list(tests)}
    (folder / "test.yml").write_text(yaml.safe_dump(content))
    done = promtool("test", "rules", folder / "test.yml")
    assert done.returncode == 0, done.stdout + done.stderr


def explorations(done: float, planned: float) -> list[dict[str, str]]:
    counts = {"done": done, "planned": planned}
    return [
        each
        for what, count in counts.items()
        for each in by_both("infex_explorations_total", steady(count), study="pricing", what=what)
    ]


def pending(**by_age: int) -> list[dict[str, str]]:
    ages = {"day": DAY, "week": WEEK, "month": MONTH, "more": "more"}
    return [
        each
        for word, count in by_age.items()
        for each in by_both("infex_pending_by_age", steady(count), study="pricing", age=ages[word])
    ]


def slow(below: float, above: float) -> list[dict[str, str]]:
    """Decisions a minute of each instance that took up to 0.16 s, and those that took up to 0.5 s."""
    rates = {"0.16": below, "0.5": below + above, "+Inf": below + above}
    return [
        each
        for le, rate in rates.items()
        for each in by_both("infex_request_seconds_bucket", rising(rate), address="decide", le=le)
    ]


def limit(most: int) -> list[dict[str, str]]:
    """How many decisions may be pending, as each instance says it."""
    return by_both("infex_pending_limit", steady(most))


ONE, STUDY = {"instance": INSTANCES[0]}, {"study": "pricing"}
ON_JOB = {"job": "infex", **ONE}
FIRES: dict[str, list[tuple[list[dict[str, str]], list[dict[str, str]]]]] = {
    # alarm: what is exported, and the labels of the alarms that this gives
    "InfexDown": [
        ([series("up", steady(0))], [ON_JOB]),
        ([series("up", steady(1))], []),
    ],
    "InfexStoreFails": [
        ([series("infex_store_up", steady(0)), series("infex_store_failures_total", steady(1))], [ONE]),
        ([series("infex_store_up", steady(1)), series("infex_store_failures_total", rising(60))], [ONE]),
        ([series("infex_store_up", steady(0)), series("infex_store_failures_total", rising(60))], [ONE]),
        ([series("infex_store_up", steady(1)), series("infex_store_failures_total", rising(1))], []),
    ],
    "InfexOverloaded": [
        ([series("infex_requests_total", rising(60), address="decide", status="429")], [ONE]),
        ([series("infex_requests_total", rising(60), address="unknown", status="503")], [ONE]),
        ([series("infex_requests_total", rising(60), address="decide", status="200")], []),
        ([series("infex_requests_total", rising(60), address="readyz", status="503")], []),
        (
            [
                series("infex_requests_total", rising(60), address="decide", status="503"),
                series("infex_store_up", steady(0)),
            ],
            [],
        ),
    ],
    "InfexFails": [
        ([series("infex_requests_total", rising(1), address="lift", status="500")], [ONE]),
        ([series("infex_requests_total", steady(1), address="lift", status="500")], []),
        ([series("infex_requests_total", rising(1), address="lift", status="422")], []),
    ],
    "InfexDiskFills": [
        ([series("infex_store_free_bytes", steady(0.9e9))], [ON_JOB]),
        ([series("infex_store_free_bytes", steady(1.1e9))], []),
    ],
    "InfexNoDecisions": [
        (by_both("infex_decisions_total", "0+2x80 160+0x40", study="pricing"), [STUDY]),
        (by_both("infex_decisions_total", rising(2), study="pricing"), []),
        (by_both("infex_decisions_total", "0+1x80 80+0x40", study="pricing"), []),  # of two, twice as many
    ],
    "InfexPendingFills": [
        (
            [*limit(100), *by_both("infex_decisions_by_state", steady(81), study="pricing", state="pending")],
            [STUDY],
        ),
        (
            [*limit(100), *by_both("infex_decisions_by_state", steady(80), study="pricing", state="pending")],
            [],
        ),
        (
            [
                *limit(100),
                *by_both("infex_decisions_by_state", steady(99), study="pricing", state="rewarded"),
            ],
            [],
        ),
    ],
    "InfexSlow": [(slow(97, 3), [{}]), (slow(1000, 1), [])],
    "InfexStudyFailed": [
        ([series("infex_studies_failed", steady(1))], [ON_JOB]),
        ([series("infex_studies_failed", steady(0))], []),
    ],
    "InfexExplorationBehind": [
        (explorations(done=9, planned=20), [STUDY]),
        (explorations(done=10, planned=20), []),
        (explorations(done=0, planned=19), []),
        (by_both("infex_explorations_total", steady(5), study="pricing", what="done"), []),
    ],
    "InfexRewardsLate": [
        (pending(day=99, week=50, month=30, more=20), [STUDY]),
        (pending(day=100, week=50, month=30, more=20), []),
        (pending(week=99), []),  # which is 198 of two instances, if these are added up
    ],
    "InfexDrift": [
        (by_both("infex_residual_drift", steady(-4.5), study="pricing"), [STUDY]),
        (by_both("infex_residual_drift", steady(3.5), study="pricing"), []),
    ],
}


def rule_of(alarm: str) -> dict[str, Any]:
    (group,) = yaml.safe_load((DEPLOY / "infex.rules.yml").read_text())["groups"]
    rules: dict[str, dict[str, Any]] = {rule["alert"]: rule for rule in group["rules"]}
    return rules[alarm]


def test_every_alarm_has_cases() -> None:
    (group,) = yaml.safe_load((DEPLOY / "infex.rules.yml").read_text())["groups"]
    assert {rule["alert"] for rule in group["rules"]} == FIRES.keys()
    for cases in FIRES.values():
        assert {bool(alarms) for _, alarms in cases} == {True, False}


@pytest.mark.parametrize("alarm", FIRES)
def test_an_alarm_comes_once_for_what_it_is_about_and_only_then(tmp_path: Path, alarm: str) -> None:
    """Two instances on one database: what both tell of a study is one alarm."""
    rule = rule_of(alarm)
    tests = []
    for exported, alarms in FIRES[alarm]:
        expected = [
            {"exp_labels": {**labels, **rule["labels"]}, "exp_annotations": rule["annotations"]}
            for labels in alarms
        ]
        asked = {"eval_time": "100m", "alertname": alarm, "exp_alerts": expected}
        tests.append({"interval": "1m", "input_series": exported, "alert_rule_test": [asked]})
    judged(tmp_path, *tests, rules=[DEPLOY / "infex.rules.yml"])


def exported_by(instance: str) -> list[dict[str, str]]:
    """One instance of two on one database: the totals of the study are shared, its requests are its own."""

    def of_study(name: str, values: str, **labels: str) -> dict[str, str]:
        return series(name, values, instance, study="pricing", **labels)

    def own(name: str, values: str, **labels: str) -> dict[str, str]:
        return series(name, values, instance, **labels)

    delays = {"60": 60, "3600": 120, "+Inf": 120}
    seconds = {"0.01": 300, "0.02": 600, "+Inf": 600}
    return [
        of_study("infex_decisions_total", rising(60)),
        of_study("infex_explorations_total", steady(40), what="done"),
        of_study("infex_explorations_total", steady(50), what="planned"),
        of_study("infex_explorations_total", steady(25), what="different"),
        of_study("infex_exploration_cost", steady(12.5)),
        of_study("infex_mean_reward", steady(0.25)),
        of_study("infex_calibration", steady(-0.5)),
        of_study("infex_residual_drift", steady(1.5)),
        of_study("infex_decisions_by_state", steady(30), state="pending"),
        of_study("infex_decisions_by_state", steady(70), state="rewarded"),
        *(of_study("infex_reward_delay_seconds_bucket", rising(rate), le=le) for le, rate in delays.items()),
        of_study("infex_waiting", steady(3)),
        *(
            own("infex_request_seconds_bucket", rising(rate), address="decide", le=le)
            for le, rate in seconds.items()
        ),
        own("infex_requests_total", rising(600), address="decide", status="200"),
        own("infex_store_up", steady(1)),
        own("infex_store_failures_total", rising(6)),
        own("infex_store_free_bytes", steady(2e9)),
        of_study("infex_recent_share", steady(0.75), arm="tea"),
        of_study("infex_recent_share", steady(0.25), arm="other"),
    ]


Shown = Sequence[tuple[Mapping[str, str], float]]
PANELS: dict[str, list[Shown]] = {  # of each target, its lines with both instances
    "Decisions a second": [[(STUDY, 1)]],
    "Explorations done, planned, and deviations": [[(STUDY, 40)], [(STUDY, 50)], [(STUDY, 25)]],
    "Cost of exploring": [[(STUDY, 12.5)]],
    "Mean reward of the last day": [[(STUDY, 0.25)]],
    "Calibration": [[(STUDY, -0.5)]],
    "Drift of residuals, standard errors": [[(STUDY, 1.5)]],
    "Decisions by state of their reward": [[({"state": "pending"}, 30), ({"state": "rewarded"}, 70)]],
    "Delay of rewards, median and 90 %": [[({}, 60)], [({}, 2892)]],
    "Seconds until a decision is on disk, 50 % and 99 %": [[({}, 0.01)], [({}, 0.0198)]],
    "Answers a second by status": [[({"status": "200"}, 20)]],
    "Requests that wait": [[(STUDY, 6)]],
    "Store: 1 if it can be used, and failures a second": [
        [({"instance": name}, 1) for name in INSTANCES],
        [({"instance": name}, 0.1) for name in INSTANCES],
    ],
    "Share of each arm in the latest decisions": [
        [({"study": "pricing", "arm": "tea"}, 0.75), ({"study": "pricing", "arm": "other"}, 0.25)]
    ],
    "Free bytes where the database is": [[({"instance": name}, 2e9) for name in INSTANCES]],
}


def targets() -> dict[str, list[str]]:
    """The expressions of the dashboard, by the titles of its panels, with all studies chosen."""
    board = json.loads((DEPLOY / "grafana.json").read_text())
    return {
        panel["title"]: [target["expr"].replace("$study", ".*") for target in panel["targets"]]
        for panel in board["panels"]
    }


def test_every_panel_has_numbers_to_be_compared_with() -> None:
    assert {title: len(asked) for title, asked in targets().items()} == {
        title: len(shown) for title, shown in PANELS.items()
    }


@pytest.mark.parametrize("title", PANELS)
def test_two_instances_on_one_database_are_shown_as_one_study(tmp_path: Path, title: str) -> None:
    """A panel counts what is shared once, and adds up what each instance counts for itself."""
    asked = [
        {"expr": f"round({expression}, 1e-6)", "eval_time": "100m", "exp_samples": samples(shown)}
        for expression, shown in zip(targets()[title], PANELS[title], strict=True)
    ]
    exported = [line for instance in INSTANCES for line in exported_by(instance)]
    judged(tmp_path, {"interval": "1m", "input_series": exported, "promql_expr_test": asked})


def samples(shown: Shown) -> list[dict[str, Any]]:
    lines = [
        ("{" + ",".join(f'{word}="{value}"' for word, value in labels.items()) + "}", number)
        for labels, number in shown
    ]
    return [{"labels": labels, "value": number} for labels, number in lines]


def test_an_alarm_waits_for_as_long_as_its_rule_says(tmp_path: Path) -> None:
    """An instance that is away for one round of asking is no alarm; InfexDown waits for a minute."""
    rule = rule_of("InfexDown")
    expected = [{"exp_labels": {**ON_JOB, **rule["labels"]}, "exp_annotations": rule["annotations"]}]
    times = {"9m": [], "10m": [], "11m": expected, "12m": []}
    asked = [{"eval_time": at, "alertname": "InfexDown", "exp_alerts": found} for at, found in times.items()]
    away = series("up", "1x9 0 0 1x9")
    judged(
        tmp_path,
        {"interval": "1m", "input_series": [away], "alert_rule_test": asked},
        rules=[DEPLOY / "infex.rules.yml"],
    )
