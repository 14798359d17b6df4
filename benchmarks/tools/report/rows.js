// The rows of a Gantt chart: a worker each, transfers into and out of a device's node below its
// workers.

/// Gives each execution of a worker a lane, so that those that overlap are not drawn over each
/// other: the lowest that is free. `items`: {begin, end}, by begin. Returns the number of lanes.
function assignLanes(items) {
  const most = 6;
  const free = [];
  for (const item of items) {
    let lane = free.findIndex(end => end <= item.begin);
    if (lane < 0) {
      lane = free.length < most ? free.length : free.indexOf(Math.min(...free));
    }
    free[lane] = Math.max(item.end, free[lane] || 0);
    item.lane = lane;
  }
  return Math.max(1, free.length);
}

/// What is drawn in each row, sorted by begin. Kinds of items: task, part and attempt (`place`: in
/// the trace's columns), transfer.
function rowsOf(trace) {
  const workers = trace.workers.map((worker, w) => ({
    kind: "worker", name: worker.name, worker: w, node: worker.node, items: [], idle: []
  }));
  const tasks = trace.tasks;
  for (let k = 0; k < tasks.rows; ++k) {
    workers[tasks.worker[k]].items.push(
      {kind: "task", place: k, begin: tasks.begin[k], end: tasks.begin[k] + tasks.length[k]});
  }
  for (const [kind, its] of [["part", trace.parts], ["attempt", trace.attempts]]) {
    for (let k = 0; k < its.rows; ++k) {
      workers[its.worker[k]].items.push(
        {kind, place: k, begin: its.begin[k], end: its.begin[k] + its.length[k]});
    }
  }
  const pieces = trace.idlePieces;
  for (let k = 0; k < pieces.rows; ++k) {
    workers[pieces.worker[k]].idle.push(
      {begin: pieces.begin[k], end: pieces.begin[k] + pieces.length[k], cause: pieces.cause[k]});
  }
  const moving = new Map();
  const rowFor = (node, into) => {
    const key = `${node} ${into}`;
    if (!moving.has(key)) {
      moving.set(key, {kind: "transfer", name: into ? "in" : "out", node, into, items: []});
    }
    return moving.get(key);
  };
  const transfers = trace.transfers;
  for (let k = 0; k < transfers.rows; ++k) {
    const item = {kind: "transfer", place: k, begin: transfers.begin[k],
      end: transfers.begin[k] + transfers.length[k]};
    if (transfers.to[k] !== 0 || trace.ranks.length > 0) {
      rowFor(transfers.to[k], true).items.push({...item});
    }
    if (transfers.from[k] !== 0 || trace.ranks.length > 0) {
      rowFor(transfers.from[k], false).items.push({...item});
    }
  }
  const transferBins = trace.transfer_bins;
  for (const row of transferBins ? transferBins.rows : []) {
    rowFor(row.node, row.in).bins = {count: transferBins.count, time: row.time};
  }
  if (trace.busy_bins) {
    trace.busy_bins.workers.forEach((triples, w) => {
      workers[w].bins = {count: trace.busy_bins.count, triples};
    });
  }
  for (const row of [...workers, ...moving.values()]) {
    row.items.sort((a, b) => a.begin - b.begin);
    row.lanes = assignLanes(row.items);
    if (row.bins) { // over which the items are drawn
      row.lanes = 1;
      row.items.forEach(item => { item.lane = 0; });
    }
    row.longest = d3.max(row.items, item => item.end - item.begin) || 0;
  }
  const rows = [];
  const nodes = new Set();
  workers.forEach((row, w) => {
    rows.push(row);
    const more = workers.slice(w + 1).some(other => other.node === row.node);
    if ((row.node !== 0 || trace.ranks.length > 0) && !more && !nodes.has(row.node)) {
      nodes.add(row.node);
      for (const into of [true, false]) {
        const transfersRow = moving.get(`${row.node} ${into}`);
        if (transfersRow) {
          rows.push(transfersRow);
        }
      }
    }
  });
  return rows;
}

/// The first item of a row that may reach the moment: items before it ended earlier.
function firstReaching(row, moment) {
  return d3.bisector(item => item.begin).left(row.items, moment - row.longest);
}

/// A row's bins, so many of them together that one is some `least` pixels wide.
function binsFor(row, pixels, least = 1) {
  let together = 1;
  while (together < row.bins.count && pixels * together < least) {
    together *= 2;
  }
  row.coarser = row.coarser || new Map();
  if (!row.coarser.has(together)) {
    const sums = new Map();
    const add = (bin, type, time) => {
      const key = Math.floor(bin / together) * 65536 + type;
      sums.set(key, (sums.get(key) || 0) + time);
    };
    if (row.bins.time) {
      row.bins.time.forEach((time, k) => add(k, 0, time));
    } else {
      for (let k = 0; k < row.bins.triples.length; k += 3) {
        add(row.bins.triples[k], row.bins.triples[k + 1], row.bins.triples[k + 2]);
      }
    }
    const keys = [...sums.keys()].sort((a, b) => a - b);
    row.coarser.set(together, keys.map(key =>
      ({bin: Math.floor(key / 65536), type: key % 65536, time: sums.get(key)})));
  }
  return {together, cells: row.coarser.get(together)};
}

/// Where rows lie: heights by how many there are.
function layOut(rows, top, most) {
  const weight = row => (row.kind === "worker" ? 1 : 0.5);
  const height = Math.min(22, Math.max(2, most / d3.sum(rows, weight)));
  let y = top;
  for (const row of rows) {
    row.y = y;
    row.height = height * weight(row);
    y += row.height + (height > 8 ? (row.kind === "worker" ? 3 : 1) : 0);
  }
  return y;
}
