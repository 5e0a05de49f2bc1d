// The charts of all pages: a page hands data, and this script draws it as SVG, with a cursor for pointer and
// keyboard, zoom, a legend, and the data as a table. A page that is one file holds this script within itself; the
// service serves it as a module.
//
// A chart is an element of class "chart" that holds its data as JSON in a script element, or is given to `draw`:
//   kind     "lines" (if nothing is said), "rows" or "heat"
//   title    what screen readers call it; hint: a sentence below it
//   x, y     axes: {label, name, log, format, from, to, ticks}. `name` is a short label for what the cursor says. Formats
//            are "number", "count" (whole numbers), "percent", "seconds" (durations) and "time" (seconds since 1970, in
//            the reader's time zone)
//   tools    what of it is chosen in the page's element of class "tools": some of "names", "views", "x" and "y" (log)
// lines:
//   at       x of all series that have none of their own
//   series   [{name, x, y, low, high, colour, dash, shape, names, says, strong, views}]; shape is "line" (with a band from
//            low to high), "dots" (with whiskers), "joined" (dots on a line) or "area" (from low to high). `names` are
//            those of the dots, `says` adds words to each point, views [{y, low, high}] are for the views of the tools
//   limits [{y, name, colour}], verticals [{x, name}], marks [{x, kind, text}] below the axis, notes [{name, colour}] in
//   the legend, height
// rows:
//   rows     [{name, value, low, high, runs, other, colour, text}]: dots with whiskers or, with `bars`, bars; `reference`
//            is a line across all rows
// heat:
//   rows, columns (names), values (a list for each row, null where there is none), texts (the same, as they are written),
//   says (the same, as cursor and table tell them), label, format, log, from, to (values beyond have the colours of these
//   ends), and `middle`, the value at which two colours meet
// A colour is one of CSS, or the number of one of the page's own.

const SVG = "http://www.w3.org/2000/svg";
const LETTERS = 11.5, LINE = 14; // pixels: size of letters, height of a line of text
const DAY = 86400;
const MOST_BANDS = 9; // of more lines, bands would be mud: bars behind the last point take their place
const MOST_RINGS = 6;

// ---------------------------------------------------------------------------------------------------- elements

export function make(tag, settings = {}, ...inner) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(settings)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...inner.filter((each) => each !== null && each !== undefined));
  return node;
}

// An SVG element; `fill` and `stroke` are colours of a chart, which a content security policy allows as properties alone.
function add(parent, tag, { fill, stroke, ...settings }, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(settings)) if (value !== undefined) node.setAttribute(name, value);
  if (fill !== undefined) node.style.fill = paint(fill);
  if (stroke !== undefined) node.style.stroke = paint(stroke);
  if (text !== undefined) node.textContent = text;
  return parent.appendChild(node);
}

function paint(colour) {
  return Number.isInteger(colour) ? `var(--c${colour % 8})` : colour;
}

const pen = document.createElement("canvas").getContext("2d");

