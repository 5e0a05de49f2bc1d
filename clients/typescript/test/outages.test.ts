/** What a client does when the service refuses, is late, or is away: answers are scripted, and pauses take no time. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { Client, type Decision, InfexError, ServiceSilent, type Study } from "infex-client";

import { decided, REST, type Script, scripted } from "./scripted.js";

let script: Script;

beforeEach(async () => {
  script = await scripted();
});

afterEach(() => script.close());

/** The service decides for these arms, one after the other. */
async function hear(study: Study, arms: number[], more: object = {}): Promise<void> {
  for (const arm of arms) {
    script.says(200, decided("heard", arm, more));
    await study.ask("heard");
  }
}

/** An ask has no answer: the outage has begun. */
async function goAway(study: Study): Promise<void> {
  script.saysAway();
  await assert.rejects(study.ask("unanswered", { offered: ["nothing that was heard of"] }), ServiceSilent);
}

/** Everything that was begun in the background has come so far that the server was asked so often. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setImmediate(resolve));
}

const named = (error: string) => (thrown: unknown) => thrown instanceof InfexError && thrown.error === error;

test("what is not answered is sent again with the same key, when the service said", async () => {
  script.says(503, { error: "StoreFailed", message: "full" }, { "retry-after": "1" });
  script.says(429, { error: "Overloaded", message: "much" }, { "retry-after": "2" });
  script.hangsUp().says(502, "a proxy's words").says(200, decided("a", 1));
  const decision = await script.client({ token: "secret" }).study("drinks").ask("a", { context: [0.6, 0.8] });
  assert.deepEqual(decision, { ...decided("a", 1), fallback: false });
  assert.equal(script.asked.length, 5);
  for (const asked of script.asked) {
    assert.deepEqual(asked.body, { key: "a", context: [0.6, 0.8] });
    assert.equal(asked.authorization, "Bearer secret");
  }
  assert.deepEqual(script.pauses.slice(0, 2), [1, 2]);
  const [third = 0, fourth = 0] = script.pauses.slice(2);
  assert.ok(0.1 <= third && third <= 0.2 && 0.2 <= fourth && fourth <= 0.4, "pauses grow by chance");
});

test("a reward that is sent again adds up once", async () => {
  const study = script.client().study("drinks"), told = { key: "a", state: "rewarded" };
  script.hangsUp().says(200, told).says(200, told).says(200, [told, told]).says(200, told);
  await study.tell("a", 1);
  await study.tell("a", 1);
  await study.tellMany(["a", "a"], [1, 1]);
  await study.tell("a", 1, { part: "tip" });
  const parts = script.asked.flatMap(({ body }) => body as { part: string }[]).map(({ part }) => part);
  assert.equal(parts[0], parts[1]);
  assert.equal(new Set(parts).size, 5);
  assert.equal(parts.at(-1), "tip");
});

test("an answer that never comes is waited for as long as was said, and no longer", async () => {
  script.isSilent();
  const study = new Client(script.url, { seconds: 0.05, pause: async () => {}, clock: ticks(0, 9) }).study("drinks");
  await assert.rejects(study.tell("a", 1), { name: "ServiceSilent", message: /no answer within 0.05/ });
  assert.equal(script.asked.length, 1);
});

/** A clock that shows these times, and then the last one for ever. */
function ticks(...times: number[]): () => number {
  return () => (times.length > 1 ? times.shift()! : times[0]!);
}

test("a refusal is an error with its name, and is not sent again", async () => {
  const refusal = { error: "ScopeTooSmall", message: "no", field: "x", value: null, expected: "admin" };
  script.says(403, refusal);
  const study = script.client().study("drinks");
  await assert.rejects(study.tell("a", 1), { ...refusal, name: "ScopeTooSmall", status: 403 });
  script.says(404, "nothing of ours");
  await assert.rejects(study.tell("a", 1), { error: "ServiceRefused", status: 404 });
  assert.deepEqual(script.pauses, []);
  for (let time = 0; time < 2; time += 1) {
    script.says(404, { error: "UnknownStudy", message: "there is none" });
    await assert.rejects(study.ask("a", { default: "tea" }), named("UnknownStudy"));
  }
});

