// The charts of all pages: a page hands data, and this script draws it as SVG, with a cursor for pointer and keyboard,
// zoom, and the data as a table. A page that is one file holds it within itself; the service serves it as a module.
//
// A chart is an element of class "chart" with its data as JSON in a script element, or it is given to `draw`:
//   kind    "lines" (if nothing is said), "rows" or "heat"; title: what it is called by screen readers; hint: a sentence below it
//   x, y    axes: {label, name, log, format, from, to, ticks}. `name` is a short label for what the cursor says. Formats are "number",
//           "count" (whole numbers), "percent", "seconds" (durations) and "time" (seconds since 1970, in the reader's time zone)
//   tools   what of it is chosen in the page's element of class "tools": some of "names", "views", "x" and "y" (log scales)
// lines:    at, the x of all series that have none; series [{name, y, x, low, high, colour, dash, shape, names, says, strong, views}].
//           shape is "line" (with a band between low and high), "dots" (with whiskers, each with its own name if there are `names`),
//           "joined" (dots on a line) or "area" (from low to high); views [{y, low, high}] are for the views of the tools.
//           limits [{y, name, colour}], verticals [{x, name}], marks [{x, kind, text}] below the axis, notes [{name, colour}] in the legend
// rows:     rows [{name, value, low, high, runs, other, colour, text}], dots with whiskers or, with `bars`, bars; `reference` is a line
// heat:     rows, columns: names; values: a list for each row, null where there is none; log; middle: where two colours meet
// A colour is one of CSS, or the number of one of the page's own.

const SVG = "http://www.w3.org/2000/svg", LETTER = 11.5, DAY = 86400, MOST_BANDS = 9; // of more lines, bands would be mud
const KEYS = "Arrow keys move, + and - zoom, Escape shows all; or drag.", ROW_KEYS = "Arrow keys move from row to row.";
const pen = document.createElement("canvas").getContext("2d");
const charts = new Set(), tools = { hidden: new Set(), view: 0, views: [], x: false, y: false };
const chosen = (data, what) => data.tools?.includes(what);

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
  for (const [name, value] of Object.entries(settings)) if (value !== undefined && name !== "style") node.setAttribute(name, value);
  node.style.cssText = settings.style ?? ""; // the service's content security policy forbids the attribute
  if (text !== undefined) node.textContent = text;
  return parent.appendChild(node);
}

export function number(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (Math.abs(value) >= 1000) return value.toLocaleString("en", { maximumFractionDigits: digits > 3 ? digits - 3 : 0 });
  return String(Number(value.toPrecision(digits)));
}

export function duration(seconds, digits = 3) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  for (const [size, name] of [[DAY, "d"], [3600, "h"], [60, "min"], [1, "s"], [1e-3, "ms"]])
    if (seconds >= 0.9999 * size) return `${number(seconds / size, digits)} ${name}`;
  return `${number(seconds * 1e6, digits)} µs`;
}

function moment(seconds) {
  return new Date(seconds * 1000).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
}

const FORMATS = {
  number, count: number, percent: (value, digits) => `${number(100 * value, digits)}%`, seconds: duration, time: moment,
};

function said(axis, value) {
  return FORMATS[axis?.format ?? "number"](value);
}

// Round numbers between two, at most so many.
function ticks(low, high, most) {
  const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((part) => part * power).find((part) => part >= rough * 0.999);
  const found = [];
  for (let place = Math.ceil(low / step - 1e-9); place * step <= high + step * 1e-9; place++) found.push(Number((place * step).toPrecision(12)));
  return found;
}

// As many as are round: powers of ten, then parts of them, as long as they are not too many.
function logTicks(low, high, most) {
  let best = [];
  for (const parts of [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 7], Array.from({ length: 90 }, (_, place) => 1 + place / 10)]) {
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
      for (const part of parts) if (part * 10 ** power >= low && part * 10 ** power <= high) found.push(Number((part * 10 ** power).toPrecision(3)));
    if (best.length > 1 && found.length > most) break;
    best = found;
  }
  return best.filter((_, place) => place % Math.ceil(best.length / most) === 0);
}

// Times of the reader's clock, whole days or whole parts of one, and what is written at them.
function timeTicks(low, high, most) {
  const steps = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10800, 21600, 43200, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY, 84 * DAY, 364 * DAY];
  const step = steps.find((each) => (high - low) / each <= most) ?? Math.ceil((high - low) / most / DAY) * DAY;
  const found = [], days = Math.max(1, Math.round(step / DAY)), day = new Date(low * 1000);
  day.setHours(0, 0, 0, 0);
  day.setDate(day.getDate() - (Math.round(Date.UTC(day.getFullYear(), day.getMonth(), day.getDate()) / DAY / 1000) % days));
  for (; day / 1000 <= high; day.setDate(day.getDate() + days))
    for (let second = 0; second < DAY; second += Math.min(step, DAY)) {
      const time = new Date(day.getFullYear(), day.getMonth(), day.getDate(), 0, 0, second);
      if (time / 1000 < low || time / 1000 > high) continue;
      const date = time.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: step > 27 * DAY ? "numeric" : undefined });
      const clock = time.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", second: step < 60 ? "2-digit" : undefined });
      found.push({ value: time / 1000, label: second === 0 ? date : found.length ? clock : `${date}, ${clock}` });
    }
  return found;
}

