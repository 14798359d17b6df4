// The page: one run at a time, and what can be done with it.

const byId = id => document.getElementById(id);
const tip = byId("tip");
let gantt = null;

function hideTip() {
  tip.hidden = true;
}

function showTip(content, event) {
  tip.replaceChildren(...content);
  tip.hidden = false;
  const left = event.clientX + 16;
  const above = event.clientY + tip.offsetHeight + 24 > window.innerHeight;
  tip.style.left = `${Math.min(left, window.innerWidth - tip.offsetWidth - 10)}px`;
  tip.style.top = `${Math.max(above ? event.clientY - tip.offsetHeight - 12 : event.clientY + 16, 4)}px`;
}

const tipTable = rows => element("table", {}, ...rows.map(([name, text]) =>
  element("tr", {}, element("td", {}, name), element("td", {}, text))));

/// What is known of a task, a part or an attempt of one, or a transfer.
function describe(trace, row, item) {
  if (item.kind === "transfer") {
    const its = trace.transfers;
    const k = item.place;
    const name = node => trace.nodes[node] ? trace.nodes[node].name : `node ${node}`;
    return [element("b", {}, `${name(its.from[k])} → ${name(its.to[k])}`), tipTable([
      ["datum", its.datum[k]], ["size", bytesText(its.bytes[k])],
      ["begin", timeText(its.begin[k], 6)], ["took", timeText(its.length[k])]])];
  }
  if (item.kind === "attempt" || item.kind === "part") {
    const its = item.kind === "part" ? trace.parts : trace.attempts;
    const what = item.kind === "part" ? "until it left to wait: task" : "stopped attempt at task";
    const k = item.place;
    return [element("b", {}, `${what} ${its.task[k]}`), tipTable([
      ["worker", row.name], ["begin", timeText(its.begin[k], 6)], ["took", timeText(its.length[k])]])];
  }
  const its = trace.tasks;
  const k = item.place;
  const moment = name => its[name][k] < 0 ? "–" : timeText(its.begin[k] - its[name][k], 6);
  const rows = [["type", trace.types[its.type[k]]], ["number", its.number[k]], ["worker", row.name]];
  if (its.priority[k] !== 0) {
    rows.push(["priority", its.priority[k]]);
  }
  if (its.outcome[k] !== 0) {
    rows.push(["outcome", outcomes[its.outcome[k]]]);
  }
  rows.push(["ready", moment("ready")], ["taken", moment("taken")],
    ["begin", timeText(its.begin[k], 6)], ["end", timeText(its.begin[k] + its.length[k], 6)],
    ["took", timeText(its.length[k])]);
  // How long it waited, and for what: from ready to taken, to admitted, to its begin.
  const wait = (from, to) => Math.max(from, 0) - Math.max(to, 0);
  if (its.ready[k] >= 0 && its.taken[k] >= 0) {
    const admitted = its.admitted[k] < 0 ? its.taken[k] : its.admitted[k];
    rows.push(["waited for a worker", timeText(Math.max(wait(its.ready[k], its.taken[k]), 0))]);
    const held = Math.min(its.taken[k], its.ready[k]);
    const waited = [["memory", wait(held, Math.min(held, admitted))],
      ["data or launch", Math.min(held, admitted)]];
    rows.push(...waited.filter(w => w[1] > 0).map(w => [`waited for ${w[0]}`, timeText(w[1])]));
  }
  if (trace.onPath[k]) {
    const step = trace.path.task.indexOf(k);
    const what = ["nothing", "a dependency", "its worker", "its spawn", "the program to spawn it"][trace.path.waited[step]];
    rows.push(["critical path", `last waited for ${what}`]);
  }
  return [element("b", {}, taskName(trace, k)), tipTable(rows)];
}

function describeIdle(row, idle) {
  return [element("b", {}, `idle: ${doing[2 + idle.cause].name}`), tipTable([
    ["worker", row.name], ["begin", timeText(idle.begin, 6)],
    ["took", timeText(idle.end - idle.begin)]])];
}

