// The page: who looks, what is live, and all studies at a glance. One study is in study.js.
import { make, number } from "/chart.js";
import { counted, money } from "/overview.js";
import { openStudy, refreshStudy } from "/study.js";

const main = document.getElementById("main"), live = document.getElementById("live"), login = document.getElementById("login");
const state = { studies: [], failed: {}, scopes: [], stream: null, heard: 0 };

export function may(scope) {
  return state.scopes.includes(scope);
}

function authorization() {
  const token = sessionStorage.getItem("infex token");
  return token ? { Authorization: `Bearer ${token}` } : {};
}

// An answer as data; what is refused is thrown in the words of the service.
export async function ask(path, body) {
  const headers = authorization();
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, { method: body === undefined ? "GET" : "POST", headers, body: body === undefined ? undefined : JSON.stringify(body) });
  const data = await answer.json();
  if (!answer.ok) {
    const error = new Error([data.field, data.message, data.expected].filter(Boolean).join(": "));
    error.status = answer.status;
    throw error;
  }
  return data;
}

function say(word, style) {
  live.textContent = word;
  live.className = style;
}

// Reads server-sent events by fetch, for an EventSource could not send a token.
async function listen() {
  state.stream = new AbortController();
  const answer = await fetch("/v1/events", { headers: authorization(), signal: state.stream.signal });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  const reader = answer.body.getReader(), decoder = new TextDecoder();
  let waiting = "";
  state.failed = {};
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    waiting += decoder.decode(value, { stream: true });
    const events = waiting.split("\n\n");
    waiting = events.pop();
    for (const event of events) hear(event);
  }
}

function hear(event) {
  const kind = /^event: (\w+)\ndata: (.*)$/s.exec(event);
  if (kind?.[1] === "opening") say("the studies are being opened", "");
  if (kind?.[1] === "failed") state.failed = JSON.parse(kind[2]);
  if (kind?.[1] !== "studies") return;
  state.studies = JSON.parse(kind[2]);
  state.heard += 1;
  document.body.dataset.heard = state.heard;
  say("live", "live");
  show(false);
}

async function follow() {
  for (let pause = 500; ; pause = Math.min(10000, pause * 2)) {
    try {
      await listen();
      pause = 500;
      say("the service has ended the connection; trying again", "lost");
    } catch (error) {
      if (error.name === "AbortError") return;
      say("the service does not answer; trying again", "lost");
    }
    await new Promise((done) => setTimeout(done, pause));
  }
}

function chosen() {
  const found = /^#\/study\/(.+)$/.exec(location.hash);
  return found ? decodeURIComponent(found[1]) : null;
}

function show(anew) {
  const name = chosen(), study = state.studies.find((each) => each.name === name);
  document.title = name ? `${name} · infex` : "infex";
  if (name && study) {
    if (anew || main.dataset.shows !== name) openStudy(main, study);
    else refreshStudy(study);
    main.dataset.shows = name;
    return;
  }
  if (name) main.replaceChildren(make("p", {}, state.failed[name] ? `The study ${name} cannot be opened: ${state.failed[name]}. ` : `There is no study ${name}. `, make("a", { href: "#/" }, "All studies")));
  else showAll();
  main.dataset.shows = "";
  document.body.dataset.drawn = state.heard;
}

function showAll() {
  const failed = Object.entries(state.failed);
  if (!state.studies.length && !failed.length) {
    main.replaceChildren(
      make("h2", {}, "No study yet"),
      make("p", {}, "A study begins with ", make("code", {}, "POST /v1/studies"), ", or with ", make("code", {}, "infex.Client(url).open(name, features=…, policy=…)"), "."),
    );
    return;
  }
  const focused = document.activeElement?.getAttribute?.("href");
  main.replaceChildren(make("h2", {}, state.studies.length + failed.length === 1 ? "One study" : `${state.studies.length + failed.length} studies`), make("div", { class: "cards" }, ...failed.map(failedCard), ...state.studies.map(card)));
  if (focused) main.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
}

function failedCard([name, why]) {
  return make("article", { class: "card" }, make("h2", {}, name), alarms([`it cannot be opened: ${why}`]));
}

function card(study) {
  const f = study.figures, spent = f.exploration, limit = f.limits.find((each) => each.what === "explorations" && each.window === null);
  const planned = spent.planned ?? null, share = planned ? Math.min(1, spent.done / planned) : 0;
  const meter = make("div", { class: "meter" }, make("i", {}));
  meter.firstChild.style.width = `${100 * share}%`;
  return make("article", { class: "card" },
    make("h2", {}, make("a", { href: `#/study/${encodeURIComponent(study.name)}` }, study.name), " ", study.paused ? make("span", { class: "badge paused" }, "paused") : null),
    make("p", { class: "small soft" }, study.words),
    make("dl", { class: "figures" },
      figure("decisions a minute", number(f.per_minute)),
      figure("decisions", number(f.decisions), f.held_out.decisions ? `${number(f.held_out.decisions)} of them held out` : ""),
      figure("explored of planned", `${number(spent.done)} of ${number(planned)}`, `${counted(spent.different, "deviation")} from the greedy arm${limit ? `; limit ${number(limit.limit)}` : ""}`, planned ? meter : null),
      costFigure(study),
      figure("pending, late", `${number(f.states.pending)}, ${number(f.states.late)}`),
      figure("mean reward", money(study, f.today.mean_reward), "of the last day (UTC)"),
    ),
    alarms(f.alarms),
  );
}

export function figure(name, value, more, extra) {
  return make("div", {}, make("dt", {}, name), make("dd", {}, value, more ? make("small", {}, ` ${more}`) : null, extra ?? null));
}

// What exploring has cost so far, by the estimates, against the limit that the policy sets.
export function costFigure(study) {
  const limit = study.figures.limits.find((each) => each.what === "cost"), within = limit?.window ? ` in ${number(limit.window)} decisions` : "";
  return figure("cost of exploring, estimated", money(study, study.figures.exploration.cost), limit ? `limit ${money(study, limit.limit)}${within}` : "no limit");
}

export function alarms(words) {
  const rows = words.length ? words.map((each) => make("li", {}, each)) : [make("li", { class: "none" }, "no alarm")];
  return make("ul", { class: "alarms" }, ...rows);
}

async function begin() {
  try {
    state.scopes = (await ask("/v1/me")).scopes;
  } catch (error) {
    const known = sessionStorage.getItem("infex token") !== null;
    if (error.status !== 401 && error.status !== 403) {
      say("the service does not answer; trying again", "lost");
      setTimeout(begin, 2000);
      return;
    }
    document.getElementById("refused").textContent = known ? "This token may not look." : "";
    sessionStorage.removeItem("infex token");
    login.hidden = false;
    say("a token with the scope read is needed", "");
    document.getElementById("token").focus();
    document.body.dataset.drawn = "login";
    return;
  }
  login.hidden = true;
  document.getElementById("logout").hidden = sessionStorage.getItem("infex token") === null;
  follow();
}

login.addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("infex token", document.getElementById("token").value.trim());
  document.getElementById("token").value = "";
  begin();
});
document.getElementById("logout").addEventListener("click", () => {
  sessionStorage.removeItem("infex token");
  state.stream?.abort();
  location.reload();
});
addEventListener("hashchange", () => { show(true); main.focus(); scrollTo(0, 0); });
begin();
