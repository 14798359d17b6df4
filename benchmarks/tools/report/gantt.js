// A Gantt chart on a canvas.

const ganttLeft = 118;

class Gantt {
  /// `options`: end (of the time axis), most (height of all rows), fixed (no zoom, no hover, workers
  /// only).
  constructor(place, trace, options) {
    this.trace = trace;
    this.options = options;
    this.rows = rowsOf(trace).filter(row => row.kind === "worker" || !options.fixed);
    this.end = Math.max(options.end, trace.bestBound || 0, 1);
    this.showPath = false;
    this.showIdle = false;
    this.matches = null; // places of tasks that a search has found
    this.box = element("div", {class: options.fixed ? "gantt fixed" : "gantt"});
    this.canvas = element("canvas", {
      role: "img", "aria-label": `Who ran what when: ${trace.name}`});
    this.box.append(this.canvas);
    place.replaceChildren(this.box);
    this.top = options.fixed ? 4 : 20;
    this.bottom = layOut(this.rows, this.top, options.most);
    this.height = this.bottom + (options.axis === false ? 4 : 30);
    this.resize();
    if (!options.fixed) {
      this.listen();
    }
  }

  resize() {
    const ratio = Math.max(window.devicePixelRatio || 1, 1);
    this.width = Math.max(this.box.clientWidth, 400);
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.canvas.style.height = `${this.height}px`;
    this.context = this.canvas.getContext("2d");
    this.context.scale(ratio, ratio);
    this.whole = d3.scaleLinear().domain([0, this.end]).range([ganttLeft, this.width - 10]);
    this.x = this.transform ? this.transform.rescaleX(this.whole) : this.whole;
    if (this.zoom) {
      this.limitZoom();
    }
    this.draw();
  }

  limitZoom() {
    const area = [[ganttLeft, 0], [this.width - 10, this.height]];
    // Down to some 20 nanoseconds across.
    this.zoom.extent(area).translateExtent(area).scaleExtent([1, Math.max(this.end / 20, 1)]);
  }

  listen() {
    this.zoom = d3.zoom().on("zoom", event => {
      this.transform = (d3.event || event).transform; // D3 5, or later
      this.x = this.transform.rescaleX(this.whole);
      hideTip();
      this.draw();
    });
    this.limitZoom();
    d3.select(this.canvas).call(this.zoom).on("dblclick.zoom", null);
    this.canvas.addEventListener("dblclick", () => this.showWhole());
    this.canvas.addEventListener("mousemove", event => this.hover(event));
    this.canvas.addEventListener("mouseleave", hideTip);
  }

  showWhole() {
    d3.select(this.canvas).call(this.zoom.transform, d3.zoomIdentity);
  }

  show(begin, end) {
    const scale = Math.min(this.end / Math.max(end - begin, 1), this.zoom.scaleExtent()[1]);
    const middle = this.whole((begin + end) / 2);
    const centre = (ganttLeft + this.width - 10) / 2;
    d3.select(this.canvas).call(this.zoom.transform,
      d3.zoomIdentity.translate(centre - scale * middle, 0).scale(scale));
  }

  draw() {
    const context = this.context;
    context.clearRect(0, 0, this.width, this.height);
    context.font = '12px "Helvetica Neue", Arial, "Liberation Sans", system-ui, sans-serif';
    context.textBaseline = "middle";
    context.save();
    context.beginPath();
    context.rect(ganttLeft, 0, this.width - 10 - ganttLeft, this.height);
    context.clip();
    for (const row of this.rows) {
      context.fillStyle = row.kind === "worker" ? tones.row : tones.lane;
      context.fillRect(ganttLeft, row.y, this.width, row.height);
      this.drawRow(row);
    }
    if (this.showPath) {
      this.drawPath();
    }
    this.drawBounds();
    context.restore();
    this.drawNames();
    if (this.options.axis !== false) {
      this.drawAxis();
    }
  }

  colourOf(item) {
    const trace = this.trace;
    if (item.kind === "transfer") {
      return transferColours.in;
    }
    const columns = item.kind === "part" ? trace.parts : trace.tasks;
    return typeColours.get(trace.types[columns.type[item.place]]);
  }

  isDim(item) {
    if (item.kind !== "task") {
      return this.showPath || this.matches !== null;
    }
    return (this.showPath && !this.trace.onPath[item.place]) ||
      (this.matches !== null && !this.matches.has(item.place));
  }

