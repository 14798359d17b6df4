#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes inputs of some size in which each byte asks for as much memory or time as it can: what would
show a reader that allocates more than a multiple of its input's size, or needs more than linear time.
The limits are in fuzz.hpp. Dependencies between groups of tasks are left out: they have a limit of
their own, detail/graphs/edge_limit.hpp.

Usage: dense.py FOLDER [BYTES]      writes FOLDER/TARGET/NAME, of some BYTES each (1000000)
"""

import sys
from itertools import chain, repeat
from pathlib import Path


def joined(before, parts, after, size, separator=","):
    """`before`, then as many of `parts` as fit, then `after`."""
    taken, room = [], size - len(before) - len(after)
    for part in parts:
        room -= len(part) + len(separator)
        if room < 0:
            break
        taken.append(part)
    return before + separator.join(taken) + after


def numbers(form):
    k = 0
    while True:
        yield form.format(k, k + 1)
        k += 1


def json_inputs(size):
    """What any reader of JSON has to do before it knows more."""
    yield "nested", "[" * size
    yield "numbers", joined("[", repeat("0"), "]", size)
    yield "objects", joined("[", repeat("{}"), "]", size)
    yield "arrays", joined("[", repeat("[]"), "]", size)
    yield "strings", joined("[", repeat('""'), "]", size)
    yield "keys", joined("{", numbers('"{:x}":0'), "}", size)
    yield "long_key", '{"' + "k" * (size // 2) + '":0,"' + "k" * (size // 2) + '":0}'
    yield "long_string", '{"format":"' + "x" * size + '"}'
    yield "controls", '{"' + "\x01" * size


def graph_json(size):
    head = '{"format":"graph-1","data":[8],"tasks":['
    task = '{{"type":"a","accesses":[[0,"{}"]]}}'.format
    half = size // 2 // (len(task("R")) + 1)
    yield "data", joined('{"format":"graph-1","data":[', repeat("0"), '],"tasks":[]}', size)
    yield "tasks", joined(head, repeat('{"type":"a"}'), "]}", size)
    yield "names", joined(head, numbers('{{"type":"{:x}"}}'), "]}", size)
    yield "chain", joined(head, repeat(task("RW")), "]}", size)
    yield "readers_then_one", joined(head, chain(repeat(task("R"), half), [task("W")]), "]}", size)
    yield "after", joined(head, chain(['{"type":"a"}'], repeat('{"type":"a","after":[0]}')), "]}", size)
    many = '{"type":"a","after":[%s]}' % ",".join(map(str, range(size // 40)))
    yield "many_after", joined(head, chain(repeat('{"type":"a"}', size // 40), [many]), "]}", size)


def graph_dot(size):
    yield "nodes", joined("digraph{", numbers("{:x}"), "}", size, " ")
    yield "edges", joined("digraph{", numbers("{:x}->{:x}"), "}", size, " ")
    yield "same_edges", joined("digraph{a", repeat("->b;a"), "}", size, "")
    yield "star", joined("digraph{", numbers("a->x{}"), "}", size, " ")
    label = 'digraph{node[type=t label="' + "x" * (size // 2) + '"]'
    yield "label_of_all", joined(label, numbers("{:x}"), "}", size, " ")
    yield "defaults", joined(label, numbers("{:x} node[priority=1]"), "}", size, " ")
    unknown = "digraph{node[" + "".join(f"a{k}=b " for k in range(size // 16)) + "]"
    yield "unknown_of_all", joined(unknown, numbers("{:x}"), "}", size, " ")
    yield "edge_defaults", joined(
        "digraph{edge[" + "".join(f"a{k}=b " for k in range(size // 16)) + "]", repeat("a->b"), "}",
        size, " ")
    yield "names_of_types", joined("digraph{", numbers("{0:x}[type=t{0:x}]"), "}", size, " ")
    yield "comments", joined("digraph{", repeat("/**/"), "}", size, "")
    yield "open_comment", "digraph{" + "/*" * (size // 2)
    yield "string", 'digraph{"' + "\\\n" * (size // 2)
    yield "ports", "digraph{a" + ":b" * (size // 2) + "}"
    yield "brackets", "digraph{a" + "[]" * (size // 2) + "}"


def plan(size):
    head = '{"format":"schedule-1","workers":[[0,1]],"graph":{"tasks":'
    steps = size // 6
    yield "steps", joined(head + str(steps) + '},"steps":[', repeat("[0,0]", steps), "]}", size * 2)
    yield "workers", joined('{"format":"schedule-1","workers":[', repeat("[0,1]"),
                            '],"graph":{"tasks":0},"steps":[]}', size)


def platform(size):
    head = ('{"format":"platform-1","name":"p","cpu_cores":100000,"cpu_workers":1,"gpu_workers":0,'
            '"memory_nodes":["m"],"bandwidth_bytes_per_s":[[null]],"latency_s":[[0]],"kernels":[')
    kernel = ('{{"kernel":"{0:x}","precision":"double","tile":1,"library":"l","algorithms":[{1}],'
              '"data_bytes":0,"cpu":{{"mean_s":1}}{2}}}')
    kernels = (kernel.format(k, '"a"', "") for k in range(size))
    yield "kernels", joined(head, kernels, "]}", size)
    algorithms = ",".join(f'"{k:x}"' for k in range(size // 8))
    yield "algorithms", head + kernel.format(0, algorithms, "") + "]}"
    groups = ",".join(f'"{k}":1' for k in range(1, min(size // 10, 99_999)))
    yield "groups", head + kernel.format(0, '"a"', ',"cpu_groups":{' + groups + "}") + "]}"
    gpus = min(1000, int((size / 12) ** 0.5))
    rows = [",".join("null" if k == g else "1" for k in range(gpus + 1)) for g in range(gpus + 1)]
    rows = ",".join(f"[{row}]" for row in rows)
    times = ",".join("[" + ",".join("0" * (gpus + 1)) + "]" for _ in range(gpus + 1))
    names = ",".join(f'"{k:x}"' for k in range(gpus + 1))
    routes = ",".join(f'"{k:x}>{j:x}":[0]' for k in range(gpus) for j in range(gpus) if j != k)
    yield "routes", ('{"format":"platform-1","name":"p","cpu_cores":1,"cpu_workers":1,"gpu_workers":'
                     f'{gpus},"gpu_memory_bytes":1,"memory_nodes":[{names}],'
                     f'"bandwidth_bytes_per_s":[{rows}],"latency_s":[{times}],'
                     f'"topology":{{"links":[["l",1]],"routes":{{{routes}}}}},"kernels":['
                     + kernel.format(0, '"a"', "") + "]}")


def model_file(size):
    head = '{"format":"times-1","machine":"m","class":"cpu","hardware":"h","kinds":['
    kind = ('{{"type":"a","footprint":"{:x}","data_bytes":0,"count":1,"mean_ns":0,"drifts":0,'
            '"newest_ns":[0]}}')
    yield "kinds", joined(head, numbers(kind), "]}", size)
    yield "same_kinds", joined(head, repeat(kind.format(1)), "]}", size)


def trace(size):
    columns = ["type", "label", "priority", "parent", "archs", "outcome", "worker", "spawned",
               "ready", "asked", "taken", "admitted", "begin", "end", "accesses"]
    nothing = {"parent", "worker", "spawned", "ready", "asked", "taken", "admitted", "begin", "end"}
    lists = '{"format":"trace-1","workers":[],"nodes":[],"types":[{"name":"t"}],"labels":[""],'
    rows = size // 40

    def tasks(count, **others):
        values = {its: -1 if its in nothing else 3 if its == "outcome" else 0 for its in columns}
        return ",".join(f'"{its}":[{others.get(its) or ",".join([str(values[its])] * count)}]'
                        for its in columns)

    yield "tasks", lists + '"tasks":{' + tasks(rows) + "}}"
    yield "nested_tasks", (lists + '"tasks":{' + tasks(
        size // 60, parent=",".join(map(str, range(-1, size // 60 - 1)))) + "}}")
    yield "one_column", joined(lists + '"tasks":{"type":[', repeat("0"), "]}}", size)
    yield "data", joined(lists + '"data_bytes":[', repeat("0"), '],"tasks":{' + tasks(0) + "}}", size)
    yield "labels", joined('{"format":"trace-1","labels":[', repeat('""'), "]}", size)
    worker = '{{"name":"{:x}","arch":0,"node":0,"cores":1}}'
    yield "workers", joined('{"format":"trace-1","nodes":[{"name":"n","bytes":0}],"workers":[',
                            numbers(worker), '],"types":[],"labels":[""],"tasks":{' + tasks(0) + "}}",
                            size)
    yield "about", joined('{"format":"trace-1","about":{', numbers('"{:x}":""'), "}}", size)


def matrix_market(size):
    yield "array", joined(f"array real general\n{size // 2 - 20} 1\n", repeat("1", size // 2 - 20),
                          "\n", size, "\n")
    entries = size // 6 - 10
    yield "symmetric", (f"coordinate real symmetric\n{entries} {entries} {entries}\n"
                        + "9 1 1\n" * entries)
    yield "hermitian", (f"coordinate complex hermitian\n{entries} {entries} {size // 8 - 10}\n"
                        + "9 1 1 0\n" * (size // 8 - 10))
    yield "pattern", f"coordinate pattern general\n{size} {size} {size // 4 - 10}\n" + "1 1\n" * (size // 4 - 10)
    yield "empty", f"coordinate real general\n{65536 + size // 2} {65536 + size // 2} 0\n" + "\n" * (size - 60)
    yield "comments", "coordinate real general\n" + "%\n" * (size // 2)


def harwell_boeing(size):
    entries = size // 2 - 100
    lines = (entries + 39) // 40
    yield "entries", (f"{lines + 1} 1 {lines} 0\nPUA {entries} 1 {entries} 0\n(2I9) (40I1)\n"
                      f"{1:9}{entries + 1:9}\n" + ("1" * 40 + "\n") * lines)
    pairs = size // 3 - 100
    lines, more = (pairs + 39) // 40, (2 * pairs + 39) // 40
    yield "pairs", (f"{1 + lines + more} 1 {lines} {more}\nCUA {pairs} 1 {pairs} 0\n"
                    f"(2I9) (40I1) (40F1.0)\n{1:9}{pairs + 1:9}\n" + ("1" * 40 + "\n") * (lines + more))
    columns = size // 2 - 100
    lines = (columns + 1 + 39) // 40
    last = columns + 1 - 40 * (lines - 1)
    yield "columns", (f"{lines} {lines} 0 0\nPUA {65536 + size // 2} {columns} 0 0\n(40I1) (40I1)\n"
                      + ("1" * 40 + "\n") * (lines - 1) + "1" * last + "\n")
    group = "(" * 8 + "1000I1" + ")" * 8
    yield "formats", f"1 1 0 0\nPUA 1 1 0 0\n(1000(1000({'1000X,' * 9000}I1))) {group}\n"
    yield "groups", "1 1 0 0\nPUA 1 1 0 0\n(" + "1000(1000()),1000()," * 3000 + "I1) (I1)\n"


def devices(size):
    yield "emulated", joined("", repeat("emu:62"), "", size, ";")
    yield "none", joined("", repeat("emu:0"), "", size, ";")
    yield "options", "emu:62?" + "&".join(["fail=pin@1"] * (size // 12))
    yield "numbers", joined("cuda:", numbers("{}"), "", size)
    yield "colons", "emu" + ":" * size
    yield "equals", "emu?" + "=" * size


def environment(size):
    yield "number", "SEED=" + "1" * size
    yield "word", "BIND=" + "x" * size
    yield "path", "TRACE=" + "/" * size


def reuse_profile(size):
    data = size // 8 - 10
    yield "data", f"hetsched reuse 1\ndata {data}\n" + "0 0 0 0\n" * data
    yield "claim", f"hetsched reuse 1\ndata {data}\n" + "0" * (8 * data)


def main():
    folder = Path(sys.argv[1])
    size = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    targets = [devices, environment, graph_dot, graph_json, harwell_boeing, matrix_market, model_file,
               plan, platform, reuse_profile, trace]
    for target in targets:
        its = folder / target.__name__
        its.mkdir(parents=True, exist_ok=True)
        json = target in [graph_json, model_file, plan, platform, trace]
        for name, text in chain(target(size), json_inputs(size) if json else []):
            (its / name).write_text(text, encoding="latin-1", newline="")


if __name__ == "__main__":
    main()