function widthOf(text) {
  pen.font = `${LETTERS}px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}

function widest(texts) {
  return texts.reduce((most, text) => Math.max(most, widthOf(text)), 0);
}

// A text in lines of so many pixels: broken at blanks and behind brackets, commas, dots and colons, and inside a word
// only if that is longer than a line.
function wrapped(text, room) {
  const lines = [""], fits = (more) => widthOf((lines.at(-1) + more).trimEnd()) <= room;
  const append = (part) => {
    if (!fits(part) && lines.at(-1)) lines.push("");
    lines[lines.length - 1] += part;
  };
  for (const word of String(text).split(/(?<=[ ([,:.])/)) {
    if (widthOf(word.trimEnd()) <= room) append(word);
    else for (const letter of word) append(letter);
  }
  return lines.map((line) => line.trim());
}

// ----------------------------------------------------------------------------------------------- numbers and axes

export function number(value, digits = 3) {
  if (!Number.isFinite(value)) return "–";
  if (Math.abs(value) >= 1000) return value.toLocaleString("en", { maximumFractionDigits: digits > 3 ? digits - 3 : 0 });
  return String(Number(value.toPrecision(digits)));
}

export function duration(seconds, digits = 3) {
  if (!Number.isFinite(seconds)) return "–";
  for (const [size, unit] of [[DAY, "d"], [3600, "h"], [60, "min"], [1, "s"], [1e-3, "ms"]])
    if (seconds >= 0.9999 * size) return `${number(seconds / size, digits)} ${unit}`;
  return `${number(seconds * 1e6, digits)} µs`;
}

const FORMATS = {
  number,
  count: number,
  percent: (value, digits) => `${number(100 * value, digits)}%`,
  seconds: duration,
  time: (value) => new Date(value * 1000).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" }),
};

function said(axis, value, digits) {
  return FORMATS[axis.format ?? "number"](value, digits);
}

// A value with its interval, if it has one.
function ranged(axis, value, low, high) {
  const has = Number.isFinite(low) && Number.isFinite(high) && low < high;
  return said(axis, value) + (has ? ` (${said(axis, low)} to ${said(axis, high)})` : "");
}

function axisLabel(axis, log) {
  const zone = axis.format === "time" ? Intl.DateTimeFormat().resolvedOptions().timeZone : "";
  return [axis.label ?? "", log ? "(log scale)" : "", zone ? `(${zone})` : ""].filter(Boolean).join(" ");
}

// The least and the greatest of some values; those that are no finite numbers are left out.
function range(values) {
  const widened = ([low, high], value) => [Math.min(low, value), Math.max(high, value)];
  return values.filter(Number.isFinite).reduce(widened, [Infinity, -Infinity]);
}

// Round numbers between two, at most so many.
function plainTicks(low, high, most) {
  const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((part) => part * power).find((part) => part >= rough * 0.999);
  const found = [];
  for (let place = Math.ceil(low / step - 1e-9); place * step <= high + step * 1e-9; place++)
    found.push(Number((place * step).toPrecision(12)));
  return found;
}

// The same on a log scale: powers of ten, then parts of them, as long as they are not too many.
function logTicks(low, high, most) {
  const tenths = Array.from({ length: 90 }, (_, place) => 1 + place / 10);
  let best = [];
  for (const parts of [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 7], tenths]) {
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
      found.push(...parts.map((part) => Number((part * 10 ** power).toPrecision(3))));
    const inside = found.filter((value) => value >= low && value <= high);
    if (best.length > 1 && inside.length > most) break;
    best = inside;
  }
  return thinned(best, most);
}

function thinned(values, most) {
  return values.filter((_, place) => place % Math.ceil(values.length / most) === 0);
}

// Times of the reader's clock: whole days, or whole parts of a day, each with what is written at it.
function timeTicks(low, high, most) {
  const parts = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10800, 21600, 43200];
  const steps = [...parts, ...[1, 2, 3, 4, 7, 14, 28, 84, 364].map((days) => days * DAY)];
  const step = steps.find((each) => (high - low) / each <= most) ?? Math.ceil((high - low) / most / DAY) * DAY;
  const days = Math.max(1, step / DAY), day = new Date(low * 1000), found = [];
  day.setHours(0, 0, 0, 0);
  const sinceEpoch = Math.round(Date.UTC(day.getFullYear(), day.getMonth(), day.getDate()) / DAY / 1000);
  day.setDate(day.getDate() - (sinceEpoch % days)); // so that ticks stay where they are when the axis moves
  for (; day / 1000 <= high; day.setDate(day.getDate() + days))
    for (let second = 0; second < DAY; second += Math.min(step, DAY)) {
      const time = new Date(day.getFullYear(), day.getMonth(), day.getDate(), 0, 0, second);
      if (time / 1000 < low || time / 1000 > high) continue;
      const year = step >= 28 * DAY ? "numeric" : undefined, seconds = step < 60 ? "2-digit" : undefined;
      const date = time.toLocaleDateString("en-GB", { day: "numeric", month: "short", year });
      const clock = time.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", second: seconds });
      found.push({ value: time / 1000, label: second === 0 ? date : found.length ? clock : `${date}, ${clock}` });
    }
  return found;
}

// Values from `low` to `high` on pixels from `first` to `last`.
class Scale {
  constructor(axis, log, [low, high], [first, last]) {
    Object.assign(this, { axis, log, low, high, first, last });
    this.size = log ? Math.log(high / low) : high - low;
  }

  // The pixel of a value; on a log scale what is below its least is its least.
  at(value) {
    const share = (this.log ? Math.log(Math.max(value, this.low) / this.low) : value - this.low) / this.size;
    return this.first + share * (this.last - this.first);
  }

  // The pixel of a value, or of the end that is nearest to it.
  within(value) {
    return this.at(Math.min(Math.max(value, this.low), this.high));
  }

  value(pixel) {
    const share = (pixel - this.first) / (this.last - this.first);
    return this.log ? this.low * Math.exp(share * this.size) : this.low + share * this.size;
  }

  ticks(most) {
    const { axis, low, high } = this;
    if (axis.format === "time") return timeTicks(low, high, most);
    let values;
    if (axis.ticks) values = thinned(axis.ticks.filter((value) => value >= low && value <= high), most);
    else values = this.log ? logTicks(low, high, Math.max(2, most)) : plainTicks(low, high, most);
    if (axis.format === "count") values = values.filter(Number.isInteger);
    return values.map((value) => ({ value, label: said(axis, value, 12) }));
  }

  // As many ticks as have room beside each other.
  fittingTicks() {
    for (let most = Math.max(6, this.axis.ticks?.length ?? 0); ; most--) {
      const found = this.ticks(most), taken = found.reduce((sum, tick) => sum + widthOf(tick.label) + 14, 0);
      if (most === 1 || taken <= Math.abs(this.last - this.first)) return found;
    }
  }
}

// Ticks and label of an axis below a chart.
function drawAxisBelow(svg, scale, box) {
  for (const { value, label } of scale.fittingTicks()) {
    const x = scale.at(value), half = widthOf(label) / 2;
    add(svg, "line", { class: "grid", x1: x, x2: x, y1: box.bottom, y2: box.bottom + 4 });
    const inside = Math.min(Math.max(x, half + 1), box.width - half - 1);
    add(svg, "text", { class: "tick", x: inside, y: box.height - 22, "text-anchor": "middle" }, label);
  }
  const middle = (scale.first + scale.last) / 2;
  add(svg, "text", { class: "label", x: middle, y: box.height - 5, "text-anchor": "middle" }, axisLabel(scale.axis, scale.log));
}

// The label of an axis that goes up, above it.
function drawLabelAbove(svg, lines) {
  lines.forEach((line, place) => add(svg, "text", { class: "label", x: 2, y: 12 + LINE * place }, line));
}

// ------------------------------------------------------------------------------------------------------- charts
// What draws a kind of chart returns its `box`; `stops`, where the cursor may stand: {px, py, text}, px or py null where
// it stands for a whole column or row, with `rings` or a `frame` around what it is about; `keys`, what they do; `table`,
// which makes the data a table; and, where arrows up and down move, `across`, over how many stops. Lines have their
// Scale `x` and the `whole` range of it, too.

const xsOf = (data, each) => each.x ?? data.at ?? [];
const isDotted = (each) => each.shape === "dots" || each.shape === "joined";

// A series at one of its points, in words.
function pointWords(data, each, place) {
  const interval = each.shape === "area" ? [] : [each.low?.[place], each.high?.[place]];
  return ranged(data.y, each.y[place], ...interval) + (each.says?.[place] ?? "");
}

function drawLines(svg, data, width, chart) {
  const { series, marks = [], limits = [], verticals = [] } = data;
  const banded = series.filter((each) => each.low && !isDotted(each) && each.shape !== "area"), many = banded.length > MOST_BANDS;
  const across = wholeRange(data), shown = [chart.from ?? across.range[0], chart.to ?? across.range[1]];
  const up = upRange(data, shown, chart.from === null), label = wrapped(axisLabel(data.y, up.log), width - 4);

  const height = (data.height ?? (many ? 400 : 300)) + LINE * label.length;
  const box = { width, height, top: 8 + LINE * label.length, bottom: height - (marks.length ? 56 : 40), right: width - 12 };
  const y = new Scale(data.y, up.log, up.range, [box.bottom, box.top]);
  const levels = y.ticks(Math.max(2, Math.floor((box.bottom - box.top) / 42)));
  box.left = Math.max(30, 10 + widest(levels.map((level) => level.label)));
  box.end = many ? box.right - 0.14 * (box.right - box.left) : box.right;
  const x = new Scale(data.x, across.log, shown, [box.left, box.end]);

  drawLabelAbove(svg, label);
  for (const { value, label: words } of levels) {
    add(svg, "line", { class: "grid", x1: box.left, x2: box.right, y1: y.at(value), y2: y.at(value) });
    add(svg, "text", { x: box.left - 6, y: y.at(value) + 4, "text-anchor": "end" }, words);
  }
  drawAxisBelow(svg, x, box);
  const inside = clipped(svg, box);
  for (const each of series) {
    if (isDotted(each)) drawDots(inside, data, each, x, y);
    else drawLine(inside, data, each, x, y, !many);
  }
  if (many) drawEnds(svg, banded, box, y);
  drawLimits(svg, limits, box, y);
  const isShown = (each) => each.x >= shown[0] && each.x <= shown[1];
  drawVerticals(svg, inside, verticals.filter(isShown), box, x);
  drawMarks(inside, marks.filter(isShown), box, x);
  const keys = "Arrow keys move, + and - zoom, Escape shows all; or drag.";
  return { box, x, whole: across.range, stops: lineStops(data, box, x, y), keys, table: () => lineTable(data) };
}

// From where to where x goes, and whether on a log scale.
function wholeRange(data) {
  const every = data.series.flatMap((each) => xsOf(data, each)), positive = every.filter((x) => x > 0);
  const log = Boolean(data.x.log && positive.length), [least, greatest] = range(log ? positive : every);
  if (least > greatest) return { log: false, range: [0, 1] };
  const low = log ? least : data.x.from ?? least, high = data.x.to ?? greatest;
  if (high <= low) return { log, range: [low, log ? 2 * low : low + 1] };
  if (!data.series.some(isDotted)) return { log, range: [low, high] };
  const pad = log ? (high / low) ** 0.03 : (high - low) * 0.03; // so that dots at the ends are whole
  return { log, range: log ? [low / pad, high * pad] : [low - pad, high + pad] };
}

// The same of y, for the x that are shown; nil is shown, unless the scale is logarithmic.
function upRange(data, [from, to], isWhole) {
  const values = (data.limits ?? []).map((limit) => limit.y);
  for (const each of data.series)
    xsOf(data, each).forEach((x, place) => {
      if (isWhole || (x >= from && x <= to)) values.push(each.y[place], each.low?.[place], each.high?.[place]);
    });
  const [least, greatest] = range(values), peak = Math.max(greatest, data.y.to ?? -Infinity);
  if (data.y.log && peak > 0) {
    const deepest = data.y.from > 0 ? data.y.from : peak * 1e-4; // what is below is drawn there, at the foot
    const low = Math.max(deepest, Math.min(peak / 2, range(values.filter((value) => value > 0))[0]));
    return { log: true, range: [low, peak * (peak / low) ** 0.06] };
  }
  const low = Math.min(0, data.y.from ?? 0, least), high = peak > low ? peak : low + 1;
  return { log: false, range: [low, data.y.to === high ? high : high + (high - low) * 0.06] };
}

let clips = 0;
function clipped(svg, box) {
  const id = `clip${clips++}`;
  add(add(svg, "clipPath", { id }), "rect", { x: box.left - 1, y: 0, width: box.end - box.left + 2, height: box.height });
  return add(svg, "g", { "clip-path": `url(#${id})` });
}

// The points of a series for SVG, at `values`.
function cornersOf(data, each, x, y, values) {
  const known = xsOf(data, each).map((value, place) => [value, values[place]]).filter(([, value]) => Number.isFinite(value));
  return known.map(([across, up]) => `${x.at(across).toFixed(1)},${y.at(up).toFixed(1)}`);
}

function drawLine(inside, data, each, x, y, withBand) {
  const colour = each.colour ?? 0, isArea = each.shape === "area";
  if (each.low && (isArea || withBand)) {
    const [above, below] = [each.high, each.low].map((values) => cornersOf(data, each, x, y, values));
    const points = [...above, ...below.reverse()].join(" ");
    add(inside, "polygon", { class: isArea ? "area" : "band", points, "data-name": each.name, fill: colour });
  }
  if (isArea) return;
  const points = cornersOf(data, each, x, y, each.y);
  const settings = { class: "line", "data-name": each.name, "stroke-dasharray": each.dash, stroke: colour };
  add(inside, "polyline", { ...settings, points: points.join(" ") });
  if (points.length === 1) {
    const [cx, cy] = points[0].split(",");
    add(inside, "circle", { cx, cy, r: 3, fill: colour });
  }
}

function drawDots(inside, data, each, x, y) {
  const colour = each.colour ?? 0;
  if (each.shape === "joined") {
    const points = cornersOf(data, each, x, y, each.y).join(" "), dash = each.dash;
    add(inside, "polyline", { class: "line thin", points, "data-name": each.name, "stroke-dasharray": dash, stroke: colour });
  }
  xsOf(data, each).forEach((value, place) => {
    const [middle, low, high] = [each.y[place], each.low?.[place], each.high?.[place]], across = x.at(value);
    if (!Number.isFinite(middle)) return;
    const settings = { class: each.strong ? "dot strong" : "dot", "data-name": each.names?.[place] ?? each.name };
    const node = add(inside, "g", { ...settings, fill: colour, stroke: colour });
    if (Number.isFinite(low) && Number.isFinite(high))
      add(node, "line", { x1: across, x2: across, y1: y.at(low), y2: y.at(high) });
    add(node, "circle", { cx: across, cy: y.at(middle), r: each.strong ? 7 : 4 });
  });
}

// What bands would say, as bars behind the last point, where lines are many. They are named below the ticks, whose last
// stands where the bars begin.
function drawEnds(svg, banded, box, y) {
  add(svg, "text", { x: box.right + 10, y: box.height - 5, "text-anchor": "end" }, "at the end");
  banded.forEach((each, place) => {
    const x = box.end + 6 + ((box.right - box.end - 8) * place) / banded.length, last = each.y.length - 1, colour = each.colour ?? 0;
    add(svg, "line", { class: "end", x1: x, x2: x, y1: y.at(each.low[last]), y2: y.at(each.high[last]), stroke: colour });
    add(svg, "circle", { cx: x, cy: y.at(each.y[last]), r: 1.8, fill: colour });
  });
}

function drawLimits(svg, limits, box, y) {
  let below = { height: Infinity, left: box.right };
  for (const limit of [...limits].sort((a, b) => a.y - b.y)) {
    const height = y.at(limit.y), right = below.height - height < LINE ? below.left - 12 : box.right; // no name on another
    below = { height, left: right - widthOf(limit.name) };
    add(svg, "line", { class: "limit", x1: box.left, x2: box.right, y1: height, y2: height, stroke: limit.colour });
    add(svg, "text", { class: "halo", x: right, y: height - 4, "text-anchor": "end" }, limit.name);
  }
}

function drawVerticals(svg, inside, verticals, box, x) {
  for (const { x: value, name } of verticals) {
    const place = x.at(value), isRoomy = place - box.left > widthOf(name) + 6; // at its left
    add(inside, "line", { class: "due", x1: place, x2: place, y1: box.top, y2: box.bottom });
    const anchor = isRoomy ? "end" : "start";
    add(svg, "text", { class: "halo", x: place + (isRoomy ? -4 : 4), y: box.top + 10, "text-anchor": anchor }, name);
  }
}

function drawMarks(inside, marks, box, x) {
  for (const mark of marks) {
    const place = x.at(mark.x), top = box.bottom + 4, kind = `mark ${mark.kind}`;
    const node = mark.kind === "skipped"
      ? add(inside, "circle", { class: kind, cx: place, cy: top + 5, r: 3.5 })
      : add(inside, "line", { class: kind, x1: place, x2: place, y1: top, y2: top + 10 });
    add(node, "title", {}, mark.text);
  }
}

// A stop at every dot that has a name of its own, once if it is drawn twice, and at every x of the other series.
function lineStops(data, box, x, y) {
  const byName = new Map(), byX = new Map(), nameOf = (axis) => axis.name ?? axis.label ?? "";
  for (const each of data.series)
    xsOf(data, each).forEach((value, place) => {
      const px = x.at(value);
      if (!Number.isFinite(each.y[place]) || px < box.left - 1 || px > box.end + 1) return;
      const py = y.at(each.shape === "area" ? each.high[place] : each.y[place]), words = pointWords(data, each, place);
      if (each.names) {
        const name = each.names[place], where = `${nameOf(data.x)} ${said(data.x, value)}`;
        const text = () => `${name}: ${where}, ${nameOf(data.y)} ${words}`;
        byName.set(`${name} ${value}`, { x: value, px, py, rings: [[px, py]], text });
      } else {
        if (!byX.has(value)) byX.set(value, []);
        byX.get(value).push({ px, py, height: each.y[place], words: `${each.name} ${words}` });
      }
    });
  const stops = [...byName.values()];
  for (const [value, points] of byX) {
    points.sort((a, b) => b.height - a.height);
    const text = () => `${nameOf(data.x)} ${said(data.x, value)}: ${points.map((point) => point.words).join(" · ")}`;
    const rings = points.length > MOST_RINGS ? [] : points.map((point) => [point.px, point.py]);
    stops.push({ x: value, px: points[0].px, py: null, rings, text });
  }
  return stops.sort((a, b) => a.x - b.x || (a.py ?? 0) - (b.py ?? 0));
}

function lineTable(data) {
  const named = data.series.filter((each) => each.names), others = data.series.filter((each) => !each.names);
  if (named.length) {
    const row = (each, name, place) => [name, said(data.x, xsOf(data, each)[place]), pointWords(data, each, place)];
    const rowsOf = (each) => each.names.map((name, place) => row(each, name, place));
    return { heads: ["", data.x.label ?? "", data.y.label ?? ""], rows: named.flatMap(rowsOf) };
  }
  const every = [...new Set(others.flatMap((each) => xsOf(data, each)))].sort((a, b) => a - b);
  const cell = (each, x) => {
    const place = xsOf(data, each).indexOf(x);
    return place < 0 ? "" : pointWords(data, each, place);
  };
  const rows = every.map((x) => [said(data.x, x), ...others.map((each) => cell(each, x))]);
  return { heads: [data.x.label ?? "", ...others.map((each) => each.name)], rows };
}

// One row below the other: names stand at the left if all fit there, else above what they name.
function drawRows(svg, data, width) {
  const { rows, bars } = data, texts = rows.map((row) => row.text ?? said(data.x, row.value));
  const isBeside = widest(rows.map((row) => row.name)) <= Math.min(240, 0.4 * width);
  const names = rows.map((row) => (isBeside ? [row.name] : wrapped(row.name, width - 8)));
  const heights = names.map((lines) => (isBeside ? 24 : 20 + 13 * lines.length));
  const bottom = 4 + heights.reduce((sum, each) => sum + each, 0), box = { width, top: 0, bottom, height: bottom + (bars ? 4 : 40) };
  const left = isBeside ? 8 + widest(rows.map((row) => row.name)) : 6, right = width - 10 - widest(texts);
  const [log, ends] = rowRange(data), x = new Scale(data.x, log, ends, [left + 5, right - 11]);

  if (!bars) {
    for (const place of x.fittingTicks().map((tick) => x.at(tick.value)))
      add(svg, "line", { class: "grid", x1: place, x2: place, y1: 0, y2: bottom });
    drawAxisBelow(svg, x, box);
  }
  if (bars || Number.isFinite(data.reference)) {
    const place = x.within(bars ? 0 : data.reference);
    add(svg, "line", { class: bars ? "grid" : "limit", x1: place, x2: place, y1: 0, y2: bottom });
  }
  const stops = [];
  let top = 2;
  rows.forEach((row, place) => {
    const height = heights[place], y = top + height - (isBeside ? 12 : 11), firstLine = isBeside ? y + 4 : top + 12;
    names[place].forEach((line, i) => add(svg, "text", { class: "name", x: isBeside ? 0 : 2, y: firstLine + 13 * i }, line));
    add(svg, "text", { class: "name", x: width - 2, y: y + 4, "text-anchor": "end" }, texts[place]);
    if (bars) drawBar(svg, row, x, y);
    else drawInterval(svg, row, x, y);
    const text = () => `${row.name}: ${ranged(data.x, row.value, row.low, row.high)}`;
    stops.push({ px: null, py: y, frame: { x: 0.5, y: top, width: width - 1, height }, text });
    top += height;
  });
  const table = () => ({
    heads: ["", axisLabel(data.x, log) || "value", "from", "to"],
    rows: rows.map((row, place) => [row.name, texts[place], said(data.x, row.low), said(data.x, row.high)]),
  });
  return { box, stops, across: 1, keys: "Arrow keys move from row to row.", table };
}

// Whether the scale of rows is logarithmic, and its ends.
function rowRange(data) {
  const every = data.rows.flatMap((row) => [row.value, row.low, row.high, row.other, ...(row.runs ?? [])]);
  const [least, greatest] = range([...every, data.reference, data.bars ? 0 : null]), { from, to, log } = data.x;
  if (least > greatest) return [false, [from ?? 0, to ?? 1]];
  if (log && least > 0) return [true, [from ?? least / 1.1, to ?? greatest * 1.1]];
  const pad = greatest > least ? (greatest - least) * 0.02 : Math.abs(greatest) || 1;
  if (data.bars) return [false, [least, greatest > least ? greatest : 1]];
  return [false, [from ?? least - pad, to ?? greatest + pad]];
}

function drawBar(svg, row, x, y) {
  const [from, to] = [x.at(0), x.at(row.value)];
  const settings = { x: Math.min(from, to), y: y - 8, width: Math.max(1, Math.abs(to - from)), height: 16 };
  add(svg, "rect", { class: "bar", ...settings, fill: row.colour ?? 0 });
}

function drawInterval(svg, row, x, y) {
  const colour = row.colour ?? 0, [low, high] = [x.within(row.low), x.within(row.high)];
  for (const run of row.runs ?? []) {
    const place = x.within(run);
    add(svg, "line", { class: "run", x1: place, x2: place, y1: y - 5, y2: y + 5, stroke: colour });
  }
  if (Number.isFinite(row.low) && Number.isFinite(row.high))
    add(svg, "line", { class: "whisker", x1: low, x2: high, y1: y, y2: y, stroke: colour });
  if (Number.isFinite(row.value))
    add(svg, "circle", { class: "dot", cx: x.within(row.value), cy: y, r: 5, "data-name": row.name, fill: colour });
  if (Number.isFinite(row.other))
    add(svg, "rect", { class: "other", x: x.within(row.other) - 4, y: y - 4, width: 8, height: 8 });
}

// A table in colours; numbers stand in the cells where there is room for them.
function drawHeat(svg, data, width) {
  const { rows, columns, values } = data, label = wrapped(axisLabel(data, data.log), width - 4);
  const { shade, ends } = shading(data), textOf = (row, place) => data.texts?.[row]?.[place] ?? said(data, values[row][place]);
  const wordsOf = (row, place) => data.says?.[row]?.[place] ?? textOf(row, place);
  const names = rows.map((name) => wrapped(name, 0.36 * width)), left = 8 + widest(names.flat());
  const step = (width - left - 2) / columns.length;
  const isUpright = columns.some((name) => widest(name.split(" ")) > step - 6);
  const heads = columns.map((name) => (isUpright ? [name] : wrapped(name, step - 6)));
  const headHeight = isUpright ? widest(columns) : LINE * Math.max(...heads.map((lines) => lines.length));
  const top = 12 + LINE * label.length + headHeight, heights = names.map((lines) => Math.max(26, 8 + 13 * lines.length));
  const bottom = top + heights.reduce((sum, each) => sum + each, 0), stops = [];

  drawLabelAbove(svg, label);
  heads.forEach((lines, column) => lines.forEach((line, place) => {
    const x = left + (column + 0.5) * step, y = top - 6 - 13 * (lines.length - 1 - place);
    const turned = { x: x + 4, y, transform: `rotate(-90 ${x + 4} ${y})` };
    add(svg, "text", isUpright ? turned : { x, y, "text-anchor": "middle" }, line);
  }));
  let y = top;
  rows.forEach((name, row) => {
    const height = heights[row], middle = y + height / 2;
    names[row].forEach((line, place, all) => {
      add(svg, "text", { class: "name", x: 0, y: middle + 4 + 13 * (place - (all.length - 1) / 2) }, line);
    });
    columns.forEach((column, place) => {
      const value = values[row][place], frame = { x: left + place * step, y, width: step, height }, text = textOf(row, place);
      const px = frame.x + step / 2;
      if (Number.isFinite(value)) {
        const { colour, strength } = shade(value);
        add(svg, "rect", { class: "cell", ...frame, fill: colour });
        const kind = strength > 0.58 ? "on-strong" : "on-weak";
        if (widthOf(text) < step - 4) add(svg, "text", { class: kind, x: px, y: middle + 4, "text-anchor": "middle" }, text);
      }
      stops.push({ px, py: middle, frame, text: () => `${name}, ${column}: ${wordsOf(row, place)}` });
    });
    y += height;
  });
  drawShades(svg, data, shade, ends, left, bottom, Math.min(220, width - 2 - left));
  const rowOf = (name, row) => [name, ...columns.map((_, place) => wordsOf(row, place))];
  const table = () => ({ heads: ["", ...columns], rows: rows.map(rowOf) });
  const box = { top, bottom, height: bottom + 34 };
  return { box, stops, across: columns.length, keys: "Arrow keys move from cell to cell.", table };
}

// A function from values to colours, with how strong they are from 0 to 1, and the ends of its scale: values, and in words
// that say whether some values lie beyond.
function shading(data) {
  const known = data.values.flat().filter((value) => Number.isFinite(value) && (!data.log || value > 0));
  const [least, greatest] = known.length ? range(known) : [1, 2];
  const low = data.from ?? least, high = Math.max(data.to ?? greatest, low + (greatest > low ? 0 : 1));
  const scale = new Scale(data, data.log, [low, high], [0, 1]), centre = data.middle === undefined ? 0 : scale.within(data.middle);
  const mix = (name, strength) => `color-mix(in oklab, var(${name}) ${Math.round(100 * strength)}%, var(--heat0))`;
  const shade = (value) => {
    const share = scale.within(value);
    if (data.middle === undefined) return { colour: mix("--heat1", share), strength: share };
    const isBelow = share < centre, strength = isBelow ? (centre - share) / centre : (share - centre) / (1 - centre || 1);
    return { colour: mix(isBelow ? "--heat1" : "--heat2", strength), strength };
  };
  const words = [`${least < low ? "\u2264 " : ""}${said(data, low)}`, `${greatest > high ? "\u2265 " : ""}${said(data, high)}`];
  return { shade, ends: { low, high, words } };
}

// What the colours mean.
function drawShades(svg, data, shade, { low, high, words }, left, bottom, width) {
  const scale = new Scale(data, data.log, [low, high], [0, 20]), step = width / 20;
  for (let place = 0; place < 20; place++) {
    const { colour } = shade(scale.value(place + 0.5));
    add(svg, "rect", { x: left + place * step, y: bottom + 8, width: step + 0.5, height: 9, fill: colour });
  }
  add(svg, "text", { x: left, y: bottom + 30 }, words[0]);
  add(svg, "text", { x: left + width, y: bottom + 30, "text-anchor": "end" }, words[1]);
}

// ------------------------------------------------------------------------------------------- cursor, zoom, legend

const charts = new Set();
const tools = { hidden: new Set(), view: 0, views: [], x: false, y: false }; // what is chosen for all charts of the page
const isChosen = (data, what) => Boolean(data.tools?.includes(what));

// Draws a chart, or draws it again with new data: focus, cursor, zoom and what is hidden stay as they are.
export function draw(host, data) {
  host.chart ??= new Chart(host);
  host.chart.data = data;
  host.chart.redraw();
}

class Chart {
  constructor(host) {
    this.from = this.to = this.at = null; // what is zoomed to, and the stop that keys have moved to
    this.hidden = new Set();
    this.pressed = null;
    this.plot = make("div", { class: "plot", tabindex: "0", role: "application", "aria-roledescription": "chart" });
    this.tip = make("p", { class: "tip", "aria-live": "polite" });
    this.legend = make("ul", { class: "legend" });
    this.rows = make("div");
    const summary = make("summary", {}, "The data as a table");
    this.details = make("details", { class: "data", ontoggle: () => this.fillTable() }, summary, this.rows);
    host.replaceChildren(this.plot, this.tip, this.legend, this.details);
    this.listen();
    charts.add(this);
  }

  listen() {
    const placeOf = (event) => {
      const box = this.plot.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    const on = (name, act) => this.plot.addEventListener(name, act);
    on("keydown", (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.altKey && this.press(event.key)) event.preventDefault();
    });
    on("pointermove", (event) => this.point(this.nearest(...placeOf(event))));
    on("pointerdown", (event) => { this.pressed = placeOf(event)[0]; });
    on("pointerup", (event) => {
      const ends = [this.pressed, placeOf(event)[0]].sort((a, b) => a - b), { x } = this.drawn;
      if (x && this.pressed !== null && ends[1] - ends[0] > 12) this.zoom(...ends.map((end) => x.value(end)));
      this.pressed = null;
    });
    on("pointerleave", () => {
      this.pressed = null;
      this.point(this.at);
    });
    on("dblclick", () => this.press("Escape"));
  }

  // Does what a key says; false if it says nothing here.
  press(key) {
    const { stops, across, x } = this.drawn, last = stops.length - 1;
    if (last < 0) return false;
    const steps = { ArrowLeft: -1, ArrowRight: 1, ...(across ? { ArrowUp: -across, ArrowDown: across } : {}) };
    if (key in steps) this.moveTo(this.at === null ? (across ? 0 : last) : this.at + steps[key]);
    else if (key === "Home" || key === "End") this.moveTo(key === "Home" ? 0 : last);
    else if ((key === "+" || key === "=" || key === "-") && x) {
      const half = ((x.last - x.first) / 2) * (key === "-" ? 2 : 0.5), centre = stops[this.at ?? last].px;
      this.zoom(x.value(centre - half), x.value(centre + half));
    } else if (key === "Escape" || key === "0") {
      this.from = this.to = this.at = null;
      this.redraw();
    } else return false;
    return true;
  }

  moveTo(place) {
    if (place >= 0 && place < this.drawn.stops.length) this.at = place;
    this.point(this.at);
  }

  // Shows x between two values, if there are two stops between them; all, if that is more than there is.
  zoom(from, to) {
    const [low, high] = this.drawn.whole, [first, last] = [Math.max(low, from), Math.min(high, to)];
    if (this.drawn.stops.filter((stop) => stop.x >= first && stop.x <= last).length < 2) return;
    [this.from, this.to] = first <= low && last >= high ? [null, null] : [first, last];
    this.redraw();
  }

  nearest(x, y) {
    const far = ({ px, py }) => Math.hypot(px === null ? 0 : px - x, py === null ? 0 : py - y);
    return leastPlace(this.drawn.stops.map(far));
  }

  // Puts the cursor at a stop and says what is there; at none, says what can be done.
  point(place) {
    const { cursor, stops, box } = this.drawn, stop = place === null ? null : stops[place];
    const words = stop ? stop.text() : this.data.hint ?? this.drawn.keys;
    if (this.tip.textContent !== words) this.tip.textContent = words; // or a screen reader would say it again
    cursor.replaceChildren();
    if (!stop) return;
    if (stop.py === null) add(cursor, "line", { x1: stop.px, x2: stop.px, y1: box.top, y2: box.bottom });
    for (const [cx, cy] of stop.rings ?? []) add(cursor, "circle", { cx, cy, r: 6 });
    if (stop.frame) add(cursor, "rect", stop.frame);
  }

  isHidden(name) {
    return this.hidden.has(name) || (isChosen(this.data, "names") && tools.hidden.has(name));
  }

  // The data as the tools of the page and the legend show them.
  shown() {
    const { data } = this, shown = { ...data, x: { ...data.x }, y: { ...data.y } }, isVisible = (each) => !this.isHidden(each.name);
    if (isChosen(data, "views")) {
      shown.series = data.series.map((each) => ({ ...each, ...each.views[tools.view] }));
      shown.y.label = `${data.y.label}: ${tools.views[tools.view]}`;
    }
    for (const axis of ["x", "y"]) if (isChosen(data, axis)) shown[axis].log ||= tools[axis];
    if (data.series) shown.series = shown.series.filter(isVisible);
    if (data.kind === "rows") shown.rows = data.rows.filter(isVisible);
    return shown;
  }

  redraw() {
    const data = this.shown(), before = this.at === null ? null : this.drawn.stops[this.at];
    const width = Math.max(250, this.plot.clientWidth), drawKind = { lines: drawLines, rows: drawRows, heat: drawHeat };
    this.plot.replaceChildren();
    const svg = add(this.plot, "svg", { width: "100%", preserveAspectRatio: "none", "aria-hidden": "true" });
    this.drawn = drawKind[data.kind ?? "lines"](svg, data, width, this);
    const { box, stops, keys } = this.drawn;
    svg.setAttribute("height", box.height);
    svg.setAttribute("viewBox", `0 0 ${width} ${box.height}`);
    this.drawn.cursor = add(svg, "g", { class: "cursor" });
    const axes = data.kind === "heat" ? [data] : [data.y, data.x];
    const words = [data.title, ...axes.map((axis) => axisLabel(axis, axis.log)), keys];
    this.plot.setAttribute("aria-label", words.filter(Boolean).join(". "));
    this.fillLegend();
    this.fillTable();
    if (before?.x !== undefined) this.at = leastPlace(stops.map((stop) => Math.abs(stop.x - before.x))); // the same x
    if (this.at !== null) this.at = stops.length ? Math.min(this.at, stops.length - 1) : null;
    this.point(this.at);
  }

  // Names that hide and show what they name, unless the tools of the page do.
  fillLegend() {
    const { series = [], notes = [] } = this.data, named = isChosen(this.data, "names") || series.length < 2 ? [] : series;
    const content = JSON.stringify([named.map((each) => [each.name, each.colour, this.hidden.has(each.name)]), notes]);
    if (this.legend.dataset.content === content) return; // so that focus stays
    this.legend.dataset.content = content;
    const focused = this.legend.contains(document.activeElement) ? document.activeElement.dataset.name : null;
    const flip = (name) => {
      if (!this.hidden.delete(name)) this.hidden.add(name);
      this.redraw();
    };
    const buttons = named.map((each) => nameButton(each, !this.hidden.has(each.name), () => flip(each.name)));
    const items = notes.map((note) => [sample({ ...note, shape: "area" }), note.name]);
    this.legend.replaceChildren(...[...buttons.map((button) => [button]), ...items].map((inner) => make("li", {}, ...inner)));
    buttons.find((button) => button.dataset.name === focused)?.focus();
  }

  fillTable() {
    const old = this.rows.firstChild;
    if (!this.details.open) this.rows.replaceChildren();
    else {
      const made = table(this.drawn.table(), `${this.data.title}: the data`), hadFocus = old === document.activeElement;
      this.rows.replaceChildren(made);
      [made.scrollTop, made.scrollLeft] = [old?.scrollTop ?? 0, old?.scrollLeft ?? 0];
      if (hadFocus) made.focus();
    }
  }
}

// The place of the least of some values; null if there are none.
function leastPlace(values) {
  return values.reduce((best, value, place) => (best === null || value < values[best] ? place : best), null);
}

// A short piece of how a series is drawn.
function sample({ colour = 0, dash, shape, strong }) {
  const ink = { fill: colour, stroke: colour };
  const svg = add(make("span"), "svg", { width: 24, height: 12, "aria-hidden": "true" });
  if (shape === "area") add(svg, "rect", { x: 6, width: 12, height: 12, ...ink });
  else if (shape !== "dots") add(svg, "line", { x2: 24, y1: 6, y2: 6, "stroke-width": 2.5, "stroke-dasharray": dash, ...ink });
  if (shape === "dots" || shape === "joined") add(svg, "circle", { cx: 12, cy: 6, r: strong ? 6 : 4, ...ink });
  return svg;
}

function nameButton(each, isPressed, onclick) {
  const settings = { type: "button", "aria-pressed": String(isPressed), "data-name": each.name, onclick };
  return make("button", settings, sample(each), each.name);
}

// The buttons of a page for all its charts: {names, views, x, y, hint}; x and y say what may be on a log scale.
function fillTools(host, data) {
  const redraw = () => { for (const chart of charts) if (chart.data.tools) chart.redraw(); };
  const flip = (button) => {
    const isPressed = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(isPressed));
    return isPressed;
  };
  const names = data.names.map((each) => {
    if (!each.shown) tools.hidden.add(each.name);
    return nameButton(each, each.shown, (event) => {
      if (flip(event.currentTarget)) tools.hidden.delete(each.name);
      else tools.hidden.add(each.name);
      redraw();
    });
  });
  tools.views = data.views;
  const showView = (place) => {
    tools.view = place;
    views.forEach((button, other) => button.setAttribute("aria-pressed", String(other === place)));
    redraw();
  };
  const settings = { type: "button", "aria-pressed": "false" };
  const views = data.views.map((name, place) => make("button", { ...settings, class: "view", onclick: () => showView(place) }, name));
  views[0].setAttribute("aria-pressed", "true");
  const logs = ["x", "y"].map((axis) => {
    const onclick = (event) => {
      tools[axis] = flip(event.currentTarget);
      redraw();
    };
    return make("button", { ...settings, "data-axis": axis, onclick }, `${data[axis]} on a log scale`);
  });
  const row = (name, buttons) => make("div", { class: name }, ...buttons);
  host.replaceChildren(row("names", names), make("p", { class: "tip" }, data.hint), row("views", [...views, ...logs]));
}

