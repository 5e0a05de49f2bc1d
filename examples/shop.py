"""A shop that may explore on one customer in twenty-five, and forty times in all.

Rewards come days later, out of order, or never; offers come and go; the program stops and goes on.
"""

import random
import tempfile
import warnings
from pathlib import Path

import infex

OFFERS = {  # price, discount, delivery, bundle: each row no longer than 1
    "plain": [0.8, 0.0, 0.1, 0.0],
    "sale": [0.5, 0.6, 0.1, 0.0],
    "express": [0.7, 0.0, 0.7, 0.0],
    "bundle": [0.6, 0.2, 0.1, 0.7],
}
TASTE = [-0.4, 0.5, 0.1, 0.6]  # what customers like, which nobody knows


def buys(offer: str, chance: random.Random) -> float:
    """+1 for a sale, -1 for none."""
    liking = sum(feature * taste for feature, taste in zip(OFFERS[offer], TASTE, strict=True))
    return 1.0 if chance.random() < (1 + liking) / 2 else -1.0


def serve(bandit: infex.Bandit, customers: int, chance: random.Random) -> None:
    """Asks for each customer; tells of older ones, some of whom never answer."""
    for _ in range(customers):
        bandit.ask()
        waiting, fate = chance.choice(bandit.pending), chance.random()
        if fate < 0.85:
            bandit.tell(waiting.id, buys(str(waiting.label), chance))
        elif fate < 0.95:
            bandit.drop(waiting)


def show(bandit: infex.Bandit) -> None:
    print(f"\n{bandit.t} customers, {bandit.explored} explored, {len(bandit.pending)} answers open")
    print(f"{'offer':10}{'estimate':>9}{'low':>8}{'high':>8}{'told':>7}")
    for row in bandit.estimates():
        print(f"{row.label:10}{row.estimate:9.2f}{row.low:8.2f}{row.high:8.2f}{row.pulls:7}")


def main() -> None:
    chance = random.Random(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", infex.errors.SparseExploration)  # forty times in all is what we want
        policy = infex.Infex(infex.LinUCB(scale=0.5), infex.budget(infex.every(25), limit=40))
    bandit = infex.Bandit(list(OFFERS.values()), policy, labels=list(OFFERS), seed=7)
    serve(bandit, 500, chance)
    show(bandit)

    with tempfile.TemporaryDirectory() as folder:  # the night: another process goes on in the morning
        bandit.save(Path(folder) / "shop.infex")
        bandit = infex.Bandit.load(Path(folder) / "shop.infex")

    OFFERS["club"] = [0.4, 0.4, 0.2, 0.7]
    bandit.remove_arms("express")
    bandit.add_arms([OFFERS["club"]], labels=["club"])
    serve(bandit, 1500, chance)
    show(bandit)


if __name__ == "__main__":
    main()
