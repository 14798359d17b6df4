// SPDX-License-Identifier: MIT
// The body of gpu_axpy's task: a loop of its own as a kernel. If nvcc is there, it compiles this
// file (nvcc -x cu) for CUDA devices and emulated ones. Otherwise any compiler does, for emulated
// ones.

#include <hetsched/gpu/for_each.hpp>

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
