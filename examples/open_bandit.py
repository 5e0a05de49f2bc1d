"""Predict the click rate of one policy of a shop from the other policy's log, and then look.

The Open Bandit sample comes inside the package obp; its wheel is enough, and nothing of it is stored.

    pip download --no-deps obp==0.4.1
    python examples/open_bandit.py obp-0.4.1-py3-none-any.whl
"""

import csv
import io
import sys
import zipfile
from pathlib import Path

import numpy as np

from infex import evaluation
from infex.evaluation import Log
from infex.policies import Uniform

FOLDER = "obp/dataset/obd"


def log_of(wheel: zipfile.ZipFile, policy: str, campaign: str) -> Log:
    """One policy's log: which item was shown, whether it was clicked, and with which probability."""
    with wheel.open(f"{FOLDER}/{policy}/{campaign}/{campaign}.csv") as file:
        rows = list(csv.DictReader(io.TextIOWrapper(file, encoding="utf-8")))
    return evaluation.read(
        {
            "action": np.array([int(row["item_id"]) for row in rows]),
            "reward": np.array([float(row["click"]) for row in rows]),
            "pscore": np.array([float(row["propensity_score"]) for row in rows]),
            "position": np.array([int(row["position"]) - 1 for row in rows]),
        },
        form="obp",
    )


def shares_of(log: Log, count: int) -> np.ndarray:
    """How often a policy shows each item in each of three positions."""
    shown = np.zeros((3, count))
    np.add.at(shown, (log.others["position"], log.arm), 1.0)
    return np.asarray(shown / shown.sum(axis=1, keepdims=True))


def tell(campaign: str, one: str, other: str, logs: dict[str, Log]) -> None:
    """Predicts what `other` gets from the log of `one`."""
    log, seen = logs[one], logs[other].reward
    target = Uniform() if other == "random" else shares_of(logs[other], log.count)[log.others["position"]]
    found = evaluation.evaluate(log, {other: target}, estimator="ips", rewards=(0.0, 1.0))[other]
    error = 1.96 * seen.std() / np.sqrt(seen.size)
    predicted = f"{found.value:.4f} [{found.low:.4f}, {found.high:.4f}]"
    print(
        f"{campaign:9}{one:8}{other:8}{predicted:27}{seen.mean():.4f} +- {error:.4f}{found.effective:8,.0f}"
    )


def main() -> None:
    wheels = [Path(word) for word in sys.argv[1:] if word.endswith(".whl")]
    if not wheels:
        print(__doc__)
        return
    print("campaign log of  policy  predicted, 95 %            then seen        rounds that tell")
    with zipfile.ZipFile(wheels[0]) as wheel:
        for campaign in ("all", "men", "women"):
            logs = {policy: log_of(wheel, policy, campaign) for policy in ("random", "bts")}
            tell(campaign, "random", "bts", logs)
            tell(campaign, "bts", "random", logs)


if __name__ == "__main__":
    main()
