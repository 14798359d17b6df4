// SPDX-License-Identifier: MIT
// The body of gpu_axpy's task: a loop of its own as a kernel. Compiled by nvcc (nvcc -x cu) where
// there is one, for CUDA devices and emulated ones; else by any compiler, for emulated ones.

#include <hetsched/cuda/for_each.hpp>

#include "gpu_axpy.hpp"

namespace hs = hetsched;

namespace {

/// One element.
struct AddTimes {
  double alpha;
  hs::VectorView<double const> x; // in the device's memory
  hs::VectorView<double> y;

  HETSCHED_DEVICE void operator()(std::size_t i) const { y[i] += alpha * x[i]; }
};

} // namespace

void hs::TaskBodyGPU<Axpy>::operator()(hs::GpuStream& stream,
                                       double alpha,
                                       hs::VectorView<double const> x,
                                       hs::VectorView<double> y) const {
  hs::gpu::for_each_index(stream, y.size(), AddTimes{alpha, x, y}); // returns at once
}