// ------------------------------------------------------------------------------------------------------- tables

// A table of names and numbers that scrolls within its own box, where it is too wide or too high.
export function table({ heads, rows }, label) {
  const head = make("thead", {}, make("tr", {}, ...heads.map((name) => make("th", { scope: "col" }, name))));
  const body = make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((cell) => make("td", {}, cell)))));
  const host = make("div", { class: "wide", "data-label": label }, make("table", { class: "numbers" }, head, body));
  watchWide(host);
  return host;
}

const wideness = new ResizeObserver((entries) => { for (const entry of entries) markWide(entry.target.closest(".wide")); });

// Lets the box of a table say that it scrolls, if it does, and be reached by keyboard then.
export function watchWide(host) {
  markWide(host); // an observer hears nothing of what is within closed details
  wideness.observe(host);
  wideness.observe(host.firstElementChild);
}

function markWide(host) {
  const scrolls = host.scrollWidth > host.clientWidth + 1, isHigh = host.scrollHeight > host.clientHeight + 1;
  host.classList.toggle("scrolls", scrolls);
  const label = host.dataset.label ?? "A table that scrolls";
  for (const [name, value] of Object.entries({ tabindex: "0", role: "group", "aria-label": label }))
    if (scrolls || isHigh) host.setAttribute(name, value);
    else host.removeAttribute(name);
}

// ------------------------------------------------------------------------------------------------------ the page

// Draws for the width that there is, once; drawing may change it, for a longer page may need a scroll bar.
let width = -1;
function fit() {
  if (document.body.clientWidth === width) return;
  width = document.body.clientWidth;
  for (const chart of charts) {
    if (chart.plot.isConnected) chart.redraw();
    else charts.delete(chart);
  }
  document.body.dataset.charts = width;
}

const held = (host) => JSON.parse(host.querySelector("script").textContent);
for (const host of document.querySelectorAll(".tools")) fillTools(host, held(host));
for (const host of document.querySelectorAll(".chart")) {
  const data = held(host);
  host.chart = new Chart(host);
  host.chart.data = data;
}
for (const host of document.querySelectorAll(".wide")) watchWide(host);
new ResizeObserver(fit).observe(document.body);
fit();
