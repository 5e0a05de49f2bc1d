// One study: an overview, then for the operator when it explores, what it plays, why, and what an admin may change.
import { draw, duration, make, number, table, watchWide } from "/chart.js";
import { clock, counted, drawAttention, drawSegments, drawWinners, drawWorth, money, percent, reward } from "/overview.js";
import { ask, figure, may } from "/page.js";

let here = null; // what is shown: the study, and its places on the page
const MOST_ARMS = 7, MOST_ROWS = 12, FEW_ROWS = 15, MANY_ROWS = 200;
const HOUR = 3600, DAY = 24 * HOUR;
const OVERVIEW = [
  ["worth", "Is exploring worth it?", "full worth"],
  ["attention", "What needs attention", "full"],
  ["winners", "Which arms win, and how sure that is", "full"],
  ["segments", "Who was shown what", "full"],
];
const PANELS = [
  ["when", "When it explores", "full"],
  ["shares", "Share of each arm"],
  ["estimates", "Estimates of the arms played lately, with intervals"],
  ["cost", "Cost of exploring so far"],
  ["reward", "Mean reward"],
  ["delay", "Delay of rewards"],
  ["days", "By day"],
  ["changes", "Changes, and what was skipped", "full"],
];

export function openStudy(main, study) {
  here = { study, places: {}, filters: {}, most: FEW_ROWS };
  const place = (name, title, style) => {
    const host = make("div", { id: name }, [...OVERVIEW, ...PANELS].some((panel) => panel[0] === name) ? make("p", { class: "small soft" }, "asking the service …") : null);
    here.places[name] = host;
    return make("section", { class: `panel ${style || ""}`, "aria-label": title }, make("h3", {}, title), host);
  };
  here.places.head = make("div");
  main.replaceChildren(
    make("p", { class: "small" }, make("a", { href: "#/" }, "All studies")),
    here.places.head,
    make("div", { class: "panels" }, ...OVERVIEW.map((panel) => place(...panel))),
    make("h2", { class: "apart" }, "For the operator"),
    make("div", { class: "panels" }, ...PANELS.map((panel) => place(...panel)), place("latest", "Latest decisions, without those held out", "full"), may("admin") ? place("admin", "Change", "full") : null),
  );
  drawFilters();
  if (may("admin")) drawAdmin();
  refreshStudy(study);
}

export async function refreshStudy(study) {
  const mine = here;
  mine.study = study;
  drawHead(study);
  try {
    const path = `/v1/studies/${encodeURIComponent(study.name)}`, some = mine.filters;
    const decisions = (wanted) => ask(`${path}/decisions?${new URLSearchParams({ most: 200, ...wanted })}`);
    const [past, all, chosen] = await Promise.all([ask(`${path}/past`), decisions({}), Object.keys(some).length ? decisions(some) : null]);
    if (here !== mine) return;
    if (past.spans.length) drawPast(study, past, all);
    else sayInPanels(past.entries < study.figures.entries ? "The journal is being read." : "No decision yet.");
    fillReasons();
    drawLatest(chosen ?? all);
    document.body.dataset.drawn = `${study.name} ${past.entries}`;
  } catch (error) {
    mine.places.head.append(make("p", { role: "alert" }, error.message));
  }
}

function sayInPanels(words) {
  for (const [name] of [...OVERVIEW, ...PANELS]) {
    if (name === "attention") continue;
    delete here.places[name].chart;
    delete here.places[name].columns;
    here.places[name].replaceChildren(make("p", { class: "small soft" }, words));
  }
}

// The policy in words stays open where its code was opened.
function drawHead(study) {
  const isOpen = here.places.head.querySelector("details")?.open ?? false;
  const hadFocus = here.places.head.querySelector("summary") === document.activeElement && document.activeElement !== null;
  const summary = make("summary", { class: "small" }, "The same as code");
  here.places.head.replaceChildren(
    make("h2", {}, study.name, " ", study.paused ? make("span", { class: "badge paused" }, "exploring is paused") : null),
    make("p", {}, study.words),
    make("details", { open: isOpen }, summary, make("p", { class: "small" }, make("code", {}, study.policy))));
  if (hadFocus) summary.focus();
  drawAttention(here.places.attention, study);
}