// A scale from `low` to `high` on pixels from `first` to `last`: where a value stands, what stands there, and ticks.
function scale(settings, low, high, first, last) {
  const log = settings.log, size = log ? Math.log(high / low) : high - low;
  const share = (value) => (log ? Math.log(Math.max(value, low) / low) : value - low) / size;
  const labelled = (most) => {
    if (settings.format === "time") return timeTicks(low, high, most);
    const own = settings.ticks?.filter((value) => value >= low && value <= high);
    const found = own ? own.filter((_, place) => place % Math.ceil(own.length / most) === 0) : log ? logTicks(low, high, Math.max(2, most)) : ticks(low, high, most);
    const whole = settings.format === "count" ? found.filter(Number.isInteger) : found;
    return whole.map((value) => ({ value, label: FORMATS[settings.format ?? "number"](value, 12) }));
  };
  return {
    low, high, at: (value) => first + share(value) * (last - first), labelled,
    value: (pixel) => { const part = (pixel - first) / (last - first); return log ? low * Math.exp(part * size) : low + part * size; },
    // So many ticks as there is room for.
    fitting: (extra) => { let most = Math.max(6, settings.ticks?.length ?? 0); while (most > 1 && labelled(most).reduce((sum, each) => sum + wide(each.label) + extra, 0) > Math.abs(last - first)) most--; return labelled(most); },
  };
}

function axisWords(settings, log) {
  const zone = settings?.format === "time" ? `${Intl.DateTimeFormat().resolvedOptions().timeZone}` : "";
  return [settings?.label ?? "", ...[log ? "log scale" : "", zone].filter(Boolean).map((each) => `(${each})`)].join(" ").trim();
}

function wide(text, size = LETTER) {
  pen.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}

