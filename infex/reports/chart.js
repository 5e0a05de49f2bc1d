"use strict";
// Charts of a report: regret curves with their spread, and computation times. No library, no network.
const data = JSON.parse(document.getElementById("data").textContent);
const hidden = new Set();
let view = "std", logRegret = false;
const BANDS = 9; // lines at most that have bands; of more, bands would be mud
const SVG = "http://www.w3.org/2000/svg";

function add(parent, tag, settings, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(settings || {})) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  parent.appendChild(node);
  return node;
}

function number(value) {
  if (value === null || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  return size >= 100 ? value.toFixed(0) : size >= 1 ? String(Number(value.toFixed(1))) : String(Number(value.toPrecision(2)));
}

function seconds(value) {
  return value >= 1 ? number(value) + " s" : value >= 1e-3 ? number(value * 1e3) + " ms" : number(value * 1e6) + " µs";
}

// Round numbers from 0 to top, at most so many steps.
function ticks(top, most = 5) {
  const rough = top / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((part) => part * power).find((part) => part >= rough);
  return Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, place) => place * step);
}

// Two to four round numbers between two on a log scale.
function logTicks(low, high) {
  let found = [];
  for (const parts of [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 7], Array.from({ length: 90 }, (_, place) => 1 + place / 10)]) {
    found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
      for (const part of parts) if (part * 10 ** power >= low && part * 10 ** power <= high) found.push(Number((part * 10 ** power).toPrecision(3)));
    if (found.length > 1) break;
  }
  return found.filter((_, place) => place % Math.ceil(found.length / 4) === 0);
}

// A name in lines of so many pixels, broken at blanks where there are any.
const pen = document.createElement("canvas").getContext("2d");
pen.font = `11px ${getComputedStyle(document.body).fontFamily}`;
function wrapped(name, room) {
  const fits = (text) => pen.measureText(text.trimEnd()).width <= room, lines = [""];
  for (const word of name.split(/(?<= )/)) {
    if (!fits(lines[lines.length - 1] + word) && lines[lines.length - 1]) lines.push("");
    for (const letter of fits(word) ? [word] : word) {
      if (!fits(lines[lines.length - 1] + letter)) lines.push("");
      lines[lines.length - 1] += letter;
    }
  }
  return lines.map((line) => line.trimEnd());
}

function frame(host, height, left) {
  host.textContent = "";
  const width = Math.max(280, host.clientWidth);
  const svg = add(host, "svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" });
  return { svg, width, height, left, right: width - 12, top: 8, bottom: height - 34 };
}

// A line and its band, as the reader has chosen to see it.
function strip(line) {
  if (view === "median") return { ...line, low: line.quartiles[0], mid: line.quartiles[1], high: line.quartiles[2] };
  if (view === "interval") return { ...line, low: line.interval[0], mid: line.mean, high: line.interval[1] };
  return { ...line, low: line.mean.map((value, i) => Math.max(0, value - line.std[i])), mid: line.mean, high: line.mean.map((value, i) => value + line.std[i]) };
}

function drawRegret(host, cell) {
  const shown = cell.lines.filter((line) => !hidden.has(line.policy)).map(strip), many = shown.length > BANDS;
  const box = frame(host, many ? 400 : 300, 52), horizon = cell.horizon, scale = host.dataset.scale || "linear";
  const end = many ? box.right - 0.14 * (box.right - box.left) : box.right;
  const peak = 1.04 * Math.max(1e-9, ...shown.flatMap((line) => line.high));
  const least = Math.max(peak * 1e-4, Math.min(peak / 2, ...shown.flatMap((line) => line.mid.filter((value) => value > 0))));
  const xOf = (t) => {
    const share = scale === "log" && horizon > 1 ? Math.log(t) / Math.log(horizon) : t / horizon;
    return box.left + share * (end - box.left);
  };
  const shareOf = (value) => logRegret ? Math.log(Math.max(value, least) / least) / Math.log(peak / least) : Math.max(0, value) / peak;
  const yOf = (value) => box.bottom - shareOf(value) * (box.bottom - box.top);
  for (const value of logRegret ? logTicks(least, peak) : ticks(peak)) {
    add(box.svg, "line", { class: "grid", x1: box.left, x2: box.right, y1: yOf(value), y2: yOf(value) });
    add(box.svg, "text", { class: "tick", x: box.left - 6, y: yOf(value) + 4, "text-anchor": "end" }, number(value));
  }
  const powers = Array.from({ length: Math.floor(Math.log10(horizon)) + 1 }, (_, power) => 10 ** power);
  for (const t of scale === "log" ? powers : ticks(horizon, box.width < 480 ? 3 : 5).filter(Number.isInteger)) {
    const anchor = t === horizon && !many ? "end" : "middle";
    add(box.svg, "text", { class: "tick", x: xOf(Math.max(t, 1)), y: box.bottom + 16, "text-anchor": anchor }, t.toLocaleString("en"));
  }
  add(box.svg, "text", { class: "tick", x: (box.left + end) / 2, y: box.height - 3, "text-anchor": "middle" }, "round");
  shown.forEach((line, place) => {
    const last = line.rounds.length - 1;
    if (many) {
      const x = end + 6 + (box.right - end - 8) * place / shown.length;
      add(box.svg, "line", { class: "bar", x1: x, x2: x, y1: yOf(line.low[last]), y2: yOf(line.high[last]), stroke: line.colour });
      add(box.svg, "circle", { cx: x, cy: yOf(line.mid[last]), r: 1.8, fill: line.colour });
      return;
    }
    const up = line.rounds.map((t, i) => `${xOf(t)},${yOf(line.high[i])}`);
    const down = line.rounds.map((t, i) => `${xOf(t)},${yOf(line.low[i])}`).reverse();
    add(box.svg, "polygon", { class: "band", points: [...up, ...down].join(" "), fill: line.colour });
  });
  for (const line of shown) {
    const points = line.rounds.map((t, i) => `${xOf(t)},${yOf(line.mid[i])}`).join(" ");
    add(box.svg, "polyline", { class: "line", points, stroke: line.colour, "stroke-dasharray": line.dash.join(" "), "data-policy": line.policy });
  }
  follow(host, box, shown, xOf, scale, end);
}

