// The top of a study's page, for whoever decides about it: is exploring worth it, what needs attention, which arms win and
// how sure that is, and who was shown what.
import { draw, make, number, watchWide } from "/chart.js";
import { alarms, costFigure, figure } from "/page.js";

const LATELY = 7 * 86400, MOST_ROWS = 12, MOST_COLUMNS = 7;
const TELL_ALL = "Tell a reward for every decision, 0 where nothing came of it: if only some results are told, such as sales, means are too high.";

// A reward as it was told, prices to the cent: to four decimals, or to three digits where it is tiny.
export function reward(value) {
  if (!Number.isFinite(value) || (value !== 0 && Math.abs(value) < 0.1)) return number(value);
  return value.toLocaleString("en", { maximumFractionDigits: Math.abs(value) < 1000 ? 4 : 2 });
}

// A reward, or a sum of rewards, in the unit of the study.
export function money(study, value) {
  return study.rules.reward_unit && Number.isFinite(value) ? `${reward(value)} ${study.rules.reward_unit}` : reward(value);
}

export const percent = (share) => (Number.isFinite(share) ? `${number(100 * share, share < 0.1 ? 2 : 3)}\u00a0%` : "–");
export const counted = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;
// A table whose rows are read one below the other where the window is narrow.
function stacked(heads, rows, label) {
  const head = make("thead", {}, make("tr", {}, ...heads.map((name) => make("th", { scope: "col" }, name))));
  const line = ([name, ...cells]) => make("tr", {}, make("th", { scope: "row" }, name), ...cells.map((cell, place) => make("td", { "data-name": heads[place + 1] }, cell)));
  const host = make("div", { class: "wide", "data-label": label }, make("table", { class: "latest" }, head, make("tbody", {}, ...rows.map(line))));
  watchWide(host);
  return host;
}

export const clock = (at) => new Date(at * 1000).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });

// The answer in a few words, and the sentences behind it.
function worth(study, { lift }) {
  if (!lift) return ["", "This is being computed; it comes by itself."];
  if (lift.problem !== null) return ["This cannot be said yet.", lift.problem];
  const rule = `the fixed rule, by which those held out get ${study.rules.holdout_policy}`;
  const interval = `${money(study, lift.low)} to ${money(study, lift.high)}`;
  const basis = `Measured on ${counted(lift.decisions, "decision")} for ${counted(lift.units, "unit")}, and on ${number(lift.held_decisions)} for ${number(lift.held_units)} held out; units are customers, or whom else decisions are about.`;
  const waiting = lift.left_out ? ` ${counted(lift.left_out, "decision")} of late may still get a reward, and are left out.` : "";
  if (lift.low <= 0 && lift.high >= 0)
    return ["This cannot be said yet.", `Compared with ${rule}, the study earns from ${interval} more a decision (95 % interval): no difference is among these. More decisions make the interval narrower, and so does a larger share that is held out.`, basis + waiting];
  const sign = lift.difference > 0 ? 1 : -1, ends = [lift.low, lift.high].map((end) => sign * end).sort((a, b) => a - b);
  const sum = (value) => money(study, value * lift.decisions), amount = sign * lift.difference;
  return [
    sign > 0 ? "Yes, the study pays." : "No, the study loses.",
    `It earns ${money(study, amount)} ${sign > 0 ? "more" : "less"} a decision than ${rule} (95 % interval ${money(study, ends[0])} to ${money(study, ends[1])}). Over the decisions measured that is ${sum(amount)} (${sum(ends[0])} to ${sum(ends[1])}).`,
    basis + waiting,
  ];
}

export function drawWorth(host, study, past) {
  const f = study.figures, spent = f.exploration, { at } = past.overview, [answer, ...words] = worth(study, past.overview);
  host.replaceChildren(
    make("div", { class: "words" },
      make("p", { id: "lift", class: "lead" }, answer ? make("strong", {}, answer) : null, answer ? " " : null, words[0]),
      ...words.slice(1).map((each) => make("p", { class: "small soft" }, each)),
      at === null ? null : make("p", { class: "small soft" }, `As of ${clock(at)}.${words.length > 1 ? " This is about the study as a whole, which learns from what it explores; what exploring costs by itself is only estimated." : ""}`)),
    make("dl", { class: "figures" },
      costFigure(study),
      figure("explored", `${number(spent.done)} times`, `${percent(spent.done / f.rounds)} of ${counted(f.rounds, "round")} (decisions of the policy); ${counted(spent.different, "deviation")}: another arm than the best by estimate`),
      figure("decisions", number(f.decisions), `${f.held_out.decisions ? `${number(f.held_out.decisions)} of them held out; ` : ""}${number(f.per_minute)} in the last minute`),
      figure("mean reward", money(study, f.today.mean_reward), "of the last day (UTC)"),
      f.apprentice.decisions ? figure("as an apprentice", `${percent(f.apprentice.agreement)} alike`, `of ${number(f.apprentice.decisions)} decisions of others; it expects ${money(study, f.apprentice.estimated_gain)} more a decision of its own, by its estimates`) : null));
}