function cumulated(values) {
  let sum = 0;
  return values.map((value) => (sum += value));
}

// The arm of a round long ago is not kept beside the sums.
function explored(mark) {
  return `explored ${mark.arm || (mark.different ? "another arm than the greedy one" : "the greedy arm")}`;
}

// Spans as one for each hour, or for each day (UTC) where there are many days; those of weeks stay.
function grouped(spans) {
  const extent = spans.at(-1).end - spans[0].begin, width = extent <= 3 * HOUR ? 60 : extent <= 4 * DAY ? HOUR : DAY, found = [];
  for (const span of spans) {
    const before = found.at(-1);
    if (!before || Math.floor(before.begin / width) !== Math.floor(span.begin / width)) {
      found.push({ ...span, arms: { ...span.arms } });
      continue;
    }
    for (const [arm, count] of Object.entries(span.arms)) before.arms[arm] = (before.arms[arm] || 0) + count;
    for (const name of ["decisions", "explored", "cost", "rewards", "reward", "held", "held_rewards", "held_reward"]) before[name] += span[name];
    for (const name of ["at", "end", "last", "planned"]) before[name] = span[name];
  }
  return [found, width === 60 ? "by minute" : width === HOUR ? "by hour" : "by day"];
}

function drawPast(study, past, latest) {
  const planned = past.spans.map((span, place) => ({ ...span, planned: past.planned?.[place] })), [spans, step] = grouped(planned);
  const at = spans.map((each) => each.at), time = { label: "time", format: "time" }, spent = study.figures.exploration;
  const done = cumulated(spans.map((each) => each.explored)), cost = cumulated(spans.map((each) => each.cost));
  const share = past.entries / study.figures.entries, places = here.places, unit = study.rules.reward_unit ? ` (${study.rules.reward_unit})` : "";
  drawWorth(places.worth, study, past);
  drawWinners(places.winners, study, past);
  drawSegments(places.segments, study, past);
  const next = study.paused ? "Exploring is paused." : spent.next_due === null ? "" : `The next exploration is due in decision ${number(spent.next_due)}; ${number(spent.done)} of ${number(spent.planned)} planned are done (${counted(spent.different, "deviation")} from the greedy arm), ${number(spent.skipped)} were skipped, ${number(spent.owed)} are to be made up.`;
  const marks = past.marks.filter((mark) => mark.at >= at[0]).map((mark) => ({ x: mark.at, kind: mark.explored ? (mark.different ? "different" : "same") : "skipped", text: `round ${number(mark.round)}: ${mark.explored ? explored(mark) : mark.reason}` }));
  draw(places.when, {
    title: `Explorations planned and done, ${step}`, at, x: time, y: { label: "explorations" },
    series: [{ name: "done", y: done, colour: 1 }, ...(past.planned ? [{ name: "planned", y: spans.map((each) => each.planned), colour: 7, dash: "5 4" }] : [])],
    marks, hint: share < 0.99 ? `${Math.floor(100 * share)} % of the journal is read so far; the rest follows by itself.` : next || undefined,
    notes: [{ colour: 7, name: "tick: explored, and it was the greedy arm" }, { colour: 1, name: "tick: explored another arm" }, { colour: 6, name: "circle: skipped, point at it for the reason" }],
  });
  drawShares(spans, at, time, step);
  drawEstimates(latest);
  const limit = study.figures.limits.find((each) => each.what === "cost" && each.window === null);
  draw(places.cost, {
    title: "Summed estimated loss of exploring", height: 220, at, x: time, y: { label: `cost of exploring, estimated${unit}`, name: "cost" }, series: [{ name: "cost", y: cost, colour: 1 }],
    limits: limit ? [{ y: limit.limit, name: `limit ${money(study, limit.limit)}` }] : [], hint: limit ? undefined : "The policy has no limit of cost.",
  });
  const mean = (name, count, sum, colour, dash) => ({ name, colour, dash, y: spans.map((each) => (each[count] ? each[sum] / each[count] : null)), says: spans.map((each) => ` over ${number(each[count])} rewards`) });
  draw(places.reward, {
    title: `Mean reward of decisions, ${step}`, height: 220, at, x: time, y: { label: `mean reward of decisions taken then${unit}`, name: "mean reward" },
    series: [mean("the study", "rewards", "reward", 2), ...(study.figures.held_out.decisions ? [mean("held out", "held_rewards", "held_reward", 7, "5 4")] : [])],
  });
  drawDelay(study.figures.delay);
  drawDays(study);
  drawChanges(past);
}

