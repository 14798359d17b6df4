#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Platform files with kernels of Jacobi's iterations, which nobody measured on these machines.

A sweep of a tile reads the points, b and four lines of the neighbours, and writes the points; edges
copies four lines out of a tile. Both are bound by memory: their times are the bytes that they read
and write over a bandwidth. That of a GPU is the board's (NVIDIA's specification). That of a core is
what one core copies alone, where known, and at most its share of the processors' (Intel's).
Machine, links and memories are those of the measured file; its kernels are left out.

Usage: derive_jacobi.py    (writes platforms/NAME_jacobi.json for each NAME)
"""

import platform_file

TILE = 960
# bytes/s: one GPU, one core alone, all processors
BANDWIDTHS = {
    "idgraf": (144e9, 9.28e9, 64e9),  # C2050; X5650, two
    "mirage": (150e9, 9.28e9, 64e9),  # M2070; X5650, two
    "sirocco_k40m": (288e9, None, 136e9),  # K40m; E5-2680 v3, two
}


def kernel(name, size, lines, workers, bandwidths):
    gpu, core, host = bandwidths
    share = min(host / workers, core or host)
    moved = lines * TILE * size
    return {
        "kernel": name,
        "precision": {4: "single", 8: "double"}[size],
        "tile": TILE,
        "library": "derived",
        "algorithms": ["jacobi"],
        "data_bytes": moved,
        "flops": 6 * TILE**2 if name == "sweep" else None,
        "measured": False,
        "cpu": {"mean_s": moved / share, "std_s": None, "n": None},
        "cuda": {"mean_s": moved / gpu, "std_s": None, "n": None},
    }


def main():
    for machine, bandwidths in BANDWIDTHS.items():
        platform = platform_file.read(machine)
        platform["name"] = f"{machine}_jacobi"
        platform["description"] = (
            f"The machine of {machine}.json with kernels of Jacobi's iterations. Their times are derived, "
            "not measured: bytes over memory bandwidths, by derive_jacobi.py."
        )
        platform["kernels"] = [
            kernel(name, size, lines, platform["cpu_workers"], bandwidths)
            for size in (4, 8)
            for name, lines in (("sweep", 3 * TILE + 8), ("edges", 8))
        ]
        platform["sources"] = [its for its in platform["sources"] if its["what"] != "kernels"]
        platform_file.write(platform)


if __name__ == "__main__":
    main()
