#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bytes moved and makespans where the data do not fit into the GPUs' memories.

gemm and Cholesky in device memories of 1/2, 1/4 and 1/8 of the matrices' size, on 1, 2 and 4 GPUs:
darts with the cache luf against dmdar with lru, beside darts with lru and dmdar with nextuse. Single
precision, tiles of 960, transfers share links, GPUs served first, ranks min.

Usage: out_of_core.py SIMULATE [--tiles N,N,...] [--save FILE] [--verbose]
"""

import argparse
import json
import math
import pathlib
import sys

from windows import HERE, in_parallel, rows

PAIRS = [("dmdar", "lru"), ("darts", "luf"), ("darts", "lru"), ("dmdar", "nextuse")]
FORMER, LATTER = PAIRS[:2]
TILE = 960**2 * 4


def matrix_tiles(dag, tiles):
    return 3 * tiles**2 if dag == "gemm" else tiles * (tiles + 1) // 2


def all_jobs(tiles):
    for platform in ("mirage", "idgraf", "sirocco_k40m"):
        has = json.loads((HERE / "platforms" / f"{platform}.json").read_text())["gpu_workers"]
        for dag in ("gemm", "cholesky"):
            for n in tiles:
                for gpus in (g for g in (1, 2, 4) if g <= has):
                    for part in (2, 4, 8):
                        yield platform, dag, n, gpus, part


def means(cases, pair):
    """Geometric means of time and bytes over dmdar's, and in how many cases less time is taken."""
    times = [case[pair]["makespan_s"] / case[FORMER]["makespan_s"] for case in cases]
    moved = [case[pair]["bytes"] / case[FORMER]["bytes"] for case in cases]
    mean = lambda values: math.exp(sum(map(math.log, values)) / len(values))
    return mean(times), mean(moved), sum(time < 1 for time in times), max(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("simulate")
    parser.add_argument("--tiles", default="8,12,16,20,24,32")
    parser.add_argument("--save", help="a file for the figures")
    parser.add_argument("--verbose", action="store_true", help="names each case that misses its aim")
    its = parser.parse_args()

    def work(platform, dag, n, gpus, part):
        memory = matrix_tiles(dag, n) * TILE // part
        for scheduler, cache in PAIRS:
            options = ["--gpus", str(gpus), "--device-memory", str(memory), "--cache", cache]
            for row in rows(its.simulate, platform, dag, str(n), [scheduler], options):
                kept = {key: row[key] for key in ("makespan_s", "bytes", "evictions")}
                yield (scheduler, cache), kept

    cases = {}
    for job, done in in_parallel(all_jobs([int(n) for n in its.tiles.split(",")]), work):
        cases[job] = dict(done)
    if its.save:
        kept = {" ".join(map(str, job)): {"+".join(pair): of for pair, of in case.items()}
                for job, case in cases.items()}  # fmt: skip
        pathlib.Path(its.save).write_text(json.dumps(kept, indent=1) + "\n")

    # Where Lru evicts half of the matrices at least, a tenth fewer bytes; elsewhere no more.
    pressed = {job for job, case in cases.items()
               if 2 * case[FORMER]["evictions"] >= matrix_tiles(*job[1:3])}  # fmt: skip
    for name, chosen, limit in (("lru evicts half", pressed, 0.9), ("elsewhere", cases.keys() - pressed, 1.02)):
        if not chosen:
            continue
        moved = {job: cases[job][LATTER]["bytes"] / cases[job][FORMER]["bytes"] for job in chosen}
        above = sorted(job for job in chosen if moved[job] > limit)
        print(f"{name}: {len(chosen)} cases, bytes of {'+'.join(LATTER)} over {'+'.join(FORMER)}: "
              f"greatest {max(moved.values()):.3f}, {len(above)} above {limit}")  # fmt: skip
        for pair in PAIRS[1:]:
            time, data, faster, slowest = means([cases[job] for job in chosen], pair)
            print(f"    {'+'.join(pair):14} time {time:.3f}, greatest {slowest:.3f}, faster in {faster}; bytes {data:.3f}")
        if its.verbose:
            for job in above:
                print("   ", *job, f"{moved[job]:.3f}")
    for platform in sorted({job[0] for job in cases}):
        for dag in ("gemm", "cholesky"):
            chosen = [case for job, case in cases.items() if job[:2] == (platform, dag)]
            figures = [means(chosen, pair) for pair in PAIRS[1:]]
            print(platform, dag, *(f"{'+'.join(pair)} {time:.3f} {data:.3f} {faster}/{len(chosen)}"
                                   for pair, (time, data, faster, _) in zip(PAIRS[1:], figures)))  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
