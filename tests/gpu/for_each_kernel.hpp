// SPDX-License-Identifier: MIT
#pragma once
// A task with a body for GPUs that is defined in a source of its own.

// hetsched.hpp is not included: the file compiles faster without it, above all with nvcc.
#include <hetsched/core/access.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/gpu/gpu_stream.hpp>

/// c(i, j) += a(i, j) * (i + j * rows)
struct AddIndexed : hetsched::Task<2>::Signature<hetsched::R<hetsched::TileView<double>>,
                                                 hetsched::RW<hetsched::TileView<double>>> {};

template <>
struct hetsched::TaskBodyGPU<AddIndexed> {
  void operator()(GpuStream& stream, TileView<double const> a, TileView<double> c) const;
};

[[nodiscard]] bool add_indexed_runs_on_cuda();
