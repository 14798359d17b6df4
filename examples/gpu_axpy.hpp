// SPDX-License-Identifier: MIT
#pragma once
// What both files of the example need: the task type, and the declaration of its body for GPUs.

// This does not include hetsched.hpp: without it the file compiles faster, above all with nvcc.
#include <hetsched/core/access.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/gpu/gpu_stream.hpp>

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
