#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks hetsched-report: bad input, files, and its page as a browser shows it.

Usage: report_test.py files PROGRAM     what it refuses and what it writes
       report_test.py page PROGRAM      the page in Chromium; status 77 if that is not there
       report_test.py runs PROGRAM CHOLESKY SIMULATE PLATFORM   real and simulated runs are alike
       report_test.py ranks PROGRAM DISTRIBUTED_CHOLESKY SIMULATE PLATFORM NETWORK   the same of ranks
"""

import html
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).resolve().parent
CAUSES = ["program elsewhere", "memory", "transfer", "scheduler", "no ready task", "end of graph"]
MARKUP = ["</script><script>window.evil = 1</script>", "<img src=x onerror='window.evil = 1'>",
          "<b class=evil>&amp;&lt;\"'`${1}\\", "]]>--><!--\u2028\u2029\u00e4\U0001f600"]
COLOURS = {"gemm": (0, 114, 178), "potrf": (230, 159, 0), "syrk": (0, 158, 115), "trsm": (204, 121, 167)}
failures = []


def check(holds, what):
    if not holds:
        failures.append(what)
        print(f"FAILED: {what}")


def make_trace(folder, name, *options):
    path = folder / name
    subprocess.run([sys.executable, HERE / "make_trace.py", path, *options], check=True)
    return path


def report(program, *arguments, folder, most_bytes=resource.RLIM_INFINITY):
    """Files that it writes may have so many bytes, as on a disk that is full then."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, resource.RLIM_INFINITY))
    return subprocess.run([program, *map(str, arguments)], cwd=folder, capture_output=True,
                          text=True, timeout=60, stdin=subprocess.DEVNULL, preexec_fn=limit,
                          restore_signals=False)  # so SIGXFSZ is ignored


def make_markup(folder, trace):
    """The trace with names that are markup, in a file whose name is markup."""
    text = json.loads(trace.read_text())
    for k, its in enumerate(text["types"] + text["workers"] + text["nodes"]):
        its["name"] += MARKUP[k % len(MARKUP)]
    text["labels"][1:] = [its + MARKUP[k % len(MARKUP)] for k, its in enumerate(text["labels"][1:])]
    text["scheduler"] += "".join(MARKUP)
    text["about"] = {its: its for its in MARKUP}
    text["bounds_ns"] = {its: 1 for its in MARKUP}
    path = folder / f"<img src=x onerror=window.evil=1>{trace.name}"
    path.write_text(json.dumps(text))
    return path


def check_refused(program, folder, names, *arguments):
    """One line that names the culprit, status 2, and no file more than before."""
    before = sorted(os.listdir(folder))
    done = report(program, *arguments, folder=folder)
    check(done.returncode == 2, f"{arguments}: status {done.returncode}, not 2")
    check(done.stdout == "", f"{arguments}: writes {done.stdout!r}")
    check(done.stderr.count("\n") == 1 and done.stderr.endswith("\n") and names in done.stderr,
          f"{arguments}: not one line with {names!r}: {done.stderr!r}")
    check(sorted(os.listdir(folder)) == before, f"{arguments}: left something behind")