// Which share of decisions has no reward, and what to do about it.
function missingWords(study) {
  const { states, decisions } = study.figures, { wait, default: value } = study.rules, closed = value === null ? (states.defaulted ?? 0) + (states.late ?? 0) : 0;
  const missing = states.pending + closed, patience = typeof wait === "number" ? `${number(wait)} seconds` : wait;
  if (!decisions) return "No decision yet.";
  if (!missing) return "Every decision has its reward.";
  const parts = [];
  if (states.pending) parts.push(`${number(states.pending)} wait for theirs${wait === null ? ", for ever if nothing comes" : `, for ${patience} at most`}`);
  if (closed) parts.push(`${number(closed)} have none after ${patience}`);
  if (value !== null) parts.push(`a decision that has none after ${patience} counts as ${money(study, value)}`);
  return `${percent(missing / decisions)} of decisions are without a reward (${number(missing)}): ${parts.join("; ")}.${value === null && (closed || wait === null) ? ` ${TELL_ALL}` : ""}`;
}

export function drawAttention(host, study) {
  host.replaceChildren(alarms(study.figures.alarms), make("p", { id: "missing" }, missingWords(study)));
}

// ------------------------------------------------------------------------------------------------ which arms win

function verdict({ requests, different, arms }) {
  const [name, winner] = Object.entries(arms).sort((a, b) => b[1].best - a[1].best)[0], sure = Object.values(arms).reduce((sum, each) => sum + each.sure, 0);
  if (different > 1) return `For ${percent(sure / requests)} of the latest ${number(requests)} contexts one arm is surely the best; for the others it cannot be told yet.`;
  if (sure) return `${name} wins: its interval lies above those of all other arms.`;
  const rivals = Object.entries(arms).filter(([other, each]) => other !== name && !(each.high < winner.low)).map(([other]) => other);
  const more = rivals.length > 3 ? `${rivals.length} other arms` : rivals.join(" and ");
  return `Cannot tell yet: ${name} has the best estimate, but its interval overlaps that of ${more}.`;
}

export function drawWinners(host, study, past) {
  const { winners } = past.overview, latest = past.spans.at(-1).end, shown = {};
  for (const span of past.spans) if (span.end > latest - LATELY) for (const [arm, count] of Object.entries(span.arms)) shown[arm] = (shown[arm] || 0) + count;
  const total = Object.values(shown).reduce((sum, count) => sum + count, 0), wins = winners?.arms ?? {}, isOne = winners?.different === 1;
  const names = [...new Set([...Object.keys(wins), ...Object.keys(past.arms)])], rank = (name) => [wins[name]?.best ?? 0, wins[name]?.estimate ?? 0, shown[name] ?? 0];
  names.sort((a, b) => rank(b)[0] - rank(a)[0] || rank(b)[1] - rank(a)[1] || rank(b)[2] - rank(a)[2]);
  const seen = ({ rewards, mean } = {}) => (rewards ? `${money(study, mean)} (${number(rewards)})` : "none yet");
  const sure = (arm) => {
    if (!winners) return [];
    if (isOne) return [arm ? (arm.low === null || arm.high === null ? "too little seen" : `${money(study, arm.estimate)} (${reward(arm.low)} to ${reward(arm.high)})`) : "–"];
    return [percent((arm?.best ?? 0) / winners.requests), percent((arm?.sure ?? 0) / winners.requests)];
  };
  const heads = ["arm", "shown, last 7 days", "mean reward seen (rewards)", ...(!winners ? [] : isOne ? ["estimate (interval)"] : ["best by estimate", "surely the best"])];
  const rows = names.slice(0, MOST_ROWS).map((name) => [name, percent((shown[name] ?? 0) / total), seen(past.arms[name]), ...sure(wins[name])]);
  const rest = names.length > MOST_ROWS ? ` ${counted(names.length - MOST_ROWS, "further arm")} not listed.` : "";
  const meaning = !winners ? "" : isOne
    ? "Intervals are those of the model, by the noise that was seen; all of them hold together with a chance of about 95 %, at one moment."
    : `The last two columns are shares of the latest ${number(winners.requests)} contexts. Surely the best: the interval of its estimate, by the noise that was seen, lies above those of all others on offer; all intervals of a context hold together with a chance of about 95 %, at one moment.`;
  host.replaceChildren(
    make("p", { id: "verdict", class: "lead" }, winners ? verdict(winners) : past.overview.at === null ? "This is being computed; it comes by itself." : "Cannot tell: what was asked lately does not fit the arms and features of today."),
    stacked(heads, rows, "Table of arms"),
    make("p", { class: "tip" }, `${meaning} Mean rewards seen do not compare arms: the study chose whom to show each.${rest}`.trim()));
}

