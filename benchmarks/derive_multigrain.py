#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Platform files of the two machines of the multigrain paper, on which nobody published kernel times.

Derived from idgraf.json, whose processors and GPUs are of the same generation: X5650 and C2050, which has
as many stream processors as a GTX 470. papers/multigrain/README.md has the reasons.

- A GPU takes a + c k for k products of 192 x 192 blocks that run side by side. a and c come from the C2050's
  products of 320 and 960, which a line a + flops / rate joins, scaled by stream processors and clock.
  (Its measured time at 640 is 2.8 % off that line.)
- A core's product has the share of the peak that the X5650 reaches at 320.
- Steps 1 and 2 are scalar code: 2 operations for each latency of an addition.
- Links: those of idgraf's first GPU. GeForce boards have one copy engine: both ways share one link.

Usage: derive_multigrain.py    (writes platforms/NAME.json for both machines)
"""

import platform_file

BLOCK = 192
SUPER = 5
C2050_PEAK = 448 * 1.15e9 * 2
X5650_PEAK = 2.67e9 * 8
SPLITS = 1e-6  # s, a core breaks a super-task down: a microsecond is assumed
MACHINES = {
    "magnycours_gtx470": {
        "cpu": "AMD Opteron 6164HE @1.7GHz", "cores": 24, "clock": 1.7e9, "addition": 4,
        "gpu": "NVIDIA GeForce GTX 470", "peak": 448 * 1.215e9 * 2, "memory": 1280 << 20,
    },
    "nehalem_gtx480": {
        "cpu": "Intel Xeon E5520 @2.27GHz", "cores": 8, "clock": 2.27e9, "addition": 3,
        "gpu": "NVIDIA GeForce GTX 480", "peak": 480 * 1.401e9 * 2, "memory": 1536 << 20,
    },
}  # fmt: skip


def measured(platform, tile, worker):
    """Seconds of idgraf's product in single precision, of its Cholesky."""
    (kernel,) = [
        its
        for its in platform["kernels"]
        if (its["kernel"], its["precision"], its["tile"]) == ("gemm", "single", tile)
        and its["algorithms"] == ["cholesky"]
    ]
    return kernel[worker]["mean_s"]


def kernel(name, flops, blocks, cpu, cuda=None):
    return {
        "kernel": name,
        "precision": "single",
        "tile": BLOCK,
        "library": "derived",
        "algorithms": ["block_lu"],
        "data_bytes": blocks * BLOCK**2 * 4,
        "flops": flops,
        "measured": False,
        "cpu": {"mean_s": cpu, "std_s": None, "n": None},
        "cuda": {"mean_s": cuda, "std_s": None, "n": None} if cuda else None,
    }


def kernels(its, idgraf):
    small, large = (measured(idgraf, tile, "cuda") for tile in (320, 960))
    per_flop = (large - small) / (2 * 960**3 - 2 * 320**3)
    scale = C2050_PEAK / its["peak"]
    fixed = (small - per_flop * 2 * 320**3) * scale
    product = 2 * BLOCK**3
    share = 2 * 320**3 / measured(idgraf, 320, "cpu") / X5650_PEAK
    core = product / (share * its["clock"] * 8)
    scalar = 2 * its["clock"] / its["addition"]
    blocks = SUPER**2
    super_block = fixed + blocks * per_flop * product * scale
    return [
        kernel("getrf", product / 3, 1, product / 3 / scalar),
        kernel("trsm_row", product / 2, 2, product / 2 / scalar),
        kernel("trsm_column", product / 2, 2, product / 2 / scalar),
        kernel("gemm", product, 3, core, fixed + per_flop * product * scale),
        kernel("super_block", blocks * product, blocks + 2 * SUPER, blocks * core, super_block),
        kernel("super_task", blocks * product, blocks + 2 * SUPER, SPLITS, super_block),
    ]


def main():
    idgraf = platform_file.read("idgraf")
    bandwidth = idgraf["bandwidth_bytes_per_s"]
    latency = idgraf["latency_s"]
    for name, its in MACHINES.items():
        platform = {
            "format": "platform-1",
            "name": name,
            "description": f"Derived, not measured: {its['cores']} cores of {its['cpu']} and a {its['gpu']}, a "
            "machine of the multigrain paper. Kernel times, bus: by derive_multigrain.py from idgraf.json. A "
            f"super-block's times are those of {SUPER} x {SUPER} blocks.",
            "sources": [{**source, "what": source["what"] + " of idgraf"} for source in idgraf["sources"]],
            "cpu_model": its["cpu"],
            "cpu_cores": its["cores"],
            "cpu_workers": its["cores"] - 1,
            "gpu_model": its["gpu"],
            "gpu_workers": 1,
            "gpu_memory_bytes": its["memory"] * 4 // 5,
            "memory_nodes": ["ram", "gpu0"],
            "bandwidth_bytes_per_s": [[None, bandwidth[0][1]], [bandwidth[1][0], None]],
            "latency_s": [[0.0, latency[0][1]], [latency[1][0], 0.0]],
            "topology": {
                "links": [["copy engine", max(bandwidth[0][1], bandwidth[1][0])]],
                "routes": {"ram>gpu0": [0], "gpu0>ram": [0]},
            },
            "kernels": kernels(its, idgraf),
        }
        platform_file.write(platform)


if __name__ == "__main__":
    main()