test("a change of a study is sent again under one key", async () => {
  script.hangsUp().says(200, {}).says(200, {});
  const study = script.client().study("drinks");
  await study.addArms(["wine"], { reason: "new" });
  const [first, again] = script.asked;
  assert.deepEqual(first?.body, { reason: "new", key: first?.body.key, add_arms: { arms: ["wine"] } });
  assert.deepEqual(again, first);
  await study.addArms(["wine"], { reason: "new" });
  assert.notEqual(script.asked[2]?.body.key, first?.body.key);
});

test("what reads a whole journal is sent once, and waited for as long as it says", async () => {
  const study = script.client({ seconds: 0.001 }).study("drinks");
  for (const read of [() => study.verify(), () => study.lift(), () => study.explain("a"), () => study.exportLog()]) {
    script.says(429, { error: "Overloaded", message: "a journal is being read" }, { "retry-after": "1" });
    await assert.rejects(read(), { error: "Overloaded", status: 429 });
  }
  assert.deepEqual([script.asked.length, script.pauses], [4, []]);
});

test("a page of a proxy, or its redirection, is no answer", async () => {
  for (const [status, headers] of [[200, {}], [302, { location: "/login" }]] as const) {
    script.says(status, "<html>", headers);
    const client = script.client({ clock: ticks(0, 0, 999) });
    const decision = await client.study("drinks").ask("a", { default: "juice" });
    assert.deepEqual([decision.fallback, decision.label], [true, "juice"]);
  }
  script.says(200, "<html>");
  const study = script.client({ clock: ticks(0, 0, 999) }).study("drinks");
  await assert.rejects(study.ask("a"), { name: "ServiceSilent", message: /is the url right/ });
});

test("settings and bodies that cannot be are refused, and nothing is sent", async () => {
  for (const url of ["localhost:8321", "ftp://x", "http://", "http://x?y=1", "/infex"]) {
    assert.throws(() => new Client(url), named("InvalidSetting"), url);
  }
  for (const options of [{ seconds: 0 }, { seconds: NaN }, { seconds: Infinity }, { rest: -1 }]) {
    assert.throws(() => new Client(script.url, options), named("InvalidSetting"));
  }
  const study = script.client().study("drinks");
  for (const context of [[NaN], { a: Infinity }, new Map([["age", 3]]), { a: () => 3 }, new Float64Array(2)]) {
    await assert.rejects(study.ask("a", { context: context as any }), named("InvalidSetting"));
  }
  await assert.rejects(study.askMany(["a"], { contexts: [] }), named("InvalidSetting"));
  await assert.rejects(study.tellMany(["a"], []), named("InvalidSetting"));
  assert.equal(script.asked.length, 0);
  script.says(200, decided("a", 1));
  await study.ask("a", { context: { age: NaN, of: 1.5, more: undefined as any } });
  assert.deepEqual(script.asked[0]?.body, { key: "a", context: { age: null, of: 1.5 } });
});

test("the last greedy arm among those offered is played", async () => {
  const client = script.client();
  const study = client.study("drinks");
  await hear(study, [1, 0, 2]);
  await goAway(study);
  assert.equal((await study.ask("a")).label, "wine");
  assert.equal((await study.ask("b", { offered: ["tea", "juice"] })).label, "tea");
  assert.deepEqual(await study.ask("c", { offered: ["juice"] }), {
    key: "c", round: 0, arm: 1, label: "juice", explored: false, reason: "fallback: the service did not answer",
    greedy: 1, estimate: null, low: null, high: null, propensity: null, explore_probability: null,
    base_propensity: null, fallback: true,
  });
  assert.equal((await study.ask("d", { allowed: [true, true, false] })).label, "wine", "which is about exploring alone");
  await assert.rejects(study.ask("e", { offered: ["water"] }), ServiceSilent);
  assert.equal((await client.study("drinks").ask("f", { offered: ["juice"] })).label, "juice", "it belongs to the study");
  script.saysAway();
  await assert.rejects(client.study("others").ask("g"), ServiceSilent);
});