function drawShares(spans, at, time, step) {
  const totals = {};
  for (const each of spans) for (const [arm, count] of Object.entries(each.arms)) totals[arm] = (totals[arm] || 0) + count;
  const order = Object.keys(totals).sort((a, b) => totals[b] - totals[a]), top = order.slice(0, MOST_ARMS), rest = order.slice(MOST_ARMS);
  const groups = [...top.map((arm) => [arm, [arm]]), ...(rest.length ? [[`${rest.length} others`, rest]] : [])];
  let below = spans.map(() => 0);
  const series = groups.map(([name, arms], colour) => {
    const y = spans.map((each) => (each.decisions ? arms.reduce((sum, arm) => sum + (each.arms[arm] || 0), 0) / each.decisions : null));
    const low = below, high = y.map((share, i) => low[i] + share);
    below = high;
    return { name, shape: "area", colour, y, low, high };
  });
  draw(here.places.shares, { title: `Share of each arm, ${step}`, height: 220, at, x: time, y: { label: "share of decisions", format: "percent", to: 1 }, series });
}

function drawEstimates(latest) {
  const by = {};
  for (const each of latest) (by[each.arm] ||= []).push(each);
  const mean = (values) => (values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null);
  const rows = Object.entries(by).sort((a, b) => b[1].length - a[1].length).slice(0, MOST_ROWS).map(([name, all]) => ({
    name: `${name} (${all.length})`, value: mean(all.map((each) => each.estimate)), low: mean(all.map((each) => each.low ?? NaN)), high: mean(all.map((each) => each.high ?? NaN)),
    other: mean(all.map((each) => each.reward).filter((reward) => reward !== null)),
  }));
  draw(here.places.estimates, {
    kind: "rows", title: "Mean estimate and interval of each arm in its latest decisions", rows, x: { label: "estimate of the reward" },
    hint: "Of the latest decisions: dot the mean estimate, line the mean interval, square the mean reward that came.",
  });
}

function drawDelay(delay) {
  const edges = Object.keys(delay.up_to).sort((a, b) => (a === "more" ? 1 : b === "more" ? -1 : a - b)), all = Object.values(delay.up_to).reduce((sum, count) => sum + count, 0);
  draw(here.places.delay, {
    kind: "rows", bars: true, title: "How long rewards took", x: { label: "rewards", format: "count" }, hint: `mean ${duration(delay.mean, 2)}, of ${number(all)} rewards`,
    rows: edges.map((edge, place) => ({
      name: edge === "more" ? `over ${duration(Number(edges[place - 1]), 2)}` : `up to ${duration(Number(edge), 2)}`, value: delay.up_to[edge], text: all ? `${Math.round((100 * delay.up_to[edge]) / all)}%` : "0",
    })),
  });
}

function drawDays(study) {
  const days = Object.entries(study.figures.days).sort().reverse().slice(0, 14), learnt = days.some(([, f]) => f.apprentice);
  const apprentice = (f) => (learnt ? [number(f.apprentice), percent(f.agreement ?? NaN), money(study, f.estimated_gain)] : []);
  const rows = days.map(([day, f]) => [day, number(f.rounds), number(f.explored), number(f.different), number(f.rewards), money(study, f.mean_reward), reward(f.calibration), ...apprentice(f)]);
  const heads = ["day (UTC)", "rounds", "explored", "deviations", "rewards", "mean reward", "calibration", ...(learnt ? ["as an apprentice", "alike", "estimated gain"] : [])];
  here.places.days.replaceChildren(
    table({ heads, rows }, "Table by day"),
    make("p", { class: "tip" }, `Rounds are decisions of the policy, without those held out. Deviations: explored, and it was not the greedy arm. Calibration: mean reward minus mean estimate; near 0 is good.${learnt ? " As an apprentice: decisions of others; of how many the study would have played the same arm, and how much more it expects of its own, a decision." : ""}`));
}

