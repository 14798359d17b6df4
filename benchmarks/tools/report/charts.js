// Charts other than schedules, in SVG.

/// A chart with room for axes: the place to draw in, its width and height.
function chart(place, height, margin = {}) {
  const m = {left: 118, right: 10, top: 14, bottom: 40, ...margin};
  const chartWidth = Math.max(place.clientWidth, 700);
  const svg = d3.select(place).append("svg").attr("class", "chart")
    .attr("width", chartWidth).attr("height", height)
    .attr("viewBox", `0 0 ${chartWidth} ${height}`);
  return {
    svg, m, width: chartWidth - m.left - m.right, height: height - m.top - m.bottom,
    inner: svg.append("g").attr("transform", `translate(${m.left},${m.top})`)
  };
}

function nameAxis(its, text) {
  its.inner.append("text").attr("class", "axis-name").attr("x", its.width).attr("y", its.height + 34)
    .attr("text-anchor", "end").text(text);
}

/// An axis of times along the bottom, with the unit in each label.
function timeAxis(its, scale, grid = false) {
  const ticks = scale.ticks(8);
  const unit = unitOf(d3.max(scale.domain()));
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : unit.size;
  const format = d3.format(`,.${d3.precisionFixed(step / unit.size)}f`);
  const at = its.inner.append("g").attr("transform", `translate(0,${its.height})`);
  if (grid) {
    at.clone().attr("class", "grid").call(d3.axisBottom(scale).tickValues(ticks)
      .tickSize(-its.height).tickFormat(""));
  }
  at.attr("class", "axis").call(d3.axisBottom(scale).tickValues(ticks).tickSizeOuter(0)
    .tickFormat(t => `${format(t / unit.size)} ${unit.name}`));
}

function valueAxis(its, scale, format, count = 5) {
  const axis = d3.axisLeft(scale).ticks(count);
  its.inner.insert("g", ":first-child").attr("class", "grid")
    .call(d3.axisLeft(scale).ticks(count).tickSize(-its.width).tickFormat(""));
  its.inner.append("g").attr("class", "axis").call(format ? axis.tickFormat(format) : axis);
}

function fillLegend(place, entries) {
  place.replaceChildren(...entries.map(({name, colour, kind}) => element("span", {},
    element("i", kind ? {class: kind} : {style: `background:${colour}`}), name)));
}

/// Stacked bars of what workers did: one bar for each of `bars`, {name, times}.
function stackedBars(place, bars, parts = doing) {
  const row = bars.length > 40 ? 12 : 20;
  const left = Math.min(270, Math.max(118, 16 + 7 * d3.max(bars, bar => bar.name.length)));
  const its = chart(place, bars.length * row + 44, {bottom: 28, top: 4, left});
  const letters = Math.floor((left - 8) / 7);
  const most = d3.max(bars, bar => d3.sum(bar.times)) || 1;
  const x = d3.scaleLinear().domain([0, most]).range([0, its.width]);
  timeAxis(its, x, true);
  bars.forEach((bar, k) => {
    const line = its.inner.append("g").attr("transform", `translate(0,${k * row})`);
    if (row > 12 || k % 2 === 0) {
      line.append("text").attr("x", -8).attr("y", row / 2 + 4).attr("text-anchor", "end")
        .text(bar.name.length > letters ? bar.name.slice(0, letters - 1) + "…" : bar.name);
    }
    let from = 0;
    bar.times.forEach((time, what) => {
      if (time > 0) {
        line.append("rect").attr("x", x(from)).attr("y", row * 0.08).attr("height", row * 0.84)
          .attr("width", Math.max(x(time) - x(0), 0.1)).attr("fill", parts[what].colour)
          .append("title").text(`${bar.name}: ${parts[what].name} ${timeText(time)}, ` +
            percentText(time / d3.sum(bar.times)));
      }
      from += time;
    });
  });
}

/// Bins of a run as a time scale, and how long each is.
function binsOf(trace, its) {
  const edges = trace.bins;
  const x = d3.scaleLinear().domain([0, Math.max(trace.makespan, 1)]).range([0, its.width]);
  return {x, edges, count: edges.length - 1, length: k => edges[k + 1] - edges[k]};
}

/// A line of steps, one for each bin; `value` undefined: no line there.
function stepPath(bins, y, value) {
  const line = d3.line().x(p => bins.x(p[0])).y(p => y(p[1])).defined(p => p[1] !== undefined);
  const points = [];
  for (let k = 0; k < bins.count; ++k) {
    if (bins.length(k) > 0) {
      points.push([bins.edges[k], value(k)], [bins.edges[k + 1], value(k)]);
    }
  }
  return line(points) || "M0,0";
}

function readyChart(place, trace) {
  const its = chart(place, 180, {bottom: 28});
  const bins = binsOf(trace, its);
  const y = d3.scaleLinear().domain([0, d3.max(trace.ready.most) || 1]).nice().range([its.height, 0]);
  const mean = k => trace.ready.total[k] / bins.length(k);
  valueAxis(its, y, d3.format(",~r"));
  its.inner.append("path").attr("d", stepPath(bins, y, k => trace.ready.most[k]))
    .attr("fill", "none").attr("stroke", "#9ecae8");
  its.inner.append("path").attr("d", stepPath(bins, y, mean) +
    `L${its.width},${its.height}L0,${its.height}Z`).attr("fill", "#0072b2").attr("fill-opacity", 0.18);
  its.inner.append("path").attr("d", stepPath(bins, y, mean)).attr("fill", "none")
    .attr("stroke", "#0072b2").attr("stroke-width", 1.4);
  timeAxis(its, bins.x);
  its.inner.append("text").attr("class", "axis-name").attr("x", its.width).attr("y", -2)
    .attr("text-anchor", "end").text("tasks: mean of each interval (dark), most (light)");
}

