#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tile Cholesky on 1, 2 and 4 ranks of one machine: hetsched, and StarPU-MPI if its example is there (Debian's
starpu-examples), one after the other, several times. Prints medians of GFlop/s, and what is left of the speed of
one rank with as many workers as there are cores.

Usage: cluster_cholesky.py DISTRIBUTED_CHOLESKY [--n N] [--tiles T] [--repeat K] [--mpirun PROGRAM]
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

STARPU = Path("/usr/lib/x86_64-linux-gnu/starpu/mpi/mpi_cholesky_distributed")
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",  # else one rank has one core
    "OPENBLAS_NUM_THREADS": "1",
    "STARPU_NCUDA": "0",
    "STARPU_NOPENCL": "0",
}


def rate(command, pattern, variables):
    """GFlop/s that a command prints."""
    job = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, env=os.environ | ENVIRONMENT | variables)
    found = re.search(pattern, job.stdout)
    if job.returncode != 0 or found is None:
        sys.exit(f"cluster_cholesky: {' '.join(command)} failed: {job.stdout.strip()[-400:]}")
    return float(found.group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="examples/distributed_cholesky, built with MPI")
    parser.add_argument("--n", type=int, default=7680, help="rows of the matrix, of 4-byte elements as StarPU's")
    parser.add_argument("--tiles", type=int, default=24, help="tiles in a column")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--mpirun", default="mpirun.openmpi")
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    cases = [(1, cores), (2, max(1, cores // 2)), (4, max(1, cores // 4))]
    engines = ["hetsched"] + (["StarPU-MPI"] if STARPU.exists() else [])
    rates = {(engine, case): [] for engine in engines for case in cases}
    for _ in range(options.repeat):
        for case in cases:
            ranks, workers = case
            start = [options.mpirun, "-n", str(ranks)]
            own = [options.program, "--n", str(options.n), "--tile", str(options.n // options.tiles), "--single",
                   "--cpus", str(workers)]
            rates["hetsched", case].append(rate(start + own, r"([0-9.e+]+) GFlop/s", {}))
            if STARPU.exists():
                theirs = [str(STARPU), "-size", str(options.n), "-nblocks", str(options.tiles)]
                took_ms = rate(start + theirs, r"Computation time \(in ms\): *([0-9.]+)",
                               {"STARPU_NCPU": str(workers)})  # fmt: skip
                rates["StarPU-MPI", case].append(options.n**3 / 3 / took_ms / 1e6)
    print(f"n = {options.n}, {options.tiles} x {options.tiles} tiles, float, {cores} cores, medians of "
          f"{options.repeat} runs")
    tasks = options.tiles * (options.tiles + 1) * (options.tiles + 2) // 6
    print("ranks  workers of each  " +
          "  ".join(f"{engine:>10} GFlop/s  of 1 rank  us a task" for engine in engines))  # fmt: skip
    for case in cases:
        cells = []
        for engine in engines:
            median = statistics.median(rates[engine, case])
            of_one = median / statistics.median(rates[engine, cases[0]])
            task_us = options.n**3 / 3 / median / 1e3 / tasks
            cells.append(f"{median:>18.3g}  {of_one:>9.2f}  {task_us:>9.3g}")
        print(f"{case[0]:>5}  {case[1]:>15}  " + "  ".join(cells))


if __name__ == "__main__":
    main()
