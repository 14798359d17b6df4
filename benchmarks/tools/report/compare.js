// Several runs side by side.

function onChoice(node, act) {
  node.tabIndex = 0;
  node.addEventListener("click", act);
  node.addEventListener("keydown", event => {
    if (event.key === "Enter") {
      act();
    }
  });
}

/// By what a column shows, what has no number last; downwards if it was upwards before.
function sortRows(table, column) {
  const cells = table.tHead.rows[0].cells;
  const falling = cells[column].getAttribute("aria-sort") === "ascending";
  [...cells].forEach(cell => cell.removeAttribute("aria-sort"));
  cells[column].setAttribute("aria-sort", falling ? "descending" : "ascending");
  const shown = row => {
    const cell = row.cells[column];
    const percent = cell.textContent.endsWith("%");
    return column === 0 ? cell.textContent
      : parseFloat(percent || cell.dataset.ns === undefined ? cell.textContent : cell.dataset.ns);
  };
  const order = falling ? d3.descending : d3.ascending;
  const rows = [...table.tBodies[0].rows];
  const known = row => column === 0 || !Number.isNaN(shown(row));
  table.tBodies[0].append(
    ...rows.filter(known).sort((a, b) => order(shown(a), shown(b))),
    ...rows.filter(row => !known(row)));
}

function compareRuns(choose) {
  const traces = report.traces;
  document.getElementById("compare").hidden = traces.length < 2;
  if (traces.length < 2) {
    return;
  }
  const bounds = [...new Set(traces.flatMap(trace => trace.bounds.map(bound => bound[0])))];
  const head = ["run", "makespan", ...bounds.map(name => `${name} bound`),
    "makespan / bound", "executing", "idle", ...doing.slice(1).map(its => its.name)];
  const rows = traces.map(trace => {
    const times = trace.allTimes;
    const all = d3.sum(times) || 1;
    const known = new Map(trace.bounds);
    const share = k => ({text: percentText(times[k] / all),
      attributes: {"data-ns": times[k], title: timeText(times[k])}});
    const idle = d3.sum(times.slice(2));
    return [trace.name, timeCell(trace.makespan), ...bounds.map(name => timeCell(known.get(name))),
      trace.efficiency ? (1 / trace.efficiency).toFixed(3) : "–", share(0),
      {text: percentText(idle / all), attributes: {"data-ns": idle, title: timeText(idle)}},
      ...doing.slice(1).map((_, k) => share(k + 1))];
  });
  const table = numbersTable(head, rows);
  table.classList.add("choose");
  [...table.tBodies[0].rows].forEach((row, k) => {
    row.dataset.run = k;
    onChoice(row, () => choose(k));
  });
  [...table.tHead.rows[0].cells].forEach((cell, k) => onChoice(cell, () => sortRows(table, k)));
  document.getElementById("compare-table").replaceChildren(element("div", {class: "scroll"}, table));
  const end = d3.max(traces, trace => trace.makespan);
  const place = document.getElementById("compare-gantts");
  const gantts = traces.map((trace, k) => {
    const box = element("div");
    place.append(element("h4", {}, `${trace.name} – ${timeText(trace.makespan)}`), box);
    return new Gantt(box, trace,
      {end, most: Math.max(60, Math.min(150, 1000 / traces.length)), fixed: true,
        axis: k === traces.length - 1});
  });
  window.addEventListener("resize", () => gantts.forEach(gantt => gantt.resize()));
  const idlePlace = document.getElementById("compare-idle");
  fillLegend(idlePlace.appendChild(element("div", {class: "legend"})), doing);
  stackedBars(idlePlace, traces.map(trace => ({name: trace.name, times: trace.allTimes})));
}

function markChosen(k) {
  document.querySelectorAll("#compare-table tbody tr").forEach(row =>
    row.classList.toggle("chosen", Number(row.dataset.run) === k));
}
