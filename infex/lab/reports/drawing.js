// Charts of all our pages as SVG: lines, areas, marks and intervals, with a cursor for pointer and keyboard, and zoom.
// Pages that are one file hold it within themselves, without the word export; a service serves it as a module.
const SVG = "http://www.w3.org/2000/svg";

export function make(tag, settings = {}, ...inner) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(settings)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...inner.filter((each) => each !== null && each !== undefined));
  return node;
}

export function add(parent, tag, settings, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(settings)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  parent.appendChild(node);
  return node;
}

export function number(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(digits)));
}

export function span(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  for (const [size, name] of [[86400, "d"], [3600, "h"], [60, "min"]]) if (seconds >= size) return `${number(seconds / size, 2)} ${name}`;
  return `${number(seconds, 2)} s`;
}

function ticks(low, high, most) {
  if (!(high > low)) return [low];
  const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((part) => part * power).find((part) => part >= rough * 0.999);
  const found = [];
  for (let place = Math.ceil(low / step - 1e-9); place * step <= high + step * 1e-9; place++) found.push(Number((place * step).toPrecision(12)));
  return found;
}

// Two to four round numbers between two on a log scale.
export function logTicks(low, high) {
  let found = [];
  for (const parts of [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 7], Array.from({ length: 90 }, (_, place) => 1 + place / 10)]) {
    found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
      for (const part of parts) if (part * 10 ** power >= low && part * 10 ** power <= high) found.push(Number((part * 10 ** power).toPrecision(3)));
    if (found.length > 1) break;
  }
  return found.filter((_, place) => place % Math.ceil(found.length / 4) === 0);
}

// From numbers to shares of an axis, and back; on a log scale what is below its least is its least.
function axis(from, to, log) {
  if (!log) return { share: (x) => (x - from) / (to - from), at: (share) => from + share * (to - from), ticks: (most) => ticks(from, to, most) };
  const size = Math.log(to / from) || 1;
  return { share: (x) => Math.log(Math.max(x, from) / from) / size, at: (share) => from * Math.exp(share * size), ticks: () => logTicks(from, to) };
}

// A chart over rounds. `shown` has: points (x of every step), lines [{name, y, style, colour, dash}],
// areas [{name, low, high, fill, colour}], marks [{x, kind, text}], verticals [{x, name}], limits [{y, name}],
// dots [{x, low, mid, high, style, name}], each with its interval,
// ends [{low, mid, high, colour}], which stand behind the last point, logX and logY, and tip(place), which says
// what is under the cursor. Drawn again with new data it keeps its place, so that focus, cursor and zoom stay.
export function chart(host, shown) {
  if (!host.chart) host.chart = begun(host);
  const { view, svgHost, tip, legend } = host.chart;
  host.chart.shown = shown;
  svgHost.setAttribute("aria-label", shown.title);
  legend.replaceChildren(...(shown.legend || []).map((each) => make("li", {}, make("i", { class: each.fill }), each.name)));
  const redraw = () => drawChart(svgHost, tip, host.chart.shown, view, redraw);
  host.chart.redraw = redraw;
  redraw();
}

function begun(host) {
  const svgHost = make("div", { class: "chart", tabindex: "0", role: "group" }), view = { from: null, to: null, at: null };
  const tip = make("p", { class: "tip", "aria-live": "polite" }), legend = make("ul", { class: "legend" });
  host.replaceChildren(svgHost, tip, legend);
  svgHost.addEventListener("keydown", (event) => {
    const shown = host.chart.shown, last = shown.points.length - 1, at = Math.min(last, view.at ?? last);
    const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -last, End: last };
    if (event.key in steps) view.at = Math.min(last, Math.max(0, at + steps[event.key]));
    else if (event.key === "+" || event.key === "=") zoom(shown, view, at, 0.5);
    else if (event.key === "-") zoom(shown, view, at, 2);
    else if (event.key === "Escape" || event.key === "0") view.from = view.to = view.at = null;
    else return;
    event.preventDefault();
    host.chart.redraw();
  });
  return { view, svgHost, tip, legend };
}

function zoom(shown, view, at, factor) {
  const low = shown.points[0], high = shown.points[shown.points.length - 1];
  const from = view.from ?? low, to = view.to ?? high, middle = shown.points[at], half = ((to - from) * factor) / 2;
  if (half * 2 >= high - low) view.from = view.to = null;
  else if (half >= 1) [view.from, view.to] = [Math.max(low, middle - half), Math.min(high, middle + half)];
}