function showSummary(trace) {
  const kind = trace.simulated ? "virtual time" : "threads";
  byId("run-name").textContent = `${trace.name} – ${kind}`;
  const warnings = [];
  if (trace.dropped > 0) {
    warnings.push(`${countText(trace.dropped)} events were not recorded for want of memory: what ` +
      "is shown is not all that happened.");
  }
  for (const [what, count] of Object.entries(trace.counts)) {
    if (["failed", "cancelled", "unfinished"].includes(what) && count > 0) {
      warnings.push(`${countText(count)} of ${countText(trace.counts.tasks)} tasks ${what}.`);
    }
  }
  byId("warnings").replaceChildren(...warnings.map(text => element("p", {class: "warning"}, text)));
  byId("verdict").textContent = trace.verdict.text;
  byId("verdict").dataset.why = trace.verdict.why;
  byId("verdict").hidden = trace.verdict.text === "";
  const figure = (id, name, text, attributes = {}) => element("div",
    {class: `figure ${id === "makespan" || id === "efficiency" ? "main" : ""}`},
    element("div", {class: "value", id, ...attributes}, text), element("div", {class: "name"}, name));
  const exact = ns => ({"data-ns": ns, title: `${countText(ns)} ns`});
  const all = d3.sum(trace.allTimes);
  const idle = d3.sum(trace.allTimes.slice(2));
  byId("figures").replaceChildren(
    figure("makespan", "makespan", timeText(trace.makespan), exact(trace.makespan)),
    figure("efficiency", "efficiency: bound / makespan",
      trace.efficiency === null ? "–" : percentText(trace.efficiency),
      {"data-value": trace.efficiency}),
    ...trace.bounds.map(([name, ns]) => figure(`bound-${name}`, `${name} bound`, timeText(ns), exact(ns))),
    figure("tasks", "tasks", countText(trace.counts.tasks), {"data-value": trace.counts.tasks}),
    figure("idle-time", "of the workers' time idle", percentText(all ? idle / all : 0), exact(idle)));
  const facts = [["trace", trace.file], ["scheduler", trace.scheduler || "–"],
    ...trace.about,
    ["workers", trace.classes.map(its => `${trace.workers.filter(w => w.class === its).length} ` +
      className(trace, its)).join(", ")],
    ["memories", trace.nodes.map(node => node.name).join(", ")]];
  const counted = ["edges", "messages", "transfers", "evictions", "steals", "attempts", "parts"]
    .filter(what => trace.counts[what] > 0).map(what => `${countText(trace.counts[what])} ${what}`);
  if (counted.length > 0) {
    facts.push(["recorded", counted.join(", ")]);
  }
  if (!trace.bounds_known) {
    facts.push(["bounds", trace.bounds.length > 0
      ? "from the times that types are expected to take, or else took on average in this run"
      : "none: some type has no time on a class of worker that may run it"]);
  }
  byId("facts").replaceChildren(...facts.flatMap(([name, text]) =>
    [element("dt", {}, name), element("dd", {}, text)]));
}

function showGantt(trace) {
  const used = [...new Set(trace.types)].sort();
  const entries = used.map(name => ({name, colour: typeColours.get(name)}));
  if (trace.attempts.rows > 0) {
    entries.push({name: "stopped attempt", kind: "attempt"});
  }
  if (trace.counts.transfers > 0) {
    entries.push({name: "transfer in", colour: transferColours.in},
      {name: "transfer out", colour: transferColours.out});
  }
  const idleKnown = trace.idlePieces.rows > 0;
  byId("show-idle-label").hidden = !idleKnown;
  const legend = () => fillLegend(byId("legend"), byId("show-idle").checked && idleKnown
    ? [...entries, ...doing.slice(2).map(its => ({...its, name: `idle: ${its.name}`}))] : entries);
  gantt = new Gantt(byId("gantt"), trace, {end: trace.makespan, most: 620});
  const update = () => {
    gantt.showPath = byId("show-path").checked;
    gantt.showIdle = byId("show-idle").checked;
    legend();
    gantt.draw();
  };
  byId("show-path").onchange = update;
  byId("show-idle").onchange = update;
  byId("whole").onclick = () => gantt.showWhole();
  byId("gantt-note").textContent = trace.whole ? "" :
    `Of ${countText(trace.counts.tasks)} tasks the ${countText(trace.tasks.rows)} longest, of all and ` +
    "of the critical path, are drawn one by one where there is room; the others as the share of " +
    "time that they took in each interval.";
  update();
}