// A line at the nearest recorded round, and what every policy had lost by then.
function follow(host, box, shown, xOf, scale, end) {
  const cursor = add(box.svg, "line", { class: "cursor", y1: box.top, y2: box.bottom, visibility: "hidden" });
  const tip = host.parentNode.querySelector(".tip");
  box.svg.addEventListener("pointerleave", () => { cursor.setAttribute("visibility", "hidden"); tip.hidden = true; });
  box.svg.addEventListener("pointermove", (event) => {
    if (!shown.length) return;
    const share = Math.min(1, (event.offsetX - box.left) / (end - box.left));
    const rounds = shown[0].rounds, horizon = rounds[rounds.length - 1];
    const wanted = scale === "log" ? horizon ** share : share * horizon;
    const at = rounds.reduce((best, t, i) => (Math.abs(t - wanted) < Math.abs(rounds[best] - wanted) ? i : best), 0);
    cursor.setAttribute("x1", xOf(rounds[at]));
    cursor.setAttribute("x2", xOf(rounds[at]));
    cursor.setAttribute("visibility", "visible");
    tip.textContent = `round ${rounds[at].toLocaleString("en")}: ` + [...shown].sort((a, b) => a.mid[at] - b.mid[at])
      .map((line) => `${line.policy} ${number(line.mid[at])}`).join(" · ");
    tip.hidden = false;
  });
}

// A name and its median above the marks of its runs, so that neither lies on the other.
function drawTime(host, cell) {
  const shown = cell.lines.filter((line) => !hidden.has(line.policy));
  const names = shown.map((line) => wrapped(line.policy, Math.max(280, host.clientWidth) - 80));
  const box = frame(host, 42 + names.reduce((sum, name) => sum + 17 + 12 * name.length, 10), 8);
  if (!shown.length) return;
  const all = shown.flatMap((line) => line.times), low = Math.min(...all) / 1.1, high = Math.max(...all) * 1.1;
  const xOf = (value) => box.left + 6 + Math.log(value / low) / Math.log(high / low) * (box.right - box.left - 12);
  for (const value of logTicks(low, high)) {
    add(box.svg, "line", { class: "grid", x1: xOf(value), x2: xOf(value), y1: box.top, y2: box.bottom });
    const anchor = xOf(value) < box.left + 20 ? "start" : xOf(value) > box.right - 20 ? "end" : "middle";
    add(box.svg, "text", { class: "tick", x: xOf(value), y: box.bottom + 16, "text-anchor": anchor }, seconds(value));
  }
  let y = box.top;
  shown.forEach((line, place) => {
    add(box.svg, "text", { class: "name", x: box.right, y: y + 12, "text-anchor": "end" }, seconds(line.time));
    for (const part of names[place]) add(box.svg, "text", { class: "name", x: box.left, y: (y += 12) }, part);
    y += 9;
    for (const value of line.times) add(box.svg, "line", { class: "run", x1: xOf(value), x2: xOf(value), y1: y - 4, y2: y + 4, stroke: line.colour });
    add(box.svg, "circle", { class: "dot", cx: xOf(line.time), cy: y, r: 4, fill: line.colour, "data-policy": line.policy });
    y += 8;
  });
}

function drawAll() {
  for (const host of document.querySelectorAll(".regret")) drawRegret(host, data.cells[host.dataset.cell]);
  for (const host of document.querySelectorAll(".time")) drawTime(host, data.cells[host.dataset.cell]);
}

for (const button of document.querySelectorAll("#legend button")) {
  button.addEventListener("click", () => {
    const policy = button.dataset.policy;
    if (!hidden.delete(policy)) hidden.add(policy);
    button.setAttribute("aria-pressed", String(!hidden.has(policy)));
    drawAll();
  });
}
document.getElementById("scale").addEventListener("click", (event) => {
  const log = event.target.getAttribute("aria-pressed") !== "true";
  event.target.setAttribute("aria-pressed", String(log));
  for (const host of document.querySelectorAll(".regret")) host.dataset.scale = log ? "log" : "linear";
  drawAll();
});
document.getElementById("regrets").addEventListener("click", (event) => {
  logRegret = !logRegret;
  event.target.setAttribute("aria-pressed", String(logRegret));
  drawAll();
});
const views = document.querySelectorAll("button.view");
for (const button of views) {
  button.addEventListener("click", () => {
    view = button.dataset.view;
    for (const each of views) each.setAttribute("aria-pressed", String(each === button));
    drawAll();
  });
}
// Draws for the width that there is, once; drawing may change it, for a longer page may need a scroll bar.
let width = -1;
function fit() {
  if (document.body.clientWidth === width) return;
  width = document.body.clientWidth;
  drawAll();
  document.body.dataset.drawn = width;
}
new ResizeObserver(fit).observe(document.body);
fit();
