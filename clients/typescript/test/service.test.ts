/** A real service, asked for all that it does; its address, tokens and features are in the environment. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client } from "infex-client";

const { INFEX_URL: url = "", INFEX_TOKEN: token = "", INFEX_TILL: till = "" } = process.env;
const client = new Client(url, { token, seconds: 600 });
const features = JSON.parse(process.env["INFEX_FEATURES"] ?? "null"); // tea and juice, by age and land

/** A study with 9 decisions, of which the fourth and the eighth explore. */
async function shop(name: string) {
  const study = await client.open(name, { policy: "Infex(LinUCB, every(4))", features, seed: 7 });
  const people = Array.from({ length: 9 }, (_, place) => ({ age: 20 + 5 * place, land: place % 2 ? "FR" : "DE" }));
  const keys = people.map((_, place) => `o${place}`);
  const first = await study.ask("o0", { context: people[0], unit: "alice" });
  const rest = await study.askMany(keys.slice(1), { contexts: people.slice(1) });
  return { study, people, keys, decisions: [first, ...rest] };
}

test("decisions come in rounds, and explore where the schedule says", async () => {
  const { study, people, decisions } = await shop("rounds");
  assert.deepEqual(decisions.map(({ round }) => round), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.deepEqual(decisions.flatMap(({ round, explored }) => (explored ? [round] : [])), [4, 8]);
  assert.ok(decisions.every(({ label, fallback }) => ["tea", "juice"].includes(String(label)) && !fallback));
  assert.deepEqual(await study.ask("o0", { context: people[0], unit: "alice" }), decisions[0], "the same key again");
  const offered = await study.ask(null, { context: people[0], offered: ["juice"], default: "juice" });
  assert.equal(offered.label, "juice");
  assert.equal(offered.key.length, 32, "a key was made up");
  assert.equal((await study.metrics())["decisions"], 10);
  assert.ok((await client.studies()).includes("rounds"));
});

test("rewards are told once, put right, and explained", async () => {
  const { study } = await shop("rewards");
  assert.equal(await study.tell("o1", 0.7), "rewarded");
  assert.equal(await study.tell("o1", 0.7), "rewarded");
  assert.deepEqual(await study.tellMany(["o2", "o3"], [0.1, 0.9]), ["rewarded", "rewarded"]);
  assert.deepEqual([await study.state("o1"), await study.state("o8")], ["rewarded", "pending"]);
  assert.equal(await study.correct("o1", 0.2, { reason: "sent back" }), "corrected");
  const why = await study.explain("o2");
  assert.deepEqual([why["reward"], why["proven"]], [0.1, true]);
  assert.equal((await study.explain("o1", { prove: false }))["reward"], 0.2);
  assert.ok("problem" in (await study.lift()));
});

test("a study is paused, amended, extended, and given and deprived of arms", async () => {
  const { study, people } = await shop("changes");
  await study.pause("a holiday");
  assert.equal((await study.askMany(["p0", "p1", "p2"], { contexts: people.slice(0, 3) })).some(({ explored }) => explored), false);
  await study.resume("it is over");
  await study.addArms(["wine"], { reason: "new" });
  assert.equal((await study.ask("w", { context: people[0], offered: ["wine"] })).label, "wine");
  await study.removeArms(["tea"], { reason: "sold out" });
  await study.extend({ numbers: { hours: [0, 24] } }, { reason: "by the hour" });
  const later = { ...people[0], hours: 12 };
  assert.notEqual((await study.ask("x", { context: later })).label, "tea");
  const change = { reason: "another schedule", key: "once", policy: "Infex(LinUCB, every(9))" };
  await study.amend(change);
  await study.amend(change);
  await assert.rejects(study.amend({ ...change, policy: "Greedy" }), { error: "AnotherRequest", status: 422 });
});

test("a unit is erased, and the journal holds and is exported", async () => {
  const { study } = await shop("journal");
  const { checkpoint, holds, decisions } = await study.verify();
  assert.deepEqual([holds, decisions], [true, 9]);
  assert.ok((await study.verify({ checkpoint })).holds);
  const parts: Uint8Array[] = [];
  for await (const part of (await study.exportLog()) as any) parts.push(part);
  const file = Buffer.concat(parts);
  assert.deepEqual([file.subarray(0, 4).toString(), file.subarray(-4).toString()], ["PAR1", "PAR1"]);
  assert.ok((await study.forget("alice", { reason: "asked for" })) > 0);
  assert.equal(await study.state("o0"), "erased");
});

test("refusals come by name, and say what was wrong", async () => {
  const { study, people } = await shop("refusals");
  await study.tell("o1", 0.7);
  const other = { ...people[0], age: 50 };
  await assert.rejects(study.ask("o0", { context: other }), { error: "AnotherRequest", status: 422, field: "key" });
  await assert.rejects(study.tell("o1", 0.8), { error: "AlreadyTold", status: 422, field: "reward" });
  await assert.rejects(study.tell("nobody", 0.8), { error: "UnknownDecision", status: 404, field: "key" });
  await assert.rejects(study.tell("o2", NaN), { error: "InvalidBody", status: 422, field: "reward" });
  await assert.rejects(study.ask("x", { context: { town: "Lyon" } }), { error: "InvalidContext", field: "context" });
  const rows = study.askMany(["x", "y"], { contexts: [people[0], { town: "Lyon" }] });
  await assert.rejects(rows, { error: "InvalidContext", field: "[1].context" });
  await assert.rejects(client.study("nothing").ask("x"), { error: "UnknownStudy", status: 404 });
  await assert.rejects(client.open("refusals", { policy: "Greedy", dim: 2 }), { error: "OtherSettings", status: 409 });
  await assert.rejects(new Client(url).studies(), { error: "TokenNeeded", status: 401 });
});

test("a token for deciding and telling allows these alone, and keys hold any characters", async () => {
  const { people } = await shop("keys");
  const study = new Client(`${url}/`, { token: till, seconds: 600 }).study("keys");
  for (const key of ["a/b?c#d", "50 %", "käse", " x "]) {
    assert.equal((await study.ask(key, { context: people[0] })).key, key);
    assert.equal(await study.tell(key, 1), "rewarded");
    assert.equal(await client.study("keys").state(key), "rewarded");
    assert.equal((await client.study("keys").explain(key, { prove: false }))["key"], key);
    await assert.rejects(study.state(key), { error: "ScopeTooSmall", status: 403 });
  }
});

test("a study begins with a log, and as an apprentice", async () => {
  const arms = { arms: [[1, 0], [0, 1]], labels: ["tea", "juice"], policy: "Greedy" };
  const study = await client.open("apprentice", { ...arms, apprentice: true, sticky: "30 days" });
  assert.equal(await study.learnFrom(new Blob(["drink,reward\njuice,1\ntea,0.5\njuice,1\n"]), { arm: "drink" }), 3);
  const played = await study.ask("o0", { played: "tea" });
  assert.deepEqual([played.label, played.greedy, played.reason], ["tea", 1, "apprentice"]);
  await study.amend({ apprentice: false, reason: "it knows enough" });
  const first = await study.ask("o1", { unit: "alice" });
  const second = await study.ask("o2", { unit: "alice" });
  assert.deepEqual([first.label, second.label, second.reason], ["juice", "juice", "sticky"]);
  assert.ok((await study.archive(1)) > 0);
});
