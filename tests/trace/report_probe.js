// Runs in a report's page, in a browser: does what a reader would, and says what was seen.
(() => {
  const seen = {};
  const at = selector => [...document.querySelectorAll(selector)];
  const canvas = () => document.querySelector("#gantt canvas");
  const page = window.hetschedReport;

  /// The colour of a pixel of the schedule, by a place on the screen.
  const copy = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const pixel = place => {
    const box = canvas().getBoundingClientRect();
    const ratio = canvas().width / box.width;
    copy.clearRect(0, 0, 1, 1);
    copy.drawImage(canvas(), Math.round((place.x - box.left) * ratio),
      Math.round((place.y - box.top) * ratio), 1, 1, 0, 0, 1, 1);
    return [...copy.getImageData(0, 0, 1, 1).data];
  };
  const picture = () => canvas().toDataURL();
  const hover = place => {
    canvas().dispatchEvent(new MouseEvent("mousemove",
      {clientX: place.x, clientY: place.y, bubbles: true}));
    const tip = document.getElementById("tip");
    return tip.hidden ? null : Object.fromEntries([["name", tip.querySelector("b").textContent],
      ...[...tip.querySelectorAll("tr")].map(row =>
        [row.cells[0].textContent, row.cells[1].textContent])]);
  };
  const type = text => {
    const input = document.getElementById("search");
    input.value = text;
    input.dispatchEvent(new Event("input"));
    return document.getElementById("found").textContent;
  };
  const readNumbers = () => ({
    makespan: document.getElementById("makespan").dataset.ns,
    efficiency: document.getElementById("efficiency").dataset.value,
    tasks: document.getElementById("tasks").dataset.value,
    bounds: at(".figure .value[id^=bound-]").map(its => [its.id.slice(6), its.dataset.ns]),
    idle: at("#idle-table td[data-worker]").map(its =>
      [its.dataset.worker, its.dataset.what, its.dataset.ns]),
    times: at("#times-table td[data-what]").map(its => [its.dataset.what, its.dataset.ns]),
    labels: at("#labels-table td[data-label]").map(its => [its.dataset.label, its.dataset.ns]),
    factors: at("#accelerations td[data-value]").map(its => its.dataset.value),
    path: (document.getElementById("path-executing") || {dataset: {}}).dataset.ns,
    bytes: at("#bytes .legend span").map(its => its.textContent),
    warnings: at("#warnings p").map(its => its.textContent),
    verdict: at("#verdict").map(its => [its.dataset.why, its.textContent, its.hidden]),
    charts: at("svg.chart").length,
    compared: at("#compare-table tbody tr").length
  });

  const watched = JSON.parse(document.getElementById("probe-wants").textContent);
  seen.runs = page.runs.map((name, k) => {
    page.choose(k);
    const wants = watched[k];
    const run = {name, numbers: readNumbers(), tasks: {}};
    if (!wants) {
      return run;
    }
    for (const number of wants.numbers) {
      const place = page.whereIs(number);
      run.tasks[number] = {place, pixel: pixel(place), tip: hover(place)};
    }
    const [first, second] = wants.numbers.map(page.whereIs);
    const plain = picture();
    document.getElementById("show-path").click();
    run.pathDrawn = picture() !== plain;
    document.getElementById("show-path").click();
    document.getElementById("show-idle").click();
    run.idleDrawn = picture() !== plain;
    document.getElementById("show-idle").click();
    run.sameAgain = picture() === plain;
    canvas().dispatchEvent(new WheelEvent("wheel", {deltaY: -300, clientX: first.x, clientY: first.y,
      bubbles: true, cancelable: true}));
    const [firstNow, secondNow] = wants.numbers.map(page.whereIs);
    run.zoomed = [Math.abs(secondNow.x - firstNow.x), Math.abs(second.x - first.x)];
    document.getElementById("whole").click();
    run.wholeAgain = picture() === plain;
    run.found = type(wants.label);
    const shown = page.whereIs(wants.numbers[0]);
    run.shown = {place: shown, tip: hover(shown), pixel: pixel(shown), of: canvas().clientWidth};
    run.foundType = type(wants.type);
    run.foundNothing = type("no such task");
    type("");
    return run;
  });
  seen.sorted = ["ascending", "descending"].map(direction => {
    const head = document.querySelectorAll("#compare-table th")[1];
    (head || document.body).click();
    const rows = at("#compare-table tbody tr");
    return [head ? head.getAttribute("aria-sort") : direction,
      rows.map(row => Number(row.cells[1].dataset.ns))];
  });
  const last = document.querySelector("#compare-table tbody tr:last-child");
  (last || document.body).click();
  seen.lastChosen = last === document.querySelector("#compare-table tr.chosen") &&
    (!last || last.cells[1].dataset.ns === document.getElementById("makespan").dataset.ns);
  seen.evil = document.querySelectorAll(".evil, img").length + (window.evil || 0);
  seen.errors = window.probeErrors;
  seen.loaded = performance.getEntriesByType("resource").map(its => its.name);
  const result = document.createElement("pre");
  result.id = "probe";
  result.textContent = JSON.stringify(seen);
  document.body.append(result);
})();