/// Highlights what the text names and shows it: a number, a part of a label, a type.
function search(text) {
  const trace = gantt.trace;
  text = text.trim().toLowerCase();
  gantt.matches = null;
  byId("found").textContent = "";
  if (text !== "") {
    const tasks = trace.tasks;
    const number = /^#?\d+$/.test(text) ? Number(text.replace("#", "")) : null;
    const labels = trace.labels.map(label => label.toLowerCase().includes(text));
    const types = trace.types.map(type => type.toLowerCase() === text);
    const found = [];
    for (let k = 0; k < tasks.rows; ++k) {
      if (number !== null ? tasks.number[k] === number
        : labels[tasks.label[k]] || types[tasks.type[k]]) {
        found.push(k);
      }
    }
    byId("found").textContent = found.length === 1 ? taskName(trace, found[0])
      : `${countText(found.length)} tasks${trace.whole ? "" : " of those kept in this page"}`;
    gantt.matches = new Set(found);
    if (found.length > 0) {
      const begin = d3.min(found, k => tasks.begin[k]);
      const end = d3.max(found, k => tasks.begin[k] + tasks.length[k]);
      const room = found.length === 1 ? 4 * (end - begin) : 0.05 * (end - begin);
      gantt.show(Math.max(begin - room, 0), Math.min(end + room, gantt.end));
      return;
    }
  }
  gantt.draw();
}

function showPathSums(trace) {
  const path = trace.path;
  byId("path-section").hidden = path.length === 0;
  const waits = [["the program: until it spawned the next", "program"],
    ["between tasks: until the next was taken", "taken"],
    ["for memory", "memory"], ["for data or launches", "data"]]
    .map(([name, what]) => [name, path.waiting[what]]).filter(its => its[1] > 0);
  byId("path").replaceChildren(element("div", {class: "scroll"}, numbersTable(
    ["of the makespan", "time", "share"],
    [[`executing ${countText(path.length)} tasks`, timeCell(path.executing, {id: "path-executing"}),
      percentText(path.executing / (trace.makespan || 1))],
    ...waits.map(([name, ns]) => [name, timeCell(ns),
      percentText(ns / (trace.makespan || 1))])])));
}

function showIdle(trace) {
  fillLegend(byId("idle-legend"), doing);
  const bars = trace.workers.length <= 64
    ? trace.workers.map((worker, w) => ({name: worker.name, times: trace.workers_time[w]}))
    : trace.classes.map((its, k) => ({name: `all ${className(trace, its)}`, times: trace.classTimes[k]}));
  byId("idle").replaceChildren();
  stackedBars(byId("idle"), bars);
  const row = (name, times, worker) => [name, ...times.map((ns, k) =>
    timeCell(ns, {"data-worker": worker, "data-what": doing[k].name})),
    percentText(d3.sum(times.slice(2)) / (d3.sum(times) || 1))];
  byId("idle-table").replaceChildren(element("div", {class: "scroll"}, numbersTable(
    ["worker", ...doing.map(its => its.name), "idle"],
    [...trace.workers.slice(0, 1000).map((worker, w) => row(worker.name, trace.workers_time[w], w)),
      ...trace.classes.map((its, k) => row(`all ${className(trace, its)}`, trace.classTimes[k],
        `class ${its}`)),
      row("all", trace.allTimes, "all")])));
}

function showRanks(trace) {
  byId("ranks-section").hidden = trace.ranks.length === 0;
  byId("ranks").replaceChildren();
  if (trace.ranks.length === 0) {
    return;
  }
  const [chain, messages] = trace.chain;
  byId("ranks-note").textContent = "The longest chain of tasks and messages takes " +
    `${timeText(chain)}, of which ${timeText(messages)} for messages: ` +
    `${percentText(chain / (trace.makespan || 1))} of the run.`;
  // "No ready task" in three parts, in place of one.
  const idle = doing.findIndex(its => its.name === "no ready task");
  const parts = [...doing.slice(0, idle), ...rankWaits, ...doing.slice(idle + 1)];
  const rows = trace.ranks.map((rank, r) => ({name: `rank ${r}`, others: rank.others,
    times: [...rank.times.slice(0, idle), rank.own, rank.work, rank.network,
      ...rank.times.slice(idle + 1)]}));
  fillLegend(byId("ranks-legend"), parts);
  if (rows.length <= 64) {
    stackedBars(byId("ranks"), rows, parts);
  }
  const longest = its => its.slice(0, 3).filter(other => other.work + other.network > 0).map(other =>
    `rank ${other.rank} ${timeText(other.work + other.network, 3)}` +
    `${other.type ? ` (${other.type})` : ""}`).join(", ");
  byId("ranks-table").replaceChildren(element("div", {class: "scroll"}, numbersTable(
    ["rank", "waited longest for", ...parts.map(its => its.name)],
    rows.map(row => [row.name, longest(row.others), ...row.times.map((ns, k) =>
      timeCell(ns, {"data-rank": row.name, "data-what": parts[k].name}))]), 2)));
}

