// SPDX-License-Identifier: MIT
// The body of cuda_transpose's task: a kernel that goes through shared memory, so that both its
// reads and its writes are of neighbours.

#include <hetsched/gpu/launch.hpp>

#include "cuda_transpose.hpp"

namespace {

constexpr unsigned side = 32;

/// b := a^T, where a is rows x cols; both are column-major and dense.
__global__ void transpose(unsigned rows, unsigned cols, float const* a, float* b) {
  __shared__ float block[side][side + 1]; // one more: a column then lies in different banks
  auto row = blockIdx.x * side + threadIdx.x;
  auto col = blockIdx.y * side + threadIdx.y;
  if (row < rows && col < cols) {
    block[threadIdx.y][threadIdx.x] = a[row + std::size_t{col} * rows];
  }
  __syncthreads();
  col = blockIdx.y * side + threadIdx.x;
  row = blockIdx.x * side + threadIdx.y;
  if (row < rows && col < cols) {
    b[col + std::size_t{row} * cols] = block[threadIdx.x][threadIdx.y];
  }
}

} // namespace

void hetsched::TaskBodyGPU<Transpose>::operator()(GpuStream& stream, ConstTile a, Tile b) const {
  auto const rows = static_cast<unsigned>(a.rows());
  auto const cols = static_cast<unsigned>(a.cols());
  dim3 const threads(side, side);
  dim3 const blocks((rows + side - 1) / side, (cols + side - 1) / side);
  gpu::launch(
      stream,
      [&](cudaStream_t queue) {
        transpose<<<blocks, threads, 0, queue>>>(rows, cols, a.data(), b.data());
      },
      [a, b] { transpose_on_host(a, b); }); // for devices that are emulated
}
