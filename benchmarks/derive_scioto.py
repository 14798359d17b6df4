#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Platform files of a node of the Scioto-ACC paper (Arafat et al. 2016), whose kernels nobody published.

The paper says 16 cores, Xeon E5520, 48 GB, Tesla C2050. An E5520 has 4 cores and 8 hardware threads: the
node is taken to be two of them, 8 cores. The GPU is driven by a hardware thread, which the file counts as a
ninth core. What it takes from the core that it shares is not counted.

Times of dgemm come from idgraf.json, which has the same GPU and X5650 cores, that do as much in a cycle:

- A core takes c n^2 + 2 n^3 / rate, through idgraf's times at 320 and 960, times the ratio of the clocks.
  (Its time at 640 is 2 % off that curve. A line a + flops / rate is 3 % off, and a would be 0.3 ms.)
- A team is 4 cores (figure 7: MKL with four threads). Amdahl's law with one serial share fits the
  times of gemm on 2, 5 and 10 cores in haswell_k40.json: the mean of the three shares is taken. A parallel
  region of 4 threads costs 2 us, which is assumed.
- The GPU takes a + flops / rate, through idgraf's times at 320 and 960, as in derive_multigrain.py. (Its
  time at 640 is 3.5 % off that line.) a is 50 us, that of StarPU and CUDA.
- Bus: that of idgraf's first GPU, alone. A C2050 has two copy engines: each way is a link of its own.

Of figure 7, the paper says that the team is faster below about n = 800. With these times and copies of pinned
memory it is so only below about 130. Library "derived_figure7" has GPU times with a fixed cost that moves the
crossing to 800. The paper does not say what that cost is.