  drawRow(row) {
    const context = this.context;
    const [first, last] = this.x.domain();
    if (row.bins) {
      this.drawBins(row, first, last);
    }
    if (this.showIdle && row.kind === "worker") {
      for (const piece of row.idle) {
        if (piece.end > first && piece.begin < last) {
          const at = this.x(piece.begin);
          context.fillStyle = doing[2 + piece.cause].colour;
          context.fillRect(at, row.y + row.height * 0.68, Math.max(this.x(piece.end) - at, 0.3),
            row.height * 0.32);
        }
      }
    }
    const lane = row.height / row.lanes;
    const gap = lane >= 4 ? 0.5 : 0;
    const wide = row.bins ? 3 : 0; // what is narrower is in the bins
    for (let k = firstReaching(row, first); k < row.items.length; ++k) {
      const item = row.items[k];
      if (item.begin > last) {
        break;
      }
      const at = this.x(item.begin);
      const width = this.x(item.end) - at;
      if (item.end < first || (width < wide && !(this.matches && !this.isDim(item)))) {
        continue;
      }
      const y = row.y + item.lane * lane + gap;
      const drawn = Math.max(width - (width > 3 ? 0.6 : 0), 0.4);
      context.globalAlpha = this.isDim(item) ? 0.22 : 1;
      if (item.kind === "attempt") {
        context.strokeStyle = tones.soft;
        context.setLineDash([2, 2]);
        context.strokeRect(at + 0.5, y + 0.5, Math.max(drawn - 1, 0.4), Math.max(lane - 2, 1));
        context.setLineDash([]);
      } else {
        context.fillStyle = row.kind === "transfer"
          ? transferColours[row.into ? "in" : "out"] : this.colourOf(item);
        context.fillRect(at, y, drawn, lane - 2 * gap);
        if (item.kind === "task" && lane >= 13 && width > 34 && !this.isDim(item)) {
          this.drawName(item, at, y + lane / 2 - gap, width);
        }
      }
    }
    context.globalAlpha = 1;
  }

  /// What a row did in each bin, as heights.
  drawBins(row, first, last) {
    const context = this.context;
    const bin = this.trace.makespan / row.bins.count;
    const {together, cells} = binsFor(row, this.x(bin) - this.x(0));
    const length = bin * together;
    context.globalAlpha = this.matches || this.showPath ? 0.22 : 1;
    for (let k = d3.bisector(cell => (cell.bin + 1) * length).left(cells, first);
      k < cells.length && cells[k].bin * length <= last;) {
      const begin = cells[k].bin * length;
      let end = k;
      let all = 0;
      for (; end < cells.length && cells[end].bin === cells[k].bin; ++end) {
        all += cells[end].time;
      }
      const its = Math.min(length, this.trace.makespan - begin);
      const scale = row.height / Math.max(its, all); // executions may overlap
      const width = this.x(begin + its) - this.x(begin) + 0.2;
      for (let y = row.y + row.height; k < end; ++k) {
        y -= cells[k].time * scale;
        context.fillStyle = row.kind === "transfer" ? transferColours[row.into ? "in" : "out"]
          : typeColours.get(this.trace.types[cells[k].type]);
        context.fillRect(this.x(begin), y, width, cells[k].time * scale);
      }
    }
    context.globalAlpha = 1;
  }

  /// The task's name in its box, if there is room.
  drawName(item, at, y, width) {
    const context = this.context;
    const text = taskName(this.trace, item.place);
    const left = Math.max(at, ganttLeft);
    const room = Math.min(at + width, this.width) - left - 8;
    if (context.measureText(text).width <= room) {
      context.fillStyle = d3.lab(this.colourOf(item)).l > 62 ? "#1f2933" : "#ffffff";
      context.textAlign = "left";
      context.fillText(text, left + 4, y + 1);
    }
  }

  drawPath() {
    const context = this.context;
    context.strokeStyle = tones.strong;
    context.lineWidth = 1.3;
    context.beginPath();
    let before = null;
    for (const place of this.trace.path.task) {
      const its = this.placeOf(place);
      if (its.width >= 6) {
        context.rect(its.x, its.y + 0.5, its.width - 0.6, its.height - 1);
      }
      if (before && (before.y !== its.y || its.x - before.x - before.width > 2)) {
        context.moveTo(Math.min(before.x + before.width, its.x), before.y + before.height / 2);
        context.lineTo(its.x, its.y + its.height / 2);
      }
      before = its;
    }
    context.stroke();
    context.lineWidth = 1;
  }