test("arms without labels are offered by number", async () => {
  const study = script.client().study("drinks");
  await hear(study, [1, 2], { label: null });
  await goAway(study);
  assert.equal((await study.ask("a", { offered: [0, 1] })).arm, 1);
  await assert.rejects(study.ask("b", { offered: [0] }), ServiceSilent);
  assert.equal((await study.ask("c", { offered: [0, 3], default: 3 })).arm, 3);
  assert.equal((await study.ask("d")).arm, 2);
  await assert.rejects(study.ask("e", { offered: [] }), ServiceSilent);
});

test("else the default is played, and else nothing; a key gives the same decision again", async () => {
  const study = script.client().study("drinks");
  script.saysAway();
  const first = await study.ask("a", { default: "tea" });
  assert.deepEqual([first.label, first.arm, first.greedy, first.fallback], ["tea", null, null, true]);
  assert.match(first.reason, /default/);
  assert.deepEqual(await study.ask("a", { default: "juice" }), first);
  await assert.rejects(study.ask("b"), ServiceSilent);
  assert.equal((await study.ask("c", { default: 2 })).arm, 2);
});

test("a default that is not offered is refused before any outage", async () => {
  const study = script.client().study("drinks");
  for (const request of [
    { default: "wine", offered: ["tea", "juice"] },
    { default: "wine", arms: [[1], [2]], labels: ["tea", "juice"] },
    { default: 2, arms: [[1], [2]] },
    { default: 1.5 },
    { default: true as any },
  ]) {
    const refused = { error: "InvalidSetting", message: /default must be/ };
    await assert.rejects(study.ask("a", request), refused);
    await assert.rejects(study.askMany(["a"], request), refused);
  }
  assert.deepEqual(script.asked, []);
});

test("of arms that a request brings only the default is played", async () => {
  const study = script.client().study("drinks");
  script.says(200, decided("heard", 1));
  await study.ask("heard", { arms: [[1], [2]], labels: ["tea", "juice"] });
  script.saysAway();
  await assert.rejects(study.ask("a", { offered: ["juice"] }), ServiceSilent, "that juice was another arm");
  const own = { arms: [[1], [2], [3]], labels: ["milk", "tea", "juice"] };
  await assert.rejects(study.ask("b", own), ServiceSilent);
  const played = await study.ask("c", { ...own, offered: ["tea", "juice"], default: "tea" });
  assert.deepEqual([played.arm, played.label], [1, "tea"]);
  assert.equal((await study.ask("d", { arms: [[1], [2]], default: 1 })).arm, 1);
});

test("neither explored arms nor those of whom is held out are remembered", async () => {
  const study = script.client().study("drinks");
  await hear(study, [1]);
  await hear(study, [2], { reason: "held out", greedy: 1 });
  await hear(study, [0], { explored: true, greedy: 1 });
  await goAway(study);
  assert.equal((await study.ask("next")).label, "juice");
});

test("the reward of a fallback is not sent, and others are", async () => {
  const study = script.client().study("drinks");
  await hear(study, [0, 1]);
  script.saysAway();
  const many = await study.askMany(["a", "b"], { offered: ["tea", "wine"] });
  assert.deepEqual(many.map(({ key, label, fallback }) => [key, label, fallback]), [["a", "tea", true], ["b", "tea", true]]);
  const later = await study.askMany(["c", "a"], { offered: ["wine"], default: "wine" });
  assert.deepEqual(later.map(({ label }) => label), ["wine", "tea"], "the key a was decided before");
  const sent = script.asked.length;
  assert.equal(await study.tell("a", 1), "fallback");
  assert.deepEqual(await study.tellMany(["a", "c"], [1, 0]), ["fallback", "fallback"]);
  assert.equal(script.asked.length, sent);
  script.says(200, [{ key: "heard", state: "rewarded" }]);
  assert.deepEqual(await study.tellMany(["a", "heard"], [1, 0]), ["fallback", "rewarded"]);
  const [row, ...rest] = script.asked[sent]?.body as { part: string }[];
  assert.deepEqual([row, rest], [{ key: "heard", reward: 0, part: row?.part }, []]);
  script.hangsUp().saysAway();
  await assert.rejects(study.tell("heard", 1), ServiceSilent, "which is no decision, so it has no fallback");
});

