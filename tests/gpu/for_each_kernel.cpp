// SPDX-License-Identifier: MIT
// A body with a loop of its own, compiled by nvcc where there is one.

#include "for_each_kernel.hpp"

#include <hetsched/gpu/for_each.hpp>

namespace hs = hetsched;

namespace {

struct Add {
  hs::TileView<double const> a;
  hs::TileView<double> c;

  HETSCHED_DEVICE void operator()(std::size_t index) const {
    auto const i = index % c.rows();
    auto const j = index / c.rows();
    c(i, j) += a(i, j) * static_cast<double>(index);
  }
};

} // namespace

void hs::TaskBodyGPU<AddIndexed>::operator()(hs::GpuStream& stream,
                                             hs::TileView<double const> a,
                                             hs::TileView<double> c) const {
  auto const* const native = hs::gpu::native(stream);
  if ((native == nullptr) != (hs::gpu::cublas(stream) == nullptr)) {
    throw hs::Error(hs::ErrorCode::bad_call, "cublas", "has no handle for the stream");
  }
  hs::gpu::for_each_index(stream, c.rows() * c.cols(), Add{a, c});
}

bool add_indexed_runs_on_cuda() {
  return hs::gpu::detail::compiled_by_nvcc;
}