// Pixels that the longest of some labels takes at most, in the small letters of axes.
function widest(labels) {
  return 7 * Math.max(0, ...labels.map((label) => label.length));
}

// The places and scales of a chart as it is looked at now.
function laidOut(host, shown, view) {
  const width = Math.max(260, host.clientWidth), height = shown.height || 220, xs = shown.points;
  const box = { width, height, right: width - 10, top: 10, bottom: height - (shown.marks ? 46 : shown.axisName ? 38 : 30) };
  const from = view.from ?? (shown.logX ? Math.max(1, xs[0] ?? 1) : shown.from ?? xs[0] ?? 0), to = Math.max(view.to ?? shown.until ?? xs[xs.length - 1] ?? 1, from + 1);
  const ys = [...(shown.lines || []).flatMap((line) => line.y), ...(shown.areas || []).flatMap((area) => area.high), ...[...(shown.ends || []), ...(shown.dots || [])].map((each) => each.high), ...(shown.limits || []).map((limit) => limit.y)].filter(Number.isFinite);
  const above = [...(shown.lines || []).flatMap((line) => line.y), ...(shown.dots || []).map((dot) => dot.low), ...(shown.limits || []).map((limit) => limit.y)].filter((y) => y > 0), peak = Math.max(1e-9, ...ys);
  const low = shown.logY ? Math.max(peak * 1e-4, Math.min(peak / 2, ...above)) : Math.min(shown.low ?? 0, ...ys), high = Math.max(shown.high ?? low + 1e-9, ...ys) || 1;
  const top = high > low ? high + (shown.high === high ? 0 : (high - low) * 0.06) : low + 1;
  const x = axis(from, to, shown.logX), y = axis(low, top, shown.logY), levels = y.ticks(4).map((value) => ({ value, label: shown.format ? shown.format(value) : number(value) }));
  box.left = Math.max(48, widest(levels.map((level) => level.label)) + 8);
  box.end = shown.ends?.length ? box.right - 0.14 * (box.right - box.left) : box.right;
  const xOf = (value) => box.left + x.share(value) * (box.end - box.left), yOf = (value) => box.bottom - y.share(value) * (box.bottom - box.top);
  return { box, from, to, x, levels, xOf, yOf };
}

function drawAxes(svg, shown, { box, x, levels, xOf, yOf }) {
  for (const { value, label } of levels) {
    add(svg, "line", { class: "grid", x1: box.left, x2: box.right, y1: yOf(value), y2: yOf(value) });
    add(svg, "text", { class: "tick", x: box.left - 6, y: yOf(value) + 4, "text-anchor": "end" }, label);
  }
  const names = box.height - (shown.axisName ? 18 : 4);
  for (const value of x.ticks(box.width < 480 ? 3 : 6).filter(Number.isInteger)) {
    const label = value.toLocaleString("en"), room = Math.max(20, widest([label]) / 2);
    add(svg, "text", { class: "tick", x: xOf(value), y: names, "text-anchor": xOf(value) > box.right - room ? "end" : "middle" }, label);
  }
  if (shown.axisName) add(svg, "text", { class: "tick", x: (box.left + box.end) / 2, y: box.height - 4, "text-anchor": "middle" }, shown.axisName);
}

function drawLines(inside, shown, { xOf, yOf }) {
  const xs = shown.points;
  for (const area of shown.areas || []) {
    const up = xs.map((x, i) => `${xOf(x)},${yOf(area.high[i])}`), down = xs.map((x, i) => `${xOf(x)},${yOf(area.low[i])}`).reverse();
    add(inside, "polygon", { class: area.fill, points: [...up, ...down].join(" "), "data-name": area.name, ...(area.colour ? { fill: area.colour } : {}) });
  }
  for (const line of shown.lines || []) {
    const points = xs.map((x, i) => [x, line.y[i]]).filter((point) => Number.isFinite(point[1])), own = line.colour ? { stroke: line.colour, "stroke-dasharray": line.dash } : {};
    add(inside, "polyline", { class: `line ${line.style || ""}`.trim(), points: points.map(([x, y]) => `${xOf(x)},${yOf(y)}`).join(" "), "data-name": line.name, ...own });
    if (points.length === 1) add(inside, "circle", { class: (line.style || "").replace("stroke", "fill"), cx: xOf(points[0][0]), cy: yOf(points[0][1]), r: 3, ...(line.colour ? { fill: line.colour } : {}) });
  }
}

