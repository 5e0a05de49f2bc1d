// The picture of a plan: regret against how often it explores; drawing.js stands above it.
const front = JSON.parse(document.getElementById("front-data").textContent), host = document.getElementById("front");
const xs = front.dots.map((dot) => dot.x), said = (dot) => `${dot.name}: ${number(dot.x)} explorations, regret ${number(dot.mid)} (${number(dot.low)} to ${number(dot.high)})`;

function drawFront() {
  chart(host, {
    title: front.title, height: 360, axisName: front.axisName, logX: true, logY: true, points: xs, dots: front.dots, limits: front.limits,
    lines: [{ name: "the best of each number of explorations", y: front.dots.map((dot) => (dot.level ? dot.mid : NaN)), style: "soft-line" }],
    tip: (place) => said(front.dots[place]), hint: "Point at a mark, or use the arrow keys: each is a candidate, with the interval of its regret.",
    legend: [{ fill: "fill-menu", name: "on the menu" }, { fill: "fill-best", name: "recommended" }, { fill: "fill-level", name: "the best of each number of explorations" }],
  });
}
let drawnFor = -1;
new ResizeObserver(() => {
  if (document.body.clientWidth === drawnFor) return;
  drawnFor = document.body.clientWidth;
  drawFront();
  document.body.dataset.drawn = drawnFor;
}).observe(document.body);
