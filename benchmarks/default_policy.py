#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makespans of a scheduler over those of the best online scheduler, on all platforms.

Online: what `simulate --scheduler all` runs, without look-ahead or a plan. Cholesky, LU and QR where
the platform has the kernels, gemm in device memories of 1/2, 1/4 and 1/8 of the three matrices, and
ten sweeps of Jacobi, whose kernels are derived (platforms/*_jacobi.json). Transfers share links,
GPUs are served first, ranks are min, tiles of 960. Planned schedulers know the graph before it runs:
they are compared with the best online one, too.

Usage: default_policy.py SIMULATE [--dag NAME] [--scheduler NAME] [--planned NAME,NAME] [--limit R]
                         [--save FILE]
Prints the cases above the limit, and for each scheduler the mean, the greatest, and how many are.
"""

import argparse
import json
import math
import pathlib
import sys

from windows import GRAPHS, in_parallel, print_ratios, run

TILES = "8,12,16,20,24,32"
DOUBLES = {
    "haswell_k40": ["cholesky", "lu", "qr"],
    "sirocco_k40m": ["cholesky", "lu", "qr"],
    "mirage": ["cholesky", "lu"],
    "idgraf": ["lu"],
}


def all_jobs():
    for precision, graphs in (("single", GRAPHS), ("double", DOUBLES)):
        for platform, dags in graphs.items():
            for dag in dags:
                yield platform, dag, TILES, precision, []
    for platform in GRAPHS:
        for tiles in (8, 16, 24):
            for part in (2, 4, 8):
                size = 3 * tiles**2 * 960**2 * 4 // part
                yield platform, "gemm", str(tiles), "single", ["--device-memory", str(size)]
        for precision in ("single", "double"):
            yield f"{platform}_jacobi", "jacobi", "8,12,16,20,24", precision, []


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("simulate")
    parser.add_argument("--scheduler", default="heterogeneous")
    parser.add_argument("--planned", default="")
    parser.add_argument("--limit", type=float, default=1.05)
    parser.add_argument("--dag", help="of this one only")
    parser.add_argument("--save", help="a file for the makespans")
    its = parser.parse_args()

    planned = [name for name in its.planned.split(",") if name]

    def work(platform, dag, tiles, precision, options):
        return run(its.simulate, platform, dag, tiles, ["all", *planned], options, precision)

    cases = {}
    jobs = [job for job in all_jobs() if its.dag in (None, job[1])]
    for (platform, dag, _, precision, options), rows in in_parallel(jobs, work):
        for scheduler, tiles, makespan in rows:
            name = " ".join([platform, dag, tiles, precision, *options])
            cases.setdefault(name, {})[scheduler] = makespan
    if its.save:
        pathlib.Path(its.save).write_text(json.dumps(cases, indent=1) + "\n")
    ratios = {}
    for name, makespans in cases.items():
        best = min((name for name in makespans if name not in planned), key=makespans.get)
        for scheduler, makespan in makespans.items():
            ratios.setdefault(scheduler, []).append(makespan / makespans[best])
        ratio = makespans[its.scheduler] / makespans[best]
        if ratio > its.limit:
            print(f"{name}: {its.scheduler} {ratio:.3f} of {best}")
    for scheduler, values in sorted(ratios.items(), key=lambda one: sum(map(math.log, one[1]))):
        print_ratios(scheduler, values, its.limit)
    return 0


if __name__ == "__main__":
    sys.exit(main())
