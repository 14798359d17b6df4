#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the command lines of the programs: JSON lines with the promised keys and right values, and
bad input answered by one line on stderr, nothing on stdout and status 2.

Usage: programs.py NAME PROGRAM
"""

import itertools
import json
import operator
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

SCHEDULERS = ["ws", "eager", "random", "priority"]
ALL_SCHEDULERS = [
    *SCHEDULERS, "dataaware", "locality", "heft:xkaapi", "heft", "heftp", "dmda", "dmdar", "dmdas",
    "heterogeneous", "heteroprio", "heteroprio:affinity", "heteroprio:auto", "multiprio", "darts",
    "dualhp", "dual43", "accel32", "dual2", "multigrain", "scioto:single", "scioto:double",
]  # fmt: skip
FORMS = [  # not in "all"
    "heftp:let", "heftp:gb", "heftp:mms",
    *[f"heteroprio:{form}" for form in "hp sp cgv pp pc pcep pcept area hetindex lookahead".split()],
    "portfolio",
]  # fmt: skip
DEVICE_PROGRAMS = ["axpy", "cholesky", "gemm", "jacobi", "lu", "qr", "recursive_cholesky"]
DEVICE_KEYS = {
    "name", "hits", "misses", "evictions_clean", "evictions_dirty", "bytes_from_host",
    "bytes_to_host", "bytes_from_peers", "bytes_ahead", "bytes_ahead_used",
}  # fmt: skip
SOLVER_KEYS = {
    "kernel", "n", "tile", "scheduler", "cpus", "group", "seconds", "gflops", "gemm_gflops", "bound_s",
    "idle", "tasks", "steals", "devices", "residual",
}  # fmt: skip

# An SPD matrix, then ones that must be refused: (file contents, what the message names).
SPD = "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 4\n2 1 1\n2 2 3\n"
BAD_MATRICES = {
    "not_spd.mtx": (SPD.replace("1 1 4", "1 1 0.1"), "column 1 (tile 0, 0)"),
    "nan.mtx": (SPD.replace("2 1 1", "2 1 nan"), ""),
    "not_square.mtx": ("%%MatrixMarket matrix array real general\n2 1\n1\n2\n", "not square"),
    "unsymmetric.mtx": ("%%MatrixMarket matrix array real general\n2 2\n4\n1\n2\n3\n", "(2, 1)"),
    "cut_off.mtx": (SPD[:-6], "cut_off.mtx"),
    "empty.mtx": ("", "empty.mtx"),
}

# The same for any square matrix: 0 3 in the first row, 2 1 in the second.
GENERAL = "%%MatrixMarket matrix array real general\n2 2\n0\n2\n3\n1\n"
BAD_GENERAL = {
    name: BAD_MATRICES[name] for name in ["not_square.mtx", "cut_off.mtx", "empty.mtx"]
}

CLAIM_KEYS = {
    "id", "section", "workload", "says", "verdict", "why", "published", "ours", "against", "facts",
}  # fmt: skip

failures = []

# Tests that want devices say which, and with how much memory: the emulation fills all of it.
os.environ["HETSCHED_DEVICES"] = "none"


def check(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED:", what)


def run(program, *arguments, **environment):
    result = subprocess.run(
        [program, *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
        timeout=240,  # of the 300 s of a test
    )
    return result.returncode, result.stdout, result.stderr


def json_lines(program, *arguments):
    status, out, err = run(program, *arguments, "--json")
    check(status == 0, f"{Path(program).name} {' '.join(arguments)}: status {status}: {err}")
    return [json.loads(line) for line in out.splitlines()]


def refuses(program, named, *arguments, **environment):
    name = f"{Path(program).name} {' '.join(arguments)} {environment or ''}"
    status, out, err = run(program, *arguments, **environment)
    check(status == 2, f"{name}: status {status} instead of 2")
    check(out == "", f"{name}: wrote to stdout: {out[:200]!r}")
    check(err.count("\n") == 1 and named in err, f"{name}: {err!r} does not name {named!r}")


def schedulers_of(kernel):
    return ALL_SCHEDULERS if kernel in DEVICE_PROGRAMS else SCHEDULERS


def test_devices(program, kernel, n):
    """Emulated devices with little memory, every cache; every scheduler; and what is refused."""
    size = ["--n", str(n), "--tile", "64", "--cpus", "1", "--repeat", "2"]
    misses = 0
    for cache in ["lru", "fifo", "reuse", "nextuse", "luf"]:
        for row in json_lines(program, *size, "--scheduler", "random", "--cache", cache,
                              "--gpus", "emu:2", "--device-memory", "400KB"):
            name = f"{kernel} on devices, {cache}"
            check(row["cpus"] == 1 and row["bound_s"] is None, f"{name}: {row}")
            check(0 <= row["residual"] <= 1e-13, f"{name}: residual {row['residual']}")
            names = [device["name"] for device in row["devices"]]
            check(names == ["emulated device 0 (400 KiB)", "emulated device 1 (400 KiB)"], name)
            for device in row["devices"]:
                check(device.keys() == DEVICE_KEYS, f"{name}: {device}")
                misses += device["misses"]
    check(misses > 0, f"{kernel}: nothing went to the devices")
    rows = json_lines(program, *size, "--gpus", "emu:2@16MB")
    check([row["scheduler"] for row in rows] == ALL_SCHEDULERS, f"{kernel} on devices: {rows}")
    for row in rows:
        check(0 <= row["residual"] <= 1e-13 and len(row["devices"]) == 2, f"{kernel}: {row}")
    for form in FORMS[:: 1 if kernel == "cholesky" else len(FORMS) - 1]:
        for row in json_lines(program, *size, "--gpus", "emu:2@16MB", "--scheduler", form):
            check(row["scheduler"] == form and row["residual"] <= 1e-13, f"{kernel}: {row}")
    own = ["--gpus", "emu@1MB;emu@2MB?latency=1us", "--device-memory", "3MB"]
    for row in json_lines(program, *size, "--scheduler", "eager", *own):
        names = [device["name"] for device in row["devices"]]
        check("1 MiB" in names[0] and "2 MiB" in names[1], f"{kernel} {own}: {names}")
    status, out, _ = run(program, *size, "--scheduler", "dmda", HETSCHED_DEVICES="emu@16MB")
    check(status == 0 and "1 workers and 1 device" in out, f"{kernel}: no device in {out}")
    check("emulated device 0" in out and "hits" in out, f"{kernel}: no counts in {out}")
    for arguments, named in [
        (["--gpus", "tpu"], "'tpu'"),
        (["--gpus", "emu:2@1XB"], "1XB"),
        (["--device-memory", "12x"], "12x"),
        (["--device-memory", "0"], "--device-memory"),
        (["--gpus", "none", "--device-memory", "MB"], "--device-memory"),
        (["--cache", "mru"], "mru"),
    ]:
        refuses(program, named, "--n", "10", *arguments)


def test_static(program, tasks):
    """A schedule from a file, of one graph for two cores; and what is refused."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "schedule.json")
        size = ["--n", "300", "--tile", "64", "--gpus", "none", "--scheduler"]

        def write(steps):
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"format": "schedule-1", "workers": [[0, 2]], "graph": {"tasks": tasks},
                           "steps": steps}, file)

        write([[task, task % 2] for task in range(tasks)])
        for options in ["", ",steal", ",gs,merge"]:
            for row in json_lines(program, *size, f"static:{path}{options}", "--cpus", "2"):
                check(row["tasks"] == tasks and row["residual"] <= 1e-13, f"{program}: {row}")
        refuses(program, path, *size, f"static:{path}", "--cpus", "1")
        refuses(program, path, "--n", "350", *size[2:], f"static:{path}", "--cpus", "2")
        write([[task, task % 2] for task in range(tasks - 1)])
        refuses(program, path, *size, f"static:{path}", "--cpus", "2")
        refuses(program, "missing.json", *size, "static:missing.json", "--cpus", "2")
        refuses(program, "static:search", *size, "static:search,g", "--cpus", "2")
        refuses(program, "names no schedule", *size, "static:", "--cpus", "2")


def test_kernel(program, kernel, tasks, n=300, small=50, too_large=1000000):
    """What holds for every program with a row per scheduler; returns the rows for n."""
    rows = json_lines(program, "--n", str(n), "--tile", "64", "--cpus", "2", "--seed", "7")
    names = schedulers_of(kernel)
    check([row["scheduler"] for row in rows] == names, f"{kernel}: schedulers of {rows}")
    for row in rows:
        name = f"{kernel} --json, {row['scheduler']}"
        check(SOLVER_KEYS <= row.keys(), f"{name}: lacks {SOLVER_KEYS - row.keys()}")
        check(row["kernel"] == kernel and row["n"] == n and row["tile"] == 64, f"{name}: {row}")
        check(row["cpus"] == 2 and row["tasks"] == tasks, f"{name}: {row}")
        check(row["group"] == 1, f"{name}: {row}")
        check(0 <= row["residual"] <= 1e-13, f"{name}: residual {row['residual']}")
        check(0 <= row["idle"] <= 1, f"{name}: {row}")
    one = json_lines(program, "--n", str(small), "--scheduler", "eager", "--repeat", "1")
    check(len(one) == 1 and one[0]["repeat"] == 1, f"{kernel}: {one}")
    in_groups = ["--n", str(n), "--scheduler", "ws", "--cpus", "1", "--repeat", "1", "--group", "2"]
    for row in json_lines(program, *in_groups):
        check(row["cpus"] == 1 and row["group"] == 2, f"{kernel} {in_groups}: {row}")
        check(0 <= row["residual"] <= 1e-13, f"{kernel} {in_groups}: {row}")
    check(len(json_lines(program, "--n", "0")) == len(names), f"{kernel} --n 0")
    status, out, _ = run(program, "--help")
    forms = [*FORMS, "static:FILE[,g|,gs][,steal][,merge]"] if kernel in DEVICE_PROGRAMS else []
    check(status == 0 and ", ".join([*names, *forms, "all"]) in out, f"{kernel} --help: {out}")
    check("residual" in out, f"{kernel} --help")
    for arguments, named in [
        (["--n", "-1"], "--n"),
        (["--n", "12x"], "12x"),
        (["--tile", "0"], "--tile"),
        (["--cpus", "0"], "--cpus"),
        (["--cpus", "99999999999999999999"], "--cpus"),
        (["--group", "0"], "--group"),
        (["--scheduler", "heftp:most"], "heftp:most"),
        (["--repeat", "0"], "--repeat"),
        (["--frobnicate"], "frobnicate"),
        (["stray"], "stray"),
        (["--n", str(too_large)], "--n"),
    ]:
        refuses(program, named, *arguments)
    refuses(program, "HETSCHED_NCPU", "--n", "10", HETSCHED_NCPU="many")
    if kernel in DEVICE_PROGRAMS:
        test_devices(program, kernel, n)
    else:
        refuses(program, "--gpus", "--n", "10", "--gpus", "none")
    return rows


def check_flops(rows, flops):
    for row in rows:
        rate = row["gflops"] * row["seconds"] * 1e9 / flops
        check(0.99 < rate < 1.01, f"{row['kernel']}: {rate} times the operations expected")
        check(0 < row["bound_s"], f"{row['kernel']}: no bound: {row}")


def test_solver(program, kernel, tasks, flops):
    rows = test_kernel(program, kernel, tasks)
    check_flops(rows, flops)
    for row in rows:
        check(row["gemm_gflops"] > 0, f"{kernel}: no rate of products: {row}")


def test_memory_bound(program, kernel, tasks, flops, bytes_moved, **sizes):
    rows = test_kernel(program, kernel, tasks, **sizes)
    check_flops(rows, flops)
    for row in rows:
        moved = row["gbytes_s"] * row["seconds"] * 1e9 / bytes_moved
        check(0.99 < moved < 1.01, f"{kernel}: {moved} times the bytes expected")
        check(row["gemm_gflops"] is None, f"{kernel}: {row}")


def test_axpy(program):
    test_memory_bound(program, "axpy", 157, 2e4, 24e4, n=10000, too_large=10**12)


def test_jacobi(program):
    points = 20 * 300**2
    test_memory_bound(program, "jacobi", 25 * 21, 5 * points, 24 * points)
    for row in json_lines(program, "--n", "65", "--tile", "64", "--sweeps", "3"):
        check(row["tasks"] == 4 * (3 + 2) and row["residual"] <= 1e-13, f"jacobi: {row}")
    refuses(program, "--sweeps", "--sweeps", "-1")


