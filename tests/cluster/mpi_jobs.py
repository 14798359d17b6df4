#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs jobs of few ranks: mpi_ranks, what must work and what must end with a line; mpi_collections, random
collections over each one-sided transport, COLLECTIONS of them (HETSCHED_TEST_GRAPHS, or a few), and one whose
rank 1 is killed; with Global Arrays, too, if they are there. If mpi_programs is given, too, it runs COUNT random
programs (HETSCHED_TEST_GRAPHS, or 30) on 2 to 4 ranks, and some that go wrong; given the example
distributed_sparse, that on 3 ranks. With HETSCHED_TEST_GRAPHS a rank is killed at twenty points of a program and
of a collection. Where root may make network namespaces, the ranks of Open MPI also talk by TCP.

Each job ends within its time limit. A job that should fail ends with a status that is not 0, and says why.

Usage: mpi_jobs.py MPIRUN MPI_RANKS MPI_COLLECTIONS [MPI_PROGRAMS [DISTRIBUTED_SPARSE]]
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Seconds, of a job that should succeed; this machine may be busy.
LIMIT = 60 if "HETSCHED_TEST_GRAPHS" not in os.environ else 1800
TOGETHER = 3  # jobs at a time
END = 10  # seconds within which a job that fails is over

# Scenario, ranks, status (None: any but 0) and what stderr must say.
JOBS = [
    ("messages", 3, 0, ""),
    ("own_session", 2, 0, ""),
    ("rma_messages", 3, 0, ""),
    ("rma_windows", 3, 0, ""),
    ("no_threads", 2, None, "MPI: gives MPI_THREAD_SINGLE, and hetsched needs MPI_THREAD_SERIALIZED"),
    ("self_test_version", 2, None, "rank 0: MPI's self-test: rank 1 has version 101 of the headers and protocol 1, this one 100 and 1|"
     "rank 1: MPI's self-test: rank 0 has version 100 of the headers"),
    ("self_test_silent", 2, None, "rank 0: MPI's self-test: within 0.5 s .* rank 1: it did not begin"),
    ("self_test_absent", 2, None, "MPI's self-test: within 0.5 s not all ranks made a transport"),
    ("killed", 2, None, ""),
    ("abort", 2, None, "mpi_ranks: rank 1 gives up"),
    ("throws", 2, None, "rank 1: sends to rank 1, and the other ranks are those below 2"),
    ("truncated", 2, None, "lost 1: rank 1 sent a truncated message, of 10 bytes"),
    ("too_long", 2, None, "lost 1: rank 1 sent a message that cannot be received: .*(truncat|too long|length)"),
    ("short_payload", 2, None, "lost 1: rank 1 sent 24 bytes of a payload where it had announced 5000"),
]


# What rank 1 does in the middle of a program, and what stderr must say. Of a rank that was killed the launcher
# may end the others before they can say anything.
WRONG = [
    ("stopped", "hetsched: rank 1: has said nothing for"),
    ("divergent", r"rank 0 spawned touch\(0\) on rank 0 as call 509 where rank 1 spawned touch\(1\) on rank 0"),
    ("killed", ""),
]

# After how many spawns rank 1 is killed.
DEATHS = [1, 2, 3, 5, 9, 16, 33, 60, 99, 100, 101, 150, 199, 240, 300, 333, 500, 777, 1000, 2345]

# Open MPI asks to be allowed what MPICH allows: root, as in containers, and more ranks than cores.
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}
# With it Open MPI's windows are in shared memory.
SHARED = ["env", "OMPI_MCA_osc=sm"]


def run(command):
    """(status, stderr, seconds); the whole job is killed at the time limit."""
    begin = time.monotonic()
    # Launchers of Open MPI that share a directory for their files remove it from under each other.
    with tempfile.TemporaryDirectory(prefix="mpi") as own:
        job = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, start_new_session=True,
                               env=os.environ | OPEN_MPI | {"OMPI_MCA_orte_tmpdir_base": own})  # fmt: skip
        try:
            out, err = job.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            out, err = job.communicate()
            err += "\nended by the time limit"
    return job.returncode, out + err, time.monotonic() - begin


