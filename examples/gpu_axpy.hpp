// SPDX-License-Identifier: MIT
#pragma once
// What both files of the example know: the task type, and that it has a body for GPUs.

// Not hetsched.hpp: it is quicker without, above all for nvcc.
#include <hetsched/access.hpp>
#include <hetsched/data.hpp>
#include <hetsched/gpu_stream.hpp>
#include <hetsched/task.hpp>

/// y := alpha x + y
struct Axpy : hetsched::Task<3>::Signature<double,
                                           hetsched::R<hetsched::VectorView<double>>,
                                           hetsched::RW<hetsched::VectorView<double>>> {};

template <>
struct hetsched::TaskBodyGPU<Axpy> {
  void operator()(GpuStream& stream,
                  double alpha,
                  VectorView<double const> x,
                  VectorView<double> y) const;
};
