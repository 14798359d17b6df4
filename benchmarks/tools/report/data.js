// What the page holds, made ready for drawing, and how it is written. Times are nanoseconds.

const report = JSON.parse(document.getElementById("data").textContent);

// Okabe and Ito's colours, which most people can tell apart, by the sorted names of types, so that
// the same types have the same colours in every run; darker ones follow where these do not suffice.
const typeNames = [...new Set(report.traces.flatMap(trace => trace.types))].sort();
const okabeIto = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442",
  "#999999"];
const typeColours = new Map(typeNames.map((name, k) => {
  const base = d3.color(okabeIto[k % 8]);
  return [name, k < 8 ? okabeIto[k] : base.darker(0.9 * Math.floor(k / 8)).hex()];
}));

// What the page's style has for a light or a dark screen.
const style = getComputedStyle(document.documentElement);
const tones = Object.fromEntries(["ink", "soft", "strong", "paper", "edge", "row", "lane"].map(
  name => [name, style.getPropertyValue(`--${name}`).trim()]));

// Paul Tol's muted colours for what workers do.
const doing = [
  {name: "executing", colour: "#4477aa"},
  {name: "stopped attempts", colour: "#cc6677"},
  {name: "program elsewhere", colour: "#332288"},
  {name: "memory", colour: "#882255"},
  {name: "transfer", colour: "#44aa99"},
  {name: "scheduler", colour: "#ddcc77"},
  {name: "no ready task", colour: "#b4b9c0"},
  {name: "end of graph", colour: "#e4e7eb"}
];
// What a rank without a ready task waits for.
const rankWaits = [
  {name: "own tasks", colour: "#b4b9c0"},
  {name: "other ranks", colour: "#cc6677"},
  {name: "messages", colour: "#117733"}
];
const transferColours = {in: "#44aa99", out: "#999933"};
const outcomes = ["done", "failed", "cancelled", "unfinished"];

const digits = (value, count) => Number(value.toPrecision(count)).toString();

/// Of what size the unit for a time is, by one that is large among those shown together.
function unitOf(ns) {
  for (const [size, name] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]]) {
    if (Math.abs(ns) >= size) {
      return {size, name};
    }
  }
  return {size: 1, name: "ns"};
}

function timeText(ns, count = 4) {
  const unit = unitOf(ns);
  return `${digits(ns / unit.size, count)} ${unit.name}`;
}

function bytesText(bytes, count = 3) {
  for (const [size, name] of [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]) {
    if (bytes >= size) {
      return `${digits(bytes / size, count)} ${name}`;
    }
  }
  return `${bytes} B`;
}

const countText = d3.format(",");
const percentText = share => `${(100 * share).toFixed(1)} %`;

const classNames = ["CPU", "GPU"];

/// Of a class of worker; what was emulated says so.
function className(trace, its) {
  const emulated = trace.workers.some(worker => worker.class === its && worker.name.startsWith("emulated"));
  return (emulated ? "emulated " : "") + (classNames[its] || `class ${its}`);
}

/// The columns of `table` as arrays of numbers, and how many rows there are.
function columnsOf(table) {
  const columns = {};
  let rows = 0;
  for (const [name, values] of Object.entries(table)) {
    columns[name] = Float64Array.from(values);
    rows = values.length;
  }
  columns.rows = rows;
  return columns;
}

function prepare(trace) {
  trace.tasks = columnsOf(trace.tasks);
  trace.attempts = columnsOf(trace.attempts);
  trace.parts = columnsOf(trace.parts);
  trace.transfers = columnsOf(trace.transfers);
  trace.idlePieces = columnsOf(trace.idle_pieces);
  trace.onPath = new Uint8Array(trace.tasks.rows);
  for (const place of trace.path.task) {
    trace.onPath[place] = 1;
  }
  trace.bestBound = d3.max(trace.bounds, bound => bound[1]);
  trace.efficiency = trace.bestBound && trace.makespan ? trace.bestBound / trace.makespan : null;
  trace.classes = [...new Set(trace.workers.map(worker => worker.class))].sort((a, b) => a - b);
  // What all workers, and those of each class, did: times as in `doing`.
  const sum = rows => doing.map((_, k) => d3.sum(rows, row => row[k]));
  trace.allTimes = sum(trace.workers_time);
  trace.classTimes = trace.classes.map(its =>
    sum(trace.workers_time.filter((_, w) => trace.workers[w].class === its)));
}

report.traces.forEach(prepare);

/// The name of the task at a place of the trace's columns: its label, else its type and number.
function taskName(trace, k) {
  const label = trace.labels[trace.tasks.label[k]];
  return label || `${trace.types[trace.tasks.type[k]]} #${trace.tasks.number[k]}`;
}

/// An element with text or children, and attributes.
function element(name, attributes = {}, ...children) {
  const its = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    its.setAttribute(key, value);
  }
  its.append(...children);
  return its;
}

/// A table of numbers: rows are arrays of texts, or of {text, attributes}.
function numbersTable(head, rows, textColumns = 1) {
  const cell = (name, its, k) => {
    const node = element(name, its.attributes || {}, its.text === undefined ? String(its) : its.text);
    if (k < textColumns) {
      node.classList.add("text");
    }
    return node;
  };
  return element("table", {class: "numbers"},
    element("thead", {}, element("tr", {}, ...head.map((its, k) => cell("th", its, k)))),
    element("tbody", {}, ...rows.map(row =>
      element("tr", {}, ...row.map((its, k) => cell("td", its, k))))));
}

const timeCell = (ns, attributes = {}) => ({
  text: ns === null || ns === undefined ? "–" : timeText(ns),
  attributes: {"data-ns": ns, title: `${countText(ns)} ns`, ...attributes}
});
