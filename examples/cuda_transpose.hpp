// SPDX-License-Identifier: MIT
#pragma once
// What both files of the example need: the task type and its bodies. It stays lean for nvcc.

#include <hetsched/core/access.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/gpu/gpu_stream.hpp>

using Tile = hetsched::TileView<float>;
using ConstTile = hetsched::TileView<float const>;

/// b := a^T
inline void transpose_on_host(ConstTile a, Tile b) {
  for (std::size_t j = 0; j < b.cols(); ++j) {
    for (std::size_t i = 0; i < b.rows(); ++i) {
      b(i, j) = a(j, i);
    }
  }
}

struct Transpose : hetsched::Task<2>::Signature<hetsched::R<Tile>, hetsched::W<Tile>> {};

template <>
struct hetsched::TaskBodyCPU<Transpose> {
  void operator()(ConstTile a, Tile b) const { transpose_on_host(a, b); }
};

template <>
struct hetsched::TaskBodyGPU<Transpose> {
  void operator()(GpuStream& stream, ConstTile a, Tile b) const; // in cuda_transpose_body.cu
};
