#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the formats that traces are written in: the same tasks, times and dependencies are in each
as in our own file, and the programs that they are for read them, where these are installed: pj_dump
(Debian's pajeng) and dot (graphviz).

Usage: trace_formats.py PROGRAM      (export_traces)
"""

import copy
import csv
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

sys.dont_write_bytecode = True  # nothing is to be left in the source tree
import chrome_trace  # noqa: E402

OUTCOMES = ["done", "failed", "cancelled", "unfinished"]

failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED:", what)


def rows(columns):
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


class Trace:
    """Our own file, as rows."""

    def __init__(self, path):
        whole = json.loads(path.read_text(encoding="utf-8"))
        check(whole["format"] == "trace-4", f"{path}: {whole['format']}")
        self.workers = [worker["name"] for worker in whole["workers"]]
        self.nodes = [node["name"] for node in whole["nodes"]]
        self.types = [its["name"] for its in whole["types"]]
        self.labels = whole["labels"]
        self.bytes = whole["data_bytes"]
        self.tasks = rows(whole["tasks"])
        self.accesses = rows(whole["accesses"])
        self.edges = rows(whole["edges"])
        self.attempts = rows(whole["attempts"])
        self.parts = rows(whole["parts"])
        self.transfers = rows(whole["transfers"])
        self.evictions = rows(whole["evictions"])
        self.steals = rows(whole["steals"])
        ends = [its["end"] for its in [*self.tasks, *self.attempts, *self.parts]]
        last = max(ends, default=0)
        self.ran = [  # (task, its number, when it ended or recording did)
            (task, k, task["end"] if task["end"] >= 0 else max(last, task["begin"]))
            for k, task in enumerate(self.tasks)
            if task["begin"] >= 0
        ]
        self.arrows = [
            (edge["from"], edge["to"])
            for edge in self.edges
            if self.tasks[edge["from"]]["end"] >= 0 and self.tasks[edge["to"]]["begin"] >= 0
        ]


def ns(microseconds):
    whole = microseconds * 1000
    check(whole == int(whole), f"{microseconds} us are no whole nanoseconds")
    return int(whole)


def check_chrome(path, trace):
    chrome = chrome_trace.load(path)
    for what in chrome_trace.problems(chrome):
        check(False, f"{path.name}: {what}")
    events = chrome["traceEvents"]
    names = {
        (event["pid"], event["tid"]): event["args"]["name"]
        for event in events
        if event["name"] == "thread_name"
    }

    def boxes(category):
        return Counter(
            (
                names[event["pid"], event["tid"]].split(" (")[0],
                ns(event["ts"]),
                ns(event["ts"] + event["dur"]),
                event["name"],
                event["args"].get("task", event["args"].get("datum")),
            )
            for event in events
            if event["ph"] == "X" and event["cat"] == category
        )

    def type_of(task):
        return trace.types[trace.tasks[task]["type"]]

    check(
        boxes("task")
        == Counter(
            (trace.workers[task["worker"]], task["begin"], end, trace.types[task["type"]], k)
            for task, k, end in trace.ran
        ),
        f"{path.name}: tasks",
    )
    check(
        boxes("part")
        == Counter(
            (trace.workers[its["worker"]], its["begin"], its["end"], type_of(its["task"]), its["task"])
            for its in trace.parts
        ),
        f"{path.name}: parts",
    )
    check(
        boxes("attempt")
        == Counter(
            (
                trace.workers[its["worker"]],
                its["begin"],
                its["end"],
                type_of(its["task"]) + " (attempt)",
                its["task"],
            )
            for its in trace.attempts
        ),
        f"{path.name}: attempts",
    )
    check(
        boxes("transfer")
        == Counter(
            (
                trace.nodes[its["to"]],
                its["begin"],
                its["end"],
                f"from {trace.nodes[its['from']]}",
                its["datum"],
            )
            for its in trace.transfers
        ),
        f"{path.name}: transfers",
    )
    for thread, its in chrome_trace.threads(events).items():
        apart = all(begin >= end for (_, end), (begin, _) in zip(its, its[1:]))
        check(apart or names[thread].startswith("core"), f"{path.name}: {names[thread]}: {its}")
    instants = [event for event in events if event["ph"] == "i"]
    check(
        Counter((event["name"], ns(event["ts"])) for event in instants)
        == Counter(("eviction", its["at"]) for its in trace.evictions)
        + Counter(("steal", its["at"]) for its in trace.steals),
        f"{path.name}: evictions and steals",
    )
    begins = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    check(
        Counter((names[1, begins[k]["tid"]], ns(ends[k]["ts"])) for k in begins)
        == Counter(
            (lane_of(events, names, before), trace.tasks[after]["begin"])
            for before, after in trace.arrows
        ),
        f"{path.name}: arrows",
    )
    for event in events:
        if event["ph"] == "X" and event["cat"] == "task":
            task = trace.tasks[event["args"]["task"]]
            check(event["args"].get("label", "") == trace.labels[task["label"]], str(event))
            check(event["args"].get("outcome", "done") == OUTCOMES[task["outcome"]], str(event))
            check(ns(event["args"]["waited_us"]) == task["begin"] - task["ready"], str(event))
    check_counts([(ns(e["ts"]), e["args"]["tasks"]) for e in events if e["ph"] == "C"], trace, path)
    return chrome


def lane_of(events, names, task):
    (found,) = [
        names[event["pid"], event["tid"]]
        for event in events
        if event["ph"] == "X" and event["cat"] == "task" and event["args"]["task"] == task
    ]
    return found


def check_counts(counts, trace, path):
    """Tasks that were ready and that no worker had, where nothing else is in their way."""
    attempted = {its["task"] for its in trace.attempts}
    check(counts[0][0] == 0, f"{path.name}: {counts[:1]}")
    check(counts[-1][1] == 0, f"{path.name}: {counts[-1]} tasks are left")
    for (at, count), (until, _) in zip(counts, counts[1:]):
        sure = sum(
            1
            for k, task in enumerate(trace.tasks)
            if k not in attempted and 0 <= task["ready"] <= at and task["taken"] >= until
        )
        check(sure <= count, f"{path.name}: {count} tasks ready at {at}, of {sure}")
        check(count <= sure + len(attempted) + len(trace.tasks) - len(trace.ran), str(path.name))


def spoilt(chrome):
    """(what was done to it, a copy of it)"""
    kinds = {event["ph"]: k for k, event in enumerate(chrome["traceEvents"])}

    def change(what, phase, action):
        copied = copy.deepcopy(chrome)
        action(copied["traceEvents"][kinds[phase]], copied["traceEvents"])
        return what, copied

    yield change("no dur", "X", lambda event, _: event.pop("dur"))
    yield change("dur is text", "X", lambda event, _: event.update(dur="1"))
    yield change("negative ts", "X", lambda event, _: event.update(ts=-1))
    yield change("no pid", "i", lambda event, _: event.pop("pid"))
    yield change("unknown field", "i", lambda event, _: event.update(dur=1))
    yield change("unknown phase", "i", lambda event, _: event.update(ph="Z"))
    yield change("no scope", "i", lambda event, _: event.update(s="x"))
    yield change("unnamed thread", "i", lambda event, _: event.update(tid=999))
    yield change("flow without end", "f", lambda event, events: events.remove(event))
    yield change("flow without begin", "s", lambda event, events: events.remove(event))
    yield change("flow twice", "s", lambda event, events: events.append(dict(event)))
    yield change("flow backwards", "s", lambda event, _: event.update(ts=10**9))
    yield change("flow in no box", "f", lambda event, _: event.update(ts=10**9))
    yield change("no binding point", "f", lambda event, _: event.pop("bp"))
    yield change("counter of text", "C", lambda event, _: event.update(args={"tasks": "1"}))
    yield change("counter twice", "C", lambda event, events: events.append(dict(event)))
    yield change("name twice", "M", lambda event, events: events.append(dict(event)))

    def overlap(event, events):
        events.append({**event, "ts": event["ts"] + event["dur"] / 2})

    yield change("overlapping boxes", "X", overlap)


def check_csv(path, trace):
    with path.open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file, strict=True))
    check(len(lines) == len(trace.tasks), f"{path.name}: {len(lines)} lines")
    first = 0
    for k, (line, task) in enumerate(zip(lines, trace.tasks)):
        data = [its["datum"] for its in trace.accesses[first : first + task["accesses"]]]
        first += task["accesses"]
        parts = [its for its in trace.parts if its["task"] == k]
        moments = ["spawned", "ready", "asked", "taken", "admitted", "begin", "end"]
        expected = {
            "task": str(k),
            "type": trace.types[task["type"]],
            "label": trace.labels[task["label"]],
            "priority": str(task["priority"]),
            "parent": "" if task["parent"] < 0 else str(task["parent"]),
            "archs": str(task["archs"]),
            "outcome": OUTCOMES[task["outcome"]],
            "worker": "" if task["worker"] < 0 else trace.workers[task["worker"]],
            **{f"{at}_ns": "" if task[at] < 0 else str(task[at]) for at in moments},
            "attempts": str(sum(1 for its in trace.attempts if its["task"] == k)),
            "accesses": str(len(data)),
            "bytes": str(sum(trace.bytes[datum] for datum in data)),
            "parts": str(len(parts)),
            "executed_ns": str(sum(its["end"] - its["begin"] for its in [task, *parts]))
            if task["begin"] >= 0 and task["end"] >= 0
            else "",
        }
        check(line == expected, f"{path.name}: {line}, not {expected}")


def check_paje(path, trace, pj_dump):
    result = subprocess.run([pj_dump, path], capture_output=True, text=True, timeout=60)
    check(result.returncode == 0 and result.stderr == "", f"{path.name}: {result.stderr}")
    lines = [line.split(", ") for line in result.stdout.splitlines()]

    def us(seconds):
        return round(float(seconds) * 1e6)

    def plain(name):
        return name.replace('"', "'")

    found = Counter(
        (kind, row.split(" (")[0], us(begin), us(end))
        for what, row, kind, begin, end, *_ in (line for line in lines if len(line) > 5)
        if what == "State"
    )
    expected = Counter(
        ("Task", plain(trace.workers[task["worker"]]), task["begin"] // 1000, end // 1000)
        for task, _, end in trace.ran
    )
    expected += Counter(
        ("Task", plain(trace.workers[its["worker"]]), its["begin"] // 1000, its["end"] // 1000)
        for its in [*trace.attempts, *trace.parts]
    )
    expected += Counter(
        ("Transfer", trace.nodes[its["to"]], its["begin"] // 1000, its["end"] // 1000)
        for its in trace.transfers
    )
    check(found == expected, f"{path.name}: states {found - expected}, not {expected - found}")
    text = result.stdout
    for name, _ in Counter(trace.types[task["type"]] for task, _, _ in trace.ran).items():
        check(plain(name) in text, f"{path.name}: {name} is not there")
    kinds = Counter((line[0], line[2]) for line in lines)
    check(kinds["Link", "Dependency"] == len(trace.arrows), f"{path.name}: {kinds}")
    check(kinds["Link", "Movement"] == len(trace.transfers), f"{path.name}: {kinds}")
    check(kinds["Event", "Eviction"] == len(trace.evictions), f"{path.name}: {kinds}")
    check(kinds["Event", "Steal"] == len(trace.steals), f"{path.name}: {kinds}")
    check(kinds["Container", "Worker"] + kinds["Container", "Memory node"] >= 8, str(kinds))
    last = max((end for _, _, end in trace.ran), default=0)
    ready = [line for line in lines if line[0] == "Variable"]
    check(bool(ready) or last == 0, f"{path.name}: no counts")
    check(all(float(line[6]) >= 0 for line in ready), f"{path.name}: {ready}")


def check_dot(path, trace, dot):
    result = subprocess.run([dot, "-Tsvg", path], capture_output=True, text=True, timeout=60)
    check(result.returncode == 0 and result.stderr == "", f"{path.name}: {result.stderr}")
    svg = ElementTree.fromstring(result.stdout)
    space = "{http://www.w3.org/2000/svg}"
    classes = Counter(group.get("class") for group in svg.iter(f"{space}g"))
    check(classes["node"] == len(trace.tasks), f"{path.name}: {classes}")
    check(classes["edge"] >= len(trace.edges), f"{path.name}: {classes}")
    titles = Counter(
        group.find(f"{space}title").text
        for group in svg.iter(f"{space}g")
        if group.get("class") == "edge"
    )
    for edge in trace.edges:
        check(titles[f"{edge['from']}->{edge['to']}"] >= 1, f"{path.name}: {edge}")
    # The path is one chain, which the last task ends.
    red = [
        group.find(f"{space}title").text
        for group in svg.iter(f"{space}g")
        if group.get("class") == "node"
        and any(shape.get("stroke") == "red" for shape in group.iter(f"{space}polygon"))
    ]
    links = [
        group.find(f"{space}title").text
        for group in svg.iter(f"{space}g")
        if group.get("class") == "edge"
        and any(shape.get("stroke") == "red" for shape in group.iter(f"{space}path"))
    ]
    finished = [(task["end"], k) for k, task in enumerate(trace.tasks) if task["end"] >= 0]
    check(bool(red) == bool(finished), f"{path.name}: {red}")
    check(len(links) == max(len(red) - 1, 0), f"{path.name}: {red} and {links}")
    follows = dict(link.split("->") for link in links)
    at = next((task for task in red if task not in follows.values()), None)
    for _ in links:
        begin = trace.tasks[int(follows[at])]["begin"]
        came = min(trace.tasks[int(at)]["end"], trace.tasks[int(follows[at])]["spawned"])
        check(came <= begin, f"{path.name}: {at} -> {follows[at]}")
        at = follows[at]
    if finished:
        check(trace.tasks[int(at)]["end"] == max(finished)[0], f"{path.name}: ends with {at}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    pj_dump = shutil.which("pj_dump")
    dot = shutil.which("dot")
    if pj_dump is None:
        print("SKIPPED: Paje files were not read: pj_dump is missing (Debian's pajeng)")
    if dot is None:
        print("SKIPPED: DOT files were not read: dot is missing (Debian's graphviz)")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder], check=True, timeout=60)
        paths = sorted(Path(folder).glob("?.json"))
        check(len(paths) == 5, f"{len(paths)} traces")
        for path in paths:
            trace = Trace(path)
            chrome = check_chrome(path.with_suffix(".chrome.json"), trace)
            check_csv(path.with_suffix(".csv"), trace)
            if pj_dump is not None:
                check_paje(path.with_suffix(".paje"), trace, pj_dump)
            if dot is not None:
                check_dot(path.with_suffix(".dot"), trace, dot)
            names = [event["args"].get("name", "") for event in chrome["traceEvents"]
                     if event["ph"] == "M"]  # fmt: skip
            check(path.stem != "3" or "core 0 (2)" in names, f"{path.name}: nothing overlaps")
            if path == paths[0]:
                for what, changed in spoilt(chrome):
                    check(chrome_trace.problems(changed), f"chrome_trace takes {what}")
    print(f"{len(paths)} traces, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