def test_sparse_lu(program):
    size = ["--n", "1728", "--tile", "32", "--repeat", "1"]
    flops = set()
    for row in json_lines(program, *size):
        check(row["n"] == 1728 and row["tasks"] > 100, f"sparse_lu: {row}")
        check(row["residual"] <= 1e-14, f"sparse_lu: {row}")
        flops.add(round(row["gflops"] * row["seconds"], 9))
    check(len(flops) == 1, f"sparse_lu: other flops under another scheduler: {flops}")
    for row in json_lines(program, *size, "--gpus", "emu:1@300KB", "--cpus", "1", "--scheduler", "multigrain"):
        check(row["residual"] <= 1e-14 and row["devices"][0]["misses"] > 0, f"sparse_lu: {row}")
    own, eigen = json_lines(program, *size, "--scheduler", "ws", "--compare")
    check(eigen["scheduler"] == "Eigen" and eigen["residual"] <= 1e-13, f"sparse_lu: {eigen}")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.mtx")
        banner = "%%MatrixMarket matrix coordinate real general\n"
        with open(path, "w", encoding="utf-8") as file:
            file.write(banner + "3 3 4\n1 2 2\n2 1 3\n3 3 4\n3 1 1\n")
        (row,) = json_lines(program, "--matrix", path, "--scheduler", "ws")
        check(row["n"] == 3 and row["tasks"] == 0 and row["residual"] <= 1e-15, f"sparse_lu: {row}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(banner.replace("real", "complex") + "2 2 3\n1 2 2 1\n2 1 0 3\n2 2 1 1\n")
        (row,) = json_lines(program, "--matrix", path, "--scheduler", "ws")
        check(row["n"] == 2 and row["residual"] <= 1e-15, f"sparse_lu: {row}")
        for entries, why in [
            ("2 3 1\n1 1 1\n", "the matrix is 2 x 3, not square"),
            ("2 2 1\n1 1 1\n", "singular: column 1 is empty"),
            ("2 2 2\n1 1 nan\n2 2 1\n", "has entries that are not finite"),
        ]:
            with open(path, "w", encoding="utf-8") as file:
                file.write(banner + entries)
            refuses(program, why, "--matrix", path)


def test_block_lu(program):
    size = ["--n", "240", "--tile", "20", "--super", "4", "--repeat", "1"]
    flops = set()
    others, updates, supers = 12 + 116, 369, 47  # getrf and trsm; of blocks, of super-blocks
    tasks = {"fine": others + updates, "coarse": others + supers, "both": others + supers + updates}
    for grain, count in tasks.items():
        for row in json_lines(program, *size, "--grain", grain):
            check(row["tasks"] == count and row["n"] == 240, f"block_lu {grain}: {row}")
            check(row["residual"] <= 1e-15, f"block_lu: {row}")
            flops.add(round(row["gflops"] * row["seconds"], 6))
    check(len(flops) == 1, f"block_lu: other flops in another grain: {flops}")
    dense = ["--n", "60", "--tile", "20", "--empty", "0", "--scheduler", "multigrain"]
    for row in json_lines(program, *dense):  # 2/3 n^3
        check(abs(row["gflops"] * row["seconds"] - 2 / 3 * 60**3 * 1e-9) < 1e-11, f"block_lu: {row}")
    (row,) = json_lines(program, "--n", "41", "--tile", "20", "--empty", "100", "--scheduler", "ws")
    check(row["n"] == 60 and row["tasks"] == 3, f"block_lu of a diagonal: {row}")
    for row in json_lines(program, *size, "--gpus", "emu:1@64KB", "--cpus", "1", "--scheduler", "multigrain"):
        check(row["residual"] <= 1e-15 and row["devices"][0]["misses"] > 0, f"block_lu: {row}")
    for depth, transforms in [("1", 36), ("2", 9)]:  # which leave no block empty
        butterflies = ["--butterflies", depth, "--diagonal", "zero", "--grain", "fine"]
        for row in json_lines(program, *size, *butterflies):
            check(row["residual"] <= 1e-14, f"block_lu with butterflies: {row}")
            check(row["tasks"] == transforms + 12 + 132 + 506, f"block_lu with butterflies: {row}")
            check(f"0.0 % after butterflies of depth {depth}" in row["matrix"], f"block_lu: {row}")
            flops = row["gflops"] * row["seconds"] * 1e9
            check(abs(flops - 2 / 3 * 240**3) < 100, f"block_lu with butterflies: {row}")
    refuses(program, "--super", "--super", "0")
    refuses(program, "--empty", "--empty", "101")
    refuses(program, "--grain", "--grain", "medium")
    refuses(program, "--diagonal", "--diagonal", "small")
    refuses(program, "--butterflies", "--butterflies", "21")
    refuses(program, "--butterflies: 3 needs a multiple of 8", *size, "--butterflies", "3")
    refuses(program, "0 as pivot of row", *size, "--diagonal", "zero") # of any block: the first in time


def test_fibonacci(program):
    for row in test_kernel(program, "fibonacci", 177, n=10, small=5):
        check(row["gflops"] is None and row["gemm_gflops"] is None, f"fibonacci: {row}")
        check(row["bound_s"] is None and row["ns_per_task"] > 0, f"fibonacci: {row}")
        check(row["residual"] == 0, f"fibonacci: wrong number: {row}")
    for row in json_lines(program, "--n", "30", "--cutoff", "25"):
        check(row["tasks"] == 25 and row["residual"] == 0, f"fibonacci --cutoff: {row}")
    refuses(program, "--cutoff", "--cutoff", "many")


def test_factorisation(program, kernel, good_text, bad_matrices, tasks, flops):
    """A solver that takes --matrix."""
    test_solver(program, kernel, tasks, flops)
    with tempfile.TemporaryDirectory() as folder:
        good = Path(folder) / "good.mtx"
        good.write_text(good_text)
        for row in json_lines(program, "--matrix", str(good)):
            check(row["n"] == 2 and row["residual"] <= 1e-15, f"{kernel} of {good_text!r}: {row}")
            errors = [row["factor_residual"], row["backward_error"], row.get("orthogonality", 0)]
            check(row["residual"] == max(errors), f"{kernel}: residual is not the largest: {row}")
            check(("orthogonality" in row) == (kernel == "qr"), f"{kernel}: {row}")
        refuses(program, "--n", "--matrix", str(good), "--n", "3")
        refuses(program, "no_such", "--matrix", str(Path(folder) / "no_such.mtx"))
        refuses(program, folder, "--matrix", folder)
        for name, (text, named) in bad_matrices.items():
            path = Path(folder) / name
            path.write_text(text)
            refuses(program, named, "--matrix", str(path))


def test_cholesky(program, kernel, tasks):
    test_factorisation(program, kernel, SPD, BAD_MATRICES, tasks, 300 * 301 * 601 / 6)
    if kernel == "cholesky" and os.environ.get("HETSCHED_TEST_JSON") == "true":
        test_kept_times(program)
        test_static(program, tasks)


def test_lu(program):
    bad = BAD_GENERAL | {
        "singular.mtx": (GENERAL.replace("3\n1", "0\n0"), "singular at column 1 (block column 0)"),
        "nan.mtx": (GENERAL.replace("3\n1", "nan\n1"), "NaN at column 1 (block column 0)"),
    }
    test_factorisation(program, "lu", GENERAL, bad, 19, 300 * (4 * 300**2 - 895) / 6)


def test_qr(program):
    bad = BAD_GENERAL | {
        "nan.mtx": (GENERAL.replace("3\n1", "nan\n1"), "column 1 (tile 0, 0)"),
        "singular.mtx": (GENERAL.replace("3\n1", "0\n0"), "singular"),
        "infinity.mtx": (GENERAL.replace("0\n2", "0\ninf"), "column 0 (tile 0, 0)"),
    }
    test_factorisation(program, "qr", GENERAL, bad, 60, 300 * (4 * 300**2 + 1814) / 3)


def test_approximation_ratios(program):
    rows = json_lines(program)
    table = [(row["solver"], row["n"]) for row in rows if row["part"] == "table 1"]
    sizes = [120, 160, 220, 260, 360, 380, 660, 700, 760, 780, 920, 940]
    check(table == [(s, n) for n in sizes for s in ("dual2", "accel32", "heft")], str(table))
    most = {"dual43": 100 / 3, "accel32": 50, "dual2": 100}
    parts = {}
    for row in rows:
        if row["part"] == "time":
            check(row["seconds"] > 0, f"approximation_ratios: {row}")
            continue
        parts.setdefault(row["part"], []).append((row["solver"], row["instances"]))
        check(row["exceeded"] == 0 and 0 <= row["mean_percent"] <= row["most_percent"], str(row))
        limit = most.get(row["solver"], float("inf")) * (1.005 if row["solver"] == "dual43" else 1)
        check(row["most_percent"] <= limit, f"approximation_ratios: {row}")
        check((row["published_most_percent"] is None) == (row["part"] != "table 1"), str(row))
    three = ["dual2", "accel32", "dual43"]
    check(parts["any times, n <= 100"] == list(zip(three, [100, 100, 10])), str(parts))
    check(parts["small, from the optimum"] == list(zip(three, [200] * 3)), str(parts))
    check(parts["as published, n <= 100"] == [("dual43", 60)], str(parts))
    refuses(program, "--tolerance", "--tolerance", "-1")
    refuses(program, "--seed", "--seed", "many")


def test_worst_cases(program):
    """The ratios that Kumar 2017 and Bleuse et al. 2015 prove, and never more than they tend to."""
    rows = json_lines(program)
    check([row["scheduler"] for row in rows].count("heteroprio") == 10 and len(rows) == 16, str(rows))
    for row in rows:
        check(row["least"] <= row["ratio"] <= row["limit"] + 1e-5, f"worst_cases: {row}")
    refuses(program, "stray", "stray")


def test_task_cost(program):
    rows = json_lines(program, "--n", "100", "--repeat", "1", "--scheduler", "ws")
    graphs = ["no_data", "independent", "chain", "cholesky", "nested", "nested_chain"]
    check([row["kernel"] for row in rows] == graphs, str(rows))
    for row in rows:
        tasks = 11480 if row["kernel"] == "cholesky" else 100
        check(row["tasks"] == tasks and row["ns_per_task"] > 0, f"task_cost: {row}")
        count = row["instructions_per_task"]
        check(count is None or 50 < count < 20000, f"task_cost: {row}")
        # a difference of two measured times: on a loaded machine of either sign, by chance a whole number
        check(isinstance(row["recording_ns_per_task"], (int, float)), f"task_cost: {row}")


def test_decision_cost(program):
    rows = json_lines(program, "--n", "50", "--pairs", "1", "--no-count", "--devices", "emu:2@1MB")
    graphs = ["independent_cores", "cholesky_cores", "independent_split", "cholesky_split"]
    order = ["ws", "locality", "ws", "heft", "ws", "dmdas"]
    check([(row["kernel"], row["scheduler"]) for row in rows] == [(g, s) for g in graphs for s in order],
          str(rows))  # fmt: skip
    for row in rows:
        check(row["tasks"] == (2600 if "cholesky" in row["kernel"] else 50), f"decision_cost: {row}")
        share = {"independent_split": 0.5, "cholesky_split": 1222 / 2600}.get(row["kernel"], 0)
        check(abs(row["on_devices"] - share) < 1e-6, f"decision_cost: {row}, not {share}")
        check(0 < row["ns_per_task_low"] <= row["ns_per_task"] <= row["ns_per_task_high"], str(row))
        if row["scheduler"] == "ws":
            check(row["ratio"] is None and row["limit"] is None and row["verdict"] == "", str(row))
            continue
        low, high, limit = row["ratio_low"], row["ratio_high"], row["limit"]
        check(limit == (1.5 if row["scheduler"] == "locality" else 3), str(row))
        verdict = "met" if high <= limit else "missed" if low > limit else "unresolved"
        check(row["verdict"] == verdict, f"decision_cost: {row}, not {verdict}")
    refuses(program, "--graph", "--graph", "star")
    refuses(program, "abacus", "--devices", "abacus", "--no-count")


def test_overhead(program):
    few = ["--quick", "--repeat", "1", "--cpus", "1"]
    sizes = {"independent": 500, "independent_data": 500, "chain": 500,
             "cholesky_graph": 8, "cholesky_again": 8, "fibonacci": 15, "fork_join": 15}
    for graph, n in sizes.items():
        rows = json_lines(program, *few, "--case", graph, "--n", str(n))
        check(rows and rows[0]["runtime"] == "hetsched", f"overhead {graph}: {rows}")
        for row in rows:
            middle = row["value" if "verdict" in row else "median"]
            check(row["n"] == n and row["low"] <= middle <= row["high"], f"overhead: {row}")
            if "verdict" in row:  # one repetition: the interval is a point
                met = row["value"] >= row["goal"]
                check(row["target"] == graph and row["verdict"] == ("met" if met else "missed"),
                      f"overhead: {row}")
            else:
                check(row["kernel"] == graph and row["median"] > 0, f"overhead: {row}")
    for graph in ["cholesky", "lu", "qr"]:
        (ours, *_) = json_lines(program, *few, "--case", graph, "--n", "500", "--tile", "128")
        check(ours["unit"] == "GFlop/s" and 0 < ours["of_bound"] < 1.5, f"overhead: {ours}")
    for arguments, named in [(["--case", "sort"], "sort"), (["--scheduler", "x"], "'x'"),
                             (["--n", "5"], "--n")]:
        refuses(program, named, *arguments)


SPARSE_PHASES = ["analyse", "factor", "solve", "total", "refactor"]


def test_sparse_solvers(program):
    """Small systems by those solvers that were built: this library's and Eigen's always are."""
    few = ["--repeat", "1", "--limit", "60"]
    cases = [
        (["--case", "convection", "--k", "6"], 216, 1296),
        (["--case", "laplace", "--k", "6", "--clock", "processor"], 216, 1296),
        (["--case", "circuit", "--n", "60", "--cpus", "1"], 63, None),
    ]
    for arguments, n, entries in cases:
        settings, *rows = json_lines(program, *few, *arguments)
        check(settings["repeat"] == 1 and settings["cores"] > 0, f"sparse_solvers: {settings}")
        check(settings["machine"] and settings["compiler"], f"sparse_solvers: {settings}")
        check((settings["clock"] == "processor") == ("laplace" in arguments), str(settings))
        ours = [row["cpus"] for row in rows if row["solver"] == "hetsched"]
        check(ours == ([1, 2] if "convection" in arguments else [1]), f"sparse_solvers: {rows}")
        check(any(row["solver"] == "eigen" for row in rows), f"sparse_solvers: {rows}")
        definite = {row["solver"] for row in rows} & {"hetsched_cholesky", "cholmod"}
        check(not definite or "laplace" in arguments, f"sparse_solvers: {rows}")
        check("hetsched_cholesky" in definite or "laplace" not in arguments, str(rows))
        rows = [row for row in rows if "failure" not in row]
        for row in rows:
            check(row["rows"] == n and entries in (None, row["entries"]), f"sparse_solvers: {row}")
            check(0 <= row["backward_error"] <= 1e-12 and row["accurate"] == 1, str(row))
            parts = sum(row[f"{phase}_s"] for phase in SPARSE_PHASES[:3])
            check(abs(row["total_s"] / parts - 1) < 1e-6, f"sparse_solvers: {row}")
            for phase in SPARSE_PHASES:
                low, high = row[f"{phase}_low_s"], row[f"{phase}_high_s"]
                check(0 < low <= row[f"{phase}_s"] <= high, f"sparse_solvers: {row}")
                others = [other[f"{phase}_s"] for other in rows
                          if "hetsched" not in other["solver"] and other["cpus"] <= row["cpus"]]
                expected = row[f"{phase}_s"] / min(others)
                check(abs(row[f"{phase}_ratio"] / expected - 1) < 1e-6, f"sparse_solvers: {row}")
        flops = [row["flops"] for row in rows if row["solver"] == "hetsched"]
        check(all(0 < number < 1e7 for number in flops), f"sparse_solvers: {flops}")
    with tempfile.TemporaryDirectory() as where:
        file = Path(where) / "system.mtx"
        file.write_text(SPD)
        few += ["--cpus", "1"]
        _, *rows = json_lines(program, *few, "--matrix", str(file))
        check(rows[0]["rows"] == 2 and rows[0]["entries"] == 4, f"sparse_solvers: {rows}")
        file.write_text(SPD.replace("1 1 4", "1 1 0").replace("2 2 3\n2", "2 2 3\n2"))
        _, *rows = json_lines(program, *few, "--matrix", str(file))  # not definite
        check(not {row["solver"] for row in rows} & {"hetsched_cholesky", "cholmod"}, str(rows))
        for name in ["nan.mtx", "not_square.mtx", "cut_off.mtx", "empty.mtx"]:
            file = Path(where) / name
            file.write_text(BAD_MATRICES[name][0])
            refuses(program, str(file), "--matrix", str(file))
        file.write_text("%%MatrixMarket matrix array real general\n2 2\n1\n1\n0\n0\n")
        status, _, err = run(program, *few, "--matrix", str(file))
        check(status == 1 and err.count("\n") == 1 and "hetsched" in err, f"singular: {err}")
    status, out, _ = run(program, *few, "--case", "laplace", "--k", "6")
    check(status == 0 and "laplace 6: 216 rows" in out, f"sparse_solvers: {out}")
    check("hetsched 1 takes, of the best peer's time: analyse" in out, f"sparse_solvers: {out}")
    for arguments, named in [(["--case", "sort"], "sort"), (["--k", "x"], "--k"),
                             (["--n", "5"], "--n"), (["--limit", "0"], "--limit"),
                             (["--clock", "sand"], "sand"),
                             (["--matrix", "nowhere.mtx"], "nowhere.mtx"),
                             (["--matrix", "a.mtx", "--k", "3"], "--matrix"),
                             (["--repeat", "-1"], "--repeat")]:  # fmt: skip
        refuses(program, named, *arguments)


def on_device(rows):
    """The rows are of the emulated device that HETSCHED_DEVICES asks for in these tests."""
    for row in rows:
        check(row["emulated"] == 1 and row["device"].startswith("emulated device 0"), str(row))
    return rows


def test_pipeline(program):
    os.environ["HETSCHED_DEVICES"] = "emu@16MB?latency=2ms&kernel=2ms"
    rows = on_device(json_lines(program, "--quick"))
    check([row["mode"] for row in rows] == ["sequential", "results", "all", "timed"], str(rows))
    check([row["window"] for row in rows] == [1, 1, 4, 4], str(rows))
    for row in rows:
        check(row["ideal_s"] >= 16 * 2e-3 and row["seconds"] >= 17 * 2e-3, f"pipeline: {row}")
        check(row["transfers_s"] >= 2 * 16 * 2e-3, f"pipeline: {row}")
        check(row["kernels_s"] >= 16 * 2e-3, f"pipeline: {row}")
    one, _, all_of_them, timed = rows
    check(timed["overlap"] > 0.3, f"pipeline: timing kernels undid the overlap: {timed}")
    check(one["overlap"] < 0.02 and one["hidden"] < 0.05, f"pipeline: {one}")
    # on an idle machine 0.9 of 0.94
    check(0.3 < all_of_them["overlap"] <= 1 and all_of_them["hidden"] > 0.3, str(all_of_them))
    check(all_of_them["seconds"] < one["seconds"], f"pipeline: {rows}")
    rows = json_lines(program, "--quick", "--n", "3", "--tile", "5", "--scheduler", "all")
    check(len(rows) == 16 and rows[0]["bytes"] == 20 and rows[0]["tasks"] == 3, str(rows))
    status, out, _ = run(program, "--quick", "--n", "3")
    check(status == 0 and out.startswith("EMULATED") and out.count("  EMULATED\n") == 4, out)
    refuses(program, "--window", "--window", "0")
    refuses(program, "HETSCHED_DEVICES", HETSCHED_DEVICES="none")
    refuses(program, "abacus", HETSCHED_DEVICES="abacus")


def test_saxpy_overhead(program):
    os.environ["HETSCHED_DEVICES"] = "emu?latency=10us"
    rows = json_lines(program, "--quick", "--repeat", "1")
    check([row["on"] for row in rows] == 4 * ["cpu", "device"], str(rows))
    on_device(rows[1::2])
    for row in rows:
        check(row["seconds"] > 0 and row["serial_s"] > 0, f"saxpy_overhead: {row}")
        ratio = row["ratio"] * row["serial_s"] / row["seconds"]
        check(0.999 < ratio < 1.001, f"saxpy_overhead: {row}")
    rows = json_lines(program, "--n", "1001", "--blocks", "7", "--on", "device", "--repeat", "2")
    check(len(rows) == 1 and rows[0]["n"] == 1001 and rows[0]["blocks"] == 7, str(rows))
    refuses(program, "--on", "--on", "abacus")
    refuses(program, "--blocks", "--blocks", "x")


def test_kept_times(program):
    """Schedulers that ask for times find those of earlier runs."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HETSCHED_MODEL_DIR"] = folder
        small = ["--n", "200", "--tile", "64", "--repeat", "1", "--scheduler", "dmda"]
        counts = []
        for _ in range(2):
            json_lines(program, *small)
            (file,) = Path(folder).glob("*/*.times.json")
            kinds = json.loads(file.read_text())["kinds"]
            counts.append(sum(kind["count"] for kind in kinds if kind["type"] == "gemm"))
        check(counts == [4, 8], f"times kept of gemm: {counts}")
        del os.environ["HETSCHED_MODEL_DIR"]


def test_gpu_linalg(program):
    os.environ["HETSCHED_DEVICES"] = "emu?latency=10us"
    few = ["--n", "100", "--tile", "32", "--repeat", "1", "--cpus", "2"]
    rows = on_device(json_lines(program, *few))
    cases = [(row["kernel"], row["core"], row["tasks"]) for row in rows]
    expected = [("gemm", 64), ("cholesky", 20)]
    check(cases == [(k, core, n) for k, n in expected for core in ("in", "out")], str(cases))
    for row in rows:
        library = row["library_gflops"]  # the emulation has potrf only by OpenBLAS
        check(row["gflops"] > 0, f"gpu_linalg: {row}")
        check(library is None and row["kernel"] == "cholesky" or library > 0, f"gpu_linalg: {row}")
        check(0 <= row["on_device"] <= row["tasks"] and 0 <= row["overlap"] <= 1, str(row))
    rows = json_lines(program, *few, "--case", "gemm", "--core", "in", "--scheduler", "all")
    check([row["scheduler"] for row in rows] == SCHEDULERS, str(rows))
    refuses(program, "--case", "--case", "sort")


SIMULATE_KEYS = {
    "platform", "dag", "tiles", "precision", "tile", "library", "cpus", "gpus", "serve", "comm",
    "window", "cache", "home_s", "noise", "related", "tasks", "scheduler", "rank", "seed", "makespan_s", "gflops", "area_bound_s",
    "mixed_bound_s", "critical_path_s", "iterative_bound_s", "transfer_bound_s", "ratio", "idle_cpu_s", "idle_gpu_s",
    "gemm_peak_gflops", "cores_each",
    "accel_cpu", "accel_gpu", "idle_cpu_norm", "idle_gpu_norm", "bytes",
    "bytes_ahead", "bytes_in_vain", "hit_ratio", "evictions", "aborts", "wasted_s", "sched_ns_per_task",
    "tasks_per_s", "solver_bound_s", "proved", "plan_s",
}  # fmt: skip


def best_bound(row):
    """Of Cholesky; the bounds are in order."""
    bounds = [row["area_bound_s"], row["mixed_bound_s"]]
    if os.environ.get("HETSCHED_TEST_CLP") == "true":
        bounds.append(row["iterative_bound_s"])
        check(row["critical_path_s"] <= row["iterative_bound_s"], f"bounds: {row}")
    else:
        check(row["iterative_bound_s"] is None, f"bounds: {row}")
    check(all(a <= b * (1 + 1e-9) for a, b in zip(bounds, bounds[1:])), f"bounds: {row}")
    return max(*bounds, row["critical_path_s"])


def trace_of_a_run():
    """A potrf and two gemm that read what it wrote, on one core (docs/traces.md)."""
    never = [-1] * 3
    return {
        "format": "trace-1",
        "nodes": [{"name": "host", "bytes": 0}],
        "workers": [{"name": "core 0", "arch": 0, "node": 0, "cores": 1}],
        "types": [{"name": "potrf"}, {"name": "gemm"}],
        "labels": [""],
        "data_bytes": [8],
        "tasks": {
            "type": [0, 1, 1], "label": [0, 0, 0], "priority": [0, 0, 0], "parent": never,
            "archs": [255] * 3, "outcome": [0, 0, 0], "worker": [0, 0, 0],
            "spawned": [0, 1, 2], "ready": [0, 100, 100], "asked": never, "taken": never,
            "admitted": never, "begin": [10, 100, 150], "end": [100, 150, 190],
            "accesses": [1, 1, 1],
        },
        "accesses": {"datum": [0, 0, 0], "mode": ["RW", "R", "R"]},
        "edges": {"from": [0, 0], "to": [1, 2]},
    }  # fmt: skip


def test_what_if(program, haswell):
    """Runs again what a run was, by its own times, and on other machines."""
    with tempfile.TemporaryDirectory() as folder:
        what_if_in(Path(folder), program, haswell)


def what_if_in(folder, program, haswell):
    first, on_cores = str(folder / "run.json"), str(folder / "cores.json")
    one = ["--tiles", "6", "--scheduler", "heft"]
    (known,) = json_lines(program, *haswell, *one, "--cpus", "4", "--gpus", "2", "--trace", first)
    (again,) = json_lines(program, "--trace-times", first, "--scheduler", "heft")
    check(set(again) == SIMULATE_KEYS | {"assumed"}, f"what-if: {sorted(again)}")
    check(again["makespan_s"] == known["makespan_s"] and again["tasks"] == known["tasks"], str(again))
    check((again["cpus"], again["gpus"], again["assumed"]) == (4, 2, []), str(again))
    (more,) = json_lines(program, "--trace-times", first, "--scheduler", "heft", "--cpus", "16", "--gpus", "4")
    check(more["makespan_s"] < known["makespan_s"] and more["gpus"] == 4, str(more))
    (known,) = json_lines(program, *haswell, *one, "--cpus", "3", "--gpus", "0", "--trace", on_cores)
    (again,) = json_lines(program, "--trace-times", on_cores, "--scheduler", "heft")
    check(again["makespan_s"] == known["makespan_s"], f"what-if on cores: {again}")
    assumed = ["--gpu-speedup", "gemm=10,syrk=8,trsm=2.5", "--gpu-speedup", "potrf=none"]
    (faster,) = json_lines(program, "--trace-times", on_cores, "--scheduler", "heft", "--gpus", "1", *assumed)
    check(faster["makespan_s"] < known["makespan_s"], str(faster))
    check(sorted(faster["assumed"]) == ["gemm", "syrk", "trsm"], str(faster))
    _, told, _ = run(program, "--trace-times", on_cores, "--scheduler", "heft", "--gpus", "1", *assumed)
    check("the run itself, in virtual time" in told and "assumed: gemm takes 0.004853" in told, told)
    refuses(program, "'gemm', 'potrf', 'syrk', 'trsm'", "--trace-times", on_cores, "--gpus", "1")
    refuses(program, "'potrf', 'trsm'", "--trace-times", on_cores, "--gpus", "1",
            "--gpu-speedup", "gemm=10,syrk=8")  # fmt: skip
    for wrong in ["gemm", "gemm=0", "gemm=fast", "=3", "gemm=1e9"]:
        refuses(program, "--gpu-speedup " + wrong, "--trace-times", on_cores, "--gpu-speedup", wrong)
    refuses(program, "is no type of", "--trace-times", on_cores, "--gpu-speedup", "sort=2")
    refuses(program, "goes with --trace-times", *haswell, "--gpu-speedup", "gemm=2")
    refuses(program, "--trace-times", "--trace-times", str(folder / "none.json"), *haswell)
    refuses(program, "none.json", "--trace-times", str(folder / "none.json"))
    refuses(program, "--platform", "--tiles", "4")
    refuses(program, "there is no worker", "--trace-times", on_cores, "--cpus", "0")


CLUSTER_KEYS = {
    "dag", "platform", "network", "nodes", "distribution", "tiles", "tasks", "scheduler", "seed",
    "makespan_s", "gflops", "area_bound_s", "busiest_node_s", "path_bound_s", "ports_bound_s",
    "bound_s", "limit", "ratio", "busy", "messages", "message_bytes", "most_sent_bytes",
    "most_received_bytes", "real_s",
}  # fmt: skip


def check_clusters(program, haswell):
    networks = Path(__file__).parents[2] / "benchmarks" / "networks"
    edr = [*haswell, "--gpus", "0", "--network", str(networks / "edr.json")]
    # Versions of tiles that other nodes read: Cholesky by grids and symmetrically, then LU, in
    # which column k goes along its rows and row k along its columns.
    for nodes, tiles, dag, distribution, messages in [
        (4, 32, "cholesky", "2dbc:2x2", 992),
        (4, 32, "cholesky", None, 992),
        (15, 32, "cholesky", "sbc:6", 2085),
        (32, 32, "cholesky", "sbc-basic:8", 3612),
        (16, 32, "cholesky", "2dbc:16x1", 4640),
        (4, 8, "lu", "2dbc:2x2", lu_messages(8, 2, 2)),
    ]:
        chosen = ["--distribution", distribution] if distribution else []
        (row,) = json_lines(program, *edr, "--nodes", str(nodes), "--tiles", str(tiles), "--dag",
                            dag, "--scheduler", "priority", "--rank", "min", *chosen)  # fmt: skip
        check(set(row) == CLUSTER_KEYS, f"simulate: keys {sorted(set(row) ^ CLUSTER_KEYS)}")
        check(row["messages"] == messages, f"simulate: not {messages} messages: {row}")
        check(row["message_bytes"] == messages * 8 * 960 * 960, f"simulate: {row}")
        bounds = [row[key] for key in row if "bound_s" in key or key == "busiest_node_s"]
        check(row["bound_s"] == max(bounds) and row["ratio"] >= 1, f"simulate: {row}")
    same = ["--nodes", "6", "--tiles", "12", "--deterministic", "--noise", "0.2"]
    rows = json_lines(program, *edr, *same)
    check(rows == json_lines(program, *edr, *same), "simulate: a cluster is not deterministic")
    names = ["portfolio", "heteroprio:lookahead"]
    check([row["scheduler"] for row in rows] == [n for n in ALL_SCHEDULERS if n not in names],
          str([row["scheduler"] for row in rows]))  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        homes = Path(folder) / "homes"
        homes.write_text("0\n1\n0\n")
        three = ["--nodes", "2", "--tiles", "2", "--scheduler", "eager", "--distribution",
                 f"homes:{homes}"]  # fmt: skip
        (row,) = json_lines(program, *edr, *three)
        check(row["messages"] == 2, f"simulate: {row}")  # potrf's tile there, trsm's back
        homes.write_text("0\n2\n0\n")
        refuses(program, "line 2 is no node from 0 to 1", *edr, *three)
        homes.write_text("0\n1\n")
        refuses(program, "has nodes for 2 of 3 data", *edr, *three)
        homes.write_text('{"format": "network-1"}')
        refuses(program, "'name' is missing", *haswell, "--nodes", "2", "--network", str(homes))
        slow = {"format": "network-1", "name": "slow", "out_bytes_per_s": 1e9, "latency_s": 1e-5}
        times = []
        for latency_bytes in (100000, 10**12):  # passed on, and straight from home
            homes.write_text(json.dumps({**slow, "latency_bytes": latency_bytes}))
            (row,) = json_lines(program, *haswell, "--gpus", "0", "--network", str(homes), "--nodes",
                                "16", "--tiles", "16", "--scheduler", "priority")  # fmt: skip
            times.append(row["makespan_s"])
        check(times[0] < times[1], f"simulate: values passed on take {times}")
        homes.write_text(json.dumps({**slow, "latency_bytes": -1}))
        refuses(program, "/latency_bytes: is -1", *haswell, "--nodes", "2", "--network", str(homes))
    refuses(program, "--network", *haswell, "--nodes", "2")
    refuses(program, "is for 15 nodes, not 4", *edr, "--nodes", "4", "--distribution", "sbc:6")
    refuses(program, "no 2dbc:ROWSxCOLUMNS", *edr, "--nodes", "4", "--distribution", "2dbc:4")
    refuses(program, "and even", *edr, "--nodes", "4", "--distribution", "sbc-basic:7")
    refuses(program, "is for the tiles", *edr, "--nodes", "15", "--dag", "qr", "--distribution",
            "sbc:6")  # fmt: skip
    refuses(program, "plans for one machine", *edr, "--nodes", "2", "--scheduler", "portfolio")
    refuses(program, "--gantt", *edr, "--nodes", "2", "--gantt", "x.svg")
    refuses(program, "--trace: is of one run, and these are 2", *edr, "--nodes", "2", "--tiles", "2,3",
            "--scheduler", "eager", "--trace", "x.json")  # fmt: skip


def lu_messages(tiles, rows, columns):
    """Each version of a tile goes once to each other node that reads it."""
    node = lambda i, j: (i % rows, j % columns)
    sent = set()
    for k in range(tiles):
        for m in range(k + 1, tiles):
            sent |= {((k, k), node(k, m)), ((k, k), node(m, k))}
            for n in range(k + 1, tiles):
                sent |= {((m, k), node(m, n)), ((k, n), node(m, n))}
    return sum(node(*tile) != to for tile, to in sent)


def test_simulate(program):
    platforms = Path(__file__).parents[2] / "benchmarks" / "platforms"
    haswell = ["--platform", str(platforms / "haswell_k40.json")]
    test_what_if(program, haswell)
    check_clusters(program, haswell)
    rows = json_lines(program, *haswell)
    check(len(rows) == 7 * len(ALL_SCHEDULERS), str(rows))
    peak = (20 / 0.048532 + 4 / 0.0016851) * 2 * 960**3 / 1e9
    for row in rows:
        check(set(row) == SIMULATE_KEYS, f"simulate: keys {sorted(set(row) ^ SIMULATE_KEYS)}")
        bound = best_bound(row)
        check(abs(row["gemm_peak_gflops"] - peak) < 1e-6 * peak, f"simulate: {row}, not {peak}")
        check(row["makespan_s"] >= bound * (1 - 1e-9), f"simulate: below a bound: {row}")
        check(abs(row["ratio"] - row["makespan_s"] / bound) < 1e-9 * row["ratio"], str(row))
        n = row["tiles"] * 960
        check(abs(row["gflops"] * row["makespan_s"] * 1e9 / (n**3 / 3) - 1) < 1e-9, str(row))
        for idle, workers in [("idle_cpu_s", 20), ("idle_gpu_s", 4)]:
            check(0 <= row[idle] <= workers * row["makespan_s"] * (1 + 1e-9), f"simulate: {row}")
        check(row["sched_ns_per_task"] > 0, f"simulate: {row}")
    # One core does one task after the other.
    (row,) = json_lines(program, *haswell, "--tiles", "4", "--cpus", "1", "--gpus", "0",
                        "--scheduler", "eager")  # fmt: skip
    alone = 4 * 0.010616 + 6 * (0.025704 + 0.028069) + 4 * 0.048532
    check(abs(row["makespan_s"] - alone) < 1e-9 and row["idle_cpu_s"] == 0, f"simulate: {row}")
    on_gpu = 4 * 0.0061721 + 6 * (0.0029477 + 0.0010411) + 4 * 0.0016851
    check(abs(row["accel_cpu"] - alone / on_gpu) < 1e-9, f"simulate: {row}")
    check(row["accel_gpu"] is None, f"simulate: {row}")
    (row,) = json_lines(program, *haswell, "--tiles", "8", "--scheduler", "eager", "--bounds", "area")
    others = [row["mixed_bound_s"], row["critical_path_s"], row["iterative_bound_s"]]
    check(others == [None, None, None], f"simulate: {row}")
    check(abs(row["ratio"] - row["makespan_s"] / row["area_bound_s"]) < 1e-9 * row["ratio"], str(row))
    rows = json_lines(program, *haswell, "--tiles", "8", "--dag", "qr", "--scheduler", "priority",
                      "--rank", "min", "--serve", "cpu")  # fmt: skip
    check([(row["serve"], row["rank"]) for row in rows] == [("cpu", "min")], str(rows))
    check(rows[0]["ratio"] >= 1 and rows[0]["mixed_bound_s"] is None, str(rows))
    # Thieves that look for the most loaded: another schedule, as good as any.
    both = [json_lines(program, *haswell, "--tiles", "8", "--scheduler", name)[0]
            for name in ("ws", "ws:victim=loaded")]  # fmt: skip
    check(both[0]["makespan_s"] != both[1]["makespan_s"] and both[1]["ratio"] >= 1, str(both))
    # Four groups of five cores, and what Kumar 2017, table 4.1, has for these.
    grouped = ["--tiles", "4", "--scheduler", "eager", "--group", "5"]
    (row,) = json_lines(program, *haswell, *grouped)
    check((row["cpus"], row["gpus"], row["cores_each"]) == (4, 4, 5), f"simulate: {row}")
    (row,) = json_lines(program, *haswell, *grouped, "--cpus", "9", "--gpus", "0")
    alone = 4 * 0.0025276 + 6 * (0.005712 + 0.0060234) + 4 * 0.010809
    check(row["cpus"] == 1 and abs(row["makespan_s"] - alone) < 1e-9, f"simulate: {row}")
    (row,) = json_lines(program, *haswell, *grouped, "--dag", "qr")
    check(row["ratio"] >= 1 and row["cpus"] == 4, f"simulate: {row}")
    # Kumar 2017, sec. 2.4.3.
    factors = [17.30, 22.30, 24.30, 25.38, 26.06, 26.52, 26.86, 27.11]
    rows = json_lines(program, "--platform", str(platforms / "mirage.json"), "--related", "--tiles",
                      "4,8,12,16,20,24,28,32", "--scheduler", "eager")  # fmt: skip
    check([round(row["related"], 2) for row in rows] == factors, str(rows))
    for row in rows:  # all tasks alike: a GPU is worth K cores, rounded to a nanosecond each
        cpu = row["accel_cpu"]
        check(abs(cpu / row["related"] - 1) < 1e-6 and row["ratio"] >= 1, f"simulate: {row}")
    same = ["--deterministic", "--tiles", "8,12", "--noise", "0.3", "--repeat", "3", "--seed", "5"]
    rows = json_lines(program, *haswell, *same)
    check(rows == json_lines(program, *haswell, *same), "simulate: not deterministic")
    check(rows[0]["sched_ns_per_task"] is None, str(rows[0]))
    makespans = {row["makespan_s"] for row in rows if (row["scheduler"], row["tiles"]) == ("eager", 8)}
    check(len(makespans) == 3, f"simulate: three seeds gave {makespans}")
    check(rows[0]["comm"] == "free" and rows[0]["bytes"] is None, str(rows[0]))
    for row in rows:  # both classes are used to the full in the area bound's solution
        for where, workers in [("cpu", 20), ("gpu", 4)]:
            norm = row[f"idle_{where}_s"] / (workers * row["area_bound_s"])
            check(abs(row[f"idle_{where}_norm"] - norm) < 1e-6, f"simulate: {where} of {row}")
    moving = ["--tiles", "4,12", "--deterministic", "--device-memory", "100MB", "--noise", "0.1"]
    for comm in ["model", "shared"]:
        rows = json_lines(program, *haswell, "--comm", comm, *moving)
        check(rows == json_lines(program, *haswell, "--comm", comm, *moving), f"simulate: {comm}")
        for row in rows:
            check(row["ratio"] >= 0.9 and row["window"] == 8, f"simulate: {row}")
            check(row["evictions"] >= 0, f"simulate: {row}")
            check(0 <= row["bytes_in_vain"] <= row["bytes_ahead"] <= row["bytes"], f"simulate: {row}")
            check(row["bytes"] % (8 * 960 * 960) == 0 and row["bytes"] > 0, f"simulate: {row}")
            check(0 <= row["hit_ratio"] < 1 and row["home_s"] >= 0, f"simulate: {row}")
            for idle, workers in [("idle_cpu_s", 20), ("idle_gpu_s", 4)]:
                most = workers * row["makespan_s"] * (1 + 1e-9)
                check(0 <= row[idle] <= most, f"simulate: {row}")
    # One GPU, one tile: there in latency + bytes / bandwidth, and the kernel. All is by eq. 1.
    alone = ["--tiles", "1", "--cpus", "0", "--scheduler", "eager", "--comm", "model"]
    for gpus in [1, 4]:
        (row,) = json_lines(program, *haswell, *alone, "--gpus", str(gpus))
        expected = 1.029027e-05 + 7372800 / 10517680000 * gpus + 0.0061721
        check(abs(row["makespan_s"] - expected) < 2e-9, f"simulate: {row}, not {expected}")
        home = 1.08504e-05 + 7372800 / 10521700000 * gpus
        check(abs(row["home_s"] - home) < 2e-9, f"simulate: {row}, not {home}")
    (row,) = json_lines(program, *haswell, "--tiles", "8", "--scheduler", "ws", "--speed")
    check(row["tasks_per_s"] > 0 and row["sched_ns_per_task"] is None, f"simulate: {row}")
    with tempfile.TemporaryDirectory() as folder:  # a large machine
        nodes = range(101)
        large = json.loads((platforms / "haswell_k40.json").read_text()) | {
            "cpu_cores": 1000,
            "cpu_workers": 900,
            "gpu_workers": 100,
            "memory_nodes": [f"node {k}" for k in nodes],
            "bandwidth_bytes_per_s": [[None if i == j else 1e10 for j in nodes] for i in nodes],
            "latency_s": [[0 for _ in nodes] for _ in nodes],
            "topology": None,
        }
        file = Path(folder) / "large.json"
        file.write_text(json.dumps(large))
        for row in json_lines(program, "--platform", str(file), "--tiles", "20"):
            check(row["cpus"] == 900 and row["gpus"] == 100 and row["ratio"] >= 1, str(row))
        moving = ["--platform", str(file), "--comm", "model"]
        refuses(program, "101 memory nodes are more than 64", *moving)
        graph = Path(folder) / "graph.dot"
        graph.write_text(
            "digraph g { node [type=gemm]; edge [bytes=7372800]\n a [type=potrf]; a -> b; a -> c }"
        )
        (row,) = json_lines(program, *haswell, "--dag", str(graph), "--scheduler", "eager")
        check(abs(row["makespan_s"] - 0.0078572) < 1e-12, f"simulate: {row}")  # on GPUs
        graph.write_text("digraph {\n a -> b -> a }")
        refuses(program, "task 'a' comes after itself", *haswell, "--dag", str(graph))
        graph.write_text("digraph g { a [type=blur]; b [type=gemm]; c [type=edges]; a -> b -> c }")
        unknown = "has no kernel for cholesky named 'blur', 'edges', as tasks of --dag " + str(graph)
        refuses(program, unknown, *haswell, "--dag", str(graph))
        graph = Path(folder) / "graph.json"
        graph.write_text(
            '{"format": "graph-1", "data": [8], "tasks": ['
            '{"type": "potrf", "accesses": [[0, "RW"]]},'
            '{"type": "gemm", "accesses": [[0, "R"]]}, {"type": "gemm", "accesses": [[0, "R"]]}]}'
        )
        (row,) = json_lines(program, *haswell, "--dag", str(graph), "--scheduler", "eager")
        check(abs(row["makespan_s"] - 0.0078572) < 1e-12, f"simulate: {row}")  # on GPUs
        check(row["tiles"] is None and row["gflops"] is None, f"simulate: {row}")
        trace = trace_of_a_run()
        graph.write_text(json.dumps(trace))
        (row,) = json_lines(program, *haswell, "--dag", str(graph), "--scheduler", "eager")
        check(row["tasks"] == 3, f"simulate: {row}")
        check(abs(row["makespan_s"] - 0.0078572) < 1e-12, f"simulate: {row}")  # on GPUs
        trace["tasks"]["type"][2] = 2
        graph.write_text(json.dumps(trace))
        refuses(program, "/tasks/type/2: is 2, and there are 2", *haswell, "--dag", str(graph))
        graph.write_text(json.dumps(trace)[:-9])
        refuses(program, "is no JSON, or not all of it", *haswell, "--dag", str(graph))
    # LU without pivoting, by a library with two kernels for its solves: on one core, one by one.
    mirage = ["--platform", str(platforms / "mirage.json"), "--tile", "960", "--bounds", "area"]
    one_core = ["--cpus", "1", "--gpus", "0", "--tiles", "3", "--scheduler", "eager"]
    means = {
        kernel["kernel"]: kernel["cpu"]["mean_s"]
        for kernel in json.loads((platforms / "mirage.json").read_text())["kernels"]
        if (kernel["library"], kernel["precision"], kernel["tile"])
        == ("starpu-examples", "double", 960)
    }
    (row,) = json_lines(program, *mirage, "--dag", "lu", *one_core)
    alone = 3 * means["getrf"] + 3 * (means["trsm_ll"] + means["trsm_ru"]) + 5 * means["gemm"]
    check(row["tasks"] == 14 and abs(row["makespan_s"] / alone - 1) < 1e-6, f"simulate: {row}")
    check(abs(row["gflops"] * row["makespan_s"] * 1e9 / (2 * 2880**3 / 3) - 1) < 1e-9, str(row))
    (row,) = json_lines(program, *haswell, "--dag", "gemm", *one_core)
    check(row["tasks"] == 27 and abs(row["makespan_s"] - 27 * 0.048532) < 1e-9, f"simulate: {row}")
    check(abs(row["gflops"] / row["gemm_peak_gflops"] - 1) < 1e-6, f"simulate: {row}")
    (row,) = json_lines(program, *haswell, "--tiles", "8", "--scheduler", "eager:queue=lifo")
    check(row["scheduler"] == "eager:queue=lifo" and row["ratio"] >= 1, f"simulate: {row}")
    check_gantt(program, haswell)
    one = [*haswell, "--tiles", "4", "--scheduler", "dmdas", "--explain", "#5", "--bounds", "area"]
    status, out, err = run(program, *one)
    check(status == 0 and err.count("hetsched: task '") == 1 and ", node 5, " in err, err)
    check("is expected to end it first" in err and "  taken by worker" in err, err)
    check_strategies(program, platforms)
    check_static(program, haswell)
    for name, dags, precision in [
        ("haswell_k40", ["cholesky", "qr", "gemm"], "double"),
        ("idgraf", ["cholesky", "lu"], "single"),
        ("mirage", ["cholesky", "lu"], "double"),
        ("sirocco_k40m", ["cholesky", "lu", "qr"], "double"),
    ]:
        for dag in dags:
            machine = ["--platform", str(platforms / f"{name}.json"), "--precision", precision]
            for row in json_lines(program, *machine, "--dag", dag, "--tiles", "5"):
                check(row["platform"] == name and row["ratio"] >= 1 - 1e-9, f"simulate: {row}")
    # The first run counts uses, later ones have them. Each tile of Cholesky is used equally often, so
    # they change nothing there; but a datum that is used after every three others stays on the GPU.
    moves = [*haswell, "--deterministic", "--comm", "model", "--cache", "reuse", "--device-memory"]
    hot = [{"type": "potrf", "accesses": [[k, "RW"]]}
           for n in range(1, 31, 3) for k in (0, n, n + 1, n + 2)]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        file, graph = str(Path(folder) / "uses"), Path(folder) / "graph.json"
        graph.write_text(json.dumps({"format": "graph-1", "data": [8 * 960 * 960] * 31, "tasks": hot}))
        for bytes_moved, more in [
            (operator.eq, ["100MB", "--scheduler", "ws", "--tiles", "20"]),
            (operator.gt, ["23MB", "--scheduler", "eager", "--cpus", "0", "--gpus", "1", "--dag", str(graph)]),
        ]:
            (without,) = json_lines(program, *moves, *more)
            (counting,) = json_lines(program, *moves, *more, "--reuse-profile", file)
            (using,) = json_lines(program, *moves, *more, "--reuse-profile", file)
            check(without == counting, f"simulate: {without}, {counting}")
            check(bytes_moved(counting["bytes"], using["bytes"]), f"simulate: {counting}, {using}")
            if "--tiles" in more:
                refuses(program, "the profile is of another program", *moves, *more[:-1], "21", "--reuse-profile", file)
            Path(file).unlink()
    # Those that simulate others: a plan is no worse than what it began from, and a portfolio is its
    # best candidate.
    small = [*haswell, "--tiles", "9", "--rank", "min", "--serve", "cpu", "--scheduler"]
    (plan,) = json_lines(program, *small, "heteroprio:lookahead", "--effort", "100000")
    rows = {
        name: json_lines(program, *small, name)[0]["makespan_s"]
        for name in ["heteroprio", "heft", "heftp", "dmdar", "dmdas", "dualhp", "locality"]
    }
    check(plan["makespan_s"] <= min(rows["heftp"], rows["dualhp"]), f"simulate: {plan} {rows}")
    check(plan["plan_s"] > 0, f"simulate: {plan}")
    links = ["--platform", str(platforms / "idgraf.json"), "--precision", "single", "--tiles", "7",
             "--rank", "min", "--comm", "shared", "--scheduler"]  # fmt: skip
    begins = [json_lines(program, *links, name)[0]["makespan_s"] for name in ("heftp", "heterogeneous")]
    (ahead,) = json_lines(program, *links, "heteroprio:lookahead", "--effort", "1000000")
    check(ahead["makespan_s"] < min(begins) and ahead["plan_s"] > 0, f"simulate: {ahead}, {begins}")
    check(ahead["makespan_s"] >= ahead["transfer_bound_s"] or not ahead["transfer_bound_s"], str(ahead))
    (best,) = json_lines(program, *small, "portfolio")
    check(best["plan_s"] > 0, f"simulate: {best}")
    check(best["makespan_s"] == min(rows.values()), f"simulate: {best} {rows}")
    ranked = [entry.split()[0] for entry in best["ranking"].split(", ")]
    check([rows[name] for name in ranked] == sorted(rows.values()), f"simulate: {best} {rows}")
    for dag, tasks in [("erdos:90,0.05", 90), ("layered:6,9,0.3", 54), ("forkjoin:4,7", 36)]:
        rows = json_lines(program, *haswell, "--dag", dag, "--deterministic")
        check(len(rows) == len(ALL_SCHEDULERS), str(rows))
        for row in rows:
            check(row["tasks"] == tasks and row["ratio"] >= 1 - 1e-9, f"simulate: {row}")
        others = json_lines(program, *haswell, "--dag", dag, "--deterministic", "--graph-seed", "2")
        check(rows[0]["area_bound_s"] != others[0]["area_bound_s"], f"simulate: {dag}: {others}")
    for bad, named in [
        (["--dag", "erdos:10"], "erdos:10"),
        (["--dag", "layered:3,2.5,0.1"], "layered:3,2.5,0.1"),
        (["--dag", "erdos:10,x"], "erdos:10,x"),
        (["--dag", "star:3"], "star:3"),
        (["--dag", "erdos:10,0.5", "--tile", "320"], "haswell_k40.json"),
        (["--scheduler", "best"], "--scheduler"),
        (["--scheduler", "ws:queue=heap"], "--scheduler"),
        (["--scheduler", "ws:victim=weakest"], "--scheduler"),
        (["--gantt", "/nowhere/at/all"], f"draws one run, and these are {7 * len(ALL_SCHEDULERS)}"),
        (["--tiles", "1", "--scheduler", "ws", "--gantt", "/nowhere/at/all"], "/nowhere/at/all"),
        (["--dag", "lu", "--precision", "single"], "haswell_k40.json"),
        (["--tiles", "0"], "--tiles"),
        (["--noise", "1"], "--noise"),
        (["--serve", "all"], "--serve"),
        (["--group", "21"], "--group"),
        (["--group", "7", "--gpus", "0"], "can run on no worker"),
        (["--bounds", "area,tight"], "--bounds"),
        (["--comm", "fast"], "--comm"),
        (["--comm", "model", "--memory-trace", "/nowhere/at/all"], "/nowhere/at/all"),
        (["--reuse-profile", "/nowhere/at/all"], "/nowhere/at/all"),
        (["--cache", "big"], "--cache"),
        (["--device-memory", "much"], "--device-memory"),
        (["--comm", "model", "--device-memory", "1KB", "--cpus", "0"], "room for its data"),
        (["--gpus", "9"], "--gpus"),
        (["--tile", "320"], "haswell_k40.json"),
        (["--dag", "/nowhere"], "/nowhere"),
    ]:
        refuses(program, named, *haswell, *bad)


def check_solver(program, haswell, mirage):
    """What is proved, and that a bound is above those known without the solver."""
    solver = ["--deterministic", "--scheduler", "static:solver", "--search-evaluations", "400"]
    if os.environ.get("HETSCHED_TEST_GECODE") != "true":
        refuses(program, "needs Gecode", *haswell, *solver)
        return
    (row,) = json_lines(program, *haswell, "--tiles", "5", *solver)
    check(row["proved"] is True and row["solver_bound_s"] == row["makespan_s"], f"simulate: {row}")
    (row,) = json_lines(program, *mirage, "--tiles", "8", *solver)
    check(row["proved"] is False, f"simulate: {row}")
    check(best_bound(row) < row["solver_bound_s"] < row["makespan_s"], f"simulate: {row}")
    check([row] == json_lines(program, *mirage, "--tiles", "8", *solver), f"simulate: {row}")
    (row,) = json_lines(program, *haswell, "--tiles", "5", "--noise", "0.1", *solver)
    check(row["proved"] is None, f"simulate: {row}")


def check_static(program, haswell):
    """Schedules saved and followed; classes of worker only; what does not fit."""
    one = ["--deterministic", "--rank", "min", "--tiles", "12"]
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "schedule,with.comma")
        runs = {
            name: json_lines(program, *haswell, *one, "--scheduler", *name.split(" "))[0]
            for name in [f"heteroprio --save-schedule {file}", f"static:{file}", f"static:{file},gs"]
            + [f"static:{file},g,steal,merge", "static:heft", "static:heft --noise 0.1"]
            + ["static:heft --inflate-cpus 50", f"dmdas --allocation {file}", "dmdas"]
            + ["dmdas --trsm-on-cpus 1", "dmdas --trsm-on-cpus 11", "dmdas --trsm-on-cpus 12"]
        }
        times = [row["makespan_s"] for row in runs.values()]
        check(times[0] == times[1] == json.loads(Path(file).read_text())["makespan_s"], str(runs))
        check(all(row["ratio"] >= 1 - 1e-9 for row in runs.values()), str(runs))
        check(max(times[2:6]) < 1.2 * times[1], str(runs))
        check(len({times[k] for k in [4, 5, 6]}) == 3, str(runs))
        check(times[8] == times[11] < min(times[9], times[10]) < times[9], str(runs))
        check(times[7] != times[8], str(runs))
        inflated = Path(folder) / "inflated"
        (row,) = json_lines(program, *haswell, *one, "--scheduler", "static:heft",
                            "--inflate-cpus", "50", "--save-schedule", str(inflated))  # fmt: skip
        (again,) = json_lines(program, *haswell, *one, "--scheduler", f"static:{inflated}")
        check(again["makespan_s"] == times[6] <= row["makespan_s"], f"simulate: {row}, {again}")
        search = ["--scheduler", "static:search", "--search-evaluations", "3000"]
        (row,) = json_lines(program, *haswell, *one, *search)
        check([row] == json_lines(program, *haswell, *one, *search), f"simulate: {row}")
        check(row["makespan_s"] < 0.98 * min(times[0], times[4]), f"simulate: {row}, {times}")
        (row,) = json_lines(program, *haswell, "--tiles", "4", "--scheduler", "static:search,gs")
        check(row["ratio"] < 1 + 1e-9, f"simulate: {row}")  # optimal, and so at once
        check(row["proved"] is None, f"simulate: {row}")
        mirage = [haswell[0], haswell[1].replace("haswell_k40", "mirage")]
        # With transfers, and without room for all data: shorter than any schedule it began from.
        for memory in ["1GB", "40MB"]:
            links = [*mirage, "--tiles", "7", "--rank", "min", "--comm", "shared", "--device-memory", memory]
            begins = [json_lines(program, *links, "--scheduler", name)[0]["makespan_s"]
                      for name in ("heterogeneous", "heteroprio:affinity", "heftp", "dmdas")]  # fmt: skip
            (row,) = json_lines(program, *links, *search)
            check(row["makespan_s"] < min(begins) and row["plan_s"] > 0, f"simulate: {row}, {begins}")
            check(row["ratio"] is None or row["ratio"] >= 1, f"simulate: {row}")
        check_solver(program, haswell, mirage)
        for bad, named in [
            ([*haswell, "--tiles", "9", "--scheduler", f"static:{file}"], "364 tasks, and this one"),
            ([*haswell, *one, "--cpus", "3", "--scheduler", f"static:{file},g"], "is for 20 workers"),
            ([*mirage, *one, "--scheduler", f"static:{file}"], "for platform 'haswell_k40'"),
            ([*haswell, *one, "--scheduler", f"static:{file},x"], f"{file},x"),
            ([*haswell, *one, "--scheduler", "static:,gs"], "names no schedule"),
            ([*haswell, *one, "--scheduler", "static:/dev/null"], "/dev/null"),
            ([*haswell, *one, "--dag", "lu", "--trsm-on-cpus", "3"], "--trsm-on-cpus"),
            ([*haswell, *one, "--allocation", "/nowhere"], "/nowhere"),
            ([*haswell, *one, "--inflate-cpus", "5"], "--inflate-cpus"),
            ([*haswell, *one, "--search-seconds", "0"], "--search-seconds"),
            ([*haswell, *one, "--save-schedule", file], "is of one run"),
            ([*haswell, *one, "--scheduler", "ws", "--save-schedule", "/nowhere/at"], "/nowhere/at"),
        ]:
            refuses(program, named, *bad)


def check_strategies(program, platforms):
    """What schedulers that know data or times are for; margins as issue and papers have them."""

    def runs(platform, *more):
        machine = ["--platform", str(platforms / f"{platform}.json"), "--rank", "min", *more]
        return {row["scheduler"]: row for row in json_lines(program, *machine)}

    for serve in ["cpu", "gpu"]:  # Kumar 2017: greedy schedulers without prediction are far off
        by = runs("haswell_k40", "--tiles", "12", "--serve", serve)
        for name in ["heft:xkaapi", "dmdas"]:
            check(by[name]["ratio"] <= 1.5, f"simulate: {by[name]}")
        check(by["eager"]["ratio"] >= 1.8 * by["dmdas"]["ratio"], f"simulate: {by['eager']}")
    # Kumar 2017, sec. 5.6.2: within 30 % of the bound.
    if os.environ.get("HETSCHED_TEST_CLP") == "true":
        for dag, tiles in [("cholesky", "4,11,13,24,32"), ("lu", "10,14,24"), ("qr", "4,8,10")]:
            those = ["--dag", dag, "--tiles", tiles, "--bounds", "iterative", "--serve", "cpu",
                     "--scheduler", "heteroprio"]  # fmt: skip
            for row in json_lines(
                program, "--platform", str(platforms / "haswell_k40.json"), "--rank", "min", *those
            ):
                check(1 <= row["ratio"] <= 1.3, f"simulate: {dag}: {row}")
        # And that others are not, between small and large graphs.
        for dag, tiles in [("cholesky", "4,14,40"), ("lu", "4,14,24")]:
            for name in ["dualhp", "heft"]:
                rows = json_lines(
                    program, "--platform", str(platforms / "haswell_k40.json"), "--rank", "min",
                    "--dag", dag, "--tiles", tiles, "--bounds", "iterative", "--serve", "cpu",
                    "--scheduler", name,
                )  # fmt: skip
                small, medium, large = (row["ratio"] for row in rows)
                check(1 <= small <= 1.05 and medium > 1.3 and 1 <= large <= 1.25, f"{name}: {rows}")
    # Sec. 3.6: heft is dmda; with +MMS nothing ends later than with heftp, whose ends it compares.
    for tiles in ["8", "10"]:
        free = ["--tiles", tiles, "--dag", "cholesky", "--bounds", "area", "--scheduler"]
        ends = {name: runs("mirage", "--precision", "double", *free, name)[name]["makespan_s"]
                for name in ["heft", "dmda", "heftp", "heftp:let", "heftp:gb", "heftp:mms"]}  # fmt: skip
        check(ends["heft"] == ends["dmda"] and ends["heftp:mms"] < ends["heftp"], f"{tiles}: {ends}")
        check(len(set(ends.values())) == 5, f"{tiles}: {ends}")
    # Sec. 3.7: spoliation matters most, PC goes too far; groups of cores are another class (4.3).
    forms = ["hp", "sp", "cgv", "pp", "pc", "pcep", "pcept", "area", "hetindex"]
    free = ["--tiles", "16", "--dag", "cholesky", "--bounds", "area,critical", "--scheduler"]
    names = ["heteroprio", *(f"heteroprio:{form}" for form in forms)]
    ratios = {name: runs("mirage", *free, name)[name]["ratio"] for name in names}
    order = [ratios[f"heteroprio:{form}"] for form in ["pcept", "cgv", "sp", "pc", "hp"]]
    check(order == sorted(order) and order[-1] > 1.3 * order[0], f"simulate: {ratios}")
    check(ratios["heteroprio"] == order[2], f"simulate: {ratios}")
    check(sorted(ratios.values())[-2] < 1.25, f"simulate: {ratios}")
    for form in ["area", "hetindex"]:
        name = f"heteroprio:{form}"
        for group, limit in [("2", 1.35), ("10", 1.35)]:
            row = runs("haswell_k40", *free, name, "--group", group)[name]
            check(row["cores_each"] == int(group) and 1 <= row["ratio"] <= limit, f"simulate: {row}")
    for dag in ["cholesky", "lu"]:
        by = runs("sirocco_k40m", "--gpus", "3", "--dag", dag, "--tiles", "24", "--comm", "shared",
                  "--bounds", "area")  # fmt: skip
        for name in ["dataaware", "locality"]:
            check(by[name]["bytes"] < by["ws"]["bytes"], f"simulate: {dag} {by[name]}")
        for name in ["heft:xkaapi", "dmdas"]:
            for greedy in ["eager", "random"]:
                faster = by[name]["makespan_s"] < by[greedy]["makespan_s"]
                check(faster, f"simulate: {dag}: {by[name]}, {by[greedy]}")


def check_gantt(program, haswell):
    """Boxes in the picture of a run: as many as tasks, none over another, as long as the row says."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.svg"
        one = ["--tiles", "5", "--scheduler", "priority", "--bounds", "area", "--gantt", str(file)]
        (row,) = json_lines(program, *haswell, *one)
        svg = ElementTree.parse(file).getroot()
    space = "{http://www.w3.org/2000/svg}"
    boxes = [
        tuple(float(box.get(name)) for name in ("y", "x", "width"))
        for group in svg.iter(space + "g")
        for box in group.iter(space + "rect")
    ]
    check(len(boxes) == row["tasks"] == 35, f"simulate --gantt: {len(boxes)} boxes")
    (bound,) = [line for line in svg.iter(space + "line") if line.get("stroke-dasharray")]
    begin = min(x for _, x, _ in boxes)
    scale = (max(x + width for _, x, width in boxes) + 0.2 - begin) / row["makespan_s"]
    check(abs((float(bound.get("x1")) - begin) / scale - row["area_bound_s"]) < 1e-4, "the bound")
    busy = sum(width + 0.2 for _, _, width in boxes) / scale
    idle = row["idle_cpu_s"] + row["idle_gpu_s"]
    check(abs(busy + idle - 24 * row["makespan_s"]) < 1e-3, f"simulate --gantt: {busy}, {row}")
    for (y, x, width), (next_y, next_x, _) in itertools.pairwise(sorted(boxes)):
        check(y != next_y or x + width <= next_x, f"simulate --gantt: boxes at {x} and {next_x}")


def test_replay_run(program):
    for cpus in ["1", "2"]:
        rows = json_lines(program, "--n", "768", "--tile", "128", "--cpus", cpus, "--repeat", "2")
        check([row["tasks"] for row in rows] == [56, 56], str(rows))
        for row in rows:  # the same without the runtime's own time
            check(0 < row["simulated_s"] <= row["makespan_s"], f"replay_run: {row}")
            difference = 100 * (row["simulated_s"] / row["makespan_s"] - 1)
            check(abs(difference - row["difference_percent"]) < 0.01, f"replay_run: {row}")
    refuses(program, "--tile", "--tile", "0")


def test_when_stolen(program):
    graphs = {"chain": 10001, "fib": 12541, "cholesky": 11481, "recursive": 6945, "tree": 190, "beside": 9}
    for cpus in ("1", "2"):
        rows = json_lines(program, "--cpus", cpus, "--repeat", "3")
        check({row["graph"]: row["tasks"] for row in rows} == graphs, f"when_stolen: {rows}")
        for row in rows:
            check(0 < row["low"] <= row["ratio"] <= row["high"], f"when_stolen: {row}")
            check(min(row["at_spawn_ns"], row["when_stolen_ns"]) > 0, f"when_stolen: {row}")
    refuses(program, "--case", "--case", "pigeons")


def test_one_sided(program):
    for over in ("loopback", "loopback:messages"):
        status, text, _ = run(program, "--over", over, "--repeats", "8", "--busy", "0.1")
        lines = text.splitlines()
        check(status == 0 and lines[0] == f"{over}, 2 ranks, us for one operation", f"one_sided: {text}")
        check(lines[1].split() == ["operation", "bytes", "alone", "of", "8", "busy"], f"one_sided: {lines[1]}")
        rows = [line.split() for line in lines[2:]]
        names = ["fetch_add", "compare_swap", "get", "get", "accumulate", "put"]
        check([row[0] for row in rows] == names, f"one_sided: {text}")
        check(all(float(figure) > 0 for row in rows for figure in row[1:]), f"one_sided: {text}")
    refuses(program, "pigeons", "--over", "pigeons")
    refuses(program, "--repeats", "--repeats", "0")


def test_task_stealing(program):
    for over in ("loopback", "loopback:messages"):
        status, text, _ = run(program, "--over", over, "--ranks", "2", "--tasks", "300", "--us", "5", "--repeats", "1")
        lines = text.splitlines()
        check(status == 0 and re.fullmatch(
            rf"one steal over {over}: [\d.]+ us; its operations alone: [\d.]+ us \([+-]\d+ %\)",
            lines[0]), f"task_stealing: {text}")  # fmt: skip
        check(lines[1].startswith(f"300 tasks of 5 us on 2 ranks, over {over}: ms, "), f"task_stealing: {lines[1]}")
        rows = [re.split(r"\s{2,}", line)[0] for line in lines[2:]]
        check(rows == ["rule", "single-ended", "double queue", "double-ended", "GPU-ended", "either end"], text)
        for line in lines[3:]:
            figures = re.findall(r"[\d.]+%?", line)
            even, skewed = float(figures[0]), [float(figure) for figure in figures[1::2]]
            check(len(figures) == 9 and even > 0, f"task_stealing: {line}")
            for time, part in zip(skewed, figures[2::2]):
                share = 100 * even / time
                check(abs(share - float(part[:-1])) < 0.02 * share + 5, f"task_stealing: {line}")
    refuses(program, "pigeons", "--over", "pigeons")
    refuses(program, "--ranks", "--ranks", "1")


def test_algorithms(program):
    status, text, _ = run(program, "--most", "10000", "--rounds", "2", "--pause", "1", "--calls", "2")
    lines = text.splitlines()
    check(status == 0 and len(lines) >= 28, f"algorithms: {text}")
    for name in ("sum", "saxpy", "scan", "sort", "pipe100", "pipe1000", "pipe10000"):
        for n in (1000, 10000):
            rows = [line for line in lines if line.split()[:2] == [name, str(n)]]
            check({"serial", "hetsched"} <= {row.split()[2] for row in rows}, f"algorithms: {text}")
            for row in rows:
                # hetsched's own row compares it with itself
                check(row.split()[2] != "hetsched" or "takes 1 [1, 1] times" in row, f"algorithms: {row}")
    refuses(program, "--most", "--most", "10")
    refuses(program, "--rounds", "--rounds", "0")
    refuses(program, "--least", "--least", "0")
    refuses(program, "--calls", "--calls", "0")
    refuses(program, "--pause", "--pause", "-1")


def test_steal_bytes(program):
    benchmarks = Path(__file__).parents[2] / "benchmarks"
    places = ["--platform", str(benchmarks / "platforms" / "scioto_node.json"),
              "--network", str(benchmarks / "networks" / "scioto_ib.json")]  # fmt: skip
    status, text, _ = run(program, *places, "--ranks", "2", "--large", "1", "--seeds", "1")
    lines = text.splitlines()
    check(status == 0 and len(lines) == 72, f"steal_bytes: {text}")
    rows = [line for line in lines if "Ended" in line or "EitherEnd" in line]
    check(len(rows) == 68, f"steal_bytes: {text}")
    for mix in ("1:1", "2:1", "1:2"):
        for skew in ("1.00", "0.75", "0.50", "0.25", "0.00"):
            check(sum(f"products {mix}, skew {skew} " in row for row in rows) == 4, f"steal_bytes: {text}")
    fewer, longest = 0, 0
    for row in rows[:60]:
        random, random_bytes, _, aware, aware_bytes, _ = map(float, row.split()[-6:])
        check(random > 0 and aware > 0, f"steal_bytes: {row}")
        fewer += aware_bytes < random_bytes
        longest = max(longest, aware / random)
    said = re.fullmatch(
        r"data-aware thieves move fewer bytes in (\d+) of 60 rows, and take at most ([\d.]+) times as long", lines[61])
    check(said and int(said[1]) == fewer and abs(float(said[2]) - longest) < 0.01, f"steal_bytes: {lines[61]}")
    refuses(program, "--ranks", *places, "--ranks", "1")
    refuses(program, "nowhere.json", "--platform", "nowhere.json")


def test_cluster_order(program):
    """What a loaded machine cannot change: the times are not looked at."""
    small = ["--tiles", "4", "--repeat", "1"]
    messages = {"2dbc:1x6": 10, "2dbc:2x3": 15, "2dbc:3x2": 15, "2dbc:6x1": 10, "rows": 10, "sbc:4": 13}
    rows = json_lines(program, *small, "--ranks", "6")
    found = [(row["distribution"], row["scheduler"], row["messages"]) for row in rows]
    check(
        found == [(name, s, count) for name, count in messages.items() for s in ["priority", "ws", "eager"]],
        f"cluster_order: {found}",
    )
    for row in rows:
        check(row["same_traffic"] and row["bytes"] == 32768 * row["messages"], f"cluster_order: {row}")
        check(row["tasks"] == 20 and 0.02 < row["virtual_s"] < 0.06 and row["real_s"] > 0.02, f"{row}")
    text = subprocess.run(
        [program, *small, "--ranks", "2", "3"], capture_output=True, text=True, check=True
    ).stdout
    check(text.count("the same\n") == 21 and text.count("Kendall's tau") == 2, f"cluster_order: {text}")
    help_text = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    check("--repeat" in help_text, f"cluster_order: {help_text}")
    refuses(program, "--tiles", "--tiles", "0")
    refuses(program, "--ranks", "--ranks", "4", "17")
    refuses(program, "--nodes", "--nodes", "4")


def test_sparse_makespans(program):
    platforms = Path(__file__).parent.parent.parent / "benchmarks" / "platforms"
    sirocco = ["--platform", str(platforms / "sirocco_k40m_sparse.json")]
    for solver, kind in [("lu", "convection"), ("cholesky", "laplace")]:
        case = ["--solver", solver, "--case", kind, "--k", "16"]
        (one,) = json_lines(program, *sirocco, *case, "--cpus", "1", "--gpus", "0", "--scheduler", "ws")
        check(one["workers"] == 1 and one["idle"] < 1e-9, f"sparse_makespans: {one}")
        check(abs(one["gflops"] * one["makespan_s"] * 1e9 / one["flops"] - 1) < 1e-9, f"{one}")
        rows = json_lines(program, *sirocco, *case)
        check([row["scheduler"] for row in rows] == ALL_SCHEDULERS, f"sparse_makespans: {rows}")
        for row in rows:
            check(row["n"] == 16**3 and row["workers"] == 24 and row["panel"] == 256, f"{row}")
            share = row["critical_path"] / row["flops"]
            check(0 < share < 1 and row["makespan_s"] < one["makespan_s"], f"sparse_makespans: {row}")
        slower = json_lines(program, *sirocco, *case, "--comm", "shared", "--scheduler", "heft")[0]
        check(slower["makespan_s"] > 0, f"sparse_makespans: {slower}")
        small = json_lines(program, *sirocco, *case, "--block", "64", "--scheduler", "heft")[0]
        check(small["panel"] == 32 and small["tasks"] > rows[0]["tasks"], f"sparse_makespans: {small}")
    status, text, err = run(program, *sirocco, "--k", "14")
    check(status == 0 and "panels of 256" in text and "virtual time" in text, f"{text} {err}")
    with tempfile.NamedTemporaryFile("w", suffix=".mtx") as file:
        file.write("%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 4\n2 2 5\n1 2 1\n")
        file.flush()
        row = json_lines(program, *sirocco, "--matrix", file.name, "--scheduler", "eager")[0]
        check(row["n"] == 2 and row["tasks"] == 1, f"sparse_makespans: {row}")
    refuses(program, "--platform")
    refuses(program, "'subtree'", "--platform", str(platforms / "sirocco_k40m.json"))
    refuses(program, "there is no best", *sirocco, "--scheduler", "best")
    refuses(program, "/nowhere", *sirocco, "--matrix", "/nowhere")
    refuses(program, "--k", *sirocco, "--k", "1")


def test_calibrate(program):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "here.json"
        out = ["--out", str(file)]
        two = ["--cpus", "1", "--gpus", "emu:2@16MB?latency=2ms", "--tile", "16,32", "--repeat", "1"]
        status, text, err = run(program, *out, *two, "--algorithms", "cholesky,gemm", "--name", "x")
        check(status == 0 and "1 cores, 2 GPUs" in text, f"calibrate: {status} {text} {err}")
        machine = json.loads(file.read_text())
        check(machine["name"] == "x" and "emulated" in machine["gpu_model"], f"calibrate: {machine}")
        check(machine["gpu_memory_bytes"] == 16 << 20, f"calibrate: {machine}")
        for i, (bandwidths, latencies) in enumerate(
            zip(machine["bandwidth_bytes_per_s"], machine["latency_s"])
        ):
            for j in range(3):
                check((bandwidths[j] is None) == (i == j), f"calibrate: {bandwidths}")
                check(i == j or 0.0019 < latencies[j] < 0.05, f"calibrate: {latencies}")
        kernels = {(k["kernel"], k["tile"], k["algorithms"][0]): k for k in machine["kernels"]}
        for tile in [16, 32]:
            for name in ["potrf", "trsm", "syrk", "gemm"]:
                its = kernels[name, tile, "cholesky"]
                check(min(its["cpu"]["n"], its["cuda"]["n"]) >= 3, f"calibrate: {its}")
            check(kernels["gemm", tile, "gemm"]["flops"] == 2 * tile**3, f"calibrate: {kernels}")
            check(kernels["gemm", tile, "cholesky"]["data_bytes"] == 24 * tile**2, str(kernels))
        # Sparse solvers tell the work of their tasks.
        sparse = ["--tile", "16", "--algorithms", "sparse_lu,sparse_cholesky", "--repeat", "1", "--cpus", "1"]
        status, text, err = run(program, "--out", str(file) + "3", *sparse)
        check(status == 0, f"calibrate: {status} {text} {err}")
        sparse = json.loads(Path(str(file) + "3").read_text())["kernels"]
        for solver, names in [("lu", 6), ("cholesky", 7)]:
            its = [kernel for kernel in sparse if kernel["algorithms"] == ["sparse_" + solver]]
            check(len(its) == names and all(kernel["flops"] > 0 for kernel in its), f"{its}")
            ours = ["--platform", str(file) + "3", "--solver", solver, "--k", "16", "--scheduler", "ws"]
            (row,) = json_lines(str(Path(program).parent / "sparse_makespans"), *ours, "--block", "16")
            check(row["workers"] == 1 and row["tasks"] > 100 and row["makespan_s"] > 0, f"{row}")
        Path(str(file) + "3").unlink()
        kept = file.read_bytes()
        for bad, named in [
            (["--gpus", "gpu"], "'gpu'"),
            (["--gpus", "emu:1@8KB"], "--gpus"),
            (["--tile", "0"], "--tile"),
            (["--algorithms", "lu"], "--algorithms"),
            (["--groups", "1"], "--groups"),
            (["--groups", "4096"], "--groups"),
        ]:
            refuses(program, named, *out, *bad)
        check([p.name for p in Path(folder).iterdir()] == ["here.json"], "calibrate left a file")
        check(file.read_bytes() == kept, "calibrate: an error spoilt the file that was there")
        status, text, err = run(program, *out, "--tile", "8", "--precision", "single")
        single = json.loads(file.read_text())
        check(status == 0 and single["gpu_workers"] == 0, f"calibrate: {status} {text} {err}")
        check({k["precision"] for k in single["kernels"]} == {"single"}, f"calibrate: {single}")
        # What was measured here can be simulated.
        status, text, err = run(program, *out, "--tile", "8", "--algorithms", "jacobi", *two[:4])
        check(status == 0, f"calibrate: {status} {text} {err}")
        in_groups = ["--tile", "40", "--algorithms", "cholesky", *two[:4], "--groups", "2"]
        status, text, err = run(program, "--out", str(file) + "2", *in_groups)
        check(status == 0, f"calibrate {in_groups}: {status} {text} {err}")
        grouped = json.loads(Path(str(file) + "2").read_text())["kernels"]
        check({"potrf", "trsm", "syrk", "gemm"} <= {its["kernel"] for its in grouped}, f"{grouped}")
        for its in grouped:
            check(0 < its["cpu_groups"]["2"] < 1, f"calibrate: {its}")
        Path(str(file) + "2").unlink()
        sweep = {k["kernel"]: k for k in json.loads(file.read_text())["kernels"]}["sweep"]
        check(sweep["flops"] == 5 * 64, f"calibrate: {sweep}")
        here = ["--platform", str(file), "--tile", "8", "--dag", "jacobi", "--sweeps", "5"]
        rows = json_lines(str(Path(program).parent / "simulate"), *here, "--tiles", "1,4")
        check([row["tasks"] for row in rows[:: len(ALL_SCHEDULERS)]] == [7, 7 * 16], str(rows))
        for row in rows:
            check(row["ratio"] >= 1 and row["cpus"] == 1 and row["gpus"] == 2, str(row))
            flops = 5 * (8 * row["tiles"]) ** 2 * 5
            check(abs(row["gflops"] * row["makespan_s"] * 1e9 / flops - 1) < 1e-9, str(row))
    refuses(program, "/nowhere/x", "--out", "/nowhere/x")
    refuses(program, "--out")
    refuses(program, "HETSCHED_MODEL_DIR", "--show")
    # The file that performance models look for.
    with tempfile.TemporaryDirectory() as folder:
        here = {"HETSCHED_MODEL_DIR": folder, "HETSCHED_MACHINE": "here"}
        small = ["--tile", "8", "--algorithms", "cholesky", "--repeat", "1", *two[:4]]
        status, text, err = run(program, *small, **here)
        (file,) = Path(folder).glob("here/*.platform.json")
        check(status == 0 and str(file) in text, f"calibrate: {status} {text} {err}")
        status, text, err = run(program, "--show", **here)
        check(status == 0 and "kernels, 1 cpu" in text and "ram    to gpu1" in text, f"--show: {text}")
        check("1 files of models" in text, f"--show: {text}")
        file.with_name("x.times.json").write_text("{}")
        status, text, err = run(program, "--show", **here)
        check(status == 2 and "x.times.json: /: 'format' is missing" in err, f"--show: {err}")


def test_bounds(program):
    platforms = Path(__file__).parents[2] / "benchmarks" / "platforms"
    haswell = ["--platform", str(platforms / "haswell_k40.json")]
    rows = json_lines(program, *haswell)
    check([row["tiles"] for row in rows] == [4, 8, 12, 16, 20, 24, 32], str(rows))
    for row in rows:
        n = row["tiles"]
        check(row["tasks"] == n * (n + 1) * (n + 2) // 6, f"bounds: {row}")
        # N potrf, N - 1 trsm and N - 1 syrk follow one another, each as fast as the machine can.
        path = n * 0.0061721 + (n - 1) * (0.0029477 + 0.0010411)
        check(abs(row["critical_path_s"] - path) < 1e-9 * path, f"bounds: {row}, not {path}")
        check((row["cpus"], row["gpus"]) == (20, 4), f"bounds: {row}")
        best = best_bound(row)
        gflops = (n * 960) ** 3 / 3 / best * 1e-9
        check(abs(row["gflops_at_most"] - gflops) < 1e-6 * gflops, f"bounds: {row}")
    idgraf = ["--platform", str(platforms / "idgraf.json"), "--precision", "single"]
    for comm in ["free", "model", "shared"]:
        (row,) = json_lines(program, *idgraf, "--tiles", "16", "--comm", comm,
                            "--bounds", "area,iterative,transfer")  # fmt: skip
        check(row["comm"] == comm, f"bounds --comm: {row}")
        if os.environ.get("HETSCHED_TEST_CLP") != "true":
            check(row["transfer_bound_s"] is None, f"bounds --comm: {row}")
        elif comm == "free":
            check(row["transfer_bound_s"] >= row["iterative_bound_s"], f"bounds --comm: {row}")
        else:
            check(row["transfer_bound_s"] > row["iterative_bound_s"] > row["area_bound_s"], f"bounds --comm: {row}")
    with tempfile.TemporaryDirectory() as folder:
        saved = str(Path(folder) / "graph.json")
        status, out, err = run(program, *haswell, "--tiles", "8", "--save", saved)
        check((status, out, err) == (0, "", ""), f"bounds --save: {status} {out} {err}")
        (row,) = json_lines(program, *haswell, "--dag", saved)
        (same,) = [other for other in rows if other["tiles"] == 8]
        for key in ["tasks", "area_bound_s", "critical_path_s", "library"]:
            check(row[key] == same[key], f"bounds --dag: {key} {row[key]}, not {same[key]}")
        check(row["tiles"] is None and row["gflops_at_most"] is None, f"bounds --dag: {row}")
        check(row["iterative_bound_s"] is None, f"bounds --dag: {row}")
        if os.environ.get("HETSCHED_TEST_CLP") == "true":
            (row,) = json_lines(program, *haswell, "--dag", saved, "--bounds", "iterative")
            check(row["iterative_bound_s"] == same["iterative_bound_s"], f"bounds --dag: {row}")
        refuses(program, "for lu", *haswell, "--dag", saved, "--algorithm", "lu")
        Path(saved).write_text(Path(saved).read_text().replace("trsm", "sort"))
        refuses(program, "for cholesky", *haswell, "--dag", saved)
        refuses(program, "--tiles N", *haswell, "--save", str(Path(folder) / "other.json"))
        check(not (Path(folder) / "other.json").exists(), "bounds --save wrote a file")
        refuses(program, "/nowhere/x", *haswell, "--tiles", "2", "--save", "/nowhere/x")
    (row,) = json_lines(program, *haswell, "--tiles", "1", "--gpus", "0")
    check((row["cpus"], row["critical_path_s"]) == (24, 0.010616), f"bounds: {row}")
    check(row["area_bound_s"] == 0.000442334, f"bounds: {row}")  # 1/24, rounded up to a nanosecond
    for name in platforms.glob("*.json"):
        precision = "single" if name.stem == "idgraf" else "double"
        of = {algorithm for its in json.loads(name.read_text())["kernels"] for algorithm in its["algorithms"]}
        if of <= {"block_lu", "scioto", "sparse_lu", "sparse_cholesky"}:
            continue  # no graph of this program's: others read them
        dag = "jacobi" if name.stem.endswith("_jacobi") else "cholesky"
        rows = json_lines(program, "--platform", str(name), "--precision", precision, "--dag", dag)
        check(len(rows) == 7, f"bounds: {name}")
    refuses(program, "/nowhere", *haswell, "--dag", "/nowhere")
    refuses(program, "platform")
    refuses(program, "/nowhere", "--platform", "/nowhere")
    refuses(program, "--tiles", *haswell, "--tiles", "0")
    refuses(program, "--gpus", *haswell, "--gpus", "5")
    refuses(program, "--cpus", *haswell, "--cpus", "21")
    refuses(program, "tiles of 100", *haswell, "--tile", "100")
    refuses(program, "library mkl", *haswell, "--library", "mkl")
    with tempfile.TemporaryDirectory() as folder:
        cut = Path(folder) / "cut.json"
        cut.write_bytes((platforms / "mirage.json").read_bytes()[:-500])
        refuses(program, "cut.json", "--platform", str(cut))


def claim_holds(rule, at, mean):
    """What the rules of claims.json say, once more. `mean(metric, strategy, point)`."""

    def better(a, b):
        more = rule["metric"] in ["speed", "speedup", "gflops", "hit_percent"]
        return a > b if more else a < b

    def of(strategy, point=0):
        return mean(rule.get("metric", "speed"), strategy, at[point])

    points = range(len(at))
    kind = rule["kind"]
    if kind == "order":
        held = [
            all(better(of(a, p), of(b, p)) for a in rule["better"] for b in rule["worse"])
            for p in points
        ]
        return sum(held) >= rule["share"] * len(at) - 1e-9
    if kind == "similar":
        spreads = [[of(name, p) for name in rule["of"]] for p in points]
        held = [max(its) / min(its) - 1 <= rule["within_percent"] / 100 for its in spreads]
        return sum(held) >= rule["share"] * len(at) - 1e-9
    if kind == "change":
        ours = 100 * (of(rule["of"]) / of(rule["over"]) - 1)
        return ours * rule["published"] > 0 and abs(ours - rule["published"]) <= rule["within"]
    if kind == "value":
        within = rule.get("within", rule.get("within_percent", 0) / 100 * rule["published"])
        return all(abs(of(name) - rule["published"]) <= within for name in rule["of"])
    if kind == "best":
        best = [of(rule["of"], p) for p in points]
        others = [of(name, p) for name in rule["among"] for p in points]
        return all(any(not better(other, its) for its in best) for other in others)
    if kind == "not_worst":
        return any(better(of(rule["of"]), of(name)) for name in rule["among"])
    if kind == "scaling":
        few, many = (key(points, key=lambda p: at[p]["gpus"]) for key in [min, max])
        times = [of(name, many) / of(name, few) for name in rule["of"]]
        return all(rule.get("at_least", 0) <= t < rule.get("below", 1e99) for t in times)
    assert kind == "growth", kind
    return all(better(of(name, p), of(name, p - 1)) for name in rule["of"] for p in points[1:])


def check_claims(name, claims, rows):
    """The verdicts, from the facts of the rows."""
    ids = [row["id"] for row in rows]
    check(ids == [claim["id"] for claim in claims], f"{name}: claims {ids}")
    for claim, row in zip(claims, rows):
        check(set(row) == CLAIM_KEYS, f"{name}: keys {sorted(set(row) ^ CLAIM_KEYS)}")
        if "not_testable" in claim:
            its = (row["verdict"], row["why"])
            check(its == ("not testable", claim["not_testable"]), f"{name}: {row}")
            continue
        facts = {(fact["strategy"], fact["n"], fact["gpus"]): fact for fact in row["facts"]}

        def mean(metric, strategy, point):
            fact = facts[strategy, point["n"], point["gpus"]]
            seconds, moved = fact["seconds"]["mean"], fact["bytes"]["mean"]
            n = fact["tiles"] * 960
            return {
                "time": seconds, "speed": 1 / seconds, "bytes": moved, "gigabytes": moved / 1e9,
                "hit_percent": fact["hit_percent"]["mean"], "gflops": n**3 / 3 / seconds / 1e9,
                "speedup": fact["tiles"] * 3 * 4 * 2**20 / 9.283e9 / seconds,
            }[metric]  # fmt: skip

        points = [
            {"n": n, "gpus": gpus}
            for its in claim["at"]
            for n in (its["n"] if isinstance(its["n"], list) else [its["n"]])
            for gpus in (its["gpus"] if isinstance(its["gpus"], list) else [its["gpus"]])
        ]
        holds = claim_holds(claim["rule"], points, mean)
        its = f"{name}: {row['id']}: {row['verdict']}, {row['ours']}"
        check(row["verdict"] == ("reproduced" if holds else "not reproduced"), its)
        check((row["against"] == []) == holds, f"{its}: {row['against']}")


# Of every kind one that holds and one that cannot, on small graphs.
SMALL_RULES = [
    ({"kind": "order", "metric": "time", "better": ["heft"], "worse": ["ws"], "share": share},
     {"n": [960, 3840], "gpus": [1, 8]}) for share in [0.1, 1]
] + [
    ({"kind": "similar", "metric": "bytes", "of": ["ws", "locality"], "within_percent": within,
      "share": 1}, {"n": 4800, "gpus": [2, 4]}) for within in [1e6, 0]
] + [
    ({"kind": "change", "metric": "speed", "of": "heft", "over": "ws", "published": published,
      "within": 1e4}, {"n": 9600, "gpus": 4}) for published in [50, -50]
] + [
    ({"kind": "value", "metric": metric, "of": ["ws+setarch", "heft"], "published": 50,
      "within": within}, {"n": 4800, "gpus": 3})
    for metric in ["hit_percent", "gflops", "gigabytes"] for within in [1e6, 1e-6]
] + [
    ({"kind": "best", "metric": "time", "of": of, "among": ["heft", "ws"]},
     {"n": 4800, "gpus": [1, 8]}) for of in ["locality", "heft", "ws"]
] + [
    ({"kind": "not_worst", "metric": "bytes", "of": of, "among": ["ws", "heft"]},
     {"n": 4800, "gpus": 8}) for of in ["heft", "ws"]
] + [
    ({"kind": "scaling", "of": ["ws", "heft"], key: 1e-3}, {"n": 4800, "gpus": [1, 8]})
    for key in ["at_least", "below"]
] + [
    ({"kind": "growth", "metric": "gflops", "of": ["heft", "ws+setarch"]},
     {"n": sizes, "gpus": 8}) for sizes in [[960, 4800], [4800, 960]]
]  # fmt: skip

BAD_CLAIMS = [  # what to change, and what the message names
    (lambda its: its.update(format="claims-2"), "/format"),
    (lambda its: its.pop("memory"), "'memory' is missing"),
    (lambda its: its.update(more=1), "'more' is not known"),
    (lambda its: its["workloads"].pop("lu"), "'lu' is missing"),
    (lambda its: its["workloads"]["lu"].update(tile=100), "no times for lu"),
    (lambda its: its["workloads"]["cholesky"].update(tile=100), "nor lu's gemm"),
    (lambda its: its["claims"].append(its["claims"][0]), "/claims/1/id"),
    (lambda its: its["claims"][0].pop("says"), "'says' is missing"),
    (lambda its: its["claims"][0].update(workload="qr"), "/claims/0/workload"),
    (lambda its: its["claims"][0]["rule"].update(kind="feeling"), "/claims/0/rule/kind"),
    (lambda its: its["claims"][0]["rule"].update(metric="mood"), "/claims/0/rule/metric"),
    (lambda its: its["claims"][0]["rule"].update(over="eager"), "/claims/0/rule/over"),
    (lambda its: its["claims"][0]["rule"].update(within="much"), "/claims/0/rule/within"),
    (lambda its: its["claims"][0].update(at=[]), "/claims/0/at"),
    (lambda its: its["claims"][0].update(at=[{"n": 960, "gpus": [1, 2]}]), "2 points, not 1"),
    (lambda its: its["claims"][0].update(at=[{"n": 0, "gpus": 1}]), "/claims/0/at/0/n"),
    (lambda its: its["claims"][0].update(at=[{"n": 960, "gpus": 9}]), "9 GPUs"),
]  # fmt: skip


def test_lima2015(program):
    folder = Path(__file__).parents[2] / "benchmarks"
    platform = folder / "platforms" / "idgraf.json"
    path = folder / "papers" / "lima2015" / "claims.json"
    given = json.loads(path.read_text())
    machine = ["--platform", str(platform)]
    saxpy = ["--claims", str(path), *machine, "--only", "saxpy", "--runs", "2"]
    those = [claim for claim in given["claims"] if claim["workload"] == "saxpy"]
    rows = json_lines(program, *saxpy)
    check_claims("lima2015", those, rows)
    check(rows == json_lines(program, *saxpy), "lima2015: two runs, two results")
    status, out, _ = run(program, *saxpy)
    verdicts = [row["verdict"] for row in rows]
    out_of = len(verdicts) - verdicts.count("not testable")
    summary = "%d testable, %d reproduced, %d not testable" % (
        out_of, verdicts.count("reproduced"), verdicts.count("not testable"))  # fmt: skip
    check(status == 0 and out.splitlines()[-1] == summary, f"lima2015: {out}, not {summary}")
    for row in rows:  # a line of the table for each
        (line,) = [line for line in out.splitlines() if line.startswith(row["id"] + " ")]
        its = f" {row['verdict']} "
        check(its in line and line.endswith(row["says"]), f"lima2015: {line}")
    with tempfile.TemporaryDirectory() as where:
        file = Path(where) / "claims.json"
        command = ["--claims", str(file), *machine, "--runs", "2"]
        small = [
            {"id": f"claim-{k}", "section": "5", "workload": "cholesky", "says": "so", "rule": rule,
             "at": [at]} for k, (rule, at) in enumerate(SMALL_RULES)
        ]  # fmt: skip
        file.write_text(json.dumps({**given, "claims": small}))
        rows = json_lines(program, *command)
        check_claims("lima2015", small, rows)
        seen = {(claim["rule"]["kind"], row["verdict"]) for claim, row in zip(small, rows)}
        check(len(seen) == 2 * 8, f"lima2015: not every kind both ways: {sorted(seen)}")
        for row in rows:
            for fact in row["facts"]:  # on one GPU, or without lots, all runs are the same
                check(fact["tiles"] == fact["n"] // 960, f"lima2015: {fact}")
                runs = 1 if fact["strategy"] == "heft" else 2
                check(fact["runs"] == runs, f"lima2015: {fact}")
                moved = fact["bytes_from_host"]["mean"] + fact["bytes_to_host"]["mean"]
                check(moved <= fact["bytes"]["mean"] * (1 + 1e-9), f"lima2015: {fact}")
        (row,) = json_lines(program, *command, "--only", "claim-4")
        (other,) = json_lines(program, *command, "--only", "claim-4", "--seed", "7")
        for heft_or_not in [True, False]:  # it draws no lots, the others do
            one, two = (
                [fact for fact in its["facts"] if (fact["strategy"] == "heft") == heft_or_not]
                for its in (row, other)
            )
            check((one == two) == heft_or_not, f"lima2015: {one} {two}")
        status, out, _ = run(program, *command, "--only", "claim-5")
        told = [line.split()[1] for line in out.splitlines() if line.startswith("    cholesky")]
        check(status == 0 and told == ["heft", "ws"], f"lima2015: {out}")
        for change, named in BAD_CLAIMS:
            its = json.loads(json.dumps({**given, "claims": [small[4]]}))
            if "lu's" not in named and "cholesky" not in named and "for lu" in named:
                its["claims"][0]["workload"] = "lu"
            change(its)
            file.write_text(json.dumps(its))
            refuses(program, named, *command)
        file.write_text("{")
        refuses(program, str(file), *command)
    refuses(program, "nowhere.json", "--claims", "nowhere.json", *machine)
    refuses(program, "nowhere.json", "--claims", str(path), "--platform", "nowhere.json")
    refuses(program, "--only", *saxpy[:-3], "saxpy,nothing")
    refuses(program, "--runs", *saxpy[:-1], "0")
    refuses(program, "--claims", *machine)


def test_bleuse2015(program):
    folder = Path(__file__).parents[2] / "benchmarks"
    path = folder / "papers" / "bleuse2015" / "claims.json"
    given = json.loads(path.read_text())
    command = ["--claims", str(path), "--platform", str(folder / "platforms" / "idgraf.json")]
    quick = [*command, "--only", "lemma3,guarantee,gpus", "--instances", "2"]
    rows = json_lines(program, *quick, "--json")
    those = [its for its in given["claims"] if its["workload"] in ("lemma3", "guarantee", "gpus")]
    check([row["id"] for row in rows] == [its["id"] for its in those], f"bleuse2015: {rows}")
    check(rows == json_lines(program, *quick, "--json"), "bleuse2015: two runs, two results")
    verdicts = {row["id"]: row["verdict"] for row in rows}
    check(verdicts["four-thirds-guarantee"] == "reproduced", f"bleuse2015: {verdicts}")
    for row in rows:  # each verdict by its facts
        (claim,) = [its for its in those if its["id"] == row["id"]]
        rule = claim.get("rule", {})
        values = [fact[rule["metric"]] for fact in row["facts"]] if rule else []
        if rule.get("kind") == "value":
            off = abs(values[0] / rule["published"] - 1) * 100
            its = "reproduced" if off <= rule["within_percent"] else "not reproduced"
            check(row["verdict"] == its, f"bleuse2015: {row}")
        elif rule.get("kind") == "limit":
            its = "reproduced" if max(values) < rule["below"] else "not reproduced"
            check(row["verdict"] == its, f"bleuse2015: {row}")
        for fact in row["facts"]:
            if row["workload"] == "gpus":  # a third of n^3, nine tiles of 960
                its = fact["gflops"] * fact["seconds"] * 1e9 / ((9 * 960) ** 3 / 3)
                check(abs(its - 1) < 1e-9 and fact["tasks"] == 165, f"bleuse2015: {fact}")
    facts = json_lines(program, *command, "--only", "table1-heft", "--instances", "1")
    most = [fact["most_percent"] for fact in facts[0]["facts"]]
    _, out, _ = run(program, *command, "--readings", "--instances", "1")
    heft = next(row for row in out.splitlines() if "mean over workers, who ends it first " in row)
    numbers = [float(its) for its in heft.split("first")[1].split()[: len(most)]]
    check(numbers == [round(its, 1) for its in most], f"bleuse2015 --readings: {heft}, {most}")
    with tempfile.TemporaryDirectory() as where:
        file = Path(where) / "claims.json"
        command[1] = str(file)
        random = [its for its in given["claims"] if its["id"] == "table1-accel"]
        for share, few in [(1, 1), (0.01, 1000)]:  # off by up to 1 % at all points; by 1000 at one
            claim = json.loads(json.dumps(random[0]))
            claim["rule"].update(published=[40, 40], share=share, within_percent=few)
            claim["at"] = [{"n": [10, 20]}]
            file.write_text(json.dumps({**given, "claims": [claim]}))
            (row,) = json_lines(program, *command, "--instances", "1", "--json")
            its = "reproduced" if few == 1000 else "not reproduced"
            check(row["verdict"] == its, f"bleuse2015: {row}")
            check(all(fact["instances"] == 28 for fact in row["facts"]), f"bleuse2015: {row}")
        for change, named in [
            (lambda its: its.pop("instances"), "'instances' is missing"),
            (lambda its: its["gpus"].update(precision="half"), "/gpus/precision"),
            (lambda its: its["claims"][0].update(at=[{"n": 10}]), "12 numbers for 1 points"),
            (lambda its: its["claims"][0].update(at=[{"gpus": 1}]), "/claims/0/at/0/gpus"),
            (lambda its: its["claims"][0]["rule"].update(metric="gflops"), "gflops of random"),
        ]:
            its = json.loads(json.dumps({**given, "claims": random}))
            change(its)
            file.write_text(json.dumps(its))
            refuses(program, named, *command)
    refuses(program, "--plots", *quick, "--plots", "nowhere")
# Of every kind of rule one that holds and one that cannot, on small graphs.
KUMAR_RULES = [
    ({"kind": "order", "metric": "gflops", "better": ["dmda"], "worse": ["random"], "by": by,
      "share": 1}, [4, 6]) for by in [-90, 900]
] + [
    ({"kind": "range", "metric": metric, "of": ["dmdas", "heftp"], "at_least": low, "share": 0.5},
     [2, 5]) for metric in ["ratio", "accel_gpu"] for low in [0.9, 1e6]
] + [
    ({"kind": "value", "metric": "factor", "of": ["potrf", "gemm"], "published": [2, gemm],
      "within": 0.5}, [3]) for gemm in [29, 30]
] + [
    ({"kind": "similar", "metric": "seconds", "of": ["area", "iterative"], "within_percent": p,
      "share": 1}, [4]) for p in [1e3, 0.1]
] + [
    ({"kind": "trend", "metric": "gflops", "of": ["heft", "mixed"], "to": to}, [2, 6])
    for to in ["rises", "falls"]
] + [
    ({"kind": "gain", "metric": "gflops", "of": "gemm-peak", "over": "iterative", "to": to}, [2, 6])
    for to in ["falls", "rises"]
] + [
    ({"kind": "peak", "metric": "gflops", "of": ["heteroprio"], "from": n, "to": n}, [2, 6, 4])
    for n in [6, 4]
] + [
    ({"kind": "worst", "metric": "ratio", "of": ["dualhp@fifo"], "at_least": low}, [4, 6])
    for low in [0.5, 50]
]  # fmt: skip

KUMAR_NOISE = [
    ({"kind": "draws", "metric": "ratio", "better": ["dmda"], "worse": ["random"], "by": by,
      "share": 0.5}, [4]) for by in [-90, 900]
] + [
    ({"kind": "range", "metric": "worst_loss_percent", "of": ["dmda"], "at_most": most,
      "share": 1}, [4]) for most in [90, -90]
]  # fmt: skip

KUMAR_GROUPS = [
    ({"kind": "range", "metric": metric, "of": ["heft"], "at_least": low, "share": 1}, [3])
    for metric in ["reference_percent", "best_clusters"] for low in [2, 101]
] + [
    ({"kind": "order", "metric": "best_gflops", "better": ["heft"], "worse": ["heft/single"],
      "by": by, "share": 1}, [3]) for by in [0, 1000]
]  # fmt: skip

BAD_KUMAR = [  # what to change of the first claim or the file, and what the message names
    (lambda its: its.update(format="claims-2"), "/format"),
    (lambda its: its.update(more=1), "'more' is not known"),
    (lambda its: its["claims"].append(its["claims"][0]), "/claims/1/id"),
    (lambda its: its["claims"][0].update(experiment="dream"), "/claims/0/experiment"),
    (lambda its: its["claims"][0]["rule"].update(kind="feeling"), "/claims/0/rule/kind"),
    (lambda its: its["claims"][0]["rule"].update(metric="mood"), "/claims/0/rule/metric"),
    (lambda its: its["claims"][0]["rule"].update(better=["fastest"]), "/claims/0/rule/better/0"),
    (lambda its: its["claims"][0]["rule"].update(better=["dream/dmda"]), "is of no experiment"),
    (lambda its: its["claims"][0]["rule"].pop("share"), "'share' is missing"),
    (lambda its: its["claims"][0].update(at=[]), "/claims/0/at"),
    (lambda its: its["claims"][0].update(at=[{"n": 0}]), "/claims/0/at/0/n"),
    (lambda its: its["experiments"]["original"].update(platform="nowhere"), "nowhere.json"),
    (lambda its: its["experiments"]["dag-qr"].update(bound="mixed"), "/experiments/dag-qr/bound"),
]  # fmt: skip


def test_kumar2017(program):
    folder = Path(__file__).parents[2] / "benchmarks"
    path = folder / "papers" / "kumar2017" / "claims.json"
    given = json.loads(path.read_text())
    machines = ["--platforms", str(folder / "platforms")]
    quick = ["--claims", str(path), *machines, "--only", "table-2.1,2.4-gap,2.2-gemm-peak,2.6"]
    rows = json_lines(program, *quick)
    verdicts = [(row["id"], row["verdict"]) for row in rows]
    check(verdicts == [(its, "not testable" if its == "2.6" else "reproduced")
                       for its in ["table-2.1", "2.2-gemm-peak", "2.4-gap", "2.6"]],
          f"kumar2017: {verdicts}")  # fmt: skip
    check(rows == json_lines(program, *quick), "kumar2017: two runs, two results")
    status, out, _ = run(program, *quick)
    summary = "3 testable, 3 reproduced, 1 not testable"
    check(status == 0 and out.splitlines()[-1] == summary, f"kumar2017: {out}")
    served = quick[:-1] + ["4.3-area"]  # the thesis leaves open who is served first
    verdicts = [json_lines(program, *served, "--serve", its)[0]["verdict"] for its in ("cpu", "gpu")]
    check(verdicts == ["not reproduced", "reproduced"], f"kumar2017 --serve: {verdicts}")
    with tempfile.TemporaryDirectory() as where:
        file = Path(where) / "claims.json"
        command = ["--claims", str(file), *machines]
        given["experiments"]["types"]["draws"] = 3
        sets = [("original", KUMAR_RULES), ("types", KUMAR_NOISE), ("groups-cholesky", KUMAR_GROUPS)]
        claims = [
            {"id": f"{experiment}-{k}", "section": "0", "experiment": experiment, "says": "so",
             "rule": rule, "at": [{"n": sizes}]}
            for experiment, rules in sets for k, (rule, sizes) in enumerate(rules)
        ]  # fmt: skip
        file.write_text(json.dumps({**given, "claims": claims}))
        rows = json_lines(program, *command)
        for k, row in enumerate(rows):  # they come in twos
            expected = ["reproduced", "not reproduced"][k % 2]
            check(row["verdict"] == expected, f"kumar2017: {row['id']}: {row['ours']}")
            check((row["against"] == []) == (k % 2 == 0), f"kumar2017: {row}")
        facts = {(its["strategy"], its["n"]): its for its in rows[0]["facts"]}
        for n in [4, 6]:  # ratios and speeds are of one time
            dmda, other = facts["dmda", n], facts["random", n]
            for its in [dmda, other]:
                flops = (n * 960) ** 3 / 3 / 1e9
                check(abs(its["gflops"] * its["seconds"] / flops - 1) < 1e-6, f"kumar2017: {its}")
            bounds = [its["seconds"] / its["ratio"] for its in [dmda, other]]
            check(abs(bounds[0] / bounds[1] - 1) < 1e-9, f"kumar2017: {bounds}")
        plots = Path(where) / "plots"
        status, out, err = run(program, *command, "--only", "original-6", "--figures", str(plots),
                               "--figure", "2.2")  # fmt: skip
        check(status == 0 and {its.name for its in plots.iterdir()} == {"2.2.csv", "2.2.svg"}, err)
        table = (plots / "2.2.csv").read_text().splitlines()
        check(len(table) == 1 + 4 * 8, f"kumar2017: {table}")
        ElementTree.parse(plots / "2.2.svg")
        refuses(program, "--figure", *command, "--only", "original-6", "--figures", str(plots),
                "--figure", "9.9")  # fmt: skip
        for change, named in BAD_KUMAR:
            its = json.loads(json.dumps({**given, "claims": claims[:1]}))
            change(its)
            file.write_text(json.dumps(its))
            refuses(program, named, *command)
    refuses(program, "nowhere.json", "--claims", "nowhere.json", *machines)
    refuses(program, "--only", *quick[:-1], "nothing")


def multigrain_rule(kind, metric, **more):
    return {"kind": kind, "metric": metric, **more}


# Of matrices so small that all is done in a second: a rule, and whether it must hold (None: either).
MULTIGRAIN = [
    ("step3", multigrain_rule("order", "gflops", better=["gpu-cached", "gpu-guided"],
                              worse=["gpu-coarse"], share=1), [10, 16], True),
    ("step3", multigrain_rule("order", "gigabytes", better=["gpu-coarse"], worse=["gpu-cached"],
                              share=1), [10, 16], False),
    ("step3", multigrain_rule("order", "transfers", better=["gpu-cached"], worse=["gpu-coarse"],
                              share=1), [10, 16], True),
    ("step3", multigrain_rule("order", "gflops", better=["streamed"],
                              worse=["gpu-fine", "gpu-coarse", "gpu-guided"], share=1), [16], True),
    ("step3", multigrain_rule("order", "gflops", better=["sum"], worse=["cpus-fine", "gpu-guided"],
                              share=1), [16], True),
    ("step3", multigrain_rule("order", "gflops", better=["both-off"], worse=["both-fine"],
                              share=1), [16], None),
    ("step3", multigrain_rule("change", "gflops", of="both-guided", over="both-unguided",
                              published=5, within=200), [16], None),
    ("step3", multigrain_rule("growth", "gflops", of=["gpu-cached@2", "both-guided@2"]), [10, 16], None),
    ("step3", multigrain_rule("limit", "deviation_percent", of=["both-fine"], below=50, share=1), [10], True),
    ("step3", multigrain_rule("limit", "lead_percent", of=["cpus-fine"], at_least=0, share=1), [16], True),
    ("step3", multigrain_rule("value", "ratio_peak", of=["gpu-cached"], published=256, within=156), [10], True),
    ("step3", multigrain_rule("value", "gain_peak", of=["gpu-cached"], published=90, within=1), [10], False),
    ("step3", multigrain_rule("limit", "most_gain_percent", of=["both-guided"], at_least=0,
                              share=1), [10], True),
    ("all", multigrain_rule("order", "gflops", better=["both-guided"], worse=["cpus-fine"], share=1),
     [16], True),
    ("all", multigrain_rule("limit", "detection_percent", of=["both-guided"], below=50, share=1), [16], True),
]  # fmt: skip


def check_multigrain_facts(rows, platform):
    kernels = {its["kernel"]: its for its in json.loads(platform.read_text())["kernels"]}
    alone, full = (kernels[name]["cuda"]["mean_s"] for name in ("gemm", "super_block"))
    streamed = 20 * 2 * 192**3 / (alone + 19 * (full - alone) / 24) / 1e9
    flops, speeds = {}, {}
    for fact in (fact for row in rows for fact in row["facts"]):
        speeds[fact["workload"], fact["strategy"], fact["n"]] = fact["gflops"]
        if fact["strategy"] == "streamed":
            check(abs(fact["gflops"] / streamed - 1) < 1e-6, f"multigrain: {fact}, not {streamed}")
        if "seconds" not in fact:
            continue
        if "gigabytes_in" not in fact or fact["strategy"].startswith("gpu"):  # others run twice
            its = flops.setdefault((fact["workload"], fact["n"]), fact["gflops"] * fact["seconds"])
            check(abs(fact["gflops"] * fact["seconds"] / its - 1) < 1e-2, f"multigrain: {fact}, not {its}")
        if "gigabytes_in" in fact:
            block = 192**2 * 4 / 1e9  # whole blocks move, and none comes home that was not there
            moved = fact["gigabytes_in"] / block
            check(abs(moved - round(moved, 1)) < 1e-3, f"multigrain: {fact}")
            check(fact["gigabytes_out"] <= fact["gigabytes_in"], f"multigrain: {fact}")
            check(fact["transfer_seconds"] > fact["gigabytes_in"] / 6.6, f"multigrain: {fact}")
        if fact["strategy"].startswith("gpu"):
            check(fact["runs"] == 1 and fact["gpu_blocks_percent"] == 100, f"multigrain: {fact}")
    parts = speeds["step3", "cpus-fine", 16] + speeds["step3", "gpu-guided", 16]
    check(abs(speeds["step3", "sum", 16] / parts - 1) < 1e-9, f"multigrain: {speeds}")


def test_multigrain(program):
    folder = Path(__file__).parents[2] / "benchmarks"
    given = json.loads((folder / "papers" / "multigrain" / "claims.json").read_text())
    platforms = ["--platforms", str(folder / "platforms")]
    claims = [
        {"id": f"claim-{k}", "section": "5", "workload": workload, "says": "so", "rule": rule, "at": [{"n": n}]}
        for k, (workload, rule, n, _) in enumerate(MULTIGRAIN)
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as where:
        file = Path(where) / "claims.json"
        small = {**given, "sizes": [10, 16], "claims": claims}
        file.write_text(json.dumps(small))
        command = ["--claims", str(file), *platforms, "--runs", "2"]
        rows = json_lines(program, *command, "--json")
        check([row["id"] for row in rows] == [its["id"] for its in claims], f"multigrain: {rows}")
        for row, claim, (*_, holds) in zip(rows, claims, MULTIGRAIN):
            facts = {(fact["strategy"], fact["n"]): fact for fact in row["facts"]}
            if holds is None:  # by the facts
                holds = claim_holds(claim["rule"], [{"n": n} for n in claim["at"][0]["n"]],
                                    lambda metric, name, at: facts[name, at["n"]][metric])  # fmt: skip
            check(row["verdict"] == ("reproduced" if holds else "not reproduced"), f"multigrain: {row}")
        check_multigrain_facts(rows, folder / "platforms" / "magnycours_gtx470.json")
        same = ["--only", ",".join(its["id"] for its in claims[:-1]), "--json"]
        check(rows[:-1] == json_lines(program, *command, *same), "multigrain: two runs, two results")
        status, out, _ = run(program, *command, "--only", "claim-1", "--figures", str(Path(where) / "figures"))
        check(status == 0 and "    step3    gpu-cached" in out and "of real time" in out, f"multigrain: {out}")
        for name in ["4a", "4b", "6a", "6b", "6c", "6d", "7a", "7b", "7c", "7d"]:
            table = (Path(where) / "figures" / f"fig{name}.csv").read_text().splitlines()
            check(len(table) % 2 == 1 and len(table) >= 5, f"multigrain: {table}")
            check("</svg>" in (Path(where) / "figures" / f"fig{name}.svg").read_text(), f"multigrain: {name}")
        status, out, _ = run(program, *command, "--caches")
        check(status == 0 and len([its for its in out.splitlines() if " / " in its]) == 3, f"multigrain: {out}")
        for change, named in [
            (lambda its: its.pop("block"), "'block' is missing"),
            (lambda its: its.update(block=100), "no worker of platform"),
            (lambda its: its.update(sizes=[1]), "/sizes/0"),
            (lambda its: its.update(systems=its["systems"][:1]), "/systems"),
            (lambda its: its["systems"][1].update(platform="nowhere"), "nowhere.json"),
            (lambda its: its["claims"][0]["rule"].update(metric="gain_percent", worse=["sum"]), "sum has no gain_percent"),
            (lambda its: its["claims"][0]["rule"].update(metric="lead_percent"), "gpu-cached has no lead_percent"),
            (lambda its: its["claims"][0].update(workload="all", rule=claims[4]["rule"]), "of step 3 only"),
            (lambda its: its["claims"][0]["rule"].update(better=["heft"]), "/claims/0/rule/better"),
        ]:
            its = json.loads(json.dumps({**small, "claims": claims[:1]}))
            change(its)
            file.write_text(json.dumps(its))
            refuses(program, named, *command)
        file.write_text("{")
        refuses(program, str(file), *command)
    threads = json_lines(program, "--threads", "12", "--block", "8", "--cpus", "1", "--json")
    check([row["cache"] for row in threads] == ["off", "unguided", "guided"], f"multigrain: {threads}")
    for row in threads:
        check(row["backward_error"] < 1e-5 and "emulated" in row["emulated"], f"multigrain: {row}")
        check(row["bytes_from_host"] % 256 == 0, f"multigrain: {row}")
    status, out, _ = run(program, "--threads", "6", "--block", "5", "--memory", "100")
    check(status == 0 and "one emulated device" in out, f"multigrain --threads: {out}")
    refuses(program, "--threads", "--threads", "61")
    refuses(program, "--block", "--block", "8", *platforms)
    refuses(program, "--platforms", "--claims", "nowhere.json")
    refuses(program, "nowhere.json", "--claims", "nowhere.json", *platforms)


def arafat_claims():
    """Of few tasks, so that all is done in seconds: (workload, rule, points)."""
    rule = multigrain_rule
    return [
        ("dgemm", rule("order", "seconds", better=["team"], worse=["gpu"], share=1), [{"n": [10, 100, 1000]}]),
        ("dgemm", rule("limit", "transfer_percent", of=["gpu"], below=100, share=1), [{"n": [100, 1600]}]),
        ("mix-1-1", rule("similar", "speedup", of=["double-queue", "either-end", "gpu-ended", "double-ended"],
                         within_percent=10, share=1), [{"skew": [0, 100]}]),
        ("mix-1-2", rule("order", "speedup", better=["gpu-ended"], worse=["cpu"], share=1), [{"skew": 25}]),
        ("pipeline", rule("limit", "slowdown", of=["g1-local", "g2-local", "g2-p2", "g8-p8"], at_least=1,
                          share=1), [{"n": [10, 1000]}]),
        ("ratios", rule("limit", "gpu_tasks_percent", of=["all"], at_least=50, share=1), None),
        ("ratios", rule("limit", "heavier", of=["all"], at_least=1, share=1), None),
        ("ccsd_t", rule("order", "seconds", better=["heuristic@double"], worse=["cpu"], share=1), [{"nodes": 1}]),
    ]  # fmt: skip


def check_product_times(facts, platform):
    node = json.loads(platform.read_text())
    into, out = node["bandwidth_bytes_per_s"][0][1], node["bandwidth_bytes_per_s"][1][0]
    waits = 2 * node["latency_s"][0][1] + node["latency_s"][1][0]
    for kernel in (its for its in node["kernels"] if its["library"] == "derived"):
        n = kernel["tile"]
        copies = waits + 8 * n**2 * (2 / into + 1 / out)
        for strategy, seconds in [("team", kernel["cpu_groups"]["4"]), ("gpu", kernel["cuda"]["mean_s"] + copies)]:
            if (strategy, n) in facts:
                its = facts[strategy, n]
                check(abs(its["seconds"] / seconds - 1) < 1e-3, f"arafat2016: {its}, not {seconds}")
                if strategy == "gpu":
                    percent = 100 * copies / kernel["cuda"]["mean_s"]
                    check(abs(its["transfer_percent"] - percent) < 0.1, f"arafat2016: {its}, not {percent}")


def check_arafat_trace(trace, tasks):
    rows = [line.split(",") for line in trace.read_text().splitlines()[1:]]
    check(sorted(int(row[2]) for row in rows) == list(range(tasks)), f"arafat2016: {len(rows)} executions")
    ends = {}
    for rank, worker, _, begin, end in sorted(rows, key=lambda row: int(row[3])):
        check(ends.get((rank, worker), 0) <= int(begin) <= int(end), f"arafat2016: {rank} {worker} {begin}")
        ends[rank, worker] = int(end)


def test_arafat2016(program):
    folder = Path(__file__).parents[2] / "benchmarks"
    given = json.loads((folder / "papers" / "arafat2016" / "claims.json").read_text())
    claims = [
        {"id": f"claim-{k}", "section": "4", "workload": workload, "says": "so", "rule": rule}
        | ({"at": at} if at else {})
        for k, (workload, rule, at) in enumerate(arafat_claims())
    ]  # fmt: skip
    small = {**given, "nodes": 3, "small_for_each_large": 10, "large_for_each_node": 2, "pipelined_tasks": 20,
             "claims": claims}  # fmt: skip
    with tempfile.TemporaryDirectory() as where:
        file = Path(where) / "claims.json"
        file.write_text(json.dumps(small))
        command = ["--claims", str(file), "--benchmarks", str(folder)]
        rows = json_lines(program, *command)
        check([row["id"] for row in rows] == [its["id"] for its in claims], f"arafat2016: {rows}")
        for row, claim in zip(rows, claims):
            axis = next(iter(claim["at"][0])) if "at" in claim else None
            facts = {(fact["strategy"], fact[axis] if axis else 0): fact for fact in row["facts"]}
            points = claim["at"][0][axis] if axis else [0]
            points = points if isinstance(points, list) else [points]
            values = lambda metric, name, at: facts[name, at][metric]  # noqa: E731
            if claim["rule"]["kind"] == "limit":
                low, high = claim["rule"].get("at_least", 0), claim["rule"].get("below", 1e99)
                metric = claim["rule"]["metric"]
                holds = all(low <= values(metric, name, at) < high for name in claim["rule"]["of"] for at in points)
            else:
                holds = claim_holds(claim["rule"], points, values)
            check(row["verdict"] == ("reproduced" if holds else "not reproduced"), f"arafat2016: {row}")
            if claim["workload"] == "dgemm":
                check_product_times(facts, folder / "platforms" / "scioto_node.json")
            for (strategy, at), fact in facts.items():
                if strategy == "gpu-ended" and ("cpu", at) in facts:
                    speedup = facts["cpu", at]["seconds"] / fact["seconds"]
                    check(abs(fact["speedup"] / speedup - 1) < 1e-9, f"arafat2016: {fact}")
                if strategy == "cpu":
                    check(fact["gpu_tasks_percent"] == 0 and fact["speedup"] == 1, f"arafat2016: {fact}")
        check(rows == json_lines(program, *command), "arafat2016: two runs, two results")
        status, out, _ = run(program, *command, "--only", "dgemm", "--figures", str(Path(where) / "figures"),
                             "--figure", "7,9,10")  # fmt: skip
        check(status == 0 and "52 tasks, 1728 contractions, 1.634e+12 operations" in out, f"arafat2016: {out}")
        check("26 tasks, 432 contractions, 6.412e+11 operations" in out, f"arafat2016: {out}")
        for name, lines in [("7", 1 + 2 * 8), ("9", 1 + 4 * 8)]:
            table = (Path(where) / "figures" / f"fig{name}.csv").read_text().splitlines()
            check(len(table) == lines, f"arafat2016: {table}")
        counts = (Path(where) / "figures" / "fig10.csv").read_text().splitlines()[1:]
        check(sum(int(line.split(",")[2]) for line in counts) == 1728, f"arafat2016: {counts}")
        for name in ["7", "9", "10"]:
            ElementTree.parse(Path(where) / "figures" / f"fig{name}.svg")
        trace = Path(where) / "trace.csv"
        for more in [[], ["--leave"]]:
            one = ["--traced", "claim-2", "double-ended", "skew = 100", "--trace", str(trace)]
            status, out, err = run(program, *command, *more, *one)
            check(status == 0 and float(out.split()[0]) > 0, f"arafat2016: {err}")
            check_arafat_trace(trace, 6 * 11)
        refuses(program, "claim-2", *command, "--traced", "claim-2", "cpu", "skew = 3")
        refuses(program, "is no run", *command, "--traced", "claim-0", "gpu", "n = 10")
        refuses(program, "--figure", *command, "--figure", "6")
        for change, named in [
            (lambda its: its.pop("small"), "'small' is missing"),
            (lambda its: its.update(small=99), "dgemm"),
            (lambda its: its.update(nodes=1), "/nodes"),
            (lambda its: its.update(network="nowhere"), "nowhere.json"),
            (lambda its: its.update(platform="scioto_node_cpu"), "one GPU"),
            (lambda its: its["claims"][0]["rule"].update(better=["cpu"]), "cpu is no strategy of dgemm"),
            (lambda its: its["claims"][1]["rule"].update(of=["team"]), "team has no transfers"),
            (lambda its: its["claims"][2].update(at=[{"skew": 101}]), "skew = 101"),
        ]:
            its = json.loads(json.dumps({**small, "claims": claims[:3]}))
            change(its)
            file.write_text(json.dumps(its))
            refuses(program, named, *command)


def test_arafat2016_ranks(program):
    platform = ["--platform", str(Path(__file__).parents[2] / "benchmarks" / "platforms" / "scioto_node.json")]
    few = ["--occupied", "3", "2", "--virtual", "3", "2"]
    status, out, err = run(program, *platform, *few, "--ranks", "3")
    rows = out.splitlines()[2:]
    check(status == 0 and len(rows) == 12, f"arafat2016_ranks: {out} {err}")
    for row in rows:
        tasks, steals, stolen, error = row.split()[-4:]
        check(int(tasks) == (1728 if row.startswith("CCSD") else 170), f"arafat2016_ranks: {row}")
        check(int(steals) <= int(stolen) and float(error) < 1e-10, f"arafat2016_ranks: {row}")
    check(all(int(row.split()[-3]) > 0 for row in rows if "skew 1.00" in row), f"arafat2016_ranks: {out}")
    refuses(program, "--ranks", *platform, "--ranks", "0")
    refuses(program, "nowhere.json", "--platform", "nowhere.json", "--ranks", "2")


def test_emulated_machine(program):
    platform = str(Path(__file__).parents[2] / "benchmarks" / "platforms" / "mirage.json")
    (row,) = json_lines(program, "--platform", platform, "--tiles", "3", "--scheduler", "heftp")
    check(row["threads_s"] >= 0.9 * row["simulated_s"], f"emulated_machine: {row}")
    refuses(program, "--scheduler", "--platform", platform, "--scheduler", "nobody")
    refuses(program, "no_such_file", "--platform", "no_such_file.json")
    doubles = str(Path(platform).with_name("haswell_k40.json"))
    refuses(program, "haswell_k40.json", "--platform", doubles)


def test_task_memory(program):
    (row,) = json_lines(program, "--n", "100000", "--scheduler", "eager")
    check(row["tasks"] == 100000 and 64 < row["bytes_per_task"] < 400, f"task_memory: {row}")


def main():
    tests = {
        "approximation_ratios": test_approximation_ratios,
        "axpy": test_axpy,
        "bounds": test_bounds,
        "calibrate": test_calibrate,
        "sparse_makespans": test_sparse_makespans,
        "replay_run": test_replay_run,
        "when_stolen": test_when_stolen,
        "cluster_order": test_cluster_order,
        "one_sided": test_one_sided,
        "task_stealing": test_task_stealing,
        "algorithms": test_algorithms,
        "steal_bytes": test_steal_bytes,
        "arafat2016": test_arafat2016,
        "arafat2016_ranks": test_arafat2016_ranks,
        "simulate": test_simulate,
        "worst_cases": test_worst_cases,
        "cholesky": lambda program: test_cholesky(program, "cholesky", 35),
        "fibonacci": test_fibonacci,
        "block_lu": test_block_lu,
        "sparse_lu": test_sparse_lu,
        "jacobi": test_jacobi,
        "bleuse2015": test_bleuse2015,
        "kumar2017": test_kumar2017,
        "lima2015": test_lima2015,
        "multigrain": test_multigrain,
        "recursive_cholesky": lambda program: test_cholesky(program, "recursive_cholesky", 50),
        "overhead": test_overhead,
        "sparse_solvers": test_sparse_solvers,
        "gpu_linalg": test_gpu_linalg,
        "pipeline": test_pipeline,
        "saxpy_overhead": test_saxpy_overhead,
        "gemm": lambda program: test_solver(program, "gemm", 125, 2 * 300**3),
        "lu": test_lu,
        "qr": test_qr,
        "task_cost": test_task_cost,
        "decision_cost": test_decision_cost,
        "emulated_machine": test_emulated_machine,
        "task_memory": test_task_memory,
    }
    tests[sys.argv[1]](sys.argv[2])
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