  /// Where a task is drawn: by its place in the trace's columns.
  placeOf(place) {
    const tasks = this.trace.tasks;
    const row = this.rows.find(its => its.worker === tasks.worker[place]);
    if (!this.items) {
      this.items = new Map(this.rows.flatMap(its => its.items)
        .filter(item => item.kind === "task").map(item => [item.place, item]));
    }
    const lane = row.height / row.lanes;
    const x = this.x(tasks.begin[place]);
    return {x, y: row.y + this.items.get(place).lane * lane,
      width: this.x(tasks.begin[place] + tasks.length[place]) - x, height: lane};
  }

  drawBounds() {
    const context = this.context;
    const best = this.trace.bestBound;
    for (const [name, time] of this.trace.bounds) {
      const at = Math.round(this.x(time)) + 0.5;
      context.strokeStyle = time === best ? tones.strong : tones.soft;
      context.setLineDash([5, 3]);
      context.beginPath();
      context.moveTo(at, this.top - 3);
      context.lineTo(at, this.bottom);
      context.stroke();
      context.setLineDash([]);
      if (time === best && !this.options.fixed) {
        context.fillStyle = tones.ink;
        context.textAlign = at > this.width - 200 ? "right" : "left";
        context.fillText(`${name} bound`, at + (at > this.width - 200 ? -4 : 4), 9);
      }
    }
  }

  drawNames() {
    const context = this.context;
    context.textAlign = "right";
    let free = -Infinity;
    for (const row of this.rows) {
      const y = row.y + row.height / 2;
      const small = row.kind === "transfer";
      if (y < free + (small ? 5 : 7) || (small && row.height < 7)) {
        continue;
      }
      context.fillStyle = small ? tones.soft : tones.ink;
      const name = small ? (row.into ? "→ in" : "← out") : row.name;
      let text = name;
      while (text.length > 1 && context.measureText(text).width > ganttLeft - 14) {
        text = text.slice(0, -2) + "…";
      }
      context.fillText(text, ganttLeft - 8, y + 1);
      free = y + (small ? 3 : 6);
    }
  }

  drawAxis() {
    const context = this.context;
    const ticks = this.x.ticks(8);
    const unit = unitOf(d3.max(this.x.domain()));
    const step = ticks.length > 1 ? ticks[1] - ticks[0] : unit.size;
    const format = d3.format(`,.${d3.precisionFixed(step / unit.size)}f`);
    context.strokeStyle = tones.edge;
    context.fillStyle = tones.ink;
    context.textAlign = "center";
    ticks.forEach((tick, k) => {
      const at = Math.round(this.x(tick)) + 0.5;
      context.beginPath();
      context.moveTo(at, this.bottom + 1);
      context.lineTo(at, this.bottom + 6);
      context.stroke();
      const text = format(tick / unit.size) + ` ${unit.name}`;
      const half = context.measureText(text).width / 2;
      if (at + half < this.width && at - half > ganttLeft - 30) {
        context.fillText(text, at, this.bottom + 16);
      }
    });
  }

  /// The item at a place of the canvas, and its row.
  at(x, y) {
    const row = this.rows.find(its => y >= its.y && y < its.y + its.height + 1);
    if (!row || x < ganttLeft) {
      return {};
    }
    const moment = this.x.invert(x);
    const near = this.x.invert(x + 2) - moment;
    const lane = Math.min(row.lanes - 1, Math.floor((y - row.y) / (row.height / row.lanes)));
    let found = null;
    for (let k = firstReaching(row, moment - near); k < row.items.length; ++k) {
      const item = row.items[k];
      if (item.begin > moment + near) {
        break;
      }
      const distance = Math.max(item.begin - moment, moment - item.end, 0) +
        (item.lane === lane ? 0 : near * 2);
      if (item.end >= moment - near && (!found || distance < found.distance)) {
        found = {item, distance};
      }
    }
    if (found) {
      return {row, item: found.item, moment};
    }
    const idle = row.idle && row.idle.find(piece => piece.begin <= moment && moment < piece.end);
    return {row, idle, moment};
  }

  hover(event) {
    const box = this.canvas.getBoundingClientRect();
    const {row, item, idle} = this.at(event.clientX - box.left, event.clientY - box.top);
    const content = item ? describe(this.trace, row, item)
      : idle ? describeIdle(row, idle) : null;
    if (content) {
      showTip(content, event);
    } else {
      hideTip();
    }
  }
}