/// Boxes: quartiles and median; lines: least and most; a dot: the mean.
function timesChart(place, trace) {
  const all = trace.times;
  const row = 22;
  const its = chart(place, all.length * row + 60, {left: 190, bottom: 42});
  const least = Math.max(1, d3.min(all, t => t.min));
  const most = Math.max(d3.max(all, t => t.max), least + 1);
  const decades = Math.log10(most / least);
  const logarithmic = decades > 0.5;
  const x = logarithmic ? d3.scaleLog().domain([least / 1.1, most * 1.1])
    : d3.scaleLinear().domain([0, most * 1.05]);
  x.range([0, its.width]);
  const mantissa = t => Math.round(t / 10 ** Math.floor(Math.log10(t) + 1e-9));
  const ticks = x.ticks(8).filter(t => !logarithmic || mantissa(t) === 1 ||
    (decades < 4 && (mantissa(t) === 2 || mantissa(t) === 5)));
  const axis = its.inner.append("g").attr("transform", `translate(0,${its.height})`);
  axis.clone().attr("class", "grid").call(d3.axisBottom(x).tickValues(ticks)
    .tickSize(-its.height).tickFormat(""));
  axis.attr("class", "axis").call(d3.axisBottom(x).tickValues(ticks).tickSizeOuter(0)
    .tickFormat(t => timeText(t, 3)));
  nameAxis(its, (logarithmic ? "logarithmic; " : "") +
    "box: quartiles and median, line: least and most, dot: mean");
  all.forEach((t, k) => {
    const at = value => x(logarithmic ? Math.max(value, least) : value);
    const line = its.inner.append("g").attr("transform", `translate(0,${k * row})`);
    const colour = typeColours.get(trace.types[t.type]);
    line.append("text").attr("x", -8).attr("y", row / 2 + 4).attr("text-anchor", "end")
      .text(`${trace.types[t.type]} on ${className(trace, t.class)}`);
    line.append("line").attr("x1", at(t.min)).attr("x2", at(t.max)).attr("y1", row / 2)
      .attr("y2", row / 2).attr("stroke", tones.soft);
    line.append("rect").attr("x", at(t.q1) - 1).attr("width", Math.max(at(t.q3) - at(t.q1), 0) + 2)
      .attr("y", 4).attr("height", row - 8).attr("fill", colour);
    line.append("line").attr("x1", at(t.median)).attr("x2", at(t.median)).attr("y1", 2)
      .attr("y2", row - 2).attr("stroke", tones.strong).attr("stroke-width", 1.5);
    line.append("circle").attr("cx", at(t.mean)).attr("cy", row / 2).attr("r", 2.6)
      .attr("fill", tones.paper).attr("stroke", tones.strong);
  });
}

const lineColours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const lineColour = k => d3.color(lineColours[k % 6]).darker(0.8 * Math.floor(k / 6)).hex();

/// Lines over time with names: {name, value(k)}.
function linesChart(place, trace, lines, format, most) {
  fillLegend(place.appendChild(element("div", {class: "legend"})),
    lines.map((line, k) => ({name: line.name, colour: lineColour(k)})));
  const its = chart(place, 180, {bottom: 28});
  const bins = binsOf(trace, its);
  const values = line => d3.range(bins.count).filter(k => bins.length(k) > 0).map(line.value);
  const y = d3.scaleLinear().domain([0, most || d3.max(lines, line => d3.max(values(line))) || 1])
    .nice().range([its.height, 0]);
  valueAxis(its, y, format);
  lines.forEach((line, k) => its.inner.append("path").attr("d", stepPath(bins, y, line.value))
    .attr("fill", "none").attr("stroke", lineColour(k)).attr("stroke-width", 1.4));
  timeAxis(its, bins.x);
}

/// As many bins around bin k together as it takes for a ratio to mean something: first, behind last.
function bunch(trace, k) {
  const together = 10;
  const first = k - k % together;
  return [first, Math.min(first + together, trace.bins.length - 1)];
}

function bytesChart(place, trace) {
  place.append(element("h3", {}, "Moved, bytes per second"));
  linesChart(place, trace, trace.bytes.map(series => ({
    name: `${series.name}: ${bytesText(d3.sum(series.bytes))}`,
    value: k => {
      const [first, last] = bunch(trace, k);
      return d3.sum(series.bytes.slice(first, last)) / ((trace.bins[last] - trace.bins[first]) / 1e9);
    }
  })), value => `${bytesText(value)}/s`);
}

function hitsChart(place, trace) {
  const of = (series, k) => {
    const [first, last] = bunch(trace, k);
    const hits = d3.sum(series.hits.slice(first, last));
    const uses = hits + d3.sum(series.misses.slice(first, last));
    return uses > 0 ? hits / uses : undefined;
  };
  place.append(element("h3", {}, "Read data that were there (hits)"));
  linesChart(place, trace, trace.hits.map(series => {
    const hits = d3.sum(series.hits);
    const uses = hits + d3.sum(series.misses);
    const vain = series.in_vain > 0 ? `, ${bytesText(series.in_vain)} came in vain` : "";
    return {name: `${series.name}: ${percentText(hits / uses)} of ${countText(uses)}${vain}`,
      value: k => of(series, k)};
  }), d3.format(".0%"), 1);
}
