#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Platform files with the kernels of sparse solvers, which nobody measured on these machines.

What a kernel's rate is beside that of gemm was measured on one machine by hetsched-calibrate: MEASURED
has the same matrix on cores, tiles of 256. The rates here are these shares of the machine's own gemm,
on cores. GPUs run products (gemm, syrk) at the rates that the machine's file has for them, and
front_columns and front_rows, which are mostly products, at the share that cores have: an
assumption. The rates are those of the machine's smallest tiles, of 320 or 960 rows: smaller products
are slower, on GPUs most of all, so makespans are rather too short.

Usage: derive_sparse.py    (writes platforms/NAME_sparse.json for each NAME)
"""

import json
import pathlib

import platform_file

MEASURED = pathlib.Path(__file__).parent / "results" / "sparse_kernels.json"
MACHINES = ("idgraf", "mirage", "sirocco_k40m", "haswell_k40")
ON_GPUS = ("front_columns", "front_rows", "gemm", "syrk")


def rate(kernel, arch):
    return kernel["flops"] / kernel[arch]["mean_s"]


def main():
    measured = json.loads(MEASURED.read_text())["kernels"]
    for machine in MACHINES:
        platform = platform_file.read(machine)
        double = [its for its in platform["kernels"] if its["precision"] == "double"]
        gemm = min((its for its in double if its["kernel"] == "gemm"), key=lambda its: its["tile"])
        own = {its["kernel"]: its for its in double if its["tile"] == gemm["tile"] and its["kernel"] in ("gemm", "syrk")}
        kernels = []
        for its in measured:
            name, (algorithm,) = its["kernel"], its["algorithms"]
            reference = next(k for k in measured if k["kernel"] == "gemm" and k["algorithms"] == [algorithm])
            share = rate(its, "cpu") / rate(reference, "cpu")
            rates = {
                arch: rate(own[name], arch) if name in own else share * rate(gemm, arch)
                for arch in (("cpu", "cuda") if name in ON_GPUS else ("cpu",))
            }
            kernels.append(
                {
                    "kernel": name,
                    "precision": "double",
                    "tile": gemm["tile"],
                    "library": "derived",
                    "algorithms": [algorithm],
                    "data_bytes": its["data_bytes"],
                    "flops": its["flops"],
                    "measured": False,
                }
                | {
                    arch: {"mean_s": float(f"{its['flops'] / rates[arch]:.6g}"), "std_s": None, "n": None}
                    if arch in rates
                    else None
                    for arch in ("cpu", "cuda")
                }
            )
        platform["name"] = f"{machine}_sparse"
        platform["description"] = (
            f"The machine of {machine}.json with the kernels of SparseLU and SparseCholesky. Their times are "
            "derived, not measured: shares of the machine's rate of gemm, by derive_sparse.py."
        )
        platform["kernels"] = kernels
        platform_file.write(platform)


if __name__ == "__main__":
    main()