test("an outage costs one wait, and the service is tried in the background", async () => {
  const study = script.client().study("drinks");
  await hear(study, [1]);
  script.saysAway();
  assert.ok((await study.ask("first")).fallback);
  const [begun, sent] = [script.now, script.asked.length];
  for (let number = 0; number < 20; number += 1) {
    assert.ok((await study.ask(`at once ${number}`)).fallback);
    assert.ok((await study.askMany([`and many ${number}`]))[0]?.fallback);
    await assert.rejects(study.ask("nothing to play", { offered: ["tea"] }), ServiceSilent);
  }
  assert.deepEqual([script.now, script.asked.length], [begun, sent], "nobody waited, and nothing was sent");

  script.now += REST;
  script.saysAway();
  assert.ok((await study.ask("while it is away still")).fallback);
  await until(() => script.asked.length === sent + 1);
  assert.ok((await study.ask("just after")).fallback);
  assert.deepEqual(script.asked.slice(sent).map(({ path }) => path), ["/readyz"]);

  script.now += REST;
  script.says(200, { status: "ready" }).says(200, decided("back", 0));
  assert.ok((await study.ask("while it is tried")).fallback);
  let back: Decision | undefined;
  let asked = 0;
  await until(async () => !(back = await study.ask(`back ${(asked += 1)}`)).fallback);
  assert.deepEqual([back?.label, script.now], ["tea", begun + 2 * REST]);
  script.says(200, decided("next", 2));
  assert.equal((await study.ask("next")).label, "wine", "the outage is over");
  assert.equal((await study.ask("first")).label, "juice", "a key gives the same decision again");
});

test("where a proxy does not pass the question on whether the service is ready, a decision is tried", async () => {
  const study = script.client().study("drinks");
  await hear(study, [1]);
  await goAway(study);
  script.now += REST;
  script.says(404, "no such page").says(200, decided("back", 0));
  let asked = 0;
  await until(async () => !(await study.ask(`k${(asked += 1)}`)).fallback);
});

test("an outage goes on if the first decision has no answer", async () => {
  const study = script.client().study("drinks"); // as when the service is ready, and its disk stands still
  await hear(study, [1]);
  await goAway(study);
  script.now += REST;
  script.says(200, { status: "ready" }).saysAway();
  const sent = script.asked.length;
  let asked = 0;
  await until(async () => {
    assert.ok((await study.ask(`k${(asked += 1)}`)).fallback);
    return script.asked.length === sent + 2;
  });
  for (let number = 0; number < 20; number += 1) assert.ok((await study.ask(`l${number}`)).fallback);
  assert.equal(script.asked.length, sent + 2);
});

test("an ask with nothing to play tries the service itself", async () => {
  const study = script.client().study("drinks");
  for (let time = 0; time < 3; time += 1) {
    script.saysAway();
    await assert.rejects(study.ask("a"), { message: /sent/ });
    await assert.rejects(study.ask("a"), { message: /away/ });
    script.now += REST;
  }
  script.says(200, decided("a", 1));
  assert.equal((await study.ask("a")).label, "juice", "and not an error although the service is back");
});

test("without fallback every ask is sent, and silence is an error", async () => {
  const study = script.client({ fallback: false }).study("drinks");
  for (let number = 1; number <= 3; number += 1) {
    script.saysAway();
    await assert.rejects(study.ask("a", { default: "tea" }), { name: "ServiceSilent", status: 503 });
    assert.equal(script.asked.length, number);
  }
});