function showTimes(trace) {
  byId("times-section").hidden = trace.times.length === 0;
  byId("times").replaceChildren();
  if (trace.times.length > 0) {
    timesChart(byId("times"), trace);
  }
  const cells = ["min", "q1", "median", "q3", "max", "mean"];
  byId("times-table").replaceChildren(element("div", {class: "scroll"}, numbersTable(
    ["type", "on", "tasks", "least", "quartile", "median", "quartile", "most", "mean"],
    trace.times.map(t => [trace.types[t.type], className(trace, t.class), countText(t.count),
      ...cells.map(name => timeCell(t[name], {"data-what":
        `${trace.types[t.type]} ${t.class} ${name}`}))]), 2)));
  byId("labels-section").hidden = trace.label_times.length === 0;
  const left = trace.label_count - trace.label_times.length;
  byId("labels-table").replaceChildren(element("div", {class: "scroll"}, numbersTable(
    ["label", "type", "on", "tasks", "in all", "mean"],
    trace.label_times.map(t => [t.label, trace.types[t.type], className(trace, t.class),
      countText(t.count), timeCell(t.sum, {"data-label": `${t.label} ${t.class}`}),
      timeCell(t.sum / t.count)]), 3)),
  ...(left > 0 ? [element("p", {class: "note"}, `${countText(left)} more with less time`)] : []));
  const factors = trace.accelerations.filter(its => its.factor !== null);
  byId("accelerations").replaceChildren(...(factors.length === 0 ? [] : [
    element("h3", {}, "Equivalent acceleration factor of what each class ran"),
    numbersTable(["class", "factor", "tasks compared", "of"], factors.map(its =>
      [className(trace, its.class), {text: its.factor.toFixed(2), attributes: {"data-value": its.factor}},
        countText(its.compared), countText(its.tasks)]))]));
}

function showData(trace) {
  byId("data-section").hidden = trace.bytes.length === 0;
  byId("bytes").replaceChildren();
  byId("hits").replaceChildren();
  if (trace.bytes.length > 0) {
    bytesChart(byId("bytes"), trace);
  }
  if (trace.hits.length > 0) {
    hitsChart(byId("hits"), trace);
  }
}

function choose(k) {
  const trace = report.traces[k];
  byId("search").value = "";
  byId("found").textContent = "";
  hideTip();
  showSummary(trace);
  showGantt(trace);
  showPathSums(trace);
  showIdle(trace);
  showRanks(trace);
  byId("ready").replaceChildren();
  readyChart(byId("ready"), trace);
  showTimes(trace);
  showData(trace);
  markChosen(k);
}

const platforms = [...new Set(report.traces.flatMap(trace =>
  trace.about.filter(its => its[0] === "platform").map(its => its[1])))];
byId("subtitle").textContent = [report.traces.length === 1 ? report.traces[0].name
  : `${report.traces.length} runs`, ...platforms].join(" on ");
document.title = `hetsched: ${byId("subtitle").textContent}`;
compareRuns(choose);
choose(0);
byId("search").addEventListener("input", event => search(event.target.value));
window.addEventListener("resize", () => gantt.resize());

/// For scripts: where a task of the run that is shown is on the screen, and other runs.
window.hetschedReport = {
  choose,
  runs: report.traces.map(trace => trace.name),
  whereIs(number) {
    const place = gantt.trace.tasks.number.indexOf(number);
    if (place < 0) {
      return null;
    }
    const its = gantt.placeOf(place);
    const box = gantt.canvas.getBoundingClientRect();
    return {x: box.left + its.x + its.width / 2, y: box.top + its.y + its.height / 2};
  }
};
