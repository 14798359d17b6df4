#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that programs on devices move no byte that they need not: replays which tasks used which
data where, and what was evicted, and compares the bytes that this takes into each memory node with
those that were moved there. From which of several valid copies is the library's choice.

Usage: replay_memory.py PROGRAM [ARGUMENT...]
       replay_memory.py --simulated PROGRAM [ARGUMENT...]   the same of devices in virtual time
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
CACHES = ["lru", "fifo", "reuse", "nextuse", "luf"]
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
        elif event == "cancel":
            if how == "W":
                datum.writers.remove(node)
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


def replayed(command, trace, environment):
    """One run; what it prints, what its trace says of every node, the bytes that it says moved."""
    result = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=100
    )
    replay = Replay()
    moved = collections.Counter()
    counts = collections.Counter()
    if result.returncode != 0:
        replay.errors.append(f"status {result.returncode}: {result.stderr}")
        return None, replay, moved, counts
    with trace.open(newline="") as lines:
        for row in csv.DictReader(lines):
            node, to = int(row["node"]), int(row["to"] or 0)
            size = int(row["bytes"])
            counts[row["event"]] += 1
            if row["event"] == "moved":
                moved[node, to] += size
            else:
                replay.take(row["event"], row["datum"], node, to, row["how"], size)
    into = collections.Counter()
    for (_, to), size in moved.items():
        into[to] += size
    if into != replay.needed:
        replay.errors.append(f"moved {dict(into)}, needed {dict(replay.needed)}")
    if not counts["begin"] or not sum(moved.values()):
        replay.errors.append("nothing happened on devices")
    return json.loads(result.stdout.splitlines()[0]), replay, moved, counts


def check(program, arguments, devices, cache):
    """One run on emulated devices; a list of what is wrong with it."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "memory.csv"
        command = [program, *arguments, "--gpus", devices, "--cache", cache, "--json"]
        told, replay, moved, counts = replayed(
            command, trace, {"HETSCHED_MEMORY_TRACE": str(trace)}
        )
    errors = replay.errors
    for number, device in enumerate(told["devices"] if told else [], start=1):
        for key, bytes_moved in [
            ("bytes_from_host", moved[HOST, number]),
            ("bytes_to_host", moved[number, HOST]),
            ("bytes_from_peers", sum(b for (f, t), b in moved.items() if t == number and f != HOST)),
        ]:
            if device[key] > bytes_moved:  # the program counts the timed part only
                errors.append(f"{device['name']}: {key} {device[key]}, in the trace {bytes_moved}")
    tell(program, f"{devices} {cache}", replay, moved, counts)
    return errors


def check_simulated(program, arguments, comm, cache):
    """The same in virtual time."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "memory.csv"
        options = ["--comm", comm, "--cache", cache, "--memory-trace", str(trace), "--json"]
        told, replay, moved, counts = replayed([program, *arguments, *options], trace, {})
    if told and told["bytes"] != sum(moved.values()):
        replay.errors.append(f"{told['bytes']} bytes, in the trace {sum(moved.values())}")
    tell(program, f"{comm} {cache}", replay, moved, counts)
    return replay.errors


def tell(program, how, replay, moved, counts):
    print(
        f"{Path(program).name} {how}: {sum(moved.values())} bytes moved in "
        f"{counts['moved']} transfers, {sum(replay.needed.values()) - replay.prefetched} needed, "
        f"{replay.prefetched} prefetched; {counts['begin']} uses, {counts['evict']} evictions"
    )


def main():
    arguments = sys.argv[1:]
    simulated = arguments[0] == "--simulated"
    program, *arguments = arguments[simulated:]
    failures = 0
    for where in ["model", "shared"] if simulated else DEVICES:
        for cache in CACHES:
            for error in (check_simulated if simulated else check)(program, arguments, where, cache):
                failures += 1
                print(f"FAILED: {Path(program).name} {where} {cache}: {error}")
    return 1 if failures else 0


sys.exit(main())
