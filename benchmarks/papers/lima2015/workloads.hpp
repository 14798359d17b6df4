// SPDX-License-Identifier: MIT
#pragma once
// The paper's machine and benchmarks: which GPUs are used, what kernels take, the task graphs.

#include <hetsched/graphs/task_graph.hpp>

#include "claims.hpp"

#include <cstddef>
#include <string>

namespace lima2015 {

/// The library whose kernels the workload uses: the platform's own, or "derived".
[[nodiscard]] std::string
library_of(hetsched::Platform const& platform, Workload const& workload, std::string const& name);

/// The platform, read from `file`, as the configuration uses it. It has the configuration's number
/// of GPUs, one of each switch before two of any (sec. 5.1), and all other cores. The kernels that
/// the file lacks are derived as below. With SetArch, cores have no kernel that GPUs have.
///
/// Derived: axpy, edges and sweep take the bytes of their operands over the memory's bandwidth. Of
/// Cholesky in double: gemm and the right-sided solve as measured in LU, syrk half of gemm, potrf
/// its time in single precision times gemm's ratio, on cores only (sec. 5.2). Throws
/// Error(bad_input) if the machine has fewer GPUs or lacks the kernels that others follow from.
[[nodiscard]] hetsched::Platform machine_of(hetsched::Platform const& whole,
                                            std::string const& file,
                                            Claims const& claims,
                                            Configuration const& configuration);

/// Tiles in a row of the matrix, or blocks of the vector: the number nearest to the paper's size.
[[nodiscard]] std::size_t
tiles_of(Claims const& claims, std::string const& workload, std::size_t n);

/// Right-looking tile Cholesky, LU without pivoting, sweeps of Jacobi's by tiles, or independent
/// updates of blocks.
[[nodiscard]] hetsched::TaskGraph graph_of(hetsched::Platform const& machine,
                                           Claims const& claims,
                                           std::string const& workload,
                                           std::size_t tiles);

/// About the number of tasks of its graph.
[[nodiscard]] std::size_t
tasks_of(Claims const& claims, std::string const& workload, std::size_t tiles);

/// The number of operations of the whole factorisation.
[[nodiscard]] double flops_of(Claims const& claims, std::string const& workload, std::size_t tiles);

/// Bandwidth of the slowest link that every transfer from and to host memory crosses, in bytes per
/// second; 0 if there is none.
[[nodiscard]] double common_link(hetsched::Platform const& machine);

} // namespace lima2015
