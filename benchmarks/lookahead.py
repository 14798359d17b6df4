#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ratios of simulated makespans to the iterative bound, with their greatest and mean.

Runs simulate (ranks min, cores served first, double precision, tiles of 960, transfers free) and
prints a line for each graph and a column for each number of tiles. With --noise and --runs, a
number is the mean over the runs, and the last line has also the greatest single one.

Usage: lookahead.py SIMULATE [--platform FILE] [--dag NAME] [--tiles N,N,...] [--noise F --runs R]
                    [--scheduler NAME,NAME,...]
"""

import argparse
import json
import statistics
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("simulate")
    parser.add_argument("--platform", required=True)
    parser.add_argument("--dag", default="cholesky")
    parser.add_argument("--tiles", default="4,8,12,16,20,24")
    parser.add_argument("--noise", default="0")
    parser.add_argument("--runs", default="1")
    parser.add_argument("--scheduler", default="heteroprio:lookahead")
    its = parser.parse_args()
    for scheduler in its.scheduler.split(","):
        command = [
            its.simulate, "--platform", its.platform, "--dag", its.dag, "--tiles", its.tiles,
            "--rank", "min", "--serve", "cpu", "--comm", "free", "--bounds", "iterative",
            "--scheduler", scheduler, "--noise", its.noise, "--repeat", its.runs, "--json",
        ]  # fmt: skip
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        ratios, cost = {}, []
        for row in map(json.loads, out.splitlines()):
            ratios.setdefault(row["tiles"], []).append(row["ratio"])
            cost.append(row["sched_ns_per_task"] * row["tasks"] / 1e9)
        means = {tiles: statistics.mean(those) for tiles, those in ratios.items()}
        print(f"{its.dag} {its.platform.split('/')[-1]} {scheduler}")
        print("  " + "  ".join(f"{tiles}: {mean:.3f}" for tiles, mean in means.items()))
        most = max(max(those) for those in ratios.values())
        print(f"  greatest {most:.3f}, mean {statistics.mean(means.values()):.3f}, "
              f"decisions up to {max(cost):.1f} s", flush=True)  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