function drawMarks(svg, inside, shown, { box, from, to, xOf, yOf }) {
  for (const limit of shown.limits || []) {
    add(inside, "line", { class: "limit", x1: box.left, x2: box.right, y1: yOf(limit.y), y2: yOf(limit.y) });
    add(svg, "text", { class: "tick", x: box.right, y: yOf(limit.y) - 4, "text-anchor": "end" }, limit.name);
  }
  for (const dot of shown.dots || []) {
    const node = add(inside, "g", { class: `dot ${dot.style}`, "data-name": dot.name });
    add(node, "line", { x1: xOf(dot.x), x2: xOf(dot.x), y1: yOf(dot.low), y2: yOf(dot.high) });
    add(node, "circle", { cx: xOf(dot.x), cy: yOf(dot.mid), r: dot.style === "best" ? 7 : 4 });
    add(node, "title", {}, dot.name);
  }
  for (const mark of (shown.marks || []).filter((each) => each.x >= from && each.x <= to)) {
    const y = box.bottom + 8, node = mark.kind === "skipped"
      ? add(inside, "circle", { class: "mark skipped", cx: xOf(mark.x), cy: y + 5, r: 3.5 })
      : add(inside, "line", { class: `mark ${mark.kind}`, x1: xOf(mark.x), x2: xOf(mark.x), y1: y, y2: y + 10 });
    add(node, "title", {}, mark.text);
  }
  for (const vertical of (shown.verticals || []).filter((each) => each.x >= from && each.x <= to)) {
    add(inside, "line", { class: "due", x1: xOf(vertical.x), x2: xOf(vertical.x), y1: box.top, y2: box.bottom });
    add(svg, "text", { x: xOf(vertical.x) - 4, y: box.top + 8, "text-anchor": "end" }, vertical.name);
  }
  (shown.ends || []).forEach((end, place) => {
    const x = box.end + 6 + ((box.right - box.end - 8) * place) / shown.ends.length;
    add(svg, "line", { class: "bar", x1: x, x2: x, y1: yOf(end.low), y2: yOf(end.high), stroke: end.colour });
    add(svg, "circle", { cx: x, cy: yOf(end.mid), r: 1.8, fill: end.colour });
  });
}