// ------------------------------------------------------------------------------------------------------ segments

// Parts of a range by their numbers, other values by how many decisions they have; the rest last.
function ordered(values) {
  const first = (name) => (/^-?[\d.]/.test(name) ? Number.parseFloat(name) : name === "other" || name === "missing" ? Infinity : 1e300);
  return Object.entries(values).sort((a, b) => first(a[0]) - first(b[0]) || b[1].decisions - a[1].decisions);
}

// The select stays as it is when figures are drawn anew, so that it can be used meanwhile.
export function drawSegments(host, study, past) {
  const columns = Object.keys(past.segments).filter((name) => Object.keys(past.segments[name]).length);
  if (!columns.length) {
    host.replaceChildren(make("p", { class: "small soft" }, "No segments: they are values of the columns of contexts that have names (infex.features.table), of ten decisions or more."));
    delete host.columns;
    return;
  }
  if (host.columns !== columns.join("\n")) {
    const select = make("select", { id: "column", onchange: () => host.redraw() }, ...columns.map((name) => make("option", { value: name }, name)));
    host.replaceChildren(make("div", { class: "filters" }, make("label", { for: "column" }, "by "), select), make("div"), make("div"), make("p", { class: "tip" }, "Since the beginning, without those held out. Groups of fewer than ten decisions are among “other”, and no mean is shown of fewer than ten rewards. Figures follow in steps of ten decisions and rewards, so that nobody's context can be told from them."));
    host.columns = columns.join("\n");
  }
  host.redraw = () => {
    const [filters, chart, rows] = host.children, column = filters.querySelector("select").value, values = ordered(past.segments[column]);
    const totals = {};
    for (const [, { arms }] of values) for (const [arm, { decisions }] of Object.entries(arms)) totals[arm] = (totals[arm] || 0) + decisions;
    const order = Object.keys(totals).sort((a, b) => totals[b] - totals[a]), top = order.slice(0, MOST_COLUMNS), rest = order.slice(MOST_COLUMNS);
    const share = (value, arms) => arms.reduce((sum, arm) => sum + (value.arms[arm]?.decisions ?? 0), 0) / value.decisions;
    draw(chart, {
      kind: "heat", title: `Share of arms, by ${column}`, label: "share of decisions", format: "percent", from: 0,
      rows: values.map(([name]) => name), columns: [...top, ...(rest.length ? [`${rest.length} others`] : [])],
      values: values.map(([, value]) => [...top.map((arm) => share(value, [arm])), ...(rest.length ? [share(value, rest)] : [])]),
      texts: values.map(([, value]) => [...top.map((arm) => percent(share(value, [arm]))), ...(rest.length ? [percent(share(value, rest))] : [])]),
    });
    const mean = ({ mean: found, rewards }) => (found === null ? "too few rewards" : `${money(study, found)} (${number(rewards)})`);
    const best = ({ arms, decisions }) => Object.entries(arms).sort((a, b) => b[1].decisions - a[1].decisions).slice(0, 3).map(([arm, each]) => `${arm} ${percent(each.decisions / decisions)}${each.mean === null ? "" : `, ${money(study, each.mean)} (${number(each.rewards)})`}`).join("; ");
    rows.replaceChildren(stacked([column, "decisions", "mean reward (rewards)", "shown most, with mean rewards"], values.map(([name, value]) => [name, number(value.decisions), mean(value), best(value)]), `Table by ${column}`));
  };
  host.redraw();
}