def check_files(program, folder):
    trace = make_trace(folder, "run.json", "--attempts")
    text = trace.read_text()
    bad = {
        "empty.json": "",
        "cut_off.json": text[: len(text) // 2],
        "foreign.json": '{"name": "a platform"}\n',
        "not_json.json": "digraph { a -> b }\n",
        "worker.json": text.replace('"thief": [', '"thief": [99, ', 1),
        "format.json": text.replace("trace-4", "trace-0"),
    }
    for name, content in bad.items():
        (folder / name).write_text(content)
        check_refused(program, folder, name, name, "-o", "page.html")
        check_refused(program, folder, name, "run.json", name, "-o", "page.html")
    check_refused(program, folder, "absent.json", "absent.json", "-o", "page.html")
    check_refused(program, folder, "no/page.html", "run.json", "-o", "no/page.html")
    check_refused(program, folder, "no/x.csv", "run.json", "-o", "page.html", "--csv", "no/x.csv")
    check_refused(program, folder, "-o", "run.json")
    check_refused(program, folder, "one run", "run.json", "run.json", "--svg", "x.svg")
    check_refused(program, folder, "traces", "-o", "page.html")
    check_refused(program, folder, "--none", "run.json", "-o", "page.html", "--none")

    forms = ["chrome", "paje", "csv", "dot", "svg"]
    asked = [its for form in forms for its in (f"--{form}", f"out.{form}")]
    done = report(program, "run.json", "-o", "page.html", *asked, folder=folder)
    check((done.returncode, done.stdout, done.stderr) == (0, "", ""), f"all forms: {done}")
    for form in forms:
        check((folder / f"out.{form}").stat().st_size > 1000, f"--{form} writes little")
    drawn = ElementTree.parse(folder / "out.svg").getroot()
    check(len(drawn.findall(".//{*}rect")) > 200, "--svg draws few tasks")
    names = {its.text for its in drawn.findall(".//{*}text")}
    check({"core 0", "GPU 0", "gemm", "aborted", "lower bound"} <= names, f"--svg has names {names}")
    page = (folder / "page.html").read_text()
    check(not re.search(r"<(script|link|img)[^>]*(src|href)=", page), "the page loads something")
    check("Mike Bostock" in page and "WARRANTIES" in page, "the page lacks D3's licence")

    # Text from a trace stays text.
    evil = make_markup(folder, trace)
    done = report(program, evil.name, "-o", "evil.html", "--svg", "evil.svg", folder=folder)
    check(done.returncode == 0, f"names that are markup: {done.stderr}")
    page = (folder / "evil.html").read_text()
    check("<script>window.evil" not in page and "<img" not in page, "a name becomes markup")
    drawn = ElementTree.parse(folder / "evil.svg").getroot()
    names = {its.text for its in drawn.findall(".//{*}text")}
    types = {its["name"] for its in json.loads(evil.read_text())["types"]}
    check(types <= names, f"--svg has names {names}, not {types}")

    # A disk that is full leaves what was there.
    before = {its: (folder / its).read_bytes() for its in os.listdir(folder)}
    for outputs in [["-o", "page.html", "--csv", "out.csv"], ["--csv", "out.csv", "-o", "page.html"],
                    ["--svg", "out.svg"]]:
        done = report(program, "run.json", *outputs, folder=folder, most_bytes=10_000)
        lines = done.stderr.count("\n")
        check((done.returncode, lines) == (2, 1) and "cannot be written: File too large" in done.stderr,
              f"a full disk: {done}")
        check({its: (folder / its).read_bytes() for its in os.listdir(folder)} == before,
              "a full disk changes files")

    # Nothing ran.
    nothing = json.loads(text)
    for group in ["tasks", "accesses", "edges", "attempts", "transfers", "steals"]:
        nothing[group] = {name: [] for name in nothing[group]}
    (folder / "nothing.json").write_text(json.dumps(nothing))
    done = report(program, "nothing.json", "-o", "nothing.html", "--svg", "nothing.svg", folder=folder)
    check(done.returncode == 0, f"nothing ran: {done.stderr}")


class Expected:
    """What the page must say of a trace, by other means than the library's."""

    def __init__(self, path):
        self.trace = trace = json.loads(path.read_text())
        tasks, attempts = trace["tasks"], trace["attempts"]
        self.first = min(tasks["ready"])
        self.makespan = max(tasks["end"] + attempts["end"]) - self.first
        self.busy = defaultdict(set)
        pieces = defaultdict(list)
        useful = defaultdict(list)
        for v, w in enumerate(tasks["worker"]):
            useful[w].append((tasks["begin"][v], tasks["end"][v]))
        for k, w in enumerate(attempts["worker"]):
            pieces[w].append((attempts["begin"][k], attempts["end"][k]))
        self.executing = {w: self.length(useful[w]) for w in range(len(trace["workers"]))}
        self.idle = {w: self.makespan - self.length(useful[w] + pieces[w])
                     for w in range(len(trace["workers"]))}
        self.times = {}
        spans = defaultdict(list)
        for v, w in enumerate(tasks["worker"]):
            spans[tasks["type"][v], trace["workers"][w]["arch"]].append(
                tasks["end"][v] - tasks["begin"][v])
        self.labels = defaultdict(int)
        for v, w in enumerate(tasks["worker"]):
            if tasks["label"][v] != 0:
                label = trace["labels"][tasks["label"][v]]
                self.labels[f"{label} {trace['workers'][w]['arch']}"] += tasks["end"][v] - tasks["begin"][v]
        self.factors = []
        expected = [its["expected_ns"] for its in trace["types"]]
        for (kind, arch), times in spans.items():
            times.sort()
            place = lambda k: times[k * (len(times) - 1) // 4]
            name = f"{trace['types'][kind]['name']} {arch}"
            for k, what in enumerate(["min", "q1", "median", "q3", "max"]):
                self.times[f"{name} {what}"] = place(k)
            self.times[f"{name} mean"] = sum(times) // len(times)
        for arch in sorted({arch for _, arch in spans}):
            ran = [(kind, len(times)) for (kind, a), times in spans.items() if a == arch]
            self.factors.append(sum(n * expected[kind][0] for kind, n in ran) /
                                sum(n * expected[kind][1] for kind, n in ran))
        self.critical = self.critical_path(expected)

    @staticmethod
    def length(pieces):
        total, reached = 0, -1
        for begin, end in sorted(pieces):
            total += max(0, end - max(begin, reached))
            reached = max(reached, end)
        return total

    def critical_path(self, expected):
        tasks = self.trace["tasks"]
        best = []
        for v, kind in enumerate(tasks["type"]):
            best.append(min(t for c, t in enumerate(expected[kind]) if tasks["archs"][v] >> c & 1))
        ends = list(best)
        edges = self.trace["edges"]
        for u, v in zip(edges["from"], edges["to"]):
            ends[v] = max(ends[v], ends[u] + best[v])
        return max(ends)

    def label(self, number):
        return self.trace["labels"][self.trace["tasks"]["label"][number]]

    def kind(self, number):
        return self.trace["types"][self.trace["tasks"]["type"][number]]["name"]

    def worker(self, number):
        return self.trace["workers"][self.trace["tasks"]["worker"][number]]["name"]

    def wanted(self):
        """What the probe shall look at: a core's long tasks, early and late, and one of a GPU."""
        tasks = self.trace["tasks"]
        length = lambda v: tasks["end"][v] - tasks["begin"][v]
        trsm = next(its["name"] for its in self.trace["types"] if its["name"].startswith("trsm"))
        if self.trace["scheduler"] == "large":  # of these the page has the longest only
            longest = sorted(range(len(tasks["type"])), key=lambda v: -length(v))[:3]
            return {"numbers": longest, "label": self.label(longest[0]), "type": trsm}
        on_cores = [v for v, w in enumerate(tasks["worker"]) if self.trace["workers"][w]["arch"] == 0]
        on_cores.sort(key=lambda v: tasks["begin"][v])
        long = [v for v in on_cores if length(v) > self.makespan / 100]
        on_gpu = next(v for v, w in enumerate(tasks["worker"]) if self.trace["workers"][w]["arch"] == 1)
        return {"numbers": [long[0], long[-1], on_gpu], "label": self.label(long[0]), "type": trsm}


def in_chromium(chromium, page, folder):
    """What the DOM is after scripts have run, and what was written to the console."""
    command = [chromium, "--headless", "--disable-gpu", "--dump-dom", "--virtual-time-budget=3000",
               "--window-size=1300,900", "--enable-logging=stderr", "--no-first-run",
               "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder / 'profile'}"]
    command += ["--no-sandbox"] if os.geteuid() == 0 else []
    done = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=90,
                          env={**os.environ, "HOME": str(folder)}, stdin=subprocess.DEVNULL)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def check_run(run, expected):
    name, numbers = run["name"], run["numbers"]
    check(int(numbers["makespan"]) == expected.makespan, f"{name}: makespan {numbers['makespan']}")
    check(int(numbers["tasks"]) == len(expected.trace["tasks"]["type"]), f"{name}: tasks")
    ((why, sentence, hidden),) = numbers["verdict"]
    check(why and sentence.endswith(".") and not hidden, f"{name}: verdict {numbers['verdict']}")
    bounds = {what: int(ns) for what, ns in numbers["bounds"]}
    own = expected.trace["bounds_ns"]
    check(sorted(bounds) == sorted(own or ["area", "critical path"]), f"{name}: bounds {bounds}")
    check(own or bounds.get("critical path") == expected.critical, f"{name}: critical path {bounds}")
    check(abs(float(numbers["efficiency"]) - max(bounds.values()) / expected.makespan) < 1e-9,
          f"{name}: efficiency {numbers['efficiency']}")
    idle = defaultdict(int)
    executing = {}
    for worker, what, ns in numbers["idle"]:
        if what in CAUSES:
            idle[worker] += int(ns)
        elif what == "executing":
            executing[worker] = int(ns)
    for w, time in expected.idle.items():
        check(idle[str(w)] == time, f"{name}: worker {w}: idle {idle[str(w)]}, not {time}")
        check(executing[str(w)] == expected.executing[w], f"{name}: worker {w}: executing")
    check(idle["all"] == sum(expected.idle.values()), f"{name}: idle in all")
    times = {what: int(ns) for what, ns in numbers["times"]}
    check(times == expected.times, f"{name}: task times {times}, not {expected.times}")
    labels = {what: int(ns) for what, ns in numbers["labels"]}
    known = sorted(expected.labels.values(), reverse=True)[:200]
    check(sorted(labels.values(), reverse=True) == known and
          all(expected.labels[what] == ns for what, ns in labels.items()), f"{name}: labels {labels}")
    factors = [float(its) for its in numbers["factors"]]
    check(len(factors) == len(expected.factors) and
          all(abs(a / b - 1) < 1e-9 for a, b in zip(factors, expected.factors)),
          f"{name}: acceleration factors {factors}, not {expected.factors}")
    moved = sum(expected.trace["transfers"]["bytes"])
    check(len(numbers["bytes"]) == (2 if moved else 0), f"{name}: directions {numbers['bytes']}")
    check(numbers["charts"] >= 5, f"{name}: {numbers['charts']} charts")
    check(0 < int(numbers["path"]) <= expected.makespan, f"{name}: path {numbers['path']}")
    check_interaction(run, expected)


def check_interaction(run, expected):
    name = run["name"]
    wants = expected.wanted()
    large = name == "large"
    for number in [] if large else wants["numbers"]:
        its = run["tasks"][str(number)]
        tip = its["tip"] or {}
        told = [tip.get(what) for what in ["name", "type", "number", "worker"]]
        meant = [expected.label(number), expected.kind(number), str(number), expected.worker(number)]
        check(told == meant, f"{name}: hover over task {number} tells {told}, not {meant}")
        check({"ready", "taken", "begin", "end", "took"} <= set(tip), f"{name}: hover lacks moments: {tip}")
    for number in [] if large else wants["numbers"][:2]:
        colour = COLOURS[re.match("[a-z]+", expected.kind(number)).group()]
        pixel = run["tasks"][str(number)]["pixel"][:3]
        near = all(abs(a - b) < 12 for a, b in zip(pixel, colour))
        white = pixel == [255, 255, 255]  # its name
        check(near or white, f"{name}: task {number} is drawn as {pixel}, not {colour}")
    for what in ["pathDrawn", "sameAgain", "wholeAgain"] + ([] if large else ["idleDrawn"]):
        check(run[what], f"{name}: not {what}")
    check(run["zoomed"][0] > 1.3 * run["zoomed"][1], f"{name}: the wheel does not zoom: {run['zoomed']}")
    number = wants["numbers"][0]
    check(run["found"] == expected.label(number), f"{name}: search finds {run['found']!r}")
    tip = run["shown"]["tip"] or {}
    check(tip.get("number") == str(number), f"{name}: what was searched is not shown: {tip}")
    check(0 < run["shown"]["place"]["x"] < run["shown"]["of"] + 200, f"{name}: {run['shown']}")
    count = sum(expected.kind(v) == wants["type"] for v in range(len(expected.trace["tasks"]["type"])))
    check(large or run["foundType"] == f"{count} tasks", f"{name}: trsm: {run['foundType']!r}")
    check(run["foundNothing"].startswith("0 tasks"), f"{name}: nothing: {run['foundNothing']!r}")


def show(program, chromium, folder, traces, expected, *options):
    """What the probe saw in the traces' page; it clicks in those for which something is expected."""
    done = report(program, *traces, "-o", "page.html", *options, folder=folder)
    check(done.returncode == 0, f"the page is not made: {done.stderr}")
    page = (folder / "page.html").read_text()
    check(len(page) < 10_000_000, f"the page has {len(page)} bytes")
    errors = """<script>window.probeErrors = [];
        window.onerror = message => { window.probeErrors.push(String(message)); };
        console.error = (...text) => { window.probeErrors.push(text.join(" ")); };</script>"""
    wants = json.dumps([its.wanted() if its else None for its in expected]).replace("<", "\\u003c")
    probe = (HERE / "report_probe.js").read_text()
    ending = f'<script id="probe-wants" type="application/json">{wants}</script>'
    page = page.replace("<head>", "<head>" + errors, 1)
    page = page.replace("</body>", f"{ending}<script>{probe}</script></body>")
    (folder / "probed.html").write_text(page)
    dom, console = in_chromium(chromium, folder / "probed.html", folder)
    check(console == [], f"the console has {console}")
    found = re.search(r'<pre id="probe">(.*?)</pre>', dom, re.DOTALL)
    if not found:
        check(False, f"the probe has not run: {dom[-500:]}")
        return
    seen = json.loads(html.unescape(found.group(1)))
    check(seen["errors"] == [], f"errors in the page: {seen['errors']}")
    check(seen["loaded"] == [], f"the page loads {seen['loaded']}")
    check(seen["evil"] == 0, f"{seen['evil']} names become markup")
    check(len(seen["runs"]) == len(traces), f"{len(seen['runs'])} runs")
    (rising, up), (falling, down) = seen["sorted"]
    check((rising, falling) == ("ascending", "descending") and up == sorted(up) and
          down == up[::-1], f"makespans sorted: {seen['sorted']}")
    check(seen["lastChosen"], "the row that was clicked is not the run that is shown")
    for run, its in zip(seen["runs"], expected):
        compared = len(traces) if len(traces) > 1 else 0
        dropped = run["name"] == "a task"
        told = any("1,234 events were not recorded" in its for its in run["numbers"]["warnings"])
        check(told == dropped, f"{run['name']} warns of {run['numbers']['warnings']}")
        check(run["numbers"]["compared"] == compared, f"{run['numbers']['compared']} side by side")
        if its:
            check(run["name"] == its.trace["scheduler"], f"run {run['name']}")
            check_run(run, its)


def check_page(program, chromium, folder):
    one = make_trace(folder, "one.json", "--attempts")
    two = make_trace(folder, "two.json", "--tiles", "12", "--seed", "5", "--name", "other")
    large = make_trace(folder, "large.json", "--tiles", "20", "--cores", "9", "--name", "large")
    expected = [Expected(trace) for trace in [one, two, large]]
    show(program, chromium, folder, [one], expected[:1])
    odd = []
    for name, change in {"nothing": 0, "a task": 1}.items():
        trace = json.loads(one.read_text())
        trace["scheduler"] = name
        trace["dropped"] = 1234 * change
        for group in ["tasks", "accesses", "edges", "attempts", "transfers", "steals"]:
            keep = change if group in ["tasks", "accesses"] else 0
            trace[group] = {its: values[:keep] for its, values in trace[group].items()}
        odd.append(folder / f"{name}.json")
        odd[-1].write_text(json.dumps(trace))
    show(program, chromium, folder, [one, two, *odd], [*expected[:2], None, None])
    show(program, chromium, folder, [large], expected[2:], "--tasks", "600")
    markup = [make_markup(folder, its) for its in [one, two]]
    show(program, chromium, folder, markup, [Expected(its) for its in markup])


def structure(value):
    """What a value is made of: of lists, what their elements are, whatever their number."""
    if isinstance(value, dict):
        return {key: structure(its) for key, its in value.items()}
    if isinstance(value, list):
        return [json.loads(its) for its in sorted({json.dumps(structure(v)) for v in value})]
    return "number" if isinstance(value, (int, float)) else type(value).__name__


def check_ranks(program, distributed, simulate, platform, network, folder):
    """Four ranks, really and in virtual time: traces that are merged, and what their pages say."""
    environment = {**os.environ, "HETSCHED_TRACE": str(folder / "real.json")}
    subprocess.run([distributed, "--n", "480", "--tile", "40", "--ranks", "4"], check=True,
                   stdout=subprocess.DEVNULL, env=environment)
    parts = sorted(folder.glob("real.rank?.json"))
    check([its.name for its in parts] == [f"real.rank{r}.json" for r in range(4)], f"files {parts}")
    (row,) = subprocess.run([simulate, "--platform", platform, "--gpus", "0", "--cpus", "2",
                             "--nodes", "4", "--network", network, "--tiles", "12", "--scheduler",
                             "priority", "--json", "--trace", folder / "virtual.json"], check=True,
                            capture_output=True, text=True).stdout.splitlines()  # fmt: skip
    row = json.loads(row)
    shapes = []
    for name, files in [("real", parts), ("virtual", [folder / "virtual.json"])]:
        done = report(program, *files, "-o", f"{name}.html", "--merged", f"{name}.all.json",
                      folder=folder)
        check(done.returncode == 0, f"{name}: {done.stderr}")
        found = re.search(r'<script id="data" type="application/json">(.*?)</script>',
                          (folder / f"{name}.html").read_text(), re.DOTALL)
        (page,) = json.loads(found.group(1))["traces"]
        check(len(page["ranks"]) == 4, f"{name}: {len(page['ranks'])} ranks")
        shapes.append(structure(page["ranks"]))
        per_rank = len(page["workers"]) // 4
        no_ready = 2 + page["causes"].index("no ready task")
        for r, rank in enumerate(page["ranks"]):
            workers = page["workers_time"][r * per_rank : (r + 1) * per_rank]
            check(rank["times"] == [sum(its) for its in zip(*workers)], f"{name}: rank {r}")
            waits = rank["own"] + rank["work"] + rank["network"]
            check(waits == rank["times"][no_ready], f"{name}: rank {r} waits {waits}: {rank}")
            check(all(0 <= its["rank"] < 4 and its["rank"] != r for its in rank["others"]), str(rank))
        check(0 < page["chain"][1] < page["chain"][0] <= page["makespan"] * 1.02, f"{name}: {page['chain']}")
        check("ranks" in page["verdict"]["text"] or "rank " in page["verdict"]["text"],
              f"{name}: {page['verdict']}")
        merged = json.loads((folder / f"{name}.all.json").read_text())
        check(merged["ranks"]["workers"] == [per_rank] * 4, f"{name}: {merged['ranks']}")
        # One message for each tile's last value and each other rank that reads it.
        of_tiles = sum(number % 2 == 0 and merged["data_bytes"][datum] > 8 for number, datum in
                       zip(merged["messages"]["number"], merged["messages"]["datum"]))  # fmt: skip
        check(of_tiles == 132, f"{name}: {of_tiles} messages of tiles")
        for sent, came in zip(merged["messages"]["begin"], merged["messages"]["end"]):
            check(sent <= came, f"{name}: a message comes before it is sent")
    check(shapes[0] == shapes[1], f"reports differ:\n{shapes[0]}\n{shapes[1]}")
    check(row["messages"] == 132 and abs(row["makespan_s"] * 1e9 - page["makespan"]) < 1, str(row))
    check({"busiest node", "ports"} <= {name for name, _ in page["bounds"]}, str(page["bounds"]))
    check_refused(program, folder, "rank 2: has no trace", *[its.name for its in parts if "2" not in
                  its.name], "-o", "page.html")  # fmt: skip
    check_refused(program, folder, "virtual.json", parts[0].name, "virtual.json", "-o", "page.html")


def check_runs(program, cholesky, simulate, platform, folder):
    """The same graph on a core and a device, really and in virtual time: two like reports."""
    # With so many tiles the device gets some tasks of each type, which a bound needs.
    real = [cholesky, "--n", "960", "--tile", "64", "--cpus", "1", "--gpus", "emu:1@64MB"]
    virtual = [simulate, "--platform", platform, "--tiles", "15", "--cpus", "1", "--gpus", "1",
               "--comm", "model"]
    pages = []
    for name, command in [("real", real), ("virtual", virtual)]:
        trace = folder / f"{name}.json"
        subprocess.run([*command, "--scheduler", "dmda", "--trace", trace], check=True,
                       stdout=subprocess.DEVNULL)
        done = report(program, trace, "-o", f"{name}.html", folder=folder)
        check(done.returncode == 0, f"{name}: {done.stderr}")
        found = re.search(r'<script id="data" type="application/json">(.*?)</script>',
                          (folder / f"{name}.html").read_text(), re.DOTALL)
        pages.append(json.loads(found.group(1)))
    shown = [structure(page) for page in pages]
    check(shown[0] == shown[1], f"reports differ:\n{shown[0]}\n{shown[1]}")
    traces = [json.loads((folder / f"{name}.json").read_text()) for name in ["real", "virtual"]]
    for what in ["data_bytes", "accesses", "edges"]:
        same = [trace[what] if what != "data_bytes" else len(trace[what]) for trace in traces]
        check(same[0] == same[1], f"{what} differ: {same}")
    types = [[trace["types"][t]["name"] for t in trace["tasks"]["type"]] for trace in traces]
    check(types[0] == types[1] and len(types[0]) == 680, "tasks differ")
    check([trace["simulated"] for trace in traces] == [False, True], "which is simulated")
    # The bound with transfers on the machine of a file, for a run that knows nothing of one.
    done = report(program, folder / "real.json", "-o", "bound.html", "--platform", platform, folder=folder)
    if "needs Clp" not in done.stderr:
        check(done.returncode == 0, f"--platform: {done.stderr}")
        page = (folder / "bound.html").read_text()
        found = {name: float(time) for name, time in
                 re.findall(r'\["(area|critical path|transfer)","?(\d+)', page)}  # fmt: skip
        check(len(found) == 3 and found["transfer"] >= max(found["area"], found["critical path"]),
              f"--platform: bounds {found}")  # fmt: skip
    names = [[worker["name"] for worker in trace["workers"]] for trace in traces]
    check(names == [["core 0", "emulated GPU 0"], ["core 0", "GPU 0"]], f"workers {names}")


def main():
    if len(sys.argv) < 3 or len(sys.argv) != {"files": 3, "page": 3, "runs": 6, "ranks": 7}.get(sys.argv[1]):
        sys.exit(__doc__)
    program = Path(sys.argv[2]).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if sys.argv[1] == "files":
            check_files(program, folder)
        elif sys.argv[1] == "runs":
            check_runs(program, *[Path(its).resolve() for its in sys.argv[3:]], folder)
        elif sys.argv[1] == "ranks":
            check_ranks(program, *[Path(its).resolve() for its in sys.argv[3:]], folder)
        else:
            chromium = shutil.which("chromium") or shutil.which("google-chrome")
            if not chromium:
                print("report_test: skipped: Chromium is not there (Debian: chromium)")
                return 77
            check_page(program, chromium, folder)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
