#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a trace file, format "trace-4", of a tile Cholesky factorisation that a list scheduler runs
on cores and GPUs with memories and links, in virtual time; for tests of what reads traces.

Usage: make_trace.py OUTPUT [--tiles N] [--cores P] [--gpus G] [--seed S] [--name SCHEDULER]
"""

import argparse
import heapq
import json
import random

TIMES = {  # on a core, on a GPU
    "potrf": (3.6e7, 2.4e7), "trsm": (7.2e7, 1e7), "syrk": (6.8e7, 6.4e6), "gemm": (1.3e8, 5.2e6),
}
TYPES = list(TIMES)
TILE = 960 * 960 * 8
LINK = 6e9  # bytes per second
CORES_ONLY, ANYWHERE = 1, 3


def cholesky(n):
    """Tasks in program order: type, label, accesses (datum, mode), priority."""
    tile = lambda i, j: i * (i + 1) // 2 + j
    for k in range(n):
        yield "potrf", f"potrf({k})", [(tile(k, k), "RW")], 3 * (n - k)
        for i in range(k + 1, n):
            accesses = [(tile(k, k), "R"), (tile(i, k), "RW")]
            yield "trsm", f"trsm({i},{k})", accesses, 3 * (n - k) - 1
        for i in range(k + 1, n):
            accesses = [(tile(i, k), "R"), (tile(i, i), "RW")]
            yield "syrk", f"syrk({i},{k})", accesses, 3 * (n - i) - 1
            for j in range(k + 1, i):
                accesses = [(tile(i, k), "R"), (tile(j, k), "R"), (tile(i, j), "RW")]
                yield "gemm", f"gemm({i},{j},{k})", accesses, 3 * (n - i) - 2


class Run:
    def __init__(self, options):
        self.random = random.Random(options.seed)
        self.tasks = list(cholesky(options.tiles))
        self.workers = [(f"core {k}", 0, 0) for k in range(options.cores)]
        self.workers += [(f"GPU {k}", 1, 1 + k) for k in range(options.gpus)]
        count = len(self.tasks)
        self.columns = {name: [-1] * count for name in
                        ["worker", "spawned", "ready", "asked", "taken", "admitted", "begin", "end"]}
        self.valid = {}  # nodes with a copy, of each datum
        self.link = [0] * (1 + options.gpus)
        self.transfers = []
        self.steals = []
        self.edges = []
        self.attempts = []
        self.link_up()
        self.run()

    def link_up(self):
        writer, readers = {}, {}
        self.successors = [[] for _ in self.tasks]
        self.missing = [0] * len(self.tasks)
        for v, (_, _, accesses, _) in enumerate(self.tasks):
            before = set()
            for datum, mode in accesses:
                before.update(readers.get(datum, []) if mode == "RW" else [])
                before.update([writer[datum]] if datum in writer else [])
                if mode == "RW":
                    writer[datum], readers[datum] = v, []
                else:
                    readers.setdefault(datum, []).append(v)
            for u in sorted(before):
                self.edges.append((u, v))
                self.successors[u].append(v)
                self.missing[v] += 1

    def fetch(self, datum, node, now):
        """When the datum is there."""
        valid = self.valid.setdefault(datum, {0: 0})
        if node in valid:
            return max(now, valid[node])
        if 0 not in valid:
            source = min(valid)
            self.move(datum, source, 0, max(now, valid[source]), source)
        return max(now, valid[0]) if node == 0 else self.move(datum, 0, node, max(now, valid[0]), node)

    def move(self, datum, source, to, now, link):
        begin = max(now, self.link[link])
        end = begin + round(TILE / LINK * 1e9)
        self.link[link] = end
        self.valid[datum][to] = end
        self.transfers.append((datum, TILE, source, to, begin, end))
        return end

    def start(self, v, w, now):
        """Runs a task on a worker that is free now."""
        kind, _, accesses, _ = self.tasks[v]
        _, arch, node = self.workers[w]
        columns = self.columns
        asked = max(now, columns["ready"][v])
        taken = asked + self.random.randrange(500, 3000)
        admitted = taken + (self.random.randrange(20000, 200000) if node and v % 11 == 0 else 0)
        begin = max([admitted] + [self.fetch(datum, node, admitted) for datum, _ in accesses])
        end = begin + round(TIMES[kind][arch] * self.random.uniform(0.9, 1.3))
        for datum, mode in accesses:
            if mode == "RW":
                self.valid[datum] = {node: end}
        for name, value in [("worker", w), ("asked", asked), ("taken", taken),
                            ("admitted", admitted), ("begin", begin), ("end", end)]:
            columns[name][v] = value
        if v % 5 == 0:
            self.steals.append((v, w, taken))
        return end

    def run(self):
        ready = [], []  # what is best on cores, and on GPUs, by priority
        spawned = 0
        for v in range(len(self.tasks)):
            spawned += 300
            self.columns["spawned"][v] = spawned
        events = [(0, 0, w) for w in range(len(self.workers))]  # time, kind, worker or task

        def push(v, now):
            kind, _, _, priority = self.tasks[v]
            self.columns["ready"][v] = max(now, self.columns["spawned"][v])
            gpu = kind != "potrf" and len(self.workers) > 1
            heapq.heappush(ready[gpu], (-priority, v))

        def pick(w):
            first, second = (ready[1], ready[0]) if self.workers[w][1] else (ready[0], ready[1])
            if first:
                return heapq.heappop(first)[1]
            if second and not (self.workers[w][1] and second is ready[0]):
                # A core takes over from GPUs only where they have more than enough.
                return heapq.heappop(second)[1] if len(second) > 12 or self.gpus() == 0 else None
            return None

        idle = []
        for v in range(len(self.tasks)):
            if self.missing[v] == 0:
                push(v, 0)
        while events:
            now, kind, its = heapq.heappop(events)
            if kind == 1:
                for v in self.successors[its]:
                    self.missing[v] -= 1
                    if self.missing[v] == 0:
                        push(v, now)
                idle.append(self.columns["worker"][its])
            else:
                idle.append(its)
            if events and events[0][0] == now:
                continue
            waiting = []
            for w in sorted(idle, reverse=True):
                v = pick(w)
                if v is None:
                    waiting.append(w)
                else:
                    heapq.heappush(events, (self.start(v, w, now), 1, v))
            idle = waiting

    def gpus(self):
        return sum(arch for _, arch, _ in self.workers)

    def stop_some(self):
        """Attempts at some tasks, while these waited, on cores that were idle then."""
        columns = self.columns
        busy = [[] for _ in self.workers]
        for v, w in enumerate(columns["worker"]):
            busy[w].append((columns["begin"][v], columns["end"][v]))
        gaps = []
        for w, pieces in enumerate(busy):
            pieces.sort()
            gaps += [(end, begin, w) for (_, end), (begin, _) in zip(pieces, pieces[1:])
                     if self.workers[w][1] == 0 and begin - end > 10000]
        for v in range(len(self.tasks) - 1, -1, -1):
            for k, (begin, end, w) in enumerate(gaps):
                begin, end = max(begin, columns["ready"][v]), min(end, columns["taken"][v])
                if end - begin > 1000 and len(self.attempts) < 20:
                    self.attempts.append((v, w, begin, end))
                    del gaps[k]
                    break


def columns_of(names, rows):
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output")
    for name, default in [("tiles", 10), ("cores", 4), ("gpus", 1), ("seed", 1)]:
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--name", default="list")
    parser.add_argument("--attempts", action="store_true")
    options = parser.parse_args()
    run = Run(options)
    if options.attempts:
        run.stop_some()
    tasks = run.tasks
    labels = [""] + [label for _, label, _, _ in tasks]
    trace = {
        "format": "trace-4", "simulated": True, "scheduler": options.name,
        "about": {"platform": "a made-up machine", "graph": f"Cholesky, {options.tiles} tiles"},
        "bounds_ns": {}, "dropped": 0,
        "workers": [{"name": name, "arch": arch, "node": node, "cores": 1}
                    for name, arch, node in run.workers],
        "nodes": [{"name": "host", "bytes": 0}] +
                 [{"name": f"GPU {k}", "bytes": 10**9} for k in range(options.gpus)],
        "types": [{"name": name, "expected_ns": [round(t) for t in TIMES[name]]} for name in TYPES],
        "labels": labels,
        "data_bytes": [TILE] * (options.tiles * (options.tiles + 1) // 2),
        "tasks": {
            "type": [TYPES.index(kind) for kind, _, _, _ in tasks],
            "label": list(range(1, len(tasks) + 1)),
            "priority": [priority for _, _, _, priority in tasks],
            "parent": [-1] * len(tasks),
            "archs": [CORES_ONLY if kind == "potrf" else ANYWHERE for kind, _, _, _ in tasks],
            "outcome": [0] * len(tasks),
            **run.columns,
            "accesses": [len(accesses) for _, _, accesses, _ in tasks],
        },
        "accesses": columns_of(["datum", "mode"], [its for task in tasks for its in task[2]]),
        "edges": columns_of(["from", "to"], run.edges),
        "attempts": columns_of(["task", "worker", "begin", "end"], run.attempts),
        "transfers": columns_of(["datum", "bytes", "from", "to", "begin", "end"],
                                sorted(run.transfers, key=lambda its: its[4])),
        "evictions": columns_of(["datum", "node", "at", "dirty"], []),
        "steals": columns_of(["task", "thief", "at"], sorted(run.steals, key=lambda its: its[2])),
    }
    with open(options.output, "w", encoding="utf-8") as out:
        parts = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in trace.items()]
        out.write("{" + ",\n".join(parts) + "}\n")


if __name__ == "__main__":
    main()
