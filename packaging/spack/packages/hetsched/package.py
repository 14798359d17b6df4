# SPDX-License-Identifier: MIT
# Untested: Spack was not to be had where this was written.
import os

from spack.package import *


class Hetsched(CMakePackage, CudaPackage):
    """Task scheduling on all CPU cores and GPUs of a machine, C++20 header-only."""

    git = "file://" + os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4))
    license("MIT")

    version("main", branch="main")

    variant("lapack", default=True, description="OpenBLAS and LAPACKE for emulated devices")

    depends_on("cxx", type="build")
    depends_on("cmake@3.18:", type="build")
    depends_on("pkgconfig", type=("build", "run"))
    depends_on("boost")
    depends_on("openblas", when="+lapack")
    depends_on("netlib-lapack+lapacke", when="+lapack")
    depends_on("cuda@12:", when="+cuda")

    def cmake_args(self):
        return [
            self.define("HETSCHED_CUDA", "enabled" if "+cuda" in self.spec else "disabled"),
            self.define("HETSCHED_LAPACK", "enabled" if "+lapack" in self.spec else "disabled"),
        ]
