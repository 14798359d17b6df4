#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks files against the trace-event format, as ui.perfetto.dev and chrome://tracing read it.

What is checked: the fields that each phase must and may have and their types, that flows come in
pairs and meet boxes, that boxes of a thread are nested or apart, that all processes and threads
have names. Phases that hetsched does not write are refused.

Usage: chrome_trace.py FILE...
"""

import json
import sys
from collections import Counter, defaultdict
from decimal import Decimal

NUMBER = (int, Decimal)
ANY = {"ph": str, "pid": int, "tid": int, "name": str}
TIMED = {**ANY, "ts": NUMBER}
FIELDS = {  # of each phase: those that must be there, those that may
    "M": ({**ANY, "args": dict}, {}),
    "X": ({**TIMED, "dur": NUMBER, "cat": str}, {"args": dict, "cname": str}),
    "i": ({**TIMED, "s": str}, {"args": dict, "cat": str}),
    "C": ({**TIMED, "args": dict}, {"cat": str}),
    "s": ({**TIMED, "id": int, "cat": str}, {"args": dict}),
    "f": ({**TIMED, "id": int, "cat": str, "bp": str}, {"args": dict}),
}
METADATA = {
    "process_name": ("name", str),
    "thread_name": ("name", str),
    "process_sort_index": ("sort_index", int),
    "thread_sort_index": ("sort_index", int),
}


def load(path):
    """Numbers are exact; a key that comes twice is an error."""

    def once(pairs):
        keys = [key for key, _ in pairs]
        if len(set(keys)) != len(keys):
            raise ValueError(f"a key comes twice: {sorted(keys)}")
        return dict(pairs)

    def refuse(constant):
        raise ValueError(f"{constant} is no JSON")

    with open(path, encoding="utf-8") as file:
        return json.load(
            file, parse_float=Decimal, parse_constant=refuse, object_pairs_hook=once
        )


def field_problems(event):
    """What is wrong with one event by itself."""
    if not isinstance(event, dict) or event.get("ph") not in FIELDS:
        return ["has no phase that is known"]
    must, may = FIELDS[event["ph"]]
    found = [f"lacks {key}" for key in must if key not in event]
    for key, value in event.items():
        kind = must.get(key) or may.get(key)
        if kind is None:
            found.append(f"has {key}, which its phase does not")
        elif not isinstance(value, kind) or isinstance(value, bool):
            found.append(f"{key} is {value!r}")
    if found:
        return found
    if any(event.get(key, 0) < 0 for key in ("ts", "dur")):
        found.append("is at a negative time")
    if event["ph"] == "M":
        argument, kind = METADATA.get(event["name"], (None, None))
        if argument is None:
            found.append(f"is metadata of no kind: {event['name']}")
        elif set(event["args"]) != {argument} or not isinstance(event["args"][argument], kind):
            found.append(f"is {event['name']} of {event['args']}")
    if event["ph"] == "i" and event["s"] not in ("g", "p", "t"):
        found.append(f"has scope {event['s']}")
    if event["ph"] == "f" and event["bp"] != "e":
        found.append(f"has binding point {event['bp']}")
    if event["ph"] == "C" and not all(isinstance(n, NUMBER) for n in event["args"].values()):
        found.append("counts what is no number")
    return found


def name_problems(events):
    """Processes and threads must have one name and place each, and those that are used, some."""
    given = Counter()
    places = Counter()
    for event in events:
        if event["ph"] == "M":
            whole = event["name"].startswith("process")
            given[event["name"], event["pid"], None if whole else event["tid"]] += 1
            if event["name"] == "thread_sort_index":
                places[event["pid"], event["args"]["sort_index"]] += 1
    yield from (f"{key} comes twice" for key, count in given.items() if count > 1)
    yield from (f"{key} is the place of two" for key, count in places.items() if count > 1)
    for event in events:
        if ("process_name", event["pid"], None) not in given:
            yield f"process {event['pid']} has no name"
        if event["ph"] in "Xisf" and ("thread_name", event["pid"], event["tid"]) not in given:
            yield f"thread {event['tid']} of process {event['pid']} has no name"


def threads(events):
    """(pid, tid): its boxes as (begin, end), by begin, outer ones first."""
    boxes = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            boxes[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    return {key: sorted(its, key=lambda box: (box[0], -box[1])) for key, its in boxes.items()}


def box_problems(boxes):
    for thread, its in boxes.items():
        open_ends = []
        for begin, end in its:
            while open_ends and open_ends[-1] <= begin:
                open_ends.pop()
            if open_ends and end > open_ends[-1]:
                yield f"thread {thread}: a box from {begin} to {end} ends after the one around it"
            open_ends.append(end)


def flow_problems(events, boxes):
    """Each begins once and ends once, not before, and both within a box."""
    covered = {thread: set(its) for thread, its in boxes.items()}

    def is_in_box(event):
        its = covered.get((event["pid"], event["tid"]), ())
        return any(begin <= event["ts"] and event["ts"] <= end for begin, end in its)

    flows = defaultdict(dict)
    for event in events:
        if event["ph"] in "sf":
            if event["ph"] in flows[event["cat"], event["name"], event["id"]]:
                yield f"flow {event['id']}: {event['ph']} comes twice"
            flows[event["cat"], event["name"], event["id"]][event["ph"]] = event
            if not is_in_box(event):
                yield f"flow {event['id']}: {event['ph']} is in no box"
    for (_, _, number), ends in flows.items():
        if set(ends) != {"s", "f"}:
            yield f"flow {number} has only {sorted(ends)}"
        elif ends["f"]["ts"] < ends["s"]["ts"]:
            yield f"flow {number} ends before it begins"


def counter_problems(events):
    last = {}
    for event in events:
        if event["ph"] == "C":
            key = (event["pid"], event["name"])
            if key in last and event["ts"] <= last[key]:
                yield f"counter {key}: two values at {event['ts']}"
            last[key] = event["ts"]


def problems(trace):
    """All that is wrong, in words; nothing if the trace is in order."""
    if not isinstance(trace, dict) or not isinstance(trace.get("traceEvents"), list):
        return ["is no object with traceEvents"]
    found = []
    if trace.get("displayTimeUnit", "ms") not in ("ms", "ns"):
        found.append(f"displayTimeUnit is {trace['displayTimeUnit']!r}")
    if not isinstance(trace.get("otherData", {}), dict):
        found.append("otherData is no object")
    for key in set(trace) - {"traceEvents", "displayTimeUnit", "otherData"}:
        found.append(f"{key} is not known")
    events = trace["traceEvents"]
    for number, event in enumerate(events):
        found += [f"event {number} {what}" for what in field_problems(event)]
    if not found:
        boxes = threads(events)
        found += sorted(set(name_problems(events)))
        found += box_problems(boxes)
        found += flow_problems(events, boxes)
        found += counter_problems(events)
    return found


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    count = 0
    for path in sys.argv[1:]:
        try:
            found = problems(load(path))
        except (OSError, ValueError) as error:
            found = [str(error)]
        for what in found:
            print(f"{path}: {what}")
        count += len(found)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
