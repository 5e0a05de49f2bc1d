"use strict";
// Charts of a report: regret curves with their spread, and computation times. No library, no network.
const data = JSON.parse(document.getElementById("data").textContent);
const hidden = new Set();
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

function frame(host, height, left) {
  host.textContent = "";
  const width = Math.max(280, host.clientWidth);
  const svg = add(host, "svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" });
  return { svg, width, height, left, right: width - 12, top: 8, bottom: height - 34 };
}

function drawRegret(host, cell) {
  const box = frame(host, 300, 52), shown = cell.lines.filter((line) => !hidden.has(line.policy));
  const horizon = data.horizon, scale = host.dataset.scale || "linear";
  const peak = Math.max(1e-9, ...shown.map((line) => line.mean[line.mean.length - 1]));
  const yTicks = ticks(1.12 * peak), xOf = (t) => {
    const share = scale === "log" && horizon > 1 ? Math.log(t) / Math.log(horizon) : t / horizon;
    return box.left + share * (box.right - box.left);
  };
  const yOf = (value) => box.bottom - Math.min(1.02, value / (1.12 * peak)) * (box.bottom - box.top);
  for (const value of yTicks) {
    add(box.svg, "line", { class: "grid", x1: box.left, x2: box.right, y1: yOf(value), y2: yOf(value) });
    add(box.svg, "text", { class: "tick", x: box.left - 6, y: yOf(value) + 4, "text-anchor": "end" }, number(value));
  }
  const powers = Array.from({ length: Math.floor(Math.log10(horizon)) + 1 }, (_, power) => 10 ** power);
  for (const t of scale === "log" ? powers : ticks(horizon, box.width < 480 ? 3 : 5).filter(Number.isInteger)) {
    const anchor = t === horizon ? "end" : "middle";
    add(box.svg, "text", { class: "tick", x: xOf(Math.max(t, 1)), y: box.bottom + 16, "text-anchor": anchor }, t.toLocaleString("en"));
  }
  add(box.svg, "text", { class: "tick", x: (box.left + box.right) / 2, y: box.height - 3, "text-anchor": "middle" }, "round");
  for (const line of shown) {
    const up = line.rounds.map((t, i) => `${xOf(t)},${yOf(line.mean[i] + line.std[i])}`);
    const down = line.rounds.map((t, i) => `${xOf(t)},${yOf(Math.max(0, line.mean[i] - line.std[i]))}`).reverse();
    add(box.svg, "polygon", { class: "band", points: [...up, ...down].join(" "), fill: line.colour });
  }
  for (const line of shown) {
    const points = line.rounds.map((t, i) => `${xOf(t)},${yOf(line.mean[i])}`).join(" ");
    add(box.svg, "polyline", { class: "line", points, stroke: line.colour, "stroke-dasharray": line.dash.join(" "), "data-policy": line.policy });
  }
  follow(host, box, shown, xOf, scale);
}

// A line at the nearest recorded round, and what every policy had lost by then.
function follow(host, box, shown, xOf, scale) {
  const cursor = add(box.svg, "line", { class: "cursor", y1: box.top, y2: box.bottom, visibility: "hidden" });
  const tip = host.parentNode.querySelector(".tip");
  box.svg.addEventListener("pointerleave", () => { cursor.setAttribute("visibility", "hidden"); tip.hidden = true; });
  box.svg.addEventListener("pointermove", (event) => {
    if (!shown.length) return;
    const share = (event.offsetX - box.left) / (box.right - box.left);
    const wanted = scale === "log" ? data.horizon ** share : share * data.horizon;
    const rounds = shown[0].rounds;
    const at = rounds.reduce((best, t, i) => (Math.abs(t - wanted) < Math.abs(rounds[best] - wanted) ? i : best), 0);
    cursor.setAttribute("x1", xOf(rounds[at]));
    cursor.setAttribute("x2", xOf(rounds[at]));
    cursor.setAttribute("visibility", "visible");
    tip.textContent = `round ${rounds[at].toLocaleString("en")}: ` + [...shown].sort((a, b) => a.mean[at] - b.mean[at])
      .map((line) => `${line.policy} ${number(line.mean[at])}`).join(" · ");
    tip.hidden = false;
  });
}

function drawTime(host, cell) {
  const shown = cell.lines.filter((line) => !hidden.has(line.policy));
  const box = frame(host, 34 + 25 * Math.max(1, shown.length), 8);
  const all = shown.flatMap((line) => line.times), low = Math.log10(Math.min(...all)), high = Math.log10(Math.max(...all));
  const xOf = (value) => box.left + 6 + (Math.log10(value) - low) / Math.max(high - low, 1e-9) * (box.right - box.left - 12);
  for (let power = Math.ceil(low); power <= high; power++) {
    add(box.svg, "line", { class: "grid", x1: xOf(10 ** power), x2: xOf(10 ** power), y1: box.top, y2: box.bottom });
    add(box.svg, "text", { class: "tick", x: xOf(10 ** power), y: box.bottom + 16, "text-anchor": "middle" }, seconds(10 ** power));
  }
  shown.forEach((line, place) => {
    const y = box.top + 25 * place + 17;
    for (const value of line.times) add(box.svg, "line", { class: "run", x1: xOf(value), x2: xOf(value), y1: y - 4, y2: y + 4, stroke: line.colour });
    add(box.svg, "circle", { class: "dot", cx: xOf(line.time), cy: y, r: 4, fill: line.colour, "data-policy": line.policy });
    const right = xOf(line.time) > (box.left + box.right) / 2;
    const place_ = { class: "name", x: xOf(line.time) + (right ? -8 : 8), y: y - 5, "text-anchor": right ? "end" : "start" };
    add(box.svg, "text", place_, `${line.policy} ${seconds(line.time)}`);
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
let width = 0;
new ResizeObserver(() => {
  if (document.body.clientWidth !== width) { width = document.body.clientWidth; drawAll(); }
}).observe(document.body);
drawAll();
document.body.dataset.drawn = "true";
