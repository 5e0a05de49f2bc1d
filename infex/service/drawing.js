// Charts of the page as SVG: lines, areas, marks and intervals, with a cursor for pointer and keyboard, and zoom.
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

function add(parent, tag, settings, text) {
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

// A chart over rounds. `shown` has: points (x of every step), lines [{name, y, style}], areas [{name, low, high, fill}],
// marks [{x, kind, text}], verticals [{x, name}], limit {y, name}, and tip(place), which says what is under the cursor.
// Drawn again with new data it keeps its place on the page, so that focus, cursor and zoom stay.
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

function drawChart(host, tip, shown, view, redraw) {
  host.textContent = "";
  const width = Math.max(260, host.clientWidth), height = shown.height || 220;
  const box = { left: 48, right: width - 10, top: 10, bottom: height - (shown.marks ? 46 : 30) };
  const svg = add(host, "svg", { height, viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  const xs = shown.points, from = view.from ?? xs[0] ?? 0, to = Math.max(view.to ?? shown.until ?? xs[xs.length - 1] ?? 1, from + 1);
  const ys = [...(shown.lines || []).flatMap((line) => line.y), ...(shown.areas || []).flatMap((area) => area.high), shown.limit?.y].filter(Number.isFinite);
  const low = Math.min(shown.low ?? 0, ...ys), high = Math.max(shown.high ?? low + 1e-9, ...ys) || 1;
  const top = high > low ? high + (shown.high === high ? 0 : (high - low) * 0.06) : low + 1;
  const xOf = (x) => box.left + ((x - from) / (to - from)) * (box.right - box.left);
  const yOf = (y) => box.bottom - ((y - low) / (top - low)) * (box.bottom - box.top);
  for (const y of ticks(low, top, 4)) {
    add(svg, "line", { class: "grid", x1: box.left, x2: box.right, y1: yOf(y), y2: yOf(y) });
    add(svg, "text", { x: box.left - 6, y: yOf(y) + 4, "text-anchor": "end" }, shown.format ? shown.format(y) : number(y));
  }
  for (const x of ticks(from, to, width < 480 ? 3 : 6).filter(Number.isInteger)) {
    add(svg, "text", { x: xOf(x), y: height - 4, "text-anchor": xOf(x) > box.right - 20 ? "end" : "middle" }, x.toLocaleString("en"));
  }
  const clip = `clip-${Math.random().toString(36).slice(2)}`;
  add(add(svg, "clipPath", { id: clip }), "rect", { x: box.left, y: 0, width: box.right - box.left, height });
  const inside = add(svg, "g", { "clip-path": `url(#${clip})` });
  for (const area of shown.areas || []) {
    const up = xs.map((x, i) => `${xOf(x)},${yOf(area.high[i])}`), down = xs.map((x, i) => `${xOf(x)},${yOf(area.low[i])}`).reverse();
    add(inside, "polygon", { class: area.fill, points: [...up, ...down].join(" "), "data-name": area.name });
  }
  if (shown.limit) {
    add(inside, "line", { class: "limit", x1: box.left, x2: box.right, y1: yOf(shown.limit.y), y2: yOf(shown.limit.y) });
    add(svg, "text", { x: box.right, y: yOf(shown.limit.y) - 4, "text-anchor": "end" }, shown.limit.name);
  }
  for (const line of shown.lines || []) {
    const points = xs.map((x, i) => [x, line.y[i]]).filter((point) => Number.isFinite(point[1]));
    add(inside, "polyline", { class: `line ${line.style}`, points: points.map(([x, y]) => `${xOf(x)},${yOf(y)}`).join(" "), "data-name": line.name });
    if (points.length === 1) add(inside, "circle", { class: line.style.replace("stroke", "fill"), cx: xOf(points[0][0]), cy: yOf(points[0][1]), r: 3 });
  }
  for (const mark of shown.marks || []) {
    if (mark.x < from || mark.x > to) continue;
    const y = box.bottom + 8, node = mark.kind === "skipped"
      ? add(inside, "circle", { class: "mark skipped", cx: xOf(mark.x), cy: y + 5, r: 3.5 })
      : add(inside, "line", { class: `mark ${mark.kind}`, x1: xOf(mark.x), x2: xOf(mark.x), y1: y, y2: y + 10 });
    add(node, "title", {}, mark.text);
  }
  for (const vertical of shown.verticals || []) {
    if (vertical.x < from || vertical.x > to) continue;
    add(inside, "line", { class: "due", x1: xOf(vertical.x), x2: xOf(vertical.x), y1: box.top, y2: box.bottom });
    add(svg, "text", { x: xOf(vertical.x) - 4, y: box.top + 8, "text-anchor": "end" }, vertical.name);
  }
  const cursor = add(svg, "line", { class: "cursor", y1: box.top, y2: box.bottom, visibility: "hidden" });
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
    const wanted = from + ((event.offsetX - box.left) / (box.right - box.left)) * (to - from);
    return xs.reduce((best, x, i) => (Math.abs(x - wanted) < Math.abs(xs[best] - wanted) ? i : best), 0);
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
  const low = Math.min(...ends), high = Math.max(...ends, low + 1e-9), left = Math.min(150, width * 0.3), right = width - 60;
  const xOf = (x) => left + ((x - low) / (high - low)) * (right - left);
  for (const x of ticks(low, high, 4)) {
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
  const left = Math.min(150, width * 0.34), right = width - 64;
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
