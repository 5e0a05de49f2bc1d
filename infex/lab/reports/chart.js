// Charts of a report: regret curves with their spread, and computation times; drawing.js stands above it.
const data = JSON.parse(document.getElementById("data").textContent);
const hidden = new Set();
let view = "std", logRegret = false;
const BANDS = 9; // lines at most that have bands; of more, bands would be mud

function seconds(value) {
  return value >= 1 ? number(value, 2) + " s" : value >= 1e-3 ? number(value * 1e3, 2) + " ms" : number(value * 1e6, 2) + " µs";
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
  const shown = cell.lines.filter((line) => !hidden.has(line.policy)).map(strip), many = shown.length > BANDS, rounds = cell.lines[0].rounds, last = rounds.length - 1;
  chart(host, {
    title: "Regret, by round", height: many ? 400 : 300, axisName: "round", from: 0, points: rounds, logX: host.dataset.scale === "log", logY: logRegret,
    lines: shown.map((line) => ({ name: line.policy, y: line.mid, colour: line.colour, dash: line.dash.join(" ") })),
    areas: many ? [] : shown.map((line) => ({ name: line.policy, low: line.low, high: line.high, fill: "band", colour: line.colour })),
    ends: many ? shown.map((line) => ({ low: line.low[last], mid: line.mid[last], high: line.high[last], colour: line.colour })) : [],
    tip: (place) => `round ${rounds[place].toLocaleString("en")}: ` + [...shown].sort((a, b) => a.mid[place] - b.mid[place]).map((line) => `${line.policy} ${number(line.mid[place])}`).join(" · "),
    hint: "Arrow keys move, + and - zoom, Escape shows all; or drag.",
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
