#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makespans of all schedulers with transfers, against the best that fixed windows once reached.

`measure` runs simulate with each window and writes the makespans to a file. It is for a simulate in
which a window is the number of tasks that a GPU commits itself to. `compare` runs simulate without
--window and prints, for each scheduler, the makespans over the best in the file, and which of them
are above --limit. Status 1: there are some.

Single precision, tiles of 960, GPUs served first, ranks min, transfers share links. The platforms
are those in benchmarks/platforms.

Usage: windows.py measure SIMULATE FILE [--tiles N,N,...] [--windows W,W,...]
       windows.py compare SIMULATE FILE [--limit R] [--tiles N,N,...] [--scheduler NAME,NAME,...]
                  [--seeds N] [--option=--NAME=VALUE]...
"""

import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
GRAPHS = {
    "mirage": ["cholesky", "lu"],
    "idgraf": ["cholesky", "lu"],
    "sirocco_k40m": ["cholesky", "lu", "qr"],
}


def rows(simulate, platform, dag, tiles, schedulers, options, precision="single"):
    """Yields what simulate says of each run that ends well. Says which do not."""
    for scheduler in schedulers:
        command = [
            simulate, "--platform", HERE / "platforms" / f"{platform}.json", "--dag", dag,
            "--tiles", tiles, "--precision", precision, "--rank", "min", "--serve", "gpu",
            "--comm", "shared", "--bounds", "area", "--scheduler", scheduler, "--deterministic",
            "--json", *options,
        ]  # fmt: skip
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode != 0:
            why = ran.stderr.splitlines()[-1:] or [f"status {ran.returncode}"]
            print(f"{platform} {dag} {' '.join(options)}: {why[0]}", flush=True)
        yield from map(json.loads, ran.stdout.splitlines())


def run(*arguments):
    """As `rows`: scheduler, tiles and makespan in seconds."""
    for row in rows(*arguments):
        yield row["scheduler"], str(row["tiles"]), row["makespan_s"]


def in_parallel(jobs, work):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(lambda job: (job, list(work(*job))), jobs)


def print_ratios(scheduler, values, limit):
    mean = math.exp(sum(map(math.log, values)) / len(values))
    print(f"{scheduler:24} mean {mean:.3f}, greatest {max(values):.3f}, "
          f"{sum(value > limit for value in values)} of {len(values)} above {limit}")  # fmt: skip


def measure(its):
    best = {}
    jobs = [(p, d, w) for p, dags in GRAPHS.items() for d in dags for w in its.windows.split(",")]

    names = [name for name, _, _ in run(its.simulate, "mirage", "cholesky", "2", ["all"], [])]

    def work(platform, dag, window):
        return run(its.simulate, platform, dag, its.tiles, names, ["--window", window])

    for (platform, dag, window), rows in in_parallel(jobs, work):
        print(platform, dag, window, len(rows), flush=True)
        for scheduler, tiles, makespan in rows:
            case = best.setdefault(f"{platform} {dag} {tiles}", {})
            case.setdefault(scheduler, {})[window] = makespan
    pathlib.Path(its.file).write_text(json.dumps(best, indent=1) + "\n")
    return 0


def compare(its):
    kept = json.loads(pathlib.Path(its.file).read_text())
    known = sorted({name for case in kept.values() for name in case})
    chosen = its.scheduler.split(",") if its.scheduler else known
    seeds = range(1, its.seeds + 1)
    jobs = [(p, d, seed) for p, dags in GRAPHS.items() for d in dags for seed in seeds]

    def work(platform, dag, seed):
        options = ["--seed", str(seed), *its.option]
        return run(its.simulate, platform, dag, its.tiles, chosen, options)

    ratios = {}
    for (platform, dag, _), rows in in_parallel(jobs, work):
        for scheduler, tiles, makespan in rows:
            case = f"{platform} {dag} {tiles}"
            before = min(kept[case][scheduler].values())
            of = (makespan / before, makespan, before)
            cases = ratios.setdefault(scheduler, {})
            cases[case] = min(of, cases.get(case, of))
    above = 0
    for scheduler, cases in ratios.items():
        values = [ratio for ratio, _, _ in cases.values()]
        worse = {case: of for case, of in cases.items() if of[0] > its.limit}
        above += len(worse)
        print_ratios(scheduler, values, its.limit)
        if its.verbose:
            for case, (ratio, makespan, before) in worse.items():
                print(f"    {case:24} {ratio:.3f} = {makespan:.4f} / {before:.4f} s")
    print(f"{above} of {sum(map(len, ratios.values()))} above {its.limit}")
    return 0 if above == 0 else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["measure", "compare"])
    parser.add_argument("simulate")
    parser.add_argument("file")
    parser.add_argument("--tiles", default="8,12,16,20,24,32")
    parser.add_argument("--windows", default="1,2,4,8,16")
    parser.add_argument("--limit", type=float, default=1.03)
    parser.add_argument("--scheduler", default="")
    parser.add_argument("--seeds", type=int, default=1, help="the best of so many draws")
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--verbose", action="store_true", help="names the cases above the limit")
    its = parser.parse_args()
    return {"measure": measure, "compare": compare}[its.what](its)


if __name__ == "__main__":
    sys.exit(main())
