#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that programs on devices move no byte that they need not: replays which tasks used which
data where, and what was evicted, and compares the bytes that this takes into each memory node with
those that were moved there. From which of several valid copies is the library's choice.

Usage: replay_memory.py PROGRAM [ARGUMENT...]
"""

import collections
import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HOST = 0
CACHES = ["lru", "fifo", "reuse", "nextuse"]
DEVICES = ["emu:1", "emu:2"]


class Datum:
    def __init__(self):
        self.valid = {HOST}
        self.writers = []  # nodes of tasks that have begun and write it


class Replay:
    """Knows uses and evictions only; `needed` are the bytes they take into each node."""

    def __init__(self):
        self.data = collections.defaultdict(Datum)
        self.peers = set()
        self.needed = collections.Counter()
        self.prefetched = 0
        self.errors = []

    def fetch(self, datum, node, size):
        """The fewest transfers that make a copy valid at the node; how many bytes."""
        if node in datum.valid:
            return 0
        if HOST in (node, *datum.valid) or any((v, node) in self.peers for v in datum.valid):
            into = [node]
        else:
            into = [HOST, node]
        for place in into:
            self.needed[place] += size
            datum.valid.add(place)
        return size * len(into)

    def take(self, event, name, node, to, how, size):
        datum = self.data[name]
        if event == "peers":
            self.peers.add((node, to))
        elif event == "admit":
            if datum.writers:  # it comes behind the writer, on the same device
                if {node} != set(datum.writers):
                    self.errors.append(f"datum {name} is used at {node} while it is written")
            elif "R" in how:
                self.fetch(datum, node, size)
        elif event == "begin":
            if "R" in how and not datum.writers and node not in datum.valid:
                self.errors.append(f"datum {name} is read at {node}, where it is not")
            if "W" in how:
                datum.writers.append(node)
        elif event == "end":
            if how != "R":
                datum.writers.remove(node)
            if how == "W":
                datum.valid = {node}
            elif how == "failed":
                self.errors.append(f"a task failed on datum {name}")
        elif event == "write_back":
            if datum.valid == {node}:
                self.fetch(datum, HOST, size)
        elif event == "evict":
            datum.valid.discard(node)
            if not datum.valid:
                self.errors.append(f"datum {name} left {node}, its only valid place")
        elif event == "prefetch":
            self.prefetched += self.fetch(datum, node, size)
        elif event == "forget":
            del self.data[name]
        else:
            self.errors.append(f"unknown event {event}")


def check(program, arguments, devices, cache):
    """One run; a list of what is wrong with it."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "memory.csv"
        environment = {"HETSCHED_MEMORY_TRACE": str(trace)}
        command = [program, *arguments, "--gpus", devices, "--cache", cache, "--json"]
        result = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=100
        )
        if result.returncode != 0:
            return [f"status {result.returncode}: {result.stderr}"]
        replay = Replay()
        moved = collections.Counter()
        counts = collections.Counter()
        with trace.open(newline="") as lines:
            for row in csv.DictReader(lines):
                node, to = int(row["node"]), int(row["to"] or 0)
                size = int(row["bytes"])
                counts[row["event"]] += 1
                if row["event"] == "moved":
                    moved[node, to] += size
                else:
                    replay.take(row["event"], row["datum"], node, to, row["how"], size)
    errors = replay.errors
    into = collections.Counter()
    for (_, to), size in moved.items():
        into[to] += size
    if into != replay.needed:
        errors.append(f"moved {dict(into)}, needed {dict(replay.needed)}")
    told = json.loads(result.stdout.splitlines()[0])["devices"]
    for number, device in enumerate(told, start=1):
        for key, bytes_moved in [
            ("bytes_from_host", moved[HOST, number]),
            ("bytes_to_host", moved[number, HOST]),
            ("bytes_from_peers", sum(b for (f, t), b in moved.items() if t == number and f != HOST)),
        ]:
            if device[key] > bytes_moved:  # the program counts the timed part only
                errors.append(f"{device['name']}: {key} {device[key]}, in the trace {bytes_moved}")
    if not counts["begin"] or not sum(moved.values()):
        errors.append("nothing happened on devices")
    print(
        f"{Path(program).name} {devices} {cache}: {sum(moved.values())} bytes moved in "
        f"{counts['moved']} transfers, {sum(replay.needed.values()) - replay.prefetched} needed, "
        f"{replay.prefetched} prefetched; {counts['begin']} uses, {counts['evict']} evictions"
    )
    return errors


def main():
    program, *arguments = sys.argv[1:]
    failures = 0
    for devices in DEVICES:
        for cache in CACHES:
            for error in check(program, arguments, devices, cache):
                failures += 1
                print(f"FAILED: {Path(program).name} {devices} {cache}: {error}")
    return 1 if failures else 0


sys.exit(main())