// A text in lines of so many pixels, broken at blanks, behind brackets, commas, dots and colons, and within words only if one is longer.
function wrapped(text, room) {
  const lines = [""];
  for (const word of String(text).split(/(?<=[ ([,:.])/)) {
    if (wide(lines.at(-1) + word.trimEnd()) > room && lines.at(-1)) lines.push("");
    for (const letter of wide(word.trimEnd()) > room ? word : [word]) {
      if (wide(lines.at(-1) + letter.trimEnd()) > room && lines.at(-1)) lines.push("");
      lines[lines.length - 1] += letter;
    }
  }
  return lines.map((line) => line.trim());
}

function paint(colour) {
  return Number.isInteger(colour) ? `var(--c${colour % 8})` : colour ?? "var(--c0)";
}

// Draws a chart, or draws it again with new data: focus, cursor, zoom and what is hidden stay as they are.
export function draw(host, data) {
  const chart = (host.chart ??= begin(host));
  chart.data = data;
  redraw(chart);
}

function begin(host) {
  const chart = { from: null, to: null, at: null, hidden: new Set(), pressed: null };
  chart.plot = make("div", { class: "plot", tabindex: "0", role: "application", "aria-roledescription": "chart" });
  chart.tip = make("p", { class: "tip", "aria-live": "polite" });
  chart.legend = make("ul", { class: "legend" });
  chart.table = make("div");
  const details = make("details", { class: "data", ontoggle: () => fillTable(chart) }, make("summary", {}, "The data as a table"), chart.table);
  chart.details = details;
  host.replaceChildren(chart.plot, chart.tip, chart.legend, details);
  chart.plot.addEventListener("keydown", (event) => { if (!event.ctrlKey && !event.metaKey && !event.altKey && press(chart, event.key)) event.preventDefault(); });
  chart.plot.addEventListener("pointermove", (event) => point(chart, nearest(chart, event)));
  chart.plot.addEventListener("pointerleave", () => { chart.pressed = null; point(chart, chart.at); });
  chart.plot.addEventListener("pointerdown", (event) => { chart.pressed = placeOf(chart, event).x; });
  chart.plot.addEventListener("pointerup", (event) => {
    const from = chart.pressed, to = placeOf(chart, event).x;
    chart.pressed = null;
    if (from === null || Math.abs(to - from) < 12 || !chart.drawn.x) return;
    zoom(chart, chart.drawn.x.value(Math.min(from, to)), chart.drawn.x.value(Math.max(from, to)));
  });
  chart.plot.addEventListener("dblclick", () => press(chart, "Escape"));
  charts.add(chart);
  return chart;
}

function press(chart, key) {
  const { stops, across, x } = chart.drawn, last = stops.length - 1, at = Math.min(last, chart.at ?? (across ? -1 : last));
  const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -last - 1, End: last + 1, ...(across ? { ArrowUp: -across, ArrowDown: across } : {}) };
  if (last < 0) return false;
  if (key in steps) point(chart, (chart.at = Math.min(last, Math.max(0, at + steps[key]))));
  else if ((key === "+" || key === "=" || key === "-") && x) {
    const centre = stops[at].px, half = ((x.at(x.high) - x.at(x.low)) / 2) * (key === "-" ? 2 : 0.5);
    zoom(chart, x.value(centre - half), x.value(centre + half));
  } else if (key === "Escape" || key === "0") {
    chart.from = chart.to = chart.at = null;
    redraw(chart);
  } else return false;
  return true;
}

// Shows x between two values, if there are two stops between them, and all if that is more than there is.
function zoom(chart, from, to) {
  const { low, high } = chart.drawn.whole;
  [from, to] = [Math.max(low, from), Math.min(high, to)];
  if (chart.drawn.stops.filter((stop) => stop.x >= from && stop.x <= to).length < 2) return;
  [chart.from, chart.to] = from <= low && to >= high ? [null, null] : [from, to];
  redraw(chart);
}

function placeOf(chart, event) {
  const box = chart.plot.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

function nearest(chart, event) {
  const { x, y } = placeOf(chart, event);
  let best = null, least = Infinity;
  chart.drawn.stops.forEach(({ px, py }, place) => {
    const far = Math.hypot(px === null ? 0 : px - x, py === null ? 0 : py - y);
    if (far < least) [best, least] = [place, far];
  });
  return best;
}

// Puts the cursor at a stop and says what is there; at none, says what can be done.
function point(chart, place) {
  const { cursor, stops, box } = chart.drawn, stop = place === null ? null : stops[place];
  cursor.replaceChildren();
  const words = stop ? stop.text() : chart.data.hint ?? chart.drawn.keys;
  if (chart.tip.textContent !== words) chart.tip.textContent = words; // or a screen reader would say it again
  if (!stop) return;
  if (stop.py === null) add(cursor, "line", { x1: stop.px, x2: stop.px, y1: box.top, y2: box.bottom });
  for (const [x, y] of stop.rings ?? []) add(cursor, "circle", { cx: x, cy: y, r: 6 });
  if (stop.frame) add(cursor, "rect", stop.frame);
}

function redraw(chart) {
  const data = withTools(chart), shown = { ...data, series: data.series?.filter((each) => !isHidden(chart, each)), rows: data.kind === "heat" ? data.rows : data.rows?.filter((each) => !isHidden(chart, each)) };
  const old = chart.plot.firstChild, svg = document.createElementNS(SVG, "svg"), width = Math.max(250, chart.plot.clientWidth);
  svg.setAttribute("aria-hidden", "true");
  chart.drawn = { lines: drawLines, rows: drawRows, heat: drawHeat }[data.kind ?? "lines"](svg, shown, width, chart);
  const { height } = chart.drawn.box;
  for (const [name, value] of Object.entries({ width: "100%", height, viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none" })) svg.setAttribute(name, value);
  chart.drawn.cursor = add(svg, "g", { class: "cursor" });
  if (old) old.replaceWith(svg);
  else chart.plot.append(svg);
  chart.plot.setAttribute("aria-label", [data.title, data.kind !== "heat" && axisWords(data.y, data.y?.log), axisWords(data.x, data.x?.log), chart.drawn.keys].filter(Boolean).join(". "));
  fillLegend(chart, data);
  fillTable(chart);
  point(chart, chart.at === null ? null : Math.min(chart.at, chart.drawn.stops.length - 1));
}

// The data as the tools of the page show them.
function withTools(chart) {
  const { data } = chart, shown = { ...data, x: { ...data.x }, y: { ...data.y } };
  if (chosen(data, "views")) {
    shown.series = data.series.map((each) => ({ ...each, ...each.views[tools.view] }));
    shown.y.label = `${data.y.label}: ${tools.views[tools.view]}`;
  }
  for (const axis of ["x", "y"]) if (chosen(data, axis)) shown[axis].log ||= tools[axis];
  return shown;
}

function isHidden(chart, each) {
  return chart.hidden.has(each.name) || (chosen(chart.data, "names") && tools.hidden.has(each.name));
}

function drawLines(svg, data, width, chart) {
  const { series, at = [], marks = [], limits = [], verticals = [] } = data, xs = (each) => each.x ?? at;
  const lines = series.filter((each) => !each.shape || each.shape === "line"), many = lines.filter((each) => each.low).length > MOST_BANDS;
  const every = series.flatMap(xs).filter(Number.isFinite), positive = every.filter((x) => x > 0), logX = data.x?.log && positive.length > 0;
  const start = logX ? Math.min(...positive) : data.x?.from ?? Math.min(...every), stop = data.x?.to ?? Math.max(...every);
  const whole = Number.isFinite(start) ? { low: start, high: Math.max(stop, logX ? start * 1.01 : start + (stop > start ? 0 : 1)) } : { low: 0, high: 1 };
  if (series.some((each) => each.shape === "dots" || each.shape === "joined")) { // whole dots at both ends
    const pad = logX ? (whole.high / whole.low) ** 0.03 : (whole.high - whole.low) * 0.03;
    [whole.low, whole.high] = logX ? [whole.low / pad, whole.high * pad] : [whole.low - pad, whole.high + pad];
  }
  const low = chart.from ?? whole.low, high = chart.to ?? whole.high;

  const values = series.flatMap((each) => xs(each).map((x, i) => (x <= high && (x >= low || chart.from === null) ? [each.y[i], each.low?.[i], each.high?.[i]] : []))).flat();
  const found = [...values, ...limits.map((limit) => limit.y)].filter(Number.isFinite), peak = Math.max(...found, data.y?.to ?? -Infinity), above = found.filter((y) => y > 0), logY = data.y?.log && peak > 0;
  const least = logY ? Math.max(peak * 1e-4, Math.min(peak / 2, ...above)) : Math.min(0, data.y?.from ?? 0, ...found), most = Number.isFinite(peak) && peak > least ? peak : least + 1;
  const top = data.y?.to === most ? most : logY ? most * (most / least) ** 0.06 : most + (most - least) * 0.06;

  const named = wrapped(axisWords(data.y, logY), width - 4), height = (data.height ?? (many ? 400 : 300)) + 14 * named.length;
  const box = { height, top: 8 + 14 * named.length, bottom: height - (marks.length ? 16 : 0) - 40, right: width - 12 };
  const y = scale({ ...data.y, log: logY }, least, top, box.bottom, box.top), levels = y.labelled(Math.max(2, Math.floor((box.bottom - box.top) / 42)));
  box.left = Math.max(30, 10 + Math.max(...levels.map((level) => wide(level.label))));
  box.end = many ? box.right - 0.14 * (box.right - box.left) : box.right;
  const x = scale({ ...data.x, log: logX }, low, high, box.left, box.end);

  named.forEach((line, place) => add(svg, "text", { class: "label", x: 2, y: 12 + 14 * place }, line));
  for (const { value, label } of levels) {
    add(svg, "line", { class: "grid", x1: box.left, x2: box.right, y1: y.at(value), y2: y.at(value) });
    add(svg, "text", { x: box.left - 6, y: y.at(value) + 4, "text-anchor": "end" }, label);
  }
  ticksBelow(svg, x, box, width, height, axisWords(data.x, logX));
  const clip = `clip${Math.random().toString(36).slice(2)}`;
  add(add(svg, "clipPath", { id: clip }), "rect", { x: box.left - 1, y: 0, width: box.end - box.left + 2, height });
  const inside = add(svg, "g", { "clip-path": `url(#${clip})` }), drawn = { x, y, box, xs, many };
  for (const each of series) (each.shape === "area" ? drawArea : each.shape === "dots" || each.shape === "joined" ? drawDots : drawLine)(inside, each, drawn);
  if (many) add(svg, "text", { x: box.right + 10, y: box.bottom + 14, "text-anchor": "end" }, "at the end");
  if (many) lines.filter((each) => each.low).forEach((each, place, all) => drawEnd(svg, each, box.end + 6 + ((box.right - box.end - 8) * place) / all.length, y));
  let last = { y: Infinity, left: box.right };
  for (const limit of [...limits].sort((a, b) => a.y - b.y)) {
    const style = limit.colour === undefined ? undefined : `stroke: ${paint(limit.colour)}`, height = y.at(limit.y) - 4;
    const right = last.y - height < 13 ? last.left - 12 : box.right; // beside the name of one that is close below
    last = { y: height, left: right - wide(limit.name) };
    add(svg, "line", { class: "limit", x1: box.left, x2: box.right, y1: y.at(limit.y), y2: y.at(limit.y), style });
    add(svg, "text", { class: "halo", x: right, y: height, "text-anchor": "end" }, limit.name);
  }
  for (const { x: value, name } of verticals.filter((each) => each.x >= low && each.x <= high)) {
    add(inside, "line", { class: "due", x1: x.at(value), x2: x.at(value), y1: box.top, y2: box.bottom });
    const before = x.at(value) - box.left > wide(name) + 6;
    add(svg, "text", { class: "halo", x: x.at(value) + (before ? -4 : 4), y: box.top + 10, "text-anchor": before ? "end" : "start" }, name);
  }
  for (const mark of marks.filter((each) => each.x >= low && each.x <= high)) {
    const place = box.bottom + 4, node = mark.kind === "skipped"
      ? add(inside, "circle", { class: "mark skipped", cx: x.at(mark.x), cy: place + 5, r: 3.5 })
      : add(inside, "line", { class: `mark ${mark.kind}`, x1: x.at(mark.x), x2: x.at(mark.x), y1: place, y2: place + 10 });
    add(node, "title", {}, mark.text);
  }
  return { box, x, whole, stops: lineStops(data, drawn), keys: KEYS, table: () => lineTable(data, xs) };
}

function ticksBelow(svg, x, box, width, height, words) {
  for (const { value, label } of x.fitting(14)) {
    const half = wide(label) / 2, middle = Math.min(Math.max(x.at(value), half + 1), width - half - 1);
    add(svg, "line", { class: "grid", x1: x.at(value), x2: x.at(value), y1: box.bottom, y2: box.bottom + 4 });
    add(svg, "text", { x: middle, y: height - 22, "text-anchor": "middle" }, label);
  }
  add(svg, "text", { class: "label", x: (box.left + (box.end ?? box.right)) / 2, y: height - 5, "text-anchor": "middle" }, words);
}

function corners(each, { x, y, xs }, values) {
  return xs(each).map((value, i) => [value, values[i]]).filter(([, value]) => Number.isFinite(value)).map(([a, b]) => `${x.at(a).toFixed(1)},${y.at(b).toFixed(1)}`);
}

function drawArea(inside, each, drawn) {
  add(inside, "polygon", { class: "area", points: [...corners(each, drawn, each.high), ...corners(each, drawn, each.low).reverse()].join(" "), "data-name": each.name, style: `fill: ${paint(each.colour)}` });
}

function drawLine(inside, each, drawn) {
  if (each.low && !drawn.many) add(inside, "polygon", { class: "band", points: [...corners(each, drawn, each.high), ...corners(each, drawn, each.low).reverse()].join(" "), "data-name": each.name, style: `fill: ${paint(each.colour)}` });
  const points = corners(each, drawn, each.y);
  add(inside, "polyline", { class: "line", points: points.join(" "), "data-name": each.name, style: `stroke: ${paint(each.colour)}`, "stroke-dasharray": each.dash });
  if (points.length === 1) add(inside, "circle", { cx: points[0].split(",")[0], cy: points[0].split(",")[1], r: 3, style: `fill: ${paint(each.colour)}` });
}

function drawDots(inside, each, drawn) {
  const { x, y, xs } = drawn, style = `stroke: ${paint(each.colour)}; fill: ${paint(each.colour)}`;
  if (each.shape === "joined") add(inside, "polyline", { class: "line thin", points: corners(each, drawn, each.y).join(" "), "data-name": each.name, style: `stroke: ${paint(each.colour)}`, "stroke-dasharray": each.dash });
  xs(each).forEach((value, i) => {
    if (!Number.isFinite(each.y[i])) return;
    const node = add(inside, "g", { class: each.strong ? "dot strong" : "dot", "data-name": each.names?.[i] ?? each.name, style });
    if (Number.isFinite(each.low?.[i]) && Number.isFinite(each.high?.[i])) add(node, "line", { x1: x.at(value), x2: x.at(value), y1: y.at(each.low[i]), y2: y.at(each.high[i]) });
    add(node, "circle", { cx: x.at(value), cy: y.at(each.y[i]), r: each.strong ? 7 : 4 });
  });
}

// What a band would say, behind the last point, where lines are many.
function drawEnd(svg, each, x, y) {
  const last = each.y.length - 1;
  add(svg, "line", { class: "end", x1: x, x2: x, y1: y.at(each.low[last]), y2: y.at(each.high[last]), style: `stroke: ${paint(each.colour)}` });
  add(svg, "circle", { cx: x, cy: y.at(each.y[last]), r: 1.8, style: `fill: ${paint(each.colour)}` });
}

function ranged(axis, value, low, high) {
  return `${said(axis, value)}${Number.isFinite(low) && Number.isFinite(high) && low < high ? ` (${said(axis, low)} to ${said(axis, high)})` : ""}`;
}

// Where the cursor may stand: at every dot that has a name of its own, and at every x of the lines, as far as it is shown.
function lineStops(data, { x, y, box, xs }) {
  const named = new Map(), byX = new Map(), name = (axis) => axis?.name ?? axis?.label ?? "";
  for (const each of data.series)
    xs(each).forEach((value, i) => {
      if (!Number.isFinite(each.y[i]) || x.at(value) < box.left - 1 || x.at(value) > box.end + 1) return;
      const where = [x.at(value), y.at(each.shape === "area" ? each.high[i] : each.y[i])];
      const words = ranged(data.y, each.y[i], each.shape === "area" ? null : each.low?.[i], each.high?.[i]) + (each.says?.[i] ?? "");
      if (each.names) named.set(`${each.names[i]} ${value}`, { x: value, px: where[0], py: where[1], rings: [where], text: () => `${each.names[i]}: ${name(data.x)} ${said(data.x, value)}, ${name(data.y)} ${words}` });
      else byX.set(value, [...(byX.get(value) ?? []), { where, height: each.y[i], words: `${each.name} ${words}` }]);
    });
  const stops = [...named.values()]; // what is drawn twice is told once
  for (const [value, all] of byX)
    stops.push({ x: value, px: all[0].where[0], py: null, rings: all.length > 6 ? [] : all.map((each) => each.where), text: () => `${name(data.x)} ${said(data.x, value)}: ${all.sort((a, b) => b.height - a.height).map((each) => each.words).join(" · ")}` });
  return stops.sort((a, b) => a.x - b.x || (a.py ?? 0) - (b.py ?? 0));
}

function lineTable(data, xs) {
  const own = data.series.filter((each) => each.names), shared = data.series.filter((each) => !each.names);
  const words = (each, i) => (i < 0 ? "" : ranged(data.y, each.y[i], each.shape === "area" ? null : each.low?.[i], each.high?.[i]));
  if (own.length) return { heads: ["", data.x?.label ?? "", data.y?.label ?? ""], rows: own.flatMap((each) => each.names.map((name, i) => [name, said(data.x, xs(each)[i]), words(each, i)])) };
  const every = [...new Set(shared.flatMap(xs))].sort((a, b) => a - b);
  return { heads: [data.x?.label ?? "", ...shared.map((each) => each.name)], rows: every.map((x) => [said(data.x, x), ...shared.map((each) => words(each, xs(each).indexOf(x)))]) };
}

// One row below the other: names stand at the left if they fit there, else above what they name.
function drawRows(svg, data, width) {
  const { rows, bars } = data, beside = Math.min(240, 0.4 * width), fits = rows.every((row) => wide(row.name) <= beside);
  const texts = rows.map((row) => row.text ?? said(data.x, row.value)), right = width - 10 - Math.max(0, ...texts.map((text) => wide(text)));
  const left = fits ? 8 + Math.max(0, ...rows.map((row) => wide(row.name))) : 6, words = axisWords(data.x, data.x?.log);
  const names = rows.map((row) => (fits ? [row.name] : wrapped(row.name, width - 8)));
  const heights = names.map((lines) => (fits ? 24 : 20 + 13 * lines.length)), bottom = 4 + heights.reduce((sum, each) => sum + each, 0);
  const box = { top: 0, left, right: right - 6, bottom, height: bottom + (bars ? 4 : 40) };
  const every = [...rows.flatMap((row) => [row.value, row.low, row.high, row.other, ...(row.runs ?? [])]), data.reference, ...(bars ? [0] : [])].filter((value) => Number.isFinite(value) && (!data.x?.log || value > 0));
  const least = every.length ? Math.min(...every) : 0, most = every.length ? Math.max(...every) : 1, log = data.x?.log && least > 0;
  const pad = most > least ? (most - least) * 0.02 : Math.abs(most) || 1, ends = log ? [least / 1.1, most * 1.1] : bars ? [least, most > least ? most : 1] : [least - pad, most + pad];
  const x = scale({ ...data.x, log }, data.x?.from ?? ends[0], data.x?.to ?? ends[1], left + 5, right - 11), stops = [];
  const inRange = (value) => x.at(Math.min(Math.max(value, x.low), x.high));
  if (!bars) {
    for (const { value } of x.fitting(14)) add(svg, "line", { class: "grid", x1: x.at(value), x2: x.at(value), y1: 0, y2: bottom });
    ticksBelow(svg, x, box, width, box.height, words);
  }
  if (bars || Number.isFinite(data.reference)) add(svg, "line", { class: bars ? "grid" : "limit", x1: inRange(data.reference ?? 0), x2: inRange(data.reference ?? 0), y1: 0, y2: bottom });
  let below = 2;
  rows.forEach((row, place) => {
    const colour = paint(row.colour), y = below + heights[place] - (fits ? 12 : 11);
    names[place].forEach((line, i) => add(svg, "text", { class: "name", x: fits ? 0 : 2, y: fits ? y + 4 : below + 12 + 13 * i }, line));
    add(svg, "text", { class: "name", x: width - 2, y: y + 4, "text-anchor": "end" }, texts[place]);
    for (const run of row.runs ?? []) add(svg, "line", { class: "run", x1: inRange(run), x2: inRange(run), y1: y - 5, y2: y + 5, style: `stroke: ${colour}` });
    if (bars) add(svg, "rect", { class: "bar", x: Math.min(x.at(0), x.at(row.value)), y: y - 8, width: Math.max(1, Math.abs(x.at(row.value) - x.at(0))), height: 16, style: `fill: ${colour}` });
    else if (Number.isFinite(row.low) && Number.isFinite(row.high)) add(svg, "line", { class: "whisker", x1: inRange(row.low), x2: inRange(row.high), y1: y, y2: y, style: `stroke: ${colour}` });
    if (!bars && Number.isFinite(row.value)) add(svg, "circle", { class: "dot", cx: inRange(row.value), cy: y, r: 5, style: `fill: ${colour}`, "data-name": row.name });
    if (Number.isFinite(row.other)) add(svg, "rect", { class: "other", x: inRange(row.other) - 4, y: y - 4, width: 8, height: 8 });
    stops.push({ px: null, py: y, frame: { x: 0.5, y: below, width: width - 1, height: heights[place] }, text: () => `${row.name}: ${row.said ?? ranged(data.x, row.value, row.low, row.high)}` });
    below += heights[place];
  });
  return { box, stops, across: 1, keys: ROW_KEYS, table: () => ({ heads: ["", words || "value", "from", "to"], rows: rows.map((row) => [row.name, row.text ?? said(data.x, row.value), said(data.x, row.low), said(data.x, row.high)]) }) };
}

// A table in colours; numbers stand in the cells where there is room for them.
function drawHeat(svg, data, width) {
  const { rows, columns, values } = data, finite = values.flat().filter((value) => Number.isFinite(value) && (!data.log || value > 0)), words = wrapped(axisWords(data, data.log), width - 4);
  const low = data.from ?? Math.min(...finite), high = data.to ?? Math.max(...finite), z = scale({ ...data, log: data.log }, low, high > low ? high : low + 1, 0, 1), middle = data.middle ?? null;
  const names = rows.map((name) => wrapped(name, 0.36 * width)), left = 8 + Math.max(0, ...names.flat().map((line) => wide(line)));
  const step = (width - left - 2) / columns.length, upright = columns.some((name) => name.split(" ").some((word) => wide(word) > step - 6)), heads = columns.map((name) => (upright ? [name] : wrapped(name, step - 6)));
  const top = 8 + 14 * words.length + (upright ? Math.max(...columns.map((name) => wide(name))) : 14 * Math.max(...heads.map((lines) => lines.length))) + 4;
  const heights = names.map((lines) => Math.max(26, 8 + 13 * lines.length)), bottom = top + heights.reduce((sum, each) => sum + each, 0), box = { top, bottom, left, right: width - 2, height: bottom + 34 }, stops = [];
  const share = (value) => Math.min(1, Math.max(0, z.at(value))), shade = (part) => {
    if (middle === null) return [`color-mix(in oklab, var(--heat1) ${Math.round(100 * part)}%, var(--heat0))`, part];
    const centre = share(middle), far = part < centre ? (centre - part) / centre : (part - centre) / (1 - centre || 1);
    return [`color-mix(in oklab, var(${part < centre ? "--heat1" : "--heat2"}) ${Math.round(100 * far)}%, var(--heat0))`, far];
  };
  words.forEach((line, place) => add(svg, "text", { class: "label", x: 2, y: 12 + 14 * place }, line));
  heads.forEach((lines, column) => lines.forEach((line, place) => {
    const x = left + (column + 0.5) * step, y = upright ? top - 5 : top - 6 - 13 * (lines.length - 1 - place);
    add(svg, "text", upright ? { x: x + 4, y, transform: `rotate(-90 ${x + 4} ${y})` } : { x, y, "text-anchor": "middle" }, line);
  }));
  let y = top;
  rows.forEach((name, row) => {
    names[row].forEach((line, place) => add(svg, "text", { class: "name", x: 0, y: y + heights[row] / 2 + 4 + 13 * (place - (names[row].length - 1) / 2) }, line));
    columns.forEach((column, place) => {
      const value = values[row][place], frame = { x: left + place * step, y, width: step, height: heights[row] }, text = data.texts?.[row]?.[place] ?? said(data, value);
      if (Number.isFinite(value)) {
        const [colour, part] = shade(share(value));
        add(svg, "rect", { class: "cell", ...frame, style: `fill: ${colour}` });
        if (wide(text) < step - 4) add(svg, "text", { class: part > 0.5 ? "on-dark" : "on-light", x: frame.x + step / 2, y: y + heights[row] / 2 + 4, "text-anchor": "middle" }, text);
      }
      stops.push({ px: frame.x + step / 2, py: y + heights[row] / 2, frame, text: () => `${name}, ${column}: ${Number.isFinite(value) ? text : data.texts?.[row]?.[place] ?? "none"}` });
    });
    y += heights[row];
  });
  const bar = Math.min(220, box.right - left) / 20; // what the colours mean
  for (let place = 0; place < 20; place++) add(svg, "rect", { x: left + place * bar, y: bottom + 8, width: bar + 0.5, height: 9, style: `fill: ${shade((place + 0.5) / 20)[0]}` });
  if (finite.length) {
    add(svg, "text", { x: left, y: bottom + 30 }, said(data, low));
    add(svg, "text", { x: left + 20 * bar, y: bottom + 30, "text-anchor": "end" }, said(data, high));
  }
  return { box, stops, across: columns.length, keys: "Arrow keys move from cell to cell.", table: () => ({ heads: ["", ...columns], rows: rows.map((name, row) => [name, ...values[row].map((value, place) => data.texts?.[row]?.[place] ?? said(data, value))]) }) };
}

// A short piece of how a series is drawn.
function sample({ colour, dash, shape, strong }) {
  const svg = document.createElementNS(SVG, "svg"), style = `stroke: ${paint(colour)}; fill: ${paint(colour)}`;
  for (const [name, value] of Object.entries({ width: 24, height: 12, "aria-hidden": "true" })) svg.setAttribute(name, value);
  if (shape === "area") add(svg, "rect", { x: 6, width: 12, height: 12, style });
  else if (shape === "dots") add(svg, "circle", { cx: 12, cy: 6, r: strong ? 6 : 4, style });
  else add(svg, "line", { x1: 0, x2: 24, y1: 6, y2: 6, style, "stroke-width": 2.5, "stroke-dasharray": dash });
  if (shape === "joined") add(svg, "circle", { cx: 12, cy: 6, r: 4, style });
  return svg;
}

function chooser(each, pressed, change) {
  return make("button", { type: "button", "aria-pressed": String(pressed), "data-name": each.name, onclick: change }, sample(each), each.name);
}

function fillLegend(chart, data) {
  const series = chosen(data, "names") || (data.series?.length ?? 0) < 2 ? [] : data.series, notes = data.notes ?? [];
  const content = JSON.stringify([series.map(({ name, colour, dash, shape }) => [name, colour, dash, shape, chart.hidden.has(name)]), notes]);
  if (chart.legend.dataset.content === content) return; // so that focus stays
  chart.legend.dataset.content = content;
  const focused = chart.legend.contains(document.activeElement) ? document.activeElement.dataset.name : null;
  chart.legend.replaceChildren(
    ...series.map((each) => make("li", {}, chooser(each, !chart.hidden.has(each.name), () => {
      if (!chart.hidden.delete(each.name)) chart.hidden.add(each.name);
      redraw(chart);
    }))),
    ...notes.map((note) => make("li", {}, sample({ ...note, shape: "area" }), note.name)));
  for (const button of chart.legend.querySelectorAll("button")) if (button.dataset.name === focused) button.focus();
}

function fillTable(chart) {
  if (!chart.details.open) chart.table.replaceChildren();
  else chart.table.replaceChildren(table(chart.drawn.table(), `${chart.data.title}: the data`));
}

// A table that scrolls within its own box, where it is too wide or too high, and then says so.
export function table({ heads, rows }, label) {
  const cells = (tag, row) => make("tr", {}, ...row.map((cell) => make(tag, tag === "th" ? { scope: "col" } : {}, cell)));
  const host = make("div", { class: "wide", "data-label": label }, make("table", { class: "numbers" }, make("thead", {}, cells("th", heads)), make("tbody", {}, ...rows.map((row) => cells("td", row)))));
  watchWide(host);
  return host;
}

function markWide(host) {
  const scrolls = host.scrollWidth > host.clientWidth + 1, focusable = scrolls || host.scrollHeight > host.clientHeight + 1;
  host.classList.toggle("scrolls", scrolls);
  for (const [name, value] of Object.entries({ tabindex: "0", role: "group", "aria-label": host.dataset.label ?? "A table that scrolls" }))
    if (focusable) host.setAttribute(name, value);
    else host.removeAttribute(name);
}

const wideness = new ResizeObserver((entries) => { for (const entry of entries) markWide(entry.target.closest(".wide")); });

export function watchWide(host) {
  markWide(host); // an observer hears nothing of what is within closed details
  wideness.observe(host);
  wideness.observe(host.firstElementChild);
}

// Names, views and scales for all charts of the page that have `tools`: {names, views, x, y}, where x and y name what may be logarithmic.
function fillTools(host, data) {
  const names = make("div", { class: "names" }), views = make("div", { class: "views" });
  const again = () => { for (const chart of charts) if (chart.data.tools) redraw(chart); };
  const flip = (event) => { const on = event.currentTarget.getAttribute("aria-pressed") !== "true"; event.currentTarget.setAttribute("aria-pressed", String(on)); return on; };
  tools.views = data.views ?? [];
  for (const each of data.names ?? []) {
    if (each.shown === false) tools.hidden.add(each.name);
    names.append(chooser(each, each.shown !== false, (event) => { if (flip(event)) tools.hidden.delete(each.name); else tools.hidden.add(each.name); again(); }));
  }
  tools.views.forEach((name, place) => views.append(make("button", { type: "button", class: "view", "aria-pressed": String(place === 0), onclick: (event) => {
    tools.view = place;
    for (const each of views.querySelectorAll(".view")) each.setAttribute("aria-pressed", String(each === event.currentTarget));
    again();
  } }, name)));
  for (const axis of ["x", "y"]) if (data[axis]) views.append(make("button", { type: "button", "data-axis": axis, "aria-pressed": "false", onclick: (event) => { tools[axis] = flip(event); again(); } }, `${data[axis]} on a log scale`));
  host.replaceChildren(names, make("p", { class: "tip" }, data.hint ?? ""), views);
}

function held(host) {
  return JSON.parse(host.querySelector("script").textContent);
}

// Draws for the width that there is, once; drawing may change it, for a longer page may need a scroll bar.
let width = -1;
function fit() {
  if (document.body.clientWidth === width) return;
  width = document.body.clientWidth;
  for (const chart of charts)
    if (chart.plot.isConnected) redraw(chart);
    else charts.delete(chart);
  document.body.dataset.charts = width;
}

for (const host of document.querySelectorAll(".tools")) fillTools(host, held(host));
for (const host of document.querySelectorAll(".chart")) {
  const data = held(host);
  (host.chart = begin(host)).data = data;
}
for (const host of document.querySelectorAll(".wide")) watchWide(host);
new ResizeObserver(fit).observe(document.body);
fit();