function drawChart(host, tip, shown, view, redraw) {
  host.textContent = "";
  const laid = laidOut(host, shown, view), { box, xOf, x } = laid;
  const svg = add(host, "svg", { height: box.height, viewBox: `0 0 ${box.width} ${box.height}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  drawAxes(svg, shown, laid);
  const clip = `clip-${Math.random().toString(36).slice(2)}`;
  add(add(svg, "clipPath", { id: clip }), "rect", { x: box.left, y: 0, width: box.end - box.left, height: box.height });
  const inside = add(svg, "g", { "clip-path": `url(#${clip})` });
  drawLines(inside, shown, laid);
  drawMarks(svg, inside, shown, laid);
  follow(svg, tip, shown, view, redraw, laid);
}

// The cursor: it follows the pointer, or stands where keys have moved it; dragging zooms.
function follow(svg, tip, shown, view, redraw, { box, xOf, x }) {
  const xs = shown.points, cursor = add(svg, "line", { class: "cursor", y1: box.top, y2: box.bottom, visibility: "hidden" });
  const point = (place) => {
    if (place === null || place >= xs.length) return;
    cursor.setAttribute("x1", xOf(xs[place]));
    cursor.setAttribute("x2", xOf(xs[place]));
    cursor.setAttribute("visibility", "visible");
    tip.textContent = shown.tip(place);
  };
  tip.textContent = shown.hint || "";
  point(view.at);
  const nearest = (event) => {
    const wanted = x.at((event.offsetX - box.left) / (box.end - box.left));
    return xs.reduce((best, value, i) => (Math.abs(value - wanted) < Math.abs(xs[best] - wanted) ? i : best), 0);
  };
  let pressed = null;
  svg.addEventListener("pointermove", (event) => point(nearest(event)));
  svg.addEventListener("pointerleave", () => { cursor.setAttribute("visibility", "hidden"); tip.textContent = shown.hint || ""; pressed = null; });
  svg.addEventListener("pointerdown", (event) => { pressed = nearest(event); });
  svg.addEventListener("pointerup", (event) => {
    const other = pressed === null ? null : nearest(event);
    if (other !== null && Math.abs(other - pressed) > 1) {
      [view.from, view.to] = [xs[Math.min(pressed, other)], xs[Math.max(pressed, other)]];
      redraw();
    }
    pressed = null;
  });
  svg.addEventListener("dblclick", () => { view.from = view.to = null; redraw(); });
}

// Intervals, one below the other: rows of {name, low, mid, high, other, chosen}.
export function intervals(host, rows, words) {
  host.textContent = "";
  const width = Math.max(260, host.clientWidth), step = 30, height = rows.length * step + 26;
  const svg = add(host, "svg", { height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words.title });
  svg.setAttribute("width", "100%");
  const ends = rows.flatMap((row) => [row.low, row.mid, row.high, row.other]).filter(Number.isFinite);
  const low = Math.min(...ends), high = Math.max(...ends, low + 1e-9), left = Math.min(150, width * 0.3), right = width - Math.max(60, widest(rows.map((row) => number(row.mid))) + 12);
  const xOf = (x) => left + ((x - low) / (high - low)) * (right - left);
  const most = Math.floor((right - left) / (widest([number(low), number(high)]) + 12));
  for (const x of ticks(low, high, Math.max(1, Math.min(4, most)))) {
    add(svg, "line", { class: "grid", x1: xOf(x), x2: xOf(x), y1: 4, y2: height - 18 });
    add(svg, "text", { x: xOf(x), y: height - 4, "text-anchor": "middle" }, number(x));
  }
  rows.forEach((row, place) => {
    const y = place * step + 18, style = row.chosen ? "1" : "0";
    add(svg, "text", { class: "name", x: 0, y: y + 4 }, cut(row.name, left / 6.8));
    const from = Number.isFinite(row.low) ? xOf(row.low) : left, to = Number.isFinite(row.high) ? xOf(row.high) : right;
    const bar = add(svg, "line", { class: `line stroke${style}`, x1: from, x2: to, y1: y, y2: y });
    add(bar, "title", {}, `${row.name}: ${number(row.mid)} (${number(row.low)} to ${number(row.high)})`);
    add(svg, "circle", { class: `fill${style}`, cx: xOf(row.mid), cy: y, r: 5 });
    if (Number.isFinite(row.other)) add(svg, "rect", { class: "fill2", x: xOf(row.other) - 4, y: y - 4, width: 8, height: 8 });
    add(svg, "text", { x: width - 2, y: y + 4, "text-anchor": "end" }, number(row.mid));
  });
}

// Bars to the right or left of nil: rows of {name, value}.
export function bars(host, rows, words) {
  host.textContent = "";
  const width = Math.max(260, host.clientWidth), step = 24, height = rows.length * step + 6;
  const svg = add(host, "svg", { height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words.title });
  svg.setAttribute("width", "100%");
  const left = Math.min(150, width * 0.34), right = width - Math.max(64, widest(rows.map((row) => row.text ?? number(row.value))) + 8);
  const low = Math.min(0, ...rows.map((row) => row.value)), high = Math.max(0, ...rows.map((row) => row.value), low + 1e-12);
  const xOf = (x) => left + ((x - low) / (high - low)) * (right - left);
  rows.forEach((row, place) => {
    const y = place * step + 4;
    add(svg, "text", { class: "name", x: 0, y: y + 13 }, cut(row.name, left / 6.8));
    const bar = add(svg, "rect", { class: row.value < 0 ? "fill1" : "fill0", x: xOf(Math.min(0, row.value)), y, width: Math.max(1, Math.abs(xOf(row.value) - xOf(0))), height: 16 });
    add(bar, "title", {}, `${row.name}: ${number(row.value)}`);
    add(svg, "text", { x: width - 2, y: y + 13, "text-anchor": "end" }, row.text ?? number(row.value));
  });
  add(svg, "line", { class: "grid", x1: xOf(0), x2: xOf(0), y1: 0, y2: height });
}

function cut(text, most) {
  return text.length > most ? `${text.slice(0, Math.max(1, Math.floor(most) - 1))}…` : text;
}
