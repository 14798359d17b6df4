# SPDX-License-Identifier: MIT
# Untested: Conan was not to be had where this was written.
import os

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain
from conan.tools.files import copy


class HetschedConan(ConanFile):
    name = "hetsched"
    version = "0.1.0"
    license = "MIT"
    description = "Task scheduling on all CPU cores and GPUs of a machine, C++20 header-only"
    settings = "os", "compiler", "build_type", "arch"
    requires = "boost/[>=1.74]"

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "..", "..")
        for pattern in ["CMakeLists.txt", "meson.build", "meson_options.txt", "LICENSE", "cmake/*",
                        "cuda/*", "include/*"]:
            copy(self, pattern, src=root, dst=self.export_sources_folder)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["HETSCHED_CUDA"] = "disabled"
        toolchain.cache_variables["HETSCHED_LAPACK"] = "disabled"
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")  # it has a CMake package of its own
        self.cpp_info.builddirs = [os.path.join("share", "cmake", "hetsched")]
        self.cpp_info.libs = []