function drawChanges(past) {
  const skipped = Object.entries(past.skipped).map(([reason, count]) => make("li", {}, `${number(count)} × ${reason}`));
  const changes = past.amendments.slice(-8).reverse().map((each) => make("li", {}, `${clock(each.at)}: ${each.what}. ${each.reason}`));
  here.places.changes.replaceChildren(
    make("p", { class: "small" }, "Explorations that were due and did not happen:"), skipped.length ? make("ul", { class: "small" }, ...skipped) : make("p", { class: "small soft" }, "none"),
    make("p", { class: "small" }, "Amendments, the newest first:"), changes.length ? make("ul", { class: "small" }, ...changes) : make("p", { class: "small soft" }, "none"));
}

function drawFilters() {
  const arms = (here.study.arms || []).map(String), reasons = Object.keys(here.study.figures.reasons);
  const choice = (name, label, options) => make("label", {}, label, make("select", { onchange: (event) => {
    if (event.target.value) here.filters[name] = event.target.value;
    else delete here.filters[name];
    refreshStudy(here.study);
  }, "data-filter": name }, make("option", { value: "" }, "all"), ...options.map(([value, text]) => make("option", { value }, text))));
  const heads = ["key", "round", "arm", "reason", "estimate", "reward", "when"].map((name) => make("th", { scope: "col" }, name));
  here.rows = make("tbody");
  const decisions = make("div", { class: "wide", "data-label": "Table of the latest decisions" }, make("table", { class: "latest" }, make("thead", {}, make("tr", {}, ...heads)), here.rows));
  watchWide(decisions);
  here.places.latest.append(
    make("div", { class: "filters" }, choice("arm", "arm", arms.map((arm) => [arm, arm])), choice("reason", "reason", reasons.map((reason) => [reason, reason])),
      choice("explored", "explored", [["true", "yes"], ["false", "no"]]), choice("state", "reward", ["pending", "rewarded", "defaulted", "late", "corrected"].map((each) => [each, each]))),
    decisions,
    make("button", { id: "more", onclick: (event) => {
      here.most = here.most === FEW_ROWS ? MANY_ROWS : FEW_ROWS;
      event.target.textContent = here.most === FEW_ROWS ? "Show more" : "Show fewer";
      refreshStudy(here.study);
    } }, "Show more"));
}

// Reasons that have come up since the page was opened can be chosen, too.
function fillReasons() {
  const select = here.places.latest.querySelector("[data-filter=reason]"), known = [...select.options].map((option) => option.value);
  for (const reason of Object.keys(here.study.figures.reasons)) if (!known.includes(reason)) select.append(make("option", { value: reason }, reason));
}

function drawLatest(latest) {
  const focused = document.activeElement?.dataset?.key;
  const rows = latest.slice(0, here.most).map((each) => {
    const cell = (name, value, style = "") => make("td", { class: style, "data-name": name }, value);
    return make("tr", {}, cell("", make("button", { "data-key": each.key, title: "Why?", onclick: () => showWhy(each.key) }, each.key)), cell("round", number(each.round)), cell("arm", each.arm), cell("", each.explored ? make("strong", {}, each.reason) : each.reason),
      cell("estimate", reward(each.estimate)), cell("reward", each.reward === null ? each.state : reward(each.reward)), cell("", new Date(each.at * 1000).toLocaleString("en-GB", { dateStyle: "short", timeStyle: "medium" })));
  });
  here.rows.replaceChildren(...(rows.length ? rows : [make("tr", {}, make("td", { colspan: "7", class: "soft" }, Object.keys(here.filters).length ? "none of the latest decisions is so" : "no decision yet"))]));
  if (focused) here.rows.querySelector(`button[data-key="${CSS.escape(focused)}"]`)?.focus();
}

async function showWhy(key) {
  const dialog = document.getElementById("why");
  const body = make("div", {}, make("p", { class: "soft" }, "The journal is replayed up to this decision, to prove it."));
  dialog.replaceChildren(make("div", { class: "top" }, make("h2", { id: "why-title" }, `Why ${key}?`), make("button", { onclick: () => dialog.close() }, "Close")), body);
  dialog.showModal();
  try {
    const { why } = await ask(`/v1/studies/${encodeURIComponent(here.study.name)}/explain/${encodeURIComponent(key)}`);
    drawWhy(body, why);
  } catch (error) {
    body.replaceChildren(make("p", { role: "alert" }, error.message));
  }
  dialog.dataset.shown = key;
}

