// SPDX-License-Identifier: MIT
// CUDA's table without LAPACK: cuSOLVER was not found.

#include "calls.hpp"

namespace hetsched::cuda {

void destroy_solver(Stream&) {
}

void set_solver_calls(hs_driver&) {
}

} // namespace hetsched::cuda
