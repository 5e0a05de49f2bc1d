"""A shop's nightly letters: visitors by name, products that come and go, sales that are known a day later."""

import random

import infex

LIKED = {"tea": 0.6, "coffee": 0.2, "juice": 0.7}
chance = random.Random(4)
visitor = infex.features.table({"age": (18, 90)}, {"country": ["FR", "DE"]}, unseen="flag", beyond="clip")
policy = infex.Infex(infex.LinTS(noise=0.5, scale=0.3), infex.every(10))
shop = infex.Bandit(features=infex.features.disjoint(["tea", "coffee"], context=visitor), policy=policy)
for day in range(1, 8):
    people = [{"age": chance.gauss(50, 20), "country": chance.choice(["FR", "DE", "IT"])} for _ in range(400)]
    letters = shop.ask_many(people)  # the night: nothing is known of these yet
    for letter, who in list(zip(letters, people, strict=True))[:360]:  # the day after; forty never answer
        likes = LIKED[str(letter.label)] - 0.3 * (who["country"] == "DE")
        shop.tell(letter.id, float(chance.random() < likes))
    print(f"day {day}: {shop.pulls} sales told of {shop.labels}, {len(shop.pending)} letters open")
    if day == 3:
        shop.add_arms("juice")
        shop.remove_arms("coffee")
        shop.extend(categories={"country": ["IT"]})
print(shop.estimates(context={"age": 40, "country": "IT"}), shop.noticed)