function drawWhy(body, why) {
  const d = why.decision;
  if (!d) {
    body.replaceChildren(make("p", {}, `Its content is gone: ${why.state}.`));
    return;
  }
  const proof = why.proven === true ? "Proven: decided once more from the journal, it came to the same to the last bit" : why.proven === false ? "NOT the same when it was decided once more" : "It cannot be proven: something it rested on was erased";
  const offers = make("div"), shares = make("div");
  body.replaceChildren(
    make("p", {}, `Round ${number(d.t)}: ${d.label ?? d.arm}, ${d.explored ? "explored" : "not explored"}, because “${d.reason}”. `, make("strong", {}, proof), "."),
    make("dl", { class: "figures" },
      figure("estimate", reward(d.estimate), `${reward(d.low)} to ${reward(d.high)}`), figure("probability", number(d.propensity), `chance of exploring ${number(d.explore_probability)}`),
      figure("estimated loss", reward(why.loss)), figure("reward", why.reward === null ? why.state : reward(why.reward)), figure("entry", number(why.entry), why.amendment ? `after amendment ${number(why.amendment)}` : ""), figure("software", why.software || "–")),
    make("p", { class: "small" }, make("code", {}, why.policy || "")),
    why.offers.length ? make("h3", {}, why.proven === null ? "Offers, without what was erased: not the estimates that it was decided on" : "Offers, with estimates and intervals") : null, offers,
    Object.keys(why.shares).length ? make("h3", {}, "What each feature added to the estimate of the arm played") : null, shares);
  if (why.offers.length) draw(offers, {
    kind: "rows", title: "Offers with estimates and intervals; the arm played stands out", x: { label: "estimate of the reward" },
    rows: [...why.offers].sort((a, b) => b.estimate - a.estimate).slice(0, 20).map((each) => ({ name: String(each.label ?? each.arm), low: each.low, value: each.estimate, high: each.high, colour: each.arm === d.arm ? 1 : 0 })),
  });
  const parts = Object.entries(why.shares).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).slice(0, 20);
  if (parts.length) draw(shares, { kind: "rows", bars: true, title: "Share of each feature in the estimate", rows: parts.map(([name, value]) => ({ name, value, colour: value < 0 ? 1 : 0 })) });
}

function drawAdmin() {
  const path = `/v1/studies/${encodeURIComponent(here.study.name)}`, said = make("p", { role: "status", id: "said" });
  const reason = make("input", { type: "text", id: "reason", maxlength: "500", required: true }), policy = make("input", { type: "text", id: "policy", maxlength: "2000", spellcheck: "false", value: here.study.policy });
  const change = async (body, words) => {
    if (!reason.value.trim()) {
      said.textContent = "Say why: the journal keeps it.";
      reason.focus();
      return;
    }
    try {
      const study = await ask(`${path}/amendments`, { ...body, reason: reason.value.trim() });
      said.textContent = words;
      reason.value = "";
      policy.value = study.policy;
      refreshStudy(study);
    } catch (error) {
      said.textContent = error.message;
    }
  };
  const preview = async () => {
    try {
      const shown = await ask(`${path}/preview`, { policy: policy.value });
      const word = (count) => (count === null ? "an unknown number of" : number(count));
      said.textContent = `In the next ${number(shown.rounds)} rounds (${shown.basis}): ${word(shown.explorations)} explorations; as it is now, ${word(shown.now)}.`;
    } catch (error) {
      said.textContent = error.message;
    }
  };
  here.places.admin.append(make("div", { class: "fields" },
    make("label", { for: "reason" }, "Why (it is kept in the journal)"), reason,
    make("div", { class: "row" }, make("button", { id: "pause", onclick: () => change({ explore: false }, "Exploring is paused.") }, "Pause exploring"), make("button", { id: "resume", onclick: () => change({ explore: true }, "Exploring goes on.") }, "Resume exploring")),
    make("label", { for: "policy" }, "Policy with its schedule and limits"), policy,
    make("div", { class: "row" }, make("button", { id: "preview", onclick: preview }, "Preview"), make("button", { id: "amend", onclick: () => change({ policy: policy.value }, "The policy is changed.") }, "Amend")), said));
}