Usage: derive_scioto.py            (writes platforms/scioto_node.json and scioto_node_cpu.json)
       derive_scioto.py --check    (prints figure 7's crossing and rates, writes nothing)
"""

import sys

import platform_file

CLOCKS = 2.67e9, 2.27e9  # X5650, E5520, Hz
CORES = 8
TEAM = 4
REGION = 2e-6  # s, assumed
TILES = (10, 100, 200, 400, 500, 800, 1000, 1600)
CROSSING = 800  # figure 7
# What the permutations of a contraction move at, for --check only. 3 channels of DDR3-1066 (Intel: 25.6
# GB/s), 144 GB/s (NVIDIA) less the eighth that ECC takes. Shares of 0.7 and 0.8 of these are assumed.
TEAM_MEMORY = 0.7 * 25.6e9
GPU_MEMORY = 0.8 * 144e9 * 7 / 8


def gemm(platform, tile, algorithm):
    (kernel,) = [
        its
        for its in platform["kernels"]
        if (its["kernel"], its["precision"], its["tile"]) == ("gemm", "double", tile) and algorithm in its["algorithms"]
    ]
    return kernel


class Node:
    def __init__(self, idgraf, haswell):
        (cpu320, gpu320), (cpu960, gpu960) = (
            [gemm(idgraf, tile, "lu")[worker]["mean_s"] for worker in ("cpu", "cuda")] for tile in (320, 960)
        )
        clocks = CLOCKS[0] / CLOCKS[1]
        self.core_flop = (cpu960 - 9 * cpu320) / (2 * 960**3 - 9 * 2 * 320**3) * clocks
        self.core_element = cpu320 * clocks / 320**2 - self.core_flop * 2 * 320
        self.gpu_flop = (gpu960 - gpu320) / (2 * 960**3 - 2 * 320**3)
        self.gpu_fixed = gpu320 - self.gpu_flop * 2 * 320**3
        its = gemm(haswell, 960, "cholesky")
        serial = [
            (int(cores) * time / its["cpu"]["mean_s"] - 1) / (int(cores) - 1)
            for cores, time in its["cpu_groups"].items()
        ]
        self.efficiency = 1 / (1 + (TEAM - 1) * sum(serial) / len(serial))
        self.into, self.out = idgraf["bandwidth_bytes_per_s"][0][1], idgraf["bandwidth_bytes_per_s"][1][0]
        self.latency_into, self.latency_out = idgraf["latency_s"][0][1], idgraf["latency_s"][1][0]

    def core(self, n):
        return self.core_element * n**2 + self.core_flop * 2 * n**3

    def team(self, n):
        return REGION + self.core(n) / (TEAM * self.efficiency)

    def gpu(self, n):
        return self.gpu_fixed + self.gpu_flop * 2 * n**3

    def copies(self, n):
        """Two matrices in, one out, one after the other."""
        return 2 * (self.latency_into + 8 * n**2 / self.into) + self.latency_out + 8 * n**2 / self.out

    def gain(self, n):
        """What the GPU is faster by, copies counted."""
        return self.team(n) - self.gpu(n) - self.copies(n)

    def crossing(self):
        return next(n for n in range(1, 10000) if self.gain(n) > 0)


def time(seconds):
    return {"mean_s": float(f"{seconds:.6g}"), "std_s": None, "n": None}


def kernels(node, library, gpu):
    return [
        {
            "kernel": "dgemm",
            "precision": "double",
            "tile": n,
            "library": library,
            "algorithms": ["scioto"],
            "data_bytes": 3 * 8 * n**2,
            "flops": 2 * n**3,
            "measured": False,
            "cpu": time(node.core(n)),
            "cpu_groups": {str(TEAM): time(node.team(n))["mean_s"]},
            "cuda": gpu and time(gpu(n)),
        }
        for n in TILES
    ]


def platform(name, what, sources, its):
    return {
        "format": "platform-1",
        "name": name,
        "description": f"Derived, not measured: two Intel Xeon E5520 {what}, a node of Arafat et al. 2016. Kernel "
        "times, bus: by derive_scioto.py. Workers that are thread teams: groups of 4 cores.",
        "sources": sources,
        "cpu_model": "Intel Xeon E5520 @2.27GHz",
    } | its


def write(node, idgraf, sources):
    lone = {
        "cpu_cores": CORES,
        "cpu_workers": CORES,
        "gpu_workers": 0,
        "memory_nodes": ["ram"],
        "bandwidth_bytes_per_s": [[None]],
        "latency_s": [[0.0]],
        "kernels": kernels(node, "derived", None),
    }
    platform_file.write(platform("scioto_node_cpu", "without the GPU", sources, lone))
    fixed = node.gain(CROSSING)
    whole = {
        "notes": [
            "one of the 9 cores is the hardware thread that drives the GPU",
            f"library derived_figure7: GPU times with {fixed:.4g} s more, which puts figure 7's crossing at {CROSSING}",
        ],
        "cpu_cores": CORES + 1,
        "cpu_workers": CORES,
        "gpu_model": "NVIDIA Tesla C2050",
        "gpu_workers": 1,
        "gpu_memory_bytes": idgraf["gpu_memory_bytes"],
        "memory_nodes": ["ram", "gpu0"],
        "bandwidth_bytes_per_s": [[None, node.into], [node.out, None]],
        "latency_s": [[0.0, node.latency_into], [node.latency_out, 0.0]],
        "topology": {
            "links": [["PCIe to the GPU", node.into], ["PCIe from the GPU", node.out]],
            "routes": {"ram>gpu0": [0], "gpu0>ram": [1]},
        },
        "kernels": kernels(node, "derived", node.gpu)
        + kernels(node, "derived_figure7", lambda n: node.gpu(n) + fixed),
    }
    platform_file.write(platform("scioto_node", "and a Tesla C2050", sources, whole))


def check(node):
    for n in TILES:
        rates = " ".join(f"{2 * n**3 / of(n) * 1e-9:9.3f}" for of in (node.core, node.team, node.gpu))
        print(f"n {n:5}: core, team, GPU {rates} GFlop/s; with copies {node.gpu(n) + node.copies(n):.3g} s")
    print(f"a team of {TEAM} has {node.efficiency:.3f} of the speed of {TEAM} cores")
    print(f"the GPU is faster from n = {node.crossing()} on, copies from and to pinned memory counted")
    print(f"for n = {CROSSING}, each task on the GPU would have to take {node.gain(CROSSING) * 1e3:.3g} ms more")
    for what, m, n, k in [("d1, 40^3 x 16^3", 25600, 10240, 16), ("d2, 40^3 x 16^3", 10240, 25600, 40)]:
        moved = 2 * 8 * (m * n + m * k + k * n)  # read and written once
        flops = 2 * m * n * k
        team = node.core_flop / (TEAM * node.efficiency) * flops + moved / TEAM_MEMORY
        gpu = node.gpu_fixed + node.gpu_flop * flops + moved / GPU_MEMORY
        home = 8 * m * n / node.out
        print(f"{what}: team {team:.3g} s, GPU {gpu:.3g} s, copy of the output {home:.3g} s more")


def main():
    idgraf, haswell = platform_file.read("idgraf"), platform_file.read("haswell_k40")
    node = Node(idgraf, haswell)
    if sys.argv[1:] == ["--check"]:
        check(node)
        return
    sources = [{**source, "what": source["what"] + " of idgraf"} for source in idgraf["sources"]]
    sources.append({**haswell["sources"][0], "what": "times of gemm on groups of cores of haswell_k40"})
    write(node, idgraf, sources)


if __name__ == "__main__":
    main()
