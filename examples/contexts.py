"""A newsroom that chooses a headline for each reader, for people used to contexts and arms.

Readers come with a context (morning or evening, phone or desk, how often they come); each headline has
a parameter of its own. One reader in ten may be shown something else than the best-known headline, and
science is tried in the evening alone.
"""

import random
import tempfile
from pathlib import Path

import infex

HEADLINES = ["politics", "sports", "science"]
TASTE = {  # of the constant, the evening, the phone, and the frequent reader; nobody knows it
    "politics": [0.1, -0.4, 0.0, 0.5],
    "sports": [0.0, 0.6, 0.3, -0.2],
    "science": [0.2, -0.1, -0.5, 0.1],
}
LONGEST = 2.0  # of a context: the root of four ones


def reader(chance: random.Random) -> list[float]:
    """A context: its first feature is always 1, so that headlines differ in any context."""
    return [1.0, float(chance.random() < 0.5), float(chance.random() < 0.5), chance.random()]


def liking(context: list[float], headline: str) -> float:
    """The chance of a click."""
    return 0.4 + sum(x * taste for x, taste in zip(context, TASTE[headline], strict=True)) / 4


def serve(bandit: infex.Bandit, readers: int, chance: random.Random) -> float:
    """Clicks lost against always choosing the best headline, for each hundred readers."""
    lost = 0.0
    for _ in range(readers):
        context = reader(chance)
        decision = bandit.ask(context=context, allowed=[True, True, context[1] == 1.0])
        headline = str(decision.label)
        bandit.tell(decision, 1.0 if chance.random() < liking(context, headline) else 0.0)
        lost += max(liking(context, each) for each in HEADLINES) - liking(context, headline)
    return 100 * lost / readers


def main() -> None:
    chance = random.Random(5)
    policy = infex.Infex(infex.LinUCB(noise=0.5, scale=0.3), infex.every(10))
    features = infex.features.disjoint(HEADLINES, context_dim=4, longest=LONGEST)
    bandit = infex.Bandit(features=features, policy=policy, seed=1)
    for day in range(1, 6):
        print(f"day {day}: {serve(bandit, 1000, chance):.1f} clicks of a hundred lost")

    with tempfile.TemporaryDirectory() as folder:  # the map is in the file
        bandit.save(Path(folder) / "news.infex")
        bandit = infex.Bandit.load(Path(folder) / "news.infex")

    for name, context in {"morning, desk": [1, 0, 0, 0.5], "evening, phone": [1, 1, 1, 0.5]}.items():
        print(f"\n{name}\n{'headline':10}{'estimate':>9}{'truth':>7}")
        for row in bandit.estimates(context=context):
            print(f"{row.label:10}{row.estimate:9.2f}{liking(list(context), row.label):7.2f}")


if __name__ == "__main__":
    main()