def over_tcp(mpirun, program, count):
    """The random programs on three ranks that are as on hosts of their own. Whether nothing is wrong."""
    script = Path(__file__).resolve().parents[2] / "scripts" / "over_tcp.sh"
    status, text, seconds = run([str(script), mpirun, "3", program, count])
    if status == 2 and text.startswith("over_tcp.sh: "):
        print(f"skipped over TCP: {text.strip()}")
        return True
    good = status == 0 and f"{count} programs" in text
    print(f"{'ok    ' if good else 'FAILED'} random programs over TCP, 3 ranks: status {status}, {seconds:.1f} s")
    print("" if good else text, end="")
    return good


def collections(program, arrays):
    """Jobs of random collections."""
    count = os.environ.get("HETSCHED_TEST_GRAPHS")
    jobs = []
    for transport, ranks, few in ("messages", 4, 20), ("windows", 3, 4), ("arrays", 2, 4):
        if transport != "arrays" or arrays:
            each = count or str(few)
            jobs += [(f"collections over {transport}", n, 0, f"{each} collections",
                      (SHARED if transport != "messages" else []) + [program, transport, each])
                     for n in ((2, 3, 4) if count else (ranks,))]  # fmt: skip
    deaths = range(1, 100, 5) if count else (40,)
    return jobs + [(f"collections, killed at task {task}", 3, None, "", [program, "killed", str(task)])
                   for task in deaths]  # fmt: skip


def main():
    if len(sys.argv) not in (4, 5, 6):
        sys.exit(__doc__)
    mpirun, program = sys.argv[1:3]
    jobs = [(scenario, ranks, status, words, (SHARED if scenario == "rma_windows" else []) + [program, scenario])
            for scenario, ranks, status, words in JOBS]  # fmt: skip
    arrays = run([program, "has_arrays"])[0] == 0
    jobs += collections(sys.argv[3], arrays)
    if arrays:
        jobs.append(("rma_arrays", 2, 0, "", SHARED + [program, "rma_arrays"]))
    if "openmpi" in mpirun:
        jobs.append(("rma_windows as usual", 2, None, "component rdma crashes.*start the job with `--mca osc sm`",
                     [program, "rma_windows"]))  # fmt: skip
    if len(sys.argv) >= 5:
        count = os.environ.get("HETSCHED_TEST_GRAPHS", "30")
        jobs += [(how, 3, None, words, [sys.argv[4], how]) for how, words in WRONG]
        if "HETSCHED_TEST_GRAPHS" in os.environ:
            jobs += [(f"killed after {spawns}", 3, None, "", [sys.argv[4], "killed", str(spawns)])
                     for spawns in DEATHS]  # fmt: skip
        jobs += [("random programs", ranks, 0, f"{count} programs", [sys.argv[4], count]) for ranks in (2, 3, 4)]
    if len(sys.argv) == 6:
        jobs += [("sparse LU", 3, 0, r"3 ranks of MPI.*backward error \d(\.\d+)?e-1[5-9]", [sys.argv[5], "--n", "8000"])]
    failures = 0
    with ThreadPoolExecutor(TOGETHER) as pool:  # a launcher mostly waits
        ends = pool.map(lambda job: run([mpirun, "-n", str(job[1]), *job[4]]), jobs)
        for (scenario, ranks, expected, words, _), (status, text, seconds) in zip(jobs, ends):
            fails = expected != 0
            good = status == expected if expected is not None else status != 0
            good = good and re.search(words, text, re.DOTALL) is not None and seconds < (END if fails else LIMIT)
            print(f"{'ok    ' if good else 'FAILED'} {scenario}, {ranks} ranks: status {status}, {seconds:.1f} s")
            if not good:
                failures += 1
                print(f"  expected {'a failure' if fails else 'status 0'} and '{words}'; it says:\n{text}")
    # MPICH 4.0.2 with UCX's TCP sometimes never comes back from MPI_Finalize.
    if len(sys.argv) >= 5 and "mpich" not in mpirun:
        failures += not over_tcp(mpirun, sys.argv[4], count)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
