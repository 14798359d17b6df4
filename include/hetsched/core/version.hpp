// SPDX-License-Identifier: MIT
#pragma once
// The version of these headers, for the preprocessor: compare HETSCHED_VERSION_NUMBER. And the
// version of C++ that they need: all umbrella headers include this one.

#if __cplusplus < 202002L
#error "hetsched needs C++20: -std=c++20 (CMake: CXX_STANDARD 20; Meson: cpp_std=c++20)"
#include <a_compiler_for_cxx20> // there is none: compilers end here, not 3,000 errors later
#endif

#define HETSCHED_VERSION_MAJOR 0
#define HETSCHED_VERSION_MINOR 1
#define HETSCHED_VERSION_PATCH 0

/// "MAJOR.MINOR.PATCH"
#define HETSCHED_VERSION "0.1.0"

/// MAJOR * 10000 + MINOR * 100 + PATCH: 1.2.3 is 10203.
#define HETSCHED_VERSION_NUMBER                                                                    \
  (HETSCHED_VERSION_MAJOR * 10000 + HETSCHED_VERSION_MINOR * 100 + HETSCHED_VERSION_PATCH)
